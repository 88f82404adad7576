"""How much of a text is done, and how much of it a person had to change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from dynet_vdgi.annotation.marked import MarkedSentence
from dynet_vdgi.annotation.mending import UNSET

RECENT = 10
"""Sentences over which the running accuracy is taken."""

FirstHeads = Mapping[int, int]
"""For words, by wid, the wid of the head that the first parse gave them, 0 for the root."""


class Finished(NamedTuple):
    """A person's changes to a finished sentence."""

    words: int
    heads_changed: int
    labels_changed: int
    first_wrong: int | None  # heads of the first parse that are not the final ones; None: it is not known


class Progress:
    """Counts over the sentences of a text; `finished`, by id, in the order of completion."""

    def __init__(self, sentences: Iterable[MarkedSentence]) -> None:
        self.finished: dict[int, Finished] = {}
        self.first_heads: dict[int, FirstHeads] = {}  # by id
        self._sentences = self._done = 0
        for marked in sentences:
            self._count(marked, 1)

    def _count(self, marked: MarkedSentence, sign: int) -> bool:
        """Counts a sentence, or takes it out; returns whether it is done."""
        is_done = marked.is_done
        self._sentences += sign
        self._done += sign * is_done
        return is_done

    def leave(self, marked: MarkedSentence) -> None:
        """Takes a sentence that is about to change out of the counts."""
        self._count(marked, -1)

    def enter(self, marked: MarkedSentence) -> None:
        """Counts a sentence that a person has changed."""
        if self._count(marked, 1):
            self.finished[marked.id] = Finished(
                len(marked.positions), len(marked.moved), len(marked.renamed), self._first_wrong(marked)
            )
        else:
            self.finished.pop(marked.id, None)

    def forget(self, marked: MarkedSentence) -> None:
        """Drops a sentence that is no more."""
        self.finished.pop(marked.id, None)

    def _first_wrong(self, marked: MarkedSentence) -> int | None:
        first = self.first_heads.get(marked.id)
        if first is None:
            return None
        heads = heads_by_wid(marked)
        return sum(first[wid] != heads[wid] for p in marked.positions if (wid := marked.wids[p - 1]) in first)

    def figures(self) -> dict[str, Any]:
        """How much is done, and the shares of heads and relations that were right in the last sentences."""
        recent = list(self.finished.values())[-RECENT:]
        words = sum(f.words for f in recent)
        return {
            "sentences": self._sentences,
            "sentences_done": self._done,
            "heads_right": _share_right(words, sum(f.heads_changed for f in recent)),
            "labels_right": _share_right(words, sum(f.labels_changed for f in recent)),
        }

    def saved(self) -> dict[str, int]:
        """Heads that a person changed in finished sentences, and heads that were wrong in the first parse."""
        known = [f for f in self.finished.values() if f.first_wrong is not None]
        return {
            "changed": sum(f.heads_changed for f in known),
            "first": sum(f.first_wrong or 0 for f in known),
        }


def heads_by_wid(marked: MarkedSentence) -> dict[int, int]:
    """The wid of the head of each word, 0 for the root, UNSET for none."""
    number = {0: 0, UNSET: UNSET, **dict(enumerate(marked.wids, 1))}
    return {wid: number[head] for wid, head in zip(marked.wids, marked.heads)}


def _share_right(words: int, changed: int) -> float | None:
    return round(1 - changed / words, 4) if words else None
