"""AdaGrad: a step of all trained weights, from the gradients that DyNet has added up since the
last.

Each weight w has two more numbers, S, the sum of its squared gradients, and its average:

    g = scale * gradient + l2 * (w - origin)        scale <= 1 clips the norm of all gradients
    S = S + g * g
    w = w - lr * g / (sqrt(S) + TINY)
    average = decay * average + (1 - decay) * w

`AdaGrad` clips and decides `scale` and `decay`. The numbers lie in one of two stores that do the
same step: `WeightsInDyNet` holds the networks' matrices and computes by DyNet graphs, so that no
number leaves DyNet, which would take longer than the gradients; `WeightsInNumPy` holds tables with
a row for each word, of which an update reaches few rows, and parameters outside the networks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.errors import VdgiError
from dynet_vdgi.paper.layers import Array, Expression, Parameters
from dynet_vdgi.paper.settings import TrainSettings
from dynet_vdgi.system.dynet_setup import dy, new_collection

KINDS = VALUE, SQUARE, AVERAGE = "value", "square", "average"
"""The kinds of numbers of a weight: its value, the sum of its squared gradients, its average."""

TINY = 1e-10
"""Added to the root of the sum of squares, which may be zero."""


def part(name: str) -> str:
    """The part of the model (encoder, decoder, ...) a parameter belongs to: its first name."""
    return name.split("/")[0]


class WeightsInDyNet:
    """The parameters `names` of a model with their numbers, in DyNet.

    DyNet computes with values, and changes them only by gradients. So a step copies the gradients
    into values, computes, gets the results as gradients, and copies these into values in turn. The
    copies are exact, because a gradient is added to a value of zero. Without `averaged` the average
    is the weight itself.
    """

    def __init__(self, parameters: Parameters, names: Sequence[str], averaged: bool) -> None:
        self.parameters = parameters
        self.weights = {name: parameters.by_name[name] for name in names}
        self.collection = new_collection()  # its parameters must not be used after it is freed
        self.numbers: dict[str, dict[str, Any]] = {}
        for kind in KINDS if averaged else (VALUE, SQUARE):
            self.numbers[kind] = {name: self._like(weight) for name, weight in self.weights.items()}
        self.numbers.setdefault(AVERAGE, self.numbers[VALUE])
        for name, kind in product(names, (VALUE, AVERAGE)):
            self.write(kind, name, parameters.get(name))
        self.origins = {
            name: self._like(self.weights[name]) for name in names if name in parameters.origins
        }
        for name, origin in self.origins.items():
            origin.set_value(parameters.origins[name])
        self.trainers = [_adding(parameters.collection), _adding(self.collection)]

    def _like(self, weight: Any) -> Any:
        """A parameter of zeros of the shape of another."""
        return self.collection.add_parameters(weight.dim()[0], init=0)

    def read(self, kind: str) -> dict[str, Array]:
        """Copies of all arrays of a kind, by name."""
        arrays = {}
        for name, parameter in self.numbers[kind].items():
            array = np.asarray(parameter.as_array(), dtype=np.float32)
            arrays[name] = (
                np.ascontiguousarray(array.T) if name in self.parameters.tables else array
            )
        return arrays

    def write(self, kind: str, name: str, array: NDArray[Any]) -> None:
        """Overwrites one array; it does not reach the model before `load_model`."""
        # In a DyNet expression, a lookup table has a column for each of its rows.
        self.numbers[kind][name].set_value(array.T if name in self.parameters.tables else array)

    def load_model(self) -> None:
        """Gives the model's weights these values."""
        for name, value in self.read(VALUE).items():
            self.parameters.set(name, value)
        # Overwrites non-finite numbers in the memory of graphs, because a product may begin with
        # zero times them.
        self._squared_norms()

    def gather(self) -> dict[str, float]:
        """Copies the gradients into the values of the model's weights, until `step` or
        `load_model`.

        Returns the squared norms of the gradients, by part of the model. Those of other parameters
        that are not frozen are added.
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
        """One step with the gradients from `gather`, times `scale`."""
        for name, weight in self.weights.items():
            weight.scale(scale)
            # one graph for all would not fit into the processor's cache
            dy.renew_cg(autobatching=False)
            value, square, average = (self.numbers[kind][name] for kind in KINDS)
            old = dy.const_parameter(value)
            from_origin = (
                old - dy.const_parameter(self.origins[name]) if name in self.origins else old
            )
            gradient = dy.const_parameter(weight) + from_origin * settings.l2
            total = dy.const_parameter(square) + dy.square(gradient)
            new = old - dy.cdiv(gradient * settings.lr, dy.sqrt(total) + TINY)
            # The gradient of u^T (p * x) v is x where u and v are ones. DyNet's own sum is ten
            # times slower.
            moved = (
                [weight, value] if average is value else [weight, value, average * (1.0 - decay)]
            )
            terms = dy.cmult(dy.esum(moved), new) + dy.cmult(square, total)
            rows, columns = (*weight.dim()[0], 1)[:2]
            loss = dy.dot_product(dy.ones((rows,)), terms * dy.ones((columns,)))
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


class WeightsInNumPy:
    """Tables with a row for each word, and parameters outside the networks (`extra`), with their
    numbers, in NumPy.

    `numbers` holds them by kind and name; they may be changed in place between updates.
    """

    def __init__(
        self, parameters: Parameters, tables: Sequence[str], extra: Mapping[str, NDArray[Any]]
    ) -> None:
        self.parameters, self.tables = parameters, tables
        values: dict[str, Array] = {name: parameters.get(name) for name in tables}
        for name, value in extra.items():
            values[name] = np.array(value, dtype=np.float32)
        self.numbers: dict[str, dict[str, Array]] = {
            VALUE: values,
            SQUARE: {name: np.zeros_like(value) for name, value in values.items()},
            AVERAGE: {name: value.copy() for name, value in values.items()},
        }
        self.gradients: dict[str, Array] = {}
        self.rows: dict[str, Sequence[int]] = {}  # that the gradients of tables are of

    def gather(
        self, rows: Mapping[str, Sequence[int]], extra: Mapping[str, NDArray[Any]]
    ) -> dict[str, float]:
        """Takes the gradients from the model's tables, of these rows or else of all, and from
        `extra`.

        Returns the squared norms of the gradients, by name.
        """
        self.rows = {
            name: rows.get(name, range(len(self.numbers[VALUE][name]))) for name in self.tables
        }
        self.gradients = {}
        for name in self.tables:
            table = self.parameters.by_name[name]
            self.gradients[name] = np.asarray(
                table.rows_grad_as_array(self.rows[name]), dtype=np.float32
            )
            table.scale_gradient(0.0)
        for name, gradient in extra.items():
            self.gradients[name] = np.array(gradient, dtype=np.float32)
        return {
            name: float(np.vdot(gradient, gradient)) for name, gradient in self.gradients.items()
        }

    def step(self, scale: float, decay: float, settings: TrainSettings) -> None:
        """One step with the gradients from `gather` times `scale`; rows without gradient stay."""
        for name, gradient in self.gradients.items():
            values, squares, averages = (self.numbers[kind][name] for kind in KINDS)
            place: Any = self.rows.get(name, slice(None))
            value, square = values[place], squares[place]  # copies where rows are named
            total = gradient * np.float32(scale) + np.float32(settings.l2) * value
            square += total * total
            value -= np.float32(settings.lr) * total / (np.sqrt(square) + np.float32(TINY))
            values[place], squares[place] = value, square
            averages += np.float32(1.0 - decay) * (values - averages)
            if name in self.tables:
                for row, vector in zip(place, value.tolist()):
                    self.parameters.by_name[name].init_row(row, vector)

    def read(self, kind: str) -> dict[str, Array]:
        """All arrays of a kind, by name; not copies."""
        return self.numbers[kind]

    def write(self, kind: str, name: str, array: NDArray[Any]) -> None:
        """Overwrites one array; it does not reach the model before `load_model`."""
        self.numbers[kind][name] = np.array(array, dtype=np.float32)

    def load_model(self) -> None:
        """Gives the model's tables these values."""
        for name in self.tables:
            self.parameters.set(name, self.numbers[VALUE][name])


class AdaGrad:
    """Updates the trained parameters of a model, and those of `extra`, which are outside the
    networks.

    The gradients of `extra` come with each update; they are clipped with the others. `norms` holds
    the norms of the last gradients before clipping, by part of the model.
    """

    def __init__(
        self,
        parameters: Parameters,
        settings: TrainSettings,
        extra: Mapping[str, NDArray[Any]] | None = None,
    ) -> None:
        self.parameters, self.settings = parameters, settings
        self.names = [name for name in parameters.by_name if name not in parameters.frozen]
        tables = [name for name in self.names if name in parameters.by_word]
        dense = [name for name in self.names if name not in parameters.by_word]
        self.networks = WeightsInDyNet(parameters, dense, settings.average > 0)
        self.others = WeightsInNumPy(parameters, tables, extra or {})
        self.norms: dict[str, float] = {}
        self.updates = 0

    def update(
        self,
        rows: Mapping[str, Sequence[int]] | None = None,
        extra: Mapping[str, NDArray[Any]] | None = None,
    ) -> float:
        """One step; gradients are zero afterwards. Returns the joint norm of the gradients before
        clipping.

        `extra` holds the gradients of the extra parameters.

        `rows` lists, for tables with a row for each word, the rows (each once) that can have a
        gradient; all rows of tables that it does not name. Other rows stay unchanged: unlike in the
        released code, L2 does not reach them. Reading and writing a whole table would take longer
        than the gradients.

        Raises:
            VdgiError: the gradient is not finite; no weight has been changed.
        """
        of_others = self.others.gather(rows or {}, extra or {})
        squares = self.networks.gather()
        for name, square in of_others.items():
            squares[part(name)] = squares.get(part(name), 0.0) + square
        self.norms = {of_part: float(np.sqrt(square)) for of_part, square in squares.items()}
        norm = float(np.sqrt(sum(squares.values())))
        if not np.isfinite(norm):
            self._load_model()
            raise VdgiError(
                f"training diverged: the gradient of update {self.updates + 1} is not finite"
            )
        scale = (
            self.settings.clip / norm if self.settings.clip and norm > self.settings.clip else 1.0
        )
        # Smaller in the first updates, so that the random start is soon forgotten.
        decay = min(self.settings.average, (1.0 + self.updates) / (3.0 + self.updates))
        self.updates += 1
        self.networks.step(scale, decay, self.settings)
        self.others.step(scale, decay, self.settings)
        return norm

    def read(self, kind: str) -> dict[str, Array]:
        """All numbers of one of the KINDS, as copies if they are in DyNet."""
        return {**self.networks.read(kind), **self.others.read(kind)}

    def weights(self, kind: str) -> dict[str, Array]:
        """The networks' parameters: the frozen ones, and values or averages of the trained ones."""
        trained = self.read(kind)
        frozen = {name: self.parameters.get(name) for name in self.parameters.frozen}
        return {**frozen, **{name: trained[name] for name in self.names}}

    def state(self) -> dict[str, NDArray[Any]]:
        """Everything `load_state` needs to go on as if nothing had happened."""
        arrays: dict[str, NDArray[Any]] = {
            f"{kind}:{name}": array for kind in KINDS for name, array in self.read(kind).items()
        }
        return {**arrays, "updates": np.array(self.updates)}

    def load_state(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Takes over a state from `state`; the model's weights too. Raises: KeyError where it lacks
        one."""
        self.updates = int(arrays["updates"])
        for kind in KINDS:
            for name in self.networks.weights:
                self.networks.write(kind, name, arrays[f"{kind}:{name}"])
            for name in self.others.numbers[kind]:
                self.others.write(kind, name, arrays[f"{kind}:{name}"])
        self._load_model()

    def _load_model(self) -> None:
        """Gives the model's weights the values that are here."""
        self.networks.load_model()
        self.others.load_model()
