"""List the rule tables that come with the package.

A line for each: how many parts of which kinds it has, and what it measures in a text. Kinds are (a) published
rules, (b) properties of language in general, (c) measured from the text, (d) conventions of UD.
"""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `vdgi rules list`: none."""


def run(arguments: argparse.Namespace) -> None:
    """Runs `vdgi rules list`."""
    from dynet_vdgi.bundled import bundled
    from dynet_vdgi.grammar.findings import table_line
    from dynet_vdgi.grammar.rules import load_rules

    by_name = bundled("rules")
    for name in sorted(by_name):
        print(table_line(name, load_rules(by_name[name])))
