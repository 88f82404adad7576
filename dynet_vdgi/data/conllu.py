"""Reading CoNLL-U strictly and giving it back byte by byte, with new heads.

The format is that of Universal Dependencies, https://universaldependencies.org/format.html; here only its
form is checked, and the basic tree, not the tag and relation inventories. The `conllu` library reads the same
files but takes many faults in silence (wrong column counts, heads outside the sentence, cycles, two sentences
run together); this reader stands in front of it, names file and line, and `token_list` hands over to it.
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TextIO

from dynet_vdgi.data.files import AnyPath, open_text, shown
from dynet_vdgi.data.sentence import Sentence, Source
from dynet_vdgi.errors import DataError

if TYPE_CHECKING:
    import conllu

Heads = Literal["optional", "required", "ignored"]
OnFault = Callable[[DataError], None]

TAG_COLUMNS = ("upos", "xpos")
COLUMNS = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
MAX_LINES = 100_000  # in one sentence; bounds the memory spent on a file that is not CoNLL-U

_LOGGER = logging.getLogger("dynet_vdgi")
_SPACES_ALLOWED = {2, 3, 10}  # FORM, LEMMA, MISC
_NUMBER = re.compile("0|[1-9][0-9]{0,8}")
_RANGE = re.compile("([1-9][0-9]{0,8})-([1-9][0-9]{0,8})")
_EMPTY_NODE = re.compile(r"(0|[1-9][0-9]{0,8})\.([1-9][0-9]{0,8})")
_FEATS = re.compile(r"[^=|]+=[^=|]+(?:\|[^=|]+=[^=|]+)*")
_SMALL_NUMBERS = {str(number): number for number in range(512)}
_JOINED = "a byte-order mark; files joined?"
_NEW_SENTENCE = "new sentence without an empty line?"


class Repair(DataError):
    """A small fault that the reader mends on the way; told to `on_repair` once per kind and file."""


def read(
    path: AnyPath,
    *,
    heads: Heads = "optional",
    tags: str = "upos",
    on_error: OnFault | None = None,
    on_repair: OnFault | None = None,
) -> Iterator[Sentence]:
    """The sentences of a CoNLL-U file, one after the other; memory does not grow with the file.

    `path` may end in `.gz` or be `-` (standard input). Each sentence keeps its lines in `source`.
    `heads` says what column 7 must hold:

    * "optional": a valid tree with one root, or `_` for all words of a sentence (its `heads` are None then);
    * "required": a valid tree with one root;
    * "ignored": anything but nothing; `heads` are None.

    `tags` says which column the sentences' tags are from, "upos" or "xpos"; it must be filled. UPOS must be
    in any case, since it tells what is punctuation; where tags are from XPOS, it is the sentences' `upos`.

    With `on_error`, faults are told to it instead of raised: a faulty sentence is skipped, and at most one
    fault per sentence is told; a file that cannot be read to its end is told as well and ends the reading.
    Windows line ends, a byte-order mark, needless, missing or blank-filled empty lines and a missing last
    line end are mended and told to `on_repair` (default: a warning of the logger "dynet_vdgi").

    Raises: `DataError`, with line number, for the first fault in form; also for a file without sentences.
    """
    if heads not in ("optional", "required", "ignored"):
        raise ValueError(f"heads={heads!r}; expected 'optional', 'required' or 'ignored'")
    if tags not in TAG_COLUMNS:
        raise ValueError(f"tags={tags!r}; expected 'upos' or 'xpos'")
    return _read(path, heads, tags, on_error, on_repair or _warn)


def _warn(repair: DataError) -> None:
    _LOGGER.warning("%s", repair)


def _read(
    path: AnyPath, heads: Heads, tags: str, on_error: OnFault | None, on_repair: OnFault
) -> Iterator[Sentence]:
    for item in _items(path, heads, tags):
        if isinstance(item, Sentence):
            yield item
        elif isinstance(item, Repair):
            on_repair(item)
        elif on_error is not None:
            on_error(item)
        else:
            raise item


class Block(NamedTuple):
    """The lines of one sentence, without line ends, before anything is checked."""

    path: str
    line: int  # number of its first line in the file
    lines: list[str]


def blocks(path: AnyPath, on_repair: OnFault | None = None) -> Iterator[Block]:
    """The sentences of a file as unchecked blocks, for `sentence_of`, perhaps in another process.

    Raises: `DataError` where the file cannot be read, and for a file without sentences.
    """
    for item in _raw_items(path):
        if isinstance(item, Block):
            yield item
        elif isinstance(item, Repair):
            (on_repair or _warn)(item)
        else:
            raise item


def sentence_of(block: Block, heads: Heads = "optional", tags: str = "upos") -> Sentence:
    """The checked sentence of a block; `heads` and `tags` as in `read`. Raises: `DataError` for a fault."""
    return _sentence(block.path, block.line, block.lines, heads, tags)


def _items(path: AnyPath, heads: Heads, tags: str) -> Iterator[Sentence | DataError]:
    """Sentences, faults and repairs in file order, as objects, so that callbacks run outside any `try`."""
    for item in _raw_items(path):
        if not isinstance(item, Block):
            yield item
            continue
        try:
            sentence = sentence_of(item, heads, tags)
        except DataError as error:
            yield error
        else:
            yield sentence


def _raw_items(path: AnyPath) -> Iterator[Block | DataError]:
    """Blocks, faults of the file and repairs, in file order."""
    name = shown(path)
    hint = "file is empty; a Git LFS or partial checkout?"
    try:
        with open_text(path) as handle:
            for item in _blocks(handle, name):
                if isinstance(item, Repair):
                    hint = hint and "the file holds only empty lines"
                    yield item
                    continue
                hint = ""
                yield Block(name, *item)
    except DataError as error:
        yield error
    else:
        if hint:
            yield DataError(name, None, "no sentences", hint)


def _blocks(handle: TextIO, name: str) -> Iterator[Repair | tuple[int, list[str]]]:
    """First line number and lines (without ends) of each block between empty lines; repairs in between."""
    told: set[str] = set()

    def repair(line: int, message: str, hint: str) -> Iterator[Repair]:
        if message not in told:
            told.add(message)
            yield Repair(name, line, message, hint)

    lines: list[str] = []
    first = number = 0
    ended = True
    for number, line in enumerate(handle, 1):
        if line[-1] != "\n":
            ended = False
            yield from repair(number, "no line end after the last line", "added")
        elif line.endswith("\r\n"):
            line = line[:-2]
            yield from repair(number, "Windows line end (CRLF)", "read as LF, here and below")
        else:
            line = line[:-1]
        if number == 1 and line.startswith("\ufeff"):
            line = line[1:]
            yield from repair(number, "byte-order mark", "removed")
        if line and not line.isspace():
            if not lines:
                first = number
            if len(lines) <= MAX_LINES:
                lines.append(line)
                if len(lines) > MAX_LINES:  # certainly a fault: tell it now, then skip to the next empty line
                    yield first, lines
            continue
        if not lines:
            yield from repair(number, "needless empty line", "skipped, here and below")
        elif line:
            yield from repair(number, "white space in an empty line", "removed, here and below")
        if 0 < len(lines) <= MAX_LINES:
            yield first, lines
        lines = []
    if 0 < len(lines) <= MAX_LINES:
        if ended:
            yield from repair(number, "no empty line after the last sentence", "added")
        yield first, lines


def _sentence(name: str, first: int, lines: list[str], policy: Heads, tag_column: str) -> Sentence:
    """The checked sentence of one block."""
    block = _BlockState(name, first)
    forms: list[str] = []
    upos: list[str] = []
    xpos: list[str] = []
    heads: list[str] = []
    rows: list[int] = []
    next_id = "1"
    for row, line in enumerate(lines):
        if line[0] == "#":
            block.check_comment(row, line)
            continue
        columns = line.split("\t")
        if len(columns) != 10 or columns != line.split() or "\0" in line:
            block.check_columns(row, line, columns)
        if columns[5] != "_" and not _is_feats(columns[5]):
            hint = "expected Name=Value|Name=Value, or _"
            raise block.fault(row, f"FEATS {_quoted(columns[5])} is malformed", hint)
        block.started = True
        if columns[0] != next_id:
            block.check_other_token(row, columns, len(rows))
            continue
        if columns[3] == "_":
            hint = "part-of-speech tags are needed: tag the text first"
            raise block.fault(row, "column 4 (UPOS) is missing", hint)
        forms.append(columns[1])
        upos.append(sys.intern(columns[3]))
        if tag_column == "xpos":
            if columns[4] == "_":
                hint = "tags are taken from there: fill it, or set data.tags=upos"
                raise block.fault(row, "column 5 (XPOS) is missing", hint)
            xpos.append(sys.intern(columns[4]))
        heads.append(columns[6])
        rows.append(row)
        next_id = str(len(rows) + 1)
        block.empty_nodes = 0
    block.check_end(lines, len(rows))
    tree = None if policy == "ignored" else _tree(block, heads, rows, policy)
    source = Source(name, first, tuple(lines), tuple(rows))
    if tag_column == "xpos":
        return Sentence(tuple(forms), tuple(xpos), tree, source, tuple(upos))
    return Sentence(tuple(forms), tuple(upos), tree, source)


class _BlockState:
    """What must be remembered between the lines of a block to judge the next one."""

    def __init__(self, name: str, first: int) -> None:
        self.name, self.first = name, first
        self.started = False  # a token line was seen
        self.range_row = self.range_end = 0  # of the last multiword range
        self.empty_nodes = 0  # since the last word

    def fault(self, row: int, message: str, hint: str = "") -> DataError:
        return DataError(self.name, self.first + row, message, hint)

    def check_comment(self, row: int, line: str) -> None:
        if self.started:
            raise self.fault(row, "comment inside a sentence", "missing empty line before it?")
        self._check_characters(row, line)

    def _check_characters(self, row: int, line: str) -> None:
        if "\0" in line:
            raise self.fault(row, "NUL byte", "a damaged or binary file, or UTF-16 text?")
        if "\r" in line:
            raise self.fault(row, "carriage return inside a line", "line ends of an old Macintosh?")

    def check_columns(self, row: int, line: str, columns: list[str]) -> None:
        """Finds the fault in a line that looks odd; a single space inside FORM, LEMMA or MISC is none."""
        self._check_characters(row, line)
        if line[0].isspace():
            raise self.fault(row, "white space at the start of the line", "remove it")
        n_columns = len(columns)
        if n_columns != 10 and line[0] not in "0123456789":
            if line.startswith("version https://git-lfs"):
                raise self.fault(row, "a Git LFS pointer instead of the data", "fetch it with: git lfs pull")
            message = f"line starts with {line[0]!r}; expected a token ID, '#' or an empty line"
            hint = _JOINED if line[0] == "\ufeff" else ""
            raise self.fault(row, message, hint)
        if n_columns != 10:
            hint = ""
            if n_columns < 10 <= len(line.split()):
                hint = "spaces instead of tabs?"
            elif not columns[-1]:
                hint = "tab at the end of the line"
            elif n_columns > 10:
                hint = "extra columns? keep the first 10"
            raise self.fault(row, f"expected 10 tab-separated columns, found {n_columns}", hint)
        for number, column in enumerate(columns, 1):
            place = f"column {number} ({COLUMNS[number - 1]})"
            if not column:
                raise self.fault(row, f"{place} is empty", "write _ for a missing value")
            if _has_stray_space(column) or (
                number not in _SPACES_ALLOWED and any(character.isspace() for character in column)
            ):
                raise self.fault(row, f"stray white space in {place}: {_quoted(column)}")

    def check_other_token(self, row: int, columns: list[str], n_words: int) -> None:
        """A line that is not the next word: a range, an empty node, or a fault in the numbering."""
        token = columns[0]
        if match := _RANGE.fullmatch(token):
            self._check_range(row, columns, n_words, int(match[1]), int(match[2]))
            self.range_row, self.range_end = row, int(match[2])
        elif match := _EMPTY_NODE.fullmatch(token):
            self.empty_nodes += 1
            if int(match[1]) != n_words or int(match[2]) != self.empty_nodes:
                hint = f"{n_words}.{self.empty_nodes} was expected"
                raise self.fault(row, f"empty node {token} is out of order", hint)
            self._check_unfilled(row, columns, (7, 8), "an empty node")
        elif not _NUMBER.fullmatch(token) or token == "0":
            hint = "expected such as 1, 1-2 or 1.1"
            if token[0] == "\ufeff":
                hint = _JOINED
            raise self.fault(row, f"{_quoted(token)} is not a valid ID", hint)
        elif token == "1":
            raise self.fault(row, f"ID 1 where {n_words + 1} was expected", _NEW_SENTENCE)
        elif int(token) <= n_words:
            raise self.fault(row, f"ID {token} occurs twice", f"{n_words + 1} was expected")
        else:
            raise self.fault(row, f"ID {token} where {n_words + 1} was expected", "is a line missing?")

    def _check_range(self, row: int, columns: list[str], n_words: int, start: int, end: int) -> None:
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

    def _check_unfilled(self, row: int, columns: list[str], numbers: Iterable[int], owner: str) -> None:
        for number in numbers:
            if columns[number - 1] != "_":
                message = f"column {number} ({COLUMNS[number - 1]}) of {owner} is filled"
                raise self.fault(row, message, "write _ there")

    def check_end(self, lines: list[str], n_words: int) -> None:
        if len(lines) > MAX_LINES:
            raise self.fault(0, f"no empty line in {MAX_LINES} lines", "not a CoNLL-U file?")
        if not self.started:
            raise self.fault(0, "comments without a sentence", "remove them, or the empty line after them")
        if not n_words:
            row = next(row for row, line in enumerate(lines) if line[0] != "#")
            raise self.fault(row, "sentence without words", "only ranges or empty nodes")
        if self.range_end > n_words:
            message = f"multiword range ends at word {self.range_end}, after the last word ({n_words})"
            raise self.fault(self.range_row, message)


def _tree(block: _BlockState, texts: list[str], rows: list[int], policy: Heads) -> tuple[int, ...] | None:
    """The heads if they form a tree with one root; None where they are all missing and may be."""
    n_words = len(texts)
    if "_" in texts:
        row = rows[texts.index("_")]
        if policy == "required":
            raise block.fault(row, "column 7 (HEAD) is missing", "a treebank with heads is needed here")
        if texts.count("_") < n_words:
            hint = "give all words a head, or none"
            raise block.fault(row, "column 7 (HEAD) is missing, but others have one", hint)
        return None
    heads = []
    for word, text in enumerate(texts, 1):
        head = _SMALL_NUMBERS.get(text, -1)
        if head < 0:
            if not _NUMBER.fullmatch(text):
                hint = f"expected 0 (root) or 1..{n_words}"
                raise block.fault(rows[word - 1], f"HEAD {_quoted(text)} is not a valid number", hint)
            head = int(text)
        if head > n_words:
            raise block.fault(rows[word - 1], f"HEAD {head} is outside the sentence (1..{n_words})")
        if head == word:
            raise block.fault(rows[word - 1], f"word {word} is its own head")
        heads.append(head)
    n_roots = heads.count(0)
    if n_roots == 0:
        raise block.fault(rows[0], "no root", "exactly one word must have HEAD 0")
    if n_roots > 1:
        roots = [word for word, head in enumerate(heads, 1) if head == 0]
        message = f"{n_roots} roots: words {_listed(roots)}"
        raise block.fault(rows[roots[1] - 1], message, "exactly one word must have HEAD 0")
    if cycle := _cycle(heads):
        raise block.fault(rows[cycle[0] - 1], f"cycle of heads through words {_listed(cycle)}")
    return tuple(heads)


def _cycle(heads: Sequence[int]) -> list[int]:
    """The words of a cycle, sorted; empty when every word leads to the root. O(n)."""
    visit = [-1] + [0] * len(heads)  # the word from which the climb came by, -1 for the root
    for start in range(1, len(heads) + 1):
        word = start
        while not visit[word]:
            visit[word] = start
            word = heads[word - 1]
        if visit[word] == start:
            cycle = [word]
            while heads[cycle[-1] - 1] != word:
                cycle.append(heads[cycle[-1] - 1])
            return sorted(cycle)
    return []


@lru_cache(maxsize=4096)
def _is_feats(column: str) -> bool:
    return _FEATS.fullmatch(column) is not None


def _has_stray_space(column: str) -> bool:
    return column != column.strip() or "  " in column


def _quoted(text: str) -> str:
    return repr(text if len(text) <= 20 else text[:20] + "...")


def _listed(words: Sequence[int]) -> str:
    return ", ".join(str(word) for word in words[:8]) + (", ..." if len(words) > 8 else "")


def render(sentence: Sentence, heads: Sequence[int], deprels: Sequence[str] | None = None) -> str:
    """The sentence's block with new HEAD and DEPREL columns, up to and including the empty line.

    Comments, ranges, empty nodes and all other columns are kept as they were read. A sentence without source
    gets the columns ID, FORM, UPOS (and XPOS if it has both), HEAD and DEPREL only. `deprels` are by default
    `root` for the word whose head is 0 and `dep` for the others.

    Raises: `ValueError` when `heads` or `deprels` do not fit the sentence, or a form or tag made by a program
    cannot be written in CoNLL-U.

    >>> print(render(Sentence(("dogs", "bark"), ("NOUN", "VERB")), [2, 0]).replace("\\t", " ").strip())
    1 dogs _ NOUN _ _ 2 dep _ _
    2 bark _ VERB _ _ 0 root _ _
    """
    n_words = len(sentence)
    if len(heads) != n_words or any(not 0 <= head <= n_words for head in heads):
        raise ValueError(f"heads {list(heads)} do not fit a sentence of {n_words} words")
    if deprels is None:
        deprels = ["dep" if head else "root" for head in heads]
    elif len(deprels) != n_words:
        raise ValueError(f"{len(deprels)} relations for a sentence of {n_words} words")
    return _text(sentence, [str(head) for head in heads], deprels)


def _text(sentence: Sentence, heads: Sequence[str], deprels: Sequence[str]) -> str:
    source = sentence.source or _minimal_source(sentence)
    lines = list(source.lines)
    for row, head, deprel in zip(source.rows, heads, deprels):
        columns = lines[row].split("\t", 8)
        columns[6], columns[7] = head, deprel
        lines[row] = "\t".join(columns)
    return "\n".join(lines) + "\n\n"


def _minimal_source(sentence: Sentence) -> Source:
    if not sentence.forms:
        raise ValueError("a sentence without words cannot be written")
    for form in sentence.forms:
        if not form or _has_stray_space(form) or any(character in form for character in "\t\n\r\0"):
            raise ValueError(f"form {form!r} cannot be written in CoNLL-U")
    for tag in (*sentence.tags, *sentence.upos):
        if tag in ("", "_") or "\0" in tag or any(character.isspace() for character in tag):
            raise ValueError(f"tag {tag!r} cannot be written in CoNLL-U")
    columns = zip(
        sentence.forms,
        sentence.upos or sentence.tags,
        sentence.tags if sentence.upos else "_" * len(sentence),
    )
    lines = [
        f"{number}\t{form}\t_\t{upos}\t{xpos}\t_\t_\t_\t_\t_"
        for number, (form, upos, xpos) in enumerate(columns, 1)
    ]
    return Source("", 1, tuple(lines), tuple(range(len(lines))))


def with_notes(sentence: Sentence, comments: Sequence[str] = (), misc: Sequence[str] = ()) -> Sentence:
    """The sentence with comment lines (`# key = value`) added on top and, for each word, one `Key=Value`
    (or "" for none) added to MISC, in place of one with the same key.
    """
    source = sentence.source or _minimal_source(sentence)
    lines = list(source.lines)
    for row, note in zip(source.rows, misc):
        if note:
            columns = lines[row].split("\t")
            key = note.partition("=")[0] + "="
            others = [part for part in columns[9].split("|") if part != "_" and not part.startswith(key)]
            columns[9] = "|".join([*others, note])
            lines[row] = "\t".join(columns)
    moved = tuple(row + len(comments) for row in source.rows)
    return replace(sentence, source=replace(source, lines=(*comments, *lines), rows=moved))


def write(pairs: Iterable[tuple[Sentence, Sequence[int]]], handle: TextIO) -> int:
    """Writes sentences with these heads (see `render`) and says how many there were."""
    count = 0
    for sentence, heads in pairs:
        handle.write(render(sentence, heads))
        count += 1
    return count


def token_list(sentence: Sentence) -> conllu.TokenList:
    """The sentence as an object of the `conllu` library, whose `serialize()` gives the text back.

    ID and HEAD are parsed; FEATS, DEPS and MISC stay text, since that library loses parts of them. It keeps
    comments as a dictionary, so of two comments with one key the last stays.
    """
    from conllu import parse_token_and_metadata

    if sentence.source is not None:
        text = "\n".join(sentence.source.lines)
    elif sentence.heads is not None:
        text = render(sentence, sentence.heads)
    else:
        text = _text(sentence, "_" * len(sentence), "_" * len(sentence))
    parsers: dict[str, Callable[[list[str], int], Any]] = dict.fromkeys(("feats", "deps", "misc"), _unparsed)
    parsers["head"] = _head
    return parse_token_and_metadata(text, field_parsers=parsers, metadata_parsers={"__fallback__": _pair})


def _unparsed(columns: list[str], index: int) -> str:
    return columns[index]


def _head(columns: list[str], index: int) -> int | str | None:
    """The number where it is one; reading with `heads="ignored"` lets anything else through."""
    text = columns[index]
    if _NUMBER.fullmatch(text):
        return int(text)
    return None if text == "_" else text


def _pair(key: str, value: str | None) -> tuple[str, str | None]:
    return key, value
