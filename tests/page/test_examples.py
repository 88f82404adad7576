"""The examples in the docstrings of the page's modules hold."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

pytest.importorskip("starlette", reason="Starlette, of the extra annotate, is not installed")
pytest.importorskip("uvicorn", reason="uvicorn, of the extra annotate, is not installed")

from dynet_vdgi import page

MODULES = sorted(module.name for module in pkgutil.walk_packages(page.__path__, "dynet_vdgi.page."))


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_hold(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_what_other_programs_change_is_explained_by_an_example() -> None:
    module = importlib.import_module("dynet_vdgi.page.store.outside_changes")
    assert doctest.testmod(module).attempted >= 3
