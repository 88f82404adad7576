"""What the words that a person has described say of words with the same ending: their XPOS, FEATS and lemmas.

A word counts the more, the longer the ending that it shares with another of the same tag. Nothing has to be
learnt, so the second word of a text gains from the first one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import NamedTuple

from dynet_vdgi.annotation.marked import NOTHING, MarkedColumns, MarkedSentence
from dynet_vdgi.tagging.lemmas import AS_WRITTEN, applied, rule_of

LONGEST = 6
"""Letters of the longest ending; a whole word is longer than all."""

MORE = 4.0
"""Each letter of the shared ending makes a word count so many times as much."""

OTHER_FEATS = 0.02
"""How much a word with other features counts, where those of the word in question are known."""

SHORTENED = 4
"""Letters that may be taken off a form to offer the rest as a lemma."""


class Described(NamedTuple):
    """A word's columns, "" where nobody has said anything; the lemma is a rule, see `lemmas.rule_of`."""

    xpos: str = ""
    feats: str = ""
    lemma: str = ""


class Analogies:
    """The words of a text that somebody has described, by tag and ending."""

    def __init__(self, sentences: Iterable[MarkedSentence]) -> None:
        self._counts: defaultdict[tuple[str, str], Counter[Described]] = defaultdict(Counter)
        for marked in sentences:
            self.enter(marked)

    def enter(self, marked: MarkedSentence, sign: int = 1) -> None:
        """Counts the words of a sentence, or no longer (-1); `_` says something in a finished one."""
        for form, word in zip(marked.forms, marked.state.columns):
            if word.upos != NOTHING:
                said = _described(word, marked.is_done)
                if said.lemma not in ("", NOTHING):
                    said = said._replace(lemma=rule_of(form, said.lemma).replace(NOTHING, ""))
                for ending in _endings(form):
                    self._counts[word.upos, ending][said] += sign

    def ranked(self, form: str, tag: str, name: str, feats: str = "") -> list[str]:
        """The values of a column for a form with a tag, and with features if they are known; the likeliest first."""
        scores: defaultdict[str, float] = defaultdict(float)
        place = Described._fields.index(name)
        weight = 1.0
        for ending in _endings(form):
            for said, count in self._counts.get((tag, ending), {}).items():
                if said[place]:
                    scores[said[place]] += weight * count * (1.0 if feats in ("", said.feats) else OTHER_FEATS)
            weight *= MORE
        return sorted((value for value in scores if scores[value] > 0), key=lambda value: -scores[value])

    def others(self, tag: str, name: str) -> list[str]:
        """The values of a column under other tags, the most frequent first."""
        place = Described._fields.index(name)
        found: Counter[str] = Counter()
        for (other, ending), counts in self._counts.items():
            if not ending and other != tag:
                for said, count in counts.items():
                    found[said[place]] += count
        return [value for value, count in found.most_common() if value and count > 0]

    def lemmas(self, form: str, tag: str, feats: str = "") -> list[str]:
        """Possible lemmas: by rules of the tag, of other tags, and the form as it is or shortened."""
        lower = form.lower()
        rules = chain(self.ranked(form, tag, "lemma", feats), self.others(tag, "lemma"))
        fit = (rule for rule in rules if rule == AS_WRITTEN or lower.endswith(rule.partition(">")[0]))
        shorter = (lower[:-k] for k in range(1, min(SHORTENED + 1, len(lower))))
        return list(dict.fromkeys(chain((applied(rule, form) for rule in fit), (lower, form), shorter)))

    def guess(self, form: str, word: MarkedColumns) -> Described:
        """What is likely of a word that has at least a tag, "" where no word tells; what it has stays."""
        said = _described(word)
        feats = said.feats or next(iter(self.ranked(form, word.upos, "feats")), "")
        xpos = said.xpos or next(iter(self.ranked(form, word.upos, "xpos", feats)), "")
        rule = next(iter(self.ranked(form, word.upos, "lemma", feats)), "")
        return Described(xpos, feats, rule if rule in ("", NOTHING) else self.lemmas(form, word.upos, feats)[0])


def _described(word: MarkedColumns, is_done: bool = False) -> Described:
    """What a person has said of a word, whose lemma is no rule here; in a finished sentence, `_`, too."""
    pairs = ((getattr(word, name), getattr(word, name + "_by")) for name in Described._fields)
    return Described(*(value if value != NOTHING or by or is_done else "" for value, by in pairs))


def _endings(form: str) -> Iterator[str]:
    """The endings of a form, the empty one first, and the whole form, marked as such."""
    lower = form.lower()
    for length in range(min(LONGEST, len(lower)) + 1):
        yield lower[len(lower) - length :]
    yield f" {lower}"
