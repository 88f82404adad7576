"""Compiled parts of reading and writing sound CoNLL-U by the window, on bytes; called by `columns`.

What is accepted here is sound and has nothing to be told about; `scan` gives up on everything else, and on
some sound text that is rare. What is sound is said by `conllu`, and tests compare the two.

Letters: B bytes, N words, S sentences, R different texts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.jit import compiled

Bytes = NDArray[np.uint8]
Flags = NDArray[np.bool_]
Ints = NDArray[np.int64]
Places = NDArray[np.int32]
Hashes = NDArray[np.uint64]

TAB, NEWLINE, SPACE, HASH, MINUS, DOT, ZERO, NINE, LOW_LINE = (ord(c) for c in "\t\n #-.09_")
ID, FORM, LEMMA, UPOS, XPOS, FEATS, HEAD, DEPREL, DEPS, MISC, END = range(11)
"""Columns; END is where the next line begins."""

ODD = -1
"""What `scan` says of a text that it gives up on."""

_IS_PLAIN = np.array([k > SPACE and k != 0xC2 and not 0xE1 <= k <= 0xE3 for k in range(256)])
"""Bytes that neither end a column nor begin white space."""

_TYPO = np.frombuffer(b"Typo=Yes", np.uint8)
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


class Found(NamedTuple):
    """Room for what `scan` finds."""

    fields: Places  # (N, 11): where each column of each word begins
    begins: Places  # (S + 1,): where sentences begin
    first: Ints  # (S + 1,): number of words before each sentence
    heads: Ints  # (N,); -1 where there is none
    above: Ints  # as many as words of a sentence may be
    others: Places  # (2 * lines,): where FEATS of empty nodes begin and end


# ------------------------------------------------------------------------------------------- lines
@compiled
def space_at(data: Bytes, place: int) -> int:
    """How many bytes the white space here has; 0: this is none; -1: a character that is odd anywhere."""
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
def find_columns(data: Bytes, place: int, row: Places) -> bool:
    """Where the ten columns of the line that begins here begin (11,); False: the line is odd.

    White space is inside FORM, LEMMA and MISC only, where two spaces do not follow each other.
    """
    column, start = 0, place
    row[0] = place
    while True:
        while _IS_PLAIN[data[place]]:
            place += 1
        byte = data[place]
        if byte in (TAB, NEWLINE):
            if place == start or (column == MISC) != (byte == NEWLINE):
                return False
            column += 1
            place += 1
            start = place
            row[column] = place
            if column == END:
                return True
            continue
        width = space_at(data, place)
        if width:
            if width < 0 or place == start or (column != FORM and column != LEMMA and column != MISC):
                return False
            place += width
            following = data[place]
            if following in (TAB, NEWLINE) or (byte == SPACE and following == SPACE):
                return False
            continue
        place += 1


@compiled
def number_at(data: Bytes, start: int, end: int) -> int:
    """The number that stands there, up to nine digits; -1: none, or not as one writes it."""
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
    """The last word of a multiword range in its place, before word n_words + 1; 0: this is none, or odd."""
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
    """Whether this is an empty node in its place, after word n_words and so many nodes there before it."""
    dot, end = row[ID], row[ID + 1] - 1
    while dot < end and data[dot] != DOT:
        dot += 1
    if number_at(data, row[ID], dot) != n_words or number_at(data, dot + 1, end) != before + 1:
        return False
    return is_missing(data, row, HEAD) and is_missing(data, row, DEPREL)


# ------------------------------------------------------------------------------------------- sentences
@compiled
def is_tree(heads: Ints, above: Ints) -> bool:
    """Whether heads (n,) are a tree with one root; above (n + 1,) is room."""
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
    """Whether heads (n,), -1 for none, are a tree, or none at all where `policy` allows it."""
    n_missing = 0
    for head in heads:
        n_missing += head < 0
    if n_missing:
        return n_missing == len(heads) and policy != 1
    return is_tree(heads, above)


@compiled
def scan(data: Bytes, size: int, policy: int, most_words: int, found: Found, counts: Ints) -> None:
    """Finds the words of the sentences data[:size], each of which ends with an empty line; zeros follow.

    `policy`: 0: trees are optional, 1: required, 2: ignored. Fills in `found` and counts (4,): sentences,
    words, places in `others`, ranges; sentences are ODD where there may be something to be told.
    """
    place, n_sentences, n_words, n_others, n_ranges = 0, 0, 0, 0, 0
    fields, heads, first = found.fields, found.heads, found.first
    counts[0] = ODD
    found.begins[0], first[0] = 0, 0
    while place < size:
        start, range_start, range_end, empty_nodes, is_started = n_words, 0, 0, 0, False
        while data[place] != NEWLINE:
            if data[place] == HASH:
                while data[place] != NEWLINE:
                    if is_started or data[place] == 0 or data[place] == 13:
                        return
                    place += 1
                place += 1
                continue
            is_started = True
            row = fields[n_words]
            if not find_columns(data, place, row):
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
        place += 1
        n_sentences += 1
        found.begins[n_sentences], first[n_sentences] = place, n_words
    counts[0], counts[1], counts[2], counts[3] = n_sentences, n_words, n_others, n_ranges


# ------------------------------------------------------------------------------------------- texts
@compiled
def number_texts(
    data: Bytes,
    fields: Places,
    column: int,
    after: int,
    slots: Places,
    hashes: Hashes,
    ends: Ints,
    store: Bytes,
    start: int,
    size: int,
    numbers: Ints,
    counts: Ints,
) -> None:
    """Numbers (N,), from word `start` on, of what stands from a column to before the tab of the one `after`.

    Text k, of `size` so far, is store[ends[k]:ends[k + 1]], hashes (R,) are theirs, and slots, a power of two
    of them, have k + 1 where a hash leads. Fills in counts (2,): texts, and the words that were numbered,
    which are fewer than all where there is no room for another text.
    """
    mask = len(slots) - 1
    counts[0], counts[1] = size, len(fields)
    for word in range(start, len(fields)):
        begin, end = fields[word, column], fields[word, after] - 1
        code = np.uint64(end - begin)
        for place in range(begin, end):
            code = (code ^ np.uint64(data[place])) * _MULTIPLIER
            code ^= code >> np.uint64(29)
        slot = np.int64(code >> np.uint64(20)) & mask
        known = -1
        while slots[slot]:
            k = slots[slot] - 1
            if hashes[k] == code and ends[k + 1] - ends[k] == end - begin:
                same = True
                for j in range(end - begin):
                    if store[ends[k] + j] != data[begin + j]:
                        same = False
                        break
                if same:
                    known = k
                    break
            slot = (slot + 1) & mask
        if known < 0:
            if size + 2 > len(ends) or 2 * size + 2 > len(slots) or ends[size] + end - begin > len(store):
                counts[0], counts[1] = size, word
                return
            known = size
            for j in range(end - begin):
                store[ends[size] + j] = data[begin + j]
            ends[size + 1] = ends[size] + end - begin
            hashes[size] = code
            size += 1
            slots[slot] = size
        numbers[word] = known
    counts[0] = size


# ------------------------------------------------------------------------------------------- trees
@compiled
def restore_trees(kept_heads: Ints, is_removed: Flags, first: Ints, places: Ints, heads: Ints) -> None:
    """`data.punctuation.restore_punctuation` for sentences that begin at first (S + 1,): heads (N,).

    kept_heads are those of the words that are not removed, one sentence after the other; places is room for
    the words of a sentence.
    """
    kept = 0
    for k in range(len(first) - 1):
        start, n, m = first[k], first[k + 1] - first[k], 0
        for word in range(1, n + 1):
            heads[start + word - 1] = -1
            if not is_removed[start + word - 1]:
                places[m] = word
                m += 1
        root = 0
        for j in range(m):
            head = kept_heads[kept + j]
            heads[start + places[j] - 1] = places[head - 1] if head else 0
            if head == 0 and root == 0:
                root = places[j]
        kept += m
        before = 0
        for word in range(1, n + 1):
            if heads[start + word - 1] >= 0:
                before = 0
                continue
            if m == 0:
                heads[start + word - 1] = 1 if word > 1 else 0
                continue
            if before == 0:
                before = root
                if places[0] < word < places[m - 1]:
                    before = innermost(heads[start : start + n], places, m, word, root)
            heads[start + word - 1] = before


@compiled
def innermost(heads: Ints, places: Ints, m: int, word: int, root: int) -> int:
    """The head of the shortest arc over a word among those of the m words at places, or the root."""
    shortest, found = len(heads) + 1, root
    for j in range(m):
        dependent = places[j]
        head = heads[dependent - 1]
        left, right = min(head, dependent), max(head, dependent)
        if left and left < word < right and right - left < shortest:
            shortest, found = right - left, head
    return found


@compiled
def shorten_trees(heads: Ints, is_removed: Flags, first: Ints, ranks: Ints, kept_heads: Ints) -> None:
    """`data.punctuation.heads_without` for trees of sentences that begin at first (S + 1,): kept_heads.

    ranks is room for the words of a sentence and one more.
    """
    kept = 0
    for k in range(len(first) - 1):
        start, n, m, root = first[k], first[k + 1] - first[k], 0, 0
        ranks[0] = 0
        for word in range(1, n + 1):
            ranks[word] = 0
            if not is_removed[start + word - 1]:
                m += 1
                ranks[word] = m
                if heads[start + word - 1] == 0:
                    root = m
        for word in range(1, n + 1):
            if ranks[word]:
                head = heads[start + word - 1]
                while head > 0 and ranks[head] == 0:
                    head = heads[start + head - 1]
                if head == 0 and heads[start + word - 1] > 0:
                    root = root if root else ranks[word]  # the first one that climbs there is the root
                    head_rank = 0 if root == ranks[word] else root
                else:
                    head_rank = ranks[head]
                kept_heads[kept + ranks[word] - 1] = head_rank
        kept += m


@compiled
def find_projective(heads: Ints, first: Ints, found: Flags) -> None:
    """`data.punctuation.is_projective` of each tree: found (S,)."""
    for k in range(len(first) - 1):
        start, n = first[k], first[k + 1] - first[k]
        found[k] = True
        for one in range(1, n + 1):
            left, right = min(one, heads[start + one - 1]), max(one, heads[start + one - 1])
            for two in range(1, one):
                low, high = min(two, heads[start + two - 1]), max(two, heads[start + two - 1])
                if left < low < right < high or low < left < high < right:
                    found[k] = False


@compiled
def score_trees(
    gold: Ints, heads: Ints, gold_relations: Ints, relations: Ints, first: Ints, scores: Ints
) -> None:
    """What `evaluation.attachment.score_sentence` counts: scores (S, 6), with the words first."""
    for k in range(len(first) - 1):
        start, n = first[k], first[k + 1] - first[k]
        agree = 1
        for word in range(n):
            right, head = gold[start + word], heads[start + word]
            same = gold_relations[start + word] == relations[start + word]
            scores[k, 1] += right == head
            scores[k, 2] += right == head or (head > 0 and gold[start + head - 1] == word + 1)
            if (right == 0) != (head == 0):
                agree = 0
            scores[k, 4] += same and right == head
            scores[k, 5] += same
        scores[k, 0], scores[k, 3] = n, agree


# ------------------------------------------------------------------------------------------- writing
@compiled
def put(source: Bytes, start: int, end: int, out: Bytes, place: int) -> int:
    """Copies bytes to `out`; the place after them."""
    for k in range(start, end):
        out[place] = source[k]
        place += 1
    return place


@compiled
def put_number(number: int, out: Bytes, place: int) -> int:
    """Writes a number from 0 upwards; the place after it."""
    size = 1
    while number >= 10**size:
        size += 1
    for k in range(size):
        out[place + size - 1 - k] = ZERO + number % 10
        number //= 10
    return place + size


@compiled
def write_trees(
    data: Bytes,
    size: int,
    fields: Places,
    heads: Ints,
    relations: Ints,
    names: Bytes,
    name_ends: Ints,
    notes: Ints,
    note_texts: Bytes,
    note_ends: Ints,
    out: Bytes,
    counts: Ints,
) -> None:
    """The text data[:size] with heads and relations (N,), names by number, and notes (N,) added to MISC.

    A note below 0 is none; of no notes at all, notes is of length 0. Fills in counts (1,): bytes written.
    """
    done, place = 0, 0
    for word in range(len(fields)):
        row, k = fields[word], relations[word]
        place = put(data, done, row[HEAD], out, place)
        place = put_number(heads[word], out, place)
        out[place] = TAB
        place = put(names, name_ends[k], name_ends[k + 1], out, place + 1)
        done = row[DEPREL + 1] - 1
        if len(notes) and notes[word] >= 0:
            k = notes[word]
            if is_missing(data, row, MISC):
                place, done = put(data, done, row[MISC], out, place), row[END] - 1
            else:
                place, done = put(data, done, row[END] - 1, out, place), row[END] - 1
                out[place] = 124  # |
                place += 1
            place = put(note_texts, note_ends[k], note_ends[k + 1], out, place)
    counts[0] = put(data, done, size, out, place)
