"""The wording of messages: similar names, numbers with nouns, lists cut short, text without control
characters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def near(name: str, names: Iterable[str], n: int = 3, cutoff: float = 0.5) -> list[str]:
    """Up to `n` names that look like this one, the most similar first. `cutoff` is from 0 (any) to
    1.

    >>> near("prase", ["parse", "train", "phrase"])
    ['phrase', 'parse']
    """
    import difflib  # late: rarely needed

    return difflib.get_close_matches(name, list(names), n, cutoff)


def nearest(name: str, names: Iterable[str], cutoff: float = 0.5) -> str:
    """The name most like this one; "" if none is like it."""
    return next(iter(near(name, names, 1, cutoff)), "")


def did_you_mean(name: str, names: Iterable[str], cutoff: float = 0.5) -> str:
    """A hint to put after a message about an unknown name; "" if no name is like it.

    >>> did_you_mean("vreb", ["verb", "noun"])
    "; did you mean 'verb'?"
    """
    likeliest = nearest(name, names, cutoff)
    return f"; did you mean '{likeliest}'?" if likeliest else ""


def there_are(names: Iterable[str], most: int = 24) -> str:
    """The names that can be chosen from, to put after a message; if there are more than `most`, the
    first.

    >>> there_are(["a", "b"]), there_are("abcd", 2)
    (' (there are: a, b)', ' (there are: a, b and 2 more)')
    """
    choices = list(names)
    more = f" and {len(choices) - most:,} more" if len(choices) > most else ""
    return f" (there are: {', '.join(choices[:most]) or 'none'}{more})"


def of_these(name: str, names: Iterable[str], cutoff: float = 0.5) -> str:
    """`did_you_mean` and `there_are`; fewer names if one is like the unknown one.

    >>> of_these("vreb", ["verb", "noun"]), of_these("x", [])
    ("; did you mean 'verb'? (there are: verb, noun)", ' (there are: none)')
    """
    choices = list(names)
    meant = did_you_mean(name, choices, cutoff)
    return meant + (there_are(choices, 8) if meant else there_are(choices))


def count(number: int, noun: str, plural: str = "") -> str:
    """A number with what it counts.

    >>> count(1, "row"), count(2000, "row"), count(0, "tree")
    ('1 row', '2,000 rows', '0 trees')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def listed(items: Sequence[str], most: int) -> str:
    """The items with spaces between them; if there are more than `most`, only the first ones.

    >>> listed(["a", "b"], 2), listed(["a", "b", "c", "d"], 2)
    ('a b', 'a b and 2 more')
    """
    return " ".join(items[:most]) + (
        f" and {len(items) - most:,} more" if len(items) > most else ""
    )


def plain(text: str) -> str:
    """The text with control characters written out, so that only tabs and line ends reach a
    terminal.

    >>> print(plain("\x1b[31mred"))
    \\x1b[31mred
    """
    if text.isprintable():
        return text
    return "".join(
        repr(c)[1:-1] if (c < " " and c not in "\n\t") or "\x7f" <= c < "\xa0" else c for c in text
    )


def printable_text(text: str) -> str:
    """The text as printed for people: `plain`, with the middle of enormous words and lines left
    out.

    >>> printable_text("see " + 4999 * "x" + "y").replace("x" * 79, "X")
    'see Xx... (5,000 characters) ...Xy'
    """

    def ends(text: str, size: int) -> str:
        return f"{text[:size]}... ({len(text):,} characters) ...{text[-size:]}"

    text = re.sub(r"\S{1001,}", lambda match: ends(match[0], 80), plain(text))
    return "\n".join([ends(line, 300) if len(line) > 20_000 else line for line in text.split("\n")])
