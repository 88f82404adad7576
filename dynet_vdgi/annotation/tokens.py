"""A person's changes to tokens and sentences: split, join, multiword tokens, spaces, cut, glue.

Each changes a `SentenceLayout`. A new word has no UPOS, lemma or features, because nobody has given them. A
word that loses its head gets another one as a guess, so that a tree stays a tree.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from dynet_vdgi.annotation.changes import NO_TEXT
from dynet_vdgi.annotation.marked import COLUMN_MARKS, FLAG, MARKS, ChangeError
from dynet_vdgi.annotation.sentence_layout import (
    NOTHING,
    ROOT,
    Range,
    SentenceLayout,
    Word,
    has_space_after,
    with_space,
)
from dynet_vdgi.data.conllu_blocks import has_stray_space
from dynet_vdgi.data.conllu_writing import HEAD_BY, LABEL_BY, without

_FORM, _LEMMA, _DEPREL, _MISC = 1, 2, 7, 9
LONGEST_FORM = 200
MOST_PARTS = 20

TOKEN_CHANGES = ("split", "join", "range", "space", "cut", "glue")

_SPACES = ("SpaceAfter=", "SpacesAfter=", "SpacesBefore=", "SpacesInToken=")
_OFFSETS = ("TokenRange=", "start_char=", "end_char=")
_OFFSET_FORMS = (
    (re.compile(r"TokenRange=(\d+):(\d+)"), "TokenRange={}:{}"),
    (re.compile(r"start_char=(\d+)\|end_char=(\d+)"), "start_char={}|end_char={}"),
)
_SENT_ID = re.compile(r"(#\s*sent_?id\s*[=:]?\s*)(\S.*?)\s*")
_IS_TEXT = re.compile(r"#\s*text\s*=.*")
_OWN = re.compile(r"#\s*(sent_?id|text|newdoc|newpar)\b.*")
"""Comments that are not joined when sentences are; translations, `text_en`, are."""


def change(layout: SentenceLayout, what: str, place: int, value: Any, new_wids: Iterable[int]) -> None:
    """Makes a change within a sentence; the comment `# text` follows the tokens. Raises: ChangeError."""
    before = layout.text()
    if what == "range":
        set_range(layout, value)
    elif what == "split":
        split(layout, layout.words[place - 1], value, new_wids)
    elif what == "join":
        join(layout, layout.words[place - 1])
    else:
        set_space(layout, layout.words[place - 1], value)
    if (after := layout.text()) != before:
        layout.set_text(after)


def form_of(value: Any, *, of_range: bool = False) -> str:
    """A form that a person has typed. Raises: ChangeError, CoNLL-U cannot hold it, or UD forbids it."""
    if type(value) is not str or not value or has_stray_space(value) or len(value) > LONGEST_FORM:
        expected = f"up to {LONGEST_FORM} letters, single blanks inside"
        raise ChangeError(f"{str(value)[:20]!r} is no form ({expected})")
    if NO_TEXT.search(value):
        raise ChangeError(f"{value[:20]!r} is no form: it has a control character")
    if of_range and any(map(str.isspace, value)):
        remedy = "UD has none in a multiword token, so make it several tokens"
        raise ChangeError(f"{value[:20]!r} has a blank: {remedy}")
    return value


# ------------------------------------------------------------------------------------------- words
def split(layout: SentenceLayout, word: Word, value: Any, new_wids: Iterable[int]) -> None:
    """Splits a word after so many letters, or into forms; forms outside a multiword token become one."""
    if type(value) is int:
        if not 0 < value < len(word.form):
            raise ChangeError(f"{word.form[:20]!r} cannot be split after {value} letters")
        forms = [form_of(half.strip()) for half in (word.form[:value], word.form[value:])]
    elif isinstance(value, list) and 2 <= len(value) <= MOST_PARTS:
        forms = [form_of(form) for form in value]
    else:
        raise ChangeError("a word is split after a number of letters, or into forms such as de, le")
    old_form, misc, has_head = word.form, word.columns[_MISC], word.head is not None
    own = without(misc, (*COLUMN_MARKS, *_SPACES, *_OFFSETS))
    of_text = only(misc, (*_SPACES, *_OFFSETS))
    columns = ["", *[NOTHING] * 6, "dep" if has_head else NOTHING, *[NOTHING] * 2]
    rest = [Word(wid, [*columns], word if has_head else None) for wid, _ in zip(new_wids, forms[1:])]
    for part, form in zip((word, *rest), forms):
        part.columns[_FORM] = form
    word.columns[_LEMMA], word.columns[_MISC] = NOTHING, own
    span = layout.range_of(word)
    place = layout.words.index(word) + 1
    layout.words[place:place] = rest
    for empty in layout.empties:
        if empty.after is word:
            empty.after = rest[-1]
    if span is not None:
        span.last = rest[-1] if span.last is word else span.last
    elif type(value) is int:  # offsets stay true, and SpaceAfter and the like go to the second part
        first, second, length = NOTHING, without(of_text, _OFFSETS), len(old_form)
        for pattern, offsets in _OFFSET_FORMS:
            found = pattern.search(of_text)
            if found and int(found[2]) - int(found[1]) == length:
                start, end = int(found[1]), int(found[2])
                first = _joined(first, offsets.format(start, start + len(forms[0])))
                second = _joined(second, offsets.format(end - len(forms[1]), end))
        word.columns[_MISC] = with_space(_joined(own, first), len("".join(forms)) < length)
        rest[0].columns[_MISC] = second
    else:
        form = form_of(old_form, of_range=True)
        layout.ranges.append(Range(word, rest[-1], ["", form, *[NOTHING] * 7, of_text]))


def only(misc: str, prefixes: tuple[str, ...]) -> str:
    """Only the parts of MISC that begin so."""
    return "|".join([part for part in misc.split("|") if part.startswith(prefixes)]) or NOTHING


def _joined(one: str, other: str) -> str:
    """The parts of both; of the second only those whose key the first has not."""
    parts = [part for part in one.split("|") if part != NOTHING]
    keys = {part.partition("=")[0] for part in parts}
    parts += [p for p in other.split("|") if p != NOTHING and p.partition("=")[0] not in keys]
    return "|".join(parts) or NOTHING


def join(layout: SentenceLayout, word: Word) -> None:
    """Joins a word with the next one; its head is the head of the one that is not below the other."""
    place = layout.words.index(word)
    if place + 1 == len(layout.words):
        raise ChangeError("there is no next word to join with")
    other = layout.words[place + 1]
    span = layout.range_of(word)
    if span is not layout.range_of(other):
        raise ChangeError("one of the words is in a multiword token: remove that first")
    one, two = word.columns, other.columns
    if span is not None and span.first is word and span.last is other:  # the token is one word now
        one[_FORM] = span.columns[_FORM]
        layout.ranges.remove(span)
        misc = _joined(without(one[_MISC], _SPACES), span.columns[_MISC])
    else:
        blank = " " if span is None and has_space_after(one[_MISC]) else ""
        one[_FORM] = form_of(one[_FORM] + blank + two[_FORM])
        misc = _joined(without(one[_MISC], (*_SPACES, *_OFFSETS)), only(two[_MISC], _SPACES))
        for pattern, offsets in _OFFSET_FORMS:
            first, last = pattern.search(one[_MISC]), pattern.search(two[_MISC])
            if first and last:
                misc = _joined(misc, offsets.format(first[1], last[2]))
        if span is not None and span.last is other:
            span.last = word
    marks = one[_MISC]
    if word.head is other:
        word.head, one[_DEPREL], marks = other.head, two[_DEPREL], two[_MISC]
    misc = _joined(without(misc, MARKS), without(two[_MISC], (*MARKS, *_SPACES, *_OFFSETS)))
    one[_MISC] = _joined(misc, only(marks, (HEAD_BY, LABEL_BY)))
    one[_LEMMA] = NOTHING
    layout.words.remove(other)
    for each in layout.words:
        each.head = word if each.head is other else each.head
    for empty in layout.empties:
        empty.after = word if empty.after is other else empty.after
    for node, pairs in layout.deps.items():
        layout.deps[node] = [(word if to is other else to, label) for to, label in pairs]
    if word in layout.deps:
        both = [*layout.deps[word], *layout.deps.get(other, [])]
        layout.deps[word] = list(dict.fromkeys(pair for pair in both if pair[0] is not word))


def set_range(layout: SentenceLayout, value: Any) -> None:
    """Makes the words of two places a multiword token of a form; "" as the form: makes it none."""
    is_sound = isinstance(value, list) and [type(v) for v in value] == [int, int, str]
    if not is_sound or not 1 <= value[0] < value[1] <= len(layout.words):
        raise ChangeError("a multiword token is from one word to a later one, with its form: [3, 4, 'du']")
    covered = layout.words[value[0] - 1 : value[1]]
    spans = {id(span): span for word in covered if (span := layout.range_of(word))}
    same = [s for s in spans.values() if len(spans) == 1 and (s.first, s.last) == (covered[0], covered[-1])]
    if not value[2]:
        if not same:
            raise ChangeError(f"there is no multiword token {value[0]}-{value[1]}")
        layout.ranges.remove(same[0])
        last = covered[-1].columns
        last[_MISC] = _joined(last[_MISC], only(same[0].columns[_MISC], _SPACES))
        return
    form = form_of(value[2], of_range=True)
    if same:
        same[0].columns[_FORM] = form
        return
    if spans:
        raise ChangeError("a word can be in one multiword token only: remove the other first")
    spaces = only(covered[-1].columns[_MISC], _SPACES)
    for word in covered:
        word.columns[_MISC] = without(word.columns[_MISC], _SPACES)
    layout.ranges.append(Range(covered[0], covered[-1], ["", form, *[NOTHING] * 7, spaces]))


def set_space(layout: SentenceLayout, word: Word, value: Any) -> None:
    """Says whether a space follows a word, or the multiword token that ends with it."""
    if type(value) is not bool:
        raise ChangeError("a space follows a word (true) or not (false)")
    span = layout.range_of(word)
    if span is not None and span.last is not word:
        raise ChangeError("no space can follow a word inside a multiword token")
    columns = (span or word).columns
    columns[_MISC] = with_space(columns[_MISC], value)


# ------------------------------------------------------------------------------------------- sentences
def cut(layout: SentenceLayout, word: Word, taken: Iterable[str]) -> SentenceLayout:
    """Cuts a sentence before a word; returns the second part, whose sent_id is none of those taken."""
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
    rest.copies = {node: layout.copies.pop(node) for node in nodes if node in layout.copies}
    names = set(taken)
    for comment in layout.comments:
        if found := _SENT_ID.fullmatch(comment):
            k = 2
            while f"{found[2]}-{k}" in names:
                k += 1
            rest.comments.append(f"{found[1]}{found[2]}-{k}")
    if any(map(_IS_TEXT.match, layout.comments)):
        rest.comments.append("# text = ")
    for part in (layout, rest):
        part.set_text(part.text())
        _make_tree(part)
    return rest


def glue(layout: SentenceLayout, other: SentenceLayout) -> None:
    """Adds the next sentence to this one; its root depends on this root as `parataxis`, a guess."""
    has_text, other_has = (any(map(_IS_TEXT.match, each.comments)) for each in (layout, other))
    if layout.text() and other_has and not has_text:
        layout.comments.append("# text = ")
    roots = [[word for word in each.words if word.head == ROOT] for each in (layout, other)]
    if roots[0]:
        for word in roots[1]:
            _hang(word, roots[0][0], "parataxis")
    for empty in other.empties:
        empty.after = empty.after or layout.words[-1]
    layout.words += other.words
    layout.ranges += other.ranges
    layout.empties += other.empties
    layout.deps |= other.deps
    layout.copies |= other.copies
    layout.comments = _glued_comments(layout.comments, other.comments)
    layout.set_text(layout.text())


def _glued_comments(one: Sequence[str], other: Sequence[str]) -> list[str]:
    """The comments of both; translations and notes are joined, the second's own name and text go."""
    found = list(one)
    for comment in other:
        if _OWN.fullmatch(comment) or comment in found:
            continue
        key, sign, value = comment.partition("=")
        same = [k for k, mine in enumerate(found) if sign and mine.partition("=")[0].strip() == key.strip()]
        if same and comment != FLAG:
            found[same[0]] += " " + value.strip()
        else:
            found.append(comment)
    return found


def _hang(word: Word, head: Word | int | None, label: str) -> None:
    """Gives a word a head that nobody has confirmed."""
    word.head = head
    word.columns[_DEPREL] = label
    word.columns[_MISC] = without(word.columns[_MISC], (HEAD_BY, LABEL_BY))


def _make_tree(layout: SentenceLayout) -> None:
    """Words whose head is not in the sentence hang from its root; if it has none, the first of them is it."""
    is_tree = all(word.head is not None for word in layout.words)
    root = next((word for word in layout.words if word.head == ROOT), None)
    for word in layout.words:
        if not isinstance(word.head, Word) or word.head in layout.words:
            continue
        if not is_tree:
            _hang(word, None, NOTHING)
        elif root is not None:
            _hang(word, root, "dep")
        else:
            _hang(word, ROOT, "root")
            root = word
