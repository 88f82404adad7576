"""The universal retagger: what numbers of words say in every language corrects a tagger of few
tagged sentences.

    l = tanh(U u + u0)                                                  u: numbers of the text
    x_i = relu(V [numbers of the type; flags] + C [what the tagger says] + L l + x0)
    logits_i = a log(P_i + .0001) + O [BiLSTM(x)_i; x_i] + o            P: by the tagger
    P'_i = softmax(logits_i) ** .8  P_i ** .2  w ** is_new_i, to sum up to 1

w moves the tags of words whose type no tagged word has towards as much of each as types have that
one tagged word has: how frequent adverbs are differs by language, and the network expects what its
own languages have. It has learnt from treebanks of other languages, each tagged by taggers of 20 to
200 of its sentences (experiments/retagger.py), and sees no letters, only which types share some.
Punctuation, which is what the tagger takes for it, is left out.

Letters: N words; W of them that are no punctuation; T tags of the tagger, U of `encoding.TAGS`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from dynet_vdgi.errors import ModelError
from dynet_vdgi.models.archive import Archive, opened
from dynet_vdgi.settings.bundled import resources
from dynet_vdgi.system.array_types import Flags, Floats, Floats32, Ints
from dynet_vdgi.universal.encoding import MIXED, N_TAGS, NO_GAP, STRONG, TAG, WEAK, kind_of_gap
from dynet_vdgi.words.tagger.crf import checked_array
from dynet_vdgi.words.tagger.spelling import WordTypes
from dynet_vdgi.words.tagger.type_means import TypeMeans
from dynet_vdgi.words.tagger.word_numbers import N_NUMBERS, N_OF_TEXT, SIDES, CountedWords, cases_of

MOST_WORDS = 20_000
"""Of its learning text that a tagger keeps to count."""

FILE = resources() / "tagging" / "universal.retagger"

KIND, FORMAT = "retagger", 1

CLIP = 3.0
"""Standardised numbers lie within this of zero."""

LEAST_PROBABILITY = np.float32(1e-4)
"""Added to probabilities before their logarithm is taken."""

NETWORK_SHARE = 0.8
"""Of the network's log-probabilities beside the tagger's."""

SHIFT, DOUBT, FEW_TAGGED_WORDS = 0.6, 20.0, 100
"""How far new words' tags are moved towards those expected, a power; rare types that equal what is
found without; new words that halve the power."""

PUNCT = "PUNCT"

N_FLAGS = 14
"""Of a word: its place, its case, and the gaps around it."""

N_TAGGER_NUMBERS = 4 * N_TAGS + 5 + len(SIDES) * 2 * (N_TAGS + 1)
"""Numbers of what a tagger says of a word, and of types that are like it in their first or last
letters."""

FEWEST = 100
"""Tagged words that a tagger has seen at least, as far as the network is concerned."""

_COLUMN = {**TAG, "CONJ": TAG["CCONJ"]}

_GAPS = NO_GAP, WEAK, MIXED, STRONG

STANDARD = {"mean": N_NUMBERS, "scale": N_NUMBERS, "text.mean": N_OF_TEXT, "text.scale": N_OF_TEXT}
"""Arrays that standardise numbers."""


class LearningText(Struct, frozen=True, dict=True):
    """The sentences that a tagger has learnt from, or the first MOST_WORDS words of them, to be
    counted."""

    tagged: list[list[str]]
    tags: list[list[str]]  # of the tagged sentences' words; "_" has none
    raw: list[list[str]] = []

    def __post_init__(self) -> None:
        if [len(forms) for forms in self.tagged] != [len(tags) for tags in self.tags]:
            raise ValueError("tags are not of the tagged words")

    @classmethod
    def of(cls, tagged: WordTypes, tags: Sequence[str], raw: WordTypes) -> LearningText:
        """The text of these words."""
        ends = tagged.first.tolist()
        room = max(0, MOST_WORDS - ends[-1])
        first = raw.first[: np.searchsorted(raw.first, room, "right")]
        its_tags = [list(tags[start:end]) for start, end in zip(ends, ends[1:])]
        return cls(_sentences(tagged, tagged.first), its_tags, _sentences(raw, first))

    @cached_property
    def counted(self) -> CountedWords:
        return CountedWords.of(WordTypes.of(self.tagged + self.raw))

    @cached_property
    def tag_counts(self) -> Floats:
        """How often each of its types has each tag (V, U)."""
        columns = np.array([_COLUMN.get(tag, -1) for tags in self.tags for tag in tags], np.int64)
        types = self.counted.types[: len(columns)]  # tagged sentences are the first
        counts = np.zeros((len(self.counted.number), N_TAGS))
        np.add.at(counts, (types[columns >= 0], columns[columns >= 0]), 1)
        return counts

    @cached_property
    def _distinct_sentences(self) -> set[tuple[str, ...]]:
        return {tuple(forms) for forms in self.tagged + self.raw}

    def with_words(self, words: WordTypes) -> CountedWords:
        """This text and sentences that it does not hold yet, counted together."""
        sentences = _sentences(words, words.first)
        new = [forms for forms in sentences if tuple(forms) not in self._distinct_sentences]
        return self.counted.plus(WordTypes.of(new)) if new else self.counted


def _sentences(words: WordTypes, first: Ints) -> list[list[str]]:
    forms = [words.forms[k] for k in words.types[: first[-1]].tolist()]
    return [forms[start:end] for start, end in zip(first.tolist(), first[1:].tolist())]


class RetaggerInput(NamedTuple):
    """What the network sees of sentences."""

    at: Ints  # (W,): the words that are no punctuation
    first: Ints  # (S + 1,), in `at`
    words: Floats32  # (W, N_NUMBERS + N_FLAGS)
    # (W, N_TAGGER_NUMBERS), the first U of which are probabilities of tags
    tagger_numbers: Floats32
    text: Floats32  # (N_OF_TEXT,)
    is_new: Flags  # (W,): no tagged word has its type


class TaggerOutput(NamedTuple):
    """What a tagger says of words."""

    tags: Sequence[str]  # T
    n_words: int  # tagged, learnt from
    marginals: Floats  # (N, T)
    means: TypeMeans  # by the first pass, of all types of its text and of these words

    @property
    def is_mark(self) -> Flags:
        """Whether each word (N,) is punctuation for it."""
        return np.isin(
            self.marginals.argmax(1), [k for k, tag in enumerate(self.tags) if tag == PUNCT]
        )

    @property
    def columns(self) -> Floats:
        """Which of U each tag is (T, U); a row of zeros: none."""
        columns = np.zeros((len(self.tags), N_TAGS))
        for row, tag in enumerate(self.tags):
            if tag in _COLUMN:
                columns[row, _COLUMN[tag]] = 1.0
        return columns


def input_of(text: LearningText, words: WordTypes, output: TaggerOutput) -> RetaggerInput:
    """What the network sees of the words of sentences."""
    at = np.flatnonzero(~output.is_mark)
    first = np.searchsorted(at, words.first)
    counted = text.with_words(words)
    of_lower = np.array([counted.number.get(form, 0) for form in words.lower_forms], np.int64)
    types, type_of_word = np.unique(of_lower[words.lower[words.types]][at], return_inverse=True)
    p, means = (
        _shares(output.marginals[at] @ output.columns),
        _shares(output.means.of_codes(counted.codes) @ output.columns),
    )
    tagged = np.concatenate(
        [text.tag_counts, np.zeros((len(means) - len(text.tag_counts), N_TAGS))]
    )
    n_tagged = tagged.sum(1, keepdims=True)
    # What types of the text are like by the random field, and what tagged ones are, each type
    # counting once.
    of_types: list[NDArray[Any]] = [means, np.ones_like(n_tagged), _shares(tagged), n_tagged > 0]
    alike = counted.sums_over_alike(types, np.concatenate(of_types, 1)).reshape(
        len(types), -1, N_TAGS + 1
    )
    alike[:, :, :-1] /= np.maximum(alike[:, :, -1:], 1)
    alike[:, :, -1] = np.log1p(np.maximum(alike[:, :, -1], 0)) / 3
    mean_of_type, n_of_type = means[types], n_tagged[types]
    of_type: list[NDArray[Any]] = [
        mean_of_type,
        n_of_type > 0,
        np.log1p(n_of_type) / 3,
        of_types[2][types],
        _entropy(mean_of_type),
        alike.reshape(len(types), -1),
    ]
    amount = np.full((len(at), 1), np.log(max(output.n_words, FEWEST)) / 3)
    numbers = np.concatenate(
        [counted.numbers[types][type_of_word], _flags(words, output.is_mark, at, first)], 1
    )
    tagger_numbers = np.concatenate(
        [p, np.log(p + 1e-3) / 3, np.concatenate(of_type, 1)[type_of_word], _entropy(p), amount], 1
    )
    of_words = numbers.astype(np.float32), tagger_numbers.astype(np.float32)
    return RetaggerInput(at, first, *of_words, counted.of_text, (n_of_type == 0)[type_of_word, 0])


def _entropy(p: Floats) -> Floats:
    return np.asarray(-(p * np.log(p + 1e-9)).sum(1, keepdims=True))


def _shares(values: Floats) -> Floats:
    """Rows that sum to 1."""
    return np.asarray(values / np.maximum(values.sum(1, keepdims=True), 1e-9))


def _flags(words: WordTypes, is_mark: Flags, at: Ints, first: Ints) -> Floats:
    """The flags (W, N_FLAGS) of the words `at`."""
    sentence = np.repeat(np.arange(len(first) - 1), np.diff(words.first))
    lengths = np.diff(first)
    place = np.arange(len(at)) - np.repeat(first[:-1], lengths)
    to_end = np.repeat(lengths, lengths) - 1 - place
    capital, upper = cases_of(words)[at].T
    # A sentence of n words has n + 1 gaps. The kind of a gap is that of its mark that is last in
    # _GAPS.
    marks, rank = (
        np.flatnonzero(is_mark),
        np.array([_GAPS.index(kind_of_gap(form)) for form in words.forms]),
    )
    gaps = np.zeros(len(at) + len(first) - 1, np.int64)
    np.maximum.at(gaps, np.searchsorted(at, marks) + sentence[marks], rank[words.types[marks]])
    before = np.arange(len(at)) + sentence[at]
    places = place == 0, to_end == 0, upper, np.minimum(place, 5) / 5, np.minimum(to_end, 5) / 5
    return np.concatenate(
        [np.stack([capital, *places], 1), np.eye(4)[gaps[before]], np.eye(4)[gaps[before + 1]]], 1
    )


def _as_expected(p: Floats, is_new: Flags, tag_counts: Floats) -> Floats:
    """The probabilities (W, U), with new words' moved towards as much of each tag as there is among
    rare types."""
    n, mean = int(is_new.sum()), p[is_new].sum(0) / max(1, is_new.sum())
    rare = tag_counts[tag_counts.sum(1) == 1].sum(0)  # of each tag, types with one tagged word
    expected = (rare + DOUBT * mean) / (rare.sum() + DOUBT)
    power = SHIFT * n / (n + FEW_TAGGED_WORDS)
    result: Floats = p.copy()
    result[is_new] = _shares(p[is_new] * (expected / np.maximum(mean, 1e-6)) ** power)
    return result


def shapes(width: int, hidden: int, language: int) -> dict[str, tuple[int, ...]]:
    """The shape of every array of weights, given the units of three layers."""
    lstm = {"x": (4 * hidden, width), "h": (4 * hidden, hidden), "bias": (4 * hidden,)}
    arrays: dict[str, tuple[int, ...]] = {
        "text": (language, N_OF_TEXT),
        "text.bias": (language,),
        "words": (width, N_NUMBERS + N_FLAGS),
        "said": (width, N_TAGGER_NUMBERS),
        "language": (width, language),
        "bias": (width,),
        "out": (N_TAGS, 2 * hidden + width),
        "out.bias": (N_TAGS,),
        "trust": (1,),
    }
    for side in ("forward", "backward"):
        for part, shape in lstm.items():
            arrays[f"lstm0.{side}.{part}"] = shape
    return arrays


@dataclass(frozen=True, eq=False)
class Retagger:
    """The network with its weights; `load` reads the one that comes with the package."""

    weights: Mapping[str, Floats32]

    def standardised_numbers(self, inputs: RetaggerInput) -> tuple[Floats32, Floats32]:
        """The numbers of words (W, N_NUMBERS + N_FLAGS) and of the text, as deviations from the
        mean, up to CLIP."""
        w, words = self.weights, inputs.words.copy()
        numbers = (words[:, :N_NUMBERS] - w["mean"]) / w["scale"]
        words[:, :N_NUMBERS] = np.clip(numbers, -CLIP, CLIP)
        return words, np.clip((inputs.text - w["text.mean"]) / w["text.scale"], -CLIP, CLIP)

    def probabilities(self, inputs: RetaggerInput) -> Floats32:
        """The probabilities of tags (W, U)."""
        from dynet_vdgi.universal.lstm import (
            Layer,
            Packing,  # with all of the parser, which taggers may not need
        )

        w = self.weights
        words, text = self.standardised_numbers(inputs)
        language = w["language"] @ np.tanh(w["text"] @ text + w["text.bias"]) + w["bias"]
        x = np.maximum(words @ w["words"].T + inputs.tagger_numbers @ w["said"].T + language, 0)
        y = Layer(w, 0)(Packing(inputs.first), x)
        logits = np.concatenate([y, x], 1) @ w["out"].T + w["out.bias"]
        logits += w["trust"] * np.log(inputs.tagger_numbers[:, :N_TAGS] + LEAST_PROBABILITY)
        p = np.exp(logits - logits.max(1, keepdims=True, initial=-np.inf))
        return np.asarray(p / p.sum(1, keepdims=True))

    def corrected_marginals(
        self, text: LearningText, words: WordTypes, output: TaggerOutput, is_free: Flags
    ) -> Floats:
        """The marginals (N, T), with other ones for free words that are no punctuation.

        What is no tag of U keeps its probability.
        """
        result: Floats = output.marginals.copy()
        if not (is_free & ~output.is_mark).any():
            return result
        inputs, columns = input_of(text, words, output), output.columns
        by_tagger = inputs.tagger_numbers[:, :N_TAGS] + LEAST_PROBABILITY
        mixture = self.probabilities(inputs) ** NETWORK_SHARE * by_tagger ** (1 - NETWORK_SHARE)
        p = _as_expected(
            _shares(np.asarray(mixture * columns.any(0))), inputs.is_new, text.tag_counts
        )
        chosen, is_universal = is_free[inputs.at], columns.any(1)
        at = inputs.at[chosen]
        mass = result[at] @ is_universal
        result[np.ix_(at, is_universal)] = (
            _shares(p[chosen] @ columns[is_universal].T) * mass[:, None]
        )
        return result

    @classmethod
    def load(cls) -> Retagger:
        """The retagger of the package. Raises: ModelError, it is missing or damaged."""
        return _load(FILE)


@cache
def _load(path: Path) -> Retagger:
    with opened(path, KIND) as archive:
        return Retagger(_read(archive))


class RetaggerMeta(Struct, frozen=True):
    """What the file is, and the licences of the treebanks that it was learnt from."""

    kind: str
    format: int
    treebanks: dict[str, str] = {}


def _read(archive: Archive) -> dict[str, Floats32]:
    """The weights in a file. Raises: ModelError, they do not fit together."""
    meta = archive.content("meta.json", RetaggerMeta)
    if (meta.kind, meta.format) != (KIND, FORMAT):
        raise ModelError(f"a {meta.kind} of format {meta.format}, not a {KIND} of format {FORMAT}")
    arrays: Mapping[str, NDArray[Any]] = archive.arrays("weights.npz")
    sizes = (
        checked_array(arrays, name, "f2", (None, None), KIND).shape
        for name in ("said", "lstm0.forward.h", "text")
    )
    (width, _), (_, hidden), (language, _) = sizes
    expected = shapes(width, hidden, language)
    weights = {
        name: checked_array(arrays, name, "f2", shape, KIND) for name, shape in expected.items()
    }
    weights |= {
        name: checked_array(arrays, name, "f4", (size,), KIND) for name, size in STANDARD.items()
    }
    if not all((weights[name] > 0).all() for name in STANDARD if name.endswith("scale")):
        raise ModelError(f"no {KIND}: a scale is not positive")
    return {name: array.astype(np.float32) for name, array in weights.items()}
