"""Messages of the validator of Universal Dependencies about parses of the treebanks in a list.

For each treebank: a parser learns from the tags of the first sentences of its test file, parses the
whole file, and the validator (the extra `validate`) reads the parse and, for comparison, the file
itself. A message up to level 2, the format of UD, is an error of ours unless the file gets it, too.
Level 3 is about the use of relations; its errors are counted by kind.

    python experiments/validate.py --list experiments/lists/ud2.csv --data DIR --out parses
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from languages import file_list_parser, listed
from measuring import conditions, print_table

import dynet_vdgi as vdgi
from dynet_vdgi.conllu import reading
from dynet_vdgi.parser.file_parser import FileParser
from dynet_vdgi.relations.label_table import load as load_labels
from dynet_vdgi.validation import udtools

LEVEL = 3

Incidents = Counter[tuple[int, str]]


def incidents(path: str | Path) -> Incidents:
    """Counts of the validator's errors, by level and kind."""
    messages = udtools.messages([Path(path).read_text(encoding="utf-8")], level=str(LEVEL))
    return Counter((message.level, message.rule) for message in messages if message.is_error)


def parsed(test: Path, folder: Path, n_sentences: int, labels: str) -> str:
    """The path of a parse of the file; an existing parser is used again."""
    run, output = folder / test.stem, str(folder / test.name)
    if not (run / "model.vdgi").exists():
        text = [
            sentence for sentence, _ in zip(reading.read(test, heads="ignored"), range(n_sentences))
        ]
        vdgi.train(text, "best", out=run)
    parser = vdgi.load(run / "model.vdgi", labels=load_labels(labels))
    FileParser(parser).parse([str(test)], output)
    return output


def below(level: int, incidents: Incidents) -> Incidents:
    """The messages up to a level."""
    return Counter({key: count for key, count in incidents.items() if key[0] <= level})


def shown(incidents: Iterable[tuple[tuple[int, str], int]]) -> str:
    """Kinds with their numbers."""
    return ", ".join(f"{kind} {count}" for (_, kind), count in incidents)


def main() -> None:
    """Parses, validates, prints."""
    parser = file_list_parser(__doc__)
    parser.set_defaults(scored="test")
    parser.add_argument("--out", required=True, type=Path, help="folder for parsers and parses")
    parser.add_argument(
        "--sentences", type=int, default=200, help="to learn from (default: %(default)s)"
    )
    parser.add_argument("--labels", default="ud2", help="table of labels (default: %(default)s)")
    arguments = parser.parse_args()
    at_start = conditions()
    totals, gold_totals, rows, n_words = Counter(), Counter(), [], 0
    for bank in listed(arguments):
        (test,) = bank.scored
        output = parsed(test, arguments.out, arguments.sentences, arguments.labels)
        ours, theirs = incidents(output), incidents(test)
        added = below(LEVEL - 1, ours) - below(LEVEL - 1, theirs)
        size = sum(map(len, reading.read(output)))
        level3, gold3 = (
            Counter({k: c for k, c in side.items() if k[0] == LEVEL}) for side in (ours, theirs)
        )
        totals += level3
        gold_totals += gold3
        n_words += size
        per_100 = [f"{100 * level_counts.total() / size:.2f}" for level_counts in (level3, gold3)]
        rows.append([bank.name, str(size), str(added.total()), *per_100])
        print(bank.name, shown(added.items()) or "level 2: nothing added", flush=True)
    print(at_start)
    added = "errors up to level 2 that the file does not have"
    header = ["", "words", added, "level 3, per 100 words", "in the file"]
    print_table("The validator on parses, and on the files as they are", header, rows)
    kinds = [
        [
            kind,
            str(count),
            f"{100 * count / n_words:.2f}",
            f"{100 * gold_totals[3, kind] / n_words:.2f}",
        ]
        for (_, kind), count in totals.most_common()
    ]
    print_table(
        "Level 3 by kind", ["", "in parses", "per 100 words", "per 100 words in the files"], kinds
    )


if __name__ == "__main__":
    main()
