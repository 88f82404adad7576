"""Which sentence comes next: the next unfinished one of the file, or the most useful one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from dynet_vdgi.page.text.annotated_text import AnnotatedText

ORDERS = ("choose", "document")


class NextSentence:
    """The order of the sentences of a text, which go by their ids.

    `with_doubtful_tags` and `useful` are the best to correct next, as tagger and parser say after
    each lesson.
    """

    def __init__(self, text: AnnotatedText) -> None:
        self.with_doubtful_tags: Sequence[int] = ()
        self.useful: Sequence[int] = ()
        self._text = text
        self._left_unfinished: dict[int, None] = {}  # the latest at the end

    def after(self, last: int | None, order: str) -> int | None:
        """The next unfinished sentence after one; None: all are done.

        In the order `choose`, a sentence left unfinished comes again after all others.
        """
        by_id = self._text.by_id
        if order == "choose" and last in by_id:
            self._left_unfinished.pop(last, None)
            self._left_unfinished[last] = None
        for number in self._ids_by_use(last) if order == "choose" else self._ids_by_place(last):
            if number != last and number in by_id and not by_id[number].is_done:
                return number
        return None

    def _ids_by_place(self, last: int | None) -> Iterator[int]:
        """The sentences behind one, and then those before it."""
        marked = self._text.by_id.get(-1 if last is None else last)
        place = -1 if marked is None else self._text.number(marked)
        ids = [each.id for each in self._text.sentences]
        return chain(ids[place + 1 :], ids[: max(0, place)])

    def _ids_by_use(self, last: int | None) -> Iterator[int]:
        """The best to correct next, then the others, then the sentences left unfinished."""
        for number in chain(self.with_doubtful_tags, self.useful, self._ids_by_place(last)):
            if number not in self._left_unfinished:
                yield number
        yield from self._left_unfinished
