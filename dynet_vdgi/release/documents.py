"""Annotated files as the documents of a treebank: which sentences are released, under which names,
without notes.

A document begins at `# newdoc`, or with its file; `# global.` comments of its file stand at its
beginning. A sentence keeps its `sent_id`, except a mere number, or one that another sentence has:
it becomes DOCUMENT-NUMBER. Blanks and slashes, which UD does not allow in it, become `_`. Names
that a release has had stay.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from dynet_vdgi.conllu import guess_marks
from dynet_vdgi.conllu.blocks import blocks
from dynet_vdgi.conllu.extra_columns import without_extra
from dynet_vdgi.conllu.raw_text import FORMAT, unescaped
from dynet_vdgi.conllu.sentence import sent_id_of
from dynet_vdgi.conllu.tree_faults import cycle
from dynet_vdgi.errors import DataError
from dynet_vdgi.page.store.journal import ENDING
from dynet_vdgi.page.store.session import exported_sentences
from dynet_vdgi.page.text.sentence_blocks import block, read_marked
from dynet_vdgi.page.text.sentence_layout import SentenceLayout
from dynet_vdgi.page.text.sentence_state import IS_FLAG, MARKS, NAMES
from dynet_vdgi.page.text.tokens import misc_with_space
from dynet_vdgi.system import files
from dynet_vdgi.system.messages import count as counted
from dynet_vdgi.validation.levels import problems_in

SPACES = ("SpacesAfter=", "SpacesBefore=", "SpacesInToken=")

NOTES = (*guess_marks.CHANCES, "TagConf=", "Note=", "Differs=")

_NEW_DOCUMENT = re.compile(r"#\s*newdoc\b(?:\s+id\s*=\s*(.*?))?\s*")

_NEW_PARAGRAPH, _TEXT = re.compile(r"#\s*newpar\b.*"), re.compile(r"#\s*text\s*=.*")

_OTHERS = re.compile(r"#\s*(?:sent_id\b|(?:note|differs|choice)\s*=|global\.columns\b).*")

_GLOBAL = re.compile(r"#\s*global\.(?!columns\b)(\S+?)\s*(?:=.*)?")
"""A comment about a whole document, such as `# global.Entity` of CorefUD; the columns are always
UD's ten."""

_NOT_KEPT = (_NEW_DOCUMENT, _NEW_PARAGRAPH, _TEXT, _OTHERS, _GLOBAL, IS_FLAG, guess_marks.COMMENT)

_COUNTED = re.compile(r"[0-9]+(?:-[0-9]+)*")
"""A name that is a place in a file; a part that the page has cut off has another number behind."""


@dataclass
class ReleasedSentence:
    """A sentence of a release: its lines without sent_id,
    and where they end in an annotated file."""

    path: str
    last: int
    names: list[str]  # which it may have
    begins: list[str]  # the comments newdoc, global and newpar
    lines: list[str]
    first: int = 1  # its first line there
    written_name: str = ""  # its sent_id there
    # this sent_id, or else its number in the document, and its forms
    identity: tuple[str, ...] = ()
    name: str = ""

    @property
    def text(self) -> list[str]:
        """All lines."""
        return [*self.begins, f"# sent_id = {self.name}", *self.lines]

    @property
    def places(self) -> list[tuple[str, int]]:
        """Path and line in the annotated file of each line of `text`, and of an empty one; of
        comments, about."""
        return [
            (self.path, max(self.last - max(back, 0), 1))
            for back in range(len(self.text) - 1, -2, -1)
        ]

    def end_paragraph(self) -> None:
        """Leaves out SpaceAfter=No of the last token, which UD forbids where no text follows at
        once."""
        last = str(sum(line.partition("\t")[0].isdigit() for line in self.lines))
        for k, line in enumerate(self.lines):
            *columns, misc = line.split("\t")
            if columns and columns[0].rpartition("-")[2] == last:
                self.lines[k] = "\t".join([*columns, misc_with_space(misc, True)])


@dataclass
class AnnotatedFiles:
    """What there is to release: documents by name, and how many sentences were left out."""

    documents: dict[str, list[ReleasedSentence]] = field(default_factory=dict)
    left_out: int = 0
    # what those left out lack, besides being finished
    unfit: Counter[str] = field(default_factory=Counter)
    # words by annotator and kind of mark
    confirmed: dict[str, Counter[str]] = field(default_factory=dict)
    faults: list[DataError] = field(default_factory=list)  # texts that are not those of the words
    # names of columns after MISC, which CoNLL-U has not
    dropped: set[str] = field(default_factory=set)

    def read(self, path: str, *, everything: bool) -> None:
        """Adds a file: its finished sentences or, with `everything`, all that have tags and a tree.

        Raises: UsageError, nothing is confirmed in it; DataError, it is malformed, or a document is
        there already.
        """
        in_file = read_marked(path)
        for marked in in_file if not os.path.lexists(path + ENDING) else ():
            for word, why in marked.opened.items():
                line = marked.source.line + marked.source.rows[word - 1]
                raise DataError(
                    path,
                    line,
                    why,
                    "no tree can have these heads; vdgi annotate shows them as open",
                )
        sentences = (
            in_file
            if everything and not os.path.lexists(path + ENDING)
            else exported_sentences(path)
        )
        stem, met = _name_from(Path(files.without_ending(path)).name) or "text", {""}
        number, n_unnamed, paragraph, follows = 0, 0, "", False
        all_names = {marked.sent_id for marked in sentences}
        of_file: dict[str, str] = {}  # global comments so far, by name
        of_document: dict[str, str] = {}  # those that are written
        for k, marked in enumerate(sentences):
            lines = [without_extra(line) for line in block(marked).rstrip("\n").split("\n")]
            self.dropped.update(marked.source.extra)
            first = in_file[min(k, len(in_file) - 1)].source.line
            begins = _NEW_DOCUMENT.fullmatch(_first_matching(_NEW_DOCUMENT, lines))
            if begins or not k:
                name = _name_from(begins[1] or "") if begins else ""
                n_unnamed += not name
                name = name or (f"{stem}-{n_unnamed}" if n_unnamed > 1 else stem)
                if name in self.documents:
                    raise DataError(
                        path,
                        first,
                        f"there is a document {name!r} already",
                        "give it another # newdoc id",
                    )
                document = self.documents[name] = []
                number, paragraph, follows, of_document = 0, "", False, {}
            number += 1
            paragraph = _first_matching(_NEW_PARAGRAPH, lines) or paragraph
            for each in lines:
                if match := _GLOBAL.fullmatch(each):
                    of_file[match[1]] = each
            sent_id = _sent_id_from(marked.sent_id)
            if marked.sent_id in met or (sent_id != marked.sent_id and sent_id in all_names):
                sent_id = ""
            met.add(marked.sent_id)
            rows = [line.split("\t") for line in lines if line.partition("\t")[0].isdigit()]
            unfit = _what_is_lacking(rows)
            if unfit or not (everything or marked.is_done):
                self.left_out, follows = self.left_out + 1, False
                self.unfit.update([unfit] * bool(unfit))
                continue
            if document and (paragraph or not follows):
                document[-1].end_paragraph()
            new = [line for key, line in of_file.items() if of_document.get(key) != line]
            of_document = dict(of_file)
            comments = [] if document else [f"# newdoc id = {name}"]
            comments += new
            comments += [paragraph] if paragraph else []
            in_document = sent_id or (f"{number}b" if str(number) in all_names else number)
            names = [f"{name}-{in_document}"]
            if sent_id and not _COUNTED.fullmatch(sent_id):
                names.insert(0, sent_id)
            cleaned = self._clean_lines(lines, path, first)
            identity = (marked.sent_id or str(number), *(row[1] for row in rows))
            last = first + len(lines) - 1
            document.append(
                ReleasedSentence(
                    path, last, names, comments, cleaned, first, marked.sent_id, identity
                )
            )
            paragraph, follows = "", True
        filled = {name: document for name, document in self.documents.items() if document}
        self.documents = filled
        for document in filled.values():
            document[-1].end_paragraph()

    def _clean_lines(self, lines: Sequence[str], path: str, first: int) -> list[str]:
        """The lines without marks and notes, `# text` first; counts the marks."""
        lines = [line if line[0] == "#" else self._line_without_notes(line) for line in lines]
        text = _first_matching(_TEXT, lines)
        if not text:
            words = range(sum(line.partition("\t")[0].isdigit() for line in lines))
            text = f"# text = {SentenceLayout.of(chr(10).join(lines), words).text()}"
        else:
            for problem in problems_in(lines):
                if problem.rule == "text":
                    self.faults.append(DataError(path, first + problem.row, problem.text))
        return [text, *(line for line in lines if not _is_left_out(line))]

    def _line_without_notes(self, line: str) -> str:
        *columns, misc = line.split("\t")
        parts, is_joined = [], False
        for part in misc.split("|"):
            key, sign, value = part.partition("=")
            if key + sign in MARKS:
                for name in value.split(NAMES):
                    self.confirmed.setdefault(name, Counter())[key + sign] += 1
            elif part.startswith(SPACES):  # format characters are no space
                is_joined |= key == "SpacesAfter" and not FORMAT.sub("", unescaped(value))
            elif not part.startswith(NOTES):
                parts.append(part)
        misc = "|".join(parts) or "_"
        return "\t".join([*columns, misc_with_space(misc, False) if is_joined else misc])


@dataclass(frozen=True)
class RepeatedSentences:
    """How many sentences of a document are in an earlier one, too: the same names and words."""

    document: str
    earlier: str
    number: int
    of: int  # sentences of the larger of the two
    example: ReleasedSentence

    @property
    def is_copy(self) -> bool:
        """Whether they are half of the sentences, or more."""
        return 2 * self.number >= self.of

    def __str__(self) -> str:
        place = (
            f"the first: {self.example.identity[0][:60]!r}, "
            f"{self.example.path}:{self.example.first}"
        )
        number = counted(self.number, "sentence")
        return (
            f"{number} of the document {self.document!r} with name and words of {self.earlier!r} "
            f"({place})"
        )


def repeated_sentences(
    documents: Mapping[str, Sequence[ReleasedSentence]],
) -> list[RepeatedSentences]:
    """The sentences that several documents have, in the order of the documents."""
    first_in: dict[tuple[str, ...], str] = {}
    by_documents: dict[tuple[str, str], list[ReleasedSentence]] = {}
    for document, sentences in documents.items():
        for sentence in sentences:
            earlier = first_in.setdefault(sentence.identity, document)
            if earlier != document:
                by_documents.setdefault((document, earlier), []).append(sentence)
    sizes = {document: len(sentences) for document, sentences in documents.items()}
    repeated = []
    for (document, earlier), sentences in by_documents.items():
        size = max(sizes[document], sizes[earlier])
        repeated.append(RepeatedSentences(document, earlier, len(sentences), size, sentences[0]))
    return repeated


def name_sentences(
    documents: Mapping[str, Sequence[ReleasedSentence]], earlier: Mapping[str, Collection[str]]
) -> None:
    """Gives each sentence a name of its own.

    earlier: the names in the last release, by document.
    """
    used = set[str]()
    taken = set[str]()
    for document in documents:
        taken.update(earlier.get(document, ()))
    for document, sentences in documents.items():
        for sentence in sentences:
            old_names = earlier.get(document, ())
            had = [name for name in sentence.names if name in old_names and name not in used]
            sentence.name = had[0] if had else _first_free(sentence.names, taken)
            used.add(sentence.name)
            taken.add(sentence.name)


def _first_free(names: Sequence[str], taken: Collection[str]) -> str:
    """The first of the names that is not taken; if all are, the last with a number."""
    for name in names:
        if name not in taken:
            return name
    numbered = (f"{names[-1]}-{k}" for k in count(2))
    return next(name for name in numbered if name not in taken)


def names_in(path: Path) -> dict[str, list[str]]:
    """The names of the sentences of a released file, by document; nothing if it is not there.
    Raises: DataError."""
    names: dict[str, list[str]] = {}
    for sentence in blocks(path) if path.exists() else ():
        begins = _NEW_DOCUMENT.fullmatch(sentence.lines[0])
        document = begins[1] or "" if begins else ["", *names][-1]
        names.setdefault(document, []).append(sent_id_of(sentence.lines) or "")
    return names


def _first_matching(pattern: re.Pattern[str], lines: Iterable[str]) -> str:
    """The first line that matches as a whole; "" for none."""
    return next((line for line in lines if pattern.fullmatch(line)), "")


def _is_left_out(line: str) -> bool:
    """Whether a comment is none of a released sentence: written anew, or a note."""
    return any(pattern.fullmatch(line) for pattern in _NOT_KEPT)


def _what_is_lacking(rows: Sequence[Sequence[str]]) -> str:
    """Why words cannot be released, finished or not: what they lack; "" if nothing."""
    if not all(row[6].isdecimal() for row in rows):
        return "heads"
    heads = [int(row[6]) for row in rows]
    if heads.count(0) != 1 or any(head > len(rows) for head in heads) or cycle(heads):
        return "a tree"
    if any(row[3] == "_" for row in rows):
        return "tags"
    return "relations" if any(row[7] == "_" for row in rows) else ""


def _sent_id_from(text: str) -> str:
    """A sent_id without what UD does not allow in it."""
    return re.sub(r"[\s/]+", "_", text.strip())


def _name_from(text: str) -> str:
    """A name that can stand in a sent_id: without spaces and slashes, and without the ending of a
    text."""
    return re.sub(r"[\s/]+", "_", text.strip().removesuffix(".txt"))
