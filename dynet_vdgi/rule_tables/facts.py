"""A linguist's knowledge of a language, as evidence in addition to the text.

A file of facts has lines `NAME = VALUE`. NAME is an order of words, see `orders`, and VALUE gives
the position of its words: before, after, mixed, or the share of them that stand before. Or NAME is
a measure that the rule table defines (see `statistics`), and VALUE its value from 0 to 1, `yes`
for 1 and `no` for 0. `; cases N` says how many cases the fact is worth, otherwise DEFAULT_CASES:

    objects = before            # their verbs
    verb-initial = no
    adpositions = after ; cases 1000
    version-1 = no

Comments begin with #. A fact that the table does not use is refused.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from dynet_vdgi.errors import ConfigError
from dynet_vdgi.rule_tables.measures import Text
from dynet_vdgi.rule_tables.rule_files import content_of
from dynet_vdgi.rule_tables.rules import RuleSet
from dynet_vdgi.rule_tables.table import Table
from dynet_vdgi.rule_tables.word_orders import DEFAULT_CASES, ORDERS, YES_OR_NO, Fact, of_measures
from dynet_vdgi.system.limits import read_table
from dynet_vdgi.system.messages import of_these, there_are


def accepted_names(rules: RuleSet) -> list[str]:
    """The names of facts that have an effect under a table: orders first, then its measures."""
    if rules.table is None:
        return []
    measures = dict.fromkeys(measure.name for measure in rules.table.measures)
    return [*(name for name in ORDERS if _is_asked(name, rules.table)), *measures]


def _is_asked(name: str, table: Table) -> bool:
    """Whether anything in the table depends on this order."""
    order, settings = ORDERS[name], {setting.name: setting for setting in table.settings}
    if {measure.name for measure in table.measures} & {*order.measures, *order.opposite}:
        return True
    if order.verbs_are and table.verb_final:
        return True
    if order.tag in table.edge_statistics or order.tag in table.subordinator:
        return True
    if name == "adjectives":  # a predicate moves to the noun behind it, if the line has `over`
        return "nominal predicate" in settings and "over" in settings["nominal predicate"].options
    return any(setting in settings for setting in order.settings)


def parse_facts(text: str, rules: RuleSet, path: str = "<facts>") -> dict[str, Fact]:
    """The facts of a file's text, for a table, by name.

    Raises:
        ConfigError: a line is malformed, is about nothing that the table uses, or repeats another
        line;
            there are no facts; the table uses none. The message names file and line.
    """
    names = accepted_names(rules)
    facts: dict[str, Fact] = {}
    given_under: dict[str, str] = {}
    for number, line in enumerate(text.replace("\ufeff", "").split("\n"), 1):
        content = content_of(line)
        if not content:
            continue
        place = f"{path}:{number}"
        left, equals, value = (part.strip() for part in content.partition("="))
        name = " ".join(left.split())
        if not equals or not value:
            raise ConfigError(f"{place}: expected a fact such as objects = before")
        if name not in names:
            raise ConfigError(f"{place}: {_unknown(name, names)}")
        if name in facts:
            raise ConfigError(f"{place}: '{name}' is there twice")
        facts[name] = _fact(name, value, place)
        for measure, _, _ in of_measures({name: facts[name]}):
            if measure in given_under:
                other = given_under[measure]
                raise ConfigError(
                    f"{place}: '{name}' and '{other}' are about the same; leave one out"
                )
            given_under[measure] = name
    if not facts:
        raise ConfigError(f"{path}: no facts (one a line, such as objects = before)")
    return facts


def _unknown(name: str, names: list[str]) -> str:
    if not names:
        return (
            "no fact changes anything: "
            f"the rules have no part that asks for '{name}'; set rules=best, say"
        )
    if name in ORDERS:
        wanted = ORDERS[name].measures
        how = f", such as with 'measure {wanted[0]} = told'" if wanted else ""
        remedy = f"leave it out, or add one{how}{there_are(names)}"
        return f"the rule table has no part that '{name}' could change; {remedy}"
    return f"no fact '{name}'{of_these(name, names)}"


def _fact(name: str, value: str, place: str) -> Fact:
    share, _, rest = (part.strip() for part in value.partition(";"))
    tail = rest.split()
    if rest and (len(tail) != 2 or tail[0] != "cases"):
        raise ConfigError(f"{place}: expected 'cases NUMBER' after the semicolon, not '{rest}'")
    words = ORDERS[name].words if name in ORDERS else YES_OR_NO
    level = words[share] if share in words else _number(share, place, f" (or {', '.join(words)})")
    if level > 1:
        raise ConfigError(f"{place}: {share} is not from 0 to 1 (or {', '.join(words)})")
    return Fact(level, _number(tail[1], place) if rest else DEFAULT_CASES)


def _number(column: str, place: str, otherwise: str = "") -> float:
    try:
        value = float(column)
    except ValueError:
        raise ConfigError(f"{place}: '{column}' is not a number{otherwise}") from None
    if not math.isfinite(value) or value < 0:
        raise ConfigError(f"{place}: {column} is not a finite number that is 0 or more{otherwise}")
    return value


def load_facts(path: str | Path, rules: RuleSet) -> dict[str, Fact]:
    """The facts of a file, for a table. Raises: ConfigError, as `parse_facts`, or the file cannot
    be read."""
    return parse_facts(read_table(path, "facts"), rules, str(path))


def with_facts(text: Text, facts: Mapping[str, Fact], cases: Mapping[str, int]) -> Text:
    """The text's measures combined with facts; `cases`: the number of cases for each measure of the
    text."""
    measures = dict(text.measures)
    for name, fact, _ in of_measures(facts):
        if name in measures:
            measures[name] = fact.combined_share(measures[name], cases[name])
    return replace(text, measures=measures)
