"""Two annotations of one text made into a third: what is different, and which side somebody has taken.

The text is cut where a sentence ends in both files. Where sentences or words differ, one side's are taken as a whole
(`TOKENS`); elsewhere each column of each word is decided on its own. Until then the result has what the first file
has, and says so in MISC: `Differs=head,deprel`. What was decided has the marks of `vdgi annotate`: `HeadBy=NAME` and
so on; what both annotators have set alike has both names, `HeadBy=ben,anna`. DEPS, empty nodes, MISC and
comments that only one file has are kept; where both have others, the first file's.

Decisions are in a journal beside the result before they count; the result is always replaced as a whole.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import re
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from dynet_vdgi.conllu import guess_marks
from dynet_vdgi.conllu.sentence import sent_id_of
from dynet_vdgi.conllu.tree_faults import FREE, cycle
from dynet_vdgi.errors import DataError, UsageError, VdgiError
from dynet_vdgi.evaluation.raw_scores import Side
from dynet_vdgi.evaluation.two_files import COLUMNS, ROOT, Disagreement, Stretch, TwoFiles
from dynet_vdgi.page.store.journal import DAMAGED, FORMAT, HINT, Journal, Record
from dynet_vdgi.page.store.own_file import OwnFile
from dynet_vdgi.page.text.marked import MARKS, NAMES
from dynet_vdgi.page.web import server
from dynet_vdgi.system import files
from dynet_vdgi.system.messages import count

TOKENS = "tokens"

ENDING = ".decisions"

DIFFERS = "Differs="

MARK_OF = dict(zip(("head", "deprel", "upos", "feats", "lemma", "xpos"), MARKS))
"""Who decided, by column."""


class DecisionError(VdgiError):
    """A decision that cannot be made."""

    status = 400


class Decision(NamedTuple):
    """A side, and who took it."""

    side: Literal[0, 1]
    by: str


Choices = Mapping[str, Decision | None]
"""Decisions by key; None: a difference is open again."""


class DecisionRecord(Struct, omit_defaults=True):
    """Decisions of a part in the journal."""

    part: int
    choices: dict[str, Decision | None]
    undo: bool = False


class Differing:
    """A stretch of the text with differences; `choices` by key: TOKENS, or `3:head` for its third word."""

    def __init__(self, two: TwoFiles, stretch: Stretch) -> None:
        self.sides, self.numbers = (two.one, two.other), (stretch.ones, stretch.others)
        self.same_words = stretch.same_words
        self.differences: dict[str, Disagreement] = {}
        if stretch.same_words:
            first = two.one.words_in(stretch.ones).start
            for pair, column in product(stretch.pairs, COLUMNS):
                if not two.is_same(pair, column):
                    key = f"{pair.one - first + 1}:{column}"
                    self.differences[key] = Disagreement(pair, *two.values(pair, column))
        self.keys = list(self.differences) if stretch.same_words else [TOKENS]  # in the order of the text
        self.choices: dict[str, Decision] = {}
        self.differing: set[str] = set()  # what is not compared, and different; known when there are `lines`
        self.version = 0

    @property
    def open(self) -> list[str]:
        return [key for key in self.keys if key not in self.choices]

    def lines(self) -> list[str]:
        """The lines of the result, each sentence ended by an empty line.

        `differing` has then the names of what both files have differently besides the compared columns.
        """
        if not self.same_words:
            side = self.choices[TOKENS].side if TOKENS in self.choices else 0
            blocks = [self.sides[side].blocks[number].lines for number in self.numbers[side]]
            mark = [] if TOKENS in self.choices else [f"# differs = {TOKENS}"]
            return [line for block in blocks for line in (*mark, *block, "")]
        one, other = (side.blocks[numbers[0]].lines for side, numbers in zip(self.sides, self.numbers))
        lines, self.differing = joined(one, other)
        if self.keys:  # not so in most of a long text
            values = {line.partition("\t")[0]: line.split("\t") for line in other}
            waits = self.waits
            lines = [self._decided(line, values, waits) for line in lines]
        return [*lines, ""]

    def _decided(self, line: str, others: Mapping[str, Sequence[str]], waits: bool) -> str:
        """A line with what was decided of its word, and marks; `others`: the other side's columns, by ID.

        Of heads nothing counts as decided while they wait.
        """
        columns = line.split("\t")
        differing = [column for column in COLUMNS if f"{columns[0]}:{column}" in self.differences]
        if not differing:
            return line
        misc = [entry for entry in columns[9].split("|") if entry != "_" and not entry.startswith(DIFFERS)]
        undecided = []
        for column in differing:
            choice = self.choices.get(f"{columns[0]}:{column}")
            misc = [entry for entry in misc if not entry.startswith(MARK_OF[column])]
            if choice is None or (column == "head" and waits):
                undecided.append(column)
                continue
            misc.append(MARK_OF[column] + choice.by)
            if choice.side:
                columns[COLUMNS[column]] = others[columns[0]][COLUMNS[column]]
        misc += [DIFFERS + ",".join(undecided)] if undecided else []
        columns[9] = "|".join(misc) or "_"
        return "\t".join(columns)

    def tree_fault(self) -> str:
        """Why the chosen heads are no tree; "" if they are, or no head is decided."""
        decided = [key for key in self.choices if key.endswith(":head")]
        if not decided:
            return ""
        other = {key: self.differences[key].other for key in decided if self.choices[key].side}
        return _no_tree({**self._heads(0), **other}.values())

    @property
    def has_tree(self) -> bool:
        """Whether either side's heads are a tree, or part of one: taking them all mends every fault."""
        return any(not _no_tree(self._heads(side).values()) for side in (0, 1))

    @property
    def waits(self) -> bool:
        """Whether decided heads wait for others, because together they are no tree and could be one."""
        return bool(self.tree_fault()) and self.has_tree

    def _heads(self, side: int) -> dict[str, str]:
        """HEAD of each word of a side's only sentence, by key."""
        rows = [self.sides[side].columns[word] for word in self.sides[side].words_in(self.numbers[side])]
        return {f"{row[0]}:head": row[6] for row in rows}


def _no_tree(texts: Iterable[str]) -> str:
    """Why values of HEAD are no tree, nor part of one; "" if they are."""
    heads = [FREE if text == "_" else int(text) for text in texts]
    if heads.count(0) > 1:
        return f"words {', '.join(str(w) for w, head in enumerate(heads, 1) if head == 0)} are roots"
    if circle := cycle(heads):
        if len(circle) == 1:
            return f"word {circle[0]} is its own head"
        return f"words {', '.join(map(str, circle))} form a circle of heads"
    return "no word is the root" if not heads.count(0) and FREE not in heads else ""


class Adjudication:
    """The differences of two files, and decisions by `name` from now on.

    Raises: DataError, a file is malformed, the texts differ, or the journal does not belong to them;
    UsageError, the result exists and is not of these decisions, or another process has it.
    """

    def __init__(self, one: str, other: str, output: str, name: str) -> None:
        self.name, self.path = name, Path(output)
        self.two = TwoFiles.read(one, other)
        extra, its = ({each.extra for each in side.blocks} for side in (self.two.one, self.two.other))
        if extra != its:
            message = "its columns after MISC are not those of the other file"
            raise DataError(other, None, message, f"bring both files to the same columns; the other is {one}")
        self._all = [Differing(self.two, stretch) for stretch in self.two.stretches()]
        self.parts = [part for part in self._all if part.keys]
        self.fault = ""
        self._undo: list[tuple[int, Choices]] = []
        self._written: set[str] = set()
        inputs = [files.sha256(path) for path in (one, other)]
        journal_path = self.path.with_name(self.path.name + ENDING)
        is_there = self.path.exists()
        if is_there and not journal_path.exists():
            raise UsageError(f"{output} exists; name another file with -o, or move it away")
        self.journal = Journal(journal_path)
        try:
            if self.journal.records:
                self._replay(self.journal.records, inputs)
            else:
                self.journal.add({"journal": FORMAT, "beside": inputs})
            if is_there and files.sha256(self.path) not in self._written:
                message = f"{output} was changed by another program; name another file, or move it away"
                raise UsageError(message)
            content, _ = self._noted()
            with files.atomic_bytes_writer(self.path) as handle:
                handle.write(content)
            self._file = OwnFile(self.path)
            self._file.look()
            self.is_unsaved = False
        except BaseException:
            self.journal.close()
            raise

    def _noted(self) -> tuple[bytes, str]:
        """The result and its checksum, which is in the journal."""
        content = "".join(line + "\n" for part in self._all for line in part.lines()).encode()
        digest = hashlib.sha256(content).hexdigest()
        if digest not in self._written:
            self.journal.add({"written": digest})
            self._written.add(digest)
        return content, digest

    def _replay(self, records: Sequence[Record], inputs: list[str]) -> None:
        if records[0].get("beside") != inputs:
            hint = f"restore them, or move {self.journal.path.name} and {self.path.name} away"
            raise DataError(str(self.journal.path), 1, "the two files are not those of these decisions", hint)
        for number, record in enumerate(records[1:], 2):
            if "written" in record:
                self._written.add(record["written"])
                continue
            try:
                self._apply(msgspec.convert(record, DecisionRecord))
            except (msgspec.ValidationError, IndexError):
                raise DataError(str(self.journal.path), number, DAMAGED, HINT) from None

    def _make(self, number: int, choices: Choices, *, undo: bool = False) -> None:
        """Makes a change once it is on the disk."""
        record = DecisionRecord(number, dict(choices), undo)
        self.journal.add(msgspec.to_builtins(record))
        self._apply(record)

    def _apply(self, record: DecisionRecord) -> None:
        """Raises: IndexError, there is nothing to undo."""
        part = self.parts[record.part]
        if record.undo:
            self._undo.pop()
        else:
            self._undo.append((record.part, {key: part.choices.get(key) for key in record.choices}))
        both = {**part.choices, **record.choices}
        part.choices = {key: choice for key, choice in both.items() if choice is not None}
        part.version += 1
        self.is_unsaved = True

    def part(self, number: int) -> Differing:
        """Raises: DecisionError, there is none of this number."""
        if not 0 <= number < len(self.parts):
            raise DecisionError("there is no such sentence")
        return self.parts[number]

    def decide(self, number: int, keys: Sequence[str], side: Literal[0, 1] | None) -> None:
        """Takes a side for some differences of a part; None: they are open again.

        Raises: DecisionError, there is no such difference.
        """
        if not keys or not set(keys) <= set(self.part(number).keys):
            raise DecisionError("there is no such difference")
        self._make(number, {key: None if side is None else Decision(side, self.name) for key in keys})

    def undo(self) -> int:
        """Takes the last decision back; returns the number of its part. Raises: DecisionError."""
        if not self._undo:
            raise DecisionError("there is nothing to undo")
        number, before = self._undo[-1]
        self._make(number, before, undo=True)
        return number

    def next_open(self, after: int) -> int | None:
        """The next part with something open, beginning again at the end; None if all is decided."""
        order = sorted(range(len(self.parts)), key=lambda k: k <= after)
        return next((k for k in order if self.parts[k].open or self.parts[k].waits), None)

    def not_compared(self) -> dict[str, int]:
        """Where both files have something different that nobody can decide here: kinds, with sentences."""
        return dict(sorted(Counter(kind for part in self._all for kind in part.differing).items()))

    def not_compared_in_words(self) -> str:
        """What `not_compared` gives, and what becomes of it; "" for nothing."""
        kinds = self.not_compared().items()
        which = ", ".join(f"{kind} in {count(n, 'sentence')}" for kind, n in kinds)
        what = "not compared, though both files have them and they differ"
        return which and f"{what}: {which}; {self.two.one.path}'s are kept"

    def counts(self) -> dict[str, int]:
        """How many differences there are, and how many are decided."""
        total = sum(len(part.keys) for part in self.parts)
        n_open = sum(len(part.open) for part in self.parts)
        return {"parts": len(self.parts), "differences": total, "decided": total - n_open}

    def save(self) -> None:
        """Writes the result if it has changed. Raises: UsageError, it cannot be written."""
        if not self.is_unsaved or self.fault:
            return
        if self._file.is_changed_by_others():
            self.fault = f"{self.path.name} was changed by another program and is no longer written"
            return
        self.is_unsaved = False
        try:
            self._file.write(*self._noted())
        except VdgiError:
            self.is_unsaved = True
            raise

    def close(self) -> None:
        """Writes the result and lets go of the files."""
        try:
            self.save()
        finally:
            self._file.close()
            self.journal.close()


def items(part: Differing) -> list[dict[str, Any]]:
    """What there is to decide, in the order of the text, as the page shows it.

    `word` is a place in the sentence, 0: the whole of it.
    """

    def words(side: Side, number: int) -> str:
        return " ".join(side.columns[word][1] for word in side.words_in(range(number, number + 1)))

    def head(side: Side, word: int) -> str:
        place = side.heads[word]
        if place < 0:
            return "ROOT" if place == ROOT else "_"
        return f"{side.columns[word][6]} {side.columns[place][1]}"

    sides = list(zip(part.sides, part.numbers))
    found = []
    for key in part.keys:
        place, _, column = key.rpartition(":")
        form, values = "", [" · ".join(words(side, n) for n in numbers) for side, numbers in sides]
        if key != TOKENS:
            one = part.differences[key]
            form, values = part.sides[0].columns[one.pair.one][1], [one.one, one.other]
            if column == "head":
                values = [head(side, word) for side, word in zip(part.sides, one.pair)]
        choice = part.choices.get(key)
        item = {"key": key, "column": column, "word": int(place or 0), "form": form, "values": values}
        found.append({**item, "side": choice and choice.side, "by": choice.by if choice else ""})
    return found


DEPS = 8

_COMMENT_KEY = re.compile(r"#\s*([^=]*?)\s*(=|\Z)")

_OF_TEXT = ("SpaceAfter", "SpacesAfter", "SpacesBefore", "SpacesInToken")  # which `# text` must agree with


def joined(lines: Sequence[str], others: Sequence[str]) -> tuple[list[str], set[str]]:
    """A sentence's lines with the comments, MISC, DEPS and empty nodes that only the other side has.

    Also the names of what both have differently.
    """
    if lines == others:
        return [*lines], set()
    comments, its_comments = ([line for line in side if line[0] == "#"] for side in (lines, others))
    rows, its = ([line.split("\t") for line in side if line[0] != "#"] for side in (lines, others))
    new = [c for c in its_comments if c not in comments and not guess_marks.COMMENT.fullmatch(c)]
    keys = {*map(_key, comments)}
    more = [comment for comment in new if _key(comment) not in keys]
    differing = {"comments"} if len(more) < len(new) else set()
    nodes, its_nodes = ([row for row in side if "-" not in row[0]] for side in (rows, its))
    graph, its_graph = ([r if "." in r[0] else [r[0], r[DEPS]] for r in side] for side in (nodes, its_nodes))
    if not _has_graph(rows):
        rows = _with_graph(rows, its)
    elif graph != its_graph and _has_graph(its):
        differing.add("DEPS and empty nodes")
    extra = {row[0]: row[10:] for row in rows}
    if any(extra.get(row[0], row[10:]) != row[10:] for row in its):
        differing.add("columns after MISC")
    theirs = {row[0]: row[9] for row in its}
    for row in rows:
        others_marks = _marks(theirs.get(row[0], "_"))
        own = [_by_both(entry, others_marks) for entry in row[9].split("|") if entry != "_"]
        names = {entry.partition("=")[0] for entry in own}
        unseen = [entry for entry in theirs.get(row[0], "_").split("|") if entry not in ("_", *own)]
        unseen = [entry for entry in unseen if not entry.startswith(guess_marks.CHANCES)]
        kept = [entry for entry in unseen if entry.partition("=")[0] not in (*names, *_OF_TEXT)]
        if any(entry not in kept and not entry.startswith(MARKS) for entry in unseen):
            differing.add("MISC")
        row[9] = "|".join([*own, *kept]) or "_"
    return [*comments, *more, *map("\t".join, rows)], differing


def _marks(misc: str) -> dict[str, str]:
    """The names in the marks of MISC, by mark."""
    parts = (entry.partition("=") for entry in misc.split("|"))
    return {key + sign: names for key, sign, names in parts if key + sign in MARKS}


def _by_both(entry: str, others_marks: Mapping[str, str]) -> str:
    """An entry of MISC; a mark that both sides have gets the names of both, each once."""
    mark = entry.partition("=")[0] + "="
    if mark not in others_marks or mark not in MARKS:
        return entry
    names = [*entry[len(mark) :].split(NAMES), *others_marks[mark].split(NAMES)]
    return mark + NAMES.join(dict.fromkeys(names))


def _has_graph(rows: Sequence[Sequence[str]]) -> bool:
    """Whether a sentence has DEPS or empty nodes."""
    return any("." in row[0] or row[DEPS] != "_" for row in rows)


def _with_graph(rows: Sequence[list[str]], its: Sequence[list[str]]) -> list[list[str]]:
    """The rows of a sentence with DEPS and empty nodes of another one of the same words."""
    deps = {row[0]: row[DEPS] for row in its if row[0].isdigit()}
    after: dict[str, list[list[str]]] = {}
    for row in its:
        if "." in row[0]:
            after.setdefault(row[0].partition(".")[0], []).append([*row])
    found = after.get("0", [])
    for row in rows:
        found.append([*row[:DEPS], deps.get(row[0], row[DEPS]), *row[DEPS + 1 :]])
        found += after.get(row[0], [])
    return found


def _key(comment: str) -> str:
    """The name in a comment `# name = value`; a comment without a value is its own name."""
    found = _COMMENT_KEY.match(comment)
    return found[1] if found and found[2] else comment


WRITE_EVERY = 1.0

logger = logging.getLogger("dynet_vdgi")


class StaleDecisionError(DecisionError):
    """Somebody has decided since the page last saw the sentence, for instance in another tab."""

    status = 409


class DecisionOrder(Struct):
    """A side that the page takes for some differences of a part, as it has seen it; None: none."""

    part: int
    version: int
    keys: list[str]
    side: Literal[0, 1] | None


class DecisionPage(server.Page):
    """The requests; parts with differences are numbered from 0."""

    FIRST = "beside.html"
    GETS = ("state", "next", "part/{number:number}")
    POSTS = ("decide", "undo")

    def __init__(self, work: Adjudication) -> None:
        self._work = work

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        writing = asyncio.create_task(self._write_on())
        try:
            yield
        finally:
            writing.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await writing

    async def _write_on(self) -> None:
        while True:
            await asyncio.sleep(WRITE_EVERY)
            try:
                self._work.save()
            except VdgiError as error:
                logger.warning("%s", error)

    async def state(self, request: Request) -> Response:
        work = self._work
        names = [work.two.one.path, work.two.other.path, str(work.path)]
        content = {"files": names, "name": work.name, "fault": work.fault}
        content |= {"more": work.not_compared_in_words()}
        return JSONResponse({**content, **work.counts()})

    async def next(self, request: Request) -> Response:
        """The number of the next part with something to decide, null if there is none."""
        after = server.asked(request, "after")
        return JSONResponse({"next": self._work.next_open(-1 if after is None else after)})

    async def part(self, request: Request) -> Response:
        return self._shown(request.path_params["number"])

    async def decide(self, request: Request) -> Response:
        """Takes a side for some differences; the answer comes when that is on the disk."""
        order = await server.order_of(request, DecisionOrder)
        if order is None:
            raise DecisionError("this is no decision")
        if self._work.part(order.part).version != order.version:
            raise StaleDecisionError("this sentence was decided elsewhere meanwhile; here it is as it is now")
        self._work.decide(order.part, order.keys, order.side)
        return self._shown(order.part)

    async def undo(self, request: Request) -> Response:
        return self._shown(self._work.undo())

    def _shown(self, number: int) -> Response:
        part = self._work.part(number)
        sides = list(zip(part.sides, part.numbers))
        blocks = [side.blocks[numbers[0]] for side, numbers in sides]
        trees = []  # of all words of both sides, with heads as places among them, 0: ROOT, -1: none
        for side, numbers in sides:
            words = side.words_in(numbers)
            heads = [side.heads[word] for word in words]
            trees.append(
                [
                    {
                        "form": side.columns[word][1],
                        "tag": side.columns[word][3],
                        "head": head - words.start + 1 if head >= 0 else head - ROOT,
                        "label": side.columns[word][7],
                    }
                    for word, head in zip(words, heads)
                ]
            )
        content = {
            "number": number,
            "version": part.version,
            "places": [f"{block.path}:{block.line}" for block in blocks],
            "sent_id": sent_id_of(blocks[0].lines) or sent_id_of(blocks[1].lines) or "",
            "trees": trees,
            "items": items(part),
            "fault": part.tree_fault(),
            "waits": part.waits,
        }
        return JSONResponse(content)
