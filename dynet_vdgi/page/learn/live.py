"""Events while the page is open: changes, guesses of single sentences, learning, writing the file.

Everything runs on one event loop and is quick, because threads do the long work. Two tasks wait
until a lesson is due, of the parser and of the tagger. In time:

    start            both lessons are due (that of the tagger if a word has no tag)
    a long text      the parser's first lesson is of the sentence in the page and of those behind
                     it, so that trees come soon; that of the whole text is due at once
    a change         `every` sentences are finished: a lesson of the parser is due
                     enough tags are set: a lesson of the tagger is due
    a tagger's end   its tags are adopted: a lesson of the parser is due
    a parser's end   its guesses are adopted; changes in the meantime may make another due
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Mapping, Sequence
from typing import Any

from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.errors import VdgiError
from dynet_vdgi.page.learn.arc_lessons import Lesson
from dynet_vdgi.page.learn.learner import Learner
from dynet_vdgi.page.learn.next_sentence import ORDERS, NextSentence
from dynet_vdgi.page.learn.recent_choices import WAIT_FOR_GUESS, RecentChoices
from dynet_vdgi.page.learn.remote import LearningError
from dynet_vdgi.page.learn.tag_lessons import TagLesson
from dynet_vdgi.page.store.session import Session
from dynet_vdgi.page.text.annotated_text import PARSED_AGAIN
from dynet_vdgi.page.text.guesses import Guess, TagGuess
from dynet_vdgi.page.text.marked import MarkedSentence
from dynet_vdgi.page.text.word_columns import COLUMNS
from dynet_vdgi.page.web.offers import Choices
from dynet_vdgi.system.messages import count

EVERY = 10

WRITE_EVERY = 1.0

BEGINNING = 1500
"""Words of the parser's first lesson in a text of at least twice as many; the next lesson is of the
whole text."""

FIRST_TAGS, TAGS_EVERY = 20, 40
"""Words with new tags after which the tagger learns for the first time, and again."""

OPEN_FOR = 10.0
"""Seconds that a sentence counts as open in a page after the page's last request about it."""

AT_ONCE = 25
"""Guesses that are adopted between two requests of the page."""

logger = logging.getLogger("dynet_vdgi")


class Live:
    """A session with learning around it; without `learner` there is no learning. Sentences go by
    their ids.

    The parser learns again after `every` sentences; `order` is the order of the next sentences.
    """

    def __init__(
        self,
        session: Session,
        learner: Learner | None = None,
        every: int = EVERY,
        order: str = ORDERS[0],
    ) -> None:
        self.session, self.order = session, order
        self.learning: dict[str, Any] = {
            "state": "off" if learner is None else "starting",
            "lessons": 0,
        }
        self.tagger = ""  # what the tagger has learnt from, in words
        self.unwritten = ""  # why the last attempt to write the file failed
        self._learner, self._every = learner, every
        self._tasks: list[asyncio.Task[None]] = []
        self._last_shown: dict[int, float] = {}  # when a page last showed a sentence
        self._next = NextSentence(session.text)
        self._recent_choices = None if learner is None else RecentChoices(learner)
        self._parser_is_due, self._tagger_is_due = asyncio.Event(), asyncio.Event()
        self._n_finished_at_lesson = len(session.text.finished)
        self._parsing: dict[int, asyncio.Task[None]] = {}
        self._parsed: dict[int, tuple[int, int]] = {}  # sentence: lesson, edits of its exact parse
        # sentence to be parsed again: word with a new head, or 0
        self._corrected: dict[int, int] = {}
        # words whose tags or features were set or confirmed since the tagger has learnt
        self._n_tags_changed = 0
        self._taggers = 0

    def start(self) -> None:
        """Starts learning and writing."""
        self._tasks = [asyncio.create_task(self._write_on())]
        if self._learner is not None:
            self._parser_is_due.set()
            if self._learner.has_tagger or any(not m.is_tagged for m in self.session.sentences):
                self._tagger_is_due.set()
            self._tasks.append(asyncio.create_task(self._learn_to_parse(self._learner)))
            self._tasks.append(asyncio.create_task(self._learn_to_tag(self._learner)))

    async def stop(self) -> None:
        """Stops both; `Session.close` writes the file."""
        tasks = [*self._tasks, *self._parsing.values()]
        for task in tasks:
            task.cancel()
        for task in tasks:
            with contextlib.suppress(asyncio.CancelledError):
                await task
        if self._learner is not None:
            self._learner.stop()

    async def _write_on(self) -> None:
        while True:
            await asyncio.sleep(WRITE_EVERY)
            if self.session.is_unsaved and not self.session.fault:
                try:
                    await asyncio.to_thread(self.session.save)
                    self.unwritten = ""
                except VdgiError as error:
                    if str(error) != self.unwritten:
                        logger.warning("%s", error)
                    self.unwritten = str(error)

    async def _learn_to_parse(self, learner: Learner) -> None:
        """Gives the parser a lesson whenever one is due."""
        n_words = 0  # of the latest lesson
        try:
            while await self._parser_is_due.wait():
                self._parser_is_due.clear()
                self._n_finished_at_lesson = len(self.session.text.finished)
                self.learning["state"] = "learning"
                tagged = [marked for marked in self.session.sentences if marked.is_tagged]
                confirmed = {m.id: m.confirmed_sentence() for m in tagged if m.is_touched}
                beginning = self._beginning(tagged) if n_words < BEGINNING else []
                if beginning:
                    tagged = beginning
                    self._parser_is_due.set()  # of the whole text
                n_words = sum(map(len, tagged))
                text = {marked.id: marked.bare_sentence for marked in tagged}
                finished = [marked.id for marked in tagged if marked.is_done]
                lesson: Lesson | None = await asyncio.to_thread(
                    learner.learn, "parser", confirmed, finished, text
                )
                if lesson is None:
                    self.learning["state"] = "nothing"
                else:
                    await self._adopt(lesson, text, len(confirmed))
                self._look_whether_parser_is_due()
        except LearningError as error:
            logger.warning("learning has stopped: %s", error)
            self.learning |= {"state": "failed", "why": str(error)}

    def _beginning(self, tagged: Sequence[MarkedSentence]) -> list[MarkedSentence]:
        """The sentence in the page and those behind it, up to a number of words; none in a text
        that is not much longer.

        The whole text has then so many new words that the knowledge is gathered again.
        """
        latest = max(self._last_shown, key=lambda number: self._last_shown[number], default=-1)
        first = latest if self._is_open(latest) else self._next.after(None, "document")
        ids = [marked.id for marked in tagged]
        start = ids.index(first) if first in ids else 0
        beginning, n_words = [], 0
        for marked in [*tagged[start:], *tagged[:start]]:
            if n_words >= BEGINNING:
                break
            beginning.append(marked)
            n_words += len(marked)
        return beginning if 2 * n_words <= sum(map(len, tagged)) else []

    def _look_whether_parser_is_due(self) -> None:
        if len(self.session.text.finished) - self._n_finished_at_lesson >= self._every:
            self._parser_is_due.set()

    async def _adopt(self, lesson: Lesson, text: Mapping[int, Sentence], n_trees: int) -> None:
        """Adopts the guesses, a few at a time, but not for sentences that somebody views or has
        edited."""
        self._next.useful = lesson.next_ones
        lessons = self.learning["lessons"] + 1
        self.learning["lessons"] = lessons
        sentences = self.session.text.by_id
        edits = {k: sentences[k].edits for k in lesson.guesses if k in sentences}
        for number, (k, guess) in enumerate(lesson.guesses.items()):
            marked = sentences.get(k)
            if marked is None or k not in edits or marked.bare_sentence is not text.get(k):
                continue
            is_shown = self._is_open(k) and marked.sure
            stays = marked.is_done or (marked.is_touched and marked.is_held) or is_shown
            if marked.edits == edits[k] and not stays:
                self.session.put(k, marked.version, guess)
            if number % AT_ONCE == 0:
                await asyncio.sleep(0)
        for k in list(self._corrected):  # sentences that were changed before there was a parser
            self._parse(k)
        seconds = round(lesson.seconds, 1)
        self.learning = {"state": "ready", "lessons": lessons, "trees": n_trees, "seconds": seconds}

    async def _learn_to_tag(self, learner: Learner) -> None:
        """Gives the tagger a lesson whenever one is due."""
        try:
            while await self._tagger_is_due.wait():
                self._tagger_is_due.clear()
                self._n_tags_changed = 0
                sentences = self.session.sentences
                by_person = [
                    m.id for m in sentences if any(w.tag_by or w.feats_by for w in m.state.columns)
                ]
                text = {marked.id: marked.sentence_without_guesses for marked in sentences}
                lesson: TagLesson | None = await asyncio.to_thread(
                    learner.learn, "tagger", text, by_person
                )
                if lesson is not None:
                    await self._adopt_tags(lesson.guesses)
                    self._next.with_doubtful_tags = lesson.next_ones
                    self._taggers += 1
                    words, yours = count(lesson.n_words, "word"), count(len(by_person), "sentence")
                    self.tagger = f"Tags are learnt from {words}" + (
                        f", yours in {yours}." if by_person else "."
                    )
        except LearningError as error:
            logger.warning("learning to tag has stopped: %s", error)
            self.tagger = f"Learning to tag has stopped: {error}"

    async def _adopt_tags(self, guesses: Mapping[int, TagGuess]) -> None:
        """Adopts guesses of tags, a few sentences at a time; then there is more to parse.

        In sentences that somebody views or has edited, only words for which nothing is shown get
        one.
        """
        text = self.session.text
        for number, (k, guess) in enumerate(guesses.items()):
            marked = text.by_id.get(k)
            if marked is not None and len(marked) == len(guess.tags) and not marked.is_done:
                is_seen = marked.edits or self._is_open(k)
                text.put_tags(marked, marked.guess_with_tags_shown(guess) if is_seen else guess)
            if number % AT_ONCE == 0:
                await asyncio.sleep(0)
        if guesses:
            self._parser_is_due.set()

    async def choices(self, marked: MarkedSentence, *, waits: bool = True) -> Choices | None:
        """See `RecentChoices.of`; None without learning."""
        if self._recent_choices is None:
            return None
        return await self._recent_choices.of(
            marked, self._taggers, self.learning["lessons"], waits=waits
        )

    async def show(self, number: int) -> MarkedSentence:
        """A sentence to show, with the best guess that is ready within a moment.

        A tree that somebody has edited stays as it is, however often it is viewed.
        """
        marked = self.session.text.of_id(number)
        self.touch(number)
        is_recalled = self._recall(number)
        is_new = is_recalled or self._parsed.get(number) != (self.learning["lessons"], marked.edits)
        if is_new and not marked.is_held:
            self._parse(number)
        return await self.parsed_sentence(number)

    def change(
        self,
        number: int,
        seen: tuple[int, int],
        what: str,
        word: int,
        value: Any,
        words: Sequence[tuple[int, int]] = (),
    ) -> list[int]:
        """See `Session.change`; the change is on the disk on return.

        After some changes the rest of the sentence is parsed again, and `parsed_sentence` waits for
        this; but no sentence is after a change of many words.
        """
        by_id = self.session.text.by_id
        before = _n_words_tagged(by_id.get(number))
        changed = self.session.change(number, seen, what, word, value, words)
        if not words and by_id[changed[0]].edits == seen[0]:
            return changed
        n_tags = len(changed) if words else abs(_n_words_tagged(by_id[changed[0]]) - before)
        if what in COLUMNS:
            n_tags = max(1, n_tags)
        self._n_tags_changed += n_tags
        if self._n_tags_changed >= (TAGS_EVERY if self._taggers else FIRST_TAGS):
            self._tagger_is_due.set()
        for each in () if words else changed:
            self.touch(each)
            if word and what in COLUMNS:
                self._recall(each, word, by_id[each].forms[word - 1])
            elif word and what in ("split", "join", "form"):
                for form in by_id[each].forms[word - 1 : word + (what == "split")]:
                    self._recall(each, word - 1, form)
            if what in PARSED_AGAIN:
                if self.learning["state"] == "nothing" and by_id[each].is_tagged:
                    self._parser_is_due.set()  # now there is something
                self._corrected[each] = word if what == "head" else 0
                self._parse(each)
        self._look_whether_parser_is_due()
        return changed

    def back(self, what: str) -> int:
        """Undoes or redoes a change; returns the id of its sentence."""
        number = self.session.back(what)
        step = (self.session.text.redo if what == "undo" else self.session.text.undo)[-1]
        if step.what in COLUMNS and step.word:
            self._recall(number, step.word, self.session.text.of_id(number).forms[step.word - 1])
        self._corrected.pop(number, None)
        self.touch(number)
        self._look_whether_parser_is_due()
        return number

    def _recall(self, number: int, after: int = 0, form: str = "") -> bool:
        """See `AnnotatedText.recall`; a tagger that somebody has given knows more words than the
        text has."""
        has_tagger = self._learner is not None and self._learner.has_tagger
        return not has_tagger and self.session.text.recall(
            self.session.text.of_id(number), after, form
        )

    async def parsed_sentence(self, number: int) -> MarkedSentence:
        """The sentence, after the running parse if that ends in a moment."""
        if number in self._parsing:
            await asyncio.wait([self._parsing[number]], timeout=WAIT_FOR_GUESS)
        return self.session.text.of_id(number)

    def _parse(self, number: int) -> None:
        """Starts to parse a sentence around its confirmed arcs, unless a parse of it is running."""
        if self._learner is not None and self.learning["lessons"] and number not in self._parsing:
            self._parsing[number] = asyncio.create_task(self._parse_on(self._learner, number))

    async def _parse_on(self, learner: Learner, number: int) -> None:
        """Parses until the sentence has not changed meanwhile; an undo ends it, too."""
        by_id = self.session.text.by_id
        try:
            while marked := by_id.get(number):
                if not marked.positions or marked.is_done or not marked.is_tagged:
                    return
                now, words = (self.learning["lessons"], marked.edits), marked.bare_sentence
                corrected = self._corrected.get(number, 0)
                if corrected:  # numbered without punctuation
                    corrected = 1 + sum(position < corrected for position in marked.positions)
                asked = "guess", marked.confirmed_sentence(), marked.shown_heads(), corrected
                guess: Guess | None = await asyncio.to_thread(learner.answer, "parser", *asked)
                if guess is None:
                    return
                if (
                    by_id.get(number) is marked
                    and marked.edits == now[1]
                    and marked.bare_sentence is words
                ):
                    self.session.put(number, marked.version, guess)
                    self._parsed[number] = now
                    self._corrected.pop(number, None)
                    return
                if marked.is_held and number not in self._corrected:
                    return
        except LearningError as error:
            logger.debug("sentence %d is not parsed: %s", number, error)
        finally:
            del self._parsing[number]

    def touch(self, number: int) -> None:
        """Records that a page still shows a sentence."""
        self._last_shown[number] = time.monotonic()

    def _is_open(self, number: int) -> bool:
        """Whether a page shows a sentence."""
        return time.monotonic() - self._last_shown.get(number, -OPEN_FOR) < OPEN_FOR

    def next_one(self, after: int | None, order: str) -> int | None:
        """See `NextSentence.after`."""
        return self._next.after(after, order)


def _n_words_tagged(marked: MarkedSentence | None) -> int:
    """The number of a sentence's words whose tag a person has set or confirmed."""
    return sum(bool(word.tag_by) for word in marked.state.columns) if marked is not None else 0
