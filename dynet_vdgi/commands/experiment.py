"""Carry out a plan of experiments: treebanks x systems x seeds.

PLAN is a TOML file, or demo, paper-ud, paper-wsj (in resources/experiments, as examples). Every run has a
folder of its own, DIR/TREEBANK/SYSTEM/SEED: model, parses, result.json, log.txt. Stopped in whatever way, the
same command goes on; what is done is not done again unless its settings, files, rules or code have changed,
and what was there then is moved to DIR/.replaced. Prints the tables of vdgi table.

  vdgi experiment demo --out runs/grid --jobs 2
  vdgi experiment my-plan.toml --out runs/my --dry-run
  vdgi experiment paper-ud --data DIR --out runs/ud --only fr UniversalRules --seeds 1 2

With --scheduler, tasks go to the workers of a Dask cluster, which must see the same files by the same names:

  dask scheduler --port 8786 &  dask worker tcp://HOST:8786 --nthreads 1 --nworkers 8 &
  vdgi experiment paper-ud --out runs/ud --scheduler tcp://HOST:8786
"""

from __future__ import annotations

import argparse
import logging
import os
import platform
import subprocess
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dynet_vdgi import __version__, config
from dynet_vdgi.errors import UsageError, VdgiError

if TYPE_CHECKING:
    from dynet_vdgi.experiments.plan import Folders, Plan
    from dynet_vdgi.experiments.tasks import Task

logger = logging.getLogger("dynet_vdgi")


class FailedError(VdgiError):
    """Some tasks failed; the others are done."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `vdgi experiment`."""
    parser.add_argument("plan", metavar="PLAN", help="plan.toml, or the name of one in resources/experiments")
    parser.add_argument("--out", required=True, metavar="DIR", help="folder of all results; made if missing")
    parser.add_argument(
        "--data",
        metavar="DIR",
        help="folder of the plan's files (default: the plan's folder, then the environment's VDGI_DATA)",
    )
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="these treebanks and systems")
    parser.add_argument("--seeds", nargs="+", type=int, metavar="N", help="instead of those of the plan")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="runs at a time (default: 1)")
    parser.add_argument(
        "--scheduler", metavar="ADDRESS", help="of a Dask cluster whose workers share the file system"
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="list the tasks and how far they are, then stop"
    )


def run(arguments: argparse.Namespace) -> None:
    """Runs `vdgi experiment`."""
    from dynet_vdgi.experiments import expand, plan, tasks

    if arguments.jobs < 1:
        raise UsageError(f"--jobs {arguments.jobs}: at least 1")
    path = plan.path_of(arguments.plan)
    content = plan.load(path)
    if arguments.seeds:
        if min(arguments.seeds) < 0:
            raise UsageError(f"--seeds {min(arguments.seeds)}: from 0 upwards")
        content = replace(content, seeds=tuple(dict.fromkeys(arguments.seeds)))
    folders = plan.folders(path, arguments.data)
    found = expand.expand(content, plan.select(content, arguments.only), folders, arguments.out)
    if arguments.dry_run:
        for task in found:
            print(f"{task.label}: {tasks.state(task)}")
        return
    experiment(arguments, content, found, folders)


def experiment(arguments: argparse.Namespace, plan: Plan, found: list[Task], folders: Folders) -> None:
    """Carries out what is not done yet and prints the tables.

    Raises:
        UsageError: another process is at work in the folder, or it cannot be made.
        FailedError: some tasks failed.
    """
    from dynet_vdgi.commands.table import tables
    from dynet_vdgi.experiments import expand, formats, locks, results, runner

    out = Path(arguments.out)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the folder {str(out)!r}: {error.strerror}") from None
    try:
        with locks.locked(out / ".lock", wait=False):
            protocols = expand.protocols(plan, folders)
            results.write_plan(out, plan, protocols)
            todo = _todo(found)
            failures = runner.run(todo, jobs=arguments.jobs, scheduler=arguments.scheduler)
    except locks.TakenError as error:
        raise UsageError(f"{out}: {error} is at work in it; wait for it, or choose another --out") from None
    print(f"{provenance(arguments, out)}\n")
    print(formats.show(tables([out]), "markdown"), end="")
    if failures:
        for failure in failures:
            logger.error("%s", failure)
        raise FailedError(f"{len(failures)} of {len(found)} tasks failed; the same command tries them again")


def _todo(found: list[Task]) -> list[Task]:
    """The tasks that are not done; says how many there are of each kind, and what is done anew and why."""
    from dynet_vdgi.experiments import tasks

    states = [(task, tasks.state(task)) for task in found]
    times = Counter(state.name for _, state in states)
    logger.info("%d tasks: %s", len(found), ", ".join(f"{n} {name}" for name, n in times.items()))
    for task, state in states:
        if state.changes:
            logger.info("%s: %s", task.label, state)
    return [task for task, state in states if state.name != "done"]


def provenance(arguments: argparse.Namespace, out: Path) -> str:
    """How the tables came about: command without folders, date, program, machine, CPU seconds."""
    from dynet_vdgi.experiments import results

    words = ["vdgi experiment", Path(arguments.plan).name, "--out", out.name]
    words += ["--data", Path(arguments.data).name] if arguments.data else []
    words += ["--only", *arguments.only] if arguments.only else []
    words += ["--seeds", *map(str, arguments.seeds)] if arguments.seeds else []
    words += ["--jobs", str(arguments.jobs)] if arguments.jobs > 1 else []
    words += ["--scheduler", "ADDRESS"] if arguments.scheduler else []
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    commit = _commit()
    return (
        f"`{' '.join(words)}`\n\n"
        f"{time.strftime('%Y-%m-%d', time.gmtime())}, dynet_vdgi {__version__}"
        f"{f', commit {commit}' if commit else ''}, Python {platform.python_version()}; {cores} cores, "
        f"{_processor()}. All runs together: {results.load([out]).cpu_s:.0f} CPU seconds."
    )


def _commit() -> str:
    """The commit of the checkout that the program runs from, if it does."""
    checkout = Path(config.__file__).resolve().parents[1]
    if not (checkout / ".git").exists():
        return ""
    command = [
        "git",
        "-C",
        str(checkout),
        "describe",
        "--always",
        "--dirty=+changes",
        "--abbrev=7",
        "--exclude=*",
    ]
    try:
        found = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:  # no git here
        return ""
    return found.stdout.strip()


def _processor() -> str:
    """The processor's name, as far as the system tells."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
