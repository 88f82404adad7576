"""A Dask cluster on this machine, all in processes of their own, for tests to kill."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from shell import ROOT, wait_for


class Cluster:
    """A scheduler and the workers that tests start; what they say goes to files in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.address = ""
        self._started: list[subprocess.Popen[bytes]] = []

    def start_scheduler(self) -> None:
        """Starts it and waits for its address."""
        where = self.folder / "scheduler.json"
        scheduler = self._start("dask_scheduler", "--port", "0", "--scheduler-file", str(where))
        wait_for(lambda: where.exists() and where.read_text(encoding="utf-8").endswith("}"), scheduler)
        self.address = json.loads(where.read_text(encoding="utf-8"))["address"]

    def start_worker(self, n_threads: int = 1) -> subprocess.Popen[bytes]:
        """One more worker, in one process that nobody starts again."""
        once = ("--no-nanny", "--nthreads", str(n_threads), "--memory-limit", "0")
        return self._start("dask_worker", self.address, *once, "--local-directory", str(self.folder))

    @property
    def scheduler(self) -> subprocess.Popen[bytes]:
        """The process of the scheduler."""
        return self._started[0]

    def workers(self) -> list[subprocess.Popen[bytes]]:
        """The processes of the workers that have not ended."""
        return [process for process in self._started[1:] if process.poll() is None]

    def kill(self) -> None:
        """Ends all processes."""
        for process in self._started:
            process.kill()
            process.wait()

    def _start(self, module: str, *arguments: str) -> subprocess.Popen[bytes]:
        local = ("--host", "127.0.0.1", "--no-dashboard")
        command = [sys.executable, "-m", "distributed.cli." + module, *arguments, *local]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        with open(self.folder / f"{module}-{len(self._started)}.log", "wb") as log:
            process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, cwd=self.folder)
        self._started.append(process)
        return process


@contextmanager
def running_cluster(folder: Path) -> Iterator[Cluster]:
    """A cluster without workers; at the end all its processes are killed. Skips where Dask is missing."""
    pytest.importorskip("distributed")
    cluster = Cluster(folder)
    try:
        cluster.start_scheduler()
        yield cluster
    finally:
        cluster.kill()
