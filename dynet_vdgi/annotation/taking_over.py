"""Texts from elsewhere: plain text as a treebank, and changes that other programs made to the file.

Plain text as CoNLL-U, with a tokeniser, or by a simple rule where a language has none yet.

The rule: an empty line ends a paragraph, and with it a sentence; a sentence also ends after . ! ? and such
marks of other scripts, with the closing quotation marks and brackets behind them, before white space. Words
end at white space; the marks at a word's edges are words of their own, except the apostrophe, the hyphen, and
those of addresses, @names and the like (`tokenising.whole`). If each line is a sentence, no other ends are
looked for. What this gets wrong is what the page's splitting, joining, cutting and gluing is for.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from difflib import SequenceMatcher
from pathlib import Path

from dynet_vdgi.annotation.annotated_text import AnnotatedText, TextChange
from dynet_vdgi.annotation.marked import MarkedSentence, as_written
from dynet_vdgi.data import files, raw_text
from dynet_vdgi.data.conllu_writing import HEAD_BY, LABEL_BY
from dynet_vdgi.data.punctuation import is_mark
from dynet_vdgi.data.raw_text import Document, Token, TokenisedSentence
from dynet_vdgi.errors import DataError, UsageError
from dynet_vdgi.parsing.steps import Steps, step_file
from dynet_vdgi.tokenising.characters import Seen
from dynet_vdgi.tokenising.whole import wholes

ENDS = ".!?…。！？｡।॥؟۔։።፧၊။"
"""Characters that may end a sentence."""

CLOSING = "\"'”’»›)]）］」』】"
KEPT = "'’-‐\u200c\u200d"
"""Marks that belong to the word at whose edge they stand."""

_PARAGRAPH = re.compile(r"\S(?:.|\n(?!\s*\n))*")
_WORD, _RUN = re.compile(r"\S+"), re.compile(r"(.)\1*", re.DOTALL)
_END = re.compile(rf"[{re.escape(ENDS)}]+[{re.escape(CLOSING)}]*$")


def conllu_of(path: str, tokeniser: str | None, *, lines: bool = False) -> str:
    """The CoNLL-U of a text file, without tags.

    tokeniser: a tokeniser's file. lines: each line is a sentence.

    Raises: DataError, the text is CoNLL-U, not UTF-8, or empty; ModelError, the tokeniser is damaged.
    """
    if tokeniser is not None:
        found = Steps({"tokeniser": step_file("tokeniser", tokeniser)}).tokeniser
        assert found is not None
        return "".join(content for _, content in found.read(path, lines=lines))
    text = files.read_text(path).removeprefix(raw_text.BYTE_ORDER_MARK)
    raw_text.check_raw(text, path)
    sentences = by_rule(text, lines=lines)
    if not sentences:
        raise DataError(path, None, "no text", "the file holds nothing but white space")
    return raw_text.conllu(Document(text, tuple(sentences), Path(path).name))


def by_rule(text: str, *, lines: bool = False) -> list[TokenisedSentence]:
    """The sentences of a text by the rule of this module; `lines`: its lines.

    >>> [[text[t.start:t.end] for t in s.tokens] for text in ["He left (late). Why?"] for s in by_rule(text)]
    [['He', 'left', '(', 'late', ')', '.'], ['Why', '?']]
    """
    seen = Seen.of(text)
    kept = [(found.start, found.end) for found in wholes(seen.text)]
    sentences = []
    for paragraph in _PARAGRAPH.finditer(seen.text):
        groups: list[list[tuple[int, int]]] = [[]]
        for word in _WORD.finditer(seen.text, *paragraph.span()):
            if lines and groups[-1] and "\n" in seen.text[groups[-1][-1][1] : word.start()]:
                groups.append([])
            groups[-1] += _pieces(seen.text, *word.span(), kept)
            if _END.search(word[0]) and not lines:
                groups.append([])
        for number, group in enumerate(filter(None, groups)):
            places = [(int(seen.starts[start]), int(seen.ends[end - 1])) for start, end in group]
            tokens = tuple([Token(start, end, (text[start:end],)) for start, end in places])
            sentences.append(TokenisedSentence(tokens, number == 0))
    return sentences


def _pieces(text: str, start: int, end: int, kept: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """A stretch without white space as words: marks at its edges are words, equal ones together.

    kept: stretches of the text whose marks are not cut off.
    """
    first, last = start, end
    while first < last and text[first] not in KEPT and is_mark(text[first]):
        first += 1
    while last > first and text[last - 1] not in KEPT and is_mark(text[last - 1]):
        last -= 1
    if its := kept[bisect_left(kept, (start, start)) : bisect_left(kept, (end, end))]:
        first, last = min(first, its[0][0]), max(last, its[-1][1])
    before, after = ([m.span() for m in _RUN.finditer(text, *ends)] for ends in ((start, first), (last, end)))
    return [*before, *([(first, last)] if first < last else []), *after]


def beside(path: str, tokeniser: str | None, *, lines: bool = False) -> str:
    """Writes the CoNLL-U of a text file beside it, and returns its name.

    Raises: UsageError, there is a file of this name; others as `conllu_of`.
    """
    name = str(Path(path).with_suffix(".conllu"))
    if Path(name).exists():
        raise UsageError(f"{name} exists already: vdgi annotate {name} goes on with it")
    content = conllu_of(path, tokeniser, lines=lines)
    with files.atomic_writer(name) as handle:
        handle.write(content)
    return name


# ----------------------------------------------------------------------------------------------------
# Taking over a file that another program has changed since it was last written.
#
# What only the other program has changed is the file's, and what was changed only here is the session's. A
# sentence that both have changed, and a confirmed arc that the other program has changed, are contradictions
# that only a person can resolve.


def step_of(
    text: AnnotatedText,
    found: Sequence[MarkedSentence],
    in_file: Sequence[MarkedSentence],
    path: Path,
    journal: Path,
    right_by: str = "",
) -> TextChange | None:
    """The change that makes the text of the sentences found in the file; None: nothing is to be changed.

    `in_file`: the sentences when the session last wrote the file. `right_by`: who has said that the file's
    trees are right.

    Raises: DataError, the file contradicts what was said in the session.
    """

    def contradiction(place: int, what: str, word: int = 0) -> DataError:
        source = found[min(place, len(found) - 1)].source
        line = source.line + (source.rows[word - 1] if word else 0)
        hint = (
            f"move {path.name} away to have it written again from {journal.name}, "
            f"or {journal.name} to go on from the file as it stands"
        )
        return DataError(str(path), line, f"another program has changed {what}", hint)

    mine, new_id = text.sentences, text.next_id
    here = _changes([(m.id, _said(m)) for m in in_file], [(m.id, _said(m)) for m in mine])
    there = _changes([_said(m) for m in in_file], [_said(m) for m in found])
    n, begin, place = len(in_file), 0, 0
    slots: list[list[MarkedSentence]] = [[] for _ in range(2 * n + 1)]  # in front of a sentence, and its own
    for start, end, first, last in (*here, (n, n, len(mine), len(mine))):
        for k in range(start - begin):
            slots[2 * (begin + k) + 1] = [mine[place + k]]
        slots[2 * start + (end > start)] = mine[first:last]
        begin, place = end, last
    for start, end, first, last in there:
        if any(start < b and a < end for a, b, _, _ in here):
            raise contradiction(first, "a sentence that was changed here, too")
        olds = {m.sent_id or m.forms: m for m in in_file[start:end]}
        for k in range(first, last):
            theirs = found[k]
            is_pair = end - start == last - first
            before = in_file[start + k - first] if is_pair else olds.pop(theirs.sent_id or theirs.forms, None)
            is_given = before is None or (before.given and before.is_as_found(before.state))
            if right_by and is_given and theirs.has_tree_without_marks:
                theirs.take_as_right(right_by)
            if before is None:
                theirs.id, new_id = new_id, new_id + 1
                continue
            theirs.id = before.id
            if theirs.forms != before.forms:
                theirs.wids = tuple(text.new_wids(before, len(theirs)))
                continue
            theirs.wids = before.wids
            if is_given:
                continue
            arcs = []
            for word, (one, other) in enumerate(zip(before.arcs, theirs.arcs), 1):
                if (one.head_by and one.head != other.head) or (one.label_by and one.label != other.label):
                    its, own = f"{other.head} {other.label}", f"{one.head} {one.label}"
                    raise contradiction(k, f"confirmed word {word} to {its}, which is {own} here", word)
                by = other.head_by or one.head_by, other.label_by or one.label_by
                arcs.append(other._replace(head_by=by[0], label_by=by[1]))
            theirs.arcs = tuple(arcs)  # confirmed, too, if the other program has removed the marks
        slots[2 * start + 1 : 2 * end] = [[] for _ in range(2 * (end - start) - 1)]
        slots[2 * start + (end > start)] += found[first:last]
    return text.replacing([marked for slot in slots for marked in slot])


def _changes(before: Sequence[object], now: Sequence[object]) -> list[tuple[int, int, int, int]]:
    """The stretches that differ: places before, and places now."""
    found = SequenceMatcher(None, before, now, autojunk=False).get_opcodes()
    return [(a, b, c, d) for kind, a, b, c, d in found if kind != "equal"]


def _said(marked: MarkedSentence) -> str:
    """A sentence as in the file, but without guesses beside confirmed arcs, which no journal has."""
    text = as_written(marked)
    if HEAD_BY not in text and LABEL_BY not in text:
        return text
    rows = [line.split("\t") for line in text.split("\n")]
    for row in rows:
        if len(row) == 10:
            row[6:8] = [v if by in row[9] else "" for v, by in zip(row[6:8], (HEAD_BY, LABEL_BY))]
    return "\n".join(map("\t".join, rows))
