"""A person's changes to the ends of sentences: one is cut in two, two are glued.

A word that loses its head gets another one as a guess.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from dynet_vdgi.conllu.guess_marks import HEAD_BY, LABEL_BY, without
from dynet_vdgi.page.text.sentence_layout import DEPREL, MISC, ROOT, TEXT, SentenceLayout, Word
from dynet_vdgi.page.text.sentence_state import FLAG, NO_VALUE, ChangeError

_SENT_ID = re.compile(r"(#\s*sent_?id\s*[=:]?\s*)(\S.*?)\s*")

_BOTH = re.compile(r"#\s*(speakers?|speaker_\w+|addressee|sound_url|media_url)\s*[=:].*")
"""Comments that are true of both parts of a sentence that is cut: who speaks, and the recording."""

_OWN = re.compile(r"#\s*(sent_?id|text|newdoc|newpar|global\.columns)\b.*")
"""Comments that are not joined when sentences are; translations, `text_en`, are."""


def cut(layout: SentenceLayout, word: Word, taken: Iterable[str]) -> SentenceLayout:
    """Cuts a sentence before a word; returns the second part,
    whose sent_id is none of those taken."""
    place = layout.words.index(word)
    if place == 0:
        raise ChangeError("a sentence cannot be cut before its first word")
    span = layout.range_of(word)
    if span is not None and span.first is not word:
        raise ChangeError("a multiword token cannot be cut: remove it first")
    rest = SentenceLayout([], layout.words[place:])
    rest.ranges = [span for span in layout.ranges if span.first in rest.words]
    rest.empties = [empty for empty in layout.empties if empty.after in rest.words]
    layout.words = layout.words[:place]
    layout.ranges = [span for span in layout.ranges if span not in rest.ranges]
    layout.empties = [empty for empty in layout.empties if empty not in rest.empties]
    nodes = (*rest.words, *rest.empties)
    rest.deps = {node: layout.deps.pop(node) for node in nodes if node in layout.deps}
    names = set(taken)
    for comment in layout.comments:
        if match := _SENT_ID.fullmatch(comment):
            k = 2
            while f"{match[2]}-{k}" in names:
                k += 1
            rest.comments.append(f"{match[1]}{match[2]}-{k}")
        elif _BOTH.fullmatch(comment):
            rest.comments.append(comment)
    if _has_text(layout):
        rest.comments.append("# text = ")
    for part in (layout, rest):
        part.set_text(part.text())
        root = next((word for word in part.words if word.head == ROOT), None)
        is_tree = all(word.head is not None for word in part.words)
        for word in part.words:  # whose head is in the other part
            if isinstance(word.head, Word) and word.head not in part.words:
                if not is_tree:
                    _hang(word, None, NO_VALUE)
                elif root is not None:
                    _hang(word, root, "dep")
                else:
                    _hang(word, ROOT, "root")
                    root = word
    return rest


def glue(layout: SentenceLayout, other: SentenceLayout) -> None:
    """Adds the next sentence to this one; its root depends on this root as `parataxis`, a guess."""
    if layout.text() and _has_text(other) and not _has_text(layout):
        layout.comments.append("# text = ")
    root = next((word for word in layout.words if word.head == ROOT), None)
    if root is not None:
        for word in other.words:
            if word.head == ROOT:
                _hang(word, root, "parataxis")
    for empty in other.empties:
        empty.after = empty.after or layout.words[-1]
    layout.words += other.words
    layout.ranges += other.ranges
    layout.empties += other.empties
    layout.deps |= other.deps
    comments = layout.comments
    if not any(_SENT_ID.fullmatch(comment) for comment in comments):
        comments[:0] = [comment for comment in other.comments if _SENT_ID.fullmatch(comment)]
    # the second's own name and text go; translations and notes are joined
    for comment in other.comments:
        if _OWN.fullmatch(comment) or comment in comments:
            continue
        key, sign, value = comment.partition("=")
        keys = [each.partition("=")[0].strip() for each in comments]
        if sign and key.strip() in keys and comment != FLAG:
            comments[keys.index(key.strip())] += " " + value.strip()
        else:
            comments.append(comment)
    layout.set_text(layout.text())


def _has_text(layout: SentenceLayout) -> bool:
    """Whether a sentence has the comment `# text`."""
    return any(TEXT.match(comment) for comment in layout.comments)


def _hang(word: Word, head: Word | int | None, label: str) -> None:
    """Gives a word a head that nobody has confirmed."""
    word.head = head
    word.columns[DEPREL] = label
    word.columns[MISC] = without(word.columns[MISC], (HEAD_BY, LABEL_BY))
