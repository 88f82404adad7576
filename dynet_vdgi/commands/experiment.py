"""Run plans of treebanks x systems x seeds, and print their tables.

A plan is a TOML file; each of its runs has a folder of its own.

  vdgi experiment paper-ud --data DIR --out runs/ud --jobs 2
  vdgi experiment table runs/ud --like paper
"""

from __future__ import annotations

import argparse
import logging
import sys
from pathlib import Path

import msgspec

from dynet_vdgi.commands import add_tasks
from dynet_vdgi.commands.options import Options
from dynet_vdgi.errors import VdgiError
from dynet_vdgi.system import files
from dynet_vdgi.system.messages import plain

logger = logging.getLogger("dynet_vdgi")


class FailedError(VdgiError):
    """Some runs failed; the others are done."""


def add_arguments(add: Options) -> None:
    add_tasks(add, {"run": (_add_run, _run), "table": (_add_table, _table)}, usual="run")


def _add_run(add: Options) -> None:
    add("PLAN", "plan.toml, or the name of one in resources/experiments")
    add("--out DIR", "folder for all results; created if missing", required=True)
    add("--data DIR", "folder of the plan's files (default: the plan's folder, then $VDGI_DATA)")
    add("--only NAME...", "run these treebanks and systems only")
    add("--seeds N...", "seeds, instead of the plan's", least=0)
    add("--jobs N", "runs at a time", default=1, least=1)
    add("--dry-run", "list the runs and their state, do nothing")


def _run(arguments: argparse.Namespace) -> None:
    """Run a plan; `run` may be left out.

    PLAN is a TOML file, or the name of one in resources/experiments, such as demo, ud2 or
    paper-wsj. Each run has its own folder, DIR/TREEBANK/SYSTEM/SEED, with model, parses,
    result.json and log.txt. Finished runs are skipped and interrupted runs resume when you repeat
    the command. A run is repeated only if its settings, files, rules or code have changed; the old
    one is moved to DIR/.replaced. At the end, prints the tables.

      vdgi experiment demo --out runs/grid --jobs 2
      vdgi experiment my-plan.toml --out runs/my --dry-run
      vdgi experiment paper-ud --data DIR --out runs/ud --only fr UniversalRules --seeds 1 2
    """
    from dynet_vdgi.experiments import job, plan, tables

    files.check_named(arguments.out)
    path = plan.path_of(arguments.plan)
    content = plan.load_plan(path)
    if arguments.seeds:
        content = msgspec.structs.replace(content, seeds=tuple(dict.fromkeys(arguments.seeds)))
    folders = plan.folders_of(path, arguments.data)
    jobs = plan.jobs_of(content, plan.select(content, arguments.only), folders, arguments.out)
    if arguments.dry_run:
        for each in jobs:
            print(plain(f"{each.label}: {job.state(each)}"))
        return
    out = Path(arguments.out)
    failed = plan.carry_out(jobs, out, at_a_time=arguments.jobs)
    if len(failed) < len(jobs):
        print(plain(tables.markdown(tables.overview(tables.read([out])))), end="")
    if failed:
        for line in failed:
            logger.error("%s", line)
        raise FailedError(
            f"{len(failed)} of {len(jobs)} runs failed; the same command tries them again"
        )


def _add_table(add: Options) -> None:
    add("DIR...", "folder of vdgi experiment --out", dest="folders")
    add(
        "--like TABLE",
        "set figures beside published ones: 'paper', or a table of resources/published.csv",
    )


def _table(arguments: argparse.Namespace) -> None:
    """Print the tables of vdgi experiment.

    Systems x treebanks in DDA, mean (best) ± standard deviation over seeds, with baselines above
    them; one table for each protocol and length. Notes below name the commit and every use of gold
    trees. With --like, systems stand below the published model of their name, and languages in the
    column of their published data set; --like paper ends with the commands that make the rows of
    the paper's tables that have no run here.

      vdgi experiment table runs/ud
      vdgi experiment table runs/ud runs/wsj --like paper
    """
    from dynet_vdgi.experiments import missing_rows, tables

    rows = tables.read([Path(folder) for folder in arguments.folders])
    sections = (
        tables.overview(rows)
        if arguments.like is None
        else tables.published_tables(rows, arguments.like)
    )
    sys.stdout.write(plain(tables.markdown(sections)))
    if arguments.like == "paper":
        sys.stdout.writelines(f"\n{line}\n" for line in missing_rows.commands_of_missing(rows))
