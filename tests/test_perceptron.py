"""The perceptron: its transitions against enumeration, its code against plain Python, its model files."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import brute_force
import numpy as np
import pytest
import tiny
from by_numba import ByNumba
from hypothesis import given
from hypothesis import strategies as st
from shell import ROOT, Vdgi

import dynet_vdgi as vdgi_package
from dynet_vdgi.compiled import jit
from dynet_vdgi.data.conllu import read
from dynet_vdgi.data.protocols import STANDARD
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.data.treebank import prepare
from dynet_vdgi.data.vocabulary import build_vocabulary
from dynet_vdgi.errors import ConfigError, ModelError, VdgiError
from dynet_vdgi.grammar.rules import load_rules
from dynet_vdgi.parsing.files import parse_files
from dynet_vdgi.parsing.stream import Parsed
from dynet_vdgi.runs import model_file
from dynet_vdgi.runs.model_file import Amount, ModelFile, Provenance
from dynet_vdgi.settings.bundled import rules_path
from dynet_vdgi.settings.presets import load_settings
from dynet_vdgi.students import arc_hybrid, perceptron
from dynet_vdgi.students.linear_student import Perceptron
from dynet_vdgi.students.perceptron import PerceptronModel, PerceptronSettings, train

arc_hybrid = ByNumba(arc_hybrid)

SHIFT, LEFT, RIGHT = 0, 1, 2
SMALL = PerceptronSettings(log2_buckets=12)


# ------------------------------------------------------------------------------------------- in plain Python
class Derivation:
    """A derivation in lists, with what the parser sees of it; ROOT is n + 1, and 0 no word."""

    def __init__(self, tags, n_tags):
        self.n, self.stack, self.front, self.heads = len(tags), [], 1, [0] * len(tags)
        self.tags = dict(enumerate(tags, 1))
        self.tags[self.n + 1] = n_tags + 1
        self.none = n_tags + 2
        self.children = {word: [] for word in range(self.n + 2)}

    def legal(self):
        """A word is shifted while there is one; the last on the stack waits until the buffer is empty."""
        words_left = self.front <= self.n
        depth = len(self.stack)
        return [
            action
            for action, possible in (
                (SHIFT, words_left),
                (LEFT, depth and (words_left or depth == 1)),
                (RIGHT, depth > 1),
            )
            if possible
        ]

    def arc(self, action):
        """(head, dependent) of LEFT or RIGHT."""
        return (self.front if action == LEFT else self.stack[-2]), self.stack[-1]

    def take(self, action):
        if action == SHIFT:
            self.stack.append(self.front)
            self.front += 1
            return
        head, dependent = self.arc(action)
        self.stack.pop()
        self.children[head].append(dependent)
        self.heads[dependent - 1] = head if head <= self.n else 0

    def tag(self, word):
        return self.tags.get(word, self.none) if word else self.none

    def child_tag(self, word, choose):
        left = choose is min
        own = [child for child in self.children[word] if (child < word) == left] if word else []
        return self.tag(choose(own)) if own else self.none

    def atoms(self):
        s0, s1, s2 = [*reversed(self.stack), 0, 0, 0][:3]
        b0 = self.front
        return {
            "s0": self.tag(s0),
            "s1": self.tag(s1),
            "s2": self.tag(s2),
            "b0": self.tag(b0),
            "b1": self.tag(b0 + 1),
            "b2": self.tag(b0 + 2),
            "before": self.tag(b0 - 1),
            "s0_left": self.child_tag(s0, min),
            "s0_right": self.child_tag(s0, max),
            "s1_left": self.child_tag(s1, min),
            "s1_right": self.child_tag(s1, max),
            "b0_left": self.child_tag(b0, min),
            "s0_children": min(len(self.children[s0]), 3) if s0 else 0,
            "s1_children": min(len(self.children[s1]), 3) if s1 else 0,
            "gap": min(b0 - s0, 5) if s0 else 0,
            "span": min(s0 - s1, 5) if s1 else 0,
            "depth": min(len(self.stack), 3),
        }

    def buckets(self, log2_buckets):
        values = self.atoms()
        codes = [
            int(start) + sum(int(OF_ATOM[name]) * values[name] for name in template.split())
            for start, template in zip(arc_hybrid._OF_TEMPLATE, arc_hybrid.TEMPLATES)
        ]
        return [(code % 2**64) >> (64 - log2_buckets) for code in codes]

    def scores(self, weights):
        rows = [weights[bucket] for bucket in self.buckets(len(weights).bit_length() - 1)]
        return [sum(float(row[action]) for row in rows) for action in (SHIFT, LEFT, RIGHT)]


OF_ATOM = dict(zip(arc_hybrid.ATOMS, arc_hybrid._OF_ATOM))


def reference_parse(tags, n_tags, weights):
    derivation = Derivation(tags, n_tags)
    for _ in range(2 * len(tags)):
        scores = derivation.scores(weights)
        derivation.take(max(derivation.legal(), key=scores.__getitem__))
    return tuple(derivation.heads)


def steps_of(stack, front, n):
    """The legal actions of a state: (action, arc or None, state after it)."""
    if front <= n:
        yield SHIFT, None, ((*stack, front), front + 1)
    if stack and (front <= n or len(stack) == 1):
        yield LEFT, (front if front <= n else 0, stack[-1]), (stack[:-1], front)
    if len(stack) > 1:
        yield RIGHT, (stack[-2], stack[-1]), (stack[:-1], front)


def least_loss(gold):
    """A function of a state: how many words still to be attached get a wrong head in the best of trees."""
    n = len(gold)

    @cache
    def loss(stack, front):
        ways = [wrong(arc, gold) + loss(*after) for _, arc, after in steps_of(stack, front, n)]
        return min(ways, default=0)

    return loss


def wrong(arc, gold):
    return int(arc is not None and gold[arc[1] - 1] != arc[0])


@cache
def states(n):
    """All states that can be reached."""
    found, agenda = {((), 1)}, [((), 1)]
    while agenda:
        for _, _, after in steps_of(*agenda.pop(), n):
            if after not in found:
                found.add(after)
                agenda.append(after)
    return found


def reference_train(tags, heads, n_tags, settings, seed):
    """Averaged weights: those after every single action, added up and divided by their number."""
    first = np.cumsum([0, *map(len, tags)])
    weights = np.zeros((1 << settings.log2_buckets, 3))
    added, n_actions = np.zeros_like(weights), 0
    for epoch in range(1, settings.epochs + 1):
        rng = np.random.default_rng([seed, epoch])
        order, hidden = rng.permutation(len(tags)), rng.random(first[-1]) < settings.unknown
        for k in order:
            seen = [0 if hide else tag for hide, tag in zip(hidden[first[k] :], tags[k])]
            derivation, loss = Derivation(seen, n_tags), least_loss(tuple(heads[k]))
            for _ in range(2 * len(tags[k])):
                scores, buckets = derivation.scores(weights), derivation.buckets(settings.log2_buckets)
                here = (tuple(derivation.stack), derivation.front)
                costs = {
                    action: wrong(arc, heads[k]) + loss(*after)
                    for action, arc, after in steps_of(*here, derivation.n)
                }
                action = max(costs, key=scores.__getitem__)
                target = max(costs, key=lambda a: (-costs[a], scores[a]))
                if costs[action] > costs[target]:
                    for bucket in buckets:
                        weights[bucket, target] += 1
                        weights[bucket, action] -= 1
                    if epoch < settings.explore_from:
                        action = target
                derivation.take(action)
                added += weights
                n_actions += 1
    return added / n_actions


# ------------------------------------------------------------------------------------------- made-up data
@cache
def random_parser(n_tags=5, seed=0, log2_buckets=10):
    """Weights that make all three actions about equally frequent."""
    weights = np.random.default_rng(seed).normal(size=(1 << log2_buckets, 3)).astype(np.float32)
    return PerceptronModel(n_tags, weights)


def random_tags(rng, n, n_tags=5):
    return tuple(rng.integers(0, n_tags + 1, n).tolist())  # 0 is the unknown tag


def random_trees(n_sentences, seed=0, longest=5):
    """Tags and projective trees that have nothing to do with each other."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, longest + 1, n_sentences)
    trees = [brute_force.projective_trees(int(n)) for n in lengths]
    return [random_tags(rng, n) for n in lengths], [some[rng.integers(len(some))] for some in trees]


PATTERN_TAGS = sorted({tag for tags, _ in tiny.PATTERNS for tag in tags.split()})
PATTERNS = [[PATTERN_TAGS.index(tag) + 1 for tag in tags.split()] for tags, _ in tiny.PATTERNS]
TREES = [tree for _, tree in tiny.PATTERNS]


@cache
def student():
    """Learnt from the patterns."""
    return train(PATTERNS * 5, TREES * 5, len(PATTERN_TAGS), SMALL, 1)


# ------------------------------------------------------------------------------------------- transitions
@pytest.mark.parametrize("n", range(1, 6))
def test_legal_derivations_give_every_projective_tree_and_nothing_else(n):
    found = set()
    agenda = [()]
    while agenda:
        actions = agenda.pop()
        state, size, front = played(actions, n)
        legal = [a for a in (SHIFT, LEFT, RIGHT) if arc_hybrid.is_legal(a, size, front, n)]
        agenda += [(*actions, action) for action in legal]
        if not legal:
            assert (len(actions), size, front) == (2 * n, 0, n + 1)
            found.add(heads_of(state, n))
    assert found == set(brute_force.projective_trees(n))


def played(actions, n):
    state, size, front = new_state(n), 0, 1
    for action in actions:
        size, front = arc_hybrid.advance(state, action, size, front, n)
    return state, size, front


def new_state(n, tags=None, n_tags=5):
    state = np.zeros((6, n + 4), np.int64)
    arc_hybrid.begin(state, np.array(tags or [1] * n), n_tags, 1)
    return state


def heads_of(state, n):
    return tuple(state[arc_hybrid.HEADS, 1 : n + 1].tolist())


def kernel_costs(stack, front, n, gold):
    row = np.array([0, 0, 0, *stack, *[0] * n])
    return [
        arc_hybrid.cost(action, row, len(stack), front, n, np.array(gold)) if possible else None
        for action, possible in (
            (action, arc_hybrid.is_legal(action, len(stack), front, n)) for action in (SHIFT, LEFT, RIGHT)
        )
    ]


@pytest.mark.parametrize("n", range(1, 7))
def test_actions_without_cost_lead_to_every_projective_tree(n):
    for tree in brute_force.projective_trees(n):
        state, size, front = new_state(n), 0, 1
        for _ in range(2 * n):
            stack = state[arc_hybrid.STACK, 3 : size + 3].tolist()
            action = kernel_costs(stack, front, n, tree).index(0)
            size, front = arc_hybrid.advance(state, action, size, front, n)
        assert heads_of(state, n) == tree


@pytest.mark.parametrize("n", range(1, 6))
def test_costs_are_those_of_exhaustive_search_in_every_state(n):
    for gold in brute_force.projective_trees(n):
        loss = least_loss(gold)
        for stack, front in states(n):
            expected = [None] * 3
            for action, arc, after in steps_of(stack, front, n):
                expected[action] = wrong(arc, gold) + loss(*after) - loss(stack, front)
            assert kernel_costs(stack, front, n, gold) == expected, (gold, stack, front)


@given(st.lists(st.lists(st.integers(0, 5), max_size=12), max_size=5), st.integers(0, 20))
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_every_parse_is_a_projective_tree_with_one_root(sentences, seed):
    for tags, heads in zip(sentences, random_parser(seed=seed).parse(sentences)):
        assert len(heads) == len(tags)
        assert not heads or (brute_force.is_tree(heads) and not brute_force.crosses(heads))


def test_long_sentences_get_projective_trees_with_one_root():
    rng = np.random.default_rng(0)
    for seed in range(5):
        (heads,) = random_parser(seed=seed).parse([random_tags(rng, 200)])
        assert brute_force.is_tree(heads)
        assert not brute_force.crosses(heads)


# ------------------------------------------------------------------------------------------- features, scores
def test_features_and_scores_are_those_of_plain_python():
    rng, parser = np.random.default_rng(1), random_parser()
    atoms, buckets = np.zeros(2 * len(arc_hybrid.ATOMS), np.uint64), np.zeros(23, np.uint64)
    scores = np.zeros(3)
    shift = arc_hybrid.shift_of(len(parser.weights))
    for _ in range(60):
        tags = random_tags(rng, int(rng.integers(1, 15)))
        n = len(tags)
        reference, state, size, front = Derivation(tags, 5), new_state(n, tags), 0, 1
        for _ in range(2 * n):
            arc_hybrid.find_buckets(state, size, front, shift, atoms, buckets)
            arc_hybrid.score(parser.weights, buckets, scores)
            assert buckets.tolist() == reference.buckets(10)
            assert scores.tolist() == reference.scores(parser.weights)
            action = reference.legal()[rng.integers(len(reference.legal()))]
            reference.take(action)
            size, front = arc_hybrid.advance(state, action, size, front, n)


@pytest.mark.parametrize("seed", range(4))
def test_parses_are_those_of_plain_python(seed):
    rng = np.random.default_rng([seed, 7])
    sentences = [random_tags(rng, int(n)) for n in rng.integers(0, 25, 60)]
    parser = random_parser(seed=seed)
    expected = [reference_parse(tags, 5, parser.weights) for tags in sentences]
    assert parser.parse(sentences) == expected
    assert len(set(expected)) > 40


def test_every_feature_is_in_the_table_once():
    assert len(arc_hybrid.TEMPLATES) == 23
    assert len({frozenset(template.split()) for template in arc_hybrid.TEMPLATES}) == 23
    assert {name for template in arc_hybrid.TEMPLATES for name in template.split()} == {*arc_hybrid.ATOMS} - {
        "nothing"
    }


def test_features_hash_as_they_did_when_model_files_were_written():
    """If this fails, `perceptron.FORMAT` must go up: old weights would be taken for other features."""
    state, size, front = new_state(4, [1, 2, 3, 4]), 0, 1
    for action in (SHIFT, SHIFT, LEFT, SHIFT):
        size, front = arc_hybrid.advance(state, action, size, front, 4)
    atoms, buckets = np.zeros(2 * len(arc_hybrid.ATOMS), np.uint64), np.zeros(23, np.uint64)
    arc_hybrid.find_buckets(state, size, front, 44, atoms, buckets)
    assert perceptron.FORMAT == 1
    expected = """
    523532 591528 185081 51958 561984 79324 575771 299913 1001961 161705 665897 845680 189578 657848
    416217 568912 938734 838119 518307 1006138 739472 60389 806295
    """
    assert buckets.tolist() == list(map(int, expected.split()))


# ------------------------------------------------------------------------------------------- training
@pytest.mark.parametrize("seed", range(1, 6))
def test_a_small_grammar_is_learnt_completely(seed):
    assert train(PATTERNS * 10, TREES * 10, len(PATTERN_TAGS), SMALL, seed).parse(PATTERNS) == TREES


@pytest.mark.parametrize(("explore_from", "unknown"), [(1, 0.0), (2, 0.3), (4, 0.05)])
def test_weights_are_the_average_over_all_actions(explore_from, unknown):
    tags, heads = random_trees(25, longest=5)
    settings = PerceptronSettings(explore_from=explore_from, log2_buckets=9, unknown=unknown, orders=1)
    expected = reference_train(tags, heads, 5, settings, seed=explore_from)
    found = train(tags, heads, 5, settings, seed=explore_from).weights
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
    assert np.abs(expected).max() > 1


def test_several_orders_give_the_mean_of_their_perceptrons():
    tags, heads = random_trees(25, longest=5)
    settings = PerceptronSettings(log2_buckets=9, orders=1)
    first = train(tags, heads, 5, settings, seed=1).weights
    both = train(tags, heads, 5, PerceptronSettings(log2_buckets=9, orders=2), seed=1).weights
    second = 2 * both - first
    assert np.abs(second - first).max() > 1
    three = train(tags, heads, 5, PerceptronSettings(log2_buckets=9, orders=3), seed=1).weights
    assert not np.allclose(3 * three - 2 * both, first)


def test_the_same_seed_gives_the_same_weights():
    tags, heads = random_trees(40)
    settings = PerceptronSettings(log2_buckets=9)
    weights = {seed: [train(tags, heads, 5, settings, seed).weights for _ in range(2)] for seed in (1, 2)}
    assert all(np.array_equal(*pair) for pair in weights.values())
    assert not np.array_equal(weights[1][0], weights[2][0])


def test_trees_that_cannot_be_reached_are_learnt_from_all_the_same():
    crossing, two_roots = (3, 4, 0, 3), (0, 0, 2)
    (first, second) = train([(1, 2, 3, 4), (1, 2, 2)] * 5, [crossing, two_roots] * 5, 4, SMALL, 1).parse(
        [(1, 2, 3, 4), (1, 2, 2)]
    )
    assert brute_force.is_tree(first)
    assert brute_force.is_tree(second)
    assert first[2:] == (0, 3)


@pytest.mark.parametrize(
    ("tags", "heads", "message"),
    [
        ([[1]], [[0], [0]], "tags and heads differ"),
        ([[1, 2]], [[0]], "tags and heads differ"),
        ([[1, 2], [1]], [[0], [0, 1]], "tags and heads differ"),
        ([[1, 3]], [[2, 0]], r"tag 3 is outside 0\.\.2"),
        ([[-1]], [[0]], r"tag -1 is outside 0\.\.2"),
        ([[1, 2], [1]], [[2, 0], [2]], r"head 2 is outside 0\.\.1"),
    ],
)
def test_training_data_that_does_not_go_together(tags, heads, message):
    with pytest.raises(ValueError, match=message):
        train(tags, heads, 2, SMALL, 1)


def test_nothing_to_learn_from():
    for tags in ([], [()]):
        with pytest.raises(VdgiError, match="no trees to train the perceptron on"):
            train(tags, tags, 2, SMALL, 1)


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"epochs": 0}, "'epochs' must be from 1 to 10000, not 0"),
        ({"epochs": 10_001}, "'epochs' must be from 1 to 10000, not 10001"),
        ({"explore_from": 0}, "'explore_from' must be from 1 to 10001, not 0"),
        ({"log2_buckets": 0}, "'log2_buckets' must be from 1 to 26, not 0"),
        ({"log2_buckets": 27}, "'log2_buckets' must be from 1 to 26, not 27"),
        ({"unknown": 1.5}, "'unknown' must be from 0 to 1, not 1.5"),
        ({"unknown": float("nan")}, "'unknown' must be from 0 to 1, not nan"),
        ({"epoch": 3}, "no setting 'epoch'; did you mean 'epochs'?"),
    ],
)
def test_wrong_numbers_are_refused(numbers, message):
    with pytest.raises(ConfigError) as caught:
        Perceptron(**numbers)
    assert str(caught.value) == f"perceptron: {message}"


@pytest.mark.parametrize("seed", [-1, 2**63, 1.5])
def test_seeds_out_of_range(seed):
    with pytest.raises(
        ConfigError, match=f"^perceptron: 'seed' must be (from 0 to {2**63 - 1}|a whole number), not {seed}$"
    ):
        Perceptron(seed=seed)


def test_numbers_may_be_those_of_numpy():
    chosen = Perceptron(epochs=np.int64(2), unknown=np.float32(0.5), seed=np.int64(7))
    assert (chosen.settings, chosen.seed) == (PerceptronSettings(epochs=2, unknown=0.5), 7)


def test_a_parser_learns_to_do_without_a_tag():
    """Of all patterns with one tag hidden, more heads are right if tags are hidden in training, too."""
    rows = [(tags, tree, k) for tags, tree in zip(PATTERNS, TREES) for k in range(len(tags))]
    hidden = [[*tags[:k], 0, *tags[k + 1 :]] for tags, _, k in rows]
    right = {}
    for unknown in (0.0, 0.05):
        settings = PerceptronSettings(unknown=unknown)
        parsed = train(PATTERNS * 30, TREES * 30, len(PATTERN_TAGS), settings, 1).parse(hidden)
        assert all(brute_force.is_tree(heads) for heads in parsed)
        pairs = [pair for (_, tree, _), heads in zip(rows, parsed) for pair in zip(tree, heads)]
        right[unknown] = np.mean([gold == head for gold, head in pairs])
    assert right[0.05] > right[0.0] + 0.1


def test_without_any_tag_there_still_is_a_tree():
    assert brute_force.is_tree(student().parse([[0] * 7])[0])


@pytest.mark.parametrize("tag", [-1, len(PATTERN_TAGS) + 1])
def test_tags_outside_the_vocabulary(tag):
    with pytest.raises(ValueError, match=f"tag {tag} is outside 0..{len(PATTERN_TAGS)}"):
        student().parse([[1], [tag]])


# ------------------------------------------------------------------------------------------- from sentences
def sentences_of(*texts: tuple[str, tuple[int, ...] | None]) -> list[Sentence]:
    """Sentences of these tags, which are their words, too."""
    return [Sentence(tuple(tags.split()), tuple(tags.split()), heads) for tags, heads in texts]


def test_a_perceptron_of_sentences_is_that_of_their_numbers() -> None:
    trees = sentences_of(*tiny.PATTERNS) * 5
    learnt = Perceptron(log2_buckets=12, seed=2).fit(iter(trees))
    assert learnt.vocabulary.tags == tuple(PATTERN_TAGS)
    expected = train(PATTERNS * 5, TREES * 5, len(PATTERN_TAGS), SMALL, 2)
    assert learnt.model.weights.tobytes() == expected.weights.tobytes()
    bare = sentences_of(*((tags, None) for tags, _ in tiny.PATTERNS))
    assert learnt.heads(iter(bare)) == TREES
    assert learnt.predict(iter(bare)) == trees[: len(bare)]
    (unknown,) = learnt.heads(sentences_of(("X NOUN Y", None)))
    assert brute_force.is_tree(unknown)


def test_the_tags_may_be_those_of_a_vocabulary() -> None:
    trees = sentences_of(*tiny.PATTERNS)
    more = build_vocabulary([*trees, *sentences_of(("ZZ", None))], lexicalised=False)
    learnt = Perceptron(log2_buckets=12).fit(trees, more)
    assert learnt.vocabulary is more
    assert learnt.model.n_tags == len(PATTERN_TAGS) + 1


def test_a_perceptron_that_has_learnt_nothing_says_so() -> None:
    trees = sentences_of(*tiny.PATTERNS)
    student = Perceptron(log2_buckets=12)
    for use in (student.heads, student.predict):
        with pytest.raises(VdgiError, match=r"^this perceptron has not learnt yet: call fit\(trees\) first$"):
            use(trees)
    with pytest.raises(VdgiError, match="^the perceptron learns from trees, and a sentence has none$"):
        student.fit([*trees, *sentences_of(("NOUN", None))])
    with pytest.raises(VdgiError, match="^no trees to train the perceptron on$"):
        student.fit([])
    with pytest.raises(VdgiError, match="has not learnt yet"):
        student.heads(trees)
    student.fit(trees)
    heads = student.heads(trees)
    with pytest.raises(VdgiError, match="^no trees to train the perceptron on$"):
        student.fit([])
    assert student.heads(trees) == heads  # and its tags are those of before
    with pytest.raises(ConfigError, match="^perceptron: give settings or single numbers such as epochs, not"):
        Perceptron(SMALL, epochs=3)


# ------------------------------------------------------------------------------------------- speed
COUNTING = """
import sys, warnings
import numpy as np
from dynet_vdgi.students.perceptron import PerceptronModel

warnings.simplefilter("ignore")  # codes of features overflow on purpose
rng, lines = np.random.default_rng(0), 0

def count(frame, event, argument):
    global lines
    lines += event == "line"
    return count

parser = PerceptronModel(5, rng.normal(size=(1 << 10, 3)).astype(np.float32))
parser.parse([[1, 2]])
for n in (10, 80):
    text, lines = [rng.integers(0, 6, n).tolist() for _ in range(160 // n)], 0
    sys.settrace(count)
    parser.parse(text)
    sys.settrace(None)
    print(lines)
"""


def test_work_grows_with_the_number_of_words_only():
    """Counted in lines of the functions, not compiled, for as many words in sentences of 10 and of 80."""
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", COUNTING]
    counted = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    short, long = map(int, counted.stdout.split())
    assert short > 160 * 50
    assert long < 1.5 * short


# ------------------------------------------------------------------------------------------- arrays
def test_arrays_give_the_same_parser():
    again = PerceptronModel.from_arrays({**student().arrays(), "encoder/other": np.zeros(3)})
    assert again.n_tags == student().n_tags
    assert np.array_equal(again.weights, student().weights)
    assert all(array.flags.c_contiguous for array in student().arrays().values())


def test_only_weights_that_are_not_zero_are_kept():
    arrays = student().arrays()
    assert arrays["linear/weights"].dtype == np.float32
    assert arrays["linear/weights"].any(axis=1).all()
    assert len(arrays["linear/buckets"]) == np.count_nonzero(student().weights.any(axis=1)) < 3000


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"linear/weights": None}, "missing linear/weights"),
        ({"linear/shape": np.zeros((1, 3), int)}, "shape is not three or four whole numbers"),
        ({"linear/shape": np.zeros(3)}, "shape is not three or four whole numbers"),
        ({"linear/shape": np.array([2, 4, 16])}, "has format 2, this program reads 1"),
        ({"linear/shape": np.array([1, -4, 16])}, "-4 tags, 16 buckets"),
        ({"linear/shape": np.array([1, 4, 17])}, "4 tags, 17 buckets"),
        ({"linear/shape": np.array([1, 4, 16, 3])}, "4 tags, 16 buckets, 3 levels"),
        ({"linear/shape": np.array([1, 4, 1 << 40])}, f"4 tags, {1 << 40} buckets"),
        ({"linear/shape": np.array([1, 4, 16])}, r"a bucket is outside 0\.\.15"),
        ({"linear/buckets": np.zeros((1, 1), int)}, "weights in"),
        ({"linear/buckets": np.zeros(0)}, "weights in"),
        ({"linear/weights": np.zeros((1, 3), np.float32)}, r"\(1, 3\) weights in"),
        ({"linear/weights": "wide"}, "not finite float32"),
        ({"linear/weights": "nan"}, "not finite float32"),
    ],
)
def test_arrays_that_are_no_parser(changes, message):
    arrays: dict[str, Any] = {**student().arrays(), **changes}
    weights = student().arrays()["linear/weights"]
    if changes.get("linear/weights") is None and "linear/weights" in changes:
        del arrays["linear/weights"]
    elif isinstance(arrays["linear/weights"], str):
        wide = arrays["linear/weights"] == "wide"
        arrays["linear/weights"] = weights.astype(np.float64) if wide else weights * np.float32(np.nan)
    with pytest.raises(ModelError, match=message):
        PerceptronModel.from_arrays(arrays)


# ------------------------------------------------------------------------------------------- model files
@pytest.fixture(scope="module")
def small_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model file with a perceptron of the tags ADJ ADV AUX DET NOUN NUM VERB."""
    folder = tmp_path_factory.mktemp("perceptron")
    text = prepare(read(tiny.write(folder / "train.conllu", 30)), STANDARD).sentences
    student = Perceptron(SMALL).fit(text)
    provenance = Provenance(recipe="taught", trained_on=Amount(len(text), sum(map(len, text))))
    rules, settings = load_rules(rules_path("ud")), load_settings("best", ["parser.log2_buckets=12"])
    path = folder / "model.vdgi"
    model_file.save(path, ModelFile(provenance, settings, student.vocabulary, rules, student.model.arrays()))
    return path


def changed(path: Path, folder: Path, **changes: Any) -> Path:
    """A copy of a model file with other fields."""
    model = model_file.load(path)
    for name, value in changes.items():
        setattr(model, name, value)
    model_file.save(folder / "changed.vdgi", model)
    return folder / "changed.vdgi"


def of_words(sentence: Sentence, heads: tuple[int, ...] | None = None) -> tuple[int, ...]:
    """The heads of all words but punctuation."""
    return tuple(head for head, tag in zip(heads or sentence.heads or (), sentence.tags) if tag != "PUNCT")


def test_a_model_file_gives_the_parser_back(small_model: Path, tmp_path: Path) -> None:
    parser = vdgi_package.load(small_model)
    for sentence in read(tiny.write(tmp_path / "new.conllu", 6)):
        assert of_words(sentence, parser.parse(sentence.forms, sentence.tags)) == of_words(sentence)
    assert parser.parse([".", "."], ["PUNCT", "PUNCT"]) == (0, 1)
    assert small_model.stat().st_size < 50_000


def test_unknown_tags_are_counted(small_model: Path) -> None:
    parser = vdgi_package.load(small_model)
    assert brute_force.is_tree(parser.parse(["a", "b", "c"], ["X", "NOUN", "SYM"]))
    assert parser.unknown_tags == {"X": 1, "SYM": 1}


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_the_verb_parse(vdgi: Vdgi, small_model: Path, folder: Path, jobs: str) -> None:
    gold = tiny.write(folder / "gold.conllu", 24)
    tiny.write(folder / "new.conllu", 24, heads=False)
    result = vdgi.good("parse", small_model, "new.conllu", "-o", "out.conllu", "--jobs", jobs)
    assert "24 sentences, 128 words parsed" in result.err
    pairs = list(zip(read(gold), read(folder / "out.conllu")))
    assert [of_words(parsed) for _, parsed in pairs] == [of_words(sentence) for sentence, _ in pairs]
    assert len(pairs) == 24


@pytest.mark.parametrize("option", [["--probs"], ["--mbr"], ["--probs", "--jobs", "2"]])
def test_probabilities_are_refused(vdgi: Vdgi, small_model: Path, folder: Path, option: list[str]) -> None:
    tiny.write(folder / "new.conllu", 3)
    status, out, err = vdgi("parse", small_model, "new.conllu", "-o", "out.conllu", *option)
    assert (status, out) == (2, "")
    assert err == (
        "this model (recipe taught) draws no trees: probabilities of sampled trees and MBR need a "
        "neural model; confidence, exact trees and n-best lists do not\n"
    )
    assert not Path("out.conllu").exists()


def test_info(vdgi: Vdgi, small_model: Path) -> None:
    out = vdgi.good("info", small_model).out
    n_weights = model_file.load(small_model).parameters["linear/weights"].size
    assert "recipe        taught\n" in out
    assert f'weights       {n_weights:,}\n\nrecipe = "taught"\nseed = 1\nrules = "best"\n\n[data]\n' in out
    assert "hidden_dim" not in out
    assert '"hidden_dim"' not in vdgi.good("info", small_model, "--json").out


def test_models_of_other_kinds_and_misfits_are_named(small_model: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"changed\.vdgi: the model is of an unknown recipe, 'cubic'"):
        vdgi_package.load(changed(small_model, tmp_path, provenance=Provenance(recipe="cubic")))
    with pytest.raises(ModelError, match=r"changed\.vdgi: no perceptron: missing linear/shape"):
        vdgi_package.load(changed(small_model, tmp_path, parameters={}))
    misfit = changed(small_model, tmp_path, parameters=student().arrays())
    with pytest.raises(ModelError, match="the perceptron has 8 tags, its vocabulary 7"):
        vdgi_package.load(misfit)


# ------------------------------------------------------------------------------------------- numba
@pytest.mark.slow
def test_neural_models_need_no_numba(model: Path) -> None:
    code = f"import sys, dynet_vdgi; dynet_vdgi.load({str(model)!r}).parse(['a'], ['NOUN'])"
    code += "; print('numba' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert result.stdout == "False\n", result.stderr


def test_long_compilation_is_announced(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(jit, "PATIENCE", 0.01)
    monkeypatch.setattr(jit, "waited", 0.0)
    monkeypatch.setattr(jit, "_said", set())
    for _ in range(2):  # another part of it, later
        with caplog.at_level("INFO", "dynet_vdgi"), jit.announced("the perceptron"):
            time.sleep(0.5)
    assert [record.message.split(" (")[0] for record in caplog.records] == [
        "compiling a part of the perceptron"
    ]


def test_compilation_is_announced_at_once_where_the_user_has_been_waiting(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(jit, "_said", set())
    monkeypatch.setattr(jit, "PATIENCE", 0.4)
    monkeypatch.setattr(jit, "waited", 0.0)
    with caplog.at_level("INFO", "dynet_vdgi"):
        for _ in range(2):
            assert not caplog.records
            with jit.announced("the perceptron"):
                time.sleep(0.3)
    assert len(caplog.records) == 1


def test_short_compilation_is_not(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(jit, "waited", 0.0)
    with caplog.at_level("INFO", "dynet_vdgi"), jit.announced("the perceptron"):
        pass
    assert not caplog.records


def test_words_a_second_are_counted_without_compiling(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    class Compiles:
        """A parser that compiles for five of the seven seconds that it takes for ten words."""

        expected, has_confidence = None, False

        def parse(self, items: object, tag_accuracy: object) -> Iterator[Parsed]:
            jit.waited += 5.0
            yield Parsed(b"", 1, 10, Counter(), None)

    monkeypatch.setattr(jit, "waited", 1.0)
    monkeypatch.setattr(time, "perf_counter", iter([100.0, 107.0]).__next__)
    with caplog.at_level("INFO", "dynet_vdgi"):
        parse_files(Compiles(), [], str(tmp_path / "out.conllu"))  # type: ignore[arg-type]
    assert caplog.messages[-1] == (
        "1 sentence, 10 words parsed in 2.0 s (5 words/s), besides 5.0 s of compiling"
    )


# ------------------------------------------------------------------------------------------- two levels
def test_a_perceptron_of_two_levels_learns_from_fine_tags_and_falls_back_to_coarse_ones() -> None:
    """NOUN VERB: the fine tag of the noun says which is the head; an unknown one leaves the coarse tags."""
    noun, verb = 1, 2
    trees = [((noun, 3), (verb, 4), (2, 0))] * 30 + [((noun, 5), (verb, 4), (0, 1))] * 10
    tags = [[perceptron.code_of(*pair) for pair in tree[:2]] for tree in trees]
    n_tags = perceptron.code_of(3, 0) - 1
    settings = PerceptronSettings(log2_buckets=12, epochs=8, unknown=0.3)
    parser = train(tags, [tree[2] for tree in trees], n_tags, settings, 1, levels=2)
    assert parser.parse([tags[0], tags[-1]]) == [(2, 0), (0, 1)]
    unknown = [perceptron.code_of(noun, 0), perceptron.code_of(verb, 4)]
    assert parser.parse([unknown]) == [(2, 0)]
    again = PerceptronModel.from_arrays(parser.arrays())
    assert again.levels == 2
    assert again.parse([tags[0], unknown]) == [(2, 0), (2, 0)]
