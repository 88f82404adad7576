"""A run: what each recipe provides, and the steps from inputs to a model file.

A recipe holds the settings, checks, reading, learning and engine of one kind of parser.

To add one, write a module with a `Settings` type and a `Recipe`, and register its name in `config.RECIPES`.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from numpy.typing import NDArray

from dynet_vdgi.data import files
from dynet_vdgi.data.sentence import UD_TAGS, Sentence
from dynet_vdgi.errors import ConfigError, ModelError, UsageError
from dynet_vdgi.grammar.prior import Prior
from dynet_vdgi.grammar.rules import (
    NOT_UNIVERSAL,
    check_known,
    tag_warnings,
    tell_uninformative,
    tell_unsuited,
    unknown_tags,
)
from dynet_vdgi.grammar.statistics import VerbOrder
from dynet_vdgi.labels.label_table import load as load_labels
from dynet_vdgi.labels.labeller import Labeller, LogP
from dynet_vdgi.parsing.steps import StepFile, Steps, contents
from dynet_vdgi.recipes.inputs import HERE, Inputs, with_learnt
from dynet_vdgi.runs.model_file import DataFile, ModelFile, Provenance, differences
from dynet_vdgi.runs.model_file import load as load_model
from dynet_vdgi.runs.model_file import save as save_model
from dynet_vdgi.runs.run_folder import RunLog
from dynet_vdgi.settings.config import FAST_NAME, LOG_NAME, MODEL_NAME, RECIPES, SETTINGS_NAME, Settings
from dynet_vdgi.settings.presets import in_recipe, refuse
from dynet_vdgi.system.names import count
from dynet_vdgi.system.processes import at_work

if TYPE_CHECKING:
    from dynet_vdgi.grammar.rules import RuleSet
    from dynet_vdgi.parsing.engines import Engine, ScoringEngine
    from dynet_vdgi.recipes.inputs import Inputs, RunReader
    from dynet_vdgi.runs.model_file import Amount, ModelFile, Provenance
    from dynet_vdgi.runs.run_folder import Material, RunLog
    from dynet_vdgi.teachers.common import Base

SomeSettings = TypeVar("SomeSettings", bound=Settings)


@dataclass
class Preparation(Generic[SomeSettings]):
    """Prepared inputs: the material, the settings completed from the files, and a record of what was done."""

    settings: SomeSettings
    material: Material
    reading: RunReader
    files: Mapping[str, str] = field(default_factory=dict)  # files that the settings name, by their role

    def provenance(self, inputs: Inputs, preset: str, command: Sequence[str]) -> Provenance:
        """How the model is made, as far as is known before learning."""
        from dynet_vdgi.data.sentence import protocol_of
        from dynet_vdgi.runs.model_file import Provenance

        material, settings = self.material, self.settings
        protocol = protocol_of(settings.data.protocol)
        sections = settings.sections.values()
        named = {role: name for section in sections for role, name in section.files.items()}
        gold_trees = [*self.reading.gold_trees, *(line for each in sections for line in each.gold_trees)]
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
    from dynet_vdgi.runs.model_file import Amount

    return Amount(len(sentences), sum(map(len, sentences)))


@dataclass(frozen=True)
class Workplace:
    """Where a recipe learns: its log, the run's folder (if any) and an unfinished model of this run."""

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
        """Raises: UsageError, if this recipe cannot learn from the inputs, or not with these settings."""
        if inputs.init and not self.continues_models:
            raise no_start(inputs.init)
        if inputs.treebanks:
            raise UsageError("--treebank makes a universal parser: use --preset universal, without text and --trees")
        if inputs.facts or inputs.without:
            inputs.check_facts(self.idle(inputs, settings).get("rules"))

    def idle(self, inputs: Inputs, settings: SomeSettings, *, has_text: bool | None = None) -> dict[str, str]:
        """Settings that change nothing in a run on these inputs, each with the reason.

        `has_text` is given where it is known already: a file of trees may hold sentences without trees.
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

        Raises: DataError, a file is malformed, or contains nothing to train on; ConfigError, ModelError,
        rules, vectors, clusters or the model to start from are at fault.
        """

    @abstractmethod
    def learn(self, prepared: Preparation[SomeSettings], provenance: Provenance, place: Workplace) -> ModelFile:
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
    from dynet_vdgi.grammar.rules import load_rules
    from dynet_vdgi.settings.config import rules_path

    rules = inputs.rules or load_rules(rules_path(settings.rules))
    return rules.without(*inputs.without) if inputs.without else rules


def base_of(model: ModelFile) -> Base:
    """What the CRF of a model starts from. Raises: UsageError, the model does not say."""
    from dynet_vdgi.universal.stored import text_base

    if model.base is None:
        raise UsageError(NO_DISTRIBUTION)
    return text_base(model.parameters, model.base)


def no_start(init: str) -> UsageError:
    """What to raise where a perceptron is to go on from a model, or a neural parser from a perceptron."""
    return UsageError(
        f"--init {init}: a perceptron cannot be trained further; start from a neural model, "
        "such as --preset paper makes"
    )


def check_ignored(settings: Settings, *, has_effect: bool) -> None:
    """Raises: ConfigError, `data.ignore` has no effect, or would hide the column of the tags."""
    ignored = settings.data.ignore
    if "xpos" in ignored and settings.data.tags == "xpos":
        raise ConfigError("config: 'data.ignore' cannot hide xpos, since data.tags=xpos takes the tags there")
    if ignored and not has_effect:
        raise ConfigError(
            "config: 'data.ignore' would have no effect: neither the parser nor its rules look at more than "
            "tags; leave it out, or set rules=best, for example"
        )


# ----------------------------------------------------------------------------------------------------
# Relations, as a model file keeps them.


def label_arrays(
    trees: Sequence[Sentence], prior: Prior | None, punctuation: str = "punct", log_p: LogP | None = None
) -> dict[str, NDArray[Any]]:
    """What a model file stores about the relations of trees; punctuation has a single relation there."""
    verb_order = prior.text.verb_order if prior is not None else VerbOrder.OTHER
    labeller = Labeller(load_labels(), log_p=log_p)
    return labeller.fit(trees, verb_order=verb_order, punctuation=punctuation).arrays()


# ----------------------------------------------------------------------------------------------------
# A training run, whatever its recipe: checks, folder, lock, resume; called by `vdgi train` and by Python.


logger = logging.getLogger("dynet_vdgi")

FEW = 50
"""A run with fewer training sentences gets a warning."""

AnyRecipe = Recipe[Any]
AnyPrepared = Preparation[Any]


def run(
    inputs: Inputs,
    settings: Settings,
    *,
    out: Path | None = None,
    resume: bool = False,
    dry_run: bool = False,
    preset: str = "",
    command: Sequence[str] = (),
    said: Collection[str] = (),
) -> ModelFile | None:
    """The model trained on the inputs; with `out`, that folder also gets model file, log and settings.

    Args:
        resume: continue the folder's run if settings, rules and data are the same; a finished one is kept.
        dry_run: read and check everything, then stop; writes nothing and returns None.
        preset, command: for the model file.
        said: names of settings that the user gave explicitly; any without effect is refused.

    Raises:
        DataError: a file is malformed, or contains nothing to train on.
        UsageError: the folder holds a model already, or another process is using it; a file is missing,
            or there is nothing to learn from.
        ConfigError: settings, rules, or a setting in `said` has no effect on these inputs.
        ModelError: the model in the folder belongs to another run, or the initial model does not fit.
    """
    recipe: AnyRecipe = RECIPES.named(settings.recipe)
    inputs.check(treebanks_suffice=recipe.learns_from_treebanks)
    steps = _steps(inputs)
    inputs = inputs.with_steps(steps) if steps.files else inputs
    if successor := recipe.successor(inputs, settings):
        settings = in_recipe(successor, settings, said)
        recipe = RECIPES.named(successor)
        logger.info("recipe: %s, because there are gold trees", successor)
    recipe.check(inputs, settings)
    refuse(said, recipe.idle(inputs, settings))
    if out:
        _check_folder(out, resume)
    prepared: AnyPrepared = recipe.prepare(inputs, settings)
    has_text = bool(prepared.material.sentences)
    idle = recipe.idle(inputs, prepared.settings, has_text=has_text)
    refuse(said, idle)
    _warn(prepared, idle, ", ".join(inputs.text_names) or str(inputs.trees))
    provenance = prepared.provenance(inputs, preset, command)
    if steps.n_tagged and steps.tagger is not None:
        which = Path(inputs.tagger).name if inputs.tagger else f"a tagger {HERE}"
        told = f"{count(steps.n_tagged, 'word')} tagged by {which}, which {steps.tagger.quality}"
        provenance = provenance.with_(tags=f"{told}; the others as given")
    if dry_run:
        logger.info("dry run: nothing trained, nothing written")
        return None
    if not out:
        return _learnt(recipe, prepared, provenance, None, resume, steps)
    with at_work(out):
        _check_folder(out, resume)  # again: another process may have used it until now
        return _learnt(recipe, prepared, provenance, out, resume, steps)


def _steps(inputs: Inputs) -> Steps:
    """The tokeniser and the tagger of a run, given or learnt.

    Raises: ModelError, one cannot be used; UsageError, one is missing; DataError, a file is malformed.
    """
    paths = {"tokeniser": inputs.tokeniser, "tagger": inputs.tagger}
    given = {name: StepFile(str(paths[name]), content) for name, content in contents(paths).items()}
    steps = Steps(given, lines=inputs.lines)
    if inputs.raw is not None:
        steps = with_learnt(steps, inputs)
    steps.check([*inputs.text_names, *(inputs.raw.names if inputs.raw else ())])
    return steps


def _with_steps(model: ModelFile, steps: Steps, out: Path | None) -> ModelFile:
    """The model with its tokeniser and tagger, which parsing uses; also in the folder."""
    wanted = {name: step.content for name, step in steps.files.items() if step.content is not None}
    if model.steps != wanted:
        model.steps = wanted
        if out:
            if (student := out / FAST_NAME).exists():  # first: a resumed run looks at the other one
                save_model(student, replace(load_model(student), steps=wanted))
            save_model(out / MODEL_NAME, model)
    return model


def _learnt(
    recipe: AnyRecipe,
    prepared: AnyPrepared,
    provenance: Provenance,
    out: Path | None,
    resume: bool,
    steps: Steps,
) -> ModelFile:
    """The model; it is trained unless the folder has a finished one of the same run."""
    settings = prepared.settings
    checkpoint = _checkpoint(out, prepared, provenance.data) if out and resume else None
    if checkpoint and checkpoint.provenance.complete:
        logger.info("%s: finished already, nothing to do", out)
        return _with_steps(checkpoint, steps, out)
    log = RunLog(out / LOG_NAME if out else None)
    if not checkpoint:
        log.restart(after_update=-1)
        if out:
            with files.atomic_writer(out / SETTINGS_NAME) as handle:
                handle.write(settings.to_toml())
    # A resumed run already has its teacher's rows.
    place = Workplace(RunLog() if checkpoint else log, out, checkpoint)
    model = _with_steps(recipe.learn(prepared, provenance, place), steps, out)
    if steps.n_tagged:
        logger.info("tags: %s", model.provenance.tags)
    if steps.tagger is not None and not (steps.n_tagged and steps.tagger.is_enough):  # or it is said above
        logger.info("%s", steps.tagger.told)
    logger.info("gold trees used: %s", "; ".join(model.provenance.gold_trees) or "none")
    if out:
        logger.info("model: %s", out / MODEL_NAME)
    return model


def _warn(prepared: AnyPrepared, idle: dict[str, str], path: str) -> None:
    """Raises: DataError, nothing can be learnt from the tags."""
    material = prepared.material
    n_sentences = len(material.sentences) + len(material.trees)
    if n_sentences < FEW:
        advice = "expect a poor parser; a few hundred make a fair one"
        if prepared.settings.is_universal:
            advice = "more text, with trees or without, shows better what kind of language it is"
        logger.warning("only %s to learn from: %s", count(n_sentences, "sentence"), advice)
    sentences = material.sentences or material.trees
    if prepared.settings.is_universal:
        universal = Counter(tag for s in sentences for tag in s.upos or s.tags)
        check_known(universal, UD_TAGS, path, NOT_UNIVERSAL)
        tell_unsuited(universal)
    tell_uninformative(Counter(tag for s in sentences for tag in s.tags))
    if "rules" in idle:
        return
    counts = Counter(tag for s in sentences for tag in s.tags)
    check_known(counts, UD_TAGS | material.rules.mentioned_tags(), path)
    for line in (*tag_warnings(counts, material.rules), *unknown_tags(material.rules, counts)):
        logger.warning("%s", line)
    if prepared.settings.counts_rules:
        for rule in material.rules.unused(material.vocabulary.tags):
            logger.warning("rule %s cannot apply: the training text lacks one of its tags", rule)


def _check_folder(out: Path, resume: bool) -> None:
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out}: exists and is not a folder")
    path = out / MODEL_NAME
    if path.exists() and not resume:
        raise UsageError(f"{path}: exists already; go on with --resume, or choose another --out")


def _checkpoint(out: Path, prepared: AnyPrepared, data: tuple[DataFile, ...]) -> ModelFile | None:
    """The model in the folder. Raises: ModelError, it belongs to another run or cannot be read."""
    path = out / MODEL_NAME
    if not path.exists():
        return None
    model = load_model(path, training=True)
    material = prepared.material
    for what in differences(model, prepared.settings, material.rules, material.vocabulary, data):
        raise ModelError(
            f"{path}: its {what} differ from those asked for now, so it cannot be resumed; choose another folder"
        )
    return model
