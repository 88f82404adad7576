"""When and where the figures were made, and by which version, for the line above a table."""

from __future__ import annotations

import os
import platform
import subprocess
import time
from pathlib import Path

from dynet_vdgi._version import __version__
from dynet_vdgi.settings import bundled


def conditions() -> str:
    """Date, program, Python and machine."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    known = commit()
    return (
        f"{today()}, dynet_vdgi {__version__}{f', commit {known}' if known else ''}, "
        f"Python {platform.python_version()}; {cores} cores, {processor()}"
    )


def today() -> str:
    """The date in UTC, as 2026-11-22."""
    return time.strftime("%Y-%m-%d", time.gmtime())


def commit() -> str:
    """The commit of the checkout that the program runs from, if any."""
    checkout = Path(bundled.__file__).resolve().parents[2]
    if not (checkout / ".git").exists():
        return ""
    options = ("--always", "--dirty=+changes", "--abbrev=7", "--exclude=*")
    command = ["git", "-C", str(checkout), "describe", *options]
    try:
        found = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:  # no git here
        return ""
    return found.stdout.strip()


def processor() -> str:
    """The processor's name, if the system gives it."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
