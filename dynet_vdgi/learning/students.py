"""Learning from trees that a teacher made of the text, or from gold trees, by the linear student.

The neural student learns from them as it does from gold trees, see `training`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.data.vocabulary import Vocabulary
from dynet_vdgi.grammar.prior import Prior
from dynet_vdgi.grammar.rules import RuleSet
from dynet_vdgi.students import perceptron
from dynet_vdgi.teachers import convex_mst, dmv, ensemble
from dynet_vdgi.teachers.ensemble import Learner, Teacher

logger = logging.getLogger("dynet_vdgi")

LEARNERS: dict[str, tuple[str, Learner]] = {
    "dmv": ("DMV", dmv.learn),
    "convex-mst": ("Convex-MST", convex_mst.learn),
    "ensemble": ("DMV + Convex-MST", partial(ensemble.learn, learners=(dmv.learn, convex_mst.learn))),
}
"""Names and functions by `teacher.kind`."""


def teacher_of(sentences: Sequence[Sentence], rules: RuleSet, kind: str = "dmv") -> Teacher:
    """A teacher that has learnt from the sentences' tags."""
    start = time.process_time()
    tagged = [sentence.tags for sentence in sentences]
    name, learn = LEARNERS[kind]
    teacher = learn(tagged, Prior.of_text(rules, tagged))
    seconds = time.process_time() - start
    logger.info("teacher: %s, %d sentences, %.1f CPU s with compiling", name, len(sentences), seconds)
    return teacher


def taught(sentences: Sequence[Sentence], teacher: Teacher) -> list[Sentence]:
    """The sentences with the teacher's trees; their own are not used."""
    trees = teacher.parse(sentence.tags for sentence in sentences)
    return [replace(s, heads=heads, source=None) for s, heads in zip(sentences, trees)]


def balanced(treebanks: Sequence[Sequence[Sentence]]) -> list[Sentence]:
    """The trees of all languages.

    Those of a small treebank come several times, so that no language has twice as many as another: a student
    of all would follow the large ones where languages differ.
    """
    most = max(map(len, treebanks), default=0)
    return [tree for trees in treebanks if trees for tree in [*trees] * (most // len(trees))]


def linear_parser(trees: Sequence[Sentence], vocabulary: Vocabulary, seed: int) -> perceptron.LinearParser:
    """The linear student of these trees."""
    start = time.process_time()
    tags = [vocabulary.encode(sentence.forms, sentence.tags).tags for sentence in trees]
    heads = [sentence.heads or () for sentence in trees]
    settings = perceptron.LinearSettings(seed=seed)
    parser = perceptron.train(tags, heads, len(vocabulary.tags), settings)
    seconds = time.process_time() - start
    logger.info("linear student: %d trees, %.1f CPU s with compiling", len(trees), seconds)
    return parser
