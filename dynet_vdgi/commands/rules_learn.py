"""Show what gold trees changed about a rule table.

Lists classes of arcs (tag of the head, side, tag of the dependent), the most changed first: how many
the trees have, how many the table expected there, what the table adds to such an arc and what the trees
added. The figures come from the CRF that `vdgi train --trees` learns; trees may lack heads (_). The list is
for reading: it is not a rule table, but may show which line a table lacks.

  vdgi rules learn corrected.conllu -o learnt.txt
  vdgi rules learn corrected.conllu --text my.conllu --rules my-rules.txt
"""

from __future__ import annotations

import argparse

from dynet_vdgi.commands import add_output, add_tags
from dynet_vdgi.data import file_checks, files


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("trees", nargs="+", metavar="TREES", help="CoNLL-U files with gold trees")
    parser.add_argument(
        "--text",
        nargs="+",
        default=[],
        metavar="FILE",
        help="tagged text in which the table measures the language (default: the trees' own sentences)",
    )
    parser.add_argument("--rules", default="best", metavar="FILE", help="rule table (default: best)")
    add_tags(parser)
    add_output(parser)


def run(arguments: argparse.Namespace) -> None:
    from dynet_vdgi.grammar.rules import load_rules
    from dynet_vdgi.recipes.learnt_rules import learnt_page
    from dynet_vdgi.settings.bundled import rules_path

    path = rules_path(arguments.rules)
    trees, text = files.expand(arguments.trees), files.expand(arguments.text)
    file_checks.check_output(arguments.output, [*trees, *text, path], ending=".txt")
    rules = load_rules(path)
    with files.atomic_writer(arguments.output) as handle:
        handle.write(learnt_page(trees, text, rules, arguments.tags))
