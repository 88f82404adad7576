"""Conjuncts and their conjunctions.

    following conjunct = 2 CCONJ | NOUN PROPN PRON | VERB ; verb VERB ; instead 2

A conjunction between two words of one of the other groups depends on the *second*, the next word of the
group before a verb or another conjunction; the first, the last such word before it with no verb between,
loses `instead`.

    clause conjunct = 2 CCONJ CONJ | VERB ; barrier SCONJ ; subject NOUN PROPN PRON ADJ

The next verb after a conjunction, with no barrier between, is joined to the last verb before it; the words
between the conjunction and its verb do not depend on anything further left.

    name conjunct = 4 CCONJ CONJ | PROPN X ; over ADP DET

A conjunction after a run of two or more equal tags of the second group, and a word of the tag behind it,
belong to the first word of the run.
"""

from __future__ import annotations

import numpy as np

from dynet_vdgi.grammar.parts.kinds import Kind
from dynet_vdgi.grammar.settings import Setting, Syntax
from dynet_vdgi.grammar.statistics import Text
from dynet_vdgi.grammar.views import View
from dynet_vdgi.system.arrays import Floats


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


KINDS = (
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
