"""What engines of exact trees share: batches of similar length, pieces of long sentences, margins.

Letters: n words.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from dynet_vdgi.data.sentence import FREE, Sentence
from dynet_vdgi.errors import ModelError
from dynet_vdgi.system.arrays import Floats
from dynet_vdgi.universal.relations import batches

Tree = tuple[int, ...]
Found = tuple[Tree, Floats]
"""A tree, and the margins (n,) of its heads, or () if they are not requested."""

LONGEST = 500
"""Words of the longest sentence that is parsed in one piece, because time is cubic and memory quadratic."""

CERTAIN = 1e-9
"""Probabilities of arcs are kept this far from 0 and 1 in margins."""

_READY = 250  # words of a sentence whose parse makes all kernels worth loading


class ExactEngine(ABC):
    """The base of engines that find exact trees."""

    @abstractmethod
    def parse(self, sentences: Sequence[Sentence]) -> list[Tree]:
        """Projective trees with one root."""

    def make_ready(self) -> None:
        """Loads or compiles the kernels of parsing."""
        self.parse([Sentence.of_tags(["NOUN", "VERB"] * (_READY // 2))])

    def _check(self) -> None:
        """Raises: ModelError, the model's arrays do not fit each other."""
        try:
            self.parse([Sentence.of_tags(["VERB"])])
        except (ValueError, IndexError) as error:
            raise ModelError(f"parameters do not fit the model: {error}") from None


def in_batches(
    sentences: Sequence[Sentence], parse: Callable[[list[Sentence]], list[Found]], *, keep_heads: bool
) -> list[Found]:
    """What `parse` finds for the sentences; it gets those of similar length together, long ones in pieces."""
    pieces = [list(_pieces(sentence, keep_heads)) for sentence in sentences]
    flat = [piece for each in pieces for piece in each]
    found: list[Found] = [((), np.zeros(0))] * len(flat)
    for members in batches(list(map(len, flat))):
        for k, of_piece in zip(members, parse([flat[k] for k in members])):
            found[k] = of_piece
    parts = iter(found)
    return [_joined([next(parts) for _ in each]) for each in pieces]


def margins(arc_marginals: Floats, tree: Tree) -> Floats:
    """The log-odds (n,) of the marginal probabilities (n + 1, n) of a tree's arcs."""
    p = np.clip(arc_marginals[list(tree), range(len(tree))], CERTAIN, 1 - CERTAIN)
    return np.asarray(np.log(p / (1 - p)))


def _pieces(sentence: Sentence, keep_heads: bool) -> Iterator[Sentence]:
    """The sentence, or its parts if it is too long; given heads, which may cross parts, keep it whole."""
    n = len(sentence)
    has_heads = keep_heads and sentence.heads is not None and set(sentence.heads) != {FREE}
    if n <= LONGEST or has_heads:
        yield sentence
        return
    for start in range(0, n, LONGEST):
        part = slice(start, start + LONGEST)
        yield Sentence(
            sentence.forms[part],
            sentence.tags[part],
            upos=sentence.upos[part],
            xpos=sentence.xpos[part],
            feats=sentence.feats[part],
            gaps=sentence.gaps[start : start + LONGEST + 1],
        )


def _joined(parts: Sequence[Found]) -> Found:
    """The tree of a sentence from those of its parts, whose roots depend on the first one's."""
    if len(parts) == 1:
        return parts[0]
    heads: list[int] = []
    root = parts[0][0].index(0) + 1
    for tree, _ in parts:
        offset = len(heads)
        heads += [head + offset if head else root if offset else 0 for head in tree]
    return tuple(heads), np.concatenate([of_part for _, of_part in parts])
