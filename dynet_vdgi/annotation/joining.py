"""What two annotations have besides the columns that are compared: DEPS, empty nodes, MISC, comments.

What only one side has is kept. Where both have something different, it is the first one's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from dynet_vdgi.annotation.marked import MARKS
from dynet_vdgi.data import guesses

DEPS = 8
_COMMENT_KEY = re.compile(r"#\s*([^=]*?)\s*(=|\Z)")
_OF_TEXT = ("SpaceAfter", "SpacesAfter", "SpacesBefore", "SpacesInToken")  # which `# text` must agree with


def joined(lines: Sequence[str], others: Sequence[str]) -> tuple[list[str], set[str]]:
    """A sentence's lines with what only the other side's lines of the same words have.

    Also the names of what both have differently.
    """
    if lines == others:
        return [*lines], set()
    comments, differing = _comments(*([line for line in side if line[0] == "#"] for side in (lines, others)))
    rows, its = ([line.split("\t") for line in side if line[0] != "#"] for side in (lines, others))
    graph, its_graph = _graph(rows), _graph(its)
    if graph and its_graph and graph != its_graph:
        differing.add("DEPS and empty nodes")
    is_taken = bool(its_graph) and not graph
    mine, theirs = {row[0]: row for row in rows}, {row[0]: row for row in its}
    found = []
    for row in its if is_taken else rows:
        if row[0] in mine and row[0] in theirs:  # no empty node that one side has
            own = mine[row[0]]
            own[9], is_other = _misc(own[9], theirs[row[0]][9])
            differing |= {"MISC"} if is_other else set()
            own[DEPS] = row[DEPS]
            row = own
        found.append("\t".join(row))
    return [*comments, *found], differing


def _graph(rows: Iterable[Sequence[str]]) -> list[Sequence[str]]:
    """The enhanced dependencies and empty nodes."""
    kept = (row for row in rows if "." in row[0] or row[DEPS] != "_")
    return [row if "." in row[0] else (row[0], row[DEPS]) for row in kept]


def _misc(mine: str, theirs: str) -> tuple[str, bool]:
    """MISC with the entries whose names only the other side has, and whether others have other values."""
    own, new = ([entry for entry in misc.split("|") if entry != "_"] for misc in (mine, theirs))
    names = {entry.partition("=")[0] for entry in own}
    no_annotation = (*guesses.CHANCES, *MARKS)
    unseen = [entry for entry in new if entry not in own and not entry.startswith(no_annotation)]
    unseen += [entry for entry in new if entry.startswith(MARKS) and entry.partition("=")[0] not in names]
    more = [entry for entry in unseen if entry.partition("=")[0] not in (*names, *_OF_TEXT)]
    return "|".join([*own, *more]) or "_", len(more) < len(unseen)


def _comments(own: list[str], others: Sequence[str]) -> tuple[list[str], set[str]]:
    unseen = [line for line in others if line not in own and not guesses.COMMENT.fullmatch(line)]
    keys = {_key(line) for line in own}
    more = [line for line in unseen if _key(line) not in keys]
    return [*own, *more], {"comments"} if len(more) < len(unseen) else set()


def _key(comment: str) -> str:
    """The name in a comment `# name = value`; a comment without a value is its own name."""
    found = _COMMENT_KEY.match(comment)
    return found[1] if found and found[2] else comment
