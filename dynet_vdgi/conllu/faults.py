"""Possible faults in the lines of a CoNLL-U sentence, one by one; used by `reading.read`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache

from dynet_vdgi.conllu import formats
from dynet_vdgi.conllu.extra_columns import COLUMNS, HEADER
from dynet_vdgi.errors import DataError
from dynet_vdgi.system.limits import limit, to_raise

NUMBER = re.compile("0|[1-9][0-9]{0,8}")

TAGGERS = "vdgi tag train, then vdgi tag MODEL FILE or --tagger MODEL"

SPLIT = (
    "vdgi tokenize makes CoNLL-U of it; vdgi parse takes it with --tokeniser and --tagger, "
    "and vdgi train with --raw"
)

MISSING = "write _ for a missing value"

_SPACES_ALLOWED = {2, 3, 10}  # FORM, LEMMA, MISC

_SPACES = re.compile(r"(?:^|(?<=\|))Space(?:sAfter|sBefore|sInToken|After)=[^|\x00\t\n\r ]*")
"""Spaces of the text in MISC; UDPipe writes all there as they are but for a space, a tab and line
ends."""

_FEATS = re.compile(r"[^=|]+=[^=|]+(?:\|[^=|]+=[^=|]+)*")

_RANGE = re.compile("([1-9][0-9]{0,8})-([1-9][0-9]{0,8})")

_EMPTY_NODE = re.compile(r"(0|[1-9][0-9]{0,8})\.([1-9][0-9]{0,8})")

_JOINED = "a byte-order mark; files joined?"

_NEW_SENTENCE = "new sentence without an empty line?"

IGNORE = "VDGI_IGNORE"
"""The environment variable that names columns to read as `_`: feats, or nothing. Worker processes
inherit it."""

_are_feats_ignored = os.environ.get(IGNORE, "") == "feats"  # asked for each sentence


def ignores_feats() -> bool:
    """Whether FEATS is read as `_`, whatever it holds."""
    return _are_feats_ignored


@contextmanager
def ignoring_feats() -> Iterator[None]:
    """A block in which FEATS is read as `_`, and kept as it is in what is written."""
    global _are_feats_ignored
    before = _are_feats_ignored, os.environ.get(IGNORE)
    _are_feats_ignored, os.environ[IGNORE] = True, "feats"
    try:
        yield
    finally:
        _are_feats_ignored, variable = before
        if variable is None:
            del os.environ[IGNORE]
        else:
            os.environ[IGNORE] = variable


_has_option = True

_OPTION = "--ignore-feats reads the column as _ and keeps it as it is"


@contextmanager
def without_feats_option() -> Iterator[None]:
    """A block in which faults of FEATS do not name --ignore-feats, because the command has no such
    option."""
    global _has_option
    before, _has_option = _has_option, False
    try:
        yield
    finally:
        _has_option = before


class FeatsFault(DataError):
    """FEATS of another format: the same fault in each sentence of a file."""


def feats_fault(check: BlockCheck, row: int, value: str) -> DataError:
    """The fault that a value is not `Name=Value|Name=Value`; names the format that it looks
    like."""
    option = _OPTION if _has_option else ""
    expected, message = (
        "expected Name=Value|Name=Value, or _",
        f"FEATS {quoted(value)} is malformed",
    )
    if other_format := formats.feats_format(value):
        return FeatsFault(
            check.name, check.first + row, message, f"{other_format}? {option or expected}"
        )
    return check.fault(row, message, f"{expected}; {option}" if option else expected)


def is_other_format(message: str) -> bool:
    """Whether a fault is that the file is plain text, XML or the like: further faults say nothing
    new."""
    return message.startswith("this is ") and ", not CoNLL-U" in message


class Repair(DataError):
    """A small fault that the reader mends on the way; reported to `on_repair` once per kind and
    file."""


class BlockCheck:
    """Keeps the facts about earlier lines of a block that are needed to judge the next one."""

    def __init__(self, name: str, first: int, extra: Sequence[str] = ()) -> None:
        self.name, self.first = name, first
        self.columns = (*COLUMNS, *extra) if extra else COLUMNS
        self.started = False  # a token line was seen
        self.range_row = self.range_start = self.range_end = 0  # of the last multiword range
        self.empty_nodes = 0  # since the last word
        self.lines: Sequence[str] = ()

    def token_lines(self, lines: Sequence[str]) -> Iterator[tuple[int, list[str], bool]]:
        """Row and columns of each line of a token, and whether it is a word. Raises: DataError, a
        fault.

        The columns are the ten of CoNLL-U, also where more follow.
        """
        n_words, next_id, width = 0, "1", len(self.columns)
        self.lines = lines
        for row, line in enumerate(lines):
            if line[0] == "#":
                self._check_comment(row, line)
                continue
            columns = line.split("\t")
            if len(columns) != width or columns != line.split() or "\0" in line:
                self._check_columns(row, line, columns)
            if width > 10:
                del columns[10:]
            self.started = True
            if columns[0] == next_id:
                n_words += 1
                next_id = str(n_words + 1)
                self.empty_nodes = 0
                yield row, columns, True
            else:
                self._check_other_token(row, columns, n_words)
                yield row, columns, False
        self._check_end(lines, n_words)

    def fault(self, row: int, message: str, hint: str = "") -> DataError:
        return DataError(self.name, self.first + row, message, hint)

    def repair(self, row: int, message: str, hint: str) -> Repair:
        return Repair(self.name, self.first + row, message, hint)

    def _check_comment(self, row: int, line: str) -> None:
        if self.started:
            raise self.fault(row, "comment inside a sentence", "missing empty line before it?")
        self._check_characters(row, line)
        if (header := HEADER.match(line)) and tuple(header[1].split()[:10]) != COLUMNS:
            message = f"this is CoNLL-U Plus with the columns {header[1].strip()[:80]}, not CoNLL-U"
            raise self.fault(row, message, f"convert it to {' '.join(COLUMNS)}")

    def _check_characters(self, row: int, line: str) -> None:
        if "\0" in line:
            raise self.fault(row, "NUL byte", "a damaged or binary file, or UTF-16 text?")
        if "\r" in line:
            raise self.fault(row, "carriage return inside a line", "line ends of an old Macintosh?")

    def _check_columns(self, row: int, line: str, columns: list[str]) -> None:
        """Finds the fault in a line that looks odd; a single space inside FORM, LEMMA or MISC is
        allowed."""
        wanted, n_columns = len(self.columns), len(columns)
        self._check_characters(row, line)
        is_first = self.first == 1 and not self.started
        if is_first and n_columns != wanted:
            self._check_other_format(row)
        if line[0].isspace():
            raise self.fault(row, "white space at the start of the line", "remove it")
        if is_first and n_columns != wanted and row == 0:
            self._check_format(row, line, columns)
        if n_columns != wanted and line[0] not in "0123456789":
            if line.startswith("version https://git-lfs"):
                raise self.fault(
                    row, "a Git LFS pointer instead of the data", "fetch it with: git lfs pull"
                )
            message = f"line starts with {line[0]!r}; expected a token ID, '#' or an empty line"
            hint = _JOINED if line[0] == "\ufeff" else ""
            raise self.fault(row, message, hint)
        if n_columns != wanted:
            hint = ""
            if n_columns < wanted <= len(line.split()):
                hint = "spaces instead of tabs?"
            elif not columns[-1]:
                hint = "tab at the end of the line"
            elif wanted > 10:
                hint = f"{' '.join(self.columns)}, as the comment global.columns says"
            elif n_columns > 10:
                hint = (
                    "extra columns? keep the first 10, "
                    "or name all in a first line `# global.columns = ID ...`"
                )
            raise self.fault(
                row, f"expected {wanted} tab-separated columns, found {n_columns}", hint
            )
        for number, column in enumerate(columns, 1):
            if number > 10 and not column:
                raise self.fault(
                    row, f"column {number} ({self.columns[number - 1]}) is empty", MISSING
                )
            if number == 6 and _are_feats_ignored and column:
                continue
            if number <= 10 and (fault := fault_of_space(number, column)):
                if number == 6 and column and _has_option:
                    fault = fault[0], _OPTION
                raise self.fault(row, *fault)

    def _check_other_format(self, row: int) -> None:
        """Names the format of a file whose first line of a token is this one, if it is another."""
        if other := formats.format_of(self.lines, row):
            raise self.fault(row, f"this is {other.name}, not CoNLL-U", other.remedy)

    def _check_format(self, row: int, line: str, columns: list[str]) -> None:
        """Tells from a file's first line that it is plain text or a table, and no CoNLL-U."""
        if len(columns) == 1 and not (line.startswith("1 ") and len(line.split()) >= 10):
            if not line.startswith(("version https://git-lfs", "\ufeff")):
                raise self.fault(row, "this is plain text, not CoNLL-U", SPLIT)
        elif 1 < len(columns) < 10 and columns[0] != "1":
            message = f"this is a table of {len(columns)} columns, not CoNLL-U with its 10"
            raise self.fault(row, message, formats.TABLE)

    def _check_other_token(self, row: int, columns: list[str], n_words: int) -> None:
        """A line other than the next word: a range, an empty node, or a fault in the numbering."""
        token = columns[0]
        if match := _RANGE.fullmatch(token):
            self._check_range(row, columns, n_words, int(match[1]), int(match[2]))
            self.range_row, self.range_start, self.range_end = row, int(match[1]), int(match[2])
        elif match := _EMPTY_NODE.fullmatch(token):
            self.empty_nodes += 1
            if int(match[1]) != n_words or int(match[2]) != self.empty_nodes:
                hint = f"{n_words}.{self.empty_nodes} was expected"
                raise self.fault(row, f"empty node {token} is out of order", hint)
            if self.range_start > n_words:
                hint = "put it before the range"
                raise self.fault(
                    row, f"empty node {token} is inside a range, before its words", hint
                )
            self._check_unfilled(row, columns, (7, 8), "an empty node")
        elif not NUMBER.fullmatch(token) or token == "0":
            if self.first == 1 and all(line[0] == "#" for line in self.lines[:row]):
                self._check_other_format(row)
            hint = _JOINED if token[0] == "\ufeff" else "expected such as 1, 1-2 or 1.1"
            raise self.fault(row, f"{quoted(token)} is not a valid ID", hint)
        elif token == "1":
            raise self.fault(row, f"ID 1 where {n_words + 1} was expected", _NEW_SENTENCE)
        elif int(token) <= n_words:
            raise self.fault(row, f"ID {token} occurs twice", f"{n_words + 1} was expected")
        else:
            raise self.fault(
                row, f"ID {token} where {n_words + 1} was expected", "is a line missing?"
            )

    def _check_range(
        self, row: int, columns: list[str], n_words: int, start: int, end: int
    ) -> None:
        what = f"multiword range {columns[0]}"
        if end < start:
            raise self.fault(row, f"{what} is reversed", f"{end}-{start}?")
        if start == 1 and n_words:
            raise self.fault(row, f"{what} where word {n_words + 1} was expected", _NEW_SENTENCE)
        if start <= self.range_end:
            raise self.fault(row, f"{what} overlaps the one in line {self.first + self.range_row}")
        if start != n_words + 1:
            hint = f"it belongs before word {start}, the next word is {n_words + 1}"
            raise self.fault(row, f"{what} is out of order", hint)
        numbers = (3, 4, 5, 7, 8, 9) if columns[5] == "Typo=Yes" else range(3, 10)
        self._check_unfilled(row, columns, numbers, "a multiword range")

    def _check_unfilled(
        self, row: int, columns: list[str], numbers: Iterable[int], owner: str
    ) -> None:
        for number in numbers:
            if columns[number - 1] != "_":
                message = f"column {number} ({COLUMNS[number - 1]}) of {owner} is filled"
                raise self.fault(row, message, "write _ there")

    def _check_end(self, lines: Sequence[str], n_words: int) -> None:
        if n_words > limit("words"):
            raise self.fault(0, f"a sentence of {n_words} words", to_raise("words", n_words))
        if not self.started:
            raise self.fault(
                0, "comments without a sentence", "remove them, or the empty line after them"
            )
        if not n_words:
            row = next(row for row, line in enumerate(lines) if line[0] != "#")
            raise self.fault(row, "sentence without words", "only ranges or empty nodes")
        if self.range_end > n_words:
            message = (
                f"multiword range ends at word {self.range_end}, after the last word ({n_words})"
            )
            raise self.fault(self.range_row, message)


def fault_of_space(number: int, column: str) -> tuple[str, str] | None:
    """What is wrong with the white space of a column, with a hint; None: nothing."""
    place = f"column {number} ({COLUMNS[number - 1]})"
    if not column:
        return f"{place} is empty", MISSING
    without_notes = _SPACES.sub("", column) if number == 10 else column
    if has_stray_space(without_notes) or (
        number not in _SPACES_ALLOWED and any(map(str.isspace, column))
    ):
        return f"stray white space in {place}: {quoted(column)}", ""
    return None


@lru_cache(maxsize=1 << 16)
def fault_of_value(number: int, value: str) -> str:
    """Why the reader would refuse a text as this column of a word: 2 to 6, or 8; "": it would
    not."""
    place = f"column {number} ({COLUMNS[number - 1]})"
    if fault := fault_of_text(value):
        return f"{place}: {fault}"
    if any(character in value for character in "\t\n\r\0"):
        return f"{place} cannot hold a tab, a line end or NUL: {quoted(value)}"
    if space_fault := fault_of_space(number, value):
        return space_fault[0]
    return f"{place}: {quoted(value)} is malformed" if number == 6 and not is_feats(value) else ""


def fault_of_text(value: object) -> str:
    """Why a value is not a text that a file can hold; "": it is."""
    if not isinstance(value, str):
        return f"{value!r:.40} is no text; '_' stands for nothing known"
    try:
        value.encode()
    except UnicodeEncodeError:
        return f"{quoted(value)} has half a character (a lone surrogate)"
    return ""


@lru_cache(maxsize=4096)
def is_feats(column: str) -> bool:
    """Whether a text is `_` or Name=Value|Name=Value."""
    return column == "_" or _FEATS.fullmatch(column) is not None


def has_stray_space(column: str) -> bool:
    """Whether there is white space at an end, or two spaces in a row."""
    return column != column.strip() or "  " in column


def quoted(text: str) -> str:
    """The text in quotation marks, at most 20 characters of it."""
    return repr(text if len(text) <= 20 else text[:20] + "...")
