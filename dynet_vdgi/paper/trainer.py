"""The training loop: one loop for every phase, resumable at any checkpoint with the same result.

Every random number follows from the seed and the number of its epoch or update, so there is no generator
whose state could be lost.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from dynet_vdgi.conllu.vocabulary import Encoded
from dynet_vdgi.errors import ModelError
from dynet_vdgi.evaluation.attachment import score
from dynet_vdgi.models import model_file
from dynet_vdgi.models.archive import Arrays
from dynet_vdgi.models.material import Material
from dynet_vdgi.models.model_file import ModelFile, Provenance
from dynet_vdgi.models.run_log import RunLog, console_row, heading
from dynet_vdgi.paper import lockstep, per_sentence
from dynet_vdgi.paper.baseline import Baseline
from dynet_vdgi.paper.greedy import GreedyParser
from dynet_vdgi.paper.language_model import train_language_model
from dynet_vdgi.paper.minibatches import minibatches
from dynet_vdgi.paper.network import Network
from dynet_vdgi.paper.optimiser import AVERAGE, VALUE, AdaGrad
from dynet_vdgi.paper.phases import Diagnostics, Finetuning, Pretraining, Supervised
from dynet_vdgi.paper.posterior import Lambda, RuleCounts
from dynet_vdgi.paper.settings import NeuralSettings
from dynet_vdgi.paper.transitions import oracle
from dynet_vdgi.settings.settings import LOG_NAME, MODEL_NAME
from dynet_vdgi.system.array_types import Floats
from dynet_vdgi.system.messages import count
from dynet_vdgi.system.progress import Bar

SAVE_EVERY_S = 30.0
"""Evaluations closer together than this share a checkpoint; the last one always writes one."""

_ORDER, _SAMPLES, _START = 1, 2, 0  # independent streams of random numbers of one seed

logger = logging.getLogger("dynet_vdgi")


@dataclass(frozen=True)
class Stage:
    """A part of the training with a phase and an optimiser of its own: updates `first` to `last` - 1."""

    phase: str
    first: int
    last: int
    lr: float
    clip: float


def stages(settings: NeuralSettings, per_epoch: int) -> list[Stage]:
    """The stages of a run, in their order, given the number of batches in an epoch."""
    found: list[Stage] = []
    for phase, part in (("pretrain", settings.train), ("finetune", settings.finetune)):
        if part.updates or part.epochs:
            ends = [end for end in (part.updates, part.epochs * per_epoch) if end]
            first = found[-1].last if found else 0
            found.append(Stage(phase, first, first + min(ends), part.lr, part.clip))
    return found


class Trainer:
    """State of a run: networks, the stage with its phase and optimiser, the number of updates made."""

    def __init__(
        self,
        settings: NeuralSettings,
        data: Material,
        provenance: Provenance,
        run_dir: Path | None = None,
    ) -> None:
        self.settings, self.data, self.run_dir = settings, data, run_dir
        used = [f"training: {count(len(data.trees), 'tree')} learnt from"] if data.trees else []
        if data.dev:
            used.append(f"dev: {'choice of the model' if settings.chooses_on_dev else 'progress figures only'}")
        self.provenance = provenance.with_(
            dynet=metadata.version("dyNET38"), gold_trees=(*provenance.gold_trees, *used)
        )
        rng = np.random.default_rng([settings.seed, _START])
        self.network = Network(data.vocabulary, settings.parser, rng, data.vectors)
        if data.start:
            self.network.parameters.load(dict(data.start))
        self.encoded = [data.vocabulary.encode(s.forms, s.tags) for s in (*data.sentences, *data.trees)]
        self.gold = {k: oracle(s.heads or ()) for k, s in enumerate(data.trees, len(data.sentences))}
        self.features = RuleCounts(data.rules, data.vocabulary.tags, settings.posterior)
        self.dev = [data.vocabulary.encode(s.forms, s.tags) for s in data.dev]
        self.log = RunLog(run_dir / LOG_NAME if run_dir else None)
        self.best_score: float | None = None
        self.best_parameters: Arrays = {}
        self.saved_at = float("-inf")
        self.per_epoch = len(self._epoch(0))  # batches; as many in every epoch
        self.stages = stages(settings, self.per_epoch)
        self.supervised = Supervised()
        self._enter(self.stages[0])

    def _enter(self, stage: Stage) -> None:
        """Begins a stage, with the weights the networks have now."""
        self.stage = stage
        lam = Lambda(self.settings.posterior, self.features.start, joint=stage.phase == "finetune")
        if stage.phase == "pretrain":
            self.phase: Pretraining | Finetuning = Pretraining(self.features, lam)
        else:
            self.phase = Finetuning(self.features, lam, self.settings.finetune, self._baseline())
        train = msgspec.structs.replace(self.settings.train, lr=stage.lr, clip=stage.clip)
        self.optimiser = AdaGrad(self.network.parameters, train, self.phase.joint_values())

    def _baseline(self) -> Baseline | None:
        """The baseline of RL-BL, whose language model is trained here."""
        if self.settings.finetune.score != "rl-bl":
            return None
        sentences, seed = self.encoded[: len(self.data.sentences)], self.settings.seed
        nll: dict[Encoded, float] = {}
        if sentences:  # trees alone have no scores
            nll = train_language_model(sentences, self.data.vocabulary, self.settings.language_model, seed)
        return Baseline(nll, joint=self.settings.finetune.form == "released")

    @property
    def updates(self) -> int:
        """Updates made so far, in all stages."""
        return self.stage.first + self.optimiser.updates

    # ------------------------------------------------------------------------------------- checkpoints
    @property
    def path(self) -> Path | None:
        """The model file, which is also the checkpoint; None for a run in memory."""
        return self.run_dir / MODEL_NAME if self.run_dir else None

    def _parameters(self) -> Arrays:
        """The weights to parse with."""
        return self.best_parameters or self._present()

    def _present(self) -> Arrays:
        """The present weights, averaged if the settings say so."""
        return dict(self.optimiser.weights(AVERAGE if self.settings.train.average else VALUE))

    def model_file(self, complete: bool) -> ModelFile:
        """The present model, with everything needed to resume."""
        chosen = {"dev_dda": self.best_score} if self.settings.chooses_on_dev else {}
        return ModelFile(
            provenance=self.provenance.with_(updates=self.updates, complete=complete, **chosen),
            settings=self.settings,
            vocabulary=self.data.vocabulary,
            rules=self.data.rules,
            parameters=self._parameters(),
            training={**self.optimiser.state(), **self.phase.state()},
            progress={
                "update": self.updates,
                "stage": self.stages.index(self.stage),
                "seed": self.settings.seed,
                "best_score": self.best_score,
            },
        )

    def save(self, complete: bool) -> None:
        """Writes the model file, if the run has a folder."""
        if self.path:
            model_file.save(self.path, self.model_file(complete))
        self.saved_at = time.monotonic()

    def resume(self, model: ModelFile) -> None:
        """Continues from a checkpoint of the same run, see `model_file.differences`.

        Raises: ModelError, the checkpoint is incomplete.
        """
        try:
            number = model.progress["stage"]
            if number not in range(len(self.stages)):
                raise ModelError(f"{self.path}: it is in a stage that its settings do not have")
            stage = self.stages[number]
            if stage is not self.stage:
                self._enter(stage)
            self.optimiser.load_state(model.training)
            self.phase.load_state(model.training)
            self.best_score = model.progress["best_score"]
            for name in self.network.parameters.frozen:  # follow from the seed, if NumPy is the same
                self.network.parameters.set(name, model.parameters[name])
        except KeyError as error:
            raise ModelError(f"{self.path}: it lacks {error}, so it cannot be resumed") from None
        except (TypeError, ValueError) as error:  # numbers of another shape
            raise ModelError(f"{self.path}: it is damaged, so it cannot be resumed: {error}") from None
        if self.best_score is not None:
            self.best_parameters = model.parameters
        self.log.restart(self.updates)

    # ------------------------------------------------------------------------------------- training
    def _epoch(self, epoch: int) -> list[list[int]]:
        """The batches of one epoch, as numbers of sentences."""
        rng = np.random.default_rng([self.settings.seed, _ORDER, epoch])
        kinds = [(len(sentence), k in self.gold) for k, sentence in enumerate(self.encoded)]
        return minibatches(kinds, self.settings.train.batch_size, rng)

    def update(self, batch: Sequence[int]) -> float:
        """One update from a batch of sentence numbers; returns the gradient's norm before clipping."""
        train = self.settings.train
        rng = np.random.default_rng([self.settings.seed, _SAMPLES, self.updates])
        sentences = [self.encoded[k] for k in batch]
        engine = lockstep if train.engine == "lockstep" else per_sentence
        if batch[0] in self.gold:
            derivations = [self.gold[k] for k in batch]
            engine.accumulate(self.network, sentences, self.supervised, rng, train, derivations)
        else:
            engine.accumulate(self.network, sentences, self.phase, rng, train)
        words, parameters = sorted({word for s in sentences for word in s.words}), self.network.parameters
        rows = dict.fromkeys(parameters.by_word - parameters.frozen, words)
        norm = self.optimiser.update(rows, self.phase.joint_gradients(len(sentences)))
        self.phase.take(self.optimiser.in_numpy[VALUE])
        return norm

    def train(self) -> None:
        """Trains from the present update to the last, with evaluations and checkpoints."""
        logger.info(heading())
        with Bar("updates", self.stages[-1].last, self.updates) as bar:
            for stage in self.stages[self.stages.index(self.stage) :]:
                if stage is not self.stage:
                    self.network.parameters.load(self._parameters())
                    self.best_score, self.best_parameters = None, {}  # the second stage may be worse
                    self._enter(stage)
                self._train_stage(bar)

    def _train_stage(self, bar: Bar) -> None:
        """The rest of the present stage."""
        train, last = self.settings.train, self.stage.last
        norms: list[dict[str, float]] = []
        clock, loaded, batches = _clock(), -1, []
        while self.updates < last:
            epoch, position = divmod(self.updates, self.per_epoch)
            if epoch != loaded:
                batches, loaded = self._epoch(epoch), epoch
            norm = self.update(batches[position])
            norms.append({"": norm, **self.optimiser.norms})
            bar.update()
            done = self.updates
            if (done - self.stage.first) % train.evaluate_every == 0 or done == last:
                row = self._evaluate(done / self.per_epoch, norms, clock)
                self.log.append(row)
                bar.clear()
                logger.info(console_row(row))
                norms, clock = [], _clock()
                if done == last or time.monotonic() - self.saved_at > SAVE_EVERY_S:
                    self.save(complete=done == self.stages[-1].last)

    def _evaluate(self, epoch: float, norms: list[dict[str, float]], began: Floats) -> dict[str, Any]:
        """Figures since the last evaluation, and DDA by gold dev trees, if there are any."""
        figures, sentences, words = {}, 0, 0
        for phase in (self.phase, self.supervised):
            figures.update(phase.diagnostics.averages())
            sentences += phase.diagnostics.sentences
            words += phase.diagnostics.words
            phase.diagnostics = Diagnostics()
        for part in norms[0]:
            name = f"gradient_norm_{part}" if part else "gradient_norm"
            figures[name] = float(np.mean([norm.get(part, 0.0) for norm in norms]))
        cpu, wall = (_clock() - began).tolist()
        return {
            "phase": self.phase.name,
            "epoch": round(epoch, 3),
            "update": self.updates,
            "sentences": sentences,
            "words": words,
            **{name: round(value, 5) for name, value in figures.items()},
            "lambda_norm": round(float(np.linalg.norm(self.phase.lam.value)), 5),
            "dev_dda": round(self._dev_dda(), 5) if self.dev else None,
            "cpu_s": round(cpu, 2),
            "wall_s": round(wall, 2),
            "sentences_per_cpu_s": round(sentences / max(cpu, 1e-9), 1),
        }

    def _dev_dda(self) -> float:
        """DDA of the present weights, which are kept if it is the best so far and chooses the model."""
        candidate = self._present()
        parser = GreedyParser(candidate, self.data.vocabulary, self.settings.parser)
        dda = score(self.data.dev, parser.parse(self.dev)).dda
        if self.settings.chooses_on_dev and (self.best_score is None or dda > self.best_score):
            self.best_score = dda
            self.best_parameters = {name: array.copy() for name, array in candidate.items()}
        return dda


def _clock() -> Floats:
    """CPU and wall seconds (2,)."""
    return np.array([time.process_time(), time.perf_counter()])
