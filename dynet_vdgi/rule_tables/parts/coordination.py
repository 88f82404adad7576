"""Conjuncts and their conjunctions.

following conjunct = 2 CCONJ | NOUN PROPN PRON | VERB ; verb VERB ; instead 2

A conjunction between two words of one of the other groups depends on the *second*, the next word of
the group before a verb or another conjunction; the first, the last such word before it with no verb
between, loses `instead`.

clause conjunct = 2 CCONJ CONJ | VERB ; barrier SCONJ ; subject NOUN PROPN PRON ADJ

The next verb after a conjunction, with no barrier between, is joined to the last verb before it;
the words between the conjunction and its verb do not depend on anything further left.

name conjunct = 4 CCONJ CONJ | PROPN X ; over ADP DET

A conjunction after a run of two or more equal tags of the second group, and a word of the tag
behind it, belong to the first word of the run.
"""

from __future__ import annotations

from dynet_vdgi.rule_tables.measures import Text
from dynet_vdgi.rule_tables.part_settings import Setting, Syntax
from dynet_vdgi.rule_tables.parts.kinds import Kind
from dynet_vdgi.rule_tables.views import SideBySide
from dynet_vdgi.system.array_types import Floats


def _add_following(
    views: SideBySide, setting: Setting, text: Text, roots: Floats, arcs: Floats
) -> None:
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


def _add_clauses(
    views: SideBySide, setting: Setting, text: Text, roots: Floats, arcs: Floats
) -> None:
    conjunctions, verbs = (views.flags(group) for group in setting.groups)
    barrier = views.flags(setting.group("barrier")) | conjunctions
    subject, n = views.flags(setting.group("subject")), views.n
    for s, joint in views.places(setting.groups[0]):
        view, second = views.views[s], joint + 1
        while (
            second < n
            and not verbs[s, second]
            and not barrier[s, second]
            and second not in view.placed
        ):
            second += 1
        first = joint - 1
        while first >= 0 and not verbs[s, first]:
            first -= 1
        if second < n and first >= 0 and verbs[s, second] and second not in view.placed:
            arcs[s, first, second] += setting.weight
            arcs[s, first, joint] += setting.weight * (
                not setting.group("second").has(view.read[joint])
            )
            arcs[s, second, joint] += setting.weight * setting.group("second").has(view.read[joint])
            for word in range(joint + 1, second):
                if subject[s, word]:
                    arcs[s, :joint, word] -= setting.weight


def _add_names(
    views: SideBySide, setting: Setting, text: Text, roots: Floats, arcs: Floats
) -> None:
    names, over = views.flags(setting.groups[1]), views.flags(setting.group("over"))
    for s, joint in views.places(setting.groups[0]):
        tags, n = views.views[s].read, views.views[s].n
        if (
            joint < 2
            or joint + 1 >= n
            or not names[s, joint - 1]
            or tags[joint - 2] != tags[joint - 1]
        ):
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
    Kind(
        "name conjunct",
        Syntax(("conjunctions", "names"), {"over": "tags", "second": "tags"}),
        add=_add_names,
    ),
)
