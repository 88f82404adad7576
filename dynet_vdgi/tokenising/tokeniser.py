"""The tokeniser: a linear-chain CRF over characters, and the splitter of multiword tokens.

A unit is a character that is not white space. The label of each says what ends with it: nothing, a word
inside a token, a token, or a sentence; tokens whose words are not pieces of them have labels of their own. So
a token may go on over white space, and no character is ever left out. A paragraph ends with an empty line, and
with it a sentence.

Letters: U units, S paragraphs, L labels, F features.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.data.raw_text import SPACES, Document, Token, TokenisedSentence
from dynet_vdgi.errors import DataError, ModelError
from dynet_vdgi.system.limits import limit
from dynet_vdgi.tagging.crf import FREE, Crf, Items, Tokens
from dynet_vdgi.tokenising import features
from dynet_vdgi.tokenising.characters import PARAGRAPH, Symbols, symbols_of
from dynet_vdgi.tokenising.splitting import Splitter

Ints = NDArray[np.int64]

NOTHING, WORD, TOKEN, SENTENCE, SPLIT, SPLIT_SENTENCE = range(6)
"""What ends with a unit; the last two: a token or a sentence, and the token has other words than its pieces."""

N_LABELS = 6


@dataclass(frozen=True, eq=False)
class Tokeniser:
    """What has been learnt; `fit` learns it."""

    crf: Crf
    splitter: Splitter

    @classmethod
    def fit(cls, documents: Sequence[Document], *, l2: float = 0.1, iterations: int = 80) -> Tokeniser:
        """Learns from documents whose tokens are known."""
        symbols = [symbols_of(document.text) for document in documents]
        labels = np.concatenate([labels_of(d, s) for d, s in zip(documents, symbols)])
        keys = np.concatenate([features.keys_of(each) for each in symbols])
        sizes = np.concatenate([np.diff(paragraphs(each)) for each in symbols])
        first = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
        counts = np.count_nonzero(keys, axis=1)
        item_first = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        tokens = Tokens.of_items(Items(item_first, keys[keys > 0]), first)
        crf = Crf.fit(tokens, labels, N_LABELS, l2=l2, iterations=iterations)
        return cls(crf, Splitter.fit(_multiword(documents)))

    def labels(self, symbols: Symbols) -> tuple[Ints, NDArray[np.int32]]:
        """The labels (U,) of a text's units, and the units."""
        keys = features.keys_of(symbols)
        first = paragraphs(symbols)
        counts = np.count_nonzero(keys, axis=1)
        item_first = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        tokens = Tokens.of_items(Items(item_first, keys[keys > 0]), first)
        scores = self.crf.scores(tokens)
        last = first[1:] - 1
        scores[last, :3] = -1e6
        scores[last, 4] = -1e6
        return self.crf.best(scores, first), features.units_of(symbols)


def paragraphs(symbols: Symbols) -> Ints:
    """Where paragraphs begin among the units, and the number of units (S + 1,)."""
    units = features.units_of(symbols)
    ends = np.flatnonzero(symbols.codes == PARAGRAPH)
    return np.concatenate([[0], np.searchsorted(units, ends), [len(units)]]).astype(np.int64)


def labels_of(document: Document, symbols: Symbols) -> Ints:
    """The gold labels (U,) of a document's units."""
    labels = np.full(len(document.text), NOTHING, np.int64)
    for sentence in document.sentences:
        for token in sentence.tokens:
            labels[token.end - 1] = TOKEN
            if len(token.words) > 1:
                ends = _pieces(document.text[token.start : token.end], token.words)
                for end in ends[:-1]:
                    labels[token.start + end - 1] = WORD
                if not ends:
                    labels[token.end - 1] = SPLIT
        labels[sentence.tokens[-1].end - 1] += SENTENCE - TOKEN
    return labels[symbols.places[features.units_of(symbols)]]


def _pieces(form: str, words: Sequence[str]) -> list[int]:
    """Where words end that are the pieces of a token; empty: they are not."""
    ends, place = [], 0
    for word in words:
        if place and form[place : place + 1].isspace():
            place += 1
        if not form.startswith(word, place):
            return []
        place += len(word)
        ends.append(place)
    return ends if place == len(form) else []


def _multiword(documents: Iterable[Document]) -> Iterable[tuple[str, tuple[str, ...]]]:
    for document in documents:
        for sentence in document.sentences:
            for token in sentence.tokens:
                form = document.text[token.start : token.end]
                if len(token.words) > 1 and not _pieces(form, token.words):
                    yield form, token.words


def document_of(text: str, symbols: Symbols, units: NDArray[np.int32], labels: Ints, splitter: Splitter) -> Document:
    places = symbols.places[units]
    ends = np.flatnonzero(labels >= TOKEN)
    begins = np.concatenate([[0], ends[:-1] + 1])
    word_ends = (places[labels == WORD] + 1).tolist()
    sentences, tokens, w, begins_paragraph = [], [], 0, True
    new = {int(places[f]) for f in paragraphs(symbols)[:-1]}
    for start, end, label in zip(places[begins].tolist(), (places[ends] + 1).tolist(), labels[ends].tolist()):
        form = text[start:end]
        if label >= SPLIT:
            words = splitter.split(form)
            while w < len(word_ends) and word_ends[w] < end: w += 1
        elif w < len(word_ends) and word_ends[w] < end:
            words, at = [], start
            while w < len(word_ends) and word_ends[w] < end:
                words.append(text[at:word_ends[w]].strip()); at = word_ends[w]; w += 1
            words.append(text[at:end].strip()); words = tuple(words)
        else:
            words = (form,)
        tokens.append(Token(start, end, words))
        if label in (SENTENCE, SPLIT_SENTENCE):
            sentences.append(TokenisedSentence(tuple(tokens), tokens[0].start in new))
            tokens = []
    return Document(text, tuple(sentences))
