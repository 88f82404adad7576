"""Learns what share of heads a universal parser will find, and checks it on languages kept aside.

    python experiments/expect.py learn FILE.npz=NAME,NAME,... ... --data DIR --rows ROWS.csv
    python experiments/expect.py tags FILE.npz=CODE,CODE,... ... --retaggers FILE=CODE,... ... \\
        --data DIR --rows ROWS.csv
    python experiments/expect.py errors FILE.npz=CODE,CODE,... ... --retaggers FILE=CODE,... ... \\
        --data DIR
    python experiments/expect.py fit --rows ROWS.csv --out FILE.npz
    python experiments/expect.py check MODEL --data DIR --set check --rows ROWS.csv
    python experiments/expect.py near MODEL --data DIR

A file of `universal.py learn` is named with what it has not learnt from: branches, `checked` for
those of the eleven, and `free` for treebanks with NonCommercial or GPL licences. `learn` parses the
first 400 sentences, in random order, of each such treebank of resources/universal/treebanks.csv.
`tags` parses sentences of the texts of sixteen languages with gold tags and with those of taggers
that have learnt from 50, 100 and 300 other sentences; retaggers have not seen the language's branch
either. `fit` fits, to these rows, the line from the mean marginal probability of the heads to the
share of right ones, and what wrong tags cost. It fits the lines for gold trees to universal.csv and
few-trees-universal.csv of docs/results, of sentences of up to 40 words; fifty trees are
interpolated. Widths are of lines that were fitted without the branch or language. `errors` prints
calibration errors of HeadConf= on the sentences of `tags`, with gold tags and with those of a
tagger of a hundred sentences, of the universal parser and of a CRF of the hundred trees. `check`
compares predictions for test files with their gold heads. `near` prints the distances of parts of
the texts of `choose` and `check` to the nearest treebank learnt from, first in languages that the
model knows; it reads no heads.
"""

from __future__ import annotations

import argparse
import os
import random
import shlex
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import languages
import numpy as np
import universal
from measuring import argument_parser, csv_rows, write_csv
from raw_text import bare

from dynet_vdgi.conllu import filtering, reading
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.few_trees.arc_crf import ArcCrf
from dynet_vdgi.parser.crf_engine import CrfEngine
from dynet_vdgi.parser.decoding import find
from dynet_vdgi.parser.expectation import Expectation, log_odds, nearest, on_line, sigmoid
from dynet_vdgi.parser.parser import Parser, load
from dynet_vdgi.rule_tables.prior import Prior
from dynet_vdgi.rule_tables.rules import load_rules
from dynet_vdgi.settings.bundled import rules_path
from dynet_vdgi.training.few_trees import FewTrees
from dynet_vdgi.training.universal import pack
from dynet_vdgi.universal.scorer import Scorer
from dynet_vdgi.universal.stored import Measures
from dynet_vdgi.universal.text_base import TextBase
from dynet_vdgi.words.tagger import retagger
from dynet_vdgi.words.tagger.tagger import Tagger

SENTENCES = 400
FEWEST_WORDS = 150
"""Words of a treebank that counts."""
RESULTS = Path(__file__).parents[1] / "docs" / "results"
COUNTED, BETWEEN = (10, 50, 100, 300), (10, 100)
TAGGED = (50, 100, 300)
COLUMNS = (
    "set", "network", "treebank", "branch", "words", "marginal", "right", "expected",
    "tagged", "tags",
)  # fmt: skip
"""tagged: sentences that a tagger has learnt from; tags: its own estimate of its accuracy."""
Row = dict[str, Any]


def fitted(x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The line (2,) of least squares between the log-odds of shares."""
    x, y = log_odds(x), log_odds(y)
    mean_x, mean_y = (float(np.average(each, weights=weights)) for each in (x, y))
    slope = float(weights @ ((x - mean_x) * (y - mean_y)) / (weights @ (x - mean_x) ** 2))
    return np.array([mean_y - slope * mean_x, slope])


def kept_aside(names: set[str]) -> Iterator[dict[str, str]]:
    """The listed treebanks that a network with these names has not learnt from."""
    branches = names | set(universal.CHECKED if "checked" in names else ())
    for row in csv_rows(universal.TREEBANKS):
        is_free = not any(mark in row["licence"] for mark in universal.NOT_FREE)
        if branches & set(row["branch"].split("+")) or ("free" in names and not is_free):
            yield row


def measured(scorer: Scorer, sentences: list) -> Row:
    """The mean marginal of the heads found, and the share of right ones."""
    engine, _ = universal.engine_for(scorer, sentences)
    trees, margins, _ = zip(*find(engine, sentences, margins=True))
    right = [a == b for tree, s in zip(trees, sentences) for a, b in zip(tree, s.heads)]
    p = 1 / (1 + np.exp(-np.concatenate(margins)))
    return {
        "words": len(right),
        "marginal": round(float(p.mean()), 4),
        "right": round(float(np.mean(right)), 4),
    }


def learn(arguments: argparse.Namespace) -> None:
    rows: list[Row] = []
    read: dict[str, list] = {}
    for each in arguments.models:
        path, _, names = each.partition("=")
        scorer = universal.load(Path(path))
        for row in kept_aside(set(names.split(","))):
            name = row["treebank"]
            if name not in read:
                sentences = languages.read(
                    universal.files_of(arguments.data, row["files"]), "required"
                )
                read[name] = random.Random(1).sample(sentences, min(SENTENCES, len(sentences)))
            keys = {
                "set": "left out",
                "network": Path(path).stem,
                "treebank": name,
                "branch": row["branch"],
            }
            rows.append({**keys, **measured(scorer, read[name])})
    write(arguments.rows, [row for row in rows if row["words"] >= FEWEST_WORDS], "left out")


def fit(arguments: argparse.Namespace) -> None:
    """Fits all numbers to the rows, and puts what lines without a branch or language say into
    these."""
    rows = csv_rows(arguments.rows)
    line, width = of_left_out([row for row in rows if row["set"] == "left out"])
    price = of_tags(line, width, [row for row in rows if row["set"] == "guessed tags"])
    expectation = Expectation(line, width, of_trees(), price)
    np.savez(arguments.out, **expectation.arrays())
    write_csv(arguments.rows, COLUMNS, rows)
    checked = [row for row in rows if row["set"] == "check"]
    ends = [expectation(float(row["marginal"]), int(row["words"])).interval for row in checked]
    inside = sum(low <= float(row["right"]) <= high for row, (low, high) in zip(checked, ends))
    print(f"{inside} of {len(checked)} test files are within their intervals")


def of_left_out(rows: list[Row]) -> tuple[np.ndarray, float]:
    """The line (2,) without trees, and its width; in the rows, what lines without the branch
    say."""
    of_treebank = Counter(row["treebank"] for row in rows)
    weights = np.array([1 / of_treebank[row["treebank"]] for row in rows])
    x, y = (np.array([float(row[name]) for row in rows]) for name in ("marginal", "right"))
    branches = np.array([row["branch"].partition("+")[0] for row in rows])
    expected, is_inside = np.zeros(len(rows)), np.zeros(len(rows), bool)
    for branch in set(branches):
        others = branches != branch
        expected[~others] = on_line(fitted(x[others], y[others], weights[others]), x[~others])
    expected = np.round(expected, 4)
    odds = abs(log_odds(expected) - log_odds(y))
    for branch in set(branches):
        others = branches != branch
        is_inside[~others] = odds[~others] <= nine_of_ten(odds[others], weights[others])
    for row, share in zip(rows, expected.tolist()):
        row["expected"] = share
    off = np.average(abs(expected - y), weights=weights)
    inside, width = np.average(is_inside, weights=weights), nine_of_ten(odds, weights)
    print(
        f"{len(rows)} parses of {len(of_treebank)} treebanks, {len(set(branches))} branches: off by"
    )
    print(
        f"{100 * off:.2f} points in the mean; 9 of 10 are within {width:.4f} nats of log-odds, and"
    )
    print(f"{100 * inside:.1f} % within the width that the other branches have")
    return np.round(fitted(x, y, weights), 4), round(width, 4)


def nine_of_ten(off: np.ndarray, weights: np.ndarray) -> float:
    """What another one is within with a probability of .9: the k-th of n is what k of n + 1 are
    within."""
    order = np.argsort(off)
    return float(np.interp(0.9, np.cumsum(weights[order]) / (weights.sum() + 1), off[order]))


def of_trees() -> np.ndarray:
    """The lines (K, 4) from the share without gold trees to that with some; widths leave a language
    out."""
    without = {
        row["language"]: row["dda40"]
        for row in csv_rows(RESULTS / "universal.csv")
        if row["system"] == "branch left out" and row["set"] == "choose"
    }
    measured_dda = {
        (row["language"], int(row["k"])): float(row["dda40"]) / 100
        for row in csv_rows(RESULTS / "few-trees-universal.csv")
    }
    languages = sorted({language for language, _ in measured_dda})
    x, low, high = (
        np.array(column)
        for column in (
            [float(without[each]) / 100 for each in languages],
            *([measured_dda[each, k] for each in languages] for k in BETWEEN),
        )
    )
    result = []
    for k in COUNTED:
        y = np.array([measured_dda.get((each, k), np.nan) for each in languages])
        if np.isnan(y).any():
            share = np.log(k / BETWEEN[0]) / np.log(BETWEEN[1] / BETWEEN[0])
            y = low + share * (high - low)
        even, off = np.ones(len(languages)), []
        for left in range(len(languages)):
            others = np.arange(len(languages)) != left
            expected = on_line(fitted(x[others], y[others], even[others]), x[left])
            off.append(abs(float(log_odds(expected) - log_odds(y[left]))))
        width = nine_of_ten(np.array(off), even)
        print(f"{k} trees: {100 * y.mean():.1f} % in the mean, width of the line {width:.4f}")
        result.append([k, *np.round(fitted(x, y, even), 4), round(width, 4)])
    return np.array(result)


def tags(arguments: argparse.Namespace) -> None:
    rows = []
    for path, code, scorer, text in of_sixteen(arguments):
        keys = {"set": "guessed tags", "network": Path(path).stem, "treebank": code}
        rows += [{**keys, **figures} for figures in with_guessed_tags(scorer, text)]
        print(
            code,
            *(f"{row['tags']:.2f}: {row['right']:.3f}" for row in rows[-1 - len(TAGGED) :]),
            flush=True,
        )
    write(arguments.rows, rows, "guessed tags")


def of_sixteen(arguments: argparse.Namespace) -> Iterator[tuple[str, str, Scorer, list[Sentence]]]:
    """The file of a network, a language that it has not seen, the network, and the language's text,
    shuffled."""
    retaggers = languages.by_language(arguments.retaggers)
    for each in arguments.models:
        path, _, codes = each.partition("=")
        scorer = universal.load(Path(path))
        for row in csv_rows(universal.LISTS / universal.FILES["choose"]):
            if row["set"] == "choose" and row["language"] in codes.split(","):
                retagger.FILE = Path(retaggers[row["language"]])
                paths = universal.files_of(arguments.data, row["text"])
                text = [sentence for path in paths for sentence in reading.read(path)]
                random.Random(1).shuffle(text)
                yield path, row["language"], scorer, text


def errors(arguments: argparse.Namespace) -> None:
    rows = []
    further = {
        **np.load(universal.TREEBANKS.with_name("calibration.npz")),
        **np.load(universal.TREEBANKS.with_name("expectation.npz")),
    }
    for _, code, scorer, text in of_sixteen(arguments):
        learnt_from, gold = text[:100], text[max(TAGGED) :][:SENTENCES]
        tagger = Tagger().fit(learnt_from, map(bare, text[100:]))
        guessed = [with_punctuation(*pair) for pair in zip(gold, tagger.predict(map(bare, gold)))]
        bare_parser, crf = Parser(pack(scorer, {}, further=further)), None
        figures = []
        for accuracy, sentences in ((1.0, gold), (tagger.accuracy or 0.0, guessed)):
            words = filtering.prepare(sentences).sentences
            measures = replace(Measures.of(scorer, words), tag_accuracy=accuracy)
            parser = replace(bare_parser, engine=bare_parser.engine.with_measures(measures))
            parses = find(parser.engine, words, margins=True)
            figures.append(universal.error(parser.calibration, words, parses))
            trees = filtering.prepare(learnt_from).sentences
            base = TextBase.of_text(
                scorer, [*trees, *words], Prior.of_text(load_rules(rules_path("best")), trees), 0.5
            )
            crf = crf or FewTrees(ArcCrf(pace=0.5), None, has_seen_trees=True).fit(
                words, trees, base
            )
            crf.crf.base = base
            assert crf.calibration is not None
            calibration = crf.calibration.with_wrong_tags(1 - accuracy)
            figures.append(
                universal.error(calibration, words, find(CrfEngine(crf.crf), words, margins=True))
            )
        rows.append(figures)
        print(code, *(f"{figure:.1f}" for figure in figures), flush=True)
    columns = "universal, 100 trees; with guessed tags: universal, 100 trees"
    print(f"mean of {len(rows)} ({columns}):", *(f"{figure:.2f}" for figure in np.mean(rows, 0)))


def of_tags(line: np.ndarray, of_line: float, rows: list[Row]) -> np.ndarray:
    """What wrong tags cost and its width (2,); in the rows, what is said without the language.

    The width is what 9 of 10 need beside that of the line: the two errors cancel each other in
    part.
    """
    x, y, tags = (
        np.array([float(row[name]) for row in rows]) for name in ("marginal", "right", "tags")
    )
    total = log_odds(on_line(line, x)) - log_odds(y)
    loss = total.copy()
    # With gold tags, too, the line is off in each language; only what comes on top is the wrong
    # tags' doing.
    of_language = np.array([row["treebank"] for row in rows])
    is_gold = tags == 1
    for language in set(of_language):
        loss[of_language == language] -= loss[(of_language == language) & is_gold]
    wrong, spread = 1 - tags, np.zeros(len(rows))
    for row, share, k in zip(rows, wrong.tolist(), range(len(rows))):
        others = of_language != of_language[k]
        price = slope(wrong[others], loss[others])
        odds = log_odds(y[k]) + loss[k] - price * share  # as far off as with gold tags
        row["expected"] = round(float(sigmoid(odds)), 4)
        spread[k] = (
            np.sqrt(max(0.0, (total[k] - price * share) ** 2 - of_line**2)) / share if share else 0
        )
    price, each = slope(wrong, loss), np.full(len(rows), 1 / len(TAGGED))
    width, inside = nine_of_ten(spread[~is_gold], each[~is_gold]), 0
    for language in set(of_language):
        others = ~is_gold & (of_language != language)
        of_this = spread[~is_gold & (of_language == language)]
        inside += int((of_this <= nine_of_ten(spread[others], each[others])).sum())
    print(f"{price:.3f} nats of log-odds if all tags were wrong, width {width:.3f};")
    print(f"{inside} of {sum(~is_gold)} are within the width that the other languages have")
    for k in TAGGED:
        of_k = [row for row in rows if row["tagged"] == str(k)]
        off_by = [abs(row["expected"] - float(row["right"])) for row in of_k]
        print(f"{k} tagged sentences: off by {100 * np.mean(off_by):.2f} points")
    return np.round([price, width], 4)


def slope(x: np.ndarray, y: np.ndarray) -> float:
    """The line of least squares through 0."""
    return float(x @ y / (x @ x))


def with_guessed_tags(scorer: Scorer, text: list[Sentence]) -> Iterator[Row]:
    """What is measured on sentences of a text, with gold tags first, then with those of taggers."""
    gold = text[max(TAGGED) :][:SENTENCES]
    yield {**measured(scorer, filtering.prepare(gold).sentences), "tagged": "", "tags": 1.0}
    for k in TAGGED:
        tagger = Tagger().fit(text[:k], map(bare, text[k:]))
        guessed = [with_punctuation(*pair) for pair in zip(gold, tagger.predict(map(bare, gold)))]
        figures = measured(scorer, filtering.prepare(guessed).sentences)
        yield {**figures, "tagged": k, "tags": round(tagger.accuracy or 0.0, 4)}


def with_punctuation(gold: Sentence, guessed: Sentence) -> Sentence:
    """The gold tree with guessed tags and features; punctuation as in gold, so that the same heads
    count."""
    tags = tuple(
        "PUNCT" if right == "PUNCT" else "X" if tag == "PUNCT" else tag
        for right, tag in zip(gold.tags, guessed.tags)
    )
    return replace(gold, tags=tags, feats=guessed.feats, xpos=(), soft=guessed.soft)


def check(arguments: argparse.Namespace) -> None:
    engine, rows = load(arguments.models[0]).engine, []
    for code, _, test in universal.texts(arguments):
        row = measured(engine.scorer, test)
        share = engine.expectation(row["marginal"], row["words"]).share
        keys = {"set": arguments.set, "network": Path(arguments.models[0]).stem, "treebank": code}
        rows.append({**keys, **row, "expected": round(share, 4)})
        print(f"{code}: expected {100 * share:.1f}, right {100 * row['right']:.1f}")
    off = np.array([row["expected"] - row["right"] for row in rows])
    print(
        f"{len(rows)} texts: off by {100 * abs(off).mean():.2f} points, "
        f"with signs {100 * off.mean():+.2f}"
    )
    write(arguments.rows, rows, arguments.set)


def near(arguments: argparse.Namespace) -> None:
    parser = load(arguments.models[0])
    names = list(parser.model.provenance.treebanks)
    folders = {
        row["language"]: row["text"].split("/")[0][3:]
        for row in csv_rows(universal.LISTS / "ud2.csv")
    }
    languages = {folder.split("-")[0] for folder in names}
    arguments.codes, texts = [], []
    for arguments.set in ("choose", "check"):
        texts += [(code, text) for code, text, _ in universal.texts(arguments)]
    for n_words in (700, 1500, 3000):
        errors: dict[bool, list[float]] = {True: [], False: []}
        for code, text in texts:
            for seed in range(3):
                start = random.Random(seed).randrange(max(1, len(text) - n_words // 8))
                words = np.cumsum([len(sentence) for sentence in text[start:] + text[:start]])
                part = (text[start:] + text[:start])[: int(np.searchsorted(words, n_words)) + 1]
                numbers = parser.adapted(part).measures.profile.numbers.astype(np.float64)
                distance = nearest(numbers, parser.engine.sources, names)[0][1]
                errors[folders[code].split("-")[0] in languages].append(distance)
        for is_known, distances in errors.items():
            which = "learnt from" if is_known else "not learnt from"
            who = f"{len(distances) // 3} languages {which}"
            print(f"{n_words} words, {who}: {min(distances):.2f} to {max(distances):.2f}")


def write(path: Path, rows: list[Row], name: str) -> None:
    """Replaces the rows of a set in a file."""
    other_rows = [row for row in csv_rows(path) if row["set"] != name]
    write_csv(path, COLUMNS, sorted([*other_rows, *rows], key=lambda row: row["set"] != "check"))


def main() -> None:
    parser = argument_parser(__doc__)
    tasks = parser.add_subparsers(dest="task", required=True)
    task = tasks.add_parser("fit")
    task.add_argument("--rows", type=Path, required=True)
    task.add_argument("--out", type=Path, required=True)
    for name in ("learn", "tags", "errors", "check", "near"):
        task = tasks.add_parser(name)
        task.add_argument("models", nargs="+")
        task.add_argument("--data", type=Path, required=True)
        if name in ("tags", "errors"):
            task.add_argument("--retaggers", nargs="+", required=True, metavar="FILE=CODE,CODE,...")
        if name not in ("errors", "near"):
            task.add_argument("--rows", type=Path, required=True)
        if name == "check":
            task.add_argument("--set", choices=sorted(universal.FILES), required=True)
            task.add_argument("--codes", nargs="*", default=[])
    arguments = parser.parse_args()
    shown = [word if word != str(vars(arguments).get("data")) else "DIR" for word in sys.argv[1:]]
    print("python experiments/expect.py", shlex.join(shown))
    {task.__name__: task for task in (learn, tags, errors, fit, check, near)}[arguments.task](
        arguments
    )


if __name__ == "__main__":
    main()
