"""A person's corrections during annotation: a simulated annotator corrects towards gold trees.

    python experiments/annotate.py --language eu eu-ud-dev.conllu --rows rows.jsonl

It corrects as in `vdgi annotate`: the first wrong head of the sentence, after which the rest is
parsed again around the confirmed arcs, and so on; then the labels. After every ten sentences the
parser learns anew. The script counts the heads and labels changed, of all words but punctuation,
and compares them with

* "never learns": correcting the parse that the preset of --reference makes without any tree;
* "learns, parses once": as this program, but a correction does not affect the rest of its sentence;
* "UDPipe": UDPipe 1 trained on the corrected sentences at the moments of --udpipe, by hand before
  the first;
* "by hand": every word's head and label is set.

Only the universal part of a label counts. Labels are compared once the heads are right; UDPipe's
labels are from its parse. `--only-labels` counts no heads, which saves nearly all of the time. Rows
that are in the file are not measured again, so the script can be interrupted. In --preset {} stands
for the language, so that each can start from a universal parser that knows none of its relatives.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import udpipe
from measuring import add_json_rows, argument_parser, conditions, json_rows, print_table

from dynet_vdgi.conllu.punctuation import without_punctuation
from dynet_vdgi.conllu.reading import read
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.page.learn import arc_lessons
from dynet_vdgi.page.learn.arc_lessons import Knowledge, Learnt
from dynet_vdgi.page.text import changes
from dynet_vdgi.page.text.sentence_blocks import read_text
from dynet_vdgi.relations.label_table import load as load_labels
from dynet_vdgi.relations.labeller import Labeller
from dynet_vdgi.relations.ud_relations import relation_of

ORDERS = ("document", "choose")
SYSTEMS = {
    "heads": "this program",
    "once": "learns, parses once",
    "never": "never learns",
    "udpipe": "UDPipe",
    "words": "by hand",
}
LABEL_SYSTEMS = {"labels": "this program", "udpipe_labels": "UDPipe", "words": "by hand"}
STEP = 50
"""Number of sentences per column of the tables."""

Row = dict[str, Any]


class Text:
    """A treebank to annotate: the program's input, and the gold trees."""

    def __init__(self, path: str, preset: str = "few-trees", reference: str = "few-trees") -> None:
        self.whole = [s for s in read(path, heads="required") if len(without_punctuation(s)[0]) > 1]
        self.gold = [without_punctuation(s)[0] for s in self.whole]
        self.bare = [replace(s, heads=None, deprels=()) for s in self.gold]
        self.knowledge = self._knowledge_of(preset)
        self.never = self.knowledge if preset == reference else self._knowledge_of(reference)

    @cached_property
    def without_trees(self) -> Learnt:
        return arc_lessons.learn(self.never, [])

    def _knowledge_of(self, preset: str) -> Knowledge:
        knowledge = arc_lessons.knowledge_of(self.bare, arc_lessons.Course.of(preset))
        assert knowledge is not None
        return knowledge


def corrected(learnt: Learnt, bare: Sentence, gold: Sentence) -> int:
    """Number of heads that a person changes, from the first word to the last, to reach the gold
    tree."""
    rows = (
        f"{k}\t{form}\t_\t{tag}" + "\t_" * 6
        for k, (form, tag) in enumerate(zip(bare.forms, bare.tags), 1)
    )
    (marked,) = read_text("\n".join(rows) + "\n\n", "bare")
    marked.put(learnt.guess(replace(marked.confirmed_sentence(), gaps=bare.gaps)))
    n_changed = 0
    while marked.heads != gold.heads:
        word = next(
            d for d, (h, right) in enumerate(zip(marked.heads, gold.heads), 1) if h != right
        )
        marked.arcs = changes.new_state(marked, "head", word, gold.heads[word - 1], "x").arcs
        marked.put(
            learnt.guess(
                replace(marked.confirmed_sentence(), gaps=bare.gaps), marked.shown_heads(), word
            )
        )
        n_changed += 1
    return n_changed


def wrong_heads(heads: Sequence[int], gold: Sentence) -> int:
    """The number that differ."""
    return sum(head != right for head, right in zip(heads, gold.heads))


def wrong_labels(labels: Sequence[str], gold: Sentence) -> int:
    """The number that differ in their universal part."""
    return sum(relation_of(a) != relation_of(b) for a, b in zip(labels, gold.deprels))


def annotated(text: Text, order: str, count: int, every: int) -> list[Row]:
    """One row per sentence, in the order of annotation."""
    rows: list[Row] = []
    done: list[int] = []
    while len(done) < min(count, len(text.gold)):
        start = time.process_time()
        learnt = arc_lessons.learn(text.knowledge, [text.gold[k] for k in done])
        seconds = time.process_time() - start
        batch = [k for k in range(len(text.gold)) if k not in done]
        if order == "choose":
            guesses = dict(zip(batch, learnt.guesses([text.bare[k] for k in batch])))
            batch = arc_lessons.next_ones(dict(enumerate(text.bare)), guesses, every) or batch
        for k in batch[: min(every, count - len(done))]:
            rows.append({"sentence": k, "learning_s": round(seconds, 2), **counts(text, learnt, k)})
        done += batch[:every]
    return rows


def counts(text: Text, learnt: Learnt, k: int) -> Row:
    """The corrections in one sentence."""
    bare, gold = text.bare[k], text.gold[k]
    return {
        "words": len(gold),
        "heads": corrected(learnt, bare, gold),
        "once": wrong_heads(learnt.guess(bare).heads, gold),
        "never": wrong_heads(text.without_trees.guesses([bare])[0].heads, gold),
        "labels": wrong_labels(learnt.labeller.predict([gold])[0].deprels, gold),
        "never_labels": wrong_labels(text.without_trees.labeller.predict([gold])[0].deprels, gold),
    }


def labeller(knowledge: arc_lessons.Knowledge, trees: Sequence[Sentence]) -> Labeller:
    """What `arc_lessons.learn` learns of labels, without the parser."""
    unfitted = Labeller(load_labels(), log_p=knowledge.base.log_p)
    return unfitted.fit(trees, verb_order=knowledge.prior.text.verb_order)


def labelled(text: Text, count: int, every: int) -> list[Row]:
    """One row per sentence, in the order of the file: the labels changed."""
    rows: list[Row] = []
    never = labeller(text.never, [])
    for start in range(0, min(count, len(text.gold)), every):
        learnt = labeller(text.knowledge, text.gold[:start])
        for k, gold in enumerate(text.gold[start : min(start + every, count)], start):
            rows.append({"sentence": k, "words": len(gold)})
            for name, each in (("labels", learnt), ("never_labels", never)):
                rows[-1][name] = wrong_labels(each.predict([gold])[0].deprels, gold)
    return rows


def add_udpipe(text: Text, rows: Sequence[Row], moments: Sequence[int]) -> None:
    """Adds the corrections to parses of a UDPipe trained on the sentences before."""
    model = None
    for number, row in enumerate(rows):
        if number in moments:
            trees = [udpipe.conllu(text.whole[row["sentence"]]) for row in rows[:number]]
            model = udpipe.loaded(udpipe.train("".join(trees), parser=""))
        row["udpipe"] = row["udpipe_labels"] = row["words"]
        if model is not None:
            whole, gold = text.whole[row["sentence"]], text.gold[row["sentence"]]
            heads, labels = udpipe.parse(model, [whole])[0]
            row["udpipe"] = wrong_heads(
                without_punctuation(replace(whole, heads=heads))[0].heads or (), gold
            )
            row["udpipe_labels"] = wrong_labels(
                [labels[p - 1] for p in without_punctuation(whole)[1]], gold
            )


def measured(arguments: argparse.Namespace) -> list[Row]:
    """All rows, first those of the file; the rows of a language and order are added to it
    together."""
    rows = json_rows(arguments.rows)
    measured_before = {(row["language"], row["order"]) for row in rows}
    for name, file in arguments.language:
        text = None
        for order in arguments.orders:
            if (name, order) in measured_before:
                continue
            text = text or Text(file, arguments.preset.format(name), arguments.reference)
            counted = arguments.sentences, arguments.every
            new = (
                labelled(text, *counted)
                if arguments.only_labels
                else annotated(text, order, *counted)
            )
            if arguments.udpipe and order == "document":
                add_udpipe(text, new, arguments.udpipe)
            new = [
                {"language": name, "order": order, "number": n, **row}
                for n, row in enumerate(new, 1)
            ]
            rows += new
            add_json_rows(arguments.rows, new)
    return rows


def print_tables(rows: Sequence[Row], languages: Sequence[str], count: int) -> None:
    """Changes in per cent of those for a parse that never learns, by language; per sentence, by
    fifties."""
    for order in dict.fromkeys(row["order"] for row in rows):
        mine = [row for row in rows if row["order"] == order and row["language"] in languages]
        systems = {key: title for key, title in SYSTEMS.items() if all(key in row for row in mine)}
        if "never" not in systems:
            systems = {}
        header = ["", "mean", *languages]
        lines = [
            [title, *with_mean([ratio(mine, name, key, "never") for name in languages])]
            for key, title in systems.items()
        ]
        if lines:
            print_table(f"Heads changed, % of never learning; order: {order}", header, lines)
        lines = [
            [title, *with_mean([ratio(mine, name, key, "never_labels") for name in languages])]
            for key, title in LABEL_SYSTEMS.items()
            if all(key in row for row in mine)
        ]
        print_table(f"Labels changed, % of never learning; order: {order}", header, lines)
        print_steps(mine, languages, count, order, systems)


def print_steps(
    rows: Sequence[Row], languages: Sequence[str], count: int, order: str, systems: dict[str, str]
) -> None:
    """Changes per sentence, mean of the languages."""
    starts = range(0, count, STEP)
    header = ["", *(f"{start + 1}-{min(count, start + STEP)}" for start in starts)]
    wanted = {**systems, "labels": "labels, this program", "never_labels": "labels, never learns"}

    def cell(key: str, start: int) -> str:
        parts = [
            [
                row[key]
                for row in rows
                if row["language"] == name and start < row["number"] <= start + STEP
            ]
            for name in languages
        ]
        return f"{statistics.mean(statistics.mean(part) for part in parts if part):.2f}"

    lines = [[title, *(cell(key, start) for start in starts)] for key, title in wanted.items()]
    print_table(f"Changes a sentence, mean of the languages; order: {order}", header, lines)


def draw(rows: Sequence[Row], path: str, count: int) -> None:
    """A picture of the heads changed in each ten sentences, per hundred words, in the order of the
    file."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    mine = [row for row in rows if row["order"] == "document" and row["number"] <= count]
    figure, axes = pyplot.subplots(figsize=(8, 4), layout="constrained")
    styles = {"heads": "-", "once": "--", "never": ":", "udpipe": "-."}
    for key, style in styles.items():
        if all(key in row for row in mine):
            middles = range(5, count, 10)
            parts = [
                [row for row in mine if middle - 5 < row["number"] <= middle + 5]
                for middle in middles
            ]
            shares = [
                100 * sum(r[key] for r in part) / sum(r["words"] for r in part) for part in parts
            ]
            axes.plot(middles, shares, style, label=SYSTEMS[key])
    axes.set_xlabel("sentences annotated")
    axes.set_ylabel("heads changed, per 100 words")
    axes.set_ylim(bottom=0)
    axes.legend()
    figure.savefig(path, metadata={"Date": None} if path.endswith(".svg") else {})


def ratio(rows: Iterable[Row], language: str, key: str, base: str) -> float:
    """The sum of one column, in per cent of another; NaN if nothing had to be changed."""
    mine = [row for row in rows if row["language"] == language]
    whole = sum(row[base] for row in mine)
    return 100 * sum(row[key] for row in mine) / whole if whole else math.nan


def with_mean(values: Sequence[float]) -> list[str]:
    """The mean, then each value."""
    return [f"{value:.1f}" for value in (statistics.mean(values), *values)]


def main() -> None:
    """Measures the missing rows, and prints the tables."""
    parser = argument_parser(__doc__)
    parser.add_argument(
        "--language", nargs=2, action="append", required=True, metavar=("NAME", "TREES")
    )
    parser.add_argument(
        "--preset", default="few-trees", help="settings of few-trees: a name, or a file"
    )
    parser.add_argument(
        "--reference", default="few-trees", help="preset of the parse that never learns"
    )
    parser.add_argument("--orders", nargs="+", choices=ORDERS, default=ORDERS)
    parser.add_argument("--sentences", type=int, default=300)
    parser.add_argument("--every", type=int, default=10, help="sentences between two trainings")
    parser.add_argument(
        "--only-labels", action="store_true", help="count labels only, in the file's order"
    )
    parser.add_argument(
        "--udpipe",
        type=int,
        nargs="*",
        default=[],
        help="numbers of sentences after which UDPipe is trained",
    )
    parser.add_argument(
        "--rows", type=Path, required=True, help="file of measured rows, JSON a line; is added to"
    )
    parser.add_argument("--picture", metavar="FILE", help="draw the changes over time")
    arguments = parser.parse_args()
    if arguments.only_labels:
        arguments.orders = ("document",)
    if arguments.udpipe and not udpipe.is_installed():
        print("UDPipe is left out: `ufal.udpipe` cannot be imported")
        arguments.udpipe = []
    at_start = conditions()
    rows = measured(arguments)
    print(at_start)
    print_tables(rows, [name for name, _ in arguments.language], arguments.sentences)
    if arguments.picture:
        draw(rows, arguments.picture, arguments.sentences)


if __name__ == "__main__":
    main()
