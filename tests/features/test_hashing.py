"""Codes of features never change: model files hold them."""

from __future__ import annotations

import numpy as np
import pytest
from by_numba import ByNumba

from dynet_vdgi.features import hashing
from dynet_vdgi.features.hashing import code_of, odd_number, text_code
from dynet_vdgi.system.jit import as_python

HOUSE, THREE = np.uint64(0xD3251E5E34F0B9BE), np.uint64(3)


def test_texts_have_the_codes_that_model_files_hold():
    assert text_code("house") == int(HOUSE)
    assert code_of("W", "house") == 0xA2C9ACBE0991F69F
    assert odd_number("h.T d.T", 1401) == 0x1816B97BC038F827


@pytest.mark.parametrize("by_numba", [False, True])
def test_pairs_have_the_codes_that_model_files_hold(by_numba):
    names = "pair_code", "unordered_pair_code"
    compiled, plain = ByNumba(hashing), (as_python(getattr(hashing, name)) for name in names)
    pair, unordered = (getattr(compiled, name) for name in names) if by_numba else plain
    with np.errstate(over="ignore"):
        assert int(pair(THREE, HOUSE)) == 0xEBFAC21EB36CE034
        assert int(pair(HOUSE, THREE)) == 0x32191314DDF14D65
        assert int(unordered(THREE, HOUSE)) == int(unordered(HOUSE, THREE)) == 0x679B67AD5983F5F2


def test_a_lone_surrogate_has_a_code():
    assert text_code("\ud800") != text_code("\ud801")
