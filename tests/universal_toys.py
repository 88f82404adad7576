"""A universal parser with random weights, as a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.models import model_file
from dynet_vdgi.models.model_file import ModelFile, OtherTreebank
from dynet_vdgi.training.universal import pack
from dynet_vdgi.universal.encoding import N_TAGS, encode
from dynet_vdgi.universal.layer_sizes import LayerSizes, shapes
from dynet_vdgi.universal.model_table import table_to_learn_under
from dynet_vdgi.universal.scorer import Scorer
from dynet_vdgi.universal.typology import Profile

FEATURES = ("Case=Gen", "Case=Nom", "Number=Plur", "Number=Sing", "Tense=Pres")
SOURCES = {
    "xx_toy": OtherTreebank(30, 0.75, "CC BY-SA 4.0", "Toyic"),
    "yy_toy": OtherTreebank(10, 0.25, "CC0 1.0", "Playic"),
}


def scorer(seed: int = 1, spread: float = 0.6) -> Scorer:
    """Weights large enough for trees that differ, sums small enough for probabilities below 1."""
    text = encode([Sentence.of_tags(["VERB"])], FEATURES)
    n_numbers = len(Profile.of(text, FEATURES, np.zeros((N_TAGS + 1, N_TAGS, 2))).numbers)
    sizes = LayerSizes(len(FEATURES), n_numbers, 4, 4, 2, 2, 4, hidden=6, arc=8, relation=5)
    rng = np.random.default_rng(seed)
    weights: dict[str, Any] = {
        name: rng.normal(0, spread, shape).astype(np.float16).astype(np.float32)
        for name, shape in shapes(sizes).items()
    }
    mean, scale = rng.normal(0, 0.1, n_numbers), rng.uniform(0.5, 1.5, n_numbers)
    return Scorer(
        FEATURES, mean.astype(np.float32), scale.astype(np.float32), weights, table_to_learn_under()
    )


def model(seed: int = 1, further: Any = None) -> ModelFile:
    """A packed model that has not measured any text."""
    return pack(scorer(seed), SOURCES, further=further)


def saved(path: Path, seed: int = 1, further: Any = None) -> Path:
    """`model` in a file."""
    model_file.save(path, model(seed, further))
    return path


def written_scorer(folder: Path, scorer: Scorer, name: str = "scorer.vdgi") -> str:
    """The path of a model file of the scorer."""
    model_file.save(folder / name, pack(scorer, SOURCES))
    return str(folder / name)
