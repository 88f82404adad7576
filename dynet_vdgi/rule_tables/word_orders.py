"""Word orders by the names that linguists use, and the evidence each gives about a rule table's
measures.

A *fact* is a share, from 0 to 1, and the number of cases it is worth beside those of a text. It
never replaces the evidence of a text: it counts as further cases, so its influence fades as the
text grows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

DEFAULT_CASES = 200.0
"""The default number of cases a fact is worth: more than a small text, less than a large one."""

SIDES_OF_HEADS = {"before": 1.0, "after": 0.0, "mixed": 0.5}

YES_OR_NO = {"yes": 1.0, "no": 0.0}

LAST, FIRST = "last", "first"


@dataclass(frozen=True)
class Fact:
    """A known share, and how many cases this knowledge is worth."""

    value: float
    cases: float = DEFAULT_CASES

    def combined_share(self, value: float, cases: float) -> float:
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

    It names the measures of a table that it concerns, the `opposite` ones with reversed sign; the
    `tag` whose places at the edges of sentences show it; the edge where verbs show it; settings
    that count it themselves.
    """

    meaning: str
    measures: tuple[str, ...] = ()
    opposite: tuple[str, ...] = ()
    tag: str = ""
    verbs_are: str = ""  # "last" or "first"
    settings: tuple[str, ...] = ()
    words: Mapping[str, float] = field(default_factory=lambda: SIDES_OF_HEADS)


ORDERS = {
    "objects": Order(
        "their verbs",
        ("nouns-before-verbs", "objects-before-verbs"),
        ("objects-after-verbs",),
        verbs_are=LAST,
    ),
    "verb-initial": Order(
        "clauses begin with their verbs", ("verbs-before-nouns",), verbs_are=FIRST, words=YES_OR_NO
    ),
    "adpositions": Order(
        "their nouns",
        ("prepositions",),
        (),
        "ADP",
        settings=("adposition object", "phrase edge", "markers", "words"),
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
    "relative clauses": Order(
        "their nouns", ("relative-clauses-before-nouns",), ("relative-clauses-after-nouns",)
    ),
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
    evidence = []
    for name, fact in facts.items():
        order = ORDERS.get(name)
        if order is None:
            evidence.append((name, fact, name))
        else:
            evidence += [(measure, fact, name) for measure in order.measures]
            evidence += [(measure, fact.rest(), name) for measure in order.opposite]
    return evidence


def of_tags(facts: Mapping[str, Fact]) -> dict[str, Fact]:
    """The facts about tags at the edges of sentences, by tag."""
    return {
        ORDERS[name].tag: fact
        for name, fact in facts.items()
        if name in ORDERS and ORDERS[name].tag
    }


def of_verbs(facts: Mapping[str, Fact], edge: str) -> Fact:
    """The fact about verbs at an edge, LAST or FIRST; worth no cases if there is none."""
    edge_facts = (
        fact for name, fact in facts.items() if name in ORDERS and ORDERS[name].verbs_are == edge
    )
    return next(edge_facts, Fact(0.0, 0.0))
