"""What only the other annotation of a sentence has, joined to the first: comments, MISC, DEPS,
empty nodes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from dynet_vdgi.conllu import guess_marks
from dynet_vdgi.page.text.sentence_state import MARKS, NAMES

DEPS = 8

_COMMENT_KEY = re.compile(r"#\s*([^=]*?)\s*(=|\Z)")

# which `# text` must agree with
_OF_TEXT = ("SpaceAfter", "SpacesAfter", "SpacesBefore", "SpacesInToken")


def joined_sentence(lines: Sequence[str], others: Sequence[str]) -> tuple[list[str], set[str]]:
    """A sentence's lines with the comments, MISC, DEPS and empty nodes that only the other side
    has.

    Also the names of what both have differently.
    """
    if lines == others:
        return [*lines], set()
    comments, rows = _comments_and_rows(lines)
    other_comments, other_rows = _comments_and_rows(others)
    new = [c for c in other_comments if c not in comments and not guess_marks.COMMENT.fullmatch(c)]
    keys = {_key(comment) for comment in comments}
    more = [comment for comment in new if _key(comment) not in keys]
    differing = {"comments"} if len(more) < len(new) else set()
    if not _has_graph(rows):
        rows = _with_graph(rows, other_rows)
    elif _has_graph(other_rows) and _graph_of(rows) != _graph_of(other_rows):
        differing.add("DEPS and empty nodes")
    extra = {row[0]: row[10:] for row in rows}
    if any(extra.get(row[0], row[10:]) != row[10:] for row in other_rows):
        differing.add("columns after MISC")
    theirs = {row[0]: row[9] for row in other_rows}
    for row in rows:
        row[9], is_contradicted = _joined_misc(row[9], theirs.get(row[0], "_"))
        if is_contradicted:
            differing.add("MISC")
    return [*comments, *more, *("\t".join(row) for row in rows)], differing


def _comments_and_rows(lines: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """The comments of a sentence, and the columns of its other lines."""
    comments = [line for line in lines if line[0] == "#"]
    return comments, [line.split("\t") for line in lines if line[0] != "#"]


def _graph_of(rows: Sequence[list[str]]) -> list[list[str]]:
    """Empty nodes, and of words ID and DEPS."""
    nodes = [row for row in rows if "-" not in row[0]]
    return [row if "." in row[0] else [row[0], row[DEPS]] for row in nodes]


def _joined_misc(misc: str, other: str) -> tuple[str, bool]:
    """MISC with what only the other side has, and whether the other side has more that differs."""
    others_marks = _marks(other)
    entries = []
    for entry in misc.split("|"):
        if entry != "_":
            entries.append(_entry_by_both(entry, others_marks))
    names = {entry.partition("=")[0] for entry in entries}
    added, is_contradicted = [], False
    for entry in other.split("|"):
        if entry in ("_", *entries) or entry.startswith(guess_marks.CHANCES):
            continue
        if entry.partition("=")[0] not in (*names, *_OF_TEXT):
            added.append(entry)
        elif not entry.startswith(MARKS):
            is_contradicted = True
    return "|".join([*entries, *added]) or "_", is_contradicted


def _marks(misc: str) -> dict[str, str]:
    """The names in the marks of MISC, by mark."""
    parts = (entry.partition("=") for entry in misc.split("|"))
    return {key + sign: names for key, sign, names in parts if key + sign in MARKS}


def _entry_by_both(entry: str, others_marks: Mapping[str, str]) -> str:
    """An entry of MISC; a mark that both sides have gets the names of both, each once."""
    mark = entry.partition("=")[0] + "="
    if mark not in others_marks or mark not in MARKS:
        return entry
    names = [*entry[len(mark) :].split(NAMES), *others_marks[mark].split(NAMES)]
    return mark + NAMES.join(dict.fromkeys(names))


def _has_graph(rows: Sequence[Sequence[str]]) -> bool:
    """Whether a sentence has DEPS or empty nodes."""
    return any("." in row[0] or row[DEPS] != "_" for row in rows)


def _with_graph(rows: Sequence[list[str]], other_rows: Sequence[list[str]]) -> list[list[str]]:
    """The rows of a sentence with DEPS and empty nodes of another one of the same words."""
    deps = {row[0]: row[DEPS] for row in other_rows if row[0].isdigit()}
    after: dict[str, list[list[str]]] = {}
    for row in other_rows:
        if "." in row[0]:
            after.setdefault(row[0].partition(".")[0], []).append([*row])
    joined_rows = after.get("0", [])
    for row in rows:
        joined_rows.append([*row[:DEPS], deps.get(row[0], row[DEPS]), *row[DEPS + 1 :]])
        joined_rows += after.get(row[0], [])
    return joined_rows


def _key(comment: str) -> str:
    """The name in a comment `# name = value`; a comment without a value is its own name."""
    match = _COMMENT_KEY.match(comment)
    return match[1] if match and match[2] else comment
