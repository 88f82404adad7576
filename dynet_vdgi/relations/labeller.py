"""Labels the arcs of trees: by a table or a universal parser, and better once there are trees with
labels.

The labeller is a multinomial logistic regression over hashed features of an arc, learnt by AdaGrad.
Scores begin with what its base says, so without labelled trees the labeller equals the base:
`trust` for the table's label, or, where a universal parser knows the relations of other languages,
its log p and `share` for the table's label.

Letters: n words, N words and S sentences of all trees, c columns of atoms, R rows of weights, Y
relations, L relations of UD 2, T labels of the table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, chain, repeat
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.conllu.punctuation import without_punctuation
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.errors import ModelError
from dynet_vdgi.features.atoms import COLUMNS, GAPS, of_type, packed_rows
from dynet_vdgi.relations import label_features, label_regression, table_kernels
from dynet_vdgi.relations.inventory import OTHER_LABEL, PUNCT_LABEL, ROOT_LABEL, UD, Inventory
from dynet_vdgi.relations.label_regression import Examples, GroupArrays, LearningRoom
from dynet_vdgi.relations.label_rules import ROOT
from dynet_vdgi.relations.label_table import LabelTable
from dynet_vdgi.relations.table_kernels import ArcText
from dynet_vdgi.relations.ud_relations import LABELS, relation_of
from dynet_vdgi.rule_tables.measures import VerbOrder
from dynet_vdgi.system import sparse_weights
from dynet_vdgi.system.array_types import Floats, Ints
from dynet_vdgi.system.jit import Kernel

FORMAT, FORMAT_WITH_LOG_P = 2, 3
"""Versions of the arrays, of weights over the two kinds of base; rise when features or hashing
change."""

PREFIX = "labels/"

TABLE_SHARE = PREFIX + "share"
"""The array of the table's share beside a universal parser; without it the base is the table
alone."""

LEAST_LOG_P = -8.0
"""The least log p, in nats, so that trees can outweigh it."""

RELATIONS = PREFIX + "relations"
"""The array of the relations' names; without it the relations are those of UD 2."""

SINGLE_RELATIONS = (("nsubj", "csubj"), ("obj", "ccomp"))
"""A word has one dependent at most with a relation of such a group, as UD's validator asks."""

CONVENTION_SHARE = 0.03
"""If more of the words with such a dependent have two of them in the trees, that is their
convention."""

FEW_TREES = 30
"""With fewer trees the slow rate is used, so that they do not undo the table."""

SLOW_RATE, FAST_RATE = 0.1, 0.2

FEW_WORDS = 50
"""With fewer words the rate is smaller in proportion: a single tree says little of a language."""

_TABLE = Kernel(table_kernels.table_labels, "labelling")

_BUCKETS = Kernel(label_features.all_buckets, "labelling")

_WEIGH = Kernel(label_regression.add_weights, "labelling")

_LEARN = Kernel(label_regression.learn, "labelling")

# for the features of a word, or learning from it, in the unit of `Kernel`
_WORK, _LEARNING_WORK = 5, 20

LogP = Callable[[Sequence[Sentence], Ints], Floats]
"""log p (N, L) of the relations of LABELS, for trees without punctuation, given their heads
(N,)."""

WordColumns = tuple[str, ...]
"""Universal tag and FEATS, and, if there are weights, form, lemma and XPOS."""


@dataclass(eq=False)
class Labeller:
    """Labels arcs; `fit` learns weights (R, Y), whose row 0 is for features never seen."""

    table: LabelTable
    epochs: int = 8  # weights are averaged over the ends of the later half
    log_p: LogP | None = field(default=None, repr=False)  # of a universal parser
    trust: float = 5.0  # head start of the table's label, in nats
    share: float = 0.5  # the same beside log p, chosen on 31 treebanks: docs/results/labels.md
    log2_buckets: int = 18
    seed: int = 1  # of the order of the words
    verb_order: int = VerbOrder.OTHER
    inventory: Inventory = UD
    weights: Floats | None = field(default=None, repr=False)
    # (R - 1,), the buckets of the rows from 1 on
    buckets: Ints | None = field(default=None, repr=False)
    # (Y,), the group in SINGLE_RELATIONS, from 1 on, of universal parts
    single_groups: Ints = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.inventory = self.inventory.with_labels(self.table.own_labels)
        self.single_groups = self._single_groups(range(len(SINGLE_RELATIONS)))
        # Of the words met so far.
        self._bits: dict[WordColumns, tuple[int, int, int]] = {
            (ROOT, "_"): self.table.bits_of(ROOT, "_")
        }

    def fit(
        self,
        trees: Iterable[Sentence],
        *,
        verb_order: int = VerbOrder.OTHER,
        punctuation: str = "punct",
    ) -> Labeller:
        """Learns from the words that have a head and a relation, whatever relations these are.

        `verb_order`: the place of verbs in the text, a `rule_tables.measures.VerbOrder`.
        `punctuation`: the relation of punctuation, which the trees no longer contain.

        Raises:
            VdgiError: a relation cannot stand in CoNLL-U, or there are too many different ones.
        """
        self.verb_order, self.weights, self.buckets = verb_order, None, None
        labelled = [tree for tree in trees if tree.heads and tree.deprels]
        if not labelled:
            return self
        text = self._text_of(labelled, with_forms=True)
        deprels = [deprel for tree in labelled for deprel in tree.deprels]
        words = np.array(
            [k for k, name in enumerate(deprels) if name != "_" and text.arcs.heads[k] >= 0],
            np.int64,
        )
        relations, tables = [deprels[k] for k in words], text.labels[words]
        inventory = Inventory.of_trees(
            relations, tables.tolist(), text.arcs.heads[words] == 0, punctuation
        )
        self.inventory = inventory.with_labels(self.table.own_labels)
        self.single_groups = self._single_groups(_respected_groups(labelled))
        number = self.inventory.numbers
        gold = np.array([number.get(name, ROOT_LABEL) for name in relations], np.int64)
        buckets, ends = self._features(text)
        starts = np.concatenate([[0], ends[:-1]])
        used = [buckets[starts[word] : ends[word]] for word in words]
        self.buckets = np.unique(np.concatenate([*used, buckets[:0]]))
        rows = np.searchsorted(self.buckets, np.concatenate([*used, buckets[:0]])) + 1
        first = np.concatenate([[0], np.cumsum(ends[words] - starts[words])])
        parts = self.inventory.part_of_relation[gold]
        examples = Examples(rows, first, self._offsets(text)[words], gold, parts)
        self.weights = self._learn(examples, len(labelled))
        return self

    def _learn(self, examples: Examples, n_trees: int) -> Floats:
        """Weights (R, Y) by AdaGrad, averaged."""
        n_examples, n_relations = len(examples.relations), len(self.names)
        shape = (int(examples.rows.max(initial=0)) + 1, n_relations)
        weights, squares, total = np.zeros(shape), np.ones(shape), np.zeros(shape)
        rng = np.random.default_rng(self.seed)
        rate = SLOW_RATE if n_trees < FEW_TREES else FAST_RATE
        rate *= min(1.0, n_examples / FEW_WORDS)
        groups = self.inventory.groups
        arrays = GroupArrays(groups.group, groups.may_stand_alone, groups.n_subtypes)
        room = LearningRoom(np.zeros(n_relations), np.zeros(n_relations))
        first_averaged = self.epochs // 2
        for epoch in range(self.epochs):
            order = rng.permutation(n_examples)
            work = _LEARNING_WORK * n_examples
            _LEARN(examples, arrays, order, rate, weights, squares, room, work=work)
            if epoch >= first_averaged:
                total += weights
        average = total / max(1, self.epochs - first_averaged)
        return average.astype(np.float32).astype(np.float64)  # in the precision of a model file

    def _single_groups(self, which: Iterable[int]) -> Ints:
        """`alone` for some of the groups."""
        single_groups = np.zeros(len(self.names), np.int64)
        for group in which:
            single_groups[[LABELS.index(name) for name in SINGLE_RELATIONS[group]]] = group + 1
        return single_groups

    def _offsets(self, text: _LabelledText) -> Floats:
        """What the base gives to relations (N, Y)."""
        favoured_of_label = self.inventory.favoured_relations(self.table.names)
        offsets = np.zeros((len(text.arcs.heads), len(self.names)))
        if text.log_p is None:
            favoured = favoured_of_label[text.labels]
            offsets[favoured >= 0, favoured[favoured >= 0]] = self.trust
            return offsets
        favoured_of_ud, p = favoured_of_label[: len(LABELS)], np.exp(text.log_p)
        for label in np.flatnonzero(favoured_of_ud >= 0).tolist():
            offsets[:, favoured_of_ud[label]] += p[:, label]
        is_part = self.inventory.part_of_relation == np.arange(len(self.names))
        offsets[:, is_part] = np.log(np.maximum(offsets[:, is_part], np.exp(LEAST_LOG_P)))
        return offsets

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays that `from_arrays` reads; neither the table nor log p is part of them."""
        shares = {} if self.log_p is None else {TABLE_SHARE: np.array([self.share])}
        version = FORMAT if self.log_p is None else FORMAT_WITH_LOG_P
        buckets = np.zeros(0, np.int64) if self.buckets is None else self.buckets
        weights = np.zeros((1, len(self.inventory.names))) if self.weights is None else self.weights
        relations = {} if self.inventory == UD else {RELATIONS: self.inventory.to_array()}
        return {
            **relations,
            **shares,
            PREFIX + "shape": np.array([version, self.log2_buckets, self.verb_order], np.int64),
            PREFIX + "alone": np.unique(self.single_groups[self.single_groups > 0]) - 1,
            PREFIX + "buckets": buckets.astype(np.int32),  # (R - 1,), ascending
            PREFIX + "weights": weights[1:].astype(np.float32),  # (R - 1, Y)
        }

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, NDArray[Any]], table: LabelTable, log_p: LogP | None = None
    ) -> Labeller:
        """The labeller with these `arrays`, this table and log p; other arrays are ignored.

        Raises:
            ModelError: an array is missing, or the arrays are not from such a labeller of this
            version.
        """
        share = arrays.get(TABLE_SHARE, np.ones(1))
        if (
            share.shape != (1,)
            or not np.isfinite(share).all()
            or (TABLE_SHARE in arrays) != (log_p is not None)
        ):
            raise ModelError(f"no labeller: {TABLE_SHARE} does not fit the parser")
        version = FORMAT if log_p is None else FORMAT_WITH_LOG_P
        inventory = UD
        if RELATIONS in arrays:
            inventory = Inventory.from_array(arrays[RELATIONS])
        n_relations = len(inventory.names)
        stored = sparse_weights.rows_from_arrays(
            arrays, PREFIX, "labeller", version, (n_relations,), n_options=1
        )
        (verb_order,) = stored.options
        if verb_order not in list(VerbOrder):
            raise ModelError(f"no labeller: {verb_order} is no order of verbs")
        labeller = cls(
            table,
            log_p=log_p,
            share=float(share[0]),
            log2_buckets=stored.log2_buckets,
            verb_order=verb_order,
            inventory=inventory,
        )
        groups = arrays.get(PREFIX + "alone", np.zeros(0, np.int64))
        if groups.dtype.kind != "i" or not set(groups.ravel().tolist()) <= set(
            range(len(SINGLE_RELATIONS))
        ):
            raise ModelError(f"no labeller: {PREFIX}alone are no groups of relations")
        labeller.single_groups = labeller._single_groups(groups.tolist())
        if len(stored.buckets):
            labeller.buckets = stored.buckets.astype(np.int64)
            n_new = len(labeller.inventory.names) - n_relations  # labels of the table
            labeller.weights = np.pad(stored.rows.astype(np.float64), ((1, 0), (0, n_new)))
        return labeller

    def predict(self, sentences: Iterable[Sentence]) -> list[Sentence]:
        """The sentences, which have no punctuation, with relations; a word without a head gets "_".

        Raises:
            ValueError: a sentence has no heads.
        """
        trees = list(sentences)
        text = self._text_of(trees, with_forms=self.weights is not None)
        named = self._named(np.where(text.arcs.heads < 0, -1, self._labels(text)), text.arcs.first)
        return [replace(tree, deprels=relations) for tree, relations in zip(trees, named)]

    def likely_relations(self, tree: Sentence, most: int = 5) -> list[list[tuple[str, float]]]:
        """The most probable relations of each word of a tree without punctuation, the best first.

        A word whose head is 0 is the root; one without a head has none.
        """
        ranked: list[list[tuple[str, float]]] = []
        for head, row in zip(tree.heads or (), self.chances([tree])):
            best = np.argsort(-row, kind="stable")[:most].tolist() if head > 0 else []
            ranked.append([(self.names[k], float(row[k])) for k in best if row[k] > 0])
            if head == 0:
                ranked[-1] = [(self.names[ROOT_LABEL], 1.0)]
        return ranked

    def chances(self, trees: Sequence[Sentence]) -> Floats:
        """The probabilities (N, Y) of the relations of all words of trees without punctuation,
        given their heads."""
        return self.inventory.groups.chances(
            self._scores(self._text_of(trees, with_forms=self.weights is not None))
        )

    def relations(
        self,
        sentences: Sequence[Sentence],
        heads: Sequence[Sequence[int]],
        *,
        verb_order: int | None = None,
        ignored: Collection[str] = (),
        parsed: Sequence[tuple[Sequence[int], Floats | None]] | None = None,
    ) -> list[tuple[str, ...]]:
        """The relations (n,) of sentences as they stand, with punctuation, under these heads (n,).

        Words are labelled as if punctuation were absent; its own relation is `punct`. `root` is the
        relation of words whose head is 0, and only of these. `verb_order`: of this text; None: as
        learnt. `ignored`: what is not to be seen, see `Sentence.ignoring`. `parsed`: the heads (m,)
        that the parser has found for each sentence without punctuation, and log p (m, L) of their
        relations; only the rest is computed.
        """
        trees, places = [], []
        for sentence, tree in zip(sentences, heads):
            bare, bare_places = without_punctuation(
                replace(sentence, heads=tuple(tree), deprels=())
            )
            trees.append(bare.ignoring(ignored))
            places.append(bare_places)
        rows = [
            log_p if heads_before == tree.heads else None
            for (heads_before, log_p), tree in zip(parsed or (), trees)
        ]
        log_p = self._log_p(trees, rows)
        text = self._text_of(
            trees, with_forms=self.weights is not None, verb_order=verb_order, log_p=log_p
        )
        labels = np.where(text.arcs.heads < 0, -1, self._labels(text))
        punct, root, dep = (self.names[label] for label in (PUNCT_LABEL, ROOT_LABEL, OTHER_LABEL))
        deprels = []
        for bare_places, tree, names in zip(places, heads, self._named(labels, text.arcs.first)):
            relations = [punct] * len(tree)
            for place, name in zip(bare_places, names):
                # its head is punctuation, the root
                relations[place - 1] = dep if name == root else name
            for place, head in enumerate(tree):
                if head == 0:
                    relations[place] = root
                elif head < 0:
                    relations[place] = "_"
            deprels.append(tuple(relations))
        return deprels

    def _log_p(
        self, trees: Sequence[Sentence], rows_before: Sequence[Floats | None] = ()
    ) -> Floats | None:
        """log p (N, L) of the relations in trees; `rows_before` has that of
        some."""
        if self.log_p is None:
            return None
        rows = list(rows_before) or [None] * len(trees)
        rest = [k for k, row in enumerate(rows) if row is None]
        if rest:
            others = [trees[k] for k in rest]
            log_p_of_others = self.log_p(others, _flat_heads(others))
            ends = np.cumsum([len(tree) for tree in others])
            for k, row in zip(rest, np.split(log_p_of_others, ends[:-1])):
                rows[k] = row
        return np.concatenate(
            [np.zeros((0, len(LABELS))), *(row for row in rows if row is not None)]
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The relations that may be written, by number."""
        return self.inventory.names

    def _named(self, labels: Ints, first: Ints) -> list[tuple[str, ...]]:
        """The relations of every sentence; -1 is "_"."""
        names_and_none = (*self.names, "_")
        names = [names_and_none[k] for k in labels.tolist()]
        ends = first.tolist()
        return [tuple(names[start:end]) for start, end in zip(ends, ends[1:])]

    def _labels(self, text: _LabelledText) -> Ints:
        """The relations (N,) of words with a head, by number."""
        if self.weights is None and text.log_p is None:
            number = self.inventory.numbers
            return np.array([number[label] for label in self.table.names], np.int64)[text.labels]
        return self._decide(self._scores(text), text.arcs)

    def _decide(self, scores: Floats, arcs: ArcText) -> Ints:
        """The best relations (N,) by scores (N, Y): the root's for arcs from ROOT, and only for
        these.

        Of the relations of a group in `single_groups`, a word has one dependent: the one whose best
        relation of the group is farthest above its best other one, the first of equals. For the
        others these relations are no candidates any longer.
        """
        best, heads = self.inventory.groups.best, arcs.heads
        labels = np.where(heads == 0, ROOT_LABEL, best(scores))
        # another for each sentence
        head_at = heads + np.repeat(arcs.first[:-1], np.diff(arcs.first))
        while True:
            groups = np.where(
                heads > 0, self.single_groups[self.inventory.part_of_relation[labels]], 0
            )
            keys = head_at * (len(SINGLE_RELATIONS) + 1) + groups
            words = np.flatnonzero(groups)
            group_keys = keys[words].tolist()
            times = Counter(group_keys)
            words = words[[times[key] > 1 for key in group_keys]]
            if not len(words):
                return labels
            is_inside = self.single_groups == groups[words][:, None]
            inside = np.where(is_inside, scores[words], -np.inf).max(axis=1)
            margins = inside - np.where(is_inside, -np.inf, scores[words]).max(axis=1)
            order = np.lexsort((words, -margins, keys[words]))
            is_beaten = np.concatenate([[False], np.diff(keys[words][order]) == 0])
            losers = order[is_beaten]
            scores[words[losers]] = np.where(is_inside[losers], -np.inf, scores[words[losers]])
            labels[words[losers]] = best(scores[words[losers]])

    def _scores(self, text: _LabelledText) -> Floats:
        """The scores (N, Y) of relations."""
        scores = self._offsets(text)
        if self.weights is not None and self.buckets is not None:
            row_of = np.zeros(1 << self.log2_buckets, np.int64)
            row_of[self.buckets] = np.arange(1, len(self.buckets) + 1)
            buckets, ends = self._features(text)
            _WEIGH(row_of[buckets], ends, self.weights, scores, work=_WORK * len(ends))
        return scores

    def _text_of(
        self,
        trees: Sequence[Sentence],
        *,
        with_forms: bool,
        verb_order: int | None = None,
        log_p: Floats | None = None,
    ) -> _LabelledText:
        """Trees without punctuation as arrays."""
        if any(tree.heads is None for tree in trees):
            raise ValueError("a sentence to label has no heads")
        words, ids = _numbered(trees, with_forms)
        first = np.concatenate([[0], np.cumsum([len(tree) for tree in trees], dtype=np.int64)])
        heads = _flat_heads(trees)
        gaps_before: list[int] = []  # the number of gaps up to each word of its sentence
        for tree in trees:
            gaps_before += accumulate(int(gap != "") for gap in tree.gaps[: len(tree)])
            if not tree.gaps:
                gaps_before += [0] * len(tree)
        gaps = np.array(gaps_before, np.int64)
        if log_p is None:
            log_p = self._log_p(trees)
        sentence = np.repeat(np.arange(len(trees)), np.diff(first))
        bits_of_word_types = np.array(
            [self._bits_of(word[:2]) for word in words], np.uint64
        ).reshape(-1, 3)
        bits = np.empty((len(ids) + len(trees), 3), np.uint64)
        bits[first[:-1] + np.arange(len(trees))] = self._bits_of((ROOT, "_"))
        bits[np.arange(len(ids)) + sentence + 1] = bits_of_word_types[ids]
        rows = np.zeros((0, len(COLUMNS)), np.uint64)
        if with_forms:
            atoms = np.array([of_type(*word) for word in words], np.uint64).reshape(
                -1, len(COLUMNS)
            )
            packed, at = packed_rows(atoms[ids], first)
            packed.rows[at, GAPS] = gaps
            rows = packed.rows
        arcs, labels = ArcText(rows, bits, heads, first, gaps), np.zeros(len(ids), np.int64)
        order = int(self.verb_order if verb_order is None else verb_order)
        _TABLE(arcs, order, self.table.arrays, np.zeros_like(bits), labels, work=len(ids))
        if log_p is not None:
            log_p = np.maximum(log_p, LEAST_LOG_P)
            is_ud = labels < len(LABELS)
            log_p[is_ud, labels[is_ud]] += self.share
        return _LabelledText(arcs, labels, log_p)

    def _bits_of(self, word: WordColumns) -> tuple[int, int, int]:
        bits = self._bits.get(word)
        if bits is None:
            bits = self._bits[word] = self.table.bits_of(*word)
        return bits

    def _features(self, text: _LabelledText) -> tuple[Ints, Ints]:
        """Buckets of the features of all words, and the end of each word's buckets (N,)."""
        ends = np.zeros(len(text.labels), np.int64)
        buckets = np.zeros(label_features.MOST_FEATURES * len(ends), np.int64)
        nouns, shift = self.table.arrays.nouns, 64 - self.log2_buckets
        _BUCKETS(
            text.arcs,
            text.labels,
            nouns,
            label_features.TABLE,
            shift,
            buckets,
            ends,
            work=_WORK * len(ends),
        )
        return buckets[: ends.max(initial=0)], ends


def _respected_groups(trees: Iterable[Sentence]) -> list[int]:
    """The groups of SINGLE_RELATIONS of which words have one dependent at most in these trees."""
    respected = []
    trees = list(trees)
    for group, names in enumerate(SINGLE_RELATIONS):
        counts: list[int] = []  # of such dependents of a word
        for tree in trees:
            arcs = zip(tree.heads or (), tree.deprels)
            heads = Counter(head for head, relation in arcs if relation_of(relation) in names)
            counts += heads.values()
        if sum(n > 1 for n in counts) <= CONVENTION_SHARE * len(counts):
            respected.append(group)
    return respected


class _LabelledText(NamedTuple):
    """Trees, without atoms where a table alone labels, and what the base says of their words."""

    arcs: ArcText
    labels: Ints  # (N,), the table's
    log_p: Floats | None  # (N, L), with the table's share; None: the table alone


def _flat_heads(trees: Iterable[Sentence]) -> Ints:
    """The heads (N,) of all words."""
    return np.array(list(chain.from_iterable(tree.heads or () for tree in trees)), np.int64)


def _numbered(sentences: Iterable[Sentence], with_forms: bool) -> tuple[list[WordColumns], Ints]:
    """The different words, and the number of each word (N,) among them."""
    numbers: dict[WordColumns, int] = {}
    ids: list[int] = []
    for sentence in sentences:
        columns: list[Iterable[str]] = [
            sentence.upos or sentence.tags,
            sentence.feats or repeat("_"),
        ]
        if with_forms:
            columns += [
                sentence.forms,
                sentence.lemmas or repeat("_"),
                sentence.xpos or repeat("_"),
            ]
        ids += [numbers.setdefault(word, len(numbers)) for word in zip(*columns)]
    return list(numbers), np.array(ids, np.int64)
