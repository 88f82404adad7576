"""List the words of a parsed file whose tags and heads are most doubtful.

The file comes from vdgi parse --confidence, which writes HeadConf= to MISC and, where it tagged a word,
TagConf=; from vdgi tag --confidence; or, for a neural model, from vdgi parse --probs, which writes HeadProb=.
A line gives the word's place in the file, its sentence (sent_id), number, form and tag, its head (number and
form), its relation, and the value. Tags below 0.9 come before all heads, because a wrong tag misleads the
parser: correct them first, and parse again; or say --heads. The least certain come first; among equal values,
the first in the text. Heads of punctuation are not listed.

  vdgi parse runs/my new.conllu --confidence -o sure.conllu
  vdgi doubts sure.conllu -n 20
  vdgi doubts sure.conllu -n 200 --json > doubts.json
"""

from __future__ import annotations

import argparse
import json
import logging
from itertools import chain

from dynet_vdgi.commands import check_at_least_1
from dynet_vdgi.data import conllu, file_checks, files
from dynet_vdgi.system.names import plain
from dynet_vdgi.system.text_tables import aligned

logger = logging.getLogger("dynet_vdgi")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="parsed CoNLL-U; - is standard input")
    parser.add_argument(
        "-n", "--number", type=int, default=20, metavar="N", help="words (default: %(default)s)"
    )
    parser.add_argument("--heads", action="store_true", help="list heads only, even if tags are doubtful")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> None:
    names = files.expand(arguments.files)
    file_checks.check_read_once(names)
    check_at_least_1("-n", arguments.number)
    from dynet_vdgi.parsing.doubts import SURE_OF_TAG, doubts

    read = (conllu.read(name, tags=conllu.KNOWN) for name in names)
    found = doubts(chain.from_iterable(read), arguments.number, only_heads=arguments.heads)
    if arguments.json:
        print(json.dumps([doubt._asdict() for doubt in found], indent=1, ensure_ascii=False))
        return
    names_of_columns = ["place", "sentence", "word", "form", "tag", "head", "", "relation"]
    rows: list[list[str]] = []
    for doubt, before in zip(found, [None, *found]):
        if before is None or doubt.key != before.key:
            rows.append([*names_of_columns, doubt.key])
        place = f"{files.shown(doubt.path)}:{doubt.line}"
        head = ["_" if doubt.head is None else str(doubt.head), doubt.head_form]
        known = [place, doubt.sent_id or "_", str(doubt.word), doubt.form, doubt.tag, *head, doubt.relation]
        rows.append([*map(plain, known), f"{doubt.value:.4f}"])
    if not rows:
        logger.info("no tag is less sure than %s", SURE_OF_TAG)
    else:
        print(aligned(rows, left=8))
