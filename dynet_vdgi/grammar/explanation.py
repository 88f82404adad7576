"""Which part of a rule table gives what to the arcs of a sentence, and how parts read its words.

The parts' additions are those of the table as it is read: from the first line to the last, each part adds
what it changes beside all before it. So their sum is `Prior.potentials`, and an exception is charged with
the difference from the rule that it is an exception to.

Letters: n words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.grammar import chart
from dynet_vdgi.grammar.orders import ORDERS, Fact, value_as_written
from dynet_vdgi.grammar.prior import Floats, Prior
from dynet_vdgi.grammar.rules import RuleSet

RULES, DISTANCE = "rules", "short arcs"
"""What a rule file without parts is made of."""

COMPARED = 300
"""So many sentences are looked at for what a fact changes."""

BARRED = 1e6
"""Taken from an arc that is not wanted: more than any tree is worth."""


@dataclass(frozen=True)
class Reading:
    """A part reads a word, 1..n, as another tag; or the dependency model is given another symbol for it."""

    word: int
    part: str
    tag: str  # "" if it is the same
    symbol: str

    def __str__(self) -> str:
        return f"read as {self.tag}" if self.tag else f"symbol {self.symbol}"


class Alternative(NamedTuple):
    """A word's head in a tree, and the one that it would have without this arc; -1: there is no other."""

    word: int
    head: int
    other: int


class PartByPart:
    """A prior taken to pieces."""

    def __init__(self, prior: Prior) -> None:
        self.prior = prior
        rules = prior.rules
        if rules.table is None:
            self._growing = [(RULES, Prior(rules, prior.text, 0.0)), (DISTANCE, prior)]
        else:
            self._growing = [
                (part.name, Prior(without_settings(some), prior.text)) for part, some in rules.growing()
            ]

    def additions(self, sentence: Sentence) -> dict[str, Floats]:
        """What each part that says anything adds to the log-potentials (n + 1, n + 1), in order."""
        view = self.prior.view(sentence)
        whole = np.zeros((view.n + 1, view.n + 1))
        found: dict[str, Floats] = {}
        for part, prior in self._growing:
            grown = prior.by_tags(view)
            found[part], whole = grown - whole, grown
        for setting, added in self.prior.additions(view):
            found[self.prior.rules.part_at(setting.line).name] += added
        return {part: added for part, added in found.items() if np.abs(added[:, 1:]).max(initial=0.0) > 1e-9}

    def readings(self, sentence: Sentence) -> list[Reading]:
        """What parts make of the sentence's words, in the order of their reading."""
        view, found = self.prior.unread(sentence), []
        tags, symbols = list(view.read), list(view.symbols)
        for setting in self.prior.reading(view):
            part = self.prior.rules.part_at(setting.line).name
            for k in range(view.n):
                if view.read[k] != tags[k] or view.symbols[k] != symbols[k]:
                    word = view.n - k if self.prior.statistics.is_mirrored else k + 1
                    tag = view.read[k] if view.read[k] != tags[k] else ""
                    found.append(Reading(word, part, tag, view.symbols[k]))
            tags, symbols = list(view.read), list(view.symbols)
        return found


def without_settings(rules: RuleSet) -> RuleSet:
    """The rules with no part that looks at whole sentences."""
    return rules if rules.table is None else replace(rules, table=replace(rules.table, settings=()))


def alternatives(potentials: Floats, heads: Sequence[int]) -> list[Alternative]:
    """The heads of a tree, and those of the best trees without each of its arcs."""
    found = []
    for word, head in enumerate(heads, 1):
        without = potentials.copy()
        without[head, word] -= BARRED
        other = chart.best(without)[word - 1]
        found.append(Alternative(word, head, other if other != head else -1))
    return found


def idle_facts(rules: RuleSet, text: Sequence[Sentence], facts: Mapping[str, Fact]) -> list[str]:
    """Messages about facts without which the potentials and symbols of the text would be the same.

    Where a text is long, its first COMPARED sentences decide.
    """
    if not facts:
        return []
    expected = _all_seen(Prior.of_text(rules, text, facts), text)
    where = f"the first {COMPARED} sentences of this text" if len(text) > COMPARED else "this text"

    def changes(others: Mapping[str, Fact]) -> bool:
        seen = _all_seen(Prior.of_text(rules, text, others), text)
        return not all(map(_are_alike, expected, seen))

    idle = []
    for name, fact in facts.items():
        if changes({other: facts[other] for other in facts if other != name}):
            continue
        if not fact.cases:
            why = "it is worth 0 cases"
        elif any(changes({**facts, name: Fact(value, fact.cases)}) for value in {0.0, 1.0} - {fact.value}):
            why = "the text already shows this" + (" order" if name in ORDERS else "")
        else:
            why = f"no arc and no symbol in {where} depends on it"
        idle.append(f"'{name} = {value_as_written(name, fact)}' has no effect: {why}")
    return idle


Seen = tuple[Floats, tuple[list[str], list[str]]]


def _all_seen(prior: Prior, text: Sequence[Sentence]) -> list[Seen]:
    return [_seen(prior, sentence) for sentence in text[:COMPARED]]


def _seen(prior: Prior, sentence: Sentence) -> Seen:
    """All that a teacher and a student get to see of a prior."""
    return prior.potentials(sentence), prior.student_symbols(sentence)


def _are_alike(one: Seen, other: Seen) -> bool:
    return np.allclose(one[0], other[0]) and one[1] == other[1]
