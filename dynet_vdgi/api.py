"""The library in a few calls, which `dynet_vdgi` exports; the command line does nothing else."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dynet_vdgi.conllu.corpus import Corpus, unfit
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.errors import UsageError, VdgiError, check_kind
from dynet_vdgi.models.run_folder import model_path
from dynet_vdgi.parser.parser import Parser
from dynet_vdgi.rule_tables.rules import RuleSet, load_rules
from dynet_vdgi.settings.bundled import rules_path
from dynet_vdgi.settings.presets import Presets, default_preset, load_settings, setting_names
from dynet_vdgi.system.files import AnyPath, check_path
from dynet_vdgi.training.inputs import Inputs, InputText
from dynet_vdgi.training.run import run

_ARGUMENTS = {"train": "text", "language": "text", "treebank": "treebanks", "set": "settings"}
"""Arguments of `train` whose names differ from the option of `vdgi train`."""

Text = AnyPath | Iterable[Sentence] | Sequence[AnyPath]
"""A file, several files, or sentences in memory."""


def rules(name: AnyPath) -> RuleSet:
    """The rule table of a file, or the one of this name in the package, such as "best".

    Raises:
        ConfigError: it does not exist, or is malformed; the message names file and line.
        UsageError: the argument is neither a name nor a path.
    """
    check_path("name", name)
    return load_rules(rules_path(str(os.fspath(name))))


@contextmanager
def _naming_arguments() -> Iterator[None]:
    """A block whose errors name arguments instead of command-line options."""
    try:
        yield
    except VdgiError as error:

        def argument(option: re.Match[str]) -> str:
            return f"`{_ARGUMENTS.get(option[1], option[1].replace('-', '_'))}=`"

        message = str(error).removeprefix("config: ")
        error.args = (re.sub(r"--([a-z][a-z-]*)", argument, message),)
        raise


@_naming_arguments()
def train(
    text: Text | Mapping[str, Text] | None = None,
    preset: Presets | None = None,
    *,
    trees: Text = (),
    treebanks: Mapping[str, Text] | None = None,
    dev: Text = (),
    rules: AnyPath | RuleSet | None = None,
    seed: int | None = None,
    settings: Mapping[str, Any] | None = None,
    init: AnyPath | None = None,
    language_facts: AnyPath | Mapping[str, AnyPath] | None = None,
    tokeniser: AnyPath | None = None,
    tagger: AnyPath | None = None,
    raw: Text | None = None,
    lines: bool = False,
    out: AnyPath | None = None,
    resume: bool = False,
) -> Parser:
    """Trains a parser on tagged text: the universal parser measures it, unless a preset names
    another recipe.

    Args:
        text: sentences or files; for several languages, a mapping from language label to these.
        preset: name of a preset or path of a TOML file; or several, of which later ones win.
            Without one, `universal`, or `universal-trees` with trees.
        trees: sentences with gold trees to learn from, with or instead of the text; heads may be
            FREE.
        treebanks: gold trees of other languages, by label: a new universal parser learns from them,
            without text.
        dev: sentences with gold trees to score while training.
        rules: rule table for teacher, prior and posterior, instead of the preset's.
        seed: the seed of everything random.
        settings: single settings, nested: `{"teacher": {"iterations": 30}}`.
        init: a neural model to continue from, or the folder of its run.
        language_facts: a file of facts about the language; for several languages, files by label.
        tokeniser, tagger: files made by `vdgi tokenize train` and `vdgi tag train`; the model keeps
            them, for `Parser.parse_text`. The tagger also tags the words of texts and trees that
            have no UPOS.
        raw: files of raw text (.txt), or sentences or files without tags, to learn from as well;
            the run then learns the tokeniser and the tagger that are not given from the words with
            tags. () for none.
        lines: each line of files of raw text is a sentence.
        out: a folder for the model file, the log and the settings; without it everything stays in
            memory.
        resume: continue the run in that folder.

    Raises: DataError, UsageError, ConfigError, ModelError, see `training.run.run`.
    """
    if resume and out is None:
        raise UsageError("`resume=` continues the run in a folder: name it with `out=`")
    facts = _by_label(language_facts)
    paths = [("init", init), ("tokeniser", tokeniser), ("tagger", tagger), ("out", out)]
    for name, path in (*paths, *(("language_facts", path) for path in facts.values())):
        if path is not None:
            check_path(name, path)
    for name, value in (("settings", settings), ("treebanks", treebanks)):
        check_kind(name, value or {}, Mapping, "a mapping")
    changes: dict[str, Any] = {**(settings or {})}
    if seed is not None:
        changes["seed"] = seed
    if rules is not None and not isinstance(rules, RuleSet):
        check_path("rules", rules)
        changes["rules"] = str(os.fspath(rules))
    gold_trees = input_text(trees)
    if preset is None:
        preset = default_preset(has_trees=bool(gold_trees))
    chosen = load_settings(preset, changes=changes)
    names = [preset] if isinstance(preset, (str, os.PathLike)) else preset
    if not names:
        raise UsageError(f"preset={preset!r}: the name of a preset is expected")
    model = run(
        Inputs(
            {label: input_text(part) for label, part in _by_label(text, ()).items()},
            trees=gold_trees,
            dev=input_text(dev),
            init=str(model_path(Path(init))) if init else None,
            rules=rules if isinstance(rules, RuleSet) else None,
            facts={label: str(os.fspath(path)) for label, path in facts.items() if path},
            treebanks={label: input_text(part) for label, part in (treebanks or {}).items()},
            tokeniser=str(model_path(Path(tokeniser))) if tokeniser else None,
            tagger=str(model_path(Path(tagger))) if tagger else None,
            raw=None if raw is None else input_text(raw),
            lines=lines,
        ),
        chosen,
        out=Path(out) if out else None,
        resume=resume,
        preset=" + ".join(str(os.fspath(name)) for name in names),
        explicit=setting_names(changes),
    )
    assert model is not None  # no dry run
    return Parser(model)


def _by_label(what: Any, nothing: Any = None) -> Mapping[str, Any]:
    """Values by language label; a bare value gets the label ""."""
    return what if isinstance(what, Mapping) else {"": nothing if what is None else what}


def input_text(text: Text) -> InputText:
    """Files or sentences in the form that a run takes."""
    if isinstance(text, Corpus):
        text = text.path  # so that the model file can name it
    if isinstance(text, (str, os.PathLike)):
        return (str(os.fspath(text)),)
    if not isinstance(text, Iterable):
        raise unfit(text, "files or sentences are")
    items = list(text)
    for item in items:
        if not isinstance(item, (Sentence, str, os.PathLike)):
            raise unfit(item, "a file or a Sentence is")
    return tuple(item if isinstance(item, Sentence) else str(os.fspath(item)) for item in items)
