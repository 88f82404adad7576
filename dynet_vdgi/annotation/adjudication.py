"""Two annotations of one text made into a third: what is different, and which side somebody has taken.

The text is cut where a sentence ends in both files. Where sentences or words differ, one side's are taken as
a whole (`TOKENS`); of words in both files, each column is decided on its own. Until then the result has what
the first file has, and says so in MISC: `Differs=head,deprel`. What was decided has the marks of `vdgi
annotate`: `HeadBy=NAME` and so on. The rest is joined, see `joining`.

Decisions are in a journal beside the result before they count; the result is always replaced as a whole.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from dynet_vdgi.annotation import joining
from dynet_vdgi.annotation.journal import DAMAGED, HINT, Journal, Record
from dynet_vdgi.annotation.own_file import OwnFile
from dynet_vdgi.data import files
from dynet_vdgi.data.guesses import HEAD_BY, LABEL_BY
from dynet_vdgi.data.punctuation import cycle
from dynet_vdgi.errors import DataError, UsageError, VdgiError
from dynet_vdgi.evaluation.raw_scores import Side
from dynet_vdgi.evaluation.two_files import COLUMNS, Disagreement, Stretch, TwoFiles

TOKENS = "tokens"
ENDING = ".decisions"
FORMAT = 4  # of the journal
DIFFERS = "Differs="

MARKS = {
    "upos": "TagBy=",
    "xpos": "XposBy=",
    "feats": "FeatsBy=",
    "lemma": "LemmaBy=",
    "head": HEAD_BY,
    "deprel": LABEL_BY,
}
"""Who decided, by column."""


class DecisionError(VdgiError):
    """A decision that cannot be made."""


class Decision(NamedTuple):
    """A side, 0 or 1, and who took it."""

    side: int
    by: str


class Differing:
    """A stretch of the text with differences; `choices` by key: TOKENS, or `3:head` for its third pair."""

    def __init__(self, two: TwoFiles, stretch: Stretch) -> None:
        self.two, self.stretch = two, stretch
        self.differences: dict[str, Disagreement] = {}
        places = {pair: place for place, pair in enumerate(stretch.pairs, 1)}
        for found in two.disagreements(stretch):
            self.differences[f"{places[found.pair]}:{found.column}"] = found
        self.choices: dict[str, Decision] = {}
        self.differing: set[str] = set()  # what is not compared, and different; known when there are `lines`
        self.version = 0

    @property
    def keys(self) -> list[str]:
        """What there is to decide, in the order of the text."""
        return [*([] if self.stretch.same_words else [TOKENS]), *self.differences]

    @property
    def open(self) -> list[str]:
        return [key for key in self.keys if key not in self.choices]

    @property
    def base(self) -> int:
        """The side whose sentences and words the result has."""
        return self.choices[TOKENS].side if TOKENS in self.choices else 0

    def choose(self, choices: Mapping[str, Decision | None]) -> None:
        """Takes sides; None: a difference is open again."""
        for key, choice in choices.items():
            if choice is None:
                self.choices.pop(key, None)
            else:
                self.choices[key] = choice

    def lines(self) -> list[str]:
        """The lines of the result, sentences and all, each sentence ended by an empty line."""
        return [line for sentence in self.result() for line in (*sentence, "")]

    def result(self) -> list[list[str]]:
        """The lines of each sentence of the result."""
        side = (self.two.one, self.two.other)[self.base]
        numbers = (self.stretch.ones, self.stretch.others)[self.base]
        joined = self._joined()
        if not self.keys:  # most of a long text
            return joined
        is_tree = not self.tree_fault()
        changed = {
            pair[self.base]: self._changed(place, is_tree) for place, pair in enumerate(self.stretch.pairs, 1)
        }
        sentences = []
        for number, whole in zip(numbers, joined):
            word, lines = side.firsts[number], []
            for line in whole:
                if line.partition("\t")[0].isdecimal():
                    lines.append(_rewritten(line, *changed.get(word, ({}, {}))))
                    word += 1
                else:
                    lines.append(line)
            if not self.stretch.same_words and TOKENS not in self.choices:
                lines.insert(0, f"# differs = {TOKENS}")
            sentences.append(lines)
        return sentences

    def _joined(self) -> list[list[str]]:
        """The sentences of the base with what only the other side has besides the columns that are compared.

        The names of what both have differently are then in `differing`.
        """
        sides, numbers = (self.two.one, self.two.other), (self.stretch.ones, self.stretch.others)
        side, other = sides[self.base], sides[1 - self.base]
        others = [line for number in numbers[1 - self.base] for line in other.blocks[number].lines]
        is_one = len(numbers[0]) == len(numbers[1]) == 1
        if self.stretch.same_words:
            partners = {line.partition("\t")[0]: line for line in others}
        pairs = {pair[self.base]: pair[1 - self.base] for pair in self.stretch.pairs}
        found = []
        self.differing = set()
        for number in numbers[self.base]:
            if not self.stretch.same_words:
                words = side.words_in(range(number, number + 1))
                named = {side.columns[word][0]: pairs[word] for word in words if word in pairs}
                partners = {name: "\t".join(other.columns[word]) for name, word in named.items()}
            lines, differing = joining.joined(
                side.blocks[number].lines,
                others,
                partners,
                same_words=self.stretch.same_words,
                is_one=is_one,
            )
            found.append(lines)
            self.differing |= differing
        return found

    def _changed(self, place: int, is_tree: bool) -> tuple[dict[str, str], dict[str, str]]:
        """New values of a pair's columns, and who decided each; "" for what is open."""
        values, by = {}, {}
        for column in COLUMNS:
            key = f"{place}:{column}"
            if key not in self.differences:
                continue
            choice = self.choices.get(key)
            if choice is None or (column == "head" and not is_tree):
                by[column] = ""
                continue
            by[column] = choice.by
            if choice.side != self.base:
                values[column] = self._value(place, column)
        return values, by

    def _value(self, place: int, column: str) -> str:
        """What the side that is not the base has, in numbers of the base. Raises: DecisionError."""
        pair = self.stretch.pairs[place - 1]
        if column != "head":
            return self.two.values(pair, column)[1 - self.base]
        head = self._head(pair, 1 - self.base)
        if head is None:
            form = (self.two.one, self.two.other)[self.base].columns[pair[self.base]][1]
            raise DecisionError(f"the head of {form!r} on the other side is no word of the sentence here")
        return head

    def _head(self, pair: Sequence[int], side: int) -> str | None:
        """The head that a side gives to a word, in the sentence of the base; None if it is not there."""
        sides = (self.two.one, self.two.other)
        head = sides[side].heads[pair[side]]
        if head < 0:
            return "0" if head == -1 else "_"
        partner = head if side == self.base else self._partners().get(head)
        base = sides[self.base]
        sentence = bisect_right(base.firsts, pair[self.base]) - 1
        if partner is None or partner not in base.words_in(range(sentence, sentence + 1)):
            return None
        return str(partner - base.firsts[sentence] + 1)

    def _partners(self) -> dict[int, int]:
        """The words of the base for those of the other side."""
        return {pair[1 - self.base]: pair[self.base] for pair in self.stretch.pairs}

    def tree_fault(self) -> str:
        """Why the chosen heads are no tree; "" if they are, or the base has none itself."""
        side = (self.two.one, self.two.other)[self.base]
        chosen = {
            self.stretch.pairs[int(key.partition(":")[0]) - 1][self.base]: key
            for key, choice in self.choices.items()
            if key.endswith(":head") and choice.side != self.base
        }
        if not chosen:
            return ""
        for number in (self.stretch.ones, self.stretch.others)[self.base]:
            heads = []
            for word in side.words_in(range(number, number + 1)):
                text = side.columns[word][6]
                if word in chosen:
                    text = self._value(int(chosen[word].partition(":")[0]), "head")
                heads.append(-1 if text == "_" else int(text))
            if heads.count(0) > 1:
                return f"words {', '.join(str(w) for w, head in enumerate(heads, 1) if head == 0)} are roots"
            if circle := cycle(heads):
                return f"words {', '.join(map(str, circle))} form a circle of heads"
            if not heads.count(0) and -1 not in heads:
                return "no word is the root"
        return ""


def _rewritten(line: str, values: Mapping[str, str], by: Mapping[str, str]) -> str:
    """A word's line with new values and marks; an untouched line as it was."""
    if not by:
        return line
    columns = line.split("\t")
    for column, value in values.items():
        columns[COLUMNS[column]] = value
    misc = [entry for entry in columns[9].split("|") if entry != "_" and not entry.startswith(DIFFERS)]
    for column, name in by.items():
        misc = [entry for entry in misc if not entry.startswith(MARKS[column])]
        if name:
            misc.append(MARKS[column] + name)
    if undecided := [column for column, name in by.items() if not name]:
        misc.append(DIFFERS + ",".join(undecided))
    columns[9] = "|".join(misc) or "_"
    return "\t".join(columns)


class Adjudication:
    """The differences of two files, and decisions by `name` from now on.

    Raises:
        DataError: a file is malformed, the texts differ, or the journal does not belong to them.
        UsageError: the result exists and is not of these decisions, or another process has it.
    """

    def __init__(self, one: str, other: str, output: str, name: str) -> None:
        self.name, self.path = name, Path(output)
        self.two = TwoFiles.read(one, other)
        self._all = [Differing(self.two, stretch) for stretch in self.two.stretches()]
        self.parts = [part for part in self._all if part.keys]
        self.fault = ""
        self._undo: list[tuple[int, dict[str, Decision | None]]] = []
        self._written: set[str] = set()
        inputs = [files.sha256(path) for path in (one, other)]
        journal_path = self.path.with_name(self.path.name + ENDING)
        is_there = self.path.exists()
        if is_there and not journal_path.exists():
            raise UsageError(f"{output} exists; name another file with -o, or move it away")
        self.journal = Journal(journal_path, FORMAT)
        try:
            if self.journal.records:
                self._replay(self.journal.records, inputs)
            else:
                self.journal.add({"journal": FORMAT, "beside": inputs})
            if is_there and files.sha256(self.path) not in self._written:
                raise UsageError(
                    f"{output} was changed by another program; name another file, or move it away"
                )
            self._write_first()
        except BaseException:
            self.journal.close()
            raise

    def _write_first(self) -> None:
        content, _ = self._noted()
        with files.atomic_bytes_writer(self.path) as handle:
            handle.write(content)
        self._file = OwnFile(self.path)
        self._file.look()
        self.is_unsaved = False

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
            try:
                if "written" in record:
                    self._written.add(str(record["written"]))
                    continue
                part = self.parts[record["part"]] if type(record["part"]) is int else None
                choices = {
                    key: None if choice is None else Decision(int(choice[0]), str(choice[1]))
                    for key, choice in record["choices"].items()
                }
                if part is None or not set(choices) <= set(part.keys) or record["part"] < 0:
                    raise ValueError
                self._apply(record["part"], choices, is_undo=bool(record.get("undo")))
            except (KeyError, IndexError, TypeError, ValueError, AttributeError):
                raise DataError(str(self.journal.path), number, DAMAGED, HINT) from None

    def _apply(self, number: int, choices: Mapping[str, Decision | None], is_undo: bool) -> None:
        part = self.parts[number]
        if is_undo:
            if not self._undo:
                raise ValueError
            self._undo.pop()
        else:
            self._undo.append((number, {key: part.choices.get(key) for key in choices}))
        part.choose(choices)
        part.version += 1
        self.is_unsaved = True

    def _change(self, number: int, choices: Mapping[str, Decision | None], is_undo: bool = False) -> None:
        """Makes a change once it is on the disk; what is impossible changes nothing."""
        part = self.parts[number]
        before = dict(part.choices)
        part.choose(choices)
        try:
            part.lines()  # Raises: DecisionError, a head that is not in the sentence
        finally:
            part.choices = before
        record: Record = {"part": number, "choices": choices}
        self.journal.add({**record, "undo": True} if is_undo else record)
        self._apply(number, choices, is_undo)

    def decide(self, number: int, keys: Sequence[str], side: int | None) -> None:
        """Takes a side for some differences of a part; None: they are open again.

        Raises: DecisionError, there is no such difference, or a head of this side has no partner.
        """
        part = self.parts[number]
        if not keys or not set(keys) <= set(part.keys):
            raise DecisionError("there is no such difference")
        self._change(number, {key: None if side is None else Decision(side, self.name) for key in keys})

    def undo(self) -> int:
        """Takes the last decision back; returns the number of its part. Raises: DecisionError."""
        if not self._undo:
            raise DecisionError("there is nothing to undo")
        number, before = self._undo[-1]
        self._change(number, before, is_undo=True)
        return number

    def next_open(self, after: int) -> int | None:
        """The next part with something open, beginning again at the end; None if all is decided."""
        order = [*range(after + 1, len(self.parts)), *range(after + 1)]
        return next(
            (number for number in order if self.parts[number].open or self.parts[number].tree_fault()), None
        )

    def not_compared(self) -> dict[str, int]:
        """Where both files have something different that nobody can decide here: kinds, with sentences."""
        return dict(sorted(Counter(kind for part in self._all for kind in part.differing).items()))

    def counts(self) -> dict[str, int]:
        """How many differences there are, and how many are decided."""
        total = sum(len(part.keys) for part in self.parts)
        return {
            "parts": len(self.parts),
            "differences": total,
            "decided": total - sum(len(part.open) for part in self.parts),
        }

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


class Item(NamedTuple):
    """A difference as the page shows it."""

    key: str
    column: str
    word: int  # its place among the words of the base; 0: the whole sentence
    form: str
    values: tuple[str, str]


def items(part: Differing) -> Iterator[Item]:
    """What there is to decide, in the order of the text."""
    two, base = part.two, part.base
    sides, sentences = (two.one, two.other), (part.stretch.ones, part.stretch.others)
    first = sides[base].words_in(sentences[base]).start
    for key in part.keys:
        if key == TOKENS:
            yield Item(key, TOKENS, 0, "", (_words(sides[0], sentences[0]), _words(sides[1], sentences[1])))
            continue
        found = part.differences[key]
        word = found.pair[base]
        values = found.one, found.other
        if found.column == "head":
            values = _head(two.one, found.pair.one), _head(two.other, found.pair.other)
        yield Item(key, found.column, word - first + 1, sides[base].columns[word][1], values)


def _words(side: Side, sentences: range) -> str:
    """The words of some sentences, with a dot between two sentences."""
    each = [side.words_in(range(number, number + 1)) for number in sentences]
    return " · ".join(" ".join(side.columns[word][1] for word in words) for words in each)


def _head(side: Side, word: int) -> str:
    """A word's head with its form."""
    head = side.heads[word]
    if head < 0:
        return "ROOT" if head == -1 else "_"
    return f"{side.columns[word][6]} {side.columns[head][1]}"
