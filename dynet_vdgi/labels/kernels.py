"""Compiled parts of labelling: a table's rules, features of arcs for the classifier, and its learning.

Words are 1..n, and ROOT is 0 in arrays that include it; in rows packed by `data.atoms` ROOT is n + 1. A head
below 0 is unknown: its word gets no label here, and is nobody's dependent.

Letters: n words, N words of all sentences, S sentences, c columns, a atoms, t templates, R rows of weights,
Y relations, T labels of a table, E examples, F features of all examples.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.data.atoms import EXTRA_ROWS, GAPS, C, L, M, S, T, W
from dynet_vdgi.data.templates import Templates, table_of
from dynet_vdgi.grammar.statistics import VerbOrder
from dynet_vdgi.labels.inventory import Family
from dynet_vdgi.labels.label_table import KINDS, LABELS, OTHERWISE, PLAIN_CONDITIONS, TAGS, RuleArrays
from dynet_vdgi.system.arrays import Codes, Flags, Floats, Ints
from dynet_vdgi.system.jit import compiled

Bits = NDArray[np.uint64]

TAG, SETS, NAMES = range(3)  # columns of bits, see LabelTable.bits_of

LEFT, RIGHT, NEXT, COMMA, VERB_FINAL, VERB_INITIAL, OUTER, INNER, ACROSS = map(KINDS.index, PLAIN_CONDITIONS)
FINAL, INITIAL = int(VerbOrder.FINAL), int(VerbOrder.INITIAL)
FEAT, HEAD_FEAT, HEAD_NAME = (KINDS.index(kind) for kind in ("feat", "head", "headkey"))
CHILD_TAG, SISTER_TAG = KINDS.index("child"), KINDS.index("headchild")
CHILD_NAME = KINDS.index("childfeat")
_OTHERWISE = LABELS.index(OTHERWISE)


# ------------------------------------------------------------------------------------------- the table
@compiled
def add_bits_below(bits: Bits, heads: Ints, below: Bits) -> None:
    """Fills in the bits (n + 1, 3) of the dependents of each word, ROOT's at 0; `below` must be zero."""
    for word in range(1, len(heads) + 1):
        if heads[word - 1] >= 0:
            for column in range(bits.shape[1]):
                below[heads[word - 1], column] |= bits[word, column]


@compiled
def has_sister(bits: Bits, heads: Ints, d: int, column: int, mask: np.uint64) -> bool:
    """Whether another dependent of the head of word d has one of these bits."""
    for word in range(1, len(heads) + 1):
        if heads[word - 1] == heads[d - 1] and word != d and bits[word, column] & mask:
            return True
    return False


@compiled
def has_noun(
    kind: int, bits: Bits, below: Bits, heads: Ints, dependent: int, nouns: np.uint64, adposition: np.uint64
) -> bool:
    """Whether a noun without an adposition depends on the same head: OUTER, INNER or ACROSS from it."""
    head, n = heads[dependent - 1], len(heads)
    if kind == INNER:
        start, end = min(head, dependent) + 1, max(head, dependent)
    elif (dependent < head) == (kind == OUTER):
        start, end = 1, min(head, dependent)
    else:
        start, end = max(head, dependent) + 1, n + 1
    for word in range(start, end):
        if heads[word - 1] == head and bits[word, TAG] & nouns and not below[word, TAG] & adposition:
            return True
    return False


@compiled
def holds(
    kind: int,
    mask: np.uint64,
    bits: Bits,
    below: Bits,
    heads: Ints,
    gaps: Ints,
    verb_order: int,
    d: int,
    nouns: np.uint64,
    adposition: np.uint64,
) -> bool:
    """Whether a condition holds of the arc to word d; gaps (n,) is the column GAPS."""
    head = heads[d - 1]
    if kind in (LEFT, RIGHT):
        return bool((d < head) == (kind == LEFT))
    if kind == NEXT:
        return bool(head > 0 and abs(d - head) == 1)
    if kind == COMMA:
        return bool(head > 0 and gaps[d - 1] != gaps[head - 1])
    if kind == VERB_FINAL:
        return verb_order == FINAL
    if kind == VERB_INITIAL:
        return verb_order == INITIAL
    if kind in (OUTER, INNER, ACROSS):
        return has_noun(kind, bits, below, heads, d, nouns, adposition)
    if kind == FEAT:
        return bool(bits[d, SETS] & mask)
    if kind == HEAD_FEAT:
        return bool(bits[head, SETS] & mask)
    if kind == HEAD_NAME:
        return bool(bits[head, NAMES] & mask)
    column = TAG if kind in (CHILD_TAG, SISTER_TAG) else NAMES
    if kind in (CHILD_TAG, CHILD_NAME):
        return bool(below[d, column] & mask)
    return bool(below[head, column] & mask) and has_sister(bits, heads, d, column, mask)


@compiled
def apply_rules(
    bits: Bits, below: Bits, heads: Ints, gaps: Ints, verb_order: int, rules: RuleArrays, labels: Ints
) -> None:
    """The label (n,) of every word with a head: the label of the first rule that holds."""
    names, of_head, of_dependent, first = rules.labels, rules.heads, rules.dependents, rules.first
    kinds, masks, negated = rules.kinds, rules.masks, rules.negated
    nouns, adposition = rules.nouns, rules.adposition
    for d in range(1, len(heads) + 1):
        head = heads[d - 1]
        labels[d - 1] = _OTHERWISE
        if head < 0:
            continue
        head_tag, tag = bits[head, TAG], bits[d, TAG]
        for r in range(len(names)):
            if not (of_head[r] & head_tag and of_dependent[r] & tag):
                continue
            fits = True
            for q in range(first[r], first[r + 1]):
                is_so = holds(kinds[q], masks[q], bits, below, heads, gaps, verb_order, d, nouns, adposition)
                if is_so == negated[q]:
                    fits = False
                    break
            if fits:
                labels[d - 1] = names[r]
                break


@compiled
def table_labels(
    bits: Bits,
    heads: Ints,
    first: Ints,
    gaps: Ints,
    verb_order: int,
    rules: RuleArrays,
    below: Bits,
    labels: Ints,
) -> None:
    """Labels (N,) of all sentences; gaps (N,); bits (N + S, 3), ROOT's first in each sentence.

    `below` is workspace for the bits of dependents, zeros of that shape.
    """
    for k in range(len(first) - 1):
        start, end = first[k], first[k + 1]
        own, its = bits[start + k : end + k + 1], below[start + k : end + k + 1]
        add_bits_below(own, heads[start:end], its)
        apply_rules(own, its, heads[start:end], gaps[start:end], verb_order, rules, labels[start:end])


# ------------------------------------------------------------------------------------------- features
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


@compiled
def fill_atoms(
    rows: Codes, bits: Bits, heads: Ints, labels: Ints, nouns: np.uint64, d: int, atoms: Codes
) -> None:
    """The atoms (a,) of the arc to word d, except the last two."""
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
def code_of(table: Templates, t: int, atoms: Codes, shift: int) -> int:
    """The bucket of one feature."""
    code = table.of_template[t]
    for k in range(table.parts.shape[1]):
        atom = table.parts[t, k]
        if not atom:
            break
        code += atoms[atom] * table.of_atom[atom]
    return int(code >> np.uint64(shift))


class LabelRoom(NamedTuple):
    """Workspace for kernels."""

    atoms: Codes  # (a,)
    buckets: Ints  # of the features of an arc
    seen: Flags  # of LABELS
    scores: Floats  # (Y,)

    @classmethod
    def of(cls, first: Ints, n_relations: int) -> LabelRoom:
        """Enough space for sentences that begin and end at `first` (S + 1,)."""
        longest = int(np.diff(first).max(initial=0))
        buckets = np.zeros(len(TABLE.parts) * (longest + 2), np.int64)
        seen = np.zeros(len(LABELS), np.bool_)
        return cls(np.zeros(len(ATOMS), np.uint64), buckets, seen, np.zeros(n_relations))


@compiled
def find_buckets(
    rows: Codes,
    bits: Bits,
    heads: Ints,
    labels: Ints,
    nouns: np.uint64,
    d: int,
    table: Templates,
    shift: int,
    room: LabelRoom,
) -> int:
    """Fills in the buckets of the features of the arc to word d; returns their number."""
    atoms, buckets, seen, _ = room
    fill_atoms(rows, bits, heads, labels, nouns, d, atoms)
    found, last = table.certain, len(table.parts)
    for t in range(table.certain):
        buckets[t] = code_of(table, t, atoms, shift)
    for label in range(len(seen)):
        seen[label] = False
    for word in range(1, len(heads) + 1):
        if heads[word - 1] == d and bits[word, TAG] & _WITH_FORM:
            atoms[_CHILD] = rows[word, W]
            for t in range(table.certain, last - 2):
                buckets[found] = code_of(table, t, atoms, shift)
                found += 1
        label = labels[word - 1]
        if label >= len(seen) or not _TELLING[label] or seen[label]:
            continue
        if heads[word - 1] == heads[d - 1] and word != d:
            seen[label] = True
            atoms[_SISTER] = label + 1
            for t in range(last - 2, last):
                buckets[found] = code_of(table, t, atoms, shift)
                found += 1
    return found


@compiled
def all_buckets(
    rows: Codes,
    bits: Bits,
    heads: Ints,
    first: Ints,
    labels: Ints,
    nouns: np.uint64,
    table: Templates,
    shift: int,
    buckets: Ints,
    ends: Ints,
    room: LabelRoom,
) -> None:
    """Buckets (F,) of the features of every word, one after the other, and the end of each word's (N,).

    Buckets that do not fit into `buckets` are only counted. Words without a head have none.
    """
    total = 0
    for k in range(len(first) - 1):
        start, end = first[k], first[k + 1]
        own = rows[start + EXTRA_ROWS * k : end + EXTRA_ROWS * (k + 1)]
        own_bits, own_labels = bits[start + k : end + k + 1], labels[start:end]
        for d in range(1, end - start + 1):
            if heads[start + d - 1] >= 0:
                found = find_buckets(
                    own, own_bits, heads[start:end], own_labels, nouns, d, table, shift, room
                )
                for j in range(found):
                    if total + j < len(buckets):
                        buckets[total + j] = room.buckets[j]
                total += found
            ends[start + d - 1] = total


# ------------------------------------------------------------------------------------------- classifier
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
    family: Family,
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
        total += add_slopes(scores, family.group, 0, False, part, slopes)
        if family.n_subtypes[part]:
            total += add_slopes(scores, family.group, part + 1, family.plain[part], gold[e], slopes)
        for row in own:
            for label in range(len(slopes)):
                if slopes[label] != 0.0:
                    squares[row, label] += slopes[label] * slopes[label]
                    weights[row, label] += rate * slopes[label] / math.sqrt(squares[row, label])
    return total


@compiled
def best_relation(scores: Floats, family: Family, root: int) -> int:
    """The best relation, by scores (Y,), among those with the best universal part; it is never `root`."""
    part, best = _OTHERWISE, -np.inf
    for label in range(len(scores)):
        if family.group[label] == 0 and label != root and scores[label] > best:
            part, best = label, scores[label]
    if not family.n_subtypes[part]:
        return part
    found, best = part, 0.0 if family.plain[part] else -np.inf
    for label in range(len(scores)):
        if family.group[label] == part + 1 and scores[label] > best:
            found, best = label, scores[label]
    return found


@compiled
def add_weights(
    rows: Codes,
    bits: Bits,
    heads: Ints,
    first: Ints,
    tables: Ints,
    nouns: np.uint64,
    table: Templates,
    shift: int,
    row_of: Ints,
    weights: Floats,
    scores: Floats,
    room: LabelRoom,
) -> None:
    """Adds the weights (R, Y) of the features of each arc to the scores (N, Y) of its relations.

    `tables` (N,) are the table's labels, row_of (B,) the rows of weights for buckets; row 0 is zero.
    """
    for k in range(len(first) - 1):
        start, end = first[k], first[k + 1]
        own = rows[start + EXTRA_ROWS * k : end + EXTRA_ROWS * (k + 1)]
        own_bits, own_tables = bits[start + k : end + k + 1], tables[start:end]
        for d in range(1, end - start + 1):
            word, found = start + d - 1, 0
            if heads[word] > 0:
                found = find_buckets(
                    own, own_bits, heads[start:end], own_tables, nouns, d, table, shift, room
                )
            for j in range(found):
                row = row_of[room.buckets[j]]
                if row:
                    for label in range(scores.shape[1]):
                        scores[word, label] += weights[row, label]


@compiled
def margin(scores: Floats, alone: Ints, which: int) -> float:
    """By how much the best relation of a group scores (Y,) above the best other one."""
    inside = outside = -np.inf
    for label in range(len(scores)):
        if alone[label] == which:
            inside = max(inside, scores[label])
        else:
            outside = max(outside, scores[label])
    return float(inside - outside)


@compiled
def decide(
    scores: Floats,
    heads: Ints,
    first: Ints,
    family: Family,
    parts: Ints,
    alone: Ints,
    root: int,
    labels: Ints,
) -> None:
    """The best relation (N,) of every word by scores (N, Y): `root` for arcs from ROOT, and only for these.

    Relations of the same number above 0 in alone (Y,), by universal part, occur once below a word: of two,
    the one of the smaller margin is no candidate any longer, and its scores become minus infinity.
    """
    for k in range(len(first) - 1):
        for word in range(first[k], first[k + 1]):
            labels[word] = best_relation(scores[word], family, root) if heads[word] else root
        word = first[k]
        while word < first[k + 1]:
            which, rival = alone[parts[labels[word]]], first[k]
            while rival < word and (
                heads[rival] != heads[word] or heads[word] <= 0 or alone[parts[labels[rival]]] != which
            ):
                rival += 1
            if not which or rival == word:
                word += 1
                continue
            loser = word
            if margin(scores[rival], alone, which) < margin(scores[word], alone, which):
                loser = rival
            for label in range(scores.shape[1]):
                if alone[label] == which:
                    scores[loser, label] = -np.inf
            labels[loser] = best_relation(scores[loser], family, root)
            word = first[k]  # its new relation may be another's
