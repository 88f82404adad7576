"""The content of a rule table as plain data: rules, parts, measures, settings of parts, word orders."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Union

from dynet_vdgi.grammar.views import Group, Pattern, tokens_of
from dynet_vdgi.system.names import count

ROOT = "ROOT"
SIDES = ("left", "right")

FEW = 20.0
"""This many cases get half of the full weight."""

Cases = tuple[float, float]  # supporting cases, all cases


@dataclass(frozen=True)
class Rule:
    """One line of a rule file; `head` and `dependent` are tags or declared classes.

    The weight is 1 outside tables. `sides` are the sides of the head on which the dependent may stand.
    `verb_final`: the texts an exception applies to: True: verb-final ones; False: the others; None: all.
    """

    head: str
    dependent: str
    expectation: float
    weight: float = 1.0
    sides: tuple[str, ...] = SIDES
    verb_final: bool | None = None

    def __str__(self) -> str:
        return f"{self.head}>{self.dependent}" + ("" if self.sides == SIDES else f" {self.sides[0]}")


@dataclass(frozen=True)
class Part:
    """A part of a rule table, to be switched off by its name. `kind`: a, b, c or d; `line`: its first."""

    name: str
    kind: str
    line: int = field(default=0, compare=False)


@dataclass(frozen=True)
class Grouped:
    """A weight in nats for words that belong to one of several groups of tags."""

    weight: float
    groups: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Measure:
    """One line `measure NAME = ...`."""

    name: str
    kind: str
    groups: tuple[Group, ...]
    low: float = 0.0
    high: float = 1.0

    def level(self, cases: Cases) -> float:
        """The measure's value, given these cases."""
        good, total = cases
        if not total:
            return 0.0
        level = (good / total - self.low) / (self.high - self.low)
        return min(1.0, max(0.0, level)) * total / (total + FEW)


@dataclass(frozen=True)
class Table:
    """The content of a rule table besides its rules and classes. Weights are in nats, by tag in mappings.

    Fields have the names of their lines.
    """

    parts: tuple[Part, ...] = ()
    rule_strength: float = 0.0
    short_arcs: float = 0.0
    exceptions: tuple[Rule, ...] = ()
    heads_only: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # further members of classes
    dependents_only: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    leaf: Mapping[str, float] = field(default_factory=dict)  # a factor, no weight
    edge_statistics: Mapping[str, float] = field(default_factory=dict)
    name_run: Mapping[str, float] = field(default_factory=dict)
    conjunction: tuple[str, ...] = ()
    subordinator: tuple[str, ...] = ()
    verb: tuple[str, ...] = ()
    conjunct: Grouped | None = None
    clause_barrier: Grouped | None = None
    reading_order: tuple[str, ...] = ()
    verb_final: Grouped | None = None  # a share of sentences, no weight, and one group
    measures: tuple[Measure, ...] = ()
    settings: tuple[Setting, ...] = ()  # of parts that look at whole sentences, in the order of their reading


# ----------------------------------------------------------------------------------------------------
# The lines of a rule table that set up a part for whole sentences:
#
# NAME = NUMBER GROUP | GROUP ; OPTION VALUE ... ; OPTION VALUE ... if MEASURE
#
# Each NAME is registered with its effect, its groups and its options, see `parts`. The number is usually in
# nats. `if MEASURE` multiplies it by the text's value of the measure, m from 0 to 1, `unless MEASURE` by 1
# - m, `if MEASURE and MEASURE` by both values; `unless` may follow `if`.


Value = Union[float, Group, "tuple[str, ...]"]


@dataclass(frozen=True)
class Syntax:
    """The form of a setting's line.

    `groups` names its groups of words, `options` tells the kind of each option: "number", "tags" or "names".
    A `repeatable` setting may have several lines; one that is not `weighed` has no number; with `more`, the
    last group may occur several times. `needs`:
    options that are required, with one name each.
    """

    groups: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    repeatable: bool = False
    weighed: bool = True
    more: bool = False
    needs: tuple[str, ...] = ()

    def example(self, name: str) -> str:
        """The line's shape, for messages."""
        groups = " | ".join(f"TAGS ({group})" for group in self.groups)
        options = "".join(f" [; {option} {kind.upper()}]" for option, kind in self.options.items())
        number = "NUMBER " if self.weighed else ""
        return f"{name} = {number}{groups}".rstrip() + (" | ..." if self.more else "") + options


@dataclass(frozen=True)
class Setting:
    """One line. `conditions` are measures after `if`; that after `unless`, if any, counts as 1 - its value."""

    name: str
    weight: float
    groups: tuple[Group, ...] = ()
    options: Mapping[str, Value] = field(default_factory=dict)
    conditions: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    line: int = field(default=0, compare=False)
    cache: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)
    """Storage for a part's findings about words of one text, see `Prior`."""

    def number(self, option: str, default: float) -> float:
        """A number among the options."""
        value = self.options.get(option, float(default))
        assert isinstance(value, float)
        return value

    def group(self, option: str) -> Group:
        """A group among the options; empty if it is not there."""
        value = self.options.get(option, NOBODY)
        assert isinstance(value, Group)
        return value

    def names(self, option: str) -> tuple[str, ...]:
        """Names among the options."""
        value = self.options.get(option, ())
        assert isinstance(value, tuple)
        return value


NOBODY = Group(())


def parse_setting(name: str, value: str, syntax: Syntax, line: int = 0) -> Setting:
    """A setting from the text behind its `=`. Raises: ValueError, with the fault."""
    tokens = tokens_of(value)
    tokens, conditions, unless = _conditions(tokens)
    body, *tails = _split(tokens, ";")
    weight = 1.0
    if syntax.weighed:
        if not body:
            raise ValueError(f"'{name}' has no number (expected {syntax.example(name)})")
        weight, body = number_of(body[0], f"the weight of '{name}'", 0.0), body[1:]
    groups = [_group(part, name) for part in _split(body, "|")] if body else []
    if len(groups) != len(syntax.groups) and not (syntax.more and len(groups) > len(syntax.groups)):
        found = f"{count(len(groups), 'group')} of tags"
        raise ValueError(f"'{name}' has {found} (expected {syntax.example(name)})")
    options: dict[str, Value] = {}
    for tail in tails:
        option, values = (tail[0], tail[1:]) if tail else ("", [])
        kind = syntax.options.get(option)
        if kind is None:
            raise UnknownOption(name, option, tuple(syntax.options))
        if option in options:
            raise ValueError(f"'{name}' has the option '{option}' twice")
        if not values or (kind == "number" and len(values) > 1):
            raise ValueError(f"the option '{option}' of '{name}' needs {'one number' if kind == 'number' else kind}")
        if kind == "number":
            options[option] = number_of(values[0], f"the option '{option}' of '{name}'", -math.inf)
        else:
            options[option] = _group(values, name) if kind == "tags" else tuple(values)
    for needed in syntax.needs:
        given = options.get(needed)
        if not isinstance(given, tuple) or len(given) != 1:
            expected = syntax.example(name)
            raise ValueError(f"'{name}' needs the option '{needed}' with one name (expected {expected})")
    return Setting(name, weight, tuple(groups), options, conditions, unless, line)


_CONDITIONS = re.compile(r"(?:if (\S+(?: and \S+)*)(?: |$))?(?:unless (\S+))?")


def _conditions(tokens: list[str]) -> tuple[list[str], tuple[str, ...], tuple[str, ...]]:
    """The tokens before the conditions at the end of a line, the measures after `if`, and that after `unless`."""
    place = next((k for k, token in enumerate(tokens) if token in ("if", "unless")), len(tokens))
    tail = " ".join(tokens[place:])
    match = _CONDITIONS.fullmatch(tail)
    if match is None:
        raise ValueError(f"expected 'if A', 'if A and B', 'unless B' or 'if A unless B' (found {tail})")
    wanted, unless = (tuple(found.split(" and ")) if found else () for found in match.groups())
    return tokens[:place], wanted, unless


class UnknownOption(ValueError):
    """An option that a setting does not have."""

    def __init__(self, setting: str, option: str, choices: tuple[str, ...]) -> None:
        super().__init__(f"'{setting}' has no option '{option}'")
        self.option, self.choices = option, choices


def _split(tokens: list[str], separator: str) -> list[list[str]]:
    pieces: list[list[str]] = [[]]
    for token in tokens:
        if token == separator:
            pieces.append([])
        else:
            pieces[-1].append(token)
    return pieces


def number_of(token: str, what: str, least: float) -> float:
    """The number in a table; `least` is 0, or minus infinity. Raises: ValueError, with the fault."""
    try:
        value = float(token)
    except ValueError:
        raise ValueError(f"{what} must be a number (found {token})") from None
    if not math.isfinite(value) or value < least:
        raise ValueError(f"{what} must be {'0 or more' if least == 0 else 'a finite number'} (found {token})")
    return value


def _group(tokens: list[str], name: str) -> Group:
    if not tokens:
        raise ValueError(f"a group of '{name}' has no tags")
    return Group(tuple(Pattern.of(token) for token in tokens))


# ----------------------------------------------------------------------------------------------------
# Word orders by the names that linguists use, and the evidence each gives about a rule table's measures.
#
# A *fact* is a share, from 0 to 1, and the number of cases it is worth beside those of a text. It never
# replaces the evidence of a text: it counts as further cases, so its influence fades as the text grows.


CASES = 200.0
"""The default number of cases a fact is worth: more than a small text, less than a large one."""

SIDES_OF_HEADS = {"before": 1.0, "after": 0.0, "mixed": 0.5}
YES_OR_NO = {"yes": 1.0, "no": 0.0}


@dataclass(frozen=True)
class Fact:
    """A known share, and how many cases this knowledge is worth."""

    value: float
    cases: float = CASES

    def beside(self, value: float, cases: float) -> float:
        """The combined share, if this many `cases` have this value."""
        total = cases + self.cases
        return (value * cases + self.value * self.cases) / total if total else value

    def rest(self) -> Fact:
        """The fact about the opposite order: 1 - share, worth as many cases."""
        return Fact(1.0 - self.value, self.cases)

    def __str__(self) -> str:
        return f"{self.value:g} ; cases {self.cases:g}"


@dataclass(frozen=True)
class Order:
    """An order of two kinds of words, or the way clauses begin.

    It names the measures of a table that it concerns, the `opposite` ones with reversed sign; the `tag` whose
    places at the edges of sentences show it; the edge where verbs show it; settings that count it themselves.
    """

    meaning: str
    measures: tuple[str, ...] = ()
    opposite: tuple[str, ...] = ()
    tag: str = ""
    verbs_are: str = ""  # "last" or "first"
    settings: tuple[str, ...] = ()
    words: Mapping[str, float] = field(default_factory=lambda: SIDES_OF_HEADS)


LAST, FIRST = "last", "first"

ORDERS = {
    "objects": Order(
        "their verbs",
        ("nouns-before-verbs", "objects-before-verbs"),
        ("objects-after-verbs",),
        verbs_are=LAST,
    ),
    "verb-initial": Order("clauses begin with their verbs", ("verbs-before-nouns",), verbs_are=FIRST, words=YES_OR_NO),
    "adpositions": Order(
        "their nouns", ("prepositions",), (), "ADP", settings=("adposition object", "phrase edge", "markers", "words")
    ),
    "determiners": Order("their nouns", tag="DET", settings=("phrase edge",)),
    "subordinators": Order("their clauses", tag="SCONJ"),
    "adjectives": Order(
        "their nouns",
        ("adjectives-before-nouns",),
        ("adjectives-after-nouns",),
        tag="ADJ",
        settings=("nominal predicate",),
    ),
    "genitives": Order("their nouns", ("genitives-before-nouns",), ("genitives-after-nouns",)),
    "relative clauses": Order("their nouns", ("relative-clauses-before-nouns",), ("relative-clauses-after-nouns",)),
}
"""By the name in a file of facts; such a fact is the share of the words that stand `before`."""


def value_as_written(name: str, fact: Fact) -> str:
    """The value of a fact in the notation of a file of facts.

    >>> value_as_written("objects", Fact(0.0)), value_as_written("verbs-last", Fact(0.3))
    ('after', '0.3')
    """
    words = ORDERS[name].words if name in ORDERS else YES_OR_NO
    return next((word for word, value in words.items() if value == fact.value), f"{fact.value:g}")


def of_measures(facts: Mapping[str, Fact]) -> list[tuple[str, Fact, str]]:
    """The facts about measures: name of the measure, fact, and the name it was given under."""
    found = []
    for name, fact in facts.items():
        order = ORDERS.get(name)
        if order is None:
            found.append((name, fact, name))
        else:
            found += [(measure, fact, name) for measure in order.measures]
            found += [(measure, fact.rest(), name) for measure in order.opposite]
    return found


def of_tags(facts: Mapping[str, Fact]) -> dict[str, Fact]:
    """The facts about tags at the edges of sentences, by tag."""
    return {ORDERS[name].tag: fact for name, fact in facts.items() if name in ORDERS and ORDERS[name].tag}


def of_verbs(facts: Mapping[str, Fact], edge: str) -> Fact:
    """The fact about verbs at an edge, LAST or FIRST; worth no cases if there is none."""
    said = (fact for name, fact in facts.items() if name in ORDERS and ORDERS[name].verbs_are == edge)
    return next(said, Fact(0.0, 0.0))
