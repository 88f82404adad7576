"""Lists of words with their usual tag, as a linguist fills them in, to learn a tagger from.

A line has a form, UPOS, FEATS and anything in a fourth column, such as the count that `vdgi tag
list` writes, with tabs between them; FEATS and what follows may be left out. Lines whose UPOS is
`_` are not filled in.
"""

from __future__ import annotations

import logging
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dynet_vdgi.conllu.faults import is_feats
from dynet_vdgi.conllu.nfc import nfc
from dynet_vdgi.conllu.tag_sets import UD_TAGS
from dynet_vdgi.errors import DataError
from dynet_vdgi.system.files import AnyPath, lines_of, shown
from dynet_vdgi.system.messages import count, did_you_mean, listed

logger = logging.getLogger("dynet_vdgi")

UNKNOWN = "_"

WORDS_SHOWN = 10
"""Words that a warning names."""


@dataclass(frozen=True)
class TagList:
    """The UPOS and FEATS of forms, which are lower-cased and in the form NFC."""

    tags: Mapping[str, tuple[str, str]]
    n_empty: int = 0
    name: str = "the list"

    @classmethod
    def read(cls, path: AnyPath) -> TagList:
        """The list in a file.

        Raises: DataError, it cannot be read, a line is malformed, a form occurs twice, or no word
        has a tag.
        """
        tags: dict[str, tuple[str, str]] = {}
        lines: dict[str, int] = {}
        name = shown(path)
        for number, line in enumerate(lines_of(path), 1):
            line = line.removeprefix("\ufeff")  # of spreadsheets
            if not line.strip():
                continue
            form, upos, feats = _columns(name, number, line.rstrip("\r\n"))
            if form in lines:
                where = f"{form!r} is also on line {lines[form]}"
                raise DataError(name, number, where, "keep its usual tag only")
            lines[form] = number
            if upos != UNKNOWN:
                tags[form] = upos, feats
        if not tags:
            raise DataError(name, None, "no word has a tag", "fill in the second column with UPOS")
        return cls(tags, len(lines) - len(tags), name)

    def filled_tags(
        self, forms: Sequence[str], tags: Sequence[str], feats: Sequence[str]
    ) -> tuple[list[str], list[tuple[str, str]]]:
        """The tags (N,) of words, and their UPOS and FEATS (N,), with the list's where a word has
        no tag.

        Punctuation and numbers need not be listed. A form that has another tag somewhere is
        ambiguous and not looked up. Warns of listed words that have no effect.
        """
        pair_of_form = {
            form: self.tags.get(form.lower()) or without_letters(form) for form in forms
        }
        pairs = [pair_of_form[form] for form in forms]
        ambiguous = {
            form.lower()
            for form, tag, pair in zip(forms, tags, pairs)
            if tag != UNKNOWN and pair and pair[0] != tag
        }
        upos, bundles = list(tags), list(zip(tags, feats))
        # If no word of the list has FEATS, they are unknown; otherwise `_` means that a word has
        # none.
        has_feats = any(feats != UNKNOWN for _, feats in self.tags.values())
        for k, (form, pair) in enumerate(zip(forms, pairs)):
            if tags[k] == UNKNOWN and pair and form.lower() not in ambiguous:
                upos[k] = pair[0]
                bundles[k] = pair if has_feats else (UNKNOWN, UNKNOWN)
        lower = {form.lower() for form in pair_of_form}
        if absent := [form for form in self.tags if form not in lower]:
            words = listed(absent, WORDS_SHOWN)
            logger.warning(
                "%s: %s never in the text: %s", self.name, count(len(absent), "word"), words
            )
        if other := [form for form in self.tags if form in ambiguous]:
            what = "with another tag in the sentences, which counts"
            logger.info(
                "%s: %s %s: %s",
                self.name,
                count(len(other), "word"),
                what,
                listed(other, WORDS_SHOWN),
            )
        if self.n_empty:
            logger.info("%s: %s without a tag yet", self.name, count(self.n_empty, "word"))
        return upos, bundles


def without_letters(form: str) -> tuple[str, str] | None:
    """PUNCT or NUM for a form of punctuation or digits; None for others.

    >>> without_letters("..."), without_letters("1,5"), without_letters("1st"), without_letters("+")
    (('PUNCT', '_'), ('NUM', '_'), None, None)
    """
    kinds = {unicodedata.category(letter)[0] for letter in form}
    if kinds == {"P"}:
        return "PUNCT", UNKNOWN
    return ("NUM", UNKNOWN) if kinds in ({"N"}, {"N", "P"}) else None


def _columns(name: str, number: int, line: str) -> tuple[str, str, str]:
    """The form, lower-cased, UPOS and FEATS of a line. Raises: DataError, it is malformed."""
    columns = [column.strip() for column in line.split("\t")]
    if not 2 <= len(columns) <= 4:
        fault = "no tab" if len(columns) == 1 else f"{len(columns)} columns"
        raise DataError(name, number, fault, "write a form, UPOS and FEATS with tabs between them")
    form, upos, feats = (
        nfc(columns[0]).lower(),
        columns[1],
        columns[2] if len(columns) > 2 else UNKNOWN,
    )
    if not form:
        raise DataError(name, number, "no form before the first tab", "write the word there")
    if upos not in UD_TAGS and upos != UNKNOWN:
        hint = (
            did_you_mean(upos, UD_TAGS).removeprefix("; ")
            or f"there are: {' '.join(sorted(UD_TAGS))}"
        )
        raise DataError(name, number, f"{upos!r} is no UPOS", f"{hint}; _ if you do not know")
    feats = feats or UNKNOWN
    if not is_feats(feats) or any(map(str.isspace, feats)):
        raise DataError(
            name, number, f"{feats!r} are no FEATS", "write Name=Value|Name=Value, or _"
        )
    if feats != UNKNOWN and upos == UNKNOWN:
        raise DataError(
            name, number, f"{form!r} has FEATS but no UPOS", "fill in the second column"
        )
    return form, upos, feats
