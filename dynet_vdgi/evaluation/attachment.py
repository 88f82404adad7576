"""How many heads are right: totals by length, and break-downs. `tables` shows them.

Accuracies are fractions in [0, 1] (NaN over nothing, null in JSON); tables show per cent. The first two are
micro-averages over words, in which the root arc counts like any other:
  dda   directed accuracy: the head is right
  uda   undirected accuracy: the arc between the two words is there, whichever is the head
  root  share of sentences whose predicted root words are exactly the gold ones
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from dynet_vdgi.data.protocols import Protocol
from dynet_vdgi.data.punctuation import heads_without, is_projective, without_punctuation
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.errors import DataError, UsageError
from dynet_vdgi.names import count

EVERY_WORD = Protocol("every_word", frozenset(), projective_only=False)
"""For scoring only: every word of every tree counts, so DDA is the UAS of the official UD scorer, udeval."""

BREAKDOWNS = ("tag", "rule", "distance", "length")
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


# ------------------------------------------------------------------------------------------- counts
def _share(part: float, whole: int) -> float:
    return part / whole if whole else math.nan


@dataclass(frozen=True)
class Tally:
    """Counts over words that need not be whole sentences. Adds up.

    Over the gold arcs of one rule, `dda` is the rule's recall.
    """

    words: int = 0
    directed: float = 0
    undirected: float = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.words + other.words, self.directed + other.directed, self.undirected + other.undirected
        )

    @property
    def dda(self) -> float:
        return _share(self.directed, self.words)

    @property
    def uda(self) -> float:
        return _share(self.undirected, self.words)

    def to_dict(self) -> dict[str, float | int | None]:
        return {
            "words": self.words,
            "directed": self.directed,
            "undirected": self.undirected,
            "dda": _or_null(self.dda),
            "uda": _or_null(self.uda),
        }


@dataclass(frozen=True)
class Scores:
    """Counts over whole sentences. Adds up: `sum(parts, Scores())`. Counts of what is right may be means.

    >>> (Scores(sentences=1, words=4, directed=3) + Scores(sentences=1, words=4, directed=1)).dda
    0.5
    """

    sentences: int = 0
    words: int = 0
    directed: float = 0
    undirected: float = 0
    roots: float = 0

    def __add__(self, other: Scores) -> Scores:
        return Scores(
            self.sentences + other.sentences,
            self.words + other.words,
            self.directed + other.directed,
            self.undirected + other.undirected,
            self.roots + other.roots,
        )

    @property
    def dda(self) -> float:
        return _share(self.directed, self.words)

    @property
    def uda(self) -> float:
        return _share(self.undirected, self.words)

    @property
    def root_accuracy(self) -> float:
        return _share(self.roots, self.sentences)

    def to_dict(self) -> dict[str, float | int | None]:
        return {
            "sentences": self.sentences,
            "words": self.words,
            "directed": self.directed,
            "undirected": self.undirected,
            "roots": self.roots,
            "dda": _or_null(self.dda),
            "uda": _or_null(self.uda),
            "root_accuracy": _or_null(self.root_accuracy),
        }


def _or_null(value: float) -> float | None:
    return None if math.isnan(value) else value


def _gold_heads(sentence: Sentence) -> tuple[int, ...]:
    if sentence.heads is None:
        path, line = _place(sentence, "gold")
        raise DataError(path, line, "the sentence has no heads", "gold trees are needed to score")
    return sentence.heads


def _is_right_undirected(gold_heads: Sequence[int], dependent: int, predicted_head: int) -> bool:
    """The predicted arc is a gold arc, or is one when reversed."""
    return gold_heads[dependent - 1] == predicted_head or (
        predicted_head > 0 and gold_heads[predicted_head - 1] == dependent
    )


def score_sentence(gold: Sentence, predicted: Sequence[int]) -> Scores:
    """Scores of one tree. Raises: DataError without gold heads; ValueError if the lengths differ."""
    gold_heads = _gold_heads(gold)
    if len(predicted) != len(gold_heads):
        raise ValueError(
            f"{len(predicted)} predicted heads for {len(gold_heads)} words: {' '.join(gold.forms)}"
        )
    directed = undirected = 0
    for dependent, (gold_head, head) in enumerate(zip(gold_heads, predicted), 1):
        directed += gold_head == head
        undirected += _is_right_undirected(gold_heads, dependent, head)
    roots_agree = all((gold_head == 0) == (head == 0) for gold_head, head in zip(gold_heads, predicted))
    return Scores(1, len(gold_heads), directed, undirected, int(roots_agree))


def score(gold: Iterable[Sentence], predicted: Iterable[Sequence[int]]) -> Scores:
    """Scores of all trees; both sides are consumed lazily. Raises: as `score_sentence`."""
    return sum((score_sentence(*both) for both in _zip_equal(gold, predicted)), Scores())


def _zip_equal(
    gold: Iterable[Sentence], predicted: Iterable[Sequence[int]]
) -> Iterator[tuple[Sentence, Sequence[int]]]:
    for sentence, heads in zip_longest(gold, predicted):
        if sentence is None or heads is None:
            raise ValueError("gold and prediction differ in their number of sentences")
        yield sentence, heads


# ------------------------------------------------------------------------------------------- report
def policy_line(protocol: Protocol, kept_sentences: int, all_sentences: int, words: int) -> str:
    """What was scored, in one line; figures without it cannot be compared."""
    return (
        f"DDA on {kept_sentences} of {all_sentences} sentences, {words} words; "
        f"protocol {protocol.name}: {protocol.description}"
    )


@dataclass(frozen=True)
class Report:
    """All figures of one system on one treebank.

    `by_length[m]` is over sentences of at most m words (None: all); `total` over all of them, and so are the
    break-downs. `breakdowns["length"]` holds Scores, the others Tally. `per_sentence` are the words right and
    the words of each sentence, for `significance`.
    """

    protocol: Protocol
    all_sentences: int
    total: Scores
    by_length: dict[int | None, Scores]
    breakdowns: dict[str, dict[str, Tally] | dict[str, Scores]] = field(default_factory=dict)
    per_sentence: tuple[tuple[float, int], ...] = ()

    @property
    def policy(self) -> str:
        return policy_line(self.protocol, self.total.sentences, self.all_sentences, self.total.words)

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON: accuracies as fractions, null over nothing."""
        return {
            "protocol": self.protocol.name,
            "policy": self.policy,
            "all_sentences": self.all_sentences,
            "total": self.total.to_dict(),
            "by_length": {length_label(m): scores.to_dict() for m, scores in self.by_length.items()},
            "by": {
                name: {key: cell.to_dict() for key, cell in table.items()}
                for name, table in self.breakdowns.items()
            },
        }


def length_label(max_len: int | None) -> str:
    """Name of a length bucket in tables and JSON.

    >>> length_label(10), length_label(None)
    ('<=10', 'all')
    """
    return "all" if max_len is None else f"<={max_len}"


def evaluate(
    gold_sentences: Iterable[Sentence],
    predicted_heads: Iterable[Sequence[int]],
    protocol: Protocol,
    max_lens: Sequence[int | None] = MAX_LENS,
    by: Sequence[str] = BREAKDOWNS,
    rules: Iterable[tuple[str, str]] | None = None,
    all_sentences: int | None = None,
) -> Report:
    """Scores by length and by tag of the dependent, rule, distance to the gold head and sentence length.

    The sentences must already be as `protocol` leaves them (`pair`, `treebank.prepare`); here it is only
    named. `all_sentences` is how many there were before that (default: none was dropped). `rules` are pairs
    (head tag, dependent tag), "ROOT" for the root; without them there is no break-down by rule, with them its
    row "other" has the gold arcs of no rule. Both iterables are consumed lazily, once.

    Raises: UsageError for an unknown break-down; otherwise as `score`.
    """
    unknown = [name for name in by if name not in BREAKDOWNS]
    if unknown:
        raise UsageError(f"no break-down {unknown[0]!r} (choose from {', '.join(BREAKDOWNS)})")
    total = Scores()
    by_length: dict[int | None, Scores] = {max_len: Scores() for max_len in max_lens}
    bands = {label: Scores() for label, _ in _LENGTHS}
    counters = _word_counters(by, rules)
    per_sentence: list[tuple[float, int]] = []
    for sentence, heads in _zip_equal(gold_sentences, predicted_heads):
        scores = score_sentence(sentence, heads)
        total += scores
        per_sentence.append((scores.directed, scores.words))
        for max_len in by_length:
            if max_len is None or len(sentence) <= max_len:
                by_length[max_len] += scores
        bands[_band(len(sentence), _LENGTHS)] += scores
        for counter in counters.values():
            counter.add(sentence, heads)
    breakdowns: dict[str, dict[str, Tally] | dict[str, Scores]] = {
        name: bands if name == "length" else counters[name].table()
        for name in by
        if name == "length" or name in counters
    }
    n_all = total.sentences if all_sentences is None else all_sentences
    return Report(protocol, n_all, total, by_length, breakdowns, tuple(per_sentence))


def _band(number: int, bands: Sequence[tuple[str, float]]) -> str:
    return next(label for label, last in bands if number <= last)


class _WordCounter:
    """Tallies over words, by a key of each word's gold arc."""

    def __init__(self, key_of: Callable[[Sentence, int, int], str], keys: Iterable[str] = ()) -> None:
        self._key_of = key_of
        self._fixed_keys = tuple(keys)
        self._counts: dict[str, list[int]] = {key: [0, 0, 0] for key in self._fixed_keys}

    def add(self, sentence: Sentence, predicted: Sequence[int]) -> None:
        gold_heads = _gold_heads(sentence)
        for dependent, (gold_head, head) in enumerate(zip(gold_heads, predicted), 1):
            counts = self._counts.setdefault(self._key_of(sentence, dependent, gold_head), [0, 0, 0])
            counts[0] += 1
            counts[1] += gold_head == head
            counts[2] += _is_right_undirected(gold_heads, dependent, head)

    def table(self) -> dict[str, Tally]:
        """In the order of the fixed keys, otherwise the most frequent first."""
        counts = self._counts
        keys = self._fixed_keys or sorted(counts, key=lambda key: (-counts[key][0], key))
        return {key: Tally(*counts[key]) for key in keys}


def _word_counters(by: Sequence[str], rules: Iterable[tuple[str, str]] | None) -> dict[str, _WordCounter]:
    counters: dict[str, _WordCounter] = {}
    if "tag" in by:
        counters["tag"] = _WordCounter(lambda sentence, dependent, head: sentence.tags[dependent - 1])
    if "distance" in by:
        counters["distance"] = _WordCounter(
            lambda sentence, dependent, head: _band(abs(head - dependent), _DISTANCES) if head else "root",
            ["root", *(label for label, _ in _DISTANCES)],
        )
    if "rule" in by and rules is not None:
        names = {rule: f"{rule[0]}>{rule[1]}" for rule in rules}

        def rule_of(sentence: Sentence, dependent: int, head: int) -> str:
            head_tag = sentence.tags[head - 1] if head else "ROOT"
            return names.get((head_tag, sentence.tags[dependent - 1]), _NO_RULE)

        counters["rule"] = _WordCounter(rule_of, [*names.values(), _NO_RULE])
    return counters


# ------------------------------------------------------------------------------------------- two files
def pair(
    gold_sentences: Iterable[Sentence], predicted_sentences: Iterable[Sentence], protocol: Protocol
) -> tuple[list[Sentence], list[tuple[int, ...]]]:
    """Gold sentences as the protocol leaves them, and the predicted heads of the same words.

    The two sides must hold the same sentences, word for word. What is removed is decided by the gold side
    alone (its tags, its trees); predicted heads are re-attached as the gold ones are.

    Raises: DataError naming file:line of both where they differ, or where heads are missing.
    """
    gold: list[Sentence] = []
    heads: list[tuple[int, ...]] = []
    for sentence, predicted in iterate_pairs(gold_sentences, predicted_sentences, protocol):
        gold.append(sentence)
        heads.append(predicted)
    return gold, heads


def iterate_pairs(
    gold_sentences: Iterable[Sentence], predicted_sentences: Iterable[Sentence], protocol: Protocol
) -> Iterator[tuple[Sentence, tuple[int, ...]]]:
    """`pair`, one sentence at a time."""
    last_gold: Sentence | None = None
    last_predicted: Sentence | None = None
    both = zip_longest(gold_sentences, predicted_sentences)
    for number, (gold, predicted) in enumerate(both, 1):
        if gold is None:
            path, line = _place(predicted, "prediction")
            end = f"{_place(last_gold, 'gold')[0]} ends after {number - 1} sentences"
            raise DataError(path, line, f"sentence {number} is one too many: {end}", _SAME)
        if predicted is None:
            path, _ = _place(last_predicted, "prediction")
            message = (
                f"ends after {number - 1} sentences, but {_where(gold, 'gold')} begins sentence {number}"
            )
            raise DataError(path, None, message, _SAME)
        last_gold, last_predicted = gold, predicted
        _check_same_words(gold, predicted, number)
        _gold_heads(gold)
        if predicted.heads is None:
            path, line = _place(predicted, "prediction")
            raise DataError(path, line, f"sentence {number} has no heads", "is it the file that was parsed?")
        kept, positions = without_punctuation(gold, protocol.removed_tags)
        if not len(kept) or (protocol.projective_only and not is_projective(_gold_heads(kept))):
            continue
        yield kept, heads_without(predicted.heads, positions)


_SAME = "both files must hold the same sentences in the same order"


def _check_same_words(gold: Sentence, predicted: Sentence, number: int) -> None:
    if gold.forms == predicted.forms:
        return
    if len(gold) != len(predicted):
        path, line = _place(predicted, "prediction")
        message = f"sentence {number} has {_words(predicted)}, but {_where(gold, 'gold')} has {_words(gold)}"
        hint = _SAME
        if predicted.forms == without_punctuation(gold)[0].forms:
            hint = "its punctuation is missing; score a parse of the complete file"
        raise DataError(path, line, message, hint)
    word = next(w for w, (a, b) in enumerate(zip(gold.forms, predicted.forms), 1) if a != b)
    path, line = _place(predicted, "prediction", word)
    other = f"{_where(gold, 'gold', word)} has {gold.forms[word - 1]!r}"
    form = predicted.forms[word - 1]
    raise DataError(path, line, f"word {word} of sentence {number} is {form!r}, but {other}", _SAME)


def _words(sentence: Sentence) -> str:
    return count(len(sentence), "word")


def _place(sentence: Sentence | None, role: str, word: int | None = None) -> tuple[str, int | None]:
    """Path and line of a sentence, or of one of its words; `<role>` stands for an unknown path."""
    if sentence is None or sentence.source is None:
        return f"<{role}>", None
    source = sentence.source
    return source.path, source.line + (0 if word is None else source.rows[word - 1])


def _where(sentence: Sentence, role: str, word: int | None = None) -> str:
    path, line = _place(sentence, role, word)
    return path if line is None else f"{path}:{line}"
