"""Annotated files as the documents of a treebank: which sentences are released, under which names, without notes.

A document begins at `# newdoc`, or with its file. A sentence keeps its `sent_id`, except a mere number, or one
that another sentence has: it becomes DOCUMENT-NUMBER. Names that a release has had stay.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, count
from pathlib import Path

from dynet_vdgi.annotation.journal import ENDING
from dynet_vdgi.annotation.marked import IS_FLAG, MARKS, block, read_marked
from dynet_vdgi.annotation.session import exported
from dynet_vdgi.annotation.tokens import SentenceLayout, with_space
from dynet_vdgi.data import conllu_writing, files
from dynet_vdgi.data.conllu_blocks import blocks
from dynet_vdgi.data.extra_columns import without_extra
from dynet_vdgi.data.raw_text import FORMAT, unescaped
from dynet_vdgi.data.sentence import sent_id_of
from dynet_vdgi.errors import DataError
from dynet_vdgi.validation import problems_in

SPACES = ("SpacesAfter=", "SpacesBefore=", "SpacesInToken=")
NOTES = (*conllu_writing.CHANCES, "TagConf=", "Note=", "Differs=")
_NEW_DOCUMENT = re.compile(r"#\s*newdoc\b(?:\s+id\s*=\s*(.*?))?\s*")
_NEW_PARAGRAPH, _TEXT = re.compile(r"#\s*newpar\b.*"), re.compile(r"#\s*text\s*=.*")
_OTHERS = re.compile(r"#\s*(?:(?:sent_id|note|differs|choice)\s*=|global\.columns\b).*")
_NOT_KEPT = (_NEW_DOCUMENT, _NEW_PARAGRAPH, _TEXT, _OTHERS, IS_FLAG, conllu_writing.COMMENT)
_COUNTED = re.compile(r"[0-9]+(?:-[0-9]+)*")
"""A name that is a place in a file; a part that the page has cut off has another number behind."""


@dataclass
class ReleasedSentence:
    """A sentence of a release: its lines without sent_id, and where they end in an annotated file."""

    path: str
    last: int
    names: list[str]  # which it may have
    begins: list[str]  # the comments newdoc and newpar
    lines: list[str]
    name: str = ""

    @property
    def text(self) -> list[str]:
        """All lines."""
        return [*self.begins, f"# sent_id = {self.name}", *self.lines]

    @property
    def places(self) -> list[tuple[str, int]]:
        """Path and line in the annotated file of each line of `text`, and of an empty one; of comments, about."""
        return [(self.path, self.last - max(back, 0)) for back in range(len(self.text) - 1, -2, -1)]

    def end_paragraph(self) -> None:
        """Leaves out SpaceAfter=No of the last token, which UD forbids where no text follows at once."""
        last = str(sum(line.partition("\t")[0].isdigit() for line in self.lines))
        for k, line in enumerate(self.lines):
            *columns, misc = line.split("\t")
            if columns and columns[0].rpartition("-")[2] == last:
                self.lines[k] = "\t".join([*columns, with_space(misc, True)])


@dataclass
class AnnotatedFiles:
    """What there is to release: documents by name, and how many sentences were left out."""

    documents: dict[str, list[ReleasedSentence]] = field(default_factory=dict)
    left_out: int = 0
    confirmed: dict[str, Counter[str]] = field(default_factory=dict)  # words by annotator and kind of mark
    faults: list[DataError] = field(default_factory=list)  # texts that are not those of the words
    dropped: set[str] = field(default_factory=set)  # names of columns after MISC, which CoNLL-U has not

    def read(self, path: str, *, everything: bool) -> None:
        """Adds a file: its finished sentences or, with `everything`, all that have tags and a tree.

        Raises: UsageError, nothing is confirmed in it; DataError, it is malformed, or a document is there already.
        """
        in_file = read_marked(path)
        sentences = in_file if everything and not os.path.lexists(path + ENDING) else exported(path)
        stem, met = _as_name(Path(files.without_ending(path)).name) or "text", {""}
        number, n_unnamed, paragraph, follows = 0, 0, "", False
        all_names = {marked.sent_id for marked in sentences}
        for k, marked in enumerate(sentences):
            lines = [without_extra(line) for line in block(marked).rstrip("\n").split("\n")]
            self.dropped.update(marked.source.extra)
            first = in_file[min(k, len(in_file) - 1)].source.line
            begins = next(filter(None, map(_NEW_DOCUMENT.fullmatch, lines)), None)
            if begins or not k:
                name = _as_name(begins[1] or "") if begins else ""
                n_unnamed += not name
                name = name or (f"{stem}-{n_unnamed}" if n_unnamed > 1 else stem)
                if name in self.documents:
                    raise DataError(path, first, f"there is a document {name!r} already", "give it another # newdoc id")
                its = self.documents[name] = []
                number, paragraph, follows = 0, "", False
            number += 1
            paragraph = next(filter(_NEW_PARAGRAPH.fullmatch, lines), paragraph)
            own = "" if marked.sent_id in met else marked.sent_id
            met.add(own)
            rows = [line.split("\t") for line in lines if line.partition("\t")[0].isdigit()]
            is_whole = all("_" not in (upos, head, deprel) for _, _, _, upos, _, _, head, deprel, *_ in rows)
            if not (is_whole and (everything or marked.is_done)):
                self.left_out, follows = self.left_out + 1, False
                continue
            if its and (paragraph or not follows):
                its[-1].end_paragraph()
            comments = [f"# newdoc id = {name}"] * (not its) + [paragraph] * bool(paragraph)
            other = own or (f"{number}b" if str(number) in all_names else number)
            names = [own] * (not _COUNTED.fullmatch(own or "0")) + [f"{name}-{other}"]
            cleaned = self._cleaned(lines, path, first)
            its.append(ReleasedSentence(path, first + len(lines) - 1, names, comments, cleaned))
            paragraph, follows = "", True
        self.documents = {name: its for name, its in self.documents.items() if its}
        for its in self.documents.values():
            its[-1].end_paragraph()

    def _cleaned(self, lines: Sequence[str], path: str, first: int) -> list[str]:
        """The lines without marks and notes, `# text` first; counts the marks."""
        lines = [line if line[0] == "#" else self._without_notes(line) for line in lines]
        text = next(filter(_TEXT.fullmatch, lines), "")
        if not text:
            words = range(sum(line.partition("\t")[0].isdigit() for line in lines))
            text = f"# text = {SentenceLayout.of(chr(10).join(lines), words).text()}"
        else:
            found = [problem for problem in problems_in(lines) if problem.rule == "text"]
            self.faults += [DataError(path, first + problem.row, problem.text) for problem in found]
        return [text, *(line for line in lines if not any(each.fullmatch(line) for each in _NOT_KEPT))]

    def _without_notes(self, line: str) -> str:
        *columns, misc = line.split("\t")
        parts, is_joined = [], False
        for part in misc.split("|"):
            key, sign, value = part.partition("=")
            if key + sign in MARKS:
                self.confirmed.setdefault(value, Counter())[key + sign] += 1
            elif part.startswith(SPACES):  # format characters are no space
                is_joined |= key == "SpacesAfter" and not FORMAT.sub("", unescaped(value))
            elif not part.startswith(NOTES):
                parts.append(part)
        misc = "|".join(parts) or "_"
        return "\t".join([*columns, with_space(misc, False) if is_joined else misc])


def name_sentences(documents: Mapping[str, Sequence[ReleasedSentence]], earlier: Mapping[str, Collection[str]]) -> None:
    """Gives each sentence a name of its own; `earlier`: by document, the names in the last release."""
    taken, used = {name for document in documents for name in earlier.get(document, ())}, set[str]()
    for document, sentences in documents.items():
        for sentence in sentences:
            had = (name for name in sentence.names if name in earlier.get(document, ()) and name not in used)
            others = (f"{sentence.names[-1]}-{k}" for k in count(2))
            fresh = (name for name in chain(sentence.names, others) if name not in taken)
            sentence.name = next(chain(had, fresh))
            used.add(sentence.name)
            taken.add(sentence.name)


def names_in(path: Path) -> dict[str, list[str]]:
    """The names of the sentences of a released file, by document; nothing if it is not there. Raises: DataError."""
    found: dict[str, list[str]] = {}
    for sentence in blocks(path) if path.exists() else ():
        begins = _NEW_DOCUMENT.fullmatch(sentence.lines[0])
        document = begins[1] or "" if begins else ["", *found][-1]
        found.setdefault(document, []).append(sent_id_of(sentence.lines) or "")
    return found


def _as_name(text: str) -> str:
    """A name that can stand in a sent_id: without spaces and slashes, and without the ending of a text."""
    return re.sub(r"[\s/]+", "_", text.strip().removesuffix(".txt"))
