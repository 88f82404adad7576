"""Which format a file has, and how it becomes CoNLL-U."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import PurePath
from typing import TextIO

from dynet_vdgi.conllu.tag_sets import UD2_TAGS
from dynet_vdgi.converters import column_tables, eaf, flextext, mst, sources, toolbox
from dynet_vdgi.converters.interlinear import Losses, TagChoice, Utterance, blocks
from dynet_vdgi.converters.sources import ForeignFile
from dynet_vdgi.converters.tiers import ROLES
from dynet_vdgi.errors import DataError, UsageError
from dynet_vdgi.system.limits import read_table

FORMATS = {
    "flextext": "FLExText of FLEx, SayMore or ELAN",
    "eaf": "EAF of ELAN",
    "toolbox": "Toolbox or Shoebox (SFM)",
    "conll-x": "CoNLL-X (CoNLL 2006 and 2007)",
    "conll-2009": "CoNLL-2009",
    "conll-2003": "CoNLL-2003",
    "malt-tab": "Malt-TAB",
    "mst": "MSTParser",
    "csv": "CSV or TSV with headings",
}
"""What can be converted, by the name that `--from` takes."""

_XML_ROOTS = {"document": "flextext", "interlinear-text": "flextext", "ANNOTATION_DOCUMENT": "eaf"}

_ROOT = re.compile(r"<(?:[\w.-]+:)?([A-Za-z][\w.-]*)")

_ENDINGS = {
    ".flextext": "flextext",
    ".eaf": "eaf",
    ".sfm": "toolbox",
    ".db": "toolbox",
    ".conllx": "conll-x",
    ".conll09": "conll-2009",
    ".mst": "mst",
    ".csv": "csv",
    ".tsv": "csv",
}

_DELIMITERS = "\t,;"


@dataclass(frozen=True)
class ConversionSettings:
    """How the user wants files to be read; "" and nothing stand for what the file says.

    language: of translations of which the file does not say it. roles: of tiers and markers, by
    name.
    upos: UPOS by a file's own tags.
    """

    format: str = ""
    encoding: str = ""
    columns: str = ""
    language: str = "und"
    roles: Mapping[str, str] = field(default_factory=dict)
    upos: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Converted:
    """What was made of a file; `losses` is a line for each kind of loss.

    names: of the tiers, their types, or the markers that are there; empty unless the user has named
    some.
    uses_table: whether a word has a tag of the user's table.
    """

    format: str
    n_sentences: int
    n_words: int
    n_without_upos: int
    losses: Sequence[str]
    names: frozenset[str] = frozenset()
    uses_table: bool = False


def write(
    path: str, handle: TextIO, reading: ConversionSettings, names: dict[str, int]
) -> Converted:
    """Writes a file as CoNLL-U.

    names: of the sentences written before, to which these are added; see `blocks`.

    Raises: DataError, with the line, for what cannot be read; UsageError, options that do not fit
    the format.
    """
    source = sources.read(path, reading.encoding)
    kind = reading.format or recognised_format(source, has_columns=bool(reading.columns))
    _check_options(source.name, kind, reading)
    losses = Losses(source.name)
    read_first = _utterances(source, kind, reading, Losses(source.name))
    words = chain.from_iterable(utterance.words for utterance in read_first)
    tags = TagChoice(words, reading.upos)
    document = PurePath(path).name.partition(".")[0] if path != "-" else "text"
    n_sentences = n_words = n_without = 0
    for block, size in blocks(
        _utterances(source, kind, reading, losses), tags, losses, names, document or "text"
    ):
        handle.write(block)
        n_sentences += 1
        n_words += size
        n_without += sum(
            row.split("\t", 4)[3] == "_" for row in block.split("\n") if row[:1].isdigit()
        )
    if not n_sentences:
        raise DataError(
            source.name,
            None,
            "no sentences",
            f"read as {FORMATS[kind]}; --from names another format",
        )
    names_in = {"eaf": eaf.names_in, "toolbox": toolbox.names_in}.get(kind)
    there = frozenset(names_in(source)) if reading.roles and names_in else frozenset[str]()
    return Converted(
        kind, n_sentences, n_words, n_without, losses.messages(), there, tags.uses_table
    )


def _check_options(name: str, kind: str, reading: ConversionSettings) -> None:
    """Raises: UsageError, an option has no effect on files of this format."""
    if reading.roles and kind not in ("eaf", "toolbox"):
        raise UsageError(f"--tier has no effect on {name}, which is read as {FORMATS[kind]}")
    if reading.columns and kind in ("flextext", "eaf", "toolbox", "mst"):
        raise UsageError(f"--columns has no effect on {name}, which is read as {FORMATS[kind]}")


def _utterances(
    source: ForeignFile, kind: str, reading: ConversionSettings, losses: Losses
) -> Iterator[Utterance]:
    if kind == "flextext":
        return flextext.read(source, losses)
    if kind == "eaf":
        return eaf.read(source, losses, reading.language, reading.roles)
    if kind == "toolbox":
        return toolbox.read(source, losses, reading.language, reading.roles)
    if kind == "mst":
        return mst.read(source, losses)
    layout = (
        column_tables.layout_of(reading.columns)
        if reading.columns
        else column_tables.LAYOUTS.get(kind, "").split()
    )
    if kind == "csv":
        return column_tables.read_csv(source, losses, layout, _delimiter(source))
    lines = [line for line in source.lines if line.strip() and line[0] != "#"][:20]
    has_tabs = any("\t" in line for line in lines if not line.startswith(column_tables.DOCSTART))
    return column_tables.read(source, losses, layout, blanks=not has_tabs)


def _delimiter(source: ForeignFile) -> str:
    first = next((line for line in source.lines if line.strip()), "")
    return max(_DELIMITERS, key=first.count)


def recognised_format(source: ForeignFile, *, has_columns: bool = False) -> str:
    """The name of a file's format, by its content and then by its ending.

    Raises: DataError, it is empty, it is CoNLL-U already, or nothing shows what it is.
    """
    choice = f"say what it is: --from {'|'.join(FORMATS)}; of another table: --columns form,tag,..."
    if not source.data.strip():
        raise DataError(source.name, None, "the file is empty", "was it saved?")
    start = source.data[:4096].decode(
        "utf-16" if source.data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8", "replace"
    )
    if start.lstrip("\ufeff \t\r\n").startswith("<"):
        root = _ROOT.search(
            re.sub(r"<!--.*?-->|<\?.*?\?>|<!DOCTYPE[^>]*>?", "", start, flags=re.DOTALL)
        )
        name = root[1] if root else ""
        ending = PurePath(source.name).suffix.lower()
        kind = _XML_ROOTS.get(name) or (
            _ENDINGS.get(ending, "") if ending in (".flextext", ".eaf") else ""
        )
        if not kind:
            raise DataError(
                source.name, 1, f"XML with the root <{name[:40]}>, neither FLExText nor EAF", choice
            )
        return kind
    if has_columns:
        return "csv" if _is_csv(source) else "conll-2003"
    lines = [line for line in source.lines[:2000] if line.strip()]
    kind = _format_of_lines(lines, source.lines[:200])
    if not kind:
        kind = _ENDINGS.get(PurePath(source.name.removesuffix(".gz")).suffix.lower(), "")
    if not kind:
        raise DataError(source.name, None, "nothing shows which format this is", choice)
    if kind == "conll-x" and _is_conllu(lines):
        hint = "it needs no conversion; if it is CoNLL-X: --from conll-x"
        raise DataError(source.name, None, "this is CoNLL-U", hint)
    return kind


def _is_csv(source: ForeignFile) -> bool:
    first = next((line for line in source.lines if line.strip()), "")
    return "\t" not in first and any(mark in first for mark in _DELIMITERS[1:])


def _format_of_lines(lines: Sequence[str], all_lines: Sequence[str]) -> str:
    """The format that the lines have the form of; "" for none."""
    if not lines:
        return ""
    if lines[0].startswith("\\"):
        return "toolbox"
    rows = [line for line in lines if not line.startswith(("#", column_tables.DOCSTART))] or [
        *lines
    ]
    cells = rows[0].split("\t") if "\t" in rows[0] else rows[0].split()
    if cells[0].isdigit() and len(cells) >= column_tables.LEAST_OF_X:
        return (
            "conll-2009"
            if len(cells) >= len(column_tables.LAYOUTS["conll-2009"].split())
            else "conll-x"
        )
    if any(column_tables.is_heading(rows[0], mark) for mark in _DELIMITERS):
        return "csv"
    if _is_mst(all_lines):
        return "mst"
    if len(cells) == 4 and all(
        len(row.split("\t")) == 4 and row.split("\t")[2].isdigit() for row in rows[:20]
    ):
        return "malt-tab"
    if lines[0].startswith(column_tables.DOCSTART) or all(_has_entity(row) for row in rows[:50]):
        return "conll-2003"
    return ""


def _has_entity(row: str) -> bool:
    parts = row.split()
    return len(parts) == 4 and re.fullmatch(r"O|[BIESLU]-\S+", parts[3]) is not None


def _is_mst(lines: Sequence[str]) -> bool:
    """Whether the first block has three or four lines of equal length, of which the last has
    numbers only."""
    block: list[list[str]] = []
    for line in lines:
        if not line.strip():
            if block:
                break
            continue
        block.append(line.rstrip("\t").split("\t"))
    if len(block) not in (3, 4) or len({len(cells) for cells in block}) != 1:
        return False
    return all(cell.isdigit() for cell in block[-1]) and not all(
        cells[-2:-1] and cells[-2].isdigit() for cells in block
    )


def _is_conllu(lines: Sequence[str]) -> bool:
    """Whether lines of ten columns have what only CoNLL-U has: its comments, ranges, or UD's tags
    and features."""
    if any(re.match(r"# (?:text|sent_id) =|[0-9]+[-.][0-9]+\t", line) for line in lines):
        return True
    rows = [cells for line in lines if len(cells := line.split("\t")) == 10]
    has_dependencies = any(re.match("[0-9]+:", cells[8]) for cells in rows)
    has_notes = any("=" in cells[9] for cells in rows)
    return (
        bool(rows)
        and all(cells[3] in UD2_TAGS for cells in rows)
        and (has_dependencies or has_notes)
    )


def roles_of(pairs: Sequence[str]) -> dict[str, str]:
    """Roles by the names of tiers or markers, from `ROLE=NAME`. Raises: UsageError, there is no
    such role."""
    roles = {}
    for pair in pairs:
        role, equals, name = pair.partition("=")
        if not equals or not name or role not in ROLES:
            raise UsageError(f"--tier {pair}: expected ROLE=NAME, where ROLE is {', '.join(ROLES)}")
        roles[name] = role
    return roles


def upos_of(path: str) -> dict[str, str]:
    """UPOS by a file's own tags, from lines such as `vt VERB`. Raises: ConfigError, it cannot be
    read; DataError."""
    table = {}
    for number, line in enumerate(read_table(path, "table of tags").split("\n"), 1):
        tag, _, upos = line.strip().rpartition("\t" if "\t" in line.strip() else " ")
        if not line.strip() or line.startswith("# "):
            continue
        if upos not in UD2_TAGS or not tag.strip():
            raise DataError(
                path,
                number,
                f"{line.strip()[:40]!r}: expected a tag and its UPOS, such as: vt VERB",
            )
        table[tag.strip()] = upos
    return table
