"""AdaGrad with joint clipping, L2 and averaged weights, in NumPy over a model's named parameters.

DyNet's own trainer is not used because its state cannot be saved, its weight decay is invisible to a reader
of the parameters, and the released code adds L2 after clipping and before AdaGrad's scaling. NumPy holds
the master copy of every weight, DyNet a copy of that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.config import TrainSettings
from dynet_vdgi.errors import VdgiError
from dynet_vdgi.model.layers import Array, Parameters


class AdaGrad:
    """Updates the trained parameters of a model from the gradients that DyNet has added up.

    `extra` are parameters outside the networks that are to be clipped and updated with them; their gradients
    come with each update. `norms` holds the norms of the last gradients before clipping, by the parameters'
    first name (encoder, decoder, ...).
    """

    def __init__(
        self,
        parameters: Parameters,
        settings: TrainSettings,
        extra: Mapping[str, NDArray[Any]] | None = None,
    ) -> None:
        self.parameters, self.settings = parameters, settings
        self.names = [name for name in parameters.by_name if name not in parameters.frozen]
        self.values: dict[str, Array] = {name: parameters.get(name) for name in self.names}
        for name, value in (extra or {}).items():
            self.values[name] = np.array(value, dtype=np.float32)
        self.norms: dict[str, float] = {}
        self.squares: dict[str, Array] = {name: np.zeros_like(value) for name, value in self.values.items()}
        self.averages: dict[str, Array] = {name: value.copy() for name, value in self.values.items()}
        self.updates = 0

    def _gradients(self, rows: Mapping[str, Sequence[int]]) -> dict[str, Array]:
        """Gradients by name, of a table in `rows` only those rows; DyNet's are zero afterwards."""
        gradients = {}
        for name in self.names:
            parameter = self.parameters.by_name[name]
            read = parameter.rows_grad_as_array(rows[name]) if name in rows else parameter.grad_as_array()
            gradients[name] = np.asarray(read, dtype=np.float32)
            parameter.scale_gradient(0.0)
        return gradients

    def update(
        self,
        rows: Mapping[str, Sequence[int]] | None = None,
        extra: Mapping[str, NDArray[Any]] | None = None,
    ) -> float:
        """One step; gradients are zero afterwards. Returns the joint norm of the gradients before clipping.

        `extra` holds the gradients of the extra parameters.

        `rows` names, for tables of which an update needs few rows, the ones (each once) that can have a
        gradient. The others are left as they are: L2 does not reach them, as it does in the released code.
        Reading and writing a whole table of word vectors would take longer than the gradients themselves.

        Raises:
            VdgiError: the gradient is not finite; nothing has been changed.
        """
        rows = rows or {}
        gradients = self._gradients(rows)
        for name, gradient in (extra or {}).items():
            gradients[name] = np.array(gradient, dtype=np.float32)
        squares: dict[str, float] = {}
        for name, gradient in gradients.items():
            part = name.split("/")[0]
            squares[part] = squares.get(part, 0.0) + float(np.vdot(gradient, gradient))
        self.norms = {part: float(np.sqrt(square)) for part, square in squares.items()}
        norm = float(np.sqrt(sum(squares.values())))
        if not np.isfinite(norm):
            raise VdgiError(f"training diverged: the gradient of update {self.updates + 1} is not finite")
        clip, l2, decay = self.settings.clip, self.settings.l2, self._decay()
        scale = np.float32(clip / norm if clip and norm > clip else 1.0)
        self.updates += 1
        for name, gradient in gradients.items():
            place: Any = rows.get(name, slice(None))
            value, square = self.values[name][place], self.squares[name][place]  # copies where rows are named
            gradient *= scale
            gradient += np.float32(l2) * (value - self.parameters.origins.get(name, np.float32(0.0)))
            square += gradient * gradient
            value -= np.float32(self.settings.lr) * gradient / (np.sqrt(square) + np.float32(1e-10))
            self.values[name][place], self.squares[name][place] = value, square
            self.averages[name] += np.float32(1.0 - decay) * (self.values[name] - self.averages[name])
            if name not in self.parameters.by_name:
                continue
            if name in rows:
                for row, vector in zip(rows[name], value.tolist()):
                    self.parameters.by_name[name].init_row(row, vector)
            else:
                self.parameters.set(name, value)
        return norm

    def _decay(self) -> float:
        """Decay of the average; smaller in the first updates, so that the random start is soon forgotten."""
        return (
            min(self.settings.average, (1.0 + self.updates) / (3.0 + self.updates))
            if self.settings.average
            else 0.0
        )

    def averaged(self) -> dict[str, Array]:
        """Values of the networks' parameters, the trained ones averaged."""
        return self._with_frozen(self.averages)

    def current(self) -> dict[str, Array]:
        """Values of the networks' parameters as the last update left them."""
        return self._with_frozen(self.values)

    def _with_frozen(self, trained: Mapping[str, Array]) -> dict[str, Array]:
        frozen = {name: self.parameters.get(name) for name in self.parameters.frozen}
        return {**frozen, **{name: trained[name] for name in self.names}}

    def state(self) -> dict[str, NDArray[Any]]:
        """Everything `load_state` needs to go on as if nothing had happened."""
        kinds = {"value": self.values, "square": self.squares, "average": self.averages}
        arrays: dict[str, NDArray[Any]] = {
            f"{kind}:{name}": array for kind, by_name in kinds.items() for name, array in by_name.items()
        }
        return {**arrays, "updates": np.array(self.updates)}

    def load_state(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Takes over a state from `state`; the model's weights too."""
        self.updates = int(arrays["updates"])
        for name in self.values:
            self.values[name] = np.array(arrays[f"value:{name}"], dtype=np.float32)
            self.squares[name] = np.array(arrays[f"square:{name}"], dtype=np.float32)
            self.averages[name] = np.array(arrays[f"average:{name}"], dtype=np.float32)
        for name in self.names:
            self.parameters.set(name, self.values[name])
