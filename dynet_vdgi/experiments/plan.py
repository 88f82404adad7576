"""A plan of treebanks x systems x seeds in a TOML file, and its runs in order, those done before
left out.

The keys are explained in resources/experiments/demo.toml. Files that a plan names, also in `set`,
are looked for in the folder given, else beside the plan and in the folder that the environment
variable VDGI_DATA names, each also with .gz. All files of a treebank are of one source, so text of
one release is never scored on the test text of another. Releases are looked for in the folder
itself and below `ud-treebanks-v*`: the version of the published figures first, then the newest.
"""

from __future__ import annotations

import glob
import json
import logging
import os
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from dynet_vdgi.errors import ConfigError, UsageError
from dynet_vdgi.evaluation import published
from dynet_vdgi.experiments import job as jobs_module
from dynet_vdgi.experiments.job import BASELINES, LOG, Job, record, state
from dynet_vdgi.experiments.tables import RESULT, recorded
from dynet_vdgi.settings.bundled import bundled, resources
from dynet_vdgi.settings.presets import load_settings, read_toml
from dynet_vdgi.settings.settings import Settings, leaves
from dynet_vdgi.system.locks import at_work
from dynet_vdgi.system.messages import did_you_mean

logger = logging.getLogger("dynet_vdgi")

Name = Annotated[str, Meta(pattern=r"^\w[\w.+-]*$")]  # names a folder

Names = tuple[str, ...]

_FILES = ("rules", "words.vectors", "words.clusters")
"""Settings that name a file."""

_UNPACKED = "ud-treebanks-v"
"""Prefix of the folders that UD archives unpack to; the version follows."""


class Treebank(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A treebank of a plan; files as the plan names them."""

    name: Name
    releases: Names = ()
    train: Names = ()
    test: Names = ()
    dev: Names = ()
    expectations: Names = ()
    presets: Names = ()
    set: Names = ()
    lengths: tuple[Annotated[int, Meta(ge=1)], ...] = (15, 40)


class System(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A system of a plan."""

    name: Name
    presets: Names = ("best",)
    set: Names = ()
    after: str = ""
    treebanks: Names = ()
    trees: Literal["parser", "teacher"] = "parser"
    seeds: Annotated[int, Meta(ge=0)] = 0  # the first so many of the plan's; 0: all

    def covers(self, treebank: str) -> bool:
        """True if the plan wants this system on this treebank."""
        return not self.treebanks or treebank in self.treebanks


class Plan(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A plan whose parts fit together."""

    seeds: Annotated[tuple[Annotated[int, Meta(ge=0)], ...], Meta(min_length=1)]
    treebanks: Annotated[tuple[Treebank, ...], Meta(min_length=1)] = msgspec.field(name="treebank")
    systems: Annotated[tuple[System, ...], Meta(min_length=1)] = msgspec.field(name="system")

    def __post_init__(self) -> None:
        systems = {system.name: system for system in self.systems}
        treebanks = {treebank.name: treebank for treebank in self.treebanks}
        for what, parts in (("treebank", self.treebanks), ("system", self.systems)):
            names = [part.name.casefold() for part in parts]  # some file systems ignore case
            if doubled := next((name for name in names if names.count(name) > 1), None):
                raise ValueError(f"{what}: two are called '{doubled}'")
        if BASELINES in systems:
            raise ValueError(f"system: the name '{BASELINES}' is taken")
        for name, treebank in treebanks.items():
            if not treebank.releases and not (treebank.train and treebank.test):
                raise ValueError(f"treebank '{name}': it needs 'train' and 'test', or 'releases'")
        for name, system in systems.items():
            start = systems.get(system.after, System(name=""))
            for other in {*system.treebanks} - {*treebanks}:
                raise ValueError(
                    f"system '{name}': no treebank '{other}'{did_you_mean(other, treebanks)}"
                )
            if system.after and not start.name:
                meant = did_you_mean(system.after, systems)
                raise ValueError(f"system '{name}': no system '{system.after}'{meant}")
            if start.after:
                raise ValueError(
                    f"system '{name}': it comes after '{start.name}', which itself has 'after'"
                )
            if any(system.covers(other) and not start.covers(other) for other in treebanks):
                raise ValueError(
                    f"system '{name}': '{start.name}', before it, leaves out a treebank"
                )
            if start.seeds and not 0 < system.seeds <= start.seeds:
                raise ValueError(f"system '{name}': '{start.name}', before it, has fewer seeds")


def path_of(name: str) -> Path:
    """The file of a plan: a path that ends in .toml, or the name of one in resources/experiments.

    Raises: ConfigError, no such name.
    """
    if name.endswith(".toml"):
        return Path(name)
    plans = {path.stem: path for path in sorted((resources() / "experiments").glob("*.toml"))}
    if name not in plans:
        there_are = f"(there are: {', '.join(plans)}; a file must end in .toml)"
        raise ConfigError(f"no plan '{name}'{did_you_mean(name, plans)} {there_are}")
    return plans[name]


def load_plan(path: Path) -> Plan:
    """The plan in a TOML file. Raises: ConfigError, it cannot be read, or parts do not fit."""
    try:
        return msgspec.convert(read_toml(path, "plan"), Plan)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{path}: {error}") from None


def select(plan: Plan, only: Sequence[str]) -> list[tuple[Treebank, System]]:
    """The parts to run, systems after those they start from; `only` names treebanks, systems or
    both.

    Raises: UsageError, a name in `only` is neither a treebank nor a system.
    """
    treebanks, systems = (
        {each.name for each in plan.treebanks},
        {each.name for each in plan.systems},
    )
    for name in only:
        if name not in treebanks | systems:
            meant = did_you_mean(name, treebanks | systems)
            raise UsageError(f"--only {name}: the plan has no such name{meant}")
    wanted = systems & set(only) or systems
    wanted |= {system.after for system in plan.systems if system.name in wanted}
    ordered = sorted(plan.systems, key=lambda system: bool(system.after))
    return [
        (treebank, system)
        for treebank in plan.treebanks
        if treebank.name in (treebanks & set(only) or treebanks)
        for system in ordered
        if system.name in wanted and system.covers(treebank.name)
    ]


def jobs_of(
    plan: Plan, chosen: Sequence[tuple[Treebank, System]], folders: Sequence[str], out: str
) -> list[Job]:
    """The jobs of the chosen parts of a plan (see `select`): first the baselines, then runs after
    those they start from.

    Raises: VdgiError, a file is missing or cannot be read, a setting is at fault; and where.
    """
    baselines: dict[str, Job] = {}
    runs: dict[tuple[str, str, int], Job] = {}
    for treebank, system in chosen:
        try:
            run = msgspec.structs.replace(_job(treebank, system, folders), out=out)
            for seed in plan.seeds[: system.seeds or None]:
                start = runs.get((treebank.name, system.after, seed))
                job = record(msgspec.structs.replace(run, seed=seed), start)
                runs[treebank.name, system.name, seed] = job
            # The settings that choose the rules and their tag set.
            named = tuple(
                each for each in treebank.set if re.match(r"\s*(rules|data\.tags)\s*=", each)
            )
            rules = System(
                name=BASELINES, presets=("paper",), set=(f"data.protocol={job.protocol}",)
            )
            alone = _job(msgspec.structs.replace(treebank, set=named), rules, folders)
            job = record(msgspec.structs.replace(alone, out=out))
            baselines.setdefault(job.label, job)
        except (ConfigError, UsageError) as error:
            raise type(error)(
                f"treebank '{treebank.name}', system '{system.name}': {error}"
            ) from None
    return [*baselines.values(), *runs.values()]


def _job(treebank: Treebank, system: System, folders: Sequence[str]) -> Job:
    """A run without its seed and its record."""
    # presets of a treebank are of the paper's parser
    named = system.presets if system.trees == "teacher" else (*system.presets, *treebank.presets)
    presets = [
        next(iter(_files_named(each, folders)), each) if each.endswith(".toml") else each
        for each in named
    ]
    assignments = [
        text.replace("{treebank}", treebank.name) for text in (*system.set, *treebank.set)
    ]
    settings = load_settings(presets, assignments)
    if system.trees == "teacher" and not hasattr(settings, "teacher"):
        raise ConfigError(
            f"trees='teacher' scores the trees of a teacher, but recipe '{settings.recipe}' has none: "
            "name a preset with one, such as convex-mst"
        )
    if system.trees == "teacher" and system.after:
        raise ConfigError("trees='teacher' learns from the text alone: take 'after' away")
    chooses, counts = (
        settings.chooses_on_dev,
        settings.counts_in_trees and bool(treebank.expectations),
    )
    wanted = {"train": True, "test": True, "dev": chooses, "expectations": counts}
    treebank_files = files_of(
        treebank, folders, *(key for key, is_wanted in wanted.items() if is_wanted)
    )
    files: dict[str, Names] = dict.fromkeys(wanted, ()) | treebank_files
    if chooses and not files["dev"]:
        raise ConfigError(
            "train.select=dev chooses the model by gold dev trees: the treebank needs 'dev'"
        )
    if counts and not files["expectations"]:  # a release has trees of all of its text
        files["expectations"] = files["train"]
    return Job(
        treebank=treebank.name,
        system=system.name,
        presets=tuple(presets),
        set=(*assignments, *_found_settings(settings, folders)),
        lengths=tuple(sorted(set(treebank.lengths))),
        after=system.after,
        trees=system.trees,
        files=files,
    )


def _found_settings(settings: Settings, folders: Sequence[str]) -> Iterator[str]:
    """Assignments that replace the files in the settings by the paths where they were found."""
    values: dict[str, Any] = dict(leaves(settings.to_dict()))
    for name in _FILES:
        value = values.get(name)
        if not value or (name == "rules" and value in bundled("rules")):
            continue
        for path in _files_named(value, folders)[:1]:
            yield f"{name}={json.dumps(path, ensure_ascii=False)}"


def folders_of(path: Path, data: str | None) -> list[str]:
    """Where a plan's files are looked for: in `data` if given.

    Raises: UsageError, it is no folder.
    """
    if data is None:
        return [str(path.parent), *filter(None, [os.environ.get("VDGI_DATA")])]
    if not os.path.isdir(data):
        raise UsageError(f"--data {data}: no such folder")
    return [data]


def files_of(treebank: Treebank, folders: Sequence[str], *wanted: str) -> dict[str, Names]:
    """The wanted files of a treebank, by their keys in the plan, from its first complete source.

    Raises: UsageError, no source is complete; the message lists what was looked for, and where.
    """
    unpacked = [
        each for folder in folders for each in glob.glob(f"{glob.escape(folder)}/{_UNPACKED}*/")
    ]
    places = [*folders, *sorted(unpacked, key=lambda path: _age(path, treebank.name), reverse=True)]
    for stem in (os.path.join(place, release) for release in treebank.releases for place in places):
        release_files = {
            key: _matches(f"{glob.escape(stem)}-ud-{key}*.conllu")
            for key in ("train", "test", "dev")
        }
        if release_files["train"] and release_files["test"]:
            return {key: release_files.get(key, ()) for key in wanted}
    missing = [
        name for key in wanted for name in getattr(treebank, key) if not _files_named(name, folders)
    ]
    if missing or not treebank.test:
        names = [f"{name}-ud-train.conllu and -test" for name in treebank.releases] + missing
        raise UsageError(
            f"no files of treebank '{treebank.name}': looked for {', or '.join(names)} (or .gz), "
            f"in {', '.join(folders)}; --data names the folder"
        )
    return {
        key: tuple(p for name in getattr(treebank, key) for p in _files_named(name, folders))
        for key in wanted
    }


def _files_named(name: str, folders: Sequence[str]) -> Names:
    """The files of a name or pattern in the first folder that has any."""
    for path in (os.path.join("" if folder == "." else folder, name) for folder in folders):
        if matches := (path,) if os.path.exists(path) else _matches(path):
            return matches
    return ()


def _matches(pattern: str) -> Names:
    """The files of a pattern, sorted; where there are none, compressed ones."""
    return tuple(sorted(glob.glob(pattern) or glob.glob(f"{pattern}.gz")))


def _age(path: str, language: str) -> tuple[bool, list[int]]:
    """To sort releases: that of the published figures last, before it the newest; 2.10 is newer
    than 2.9."""
    version = Path(path).name.removeprefix(_UNPACKED)
    published_on = published.DATASETS.get(language, "").startswith(f"UD{version}-")
    return published_on, [int(number) for number in re.findall(r"\d+", version)]


def carry_out(jobs: Sequence[Job], out: Path, *, at_a_time: int = 1) -> list[str]:
    """Does the unfinished jobs in the experiment's folder; returns what failed, a line each.

    A run that starts from a failed one fails with it; the others go on.

    Raises:
        UsageError: another process is using the folder, or the folder cannot be made.
        KeyboardInterrupt: interrupted; all processes are stopped, and the message says which jobs
            are done.
    """
    with at_work(out, ".lock"):
        states = {job.label: state(job) for job in jobs}
        times = Counter(job_state.partition(" ")[0] for job_state in states.values())
        logger.info("%d runs: %s", len(jobs), ", ".join(f"{n} {name}" for name, n in times.items()))
        for label, job_state in states.items():
            if job_state.startswith("again"):
                logger.info("%s: %s", label, job_state)
        todo = [job for job in jobs if states[job.label] != "done"]
        try:
            with _threads(at_a_time) as threads:
                return _carry_out(todo, threads)
        except KeyboardInterrupt:
            n_done = sum(state(job) == "done" for job in todo)
            message = f"{n_done} of {len(todo)} runs are done; the same command goes on"
            raise KeyboardInterrupt(message) from None


def _carry_out(todo: Sequence[Job], threads: Executor) -> list[str]:
    failed: dict[str, str] = {}
    begin, n_ended = time.monotonic(), 0
    for is_start in (True, False):  # first those that others start from
        chosen = [job for job in todo if is_start == (not job.after)]
        for job in chosen:
            start = f"{job.treebank}/{job.after}/{job.seed}"
            if start in failed:
                failed[job.label] = f"failed: {job.label}: it starts from {start}, which failed"
        going = [job for job in chosen if job.label not in failed]
        futures = {threads.submit(jobs_module.in_own_process, job): job for job in going}
        n_ended += len(chosen) - len(futures)
        for future in as_completed(futures):
            job = futures[future]
            if reason := future.result():
                log = f" (log: {job.folder / LOG})" if (job.folder / LOG).exists() else ""
                failed[job.label] = f"failed: {job.label}: {reason}{log}"
            n_ended += 1
            left = (time.monotonic() - begin) / n_ended * (len(todo) - n_ended) / 60
            more = f"; about {left:.0f} min left" if n_ended < len(todo) else ""
            message = failed.get(job.label, f"{job.label}: scored{more}")
            if job.label not in failed and job.system != BASELINES:
                (row,) = recorded(job.folder / RESULT)["rows"]
                figures = ", ".join(f"{length} {dda:.1f}" for length, dda in row["dda"].items())
                message = f"{job.label}: DDA {figures}, {row['cpu_s']:.0f} CPU s{more}"
            logger.info("%d/%d %s", n_ended, len(todo), message)
    return list(failed.values())


@contextmanager
def _threads(at_a_time: int) -> Iterator[Executor]:
    """Threads that wait for a process each; the processes end with the block."""
    threads = ThreadPoolExecutor(at_a_time)
    try:
        yield threads
    finally:
        jobs_module.STOPPED.set()
        threads.shutdown(wait=False, cancel_futures=True)
        for process in list(jobs_module.RUNNING):
            process.kill()
        threads.shutdown()
        jobs_module.STOPPED.clear()
