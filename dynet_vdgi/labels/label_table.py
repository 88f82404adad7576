"""Relations: tables of labels that name them by rules, and the inventory of relations in trees.

Tables of labels, such as resources/labels/ud2.txt, whose header describes the format.

A table becomes numbers for a compiled kernel: every tag, every set of features and every name of a feature in
the table is one bit of a word.

Letters: r rules, q conditions of all rules.
"""

from __future__ import annotations

import logging
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.data.atoms import values_of
from dynet_vdgi.data.sentence import UD_TAGS
from dynet_vdgi.errors import ConfigError, ModelError, VdgiError
from dynet_vdgi.settings.config import resources
from dynet_vdgi.system.arrays import Flags, Floats, Ints
from dynet_vdgi.system.names import count, did_you_mean, limit, of_these, read_table, to_raise

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


# ----------------------------------------------------------------------------------------------------
# The relations that a labeller knows: those of UD 2, and any others of its trees, unchanged.
#
# A relation such as `comp:obj` has a universal part, `comp`. The classifier first chooses among universal parts and
# then among the relations that share the chosen one, so that subtypes never cost a universal part.
#
# Letters: Y relations, T labels of a table.


ROOT_LABEL, PUNCT_LABEL, OTHER_LABEL = (LABELS.index(name) for name in ("root", "punct", OTHERWISE))
NOTHING = -1
"""The number that stands for no relation."""

_CLOSED = -1
_UNIVERSAL = 0


@dataclass(frozen=True, eq=False)
class Family:
    """How relations are chosen: first a universal part, then one of its subtypes or the part alone."""

    group: Ints  # (Y,): 0: a universal part that may be chosen; b + 1: a subtype of b; -1: never chosen
    plain: Flags  # (Y,), of universal parts: whether it may stand without a subtype

    @cached_property
    def universal(self) -> Ints:
        """The universal parts that may be chosen."""
        return np.flatnonzero(self.group == _UNIVERSAL)

    @cached_property
    def n_subtypes(self) -> Ints:
        """The number (Y,) of subtypes of each universal part."""
        return np.bincount(self.group[self.group > 0] - 1, minlength=len(self.group)).astype(np.int64)

    @cached_property
    def subtypes(self) -> dict[int, Ints]:
        """The subtypes of universal parts that have some."""
        parts = sorted({*self.group[self.group > 0].tolist()})
        return {part - 1: np.flatnonzero(self.group == part) for part in parts}

    def best(self, scores: Floats) -> Ints:
        """The best relation (n,) by scores (n, Y): of those with the best universal part; never the root."""
        choices = self.universal[self.universal != ROOT_LABEL]
        found: Ints = choices[scores[:, choices].argmax(axis=1)]
        for part, subtypes in self.subtypes.items():
            words = np.flatnonzero(found == part)
            own = scores[np.ix_(words, subtypes)]
            is_alone = (own.max(axis=1) <= 0.0) & self.plain[part]  # alone it has the score 0
            found[words] = np.where(is_alone, part, subtypes[own.argmax(axis=1)])
        return found

    def chances(self, scores: Floats) -> Floats:
        """The probabilities (n, Y) of relations with these scores (n, Y), as they are chosen; 0 for the root.

        p(universal part), times p(subtype | universal part), where no subtype has the score 0.
        """
        found, choices = np.zeros_like(scores), self.universal[self.universal != ROOT_LABEL]
        found[:, choices] = _softmax(scores[:, choices])
        for part, subtypes in self.subtypes.items():
            alone = np.zeros((len(scores), int(self.plain[part])))
            shares = _softmax(np.concatenate([scores[:, subtypes], alone], axis=1)) * found[:, [part]]
            found[:, subtypes] = shares[:, : len(subtypes)]
            found[:, part] = shares[:, -1] if self.plain[part] else 0.0
        return found


def _softmax(scores: Floats) -> Floats:
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares: Floats = odds / odds.sum(axis=1, keepdims=True)
    return shares


@dataclass(frozen=True)
class Inventory:
    """Relations by number: those of UD 2 in the order of LABELS, then others.

    The trees determine the names of `root` and `punct`. `starts`: the universal part to which each label of
    LABELS gives its head start, NOTHING where it gives none. `closed`: universal parts that may not stand
    alone, or not at all.
    """

    names: tuple[str, ...] = LABELS
    starts: tuple[int, ...] = tuple(range(len(LABELS)))
    closed: frozenset[int] = frozenset()

    @classmethod
    def of_trees(
        cls, relations: Sequence[str], tables: Sequence[int], is_root: Sequence[bool], punctuation: str
    ) -> Inventory:
        """The inventory of words with these relations, labels of the table, and heads that are ROOT or not.

        If all relations are UD's, the table's labels count unchanged. Otherwise a label of the table stands for the
        relation that most words with this label have, if UD lacks that relation; a label of UD that no word has
        counts only if most relations are UD's. `punctuation`: the trees' relation for punctuation.

        Raises:
            VdgiError: a relation cannot stand in CoNLL-U, or there are too many.
        """
        times = Counter(r for r, root in zip(relations, is_root) if not root)
        check([*relations, punctuation])
        roots = Counter(r for r, root in zip(relations, is_root) if root).most_common(1)
        names = list(LABELS)
        names[PUNCT_LABEL] = punctuation
        if roots and relation_of(roots[0][0]) not in LABELS:
            names[ROOT_LABEL] = roots[0][0]
        known = set(names) | set(LABELS)
        others = [r for r in sorted(times) if r not in known]
        parts = dict.fromkeys(relation_of(r) for r in others)
        names += [part for part in parts if part not in known]
        names += [r for r in others if r not in parts]
        number = _numbers(names)
        pairs = Counter(
            (label, number[relation_of(r)])
            for r, label, root in zip(relations, tables, is_root)
            if not root and label < len(LABELS)
        )
        starts = _starts(pairs)
        plain = {number[r] for r in times} | {k for k, start in enumerate(starts) if start == k}
        n_parts = len(LABELS) + sum(part not in known for part in parts)
        return cls(tuple(names), starts, frozenset(range(n_parts)) - plain - {ROOT_LABEL, PUNCT_LABEL})

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each name, and of UD's names for root and punctuation."""
        return _numbers(self.names)

    @cached_property
    def parts(self) -> Ints:
        """The universal part (Y,) of each relation."""
        own = [self.numbers.get(relation_of(name), NOTHING) for name in self.names[len(LABELS) :]]
        return np.array([*range(len(LABELS)), *own], np.int64)

    @cached_property
    def family(self) -> Family:
        """The relations in the order of choice."""
        n_relations, parts = len(self.names), self.parts
        is_part = parts == np.arange(n_relations)
        has_subtypes = np.bincount(parts[~is_part], minlength=n_relations) > 0
        plain = is_part.copy()
        plain[list(self.closed)] = False
        group = np.where(is_part, np.where(plain | has_subtypes, _UNIVERSAL, _CLOSED), parts + 1)
        return Family(group.astype(np.int64), plain)

    def with_labels(self, labels: Iterable[str]) -> Inventory:
        """This inventory and the labels of a table that it lacks."""
        new = [label for label in dict.fromkeys(labels) if label not in self.numbers]
        parts = [relation_of(label) for label in new]
        names = [*self.names, *(p for p in dict.fromkeys(parts) if p not in self.numbers and p not in new)]
        unnamed = range(len(self.names), len(names))
        names += new
        opened = {self.numbers[label] for label in labels if label in self.numbers} & self.closed
        return Inventory(tuple(names), self.starts, (self.closed - opened) | set(unnamed))

    def starts_of(self, labels: Sequence[str]) -> Ints:
        """The relation to which each label (T,) of a table gives its head start, NOTHING if it gives none."""
        known = dict(zip(LABELS, self.starts))
        return np.array([known.get(label, self.numbers.get(label, NOTHING)) for label in labels], np.int64)

    def to_array(self) -> NDArray[np.uint8]:
        """The JSON that `from_array` reads, as numbers, because arrays of a model file hold no text."""
        text = msgspec.json.encode(_Stored(list(self.names), list(self.starts), sorted(self.closed)))
        return np.frombuffer(text, np.uint8)

    @classmethod
    def from_array(cls, array: NDArray[Any]) -> Inventory:
        """The inventory of this array. Raises: ModelError, it is damaged."""
        if array.dtype != np.uint8 or array.ndim != 1:
            raise ModelError("no labeller: its relations are not bytes")
        try:
            stored = msgspec.json.decode(array.tobytes(), type=_Stored)
            check(stored.names)
        except (msgspec.MsgspecError, UnicodeDecodeError, VdgiError) as error:
            raise ModelError(f"no labeller: its relations are damaged: {error}") from None
        n_relations, n_ud = len(stored.names), len(LABELS)
        fixed = [name for k, name in enumerate(stored.names[:n_ud]) if k not in (ROOT_LABEL, PUNCT_LABEL)]
        is_sound = (
            fixed == [name for name in LABELS if name not in ("root", "punct")]
            and len(stored.starts) == n_ud
            and all(NOTHING <= k < n_relations for k in stored.starts)
            and all(0 <= k < n_relations for k in stored.closed)
        )
        found = cls(tuple(stored.names), tuple(stored.starts), frozenset(stored.closed))
        if not is_sound or NOTHING in found.parts or (found.parts[found.parts] != found.parts).any():
            raise ModelError("no labeller: its relations do not fit together")
        return found


UD = Inventory()
"""The relations of UD 2 alone."""


class _Stored(msgspec.Struct):
    names: list[str]
    starts: list[int]
    closed: list[int]


def check(relations: Iterable[str]) -> None:
    """Raises: VdgiError, a relation cannot stand in CoNLL-U, or there are too many."""
    several, most = set(relations), limit("relations")
    for name in several:
        if fault := fault_in(name):
            raise VdgiError(f"the relation {name[:40]!r} {fault}")
    if len(several) > most:
        some = ", ".join(sorted(several)[:3])
        hint = f"are these in the column DEPREL? {to_raise('relations')}"
        raise VdgiError(f"there are more than {most} different relations, such as {some}; {hint}")


def own_relations(trees: Iterable[Sequence[str]]) -> Counter[str]:
    """Counts of the relations in trees whose universal part is not in UD 2."""
    return Counter(r for deprels in trees for r in deprels if r != "_" and relation_of(r) not in LABELS)


def _numbers(names: Sequence[str]) -> dict[str, int]:
    numbers = {"root": ROOT_LABEL, "punct": PUNCT_LABEL}
    for k, name in enumerate(names):
        numbers.setdefault(name, k)
    return numbers


def _starts(pairs: Mapping[tuple[int, int], int]) -> tuple[int, ...]:
    """The meaning of each label of LABELS, given how often words with it have each universal part."""
    by_label: dict[int, Counter[int]] = {}
    of_part: Counter[int] = Counter()
    for (label, part), n in pairs.items():
        by_label.setdefault(label, Counter())[part] += n
        of_part[part] += n
    n_own = sum(n for part, n in of_part.items() if part >= len(LABELS))
    is_mostly_ud = 2 * n_own <= of_part.total()
    starts = []
    for label in range(len(LABELS)):
        mostly = by_label.get(label, Counter({label: 1})).most_common(1)[0][0]
        if mostly >= len(LABELS):
            starts.append(mostly)
        else:
            counts = label in of_part or is_mostly_ud or label in (ROOT_LABEL, PUNCT_LABEL)
            starts.append(label if counts else NOTHING)
    return tuple(starts)
