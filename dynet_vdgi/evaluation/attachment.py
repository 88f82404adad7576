"""Attachment scores: `evaluate` scores a parse against gold trees under a protocol.

Accuracies are fractions in [0, 1] (NaN over nothing, null in JSON); tables show per cent. The first
two are micro-averages over words, in which the root arc counts like any other:
  dda   directed accuracy: the head is right
  uda   undirected accuracy: the two words are linked by an arc, in either direction
  root  share of sentences whose predicted root words are exactly the gold ones
If both sides have relations, two more scores over words compare universal relations without
subtypes:
  las      head and relation are right; under the protocol every_word, dda and las are the
           official scorer's (CoNLL 2018) UAS and LAS
  labels   the relation is right, whatever the head
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple

from dynet_vdgi.conllu.corpus import Sentences, read, sentences_of
from dynet_vdgi.conllu.deprels import are_labels
from dynet_vdgi.conllu.protocols import STANDARD, Protocol, scoring_protocol
from dynet_vdgi.conllu.sentence import Sentence, Tree
from dynet_vdgi.errors import UsageError, check_kind
from dynet_vdgi.evaluation.pairing import Parsed, check_tree, gold_heads, matched, scored_pair
from dynet_vdgi.relations.ud_relations import relation_of
from dynet_vdgi.system.files import AnyPath
from dynet_vdgi.system.messages import count
from dynet_vdgi.system.text_tables import aligned

if TYPE_CHECKING:
    from dynet_vdgi.rule_tables.rules import RuleSet

BREAKDOWNS = ("tag", "rule", "pair", "distance", "length")

MAX_LENS: tuple[int | None, ...] = (10, 15, 40, None)

_DISTANCES = (("1", 1), ("2", 2), ("3-6", 6), (">=7", math.inf))

_LENGTHS = (
    ("1-5", 5),
    ("6-10", 10),
    ("11-15", 15),
    ("16-20", 20),
    ("21-30", 30),
    ("31-40", 40),
    (">40", math.inf),
)

_NO_RULE = "other"

_UD2 = frozenset({"CCONJ", "obj", "obl"})  # in UD 1 they are CONJ, dobj and nmod

KeyOf = Callable[[str, str, int], str]
"""The row of a break-down for a gold arc, by the tags of head and dependent, and their distance
(root: 0)."""


def _share(part: float | None, whole: int) -> float:
    return part / whole if whole and part is not None else math.nan


@dataclass(frozen=True)
class SentenceTally:
    """Counts over whole sentences, or over words alone; they can be added, and right words may be
    means.

    `sentences` is 0 for words alone. `labelled` counts words whose head and relation are right,
    `labels` words whose relation is right; None unless all sentences have relations on both sides.
    Over the gold arcs of one rule, `dda` is its recall.

    >>> tallies = [SentenceTally(sentences=1, words=4, directed=right) for right in (3, 1)]
    >>> sum(tallies, SentenceTally()).dda
    0.5
    """

    sentences: int = 0
    words: int = 0
    directed: float = 0
    undirected: float = 0
    roots: float = 0
    labelled: float | None = None
    labels: float | None = None

    def __add__(self, other: SentenceTally) -> SentenceTally:
        if not self.words or not other.words:
            return self if self.words else other
        both = zip(vars(self).values(), vars(other).values())
        sums: list[Any] = [None if a is None or b is None else a + b for a, b in both]
        return SentenceTally(*sums)

    @property
    def dda(self) -> float:
        return _share(self.directed, self.words)

    @property
    def uda(self) -> float:
        return _share(self.undirected, self.words)

    @property
    def root_accuracy(self) -> float:
        return _share(self.roots, self.sentences)

    @property
    def las(self) -> float:
        return _share(self.labelled, self.words)

    @property
    def label_accuracy(self) -> float:
        return _share(self.labels, self.words)

    def to_dict(self, *, of_words: bool = False) -> dict[str, float | int | None]:
        """Ready for JSON; `of_words`: without the figures of whole sentences."""
        names = ["words", "directed", "undirected", "dda", "uda"]
        if not of_words:
            names = [
                "sentences",
                *names[:3],
                "roots",
                *names[3:],
                "root_accuracy",
                "las",
                "label_accuracy",
            ]
        numbers = {name: getattr(self, name) for name in names}
        return {name: None if math.isnan(number) else number for name, number in numbers.items()}


def _is_right_undirected(right_heads: Sequence[int], dependent: int, predicted_head: int) -> bool:
    """True if the predicted arc, or its reverse, is a gold arc."""
    return right_heads[dependent - 1] == predicted_head or (
        predicted_head > 0 and right_heads[predicted_head - 1] == dependent
    )


def score_sentence(
    gold: Sentence, predicted: Sequence[int], relations: Sequence[str] | None = None
) -> SentenceTally:
    """Scores of one tree.

    Raises: DataError without gold heads; ValueError if the lengths differ.
    """
    right_heads = gold_heads(gold)
    directed = undirected = 0
    for dependent, (right_head, head) in enumerate(zip(right_heads, predicted, strict=True), 1):
        directed += right_head == head
        undirected += _is_right_undirected(right_heads, dependent, head)
    roots_agree = all(
        (right_head == 0) == (head == 0) for right_head, head in zip(right_heads, predicted)
    )
    labelled = labels = None
    if relations is not None and gold.deprels:
        same = [relation_of(a) == relation_of(b) for a, b in zip(gold.deprels, relations)]
        labelled = sum(r and a == b for r, a, b in zip(same, right_heads, predicted))
        labels = sum(same)
    return SentenceTally(
        1, len(right_heads), directed, undirected, int(roots_agree), labelled, labels
    )


def score(gold: Iterable[Sentence], predicted: Iterable[Sequence[int]]) -> SentenceTally:
    """Scores of all trees, with every word counted. Raises: as `score_sentence`."""
    return sum(
        (score_sentence(*both) for both in zip(gold, predicted, strict=True)), SentenceTally()
    )


LABEL_MEASURES: dict[str, tuple[str, Callable[[SentenceTally], float]]] = {
    "las": ("LAS", lambda tally: tally.las),
    "label_accuracy": ("labels", lambda tally: tally.label_accuracy),
}
"""Titles and values of the relation scores."""


@dataclass(frozen=True)
class Evaluation:
    """All figures of one system on one treebank; its printed form names the protocol first.

    `by_length[m]` is over sentences of at most m words (None: all); `total` and the break-downs
    are over all sentences. `significance` needs the number of right heads and of all words of each
    sentence, `per_sentence`, and, if relations were scored, of words whose head and relation are
    right, `labelled`. `is_ud2`: the gold trees have tags or relations that UD 1 lacks.
    """

    protocol: Protocol
    all_sentences: int
    total: SentenceTally
    by_length: dict[int | None, SentenceTally]
    breakdowns: dict[str, dict[str, SentenceTally]] = field(default_factory=dict)
    per_sentence: tuple[tuple[float, int], ...] = ()
    labelled: tuple[float, ...] = ()
    is_ud2: bool = False

    @property
    def policy(self) -> str:
        """What was scored, in one line, because figures without it cannot be compared."""
        scored = f"{self.total.sentences:,} of {count(self.all_sentences, 'sentence')}"
        what = f"{scored}, {count(self.total.words, 'word')}"
        return f"DDA on {what}; protocol {self.protocol.name}: {self.protocol.description}"

    @property
    def has_labels(self) -> bool:
        """True if relations were scored."""
        return self.total.labels is not None

    def to_dict(self) -> dict[str, Any]:
        """All figures, ready for JSON: accuracies as fractions, null over nothing, or without
        relations."""
        return {
            "protocol": self.protocol.name,
            "policy": self.policy,
            "all_sentences": self.all_sentences,
            "total": self.total.to_dict(),
            "by_length": {length_label(m): tally.to_dict() for m, tally in self.by_length.items()},
            "by": {
                name: {key: cell.to_dict(of_words=name != "length") for key, cell in table.items()}
                for name, table in self.breakdowns.items()
            },
        }

    def __str__(self) -> str:
        tallies = list(self.by_length.values())
        rows = [
            ["per cent", *map(length_label, self.by_length)],
            ["sentences", *(str(tally.sentences) for tally in tallies)],
            ["words", *(str(tally.words) for tally in tallies)],
            ["DDA", *(percent(tally.dda) for tally in tallies)],
            ["UDA", *(percent(tally.uda) for tally in tallies)],
            ["root", *(percent(tally.root_accuracy) for tally in tallies)],
        ]
        if self.has_labels:
            for title, value_of in LABEL_MEASURES.values():
                rows.append([title, *(percent(value_of(tally)) for tally in tallies)])
        return f"{self.policy}\n\n{aligned(rows)}"


def length_label(max_len: int | None) -> str:
    """Name of a length bucket in tables and JSON.

    >>> length_label(10), length_label(None)
    ('<=10', 'all')
    """
    return "all" if max_len is None else f"<={max_len}"


def percent(fraction: float) -> str:
    """One decimal, as in every table of accuracies; "-" over nothing.

    >>> percent(0.5187), percent(float("nan"))
    ('51.9', '-')
    """
    return "-" if math.isnan(fraction) else f"{100 * fraction:.1f}"


def evaluate(
    gold: Sentences,
    parsed: AnyPath | Iterable[Parsed],
    *,
    protocol: str | Protocol = STANDARD,
    max_lens: Sequence[int | None] = MAX_LENS,
    by: Sequence[str] = BREAKDOWNS,
    rules: RuleSet | None = None,
) -> Evaluation:
    """Scores a parse of all gold sentences, word by word, after the protocol has prepared both
    sides.

    Both sides are files or sentences; `parsed` may also be heads only. The arguments after
    `protocol` are as in `GoldTrees.evaluate`.

    Raises:
        DataError: the two sides differ in their sentences, or heads are missing, outside their
        sentence, or no
            tree with one root, as the reader of files wants them; names file and line, or sentence
            and word.
        ConfigError: no such protocol.
        UsageError: no such break-down; or an argument is of another kind.
    """
    check_kind(
        "parsed", parsed, (str, os.PathLike, Iterable), "a file, or sentences, or their heads,"
    )
    check_kind("max_lens", max_lens, Iterable, "a list of lengths")
    by = [by] if isinstance(by, str) else by
    check_kind("by", by, Iterable, "a list of break-downs")
    if rules is not None:
        from dynet_vdgi.rule_tables.rules import RuleSet

        check_kind("rules", rules, RuleSet, "a RuleSet, as rules() gives,")
    if isinstance(parsed, (str, os.PathLike)):
        parsed = read(parsed, heads="required")
    both = paired(sentences_of(gold, heads="required"), parsed, protocol)
    return both.trees.evaluate(both.heads, both.relations, max_lens=max_lens, by=by, rules=rules)


class Paired(NamedTuple):
    """Both sides, reduced to the words that a protocol scores."""

    trees: GoldTrees
    heads: list[Tree]  # predicted, of the same words
    relations: list[tuple[str, ...]] | None  # predicted; None: there are none, or only root and dep


def paired(
    gold: Iterable[Sentence], parsed: Iterable[Parsed], protocol: str | Protocol = STANDARD
) -> Paired:
    """Both sides, reduced to the words that a protocol scores. Raises: as `evaluate`."""
    protocol = scoring_protocol(protocol)
    sentences, predicted, number = [], [], 0
    # What comes from files has been checked there; objects and lists have not.
    for both in matched(gold, parsed):
        number += 1
        check_tree(both[0], both[0].heads or (), f"gold sentence {number}")
        check_tree(both[0], both[1].heads, f"sentence {number} of the prediction")
        left = scored_pair(protocol, *both)
        if left is not None:
            sentences.append(left[0])
            predicted.append(left[1])
    relations = [tree.relations for tree in predicted]
    return Paired(
        GoldTrees(protocol, sentences, number),
        [tree.heads for tree in predicted],
        relations if are_labels(relations) else None,
    )


@dataclass(frozen=True)
class GoldTrees:
    """Gold sentences as a protocol leaves them, for systems that parse exactly these words, as
    baselines do.

    Made by `GoldTrees.of` and `paired`, from `all_sentences` before the protocol dropped any.
    """

    protocol: Protocol
    sentences: Sequence[Sentence]
    all_sentences: int

    @classmethod
    def of(cls, gold: Iterable[Sentence], protocol: str | Protocol = STANDARD) -> GoldTrees:
        """The gold trees that a protocol scores. Raises: DataError if heads are missing."""
        sentences = list(gold)
        return paired(sentences, map(gold_heads, sentences), protocol).trees

    @cached_property
    def is_ud2(self) -> bool:
        """If there are tags or relations that UD 1 lacks."""
        return any(
            not _UD2.isdisjoint((*sentence.tags, *sentence.deprels)) for sentence in self.sentences
        )

    def evaluate(
        self,
        predicted: Iterable[Sequence[int]],
        relations: Sequence[Sequence[str]] | None = None,
        *,
        max_lens: Sequence[int | None] = MAX_LENS,
        by: Sequence[str] = BREAKDOWNS,
        rules: RuleSet | None = None,
    ) -> Evaluation:
        """Scores by length, and by any of `BREAKDOWNS`; `predicted` and `relations` are heads and
        relations of the words of `sentences`; if either side lacks relations, only heads are
        scored.

        "tag" groups words by their own tag, "pair" by the tags of their gold head and their own
        ("NOUN>DET", "ROOT>VERB"), "rule" by the rule of this pair ("other": none; left out without
        `rules`), "distance" by the distance to the gold head, and "length" groups sentences.

        Raises: UsageError for an unknown break-down; ValueError if the lengths differ.
        """
        unknown = [name for name in by if name not in BREAKDOWNS]
        if unknown:
            raise UsageError(f"no break-down {unknown[0]!r} (choose from {', '.join(BREAKDOWNS)})")
        by_length: dict[int | None, SentenceTally] = {
            max_len: SentenceTally() for max_len in max_lens
        }
        bands = {label: SentenceTally() for label, _ in _LENGTHS}
        trees = list(zip(self.sentences, predicted, strict=True))
        tallies: list[SentenceTally] = []
        labels = (
            iter(relations)
            if relations and are_labels(s.deprels for s in self.sentences)
            else repeat(None)
        )
        for (sentence, heads), tree_relations in zip(trees, labels):
            tally = score_sentence(sentence, heads, tree_relations)
            tallies.append(tally)
            for max_len in by_length:
                if max_len is None or len(sentence) <= max_len:
                    by_length[max_len] += tally
            bands[_band(len(sentence), _LENGTHS)] += tally
        tables = {
            name: _over_words(trees, *keys) for name, keys in _keys(rules).items() if name in by
        }
        tables["length"] = bands
        labelled = tuple(tally.labelled for tally in tallies if tally.labelled is not None)
        return Evaluation(
            self.protocol,
            self.all_sentences,
            sum(tallies, SentenceTally()),
            by_length,
            {name: tables[name] for name in by if name in tables},
            tuple((tally.directed, tally.words) for tally in tallies),
            labelled if len(labelled) == len(tallies) else (),
            self.is_ud2,
        )


def _band(number: int, bands: Sequence[tuple[str, float]]) -> str:
    return next(label for label, last in bands if number <= last)


def _keys(rules: RuleSet | None) -> dict[str, tuple[KeyOf, Sequence[str]]]:
    """The break-downs over words: each word's key, and all keys in order; (): the most frequent
    first."""
    break_downs: dict[str, tuple[KeyOf, Sequence[str]]] = {
        "tag": (lambda head, tag, distance: tag, ()),
        "pair": (lambda head, tag, distance: f"{head}>{tag}", ()),
        "distance": (
            lambda head, tag, distance: _band(distance, _DISTANCES) if distance else "root",
            ["root", *(label for label, _ in _DISTANCES)],
        ),
    }
    if rules is not None:
        names = [">".join(pair) for pair in rules.pairs()]
        rule_pairs = frozenset(names)
        break_downs["rule"] = (
            lambda head, tag, distance: (
                pair if (pair := f"{head}>{tag}") in rule_pairs else _NO_RULE
            ),
            [*names, _NO_RULE],
        )
    return break_downs


def _over_words(
    trees: Iterable[tuple[Sentence, Sequence[int]]], key_of: KeyOf, keys: Sequence[str]
) -> dict[str, SentenceTally]:
    """Tallies over words by a key of each word's gold arc."""
    counts: dict[str, list[int]] = {key: [0, 0, 0] for key in keys}
    for sentence, predicted in trees:
        right_heads, tags = gold_heads(sentence), ("ROOT", *sentence.tags)
        for word, (right_head, head) in enumerate(zip(right_heads, predicted), 1):
            key = key_of(tags[right_head], tags[word], abs(right_head - word) if right_head else 0)
            tally = counts.setdefault(key, [0, 0, 0])
            tally[0] += 1
            tally[1] += right_head == head
            tally[2] += _is_right_undirected(right_heads, word, head)
    ordered = keys or sorted(counts, key=lambda key: (-counts[key][0], key))
    return {key: SentenceTally(0, *counts[key]) for key in ordered}
