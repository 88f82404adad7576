"""Layers that encoder and decoder share, and their parameters.

Shapes: H hidden units, (H,) a DyNet column vector. Weights are used as raw parameters only: a
derived expression (a slice, a sum) as shared argument of an operation gets silently wrong gradients
when DyNet batches that operation automatically. So a matrix over a concatenation [x; y] is kept as
two matrices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.conllu.vocabulary import Encoded, Vocabulary
from dynet_vdgi.errors import ModelError, VdgiError
from dynet_vdgi.lexicon.vectors import Embeddings
from dynet_vdgi.paper.settings import ModelSettings
from dynet_vdgi.system.dynet_setup import dy, new_collection

Array = NDArray[np.float32]

Expression = Any  # dy.Expression; DyNet has no type stubs


class Parameters:
    """Named parameters of a model in the order they were made, with NumPy arrays as their outside
    view.

    Initialisation follows the released code: Xavier normal with gain 1 for all arrays of two
    dimensions, std = sqrt(2 / (rows + columns)); zero for biases.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self.collection = new_collection()
        self.rng = rng
        self.by_name: dict[str, Any] = {}
        self.tables: set[str] = set()  # lookup parameters
        self.by_word: set[str] = set()  # lookup parameters with a row for each word
        self.frozen: set[str] = set()
        self.origins: dict[str, Array] = {}  # the values that L2 pulls to, if not zero

    def _add(self, name: str, parameter: Any, value: NDArray[Any]) -> Any:
        if name in self.by_name:
            raise ValueError(f"parameter {name} exists already")
        self.by_name[name] = parameter
        parameter.set_updated(name not in self.frozen)
        self.set(name, value)
        return parameter

    def matrix(self, name: str, rows: int, columns: int, joint_columns: int = 0) -> Any:
        """A weight matrix; of a part of a wider one, `joint_columns` is the width of the whole."""
        std = np.sqrt(2.0 / (rows + (joint_columns or columns)))
        parameter = self.collection.add_parameters((rows, columns))
        return self._add(name, parameter, self.rng.normal(0.0, std, (rows, columns)))

    def bias(self, name: str, size: int) -> Any:
        """A vector of zeros."""
        return self._add(name, self.collection.add_parameters(size), np.zeros(size))

    def gate_bias(self, name: str, hidden: int, forget: float) -> Any:
        """Bias (4H,) of an LSTM. DyNet adds 1 to the forget gate itself, so `forget` - 1 is stored
        there."""
        value = np.zeros(4 * hidden, dtype=np.float32)
        value[hidden : 2 * hidden] = forget - 1.0
        self.origins[name] = value
        return self._add(name, self.collection.add_parameters(4 * hidden), value)

    def constant(self, name: str, size: int) -> Any:
        """A random vector that is never trained, for empty structures, as in the released code."""
        self.frozen.add(name)
        value = self.rng.normal(0.0, np.sqrt(2.0 / (1 + size)), size)
        return self._add(name, self.collection.add_parameters(size), value)

    def table(
        self, name: str, value: NDArray[Any], frozen: bool = False, by_word: bool = False
    ) -> Any:
        """A lookup table of `value` (rows, columns)."""
        self.tables.add(name)
        if by_word:
            self.by_word.add(name)
        if frozen:
            self.frozen.add(name)
        return self._add(name, self.collection.add_lookup_parameters(value.shape), value)

    def get(self, name: str) -> Array:
        """A copy of one parameter's value."""
        return np.asarray(self.by_name[name].as_array(), dtype=np.float32)

    def set(self, name: str, value: NDArray[Any]) -> None:
        """Overwrites one parameter's value."""
        if name in self.tables:
            self.by_name[name].init_from_array(value)
        else:
            self.by_name[name].set_value(value)

    def arrays(self) -> dict[str, Array]:
        """All values by name."""
        return {name: self.get(name) for name in self.by_name}

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Overwrites all values. Raises: ModelError, a name is missing or not known, or a shape
        differs."""
        missing, extra = set(self.by_name) - set(arrays), set(arrays) - set(self.by_name)
        if missing or extra:
            raise ModelError(
                f"parameters do not fit the model: missing {sorted(missing)}, "
                f"not known {sorted(extra)}"
            )
        for name, parameter in self.by_name.items():
            if tuple(arrays[name].shape) != tuple(parameter.shape()):
                shape, needed = tuple(arrays[name].shape), tuple(parameter.shape())
                raise ModelError(f"parameter {name} has shape {shape}, the model needs {needed}")
        for name, value in arrays.items():
            self.set(name, value)


class TokenEmbedding:
    """A word's vector (H,): tag embedding, and in lexicalised models a projected word vector,
    through a ReLU.

    Row 0 of the tag table stands for unknown tags. It is zero and stays so: no training sentence
    has one.
    """

    def __init__(
        self,
        parameters: Parameters,
        name: str,
        vocabulary: Vocabulary,
        settings: ModelSettings,
        frozen_vectors: bool,
        pretrained: Embeddings | None,
    ) -> None:
        hidden, n_tags = settings.hidden_dim, len(vocabulary.tags)
        rng = parameters.rng
        tags = rng.normal(
            0.0, np.sqrt(2.0 / (n_tags + settings.tag_dim)), (n_tags + 1, settings.tag_dim)
        )
        tags[0] = 0.0
        self.tags = parameters.table(f"{name}/tags", tags)
        width = settings.tag_dim + settings.word_dim
        self.from_tag = parameters.matrix(f"{name}/from_tag", hidden, settings.tag_dim, width)
        self.lexicalised = settings.word_dim > 0
        if self.lexicalised:
            # Words without a pretrained vector get N(0, 1) entries, as in the released code.
            vectors = rng.normal(0.0, 1.0, (len(vocabulary.words) + 1, settings.vector_dim))
            if pretrained is not None:
                vectors[1:][pretrained.has_vector] = pretrained.values[pretrained.has_vector]
            self.vectors = parameters.table(
                f"{name}/vectors", vectors, frozen_vectors, by_word=True
            )
            self.project = parameters.matrix(
                f"{name}/project", settings.word_dim, settings.vector_dim
            )
            self.project_bias = parameters.bias(f"{name}/project_bias", settings.word_dim)
            self.from_word = parameters.matrix(
                f"{name}/from_word", hidden, settings.word_dim, width
            )

    def __call__(self, sentence: Encoded) -> list[Expression]:
        """Vectors e_1..e_n of a sentence, each (H,)."""
        embedded = []
        for tag, word in zip(sentence.tags, sentence.words):
            total = self.from_tag * dy.lookup(self.tags, tag)
            if self.lexicalised:
                vector = dy.affine_transform(
                    [self.project_bias, self.project, dy.lookup(self.vectors, word)]
                )
                total = total + self.from_word * dy.rectify(vector)
            embedded.append(dy.rectify(total))
        return embedded


class Lstm:
    """One LSTM layer, input and output (H,)."""

    def __init__(self, parameters: Parameters, name: str, settings: ModelSettings) -> None:
        hidden = settings.hidden_dim
        # The released code initialises the four gates' blocks as one (4H, H) matrix.
        self.weights = (
            parameters.matrix(f"{name}/input", 4 * hidden, hidden),
            parameters.matrix(f"{name}/recurrent", 4 * hidden, hidden),
            parameters.gate_bias(f"{name}/bias", hidden, settings.forget_bias),
        )
        self.hidden = hidden

    def step(self, x: Expression, h: Expression, c: Expression) -> tuple[Expression, Expression]:
        """Output and cell after one more input."""
        gates = dy.vanilla_lstm_gates(x, h, *self.weights)
        cell = dy.vanilla_lstm_c(c, gates)
        return dy.vanilla_lstm_h(cell, gates), cell

    def over(self, inputs: list[Expression]) -> list[Expression]:
        """Outputs over a sequence, from a zero state."""
        h = c = dy.zeros((self.hidden,))
        outputs = []
        for x in inputs:
            h, c = self.step(x, h, c)
            outputs.append(h)
        return outputs


class StackItem(NamedTuple):
    """State of the stack LSTM after pushing one item, and the item below; None: the empty stack."""

    h: Expression
    c: Expression
    below: StackItem | None


class StackLstm:
    """An LSTM whose states form a stack, and the composition of two items into one."""

    def __init__(self, parameters: Parameters, name: str, settings: ModelSettings) -> None:
        hidden = settings.hidden_dim
        self.lstm = Lstm(parameters, f"{name}/lstm", settings)
        self.compose_head = parameters.matrix(f"{name}/compose_head", hidden, hidden, 2 * hidden)
        self.compose_dependent = parameters.matrix(
            f"{name}/compose_dependent", hidden, hidden, 2 * hidden
        )
        self.compose_bias = parameters.bias(f"{name}/compose_bias", hidden)

    def push(self, below: StackItem | None, x: Expression) -> StackItem:
        """The stack with `x` (H,) on top of `below`."""
        if below is None:
            zero = dy.zeros((self.lstm.hidden,))
            h, c = self.lstm.step(x, zero, zero)
        else:
            h, c = self.lstm.step(x, below.h, below.c)
        return StackItem(h, c, below)

    def reduce(self, top: StackItem, top_is_head: bool) -> StackItem:
        """The stack with its two top items replaced by their composition ReLU(W [head; dependent] +
        b).

        The composition's inputs are the stack LSTM's outputs at the two items, as in the released
        code.
        """
        second = top.below
        assert second is not None
        head, dependent = (top, second) if top_is_head else (second, top)
        composed = dy.affine_transform(
            [self.compose_bias, self.compose_head, head.h, self.compose_dependent, dependent.h]
        )
        return self.push(second.below, dy.rectify(composed))


class StateLayer:
    """ReLU(W [stack; buffer] + b), the transitional state embedding, and the actions' scores from
    it."""

    def __init__(
        self,
        parameters: Parameters,
        name: str,
        settings: ModelSettings,
        buffer_dim: int,
        dropout: float,
    ) -> None:
        hidden = settings.hidden_dim
        self.from_stack = parameters.matrix(
            f"{name}/from_stack", hidden, hidden, hidden + buffer_dim
        )
        self.from_buffer = parameters.matrix(
            f"{name}/from_buffer", hidden, buffer_dim, hidden + buffer_dim
        )
        self.bias = parameters.bias(f"{name}/bias", hidden)
        self.actions = parameters.matrix(f"{name}/actions", 3, hidden)
        self.actions_bias = parameters.bias(f"{name}/actions_bias", 3)
        self.dropout = dropout

    def buffer_part(self, vector: Expression) -> Expression:
        """The contribution of a buffer vector, computed once for all samples and steps that see
        it."""
        return self.from_buffer * vector

    def embedding(self, stack: Expression, buffer_part: Expression, training: bool) -> Expression:
        """v_t of the encoder or u_t of the decoder (H,), with dropout when training."""
        state = dy.rectify(dy.affine_transform([self.bias, self.from_stack, stack]) + buffer_part)
        return dy.dropout(state, self.dropout) if training and self.dropout else state

    def logits(self, embedding: Expression) -> Expression:
        """Scores (3,) of SHIFT, LEFT_REDUCE, RIGHT_REDUCE."""
        return dy.affine_transform([self.actions_bias, self.actions, embedding])


NO_SHIFT = (-1e9, 0.0, 0.0)
"""Added to the logits where SHIFT is illegal; where REDUCE is illegal, SHIFT is forced and
unscored."""


def action_logits(
    layer: StateLayer, embedding: Expression, can_shift: Sequence[bool], masked: bool
) -> Expression:
    """Logits (3,)xR of R states where both REDUCEs are legal; SHIFT is masked out if illegal and
    `masked`."""
    logits = layer.logits(embedding)
    masks = [entry for legal in can_shift for entry in ((0.0, 0.0, 0.0) if legal else NO_SHIFT)]
    return (
        logits + dy.reshape(dy.inputVector(masks), (3,), batch_size=len(can_shift))
        if masked
        else logits
    )


def finite(expression: Expression) -> NDArray[np.float64]:
    """All values of an expression. Raises: VdgiError, one is not a finite number."""
    values = np.array(expression.vec_value())
    if not np.isfinite(values).all():
        raise VdgiError(
            "training diverged: a score is not a finite number (a smaller train.lr may help)"
        )
    return values


def seed_dropout(rng: np.random.Generator) -> None:
    """Seeds DyNet's random numbers, which are used for dropout masks, from `rng`."""
    dy.reset_random_seed(int(rng.integers(1, 2**31)))
