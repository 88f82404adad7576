"""Unicode's normal form is told as Python tells it, also where only rare letters are looked at."""

from __future__ import annotations

import sys
import unicodedata
from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynet_vdgi.data import normal_form
from dynet_vdgi.data.normal_form import is_normalized

LATIN = "Äpfel, Birnen und so weiter. " * 20


def python_says(text: str) -> bool:
    return unicodedata.is_normalized("NFC", text)


@given(st.text(max_size=12))
def test_few_odd_letters_in_latin_text(text: str) -> None:
    assert is_normalized((LATIN + text + LATIN).encode()) == python_says(LATIN + text + LATIN)


@pytest.mark.parametrize(
    "text", ["„so“", "o\u0308", "\u212b", "\u1112\u1161", "\uac00\u11a8", "a\u2000", "\U0001f600"]
)
def test_letters_that_have_another_form_and_letters_that_have_not(text: str) -> None:
    assert is_normalized((LATIN + text + LATIN).encode()) == python_says(text)
    assert is_normalized(text.encode()) == python_says(text)


def test_letters_that_are_their_own_form_are_so_beside_all_others() -> None:
    everything = map(chr, chain(range(32, 0xD800), range(0xE000, sys.maxunicode + 1)))
    own = [letter for letter in everything if normal_form._is_its_own(letter)]
    assert len(own) > 1_000_000
    for seed in range(3):
        assert python_says("".join(np.random.default_rng(seed).permutation(own)))
