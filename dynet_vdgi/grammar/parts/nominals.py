"""Parts of rule tables about nominals: runs, phrases, agreement, coordination.

Runs of nominals without particles between them, where the morphs of XPOS show the particles.

    flat run = 5 NOUN PROPN NUM PRON | NOUN PROPN NUM ADV ; bare NNG NNP ; particle JKS JKO

A run continues from a word of the first group whose XPOS ends, after its last +, with one of `bare`, to the
next word, if that is of the second group. The first word of a run is the head of the others, and takes over
the particle at the end of the run. The part counts in proportion to the share of nominals with one of the
particles.

    name end = 8 PROPN

In a sequence of words of the group, without punctuation between them, the last is the head.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from dynet_vdgi.grammar.parts.kinds import Kind
from dynet_vdgi.grammar.statistics import Text
from dynet_vdgi.grammar.table import Setting, Syntax
from dynet_vdgi.grammar.views import NOTHING, View, WordType, features_of, last_morph
from dynet_vdgi.system.arrays import Floats

FULL_SHARE = 0.1
"""Share of nominals with particles at which the part has full weight."""


def _measure(views: Sequence[View], setting: Setting, text: Text) -> float:
    nominals, particles = setting.groups[0].tags, setting.names("particle")
    found = [
        last_morph(xpos) in particles for v in views for tag, xpos in zip(v.tags, v.xpos) if tag in nominals
    ]
    return round(min(1.0, sum(found) / max(1, len(found)) / FULL_SHARE), 4)


def _read(view: View, setting: Setting, text: Text) -> None:
    if not text.found[setting.name]:
        return
    before, after = setting.groups
    bare = setting.names("bare")

    def is_bare(word: WordType) -> bool:
        tag, feats, xpos = word
        return (last_morph(xpos) or xpos) in bare and before.has(tag, feats)

    follows = view.where(lambda word: after.has(*word[:2])) & ~view.are_gaps
    follows[1:] &= view.where(is_bare)[:-1]
    follows[:1] = False
    view.mark_symbols(follows, "+flat")
    for word in np.flatnonzero(follows).tolist():
        first = view.runs.get(word - 1, word - 1)
        view.runs[word] = first
        view.run_ends[first] = word


def _add(view: View, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    weight = setting.weight * text.found[setting.name]
    for word, first in view.runs.items():
        arcs[first, word] += weight


def _add_ends(view: View, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    names, start = view.flags(setting.groups[0]), 0
    for word in range(1, view.n + 1):
        if word == view.n or not names[word] or not names[word - 1] or view.gaps[word]:
            if names[start] and word - start > 1:
                arcs[word - 1, start : word - 1] += setting.weight
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
# A nominal object heads nothing beyond its own phrase: arcs from it to words at or beyond the place of its
# adposition lose this weight, except arcs to adpositions, adverbs and conjunctions. Determiners are treated
# in the same way.


NOUNS = ("NOUN", "PROPN")
NOMINALS = ("NOUN", "PROPN", "PRON", "NUM", "SYM", "X")
OUTSIDE = ("ADP", "ADV", "CONJ", "CCONJ")
THROUGH = ("DET", "ADJ", "NUM", "ADV", "PART", "PRON", "ADP")


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


def _add_objects(view: View, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    for adposition, target in objects(view.tags, text.order.asymmetry("ADP") >= 0).items():
        arcs[target, adposition] += setting.weight


def _add_edges(view: View, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    weight, tags = setting.weight, view.read
    if setting.groups[0].has("ADP"):
        inner = np.array([tag not in OUTSIDE for tag in tags], dtype=float)
        for edge, target in objects(view.tags, text.order.asymmetry("ADP") >= 0).items():
            if tags[target] in NOMINALS and target not in view.predicates:
                if edge < target:
                    arcs[target, : edge + 1] -= weight * inner[: edge + 1]
                else:
                    arcs[target, edge + 1 :] -= weight * inner[edge + 1 :]
    if setting.groups[0].has("DET") and text.order.asymmetry("DET") >= 0:
        inner = np.array([tag not in OUTSIDE and tag != "DET" for tag in tags], dtype=float)
        for edge, tag in enumerate(tags):
            if tag == "DET":
                target = edge + 1
                while target < view.n and tags[target] in ("ADJ", "NUM", "ADV", "DET"):
                    target += 1
                if target < view.n and tags[target] in NOUNS and target not in view.predicates:
                    arcs[target, : edge + 1] -= weight * inner[: edge + 1]


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


def _add_of_agreement(view: View, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    words, heads = setting.groups
    names = setting.names("by")
    known = [i for i in range(view.n) if view.feats[i] != NOTHING]
    nominal = [i for i in known if view.has(heads, i)]
    if nominal:
        for word in [i for i in known if view.has(words, i)]:
            for head in nominal:
                arcs[head, word] += setting.weight * _agreement(view.feats[word], view.feats[head], names)


AGREEMENT_KINDS = (Kind("agreement", Syntax(("words", "heads"), {"by": "names"}), add=_add_of_agreement),)


# ----------------------------------------------------------------------------------------------------
# Conjuncts and their conjunctions.
#
# following conjunct = 2 CCONJ | NOUN PROPN PRON | VERB ; verb VERB ; instead 2
#
# A conjunction between two words of one of the other groups depends on the *second*, the next word of the
# group before a verb or another conjunction; the first, the last such word before it with no verb between,
# loses `instead`.
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


def _add_following(view: View, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    conjunctions = np.flatnonzero(view.flags(setting.groups[0])).tolist()
    verb, instead = setting.group("verb"), setting.number("instead", 0.0)
    for joint in conjunctions:
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
                if view.has(verb, word) or word in conjunctions:
                    break
            if second >= 0:
                arcs[first, joint] -= instead
                arcs[second, joint] += setting.weight


def _add_clauses(view: View, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    conjunctions, verbs = (view.flags(group) for group in setting.groups)
    barrier = view.flags(setting.group("barrier")) | conjunctions
    subject = view.flags(setting.group("subject"))
    for joint in np.flatnonzero(conjunctions).tolist():
        second = joint + 1
        while second < view.n and not verbs[second] and not barrier[second] and second not in view.placed:
            second += 1
        first = joint - 1
        while first >= 0 and not verbs[first]:
            first -= 1
        if second < view.n and first >= 0 and verbs[second] and second not in view.placed:
            arcs[first, second] += setting.weight
            arcs[first, joint] += setting.weight * (not setting.group("second").has(view.read[joint]))
            arcs[second, joint] += setting.weight * setting.group("second").has(view.read[joint])
            for word in range(joint + 1, second):
                if subject[word]:
                    arcs[:joint, word] -= setting.weight


def _add_names(view: View, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    conjunctions, names = (view.flags(group) for group in setting.groups)
    over, tags = view.flags(setting.group("over")), view.read
    for joint in np.flatnonzero(conjunctions).tolist():
        if joint < 2 or joint + 1 >= view.n or not names[joint - 1] or tags[joint - 2] != tags[joint - 1]:
            continue
        start = joint - 1
        while start and tags[start - 1] == tags[joint - 1]:
            start -= 1
        second = joint + 1
        while second < view.n and over[second]:
            second += 1
        is_pair = second < view.n and tags[second] == tags[joint - 1]
        if setting.group("second").has(tags[joint]):
            if is_pair:
                arcs[second, joint] += setting.weight
        else:
            arcs[start, joint] += setting.weight
            arcs[joint - 1, joint] -= setting.weight / 2
        if is_pair:
            arcs[start, second] += setting.weight
            arcs[joint - 1, second] -= setting.weight / 2


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
    Kind(
        "name conjunct", Syntax(("conjunctions", "names"), {"over": "tags", "second": "tags"}), add=_add_names
    ),
)
