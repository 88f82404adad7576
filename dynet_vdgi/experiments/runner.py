"""Carries out the jobs of an experiment, several at a time, here or on a Dask cluster."""

from __future__ import annotations

import logging
import os
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError, Executor, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path

import msgspec

from dynet_vdgi.errors import VdgiError
from dynet_vdgi.experiments import job as jobs_module
from dynet_vdgi.experiments.job import BASELINES, LOG, Job, state
from dynet_vdgi.experiments.tables import RESULT, recorded
from dynet_vdgi.system.locks import at_work
from dynet_vdgi.system.side_by_side import connected, lost_or_failed

logger = logging.getLogger("dynet_vdgi")


def carry_out(
    jobs: Sequence[Job], out: Path, *, at_a_time: int = 1, scheduler: str | None = None
) -> list[str]:
    """Does the unfinished jobs in the experiment's folder; returns what failed, a line each.

    A run that starts from a failed one fails with it; the others go on.

    Raises:
        UsageError: another process is using the folder, or the folder cannot be made.
        VdgiError: no cluster can be reached at the scheduler's address, or the connection is lost.
        KeyboardInterrupt: interrupted; all processes are stopped, and the message says which jobs are done.
    """
    with at_work(out, ".lock"):
        states = {job.label: state(job) for job in jobs}
        times = Counter(said.partition(" ")[0] for said in states.values())
        logger.info("%d runs: %s", len(jobs), ", ".join(f"{n} {name}" for name, n in times.items()))
        for label, said in states.items():
            if said.startswith("again"):
                logger.info("%s: %s", label, said)
        todo = [job for job in jobs if states[job.label] != "done"]
        if not todo:
            return []
        with _executor(at_a_time, scheduler) as executor:
            return _carry_out(todo, executor)


def _carry_out(todo: Sequence[Job], executor: Executor) -> list[str]:
    failed: dict[str, str] = {}
    begin, n_ended = time.monotonic(), 0
    try:
        for is_start in (True, False):  # first those that others start from
            chosen = [job for job in todo if is_start == (not job.after)]
            for job in chosen:
                start = f"{job.treebank}/{job.after}/{job.seed}"
                if start in failed:
                    failed[job.label] = f"failed: {job.label}: it starts from {start}, which failed"
            futures = {
                executor.submit(jobs_module.in_own_process, msgspec.to_builtins(job), os.getcwd()): job
                for job in chosen
                if job.label not in failed
            }
            n_ended += len(chosen) - len(futures)
            for future in as_completed(futures):
                job, error = futures[future], future.exception()
                # The cluster's errors: those of the job's process come back as its last words.
                reason = f"{type(error).__name__}: {error}" if error is not None else future.result()
                if reason:
                    log = f" (log: {job.folder / LOG})" if (job.folder / LOG).exists() else ""
                    failed[job.label] = f"failed: {job.label}: {reason}{log}"
                n_ended += 1
                left = (time.monotonic() - begin) / n_ended * (len(todo) - n_ended) / 60
                more = f"; about {left:.0f} min left" if n_ended < len(todo) else ""
                said = failed.get(job.label) or f"{job.label}: {_said(job)}{more}"
                logger.info("%d/%d %s", n_ended, len(todo), said)
    except (KeyboardInterrupt, CancelledError) as error:
        n_done = sum(state(job) == "done" for job in todo)
        message = f"{n_done} of {len(todo)} runs are done; the same command goes on"
        if isinstance(error, CancelledError):
            raise VdgiError(f"{lost_or_failed(error)}; {message}") from None
        raise KeyboardInterrupt(message) from None
    return list(failed.values())


@contextmanager
def _executor(at_a_time: int, scheduler: str | None) -> Iterator[Executor]:
    """What jobs are handed to: threads, each waiting for a process that ends with the block, or a cluster."""
    if scheduler is not None:
        with connected(scheduler) as cluster:
            yield cluster.client.get_executor(pure=False)
        return
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


def _said(job: Job) -> str:
    """The scores of a finished run."""
    if job.system == BASELINES:
        return "scored"
    (row,) = recorded(job.folder / RESULT)["rows"]
    figures = ", ".join(f"{length} {dda:.1f}" for length, dda in row["dda"].items())
    return f"DDA {figures}, {row['cpu_s']:.0f} CPU s"
