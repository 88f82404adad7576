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
from dynet_vdgi.models.model_file import ModelFile, differences
from dynet_vdgi.models.model_file import load as load_model
from dynet_vdgi.models.model_file import save as save_model
from dynet_vdgi.models.run_log import RunLog
from dynet_vdgi.parser.steps import Steps
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
from dynet_vdgi.training.input_reader import InputReader
from dynet_vdgi.training.inputs import Inputs, shown_text
from dynet_vdgi.training.material import Material
from dynet_vdgi.training.recipe import Recipe, TrainingRun
from dynet_vdgi.training.record import provenance_of
from dynet_vdgi.training.run_steps import HERE, steps_of

logger = logging.getLogger("dynet_vdgi")

FEW_SENTENCES = 50
"""A run with fewer training sentences gets a warning."""

AnyRecipe = Recipe[Any]

AnyRun = TrainingRun[Any]


def run(
    inputs: Inputs,
    settings: Settings,
    *,
    out: Path | None = None,
    resume: bool = False,
    dry_run: bool = False,
    preset: str = "",
    command: Sequence[str] = (),
    explicit: Collection[str] = (),
) -> ModelFile | None:
    """The model trained on the inputs; with `out`, that folder also gets model file, log and
    settings.

    Args:
        resume: continue the folder's run if settings, rules and data are the same; a finished one
            stays as it is.
        dry_run: read and check everything, then stop; writes nothing and returns None.
        preset, command: for the model file.
        explicit: names of settings that the user gave; any without effect is refused.

    Raises:
        DataError: a file is malformed, or contains nothing to train on.
        UsageError: the folder holds a model already, or another process is using it; a file is
            missing, or there is nothing to learn from.
        ConfigError: settings, rules, or a setting in `explicit` has no effect on these inputs.
        ModelError: the model in the folder belongs to another run, or the initial model does not
            fit.
    """
    recipe: AnyRecipe = RECIPES.named(settings.recipe)
    inputs.check(treebanks_suffice=recipe.learns_from_treebanks)
    steps = steps_of(inputs)
    inputs = inputs.with_raw_as_text()
    if successor := recipe.successor(inputs, settings):
        settings = in_recipe(successor, settings, explicit)
        recipe = RECIPES.named(successor)
        logger.info("recipe: %s, because there are gold trees", successor)
    recipe.check(inputs, settings)
    refuse(explicit, recipe.idle(inputs, settings))
    if out:
        _check_folder(out, resume)
    reader = InputReader(inputs, settings.data, steps)
    prepared = _prepared(recipe, reader, settings, explicit, preset, command)
    if dry_run:
        logger.info("dry run: nothing trained, nothing written")
        return None
    if not out:
        return _learnt(recipe, prepared, steps, resume)
    prepared.folder = out
    with at_work(out):
        _check_folder(out, resume)  # again: another process may have used it until now
        return _learnt(recipe, prepared, steps, resume)


def _prepared(
    recipe: AnyRecipe,
    reader: InputReader,
    settings: Settings,
    explicit: Collection[str],
    preset: str,
    command: Sequence[str],
) -> AnyRun:
    """The run when its inputs have been read and checked, before it has a folder."""
    inputs, steps = reader.inputs, reader.steps
    settings, material = recipe.prepare(reader, settings)
    idle = recipe.idle(inputs, settings, has_text=bool(material.sentences))
    refuse(explicit, idle)
    _warn(settings, material, idle, ", ".join(inputs.text_names) or shown_text(inputs.trees))
    provenance = provenance_of(reader, settings, material, preset, command)
    if steps.n_tagged and steps.tagger is not None:
        which = Path(inputs.tagger).name if inputs.tagger else f"a tagger {HERE}"
        tagged = f"{count(steps.n_tagged, 'word')} tagged by {which}, which {steps.tagger.quality}"
        provenance = provenance.with_(tags=f"{tagged}; the others as given")
    return TrainingRun(settings, material, provenance)


def _with_steps(model: ModelFile, steps: Steps, folder: Path | None) -> ModelFile:
    """The model with its tokeniser and tagger, which parsing uses; also in the folder."""
    wanted = {name: step.content for name, step in steps.files.items() if step.content is not None}
    if model.steps != wanted:
        model.steps = wanted
        if folder:
            student = folder / FAST_NAME
            if student.exists():  # first: a resumed run looks at the other one
                save_model(student, replace(load_model(student), steps=wanted))
            save_model(folder / MODEL_NAME, model)
    return model


def _learnt(recipe: AnyRecipe, run: AnyRun, steps: Steps, resume: bool) -> ModelFile:
    """The model; it is trained unless the folder has a finished one of the same run."""
    folder = run.folder
    run.checkpoint = _checkpoint(folder, run) if folder and resume else None
    if run.checkpoint and run.checkpoint.provenance.complete:
        logger.info("%s: finished already, nothing to do", folder)
        return _with_steps(run.checkpoint, steps, folder)
    # A resumed run already has its teacher's rows.
    if not run.checkpoint:
        run.log = RunLog(folder / LOG_NAME if folder else None)
        run.log.restart(after_update=-1)
        if folder:
            with files.atomic_writer(folder / SETTINGS_NAME) as handle:
                handle.write(run.settings.to_toml())
    model = _with_steps(recipe.learn(run), steps, folder)
    if steps.n_tagged:
        logger.info("tags: %s", model.provenance.tags)
    # or it is said above
    if steps.tagger is not None and not (steps.n_tagged and steps.tagger.is_enough):
        logger.info("%s", steps.tagger.told)
    logger.info("gold trees used: %s", "; ".join(model.provenance.gold_trees) or "none")
    if folder:
        logger.info("model: %s", folder / MODEL_NAME)
    return model


def _warn(settings: Settings, material: Material, idle: dict[str, str], path: str) -> None:
    """Raises: DataError, nothing can be learnt from the tags."""
    n_sentences = len(material.sentences) + len(material.trees)
    if n_sentences < FEW_SENTENCES:
        advice = "expect a poor parser; a few hundred make a fair one"
        if settings.is_universal:
            advice = "more text, with trees or without, shows better what kind of language it is"
        logger.warning("only %s to learn from: %s", count(n_sentences, "sentence"), advice)
    sentences = material.sentences or material.trees
    if settings.is_universal:
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
    if settings.counts_rules:
        for rule in material.rules.unused(material.vocabulary.tags):
            logger.warning("rule %s cannot apply: the training text lacks one of its tags", rule)


def _check_folder(out: Path, resume: bool) -> None:
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out}: exists and is not a folder")
    path = out / MODEL_NAME
    if path.exists() and not resume:
        raise UsageError(f"{path}: exists already; go on with --resume, or choose another --out")


def _checkpoint(folder: Path, run: AnyRun) -> ModelFile | None:
    """The model in the folder. Raises: ModelError, it belongs to another run or cannot be read."""
    path = folder / MODEL_NAME
    if not path.exists():
        return None
    model = load_model(path, training=True)
    rules, vocabulary = run.material.rules, run.material.vocabulary
    for part in differences(model, run.settings, rules, vocabulary, run.provenance.data):
        raise ModelError(
            f"{path}: its {part} differ from those asked for now, so it cannot be resumed; "
            "choose another folder"
        )
    return model
