"""Does a rule table suit only one word order? Accuracy on texts with their words in another order.

    python benchmarks/word_orders.py --list benchmarks/lists/ud2.csv --set choose --data DIR
    python benchmarks/word_orders.py --list benchmarks/lists/ud14.csv --data DIR --scored dev

Orders: `original`; `mirror`, every sentence reversed; `verb-final`, dependents after a verb are moved before
it; `head-final`, the same for every word, and adpositions, auxiliaries and subordinators follow their
heads. Conjuncts and parts of names stay behind the first, as everywhere in UD. Except for `original` and
`mirror`, gold trees, also of the text, determine the new order; nothing else reads them. Sentences without a
tree are left out if an order needs one. Figures are the DMV teacher's.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy is imported

import numpy as np
from languages import LIMITS_SHOWN, dda, drawn, list_parser, listed
from measuring import cell, conditions, print_table

from dynet_vdgi.conllu import filtering, protocols, reading
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.rule_tables.prior import Prior
from dynet_vdgi.rule_tables.rules import load_rules
from dynet_vdgi.settings.bundled import rules_path
from dynet_vdgi.unsupervised.dmv import Dmv

ORDERS = ("original", "mirror", "verb-final", "head-final")
STAYING = {"appos", "cc", "compound", "conj", "fixed", "flat", "goeswith", "list", "mwe", "name", "parataxis"}
FUNCTION = {"aux", "auxpass", "case", "cop", "mark"}
ARGUMENTS = {"ADJ", "ADV", "NOUN", "NUM", "PRON", "PROPN", "VERB"}


@dataclass(frozen=True)
class Node:
    """One word: tag, relation, and its dependents on each side in order."""

    tag: str
    relation: str
    left: tuple[int, ...]
    right: tuple[int, ...]


def relations(sentence: Sentence) -> list[str]:
    """The relations of its words, without subtypes."""
    assert sentence.source is not None
    rows = [sentence.source.lines[row].split("\t") for row in sentence.source.rows]
    return [columns[7].split(":")[0] for columns in rows]


def sides(node: Node, nodes: Sequence[Node], order: str) -> tuple[list[int], list[int]]:
    """The dependents of a word on each side in another order."""
    if order == "verb-final":
        moves = [k for k in node.right if nodes[k].tag in ARGUMENTS and nodes[k].relation not in STAYING] * (
            node.tag == "VERB"
        )
        return [*node.left, *moves], [k for k in node.right if k not in moves]
    children = [*node.left, *node.right]
    function = [k for k in children if nodes[k].relation in FUNCTION]
    staying = [k for k in node.right if nodes[k].relation in STAYING]
    moves = [k for k in node.right if k not in function and k not in staying]
    return [*(k for k in node.left if k not in function), *reversed(moves)], [*reversed(function), *staying]


def reordered(sentence: Sentence, order: str) -> Sentence:
    """The sentence with its words in another order; `original` and `mirror` need no tree."""
    n, heads = len(sentence), sentence.heads or ()
    if order == "original":
        return replace(sentence, source=None)
    if order == "mirror":
        positions = list(range(n, 0, -1))
    else:
        names = ["root", *relations(sentence)]
        nodes = [
            Node(
                ("", *sentence.tags)[k],
                names[k],
                tuple(d for d in range(1, k) if heads[d - 1] == k),
                tuple(d for d in range(k + 1, n + 1) if heads[d - 1] == k),
            )
            for k in range(n + 1)
        ]
        positions = list(chain.from_iterable(linearised(root, nodes, order) for root in nodes[0].right))
    new = {old: k for k, old in enumerate(positions, 1)} | {0: 0}
    columns = ("forms", "tags", "upos", "lemmas", "xpos", "feats", "deprels")
    moved = {name: _moved(getattr(sentence, name), positions) for name in columns}
    tree = tuple(new[heads[k - 1]] for k in positions) if heads else None
    return Sentence(heads=tree, **moved)


def _moved(column: tuple[str, ...], positions: Sequence[int]) -> tuple[str, ...]:
    return tuple(column[k - 1] for k in positions) if column else ()


def linearised(word: int, nodes: Sequence[Node], order: str) -> list[int]:
    """The words of the subtree of one word, in another order."""
    before, after = sides(nodes[word], nodes, order)
    left, right = ([k for d in part for k in linearised(d, nodes, order)] for part in (before, after))
    return [*left, word, *right]


def read(paths: Sequence[Path], order: str) -> list[Sentence]:
    """The sentences of files in another order, without punctuation."""
    text = (sentence for path in paths for sentence in reading.read(path, heads="optional"))
    needs_tree = order not in ("original", "mirror")
    changed = (reordered(sentence, order) for sentence in text if sentence.heads or not needs_tree)
    return filtering.prepare(changed, protocols.STANDARD).sentences


def main() -> None:
    """Prints the table."""
    parser = list_parser(__doc__)
    parser.add_argument("--tables", nargs="+", default=("best",), metavar="RULES")
    parser.add_argument("--orders", nargs="+", default=ORDERS, choices=ORDERS)
    arguments = parser.parse_args()
    print(conditions())
    tables = {name: load_rules(rules_path(name)) for name in arguments.tables}
    systems = [(table, order) for table in tables for order in arguments.orders]
    rows, figures = [], []
    for bank in listed(arguments):
        found = {}
        for order in arguments.orders:
            text = read(bank.text, order)
            gold = drawn(read(bank.scored, order), arguments.max_test)
            short = [s for s in text if len(s) <= arguments.max_len][: arguments.max_text]
            for name, rules in tables.items():
                teacher = Dmv().fit(short, Prior.of_text(rules, text))
                found[name, order] = dda(gold, teacher.heads(gold))
        figures.append([found[system] for system in systems])
        rows.append([bank.name, *map(cell, figures[-1])])
    rows.append(["mean", *map(cell, np.mean(figures, axis=0))])
    header = [table if order == "original" else f"{table}, {order}" for table, order in systems]
    print_table(f"DDA {LIMITS_SHOWN} of the DMV teacher:", ["language", *header], rows)


if __name__ == "__main__":
    main()
