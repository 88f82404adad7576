"""What kernels compute does not depend on whether they run as Python or as machine code."""

from __future__ import annotations

from functools import partial
from itertools import islice

import numpy as np
import pytest
from few import RandomBase

from dynet_vdgi.conllu.punctuation import without_punctuation
from dynet_vdgi.conllu.reading import read
from dynet_vdgi.few_trees.arc_crf import ArcCrf
from dynet_vdgi.few_trees.word_perceptron import WordPerceptron
from dynet_vdgi.inference import eisner
from dynet_vdgi.relations import label_table
from dynet_vdgi.relations.labeller import Labeller
from dynet_vdgi.rivals.hdp_dep import HdpDep
from dynet_vdgi.rivals.lc_dmv import LcDmv
from dynet_vdgi.rivals.rf import RasooliFaili
from dynet_vdgi.rule_tables.prior import Prior
from dynet_vdgi.rule_tables.rules import load_rules
from dynet_vdgi.settings.bundled import resources, rules_path
from dynet_vdgi.system.jit import Kernel
from dynet_vdgi.words.tagger.spelling import WordTypes
from dynet_vdgi.words.tagger.tagger import Tagger


def of_charts(trees):
    rng, found = np.random.default_rng(1), []
    for n in (1, 2, 9):
        scores = rng.normal(size=(n + 1, n + 1))
        found += [eisner.marginals(scores), eisner.log_partition(scores)]
        found += [eisner.best(scores), eisner.expected_best_of_all([eisner.marginals(scores)] * 2)]
    huge = 1e4 * rng.normal(size=(8, 8))  # sums must be scaled
    return [*found, eisner.marginals(huge)]


def of_the_word_perceptron(trees):
    parser = WordPerceptron(log2_buckets=12, orders=1).fit(trees)
    return [parser.weights, *(part for pair in parser.predict_with_margins(trees) for part in pair)]


def of_the_crf(trees):
    crf = ArcCrf(log2_buckets=12, epochs=2).fit(trees, RandomBase())
    return [crf.weights, crf.scores(trees[0]), crf.scores_after(trees[1], 0.5)]


def of_the_labeller(trees):
    labeller = Labeller(label_table.load(), epochs=2).fit(trees)
    return [labeller.buckets, labeller.weights, *labeller.predict(trees)]


def of_a_rival(teacher, rules):
    """What a rival that learnt from short sentences says of them and of a longer one."""

    def found(trees):
        short, long = [tree for tree in trees if len(tree) <= 10], max(trees, key=len)
        prior = Prior.of_text(load_rules(rules_path(rules)), short)
        return teacher().fit(short, prior).marginals([*short, long])

    found.__name__ = teacher.func.__name__
    return found


RIVALS = (
    of_a_rival(partial(HdpDep, iterations=1, subsymbols=2), "hdp-dep"),
    of_a_rival(partial(LcDmv, iterations=1, chunk=1), "lc-dmv"),
    of_a_rival(partial(RasooliFaili, iterations=2), "rf-h1-h2"),
)


def of_the_tagger(trees):
    learnt = Tagger().fit(trees[:4], trees[4:]).learnt
    found = Tagger(learnt).predict(trees, retag=True)
    parts = [
        learnt.first.weights.values,
        learnt.second.weights.values,
        learnt.of_feats.weights.values,
    ]
    words = WordTypes.of(tree.forms for tree in trees).tokens()
    best = learnt.first.best(learnt.first.scores(words), words.first)
    return [*parts, *learnt.second.borders, words.items.codes, best, *found]


WORKS = [of_charts, of_the_word_perceptron, of_the_crf, of_the_labeller, of_the_tagger, *RIVALS]


def by_itself(kernel, *arguments, work):
    with np.errstate(all="ignore"):
        return kernel.function.plain(*arguments)


@pytest.mark.parametrize("work", WORKS)
def test_python_and_machine_code_compute_the_same_bits(work, monkeypatch):
    path = resources() / "demo" / "demo-ud-dev.conllu"
    trees = [without_punctuation(tree)[0] for tree in islice(read(path), 6)]
    kernels = set()

    def native(kernel, *arguments, work):
        kernels.add(kernel)
        return kernel.function.cached(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(Kernel, "__call__", by_itself)
        by_python = work(trees)
    monkeypatch.setattr(Kernel, "__call__", native)
    by_machine_code = work(trees)
    assert kernels
    assert all(kernel.function.cached.signatures for kernel in kernels)
    assert len(by_python) == len(by_machine_code)
    for one, other in zip(by_python, by_machine_code):
        assert np.array_equal(one, other) if isinstance(one, np.ndarray) else one == other
