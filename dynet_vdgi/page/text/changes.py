"""A person's changes to a sentence whose words stay: arcs, columns, notes, flags. A tree remains a tree.

`STATE_CHANGES` and `COLUMNS` are the tables of all kinds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from dynet_vdgi.conllu.faults import has_stray_space
from dynet_vdgi.conllu.punctuation import heads_without
from dynet_vdgi.conllu.tag_sets import UD2_TAGS
from dynet_vdgi.page.text.marked import (
    FLAG,
    IS_FLAG,
    MARKS,
    NO_LABEL,
    NOTHING,
    UNSET,
    ChangeError,
    CircleError,
    MarkedArc,
    MarkedColumns,
    MarkedSentence,
    SentenceState,
    label_fault,
    mended,
    with_punctuation,
)

LONGEST = 200

LONGEST_NOTE = 2000

_NOTE_LINE = re.compile(r"#\s*note\s*=.*")

_FEATURE = re.compile(r"([A-Z0-9][A-Za-z0-9]*(?:\[[a-z0-9]+\])?)=([A-Z0-9][A-Za-z0-9]*(?:,[A-Z0-9][A-Za-z0-9]*)*)")

_EXPECTED = "expected such as Case=Nom|Number=Sing: names and values begin with a capital or a digit"

NO_TEXT = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029\ud800-\udfff]")
"""Characters that no form, lemma or note may have: line ends, other controls, halves of characters."""

Arcs = list[MarkedArc]


def new_state(marked: MarkedSentence, what: str, word: int, value: Any, by: str) -> SentenceState:
    """The state after a change of one of the kinds of `STATE_CHANGES`, by the person `by`.

    Raises: ChangeError, the change is impossible.
    """
    if what not in STATE_CHANGES and what not in COLUMNS:
        names = ", ".join((*STATE_CHANGES, *COLUMNS))
        raise ChangeError(f"no change is called {what[:20]!r} (there are: {names})")
    if not (0 if what in _OF_SENTENCES else 1) <= word <= len(marked):
        raise ChangeError(f"there is no word {word}")
    change = COLUMNS[what].change if what in COLUMNS else STATE_CHANGES[what]
    return change(marked, word, value, by)


def _of_arcs(change: Callable[[MarkedSentence, int, Any, str], Arcs]) -> StateChange:
    """A kind of change that gives new arcs, from which a tree is made."""

    def changed(marked: MarkedSentence, word: int, value: Any, by: str) -> SentenceState:
        try:
            arcs = change(marked, word, value, by)
            heads = tuple([arc.head for arc in arcs])
            if UNSET in heads or marked.heads != heads:  # otherwise as on the screen, punctuation too
                arcs = _settled(arcs, marked.positions, marked.forms)
        except CircleError as error:
            named = [f"{place} {marked.forms[place - 1][:20]}" for place in error.words[:6]]
            more = ", ..." if len(error.words) > len(named) else ""
            raise ChangeError(
                f"the words {', '.join(named)}{more} would form a circle of confirmed arcs: select one of "
                "them whose head is wrong, and set it first or press x (not confirmed)"
            ) from None
        return marked.state._replace(arcs=tuple(arcs))

    return changed


def _settled(arcs: Arcs, positions: Sequence[int], forms: Sequence[str]) -> Arcs:
    """Arcs that form a tree, with punctuation attached properly; confirmed arcs stay. Raises: CircleError."""
    fixed = [bool(arc.head_by) for arc in arcs]
    tree = mended([arc.head for arc in arcs], fixed)
    arcs = [_with_head(arc, head) for arc, head in zip(arcs, tree)]
    bare = heads_without(tree, positions)
    if UNSET in bare or bare.count(0) != 1:
        return arcs
    kept = [f or place in positions for place, f in enumerate(fixed, 1)]
    try:
        tree = with_punctuation(bare, positions, tree, kept, forms)
    except (ValueError, CircleError):  # the root is punctuation, or words depend on it
        return arcs
    labelled = [arc if arc.label != NO_LABEL else arc._replace(label="punct") for arc in arcs]
    return [_with_head(arc, head) for arc, head in zip(labelled, tree)]


def _with_head(arc: MarkedArc, head: int) -> MarkedArc:
    """The arc with a head that suits its relation."""
    if head == arc.head:
        return arc
    if head == 0:
        return arc._replace(head=0, label="root")
    if arc.label == "root":
        return arc._replace(head=head, label="dep", label_by="")
    return arc._replace(head=head)


@_of_arcs
def head(marked: MarkedSentence, word: int, value: Any, by: str) -> Arcs:
    """The number of the new head, 0 for the root."""
    arcs = list(marked.arcs)
    if type(value) is not int or not 0 <= value <= len(arcs):
        raise ChangeError(f"{str(value)[:20]!r} is no word of the sentence")
    if value == word:
        raise ChangeError("a word cannot be its own head")
    if value == 0:
        for k, arc in enumerate(arcs):
            if arc.head == 0 and k != word - 1:  # there is one root, and the latest statement holds
                arcs[k] = MarkedArc(word, "dep")
    else:
        path: list[int] = []
        above = value  # the words from the new head up to the word, if it is above it
        while above not in (0, UNSET, word) and len(path) <= len(arcs):
            path.append(above)
            above = arcs[above - 1].head
        path = path if above == word else []
        loose = [w for w in path if not arcs[w - 1].head_by]
        if path and not loose:
            raise CircleError(sorted([word, *path]))
        if path:  # the new head is below the word: the head, or the word between, takes the word's place
            arcs[loose[-1] - 1] = _with_head(arcs[loose[-1] - 1], arcs[word - 1].head)
    arc = _with_head(arcs[word - 1], value)
    arcs[word - 1] = arc._replace(head_by=by, label_by=by if value == 0 else arc.label_by)
    return arcs


@_of_arcs
def label(marked: MarkedSentence, word: int, value: Any, by: str) -> Arcs:
    """The relation."""
    arcs = list(marked.arcs)
    if fault := label_fault(value):
        raise ChangeError(fault)
    if arcs[word - 1].head == UNSET:
        raise ChangeError(f"word {word} has no head yet")
    if (value == "root") != (arcs[word - 1].head == 0):
        raise ChangeError("the root has the relation root, and no other word: change the head first")
    arcs[word - 1] = arcs[word - 1]._replace(label=value, label_by=by)
    return arcs


@_of_arcs
def right(marked: MarkedSentence, word: int, value: Any, by: str) -> Arcs:
    """Head and relation of a word are right."""
    return _confirmed(marked, [word], by)


@_of_arcs
def _all_right(marked: MarkedSentence, word: int, value: Any, by: str) -> Arcs:
    return _confirmed(marked, marked.to_confirm, by)


def _confirmed(marked: MarkedSentence, words: Sequence[int], by: str) -> Arcs:
    arcs = list(marked.arcs)
    for word in words:
        arc = arcs[word - 1]
        if arc.head == UNSET or arc.label == NO_LABEL:
            raise ChangeError(f"word {word} has no head and relation yet")
        arcs[word - 1] = arc._replace(head_by=arc.head_by or by, label_by=arc.label_by or by)
    return arcs


def done(marked: MarkedSentence, word: int, value: Any, by: str) -> SentenceState:
    """Head and relation of all words but punctuation are right, and all tags, features and lemmas."""
    state = _all_right(marked, word, value, by)
    if not marked.is_tagged:
        raise ChangeError(f"word {marked.tags.index(NOTHING) + 1} has no tag yet")
    columns = []
    for said, shown in zip(state.columns, marked.columns):
        guessed = [c for c in COLUMNS.values() if c.by and getattr(said, c.key) != getattr(shown, c.key)]
        columns.append(shown._replace(**{column.by: by for column in guessed}))
    return state._replace(columns=tuple(columns))


@_of_arcs
def open_again(marked: MarkedSentence, word: int, value: Any, by: str) -> Arcs:
    """Nothing about head and relation of a word is confirmed."""
    arcs = list(marked.arcs)
    arcs[word - 1] = arcs[word - 1]._replace(head_by="", label_by="")
    return arcs


class Column(NamedTuple):
    """A column of words that a person can change."""

    title: str  # on the page
    key: str  # a field of `MarkedColumns`, or a name in MISC
    checked: Callable[[Any], str]  # a value as it is in the file, `_` for none. Raises: ChangeError
    by: str = ""  # field of `MarkedColumns` for who has set it

    def of(self, word: MarkedColumns) -> str:
        """The value of a word as it is in the file, "_" for none."""
        if self.key in MarkedColumns._fields:
            return str(getattr(word, self.key))
        parts = [part.partition("=") for part in word.misc.split("|")]
        return next((value for name, _, value in parts if name == self.key), NOTHING)

    def change(self, marked: MarkedSentence, word: int, value: Any, by: str) -> SentenceState:
        """The state in which a word has another value."""
        columns, new = list(marked.state.columns), self.checked(value)
        old = columns[word - 1]
        if self.key in MarkedColumns._fields:
            changed = {self.key: new, self.by: by}
        else:
            parts = [p for p in old.misc.split("|") if p != NOTHING and p.partition("=")[0] != self.key]
            parts += [f"{self.key}={new}"] if new != NOTHING else []
            changed = {"misc": "|".join(parts) or NOTHING}
        columns[word - 1] = old._replace(**changed)
        return marked.state._replace(columns=tuple(columns))


class _Misc(Column):
    """The keys of MISC that no other part of the page sets, as one line."""

    def of(self, word: MarkedColumns) -> str:
        return "|".join(part for part in word.misc.split("|") if not _is_kept(part)) or NOTHING

    def change(self, marked: MarkedSentence, word: int, value: Any, by: str) -> SentenceState:
        columns = list(marked.state.columns)
        parts = [p for p in columns[word - 1].misc.split("|") if p != NOTHING and _is_kept(p)]
        new = [part for part in self.checked(value).split("|") if part != NOTHING]
        columns[word - 1] = columns[word - 1]._replace(misc="|".join([*parts, *new]) or NOTHING)
        return marked.state._replace(columns=tuple(columns))


def _is_kept(part: str) -> bool:
    """Whether a part of MISC is set elsewhere on the page: spaces, notes and marks."""
    key = part.partition("=")[0]
    return "Space" in key or key == "Note" or f"{key}=" in MARKS


def misc(value: Any) -> str:
    """Keys of MISC with values, such as `Gloss=dog|Translit=inu`; "" for none."""
    parts = value.split("|") if _is_text(value) and value not in ("", NOTHING) else []
    keys = [part.partition("=")[0] for part in parts]
    wrong = [part for part in parts if not re.fullmatch(r"[^=\s]+(=\S(.*\S)?)?", part) or _is_kept(part)]
    if not _is_text(value) or wrong:
        message = "expected such as Gloss=dog|Translit=inu; spaces, notes and who confirmed what are set elsewhere"
        raise ChangeError(f"{wrong[0] if wrong else str(value)[:30]!r} cannot be in MISC ({message})")
    if repeated := [key for k, key in enumerate(keys) if key in keys[:k]]:
        raise ChangeError(f"{repeated[0]} is there twice in MISC: write its values as one, such as Gloss=dog,hound")
    return value or NOTHING


def tag(value: Any) -> str:
    """UPOS: one of UD's 17 tags."""
    if type(value) is not str or value not in UD2_TAGS:
        raise ChangeError(f"{str(value)[:20]!r} is no tag (there are: {', '.join(sorted(UD2_TAGS))})")
    return value


def xpos(value: Any) -> str:
    """XPOS; "" for none."""
    if not _is_text(value) or any(map(str.isspace, value)):
        raise ChangeError(f"{str(value)[:20]!r} is no XPOS (up to {LONGEST} letters without blanks)")
    return value or NOTHING


def lemma(value: Any) -> str:
    """LEMMA; "" for none."""
    if not _is_text(value) or has_stray_space(value):
        raise ChangeError(f"{str(value)[:20]!r} is no lemma (up to {LONGEST} letters, single blanks inside)")
    return value or NOTHING


def _is_text(value: Any) -> bool:
    return type(value) is str and len(value) <= LONGEST and not NO_TEXT.search(value)


def sorted_feats(value: Any) -> str:
    """Well-formed features in UD's order, by name. Raises: ChangeError.

    >>> sorted_feats("Number=Sing|Case=Nom"), sorted_feats("")
    ('Case=Nom|Number=Sing', '_')
    """
    if value in ("", NOTHING):
        return NOTHING
    if type(value) is not str or len(value) > 5 * LONGEST:
        raise ChangeError(f"{str(value)[:20]!r} are no features ({_EXPECTED})")
    pairs: dict[str, str] = {}
    for part in value.split("|"):
        found = _FEATURE.fullmatch(part.strip(" "))
        if not found:
            raise ChangeError(f"{part[:30]!r} is no feature ({_EXPECTED})")
        if found[1] in pairs:
            raise ChangeError(f"{found[1]} is there twice: write its values with a comma, such as Case=Acc,Dat")
        pairs[found[1]] = ",".join(sorted({*found[2].split(",")}, key=str.lower))
    return "|".join(f"{name}={pairs[name]}" for name in sorted(pairs, key=str.lower))


def merged_feats(present: str, said: str) -> str:
    """Features after a change in words: Name=Value sets one, Name= removes it; anything else replaces all."""
    name, sign, value = said.partition("=")
    if not sign or "|" in said:
        return said
    kept = [part for part in present.split("|") if part != NOTHING and part.partition("=")[0] != name]
    return "|".join([*kept, said] if value else kept)


def _note(value: Any) -> str:
    r"""A note as one line without bars: runs of blanks are one, \n is a new line, \p a bar."""
    if type(value) is not str or len(value) > LONGEST_NOTE or re.search("[\ud800-\udfff]", value):
        raise ChangeError(f"this is no note (up to {LONGEST_NOTE} letters)")
    lines = [" ".join(NO_TEXT.sub(" ", line).split()) for line in value.strip().splitlines()]
    return r"\n".join(line.replace("\\", r"\\").replace("|", r"\p") for line in lines) or NOTHING


def _unescaped(text: str) -> str:
    meant = {"n": "\n", "p": "|", "\\": "\\"}
    return re.sub(r"\\([np\\])", lambda found: meant[found[1]], text)


def note(marked: MarkedSentence, word: int, value: Any, by: str) -> SentenceState:
    """A note: the comment `# note = ...` of a sentence (word 0), or `Note=...` in MISC; "" removes it."""
    if word:
        return _WORD_NOTE.change(marked, word, value, by)
    text = _note(value)
    return _with_comment(marked, _NOTE_LINE, f"# note = {text}" if text != NOTHING else "")


_WORD_NOTE = Column("note", "Note", _note)


def note_of(word: MarkedColumns) -> str:
    """The note of a word."""
    found = _WORD_NOTE.of(word)
    return _unescaped(found) if found != NOTHING else ""


def sentence_note(marked: MarkedSentence) -> str:
    """The note of a sentence."""
    return _unescaped(marked.comment("note"))


def comment(marked: MarkedSentence, word: int, value: Any, by: str) -> SentenceState:
    """A comment of a sentence, `text_en = The dogs bark.`, in place of others of this key; `text_en =` removes it."""
    found = (
        re.fullmatch(r"([A-Za-z][\w.:-]*(?:\[\w+\])?)\s*=\s*(.*)", " ".join(value.split()))
        if type(value) is str
        else None
    )
    if word or found is None or len(value) > LONGEST_NOTE or NO_TEXT.search(value):
        raise ChangeError(f"{str(value)[:30]!r} is no comment (expected such as text_en = The dogs bark.)")
    if found[1] in _OTHER_COMMENTS:
        raise ChangeError(f"{found[1]} is not set here: {_OTHER_COMMENTS[found[1]]}")
    new = f"# {found[1]} = {found[2]}" if found[2] else ""
    return _with_comment(marked, re.compile(rf"#\s*{re.escape(found[1])}\s*=.*"), new)


_COMMENT = re.compile(r"([A-Za-z][\w.:-]*(?:\[\w+\])?)\s*=\s*(.*)")  # text_en, or text[eng]

_OTHER_COMMENTS = {
    "text": "it follows the words",
    "note": "press Note",
    "flag": "press Look again",
    "sent_id": "`vdgi release` gives every sentence a name of its own",
}


def flag(marked: MarkedSentence, word: int, value: Any, by: str) -> SentenceState:
    """The comment that the sentence is to be looked at again."""
    if type(value) is not bool or word:
        raise ChangeError("a sentence is flagged (true) or not (false)")
    if value == marked.is_flagged:
        return marked.state
    return _with_comment(marked, IS_FLAG, FLAG if value else "")


def _with_comment(marked: MarkedSentence, old: re.Pattern[str], new: str) -> SentenceState:
    """The state with one comment in place of those of its kind; "": with none."""
    comments = marked.state.comments
    place = next((k for k, line in enumerate(comments) if old.fullmatch(line)), len(comments))
    first, rest = comments[:place], [line for line in comments[place:] if not old.fullmatch(line)]
    return marked.state._replace(comments=(*first, *([new] if new else []), *rest))


COLUMNS = {
    "tag": Column("tag", "upos", tag, "tag_by"),
    "xpos": Column("XPOS", "xpos", xpos, "xpos_by"),
    "feats": Column("features", "feats", sorted_feats, "feats_by"),
    "lemma": Column("lemma", "lemma", lemma, "lemma_by"),
    "misc": _Misc("MISC", "", misc),
}
"""The columns that can be changed, by kind of change; one that is added here is on the page, too."""

StateChange = Callable[[MarkedSentence, int, Any, str], SentenceState]

STATE_CHANGES: dict[str, StateChange] = {
    "head": head,
    "label": label,
    "right": right,
    "done": done,
    "open": open_again,
    "note": note,
    "flag": flag,
    "comment": comment,
}
"""Changes that leave the words, besides those of COLUMNS: of a sentence, a word, to a value, by a person."""

_OF_SENTENCES = ("done", "note", "flag", "comment")
