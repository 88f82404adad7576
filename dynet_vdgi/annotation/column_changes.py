"""A person's changes to tags, features, lemmas, notes and flags: each gives the new state of the sentence."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from dynet_vdgi.annotation.marked import (
    FLAG,
    NOTHING,
    ChangeError,
    MarkedColumns,
    MarkedSentence,
    SentenceState,
)
from dynet_vdgi.data.conllu_faults import has_stray_space
from dynet_vdgi.data.tags import UD2_TAGS

LONGEST = 200
LONGEST_NOTE = 2000

NOTE = "# note = "
_NOTE_LINE = re.compile(r"#\s*note\s*=.*")
_NOTE_PART = "Note="

_FEATURE = re.compile(
    r"([A-Z0-9][A-Za-z0-9]*(?:\[[a-z0-9]+\])?)=([A-Z0-9][A-Za-z0-9]*(?:,[A-Z0-9][A-Za-z0-9]*)*)"
)
_EXPECTED = "expected such as Case=Nom|Number=Sing: names and values begin with a capital or a digit"
_NO_TEXT = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029\ud800-\udfff]")


def tag(marked: MarkedSentence, word: int, value: Any, by: str) -> SentenceState:
    """UPOS is one of UD's 17."""
    if type(value) is not str or value not in UD2_TAGS:
        raise ChangeError(f"{str(value)[:20]!r} is no tag (there are: {', '.join(sorted(UD2_TAGS))})")
    return _with(marked, word, upos=value, tag_by=by)


def xpos(marked: MarkedSentence, word: int, value: Any, by: str) -> SentenceState:
    """XPOS; "" for none."""
    is_text = type(value) is str and len(value) <= LONGEST and not _NO_TEXT.search(value)
    if not is_text or any(map(str.isspace, value)):
        raise ChangeError(f"{str(value)[:20]!r} is no XPOS (up to {LONGEST} letters without blanks)")
    return _with(marked, word, xpos=value or NOTHING, xpos_by=by)


def feats(marked: MarkedSentence, word: int, value: Any, by: str) -> SentenceState:
    """FEATS, sorted as UD wants."""
    return _with(marked, word, feats=sorted_feats(value), feats_by=by)


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
            raise ChangeError(
                f"{found[1]} is there twice: write its values with a comma, such as Case=Acc,Dat"
            )
        pairs[found[1]] = ",".join(sorted({*found[2].split(",")}, key=str.lower))
    return "|".join(f"{name}={pairs[name]}" for name in sorted(pairs, key=str.lower))


def lemma(marked: MarkedSentence, word: int, value: Any, by: str) -> SentenceState:
    """LEMMA; "" for none."""
    if type(value) is not str or len(value) > LONGEST or _NO_TEXT.search(value) or has_stray_space(value):
        raise ChangeError(f"{str(value)[:20]!r} is no lemma (up to {LONGEST} letters, single blanks inside)")
    return _with(marked, word, lemma=value or NOTHING, lemma_by=by)


def note(marked: MarkedSentence, word: int, value: Any, by: str) -> SentenceState:
    """A note: the comment `# note = ...` of a sentence (word 0), or `Note=...` in MISC; "" removes it."""
    if type(value) is not str or len(value) > LONGEST_NOTE or re.search("[\ud800-\udfff]", value):
        raise ChangeError(f"this is no note (up to {LONGEST_NOTE} letters)")
    text = _escaped(value)
    if word:
        misc = marked.state.columns[word - 1].misc
        parts = [p for p in misc.split("|") if p != NOTHING and not p.startswith(_NOTE_PART)]
        return _with(marked, word, misc="|".join([*parts, *([_NOTE_PART + text] if text else [])]) or NOTHING)
    comments = [line for line in marked.state.comments if not _NOTE_LINE.fullmatch(line)]
    return marked.state._replace(comments=(*comments, *([NOTE + text] if text else [])))


def flag(marked: MarkedSentence, word: int, value: Any, by: str) -> SentenceState:
    """The comment that the sentence is to be looked at again."""
    if type(value) is not bool or word:
        raise ChangeError("a sentence is flagged (true) or not (false)")
    if value == marked.is_flagged:
        return marked.state
    comments = [line for line in marked.state.comments if not re.fullmatch(r"#\s*flag\s*=.*", line)]
    return marked.state._replace(comments=(*comments, *([FLAG] if value else [])))


COLUMN_CHANGES: dict[str, Callable[[MarkedSentence, int, Any, str], SentenceState]] = {
    "tag": tag,  # value: UPOS
    "xpos": xpos,  # value: XPOS, "_" for none
    "feats": feats,  # value: FEATS, "_" for none
    "lemma": lemma,  # value: LEMMA
    "note": note,  # value: a text; word 0: of the sentence
    "flag": flag,  # value: true or false
}


def _with(marked: MarkedSentence, word: int, **values: str) -> SentenceState:
    if not 1 <= word <= len(marked):
        raise ChangeError(f"there is no word {word}")
    columns = list(marked.state.columns)
    columns[word - 1] = columns[word - 1]._replace(**values)
    return marked.state._replace(columns=tuple(columns))


# ------------------------------------------------------------------------------------------- notes
def _escaped(text: str) -> str:
    r"""A note as one line without bars: runs of blanks are one, \n is a new line, \p a bar."""
    lines = [" ".join(_NO_TEXT.sub(" ", line).split()) for line in text.strip().splitlines()]
    return r"\n".join(line.replace("\\", r"\\").replace("|", r"\p") for line in lines)


def _unescaped(text: str) -> str:
    meant = {"n": "\n", "p": "|", "\\": "\\"}
    return re.sub(r"\\([np\\])", lambda found: meant[found[1]], text)


def note_of(word: MarkedColumns) -> str:
    """The note of a word."""
    found = [part[len(_NOTE_PART) :] for part in word.misc.split("|") if part.startswith(_NOTE_PART)]
    return _unescaped(found[0]) if found else ""


def sentence_note(marked: MarkedSentence) -> str:
    """The note of a sentence."""
    return _unescaped(marked.comment("note"))
