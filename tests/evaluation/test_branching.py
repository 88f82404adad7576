"""Baseline trees, against hand-written ones and against the exact distribution over action
sequences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dynet_vdgi.conllu import reading
from dynet_vdgi.conllu.filtering import prepare
from dynet_vdgi.conllu.protocols import STANDARD
from dynet_vdgi.evaluation.branching import left_branching, random_transitions, right_branching


def test_branching_by_hand() -> None:
    assert [left_branching(n) for n in range(4)] == [(), (0,), (2, 0), (2, 3, 0)]
    assert [right_branching(n) for n in range(4)] == [(), (0,), (0, 1), (0, 1, 2)]


def test_the_two_mirror_each_other() -> None:
    for n in range(1, 10):
        mirrored = tuple(n + 1 - head if head else 0 for head in reversed(left_branching(n)))
        assert mirrored == right_branching(n)


def outcomes(
    stack: tuple[int, ...], rest: tuple[int, ...], arcs: tuple[tuple[int, int], ...], p: Fraction
) -> Iterator[tuple[tuple[int, ...], Fraction]]:
    """Every action sequence's tree with its probability under a uniform choice among legal actions."""
    if not rest and len(stack) == 1:
        heads = dict(arcs)
        heads[stack[0]] = 0
        yield tuple(heads[word] for word in sorted(heads)), p
        return
    successors = []
    if rest:
        successors.append(((*stack, rest[0]), rest[1:], arcs))
    if len(stack) > 1:
        *below, left, right = stack
        successors.append(((*below, right), rest, (*arcs, (left, right))))
        successors.append(((*below, left), rest, (*arcs, (right, left))))
    for successor in successors:
        yield from outcomes(*successor, p / len(successors))


@pytest.mark.parametrize("n_words", [1, 2, 3, 4])
def test_random_trees_have_the_exact_distribution(n_words: int) -> None:
    exact: Counter[tuple[int, ...]] = Counter()
    for heads, p in outcomes((), tuple(range(1, n_words + 1)), (), Fraction(1)):
        exact[heads] += p
    assert sum(exact.values()) == 1
    rng = np.random.default_rng(5)
    n_draws = 8000
    drawn = Counter(random_transitions(n_words, rng) for _ in range(n_draws))
    assert set(drawn) == set(exact)
    for heads, p in exact.items():
        error = (float(p) * (1 - float(p)) / n_draws) ** 0.5
        assert abs(drawn[heads] / n_draws - float(p)) <= 4.5 * error, heads


def test_random_trees_depend_on_the_generator_alone() -> None:
    first = [random_transitions(n, np.random.default_rng(3)) for n in range(12)]
    assert first == [random_transitions(n, np.random.default_rng(3)) for n in range(12)]
    assert first[0] == ()
    assert first[11] != random_transitions(11, np.random.default_rng(4))


@pytest.mark.parametrize(("language", "expected"), [("fr", 18.0), ("pl", 20.4), ("eu", 18.6)])
def test_random_baseline_of_the_test_sets(language: str, expected: float, data_dir: Path) -> None:
    """README of the data, section 5: at most 15 words, mean of 10 draws."""
    path = data_dir / "ud14" / f"{language}-ud-test.conllu"
    sentences = prepare(reading.read(path, heads="required"), STANDARD, max_len=15).sentences
    rng = np.random.default_rng(0)
    right = words = 0
    for sentence in sentences * (3 if language == "eu" else 10):
        right += sum(map(int.__eq__, random_transitions(len(sentence), rng), sentence.heads))
        words += len(sentence)
    assert abs(100 * right / words - expected) < 1.0
