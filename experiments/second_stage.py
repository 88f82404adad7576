"""The paper's two stages with constraints that bind, on the dev parts of four languages.

    python experiments/second_stage.py DATA --models DIR [--only SETTING ...]    adds what is missing
    python experiments/second_stage.py                                           prints the table

DATA holds the treebanks of the plan paper-ud. A setting is a first stage and what is done after it;
each first stage is trained once for a language and a seed, and its model stays in DIR. Rows of
docs/results/replication-second-stage.csv are one run at one length, in per cent: DDA after each
stage, |lambda| at the end of each, KL(q | q_omega) and the effective samples of gamma, means of the
last 50 updates of each. No test part is read.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from measuring import argument_parser, conditions, csv_rows, write_csv
from page_tables import second_stage
from result_rows import RESULTS

from dynet_vdgi.conllu import filtering, reading
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.evaluation.attachment import score
from dynet_vdgi.experiments.job import commit
from dynet_vdgi.models import model_file
from dynet_vdgi.models.model_file import ModelFile, Provenance
from dynet_vdgi.paper import scores
from dynet_vdgi.paper.greedy import GreedyParser
from dynet_vdgi.paper.recipe import RECIPE
from dynet_vdgi.paper.scores import Score, above_mean, rl_sn, signed
from dynet_vdgi.paper.settings import NeuralSettings
from dynet_vdgi.paper.trainer import Trainer
from dynet_vdgi.settings.presets import load_settings
from dynet_vdgi.system.array_types import Floats
from dynet_vdgi.system.blas import one_thread
from dynet_vdgi.training.input_reader import InputReader
from dynet_vdgi.training.inputs import Inputs

ROWS = RESULTS / "replication-second-stage.csv"
LENGTHS = {"<=15": 15, "<=40": 40}
SEEDS = (1, 2, 3)
TEXTS = {
    "eu": "ud14/eu-ud-train.conllu",
    "fr": "ud14_train_len15/fr-ud-train-nopunct-len15.conllu",
    "it": "ud14_train_len15/it-ud-train-nopunct-len15.conllu",
    "pl": "ud14_train_len15/pl-ud-train-nopunct-len15.conllu",
}
OF_STAGES = tuple(f"{name}_{stage}" for stage in (1, 2) for name in ("dda", "lambda", "kl", "ess"))
COLUMNS = ("setting", "language", "seed", "length", *OF_STAGES, "cpu_s", "commit")

FIRST = {
    "all .95": ("posterior.share=0.95",),
    "all .97": ("posterior.share=0.97",),
    "all .98": ("posterior.share=0.98",),
    "all .99": ("posterior.share=0.99",),
    "all 1": ("posterior.share=1",),
    "each .95": ("posterior.expectations=each_rule", "posterior.share=0.95"),
    "each 1": ("posterior.expectations=each_rule", "posterior.share=1"),
    "capped": ("posterior.expectations=capped",),
}
"""First stages: their constraint."""


def ties_zero(log_ratio: Floats, rule_arcs: Floats) -> Floats:
    """RL-PC, but 0 where all samples have equally many rule arcs."""
    above = above_mean(rule_arcs)
    return signed(rl_sn(log_ratio), above >= 0) * bool(above.any())


SCORES: dict[str, Score] = {
    "ties 0": ties_zero,
    "size only": lambda log_ratio, rule_arcs: np.abs(rl_sn(log_ratio)),
    "1": lambda log_ratio, rule_arcs: np.ones_like(log_ratio),
    "0": lambda log_ratio, rule_arcs: np.zeros_like(log_ratio),
}
"""Scores that the program does not have, for what they tell."""


@dataclass(frozen=True)
class Second:
    """A second stage: the first one before it, changes to `OF_EQ_16`, and a score of `SCORES`."""

    first: str
    changes: tuple[str, ...] = ()
    score: str = ""


OF_EQ_16 = (
    "finetune.updates=100",
    "finetune.lr=0.002",
    "finetune.score=rl-pc",
    "finetune.decoder=score",
    "finetune.first_lambda=carried",
)
"""A second stage of the paper's RL-PC, with our updates and rate; ties are positive by default."""

ZERO, PLAIN = "finetune.first_lambda=zero", "finetune.decoder=plain"
LR01, SN, TIES = "finetune.lr=0.01", "finetune.score=rl-sn", "finetune.ties=rl-sn"
SETTINGS: dict[str, Second | None] = {
    "all .95, from 0": Second("all .95", (ZERO,)),
    "all 1, from 0": Second("all 1", (ZERO,)),
    "all 1": Second("all 1"),
    "all .98": Second("all .98"),
    "each 1": Second("each 1"),
    "capped": Second("capped"),
    "all .95, score 1": Second("all .95", score="1"),
    "all 1, score 1": Second("all 1", score="1"),
    "all 1, plain": Second("all 1", (PLAIN,)),
    "all 1, ties 0": Second("all 1", score="ties 0"),
    "all 1, ties by ELBO": Second("all 1", (TIES,)),
    "all 1, ties by ELBO, plain": Second("all 1", (TIES, PLAIN)),
    "all 1, ties by ELBO, plain, 300": Second("all 1", (TIES, PLAIN, "finetune.updates=300")),
    "all 1, ties by ELBO, .01": Second("all 1", (TIES, LR01)),
    "all 1, ties by ELBO, plain, .01": Second("all 1", (TIES, LR01, PLAIN)),
    "each 1, ties by ELBO": Second("each 1", (TIES,)),
    "each 1, ties by ELBO, plain": Second("each 1", (TIES, PLAIN)),
    "all .98, ties by ELBO": Second("all .98", (TIES,)),
    "all .98, ties by ELBO, plain": Second("all .98", (TIES, PLAIN)),
    "all .95, then all 1, ties by ELBO": Second("all .95", (TIES, "posterior.share=1")),
    "all .98, ties by ELBO, plain, 300": Second("all .98", (TIES, PLAIN, "finetune.updates=300")),
    "all .98, then all 1, ties by ELBO, plain": Second(
        "all .98", (TIES, PLAIN, "posterior.share=1")
    ),
    "all .98, ties by ELBO, plain, .005": Second("all .98", (TIES, PLAIN, "finetune.lr=0.005")),
    "all .95, then all 1, ties by ELBO, plain": Second(
        "all .95", (TIES, PLAIN, "posterior.share=1")
    ),
    "all .98, plain": Second("all .98", (PLAIN,)),
    "all .98, ties by ELBO, plain, from 0": Second("all .98", (TIES, PLAIN, ZERO)),
    "all .98, RL-SN, plain": Second("all .98", (SN, PLAIN)),
    "each .95, ties by ELBO, plain": Second("each .95", (TIES, PLAIN)),
    "all .99, ties by ELBO, plain": Second("all .99", (TIES, PLAIN)),
    "all .99, then all 1, ties by ELBO, plain": Second(
        "all .99", (TIES, PLAIN, "posterior.share=1")
    ),
    "all .97, ties by ELBO, plain": Second("all .97", (TIES, PLAIN)),
    "all 1, RL-SN, plain": Second("all 1", (SN, PLAIN)),
    "all 1, RL-C": Second("all 1", ("finetune.score=rl-c",)),
    "all 1, .01": Second("all 1", (LR01,)),
    "all .95, RL-SN": Second("all .95", (SN, ZERO)),
    "all .95, RL-SN, plain": Second("all .95", (SN, ZERO, PLAIN)),
    "all .95, RL-SN, size only": Second("all .95", (ZERO,), score="size only"),
    "all 1, then all .95": Second("all 1", ("posterior.share=0.95",)),
    "all .95, then all 1": Second("all .95", ("posterior.share=1",)),
}
"""Second stages by name."""


@dataclass
class Treebank:
    """The text of a language, and its dev sentences by length."""

    text: str
    dev: Mapping[str, list[Sentence]]

    @classmethod
    def of(cls, data: Path, language: str) -> Treebank:
        """That of the plan paper-ud."""
        path = str(data / f"ud14/{language}-ud-dev.conllu")
        dev = filtering.prepare(reading.read(path, heads="required")).sentences
        by_length = {name: [s for s in dev if len(s) <= n] for name, n in LENGTHS.items()}
        return cls(str(data / TEXTS[language]), by_length)

    def dda(self, model: ModelFile) -> dict[str, float]:
        """DDA of a model by length, in per cent."""
        assert isinstance(model.settings, NeuralSettings)
        parser, of_length = (
            GreedyParser(model.parameters, model.vocabulary, model.settings.parser),
            {},
        )
        for name, dev in self.dev.items():
            encoded = [model.vocabulary.encode(s.forms, s.tags) for s in dev]
            of_length[name] = 100 * score(dev, parser.parse(encoded)).dda
        return of_length


def trained(
    treebank: Treebank, seed: int, changes: Sequence[str], init: Path | None = None
) -> tuple[ModelFile, dict[str, str]]:
    """A model of the preset `pretraining` with some changes, and figures of its last 50 updates."""
    begun = time.process_time()
    settings = load_settings(["pretraining"], [f"seed={seed}", *changes])
    assert isinstance(settings, NeuralSettings)
    inputs = Inputs({"": (treebank.text,)}, init=str(init) if init else None)
    settings, material = RECIPE.prepare(InputReader(inputs, settings.data), settings)
    trainer = Trainer(settings, material, Provenance())
    trainer.train()
    last = trainer.log.rows()[-1]
    columns = {"lambda": "lambda_norm", "kl": "kl", "ess": "gamma_ess"}
    figures = {name: f"{last[key]:.4f}" for name, key in columns.items()}
    return trainer.model_file(True), figures | {"cpu_s": f"{time.process_time() - begun:.1f}"}


def first_stage(
    treebank: Treebank, name: str, language: str, seed: int, folder: Path
) -> tuple[Path, dict[str, str]]:
    """The model of a first stage, and its figures; trained unless it is there."""
    path = folder / f"{name} {language} {seed}.vdgi"
    table = path.with_suffix(".csv")
    if not table.exists():
        model, figures = trained(treebank, seed, (*FIRST[name], "finetune.updates=0"))
        folder.mkdir(parents=True, exist_ok=True)
        model_file.save(path, model)
        dda = {f"dda {length}": f"{each:.3f}" for length, each in treebank.dda(model).items()}
        write_csv(table, [*figures, *dda], [{**figures, **dda}])
    return path, csv_rows(table)[0]


def rows_of_run(
    treebank: Treebank, setting: str, language: str, seed: int, folder: Path
) -> list[dict[str, Any]]:
    """The rows of one run of a setting, a line for each length."""
    second = SETTINGS[setting]
    assert second is not None
    path, before = first_stage(treebank, second.first, language, seed, folder)
    of_paper = scores.SCORES["rl-pc"]
    scores.SCORES["rl-pc"] = SCORES.get(second.score, of_paper)
    try:
        changes = (*FIRST[second.first], "train.updates=0", *OF_EQ_16, *second.changes)
        model, after = trained(treebank, seed, changes, path)
    finally:
        scores.SCORES["rl-pc"] = of_paper
    run = {"setting": setting, "language": language, "seed": seed, "commit": commit()}
    for name in ("lambda", "kl", "ess"):
        run |= {f"{name}_1": before[name], f"{name}_2": after[name]}
    run["cpu_s"] = f"{float(before['cpu_s']) + float(after['cpu_s']):.1f}"
    return [
        {**run, "length": length, "dda_1": before[f"dda {length}"], "dda_2": f"{dda:.3f}"}
        for length, dda in treebank.dda(model).items()
    ]


def place(row: Mapping[str, Any]) -> tuple[int, str, int, str]:
    """By which rows are sorted: settings in their order, then languages, seeds, lengths."""
    return list(SETTINGS).index(row["setting"]), row["language"], int(row["seed"]), row["length"]


def main() -> None:
    """Runs what is missing, and prints the table."""
    parser = argument_parser(__doc__)
    parser.add_argument("data", type=Path, nargs="?", help="without it, rows are only printed")
    parser.add_argument("--models", type=Path, help="folder of the first stages' models")
    parser.add_argument("--only", nargs="*", choices=SETTINGS, metavar="SETTING")
    parser.add_argument("--languages", nargs="*", default=[*TEXTS], choices=TEXTS)
    parser.add_argument("--seeds", nargs="*", type=int, default=SEEDS)
    parser.add_argument("--rows", type=Path, default=ROWS, help="CSV file of the rows")
    arguments = parser.parse_args()
    at_start = conditions()
    rows: list[dict[str, Any]] = [*csv_rows(arguments.rows)]
    logging.getLogger("dynet_vdgi").setLevel(logging.WARNING)
    have = {(row["setting"], row["language"], str(row["seed"])) for row in rows}
    with one_thread():
        for setting in (arguments.only or SETTINGS) if arguments.data else ():
            for language in arguments.languages:
                treebank = Treebank.of(arguments.data, language)
                for seed in arguments.seeds:
                    if (setting, language, str(seed)) not in have:
                        rows += rows_of_run(treebank, setting, language, seed, arguments.models)
                        rows.sort(key=place)
                        write_csv(arguments.rows, COLUMNS, rows)
    print(f"{at_start}\n")
    for seeds in (("1", "2", "3"), ("4", "5")):
        made = [{name: str(value) for name, value in row.items()} for row in rows]
        print(f"seeds {' '.join(seeds)}\n\n{second_stage(made, seeds)}\n")


if __name__ == "__main__":
    main()
