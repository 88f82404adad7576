"""The training loop: one loop for every phase, resumable at any checkpoint with the same result.

Every random number follows from the seed and the number of the epoch or update it is needed in, so there is
no generator whose state could be lost.
"""

from __future__ import annotations

import logging
import math
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from dynet_vdgi.config import LOG_NAME, MODEL_NAME, Settings
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.data.vocabulary import Encoded, Vocabulary
from dynet_vdgi.errors import ModelError
from dynet_vdgi.evaluation.attachment import score
from dynet_vdgi.grammar.rules import RuleSet
from dynet_vdgi.learning import checkpoint
from dynet_vdgi.learning.checkpoint import Arrays, ModelFile
from dynet_vdgi.learning.optimiser import AdaGrad
from dynet_vdgi.learning.phases import Diagnostics, Pretraining
from dynet_vdgi.learning.posterior import Lambda
from dynet_vdgi.learning.runlog import RunLog, console_row, heading
from dynet_vdgi.model import lockstep, per_sentence
from dynet_vdgi.model.per_sentence import Network
from dynet_vdgi.parsing.arena import Arena

SAVE_EVERY_S = 30.0
"""Evaluations closer together than this do not write a checkpoint each; the last one always does."""

_ORDER, _SAMPLES, _START = 1, 2, 0  # independent streams of random numbers of one seed

logger = logging.getLogger("dynet_vdgi")


@dataclass(frozen=True)
class TrainingData:
    """What is trained on. `dev` holds sentences with gold trees, and is empty unless they are to be used."""

    sentences: list[Sentence]
    dev: list[Sentence]
    vocabulary: Vocabulary
    rules: RuleSet


def minibatches(lengths: Sequence[int], size: int, rng: np.random.Generator) -> list[list[int]]:
    """One epoch: every sentence once, in random batches of at most `size` sentences of equal length."""
    by_length: dict[int, list[int]] = {}
    for k in rng.permutation(len(lengths)).tolist():
        by_length.setdefault(lengths[k], []).append(k)
    batches = [ids[i : i + size] for ids in by_length.values() for i in range(0, len(ids), size)]
    return [batches[k] for k in rng.permutation(len(batches)).tolist()]


def word_rows(network: Network, sentences: Sequence[Encoded]) -> dict[str, list[int]]:
    """The rows of trained word-vector tables that these sentences use, as `AdaGrad.update` takes them."""
    words = sorted({word for sentence in sentences for word in sentence.words})
    return dict.fromkeys(network.parameters.by_word - network.parameters.frozen, words)


class Trainer:
    """State of a run: networks, optimiser, lambda, and how many updates have been made."""

    def __init__(self, settings: Settings, data: TrainingData, meta: dict[str, Any], run_dir: Path) -> None:
        self.settings, self.data, self.meta, self.run_dir = settings, data, meta, run_dir
        seed = settings.train.seed
        self.network = Network(data.vocabulary, settings.model, np.random.default_rng([seed, _START]))
        self.optimiser = AdaGrad(self.network.parameters, settings.train)
        self.lam = Lambda(settings.posterior, data.rules.expectations)
        self.phase = Pretraining(data.rules, data.vocabulary.tags, self.lam)
        self.encoded = [data.vocabulary.encode(s.forms, s.tags) for s in data.sentences]
        self.dev = [data.vocabulary.encode(s.forms, s.tags) for s in data.dev]
        self.log = RunLog(run_dir / LOG_NAME)
        self.best_dev: float | None = None
        self.best_parameters: Arrays = {}
        self.saved_at = float("-inf")

    # ------------------------------------------------------------------------------------- checkpoints
    @property
    def path(self) -> Path:
        """The model file, which is also the checkpoint."""
        return self.run_dir / MODEL_NAME

    def _parameters(self) -> Arrays:
        """The weights to parse with."""
        return self.best_parameters or self._present()

    def _present(self) -> Arrays:
        """The weights as they are now, averaged if the settings say so."""
        return dict(self.optimiser.averaged() if self.settings.train.average else self.optimiser.current())

    def save(self, complete: bool) -> None:
        """Writes the model file."""
        model = ModelFile(
            meta={
                **self.meta,
                "updates": self.optimiser.updates,
                "complete": complete,
                "dev_dda": self.best_dev,
            },
            settings=self.settings,
            vocabulary=self.data.vocabulary,
            rules=self.data.rules,
            parameters=self._parameters(),
            training={
                **self.optimiser.state(),
                "lambda": self.lam.value,
                "lambda_velocity": self.lam.velocity,
            },
            progress={
                "update": self.optimiser.updates,
                "seed": self.settings.train.seed,
                "best_dev": self.best_dev,
            },
        )
        checkpoint.save(self.path, model)
        self.saved_at = time.monotonic()

    def resume(self) -> None:
        """Goes back to the checkpoint in the run's folder.

        Raises:
            ModelError: it belongs to other settings, data, rules or vocabulary, or cannot be read.
        """
        model = checkpoint.load(self.path, training=True)
        ours, theirs = self.settings.to_dict(), model.settings.to_dict()
        changed = [
            f"{section}.{name} was {theirs[section][name]}, now {value}"
            for section, values in ours.items()
            for name, value in values.items()
            if value != theirs[section][name]
        ]
        rules, its_rules = self.data.rules, model.rules
        for what, is_other in (
            (f"settings ({'; '.join(changed)})", bool(changed)),
            ("rules", (rules.rules, rules.classes) != (its_rules.rules, its_rules.classes)),
            ("data", self.meta.get("data") != model.meta.get("data")),
            ("vocabulary", self.data.vocabulary != model.vocabulary),
        ):
            if is_other:
                raise ModelError(
                    f"{self.path}: its {what} differ from those asked for now, so it cannot be resumed; "
                    "choose another folder"
                )
        try:
            self.optimiser.load_state(model.training)
            self.lam.value, self.lam.velocity = model.training["lambda"], model.training["lambda_velocity"]
            self.best_dev = model.progress["best_dev"]
            for name in self.network.parameters.frozen:  # follow from the seed, if NumPy is the same
                self.network.parameters.set(name, model.parameters[name])
        except KeyError as error:
            raise ModelError(f"{self.path}: it lacks {error}, so it cannot be resumed") from None
        if self.best_dev is not None:
            self.best_parameters = model.parameters
        self.log.restart(self.optimiser.updates)

    # ------------------------------------------------------------------------------------- training
    def _epoch(self, epoch: int) -> list[list[int]]:
        """The batches of one epoch, in their order; as many in every epoch."""
        rng = np.random.default_rng([self.settings.train.seed, _ORDER, epoch])
        return minibatches([len(s) for s in self.encoded], self.settings.train.batch_size, rng)

    def update(self, batch: Sequence[int]) -> float:
        """One update from a batch of sentence numbers; returns the gradient's norm before clipping."""
        train = self.settings.train
        rng = np.random.default_rng([train.seed, _SAMPLES, self.optimiser.updates])
        sentences = [self.encoded[k] for k in batch]
        engine = lockstep if train.engine == "lockstep" else per_sentence
        engine.accumulate(self.network, sentences, self.phase, rng, train)
        return self.optimiser.update(word_rows(self.network, sentences))

    def train(self) -> None:
        """Trains from the present update to the last, evaluating and saving on the way."""
        train, progress_shown = self.settings.train, sys.stderr.isatty() and logger.isEnabledFor(logging.INFO)
        batches, loaded = self._epoch(0), 0
        per_epoch = len(batches)
        total = min(train.updates or math.inf, train.epochs * per_epoch if train.epochs else math.inf)
        norms: list[float] = []
        clock = _Clock()
        logger.info(heading())
        with tqdm(
            total=total,
            initial=self.optimiser.updates,
            unit="update",
            disable=not progress_shown,
            leave=False,
        ) as progress:
            while self.optimiser.updates < total:
                epoch, position = divmod(self.optimiser.updates, per_epoch)
                if epoch != loaded:
                    batches, loaded = self._epoch(epoch), epoch
                norms.append(self.update(batches[position]))
                progress.update()
                done = self.optimiser.updates
                if done % train.evaluate_every == 0 or done == total:
                    row = self._evaluate(done / per_epoch, norms, clock)
                    self.log.append(row)
                    progress.clear()
                    logger.info(console_row(row))
                    norms, clock = [], _Clock()
                    if done == total or time.monotonic() - self.saved_at > SAVE_EVERY_S:
                        self.save(complete=done == total)

    def _evaluate(self, epoch: float, norms: list[float], clock: _Clock) -> dict[str, Any]:
        """Figures since the last evaluation, and dev DDA where gold dev trees are in use."""
        diagnostics, self.phase.diagnostics = self.phase.diagnostics, Diagnostics()
        cpu, wall = clock.elapsed()
        row: dict[str, Any] = {
            "phase": self.phase.name,
            "epoch": round(epoch, 3),
            "update": self.optimiser.updates,
            "sentences": diagnostics.sentences,
            "words": diagnostics.words,
            **{name: round(value, 5) for name, value in diagnostics.averages().items()},
            "lambda_norm": round(float(np.linalg.norm(self.lam.value)), 5),
            "gradient_norm": round(float(np.mean(norms)), 5),
            "dev_dda": None,
            "cpu_s": round(cpu, 2),
            "wall_s": round(wall, 2),
            "sentences_per_cpu_s": round(diagnostics.sentences / max(cpu, 1e-9), 1),
        }
        if self.dev:
            row["dev_dda"] = round(self._dev_dda(), 5)
        return row

    def _dev_dda(self) -> float:
        """DDA on the dev sentences; with `select = dev` the best weights so far are kept."""
        train = self.settings.train
        candidate = self._present()
        heads = Arena(candidate, self.settings.model).parse(self.dev)
        dda = score(self.data.dev, heads).dda
        if train.select == "dev" and (self.best_dev is None or dda > self.best_dev):
            self.best_dev = dda
            self.best_parameters = {name: value.copy() for name, value in candidate.items()}
        return dda


class _Clock:
    """CPU and wall seconds since it was made."""

    def __init__(self) -> None:
        self.cpu, self.wall = time.process_time(), time.perf_counter()

    def elapsed(self) -> tuple[float, float]:
        return time.process_time() - self.cpu, time.perf_counter() - self.wall
