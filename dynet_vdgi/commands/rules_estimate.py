"""Count the expectations of rules in gold trees.

Writes a rule file. The expectation of a rule is the share of arcs among all pairs of words that the rule
could link, in short, projective sentences of a treebank, without punctuation. This is the paper's setting
"WeaklySupervised"; it uses gold trees.

  vdgi rules estimate xx-ud-train.conllu -o xx-rules.txt
  vdgi rules estimate 'xx-ud-*.conllu' --rules ud-propn --max-len 15
  vdgi rules estimate wsj-train.conllu --rules wsj --tags xpos
  vdgi train --train my.conllu --preset paper --rules xx-rules.txt --out runs/my
"""

from __future__ import annotations

import argparse

from dynet_vdgi.commands import add_output, add_tags, check_at_least_1
from dynet_vdgi.data import file_checks, files
from dynet_vdgi.settings.bundled import rules_path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "treebanks", nargs="+", metavar="TREEBANK", help="CoNLL-U files with trees; - is standard input"
    )
    parser.add_argument(
        "--rules", default="ud", metavar="FILE", help="rules whose expectations to count (default: ud)"
    )
    add_tags(parser)
    parser.add_argument(
        "--max-len",
        type=int,
        default=10,
        metavar="N",
        help="longest sentence, in words without punctuation (default: %(default)s)",
    )
    add_output(parser)


def run(arguments: argparse.Namespace) -> None:
    from dynet_vdgi.grammar.estimated_rules import estimated_rules
    from dynet_vdgi.grammar.rules import load_rules

    check_at_least_1("--max-len", arguments.max_len)
    names = files.expand(arguments.treebanks)
    path = rules_path(arguments.rules)
    file_checks.check_output(arguments.output, [*names, path], ending=".txt")
    rules = load_rules(path)
    with files.atomic_writer(arguments.output) as handle:
        handle.write(estimated_rules(names, rules, arguments.max_len, arguments.tags).text)
