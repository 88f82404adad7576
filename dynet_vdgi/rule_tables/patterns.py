"""The words that a line of a rule table concerns: tags, with conditions on features.

VERB                    words with this tag
VERB[VerbForm=Part]     ... whose FEATS have this value, alone or among others: VerbForm=Part,Vnoun
NOUN[Case=Gen|Loc]      either value
PRON[-Case]             ... whose FEATS do not have the feature
*[Case=Gen]             any tag

A group is a list of these patterns; a word belongs to it if one of them fits.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from dynet_vdgi.features.atoms import values_of

_PATTERN = re.compile(
    r"(?P<tag>[^\s\[\]|;]+)"
    r"(\[(?P<absent>-)?(?P<name>[^\s\[\]=|;-]+)(=(?P<values>[^\s\[\]=;]+))?\])?"
)

_TOKEN = re.compile(r"[^\s\[\]|;]+(?:\[[^\[\]]*\])?|\||;|\[|\]")

ANY = "*"

MOST_MEMBERSHIPS = 1 << 14


@lru_cache(maxsize=1 << 16)
def features_of(column: str) -> Mapping[str, frozenset[str]]:
    """The values of each feature of a FEATS column, split for conditions: Case=Nom,Acc has both.

    >>> sorted(features_of("Case=Nom,Acc|Number=Sing")["Case"])
    ['Acc', 'Nom']
    """
    return {name: frozenset(values.split(",")) for name, values in values_of(column).items()}


@dataclass(frozen=True)
class Pattern:
    """A tag and a condition on one feature: it has one of `values`; if there are none, it must be
    missing."""

    tag: str
    feature: str = ""
    values: frozenset[str] = frozenset()

    @classmethod
    def of(cls, text: str) -> Pattern:
        """The pattern from its notation in a table.

        Raises: ValueError, the text is not a pattern.
        """
        match = _PATTERN.fullmatch(text)
        if match is None or (match["name"] and bool(match["absent"]) == bool(match["values"])):
            raise ValueError(
                f"'{text}' is no tag (expected such as VERB, VERB[VerbForm=Part] or PRON[-Case])"
            )
        if not match["name"]:
            return cls(match["tag"])
        return cls(
            match["tag"], match["name"], frozenset((match["values"] or "").split("|")) - {""}
        )

    def fits(self, tag: str, features: Mapping[str, frozenset[str]]) -> bool:
        """Whether a word with this tag and these features fits the pattern."""
        if self.tag not in (tag, ANY):
            return False
        if not self.feature:
            return True
        if not self.values:
            return self.feature not in features
        return not self.values.isdisjoint(features.get(self.feature, ()))


@dataclass(frozen=True)
class Group:
    """Patterns, one of which must fit."""

    patterns: tuple[Pattern, ...]

    def __post_init__(self) -> None:
        tags = frozenset(p.tag for p in self.patterns if not p.feature)
        object.__setattr__(self, "plain", tags)
        object.__setattr__(
            self, "special", tuple(p for p in self.patterns if p.feature and p.tag not in tags)
        )

    plain: frozenset[str] = frozenset()
    special: tuple[Pattern, ...] = ()
    memberships: dict[tuple[str, str], bool] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )
    """Cached answers for tags and FEATS, as far as special patterns decide."""

    @classmethod
    def of_tags(cls, *tags: str) -> Group:
        """The group of words with one of these tags."""
        return cls(tuple(map(Pattern, tags)))

    @cached_property
    def tags(self) -> frozenset[str]:
        """The tags in the patterns, with conditions or without."""
        return frozenset(pattern.tag for pattern in self.patterns)

    def has(self, tag: str, feats: str = "_") -> bool:
        """Whether a word with this tag and FEATS column belongs here."""
        if tag in self.plain or ANY in self.plain:
            return True
        if not self.special:
            return False
        is_member = self.memberships.get((tag, feats))
        if is_member is None:
            if len(self.memberships) >= MOST_MEMBERSHIPS:
                self.memberships.clear()
            is_member = any(p.fits(tag, features_of(feats)) for p in self.special)
            self.memberships[tag, feats] = is_member
        return is_member


def tokens_of(value: str) -> list[str]:
    """The tokens of a line's value; `|` and `;` outside brackets are tokens of their own.

    >>> tokens_of("2 VERB[VerbForm=Part|Ger] NOUN | DET; within 4")
    ['2', 'VERB[VerbForm=Part|Ger]', 'NOUN', '|', 'DET', ';', 'within', '4']
    """
    return _TOKEN.findall(value)
