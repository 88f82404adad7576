"""Compiled operations on the trees of many sentences at once; called by `columns`.

Letters: N words, K of them kept, S sentences; n words of one sentence, m of them kept. A gap is a place
between kept words, numbered by how many of them precede it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dynet_vdgi.compiled.jit import compiled

if TYPE_CHECKING:  # small amounts of work need no NumPy
    from dynet_vdgi.system.arrays import Flags, Ints

FIRST_QUOTE, LAST_FAMILY = 32, 63
"""Families of marks: -k closes what k opens; from FIRST_QUOTE on, one mark does both, in turn. 0: others."""


class MarkRoom(NamedTuple):
    """Workspace for `restore_tree`: arrays or lists of `room_size`. Word 0 stands before the first one."""

    depth: Ints  # number of arcs from the root
    low: Ints  # the leftmost word linked to this one by an arc, or itself; 0 for the root
    high: Ints  # the rightmost one
    left_wall: Ints  # of each gap: the nearest word before it with an arc to a word after it
    right_wall: Ints  # the nearest word after it with an arc to one before it
    left_cover: Ints  # of each word: the nearest one before it with an arc to a word after it
    right_cover: Ints  # the nearest one after it with an arc to one before it
    stack: Ints
    places: Ints  # of each kept word: its position
    gaps: Ints  # of each removed word: its gap
    inner: Ints  # the gap of its partner, -1 without one
    previous: Ints  # the mark of its family that was open before
    last: Ints  # of each family: the mark that is open


def room_size(n_words: int) -> int:
    """The length that arrays of a `MarkRoom` need for sentences of `n_words` words."""
    return max(n_words + 2, LAST_FAMILY + 1)


@compiled
def restore_trees(
    kept_heads: Ints, is_removed: Flags, families: Ints, first: Ints, room: MarkRoom, heads: Ints
) -> None:
    """`restore_tree` for sentences in a row that begin at first (S + 1,): heads (N,)."""
    kept = 0
    for k in range(len(first) - 1):
        start, end, m = first[k], first[k + 1], 0
        for word in range(start, end):
            m += not is_removed[word]
        restore_tree(
            kept_heads[kept : kept + m], is_removed[start:end], families[start:end], room, heads[start:end]
        )
        kept += m


@compiled
def restore_tree(kept_heads: Ints, is_removed: Flags, families: Ints, room: MarkRoom, heads: Ints) -> bool:
    """Heads (n,) of all words, as in `data.punctuation.restore_punctuation`; False: kept_heads are no tree.

    families (n,) are those of `data.punctuation.FAMILIES`.
    """
    gap, before = 0, 0
    if len(kept_heads) == 0:
        for k in range(len(heads)):
            heads[k] = min(k, 1)
        return True
    if not find_depths(kept_heads, room):
        return False
    find_walls(kept_heads, room)
    find_partners(is_removed, families, room)
    for word in range(1, len(heads) + 1):
        if not is_removed[word - 1]:
            head, gap, before = kept_heads[gap], gap + 1, 0
        else:
            head = head_of_mark(kept_heads, gap, room.inner[word], room)
            crosses = not gap < head <= before if before > gap else before < head <= gap
            if before and crosses:  # the arc of the mark beside it
                head = before
            before = head
        heads[word - 1] = room.places[head]
    return True


@compiled
def find_depths(heads: Ints, room: MarkRoom) -> bool:
    """Fills in the depths of words with heads (m,); False: there is a cycle."""
    m, depth, stack = len(heads), room.depth, room.stack
    depth[0] = 0
    for word in range(1, m + 1):
        depth[word] = -1
    for start in range(1, m + 1):
        size, word = 0, start
        while depth[word] < 0:
            if size == m:
                return False
            stack[size] = word
            size += 1
            word = heads[word - 1]
        above = depth[word]
        for k in range(size - 1, -1, -1):
            above += 1
            depth[stack[k]] = above
    return True


@compiled
def find_walls(heads: Ints, room: MarkRoom) -> None:
    """Fills in how far the arcs of words with heads (m,) reach, and the walls and covers they make."""
    m, low, high, stack = len(heads), room.low, room.high, room.stack
    for word in range(m + 2):
        low[word] = high[word] = word
    for word in range(1, m + 1):
        head = heads[word - 1]
        low[word], high[word] = min(low[word], head), max(high[word], head)
        if head:
            low[head], high[head] = min(low[head], word), max(high[head], word)
    high[0], low[m + 1] = m + 1, -1  # keeps the stack non-empty
    stack[0], top = 0, 0
    for word in range(1, m + 1):
        while high[stack[top]] <= word:
            top -= 1
        room.left_cover[word] = stack[top]
        if high[word] > word:
            top += 1
            stack[top] = word
        room.left_wall[word] = stack[top]
    stack[0], top = m + 1, 0
    for word in range(m, 0, -1):
        while low[stack[top]] >= word:
            top -= 1
        room.right_cover[word] = stack[top]
        if low[word] < word:
            top += 1
            stack[top] = word
        room.right_wall[word - 1] = stack[top]


@compiled
def find_partners(is_removed: Flags, families: Ints, room: MarkRoom) -> None:
    """Fills in the places of kept words, the gaps of the others, and the gap of each one's partner."""
    gap, last = 0, room.last
    room.places[0] = 0
    for family in range(LAST_FAMILY + 1):
        last[family] = 0
    for word in range(1, len(is_removed) + 1):
        if not is_removed[word - 1]:
            gap += 1
            room.places[gap] = word
            continue
        family = families[word - 1]
        opening = last[abs(family)]
        room.gaps[word], room.inner[word] = gap, -1
        if opening and (family < 0 or family >= FIRST_QUOTE):
            last[abs(family)] = room.previous[opening]
            if room.gaps[opening] < gap:
                room.inner[word], room.inner[opening] = room.gaps[opening], gap
        elif family > 0:
            room.previous[word] = opening
            last[family] = word


@compiled
def head_of_mark(heads: Ints, gap: int, inner: int, room: MarkRoom) -> int:
    """The head of a mark in a gap among words with heads (m,), whose partner is in the gap `inner`, or -1."""
    left = right = 0
    if gap > 0 and inner <= gap:
        first = max(room.left_wall[gap], inner + 1, 1)
        left = highest(heads, gap, first, gap, room)
    if gap < len(heads) and (inner < 0 or inner > gap):
        last = room.right_wall[gap]
        if inner > gap:
            last = min(last, inner)
        right = highest(heads, gap + 1, gap + 1, last, room)
    if left == 0 or right == 0:
        return left + right
    return left if room.depth[left] >= room.depth[right] else right


@compiled
def highest(heads: Ints, start: int, first: int, last: int, room: MarkRoom) -> int:
    """The last word on the way up from `start`, staying within first..last, that a mark can reach.

    The mark stands beside `start`, at that end of first..last. An arc may cover the word only if it also
    covers the mark.
    """
    word = found = start
    while first <= heads[word - 1] <= last:
        word = heads[word - 1]
        if room.right_cover[word] > start if word < start else room.left_cover[word] < start:
            found = word
    return found


@compiled
def shorten_trees(heads: Ints, is_removed: Flags, first: Ints, ranks: Ints, kept_heads: Ints) -> None:
    """`data.punctuation.heads_without` for trees of sentences that begin at first (S + 1,): kept_heads.

    ranks is workspace for the words of a sentence and one more.
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
                    root = root if root else ranks[word]  # the first word to climb there is the root
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
    """The counts of `evaluation.attachment.score_sentence`: scores (S, 6), with the words first."""
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
