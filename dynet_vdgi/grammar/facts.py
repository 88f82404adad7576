"""What a linguist knows of a language, as evidence beside that of the text.

A file of facts has lines `MEASURE = SHARE`, or `yes` for 1 and `no` for 0, where MEASURE is one that the rule
table defines (see `statistics`); `; cases N` says how many cases the fact is worth, otherwise CASES:

    nouns-before-verbs = yes
    version-1 = no ; cases 1000

Comments begin with #. A fact is about the measure's value, so it counts for all lines that define it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from dynet_vdgi.errors import ConfigError
from dynet_vdgi.grammar.rule_files import content_of
from dynet_vdgi.grammar.rules import RuleSet
from dynet_vdgi.grammar.statistics import FEW, Text
from dynet_vdgi.names import did_you_mean

CASES = 10 * FEW
"""What a fact is worth where the file does not say: more than a small text, less than a large one."""

WORDS = {"yes": 1.0, "no": 0.0}


@dataclass(frozen=True)
class Fact:
    """A measure's value as it is known, and how many cases this is worth."""

    value: float
    cases: float = CASES


def parse_facts(text: str, measures: Collection[str], path: str = "<facts>") -> dict[str, Fact]:
    """The facts of a file's text; `measures` are those that a table defines.

    Raises:
        ConfigError: a line is malformed or about no measure; the message names file and line.
    """
    facts: dict[str, Fact] = {}
    for number, line in enumerate(text.split("\n"), 1):
        content = content_of(line)
        if not content:
            continue
        place = f"{path}:{number}"
        name, equals, value = (part.strip() for part in content.partition("="))
        if not equals or not value:
            raise ConfigError(f"{place}: expected a fact such as nouns-before-verbs = yes")
        if name not in measures:
            there_are = ", ".join(sorted(measures)) or "none"
            raise ConfigError(
                f"{place}: no measure '{name}'{did_you_mean(name, list(measures))} (there are: {there_are})"
            )
        if name in facts:
            raise ConfigError(f"{place}: '{name}' is there twice")
        facts[name] = _fact(value, place)
    return facts


def _fact(value: str, place: str) -> Fact:
    share, _, rest = (part.strip() for part in value.partition(";"))
    words = rest.split()
    if rest and (len(words) != 2 or words[0] != "cases"):
        raise ConfigError(f"{place}: expected 'cases NUMBER' after the semicolon, not '{rest}'")
    level = WORDS[share] if share in WORDS else _number(share, place)
    if level > 1:
        raise ConfigError(f"{place}: {share} is not from 0 to 1 (or yes, or no)")
    return Fact(level, _number(words[1], place) if rest else CASES)


def _number(column: str, place: str) -> float:
    try:
        value = float(column)
    except ValueError:
        raise ConfigError(f"{place}: '{column}' is not a number (or yes, or no)") from None
    if not math.isfinite(value) or value < 0:
        raise ConfigError(f"{place}: {column} is not a number from 0 upwards")
    return value


def load_facts(path: str | Path, rules: RuleSet) -> dict[str, Fact]:
    """The facts of a file, for a table. Raises: ConfigError, as `parse_facts`, or the file cannot be read."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise ConfigError(f"{path}: cannot read the facts: {reason}") from None
    measures = rules.table.measures if rules.table else ()
    return parse_facts(text, {measure.name for measure in measures}, str(path))


def with_facts(text: Text, facts: Mapping[str, Fact], n_sentences: int) -> Text:
    """The text with facts beside its own evidence, which counts as many cases as it has sentences."""
    measures = dict(text.measures)
    for name, fact in facts.items():
        own = measures.get(name, 0.0) * n_sentences
        measures[name] = (own + fact.value * fact.cases) / (n_sentences + fact.cases)
    return replace(text, measures=measures)
