"""A small universal parser with random weights, as a scorer and in a model file."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dynet_vdgi.data.vocabulary import build_vocabulary
from dynet_vdgi.grammar.rules import load_rules
from dynet_vdgi.recipes.few_trees import FewTreesSettings
from dynet_vdgi.runs.model_file import ModelFile, Provenance, save
from dynet_vdgi.settings.bundled import rules_path
from dynet_vdgi.universal.base import arrays_of
from dynet_vdgi.universal.encoding import encode
from dynet_vdgi.universal.network import Sizes, shapes
from dynet_vdgi.universal.scorer import Scorer
from dynet_vdgi.universal.typology import Profile

FEATURES = ("Case=Nom", "Number=Plur", "Number=Sing")


def random_scorer(seed: int = 1) -> Scorer:
    """Its probabilities depend on tags, features, punctuation and forms."""
    n_numbers = len(Profile.of(encode([], FEATURES), FEATURES).numbers)
    sizes = Sizes(
        len(FEATURES), n_numbers, tag=4, features=3, gaps=2, band=2, typology=3, hidden=4, arc=5, relation=3
    )
    rng = np.random.default_rng(seed)
    weights = {name: rng.normal(0, 0.7, shape).astype("f") for name, shape in shapes(sizes).items()}
    return Scorer(FEATURES, np.zeros(n_numbers, "f"), np.ones(n_numbers, "f"), weights)


def written_scorer(folder: Path, scorer: Scorer, name: str = "scorer.vdgi") -> str:
    """A model file of the scorer."""
    rules = load_rules(rules_path("best"))
    provenance = Provenance(recipe="few-trees")
    vocabulary = build_vocabulary([], lexicalised=False)
    model = ModelFile(provenance, FewTreesSettings(), vocabulary, rules, arrays_of(scorer))
    save(folder / name, model)
    return str(folder / name)
