"""What UD forbids in the form of a sentence as the page shows it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dynet_vdgi.annotation.marked import NOTHING, MarkedSentence, block
from dynet_vdgi.annotation.mending import UNSET
from dynet_vdgi.validation.form import UdProblem, problems_in

NOT_DONE_YET = ("upos", "head", "root", "deprel")
"""Rules about what is missing while words have no tag or head."""


def problems_of(marked: MarkedSentence) -> Sequence[UdProblem]:
    """The problems of the present tags and tree, guessed or not, errors first; no tag or head is none."""
    key = marked.state, marked.guessed_tags
    if marked.problems is None or marked.problems[0] != key:
        found = problems_in(block(marked, form="page").rstrip("\n").split("\n"))
        if UNSET in marked.heads or NOTHING in marked.tags:
            found = [problem for problem in found if problem.rule not in NOT_DONE_YET]
        marked.problems = key, sorted(found, key=lambda problem: not problem.is_error)
    return marked.problems[1]


def grouped_problems(marked: MarkedSentence) -> list[dict[str, Any]]:
    """The problems by rule, for the page: errors, then warnings."""
    groups: dict[tuple[bool, str], list[dict[str, Any]]] = {}
    for problem in problems_of(marked):
        places = groups.setdefault((problem.is_error, problem.rule), [])
        places.append({"word": problem.word, "text": problem.text})
    return [{"error": error, "rule": rule, "places": places} for (error, rule), places in groups.items()]
