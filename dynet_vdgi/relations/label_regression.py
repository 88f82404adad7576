"""Multinomial logistic regression of relations over hashed features: scores, gradients, and
AdaGrad.

A relation is chosen in two steps, first its universal part, then, where this part has subtypes, one
of them:

    log p(nsubj:pass) = log softmax(scores of parts)[nsubj] + log softmax(scores of its
    subtypes)[nsubj:pass]

With all scores 0 each of two parts has the probability 1/2; the gold one, the second, is to get
more, the other one less:

>>> from dynet_vdgi.system.jit import as_python
>>> gradients, one_group = np.zeros(2), np.array([0, 0])
>>> round(as_python(add_gradients)(np.zeros(2), one_group, 0, False, 1, gradients), 3)
-0.693
>>> gradients.tolist()
[-0.5, 0.5]

Letters: N words, R rows of weights, Y relations, E examples.
"""

from __future__ import annotations

import math
from typing import NamedTuple

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
def add_gradients(
    scores: Floats, group: Ints, which: int, has_rest: bool, gold: int, gradients: Floats
) -> float:
    """The log-likelihood of a relation among the relations of a group; fills in its gradients
    (Y,).

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
            gradients[label] = (label == gold) - math.exp(scores[label] - highest) / mass
    return float((scores[gold] if group[gold] == which else 0.0) - highest - math.log(mass))


class Examples(NamedTuple):
    """Arcs with their relations; example e has the features rows[first[e]:first[e + 1]]."""

    rows: Ints
    first: Ints  # (E + 1,)
    offsets: Floats  # (E, Y), of the scores
    relations: Ints  # (E,), the gold ones
    parts: Ints  # (E,), the universal parts of these


class GroupArrays(NamedTuple):
    """How relations are chosen, see `inventory.RelationGroups`."""

    group: Ints  # (Y,)
    may_stand_alone: Flags  # (Y,)
    n_subtypes: Ints  # (Y,)


class LearningRoom(NamedTuple):
    """Workspace for one example."""

    scores: Floats  # (Y,)
    gradients: Floats  # (Y,)


@compiled
def learn(
    examples: Examples,
    groups: GroupArrays,
    order: Ints,
    rate: float,
    weights: Floats,
    squares: Floats,
    room: LearningRoom,
) -> float:
    """One pass of AdaGrad over examples in this order; the sum of their log-likelihoods on the way.

    Changes weights (R, Y) and squares (R, Y), the sums of squared gradients so far.
    """
    scores, gradients = room.scores, room.gradients
    total = 0.0
    for e in order:
        rows, part = examples.rows[examples.first[e] : examples.first[e + 1]], examples.parts[e]
        label_scores(weights, rows, examples.offsets[e], scores)
        gradients[:] = 0.0
        total += add_gradients(scores, groups.group, 0, False, part, gradients)
        if groups.n_subtypes[part]:
            has_rest, relation = groups.may_stand_alone[part], examples.relations[e]
            total += add_gradients(scores, groups.group, part + 1, has_rest, relation, gradients)
        for row in rows:
            for label in range(len(gradients)):
                if gradients[label] != 0.0:
                    squares[row, label] += gradients[label] * gradients[label]
                    weights[row, label] += rate * gradients[label] / math.sqrt(squares[row, label])
    return total
