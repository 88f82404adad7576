r"""Tables of labels, such as resources/labels/ud2.txt, whose header describes the format.

A table becomes numbers for a compiled kernel: every tag, every set of features and every name of a
feature in the table is one bit of a word.

>>> table = LabelTable.of_text("obj VERB NOUN right not child:ADP\nobl VERB NOUN")
>>> table.names[-1], [table.names[k] for k in table.arrays.labels]
('xcomp', ['obj', 'obl'])

Letters: r rules, q conditions of all rules.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.errors import ConfigError
from dynet_vdgi.features.atoms import values_of
from dynet_vdgi.relations.label_rules import (
    CONDITION_KINDS,
    MOST_BITS,
    NOUNS,
    TAGS,
    Condition,
    LabelRule,
)
from dynet_vdgi.relations.label_table_reader import LabelTableReader
from dynet_vdgi.relations.ud_relations import LABELS, relation_of
from dynet_vdgi.settings.bundled import resources
from dynet_vdgi.system.array_types import Ints
from dynet_vdgi.system.limits import read_table
from dynet_vdgi.system.messages import count, did_you_mean, of_these

logger = logging.getLogger("dynet_vdgi")

Bits = NDArray[np.uint64]

MOST_SHOWN = 5
"""Number of labels named in a message."""

DEFAULT = "ud2"
"""The table that is used unless another one is named."""


class RuleArrays(NamedTuple):
    """Rules for the kernel; `LabelTable.bits_of` makes the bits of words."""

    labels: Ints  # (r,), numbers in the table's `names`
    heads: Bits  # (r,), the tags
    dependents: Bits  # (r,)
    first: Ints  # (r + 1,), where each rule's conditions begin
    kinds: Ints  # (q,), numbers in CONDITION_KINDS
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
        reader = LabelTableReader(name)
        for number, line in enumerate(text.splitlines(), 1):
            content = line.split("#", 1)[0].strip()
            if content:
                reader.number = number
                reader.read(content)
        if not reader.rules:
            raise ConfigError(
                f"{name}: no rules (one a line: label, head tags, dependent tags, conditions)"
            )
        return cls(tuple(reader.rules))

    def bits_of(self, tag: str, feats: str) -> tuple[int, int, int]:
        """The bits of a word that conditions use: of its tag, sets of features, and names of
        features."""
        values = values_of(feats)
        pairs = {f"{name}={value}" for name, value in values.items()}
        sets = sum(
            1 << k for k, wanted in enumerate(self._feature_sets) if not pairs.isdisjoint(wanted)
        )
        names = sum(1 << k for k, name in enumerate(self._feature_names) if name in values)
        return _tag_bits((tag,)), sets, names

    @cached_property
    def arrays(self) -> RuleArrays:
        """The rules for the kernel."""
        conditions = [condition for rule in self.rules for condition in rule.conditions]
        labels = [self.names.index(rule.label) for rule in self.rules]
        kinds = [CONDITION_KINDS.index(condition.kind) for condition in conditions]
        return RuleArrays(
            labels=np.array(labels, np.int64),
            heads=np.array([_tags_wanted(rule.heads) for rule in self.rules], np.uint64),
            dependents=np.array([_tags_wanted(rule.dependents) for rule in self.rules], np.uint64),
            first=np.cumsum([0, *(len(rule.conditions) for rule in self.rules)]),
            kinds=np.array(kinds, np.int64),
            masks=np.array([self._mask(condition) for condition in conditions], np.uint64),
            negated=np.array([condition.negated for condition in conditions], np.bool_),
            nouns=np.uint64(_tag_bits(NOUNS)),
            adposition=np.uint64(_tag_bits(("ADP",))),
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
    """The warning, given once, about a table with labels that are not UD's: they are used
    unchanged."""
    foreign_labels = [label for label in table.own_labels if relation_of(label) not in LABELS]
    near = [f"{label}{did_you_mean(relation_of(label), LABELS, 0.8)}" for label in foreign_labels]
    if not foreign_labels:
        return []
    shown = ", ".join(near[:MOST_SHOWN]) + (", ..." if len(near) > MOST_SHOWN else "")
    amount = count(len(foreign_labels), "label")
    return [f"{name}: {amount} not of UD 2, to be written as in the table: {shown}"]


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
    """A bit for every tag, from the second bit on; the first stands for all tags not in TAGS."""
    return sum(1 << (TAGS.index(tag) + 1 if tag in TAGS else 0) for tag in tags)


def _tags_wanted(tags: Sequence[str]) -> int:
    """The bits of these tags; all bits for no tags, which means any."""
    return _tag_bits(tags) if tags else (1 << MOST_BITS) - 1
