"""The relations that a labeller knows: those of UD 2, and any others of its trees, unchanged.

A relation such as `comp:obj` has a universal part, `comp`. The classifier first chooses among
universal parts and then among the relations that share the chosen one, so that subtypes never cost
a universal part:

>>> inventory = Inventory.of_trees(["comp:obj", "comp:obl"], [0, 0], [False, False], "punct")
>>> scores = np.zeros((1, len(inventory.names)))
>>> scores[0, inventory.numbers["comp"]], scores[0, inventory.numbers["comp:obj"]] = 2.0, -1.0
>>> scores[0, inventory.numbers["comp:obl"]] = -3.0
>>> inventory.names[inventory.groups.best(scores)[0]]  # no tree has `comp` without a subtype
'comp:obj'

Letters: Y relations, T labels of a table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.errors import ModelError, VdgiError
from dynet_vdgi.relations.ud_relations import (
    LABELS,
    OTHERWISE,
    fault_in,
    relation_of,
)
from dynet_vdgi.system.array_types import Flags, Floats, Ints
from dynet_vdgi.system.limits import limit, to_raise

ROOT_LABEL, PUNCT_LABEL, OTHER_LABEL = (LABELS.index(name) for name in ("root", "punct", OTHERWISE))

NO_RELATION = -1
"""The number that stands for no relation."""

_NEVER_CHOSEN = -1

_UNIVERSAL = 0


@dataclass(frozen=True, eq=False)
class RelationGroups:
    """How relations are chosen: first among the universal parts, then in a part's group: one of its
    subtypes or, if it may stand alone, the part itself."""

    # (Y,): 0: a universal part that may be chosen; b + 1: a subtype of b; -1: never chosen
    group: Ints
    may_stand_alone: Flags  # (Y,), of universal parts

    @cached_property
    def choosable_parts(self) -> Ints:
        """The universal parts that may be chosen."""
        return np.flatnonzero(self.group == _UNIVERSAL)

    @cached_property
    def n_subtypes(self) -> Ints:
        """The number (Y,) of subtypes of each universal part."""
        return np.bincount(self.group[self.group > 0] - 1, minlength=len(self.group)).astype(
            np.int64
        )

    @cached_property
    def subtypes(self) -> dict[int, Ints]:
        """The subtypes of universal parts that have some."""
        parts = sorted({*self.group[self.group > 0].tolist()})
        return {part - 1: np.flatnonzero(self.group == part) for part in parts}

    def best(self, scores: Floats) -> Ints:
        """The best relation (n,) by scores (n, Y): of those with the best universal part; never the
        root."""
        choices = self.choosable_parts[self.choosable_parts != ROOT_LABEL]
        relations: Ints = choices[scores[:, choices].argmax(axis=1)]
        for part, subtypes in self.subtypes.items():
            words = np.flatnonzero(relations == part)
            subtype_scores = scores[np.ix_(words, subtypes)]
            # alone the part has the score 0
            is_alone = (subtype_scores.max(axis=1) <= 0.0) & self.may_stand_alone[part]
            relations[words] = np.where(is_alone, part, subtypes[subtype_scores.argmax(axis=1)])
        return relations

    def chances(self, scores: Floats) -> Floats:
        """The probabilities (n, Y) of relations with these scores (n, Y), as they are chosen; 0 for
        the root.

        p(universal part), times p(subtype | universal part), where no subtype has the score 0.
        """
        choices = self.choosable_parts[self.choosable_parts != ROOT_LABEL]
        chances = np.zeros_like(scores)
        chances[:, choices] = _softmax(scores[:, choices])
        for part, subtypes in self.subtypes.items():
            scores_of_part_alone = np.zeros((len(scores), int(self.may_stand_alone[part])))
            shares = (
                _softmax(np.concatenate([scores[:, subtypes], scores_of_part_alone], axis=1))
                * chances[:, [part]]
            )
            chances[:, subtypes] = shares[:, : len(subtypes)]
            chances[:, part] = shares[:, -1] if self.may_stand_alone[part] else 0.0
        return chances


def _softmax(scores: Floats) -> Floats:
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares: Floats = odds / odds.sum(axis=1, keepdims=True)
    return shares


@dataclass(frozen=True)
class Inventory:
    """Relations by number: those of UD 2 in the order of LABELS, then others.

    The trees determine the names of `root` and `punct`. `favoured_parts`: the universal part to
    which each label of LABELS gives its head start, NO_RELATION where it gives none.
    `parts_never_alone`: universal parts that are written with a subtype only, or not at all.
    """

    names: tuple[str, ...] = LABELS
    favoured_parts: tuple[int, ...] = tuple(range(len(LABELS)))
    parts_never_alone: frozenset[int] = frozenset()

    @classmethod
    def of_trees(
        cls,
        relations: Sequence[str],
        tables: Sequence[int],
        is_root: Sequence[bool],
        punctuation: str,
    ) -> Inventory:
        """The inventory of words with these relations, labels of the table, and heads that are ROOT
        or not.

        If all relations are UD's, the table's labels count unchanged. Otherwise a label of the
        table stands for the relation that most words with this label have, if UD lacks that
        relation; a label of UD that no word has counts only if most relations are UD's.
        `punctuation`: the trees' relation for punctuation.

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
        names_so_far = set(names) | set(LABELS)
        others = [r for r in sorted(times) if r not in names_so_far]
        parts = dict.fromkeys(relation_of(r) for r in others)
        names += [part for part in parts if part not in names_so_far]
        names += [r for r in others if r not in parts]
        number = _numbers(names)
        pairs = Counter(
            (label, number[relation_of(r)])
            for r, label, root in zip(relations, tables, is_root)
            if not root and label < len(LABELS)
        )
        favoured_parts = _favoured_parts(pairs)
        written_parts = {number[r] for r in times}
        written_parts |= {k for k, part in enumerate(favoured_parts) if part == k}
        n_parts = len(LABELS) + sum(part not in names_so_far for part in parts)
        return cls(
            tuple(names),
            favoured_parts,
            frozenset(range(n_parts)) - written_parts - {ROOT_LABEL, PUNCT_LABEL},
        )

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each name, and of UD's names for root and punctuation."""
        return _numbers(self.names)

    @cached_property
    def part_of_relation(self) -> Ints:
        """The universal part (Y,) of each relation."""
        parts_of_others = [
            self.numbers.get(relation_of(name), NO_RELATION) for name in self.names[len(LABELS) :]
        ]
        return np.array([*range(len(LABELS)), *parts_of_others], np.int64)

    @cached_property
    def groups(self) -> RelationGroups:
        """The relations in the order of choice."""
        n_relations, part_of_relation = len(self.names), self.part_of_relation
        is_part = part_of_relation == np.arange(n_relations)
        has_subtypes = np.bincount(part_of_relation[~is_part], minlength=n_relations) > 0
        may_stand_alone = is_part.copy()
        may_stand_alone[list(self.parts_never_alone)] = False
        part_group = np.where(may_stand_alone | has_subtypes, _UNIVERSAL, _NEVER_CHOSEN)
        group = np.where(is_part, part_group, part_of_relation + 1)
        return RelationGroups(group.astype(np.int64), may_stand_alone)

    def with_labels(self, labels: Iterable[str]) -> Inventory:
        """This inventory and the labels of a table that it lacks."""
        new = [label for label in dict.fromkeys(labels) if label not in self.numbers]
        parts = [relation_of(label) for label in new]
        names = [
            *self.names,
            *(p for p in dict.fromkeys(parts) if p not in self.numbers and p not in new),
        ]
        unnamed = range(len(self.names), len(names))
        names += new
        written = {self.numbers[label] for label in labels if label in self.numbers}
        never_alone = (self.parts_never_alone - written) | set(unnamed)
        return Inventory(tuple(names), self.favoured_parts, never_alone)

    def favoured_relations(self, labels: Sequence[str]) -> Ints:
        """The relation to which each label (T,) of a table gives its head start, NO_RELATION if it
        gives none."""
        favoured_by = dict(zip(LABELS, self.favoured_parts))
        return np.array(
            [favoured_by.get(label, self.numbers.get(label, NO_RELATION)) for label in labels],
            np.int64,
        )

    def to_array(self) -> NDArray[np.uint8]:
        """The JSON that `from_array` reads, as numbers, because arrays of a model file hold no
        text."""
        text = msgspec.json.encode(
            _Stored(list(self.names), list(self.favoured_parts), sorted(self.parts_never_alone))
        )
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
        fixed = [
            name for k, name in enumerate(stored.names[:n_ud]) if k not in (ROOT_LABEL, PUNCT_LABEL)
        ]
        is_sound = (
            fixed == [name for name in LABELS if name not in ("root", "punct")]
            and len(stored.starts) == n_ud
            and all(NO_RELATION <= k < n_relations for k in stored.starts)
            and all(0 <= k < n_relations for k in stored.closed)
        )
        inventory = cls(tuple(stored.names), tuple(stored.starts), frozenset(stored.closed))
        parts = inventory.part_of_relation
        if not is_sound or NO_RELATION in parts or (parts[parts] != parts).any():
            raise ModelError("no labeller: its relations do not fit together")
        return inventory


UD = Inventory()
"""The relations of UD 2 alone."""


class _Stored(msgspec.Struct):
    """The names of these fields are those of model files: `starts` are the favoured parts, `closed`
    the parts that never stand alone."""

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
    return Counter(
        r for deprels in trees for r in deprels if r != "_" and relation_of(r) not in LABELS
    )


def _numbers(names: Sequence[str]) -> dict[str, int]:
    numbers = {"root": ROOT_LABEL, "punct": PUNCT_LABEL}
    for k, name in enumerate(names):
        numbers.setdefault(name, k)
    return numbers


def _favoured_parts(pairs: Mapping[tuple[int, int], int]) -> tuple[int, ...]:
    """The part that each label of LABELS favours, given how often words with the label have each
    part."""
    by_label: dict[int, Counter[int]] = {}
    of_part: Counter[int] = Counter()
    for (label, part), n in pairs.items():
        by_label.setdefault(label, Counter())[part] += n
        of_part[part] += n
    n_own = sum(n for part, n in of_part.items() if part >= len(LABELS))
    is_mostly_ud = 2 * n_own <= of_part.total()
    favoured_parts = []
    for label in range(len(LABELS)):
        mostly = by_label.get(label, Counter({label: 1})).most_common(1)[0][0]
        if mostly >= len(LABELS):
            favoured_parts.append(mostly)
        else:
            counts = label in of_part or is_mostly_ud or label in (ROOT_LABEL, PUNCT_LABEL)
            favoured_parts.append(label if counts else NO_RELATION)
    return tuple(favoured_parts)
