"""How many words have the right tags."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.errors import UsageError

METRICS = ("UPOS", "XPOS", "FEATS", "UPOS and FEATS", "lemma")


@dataclass(frozen=True)
class TagScores:
    """Numbers of words."""

    n_words: int
    right: Mapping[str, int]  # by METRICS

    @property
    def accuracy(self) -> dict[str, float]:
        """The share of right words, from 0 to 1, by METRICS."""
        return {name: n / max(1, self.n_words) for name, n in self.right.items()}


def scores_of(gold: Iterable[Sentence], found: Iterable[Sentence]) -> TagScores:
    """The scores of sentences with the same words. Raises: UsageError, their words are not the same."""
    right, n_words = dict.fromkeys(METRICS, 0), 0
    ours, theirs = list(gold), list(found)
    if [sentence.forms for sentence in ours] != [sentence.forms for sentence in theirs]:
        raise UsageError("the sentences to score do not have the words of the gold sentences")
    for one, other in zip(ours, theirs):
        for mine, its in zip(zip(*_columns(one)), zip(*_columns(other))):
            upos, xpos, feats, lemma = (a == b for a, b in zip(mine, its))
            for name, is_right in zip(METRICS, (upos, xpos, feats, upos and feats, lemma)):
                right[name] += is_right
            n_words += 1
    return TagScores(n_words, right)


def _columns(sentence: Sentence) -> list[Sequence[str]]:
    optional = (sentence.xpos, sentence.feats, sentence.lemmas)
    return [sentence.upos or sentence.tags, *(column or "_" * len(sentence) for column in optional)]
