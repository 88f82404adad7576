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
from dynet_vdgi.data.conllu_faults import has_stray_space
from dynet_vdgi.data.guesses import HEAD_BY, LABEL_BY, without

_FORM, _LEMMA, _DEPREL, _MISC = 1, 2, 7, 9
LONGEST_FORM = 200
MOST_PARTS = 20

_SPACES = ("SpaceAfter=", "SpacesAfter=", "SpacesBefore=", "SpacesInToken=")
_OFFSETS = ("TokenRange=", "start_char=", "end_char=")
_RANGE = re.compile(r"TokenRange=(\d+):(\d+)")
_CHARACTERS = re.compile(r"start_char=(\d+)\|end_char=(\d+)")
_SENT_ID = re.compile(r"(#\s*sent_?id\s*[=:]?\s*)(\S.*?)\s*")
_OWN = re.compile(r"#\s*(sent_?id|text|newdoc|newpar)\b.*")
"""Comments that are not joined when sentences are."""

TOKEN_CHANGES = ("split", "join", "range", "space", "cut", "glue")


def change(layout: SentenceLayout, what: str, place: int, value: Any, new_wids: Iterable[int]) -> None:
    """Makes a change of one sentence but `cut`; the comment `# text` follows the tokens."""
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


def form_of(value: Any) -> str:
    """A form that a person has typed. Raises: ChangeError, CoNLL-U cannot hold it."""
    if type(value) is not str or not value or has_stray_space(value) or len(value) > LONGEST_FORM:
        raise ChangeError(
            f"{str(value)[:20]!r} is no form (up to {LONGEST_FORM} letters, single blanks inside)"
        )
    if NO_TEXT.search(value):
        raise ChangeError(f"{value[:20]!r} is no form: it has a control character")
    return value


def token_form_of(value: Any) -> str:
    """The form of a multiword token. Raises: ChangeError, it is no form, or UD forbids its white space."""
    form = form_of(value)
    if any(letter.isspace() for letter in form):
        raise ChangeError(
            f"{form[:20]!r} has a blank: UD has none in a multiword token, so make it several tokens"
        )
    return form


# ------------------------------------------------------------------------------------------- words
def split(layout: SentenceLayout, word: Word, value: Any, new_wids: Iterable[int]) -> None:
    """Splits a word after so many letters, or into forms; forms outside a multiword token become one."""
    is_letters = type(value) is int
    if is_letters:
        if not 0 < value < len(word.form):
            raise ChangeError(f"{word.form[:20]!r} cannot be split after {value} letters")
        halves = word.form[:value], word.form[value:]
        forms = [form_of(half.strip()) for half in halves]
    elif isinstance(value, list) and 2 <= len(value) <= MOST_PARTS:
        forms = [form_of(form) for form in value]
    else:
        raise ChangeError("a word is split after a number of letters, or into forms such as de, le")
    misc = word.columns[_MISC]
    own = without(misc, (*COLUMN_MARKS, *_SPACES, *_OFFSETS))
    text_parts = only(misc, (*_SPACES, *_OFFSETS))
    parts = [word]
    for wid in list(new_wids)[: len(forms) - 1]:
        parts.append(Word(wid, ["", *[NOTHING] * 9], word if word.head is not None else None))
        if word.head is not None:
            parts[-1].columns[_DEPREL] = "dep"
    old_form = word.form
    word.columns[_LEMMA] = NOTHING
    for part, form in zip(parts, forms):
        part.columns[_FORM] = form
    place = layout.words.index(word)
    span = layout.range_of(word)
    layout.words[place + 1 : place + 1] = parts[1:]
    word.columns[_MISC] = own
    for empty in layout.empties:
        if empty.after is word:
            empty.after = parts[-1]
    if span is not None:
        span.last = parts[-1] if span.last is word else span.last
    elif is_letters:
        first, second = _split_offsets(
            text_parts, len(forms[0]), len(old_form) - len(forms[1]), len(old_form)
        )
        word.columns[_MISC] = with_space(_joined_misc(own, first), len("".join(forms)) < len(old_form))
        parts[1].columns[_MISC] = second
    else:
        form = token_form_of(old_form)
        layout.ranges.append(Range(word, parts[-1], ["", form, *[NOTHING] * 7, text_parts]))


def only(misc: str, prefixes: tuple[str, ...]) -> str:
    """Only the parts of MISC that begin so."""
    return "|".join([part for part in misc.split("|") if part.startswith(prefixes)]) or NOTHING


def _joined_misc(one: str, other: str) -> str:
    """The parts of both; of the second only those whose key the first has not."""
    parts = [part for part in one.split("|") if part != NOTHING]
    keys = {part.partition("=")[0] for part in parts}
    parts += [p for p in other.split("|") if p != NOTHING and p.partition("=")[0] not in keys]
    return "|".join(parts) or NOTHING


def _split_offsets(misc: str, end: int, begin: int, length: int) -> tuple[str, str]:
    """MISC of the parts of a word of this length, of which one ends and the other begins at a letter.

    Offsets stay true, and SpaceAfter and the like go to the second.
    """
    first, second = NOTHING, without(misc, _OFFSETS)
    for pattern, form in ((_RANGE, "TokenRange={}:{}"), (_CHARACTERS, "start_char={}|end_char={}")):
        found = pattern.search(misc)
        if found and int(found[2]) - int(found[1]) == length:
            start = int(found[1])
            first = _joined_misc(first, form.format(start, start + end))
            second = _joined_misc(second, form.format(start + begin, found[2]))
    return first, second


def join(layout: SentenceLayout, word: Word) -> None:
    """Joins a word with the next one; its head is the head of the one that is not below the other."""
    place = layout.words.index(word)
    if place + 1 == len(layout.words):
        raise ChangeError("there is no next word to join with")
    other = layout.words[place + 1]
    span, its = layout.range_of(word), layout.range_of(other)
    if span is not its:
        raise ChangeError("one of the words is in a multiword token: remove that first")
    one, two = word.columns, other.columns
    if span is not None and span.first is word and span.last is other:  # the token is one word now
        one[_FORM] = span.columns[_FORM]
        end = span.columns[_MISC]
        layout.ranges.remove(span)
        misc = _joined_misc(without(one[_MISC], _SPACES), end)
    else:
        blank = " " if span is None and has_space_after(one[_MISC]) else ""
        one[_FORM] = form_of(one[_FORM] + blank + two[_FORM])
        start, end = only(one[_MISC], _OFFSETS), only(two[_MISC], _OFFSETS)
        misc = _joined_misc(without(one[_MISC], (*_SPACES, *_OFFSETS)), only(two[_MISC], _SPACES))
        misc = _joined_misc(misc, _joined_offsets(start, end))
        if span is not None and span.last is other:
            span.last = word
    marks = one[_MISC]
    if word.head is other:
        word.head, one[_DEPREL], marks = other.head, two[_DEPREL], two[_MISC]
    kept = only(marks, (HEAD_BY, LABEL_BY))
    misc = _joined_misc(without(misc, MARKS), without(two[_MISC], (*MARKS, *_SPACES, *_OFFSETS)))
    one[_MISC] = _joined_misc(misc, kept)
    one[_LEMMA] = NOTHING
    for each in layout.words:
        if each.head is other:
            each.head = word
    for empty in layout.empties:
        if empty.after in (word, other):
            empty.after = word
    for node, pairs in layout.deps.items():
        layout.deps[node] = [(word if to is other else to, label) for to, label in pairs]
    if word in layout.deps:
        merged = [*layout.deps[word], *layout.deps.get(other, [])]
        layout.deps[word] = list(dict.fromkeys(pair for pair in merged if pair[0] is not word))
    layout.words.remove(other)


def _joined_offsets(one: str, other: str) -> str:
    joined = NOTHING
    for pattern, form in ((_RANGE, "TokenRange={}:{}"), (_CHARACTERS, "start_char={}|end_char={}")):
        first, last = pattern.search(one), pattern.search(other)
        if first and last:
            joined = _joined_misc(joined, form.format(first[1], last[2]))
    return joined


def set_range(layout: SentenceLayout, value: Any) -> None:
    """Makes the words of two places a multiword token of a form; "" as the form: makes it none."""
    is_sound = isinstance(value, list) and len(value) == 3 and [type(v) for v in value] == [int, int, str]
    if not is_sound or not 1 <= value[0] < value[1] <= len(layout.words):
        raise ChangeError("a multiword token is from one word to a later one, with its form: [3, 4, 'du']")
    first, last = layout.words[value[0] - 1], layout.words[value[1] - 1]
    covered = layout.words[value[0] - 1 : value[1]]
    spans = {id(span): span for word in covered if (span := layout.range_of(word))}
    (known,) = spans.values() if len(spans) == 1 else (None,)
    is_same = known is not None and (known.first, known.last) == (first, last)
    if not value[2]:
        if not is_same or known is None:
            raise ChangeError(f"there is no multiword token {value[0]}-{value[1]}")
        layout.ranges.remove(known)
        parts = only(known.columns[_MISC], (*_SPACES, *_OFFSETS))
        last.columns[_MISC] = _joined_misc(last.columns[_MISC], without(parts, _OFFSETS))
        return
    form = token_form_of(value[2])
    if is_same and known is not None:
        known.columns[_FORM] = form
        return
    if spans:
        raise ChangeError("a word can be in one multiword token only: remove the other first")
    parts = only(last.columns[_MISC], _SPACES)
    for word in covered:
        word.columns[_MISC] = without(word.columns[_MISC], _SPACES)
    layout.ranges.append(Range(first, last, ["", form, *[NOTHING] * 7, parts]))


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
    first, second = layout.words[:place], layout.words[place:]
    rest = SentenceLayout([], second)
    rest.ranges = [span for span in layout.ranges if span.first in second]
    rest.empties = [empty for empty in layout.empties if empty.after in second]
    layout.words = first
    layout.ranges = [span for span in layout.ranges if span not in rest.ranges]
    layout.empties = [empty for empty in layout.empties if empty not in rest.empties]
    nodes = {*second, *rest.empties}
    rest.deps = {node: layout.deps.pop(node) for node in list(layout.deps) if node in nodes}
    rest.copies = {node: layout.copies.pop(node) for node in list(layout.copies) if node in nodes}
    names = set(taken)
    for comment in layout.comments:
        if found := _SENT_ID.fullmatch(comment):
            name, k = found[2], 2
            while f"{name}-{k}" in names:
                k += 1
            rest.comments.append(f"{found[1]}{name}-{k}")
    if any(_is_text(comment) for comment in layout.comments):
        rest.comments.append("# text = ")
    for part in (layout, rest):
        part.set_text(part.text())
        _make_tree(part)
    return rest


def glue(layout: SentenceLayout, other: SentenceLayout) -> None:
    """Adds the next sentence to this one; its root depends on this root as `parataxis`, a guess."""
    if layout.text() and not any(_is_text(c) for c in layout.comments) and any(map(_is_text, other.comments)):
        layout.comments.append("# text = ")
    roots = [[word for word in each.words if word.head == ROOT] for each in (layout, other)]
    if roots[0] and roots[1]:
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
        if _OWN.fullmatch(comment) and not re.match(r"#\s*text_", comment):
            continue
        key, sign, value = comment.partition("=")
        same = [k for k, mine in enumerate(found) if sign and mine.partition("=")[0].strip() == key.strip()]
        if comment in found:
            continue
        if same and comment != FLAG:
            found[same[0]] += " " + value.strip()
        else:
            found.append(comment)
    return found


def _is_text(comment: str) -> bool:
    return re.match(r"#\s*text\s*=", comment) is not None


def _hang(word: Word, head: Word | int, label: str) -> None:
    """Gives a word a head that nobody has confirmed."""
    word.head = head
    word.columns[_DEPREL] = label
    word.columns[_MISC] = without(word.columns[_MISC], (HEAD_BY, LABEL_BY))


def _make_tree(layout: SentenceLayout) -> None:
    """Words whose head is not in the sentence hang from its root; if it has none, the first of them is it."""
    if any(word.head is None for word in layout.words):  # no tree
        for word in layout.words:
            if isinstance(word.head, Word) and word.head not in layout.words:
                _hang(word, ROOT, NOTHING)
                word.head = None
        return
    roots = [word for word in layout.words if word.head == ROOT]
    for word in layout.words:
        if isinstance(word.head, Word) and word.head not in layout.words:
            if roots:
                _hang(word, roots[0], "dep")
            else:
                _hang(word, ROOT, "root")
                roots.append(word)
