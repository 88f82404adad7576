"""List the rule tables that come with the package.

A line for each: its name, what it is for, and how many parts it has, or rules if it has no parts.
`vdgi rules show NAME` prints one.
"""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `vdgi rules list`: none."""


def run(arguments: argparse.Namespace) -> None:
    from dynet_vdgi.grammar.findings import purpose
    from dynet_vdgi.grammar.rules import load_rules
    from dynet_vdgi.settings.bundled import bundled
    from dynet_vdgi.system.names import count, plain
    from dynet_vdgi.system.text_tables import aligned

    rows = []
    for name, path in sorted(bundled("rules").items()):
        rules = load_rules(path)
        size = count(len(rules.parts), "part") if rules.parts else count(len(rules), "rule")
        rows.append([name, f"{purpose(rules)} ({size})"])
    print(plain(aligned(rows, left=2)))
