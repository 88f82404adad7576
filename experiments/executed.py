"""Counts the functions and lines of the package that two commands execute.

    python experiments/executed.py

The commands are `vdgi parse universal` on twelve sentences of the demo treebank, and `vdgi train
--preset paper` with three updates on its dev part. What runs while modules are imported does not
count, nor do comprehensions and lambdas as functions. Kernels run as Python, because nothing is
compiled, so their lines count.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import sys
import tempfile
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from measuring import conditions

import dynet_vdgi
from dynet_vdgi import cli
from dynet_vdgi.settings.bundled import resources
from dynet_vdgi.system import jit

SENTENCES = 12


class Executed:
    """Functions and lines of the package that ran."""

    def __init__(self) -> None:
        self.functions: set[CodeType] = set()
        self.lines: set[tuple[str, int]] = set()
        self.package = str(Path(dynet_vdgi.__file__).parent)

    def run(self, *arguments: str) -> None:
        """Runs a command, whose output and messages are dropped."""
        sys.settrace(self._enter)
        try:
            with (
                contextlib.redirect_stdout(io.StringIO()),
                contextlib.redirect_stderr(io.StringIO()),
            ):
                status = cli.main(list(arguments))
        finally:
            sys.settrace(None)
        if status:
            raise SystemExit(f"vdgi {' '.join(arguments)}: status {status}")

    def _enter(self, frame: FrameType, event: str, argument: object) -> Any:
        code = frame.f_code
        if (
            not code.co_filename.startswith(self.package)
            or not code.co_flags & inspect.CO_OPTIMIZED
        ):
            return None  # of another package; or the body of a module or a class
        if not code.co_name.startswith("<"):
            self.functions.add(code)
        return self._step

    def _step(self, frame: FrameType, event: str, argument: object) -> Any:
        if event == "line":
            self.lines.add((frame.f_code.co_filename, frame.f_lineno))
        return self._step

    def __str__(self) -> str:
        n_files = len({name for name, _ in self.lines})
        return f"{len(self.functions)} functions, {len(self.lines):,} lines, in {n_files} files"


def main() -> None:
    jit.WORK_TO_LOAD = jit.WORK_TO_COMPILE = 10**12
    demo = resources() / "demo"
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder, "text.conllu")
        content = (demo / "demo-ud-dev.conllu").read_text(encoding="utf-8")
        text.write_text("\n\n".join(content.split("\n\n")[:SENTENCES]) + "\n\n", encoding="utf-8")
        dev = str(demo / "demo-ud-dev.conllu")
        parse = ["parse", "universal", str(text), "-o", str(Path(folder, "parsed.conllu"))]
        train = [
            "train",
            "--preset",
            "paper",
            "--train",
            dev,
            "--set",
            "train.updates=3",
            "--out",
            str(Path(folder, "run")),
        ]
        print(conditions())
        commands = {"vdgi parse universal": parse, "vdgi train --preset paper": train}
        for name, arguments in commands.items():
            executed = Executed()
            executed.run(*arguments)
            print(f"{name}: {executed}")


if __name__ == "__main__":
    main()
