"""The lines of a rule table that set up a part for whole sentences:

NAME = NUMBER GROUP | GROUP ; OPTION VALUE ... ; OPTION VALUE ... if MEASURE

Each NAME is registered with its effect, its groups and its options, see `parts`. The number is
usually in nats. `if MEASURE` multiplies it by the text's value of the measure, m from 0 to 1,
`unless MEASURE` by 1 - m, `if MEASURE and MEASURE` by both values; `unless` may follow `if`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Union

from dynet_vdgi.rule_tables.patterns import Group, Pattern, tokens_of
from dynet_vdgi.system.messages import count

Value = Union[float, Group, "tuple[str, ...]"]

NOBODY = Group(())

_CONDITIONS = re.compile(r"(?:if (\S+(?: and \S+)*)(?: |$))?(?:unless (\S+))?")


@dataclass(frozen=True)
class Syntax:
    """The form of a setting's line.

    `groups` names its groups of words, `options` tells the kind of each option: "number", "tags" or
    "names". A `repeatable` setting may have several lines; one that is not `weighed` has no number;
    with `more`, the last group may occur several times. `needs`: options that are required, with
    one name each.
    """

    groups: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    repeatable: bool = False
    weighed: bool = True
    more: bool = False
    needs: tuple[str, ...] = ()

    def example(self, name: str) -> str:
        """The line's shape, for messages."""
        groups = " | ".join(f"TAGS ({group})" for group in self.groups)
        options = "".join(f" [; {option} {kind.upper()}]" for option, kind in self.options.items())
        number = "NUMBER " if self.weighed else ""
        return f"{name} = {number}{groups}".rstrip() + (" | ..." if self.more else "") + options


@dataclass(frozen=True)
class Setting:
    """One line. `conditions` are measures after `if`; that after `unless`, if any, counts as 1 -
    its value."""

    name: str
    weight: float
    groups: tuple[Group, ...] = ()
    options: Mapping[str, Value] = field(default_factory=dict)
    conditions: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    line: int = field(default=0, compare=False)
    cache: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)
    """Storage for a part's findings about words of one text, see `Prior`."""

    def number(self, option: str, default: float) -> float:
        """A number among the options."""
        value = self.options.get(option, float(default))
        assert isinstance(value, float)
        return value

    def group(self, option: str) -> Group:
        """A group among the options; empty if it is not there."""
        value = self.options.get(option, NOBODY)
        assert isinstance(value, Group)
        return value

    def names(self, option: str) -> tuple[str, ...]:
        """Names among the options."""
        value = self.options.get(option, ())
        assert isinstance(value, tuple)
        return value


def parse_setting(name: str, value: str, syntax: Syntax, line: int = 0) -> Setting:
    """A setting from the text behind its `=`. Raises: ValueError, with the fault."""
    tokens = tokens_of(value)
    tokens, conditions, unless = _conditions(tokens)
    body, *tails = _split(tokens, ";")
    weight = 1.0
    if syntax.weighed:
        if not body:
            raise ValueError(f"'{name}' has no number (expected {syntax.example(name)})")
        weight, body = number_of(body[0], f"the weight of '{name}'", 0.0), body[1:]
    groups = [_group(part, name) for part in _split(body, "|")] if body else []
    if len(groups) != len(syntax.groups) and not (syntax.more and len(groups) > len(syntax.groups)):
        groups_given = f"{count(len(groups), 'group')} of tags"
        raise ValueError(f"'{name}' has {groups_given} (expected {syntax.example(name)})")
    options: dict[str, Value] = {}
    for tail in tails:
        option, values = (tail[0], tail[1:]) if tail else ("", [])
        kind = syntax.options.get(option)
        if kind is None:
            raise UnknownOption(name, option, tuple(syntax.options))
        if option in options:
            raise ValueError(f"'{name}' has the option '{option}' twice")
        if not values or (kind == "number" and len(values) > 1):
            needed = "one number" if kind == "number" else kind
            raise ValueError(f"the option '{option}' of '{name}' needs {needed}")
        if kind == "number":
            options[option] = number_of(values[0], f"the option '{option}' of '{name}'", -math.inf)
        else:
            options[option] = _group(values, name) if kind == "tags" else tuple(values)
    for needed in syntax.needs:
        given = options.get(needed)
        if not isinstance(given, tuple) or len(given) != 1:
            expected = syntax.example(name)
            raise ValueError(
                f"'{name}' needs the option '{needed}' with one name (expected {expected})"
            )
    return Setting(name, weight, tuple(groups), options, conditions, unless, line)


def _conditions(tokens: list[str]) -> tuple[list[str], tuple[str, ...], tuple[str, ...]]:
    """The tokens before the conditions at the end of a line, the measures after `if`, and that
    after `unless`."""
    place = next((k for k, token in enumerate(tokens) if token in ("if", "unless")), len(tokens))
    tail = " ".join(tokens[place:])
    match = _CONDITIONS.fullmatch(tail)
    if match is None:
        raise ValueError(
            f"expected 'if A', 'if A and B', 'unless B' or 'if A unless B' (found {tail})"
        )
    wanted, unless = (
        tuple(measures.split(" and ")) if measures else () for measures in match.groups()
    )
    return tokens[:place], wanted, unless


class UnknownOption(ValueError):
    """An option that a setting does not have."""

    def __init__(self, setting: str, option: str, choices: tuple[str, ...]) -> None:
        super().__init__(f"'{setting}' has no option '{option}'")
        self.option, self.choices = option, choices


def _split(tokens: list[str], separator: str) -> list[list[str]]:
    pieces: list[list[str]] = [[]]
    for token in tokens:
        if token == separator:
            pieces.append([])
        else:
            pieces[-1].append(token)
    return pieces


def number_of(token: str, what: str, least: float) -> float:
    """The number in a table; `least` is 0, or minus infinity.

    Raises: ValueError, with the fault.
    """
    try:
        value = float(token)
    except ValueError:
        raise ValueError(f"{what} must be a number (found {token})") from None
    if not math.isfinite(value) or value < least:
        raise ValueError(
            f"{what} must be {'0 or more' if least == 0 else 'a finite number'} (found {token})"
        )
    return value


def _group(tokens: list[str], name: str) -> Group:
    if not tokens:
        raise ValueError(f"a group of '{name}' has no tags")
    return Group(tuple(Pattern.of(token) for token in tokens))
