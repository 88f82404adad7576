"""Sound CoNLL-U in windows: the places of all words' columns, found in one pass over the bytes.

`conllu` is the reference for soundness and for messages to users. This module gives no messages: text that
needs one has no columns, and `conllu` reads it.

Letters: N words, S sentences, R different texts.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dynet_vdgi.compiled.machine_code import ALWAYS, Kernel
from dynet_vdgi.data import column_kernels, tree_kernels
from dynet_vdgi.data.column_kernels import FEATS, ODD, UPOS, Bytes, Found, Hashes, Places
from dynet_vdgi.data.conllu import Heads
from dynet_vdgi.data.conllu_faults import is_feats
from dynet_vdgi.data.numbering import Known
from dynet_vdgi.data.tree_kernels import MarkRoom
from dynet_vdgi.system.arrays import Flags, Ints
from dynet_vdgi.system.limits import limit

MOST_TEXTS = 1 << 16
"""Different texts that are kept; beyond this they are forgotten, so that memory does not grow with input."""

_POLICIES: dict[Heads, int] = {"optional": 0, "required": 1, "ignored": 2}
_NEWLINE = 10
_PADDING = 16  # zeros, so that kernels may look ahead

WORTH_LOADING, WORTH_COMPILING = 300_000, 10_000_000
"""Characters of text above which it pays to load, or compile, the kernels that read columns."""

WORTH_COMPILING_BESIDE = 1_000_000
"""Characters above which it pays to compile them in another process, which takes ten seconds of its time. The
first window of a longer text has as many."""

# None of these ever runs as Python, hence work=ALWAYS: small inputs use `conllu`.
_SCAN = Kernel(column_kernels.scan, "reading")
_NUMBER = Kernel(column_kernels.number_texts, "reading")
_RESTORE = Kernel(tree_kernels.restore_trees, "writing")
_SHORTEN = Kernel(tree_kernels.shorten_trees, "scoring")
_PROJECTIVE = Kernel(tree_kernels.find_projective, "checking")
_SCORE = Kernel(tree_kernels.score_trees, "scoring")
_FIND_NOTES = Kernel(column_kernels.find_notes, "writing")
_WRITE = Kernel(column_kernels.write_trees, "writing")


class Columns(NamedTuple):
    """Sentences one after the other."""

    octets: Hashes  # the text, then zeros, see `column_kernels`
    size: int  # bytes of the text
    fields: Places  # (N, 11): where each column begins, and the next line; a tab or line end is before it
    first: Ints  # (S + 1,): number of words before each sentence
    begins: Places  # (S + 1,): where sentences begin
    heads: Ints  # (N,): heads, of a tree with one root, or -1 for each word of a sentence
    n_ranges: int  # multiword tokens
    n_empty: int  # empty nodes


def columns_of(text: bytes, heads: Heads = "optional") -> Columns | None:
    """The columns of whole sentences, each ended by an empty line; None: the text may be faulty or odd.

    The caller must still check the words' FEATS, see `conllu_faults.is_feats`, and their tags.
    """
    if b"global.columns" in text:
        return None
    arguments = _to_scan(text, heads)
    _SCAN(*arguments, work=ALWAYS)
    _, octets, _, _, _, found, counts = arguments
    n_sentences, n_words, n_others, n_ranges = counts.tolist()
    if n_sentences == ODD:
        return None
    others = found.others[:n_others].reshape(-1, 2).tolist()
    if not all(is_feats(text[begin:end].decode()) for begin, end in others):
        return None
    return Columns(
        octets,
        len(text),
        found.fields[:n_words],
        found.first[: n_sentences + 1],
        found.begins[: n_sentences + 1],
        found.heads[:n_words],
        n_ranges,
        n_others // 2,
    )


def make_ready() -> None:
    """Compiles or loads the kernels that read a text and write it with trees, unless that was done before."""
    columns = columns_of(b"1\ta\t_\tX\t_\t_\t0\troot\t_\t_\n\n")
    assert columns is not None
    types = Types(by_xpos=False).numbers(columns)
    assert types is not None
    nothing = np.zeros(0, np.int64)
    heads = restored(columns.heads, np.zeros(1, np.bool_), np.zeros(1, np.int64), columns.first)
    with_trees(columns, heads, types, Names(["root"]), nothing, Names(()))


def is_worth_it(n_chars: int) -> bool:
    """Whether `n_chars` of text justify loading the kernels, or even compiling them, which takes seconds."""
    if n_chars < WORTH_LOADING or sys.byteorder != "little":
        return False
    return n_chars >= WORTH_COMPILING or is_ready()


def is_ready() -> bool:
    """Whether the kernel that reads columns is on disk."""
    return _SCAN.is_ready(*_to_scan(b"", "optional"))


def _octets(text: bytes) -> Hashes:
    """The bytes of a text in groups of eight, then zeros."""
    octets = np.empty((len(text) + _PADDING) // 8, np.uint64)
    octets[-2:] = 0
    octets.view(np.uint8)[: len(text)] = np.frombuffer(text, np.uint8)
    return octets


def _to_scan(text: bytes, heads: Heads) -> tuple[Bytes, Hashes, int, int, int, Found, Ints]:
    """Arguments of `column_kernels.scan`."""
    octets = _octets(text)
    data = octets.view(np.uint8)
    n_lines = int(np.count_nonzero(data == _NEWLINE))
    found = Found(
        np.empty((n_lines + 1, 11), np.int32),
        np.empty(n_lines + 2, np.int32),
        np.empty(n_lines + 2, np.int64),
        np.empty(n_lines + 1, np.int64),
        np.empty(n_lines + 2, np.int64),
        np.empty(2 * n_lines + 2, np.int32),
        np.empty(len(text) + 8, np.int32),
    )
    return data, octets, len(text), _POLICIES[heads], limit("words"), found, np.zeros(4, np.int64)


class Texts(Known[str]):
    """Numbers, from 0 in order of arrival, for the text of one column, or of several adjacent ones."""

    def __init__(self, column: int, last: int | None = None, *, forgets: bool = True) -> None:
        self.column, self.last, self._forgets = column, column if last is None else last, forgets
        super().__init__()

    def forget(self) -> None:
        super().forget()
        self._slots = np.zeros(1 << 12, np.int32)
        self._hashes = np.zeros(1 << 11, np.uint64)
        self._sizes, self._begins = np.zeros(1 << 11, np.int64), np.zeros(1 + (1 << 11), np.int64)
        self._store = np.zeros(1 << 13, np.uint64)
        secrets = np.frombuffer(os.urandom(24), np.uint64)
        self._secrets = secrets | np.uint64(1)  # see `column_kernels.hash_of`

    def numbers(self, columns: Columns, words: Ints | None = None) -> Ints:
        """The numbers (N,) of all words, or of `words`; texts may be forgotten first, never in between."""
        if self._forgets and len(self.known) > MOST_TEXTS:
            self.forget()
        fields = columns.fields if words is None else columns.fields[words]
        numbers, counts = np.zeros(len(fields), np.int64), np.zeros(3, np.int64)
        counts[[0, 2]] = len(self.known)
        while True:
            _NUMBER(
                columns.octets,
                fields,
                self.column,
                self.last + 1,
                self._slots,
                self._hashes,
                self._sizes,
                self._begins,
                self._store,
                self._secrets,
                int(counts[1]),
                numbers,
                counts,
                work=ALWAYS,
            )
            if counts[1] == len(numbers):
                break
            begin, end = fields[counts[1], [self.column, self.last + 1]].tolist()
            self._grow(counts, end - begin)
        new = slice(len(self.known), int(counts[0]))
        begins, sizes = (8 * self._begins[new]).tolist(), self._sizes[new].tolist()
        if begins:
            content = self._store.view(np.uint8)[begins[0] : begins[-1] + sizes[-1]].tobytes()
            starts = (begin - begins[0] for begin in begins)
            self.known += [content[start : start + size].decode() for start, size in zip(starts, sizes)]
        return numbers

    def _grow(self, counts: Ints, more: int) -> None:
        """Makes room for one more text of `more` bytes."""
        n_texts = int(counts[0])
        least = int(self._begins[n_texts]) + more // 8 + 1
        if least > len(self._store):
            room = max(2 * len(self._store), least)
            self._store = np.concatenate([self._store, np.zeros(room - len(self._store), np.uint64)])
        if n_texts + 2 > len(self._begins):
            self._begins = np.concatenate([self._begins, np.zeros(len(self._hashes), np.int64)])
            self._sizes = np.concatenate([self._sizes, np.zeros_like(self._sizes)])
            self._hashes = np.concatenate([self._hashes, np.zeros_like(self._hashes)])
        if 2 * n_texts + 2 > len(self._slots):
            self._slots, counts[2] = np.zeros(2 * len(self._slots), np.int32), 0


class WordColumns(NamedTuple):
    """The text in some columns of a word; `tag` is UPOS or XPOS."""

    upos: str
    tag: str
    xpos: str
    feats: str


class Types(Known[WordColumns]):
    """Tags and FEATS of words: numbers for the different triples (R,), see `quick`; grows as they come."""

    def __init__(self, by_xpos: bool) -> None:
        self._by_xpos, self._texts = by_xpos, Texts(UPOS, FEATS)
        self._source = self._texts.known
        super().__init__()

    def numbers(self, columns: Columns) -> Ints | None:
        """The types (N,) of words; None: a tag is missing, or there is a fault in FEATS."""
        numbers = self._texts.numbers(columns)
        if self._texts.known is not self._source:
            self.forget()
            self._source = self._texts.known
        for text in self._source[len(self.known) :]:
            upos, xpos, feats = text.split("\t")
            self.known.append(WordColumns(upos, xpos if self._by_xpos else upos, xpos, feats))
        odd = self.table("odd", lambda row: "_" in (row.upos, row.tag) or not is_feats(row.feats), np.bool_)
        return None if odd[numbers].any() else numbers

    def are_tagged(self, tags: frozenset[str]) -> Flags:
        """Which types (R,) have one of these universal tags."""
        return self.table(tags, lambda row: row.upos in tags, np.bool_)


class Names:
    """Strings for a kernel."""

    def __init__(self, names: Sequence[str]) -> None:
        encoded = [name.encode() for name in names]
        self.octets = _octets(b"".join(encoded))
        self.ends = np.cumsum([0, *map(len, encoded)])
        self.longest = max(map(len, encoded), default=0)


def restored(kept_heads: Ints, is_removed: Flags, families: Ints, first: Ints) -> Ints:
    """Heads (N,) of all words of many sentences at once, given those of the words not removed.

    families (N,) as in `punctuation.FAMILIES`. The reference is `punctuation.restore_punctuation`.
    """
    heads, longest = np.zeros(len(is_removed), np.int64), int(np.diff(first).max(initial=0))
    size = tree_kernels.room_size(longest)
    room = MarkRoom._make(np.zeros(size, np.int64) for _ in MarkRoom._fields)
    _RESTORE(kept_heads, is_removed, families, first, room, heads, work=ALWAYS)
    return heads


def shortened(heads: Ints, is_removed: Flags, first: Ints) -> Ints:
    """Heads (K,) of the words not removed, from trees with heads (N,).

    The reference is `punctuation.heads_without`.
    """
    kept_heads = np.zeros(int(np.count_nonzero(~is_removed)), np.int64)
    ranks = np.zeros(int(np.diff(first).max(initial=0)) + 1, np.int64)
    _SHORTEN(heads, is_removed, first, ranks, kept_heads, work=ALWAYS)
    return kept_heads


def projective(heads: Ints, first: Ints) -> Flags:
    """Which trees (S,) are projective. The reference is `punctuation.is_projective`."""
    found = np.zeros(len(first) - 1, np.bool_)
    _PROJECTIVE(heads, first, found, work=ALWAYS)
    return found


def scored(gold: Ints, heads: Ints, gold_relations: Ints, relations: Ints, first: Ints) -> Ints:
    """Counts (S, 6): words; right heads, also undirected; root; right with relation; right relations."""
    scores = np.zeros((len(first) - 1, 6), np.int64)
    _SCORE(gold, heads, gold_relations, relations, first, scores, work=ALWAYS)
    return scores


def has_notes(columns: Columns, key: str) -> bool:
    """Whether adding a note with this key to MISC would replace something."""
    found, begins_so = np.zeros(1, np.bool_), np.frombuffer(f"{key}=".encode(), np.uint8)
    _FIND_NOTES(columns.octets.view(np.uint8), columns.fields, begins_so, found, work=ALWAYS)
    return bool(found[0])


def with_trees(
    columns: Columns, heads: Ints, relations: Ints, names: Names, notes: Ints, note_texts: Names
) -> bytes:
    """The text with these heads (N,) and relations (N,), as indices into names; other bytes are unchanged.

    Notes (N,) go to MISC, by number; below 0 means none, and an empty `notes` means none at all.
    """
    room = columns.size + len(heads) * (12 + names.longest + note_texts.longest)
    out, counts = np.empty((room + _PADDING) // 8, np.uint64), np.zeros(1, np.int64)
    out[0] = 0
    _WRITE(
        columns.octets.view(np.uint8),
        columns.octets,
        columns.size,
        columns.fields,
        heads,
        relations,
        names.octets,
        names.ends,
        notes,
        note_texts.octets,
        note_texts.ends,
        out,
        counts,
        work=ALWAYS,
    )
    return out.view(np.uint8)[: counts[0]].tobytes()
