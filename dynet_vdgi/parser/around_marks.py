"""Given heads and punctuation: whole trees that contain all given heads, in which no mark has other
dependents.

A parser finds trees of words; marks are attached afterwards. Where that contradicts the given head
of a mark, the words around it are parsed again by the scores that the parser has: those of its
arcs, or what it expects of them. A greedy parser has none, so words that cannot keep its heads
climb to what is above these.

Letters: m words without punctuation, n all words of a sentence.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dynet_vdgi.conllu.punctuation import heads_without, is_projective, restore_punctuation
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.conllu.tree_faults import FREE, cycle
from dynet_vdgi.inference import eisner
from dynet_vdgi.parser.decoding import margins_of
from dynet_vdgi.parser.engine import Engine, ScoredTree
from dynet_vdgi.parser.given_heads import Heads
from dynet_vdgi.system.array_types import Floats

SLIGHT = 1e-6
"""The score of the arc by which a mark would be attached: it decides among trees that are equal
otherwise."""


def with_given(
    engine: Engine,
    given: Sequence[int],
    bare: Sentence,
    places: Sequence[int],
    tree: ScoredTree,
    forms: Sequence[str],
) -> tuple[Heads, ScoredTree]:
    """The heads (n,) of all words, those given (n,) among them unless FREE, and the tree of the
    words alone.

    `bare`: the m words, with the heads given to them; `places` (m,) in the sentence, from 1;
    `tree`: theirs; `forms` (n,). The tree is projective if a projective one contains what is
    given. A word hangs from a mark only where a given head makes it so.
    """
    whole = restore_punctuation(tree.heads, places, forms)
    if _contains(whole, given):
        return whole, tree
    joined = _with_heads(whole, given)
    if _is_sound(joined):
        return joined, tree
    arcs, probabilities = _scores(engine, bare, tree)
    try:
        heads = _best_heads(arcs, given, places, whole)
    except ValueError:  # arcs of the given heads cross
        return joined, tree
    words = heads_without(heads, places)
    # With other words above them, the marks that are free may find better places.
    joined = _with_heads(restore_punctuation(words, places, forms), given)
    return joined if _is_sound(joined) else heads, _with_margins(tree, words, probabilities)


def _contains(heads: Sequence[int], given: Sequence[int]) -> bool:
    return all(one in (FREE, other) for one, other in zip(given, heads))


def _with_heads(heads: Sequence[int], given: Sequence[int]) -> Heads:
    return tuple([other if one == FREE else one for one, other in zip(given, heads)])


def _is_sound(heads: Sequence[int]) -> bool:
    """Whether these are a projective tree with one root."""
    return heads.count(0) == 1 and not cycle(heads) and is_projective(heads)


def _scores(engine: Engine, bare: Sentence, tree: ScoredTree) -> tuple[Floats, Floats | None]:
    """Scores (m + 1, m + 1) by which the engine chooses trees of words, and the probabilities of
    their arcs.

    These are None for a greedy engine, and where there is nothing to choose.
    """
    size = len(bare) + 1
    heads = bare.heads or (FREE,) * len(bare)
    if FREE not in heads:
        return np.zeros((size, size)), None
    if engine.is_greedy:
        return _climbing_scores(tree.heads), None
    scores = engine.scores([bare]).arcs[0]
    probabilities = np.zeros((size, size))
    probabilities[:, 1:] = eisner.marginals(eisner.constrained_scores(scores, heads))
    return (scores if engine.finds_most_probable else probabilities), probabilities


def _climbing_scores(heads: Sequence[int]) -> Floats:
    """Scores (m + 1, m + 1) of arcs beside those of a tree: 1 for its own, half for the head's
    head, and so on."""
    scores = np.zeros((len(heads) + 1, len(heads) + 1))
    for word in range(1, len(heads) + 1):
        above, score = word, 1.0
        while above:
            above = heads[above - 1]
            scores[above, word] = score
            score /= 2
    return scores


def _best_heads(
    arcs: Floats, given: Sequence[int], places: Sequence[int], attached: Sequence[int]
) -> Heads:
    """The best tree of all words that contains the given heads; arcs (m + 1, m + 1), `attached`
    heads (n,).

    Raises: ValueError, no projective tree contains them.
    """
    n = len(given)
    index = [0, *places]
    marks = sorted(set(range(1, n + 1)).difference(places))
    scores = np.full((n + 1, n + 1), -np.inf)
    scores[np.ix_(index, index)] = arcs
    scores[np.ix_(places, marks)] = 0.0
    for mark in marks:
        scores[attached[mark - 1], mark] = SLIGHT
    for word, head in enumerate(given, 1):
        if head != FREE:
            scores[head, word] = 0.0
    try:
        return eisner.best(eisner.constrained_scores(scores, given))
    except ValueError:  # such as where a mark is given as the root: something must hang from it
        possible = scores[np.isfinite(scores)]
        lowest = possible.min() - (n + 1) * (1.0 + possible.max() - possible.min())
        return eisner.best(
            eisner.constrained_scores(np.where(np.isfinite(scores), scores, lowest), given)
        )


def _with_margins(tree: ScoredTree, words: Heads, probabilities: Floats | None) -> ScoredTree:
    """The tree, with these heads (m,) of the words; where they are others, so are their
    margins."""
    if words == tree.heads:
        return tree
    margins = tree.margins
    if len(margins) and probabilities is not None:
        (margins,) = margins_of([probabilities[:, 1:]], [words])
    elif len(margins):
        # A greedy parser has no margin of a head that it did not choose: undecided.
        margins = np.where(np.equal(words, tree.heads), margins, 0.0)
    return ScoredTree(words, margins)
