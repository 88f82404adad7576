"""Labels the arcs of trees: by a table, and better than it once there are trees with labels.

A multinomial logistic regression over hashed features of an arc, learnt by AdaGrad; the table's label starts
with a head start of `trust`, so that without labelled trees it is the table.

Letters: n words, N words of all sentences, R rows of weights, Y labels.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi import sparse_weights
from dynet_vdgi.data.atoms import Atoms, PackedRows
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.labels.label_table import LABELS, ROOT, LabelTable, relation_of

Bits = NDArray[np.uint64]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FORMAT = 1
"""Of the arrays; goes up when features, labels or hashing change."""

PREFIX = "labels/"

FEW_TREES = 30
"""With fewer the slow rate is used, so that they do not undo the table."""

SLOW, FAST = 0.1, 0.2
_ROOT_LABEL = LABELS.index("root")


@dataclass(eq=False)
class Labeller:
    """Labels arcs; `fit` learns weights (R, Y), of which row 0 is that of features never seen."""

    table: LabelTable
    epochs: int = 8  # weights are averaged over the ends of the later half
    trust: float = 5.0  # head start of the table's label
    log2_buckets: int = 18
    seed: int = 1  # of the order of the words
    verb_final: bool = False
    weights: Floats | None = field(default=None, repr=False)
    buckets: Ints | None = field(default=None, repr=False)  # (R - 1,), those of the rows from 1 on

    def __post_init__(self) -> None:
        self._atoms = Atoms()
        self._bits: dict[tuple[str, str], tuple[int, int, int]] = {(ROOT, "_"): self.table.bits_of(ROOT, "_")}

    def fit(self, trees: Iterable[Sentence], *, verb_final: bool = False) -> Labeller:
        """Learns from the words that have a head and a relation; only its universal part counts.

        `verb_final`: whether verbs end the sentences of the text, see `grammar.word_order`.
        """
        self.verb_final, self.weights, self.buckets = verb_final, None, None
        labelled = [tree for tree in trees if tree.heads and tree.deprels]
        if not labelled:
            return self
        text = self._prepared(labelled)
        gold = np.array([_number(deprel) for tree in labelled for deprel in tree.deprels], np.int64)
        words = np.flatnonzero((gold >= 0) & (text.heads >= 0))
        buckets, ends = self._features(text)
        starts = np.concatenate([[0], ends[:-1]])
        used = np.concatenate([buckets[starts[w] : ends[w]] for w in words] or [buckets[:0]])
        self.buckets, rows = np.unique(used, return_inverse=True)
        first = np.concatenate([[0], np.cumsum(ends[words] - starts[words])])
        self.weights = self._learnt(rows + 1, first, text.tables[words], gold[words], len(labelled))
        return self

    def _learnt(self, rows: Ints, first: Ints, tables: Ints, gold: Ints, n_trees: int) -> Floats:
        shape = (int(rows.max(initial=0)) + 1, len(LABELS))
        weights, squares, total = np.zeros(shape), np.ones(shape), np.zeros(shape)
        rng, rate = np.random.default_rng(self.seed), SLOW if n_trees < FEW_TREES else FAST
        first_averaged = self.epochs // 2
        for epoch in range(self.epochs):
            order = rng.permutation(len(gold))
            _kernels().learn(rows, first, tables, gold, order, self.trust, rate, weights, squares)
            if epoch >= first_averaged:
                total += weights
        average = total / max(1, self.epochs - first_averaged)
        return average.astype(np.float32).astype(np.float64)  # as a model file has them

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What `from_arrays` reads back; the table is not part of it."""
        buckets = np.zeros(0, np.int64) if self.buckets is None else self.buckets
        weights = np.zeros((1, len(LABELS))) if self.weights is None else self.weights
        return {
            PREFIX + "shape": np.array([FORMAT, self.log2_buckets, self.verb_final], np.int64),
            PREFIX + "buckets": buckets.astype(np.int32),  # (R - 1,), ascending
            PREFIX + "weights": weights[1:].astype(np.float32),  # (R - 1, Y)
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], table: LabelTable) -> Labeller:
        """The labeller whose `arrays` these are, with this table; other arrays are ignored.

        Raises:
            ModelError: an array is missing, or they are not those of a labeller of this version.
        """
        weights, (verb_final,) = sparse_weights.from_arrays(
            arrays, PREFIX, "labeller", FORMAT, (len(LABELS),), n_options=1
        )
        labeller = cls(table, log2_buckets=len(weights).bit_length() - 1, verb_final=bool(verb_final))
        buckets = arrays[PREFIX + "buckets"].astype(np.int64)
        if len(buckets):
            labeller.buckets = buckets
            labeller.weights = np.vstack([np.zeros(len(LABELS)), weights[buckets]])
        return labeller

    def predict(self, sentences: Iterable[Sentence]) -> list[Sentence]:
        """The sentences with relations; a word without a head gets "_".

        Raises:
            ValueError: a sentence has no heads.
        """
        trees = list(sentences)
        text = self._prepared(trees)
        labels = text.tables if self.weights is None else self._chosen(text)
        names = [*LABELS, "_"]
        numbers = np.where(text.heads < 0, len(LABELS), labels).tolist()
        ends = text.packed.first.tolist()
        return [
            replace(tree, deprels=tuple([names[k] for k in numbers[start:end]]))
            for tree, start, end in zip(trees, ends, ends[1:])
        ]

    def _chosen(self, text: _LabelledText) -> Ints:
        assert self.weights is not None
        assert self.buckets is not None
        buckets, ends = self._features(text)
        row_of = np.zeros(1 << self.log2_buckets, np.int64)
        row_of[self.buckets] = np.arange(1, len(self.buckets) + 1)
        labels = np.zeros(len(text.heads), np.int64)
        _kernels().choose(
            row_of[buckets], ends, text.tables, text.heads, self.trust, self.weights, _ROOT_LABEL, labels
        )
        return labels

    def _prepared(self, trees: Sequence[Sentence]) -> _LabelledText:
        if any(tree.heads is None for tree in trees):
            raise ValueError("a sentence to label has no heads")
        packed = self._atoms.pack(trees)
        heads = np.array(list(chain.from_iterable(tree.heads or () for tree in trees)), np.int64)
        bits = np.array([row for tree in trees for row in self._bits_of(tree)], np.uint64).reshape(-1, 3)
        tables = np.zeros(len(heads), np.int64)
        _kernels().table_labels(
            bits, heads, packed.first, packed.rows, self.verb_final, self.table.arrays, tables
        )
        return _LabelledText(packed, heads, bits, tables)

    def _bits_of(self, tree: Sentence) -> list[tuple[int, int, int]]:
        """Of ROOT and all words."""
        known, rows = self._bits, [self._bits[ROOT, "_"]]
        for key in zip(tree.tags, tree.feats or ("_",) * len(tree)):
            if key not in known:
                known[key] = self.table.bits_of(*key)
            rows.append(known[key])
        return rows

    def _features(self, text: _LabelledText) -> tuple[Ints, Ints]:
        """Buckets of the features of all words, and where those of each word end (N,)."""
        kernels = _kernels()
        ends, buckets = np.zeros(len(text.heads), np.int64), np.zeros(0, np.int64)
        for _ in range(2):  # once to count, once to fill in
            found = kernels.all_buckets(
                text.packed.rows,
                text.bits,
                text.heads,
                text.packed.first,
                text.tables,
                self.table.arrays.nouns,
                kernels.TABLE,
                64 - self.log2_buckets,
                buckets,
                ends,
            )
            buckets = buckets if len(buckets) == found else np.zeros(found, np.int64)
        return buckets, ends


class _LabelledText(NamedTuple):
    """Trees one after the other: atoms, heads (N,), bits for rules (N + S, 3), the table's labels (N,)."""

    packed: PackedRows
    heads: Ints
    bits: Bits
    tables: Ints


def _number(deprel: str) -> int:
    """The number of a relation in LABELS; -1 of "_" and of what is none."""
    relation = relation_of(deprel)
    return LABELS.index(relation) if relation in LABELS else -1


@cache
def _kernels() -> Any:
    """The module of compiled functions; says on the log if compiling takes long."""
    from dynet_vdgi.jit import announced

    with announced("labelling"):
        from dynet_vdgi.labels import kernels
    return kernels
