"""The evidence of adpositions, cases and last morphs about the head of a nominal, as measured in
the text.

markers = 1 NOUN PROPN | VERB ; over DET ADJ NUM ADV NOUN PROPN PRON ; case 1

The marker of a nominal (first group) is the adposition of its phrase, on the side where the text
has its adpositions: found by going left over at most 3 words of `over`, or the next word. Without
an adposition it is the Case, or else the last morph of an XPOS with +. The words around phrases
with a marker show whether the phrases belong to nouns or to verbs: in texts with prepositions and
sentence-internal verbs, the word before, otherwise the word after. The score of a marker, a log
ratio from -1.5 to 1.5, is added to arcs from the first group and taken from arcs from the second.

case = 1 Gen ; 0.3 Nom is written case = 1 NOUN PROPN ; for Gen ; weakly Nom

For words of the group with a case, `markers` adds this weight if the case is among `for`, subtracts
it otherwise, and subtracts only 0.3 of it if the case is among `weakly`.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from dynet_vdgi.rule_tables.measures import Text
from dynet_vdgi.rule_tables.part_settings import Setting, Syntax
from dynet_vdgi.rule_tables.parts.kinds import Kind
from dynet_vdgi.rule_tables.patterns import features_of
from dynet_vdgi.rule_tables.views import SideBySide, View, last_morph
from dynet_vdgi.system.array_types import Floats

MOST_EVIDENCE = 1.5

FARTHEST_WORDS = 3

FEW_CASES = 2

SHARE_OF_WEAK_CASE = 0.3

EDGE = ""

BY_FORM = "P:"


@lru_cache(maxsize=1 << 16)
def case_of(feats: str) -> str:
    """The case, or several with commas; "" for none."""
    return ",".join(sorted(features_of(feats).get("Case", ())))


def marker_of(
    view: View, word: int, over: frozenset[str], has_prepositions: bool
) -> tuple[str, int, int]:
    """A nominal's marker, and the first and last word it marks; `over`: tags of words in
    between."""
    tags = view.tags
    if has_prepositions:
        place = word - 1
        while place >= 0 and word - place <= FARTHEST_WORDS and tags[place] in over:
            place -= 1
        if place >= 0 and tags[place] == "ADP":
            return BY_FORM + view.form(place), place, word
    elif word + 1 < view.n and tags[word + 1] == "ADP":
        end = word + 1
        # of two adpositions the outer one counts
        while end + 1 < view.n and tags[end + 1] == "ADP":
            end += 1
        return BY_FORM + view.form(end), word, end
    end = view.run_ends.get(word, word)
    case = case_of(view.feats[end])
    return "C:" + case if case else "X:" + last_morph(view.xpos[end]), word, end


def log_ratio(counts: Mapping[str, int], good: Iterable[str], bad: Iterable[str]) -> float:
    """How much more often one set of tags was counted than the other, in nats."""
    return math.log(
        (sum(counts[t] for t in good) + FEW_CASES) / (sum(counts[t] for t in bad) + FEW_CASES)
    )


def _measure_of_markers(views: Sequence[View], setting: Setting, text: Text) -> dict[str, float]:
    nominals, over = setting.groups[0].tags, setting.group("over").plain
    has_prepositions = text.order.asymmetry("ADP") >= 0
    before: dict[str, Counter[str]] = defaultdict(Counter)
    after: dict[str, Counter[str]] = defaultdict(Counter)
    for view in views:
        for word, tag in enumerate(view.tags):
            if tag in nominals and word not in view.runs:
                marker, start, end = marker_of(view, word, over, has_prepositions)
                before[marker][view.tags[start - 1] if start else EDGE] += 1
                after[marker][view.tags[end + 1] if end + 1 < view.n else EDGE] += 1
    good: tuple[str, ...]
    bad: tuple[str, ...]
    if text.order.asymmetry("ADP") < 0 or text.is_named(setting.names("final")):
        counts, good, bad = (
            after,
            ("NOUN", "PROPN", "ADJ", "NUM", "DET"),
            ("VERB", "AUX", "ADV", EDGE),
        )
    else:
        counts, good, bad = before, ("NOUN", "PROPN"), ("VERB", "AUX", EDGE)
    total: Counter[str] = Counter()
    for of_marker in counts.values():
        total.update(of_marker)
    average = log_ratio(total, good, bad)
    return {m: round(log_ratio(c, good, bad) - average, 4) for m, c in sorted(counts.items())}


def scores_of(view: View, setting: Setting, text: Text) -> list[float]:
    """The score (n,) of each word's marker; 0 for words without a marker."""
    scores = [0.0] * view.n
    cached_scores, nominals, over = (
        setting.cache,
        setting.groups[0].tags,
        setting.group("over").plain,
    )
    has_prepositions = text.order.asymmetry("ADP") >= 0
    for word in [word for word, tag in enumerate(view.tags) if tag in nominals]:
        if word not in view.runs:
            marker, _, _ = marker_of(view, word, over, has_prepositions)
            key = marker, view.feats[view.run_ends.get(word, word)]
            score = cached_scores.get(key)
            if score is None:
                score = cached_scores[key] = _score(*key, setting, text)
            scores[word] = score
    return scores


def _score(marker: str, feats: str, setting: Setting, text: Text) -> float:
    score: float = text.findings[setting.name].get(marker, 0.0)
    if case := case_of(feats):
        is_weak, is_good = case in setting.names("weakly"), case in setting.names("for")
        score += setting.number("case", 0.0) * (
            1.0 if is_good else -SHARE_OF_WEAK_CASE if is_weak else -1.0
        )
    return max(-MOST_EVIDENCE, min(MOST_EVIDENCE, score))


def _add_of_markers(
    views: SideBySide, setting: Setting, text: Text, roots: Floats, arcs: Floats
) -> None:
    scores = setting.weight * views.array(
        (scores_of(view, setting, text) for view in views.views), 0.0
    )
    nouns, verbs = (views.flags(group) for group in setting.groups)
    arcs += nouns[:, :, None] * scores[:, None]
    arcs -= verbs[:, :, None] * scores[:, None]


MARKERS = Kind(
    "markers",
    Syntax(
        ("nominals", "verbs"),
        {
            "over": "tags",
            "case": "number",
            "for": "names",
            "weakly": "names",
            "final": "names",
        },
    ),
    _measure_of_markers,
    add=_add_of_markers,
)

MARKERS_KINDS = (MARKERS,)
