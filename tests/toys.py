"""A recipe as another package would bring it; `test_recipes` registers it by name."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.conllu.vocabulary import build_vocabulary
from dynet_vdgi.models.model_file import ModelFile
from dynet_vdgi.parser.engine import Scores, ScoringEngine
from dynet_vdgi.settings.settings import Settings
from dynet_vdgi.training.input_reader import InputReader
from dynet_vdgi.training.inputs import Inputs
from dynet_vdgi.training.material import Material
from dynet_vdgi.training.recipe import Recipe, TrainingRun, chosen_rules


class ChainEngine(ScoringEngine):
    def scores(self, sentences: Sequence[Sentence]) -> Scores:
        return Scores([9.0 * np.eye(len(s) + 1, k=1) for s in sentences])


class ToySettings(Settings, frozen=True, tag_field="recipe", tag="toy"):
    """A parser that learns nothing."""


class Toy(Recipe[ToySettings]):
    settings = ToySettings

    def check(self, inputs: Inputs, settings: ToySettings) -> None:
        inputs.check_facts("nothing goes by rules")

    def prepare(self, reader: InputReader, settings: ToySettings) -> tuple[ToySettings, Material]:
        texts = reader.texts()
        vocabulary = build_vocabulary(
            [s for text in texts.values() for s in text], lexicalised=False
        )
        return settings, Material(texts, vocabulary, chosen_rules(reader.inputs, settings))

    def learn(self, run: TrainingRun[ToySettings]) -> ModelFile:
        vocabulary, rules = run.material.vocabulary, run.material.rules
        return ModelFile(run.provenance, run.settings, vocabulary, rules, {})

    def engine(self, model: ModelFile) -> ChainEngine:
        return ChainEngine()


RECIPE = Toy()
