"""The comment that says that a tree was guessed by the program, until somebody changes a head or relation."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence

COMMENT = re.compile(r"#\s*guess\s*=\s*([0-9a-f]{8})\s*")

_CONFIRMED = re.compile(r"(?:^|\|)(?:Head|Label)By=")
"""What `vdgi annotate` writes to MISC about a head or relation that a person has confirmed."""


def comment(lines: Sequence[str]) -> str:
    """The comment for a sentence with these lines: a checksum of its heads and relations.

    >>> comment(["# text = Go!", "1\\tGo\\t_\\tVERB\\t_\\t_\\t0\\troot\\t_\\t_"])
    '# guess = 8f18e238'
    """
    arcs = ["\t".join(line.split("\t")[6:8]) for line in lines if line[:1] != "#"]
    return f"# guess = {zlib.crc32(chr(10).join(arcs).encode()):08x}"


def is_guess(lines: Sequence[str]) -> bool:
    """Whether the tree of a sentence with these lines is as the program guessed it, by its comment."""
    said = next((found[1] for line in lines if (found := COMMENT.fullmatch(line))), None)
    return said is not None and comment(lines).endswith(said) and not is_confirmed(lines)


def may_be_guess(lines: Sequence[str]) -> bool:
    """Whether each word has a confidence in its head, as a parse has it, and nothing tells more.

    Punctuation has none.
    """
    words = [line.split("\t") for line in lines if line[:1] != "#"]
    has_confidence = ["HeadConf=" in word[9] for word in words if word[0].isdigit() and word[3] != "PUNCT"]
    is_told = any(map(COMMENT.fullmatch, lines)) or is_confirmed(lines)
    return bool(has_confidence) and all(has_confidence) and not is_told


def is_confirmed(lines: Sequence[str]) -> bool:
    """Whether a person has confirmed part of the tree in `vdgi annotate`."""
    return any(_CONFIRMED.search(line.rpartition("\t")[2]) for line in lines if line[:1] != "#")
