"""Reads rule files, simple ones and tables, line by line; `rules` describes the format."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from dynet_vdgi.errors import ConfigError
from dynet_vdgi.rule_tables.measures import MEASURES, measure_syntax
from dynet_vdgi.rule_tables.part_settings import Setting, UnknownOption, number_of, parse_setting
from dynet_vdgi.rule_tables.parts import KINDS_BY_NAME as SENTENCE_KINDS
from dynet_vdgi.rule_tables.patterns import tokens_of
from dynet_vdgi.rule_tables.table import ROOT, SIDES, Grouped, Measure, Part, Rule, Table
from dynet_vdgi.system.messages import nearest, of_these

PART_KINDS = "abcd"

LEFT_OUT = "# left out: "
"""Begins the line that replaces the first line of a removed part."""

_PART = re.compile(r"\[(?P<name>[^\[\]]*)\]\s*(\((?P<kind>.*?)\))?")

_MEMBERS = re.compile(r"(?P<tags>[^=]+?)(\s+as\s+(?P<role>head|dependent))?")

_NUMBERS = ("rule strength", "short arcs")

_TAGS = ("conjunction", "subordinator", "verb", "reading order")

_WEIGHED_TAGS = ("leaf", "edge statistics", "name run")

_GROUPED = ("conjunct", "clause barrier")

_VERB_FINAL = "verb-final"

_CONDITIONS = {f"if {_VERB_FINAL}": True, f"unless {_VERB_FINAL}": False}

_MEASURE = "measure"

_SETTINGS = (*_NUMBERS, *_TAGS, *_WEIGHED_TAGS, *_GROUPED, _VERB_FINAL, *SENTENCE_KINDS)

_OF_TAGS = (*_TAGS, *_WEIGHED_TAGS, *_GROUPED, _VERB_FINAL)
"""Settings with only one line whose values are tags, perhaps with a number."""


def content_of(line: str) -> str:
    """The line without its comment.

    >>> content_of("VERB NOUN 1  # subjects and objects")
    'VERB NOUN 1'
    """
    return line.split("#", 1)[0].strip()


def part_of(content: str) -> str | None:
    """The name of the part that a line begins; None if it begins no part."""
    header = _PART.match(content)
    return header["name"].strip() if header else None


def without_parts(text: str, names: Collection[str]) -> str:
    """The text of a rule table without these parts; lines keep their numbers, and name the parts
    left out."""
    lines, is_on = [], True
    for line in text.split("\n"):
        part = part_of(content_of(line))
        is_on = is_on if part is None else part not in names
        is_header = part is not None and not is_on
        lines.append(line if is_on else f"{LEFT_OUT}{part}" if is_header else "")
    return "\n".join(lines)


def tags_named(content: str) -> list[str]:
    """The tags and tag classes in a line whose comment has been removed.

    >>> tags_named("except VERB AUX 0 right"), tags_named("verb = VERB"), tags_named("[verbs] (b)")
    (['VERB', 'AUX'], ['VERB'], [])
    """
    if content.startswith("["):
        return []
    left, equals, right = content.partition("=")
    if not equals:
        words = content.split()
        return [word for word in words if word != "except"][:2]
    name = " ".join(left.rstrip("+").split())
    if name in _SETTINGS or name.startswith(f"{_MEASURE} "):
        return right.replace("|", " ").split() if name in _OF_TAGS else []
    return [name, *right.split()]


class Reader:
    """Reads a simple rule file. `number` is the number of the present line, `lines` those of the
    rules."""

    def __init__(self, path: str) -> None:
        self.path, self.number = path, 0
        self.rules: list[Rule] = []
        self.lines: list[int] = []
        self.classes: dict[str, tuple[str, ...]] = {}

    def fault(self, message: str) -> ConfigError:
        """An error in the present line."""
        return ConfigError(f"{self.path}:{self.number}: {message}")

    def read(self, content: str) -> None:
        """Reads one line. Raises: ConfigError, like all methods below."""
        if "=" in content:
            self.read_class(content)
            return
        columns = content.split()
        if len(columns) != 3:
            expected = "expected head tag, dependent tag and expectation"
            raise self.fault(f"{expected}, found {len(columns)} columns")
        expectation = self.number_in(columns[2], "expectation")
        self.add(Rule(columns[0], self.dependent(columns[1]), expectation))

    def read_class(self, content: str) -> None:
        """NOUN = NOUN PROPN"""
        name, _, members = (part.strip() for part in content.partition("="))
        if members.startswith("+"):
            meant = f"{name} += {members[1:].strip()}"
            raise self.fault(f"=+ is not understood; did you mean '{meant}'?")
        if len(name.split()) != 1 or not members or "=" in members:
            raise self.fault("expected a tag class such as NOUN = NOUN PROPN")
        if name in self.classes:
            raise self.fault(f"class {name} is declared twice")
        self.classes[name] = self.members(name, members)

    def members(self, name: str, members: str) -> tuple[str, ...]:
        """The tags of a class, each once."""
        if name == ROOT or ROOT in members.split():
            raise self.fault("ROOT cannot be part of a class")
        return tuple(dict.fromkeys(members.split()))

    def add(self, rule: Rule) -> None:
        """Adds the rule of the present line."""
        self.rules.append(rule)
        self.lines.append(self.number)

    def dependent(self, name: str) -> str:
        """The tag of a rule's dependent."""
        if name == ROOT:
            raise self.fault("ROOT cannot be a dependent")
        return name

    def number_in(self, column: str, what: str, least: float = 0.0) -> float:
        """The number in a column; `least` is 0, or minus infinity."""
        try:
            return number_of(column, what, least)
        except ValueError as error:
            raise self.fault(str(error)) from None

    def table(self) -> Table | None:
        """The contents besides rules and classes. Raises: ConfigError, something is missing."""
        if not self.rules:
            raise ConfigError(
                f"{self.path}: no rules (one a line: head tag, dependent tag, expectation)"
            )
        return self.as_it_is()

    def as_it_is(self) -> Table | None:
        """The contents besides rules and classes, even if something is missing."""
        return None


class TableReader(Reader):
    """Reads a rule table."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.parts: list[Part] = []
        self.exceptions: list[Rule] = []
        self.only: dict[str, dict[str, tuple[str, ...]]] = {"head": {}, "dependent": {}}
        self.values: dict[str, Any] = {}  # of settings that are fields of the table
        self.measures: list[Measure] = []
        self.settings: list[Setting] = []

    def read(self, content: str) -> None:
        if content.startswith("["):
            self.read_part(content)
        elif not self.parts:
            # reported once, not for every line
            self.parts.append(Part("", PART_KINDS[0], self.number))
            raise self.fault("in a file with parts every line belongs to one, such as [rules] (a)")
        elif "+=" in content:
            self.read_members(content)
        elif "=" in content:
            self.read_setting(content)
        elif content.split()[0] == "except":
            self.exceptions.append(self.exception(content.split()[1:]))
        else:
            self.add(self.rule(content.split()))

    def read_part(self, content: str) -> None:
        """[pronouns] (b) and a remark"""
        header = _PART.match(content)
        name, kind = (header["name"].strip(), header["kind"]) if header else ("", None)
        if not name or kind is None or kind.strip() not in tuple(PART_KINDS):
            # the lines below belong to it
            self.parts.append(Part(name, PART_KINDS[0], self.number))
            raise self.fault(
                "expected a part's name and kind, such as [rules] (a); kinds are a, b, c and d"
            )
        if name in [part.name for part in self.parts]:
            raise self.fault(f"part [{name}] is there twice")
        self.parts.append(Part(name, kind.strip(), self.number))

    def read_members(self, content: str) -> None:
        """NOUN += PRON as dependent"""
        name, _, members = (part.strip() for part in content.partition("+="))
        match = _MEMBERS.fullmatch(members)
        if len(name.split()) != 1 or match is None or "as" in match["tags"].split():
            raise self.fault("expected further tags of a class, such as NOUN += PRON as dependent")
        role = match["role"]
        classes = self.only[role] if role else self.classes
        before = classes.get(name, () if role else (name,))
        tags = self.members(name, match["tags"])
        for tag in tags:
            if tag in before:
                raise self.fault(f"{tag} is in class {name} already")
        classes[name] = (*before, *tags)

    def read_setting(self, content: str) -> None:
        """short arcs = 0.2, or a tag class"""
        left, _, value = (part.strip() for part in content.partition("="))
        name = " ".join(left.split())
        if left.split()[:1] == [_MEASURE] and len(left.split()) == 2:
            self.measures.append(self.measure(left.split()[1], value))
            return
        if name not in _SETTINGS:
            if " " not in name and not nearest(name, _SETTINGS, 0.6):
                self.read_class(content)
                return
            raise self.fault(f"no setting '{name}'{of_these(name, _SETTINGS, 0.6)}")
        if name in SENTENCE_KINDS:
            self.settings.append(self.setting(name, value))
            return
        if name in self.values and name not in _WEIGHED_TAGS:
            raise self.fault(f"'{name}' is set twice")
        if not value:
            raise self.fault(f"'{name}' has no value")
        first, *others = value.split()
        if name in _NUMBERS:
            self.values[name] = self.number_in(value, f"'{name}'")
        elif name in _TAGS:
            self.values[name] = (first, *others)
        elif not others:
            raise self.fault(f"expected a number and tags, such as {name} = 1 NOUN VERB")
        elif name in _WEIGHED_TAGS:
            self.weigh(name, self.number_in(first, f"'{name}'"), others)
        elif name == _VERB_FINAL:
            self.values[name] = Grouped(self.share(first), (tuple(others),))
        else:
            self.values[name] = Grouped(
                self.number_in(first, f"'{name}'"), self.groups(" ".join(others))
            )

    def setting(self, name: str, value: str) -> Setting:
        """punctuation = 2 ; most 2"""
        syntax = SENTENCE_KINDS[name].syntax
        if not syntax.repeatable and name in [setting.name for setting in self.settings]:
            raise self.fault(f"'{name}' is set twice")
        try:
            return parse_setting(name, value, syntax, self.number)
        except UnknownOption as error:
            raise self.fault(f"{error}{of_these(error.option, error.choices, 0.6)}") from None
        except ValueError as error:
            raise self.fault(str(error)) from None

    def measure(self, name: str, value: str) -> Measure:
        """measure verb-final = ending VERB | VERB AUX ; from 0.5 ; to 0.8"""
        kind = tokens_of(value)[0] if value else ""
        if kind not in MEASURES:
            raise self.fault(f"no kind of measure '{kind}'{of_these(kind, MEASURES, 0.6)}")
        try:
            setting = parse_setting(
                f"measure {name}", "1 " + value[len(kind) :], measure_syntax(kind), self.number
            )
        except ValueError as error:
            raise self.fault(str(error)) from None
        if setting.conditions or setting.unless:
            raise self.fault(f"measure {name}: a measure has no conditions")
        low, high = setting.number("from", 0.0), setting.number("to", 1.0)
        if low == high:
            raise self.fault(f"measure {name}: 'from' and 'to' are equal")
        return Measure(name, kind, setting.groups, low, high)

    def weigh(self, name: str, weight: float, tags: Sequence[str]) -> None:
        """Gives tags a weight; other lines of the same setting may hold other tags."""
        if name == "leaf" and weight == 0:
            raise self.fault("leaf 0 would leave some sentences without a tree (0.01 does as well)")
        weights = self.values.setdefault(name, {})
        for tag in tags:
            if tag in weights:
                raise self.fault(f"'{name}' has {tag} twice")
            weights[tag] = weight

    def groups(self, value: str) -> tuple[tuple[str, ...], ...]:
        """NOUN PRON | VERB"""
        groups = tuple(tuple(group.split()) for group in value.split("|"))
        tags = [tag for group in groups for tag in group]
        if not all(groups):
            raise self.fault("a group has no tags")
        for tag in tags:
            if tags.count(tag) > 1:
                raise self.fault(f"{tag} is there twice")
        return groups

    def share(self, column: str) -> float:
        """A number below 1."""
        value = self.number_in(column, "share")
        if value >= 1:
            raise self.fault(f"share {column} is not below 1")
        return value

    def exception(self, columns: Sequence[str]) -> Rule:
        """VERB VERB 0 left unless verb-final"""
        condition = _CONDITIONS.get(" ".join(columns[-2:]))
        rule = self.rule(columns if condition is None else columns[:-2], least=-math.inf)
        return replace(rule, verb_final=condition)

    def rule(self, columns: Sequence[str], least: float = 0.0) -> Rule:
        """A rule or an exception."""
        if len(columns) not in (3, 4) or (len(columns) == 4 and columns[3] not in SIDES):
            expected = "expected head tag, dependent tag, weight, and left or right if need be"
            raise self.fault(f"{expected}; found: {' '.join(columns)}")
        weight = self.number_in(columns[2], "weight", least)
        if columns[0] == ROOT and len(columns) == 4:
            raise self.fault("an arc from ROOT has no side")
        sides = SIDES if len(columns) == 3 else (columns[3],)
        return Rule(columns[0], self.dependent(columns[1]), 0.5 * weight, weight, sides)

    def table(self) -> Table:
        self.check()
        return self.as_it_is()

    def check(self) -> None:
        """Raises: ConfigError, a part needs something that the table lacks."""
        for name, others in (
            ("conjunct", ("conjunction",)),
            ("clause barrier", ("subordinator", "conjunction")),
        ):
            if name in self.values and self.values.keys().isdisjoint(others):
                raise ConfigError(f"{self.path}: '{name}' needs a line '{others[0]} = TAG ...'")
        if self.rules and "rule strength" not in self.values:
            raise ConfigError(
                f"{self.path}: rules with weights need a line 'rule strength = NUMBER'"
            )
        names = list(dict.fromkeys(measure.name for measure in self.measures))
        for setting in self.settings:
            for condition in (*setting.conditions, *setting.unless):
                if condition not in names:
                    self.number = setting.line
                    raise self.fault(f"no measure '{condition}'{of_these(condition, names, 0.6)}")

    def as_it_is(self) -> Table:
        """The table, even if something is missing."""
        reading = list(SENTENCE_KINDS)
        return Table(
            parts=tuple(self.parts),
            exceptions=tuple(self.exceptions),
            heads_only=self.only["head"],
            dependents_only=self.only["dependent"],
            measures=tuple(self.measures),
            settings=tuple(sorted(self.settings, key=lambda setting: reading.index(setting.name))),
            **{re.sub("[ -]", "_", name): value for name, value in self.values.items()},
        )
