"""A person's changes to tokens: words are split and joined, multiword tokens made and removed,
spaces and forms set.

A new word has no UPOS, lemma or features, because nobody has given them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

from dynet_vdgi.conllu.faults import has_stray_space
from dynet_vdgi.conllu.guess_marks import CHANCES, HEAD_BY, LABEL_BY, without
from dynet_vdgi.page.text.joined_misc import LIKE_FORMS, joined_misc
from dynet_vdgi.page.text.sentence_layout import (
    DEPREL,
    FORM,
    LEMMA,
    MISC,
    Range,
    SentenceLayout,
    Word,
    has_space_after,
)
from dynet_vdgi.page.text.sentence_state import COLUMN_MARKS, MARKS, NO_VALUE, ChangeError
from dynet_vdgi.page.text.word_columns import NO_TEXT

LONGEST_FORM = 200

MOST_PARTS = 20

TOKEN_CHANGES = ("split", "join", "range", "space", "cut", "glue", "form")

_SPACES = ("SpaceAfter=", "SpacesAfter=", "SpacesBefore=", "SpacesInToken=")

_OF_FORM = tuple([f"{key}=" for key in LIKE_FORMS])

_OFFSETS = ("TokenRange=", "start_char=", "end_char=")

_JOINER = "\u200d"

_EXPRESSIONS = re.compile(r"[0-9]+(?::[^;|]+)?(?:;[0-9]+(?::[^;|]+)?)*")
"""Expressions of several words that a word is in, as PARSEME has them: a number, and the kind at
the first word."""


def misc_with_space(misc: str, is_there: bool) -> str:
    """MISC that says so.

    >>> misc_with_space("A=b|SpaceAfter=No", True), misc_with_space("_", False)
    ('A=b', 'SpaceAfter=No')
    """
    entries = [entry for entry in misc.split("|") if entry != NO_VALUE]
    parts = [entry for entry in entries if not entry.startswith(("SpaceAfter=", "SpacesAfter="))]
    if is_there:
        parts += [entry for entry in entries if entry.startswith("SpacesAfter=")]
    else:
        parts.append("SpaceAfter=No")
    return "|".join(parts) or NO_VALUE


def change(
    layout: SentenceLayout, what: str, place: int, value: Any, new_wids: Iterable[int]
) -> None:
    """Makes a change within a sentence; the comment `# text` follows the tokens. Raises:
    ChangeError."""
    before = layout.text()
    if what == "range":
        set_range(layout, value)
    elif what == "split":
        split(layout, layout.words[place - 1], value, new_wids)
    elif what == "join":
        join(layout, layout.words[place - 1])
    elif what == "form":
        layout.words[place - 1].columns[FORM] = form_of(value)
    else:  # whether a space follows a word, or the multiword token that ends with it
        if type(value) is not bool:
            raise ChangeError("a space follows a word (true) or not (false)")
        word = layout.words[place - 1]
        span = layout.range_of(word)
        if span is not None and span.last is not word:
            raise ChangeError("no space can follow a word inside a multiword token")
        columns = (span or word).columns
        columns[MISC] = misc_with_space(columns[MISC], value)
    if (after := layout.text()) != before:
        layout.set_text(after)


def form_of(value: Any, *, of_range: bool = False) -> str:
    """A form that a person has typed. Raises: ChangeError, CoNLL-U cannot hold it, or UD forbids
    it."""
    if type(value) is not str or not value or has_stray_space(value) or len(value) > LONGEST_FORM:
        expected = f"up to {LONGEST_FORM} letters, single blanks inside"
        raise ChangeError(f"{str(value)[:20]!r} is no form ({expected})")
    if NO_TEXT.search(value):
        raise ChangeError(f"{value[:20]!r} is no form: it has a control character")
    if of_range and any(letter.isspace() for letter in value):
        remedy = "UD has none in a multiword token, so make it several tokens"
        raise ChangeError(f"{value[:20]!r} has a blank: {remedy}")
    return value


def split(layout: SentenceLayout, word: Word, value: Any, new_wids: Iterable[int]) -> None:
    """Splits a word after so many letters, or into forms; forms outside a multiword token become
    one."""
    if type(value) is int:
        value = place_past_marks(word.form, value)
        if not 0 < value < len(word.form):
            raise ChangeError(f"{word.form[:20]!r} cannot be split after {value} letters")
        forms = [form_of(half.strip()) for half in (word.form[:value], word.form[value:])]
    elif isinstance(value, list) and 2 <= len(value) <= MOST_PARTS:
        forms = [form_of(form) for form in value]
    else:
        raise ChangeError("a word is split after a number of letters, or into forms such as de, le")
    old_form, misc, has_head = word.form, word.columns[MISC], word.head is not None
    misc_of_word = without(misc, (*COLUMN_MARKS, *_SPACES, *_OFFSETS))
    n_columns = len(word.columns)
    columns = [*[NO_VALUE] * 7, "dep" if has_head else NO_VALUE, *[NO_VALUE] * (n_columns - 8)]
    rest = [
        Word(wid, [*columns], word if has_head else None) for wid, _ in zip(new_wids, forms[1:])
    ]
    for part, form in zip((word, *rest), forms):
        part.columns[FORM] = form
    word.columns[LEMMA], word.columns[MISC] = NO_VALUE, misc_of_word
    span = layout.range_of(word)
    place = layout.words.index(word) + 1
    layout.words[place:place] = rest
    for empty in layout.empties:
        if empty.after is word:
            empty.after = rest[-1]
    if span is not None:
        span.last = rest[-1] if span.last is word else span.last
    elif type(value) is int:  # SpaceAfter and the like go to the second part
        word.columns[MISC] = misc_with_space(misc_of_word, len("".join(forms)) < len(old_form))
        rest[0].columns[MISC] = parts_of_misc(misc, _SPACES)
    else:
        form = form_of(old_form, of_range=True)
        of_text = parts_of_misc(misc, (*_SPACES, *_OFFSETS))
        layout.ranges.append(Range(word, rest[-1], _range_columns(form, of_text, n_columns)))


def place_past_marks(form: str, place: int) -> int:
    """The place, or one behind the marks that stand on the letter before it: no letter is cut from
    its marks.

    >>> place_past_marks("a\N{COMBINING ACUTE ACCENT}b", 1), place_past_marks("ab", 1)
    (2, 1)
    """
    while 0 < place < len(form):
        kind = unicodedata.category(form[place])
        is_mark = kind[0] == "M" or form[place] == _JOINER
        # one picture of several
        if not is_mark and not (kind == "So" and form[place - 1] == _JOINER):
            break
        place += 1
    return place


def _range_columns(form: str, misc: str, n_columns: int) -> list[str]:
    """The columns of a multiword token."""
    return ["", form, *[NO_VALUE] * 7, misc, *[NO_VALUE] * (n_columns - 10)]


def joined_extra_columns(one: Sequence[str], other: Sequence[str]) -> list[str]:
    """The columns after MISC of two words that become one: what either has, or both values.

    PARSEME's numbers of expressions have semicolons between them, other values bars; `*` is its
    word for none.

    >>> joined_extra_columns(["*", "1:VID", "x"], ["2", "1", "y"])
    ['2', '1:VID', 'x|y']
    """
    return [_joined_value(ours, theirs) for ours, theirs in zip(one, other)]


def _joined_value(ours: str, theirs: str) -> str:
    if theirs in (ours, NO_VALUE, "*") or ours in (NO_VALUE, "*"):
        return theirs if ours == NO_VALUE or (ours == "*" and theirs != NO_VALUE) else ours
    if not (_EXPRESSIONS.fullmatch(ours) and _EXPRESSIONS.fullmatch(theirs)):
        return f"{ours}|{theirs}"
    expressions: dict[str, str] = {}
    for part in f"{ours};{theirs}".split(";"):
        number = part.partition(":")[0]
        expressions[number] = max(expressions.get(number, ""), part, key=len)
    return ";".join(expressions.values())


def parts_of_misc(misc: str, prefixes: tuple[str, ...]) -> str:
    """Only the parts of MISC that begin so."""
    return "|".join([part for part in misc.split("|") if part.startswith(prefixes)]) or NO_VALUE


def join(layout: SentenceLayout, word: Word) -> None:
    """Joins a word with the next one;
    its head is the head of the one that is not below the other."""
    place = layout.words.index(word)
    if place + 1 == len(layout.words):
        raise ChangeError("there is no next word to join with")
    other = layout.words[place + 1]
    span = layout.range_of(word)
    if span is not layout.range_of(other):
        raise ChangeError("one of the words is in a multiword token: remove that first")
    one, two = word.columns, other.columns
    if span is not None and span.first is word and span.last is other:  # the token is one word now
        blank, of_text = "", span.columns[MISC]
        one[FORM] = span.columns[FORM]
        layout.ranges.remove(span)
    else:
        blank = " " if span is None and has_space_after(one[MISC]) else ""
        of_text = parts_of_misc(two[MISC], _SPACES)
        one[FORM] = form_of(one[FORM] + blank + two[FORM])
        if span is not None and span.last is other:
            span.last = word
    if span is not None and span not in layout.ranges:
        one[10:] = joined_extra_columns(one[10:], span.columns[10:])
    one[10:] = joined_extra_columns(one[10:], two[10:])
    marks = one[MISC]
    if word.head is other:
        word.head, one[DEPREL], marks = other.head, two[DEPREL], two[MISC]
    gone = (*MARKS, *CHANCES, *_SPACES, *_OFFSETS)
    first, second = (without(columns[MISC], gone) for columns in (one, two))
    of_token = tuple([key for key in _OF_FORM if parts_of_misc(of_text, (key,)) != NO_VALUE])
    misc = joined_misc(without(joined_misc(first, second, blank), of_token), of_text)
    one[MISC] = joined_misc(misc, parts_of_misc(marks, (HEAD_BY, LABEL_BY, *CHANCES)))
    one[LEMMA] = NO_VALUE
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
        raise ChangeError(
            "a multiword token is from one word to a later one, with its form: [3, 4, 'du']"
        )
    covered = layout.words[value[0] - 1 : value[1]]
    spans = {id(span): span for word in covered if (span := layout.range_of(word))}
    same = next(iter(spans.values())) if len(spans) == 1 else None
    if same is not None and (same.first, same.last) != (covered[0], covered[-1]):
        same = None
    if not value[2]:
        if same is None:
            raise ChangeError(f"there is no multiword token {value[0]}-{value[1]}")
        layout.ranges.remove(same)
        first, last, of_token = covered[0].columns, covered[-1].columns, same.columns[MISC]
        first[MISC] = joined_misc(first[MISC], without(of_token, (*_OF_FORM, *_SPACES, *_OFFSETS)))
        last[MISC] = joined_misc(last[MISC], parts_of_misc(of_token, _SPACES))
        last[10:] = joined_extra_columns(last[10:], same.columns[10:])
        return
    form = form_of(value[2], of_range=True)
    if same is not None:
        same.columns[FORM] = form
        return
    if spans:
        raise ChangeError("a word can be in one multiword token only: remove the other first")
    spaces = parts_of_misc(covered[-1].columns[MISC], _SPACES)
    for word in covered:
        word.columns[MISC] = without(word.columns[MISC], _SPACES)
    columns = _range_columns(form, spaces, len(covered[0].columns))
    layout.ranges.append(Range(covered[0], covered[-1], columns))
