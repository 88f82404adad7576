"""Tables with a word on each line: CoNLL-X, CoNLL-2003, CoNLL-2009, Malt-TAB, tables of any
columns, CSV."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from dynet_vdgi.conllu.faults import quoted
from dynet_vdgi.converters.interlinear import GlossedWord, Losses, Utterance
from dynet_vdgi.converters.sources import ForeignFile
from dynet_vdgi.errors import DataError, UsageError

IGNORED = "_"

LAYOUTS = {
    "conll-x": "id form lemma tag xpos feats head deprel phead pdeprel",
    "conll-2003": "form tag chunk ner",
    "conll-2009": (
        "id form lemma plemma tag ppos feats pfeat head phead deprel pdeprel fillpred pred"
    ),
    "malt-tab": "form tag head deprel",
}
"""The columns of each format."""

LEAST_OF_X = 8
"""Columns of CoNLL-X without PHEAD and PDEPREL, as MaltParser writes it."""

_KEYS = {
    "phead": "PHead",
    "pdeprel": "PDeprel",
    "chunk": "Chunk",
    "ner": "NER",
    "plemma": "PLemma",
    "ppos": "PPos",
    "pfeat": "PFeats",
    "fillpred": "FillPred",
    "pred": "Pred",
    "gloss": "Gloss",
    "misc": "Note",
    "mseg": "MSeg",
    "mgloss": "MGloss",
}
"""Keys in MISC of columns that CoNLL-U does not have."""

_FIELDS = ("form", "lemma", "tag", "xpos", "feats", "head", "deprel")

COLUMNS = (*_FIELDS, "id", "sentence", "document", *_KEYS, IGNORED)
"""What a column can hold."""

_HEADERS = {
    "word": "form",
    "token": "form",
    "wordform": "form",
    "text": "form",
    "upos": "tag",
    "pos": "tag",
    "cpostag": "tag",
    "postag": "xpos",
    "feat": "feats",
    "features": "feats",
    "morph": "feats",
    "relation": "deprel",
    "rel": "deprel",
    "dep": "deprel",
    "sent": "sentence",
    "sent_id": "sentence",
    "sentence_id": "sentence",
    "sentence #": "sentence",
    "doc": "document",
    "doc_id": "document",
    "glosses": "gloss",
    "translation": "gloss",
}
"""Other headings of CSV files for these columns."""

DOCSTART = "-DOCSTART-"

_COMMENT = re.compile(r"#\s*(?:(\S+)\s*[=:]\s*)?(.*)")

_NUMBER = re.compile("[0-9]{1,9}")

_NOT_HELD = {"head", "deprel", "feats", "lemma", "tag", "xpos"}


class TableLine(NamedTuple):
    """A line's cells, with its number; without cells, the end of a sentence."""

    line: int
    cells: Sequence[str]


def read(
    source: ForeignFile, losses: Losses, layout: Sequence[str], blanks: bool
) -> Iterator[Utterance]:
    """The sentences of a table; layout: what its columns hold. blanks: they are divided by blanks,
    not tabs.

    Raises: DataError, with the line: another number of columns, an ID or a head that is no number.
    """
    comments: list[tuple[str, str]] = []
    document: str | None = None
    rows: list[TableLine] = []
    for number, line in enumerate([*source.lines, ""], 1):
        cells = line.split() if blanks else line.split("\t")
        if len(cells) == len(layout) + 1 and not cells[-1]:  # a tab at the end
            cells.pop()
        elif len(cells) == LEAST_OF_X and layout[-2:] == ["phead", "pdeprel"]:
            cells += ["_", "_"]
        if line.startswith("#") and "id" in layout and not rows and not _NUMBER.match(cells[0]):
            match = _COMMENT.match(line)
            comments.append((match[1] or "comment", match[2]) if match else ("comment", line))
        elif line.split()[:1] == [DOCSTART]:
            document = ""
        elif line.strip():
            rows.append(TableLine(number, cells))
        elif rows:
            utterance = _utterance(source.name, rows, layout, losses)
            utterance.document, document = document, None
            _add_comments(utterance, comments)
            yield utterance
            comments, rows = [], []


def _add_comments(utterance: Utterance, comments: Iterable[tuple[str, str]]) -> None:
    """Takes the sentence's name from its comments, and keeps the others."""
    for key, value in comments:
        if key in ("sent_id", "sentid"):
            utterance.name = value
        elif key != "text":
            utterance.comments.append((key, value))


def _utterance(
    name: str, rows: Sequence[TableLine], layout: Sequence[str], losses: Losses
) -> Utterance:
    words = []
    numbers = ["" for _ in rows]
    for n, (line, cells) in enumerate(rows):
        least = len(layout)
        if "pred" in layout and len(cells) > least:
            extra = cells[least:]
        elif len(cells) != least:
            message = (
                f"{len(cells)} columns where {least} were expected: {' '.join(layout).upper()}"
            )
            raise DataError(
                name, line, message, "--from FORMAT or --columns NAME,NAME says what the file holds"
            )
        else:
            extra = []
        held = {column: cell.strip() or "_" for column, cell in zip(layout, cells)}
        numbers[n] = held.get("id", str(n + 1))
        words.append(_word(held, line, extra, losses))
    _check_numbers(name, rows, numbers)
    for row, word in zip(rows, words):
        if word.head != "_" and not _NUMBER.fullmatch(word.head):
            raise DataError(
                name, row.line, f"HEAD {quoted(word.head)} is no number", "expected 0, 1, ... or _"
            )
    utterance = Utterance(words, rows[0].line)
    check_tree(utterance, losses)
    return utterance


def _word(held: Mapping[str, str], line: int, extra: Sequence[str], losses: Losses) -> GlossedWord:
    form, lemma, tag, xpos, feats, head, deprel = [held.get(column, "_") for column in _FIELDS]
    word = GlossedWord(form, lemma, tag, xpos, feats, head, deprel, line=line)
    word.notes = [
        (key, held[column]) for column, key in _KEYS.items() if held.get(column, "_") != "_"
    ]
    word.notes += [(f"APred{n}", cell) for n, cell in enumerate(extra, 1) if cell not in ("_", "")]
    if word.form == "_" and not any(held.get(column, "_") != "_" for column in _NOT_HELD):
        losses.add("words without a form", line)
    return word


def _check_numbers(name: str, rows: Sequence[TableLine], numbers: Sequence[str]) -> None:
    """Raises: DataError, words are not numbered 1, 2, ..."""
    for n, (row, number) in enumerate(zip(rows, numbers), 1):
        if number != str(n):
            what = (
                "ranges and empty nodes are CoNLL-U's"
                if re.search("[0-9][-.]", number)
                else "a line is missing?"
            )
            raise DataError(name, row.line, f"ID {quoted(number)} where {n} was expected", what)


def check_tree(utterance: Utterance, losses: Losses) -> None:
    """Counts heads that form no tree; they stay as they are."""
    heads = [int(word.head) for word in utterance.words if word.head != "_"]
    if not heads:
        return
    n_roots = heads.count(0)
    if len(heads) == len(utterance.words) and n_roots != 1:
        what = "several roots" if n_roots else "no root"
        losses.add(
            f"sentences with {what}: kept (vdgi check lists them, vdgi annotate mends them)",
            utterance.line,
        )
    if max(heads) > len(utterance.words):
        losses.add("heads outside their sentence: kept (vdgi check lists them)", utterance.line)


def read_csv(
    source: ForeignFile, losses: Losses, layout: Sequence[str], delimiter: str
) -> Iterator[Utterance]:
    """The sentences of a CSV file; without a layout, its first row has the names of the columns.

    A sentence ends at an empty row, where the column `sentence` changes, or where `id` is 1 again.

    Raises: DataError, with the line: no column of forms, a broken row.
    """
    reader = csv.reader(source.text.split("\n"), delimiter=delimiter, strict=True)
    rows: list[TableLine] = []
    last, document = ("", ""), ""
    new_document: str | None = None
    try:
        for cells in reader:
            cells = [cell.strip() for cell in cells]
            if not layout:
                layout = _layout_of(source.name, reader.line_num, cells, losses)
                continue
            held = dict(zip(layout, cells))
            mark = held.get("sentence", ""), held.get("document", "")
            is_new = held.get("id") == "1" or (mark != last and mark != ("", ""))
            if rows and (is_new or not any(cells)):
                yield _of_csv(source.name, rows, layout, losses, new_document)
                rows, new_document = [], None
            if any(cells):
                if mark[1] not in ("", document):
                    document = new_document = mark[1]
                last = mark if mark != ("", "") else last
                rows.append(TableLine(reader.line_num, cells))
    except csv.Error as error:
        raise DataError(
            source.name, reader.line_num, f"this is no sound CSV: {error}", "a quotation mark?"
        ) from None
    if rows:
        yield _of_csv(source.name, rows, layout, losses, new_document)


def _of_csv(
    name: str,
    rows: Sequence[TableLine],
    layout: Sequence[str],
    losses: Losses,
    document: str | None,
) -> Utterance:
    utterance = _utterance(name, rows, layout, losses)
    held = dict(zip(layout, rows[0].cells))
    utterance.name, utterance.document = held.get("sentence", ""), document
    return utterance


def _layout_of(name: str, line: int, cells: Sequence[str], losses: Losses) -> list[str]:
    """The columns by the headings of a table."""
    layout = []
    for cell in cells:
        plain = cell.strip().lower()
        column = plain if plain in COLUMNS else _HEADERS.get(plain, IGNORED)
        if column == "tag" and "tag" in layout:
            column = "xpos"
        if column in layout and column != IGNORED:
            column = IGNORED
        if column == IGNORED:
            losses.add(
                "columns whose heading says nothing: left out (--columns names them)",
                line,
                repr(cell),
            )
        layout.append(column)
    if "form" not in layout:
        hint = f"name the columns: --columns form,tag (there are {', '.join(COLUMNS)})"
        raise DataError(name, line, "no column of words among the headings", hint)
    return layout


def is_heading(line: str, delimiter: str) -> bool:
    """Whether a line has the headings of a table with words."""
    cells = [cell.strip().strip('"').lower() for cell in line.split(delimiter)]
    columns = {_HEADERS.get(cell, cell) for cell in cells}
    is_text = not any(cell.isdigit() for cell in cells)
    return is_text and "form" in columns and len(columns & {*COLUMNS}) > 1


def layout_of(columns: str) -> list[str]:
    """The layout that `--columns` names. Raises: UsageError, there is no such column, or none of
    words."""
    layout = [column.strip().lower() for column in columns.split(",")]
    for column in layout:
        if column not in COLUMNS:
            raise UsageError(
                f"--columns {columns}: no column {column!r} (there are {', '.join(COLUMNS)})"
            )
        if column != IGNORED and layout.count(column) > 1:
            raise UsageError(f"--columns {columns}: {column} is there twice")
    if "form" not in layout:
        raise UsageError(f"--columns {columns}: form, the column of the words, is missing")
    return layout
