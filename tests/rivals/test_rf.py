"""RF: the beam against all derivations, counts and smoothing by hand, learning on the demo
treebank."""

from __future__ import annotations

import math

import brute_force
import numpy as np
import pytest
import taught

from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.rivals.rf import (
    RasooliFaili,
    Tables,
    count,
    no_counts,
    random_start,
    room_for,
    search,
    smoothed,
)
from dynet_vdgi.rule_tables.prior import Prior
from dynet_vdgi.rule_tables.rules import load_rules, parse_rules
from dynet_vdgi.settings.bundled import rules_path
from dynet_vdgi.system.jit import as_python
from dynet_vdgi.unsupervised.dmv_model import Packed

N_TAGS, NONE = 3, 3
ANY = parse_rules("[short arcs] (b)\nshort arcs = 0\n", "any")


def random_tables(seed):
    """Log-probabilities, all different."""
    start = random_start(N_TAGS, seed)
    rng = np.random.default_rng(seed)
    return start._replace(tag=np.log(rng.dirichlet(np.ones(N_TAGS), size=(N_TAGS + 1, N_TAGS + 1))))


def steps_of(actions, tags):
    """What is chosen under which tags, one after the other: ("reduces", ...), ("side", ...),
    ("tag", ...)."""
    stack, read, found = [], 0, []
    for action in actions:
        top = tags[stack[-1]] if stack else NONE
        below = tags[stack[-2]] if len(stack) > 1 else NONE
        if len(stack) > 1 and read < len(tags):
            found.append(("reduces", below, top, int(action != brute_force.SHIFT)))
        if action == brute_force.SHIFT:
            found.append(("tag", below, top, tags[read]))
            stack.append(read)
            read += 1
        else:
            found.append(("side", below, top, action - 1))
            right, left = stack.pop(), stack.pop()
            stack.append(right if action == brute_force.LEFT else left)
    return found


def enumerated(tags, potentials, tables):
    """Log of the sum over all derivations, counts and arcs."""
    n, found = len(tags), []
    for actions, heads in brute_force.derivations(n):
        steps = steps_of(actions, tags)
        score = sum(getattr(tables, kind)[below, top, what] for kind, below, top, what in steps)
        score += sum(potentials[head, word] for word, head in enumerate(heads))
        found.append((score, steps, heads))
    log_z = math.log(sum(math.exp(score) for score, _, _ in found))
    counts, arcs = no_counts(N_TAGS), np.zeros((n + 1, n))
    for score, steps, heads in found:
        share = math.exp(score - log_z)
        for kind, below, top, what in steps:
            getattr(counts, kind)[below, top, what] += share
        for word, head in enumerate(heads):
            arcs[head, word] += share
    return log_z, counts, arcs


@pytest.mark.parametrize("tags", [(0,), (0, 1), (2, 0, 0), (0, 1, 2, 1)])
def test_a_beam_that_loses_nothing_sums_over_all_derivations(tags):
    rng = np.random.default_rng(len(tags))
    n, tables = len(tags), random_tables(4)
    potentials = rng.normal(size=(n + 1, n))
    log_z, counts, arcs = enumerated(tags, potentials, tables)
    found, text = no_counts(N_TAGS), (np.array(tags), potentials.ravel())
    beam = as_python(search)(*text, tables, room_for(200, n))
    assert beam.size[0] == len(brute_force.derivations(n))
    packed = Packed(text[0], np.array([0, n]), np.exp(text[1]), 0.0)
    total, marginals = count(packed, tables, 200, found)
    assert total == pytest.approx(log_z)
    assert marginals.reshape(n + 1, n) == pytest.approx(arcs)
    for mine, expected in zip(found, counts):
        assert mine == pytest.approx(expected)


def test_a_narrow_beam_keeps_good_derivations_and_knows_of_roots_in_time():
    """The only root allowed is the first word: a beam that learnt of it at the end would have lost
    it."""
    tags, tables = np.array([0, 1, 2, 1, 0, 2, 1]), random_tables(1)
    potentials = np.zeros((8, 7))
    potentials[0, 1:] = -100.0
    beam = as_python(search)(tags, potentials.ravel(), tables, room_for(2, 7))
    assert (beam.size[0], beam.length.tolist()) == (2, [13, 13])
    packed = Packed(tags, np.array([0, 7]), np.exp(potentials.ravel()), 0.0)
    _, marginals = count(packed, tables, 2, no_counts(N_TAGS))
    arcs = marginals.reshape(8, 7)
    assert arcs[0] == pytest.approx([1, 0, 0, 0, 0, 0, 0])
    assert arcs.sum(axis=0) == pytest.approx(np.ones(7))


def test_sentences_are_counted_one_after_the_other():
    sentences, tables = [(0, 1), (2, 0, 0)], random_tables(2)
    rng = np.random.default_rng(0)
    matrices = [rng.normal(size=(len(tags) + 1, len(tags) + 1)) for tags in sentences]
    packed, counts = Packed.of(sentences, matrices, N_TAGS), no_counts(N_TAGS)
    total, _ = count(packed, tables, 100, counts)
    expected = [
        enumerated(tags, matrix[:, 1:], tables) for tags, matrix in zip(sentences, matrices)
    ]
    assert total - packed.log_scale == pytest.approx(sum(log_z for log_z, _, _ in expected))
    for kind in Tables._fields:
        both = sum(getattr(own, kind) for _, own, _ in expected)
        assert getattr(counts, kind) == pytest.approx(both)


def test_smoothing_backs_off_from_two_tags_to_the_upper_one():
    counts = no_counts(N_TAGS)
    counts.side[0, 1] += [6, 0]
    counts.side[2, 1] += [0, 2]
    side = np.exp(smoothed(counts, 2.0).side)
    every = (6 + 1) / 10
    upper = (6 + 2 * every) / 10
    assert side[0, 1] == pytest.approx([(6 + 2 * upper) / 8, 2 * (1 - upper) / 8])
    assert side[0, 0] == pytest.approx([every, 1 - every])  # never seen with this tag on top
    for array in smoothed(counts, 2.0):
        assert np.exp(array).sum(axis=-1) == pytest.approx(np.ones(array.shape[:2]))


@pytest.fixture(scope="module")
def demo():
    return taught.demo(150)


def test_the_seed_decides_and_the_text_grows(demo):
    prior = Prior.of_text(ANY, demo)
    one, same, other = (RasooliFaili(seed=seed).fit(demo, prior) for seed in (1, 1, 2))
    assert one.heads(demo) == same.heads(demo) != other.heads(demo)
    longest = [row["longest"] for row in one.log_rows()]
    assert (len(longest), longest[0], longest[-1]) == (15, 3, max(map(len, demo)))
    assert longest == sorted(longest)
    for matrix in one.marginals(demo[:20]):
        assert matrix.sum(axis=0) == pytest.approx(np.ones(matrix.shape[1]))
        assert matrix[0].sum() == pytest.approx(1)


def test_the_heuristics_make_verbs_roots_and_keep_them_from_nouns(demo):
    rules = load_rules(rules_path("rf-h1-h2"))
    prior = Prior.of_text(rules, demo)
    trees = RasooliFaili(iterations=5).fit(demo, prior).predict(demo)
    with_verbs = [tree for tree in trees if "VERB" in tree.tags]
    assert len(with_verbs) > 50
    assert all(tree.tags[tree.heads.index(0)] == "VERB" for tree in with_verbs)
    words = Sentence(("a", "b"), ("NOUN", "VERB"))
    table = prior.potentials(words)
    tenth = math.log(10)
    assert table[0, 2] - table[0, 1] == pytest.approx(10 * tenth, rel=1e-5)
    assert table[2, 1] - table[1, 2] == pytest.approx(tenth, rel=1e-5)
