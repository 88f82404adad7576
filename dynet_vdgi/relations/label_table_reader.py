"""Reads the lines of a table of labels; each fault names the file, the line and the remedy.

>>> reader = LabelTableReader("my.txt")
>>> reader.read("obj VERB NOUN right not child:ADP")
>>> reader.rules[0].conditions[1]
Condition(kind='child', values=('ADP',), negated=True)
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from dynet_vdgi.errors import ConfigError
from dynet_vdgi.relations.label_rules import (
    CONDITION_KINDS,
    MOST_BITS,
    NAMED_CONDITIONS,
    PLAIN_CONDITIONS,
    ROOT,
    TAGS,
    Condition,
    LabelRule,
)
from dynet_vdgi.relations.ud_relations import fault_in
from dynet_vdgi.system.messages import did_you_mean

_FEATURE = re.compile(r"[^=|:]+=[^=]+")


class LabelTableReader:
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
        rule = LabelRule(
            label, self.tags(heads), self.tags(dependents), tuple(self.conditions(conditions))
        )
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
                names = (*TAGS, *self.classes)
                raise self.fault(
                    f"'{name}' is no universal tag and no class{did_you_mean(name, names)}"
                )
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
        if kind not in CONDITION_KINDS or (kind == "feat" and "=" not in column):
            names = (*PLAIN_CONDITIONS, *NAMED_CONDITIONS)
            there_are = f"there are: {', '.join(names)}, Name=Value"
            near = did_you_mean(kind if colon else column, names)
            raise self.fault(f"no condition '{column}'{near} ({there_are})")
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
        if len(self.feature_sets) > MOST_BITS:
            raise self.fault(f"more than {MOST_BITS} different conditions on features")
        return features
