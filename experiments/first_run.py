"""What the first parse of a big file costs, when nothing has been compiled yet, beside the second.

    python experiments/first_run.py FILE.conllu ... [--model universal] [--megabytes 20]

The files, repeated up to a size, are parsed twice by a copy of the package that has no machine
code. Python's byte code is there for both, as after `pip install`: the copy has parsed a file
before, and what numba compiled then is deleted. The table has seconds by the clock, CPU seconds of
all processes, and the longest time for which the terminal showed nothing new: messages and the
progress bar are new.
"""

from __future__ import annotations

import argparse
import os
import pty
import resource
import shutil
import subprocess
import tempfile
import termios
import time
from itertools import cycle, takewhile
from pathlib import Path

import measuring

HEADER = ("run", "s", "CPU s", "longest silence, s")
ROOT = Path(__file__).resolve().parents[1]


def forget(folder: Path) -> None:
    """Deletes all machine code of a copy of the package."""
    for path in [*folder.rglob("vdgi-kernels-*")]:
        shutil.rmtree(path)


def repeated(files: list[Path], target: Path, n_bytes: int) -> None:
    """Writes the files, each whole, one after the other, until there are so many bytes."""
    with target.open("wb") as out:
        for path in takewhile(lambda _: out.tell() < n_bytes, cycle(files)):
            out.write(path.read_bytes())


def row(command: list[str], folder: Path) -> list[str]:
    """Seconds, CPU seconds and the longest silence of a command, whose messages go to a
    terminal."""
    terminal, its_end = pty.openpty()
    termios.tcsetwinsize(its_end, (24, 80))  # without a size it would show no bar
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = last = time.monotonic()
    longest = 0.0
    with subprocess.Popen(command, cwd=folder, env=environment, stderr=its_end) as process:
        os.close(its_end)
        while _has_more(terminal):
            now = time.monotonic()
            longest, last = max(longest, now - last), now
        process.wait()
    os.close(terminal)
    end = time.monotonic()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = sum(getattr(after, name) - getattr(before, name) for name in ("ru_utime", "ru_stime"))
    if process.returncode:
        raise SystemExit(f"exit status {process.returncode}: {' '.join(command)}")
    return [f"{end - start:.1f}", f"{cpu:.1f}", f"{max(longest, end - last):.1f}"]


def _has_more(terminal: int) -> bool:
    """Waits for output and drops it; whether there was some before the end."""
    try:
        return bool(os.read(terminal, 1 << 16))
    except OSError:  # nobody writes to it any more
        return False


def main() -> None:
    parser = measuring.argument_parser(__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--model", default="universal")
    parser.add_argument("--megabytes", type=float, default=20.0)
    arguments: argparse.Namespace = parser.parse_args()
    print(measuring.conditions())
    command = [*measuring.VDGI, "parse", arguments.model, "big.conllu", "-o", "out.conllu"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in ("dynet_vdgi", "resources"):
            shutil.copytree(ROOT / part, folder / part)
        repeated(arguments.files[:1], folder / "big.conllu", 1)
        row(command, folder)
        forget(folder)
        repeated(arguments.files, folder / "big.conllu", int(1e6 * arguments.megabytes))
        rows = [[run, *row(command, folder)] for run in ("first", "second")]
    measuring.print_table("The first parse and the second", HEADER, rows)


if __name__ == "__main__":
    main()
