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

_OUTSIDE = Group.of_tags(*OUTSIDE)

_OUTSIDE_OR_DET = Group.of_tags(*OUTSIDE, "DET")

_DET = Group.of_tags("DET")


def objects(tags: Sequence[str], has_prepositions: bool) -> dict[int, int]:
    """The object of each adposition that has one, both as places from 0.

    In "in the old house" it is the noun behind the words that may intervene, in "house in" the
    noun before it, and in "for them to sleep" the pronoun:

    >>> objects(["ADP", "DET", "ADJ", "NOUN"], has_prepositions=True)
    {0: 3}
    >>> objects(["NOUN", "ADP"], has_prepositions=False)
    {1: 0}
    >>> objects(["ADP", "PRON", "PART", "AUX"], has_prepositions=True)
    {0: 1}
    """
    n, object_of = len(tags), {}
    step = 1 if has_prepositions else -1
    for adposition, tag in enumerate(tags):
        if tag != "ADP":
            continue
        end, run = adposition + step, []
        while 0 <= end < n and tags[end] in THROUGH:
            run.append(end)
            end += step
        if 0 <= end < n and tags[end] in (*NOUNS, "X", "SYM"):
            target = _object_before_noun(tags, run, end)
        else:
            target = _object_without_noun(tags, run, end)
        if target >= 0:
            object_of[adposition] = target
    return object_of


def _object_before_noun(tags: Sequence[str], run: list[int], noun: int) -> int:
    """The object of an adposition, if a run of words that may intervene ends before a noun.

    It is the noun, but for a pronoun before a further phrase ("with him in the house"), and for a
    nominal word before another adposition ("from one to the city"):

    >>> _object_before_noun(["ADP", "DET", "NOUN"], [1], 2)
    2
    >>> _object_before_noun(["ADP", "PRON", "ADP", "DET", "NOUN"], [1, 2, 3], 4)
    1
    >>> _object_before_noun(["ADP", "NUM", "ADP", "DET", "NOUN"], [1, 2, 3], 4)
    1
    """
    run_tags = [tags[word] for word in run]
    if run_tags[:1] == ["PRON"] and run_tags[1:2] in (["DET"], ["ADP"], ["ADV"]):
        return run[0]
    nominal = -1
    for word, tag in zip(run, run_tags):
        if tag == "ADP":
            return nominal if nominal >= 0 else noun
        if tag in ("PRON", "NUM", "ADJ", "DET"):
            nominal = word
    return noun


def _object_without_noun(tags: Sequence[str], run: list[int], end: int) -> int:
    """The object of an adposition, if no noun follows the run of words that may intervene; -1:
    there is none.

    It is a verb after the run ("by slowly leaving"), else the first pronoun or the last numeral or
    adjective of the run before another adposition, else its last adverb or determiner:

    >>> _object_without_noun(["ADP", "ADV", "VERB"], [1], 2)
    2
    >>> _object_without_noun(["ADP", "DET", "ADJ", "AUX"], [1, 2], 3)
    2
    >>> _object_without_noun(["ADP", "ADV"], [1], 2)
    1
    """
    run_tags = [tags[word] for word in run]
    is_verb = 0 <= end < len(tags) and tags[end] == "VERB"
    if is_verb and all(tag in ("PRON", "PART", "ADV") for tag in run_tags):
        return end
    if "ADP" in run_tags and run_tags[0] != "ADP":
        run = run[: run_tags.index("ADP")]
    nominals = [word for word in run if tags[word] in ("PRON", "NUM", "ADJ")]
    if nominals:
        return nominals[0] if tags[nominals[0]] == "PRON" else nominals[-1]
    others = [word for word in run if tags[word] in ("ADV", "DET")]
    return others[-1] if others else -1


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
