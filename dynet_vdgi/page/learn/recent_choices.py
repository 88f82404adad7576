"""What tagger and labeller say about the words of the sentences that were shown last."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.page.learn.learner import Learner
from dynet_vdgi.page.learn.remote import LearningError
from dynet_vdgi.page.text.marked import MarkedSentence
from dynet_vdgi.page.web.offers import Choices, Pairs
from dynet_vdgi.words.tagger.tagger import WordChoices

WAIT_FOR_GUESS = 0.3
"""Seconds that a page waits for the guess of one sentence before it shows the present tree."""

MOST_SENTENCES = 100
"""Sentences of which the choices are remembered."""


class _Question(NamedTuple):
    """What choices are about: the words with their tags, the heads, and how often tagger and parser
    have learnt."""

    sentence: Sentence
    heads: Sequence[int]
    n_taggers: int
    n_lessons: int


class RecentChoices:
    """The choices of sentences by their ids, the latest at the end; `learner` is asked for them."""

    def __init__(self, learner: Learner) -> None:
        self._learner = learner
        self._by_id: dict[int, tuple[_Question, Choices]] = {}

    async def of(
        self, marked: MarkedSentence, n_taggers: int, n_lessons: int, *, waits: bool = True
    ) -> Choices | None:
        """What tagger and labeller say about the words of a sentence, if they say so within a
        moment.

        Without waiting, it is what they said before, as far as that is still about the same words,
        tags and heads.
        """
        now = _Question(marked.sentence, marked.heads, n_taggers, n_lessons)
        recent = self._by_id.get(marked.id)
        if waits and (recent is None or recent[0] != now):
            with contextlib.suppress(LearningError, asyncio.TimeoutError):
                asking = asyncio.to_thread(_choices, self._learner, marked, now.sentence)
                recent = now, await asyncio.wait_for(asking, WAIT_FOR_GUESS)
                self._remember(marked.id, recent)
        if recent is None or recent[0].sentence.forms != now.sentence.forms:
            return None
        question, choices = recent
        same_heads = [old == new for old, new in zip(question.heads, now.heads)]
        same_tags = [old == new for old, new in zip(question.sentence.tags, now.sentence.tags)]
        return choices._replace(
            likely=_values_where_same(same_heads, choices.likely),
            bundles=_values_where_same(same_tags, choices.bundles),
            xpos=_values_where_same(same_tags, choices.xpos),
        )

    def _remember(self, number: int, choices: tuple[_Question, Choices]) -> None:
        self._by_id.pop(number, None)
        self._by_id[number] = choices
        while len(self._by_id) > MOST_SENTENCES:
            del self._by_id[next(iter(self._by_id))]


def _values_where_same(are_same: Sequence[bool], values: Sequence[Pairs]) -> list[Pairs]:
    """The values of words that are still the same, () for the others."""
    return [value if is_same else () for value, is_same in zip(values, are_same)]


def _choices(learner: Learner, marked: MarkedSentence, sentence: Sentence) -> Choices:
    """What the newest models say about the words of a sentence with its present tree.

    Raises: LearningError.
    """
    positions = marked.positions
    words: Sequence[WordChoices] = learner.answer("tagger", "choices", sentence) or ()
    likely: list[Pairs] = [[("punct", 1.0)]] * len(sentence)
    if positions:
        tree = replace(marked.bare_sentence, heads=marked.shown_heads())
        for place, relations in zip(positions, learner.answer("parser", "likely", tree) or ()):
            likely[place - 1] = relations
    return Choices(
        [w.tags for w in words], [w.bundles for w in words], likely, [w.xpos for w in words]
    )
