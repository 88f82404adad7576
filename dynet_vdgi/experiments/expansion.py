"""From a plan to its tasks: files found, settings checked, keys computed."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from dynet_vdgi.errors import ConfigError, UsageError
from dynet_vdgi.experiments import tasks
from dynet_vdgi.experiments.plan import Plan, System, Treebank, learnt_from
from dynet_vdgi.experiments.plan_files import PlanFolders
from dynet_vdgi.experiments.tasks import Task
from dynet_vdgi.settings.bundled import bundled
from dynet_vdgi.settings.config import Settings, leaves
from dynet_vdgi.settings.presets import load_settings

_FILES = ("rules", "words.vectors", "words.clusters")
"""Settings that name a file."""

BASELINE_PRESET = "paper"
"""The system whose rules the baseline `rules only` uses, unless a treebank names others."""


def expand(
    plan: Plan, chosen: Sequence[tuple[Treebank, System]], folders: PlanFolders, out: str
) -> list[Task]:
    """The tasks of the chosen parts of a plan (see `plan.select`), each after the run it starts from.

    Raises:
        VdgiError: a file is missing or cannot be read, a setting is at fault; the message names the place.
    """
    found: list[Task] = []
    keys: dict[tuple[str, str, int], str] = {}
    recipes: dict[tuple[str, str], str] = {}
    scored: dict[str, Task] = {}
    for treebank, system in chosen:
        where = f"treebank '{treebank.name}', system '{system.name}'"
        try:
            settings = _settings(treebank, system, folders)
            run = _run(treebank, system, settings, learnt_from(plan, treebank, system), folders, out)
            recipes[treebank.name, system.name] = settings.recipe
            if system.after and settings.recipe != recipes[treebank.name, system.after]:
                raise ConfigError(f"it comes after '{system.after}', which is of another recipe")
            for seed in plan.seeds:
                task = replace(run, seed=seed)
                start_key = keys.get((treebank.name, system.after, seed), "")
                task = replace(task, parts=tasks.key_parts(task, start_key))
                keys[treebank.name, system.name, seed] = task.model_key
                found.append(task)
        except (ConfigError, UsageError) as error:
            raise type(error)(f"{where}: {error}") from None
        before = scored.get(treebank.name)
        names = dict.fromkeys([*(before.protocols if before else ()), run.protocols[0]])
        scored[treebank.name] = _baselines(treebank, folders, run, tuple(names))
    return [*(replace(task, parts=tasks.key_parts(task)) for task in scored.values()), *found]


def protocols(plan: Plan, folders: PlanFolders) -> dict[str, dict[str, str]]:
    """The protocols that parses are scored under, by treebank and system."""
    return {
        treebank.name: {
            system.name: _protocol(treebank, system, folders)
            for system in plan.systems
            if system.covers(treebank.name)
        }
        for treebank in plan.treebanks
    }


def _protocol(treebank: Treebank, system: System, folders: PlanFolders) -> str:
    """The treebank's, or else the system's own."""
    return treebank.protocol or _settings(treebank, system, folders).data.protocol


def _settings(treebank: Treebank, system: System, folders: PlanFolders) -> Settings:
    presets = _presets([*system.presets, *treebank.presets], folders)
    return load_settings(presets, _assignments(treebank, system))


def _assignments(treebank: Treebank, system: System) -> list[str]:
    """Settings of a system on a treebank; the treebank's take precedence."""
    return [text.replace("{treebank}", treebank.name) for text in (*system.set, *treebank.set)]


def _presets(names: Sequence[str], folders: PlanFolders) -> tuple[str, ...]:
    return tuple(folders.find(name) if name.endswith(".toml") else name for name in names)


def _run(
    treebank: Treebank,
    system: System,
    settings: Settings,
    learnt: Sequence[Treebank],
    folders: PlanFolders,
    out: str,
) -> Task:
    """A run without its seed and key; `learnt`: the treebanks of its text."""
    presets = _presets([*system.presets, *treebank.presets], folders)
    assignments = _assignments(treebank, system)
    test = folders.treebank(treebank).test
    names = Counter(tasks.parsed_path(Task(out, treebank.name), name).name for name in test)
    if max(names.values()) > 1:
        raise ConfigError(f"two test files have one name: {', '.join(test)}")
    chooses = settings.chooses_on_dev
    counts = settings.counts_in_trees and any(each.expectations for each in learnt)
    more = [key for key, wanted in (("dev", chooses), ("expectations", counts)) if wanted]
    of_each = {each.name: folders.treebank(each, *more) for each in learnt}
    if chooses and not all(each.dev for each in of_each.values()):
        raise ConfigError("train.select=dev chooses the model by gold dev trees: the treebank needs 'dev'")
    trees = [name for each in of_each.values() for name in each.expectations or each.train] if counts else []
    labels = [label for label, each in of_each.items() for _ in each.train]
    return Task(
        out=out,
        treebank=treebank.name,
        system=system.name,
        presets=presets,
        set=(*assignments, *_found_files(settings, folders)),
        train=tuple(name for each in of_each.values() for name in each.train),
        languages=tuple(labels) if system.languages else (),
        dev=tuple(name for each in of_each.values() for name in each.dev) if chooses else (),
        expectations=tuple(dict.fromkeys(trees)),
        test=test,
        protocols=(_protocol(treebank, system, folders),),
        lengths=treebank.lengths,
        after=system.after,
    )


def _baselines(treebank: Treebank, folders: PlanFolders, run: Task, protocols: tuple[str, ...]) -> Task:
    """The task of a treebank's baselines; `rules only` has the treebank's rules, or the default ones."""
    presets = _presets([BASELINE_PRESET, *treebank.presets], folders)
    # The settings that choose the rules and their tag set.
    assignments = [text for text in treebank.set if text.split("=")[0].strip() in ("rules", "data.tags")]
    settings = load_settings(presets, assignments)
    return Task(
        out=run.out,
        treebank=treebank.name,
        presets=presets,
        set=(*assignments, *_found_files(settings, folders)),
        test=run.test,
        protocols=protocols,
    )


def _found_files(settings: Settings, folders: PlanFolders) -> tuple[str, ...]:
    """Assignments that replace the files in the settings by the paths where they were found."""
    found = []
    values = dict(leaves(settings.to_dict()))
    for name in _FILES:
        value = values.get(name)
        if not value or (name == "rules" and value in bundled("rules")):
            continue
        path = folders.find(value)
        if path != value and os.path.exists(path):
            found.append(f"{name}={json.dumps(path, ensure_ascii=False)}")
    return tuple(found)
