"""Tables of labels, such as resources/labels/ud2.txt, whose header describes the format.

A table becomes numbers for a compiled kernel: every tag, every set of features and every name of a feature in
the table is one bit of a word.

Letters: r rules, q conditions of all rules.
"""

from __future__ import annotations

import logging
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.conllu.tag_sets import UD_TAGS
from dynet_vdgi.errors import ConfigError
from dynet_vdgi.features.atoms import values_of
from dynet_vdgi.settings.bundled import resources
from dynet_vdgi.system.array_types import Ints
from dynet_vdgi.system.limits import read_table
from dynet_vdgi.system.messages import count, did_you_mean, of_these

logger = logging.getLogger("dynet_vdgi")

Bits = NDArray[np.uint64]

ROOT = "ROOT"

OTHERWISE = "dep"
"""The label if no rule holds."""

_OF_UD2 = """
acl advcl advmod amod appos aux case cc ccomp clf compound conj cop csubj dep det discourse dislocated expl
fixed flat goeswith iobj list mark nmod nsubj nummod obj obl orphan parataxis punct reparandum root vocative
xcomp
"""

LABELS = tuple(_OF_UD2.split())
"""The universal relations of UD 2."""

TAGS = (*sorted(UD_TAGS), ROOT)
"""The universal tags (CONJ was CCONJ in UD 1), and ROOT."""

NOUNS = ("NOUN", "PROPN", "PRON", "NUM")
"""The words that the conditions `outer`, `inner` and `across` concern."""

_PLAIN = "left right next comma verb-final verb-initial outer inner across"

PLAIN_CONDITIONS = tuple(_PLAIN.split())

NAMED_CONDITIONS = ("head", "headkey", "child", "headchild", "childfeat", "headchildfeat")

KINDS = (*PLAIN_CONDITIONS, "feat", *NAMED_CONDITIONS)
"""Kinds of conditions, numbered for the kernel; `feat` is written Name=Value."""

_FEATURE = re.compile(r"[^=|:]+=[^=]+")

_MOST_BITS = 64

LONGEST = 200
"""Characters allowed in a relation."""

MOST_SHOWN = 5
"""Number of labels named in a message."""


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


class RuleArrays(NamedTuple):
    """Rules for the kernel; `LabelTable.bits_of` makes the bits of words."""

    labels: Ints  # (r,), numbers in the table's `names`
    heads: Bits  # (r,), the tags
    dependents: Bits  # (r,)
    first: Ints  # (r + 1,), where each rule's conditions begin
    kinds: Ints  # (q,), numbers in KINDS
    masks: Bits  # (q,)
    negated: NDArray[np.bool_]  # (q,)
    nouns: np.uint64
    adposition: np.uint64


@dataclass(frozen=True)
class LabelTable:
    """The rules of a table, in order."""

    rules: tuple[LabelRule, ...]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Labels by number: LABELS, then the table's labels that are not UD's."""
        return (*LABELS, *self.own_labels)

    @cached_property
    def own_labels(self) -> tuple[str, ...]:
        """The table's labels that UD 2 lacks, including subtypes of UD's."""
        return tuple(dict.fromkeys(rule.label for rule in self.rules if rule.label not in LABELS))

    @classmethod
    def read(cls, path: str | Path) -> LabelTable:
        """The table in a file.

        Raises:
            ConfigError: it cannot be read, or a line is wrong; names file, line and remedy.
        """
        return cls.of_text(read_table(path, "table of labels"), str(path))

    @classmethod
    def of_text(cls, text: str, name: str = "labels") -> LabelTable:
        """The table in a text; `name` stands in messages. Raises: ConfigError, a line is wrong."""
        reader = _LabelTableReader(name)
        for number, line in enumerate(text.splitlines(), 1):
            content = line.split("#", 1)[0].strip()
            if content:
                reader.number = number
                reader.read(content)
        if not reader.rules:
            raise ConfigError(f"{name}: no rules (one a line: label, head tags, dependent tags, conditions)")
        return cls(tuple(reader.rules))

    def bits_of(self, tag: str, feats: str) -> tuple[int, int, int]:
        """The bits of a word that conditions use: of its tag, sets of features, and names of features."""
        values = values_of(feats)
        pairs = {f"{name}={value}" for name, value in values.items()}
        sets = sum(1 << k for k, wanted in enumerate(self._feature_sets) if not pairs.isdisjoint(wanted))
        names = sum(1 << k for k, name in enumerate(self._feature_names) if name in values)
        return _tag_bits((tag,)), sets, names

    @cached_property
    def arrays(self) -> RuleArrays:
        """The rules for the kernel."""
        conditions = [condition for rule in self.rules for condition in rule.conditions]
        return RuleArrays(
            np.array([self.names.index(rule.label) for rule in self.rules], np.int64),
            np.array([_tags_wanted(rule.heads) for rule in self.rules], np.uint64),
            np.array([_tags_wanted(rule.dependents) for rule in self.rules], np.uint64),
            np.cumsum([0, *(len(rule.conditions) for rule in self.rules)]),
            np.array([KINDS.index(condition.kind) for condition in conditions], np.int64),
            np.array([self._mask(condition) for condition in conditions], np.uint64),
            np.array([condition.negated for condition in conditions], np.bool_),
            np.uint64(_tag_bits(NOUNS)),
            np.uint64(_tag_bits(("ADP",))),
        )

    def _mask(self, condition: Condition) -> int:
        if condition.kind in ("feat", "head"):
            return 1 << self._feature_sets.index(condition.values)
        if condition.kind in ("child", "headchild"):
            return _tags_wanted(condition.values)
        if condition.kind in ("headkey", "childfeat", "headchildfeat"):
            return 1 << self._feature_names.index(condition.values[0])
        return 0

    @cached_property
    def _feature_sets(self) -> tuple[tuple[str, ...], ...]:
        return tuple(dict.fromkeys(self._values("feat", "head")))

    @cached_property
    def _feature_names(self) -> tuple[str, ...]:
        names = self._values("headkey", "childfeat", "headchildfeat")
        return tuple(dict.fromkeys(name for (name,) in names))

    def _values(self, *kinds: str) -> Iterable[tuple[str, ...]]:
        every = (condition for rule in self.rules for condition in rule.conditions)
        return (condition.values for condition in every if condition.kind in kinds)


def bundled_tables() -> dict[str, Path]:
    """The tables in resources/labels, by name."""
    return {path.stem: path for path in (resources() / "labels").glob("*.txt")}


DEFAULT = "ud2"
"""The table that is used unless another one is named."""


def load(name: str = DEFAULT) -> LabelTable:
    """The table of this name in resources/labels, or in a file.

    Raises:
        ConfigError: there is no such table, or a line is wrong.
    """
    bundled = bundled_tables()
    if name not in bundled and not Path(name).exists():
        raise ConfigError(f"no table of labels '{name}'{of_these(name, sorted(bundled))}")
    return LabelTable.read(bundled.get(name, Path(name)))


def warnings_of(table: LabelTable, name: str) -> list[str]:
    """The warning, given once, about a table with labels that are not UD's: they are used unchanged."""
    own = [label for label in table.own_labels if relation_of(label) not in LABELS]
    near = [f"{label}{did_you_mean(relation_of(label), LABELS, 0.8)}" for label in own]
    if not own:
        return []
    shown = ", ".join(near[:MOST_SHOWN]) + (", ..." if len(near) > MOST_SHOWN else "")
    return [f"{name}: {count(len(own), 'label')} not of UD 2, to be written as in the table: {shown}"]


def named_table(name: str) -> LabelTable | None:
    """The table that a user has named; None for "none". Warns of labels that UD 2 lacks.

    Raises: as `load`.
    """
    if name == "none":
        return None
    table = load(name)
    for warning in warnings_of(table, name):
        logger.warning("%s", warning)
    return table


def _tag_bits(tags: Iterable[str]) -> int:
    """A bit for every tag, from the second bit on; the first bit stands for all tags not in TAGS."""
    return sum(1 << (TAGS.index(tag) + 1 if tag in TAGS else 0) for tag in tags)


def _tags_wanted(tags: Sequence[str]) -> int:
    """The bits of these tags; all bits for no tags, which means any."""
    return _tag_bits(tags) if tags else (1 << _MOST_BITS) - 1


class _LabelTableReader:
    """Reads a table line by line; `number` is that of the present line."""

    def __init__(self, name: str) -> None:
        self.name, self.number = name, 0
        self.rules: list[LabelRule] = []
        self.classes: dict[str, tuple[str, ...]] = {}
        self.feature_sets: set[tuple[str, ...]] = set()

    def fault(self, message: str) -> ConfigError:
        return ConfigError(f"{self.name}:{self.number}: {message}")

    def read(self, content: str) -> None:
        columns = content.split()
        if len(columns) > 1 and columns[1] == "=":
            self.read_class(columns[0], columns[2:])
            return
        if len(columns) < 3:
            expected = "expected label, head tags, dependent tags and conditions"
            raise self.fault(f"{expected}, such as: det NOUN DET left; found: {content}")
        label, heads, dependents, *conditions = columns
        if fault := fault_in(label):
            raise self.fault(f"the label {label[:40]!r} {fault}")
        rule = LabelRule(label, self.tags(heads), self.tags(dependents), tuple(self.conditions(conditions)))
        if ROOT in rule.dependents:
            raise self.fault("ROOT cannot be a dependent")
        self.rules.append(rule)

    def read_class(self, name: str, members: Sequence[str]) -> None:
        """N = NOUN PROPN"""
        if not members:
            raise self.fault("expected the tags of a class, such as N = NOUN PROPN")
        if name in self.classes or name in TAGS:
            raise self.fault(f"{name} is a tag or a class already")
        self.classes[name] = tuple(tag for member in members for tag in self.tags(member))

    def tags(self, column: str) -> tuple[str, ...]:
        """VERB|AUX, a class, or *, which gives no tags."""
        if column == "*":
            return ()
        tags: dict[str, None] = {}
        for name in column.split("|"):
            if name not in TAGS and name not in self.classes:
                known = (*TAGS, *self.classes)
                raise self.fault(f"'{name}' is no universal tag and no class{did_you_mean(name, known)}")
            tags.update(dict.fromkeys(self.classes.get(name, (name,))))
        return tuple(tags)

    def conditions(self, columns: Sequence[str]) -> list[Condition]:
        """left not child:ADP Case=Acc|Gen"""
        conditions, negated = [], False
        for column in columns:
            if column == "not":
                if negated:
                    raise self.fault("'not' is there twice")
                negated = True
                continue
            conditions.append(self.condition(column, negated))
            negated = False
        if negated:
            raise self.fault("'not' needs a condition after it, such as: not child:ADP")
        return conditions

    def condition(self, column: str, negated: bool) -> Condition:
        if column in PLAIN_CONDITIONS:
            return Condition(column, (), negated)
        kind, colon, value = column.partition(":")
        if not colon or ("=" in kind):
            kind, value = "feat", column
        if kind not in KINDS or (kind == "feat" and "=" not in column):
            known = (*PLAIN_CONDITIONS, *NAMED_CONDITIONS)
            there_are = f"there are: {', '.join(known)}, Name=Value"
            raise self.fault(f"no condition '{column}'{did_you_mean(kind if colon else column, known)} ({there_are})")
        if kind in ("child", "headchild"):
            return Condition(kind, self.tags(value), negated)
        if kind in ("feat", "head"):
            return Condition(kind, self.features(value), negated)
        if not value:
            raise self.fault(f"'{column}' needs the name of a feature, such as {kind}:Number")
        return Condition(kind, (value,), negated)

    def features(self, column: str) -> tuple[str, ...]:
        """Case=Acc|Gen"""
        if not _FEATURE.fullmatch(column) or "" in column.partition("=")[2].split("|"):
            raise self.fault(f"expected a feature, such as Case=Acc|Gen; found: {column}")
        name, _, values = column.partition("=")
        features = tuple(f"{name}={value}" for value in values.split("|"))
        self.feature_sets.add(features)
        if len(self.feature_sets) > _MOST_BITS:
            raise self.fault(f"more than {_MOST_BITS} different conditions on features")
        return features


def fault_in(relation: str) -> str | None:
    """Why this relation cannot stand in the column DEPREL; None if it can."""
    if not relation or relation == "_" or relation.startswith(":"):
        return "is none: it has no name"
    if len(relation) > LONGEST:
        return f"is longer than {LONGEST} characters"
    if any(c.isspace() or unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for c in relation):
        return "has a character that CoNLL-U does not allow: a space or a control character"
    return None


def relation_of(deprel: str) -> str:
    """The universal part of a relation.

    >>> relation_of("nsubj:pass")
    'nsubj'
    """
    return deprel.partition(":")[0]
