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
from itertools import groupby
from pathlib import Path

from dynet_vdgi.annotation.annotated_text import AnnotatedText, Snapshot, TextChange
from dynet_vdgi.annotation.marked import (
    NOTHING,
    MarkedArc,
    MarkedColumns,
    MarkedSentence,
    SentenceState,
    block,
)
from dynet_vdgi.annotation.mending import UNSET, CircleError, mended
from dynet_vdgi.data import files, raw_text
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
_WORD = re.compile(r"\S+")
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
    while first < last and _is_word(text[first]):
        first += 1
    while last > first and _is_word(text[last - 1]):
        last -= 1
    if its := kept[bisect_left(kept, (start, start)) : bisect_left(kept, (end, end))]:
        first, last = min(first, its[0][0]), max(last, its[-1][1])
    middle = [(first, last)] if first < last else []
    return [*_runs(text, start, first), *middle, *_runs(text, last, end)]


def _is_word(letter: str) -> bool:
    """Whether a character at the edge of a stretch is cut off as a word of its own."""
    return letter not in KEPT and is_mark(letter)


def _runs(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Runs of equal characters."""
    runs = [list(run) for _, run in groupby(range(start, end), key=text.__getitem__)]
    return [(run[0], run[-1] + 1) for run in runs]


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
# Sentences are aligned by sent_id and then by their words. A sentence that the other program left alone is
# the session's; another is the file's, with what was confirmed in the session carried over to the words
# that are still there. A confirmed arc that the other program has changed, in a sentence with the same
# words, is a contradiction that only a person can resolve, and so is what both have changed since the file
# was written.


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
    partner = _aligned(in_file, found)
    rebuilt = _rebuilt(in_file, text.sentences)
    place = {m: k for k, m in partner.items()}
    result: list[MarkedSentence] = []
    next_id = text.new_id()
    for k, theirs in enumerate(found):
        before = in_file[partner[k]] if k in partner else None
        is_same = before is not None and block(theirs) == block(before)
        if before is not None and before.id in rebuilt:
            olds, news = rebuilt[before.id]
            if not is_same or any(m not in place for m in olds):
                raise _contradiction(path, journal, theirs, "a sentence that was cut, joined or split here")
            if partner[k] == olds[0]:
                result += news
            continue
        is_given = before is None or (before.given and before.is_as_found(before.state))
        if right_by and is_given and theirs.has_tree_without_marks:
            theirs.take_as_right(right_by)
        if before is None or before.id not in text.by_id:
            theirs.id, next_id = next_id, next_id + 1
            result.append(theirs)
        elif is_same:
            result.append(text.by_id[before.id])
        else:
            try:
                _merge(text.by_id[before.id], before, theirs, text)
            except _ContradictionError as error:
                raise _contradiction(path, journal, theirs, str(error), error.word) from None
            result.append(theirs)
    old = text.sentences
    if result == old:
        return None
    start = end = 0
    while start < min(len(old), len(result)) - 1 and old[start] is result[start]:
        start += 1
    while end < min(len(old), len(result)) - start - 1 and old[-1 - end] is result[-1 - end]:
        end += 1
    changed = [
        Snapshot.of(one)._replace(recorded=one.recorded or block(one, form="journal"))
        for one in result[start : len(result) - end]
    ]
    gone = tuple(map(Snapshot.of, old[start : len(old) - end]))
    return TextChange("outside", 0, "", 0, gone, tuple(changed))


def _aligned(before: Sequence[MarkedSentence], found: Sequence[MarkedSentence]) -> dict[int, int]:
    """For each sentence found, by place, the place of the one that it was before, in the same order."""
    keys = [
        [_key(marked, ids) for marked in side]
        for side, ids in ((before, _unique(before)), (found, _unique(found)))
    ]
    partner: dict[int, int] = {}
    for kind, a, b, c, d in SequenceMatcher(None, keys[0], keys[1], autojunk=False).get_opcodes():
        if kind == "equal" or (kind == "replace" and b - a == d - c):
            partner.update(zip(range(c, d), range(a, b)))
        elif kind == "replace":
            partner.update(_most_alike(before, found, range(a, b), range(c, d)))
    return partner


def _unique(sentences: Sequence[MarkedSentence]) -> set[str]:
    names = [marked.sent_id for marked in sentences]
    return {name for name in names if name} if len({*names}) == len(names) else set()


def _key(marked: MarkedSentence, ids: set[str]) -> object:
    return marked.sent_id if marked.sent_id in ids else marked.forms


def _most_alike(
    before: Sequence[MarkedSentence], found: Sequence[MarkedSentence], old: range, new: range
) -> dict[int, int]:
    """Sentences of two passages, in order, more than half of whose words are equal."""
    pairs: dict[int, int] = {}
    start = old.start
    for k in new:
        for m in range(start, old.stop):
            if SequenceMatcher(None, before[m].forms, found[k].forms, autojunk=False).ratio() > 0.5:
                pairs[k], start = m, m + 1
                break
    return pairs


def _rebuilt(
    before: Sequence[MarkedSentence], now: Sequence[MarkedSentence]
) -> dict[int, tuple[list[int], list[MarkedSentence]]]:
    """Sentences with other words or borders than before, by id, with their old places and what they are now.

    A sentence that is new came from the one in front of it, and one that is gone went into that.
    """
    old, new = ({marked.id for marked in side} for side in (before, now))
    groups: dict[int, tuple[list[int], list[MarkedSentence]]] = {}
    group: tuple[list[int], list[MarkedSentence]] = ([], [])
    for place, marked in enumerate(before):
        if marked.id in new or not groups:
            group = ([], [])
        group[0].append(place)
        groups[marked.id] = group
    group = groups[before[0].id]
    for marked in now:
        group = groups[marked.id] if marked.id in old else group
        group[1].append(marked)
    return {
        number: (places, sentences)
        for number, (places, sentences) in groups.items()
        if [before[m].forms for m in places] != [marked.forms for marked in sentences]
    }


class _ContradictionError(Exception):
    """Two changes of one thing since the file was last written, of which only a person can choose one."""

    def __init__(self, what: str, word: int = 0) -> None:
        super().__init__(what)
        self.word = word


def _merge(mine: MarkedSentence, before: MarkedSentence, theirs: MarkedSentence, text: AnnotatedText) -> None:
    """Gives the file's sentence what the session has said about the words that are still there."""
    is_given = before.given and before.is_as_found(before.state)  # then the file has no marks
    if theirs.forms == before.forms and not is_given:
        for number, (one, other) in enumerate(zip(before.arcs, theirs.arcs), 1):
            is_other_label = one.label_by and one.label != other.label
            if (one.head_by and one.head != other.head) or is_other_label:
                what = (
                    f"confirmed word {number} to {other.head} {other.label}, which is {one.head} {one.label}"
                )
                raise _ContradictionError(f"{what} here", number)
    place: dict[int, int] = {}  # of words of the file, the place in the session
    for a, b, size in SequenceMatcher(None, mine.forms, theirs.forms, autojunk=False).get_matching_blocks():
        place.update(zip(range(b + 1, b + size + 1), range(a + 1, a + size + 1)))
    theirs_of = {a: b for b, a in place.items()} | {0: 0, UNSET: UNSET}
    fresh = iter(text.new_wids(mine, len(theirs)))
    wids = tuple(mine.wids[place[k] - 1] if k in place else next(fresh) for k in range(1, len(theirs) + 1))
    arcs, columns = list(theirs.arcs), list(theirs.state.columns)
    for k, m in place.items():
        one, old = (
            arc._replace(head=theirs_of.get(arc.head, UNSET))
            for arc in (mine.arcs[m - 1], before.arcs[m - 1])
        )
        its, columns_now = theirs.arcs[k - 1], (mine.state.columns[m - 1], before.state.columns[m - 1])
        arc = its if is_given and one == old else _merged_arc(one, its, k)
        if its.head != old.head and its.head_by and arc.head_by and arc.head != its.head:
            raise _ContradictionError(f"the head of word {k} to {its.head}, which is {arc.head} here", k)
        arcs[k - 1], columns[k - 1] = arc, _merged_columns(*columns_now, columns[k - 1], k)
    comments = _with_changes(mine.state.comments, before.state.comments, theirs.state.comments)
    try:
        heads = mended([arc.head for arc in arcs], [bool(arc.head_by) for arc in arcs])
    except (ValueError, CircleError) as error:
        raise _ContradictionError(f"this tree, but with what is confirmed here, {error}") from None
    tree = tuple([arc if arc.head == head else arc._replace(head=head) for arc, head in zip(arcs, heads)])
    theirs.id, theirs.wids = mine.id, wids
    theirs.state = SentenceState(tree, tuple(columns), tuple(comments))


def _merged_columns(
    mine: MarkedColumns, before: MarkedColumns, theirs: MarkedColumns, word: int
) -> MarkedColumns:
    """The file's columns of a word with what the session has changed."""
    new = {}
    for name, ours, was, its in zip(MarkedColumns._fields, mine, before, theirs):
        if name == "misc":
            new[name] = "|".join(_with_changes(*(v.split("|") for v in (ours, was, its)))) or NOTHING
        elif ours != was:
            if its not in (was, ours) and not name.endswith("_by"):
                raise _ContradictionError(f"{name} of word {word} to {its!r}, which is {ours!r} here", word)
            new[name] = ours
    return theirs._replace(**new)


def _merged_arc(mine: MarkedArc, theirs: MarkedArc, word: int) -> MarkedArc:
    """The arc of the file's word with what the session has confirmed; heads are places in the file."""
    if mine.head_by and mine.head not in (UNSET, word):
        label = theirs if theirs.label_by and not mine.label_by else mine
        return mine._replace(label=label.label, label_by=label.label_by)
    if mine.label_by and theirs.head >= 0:
        return theirs._replace(label=mine.label, label_by=mine.label_by)
    return theirs


def _with_changes(mine: Sequence[str], before: Sequence[str], theirs: Sequence[str]) -> list[str]:
    """The other program's lines or entries without what the session has removed, and with its new ones."""
    kept = [one for one in theirs if one != NOTHING and (one in mine or one not in before)]
    return kept + [one for one in mine if one != NOTHING and one not in before and one not in kept]


def _contradiction(path: Path, journal: Path, theirs: MarkedSentence, what: str, word: int = 0) -> DataError:
    """That two have changed one thing, with its line and the ways out."""
    assert theirs.source is not None
    line = theirs.source.line + (theirs.source.rows[word - 1] if word else 0)
    hint = (
        f"move {path.name} away to have it written again from {journal.name}, "
        f"or {journal.name} to go on from the file as it stands"
    )
    return DataError(str(path), line, f"another program has changed {what}", hint)
