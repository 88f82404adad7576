"""Accuracy of attached punctuation: on gold heads of words, and in parses of the preset best.

    python benchmarks/punctuation.py --list benchmarks/lists/ud2.csv --data DIR --out rows.csv
    python benchmarks/punctuation.py --out rows.csv --table

Trees of the text are not read. For each treebank: the number of the test's punctuation marks with their gold
head, if the other words have theirs; the number of these arcs that cross an arc of the other words, including
the root's; and UAS and LAS of every word, as the official scorer has them, in the trees of a parser that
learnt from the text. Each is given for the old rule, which attached punctuation to the head of the innermost
arc over it, or else to the root, and for the present rule. Existing rows are not made again.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy is imported

import numpy as np
from languages import Listed, file_list_parser, listed
from measuring import conditions, csv_rows, write_csv

import dynet_vdgi
from dynet_vdgi.conllu import reading
from dynet_vdgi.conllu.punctuation import heads_without, restore_punctuation, without_punctuation
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.evaluation.attachment import SentenceTally, score_sentence

FIGURES = ("gold heads", "crossing", "UAS", "LAS")
FIELDS = ("set", "language", "sentences", "marks", *(f"{rule} {f}" for f in FIGURES for rule in "ab"))
"""a: the old rule, b: the present rule."""

Heads = Sequence[int]
Rule = Callable[[Heads, Sequence[int], Sequence[str]], Heads]


def innermost(kept_heads: Heads, positions: Sequence[int], forms: Sequence[str]) -> Heads:
    """Heads of all words by the old rule."""
    if not positions:
        return [min(k, 1) for k in range(len(forms))]
    tree = {word: positions[head - 1] if head else 0 for word, head in zip(positions, kept_heads)}
    root = positions[list(kept_heads).index(0)]
    heads = []
    for word in range(1, len(forms) + 1):
        over = [
            (abs(head - dependent), min(head, dependent), head)
            for dependent, head in tree.items()
            if head and min(head, dependent) < word < max(head, dependent)
        ]
        heads.append(tree.get(word, min(over)[2] if over else root))
    return heads


RULES: dict[str, Rule] = {"a": innermost, "b": restore_punctuation}


def crossing(heads: Heads, positions: Sequence[int]) -> int:
    """Number of arcs of other words that cross an arc at the positions."""
    arcs = [sorted((word, heads[word - 1])) for word in positions]
    marks = (sorted((m, head)) for m, head in enumerate(heads, 1) if m not in set(positions))
    return sum(any(a < c < b < d or c < a < d < b for c, d in arcs) for a, b in marks) if positions else 0


def of_gold(gold: Sequence[Sentence], rule: Rule) -> tuple[int, int]:
    """Number of marks with their gold head, and of marks that cross other arcs, on gold heads of words."""
    right = crosses = 0
    for sentence in gold:
        assert sentence.heads is not None
        positions = without_punctuation(sentence)[1]
        heads = rule(heads_without(sentence.heads, positions), positions, sentence.forms)
        kept = set(positions)
        right += sum(a == b for k, (a, b) in enumerate(zip(heads, sentence.heads), 1) if k not in kept)
        crosses += crossing(heads, positions)
    return right, crosses


def of_parsed(gold: Sequence[Sentence], parsed: Sequence[Sentence], rule: Rule) -> SentenceTally:
    """Scores of parses after their punctuation is attached again."""
    tally = SentenceTally()
    for sentence, parse in zip(gold, parsed):
        assert parse.heads is not None
        positions = without_punctuation(sentence)[1]
        heads = rule(heads_without(parse.heads, positions), positions, sentence.forms)
        tally += score_sentence(sentence, tuple(heads), parse.deprels)
    return tally


def row(bank: Listed) -> dict[str, object]:
    """The figures of one treebank."""
    text = [s for path in bank.text for s in reading.read(path, heads="ignored")]
    gold = [s for path in bank.scored for s in reading.read(path, heads="required")]
    parsed = list(dynet_vdgi.train(text, "best").pipe(gold))
    n_marks = sum(len(s) - len(without_punctuation(s)[1]) for s in gold)
    found: dict[str, object] = {"set": bank.set, "language": bank.name}
    found |= {"sentences": len(gold), "marks": n_marks}
    for name, rule in RULES.items():
        right, crosses = of_gold(gold, rule)
        tally = of_parsed(gold, parsed, rule)
        assert tally.labelled is not None
        figures = right / max(n_marks, 1), tally.directed / tally.words, tally.labelled / tally.words
        shares = [f"{100 * figure:.2f}" for figure in figures]
        found |= {f"{name} {f}": x for f, x in zip(FIGURES, (shares[0], crosses, *shares[1:]))}
    return found


def table(rows: Sequence[dict[str, str]]) -> Iterator[str]:
    """A Markdown table: treebanks and means, before / after; on gold heads only if there are marks."""
    yield "| treebank | punctuation | gold heads | crossing | UAS | LAS |"
    yield "|---" * 6 + "|"
    sets = dict.fromkeys(r["set"] for r in rows)
    groups = [(r["language"], [r]) for r in rows]
    groups += [(f"**{name}**", [r for r in rows if r["set"] == name]) for name in sets]
    groups += [("**all**", list(rows))]
    for name, group in groups:
        cells = [f"{sum(int(r['marks']) for r in group):,}"]
        for figure in FIGURES:
            with_figure = [r for r in group if figure != "gold heads" or int(r["marks"])]
            each = [[float(r[f"{rule} {figure}"]) for r in with_figure] for rule in RULES]
            if not with_figure:
                cells.append("-")
                continue
            numbers = [np.sum(e) if figure == "crossing" else np.mean(e) for e in each]
            cells.append(" / ".join(f"{x:,.0f}" if figure == "crossing" else f"{x:.1f}" for x in numbers))
        yield f"| {name} ({len(group)}) | {' | '.join(cells)} |".replace(" (1)", "", len(group) == 1)


def main() -> None:
    """Makes the rows that are missing, and prints the table of all."""
    parser = file_list_parser(__doc__)
    parser.set_defaults(scored="test")
    parser.add_argument("--out", type=Path, required=True, help="rows, CSV; those there are not made again")
    parser.add_argument("--table", action="store_true", help="print the table of the rows, train nothing")
    arguments = parser.parse_args()
    print(conditions())
    rows = csv_rows(arguments.out)
    done = {(r["set"], r["language"]) for r in rows}
    for bank in () if arguments.table else listed(arguments):
        if (bank.set, bank.name) not in done:
            rows.append({key: str(value) for key, value in row(bank).items()})
            write_csv(arguments.out, FIELDS, rows)
            print(*rows[-1].values(), file=sys.stderr, flush=True)
    print("\n" + "\n".join(table(rows)))


if __name__ == "__main__":
    main()
