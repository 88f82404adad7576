"""Inventories of tags: UD's universal ones, and the tags that mark punctuation."""

from __future__ import annotations

from collections.abc import Container

_SHARED = "ADJ ADP ADV AUX DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X"

UD1_TAGS = frozenset((*_SHARED.split(), "CONJ"))

UD2_TAGS = frozenset((*_SHARED.split(), "CCONJ"))

UD_TAGS = UD1_TAGS | UD2_TAGS

_BRACKETS = frozenset({"-LRB-", "-RRB-", "-LCB-", "-RCB-", "-LSB-", "-RSB-"})

_SYMBOLS = frozenset({"$", "#"})  # of the Penn Treebank: ordinary words, unlike the German tag $,


def is_punctuation(tag: str) -> bool:
    """Whether a tag of a language's own tag set (XPOS) marks punctuation.

    These are tags without a letter or digit (, . : `` '' $,), brackets of the Penn Treebank, and
    tags that begin with PUNC.

    >>> [tag for tag in (".", "$,", "$", "-LRB-", "PUNCT|Comma", "NN") if is_punctuation(tag)]
    ['.', '$,', '-LRB-', 'PUNCT|Comma']
    """
    if tag in _SYMBOLS:
        return False
    return tag in _BRACKETS or tag.upper().startswith("PUNC") or not any(map(str.isalnum, tag))


def ud_version(tags: Container[str]) -> str:
    """The UD version of the tags, judged by the tag for coordinating conjunctions; "" if
    neither."""
    old, new = "CONJ" in tags, "CCONJ" in tags
    return "" if old == new else "UD 1" if old else "UD 2"
