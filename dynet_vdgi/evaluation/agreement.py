"""How far two people, or a person and a program, agree about one text.

F1 says how many sentences, tokens and words both have; see `raw_scores`. Each further figure is
over the words that both have, and of these the ones with a value in both files:
  share  how many of them have the same value
  kappa  Cohen's: (p - e) / (1 - e), where p is the share, and e the share that two people would
         reach who choose at random, each value as often as they did (Cohen 1960)
Relations are compared without subtypes and whatever the heads. UAS and LAS are the shares of the
same heads, and of the same heads and relations.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dynet_vdgi.evaluation.raw_scores import Score, in_both
from dynet_vdgi.evaluation.two_files import Pair, Stretch, TwoFiles
from dynet_vdgi.relations.ud_relations import relation_of
from dynet_vdgi.system.messages import count
from dynet_vdgi.system.text_tables import aligned as laid_out

TITLES = {
    "upos": "UPOS",
    "xpos": "XPOS",
    "feats": "FEATS",
    "lemma": "lemma",
    "head": "head (UAS)",
    "deprel": "relation",
    "subtype": "relation with subtype",
    "both": "head and relation (LAS)",
}
"""The figures over words, with their names for people."""

_WITH_KAPPA = ("upos", "xpos", "deprel", "subtype")

_CONFUSED = ("upos", "deprel")


@dataclass
class Pairings:
    """The pairs of values of the words that have one in both files; `same` counts equal ones."""

    same: int = 0
    words: int = 0
    pairs: Counter[tuple[str, str]] = field(default_factory=Counter)

    @property
    def share(self) -> float:
        """From 0 to 1; NaN over nothing."""
        return self.same / self.words if self.words else math.nan

    @property
    def kappa(self) -> float:
        """Cohen's kappa; NaN over nothing, and where both use one and the same value only.

        >>> pairings = Pairings()
        >>> for pair in [("NOUN", "NOUN"), ("VERB", "VERB"), ("NOUN", "VERB"), ("NOUN", "NOUN")]:
        ...     pairings.add(pair[0] == pair[1], pair)
        >>> pairings.kappa  # the same in 3 of 4 words, by chance in 1 of 2
        0.5
        """
        sides = Counter[str](), Counter[str]()
        for pair, times in self.pairs.items():
            for side, value in zip(sides, pair):
                side[value] += times
        n = self.pairs.total()
        same = sum(times for (one, other), times in self.pairs.items() if one == other)
        by_chance = sum(times * sides[1][value] for value, times in sides[0].items())
        return (n * same - by_chance) / (n * n - by_chance) if by_chance < n * n else math.nan

    def add(self, is_same: bool, values: tuple[str, str] | None = None) -> None:
        self.same += is_same
        self.words += 1
        if values is not None:
            self.pairs[values] += 1


class Unlike(NamedTuple):
    """A stretch of text that differs in the files: where it begins, and in how many words."""

    one: str  # path:line
    other: str
    sent_id: str
    text: str
    words: int  # of the first file
    differing: int
    by_column: dict[str, int]  # "words": words of either side that the other does not have


@dataclass(frozen=True)
class Agreement:
    """All figures of two files; see the module."""

    one: str
    other: str
    f1: dict[str, Score]
    counts: dict[str, Pairings]  # by the keys of TITLES
    unlike: list[Unlike]  # the most different first
    note: str  # what the figures are over

    def confusions(self, column: str, most: int) -> list[tuple[str, str, int]]:
        """The most frequent pairs of different values, with their numbers."""
        unequal = Counter(
            {pair: n for pair, n in self.counts[column].pairs.items() if pair[0] != pair[1]}
        )
        ranked = sorted(unequal.items(), key=lambda item: (-item[1], item[0]))
        return [(one, other, n) for (one, other), n in ranked[:most]]

    def to_dict(self, worst: int, most: int) -> dict[str, Any]:
        """Ready for JSON: shares from 0 to 1, null over nothing."""

        def figure(*values: float | None) -> dict[str, float | None]:
            finite = [None if value is None or math.isnan(value) else value for value in values]
            return dict(zip(("same", "first", "second", "share", "kappa"), finite))

        figures = {
            name: figure(s.right, s.gold, s.system, s.f1, None) for name, s in self.f1.items()
        }
        for name, one in self.counts.items():
            kappa = one.kappa if name in _WITH_KAPPA else None
            figures[name] = figure(one.same, one.words, one.words, one.share, kappa)
        return {
            "first": self.one,
            "second": self.other,
            "note": self.note,
            "figures": figures,
            "confusions": {column: self.confusions(column, most) for column in _CONFUSED},
            "most_different": [unlike._asdict() for unlike in self.unlike[:worst]],
        }

    def shown(self, worst: int, most: int) -> str:
        """All figures as text, with so many sentences and confusions of each column."""
        f1 = [["", "both", "first", "second", "F1"]]
        for name, score in self.f1.items():
            numbers = map(str, (score.right, score.gold, score.system))
            f1.append([name, *numbers, f"{100 * score.f1:.2f}"])
        shares = [["", "same", "words", "%", "kappa"]]
        for name, one in self.counts.items():
            kappa = _decimal(one.kappa, 1, 3) if name in _WITH_KAPPA else ""
            shares.append(
                [TITLES[name], str(one.same), str(one.words), _decimal(one.share, 100, 2), kappa]
            )
        parts = [
            f"{self.one} (first) and {self.other} (second)",
            laid_out(f1),
            laid_out(shares),
            self.note,
        ]
        for column in _CONFUSED:
            if confused := self.confusions(column, most):
                rows = [
                    [TITLES[column], "second", "words"],
                    *([a, b, str(n)] for a, b, n in confused),
                ]
                parts.append(laid_out(rows, left=2))
        if self.unlike and worst:
            parts.append(
                f"{count(len(self.unlike), 'sentence')} with differences, the most different first:"
            )
            parts += [_line_of(unlike) for unlike in self.unlike[:worst]]
        return "\n\n".join(parts)


def agreement(files: TwoFiles, *, punctuation: bool = True) -> Agreement:
    """The agreement of two files; without `punctuation`, words that either file calls so do not
    count."""
    one, other = files.one, files.other
    f1 = {
        "sentences": in_both(one.sentences, other.sentences),
        "tokens": in_both(one.tokens, other.tokens),
        "words": Score(len(files.pairs), len(one.words), len(other.words)),
    }
    counts = {name: Pairings() for name in TITLES}
    unlike = []
    for stretch in files.stretches():
        pairs = [pair for pair in stretch.pairs if punctuation or not files.is_punctuation(pair)]
        differences = _differences(files, stretch, pairs, counts)
        if differences.differing:
            unlike.append(differences)
    if not any(":" in value for pair in counts["subtype"].pairs for value in pair):
        del counts["subtype"]
    unlike.sort(key=lambda each: -each.differing)
    without = "" if punctuation else ", without punctuation"
    note = (
        f"words: those in both files{without} that have a value in both. "
        "kappa: Cohen's, over these words; "
        "relations are compared without subtypes, whatever the heads. DEPS, empty nodes, MISC and "
        "comments are not compared."
    )
    return Agreement(one.path, other.path, f1, counts, unlike, note)


def _differences(
    files: TwoFiles, stretch: Stretch, pairs: Iterable[Pair], counts: dict[str, Pairings]
) -> Unlike:
    """Counts the words of a stretch, and returns what is different in it."""
    differing, by_column = 0, Counter[str]()
    for pair in pairs:
        compared = [each for each in files.compared(pair) if files.is_comparable(pair, each.column)]
        different = [each.column for each in compared if not each.is_same]
        by_column.update(different)
        differing += bool(different)
        for column, _, first, second, is_same in compared:
            values = first, second
            if column == "deprel":
                counts["subtype"].add(is_same, values)
                values = relation_of(first), relation_of(second)
                is_same = values[0] == values[1]
                if files.is_comparable(pair, "head"):
                    counts["both"].add(is_same and "head" not in different)
            counts[column].add(is_same, values if column in _WITH_KAPPA else None)
    one, other = files.one, files.other
    blocks = one.blocks[stretch.ones[0]], other.blocks[stretch.others[0]]
    words = one.words_in(stretch.ones)
    cuts = len(stretch.ones) + len(stretch.others) - 2  # ends of sentences in one file only
    alone = len(words) + len(other.words_in(stretch.others)) - 2 * len(stretch.pairs)
    by_column.update(sentences=cuts, words=alone)
    return Unlike(
        f"{one.path}:{blocks[0].line}",
        f"{other.path}:{blocks[1].line}",
        files.sent_id(stretch),
        " ".join(one.columns[word][1] for word in words),
        len(words),
        differing + alone + cuts,
        {name: n for name, n in by_column.items() if n},
    )


def _line_of(unlike: Unlike) -> str:
    name = f" ({unlike.sent_id})" if unlike.sent_id else ""
    what = ", ".join(
        f"{TITLES.get(key, key).partition(' (')[0]} {n}" for key, n in unlike.by_column.items()
    )
    text = unlike.text if len(unlike.text) <= 100 else unlike.text[:97] + "..."
    differ = "differs" if unlike.differing == 1 else "differ"
    place = f"{unlike.one}, {unlike.other}{name}"
    return f"{place}: {unlike.differing} of {unlike.words} {differ}: {what}\n  {text}"


def _decimal(number: float, factor: int, digits: int) -> str:
    return "-" if math.isnan(number) else f"{factor * number:.{digits}f}"
