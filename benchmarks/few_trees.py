"""Accuracy from no trees to a thousand: this learner, the trees alone, and UDPipe 1 with the same trees.

    python benchmarks/few_trees.py --list benchmarks/lists/ud2.csv --set choose --data DIR --rows rows.jsonl

A language's file of gold trees is also its text: the k trees are the first of a shuffle, and learning from
the text does not use its trees. Rows that are in --rows are not measured again, so the script can be
interrupted. Without trees this is the default parser, `vdgi train --train TEXT`; its time to learn is the
total. UDPipe is included if `ufal.udpipe` can be imported; it learns from the sentences with punctuation.

The system `universal` starts from a universal parser instead of the rule table. --universal names its model
file; {} stands for the language, so that each can have a parser that has seen none of its relatives.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from languages import Listed, file_list_parser, listed
from measuring import conditions, print_conditions, print_table
from numpy.typing import ArrayLike

import dynet_vdgi as vdgi
from dynet_vdgi.data.conllu import read
from dynet_vdgi.data.protocols import UD_PUNCTUATION
from dynet_vdgi.data.sentence import FREE, Sentence
from dynet_vdgi.data.treebank import without_punctuation
from dynet_vdgi.grammar.prior import Prior
from dynet_vdgi.grammar.rules import load_rules
from dynet_vdgi.labels.label_table import load as load_labels
from dynet_vdgi.labels.label_table import relation_of
from dynet_vdgi.labels.labeller import Labeller
from dynet_vdgi.parsing.confidence import shifted
from dynet_vdgi.recipes.few_trees import FewTreesSettings
from dynet_vdgi.recipes.silver import FewTrees
from dynet_vdgi.recipes.teaching import teacher_of_kind
from dynet_vdgi.recipes.universal_kind import UniversalTeacherSettings
from dynet_vdgi.settings.bundled import rules_path
from dynet_vdgi.settings.config import TeacherSettings
from dynet_vdgi.students.word_perceptron import WordPerceptron
from dynet_vdgi.teachers.arc_crf import ArcCrf
from dynet_vdgi.teachers.dmv_settings import DmvSettings
from dynet_vdgi.teachers.transfer import start_weights, trigrams

LIMITS = (15, 40)
LONGEST_TREE = 80
SOURCE_TREES = 400  # trees of each other language, for a start from these treebanks

Row = dict[str, Any]
System = Callable[["Language", Sequence["Pair"]], Row]


@dataclass(frozen=True)
class Pair:
    """A sentence as in the file, and without its punctuation."""

    whole: Sentence
    bare: Sentence


class Language:
    """Text, gold trees in the order of a shuffle, test sentences, and models learnt without trees."""

    def __init__(
        self, files: Listed, rules: str, shuffle: int, exact: bool = False, universal: str = ""
    ) -> None:
        self.name, self.exact, self.rules = files.name, exact, rules
        self.universal = universal.format(files.name)
        gold = pairs(files.text)
        self.text = [pair.bare for pair in gold]
        random.Random(shuffle).shuffle(gold)
        self.gold, self.test = gold, pairs(files.scored)
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

    def learner(self) -> FewTrees:
        """The learner of the recipe few-trees."""
        return self.settings.learner()

    @property
    def verb_order(self) -> int:
        """The position of the text's verbs."""
        return self.prior.text.verb_order


def pairs(paths: Iterable[Path]) -> list[Pair]:
    """The sentences of files, except those of punctuation only."""
    found = [Pair(whole, without_punctuation(whole)[0]) for path in paths for whole in read(path)]
    return [pair for pair in found if len(pair.bare)]


# ------------------------------------------------------------------------------------------- systems
def this(language: Language, gold: Sequence[Pair], start: Any = None) -> Row:
    """The learner: linear-time student, the exact CRF, labels and confidence."""
    if not gold and start is None:
        return without_trees(language)
    trees = [pair.bare for pair in gold]
    began = time.process_time()
    learner = language.learner().fit(language.text, trees, language.base, language.votes, start)
    learnt = time.process_time()
    test = [pair.bare for pair in language.test]
    found = learner.confidences(test)
    parsed = time.process_time()
    heads = [tree for tree, _ in found]
    labeller = Labeller(load_labels()).fit(
        [tree for tree in trees if len(tree) <= LONGEST_TREE], verb_order=language.verb_order
    )
    row = {
        **accuracies("", test, heads),
        **label_figures(test, labeller.predict(heads), labeller.predict(test)),
        **confidence_figures(test, found, learner.calibration.shift),
        "learning_s": round(learnt - began, 2),
        "teaching_s": round(language.teaching_s, 2),
        "words_per_s": round(sum(map(len, test)) / (parsed - learnt)),
    }
    if language.exact:
        row.update(accuracies("exact ", test, learner.predict_exact(test)))
    return row


def from_universal(language: Language, gold: Sequence[Pair]) -> Row:
    """The learner that starts from a universal parser."""
    return this(language.from_universal, gold)


def without_trees(language: Language) -> Row:
    """The parser that `vdgi train` learns from the text alone; a universal parser also parses exactly."""
    began = time.process_time()
    text = [replace(pair.whole, heads=None) for pair in language.gold]
    teacher = language.settings.teacher
    said = {"teacher": msgspec.to_builtins(teacher)}
    parser = vdgi.train(text, rules=language.rules, settings=said)
    learnt = time.process_time()
    found = []
    for pair, parse in zip(language.test, parser.confidences([pair.whole for pair in language.test])):
        sure = np.array(parse.confidence)[[tag not in UD_PUNCTUATION for tag in pair.whole.tags]]
        found.append((without_punctuation(replace(pair.whole, heads=parse.heads))[0], sure))
    parsed = time.process_time()
    test, heads = [pair.bare for pair in language.test], [tree for tree, _ in found]
    labeller = Labeller(load_labels()).fit([], verb_order=language.verb_order)
    row = {}
    if language.exact and isinstance(teacher, UniversalTeacherSettings):
        exact = [replace(pair.whole, heads=None) for pair in language.test]
        trees = [replace(s, heads=parse.heads) for s, parse in zip(exact, parser.exact(exact))]
        row = accuracies("exact ", test, [without_punctuation(tree)[0] for tree in trees])
    return {
        **row,
        **accuracies("", test, heads),
        **label_figures(test, labeller.predict(heads), labeller.predict(test)),
        **confidence_figures(test, found, parser.calibration.shift),
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
    learner = language.learner().fit(language.text, partial, language.base, language.votes)
    test = [pair.bare for pair in language.test]
    row = accuracies("", test, learner.predict(test))
    if language.exact:
        row.update(accuracies("exact ", test, learner.predict_exact(test)))
    return row


def half_of_trees(language: Language, gold: Sequence[Pair]) -> Row:
    """The learner, from half of the trees, which have as many heads as the partial ones."""
    learner = language.learner().fit(
        language.text, [pair.bare for pair in gold[: len(gold) // 2]], language.base, language.votes
    )
    test = [pair.bare for pair in language.test]
    return accuracies("", test, learner.predict(test))


def trees_only(language: Language, gold: Sequence[Pair]) -> Row:
    """A linear-time parser of tags that learns only from the trees."""
    trees = [pair.bare for pair in gold if 2 <= len(pair.bare) <= LONGEST_TREE]
    student = WordPerceptron(feats=False, words=False, seeds=(1,)).fit(
        [replace(tree, gaps=()) for tree in trees]
    )
    test = [pair.bare for pair in language.test]
    return accuracies("", test, student.predict([replace(s, gaps=()) for s in test]))


def udpipe(language: Language, gold: Sequence[Pair]) -> Row:
    """UDPipe 1 with its own settings."""
    began = time.process_time()
    model = trained_udpipe([pair.whole for pair in gold])
    learnt = time.process_time()
    parsed = [
        without_punctuation(replace(pair.whole, heads=heads))[0]
        for pair, heads in zip(language.test, udpipe_heads(model, [pair.whole for pair in language.test]))
    ]
    bare = [pair.bare for pair in language.test]
    return {**accuracies("", bare, parsed), "learning_s": round(learnt - began, 2)}


# ------------------------------------------------------------------------------------------- figures
def accuracies(prefix: str, test: Sequence[Sentence], parsed: Sequence[Sentence]) -> Row:
    """DDA in per cent, by longest sentence."""
    row = {}
    for limit in LIMITS:
        kept = [(s, p) for s, p in zip(test, parsed) if len(s) <= limit]
        right = sum(a == b for s, p in kept for a, b in zip(s.heads, p.heads))
        row[f"{prefix}{limit}"] = round(100 * right / sum(len(s) for s, _ in kept), 2)
    return row


def label_figures(test: Sequence[Sentence], labelled: Sequence[Sentence], on_gold: Sequence[Sentence]) -> Row:
    """LAS, and label accuracy on gold heads, in per cent, of sentences of up to 40 words."""
    n_words = both = labels = 0
    for sentence, parsed, gold in zip(test, labelled, on_gold):
        if len(sentence) > LIMITS[-1]:
            continue
        n_words += len(sentence)
        for d, relation in enumerate(map(relation_of, sentence.deprels)):
            both += parsed.heads[d] == sentence.heads[d] and parsed.deprels[d] == relation
            labels += gold.deprels[d] == relation
    return {"las": round(100 * both / n_words, 2), "labels": round(100 * labels / n_words, 2)}


def calibration_error(probabilities: ArrayLike, right: ArrayLike, n_bins: int = 10) -> float:
    """Expected calibration error, from 0 to 1: mean distance of confidence and accuracy in equal bins.

    >>> calibration_error([0.95, 0.95], [True, False])
    0.45
    """
    p, truth = np.asarray(probabilities, np.float64), np.asarray(right, np.float64)
    bins = np.minimum((p * n_bins).astype(int), n_bins - 1)
    off = np.bincount(bins, p - truth, n_bins)
    return round(float(np.abs(off).sum() / max(1, len(p))), 12)


def confidence_figures(test: Sequence[Sentence], found: Sequence[tuple[Sentence, Any]], shift: float) -> Row:
    """ECE as the program gives it and without correction, and data for learning a correction for others."""
    said = np.concatenate([sure for _, sure in found])
    right = np.concatenate([np.equal(s.heads, tree.heads) for s, (tree, _) in zip(test, found)])
    raw = shifted(said, -shift)
    bins = np.minimum((raw * 50).astype(int), 49)
    return {
        "ece": round(100 * calibration_error(said, right), 2),
        "ece_raw": round(100 * calibration_error(raw, right), 2),
        "bins": [
            [int((bins == b).sum()), round(float(raw[bins == b].mean()), 4), int(right[bins == b].sum())]
            for b in range(50)
            if (bins == b).any()
        ],
    }


def errors_by_others(rows: Sequence[Row]) -> list[float]:
    """ECE in per cent of each language, with the best shift for the other languages' words."""
    errors = []
    for mine in rows:
        others = np.array([entry for row in rows if row is not mine for entry in row["bins"]])
        if len(others):
            counts, said, right = np.array(mine["bins"]).T
            said = shifted(said, shift_of(others))
            bins = np.minimum((said * 10).astype(int), 9)
            off = np.bincount(bins, counts * said - right, 10)
            errors.append(float(100 * np.abs(off).sum() / counts.sum()))
    return errors


def shift_of(entries: Any) -> float:
    """The shift of log-odds that makes mean confidence equal accuracy, from the bins of the rows."""
    counts, said, right = entries.T
    low, high = -5.0, 5.0
    for _ in range(50):
        middle = (low + high) / 2
        if (counts * shifted(said, middle)).sum() > right.sum():
            high = middle
        else:
            low = middle
    return low


# ------------------------------------------------------------------------------------------- transfer
def source_of(language: Language) -> tuple[dict[Any, float], Any]:
    """Trigrams of a language's text, and the weights that a CRF without forms learns from its trees."""
    trees = [pair.bare for pair in language.gold[:SOURCE_TREES]]
    crf = ArcCrf(words=False, longest=40).fit(trees, language.prior)
    return trigrams(language.text), crf.weights


class Sources:
    """Weights learnt from each language, computed on first use."""

    def __init__(self, files: Sequence[Listed], rules: str) -> None:
        self.files, self.rules = files, rules
        self.known: dict[str, tuple[dict[Any, float], Any]] = {}

    def start_for(self, language: Language) -> Any:
        """The start from all other languages."""
        for files in self.files:
            if files.name not in self.known:
                self.known[files.name] = source_of(Language(files, self.rules, 1))
        others = [source for name, source in self.known.items() if name != language.name]
        return start_weights(trigrams(language.text), others)


# ------------------------------------------------------------------------------------------- rows
SYSTEMS: dict[str, System] = {
    "this": this,
    "universal": from_universal,
    "partial": half_blanked,
    "half of the trees": half_of_trees,
    "trees only": trees_only,
    "UDPipe": udpipe,
}
TRANSFER = "transfer"
WITHOUT_TREES = ("this", "universal", TRANSFER)
"""Systems that need no tree of the language."""


def measured(arguments: argparse.Namespace) -> list[Row]:
    """All rows, first those of the file; new ones are added to it one by one."""
    path = Path(arguments.rows)
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    known = {key_of(row) for row in rows}
    languages = listed(arguments)
    sources = Sources(sources_of(arguments) or languages, arguments.rules)
    for shuffle in range(1, arguments.shuffles + 1):
        for files in languages:
            language = None
            for k in arguments.trees:
                for system in arguments.systems:
                    row = {"language": files.name, "k": k, "shuffle": shuffle, "system": system}
                    if key_of(row) in known or (k == 0 and system not in WITHOUT_TREES):
                        continue
                    language = language or Language(
                        files, arguments.rules, shuffle, arguments.exact, arguments.universal
                    )
                    if k > len(language.gold):
                        continue
                    row.update(run(system, language, k, sources))
                    rows.append(row)
                    with path.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(row) + "\n")
    return rows


def sources_of(arguments: argparse.Namespace) -> list[Listed]:
    """The treebanks to start from, those of another set of the list."""
    if arguments.sources is None:
        return []
    return listed(argparse.Namespace(**{**vars(arguments), "set": arguments.sources, "languages": None}))


def run(system: str, language: Language, k: int, sources: Sources) -> Row:
    """One row's figures."""
    gold = language.gold[:k]
    if system == TRANSFER:
        return this(language, gold, sources.start_for(language))
    return SYSTEMS[system](language, gold)


def key_of(row: Row) -> tuple[Any, ...]:
    """The key of a row."""
    return tuple(row[name] for name in ("language", "k", "shuffle", "system"))


# ------------------------------------------------------------------------------------------- tables
def print_tables(rows: Sequence[Row], arguments: argparse.Namespace) -> None:
    """Means over languages, then every language, then the measurements of this learner only."""
    trees, languages = arguments.trees, [files.name for files in listed(arguments)]
    header = ["", *(f"k = {k}" for k in trees)]
    wanted = {(name, k) for name in languages for k in trees}
    rows = [
        row for row in rows if (row["language"], row["k"]) in wanted and row["shuffle"] <= arguments.shuffles
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
                f"{system}: labels, confidence, speed; means", header, detail_lines(rows, system, trees)
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
                values = [mean(row[str(limit)] for row in mine) for mine in languages]
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
    """A system's line, and one of its exact parser if it has one."""
    lines = [[system, *(cell(rows, system, k) for k in trees)]]
    if any(row["system"] == system and "exact 15" in row for row in rows):
        lines.append([f"{system}, exact", *(cell(rows, system, k, "exact ") for k in trees)])
    return lines


def cell(rows: Sequence[Row], system: str, k: int, prefix: str = "", name: str | None = None) -> str:
    """Both means, of one language, or of all with a row."""
    values = [
        [mean(row[f"{prefix}{limit}"] for row in mine) for limit in LIMITS]
        for mine in by_language(rows, system, k, name)
        if f"{prefix}{LIMITS[0]}" in mine[0]
    ]
    if not values:
        return "-"
    return "/".join(f"{mean(column):.1f}" for column in zip(*values))


def detail_lines(rows: Sequence[Row], system: str, trees: Sequence[int]) -> list[list[str]]:
    """LAS and so on, by number of trees."""
    names = {
        "las": "LAS, <=40",
        "labels": "labels on gold heads",
        "ece": "ECE as said",
        "ece_raw": "ECE without correction",
        "learning_s": "learning, CPU s",
        "teaching_s": "teacher and table, CPU s",
        "words_per_s": "words parsed a CPU s",
    }
    lines = [
        [
            title,
            *(
                shown(row[name] for mine in by_language(rows, system, k) for row in mine if name in row)
                for k in trees
            ),
        ]
        for name, title in names.items()
    ]
    corrected = [errors_by_others([mine[0] for mine in by_language(rows, system, k)]) for k in trees]
    shifts = [
        [shift_of(np.array([entry for mine in by_language(rows, system, k) for entry in mine[0]["bins"]]))]
        if by_language(rows, system, k)
        else []
        for k in trees
    ]
    return [
        *lines,
        ["ECE, corrected by the others", *map(shown, corrected)],
        ["best correction of all, log-odds", *(f"{values[0]:.2f}" if values else "-" for values in shifts)],
    ]


def by_language(rows: Sequence[Row], system: str, k: int, name: str | None = None) -> list[list[Row]]:
    """The rows of one system and k, grouped by language."""
    chosen: dict[str, list[Row]] = {}
    for row in rows:
        if row["system"] == system and row["k"] == k and name in (None, row["language"]):
            chosen.setdefault(row["language"], []).append(row)
    return list(chosen.values())


def mean(values: Iterable[float]) -> float:
    """The arithmetic mean."""
    return statistics.mean(values)


def shown(values: Iterable[float]) -> str:
    """The mean for a table."""
    numbers = list(values)
    return f"{mean(numbers):.1f}" if numbers else "-"


# ------------------------------------------------------------------------------------------- UDPipe
def trained_udpipe(trees: Sequence[Sentence]) -> Any:
    """A UDPipe model of these trees."""
    from ufal import udpipe as ufal

    error = ufal.ProcessingError()
    model = ufal.Trainer.train(
        "morphodita_parsito", ufal_sentences(trees), ufal.Sentences(), "none", "none", "", error
    )
    if error.occurred():
        raise RuntimeError(error.message)
    with tempfile.NamedTemporaryFile() as file:
        file.write(model if isinstance(model, bytes) else model.encode("latin-1"))
        file.flush()
        return ufal.Model.load(file.name)


def udpipe_heads(model: Any, sentences: Sequence[Sentence]) -> list[tuple[int, ...]]:
    """The heads predicted by a model."""
    return [heads for heads, _ in udpipe_heads_and_labels(model, sentences)]


def udpipe_heads_and_labels(
    model: Any, sentences: Sequence[Sentence]
) -> list[tuple[tuple[int, ...], tuple[str, ...]]]:
    """The heads and relations predicted by a model."""
    from ufal import udpipe as ufal

    found = []
    for sentence in ufal_sentences([replace(s, heads=None, deprels=()) for s in sentences]):
        model.parse(sentence, "", ufal.ProcessingError())
        words = list(sentence.words)[1:]
        found.append((tuple(word.head for word in words), tuple(word.deprel for word in words)))
    return found


def ufal_sentences(sentences: Sequence[Sentence]) -> Any:
    """The sentences as objects of UDPipe."""
    from ufal import udpipe as ufal

    reader, found = ufal.InputFormat.newConlluInputFormat(), ufal.Sentences()
    reader.setText("".join(map(conllu, sentences)))
    sentence = ufal.Sentence()
    while reader.nextSentence(sentence, ufal.ProcessingError()):
        found.append(sentence)
        sentence = ufal.Sentence()
    return found


def conllu(sentence: Sentence) -> str:
    """A sentence with tags, XPOS, FEATS, heads and relations."""
    nothing = ("_",) * len(sentence)
    columns = [sentence.forms, sentence.lemmas or nothing, sentence.tags]
    columns += [sentence.xpos or nothing, sentence.feats or nothing]
    arcs = (sentence.heads or nothing, sentence.deprels or nothing)
    lines = ("\t".join(map(str, (*row, "_", "_"))) for row in zip(range(1, 10**6), *columns, *arcs))
    return "\n".join(lines) + "\n\n"


def main() -> None:
    """Measures the missing rows, and prints the tables."""
    parser = file_list_parser(__doc__)
    parser.set_defaults(scored="test")
    parser.add_argument("--sources", help="set of the list to start from; default: the other languages")
    parser.add_argument("--trees", type=int, nargs="+", default=[0, 3, 10, 30, 100, 300, 1000])
    parser.add_argument("--shuffles", type=int, default=3)
    parser.add_argument(
        "--systems", nargs="+", choices=[*SYSTEMS, TRANSFER], default=["this", "trees only", "UDPipe"]
    )
    parser.add_argument("--rules", default="best")
    parser.add_argument("--universal", default="", help="model file of a universal parser; {}: the language")
    parser.add_argument("--exact", action="store_true", help="parse with the CRF, too")
    parser.add_argument("--rows", required=True, help="file of measured rows, JSON a line; is added to")
    parser.add_argument("--picture", help="draw learning curves into this file, such as curves.svg")
    arguments = parser.parse_args()
    if "UDPipe" in arguments.systems and not has_udpipe():
        print("UDPipe is left out: `ufal.udpipe` cannot be imported")
        arguments.systems.remove("UDPipe")
    if "universal" in arguments.systems and not arguments.universal:
        parser.error("the system universal needs --universal FILE")
    at_start = conditions()
    rows = measured(arguments)
    print_conditions(at_start)
    print_tables(rows, arguments)
    if arguments.picture:
        draw(rows, arguments)


def has_udpipe() -> bool:
    """True if UDPipe is available."""
    try:
        import ufal.udpipe  # noqa: F401
    except ImportError:
        return False
    return True


if __name__ == "__main__":
    main()
