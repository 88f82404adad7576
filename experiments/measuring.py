"""Shared by all scripts: options, rows in files, memory and time of a fresh process, tables, the
machine.

Times are CPU seconds, because other work on the machine affects them little; it affects ratios
least.
"""

from __future__ import annotations

import argparse
import csv
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dynet_vdgi.system.text_tables import TextTable

VDGI = [sys.executable, "-m", "dynet_vdgi"]
"""The command of the program."""

_PEAK = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_maxrss, used.ru_utime + used.ru_stime)
"""


def argument_parser(description: str | None) -> argparse.ArgumentParser:
    """A parser of the command line whose help is the script's docstring as it stands."""
    return argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )


def memory_and_time(command: Sequence[str]) -> tuple[float, float]:
    """Peak resident memory, in MB, and CPU seconds of a command in a process of its own.

    A small process in between starts it, because a process started directly from here would inherit
    the peak of this one.
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


@contextmanager
def annotating(path: Path, *options: str) -> Iterator[tuple[str, int]]:
    """The address and the process of the page of a file; it ends with the block."""
    command = [*VDGI, "annotate", str(path), "--no-browser", "--annotator", "x", *options]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert running.stdout is not None
        yield running.stdout.readline().strip(), running.pid
    finally:
        running.terminate()
        running.wait(60)


def csv_rows(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file; none if there is no such file."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> None:
    """Writes a CSV file with these columns, whole or not at all."""
    part = path.with_name(path.name + ".part")
    with part.open("w", encoding="utf-8", newline="") as handle:
        writer = csv.DictWriter(handle, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    part.replace(path)


def json_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a file with JSON on each line; none if there is no such file."""
    return (
        [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []
    )


def add_json_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Adds rows to such a file."""
    with path.open("a", encoding="utf-8") as handle:
        handle.writelines(json.dumps(row) + "\n" for row in rows)


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "none"


def _processor() -> str:
    """The processor's name, if the system gives it."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text(encoding="utf-8").splitlines() if cpuinfo.exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def conditions() -> str:
    """The paragraph above the tables: where and when the figures were measured.

    Of folders, which are the reader's own, only the last name stays.
    """
    words = " ".join(Path(word).name for word in sys.argv)
    load = " ".join(f"{load:.1f}" for load in os.getloadavg())
    versions = ", ".join(f"{name} {_version(name)}" for name in ("numpy", "dyNET38"))
    today = time.strftime("%Y-%m-%d", time.gmtime())
    machine = f"{today}, {_processor()}, {os.cpu_count()} cores, load average {load}"
    program = f"start; python {platform.python_version()}, {versions}."
    return f"`python experiments/{words}`\n\n{machine} at the\n{program}"


def cell(values: Iterable[float]) -> str:
    """Figures of several length limits in one cell of a table."""
    return " / ".join(f"{value:.1f}" for value in values)


def print_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A Markdown table with its title: the first column is text, the others are numbers."""
    print(f"\n{title}\n\n{TextTable(header, rows).markdown(escaped=False)}", flush=True)
