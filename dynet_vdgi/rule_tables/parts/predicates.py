"""Non-verbal predicates: a clause with a copula and no verb has another word as its head.

nominal predicate = 1 AUX | NOUN ADJ PRON ; as VERB ; cut SCONJ CCONJ ; over NOUN ADJ

Clauses are cut before removed punctuation and before words of `cut`. In a clause with a copula
(first group) and no word of `as`, the predicate is a word of the second group: the first one after
the last copula of the first run or, if none follows or the measure `final` is above a half, the
last one before it. From an ADJ or NUM, the predicate moves on to the next word while that belongs
to `over`, if the text has adjectives before nouns. If the measure `initial` is above a half and
nothing precedes the copula, its subject follows it, and the predicate follows the subject: it is
the next word if the subject is a PRON, otherwise the next one with a `particle` just before it, if
any. The predicate is read as `as`, by the table and by the model.

copula = 1.7 VERB | ADJ ; least 5 ; as AUX

Forms of the first group are copulas if a bare word of the second stands beside them this many times
as often as beside the average form. They are read as `as` if they have such a predicate beside
them, which is read as `predicate`, or a verb after them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dynet_vdgi.rule_tables.measures import Text
from dynet_vdgi.rule_tables.part_settings import Setting, Syntax
from dynet_vdgi.rule_tables.parts.kinds import Kind
from dynet_vdgi.rule_tables.patterns import Group
from dynet_vdgi.rule_tables.views import SideBySide, View
from dynet_vdgi.rule_tables.word_orders import Fact

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
        text.findings[setting.name],
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
    copula_of = {}
    for start, end in zip(starts[clauses].tolist(), ends[clauses].tolist()):
        copula, predicate = _predicate_in(words, start, end, order)
        if predicate >= 0:
            copula_of[predicate] = copula
    for predicate, copula in copula_of.items():
        s, word = divmod(predicate, views.n)
        views.rename(s, word, name, name)
        views.views[s].predicates[word] = copula % views.n


def _predicate_in(
    words: _ClauseWords, start: int, end: int, order: _PredicateOrder
) -> tuple[int, int]:
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
    """The predicate after a subject that follows its copula; -1: no word is marked as the
    predicate."""
    place = words.predicates.find(1, subject + 1, end)
    while place >= 0 and not words.pronouns[subject] and not words.particles[place - 1]:
        place = words.predicates.find(1, place + 1, end)
    return place


def _adjectives_first(views: Sequence[View], setting: Setting, text: Text) -> bool:
    pairs: Counter[tuple[str, str]] = Counter()
    for view in views:
        pairs.update(zip(view.tags, view.tags[1:]))
    before, after = pairs["ADJ", "NOUN"], pairs["NOUN", "ADJ"]
    fact = text.facts.get("adjectives", NOT_TOLD)
    return fact.combined_share(before / max(1, before + after), before + after) > 0.5


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
    with_bare: Counter[str] = Counter()
    for view in views:
        for word, tag in enumerate(view.tags):
            if verbs.has(tag, view.feats[word]):
                seen[view.forms[word]] += 1
                with_bare[view.forms[word]] += _has_bare(view.tags, word, bare)
    total = sum(seen.values())
    average = sum(with_bare.values()) / max(1, total)
    least = max(setting.number("least", 5), 0.003 * total)
    return sorted(
        form
        for form, times in seen.items()
        if times >= least
        and with_bare[form] >= 3
        and with_bare[form] / times >= setting.weight * average
    )


def predicate_of(tags: Sequence[str], copula: int) -> int:
    """The word beside a copula that is its predicate; -1: none.

    In "she is a good teacher" it is the noun; in "she is sleeping" there is none:

    >>> predicate_of(["PRON", "AUX", "DET", "ADJ", "NOUN"], copula=1)
    4
    >>> predicate_of(["PRON", "AUX", "VERB"], copula=1)
    -1
    """
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
    forms, name = set(text.findings[setting.name]), setting.names("as")[0]
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
    Syntax(
        ("verbs", "adjectives"),
        {"least": "number", "as": "names", "predicate": "names"},
        needs=("as",),
    ),
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
