"""Tag words: UPOS, FEATS, XPOS, lemmas; learn a tagger.

FILE is CoNLL-U with forms. Words without UPOS get one, and FEATS, XPOS and lemmas as far as the tagger has
learnt any; words with UPOS keep what they have, unless --retag. A tagger learns from some tagged sentences,
fifty for a start, and from more text without tags.

  vdgi tag train tagged.conllu --text more.conllu -o my.tagger
  vdgi tag my.tagger new.conllu -o new.tagged.conllu
  vdgi tag evaluate my.tagger gold.conllu
  vdgi tag list more.conllu -n 200 -o words.tsv
"""

from __future__ import annotations

import argparse

from dynet_vdgi.commands import add_parser, tag_evaluate, tag_list, tag_train, tag_words

TASKS = {"words": tag_words, "train": tag_train, "evaluate": tag_evaluate, "list": tag_list}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The tasks of `vdgi tag`; `vdgi tag MODEL FILE` is short for `vdgi tag words MODEL FILE`."""
    tasks = parser.add_subparsers(dest="task", metavar="TASK", required=True)
    for name, module in TASKS.items():
        add_parser(tasks, name, module)
    parser.default_task = "words"  # type: ignore[attr-defined]


def run(arguments: argparse.Namespace) -> None:
    """Runs a task."""
    TASKS[arguments.task].run(arguments)
