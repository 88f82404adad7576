"""A training run, whatever its recipe: checks, folder, lock, resume; called by `vdgi train` and by
Python."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dynet_vdgi.conllu.tag_sets import UD_TAGS
from dynet_vdgi.errors import ModelError, UsageError
from dynet_vdgi.models.model_file import DataFile, ModelFile, Provenance, differences
from dynet_vdgi.models.model_file import load as load_model
from dynet_vdgi.models.model_file import save as save_model
from dynet_vdgi.models.run_log import RunLog
from dynet_vdgi.parser.steps import StepFile, Steps, contents
from dynet_vdgi.rule_tables.tag_warnings import (
    NOT_UNIVERSAL,
    check_known,
    tag_warnings,
    tell_uninformative,
    tell_unsuited,
    unknown_tags,
)
from dynet_vdgi.settings.presets import in_recipe, refuse
from dynet_vdgi.settings.registry import RECIPES
from dynet_vdgi.settings.settings import FAST_NAME, LOG_NAME, MODEL_NAME, SETTINGS_NAME, Settings
from dynet_vdgi.system import files
from dynet_vdgi.system.locks import at_work
from dynet_vdgi.system.messages import count
from dynet_vdgi.training.inputs import Inputs
from dynet_vdgi.training.raw_steps import HERE, with_learnt
from dynet_vdgi.training.recipe import Preparation, Recipe, Workplace

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
    """The model trained on the inputs; with `out`, that folder also gets model file, log and
    settings.

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

    Raises: ModelError, one cannot be used; UsageError, one is missing; DataError, a file is
    malformed.
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
    # or it is said above
    if steps.tagger is not None and not (steps.n_tagged and steps.tagger.is_enough):
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
