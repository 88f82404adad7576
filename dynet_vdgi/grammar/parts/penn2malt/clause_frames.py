"""Clauses without a word that begins them, reported speech, parentheses. Kinds of words: see `called`.

    contact clause = 6 ; object 4 ; against 4

This concerns a phrase just after a verb or, if it is a personal pronoun, after a noun behind a verb. If a
finite verb follows the phrase with no punctuation between, the finite verb depends on that verb or noun, and
is hardly the root.

    reported speech = 8 ; root 6 ; subject 8 ; against 4

In "S, he said" and "S, said he", the verb of speech is the root and heads the first finite verb of S; `said`
heads its subject.

    parenthesis = 8 ; against 4 ; root 4 ; main 6

In "..., he says, S", the verb between the commas depends on the verb of S. In "S, he says" with a verb that
is not one of speech, it heads the verb of S, with weight `main`.

    question = 2 ; root 8 ; word 16

A wh word that begins a sentence with one finite verb depends on it.

    no finite verb = 6

In a sentence without a finite verb, the first infinitive without "to", or perfect participle, outside of
phrases is the root, and heads the phrase before it.

    time = 3 ; ago 16

Days, and spans of time after "last", "next" and so on, depend on verbs rather than nouns; spans before "ago"
depend on "ago", which depends on verbs.

    quantity = 10 ; preposition 10 ; object 4

"about", "nearly" and so on depend on the head of the number after them, and it does not depend on them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dynet_vdgi.grammar.parts.gaps import is_cut
from dynet_vdgi.grammar.parts.kinds import Kind
from dynet_vdgi.grammar.parts.penn2malt.called import are, verbs
from dynet_vdgi.grammar.parts.penn2malt.clause_words import infinitives, next_of, numbers
from dynet_vdgi.grammar.parts.penn2malt.verb_groups import main_verbs, over_adverbs
from dynet_vdgi.grammar.settings import Setting, Syntax
from dynet_vdgi.grammar.statistics import Text
from dynet_vdgi.grammar.views import View
from dynet_vdgi.system.arrays import Floats


def _has_marks(view: View, start: int, end: int) -> bool:
    """Whether there was punctuation before one of the words from start to end, the last one included."""
    return any(view.marks[start : end + 1])


def _add_contact(view: View, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    finite, verb, personal = are(view, "finite"), verbs(view), are(view, "personal")
    main, adverb = main_verbs(view), are(view, "adverb")
    against = setting.number("against", 0.0)
    for start, end, head in view.phrases:
        own = over_adverbs(view, end)
        is_clause = own < view.n and finite[own] and main[own] and not _has_marks(view, end, own)
        if not start or not is_clause or is_cut(view, start):
            continue
        before = start - 1
        while before > 0 and adverb[before] and before not in view.phrase_of:
            before -= 1
        if verb[before]:
            arcs[own, head] += setting.weight + setting.number("object", 0.0)
            arcs[before, own] += setting.weight
            roots[own] -= against
        elif before in view.phrase_of and personal[start] and any(verb[:before]):
            arcs[before, own] += 0.7 * setting.weight
            arcs[own, head] += against
            roots[own] -= against


# ------------------------------------------------------------------------------------------- speech
def _add_speech(view: View, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    finite, main = are(view, "finite"), main_verbs(view)
    for verb in np.flatnonzero(are(view, "speech")).tolist():
        if verb < 2 or not finite[verb] or not main[verb]:
            continue
        start = _start_of_speaker(view, verb)
        if start <= 0 or not view.marks[start]:
            continue
        said = np.flatnonzero(main[:start])
        if len(said):
            roots[verb] += setting.number("root", 0.0)
            arcs[verb, said[0]] += setting.weight
            roots[said[0]] -= setting.number("against", 0.0) / 2
            arcs[said, verb] -= setting.number("against", 0.0)
            if start == verb and verb + 1 in view.phrase_of:
                arcs[verb, view.phrase_of[verb + 1].head] += setting.number("subject", 0.0)


def _start_of_speaker(view: View, verb: int) -> int:
    """The start of the words with the verb of speech: their subject, or the verb itself; -1: none."""
    if verb + 1 in view.phrase_of and view.marks[verb]:
        return verb
    before = over_adverbs(view, verb - 1, -1)
    return view.phrase_of[before].start if before in view.phrase_of else -1


def _add_parentheses(view: View, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    finite, main, speech = are(view, "finite"), main_verbs(view), are(view, "speech")
    conjunction = are(view, "conjunction")
    for start, end, _ in view.phrases:
        verb = over_adverbs(view, end)
        if not start or not view.marks[start] or verb >= view.n or not finite[verb]:
            continue
        if _has_marks(view, start + 1, verb):
            continue
        after = verb + 1
        if after < view.n and view.marks[after]:
            is_joined = after in view.phrase_of or conjunction[after] or any(main[:start])
            later = -1 if is_joined else next_of(main, verb)
            if later >= 0:
                arcs[later, verb] += setting.weight
                roots[verb] -= setting.number("against", 0.0)
        elif after == view.n and main[verb] and any(main[:start]) and not speech[verb]:
            roots[verb] += setting.number("root", 0.0)
            arcs[verb, main.index(True)] += setting.number("main", 0.0)


# ------------------------------------------------------------------------------------------- whole sentences
def _add_questions(view: View, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    finite = are(view, "finite")
    if view.n > 1 and are(view, "wh")[0] and sum(finite) == 1:
        verb, word = finite.index(True), setting.number("word", 0.0)
        arcs[verb, 0] += word
        arcs[0, verb] -= word
        roots[verb] += setting.weight


def _add_verbless(view: View, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    if any(are(view, "finite")):
        return
    governed = set(infinitives(view).values())
    chosen = are(view, "infinitive", "perfect")
    word = next((k for k in range(view.n) if chosen[k] and k not in view.phrase_of), -1)
    if word < 0 or (word in governed and are(view, "to")[word - 1]):
        return
    roots[word] += setting.weight
    if word - 1 in view.phrase_of:
        head = view.phrase_of[word - 1].head
        arcs[head, word] -= setting.weight
        arcs[word, head] += setting.weight


# ------------------------------------------------------------------------------------------- times
def _add_times(view: View, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    day, span, near = are(view, "day"), are(view, "span"), are(view, "near-span")
    after_span = are(view, "after-span")
    noun, verb = np.array(are(view, "noun")), np.array(verbs(view))
    for start, end, head in view.phrases:
        if (day[start] and end == start + 1) or (near[start] and span[end - 1]):
            arcs[:, head] += setting.weight * (verb * 1.0 - noun)
        if end < view.n and after_span[end] and span[end - 1]:
            arcs[end, head] += setting.number("ago", 0.0)
            arcs[verb, end] += setting.weight * 2 / 3


def _add_quantities(view: View, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    number: Sequence[bool] = are(view, "number", "currency")
    verb, preposition = verbs(view), are(view, "preposition", "to")
    kinds = are(view, "adverb", "preposition")
    weight, as_object = setting.number("preposition", 0.0), setting.number("object", 0.0)
    for word in np.flatnonzero(are(view, "quantity")).tolist():
        after = word + 1
        if word in view.phrase_of or not kinds[word] or after not in view.phrase_of or not number[after]:
            continue
        head = view.phrase_of[after].head
        arcs[word, after] -= weight
        arcs[word, head] -= weight
        arcs[head, word] += setting.weight
        if word and (verb[word - 1] or preposition[word - 1]):
            arcs[word - 1, head] += as_object if verb[word - 1] else weight


KINDS = (
    Kind("contact clause", Syntax((), numbers("object", "against")), add=_add_contact),
    Kind(
        "reported speech",
        Syntax((), numbers("root", "subject", "against")),
        add=_add_speech,
        needs_gaps=True,
    ),
    Kind(
        "parenthesis", Syntax((), numbers("against", "root", "main")), add=_add_parentheses, needs_gaps=True
    ),
    Kind("question", Syntax((), numbers("word")), add=_add_questions),
    Kind("no finite verb", Syntax(()), add=_add_verbless),
    Kind("time", Syntax((), numbers("ago")), add=_add_times),
    Kind("quantity", Syntax((), numbers("preposition", "object")), add=_add_quantities),
)
