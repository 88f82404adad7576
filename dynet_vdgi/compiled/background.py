"""Kernels that another process compiles, while this one goes on without them.

That process first runs the check of the known answer, so this one need not.
"""

from __future__ import annotations

import atexit
import sys
import threading
from typing import TYPE_CHECKING

from dynet_vdgi.compiled import code_cache

if TYPE_CHECKING:
    import subprocess

_processes: dict[str, subprocess.Popen[bytes] | None] = {}
_lock = threading.Lock()

is_allowed = True
"""Whether this process may begin others; worker processes, of which there are many, may not."""


def is_compiling(module: str, *, begin: bool) -> bool:
    """Whether another process is compiling what `make_ready` of a module needs; it is begun once, if at all.

    It ends with this process; kernels that it has finished by then are on disk for the next one.
    """
    with _lock:
        if begin and is_allowed and module not in _processes:
            _processes[module] = _begun(module)
        process = _processes.get(module)
        return process is not None and process.poll() is None


def is_busy() -> bool:
    """Whether another process compiles anything."""
    with _lock:
        return any(process is not None and process.poll() is None for process in _processes.values())


def _begun(module: str) -> subprocess.Popen[bytes] | None:
    if code_cache.writable_folder() is None:  # what it compiles could not be kept
        return None
    import subprocess  # late: most runs begin none

    proof = "from dynet_vdgi.compiled import known_answer; known_answer.prove()"
    code = f"import sys; sys.path[:] = {sys.path!r}; {proof}; import {module} as module; module.make_ready()"
    command, nowhere = [sys.executable, "-c", code], subprocess.DEVNULL
    try:
        process = subprocess.Popen(command, stdin=nowhere, stdout=nowhere, stderr=nowhere)
    except OSError:  # no more processes, or no memory: this process compiles, once that is worth it
        return None
    atexit.register(_end, process)
    return process


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
