"""Speed of the program from file to file, start included; also UDPipe 1 if installed.

    python experiments/whole_program.py FILE.conllu [--model NAME=MODEL ...] [--udpipe MODEL.udpipe]

Without --model, parsers of the presets best and strict learn from the file without its trees. The
file is repeated up to --words words; --other is parsed as it is, into trees only. All tasks take
turns --repeats times, in processes of their own; the table has medians of CPU seconds, and peak
memory. The parse of the last model is scored against the file. UDPipe parses a tenth as much, with
given tags and features; --udpipe-trees is the number of trees of the file for its model.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path

import measuring
import udpipe

from dynet_vdgi.conllu import blocks as conllu_blocks
from dynet_vdgi.models.model_file import load
from dynet_vdgi.models.run_folder import model_path

PARSE = [*measuring.VDGI, "-q", "parse"]
HEADER = ("whole program", "CPU s", "lowest", "words per CPU s", "peak MB")

UDPIPE = """
import sys
from ufal.udpipe import Model, Pipeline, ProcessingError
model = Model.load(sys.argv[1])
pipeline = Pipeline(model, "conllu", Pipeline.NONE, Pipeline.DEFAULT, "conllu")
print(len(pipeline.process(open(sys.argv[2], encoding="utf-8").read(), ProcessingError())))
"""


def turns(tasks: dict[str, list[str]], n_words: dict[str, int], repeats: int) -> list[list[str]]:
    """A row, as HEADER says, for each command; they take turns."""
    measurements: dict[str, list[tuple[float, float]]] = {task: [] for task in tasks}
    for _ in range(repeats):
        for task, command in tasks.items():
            measurements[task].append(measuring.memory_and_time(command))
    rows = []
    for task, runs in measurements.items():
        peaks, seconds = zip(*runs)
        cpu = statistics.median(seconds)
        speed = f"{n_words[task] / cpu:,.0f}" if cpu > 1 else ""
        rows.append([task, f"{cpu:.2f}", f"{min(seconds):.2f}", speed, f"{max(peaks):.0f}"])
    return rows


def repeated(source: str, target: Path, n_words: int) -> int:
    """Writes this many words of a file, repeated from its start; returns the number of words."""
    words = 0
    with target.open("w", encoding="utf-8") as file:
        for block in cycle(list(conllu_blocks.blocks(source))):
            file.write(text_of([block]))
            words += _n_words(block)
            if words >= n_words:
                break
    return words


def text_of(blocks: Sequence[conllu_blocks.Block]) -> str:
    """The text of these sentences in a file."""
    return "".join("\n".join(block.lines) + "\n\n" for block in blocks)


def _n_words(block: conllu_blocks.Block) -> int:
    return sum(line.split("\t", 1)[0].isdigit() for line in block.lines)


def tasks_for(
    arguments: argparse.Namespace, folder: Path, n_words: int
) -> tuple[dict[str, list[str]], dict[str, int]]:
    """The commands, the parses first, and the numbers of their words."""
    large, few, tenth = (str(folder / f"{name}.conllu") for name in ("large", "few", "tenth"))
    out = ["-o", str(folder / "out.conllu")]
    tasks: dict[str, list[str]] = {}
    for title, model in arguments.models.items():
        tasks[f"parse, {title}, tree only"] = [*PARSE, model, large, *out, "--labels", "none"]
        tasks[f"parse, {title}"] = [*PARSE, model, large, *out]
        if load(model_path(model)).settings.recipe != "neural":  # such a parser has none
            tasks[f"parse, {title}, confidence"] = [*PARSE, model, large, *out, "--confidence"]
    evaluate = [*measuring.VDGI, "evaluate", large, str(folder / "parse.conllu")]
    tasks["check"] = [*measuring.VDGI, "check", large]
    tasks["evaluate, without bootstrap"] = [*evaluate, "--bootstrap", "0"]
    tasks["evaluate"] = evaluate
    for title, model in arguments.models.items():
        tasks[f"parse of 3 sentences, {title}"] = [*PARSE, model, few, *out]
    tasks["--help"] = [*measuring.VDGI, "--help"]
    words = dict.fromkeys(tasks, n_words)
    if arguments.other:
        n_other = sum(map(_n_words, conllu_blocks.blocks(arguments.other)))
        for title, model in arguments.models.items():
            tasks[f"parse, {title}, other file"] = [
                *PARSE,
                model,
                arguments.other,
                *out,
                "--labels",
                "none",
            ]
            words[f"parse, {title}, other file"] = n_other
    if arguments.udpipe and udpipe.is_installed():
        words["UDPipe 1"] = repeated(arguments.file, Path(tenth), arguments.words // 10)
        tasks["UDPipe 1"] = [sys.executable, "-c", UDPIPE, arguments.udpipe, tenth]
    return tasks, words


def main() -> None:
    """Prints the table."""
    parser = measuring.argument_parser(__doc__)
    parser.add_argument("file", metavar="CONLLU")
    parser.add_argument(
        "--model", action="append", default=[], metavar="NAME=MODEL", help="to be measured"
    )
    parser.add_argument("--udpipe", help="a model of UDPipe 1")
    parser.add_argument("--udpipe-trees", type=int, default=0, help="train one on so many trees")
    parser.add_argument("--other", metavar="CONLLU", help="a long file that does not repeat itself")
    parser.add_argument("--words", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    # as an installed program, modules are compiled once
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    print(measuring.conditions())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        n_words = repeated(arguments.file, folder / "large.conllu", arguments.words)
        few = list(conllu_blocks.blocks(arguments.file))[:3]
        (folder / "few.conllu").write_text(text_of(few))
        arguments.models = dict(each.split("=", 1) for each in arguments.model)
        for preset in () if arguments.models else ("best", "strict"):
            train = ["train", "--train", arguments.file, "--preset", preset]
            subprocess.run(
                [*measuring.VDGI, "-q", *train, "--out", str(folder / preset)], check=True
            )
            arguments.models[preset] = str(folder / preset)
        if arguments.udpipe_trees and not arguments.udpipe:
            arguments.udpipe = str(folder / "model.udpipe")
            trees = list(conllu_blocks.blocks(arguments.file))[: arguments.udpipe_trees]
            Path(arguments.udpipe).write_bytes(udpipe.train(text_of(trees), parser=""))
        tasks, words = tasks_for(arguments, folder, n_words)
        model = list(arguments.models.values())[-1]
        large, parse = str(folder / "large.conllu"), str(folder / "parse.conllu")
        subprocess.run([*PARSE, model, large, "-o", parse], check=True)  # compiles, too
        rows = turns(tasks, words, arguments.repeats)
    measuring.print_table(f"{n_words:,} words", HEADER, rows)


if __name__ == "__main__":
    main()
