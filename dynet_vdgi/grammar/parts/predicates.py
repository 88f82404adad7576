"""Predicates that are no verbs: a clause with a copula and no verb has another word as its head.

    nominal predicate = 1 AUX | NOUN PROPN ADJ NUM PRON ; as VERB ; cut SCONJ CCONJ CONJ ; over NOUN PROPN ADJ

Clauses are cut before removed punctuation and before words of `cut`. In one with a copula (first group) and
no word of `as`, the predicate is a word of the second group: the first one after the last copula of the
first run, or, where there is none after it or the measure `final` is above a half, the last one before it.
From an ADJ or NUM on it moves to the next word while that belongs to `over` and the text has adjectives
before nouns. Where the measure `initial` is above a half and nothing stands before the copula, its subject
follows it, and the predicate after that: the next word if the subject is a PRON, or else the next one with a
`particle` just before it, if any. The predicate is read as `as`, by the table and by the model.

    copula = 1.7 VERB | ADJ ; least 5 ; as AUX

Forms of the first group beside which a bare word of the second stands this many times as often as beside
the average are copulas: read as `as` where they have such a predicate beside them, which is read as
`predicate`, or a verb after them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from dynet_vdgi.grammar.orders import Fact
from dynet_vdgi.grammar.parts.kinds import Kind
from dynet_vdgi.grammar.patterns import Group
from dynet_vdgi.grammar.settings import Setting, Syntax
from dynet_vdgi.grammar.statistics import Text
from dynet_vdgi.grammar.views import View

NOUNS = ("NOUN", "PROPN")
NOT_TOLD = Fact(0.0, 0.0)


def _clauses(view: View, cut: Group) -> Iterator[tuple[int, int]]:
    start, gaps, read, plain = 0, view.gaps, list(view.read), cut.plain
    for word in range(1, view.n):
        if gaps[word] or read[word] in plain or (cut.special and view.has(cut, word)):
            yield start, word
            start = word
    yield start, view.n


def _read_predicates(view: View, setting: Setting, text: Text) -> None:
    copulas, predicates = setting.groups
    if copulas.tags.isdisjoint(view.read):
        return
    name = setting.names("as")[0]
    over = setting.group("over")
    subject_follows = text.is_named(setting.names("initial"))
    is_final = text.is_named(setting.names("final"))
    adjectives_first = text.found[setting.name]
    read = view.read
    for start, end in _clauses(view, setting.group("cut")):
        if name in read[start:end]:
            continue
        if copulas.tags.isdisjoint(read[start:end]):
            continue
        copula = view.first(copulas, start, end)
        if copula < 0:
            continue
        while copula + 1 < end and view.has(copulas, copula + 1):
            copula += 1
        after = view.first(predicates, copula + 1, end)
        before = view.first(predicates, copula - 1, start - 1, -1)
        if subject_follows and before < 0 and after >= 0:
            after = _after_subject(view, setting, after, end)
            if after < 0:
                continue
        if before >= 0 and (is_final or after < 0):
            place = before
        elif after >= 0:
            place = after
            while (
                adjectives_first
                and place + 1 < end
                and read[place] in ("ADJ", "NUM")
                and view.has(over, place + 1)
            ):
                place += 1
        else:
            continue
        read[place] = view.symbols[place] = name
        view.predicates[place] = copula


def _after_subject(view: View, setting: Setting, subject: int, end: int) -> int:
    """The predicate after a subject that follows its copula; -1: nothing tells which word that is."""
    place = view.first(setting.groups[1], subject + 1, end)
    while place >= 0 and view.read[subject] != "PRON" and not view.has(setting.group("particle"), place - 1):
        place = view.first(setting.groups[1], place + 1, end)
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
    """Whether a bare adjective stands beside a word: one that no noun follows, or precedes."""
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


def _read_copulas(view: View, setting: Setting, text: Text) -> None:
    forms, verbs = set(text.found[setting.name]), setting.groups[0]
    tags, name = view.tags, setting.names("as")[0]
    for word in range(view.n):
        if view.forms[word] in forms and verbs.has(tags[word], view.feats[word]):
            place = predicate_of(tags, word)
            if place >= 0:
                view.read[word] = view.symbols[word] = name
                for predicate in setting.names("predicate"):
                    view.read[place] = view.symbols[place] = predicate
                    view.predicates[place] = word
            else:
                place = word + 1
                while place < view.n and tags[place] in ("ADV", "PART"):
                    place += 1
                if place < view.n and tags[place] == "VERB":
                    view.read[word] = view.symbols[word] = name


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
KINDS = (COPULA, NOMINAL_PREDICATE)
