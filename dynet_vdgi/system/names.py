"""Names, numbers and tables in messages; limits of inputs, and optional packages."""

import os
import re
import shlex
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

from dynet_vdgi.errors import ConfigError


def near(name: str, names: Iterable[str], n: int = 3, cutoff: float = 0.5) -> list[str]:
    """Up to `n` names that look like this one, the most similar first. `cutoff` is from 0 (any) to 1.

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
    found = nearest(name, names, cutoff)
    return f"; did you mean '{found}'?" if found else ""


def there_are(names: Iterable[str], most: int = 24) -> str:
    """The names that can be chosen from, to put after a message; if there are more than `most`, the first.

    >>> there_are(["a", "b"]), there_are("abcd", 2)
    (' (there are: a, b)', ' (there are: a, b and 2 more)')
    """
    known = list(names)
    more = f" and {len(known) - most:,} more" if len(known) > most else ""
    return f" (there are: {', '.join(known[:most]) or 'none'}{more})"


def of_these(name: str, names: Iterable[str], cutoff: float = 0.5) -> str:
    """`did_you_mean` and `there_are`; fewer names if one is like the unknown one.

    >>> of_these("vreb", ["verb", "noun"]), of_these("x", [])
    ("; did you mean 'verb'? (there are: verb, noun)", ' (there are: none)')
    """
    known = list(names)
    meant = did_you_mean(name, known, cutoff)
    return meant + (there_are(known, 8) if meant else there_are(known))


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
    return " ".join(items[:most]) + (f" and {len(items) - most:,} more" if len(items) > most else "")


def plain(text: str) -> str:
    """The text with control characters written out, so that only tabs and line ends reach a terminal.

    >>> print(plain("\x1b[31mred"))
    \\x1b[31mred
    """
    if text.isprintable():
        return text
    return "".join(repr(c)[1:-1] if (c < " " and c not in "\n\t") or "\x7f" <= c < "\xa0" else c for c in text)


def told(text: str) -> str:
    """The text as printed for people: `plain`, with the middle of enormous words and lines left out.

    >>> told("see " + 4999 * "x" + "y").replace("x" * 79, "X")
    'see Xx... (5,000 characters) ...Xy'
    """

    def ends(text: str, size: int) -> str:
        return f"{text[:size]}... ({len(text):,} characters) ...{text[-size:]}"

    text = re.sub(r"\S{1001,}", lambda found: ends(found[0], 80), plain(text))
    return "\n".join([ends(line, 300) if len(line) > 20_000 else line for line in text.split("\n")])


# ----------------------------------------------------------------------------------------------------
# Tables as plain text and as Markdown, from rows of cells; the first row is the heading.
GAP = "  "
"""Between the columns of an aligned table."""

_SPECIAL = re.compile(r"[\\`*|]|\](?=\()|<(?=[A-Za-z/!?])")


def columns(text: str) -> int:
    """The width of the text in terminal columns.

    >>> columns("Jahr"), columns("日本"), columns("e\N{COMBINING ACUTE ACCENT}")
    (4, 4, 1)
    """
    if text.isascii():
        return len(text)
    return sum(times * column_count(character) for character, times in Counter(text).items())


def column_count(character: str) -> int:
    """0 for marks that stand on the letter before, 2 for wide letters such as Chinese ones, otherwise 1."""
    from wcwidth import wcwidth  # late: takes a twentieth of a second

    return max(wcwidth(character), 0)


def padded(text: str, width: int) -> str:
    """The text, followed by spaces up to `width` columns."""
    return text + " " * (width - columns(text))


def aligned(rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    """The rows as lines of aligned columns: the first `left` of them flush left, the others flush right.

    >>> print(aligned([["DDA", "<=10", "all"], ["ours", "71.0", "9.5"]]))
    DDA   <=10  all
    ours  71.0  9.5
    """
    widths = [max(map(columns, column)) for column in zip(*rows)]
    lines = []
    for row in rows:
        cells = [padded(cell, width) for cell, width in zip(row[:left], widths)]
        cells += [" " * (width - columns(cell)) + cell for cell, width in zip(row[left:], widths[left:])]
        lines.append(GAP.join(cells).rstrip())
    return "\n".join(lines)


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """The rows as a Markdown table: the first column is text, the others are numbers.

    >>> print(markdown([["DDA", "all"], ["a|b", "9.5"]]))
    | DDA | all |
    | --- | ---: |
    | a\\|b | 9.5 |
    """
    lines = [[_SPECIAL.sub(r"\\\g<0>", cell) for cell in row] for row in rows]
    lines.insert(1, ["---", *["---:"] * (len(rows[0]) - 1)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


# ----------------------------------------------------------------------------------------------------
# Limits beyond which the program refuses an input, so that its memory is bounded.
#
# The limits are generous. The environment variable VDGI_LIMITS changes them, for child processes too:
# `VDGI_LIMITS="words=50000 line=20_000_000"`.
VARIABLE = "VDGI_LIMITS"

DEFAULTS: Mapping[str, int] = MappingProxyType(
    {
        "line": 10_000_000,  # bytes of a line of text
        "sentence": 20_000_000,  # characters of a sentence with its comments
        "lines": 100_000,  # of a sentence, with its comments
        "words": 10_000,  # of a sentence
        "tags": 500,  # different ones, in what is learnt from; rules may always have this many
        "relations": 500,  # different ones, in what is learnt from
        "table": 10_000_000,  # bytes of a file of rules, settings, facts or labels, or of a plan
        "toml": 1_000_000,  # characters of such a file in TOML: settings, a plan
        "document": 100_000_000,  # bytes of a file that vdgi convert reads as a whole
        "elements": 1_000_000,  # of an XML file
        "model": 2_000_000_000,  # bytes of a model file's content
    }
)


def limit(name: str) -> int:
    """The limit of that name. Raises: ConfigError, VDGI_LIMITS is malformed."""
    return _limits(os.environ.get(VARIABLE, ""))[name]


@lru_cache(maxsize=8)
def _limits(said: str) -> Mapping[str, int]:
    found = dict(DEFAULTS)
    for item in said.replace(",", " ").split():
        name, equals, number = item.partition("=")
        if name not in DEFAULTS:
            raise ConfigError(f"{VARIABLE}: no limit '{name}'{of_these(name, DEFAULTS)}")
        try:
            found[name] = int(number)
        except ValueError:
            found[name] = 0
        if not equals or found[name] < 1:
            raise ConfigError(f"{VARIABLE}: '{item}' must be {name}=N, N a whole number from 1")
    return found


def to_raise(name: str, wanted: int = 0) -> str:
    """Advice, for messages, about a limit that is too low; `wanted` is the amount needed, if known.

    >>> to_raise("words")
    'if that is right, raise the limit: VDGI_LIMITS=words=20000'
    """
    return f"if that is right, raise the limit: {VARIABLE}={name}={wanted or 2 * limit(name)}"


def read_table(path: str | Path, what: str) -> str:
    """The text of a file of rules, settings, facts or labels, or of a plan; messages call it `what`.

    Raises: ConfigError, it cannot be read, is not UTF-8, or is larger than the limit.
    """
    most = limit("table")
    try:
        with open(path, "rb") as handle:
            content = handle.read(most + 1)
        if len(content) > most:
            message = f"cannot read the {what}: it has more than {most} bytes"
            raise ConfigError(f"{path}: {message} ({to_raise('table')})")
        return content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except (OSError, ValueError) as error:  # ValueError: not UTF-8, or NUL in the name
        reason = "not UTF-8 text" if isinstance(error, UnicodeDecodeError) else None
        reason = reason or getattr(error, "strerror", None) or str(error)
        raise ConfigError(f"{path}: cannot read the {what}: {reason}") from None


# ----------------------------------------------------------------------------------------------------
# Optional packages, which setup.py names as extras, and how to install them.
def how_to_install(extra: str) -> str:
    """The command that installs an extra into the environment that runs this program.

    In a clone the command names the extra. Elsewhere it names the packages that the extra consists of,
    because pip would look for this package on PyPI, where it is not.
    """
    from importlib import metadata  # late: rarely needed

    clone = Path(__file__).resolve().parents[2]
    pip = [sys.executable, "-m", "pip", "install"]
    if (clone / "setup.py").exists():
        return shlex.join([*pip, "--editable", f"{clone}[{extra}]"])
    wanted = [line.partition(";") for line in metadata.requires("dynet_vdgi") or ()]
    own = {f'extra == "{extra}"', f"extra == '{extra}'"}
    return shlex.join([*pip, *(name.strip() for name, _, condition in wanted if condition.strip() in own)])
