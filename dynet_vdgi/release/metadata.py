"""The values of release.toml that only people know, held against what UD's own checks of README.md
ask for.

What is asked for is in UD's page on files
(universaldependencies.org/contributing/repository_files.html), and in its program check_files.pl
where that is stricter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from dynet_vdgi.errors import ConfigError
from dynet_vdgi.settings.bundled import resources
from dynet_vdgi.settings.presets import read_toml
from dynet_vdgi.system import toml
from dynet_vdgi.system.limits import read_table
from dynet_vdgi.system.messages import count, of_these

WHAT, MOST_FAULTS = "values of the release", 40
"""What messages call the content of the file; faults that they list."""

SECTIONS = ("Summary", "Introduction", "Acknowledgments", "Changelog")
"""Values that are sections of README.md; the others are lines of its metadata."""

SHORTEST_SUMMARY, LONGEST_SUMMARY = 40, 497
"""Characters of the summary: UD counts its three line ends, too, and takes 500."""

_CREATIVE_COMMONS = re.compile(
    r"(?:CC BY(?:-NC)?(?:-SA|-ND)? (?:1\.0|2\.0|2\.5|3\.0|4\.0)|CC0 1\.0)(?![\w.-])"
)

_IS_CREATIVE_COMMONS = re.compile(r"\W*(?:CC\b|CC0|CC-?BY|creative\s*commons|BY\b)", re.IGNORECASE)

_ADDRESS = re.compile(r"[^@\s,;<>()]+@[^@\s,;<>().]+(?:\.[^@\s,;<>().]+)+")

_ENDS_SECTION = re.compile(r"#(?!#)|===")


def values_in(path: Path) -> tuple[dict[str, str], list[str]]:
    """The values of a TOML file, "" where there is none, and which are missing.

    Raises: ConfigError, it is no TOML, or values are wrong, all of which it lists with their lines.
    """
    expected = expectations()
    given = read_toml(path, WHAT) if path.exists() else {}
    faults = []
    for key, value in given.items():
        if key not in expected:
            faults.append((key, f"there is no value {key!r}{of_these(key, expected)}"))
        elif not isinstance(value, str):
            faults.append((key, f"{key} = {value!r:.60} (expected: {expected[key]})"))
        elif fault := value_fault(key, value.strip(), expected):
            faults.append((key, f"{key} = {value!r:.60}{fault}"))
    values = {key: str(given.get(key, "")).strip() for key in expected}
    missing = [key for key, value in values.items() if not value]
    if faults:
        text = read_table(path, WHAT)
        lines = sorted((_line_of(text, key), fault) for key, fault in faults[:MOST_FAULTS])
        messages = [f"{path}{f':{line}' if line else ''}: {fault}" for line, fault in lines]
        if len(faults) > MOST_FAULTS:
            messages.append(f"and {len(faults) - MOST_FAULTS:,} more")
        if missing:
            names = ", ".join(missing)
            messages.append(f"{path}: {count(len(missing), 'value')} missing: {names}")
        raise ConfigError("\n".join(messages))
    return values, missing


def expectations() -> dict[str, str]:
    """What each value must be, from the comments of the file that a first release writes."""
    text = (resources() / "release" / "release.toml").read_text(encoding="utf-8")
    return dict(re.findall(r'^"?([\w ]+?)"? = ""  # (.*)$', text, re.MULTILINE))


def genres() -> list[str]:
    """UD's genres, which the same file lists."""
    return expectations()["Genre"].partition("of: ")[2].split()


def value_fault(key: str, value: str, expected: Mapping[str, str]) -> str:
    """What is to be said after a value that UD would refuse; "" if it would not, or there is none
    yet."""
    among = expected[key].removeprefix("one of: ").split(" | ")
    if not value:
        return ""
    if key in SECTIONS:
        return _summary_fault(value) if key == "Summary" else ""
    if len(among) > 1:
        return "" if value in among else f" (expected: {expected[key]})"
    fault = _FAULTS[key](" ".join(value.split()))
    return f": {fault} (expected: {expected[key]})" if fault else ""


def _summary_fault(value: str) -> str:
    size = len("\n".join(" ".join(line.split()) for line in value.split("\n")))
    between = f"(expected: {SHORTEST_SUMMARY} to {LONGEST_SUMMARY})"
    if size < SHORTEST_SUMMARY:
        return f": {size} characters are too few {between}"
    if size > LONGEST_SUMMARY:
        return f": {size:,} characters are too many {between}"
    if "see [release checklist]" in value:
        return ": this is the text of UD's template (expected: a summary of this treebank)"
    if any(_ENDS_SECTION.match(line.strip()) for line in value.split("\n")):
        return ": UD takes it to end at a line with # or === (expected: no such line)"
    return ""


def _since_fault(value: str) -> str:
    return "" if re.fullmatch(r"UD v[1-9][0-9]*\.[0-9]+", value) else "this is no release of UD"


def _licence_fault(value: str) -> str:
    """Other licences have names of many forms; those of Creative Commons have one."""
    if not re.search(r"\w", value):
        return "this is no name of a licence"
    if _IS_CREATIVE_COMMONS.match(value) and not _CREATIVE_COMMONS.match(value):
        return "this is no licence of Creative Commons in the form of UD"
    return ""


def _parallel_fault(value: str) -> str:
    if not re.fullmatch("[a-z]+( [a-z]+)*", value):
        return "a collection has a name of small letters a to z, and a blank before the next"
    return "'no' stands alone" if "no" in value.split() and value != "no" else ""


def _genre_fault(value: str) -> str:
    those, of_ud = value.split(), genres()
    if unknown := [genre for genre in those if genre not in of_ud]:
        names = ", ".join(map(repr, unknown))
        how = "; a blank stands between two, and nothing else" if re.search("[,;]", value) else ""
        return f"{names} {'is no genre' if len(unknown) == 1 else 'are no genres'} of UD{how}"
    return "a genre stands twice" if len({*those}) < len(those) else ""


def _contributors_fault(value: str) -> str:
    for name in value.split(";"):
        last, comma, first = map(str.strip, name.partition(","))
        if not re.search(r"[^\W\d_]", last) or "@" in name:
            return f"{name.strip()!r} is no name"
        if comma and not re.search(r"[^\W\d_]", first):
            return f"{name.strip()!r} has no first name"
        if "," in first:
            return f"{name.strip()!r} has two commas; a semicolon stands between two people"
        if not comma and " " in last:  # a person may have one name
            return f"{name.strip()!r} has no comma between last and first name"
    return ""


def _contact_fault(value: str) -> str:
    wrong = [
        address.strip() for address in value.split(",") if not _ADDRESS.fullmatch(address.strip())
    ]
    return f"{wrong[0]!r} is no e-mail address" if wrong else ""


_FAULTS: Mapping[str, Callable[[str], str]] = {
    "Data available since": _since_fault,
    "License": _licence_fault,
    "Parallel": _parallel_fault,
    "Genre": _genre_fault,
    "Contributors": _contributors_fault,
    "Contact": _contact_fault,
}
"""For each value of metadata that is none of a few: why it cannot be right; "" if it can."""


def _line_of(text: str, key: str) -> int:
    """The line, from 1, on which a value of a TOML text begins; 0 if it is not found."""
    for match in re.finditer(
        rf"""^[ \t]*["']?{re.escape(key)}["']?[ \t]*[=.]""", text, re.MULTILINE
    ):
        try:
            toml.loads(text[: match.start()])  # fails inside a string of several lines
        except ValueError:
            continue
        return text.count("\n", 0, match.start()) + 1
    return 0
