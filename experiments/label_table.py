"""Tables of labels on gold heads: words whose universal relation is right, and F1 of nsubj and of
obj.

    python experiments/label_table.py --list experiments/lists/ud2.csv --data DIR --scored test
    --tables ud2 my.txt

`--rows` writes a row for each treebank and table of labels.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from languages import file_list_parser, listed, read
from measuring import conditions, print_table, write_csv

from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.relations.label_table import load
from dynet_vdgi.relations.labeller import Labeller
from dynet_vdgi.relations.ud_relations import relation_of
from dynet_vdgi.rule_tables.prior import Prior
from dynet_vdgi.rule_tables.rules import load_rules
from dynet_vdgi.settings.bundled import rules_path

HEADER = ("set", "language", "scored", "table", "right", "nsubj", "obj")


def figures(gold: Sequence[Sentence], labelled: Sequence[Sentence]) -> list[float]:
    """In per cent: relations right, F1 of nsubj, F1 of obj."""
    pairs = Counter(
        (relation_of(x), relation_of(y))
        for a, b in zip(gold, labelled)
        for x, y in zip(a.deprels, b.deprels)
    )
    right = sum(n for (x, y), n in pairs.items() if x == y)
    scores = [100 * right / pairs.total()]
    for name in ("nsubj", "obj"):
        either = sum(n * ((x == name) + (y == name)) for (x, y), n in pairs.items())
        scores.append(200 * pairs[name, name] / max(1, either))
    return scores


def main() -> None:
    """Measures and prints the table."""
    parser = file_list_parser(__doc__)
    parser.add_argument("--tables", nargs="+", default=["ud2"])
    parser.add_argument("--rows", type=Path, help="rows, as CSV")
    arguments = parser.parse_args()
    at_start, rows, made = conditions(), [], []
    for files in listed(arguments):
        text, test = read(files.text), read(files.scored)
        order = Prior.of_text(load_rules(rules_path("best")), text).text.verb_order
        labellers = [Labeller(load(name), verb_order=order) for name in arguments.tables]
        scores = [figures(test, one.predict(test)) for one in labellers]
        rows.append(
            [files.name, order.name.lower(), *(f"{x:.1f}" for three in scores for x in three)]
        )
        for name, three in zip(arguments.tables, scores):
            row = [
                files.set,
                files.name,
                arguments.scored,
                Path(name).stem,
                *(f"{x:.2f}" for x in three),
            ]
            made.append(dict(zip(HEADER, row)))
    print(at_start)
    columns = [f"{name}{what}" for name in arguments.tables for what in ("", ", nsubj", ", obj")]
    print_table("Relations right on gold heads", ["", "verbs", *columns], rows)
    if arguments.rows:
        write_csv(arguments.rows, HEADER, made)


if __name__ == "__main__":
    main()
