"""Compiled parts of labelling: a table's rules, the features of arcs, and the sums of their weights.

Words are 1..n, and ROOT is 0 in arrays that include it; in rows packed by `features.atoms` ROOT is n + 1. A head
below 0 is unknown: its word gets no label here, and is nobody's dependent.

Letters: n words, N words of all sentences, S sentences, c columns, a atoms, t templates, R rows of weights,
Y relations, E examples.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.features.atoms import EXTRA_ROWS, GAPS, C, L, M, S, T, W
from dynet_vdgi.features.templates import Templates, table_of
from dynet_vdgi.relations.label_table import KINDS, LABELS, OTHERWISE, PLAIN_CONDITIONS, TAGS, RuleArrays
from dynet_vdgi.rule_tables.measures import VerbOrder
from dynet_vdgi.system.array_types import Codes, Flags, Floats, Ints
from dynet_vdgi.system.jit import compiled

Bits = NDArray[np.uint64]

TAG, SETS, NAMES = range(3)  # columns of bits, see LabelTable.bits_of

LEFT, RIGHT, NEXT, COMMA, VERB_FINAL, VERB_INITIAL, OUTER, INNER, ACROSS = map(KINDS.index, PLAIN_CONDITIONS)

FINAL, INITIAL = int(VerbOrder.FINAL), int(VerbOrder.INITIAL)

FEAT, HEAD_FEAT, HEAD_NAME = (KINDS.index(kind) for kind in ("feat", "head", "headkey"))

CHILD_TAG, SISTER_TAG = KINDS.index("child"), KINDS.index("headchild")

CHILD_NAME = KINDS.index("childfeat")

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


_IN_ORDER = """
nothing h.T h.C h.W h.S h.L d.T d.M d.C d.W d.S d.L table side kinds nearest outer distance comma child.W
sister
"""

ATOMS = tuple(_IN_ORDER.split())
"""The features of an arc from h to d: columns of both words; the table's label; the kinds of function words
that depend on d; whether d is the nearest dependent on its side, and whether another noun stands farther out;
the distance, in the bins of `arc_features`; whether there is punctuation between; the form of a function word
that depends on d; the table's label of another dependent of h, one of TELLING."""

TELLING = ("nsubj", "obj", "cop", "aux", "obl", "conj")

TEMPLATES = (
    "nothing",
    "table",
    "table d.T",
    "table h.T d.T side",
    "h.T d.T side",
    "h.T side",
    "d.T side",
    "d.M",
    "h.T d.C",
    "d.C side",
    "h.C d.C side",
    "h.C d.T",
    "d.T kinds side",
    "h.T kinds d.C",
    "d.W",
    "d.W h.T",
    "h.W d.T side",
    "d.S",
    "h.S d.T",
    "d.L",
    "h.L d.T",
    "h.T d.T side nearest",
    "h.T d.T side outer",
    "h.T d.T side distance",
    "h.T d.T side comma",
    "d.T child.W",
    "h.T d.T child.W",
    "d.T sister side",
    "d.C sister",
)
"""Features with a child's form occur once for every such child, those with a sister for every such label."""

SEED = 1403  # of the hashing

TABLE = table_of(TEMPLATES, ATOMS, ("child.W", "sister"), SEED)

_FUNCTION_TAGS = ("ADP", "SCONJ", "CCONJ", "AUX", "DET", "PART")

_KINDS = np.uint64(sum(1 << (TAGS.index(tag) + 1) for tag in _FUNCTION_TAGS))

_WITH_FORM = np.uint64(sum(1 << (TAGS.index(tag) + 1) for tag in ("ADP", "SCONJ", "CCONJ", "PART")))

_TELLING = np.array([label in TELLING for label in LABELS])

_CHILD, _SISTER = ATOMS.index("child.W"), ATOMS.index("sister")

_FIRST_OF_SISTER = len(TEMPLATES) - 2  # templates with a sister come last, those with a child before them

MOST_FEATURES = len(TEMPLATES) + 2 * len(TELLING)
"""More than the features of a word on average: a child's form occurs for each child, of which all words
together have fewer than there are words."""


@compiled
def fill_atoms(tree: ArcText, labels: Ints, nouns: np.uint64, d: int, atoms: Codes) -> None:
    """The atoms (a,) of the arc to word d of a sentence, except the last two."""
    rows, bits, heads = tree.rows, tree.bits, tree.heads
    n, head = len(heads), heads[d - 1]
    h, k = head if head else n + 1, 1
    for column in (T, C, W, S, L):
        atoms[k] = rows[h, column]
        k += 1
    for column in (T, M, C, W, S, L):
        atoms[k] = rows[d, column]
        k += 1
    kinds, nearest, outer = np.uint64(0), 1, 1
    for word in range(1, n + 1):
        if heads[word - 1] == d:
            kinds |= bits[word, TAG] & _KINDS
        if heads[word - 1] == head and word != d:
            if min(head, d) < word < max(head, d):
                nearest = 2
            elif (word < d) == (d < head) and bits[word, TAG] & nouns:
                outer = 2
    distance = abs(head - d) if head else 0
    bins = distance if distance <= 3 else 4 if distance <= 5 else 5 if distance <= 9 else 6
    comma = head and rows[d, GAPS] != rows[head, GAPS]
    atoms[k], atoms[k + 1], atoms[k + 2] = labels[d - 1] + 1, 1 if d < head else 2, kinds
    atoms[k + 3], atoms[k + 4], atoms[k + 5], atoms[k + 6] = nearest, outer, bins, 2 if comma else 1


@compiled
def add_buckets(table: Templates, start: int, end: int, atoms: Codes, shift: int, buckets: Ints, found: int) -> int:
    """Appends the buckets of some templates to those found; returns the new number."""
    for t in range(start, end):
        code = table.of_template[t]
        for atom in table.parts[t]:
            if not atom:  # which pads short templates
                break
            code += atoms[atom] * table.of_atom[atom]
        buckets[found] = code >> np.uint64(shift)
        found += 1
    return found


@compiled
def all_buckets(
    text: ArcText, labels: Ints, nouns: np.uint64, table: Templates, shift: int, buckets: Ints, ends: Ints
) -> None:
    """The buckets of the features of every word, one after the other, and the end of each word's (N,).

    labels: (N,), the table's. `buckets` has room for MOST_FEATURES a word. Words without a head have none.
    """
    atoms, found, last = np.zeros(len(ATOMS), np.uint64), 0, _FIRST_OF_SISTER
    seen = np.zeros(len(_TELLING), np.bool_)
    for k in range(len(text.first) - 1):
        start, end = text.first[k], text.first[k + 1]
        rows = text.rows[start + EXTRA_ROWS * k : end + EXTRA_ROWS * (k + 1)]
        bits, heads, own = text.bits[start + k : end + k + 1], text.heads[start:end], labels[start:end]
        tree = ArcText(rows, bits, heads, text.first, text.gaps[start:end])
        for d in range(1, end - start + 1):
            if heads[d - 1] >= 0:
                fill_atoms(tree, own, nouns, d, atoms)
                found = add_buckets(table, 0, table.certain, atoms, shift, buckets, found)
                seen[:] = False
                for word in range(1, end - start + 1):
                    if heads[word - 1] == d and bits[word, TAG] & _WITH_FORM:
                        atoms[_CHILD] = rows[word, W]
                        found = add_buckets(table, table.certain, last, atoms, shift, buckets, found)
                    label = own[word - 1]
                    is_sister = heads[word - 1] == heads[d - 1] and word != d
                    if is_sister and label < len(seen) and _TELLING[label] and not seen[label]:
                        seen[label] = True
                        atoms[_SISTER] = label + 1
                        found = add_buckets(table, last, len(table.parts), atoms, shift, buckets, found)
            ends[start + d - 1] = found


@compiled
def add_weights(rows: Ints, ends: Ints, weights: Floats, scores: Floats) -> None:
    """Adds the weights (R, Y) of each word's features to the scores (N, Y) of its relations.

    rows: those of the features, one word after the other; 0 for none. ends: (N,) of each word's rows.
    """
    start = 0
    for word in range(len(ends)):
        for row in rows[start : ends[word]]:
            if row:
                for label in range(scores.shape[1]):
                    scores[word, label] += weights[row, label]
        start = ends[word]


@compiled
def label_scores(weights: Floats, rows: Ints, offsets: Floats, scores: Floats) -> None:
    """Scores (Y,) of relations: their offsets (Y,), plus weights (R, Y) of these rows."""
    for label in range(len(scores)):
        scores[label] = offsets[label]
    for row in rows:
        for label in range(len(scores)):
            scores[label] += weights[row, label]


@compiled
def add_slopes(scores: Floats, group: Ints, which: int, has_rest: bool, gold: int, slopes: Floats) -> float:
    """The log-likelihood of a relation among the relations of a group; fills in its slopes (Y,).

    `has_rest`: there is one more choice, of score 0, which is gold if gold is in another group.
    """
    highest = 0.0 if has_rest else -np.inf
    for label in range(len(scores)):
        if group[label] == which:
            highest = max(highest, scores[label])
    mass = math.exp(-highest) if has_rest else 0.0
    for label in range(len(scores)):
        if group[label] == which:
            mass += math.exp(scores[label] - highest)
    for label in range(len(scores)):
        if group[label] == which:
            slopes[label] = (label == gold) - math.exp(scores[label] - highest) / mass
    return float((scores[gold] if group[gold] == which else 0.0) - highest - math.log(mass))


@compiled
def learn(
    rows: Ints,
    first: Ints,
    offsets: Floats,
    gold: Ints,
    parts: Ints,
    group: Ints,
    plain: Flags,
    n_subtypes: Ints,
    order: Ints,
    rate: float,
    weights: Floats,
    squares: Floats,
    scores: Floats,
    slopes: Floats,
) -> float:
    """One pass of AdaGrad over examples in this order (E,); the sum of their log-likelihoods on the way.

    Example e has the rows rows[first[e]:first[e + 1]], offsets (Y,) of the scores, the gold relation, and the
    gold relation's universal part. Changes weights (R, Y) and squares (R, Y), the sums of squared slopes so
    far; scores (Y,) and slopes (Y,) are workspace.
    """
    total = 0.0
    for e in order:
        own, part = rows[first[e] : first[e + 1]], parts[e]
        label_scores(weights, own, offsets[e], scores)
        slopes[:] = 0.0
        total += add_slopes(scores, group, 0, False, part, slopes)
        if n_subtypes[part]:
            total += add_slopes(scores, group, part + 1, plain[part], gold[e], slopes)
        for row in own:
            for label in range(len(slopes)):
                if slopes[label] != 0.0:
                    squares[row, label] += slopes[label] * slopes[label]
                    weights[row, label] += rate * slopes[label] / math.sqrt(squares[row, label])
    return total
