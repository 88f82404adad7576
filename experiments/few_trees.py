"""Accuracy from no trees to a thousand: this learner, the trees alone, and UDPipe 1 with the same
trees.

    python experiments/few_trees.py --list experiments/lists/ud2.csv --set choose --data DIR --rows
    rows.jsonl

A language's file of gold trees is also its text: the k trees are the first of a shuffle, and
learning from the text does not use its trees. Rows that are in --rows are not measured again, so
the script can be interrupted. Without trees this is `best`, `vdgi train --preset best --train
TEXT`; its time to learn is the total. UDPipe is included if `ufal.udpipe` can be imported; it
learns from the sentences with punctuation.

The system `universal` starts from a universal parser instead of the rule table. --universal names
its model file; {} stands for the language, so that each can have a parser that has seen none of its
relatives. The system `relations` measures the relations of `universal`, and those of a labeller
that starts from the table. With --scored text, half of the sentences of each text, at random, are
the text, and the others are scored.
"""

from __future__ import annotations

import argparse
import copy
import random
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import udpipe
from languages import LIMITS, Listed, calibration_error, dda, file_list_parser, listed
from measuring import add_json_rows, conditions, json_rows, print_table

import dynet_vdgi as vdgi
from dynet_vdgi.conllu.punctuation import without_punctuation
from dynet_vdgi.conllu.reading import read
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.conllu.tree_faults import FREE
from dynet_vdgi.few_trees.word_perceptron import WordPerceptron
from dynet_vdgi.relations.label_table import load as load_labels
from dynet_vdgi.relations.labeller import Labeller
from dynet_vdgi.relations.ud_relations import relation_of
from dynet_vdgi.rule_tables.prior import Prior
from dynet_vdgi.rule_tables.rules import load_rules
from dynet_vdgi.settings.bundled import rules_path
from dynet_vdgi.settings.settings import DmvSettings, TeacherSettings
from dynet_vdgi.training.few_trees import FewTrees, FewTreesSettings
from dynet_vdgi.training.taught import teacher_of_kind
from dynet_vdgi.training.universal_teacher import UniversalTeacherSettings

LONGEST_TREE = 80

Row = dict[str, Any]
System = Callable[["Language", Sequence["Pair"]], Row]


@dataclass(frozen=True)
class Pair:
    """A sentence as in the file, and without its punctuation."""

    whole: Sentence
    bare: Sentence


class Language:
    """Text, gold trees in the order of a shuffle, test sentences, and models learnt without
    trees."""

    def __init__(
        self, files: Listed, rules: str, shuffle: int, both: bool = False, universal: str = ""
    ) -> None:
        self.name, self.both, self.rules = files.name, both, rules
        self.universal = universal.format(files.name)
        gold, test = pairs(files.text), pairs(files.scored)
        if files.scored == files.text:
            random.Random(0).shuffle(gold)
            gold, test = gold[::2], gold[1::2]
        self.text = [pair.bare for pair in gold]
        random.Random(shuffle).shuffle(gold)
        self.gold, self.test = gold, test
        start = time.process_time()
        self.prior = Prior.of_text(load_rules(rules_path(rules)), self.text)
        self.measuring_s = time.process_time() - start
        self._teach(DmvSettings())

    def _teach(self, teacher: TeacherSettings) -> None:
        start = time.process_time()
        self.settings = FewTreesSettings(teacher=teacher, rules=self.rules)
        several = [s for s in self.text if len(s) > 1]
        taught = teacher_of_kind(teacher, 1).fit(several, self.prior)
        self.base = taught.start(several, self.prior)
        self.text = [s for s in several if len(s) <= 40]
        self.votes = taught.marginals(self.text)
        self.teaching_s = self.measuring_s + time.process_time() - start

    @cached_property
    def from_universal(self) -> Language:
        """The language with a universal parser as its teacher."""
        other = copy.copy(self)
        other._teach(UniversalTeacherSettings(model=self.universal))
        return other

    def learnt(self, trees: Sequence[Sentence]) -> FewTrees:
        """The learner of the recipe few-trees, after it has learnt from the text and these
        trees."""
        return self.settings.learner().fit(self.text, trees, self.base, self.votes)

    def labeller(self, trees: Sequence[Sentence], *, of_table: bool = False) -> Labeller:
        """A labeller that has learnt from these trees, as the recipe's or from the table alone."""
        labeller = Labeller(load_labels(), log_p=None if of_table else self.base.log_p)
        usual = [tree for tree in trees if len(tree) <= LONGEST_TREE]
        return labeller.fit(usual, verb_order=self.prior.text.verb_order)

    def figures(self, learner: FewTrees, trees: Sequence[Sentence]) -> Row:
        """Accuracies of the parser; if `both`, also of the CRF of a student, or of the student of a
        CRF."""
        test = [pair.bare for pair in self.test]
        row = accuracies("", test, learner.predict(test))
        if self.both and learner.student:
            row |= accuracies("exact ", test, replace(learner, student=None).predict(test))
        elif self.both:
            fast = learner.with_student(self.settings.student(), self.text, trees, self.votes)
            row |= accuracies("fast ", test, fast.predict(test))
        return row


def pairs(paths: Iterable[Path]) -> list[Pair]:
    """The sentences of files, except those of punctuation only."""
    every_pair = [
        Pair(whole, without_punctuation(whole)[0]) for path in paths for whole in read(path)
    ]
    return [pair for pair in every_pair if len(pair.bare)]


def this(language: Language, gold: Sequence[Pair]) -> Row:
    """The learner with labels and confidence."""
    if not gold:
        return without_trees(language)
    trees = [pair.bare for pair in gold]
    began = time.process_time()
    learner = language.learnt(trees)
    learnt = time.process_time()
    test = [pair.bare for pair in language.test]
    parses = learner.confidences(test)
    parsed = time.process_time()
    heads = [tree for tree, _ in parses]
    right = np.concatenate([np.equal(s.heads, tree.heads) for s, tree in zip(test, heads)])
    labeller = language.labeller(trees)
    return {
        **(language.figures(learner, trees) if language.both else accuracies("", test, heads)),
        **label_figures(test, labeller.predict(heads), labeller.predict(test)),
        "ece": round(
            100 * calibration_error(np.concatenate([sure for _, sure in parses]), right), 2
        ),
        "learning_s": round(learnt - began, 2),
        "teaching_s": round(language.teaching_s, 2),
        "words_per_s": round(sum(map(len, test)) / (parsed - learnt)),
    }


def from_universal(language: Language, gold: Sequence[Pair]) -> Row:
    """The learner that starts from a universal parser."""
    return this(language.from_universal, gold)


def relations(language: Language, gold: Sequence[Pair]) -> Row:
    """Relations in the trees of `from_universal`, also of a labeller that starts from the table
    alone."""
    other, trees = language.from_universal, [pair.bare for pair in gold]
    test = [pair.bare for pair in language.test if len(pair.bare) <= LIMITS[-1]]
    heads = other.settings.learner().fit([], trees, other.base).predict(test)
    row = accuracies("", test, heads)
    for prefix, of_table in (("", False), ("table ", True)):
        labeller = other.labeller(trees, of_table=of_table)
        figures = label_figures(test, labeller.predict(heads), labeller.predict(test))
        row |= {prefix + name: figure for name, figure in figures.items()}
    return row


def without_trees(language: Language) -> Row:
    """The parser that the preset best learns from the text alone; with a universal parser its exact
    trees."""
    began = time.process_time()
    text = [replace(pair.whole, heads=None) for pair in language.gold]
    teacher = language.settings.teacher
    settings = {"teacher": msgspec.to_builtins(teacher)}
    parser = vdgi.train(text, "best", rules=language.rules, settings=settings)
    learnt = time.process_time()
    whole = [replace(pair.whole, heads=None) for pair in language.test]
    is_universal = isinstance(teacher, UniversalTeacherSettings)
    parses = parser.parse_all(whole, vdgi.How(exact=is_universal))
    parsed = time.process_time()
    heads = [
        without_punctuation(replace(s, heads=parse.heads))[0] for s, parse in zip(whole, parses)
    ]
    test = [pair.bare for pair in language.test]
    labeller = language.labeller([])
    row = {}
    if language.both and is_universal:
        trees = [replace(s, heads=parse.heads) for s, parse in zip(whole, parser.parse_all(whole))]
        row = accuracies("fast ", test, [without_punctuation(tree)[0] for tree in trees])
    return {
        **row,
        **accuracies("", test, heads),
        **label_figures(test, labeller.predict(heads), labeller.predict(test)),
        "learning_s": round(learnt - began, 2),
        "words_per_s": round(sum(map(len, test)) / (parsed - learnt)),
    }


def half_blanked(language: Language, gold: Sequence[Pair]) -> Row:
    """The learner, from the same trees with half of their heads removed at random."""
    rng = random.Random(7)
    partial = [
        replace(pair.bare, heads=tuple(FREE if rng.random() < 0.5 else h for h in pair.bare.heads))
        for pair in gold
    ]
    return language.figures(language.learnt(partial), partial)


def half_of_trees(language: Language, gold: Sequence[Pair]) -> Row:
    """The learner, from half of the trees, which have as many heads as the partial ones."""
    trees = [pair.bare for pair in gold[: len(gold) // 2]]
    return language.figures(language.learnt(trees), trees)


def trees_only(language: Language, gold: Sequence[Pair]) -> Row:
    """A linear-time parser of tags that learns only from the trees."""
    trees = [pair.bare for pair in gold if 2 <= len(pair.bare) <= LONGEST_TREE]
    student = WordPerceptron(feats=False, words=False, orders=1).fit(
        [replace(tree, gaps=()) for tree in trees]
    )
    test = [pair.bare for pair in language.test]
    return accuracies("", test, student.predict([replace(s, gaps=()) for s in test]))


def by_udpipe(language: Language, gold: Sequence[Pair]) -> Row:
    """UDPipe 1 with its own settings."""
    began = time.process_time()
    model = udpipe.loaded(
        udpipe.train("".join(udpipe.conllu(pair.whole) for pair in gold), parser="")
    )
    learnt = time.process_time()
    whole = [pair.whole for pair in language.test]
    parsed = [
        without_punctuation(replace(sentence, heads=heads))[0]
        for sentence, (heads, _) in zip(whole, udpipe.parse(model, whole))
    ]
    bare = [pair.bare for pair in language.test]
    return {**accuracies("", bare, parsed), "learning_s": round(learnt - began, 2)}


def accuracies(prefix: str, test: Sequence[Sentence], parsed: Sequence[Sentence]) -> Row:
    """DDA in per cent, by longest sentence."""
    figures = dda(test, [tree.heads or () for tree in parsed])
    return {f"{prefix}{limit}": round(figure, 2) for limit, figure in zip(LIMITS, figures)}


def label_figures(
    test: Sequence[Sentence], labelled: Sequence[Sentence], on_gold: Sequence[Sentence]
) -> Row:
    """LAS, and label accuracy on gold heads, without subtypes, in per cent; sentences of up to 40
    words."""
    n_words = both = labels = 0
    for sentence, parsed, gold in zip(test, labelled, on_gold):
        if len(sentence) > LIMITS[-1]:
            continue
        n_words += len(sentence)
        for d, relation in enumerate(map(relation_of, sentence.deprels)):
            both += (
                parsed.heads[d] == sentence.heads[d] and relation_of(parsed.deprels[d]) == relation
            )
            labels += relation_of(gold.deprels[d]) == relation
    return {"las": round(100 * both / n_words, 2), "labels": round(100 * labels / n_words, 2)}


SYSTEMS: dict[str, System] = {
    "this": this,
    "universal": from_universal,
    "relations": relations,
    "partial": half_blanked,
    "half of the trees": half_of_trees,
    "trees only": trees_only,
    "UDPipe": by_udpipe,
}
WITHOUT_TREES = ("this", "universal")
"""Systems that need no tree of the language."""


def measured(arguments: argparse.Namespace) -> list[Row]:
    """All rows, first those of the file; new ones are added to it one by one."""
    rows = json_rows(arguments.rows)
    measured_before = {key_of(row) for row in rows}
    languages = listed(arguments)
    for shuffle in range(1, arguments.shuffles + 1):
        for files in languages:
            language = None
            for k in arguments.trees:
                for system in arguments.systems:
                    row = {"language": files.name, "k": k, "shuffle": shuffle, "system": system}
                    if key_of(row) in measured_before or (k == 0 and system not in WITHOUT_TREES):
                        continue
                    language = language or Language(
                        files, arguments.rules, shuffle, arguments.both, arguments.universal
                    )
                    if k > len(language.gold):
                        continue
                    row.update(SYSTEMS[system](language, language.gold[:k]))
                    rows.append(row)
                    add_json_rows(arguments.rows, [row])
    return rows


def key_of(row: Row) -> tuple[Any, ...]:
    """The key of a row."""
    return tuple(row[name] for name in ("language", "k", "shuffle", "system"))


def print_tables(rows: Sequence[Row], arguments: argparse.Namespace) -> None:
    """Means over languages, then every language, then the measurements of this learner only."""
    trees, languages = arguments.trees, [files.name for files in listed(arguments)]
    header = ["", *(f"k = {k}" for k in trees)]
    wanted = {(name, k) for name in languages for k in trees}
    rows = [
        row
        for row in rows
        if (row["language"], row["k"]) in wanted and row["shuffle"] <= arguments.shuffles
    ]
    print_table(
        f"DDA, test <={LIMITS[0]}/<={LIMITS[1]}, mean of the languages",
        header,
        [line for system in arguments.systems for line in mean_lines(rows, system, trees)],
    )
    for system in arguments.systems:
        lines = [[name, *(cell(rows, system, k, "", name) for k in trees)] for name in languages]
        print_table(f"{system}, by language", header, lines)
    for system in WITHOUT_TREES:
        if system in arguments.systems:
            print_table(
                f"{system}: labels, speed; means", header, detail_lines(rows, system, trees)
            )


def draw(rows: Sequence[Row], arguments: argparse.Namespace) -> None:
    """Learning curves: mean DDA of the languages, by the number of trees."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 4), layout="constrained")
    for system, style in zip(arguments.systems, ("-", "--", "-.", ":")):
        for limit, marker in zip(LIMITS, ("o", "s")):
            points = []
            for k in arguments.trees:
                languages = by_language(rows, system, k)
                values = [statistics.mean(row[str(limit)] for row in mine) for mine in languages]
                points += [(k, statistics.mean(values))] if values else []
            label = f"{system}, up to {limit} words"
            axes.plot(*zip(*points), style, marker=marker, label=label)
    axes.set_xscale("symlog", linthresh=10)
    axes.set_xticks(arguments.trees, [str(k) for k in arguments.trees])
    axes.set_xlabel("gold trees")
    axes.set_ylabel("words with the correct head, %")
    axes.legend()
    picture = arguments.picture
    figure.savefig(picture, metadata={"Date": None} if picture.endswith(".svg") else {})


def mean_lines(rows: Sequence[Row], system: str, trees: Sequence[int]) -> list[list[str]]:
    """A system's line, and one of its exact or fast parser if it has one."""
    lines = [[system, *(cell(rows, system, k) for k in trees)]]
    for other in ("exact", "fast"):
        if any(row["system"] == system and f"{other} 15" in row for row in rows):
            lines.append(
                [f"{system}, {other}", *(cell(rows, system, k, f"{other} ") for k in trees)]
            )
    return lines


def cell(
    rows: Sequence[Row], system: str, k: int, prefix: str = "", name: str | None = None
) -> str:
    """Both means, of one language, or of all with a row."""
    values = [
        [statistics.mean(row[f"{prefix}{limit}"] for row in mine) for limit in LIMITS]
        for mine in by_language(rows, system, k, name)
        if f"{prefix}{LIMITS[0]}" in mine[0]
    ]
    if not values:
        return "-"
    return "/".join(f"{statistics.mean(column):.1f}" for column in zip(*values))


def detail_lines(rows: Sequence[Row], system: str, trees: Sequence[int]) -> list[list[str]]:
    """LAS and so on, by number of trees."""
    names = {
        "las": "LAS, <=40",
        "labels": "labels on gold heads",
        "ece": "calibration error, %",
        "learning_s": "learning, CPU s",
        "teaching_s": "teacher and table, CPU s",
        "words_per_s": "words parsed a CPU s",
    }
    return [
        [
            title,
            *(
                shown(
                    row[name]
                    for mine in by_language(rows, system, k)
                    for row in mine
                    if name in row
                )
                for k in trees
            ),
        ]
        for name, title in names.items()
    ]


def by_language(
    rows: Sequence[Row], system: str, k: int, name: str | None = None
) -> list[list[Row]]:
    """The rows of one system and k, grouped by language."""
    chosen: dict[str, list[Row]] = {}
    for row in rows:
        if row["system"] == system and row["k"] == k and name in (None, row["language"]):
            chosen.setdefault(row["language"], []).append(row)
    return list(chosen.values())


def shown(values: Iterable[float]) -> str:
    """The mean for a table."""
    numbers = list(values)
    return f"{statistics.mean(numbers):.1f}" if numbers else "-"


def main() -> None:
    """Measures the missing rows, and prints the tables."""
    parser = file_list_parser(__doc__)
    parser.set_defaults(scored="test")
    parser.add_argument("--trees", type=int, nargs="+", default=[0, 3, 10, 30, 100, 300, 1000])
    parser.add_argument("--shuffles", type=int, default=3)
    parser.add_argument(
        "--systems", nargs="+", choices=list(SYSTEMS), default=["this", "trees only", "UDPipe"]
    )
    parser.add_argument("--rules", default="best")
    parser.add_argument(
        "--universal", default="", help="model file of a universal parser; {}: the language"
    )
    parser.add_argument(
        "--both", action="store_true", help="also parse with the CRF, or with its student"
    )
    parser.add_argument(
        "--rows", type=Path, required=True, help="file of measured rows, JSON a line; is added to"
    )
    parser.add_argument("--picture", help="draw learning curves into this file, such as curves.svg")
    arguments = parser.parse_args()
    if "UDPipe" in arguments.systems and not udpipe.is_installed():
        print("UDPipe is left out: `ufal.udpipe` cannot be imported")
        arguments.systems.remove("UDPipe")
    if "universal" in arguments.systems and not arguments.universal:
        parser.error("the system universal needs --universal FILE")
    at_start = conditions()
    rows = measured(arguments)
    print(at_start)
    print_tables(rows, arguments)
    if arguments.picture:
        draw(rows, arguments)


if __name__ == "__main__":
    main()
