"""Show a rule table, what it measures in a text, or a table of labels.

Prints the table as it is in its file. With --text, prints its measures of a text instead: on which side of
their heads words stand, the measures, and the findings of its parts, such as copulas and markers. ud2 is the
table of labels by which vdgi parse writes relations: edit a copy and name it with --labels.

  vdgi rules show best
  vdgi rules show my-rules.txt --without "following conjunct"
  vdgi rules show best --text my.conllu --language-facts facts.txt
  vdgi rules show ud2 > my-labels.txt
"""

from __future__ import annotations

import argparse

from dynet_vdgi.commands.rules_explain import add_text_options, prior_of
from dynet_vdgi.errors import UsageError
from dynet_vdgi.system.names import plain


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("rules", metavar="NAME", help="a rule table: the name of one, or a file; or ud2")
    parser.add_argument(
        "--text",
        nargs="+",
        default=[],
        metavar="FILE",
        help="print the measures of this text instead; its trees are ignored",
    )
    add_text_options(parser)


def run(arguments: argparse.Namespace) -> None:
    from dynet_vdgi.commands.rules_explain import rules_of, sentences_of
    from dynet_vdgi.labels.label_table import bundled_tables
    from dynet_vdgi.system.limits import read_table

    if labels := bundled_tables().get(arguments.rules):
        if arguments.text or arguments.without or arguments.language_facts or arguments.tags != "upos":
            raise UsageError(f"{arguments.rules} is a table of labels: it is shown without options")
        print(plain(read_table(labels, "table of labels").rstrip("\n")))
        return
    rules = rules_of(arguments)
    if arguments.text:
        print(plain(prior_of(rules, sentences_of(arguments.text, arguments.tags, "ignored"), arguments).told))
        return
    if arguments.language_facts:
        raise UsageError("--language-facts has no effect without a text: add --text FILE")
    if arguments.tags != "upos":
        raise UsageError(f"--tags {arguments.tags} has no effect without a text: add --text FILE")
    print(plain(rules.text.rstrip("\n")))
