"""LC-DMV: sums over trees within a stack depth against enumeration, features against finite
differences."""

from __future__ import annotations

import math

import brute_force
import numpy as np
import pytest
import taught

from dynet_vdgi.rivals.lc_dmv import LcDmv, SharedFeatures, expected_counts
from dynet_vdgi.rule_tables.prior import Prior
from dynet_vdgi.rule_tables.rules import load_rules
from dynet_vdgi.settings.bundled import rules_path
from dynet_vdgi.unsupervised.dmv_model import DmvModel, Packed

N_TAGS = 3


def children(tree, head):
    return [word for word, its_head in enumerate(tree, 1) if its_head == head]


def span(tree, word):
    """The first and the last word below a word."""
    below = [word]
    for child in below:
        below += children(tree, child)
    return min(below), max(below)


def stack_depth(tree):
    """How many things a left-corner parser has on its stack at most, read off the tree word by
    word.

    After each word, what was read is in one piece with
    * its head, if that was read: to the right of it, or to the left of a word all of whose right dependents
      are complete but one, which may be predicted;
    * all that depends on the same predicted word and is complete, and this word's head.
    """
    n, most = len(tree), 0
    spans = {word: span(tree, word) for word in range(1, n + 1)}
    for read in range(1, n + 1):
        piece = {word: word for word in range(1, read + 1)}

        def join(words, piece=piece):
            names = {piece[word] for word in words}
            for word, name in piece.items():
                piece[word] = min(names) if name in names else name

        for word in range(1, read + 1):
            head = tree[word - 1]
            open_right = [c for c in children(tree, word) if c > word and spans[c][1] > read]
            if 0 < head <= read and (head > word or len(open_right) <= 1):
                join([word, head])
        for predicted in range(read + 1, n + 1):
            near = [c for c in children(tree, predicted) if spans[c][1] <= read]
            near += [tree[predicted - 1]] if 0 < tree[predicted - 1] <= read else []
            if near:
                join(near)
        most = max(most, len(set(piece.values())))
    return most


def levels(tree, chunk):
    """The depth of embedding by recursion over the tree, where chunks of so many words count for
    nothing."""

    def whole(word):
        return max(left(word, False), right(word, False, children(tree, word)))

    def left(word, is_embedded):
        found = [1]
        for k, child in enumerate(c for c in children(tree, word) if c < word):
            first, last = span(tree, child)
            is_deeper = (k > 0 or is_embedded) and last - first + 1 > chunk
            found.append(whole(child) + is_deeper)
        return max(found)

    def right(word, has_left_head, below):
        after = [c for c in below if c > word]
        if not after:
            return 1
        child = after[-1]
        size = span(tree, after[-2])[1] - word + 1 if len(after) > 1 else 1
        before = right(word, False, after[:-1]) + (has_left_head and size > chunk)
        return max(before, left(child, True), right(child, True, children(tree, child)))

    return whole(tree.index(0) + 1)


@pytest.mark.parametrize("n", range(1, 7))
def test_levels_are_the_depth_of_a_left_corner_stack(n):
    trees = brute_force.projective_trees(n)
    assert [levels(tree, 1) for tree in trees] == [stack_depth(tree) for tree in trees]
    assert {levels(tree, n) for tree in trees} == {1}
    # Centre-embedding: the smallest trees that need two things have four words.
    assert (max(levels(tree, 1) for tree in trees) > 1) == (n >= 4)


def random_model(rng):
    choose = rng.dirichlet(np.ones(N_TAGS), (N_TAGS, 2, 2))
    return DmvModel(rng.dirichlet(np.ones(N_TAGS)), choose, rng.uniform(0.05, 0.95, (N_TAGS, 2, 2)))


def decisions(tree):
    """Each word with side, whether it has children there already, and the child, or 0 for stopping."""
    for head, side, n_before, _, child in brute_force.decisions(tree):
        yield head, side, min(n_before, 1), child


def weight(model, tags, potentials, tree):
    value = model.root[tags[tree.index(0)]]
    value *= math.exp(sum(potentials[head, word] for word, head in enumerate(tree, 1)))
    for head, side, valence, child in decisions(tree):
        stop = model.stop[tags[head - 1], side, valence]
        chosen = model.choose[tags[head - 1], side, valence, tags[child - 1]]
        value *= (1 - stop) * chosen if child else stop
    return value


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("chunk", [1, 2, 3])
def test_sums_and_counts_are_those_of_the_trees_within_the_bound(seed, chunk):
    rng = np.random.default_rng(seed)
    model, n = random_model(rng), int(rng.integers(3, 7))
    tags, potentials = rng.integers(0, N_TAGS, n), rng.normal(0, 2, (n + 1, n + 1))
    trees = [tree for tree in brute_force.projective_trees(n) if levels(tree, chunk) == 1]
    weights = np.array([weight(model, tags, potentials, tree) for tree in trees])
    counts, log_likelihood = expected_counts(model, Packed.of([tags], [potentials], N_TAGS), chunk)
    assert log_likelihood == pytest.approx(math.log(weights.sum()))
    root, choose, stop = (np.zeros_like(array) for array in counts)
    for tree, share in zip(trees, weights / weights.sum()):
        root[tags[tree.index(0)]] += share
        for head, side, valence, child in decisions(tree):
            if child:
                choose[tags[head - 1], side, valence, tags[child - 1]] += share
            else:
                stop[tags[head - 1], side, valence] += share
    assert np.allclose(counts.root, root)
    assert np.allclose(counts.choose, choose)
    assert np.allclose(counts.stop, stop)


def test_without_a_bound_the_sums_are_those_of_the_plain_model():
    rng = np.random.default_rng(1)
    model = random_model(rng)
    text = [rng.integers(0, N_TAGS, n) for n in (1, 5, 9, 30)]
    packed = Packed.of(text, [rng.normal(0, 9, (len(s) + 1, len(s) + 1)) for s in text], N_TAGS)
    plain, bounded = model.expected(packed), expected_counts(model, packed, 30)
    assert plain[1] == pytest.approx(bounded[1])
    assert all(np.allclose(*both) for both in zip(plain[0], bounded[0]))


def test_features_share_what_tags_of_a_class_have_in_common():
    features = SharedFeatures.of(["DET", "NOUN", "PRON", "VERB"])
    model = features.model(np.zeros(features.n_features), 5)
    assert np.allclose(model.choose, 0.2)
    assert np.allclose(model.stop, 0.5)
    counts, _ = expected_counts(model, Packed.of([[3, 1]], [np.zeros((3, 3))], 5), 1)
    after = features.model(features.gradient(counts, model), 5)
    # VERB > PRON, since there was VERB > NOUN
    assert after.choose[3, 1, 0, 2] > after.choose[3, 1, 0, 0]
    penn = SharedFeatures.of(["NN", "VBD"])
    assert penn.n_features == SharedFeatures.of(["NOUN", "VERB"]).n_features


def test_the_gradient_is_that_of_the_likelihood():
    rng = np.random.default_rng(2)
    features = SharedFeatures.of(["NOUN", "VERB", "ADP"])
    text = Packed.of(
        [[0, 1, 2, 0, 1], [1, 2, 0]], [rng.normal(0, 1, (n + 1, n + 1)) for n in (5, 3)], 4
    )
    weights = rng.normal(0, 0.5, features.n_features)

    def likelihood(at):
        return expected_counts(features.model(at, 4), text, 2)[1]

    model = features.model(weights, 4)
    gradient = features.gradient(expected_counts(model, text, 2)[0], model)
    for k in rng.integers(0, features.n_features, 12):
        step = np.eye(features.n_features)[k] * 1e-5
        slope = (likelihood(weights + step) - likelihood(weights - step)) / 2e-5
        assert gradient[k] == pytest.approx(slope, abs=1e-5)


def test_learning_raises_the_likelihood_and_obeys_the_table():
    demo = taught.demo(60)
    prior = Prior.of_text(load_rules(rules_path("lc-dmv")), demo)
    teacher = LcDmv(iterations=8).fit(demo, prior)
    log = [row["log_likelihood"] for row in teacher.log_rows()]
    assert max(log) > log[0] + 10
    marginals = teacher.marginals(demo[:5])
    for sentence, matrix in zip(demo, marginals):
        assert np.allclose(matrix.sum(axis=0), 1)
        function = [k for k, tag in enumerate(sentence.tags, 1) if tag in ("ADP", "DET", "AUX")]
        assert len(function) == len(sentence) or matrix[function].sum() < 1e-3
