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
from pathlib import Path

import msgspec

from dynet_vdgi.commands import check_at_least_1
from dynet_vdgi.data import files
from dynet_vdgi.errors import UsageError, VdgiError
from dynet_vdgi.system.names import plain

logger = logging.getLogger("dynet_vdgi")


class FailedError(VdgiError):
    """Some runs failed; the others are done."""


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
    parser.add_argument("--dry-run", action="store_true", help="list the runs and their state, do nothing")


def run(arguments: argparse.Namespace) -> None:
    from dynet_vdgi.experiments import job, plan, runner, tables

    check_at_least_1("--jobs", arguments.jobs)
    files.check_named(arguments.out)
    path = plan.path_of(arguments.plan)
    content = plan.load(path)
    if arguments.seeds:
        if min(arguments.seeds) < 0:
            raise UsageError(f"--seeds {min(arguments.seeds)}: must be 0 or more")
        content = msgspec.structs.replace(content, seeds=tuple(dict.fromkeys(arguments.seeds)))
    folders = plan.folders_of(path, arguments.data)
    jobs = plan.jobs_of(content, plan.select(content, arguments.only), folders, arguments.out)
    if arguments.dry_run:
        for each in jobs:
            print(plain(f"{each.label}: {job.state(each)}"))
        return
    out = Path(arguments.out)
    failed = runner.carry_out(jobs, out, at_a_time=arguments.jobs, scheduler=arguments.scheduler)
    if len(failed) < len(jobs):
        print(plain(tables.markdown(tables.overview(tables.read([out])))), end="")
    if failed:
        for line in failed:
            logger.error("%s", line)
        raise FailedError(f"{len(failed)} of {len(jobs)} runs failed; the same command tries them again")
