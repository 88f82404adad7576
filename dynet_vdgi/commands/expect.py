"""Tell how accurate the universal parser will be on a text.

The text needs tags (UPOS) and, if you have them, features (FEATS); its heads are not read. A few
hundred sentences are enough, and no more than the first 20,000 words are measured. Tags count as
right, unless they have TagConf= in MISC, as vdgi tag --confidence writes it; where they are
guessed, fewer heads are expected.

The table has a column for each number of gold trees, which are trees that you correct and give to
vdgi train --trees. Right heads is the share of words, without punctuation, whose head will be
right. 9 of 10 languages are between the two figures below it. Above the table are the treebanks
learnt from that are nearest in tags and features. It does not hold for a language that the parser
has learnt from, or for a near relative of one: more heads will be right, and trees help less. A
text of 2,000 words or more shows this by itself, and a warning says so. Nothing can be expected of
a text whose tags say nothing, such as X for most of its words: there is a warning, and no table.

  vdgi expect my.conllu
"""

from __future__ import annotations

import argparse
import logging
import textwrap
from functools import partial

from dynet_vdgi.commands import add_ignore_feats
from dynet_vdgi.commands.options import Options
from dynet_vdgi.conllu import reading
from dynet_vdgi.errors import UsageError
from dynet_vdgi.settings.bundled import bundled
from dynet_vdgi.system import file_checks, files
from dynet_vdgi.system.messages import count, printable_text
from dynet_vdgi.system.text_tables import aligned

logger = logging.getLogger("dynet_vdgi")

_LEARNT_FROM = (
    "the parser has learnt from trees of this language, it seems, or of a near relative (%s): "
    "the figures below are for other languages; trees of yours will help less than they say, "
    "and a few perhaps not at all"
)


def add_arguments(add: Options) -> None:
    add("FILE...", "tagged CoNLL-U, one text; - is standard input", dest="files")
    add("--model MODEL", "a universal model", default="universal")
    add("-n --number N", "treebanks to name", default=5, least=1)
    add_ignore_feats(add)


def run(arguments: argparse.Namespace) -> None:
    if len(arguments.files) > 1 and arguments.files[0] in bundled("models"):
        raise UsageError(
            f"name the model with --model {arguments.files[0]}; it is the default, if universal"
        )
    names = files.expand(arguments.files)
    file_checks.check_read_once(names)
    from dynet_vdgi.parser.expectation import LOW_SHARE
    from dynet_vdgi.parser.outlook import RELATED_WORDS, look
    from dynet_vdgi.parser.parser import load
    from dynet_vdgi.parser.steps import Steps

    parser, steps = load(arguments.model), Steps()
    logger.info("parsing the beginning of the text")
    read = reading.checked_sentences(
        steps.blocks(names), "ignored", parser.model.settings.data.tags
    )
    outlook = look(parser, read, partial(steps.accuracy, names))
    is_guessed = outlook.right_tags < 1
    amount = f"{count(outlook.n_sentences, 'sentence')}, {count(outlook.n_words, 'word')}"
    print(printable_text(f"{', '.join(map(files.shown, names))}: {amount} measured"))
    if outlook.silence:
        print("no share of right heads can be expected: the tags say next to nothing")
        return
    near = [f"{name} {distance:.2f}" for name, distance in outlook.nearest[: arguments.number]]
    line = f"nearest treebanks learnt from (0: equal): {', '.join(near)}"
    print(textwrap.fill(line, 80, subsequent_indent="  ", break_on_hyphens=False))
    if outlook.n_words < RELATED_WORDS:
        print("if your language is among them, more heads will be right than this table says")
    if is_guessed:
        print(f"right tags, by the tagger's own estimate: {100 * outlook.right_tags:.0f} %")
    if outlook.learnt_from:
        logger.warning(_LEARNT_FROM, outlook.learnt_from)
    columns = [["gold trees", "right heads, %", "for 9 of 10 languages"]]
    for each in outlook.shares:
        low, high = each.interval
        columns.append(
            [str(each.trees), f"{100 * each.share:.0f}", f"{100 * low:.0f}-{100 * high:.0f}"]
        )
    print(aligned([list(row) for row in zip(*columns)], left=1))
    if outlook.shares[0].share < LOW_SHARE and not is_guessed:
        print(
            "ten sentences to correct: "
            f"vdgi choose {arguments.model} {names[0]} -n 10 -o ten.conllu"
        )
    if is_guessed:
        logger.info(
            "with guessed tags, "
            "gold trees help only a parser whose tagger learns from their tags, too"
        )
