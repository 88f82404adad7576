"""A recipe holds the settings, checks, reading, learning and engine of one kind of parser.

To add one, write a module with a `Settings` type and a `Recipe`, and register its name in
`registry.RECIPES`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.errors import ConfigError, UsageError
from dynet_vdgi.models.model_file import Amount, ModelFile, Provenance
from dynet_vdgi.models.run_log import RunLog
from dynet_vdgi.rule_tables.rules import RuleSet, load_rules
from dynet_vdgi.settings.bundled import rules_path
from dynet_vdgi.settings.settings import Settings
from dynet_vdgi.training.inputs import Inputs

if TYPE_CHECKING:
    from dynet_vdgi.models.material import Material
    from dynet_vdgi.parser.engine import Engine, ScoringEngine
    from dynet_vdgi.training.run_reader import RunReader
    from dynet_vdgi.unsupervised.teacher import Base

SomeSettings = TypeVar("SomeSettings", bound=Settings)


@dataclass
class Preparation(Generic[SomeSettings]):
    """Prepared inputs: the material, the settings completed from the files, and a record of what
    was done."""

    settings: SomeSettings
    material: Material
    reading: RunReader
    # files that the settings name, by their role
    files: Mapping[str, str] = field(default_factory=dict)

    def provenance(self, inputs: Inputs, preset: str, command: Sequence[str]) -> Provenance:
        """How the model is made, as far as is known before learning."""
        from dynet_vdgi.conllu.protocols import protocol_of

        material, settings = self.material, self.settings
        protocol = protocol_of(settings.data.protocol)
        sections = settings.sections.values()
        named = {role: name for section in sections for role, name in section.files.items()}
        gold_trees = [
            *self.reading.gold_trees,
            *(line for each in sections for line in each.gold_trees),
        ]
        return Provenance.now(
            command=tuple(command),
            preset=preset,
            seed=settings.seed,
            recipe=settings.recipe,
            protocol=f"{protocol.name}: {protocol.description}",
            gold_trees=tuple(dict.fromkeys(gold_trees)),
            data=inputs.files({**self.files, **named}),
            trained_on=amount([*material.sentences, *material.trees]),
            dropped=tuple(self.reading.dropped),
            languages={label: amount(text) for label, text in material.texts.items() if label},
            facts=tuple(
                f"{label}: {name} = {fact}".removeprefix(": ")
                for label, facts in material.facts.items()
                for name, fact in facts.items()
            ),
        )


def amount(sentences: Sequence[Sentence]) -> Amount:
    """How much text these sentences are."""
    return Amount(len(sentences), sum(map(len, sentences)))


@dataclass(frozen=True)
class Workplace:
    """Where a recipe learns: its log, the run's folder (if any) and an unfinished model of this
    run."""

    log: RunLog
    folder: Path | None = None
    checkpoint: ModelFile | None = None


class Recipe(ABC, Generic[SomeSettings]):
    """One way from texts and trees to a model file, and from the model file to a parser."""

    settings: type[SomeSettings]
    learns_from_treebanks = False
    """If trees of other languages suffice, without any text."""

    continues_models = False
    """If it can start from a model (--init)."""

    keeps_heads = True
    """If its parsers can keep heads that are given."""

    lacks_calibration = "was trained without text and teacher: train it again, with --train TEXT"
    """Why a model of this recipe may have no confidence values."""

    def successor(self, inputs: Inputs, settings: SomeSettings) -> str:
        """The name of the recipe that takes these inputs over; "" if this one keeps them."""
        return ""

    def check(self, inputs: Inputs, settings: SomeSettings) -> None:
        """Raises: UsageError, if this recipe cannot learn from the inputs, or not with these
        settings."""
        if inputs.init and not self.continues_models:
            raise no_start(inputs.init)
        if inputs.treebanks:
            raise UsageError(
                "--treebank makes a universal parser: use --preset universal, without text and --trees"
            )
        if inputs.facts or inputs.without:
            inputs.check_facts(self.idle(inputs, settings).get("rules"))

    def idle(
        self, inputs: Inputs, settings: SomeSettings, *, has_text: bool | None = None
    ) -> dict[str, str]:
        """Settings that change nothing in a run on these inputs, each with the reason.

        `has_text` is given where it is known already: a file of trees may hold sentences without
        trees.
        """
        return settings.without_effect(
            has_text=inputs.has_text if has_text is None else has_text,
            has_dev=bool(inputs.dev),
            has_init=bool(inputs.init),
            in_a_run=True,
        )

    @abstractmethod
    def prepare(self, inputs: Inputs, settings: SomeSettings) -> Preparation[SomeSettings]:
        """Reads everything a run needs.

        Raises: DataError, a file is malformed, or contains nothing to train on; ConfigError,
        ModelError, rules, vectors, clusters or the model to start from are at fault.
        """

    @abstractmethod
    def learn(
        self, prepared: Preparation[SomeSettings], provenance: Provenance, place: Workplace
    ) -> ModelFile:
        """The finished model, which is also written to the folder, if there is one."""

    @abstractmethod
    def engine(self, model: ModelFile) -> Engine:
        """The engine that parses with the model. Raises: ModelError, its parameters do not fit."""

    def exact(self, model: ModelFile) -> ScoringEngine:
        """The distribution over trees that the parser learnt from. Raises: UsageError, it has none."""
        raise UsageError(NO_DISTRIBUTION)


NO_DISTRIBUTION = (
    "this model has no distribution that can be searched exactly: --exact needs one that "
    "this version trained with the text of one language or with --trees"
)


def chosen_rules(inputs: Inputs, settings: Settings) -> RuleSet:
    """The rule table of a run, without the parts to leave out."""
    rules = inputs.rules or load_rules(rules_path(settings.rules))
    return rules.without(*inputs.without) if inputs.without else rules


def base_of(model: ModelFile) -> Base:
    """What the CRF of a model starts from. Raises: UsageError, the model does not say."""
    from dynet_vdgi.universal.text_base import text_base

    if model.base is None:
        raise UsageError(NO_DISTRIBUTION)
    return text_base(model.parameters, model.base)


def no_start(init: str) -> UsageError:
    """What to raise where a perceptron is to go on from a model, or a neural parser from a
    perceptron."""
    return UsageError(
        f"--init {init}: a perceptron cannot be trained further; start from a neural model, "
        "such as --preset paper makes"
    )


def check_ignored(settings: Settings, *, has_effect: bool) -> None:
    """Raises: ConfigError, `data.ignore` has no effect, or would hide the column of the tags."""
    ignored = settings.data.ignore
    if "xpos" in ignored and settings.data.tags == "xpos":
        raise ConfigError(
            "config: 'data.ignore' cannot hide xpos, since data.tags=xpos takes the tags there"
        )
    if ignored and not has_effect:
        raise ConfigError(
            "config: 'data.ignore' would have no effect: neither the parser nor its rules look at more than "
            "tags; leave it out, or set rules=best, for example"
        )
