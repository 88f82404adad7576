"""Compiled kernels that read and write sound CoNLL-U in windows of bytes; called by `columns`.

These kernels accept only sound text that needs no message; `scan` gives up on everything else, and on some
rare sound text. `conllu` defines what is sound, and tests compare the two.

Bytes are read and copied eight at a time: `octets` are the same bytes as uint64, lowest byte first, with at
least eight further bytes after them.

Letters: B bytes, N words, S sentences, R different texts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.compiled.jit import compiled
from dynet_vdgi.system.arrays import Flags, Ints

Bytes = NDArray[np.uint8]
Places = NDArray[np.int32]
Hashes = NDArray[np.uint64]

TAB, NEWLINE, RETURN, SPACE, HASH, MINUS, DOT, ZERO, NINE, LOW_LINE, BAR = (ord(c) for c in "\t\n\r #-.09_|")
ID, FORM, LEMMA, UPOS, XPOS, FEATS, HEAD, DEPREL, DEPS, MISC, END = range(11)
"""Columns; END is where the next line begins."""

ODD = -1
"""The result of `scan` for a text that it gives up on."""

_TYPO = np.frombuffer(b"Typo=Yes", np.uint8)

_EACH, _HIGH = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
_SPACES, _C2, _E0, _FOURS = (_EACH * np.uint64(k) for k in (SPACE + 1, 0xC2, 0xE0, 4))
_PLACES = np.uint64(0x0001020304050607)
_U0, _U1, _U7, _U8, _U32, _U56, _U63 = (np.uint64(k) for k in (0, 1, 7, 8, 32, 56, 63))
_LOW_HALF = np.uint64(0xFFFFFFFF)


class Found(NamedTuple):
    """Workspace for the results of `scan`."""

    fields: Places  # (N, 11): where each column of each word begins
    begins: Places  # (S + 1,): where sentences begin
    first: Ints  # (S + 1,): number of words before each sentence
    heads: Ints  # (N,); -1 where there is none
    above: Ints  # as long as the longest sentence may be
    others: Places  # (2 * lines,): where FEATS of empty nodes begin and end
    odd: Places  # (B + 8,): places of odd bytes


# ------------------------------------------------------------------------------------------- octets
@compiled
def octet_at(octets: Hashes, place: int, size: int) -> Any:
    """The bytes from here on as one number: eight or, if fewer are left, `size` of them."""
    whole, shift = place >> 3, np.uint64(place & 7) << np.uint64(3)
    octet = octets[whole] >> shift | octets[whole + 1] << _U1 << (_U63 - shift)
    if size < 8:
        octet &= (_U1 << (np.uint64(size) << np.uint64(3))) - _U1
    return octet


@compiled
def odd_bytes(octet: np.uint64) -> Any:
    """The highest bits of bytes that may end a column or begin white space, and of a few other bytes.

    Such bytes are those up to the space, C2, and E1 to E3 (see `space_at`). This is Mycroft's test for small
    bytes, which may also find the byte after one.
    """
    found = (octet - _SPACES) & ~octet & _HIGH
    if octet & _HIGH:
        other = octet ^ _C2
        found |= (other - _EACH) & ~other & _HIGH
        other = octet ^ _E0
        found |= (other - _FOURS) & ~other & _HIGH
    return found


@compiled
def first_odd(whole: int, found: np.uint64) -> Any:
    """The place of the first byte that `odd_bytes` found in octet number `whole`."""
    lowest = found & (~found + _U1)
    return (whole << 3) + np.int64(((lowest >> _U7) * _PLACES) >> _U56)


@compiled
def find_odd(octets: Hashes, size: int, places: Places) -> None:
    """Lists the places of all bytes that `odd_bytes` finds in `size` bytes; `places` needs eight to spare."""
    n = 0
    for whole in range((size + 7) >> 3):
        found = odd_bytes(octets[whole])
        n_found = np.int64(((found >> _U7) * _EACH) >> _U56)
        for k in range(3):  # as many as most octets have, without a test: a wrong guess would cost more
            places[n + k] = first_odd(whole, found)
            found &= found - _U1
        for k in range(3, n_found):
            places[n + k] = first_odd(whole, found)
            found &= found - _U1
        n += n_found


# ------------------------------------------------------------------------------------------- lines
@compiled
def space_at(data: Bytes, place: int) -> int:
    """How many bytes the white space here has; 0: none; -1: a character that is odd anywhere."""
    byte = data[place]
    if byte == SPACE:
        return 1
    if byte < SPACE:
        return -1 if byte == 0 or 11 <= byte <= 13 or byte >= 28 else 0
    following, last = data[place + 1], data[place + 2]
    if byte == 0xC2:
        return 2 if following == 0x85 or following == 0xA0 else 0
    if byte == 0xE1:
        return 3 if following == 0x9A and last == 0x80 else 0
    if byte == 0xE2:
        if following == 0x80 and (last <= 0x8A or last == 0xA8 or last == 0xA9 or last == 0xAF):
            return 3
        return 3 if following == 0x81 and last == 0x9F else 0
    return 3 if byte == 0xE3 and following == 0x80 and last == 0x80 else 0


@compiled
def find_columns(data: Bytes, odd: Places, at: int, row: Places) -> int:
    """Finds the ends of the columns of the line that begins at row[0]: row (11,); odd[at:] are its odd bytes.

    White space may stand only inside FORM, LEMMA and MISC, and never two spaces in a row. Returns the number
    of odd bytes up to the line's end; -1: the line is odd.
    """
    column = 0
    while True:
        place = odd[at]
        at += 1
        byte = data[place]
        if byte in (TAB, NEWLINE):
            if place == row[column] or (column == MISC) != (byte == NEWLINE):
                return -1
            column += 1
            row[column] = place + 1
            if column == END:
                return at
            continue
        width = space_at(data, place)
        if width:
            if width < 0 or place == row[column] or (column != FORM and column != LEMMA and column != MISC):
                return -1
            following = data[place + width]
            if following in (TAB, NEWLINE) or (byte == SPACE and following == SPACE):
                return -1


@compiled
def number_at(data: Bytes, start: int, end: int) -> int:
    """The number at this place, up to nine digits; -1: none, or not in its usual spelling."""
    if not 1 <= end - start <= 9 or (data[start] == ZERO and end - start > 1):
        return -1
    number = 0
    for place in range(start, end):
        if not ZERO <= data[place] <= NINE:
            return -1
        number = 10 * number + data[place] - ZERO
    return number


@compiled
def is_missing(data: Bytes, row: Places, column: int) -> bool:
    """Whether a column is _."""
    return bool(row[column + 1] - row[column] == 2 and data[row[column]] == LOW_LINE)


@compiled
def is_range(data: Bytes, row: Places, n_words: int, range_end: int) -> int:
    """The last word of a multiword range in its place before word n_words + 1; 0: no range, or an odd one."""
    dash, end = row[ID], row[ID + 1] - 1
    while dash < end and data[dash] != MINUS:
        dash += 1
    start, last = number_at(data, row[ID], dash), number_at(data, dash + 1, end)
    if start != n_words + 1 or last < start or start <= range_end:
        return 0
    for column in (LEMMA, UPOS, XPOS, HEAD, DEPREL, DEPS):
        if not is_missing(data, row, column):
            return 0
    if not is_missing(data, row, FEATS):
        if row[FEATS + 1] - 1 - row[FEATS] != len(_TYPO):
            return 0
        for k in range(len(_TYPO)):
            if data[row[FEATS] + k] != _TYPO[k]:
                return 0
    return last


@compiled
def is_empty_node(data: Bytes, row: Places, n_words: int, before: int) -> bool:
    """Whether this is an empty node in sequence, after word n_words and `before` other nodes there."""
    dot, end = row[ID], row[ID + 1] - 1
    while dot < end and data[dot] != DOT:
        dot += 1
    if number_at(data, row[ID], dot) != n_words or number_at(data, dot + 1, end) != before + 1:
        return False
    return is_missing(data, row, HEAD) and is_missing(data, row, DEPREL)


# ------------------------------------------------------------------------------------------- sentences
@compiled
def is_tree(heads: Ints, above: Ints) -> bool:
    """Whether heads (n,) are a tree with one root; above (n + 1,) is workspace."""
    n, n_roots = len(heads), 0
    for word in range(n):
        if heads[word] > n:
            return False
        n_roots += heads[word] == 0
        above[word + 1] = 0
    if n_roots != 1:
        return False
    above[0] = -1
    for start in range(1, n + 1):
        word = start
        while above[word] == 0:
            above[word] = start
            word = heads[word - 1]
        if above[word] == start:
            return False
    return True


@compiled
def is_sound(heads: Ints, policy: int, above: Ints) -> bool:
    """Whether heads (n,), -1 for none, are a tree, or all missing where `policy` allows it."""
    n_missing = 0
    for head in heads:
        n_missing += head < 0
    if n_missing:
        return n_missing == len(heads) and policy != 1
    return is_tree(heads, above)


@compiled
def after_comment(data: Bytes, odd: Places, at: int) -> int:
    """Odd bytes up to the end of the line, `at` of them before the line; -1: the line is odd."""
    while data[odd[at]] != NEWLINE:
        if data[odd[at]] == 0 or data[odd[at]] == RETURN:
            return -1
        at += 1
    return at + 1


@compiled
def scan(
    data: Bytes, octets: Hashes, size: int, policy: int, most_words: int, found: Found, counts: Ints
) -> None:
    """Finds the words of the sentences in data[:size], each ended by an empty line; zeros follow.

    `policy`: 0: trees are optional, 1: required, 2: ignored. Fills in `found` and counts (4,): sentences,
    words, places in `others`, ranges; sentences is ODD where a message may be needed.
    """
    place, at, n_sentences, n_words, n_others, n_ranges = 0, 0, 0, 0, 0, 0
    fields, heads, first, odd = found.fields, found.heads, found.first, found.odd
    find_odd(octets, size, odd)
    counts[0] = ODD
    found.begins[0], first[0] = 0, 0
    while place < size:
        start, range_start, range_end, empty_nodes, is_started = n_words, 0, 0, 0, False
        while data[place] != NEWLINE:
            if data[place] == HASH:
                at = after_comment(data, odd, at)
                if at < 0 or is_started:
                    return
                place = odd[at - 1] + 1
                continue
            is_started = True
            row = fields[n_words]
            row[ID] = place
            at = find_columns(data, odd, at, row)
            if at < 0:
                return
            place = row[END]
            n = n_words - start
            number = number_at(data, row[ID], row[ID + 1] - 1)
            if number == n + 1:
                head = number_at(data, row[HEAD], row[HEAD + 1] - 1)
                if head < 0 and policy != 2 and not is_missing(data, row, HEAD):
                    return
                heads[n_words] = head
                n_words += 1
                empty_nodes = 0
            elif number >= 0:
                return
            elif range_start <= n and is_empty_node(data, row, n, empty_nodes):
                empty_nodes += 1
                found.others[n_others], found.others[n_others + 1] = row[FEATS], row[FEATS + 1] - 1
                n_others += 2
            else:
                range_end = is_range(data, row, n, range_end)
                if range_end == 0:
                    return
                range_start = n + 1
                n_ranges += 1
        n = n_words - start
        if n == 0 or n > most_words or range_end > n:
            return
        if policy != 2 and not is_sound(heads[start:n_words], policy, found.above):
            return
        place, at = place + 1, at + 1
        n_sentences += 1
        found.begins[n_sentences], first[n_sentences] = place, n_words
    counts[0], counts[1], counts[2], counts[3] = n_sentences, n_words, n_others, n_ranges


# ------------------------------------------------------------------------------------------- texts
@compiled
def number_texts(
    octets: Hashes,
    fields: Places,
    column: int,
    after: int,
    slots: Places,
    hashes: Hashes,
    sizes: Ints,
    begins: Ints,
    store: Hashes,
    secrets: Hashes,
    start: int,
    numbers: Ints,
    counts: Ints,
) -> None:
    """Numbers (N,), from word `start` on, for the text from one column to before the tab of column `after`.

    Text k has sizes[k] bytes in the octets store[begins[k]:begins[k + 1]]; hashes (R,) holds its hash.
    `slots`, whose length is a power of two, holds k + 1 where the hash leads. Changes counts (3,): texts so
    far; words numbered, fewer than all if there is no room for another text; and texts entered in the slots,
    0 if there are more slots than before.
    """
    mask, n_texts = len(slots) - 1, counts[0]
    for k in range(counts[2], n_texts):
        slot = np.int64(hashes[k]) & mask
        while slots[slot]:
            slot = (slot + 1) & mask
        slots[slot] = k + 1
    for word in range(start, len(fields)):
        begin, size = fields[word, column], fields[word, after] - 1 - fields[word, column]
        code = hash_of(octets, begin, size, secrets)
        slot = np.int64(code) & mask
        known = -1
        while slots[slot]:
            k = slots[slot] - 1
            if hashes[k] == code and sizes[k] == size and is_there(octets, begin, size, store, begins[k]):
                known = k
                break
            slot = (slot + 1) & mask
        if known < 0:
            n_octets = (size + 7) >> 3
            if n_texts + 2 > len(begins) or 2 * n_texts + 2 > len(slots):
                break
            if begins[n_texts] + n_octets > len(store):
                break
            known = n_texts
            for k in range(n_octets):
                store[begins[known] + k] = octet_at(octets, begin + 8 * k, size - 8 * k)
            begins[known + 1] = begins[known] + n_octets
            hashes[known], sizes[known] = code, size
            n_texts += 1
            slots[slot] = n_texts
        numbers[word] = known
        counts[1] = word + 1
    counts[0] = counts[2] = n_texts


@compiled
def hash_of(octets: Hashes, begin: int, size: int, secrets: Hashes) -> Any:
    """The hash of some bytes. Collisions depend on the secrets (3,), so nobody can choose them.

    A random start is not enough, because in h -> (h ^ octet) * m the highest bits of two octets can be made
    to cancel for any h and m. Therefore both halves of the product are used, as in wyhash (Wang Yi 2019).
    """
    code = secrets[0] + np.uint64(size)
    for k in range(0, size, 8):
        code = folded_product(code ^ octet_at(octets, begin + k, size - k), secrets[1])
    return folded_product(code ^ secrets[0], secrets[2])


@compiled
def folded_product(one: np.uint64, other: np.uint64) -> Any:
    """The higher half of the 128-bit product plus its lower half, without carry."""
    one_low, one_high, other_low, other_high = one & _LOW_HALF, one >> _U32, other & _LOW_HALF, other >> _U32
    first = one_high * other_low + (one_low * other_low >> _U32)
    second = one_low * other_high + (first & _LOW_HALF)
    return (one_high * other_high + (first >> _U32) + (second >> _U32)) ^ (one * other)


@compiled
def is_there(octets: Hashes, begin: int, size: int, store: Hashes, place: int) -> bool:
    """Whether the bytes from a place on equal the stored octets."""
    for k in range(0, size, 8):  # noqa: SIM110 (numba)
        if store[place + (k >> 3)] != octet_at(octets, begin + k, size - k):
            return False
    return True


# ------------------------------------------------------------------------------------------- writing
@compiled
def find_notes(data: Bytes, fields: Places, key: Bytes, found: Flags) -> None:
    """Whether any word has something in MISC that a note replaces: found (1,).

    Replaced are a _ that is one of several parts, and any part that begins with the note's key.
    """
    found[0] = False
    for word in range(len(fields)):
        start, end = fields[word, MISC], fields[word, END] - 1
        part = start
        for place in range(start, end + 1):
            if place < end and data[place] != BAR:
                continue
            if place - part == 1 and end - start > 1 and data[part] == LOW_LINE:
                found[0] = True
            k = 0
            while k < len(key) and data[part + k] == key[k]:
                k += 1
            if k == len(key):
                found[0] = True
            part = place + 1


@compiled
def put_octet(octet: np.uint64, size: int, out: Hashes, place: int) -> int:
    """Writes `size` bytes to a place of `out` followed by zeros; returns the place after them."""
    whole, shift = place >> 3, np.uint64(place & 7) << np.uint64(3)
    out[whole] |= octet << shift
    out[whole + 1] = octet >> _U1 >> (_U63 - shift)
    return place + size


@compiled
def put(source: Hashes, start: int, end: int, out: Hashes, place: int) -> int:
    """Copies bytes to `out`; returns the place after them."""
    for k in range(start, end, 8):
        size = min(end - k, 8)
        place = put_octet(octet_at(source, k, size), size, out, place)
    return place


@compiled
def put_number(number: int, out: Hashes, place: int) -> int:
    """Writes a number from 0 to 99,999,999; returns the place after it."""
    octet, size = _U0, 0
    while size == 0 or number:
        octet = octet << _U8 | np.uint64(ZERO + number % 10)
        number //= 10
        size += 1
    return put_octet(octet, size, out, place)


@compiled
def write_trees(
    data: Bytes,
    octets: Hashes,
    size: int,
    fields: Places,
    heads: Ints,
    relations: Ints,
    names: Hashes,
    name_ends: Ints,
    notes: Ints,
    note_texts: Hashes,
    note_ends: Ints,
    out: Hashes,
    counts: Ints,
) -> None:
    """The text data[:size] with heads and relations (N,), names by number, and notes (N,) added to MISC.

    A note below 0 means none; an empty `notes` means no notes at all. Fills in counts (1,): bytes written.
    """
    done, place = 0, 0
    for word in range(len(fields)):
        row, k = fields[word], relations[word]
        place = put(octets, done, row[HEAD], out, place)
        place = put_number(heads[word], out, place)
        place = put_octet(np.uint64(TAB), 1, out, place)
        place = put(names, name_ends[k], name_ends[k + 1], out, place)
        done = row[DEPREL + 1] - 1
        if len(notes) and notes[word] >= 0:
            k, end = notes[word], row[END] - 1
            if is_missing(data, row, MISC):
                place = put(octets, done, row[MISC], out, place)
            else:
                place = put(octets, done, end, out, place)
                place = put_octet(np.uint64(BAR), 1, out, place)
            place, done = put(note_texts, note_ends[k], note_ends[k + 1], out, place), end
    counts[0] = put(octets, done, size, out, place)
