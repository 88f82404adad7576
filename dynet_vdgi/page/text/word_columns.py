"""The columns of a word that a person can change, what may stand in each, and how a change is made.

`COLUMNS` is the table: one that is added there is on the page, in the journal and in the file, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from dynet_vdgi.conllu.faults import has_stray_space
from dynet_vdgi.conllu.tag_sets import UD2_TAGS
from dynet_vdgi.page.text.marked import MarkedSentence
from dynet_vdgi.page.text.sentence_state import (
    MARKS,
    NO_VALUE,
    ChangeError,
    MarkedColumns,
    SentenceState,
)

LONGEST_VALUE = 200

_FEATURE = re.compile(
    r"([A-Z0-9][A-Za-z0-9]*(?:\[[a-z0-9]+\])?)=([A-Z0-9][A-Za-z0-9]*(?:,[A-Z0-9][A-Za-z0-9]*)*)"
)

_ENTRY = re.compile(r"[^=\s]+(=\S(.*\S)?)?")  # of MISC

_EXPECTED = (
    "expected such as Case=Nom|Number=Sing: names and values begin with a capital or a digit"
)

NO_TEXT = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029\ud800-\udfff]")
"""Characters that no form, lemma or note may have:
line ends, other controls, halves of characters."""


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
        return next((value for name, _, value in parts if name == self.key), NO_VALUE)

    def change(self, marked: MarkedSentence, word: int, value: Any, by: str) -> SentenceState:
        """The state in which a word has another value."""
        columns, new = list(marked.state.columns), self.checked(value)
        old = columns[word - 1]
        if self.key in MarkedColumns._fields:
            changed = {self.key: new, self.by: by}
        else:
            parts = [
                p for p in old.misc.split("|") if p != NO_VALUE and p.partition("=")[0] != self.key
            ]
            parts += [f"{self.key}={new}"] if new != NO_VALUE else []
            changed = {"misc": "|".join(parts) or NO_VALUE}
        columns[word - 1] = old._replace(**changed)
        return marked.state._replace(columns=tuple(columns))


class _Misc(Column):
    """The keys of MISC that no other part of the page sets, as one line."""

    def of(self, word: MarkedColumns) -> str:
        return (
            "|".join(part for part in word.misc.split("|") if not _is_set_elsewhere(part))
            or NO_VALUE
        )

    def change(self, marked: MarkedSentence, word: int, value: Any, by: str) -> SentenceState:
        columns = list(marked.state.columns)
        parts = [
            p for p in columns[word - 1].misc.split("|") if p != NO_VALUE and _is_set_elsewhere(p)
        ]
        new = [part for part in self.checked(value).split("|") if part != NO_VALUE]
        columns[word - 1] = columns[word - 1]._replace(misc="|".join([*parts, *new]) or NO_VALUE)
        return marked.state._replace(columns=tuple(columns))


def _is_set_elsewhere(part: str) -> bool:
    """Whether a part of MISC is set elsewhere on the page: spaces, notes and marks."""
    key = part.partition("=")[0]
    return "Space" in key or key == "Note" or f"{key}=" in MARKS


def misc_value(value: Any) -> str:
    """Keys of MISC with values, such as `Gloss=dog|Translit=inu`; "" for none."""
    parts = value.split("|") if _is_text(value) and value not in ("", NO_VALUE) else []
    keys = [part.partition("=")[0] for part in parts]
    wrong = [part for part in parts if not _ENTRY.fullmatch(part) or _is_set_elsewhere(part)]
    if not _is_text(value) or wrong:
        message = (
            "expected such as Gloss=dog|Translit=inu; spaces, "
            "notes and who confirmed what are set elsewhere"
        )
        raise ChangeError(
            f"{wrong[0] if wrong else str(value)[:30]!r} cannot be in MISC ({message})"
        )
    if repeated := [key for k, key in enumerate(keys) if key in keys[:k]]:
        raise ChangeError(
            f"{repeated[0]} is there twice in MISC: write its values as one, "
            "such as Gloss=dog,hound"
        )
    return value or NO_VALUE


def tag_value(value: Any) -> str:
    """UPOS: one of UD's 17 tags."""
    if type(value) is not str or value not in UD2_TAGS:
        raise ChangeError(
            f"{str(value)[:20]!r} is no tag (there are: {', '.join(sorted(UD2_TAGS))})"
        )
    return value


def xpos_value(value: Any) -> str:
    """XPOS; "" for none."""
    if not _is_text(value) or any(letter.isspace() for letter in value):
        raise ChangeError(
            f"{str(value)[:20]!r} is no XPOS (up to {LONGEST_VALUE} letters without blanks)"
        )
    return value or NO_VALUE


def lemma_value(value: Any) -> str:
    """LEMMA; "" for none."""
    if not _is_text(value) or has_stray_space(value):
        raise ChangeError(
            f"{str(value)[:20]!r} is no lemma (up to {LONGEST_VALUE} letters, single blanks inside)"
        )
    return value or NO_VALUE


def _is_text(value: Any) -> bool:
    return type(value) is str and len(value) <= LONGEST_VALUE and not NO_TEXT.search(value)


def sorted_feats(value: Any) -> str:
    """Well-formed features in UD's order, by name. Raises: ChangeError.

    >>> sorted_feats("Number=Sing|Case=Nom"), sorted_feats("")
    ('Case=Nom|Number=Sing', '_')
    """
    if value in ("", NO_VALUE):
        return NO_VALUE
    if type(value) is not str or len(value) > 5 * LONGEST_VALUE:
        raise ChangeError(f"{str(value)[:20]!r} are no features ({_EXPECTED})")
    pairs: dict[str, str] = {}
    for part in value.split("|"):
        match = _FEATURE.fullmatch(part.strip(" "))
        if not match:
            raise ChangeError(f"{part[:30]!r} is no feature ({_EXPECTED})")
        if match[1] in pairs:
            raise ChangeError(
                f"{match[1]} is there twice: write its values with a comma, such as Case=Acc,Dat"
            )
        pairs[match[1]] = ",".join(sorted({*match[2].split(",")}, key=str.lower))
    return "|".join(f"{name}={pairs[name]}" for name in sorted(pairs, key=str.lower))


def merged_feats(present: str, change: str) -> str:
    """Features after a change in words: Name=Value sets one, Name= removes it; anything else
    replaces all."""
    name, sign, value = change.partition("=")
    if not sign or "|" in change:
        return change
    others = [
        part for part in present.split("|") if part != NO_VALUE and part.partition("=")[0] != name
    ]
    return "|".join([*others, change] if value else others)


COLUMNS = {
    "tag": Column("tag", "upos", tag_value, "tag_by"),
    "xpos": Column("XPOS", "xpos", xpos_value, "xpos_by"),
    "feats": Column("features", "feats", sorted_feats, "feats_by"),
    "lemma": Column("lemma", "lemma", lemma_value, "lemma_by"),
    "misc": _Misc("MISC", "", misc_value),
}
"""The columns that can be changed, by kind of change;
one that is added here is on the page, too."""
