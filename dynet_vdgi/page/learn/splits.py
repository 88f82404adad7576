"""Splits to offer for a word: as other words of the text are split, at apostrophes and hyphens."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from dynet_vdgi.conllu.punctuation import is_mark
from dynet_vdgi.conllu.sentence import Source
from dynet_vdgi.page.text.marked import MarkedSentence
from dynet_vdgi.page.text.sentence_layout import has_space_after
from dynet_vdgi.words.tagger.lemmas import n_shared

MOST_OFFERED = 9

_INSIDE = re.compile(r"(?<=\w)['’ʼ‐-](?=\w)")


class WordSplit(NamedTuple):
    """A text at the beginning or end of words, or a whole word, and the forms that come in its
    place."""

    where: str  # "start", "end" or "whole"
    text: str  # in lower case
    # the rest of the word joins the last of them after a "start", the first before an "end"
    forms: tuple[str, ...]
    mark: str  # between the forms: "|" in a multiword token, " " between tokens

    def typed_words(self, form: str) -> str:
        """The words of a form as they are typed; "": the split does not fit."""
        lower, n, forms = form.lower(), len(self.text), [*self.forms]
        if (len(form) > n) == (self.where == "whole"):
            return ""
        if self.where == "start":
            is_fitting, forms[-1] = lower.startswith(self.text), forms[-1] + form[n:]
        else:
            is_fitting, forms[0] = lower.endswith(self.text), form[:-n] + forms[0]
        if not is_fitting:
            return ""
        if "".join(forms).lower() == lower:  # capitals are those of the word
            ends = [sum(map(len, forms[:k])) for k in range(len(forms) + 1)]
            forms = [form[start:end] for start, end in zip(ends, ends[1:])]
        elif form[0].isupper() != forms[0][:1].isupper():
            forms[0] = forms[0][:1].swapcase() + forms[0][1:]
        return self.mark.join(forms) if all(forms) else ""


class Splits:
    """The split words of a text, by sentence."""

    def __init__(self) -> None:
        self._splits: dict[int, tuple[Source, list[WordSplit]]] = {}

    def offered_splits(self, form: str, sentences: Iterable[MarkedSentence]) -> list[str]:
        """Splits of a form as they are typed, the likeliest first: by the longest beginnings and
        endings."""
        splits: Counter[WordSplit] = Counter()
        if re.search(r"[\s|]", form):
            return []  # what is typed would be cut there, too
        for marked in sentences:
            if marked.is_done or not marked.is_from_file:  # somebody has looked at its tokens
                splits.update(self._in_sentence(marked))
        fitting = sorted(splits, key=lambda split: (-len(split.text), -splits[split]))
        typed = [split.typed_words(form) for split in fitting]
        for match in _INSIDE.finditer(form):
            start, end = form[: match.end()], form[match.end() :]
            typed += [f"{start} {end}", f"{start}|{end}"]
        return list(dict.fromkeys(filter(None, typed)))[:MOST_OFFERED]

    def _in_sentence(self, marked: MarkedSentence) -> list[WordSplit]:
        """The splits in a sentence, which are looked for again when its tokens are others."""
        source, splits = self._splits.get(marked.id, (None, []))
        if source is not marked.source:
            splits = list(_splits_in(marked.source.lines))
            self._splits[marked.id] = marked.source, splits
        return splits


def _splits_in(lines: Sequence[str]) -> Iterator[WordSplit]:
    """The splits by which the words of a sentence were split: multiword tokens, and tokens without
    a space between."""
    rows = [
        line.split("\t")
        for line in lines
        if line[:1] not in ("#", "") and "." not in line.split("\t", 1)[0]
    ]
    is_spaced = 2 * sum(has_space_after(row[9]) for row in rows) > len(rows)
    before, last = "", 0
    for k, (number, form, *_, misc) in enumerate(rows):
        start, _, end = number.partition("-")
        if end:
            forms = tuple(row[1] for row in rows[k + 1 : k + 2 + int(end) - int(start)])
            yield from _splits_of(form, forms, "|")
        elif int(number) <= last:
            continue
        if before and not is_mark(form):
            yield from _splits_of(before + form, (before, form), " ")
        last = int(end or number)
        before = "" if has_space_after(misc) or is_mark(form) or not is_spaced else form


def _splits_of(form: str, forms: tuple[str, ...], mark: str) -> Iterator[WordSplit]:
    lower, n = form.lower(), len(form)
    yield WordSplit("whole", lower, forms, mark)
    first, last = n_shared(form, forms[0]), n_shared(form[::-1], forms[-1][::-1])
    if 0 < first < n:
        yield WordSplit("end", lower[first:], (forms[0][first:], *forms[1:]), mark)
    if 0 < last < n:
        yield WordSplit(
            "start", lower[: n - last], (*forms[:-1], forms[-1][: len(forms[-1]) - last]), mark
        )
