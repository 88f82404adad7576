"""A person's corrections from words without tags to a treebank: a simulated annotator corrects towards gold.

    python benchmarks/annotate_raw.py --language eu eu-ud-dev.conllu --rows rows.jsonl

At first nobody has tagged or parsed anything: the program has the words of --text sentences, and knows marks
by their letters. In the order of the file the annotator changes every wrong tag of a sentence, then its wrong
heads from the first word on, and the rest is parsed again around each; then the relations. The program learns
after 1, 2, 5 and 10 sentences and then after every --every: to tag, from the tagged sentences and all raw
ones; to parse, from the text with the tags that the tagger gives it, and the confirmed trees. Before it has
learnt to tag, the parser knows the present sentence alone. The parser knows no other language.

Tags count for all words, heads and relations for all but punctuation, relations by their universal part.
Features, lemmas and the file's own tags are not used. "by hand" is one change a word, tags of marks aside.
Rows that are in --rows are not measured again.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from annotate import STEP, corrected, wrong_labels
from measuring import add_json_rows, argument_parser, conditions, json_rows, print_table

from dynet_vdgi.conllu.punctuation import is_mark, without_punctuation
from dynet_vdgi.conllu.reading import read
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.page.learn import arc_lessons, tag_lessons
from dynet_vdgi.page.learn.arc_lessons import Course, Learnt
from dynet_vdgi.page.text.marked import NOTHING
from dynet_vdgi.words.tagger.tagger import Tagger

EARLY = 1, 2, 5
"""Numbers of sentences after which the program learns before the first --every."""

KINDS = {"tags": "tags", "heads": "heads", "labels": "relations"}

Row = dict[str, Any]


class RawText:
    """The words of a treebank, and what somebody has said about its first sentences."""

    def __init__(self, path: str, count: int) -> None:
        whole = [s for s in read(path, heads="required") if len(without_punctuation(s)[0]) > 1][:count]
        self.gold = [Sentence(s.forms, s.tags, heads=s.heads, deprels=s.deprels) for s in whole]
        self.guessed = [replace(_untold(s), tags=tuple(map(_known, s.forms))) for s in self.gold]
        self.course = Course.of("few-trees")

    def learn(self, done: int) -> Learnt | None:
        """Learns from the first sentences, and tags the others; None: there is no tagger yet."""
        told = {k: _untold(gold) for k, gold in enumerate(self.gold)}
        for k in range(done, len(told)):
            told[k] = replace(told[k], tags=(NOTHING,) * len(told[k]))
        tagger: Tagger | None = tag_lessons.learn_tags(told, range(done)) if done else None
        if tagger is None:
            return None
        for k, guess in tag_lessons.tag_guesses(tagger, told).items():
            marks = map(_known, told[k].forms)
            tags = tuple([tag if mark == NOTHING else mark for mark, tag in zip(marks, guess.tags)])
            self.guessed[k] = replace(told[k], tags=tags)
        text = [without_punctuation(s)[0] for s in [*map(_untold, self.gold[:done]), *self.guessed[done:]]]
        trees = [without_punctuation(s)[0] for s in self.gold[:done]]
        return self._parser(text, trees)

    def _parser(self, text: Sequence[Sentence], trees: Sequence[Sentence]) -> Learnt | None:
        knowledge = arc_lessons.knowledge_of(text, self.course)
        return arc_lessons.learn(knowledge, trees) if knowledge is not None else None

    def counts(self, learnt: Learnt | None, k: int) -> Row:
        """The changes in one sentence."""
        gold, _ = without_punctuation(self.gold[k])
        bare = _untold(gold)
        learnt = learnt or self._parser([bare], [])
        return {
            "words": len(gold),
            "hand": len(gold) * 2 + sum(not is_mark(form) for form in self.gold[k].forms),
            "tags": sum(a != b for a, b in zip(self.guessed[k].tags, self.gold[k].tags)),
            "heads": corrected(learnt, bare, gold) if learnt else len(gold),
            "labels": wrong_labels(learnt.labeller.predict([gold])[0].deprels, gold) if learnt else len(gold),
        }


def _known(form: str) -> str:
    """The tag of a mark, which the page knows; `_` of a word."""
    return "PUNCT" if is_mark(form) else NOTHING


def _untold(sentence: Sentence) -> Sentence:
    return replace(sentence, heads=None, deprels=())


def annotated(name: str, text: RawText, count: int, every: int) -> Iterator[Row]:
    """One row per sentence, in the order of the file."""
    learnt = None
    for k in range(min(count, len(text.gold))):
        start = time.process_time()
        is_due = k % every == 0 or (k in EARLY and k < every)
        learnt = text.learn(k) if is_due else learnt
        seconds = time.process_time() - start if is_due else None
        row = {"language": name, "number": k + 1, **text.counts(learnt, k)}
        yield row if seconds is None else {**row, "learning_s": round(seconds, 2)}


def print_tables(rows: Sequence[Row], languages: Sequence[str], count: int) -> None:
    """Changes a sentence by fifties, mean of the languages and for each."""
    starts = range(0, count, STEP)
    header = ["", *(f"{start + 1}-{min(count, start + STEP)}" for start in starts), "all"]

    def line(title: str, names: Sequence[str], keys: Sequence[str]) -> list[str]:
        def mean(first: int, last: int) -> str:
            parts = [
                [sum(r[key] for key in keys) for r in rows if r["language"] == n and first < r["number"] <= last]
                for n in names
            ]
            return f"{statistics.mean(statistics.mean(part) for part in parts if part):.2f}"

        return [title, *(mean(start, start + STEP) for start in starts), mean(0, count)]

    kinds = [line(title, languages, [key]) for key, title in KINDS.items()]
    whole = [line("together", languages, [*KINDS]), line("by hand", languages, ["hand"])]
    print_table("Changes a sentence, mean of the languages", header, [*kinds, *whole])
    each = [line(name, [name], [*KINDS]) for name in languages]
    print_table("Changes a sentence, together", header, each)
    lines = []
    for name in languages:
        mine = [r for r in rows if r["language"] == name and r["number"] <= count]
        sums = [sum(r[key] for r in mine) for key in (*KINDS, "hand")]
        n_tags = sums[3] - 2 * sum(r["words"] for r in mine)
        shares = [100 * part / whole for part, whole in zip(sums, (n_tags, *[sum(r["words"] for r in mine)] * 2))]
        times = [r["learning_s"] for r in mine if "learning_s" in r]
        lines.append(
            [name, *(f"{share:.1f}" for share in shares), f"{100 * sum(sums[:3]) / sums[3]:.1f}",
             f"{statistics.median(times):.1f}", f"{max(times):.1f}"]
        )  # fmt: skip
    header = ["", *KINDS.values(), "together", "CPU s a lesson", "at most"]
    print_table("Changes, % of those by hand", header, lines)


def main() -> None:
    """Measures the missing rows, and prints the tables."""
    parser = argument_parser(__doc__)
    parser.add_argument("--language", nargs=2, action="append", required=True, metavar=("NAME", "TREES"))
    parser.add_argument("--sentences", type=int, default=300)
    parser.add_argument("--text", type=int, default=600, help="sentences of the text, annotated or not")
    parser.add_argument("--every", type=int, default=10, help="sentences between two lessons")
    parser.add_argument("--rows", type=Path, required=True, help="file of measured rows, JSON a line; is added to")
    arguments = parser.parse_args()
    rows = json_rows(arguments.rows)
    at_start = conditions()
    for name, file in arguments.language:
        if not any(row["language"] == name for row in rows):
            text = RawText(file, arguments.text)
            for row in annotated(name, text, arguments.sentences, arguments.every):
                rows.append(row)
                add_json_rows(arguments.rows, [row])
    print(at_start)
    print_tables(rows, [name for name, _ in arguments.language], arguments.sentences)


if __name__ == "__main__":
    main()
