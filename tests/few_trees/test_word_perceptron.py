"""The parser in linear time that sees words."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from brute_force import crosses, is_tree, projective_trees
from by_numba import ByNumba
from few import tree, trees
from hypothesis import given
from hypothesis import strategies as st
from wording import Wording

from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.conllu.tree_faults import FREE
from dynet_vdgi.errors import ModelError
from dynet_vdgi.features.atoms import Atoms
from dynet_vdgi.few_trees import state_features, word_perceptron
from dynet_vdgi.few_trees.word_perceptron import FORMAT, GOLD_AMOUNT, WordPerceptron, gold_copies
from dynet_vdgi.inference import arc_hybrid

arc_hybrid = ByNumba(arc_hybrid)

compiled_features = ByNumba(state_features)

SMALL = {"log2_buckets": 12, "orders": 1}


def accuracy(sentences, parsed):
    return np.mean([a == b for s, p in zip(sentences, parsed) for a, b in zip(s.heads, p.heads)])


def random_parser(seed=0, **options):
    parser = WordPerceptron(log2_buckets=12, **options)
    parser.weights = np.random.default_rng(seed).normal(size=(1 << 12, 3)).astype(np.float32)
    return parser


def words(n):
    return Sentence(tuple("abcdefgh"[:n]), ("NOUN", "VERB", "ADP", "DET", "ADJ", "X")[:n])


@given(st.integers(1, 6), st.integers(0, 1000))
def test_whatever_the_weights_trees_are_projective_with_one_root(n, seed):
    (parsed,) = random_parser(seed).predict([words(n)])
    assert is_tree(parsed.heads)
    assert not crosses(parsed.heads)


@given(st.integers(1, 6), st.integers(0, 1000), st.data())
def test_given_heads_are_kept_if_a_projective_tree_contains_them(n, seed, data):
    gold = data.draw(st.sampled_from(projective_trees(min(n, 5))))
    partial = tuple(head if data.draw(st.booleans()) else FREE for head in gold)
    (parsed,) = random_parser(seed).predict(
        [replace(words(len(gold)), heads=partial)], keep_heads=True
    )
    assert all(given in (FREE, head) for given, head in zip(partial, parsed.heads))
    assert is_tree(parsed.heads)
    assert not crosses(parsed.heads)


def test_sentences_do_not_influence_each_other():
    parser = random_parser()
    sentences = [*trees(5), words(1), Sentence((), ())]
    alone = [parser.predict([sentence])[0] for sentence in sentences]
    assert parser.predict(sentences) == alone
    assert parser.predict([]) == []


def test_margins_are_those_of_the_least_sure_decision():
    parser, sentence = random_parser(3), trees(1)[0]
    ((parsed, margins),) = parser.predict_with_margins([sentence])
    expected = margins_step_by_step(parser, sentence)
    assert margins == pytest.approx(expected)
    ((_, kept),) = parser.predict_with_margins([parsed], keep_heads=True)
    assert len(kept) == len(sentence)


def margins_step_by_step(parser, sentence):
    """Of each word the least margin of the actions while it was on top of the stack."""
    n, weights = len(sentence), parser.weights
    features = word_perceptron.features()
    rows = Atoms().pack([sentence]).of(0)
    state = np.zeros((6, n + 4), np.int64)
    places, atoms = np.zeros(13, np.int64), np.zeros(2 * len(features.templates.of_atom), np.uint64)
    buckets, margins = np.zeros(len(features.templates.parts), np.uint64), np.full(n, np.inf)
    size, front, scores = 0, 1, np.zeros(3)
    for _ in range(2 * n):
        compiled_features.look(state, size, front, places)
        compiled_features.fill_numbers(state, size, front, rows, atoms[len(features.places) + 1 :])
        found = compiled_features.find_features(rows, features, 64 - 12, places, atoms, buckets)
        scores = weights[buckets[:found].astype(int)].astype(float).sum(axis=0)
        legal = sorted((scores[a], a) for a in range(3) if arc_hybrid.is_legal(a, size, front, n))
        top = state[arc_hybrid.STACK, size + 2]
        if top and len(legal) > 1:
            margins[top - 1] = min(margins[top - 1], legal[-1][0] - legal[-2][0])
        size, front = arc_hybrid.advance(state, legal[-1][1], size, front, n)
    return margins


def test_every_atom_is_used_and_templates_differ():
    names = {name for template in word_perceptron.TEMPLATES for name in template.split()}
    assert {*compiled_features.NUMBERS} <= names
    assert len({frozenset(template.split()) for template in word_perceptron.TEMPLATES}) == len(
        word_perceptron.TEMPLATES
    )
    fewer = word_perceptron.features(feats=False, words=False)
    assert set(fewer.columns.tolist()) < set(word_perceptron.features().columns.tolist())
    assert len(fewer.templates.parts) == 23 + 8


def test_forms_and_feats_can_be_left_out():
    sentence = trees(1)[0]
    other = replace(sentence, forms=tuple("vwxyz"), feats=())
    parser = random_parser(feats=False, words=False)
    assert parser.predict_with_margins([sentence])[0][1] == pytest.approx(
        parser.predict_with_margins([other])[0][1]
    )


def test_it_learns_its_trees():
    gold = trees(24)
    parser = WordPerceptron(**SMALL).fit(gold)
    assert accuracy(gold, parser.predict(gold)) == 1
    assert accuracy(trees(6, 100), parser.predict(trees(6, 100))) > 0.9


def test_several_seeds_are_averaged():
    each = [
        WordPerceptron(log2_buckets=12, orders=1, seed=seed).fit(trees(6)).weights
        for seed in (1, 2)
    ]
    both = WordPerceptron(log2_buckets=12, orders=2).fit(trees(6)).weights
    assert both == pytest.approx((each[0] + each[1]) / 2, abs=1e-6)
    assert (each[0] != each[1]).any()


def test_copies_and_amounts():
    one, other = tree("NOUN VERB", (2, 0)), tree("NOUN VERB", (0, 1))
    for copies, amounts in (([9, 1], None), (None, [9.0, 1.0])):
        parser = WordPerceptron(**SMALL).fit([one, other], copies, amounts)
        assert parser.predict([one])[0].heads == one.heads
    without = WordPerceptron(**SMALL).fit([one, other], [1, 0])
    assert (without.weights == WordPerceptron(**SMALL).fit([one]).weights).all()
    assert gold_copies(10, 300) == 10
    assert gold_copies(10, 3) == gold_copies(0, 0) == 1
    assert GOLD_AMOUNT > 1


def test_arrays_bring_the_parser_back():
    parser = WordPerceptron(words=False, **SMALL).fit(trees(6))
    again = WordPerceptron.from_arrays({**parser.arrays(), "other": np.zeros(1)})
    assert (again.weights == parser.weights).all()
    assert (again.words, again.feats) == (False, True)
    assert again.predict(trees(6)) == parser.predict(trees(6))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("words/weights", None),
        ("words/shape", np.array([1, 2])),
        ("words/shape", np.array([9, 12, 1, 1])),
        ("words/shape", np.array([FORMAT, 60, 1, 1])),
        ("words/buckets", np.array([1 << 12])),
        ("words/buckets", np.array([0, 1])),
        ("words/weights", np.full((1, 3), np.nan, np.float32)),
        ("words/weights", np.zeros((1, 3))),
    ],
)
def test_other_arrays_are_refused(name, value, wording: Wording):
    arrays = {
        "words/shape": np.array([FORMAT, 12, 1, 1]),
        "words/buckets": np.array([5], np.int32),
        "words/weights": np.ones((1, 3), np.float32),
    }
    WordPerceptron.from_arrays(arrays)
    changed = {key: kept for key, kept in arrays.items() if key != name or value is not None}
    with wording.raises(ModelError):
        WordPerceptron.from_arrays(changed if value is None else {**changed, name: value})
