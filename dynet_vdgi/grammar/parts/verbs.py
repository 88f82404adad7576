"""Parts of rule tables about verbs: main verbs, predicates without verbs, and clauses.

Which verbs head others, in languages whose sentences end with the main verb, preceded by other clauses.

    main verb = 2 VERB ; aux AUX ; arcs 0.5

Verb forms that occur alone in their sentences are main verbs there; forms that occur only beside other verbs
depend on them. A form consists of the FEATS or last morph of a verb, and the last two letters of the verb or
of the last auxiliary behind it. Its score is the log of how often it is the only verb of a sentence, relative
to how often verbs in general are, from -1.5 to 1.5: the mean over the form's known parts. The score times
the weight is added to root arcs, and `arcs` times the difference of two verbs' scores to the arcs between
them.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from dynet_vdgi.grammar.parts.kinds import Kind
from dynet_vdgi.grammar.parts.nominals import case_of
from dynet_vdgi.grammar.statistics import Text
from dynet_vdgi.grammar.table import Fact, Setting, Syntax
from dynet_vdgi.grammar.views import Group, SideBySide, View, WordType, features_of, last_morph
from dynet_vdgi.system.arrays import Floats

MOST_EVIDENCE = 1.5
FEW = 3.0  # this many cases get half of full weight
LETTERS = 2
SHOWN_BY = ("VerbForm", "Mood", "Aspect", "Tense", "Case", "Morph")


def forms_of(view: View, verb: int, setting: Setting) -> list[str]:
    """The features that make up a verb's form."""
    auxiliaries = setting.group("aux").tags
    end = verb
    while end + 1 < view.n and view.tags[end + 1] in auxiliaries and not view.gaps[end + 1]:
        end += 1
    last = view.forms[end]
    forms = [("v" if end == verb else "a") + (last if len(last) <= LETTERS else "-" + last[-LETTERS:])]
    shown = _shown(view.feats[verb])
    return [*forms, shown] if shown else forms


@lru_cache(maxsize=1 << 14)
def _shown(column: str) -> str:
    feats = features_of(column)
    return "|".join([f"{name}={','.join(sorted(feats[name]))}" for name in SHOWN_BY if name in feats])


def _verbs(view: View, setting: Setting) -> list[int]:
    verbs = setting.groups[0].tags
    return [word for word, tag in enumerate(view.tags) if tag in verbs]


def _measure(views: Sequence[View], setting: Setting, text: Text) -> dict[str, float]:
    alone: Counter[str] = Counter()
    every: Counter[str] = Counter()
    n_alone = n_verbs = 0
    for view in views:
        verbs = _verbs(view, setting)
        n_verbs += len(verbs)
        n_alone += len(verbs) == 1
        for verb in verbs:
            forms = forms_of(view, verb, setting)
            every.update(forms)
            if len(verbs) == 1:
                alone.update(forms)
    if not n_alone or n_alone == n_verbs:
        return {}
    average = n_alone / n_verbs
    return {
        form: round(math.log((alone[form] + FEW * average) / (count + FEW) / average), 4)
        for form, count in sorted(every.items())
        if count > 1
    }


def _add(views: SideBySide, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    found, are_verbs, scores = text.found[setting.name], np.zeros(roots.shape, bool), np.zeros(roots.shape)
    for s, view in enumerate(views.views):
        verbs = _verbs(view, setting)
        for verb in verbs if len(verbs) > 1 else ():
            known = [found[form] for form in forms_of(view, verb, setting) if form in found]
            if known:
                scores[s, verb] = setting.weight * max(-MOST_EVIDENCE, min(MOST_EVIDENCE, sum(known) / len(known)))
            are_verbs[s, verb] = True
    roots += scores
    both = are_verbs[:, :, None] & are_verbs[:, None]
    arcs += setting.number("arcs", 1.0) * (scores[:, :, None] - scores[:, None]) * both


MAIN_VERBS_KINDS = (Kind("main verb", Syntax(("verbs",), {"aux": "tags", "arcs": "number"}), _measure, add=_add),)


# ----------------------------------------------------------------------------------------------------
# Non-verbal predicates: a clause with a copula and no verb has another word as its head.
#
# nominal predicate = 1 AUX | NOUN PROPN ADJ NUM PRON ; as VERB ; cut SCONJ CCONJ CONJ ; over NOUN PROPN ADJ
#
# Clauses are cut before removed punctuation and before words of `cut`. In a clause with a copula (first group) and no
# word of `as`, the predicate is a word of the second group: the first one after the last copula of the first run or,
# if none follows or the measure `final` is above a half, the last one before it. From an ADJ or NUM, the predicate
# moves on to the next word while that belongs to `over`, if the text has adjectives before nouns. If the measure
# `initial` is above a half and nothing precedes the copula, its subject follows it, and the predicate follows the
# subject: it is the next word if the subject is a PRON, otherwise the next one with a `particle` just before it, if
# any. The predicate is read as `as`, by the table and by the model.
#
# copula = 1.7 VERB | ADJ ; least 5 ; as AUX
#
# Forms of the first group are copulas if a bare word of the second stands beside them this many times as
# often as beside the average form. They are read as `as` if they have such a predicate beside them, which
# is read as `predicate`, or a verb after them.


NOUNS = ("NOUN", "PROPN")
_MODIFIERS, _PRONOUNS = Group.of_tags("ADJ", "NUM"), Group.of_tags("PRON")
NOT_TOLD = Fact(0.0, 0.0)


class _ClauseWords(NamedTuple):
    """The kinds of words (k * n,) of sentences in a row, a byte for each word: 0 or 1."""

    copulas: bytes
    predicates: bytes
    over: bytes
    particles: bytes
    modifiers: bytes
    pronouns: bytes


class _PredicateOrder(NamedTuple):
    """The place of predicates in a text."""

    subject_follows: bool
    is_final: bool
    adjectives_first: bool


def _read_predicates(views: SideBySide, setting: Setting, text: Text) -> None:
    copulas, predicates = setting.groups
    are_copulas = views.flags(copulas)
    if not are_copulas.any():
        return
    name = setting.names("as")[0]
    order = _PredicateOrder(
        text.is_named(setting.names("initial")),
        text.is_named(setting.names("final")),
        text.found[setting.name],
    )
    are_cut = views.are_gaps | views.flags(setting.group("cut"))
    are_cut[:, 0] = True
    starts = np.flatnonzero(are_cut)
    has_copula = np.logical_or.reduceat(are_copulas.ravel(), starts)
    has_verb = np.logical_or.reduceat(views.flags(Group.of_tags(name)).ravel(), starts)
    clauses = np.flatnonzero(has_copula & ~has_verb)
    if not len(clauses):
        return
    others = predicates, setting.group("over"), setting.group("particle"), _MODIFIERS, _PRONOUNS
    words = _ClauseWords(are_copulas.tobytes(), *(views.flags(group).tobytes() for group in others))
    ends = np.append(starts[1:], are_cut.size)
    found = {}
    for start, end in zip(starts[clauses].tolist(), ends[clauses].tolist()):
        copula, predicate = _predicate_in(words, start, end, order)
        if predicate >= 0:
            found[predicate] = copula
    for predicate, copula in found.items():
        s, word = divmod(predicate, views.n)
        views.rename(s, word, name, name)
        views.views[s].predicates[word] = copula % views.n


def _predicate_in(words: _ClauseWords, start: int, end: int, order: _PredicateOrder) -> tuple[int, int]:
    """The copula of a clause and its predicate; -1: none."""
    copula = words.copulas.find(1, start, end)
    while copula + 1 < end and words.copulas[copula + 1]:
        copula += 1
    after = words.predicates.find(1, copula + 1, end)
    before = words.predicates.rfind(1, start, copula)
    if order.subject_follows and before < 0 and after >= 0:
        after = _after_subject(words, after, end)
        if after < 0:
            return copula, -1
    if before >= 0 and (order.is_final or after < 0):
        return copula, before
    place = after
    while order.adjectives_first and place >= 0 and place + 1 < end and words.modifiers[place]:
        if not words.over[place + 1]:
            break
        place += 1
    return copula, place


def _after_subject(words: _ClauseWords, subject: int, end: int) -> int:
    """The predicate after a subject that follows its copula; -1: no word is marked as the predicate."""
    place = words.predicates.find(1, subject + 1, end)
    while place >= 0 and not words.pronouns[subject] and not words.particles[place - 1]:
        place = words.predicates.find(1, place + 1, end)
    return place


def _adjectives_first(views: Sequence[View], setting: Setting, text: Text) -> bool:
    pairs: Counter[tuple[str, str]] = Counter()
    for view in views:
        pairs.update(zip(view.tags, view.tags[1:]))
    before, after = pairs["ADJ", "NOUN"], pairs["NOUN", "ADJ"]
    told = text.told.get("adjectives", NOT_TOLD)
    return told.beside(before / max(1, before + after), before + after) > 0.5


# ------------------------------------------------------------------------------------------- copulas
def _has_bare(tags: Sequence[str], word: int, bare: Group) -> bool:
    """Whether a bare adjective stands beside a word: one that no noun follows or precedes."""
    n, place = len(tags), word + 1
    while place < n and tags[place] in ("ADV", "PART", "DET"):
        place += 1
    if place < n and tags[place] in bare.tags:
        while place < n and tags[place] in ("ADJ", "ADV"):
            place += 1
        return not (place < n and tags[place] in NOUNS)
    place = word - 1
    while place >= 0 and tags[place] in ("ADV", "PART"):
        place -= 1
    return place > 0 and tags[place] in bare.tags and tags[place - 1] not in NOUNS


def _measure_copulas(views: Sequence[View], setting: Setting, text: Text) -> list[str]:
    verbs, bare = setting.groups
    seen: Counter[str] = Counter()
    beside: Counter[str] = Counter()
    for view in views:
        for word, tag in enumerate(view.tags):
            if verbs.has(tag, view.feats[word]):
                seen[view.forms[word]] += 1
                beside[view.forms[word]] += _has_bare(view.tags, word, bare)
    total = sum(seen.values())
    average = sum(beside.values()) / max(1, total)
    least = max(setting.number("least", 5), 0.003 * total)
    return sorted(
        form
        for form, times in seen.items()
        if times >= least and beside[form] >= 3 and beside[form] / times >= setting.weight * average
    )


def predicate_of(tags: Sequence[str], copula: int) -> int:
    """The word beside a copula that is its predicate; -1: none."""
    n, place = len(tags), copula + 1
    while place < n and tags[place] in ("ADV", "PART", "DET", "PRON", "NUM"):
        place += 1
    if place < n and tags[place] in ("ADJ", *NOUNS):
        end = place
        while end < n and tags[end] in ("ADJ", "ADV", "NUM"):
            end += 1
        return end if end < n and tags[end] in NOUNS else place
    if place < n and tags[place] in ("VERB", "AUX", "ADP", "SCONJ"):
        return -1
    place = copula - 1
    while place >= 0 and tags[place] in ("ADV", "PART"):
        place -= 1
    return place if place >= 0 and tags[place] in ("ADJ", *NOUNS) else -1


def _read_copulas(views: SideBySide, setting: Setting, text: Text) -> None:
    forms, name = set(text.found[setting.name]), setting.names("as")[0]
    for s, word in views.places(setting.groups[0]) if forms else ():
        view, tags = views.views[s], views.views[s].tags
        if view.form(word) not in forms:
            continue
        place = predicate_of(tags, word)
        if place >= 0:
            views.rename(s, word, name, name)
            for predicate in setting.names("predicate"):
                views.rename(s, place, predicate, predicate)
                view.predicates[place] = word
        else:
            place = word + 1
            while place < view.n and tags[place] in ("ADV", "PART"):
                place += 1
            if place < view.n and tags[place] == "VERB":
                views.rename(s, word, name, name)


COPULA = Kind(
    "copula",
    Syntax(("verbs", "adjectives"), {"least": "number", "as": "names", "predicate": "names"}, needs=("as",)),
    _measure_copulas,
    _read_copulas,
)
NOMINAL_PREDICATE = Kind(
    "nominal predicate",
    Syntax(
        ("copulas", "predicates"),
        {
            "as": "names",
            "cut": "tags",
            "over": "tags",
            "particle": "tags",
            "final": "names",
            "initial": "names",
        },
        needs=("as",),
    ),
    _adjectives_first,
    _read_predicates,
)
PREDICATES_KINDS = (COPULA, NOMINAL_PREDICATE)


# ----------------------------------------------------------------------------------------------------
# Clauses below the main one.
#
# relative clause = 5 PRON[PronType=Rel] SCONJ[PronType=Rel] | NOUN PROPN PRON DET | VERB ; within 4
#
# Let r be a relative word, h the nearest word of the second group at most this many words before it, and v
# the first verb after it. The arc h > v gains the weight, ROOT > v loses half, v > r gains half, and arcs
# to r from words before it lose half.
#
# linker = 1.5 PRON SCONJ | VERB ; share .7 ; after .3
#
# Forms of the first group that begin clauses within sentences in the text, mostly after nouns, are treated
# in the same way.
#
# participle = 5 VERB[VerbForm=Part] | NOUN PROPN PRON | ADJ ; aux AUX
#
# A word of the first group just after one of the second or third, with no auxiliary from 3 words before it
# to the next word, depends on the nearest word of the second group before it.
#
# adnominal = 5 VERB | NOUN PROPN
#
# Forms of verbs (VerbForm and Case, or last morph of XPOS) that are followed by nouns more often than by
# anything else: such a verb depends on the first noun within 4 words after it.
#
# non-finite = 2.5 VERB[VerbForm=Inf|Conv] | AUX ; finite VERB[VerbForm=Fin] VERB[-VerbForm]
#
# A word of the first group with no auxiliary near it is no root, and gains this from verbs further right.


# ------------------------------------------------------------------------------------------- relative clauses
def _add_relative(views: SideBySide, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    words, antecedents, verbs = setting.groups
    within, weight = int(setting.number("within", 4)), setting.weight
    for s, word in views.places(words):
        view = views.views[s]
        head = view.first(antecedents, word - 1, max(-1, word - 1 - within), -1)
        verb = view.first(verbs, word + 1)
        if head < 0 or verb < 0:
            continue
        arcs[s, head, verb] += weight
        roots[s, verb] -= weight / 2
        arcs[s, verb, word] += weight / 2
        arcs[s, :word, word] -= weight / 2
        view.placed.add(verb)


def _measure_linkers(views: Sequence[View], setting: Setting, text: Text) -> list[tuple[str, str]]:
    tags, verbs = setting.groups
    seen: Counter[tuple[str, str]] = Counter()
    between: Counter[tuple[str, str]] = Counter()
    after_noun: Counter[tuple[str, str]] = Counter()
    for view in views:
        places = [i for i, tag in enumerate(view.tags) if verbs.has(tag)]
        for word in range(1, view.n):
            if not tags.has(view.tags[word]):
                continue
            key = view.forms[word], view.tags[word]
            later = sum(place > word for place in places)
            seen[key] += 1
            between[key] += later > 0 and (later > 1 or places[0] < word)
            before = view.tags[word - 1]
            if before == "ADP" and word > 1:
                before = view.tags[word - 2]
            after_noun[key] += before in NOUNS
    return sorted(
        (form, tag)
        for (form, tag), times in seen.items()
        if times >= 5
        and between[form, tag] / times >= setting.number("share", 0.7)
        and after_noun[form, tag] / times >= setting.number("after", 0.3)
    )


def linked_verb(view: View, word: int, setting: Setting) -> tuple[int, list[int]]:
    """The verb of a linker's clause, -1 for none, and nouns that may head that verb, nearest first."""
    before = word - 1
    if view.read[before] == "ADP" and before:
        before -= 1
    heads: list[int] = []
    while before >= 0 and view.read[before] in (*NOUNS, "PRON", "ADJ", "ADP", "DET", "NUM"):
        tag = view.read[before]
        if not heads and not any(view.read[i] in ("NOUN", "PROPN", "PRON", "ADJ") for i in range(before, word)):
            break
        if tag in NOUNS or (tag == "PRON" and not heads):
            heads.append(before)
        before -= 1
    return view.first(setting.groups[1], word + 1), heads


def _read_linkers(views: SideBySide, setting: Setting, text: Text) -> None:
    linkers = {(form, tag) for form, tag in text.found[setting.name]}
    tags = {tag for _, tag in linkers}
    for view in views.views:
        for word in range(1, view.n):
            if view.tags[word] not in tags or (view.form(word), view.tags[word]) not in linkers:
                continue
            verb, heads = linked_verb(view, word, setting)
            if verb >= 0 and heads:
                view.linked[word] = verb, heads[:2]
                if "symbol" in setting.options:
                    view.symbols[verb] = setting.names("symbol")[0]


def _add_linkers(views: SideBySide, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    for s, view in enumerate(views.views):
        for word, (verb, heads) in view.linked.items():
            if verb in view.placed:
                continue
            roots[s, verb] -= setting.weight
            for head, further in zip(heads, (2.5, 1.5)):
                arcs[s, head, verb] += setting.weight + further
            arcs[s, verb, word] += 1.0
            view.placed.add(verb)


# ------------------------------------------------------------------------------------------- participles
def _add_participles(views: SideBySide, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    participles, nominals, others = setting.groups
    aux = views.flags(setting.group("aux"))
    for s, word in views.places(participles):
        view = views.views[s]
        if not word or not (view.has(nominals, word - 1) or view.has(others, word - 1)):
            continue
        if aux[s, max(0, word - 3) : word + 2].any():
            continue
        head = view.first(nominals, word - 1, -1, -1)
        if head >= 0:
            arcs[s, head, word] += setting.weight
            view.placed.add(word)


@lru_cache(maxsize=1 << 14)
def verb_form(word: WordType) -> str:
    """The form of a verb, without knowledge of the language: VerbForm and Case, else the last morph."""
    _, feats, xpos = word
    forms = features_of(feats).get("VerbForm")
    if forms:
        return f"F:{','.join(sorted(forms))}:{case_of(feats)}"
    return "X:" + last_morph(xpos)


def _measure_adnominal(views: Sequence[View], setting: Setting, text: Text) -> dict[str, float]:
    verbs, nouns = setting.groups
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for view in views:
        for word, tag in enumerate(view.tags):
            if verbs.has(tag):
                has_noun = word + 1 < view.n and nouns.has(view.tags[word + 1])
                counts[verb_form(view.words[word])][has_noun or 0] += 1
    return {form: round(math.log((yes + 2) / (no + 2)), 4) for form, (no, yes) in sorted(counts.items())}


def is_adnominal(word: WordType, setting: Setting, text: Text) -> bool:
    """Whether verbs of this form stand before nouns."""
    return bool(text.found.get(setting.name, {}).get(verb_form(word), 0.0) > 0)


def _read_adnominal(views: SideBySide, setting: Setting, text: Text) -> None:
    for view in views.views:
        for word, tag in enumerate(view.read):
            if setting.groups[0].has(tag) and is_adnominal(view.words[word], setting, text):
                view.symbols[word] += "+a"


def _add_adnominal(views: SideBySide, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    verbs, nouns = setting.groups
    for s, word in views.places(verbs):
        view = views.views[s]
        if word + 1 < view.n and is_adnominal(view.words[word], setting, text):
            head = view.first(nouns, word + 1, min(view.n, word + 5))
            if head >= 0:
                arcs[s, head, word] += setting.weight
                view.placed.add(word)


# ------------------------------------------------------------------------------------------- non-finite verbs
def _measure_auxiliaries(views: Sequence[View], setting: Setting, text: Text) -> float:
    verbs = frozenset(setting.groups[0].tags)
    aux = frozenset(setting.groups[1].tags)
    left = right = 0
    for view in views:
        for one, two in zip(view.tags, view.tags[1:]):
            left += one in aux and two in verbs
            right += one in verbs and two in aux
    return round(math.log((right + 5) / (left + 5)), 4)


def _add_non_finite(views: SideBySide, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    aux, heads = views.flags(setting.groups[1]), views.flags(setting.group("verb")).copy()
    is_finite = np.any(aux | views.flags(setting.group("finite")), axis=1)
    side = text.found[setting.name]
    low, high = (3, 0) if side < 0 else (3, 3) if side < 1.7 else (-1, 2)
    below = [
        (s, word)
        for s, word in views.places(setting.groups[0])
        if is_finite[s] and not aux[s, max(0, word - low) : word + high].any()
    ]
    for s, word in below:
        heads[s, word] = False
    for s, word in below:
        if word not in views.views[s].placed and heads[s].any():
            roots[s, word] -= setting.weight
            arcs[s, word + 1 :, word] += setting.weight * heads[s, word + 1 :]


CLAUSES_KINDS = (
    Kind("relative clause", Syntax(("relatives", "nominals", "verbs"), {"within": "number"}), add=_add_relative),
    Kind(
        "linker",
        Syntax(("tags", "verbs"), {"share": "number", "after": "number", "symbol": "names"}),
        _measure_linkers,
        _read_linkers,
        _add_linkers,
    ),
    Kind("participle", Syntax(("participles", "nominals", "others"), {"aux": "tags"}), add=_add_participles),
    Kind(
        "adnominal",
        Syntax(("verbs", "nouns")),
        _measure_adnominal,
        _read_adnominal,
        _add_adnominal,
        only_symbols=True,
    ),
    Kind(
        "non-finite",
        Syntax(("verbs", "auxiliaries"), {"finite": "tags", "verb": "tags"}),
        _measure_auxiliaries,
        add=_add_non_finite,
    ),
)
