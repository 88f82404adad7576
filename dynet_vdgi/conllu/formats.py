"""Other formats that are taken for CoNLL-U: what a file's first lines, or a value of FEATS, look
like."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

BY_HAND = "put words into column 2 (FORM) and their tags into column 4 (UPOS)"

TABLE = f"{BY_HAND}, or name the columns: vdgi convert --columns form,tag,..."

CONVERT = "vdgi convert makes CoNLL-U of it"

_NAMED = (
    "if you name its columns, vdgi convert --columns form,tag,... makes CoNLL-U of it, "
    "with _ for a column left out"
)

_FROM_XML = "save its text as plain text, or convert it to CoNLL-U first"

_COLUMN_WISE = f"{BY_HAND}, a word a line, with tabs between the ten columns"

_SFM = re.compile(r"\\[a-zA-Z_][\w+-]*(?:\s|$)")

_MARKERS = "id ref tx t mb m ge g ps ft f lx"

_OF_TOOLBOX = frozenset(rf"\{marker}" for marker in _MARKERS.split())
"""Markers that every file of Toolbox has some of."""

_CHUNK = re.compile(r"O|[BIESLUM]-[\w:.-]+")

_NUMBER = re.compile(r"-?[0-9]+")

_NAMES = "id|form|word|token|lemma|upos|pos|tag|head|deprel|feats"

_HEADING = re.compile(rf"(?:^|[,;])\s*\"?(?:{_NAMES})\"?\s*(?=[,;]|$)", re.I)

_WORDS = re.compile(r"(?:^|,)\s*\"?(?:form|word|token)\"?\s*(?:,|$)", re.I)

_WORD_TAG = re.compile(r"\S+[/_](?:[A-Z][A-Z0-9$*:+-]*|[.,:;!?'`\"()-]+)")

_FEATS_OF = (
    ("PROIEL", re.compile(r"[A-Z]{4}[a-z0-9-]+(?:\|[A-Z]{4}[a-z0-9-]+)*")),
    ("UniMorph", re.compile(r"[^=|;]+(?:;[^=|;]+)+")),
    ("CoNLL-X", re.compile(r"[^=|]+(?:\|[^=|]+)*")),
    ("CoNLL-X", re.compile(r"_\|.+")),
    ("a feature without a value", re.compile(r"(?:[^=|]+=[^=|]*(?:\||$))+(?<!\|)")),
)


class OtherFormat(NamedTuple):
    """The name of a format, with its article, and what to do."""

    name: str
    remedy: str


_XML = (  # what stands near the beginning, and what it is
    (
        re.compile(r"<interlinear-text\b|<document\b[^>]*\bexportTarget="),
        OtherFormat("FLExText (XML of FLEx)", CONVERT),
    ),
    (re.compile(r"<ANNOTATION_DOCUMENT\b"), OtherFormat("EAF (XML of ELAN)", CONVERT)),
    (re.compile(r"<TEI\b|<teiCorpus\b"), OtherFormat("TEI (XML)", _FROM_XML)),
    (
        re.compile(r"<corpus\b[^>]*>\s*<head\b|<s\b[^>]*>\s*<graph\b"),
        OtherFormat("TigerXML", _FROM_XML),
    ),
    (re.compile(r"<!doctype html|<html\b", re.I), OtherFormat("HTML", _FROM_XML)),
)


def format_of(lines: Sequence[str], row: int = 0) -> OtherFormat | None:
    """The format of a file whose first lines are these, its comments up to `row`; None: CoNLL-U,
    text or unknown."""
    line = lines[row]
    if row and any(comment.startswith("#begin document") for comment in lines[:row]):
        return OtherFormat("CoNLL-2012", _COLUMN_WISE)
    if other := xml_format("\n".join(lines[row : row + 50])[:20_000].lstrip()):
        return other
    if _SFM.match(line):
        return OtherFormat("Toolbox text (standard format, SFM)", CONVERT)
    if line.lstrip()[:2] in ('{"', "[{") or line.strip() in ("{", "["):
        return OtherFormat("JSON", "convert it first")
    rows = [line.split("\t") for line in lines[row:]]
    widths = {len(columns) for columns in rows}
    # and one for each predicate
    if len(widths) == 1 and 14 <= len(rows[0]) < 100 and rows[0][0] == "1":
        return OtherFormat("CoNLL-2009", CONVERT)
    if len(widths) == 1 and len(rows[0]) > 1 and (other := _table(rows)):
        return other
    if len(rows[0]) == 1 and (other := _of_text(lines[row:])):
        return other
    if line[0] == "(":
        return OtherFormat("a bracketed tree", "convert it: vdgi convert wsj")
    return None


def raw_format(text: str) -> OtherFormat | None:
    """The format of a file given as raw text that is surely none: XML, or Toolbox's; None: it may
    be."""
    begin = text[:20_000].lstrip("\ufeff \n")
    if _is_toolbox(begin):
        return OtherFormat("Toolbox text (standard format, SFM)", CONVERT)
    other = xml_format(begin)
    return other if other and (begin.startswith("<?xml") or other.remedy == CONVERT) else None


def _is_toolbox(text: str) -> bool:
    """Whether most lines of a text begin with a marker, as those of Toolbox's texts and
    dictionaries do."""
    if not (text.startswith("\\") and _SFM.match(text)):
        return False
    lines = [line for line in text.split("\n")[:200] if line.strip()]
    markers = [match[0].strip() for match in map(_SFM.match, lines) if match]
    return markers[0] == "\\_sh" or (
        len(markers) >= 2 / 3 * len(lines) and not _OF_TOOLBOX.isdisjoint(markers)
    )


def xml_format(text: str) -> OtherFormat | None:
    """The format of a text that begins as XML does; None: it is none."""
    if not text.lstrip("\ufeff \n").startswith("<"):
        return None
    formats = (other for pattern, other in _XML if pattern.search(text))
    return next(formats, OtherFormat("XML or HTML", "convert it first"))


def _table(rows: Sequence[Sequence[str]]) -> OtherFormat | None:
    """The format of rows of equally many columns, at least two."""
    width = len(rows[0])
    if _is_mst(rows):
        return OtherFormat("MST's format (a line of words, one of tags, one of heads)", CONVERT)
    names = ",".join(rows[0])
    if len(_HEADING.findall(names)) >= 2 and _WORDS.search(names):
        return OtherFormat("a table with headings (TSV)", CONVERT)
    if not 3 <= width <= 9:
        return None
    if width == 4 and all(
        _NUMBER.fullmatch(columns[2]) and not _NUMBER.fullmatch(columns[3]) for columns in rows
    ):
        return OtherFormat("Malt-TAB (form, tag, head and relation)", CONVERT)
    if rows[0][0] == "-DOCSTART-" or all(_CHUNK.fullmatch(columns[-1]) for columns in rows):
        return _conll_2003(width)
    if width == 8 and rows[0][0] == "1" and all(_NUMBER.fullmatch(columns[6]) for columns in rows):
        return OtherFormat("CoNLL-X of 8 columns", CONVERT)
    return None


def _conll_2003(width: int) -> OtherFormat:
    """That format with so many columns; only four are the shared task's."""
    columns = ",".join([*["form", "tag", *["_"] * (width - 3)][: width - 1], "ner"])
    remedy = CONVERT if width == 4 else f"vdgi convert --columns {columns} makes CoNLL-U of it"
    return OtherFormat("CoNLL-2003 (words, tags and names)", remedy)


def _is_mst(rows: Sequence[Sequence[str]]) -> bool:
    if len(rows) not in (3, 4) or {*map(len, rows)} != {len(rows[0])}:
        return False
    n_words, heads = len(rows[0]), rows[-1]
    are_heads = all(_NUMBER.fullmatch(head) and 0 <= int(head) <= n_words for head in heads)
    return are_heads and not any(_NUMBER.fullmatch(tag) for tag in rows[1])


def _of_text(lines: Sequence[str]) -> OtherFormat | None:
    """The format of lines without tabs."""
    words = [line.split() for line in lines]
    if words[0][0] == "-DOCSTART-":
        return _conll_2003(len(words[0]))
    width = len(words[0])
    is_table_of_words = 2 <= width < 8 and all(len(row) == width for row in words)
    if is_table_of_words and all(_CHUNK.fullmatch(row[-1]) for row in words):
        return _conll_2003(width)
    unquoted = [re.sub(r'"[^"]*"', "", line) for line in lines]
    for sign, name in ((",", "a table with commas (CSV)"), (";", "a table with semicolons (CSV)")):
        counts = [line.count(sign) for line in unquoted]
        is_even = len({*counts}) == 1 and counts[0] >= 2
        is_table = is_even and f"{sign} " not in unquoted[0]
        is_headed = counts[0] >= 1 and len(_HEADING.findall(lines[0])) >= 2
        if is_headed or (is_table and (len(lines) >= 3 or counts[0] >= 9)):
            return OtherFormat(name, CONVERT if is_headed else _NAMED)
    tagged = [bool(_WORD_TAG.fullmatch(word)) for row in words[:20] for word in row]
    if len(tagged) >= 2 and sum(tagged) >= 0.8 * len(tagged):
        return OtherFormat("text with tags behind its words (word/TAG)", _COLUMN_WISE)
    return None


def feats_format(value: str) -> str:
    """The format whose features a value of FEATS looks like, if it is not Name=Value|Name=Value;
    "": none.

    >>> feats_format("N;NOM;SG"), feats_format("Nom|Sing"), feats_format("Case=Nom|Number=")
    ('UniMorph', 'CoNLL-X', 'a feature without a value')
    """
    return next((name for name, pattern in _FEATS_OF if pattern.fullmatch(value)), "")
