"""Removing punctuation from trees and attaching it again; whether arcs cross.

Words are numbered 1..n, head 0 is the root.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import compress

from dynet_vdgi.data.protocols import UD_PUNCTUATION
from dynet_vdgi.data.sentence import FREE, Sentence


def is_projective(heads: Sequence[int]) -> bool:
    """True if no two arcs cross. The root arc counts, as an arc from position 0 (as in the released code).

    A FREE head makes no arc. O(n log n): open arcs are kept on a stack of right ends, so a new arc must end
    before the innermost one.

    >>> is_projective([2, 0, 2]), is_projective([3, 0, 2]), is_projective([0, 4, 1, 1])
    (True, False, False)
    """
    right_ends: list[list[int]] = [[] for _ in range(len(heads) + 1)]
    for dependent, head in enumerate(heads, 1):
        if head == FREE:
            continue
        right_ends[min(head, dependent)].append(max(head, dependent))
    open_arcs: list[int] = []
    for left_end, starting in enumerate(right_ends):
        while open_arcs and open_arcs[-1] <= left_end:
            open_arcs.pop()
        for right_end in sorted(starting, reverse=True):
            if open_arcs and right_end > open_arcs[-1]:
                return False
            open_arcs.append(right_end)
    return True


def kept_positions(sentence: Sentence, removed_tags: frozenset[str] = UD_PUNCTUATION) -> tuple[int, ...]:
    """Positions (from 1) of the words whose universal tags are not removed."""
    universal = sentence.upos or sentence.tags
    return tuple([p for p, tag in enumerate(universal, 1) if tag not in removed_tags])


def without_punctuation(
    sentence: Sentence, removed_tags: frozenset[str] = UD_PUNCTUATION
) -> tuple[Sentence, tuple[int, ...]]:
    """The sentence without words of the removed tags, and the positions (from 1) of the kept words in it.

    Removed tags are universal ones, whatever column the sentence's `tags` are from.
    Heads change as in `heads_without`. A shortened sentence has no `source`: its words and head numbers no
    longer fit the lines of the file, and a writer must not put them there. Its `gaps` say what was removed
    where; relations, which belonged to the arcs of the file, are kept word by word.
    """
    is_kept = [tag not in removed_tags for tag in sentence.upos or sentence.tags]
    positions = tuple(compress(range(1, len(is_kept) + 1), is_kept))
    if len(positions) == len(sentence):
        return sentence, positions

    def of_kept(column: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(compress(column, is_kept))

    return Sentence(
        of_kept(sentence.forms),
        of_kept(sentence.tags),
        None if sentence.heads is None else heads_without(sentence.heads, positions),
        None,
        of_kept(sentence.upos),
        of_kept(sentence.lemmas),
        of_kept(sentence.xpos),
        of_kept(sentence.feats),
        of_kept(sentence.deprels),
        _gaps(sentence, positions),
    ), positions


def _gaps(sentence: Sentence, positions: Sequence[int]) -> tuple[str, ...]:
    """What stood before each of the kept words, and after the last: removed words, and gaps there before."""
    if not sentence.gaps:
        forms, gaps, start = sentence.forms, [""] * (len(positions) + 1), 0
        for k, end in enumerate((*positions, len(forms) + 1)):
            if end - start > 1:
                gaps[k] = " ".join(filter(None, forms[start : end - 1]))
            start = end
        return tuple(gaps)
    before = sentence.gaps
    gaps, start = [], 0
    for end in (*positions, len(sentence) + 1):
        gap = before[end - 1]
        if end - start > 1:
            removed = [piece for i in range(start, end - 1) for piece in (before[i], sentence.forms[i])]
            gap = " ".join([piece for piece in (*removed, gap) if piece])
        gaps.append(gap)
        start = end
    return tuple(gaps)


def heads_without(heads: Sequence[int], positions: Sequence[int]) -> tuple[int, ...]:
    """Heads of the words at `positions` (ascending, from 1) when all other words are removed, renumbered.

    A word whose head is removed climbs to its nearest kept ancestor. If the root is removed, the first word
    that would climb to 0 becomes the root and the others that would attach to it, so one root stays one root;
    no treebank in use has such a sentence with more than one of them. A projective tree stays projective.
    In a partial tree a word that climbs to a FREE one, or to 0, has any head: it is FREE, too.

    >>> heads_without([2, 0, 2, 3], (1, 2, 4)), heads_without([3, 3, 0], (1, 2))
    ((2, 0, 2), (0, 1))
    """
    is_partial = FREE in heads
    number = {0: 0, FREE: FREE, **{position: k for k, position in enumerate(positions, 1)}}
    kept_heads: list[int] = []
    climbed_to_zero: list[int] = []
    for position in positions:
        head = heads[position - 1]
        steps = 0
        while head not in number:
            steps += 1
            # A file of another parser may hold a cycle; among removed words it would never end.
            head = heads[head - 1] if steps <= len(heads) else 0
        if head == 0 and steps and is_partial:
            head = FREE
        elif head == 0 and steps:
            climbed_to_zero.append(number[position])
        kept_heads.append(number[head])
    if climbed_to_zero:
        own_roots = (number[p] for p in positions if heads[p - 1] == 0)
        root = next(own_roots, climbed_to_zero[0])
        for word in climbed_to_zero:
            if word != root:
                kept_heads[word - 1] = root
    return tuple(kept_heads)


def restore_punctuation(kept_heads: Sequence[int], positions: Sequence[int], n_words: int) -> tuple[int, ...]:
    """Heads of all `n_words` words, given the heads of the words at `positions` (ascending, from 1).

    The others become leaves: each depends on the head of the innermost arc that covers its gap, or on the
    root word where no arc does. So a projective tree with one root stays one, and `heads_without` undoes it.
    In a sentence without kept words the first word is the root and the head of the others.

    >>> restore_punctuation([2, 0], [2, 4], 5)      # , dogs , bark .
    (4, 4, 4, 0, 4)
    """
    if len(kept_heads) != len(positions):
        raise ValueError(f"{len(kept_heads)} heads for {len(positions)} kept words")
    if not positions:
        return tuple(int(word > 1) for word in range(1, n_words + 1))
    if 0 not in kept_heads:
        raise ValueError("no kept word is the root")
    heads = [-1] * n_words
    for position, kept_head in zip(positions, kept_heads):
        heads[position - 1] = positions[kept_head - 1] if kept_head else 0
    if len(positions) == n_words:
        return tuple(heads)
    root = positions[kept_heads.index(0)]
    first, last = positions[0], positions[-1]
    before = 0  # head of the punctuation just before, which stands in the same place
    arcs: list[tuple[int, int, int, int]] = []
    for word, head in enumerate(heads, 1):
        if head >= 0:
            before = 0
        elif before:
            heads[word - 1] = before
        elif first < word < last:
            arcs = arcs or _innermost_first((position, heads[position - 1]) for position in positions)
            covering = (head for _, left_end, right_end, head in arcs if left_end < word < right_end)
            heads[word - 1] = before = next(covering, root)
        else:
            heads[word - 1] = before = root
    return tuple(heads)


def _innermost_first(attached: Iterable[tuple[int, int]]) -> list[tuple[int, int, int, int]]:
    """Length, left end, right end and head of the arcs of words and their heads, but not the root arc."""
    return sorted(
        [
            (head - word, word, head, head) if head > word else (word - head, head, word, head)
            for word, head in attached
            if head
        ]
    )
