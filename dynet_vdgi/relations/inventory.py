"""The relations that a labeller knows: those of UD 2, and any others of its trees, unchanged.

A relation such as `comp:obj` has a universal part, `comp`. The classifier first chooses among
universal parts and then among the relations that share the chosen one, so that subtypes never cost
a universal part.

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

_CLOSED = -1

_UNIVERSAL = 0


@dataclass(frozen=True, eq=False)
class Family:
    """How relations are chosen: first a universal part, then one of its subtypes or the part alone."""

    # (Y,): 0: a universal part that may be chosen; b + 1: a subtype of b; -1: never chosen
    group: Ints
    plain: Flags  # (Y,), of universal parts: whether it may stand without a subtype

    @cached_property
    def universal(self) -> Ints:
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
        choices = self.universal[self.universal != ROOT_LABEL]
        found: Ints = choices[scores[:, choices].argmax(axis=1)]
        for part, subtypes in self.subtypes.items():
            words = np.flatnonzero(found == part)
            own = scores[np.ix_(words, subtypes)]
            is_alone = (own.max(axis=1) <= 0.0) & self.plain[part]  # alone it has the score 0
            found[words] = np.where(is_alone, part, subtypes[own.argmax(axis=1)])
        return found

    def chances(self, scores: Floats) -> Floats:
        """The probabilities (n, Y) of relations with these scores (n, Y), as they are chosen; 0 for
        the root.

        p(universal part), times p(subtype | universal part), where no subtype has the score 0.
        """
        found, choices = np.zeros_like(scores), self.universal[self.universal != ROOT_LABEL]
        found[:, choices] = _softmax(scores[:, choices])
        for part, subtypes in self.subtypes.items():
            alone = np.zeros((len(scores), int(self.plain[part])))
            shares = (
                _softmax(np.concatenate([scores[:, subtypes], alone], axis=1)) * found[:, [part]]
            )
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

    The trees determine the names of `root` and `punct`. `starts`: the universal part to which each
    label of LABELS gives its head start, NO_RELATION where it gives none. `closed`: universal parts
    that may not stand alone, or not at all.
    """

    names: tuple[str, ...] = LABELS
    starts: tuple[int, ...] = tuple(range(len(LABELS)))
    closed: frozenset[int] = frozenset()

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
        return cls(
            tuple(names), starts, frozenset(range(n_parts)) - plain - {ROOT_LABEL, PUNCT_LABEL}
        )

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each name, and of UD's names for root and punctuation."""
        return _numbers(self.names)

    @cached_property
    def parts(self) -> Ints:
        """The universal part (Y,) of each relation."""
        own = [
            self.numbers.get(relation_of(name), NO_RELATION) for name in self.names[len(LABELS) :]
        ]
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
        names = [
            *self.names,
            *(p for p in dict.fromkeys(parts) if p not in self.numbers and p not in new),
        ]
        unnamed = range(len(self.names), len(names))
        names += new
        opened = {self.numbers[label] for label in labels if label in self.numbers} & self.closed
        return Inventory(tuple(names), self.starts, (self.closed - opened) | set(unnamed))

    def starts_of(self, labels: Sequence[str]) -> Ints:
        """The relation to which each label (T,) of a table gives its head start, NO_RELATION if it
        gives none."""
        known = dict(zip(LABELS, self.starts))
        return np.array(
            [known.get(label, self.numbers.get(label, NO_RELATION)) for label in labels], np.int64
        )

    def to_array(self) -> NDArray[np.uint8]:
        """The JSON that `from_array` reads, as numbers, because arrays of a model file hold no
        text."""
        text = msgspec.json.encode(
            _Stored(list(self.names), list(self.starts), sorted(self.closed))
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
        found = cls(tuple(stored.names), tuple(stored.starts), frozenset(stored.closed))
        if (
            not is_sound
            or NO_RELATION in found.parts
            or (found.parts[found.parts] != found.parts).any()
        ):
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
    return Counter(
        r for deprels in trees for r in deprels if r != "_" and relation_of(r) not in LABELS
    )


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
            starts.append(label if counts else NO_RELATION)
    return tuple(starts)
