"""Tables of labels on gold heads: words whose universal relation is right, and F1 of nsubj and of obj.

python benchmarks/label_table.py --list benchmarks/lists/ud2.csv --data DIR --scored test --tables ud2 my.txt
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from languages import file_list_parser, listed, read
from measuring import conditions, print_table

from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.relations.label_table import load
from dynet_vdgi.relations.labeller import Labeller
from dynet_vdgi.relations.ud_relations import relation_of
from dynet_vdgi.rule_tables.prior import Prior
from dynet_vdgi.rule_tables.rules import load_rules
from dynet_vdgi.settings.bundled import rules_path


def figures(gold: Sequence[Sentence], found: Sequence[Sentence]) -> list[float]:
    """In per cent: relations right, F1 of nsubj, F1 of obj."""
    pairs = Counter((relation_of(x), relation_of(y)) for a, b in zip(gold, found) for x, y in zip(a.deprels, b.deprels))
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
    arguments = parser.parse_args()
    at_start, rows = conditions(), []
    for files in listed(arguments):
        text, test = read(files.text), read(files.scored)
        order = Prior.of_text(load_rules(rules_path("best")), text).text.verb_order
        labellers = [Labeller(load(name), verb_order=order) for name in arguments.tables]
        scores = [f"{x:.1f}" for one in labellers for x in figures(test, one.predict(test))]
        rows.append([files.name, order.name.lower(), *scores])
    print(at_start)
    columns = [f"{name}{what}" for name in arguments.tables for what in ("", ", nsubj", ", obj")]
    print_table("Relations right on gold heads", ["", "verbs", *columns], rows)


if __name__ == "__main__":
    main()
