"""Head rules: which child of a constituent holds its head. The tables are text files in resources/heads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dynet_vdgi.errors import ConfigError, UsageError
from dynet_vdgi.settings.bundled import resources
from dynet_vdgi.system.limits import read_table

DEFAULT = "yamada-matsumoto"
_SIDES = ("left", "right")
_COORDINATION = ("coordination", "first conjunct")


class Search(NamedTuple):
    """Finds the first child, from one side, with one of these labels."""

    side: str
    labels: frozenset[str]

    def __call__(self, children: Sequence[str]) -> int | None:
        """The index of that child; None if there is none."""
        indices = range(len(children))
        for i in indices if self.side == "left" else reversed(indices):
            if children[i] in self.labels:
                return i
        return None


@dataclass(frozen=True)
class HeadRules:
    """A table of head rules: for each label of constituents, searches; the first successful one counts."""

    searches: Mapping[str, tuple[Search, ...]]
    first_conjunct: bool = False

    def head(self, label: str, children: Sequence[str]) -> int:
        """The index of the head among the labels of a constituent's children; at least one child is needed.

        Labels are without function tags; punctuation must have been left out.

        >>> rules = load("yamada-matsumoto")
        >>> rules.head("VP", ["TO", "VP"]), rules.head("NP", ["NN", "NNS", "PP"])
        (1, 1)
        """
        searches = self.searches.get(label, ())
        for search in searches:
            i = search(children)
            if i is not None:
                break
        else:
            i = len(children) - 1 if searches and searches[-1].side == "right" else 0
        if self.first_conjunct and i >= 2 and children[i - 1] == "CC":
            return i - 2
        return i


def names() -> list[str]:
    """The tables that come with the package."""
    return sorted(path.stem for path in (resources() / "heads").glob("*.txt"))


def load(name: str) -> HeadRules:
    """The table of that name. Raises: UsageError, naming the choices; ConfigError for a fault in its file."""
    if name not in names():
        raise UsageError(f"no head rules {name!r} (choose from {', '.join(names())})")
    path = resources() / "heads" / f"{name}.txt"
    return parse(read_table(path, "head rules"), str(path))


def parse(text: str, path: str) -> HeadRules:
    """The head rules in the text of a table; `path` is for messages. Raises: ConfigError."""
    searches: dict[str, list[Search]] = {}
    first_conjunct = False
    for number, line in enumerate(text.splitlines(), 1):
        content = line.split("#", 1)[0].strip()
        if not content:
            continue
        labels, _, right = content.partition(":")
        items = right.split()
        if (labels.strip(), " ".join(items)) == _COORDINATION:
            first_conjunct = True
        elif labels.split() and items and items[0] in _SIDES:
            side = items[0]
            found = [Search(side, frozenset(item.split("|"))) for item in items[1:]]
            found = found or [Search(side, frozenset())]  # finds nothing, but gives the side
            for label in labels.split():
                searches.setdefault(label, []).extend(found)
        else:
            raise ConfigError(
                f"{path}:{number}: expected LABEL: left or right, ITEM ITEM ...; got {content!r}"
            )
    return HeadRules({label: tuple(found) for label, found in searches.items()}, first_conjunct)
