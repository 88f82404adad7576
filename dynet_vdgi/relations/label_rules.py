"""Rules of a table of labels: the line `obj VERB NOUN right not child:ADP` says when an arc is
labelled `obj`.

>>> no_case = Condition("child", ("ADP",), negated=True)
>>> LabelRule("obj", ("VERB",), ("NOUN",), (Condition("right"), no_case)).label
'obj'
"""

from __future__ import annotations

from dataclasses import dataclass

from dynet_vdgi.conllu.tag_sets import UD_TAGS

ROOT = "ROOT"

TAGS = (*sorted(UD_TAGS), ROOT)
"""The universal tags (CONJ was CCONJ in UD 1), and ROOT."""

NOUNS = ("NOUN", "PROPN", "PRON", "NUM")
"""The words that the conditions `outer`, `inner` and `across` concern."""

_PLAIN = "left right next comma verb-final verb-initial outer inner across"

PLAIN_CONDITIONS = tuple(_PLAIN.split())

NAMED_CONDITIONS = ("head", "headkey", "child", "headchild", "childfeat", "headchildfeat")

CONDITION_KINDS = (*PLAIN_CONDITIONS, "feat", *NAMED_CONDITIONS)
"""Kinds of conditions, numbered for the kernel; `feat` is written Name=Value."""

MOST_BITS = 64


@dataclass(frozen=True)
class Condition:
    """One condition; `values` are tags, features (Name=Value) or the name of a feature."""

    kind: str
    values: tuple[str, ...] = ()
    negated: bool = False


@dataclass(frozen=True)
class LabelRule:
    """One line of a table; no tags: any."""

    label: str
    heads: tuple[str, ...]
    dependents: tuple[str, ...]
    conditions: tuple[Condition, ...]
