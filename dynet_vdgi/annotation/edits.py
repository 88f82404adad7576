"""From a person's wish to the record of the change, which `AnnotatedText.apply` then makes."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from dynet_vdgi.annotation import changes, records, tokens
from dynet_vdgi.annotation.annotated_text import AnnotatedText
from dynet_vdgi.annotation.marked import ChangeError, MarkedSentence, block
from dynet_vdgi.annotation.mending import UNSET
from dynet_vdgi.annotation.records import ChangeRecord, Replaced, WholeSentence
from dynet_vdgi.annotation.sentence_layout import SentenceLayout
from dynet_vdgi.errors import DataError

TOKEN_CHANGES = ("split", "join", "range", "space", "cut", "glue")
PARSED_AGAIN = ("head", "tag", "split", "join", "cut", "glue")
"""Changes after which the rest of the sentence is parsed again."""


def record_of(
    text: AnnotatedText, marked: MarkedSentence, what: str, word: int, value: Any, by: str
) -> ChangeRecord:
    """The record of a change. Raises: ChangeError, the change is impossible."""
    at = round(time.time())
    if what in TOKEN_CHANGES:
        after, before = _tokens(text, marked, what, word, value)
        return ChangeRecord(
            marked.id, what, Replaced(sentences=after), Replaced(sentences=before), by, at, word
        )
    state = changes.new_state(marked, what, word, value, by)
    is_parsed = what in PARSED_AGAIN and marked.is_touched
    new, old = records.difference(marked, marked.state, state, all_arcs=is_parsed)
    moved, renamed = marked.moved, marked.renamed
    if what in ("head", "label"):
        arc, wid = marked.arcs[word - 1], marked.wids[word - 1]
        if what == "head" and arc.head not in (UNSET, value):
            moved |= {wid}
        if what == "label" and arc.label != value:
            renamed |= {wid}
    new, old = (
        Replaced(part.arcs, part.columns, part.comments, tuple(sorted(m)), tuple(sorted(r)))
        for part, m, r in ((new, moved, renamed), (old, marked.moved, marked.renamed))
    )
    return ChangeRecord(marked.id, what, new, old, by, at, word)


def _tokens(
    text: AnnotatedText, marked: MarkedSentence, what: str, word: int, value: Any
) -> tuple[tuple[WholeSentence, ...], tuple[WholeSentence, ...]]:
    """The sentences after a change of tokens, and before."""
    if what not in ("range", "glue") and not 1 <= word <= len(marked):
        raise ChangeError(f"there is no word {word}")
    layout = SentenceLayout.of(block(marked).rstrip("\n").split("\n"), marked.wids)
    old, moved, renamed = [marked], marked.moved, marked.renamed
    layouts = [(marked.id, layout)]
    if what == "cut":
        names = [one.sent_id for one in text.sentences]
        layouts.append((text.new_id(), tokens.cut(layout, layout.words[word - 1], names)))
    elif what == "glue":
        other = text.following(marked)
        if other is None:
            raise ChangeError("there is no next sentence to join with")
        old.append(other)
        wids = text.new_wids(marked, len(other))
        now = dict(zip(other.wids, wids))
        moved |= {now[wid] for wid in other.moved if wid in now}
        renamed |= {now[wid] for wid in other.renamed if wid in now}
        tokens.glue(layout, SentenceLayout.of(block(other).rstrip("\n").split("\n"), wids))
    else:
        layout.keeping_text(lambda its: _change_tokens(text, marked, its, what, word, value))
    new = [_whole(number, each, moved, renamed) for number, each in layouts]
    try:
        for one in new:
            records.sentence_of(one, "the new sentence")
    except (DataError, ValueError) as error:
        raise ChangeError(f"this cannot be done: {error}") from None
    return tuple(new), tuple(map(records.whole, old))


def _change_tokens(
    text: AnnotatedText, marked: MarkedSentence, layout: SentenceLayout, what: str, word: int, value: Any
) -> None:
    if what == "range":
        tokens.set_range(layout, value)
        return
    chosen = layout.words[word - 1]
    if what == "split":
        tokens.split(layout, chosen, value, text.new_wids(marked, tokens.MOST_PARTS))
    elif what == "join":
        tokens.join(layout, chosen)
    else:
        tokens.set_space(layout, chosen, value)


def _whole(
    number: int, layout: SentenceLayout, moved: Iterable[int], renamed: Iterable[int]
) -> WholeSentence:
    wids = tuple(layout.wids)
    text = "\n".join(layout.lines()) + "\n\n"
    kept = tuple(sorted({*moved} & {*wids})), tuple(sorted({*renamed} & {*wids}))
    return WholeSentence(number, wids, text, kept[0], kept[1])
