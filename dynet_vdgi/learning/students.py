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
from dynet_vdgi.students import linear
from dynet_vdgi.students.codes import Codes, settings_of
from dynet_vdgi.students.codes import learn as learn_codes
from dynet_vdgi.teachers import convex_mst, dmv, ensemble
from dynet_vdgi.teachers.ensemble import Learner, Teacher

logger = logging.getLogger("dynet_vdgi")

LEARNERS: dict[str, tuple[str, Learner]] = {
    "dmv": ("DMV", dmv.learn),
    "convex-mst": ("Convex-MST", convex_mst.learn),
    "ensemble": ("DMV + Convex-MST", partial(ensemble.learn, learners=(dmv.learn, convex_mst.learn))),
}
"""Names and functions by `teacher.kind`."""


def teacher_of(sentences: Sequence[Sentence], rules: RuleSet, kind: str = "dmv", max_len: int = 0) -> Teacher:
    """A teacher that has learnt from the sentences of at most `max_len` words (0: all); their trees are not
    used. What its prior knows of the text is from all of them.
    """
    start = time.process_time()
    name, learn = LEARNERS[kind]
    short = [sentence for sentence in sentences if not max_len or len(sentence) <= max_len]
    teacher = learn(short or sentences, Prior.of_text(rules, sentences))
    seconds = time.process_time() - start
    logger.info("teacher: %s, %d sentences, %.1f CPU s with compiling", name, len(sentences), seconds)
    return teacher


def taught(sentences: Sequence[Sentence], teacher: Teacher) -> list[Sentence]:
    """The sentences with the teacher's trees; their own are not used."""
    trees = teacher.parse(sentences)
    return [replace(s, heads=heads, source=None) for s, heads in zip(sentences, trees)]


def balanced(treebanks: Sequence[Sequence[Sentence]]) -> list[Sentence]:
    """The trees of all languages.

    Those of a small treebank come several times, so that no language has twice as many as another: a student
    of all would follow the large ones where languages differ.
    """
    most = max(map(len, treebanks), default=0)
    return [tree for trees in treebanks if trees for tree in [*trees] * (most // len(trees))]


def symbolic_parser(trees: Sequence[Sentence], prior: Prior, seed: int) -> tuple[linear.LinearParser, Codes]:
    """The linear student of these trees, which is told of words what the prior's table says."""
    start = time.process_time()
    parser, codes = learn_codes(trees, prior, settings_of(seed))
    seconds = time.process_time() - start
    logger.info("linear student: %d trees, %.1f CPU s with compiling", len(trees), seconds)
    return parser, codes


def linear_parser(trees: Sequence[Sentence], vocabulary: Vocabulary, seed: int) -> linear.LinearParser:
    """The linear student of these trees."""
    start = time.process_time()
    tags = [vocabulary.encode(sentence.forms, sentence.tags).tags for sentence in trees]
    heads = [sentence.heads or () for sentence in trees]
    settings = linear.LinearSettings(seed=seed)
    parser = linear.train(tags, heads, len(vocabulary.tags), settings)
    seconds = time.process_time() - start
    logger.info("linear student: %d trees, %.1f CPU s with compiling", len(trees), seconds)
    return parser
