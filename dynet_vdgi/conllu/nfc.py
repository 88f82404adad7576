"""The Unicode form NFC, in which words and raw text are looked up; files keep the form that they
have."""

from __future__ import annotations

import unicodedata

SAME = "they differ only in Unicode normalisation (NFC/NFD)"

ONE_FORM = "bring both to one form, best to NFC"
"""What to do about it."""


def nfc(text: str) -> str:
    """The text in the form NFC."""
    return unicodedata.normalize("NFC", text)


def is_same(one: str, other: str) -> bool:
    """Whether two texts are equal but for their normalisation."""
    return nfc(one) == nfc(other)


def as_in(text: str, model: str) -> str:
    """A text in the form NFD if the model is not in NFC; otherwise as it is."""
    return text if unicodedata.is_normalized("NFC", model) else unicodedata.normalize("NFD", text)
