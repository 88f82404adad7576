"""The tutorial and the page about trees: their commands run in order, and print the lines that they
show."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from shell import Vdgi

ROOT = Path(__file__).parents[2]
PAGES = {"tutorial": 40, "few-trees": 5}
"""How many lines of output they show at least."""

ENDS = {"errors found": 3, "values missing": 4}
"""The exit status of `vdgi release`, by words that it prints."""


def steps(page: str) -> Iterator[tuple[str, list[str]]]:
    """Each command, with the lines that are shown of what it prints."""
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *shown = part.rstrip("\n").split("\n")
            yield command, shown


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("page", PAGES)
def test_pages_run_as_they_are_shown(folder: Path, vdgi: Vdgi, page: str) -> None:
    environment = {**os.environ, "DEMO": str(ROOT / "resources" / "demo")}
    if page == "tutorial":
        pytest.importorskip(
            "udtools", reason="the validator, of the extra validate, is not installed"
        )
    n_lines = 0
    for command, shown in steps(page):
        words = shlex.split(command)
        if words[0] == "vdgi":
            status = next(
                (number for said, number in ENDS.items() if any(said in line for line in shown)), 0
            )
            result = vdgi(*words[1:])
            assert result.status == status, result.err
            printed = result.out + result.err
        else:
            finished = subprocess.run(
                ["bash", "-c", command],
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            assert finished.returncode == 0, finished.stderr
            printed = finished.stdout
        lines = printed.splitlines()
        assert [line for line in shown if line not in lines] == [], command
        n_lines += len(shown)
    assert n_lines > PAGES[page]
