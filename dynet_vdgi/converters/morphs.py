"""Morphs of a word: its lemma, its tag and its segmented form from theirs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dynet_vdgi.converters.interlinear import GlossedWord, Losses

_JOINTS = "-=~"

_CLITICS = {"clitic", "enclitic", "proclitic"}

_BOUND = _CLITICS | {"prefix", "suffix", "infix", "circumfix", "simulfix", "suprafix"}

_BOUND |= {"prefixing interfix", "suffixing interfix", "infixing interfix"}


class Morph(NamedTuple):
    """A morph: its form in the word, gloss, citation form, tag and kind, "" for what is missing."""

    form: str
    gloss: str = ""
    lemma: str = ""
    tag: str = ""
    kind: str = ""

    @property
    def is_bound(self) -> bool:
        """Whether it is an affix or a clitic, by its kind or by the hyphen at an end."""
        if self.kind:
            return self.kind in _BOUND
        return self.form[:1] in _JOINTS or self.form[-1:] in _JOINTS


def add_morphs(word: GlossedWord, morphs: Sequence[Morph], losses: Losses) -> None:
    """Adds to a word what its morphs say: MSeg, MGloss, Gloss, and lemma and tag from its only
    stem."""
    morphs = [morph for morph in morphs if morph.form]
    if not morphs:
        return
    joints = [_joint(one, other) for one, other in zip(morphs, morphs[1:])]
    glosses = [morph.gloss.strip(_JOINTS) or "?" for morph in morphs]
    has_glosses = any(morph.gloss for morph in morphs)
    whole = _text_joined(glosses, joints)
    if len(morphs) > 1:
        word.notes.append(
            (
                "MSeg",
                _text_joined([morph.form.strip(_JOINTS) or morph.form for morph in morphs], joints),
            )
        )
        word.notes += [("MGloss", whole)] if has_glosses else []
    if has_glosses and not any(key == "Gloss" for key, _ in word.notes):
        word.notes.append(("Gloss", whole))
    stems = [morph for morph in morphs if not morph.is_bound] or (
        list(morphs) if len(morphs) == 1 else []
    )
    if len(stems) != 1:
        what = "words with several stems" if stems else "words without a stem"
        losses.add(f"{what}: no lemma, and no tag from morphs", word.line, repr(word.form))
        return
    if stems[0].lemma and word.lemma == "_":
        word.lemma = stems[0].lemma.strip(_JOINTS) or stems[0].lemma
    if stems[0].tag and word.tag == "_":
        word.tag = stems[0].tag


def _joint(one: Morph, other: Morph) -> str:
    """What stands between two morphs: the sign that one of them has at that end,
    or by their kinds."""
    for sign in (one.form[-1:], other.form[:1]):
        if sign and sign in _JOINTS:
            return sign
    return "=" if {one.kind, other.kind} & _CLITICS else "-"


def _text_joined(parts: Sequence[str], joints: Sequence[str]) -> str:
    return parts[0] + "".join(joint + part for joint, part in zip(joints, parts[1:]))
