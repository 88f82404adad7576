"""What a person looks for in a text: words, doubts, notes, problems, queries of columns, the words
of a list."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Iterable
from functools import partial
from typing import Any

from dynet_vdgi.conllu import queries
from dynet_vdgi.errors import UsageError
from dynet_vdgi.page.text.annotated_text import AnnotatedText
from dynet_vdgi.page.text.marked import MarkedSentence
from dynet_vdgi.page.text.notes import note_of, sentence_note
from dynet_vdgi.page.text.sentence_state import NO_VALUE, ChangeError
from dynet_vdgi.page.web.problems import problems_of, problems_of_opened
from dynet_vdgi.system.messages import count

MOST_FOUND = 50

DOUBTFUL = 0.6
"""Arcs and tags that are less probable are doubtful."""

LONGEST_TEXT = 120

Hit = tuple[MarkedSentence, int, str]
"""A sentence that is found or, unless it is 0, a word of it, and why."""


def search(text: AnnotatedText, kind: str, query: str) -> dict[str, Any]:
    """What is found of a kind: all places, and the first `MOST_FOUND` in words; `seen`: see
    `checksum_of`.

    Raises: ChangeError, there is no such kind, or what is wrong with the query.
    """
    hits = hits_of(text, kind, query)
    number = {marked.id: k for k, marked in enumerate(text.sentences)}
    shown = []
    for marked, _, why in hits[:MOST_FOUND]:
        words = marked.comment("text") or " ".join(marked.forms)
        shown.append({"number": number[marked.id], "text": words[:LONGEST_TEXT], "why": why})
    places = [(marked.id, word) for marked, word, _ in hits]
    answer = {"found": shown, "places": places, "seen": checksum_of(hits)}
    if kind == "columns" and not hits:
        rows = (_rows(marked) for marked in text.sentences)
        if hint := queries.hint(queries.conditions(query), rows):
            answer["hint"] = hint
    return answer


def hits_of(text: AnnotatedText, kind: str, query: str) -> list[Hit]:
    """The sentences of a kind, or the words that a query of `conllu.queries` or a list finds.
    Raises: as `search`."""
    if kind == "list":
        hits = []
        for number, word, why in text.listed:
            listed = text.by_id.get(number)
            if listed is not None and word <= len(listed) and query in why:
                hits.append((listed, word, why))
        return hits
    if kind == "columns":
        hits = []
        try:
            wanted = queries.conditions(query)
            for marked in text.sentences:
                for word in queries.words_of(wanted, _rows(marked)):
                    hits.append((marked, word, f"{word} {marked.forms[word - 1]}"))
        except UsageError as error:
            raise ChangeError(str(error)) from None
        return hits
    if kind not in KINDS:
        raise ChangeError(
            f"nothing is found by {kind[:20]!r} (but by: columns, list, {', '.join(KINDS)})"
        )
    project = text.relations.project
    why_found = KINDS[kind] if kind != "problem" else partial(_first_problem, listed=project)
    reasons = ((marked, why_found(marked, query.casefold())) for marked in text.sentences)
    return [(marked, 0, why) for marked, why in reasons if why is not None]


def checksum_of(hits: Iterable[Hit]) -> int:
    """A number that is another one as soon as other words, or words of changed sentences, are
    found."""
    return zlib.crc32(repr([(m.id, m.edits, m.version, word) for m, word, _ in hits]).encode())


def _rows(marked: MarkedSentence) -> list[tuple[str, ...]]:
    """The ten columns of each word as they are shown, guesses too."""
    deps = [marked.source.lines[row].split("\t")[8] for row in marked.source.rows]
    words = enumerate(zip(marked.forms, marked.columns, marked.arcs, deps), 1)
    return [
        (str(k), form, w.lemma, w.upos, w.xpos, w.feats, str(arc.head), arc.label, dep, w.misc)
        for k, (form, w, arc, dep) in words
    ]


def _why_by_words(marked: MarkedSentence, query: str) -> str | None:
    if query in " ".join(marked.forms).casefold():
        return ""
    return _first_with(marked.state.comments, query)


def _first_with(texts: Iterable[str], query: str) -> str | None:
    return next((text for text in texts if text and query in text.casefold()), None)


def _doubts(marked: MarkedSentence, query: str) -> str | None:
    if marked.is_done:
        return None
    arcs = sum(s is not None and s < DOUBTFUL and not f for s, f in zip(marked.sure, marked.fixed))
    pairs = zip(marked.state.columns, marked.guessed_tags.chances)
    tags = sum(word.upos == NO_VALUE and chance < DOUBTFUL for word, chance in pairs)
    return ", ".join(count(n, what) for n, what in ((arcs, "arc"), (tags, "tag")) if n) or None


def _first_problem(marked: MarkedSentence, query: str, listed: Collection[str] = ()) -> str | None:
    """Where nobody has worked, only what is wrong with the file's tree:
    the rest is the parser's."""
    problems = problems_of(marked, listed) if marked.is_touched else problems_of_opened(marked)
    return _first_with((problem.text for problem in problems), query)


KINDS: dict[str, Callable[[MarkedSentence, str], str | None]] = {
    "words": _why_by_words,
    "doubtful": _doubts,
    "done": lambda marked, query: "" if marked.is_done else None,
    "flagged": lambda marked, query: sentence_note(marked) if marked.is_flagged else None,
    "note": lambda marked, query: _first_with(
        [sentence_note(marked), *(note_of(word) for word in marked.state.columns)], query
    ),
    "problem": _first_problem,
}
"""For each kind, why a sentence is found; None: it is not."""
