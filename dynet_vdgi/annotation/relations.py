"""The relations offered to a person: those of UD and those of the file, the likeliest first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from dynet_vdgi.annotation.marked import NO_LABEL, MarkedArc, MarkedSentence
from dynet_vdgi.labels.label_table import LABELS
from dynet_vdgi.system.names import did_you_mean

ROOT = "ROOT"


class Relations:
    """Relations of a file: the initial ones, and how often each was confirmed for each pair of tags."""

    def __init__(self, sentences: Iterable[MarkedSentence]) -> None:
        self._first: set[str] = set()
        self._confirmed: Counter[tuple[str, str, str]] = Counter()  # by tags of word and head, and relation
        for marked in sentences:
            self._first.update(arc.label for arc in marked.arcs if arc.label != NO_LABEL)
            self.change(marked, (), marked.arcs)

    def change(self, marked: MarkedSentence, before: Sequence[MarkedArc], after: Sequence[MarkedArc]) -> None:
        """Records that a sentence has other arcs."""
        for arcs, count in ((before, -1), (after, 1)):
            for word, arc in enumerate(arcs, 1):
                if arc.label_by:
                    tag, head_tag = tags_of(marked, word, arc.head)
                    self._confirmed[tag, head_tag, arc.label] += count

    def fault(self, relation: str) -> str:
        """Why somebody should check a relation; empty if it is known."""
        known = self._known()
        if relation in known:
            return ""
        return f"{relation!r} is no relation of UD or of this file{did_you_mean(relation, sorted(known))}"

    def offered(self, tag: str, head_tag: str) -> list[str]:
        """All known relations, by how often they are confirmed between these tags, and then anywhere."""
        here: Counter[str] = Counter()
        anywhere: Counter[str] = Counter()
        for (t, h, relation), count in self._confirmed.items():
            anywhere[relation] += count
            if (t, h) == (tag, head_tag):
                here[relation] += count
        return sorted(self._known(), key=lambda relation: (-here[relation], -anywhere[relation], relation))

    def _known(self) -> set[str]:
        confirmed = {relation for (_, _, relation), count in self._confirmed.items() if count > 0}
        return {*LABELS, *self._first, *confirmed}


def tags_of(marked: MarkedSentence, word: int, head: int) -> tuple[str, str]:
    """The tags of a word and of its head; ROOT for the root, "" if there is no head."""
    tags = marked.sentence.tags
    return tags[word - 1], ROOT if head == 0 else tags[head - 1] if head > 0 else ""
