"""A task in a process of its own, which ends with its parent process.

No process does two tasks, because DyNet keeps its memory, and a value in it that is not finite spoils all
later results.
`run_task` starts the process, here or on a worker of a cluster; `main` runs in it.
"""

from __future__ import annotations

import importlib
import json
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dynet_vdgi.errors import UsageError, VdgiError
from dynet_vdgi.experiments import tasks
from dynet_vdgi.experiments.tasks import Task
from dynet_vdgi.system.locks import locked

ASIDE, LOCKS = ".replaced", ".locks"
"""Folders of an experiment: results of other settings, data or code; one lock for each task."""

_ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")

# Isolated from the folder it starts in: modules are found where the starting process found them.
_START = (
    "import json, os, sys\n"
    "line = b''\n"
    "while not line.endswith(b'\\n'):\n"
    "    line += os.read(0, 1 << 16) or sys.exit(1)\n"
    "order = json.loads(line)\n"
    "sys.path[:] = order['sys_path']\n"
    "from dynet_vdgi.experiments.processes import main\n"
    "sys.exit(main(order['task']))\n"
)

logger = logging.getLogger("dynet_vdgi")


# ------------------------------------------------------------------------------------------- outside
class ChildProcesses:
    """The running processes, to be killed at once if the program is interrupted."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self.stopped = False

    def add(self, process: subprocess.Popen[bytes]) -> None:
        with self._guard:
            self._running.add(process)
            if self.stopped:
                process.kill()

    def remove(self, process: subprocess.Popen[bytes]) -> None:
        with self._guard:
            self._running.discard(process)

    def stop(self) -> None:
        """Kills them all, and any started later."""
        with self._guard:
            self.stopped = True
            for process in self._running:
                process.kill()


PROCESSES = ChildProcesses()


def run_task(content: Mapping[str, Any], folder: str) -> dict[str, Any]:
    """Carries out a task (`Task.to_dict`) in a process started in `folder`; gives status and last words."""
    task = tasks.from_dict(content)
    order = {"task": content, "sys_path": [os.path.abspath(path) for path in sys.path]}
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-I", "-c", _START],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        cwd=folder,
        env={**os.environ, **_ONE_THREAD},
        start_new_session=True,  # Ctrl-C goes to this process, which stops the other
    )
    PROCESSES.add(process)
    with process:
        assert process.stdin is not None
        assert process.stderr is not None
        try:
            process.stdin.write(json.dumps(order).encode() + b"\n")
            process.stdin.flush()  # it stays open: when it closes, the child process ends
        except BrokenPipeError:
            pass
        said = process.stderr.read().decode(errors="replace")
        status = process.wait()
    PROCESSES.remove(process)
    return {
        "status": status,
        "last": _last_words(task, status, said, folder),
        "s": time.perf_counter() - start,
    }


def _last_words(task: Task, status: int, said: str, folder: str) -> str:
    """Why a task failed, as far as it reported."""
    if status == 0:
        return ""
    if status < 0:
        return f"killed by signal {-status}" + (" (out of memory?)" if status == -9 else "")
    try:
        said = said or Path(folder, task.log).read_text(encoding="utf-8", errors="replace")
    except OSError:
        said = ""
    lines = [line for line in said.splitlines() if line.strip()]
    return lines[-1].strip() if lines else f"exit status {status}"


# ------------------------------------------------------------------------------------------- inside
def main(content: Mapping[str, Any]) -> int:
    """Carries out the task and returns the exit status; its output goes to the task's log."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    task = tasks.from_dict(content)
    try:
        # If the program was killed, its last process may still be running; on a cluster another worker may
        # be doing this task.
        with locked(Path(task.out, LOCKS, *task.label.split("/"))):
            if tasks.state(task).name != "done":
                _check_key(task)
                _speak_into(task.log, append=prepare_folder(task))
                importlib.import_module(tasks.module_of(task)).perform(task)
    except VdgiError as error:
        print(error, file=sys.stderr)
        return error.exit_status
    except OSError as error:
        print(f"{error.filename}: {error.strerror}" if error.filename else error, file=sys.stderr)
        return 1
    return 0


def _end_with_parent() -> None:
    """Ends this process when standard input closes, which also happens when the parent dies."""
    while os.read(0, 1 << 16):
        pass
    os._exit(1)


def prepare_folder(task: Task) -> bool:
    """Prepares the task's folder; True if it holds something to resume."""
    resume = tasks.state(task).name in ("resume", "score")
    if task.system and not resume:
        move_aside(task)
    task.folder.mkdir(parents=True, exist_ok=True)
    for unfinished in task.folder.glob(".vdgi-*.tmp"):  # left by a process that was killed while writing
        unfinished.unlink()
    if task.system and not resume:
        tasks.write_json(task.folder / tasks.TASK_NAME, task.to_dict())
    return resume


def _speak_into(log_path: Path, *, append: bool) -> None:
    """Sends all further output of this process to a file."""
    sys.stderr.flush()
    log = os.open(log_path, os.O_WRONLY | os.O_CREAT | (os.O_APPEND if append else os.O_TRUNC), 0o666)
    for stream in (1, 2):
        os.dup2(log, stream)
    os.close(log)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(levelname)s %(message)s"))
    logger.handlers[:] = [handler]
    logger.propagate = False
    logger.setLevel(logging.INFO)


def move_aside(task: Task) -> None:
    """Moves the contents of the run's folder to another, in one step; nothing is deleted."""
    if not task.folder.is_dir() or not any(task.folder.iterdir()):
        return
    before = tasks.recorded(task.folder / tasks.TASK_NAME) or tasks.recorded(task.result)
    name = f"{task.label.replace('/', '.')}-{str(before.get('key', 'unknown'))[:8]}"
    aside = Path(task.out, ASIDE, name)
    number = 1
    while aside.exists():
        number += 1
        aside = Path(task.out, ASIDE, f"{name}-{number}")
    aside.parent.mkdir(parents=True, exist_ok=True)
    task.folder.rename(aside)


def _check_key(task: Task) -> None:
    """Fails if this process would not do what the task's key describes."""
    before = tasks.recorded(task.start / tasks.RESULT_NAME).get("parts", {}) if task.start else {}
    start_key = tasks.model_key(before) if before else ""
    parts = dict(tasks.key_parts(task, start_key))
    changed = [name for name, value in task.parts if parts.get(name) != value]
    if changed:
        raise UsageError(
            f"{task.label}: {', '.join(changed)} changed since the experiment began, or differ on this "
            "machine; start it again"
        )
