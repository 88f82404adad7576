"""The examples in the docstrings of the universal parser's modules."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest

MODULES = "arc_flags encoding lstm model_table scorer typology"


@pytest.mark.parametrize("name", MODULES.split())
def test_the_examples_of_a_module_hold(name):
    results = doctest.testmod(import_module(f"dynet_vdgi.universal.{name}"))
    assert results.attempted
    assert not results.failed
