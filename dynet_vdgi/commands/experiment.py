"""Run a plan of experiments: treebanks x systems x seeds.

PLAN is a TOML file, or the name of one in resources/experiments, such as demo, ud2 or paper-wsj.
Each run has its own folder, DIR/TREEBANK/SYSTEM/SEED, with model, parses, result.json and log.txt.
Finished runs are skipped and interrupted runs resume when you repeat the command. A run is repeated only
if its settings, files, rules or code have changed; the old one is moved to DIR/.replaced. At the end,
prints the tables of vdgi table.

  vdgi experiment demo --out runs/grid --jobs 2
  vdgi experiment my-plan.toml --out runs/my --dry-run
  vdgi experiment paper-ud --data DIR --out runs/ud --only fr UniversalRules --seeds 1 2

With --scheduler, the workers of a Dask cluster run the tasks. They must see the same files under the same
names:

  dask scheduler --port 8786 &  dask worker tcp://HOST:8786 --nthreads 1 --nworkers 8 &
  vdgi experiment paper-ud --out runs/ud --scheduler tcp://HOST:8786
"""

from __future__ import annotations

import argparse
import logging
import shlex
from dataclasses import replace
from pathlib import Path

from dynet_vdgi.commands import check_at_least_1
from dynet_vdgi.data import files
from dynet_vdgi.errors import UsageError, VdgiError
from dynet_vdgi.system.names import plain

logger = logging.getLogger("dynet_vdgi")


class FailedError(VdgiError):
    """Some tasks failed; the others are done."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("plan", metavar="PLAN", help="plan.toml, or the name of one in resources/experiments")
    parser.add_argument(
        "--out", required=True, metavar="DIR", help="folder for all results; created if missing"
    )
    parser.add_argument(
        "--data",
        metavar="DIR",
        help="folder of the plan's files (default: the plan's folder, then $VDGI_DATA)",
    )
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="NAME", help="run these treebanks and systems only"
    )
    parser.add_argument("--seeds", nargs="+", type=int, metavar="N", help="seeds, instead of the plan's")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="runs at a time (default: 1)")
    parser.add_argument(
        "--scheduler", metavar="ADDRESS", help="address of a Dask cluster that shares the file system"
    )
    parser.add_argument("--dry-run", action="store_true", help="list the tasks and their state, run nothing")


def run(arguments: argparse.Namespace) -> None:
    from dynet_vdgi.experiments import expansion, plan, plan_files, runner, tasks

    check_at_least_1("--jobs", arguments.jobs)
    files.check_named(arguments.out)
    path = plan.path_of(arguments.plan)
    content = plan.load(path)
    if arguments.seeds:
        if min(arguments.seeds) < 0:
            raise UsageError(f"--seeds {min(arguments.seeds)}: must be 0 or more")
        content = replace(content, seeds=tuple(dict.fromkeys(arguments.seeds)))
    folders = plan_files.folders(path, arguments.data)
    found = expansion.expand(content, plan.select(content, arguments.only), folders, arguments.out)
    if arguments.dry_run:
        for task in found:
            print(plain(f"{task.label}: {tasks.state(task)}"))
        return
    out = Path(arguments.out)
    failures = runner.carry_out(
        content, found, folders, out, jobs=arguments.jobs, scheduler=arguments.scheduler
    )
    show(arguments, out)
    if failures:
        for failure in failures:
            logger.error("%s", failure)
        raise FailedError(f"{len(failures)} of {len(found)} tasks failed; the same command tries them again")


def show(arguments: argparse.Namespace, out: Path) -> None:
    """Prints the origin of the tables, and the tables."""
    from dynet_vdgi.experiments import provenance
    from dynet_vdgi.experiments.tables import build, formats, grid

    words = ["vdgi", "experiment", arguments.plan, "--out", arguments.out]
    words += ["--data", arguments.data] if arguments.data else []
    words += ["--only", *arguments.only] if arguments.only else []
    words += ["--seeds", *map(str, arguments.seeds)] if arguments.seeds else []
    words += ["--jobs", str(arguments.jobs)] if arguments.jobs > 1 else []
    words += ["--scheduler", "ADDRESS"] if arguments.scheduler else []
    cpu_s = grid.load([out]).cpu_s
    together = f"{provenance.conditions()}. All runs together: {cpu_s:.0f} CPU seconds."
    print(plain(f"`{shlex.join(words)}`\n\n{together}\n"))
    print(plain(formats.show(build.tables([out]), "markdown")), end="")
