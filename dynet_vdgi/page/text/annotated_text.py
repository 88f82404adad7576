"""The sentences of a text and their history: changes are made, undone and redone.

Knows neither file nor journal. A change replaces sentences that follow each other, mostly one, by
others; the journal has each as CoNLL-U, with marks and guesses. A sentence has a number for life
(`id`), a place in `sentences`, and counts of edits and versions that never go back, so that a page
can tell whether it is up to date.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from dynet_vdgi.conllu import tree_faults
from dynet_vdgi.conllu.places import Place
from dynet_vdgi.errors import DataError, UsageError
from dynet_vdgi.page.learn.analogy import Analogies
from dynet_vdgi.page.learn.described import Described
from dynet_vdgi.page.learn.splits import Splits
from dynet_vdgi.page.store.journal import Record
from dynet_vdgi.page.text import changes, tokens
from dynet_vdgi.page.text.guesses import TagGuess
from dynet_vdgi.page.text.marked import MarkedSentence
from dynet_vdgi.page.text.offered_relations import Relations
from dynet_vdgi.page.text.sentence_blocks import block, read_text
from dynet_vdgi.page.text.sentence_cuts import cut, glue
from dynet_vdgi.page.text.sentence_layout import SentenceLayout
from dynet_vdgi.page.text.sentence_state import (
    NO_VALUE,
    UNSET,
    ChangeError,
    MarkedArc,
    SentenceState,
    has_arc_marks,
    state_in,
)
from dynet_vdgi.page.text.word_columns import COLUMNS, merged_feats
from dynet_vdgi.system import files

A_POINT = 25
"""Finished sentences over which the parser's accuracy is taken, at any time and for each point of
its curve."""

PARSED_AGAIN = ("head", "tag", "split", "join", "cut", "glue")
"""Changes after which the rest of the sentence is parsed again."""

MOST_UNDONE = 1000
"""Changes that can be undone: each holds a sentence as it was."""

EVERYWHERE = "everywhere"
"""The name of a change of one column of many words."""

OTHERS = "others"
"""The name of a change by another program, which no undo takes back."""


class Snapshot(NamedTuple):
    """A sentence as it was or will be, guesses included."""

    marked: MarkedSentence
    state: SentenceState
    sure: tuple[float | None, ...]

    @classmethod
    def of(cls, marked: MarkedSentence) -> Snapshot:
        return cls(marked, marked.state, marked.sure)


class TextChange(NamedTuple):
    """A change of a sentence, at a word, by a person, at a time: what it replaces, and by what."""

    what: str
    word: int
    by: str
    at: int
    old: tuple[Snapshot, ...]
    new: tuple[Snapshot, ...]


class SentenceRecord(Struct, omit_defaults=True):
    """A sentence before or after a change in the journal; None: as it is, or as its lines are."""

    id: int
    block: str | None = None
    # of a sentence that is another one: with other words, or found in a file again
    lines: str | None = None
    wids: tuple[int, ...] = ()
    given: str = ""  # see `MarkedSentence`
    is_from_file: bool = msgspec.field(default=False, name="found")
    # words and reasons, where the lines no longer show them
    opened: tuple[tuple[int, str], ...] = ()


class StepRecord(Struct, frozen=True, omit_defaults=True):
    """A change in the journal; an undo or a redo has no sentences."""

    op: str
    by: str = ""
    at: int = 0
    w: int = 0  # place of the word
    old: tuple[SentenceRecord, ...] = ()
    new: tuple[SentenceRecord, ...] = ()


class AnnotatedText:
    """Sentences in the order of the file, by id, and the changes made to them."""

    def __init__(self, sentences: Sequence[MarkedSentence], name: str = "") -> None:
        self.sentences = list(sentences)
        self.by_id = {marked.id: marked for marked in self.sentences}
        self.undo: list[TextChange] = []
        self.redo: list[TextChange] = []
        self.relations = Relations(self.sentences)
        # by id, the latest at the end: see `_counts_right_before`
        self.finished: dict[int, tuple[int, int, int]] = {}
        # trees when nobody had confirmed anything
        self._before: dict[int, tuple[MarkedArc, ...]] = {}
        self._done = {marked.id for marked in self.sentences if marked.is_done}
        self._analogies: Analogies | None = None
        self.splits = Splits()
        self._name = name
        # sentences by id, words and reasons, of --list
        self.listed: Sequence[tuple[int, int, str]] = ()
        self.next_id = 1 + max(self.by_id, default=-1)  # a number that no sentence has had
        self._last_wid = {marked.id: max(marked.wids) for marked in self.sentences}
        self._counts: dict[int, tuple[int, int]] = {}  # edits and versions that a sentence has had

    def of_id(self, number: int) -> MarkedSentence:
        """Raises: ChangeError, there is no such sentence."""
        if number not in self.by_id:
            raise ChangeError("there is no such sentence")
        return self.by_id[number]

    def number(self, marked: MarkedSentence) -> int:
        """The place of a sentence in the file, from 0."""
        return self.sentences.index(marked)

    def new_wids(self, marked: MarkedSentence, count: int) -> range:
        """Numbers that no word of a sentence has had."""
        start = self._last_wid[marked.id] + 1
        return range(start, start + count)

    @property
    def analogies(self) -> Analogies:
        """What the words described so far say of others; counted when it is first asked for."""
        if self._analogies is None:
            self._analogies = Analogies(self.sentences)
        return self._analogies

    def progress(self) -> dict[str, Any]:
        """How much is done, and what the parser had right in what was finished, before anybody
        confirmed anything."""
        counts = [right for right in self.finished.values() if right[-1]]

        def shares(end: int) -> list[float]:
            *n_right, n_words = map(sum, zip(*counts[max(0, end - A_POINT) : end]))
            return [round(n / n_words, 4) for n in n_right]

        return {
            "sentences": len(self.sentences),
            "sentences_done": len(self._done),
            "latest": shares(len(counts)) if counts else None,
            "curve": [shares(end) for end in range(A_POINT, len(counts) + 1, A_POINT)],
            "can_undo": bool(self.undo),
            "can_redo": bool(self.redo),
        }

    def step(
        self, marked: MarkedSentence, what: str, word: int, value: Any, by: str
    ) -> TextChange | None:
        """A person's change, not yet made; None: it is so already. Raises: ChangeError, it is
        impossible."""
        old, new = [marked], []
        if what not in tokens.TOKEN_CHANGES:
            state = changes.new_state(marked, what, word, value, by)
            if state == marked.state:
                return None
            new = [Snapshot(marked, state, marked.sure)]
        else:
            if what == "glue":
                place = self.number(marked) + 1
                if place == len(self.sentences):
                    raise ChangeError("there is no next sentence to join with")
                old.append(self.sentences[place])
            new = self._snapshots_after_tokens(old, what, word, value)
            if [block(each.marked) for each in new] == [block(each) for each in old]:
                return None
        return TextChange(
            what, word, by, round(time.time()), tuple(map(Snapshot.of, old)), tuple(new)
        )

    def step_for_all(
        self, words: Sequence[tuple[int, int]], what: str, value: Any, by: str
    ) -> TextChange | None:
        """One change of the relation or a column of many words, each a sentence's id and a place;
        features merge.

        None: all is so already. Raises: ChangeError, it is impossible for one of the words.
        """
        if what != "label" and what not in COLUMNS:
            raise ChangeError(f"{what[:20]!r} cannot be changed in many words at once")
        made: dict[int, MarkedSentence] = {}
        for number, word in words:
            new = made.setdefault(number, copy(self.of_id(number)))
            merges = what == "feats" and isinstance(value, str)
            new_value = merged_feats(new.columns[word - 1].feats, value) if merges else value
            try:
                new.state = changes.new_state(new, what, word, new_value, by)
            except ChangeError as error:
                place = 1 + self.number(self.by_id[number])
                raise ChangeError(
                    f"nothing is changed: in sentence {place}, word {word}, {error}"
                ) from None
        after = [Snapshot(self.by_id[k], new.state, new.sure) for k, new in made.items()]
        after = [one for one in after if one.state != one.marked.state]
        first = next((word for number, word in words if after and number == after[0].marked.id), 0)
        old = tuple([Snapshot.of(one.marked) for one in after])
        return (
            TextChange(EVERYWHERE, first, by, round(time.time()), old, tuple(after))
            if after
            else None
        )

    def _snapshots_after_tokens(
        self, old: Sequence[MarkedSentence], what: str, word: int, value: Any
    ) -> list[Snapshot]:
        """The sentences after a change of tokens."""
        marked = old[0]
        if what not in ("range", "glue") and not 1 <= word <= len(marked):
            raise ChangeError(f"there is no word {word}")
        layout = SentenceLayout.of(block(marked), marked.wids)
        layouts = {marked.id: layout}
        open_words = [(marked, marked.wids)]
        if what == "cut":
            names = [one.sent_id for one in self.sentences]
            layouts[self.next_id] = cut(layout, layout.words[word - 1], names)
        elif what == "glue":
            wids = tuple(self.new_wids(marked, len(old[1])))
            glue(layout, SentenceLayout.of(block(old[1]), wids))
            open_words.append((old[1], wids))
        else:
            tokens.change(layout, what, word, value, self.new_wids(marked, tokens.MOST_PARTS))
        snapshots = []
        for number, each in layouts.items():
            lines, wids = each.block(), tuple([word.wid for word in each.words])
            try:
                made = _read(SentenceRecord(number, lines=lines, wids=wids), "the new sentence")
            except (DataError, ValueError) as error:
                raise ChangeError(f"this cannot be done: {error}") from None
            if made.opened:
                raise ChangeError(f"this cannot be done: {next(iter(made.opened.values()))}")
            made.opened = _reasons_still_open(made, open_words)
            snapshots.append(Snapshot.of(made))
        return snapshots

    def replacement(self, sentences: Sequence[MarkedSentence]) -> TextChange | None:
        """The change that makes these the sentences; None: they are it already."""
        old = self.sentences
        if list(sentences) == old:
            return None
        start = end = 0
        while start < min(len(old), len(sentences)) - 1 and old[start] is sentences[start]:
            start += 1
        while (
            end < min(len(old), len(sentences)) - start - 1 and old[-1 - end] is sentences[-1 - end]
        ):
            end += 1
        gone, new = old[start : len(old) - end], sentences[start : len(sentences) - end]
        return TextChange(
            OTHERS, 0, "", 0, tuple(map(Snapshot.of, gone)), tuple(map(Snapshot.of, new))
        )

    def record(self, step: TextChange) -> Record:
        """A change that has not been made yet, for the journal."""
        old = [SentenceRecord(s.marked.id, block(s.marked, s.state, "journal")) for s in step.old]
        new = []
        for marked, state, _ in step.new:
            after = SentenceRecord(marked.id, block(marked, state, "journal"))
            if self.by_id.get(marked.id) is not marked:
                after.lines = "\n".join(marked.source.lines) + "\n\n"
                after.wids, after.given = marked.wids, marked.given
                after.is_from_file = marked.is_from_file
                after.opened = () if marked.is_from_file else tuple(marked.opened.items())
            new.append(after)
        record = StepRecord(step.what, step.by, step.at, step.word, tuple(old), tuple(new))
        return dict(msgspec.to_builtins(record))

    def repeat(self, record: Mapping[str, Any]) -> tuple[int, int]:
        """Makes a change of the journal again; returns its sentence and word.

        Raises: ValueError, LookupError, DataError, it does not fit the text.
        """
        step = msgspec.convert(record, StepRecord)
        if step.op in ("undo", "redo"):
            return self.back(step.op)
        for one in step.old:  # as it was shown before the change
            if one.block is not None:
                marked = self.by_id[one.id]
                marked.state = state_in(one.block, marked.source)
        old = [Snapshot.of(self.by_id[one.id]) for one in step.old]
        new = []
        for one in step.new:
            marked = self.by_id[one.id] if one.lines is None else _read(one, self._name)
            state = marked.state if one.block is None else state_in(one.block, marked.source)
            new.append(Snapshot(marked, state, marked.sure))
        self.apply(TextChange(step.op, step.w, step.by, step.at, tuple(old), tuple(new)))
        return new[0].marked.id, max(1, step.w)

    def apply(self, step: TextChange) -> None:
        """Makes a change; one by another program is no step of undo.

        Raises: ValueError, it does not fit the text.
        """
        if not has_arc_marks(step.old[0].state):
            self._before[step.old[0].marked.id] = step.old[0].state.arcs
        self._put(step.old, step.new)
        if step.what == OTHERS:
            self._drop_unfit(step)
            return
        self.undo.append(step)
        del self.undo[:-MOST_UNDONE]
        self.redo.clear()

    def _drop_unfit(self, step: TextChange) -> None:
        """Drops the steps of undo and redo that would take back what another program has done."""
        old = [one.marked for one in step.old]
        stays = {one.marked.id for one in step.new if any(one.marked is marked for marked in old)}
        changed = {one.marked.id for one in (*step.old, *step.new)} - stays
        order = [marked.id for marked in self.sentences]
        self.undo = _fitting_steps(
            [(each, each.new, each.old) for each in self.undo], order, changed
        )
        self.redo = _fitting_steps(
            [(each, each.old, each.new) for each in self.redo], order, changed
        )

    def back(self, what: str) -> tuple[int, int]:
        """Undoes or redoes the last change, guesses too; returns the sentence and the word that it
        is about.

        Raises: IndexError, there is none.
        """
        stack, other = (self.undo, self.redo) if what == "undo" else (self.redo, self.undo)
        step = stack.pop()
        now, then = (step.new, step.old) if what == "undo" else (step.old, step.new)
        shown = tuple([Snapshot.of(self.by_id[one.marked.id]) for one in now])
        self._put(now, then)
        other.append(step._replace(new=shown) if what == "undo" else step._replace(old=shown))
        return then[0].marked.id, max(1, step.word)

    def _put(self, old: Sequence[Snapshot], new: Sequence[Snapshot]) -> None:
        # they need not be neighbours
        if len(old) > 1 and [one.marked for one in old] == [one.marked for one in new]:
            for was, now in zip(old, new):
                self._put([was], [now])
            return
        ids = [one.marked.id for one in old]
        start = self.number(self.by_id[ids[0]])
        gone = self.sentences[start : start + len(ids)]
        if [marked.id for marked in gone] != ids:
            raise ValueError("the sentences that are replaced do not follow each other")
        for marked in gone:
            marked.was_done |= marked.id in self._done
            self._done.discard(marked.id)
            self.relations.enter(marked, -1)
            del self.by_id[marked.id]
            self._counts[marked.id] = marked.edits, marked.version
        self.sentences[start : start + len(ids)] = [one.marked for one in new]
        is_worked_on = any(marked.is_worked_on for marked in gone)
        was_done = any(marked.was_done for marked in gone)
        for marked, state, sure in new:
            if marked not in gone:
                marked.is_worked_on |= is_worked_on
                marked.was_done |= was_done
                _keep_guesses(marked, gone)
            marked.is_worked_on |= marked in gone and marked.arcs != state.arcs
            marked.state, marked.sure = state, sure
            edits, version = self._counts.get(marked.id, (0, 0))
            marked.edits, marked.version = (
                max(marked.edits, edits) + 1,
                max(marked.version, version) + 1,
            )
            self.by_id[marked.id] = marked
            self.next_id = max(self.next_id, marked.id + 1)
            self._last_wid[marked.id] = max(self._last_wid.get(marked.id, 0), *marked.wids)
            self.relations.enter(marked)
            if self._analogies is not None:
                self._analogies.enter(marked.id, marked)
            if marked.is_done:
                self._done.add(marked.id)
                self.finished[marked.id] = self._counts_right_before(marked)
            else:
                self.finished.pop(marked.id, None)
        for number in set(ids) - self.by_id.keys():
            self.finished.pop(number, None)
            if self._analogies is not None:
                self._analogies.enter(number, None)

    def _counts_right_before(self, marked: MarkedSentence) -> tuple[int, int, int]:
        """How many heads, and heads with relations, were right before anybody had confirmed
        anything.

        The last number is that of the words but punctuation. All are 0 if there was no tree, or for
        other words; such sentences say nothing.
        """
        before = self._before.get(marked.id, ())
        if len(before) != len(marked) or any(arc.head == UNSET for arc in before):
            return 0, 0, 0
        pairs = [(marked.arcs[p - 1], before[p - 1]) for p in marked.positions]
        heads = [now.label == then.label for now, then in pairs if now.head == then.head]
        return len(heads), sum(heads), len(pairs)

    def put_tags(self, marked: MarkedSentence, guess: TagGuess) -> None:
        """Adopts a tagger's guess for the words of a sentence that have no UPOS."""
        self.relations.enter(marked, -1)
        marked.put_tags(guess)
        self.relations.enter(marked)

    def recall(self, marked: MarkedSentence, after: int = 0, form: str = "") -> bool:
        """Shows what was said of words in place of what a tagger guessed before; returns whether
        anything changes.

        Words up to `after`, and up to the last of which somebody has said something, stay as they
        are, because somebody has looked at them; with a form, so do other forms.
        """
        if marked.is_done or not marked.guessed_tags.tags:
            return False
        new = dict(marked.recalled)
        for k, (arc, word) in enumerate(zip(marked.arcs, marked.state.columns), 1):
            by = arc.head_by, arc.label_by, word.tag_by, word.feats_by, word.lemma_by, word.xpos_by
            if any(by):
                after = max(after, k)
        for k, (tag, _, *values) in enumerate(marked.guessed_tags.words):
            is_other_form = form.lower() not in ("", marked.forms[k].lower())
            if k < after or is_other_form or not marked.is_undescribed(k):
                continue
            lemma, xpos, feats = ["" if value == NO_VALUE else value for value in values]
            guess = Described(xpos, feats, lemma)
            new_tag, described = self.analogies.corrected_guess(marked.forms[k], tag, guess)
            new.pop(marked.wids[k], None)
            if (new_tag, described) != (tag, guess):
                columns = {name: value or NO_VALUE for name, value in described._asdict().items()}
                new[marked.wids[k]] = new_tag, columns
        if new == marked.recalled:
            return False
        self.relations.enter(marked, -1)
        is_new = marked.put_recalled(new)
        self.relations.enter(marked)
        return is_new


_Step = tuple[TextChange, Sequence[Snapshot], Sequence[Snapshot]]
"""A step of undo or redo, with its sentences before and after it."""


def _fitting_steps(steps: Sequence[_Step], order: list[int], changed: set[int]) -> list[TextChange]:
    """The steps, the next one last, that leave alone the sentences that have changed.

    order: the ids of the sentences. What a dropped step has made stays, so that earlier steps
    of the same sentences do not fit either.
    """
    order, changed, fitting = [*order], {*changed}, []
    for step, now, then in reversed(steps):
        ids, new_ids = [one.marked.id for one in now], [one.marked.id for one in then]
        fits = changed.isdisjoint((*ids, *new_ids))
        if fits and ids != new_ids:  # sentences are cut or glued
            start = order.index(ids[0]) if ids[0] in order else len(order)
            fits = order[start : start + len(ids)] == ids
            if fits:
                order[start : start + len(ids)] = new_ids
        if fits:
            fitting.append(step)
        else:
            changed |= {*ids, *new_ids}
    return fitting[::-1]


def _read(record: SentenceRecord, name: str) -> MarkedSentence:
    """The sentence that a record describes. Raises: ValueError, there is none such; DataError."""
    sentences = read_text(record.lines or "", name)
    if (
        len(sentences) != 1
        or len(sentences[0]) != len(record.wids)
        or len({*record.wids}) < len(record.wids)
    ):
        raise ValueError(f"sentence {record.id} is not one of {len(record.wids)} words")
    (marked,) = sentences
    marked.id, marked.wids, marked.is_from_file = record.id, record.wids, record.is_from_file
    if record.opened:
        marked.opened = {word: why for word, why in record.opened if 1 <= word <= len(marked)}
    if record.given:
        marked.take_as_right(record.given)
    return marked


def _reasons_still_open(
    made: MarkedSentence, before: Sequence[tuple[MarkedSentence, Sequence[int]]]
) -> dict[int, str]:
    """The words that still have no head because of a fault, and why.

    before: sentences, and the ids that their words have in `made`.
    """
    places, reasons = {wid: word for word, wid in enumerate(made.wids, 1)}, {}
    for marked, wids in before:
        new = {str(word): str(places[wid]) for word, wid in enumerate(wids, 1) if wid in places}
        for word, why in marked.open_conflicts.items():
            place = places.get(wids[word - 1], 0)
            if place and made.arcs[place - 1].head == UNSET:
                reasons[place] = tree_faults.renumbered(why, new)
    return reasons


def _keep_guesses(marked: MarkedSentence, gone: Sequence[MarkedSentence]) -> None:
    """Keeps the tagger's guesses for words that one sentence had: of a word with another form, the
    tag."""
    if len(gone) == 1 and gone[0].id == marked.id:
        forms, before = dict(zip(marked.wids, marked.forms)), dict(zip(gone[0].wids, gone[0].forms))
        recalled = dict(marked.recalled)
        for wid, columns in gone[0].recalled.items():
            if before.get(wid) == forms.get(wid):
                recalled[wid] = columns
        marked.recalled = recalled
    if len(gone) != 1 or not marked.guessed_tags.tags or not gone[0].guessed_tags.tags:
        return  # of several sentences, the words get other numbers
    old_words = dict(zip(gone[0].wids, zip(gone[0].forms, gone[0].guessed_tags.words)))
    guesses = []
    for wid, form, new in zip(marked.wids, marked.forms, marked.guessed_tags.words):
        old_form, old = old_words.get(wid, (form, new))
        guesses.append(old if old_form == form else (*old[:2], *new[2:]))
    marked.guessed_tags = TagGuess.of_words(guesses)


def listed_words(path: str, text: AnnotatedText) -> list[tuple[int, int, str]]:
    """The words of a text that a list in a file names: sentences by id, words, and reasons.

    Raises: UsageError, the file is no such list, or names no word of the text.
    """
    try:
        places = msgspec.json.decode(files.read_text(path), type=list[Place])
    except msgspec.MsgspecError as error:
        raise UsageError(f"{path}: no list that vdgi check --json writes ({error})") from None
    by_name = {
        marked.sent_id or str(number): marked for number, marked in enumerate(text.sentences, 1)
    }
    words = []
    for place in places:
        marked = by_name.get(place.sentence)
        if marked is not None and marked.forms[place.word - 1 : place.word] == (place.form,):
            more = f"; elsewhere {place.elsewhere}" if place.elsewhere else ""
            words.append((marked.id, place.word, f"{place.word} {place.form}: {place.what}{more}"))
    if not words:
        raise UsageError(f"{path}: none of its {len(places)} words is in the file")
    return words
