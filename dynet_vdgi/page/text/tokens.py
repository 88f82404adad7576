"""A person's changes to tokens and sentences: split, join, multiword tokens, spaces, cut, glue.

Each changes a `SentenceLayout`, in which what refers to a word's place (HEAD, DEPS, multiword tokens, empty
nodes) refers to the word itself; `block` numbers everything again. A new word has no UPOS, lemma or features,
because nobody has given them. A word that loses its head gets another one as a guess.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from dynet_vdgi.conllu.faults import has_stray_space
from dynet_vdgi.conllu.guess_marks import CHANCES, HEAD_BY, LABEL_BY, without
from dynet_vdgi.page.text.changes import NO_TEXT
from dynet_vdgi.page.text.joined_misc import LIKE_FORMS, joined
from dynet_vdgi.page.text.marked import COLUMN_MARKS, FLAG, MARKS, NOTHING, ChangeError

_ID, _FORM, _LEMMA, _HEAD, _DEPREL, _DEPS, _MISC = 0, 1, 2, 6, 7, 8, 9

ROOT = 0

LONGEST_FORM = 200

MOST_PARTS = 20

TOKEN_CHANGES = ("split", "join", "range", "space", "cut", "glue", "form")

_SPACES = ("SpaceAfter=", "SpacesAfter=", "SpacesBefore=", "SpacesInToken=")

_OF_FORM = tuple([f"{key}=" for key in LIKE_FORMS])

_OFFSETS = ("TokenRange=", "start_char=", "end_char=")

_JOINER = "\u200d"

_EXPRESSIONS = re.compile(r"[0-9]+(?::[^;|]+)?(?:;[0-9]+(?::[^;|]+)?)*")
"""Expressions of several words that a word is in, as PARSEME has them: a number, and the kind at the first word."""

_SENT_ID = re.compile(r"(#\s*sent_?id\s*[=:]?\s*)(\S.*?)\s*")

_TEXT = re.compile(r"#\s*text\s*=\s?(.*)")

_BOTH = re.compile(r"#\s*(speakers?|speaker_\w+|addressee|sound_url|media_url)\s*[=:].*")
"""Comments that are true of both parts of a sentence that is cut: who speaks, and the recording."""

_OWN = re.compile(r"#\s*(sent_?id|text|newdoc|newpar|global\.columns)\b.*")
"""Comments that are not joined when sentences are; translations, `text_en`, are."""


@dataclass(eq=False)
class Word:
    """A syntactic word; `head` is a word, ROOT, or None for none."""

    wid: int
    columns: list[str]
    head: Word | int | None = None

    @property
    def form(self) -> str:
        return self.columns[_FORM]


@dataclass(eq=False)
class Range:
    """A multiword token."""

    first: Word
    last: Word
    columns: list[str]


@dataclass(eq=False)
class Empty:
    """An empty node after a word, or before all words."""

    after: Word | None
    columns: list[str]


Node = Word | Empty | int
"""What DEPS can refer to; ROOT is an int."""


@dataclass(eq=False)
class SentenceLayout:
    """A sentence: its comments, words, multiword tokens and empty nodes."""

    comments: list[str]
    words: list[Word]
    ranges: list[Range] = field(default_factory=list)
    empties: list[Empty] = field(default_factory=list)
    deps: dict[Word | Empty, list[tuple[Node, str]]] = field(default_factory=dict)

    @classmethod
    def of(cls, block: str, wids: Sequence[int]) -> SentenceLayout:
        """The layout of the sound block of a sentence whose words have these numbers."""
        lines = block.rstrip("\n").split("\n")
        layout = cls([line for line in lines if line.startswith("#")], [])
        nodes: dict[str, Node] = {"0": ROOT}
        numbers, spans = iter(wids), []
        for line in lines[len(layout.comments) :]:
            columns = line.split("\t")
            if "-" in columns[_ID]:
                spans.append(columns)
            elif "." in columns[_ID]:
                nodes[columns[_ID]] = empty = Empty(layout.words[-1] if layout.words else None, columns)
                layout.empties.append(empty)
            else:
                nodes[columns[_ID]] = word = Word(next(numbers), columns)
                layout.words.append(word)
        for columns in spans:
            first, last = (layout.words[int(place) - 1] for place in columns[_ID].split("-"))
            layout.ranges.append(Range(first, last, columns))
        for word in layout.words:
            head = nodes.get(word.columns[_HEAD])
            word.head = None if isinstance(head, Empty) else head
        its: list[Word | Empty] = [*layout.words, *layout.empties]
        for node in its:
            parts = [part.partition(":") for part in node.columns[_DEPS].split("|")]
            if all(number in nodes for number, _, _ in parts):  # otherwise it is no list of heads
                layout.deps[node] = [(nodes[number], label) for number, _, label in parts]
        return layout

    # --------------------------------------------------------------------------------------- writing
    def block(self) -> str:
        """The lines of the sentence, numbered, and an empty line."""
        names: dict[Node, str] = {ROOT: "0", **{word: str(k) for k, word in enumerate(self.words, 1)}}
        after: dict[Word | None, list[Empty]] = {}
        for empty in self.empties:
            after.setdefault(empty.after, []).append(empty)
            names[empty] = f"{names[empty.after or ROOT]}.{len(after[empty.after])}"
        starts = {span.first: span for span in self.ranges}
        found = [*self.comments, *(self._line(empty, names) for empty in after.get(None, ()))]
        for word in self.words:
            if word in starts:
                ends = f"{names[word]}-{names[starts[word].last]}"
                found.append("\t".join([ends, *starts[word].columns[1:]]))
            word.columns[_HEAD] = NOTHING if word.head is None else names.get(word.head, NOTHING)
            found += [self._line(node, names) for node in (word, *after.get(word, ()))]
        return "\n".join(found) + "\n\n"

    def _line(self, node: Word | Empty, names: dict[Node, str]) -> str:
        columns = [names[node], *node.columns[1:]]
        if node in self.deps:
            known = [(names[to], label) for to, label in self.deps[node] if to in names]
            known.sort(key=lambda pair: ([int(n) for n in pair[0].split(".")], pair[1]))
            columns[_DEPS] = "|".join(f"{number}:{label}" for number, label in known) or NOTHING
        return "\t".join(columns)

    # --------------------------------------------------------------------------------------- the text
    def range_of(self, word: Word) -> Range | None:
        """The multiword token that a word is in."""
        place = self.words.index
        inside = (s for s in self.ranges if place(s.first) <= place(word) <= place(s.last))
        return next(inside, None)

    def tokens(self) -> Iterator[Word | Range]:
        """Words and multiword tokens as they stand in the text."""
        starts, current = {span.first: span for span in self.ranges}, None
        for word in self.words:
            if word in starts:
                yield (current := starts[word])
            elif current is None:
                yield word
            if current is not None and current.last is word:
                current = None

    def text(self) -> str:
        """The text that the tokens make up: forms, with a blank after each that has no SpaceAfter=No."""
        pieces = []
        for token in self.tokens():
            pieces.append(token.columns[_FORM] + (" " if has_space_after(token.columns[_MISC]) else ""))
        return "".join(pieces).rstrip(" ")

    def set_text(self, text: str) -> None:
        """Replaces the comment `# text`, if there is one."""
        self.comments = [f"# text = {text}" if _TEXT.fullmatch(c) else c for c in self.comments]


def has_space_after(misc: str) -> bool:
    """Whether a token is followed by a space in the text."""
    return "SpaceAfter=No" not in misc.split("|")


def with_space(misc: str, is_there: bool) -> str:
    """MISC that says so.

    >>> with_space("A=b|SpaceAfter=No", True), with_space("_", False)
    ('A=b', 'SpaceAfter=No')
    """
    parts = [p for p in misc.split("|") if p != NOTHING and not p.startswith(("SpaceAfter=", "SpacesAfter="))]
    kept = [p for p in misc.split("|") if p.startswith("SpacesAfter=")] if is_there else ["SpaceAfter=No"]
    return "|".join([*parts, *kept]) or NOTHING


def change(layout: SentenceLayout, what: str, place: int, value: Any, new_wids: Iterable[int]) -> None:
    """Makes a change within a sentence; the comment `# text` follows the tokens. Raises: ChangeError."""
    before = layout.text()
    if what == "range":
        set_range(layout, value)
    elif what == "split":
        split(layout, layout.words[place - 1], value, new_wids)
    elif what == "join":
        join(layout, layout.words[place - 1])
    elif what == "form":
        layout.words[place - 1].columns[_FORM] = form_of(value)
    else:  # whether a space follows a word, or the multiword token that ends with it
        if type(value) is not bool:
            raise ChangeError("a space follows a word (true) or not (false)")
        word = layout.words[place - 1]
        span = layout.range_of(word)
        if span is not None and span.last is not word:
            raise ChangeError("no space can follow a word inside a multiword token")
        columns = (span or word).columns
        columns[_MISC] = with_space(columns[_MISC], value)
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


def split(layout: SentenceLayout, word: Word, value: Any, new_wids: Iterable[int]) -> None:
    """Splits a word after so many letters, or into forms; forms outside a multiword token become one."""
    if type(value) is int:
        value = past_marks(word.form, value)
        if not 0 < value < len(word.form):
            raise ChangeError(f"{word.form[:20]!r} cannot be split after {value} letters")
        forms = [form_of(half.strip()) for half in (word.form[:value], word.form[value:])]
    elif isinstance(value, list) and 2 <= len(value) <= MOST_PARTS:
        forms = [form_of(form) for form in value]
    else:
        raise ChangeError("a word is split after a number of letters, or into forms such as de, le")
    old_form, misc, has_head = word.form, word.columns[_MISC], word.head is not None
    own = without(misc, (*COLUMN_MARKS, *_SPACES, *_OFFSETS))
    n_columns = len(word.columns)
    columns = [*[NOTHING] * 7, "dep" if has_head else NOTHING, *[NOTHING] * (n_columns - 8)]
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
    elif type(value) is int:  # SpaceAfter and the like go to the second part
        word.columns[_MISC] = with_space(own, len("".join(forms)) < len(old_form))
        rest[0].columns[_MISC] = only(misc, _SPACES)
    else:
        form = form_of(old_form, of_range=True)
        of_text = only(misc, (*_SPACES, *_OFFSETS))
        layout.ranges.append(Range(word, rest[-1], _of_range(form, of_text, n_columns)))


def past_marks(form: str, place: int) -> int:
    """The place, or one behind the marks that stand on the letter before it: no letter is cut from its marks.

    >>> past_marks("a\N{COMBINING ACUTE ACCENT}b", 1), past_marks("ab", 1)
    (2, 1)
    """
    while 0 < place < len(form):
        kind = unicodedata.category(form[place])
        is_mark = kind[0] == "M" or form[place] == _JOINER
        if not is_mark and not (kind == "So" and form[place - 1] == _JOINER):  # one picture of several
            break
        place += 1
    return place


def _of_range(form: str, misc: str, n_columns: int) -> list[str]:
    """The columns of a multiword token."""
    return ["", form, *[NOTHING] * 7, misc, *[NOTHING] * (n_columns - 10)]


def joined_extra(one: Sequence[str], other: Sequence[str]) -> list[str]:
    """The columns after MISC of two words that become one: what either has, or both values.

    PARSEME's numbers of expressions have semicolons between them, other values bars; `*` is its word for none.

    >>> joined_extra(["*", "1:VID", "x"], ["2", "1", "y"])
    ['2', '1:VID', 'x|y']
    """
    return [_joined_value(mine, its) for mine, its in zip(one, other)]


def _joined_value(mine: str, its: str) -> str:
    if its in (mine, NOTHING, "*") or mine in (NOTHING, "*"):
        return its if mine == NOTHING or (mine == "*" and its != NOTHING) else mine
    if not (_EXPRESSIONS.fullmatch(mine) and _EXPRESSIONS.fullmatch(its)):
        return f"{mine}|{its}"
    found: dict[str, str] = {}
    for part in f"{mine};{its}".split(";"):
        number = part.partition(":")[0]
        found[number] = max(found.get(number, ""), part, key=len)
    return ";".join(found.values())


def only(misc: str, prefixes: tuple[str, ...]) -> str:
    """Only the parts of MISC that begin so."""
    return "|".join([part for part in misc.split("|") if part.startswith(prefixes)]) or NOTHING


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
        blank, of_text = "", span.columns[_MISC]
        one[_FORM] = span.columns[_FORM]
        layout.ranges.remove(span)
    else:
        blank = " " if span is None and has_space_after(one[_MISC]) else ""
        of_text = only(two[_MISC], _SPACES)
        one[_FORM] = form_of(one[_FORM] + blank + two[_FORM])
        if span is not None and span.last is other:
            span.last = word
    if span is not None and span not in layout.ranges:
        one[10:] = joined_extra(one[10:], span.columns[10:])
    one[10:] = joined_extra(one[10:], two[10:])
    marks = one[_MISC]
    if word.head is other:
        word.head, one[_DEPREL], marks = other.head, two[_DEPREL], two[_MISC]
    gone = (*MARKS, *CHANCES, *_SPACES, *_OFFSETS)
    first, second = (without(columns[_MISC], gone) for columns in (one, two))
    of_token = tuple([key for key in _OF_FORM if only(of_text, (key,)) != NOTHING])
    misc = joined(without(joined(first, second, blank), of_token), of_text)
    one[_MISC] = joined(misc, only(marks, (HEAD_BY, LABEL_BY, *CHANCES)))
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
        first, last, of_token = covered[0].columns, covered[-1].columns, same[0].columns[_MISC]
        first[_MISC] = joined(first[_MISC], without(of_token, (*_OF_FORM, *_SPACES, *_OFFSETS)))
        last[_MISC] = joined(last[_MISC], only(of_token, _SPACES))
        last[10:] = joined_extra(last[10:], same[0].columns[10:])
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
    columns = _of_range(form, spaces, len(covered[0].columns))
    layout.ranges.append(Range(covered[0], covered[-1], columns))


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
    names = set(taken)
    for comment in layout.comments:
        if found := _SENT_ID.fullmatch(comment):
            k = 2
            while f"{found[2]}-{k}" in names:
                k += 1
            rest.comments.append(f"{found[1]}{found[2]}-{k}")
        elif _BOTH.fullmatch(comment):
            rest.comments.append(comment)
    if any(map(_TEXT.match, layout.comments)):
        rest.comments.append("# text = ")
    for part in (layout, rest):
        part.set_text(part.text())
        root = next((word for word in part.words if word.head == ROOT), None)
        is_tree = all(word.head is not None for word in part.words)
        for word in part.words:  # whose head is in the other part
            if isinstance(word.head, Word) and word.head not in part.words:
                if not is_tree:
                    _hang(word, None, NOTHING)
                elif root is not None:
                    _hang(word, root, "dep")
                else:
                    _hang(word, ROOT, "root")
                    root = word
    return rest


def glue(layout: SentenceLayout, other: SentenceLayout) -> None:
    """Adds the next sentence to this one; its root depends on this root as `parataxis`, a guess."""
    has_text, other_has = (any(map(_TEXT.match, each.comments)) for each in (layout, other))
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
    found = layout.comments
    if not any(map(_SENT_ID.fullmatch, found)):
        found[:0] = filter(_SENT_ID.fullmatch, other.comments)
    for comment in other.comments:  # the second's own name and text go; translations and notes are joined
        if _OWN.fullmatch(comment) or comment in found:
            continue
        key, sign, value = comment.partition("=")
        same = [k for k, mine in enumerate(found) if sign and mine.partition("=")[0].strip() == key.strip()]
        if same and comment != FLAG:
            found[same[0]] += " " + value.strip()
        else:
            found.append(comment)
    layout.set_text(layout.text())


def _hang(word: Word, head: Word | int | None, label: str) -> None:
    """Gives a word a head that nobody has confirmed."""
    word.head = head
    word.columns[_DEPREL] = label
    word.columns[_MISC] = without(word.columns[_MISC], (HEAD_BY, LABEL_BY))
