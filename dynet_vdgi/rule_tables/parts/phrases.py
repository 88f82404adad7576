"""Adpositions and determiners, and the phrases that they precede or follow.

adposition object = 2 ADP

An adposition depends on the object behind it (before it, in texts with postpositions).

phrase edge = 2 ADP DET

A nominal object heads nothing beyond its own phrase: arcs from it to words at or beyond the place
of its adposition lose this weight, except arcs to adpositions, adverbs and conjunctions.
Determiners are treated in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence

from dynet_vdgi.rule_tables.measures import Text
from dynet_vdgi.rule_tables.part_settings import Setting, Syntax
from dynet_vdgi.rule_tables.parts.kinds import Kind
from dynet_vdgi.rule_tables.patterns import Group
from dynet_vdgi.rule_tables.views import SideBySide
from dynet_vdgi.system.array_types import Floats

NOUNS = ("NOUN", "PROPN")

NOMINALS = ("NOUN", "PROPN", "PRON", "NUM", "SYM", "X")

OUTSIDE = ("ADP", "ADV", "CONJ", "CCONJ")

THROUGH = ("DET", "ADJ", "NUM", "ADV", "PART", "PRON", "ADP")

_OUTSIDE, _OUTSIDE_OR_DET, _DET = (
    Group.of_tags(*OUTSIDE),
    Group.of_tags(*OUTSIDE, "DET"),
    Group.of_tags("DET"),
)


def objects(tags: Sequence[str], has_prepositions: bool) -> dict[int, int]:
    """The object of each adposition that has one."""
    n, object_of = len(tags), {}
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
            object_of[adposition] = target
    return object_of


def _object(tags: Sequence[str], adposition: int, step: int, end: int, run: list[int]) -> int:
    """The end of the run of words that may intervene, which is the object; -1: there is none."""
    others = [k for k, word in enumerate(run) if tags[word] == "ADP"]
    if 0 <= end < len(tags) and tags[end] in (*NOUNS, "X", "SYM"):
        if (
            run
            and tags[run[0]] == "PRON"
            and len(run) > 1
            and tags[run[1]] in ("DET", "ADP", "ADV")
        ):
            return run[0]
        if others:
            inside = [
                word for word in run[: others[0]] if tags[word] in ("PRON", "NUM", "ADJ", "DET")
            ]
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


def _add_objects(
    views: SideBySide, setting: Setting, text: Text, roots: Floats, arcs: Floats
) -> None:
    for s, view in enumerate(views.views):
        for adposition, target in objects(view.tags, text.order.asymmetry("ADP") >= 0).items():
            arcs[s, target, adposition] += setting.weight


def _add_edges(
    views: SideBySide, setting: Setting, text: Text, roots: Floats, arcs: Floats
) -> None:
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
