"""The arc CRF against enumeration and finite differences."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from brute_force import projective_trees
from by_numba import ByNumba
from few import RandomBase, log_likelihood, trees
from wording import Wording

from dynet_vdgi.conllu.tree_faults import FREE
from dynet_vdgi.errors import ModelError
from dynet_vdgi.features.atoms import Atoms
from dynet_vdgi.few_trees import arc_features
from dynet_vdgi.few_trees.arc_crf import (
    LEAST_SHARE,
    SHARE_RATE,
    ArcCrf,
    gradients_of,
    share_of_base,
)
from dynet_vdgi.inference import eisner

in_numba = ByNumba(arc_features)

SMALL = {"log2_buckets": 12}


def blanked(sentence, *words):
    heads = [FREE if d in words else head for d, head in enumerate(sentence.heads, 1)]
    return replace(sentence, heads=tuple(heads))


def parsed_by(crf, sentences):
    """The sentences with the trees that have the most arcs expected to be right."""
    trees = map(eisner.expected_best, crf.marginals(sentences))
    return [replace(sentence, heads=heads) for sentence, heads in zip(sentences, trees)]


def accuracy(sentences, parsed):
    return np.mean([a == b for s, p in zip(sentences, parsed) for a, b in zip(s.heads, p.heads)])


def some_crf(sentences, seed=0):
    """With random weights."""
    crf = ArcCrf(**SMALL).fit([], RandomBase())
    crf.weights = np.random.default_rng(seed).normal(size=1 << 12)
    crf.shares = np.array([LEAST_SHARE])
    return crf


def test_without_trees_it_is_the_base():
    base, crf = RandomBase(), ArcCrf(**SMALL).fit([], RandomBase())
    for sentence in trees(6):
        assert (crf.scores(sentence) == base.potentials(sentence)).all()
        assert crf.marginals([sentence])[0] == pytest.approx(
            eisner.marginals(base.potentials(sentence))
        )


def test_likelihood_of_partial_trees_is_the_sum_over_all_trees_that_contain_them():
    sentence = trees(1)[0]
    crf = some_crf([sentence])
    likelihood = {
        heads: math.exp(log_likelihood(crf, [replace(sentence, heads=heads)]))
        for heads in projective_trees(5)
    }
    assert sum(likelihood.values()) == pytest.approx(1)
    for words in ((1,), (2, 4), (1, 2, 3, 4, 5)):
        partial = blanked(sentence, *words)
        fitting = [
            p
            for heads, p in likelihood.items()
            if all(given in (FREE, head) for given, head in zip(partial.heads, heads))
        ]
        assert math.exp(log_likelihood(crf, [partial])) == pytest.approx(sum(fitting))


@pytest.mark.parametrize("words", [(), (1,), (2, 5), (1, 2, 3, 4, 5)])
def test_slopes_are_those_of_the_likelihood(words):
    partial, step = blanked(trees(1)[0], *words), 1e-5
    scores = np.random.default_rng(4).normal(size=(6, 6))

    def likelihood(changed):
        whole = eisner.log_partition(changed)
        return eisner.log_partition(eisner.constrained_scores(changed, partial.heads)) - whole

    gradients = gradients_of(scores, partial.heads)
    for head in range(6):
        for dependent in range(1, 6):
            if head == dependent:
                continue
            up, down = scores.copy(), scores.copy()
            up[head, dependent] += step
            down[head, dependent] -= step
            expected = (likelihood(up) - likelihood(down)) / (2 * step)
            assert gradients[head, dependent - 1] == pytest.approx(expected, abs=1e-8)


def test_crossing_arcs_are_learnt_from_one_by_one():
    scores = np.zeros((5, 5))
    gradients = gradients_of(scores, (3, 4, FREE, 0))  # 3 -> 1 and 4 -> 2 cross
    expected = eisner.marginals(scores)
    assert gradients[3, 0] == pytest.approx(1 - expected[3, 0])
    assert gradients[0, 3] == pytest.approx(1 - expected[0, 3])
    assert not gradients[:, 2].any()


def test_scores_are_sums_of_weights_of_features():
    sentence = trees(2)[1]
    crf = some_crf([sentence])
    rows, table = Atoms().pack([sentence]).rows, arc_features.templates()
    room = arc_features.ArcRoom.of(len(sentence), table)
    in_numba.add_words(rows, table, room)
    found = in_numba.find_buckets(rows, table, 64 - 12, 1, 2, room)
    base = RandomBase().potentials(sentence)
    expected = LEAST_SHARE * base[1, 2] + crf.weights[room.buckets[:found].astype(int)].sum()
    assert crf.scores(sentence)[1, 2] == pytest.approx(expected)


def test_learning_raises_the_likelihood_and_finds_the_trees():
    gold = trees(12)
    before = ArcCrf(**SMALL).fit([], RandomBase())
    after = ArcCrf(**SMALL).fit(gold, RandomBase())
    assert log_likelihood(after, gold) > log_likelihood(before, gold) + 10
    assert accuracy(gold, parsed_by(after, gold)) == 1
    assert accuracy(trees(6, 100), parsed_by(after, trees(6, 100))) > accuracy(
        gold, parsed_by(before, gold)
    )


def test_a_step_goes_where_the_slopes_are():
    sentence, crf = trees(1)[0], ArcCrf(**SMALL).fit([], RandomBase(0.0))
    rows, table, weights = Atoms().pack([sentence]).rows, arc_features.templates(), crf.weights
    gradients = np.zeros((6, 5))
    gradients[3, 1] = 0.5
    arc_features.learn(rows, table, gradients, 0.1, 0.0, weights, squares := np.ones_like(weights))
    changed = np.flatnonzero(weights)
    assert weights[changed] == pytest.approx(0.1 * 0.5 / math.sqrt(1.25))
    assert squares[changed] == pytest.approx(1.25)
    scores = crf.scores(sentence)
    assert scores[3, 2] == scores[:, 1:].max() > 0


def test_a_step_that_is_not_kept_favours_what_the_partial_tree_says():
    sentence = trees(1)[0]
    crf = some_crf(trees(1))
    before = crf.weights.copy()
    free = replace(sentence, heads=(FREE,) * len(sentence))
    assert crf.scores_after(free, 0.1) == pytest.approx(crf.scores(free))
    unlikely = replace(free, heads=(5, *free.heads[1:]))
    gradients = gradients_of(crf.scores(unlikely), unlikely.heads)
    gained = crf.scores_after(unlikely, 0.1) - crf.scores(unlikely)
    assert gained[5, 1] == gained.max() > 0.5
    assert (gained[:, 1:] * gradients).sum() > 0
    assert (crf.weights == before).all()


def test_the_more_trees_the_less_the_table_counts():
    assert share_of_base(0, 500) == 1
    assert share_of_base(500, 500) == 0.75
    assert share_of_base(10**9, 500) == pytest.approx(LEAST_SHARE)
    assert ArcCrf(**SMALL).fit(trees(12), RandomBase()).shares < 1


class TwoParts(RandomBase):
    """What is right, and noise."""

    shares, learns_shares, log_p = np.array([0.5, 0.5]), True, None

    def all_parts(self, sentences):
        for sentence in sentences:
            size = len(sentence) + 1
            right = np.zeros((size, size))
            right[list(sentence.heads), range(1, size)] = 1.0
            yield np.stack([right, 3 * self.potentials(sentence)])


def test_trees_teach_which_part_of_the_base_is_right():
    gold = trees(12)
    crf = ArcCrf(rate=0.0, **SMALL).fit(gold, TwoParts())
    assert crf.shares[0] > 0.7
    assert crf.shares[1] < 0.3
    before = ArcCrf(**SMALL).fit([], TwoParts())
    assert before.shares.tolist() == [0.5, 0.5]
    assert log_likelihood(crf, gold) > log_likelihood(before, gold)


def test_a_step_of_the_shares_goes_along_the_gradient_of_the_likelihood():
    one = blanked(trees(3)[2], 2)
    crf = ArcCrf(rate=0.0, epochs=1, **SMALL).fit([one], TwoParts())
    steps, by_hand = crf.shares - 0.5, []
    for part in np.eye(2):
        sides = []
        for change in (-1e-5, 1e-5):
            crf.shares = 0.5 + change * part
            sides.append(log_likelihood(crf, [one]))
        by_hand.append((sides[1] - sides[0]) / 2e-5)
    expected = SHARE_RATE * np.array(by_hand) / np.sqrt(1 + np.square(by_hand))
    assert steps == pytest.approx(expected, abs=1e-6)


def test_arrays_bring_the_crf_back(wording: Wording):
    crf = ArcCrf(words=False, **SMALL).fit(trees(5), RandomBase())
    again = ArcCrf.from_arrays({**crf.arrays(), "other": np.zeros(1)}, RandomBase())
    assert (again.weights == crf.weights).all()
    assert (again.words, again.feats, again.settings.log2_buckets) == (False, True, 12)
    assert parsed_by(again, trees(5)) == parsed_by(crf, trees(5))
    with wording.raises(ModelError):
        ArcCrf.from_arrays({**crf.arrays(), "crf/share": np.array([np.nan])}, RandomBase())
    with wording.raises(ModelError):
        ArcCrf.from_arrays({}, RandomBase())
