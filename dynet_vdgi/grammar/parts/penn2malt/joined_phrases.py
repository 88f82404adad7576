"""Phrases and clauses side by side; the last is the head, except among verbs. See `called` for kinds of
words.

In all of these lines, `preposition` and `object` repeat the weights that those parts give to the first phrase
for the word before it; the weight moves to the phrase that heads both.

    joined = 6 ; against 4 ; first 4 ; preposition 10 ; object 4

This applies around a conjunction. The second of two phrases heads the first and the conjunction, unless a
clause begins there whose verb has a verb before it: then that verb heads the verb before and the conjunction.
The first of two verbs of a kind heads the second, which is hardly the root, and the conjunction. The second
of two adjectives heads the first. A conjunction that begins the sentence depends on the next finite verb
(`first`).

    list = 8 ; preposition 10 ; object 4

In "a, b, c and d", phrases separated by commas depend on the one after the conjunction.

    apposition = 6 ; subject 4 ; preposition 10 ; object 4

Of two phrases separated by a comma, the second heads the first, if no finite verb follows without a comma;
the second is then the subject instead of the first.

    flat conjuncts = 18

In "an insurance and services concern", after a determiner or adjective, nouns of two phrases around a
conjunction are one phrase: the head of the second heads all of the first but its last word.

    amount per = 10 ; preposition 10 ; object 4

In "$ 5 a share", the phrase with a determiner heads the amount before it.

    joined clauses = 8 ; against 2

If a phrase follows a semicolon, colon or dash, or a comma and a conjunction, and a finite verb stands behind
it with no comma in between, this verb heads the finite verb before, and the conjunction.
"""

from __future__ import annotations

import numpy as np

from dynet_vdgi.grammar.parts.kinds import Kind
from dynet_vdgi.grammar.parts.penn2malt.base_phrases import has_colon, has_comma
from dynet_vdgi.grammar.parts.penn2malt.called import are, verbs
from dynet_vdgi.grammar.parts.penn2malt.clause_words import last_of, next_of
from dynet_vdgi.grammar.parts.penn2malt.verb_groups import has_verb_before, instead, main_verbs, over_adverbs
from dynet_vdgi.grammar.settings import Setting, Syntax
from dynet_vdgi.grammar.statistics import Text
from dynet_vdgi.grammar.views import View
from dynet_vdgi.system.arrays import Floats


# ------------------------------------------------------------------------------------------- conjunctions
def _add_joined(view: View, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    conjunction, finite = are(view, "conjunction"), are(view, "finite")
    for joint in np.flatnonzero(conjunction).tolist():
        if joint == 0:
            verb = next_of(finite, 0)
            if verb >= 0:
                arcs[verb, 0] += setting.number("first", 0.0)
        elif joint < view.n - 1:
            _join_phrases(view, setting, arcs, joint)
            _join_others(view, setting, roots, arcs, joint)


def _join_phrases(view: View, setting: Setting, arcs: Floats, joint: int) -> None:
    first, second = view.phrase_of.get(joint - 1), view.phrase_of.get(joint + 1)
    if first is None or second is None or second.start != joint + 1:
        return
    finite, after = are(view, "finite"), over_adverbs(view, second.end)
    if after < view.n and finite[after] and has_verb_before(view, joint):
        return
    arcs[second.head, [first.head, joint]] += setting.weight
    instead(view, setting, arcs, first, second.head)


def _join_others(view: View, setting: Setting, roots: Floats, arcs: Floats, joint: int) -> None:
    finite, adjective = are(view, "finite"), are(view, "adjective")
    second = over_adverbs(view, joint + 1)
    if second < view.n and verbs(view)[second]:
        tag = view.read[second]
        alike = [other == tag or (finite[k] and finite[second]) for k, other in enumerate(view.read)]
        first = last_of(alike, joint)
        if first >= 0:
            arcs[first, [second, joint]] += setting.weight
            roots[second] -= setting.number("against", 0.0)
    elif adjective[joint - 1] and adjective[joint + 1] and joint not in view.phrase_of:
        arcs[joint + 1, [joint - 1, joint]] += setting.weight
    elif second in view.phrase_of:
        verb, before = next_of(finite, joint), last_of(finite, joint)
        is_next = over_adverbs(view, view.phrase_of[second].end) == verb
        if verb >= 0 and before >= 0 and is_next and verb not in view.clauses.values():
            arcs[verb, [before, joint]] += setting.weight


# ------------------------------------------------------------------------------------------- commas
def _add_lists(view: View, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    conjunction = are(view, "conjunction")
    for number, last in enumerate(view.phrases):
        joint = last.start - 1
        if number == 0 or joint < 1 or not conjunction[joint] or view.phrases[number - 1].end != joint:
            continue
        item = number - 1
        while item and view.phrases[item - 1].end == view.phrases[item].start:
            if not has_comma(view, view.phrases[item].start):
                break
            item -= 1
            arcs[last.head, view.phrases[item].head] += setting.weight
            instead(view, setting, arcs, view.phrases[item], last.head)


def _add_appositions(view: View, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    noun, finite, conjunction = are(view, "noun"), are(view, "finite"), are(view, "conjunction")
    main = main_verbs(view)
    for number, (first, second) in enumerate(zip(view.phrases, view.phrases[1:])):
        is_apart = first.end == second.start and has_comma(view, second.start)
        if not is_apart or not noun[first.head] or not noun[second.head]:
            continue
        after = view.phrases[number + 2] if number + 2 < len(view.phrases) else None
        if after and after.start == second.end + 1 and conjunction[second.end]:
            continue  # a list
        if first.start == 1 and are(view, "preposition")[0]:
            continue  # in 1989, sales rose
        verb = over_adverbs(view, second.end)
        if verb < view.n and finite[verb] and not any(view.marks[second.end : verb + 1]):
            continue  # the second is a subject
        arcs[second.head, first.head] += setting.weight
        instead(view, setting, arcs, first, second.head)
        later = next_of(main, second.end - 1)
        if later >= 0 and not has_verb_before(view, first.start):
            arcs[later, second.head] += setting.number("subject", 0.0)
            arcs[later, first.head] -= setting.number("subject", 0.0)


def _add_flat(view: View, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    common, conjunction = are(view, "common"), are(view, "conjunction")
    opens = are(view, "determiner", "adjective")
    for first, second in zip(view.phrases, view.phrases[1:]):
        is_joined = second.start == first.end + 1 and conjunction[first.end]
        if not is_joined or not opens[first.start] or any(view.marks[first.end : second.start + 1]):
            continue
        words = range(first.start, first.end)
        are_nouns = common[first.head] and all(common[second.start : second.end])
        if are_nouns and all(common[k] or opens[k] for k in words):
            arcs[second.head, first.start : first.end - 1] += setting.weight


def _add_amounts(view: View, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    currency, determiner = are(view, "currency"), are(view, "predeterminer")
    amount = are(view, "currency", "number")
    for first, second in zip(view.phrases, view.phrases[1:]):
        is_next = first.end == second.start and not view.marks[second.start]
        if is_next and determiner[second.start] and currency[first.start] and amount[first.head]:
            arcs[second.head, first.head] += setting.weight
            instead(view, setting, arcs, first, second.head)


def _add_clauses(view: View, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    conjunction, main = are(view, "conjunction"), main_verbs(view)
    for place in range(1, view.n):
        is_joined = conjunction[place] and has_comma(view, place)
        if not (is_joined or has_colon(view, place)):
            continue
        start = place + conjunction[place]
        while start < view.n and are(view, "adverb")[start] and start not in view.phrase_of:
            start += 1
        verb, before = next_of(main, start - 1), last_of(main, place)
        if start not in view.phrase_of or verb < 0 or before < 0:
            continue
        if not any(has_comma(view, word) for word in range(start + 1, verb + 1)):
            arcs[verb, before] += setting.weight
            roots[before] -= setting.number("against", 0.0)
            if conjunction[place]:
                arcs[verb, place] += setting.weight


INSTEAD = {"preposition": "number", "object": "number"}
KINDS = (
    Kind("joined", Syntax((), {"against": "number", "first": "number", **INSTEAD}), add=_add_joined),
    Kind("list", Syntax((), INSTEAD), add=_add_lists, needs_gaps=True),
    Kind("apposition", Syntax((), {"subject": "number", **INSTEAD}), add=_add_appositions, needs_gaps=True),
    Kind("flat conjuncts", Syntax(()), add=_add_flat),
    Kind("amount per", Syntax((), INSTEAD), add=_add_amounts),
    Kind("joined clauses", Syntax((), {"against": "number"}), add=_add_clauses, needs_gaps=True),
)
