"""Labels of units, which say what ends with each: from the tokens of documents to labels, and back.

A unit is a character that is not white space. Nothing, a word inside a token, a token or a sentence
ends with it; tokens whose words are no pieces of them have labels of their own.

>>> piece_ends("cannot", ["can", "not"]), piece_ends("du", ["de", "le"])
([3, 6], [])
>>> from dynet_vdgi.words.tokeniser.symbols import symbols_of
>>> tokens = Token(0, 1, ("I",)), Token(2, 8, ("can", "not")), Token(8, 9, (".",))
>>> document = Document("I cannot.", (TokenisedSentence(tokens),))
>>> gold_labels(document, symbols_of(document.text)).tolist()  # of I, c, a, n, n, o, t and "."
[2, 0, 0, 1, 0, 0, 2, 3]

Letters: U units.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate

import numpy as np

from dynet_vdgi.conllu.raw_text import (
    Document,
    Token,
    TokenisedSentence,
    form_of,
)
from dynet_vdgi.system.array_types import Ints
from dynet_vdgi.system.limits import limit
from dynet_vdgi.words.tokeniser.seen import Seen
from dynet_vdgi.words.tokeniser.symbols import Symbols

NO_END, WORD_END, TOKEN_END, SENTENCE_END, SPLIT, SPLIT_SENTENCE = range(6)
"""What ends with a unit. The last two: a token or a sentence, and the splitter finds the token's
words."""

N_LABELS = 6

ENDS_SENTENCE = (SENTENCE_END, SPLIT_SENTENCE)


def sentences_of(
    text: str,
    symbols: Symbols,
    seen: Seen,
    labels: Ints,
    words_of: Callable[[str, bool], tuple[str, ...]],
    lines: bool,
) -> list[TokenisedSentence]:
    """The sentences of a text whose units have these labels (U,); `lines`: they are its lines."""
    ends = np.flatnonzero(labels >= TOKEN_END)
    begins = np.append(0, ends[:-1] + 1) if len(ends) else ends
    paragraphs = np.isin(begins, symbols.first[:-1])
    of_units, ends_of_units = seen.starts[symbols.places], seen.ends[symbols.places]
    starts, stops = of_units[begins].tolist(), ends_of_units[ends].tolist()
    forms = [text[start:stop] for start, stop in zip(starts, stops)]
    is_probable = (labels[ends] >= SPLIT).tolist()
    words = [words_of(form, is_split) for form, is_split in zip(forms, is_probable)]
    cuts = np.flatnonzero(labels == WORD_END)
    n_before, n_after = np.searchsorted(cuts, begins), np.searchsorted(cuts, ends)
    for n in np.flatnonzero(n_before < n_after).tolist():
        if len(words[n]) == 1 and not has_space(words[n][0]):
            cut_units = cuts[n_before[n] : n_after[n]]
            spans = zip(
                [starts[n], *of_units[cut_units + 1].tolist()],
                [*ends_of_units[cut_units].tolist(), stops[n]],
            )
            words[n] = tuple([form_of(text[a:b]) for a, b in spans])
    tokens = tuple([Token(*token) for token in zip(starts, stops, words)])
    n_words = list(accumulate([len(several) for several in words], initial=0))
    borders = np.append(0, np.flatnonzero(np.isin(labels[ends], ENDS_SENTENCE)) + 1).tolist()
    limits, most = [], limit("words")
    for start, end in zip(borders, borders[1:]):
        # A list without an end is cut, because readers would refuse it.
        while n_words[end] - n_words[start] > most and start + 1 < end:
            cut = max(start + 1, bisect_right(n_words, n_words[start] + most) - 1)
            limits.append((start, cut))
            start = cut
        limits.append((start, end))

    def begins_paragraph(token: int) -> bool:
        if token == 0 or not lines:
            return bool(paragraphs[token])
        gap = text[stops[token - 1] : starts[token]]
        n_ends = gap.count("\n") + 2 * gap.count("\u2029")  # a paragraph separator counts twice
        return bool(paragraphs[token]) and n_ends > 1

    return [TokenisedSentence(tokens[a:b], begins_paragraph(a)) for a, b in limits]


def has_space(form: str) -> bool:
    """Whether there is white space in a form."""
    return any(map(str.isspace, form))


def gold_labels(document: Document, symbols: Symbols) -> Ints:
    """The labels (U,) that the tokens of a document give its units."""
    labels = np.full(len(document.text), NO_END, np.int64)
    for sentence in document.sentences:
        for start, end, words in sentence.tokens:
            ends = piece_ends(document.text[start:end], words)
            for end_of_word in ends[:-1]:
                labels[start + end_of_word - 1] = WORD_END
            labels[end - 1] = TOKEN_END if ends else SPLIT
        labels[sentence.tokens[-1].end - 1] += SENTENCE_END - TOKEN_END
    return labels[symbols.places]


def piece_ends(form: str, words: Sequence[str]) -> list[int]:
    """Where the words end whose forms make up a token, perhaps with spaces between; none: they do
    not."""
    if len(words) == 1:
        return [len(form)]
    ends, place = [], 0
    for word in words:
        while form[place : place + 1].isspace():
            place += 1
        if not form.startswith(word, place):
            return []
        place += len(word)
        ends.append(place)
    return ends if place == len(form) else []


def forms_and_words(documents: Iterable[Document]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The forms of all tokens, and their words if these are no pieces of them."""
    for document in documents:
        for sentence in document.sentences:
            for start, end, words in sentence.tokens:
                is_whole = piece_ends(document.text[start:end], words)
                yield form_of(document.text[start:end]), () if is_whole else words
