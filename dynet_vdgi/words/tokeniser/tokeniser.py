"""The tokeniser, and its file: a linear-chain CRF over characters, and a splitter of multiword tokens.

A unit is a character that is not white space. Its label says what ends with it: nothing, a word inside a
token, a token, or a sentence; tokens whose words are no pieces of them have labels of their own. So a token
may go on over white space, and every unit is in a token. A paragraph's last unit ends a sentence.

Letters: as in `characters` and `features`.
"""

from __future__ import annotations

import logging
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.conllu import raw_text
from dynet_vdgi.conllu.nfc import as_in
from dynet_vdgi.conllu.raw_text import BYTE_ORDER_MARK, FORMAT, GAP, Document, Token, TokenisedSentence, form_of
from dynet_vdgi.errors import DataError, ModelError
from dynet_vdgi.system import files
from dynet_vdgi.system.array_types import Ints
from dynet_vdgi.system.files import AnyPath
from dynet_vdgi.system.jit import as_python
from dynet_vdgi.system.limits import limit
from dynet_vdgi.system.messages import count
from dynet_vdgi.words.tagger.crf import Crf, Items, Tokens, checked
from dynet_vdgi.words.tokeniser import features
from dynet_vdgi.words.tokeniser.features import KnownWeights
from dynet_vdgi.words.tokeniser.rare_marks import invented
from dynet_vdgi.words.tokeniser.seen import Seen, formats_of, is_plain, seen_document
from dynet_vdgi.words.tokeniser.splitter import Splitter
from dynet_vdgi.words.tokeniser.symbols import Symbols, code_and_kind, symbols_of
from dynet_vdgi.words.tokeniser.whole import BRACKETS, KINDS, RANGE, STOP, Whole, numbers_in, wholes

logger = logging.getLogger("dynet_vdgi")

NOTHING, WORD, TOKEN, SENTENCE, SPLIT, SPLIT_SENTENCE = range(6)
"""What ends with a unit. The last two: a token or a sentence, and the splitter finds the token's words."""

N_LABELS = 6

_SENTENCES = (SENTENCE, SPLIT_SENTENCE)

_NEVER = -1e9
"""The score of a label that is impossible."""

LONG = 80
"""Tokens of a sentence from which on a warning is due; 33 of 19,860 sentences of UD test files have more."""

PASSAGE = 1 << 18
"""Characters that are labelled at once, at least; at most twice as many."""

_HYPHEN = re.compile(r"[^\W\d_](?=[-–][^\W\d_])")
"""A letter before a hyphen before another letter."""

_CLOSED = re.compile(r"[^\W\d_](?=[)\]}])")
"""A letter before a closing bracket."""

_BORDERS = (re.compile(r"\n[^\S\n]*\n"), re.compile("\n"), re.compile(r"\s"))
"""Where passages may end, in order of preference."""


@dataclass(frozen=True, eq=False)
class Tokeniser:
    """What has been learnt: `fit` learns it."""

    crf: Crf
    labels: tuple[int, ...]  # of the CRF: those that occur in what was learnt from
    splitter: Splitter
    cut: frozenset[str] = frozenset()  # kinds of `whole` that what was learnt from does not keep
    own: frozenset[str] = frozenset()  # format characters that begin words there
    cuts_brackets: bool = False  # from digits, as from words there, which has none at digits

    @classmethod
    def fit(cls, documents: Sequence[Document], *, l2: float = 0.1, iterations: int = 80) -> Tokeniser:
        """Learns from documents whose tokens are known."""
        own, known = formats_of(documents)
        documents = [seen_document(document, own, known) for document in documents]
        every = [*documents, *invented(documents)]
        symbols = [symbols_of(document.text) for document in every]
        gold = [_gold_labels(d, s) for d, s in zip(every, symbols)]
        labels, numbers = np.unique(np.concatenate(gold), return_inverse=True)
        keys = [features.keys_of(each) for each in symbols]
        items = Items(_joined([first for first, _ in keys]), np.concatenate([codes for _, codes in keys]))
        tokens = Tokens.of_items(items, _joined([each.first for each in symbols]))
        crf = Crf.fit(tokens, numbers, len(labels), l2=l2, iterations=iterations)
        cut = _kinds_cut(zip(documents, symbols, gold))
        cuts_brackets = _cuts_brackets(list(zip(every, symbols, gold)))
        return cls(crf, tuple(labels.tolist()), Splitter.fit(_forms(documents)), cut, own, cuts_brackets)

    # ------------------------------------------------------------------------------------------- texts
    def tokenise(self, text: str, name: str = "", *, lines: bool = False) -> Document:
        """A text with its sentences, whatever it holds; one of white space has none.

        lines: each line is a sentence.
        """
        sentences = []
        for part, offset in self.parts(text, name, lines=lines):
            for sentence in part.sentences:
                tokens = [Token(start + offset, end + offset, words) for start, end, words in sentence.tokens]
                sentences.append(sentence._replace(tokens=tuple(tokens)))
        return Document(text, tuple(sentences), name)

    def parts(self, text: str, name: str = "", *, lines: bool = False) -> Iterator[tuple[Document, int]]:
        """Passages of a text as documents, and where they begin: for texts whose tokens need much memory."""
        words_of = lru_cache(1 << 16)(self._words_of)
        known = frozenset(filter(self._is_known, set(FORMAT.findall(text))))
        for start, passage, is_paragraph in passages(text):
            seen = Seen.of(passage, self.own, known)
            symbols = symbols_of(seen.text, lines=lines)
            labels = self._best_labels(symbols, seen, lines)
            sentences = _sentences(passage, symbols, seen, labels, words_of, lines)
            if sentences and not is_paragraph:
                sentences[0] = sentences[0]._replace(begins_paragraph=False)
            yield Document(passage, tuple(sentences), name), start

    def read(
        self, name: AnyPath, first: int = 1, *, lines: bool = False, is_followed: bool = False
    ) -> Iterator[tuple[Document, str]]:
        """Passages of a text file as documents, and as CoNLL-U that numbers the sentences from `first` on.

        Warns of very long sentences. lines: each line is a sentence. is_followed: by another file's.

        Raises: DataError, the text is not UTF-8, is CoNLL-U, or has nothing but white space.
        """
        text = files.read_text(name).removeprefix(BYTE_ORDER_MARK)
        raw_text.check_raw(text, files.shown(name))
        label, number, is_told = "" if name == files.STANDARD else Path(name).name, first, lines
        for part, start in self.parts(text, label, lines=lines):
            is_last = is_followed and start + len(part.text) == len(text)
            yield part, raw_text.conllu(part, number, begins=start == 0, is_followed=is_last)
            number += len(part.sentences)
            is_told = is_told or _told_of_long(part, files.shown(name), text.count("\n", 0, start))
        if number == first:
            raise DataError(files.shown(name), None, "no text", "the file holds nothing but white space")

    def _words_of(self, text: str, is_probable: bool) -> tuple[str, ...]:
        """The words of a token; `is_probable`: the context says that there are several."""
        form = form_of(text)
        known = form if is_plain(form) else Seen.of(form).text
        if not self.splitter.is_split(known, is_probable) or _has_space(known):  # UD forbids to split those
            return (form,)
        found = next(wholes(known), None)
        if found is not None and found.end - found.start == len(known) and found.kind not in self.cut:
            return (form,)
        words = self.splitter.split(known)
        return tuple([as_in(word, form) for word in words]) if len(words) > 1 else (form,)

    def _is_known(self, character: str) -> bool:
        code, _ = code_and_kind(character)
        with np.errstate(over="ignore"):
            key = np.uint64(as_python(features.single_key)(0, code, 0))
        place = int(np.searchsorted(self._known.keys, key))
        return place < len(self._known.keys) and self._known.keys[place] == key

    def _best_labels(self, symbols: Symbols, seen: Seen, lines: bool) -> Ints:
        """The labels (U,) of a text's units; `lines`: sentences end at the ends of paragraphs only."""
        scores = features.scores_of(symbols, self._known)
        is_end = np.zeros(len(scores), bool)
        is_end[symbols.first[1:] - 1] = True
        for k, label in enumerate(self.labels):
            if label not in _SENTENCES:
                scores[is_end, k] = _NEVER
            elif lines:
                scores[~is_end, k] = _NEVER
        if NOTHING in self.labels:
            inside, at_borders, at_stops = _guarded(symbols, seen.text, self.cut, self.cuts_brackets)
            inside |= seen.joined[symbols.places]
            for k, label in enumerate(self.labels):
                if label != NOTHING:
                    scores[inside & ~is_end, k] = _NEVER
                if label < TOKEN:
                    scores[at_borders & ~inside, k] = _NEVER
                if label not in _SENTENCES and not lines:
                    scores[at_stops & ~inside, k] = _NEVER
        return np.array(self.labels)[self.crf.best(scores, symbols.first)]

    @cached_property
    def _known(self) -> KnownWeights:
        keys, starts, labels = self.crf.weights.known
        weights = np.zeros((len(keys), self.crf.n_labels))
        weights[np.repeat(np.arange(len(keys)), np.diff(starts)), labels] = self.crf.weights.values
        shift, table = self.crf.weights.table
        return KnownWeights(keys, table, shift, weights)

    # ------------------------------------------------------------------------------------------- files
    def arrays(self) -> dict[str, NDArray[Any]]:
        """Its numbers, for a model file; `splitter` is the rest."""
        found = {**self.crf.arrays("tokeniser/"), "tokeniser/kinds": np.array(self.labels, np.int64)}
        if self.cut:
            found["tokeniser/cut"] = np.array(sorted(map(KINDS.index, self.cut)), np.int64)
        if self.cuts_brackets:
            found["tokeniser/brackets"] = np.ones(1, np.int64)
        if self.own:
            found["tokeniser/own"] = np.array(sorted(map(ord, self.own)), np.int64)
        return found

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], splitter: Splitter) -> Tokeniser:
        """The tokeniser with these numbers; other arrays are ignored.

        Raises: ModelError, an array is missing, or they do not fit together.
        """
        crf = Crf.from_arrays(arrays, "tokeniser/", "tokeniser")
        labels = arrays.get("tokeniser/kinds", np.zeros(0)).tolist()
        is_sound = labels == sorted({*labels} & {*range(N_LABELS)}) and {*_SENTENCES} & {*labels}
        if len(labels) != crf.n_labels or not is_sound:
            raise ModelError(f"no tokeniser: {crf.n_labels} labels, which mean {labels}")
        empty = {name: np.zeros(0, np.int64) for name in ("tokeniser/cut", "tokeniser/own")}
        cut, own = (checked({**empty, **arrays}, name, "i8", (None,), "tokeniser").tolist() for name in empty)
        if not {*cut} <= {*range(len(KINDS))} or not all(0 <= n < 0x110000 for n in own):
            raise ModelError("no tokeniser: tokeniser/cut or tokeniser/own hold other numbers than they may")
        kinds, formats = frozenset(KINDS[n] for n in cut), frozenset(map(chr, own))
        return cls(crf, tuple(map(int, labels)), splitter, kinds, formats, "tokeniser/brackets" in arrays)


def passages(text: str) -> Iterator[tuple[int, str, bool]]:
    """A text in passages of at least PASSAGE characters: where each begins, and whether with a paragraph.

    They end after an empty line; if none comes for as long again, after a line, a space, or anywhere. None
    begins with white space or format characters but the first; the last one may be shorter.
    """
    start, is_paragraph = 0, True
    gap = GAP.match(text)
    n_gap = gap.end() if gap else 0
    while start < len(text):
        at, latest, found = max(start, n_gap) + PASSAGE, max(start, n_gap) + 2 * PASSAGE, None
        for border in _BORDERS:
            found = found or border.search(text, at, latest)
        end = len(text) if at >= len(text) else found.end() if found else latest
        if after := GAP.match(text, end):
            end = after.end()
        yield start, text[start:end], is_paragraph
        start, is_paragraph = end, found is not None and found.re is _BORDERS[0]


def _units(symbols: Symbols, found: Whole) -> tuple[int, int]:
    first, end = np.searchsorted(symbols.places, [found.start, found.end]).tolist()
    return first, end


def _guarded(
    symbols: Symbols, text: str, cut: Set[str], cuts_brackets: bool
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    """The units (U,) that end nothing, that end a token, and that end a sentence, by the rules of `whole`."""
    inside, borders, stops = (np.zeros(len(symbols.units), np.bool_) for _ in range(3))
    for found in wholes(text):
        if found.kind in cut:
            for start, end in numbers_in(text, found, cut):
                first, last = np.searchsorted(symbols.places, [start, end - 1]).tolist()
                inside[first:last] = True
            continue
        first, end = _units(symbols, found)
        inside[first : end - 1] = True
        if cuts_brackets if found.edge == BRACKETS else found.edge not in cut:
            borders[first - 1 : first] |= found.cut_before
            borders[end - 1] |= found.cut_after and not found.ends_sentence
        if STOP not in cut and found.ends_sentence:
            borders[end - 1] = stops[end] = True
    return inside, borders, stops


def _kinds_cut(learnt: Iterable[tuple[Document, Symbols, Ints]]) -> frozenset[str]:
    """The kinds of `whole` that documents, whose units have these labels, do not keep in most cases."""
    balance, n_hyphens = Counter[str](), 0
    for document, symbols, labels in learnt:
        for found in wholes(document.text):
            first, end = _units(symbols, found)
            is_whole = not labels[first : end - 1].any()
            if end - first > 1:
                balance[found.kind] += 1 if is_whole else -1
            if not is_whole:
                continue
            if found.ends_sentence:
                is_stop = labels[end - 1] >= TOKEN and labels[end] in _SENTENCES
                balance[STOP] += 1 if is_stop else -1
            elif found.cut_before or found.cut_after:
                is_cut = not found.cut_before or not first or labels[first - 1] >= TOKEN
                is_cut = is_cut and (not found.cut_after or labels[end - 1] >= TOKEN)
                balance[found.edge] += 1 if is_cut else -1
        if RANGE not in balance:  # hyphens between letters, for want of better
            hyphens = [found.end() for found in _HYPHEN.finditer(document.text)]
            places = np.searchsorted(symbols.places, hyphens)
            n_cut = int(np.sum((labels[places] > NOTHING) | (labels[places - 1] > NOTHING)))
            n_hyphens += 2 * n_cut - len(hyphens)
    if RANGE not in balance and n_hyphens > 0:
        balance[RANGE] = -1
    return frozenset(kind for kind, n in balance.items() if n <= 0 and kind != BRACKETS)


def _cuts_brackets(learnt: Sequence[tuple[Document, Symbols, Ints]]) -> bool:
    """Whether documents, whose units have these labels, cut brackets from words, and have none at digits."""
    balance = 0
    for document, symbols, labels in learnt:
        if any(found.edge == BRACKETS and found.cut_after for found in wholes(document.text)):
            return False  # there is something to learn from
        ends = [found.start() for found in _CLOSED.finditer(document.text)]
        is_cut = labels[np.searchsorted(symbols.places, ends)] >= TOKEN
        balance += int(is_cut.sum()) - int((~is_cut).sum())
    return balance > 0


def _sentences(
    text: str,
    symbols: Symbols,
    seen: Seen,
    labels: Ints,
    words_of: Callable[[str, bool], tuple[str, ...]],
    lines: bool,
) -> list[TokenisedSentence]:
    """The sentences of a text whose units have these labels (U,); `lines`: they are its lines."""
    ends = np.flatnonzero(labels >= TOKEN)
    begins = np.append(0, ends[:-1] + 1) if len(ends) else ends
    paragraphs = np.isin(begins, symbols.first[:-1])
    of_units, ends_of_units = seen.starts[symbols.places], seen.ends[symbols.places]
    starts, stops = of_units[begins].tolist(), ends_of_units[ends].tolist()
    own = [text[start:stop] for start, stop in zip(starts, stops)]
    words = list(map(words_of, own, (labels[ends] >= SPLIT).tolist()))
    cuts = np.flatnonzero(labels == WORD)
    n_before, n_after = np.searchsorted(cuts, begins), np.searchsorted(cuts, ends)
    for n in np.flatnonzero(n_before < n_after).tolist():
        if len(words[n]) == 1 and not _has_space(words[n][0]):
            its = cuts[n_before[n] : n_after[n]]
            spans = zip([starts[n], *of_units[its + 1].tolist()], [*ends_of_units[its].tolist(), stops[n]])
            words[n] = tuple([form_of(text[a:b]) for a, b in spans])
    tokens = tuple(map(Token, starts, stops, words))
    n_words = list(accumulate(map(len, words), initial=0))
    borders = np.append(0, np.flatnonzero(np.isin(labels[ends], _SENTENCES)) + 1).tolist()
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


def _told_of_long(document: Document, name: str, n_before: int) -> bool:
    """Whether a sentence was very long, after a warning; `n_before`: line ends before the document."""
    found = [sentence.tokens for sentence in document.sentences if len(sentence.tokens) > LONG]
    if not found:
        return False
    start, end = found[0][0].start, found[0][-1].end
    n_lines = document.text.count("\n", start, end) + 1
    place = f"{name}:{n_before + document.text.count(chr(10), 0, start) + 1}"
    hint = (
        "if each line is a sentence, say --lines"
        if n_lines > 1
        else "if it is several, let empty lines end them, or give the tokeniser sentences that end so"
    )
    over = f" over {n_lines} lines" if n_lines > 1 else ""
    logger.warning("%s: a sentence of %s%s; %s", place, count(len(found[0]), "token"), over, hint)
    return True


def _has_space(form: str) -> bool:
    return any(map(str.isspace, form))


def _gold_labels(document: Document, symbols: Symbols) -> Ints:
    labels = np.full(len(document.text), NOTHING, np.int64)
    for sentence in document.sentences:
        for start, end, words in sentence.tokens:
            pieces = _pieces(document.text[start:end], words)
            for piece in pieces[:-1]:
                labels[start + piece - 1] = WORD
            labels[end - 1] = TOKEN if pieces else SPLIT
        labels[sentence.tokens[-1].end - 1] += SENTENCE - TOKEN
    return labels[symbols.places]


def _pieces(form: str, words: Sequence[str]) -> list[int]:
    """Where the words end whose forms make up a token, perhaps with spaces between; none: they do not."""
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


def _forms(documents: Iterable[Document]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The forms of all tokens, and their words if these are no pieces of them."""
    for document in documents:
        for sentence in document.sentences:
            for start, end, words in sentence.tokens:
                is_whole = _pieces(document.text[start:end], words)
                yield form_of(document.text[start:end]), () if is_whole else words


def _joined(parts: Sequence[Ints]) -> Ints:
    """Borders (n + 1,) of several parts as those of all."""
    sizes = np.concatenate([np.diff(part) for part in parts])
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
