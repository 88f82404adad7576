"""A recipe holds the settings, checks, reading, learning and engine of one kind of parser.

To add one, write a module with a `Settings` type and a `Recipe`, and register its name in
`registry.RECIPES`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from dynet_vdgi.errors import ConfigError, UsageError
from dynet_vdgi.models.model_file import ModelFile, Provenance
from dynet_vdgi.models.model_file import save as save_model
from dynet_vdgi.models.run_log import RunLog
from dynet_vdgi.rule_tables.rules import RuleSet, load_rules
from dynet_vdgi.settings.bundled import rules_path
from dynet_vdgi.settings.settings import MODEL_NAME, Settings
from dynet_vdgi.training.inputs import Inputs
from dynet_vdgi.training.material import Material

if TYPE_CHECKING:
    from dynet_vdgi.parser.engine import Engine, ScoringEngine
    from dynet_vdgi.training.input_reader import InputReader
    from dynet_vdgi.unsupervised.teacher import Base

SomeSettings = TypeVar("SomeSettings", bound=Settings)


@dataclass
class TrainingRun(Generic[SomeSettings]):
    """One run: what it learns from and with which settings, how its model is made, and where it
    writes.

    The settings are completed from the files. `provenance` is what is certain before learning.
    Without a `folder` nothing is written. `checkpoint` is an unfinished model of this run.
    """

    settings: SomeSettings
    material: Material
    provenance: Provenance
    folder: Path | None = None
    log: RunLog = field(default_factory=RunLog)
    checkpoint: ModelFile | None = None

    def save(self, model: ModelFile, name: str = MODEL_NAME) -> None:
        """Writes a model into the folder, if there is one. Raises: ModelError, see
        `model_file.save`."""
        if self.folder:
            save_model(self.folder / name, model)


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
                "--treebank makes a universal parser: use --preset universal, "
                "without text and --trees"
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
    def prepare(self, reader: InputReader, settings: SomeSettings) -> tuple[SomeSettings, Material]:
        """Reads everything a run needs; the settings come back completed from the files.

        Raises: DataError, a file is malformed, or contains nothing to train on; ConfigError,
        ModelError, rules, vectors, clusters or the model to start from are at fault.
        """

    @abstractmethod
    def learn(self, run: TrainingRun[SomeSettings]) -> ModelFile:
        """The finished model, which is also written to the folder, if there is one."""

    @abstractmethod
    def engine(self, model: ModelFile) -> Engine:
        """The engine that parses with the model. Raises: ModelError, its parameters do not fit."""

    def exact(self, model: ModelFile) -> ScoringEngine:
        """The distribution over trees that the parser learnt from. Raises: UsageError, it has
        none."""
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
            "config: 'data.ignore' would have no effect: "
            "neither the parser nor its rules look at more than tags; "
            "leave it out, or set rules=best, for example"
        )
