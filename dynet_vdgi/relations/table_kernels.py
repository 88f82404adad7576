"""The compiled part of a table of labels: the first rule that holds of an arc gives its label.

Words are 1..n, and ROOT is 0 in arrays that include it; in rows packed by `features.atoms` ROOT is n + 1. A head
below 0 is unknown: its word gets no label here, and is nobody's dependent.

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

LEFT, RIGHT, NEXT, COMMA, VERB_FINAL, VERB_INITIAL, OUTER, INNER, ACROSS = map(CONDITION_KINDS.index, PLAIN_CONDITIONS)

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
def has_noun(kind: int, tree: ArcText, below: Bits, d: int, rules: RuleArrays) -> bool:
    """Whether a noun without an adposition depends on the same head: OUTER, INNER or ACROSS from word d."""
    head, n = tree.heads[d - 1], len(tree.heads)
    if kind == INNER:
        start, end = min(head, d) + 1, max(head, d)
    elif (d < head) == (kind == OUTER):
        start, end = 1, min(head, d)
    else:
        start, end = max(head, d) + 1, n + 1
    for word in range(start, end):
        is_noun = bool(tree.bits[word, TAG] & rules.nouns) and not below[word, TAG] & rules.adposition
        if tree.heads[word - 1] == head and is_noun:
            return True
    return False


@compiled
def holds(q: int, tree: ArcText, below: Bits, verb_order: int, d: int, rules: RuleArrays) -> bool:
    """Whether condition q holds of the arc to word d of a sentence; `below` are the bits of dependents."""
    kind, mask, bits, heads = rules.kinds[q], rules.masks[q], tree.bits, tree.heads
    head = heads[d - 1]
    if kind in (LEFT, RIGHT):
        return bool((d < head) == (kind == LEFT))
    if kind == NEXT:
        return bool(head > 0 and abs(d - head) == 1)
    if kind == COMMA:
        return bool(head > 0 and tree.gaps[d - 1] != tree.gaps[head - 1])
    if kind in (VERB_FINAL, VERB_INITIAL):
        return bool(verb_order == (FINAL if kind == VERB_FINAL else INITIAL))
    if kind in (OUTER, INNER, ACROSS):
        return has_noun(kind, tree, below, d, rules)
    if kind == FEAT:
        return bool(bits[d, SETS] & mask)
    if kind in (HEAD_FEAT, HEAD_NAME):
        return bool(bits[head, SETS if kind == HEAD_FEAT else NAMES] & mask)
    column = TAG if kind in (CHILD_TAG, SISTER_TAG) else NAMES
    if kind in (CHILD_TAG, CHILD_NAME):
        return bool(below[d, column] & mask)
    if below[head, column] & mask:  # else no dependent of the head has it, which is quicker to see
        for word in range(1, len(heads) + 1):
            if heads[word - 1] == head and word != d and bits[word, column] & mask:
                return True
    return False


@compiled
def first_rule(tree: ArcText, below: Bits, verb_order: int, d: int, rules: RuleArrays) -> int:
    """The label of the first rule that holds of the arc to word d of a sentence."""
    head_tag, tag = tree.bits[tree.heads[d - 1], TAG], tree.bits[d, TAG]
    for r in range(len(rules.labels)):
        fits = bool(rules.heads[r] & head_tag) and bool(rules.dependents[r] & tag)
        for q in range(rules.first[r], rules.first[r + 1]):
            fits = fits and holds(q, tree, below, verb_order, d, rules) != rules.negated[q]
        if fits:
            return int(rules.labels[r])
    return _OTHERWISE


@compiled
def table_labels(text: ArcText, verb_order: int, rules: RuleArrays, below: Bits, labels: Ints) -> None:
    """Labels (N,) of all words with a head; `below`, zeros (N + S, 3), is workspace."""
    for k in range(len(text.first) - 1):
        start, end = text.first[k], text.first[k + 1]
        bits, its, heads = (
            text.bits[start + k : end + k + 1],
            below[start + k : end + k + 1],
            text.heads[start:end],
        )
        tree = ArcText(text.rows[:0], bits, heads, text.first, text.gaps[start:end])
        for word in range(1, end - start + 1):
            if heads[word - 1] >= 0:
                for column in range(bits.shape[1]):
                    its[heads[word - 1], column] |= bits[word, column]
        for word in range(1, end - start + 1):
            labels[start + word - 1] = _OTHERWISE
            if heads[word - 1] >= 0:
                labels[start + word - 1] = first_rule(tree, its, verb_order, word, rules)
