"""Learns universal parsers with some branches of languages left out, and scores them on treebanks
kept aside.

    python experiments/universal.py learn --data DIR --out FILE.npz [--without BRANCH ...] [--free]
        [--seed N] [--treebanks N]
    python experiments/universal.py score FILE.npz ... --data DIR --set choose|check
        [--out rows.csv]
    python experiments/universal.py calibrate FILE.npz=CODE,CODE,... ... --data DIR
        --out CALIBRATION.npz
    python experiments/universal.py confidence FILE [CALIBRATION.npz EXPECTATION.npz] --data DIR
        --set SET
    python experiments/universal.py relations FILE.npz --data DIR --set choose|check|sources
        [--shares S ...]
    python experiments/universal.py untrained FILE.npz=CODE,CODE,... ... --data DIR
    python experiments/universal.py speed MODEL ... [MODEL.udpipe] --data DIR
    python experiments/universal.py ship FILE.npz CALIBRATION.npz EXPECTATION.npz --data DIR
        --out FILE.vdgi
    python experiments/universal.py table FILE.vdgi [--out FILE.vdgi]

DIR holds `ud2_sources` and `ud2`; resources/universal/treebanks.csv names the treebanks, their
branches and licences. `--free` leaves out treebanks with NonCommercial or GPL licences. The eleven
to check on are never learnt from. `score` measures the text file of a language and parses the test
file, gold tags, without punctuation; of several files it takes the mean of log p(h | d), and
`--table` adds a share of the rule table's. DDA is a percentage, of sentences of up to 15 and 40
words. `calibrate` learns the confidence of heads from the gold heads of texts whose languages a
model was not learnt from; the share of right heads is learnt by expect.py. `untrained` compares a
parser that measures what it parses with one that measured the language's text before. `relations`
tells what the table of labels is worth beside the network, for each share in nats; of the set
`sources` it takes those treebanks that `--codes` names, the first 200 sentences of each. `speed`
is of whole programs, on mixed text. `ship` packs weights with the table that they were learnt
under; `table` gives a model file the table of today, and changes nothing else in it.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import random
import shlex
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import measuring
import numpy as np
import whole_program
from languages import LISTS, calibration_error, dda, read

from dynet_vdgi.conllu import blocks, reading
from dynet_vdgi.inference import eisner
from dynet_vdgi.models.archive import npz, opened, write
from dynet_vdgi.models.model_file import ModelFile
from dynet_vdgi.models.model_file import load as load_model
from dynet_vdgi.models.model_file import save as save_model
from dynet_vdgi.models.run_folder import model_path
from dynet_vdgi.parser.confidence import Calibration
from dynet_vdgi.parser.decoding import find
from dynet_vdgi.parser.expectation import SOURCES
from dynet_vdgi.parser.parser import Parser
from dynet_vdgi.parser.relations import labeller_of
from dynet_vdgi.parser.universal_engine import UniversalEngine
from dynet_vdgi.relations.label_table import load as load_labels
from dynet_vdgi.relations.labeller import Labeller
from dynet_vdgi.rule_tables.prior import Prior
from dynet_vdgi.rule_tables.rules import load_rules
from dynet_vdgi.settings.bundled import resources, rules_path
from dynet_vdgi.training.universal import UniversalSettings, pack, sources_of
from dynet_vdgi.universal.learn.learning import GoldTreebank, learn
from dynet_vdgi.universal.learn.learning_settings import LearningSettings
from dynet_vdgi.universal.model_table import table_arrays, table_to_learn_under
from dynet_vdgi.universal.scorer import Scorer, by_sentence
from dynet_vdgi.universal.stored import Measures, beginning, scorer_of
from dynet_vdgi.universal.text_base import TextBase

TREEBANKS = resources() / "universal" / "treebanks.csv"
FILES = {
    "choose": "ud2.csv",
    "check": "ud2.csv",
    "v1": "ud14.csv",
    "demo": "demo.csv",
    "sources": "",
}
CHECKED = ("Celtic", "Uralic", "Indo-Iranian", "Sinitic", "Afro-Asiatic")
"""Branches of the eleven. Four of them have no relative among the sources. The Germanic treebanks
stay, although Naija, a creole, has its words from English."""
NOT_FREE = ("NC", "GPL 3")
BEGINNINGS = 50, 500
"""Sentences of test files that are parsed."""
MIXED = """
    UD_German-GSD/de_gsd-ud-dev.conllu UD_Polish-LFG/pl_lfg-ud-dev.conllu
    UD_Korean-GSD/ko_gsd-ud-dev.conllu UD_Welsh-CCG/cy_ccg-ud-dev.conllu
    UD_Spanish-GSD/es_gsd-ud-dev.conllu UD_Urdu-UDTB/ur_udtb-ud-dev.conllu
"""
TURNS = 3
CALIBRATED = 200
"""Sentences of a text from which confidence is learnt."""


def files_of(data: Path, names: str) -> list[Path]:
    """Paths of files below `ud2` or `ud2_sources`."""
    return [
        next(
            data / folder / name
            for folder in ("ud2", "ud2_sources", ".")
            if (data / folder / name).exists()
        )
        for name in names.split()
    ]


def source_rows(arguments: argparse.Namespace) -> Iterator[dict[str, str]]:
    """The rows of treebanks.csv to learn from."""
    for row in measuring.csv_rows(TREEBANKS):
        branches = set(row["branch"].split("+"))
        if branches & set(arguments.without) or row["code"] in arguments.without_code:
            continue
        if not arguments.free or is_free(row):
            yield row


def is_free(row: dict[str, str]) -> bool:
    """Whether the licence of a treebank allows any use."""
    return not any(mark in row["licence"] for mark in NOT_FREE)


def sources(arguments: argparse.Namespace) -> list[GoldTreebank]:
    """The treebanks to learn from."""
    treebanks = [
        GoldTreebank(
            row["treebank"], read(files_of(arguments.data, row["files"]), "required"), row["branch"]
        )
        for row in source_rows(arguments)
    ]
    if arguments.treebanks:  # the smaller samples of a seed are parts of the larger ones
        shuffled = random.Random(arguments.seed).sample(treebanks, len(treebanks))
        treebanks = shuffled[: arguments.treebanks]
    return treebanks


def save(path: Path, scorer: Scorer) -> None:
    weights = {f"weights/{name}": array for name, array in scorer.weights.items()}
    np.savez(
        path,
        features=json.dumps(scorer.features),
        mean=scorer.mean,
        scale=scorer.scale,
        table=scorer.table,
        **weights,
    )


def load(path: Path) -> Scorer:
    """The scorer in a file of `learn`, or in a model file."""
    if path.suffix != ".npz":
        return scorer_of(load_model(model_path(path)).parameters)
    arrays = np.load(path)
    weights = {name.removeprefix("weights/"): arrays[name] for name in arrays.files if "/" in name}
    features = tuple(json.loads(str(arrays["features"])))
    table = str(arrays["table"]) if "table" in arrays.files else table_to_learn_under()  # of before
    return Scorer(features, arrays["mean"], arrays["scale"], weights, table)


def parsed(scorers: list[Scorer], text: list, test: list) -> list:
    """Trees of the test sentences; the text is measured."""
    total = []
    order = np.argsort([len(s) for s in test], kind="stable")
    trees: list = [()] * len(test)
    measures = [Measures.of(scorer, list(beginning(text))) for scorer in scorers]
    for first in range(0, len(order), 150):
        part = order[first : first + 150]
        sentences = [test[k] for k in part]
        total = [m.parser(s) for s, m in zip(scorers, measures)] if first == 0 else total
        flat = np.mean([each.log_probabilities(each.encode(sentences)) for each in total], 0)
        lengths = np.array([len(s) for s in sentences])
        scores = [np.maximum(log_p, -60.0).astype(float) for log_p in by_sentence(flat, lengths)]
        for k, tree in zip(part, eisner.expected_best_of_all(scores)):
            trees[k] = tree
    return trees


def with_table(scorers: list[Scorer], text: list, test: list, share: float) -> list:
    """Trees of the test sentences, with this share of the table's log-probabilities of heads."""
    prior = Prior.of_text(load_rules(rules_path("best")), text)
    total = [
        TextBase.of_text(scorer, text, prior, share).all_potentials(test) for scorer in scorers
    ]
    return [eisner.best(sum(potentials) / len(scorers)) for potentials in zip(*total)]


def engine_for(
    scorer: Scorer, text: list, calibration: dict | None = None
) -> tuple[UniversalEngine, ModelFile]:
    """The engine of a model that has measured a text."""
    model = pack(scorer, {}, further=calibration)
    model.parameters.update(Measures.of(scorer, list(beginning(text))).arrays())
    return UniversalEngine(model), model


def texts(
    arguments: argparse.Namespace, heads: str = "ignored"
) -> Iterator[tuple[str, list, list]]:
    """Code, text and test sentences of the listed languages; `heads` are the text's."""
    if arguments.set == "sources":
        for row in measuring.csv_rows(TREEBANKS):
            if row["treebank"] in arguments.codes:
                text = read(files_of(arguments.data, row["files"]), "required")
                yield row["treebank"], text, text[:200]
        return
    for row in measuring.csv_rows(LISTS / FILES[arguments.set]):
        if row["set"] == arguments.set and row["language"] in (
            arguments.codes or [row["language"]]
        ):
            text, test = (files_of(arguments.data, row[part]) for part in ("text", "test"))
            yield row["language"], read(text, heads), read(test, "required")


def left_out(arguments: argparse.Namespace) -> Iterator[tuple[Scorer, str, list, list]]:
    """Scorers of the option FILE.npz=CODE,CODE,..., with `texts` of each code."""
    for each in arguments.models:
        path, _, codes = str(each).partition("=")
        arguments.set, arguments.codes = "choose", codes.split(",")
        scorer = load(Path(path))
        yield from ((scorer, *text) for text in texts(arguments, "required"))


def calibrate(arguments: argparse.Namespace) -> None:
    """Learns confidence from gold heads of languages left out, the same number of sentences of
    each."""
    samples: dict[str, tuple[list, list, list]] = {}
    for scorer, code, text, _ in left_out(arguments):
        sample = random.Random(1).sample(
            [s for s in text if len(s) <= 40], min(CALIBRATED, len(text))
        )
        engine, _ = engine_for(scorer, text)
        parses = [(parse.heads, parse.margins) for parse in find(engine, sample, margins=True)]
        gold = [np.eye(len(s) + 1)[list(s.heads)].T for s in sample]
        samples[code] = [s.tags for s in sample], parses, gold
    together = ([x for part in parts for x in part] for parts in zip(*samples.values()))
    np.savez(arguments.out, **Calibration.fit(*together).arrays())


def confidence(arguments: argparse.Namespace) -> None:
    """Prints calibration errors of the test files, without and with the shift for the text."""
    path, *further = arguments.models
    model = pack(load(path), {}) if path.suffix == ".npz" else load_model(model_path(path))
    for each in further:
        model.parameters.update(np.load(each))
    scorer, bare, rows = scorer_of(model.parameters), Parser(model), []
    for code, text, test in texts(arguments):
        parser = replace(bare, engine=bare.engine.with_measures(Measures.of(scorer, text)))
        parses = find(parser.engine, test, margins=True)
        rows.append([error(each.calibration, test, parses) for each in (bare, parser)])
        print(
            "{}: ECE {:.1f} without the shift, {:.1f} with it".format(code, *rows[-1]), flush=True
        )
    print("mean ECE: {:.2f} without the shift, {:.2f} with it".format(*np.mean(rows, 0)))


def error(calibration: Calibration, words: list, parses: list) -> float:
    """The calibration error, in points."""
    trees = [each.heads for each in parses]
    right = np.array([a == b for tree, s in zip(trees, words) for a, b in zip(tree, s.heads)])
    arcs = calibration.arcs([s.tags for s in words], trees, [each.margins for each in parses])
    return 100 * calibration_error(calibration(arcs), right)


def relations(arguments: argparse.Namespace) -> None:
    """Prints shares of right relations, before the colon, of gold arcs, and LAS, of up to 40
    words."""
    scorer, rows, shares = load(arguments.models[0]), [], arguments.shares
    for code, text, test in texts(arguments):
        engine, model = engine_for(scorer, text)
        order = labeller_of(model, engine).verb_order_in(s.upos or s.tags for s in text)
        test = [s for s in test if len(s) <= 40]
        gold = np.array([relation.partition(":")[0] for s in test for relation in s.deprels])
        heads = np.array([head for s in test for head in s.heads])
        figures = []
        for trees in ([s.heads for s in test], [each.heads for each in find(engine, test)]):
            for share in shares:
                labeller = Labeller(
                    load_labels(), log_p=engine.log_p, share=share, verb_order=order
                )
                labelled = labeller.predict(
                    [replace(s, heads=tree) for s, tree in zip(test, trees)]
                )
                labels = np.array([relation for s in labelled for relation in s.deprels])
                figures.append(100 * ((labels == gold) & (np.concatenate(trees) == heads)).mean())
        rows.append(figures)
        print(line_of_language(code, shares, figures), flush=True)
    print(line_of_language("mean", shares, np.mean(rows, 0).tolist()))


def line_of_language(name: str, shares: list[float], figures: list[float]) -> str:
    """The line of a language: for each share relations of gold arcs, then LAS."""
    both = zip(shares, figures, figures[len(shares) :])
    return f"{name}: " + "; ".join(
        f"share {s:g}: gold arcs {a:.2f}, LAS {b:.2f}" for s, a, b in both
    )


def untrained(arguments: argparse.Namespace) -> None:
    """Prints DDA where the parsed file itself is measured, and where the language's text was."""
    rows = []
    for scorer, code, text, test in left_out(arguments):
        trained = engine_for(scorer, text)[0]
        for n in BEGINNINGS:
            part = test[:n]
            of_itself = engine_for(scorer, part)[0]
            short = [s for s in part if len(s) <= 40]
            trees = (
                [each.heads for each in find(engine, short)] for engine in (of_itself, trained)
            )
            rows.append((code, n, *(dda(short, each)[1] for each in trees)))
            print("{}, {} sentences: own {:.2f}, text {:.2f}".format(*rows[-1]), flush=True)
    for n in BEGINNINGS:
        figures = np.array([row[2:] for row in rows if row[1] == n])
        print("{} sentences: own {:.2f}, text {:.2f}".format(n, *figures.mean(0)))


def speed(arguments: argparse.Namespace) -> None:
    """Prints CPU seconds, words per CPU second and peak memory of whole programs that take turns.

    The text is that of the dev files of six languages, one after the other; UDPipe 1 parses a tenth
    of it.
    """
    # as an installed program, modules are compiled once
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    print(measuring.conditions())
    with tempfile.TemporaryDirectory() as name:
        whole, tenth, few = (Path(name) / f"{part}.conllu" for part in ("whole", "tenth", "few"))
        dev = files_of(arguments.data, MIXED)
        whole.write_bytes(b"".join(path.read_bytes() for path in dev))
        n_words = sum(len(s) for path in dev for s in reading.read(path))
        n_tenth = whole_program.repeated(str(whole), tenth, n_words // 10)
        three = list(blocks.blocks(str(whole)))[:3]
        few.write_text(whole_program.text_of(three), encoding="utf-8")
        tasks, words = {}, {}
        for model in map(str, arguments.models):
            title = Path(model).name
            if model.endswith(".udpipe"):
                tasks[f"{title}, a tenth"] = [
                    sys.executable,
                    "-c",
                    whole_program.UDPIPE,
                    model,
                    str(tenth),
                ]
                words[f"{title}, a tenth"] = n_tenth
                continue
            for part, file in (("", whole), (", 3 sentences", few)):
                tasks[title + part] = [
                    *whole_program.PARSE,
                    model,
                    str(file),
                    "-o",
                    f"{name}/out.conllu",
                ]
                words[title + part] = n_words
        whole_program.turns(tasks, words, 1)  # the first turn may compile
        rows = whole_program.turns(tasks, words, TURNS)
    measuring.print_table(f"{n_words:,} words", whole_program.HEADER, rows)


def ship(arguments: argparse.Namespace) -> None:
    """Writes the model file of the package."""
    arguments.free, arguments.without, arguments.without_code = True, [], []
    arguments.treebanks = 0
    licences = {row["treebank"]: row["licence"] for row in measuring.csv_rows(TREEBANKS)}
    treebanks, scorer = sources(arguments), load(arguments.models[0])
    numbers = [scorer.measured(list(beginning(each.sentences)))[0].numbers for each in treebanks]
    further = {SOURCES: np.array(numbers, np.float16)}
    for path in arguments.models[1:]:
        further |= np.load(path)
    settings = UniversalSettings(learning=LearningSettings(members=arguments.members))
    save_model(
        arguments.out, pack(scorer, sources_of(treebanks, licences), settings, further=further)
    )


def table(arguments: argparse.Namespace) -> None:
    """Gives a model file the table `best` of resources/rules; all its other arrays and members
    stay."""
    (path,) = arguments.models
    with zipfile.ZipFile(path) as whole:
        entries = {name: whole.read(name) for name in whole.namelist()}
    with opened(path) as archive:
        arrays = archive.arrays("parameters.npz")
    entries["parameters.npz"] = npz(arrays | table_arrays(table_to_learn_under()))
    write(arguments.out or path, entries)


def main() -> None:
    parser = measuring.argument_parser(__doc__)
    commands = parser.add_subparsers(dest="verb", required=True)
    learning = commands.add_parser("learn")
    learning.add_argument(
        "--without", nargs="*", default=[], help="branches; 'checked' for those of the eleven"
    )
    learning.add_argument("--without-code", nargs="*", default=[])
    learning.add_argument("--free", action="store_true")
    learning.add_argument(
        "--treebanks", type=int, default=0, help="learn from so many, taken at random"
    )
    learning.add_argument("--seed", type=int, default=1)
    learning.add_argument("--updates", type=int, default=LearningSettings().updates)
    scoring = commands.add_parser("score")
    further = {
        verb: commands.add_parser(verb)
        for verb in ("calibrate", "confidence", "relations", "untrained", "speed", "ship", "table")
    }
    for each in (scoring, *further.values()):
        each.add_argument("models", nargs="+", type=Path)
    for each in (scoring, further["confidence"], further["relations"]):
        each.add_argument("--set", choices=sorted(FILES), required=True)
        each.add_argument("--codes", nargs="*", default=[])
    further["relations"].add_argument("--shares", nargs="+", type=float, default=[Labeller.share])
    scoring.add_argument(
        "--table", type=float, default=0.0, help="share of the rule table `best` (default: 0)"
    )
    for each in (learning, further["ship"]):
        each.add_argument(
            "--members", type=int, default=1, help="networks whose mean one more learns"
        )
    for each in (learning, scoring, *further.values()):
        each.add_argument("--data", type=Path, required=each is not further["table"])
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
    if arguments.verb in further:
        verbs = calibrate, confidence, relations, untrained, speed, ship, table
        {verb.__name__: verb for verb in verbs}[arguments.verb](arguments)
        return
    shown = [word if word != str(arguments.data) else "DIR" for word in sys.argv[1:]]
    print("python experiments/universal.py", shlex.join(shown))
    scorers = [load(path) for path in arguments.models]
    rows = []
    for code, text, test in texts(arguments):
        test = [s for s in test if len(s) <= 40]
        trees = (
            with_table(scorers, text, test, arguments.table)
            if arguments.table
            else parsed(scorers, text, test)
        )
        rows.append((code, *dda(test, trees)))
        print("{} {:.1f}/{:.1f}".format(*rows[-1]), flush=True)
    print("mean of {}: {:.2f}/{:.2f}".format(len(rows), *np.mean([row[1:] for row in rows], 0)))
    if arguments.out:
        columns = "language", "dda15", "dda40"
        measuring.write_csv(arguments.out, columns, (dict(zip(columns, row)) for row in rows))


if __name__ == "__main__":
    main()
