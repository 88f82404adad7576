"""Relations of a file: which are accepted, and which are offered for a word first."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from dynet_vdgi.errors import ConfigError
from dynet_vdgi.page.text.marked import MarkedSentence
from dynet_vdgi.page.text.sentence_state import NO_LABEL, label_fault
from dynet_vdgi.relations.ud_relations import LABELS
from dynet_vdgi.system.limits import read_table
from dynet_vdgi.system.messages import did_you_mean

_FREQUENT = """
nsubj obl case advmod nmod obj det conj amod aux cc mark advcl discourse compound acl xcomp
parataxis cop ccomp flat nummod expl iobj appos fixed vocative dislocated reparandum csubj orphan
clf list goeswith dep root punct
"""

RANKS = {relation: rank for rank, relation in enumerate(_FREQUENT.split())}
"""The relations of UD, the most frequent first, by their mean share of 102 treebanks; last, those
that hardly anybody sets by hand."""

_USUAL = """
acl:relcl nmod:poss nsubj:pass aux:pass flat:name obl:agent obl:arg advmod:emph compound:prt
flat:foreign obl:tmod csubj:pass expl:pv nsubj:outer compound:svc cc:preconj compound:redup
nsubj:cop compound:lvc det:poss expl:pass obl:lmod obl:mod csubj:cop advmod:neg advcl:cmp aux:neg
csubj:outer nummod:gov advcl:cleft advcl:relcl compound:nn det:numgov expl:impers nmod:tmod xcomp:ds
advmod:lmod obj:agent obl:cmp parataxis:insert
"""

USUAL = _USUAL.split()
"""The subtypes that at least three of 118 treebanks have, the most widespread first."""


class Relations:
    """Relations of a file: the initial ones, and how often each was confirmed for each pair of
    tags."""

    def __init__(self, sentences: Iterable[MarkedSentence]) -> None:
        self.project: frozenset[str] = frozenset()  # a project's list; empty: none
        self._first: set[str] = set()
        # by tags of word and head
        self._confirmed: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        for marked in sentences:
            self._first.update(arc.label for arc in marked.arcs if arc.label != NO_LABEL)
            self.enter(marked)

    def enter(self, marked: MarkedSentence, sign: int = 1) -> None:
        """Counts the confirmed relations of a sentence."""
        if marked.is_touched:
            for word, arc in enumerate(marked.arcs, 1):
                if arc.label_by:
                    self._confirmed[tags_of(marked, word)][arc.label] += sign

    def fault(self, relation: str) -> str:
        """Why somebody should check a relation; empty if it is known.

        Languages have subtypes of their own: but for the usual ones, one is known as soon as the
        file has it.
        """
        accepted = self._accepted_relations()
        if relation in (self.project or accepted):
            return ""
        universal, _, subtype = relation.partition(":")
        if not self.project and subtype and universal in LABELS:
            hint = did_you_mean(relation, sorted(name for name in accepted if ":" in name))
            return f"{relation!r} is a subtype of {universal} that this file does not have{hint}"
        where = "the project's list" if self.project else "UD or of this file"
        return f"{relation!r} is no relation of {where}{did_you_mean(relation, sorted(accepted))}"

    def ranked_relations(self, tag: str, head_tag: str) -> list[str]:
        """All known relations, by how often they are confirmed between these tags, anywhere, and in
        UD.

        Subtypes that the file does not have come last.
        """
        anywhere: Counter[str] = Counter()
        for counts in self._confirmed.values():
            anywhere.update(counts)
        here = self._confirmed.get((tag, head_tag), Counter())
        in_ud = {r: RANKS.get(r.partition(":")[0], len(RANKS)) for r in self._accepted_relations()}
        new = {*USUAL} - self._first
        return sorted(
            in_ud,
            key=lambda r: (-here[r], -anywhere[r], r in new and USUAL.index(r) + 1, in_ud[r], r),
        )

    def unlisted_relations(self) -> list[str]:
        """The known relations that are not in the project's list, if there is one."""
        return sorted(self._accepted_relations() - self.project) if self.project else []

    def _accepted_relations(self) -> set[str]:
        """The relations that nobody has to check: a project's or UD's, and those of the file."""
        confirmed = {relation for counts in self._confirmed.values() for relation in +counts}
        return {*(self.project or (*LABELS, *USUAL)), *self._first, *confirmed}


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
    if head == 0:
        return tags[word - 1], "ROOT"
    return tags[word - 1], tags[head - 1] if head > 0 else ""
