"""Learns universal parsers with some branches of languages left out, and scores them on treebanks kept aside.

    python benchmarks/universal.py learn --data DIR --out FILE.npz [--without BRANCH ...] [--free] [--seed N]
    python benchmarks/universal.py score FILE.npz ... --data DIR --set choose|check [--out rows.csv]

DIR holds `ud2_sources` and `ud2`; resources/universal/treebanks.csv names the treebanks, their branches and
licences. `--free` leaves out treebanks with NonCommercial or GPL licences. The eleven to check on are never
learnt from. `score` measures the text file of a language and parses the test file, gold tags, without
punctuation; of several files it takes the mean of log p(h | d). DDA is a percentage, <=15 and <=40 words.
"""

from __future__ import annotations

import argparse
import csv
import json
import logging
import os
import time
from pathlib import Path

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import numpy as np

from dynet_vdgi.data import conllu, protocols, treebank
from dynet_vdgi.grammar import chart
from dynet_vdgi.settings.bundled import resources
from dynet_vdgi.universal.encoding import band_of_forms
from dynet_vdgi.universal.learning import LearningSettings, Treebank, learn
from dynet_vdgi.universal.scorer import Scorer, TextScorer

LISTS = Path(__file__).parent / "lists" / "ud2.csv"
CHECKED = ("Celtic", "Uralic", "Indo-Iranian", "Sinitic", "Afro-Asiatic")
"""Branches of the eleven. Four of them have no relative among the sources. The Germanic treebanks stay,
although Naija, a creole, has its words from English."""
NOT_FREE = ("NC", "GPL 3")


def read(paths: list[Path], heads: str = "required") -> list:
    """The sentences of some files without punctuation."""
    every = [sentence for path in paths for sentence in conllu.read(path, heads=heads)]
    return list(treebank.prepare(every, protocols.STANDARD).sentences)


def files_of(data: Path, names: str) -> list[Path]:
    """Paths of files below `ud2` or `ud2_sources`."""
    return [
        next(data / folder / name for folder in ("ud2", "ud2_sources") if (data / folder / name).exists())
        for name in names.split()
    ]


def sources(arguments: argparse.Namespace) -> list[Treebank]:
    """The treebanks to learn from."""
    with open(resources() / "universal" / "treebanks.csv", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    kept = []
    for row in rows:
        branches = set(row["branch"].split("+"))
        if branches & set(arguments.without) or row["code"] in arguments.without_code:
            continue
        if arguments.free and any(mark in row["licence"] for mark in NOT_FREE):
            continue
        kept.append(Treebank(row["treebank"], read(files_of(arguments.data, row["files"])), row["branch"]))
    return kept


def save(path: Path, scorer: Scorer) -> None:
    weights = {f"weights/{name}": array for name, array in scorer.weights.items()}
    np.savez(path, features=json.dumps(scorer.features), mean=scorer.mean, scale=scorer.scale, **weights)


def load(path: Path) -> Scorer:
    arrays = np.load(path)
    weights = {name.removeprefix("weights/"): arrays[name] for name in arrays.files if "/" in name}
    return Scorer(tuple(json.loads(str(arrays["features"]))), arrays["mean"], arrays["scale"], weights)


def dda(trees: list, gold: list) -> list[float]:
    """Percentages of right heads, of sentences of up to 15 and 40 words."""
    result = []
    for longest in (15, 40):
        pairs = [(t, s.heads) for t, s in zip(trees, gold) if len(s) <= longest]
        right = sum(a == b for tree, heads in pairs for a, b in zip(tree, heads))
        result.append(100 * right / max(1, sum(len(heads) for _, heads in pairs)))
    return result


def parsed(scorers: list[Scorer], text: list, test: list) -> list:
    """Trees of the test sentences; the text is measured."""
    bands, total = band_of_forms(text), []
    order = np.argsort([len(s) for s in test], kind="stable")
    trees: list = [()] * len(test)
    profiles = [scorer.profile(text[:1500]) for scorer in scorers]
    for first in range(0, len(order), 150):
        part = order[first : first + 150]
        sentences = [test[k] for k in part]
        total = [TextScorer(s, p, bands) for s, p in zip(scorers, profiles)] if first == 0 else total
        flat = np.mean([each.log_probabilities(each.encode(sentences)) for each in total], 0)
        at, scores = 0, []
        for s in sentences:
            n = len(s)
            scores.append(np.maximum(flat[at : at + n * (n + 1)].reshape(n + 1, n), -60.0).astype(float))
            at += n * (n + 1)
        for k, tree in zip(part, chart.expected_best_of_all(scores)):
            trees[k] = tree
    return trees


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    verbs = parser.add_subparsers(dest="verb", required=True)
    learning = verbs.add_parser("learn")
    learning.add_argument(
        "--without", nargs="*", default=[], help="branches; 'checked' for those of the eleven"
    )
    learning.add_argument("--without-code", nargs="*", default=[])
    learning.add_argument("--free", action="store_true")
    learning.add_argument("--seed", type=int, default=1)
    learning.add_argument("--members", type=int, default=1, help="networks whose mean one more learns")
    learning.add_argument("--updates", type=int, default=LearningSettings().updates)
    scoring = verbs.add_parser("score")
    scoring.add_argument("models", nargs="+", type=Path)
    scoring.add_argument("--set", choices=("choose", "check"), required=True)
    scoring.add_argument("--codes", nargs="*", default=[])
    for each in (learning, scoring):
        each.add_argument("--data", type=Path, required=True)
        each.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    if arguments.verb == "learn":
        logging.basicConfig(level=logging.INFO, format="%(message)s")
        if "checked" in arguments.without:
            arguments.without = [*arguments.without, *CHECKED]
        settings = LearningSettings(updates=arguments.updates, members=arguments.members)
        start = time.process_time()
        treebanks = sources(arguments)
        logging.info("%d treebanks", len(treebanks))
        scorer = learn(treebanks, settings, seed=arguments.seed)
        save(arguments.out, scorer)
        logging.info("%.0f CPU s", time.process_time() - start)
        return
    scorers = [load(path) for path in arguments.models]
    rows = []
    with open(LISTS, encoding="utf-8") as lines:
        listed = [row for row in csv.DictReader(lines) if row["set"] == arguments.set]
    for row in listed:
        if arguments.codes and row["language"] not in arguments.codes:
            continue
        text = read(files_of(arguments.data, row["text"]), "ignored")
        test = [s for s in read(files_of(arguments.data, row["test"])) if len(s) <= 40]
        rows.append((row["language"], *dda(parsed(scorers, text, test), test)))
        print("{} {:.1f}/{:.1f}".format(*rows[-1]), flush=True)
    print("mean of {}: {:.2f}/{:.2f}".format(len(rows), *np.mean([row[1:] for row in rows], 0)))
    if arguments.out:
        with open(arguments.out, "w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([("language", "dda15", "dda40"), *rows])


if __name__ == "__main__":
    main()
