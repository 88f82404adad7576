"""A universal parser's weights, and what was measured on a text, as the arrays of a model file."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.errors import ModelError
from dynet_vdgi.system.messages import count
from dynet_vdgi.universal.encoding import BANDS, N_TAGS, band_of_forms
from dynet_vdgi.universal.layer_sizes import LayerSizes, shapes
from dynet_vdgi.universal.model_table import DIGEST, TABLE, table_arrays, table_of
from dynet_vdgi.universal.scorer import Scorer, TextScorer
from dynet_vdgi.universal.text_teacher import TextTeacher
from dynet_vdgi.universal.typology import N_NUMBERS, PAIR_NUMBERS, Profile

Arrays = dict[str, NDArray[Any]]

logger = logging.getLogger("dynet_vdgi")

WEIGHTS, TEXT = "universal/", "text/"
"""How the names of arrays begin: of the weights, and of the measures of a text."""

TEACHER = TEXT + "teacher/"

FEW_SENTENCES = 50
"""Fewer sentences get a warning, because they are a poor measure."""

TOO_FEW = (
    "only %s to tell what kind of language it is: expect more errors than with a longer text%s"
)

MEASURE_FIRST = (
    "; trees depend on what else is parsed in the same call: "
    "adapt the parser to a text of the language first, "
    "with `Parser.adapted` or, in spaCy, `text`"
)

STRENGTH = 30
"""Words with which the mean of the treebanks learnt from counts in the profile of a text: 0, 30,
100, 300 and 1,000 gave 64.0, 64.5, 64.5, 64.6, 64.6 % right heads where three sentences were
measured, 66.7, 66.6, 66.3, 65.7, 65.3 where ten were, 69.8 to 69.7 where 200 were (means of
eight treebanks)."""

MEASURED = 20_000
"""Words at the beginning of a text that are measured."""

SAMPLED = 2_000
"""Words at the beginning of a text that are parsed to see how sure the parser is of it."""


def arrays_of(scorer: Scorer) -> Arrays:
    """The arrays that `scorer_of` reads back, weights as float16, and the rule table."""
    weights = {
        WEIGHTS + name: np.asarray(array, np.float16) for name, array in scorer.weights.items()
    }
    mean, scale = (np.asarray(array, np.float32) for array in (scorer.mean, scorer.scale))
    standard = {WEIGHTS + "mean": mean, WEIGHTS + "scale": scale}
    names = {WEIGHTS + "known": _names_as_bytes(scorer.features)}
    return weights | standard | names | table_arrays(scorer.table)


def scorer_of(arrays: Mapping[str, NDArray[Any]]) -> Scorer:
    """The scorer with these `arrays_of`; others are ignored.

    Raises: ModelError, they do not fit.
    """
    stored = {
        name.removeprefix(WEIGHTS): a for name, a in arrays.items() if name.startswith(WEIGHTS)
    }
    for name in (TABLE, DIGEST):
        stored.pop(name.removeprefix(WEIGHTS), None)
    try:
        mean, scale, features = (
            stored.pop("mean"),
            stored.pop("scale"),
            _names_in_bytes(stored.pop("known")),
        )
        sizes = LayerSizes.of(stored)
    except (KeyError, IndexError) as error:
        raise ModelError(f"no universal parser: missing or flat: {error}") from None
    if sizes.n_numbers != N_NUMBERS:
        raise ModelError(
            f"no universal parser of this version: {sizes.n_numbers} numbers of a text do not fit"
        )
    wanted = shapes(sizes) | {"mean": (sizes.n_numbers,), "scale": (sizes.n_numbers,)}
    actual = {name: array.shape for name, array in {**stored, "mean": mean, "scale": scale}.items()}
    if len(features) != sizes.n_features or actual != wanted:
        odd = sorted(
            name for name in wanted.keys() | actual.keys() if wanted.get(name) != actual.get(name)
        )
        raise ModelError(
            f"no universal parser: the shapes of its arrays differ: {', '.join(odd) or 'features'}"
        )
    if not (scale > 0).all():
        raise ModelError("no universal parser: a scale of a number of texts is not positive")
    weights = {name: np.ascontiguousarray(array, np.float32) for name, array in stored.items()}
    table = table_of(arrays)
    return Scorer(features, mean.astype(np.float32), scale.astype(np.float32), weights, table)


@dataclass(frozen=True)
class Measures:
    """What is measured on a text: its standardised profile, and how common its forms are."""

    profile: Profile
    bands: Mapping[str, int]
    n_sentences: int
    n_words: int
    teacher: TextTeacher | None = None  # None: not needed in this text
    shift: float | None = None
    """What is added to the log-odds of confidences in the text; None: not computed."""
    sample: tuple[Sentence, ...] = ()
    """Sentences from which `shift` can be computed; no array keeps them."""
    tag_accuracy: float = 1.0
    """The share of right tags in the text, for confidences."""

    @classmethod
    def of(cls, scorer: Scorer, sentences: Sequence[Sentence]) -> Measures:
        """The measures of the beginning of a text without punctuation.

        The numbers of its profile are deviations from the mean of the treebanks learnt from, and
        the less text there is, the nearer they are to it. The numbers of pairs of tags are smoothed
        already.
        """
        first = list(beginning(s for s in sentences if len(s)))
        n_words = sum(map(len, first))
        profile, teacher = scorer.profile_and_teacher(first)
        profile = Profile(
            profile.numbers * np.float32(n_words / (n_words + STRENGTH)), profile.pairs
        )
        sample = tuple(beginning((s for s in first if len(s) > 1), SAMPLED))
        return cls(profile, band_of_forms(first), len(first), n_words, teacher, sample=sample)

    def parser(self, scorer: Scorer) -> TextScorer:
        """The scorer in the text."""
        return TextScorer(scorer, self.profile, self.bands, self.teacher)

    def tell(self) -> None:
        """Logs how much text was measured; warns if it was little."""
        if self.n_sentences < FEW_SENTENCES:
            logger.warning(TOO_FEW, self._amount, "")
        else:
            logger.info("measured: %s", self._amount)

    def warn_once(self, warned: set[str]) -> None:
        """Warns if a parser was given little text to measure and parse; `warned` has what
        it has warned of."""
        if 0 < self.n_sentences < FEW_SENTENCES and TOO_FEW not in warned:
            warned.add(TOO_FEW)
            logger.warning(TOO_FEW, self._amount, MEASURE_FIRST)

    @property
    def _amount(self) -> str:
        return f"{count(self.n_sentences, 'sentence')}, {count(self.n_words, 'word')}"

    def arrays(self) -> Arrays:
        """The arrays that `from_arrays` reads back."""
        arrays: Arrays = {
            TEXT + "numbers": np.asarray(self.profile.numbers, np.float32),
            TEXT + "pairs": np.asarray(self.profile.pairs, np.float32),
            TEXT + "forms": _names_as_bytes(self.bands),
            TEXT + "bands": np.array(list(self.bands.values()), np.int8),
            TEXT + "size": np.array([self.n_sentences, self.n_words]),
        }
        if self.shift is not None:
            arrays[TEXT + "confidence_shift"] = np.array([self.shift])
        if self.tag_accuracy != 1:
            arrays[TEXT + "right_tags"] = np.array([self.tag_accuracy])
        if self.teacher:
            for name, array in self.teacher.arrays().items():
                arrays[TEACHER + name] = array
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], scorer: Scorer) -> Measures | None:
        """The measures in a model's arrays; None: there are none. Raises: ModelError, they are
        damaged."""
        stored = {name.removeprefix(TEXT): a for name, a in arrays.items() if name.startswith(TEXT)}
        if not stored:
            return None
        teacher = {
            name.removeprefix(TEACHER): a for name, a in arrays.items() if name.startswith(TEACHER)
        }
        try:
            numbers, pairs, bands, size = (
                stored[name] for name in ("numbers", "pairs", "bands", "size")
            )
            forms = _names_in_bytes(stored["forms"])
        except KeyError as error:
            raise ModelError(f"no measures of a text: missing {error.args[0]}") from None
        shape = (N_TAGS + 1, N_TAGS, 2, PAIR_NUMBERS)
        expected = scorer.mean.shape, shape, (len(forms),), (2,)
        actual = numbers.shape, pairs.shape, bands.shape, size.shape
        if actual != expected or ((bands < 0) | (bands >= BANDS)).any():
            raise ModelError("no measures of a text: the shapes of their arrays differ")
        shift, right = (stored.get(name, np.ones(1)) for name in ("confidence_shift", "right_tags"))
        for each in (shift, right):
            if each.shape != (1,) or each.dtype.kind != "f" or not np.isfinite(each).all():
                raise ModelError("no measures of a text: the shift of its confidences is no number")
        profile = Profile(numbers.astype(np.float32), pairs.astype(np.float32))
        bands_of = dict(zip(forms, bands.tolist()))
        n_sentences, n_words = size.tolist()
        return cls(
            profile,
            bands_of,
            n_sentences,
            n_words,
            TextTeacher.from_arrays(teacher),
            float(shift[0]) if "confidence_shift" in stored else None,
            tag_accuracy=float(np.clip(right[0], 0, 1)),
        )

    @cached_property
    def key(self) -> str:
        """A digest, equal for equal measures."""
        digest = hashlib.sha256()
        for name, array in self.arrays().items():
            digest.update(f"{name} {array.shape} ".encode() + array.tobytes())
        return digest.hexdigest()


def beginning(sentences: Iterable[Sentence], n_words: int = MEASURED) -> Iterator[Sentence]:
    """The first sentences, up to the one that reaches this number of words; takes no more of an
    iterator."""
    for sentence in sentences:
        yield sentence
        n_words -= len(sentence)
        if n_words <= 0:
            return


def _names_as_bytes(names: Iterable[str]) -> NDArray[np.uint8]:
    return np.frombuffer(json.dumps(list(names)).encode(), np.uint8)


def _names_in_bytes(array: NDArray[Any]) -> tuple[str, ...]:
    """Raises: ModelError, these are no names."""
    try:
        return msgspec.json.decode(array.astype(np.uint8).tobytes(), type=tuple[str, ...])
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ModelError(f"no universal parser: its names are damaged: {error}") from None
