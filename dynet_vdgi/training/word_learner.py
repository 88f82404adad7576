"""The learner of `few_trees` for a run: from material to a model file."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.config import LOG_NAME, MODEL_NAME, Settings
from dynet_vdgi.data.sentence import FREE, Sentence
from dynet_vdgi.evaluation.attachment import score
from dynet_vdgi.grammar.prior import Prior
from dynet_vdgi.grammar.statistics import VerbOrder
from dynet_vdgi.labels.label_table import load as load_labels
from dynet_vdgi.labels.labeller import Labeller
from dynet_vdgi.material import Material
from dynet_vdgi.model_file import ModelFile, OtherTreebank, Provenance
from dynet_vdgi.model_file import save as save_model
from dynet_vdgi.names import count
from dynet_vdgi.runlog import RunLog

logger = logging.getLogger("dynet_vdgi")

Floats = NDArray[np.float64]

LONGEST_OF_OTHERS = 40
"""Words of trees of other languages that are learnt from."""


def learn_words(
    material: Material,
    settings: Settings,
    provenance: Provenance,
    folder: Path | None,
    checkpoint: ModelFile | None,
) -> ModelFile:
    """The parser of words, learnt from gold trees, or a start from other languages' trees, and text."""
    from dynet_vdgi.students.word_perceptron import WordPerceptron
    from dynet_vdgi.teachers.arc_crf import ArcCrf
    from dynet_vdgi.training.few_trees import FewTrees

    clock = time.process_time()
    base = material.prior or Prior.of_text(material.rules, material.trees)
    start, sources = started(material, settings, base) if material.treebanks else (None, {})
    learner = FewTrees(
        ArcCrf(seed=settings.seed),
        WordPerceptron(seeds=tuple(range(settings.seed, settings.seed + 3))),
        longest_text=settings.data.max_len,
    ).fit(material.sentences, material.trees, base, material.marginals, start)
    seconds = time.process_time() - clock
    trees, text = count(len(material.trees), "tree"), count(len(material.sentences), "sentence")
    logger.info("parser with words: %s, text of %s, %.1f CPU s with compiling", trees, text, seconds)
    gold_trees = [*provenance.gold_trees, *told_of_trees(material.trees, sources)]
    dev_dda = None
    if material.dev:
        dev_dda = score(material.dev, [tree.heads or () for tree in learner.predict(material.dev)]).dda
        gold_trees.append("dev: progress figures only")
        logger.info("dev DDA %.3f", dev_dda)
    row: dict[str, Any] = {"phase": "student", "trees": len(material.trees), "agreement": None}
    row |= {"dev_dda": dev_dda, "share_of_teacher": round(learner.share, 4), "cpu_s": round(seconds, 2)}
    RunLog(folder / LOG_NAME if folder else None).append(row)
    calibration = learner.calibration.arrays() if learner.calibration else {}
    model = ModelFile(
        provenance.with_(gold_trees=tuple(gold_trees), dev_dda=dev_dda, treebanks=sources),
        settings,
        material.vocabulary,
        material.rules,
        {
            **learner.student.arrays(),
            **learner.crf.arrays(),
            **calibration,
            **label_arrays(material.trees, base, material.punctuation),
        },
        text=base.text.to_json(),
    )
    if folder:
        save_model(folder / MODEL_NAME, model)
    return model


def label_arrays(
    trees: Sequence[Sentence], prior: Prior | None, punctuation: str = "punct"
) -> dict[str, NDArray[Any]]:
    """What is learnt about relations from trees, for a model file."""
    verb_order = prior.text.verb_order if prior is not None else VerbOrder.OTHER
    labeller = Labeller(load_labels())
    return labeller.fit(trees, verb_order=verb_order, punctuation=punctuation).arrays()


def started(material: Material, settings: Settings, base: Prior) -> tuple[Floats, dict[str, OtherTreebank]]:
    """Weights (B,) to start from, and what they are made of."""
    from dynet_vdgi.teachers.arc_crf import ArcCrf
    from dynet_vdgi.teachers.transfer import shares, start_weights, trigrams

    known, weights, numbers = [], [], []
    for label, treebank in material.treebanks.items():
        rng = np.random.default_rng(settings.seed)
        trees = [treebank[k] for k in rng.permutation(len(treebank))[: settings.transfer.trees]]
        prior = Prior.of_text(material.rules, treebank)
        crf = ArcCrf(words=False, longest=LONGEST_OF_OTHERS, seed=settings.seed).fit(trees, prior)
        assert crf.weights is not None
        known.append(trigrams(treebank))
        weights.append(crf.weights)
        numbers.append(len(trees))
        logger.info("start: %s of %s learnt", count(len(trees), "tree"), label)
    target = trigrams(material.sentences or material.trees)
    start = start_weights(target, list(zip(known, weights)))
    sources = {
        label: OtherTreebank(number, round(float(share), 4))
        for label, number, share in zip(material.treebanks, numbers, shares(target, known))
    }
    return start.astype(np.float32).astype(np.float64), sources  # as a model file has them


def told_of_trees(trees: Sequence[Sentence], sources: dict[str, OtherTreebank]) -> list[str]:
    """What gold trees were used for, line by line."""
    lines = []
    if trees:
        n_words = sum(map(len, trees))
        n_free = sum((tree.heads or ()).count(FREE) for tree in trees)
        free = f", {n_free} of {count(n_words, 'head')} free" if n_free else ""
        lines.append(f"training: {count(len(trees), 'tree')} learnt from{free}")
    if sources:
        listed = ", ".join(f"{s.trees} of {label} ({100 * s.share:.0f} %)" for label, s in sources.items())
        lines.append(f"start: trees of other languages, {listed}")
        if not trees:
            lines.append("no tree of this language")
    return lines
