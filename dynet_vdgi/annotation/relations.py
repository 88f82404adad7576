"""The relations offered to a person: those of UD and those of the file, the likeliest first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from dynet_vdgi.annotation.marked import NO_LABEL, MarkedSentence, label_fault
from dynet_vdgi.errors import ConfigError
from dynet_vdgi.labels.label_table import LABELS
from dynet_vdgi.system.names import did_you_mean, read_table

_FREQUENT = """
nsubj obl case advmod nmod obj det conj amod aux cc mark advcl discourse compound acl xcomp parataxis cop
ccomp flat nummod expl iobj appos fixed vocative dislocated reparandum csubj orphan clf list goeswith dep root
punct
"""
RANKS = {relation: rank for rank, relation in enumerate(_FREQUENT.split())}
"""The relations of UD, the most frequent first, by their mean share of 102 treebanks; last, those that hardly
anybody sets by hand."""


class Relations:
    """Relations of a file: the initial ones, and how often each was confirmed for each pair of tags."""

    def __init__(self, sentences: Iterable[MarkedSentence]) -> None:
        self.project: frozenset[str] = frozenset()  # a project's list; empty: none
        self._first: set[str] = set()
        self._confirmed: Counter[tuple[str, str, str]] = Counter()  # by tags of word and head, and relation
        for marked in sentences:
            self._first.update(arc.label for arc in marked.arcs if arc.label != NO_LABEL)
            self.enter(marked)

    def enter(self, marked: MarkedSentence, sign: int = 1) -> None:
        """Counts the confirmed relations of a sentence."""
        if marked.is_touched:
            for word, arc in enumerate(marked.arcs, 1):
                if arc.label_by:
                    tag, head_tag = tags_of(marked, word)
                    self._confirmed[tag, head_tag, arc.label] += sign

    def fault(self, relation: str) -> str:
        """Why somebody should check a relation; empty if it is known.

        Languages have subtypes of their own: one is known as soon as the file, or the project's list, has it.
        """
        known = self._known()
        if relation in (self.project or known):
            return ""
        universal, _, subtype = relation.partition(":")
        if not self.project and subtype and universal in LABELS:
            hint = did_you_mean(relation, sorted(name for name in known if ":" in name))
            return f"{relation!r} is a subtype of {universal} that this file does not have{hint}"
        where = "the project's list" if self.project else "UD or of this file"
        return f"{relation!r} is no relation of {where}{did_you_mean(relation, sorted(known))}"

    def offered(self, tag: str, head_tag: str) -> list[str]:
        """All known relations, by how often they are confirmed between these tags, anywhere, and in UD."""
        anywhere: Counter[str] = Counter()
        for (_, _, relation), count in self._confirmed.items():
            anywhere[relation] += count
        in_ud = {r: RANKS.get(r.partition(":")[0], len(RANKS)) for r in self._known()}
        return sorted(in_ud, key=lambda r: (-self._confirmed[tag, head_tag, r], -anywhere[r], in_ud[r], r))

    def unlisted(self) -> list[str]:
        """The known relations that are not in the project's list, if there is one."""
        return sorted(self._known() - self.project) if self.project else []

    def likely(self, marked: MarkedSentence, word: int) -> list[tuple[str, float]]:
        """The relations confirmed between the tags of a word and its head, with their shares."""
        if marked.arcs[word - 1].head <= 0:
            return []
        pair = tags_of(marked, word)
        here = Counter({r: n for (t, h, r), n in self._confirmed.items() if (t, h) == pair and n > 0})
        return [(relation, n / here.total()) for relation, n in here.most_common()]

    def _known(self) -> set[str]:
        confirmed = {relation for (_, _, relation), count in self._confirmed.items() if count > 0}
        return {*(self.project or LABELS), *self._first, *confirmed}


def read_list(path: str) -> frozenset[str]:
    """The relations of a project: one a line, or several with blanks between; # begins a comment.

    Raises: ConfigError, the file cannot be read, has none, or what stands there is no relation.
    """
    names: list[str] = []
    for number, line in enumerate(read_table(path, "list of relations").splitlines(), 1):
        for name in line.partition("#")[0].split():
            if fault := label_fault(name):
                raise ConfigError(f"{path}:{number}: {fault}")
            names.append(name)
    if not names:
        raise ConfigError(f"{path}: there is no relation in it")
    return frozenset(names)


def tags_of(marked: MarkedSentence, word: int) -> tuple[str, str]:
    """The tags of a word and of its head; ROOT for the root, "" if there is no head."""
    head, tags = marked.arcs[word - 1].head, marked.tags
    return tags[word - 1], "ROOT" if head == 0 else tags[head - 1] if head > 0 else ""
