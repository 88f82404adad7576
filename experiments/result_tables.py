"""Tables of systems by languages, from rows of single runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from result_rows import DDA, Row, means

from dynet_vdgi.system.text_tables import TextTable


def by_language(
    name: str,
    systems: Mapping[str, Sequence[Row]],
    columns: Iterable[str] = DDA,
    languages: Sequence[str] = (),
) -> TextTable:
    """A line for each system: the mean of its languages, then each of them.

    `name` is the heading of the systems; *: a language is missing. A language of several rows has
    their mean, and counts once. Without `languages`: all that any system has, in the order of the
    rows.
    """
    columns = list(columns)
    languages = languages or list(
        dict.fromkeys(row["language"] for some in systems.values() for row in some)
    )
    lines = []
    for system, some in systems.items():
        of_languages = [
            [row for row in some if row["language"] == language] for language in languages
        ]
        present = [group for group in of_languages if group]
        lengths = {len(group) for group in present}
        assert len(lengths) == 1, f"{system}: unequal numbers of rows"
        every = [row for group in present for row in group]
        star = "" if len(present) == len(languages) else "*"
        cells = [means(group, columns) if group else "" for group in of_languages]
        lines.append([system, f"**{means(every, columns)}**{star}", *cells])
    return TextTable([name, "mean", *languages], lines)


def by_number(
    name: str,
    systems: Mapping[str, Sequence[Row]],
    numbers: Sequence[str],
    columns: Iterable[str] = DDA,
) -> TextTable:
    """A line for each system: its means with k trees, for each k of `numbers`; *: fewer languages
    than elsewhere."""
    columns = list(columns)
    lines = []
    for system, some in systems.items():
        groups = [[row for row in some if row["k"] == number] for number in numbers]
        most = max(map(len, groups))
        cells = [
            means(group, columns) + "*" * (len(group) < most) if group else "–" for group in groups
        ]
        lines.append([system, *cells])
    return TextTable([name, *(f"k = {number}" for number in numbers)], lines)


def languages_by_number(
    some: Sequence[Row], numbers: Sequence[str], columns: Iterable[str] = DDA
) -> TextTable:
    """A line for each language: its figures with k trees, for each k of `numbers`."""
    columns = list(columns)
    lines = []
    for language in dict.fromkeys(row["language"] for row in some):
        groups = [
            [row for row in some if (row["language"], row["k"]) == (language, k)] for k in numbers
        ]
        lines.append([language, *(means(group, columns) if group else "–" for group in groups)])
    return TextTable(["", *(f"k = {number}" for number in numbers)], lines)


def knowledge_table(name: str, some: Sequence[Row]) -> TextTable:
    """A line for each system and what it was scored on; of several rows, the last one of a language
    counts."""
    newest = {(row["system"], row["scored"], row["language"]): row for row in some}
    systems: dict[str, list[Row]] = {}
    for (system, scored, _), row in newest.items():
        label = system + (f" ({scored})" if scored != "test" else "")
        label += " (gold trees of other languages)" if system == "delexicalised" else ""
        systems.setdefault(label, []).append(row)
    return by_language(
        name, systems, ("short", "long"), list(dict.fromkeys(row["language"] for row in some))
    )


def tag_table(some: Sequence[Row], column: str) -> TextTable:
    """A column of tags' accuracies: numbers of tagged sentences and systems by languages."""
    languages = list(dict.fromkeys(row["language"] for row in some))
    systems: dict[tuple[int, str], list[Row]] = {}
    for row in some:
        systems.setdefault((int(row["tagged"]), row["system"]), []).append(row)
    lines = []
    for (tagged, system), group in sorted(systems.items()):
        line = by_language("", {system: group}, [column], languages).rows[0]
        lines.append([line[0], str(tagged), *line[1:]])
    return TextTable([column, "tagged", "mean", *languages], lines)
