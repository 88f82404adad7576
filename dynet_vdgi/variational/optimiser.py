"""AdaGrad with joint clipping, L2 and averaged weights, whose state can be read, saved and resumed.

DyNet's own AdaGrad is not used because its state cannot be saved, its weight decay is invisible to a reader
of the parameters, and the released code adds L2 after clipping and before AdaGrad's scaling. The networks'
weights never leave DyNet (`model.layers`). NumPy holds the weights outside the networks, and tables with a
row for each word, of which an update needs few rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.errors import VdgiError
from dynet_vdgi.model.layers import (
    AVERAGE,
    KINDS,
    SQUARE,
    TINY,
    VALUE,
    Array,
    NetworkAdaGrad,
    Parameters,
    part,
)
from dynet_vdgi.settings.neural_settings import TrainSettings


class AdaGrad:
    """Updates the trained parameters of a model from the gradients that DyNet has added up.

    `extra` are parameters outside the networks that are to be clipped and updated with them; their gradients
    come with each update. `norms` holds the norms of the last gradients before clipping, by the parameters'
    first name (encoder, decoder, ...). `in_numpy` holds the arrays kept in NumPy, by kind and name; they may
    be changed in place between updates.
    """

    def __init__(
        self, parameters: Parameters, settings: TrainSettings, extra: Mapping[str, NDArray[Any]] | None = None
    ) -> None:
        self.parameters, self.settings = parameters, settings
        self.names = [name for name in parameters.by_name if name not in parameters.frozen]
        self.tables = [name for name in self.names if name in parameters.by_word]
        dense = [name for name in self.names if name not in parameters.by_word]
        self.networks = NetworkAdaGrad(parameters, dense, settings.average > 0)
        values: dict[str, Array] = {name: parameters.get(name) for name in self.tables}
        for name, value in (extra or {}).items():
            values[name] = np.array(value, dtype=np.float32)
        self.in_numpy: dict[str, dict[str, Array]] = {
            VALUE: values,
            SQUARE: {name: np.zeros_like(value) for name, value in values.items()},
            AVERAGE: {name: value.copy() for name, value in values.items()},
        }
        self.norms: dict[str, float] = {}
        self.updates = 0

    def update(
        self, rows: Mapping[str, Sequence[int]] | None = None, extra: Mapping[str, NDArray[Any]] | None = None
    ) -> float:
        """One step; gradients are zero afterwards. Returns the joint norm of the gradients before clipping.

        `extra` holds the gradients of the extra parameters.

        `rows` lists, for tables with a row for each word, the rows (each once) that can have a gradient; all
        rows of tables that it does not name. Other rows stay unchanged: unlike in the released code, L2 does
        not reach them. Reading and writing a whole table would take longer than the gradients.

        Raises:
            VdgiError: the gradient is not finite; no weight has been changed.
        """
        rows = {name: range(len(self.in_numpy[VALUE][name])) for name in self.tables} | dict(rows or {})
        gradients: dict[str, Array] = {}
        for name in self.tables:
            table = self.parameters.by_name[name]
            gradients[name] = np.asarray(table.rows_grad_as_array(rows[name]), dtype=np.float32)
            table.scale_gradient(0.0)
        for name, gradient in (extra or {}).items():
            gradients[name] = np.array(gradient, dtype=np.float32)
        squares = self.networks.take_gradients()
        for name, gradient in gradients.items():
            squares[part(name)] = squares.get(part(name), 0.0) + float(np.vdot(gradient, gradient))
        self.norms = {of_part: float(np.sqrt(square)) for of_part, square in squares.items()}
        norm = float(np.sqrt(sum(squares.values())))
        if not np.isfinite(norm):
            self._load_model()
            raise VdgiError(f"training diverged: the gradient of update {self.updates + 1} is not finite")
        scale = self.settings.clip / norm if self.settings.clip and norm > self.settings.clip else 1.0
        # Smaller in the first updates, so that the random start is soon forgotten.
        decay = min(self.settings.average, (1.0 + self.updates) / (3.0 + self.updates))
        self.updates += 1
        self.networks.step(scale, decay, self.settings)
        for name, gradient in gradients.items():
            self._step_in_numpy(name, rows.get(name, slice(None)), gradient * np.float32(scale), decay)
        return norm

    def _step_in_numpy(self, name: str, place: Any, gradient: Array, decay: float) -> None:
        """The step of `NetworkAdaGrad` on an array in NumPy; `place` are the rows of a table, or all."""
        values, squares, averages = (self.in_numpy[kind][name] for kind in KINDS)
        value, square = values[place], squares[place]  # copies where rows are named
        gradient = gradient + np.float32(self.settings.l2) * value
        square += gradient * gradient
        value -= np.float32(self.settings.lr) * gradient / (np.sqrt(square) + np.float32(TINY))
        values[place], squares[place] = value, square
        averages += np.float32(1.0 - decay) * (values - averages)
        if name in self.tables:
            for row, vector in zip(place, value.tolist()):
                self.parameters.by_name[name].init_row(row, vector)

    def read(self, kind: str) -> dict[str, Array]:
        """All numbers of one of the KINDS, as copies if they are kept in DyNet."""
        return {**self.networks.read(kind), **self.in_numpy[kind]}

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
        """Takes over a state from `state`; the model's weights too. Raises: KeyError where it lacks one."""
        self.updates = int(arrays["updates"])
        for kind in KINDS:
            for name in self.networks.weights:
                self.networks.write(kind, name, arrays[f"{kind}:{name}"])
            for name in self.in_numpy[kind]:
                self.in_numpy[kind][name] = np.array(arrays[f"{kind}:{name}"], dtype=np.float32)
        self._load_model()

    def _load_model(self) -> None:
        """Gives the model's weights the values kept here."""
        self.networks.load_model()
        for name in self.tables:
            self.parameters.set(name, self.in_numpy[VALUE][name])
