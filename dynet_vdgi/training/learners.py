"""Learners: functions from material to a model file, one for each kind of parser."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from dynet_vdgi.config import LOG_NAME, MODEL_NAME, PerceptronSettings, Settings
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.errors import VdgiError
from dynet_vdgi.evaluation.attachment import score
from dynet_vdgi.material import Material
from dynet_vdgi.model_archive import Arrays
from dynet_vdgi.model_file import ModelFile, Provenance
from dynet_vdgi.model_file import save as save_model
from dynet_vdgi.names import count
from dynet_vdgi.runlog import RunLog
from dynet_vdgi.training.word_learner import label_arrays, learn_words

if TYPE_CHECKING:
    from dynet_vdgi.students.linear_student import Perceptron

logger = logging.getLogger("dynet_vdgi")


class Learner(Protocol):
    """What makes a model of material."""

    def __call__(
        self,
        material: Material,
        settings: Settings,
        provenance: Provenance,
        folder: Path | None,
        checkpoint: ModelFile | None,
    ) -> ModelFile:
        """The finished model, which is also in the folder, if there is one.

        `checkpoint` is an unfinished model of the same run, to go on from.
        """


def learn_perceptron(
    material: Material,
    settings: Settings,
    provenance: Provenance,
    folder: Path | None,
    checkpoint: ModelFile | None,
) -> ModelFile:
    """The perceptron of the taught trees and the gold ones."""
    from dynet_vdgi.students.linear_student import Perceptron

    assert isinstance(settings.parser, PerceptronSettings)
    start = time.process_time()
    trees = [*material.taught, *material.trees]
    student = Perceptron(settings.parser, seed=settings.seed).fit(trees, material.vocabulary, material.prior)
    seconds = time.process_time() - start
    logger.info("perceptron: %s, %.1f CPU s with compiling", count(len(trees), "tree"), seconds)
    gold_trees = list(provenance.gold_trees)
    if material.trees:
        gold_trees.append(f"training: {count(len(material.trees), 'tree')} learnt from")
    dev_dda = None
    if material.dev:
        dev_dda = score(material.dev, student.heads(material.dev)).dda
        gold_trees.append("dev: progress figures only")
        logger.info("dev DDA %.3f", dev_dda)
    log = RunLog(folder / LOG_NAME if folder else None)
    agreement = _agreement(material.taught, student)
    row = {"phase": "student", "trees": len(trees), "agreement": agreement, "dev_dda": dev_dda}
    log.append({**row, "cpu_s": round(seconds, 2)})
    model = ModelFile(
        provenance.with_(kind=settings.kind, gold_trees=tuple(gold_trees), dev_dda=dev_dda),
        settings,
        material.vocabulary,
        material.rules,
        {
            **student.model.arrays(),
            **_calibration(material, student),
            **label_arrays(material.trees, material.prior, material.punctuation),
        },
        symbols=student.codes.to_json() if student.codes else None,
        text=material.prior.text.to_json() if material.prior and not student.codes else None,
    )
    if folder:
        save_model(folder / MODEL_NAME, model)
    return model


def _calibration(material: Material, student: Perceptron) -> Arrays:
    """What makes margins probabilities, for the model file; nothing where no teacher voted."""
    from dynet_vdgi.parsing.confidence import SHIFT_WITHOUT_TREES, Calibration

    if not material.votes:
        return {}
    sentences, marginals = zip(*material.votes)
    return Calibration.fit(
        [s.tags for s in sentences], student.with_margins(sentences), marginals, SHIFT_WITHOUT_TREES
    ).arrays()


def _agreement(taught: list[Sentence], student: Perceptron) -> float | None:
    """The share of the taught trees' arcs that the student finds, from 0 to 1; None without such trees."""
    if not taught:
        return None
    agreement = score(taught, student.heads(taught)).dda
    logger.info("the perceptron agrees with its teacher on %.1f %% of the arcs", 100 * agreement)
    return round(agreement, 4)


def learn_neural(
    material: Material,
    settings: Settings,
    provenance: Provenance,
    folder: Path | None,
    checkpoint: ModelFile | None,
) -> ModelFile:
    """The neural parser, by all of its stages. Raises: VdgiError, DyNet is missing."""
    try:
        from dynet_vdgi.variational.trainer import Trainer
    except ImportError as error:
        raise VdgiError(
            f"the neural parser is trained with DyNet, which cannot be imported ({error}); "
            "pip install dyNET38, or train a perceptron, as --preset best does"
        ) from error

    trainer = Trainer(settings, material, provenance, folder)
    if checkpoint:
        trainer.resume(checkpoint)
        logger.info("resuming after update %d", trainer.updates)
    try:
        trainer.train()
    except KeyboardInterrupt:
        has_saved = trainer.path is not None and trainer.path.exists()
        told = f"last checkpoint {trainer.path}; go on with --resume" if has_saved else "nothing saved yet"
        raise KeyboardInterrupt(told) from None
    return trainer.model_file(complete=True)


LEARNERS: dict[str, Learner] = {
    "perceptron": learn_perceptron,
    "neural": learn_neural,
    "words": learn_words,
}
"""By `parser.kind`; `words` is the perceptron that learns from few trees."""
