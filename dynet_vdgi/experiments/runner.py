"""Carries out the tasks of an experiment, several at a time, here or on a cluster."""

from __future__ import annotations

import logging
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dynet_vdgi.errors import VdgiError
from dynet_vdgi.experiments import expansion, processes, tasks
from dynet_vdgi.experiments.plan import Plan
from dynet_vdgi.experiments.plan_files import PlanFolders
from dynet_vdgi.experiments.tables import grid
from dynet_vdgi.experiments.tasks import Task
from dynet_vdgi.system.dask_cluster import connected, lost_or_failed
from dynet_vdgi.system.locks import at_work
from dynet_vdgi.system.progress import Bar, is_shown

logger = logging.getLogger("dynet_vdgi")


@dataclass(frozen=True)
class FailedTask:
    """A task that was not done, and the reason."""

    task: Task
    reason: str

    def __str__(self) -> str:
        log = f" (log: {self.task.log})" if self.task.log.exists() else ""
        return f"failed: {self.task.label}: {self.reason}{log}"


def carry_out(
    plan: Plan,
    found: Sequence[Task],
    folders: PlanFolders,
    out: Path,
    *,
    jobs: int = 1,
    scheduler: str | None = None,
) -> list[FailedTask]:
    """Carries out the plan's unfinished tasks in the experiment's folder; returns the failed ones.

    Raises: UsageError, another process is using the folder, or the folder cannot be made.
    """
    with at_work(out, ".lock"):
        grid.write_plan(out, plan, expansion.protocols(plan, folders), test_files(found))
        return run(_todo(found), jobs=jobs, scheduler=scheduler)


def test_files(found: Sequence[Task]) -> dict[str, list[str]]:
    """The names of each treebank's test files, with their folder."""
    return {task.treebank: ["/".join(Path(name).parts[-2:]) for name in task.test] for task in found}


def _todo(found: Sequence[Task]) -> list[Task]:
    """The unfinished tasks; reports how many there are of each kind, and which are redone and why."""
    states = [(task, tasks.state(task)) for task in found]
    times = Counter(state.name for _, state in states)
    logger.info("%d tasks: %s", len(found), ", ".join(f"{n} {name}" for name, n in times.items()))
    for task, state in states:
        if state.changes:
            logger.info("%s: %s", task.label, state)
    return [task for task, state in states if state.name != "done"]


def run(todo: Sequence[Task], *, jobs: int = 1, scheduler: str | None = None) -> list[FailedTask]:
    """Carries the tasks out, each after the one it starts from; returns the failed ones.

    A task that starts from a failed one fails with it; the others go on.

    Raises:
        VdgiError: no cluster can be reached at the scheduler's address, or the connection is lost.
        KeyboardInterrupt: interrupted; all processes are stopped, and the message says which tasks are done.
    """
    failures: dict[str, FailedTask] = {}
    with _executor(jobs, scheduler) as (executor, slots), _TaskProgress(len(todo), slots) as progress:
        waiting, running = list(todo), dict[Any, Task]()
        try:
            while waiting or running:
                for task in _submit(executor, waiting, running, slots, failures):
                    progress.ended(task, failures[task.label], 0.0)
                ended, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in ended:
                    task = running.pop(future)
                    seconds = _outcome(task, future, failures)
                    progress.ended(task, failures.get(task.label), seconds)
        except (KeyboardInterrupt, CancelledError) as error:
            processes.PROCESSES.stop()
            message = f"{progress.done} of {len(todo)} tasks are done; the same command goes on"
            if isinstance(error, CancelledError):
                raise VdgiError(f"{lost_or_failed(error)}; {message}") from None
            raise KeyboardInterrupt(message) from None
    return list(failures.values())


def _submit(
    executor: Executor,
    waiting: list[Task],
    running: dict[Any, Task],
    slots: int,
    failures: dict[str, FailedTask],
) -> list[Task]:
    """Moves tasks from `waiting` to `running` while there are slots, or to `failures`; returns these."""
    lost = []
    for task in list(waiting):
        start = f"{task.treebank}/{task.after}/{task.seed}"
        if start in failures:
            waiting.remove(task)
            failures[task.label] = FailedTask(task, f"it starts from {start}, which failed")
            lost.append(task)
        elif len(running) < slots and not any(start == t.label for t in (*waiting, *running.values())):
            waiting.remove(task)
            running[executor.submit(processes.run_task, task.to_dict(), os.getcwd())] = task
    return lost


def _outcome(task: Task, future: Future[dict[str, Any]], failures: dict[str, FailedTask]) -> float:
    """Records the task if it failed; returns its duration."""
    error = future.exception()
    if error is not None:  # the cluster's: an error inside the task's process comes back as its status
        failures[task.label] = FailedTask(task, f"{type(error).__name__}: {error}")
        return 0.0
    outcome = future.result()
    if outcome["status"]:
        failures[task.label] = FailedTask(task, outcome["last"])
    elif tasks.recorded(task.result).get("key") != task.key:
        reason = "no result in this folder; do the workers share this machine's file system?"
        failures[task.label] = FailedTask(task, reason)
    return float(outcome["s"])


@contextmanager
def _executor(jobs: int, scheduler: str | None) -> Iterator[tuple[Executor, int]]:
    """An executor for functions, and the number of tasks to hand it at a time."""
    processes.PROCESSES.stopped = False
    if scheduler is None:
        with ThreadPoolExecutor(jobs) as threads:
            yield threads, jobs
        return
    with connected(scheduler) as client:
        yield client.get_executor(pure=False), sys.maxsize


class _TaskProgress:
    """Finished tasks and the time left: a bar on a terminal, otherwise a line for each task."""

    def __init__(self, total: int, slots: int) -> None:
        self.total, self.slots, self.done = total, slots, 0
        self._ended = 0
        self._start = time.perf_counter()
        self._bar: Bar | None = None

    def __enter__(self) -> _TaskProgress:
        if self.total and is_shown():
            self._bar = Bar("tasks", self.total)
        return self

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.__exit__(*exception)

    def ended(self, task: Task, failure: FailedTask | None, seconds: float) -> None:
        """Shows that one more task has ended."""
        self._ended += 1
        self.done += failure is None
        if self._bar is not None:
            self._bar.update()
            if failure is not None:
                self._bar.write(str(failure))
            return
        said = f"{_figures(task)}, {seconds:.0f} s" if failure is None else f"failed: {failure.reason}"
        logger.info("%d/%d %s: %s%s", self._ended, self.total, task.label, said, self._left())

    def _left(self) -> str:
        left = self.total - self._ended
        if not left:
            return ""
        seconds = (time.perf_counter() - self._start) / self._ended * left
        return f"; about {shown_time(seconds)} left"


def _figures(task: Task) -> str:
    """The scores of a finished run."""
    if not task.system:
        return "scored"
    scores = tasks.recorded(task.result)["scores"].items()
    return "DDA " + ", ".join(f"{label} {100 * (s['dda'] or 0):.1f}" for label, s in scores)


def shown_time(seconds: float) -> str:
    """Seconds in a readable unit.

    >>> shown_time(40), shown_time(400), shown_time(40_000)
    ('40 s', '7 min', '11 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.0f} h"
