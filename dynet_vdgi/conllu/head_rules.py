"""Head rules of the Penn Treebank, from resources/heads: which child of a constituent is its
head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dynet_vdgi.errors import ConfigError, UsageError
from dynet_vdgi.settings.bundled import resources
from dynet_vdgi.system.limits import read_table

DEFAULT = "yamada-matsumoto"

_COORDINATION = ("coordination", "first conjunct")


@dataclass(frozen=True)
class HeadRules:
    """A table of head rules: for each label of constituents, searches; the first successful one
    counts."""

    # the first child from a side with these labels
    searches: Mapping[str, list[tuple[str, frozenset[str]]]]
    first_conjunct: bool = False

    def head(self, label: str, children: Sequence[str]) -> int:
        """The index of the head among the labels of a constituent's children; at least one child is
        needed.

        Labels are without function tags; punctuation must have been left out.

        >>> rules = load_head_rules("yamada-matsumoto")
        >>> rules.head("VP", ["TO", "VP"]), rules.head("NP", ["NN", "NNS", "PP"])
        (1, 1)
        """
        i = 0
        for side, wanted in self.searches.get(label, ()):
            order = range(len(children)) if side == "left" else range(len(children) - 1, -1, -1)
            i = next((k for k in order if children[k] in wanted), -1)
            if i >= 0:
                break
            i = order[0]  # that end, if nothing else is found
        if self.first_conjunct and i >= 2 and children[i - 1] == "CC":
            return i - 2
        return i


def names() -> list[str]:
    """The tables that come with the package."""
    return sorted(path.stem for path in (resources() / "heads").glob("*.txt"))


def load_head_rules(name: str) -> HeadRules:
    """The table of that name. Raises: UsageError, naming the choices; ConfigError for a fault in
    its file."""
    if name not in names():
        raise UsageError(f"no head rules {name!r} (choose from {', '.join(names())})")
    path = resources() / "heads" / f"{name}.txt"
    return parse(read_table(path, "head rules"), str(path))


def parse(text: str, path: str) -> HeadRules:
    """The head rules in the text of a table; `path` is for messages. Raises: ConfigError."""
    searches: dict[str, list[tuple[str, frozenset[str]]]] = {}
    first_conjunct = False
    for number, line in enumerate(text.splitlines(), 1):
        content = line.split("#", 1)[0].strip()
        if not content:
            continue
        labels, _, right = content.partition(":")
        side, *items = right.split() or [""]
        if (labels.strip(), " ".join([side, *items])) == _COORDINATION:
            first_conjunct = True
        elif labels.split() and side in ("left", "right"):
            line_searches = [(side, frozenset(item.split("|"))) for item in items]
            line_searches = line_searches or [
                (side, frozenset())
            ]  # finds nothing, but gives the side
            for label in labels.split():
                searches.setdefault(label, []).extend(line_searches)
        else:
            expected = "expected LABEL: left or right, ITEM ITEM ..."
            raise ConfigError(f"{path}:{number}: {expected}; got {content!r}")
    return HeadRules(searches, first_conjunct)
