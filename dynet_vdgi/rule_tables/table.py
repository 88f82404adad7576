"""The content of a rule table as plain data: rules, parts, measures, settings of parts, word
orders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dynet_vdgi.rule_tables.part_settings import Setting
from dynet_vdgi.rule_tables.patterns import Group

ROOT = "ROOT"

SIDES = ("left", "right")

HALF_WEIGHT_CASES = 20.0
"""This many cases get half of the full weight."""

Cases = tuple[float, float]  # supporting cases, all cases


@dataclass(frozen=True)
class Rule:
    """One line of a rule file; `head` and `dependent` are tags or declared classes.

    The weight is 1 outside tables. `sides` are the sides of the head on which the dependent may
    stand. `verb_final`: the texts an exception applies to: True: verb-final ones; False: the
    others; None: all.
    """

    head: str
    dependent: str
    expectation: float
    weight: float = 1.0
    sides: tuple[str, ...] = SIDES
    verb_final: bool | None = None

    def __str__(self) -> str:
        return f"{self.head}>{self.dependent}" + (
            "" if self.sides == SIDES else f" {self.sides[0]}"
        )


@dataclass(frozen=True)
class Part:
    """A part of a rule table, to be switched off by its name. `kind`: a, b, c or d; `line`: its
    first."""

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
        return min(1.0, max(0.0, level)) * total / (total + HALF_WEIGHT_CASES)


@dataclass(frozen=True)
class Table:
    """The content of a rule table besides its rules and classes. Weights are in nats, by tag in
    mappings.

    Fields have the names of their lines.
    """

    parts: tuple[Part, ...] = ()
    rule_strength: float = 0.0
    short_arcs: float = 0.0
    exceptions: tuple[Rule, ...] = ()
    # further members of classes
    heads_only: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
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
    # of parts that look at whole sentences, in the order of their reading
    settings: tuple[Setting, ...] = ()
