"""Accuracy on relations that are not in UD 2: those of the trees are renamed one to one.

    python experiments/own_relations.py --list experiments/lists/ud2.csv --languages fr et \\
        --data DIR --scored test

Prints the share of words, on gold heads and in per cent, whose whole relation, subtype included, is
found by a labeller that learnt from the first trees of a shuffle. The SUD-like names are SUD's for
UD's relations; the heads remain UD's. `--rows` writes a row for each treebank and way of renaming.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from pathlib import Path

from languages import file_list_parser, listed, read
from measuring import conditions, print_table, write_csv

from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.relations.label_table import load as load_labels
from dynet_vdgi.relations.labeller import Labeller
from dynet_vdgi.relations.ud_relations import relation_of
from dynet_vdgi.rule_tables.prior import Prior
from dynet_vdgi.rule_tables.rules import load_rules
from dynet_vdgi.settings.bundled import rules_path

SUD_NAMES = """
    nsubj subj, csubj subj@clause, obj comp:obj, iobj comp:obl@dat, obl udep, xcomp comp:pred,
    aux comp:aux, ccomp comp:obj@clause, cop comp:cop, mark marker, case comp@case, advmod mod@adv,
    amod mod, nmod mod@noun,
    acl mod@relcl, advcl mod@clause, nummod mod@num, expl subj@expl, compound unk@compound
"""
SUD: dict[str, str] = dict(pair.split() for pair in SUD_NAMES.split(","))
HEADER = ("language", "scored", "trees", "names", "right", "universal part")
DEVANAGARI = {chr(k): chr(0x915 + k - ord("a")) for k in range(ord("a"), ord("z") + 1)}


def sud(relation: str) -> str:
    """A name in the style of SUD; the subtype stays."""
    part, colon, subtype = relation.partition(":")
    return SUD.get(part, part) + (
        ("@" if ":" in SUD.get(part, "") else ":") + subtype if colon else ""
    )


def devanagari(relation: str) -> str:
    """Letters of another script."""
    return "".join(DEVANAGARI.get(letter, letter) for letter in relation)


NAMES: dict[str, Callable[[str], str]] = {
    "UD": str,
    "upper case": str.upper,
    "SUD-like": sud,
    "Devanagari": devanagari,
}


def renamed(sentence: Sentence, new: Callable[[str], str]) -> Sentence:
    """The sentence with other relations."""
    return replace(sentence, deprels=tuple(map(new, sentence.deprels)))


def share_right(
    gold: list[Sentence], labelled: list[Sentence], seen: Callable[[str], str] = str
) -> float:
    """The share of right words, in per cent."""
    pairs = [pair for a, b in zip(gold, labelled) for pair in zip(a.deprels, b.deprels)]
    return 100 * statistics.fmean(seen(a) == seen(b) for a, b in pairs)


def main() -> None:
    """Measures and prints the table."""
    parser = file_list_parser(__doc__)
    parser.add_argument("--trees", type=int, default=50)
    parser.add_argument("--rows", type=Path, help="rows, as CSV")
    arguments = parser.parse_args()
    at_start, rows, made = conditions(), [], []
    for files in listed(arguments):
        text, test = read(files.text), read(files.scored)
        order = Prior.of_text(load_rules(rules_path("best")), text).text.verb_order
        random.Random(1).shuffle(text)
        scores = []
        for name, new in NAMES.items():
            trees = [renamed(tree, new) for tree in text[: arguments.trees]]
            gold = [renamed(tree, new) for tree in test]
            labelled = Labeller(load_labels()).fit(trees, verb_order=order).predict(gold)
            both = [share_right(gold, labelled), share_right(gold, labelled, relation_of)]
            scores += both
            row = [
                files.name,
                arguments.scored,
                arguments.trees,
                name,
                *(f"{share:.2f}" for share in both),
            ]
            made.append(dict(zip(HEADER, row)))
        rows.append([files.name, *(f"{score:.1f}" for score in scores)])
    print(at_start)
    columns = chain.from_iterable((name, "universal part") for name in NAMES)
    print_table("Relations right", ["", *columns], rows)
    if arguments.rows:
        write_csv(arguments.rows, HEADER, made)


if __name__ == "__main__":
    main()
