"""Lemmas, lists of words with their tags, and how many tags are right.

Lemmas: those of words seen with them, and rules about endings for other words.

A rule is text: `s>` takes an s off the end of the lower-cased form, `ies>y` puts a y in place of ies, `=` is
the form as it is written. Which rule a word gets is learnt as its FEATS are, see `bundles`.
"""

from __future__ import annotations

import logging
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from dynet_vdgi.data.conllu_faults import has_stray_space, is_feats
from dynet_vdgi.data.files import AnyPath, open_text, shown
from dynet_vdgi.data.protocols import UD_TAGS
from dynet_vdgi.data.raw_text import form_of, nfc
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.errors import DataError, UsageError
from dynet_vdgi.system.names import count, did_you_mean, listed

LONGEST = 6
"""Letters of the longest ending that a rule takes off."""

AS_WRITTEN = "="

Word = tuple[str, str, str, str]
"""Form, tag, FEATS and lemma."""


def rule_of(form: str, lemma: str) -> str:
    """The rule that makes this lemma; "_" if it would take off too much.

    >>> rule_of("Dogs", "dog"), rule_of("ponies", "pony"), rule_of("Paris", "Paris"), rule_of("x", "x")
    ('s>', 'ies>y', '=', '>')
    """
    lower = form.lower()
    if lemma == form != lower:
        return AS_WRITTEN
    same = 0
    while same < min(len(lower), len(lemma)) and lower[same] == lemma[same]:
        same += 1
    return "_" if len(lower) - same > LONGEST else f"{lower[same:]}>{lemma[same:]}"


def applied(rule: str, form: str) -> str:
    """The lemma that a rule makes of a form: the lower-cased form where the rule does not fit.

    White space that would be left over is taken out, because no reader takes it.

    >>> applied("s>", "Dogs"), applied("a.>", "bl. a.")
    ('dog', 'bl.')
    """
    if rule == AS_WRITTEN:
        return form
    lower = form.lower()
    ending, _, added = rule.partition(">")
    found = lower[: len(lower) - len(ending)] + added if lower.endswith(ending) else lower
    return found if is_lemma(found) else form_of(found).strip() or lower


def is_lemma(text: str) -> bool:
    """Whether CoNLL-U can hold a text as a lemma."""
    return text != "" and not has_stray_space(text) and not any(letter in text for letter in "\t\n\r\0")


def key_of(form: str, tag: str, feats: str) -> str:
    """The name of a word under which its lemma is kept."""
    return f"{tag} {feats} {form}"


def known_lemmas(words: Iterable[Word]) -> dict[str, str]:
    """The most frequent lemma of each word, by `key_of`."""
    seen: dict[str, Counter[str]] = defaultdict(Counter)
    for form, tag, feats, lemma in words:
        seen[key_of(form, tag, feats)][lemma] += 1
    return {key: min(lemmas, key=lambda each: (-lemmas[each], each)) for key, lemmas in seen.items()}


# ----------------------------------------------------------------------------------------------------
# Lists of words with their usual tag, as a linguist fills them in, to learn a tagger from.
#
# A line has a form, UPOS, FEATS and anything in a fourth column, such as the count that `vdgi tag list`
# writes, with tabs between them; FEATS and what follows may be left out. Lines whose UPOS is `_` are not
# filled in.


logger = logging.getLogger("dynet_vdgi")

UNKNOWN = "_"

SHOWN = 10
"""Words that a warning names."""


@dataclass(frozen=True)
class TagList:
    """The UPOS and FEATS of forms, which are lower-cased and in the form NFC."""

    tags: Mapping[str, tuple[str, str]]
    n_empty: int = 0
    name: str = "the list"

    @cached_property
    def has_feats(self) -> bool:
        """Whether some word has FEATS, so `_` means that the others have none; else theirs are unknown."""
        return any(feats != UNKNOWN for _, feats in self.tags.values())

    @classmethod
    def read(cls, path: AnyPath) -> TagList:
        """The list in a file.

        Raises:
            DataError: it cannot be read, a line is malformed, a form occurs twice, or no word has a tag.
        """
        tags: dict[str, tuple[str, str]] = {}
        lines: dict[str, int] = {}
        name = shown(path)
        with open_text(path) as handle:
            for number, line in enumerate(handle, 1):
                line = line.removeprefix("\ufeff")  # of spreadsheets
                if not line.strip():
                    continue
                form, upos, feats = _columns(name, number, line.rstrip("\r\n"))
                if form in lines:
                    raise DataError(
                        name, number, f"{form!r} is also on line {lines[form]}", "keep its usual tag only"
                    )
                lines[form] = number
                if upos != UNKNOWN:
                    tags[form] = upos, feats
        if not tags:
            raise DataError(name, None, "no word has a tag", "fill in the second column with UPOS")
        return cls(tags, len(lines) - len(tags), name)

    def filled(
        self, forms: Sequence[str], tags: Sequence[str], feats: Sequence[str]
    ) -> tuple[list[str], list[tuple[str, str]]]:
        """The tags (N,) of words, and their UPOS and FEATS (N,), with the list's where a word has no tag.

        Punctuation and numbers need not be listed. A form that has another tag somewhere is ambiguous and not
        looked up. Warns of listed words that have no effect.
        """
        found = {form: self.tags.get(form.lower()) or without_letters(form) for form in forms}
        pairs = [found[form] for form in forms]
        ambiguous = {
            form.lower()
            for form, tag, pair in zip(forms, tags, pairs)
            if tag != UNKNOWN and pair and pair[0] != tag
        }
        upos, bundles = list(tags), list(zip(tags, feats))
        for k, (form, pair) in enumerate(zip(forms, pairs)):
            if tags[k] == UNKNOWN and pair and form.lower() not in ambiguous:
                upos[k] = pair[0]
                bundles[k] = pair if self.has_feats else (UNKNOWN, UNKNOWN)
        self._warn(ambiguous, {form.lower() for form in found})
        return upos, bundles

    def _warn(self, ambiguous: set[str], lower: set[str]) -> None:
        """Tells of words without an effect, given the ambiguous lower-cased forms, and all of the text."""
        if absent := [form for form in self.tags if form not in lower]:
            words = listed(absent, SHOWN)
            logger.warning("%s: %s never in the text: %s", self.name, count(len(absent), "word"), words)
        if other := [form for form in self.tags if form in ambiguous]:
            what = "with another tag in the sentences, which counts"
            logger.info("%s: %s %s: %s", self.name, count(len(other), "word"), what, listed(other, SHOWN))
        if self.n_empty:
            logger.info("%s: %s without a tag yet", self.name, count(self.n_empty, "word"))


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
        found = "no tab" if len(columns) == 1 else f"{len(columns)} columns"
        raise DataError(name, number, found, "write a form, UPOS and FEATS with tabs between them")
    form, upos, feats = nfc(columns[0]).lower(), columns[1], columns[2] if len(columns) > 2 else UNKNOWN
    if not form:
        raise DataError(name, number, "no form before the first tab", "write the word there")
    if upos not in UD_TAGS and upos != UNKNOWN:
        hint = did_you_mean(upos, UD_TAGS).removeprefix("; ") or f"there are: {' '.join(sorted(UD_TAGS))}"
        raise DataError(name, number, f"{upos!r} is no UPOS", f"{hint}; _ if you do not know")
    feats = feats or UNKNOWN
    if not is_feats(feats) or any(map(str.isspace, feats)):
        raise DataError(name, number, f"{feats!r} are no FEATS", "write Name=Value|Name=Value, or _")
    if feats != UNKNOWN and upos == UNKNOWN:
        raise DataError(name, number, f"{form!r} has FEATS but no UPOS", "fill in the second column")
    return form, upos, feats


# ----------------------------------------------------------------------------------------------------
# How many words have the right tags.


METRICS = ("UPOS", "XPOS", "FEATS", "UPOS and FEATS", "lemma")


@dataclass(frozen=True)
class TagScores:
    """Numbers of words."""

    n_words: int
    right: Mapping[str, int]  # by METRICS

    @property
    def accuracy(self) -> dict[str, float]:
        """The share of right words, from 0 to 1, by METRICS."""
        return {name: n / max(1, self.n_words) for name, n in self.right.items()}


def scores_of(gold: Iterable[Sentence], found: Iterable[Sentence]) -> TagScores:
    """The scores of sentences with the same words. Raises: UsageError, their words are not the same."""
    right, n_words = dict.fromkeys(METRICS, 0), 0
    ours, theirs = list(gold), list(found)
    if [sentence.forms for sentence in ours] != [sentence.forms for sentence in theirs]:
        raise UsageError("the sentences to score do not have the words of the gold sentences")
    for one, other in zip(ours, theirs):
        for mine, its in zip(zip(*_columns_of_label_scores(one)), zip(*_columns_of_label_scores(other))):
            upos, xpos, feats, lemma = (a == b for a, b in zip(mine, its))
            for name, is_right in zip(METRICS, (upos, xpos, feats, upos and feats, lemma)):
                right[name] += is_right
            n_words += 1
    return TagScores(n_words, right)


def _columns_of_label_scores(sentence: Sentence) -> list[Sequence[str]]:
    optional = (sentence.xpos, sentence.feats, sentence.lemmas)
    return [sentence.upos or sentence.tags, *(column or "_" * len(sentence) for column in optional)]
