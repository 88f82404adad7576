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
from dynet_vdgi.teachers import convex_mst, dmv, ensemble
from dynet_vdgi.teachers.ensemble import Learner

logger = logging.getLogger("dynet_vdgi")

LEARNERS: dict[str, tuple[str, Learner]] = {
    "dmv": ("DMV", dmv.learn),
    "convex-mst": ("Convex-MST", convex_mst.learn),
    "ensemble": ("DMV + Convex-MST", partial(ensemble.learn, learners=(dmv.learn, convex_mst.learn))),
}
"""Names and functions by `teacher.kind`."""


def taught(sentences: Sequence[Sentence], rules: RuleSet, kind: str = "dmv") -> list[Sentence]:
    """The sentences with the trees of a teacher that has learnt from their tags; their own are not used."""
    start = time.process_time()
    tagged = [sentence.tags for sentence in sentences]
    name, learn = LEARNERS[kind]
    trees = learn(tagged, Prior.of_text(rules, tagged)).parse(tagged)
    seconds = time.process_time() - start
    logger.info("teacher: %s, %d sentences, %.1f CPU s with compiling", name, len(sentences), seconds)
    return [replace(s, heads=heads, source=None) for s, heads in zip(sentences, trees)]


def taught_by_language(
    texts: Sequence[Sequence[Sentence]], rules: RuleSet, kind: str = "dmv"
) -> list[Sentence]:
    """The sentences of all languages with the trees of a teacher for each, as `taught` gives them.

    Those of a small text come several times, so that no language has twice as many as another: a student of
    all would follow the large ones where languages differ.
    """
    treebanks = [taught(text, rules, kind) for text in texts if text]
    most = max(map(len, treebanks), default=0)
    return [tree for trees in treebanks for tree in trees * (most // len(trees))]


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
