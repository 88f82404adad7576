"""Notes of words and sentences, other comments, and the flag that a sentence is to be looked at
again."""

from __future__ import annotations

import re
from typing import Any

from dynet_vdgi.page.text.marked import MarkedSentence
from dynet_vdgi.page.text.sentence_state import (
    FLAG,
    IS_FLAG,
    NO_VALUE,
    ChangeError,
    MarkedColumns,
    SentenceState,
)
from dynet_vdgi.page.text.word_columns import NO_TEXT, Column

LONGEST_NOTE = 2000

_NOTE_LINE = re.compile(r"#\s*note\s*=.*")

_COMMENT = re.compile(r"([A-Za-z][\w.:-]*(?:\[\w+\])?)\s*=\s*(.*)")  # text_en, or text[eng]

_OTHER_COMMENTS = {
    "text": "it follows the words",
    "note": "press Note",
    "flag": "press Look again",
    "sent_id": "`vdgi release` gives every sentence a name of its own",
}


def _note(value: Any) -> str:
    r"""A note as one line without bars: runs of blanks are one, \n is a new line, \p a bar."""
    if type(value) is not str or len(value) > LONGEST_NOTE or re.search("[\ud800-\udfff]", value):
        raise ChangeError(f"this is no note (up to {LONGEST_NOTE} letters)")
    lines = [" ".join(NO_TEXT.sub(" ", line).split()) for line in value.strip().splitlines()]
    return r"\n".join(line.replace("\\", r"\\").replace("|", r"\p") for line in lines) or NO_VALUE


_WORD_NOTE = Column("note", "Note", _note)


def _unescape(text: str) -> str:
    meant = {"n": "\n", "p": "|", "\\": "\\"}
    return re.sub(r"\\([np\\])", lambda escape: meant[escape[1]], text)


def set_note(marked: MarkedSentence, word: int, value: Any, by: str) -> SentenceState:
    """Sets a note: the comment `# note = ...` of a sentence (word 0), or `Note=...` in MISC; ""
    removes it."""
    if word:
        return _WORD_NOTE.change(marked, word, value, by)
    text = _note(value)
    return _state_with_comment(marked, _NOTE_LINE, f"# note = {text}" if text != NO_VALUE else "")


def note_of(word: MarkedColumns) -> str:
    """The note of a word."""
    value = _WORD_NOTE.of(word)
    return _unescape(value) if value != NO_VALUE else ""


def sentence_note(marked: MarkedSentence) -> str:
    """The note of a sentence."""
    return _unescape(marked.comment("note"))


def set_comment(marked: MarkedSentence, word: int, value: Any, by: str) -> SentenceState:
    """Sets a comment of a sentence, `text_en = The dogs bark.`, in place of others of this key;
    `text_en =` removes it."""
    match = _COMMENT.fullmatch(" ".join(value.split())) if type(value) is str else None
    if word or match is None or len(value) > LONGEST_NOTE or NO_TEXT.search(value):
        raise ChangeError(
            f"{str(value)[:30]!r} is no comment (expected such as text_en = The dogs bark.)"
        )
    if match[1] in _OTHER_COMMENTS:
        raise ChangeError(f"{match[1]} is not set here: {_OTHER_COMMENTS[match[1]]}")
    new = f"# {match[1]} = {match[2]}" if match[2] else ""
    return _state_with_comment(marked, re.compile(rf"#\s*{re.escape(match[1])}\s*=.*"), new)


def set_flag(marked: MarkedSentence, word: int, value: Any, by: str) -> SentenceState:
    """Sets or removes the comment that the sentence is to be looked at again."""
    if type(value) is not bool or word:
        raise ChangeError("a sentence is flagged (true) or not (false)")
    if value == marked.is_flagged:
        return marked.state
    return _state_with_comment(marked, IS_FLAG, FLAG if value else "")


def _state_with_comment(marked: MarkedSentence, old: re.Pattern[str], new: str) -> SentenceState:
    """The state with one comment in place of those of its kind; "": with none."""
    comments = marked.state.comments
    place = next((k for k, line in enumerate(comments) if old.fullmatch(line)), len(comments))
    first, rest = comments[:place], [line for line in comments[place:] if not old.fullmatch(line)]
    return marked.state._replace(comments=(*first, *([new] if new else []), *rest))
