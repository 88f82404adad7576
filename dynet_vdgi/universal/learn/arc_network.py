"""The network of the universal parser in DyNet, to learn it; `scorer` computes the same with NumPy
to parse.

    x_i = [tag; sum of features; gaps before and after; frequency; tanh(T u)]    u: numbers of text
    y = BiLSTM(x), two layers;  z_i = [y_i; x_i];  z_0 learnt
    s(h, d) = w . relu(H z_h + D z_d + A c(h, d) + b) + v . c(h, d) + P[t_h, t_d, side, distance]
    relation(h, d) = softmax(R relu(H' z_h + D' z_d + A' c(h, d) + b'))

c(h, d) are the channels of an arc. Sentences of a batch have equal length n, so all their words and
all their arcs are columns of a few large matrices: word t of sentence b is column t * B + b.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.system.array_types import Floats32, Ints
from dynet_vdgi.system.dynet_setup import dy, new_collection
from dynet_vdgi.universal.arc_flags import N_FLAGS
from dynet_vdgi.universal.layer_sizes import LayerSizes, shapes
from dynet_vdgi.universal.learn.batches import LearningBatch

Expression = Any

LOOKUPS = ("tag", "gaps", "band", "straight.pairs")

ZERO = ("straight.flags", "straight.numbers", "straight.pairs", "root")


class UniversalNetwork:
    """The network's parameters in DyNet, and its scores."""

    def __init__(self, sizes: LayerSizes, seed: int) -> None:
        self.sizes = sizes
        self.collection = new_collection()
        self.parameters: dict[str, Any] = {}
        rng = np.random.default_rng(seed)
        for name, shape in shapes(sizes).items():
            if name in LOOKUPS:
                self.parameters[name] = self.collection.add_lookup_parameters(shape)
                value = rng.normal(0.0, 1.0, shape)
            else:
                self.parameters[name] = self.collection.add_parameters(shape)
                bound = np.sqrt(6.0 / sum(shape)) if len(shape) == 2 else 0.0
                if name.startswith("lstm"):
                    bound = 1 / np.sqrt(sizes.hidden)
                value = rng.uniform(-bound, bound, shape)
            self.set(name, np.zeros(shape) if name in ZERO else value)

    def set(self, name: str, value: NDArray[Any]) -> None:
        """Sets the parameters of one array."""
        parameter = self.parameters[name]
        if name in LOOKUPS:
            for row, values in enumerate(np.asarray(value, np.float32).tolist()):
                parameter.init_row(row, values)
        else:
            parameter.set_value(np.asarray(value, np.float32))

    def arrays(self) -> dict[str, Floats32]:
        """All weights as arrays."""
        return {name: np.array(p.as_array(), np.float32) for name, p in self.parameters.items()}

    def scores(self, batch: LearningBatch, drop: bool = False) -> tuple[Expression, Expression]:
        """Scores of heads (n + 1,)x(B * n) by sentence and dependent; relations (R,)x(B * n) of
        gold arcs."""
        p, sizes = self.parameters, self.sizes
        n, size = batch.tags.shape
        heads_of = np.arange(n * size).reshape(n, size)  # the column of a word
        dropped = dy.dropout if drop else lambda x, rate: x
        numbers = dropped(batched(batch.numbers), 0.3)
        language = dy.tanh(dy.affine_transform([p["typology.bias"], p["typology"], numbers]))
        features = batched(batch.features)
        x = dy.concatenate(
            [
                dy.lookup_batch(p["tag"], batch.tags.ravel().tolist()),
                dy.affine_transform([dy.zeros((sizes.features,)), p["features"], features]),
                dy.lookup_batch(p["gaps"], batch.gaps.ravel().tolist()),
                dy.lookup_batch(p["band"], batch.band.ravel().tolist()),
                dy.pick_batch_elems(language, np.tile(np.arange(size), n).tolist()),
            ]
        )
        x = dropped(x, 0.15)
        y = lstm(p, 0, x, n, size)
        y = lstm(p, 1, dropped(y, 0.2), n, size)
        z = dropped(dy.concatenate([y, x]), 0.25)
        heads = dy.concatenate_to_batch([z, p["root"] * 1.0])
        of_head = np.concatenate([np.full((1, size), n * size), heads_of]).T  # (B, n + 1)
        head = np.broadcast_to(of_head[:, None, :], (size, n, n + 1)).ravel().tolist()
        dependent = np.repeat(heads_of.T.ravel(), n + 1).tolist()
        arcs = batch.arcs
        flags, numbers = bits(arcs.flags), batched(arcs.numbers)
        flags_of, numbers_of = arcs.flags_of.tolist(), arcs.numbers_of.tolist()
        hidden = dy.rectify(
            dy.esum(
                [
                    dy.pick_batch_elems(p["arc.head"] * heads, head),
                    dy.pick_batch_elems(
                        dy.affine_transform([p["arc.bias"], p["arc.dependent"], z]), dependent
                    ),
                    dy.pick_batch_elems(p["arc.flags"] * flags, flags_of),
                    dy.pick_batch_elems(p["arc.numbers"] * numbers, numbers_of),
                ]
            )
        )
        scores = dy.esum(
            [
                p["arc.out"] * hidden,
                dy.pick_batch_elems(p["straight.flags"] * flags, flags_of),
                dy.pick_batch_elems(p["straight.numbers"] * numbers, numbers_of),
                dy.lookup_batch(p["straight.pairs"], arcs.rows.tolist()),
            ]
        )
        scores = dy.reshape(scores, (n + 1,), batch_size=size * n)
        itself = np.zeros((n + 1, n), np.float32)
        itself[np.arange(1, n + 1), np.arange(n)] = -1e9
        scores = scores + batched(np.tile(itself, (1, size)))
        return scores, self._relations(batch, heads, z, of_head, heads_of)

    def loss(
        self, batch: LearningBatch, weight: float, soft: float = 0.0, drop: bool = True
    ) -> Expression:
        """The mean over words of - log p(head) - weight * log p(relation), of known relations.

        If the batch has targets, the cross-entropy with them has the share `soft` of the first
        term.
        """
        scores, relations = self.scores(batch, drop)
        gold = batch.relations.ravel()
        is_known = (gold >= 0).astype(np.float32)
        of_heads = dy.sum_batches(dy.pickneglogsoftmax_batch(scores, batch.heads.ravel().tolist()))
        of_relations = dy.pickneglogsoftmax_batch(relations, np.maximum(gold, 0).tolist())
        of_known = dy.sum_batches(dy.cmult(of_relations, batched(is_known[None])))
        if batch.targets is not None:
            by_target = dy.cmult(batched(batch.targets), dy.log_softmax(scores))
            of_heads = of_heads * (1 - soft) - dy.sum_batches(dy.sum_elems(by_target)) * soft
        return (of_heads + of_known * weight) * (1.0 / batch.heads.size)

    def _relations(
        self, batch: LearningBatch, heads: Expression, z: Expression, of_head: Ints, columns: Ints
    ) -> Expression:
        p, (size, n) = self.parameters, batch.heads.shape
        head = np.take_along_axis(of_head, batch.heads, 1).ravel().tolist()
        gold = np.arange(size * n) * (n + 1) + batch.heads.ravel()
        hidden = dy.rectify(
            p["relation.head"] * dy.pick_batch_elems(heads, head)
            + dy.affine_transform(
                [
                    p["relation.bias"],
                    p["relation.dependent"],
                    dy.pick_batch_elems(z, columns.T.ravel().tolist()),
                ]
            )
            + p["relation.flags"] * bits(batch.arcs.flags[batch.arcs.flags_of[gold]])
            + p["relation.numbers"] * batched(batch.arcs.numbers[:, batch.arcs.numbers_of[gold]])
        )
        return p["relation.out"] * hidden


def bits(codes: Ints) -> Expression:
    """The bits (N_FLAGS,)xX of sets of flags."""
    return batched((codes >> np.arange(N_FLAGS)[:, None] & 1).astype(np.float32))


def batched(values: NDArray[Any]) -> Expression:
    """A matrix as a batch of its columns; DyNet refuses a batch of one."""
    return (
        dy.inputTensor(values, batched=True)
        if values.shape[1] > 1
        else dy.inputTensor(values[:, 0])
    )


def lstm(parameters: dict[str, Any], layer: int, x: Expression, n: int, size: int) -> Expression:
    """Outputs (2 * hidden,)x(n * B) of a layer in both directions, of sentences of n words."""
    outputs = []
    hidden = parameters[f"lstm{layer}.forward.h"].shape()[1]
    for direction, order in (("forward", 1), ("backward", -1)):
        weights = [parameters[f"lstm{layer}.{direction}.{part}"] for part in ("x", "h", "bias")]
        parts = [
            [dy.pick_range(w, k * hidden, (k + 1) * hidden) for w in weights] for k in range(4)
        ]
        from_x = [dy.affine_transform([b, w, x]) for w, _, b in parts]
        h = c = dy.zeros((hidden,), batch_size=size)
        states = []
        for first in range(0, n * size, size)[::order]:
            columns = list(range(first, first + size))
            i, f, o, g = (
                dy.affine_transform([dy.pick_batch_elems(whole, columns), w, h])
                for whole, (_, w, _) in zip(from_x, parts)
            )
            c = dy.cmult(dy.logistic(f + 1.0), c) + dy.cmult(dy.logistic(i), dy.tanh(g))
            h = dy.cmult(dy.logistic(o), dy.tanh(c))
            states.append(h)
        outputs.append(dy.concatenate_to_batch(states[::order]))
    return dy.concatenate(outputs)
