"""Read, explain and estimate rule tables.

vdgi rules list                                   # the tables that come with the package
vdgi rules show best                              # one of them, or your own
vdgi rules show best --text my.conllu             # what it measures in your text
vdgi rules explain my.conllu --sentence 3         # which part of it gives what to each arc
vdgi rules estimate xx-ud-train.conllu            # expectations of rules, counted in trees
"""

from __future__ import annotations

import argparse

from dynet_vdgi.commands import rules_estimate, rules_explain, rules_list, rules_show

TASKS = {
    "list": rules_list,
    "show": rules_show,
    "explain": rules_explain,
    "estimate": rules_estimate,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The tasks of `vdgi rules`."""
    tasks = parser.add_subparsers(dest="task", metavar="TASK", required=True)
    for name, module in TASKS.items():
        summary, _, details = (module.__doc__ or "").partition("\n")
        sub = tasks.add_parser(
            name,
            help=summary,
            description=f"{summary}\n{details}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_arguments(sub)


def run(arguments: argparse.Namespace) -> None:
    """Runs a task."""
    TASKS[arguments.task].run(arguments)
