"""Compare two annotations of one text: agreement, Cohen's kappa, confusions.

A and B are CoNLL-U files of the same characters; either may come from a program, such as vdgi parse. Their
sentences, tokens and words may differ and are aligned as in vdgi evaluate --raw; F1 says how many of them
both files have. Each other line is over the words for which both files have a value: UPOS, XPOS, FEATS,
lemma, head (UAS, unlabelled attachment score), relation, head and relation (LAS, labelled attachment score).
Relations are compared without subtypes and, if there are any, once more with them. DEPS, empty nodes, MISC
and comments are not compared.

Below come the most frequent confusions of tags and relations, and the sentences in which most words differ.

  vdgi agreement anna.conllu ben.conllu
  vdgi agreement anna.conllu ben.conllu --no-punct --worst 50
  vdgi agreement anna.conllu ben.conllu --json > agreement.json
"""

from __future__ import annotations

import argparse
import csv
import json
import sys

from dynet_vdgi.data import file_checks
from dynet_vdgi.errors import UsageError
from dynet_vdgi.system.names import told


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("first", metavar="A", help="CoNLL-U file of one annotator; - is standard input")
    parser.add_argument("second", metavar="B", help="CoNLL-U file of another one")
    parser.add_argument(
        "--worst", type=int, metavar="N", help="most different sentences to list (default: 5)"
    )
    parser.add_argument(
        "--confusions", type=int, metavar="N", help="confusions to list per column (default: 10)"
    )
    parser.add_argument(
        "--no-punct", action="store_true", help="leave out words that are PUNCT in either file"
    )
    parser.add_argument("--json", action="store_const", const="json", dest="format", help="JSON")
    parser.add_argument(
        "--csv", action="store_const", const="csv", dest="format", help="the figures as CSV, one a line"
    )


def run(arguments: argparse.Namespace) -> None:
    lists = {"worst": 5, "confusions": 10}
    for option in lists:
        number = getattr(arguments, option)
        if number is not None and arguments.format == "csv":
            raise UsageError(f"--{option} has no effect with --csv, which has figures only")
        if number is not None and number < 0:
            raise UsageError(f"--{option} {number}: a number of lines, or 0 for none")
        lists[option] = lists[option] if number is None else number
    file_checks.check_read_once([arguments.first, arguments.second])
    from dynet_vdgi.evaluation.agreement import HEADING, agreement
    from dynet_vdgi.evaluation.two_files import TwoFiles

    files = TwoFiles.read(arguments.first, arguments.second)
    found = agreement(files, punctuation=not arguments.no_punct)
    if arguments.format == "json":
        print(json.dumps(found.to_dict(lists["worst"], lists["confusions"]), indent=1, ensure_ascii=False))
    elif arguments.format == "csv":
        csv.writer(sys.stdout, lineterminator="\n").writerows([HEADING, *found.rows()])
    else:
        print(told(found.shown(lists["worst"], lists["confusions"])))
