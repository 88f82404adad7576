"""Finding sentences by words, doubts, notes and faults of form.

Finding sentences: by words, doubts, notes and so on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from dynet_vdgi.annotation.annotated_text import AnnotatedText
from dynet_vdgi.annotation.changes import note_of, sentence_note
from dynet_vdgi.annotation.marked import NOTHING, ChangeError, MarkedSentence, block
from dynet_vdgi.annotation.mending import UNSET
from dynet_vdgi.system.names import count
from dynet_vdgi.validation.form import UdProblem, problems_in

MOST_FOUND = 50
DOUBTFUL = 0.6
"""Arcs and tags that are less probable are doubtful."""

LONGEST = 120


def found(text: AnnotatedText, kind: str, query: str) -> dict[str, Any]:
    """The number of sentences of a kind, and the first `MOST_FOUND` with the reason why they are there.

    Raises: ChangeError, there is no such kind.
    """
    if kind not in KINDS:
        raise ChangeError(f"nothing is found by {kind[:20]!r} (but by: {', '.join(KINDS)})")
    hits: list[dict[str, Any]] = []
    n_found = 0
    for number, marked in enumerate(text.sentences):
        why = KINDS[kind](marked, query.casefold())
        if why is None:
            continue
        n_found += 1
        if n_found <= MOST_FOUND:
            beginning = (marked.comment("text") or " ".join(marked.forms))[:LONGEST]
            hits.append({"id": marked.id, "number": number, "text": beginning, "why": why})
    return {"count": n_found, "found": hits}


def _words(marked: MarkedSentence, query: str) -> str | None:
    if query in " ".join(marked.forms).casefold():
        return ""
    return _first(marked.state.comments, query)


def _first(texts: Iterable[str], query: str) -> str | None:
    return next((text for text in texts if text and query in text.casefold()), None)


def _doubtful(marked: MarkedSentence, query: str) -> str | None:
    if marked.is_done:
        return None
    arcs = sum(s is not None and s < DOUBTFUL and not f for s, f in zip(marked.sure, marked.fixed))
    pairs = zip(marked.state.columns, marked.guessed_tags.chances)
    tags = sum(word.upos == NOTHING and chance < DOUBTFUL for word, chance in pairs)
    return ", ".join(count(n, what) for n, what in ((arcs, "arc"), (tags, "tag")) if n) or None


def _places(marked: MarkedSentence, values: Iterable[str], query: str) -> str | None:
    named = [f"{k} {marked.forms[k - 1]}" for k, value in enumerate(values, 1) if value.casefold() == query]
    return ", ".join(named[:5]) or None


def _problem(marked: MarkedSentence, query: str) -> str | None:
    """Only sentences on which somebody has worked: those of guesses are the parser's."""
    return _first((problem.text for problem in problems_of(marked)), query) if marked.is_touched else None


KINDS: dict[str, Callable[[MarkedSentence, str], str | None]] = {
    "words": _words,
    "doubtful": _doubtful,
    "done": lambda marked, query: "" if marked.is_done else None,
    "flagged": lambda marked, query: sentence_note(marked) if marked.is_flagged else None,
    "tag": lambda marked, query: _places(marked, marked.tags, query),
    "relation": lambda marked, query: _places(marked, [arc.label for arc in marked.arcs], query),
    "note": lambda marked, query: _first([sentence_note(marked), *map(note_of, marked.state.columns)], query),
    "problem": _problem,
}
"""For each kind, why a sentence is found; None: it is not."""


# ----------------------------------------------------------------------------------------------------
# What UD forbids in the form of a sentence as the page shows it.


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
