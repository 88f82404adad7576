"""What the universal parser knows of relations, by their numbers in LABELS of
`relations.ud_relations`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.relations.ud_relations import LABELS
from dynet_vdgi.system.array_types import Floats, Ints
from dynet_vdgi.system.blas import one_thread
from dynet_vdgi.universal.encoding import RELATION, RELATIONS, CodedText
from dynet_vdgi.universal.scorer import WORDS, TextScorer

ARCS = 1_000_000
"""Possible arcs that are scored together, unless a single sentence has more."""

_LABEL_OF = np.array([LABELS.index(relation) for relation in RELATIONS])

_ROOT = RELATION["root"]


def log_p(scorer: TextScorer, sentences: Sequence[Sentence], heads: Ints) -> Floats:
    """log p (N, L) of relations for the arcs from heads (N,) of sentences without punctuation.

    An unknown head, below 0, counts as ROOT.
    """
    first = np.cumsum([0, *map(len, sentences)])
    of_words = np.zeros((len(heads), len(LABELS)))
    for members in batches(sentences):
        words = np.concatenate([np.arange(first[k], first[k + 1]) for k in members])
        encoded = scorer.encode([sentences[k] for k in members])
        of_words[words] = log_p_of(scorer, encoded, heads[words])
    return of_words


def log_p_of(scorer: TextScorer, encoded: CodedText, heads: Ints) -> Floats:
    """log p (N, L) of the arcs from heads (N,) of a coded text; minus infinity for `root` and
    `punct`."""
    with one_thread():
        scores = scorer.relations(encoded, np.maximum(heads, 0)).astype(np.float64)
    scores[:, _ROOT] = -np.inf
    scores -= scores.max(axis=1, keepdims=True)
    by_label = np.full((len(scores), len(LABELS)), -np.inf)
    by_label[:, _LABEL_OF] = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    return by_label


def batches(sentences: Sequence[Sentence]) -> Iterator[list[int]]:
    """The places of sentences with words: similar lengths together, sentences with guessed tags
    apart."""
    members: list[int] = []
    n_words = n_arcs = 0
    kinds = [(sentence.soft is not None, len(sentence)) for sentence in sentences]
    for k in sorted((k for k, (_, n) in enumerate(kinds) if n), key=kinds.__getitem__):
        n, is_other = len(sentences[k]), bool(members) and kinds[k][0] != kinds[members[0]][0]
        if members and (is_other or n_words + n > WORDS or n_arcs + n * (n + 1) > ARCS):
            yield members
            members, n_words, n_arcs = [], 0, 0
        members.append(k)
        n_words, n_arcs = n_words + n, n_arcs + n * (n + 1)
    if members:
        yield members
