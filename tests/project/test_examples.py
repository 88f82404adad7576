"""Examples in docstrings are run: what stands below `>>>` is what comes out."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import dynet_vdgi

PACKAGE = Path(dynet_vdgi.__file__).parent
WITH_EXAMPLES = sorted(
    path.relative_to(PACKAGE.parent).as_posix()
    for path in PACKAGE.rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("path", WITH_EXAMPLES)
def test_examples_of_a_module_come_out(path: str) -> None:
    module = import_module(path.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
    result = doctest.testmod(module, verbose=False)
    assert result.failed == 0


def test_there_are_examples() -> None:
    assert len(WITH_EXAMPLES) > 50
