"""A person's changes to arcs: heads, relations, what is right. A tree remains a tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dynet_vdgi.conllu.punctuation import heads_without
from dynet_vdgi.page.text.marked import MarkedSentence
from dynet_vdgi.page.text.sentence_state import (
    NO_LABEL,
    NO_VALUE,
    UNSET,
    ChangeError,
    MarkedArc,
    SentenceState,
    label_fault,
)
from dynet_vdgi.page.text.tree_mending import CircleError, mended_tree, tree_with_punctuation
from dynet_vdgi.page.text.word_columns import COLUMNS

Arcs = list[MarkedArc]

StateChange = Callable[[MarkedSentence, int, Any, str], SentenceState]
"""Makes the state after a change of a sentence, at a word, to a value, by a person."""


def _change_of_arcs(change: Callable[[MarkedSentence, int, Any, str], Arcs]) -> StateChange:
    """A kind of change that gives new arcs, from which a tree is made."""

    def new_state(marked: MarkedSentence, word: int, value: Any, by: str) -> SentenceState:
        try:
            arcs = change(marked, word, value, by)
            heads = tuple([arc.head for arc in arcs])
            # otherwise as on the screen, punctuation too
            if UNSET in heads or marked.heads != heads:
                arcs = _arcs_of_tree(arcs, marked.positions, marked.forms)
        except CircleError as error:
            named = [f"{place} {marked.forms[place - 1][:20]}" for place in error.words[:6]]
            more = ", ..." if len(error.words) > len(named) else ""
            raise ChangeError(
                f"the words {', '.join(named)}{more} would form a circle of confirmed arcs: "
                "select one of them whose head is wrong, "
                "and set it first or press x (not confirmed)"
            ) from None
        return marked.state._replace(arcs=tuple(arcs))

    return new_state


def _arcs_of_tree(arcs: Arcs, positions: Sequence[int], forms: Sequence[str]) -> Arcs:
    """Arcs that form a tree, with punctuation attached properly; confirmed arcs stay. Raises:
    CircleError."""
    fixed = [bool(arc.head_by) for arc in arcs]
    tree = mended_tree([arc.head for arc in arcs], fixed)
    arcs = [_arc_with_head(arc, head) for arc, head in zip(arcs, tree)]
    bare = heads_without(tree, positions)
    if UNSET in bare or bare.count(0) != 1:
        return arcs
    firm = [f or place in positions for place, f in enumerate(fixed, 1)]
    try:
        tree = tree_with_punctuation(bare, positions, tree, firm, forms)
    except (ValueError, CircleError):  # the root is punctuation, or words depend on it
        return arcs
    labelled = [arc if arc.label != NO_LABEL else arc._replace(label="punct") for arc in arcs]
    return [_arc_with_head(arc, head) for arc, head in zip(labelled, tree)]


def _arc_with_head(arc: MarkedArc, head: int) -> MarkedArc:
    """The arc with a head that suits its relation."""
    if head == arc.head:
        return arc
    if head == 0:
        return arc._replace(head=0, label="root")
    if arc.label == "root":
        return arc._replace(head=head, label="dep", label_by="")
    return arc._replace(head=head)


@_change_of_arcs
def set_head(marked: MarkedSentence, word: int, value: Any, by: str) -> Arcs:
    """Sets the head: its number, 0 for the root."""
    arcs = list(marked.arcs)
    if type(value) is not int or not 0 <= value <= len(arcs):
        raise ChangeError(f"{str(value)[:20]!r} is no word of the sentence")
    if value == word:
        raise ChangeError("a word cannot be its own head")
    if value == 0:
        for k, arc in enumerate(arcs):
            if arc.head == 0 and k != word - 1:  # there is one root, and the latest statement holds
                arcs[k] = MarkedArc(word, "dep")
    else:
        path: list[int] = []
        above = value  # the words from the new head up to the word, if it is above it
        while above not in (0, UNSET, word) and len(path) <= len(arcs):
            path.append(above)
            above = arcs[above - 1].head
        path = path if above == word else []
        loose = [w for w in path if not arcs[w - 1].head_by]
        if path and not loose:
            raise CircleError(sorted([word, *path]))
        # the new head is below the word: the head, or the word between, takes the word's place
        if path:
            arcs[loose[-1] - 1] = _arc_with_head(arcs[loose[-1] - 1], arcs[word - 1].head)
    arc = _arc_with_head(arcs[word - 1], value)
    arcs[word - 1] = arc._replace(head_by=by, label_by=by if value == 0 else arc.label_by)
    return arcs


@_change_of_arcs
def set_label(marked: MarkedSentence, word: int, value: Any, by: str) -> Arcs:
    """Sets the relation."""
    arcs = list(marked.arcs)
    if fault := label_fault(value):
        raise ChangeError(fault)
    if arcs[word - 1].head == UNSET:
        raise ChangeError(f"word {word} has no head yet")
    if (value == "root") != (arcs[word - 1].head == 0):
        raise ChangeError(
            "the root has the relation root, and no other word: change the head first"
        )
    arcs[word - 1] = arcs[word - 1]._replace(label=value, label_by=by)
    return arcs


@_change_of_arcs
def confirm_arc(marked: MarkedSentence, word: int, value: Any, by: str) -> Arcs:
    """Confirms head and relation of a word."""
    return _confirmed_arcs(marked, [word], by)


@_change_of_arcs
def _confirm_all(marked: MarkedSentence, word: int, value: Any, by: str) -> Arcs:
    return _confirmed_arcs(marked, marked.words_to_confirm, by)


def _confirmed_arcs(marked: MarkedSentence, words: Sequence[int], by: str) -> Arcs:
    arcs = list(marked.arcs)
    for word in words:
        arc = arcs[word - 1]
        if arc.head == UNSET or arc.label == NO_LABEL:
            raise ChangeError(f"word {word} has no head and relation yet")
        arcs[word - 1] = arc._replace(head_by=arc.head_by or by, label_by=arc.label_by or by)
    return arcs


def finish(marked: MarkedSentence, word: int, value: Any, by: str) -> SentenceState:
    """Confirms head and relation of all words but punctuation, and all tags,
    features and lemmas."""
    state = _confirm_all(marked, word, value, by)
    if not marked.is_tagged:
        raise ChangeError(f"word {marked.tags.index(NO_VALUE) + 1} has no tag yet")
    columns = []
    for present, shown in zip(state.columns, marked.columns):
        confirmed = {}  # what was a guess
        for column in COLUMNS.values():
            if column.by and getattr(present, column.key) != getattr(shown, column.key):
                confirmed[column.by] = by
        columns.append(shown._replace(**confirmed))
    return state._replace(columns=tuple(columns))


@_change_of_arcs
def unconfirm(marked: MarkedSentence, word: int, value: Any, by: str) -> Arcs:
    """Takes back who confirmed head and relation of a word."""
    arcs = list(marked.arcs)
    arcs[word - 1] = arcs[word - 1]._replace(head_by="", label_by="")
    return arcs
