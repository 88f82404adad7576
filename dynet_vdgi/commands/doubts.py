"""List the words of a parsed file whose heads are most doubtful.

The file comes from vdgi parse --confidence, which writes HeadConf= to MISC, or, for a neural model, from vdgi
parse --probs, which writes HeadProb=. A line gives the word's place in the file, its sentence (sent_id),
number, form and tag, its head (number and form), its relation, and the value. The least certain head comes
first; among equal values, the first in the text. Punctuation is not listed.

  vdgi parse runs/my new.conllu --confidence -o sure.conllu
  vdgi doubts sure.conllu -n 20
  vdgi doubts sure.conllu -n 200 --json > doubts.json
"""

from __future__ import annotations

import argparse
import json
from itertools import chain

from dynet_vdgi.data import conllu, file_checks, files
from dynet_vdgi.errors import UsageError
from dynet_vdgi.system.names import plain
from dynet_vdgi.system.text_tables import aligned


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="parsed CoNLL-U; - is standard input")
    parser.add_argument(
        "-n", "--number", type=int, default=20, metavar="N", help="words (default: %(default)s)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> None:
    names = files.expand(arguments.files)
    file_checks.check_read_once(names)
    if arguments.number < 1:
        raise UsageError(f"-n {arguments.number}: must be at least 1")
    from dynet_vdgi.parsing.doubts import doubts

    read = (conllu.read(name, heads="required") for name in names)
    found = doubts(chain.from_iterable(read), arguments.number)
    if arguments.json:
        print(json.dumps([doubt._asdict() for doubt in found], indent=1, ensure_ascii=False))
        return
    names_of_columns = ["place", "sentence", "word", "form", "tag", "head", "", "relation"]
    rows = [[*names_of_columns, found[0].key if found else ""]]
    for doubt in found:
        place = f"{files.shown(doubt.path)}:{doubt.line}"
        head = [str(doubt.head), doubt.head_form]
        known = [place, doubt.sent_id or "_", str(doubt.word), doubt.form, doubt.tag, *head, doubt.relation]
        rows.append([*map(plain, known), f"{doubt.value:.4f}"])
    print(aligned(rows, left=8))
