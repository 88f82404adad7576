"""The scripts of the annotation page, without a browser: their own tests, and what they ask of
index.html."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1] / "page"
PAGE = Path(__file__).parents[2] / "dynet_vdgi" / "page" / "static"

NODE = shutil.which("node")
OLDEST = 18
"""The first version of node whose test runner takes files."""


def version_of_node() -> int:
    if NODE is None:
        return 0
    said = subprocess.run([NODE, "--version"], capture_output=True, text=True, check=True).stdout
    return int(said.lstrip("v").split(".")[0])


def test_the_scripts_pass_their_own_tests() -> None:
    if version_of_node() < OLDEST:
        pytest.skip(f"no node {OLDEST} or newer on the PATH")
    files = sorted(str(path) for path in TESTS.glob("*.test.js"))
    assert len(files) >= 4
    done = subprocess.run([str(NODE), "--test", *files], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_element_that_a_script_asks_for_is_in_the_page() -> None:
    html = "".join(path.read_text(encoding="utf-8") for path in PAGE.glob("*.html"))
    scripts = "".join(path.read_text(encoding="utf-8") for path in PAGE.glob("*.js"))
    asked = set(re.findall(r'\bat\("([^"]+)"\)', scripts))
    assert len(asked) > 30
    assert asked - set(re.findall(r'\bid="([^"]+)"', html)) == set()
