"""Learning from trees that a teacher made of the text, or from gold trees, by the linear student.

The neural student learns from them as it does from gold trees, see `training`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import replace

from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.data.vocabulary import Vocabulary
from dynet_vdgi.grammar.prior import Prior, Statistics
from dynet_vdgi.grammar.rules import RuleSet
from dynet_vdgi.students import linear
from dynet_vdgi.teachers import dmv

logger = logging.getLogger("dynet_vdgi")


def taught(sentences: Sequence[Sentence], rules: RuleSet) -> list[Sentence]:
    """The sentences with the trees of a teacher that has learnt from their tags; their own are not used."""
    start = time.process_time()
    tagged = [sentence.tags for sentence in sentences]
    teacher = dmv.learn(tagged, Prior(rules, Statistics.measure(tagged)))
    trees = teacher.parse(tagged)
    seconds = time.process_time() - start
    logger.info("teacher: DMV, %d sentences, %.1f CPU s with compiling", len(sentences), seconds)
    return [replace(s, heads=heads, source=None) for s, heads in zip(sentences, trees)]


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
