"""AdaGrad on the networks' weights, computed by DyNet graphs so that no number leaves DyNet.

Reading a number from DyNet and writing it back would take longer than the computation itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import dynet as dy
import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.model.layers import Array, Expression, Parameters
from dynet_vdgi.settings.neural_settings import TrainSettings

KINDS = VALUE, SQUARE, AVERAGE = "value", "square", "average"
"""The kinds of numbers kept for a weight: its value, the sum of its squared gradients, its average."""

TINY = 1e-10
"""Added to the root of the sum of squares, which may be zero."""


def part(name: str) -> str:
    """The part of the model (encoder, decoder, ...) a parameter belongs to: its first name."""
    return name.split("/")[0]


class NetworkAdaGrad:
    """The parameters `names` of a model, the numbers kept for them, and their steps:

        g = scale * gradient + l2 * (w - origin);  S += g * g;  w -= lr * g / (sqrt(S) + TINY)
        average = decay * average + (1 - decay) * w

    DyNet computes with values, and changes them only by gradients. So a step copies the gradients into
    values, computes, gets the results as gradients, and copies these into values in turn. The copies are
    exact, because a gradient is added to a value of zero. Without `averaged` the average is the weight
    itself.
    """

    def __init__(self, parameters: Parameters, names: Sequence[str], averaged: bool) -> None:
        self.parameters = parameters
        self.weights = {name: parameters.by_name[name] for name in names}
        self.collection = dy.ParameterCollection()  # its parameters must not be used after it is freed
        self.kept: dict[str, dict[str, Any]] = {}
        for kind in KINDS if averaged else (VALUE, SQUARE):
            self.kept[kind] = {name: self._like(weight) for name, weight in self.weights.items()}
        self.kept.setdefault(AVERAGE, self.kept[VALUE])
        for name, kind in product(names, (VALUE, AVERAGE)):
            self.write(kind, name, parameters.get(name))
        self.origins = {name: self._like(self.weights[name]) for name in names if name in parameters.origins}
        for name, origin in self.origins.items():
            origin.set_value(parameters.origins[name])
        self.trainers = [_adding(parameters.collection), _adding(self.collection)]

    def _like(self, weight: Any) -> Any:
        """A parameter of zeros of the shape of another."""
        return self.collection.add_parameters(weight.dim()[0], init=0)

    def read(self, kind: str) -> dict[str, Array]:
        """Copies of all arrays of a kind, by name."""
        arrays = {}
        for name, parameter in self.kept[kind].items():
            array = np.asarray(parameter.as_array(), dtype=np.float32)
            arrays[name] = np.ascontiguousarray(array.T) if name in self.parameters.tables else array
        return arrays

    def write(self, kind: str, name: str, array: NDArray[Any]) -> None:
        """Overwrites one array; it does not reach the model before `load_model`."""
        # In a DyNet expression, a lookup table has a column for each of its rows.
        self.kept[kind][name].set_value(array.T if name in self.parameters.tables else array)

    def load_model(self) -> None:
        """Gives the model's weights the values kept here."""
        for name, value in self.read(VALUE).items():
            self.parameters.set(name, value)
        # Overwrites non-finite numbers in the memory of graphs, because a product may begin with zero times
        # them.
        self._squared_norms()

    def take_gradients(self) -> dict[str, float]:
        """Copies the gradients into the values of the model's weights, until `step` or `load_model`.

        Returns the squared norms of the gradients, by part of the model. Those of other parameters that are
        not frozen are added.
        """
        for weight in self.weights.values():
            weight.scale(0.0)
        self.trainers[0].update()
        return self._squared_norms()

    def _squared_norms(self) -> dict[str, float]:
        """The squared norms of the values of the model's weights, by part of the model."""
        dy.renew_cg(autobatching=False)
        terms: dict[str, list[Expression]] = {}
        for name, weight in self.weights.items():
            terms.setdefault(part(name), []).append(dy.squared_norm(dy.const_parameter(weight)))
        sums = dy.concatenate([dy.esum(of_part) for of_part in terms.values()])
        return dict(zip(terms, sums.vec_value()))

    def step(self, scale: float, decay: float, settings: TrainSettings) -> None:
        """One step with the gradients from `take_gradients`, times `scale`."""
        for name, weight in self.weights.items():
            weight.scale(scale)
            dy.renew_cg(autobatching=False)  # one graph for all would not fit into the processor's cache
            value, square, average = (self.kept[kind][name] for kind in KINDS)
            old = dy.const_parameter(value)
            from_origin = old - dy.const_parameter(self.origins[name]) if name in self.origins else old
            gradient = dy.const_parameter(weight) + from_origin * settings.l2
            total = dy.const_parameter(square) + dy.square(gradient)
            new = old - dy.cdiv(gradient * settings.lr, dy.sqrt(total) + TINY)
            # The gradient of tr(p x^T) is x, as that of a dot product, where DyNet is ten times slower.
            moved = [weight, value] if average is value else [weight, value, average * (1.0 - decay)]
            loss = dy.trace_of_product(dy.esum(moved), new) + dy.trace_of_product(square, total)
            loss.forward()
            loss.backward()
            average.scale(decay)
            for parameter in (weight, value, square):
                parameter.scale(0.0)
        for trainer in self.trainers:
            trainer.update()


def _adding(collection: Any) -> Any:
    """A trainer that adds gradients to values, and makes the gradients zero."""
    trainer = dy.SimpleSGDTrainer(collection, -1.0)
    trainer.set_clip_threshold(0.0)  # never
    return trainer
