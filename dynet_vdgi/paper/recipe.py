"""The recipe of the paper's neural parser: from the text itself, or from gold trees."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np

from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.conllu.vocabulary import Vocabulary, build_vocabulary
from dynet_vdgi.errors import ConfigError, ModelError, UsageError, VdgiError
from dynet_vdgi.lexicon.vectors import Embeddings
from dynet_vdgi.models.model_file import ModelFile
from dynet_vdgi.models.model_file import load as load_model
from dynet_vdgi.paper.settings import NeuralSettings
from dynet_vdgi.parser.engine import Engine, GreedyEngine, ScoredTree
from dynet_vdgi.parser.steps import MEMORY
from dynet_vdgi.rule_tables.estimated_rules import estimated_in
from dynet_vdgi.rule_tables.rules import RuleSet
from dynet_vdgi.system.array_types import Floats
from dynet_vdgi.system.messages import count
from dynet_vdgi.training.input_reader import InputReader
from dynet_vdgi.training.inputs import Inputs, file_names, shown_text
from dynet_vdgi.training.material import Material
from dynet_vdgi.training.recipe import (
    Recipe,
    TrainingRun,
    check_ignored,
    chosen_rules,
    no_start,
)

logger = logging.getLogger("dynet_vdgi")


class NeuralRecipe(Recipe[NeuralSettings]):
    settings = NeuralSettings
    continues_models = True
    keeps_heads = False
    lacks_calibration = "is neural: train with --preset best"

    def check(self, inputs: Inputs, settings: NeuralSettings) -> None:
        inputs.warn_of_trees_that_count_twice()
        super().check(inputs, settings)
        if settings.chooses_on_dev and not inputs.dev:
            raise UsageError(
                "train.select=dev chooses the model by gold dev trees: name them with --dev FILE"
            )
        if inputs.facts:
            raise UsageError(
                "--language-facts would have no effect: rules are only counted; "
                "choose --preset best"
            )

    def prepare(
        self, reader: InputReader, settings: NeuralSettings
    ) -> tuple[NeuralSettings, Material]:
        rules = _rules(reader, settings)
        material = reader.material(rules, longest_dev=settings.train.dev_max_len)
        every = [*material.sentences, *material.trees]
        if init := reader.inputs.init:
            model, settings = _initial(init, settings, every)
            material = replace(
                material,
                vocabulary=model.vocabulary,
                start=model.parameters,
                start_lambda=_lambda_of(init, model, rules, settings),
            )
        elif settings.parser.word_dim:
            vocabulary, vectors = _vocabulary(every, settings)
            settings = _with_vector_dim(settings, vectors.dim) if vectors else settings
            material = replace(material, vocabulary=vocabulary, vectors=vectors)
        check_ignored(
            settings, has_effect=bool(settings.parser.word_dim) and "forms" in settings.data.ignore
        )
        return settings, material

    def learn(self, run: TrainingRun[NeuralSettings]) -> ModelFile:
        """Trains the networks in all their stages. Raises: VdgiError, DyNet is missing."""
        try:
            from dynet_vdgi.paper.trainer import Trainer
        except ImportError as error:
            raise VdgiError(
                f"the neural parser is trained with DyNet, which cannot be imported ({error}); "
                "pip install dyNET38, or train a perceptron, as --preset best does"
            ) from error

        trainer = Trainer(run.settings, run.material, run.provenance, run.folder)
        if run.checkpoint:
            trainer.resume(run.checkpoint)
            logger.info("resuming after update %d", trainer.updates)
        try:
            trainer.train()
        except KeyboardInterrupt:
            has_saved = trainer.path is not None and trainer.path.exists()
            note = (
                f"last checkpoint {trainer.path}; go on with --resume"
                if has_saved
                else "nothing saved yet"
            )
            raise KeyboardInterrupt(note) from None
        return trainer.model_file(complete=True)

    def engine(self, model: ModelFile) -> Engine:
        return NeuralEngine(model)


class NeuralEngine(GreedyEngine):
    """The encoder of a neural model. Raises: ModelError, the parameters do not fit."""

    windows_at_once = 8  # so that there are many sentences of one length, which advance together

    def __init__(self, model: ModelFile) -> None:
        from dynet_vdgi.paper.greedy import GreedyParser  # imports DyNet

        assert isinstance(model.settings, NeuralSettings)
        self._model, self._vocabulary = model, model.vocabulary
        self._parser = GreedyParser(model.parameters, model.vocabulary, model.settings.parser)

    def __reduce__(self) -> tuple[type, tuple[ModelFile]]:
        return NeuralEngine, (self._model,)  # DyNet's parameters cannot be sent to other processes

    def parse(
        self, sentences: Sequence[Sentence], *, margins: bool, keep_heads: bool
    ) -> list[ScoredTree]:
        if margins or keep_heads:
            raise UsageError("a neural model cannot do that")
        trees = self._parser.parse([self._vocabulary.encode(s.forms, s.tags) for s in sentences])
        return [ScoredTree(tree, np.zeros(0)) for tree in trees]


def _rules(reader: InputReader, settings: NeuralSettings) -> RuleSet:
    """The rules, with expectations counted in the training text's trees if the settings say so."""
    inputs = reader.inputs
    rules = chosen_rules(inputs, settings)
    posterior = settings.posterior
    if posterior.dynamics != "off" and not len(rules):
        raise ConfigError(
            f"config: 'posterior' has nothing to count: {settings.rules!r} has no rules, "
            "only exceptions; set rules=ud, for example"
        )
    if posterior.expectations != "trees" or posterior.dynamics == "off":
        return rules
    given = [text for text in inputs.texts.values() if text] or [inputs.trees]
    sentences = (sentence for text in given for sentence in reader.sentences(text, "required"))
    names = [Path(name).name for text in given for name in file_names(text)] or [MEMORY]
    reader.gold_trees.append("training: expectations of the rules counted in its trees")
    shown = ", ".join(map(shown_text, given))
    return estimated_in(sentences, rules, settings.data.max_len, names, shown)


def _vocabulary(
    sentences: list[Sentence], settings: NeuralSettings
) -> tuple[Vocabulary, Embeddings | None]:
    """Tags, words, their classes and their pretrained vectors."""
    from dynet_vdgi.lexicon import brown_clusters
    from dynet_vdgi.lexicon.vectors import load_vectors

    words = settings.words
    vocabulary = build_vocabulary(
        sentences, lexicalised=True, min_freq=words.min_freq, lowercase=words.lowercase
    )
    vectors = None
    if words.vectors:
        vectors = load_vectors(words.vectors, vocabulary.words)
        for note in vectors.notes:
            logger.info("%s", note)
    if words.clusters:
        clusters = brown_clusters.read(words.clusters)
        vocabulary = replace(vocabulary, classes=brown_clusters.classes(clusters, vocabulary.words))
        n_in_clusters = sum(word in clusters.paths for word in vocabulary.words)
        n_words, n_classes = len(vocabulary.words), max(vocabulary.classes) + 1
        classes = count(n_classes, "class", "classes")
        logger.info(
            "clusters: %d of %s, %s with that of the rest",
            n_in_clusters,
            count(n_words, "word"),
            classes,
        )
    return vocabulary, vectors


def _initial(
    path: str, settings: NeuralSettings, sentences: list[Sentence]
) -> tuple[ModelFile, NeuralSettings]:
    """A model to start from, with what it needs to continue; the settings with its vectors' size.

    Raises:
        ModelError: it has another shape, or lacks a tag of the training text.
        UsageError: vectors or clusters are named, which are the model's own; it is of another
            recipe.
    """
    for key in ("vectors", "clusters"):
        if getattr(settings.words, key):
            raise UsageError(f"--init {path}: the model has its own {key}; leave out words.{key}")
    model = load_model(path, training=True)
    if not isinstance(model.settings, NeuralSettings):
        raise no_start(path)
    if model.settings.data.tags != settings.data.tags:
        column = model.settings.data.tags
        raise ModelError(f"{path}: its tags are of column {column.upper()}; set data.tags={column}")
    theirs, ours = (
        msgspec.structs.asdict(model.settings.parser),
        msgspec.structs.asdict(settings.parser),
    )
    for name, value in ours.items():
        if (
            name not in ("vector_dim", "encoder_dropout", "decoder_dropout")
            and value != theirs[name]
        ):
            raise ModelError(
                f"{path}: its parser.{name} is {theirs[name]}, not {value} as asked for"
            )
    lacking = {tag for sentence in sentences for tag in sentence.tags} - set(model.vocabulary.tags)
    if lacking:
        raise ModelError(f"{path}: it does not know these tags: {' '.join(sorted(lacking))}")
    dim = model.settings.parser.vector_dim
    return model, _with_vector_dim(settings, dim)


def _lambda_of(
    path: str, model: ModelFile, rules: RuleSet, settings: NeuralSettings
) -> Floats | None:
    """Lambda where the model's training left it, for a second stage to go on from; None: at 0."""
    posterior = settings.posterior
    if (
        settings.pretrains
        or posterior.dynamics != "dual"
        or settings.finetune.first_lambda != "carried"
    ):
        return None
    assert isinstance(model.settings, NeuralSettings)
    before = model.settings.posterior
    if "lambda" not in model.training:
        reason = "it holds none"
    elif (before.dynamics, before.expectations) != ("dual", posterior.expectations) or (
        model.rules.pairs() != rules.pairs()
    ):
        reason = "its own is of other constraints"
    else:
        return np.asarray(model.training["lambda"])
    logger.info("--init %s: lambda starts at 0, as %s", path, reason)
    return None


def _with_vector_dim(settings: NeuralSettings, dim: int) -> NeuralSettings:
    parser = msgspec.structs.replace(settings.parser, vector_dim=dim)
    return msgspec.structs.replace(settings, parser=parser)


RECIPE = NeuralRecipe()
