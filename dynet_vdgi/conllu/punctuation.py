"""Removing punctuation from trees and attaching it again; whether arcs cross or form a cycle.

Words are numbered 1..n, head 0 is the root.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Collection, Sequence
from itertools import compress

from dynet_vdgi.conllu.protocols import UD_PUNCTUATION
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.conllu.tree_faults import FREE, cycle

FIRST_QUOTE = 32
"""Families of marks: -k closes what k opens; from FIRST_QUOTE on, one mark does both, in turn. 0:
others."""

_BRACKETS = (
    "()",
    "[]",
    "{}",
    "<>",
    "（）",
    "［］",
    "｛｝",
    "〈〉",
    "《》",
    "「」",
    "『』",
    "【】",
    "〔〕",
)

_QUOTES = ('"＂', "“”„‟", "«»", "'`‘’‚‛", "‹›")  # which of them opens differs by language

FAMILIES = {
    **{mark: sign * k for k, pair in enumerate(_BRACKETS, 1) for mark, sign in zip(pair, (1, -1))},
    **{mark: k for k, marks in enumerate(_QUOTES, FIRST_QUOTE) for mark in marks},
    "``": FIRST_QUOTE,
    "''": FIRST_QUOTE,
}
"""The brackets and quotation marks that are partners, by form, see `FIRST_QUOTE`."""


def is_mark(form: str) -> bool:
    """Whether a form consists of punctuation only, by Unicode's category P."""
    return all(unicodedata.category(letter)[0] == "P" for letter in form)


def is_projective(heads: Sequence[int]) -> bool:
    """True if no two arcs cross. The root arc counts, as an arc from position 0 (as in the released
    code).

    A FREE head makes no arc. O(n log n): open arcs are kept on a stack of right ends, so a new arc
    must end before the innermost one.

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


def without_punctuation(
    sentence: Sentence, removed_tags: frozenset[str] = UD_PUNCTUATION
) -> tuple[Sentence, tuple[int, ...]]:
    """The sentence without words of the removed tags, and the positions (from 1) of the kept words
    in it.

    The removed tags are universal ones, whichever column the sentence's `tags` are from. Heads
    change as in `heads_without`. A shortened sentence has no `source`, because its words and head
    numbers no longer fit the lines of the file and must not be written there. Its `gaps` record the
    removed punctuation and its place; each kept word keeps its relation, although that belonged to
    an arc of the file.
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
        sentence.soft and sentence.soft.of([place - 1 for place in positions]),
    ), positions


def _gaps(sentence: Sentence, positions: Sequence[int]) -> tuple[str, ...]:
    """The removed words, and earlier gaps, before each kept word and after the last."""
    before = sentence.gaps or ("",) * (len(sentence) + 1)
    gaps, start = [], 0
    for end in (*positions, len(sentence) + 1):
        gap = before[end - 1]
        if end - start > 1:
            removed = [
                piece for i in range(start, end - 1) for piece in (before[i], sentence.forms[i])
            ]
            gap = " ".join([piece for piece in (*removed, gap) if piece])
        gaps.append(gap)
        start = end
    return tuple(gaps)


def heads_without(heads: Sequence[int], positions: Sequence[int]) -> tuple[int, ...]:
    """Heads of the words at `positions` (ascending, from 1) when all other words are removed,
    renumbered.

    A word whose head is removed climbs to its nearest kept ancestor. If the root is removed, the
    first word that would climb to 0 becomes the root, and the others that would attach to 0 attach
    to it, so one root stays one root; no treebank in use has a sentence with several such words. A
    projective tree stays projective. In a partial tree, a word that climbs to a FREE one, or to 0,
    may have any head: it is FREE, too.

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


def restore_punctuation(
    kept_heads: Sequence[int], positions: Sequence[int], forms: Sequence[str]
) -> tuple[int, ...]:
    """Heads of all words, given their forms and the tree of the words at `positions` (ascending,
    from 1).

    The removed words become leaves, as Universal Dependencies requires
    (https://universaldependencies.org/u/dep/punct.html). From the word before a mark, go up from
    head to head, without passing the mark, to the highest word from which the arc to the mark
    crosses no other; do likewise from the word after it. The lower of the two is the mark's head.
    So a mark between a word and its dependent belongs to the dependent, and the last mark to the
    root. Brackets and quotation marks that are partners consider only the words between them. A
    mark whose arc would cross the arc of a mark beside it takes that mark's head. In a sentence
    without kept words, the first word is the root and the head of the others.

    A projective tree with one root stays one, and `heads_without` undoes it.

    Raises: ValueError, the kept words have no tree.

    >>> restore_punctuation([2, 0, 4, 2], [1, 2, 4, 5], ["They", "left", ",", "as", "ordered", "."])
    (2, 0, 5, 5, 2, 2)
    """
    if len(kept_heads) != len(positions):
        raise ValueError(f"{len(kept_heads)} heads for {len(positions)} kept words")
    n = len(forms)
    if len(positions) == n:
        return tuple(kept_heads)
    if not len(positions):
        return tuple(min(k, 1) for k in range(n))
    if cycle(kept_heads) or not all(0 <= head <= len(kept_heads) for head in kept_heads):
        raise ValueError(f"the heads {', '.join(map(str, kept_heads))} are no tree")
    kept_words = set(positions)
    arcs = [(min(arc), max(arc)) for arc in enumerate(kept_heads, 1)]
    inner = _partners(kept_words, [FAMILIES.get(form, 0) for form in forms])
    places = [0, *positions]
    heads: list[int] = []
    gap = before = 0  # number of kept words so far; head of the mark just before
    for word in range(1, n + 1):
        if word in kept_words:
            head, gap, before = kept_heads[gap], gap + 1, 0
        else:
            head = _head_of_mark(kept_heads, arcs, gap, inner[word])
            crosses = not gap < head <= before if before > gap else before < head <= gap
            if before and crosses:  # the arc of the mark beside it
                head = before
            before = head
        heads.append(places[head])
    return tuple(heads)


def _partners(kept_words: Collection[int], families: Sequence[int]) -> dict[int, int]:
    """For each removed word, the gap (the number of kept words before it) of its partner; -1
    without one."""
    inner: dict[int, int] = {}
    # by family: words and their gaps
    opened: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    gap = 0
    for word, family in enumerate(families, 1):
        if word in kept_words:
            gap += 1
            continue
        inner[word] = -1
        if opened[abs(family)] and (family < 0 or family >= FIRST_QUOTE):
            opening, its_gap = opened[abs(family)].pop()
            if its_gap < gap:
                inner[word], inner[opening] = its_gap, gap
        elif family > 0:
            opened[family].append((word, gap))
    return inner


def _head_of_mark(
    heads: Sequence[int], arcs: Sequence[tuple[int, int]], gap: int, inner: int
) -> int:
    """The head of a mark in a gap of a tree, with its arcs, whose partner is in the gap `inner`, or
    -1."""
    # the mark, so that it stays below them
    over = [(low, high) for low, high in arcs if low <= gap < high]

    def highest(start: int, first: int, last: int) -> int:
        """The last word on the way up from `start`, staying within first..last, that a mark can
        reach.

        The mark stands beside `start`, at that end of first..last. An arc may cover the word only
        if it also covers the mark.
        """
        word = reachable = start
        while first <= heads[word - 1] <= last:
            word = heads[word - 1]
            if all(low <= gap < high for low, high in arcs if low < word < high):
                reachable = word
        return reachable

    def depth(word: int) -> int:
        n_above = 0
        while word:
            word, n_above = heads[word - 1], n_above + 1
        return n_above

    left = right = 0
    if gap > 0 and inner <= gap:
        left = highest(gap, max([low for low, _ in over] + [inner + 1, 1]), gap)
    if gap < len(heads) and (inner < 0 or inner > gap):
        ends = [high for _, high in over] + [inner] * (inner > gap)
        right = highest(gap + 1, gap + 1, min(ends, default=len(heads)))
    if left == 0 or right == 0:
        return left + right
    return left if depth(left) >= depth(right) else right
