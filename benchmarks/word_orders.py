"""Does a rule table suit one word order only? Accuracy on texts whose words have been put in another order.

    python benchmarks/word_orders.py --language fr fr-ud-train.conllu fr-ud-dev.conllu --tables text best

Orders: `original`; `mirror`, every sentence reversed; `verb-final`, what depends on a verb and stands behind
it goes before it; `head-final`, the same for every word, and adpositions, auxiliaries and subordinators go
behind what they belong to. Conjuncts and parts of names stay behind the first, as everywhere in UD. The order
is changed along gold trees, of the training text too; apart from that nothing reads them. Sentences without
a tree are left out.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy is imported

from languages import LIMITS, LIMITS_SHOWN, argument_parser, dda
from measuring import cell, conditions, print_conditions, print_table

from dynet_vdgi.bundled import rules_path
from dynet_vdgi.data import conllu, protocols, treebank
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.grammar.prior import Prior
from dynet_vdgi.grammar.rules import RuleSet, load_rules
from dynet_vdgi.students.linear_student import Perceptron
from dynet_vdgi.teachers.dmv import Dmv

ORDERS = ("original", "mirror", "verb-final", "head-final")
STAYING = {"appos", "cc", "compound", "conj", "fixed", "flat", "goeswith", "list", "mwe", "name", "parataxis"}
FUNCTION = {"aux", "auxpass", "case", "cop", "mark"}
ARGUMENTS = {"ADJ", "ADV", "NOUN", "NUM", "PRON", "PROPN", "VERB"}


@dataclass(frozen=True)
class Node:
    """One word: tag, relation, and dependents on either side in their order."""

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
    """The dependents of a word on either side in another order."""
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
    """The sentence, which has a tree, with its words in another order."""
    assert sentence.heads is not None
    n, heads = len(sentence), sentence.heads
    if order == "original":
        positions = list(range(1, n + 1))
    elif order == "mirror":
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
    return Sentence(
        tuple(sentence.forms[k - 1] for k in positions),
        tuple(sentence.tags[k - 1] for k in positions),
        tuple(new[heads[k - 1]] for k in positions),
    )


def linearised(word: int, nodes: Sequence[Node], order: str) -> list[int]:
    """The words below and including one, in another order."""
    before, after = sides(nodes[word], nodes, order)
    left, right = ([k for d in part for k in linearised(d, nodes, order)] for part in (before, after))
    return [*left, word, *right]


def read(path: str, order: str, max_len: int) -> list[Sentence]:
    """The sentences of files (joined by commas) that have trees, in another order, without punctuation."""
    text = chain.from_iterable(conllu.read(name, heads="optional") for name in path.split(","))
    changed = (reordered(sentence, order) for sentence in text if sentence.heads)
    return treebank.prepare(changed, protocols.STANDARD, max_len).sentences


def figures(train: Sequence[Sentence], test: Sequence[Sentence], rules: RuleSet, seeds: int) -> list[str]:
    """DDA of the teacher, and of its student, in per cent for each length limit."""
    teacher = Dmv().fit(train, Prior.of_text(rules, train))
    trees = teacher.predict(train)
    students = [Perceptron(seed=seed).fit(trees) for seed in range(1, seeds + 1)]
    of_students = [dda(test, [s.heads or () for s in student.predict(test)]) for student in students]
    return [
        cell(dda(test, teacher.heads(test))),
        cell([statistics.mean(values) for values in zip(*of_students)]),
    ]


def main() -> None:
    """Prints the table."""
    parser = argument_parser(__doc__)
    parser.add_argument("--tables", nargs="+", default=("text", "best"), metavar="RULES")
    parser.add_argument("--orders", nargs="+", default=ORDERS, choices=ORDERS)
    parser.add_argument("--max-len", type=int, default=15, help="longest training sentence (default: 15)")
    parser.add_argument("--seeds", type=int, default=3, help="of the student (default: 3)")
    arguments = parser.parse_args()
    print_conditions(conditions())
    rows = []
    for name, train_path, test_path in arguments.language:
        for order in arguments.orders:
            train, test = read(train_path, order, arguments.max_len), read(test_path, order, max(LIMITS))
            for table in arguments.tables:
                rules = load_rules(rules_path(table))
                rows.append([name, order, table, *figures(train, test, rules, arguments.seeds)])
    header = ["language", "order", "rules", "DMV teacher", "student"]
    print_table(f"DDA {LIMITS_SHOWN}, protocol standard; the student's is the mean over seeds:", header, rows)


if __name__ == "__main__":
    main()
