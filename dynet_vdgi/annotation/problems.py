"""What UD forbids in a sentence as the page shows it."""

from __future__ import annotations

from collections.abc import Sequence

from dynet_vdgi.annotation.marked import NOTHING, MarkedSentence, block
from dynet_vdgi.annotation.mending import UNSET
from dynet_vdgi.validation.checking import problems_in
from dynet_vdgi.validation.word_lines import UdProblem

NOT_DONE_YET = ("upos", "head", "root", "deprel")
"""Rules about what is missing while words have no tag or head."""


def problems_of(marked: MarkedSentence) -> Sequence[UdProblem]:
    """The problems of the present tags and tree, guessed or not; a missing tag or head is none."""
    if marked.source is None:
        return ()
    key = marked.state, marked.guessed_tags
    if marked.problems is None or marked.problems[0] != key:
        found = problems_in(block(marked, as_shown=True).rstrip("\n").split("\n"))
        if UNSET in marked.heads or NOTHING in marked.tags:
            found = [problem for problem in found if problem.rule not in NOT_DONE_YET]
        marked.problems = key, found
    return marked.problems[1]
