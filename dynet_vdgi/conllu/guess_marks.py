"""Notes in CoNLL-U about guesses: of heads and relations in MISC, of whole trees in a comment.

Notes say whether a head or relation is a guess of the program, how sure it is, or who confirmed it.
A comment says that a tree was guessed, until somebody changes a head or relation; the others are in
MISC.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from dataclasses import replace

from dynet_vdgi.conllu.protocols import UD_PUNCTUATION
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.conllu.tree_faults import FREE

COMMENT = re.compile(r"#\s*guess\s*=\s*([0-9a-f]{8})\s*")

HEAD_BY, LABEL_BY = "HeadBy=", "LabelBy="
"""What `vdgi annotate` writes to MISC about a head and a relation that a person has confirmed."""

CHANCES = ("HeadConf=", "HeadProb=")
"""What parsers write to MISC about a head."""

_CONFIRMED = re.compile(rf"(?:^|\|)(?:{HEAD_BY}|{LABEL_BY})")

_IN_MISC = (HEAD_BY, LABEL_BY, *CHANCES)


def comment(lines: Sequence[str]) -> str:
    """The comment for a sentence with these lines: a checksum of its heads and relations.

    >>> comment(["# text = Go!", "1\\tGo\\t_\\tVERB\\t_\\t_\\t0\\troot\\t_\\t_"])
    '# guess = 8f18e238'
    """
    arcs = ["\t".join(line.split("\t")[6:8]) for line in lines if line[:1] != "#"]
    return f"# guess = {zlib.crc32(chr(10).join(arcs).encode()):08x}"


def with_renewed_comment(block: str) -> str:
    """The block of a parser's tree; if it has that comment, it has it for this tree."""
    lines = block.split("\n") if "guess" in block else []
    if not any(map(COMMENT.fullmatch, lines)):
        return block
    now = comment([line for line in lines if line])
    return "\n".join([now if COMMENT.fullmatch(line) else line for line in lines])


def is_guess(lines: Sequence[str]) -> bool:
    """Whether the tree of a sentence with these lines is as the program guessed it, by its
    comment."""
    for line in lines:
        if match := COMMENT.fullmatch(line):
            return comment(lines).endswith(match[1]) and not is_confirmed(lines)
    return False


def may_be_guess(lines: Sequence[str]) -> bool:
    """Whether each word has a confidence in its head, as a parse has it, and nothing tells more.

    Punctuation has none.
    """
    words = [line.split("\t") for line in lines if line[:1] != "#"]
    has_confidence = [
        "HeadConf=" in word[9] for word in words if word[0].isdigit() and word[3] != "PUNCT"
    ]
    is_told = any(map(COMMENT.fullmatch, lines)) or is_confirmed(lines)
    return bool(has_confidence) and all(has_confidence) and not is_told


def is_confirmed(lines: Sequence[str]) -> bool:
    """Whether a person has confirmed part of the tree in `vdgi annotate`."""
    return any(_CONFIRMED.search(misc_of(line)) for line in lines if line[:1] != "#")


def misc_of(line: str) -> str:
    """MISC of a token's line; columns may follow."""
    return line.split("\t", 10)[9]


def without_stale_notes(
    sentence: Sentence, heads: Sequence[int], deprels: Sequence[str]
) -> Sentence:
    """The sentence without notes that are untrue of its new heads and relations.

    These are all chances, because they were of other parses, and the names of those who have
    confirmed another head or relation.
    """
    source = sentence.source
    text = "\n".join(source.lines) if source else ""
    if source is None or not any(note in text for note in _IN_MISC):
        return sentence
    lines = list(source.lines)
    for row, head, deprel in zip(source.rows, heads, deprels):
        columns = lines[row].split("\t")
        head_by = () if columns[6] == str(head) else (HEAD_BY,)
        label_by = () if columns[7] == deprel else (LABEL_BY,)
        columns[9] = without(columns[9], (*CHANCES, *head_by, *label_by))
        lines[row] = "\t".join(columns)
    return replace(sentence, source=replace(source, lines=tuple(lines)))


def without(misc: str, prefixes: tuple[str, ...]) -> str:
    """MISC without the parts that begin so."""
    return "|".join([part for part in misc.split("|") if not part.startswith(prefixes)]) or "_"


def with_confirmed_only(sentence: Sentence) -> Sentence:
    """The sentence without the heads and relations that nobody has confirmed, if somebody has
    others.

    Those of punctuation stay, because `vdgi annotate` attaches it itself.
    """
    if sentence.source is None or sentence.heads is None or not is_confirmed(sentence.source.lines):
        return sentence
    notes = ["|" + misc_of(sentence.source.lines[row]) for row in sentence.source.rows]
    is_mark = [tag in UD_PUNCTUATION for tag in sentence.upos or sentence.tags]
    relations = sentence.deprels or ("_",) * len(sentence)
    heads, deprels = [], []
    for head, relation, note, mark in zip(sentence.heads, relations, notes, is_mark):
        heads.append(head if mark or f"|{HEAD_BY}" in note else FREE)
        deprels.append(relation if mark or f"|{LABEL_BY}" in note else "_")
    return replace(sentence, heads=tuple(heads), deprels=tuple(deprels))
