"""Features of arcs that tell their relations: templates over both words and what stands around
them.

Words and arrays are as in `table_kernels`.

Letters: n words, N words of all sentences, a atoms, t templates.
"""

from __future__ import annotations

import numpy as np

from dynet_vdgi.features.atoms import EXTRA_ROWS, GAPS, C, L, M, S, T, W
from dynet_vdgi.features.templates import Templates, table_of
from dynet_vdgi.relations.label_rules import TAGS
from dynet_vdgi.relations.table_kernels import TAG, ArcText
from dynet_vdgi.relations.ud_relations import LABELS
from dynet_vdgi.system.array_types import Codes, Ints
from dynet_vdgi.system.jit import compiled

_IN_ORDER = """
nothing h.T h.C h.W h.S h.L d.T d.M d.C d.W d.S d.L
table side kinds nearest outer distance comma child.W sister
"""

ATOMS = tuple(_IN_ORDER.split())
"""The features of an arc from h to d: columns of both words; the table's label; the kinds of
function words that depend on d; whether d is the nearest dependent on its side, and whether
another noun stands farther out; the distance, in the bins of `arc_features`; whether there is
punctuation between; the form of a function word that depends on d; the table's label of another
dependent of h, one of TELLING."""

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
"""Features with a child's form occur once for every such child, those with a sister for every such
label."""

SEED = 1403  # of the hashing

TABLE = table_of(TEMPLATES, ATOMS, ("child.W", "sister"), SEED)

_FUNCTION_TAGS = ("ADP", "SCONJ", "CCONJ", "AUX", "DET", "PART")

_KINDS = np.uint64(sum(1 << (TAGS.index(tag) + 1) for tag in _FUNCTION_TAGS))

_WITH_FORM = np.uint64(sum(1 << (TAGS.index(tag) + 1) for tag in ("ADP", "SCONJ", "CCONJ", "PART")))

_TELLING = np.array([label in TELLING for label in LABELS])

_CHILD, _SISTER = ATOMS.index("child.W"), ATOMS.index("sister")

# templates with a sister come last, those with a child before them
_FIRST_OF_SISTER = len(TEMPLATES) - 2

MOST_FEATURES = len(TEMPLATES) + 2 * len(TELLING)
"""More than the features of a word on average: a child's form occurs for each child, of which all
words together have fewer than there are words."""


@compiled
def fill_atoms(tree: ArcText, labels: Ints, nouns: np.uint64, dependent: int, atoms: Codes) -> None:
    """The atoms (a,) of the arc to the word `dependent` of a sentence, except the last two."""
    rows, bits, heads = tree.rows, tree.bits, tree.heads
    n, head = len(heads), heads[dependent - 1]
    head_row, k = head if head else n + 1, 1
    for column in (T, C, W, S, L):
        atoms[k] = rows[head_row, column]
        k += 1
    for column in (T, M, C, W, S, L):
        atoms[k] = rows[dependent, column]
        k += 1
    kinds, nearest, outer = np.uint64(0), 1, 1
    for word in range(1, n + 1):
        if heads[word - 1] == dependent:
            kinds |= bits[word, TAG] & _KINDS
        if heads[word - 1] == head and word != dependent:
            if min(head, dependent) < word < max(head, dependent):
                nearest = 2
            elif (word < dependent) == (dependent < head) and bits[word, TAG] & nouns:
                outer = 2
    distance = abs(head - dependent) if head else 0
    bins = distance
    if distance > 9:
        bins = 6
    elif distance > 3:
        bins = 4 if distance <= 5 else 5
    comma = head and rows[dependent, GAPS] != rows[head, GAPS]
    atoms[k], atoms[k + 1], atoms[k + 2] = (
        labels[dependent - 1] + 1,
        1 if dependent < head else 2,
        kinds,
    )
    atoms[k + 3], atoms[k + 4], atoms[k + 5], atoms[k + 6] = nearest, outer, bins, 2 if comma else 1


@compiled
def add_buckets(
    table: Templates, start: int, end: int, atoms: Codes, shift: int, buckets: Ints, n_found: int
) -> int:
    """Appends the buckets of some templates to the `n_found` first ones; returns the new number."""
    for t in range(start, end):
        code = table.of_template[t]
        for atom in table.parts[t]:
            if not atom:  # which pads short templates
                break
            code += atoms[atom] * table.of_atom[atom]
        buckets[n_found] = code >> np.uint64(shift)
        n_found += 1
    return n_found


@compiled
def all_buckets(
    text: ArcText,
    labels: Ints,
    nouns: np.uint64,
    table: Templates,
    shift: int,
    buckets: Ints,
    ends: Ints,
) -> None:
    """The buckets of the features of every word, one after the other, and the end of each word's
    (N,).

    labels: (N,), the table's. `buckets` has room for MOST_FEATURES a word. Words without a head
    have none.
    """
    atoms, n_found, last = np.zeros(len(ATOMS), np.uint64), 0, _FIRST_OF_SISTER
    seen = np.zeros(len(_TELLING), np.bool_)
    for k in range(len(text.first) - 1):
        start, end = text.first[k], text.first[k + 1]
        rows = text.rows[start + EXTRA_ROWS * k : end + EXTRA_ROWS * (k + 1)]
        bits, heads, labels_of_sentence = (
            text.bits[start + k : end + k + 1],
            text.heads[start:end],
            labels[start:end],
        )
        tree = ArcText(rows, bits, heads, text.first, text.gaps[start:end])
        for dependent in range(1, end - start + 1):
            if heads[dependent - 1] >= 0:
                fill_atoms(tree, labels_of_sentence, nouns, dependent, atoms)
                n_found = add_buckets(table, 0, table.certain, atoms, shift, buckets, n_found)
                seen[:] = False
                for word in range(1, end - start + 1):
                    if heads[word - 1] == dependent and bits[word, TAG] & _WITH_FORM:
                        atoms[_CHILD] = rows[word, W]
                        n_found = add_buckets(
                            table, table.certain, last, atoms, shift, buckets, n_found
                        )
                    label = labels_of_sentence[word - 1]
                    is_sister = heads[word - 1] == heads[dependent - 1] and word != dependent
                    if is_sister and label < len(seen) and _TELLING[label] and not seen[label]:
                        seen[label] = True
                        atoms[_SISTER] = label + 1
                        n_found = add_buckets(
                            table, last, len(table.parts), atoms, shift, buckets, n_found
                        )
            ends[start + dependent - 1] = n_found
