"""What a person can change of a sentence whose words stay: arcs, columns and comments, with marks.

In the file, marks in MISC say who confirmed what: `HeadBy=NAME`, `LabelBy=NAME`, `TagBy=NAME`,
`XposBy=NAME`, `FeatsBy=NAME` and `LemmaBy=NAME`. A head or relation without a mark is a guess; a
tag without one is the file's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from dynet_vdgi.conllu.guess_marks import HEAD_BY, LABEL_BY
from dynet_vdgi.conllu.sentence import Source
from dynet_vdgi.conllu.tree_faults import FREE
from dynet_vdgi.errors import VdgiError

COLUMN_MARKS = ("TagBy=", "FeatsBy=", "LemmaBy=", "XposBy=")

MARKS = (HEAD_BY, LABEL_BY, *COLUMN_MARKS)

NAMES = ","
"""Between the names of a mark, where several people have set the same; no name has it."""

NO_LABEL = NO_VALUE = "_"

GUESSED_COLUMNS = ("xpos", "feats", "lemma")
"""Columns that are guessed from a word's tag."""

UNSET = FREE
"""Head of a word that has none yet."""

FLAG = "# flag = look again"

IS_FLAG = re.compile(r"#\s*flag\s*=.*")

NO_LETTERS = re.compile(r"[\s|\x00-\x1f\x7f\ud800-\udfff]")
"""Characters not allowed in a relation: the column ends at white space, and bars separate DEPS."""

LONGEST_LABEL = 60


class ChangeError(VdgiError):
    """A change that cannot be made; the message gives the person the reason."""

    status = 400  # of HTTP


class MarkedArc(NamedTuple):
    """A word's head, UNSET if it has none, its relation, and who confirmed each; "": a guess."""

    head: int = UNSET
    label: str = NO_LABEL
    head_by: str = ""
    label_by: str = ""


NO_ARC = MarkedArc()


class MarkedColumns(NamedTuple):
    """What a person can change of a word besides its arc, and who did; MISC is without marks."""

    lemma: str = NO_VALUE
    upos: str = NO_VALUE
    feats: str = NO_VALUE
    misc: str = NO_VALUE
    xpos: str = NO_VALUE
    tag_by: str = ""  # in the order of COLUMN_MARKS
    feats_by: str = ""
    lemma_by: str = ""
    xpos_by: str = ""


class SentenceState(NamedTuple):
    """What a person can change of a sentence without touching its words' forms."""

    arcs: tuple[MarkedArc, ...]
    columns: tuple[MarkedColumns, ...]
    comments: tuple[str, ...]


def is_missing(word: MarkedColumns, name: str) -> bool:
    """Whether a word has no value in a column, and nobody has said that it has none."""
    return bool(getattr(word, name) == NO_VALUE and not getattr(word, name + "_by"))


def is_undescribed(word: MarkedColumns) -> bool:
    """Whether nobody has said anything of a word's tag and features."""
    return word.upos == word.xpos == word.feats == NO_VALUE and not (
        word.tag_by or word.xpos_by or word.feats_by
    )


def headless_arc(arc: MarkedArc) -> MarkedArc:
    """The arc without its head; a relation that somebody has confirmed stays,
    but for the root's."""
    return (
        MarkedArc(label=arc.label, label_by=arc.label_by)
        if arc.label_by and arc.label != "root"
        else NO_ARC
    )


def has_arc_marks(state: SentenceState) -> bool:
    """True if any head or relation is confirmed."""
    return any(arc.head_by or arc.label_by for arc in state.arcs)


def confirmed_parts(arcs: Iterable[MarkedArc]) -> list[tuple[int | None, str | None, str, str]]:
    """The confirmed parts of arcs."""
    parts = []
    for arc in arcs:
        head = arc.head if arc.head_by else None
        label = arc.label if arc.label_by else None
        parts.append((head, label, arc.head_by, arc.label_by))
    return parts


def label_fault(text: Any) -> str:
    """Why a value cannot be a relation in CoNLL-U; empty if it can."""
    is_text = type(text) is str and text not in ("", NO_LABEL) and len(text) <= LONGEST_LABEL
    if is_text and not NO_LETTERS.search(text):
        return ""
    expected = f"expected such as nsubj or nsubj:pass, up to {LONGEST_LABEL} letters without blanks"
    return f"{str(text)[:20]!r} is no relation ({expected})"


def state_in(text: str, source: Source) -> SentenceState:
    """The state that a block of a sentence with these lines gives.

    Raises: LookupError, ValueError.
    """
    lines = text.rstrip("\n").split("\n")
    n_more = n_comments(lines) - n_comments(source.lines)
    arcs, columns = zip(*(_parts(lines[row + n_more].split("\t")) for row in source.rows))
    return SentenceState(arcs, columns, tuple(lines[: n_comments(lines)]))


def state_of(source: Source) -> SentenceState:
    arcs, columns_of = zip(*(_parts(source.lines[row].split("\t")) for row in source.rows))
    return SentenceState(arcs, columns_of, source.lines[: n_comments(source.lines)])


def _parts(row: Sequence[str]) -> tuple[MarkedArc, MarkedColumns]:
    """What the columns of a word say, marks apart."""
    _, _, lemma, upos, xpos, feats, head, label, _, misc, *_ = row
    marks = dict.fromkeys(MARKS, "")
    if "By=" in misc:
        parts = []
        for part in misc.split("|"):
            key, sign, name = part.partition("=")
            if key + sign in marks:
                marks[key + sign] = name
            else:
                parts.append(part)
        misc = "|".join(parts) or NO_VALUE
    head_by, label_by, *by = marks.values()
    is_there = head != NO_VALUE
    arc = MarkedArc(
        int(head) if is_there else UNSET, label, head_by, label_by if label != NO_LABEL else ""
    )
    return arc if is_there else headless_arc(arc), MarkedColumns(
        lemma, upos, feats, misc, xpos, *by
    )


def n_comments(lines: Sequence[str]) -> int:
    return next((k for k, line in enumerate(lines) if not line.startswith("#")), len(lines))
