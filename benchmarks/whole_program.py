"""Speed of the program from file to file, start included; also UDPipe 1 if installed.

    python benchmarks/whole_program.py FILE.conllu [--best MODEL] [--best-tags MODEL] [--udpipe MODEL.udpipe]

Missing models are trained on the file, without its trees. The file is repeated up to --words words, and so
are its sentences of up to --lengths words; --other is parsed as it is. All tasks take turns --repeats times,
in processes of their own; the table has medians of CPU seconds, and peak memory. The parse of best-tags is
scored against the file. UDPipe parses a tenth as much, with given tags and features; --udpipe-trees is the
number of trees of the file for its model. The official evaluation script, in udtools, also reads and scores a
tenth as much.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import measuring

from dynet_vdgi.data import conllu_blocks

PARSE = [*measuring.VDGI, "-q", "parse"]

READ = """
import sys
from udtools.udeval import load_conllu_file
load_conllu_file(sys.argv[1])
"""

SCORE = """
import sys
from udtools.udeval import evaluate, load_conllu_file
evaluate(load_conllu_file(sys.argv[1]), load_conllu_file(sys.argv[1]))
"""

UDPIPE = """
import sys
from ufal.udpipe import Model, Pipeline, ProcessingError
model = Model.load(sys.argv[1])
pipeline = Pipeline(model, "conllu", Pipeline.NONE, Pipeline.DEFAULT, "conllu")
print(len(pipeline.process(open(sys.argv[2], encoding="utf-8").read(), ProcessingError())))
"""


TRAIN_UDPIPE = """
import sys
from ufal.udpipe import InputFormat, ProcessingError, Sentence, Sentences, Trainer
text = open(sys.argv[1], encoding="utf-8").read()
reader, trees, error = InputFormat.newConlluInputFormat(), Sentences(), ProcessingError()
reader.setText(text)
for _ in range(int(sys.argv[3])):
    sentence = Sentence()
    if not reader.nextSentence(sentence, error):
        break
    trees.append(sentence)
model = Trainer.train("morphodita_parsito", trees, Sentences(), "none", "none", "", error)
open(sys.argv[2], "wb").write(model)
"""


def repeated(source: str, target: Path, n_words: int, longest: int = 10**9) -> int:
    """Writes this many words of a file, repeated from its start; returns the number of words."""
    blocks, lengths = [], []
    for block in conllu_blocks.blocks(source):
        length = _n_words(block)
        if length <= longest:
            blocks.append(block)
            lengths.append(length)
    words = 0
    with target.open("w", encoding="utf-8") as file:
        while words < n_words:
            for block, length in zip(blocks, lengths):
                file.write("\n".join(block.lines) + "\n\n")
                words += length
                if words >= n_words:
                    break
    return words


def _n_words(block: conllu_blocks.Block) -> int:
    return sum(line.split("\t", 1)[0].isdigit() for line in block.lines)


def other_tasks(arguments: argparse.Namespace, folder: Path) -> tuple[dict[str, list[str]], dict[str, int]]:
    """Parses of other files, and their numbers of words."""
    tasks, n_words = {}, {}
    source = folder / "tenth.conllu"
    tenth = repeated(arguments.file, source, arguments.words // 10)
    if arguments.udpipe and importlib.util.find_spec("ufal") is not None:
        n_words["UDPipe 1"] = tenth
        tasks["UDPipe 1"] = [sys.executable, "-c", UDPIPE, arguments.udpipe, str(source)]
    if importlib.util.find_spec("udtools") is not None:
        for title, script in (("reads", READ), ("scores", SCORE)):
            n_words[f"official script {title}"] = tenth
            tasks[f"official script {title}"] = [sys.executable, "-c", script, str(source)]
    if arguments.other:
        words = sum(_n_words(block) for block in conllu_blocks.blocks(arguments.other))
        for title, model in (("best-tags", arguments.best_tags), ("best", arguments.best)):
            name = f"parse, {title}, other file"
            tasks[name] = [*PARSE, model, arguments.other, "-o", str(folder / "out.conllu")]
            n_words[name] = words
    for longest in arguments.lengths:
        source = folder / f"upto{longest}.conllu"
        words = repeated(arguments.file, source, arguments.words, longest)
        for title, model in (("best-tags", arguments.best_tags), ("best", arguments.best)):
            name = f"parse, {title}, <= {longest} words"
            tasks[name] = [*PARSE, model, str(source), "-o", str(folder / "out.conllu")]
            n_words[name] = words
    return tasks, n_words


def tasks_for(arguments: argparse.Namespace, folder: Path) -> dict[str, list[str]]:
    """The commands, the parses first."""
    large, few, out = folder / "large.conllu", folder / "few.conllu", str(folder / "out.conllu")
    tasks: dict[str, list[str]] = {}
    for title, model in (("best-tags", arguments.best_tags), ("best", arguments.best)):
        tasks[f"parse, {title}, tree only"] = [*PARSE, model, str(large), "-o", out, "--labels", "none"]
        tasks[f"parse, {title}"] = [*PARSE, model, str(large), "-o", out]
        tasks[f"parse, {title}, confidence"] = [*PARSE, model, str(large), "-o", out, "--confidence"]
    evaluate = [*measuring.VDGI, "evaluate", str(large), str(folder / "parse.conllu")]
    tasks["check"] = [*measuring.VDGI, "check", str(large)]
    tasks["evaluate, without bootstrap"] = [*evaluate, "--bootstrap", "0"]
    tasks["evaluate"] = evaluate
    tasks["parse of 3 sentences, best"] = [*PARSE, arguments.best, str(few), "-o", out]
    tasks["--help"] = [*measuring.VDGI, "--help"]
    return tasks


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", metavar="CONLLU")
    parser.add_argument("--best", help="a model of the preset best")
    parser.add_argument("--best-tags", help="a model of the preset best-tags")
    parser.add_argument("--udpipe", help="a model of UDPipe 1")
    parser.add_argument("--udpipe-trees", type=int, default=0, help="train one on so many trees")
    parser.add_argument("--lengths", type=int, nargs="*", default=[15, 40])
    parser.add_argument("--other", metavar="CONLLU", help="a long file that does not repeat itself")
    parser.add_argument("--words", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # as an installed program, modules are compiled once
    measuring.print_conditions(measuring.conditions())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        n_words = repeated(arguments.file, folder / "large.conllu", arguments.words)
        few = list(conllu_blocks.blocks(arguments.file))[:3]
        (folder / "few.conllu").write_text("".join("\n".join(b.lines) + "\n\n" for b in few))
        for preset in ("best", "best_tags"):
            if getattr(arguments, preset) is None:
                train = ["train", "--train", arguments.file, "--preset", preset.replace("_", "-")]
                subprocess.run([*measuring.VDGI, "-q", *train, "--out", str(folder / preset)], check=True)
                setattr(arguments, preset, str(folder / preset))
        if arguments.udpipe_trees and not arguments.udpipe:
            arguments.udpipe = str(folder / "model.udpipe")
            train = [TRAIN_UDPIPE, arguments.file, arguments.udpipe, str(arguments.udpipe_trees)]
            subprocess.run([sys.executable, "-c", *train], check=True, stderr=subprocess.DEVNULL)
        tasks = tasks_for(arguments, folder)
        others, words_of = other_tasks(arguments, folder)
        tasks.update(others)
        first = tasks["parse, best-tags"]
        subprocess.run([*first[:-1], str(folder / "parse.conllu")], check=True)  # compiles, too
        seconds: dict[str, list[float]] = {task: [] for task in tasks}
        peaks = dict.fromkeys(tasks, 0.0)
        for _ in range(arguments.repeats):
            for task, command in tasks.items():
                peaks[task], cpu = measuring.memory_and_time(command)
                seconds[task].append(cpu)
    rows = []
    for task, values in seconds.items():
        cpu = statistics.median(values)
        speed = f"{words_of.get(task, n_words) / cpu:,.0f}" if cpu > 1 else ""
        rows.append([task, f"{cpu:.2f}", f"{min(values):.2f}", speed, f"{peaks[task]:.0f}"])
    header = ["whole program", "CPU s", "lowest", "words per CPU s", "peak MB"]
    measuring.print_table(f"{n_words:,} words", header, rows)


if __name__ == "__main__":
    main()
