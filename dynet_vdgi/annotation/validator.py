"""What the official validator says of the present text, by sentence."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Any

from dynet_vdgi.annotation.annotated_text import AnnotatedText
from dynet_vdgi.annotation.finding import MOST_FOUND, beginning
from dynet_vdgi.annotation.marked import ChangeError, MarkedSentence, block
from dynet_vdgi.annotation.mending import UNSET
from dynet_vdgi.errors import UsageError
from dynet_vdgi.validation import official

MOST_SAID = 5
"""Messages that are shown of one sentence."""

_OF_COMMENTS = re.compile(r"\[L\d METADATA\b", re.IGNORECASE)
"""The validator reports a missing comment with the line of the first word."""


class Validator:
    """The official validator for a text; it is run again only when the text has changed."""

    def __init__(self, text: AnnotatedText) -> None:
        self._text = text
        self._read = ""  # the text that the messages are about
        self._messages: list[official.Message] = []

    @property
    def is_installed(self) -> bool:
        """Whether there is a validator; a malformed command is one, so that the page reports its fault."""
        try:
            return official.command() is not None
        except UsageError:
            return True

    def found(self, query: str) -> dict[str, Any]:
        """As `finding.found`, the sentences with messages that contain the query, those worked on first.

        Sentences are read as the page shows them, those without tags or tree not at all.

        Raises: UsageError, the validator cannot be run; ChangeError, there is nothing to read yet.
        """
        ready = [(n, marked) for n, marked in enumerate(list(self._text.sentences)) if _is_ready(marked)]
        if not ready:
            raise ChangeError("no sentence has tags and a tree yet")
        blocks = [block(marked, as_shown=True) for _, marked in ready]
        text = "".join(blocks)
        if text != self._read:
            self._messages, self._read = official.messages(text), text
        starts = [1]
        for each in blocks:
            starts.append(starts[-1] + each.count("\n"))
        said: dict[int, list[str]] = {}
        for line, message in self._messages:
            if query.casefold() in message.casefold():
                k = min(bisect_right(starts, line), len(blocks)) - 1
                said.setdefault(k, []).append(_named(message, blocks[k], line - starts[k]))
        order = sorted(said, key=lambda k: not ready[k][1].is_touched)
        hits = [
            {"id": marked.id, "number": n, "text": beginning(marked), "why": _together(said[k])}
            for k in order[:MOST_FOUND]
            for n, marked in [ready[k]]
        ]
        return {"count": len(said), "found": hits}


def _is_ready(marked: MarkedSentence) -> bool:
    return marked.source is not None and marked.is_tagged and UNSET not in marked.heads


def _named(message: str, lines: str, row: int) -> str:
    """The message, after the word in its line, unless it is about the sentence's comments."""
    columns = "".join(lines.split("\n")[row : row + 1]).split("\t")
    is_of_word = len(columns) > 1 and not _OF_COMMENTS.match(message)
    return f"{columns[0]} {columns[1]}: {message}" if is_of_word else message


def _together(messages: list[str]) -> str:
    more = len(messages) - MOST_SAID
    return "; ".join(messages[:MOST_SAID]) + (f"; and {more} more" if more > 0 else "")
