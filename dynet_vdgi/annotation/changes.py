"""A person's changes to a sentence: each gives the new arcs, and a tree remains a tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dynet_vdgi.annotation import mending
from dynet_vdgi.annotation.column_changes import COLUMN_CHANGES
from dynet_vdgi.annotation.marked import (
    NO_LABEL,
    NOTHING,
    ChangeError,
    MarkedArc,
    MarkedSentence,
    SentenceState,
    label_fault,
)
from dynet_vdgi.annotation.mending import UNSET
from dynet_vdgi.data.punctuation import heads_without

Arcs = list[MarkedArc]


def new_state(marked: MarkedSentence, what: str, word: int, value: Any, by: str) -> SentenceState:
    """The state after one change, one of `ARC_CHANGES` or `COLUMN_CHANGES`, by the person `by`.

    Raises:
        ChangeError: the change is impossible.
    """
    if what in COLUMN_CHANGES:
        if not 0 <= word <= len(marked):
            raise ChangeError(f"there is no word {word}")
        return COLUMN_CHANGES[what](marked, word, value, by)
    if what not in ARC_CHANGES:
        names = ", ".join((*ARC_CHANGES, *COLUMN_CHANGES))
        raise ChangeError(f"no change is called {what[:20]!r} (there are: {names})")
    state = marked.state._replace(arcs=tuple(new_arcs(marked, what, word, value, by)))
    return _with_tags(marked, state, by) if what == "done" else state


def new_arcs(marked: MarkedSentence, what: str, word: int, value: Any, by: str) -> Arcs:
    """The arcs after one of `ARC_CHANGES`. Raises: ChangeError, the change is impossible."""
    if what != "done" and not 1 <= word <= len(marked.arcs):
        raise ChangeError(f"there is no word {word}")
    try:
        arcs = ARC_CHANGES[what](marked, word, value, by)
        if UNSET not in marked.heads and marked.heads == tuple([arc.head for arc in arcs]):
            return arcs  # as they are on the screen, punctuation too
        return settled(arcs, marked.positions, marked.forms)
    except mending.CircleError as error:
        raise ChangeError(_circle(error.words, marked.forms)) from None


def _with_tags(marked: MarkedSentence, state: SentenceState, by: str) -> SentenceState:
    """The state in which the tagger's guesses are confirmed. Raises: ChangeError, a word has no tag."""
    if not marked.is_tagged:
        raise ChangeError(f"word {marked.tags.index(NOTHING) + 1} has no tag yet")
    columns = [
        shown._replace(
            tag_by=word.tag_by if word.upos == shown.upos else by,
            feats_by=word.feats_by if word.feats == shown.feats else by,
            lemma_by=word.lemma_by if word.lemma == shown.lemma else by,
            xpos_by=word.xpos_by if word.xpos == shown.xpos else by,
        )
        for word, shown in zip(state.columns, marked.columns)
    ]
    return state._replace(columns=tuple(columns))


def _circle(words: Sequence[int], forms: Sequence[str]) -> str:
    """The message that confirmed arcs would form a circle, and the way out."""
    named = [f"{word} {forms[word - 1][:20]}" for word in words[:6]]
    more = ", ..." if len(words) > len(named) else ""
    return (
        f"the words {', '.join(named)}{more} would form a circle of confirmed arcs: select one of them "
        "whose head is wrong, and set it first or press x (not confirmed)"
    )


def settled(arcs: Sequence[MarkedArc], positions: Sequence[int], forms: Sequence[str]) -> Arcs:
    """Arcs that form a tree, with punctuation attached properly; confirmed arcs stay.

    Raises:
        CircleError: confirmed arcs form a circle.
    """
    tree = mending.mended([arc.head for arc in arcs], [bool(arc.head_by) for arc in arcs])
    return _followed([_with_head(arc, head) for arc, head in zip(arcs, tree)], positions, forms)


def _followed(arcs: Arcs, positions: Sequence[int], forms: Sequence[str]) -> Arcs:
    """The arcs with punctuation attached properly, except for confirmed arcs."""
    heads, fixed = [arc.head for arc in arcs], [bool(arc.head_by) for arc in arcs]
    bare = heads_without(heads, positions)
    if UNSET in bare or bare.count(0) != 1:
        return arcs
    places = set(positions)
    kept = [f or place in places for place, f in enumerate(fixed, 1)]
    try:
        tree = mending.with_punctuation(bare, positions, heads, kept, forms)
    except (ValueError, mending.CircleError):  # the root is punctuation, or words depend on it
        return arcs
    labelled = [arc if arc.label != NO_LABEL else arc._replace(label="punct") for arc in arcs]
    return [_with_head(arc, head) for arc, head in zip(labelled, tree)]


def _with_head(arc: MarkedArc, head: int) -> MarkedArc:
    """The arc with a head that suits its relation."""
    if head == arc.head:
        return arc
    if head == 0:
        return arc._replace(head=0, label="root")
    if arc.label == "root":
        return arc._replace(head=head, label="dep", label_by="")
    return arc._replace(head=head)


def _head(marked: MarkedSentence, word: int, value: Any, by: str) -> Arcs:
    arcs = list(marked.arcs)
    if type(value) is not int or not 0 <= value <= len(arcs):
        raise ChangeError(f"{str(value)[:20]!r} is no word of the sentence")
    if value == word:
        raise ChangeError("a word cannot be its own head")
    before = arcs[word - 1].head
    if value == 0:
        for k, arc in enumerate(arcs):
            if arc.head == 0 and k != word - 1:  # there is one root, and the latest statement holds
                arcs[k] = MarkedArc(word, "dep")
    else:
        path = _path(arcs, value, word)
        loose = [w for w in path if not arcs[w - 1].head_by]
        if path and not loose:
            raise mending.CircleError(sorted([word, *path]))
        if path:  # the new head is below the word: the head, or the word between, takes the word's place
            arcs[loose[-1] - 1] = _with_head(arcs[loose[-1] - 1], before)
    arc = _with_head(arcs[word - 1], value)
    arcs[word - 1] = arc._replace(head_by=by, label_by=by if value == 0 else arc.label_by)
    return arcs


def _path(arcs: Sequence[MarkedArc], start: int, end: int) -> list[int]:
    """The words from one up to its ancestor `end`, exclusive; empty if `end` is not an ancestor."""
    path: list[int] = []
    while start > 0 and start != end and len(path) <= len(arcs):
        path.append(start)
        start = arcs[start - 1].head
    return path if start == end else []


def _label(marked: MarkedSentence, word: int, value: Any, by: str) -> Arcs:
    arcs = list(marked.arcs)
    if fault := label_fault(value):
        raise ChangeError(fault)
    if arcs[word - 1].head == UNSET:
        raise ChangeError(f"word {word} has no head yet")
    if (value == "root") != (arcs[word - 1].head == 0):
        raise ChangeError("the root has the relation root, and no other word: change the head first")
    arcs[word - 1] = arcs[word - 1]._replace(label=value, label_by=by)
    return arcs


def _right(marked: MarkedSentence, word: int, value: Any, by: str) -> Arcs:
    arcs = list(marked.arcs)
    arcs[word - 1] = _confirmed(arcs[word - 1], word, by)
    return arcs


def _done(marked: MarkedSentence, word: int, value: Any, by: str) -> Arcs:
    arcs = list(marked.arcs)
    for place in marked.positions:
        arcs[place - 1] = _confirmed(arcs[place - 1], place, by)
    return arcs


def _confirmed(arc: MarkedArc, word: int, by: str) -> MarkedArc:
    if arc.head == UNSET or arc.label == NO_LABEL:
        raise ChangeError(f"word {word} has no head and relation yet")
    return arc._replace(head_by=arc.head_by or by, label_by=arc.label_by or by)


def _open(marked: MarkedSentence, word: int, value: Any, by: str) -> Arcs:
    arcs = list(marked.arcs)
    arcs[word - 1] = arcs[word - 1]._replace(head_by="", label_by="")
    return arcs


ARC_CHANGES: dict[str, Callable[[MarkedSentence, int, Any, str], Arcs]] = {
    "head": _head,  # value: the number of the new head, 0 for the root
    "label": _label,  # value: the relation
    "right": _right,  # head and relation of a word are right
    "done": _done,  # the same for all words but punctuation
    "open": _open,  # nothing about a word is confirmed
}
