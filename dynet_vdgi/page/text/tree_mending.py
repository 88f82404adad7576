"""Trees that contain confirmed arcs: what contradicts a tree, and what gives way to make one."""

from __future__ import annotations

from collections.abc import Sequence

from dynet_vdgi.conllu.punctuation import restore_punctuation
from dynet_vdgi.conllu.tree_faults import cycle, tree_faults
from dynet_vdgi.errors import VdgiError
from dynet_vdgi.page.text.sentence_state import MarkedArc


def conflicts(arcs: Sequence[MarkedArc]) -> dict[int, str]:
    """The words whose arcs no tree can have, or not all of them, and why.

    Of several roots, and of a circle, all arcs are, but confirmed ones stay if the others are
    enough.
    """
    heads = [arc.head for arc in arcs]
    reasons: dict[int, str] = {}
    for fault in tree_faults(heads):
        loose = [word for word in fault.words if not arcs[word - 1].head_by]
        n_firm = len(fault.words) - len(loose)
        are_roots = heads[fault.words[0] - 1] == 0
        is_enough = bool(loose) and (n_firm < 2 or not are_roots)
        reasons |= dict.fromkeys(loose if is_enough else fault.words, fault.text)
    return reasons


class CircleError(VdgiError):
    """Fixed arcs form a circle."""

    def __init__(self, words: Sequence[int]) -> None:
        self.words = tuple(words)
        super().__init__(
            f"the words {', '.join(map(str, words))} would form a circle of confirmed arcs"
        )


def mended_tree(heads: Sequence[int], fixed: Sequence[bool]) -> tuple[int, ...]:
    """A tree, as far as heads (n,) are set, with all fixed arcs and few of the others changed.

    Of several roots a fixed one stays, or else the first. In a circle, a word that is not fixed is
    attached to the root, or becomes the root if there is none.

    Raises:
        CircleError: fixed arcs form a circle.
        ValueError: two roots are fixed.

    >>> mended_tree((2, 1, 2), (True, False, False)), mended_tree((0, 0, 1), (False, True, False))
    ((2, 0, 2), (2, 0, 1))
    """
    tree = list(heads)
    roots = [word for word, head in enumerate(tree, 1) if head == 0]
    chosen = [word for word in roots if fixed[word - 1]]
    if len(chosen) > 1:
        raise ValueError(f"the words {chosen} are fixed as roots")
    root = (chosen or roots or [0])[0]
    for word in roots:
        if word != root:
            tree[word - 1] = root
    while circle := cycle(tree):
        loose = [word for word in circle if not fixed[word - 1]]
        if not loose:
            raise CircleError(circle)
        tree[loose[0] - 1] = root
        root = root or loose[0]
    return tuple(tree)


def tree_with_punctuation(
    bare: Sequence[int],
    positions: Sequence[int],
    heads: Sequence[int],
    fixed: Sequence[bool],
    forms: Sequence[str],
) -> tuple[int, ...]:
    """Heads (n,) of all words; `bare` are those of the words at `positions`, numbered without the
    others.

    Fixed arcs of `heads` (n,) stay, also those of punctuation; arcs that are not fixed give way.
    """
    number = {0: 0, **{position: k for k, position in enumerate(positions, 1)}}
    firm = [fixed[p - 1] and heads[p - 1] in number for p in positions]
    words_heads = [number[heads[p - 1]] if f else b for p, b, f in zip(positions, bare, firm)]
    restored = restore_punctuation(mended_tree(words_heads, firm), positions, forms)
    return mended_tree([h if f else r for r, h, f in zip(restored, heads, fixed)], fixed)
