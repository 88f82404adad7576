"""The tokeniser: a linear-chain CRF over characters (units), and a splitter of multiword tokens.

The label of a unit says what ends with it (`unit_labels`). So a token may go on over white space,
and every unit is in a token. A paragraph's last unit ends a sentence.

>>> from dynet_vdgi.conllu.raw_text import TokenisedSentence
>>> sentence = TokenisedSentence((Token(0, 1, ("A",)), Token(2, 5, ("cat",)), Token(5, 6, (".",))))
>>> tokeniser = Tokeniser.fit([Document("A cat.", (sentence,))])
>>> [words for _, _, words in tokeniser.tokenise("A rat.").sentences[0].tokens]
[('A',), ('rat',), ('.',)]

Letters: U units.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.conllu import raw_text, raw_writing
from dynet_vdgi.conllu.nfc import as_in
from dynet_vdgi.conllu.raw_text import (
    BYTE_ORDER_MARK,
    FORMAT,
    Document,
    Token,
    form_of,
)
from dynet_vdgi.errors import DataError, ModelError
from dynet_vdgi.system import files
from dynet_vdgi.system.array_types import Ints
from dynet_vdgi.system.files import AnyPath
from dynet_vdgi.system.jit import as_python
from dynet_vdgi.system.messages import count
from dynet_vdgi.words.tagger.crf import Crf, Items, Tokens, checked_array
from dynet_vdgi.words.tokeniser import features
from dynet_vdgi.words.tokeniser.features import WeightLookup
from dynet_vdgi.words.tokeniser.passages import passages
from dynet_vdgi.words.tokeniser.rare_marks import invented_documents
from dynet_vdgi.words.tokeniser.seen import Seen, formats_of, is_plain, seen_document
from dynet_vdgi.words.tokeniser.splitter import Splitter
from dynet_vdgi.words.tokeniser.symbols import Symbols, code_and_kind, symbols_of
from dynet_vdgi.words.tokeniser.unit_labels import (
    ENDS_SENTENCE,
    N_LABELS,
    NO_END,
    TOKEN_END,
    forms_and_words,
    gold_labels,
    has_space,
    sentences_of,
)
from dynet_vdgi.words.tokeniser.whole import WHOLE_KINDS, wholes
from dynet_vdgi.words.tokeniser.whole_units import brackets_are_cut, fixed_units, kinds_cut

logger = logging.getLogger("dynet_vdgi")

_NEVER = -1e9
"""The score of a label that is impossible."""

LONG_SENTENCE = 80
"""Tokens of a sentence from which on a warning is due; 33 of 19,860 sentences of UD test files have
more."""


@dataclass(frozen=True, eq=False)
class Tokeniser:
    """What has been learnt: `fit` learns it."""

    crf: Crf
    labels: tuple[int, ...]  # of the CRF: those that occur in what was learnt from
    splitter: Splitter
    cut: frozenset[str] = frozenset()  # kinds of `whole` that what was learnt from does not keep
    letter_like: frozenset[str] = frozenset()  # format characters that begin words there
    cuts_brackets: bool = False  # from digits, as from words there, which has none at digits

    @classmethod
    def fit(
        cls, documents: Sequence[Document], *, l2: float = 0.1, iterations: int = 80
    ) -> Tokeniser:
        """Learns from documents whose tokens are known."""
        letter_like, between_letters = formats_of(documents)
        documents = [
            seen_document(document, letter_like, between_letters) for document in documents
        ]
        every = [*documents, *invented_documents(documents)]
        symbols = [symbols_of(document.text) for document in every]
        gold = [gold_labels(d, s) for d, s in zip(every, symbols)]
        labels, numbers = np.unique(np.concatenate(gold), return_inverse=True)
        keys = [features.keys_of(each) for each in symbols]
        items = Items(
            _joined_borders([first for first, _ in keys]),
            np.concatenate([codes for _, codes in keys]),
        )
        tokens = Tokens.of_items(items, _joined_borders([each.first for each in symbols]))
        crf = Crf.fit(tokens, numbers, len(labels), l2=l2, iterations=iterations)
        cut = kinds_cut(zip(documents, symbols, gold))
        cuts_brackets = brackets_are_cut(list(zip(every, symbols, gold)))
        return cls(
            crf,
            tuple(labels.tolist()),
            Splitter.fit(forms_and_words(documents)),
            cut,
            letter_like,
            cuts_brackets,
        )

    def tokenise(self, text: str, name: str = "", *, lines: bool = False) -> Document:
        """A text with its sentences, whatever it holds; one of white space has none.

        lines: each line is a sentence.
        """
        sentences = []
        for part, offset in self.parts(text, name, lines=lines):
            for sentence in part.sentences:
                tokens = [
                    Token(start + offset, end + offset, words)
                    for start, end, words in sentence.tokens
                ]
                sentences.append(sentence._replace(tokens=tuple(tokens)))
        return Document(text, tuple(sentences), name)

    def parts(
        self, text: str, name: str = "", *, lines: bool = False
    ) -> Iterator[tuple[Document, int]]:
        """Passages of a text as documents, and where they begin: for texts whose tokens need much
        memory."""
        words_of = lru_cache(1 << 16)(self._words_of)
        between_letters = frozenset(filter(self._is_known, set(FORMAT.findall(text))))
        for start, passage, is_paragraph in passages(text):
            seen = Seen.of(passage, self.letter_like, between_letters)
            symbols = symbols_of(seen.text, lines=lines)
            labels = self._best_labels(symbols, seen, lines)
            sentences = sentences_of(passage, symbols, seen, labels, words_of, lines)
            if sentences and not is_paragraph:
                sentences[0] = sentences[0]._replace(begins_paragraph=False)
            yield Document(passage, tuple(sentences), name), start

    def read(
        self, name: AnyPath, first: int = 1, *, lines: bool = False, is_followed: bool = False
    ) -> Iterator[tuple[Document, str]]:
        """Passages of a text file as documents, and as CoNLL-U that numbers the sentences from
        `first` on.

        Warns of very long sentences. lines: each line is a sentence. is_followed: by another
        file's.

        Raises: DataError, the text is not UTF-8, is CoNLL-U, or has nothing but white space.
        """
        text = files.read_text(name).removeprefix(BYTE_ORDER_MARK)
        raw_text.check_raw(text, files.shown(name))
        label, number, has_warned = "" if name == files.STANDARD else Path(name).name, first, lines
        for part, start in self.parts(text, label, lines=lines):
            is_last = is_followed and start + len(part.text) == len(text)
            yield part, raw_writing.conllu_of(part, number, begins=start == 0, is_followed=is_last)
            number += len(part.sentences)
            if not has_warned:
                n_lines = text.count("\n", 0, start)
                has_warned = _warn_of_long_sentence(part, files.shown(name), n_lines)
        if number == first:
            raise DataError(
                files.shown(name), None, "no text", "the file holds nothing but white space"
            )

    def _words_of(self, text: str, is_probable: bool) -> tuple[str, ...]:
        """The words of a token; `is_probable`: the context says that there are several."""
        form = form_of(text)
        seen_form = form if is_plain(form) else Seen.of(form).text
        # UD forbids to split those
        if not self.splitter.is_split(seen_form, is_probable) or has_space(seen_form):
            return (form,)
        whole = next(wholes(seen_form), None)
        if (
            whole is not None
            and whole.end - whole.start == len(seen_form)
            and whole.kind not in self.cut
        ):
            return (form,)
        words = self.splitter.split(seen_form)
        return tuple([as_in(word, form) for word in words]) if len(words) > 1 else (form,)

    def _is_known(self, character: str) -> bool:
        code, _ = code_and_kind(character)
        with np.errstate(over="ignore"):
            key = np.uint64(as_python(features.single_key)(0, code, 0))
        place = int(np.searchsorted(self._weight_lookup.keys, key))
        return place < len(self._weight_lookup.keys) and self._weight_lookup.keys[place] == key

    def _best_labels(self, symbols: Symbols, seen: Seen, lines: bool) -> Ints:
        """The labels (U,) of a text's units; `lines`: sentences end with paragraphs only."""
        scores = features.scores_of(symbols, self._weight_lookup)
        is_end = np.zeros(len(scores), bool)
        is_end[symbols.first[1:] - 1] = True
        for k, label in enumerate(self.labels):
            if label not in ENDS_SENTENCE:
                scores[is_end, k] = _NEVER
            elif lines:
                scores[~is_end, k] = _NEVER
        if NO_END in self.labels:
            inside, at_borders, at_stops = fixed_units(
                symbols, seen.text, self.cut, self.cuts_brackets
            )
            inside |= seen.joined[symbols.places]
            for k, label in enumerate(self.labels):
                if label != NO_END:
                    scores[inside & ~is_end, k] = _NEVER
                if label < TOKEN_END:
                    scores[at_borders & ~inside, k] = _NEVER
                if label not in ENDS_SENTENCE and not lines:
                    scores[at_stops & ~inside, k] = _NEVER
        return np.array(self.labels)[self.crf.best(scores, symbols.first)]

    @cached_property
    def _weight_lookup(self) -> WeightLookup:
        keys, starts, labels = self.crf.weights.entries
        weights = np.zeros((len(keys), self.crf.n_labels))
        weights[np.repeat(np.arange(len(keys)), np.diff(starts)), labels] = self.crf.weights.values
        shift, table = self.crf.weights.table
        return WeightLookup(keys, table, shift, weights)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Its numbers, for a model file; `splitter` is the rest."""
        arrays = {
            **self.crf.arrays("tokeniser/"),
            "tokeniser/kinds": np.array(self.labels, np.int64),
        }
        if self.cut:
            arrays["tokeniser/cut"] = np.array(sorted(map(WHOLE_KINDS.index, self.cut)), np.int64)
        if self.cuts_brackets:
            arrays["tokeniser/brackets"] = np.ones(1, np.int64)
        if self.letter_like:
            arrays["tokeniser/own"] = np.array(sorted(map(ord, self.letter_like)), np.int64)
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], splitter: Splitter) -> Tokeniser:
        """The tokeniser with these numbers; other arrays are ignored.

        Raises: ModelError, an array is missing, or they do not fit together.
        """
        crf = Crf.from_arrays(arrays, "tokeniser/", "tokeniser")
        labels = arrays.get("tokeniser/kinds", np.zeros(0)).tolist()
        is_sound = labels == sorted({*labels} & {*range(N_LABELS)}) and {*ENDS_SENTENCE} & {*labels}
        if len(labels) != crf.n_labels or not is_sound:
            raise ModelError(f"no tokeniser: {crf.n_labels} labels, which mean {labels}")
        cut = _numbers_in(arrays, "tokeniser/cut")
        formats = _numbers_in(arrays, "tokeniser/own")
        if not {*cut} <= {*range(len(WHOLE_KINDS))} or not all(0 <= n < 0x110000 for n in formats):
            raise ModelError(
                "no tokeniser: tokeniser/cut or tokeniser/own hold other numbers than they may"
            )
        return cls(
            crf,
            tuple([int(label) for label in labels]),
            splitter,
            cut=frozenset(WHOLE_KINDS[n] for n in cut),
            letter_like=frozenset(chr(n) for n in formats),
            cuts_brackets="tokeniser/brackets" in arrays,
        )


def _numbers_in(arrays: Mapping[str, NDArray[Any]], name: str) -> list[int]:
    """The numbers in an array, which may be missing. Raises: ModelError, it is of another type."""
    if name not in arrays:
        return []
    numbers: list[int] = checked_array(arrays, name, "i8", (None,), "tokeniser").tolist()
    return numbers


def _warn_of_long_sentence(document: Document, name: str, n_before: int) -> bool:
    """Warns of a very long sentence; returns whether there is one. `n_before`: line ends before
    the document."""
    long_sentences = [
        sentence.tokens for sentence in document.sentences if len(sentence.tokens) > LONG_SENTENCE
    ]
    if not long_sentences:
        return False
    start, end = long_sentences[0][0].start, long_sentences[0][-1].end
    n_lines = document.text.count("\n", start, end) + 1
    place = f"{name}:{n_before + document.text.count(chr(10), 0, start) + 1}"
    hint = "if it is several, let empty lines end them, or give the tokeniser sentences that end so"
    if n_lines > 1:
        hint = "if each line is a sentence, say --lines"
    over = f" over {n_lines} lines" if n_lines > 1 else ""
    logger.warning(
        "%s: a sentence of %s%s; %s", place, count(len(long_sentences[0]), "token"), over, hint
    )
    return True


def _joined_borders(parts: Sequence[Ints]) -> Ints:
    """Borders (n + 1,) of several parts as those of all."""
    sizes = np.concatenate([np.diff(part) for part in parts])
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
