"""The compiled part of a table of labels: the first rule that holds of an arc gives its label.

Words are 1..n, and ROOT is 0 in arrays that include it; in rows packed by `features.atoms` ROOT is
n + 1. A head below 0 is unknown: its word gets no label here, and is nobody's dependent.

Letters: n words, N words of all sentences, S sentences.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.relations.label_rules import CONDITION_KINDS, PLAIN_CONDITIONS
from dynet_vdgi.relations.label_table import RuleArrays
from dynet_vdgi.relations.ud_relations import LABELS, OTHERWISE
from dynet_vdgi.rule_tables.measures import VerbOrder
from dynet_vdgi.system.array_types import Codes, Ints
from dynet_vdgi.system.jit import compiled

Bits = NDArray[np.uint64]

TAG, SETS, NAMES = range(3)  # columns of bits, see LabelTable.bits_of

LEFT, RIGHT, NEXT, COMMA, VERB_FINAL, VERB_INITIAL, OUTER, INNER, ACROSS = map(
    CONDITION_KINDS.index, PLAIN_CONDITIONS
)

FINAL, INITIAL = int(VerbOrder.FINAL), int(VerbOrder.INITIAL)

FEAT, HEAD_FEAT, HEAD_NAME = (CONDITION_KINDS.index(kind) for kind in ("feat", "head", "headkey"))

CHILD_TAG, SISTER_TAG = CONDITION_KINDS.index("child"), CONDITION_KINDS.index("headchild")

CHILD_NAME = CONDITION_KINDS.index("childfeat")

_OTHERWISE = LABELS.index(OTHERWISE)


class ArcText(NamedTuple):
    """Trees one after the other."""

    rows: Codes  # atoms as `features.atoms` packs them; of length 0 where only a table labels
    bits: Bits  # (N + S, 3), ROOT's first in each sentence
    heads: Ints  # (N,)
    first: Ints  # (S + 1,)
    gaps: Ints  # (N,), the number of places with punctuation up to each word


@compiled
def has_noun(kind: int, tree: ArcText, of_dependents: Bits, word: int, rules: RuleArrays) -> bool:
    """Whether a noun without an adposition depends on the same head: OUTER, INNER or ACROSS from
    the word."""
    head, n = tree.heads[word - 1], len(tree.heads)
    if kind == INNER:
        start, end = min(head, word) + 1, max(head, word)
    elif (word < head) == (kind == OUTER):
        start, end = 1, min(head, word)
    else:
        start, end = max(head, word) + 1, n + 1
    for other in range(start, end):
        is_noun = (
            bool(tree.bits[other, TAG] & rules.nouns)
            and not of_dependents[other, TAG] & rules.adposition
        )
        if tree.heads[other - 1] == head and is_noun:
            return True
    return False


@compiled
def has_sister(column: int, mask: np.uint64, tree: ArcText, of_dependents: Bits, word: int) -> bool:
    """Whether another dependent of the word's head has one of the bits of `mask` in this column."""
    head = tree.heads[word - 1]
    # no dependent of the head has one, which is quicker to see
    if not of_dependents[head, column] & mask:
        return False
    for other in range(1, len(tree.heads) + 1):
        if tree.heads[other - 1] == head and other != word and tree.bits[other, column] & mask:
            return True
    return False


@compiled
def holds(
    condition: int,
    tree: ArcText,
    of_dependents: Bits,
    verb_order: int,
    word: int,
    rules: RuleArrays,
) -> bool:
    """Whether a condition, by its number, holds of the arc to a word of a sentence.

    of_dependents: (n + 1, 3), the bits of all dependents of each word. verb_order: of the text, a
    `VerbOrder`.
    """
    kind, mask, bits = rules.kinds[condition], rules.masks[condition], tree.bits
    head = tree.heads[word - 1]
    if kind in (LEFT, RIGHT):
        return bool((word < head) == (kind == LEFT))
    if kind == NEXT:
        return bool(head > 0 and abs(word - head) == 1)
    if kind == COMMA:
        return bool(head > 0 and tree.gaps[word - 1] != tree.gaps[head - 1])
    if kind in (VERB_FINAL, VERB_INITIAL):
        return bool(verb_order == (FINAL if kind == VERB_FINAL else INITIAL))
    if kind in (OUTER, INNER, ACROSS):
        return has_noun(kind, tree, of_dependents, word, rules)
    if kind == FEAT:
        return bool(bits[word, SETS] & mask)
    if kind == HEAD_FEAT:
        return bool(bits[head, SETS] & mask)
    if kind == HEAD_NAME:
        return bool(bits[head, NAMES] & mask)
    if kind == CHILD_TAG:
        return bool(of_dependents[word, TAG] & mask)
    if kind == CHILD_NAME:
        return bool(of_dependents[word, NAMES] & mask)
    return has_sister(TAG if kind == SISTER_TAG else NAMES, mask, tree, of_dependents, word)


@compiled
def first_rule(
    tree: ArcText, of_dependents: Bits, verb_order: int, word: int, rules: RuleArrays
) -> int:
    """The label of the first rule that holds of the arc to a word of a sentence."""
    head_tag, tag = tree.bits[tree.heads[word - 1], TAG], tree.bits[word, TAG]
    for rule in range(len(rules.labels)):
        fits = bool(rules.heads[rule] & head_tag) and bool(rules.dependents[rule] & tag)
        for condition in range(rules.first[rule], rules.first[rule + 1]):
            if fits:
                is_so = holds(condition, tree, of_dependents, verb_order, word, rules)
                fits = is_so != rules.negated[condition]
        if fits:
            return int(rules.labels[rule])
    return _OTHERWISE


@compiled
def table_labels(
    text: ArcText, verb_order: int, rules: RuleArrays, of_dependents: Bits, labels: Ints
) -> None:
    """Labels (N,) of all words with a head; `of_dependents`, zeros (N + S, 3), is workspace."""
    for k in range(len(text.first) - 1):
        start, end = text.first[k], text.first[k + 1]
        bits = text.bits[start + k : end + k + 1]
        of_words = of_dependents[start + k : end + k + 1]
        heads = text.heads[start:end]
        tree = ArcText(text.rows[:0], bits, heads, text.first, text.gaps[start:end])
        for word in range(1, end - start + 1):
            if heads[word - 1] >= 0:
                for column in range(bits.shape[1]):
                    of_words[heads[word - 1], column] |= bits[word, column]
        for word in range(1, end - start + 1):
            labels[start + word - 1] = _OTHERWISE
            if heads[word - 1] >= 0:
                labels[start + word - 1] = first_rule(tree, of_words, verb_order, word, rules)
