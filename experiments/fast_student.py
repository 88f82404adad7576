"""What the fast student of a universal parser loses: one text teaches both, and both parse the test
file.

    python experiments/fast_student.py G1.npz=fr,vi G2.npz=eu --data DIR [--text 500 2000] --rows
    rows.csv

Each network has learnt from no relative of its languages. The text is the first sentences of a
shuffle of a language's text file, and of its dev file where that is another one. `exact` is the
universal parser, which has measured this text; `taught` the same with a share of the rule table,
which the students learn from: `universal-fast` is the preset's perceptron of symbols, `words` one
that sees FEATS, forms and punctuation, as after learning from trees. DDA is a percentage, of
sentences of up to 15 and 40 words, without punctuation. Rows that are in --rows are not measured
again.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from languages import Listed, dda, file_list_parser, listed, read
from measuring import conditions, csv_rows, print_table, write_csv
from universal import load, parsed

from dynet_vdgi.few_trees.word_perceptron import WordPerceptron
from dynet_vdgi.rule_tables.prior import Prior
from dynet_vdgi.rule_tables.rules import load_rules
from dynet_vdgi.settings.bundled import rules_path
from dynet_vdgi.training.universal_teacher import UniversalTeacher, UniversalTeacherSettings

LONGEST_SENTENCE = 40
STUDENTS: dict[str, Callable] = {
    "universal-fast": lambda trees: WordPerceptron(feats=False, words=False).fit(trees),
    "words": lambda trees: WordPerceptron().fit(trees),
}
FIELDS = ("language", "text", "system", "dda15", "dda40", "learning_s")


def material(bank: Listed) -> tuple[list, list]:
    """All sentences of a language's text and dev file, shuffled, and its test sentences."""
    (test,) = bank.scored
    dev = test.with_name(test.name.replace("-ud-test", "-ud-dev"))
    text = read(dict.fromkeys([*bank.text, dev]), "ignored")
    text = [s for s in text if 2 <= len(s) <= LONGEST_SENTENCE]
    random.Random(1).shuffle(text)
    return text, read([test], "required", LONGEST_SENTENCE)


def measured(path: Path, text: list, test: list) -> list[tuple]:
    """System, both DDAs and CPU seconds of learning, of each system."""
    scorer, bare = load(path), [replace(s, heads=None, deprels=()) for s in test]
    prior = Prior.of_text(load_rules(rules_path("best")), text)
    start = time.process_time()
    teacher = UniversalTeacher(scorer, UniversalTeacherSettings().table).fit(text, prior)
    silver = teacher.predict(text)
    taught_s = time.process_time() - start
    rows = [
        ("exact", *dda(test, parsed([scorer], text, test)), 0.0),
        ("taught", *dda(test, teacher.heads(bare)), taught_s),
    ]
    for name, learnt in STUDENTS.items():
        start = time.process_time()
        student = learnt(silver)
        seconds = time.process_time() - start
        rows.append((name, *dda(test, [tree.heads for tree in student.predict(bare)]), seconds))
    return rows


def main() -> None:
    """Measures the missing rows, and prints the table."""
    parser = file_list_parser(__doc__)
    parser.set_defaults(scored="test")
    parser.add_argument("models", nargs="+", help="FILE=CODE,CODE,...")
    parser.add_argument(
        "--text", type=int, nargs="+", default=[500, 2000], help="numbers of sentences"
    )
    parser.add_argument("--rows", type=Path, required=True)
    arguments = parser.parse_args()
    at_start = conditions()
    rows = csv_rows(arguments.rows)
    measured_before = {(row["language"], row["text"]) for row in rows}
    codes = []
    for each in arguments.models:
        model, _, names = each.partition("=")
        arguments.languages = names.split(",")
        codes += arguments.languages
        for bank in listed(arguments):
            text, test = material(bank)
            for n in arguments.text:
                if (bank.name, str(n)) in measured_before:
                    continue
                for name, short, long, seconds in measured(Path(model), text[:n], test):
                    values = (
                        bank.name,
                        str(n),
                        name,
                        f"{short:.2f}",
                        f"{long:.2f}",
                        f"{seconds:.1f}",
                    )
                    rows.append(dict(zip(FIELDS, values)))
                write_csv(arguments.rows, FIELDS, rows)
    print(at_start)
    for n in arguments.text:
        mine = [row for row in rows if row["text"] == str(n) and row["language"] in codes]
        lines = []
        for system in dict.fromkeys(row["system"] for row in mine):
            pairs = [[float(r["dda15"]), float(r["dda40"])] for r in mine if r["system"] == system]
            mean = [statistics.mean(column) for column in zip(*pairs)]
            lines.append([system, *("/".join(f"{x:.1f}" for x in pair) for pair in (mean, *pairs))])
        header = ["", "mean", *dict.fromkeys(row["language"] for row in mine)]
        print_table(f"DDA, up to 15/40 words; {n} sentences of text", header, lines)


if __name__ == "__main__":
    main()
