"""How long a change takes in the program of `vdgi annotate` while it learns.

    python benchmarks/annotate_changes.py --sentences 2000 --changes 400

A file of so many sentences, the demo treebank's over and over with trees that count as guessed, is annotated:
one request after the other sets heads, confirms and takes back, each on the disk before it is answered, while
other processes learn from the text. The script prints the times of the answers, and the CPU time of the
program that answers, everything it did meanwhile included: on a busy machine only this one means much. Linux
only.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
from pathlib import Path

from annotate_text import Requests
from measuring import VDGI, argument_parser, conditions, print_table

DEMO = Path(__file__).parents[1] / "resources" / "demo" / "demo-ud-train.conllu"
CHANGES = (("head", 1, 0), ("right", 3, 0), ("head", 2, 0), ("open", 3, 0))
"""Made again and again in a sentence: what, the word, the value."""


def repeated(count: int) -> str:
    """The demo treebank's sentences without their names, over and over."""
    blocks = DEMO.read_text(encoding="utf-8").strip("\n").split("\n\n")
    blocks = ["\n".join(line for line in block.split("\n") if line[0] != "#") for block in blocks]
    return "".join(blocks[number % len(blocks)] + "\n\n" for number in range(count))


def cpu(process: int) -> float:
    """CPU seconds of a process, without those it has started."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measured(page: Requests, process: int, count: int) -> tuple[list[float], float]:
    """Milliseconds of each change, and CPU milliseconds per change."""
    times: list[float] = []
    start = cpu(process)
    for number in range(count):
        what, word, value = CHANGES[number % len(CHANGES)]
        page.change(number // 20, what, word, value)
        times.append(1000 * page.seconds)
    return times, 1000 * (cpu(process) - start) / count


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
        command = [*VDGI, "annotate", str(path), "--no-browser", "--annotator", "x", "--given", "guessed"]
        running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            assert running.stdout is not None
            page = Requests(running.stdout.readline().strip())
            states = [page.get("state")["learning"]["state"]]
            times, each = measured(page, running.pid, arguments.changes)
            states.append(page.get("state")["learning"]["state"])
        finally:
            running.terminate()
            running.wait(60)
    print(at_start)
    ordered = sorted(times)
    figures = [statistics.median(times), ordered[int(0.95 * len(ordered))], ordered[-1], each]
    header = ["changes", "median, ms", "95 %, ms", "most, ms", "CPU ms a change"]
    title = f"Changes in {arguments.sentences} sentences; state before and after: {', '.join(states)}"
    print_table(title, header, [[str(len(times)), *(f"{figure:.1f}" for figure in figures)]])


if __name__ == "__main__":
    main()
