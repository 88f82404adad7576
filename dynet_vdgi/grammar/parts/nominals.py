"""Parts of rule tables about nominals: runs, phrases, agreement, coordination, markers.

Runs of nominals without particles between them, where the morphs of XPOS show the particles.

    flat run = 5 NOUN PROPN NUM PRON | NOUN PROPN NUM ADV ; bare NNG NNP ; particle JKS JKO

A run continues from a word of the first group whose XPOS ends, after its last +, with one of `bare`, to the next
word, if that is of the second group. The first word of a run is the head of the others, and takes over the particle
at the end of the run. The part counts in proportion to the share of nominals with one of the particles.

    name end = 8 PROPN

In a sequence of words of the group, without punctuation between them, the last is the head.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

import numpy as np

from dynet_vdgi.grammar.parts.kinds import Kind
from dynet_vdgi.grammar.statistics import Text
from dynet_vdgi.grammar.table import Setting, Syntax
from dynet_vdgi.grammar.views import NOTHING, Group, SideBySide, View, WordType, features_of, last_morph
from dynet_vdgi.system.arrays import Floats

FULL_SHARE = 0.1
"""Share of nominals with particles at which the part has full weight."""


def _measure(views: Sequence[View], setting: Setting, text: Text) -> float:
    nominals, particles = setting.groups[0].tags, setting.names("particle")
    found = [last_morph(xpos) in particles for v in views for tag, xpos in zip(v.tags, v.xpos) if tag in nominals]
    return round(min(1.0, sum(found) / max(1, len(found)) / FULL_SHARE), 4)


def _read(views: SideBySide, setting: Setting, text: Text) -> None:
    if not text.found[setting.name]:
        return
    before, after = setting.groups
    bare = setting.names("bare")

    def is_bare(word: WordType) -> bool:
        tag, feats, xpos = word
        return (last_morph(xpos) or xpos) in bare and before.has(tag, feats)

    for view in views.views:
        for word in range(1, view.n):
            if view.gaps[word] or not after.has(*view.words[word][:2]) or not is_bare(view.words[word - 1]):
                continue
            view.symbols[word] += "+flat"
            first = view.runs.get(word - 1, word - 1)
            view.runs[word] = first
            view.run_ends[first] = word


def _add(views: SideBySide, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    weight = setting.weight * text.found[setting.name]
    for s, view in enumerate(views.views):
        for word, first in view.runs.items():
            arcs[s, first, word] += weight


def _add_ends(views: SideBySide, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    every = views.flags(setting.groups[0])
    for s in np.flatnonzero(every.any(axis=1)).tolist():
        names, start = every[s], 0
        for word in range(1, views.n + 1):
            if word == views.n or not names[word] or not names[word - 1] or views.are_gaps[s, word]:
                if names[start] and word - start > 1:
                    arcs[s, word - 1, start : word - 1] += setting.weight
                start = word


NOMINAL_RUNS_KINDS = (
    Kind("name end", Syntax(("names",)), add=_add_ends),
    Kind(
        "flat run",
        Syntax(("nominals", "what follows"), {"bare": "names", "particle": "names"}),
        _measure,
        _read,
        _add,
    ),
)


# ----------------------------------------------------------------------------------------------------
# Adpositions and determiners, and the phrases that they precede or follow.
#
# adposition object = 2 ADP
#
# An adposition depends on the object behind it (before it, in texts with postpositions).
#
# phrase edge = 2 ADP DET
#
# A nominal object heads nothing beyond its own phrase: arcs from it to words at or beyond the place of its adposition
# lose this weight, except arcs to adpositions, adverbs and conjunctions. Determiners are treated in the same way.


NOUNS = ("NOUN", "PROPN")
NOMINALS = ("NOUN", "PROPN", "PRON", "NUM", "SYM", "X")
OUTSIDE = ("ADP", "ADV", "CONJ", "CCONJ")
THROUGH = ("DET", "ADJ", "NUM", "ADV", "PART", "PRON", "ADP")
_OUTSIDE, _OUTSIDE_OR_DET, _DET = Group.of_tags(*OUTSIDE), Group.of_tags(*OUTSIDE, "DET"), Group.of_tags("DET")


def objects(tags: Sequence[str], has_prepositions: bool) -> dict[int, int]:
    """The object of each adposition that has one."""
    n, found = len(tags), {}
    step = 1 if has_prepositions else -1
    for adposition, tag in enumerate(tags):
        if tag != "ADP":
            continue
        end, run = adposition + step, []
        while 0 <= end < n and tags[end] in THROUGH:
            run.append(end)
            end += step
        target = _object(tags, adposition, step, end, run)
        if target >= 0:
            found[adposition] = target
    return found


def _object(tags: Sequence[str], adposition: int, step: int, end: int, run: list[int]) -> int:
    """The end of the run of words that may intervene, which is the object; -1: there is none."""
    others = [k for k, word in enumerate(run) if tags[word] == "ADP"]
    if 0 <= end < len(tags) and tags[end] in (*NOUNS, "X", "SYM"):
        if run and tags[run[0]] == "PRON" and len(run) > 1 and tags[run[1]] in ("DET", "ADP", "ADV"):
            return run[0]
        if others:
            inside = [word for word in run[: others[0]] if tags[word] in ("PRON", "NUM", "ADJ", "DET")]
            if inside:
                return inside[-1]
        return end
    if others and others[0] > 0:
        run = run[: others[0]]
    inside = [word for word in run if tags[word] in ("PRON", "NUM", "ADJ")]
    is_verb = 0 <= end < len(tags) and tags[end] == "VERB"
    if is_verb and not others and all(tags[word] in ("PRON", "PART", "ADV") for word in run):
        return end
    if inside:
        return inside[0] if tags[inside[0]] == "PRON" else inside[-1]
    inside = [word for word in run if tags[word] in ("ADV", "DET")]
    return inside[-1] if inside else -1


def _add_objects(views: SideBySide, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    for s, view in enumerate(views.views):
        for adposition, target in objects(view.tags, text.order.asymmetry("ADP") >= 0).items():
            arcs[s, target, adposition] += setting.weight


def _add_edges(views: SideBySide, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    if setting.groups[0].has("ADP"):
        taken = setting.weight * ~views.flags(_OUTSIDE)
        for s, view in enumerate(views.views):
            for edge, target in objects(view.tags, text.order.asymmetry("ADP") >= 0).items():
                if view.read[target] in NOMINALS and target not in view.predicates:
                    outside = slice(edge + 1) if edge < target else slice(edge + 1, None)
                    arcs[s, target, outside] -= taken[s, outside]
    if setting.groups[0].has("DET") and text.order.asymmetry("DET") >= 0:
        taken = setting.weight * ~views.flags(_OUTSIDE_OR_DET)
        for s, edge in views.places(_DET):
            view, target = views.views[s], edge + 1
            while target < view.n and view.read[target] in ("ADJ", "NUM", "ADV", "DET"):
                target += 1
            if target < view.n and view.read[target] in NOUNS and target not in view.predicates:
                arcs[s, target, : edge + 1] -= taken[s, : edge + 1]


PHRASES_KINDS = (
    Kind("adposition object", Syntax(("adpositions",)), add=_add_objects),
    Kind("phrase edge", Syntax(("edges",)), add=_add_edges),
)


# ----------------------------------------------------------------------------------------------------
# Words that agree with their heads.
#
# agreement = 1 ADJ DET NUM | NOUN PROPN PRON ; by Case Gender Number
#
# An arc to a word of the first group from a head of the second loses this weight if their FEATS share one
# of these features but none of its values; if all shared features agree, the arc gains 0.3 of the weight.


AGREES = 0.3


@lru_cache(maxsize=1 << 16)
def _agreement(one: str, other: str, names: tuple[str, ...]) -> float:
    """-1: they differ; AGREES: they share a feature and differ in none; 0: they share no feature."""
    left, right = features_of(one), features_of(other)
    shared = [name for name in names if name in left and name in right]
    if any(left[name].isdisjoint(right[name]) for name in shared):
        return -1.0
    return AGREES if shared else 0.0


def _add_of_agreement(views: SideBySide, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    (readings, numbers), names = views.numbered(with_feats=True), setting.names("by")
    feats = [feats for _, feats in readings]
    has_feats = np.array([value != NOTHING for value in feats])[numbers]
    words, heads = (views.flags(group) & has_feats for group in setting.groups)
    s, head, word = np.nonzero(heads[:, :, None] & words[:, None])
    pairs = (numbers[s, word] * len(feats) + numbers[s, head]).tolist()
    known = {pair: _agreement(feats[pair // len(feats)], feats[pair % len(feats)], names) for pair in set(pairs)}
    arcs[s, head, word] += setting.weight * np.array([known[pair] for pair in pairs])


AGREEMENT_KINDS = (Kind("agreement", Syntax(("words", "heads"), {"by": "names"}), add=_add_of_agreement),)


# ----------------------------------------------------------------------------------------------------
# Conjuncts and their conjunctions.
#
# following conjunct = 2 CCONJ | NOUN PROPN PRON | VERB ; verb VERB ; instead 2
#
# A conjunction between two words of one of the other groups depends on the *second*, the next word of the group
# before a verb or another conjunction; the first, the last such word before it with no verb between, loses `instead`.
#
# clause conjunct = 2 CCONJ CONJ | VERB ; barrier SCONJ ; subject NOUN PROPN PRON ADJ
#
# The next verb after a conjunction, with no barrier between, is joined to the last verb before it; the
# words between the conjunction and its verb do not depend on anything further left.
#
# name conjunct = 4 CCONJ CONJ | PROPN X ; over ADP DET
#
# A conjunction after a run of two or more equal tags of the second group, and a word of the tag behind it,
# belong to the first word of the run.


def _add_following(views: SideBySide, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    conjunctions = views.flags(setting.groups[0])
    verb, instead = setting.group("verb"), setting.number("instead", 0.0)
    for s, joint in views.places(setting.groups[0]):
        view = views.views[s]
        last_verb = view.first(verb, joint - 1, -1, -1)
        for group in setting.groups[1:]:
            first = view.first(group, joint - 1, -1, -1)
            if first < 0 or first < last_verb:
                continue
            second = -1
            for word in range(joint + 1, view.n):
                if view.has(group, word):
                    second = word
                    break
                if view.has(verb, word) or conjunctions[s, word]:
                    break
            if second >= 0:
                arcs[s, first, joint] -= instead
                arcs[s, second, joint] += setting.weight


def _add_clauses(views: SideBySide, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    conjunctions, verbs = (views.flags(group) for group in setting.groups)
    barrier = views.flags(setting.group("barrier")) | conjunctions
    subject, n = views.flags(setting.group("subject")), views.n
    for s, joint in views.places(setting.groups[0]):
        view, second = views.views[s], joint + 1
        while second < n and not verbs[s, second] and not barrier[s, second] and second not in view.placed:
            second += 1
        first = joint - 1
        while first >= 0 and not verbs[s, first]:
            first -= 1
        if second < n and first >= 0 and verbs[s, second] and second not in view.placed:
            arcs[s, first, second] += setting.weight
            arcs[s, first, joint] += setting.weight * (not setting.group("second").has(view.read[joint]))
            arcs[s, second, joint] += setting.weight * setting.group("second").has(view.read[joint])
            for word in range(joint + 1, second):
                if subject[s, word]:
                    arcs[s, :joint, word] -= setting.weight


def _add_names(views: SideBySide, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    names, over = views.flags(setting.groups[1]), views.flags(setting.group("over"))
    for s, joint in views.places(setting.groups[0]):
        tags, n = views.views[s].read, views.views[s].n
        if joint < 2 or joint + 1 >= n or not names[s, joint - 1] or tags[joint - 2] != tags[joint - 1]:
            continue
        start = joint - 1
        while start and tags[start - 1] == tags[joint - 1]:
            start -= 1
        second = joint + 1
        while second < n and over[s, second]:
            second += 1
        is_pair = second < n and tags[second] == tags[joint - 1]
        if setting.group("second").has(tags[joint]):
            if is_pair:
                arcs[s, second, joint] += setting.weight
        else:
            arcs[s, start, joint] += setting.weight
            arcs[s, joint - 1, joint] -= setting.weight / 2
        if is_pair:
            arcs[s, start, second] += setting.weight
            arcs[s, joint - 1, second] -= setting.weight / 2


COORDINATION_KINDS = (
    Kind(
        "following conjunct",
        Syntax(("conjunctions", "conjuncts"), {"verb": "tags", "instead": "number"}, more=True),
        add=_add_following,
    ),
    Kind(
        "clause conjunct",
        Syntax(("conjunctions", "verbs"), {"barrier": "tags", "subject": "tags", "second": "tags"}),
        add=_add_clauses,
    ),
    Kind("name conjunct", Syntax(("conjunctions", "names"), {"over": "tags", "second": "tags"}), add=_add_names),
)


# ----------------------------------------------------------------------------------------------------
# The evidence of adpositions, cases and last morphs about the head of a nominal, as measured in the text.
#
# markers = 1 NOUN PROPN | VERB ; over DET ADJ NUM ADV NOUN PROPN PRON ; case 1
#
# The marker of a nominal (first group) is the adposition of its phrase, on the side where the text has its
# adpositions: found by going left over at most 3 words of `over`, or the next word. Without an adposition
# it is the Case, or else the last morph of an XPOS with +. The words around phrases with a marker show
# whether the phrases belong to nouns or to verbs: in texts with prepositions and sentence-internal verbs,
# the word before, otherwise the word after. The score of a marker, a log ratio from -1.5 to 1.5, is added
# to arcs from the first group and taken from arcs from the second.
#
# case = 1 Gen ; 0.3 Nom is written case = 1 NOUN PROPN ; for Gen ; weakly Nom
#
# For words of the group with a case, `markers` adds this weight if the case is among `for`, subtracts it
# otherwise, and subtracts only 0.3 of it if the case is among `weakly`.


MOST_EVIDENCE = 1.5
FARTHEST = 3
FEW = 2
WEAKLY = 0.3
EDGE = ""
BY_FORM = "P:"


@lru_cache(maxsize=1 << 16)
def case_of(feats: str) -> str:
    """The case, or several with commas; "" for none."""
    return ",".join(sorted(features_of(feats).get("Case", ())))


def marker_of(view: View, word: int, over: frozenset[str], has_prepositions: bool) -> tuple[str, int, int]:
    """A nominal's marker, and the first and last word it marks; `over`: tags of words in between."""
    tags = view.tags
    if has_prepositions:
        place = word - 1
        while place >= 0 and word - place <= FARTHEST and tags[place] in over:
            place -= 1
        if place >= 0 and tags[place] == "ADP":
            return BY_FORM + view.form(place), place, word
    elif word + 1 < view.n and tags[word + 1] == "ADP":
        end = word + 1
        while end + 1 < view.n and tags[end + 1] == "ADP":  # of two adpositions the outer one counts
            end += 1
        return BY_FORM + view.form(end), word, end
    end = view.run_ends.get(word, word)
    case = case_of(view.feats[end])
    return "C:" + case if case else "X:" + last_morph(view.xpos[end]), word, end


def log_ratio(counts: Mapping[str, int], good: Iterable[str], bad: Iterable[str]) -> float:
    """How much more often one set of tags was counted than the other, in nats."""
    return math.log((sum(counts[t] for t in good) + FEW) / (sum(counts[t] for t in bad) + FEW))


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
        counts, good, bad = after, ("NOUN", "PROPN", "ADJ", "NUM", "DET"), ("VERB", "AUX", "ADV", EDGE)
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
    known, nominals, over = setting.cache, setting.groups[0].tags, setting.group("over").plain
    has_prepositions = text.order.asymmetry("ADP") >= 0
    for word in [word for word, tag in enumerate(view.tags) if tag in nominals]:
        if word not in view.runs:
            marker, _, _ = marker_of(view, word, over, has_prepositions)
            key = marker, view.feats[view.run_ends.get(word, word)]
            score = known.get(key)
            if score is None:
                score = known[key] = _score(*key, setting, text)
            scores[word] = score
    return scores


def _score(marker: str, feats: str, setting: Setting, text: Text) -> float:
    score: float = text.found[setting.name].get(marker, 0.0)
    if case := case_of(feats):
        is_weak, is_good = case in setting.names("weakly"), case in setting.names("for")
        score += setting.number("case", 0.0) * (1.0 if is_good else -WEAKLY if is_weak else -1.0)
    return max(-MOST_EVIDENCE, min(MOST_EVIDENCE, score))


def _add_of_markers(views: SideBySide, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    scores = setting.weight * views.array((scores_of(view, setting, text) for view in views.views), 0.0)
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
