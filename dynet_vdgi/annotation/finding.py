"""Finding sentences: by words, doubts, notes and so on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dynet_vdgi.annotation.annotated_text import AnnotatedText
from dynet_vdgi.annotation.changes import note_of, sentence_note
from dynet_vdgi.annotation.marked import ChangeError, MarkedSentence
from dynet_vdgi.annotation.problems import problems_of
from dynet_vdgi.system.names import count

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
        if len(hits) < MOST_FOUND:
            hits.append({"id": marked.id, "number": number, "text": beginning(marked), "why": why})
    return {"count": n_found, "found": hits}


def beginning(marked: MarkedSentence) -> str:
    """The beginning of a sentence's text."""
    return (marked.comment("text") or " ".join(marked.forms))[:LONGEST]


def _words(marked: MarkedSentence, query: str) -> str | None:
    if query in " ".join(marked.forms).casefold():
        return ""
    return next((line for line in marked.state.comments if query in line.casefold()), None)


def _doubtful(marked: MarkedSentence, query: str) -> str | None:
    if marked.is_done:
        return None
    arcs = sum(s is not None and s < DOUBTFUL and not f for s, f in zip(marked.sure, marked.fixed))
    tags = sum(
        word.upos == "_" and chance < DOUBTFUL
        for word, chance in zip(marked.state.columns, marked.guessed_tags.chances)
    )
    parts = [count(n, what) for n, what in ((arcs, "arc"), (tags, "tag")) if n]
    return ", ".join(parts) or None


def _tag(marked: MarkedSentence, query: str) -> str | None:
    return _places([tag.casefold() == query for tag in marked.tags], marked)


def _relation(marked: MarkedSentence, query: str) -> str | None:
    return _places([arc.label.casefold() == query for arc in marked.arcs], marked)


def _places(chosen: list[bool], marked: MarkedSentence) -> str | None:
    words = [f"{k} {marked.forms[k - 1]}" for k, is_chosen in enumerate(chosen, 1) if is_chosen]
    return ", ".join(words[:5]) or None


def _note(marked: MarkedSentence, query: str) -> str | None:
    notes = [sentence_note(marked), *map(note_of, marked.state.columns)]
    return next((note for note in notes if note and query in note.casefold()), None)


def _problem(marked: MarkedSentence, query: str) -> str | None:
    """Only sentences on which somebody has worked: those of guesses are the parser's."""
    if not marked.is_touched:
        return None
    return next((problem.text for problem in problems_of(marked) if query in problem.text.casefold()), None)


KINDS: dict[str, Callable[[MarkedSentence, str], str | None]] = {
    "words": _words,
    "doubtful": _doubtful,
    "done": lambda marked, query: "" if marked.is_done else None,
    "flagged": lambda marked, query: sentence_note(marked) if marked.is_flagged else None,
    "tag": _tag,
    "relation": _relation,
    "note": _note,
    "problem": _problem,
}
"""For each kind, why a sentence is found; None: it is not."""
