"""The neural parser as a learner: `Neural(tag_dim=40).fit(text, rules)`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from dynet_vdgi.data.corpus import in_memory
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.data.vocabulary import Vocabulary, build_vocabulary
from dynet_vdgi.errors import VdgiError
from dynet_vdgi.grammar.rules import RuleSet
from dynet_vdgi.model.greedy import GreedyParser
from dynet_vdgi.runs.model_file import ModelFile, Provenance
from dynet_vdgi.runs.run_folder import NeuralMaterial
from dynet_vdgi.settings.neural_settings import NeuralSettings
from dynet_vdgi.settings.presets import load_settings
from dynet_vdgi.variational.trainer import Trainer

_SECTIONS = set(NeuralSettings.__struct_fields__) - {"seed", "rules", "data", "teacher", "parser"}


class Neural:
    """The paper's parser, by variational inference under rules, or from trees; needs DyNet.

    Keywords are settings of the parser, such as `hidden_dim=32`, or its sections: `train={"updates": 100}`.
    Other settings are those of the preset `paper`. After `fit`: `model`, the model file's content.

    Raises: ConfigError, a setting is unknown, out of its range or without effect.
    """

    def __init__(self, *, seed: int = 1, **numbers: Any) -> None:
        sections = {name: value for name, value in numbers.items() if name in _SECTIONS}
        shape = {name: value for name, value in numbers.items() if name not in _SECTIONS}
        changes: dict[str, Any] = {"seed": seed, **sections, **({"parser": shape} if shape else {})}
        settings = load_settings("paper", changes=changes)
        assert isinstance(settings, NeuralSettings)
        self.settings = settings
        self._model: ModelFile | None = None

    @property
    def model(self) -> ModelFile:
        """The learnt model. Raises: VdgiError, `fit` has not run."""
        if self._model is None:
            raise VdgiError("this neural parser has not learnt yet: call fit(text, rules) first")
        return self._model

    def fit(
        self,
        text: Iterable[Sentence],
        rules: RuleSet,
        *,
        trees: Iterable[Sentence] = (),
        vocabulary: Vocabulary | None = None,
        start: Mapping[str, Any] | None = None,
    ) -> Neural:
        """Learns from the tags of a text without punctuation, under the rules, and from gold trees."""
        sentences, gold = list(in_memory(text)), list(in_memory(trees))
        lexicalised = self.settings.parser.word_dim > 0
        vocabulary = vocabulary or build_vocabulary([*sentences, *gold], lexicalised=lexicalised)
        material = NeuralMaterial({"": sentences}, vocabulary, rules, gold, start=start or {})
        trainer = Trainer(self.settings, material, Provenance.now(seed=self.settings.seed))
        trainer.train()
        self._model = trainer.model_file(complete=True)
        return self

    def heads(self, sentences: Iterable[Sentence]) -> list[tuple[int, ...]]:
        """The greedy tree of each sentence: projective, with one root."""
        model = self.model
        parser = GreedyParser(model.parameters, model.vocabulary, self.settings.parser)
        return parser.parse([model.vocabulary.encode(s.forms, s.tags) for s in sentences])

    def predict(self, sentences: Iterable[Sentence]) -> list[Sentence]:
        """The sentences with these trees."""
        given = list(sentences)
        return [replace(s, heads=heads, source=None) for s, heads in zip(given, self.heads(given))]
