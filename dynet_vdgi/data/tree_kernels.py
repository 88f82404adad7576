"""Compiled parts of what is done to trees of many sentences at once; called by `columns`.

Letters: N words, K of them that are not removed, S sentences.
"""

from __future__ import annotations

from dynet_vdgi.data.column_kernels import Flags, Ints
from dynet_vdgi.jit import compiled


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
