"""How much each part of a rule table contributes to the arcs of a sentence, and how parts read its
words.

Contributions follow the order of the table: from the first line to the last, each part adds its
change to the result of all parts before it. So their sum is `Prior.potentials`, and an exception is
charged with the difference from the rule that it is an exception to.

Letters: n words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.inference import eisner
from dynet_vdgi.rule_tables.prior import Prior
from dynet_vdgi.rule_tables.rules import RuleSet
from dynet_vdgi.rule_tables.views import SideBySide
from dynet_vdgi.rule_tables.word_orders import ORDERS, Fact, value_as_written
from dynet_vdgi.system.array_types import Floats
from dynet_vdgi.system.text_tables import aligned

RULES, DISTANCE = "rules", "short arcs"
"""The name for the whole of a rule file without parts."""

COMPARED_SENTENCES = 300
"""Sentences examined for the changes that a fact makes."""

BARRING_PENALTY = 1e6
"""Subtracted from a forbidden arc: more than the score of any tree."""

Seen = tuple[Floats, list[str]]


@dataclass(frozen=True)
class Reading:
    """A word, 1..n, that a part reads as another tag or gives another symbol for the dependency
    model."""

    word: int
    part: str
    tag: str  # "" if unchanged
    symbol: str

    def __str__(self) -> str:
        return f"read as {self.tag}" if self.tag else f"symbol {self.symbol}"


class Alternative(NamedTuple):
    """A word's head in a tree, and the head it would have without this arc; -1: there is no
    other."""

    word: int
    head: int
    other: int


class PartByPart:
    """The separate contributions of a prior's parts."""

    def __init__(self, prior: Prior) -> None:
        self.prior = prior
        rules = prior.rules
        if rules.table is None:
            self._growing = [(RULES, Prior(rules, prior.text, 0.0)), (DISTANCE, prior)]
        else:
            self._growing = [
                (
                    part.name,
                    Prior(replace(some, table=replace(some.table, settings=())), prior.text),
                )
                for part, some in rules.growing()
                if some.table  # it always has one
            ]

    def additions(self, sentence: Sentence) -> dict[str, Floats]:
        """The contribution of each part, if any, to the log-potentials (n + 1, n + 1), in order."""
        view = self.prior.view(sentence)
        whole = np.zeros((view.n + 1, view.n + 1))
        by_part: dict[str, Floats] = {}
        for part, prior in self._growing:
            grown = prior.by_tags(view)
            by_part[part], whole = grown - whole, grown
        for setting, added in self.prior.additions(view):
            by_part[self.prior.rules.part_at(setting.line).name] += added
        return {
            part: added
            for part, added in by_part.items()
            if np.abs(added[:, 1:]).max(initial=0.0) > 1e-9
        }

    def readings(self, sentence: Sentence) -> list[Reading]:
        """The parts' readings of the sentence's words, in the order of reading."""
        view, readings = self.prior.unread(sentence), []
        tags, symbols = list(view.read), list(view.symbols)
        for setting in self.prior.reading(SideBySide([view])):
            part = self.prior.rules.part_at(setting.line).name
            for k in range(view.n):
                if view.read[k] != tags[k] or view.symbols[k] != symbols[k]:
                    word = view.n - k if self.prior.statistics.is_mirrored else k + 1
                    tag = view.read[k] if view.read[k] != tags[k] else ""
                    readings.append(Reading(word, part, tag, view.symbols[k]))
            tags, symbols = list(view.read), list(view.symbols)
        return readings


def alternatives(potentials: Floats, heads: Sequence[int]) -> list[Alternative]:
    """The heads of a tree, and the heads in the best trees without each of its arcs."""
    choices = []
    for word, head in enumerate(heads, 1):
        without = potentials.copy()
        without[head, word] -= BARRING_PENALTY
        other = eisner.best(without)[word - 1]
        choices.append(Alternative(word, head, other if other != head else -1))
    return choices


def idle_facts(rules: RuleSet, text: Sequence[Sentence], facts: Mapping[str, Fact]) -> list[str]:
    """Messages about facts whose removal would change neither the potentials nor the symbols of the
    text.

    For a long text, its first COMPARED_SENTENCES sentences decide.
    """
    if not facts:
        return []
    expected = _visible_to_teachers(Prior.of_text(rules, text, facts), text)
    where = (
        f"the first {COMPARED_SENTENCES} sentences of this text"
        if len(text) > COMPARED_SENTENCES
        else "this text"
    )

    def changes(others: Mapping[str, Fact]) -> bool:
        seen = _visible_to_teachers(Prior.of_text(rules, text, others), text)
        return any(
            symbols != before or not np.allclose(potentials, old)
            for (potentials, symbols), (old, before) in zip(seen, expected)
        )

    idle = []
    for name, fact in facts.items():
        if changes({other: facts[other] for other in facts if other != name}):
            continue
        if not fact.cases:
            why = "it is worth 0 cases"
        elif any(
            changes({**facts, name: Fact(value, fact.cases)}) for value in {0.0, 1.0} - {fact.value}
        ):
            why = "the text already shows this" + (" order" if name in ORDERS else "")
        else:
            why = f"no arc and no symbol in {where} depends on it"
        idle.append(f"'{name} = {value_as_written(name, fact)}' has no effect: {why}")
    return idle


def _visible_to_teachers(prior: Prior, text: Sequence[Sentence]) -> list[Seen]:
    """Everything about a prior that a teacher can see, in the first sentences."""
    return [
        (prior.potentials(sentence), prior.view(sentence).symbols)
        for sentence in text[:COMPARED_SENTENCES]
    ]


def explanation_of(sentence: Sentence, heads: Sequence[int], prior: Prior) -> str:
    """Each part's contribution to the arcs of a tree, and to the best other head of each word; in
    nats."""
    pieces = PartByPart(prior)
    additions, potentials = pieces.additions(sentence), prior.potentials(sentence)
    readings: dict[int, list[str]] = {}
    for reading in pieces.readings(sentence):
        readings.setdefault(reading.word, []).append(f"{reading} [{reading.part}]")
    blocks = []
    for choice in alternatives(potentials, heads):
        note = f"  {'; '.join(readings[choice.word])}" if choice.word in readings else ""
        arcs = [head for head in (choice.head, choice.other) if head >= 0]
        rows = [["  head", *(_word_text(sentence, head) for head in arcs)]]
        for part, added in additions.items():
            values = [added[head, choice.word] for head in arcs]
            if any(abs(value) >= 0.005 for value in values):
                rows.append([f"  [{part}]", *(f"{value:+.2f}" for value in values)])
        rows.append(["  sum", *(f"{potentials[head, choice.word]:+.2f}" for head in arcs)])
        blocks.append(f"{_word_text(sentence, choice.word)}{note}\n{aligned(rows)}")
    return "\n\n".join(blocks)


def _word_text(sentence: Sentence, word: int) -> str:
    return f"{word} {sentence.forms[word - 1]} {sentence.tags[word - 1]}" if word else "ROOT"
