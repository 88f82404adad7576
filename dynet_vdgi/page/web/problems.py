"""Problems of a sentence: by UD's rules of form, of the tree in its file, of its enhanced
dependencies."""

from __future__ import annotations

from collections.abc import Collection

from dynet_vdgi.page.text.marked import MarkedSentence
from dynet_vdgi.page.text.sentence_blocks import block
from dynet_vdgi.page.text.sentence_layout import SentenceLayout
from dynet_vdgi.page.text.sentence_state import NO_VALUE, UNSET
from dynet_vdgi.validation.levels import UdProblem, problems_in

NOT_DONE_YET = ("upos", "head", "root", "deprel")
"""Rules about what is missing while words have no tag or head."""

IN_FILE = "tree in the file"
"""The rule of problems of arcs that the file has, and no tree can have."""


def problems_of(marked: MarkedSentence, listed: Collection[str] = ()) -> list[UdProblem]:
    """The problems of the present tags and tree, guessed or not.

    No tag or head is none, but a head that was opened is.
    `listed`: a project's relations, which are no problem.
    """
    problems = problems_in(block(marked, form="page").rstrip("\n").split("\n"), listed)
    is_complete = UNSET not in marked.heads and NO_VALUE not in marked.tags
    problems = [one for one in problems if is_complete or one.rule not in NOT_DONE_YET]
    return [*problems_of_opened(marked), *problems]


def problems_of_opened(marked: MarkedSentence) -> list[UdProblem]:
    rows, reasons = marked.source.rows, marked.open_conflicts.items()
    return [UdProblem(word, IN_FILE, why, rows[word - 1]) for word, why in reasons]


def layout_of(marked: MarkedSentence) -> SentenceLayout:
    """The lines of a sentence as they are in the file, with what a person cannot change."""
    return SentenceLayout.of("\n".join(marked.source.lines), marked.wids)


def deps_to_look_at(marked: MarkedSentence) -> list[int]:
    """The words whose enhanced dependencies have heads, but not the basic one, or were made for
    another head."""
    return old_deps(marked, layout_of(marked))


def old_deps(marked: MarkedSentence, layout: SentenceLayout) -> list[int]:
    places = []
    for place, (word, was, head) in enumerate(
        zip(layout.words, marked.first.arcs, marked.heads), 1
    ):
        is_changed = word.columns[8] != NO_VALUE and was.head not in (UNSET, head)
        places += [place] * (is_changed or _contradicts(word.columns[8], head))
    return places


def _contradicts(deps: str, head: int) -> bool:
    """Whether enhanced dependencies have heads, but not the basic one.

    They may differ by UD's rules, if a word depends on an empty node or is in ellipsis.
    """
    heads = (
        [part.partition(":")[0] for part in deps.split("|")] if deps not in ("", NO_VALUE) else []
    )
    return (
        bool(heads)
        and head >= 0
        and str(head) not in heads
        and not any("." in number for number in heads)
    )
