"""Multinomial logistic regression of relations over hashed features: scores, gradients, and
AdaGrad.

A relation is chosen in two steps, first its universal part, then, where this part has subtypes, one
of them:

    log p(nsubj:pass) = log softmax(scores of parts)[nsubj] + log softmax(scores of its
    subtypes)[nsubj:pass]

Letters: N words, R rows of weights, Y relations, E examples.
"""

from __future__ import annotations

import math

import numpy as np

from dynet_vdgi.system.array_types import Flags, Floats, Ints
from dynet_vdgi.system.jit import compiled


@compiled
def add_weights(rows: Ints, ends: Ints, weights: Floats, scores: Floats) -> None:
    """Adds the weights (R, Y) of each word's features to the scores (N, Y) of its relations.

    rows: those of the features, one word after the other; 0 for none. ends: (N,) of each word's
    rows.
    """
    start = 0
    for word in range(len(ends)):
        for row in rows[start : ends[word]]:
            if row:
                for label in range(scores.shape[1]):
                    scores[word, label] += weights[row, label]
        start = ends[word]


@compiled
def label_scores(weights: Floats, rows: Ints, offsets: Floats, scores: Floats) -> None:
    """Scores (Y,) of relations: their offsets (Y,), plus weights (R, Y) of these rows."""
    for label in range(len(scores)):
        scores[label] = offsets[label]
    for row in rows:
        for label in range(len(scores)):
            scores[label] += weights[row, label]


@compiled
def add_slopes(
    scores: Floats, group: Ints, which: int, has_rest: bool, gold: int, slopes: Floats
) -> float:
    """The log-likelihood of a relation among the relations of a group; fills in its slopes (Y,).

    `has_rest`: there is one more choice, of score 0, which is gold if gold is in another group.
    """
    highest = 0.0 if has_rest else -np.inf
    for label in range(len(scores)):
        if group[label] == which:
            highest = max(highest, scores[label])
    mass = math.exp(-highest) if has_rest else 0.0
    for label in range(len(scores)):
        if group[label] == which:
            mass += math.exp(scores[label] - highest)
    for label in range(len(scores)):
        if group[label] == which:
            slopes[label] = (label == gold) - math.exp(scores[label] - highest) / mass
    return float((scores[gold] if group[gold] == which else 0.0) - highest - math.log(mass))


@compiled
def learn(
    rows: Ints,
    first: Ints,
    offsets: Floats,
    gold: Ints,
    parts: Ints,
    group: Ints,
    plain: Flags,
    n_subtypes: Ints,
    order: Ints,
    rate: float,
    weights: Floats,
    squares: Floats,
    scores: Floats,
    slopes: Floats,
) -> float:
    """One pass of AdaGrad over examples in this order (E,); the sum of their log-likelihoods on the
    way.

    Example e has the rows rows[first[e]:first[e + 1]], offsets (Y,) of the scores, the gold
    relation, and the gold relation's universal part. Changes weights (R, Y) and squares (R, Y), the
    sums of squared slopes so far; scores (Y,) and slopes (Y,) are workspace.
    """
    total = 0.0
    for e in order:
        own, part = rows[first[e] : first[e + 1]], parts[e]
        label_scores(weights, own, offsets[e], scores)
        slopes[:] = 0.0
        total += add_slopes(scores, group, 0, False, part, slopes)
        if n_subtypes[part]:
            total += add_slopes(scores, group, part + 1, plain[part], gold[e], slopes)
        for row in own:
            for label in range(len(slopes)):
                if slopes[label] != 0.0:
                    squares[row, label] += slopes[label] * slopes[label]
                    weights[row, label] += rate * slopes[label] / math.sqrt(squares[row, label])
    return total
