"""From the scores of arcs to trees: batches, long sentences in pieces, given heads, margins.

Letters: n words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from dynet_vdgi.conllu.sentence import Sentence, Tree
from dynet_vdgi.conllu.tree_faults import FREE
from dynet_vdgi.inference import eisner
from dynet_vdgi.parser.confidence import Calibration
from dynet_vdgi.parser.engine import Engine, ScoredTree, ScoringEngine
from dynet_vdgi.system.array_types import Floats
from dynet_vdgi.system.blas import one_thread
from dynet_vdgi.universal.relation_scores import batches

LONGEST_PIECE = 500
"""Words of the longest sentence that is parsed in one piece, because time is cubic and memory
quadratic."""

CERTAIN = 1e-9
"""Probabilities of arcs are kept this far from 0 and 1 in margins."""

NO_MARGINS = np.zeros(0)


@one_thread()
def find(
    engine: Engine,
    sentences: Sequence[Sentence],
    *,
    keep_heads: bool = False,
    margins: bool = False,
    relations: bool = False,
) -> list[ScoredTree]:
    """The tree of each sentence: projective, with one root; without words, no tree.

    keep_heads: heads that are given (not FREE) stay; they must fit into a projective tree.
    margins: with the margins of heads. relations: with log p of relations, if the engine knows it.

    Raises: UsageError, a greedy engine cannot do that.
    """
    whole = [keep_heads and s.heads is not None and FREE not in s.heads for s in sentences]
    rest = [
        sentence for sentence, is_whole in zip(sentences, whole) if len(sentence) and not is_whole
    ]
    if engine.is_greedy:
        trees = iter(engine.parse(rest, margins=margins, keep_heads=keep_heads))
    else:
        parse = partial(
            of_scores, engine, keep_heads=keep_heads, has_margins=margins, relations=relations
        )
        trees = iter(_in_batches(rest, parse, keep_heads=keep_heads))
    return [
        ScoredTree(s.heads or (), np.zeros(len(s))) if is_whole or not len(s) else next(trees)
        for s, is_whole in zip(sentences, whole)
    ]


def of_scores(
    engine: ScoringEngine,
    batch: Sequence[Sentence],
    *,
    keep_heads: bool = False,
    has_margins: bool = False,
    relations: bool = False,
) -> list[ScoredTree]:
    """The trees of sentences that are scored together."""
    scores = engine.scores(batch)
    given = [s.heads or (FREE,) * len(s) if keep_heads else () for s in batch]
    arcs = [
        eisner.constrained_scores(each, heads) if heads else each
        for each, heads in zip(scores.arcs, given)
    ]
    marginals = (
        eisner.marginals_of_all(arcs) if has_margins or not engine.finds_most_probable else []
    )
    if engine.finds_most_probable:
        trees = eisner.best_of_all(arcs)
    else:
        trees = eisner.expected_best_of_all(marginals, given)
    margins = margins_of(marginals, trees) if has_margins else [NO_MARGINS] * len(batch)
    scored = [ScoredTree(*pair) for pair in zip(trees, margins)]
    if not relations or scores.log_p is None:
        return scored
    log_p = scores.log_p(np.array([head for each in scored for head in each.heads], np.int64))
    ends = np.cumsum([len(sentence) for sentence in batch]).tolist()
    return [
        each._replace(log_p=log_p[end - len(each.heads) : end]) for each, end in zip(scored, ends)
    ]


def margins_of(marginals: Sequence[Floats], trees: Sequence[Tree]) -> list[Floats]:
    """The log-odds (n,) of the marginal probabilities (n + 1, n) of each tree's arcs."""
    of_arcs = [
        probabilities[list(tree), range(len(tree))] for probabilities, tree in zip(marginals, trees)
    ]
    p = np.clip(np.concatenate(of_arcs), CERTAIN, 1 - CERTAIN)
    return np.split(np.log(p / (1 - p)), np.cumsum([len(tree) for tree in trees])[:-1])


def _in_batches(
    sentences: Sequence[Sentence],
    parse: Callable[[list[Sentence]], list[ScoredTree]],
    *,
    keep_heads: bool,
) -> list[ScoredTree]:
    """What `parse` finds for the sentences; it gets those of similar length together, long ones in
    pieces."""
    pieces = [list(_pieces(sentence, keep_heads)) for sentence in sentences]
    flat = [piece for each in pieces for piece in each]
    trees: list[ScoredTree] = [ScoredTree((), NO_MARGINS)] * len(flat)
    for members in batches(flat):
        for k, of_piece in zip(members, parse([flat[k] for k in members])):
            trees[k] = of_piece
    parts = iter(trees)
    return [_join([next(parts) for _ in each]) for each in pieces]


def _pieces(sentence: Sentence, keep_heads: bool) -> Iterator[Sentence]:
    """The sentence, or its parts if it is too long; given heads, which may cross parts, keep it
    whole."""
    n = len(sentence)
    has_heads = keep_heads and sentence.heads is not None and set(sentence.heads) != {FREE}
    if n <= LONGEST_PIECE or has_heads:
        yield sentence
        return
    for start in range(0, n, LONGEST_PIECE):
        part = slice(start, start + LONGEST_PIECE)
        yield Sentence(
            sentence.forms[part],
            sentence.tags[part],
            upos=sentence.upos[part],
            xpos=sentence.xpos[part],
            feats=sentence.feats[part],
            gaps=sentence.gaps[start : start + LONGEST_PIECE + 1],
            soft=sentence.soft and sentence.soft.of(part),
        )


def _join(parts: Sequence[ScoredTree]) -> ScoredTree:
    """The tree of a sentence from those of its parts, whose roots depend on the first one's."""
    if len(parts) == 1:
        return parts[0]
    heads = list(parts[0].heads)
    root = heads.index(0) + 1
    for part in parts[1:]:
        offset = len(heads)
        heads += [head + offset if head else root for head in part.heads]
    return ScoredTree(tuple(heads), np.concatenate([each.margins for each in parts]))


def confidences(
    calibration: Calibration,
    sentences: Sequence[Sentence],
    bare: Sequence[Sentence],
    places: Sequence[Sequence[int]],
    trees: Sequence[ScoredTree],
    *,
    keep_heads: bool,
) -> list[tuple[tuple[float | None, ...], Floats]]:
    """The confidences (n,) of each sentence's words, and the margins of those the parser decided
    about.

    bare: the sentences without punctuation; places: of their words in the sentences, from 1. The
    confidence of any other word, and of those whose head was kept, is None.
    """
    heads, margins = [tree.heads for tree in trees], [tree.margins for tree in trees]
    arcs = calibration.arcs([sentence.tags for sentence in bare], heads, margins)
    probabilities = iter(calibration(arcs).tolist())
    confidences_and_margins = []
    for sentence, words, odds in zip(sentences, places, margins):
        given = sentence.heads if keep_heads else None
        is_free = [not given or given[place - 1] == FREE for place in words]
        sure: list[float | None] = [None] * len(sentence)
        for place, free in zip(words, is_free):
            probability = next(probabilities)
            if free:
                sure[place - 1] = probability
        confidences_and_margins.append((tuple(sure), odds[is_free]))
    return confidences_and_margins
