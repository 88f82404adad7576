"""The universal parser: exact trees under log p(h | d), for a text whose kind of language was measured.

Letters: N words, S sentences, n words of one of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.data.sentence import FREE, Sentence
from dynet_vdgi.errors import ModelError
from dynet_vdgi.grammar import chart
from dynet_vdgi.labels.label_table import LABELS
from dynet_vdgi.parsing.confidence import expected_error
from dynet_vdgi.runs.model_file import ModelFile
from dynet_vdgi.system.blas import one_thread
from dynet_vdgi.universal.encoding import RELATION, RELATIONS, CodedText
from dynet_vdgi.universal.scorer import WORDS, TextScorer, by_sentence
from dynet_vdgi.universal.stored import Measures, beginning, scorer_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Tree = tuple[int, ...]

LONGEST = 500
"""Words of the longest sentence that is parsed in one piece, because time is cubic and memory quadratic."""

ARCS = 1_000_000
"""Possible arcs that are scored together, unless a single sentence has more."""

CERTAIN = 1e-9
"""Probabilities of arcs are kept this far from 0 and 1 in margins."""

_READY = 250  # words of a sentence whose parse makes all kernels worth loading

LABEL_OF = np.array([LABELS.index(relation) for relation in RELATIONS])
"""The numbers in LABELS of the scorer's relations (R,)."""

_ROOT = RELATION["root"]


class UniversalEngine:
    """The universal parser's trees.

    A model without measures of a text measures the beginning of what it parses, so sentences of one text
    belong together.

    Raises:
        ModelError: the model's arrays do not fit each other or this version.
    """

    is_lean = False

    def __init__(self, model: ModelFile) -> None:
        self.scorer = scorer_of(model.parameters)
        self.measures = Measures.from_arrays(model.parameters, self.scorer)
        self.expected_error = expected_error(model.parameters)
        """See `parsing.confidence.expected_error`."""
        try:
            self.parse([Sentence.of_tags(["VERB"])])
        except (ValueError, IndexError) as error:
            raise ModelError(f"parameters do not fit the model: {error}") from None

    def make_ready(self) -> None:
        """Loads or compiles the kernels of parsing."""
        self.parse([Sentence.of_tags(["NOUN", "VERB"] * (_READY // 2))])

    def text_scorer(self, sentences: Sequence[Sentence]) -> TextScorer:
        """The scorer for the model's text; if it has none, for that of these sentences."""
        if self.measures is not None:
            return self._own
        return self._scorer_for(Measures.of(self.scorer, list(beginning(sentences))))

    @cached_property
    def _own(self) -> TextScorer:
        assert self.measures is not None
        return self._scorer_for(self.measures)

    def _scorer_for(self, measures: Measures) -> TextScorer:
        return TextScorer(self.scorer, measures.profile, measures.bands)

    def parse(self, sentences: Sequence[Sentence]) -> list[Tree]:
        """The most probable trees, projective and with one root."""
        return [tree for tree, _ in self._found(sentences, has_margins=False, keep_heads=False)]

    def with_margins(self, sentences: Sequence[Sentence], *, keep_heads: bool) -> list[tuple[Tree, Floats]]:
        """The trees of `parse`; margins are the log-odds of the arcs' marginal probabilities."""
        return self._found(sentences, has_margins=True, keep_heads=keep_heads)

    def scores(self, sentence: Sentence) -> Floats:
        """log p(h | d) (n + 1, n + 1) of a sentence's arcs, as `grammar.chart` has them."""
        scorer = self.text_scorer([sentence])
        return _square(_scores(scorer, scorer.encode([sentence])).reshape(len(sentence) + 1, -1))

    def _found(
        self, sentences: Sequence[Sentence], *, has_margins: bool, keep_heads: bool
    ) -> list[tuple[Tree, Floats]]:
        scorer = self.text_scorer(sentences)
        pieces = [list(_pieces(sentence, keep_heads)) for sentence in sentences]
        flat = [piece for each in pieces for piece in each]
        found: list[tuple[Tree, Floats]] = [((), np.zeros(0))] * len(flat)
        for members in batches(list(map(len, flat))):
            encoded = scorer.encode([flat[k] for k in members])
            scores = _scores(scorer, encoded)
            heads, starts = chart.best_in_a_row(scores, encoded.lengths), encoded.start.tolist()
            log_p = by_sentence(scores, encoded.lengths)
            for k, start, end, of_sentence in zip(members, starts, starts[1:], log_p):
                tree = tuple(heads[start:end].tolist())
                if has_margins:
                    given = flat[k].heads if keep_heads else None
                    found[k] = _with_margins(_square(of_sentence), tree, given)
                else:
                    found[k] = tree, found[k][1]
        parts = iter(found)
        return [_joined([next(parts) for _ in each]) for each in pieces]


def batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """The places of sentences with words, those of similar length together."""
    members: list[int] = []
    n_words = n_arcs = 0
    for k in sorted((k for k, n in enumerate(lengths) if n), key=lambda k: lengths[k]):
        n = lengths[k]
        if members and (n_words + n > WORDS or n_arcs + n * (n + 1) > ARCS):
            yield members
            members, n_words, n_arcs = [], 0, 0
        members.append(k)
        n_words, n_arcs = n_words + n, n_arcs + n * (n + 1)
    if members:
        yield members


def best_heads(scorer: TextScorer, encoded: CodedText) -> Ints:
    """Heads (N,) of the most probable trees."""
    return chart.best_in_a_row(_scores(scorer, encoded), encoded.lengths)


def _scores(scorer: TextScorer, encoded: CodedText) -> Floats:
    with one_thread():
        return scorer.log_probabilities(encoded).astype(np.float64)


def relations_of(scorer: TextScorer, encoded: CodedText, heads: Ints) -> Ints:
    """The relations (N,), by number in LABELS, of arcs from `heads` (N,); `root` for the root alone."""
    with one_thread():
        scores = scorer.relations(encoded, heads)
    scores[:, _ROOT] = -np.inf
    best: Ints = LABEL_OF[scores.argmax(1)]
    best[heads == 0] = LABEL_OF[_ROOT]
    return best


def _pieces(sentence: Sentence, keep_heads: bool) -> Iterator[Sentence]:
    """The sentence, or its parts if it is too long; given heads, which may cross parts, keep it whole."""
    n = len(sentence)
    has_heads = keep_heads and sentence.heads is not None and set(sentence.heads) != {FREE}
    if n <= LONGEST or has_heads:
        yield sentence
        return
    for start in range(0, n, LONGEST):
        part = slice(start, start + LONGEST)
        yield Sentence(
            sentence.forms[part],
            sentence.tags[part],
            upos=sentence.upos[part],
            feats=sentence.feats[part],
            gaps=sentence.gaps[start : start + LONGEST + 1],
        )


def _joined(parts: Sequence[tuple[Tree, Floats]]) -> tuple[Tree, Floats]:
    """The tree of a sentence from those of its parts, whose roots depend on the first one's."""
    if len(parts) == 1:
        return parts[0]
    heads: list[int] = []
    root = parts[0][0].index(0) + 1
    for tree, _ in parts:
        offset = len(heads)
        heads += [head + offset if head else root if offset else 0 for head in tree]
    return tuple(heads), np.concatenate([margins for _, margins in parts])


def _square(scores: Floats) -> Floats:
    """Scores (n + 1, n + 1), as `grammar.chart` has them, from those without a column of ROOT (n + 1, n)."""
    return np.pad(scores, ((0, 0), (1, 0)))


def _with_margins(scores: Floats, tree: Tree, given: Sequence[int] | None) -> tuple[Tree, Floats]:
    if given is not None:
        scores = chart.constrained(scores, given)
        tree = chart.best(scores)
    p = np.clip(chart.marginals(scores)[list(tree), range(len(tree))], CERTAIN, 1 - CERTAIN)
    return tree, np.log(p / (1 - p))
