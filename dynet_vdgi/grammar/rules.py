"""Universal rules: the kinds of arcs a tree should hold (paper, section "Posterior Regularization").

A rule file is plain text, one rule a line, meant to be edited by a linguist:

    # a comment
    NOUN = NOUN PROPN          a tag class: in the rules below, NOUN stands for either tag
    ROOT VERB 0.5              head tag, dependent tag, expectation
    VERB NOUN 0.5

A name that is not declared as a class stands for the tag itself. `ROOT` as head tag is the root arc. The
expectation is what posterior regularisation asks of the rule's count in a sentence; other learners use the
rule's presence alone. Order does not matter, except that it is the order of the parameters lambda.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.errors import ConfigError

ROOT = "ROOT"
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Rule:
    """One line of a rule file; `head` and `dependent` are tags or declared classes."""

    head: str
    dependent: str
    expectation: float

    def __str__(self) -> str:
        return f"{self.head}>{self.dependent}"


@dataclass(frozen=True)
class RuleSet:
    """K rules and the classes they use; `text` is the file itself, kept for model files."""

    rules: tuple[Rule, ...]
    classes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    text: str = ""

    def __len__(self) -> int:
        return len(self.rules)

    @property
    def expectations(self) -> Floats:
        """Expectations (K,); the paper's b is their negative."""
        return np.array([rule.expectation for rule in self.rules])

    def pairs(self) -> dict[tuple[str, str], int]:
        """Index of the rule for every (head tag, dependent tag) that one matches, classes expanded."""
        return {
            (head, dependent): k
            for k, rule in enumerate(self.rules)
            for head in self.classes.get(rule.head, (rule.head,))
            for dependent in self.classes.get(rule.dependent, (rule.dependent,))
        }

    def index(self, tags: Sequence[str]) -> Ints:
        """Rule (T + 1, T) by head tag (row 0: ROOT, row t + 1: tags[t]) and dependent tag; -1: no rule."""
        pairs = self.pairs()
        table = [[pairs.get((head, dependent), -1) for dependent in tags] for head in (ROOT, *tags)]
        return np.array(table, dtype=np.int64).reshape(len(tags) + 1, len(tags))

    def unused(self, tags: Sequence[str]) -> list[Rule]:
        """Rules that can never fire because a tag of theirs is not among `tags`."""
        used = set(self.index(tags).ravel().tolist())
        return [rule for k, rule in enumerate(self.rules) if k not in used]


def count(index: Ints, n_rules: int, tags: Sequence[int], heads: Sequence[Sequence[int]]) -> Floats:
    """How often each of K rules holds in each of M trees of one sentence, the root arc included: -phi.

    Args:
        index: rule index (T + 1, T) of `RuleSet.index`.
        n_rules: K.
        tags: tag ids (n,), all of them below T.
        heads: M trees (M, n).

    Returns:
        Counts (M, K), as floats.
    """
    trees = np.asarray(heads, dtype=np.int64)
    dependents = np.asarray(tags, dtype=np.int64)
    head_rows = np.concatenate([[0], dependents + 1])[trees]  # (M, n)
    rule = index[head_rows, dependents]
    one_hot = rule[:, :, None] == np.arange(n_rules)
    return np.asarray(one_hot.sum(axis=1), dtype=np.float64)


def parse_rules(text: str, path: str = "<rules>") -> RuleSet:
    """Rules from the text of a rule file.

    Raises:
        ConfigError: a line is malformed, a rule is there twice, two rules match one pair of tags, or there
            is no rule; the message names file and line.
    """
    rules: list[Rule] = []
    lines_of_rules: list[int] = []
    classes: dict[str, tuple[str, ...]] = {}

    def fault(number: int, message: str) -> ConfigError:
        return ConfigError(f"{path}:{number}: {message}")

    for number, line in enumerate(text.replace("\ufeff", "").split("\n"), 1):
        content = line.split("#", 1)[0].strip()
        if not content:
            continue
        if "=" in content:
            name, _, members = (part.strip() for part in content.partition("="))
            if len(name.split()) != 1 or not members or "=" in members:
                raise fault(number, "expected a tag class such as NOUN = NOUN PROPN")
            if name in classes:
                raise fault(number, f"class {name} is declared twice")
            if name == ROOT or ROOT in members.split():
                raise fault(number, "ROOT cannot be part of a class")
            classes[name] = tuple(dict.fromkeys(members.split()))
            continue
        columns = content.split()
        if len(columns) != 3:
            raise fault(
                number, f"expected head tag, dependent tag and expectation, found {len(columns)} columns"
            )
        try:
            expectation = float(columns[2])
        except ValueError:
            raise fault(number, f"expectation {columns[2]!r} is not a number") from None
        if not 0 <= expectation < float("inf"):
            raise fault(number, f"expectation {columns[2]} is not a number from 0 upwards")
        if columns[1] == ROOT:
            raise fault(number, "ROOT cannot be a dependent")
        rules.append(Rule(columns[0], columns[1], expectation))
        lines_of_rules.append(number)
    if not rules:
        raise ConfigError(f"{path}: no rules (one a line: head tag, dependent tag, expectation)")
    result = RuleSet(tuple(rules), classes, text)
    owner: dict[tuple[str, str], int] = {}
    for k, rule in enumerate(rules):
        for pair in RuleSet((rule,), classes).pairs():
            if pair in owner:
                first = lines_of_rules[owner[pair]]
                raise fault(
                    lines_of_rules[k], f"{pair[0]}>{pair[1]} is already matched by the rule in line {first}"
                )
            owner[pair] = k
    return result


def load_rules(path: str | Path) -> RuleSet:
    """Rules from a file.

    Raises:
        ConfigError: the file cannot be read, or see `parse_rules`.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise ConfigError(f"{path}: cannot read the rule file: {reason}") from None
    return parse_rules(text, str(path))
