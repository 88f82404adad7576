"""Shared by the speed scripts: interleaved timing, peak memory of a fresh process, tables, the machine.

Times are CPU seconds, because other work on the machine affects them little; it affects ratios least.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dynet_vdgi.experiments import provenance

VDGI = [sys.executable, "-m", "dynet_vdgi"]

_PEAK = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_maxrss, used.ru_utime + used.ru_stime)
"""


def medians(
    jobs: Mapping[str, Callable[[], object]], repeats: int, clock: Callable[[], float] = time.process_time
) -> dict[str, float]:
    """Median seconds of each job; all jobs take turns, so that a busy moment affects all of them."""
    seconds: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(repeats):
        for name, job in jobs.items():
            start = clock()
            job()
            seconds[name].append(clock() - start)
    return {name: statistics.median(values) for name, values in seconds.items()}


def cpu_with_children() -> float:
    """CPU seconds of this process and of its child processes that have ended."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def cell(values: Iterable[float]) -> str:
    """Figures of several length limits in one cell of a table."""
    return " / ".join(f"{value:.1f}" for value in values)


def peak_memory(command: Sequence[str]) -> float:
    """Peak resident memory, in MB, of a command in a process of its own."""
    return memory_and_time(command)[0]


def memory_and_time(command: Sequence[str]) -> tuple[float, float]:
    """Peak resident memory, in MB, and CPU seconds of a command in a process of its own.

    A small process in between starts it, because a process started directly from here would inherit the peak
    of this one.
    """
    package = str(Path(__file__).resolve().parents[1])
    path = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path}
    run = subprocess.run(
        [sys.executable, "-c", _PEAK, *command], env=environment, stdout=subprocess.PIPE, check=True
    )
    unit = 2**20 if sys.platform == "darwin" else 2**10  # bytes there, kilobytes elsewhere
    peak, seconds = run.stdout.split()[-2:]
    return int(peak) / unit, float(seconds)


def itself(*arguments: str) -> list[str]:
    """The command that runs the present script with other arguments."""
    return [sys.executable, sys.argv[0], *arguments]


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "none"


def conditions() -> dict[str, Any]:
    """Where and when the figures were measured, without folders, which are the reader's own."""
    return {
        "command": " ".join(["python", f"benchmarks/{Path(sys.argv[0]).name}", *_names(sys.argv[1:])]),
        "date": provenance.today(),
        "processor": provenance.processor(),
        "cores": os.cpu_count(),
        "load": [round(load, 1) for load in os.getloadavg()],
        "python": platform.python_version(),
        **{name: _version(name) for name in ("numpy", "dyNET38", "torch")},
    }


def _names(words: Sequence[str]) -> list[str]:
    return [Path(word).name for word in words]


def print_conditions(measured: Mapping[str, Any]) -> None:
    """The paragraph above the tables."""
    load = " ".join(str(value) for value in measured["load"])
    versions = ", ".join(f"{name} {measured[name]}" for name in ("python", "numpy", "dyNET38", "torch"))
    print(f"`{measured['command']}`\n")
    print(
        f"{measured['date']}, {measured['processor']}, {measured['cores']} cores, load average {load} at the"
    )
    print(f"start; {versions}.")


def print_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A Markdown table: the first column is text, the others are numbers."""
    print(f"\n{title}\n")
    print(f"| {' | '.join(header)} |")
    print("|" + "---|" + "---:|" * (len(header) - 1))
    for row in rows:
        print(f"| {' | '.join(row)} |")
    sys.stdout.flush()


def write_json(path: str | None, content: Mapping[str, Any]) -> None:
    """All figures in a file, if requested."""
    if path:
        Path(path).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
