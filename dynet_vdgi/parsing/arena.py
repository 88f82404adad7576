"""Parsing and sampling in NumPy: many derivations in lockstep, with the weights of a trained encoder.

Computes what `dynet_vdgi.model.encoder` computes, without DyNet and many times faster. How:

* Every action pushes exactly one state of the stack LSTM, and states never change. All states of a batch lie
  in arenas (one array a quantity), numbered as they arise; state 0 is the empty stack. A stack is the number
  of its top state, and each state knows the one below it: nothing is ever copied or popped.
* The gates of a state need the product of the recurrent weights with the output of the state below. A
  reduction replaces two items, and the new state lies on what the lower of them lay on: it takes over that
  item's product. So there is one such product a SHIFT.
* What depends on the word alone is computed once for each different word, without words once for each tag.
* sigmoid(x) = tanh(x / 2) / 2 + 1/2, the inner halves folded into the weights: one tanh gives all gates.
* Gates are arrays (4, rows, H): with one gate's values next to each other all later operations are faster.
* Rows are sorted by length, so that those still active are always the first ones.

Letters: H hidden units, S sentences of a batch, N words in them, U different words, B derivations ("rows"),
b those still active, of which in one step k reduce and m shift.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.config import ModelSettings
from dynet_vdgi.data.vocabulary import Encoded
from dynet_vdgi.errors import ModelError
from dynet_vdgi.parsing.blas import one_thread
from dynet_vdgi.parsing.choices import Array, Choose, Flags, Floats, Ints, Recorder, Sampler, greedy

PREFIX = "encoder/"
FORGET = 1.0  # DyNet adds it to the forget gate by itself; the stored bias does not have it
ROWS, WORDS = 192, 8192
"""Most rows of a batch, and most words of all its rows: rows to outweigh the cost of NumPy's calls, no more
words than keep the arenas near the cache. Measured; speed is flat around these values."""


class SampledTrees(NamedTuple):
    """M derivations of one sentence of n words."""

    heads: NDArray[np.int32]  # (M, n)
    log_q: Floats  # (M,), in nats
    actions: NDArray[np.int8]  # (M, 2n - 1)


class _LstmWeights(NamedTuple):
    """Weights of an LSTM by gate (input, forget, output, cell); rows multiply from the left."""

    inputs: Array  # (4, H, H)
    recurrent: Array  # (4, H, H)
    bias: Array  # (4, 1, H)


class _WordWeights(NamedTuple):
    """What different words contribute to the gates of the three LSTMs, their biases included."""

    forward: Array  # (4, U, H)
    backward: Array  # (4, U, H)
    stack: Array  # (4, U, H)


class _StackWeights(NamedTuple):
    """Weights that work on the stack.

    A composition has a last unit that is always 1 and carries the bias of the stack LSTM: in a matrix product
    it costs less than to be added.
    """

    recurrent: Array  # (4, H, H)
    inputs: Array  # (4, H + 1, H)
    compose: Array  # (2H, H + 1), from head and dependent
    compose_bias: Array  # (H + 1,)
    from_stack: Array  # (H, H)
    actions: Array  # (3, H)
    actions_bias: Array  # (3, 1)


class _Words(NamedTuple):
    """Places of a batch's words: the sentences one after the other, longest first.

    Each is followed by a place that stands for the empty buffer.
    """

    lengths: Ints  # (S,)
    first: Ints  # (S,), place of the first word
    inputs: Ints  # (N + S,), row in the tables; 0 at the places for the empty buffer


class _RowBatch(NamedTuple):
    """Which derivation each row of a batch is."""

    sentences: list[Encoded]  # S different ones, longest first
    sentence: Ints  # (B,), position in `sentences`
    place: Ints  # (B,), position in what the caller gave
    copy: Ints  # (B,), which derivation of that sentence

    @property
    def n_steps(self) -> int:
        """Actions of the longest derivation."""
        return 2 * len(self.sentences[0]) - 1


class Arena:
    """The encoder of a model as a parser.

    The arrays are those of `Parameters.arrays()`, by their names there; the decoder's are ignored.

    Raises:
        ModelError: a parameter of the encoder is missing, or shapes do not fit together.
    """

    def __init__(self, parameters: Mapping[str, NDArray[Any]], settings: ModelSettings) -> None:
        own = {name[len(PREFIX) :]: value for name, value in parameters.items() if name.startswith(PREFIX)}
        weights = {name: np.asarray(value, np.float32) for name, value in own.items()}
        self.hidden = settings.hidden_dim
        self.masked = settings.mask_illegal
        try:
            with one_thread():
                self._fold(weights, lexicalised=settings.word_dim > 0)
        except KeyError as error:
            raise ModelError(f"parameters do not fit the model: missing {PREFIX}{error.args[0]}") from None
        except ValueError as error:
            raise ModelError(f"parameters do not fit the model: {error}") from None

    def _fold(self, weights: Mapping[str, Array], lexicalised: bool) -> None:
        """Brings all weights into the shape in which they are used."""
        hidden = self.hidden
        self._forward, self._backward = _lstm(weights, "forward", hidden), _lstm(weights, "backward", hidden)
        self._stack_lstm = _lstm(weights, "stack/lstm", hidden)
        self._both = np.stack([self._forward.recurrent, self._backward.recurrent])
        compose = np.zeros((2 * hidden, hidden + 1), np.float32)
        compose[:hidden, :hidden] = weights["stack/compose_head"].T
        compose[hidden:, :hidden] = weights["stack/compose_dependent"].T
        self._stack = _StackWeights(
            self._stack_lstm.recurrent,
            np.concatenate([self._stack_lstm.inputs, self._stack_lstm.bias], axis=1),
            compose,
            np.append(weights["stack/compose_bias"], np.float32(1)),
            weights["state/from_stack"].T.copy(),
            weights["state/actions"].copy(),
            weights["state/actions_bias"][:, None].copy(),
        )
        self._from_buffer = weights["state/from_buffer"].T.reshape(2, hidden, hidden).copy()
        self._state_bias = weights["state/bias"].copy()
        self._empty_buffer = weights["state/from_buffer"] @ weights["empty_buffer"] + self._state_bias
        self._tag_part = weights["embed/tags"] @ weights["embed/from_tag"].T
        self._word_part = np.zeros((0, hidden), np.float32)
        self._tables = self._tabulate(np.maximum(self._tag_part, 0))
        if lexicalised:
            projected = weights["embed/vectors"] @ weights["embed/project"].T
            projected += weights["embed/project_bias"]
            self._word_part = np.maximum(projected, 0, out=projected) @ weights["embed/from_word"].T

    def _tabulate(self, embedded: Array) -> _WordWeights:
        """Tables for words with these embeddings (U, H)."""
        lstms = (self._forward, self._backward, self._stack_lstm)
        return _WordWeights(*(np.matmul(embedded, lstm.inputs) + lstm.bias for lstm in lstms))

    def parse(self, sentences: Sequence[Encoded]) -> list[tuple[int, ...]]:
        """The greedy trees, each (n,), in the order given.

        Apart from rounding, the tree of a sentence does not depend on the other ones.

        Raises:
            ValueError: a tag or word id is outside the vocabulary.
        """
        result: list[tuple[int, ...]] = [()] * len(sentences)
        with one_thread():
            for batch in _batches(sentences, 1):
                heads = self._derive(batch, greedy)
                for place, row in zip(batch.place.tolist(), heads.tolist()):
                    result[place] = tuple(row[: len(sentences[place])])
        return result

    def draw(
        self, sentences: Sequence[Encoded], n_samples: int, rng: np.random.Generator, exponent: float = 1.0
    ) -> list[SampledTrees]:
        """`n_samples` derivations of each sentence, drawn from q.

        With an `exponent` they are drawn from q to that power, renormalised at every step; log_q is that of q
        itself. The same `rng` gives the same samples for the same list of sentences.

        Raises:
            ValueError: a tag or word id is outside the vocabulary.
        """
        result = [_empty(n_samples, len(sentence)) for sentence in sentences]
        with one_thread():
            for batch in _batches(sentences, n_samples):
                sampling = Sampler(rng, exponent, len(batch.place), self.masked)
                recorded = Recorder(sampling, len(batch.place), batch.n_steps)
                heads = self._derive(batch, recorded)
                for row, (place, copy) in enumerate(zip(batch.place.tolist(), batch.copy.tolist())):
                    drawn, n = result[place], len(sentences[place])
                    drawn.heads[copy] = heads[row, :n]
                    drawn.log_q[copy] = sampling.log_q[row]
                    drawn.actions[copy] = recorded.actions[row, : 2 * n - 1]
        return result

    def actions(self, sentences: Sequence[Encoded]) -> list[tuple[int, ...]]:
        """The greedy derivations, each (2n - 1,), in the order given."""
        result: list[tuple[int, ...]] = [()] * len(sentences)
        with one_thread():
            for batch in _batches(sentences, 1):
                recorded = Recorder(greedy, len(batch.place), batch.n_steps)
                self._derive(batch, recorded)
                for place, row in zip(batch.place.tolist(), recorded.actions.tolist()):
                    result[place] = tuple(row[: 2 * len(sentences[place]) - 1])
        return result

    def _derive(self, batch: _RowBatch, choose: Choose) -> NDArray[np.int32]:
        """Heads (B, longest) of derivations in which every choice is made by `choose`."""
        words, tables = self._look_up(batch.sentences)
        stacks = _RowStacks(self._stack, words, tables.stack, self._read(words, tables), batch.sentence)
        n_steps = 2 * words.lengths[batch.sentence] - 1
        active = np.searchsorted(-n_steps, -np.arange(n_steps[0]), side="left")
        for step, rows in enumerate(active.tolist()):
            stacks.keep(rows)
            if step < 2:  # there is nothing to reduce
                reduces = left = np.zeros(rows, np.bool_)
            else:
                can_shift = stacks.read < stacks.lengths
                can_reduce = stacks.read > (step + 1) // 2  # 2 * read - step words are on the stack
                reduces, left = choose(step, stacks.logits(), can_shift, can_reduce)
            stacks.advance(reduces, left)
        return stacks.attached()

    def _look_up(self, sentences: Sequence[Encoded]) -> tuple[_Words, _WordWeights]:
        """Places of the words of sentences, longest first, and the tables for these words."""
        lengths = np.array([len(sentence) for sentence in sentences], np.intp)
        first = np.zeros(len(lengths), np.intp)
        np.cumsum(lengths[:-1] + 1, out=first[1:])
        tags = _ids([sentence.tags for sentence in sentences], len(self._tag_part), "tag")
        if not len(self._word_part):
            return _Words(lengths, first, tags), self._tables
        words = _ids([sentence.words for sentence in sentences], len(self._word_part), "word")
        pairs, inputs = np.unique(tags * len(self._word_part) + words, return_inverse=True)
        tag, word = np.divmod(pairs, len(self._word_part))
        embedded = np.maximum(self._tag_part[tag] + self._word_part[word], 0)
        return _Words(lengths, first, inputs), self._tabulate(embedded)

    def _read(self, words: _Words, tables: _WordWeights) -> Array:
        """What the buffer contributes to the state layer, its bias included, at each place (N + S, H)."""
        steps = np.arange(words.lengths[0])[:, None]
        inside = steps < words.lengths
        forward = (words.first + steps)[inside]  # places in the order in which they are read, step by step
        backward = (words.first + words.lengths - 1 - steps)[inside]
        inputs = words.inputs[forward], words.inputs[backward]
        outputs = self._bidirectional(*inputs, inside.sum(axis=1), tables)
        parts = np.matmul(outputs, self._from_buffer)
        parts[0] += self._state_bias
        result = np.empty((len(words.inputs), self.hidden), np.float32)
        result[forward] = parts[0]
        result[backward] += parts[1]
        result[words.first + words.lengths] = self._empty_buffer
        return result

    def _bidirectional(self, forward: Ints, backward: Ints, active: Ints, tables: _WordWeights) -> Array:
        """Outputs (2, N, H) of both LSTMs over inputs (N,) and (N,), `active` (longest,) of them a step."""
        hidden, start = self.hidden, 0
        outputs = np.empty((2, len(forward), hidden), np.float32)
        scratch = np.empty(2 * 4 * int(active[0]) * hidden, np.float32)
        h = c = np.zeros((2, int(active[0]), hidden), np.float32)
        for rows in active.tolist():
            now = slice(start, start + rows)
            gates = scratch[: 2 * 4 * rows * hidden].reshape(2, 4, rows, hidden)
            tables.forward.take(forward[now], axis=1, out=gates[0], mode="clip")
            tables.backward.take(backward[now], axis=1, out=gates[1], mode="clip")
            if start:
                gates += np.matmul(h[:, None, :rows], self._both)
            _activate(gates)
            c = gates[:, 1] * c[:, :rows]
            c += gates[:, 0] * gates[:, 3]
            h = np.tanh(c, out=outputs[:, now])
            h *= gates[:, 2]
            start += rows
        return outputs


class _RowStacks:
    """The stacks of all rows of a batch, which share its words; `buffer` is what `Arena._read` gives.

    `read` (b,) is the number of words a row has read, `top` (b,) its top state. The words of row r are
    numbered from r * longest on.
    """

    def __init__(
        self, weights: _StackWeights, words: _Words, table: Array, buffer: Array, sentence: Ints
    ) -> None:
        self.weights, self.inputs, self.table, self.buffer = weights, words.inputs, table, buffer
        self.lengths, self.first = words.lengths[sentence], words.first[sentence]
        n_rows, n_words, hidden = len(sentence), int(self.lengths.sum()), buffer.shape[1]
        n_states = 2 * n_words - n_rows + 1
        self.longest = int(self.lengths[0])
        self.read = np.zeros(n_rows, np.intp)
        self.top = np.zeros(n_rows, np.intp)
        self.base = np.arange(n_rows) * self.longest  # number of the row's first word
        self.heads = np.full(n_rows * self.longest, -1, np.intp)  # a word's head, both by these numbers

        self.h = np.empty((n_states, hidden), np.float32)
        self.c = np.empty((n_states, hidden), np.float32)
        self.h[0] = self.c[0] = 0
        self.below = np.zeros(n_states, np.intp)
        self.word = np.zeros(n_states, np.intp)  # the head word of the item
        self.product = np.zeros(n_states, np.intp)  # where `products` has W h of the state below
        self.products = np.empty((4, n_words, hidden), np.float32)
        self.n_states, self.n_products = 1, 0

        self.scratch = np.empty(4 * n_rows * hidden, np.float32)
        # np.maximum with an array of zeros is three times as fast as with 0.
        self.zeros = np.zeros(n_rows * (hidden + 1), np.float32)

    def keep(self, rows: int) -> None:
        """Forgets all but the first rows; the others are complete."""
        if rows < len(self.top):
            self.top, self.read, self.base = self.top[:rows], self.read[:rows], self.base[:rows]
            self.lengths, self.first = self.lengths[:rows], self.first[:rows]

    def _rectify(self, x: Array) -> None:
        np.maximum(x, self.zeros[: x.size].reshape(x.shape), out=x)

    def logits(self) -> Array:
        """Scores (3, b) of the actions, also of illegal ones."""
        state = self.h.take(self.top, axis=0) @ self.weights.from_stack
        state += self.buffer.take(self.first + self.read, axis=0)
        self._rectify(state)
        result: Array = self.weights.actions @ state.T
        result += self.weights.actions_bias
        return result

    def advance(self, reduces: Flags, left: Flags) -> None:
        """One action for every row: LEFT_REDUCE, RIGHT_REDUCE or SHIFT. New states: first the reductions'."""
        reduce, shift = reduces.nonzero()[0], (~reduces).nonzero()[0]
        rows, k = len(reduces), len(reduce)
        new = slice(self.n_states, self.n_states + rows)
        middle = self.n_states + k
        gates = self.scratch[: self.weights.recurrent.shape[2] * 4 * rows].reshape(4, rows, -1)
        if k:
            self._reduce(reduce, left[reduce], slice(new.start, middle), gates[:, :k])
        if k < rows:
            self._shift(shift, slice(middle, new.stop), gates[:, k:])
        _activate(gates)
        c = np.multiply(self.c.take(self.below[new], axis=0), gates[1], out=self.c[new])
        c += np.multiply(gates[0], gates[3], out=gates[0])
        h = np.tanh(c, out=self.h[new])
        h *= gates[2]
        self.top[reduce] = np.arange(new.start, middle)
        self.top[shift] = np.arange(middle, new.stop)
        self.n_states = new.stop

    def _reduce(self, rows: Ints, left: Flags, new: slice, gates: Array) -> None:
        """Sets up the `new` states of `rows` (k,), and their gates (4, k, H) before activation."""
        top = self.top[rows]
        second = self.below[top]
        pair = np.empty((len(rows), 2), np.intp)  # head, dependent
        pair[:, 0] = np.where(left, top, second)
        pair[:, 1] = np.where(left, second, top)
        words = self.word[pair]
        self.heads[words[:, 1]] = self.word[new] = words[:, 0]
        self.below[new] = self.below[second]
        product = self.product[new] = self.product[second]

        x = self.h.take(pair, axis=0).reshape(len(rows), -1) @ self.weights.compose
        x += self.weights.compose_bias
        self._rectify(x)
        np.add(self.products.take(product, axis=1), np.matmul(x, self.weights.inputs), out=gates)

    def _shift(self, rows: Ints, new: slice, gates: Array) -> None:
        """Sets up the `new` states of `rows` (m,), and their gates (4, m, H) before activation."""
        top, read = self.top[rows], self.read[rows]
        self.word[new] = self.base[rows] + read
        self.below[new] = top
        products = slice(self.n_products, self.n_products + len(rows))
        self.product[new] = np.arange(products.start, products.stop)
        self.n_products = products.stop

        product = np.matmul(self.h.take(top, axis=0), self.weights.recurrent, out=self.products[:, products])
        np.add(product, self.table.take(self.inputs[self.first[rows] + read], axis=1), out=gates)
        self.read[rows] = read + 1

    def attached(self) -> NDArray[np.int32]:
        """Heads (B, longest), 1..n and 0 for the root."""
        heads = np.where(self.heads < 0, 0, self.heads % self.longest + 1)
        return heads.astype(np.int32).reshape(-1, self.longest)


def _lstm(weights: Mapping[str, Array], name: str, hidden: int) -> _LstmWeights:
    """The weights of an LSTM by gate, with the inner halves of the sigmoids and the whole forget bias."""
    factor = np.array([0.5, 0.5, 0.5, 1.0], np.float32)[:, None, None]
    inputs, recurrent = (
        np.ascontiguousarray(weights[f"{name}/{part}"].reshape(4, hidden, hidden).transpose(0, 2, 1) * factor)
        for part in ("input", "recurrent")
    )
    bias = weights[f"{name}/bias"].reshape(4, 1, hidden).copy()
    bias[1] += FORGET
    return _LstmWeights(inputs, recurrent, bias * factor)


def _activate(gates: Array) -> None:
    """Turns pre-activations (..., 4, rows, H) into gates."""
    np.tanh(gates, out=gates)
    sigmoids = gates[..., :3, :, :]
    sigmoids *= np.float32(0.5)
    sigmoids += np.float32(0.5)


def _ids(sequences: Sequence[Sequence[int]], n_rows: int, what: str) -> Ints:
    """The ids of all sequences, a 0 after each.

    Raises:
        ValueError: an id is outside 0..n_rows - 1.
    """
    flat: list[int] = []
    for sequence in sequences:
        flat.extend(sequence)
        flat.append(0)
    ids = np.array(flat, np.intp)
    if ids.min() < 0 or ids.max() >= n_rows:
        raise ValueError(f"{what} ids must be from 0 to {n_rows - 1}, not {ids.min()} to {ids.max()}")
    return ids


def _batches(sentences: Sequence[Encoded], copies: int) -> Iterator[_RowBatch]:
    """All derivations (`copies` of every sentence that is not empty), longest first, in batches."""
    lengths = np.array([len(sentence) for sentence in sentences], np.intp)
    order = np.argsort(-lengths, kind="stable")[: np.count_nonzero(lengths)]
    start, stop = 0, len(order) * copies
    while start < stop:
        longest = int(lengths[order[start // copies]])
        rows = np.arange(start, min(stop, start + max(1, min(ROWS, WORDS // longest))))
        place = order[rows // copies]
        members = order[start // copies : rows[-1] // copies + 1].tolist()
        yield _RowBatch(
            [sentences[k] for k in members], rows // copies - start // copies, place, rows % copies
        )
        start = int(rows[-1]) + 1


def _empty(n_samples: int, n: int) -> SampledTrees:
    """Room for derivations of a sentence of n words."""
    heads, actions = np.zeros((n_samples, n), np.int32), np.zeros((n_samples, max(2 * n - 1, 0)), np.int8)
    return SampledTrees(heads, np.zeros(n_samples), actions)
