"""Read, explain and estimate rule tables.

A rule table holds knowledge about trees before anything is learnt. `estimate` and `learn` need gold trees,
the other tasks do not.

  vdgi rules list
  vdgi rules show best --text my.conllu
  vdgi rules explain my.conllu --sentence 3
  vdgi rules estimate xx-ud-train.conllu -o xx-rules.txt
"""

from __future__ import annotations

import argparse

from dynet_vdgi.commands import add_parser, rules_estimate, rules_explain, rules_learn, rules_list, rules_show

TASKS = {
    "list": rules_list,
    "show": rules_show,
    "explain": rules_explain,
    "learn": rules_learn,
    "estimate": rules_estimate,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    tasks = parser.add_subparsers(dest="task", metavar="TASK", required=True)
    for name, module in TASKS.items():
        add_parser(tasks, name, module)


def run(arguments: argparse.Namespace) -> None:
    TASKS[arguments.task].run(arguments)
