"""How many words have the right tags: of those of which gold says something."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import repeat

from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.errors import UsageError

METRICS = ("UPOS", "XPOS", "FEATS", "UPOS and FEATS", "lemma")

NO_VALUE = "_"


@dataclass(frozen=True)
class TagScores:
    """Numbers of words, by METRICS."""

    n_words: int  # in all
    right: Mapping[str, int]
    scored: Mapping[str, int]  # of which gold says something

    @property
    def accuracy(self) -> dict[str, float | None]:
        """The share of right words, from 0 to 1, by METRICS; None where gold says nothing."""
        return {
            name: n / self.scored[name] if self.scored[name] else None
            for name, n in self.right.items()
        }


def scores_of(gold: Iterable[Sentence], tagged: Iterable[Sentence]) -> TagScores:
    """The scores of sentences with the same words. Raises: UsageError, their words are not the
    same.

    Words whose gold UPOS, XPOS or lemma is `_` are left out of its score, unless `_` is the word
    itself. FEATS `_` means that a word has no features, and counts; but if it has no UPOS either,
    nobody has described it.
    """
    right, scored = dict.fromkeys(METRICS, 0), dict.fromkeys(METRICS, 0)
    gold_sentences, tagged_sentences = list(gold), list(tagged)
    if [sentence.forms for sentence in gold_sentences] != [
        sentence.forms for sentence in tagged_sentences
    ]:
        raise UsageError("the sentences to score do not have the words of the gold sentences")
    n_words = 0
    for gold_word, tagged_word in zip(_words(gold_sentences), _words(tagged_sentences)):
        n_words += 1
        form, upos, xpos, feats, lemma = gold_word
        has_tag = upos != NO_VALUE
        is_scored = (
            has_tag,
            xpos != NO_VALUE,
            has_tag or feats != NO_VALUE,
            has_tag,
            lemma != NO_VALUE or form == NO_VALUE,
        )
        same = [a == b for a, b in zip(gold_word[1:], tagged_word[1:])]
        is_right = (same[0], same[1], same[2], same[0] and same[2], same[3])
        for name, counts, is_same in zip(METRICS, is_scored, is_right):
            scored[name] += counts
            right[name] += counts and is_same
    return TagScores(n_words, right, scored)


def _words(sentences: Iterable[Sentence]) -> Iterable[tuple[str, ...]]:
    """Form, UPOS, XPOS, FEATS and lemma of each word."""
    nothing = repeat(NO_VALUE)
    for s in sentences:
        yield from zip(
            s.forms, s.upos or s.tags, s.xpos or nothing, s.feats or nothing, s.lemmas or nothing
        )
