"""Enumeration of derivations and trees for small n. Shares no code with the package."""

from __future__ import annotations

import math
from functools import cache
from itertools import product

SHIFT, LEFT, RIGHT = 0, 1, 2


def heads_from(actions, n):
    """Heads (n,) of an arc-standard derivation; None if an action is impossible or the end is not
    reached."""
    heads, stack, read = [None] * n, [], 0
    for action in actions:
        if action == SHIFT:
            if read == n:
                return None
            read += 1
            stack.append(read)
        else:
            if len(stack) < 2:
                return None
            right, left = stack.pop(), stack.pop()
            head, dependent = (right, left) if action == LEFT else (left, right)
            heads[dependent - 1] = head
            stack.append(head)
    if read < n or len(stack) != 1:
        return None
    heads[stack[0] - 1] = 0
    return tuple(heads)


@cache
def derivations(n):
    """All derivations of n words: (actions, heads), by trying every string of actions that a count
    allows."""
    found = []

    def grow(prefix, read, depth):
        if len(prefix) == 2 * n - 1:
            heads = heads_from(prefix, n)
            if heads is not None:
                found.append((tuple(prefix), heads))
            return
        if read < n:
            grow([*prefix, SHIFT], read + 1, depth + 1)
        if depth >= 2:
            grow([*prefix, LEFT], read, depth - 1)
            grow([*prefix, RIGHT], read, depth - 1)

    grow([], 0, 0)
    return tuple(found)


def is_tree(heads):
    """One root, no cycle."""
    if sum(head == 0 for head in heads) != 1:
        return False
    for word in range(1, len(heads) + 1):
        seen = set()
        while word:
            if word in seen:
                return False
            seen.add(word)
            word = heads[word - 1]
    return True


def crosses(heads):
    """Two arcs cross, the root's arc from position 0 included."""
    arcs = [sorted((head, dependent)) for dependent, head in enumerate(heads, 1)]
    return any(a < c < b < d for a, b in arcs for c, d in arcs)


@cache
def projective_trees(n):
    """All projective trees of n words with one root, from all head vectors; n <= 6."""
    return tuple(t for t in product(range(n + 1), repeat=n) if is_tree(t) and not crosses(t))


def decisions(tree):
    """The decisions of models with valence: head, side, how many children before, the last of them,
    child.

    The last child so far is 0 where there is none, and the child is 0 where the head stops on that
    side.
    """
    for head in range(1, len(tree) + 1):
        below = [word for word, its_head in enumerate(tree, 1) if its_head == head]
        for side in range(2):
            here = [child for child in below if (child > head) == side]
            here = [0, *(here if side else here[::-1])]
            for k, child in enumerate([*here[1:], 0]):
                yield head, side, k, here[k], child


def with_marks(heads, kept, forms):
    """Heads of all words by the rule of Universal Dependencies, given the tree of the words at
    `kept`."""
    if not kept:
        return tuple(min(k, 1) for k in range(len(forms)))
    tree = {word: kept[head - 1] if head else 0 for word, head in zip(kept, heads)}
    partner, whole = partners(kept, forms), dict(tree)
    for mark in sorted({*range(1, len(forms) + 1)} - {*kept}):
        first, last = sorted((mark, partner[mark])) if mark in partner else (1, len(forms))
        before = [way_up(tree, word, first, mark) for word in kept if first <= word < mark][-1:]
        after = [way_up(tree, word, mark, last) for word in kept if mark < word <= last][:1]
        highest = [
            [up for up in way if not any(cross((mark, up), arc) for arc in tree.items())][-1]
            for way in before + after
        ]
        head = max(highest, key=lambda word: len(way_up(tree, word, 1, len(forms))))
        beside = mark - 1
        if beside in whole and beside not in tree and cross((mark, head), (beside, whole[beside])):
            head = whole[beside]
        whole[mark] = head
    return tuple(head for _, head in sorted(whole.items()))


def way_up(tree, word, first, last):
    """A word, its head, the head of that, and so on, as long as they are in first..last."""
    return [word, *(way_up(tree, tree[word], first, last) if first <= tree[word] <= last else [])]


def cross(*arcs):
    """Two arcs cross."""
    (a, b), (c, d) = sorted(map(sorted, arcs))
    return a < c < b < d


def partners(kept, forms):
    """Brackets and quotation marks with a kept word between them, each with the other one."""
    found = {}
    for opens, closes in ("()", "[]", '""'):
        waiting = []
        for mark in sorted({*range(1, len(forms) + 1)} - {*kept}):
            if waiting and forms[mark - 1] == closes:
                other = waiting.pop()
                if any(other < word < mark for word in kept):
                    found[mark], found[other] = other, mark
            elif forms[mark - 1] == opens:
                waiting.append(mark)
    return found


def label_sequences(scores, bigrams, start, end, given=None):
    """All sequences of labels of a chain, and the weight (unnormalised log-probability) of each.

    scores (n, T); with `given`, only sequences that agree with the labels which are not negative.
    """
    n, n_labels = len(scores), len(start)
    for labels in product(range(n_labels), repeat=n):
        if given is not None and any(g >= 0 and g != label for g, label in zip(given, labels)):
            continue
        total = start[labels[0]] + end[labels[-1]]
        total += sum(scores[i][label] for i, label in enumerate(labels))
        total += sum(bigrams[a][b] for a, b in zip(labels, labels[1:]))
        yield labels, total


def dual(counts, lam, expectations, epsilon):
    """O(lambda), to be minimised over lambda >= 0 (Eq. 11), from the counts (M, K) of samples."""
    z = sum(math.exp(sum(c * weight for c, weight in zip(row, lam))) for row in counts) / len(
        counts
    )
    met = sum(e * weight for e, weight in zip(expectations, lam))
    return math.log(z) - met + epsilon * math.hypot(*lam)
