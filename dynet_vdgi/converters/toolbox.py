"""Toolbox's standard format (SFM): interlinear lines under markers, aligned by columns."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence

from dynet_vdgi.converters.interlinear import (
    GlossedWord,
    Losses,
    Utterance,
    comment_key,
    split_marks,
)
from dynet_vdgi.converters.morphs import Morph, add_morphs
from dynet_vdgi.converters.sources import ForeignFile
from dynet_vdgi.errors import DataError

MARKERS = {
    "id": "document",
    "ref": "name",
    "tx": "words",
    "t": "words",
    "mb": "morphs",
    "m": "morphs",
    "mr": "lemma",
    "ge": "mgloss",
    "gl": "mgloss",
    "g": "mgloss",
    "ps": "pos",
    "p": "pos",
    "lx": "lemma",
    "ft": "translation",
    "f": "translation",
    "fe": "translation",
    "nt": "note",
    "cm": "note",
    "sp": "speaker",
    "ELANParticipant": "speaker",
    "sound": "sound",
    "ELANBegin": "begin",
    "ELANEnd": "end",
}
"""What Toolbox's usual markers stand for."""

_FIELD = re.compile(r"\\(\S+)[ \t]?(.*)", re.DOTALL)

_ALIGNED = ("words", "morphs", "mgloss", "pos", "lemma")

_SILENT = {"_sh", "dt", "_DateStampHasFourDigitYear"}

_UNALIGNED = "sentences whose interlinear lines are not aligned: only their words are taken"

Field = tuple[str, str, int]
"""Role or, in brackets, marker; text; line."""


def read(
    source: ForeignFile, losses: Losses, language: str, roles: Mapping[str, str]
) -> Iterator[Utterance]:
    """The records with their words; roles: of markers, besides the usual ones.

    Raises: DataError, there are no words.
    """
    has_words, document = False, None
    wanted = {marker: "mgloss" if role == "gloss" else role for marker, role in roles.items()}
    for record in _records(_fields(source, {**MARKERS, **wanted}, losses)):
        document = next((text for role, text, _ in record if role == "document"), document)
        utterance = _utterance(record, language, losses)
        if utterance is not None:
            utterance.document, document, has_words = document, None, True
            yield utterance
    if not has_words:
        hint = "name the marker of your words: --tier words=MARKER"
        raise DataError(source.name, None, r"no line \tx with words", hint)


def names_in(source: ForeignFile) -> set[str]:
    """The markers of a file."""
    return {match[1] for match in map(_FIELD.match, source.lines) if match}


def _fields(source: ForeignFile, roles: Mapping[str, str], losses: Losses) -> Iterator[Field]:
    """The fields, continuation lines joined; a field without a role has its marker as role, in
    brackets."""
    field: tuple[str, list[str], int] | None = None
    for number, line in enumerate(source.lines, 1):
        if match := _FIELD.match(line):
            if field:
                yield field[0], " ".join(field[1]), field[2]
            field = roles.get(match[1], f"[{match[1]}]"), [match[2].rstrip()], number
        elif line.strip() and field:
            field[1].append(line.strip())
        elif line.strip():
            losses.add("lines before the first marker: left out", number, repr(line))
    if field:
        yield field[0], " ".join(field[1]), field[2]


def _records(fields: Iterator[Field]) -> Iterator[list[Field]]:
    """The fields of each sentence: from its name on, or from its words if names are missing."""
    record: list[Field] = []
    roles: set[str] = set()
    for field in fields:
        is_ended = "translation" in roles and "name" not in roles
        is_new = field[0] == "name" or (field[0] == "words" and is_ended)
        if field[0] == "document" or (is_new and "words" in roles):
            yield record
            record, roles = [], set()
        record.append(field)
        roles.add(field[0])
    yield record


def _utterance(record: Sequence[Field], language: str, losses: Losses) -> Utterance | None:
    utterance = Utterance([], record[0][2] if record else 0)
    lines: list[dict[str, tuple[str, int]]] = []
    times: dict[str, str] = {}
    for role, text, line in record:
        if role in _ALIGNED and text:
            if role == "words" or (lines and role in lines[-1]) or not lines:
                lines.append({})
            lines[-1][role] = text, line
        elif role == "name":
            utterance.name, utterance.line = text, line
        elif role in ("begin", "end"):
            times[role] = text
        elif role == "text":
            utterance.text = text
        elif role == "literal":
            utterance.comments.append((comment_key("literal", language), text))
        elif role == "translation":
            utterance.comments.append((comment_key("text", language), text))
        elif role in ("note", "speaker"):
            utterance.comments.append((role, text))
        elif role == "sound":
            utterance.comments.append(("sound_url", text))
        elif role[0] == "[" and text and role[1:-1] not in _SILENT:
            utterance.comments.append((comment_key("toolbox", role[1:-1]), text))
    if times:
        utterance.comments.append(
            ("sent_timecode", f"{times.get('begin', '_')}, {times.get('end', '_')}")
        )
    for block in lines:
        if "words" in block:
            utterance.words += _words(block, losses)
        else:
            losses.add(
                "interlinear lines without a line of words: left out", next(iter(block.values()))[1]
            )
    if not utterance.words:
        if any(text for role, text, _ in record if role not in ("document", "[_sh]")):
            losses.add("records without words: left out", utterance.line)
        return None
    return utterance


def _words(block: Mapping[str, tuple[str, int]], losses: Losses) -> Iterator[GlossedWord]:
    text, line = block["words"]
    forms = text.split()
    others = {role: part for role, (part, _) in block.items() if role != "words"}
    groups = _groups(text, others) if others else None
    if others and groups is None:
        losses.add(_UNALIGNED, line, repr(text))
    for form, morphs in zip(forms, groups or [[] for _ in forms]):
        pieces = split_marks(form)
        words = [
            GlossedWord(piece, is_joined=n < len(pieces), line=line)
            for n, piece in enumerate(pieces, 1)
        ]
        kernel = next(
            (word for word in words if any(letter.isalnum() for letter in word.form)), None
        )
        if kernel is not None:
            add_morphs(kernel, [m._replace(form=m.form.strip(".,;:!?")) for m in morphs], losses)
        yield from words


def _groups(text: str, others: Mapping[str, str]) -> list[list[Morph]] | None:
    """The morphs of each word; None: the lines are not aligned."""
    has_morphs = "morphs" in others
    top = others.get("morphs", text)
    columns: dict[str, list[str]] = {}
    for role, line in others.items():
        if role != "morphs":
            cells_of_role = _cells(top, line)
            if cells_of_role is None:
                return None
            columns[role] = cells_of_role
    forms = top.split()
    empty = [""] * len(forms)
    glosses, tags = columns.get("mgloss", empty), columns.get("pos", empty)
    lemmas = columns.get("lemma", forms if has_morphs else empty)
    morphs = [Morph(*cells) for cells in zip(forms, glosses, lemmas, tags)]
    if not has_morphs:
        return [[morph] for morph in morphs]
    owners = _owners(text, top)
    if owners is None:
        return None
    groups: list[list[Morph]] = [[] for _ in text.split()]
    for owner, morph in zip(owners, morphs):
        groups[owner].append(morph)
    return groups


def _starts(line: str, encoding: str = "utf-32-le") -> list[int]:
    """Where its parts between blanks start, in characters or, as Toolbox counts, in bytes."""
    width = 4 if encoding == "utf-32-le" else 1
    starts, size, last = [], 0, 0
    for part in re.finditer(r"\S+", line):
        size += len(line[last : part.start()].encode(encoding)) // width
        last = part.start()
        starts.append(size)
    return starts


def _cells(top: str, line: str) -> list[str] | None:
    """The cells of a line under the parts of another, by number or else by columns; None: neither
    fits."""
    parts = line.split()
    n_cells = len(top.split())
    if len(parts) == n_cells:
        return parts
    for encoding in ("utf-32-le", "utf-8"):
        tops, starts = _starts(top, encoding), _starts(line, encoding)
        if starts and tops and starts[0] >= tops[0] and _are_aligned(tops, starts, line, encoding):
            cells: list[list[str]] = [[] for _ in tops]
            for start, part in zip(starts, parts):
                cells[bisect_right(tops, start) - 1].append(part)
            return [" ".join(cell) for cell in cells]
    return None


def _are_aligned(tops: Sequence[int], starts: Sequence[int], line: str, encoding: str) -> bool:
    """Whether parts start where those above do, or one blank after a part of the same cell."""
    width, end = 4 if encoding == "utf-32-le" else 1, None
    for start, part in zip(starts, line.split()):
        if start not in tops and (end is None or start != end + 1):
            return False
        end = start + len(part.encode(encoding)) // width
    return True


def _owners(text: str, morphs: str) -> list[int] | None:
    """The word of each morph, by columns or else by hyphens; None: neither fits."""
    for encoding in ("utf-32-le", "utf-8"):
        words, starts = _starts(text, encoding), _starts(morphs, encoding)
        if {*words} <= {*starts} and starts[0] >= words[0]:
            return [bisect_right(words, start) - 1 for start in starts]
    owners, owner, is_open = [], -1, False
    for part in morphs.split():
        if not (is_open or part[0] in "-=~") or owner < 0:
            owner += 1
        is_open = part[-1] in "-=~"
        owners.append(owner)
    return owners if owner + 1 == len(text.split()) else None
