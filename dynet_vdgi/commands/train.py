"""Learn a parser from tagged sentences.

Needs CoNLL-U files with part-of-speech tags (UPOS), and writes model.vdgi, log.jsonl and
settings.toml into the folder --out. By default the parser is the universal one, which has learnt
from gold trees (trees made by people) of other languages, with what it measures in your text;
fast.vdgi is its fast student (see vdgi parse --fast). With --trees the parser starts from the
universal one and learns from trees of yours. The preset best uses no gold tree of any language, but
a rule table.

Heads in the files of --train are ignored, unless the protocol, the choice of the model or the
expectations of the rules use them; the model file records every use of gold trees. With --raw, the
run also learns to split and tag raw text; or name a tokeniser and a tagger. You can name several
files, or a quoted pattern. The same command gives the same model file but for the time in it, which
the environment variable SOURCE_DATE_EPOCH sets.

  vdgi train --train my.conllu --out runs/my
  vdgi train --train my.conllu --preset best --out runs/best                 # no gold tree of any language
  vdgi train --train my.conllu --preset best --rules my-rules.txt --out runs/my2    # with your own rule table
  vdgi train --train my.conllu --preset best --language-facts facts.txt --out runs/my4
  vdgi train --train my.conllu --trees corrected.conllu --out runs/my3       # learn from some trees as well
  vdgi train --treebank fr fr.conllu --treebank it it.conllu --out runs/u    # a universal parser of your own
  vdgi train --preset best --language eu eu.conllu --language fr fr1.conllu fr2.conllu --out runs/several
  vdgi train --train my.conllu --preset paper --out runs/neural              # the paper's neural parser
  vdgi train --train tagged.conllu --raw more.txt --preset universal --out runs/raw  # then parse raw text
  vdgi train --train my.conllu --init runs/neural --preset rl-sn --set train.updates=0 --out runs/sn
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dynet_vdgi.commands import add_ignore_feats
from dynet_vdgi.commands.options import Options
from dynet_vdgi.errors import UsageError
from dynet_vdgi.settings import presets
from dynet_vdgi.system import files


def add_arguments(add: Options) -> None:
    add("--train FILE...", "tagged text to learn from")
    several = (
        "for a parser of several languages, instead of --train: a label such as fr, "
        "then tagged text"
    )
    add("--language LABEL FILE...", f"{several}; once for each language", action="append")
    trees = (
        "gold trees to learn from, with or without text; "
        "HEAD may be _ for words without a head so far"
    )
    add("--trees FILE...", trees)
    others = (
        "gold trees of another language, once for each language: "
        "a new universal parser learns from them"
    )
    add("--treebank LABEL FILE...", f"{others}, without text", action="append")
    raw = (
        "learn a tokeniser and a tagger from the tagged words, and tag the others; "
        "and more text to learn"
    )
    add("--raw [FILE...]", f"{raw} from: raw (.txt), or CoNLL-U without tags", default=None)
    add("--lines", "each line of raw text (.txt) is a sentence, for --raw")
    add("--tokeniser FILE", "splits raw text (.txt) into words; is kept in the model")
    add("--tagger FILE", "tags the words of texts and trees without UPOS; is kept in the model")
    add("--dev FILE...", "gold trees to score during training")
    add_ignore_feats(add)
    add("-o --out DIR", "folder of the run; created if missing", required=True)
    usual = f"{presets.DEFAULT_PRESET} (default; with --trees {presets.DEFAULT_WITH_TREES})"
    others = "another of docs/settings.md, or a .toml file; if repeated, the last is on top"
    add("--preset NAME", f"settings to start from: {usual}, best, paper, {others}", action="append")
    add("--init MODEL", "start from the weights of this neural model or run")
    add("--rules FILE", "rule table: a file, or a name such as best; short for --set rules=FILE")
    part = "leave this part out of the rule table, such as 'following conjunct'; repeat for others"
    add("--without PART", part, action="append", default=[])
    facts = (
        "facts about the language, such as `objects = before`, added to the evidence of the text"
    )
    whose = "with several languages, about the one with this label"
    add("--language-facts [LABEL=]FILE", f"{facts}; {whose}", action="append", default=[])
    add("--set KEY=VALUE", "change a setting; repeat for others", action="append", default=[])
    add("--seed N", "short for --set seed=N", type=int)
    add("--resume", "continue the run in DIR from its last checkpoint")
    add("--dry-run", "read and check everything, write nothing")


def run(arguments: argparse.Namespace) -> None:
    from dynet_vdgi.models.run_folder import model_path
    from dynet_vdgi.training.inputs import Inputs
    from dynet_vdgi.training.run import run as train

    files.check_named(arguments.out)
    changes: dict[str, Any] = {}
    if arguments.rules is not None:
        changes["rules"] = arguments.rules
    if arguments.seed is not None:
        changes["seed"] = arguments.seed
    chosen = arguments.preset or [presets.default_preset(has_trees=bool(arguments.trees))]
    settings = presets.load_settings(chosen, arguments.set, changes)
    languages = _by_label(arguments.language, "--language")
    treebanks = _by_label(arguments.treebank, "--treebank")
    texts = languages or {"": arguments.train}

    def expanded(names: Sequence[str]) -> tuple[str, ...]:
        return tuple(files.expand(names))

    train(
        Inputs(
            {label: expanded(names) for label, names in texts.items()},
            trees=expanded(arguments.trees),
            dev=expanded(arguments.dev),
            init=str(model_path(arguments.init)) if arguments.init else None,
            facts=_facts(arguments.language_facts, list(languages)),
            without=tuple(arguments.without),
            treebanks={label: expanded(names) for label, names in treebanks.items()},
            tokeniser=str(model_path(arguments.tokeniser)) if arguments.tokeniser else None,
            tagger=str(model_path(arguments.tagger)) if arguments.tagger else None,
            raw=None if arguments.raw is None else expanded(arguments.raw),
            lines=arguments.lines,
        ),
        settings,
        out=Path(arguments.out),
        resume=arguments.resume,
        dry_run=arguments.dry_run,
        preset=" + ".join(chosen),
        command=["vdgi", *sys.argv[1:]],
        explicit=presets.setting_names(presets.changed(arguments.set, changes)),
    )


def _facts(given: Sequence[str], labels: Sequence[str]) -> dict[str, str]:
    """The file of facts for each label; the label is empty for a text without one. Raises:
    UsageError."""
    facts: dict[str, str] = {}
    for name in given:
        label, equals, rest = name.partition("=")
        label, file = (
            (label, rest) if equals and (labels or not Path(name).exists()) else ("", name)
        )
        if not file or file == files.STANDARD:
            raise UsageError(f"--language-facts {name}: name a file")
        if label in facts:
            raise UsageError(
                f"--language-facts {name}: there is one file of facts for a language, not two"
            )
        facts[label] = file
    return facts


def _by_label(given: Sequence[Sequence[str]], option: str) -> dict[str, list[str]]:
    """The files of each --language or --treebank. Raises: UsageError."""
    by_label: dict[str, list[str]] = {}
    for label, *names in given:
        if not re.fullmatch(r"\w[\w.+-]*", label) or label.endswith((".conllu", ".gz")):
            raise UsageError(
                f"{option} {label}: a label comes before the files, as in {option} fr {label}"
            )
        if not names:
            raise UsageError(f"{option} {label}: name the files of its text after the label")
        if label in by_label:
            raise UsageError(f"{option} {label}: given twice; name all of its files after one")
        by_label[label] = names
    return by_label
