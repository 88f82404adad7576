"""Taking over a file that another program has changed since it was last written.

Sentences are aligned by sent_id and then by their words. A sentence that the other program left alone is the
session's; another is the file's, with what was confirmed in the session carried over to the words that are
still there. A confirmed arc that the other program has changed, in a sentence with the same words, is a
contradiction that only a person can resolve.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from pathlib import Path

from dynet_vdgi.annotation.annotated_text import AnnotatedText
from dynet_vdgi.annotation.marked import MarkedArc, MarkedSentence, SentenceState, block
from dynet_vdgi.annotation.mending import CircleError, mended
from dynet_vdgi.annotation.old_journals import check_arc
from dynet_vdgi.annotation.records import ChangeRecord, Replaced, WholeSentence, whole


def record_of(
    text: AnnotatedText,
    found: Sequence[MarkedSentence],
    in_file: Sequence[MarkedSentence],
    path: Path,
    journal: Path,
    right_by: str = "",
) -> ChangeRecord | None:
    """The change that makes the text of the sentences found in the file; None: nothing is to be changed.

    `in_file`: the sentences when the session last wrote the file. Sentences that were cut or glued since
    then are the file's, if the other program changed them. `right_by`: who has said that the file's trees
    are right.

    Raises: DataError, the file contradicts what was confirmed.
    """
    partner = _aligned(in_file, found)
    result: list[WholeSentence] = []
    next_id = text.new_id()
    used: set[int] = set()
    for k, theirs in enumerate(found):
        mine_before = in_file[partner[k]] if k in partner else None
        mine = text.by_id.get(mine_before.id) if mine_before is not None else None
        is_given = mine_before is None or (mine_before.given and mine_before.is_as_found(mine_before.state))
        if right_by and is_given and theirs.has_tree_without_marks:
            theirs.take_as_right(right_by)
        if mine is None or mine_before is None:
            theirs.id, next_id = next_id, next_id + 1
            result.append(whole(theirs))
            continue
        used.add(mine.id)
        if block(theirs) == block(mine_before):
            result.append(whole(mine))
            continue
        result.append(_merged(mine, mine_before, theirs, text, path, journal))
    old = [whole(marked) for marked in text.sentences]
    if result == old:
        return None
    start = 0
    while start < min(len(old), len(result)) - 1 and old[start] == result[start]:
        start += 1
    end = 0
    while end < min(len(old), len(result)) - start - 1 and old[-1 - end] == result[-1 - end]:
        end += 1
    new_part = Replaced(sentences=tuple(result[start : len(result) - end]))
    old_part = Replaced(sentences=tuple(old[start : len(old) - end]))
    return ChangeRecord(result[start].id, "outside", new_part, old_part)


def _aligned(before: Sequence[MarkedSentence], found: Sequence[MarkedSentence]) -> dict[int, int]:
    """For each sentence found, by place, the place of the one that it was before, in the same order."""
    keys = [
        [_key(marked, ids) for marked in side]
        for side, ids in ((before, _unique(before)), (found, _unique(found)))
    ]
    partner: dict[int, int] = {}
    for kind, a, b, c, d in SequenceMatcher(None, keys[0], keys[1], autojunk=False).get_opcodes():
        if kind == "equal" or (kind == "replace" and b - a == d - c):
            partner.update(zip(range(c, d), range(a, b)))
        elif kind == "replace":
            partner.update(_most_alike(before, found, range(a, b), range(c, d)))
    return partner


def _unique(sentences: Sequence[MarkedSentence]) -> set[str]:
    names = [marked.sent_id for marked in sentences]
    return {name for name in names if name} if len({*names}) == len(names) else set()


def _key(marked: MarkedSentence, ids: set[str]) -> object:
    return marked.sent_id if marked.sent_id in ids else marked.forms


def _most_alike(
    before: Sequence[MarkedSentence], found: Sequence[MarkedSentence], old: range, new: range
) -> dict[int, int]:
    """Sentences of two passages, in order, more than half of whose words are equal."""
    pairs: dict[int, int] = {}
    start = old.start
    for k in new:
        for m in range(start, old.stop):
            if SequenceMatcher(None, before[m].forms, found[k].forms, autojunk=False).ratio() > 0.5:
                pairs[k], start = m, m + 1
                break
    return pairs


def _merged(
    mine: MarkedSentence,
    before: MarkedSentence,
    theirs: MarkedSentence,
    text: AnnotatedText,
    path: Path,
    journal: Path,
) -> WholeSentence:
    """The file's sentence with what the session has said about the words that are still there."""
    is_same = before.forms == mine.forms
    is_given = is_same and before.given and before.is_as_found(before.state)  # then the file has no marks
    if mine.forms == theirs.forms == before.forms and not is_given:
        for number, (one, other) in enumerate(zip(before.arcs, theirs.arcs), 1):
            check_arc(path, journal, theirs, number, one, other)
    place: dict[int, int] = {}  # of words of the file, the place in the session
    for a, b, size in SequenceMatcher(None, mine.forms, theirs.forms, autojunk=False).get_matching_blocks():
        place.update(zip(range(b + 1, b + size + 1), range(a + 1, a + size + 1)))
    theirs_of = {a: b for b, a in place.items()} | {0: 0}
    fresh = iter(text.new_wids(mine, len(theirs)))
    wids = tuple(mine.wids[place[k] - 1] if k in place else next(fresh) for k in range(1, len(theirs) + 1))
    arcs, columns = list(theirs.arcs), list(theirs.state.columns)
    for k, m in place.items():
        arc, word = mine.arcs[m - 1], mine.state.columns[m - 1]
        if is_given and arc == before.arcs[m - 1]:
            pass
        elif arc.head_by and arc.head in theirs_of and theirs_of[arc.head] != k:
            arcs[k - 1] = arc._replace(
                head=theirs_of[arc.head], label_by=arc.label_by or arcs[k - 1].label_by
            )
            if not arc.label_by and theirs.arcs[k - 1].label_by:
                arcs[k - 1] = arcs[k - 1]._replace(label=theirs.arcs[k - 1].label)
        elif arc.label_by and arcs[k - 1].head >= 0:
            arcs[k - 1] = arcs[k - 1]._replace(label=arc.label, label_by=arc.label_by)
        if is_same and word != before.state.columns[m - 1]:  # changed here, but not yet in the file
            columns[k - 1] = word
    theirs.id, theirs.wids = mine.id, wids
    theirs.moved, theirs.renamed = mine.moved & {*wids}, mine.renamed & {*wids}
    comments = mine.state.comments if mine.state.comments != before.state.comments else theirs.state.comments
    theirs.state = SentenceState(_without_circles(arcs, theirs.arcs), tuple(columns), comments)
    return whole(theirs)


def _without_circles(arcs: Sequence[MarkedArc], theirs: Sequence[MarkedArc]) -> tuple[MarkedArc, ...]:
    """The arcs, as a tree if they can be one; otherwise the file's."""
    try:
        heads = mended([arc.head for arc in arcs], [bool(arc.head_by) for arc in arcs])
    except (ValueError, CircleError):
        return tuple(theirs)
    return tuple(arc if arc.head == head else arc._replace(head=head) for arc, head in zip(arcs, heads))
