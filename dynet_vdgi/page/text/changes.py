"""A person's changes to a sentence whose words stay: `STATE_CHANGES` and `COLUMNS` are the tables
of all kinds."""

from __future__ import annotations

from typing import Any

from dynet_vdgi.page.text.arc_changes import (
    StateChange,
    confirm_arc,
    finish,
    set_head,
    set_label,
    unconfirm,
)
from dynet_vdgi.page.text.marked import MarkedSentence
from dynet_vdgi.page.text.notes import set_comment, set_flag, set_note
from dynet_vdgi.page.text.sentence_state import ChangeError, SentenceState
from dynet_vdgi.page.text.word_columns import COLUMNS

STATE_CHANGES: dict[str, StateChange] = {
    "head": set_head,
    "label": set_label,
    "right": confirm_arc,
    "done": finish,
    "open": unconfirm,
    "note": set_note,
    "flag": set_flag,
    "comment": set_comment,
}
"""Changes that leave the words, besides those of COLUMNS: of a sentence, a word, to a value, by a
person."""

_OF_SENTENCES = ("done", "note", "flag", "comment")


def new_state(marked: MarkedSentence, what: str, word: int, value: Any, by: str) -> SentenceState:
    """The state after a change of one of the kinds of `STATE_CHANGES`, by the person `by`.

    Raises: ChangeError, the change is impossible.
    """
    if what not in STATE_CHANGES and what not in COLUMNS:
        names = ", ".join((*STATE_CHANGES, *COLUMNS))
        raise ChangeError(f"no change is called {what[:20]!r} (there are: {names})")
    if not (0 if what in _OF_SENTENCES else 1) <= word <= len(marked):
        raise ChangeError(f"there is no word {word}")
    change = COLUMNS[what].change if what in COLUMNS else STATE_CHANGES[what]
    return change(marked, word, value, by)
