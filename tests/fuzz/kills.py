"""Kills the program at random moments and looks at what is left: `python -m fuzz.kills TIMES` in tests/.

For train, parse with two jobs, experiment and annotate: a signal at a random moment, two in three SIGKILL and
one SIGTERM; then no process may live on, and once the same command has ended well, what it wrote must equal
what it writes without being killed, and no temporary file may be there.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import tiny

from dynet_vdgi.runs import model_file
from dynet_vdgi.settings.bundled import resources

ROOT = Path(__file__).parents[2]
SMALL = ["--preset", "paper", "--set", "train.updates=60", "--set", "train.evaluate_every=5"]
COMMANDS = {
    "train": ["train", "--train", "text.conllu", "--out", "run", "--resume", *SMALL],
    "parse": ["parse", "model.vdgi", "long.conllu", "-o", "parsed.conllu", "--jobs", "2"],
    "experiment": ["experiment", "plan.toml", "--out", "grid", "--jobs", "2"],
    "annotate": ["annotate", "bare.conllu", "--no-browser"],
}
PLAN = """
seeds = [1]
[[treebank]]
name = "xx"
train = ["text.conllu"]
test = ["text.conllu"]
[[system]]
name = "ours"
presets = ["paper"]
set = ["train.updates=40", "parser.hidden_dim=6"]
"""


def main() -> int:
    """Kills every command so many times and prints a table; 1 if something was lost or left."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("times", type=int, help="signals for each command")
    parser.add_argument("--only", nargs="+", choices=COMMANDS, default=list(COMMANDS))
    arguments = parser.parse_args()
    failures = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        print("| command | SIGKILL | SIGTERM | wrong status | processes left | files left | other results |")
        print("|---|---:|---:|---:|---:|---:|---:|")
        for verb in arguments.only:
            counts = campaign(verb, folder, arguments.times)
            failures += sum(counts[2:])
            print(f"| {verb} | {' | '.join(map(str, counts))} |", flush=True)
    return int(failures > 0)


def prepare(folder: Path) -> None:
    """The inputs of all commands."""
    tiny.write(folder / "text.conllu")
    text = (resources() / "demo" / "demo-ud-test.conllu").read_text(encoding="utf-8")
    bare = re.sub(r"(?m)^((?:[^\t\n]*\t){6})[^\t\n]*\t[^\t\n]*", r"\1_\t_", text)
    (folder / "bare.conllu").write_text(bare, encoding="utf-8")
    (folder / "long.conllu").write_text(text * 40, encoding="utf-8")
    (folder / "plan.toml").write_text(PLAN, encoding="utf-8")
    run(["train", "--train", "text.conllu", "--out", "m", *SMALL, "--set", "train.updates=5"], folder).wait()
    (folder / "m" / "model.vdgi").rename(folder / "model.vdgi")


def run(command: list[str], folder: Path) -> subprocess.Popen[bytes]:
    """The program in a session of its own."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", "dynet_vdgi", "-q", *command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def campaign(verb: str, folder: Path, times: int) -> list[int]:
    """Numbers of both signals, of wrong statuses, of processes and files left, of other results."""
    command, rng = COMMANDS[verb], random.Random(verb)
    counts = [0, 0, 0, 0, 0, 0]
    expected, seconds = b"", 6.0
    if verb != "annotate":  # which only ends when it is told to
        start = time.monotonic()
        run(command, folder).wait()
        expected, seconds = written(verb, folder), time.monotonic() - start
        remove(folder)
    for turn in range(times):
        number = signal.SIGTERM if turn % 3 == 2 else signal.SIGKILL
        process = run(command, folder)
        time.sleep(rng.uniform(0.3, seconds))
        process.send_signal(number)
        status = process.wait()
        counts[number == signal.SIGTERM] += 1
        wanted = (-signal.SIGKILL, 0) if number == signal.SIGKILL else (143, -signal.SIGTERM, 0)
        if status not in wanted:
            print(f"{verb}: status {status} after signal {number}", file=sys.stderr)
        counts[2] += status not in wanted  # -SIGTERM: before the program had begun; 0: after it had ended
        counts[3] += outlives(folder)
        if verb != "annotate" and rng.random() < 0.2:
            run(command, folder).wait()
            counts[5] += written(verb, folder) != expected
            counts[4] += len(list(folder.rglob(".vdgi-*.tmp")))
            remove(folder)
    counts[4] += sum(1 for path in folder.rglob(".vdgi-*.tmp")) if verb == "annotate" else 0
    return counts


def remove(folder: Path) -> None:
    """Removes what the commands write."""
    for name in ("run", "grid"):
        shutil.rmtree(folder / name, ignore_errors=True)
    (folder / "parsed.conllu").unlink(missing_ok=True)


def written(verb: str, folder: Path) -> bytes:
    """What the command wrote, without times."""
    if verb == "parse":
        return (folder / "parsed.conllu").read_bytes()
    path = (
        folder / "run" / "model.vdgi"
        if verb == "train"
        else folder / "grid" / "xx" / "ours" / "1" / "model.vdgi"
    )
    parameters = model_file.load(path).parameters
    return b"".join(np.ascontiguousarray(parameters[name]).tobytes() for name in sorted(parameters))


def outlives(folder: Path) -> int:
    """Processes that work in the folder ten seconds later."""
    end = time.monotonic() + 10
    while time.monotonic() < end:
        found = [path for path in Path("/proc").glob("[0-9]*") if is_at_work(path, folder)]
        if not found:
            return 0
        time.sleep(0.05)
    return len(found)


def is_at_work(process: Path, folder: Path) -> bool:
    """Whether it is in the folder and no zombie."""
    try:
        state = (process / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
        return state != "Z" and os.readlink(process / "cwd") == str(folder.resolve())
    except (OSError, UnicodeDecodeError):
        return False


if __name__ == "__main__":
    sys.exit(main())
