"""Measures of a text, such as how often its verbs come last, which turn lines of a rule table on
and off.

A *measure* is a number from 0 to 1 that a table defines and that its lines refer to with `if` and
`unless`:

measure NAME = KIND GROUP | GROUP ... ; from LOW ; to HIGH

Its value is the share of cases of the KIND that support it, rescaled: LOW becomes 0, HIGH becomes
1, values in between in proportion (LOW may be above HIGH). After n cases it is multiplied by n / (n
+ `table.HALF_WEIGHT_CASES`). Several lines with one name are averaged. Kinds:

ending A | B     sentences of three words or more with a word of A; for it: the ones that end with B
beginning A | B  the same, that begin with B
edge A           first and last words that are of A, in sentences of two words or more;
                 for it: first ones
after A | B | C  words of A in sentences with exactly one word of B;
                 for it: those after the last of C
ahead A | B      words of A in sentences with exactly one word of B; for it: those ahead of it
before A | B     neighbours of A and B in either order; for it: A before B
share A | B      words of A and of B; for it: those of A
told             nothing is counted: 0, unless a fact says otherwise (see `facts`)
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import IntEnum
from functools import partial
from itertools import chain
from typing import Any

import msgspec

from dynet_vdgi.errors import ModelError
from dynet_vdgi.rule_tables.part_settings import Setting, Syntax
from dynet_vdgi.rule_tables.patterns import Group
from dynet_vdgi.rule_tables.statistics import Statistics
from dynet_vdgi.rule_tables.table import Cases, Measure
from dynet_vdgi.rule_tables.views import View
from dynet_vdgi.rule_tables.word_orders import Fact

TOLD = "told"
"""The kind of measures that no text can show."""

VERB_INITIAL = "verbs-before-nouns"
"""The measure of whether a text's clauses begin with their verbs."""

MEASURE_OPTIONS = {"from": "number", "to": "number"}


class VerbOrder(IntEnum):
    """The place of verbs in a text's sentences. The numbers are those of model files."""

    OTHER = 0
    FINAL = 1
    INITIAL = 2


def _cases_at_end(views: Sequence[View], groups: Sequence[Group], end: int) -> Cases:
    having, ends = groups[0].tags, groups[1].tags
    edge_tags = [
        view.tags[end] for view in views if view.n > 2 and not having.isdisjoint(view.tags)
    ]
    return sum(tag in ends for tag in edge_tags), len(edge_tags)


def _cases_at_one_edge(views: Sequence[View], groups: Sequence[Group]) -> Cases:
    longer = [view.tags for view in views if view.n > 1]
    first = sum(tags[0] in groups[0].tags for tags in longer)
    last = sum(tags[-1] in groups[0].tags for tags in longer)
    return first, first + last


def _cases_ahead(views: Sequence[View], groups: Sequence[Group]) -> Cases:
    counted, one = (group.tags for group in groups)
    ahead = total = 0
    for view in views:
        verbs = [i for i, tag in enumerate(view.tags) if tag in one]
        if len(verbs) == 1:
            places = [i for i, tag in enumerate(view.tags) if tag in counted]
            total += len(places)
            ahead += sum(place < verbs[0] for place in places)
    return ahead, total


def _cases_after(views: Sequence[View], groups: Sequence[Group]) -> Cases:
    counted, one, last = (group.tags for group in groups)
    after = total = 0
    for view in views:
        if sum(tag in one for tag in view.tags) == 1:
            end = max((i for i, tag in enumerate(view.tags) if tag in last), default=view.n)
            places = [i for i, tag in enumerate(view.tags) if tag in counted]
            total += len(places)
            after += sum(place > end for place in places)
    return after, total


def _cases_before(views: Sequence[View], groups: Sequence[Group]) -> Cases:
    pairs: Counter[tuple[str, str]] = Counter()
    for view in views:
        pairs.update(zip(view.tags, view.tags[1:]))
    first, second = (group.tags for group in groups)
    right = sum(pairs[a, b] for a in first for b in second)
    return right, right + sum(pairs[b, a] for a in first for b in second)


def _cases_of_share(views: Sequence[View], groups: Sequence[Group]) -> Cases:
    times = Counter(chain.from_iterable(zip(view.tags, view.feats) for view in views))
    first, second = (sum(n for pair, n in times.items() if group.has(*pair)) for group in groups)
    return first, first + second


MEASURES: dict[str, tuple[int, Callable[[Sequence[View], Sequence[Group]], Cases]]] = {
    "ending": (2, partial(_cases_at_end, end=-1)),
    "beginning": (2, partial(_cases_at_end, end=0)),
    "edge": (1, _cases_at_one_edge),
    "ahead": (2, _cases_ahead),
    "after": (3, _cases_after),
    "before": (2, _cases_before),
    "share": (2, _cases_of_share),
    TOLD: (0, lambda views, groups: (0, 0)),
}
"""Numbers of groups and functions by kind."""


def measure_syntax(kind: str) -> Syntax:
    """The form of a line with a measure of this kind."""
    return Syntax(tuple("ABC"[: MEASURES[kind][0]]), MEASURE_OPTIONS)


@dataclass(frozen=True)
class Text:
    """All measurements of one text, as plain data: it is kept in model files.

    `findings` holds what each part measured, by setting name; `facts` the facts about the language,
    which are already part of `order` and `measures`.
    """

    order: Statistics = field(default_factory=Statistics)
    measures: Mapping[str, float] = field(default_factory=dict)
    findings: Mapping[str, Any] = field(default_factory=dict)
    has_feats: bool = False
    has_gaps: bool = False
    facts: Mapping[str, Fact] = field(default_factory=dict)

    def factor(self, setting: Setting) -> float:
        """The factor for a line's number."""
        value = math.prod(self.measures.get(name, 0.0) for name in setting.conditions)
        return value * math.prod(1.0 - self.measures.get(name, 0.0) for name in setting.unless)

    @property
    def verb_order(self) -> VerbOrder:
        """The place of the text's verbs, as far as the table measures it."""
        if self.order.is_verb_final:
            return VerbOrder.FINAL
        return VerbOrder.INITIAL if self.is_named([VERB_INITIAL]) else VerbOrder.OTHER

    def is_named(self, names: Sequence[str]) -> bool:
        """Whether one of these measures exceeds one half in the text."""
        return any(self.measures.get(name, 0.0) > 0.5 for name in names)

    def to_json(self) -> dict[str, Any]:
        """The JSON that `from_json` reads."""
        return {
            "order": asdict(self.order),
            "measures": dict(self.measures),
            "found": dict(self.findings),
            "has_feats": self.has_feats,
            "has_gaps": self.has_gaps,
            "told": {name: [fact.value, fact.cases] for name, fact in self.facts.items()},
        }

    @classmethod
    def from_json(cls, data: Any) -> Text:
        """The text saved by `to_json`.

        Raises: ModelError, a field is missing or of another type.
        """
        try:
            stored = msgspec.convert(data, _StoredText)
        except msgspec.ValidationError as error:
            raise ModelError(f"what the model says of its text is damaged: {error}") from None
        return cls(
            stored.order,
            stored.measures,
            stored.findings,
            stored.has_feats,
            stored.has_gaps,
            {name: Fact(*numbers) for name, numbers in stored.facts.items()},
        )


class _StoredText(msgspec.Struct):
    """The fields of `Text.to_json`, for the validation library."""

    order: Statistics
    measures: dict[str, int | float]
    findings: dict[str, Any] = msgspec.field(name="found")
    has_feats: bool
    has_gaps: bool
    facts: dict[str, tuple[int | float, int | float]] = msgspec.field(default={}, name="told")


def levels(measures: Iterable[Measure], views: Sequence[View]) -> dict[str, float]:
    """The value of every measure in a text."""
    by_name: dict[str, list[float]] = {}
    for measure in measures:
        cases = MEASURES[measure.kind][1](views, measure.groups)
        by_name.setdefault(measure.name, []).append(measure.level(cases))
    return {name: sum(values) / len(values) for name, values in by_name.items()}
