"""Quality of confidence on languages without trees: calibration and ranking, one line per language.

    python experiments/confidence.py --list ud2.csv --set check --scored test --data DIR
    python experiments/confidence.py --list ud2.csv --set choose --scored dev --data DIR --learn

A parser learns from the text of a language, without trees unless --trees gives the number of first
trees (in the order of a shuffle), and gives the confidence of each head of the other scored
sentences. ECE is the expected calibration error in points, with ten bins; AUC is the probability,
in per cent, that a right head has a higher confidence than a wrong one, 50 being chance. Further
columns: accuracy of the least confident tenth of the words, accuracy of all words, the mean value,
and the share of words with the commonest value. With --learn the script prints the best values of
WEIGHTS and SHIFT_WITHOUT_TREES, and the table uses weights and shift learnt from the other
languages.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from few_trees import pairs
from languages import Listed, calibration_error, file_list_parser, listed
from measuring import conditions, print_table
from numpy.typing import ArrayLike, NDArray

import dynet_vdgi as vdgi
from dynet_vdgi.parser.confidence import (
    CLIP,
    STEPS,
    Calibration,
    Weights,
    arc_probabilities,
    logistic,
    shift_probabilities,
)
from dynet_vdgi.parser.decoding import find
from dynet_vdgi.rule_tables.prior import Prior
from dynet_vdgi.rule_tables.rules import load_rules
from dynet_vdgi.settings.bundled import rules_path
from dynet_vdgi.unsupervised.dmv import Dmv

VOTERS, LONGEST_VOTER, LONGEST_SENTENCE = 500, 40, 80
AT_MOST = 4000  # number of words per language for learning weights

Floats = NDArray[np.float64]


class Measured(NamedTuple):
    """Words of a language: the confidence of their heads, whether these are right; and features, to
    learn."""

    confidence: Floats  # (N,)
    right: NDArray[np.bool_]  # (N,)
    features: Floats  # (N, 6), as Weights
    # for the text: the features (M, 6), and the teacher's probabilities (M,)
    of_text: tuple[Floats, Floats]


def measured(files: Listed, n_trees: int, learns: bool) -> Measured:
    """One language."""
    text = pairs(files.text)
    random.Random(1).shuffle(text)
    trees = [pair.whole for pair in text[:n_trees]]
    parser = vdgi.train([replace(pair.whole, heads=None) for pair in text], "best", trees=trees)
    seen = {tree.forms for tree in trees}  # dev files are the texts of some treebanks
    scored = [
        pair.bare
        for pair in pairs(files.scored)
        if len(pair.bare) <= LONGEST_SENTENCE and pair.whole.forms not in seen
    ]
    bare = [replace(sentence, heads=None) for sentence in scored]
    scored_parses = find(parser.engine, bare, margins=True)
    scored_heads = [parse.heads for parse in scored_parses]
    right = np.concatenate([np.equal(h, s.heads) for h, s in zip(scored_heads, scored)])
    inputs = [s.tags for s in scored], scored_heads, [parse.margins for parse in scored_parses]
    confidence = parser.calibration(parser.calibration.arcs(*inputs))
    nothing = np.zeros((0, len(Weights._fields))), np.zeros(0)
    if not learns:
        return Measured(confidence, right, nothing[0], nothing)
    everything = [pair.bare for pair in text]
    teacher = Dmv().fit(everything, Prior.of_text(load_rules(rules_path("best")), everything))
    voters = [replace(s, heads=None) for s in everything if len(s) <= LONGEST_VOTER][:VOTERS]
    tags = [s.tags for s in voters]
    parses, margins, _ = zip(*find(parser.engine, voters, margins=True))
    probabilities = arc_probabilities(teacher.marginals(voters), parses)
    of_scored, of_text = [], []
    for unit in np.eye(len(Weights._fields)).tolist():  # tables are linear in the weights
        tables = Calibration.fit_unscaled(tags, parses, margins, probabilities, Weights(*unit))
        of_scored.append(tables.odds(tables.arcs(*inputs)))
        of_text.append(tables.odds(tables.arcs(tags, parses, margins)))
    return Measured(
        confidence, right, np.column_stack(of_scored), (np.column_stack(of_text), probabilities)
    )


def best_shift(probabilities: ArrayLike, right: ArrayLike, steps: int = 50) -> float:
    """The shift that maximises the likelihood of `right` (words,), found by Newton's method."""
    p = np.clip(np.asarray(probabilities, np.float64), CLIP, 1 - CLIP)
    truth, shift = np.asarray(right, np.float64), 0.0
    for _ in range(steps):
        q = shift_probabilities(p, shift)
        change = (truth - q).sum() / max(float((q * (1 - q)).sum()), 1e-9)
        shift += float(np.clip(change, -1, 1))
        if abs(change) < 1e-9:
            break
    return shift


def learnt(languages: Sequence[Measured]) -> tuple[Floats, float]:
    """Weights (6,), by logistic regression in which languages have equal weight, and the shift."""
    rng, features, right = np.random.default_rng(1), [], []
    for one in languages:
        words = rng.integers(0, len(one.right), AT_MOST)
        features.append(one.features[words])
        right.append(one.right[words])
    x, y = np.concatenate(features), np.concatenate(right).astype(np.float64)
    x = np.column_stack([np.ones(len(x)), x])
    weights = np.zeros(x.shape[1])
    for _ in range(10):
        p = 1 / (1 + np.exp(-x @ weights))
        weights += np.linalg.solve(
            (x.T * (p * (1 - p))) @ x + 1e-3 * np.eye(len(weights)), x.T @ (y - p)
        )
    weights = np.round(weights[1:], 3)
    confidence = np.concatenate(
        [scaled(one, f, weights, 0.0) for one, f in zip(languages, features)]
    )
    return weights, round(best_shift(confidence, y), 2)


def scaled(language: Measured, features: Floats, weights: Floats, shift: float) -> Floats:
    """The confidence of words with features (N, 6) of a language, with these weights."""
    seen, probabilities = language.of_text
    base, slope = logistic(seen @ weights, probabilities)
    return np.asarray(1 / (1 + np.exp(-(base + shift + slope * (features @ weights)))))


def figures(confidence: Floats, right: NDArray[np.bool_]) -> list[float]:
    """ECE, AUC, accuracy of the least confident tenth and of all, mean, share of the commonest; per
    cent."""
    _, which, times = np.unique(
        np.rint(confidence * STEPS), return_inverse=True, return_counts=True
    )
    ranks = (np.cumsum(times) - (times - 1) / 2)[which]
    n, n_right = len(right), int(right.sum())
    auc = (ranks[right].sum() - n_right * (n_right + 1) / 2) / max(1, n_right * (n - n_right))
    least = right[np.argsort(confidence, kind="stable")[: max(1, n // 10)]].mean()
    shares = (
        calibration_error(confidence, right),
        auc,
        least,
        right.mean(),
        confidence.mean(),
        times.max() / n,
    )
    return [100 * float(share) for share in shares]


def main() -> None:
    """Measures every language and prints the table."""
    parser = file_list_parser(__doc__)
    parser.add_argument(
        "--trees", type=int, default=0, help="gold trees of the language to learn from"
    )
    parser.add_argument("--learn", action="store_true", help="learn the weights and the shift anew")
    arguments = parser.parse_args()
    if arguments.learn and arguments.trees:
        parser.error("--learn learns for parsers without trees: leave out --trees")
    at_start = conditions()
    names = [files.name for files in listed(arguments)]
    measurements = [
        measured(files, arguments.trees, arguments.learn) for files in listed(arguments)
    ]
    rows: list[tuple[str, list[float]]] = []
    for k, one in enumerate(measurements):
        confidence = one.confidence
        if arguments.learn:
            weights, shift = learnt(measurements[:k] + measurements[k + 1 :])
            confidence = scaled(one, one.features, weights, shift)
        rows.append((names[k], figures(confidence, one.right)))
    print(at_start)
    print_figures(rows)
    if arguments.learn:
        weights, shift = learnt(measurements)
        print(f"\n{Weights(*weights.tolist())}, shift {shift}")


def print_figures(rows: list[Any]) -> None:
    """The table, and its means."""
    rows = [*rows, ("mean", np.mean([row for _, row in rows], axis=0).tolist())]
    header = [
        "",
        "ECE",
        "AUC",
        "least sure tenth right",
        "all right",
        "mean value",
        "most frequent value",
    ]
    print_table(
        "Confidence", header, [[name, *(f"{value:.1f}" for value in row)] for name, row in rows]
    )


if __name__ == "__main__":
    main()
