"""One module, one idea: no two modules glued into a file, no name imported twice, no text that
names what is gone."""

from __future__ import annotations

import ast
import re
import sys
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import msgspec
import pytest

import dynet_vdgi
from dynet_vdgi.settings.registry import RECIPES

PACKAGE = Path(dynet_vdgi.__file__).parent
MODULES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))


def rules_of_dashes(text: str) -> list[int]:
    """Lines that divide a file with a rule, as between two modules."""
    return [n for n, line in enumerate(text.split("\n"), 1) if re.match(r"\s*# ?[-=]{8,}", line)]


def second_docstrings(text: str) -> list[int]:
    """Comments at the margin that belong to no statement: a blank line follows them, as in a
    docstring."""
    lines = text.split("\n")
    first = ast.parse(text).body
    begin = first[0].lineno if first else 0
    return [
        n
        for n, line in enumerate(lines, 1)
        if n > begin
        and line.startswith("# ")
        and not line.startswith("# fmt:")
        and n < len(lines)
        and not lines[n].strip()
    ]


def imported_twice(text: str) -> list[str]:
    """Names that a module imports twice: in one scope, or at its top and again in a function.

    A name that is imported for type checkers only may be imported late, in a function, and
    alternatives of a `try` or an `if` are one import.
    """

    def names(node: ast.AST) -> list[str]:
        return [
            alias.asname or alias.name
            for alias in getattr(node, "names", ())
            if isinstance(alias, ast.alias)
        ]

    def inside(node: ast.AST, outer: set[str]) -> Iterator[str]:
        here: set[str] = set()
        for_checkers: set[str] = set()
        functions: list[ast.AST] = []
        nodes = list(ast.iter_child_nodes(node))
        while nodes:
            child = nodes.pop(0)
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                functions.append(child)
            elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                for inner in ast.walk(child):
                    yield from set(names(inner)) & here
                    for_checkers |= set(names(inner))
            elif isinstance(child, (ast.Try, ast.If)) and not isinstance(node, ast.If):
                here |= {name for inner in ast.walk(child) for name in names(inner)}
            else:
                yield from set(names(child)) & (here | outer)
                here |= set(names(child))
                nodes = [*ast.iter_child_nodes(child), *nodes]
        for function in functions:
            yield from inside(function, here | outer)

    return sorted(set(inside(ast.parse(text), set())))


@cache
def members() -> dict[str, set[str]]:
    """Names at the top of each module, by the module's own name and by its dotted name."""
    found: dict[str, set[str]] = {}
    for module in MODULES:
        parts = module.removesuffix(".py").removesuffix("/__init__").split("/")
        tree = ast.parse((PACKAGE / module).read_text(encoding="utf-8"))
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        names |= {
            node.name
            for node in ast.walk(tree)
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        }
        for k in range(len(parts)):
            found.setdefault(".".join(parts[k:]), set()).update(names)
            found.setdefault(".".join(parts[k:-1]), set()).add(parts[-1])
    return found


def settings() -> set[str]:
    """Sections of settings, which texts name as `section.setting`."""

    def sections(kind: type) -> Iterator[str]:
        for field in msgspec.structs.fields(kind):
            yield field.name

    kinds = [RECIPES.named(name).settings for name in RECIPES.names()]
    return {section for kind in kinds for section in sections(kind)}


def stale_references(text: str) -> list[str]:
    """`module.name` in comments and docstrings where there is no such module, or no such name in
    it."""
    tree = ast.parse(text)
    in_code = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    in_code |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            in_code |= {alias.asname or alias.name for alias in node.names}
    stale = []
    for reference in re.findall(r"`((?:[a-z_]\w*\.)+[A-Za-z_]\w*)`", prose(text)):
        *before, last = reference.removeprefix("dynet_vdgi.").split(".")
        home = ".".join(before)
        if reference in EXTERNAL or last in ENDINGS or before[0] in settings() | OTHERS:
            continue
        is_stale = last not in members()[home] if home in members() else before[0] not in in_code
        if is_stale and before[0] not in sys.stdlib_module_names:
            stale.append(reference)
    return stale


ENDINGS = frozenset(
    [
        "py",
        "txt",
        "toml",
        "md",
        "conllu",
        "csv",
        "json",
        "jsonl",
        "vdgi",
        "sh",
        "js",
        "npz",
        "log",
        "xml",
        "mrg",
        "journal",
    ]
)
"""Endings of file names."""

OTHERS = frozenset(
    [
        "numpy",
        "np",
        "dy",
        "dynet",
        "numba",
        "gensim",
        "spacy",
        "vdgi",
        "msgspec",
        "global",
        "feats",
        "misc",
        "deps",
    ]
)
"""Packages of others, as texts call them, and columns, as queries name their parts."""

EXTERNAL = {"conllu.parse", "conllu.serializer", "conllu.TokenList"}
"""Names of the library that has the name of a room."""


def prose(text: str) -> str:
    """Comments and strings."""
    lines = iter(text.splitlines(keepends=True))
    return "\n".join(
        token.string
        for token in tokenize.generate_tokens(lambda: next(lines, ""))
        if token.type in (tokenize.COMMENT, tokenize.STRING)
    )


@pytest.mark.parametrize("module", MODULES)
def test_a_module_is_one_module(module: str) -> None:
    text = (PACKAGE / module).read_text(encoding="utf-8")
    assert rules_of_dashes(text) == []
    assert second_docstrings(text) == []


def test_scripts_and_tests_have_no_rules_of_dashes() -> None:
    root = Path(__file__).parents[2]
    paths = [
        path
        for folder in ("docs", "experiments", "tests")
        for path in (root / folder).rglob("*.py")
    ]
    assert len(paths) > 150
    assert [str(path) for path in paths if rules_of_dashes(path.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize("module", MODULES)
def test_every_module_says_what_it_is(module: str) -> None:
    assert ast.get_docstring(ast.parse((PACKAGE / module).read_text(encoding="utf-8"))), module


@pytest.mark.parametrize("module", MODULES)
def test_no_name_is_imported_twice(module: str) -> None:
    assert imported_twice((PACKAGE / module).read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("module", MODULES)
def test_no_text_names_a_module_that_is_gone(module: str) -> None:
    assert stale_references((PACKAGE / module).read_text(encoding="utf-8")) == []


def test_what_is_looked_for_is_found() -> None:
    first = '"""One."""\n\nimport a\n\n\ndef f():\n    import a\n\n\n'
    glued = first + "# " + "-" * 90 + "\n# Two.\n\n\ndef g():\n    return 1\n"
    assert rules_of_dashes(glued) == [10]
    assert second_docstrings(glued) == [11]
    assert imported_twice(glued) == ["a"]
    assert stale_references(
        '"""See `no_such_module.f`, `inference.eisner.no_such_name`, `messages.count`."""'
    ) == [
        "no_such_module.f",
        "inference.eisner.no_such_name",
    ]
