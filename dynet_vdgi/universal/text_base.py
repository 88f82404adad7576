"""The universal parser in one text, as the start of a CRF, and the arrays that a model file keeps
of it.

    potential(h, d) = FLATTER * (log p(h | d) + share * log q(h | d))
    q(h | d) = softmax over h of the table's potential(h, d)

This is a logarithmic opinion pool of the universal parser and the rule table, of which a CRF learns
both weights from trees.

Letters: n words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.errors import ModelError
from dynet_vdgi.rule_tables.prior import Prior
from dynet_vdgi.system.array_types import Floats
from dynet_vdgi.universal import relation_scores as relations
from dynet_vdgi.universal.scorer import WORDS, Scorer, TextScorer, by_sentence
from dynet_vdgi.universal.stored import Arrays, Measures, arrays_of, scorer_of

SHARE = "base/table"
"""The name of the array that holds the table's share."""

FLOOR = -20.0
"""The least log-probability of an arc, in nats, so that gold trees can outweigh it."""

FLATTER = 0.7
"""Each factor is a probability already, so their product over the arcs of a tree is too sure."""


@dataclass(frozen=True, eq=False)
class TextBase:
    """The scorer of a text, with a share of the rule table's measured in it; see the module."""

    scorer: Scorer
    measures: Measures
    table: Prior
    share: float = 0.0

    @classmethod
    def of_text(
        cls, scorer: Scorer, text: Sequence[Sentence], table: Prior, share: float = 0.0
    ) -> TextBase:
        """Measures a text, sentences without punctuation."""
        return cls(scorer, Measures.of(scorer, text), table, share)

    @cached_property
    def text_scorer(self) -> TextScorer:
        """The scorer for sentences of the text."""
        return self.measures.parser(self.scorer)

    @property
    def shares(self) -> Floats:
        """The shares (2,) of log p and of the table before trees are learnt from."""
        return FLATTER * np.array([1.0, self.share])

    learns_shares = True

    def log_p(self, sentences: Sequence[Sentence], heads: NDArray[np.int64]) -> Floats:
        """log p (N, L) of the relations of arcs from heads (N,), see `universal.layer_sizes`."""
        return relations.log_p(self.text_scorer, sentences, heads)

    def all_potentials(self, sentences: Sequence[Sentence]) -> Iterator[Floats]:
        """Log-potentials (n + 1, n + 1) of each sentence's arcs [head, dependent], ROOT at 0, in
        nats."""
        return (np.tensordot(self.shares, parts, 1) for parts in self.all_parts(sentences))

    def all_parts(self, sentences: Sequence[Sentence]) -> Iterator[Floats]:
        """Log-probabilities (2, n + 1, n + 1) of each sentence's arcs: the scorer's and the
        table's."""
        for part in _parts(sentences):
            encoded = self.text_scorer.encode(part)
            log_p = np.maximum(self.text_scorer.log_probabilities(encoded), FLOOR)
            of_table: Iterable[Floats | float] = repeat(0.0)
            if self.share:
                of_table = _log_softmax(self.table.all_potentials(part))
            for of_scorer, of_rules in zip(by_sentence(log_p, encoded.lengths), of_table):
                parts = np.zeros((2, len(of_scorer), len(of_scorer)))
                parts[0, :, 1:], parts[1, :, 1:] = of_scorer, of_rules
                yield parts

    def arrays(self) -> Arrays:
        """The arrays that `text_base` reads back; the table is not part of them."""
        return {**arrays_of(self.scorer), **self.measures.arrays(), SHARE: np.array([self.share])}


def text_base(arrays: Mapping[str, NDArray[Any]], table: Prior) -> TextBase | Prior:
    """The base with these arrays beside the table; the table itself if there are no such arrays.

    Raises: ModelError, an array is missing, or they do not fit together.
    """
    if SHARE not in arrays:
        return table
    scorer = scorer_of(arrays)
    measures = Measures.from_arrays(arrays, scorer)
    if measures is None or arrays[SHARE].shape != (1,):
        raise ModelError("no universal parser: it has not measured a text")
    return TextBase(scorer, measures, table, float(arrays[SHARE][0]))


def _parts(sentences: Sequence[Sentence]) -> Iterator[Sequence[Sentence]]:
    """The sentences in parts of about WORDS words, those with guessed tags apart from others."""
    first = n_words = 0
    for k, sentence in enumerate(sentences, 1):
        n_words += len(sentence)
        ends = k == len(sentences) or (sentence.soft is None) != (sentences[k].soft is None)
        if n_words >= WORDS or ends:
            yield sentences[first:k]
            first, n_words = k, 0


def _log_softmax(potentials: Sequence[Floats]) -> list[Floats]:
    """Log-probabilities (n + 1, n) of heads, at least FLOOR, from each one's finite potentials (n +
    1, n + 1)."""
    for matrix in potentials:
        np.fill_diagonal(matrix[1:, 1:], -np.inf)
    # by dependent
    flat = np.concatenate([*(matrix[:, 1:].T.ravel() for matrix in potentials), np.zeros(0)])
    n_heads = np.array([len(matrix) for matrix in potentials], np.int64)
    sizes = np.repeat(n_heads, n_heads - 1)
    first = np.cumsum(sizes) - sizes
    flat -= np.repeat(np.maximum.reduceat(flat, first), sizes)
    flat -= np.repeat(np.log(np.add.reduceat(np.exp(flat), first)), sizes)
    parts = np.split(np.maximum(flat, FLOOR), np.cumsum(n_heads * (n_heads - 1))[:-1])
    return [part.reshape(-1, n).T for part, n in zip(parts, n_heads.tolist())]
