"""The training loop: one loop for every phase, resumable at any checkpoint with the same result.

Every random number follows from the seed and the number of its epoch or update, so there is no
generator whose state could be lost.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from dynet_vdgi.conllu.vocabulary import Encoded
from dynet_vdgi.errors import ModelError
from dynet_vdgi.evaluation.attachment import score
from dynet_vdgi.models import model_file
from dynet_vdgi.models.archive import Arrays
from dynet_vdgi.models.model_file import ModelFile, Provenance
from dynet_vdgi.models.run_log import RunLog, console_row, end_of_stage, heading
from dynet_vdgi.paper import lockstep, per_sentence
from dynet_vdgi.paper.diagnostics import Diagnostics
from dynet_vdgi.paper.greedy import GreedyParser
from dynet_vdgi.paper.language_model import train_language_model
from dynet_vdgi.paper.minibatches import minibatches
from dynet_vdgi.paper.network import Network
from dynet_vdgi.paper.optimiser import AVERAGE, VALUE
from dynet_vdgi.paper.phases import Supervised
from dynet_vdgi.paper.settings import NeuralSettings
from dynet_vdgi.paper.stages import Stage, optimiser_of, phase_of, posterior_of, rule_counts, stages
from dynet_vdgi.paper.transitions import oracle
from dynet_vdgi.settings.settings import LOG_NAME, MODEL_NAME
from dynet_vdgi.system.array_types import Floats
from dynet_vdgi.system.messages import count
from dynet_vdgi.system.progress import Bar
from dynet_vdgi.training.material import Material

SAVE_EVERY_S = 30.0
"""Evaluations closer together than this share a checkpoint; the last one always writes one."""

GRADIENT_NORM = "gradient_norm"
"""The log's column of the whole gradient's norm; those of the model's parts have the part's name
behind it."""

_ORDER, _SAMPLES, _START = 1, 2, 0  # independent streams of random numbers of one seed

logger = logging.getLogger("dynet_vdgi")


class Trainer:
    """State of a run: networks, the stage with its phase and optimiser, the updates made."""

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
            use = "choice of the model" if settings.chooses_on_dev else "progress figures only"
            used.append(f"dev: {use}")
        self.provenance = provenance.with_(
            dynet=metadata.version("dyNET38"), gold_trees=(*provenance.gold_trees, *used)
        )
        rng = np.random.default_rng([settings.seed, _START])
        self.network = Network(data.vocabulary, settings.parser, rng, data.vectors)
        if data.start:
            self.network.parameters.load(dict(data.start))
        self.encoded = [
            data.vocabulary.encode(s.forms, s.tags) for s in (*data.sentences, *data.trees)
        ]
        self.gold = {
            k: oracle(s.heads or ()) for k, s in enumerate(data.trees, len(data.sentences))
        }
        self.dev = [data.vocabulary.encode(s.forms, s.tags) for s in data.dev]
        self.log = RunLog(run_dir / LOG_NAME if run_dir else None)
        self.best_score: float | None = None
        self.best_parameters: Arrays = {}
        self.saved_at = float("-inf")
        self.per_epoch = len(self._epoch(0))  # batches; as many in every epoch
        self.stages = stages(settings, self.per_epoch)
        self.supervised = Supervised()
        self._enter(self.stages[0], data.start_lambda)

    def _enter(self, stage: Stage, lambda_before: Floats | None) -> None:
        """Begins a stage, with the weights the networks have now; `lambda_before` as in
        `phase_of`."""
        self.stage = stage
        nll = (
            self._language_model()
            if stage.phase == "finetune" and self.settings.finetune.score == "rl-bl"
            else {}
        )
        posterior = posterior_of(stage.phase, self.settings)
        self.features = rule_counts(self.data.rules, self.data.vocabulary.tags, posterior)
        self.phase = phase_of(stage.phase, self.settings, self.features, nll, lambda_before)
        self.optimiser = optimiser_of(stage, self.settings, self.network.parameters, self.phase)

    def _language_model(self) -> dict[Encoded, float]:
        """-log p(x) of the text's sentences, for RL-BL, by a language model trained here."""
        sentences = self.encoded[: len(self.data.sentences)]
        if not sentences:  # trees alone have no scores
            return {}
        return train_language_model(
            sentences, self.data.vocabulary, self.settings.language_model, self.settings.seed
        )

    @property
    def updates(self) -> int:
        """Updates made so far, in all stages."""
        return self.stage.first + self.optimiser.updates

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
                self._enter(stage, self.phase.lam.value)
            self.optimiser.load_state(model.training)
            self.phase.load_state(model.training)
            self.best_score = model.progress["best_score"]
            # follow from the seed, if NumPy is the same
            for name in self.network.parameters.frozen:
                self.network.parameters.set(name, model.parameters[name])
        except KeyError as error:
            raise ModelError(f"{self.path}: it lacks {error}, so it cannot be resumed") from None
        except (TypeError, ValueError) as error:  # numbers of another shape
            raise ModelError(
                f"{self.path}: it is damaged, so it cannot be resumed: {error}"
            ) from None
        if self.best_score is not None:
            self.best_parameters = model.parameters
        self.log.restart(self.updates)

    def _epoch(self, epoch: int) -> list[list[int]]:
        """The batches of one epoch, as numbers of sentences."""
        rng = np.random.default_rng([self.settings.seed, _ORDER, epoch])
        kinds = [(len(sentence), k in self.gold) for k, sentence in enumerate(self.encoded)]
        return minibatches(kinds, self.settings.train.batch_size, rng)

    def update(self, batch: Sequence[int]) -> float:
        """One update from a batch of sentence numbers; the gradient's norm before clipping."""
        train = self.settings.train
        rng = np.random.default_rng([self.settings.seed, _SAMPLES, self.updates])
        sentences = [self.encoded[k] for k in batch]
        engine = lockstep if train.engine == "lockstep" else per_sentence
        if batch[0] in self.gold:
            derivations = [self.gold[k] for k in batch]
            engine.accumulate(self.network, sentences, self.supervised, rng, train, derivations)
        else:
            engine.accumulate(self.network, sentences, self.phase, rng, train)
            self.phase.end_batch(len(sentences))  # lambda's step; gold trees say nothing of lambda
        words, parameters = (
            sorted({word for s in sentences for word in s.words}),
            self.network.parameters,
        )
        rows = dict.fromkeys(parameters.by_word - parameters.frozen, words)
        return self.optimiser.update(rows)  # the networks' step

    def train(self) -> None:
        """Trains from the present update to the last, with evaluations and checkpoints."""
        logger.info(heading())
        with Bar("updates", self.stages[-1].last, self.updates) as bar:
            for stage in self.stages[self.stages.index(self.stage) :]:
                if stage is not self.stage:
                    self.network.parameters.load(self._parameters())
                    # the second stage may be worse
                    self.best_score, self.best_parameters = None, {}
                    self._enter(stage, self.phase.lam.value)
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
            of_parts = {
                f"{GRADIENT_NORM}_{part}": value for part, value in self.optimiser.norms.items()
            }
            norms.append({GRADIENT_NORM: norm, **of_parts})
            bar.update()
            done = self.updates
            if (done - self.stage.first) % train.evaluate_every == 0 or done == last:
                row = self._evaluate(done / self.per_epoch, norms, clock)
                self.log.append(row)
                bar.clear()
                logger.info(console_row(row))
                norms, clock = [], _clock()
                if done == last and (summary := end_of_stage(row, train.samples)):
                    logger.info(summary)
                if done == last or time.monotonic() - self.saved_at > SAVE_EVERY_S:
                    self.save(complete=done == self.stages[-1].last)

    def _evaluate(
        self, epoch: float, norms: list[dict[str, float]], began: Floats
    ) -> dict[str, Any]:
        """Figures since the last evaluation, and DDA by gold dev trees, if there are any.

        `norms` are the gradients' norms in each update, by the names of the log's columns.
        """
        figures, sentences, words = {}, 0, 0
        for phase in (self.phase, self.supervised):
            figures.update(phase.diagnostics.averages())
            sentences += phase.diagnostics.sentences
            words += phase.diagnostics.words
            phase.diagnostics = Diagnostics()
        for name in norms[0]:
            figures[name] = float(np.mean([norm.get(name, 0.0) for norm in norms]))
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
        """DDA of the present weights, which are kept if it is the best so far and chooses the
        model."""
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
