"""How long a file takes to open in `vdgi annotate`, and a change while the program learns.

    python experiments/annotate_changes.py --sentences 2000 --changes 400

A file of so many sentences, the demo treebank's over and over with trees that count as guessed, is
annotated. When the program has learnt for the first time, one request after the other sets heads,
confirms and takes back, each on the disk before it is answered; after every twenty changes a
sentence is right, upon which the program learns again. The script prints the times of the answers
and how many came while it learnt, the time until the first sentence was there, and the CPU time of
the program that answers, everything it did meanwhile included: on a busy machine only the last
means much. Linux only.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from annotate_text import Requests
from measuring import annotating, argument_parser, conditions, print_table

DEMO = Path(__file__).parents[1] / "resources" / "demo" / "demo-ud-train.conllu"
CHANGES = (("head", 1, 0), ("right", 3, 0), ("head", 2, 0), ("open", 3, 0))
"""Made again and again in a sentence: what, the word, the value."""

A_SENTENCE = 20
"""Changes before the next sentence; the last says that this one is right."""


def repeated(count: int) -> str:
    """The demo treebank's sentences without their names, over and over."""
    blocks = DEMO.read_text(encoding="utf-8").strip("\n").split("\n\n")
    blocks = ["\n".join(line for line in block.split("\n") if line[0] != "#") for block in blocks]
    return "".join(blocks[number % len(blocks)] + "\n\n" for number in range(count))


def cpu(process: int) -> float:
    """CPU seconds of a process, without those it has started."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Times:
    """Milliseconds of each change and whether the program was learning then; CPU milliseconds a
    change."""

    changes: list[float]
    learning: list[bool]
    cpu: float


def measured(page: Requests, process: int, count: int) -> Times:
    """Makes so many changes, sentence after sentence."""
    times: list[float] = []
    learning: list[bool] = []
    start = cpu(process)
    for number in range(count):
        what, word, value = CHANGES[number % len(CHANGES)]
        if number % A_SENTENCE == A_SENTENCE - 1:
            what, word, value = "done", 0, 0
        page.change(number // A_SENTENCE, what, word, value)
        times.append(1000 * page.seconds)
        learning.append(page.get("state")["learning"]["state"] == "learning")
    return Times(times, learning, 1000 * (cpu(process) - start) / count)


def wait_until_learnt(page: Requests) -> None:
    """Returns after the first lesson. Raises: SystemExit, there is none."""
    while (learning := page.get("state")["learning"])["state"] != "ready":
        if learning["state"] != "learning":
            raise SystemExit(f"nothing is learnt: {learning}")
        time.sleep(0.2)


@contextmanager
def opened(path: Path) -> Iterator[tuple[Requests, int, float]]:
    """The page of a file, its process, and the seconds until its first sentence was there."""
    start = time.perf_counter()
    with annotating(path, "--given", "guessed", "--every", "1") as (address, process):
        page = Requests(address)
        page.get("sentence/0")
        yield page, process, time.perf_counter() - start


def main() -> None:
    """Makes the changes, and prints the times."""
    parser = argument_parser(__doc__)
    parser.add_argument("--sentences", type=int, default=2000)
    parser.add_argument("--changes", type=int, default=400)
    arguments = parser.parse_args()
    at_start = conditions()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "text.conllu")
        path.write_text(repeated(arguments.sentences), encoding="utf-8")
        with opened(path) as (page, process, seconds):
            cpu_to_open = cpu(process)
            wait_until_learnt(page)
            times = measured(page, process, arguments.changes)
    print(at_start)
    ordered = sorted(times.changes)
    figures = [
        statistics.median(ordered),
        ordered[int(0.95 * len(ordered))],
        ordered[-1],
        times.cpu,
    ]
    header = ["changes", "while it learnt", "median, ms", "95 %, ms", "most, ms", "CPU ms a change"]
    header += ["opened, s", "CPU s"]
    row = [str(len(ordered)), str(sum(times.learning)), *(f"{figure:.1f}" for figure in figures)]
    row += [f"{seconds:.1f}", f"{cpu_to_open:.1f}"]
    print_table(f"Changes in {arguments.sentences} sentences", header, [row])


if __name__ == "__main__":
    main()
