"""Prepositions, complementizers and relative words: their dependents and their heads.

All of them head the words that follow, as in the Penn Treebank's dependencies. `called` names kinds of words.

    infinitive = 10 ; adverb 4 ; adjective 4 ; leaf 8

"to" depends on the infinitive after it, also across an adverb, and is a leaf; the infinitive depends on the
adjective just before "to", if that is the head of its phrase.

    complementizer = 8 ; subject 6 ; against 6

A preposition just before a clause (words, an optional phrase, a finite verb) heads the verb of the clause, if
the preposition's form says so or, in a text without forms, if there is another verb. Then the verb is no
root, and the phrase is the subject of the verb and not the object of the preposition.

    relative word = 8 ; preposition 8 ; noun 4 ; against 6

A relative word heads the next finite verb, and depends on the preposition before it. The two together depend
on the noun before them.

    preposition = 10 ; other 4 ; finite 6

A preposition that is no complementizer heads the phrase or the gerund after it, or gains `other` for a word
of another kind. Finite verbs do not depend on it; this counts half if its form is not known as a
preposition's.

    bound preposition = 6

Such a preposition depends on the word before it, or the head of that word's phrase.

    preposition statistics = 1 NN NNS | VBD VBZ VB | IN | TO ; before VB RB ; cases 5

The affinity of verbs and nouns to prepositions, as pointwise mutual information from unambiguous places of
the text: a preposition just after a verb, or just after a noun before every verb (Hindle & Rooth 1993).
Estimates are shrunk by `cases` cases towards the estimates for all verbs, or nouns. "to" before one of
`before` does not count as a preposition.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from dynet_vdgi.grammar.parts.kinds import Kind
from dynet_vdgi.grammar.parts.penn2malt.called import are, verbs
from dynet_vdgi.grammar.settings import Setting, Syntax
from dynet_vdgi.grammar.statistics import Text
from dynet_vdgi.grammar.views import View
from dynet_vdgi.system.arrays import Floats

MOST = 1.5
"""Maximum size of the statistics, in either direction, in units of the weight."""


# ------------------------------------------------------------------------------------------- where things are
def phrase_after(view: View, word: int) -> int:
    """The head of the base phrase that follows, over adverbs; -1 for none."""
    adverb, place = are(view, "adverb"), word + 1
    while place < view.n and adverb[place] and place not in view.phrase_of:
        place += 1
    return view.phrase_of[place].head if place in view.phrase_of else -1


def next_of(flags: Sequence[bool], word: int) -> int:
    """The first flagged word after a word; -1 for none."""
    return next((k for k in range(word + 1, len(flags)) if flags[k]), -1)


def last_of(flags: Sequence[bool], word: int) -> int:
    """The last flagged word before a word; -1 for none."""
    return next((k for k in range(word - 1, -1, -1) if flags[k]), -1)


def head_at(view: View, word: int) -> int:
    """The head of the base phrase that contains a word, or the word itself."""
    return view.phrase_of[word].head if word in view.phrase_of else word


def infinitives(view: View) -> dict[int, int]:
    """The infinitive of each "to" that has one."""
    to, infinitive, adverb = are(view, "to"), are(view, "infinitive"), are(view, "adverb")
    found = {}
    for word in range(view.n - 1):
        if to[word]:
            verb = word + 2 if adverb[word + 1] and word + 2 < view.n else word + 1
            if infinitive[verb]:
                found[word] = verb
    return found


def _add_infinitives(view: View, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    adjective = are(view, "adjective")
    for word, verb in infinitives(view).items():
        arcs[verb, word] += setting.weight
        if word and adjective[word - 1] and verb == word + 1 and head_at(view, word - 1) == word - 1:
            arcs[word - 1, verb] += setting.number("adjective", 0.0)
        if verb > word + 1:
            arcs[verb, word + 1] += setting.number("adverb", 0.0)
        arcs[word] -= setting.number("leaf", 0.0)


# ------------------------------------------------------------------------------------------- complementizers
def _read_complementizers(view: View, setting: Setting, text: Text) -> None:
    finite, adverb = are(view, "finite"), are(view, "adverb")
    for word in np.flatnonzero(are(view, "preposition")).tolist():
        verb = next_of(finite, word)
        if verb < 0:
            continue
        end = word + 1
        while end < verb and (end in view.phrase_of or adverb[end]):
            end += 1
        if _is_complementizer(view, word, verb, end == verb):
            view.clauses[word] = verb


def _is_complementizer(view: View, word: int, verb: int, is_direct: bool) -> bool:
    """`is_direct`: only phrases and adverbs stand before the next finite verb."""
    if view.has_forms:
        is_one = are(view, "complementizer")[word] and not are(view, "only-preposition")[word]
        return is_one and (is_direct or are(view, "far-complementizer")[word])
    if not is_direct:
        return False
    finite = are(view, "finite")
    begins = word == 0 and any(finite[verb + 1 :])
    return (
        are(view, "pronoun")[word + 1] or begins or any(finite[:word]) or (word > 0 and verbs(view)[word - 1])
    )


def _add_complementizers(view: View, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    preposition, against = are(view, "preposition"), setting.number("against", 0.0)
    for word, verb in view.clauses.items():
        if not preposition[word]:
            continue
        arcs[word, verb] += setting.weight
        arcs[verb, word] -= against
        roots[verb] -= against
        phrase = phrase_after(view, word)
        if phrase >= 0:
            arcs[word, phrase] -= against
            arcs[verb, phrase] += setting.number("subject", 0.0)


# ------------------------------------------------------------------------------------------- relative words
def _relatives(view: View) -> list[tuple[int, int, int]]:
    """Each relative word; the preposition that heads it, or itself; the finite verb after it, or -1."""
    preposition, relative = are(view, "preposition"), are(view, "relative")
    finite, found = are(view, "finite"), []
    for word in np.flatnonzero(are(view, "wh")).tolist():
        has_preposition = word > 0 and preposition[word - 1] and relative[word]
        found.append((word, word - 1 if has_preposition else word, next_of(finite, word)))
    return found


def _read_relatives(view: View, setting: Setting, text: Text) -> None:
    for word, _, verb in _relatives(view):
        if verb >= 0:
            view.clauses[word] = verb


def _add_relatives(view: View, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    relative, against = are(view, "relative"), setting.number("against", 0.0)
    for word, top, verb in _relatives(view):
        if top < word:
            arcs[top, word] += setting.number("preposition", 0.0)
        if verb >= 0:
            arcs[top, verb] += setting.weight
            roots[verb] -= against
        if top > 0 and relative[word]:
            arcs[head_at(view, top - 1), top] += setting.number("noun", 0.0)
        roots[top] -= against / 3


# ------------------------------------------------------------------------------------------- prepositions
def _add_prepositions(view: View, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    finite, known = np.array(are(view, "finite")), are(view, "only-preposition")
    gerund, other, with_verb = are(view, "gerund"), are(view, "other-object"), infinitives(view)
    for word in np.flatnonzero(are(view, "preposition", "to")).tolist():
        if word in view.clauses:
            continue
        arcs[word] -= setting.number("finite", 0.0) * finite * (1.0 if known[word] else 0.5)
        if word in with_verb:
            continue
        phrase = phrase_after(view, word)
        if phrase >= 0:
            arcs[word, phrase] += setting.weight
        elif word + 1 < view.n and gerund[word + 1]:
            arcs[word, word + 1] += setting.weight
        elif word + 1 < view.n and other[word + 1]:
            arcs[word, word + 1] += setting.number("other", 0.0)


def _add_bound(view: View, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    preposition = are(view, "preposition")
    for word in np.flatnonzero(are(view, "bound")).tolist():
        if word and preposition[word] and word not in view.clauses:
            arcs[head_at(view, word - 1), word] += setting.weight


# ------------------------------------------------------------------------------------------- statistics
def _preposition(view: View, word: int, setting: Setting) -> str:
    """The form of a preposition that may depend on any word before; "" if the word is none."""
    _, _, prepositions, others = setting.groups
    tags = view.tags
    if word >= view.n or not (prepositions.has(tags[word]) or others.has(tags[word])):
        return ""
    is_other = others.has(tags[word]) and word + 1 < view.n
    return "" if is_other and setting.group("before").has(tags[word + 1]) else view.form(word)


def _hosts(view: View, setting: Setting) -> list[str]:
    """N for nouns, V for verbs, "" for other words."""
    nouns, verb, *_ = setting.groups
    return ["N" if nouns.has(tag) else "V" if verb.has(tag) else "" for tag in view.tags]


def _measure(views: Sequence[View], setting: Setting, text: Text) -> dict[str, Any]:
    """Counts of words, and of words with a preposition just after them, in total and by form."""
    words: Counter[str] = Counter()
    pairs: Counter[str] = Counter()
    for view in views:
        hosts, seen_verb = _hosts(view, setting) if view.has_forms else [], False
        for word, host in enumerate(hosts):
            seen_verb = seen_verb or host == "V"
            is_inner = word + 1 < view.n and hosts[word + 1] == "N"
            if not host or (host == "N" and (seen_verb or is_inner)):
                continue
            words.update([host, f"{host} {view.form(word)}"])
            after = _preposition(view, word + 1, setting)
            if after:
                pairs.update([f"{host} {after}", f"{host} {view.form(word)} {after}"])
    return {"words": dict(sorted(words.items())), "pairs": dict(sorted(pairs.items()))}


def _information(found: dict[str, Any], host: str, form: str, preposition: str, cases: float) -> float:
    """The log ratio of the preposition's rate after this word to its rate after any word, at most MOST."""
    words, pairs = found["words"], found["pairs"]
    both = pairs.get(f"N {preposition}", 0) + pairs.get(f"V {preposition}", 0)
    whole = (both + 1) / (words.get("N", 0) + words.get("V", 0) + 50)
    base = (pairs.get(f"{host} {preposition}", 0) + 5 * whole) / (words.get(host, 0) + 5)
    own, n_own = pairs.get(f"{host} {form} {preposition}", 0), words.get(f"{host} {form}", 0)
    share = (own + cases * base) / (n_own + cases)
    return max(-MOST, min(MOST, math.log(share / whole)))


def _add_statistics(view: View, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    found, cases = text.found[setting.name], setting.number("cases", 5.0)
    hosts = _hosts(view, setting) if view.has_forms else []
    for word in range(1, len(hosts)):
        preposition = _preposition(view, word, setting)
        if not preposition or word in view.clauses:
            continue
        for host in range(word):
            is_head = host in view.phrase_of and head_at(view, host) == host
            if hosts[host] == "V" or (hosts[host] == "N" and is_head):
                key = (hosts[host], view.form(host), preposition)
                if key not in setting.cache:
                    setting.cache[key] = _information(found, *key, cases)
                arcs[host, word] += setting.weight * setting.cache[key]


def numbers(*names: str) -> dict[str, str]:
    """The options of a setting, if all are numbers."""
    return dict.fromkeys(names, "number")


KINDS = (
    Kind("infinitive", Syntax((), numbers("adverb", "adjective", "leaf")), add=_add_infinitives),
    Kind(
        "complementizer",
        Syntax((), numbers("subject", "against")),
        read=_read_complementizers,
        add=_add_complementizers,
    ),
    Kind(
        "relative word",
        Syntax((), numbers("preposition", "noun", "against")),
        read=_read_relatives,
        add=_add_relatives,
    ),
    Kind("preposition", Syntax((), numbers("other", "finite")), add=_add_prepositions),
    Kind("bound preposition", Syntax(()), add=_add_bound),
    Kind(
        "preposition statistics",
        Syntax(("nouns", "verbs", "prepositions", "to"), {"before": "tags", "cases": "number"}),
        _measure,
        add=_add_statistics,
    ),
)
