"""Feeds changed files to every reader for some minutes: `run/fuzz.sh MINUTES [--kind NAME] [--seed
N]`.

Anything but the program's own errors is a failure: the first file of each place is kept in
tests/fuzz/found, and the exit status is 1. One that is mended moves to tests/fuzz/kept, which the
tests read.
"""

from __future__ import annotations

import argparse
import faulthandler
import logging
import os
import resource
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from dynet_vdgi.system.signals import ended_by_signals
from fuzz import targets
from fuzz.models import small_models

FOUND = Path(__file__).parent / "found"
AT_ONCE = 25


def main() -> int:
    """Runs, says how many were tried, and gives the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("minutes", type=float, help="how long, all kinds together")
    parser.add_argument("--kind", nargs="+", choices=targets.TARGETS, default=list(targets.TARGETS))
    parser.add_argument(
        "--seed", type=int, default=int(time.time()) * 1000, help="number of the first change"
    )
    parser.add_argument("--times", type=int, help="changes of each kind, instead of minutes")
    arguments = parser.parse_args()
    logging.disable(logging.CRITICAL)
    faulthandler.enable()
    tried, failed = dict.fromkeys(arguments.kind, 0), Counter[str]()
    # In memory where there is such a folder: most readers take less time than the disk.
    with tempfile.TemporaryDirectory(
        dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    ) as name:
        folder = Path(name)
        if {"models", "parsed"} & {*arguments.kind}:
            targets.MODELS.extend(small_models(folder))
        with suppress(KeyboardInterrupt), ended_by_signals():  # says how far it came
            for kind, start in turns(arguments, tried):
                for number, content, error in targets.failures(kind, folder, start, AT_ONCE):
                    where = place(error)
                    failed[where] += 1
                    if failed[where] == 1:
                        print(
                            f"{keep(kind, number, content)}: {where}: {str(error)[:100]}",
                            flush=True,
                        )
                tried[kind] += AT_ONCE
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"seed {arguments.seed}; {', '.join(f'{n} {kind}' for kind, n in tried.items())}; peak {peak:.0f} MB"
    )
    print(
        f"{failed.total()} failures at {len(failed)} places" + (f", see {FOUND}" if failed else "")
    )
    return int(bool(failed))


def turns(arguments: argparse.Namespace, tried: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    """One kind after the other, and the number of its next change, until time is up or all are
    done.

    However slow the computer is, each kind has a turn.
    """
    end = time.monotonic() + 60 * arguments.minutes
    while True:
        for kind in arguments.kind:
            if arguments.times is None and tried[kind] and time.monotonic() > end:
                return
            if tried[kind] < (arguments.times or sys.maxsize):
                yield kind, arguments.seed + tried[kind]
        if arguments.times and min(tried.values()) >= arguments.times:
            return


def place(error: Exception) -> str:
    """What it is and where it was raised."""
    where = traceback.extract_tb(error.__traceback__)[-1:]
    return " ".join(
        [type(error).__name__, *(f"{frame.filename}:{frame.lineno}" for frame in where)]
    )


def keep(kind: str, number: int, content: bytes) -> Path:
    """Writes the file."""
    FOUND.mkdir(exist_ok=True)
    path = FOUND / f"{kind}-{number}{targets.TARGETS[kind].ending}"
    path.write_bytes(content)
    return path


if __name__ == "__main__":
    sys.exit(main())
