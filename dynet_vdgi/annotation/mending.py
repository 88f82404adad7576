"""Trees with some fixed arcs: the other arcs change until there is one root and no circle.

Letters: n words.
"""

from __future__ import annotations

from collections.abc import Sequence

from dynet_vdgi.data.punctuation import cycle, restore_punctuation
from dynet_vdgi.data.sentence import FREE
from dynet_vdgi.errors import VdgiError

UNSET = FREE
"""Head of a word that has none yet."""


class CircleError(VdgiError):
    """Fixed arcs form a circle."""

    def __init__(self, words: Sequence[int]) -> None:
        self.words = tuple(words)
        super().__init__(f"the words {', '.join(map(str, words))} would form a circle of confirmed arcs")


def mended(heads: Sequence[int], fixed: Sequence[bool]) -> tuple[int, ...]:
    """A tree, as far as heads (n,) are set, with all fixed arcs and few of the others changed.

    Of several roots a fixed one stays, or else the first. In a circle, a word that is not fixed is
    attached to the root, or becomes the root if there is none.

    Raises:
        CircleError: fixed arcs form a circle.
        ValueError: two roots are fixed.

    >>> mended((2, 1, 2), (True, False, False)), mended((0, 0, 1), (False, True, False))
    ((2, 0, 2), (2, 0, 1))
    """
    found = list(heads)
    roots = [word for word, head in enumerate(found, 1) if head == 0]
    chosen = [word for word in roots if fixed[word - 1]]
    if len(chosen) > 1:
        raise ValueError(f"the words {chosen} are fixed as roots")
    root = (chosen or roots or [0])[0]
    for word in roots:
        if word != root:
            found[word - 1] = root
    while circle := cycle(found):
        loose = [word for word in circle if not fixed[word - 1]]
        if not loose:
            raise CircleError(circle)
        found[loose[0] - 1] = root
        root = root or loose[0]
    return tuple(found)


def with_punctuation(
    bare: Sequence[int],
    positions: Sequence[int],
    heads: Sequence[int],
    fixed: Sequence[bool],
    forms: Sequence[str],
) -> tuple[int, ...]:
    """Heads (n,) of all words; `bare` are those of the words at `positions`, numbered without the others.

    Fixed arcs of `heads` (n,) stay, also those of punctuation; arcs that are not fixed give way.
    """
    number = {0: 0, **{position: k for k, position in enumerate(positions, 1)}}
    firm = [fixed[p - 1] and heads[p - 1] in number for p in positions]
    known = [number[heads[p - 1]] if f else b for p, b, f in zip(positions, bare, firm)]
    restored = restore_punctuation(mended(known, firm), positions, forms)
    return mended([h if f else r for r, h, f in zip(restored, heads, fixed)], fixed)
