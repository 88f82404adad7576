"""What the official validator says of the present text, by rule."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

from dynet_vdgi.annotation.annotated_text import AnnotatedText
from dynet_vdgi.annotation.finding import MOST_FOUND, beginning
from dynet_vdgi.annotation.marked import ChangeError, MarkedSentence, block
from dynet_vdgi.annotation.mending import UNSET
from dynet_vdgi.errors import UsageError
from dynet_vdgi.system.names import count
from dynet_vdgi.validation import official
from dynet_vdgi.validation.official import Message

FIRST = 5
"""Sentences that are shown of each rule, where several rules are."""

PATIENCE = 600
"""Seconds after which a validator is ended that says nothing."""


class Validator:
    """The official validator for a text; it is run again only when the text has changed."""

    def __init__(self, text: AnnotatedText) -> None:
        self._text = text
        self._read = ""  # the text that the messages are about
        self._messages: list[Message] = []

    @property
    def is_installed(self) -> bool:
        """Whether there is a validator; a malformed command is one, so that the page reports its fault."""
        try:
            return official.command() is not None
        except UsageError:
            return True

    def found(self, query: str) -> dict[str, Any]:
        """The messages that contain the query, by rule, errors first; of each rule the first sentences.

        As `finding.found`, with `rule` in each hit and a summary; sentences worked on come first. Read are
        sentences as the page shows them, those without tags or tree not at all.

        Raises: UsageError, the validator cannot be run; ChangeError, there is nothing to read yet.
        """
        ready = [(n, marked) for n, marked in enumerate(list(self._text.sentences)) if _is_ready(marked)]
        if not ready:
            raise ChangeError("no sentence has tags and a tree yet")
        blocks = [block(marked, form="page") for _, marked in ready]
        text = "".join(blocks)
        if text != self._read:
            self._messages, self._read = official.messages([text], patience=PATIENCE), text
        starts = [1]
        for each in blocks:
            starts.append(starts[-1] + each.count("\n"))

        def place(message: Message) -> int:
            return min(bisect_right(starts, message.line), len(blocks)) - 1

        said = [m for m in self._messages if query.casefold() in f"{m.rule} {m.text}".casefold()]
        groups = official.grouped(said)
        most = FIRST if len(groups) > 1 else MOST_FOUND
        hits = []
        for group in groups:
            first = {place(message): message for message in reversed(group)}  # of each sentence
            order = sorted(first, key=lambda k: (not ready[k][1].is_touched, k))
            kind = count(len(group), "error" if group[0].is_error else "warning")
            rule = f"{kind}: {group[0].rule} (level {group[0].level})"
            if len(order) > most:
                rule += f", the first {most} of {len(order):,} sentences"
            for k in order[:most]:
                n, marked = ready[k]
                why = _named(first[k], blocks[k], first[k].line - starts[k])
                hits.append(
                    {"id": marked.id, "number": n, "text": beginning(marked), "why": why, "rule": rule}
                )
        n_sentences = len({place(message) for message in said})
        summary = f"{official.counted(said)} in {count(n_sentences, 'sentence')}"
        return {"count": n_sentences, "found": hits, "summary": summary}


def _is_ready(marked: MarkedSentence) -> bool:
    return marked.source is not None and marked.is_tagged and UNSET not in marked.heads


def _named(message: Message, lines: str, row: int) -> str:
    """The message, after the word in its line, unless it is about the sentence's comments."""
    columns = "".join(lines.split("\n")[row : row + 1]).split("\t")
    is_of_word = len(columns) > 1 and not message.is_of_comments
    return f"{columns[0]} {columns[1]}: {message.text}" if is_of_word else message.text
