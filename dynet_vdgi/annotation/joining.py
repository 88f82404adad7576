"""What two annotations have besides the columns that are compared: DEPS, empty nodes, MISC, comments.

What only one side has is kept. Where both have something different, it is the one whose words are taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from dynet_vdgi.annotation.marked import MARKS
from dynet_vdgi.data import guesses

DEPS = 8
_COMMENT_KEY = re.compile(r"#\s*([^=]*?)\s*(=|\Z)")
_MARKS = (*MARKS, "XposBy=")  # about the columns that are compared
_NO_ANNOTATION = (*guesses.CHANCES, *_MARKS)
_OF_TEXT = ("SpaceAfter", "SpacesAfter", "SpacesBefore", "SpacesInToken")  # which `# text` must agree with


def joined(
    lines: Sequence[str],
    others: Sequence[str],
    partners: Mapping[str, str],
    *,
    same_words: bool,
    is_one: bool,
) -> tuple[list[str], set[str]]:
    """A sentence's lines with what only the other side has, and the names of what both have differently.

    `others`: the lines of the other side for this stretch of text; `is_one`: they are one sentence.
    `partners`: its line for a word or token, by ID.
    """
    if lines == others:
        return [*lines], set()
    comments, differing = _comments([line for line in lines if line[0] == "#"], others, is_one)
    rows = [line.split("\t") for line in lines if line[0] != "#"]
    graph, its = _graph(rows), _graph([line.split("\t") for line in others if line[0] != "#"])
    is_taken = same_words and not graph
    if its and its != graph and not is_taken:
        differing.add("DEPS and empty nodes")
    found: list[str] = []
    for columns in rows:
        other = partners.get(columns[0], "").split("\t")
        if len(other) == len(columns):
            columns[9], is_other = _misc(columns[9], other[9])
            differing |= {"MISC"} if is_other else set()
            columns[DEPS] = other[DEPS] if is_taken else columns[DEPS]
        found.append("\t".join(columns))
        if is_taken and columns[0].isdecimal():
            found += _empty_nodes(others, columns[0])
    return [*comments, *(_empty_nodes(others, "0") if is_taken else ()), *found], differing


def _graph(rows: Iterable[Sequence[str]]) -> list[Sequence[str]]:
    """The enhanced dependencies and empty nodes."""
    return [
        row if "." in row[0] else (row[0], row[DEPS]) for row in rows if "." in row[0] or row[DEPS] != "_"
    ]


def _empty_nodes(lines: Sequence[str], after: str) -> list[str]:
    return [line for line in lines if line.startswith(f"{after}.")]


def _misc(mine: str, theirs: str) -> tuple[str, bool]:
    """MISC with the entries whose names only the other side has, and whether others have other values."""
    own, new = ([entry for entry in misc.split("|") if entry != "_"] for misc in (mine, theirs))
    names = {entry.partition("=")[0] for entry in own}
    unseen = [entry for entry in new if entry not in own and not entry.startswith(_NO_ANNOTATION)]
    unseen += [entry for entry in new if entry.startswith(_MARKS) and entry.partition("=")[0] not in names]
    more = [entry for entry in unseen if entry.partition("=")[0] not in (*names, *_OF_TEXT)]
    return "|".join([*own, *more]) or "_", len(more) < len(unseen)


def _comments(own: list[str], others: Sequence[str], is_one: bool) -> tuple[list[str], set[str]]:
    new = [line for line in others if line[0] == "#" and not guesses.COMMENT.fullmatch(line)]
    unseen = [line for line in new if line not in own]
    keys = {_key(line) for line in own}
    more = [line for line in unseen if _key(line) not in keys] if is_one else []
    return [*own, *more], {"comments"} if len(more) < len(unseen) else set()


def _key(comment: str) -> str:
    """The name in a comment `# name = value`; a comment without a value is its own name."""
    found = _COMMENT_KEY.match(comment)
    return found[1] if found and found[2] else comment
