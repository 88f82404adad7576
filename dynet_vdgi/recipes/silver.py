"""One learner for any number of trees from none to a thousand: knowledge without trees, the trees, and text.

A CRF starts as the rule table or a universal parser and learns from the trees. The CRF and the unsupervised
teacher, whose weight falls as the number of trees grows, parse the text. A student, a linear-time parser,
learns from these silver trees and the gold ones. One setting works for any number of trees and all languages.

The student of a rule table is nearly as good as the CRF. That of a universal parser is not, because it cannot
see what the network knows, so there the CRF parses, unless one wants speed (docs/results/few-trees.md).

Letters: n words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from dynet_vdgi.data.sentence import FREE, Sentence
from dynet_vdgi.errors import VdgiError
from dynet_vdgi.grammar import chart
from dynet_vdgi.parsing import keep
from dynet_vdgi.parsing.confidence import (
    CALIBRATION_SENTENCES,
    SHIFT_WITH_TREES,
    SHIFT_WITHOUT_TREES,
    Calibration,
)
from dynet_vdgi.parsing.decoding import find
from dynet_vdgi.parsing.engines import CrfEngine
from dynet_vdgi.students.word_perceptron import GOLD_AMOUNT, WordPerceptron, gold_copies
from dynet_vdgi.system.arrays import Floats
from dynet_vdgi.teachers.arc_crf import ArcCrf, mixed, n_known_heads, share_of_unsupervised
from dynet_vdgi.teachers.common import Base

SHORTEST, LONGEST_TEXT, LONGEST_TREE = 2, 40, 80
"""The longest sentences to learn from, in words: of text (default), and of gold trees."""


@dataclass(eq=False)
class FewTrees:
    """The learner with its CRF and its student; `fit` learns both. Without a student the CRF parses."""

    crf: ArcCrf = field(default_factory=ArcCrf)
    student: WordPerceptron | None = field(default_factory=WordPerceptron)
    trust: float = 20.0  # number of gold words that weigh as much as the unsupervised teacher
    longest_text: int = LONGEST_TEXT  # words; longer sentences get no silver trees
    longest_tree: int = LONGEST_TREE
    has_seen_trees: bool = False  # the unsupervised teacher, of other languages
    share: float = 1.0  # weight of the unsupervised teacher in the silver trees; set by fit
    calibration: Calibration | None = field(default=None, repr=False)

    def fit(
        self,
        text: Sequence[Sentence],
        trees: Sequence[Sentence],
        base: Base,
        unsupervised: Sequence[Floats] = (),
    ) -> FewTrees:
        """Learns from text, and from trees whose heads may be FREE.

        Args:
            base: the rule table, or a universal parser.
            unsupervised: marginals (n + 1, n) of the text's sentences by a teacher that saw no tree; without
                them the CRF alone makes the silver trees.

        Raises: VdgiError, there is neither text nor a tree within the length limits; ValueError, the
        arguments do not fit together.
        """
        lesson = self._lesson(text, trees, unsupervised)
        self.crf.fit(lesson.trees, base)
        self.share = share_of_unsupervised(n_known_heads(lesson.trees), self.trust) if unsupervised else 0.0
        self._teach(lesson)
        return self

    def with_student(
        self,
        student: WordPerceptron,
        text: Sequence[Sentence],
        trees: Sequence[Sentence],
        unsupervised: Sequence[Floats] = (),
    ) -> FewTrees:
        """This learner and a student, which learns from the arguments of `fit`."""
        fast = replace(self, student=student)
        fast._teach(self._lesson(text, trees, unsupervised))
        return fast

    def _lesson(
        self, text: Sequence[Sentence], trees: Sequence[Sentence], unsupervised: Sequence[Floats]
    ) -> _Evidence:
        """What is short and long enough. Raises: as `fit`."""
        if unsupervised and len(unsupervised) != len(text):
            raise ValueError(f"{len(text)} sentences, but marginals of {len(unsupervised)}")
        gold = [tree for tree in trees if SHORTEST <= len(tree) <= self.longest_tree]
        places = [k for k, sentence in enumerate(text) if SHORTEST <= len(sentence) <= self.longest_text]
        if not gold and not places:
            raise VdgiError("neither text nor trees to learn from")
        votes = [unsupervised[k] for k in places] if unsupervised else []
        return _Evidence(gold, [text[k] for k in places], votes)

    def _teach(self, lesson: _Evidence) -> None:
        """What the CRF teaches when it has learnt: the student, and the calibration of what parses."""
        n_silver = len(lesson.text) if self.student else CALIBRATION_SENTENCES
        sentences = lesson.text[:n_silver]
        marginals = self._silver(sentences, lesson.votes[:n_silver])
        if self.student:
            silver = [replace(s, heads=chart.expected_best(m)) for s, m in zip(sentences, marginals)]
            gold = lesson.trees
            self.student.fit(
                [*map(self.completed, gold), *silver],
                [gold_copies(len(gold), len(silver))] * len(gold) + [1] * len(silver),
                [_amount(tree) for tree in gold] + [1.0] * len(silver),
            )
        if sentences:
            sample = sentences[:CALIBRATION_SENTENCES]
            trees, margins = zip(*self._found(sample))
            shift = SHIFT_WITH_TREES if lesson.trees or self.has_seen_trees else SHIFT_WITHOUT_TREES
            tags = [s.tags for s in sample]
            self.calibration = Calibration.fit(tags, zip(trees, margins), marginals[: len(sample)], shift)

    def _silver(self, sentences: Sequence[Sentence], unsupervised: Sequence[Floats]) -> list[Floats]:
        """The mixed marginals of text."""
        if self.share == 1.0:
            return list(unsupervised)
        marginals = self.crf.marginals(sentences)
        return mixed(marginals, unsupervised, self.share) if unsupervised else marginals

    def _found(
        self, sentences: Sequence[Sentence], *, keep_heads: bool = False
    ) -> list[tuple[tuple[int, ...], Floats]]:
        """Trees and margins of what parses."""
        if self.student is None:
            found = find(CrfEngine(self.crf), sentences, keep_heads=keep_heads, margins=True)
            return [(each.heads, each.margins) for each in found]
        trees = self.student.predict_with_margins(sentences, keep_heads=keep_heads)
        return [(tree.heads or (), margins) for tree, margins in trees]

    def completed(self, tree: Sentence) -> Sentence:
        """The tree with the highest expected number of correct heads for FREE words.

        If no projective tree contains the given heads, they replace those of the best tree without them.
        """
        heads = tree.heads or (FREE,) * len(tree)
        if FREE not in heads:
            return tree
        scores = self.crf.scores(tree)
        try:
            return replace(tree, heads=keep.complete(scores, heads))
        except keep.KeepError:
            guessed = chart.expected_best(chart.marginals(scores))
            return replace(tree, heads=tuple(g if h == FREE else h for h, g in zip(heads, guessed)))

    def predict(self, sentences: Sequence[Sentence], *, keep_heads: bool = False) -> list[Sentence]:
        """The sentences with the student's trees, or else the CRF's; with `keep_heads` they keep given heads.

        Raises: KeepError, no projective tree contains them.
        """
        if keep_heads:
            _check(sentences)
        found = self._found(sentences, keep_heads=keep_heads)
        return [replace(sentence, heads=heads) for sentence, (heads, _) in zip(sentences, found)]

    def confidences(self, sentences: Sequence[Sentence]) -> list[tuple[Sentence, Floats]]:
        """The sentences with trees, and the probability (n,) that each word's head is right."""
        if self.calibration is None:
            raise VdgiError("confidence needs text that the parser was trained on")
        found = self._found(sentences)
        trees, margins = [heads for heads, _ in found], [row for _, row in found]
        sure = self.calibration(self.calibration.arcs([s.tags for s in sentences], trees, margins))
        rows = np.split(sure, np.cumsum([len(tree) for tree in trees])[:-1])
        return [(replace(s, heads=tree), row) for s, tree, row in zip(sentences, trees, rows)]


@dataclass(frozen=True, eq=False)
class _Evidence:
    """Gold trees, and text with the marginals of the unsupervised teacher, if there is one."""

    trees: list[Sentence]
    text: list[Sentence]
    votes: list[Floats]


def _amount(tree: Sentence) -> float:
    """The weight of a tree, between a silver and a gold tree's by the share of given heads."""
    known = n_known_heads([tree]) / len(tree)
    return 1.0 + (GOLD_AMOUNT - 1.0) * known


def _check(sentences: Sequence[Sentence]) -> None:
    for sentence in sentences:
        reason = keep.conflict(sentence.heads) if sentence.heads else None
        if reason:
            raise keep.KeepError(reason)
