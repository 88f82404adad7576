"""Parsing and sampling in NumPy: many derivations in lockstep, with the weights of a trained encoder.

Computes the same function as `dynet_vdgi.model.encoder`, without DyNet and many times faster. How:

* Every action pushes exactly one state of the stack LSTM, and states never change. All states of a batch lie
  in arenas (one array a quantity), numbered as they arise; state 0 is the empty stack. A stack is the number
  of its top state, and each state knows the one below it: nothing is ever copied or popped.
* The gates of a state need the product of the recurrent weights with the output of the state below. A
reduction replaces two items by a state that lies on the same state as the lower of the two, so it takes over
that item's product. So only a SHIFT needs a new product.
* Values that depend on the word alone are computed once for each different word; in models without words,
once for each tag. Without words, the contribution of first words to second ones is tabulated, too.
* sigmoid(x) = tanh(x / 2) / 2 + 1/2, the inner halves folded into the weights: one tanh gives all gates.
* Rows are sorted by length, so that the active rows always come first. The state that a row's last action
would push is left out, because nothing reads it.
* BLAS multiplies the matrices, which takes half of the time. The operations between two products are done in
one pass by compiled kernels, or in NumPy for a few words.

Letters: H hidden units, S sentences of a batch, N words in them, U different words, B derivations ("rows"),
b active rows, of which k reduce and m shift in a step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.data.vocabulary import Encoded
from dynet_vdgi.errors import ModelError
from dynet_vdgi.parsing.choices import Array, Choose, Ints, Recorder, Sampler
from dynet_vdgi.parsing.row_stacks import (
    BLOCK,
    PLENTY,
    ReadingWeights,
    RowStacks,
    Sizes,
    StackWeights,
    WordReader,
    WordTables,
    by_gate,
    of_first,
    room_for_words,
)
from dynet_vdgi.settings.neural_settings import ModelSettings
from dynet_vdgi.system.arrays import Floats
from dynet_vdgi.system.blas import one_thread

PREFIX = "encoder/"
FORGET = 1.0  # DyNet adds it to the forget gate itself, so the stored bias lacks it
ROWS, WORDS = 192, 8192
"""Most rows of a batch, and most words of all its rows: enough rows to outweigh the cost of NumPy's calls,
few enough words to keep the arenas near the cache. Measured; speed is flat around these values."""
GROUP = 32_768
"""Most words of batches that are looked up together."""

Tree = tuple[int, ...]
Chooser = TypeVar("Chooser", bound="Choose | None")


class SampledTrees(NamedTuple):
    """M derivations of one sentence of n words."""

    heads: NDArray[np.int32]  # (M, n)
    log_q: Floats  # (M,), in nats
    actions: NDArray[np.int8]  # (M, 2n - 1)

    def ranked(self, times: Mapping[Tree, int]) -> list[Tree]:
        """The trees drawn, these numbers of times: most frequent first, then most probable under the encoder.

        A tree's probability is the sum of the probabilities of its derivations that were drawn.
        """
        log_q: dict[Tree, float] = {}
        _, first = np.unique(self.actions, axis=0, return_index=True)  # each derivation once
        for row in first.tolist():
            tree = tuple(self.heads[row].tolist())
            log_q[tree] = float(np.logaddexp(log_q.get(tree, -np.inf), self.log_q[row]))
        return sorted(times, key=lambda tree: (-times[tree], -log_q[tree], tree))


def most_probable_heads(samples: NDArray[np.int32]) -> tuple[int, ...]:
    """The projective tree with one root whose heads have the highest total frequency in samples (M, n)."""
    from dynet_vdgi.grammar import chart  # needs numba, which greedy neural parsing does without

    n = samples.shape[1]
    shares = np.zeros((n + 1, n))
    np.add.at(shares, (samples, np.arange(n)), 1.0 / len(samples))
    return chart.expected_best(shares)


class _LstmWeights(NamedTuple):
    """Weights of an LSTM by gate (input, forget, output, cell); rows multiply from the left."""

    inputs: Array  # (4, H, H)
    recurrent: Array  # (4, H, H)
    bias: Array  # (4H,)


class _RowBatch(NamedTuple):
    """The derivation that each row of a batch stands for."""

    sentences: list[Encoded]  # S different ones, longest first
    sentence: Ints  # (B,), position in `sentences`
    place: Ints  # (B,), position in the caller's list
    copy: Ints  # (B,), which derivation of that sentence

    lengths: Ints  # (S,)
    sizes: Sizes

    @property
    def n_steps(self) -> int:
        """Actions of the longest derivation."""
        return 2 * len(self.sentences[0]) - 1


class Arena:
    """The encoder of a model as a parser.

    The arrays are those of `Parameters.arrays()`, by their names there; the decoder's are ignored.

    Raises: ModelError, a parameter of the encoder is missing, or shapes do not fit together.
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
        self._reading = ReadingWeights(
            np.stack([self._forward.recurrent, self._backward.recurrent]),
            weights["state/from_buffer"].T.copy(),
            weights["empty_buffer"].copy(),
        )
        composed = weights["stack/compose_bias"] @ self._stack_lstm.inputs
        self._stack = StackWeights(
            self._stack_lstm.recurrent,
            self._stack_lstm.inputs,
            self._stack_lstm.bias + composed.reshape(-1),
            np.concatenate([weights[f"stack/compose_{part}"].T for part in ("head", "dependent")]),
            -weights["stack/compose_bias"],
            weights["state/from_stack"].T.copy(),
            weights["state/bias"].copy(),
            weights["state/actions"].copy(),
            weights["state/actions_bias"].copy(),
        )
        self._tag_part = weights["embed/tags"] @ weights["embed/from_tag"].T
        self._word_part = np.zeros((0, hidden), np.float32)
        self._tables = self._tabulate(np.maximum(self._tag_part, 0))
        self._first: WordTables | None = None
        if not lexicalised:  # else there are more different words than sentences
            lstms = (self._forward, self._backward, self._stack_lstm)
            pairs = zip(self._tables, lstms)
            self._first = WordTables(*(of_first(table, lstm.recurrent) for table, lstm in pairs))
        else:
            projected = weights["embed/vectors"] @ weights["embed/project"].T
            projected += weights["embed/project_bias"]
            self._word_part = np.maximum(projected, 0, out=projected) @ weights["embed/from_word"].T

    def _tabulate(self, embedded: Array) -> WordTables:
        """Tables for words with these embeddings (U, H)."""
        lstms = (self._forward, self._backward, self._stack_lstm)
        tables = [np.empty((len(embedded), 4 * self.hidden), np.float32) for _ in lstms]
        for table, lstm in zip(tables, lstms):
            for start in range(0, len(table), BLOCK):  # one block stays in the cache
                part = table[start : start + BLOCK]
                by_gate(embedded[start : start + BLOCK], lstm.inputs, part)
                part += lstm.bias
        return WordTables(*tables)

    def parse(self, sentences: Sequence[Encoded]) -> list[tuple[int, ...]]:
        """The greedy trees, each (n,), in the order given.

        Apart from rounding, the tree of a sentence does not depend on the other ones.

        Raises: ValueError, a tag or word id is outside the vocabulary.
        """
        result: list[tuple[int, ...]] = [()] * len(sentences)
        with one_thread():
            for batch, heads, _ in self._derived(sentences, 1, lambda batch: None):
                lengths = batch.lengths[batch.sentence].tolist()
                for place, n, row in zip(batch.place.tolist(), lengths, heads.tolist()):
                    result[place] = tuple(row[:n])
        return result

    def draw(
        self, sentences: Sequence[Encoded], n_samples: int, rng: np.random.Generator
    ) -> list[SampledTrees]:
        """`n_samples` derivations of each sentence, drawn from q.

        The same `rng` gives the same samples for the same list of sentences.

        Raises: ValueError, a tag or word id is outside the vocabulary.
        """
        result = [_empty(n_samples, len(sentence)) for sentence in sentences]

        def recorder(batch: _RowBatch) -> Recorder:
            sampling = Sampler(rng, len(batch.place), self.masked)
            return Recorder(sampling, len(batch.place), batch.n_steps)

        with one_thread():
            for batch, heads, recorded in self._derived(sentences, n_samples, recorder):
                assert isinstance(recorded.choose, Sampler)
                log_q = recorded.choose.log_q
                for row, (place, copy) in enumerate(zip(batch.place.tolist(), batch.copy.tolist())):
                    drawn, n = result[place], len(sentences[place])
                    drawn.heads[copy] = heads[row, :n]
                    drawn.log_q[copy] = log_q[row]
                    drawn.actions[copy] = recorded.actions[row, : 2 * n - 1]
        return result

    def _derived(
        self, sentences: Sequence[Encoded], copies: int, chooser: Callable[[_RowBatch], Chooser]
    ) -> Iterator[tuple[_RowBatch, NDArray[np.int32], Chooser]]:
        """Every batch of derivations, their heads (B, longest), and the object that chose its actions."""
        for group in _groups(_batches(sentences, copies)):
            sizes = Sizes(*map(max, zip(*(batch.sizes for batch in group))))
            work = sum(batch.sizes.row_words for batch in group)
            inputs, tables = self._look_up([sentence for batch in group for sentence in batch.sentences])
            words = room_for_words(sizes)
            reader = WordReader(self._reading, words, tables, self._first, sizes, work)
            below = None if self._first is None else self._first.stack
            stacks = RowStacks(self._stack, words, tables.stack, below, reader.buffer, sizes, work)
            start = 0
            for batch in group:
                n, n_places = len(batch.sentences), batch.sizes.places
                words.lengths[:n] = batch.lengths
                np.cumsum(batch.lengths[:-1] + 1, out=words.first[1:n])
                words.inputs[:n_places] = inputs[start : start + n_places]
                start += n_places
                choose = chooser(batch)
                reader.read(n)
                yield batch, stacks.run(batch.sentence, choose), choose

    def make_ready(self) -> None:
        """Compiles the code that parsing needs, or loads it from disk."""
        sizes = Sizes(1, 1, 1, 1, 1)
        words, tables = room_for_words(sizes), self._tables
        work = PLENTY + 1
        reader = WordReader(self._reading, words, tables, None, sizes, work)
        RowStacks(self._stack, words, tables.stack, None, reader.buffer, sizes, work)

    def _look_up(self, sentences: Sequence[Encoded]) -> tuple[Ints, WordTables]:
        """The tables for the words of sentences, and the row of each word; a 0 after each sentence."""
        tags = _ids([sentence.tags for sentence in sentences], len(self._tag_part), "tag")
        if not len(self._word_part):
            return tags, self._tables
        words = _ids([sentence.words for sentence in sentences], len(self._word_part), "word")
        pairs, inputs = np.unique(tags * len(self._word_part) + words, return_inverse=True)
        tag, word = np.divmod(pairs, len(self._word_part))
        embedded = np.maximum(self._tag_part[tag] + self._word_part[word], 0)
        return inputs, self._tabulate(embedded)


def _lstm(weights: Mapping[str, Array], name: str, hidden: int) -> _LstmWeights:
    """The weights of an LSTM by gate, with the inner halves of the sigmoids and the whole forget bias."""
    factor = np.full(4 * hidden, 0.5, np.float32)
    factor[3 * hidden :] = 1
    inputs, recurrent = (
        np.ascontiguousarray(
            (weights[f"{name}/{part}"] * factor[:, None]).reshape(4, hidden, hidden).transpose(0, 2, 1)
        )
        for part in ("input", "recurrent")
    )
    bias = weights[f"{name}/bias"].copy()
    bias[hidden : 2 * hidden] += FORGET
    return _LstmWeights(inputs, recurrent, bias * factor)


def _ids(sequences: Sequence[Sequence[int]], n_rows: int, what: str) -> Ints:
    """The ids of all sequences, a 0 after each. Raises: ValueError, an id is outside 0..n_rows - 1."""
    flat: list[int] = []
    for sequence in sequences:
        flat.extend(sequence)
        flat.append(0)
    ids = np.array(flat, np.intp)
    if ids.min() < 0 or ids.max() >= n_rows:
        raise ValueError(f"{what} ids must be from 0 to {n_rows - 1}, not {ids.min()} to {ids.max()}")
    return ids


def _batches(sentences: Sequence[Encoded], copies: int) -> Iterator[_RowBatch]:
    """All derivations (`copies` of every non-empty sentence), longest first, in batches."""
    lengths = np.array([len(sentence.tags) for sentence in sentences], np.intp)
    order = np.argsort(-lengths, kind="stable")[: np.count_nonzero(lengths)]
    start, stop = 0, len(order) * copies
    while start < stop:
        longest = int(lengths[order[start // copies]])
        rows = np.arange(start, min(stop, start + max(1, min(ROWS, WORDS // longest))))
        place = order[rows // copies]
        members = order[start // copies : rows[-1] // copies + 1]
        sizes = Sizes(
            len(members),
            int(lengths[members].sum()),
            len(rows),
            int(lengths[place].sum()),
            len(rows) * longest,
        )
        yield _RowBatch(
            [sentences[k] for k in members.tolist()],
            rows // copies - start // copies,
            place,
            rows % copies,
            lengths[members],
            sizes,
        )
        start = int(rows[-1]) + 1


def _groups(batches: Iterator[_RowBatch]) -> Iterator[list[_RowBatch]]:
    """The batches in groups that fit into memory and share a table of different words."""
    group: list[_RowBatch] = []
    for batch in batches:
        if sum(other.sizes.words for other in group) + batch.sizes.words > GROUP and group:
            yield group
            group = []
        group.append(batch)
    if group:
        yield group


def _empty(n_samples: int, n: int) -> SampledTrees:
    """Room for derivations of a sentence of n words."""
    heads, actions = np.zeros((n_samples, n), np.int32), np.zeros((n_samples, max(2 * n - 1, 0)), np.int8)
    return SampledTrees(heads, np.zeros(n_samples), actions)
