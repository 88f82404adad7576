"""Queries for words, by any column of a word and of its head: `upos=NOUN deprel=obj
head.upos!=VERB`.

All conditions must hold: `=` and `!=` compare a value, `~` and `!~` look for a part that a regular
expression matches. `feats.Case` and `misc.Gloss` are what a column says of a name, `head.upos` is
the head's, `head.head.upos` that of the head's head. What is not there is `_`, also of a root's
head. Values with blanks stand between "". If no word is found, `hint` says which condition asks for
what is never there.

>>> dogs = "1 dogs dog NOUN _ Number=Plur 2 nsubj _ _".split()
>>> bark = "2 bark bark VERB _ _ 0 root _ _".split()
>>> words_of(conditions("upos=NOUN head.upos=VERB"), [dogs, bark])
[1]
>>> words_of(conditions("lemma~^b"), [dogs, bark])
[2]
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from dynet_vdgi.conllu.expressions import Expression
from dynet_vdgi.errors import UsageError

COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")

LONGEST_QUERY = 1000
"""Characters of a query."""

_CONDITION = re.compile(r'([^\s=~!"]*)(!?[=~])("[^"]*"(?!\S)|\S*)')

_EXPECTED = "expected such as upos=NOUN, lemma~^a or head.upos!=VERB"

Rows = Sequence[Sequence[str]]
"""The ten columns of each word of a sentence."""


class WordCondition(NamedTuple):
    """What one column must be, or must not be."""

    n_heads: int  # steps from the word up
    column: int
    name: str  # in FEATS or MISC; "": the whole column
    wanted: str | Expression  # the value, or what is a part of it
    is_wanted: bool
    asked: str = ""  # the condition as it was written
    # the value that the column must have; "": the pattern decides, or it must not have one
    exact: str = ""

    def holds(self, rows: Rows, word: int) -> bool:
        """Whether it holds of a word, counted from 1. Raises: UsageError, as `Expression.is_in`."""
        for _ in range(self.n_heads):
            head = rows[word - 1][COLUMNS.index("head")] if word else "0"
            word = int(head) if head.isdecimal() else 0
        value = self.value_of(rows[word - 1]) if word else "_"
        is_so = value == self.wanted if isinstance(self.wanted, str) else self.wanted.is_in(value)
        return is_so is self.is_wanted

    def value_of(self, row: Sequence[str]) -> str:
        """What the column says of a word; `_`: nothing."""
        value = row[self.column]
        if not self.name:
            return value
        for part in value.split("|"):
            name, _, value_of_name = part.partition("=")
            if name == self.name:
                return value_of_name
        return "_"


def conditions(query: str) -> list[WordCondition]:
    """The conditions of a query. Raises: UsageError, what is wrong with it."""
    parsed, rest = [], query.strip()
    if not 1 <= len(rest) <= LONGEST_QUERY:
        raise UsageError(f"a query has 1 to {LONGEST_QUERY} characters ({_EXPECTED})")
    while rest:
        match = _CONDITION.match(rest)
        if match is None or not match[3]:
            raise UsageError(f"{rest.split()[0][:40]!r} is no condition ({_EXPECTED})")
        parsed.append(_condition(*match.groups()))
        rest = rest[match.end() :].lstrip()
    return parsed


def _condition(name: str, operator: str, value: str) -> WordCondition:
    *heads, column = name.split(".")
    key = ""
    if heads and heads[-1].lower() in ("feats", "misc") and column:
        column, key = heads.pop(), column
    if column.lower() not in COLUMNS or any(head.lower() != "head" for head in heads):
        raise UsageError(
            f"{name[:40]!r} is no column (there are: {', '.join(COLUMNS)}, feats.Case, head.upos)"
        )
    text = value[1:-1] if len(value) > 1 and value[0] == value[-1] == '"' else value
    wanted = Expression(text) if operator[-1] == "~" else text
    asked, exact = f"{name}{operator}{value}", text if operator == "=" else ""
    return WordCondition(
        len(heads), COLUMNS.index(column.lower()), key, wanted, "!" not in operator, asked, exact
    )


def words_of(conditions: Sequence[WordCondition], rows: Rows) -> list[int]:
    """The words of a sentence, counted from 1, of which all conditions hold. Raises: UsageError,
    one takes too long."""
    return [
        word
        for word in range(1, len(rows) + 1)
        if all(each.holds(rows, word) for each in conditions)
    ]


def hint(conditions: Sequence[WordCondition], sentences: Iterable[Rows]) -> str:
    """Why no word of the sentences is found: a value that is nowhere, and what may be meant; "":
    nobody knows."""
    exact = [each for each in conditions if each.exact]
    values = [Counter[str]() for _ in exact]
    for rows in sentences if exact else ():
        for each, counts in zip(exact, values):
            counts.update(map(each.value_of, rows))
    for each, counts in zip(exact, values):
        if each.exact not in counts:
            return f"no word has {each.asked}{_instead(each, counts)}"
    return ""


def _instead(condition: WordCondition, counts: Counter[str]) -> str:
    """What may be meant instead of a value that is nowhere, after a mark."""
    low = condition.exact.lower()
    spellings = [f"{value} has {n:,}" for value, n in counts.most_common() if value.lower() == low]
    if spellings:
        return f"; {', '.join(spellings[:5])}"
    if "|" in condition.exact and (
        condition.name or COLUMNS[condition.column] not in ("feats", "misc", "deps")
    ):
        name = condition.asked.partition("=")[0]
        return f"; for one of several values say {name}~^({condition.exact})$"
    few = [value for value, _ in counts.most_common(6) if value != "_"][:5]
    is_closed = condition.name or COLUMNS[condition.column] in ("upos", "xpos", "deprel")
    return f"; most frequent there: {', '.join(few)}" if few and is_closed else ""
