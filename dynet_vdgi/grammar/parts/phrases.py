"""Adpositions, determiners and the phrases they stand in front of, or behind.

    adposition object = 2 ADP

An adposition is made to depend on the object that stands behind it (before it, where the text has
postpositions).

    phrase edge = 2 ADP DET

Nothing inside a phrase depends on what is outside of its adposition: arcs from a nominal object to words on
or beyond the place of its adposition lose this, but those to adpositions, adverbs and conjunctions; the
same for determiners.

    preposition and head = 1 NOUN PROPN | VERB

Which words take which preposition (Hindle & Rooth 1993), counted where it is plain, in nats from -1.5 to
1.5.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from dynet_vdgi.grammar.parts.kinds import Kind
from dynet_vdgi.grammar.settings import Setting, Syntax
from dynet_vdgi.grammar.statistics import Text
from dynet_vdgi.grammar.views import Floats, View

NOUNS = ("NOUN", "PROPN")
NOMINALS = ("NOUN", "PROPN", "PRON", "NUM", "SYM", "X")
OUTSIDE = ("ADP", "ADV", "CONJ", "CCONJ")
THROUGH = ("DET", "ADJ", "NUM", "ADV", "PART", "PRON", "ADP")
MOST = 1.5


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
    """Where the run of words that can stand between ends, and so what the object is; -1: there is none."""
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


# ------------------------------------------------------------------------------------------- prepositions
def _measure_heads(views: Sequence[View], setting: Setting, text: Text) -> dict[str, Any]:
    """Counts [N, V] of each preposition behind any word, and of each word and preposition behind it."""
    nouns, verbs = setting.groups
    total = [0, 0]
    by_preposition: dict[str, list[int]] = {}
    by_word: Counter[str] = Counter()
    pairs: Counter[str] = Counter()
    for view in views:
        seen_verb = False
        for word, tag in enumerate(view.tags):
            is_verb = verbs.has(tag)
            seen_verb |= is_verb
            if not is_verb and (seen_verb or not nouns.has(tag)):
                continue
            follows = word + 1 < view.n and view.tags[word + 1] == "ADP"
            preposition = view.forms[word + 1] if follows else ""
            total[is_verb] += 1
            by_preposition.setdefault(preposition, [0, 0])[is_verb] += 1
            key = "VN"[not is_verb] + view.forms[word]
            by_word[key] += 1
            if preposition:
                pairs[f"{key} {preposition}"] += 1
    return {
        "total": total,
        "prepositions": dict(sorted(by_preposition.items())),
        "words": {word: times for word, times in sorted(by_word.items()) if times > 1},
        "pairs": dict(sorted(pairs.items())),
    }


def affinity(found: dict[str, Any], form: str, is_verb: bool, preposition: str) -> float:
    """How much more often this word has the preposition than words in general have it, in nats."""
    total, of_preposition = found["total"], found["prepositions"].get(preposition, [0, 0])
    overall = (sum(of_preposition) + 1) / (sum(total) + 50)
    base = (of_preposition[is_verb] + 5 * overall) / (total[is_verb] + 5)
    key = "VN"[not is_verb] + form
    pair = found["pairs"].get(f"{key} {preposition}", 0)
    own = (pair + 5 * base) / (max(found["words"].get(key, 0), pair) + 5)
    return max(-MOST, min(MOST, math.log(own / overall)))


def _add_heads(view: View, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    if text.order.asymmetry("ADP") < 0:
        return
    found = text.found[setting.name]
    nouns, verbs = setting.groups
    for edge, target in objects(view.tags, True).items():
        if view.read[target] in NOMINALS:
            for head in range(edge):
                tag = view.read[head]
                if verbs.has(tag) or nouns.has(tag):
                    arcs[head, target] += setting.weight * affinity(
                        found, view.forms[head], verbs.has(tag), view.forms[edge]
                    )


KINDS = (
    Kind("adposition object", Syntax(("adpositions",)), add=_add_objects),
    Kind("phrase edge", Syntax(("edges",)), add=_add_edges),
    Kind("preposition and head", Syntax(("nouns", "verbs")), _measure_heads, add=_add_heads),
)
