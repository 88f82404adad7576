"""Verbs with their auxiliaries, subjects, objects and adverbs. See `called` for kinds of words.

    verb group = 8 ; between 2 ; against 4

A verb that is not finite depends on the verb before it, across adverbs, but on a modal only if it is an
infinitive; an infinitive in a question depends on the modal before the subject. Words between the two gain
`between` from the first. Such a verb, and one after "to", is hardly a root.

    reduced relative = 4 ; against 2

A perfect participle just after a phrase, without auxiliary, depends on it.

    subject = 6

A phrase before a finite verb, across adverbs, is its subject, but not after a verb or preposition. Half of
the weight goes to the next finite verb that heads no clause behind the phrase, if none is before it.

    object = 4

A phrase just after a verb depends on it.

    raised subject = 6 ; object 4

In "want it to go", the infinitive heads the pronoun, and "want" heads the infinitive.

    adverb = 4

An adverb depends on the adjective, adverb or number after it, else on the verb before, else on the one after.

    negation = 6

An adverb of these forms depends on the finite verb before it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dynet_vdgi.grammar.parts.kinds import Kind
from dynet_vdgi.grammar.parts.penn2malt.called import are, verbs
from dynet_vdgi.grammar.parts.penn2malt.clause_words import infinitives, last_of, next_of
from dynet_vdgi.grammar.settings import Setting, Syntax
from dynet_vdgi.grammar.statistics import Text
from dynet_vdgi.grammar.views import Phrase, View
from dynet_vdgi.system.arrays import Floats


def over_adverbs(view: View, word: int, step: int = 1) -> int:
    """The first word from here on that is not an adverb; may be n, or -1."""
    adverb = are(view, "adverb")
    while 0 <= word < view.n and adverb[word]:
        word += step
    return word


def _groups(view: View) -> Iterator[tuple[int, int]]:
    """Each verb that is not finite, with the verb it depends on; -1: none; -2: it follows "to"."""
    verb, modal, infinitive = verbs(view), are(view, "modal"), are(view, "infinitive")
    to, adverb = are(view, "to"), are(view, "adverb")
    for word in np.flatnonzero(are(view, "infinitive", "perfect", "gerund")).tolist():
        before = word - 1
        while before >= 0 and adverb[before] and before not in view.phrase_of:
            before -= 1
        if before >= 0 and to[before]:
            yield word, -2
            continue
        inverted = view.phrase_of[before].start - 1 if before in view.phrase_of and infinitive[word] else -1
        if before >= 0 and verb[before]:
            yield word, before if infinitive[word] or not modal[before] else -1
        elif inverted >= 0 and modal[inverted]:
            yield word, inverted
        else:
            yield word, -1


def _add_groups(view: View, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    against = setting.number("against", 0.0)
    for word, head in _groups(view):
        if head == -2:
            roots[word] -= against / 2
        elif head >= 0:
            arcs[head, word] += setting.weight
            arcs[head, head + 1 : word] += setting.number("between", 0.0)
            roots[word] -= against


def _add_reduced(view: View, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    perfect = are(view, "perfect")
    for word, head in _groups(view):
        if head == -1 and perfect[word] and word - 1 in view.phrase_of:
            arcs[view.phrase_of[word - 1].head, word] += setting.weight
            roots[word] -= setting.number("against", 0.0)


# ------------------------------------------------------------------------------------------- subjects
def _add_subjects(view: View, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    finite, verb = are(view, "finite"), verbs(view)
    governs = [a or b for a, b in zip(verb, are(view, "preposition", "to"))]
    for start, end, head in view.phrases:
        if start and governs[start - 1]:
            continue
        after = over_adverbs(view, end)
        if after < view.n and finite[after]:
            arcs[after, head] += setting.weight
        elif not any(finite[:start]):
            later = next_of(finite, end - 1)
            while later >= 0 and any(word >= end and verb == later for word, verb in view.clauses.items()):
                later = next_of(finite, later)
            if later >= 0:
                arcs[later, head] += setting.weight / 2


def _add_objects(view: View, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    verb = verbs(view)
    for start, _, head in view.phrases:
        if start and verb[start - 1]:
            arcs[start - 1, head] += setting.weight


def _add_raised(view: View, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    verb, personal = verbs(view), are(view, "personal")
    for to, infinitive in infinitives(view).items():
        if to > 1 and infinitive == to + 1 and personal[to - 1] and verb[to - 2]:
            arcs[infinitive, to - 1] += setting.weight + setting.number("object", 0.0)
            arcs[to - 2, infinitive] += setting.weight


# ------------------------------------------------------------------------------------------- adverbs
def _add_adverbs(view: View, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    verb, modified = verbs(view), are(view, "adjective", "adverb", "number")
    for word in np.flatnonzero(are(view, "adverb")).tolist():
        if word in view.phrase_of:
            continue
        after = word + 1
        if after < view.n and modified[after]:
            arcs[after, word] += setting.weight
        elif word and verb[word - 1]:
            arcs[word - 1, word] += setting.weight
        elif after < view.n and verb[after]:
            arcs[after, word] += setting.weight


def _add_negation(view: View, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    finite, adverb = are(view, "finite"), are(view, "adverb")
    for word in np.flatnonzero(are(view, "negation")).tolist():
        if word and adverb[word] and finite[word - 1]:
            arcs[word - 1, word] += setting.weight


# ------------------------------------------------------------------------------------------- for others
def instead(view: View, setting: Setting, arcs: Floats, first: Phrase, word: int) -> None:
    """Makes the governor just before a phrase govern another word instead of the phrase's head.

    The weights are the setting's options `preposition` and `object`, which repeat those of these parts.
    """
    before = first.start - 1
    if before < 0:
        return
    is_preposition = are(view, "preposition", "to")[before]
    if is_preposition or verbs(view)[before]:
        weight = setting.number("preposition" if is_preposition else "object", 0.0)
        arcs[before, word] += weight
        arcs[before, first.head] -= weight


def main_verbs(view: View) -> list[bool]:
    """The words (n,) that are finite verbs not headed by a complementizer or relative word."""
    below = set(view.clauses.values())
    return [flag and word not in below for word, flag in enumerate(are(view, "finite"))]


def has_verb_before(view: View, word: int) -> bool:
    """Whether a finite verb stands before a word."""
    return last_of(are(view, "finite"), word) >= 0


KINDS = (
    Kind("verb group", Syntax((), {"between": "number", "against": "number"}), add=_add_groups),
    Kind("reduced relative", Syntax((), {"against": "number"}), add=_add_reduced),
    Kind("subject", Syntax(()), add=_add_subjects),
    Kind("object", Syntax(()), add=_add_objects),
    Kind("raised subject", Syntax((), {"object": "number"}), add=_add_raised),
    Kind("adverb", Syntax(()), add=_add_adverbs),
    Kind("negation", Syntax(()), add=_add_negation),
)
