"""What the tiers of an ELAN file stand for, by their names, their types and their places."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from dynet_vdgi.converters.interlinear import Losses

TEXT, WORDS, MORPHS, NAME, OUTER = "text", "words", "morphs", "name", "outer"

_NAMES = {
    NAME: "ref reference segnum id rf",
    TEXT: (
        "tx text txt orth ortho orthography utterance utterances utt transcription transcript trs "
        "transc phrase phrases sentence sentences sent default po baseline speech"
    ),
    WORDS: (
        "word words wd w token tokens tok wordform wordforms mot mots palabra palabras slovo wort"
    ),
    "lemma": "lemma lemmas lem lemme lexeme lx cf",
    MORPHS: "mb morph morphs morpheme morphemes morphem mseg mot-morph segmentation",
    "gloss": "ge gl gls gloss glosses glossing glosa glose mgloss",
    "pos": "ps pos postag cat category xpos upos tag tags msa wordclass",
    "translation": (
        "ft free translation translations trans trad traduction traduccion "
        "translat tr fta freetrans"
    ),
    "literal": "lt lit literal",
    "note": "note notes nt comment comments com cm remark remarks",
}

_ROLE_OF = {name: role for role, names in _NAMES.items() for name in names.split()}

ROLES = tuple(_NAMES)
"""Roles that a user can give to a tier."""

_FLEX = re.compile(r"(interlinear-text|paragraph|phrase|word|morph)-([a-z]+)(?:-(.+))?$")

_OF_FLEX = {
    ("phrase", "segnum"): NAME,
    ("phrase", "txt"): TEXT,
    ("phrase", "gls"): "translation",
    ("phrase", "lit"): "literal",
    ("phrase", "note"): "note",
    ("word", "txt"): WORDS,
    ("word", "gls"): "gloss",
    ("word", "pos"): "pos",
    ("morph", "txt"): MORPHS,
    ("morph", "cf"): "lemma",
    ("morph", "gls"): "gloss",
    ("morph", "msa"): "pos",
}

_LANGUAGES = {
    "english": "en",
    "french": "fr",
    "spanish": "es",
    "portuguese": "pt",
    "russian": "ru",
    "german": "de",
    "indonesian": "id",
    "chinese": "zh",
}

_CODE = re.compile(
    r"(?:ft|trans(?:lation)?|tr|gls|lit|free)[-_. ]([a-z]{2,3}(?:-\w+)*)\b", re.IGNORECASE
)

_DIVIDED = {"Symbolic_Subdivision", "Time_Subdivision", "Included_In"}


class Annotation(NamedTuple):
    """A value on a tier: with times, in ms, or the annotation above it;
    None for what is missing."""

    key: str
    value: str
    line: int
    begin: float | None
    end: float | None
    is_timed: bool  # begin and end are the file's own
    parent: str
    previous: str


@dataclass(slots=True)
class Tier:
    """A tier; `constraint` is how it divides its parent, "" for a tier of its own."""

    key: str
    kind: str
    parent: str
    speaker: str
    language: str
    constraint: str
    line: int
    annotations: list[Annotation] = field(default_factory=list)
    role: str = ""


def language_of(tier: Tier, language: str) -> str:
    """The code of the language of a translation: as the tier says, or its name;
    else the one given."""
    if tier.language:
        return tier.language
    in_flex = _FLEX.search(tier.key)
    if in_flex and in_flex[3]:
        return in_flex[3]
    stem = tier.key.partition("@")[0]
    for name, code in _LANGUAGES.items():
        if name in stem.lower():
            return code
    code_in_name = _CODE.search(stem)
    return code_in_name[1].lower() if code_in_name else language


def assign(
    tiers: Mapping[str, Tier], order: Sequence[Tier], wanted: Mapping[str, str], losses: Losses
) -> None:
    """Gives each tier its role; order: parents before children.

    wanted: roles by name of a tier, of a type, or of the tiers of all speakers: tx for tx@Ami and
    tx@Teno.
    """
    for tier in order:
        parent = tiers.get(tier.parent)
        above = parent.role if parent else ""
        of_all = tier.key.partition("@")[0]
        named = wanted.get(tier.key) or wanted.get(tier.kind) or wanted.get(of_all)
        tier.role = named or _by_name(tier, above)
    for tier in order:
        parent = tiers.get(tier.parent)
        if not tier.role and tier.annotations and (role := _by_place(tier, parent, order)):
            tier.role = role
            losses.add(f"tiers read as {role} because of their place", tier.line, repr(tier.key))


def _by_name(tier: Tier, above: str) -> str:
    """The role by the names of the tier and its type; `above` is the parent's."""
    if match := _FLEX.search(tier.key):
        if match[1] in ("interlinear-text", "paragraph"):
            return OUTER
        return _OF_FLEX.get((match[1], match[2]), "")
    stem = tier.key.partition("@")[0].lower()
    if above and any(name in stem for name in _LANGUAGES):
        return "translation"
    for name in (stem, tier.kind.partition("@")[0].lower().removesuffix("t"), tier.kind.lower()):
        role = _ROLE_OF.get(name) or next(
            (_ROLE_OF[part] for part in re.findall(r"[^\W\d_]+", name) if part in _ROLE_OF), ""
        )
        if role == TEXT and tier.constraint in _DIVIDED and above in (NAME, TEXT):
            return WORDS
        if role == "gloss" and above in (TEXT, NAME) and tier.constraint not in _DIVIDED:
            return "translation"
        if role:
            return role
    return ""


def _by_place(tier: Tier, parent: Tier | None, order: Sequence[Tier]) -> str:
    if parent is None:
        others = any(other.role in (TEXT, WORDS, NAME) for other in order)
        return "" if others else TEXT
    siblings = {other.role for other in order if other.parent == parent.key}
    if tier.constraint in _DIVIDED and parent.role in (TEXT, NAME) and WORDS not in siblings:
        return WORDS
    if tier.constraint in _DIVIDED and parent.role == WORDS and MORPHS not in siblings:
        return MORPHS
    return ""
