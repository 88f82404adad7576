"""Clauses below the main one.

relative clause = 5 PRON[PronType=Rel] SCONJ[PronType=Rel] | NOUN PROPN PRON DET | VERB ; within 4

Let r be a relative word, h the nearest word of the second group at most this many words before it,
and v the first verb after it. The arc h > v gains the weight, ROOT > v loses half, v > r gains
half, and arcs to r from words before it lose half.

linker = 1.5 PRON SCONJ | VERB ; share .7 ; after .3

Forms of the first group that begin clauses within sentences in the text, mostly after nouns, are
treated in the same way.

participle = 5 VERB[VerbForm=Part] | NOUN PROPN PRON | ADJ ; aux AUX

A word of the first group just after one of the second or third, with no auxiliary from 3 words
before it to the next word, depends on the nearest word of the second group before it.

adnominal = 5 VERB | NOUN PROPN

Forms of verbs (VerbForm and Case, or last morph of XPOS) that are followed by nouns more often
than by anything else: such a verb depends on the first noun within 4 words after it.

non-finite = 2.5 VERB[VerbForm=Inf|Conv] | AUX ; finite VERB[VerbForm=Fin] VERB[-VerbForm]

A word of the first group with no auxiliary near it is no root, and gains this from verbs further
right.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from dynet_vdgi.rule_tables.measures import Text
from dynet_vdgi.rule_tables.part_settings import Setting, Syntax
from dynet_vdgi.rule_tables.parts.kinds import Kind
from dynet_vdgi.rule_tables.parts.markers import case_of
from dynet_vdgi.rule_tables.parts.predicates import NOUNS
from dynet_vdgi.rule_tables.patterns import features_of
from dynet_vdgi.rule_tables.views import SideBySide, View, WordType, last_morph
from dynet_vdgi.system.array_types import Floats


def _add_relative(
    views: SideBySide, setting: Setting, text: Text, roots: Floats, arcs: Floats
) -> None:
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
    """The verb of a linker's clause, -1 for none, and nouns that may head that verb, nearest
    first."""
    before = word - 1
    if view.read[before] == "ADP" and before:
        before -= 1
    heads: list[int] = []
    while before >= 0 and view.read[before] in (*NOUNS, "PRON", "ADJ", "ADP", "DET", "NUM"):
        tag = view.read[before]
        if not heads and not any(
            view.read[i] in ("NOUN", "PROPN", "PRON", "ADJ") for i in range(before, word)
        ):
            break
        if tag in NOUNS or (tag == "PRON" and not heads):
            heads.append(before)
        before -= 1
    return view.first(setting.groups[1], word + 1), heads


def _read_linkers(views: SideBySide, setting: Setting, text: Text) -> None:
    linkers = {(form, tag) for form, tag in text.findings[setting.name]}
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


def _add_linkers(
    views: SideBySide, setting: Setting, text: Text, roots: Floats, arcs: Floats
) -> None:
    for s, view in enumerate(views.views):
        for word, (verb, heads) in view.linked.items():
            if verb in view.placed:
                continue
            roots[s, verb] -= setting.weight
            for head, further in zip(heads, (2.5, 1.5)):
                arcs[s, head, verb] += setting.weight + further
            arcs[s, verb, word] += 1.0
            view.placed.add(verb)


def _add_participles(
    views: SideBySide, setting: Setting, text: Text, roots: Floats, arcs: Floats
) -> None:
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
    """The form of a verb, without knowledge of the language: VerbForm and Case, else the last
    morph."""
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
    return {
        form: round(math.log((yes + 2) / (no + 2)), 4) for form, (no, yes) in sorted(counts.items())
    }


def is_adnominal(word: WordType, setting: Setting, text: Text) -> bool:
    """Whether verbs of this form stand before nouns."""
    return bool(text.findings.get(setting.name, {}).get(verb_form(word), 0.0) > 0)


def _read_adnominal(views: SideBySide, setting: Setting, text: Text) -> None:
    for view in views.views:
        for word, tag in enumerate(view.read):
            if setting.groups[0].has(tag) and is_adnominal(view.words[word], setting, text):
                view.symbols[word] += "+a"


def _add_adnominal(
    views: SideBySide, setting: Setting, text: Text, roots: Floats, arcs: Floats
) -> None:
    verbs, nouns = setting.groups
    for s, word in views.places(verbs):
        view = views.views[s]
        if word + 1 < view.n and is_adnominal(view.words[word], setting, text):
            head = view.first(nouns, word + 1, min(view.n, word + 5))
            if head >= 0:
                arcs[s, head, word] += setting.weight
                view.placed.add(word)


def _measure_auxiliaries(views: Sequence[View], setting: Setting, text: Text) -> float:
    verbs = frozenset(setting.groups[0].tags)
    aux = frozenset(setting.groups[1].tags)
    left = right = 0
    for view in views:
        for one, two in zip(view.tags, view.tags[1:]):
            left += one in aux and two in verbs
            right += one in verbs and two in aux
    return round(math.log((right + 5) / (left + 5)), 4)


def _add_non_finite(
    views: SideBySide, setting: Setting, text: Text, roots: Floats, arcs: Floats
) -> None:
    aux, heads = views.flags(setting.groups[1]), views.flags(setting.group("verb")).copy()
    is_finite = np.any(aux | views.flags(setting.group("finite")), axis=1)
    side = text.findings[setting.name]
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
    Kind(
        "relative clause",
        Syntax(("relatives", "nominals", "verbs"), {"within": "number"}),
        add=_add_relative,
    ),
    Kind(
        "linker",
        Syntax(("tags", "verbs"), {"share": "number", "after": "number", "symbol": "names"}),
        _measure_linkers,
        _read_linkers,
        _add_linkers,
    ),
    Kind(
        "participle",
        Syntax(("participles", "nominals", "others"), {"aux": "tags"}),
        add=_add_participles,
    ),
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
