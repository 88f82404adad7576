"""Writes the pages of docs/ that follow from the code: command line, settings, Python API; the
picture of the package's rooms; and the output of the commands in docs/rules.md.

    python docs/generate.py            writes them
    python docs/generate.py --check    only lists the pages out of date; exit status 1 if there is one

`tests/project/test_docs.py` checks that the committed pages are up to date.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib
import inspect
import io
import json
import re
import shlex
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, get_args, get_origin

import msgspec
import reading
import rooms

import dynet_vdgi
from dynet_vdgi import cli
from dynet_vdgi.settings import presets, values
from dynet_vdgi.settings import settings as config
from dynet_vdgi.settings.bundled import bundled
from dynet_vdgi.settings.registry import RECIPES

DOCS = Path(__file__).parent
NOTE = "<!-- Written by docs/generate.py: do not edit. -->"


def command_line() -> str:
    """The page of the verbs, from the parsers of their arguments."""
    parser = cli.build_parser()
    verbs = _sub_parsers(parser)
    lines = [
        NOTE,
        "# Command line",
        "",
        f"{parser.description} Each verb explains itself: `vdgi help VERB`, or `vdgi VERB --help`.",
        "",
        "Completion in bash and zsh: `pip install '.[completion]'` in the clone, then put",
        '`eval "$(register-python-argcomplete vdgi)"` into your `.bashrc` or `.zshrc`.',
        "",
        *_table(("verb", "what it does"), _verb_rows(verbs)),
        "",
        "Options of `vdgi` itself stand before the verb:",
        "",
        *_table(("option", "meaning"), _options(parser)),
        "",
        "## Conventions",
        "",
        *CONVENTIONS,
        "",
        *_table(("exit status", "meaning"), EXIT_STATUSES),
        "",
    ]
    for verb in cli.VERBS:
        lines += _verb(f"vdgi {verb}", verbs[verb])
    return "\n".join(lines).rstrip() + "\n"


CONVENTIONS = """
Results go to standard output, everything else to standard error. `-` stands for standard input or
output. Files ending in `.gz` are read and written compressed. An output file appears only when it
is complete, and only if all of its input is sound. Quoted patterns, such as `'xx-ud-*.conllu'`, are
expanded.
""".strip().split("\n")
EXIT_STATUSES = (
    ("0", "done"),
    ("1", "a bug, or the system failed (disk full, for instance)"),
    ("2", "wrong usage"),
    ("3", "bad data"),
    ("4", "bad settings, rules or model"),
    ("130", "interrupted"),
    ("141", "output pipe closed"),
)


def _sub_parsers(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def _verb_rows(verbs: dict[str, argparse.ArgumentParser]) -> Iterator[tuple[str, str]]:
    for verb in (*cli.VERBS, "help"):
        summary = (verbs[verb].description or "").partition("\n")[0]
        link = f"[`vdgi {verb}`](#vdgi-{verb})" if verb in cli.VERBS else f"`vdgi {verb}`"
        yield link, summary


def _verb(name: str, parser: argparse.ArgumentParser) -> list[str]:
    """The section of a verb, and those of its tasks."""
    below = _sub_parsers(parser)
    if below:
        lines = [f"## {name}", "", *[*_prose(parser.description or "")][1:], ""]
        for task, inner in below.items():
            lines += [f"### {name} {task}", "", *_described(f"{name} {task}", inner)]
        return lines
    return [f"## {name}", "", *_described(name, parser)]


def _described(name: str, parser: argparse.ArgumentParser) -> list[str]:
    positionals = [action for action in parser._actions if not action.option_strings]
    usage = " ".join([name, "[OPTIONS]", *map(_usage, positionals)])
    rows = [*((f"`{_place(action)}`", _help(action)) for action in positionals), *_options(parser)]
    text = [*_prose(parser.description or "")][1:]
    table = _table(("argument", "meaning"), rows) if rows else []
    return [*text, "", "```", usage if rows else name, "```", "", *table, ""]


def _prose(description: str) -> Iterator[str]:
    """Paragraphs unchanged, indented lines as code."""
    for block in re.split(r"\n\s*\n", description.strip("\n")):
        lines = block.split("\n")
        if lines[0].startswith("  "):
            yield from ["", "```sh", *textwrap.dedent(block).split("\n"), "```"]
        else:
            yield from ["", *lines]


def _usage(action: argparse.Action) -> str:
    name = _place(action)
    return {"+": f"{name}...", "*": f"[{name}...]", "?": f"[{name}]"}.get(str(action.nargs), name)


def _place(action: argparse.Action) -> str:
    if isinstance(action.metavar, tuple):
        return " ".join(action.metavar)
    return action.metavar or ("|".join(action.choices) if action.choices else action.dest)


def _options(parser: argparse.ArgumentParser) -> Iterator[tuple[str, str]]:
    for action in parser._actions:
        if (
            not action.option_strings
            or isinstance(action, argparse._HelpAction)
            or action.help == argparse.SUPPRESS
        ):
            continue
        value = "" if action.nargs == 0 else " " + _place(action)
        value += "..." if action.nargs == "+" else ""
        names = ", ".join(f"`{option}{value}`" for option in action.option_strings)
        yield names, _help(action)


def _help(action: argparse.Action) -> str:
    text = (action.help or "") % {**vars(action), "prog": "vdgi"}
    return text if "--version" not in action.option_strings else "show the version"


def settings() -> str:
    """The page of the settings, from the types of `dynet_vdgi.settings.config`, and of the presets."""
    lines = [
        NOTE,
        "# Settings and presets",
        "",
        *SETTINGS_ARE,
        "",
        "## Settings",
        "",
    ]
    for section, kinds in _sections():
        lines += _section(section, kinds)
    lines += ["## Presets", "", *PRESETS_ARE, ""]
    for name in presets.preset_names():
        lines += _preset(name)
    return "\n".join(lines).rstrip() + "\n"


SETTINGS_ARE = """
Every number of a run is a setting. Change one with `--set section.key=value`, several with a preset
of your own: a TOML file with the sections below. `base = "NAME"` puts it on top of another preset.
A setting that would have no effect is refused. `vdgi info MODEL` shows the settings of a model, and
`settings.toml` in the folder of a run is a preset that repeats it.

```sh
vdgi train --train my.conllu --preset best --set teacher.iterations=30 --set parser.epochs=5 --out runs/my
```
""".strip().split("\n")
PRESETS_ARE = """
A preset is a file in `resources/presets`. Several stack, the last on top: `--preset rl-sn --preset
as_released`. Without `--preset`, `vdgi train` takes `universal`, and with `--trees` `universal-trees`.
Both have learnt from gold trees of other languages; `best` has learnt from none. A preset without a base
stands on the numbers of `best`.
""".strip().split("\n")


Kinds = dict[type[config.Section], tuple[str, ...]]
"""The types of a section, with the recipes that use it."""


def _sections() -> list[tuple[str, Kinds]]:
    found: dict[str, Kinds] = {}
    for recipes, section, _, kind in values.every_setting():
        found.setdefault(section, {})[kind] = recipes
    found["teacher"] = {config.NoTeacher: (), **found["teacher"]}  # it has no numbers
    return list(found.items())


def _section(section: str, kinds: Kinds) -> list[str]:
    title = f"### `{section}`" if section else "### Without a section"
    lines = [title, ""]
    if section:
        lines += [_of_recipes(recipes) for recipes in {*kinds.values()} - {()} if len(kinds) == 1]
    for kind, recipes in kinds.items():
        tag = kind.__struct_config__.tag
        if section == "teacher":
            lines += [f'#### `{section}.kind = "{tag}"`', ""]
        elif len(kinds) > 1:
            lines += [f"#### `{section}`, recipe {' or '.join(recipes)}", ""]
        if section:
            lines += [*_sentences(kind), ""]
        rows = [
            _setting(section, item)
            for item in msgspec.structs.fields(kind)
            if _is_leaf(section, item)
        ]
        if rows:
            lines += [*_table(("setting", "value", "default", "meaning"), rows), ""]
    return lines


def _of_recipes(recipes: Sequence[str]) -> str:
    every = len(recipes) == len(RECIPES.names())
    named = " and ".join(f"`{name}`" for name in recipes)
    return f"{'All recipes' if every else f'Recipe {named}'}.\n"


def _sentences(kind: type) -> list[str]:
    return [*(inspect.getdoc(kind) or "").replace("``", "`").split("\n")]


def _is_leaf(section: str, item: msgspec.structs.FieldInfo) -> bool:
    return bool(section) or not isinstance(item.default, config.Section)


def _setting(section: str, item: msgspec.structs.FieldInfo) -> tuple[str, str, str, str]:
    name = f"{section}.{item.name}".lstrip(".")
    if isinstance(item.default, config.Section):
        tag = item.default.__struct_config__.tag
        return f"`{name}.…`", "", "", f'the settings of `{section}.kind = "{tag}"`'
    kind, *metas = get_args(item.type) if hasattr(item.type, "__metadata__") else (item.type,)
    meta = next((meta for meta in metas if isinstance(meta, msgspec.Meta)), msgspec.Meta())
    return f"`{name}`", _values(kind, meta), f"`{_toml(item.default)}`", meta.description or ""


def _values(kind: Any, meta: msgspec.Meta) -> str:
    if get_origin(kind) is tuple:
        return f"list of any of {_values(get_args(kind)[0], meta)}"
    choices = get_args(kind)
    if choices:
        return ", ".join(f"`{choice}`" for choice in choices)
    if kind is bool:
        return "`true`, `false`"
    words = {int: "whole number", float: "number", str: "text"}[kind]
    limits = [
        f"{sign} {_short(limit)}"
        for sign, limit in (("≥", meta.ge), (">", meta.gt), ("≤", meta.le), ("<", meta.lt))
        if limit is not None and not (sign == "≤" and limit >= 2**31)
    ]
    return ", ".join([words, *limits])


def _short(number: float) -> str:
    return f"{number:,}".replace(",", " ")


def _toml(value: Any) -> str:
    if isinstance(value, tuple):
        return json.dumps(value)
    return (
        str(value).lower()
        if isinstance(value, bool)
        else f'"{value}"'
        if isinstance(value, str)
        else str(value)
    )


def _preset(name: str) -> list[str]:
    text = (bundled("presets")[name]).read_text(encoding="utf-8")
    comment, _, rest = text.partition("\n\n")
    about = [line.removeprefix("#").strip() for line in comment.splitlines()]
    return [f"### `{name}`", "", *about, "", "```toml", *rest.strip().splitlines(), "```", ""]


FUNCTIONS = (
    "read",
    "write",
    "train",
    "load",
    "evaluate",
    "draw",
    "rules",
    "prepare",
    "from_conllu",
    "to_conllu",
)
CLASSES = (
    "Sentence",
    "Corpus",
    "Parser",
    "Parse",
    "How",
    "Tagger",
    "Evaluation",
    "Protocol",
    "Drawing",
    "Settings",
    "VdgiError",
    "UsageError",
    "DataError",
    "ConfigError",
    "ModelError",
    "KeepError",
)
RESEARCH = ("RuleSet", "Prior", "Dmv", "WordPerceptron")


def api() -> str:
    """The page of the names that `import dynet_vdgi` provides, from their docstrings."""
    told = {"__version__", *FUNCTIONS, *CLASSES, *RESEARCH}
    assert told == set(dynet_vdgi.__all__), told ^ set(dynet_vdgi.__all__)
    lines = [NOTE, "# Python API", "", *API_BEGINS, ""]
    for title, names in (
        ("Functions", FUNCTIONS),
        ("Classes", CLASSES),
        ("For research", RESEARCH),
    ):
        lines += [f"## {title}", ""]
        if title == "For research":
            lines += [*RESEARCH_BEGINS, ""]
        for name in names:
            value = getattr(dynet_vdgi, name)
            lines += (
                _class(name, value) if inspect.isclass(value) else _function(name, value, "###")
            )
    lines += [
        "## Other types",
        "",
        *TYPES_BEGIN,
        "",
        *_table(("name", "module", "what it is"), _types()),
    ]
    return "\n".join(lines).rstrip() + "\n"


def other_types() -> dict[tuple[str, str], ast.stmt]:
    """Definitions, by module and name, used in the page's signatures but missing from `import
    dynet_vdgi`."""
    found: dict[tuple[str, str], ast.stmt] = {}
    for name in (*FUNCTIONS, *CLASSES, *RESEARCH):
        value = getattr(dynet_vdgi, name)
        members = (
            [value] if not inspect.isclass(value) else [member for _, member in _members(value)]
        )
        functions = [getattr(m, "fget", None) or getattr(m, "__func__", m) for m in members]
        if inspect.isclass(value) and not issubclass(value, (Exception, msgspec.Struct)):
            functions.append(value)
        for function in functions:
            tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
            known = _definitions(function.__module__)
            for node in chain.from_iterable(map(ast.walk, _annotations(tree))):
                home, definition = known.get(ast.unparse(node), (("", ""), None))
                if (
                    definition
                    and home[1] not in dynet_vdgi.__all__
                    and not _is_own_type(definition)
                ):
                    found[home] = definition
    return dict(sorted(found.items(), key=lambda item: item[0][::-1]))


def _annotations(tree: ast.stmt) -> Iterator[ast.expr]:
    """The annotations on the page: of a function; or of a class's constructor or fields."""
    if isinstance(tree, ast.FunctionDef):
        arguments = tree.args
        shown = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        shown += filter(None, (arguments.vararg, arguments.kwarg))
        yield from filter(None, (*(argument.annotation for argument in shown), tree.returns))
    elif isinstance(tree, ast.ClassDef):
        inits = [
            node
            for node in tree.body
            if isinstance(node, ast.FunctionDef) and node.name == "__init__"
        ]
        fields = [node.annotation for node in tree.body if isinstance(node, ast.AnnAssign)]
        yield from _annotations(inits[0]) if inits else fields


@cache
def _definitions(module: str) -> dict[str, tuple[tuple[str, str], ast.stmt]]:
    """Homes and definitions of classes and aliases by their names in a module: `Name` or
    `module.Name`."""
    tree = ast.parse(inspect.getsource(importlib.import_module(module)))
    found: dict[str, tuple[tuple[str, str], ast.stmt]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("dynet_vdgi"):
            for alias in node.names:
                name, imported = alias.asname or alias.name, f"{node.module}.{alias.name}"
                if imported in rooms.imports():
                    found |= {
                        f"{name}.{key}": value for key, value in _definitions(imported).items()
                    }
                elif home := _definitions(str(node.module)).get(alias.name):
                    found[name] = home
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            found[node.name] = (module, node.name), node
        elif isinstance(node, ast.Assign):
            found |= {
                ast.unparse(target): ((module, ast.unparse(target)), node)
                for target in node.targets
            }
    return found


def _is_own_type(definition: ast.stmt) -> bool:
    """True for a type variable, which the page shows as Self or which stands for any type."""
    return isinstance(definition, ast.Assign) and ast.unparse(definition.value).startswith(
        "TypeVar("
    )


def _types() -> Iterator[tuple[str, str, str]]:
    aliases: set[str] = set()
    for (module, name), definition in other_types().items():
        if isinstance(definition, ast.ClassDef):
            about = (ast.get_docstring(definition) or "").partition("\n")[0]
        else:
            assert isinstance(definition, ast.Assign)
            if ast.unparse(definition) in aliases:  # the same in several modules
                continue
            aliases.add(ast.unparse(definition))
            about = f"`{ast.unparse(definition.value)}`"
        yield f"`{name}`", f"`{module}`", about


API_BEGINS = """
Import the package as `vdgi`. Names load when you first use them, so the import itself costs
nothing. Functions take sentences: in memory, from `read`, or as the path of their file. Nothing
prints, reads `sys.argv` or sets log handlers. Errors that a user can cause are subclasses of `VdgiError`;
the message says what is wrong, where and what to do.

A neural parser (the preset `paper` and its kind) learns and parses in DyNet's one computation graph. If your program
has a graph of its own there, its expressions are stale afterwards (`RuntimeError: Stale Expression`): call
`dynet.renew_cg()` and make them again. Options that you gave DyNet before hold, but for weight decay, which would
change what is learnt: the setting `train.l2` is this program's.

```python
import dynet_vdgi as vdgi

parser = vdgi.train("my.conllu")
vdgi.write(parser.pipe("new.conllu"), "new.parsed.conllu")
print(vdgi.evaluate("gold.conllu", "new.parsed.conllu"))
tree = parser(["the", "dogs"], ["DET", "NOUN"], feats=["_", "Number=Plur"])
```
""".strip().split("\n")
TYPES_BEGIN = """
Signatures name some more types; `from MODULE import NAME` gives them.
""".strip().split("\n")
RESEARCH_BEGINS = """
Teachers and learners work as in scikit-learn: settings go to the constructor, `fit` learns and
returns the object, `predict` gives sentences with trees. They take text without punctuation, as
`prepare` makes it:

```python
import dynet_vdgi as vdgi

text = vdgi.prepare("my.conllu").sentences  # no punctuation
prior = vdgi.Prior.of_text(vdgi.rules("best"), text)  # the rules, and what the text shows
teacher = vdgi.Dmv(iterations=20).fit(text, prior)  # learns from tags, without trees
trees = teacher.predict(text)
student = vdgi.WordPerceptron(epochs=5).fit(trees)  # learns the teacher's trees
gold = vdgi.prepare(vdgi.read("gold.conllu", heads="required")).sentences
print(vdgi.evaluate(gold, student.predict(gold)))
```

`train(text, "best")` does the same, and adds what a model file needs: it attaches punctuation again,
labels the arcs, and learns how sure the parser is.
""".strip().split("\n")


def _class(name: str, value: type) -> list[str]:
    lines = [f"### `{name}`", ""]
    if not issubclass(value, (Exception, msgspec.Struct)):
        lines += ["```python", *_fields_or_constructor(name, value), "```", ""]
    lines += [*_docstring(value), ""]
    if issubclass(value, Exception):
        return lines
    for key, member in _members(value):
        function = (
            member.fget if isinstance(member, property) else getattr(member, "__func__", member)
        )
        if isinstance(member, property):
            lines += [f"#### `{name}.{key}`", "", *_docstring(function), ""]
        else:
            lines += _function(f"{name}.{key}", function, "####")
    return lines


def _members(value: type) -> Iterator[tuple[str, Any]]:
    """Public methods and properties with a docstring, including inherited ones."""
    seen: set[str] = set()
    for place in value.__mro__:
        if not place.__module__.startswith("dynet_vdgi"):
            continue
        for key, member in vars(place).items():
            function = (
                member.fget if isinstance(member, property) else getattr(member, "__func__", member)
            )
            is_public = not key.startswith("_") or key == "__call__"
            if is_public and key not in seen and inspect.isfunction(function):
                seen.add(key)
                if inspect.getdoc(getattr(value, key)):
                    yield key, member


def _fields_or_constructor(name: str, value: type) -> list[str]:
    tree = ast.parse(textwrap.dedent(inspect.getsource(value))).body[0]
    assert isinstance(tree, ast.ClassDef)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == "__init__":
            return _signature(name, node)
    fields = [ast.unparse(node) for node in tree.body if isinstance(node, ast.AnnAssign)]
    fields = [re.sub(r" = field\(.*\)", " = ...", field) for field in fields]
    return [f"{name}(", *(f"    {field}," for field in fields), ")"] if fields else [f"{name}()"]


def _function(name: str, value: Callable[..., Any], heading: str) -> list[str]:
    tree = ast.parse(textwrap.dedent(inspect.getsource(value))).body[0]
    assert isinstance(tree, ast.FunctionDef)
    shown = name.replace(".__call__", "")
    return [
        f"{heading} `{name}`",
        "",
        "```python",
        *_signature(shown, tree),
        "```",
        "",
        *_docstring(value),
        "",
    ]


def _signature(name: str, tree: ast.FunctionDef) -> list[str]:
    """As in the source, without `self`; one argument a line if it is long."""
    arguments = tree.args
    positional = [*arguments.posonlyargs, *arguments.args]
    # gives the object itself
    has_own_type = any(a.arg == "self" and a.annotation for a in positional)
    defaults = [None] * (len(positional) - len(arguments.defaults)) + [*arguments.defaults]
    parts = [
        _argument(argument, default)
        for argument, default in zip(positional, defaults)
        if argument.arg not in ("self", "cls")
    ]
    if arguments.vararg:
        parts.append(f"*{_argument(arguments.vararg, None)}")
    elif arguments.kwonlyargs:
        parts.append("*")
    parts += [_argument(*both) for both in zip(arguments.kwonlyargs, arguments.kw_defaults)]
    if arguments.kwarg:
        parts.append(f"**{_argument(arguments.kwarg, None)}")
    gives = ast.unparse(tree.returns) if tree.returns and tree.name != "__init__" else ""
    gives = "Self" if has_own_type else gives
    end = f") -> {gives}" if gives else ")"
    line = f"{name}({', '.join(parts)}{end}"
    return [line] if len(line) <= 100 else [f"{name}(", *(f"    {part}," for part in parts), end]


def _argument(argument: ast.arg, default: ast.expr | None) -> str:
    annotation = f": {ast.unparse(argument.annotation)}" if argument.annotation else ""
    equals = " = " if annotation else "="
    return f"{argument.arg}{annotation}" + (f"{equals}{ast.unparse(default)}" if default else "")


def _docstring(value: Any) -> list[str]:
    """The docstring with its lists of arguments and errors as Markdown lists."""
    lines: list[str] = []
    is_listed = False
    for line in (inspect.getdoc(value) or "").split("\n"):
        if line in ("Args:", "Raises:", "Returns:"):
            is_listed = True
            lines += [f"**{line[:-1].replace('Args', 'Arguments')}**", ""]
        elif not is_listed or not line.strip():
            lines.append(line)
        elif match := re.fullmatch(r" {4}(\S[^:]*): (.*)", line):
            lines.append(f"- `{match[1]}`: {match[2]}")
        else:
            lines.append("  " + line.strip())
    return [re.sub(r"^(Raises: )`?(\w+)`?", r"\1`\2`", line) for line in lines]


def _table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    cells = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    return [f"| {' | '.join(row)} |" for row in (heading, ["---"] * len(heading), *cells)]


def rules() -> str:
    """The page of rule tables, with the current output of its commands."""
    text = (DOCS / "rules.md").read_text(encoding="utf-8")
    return re.sub(r"```console\n\$ (.+)\n(?:.*\n)*?```", lambda match: _printed(match[1]), text)


def _printed(command: str) -> str:
    """A block with a command and its output."""
    _, *arguments = shlex.split(command)
    arguments = [str(DOCS.parent / a) if a.startswith("resources/") else a for a in arguments]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
        status = cli.main(arguments)
    if status:
        raise SystemExit(f"docs/rules.md: '{command}' ends with status {status}")
    return f"```console\n$ {command}\n{printed.getvalue()}```"


PAGES: dict[str, Callable[[], str]] = {
    "rules.md": rules,
    "command-line.md": command_line,
    "settings.md": settings,
    "api.md": api,
    "rooms.svg": rooms.picture,
    "architecture.md": reading.page,
}


def outdated() -> list[str]:
    """Pages that differ from the code's current output."""
    paths = {name: DOCS / name for name in PAGES}
    return [
        name
        for name, path in paths.items()
        if not path.exists() or path.read_text(encoding="utf-8") != PAGES[name]()
    ]


def main() -> int:
    """Writes the pages, or checks them."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--check", action="store_true", help="write nothing")
    late = outdated()
    if not arguments.parse_args().check:
        for name in late:
            (DOCS / name).write_text(PAGES[name](), encoding="utf-8")
            print(f"docs/{name}")
        return 0
    for name in late:
        print(f"docs/{name} is out of date: run python docs/generate.py", file=sys.stderr)
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main())
