"""What happens while the page is open: what is parsed again, which sentence is next, the browser,
the end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import stat
import threading
import time
from collections.abc import Awaitable, Callable
from multiprocessing.connection import Pipe
from pathlib import Path
from typing import Any

import pytest
import shell
from wording import Wording

pytest.importorskip("starlette", reason="Starlette, of the extra annotate, is not installed")
from annotating import ROWS, Client, chain, guessed, seen, written

from dynet_vdgi.errors import UsageError
from dynet_vdgi.page.learn import live as live_module
from dynet_vdgi.page.learn import remote
from dynet_vdgi.page.learn.arc_lessons import Lesson
from dynet_vdgi.page.learn.learner import Learner
from dynet_vdgi.page.learn.live import Live
from dynet_vdgi.page.learn.remote import LearningError
from dynet_vdgi.page.learn.tag_lessons import TagLesson
from dynet_vdgi.page.store.session import Session
from dynet_vdgi.page.text.guesses import Guess, TagGuess
from dynet_vdgi.system import files
from dynet_vdgi.words.tagger.tagger import WordChoices


class Unsteady(Learner):
    """Guesses another tree each time; `asked` are the heads held and the corrected word of each
    guess."""

    def __init__(self) -> None:
        self.asked: list[tuple[tuple[int, ...], int]] = []
        self.fails = False
        self.may_go_on = threading.Event()
        self.may_go_on.set()

    has_tagger = False

    def learn(self, kind: str, *content: Any) -> Any:
        """Each word hangs from the next; every word without a tag is a verb."""
        if kind == "parser":
            return Lesson({k: chain(len(one)) for k, one in content[2].items()}, [2, 0], 0.1)
        untagged = {k: one for k, one in content[0].items() if "_" in one.tags}
        guesses = {
            k: TagGuess(("VERB",) * len(one), (0.4,) * len(one)) for k, one in untagged.items()
        }
        return TagLesson(guesses, list(guesses), 7)

    def answer(self, kind: str, what: str, *content: Any) -> Any:
        if what == "choices":
            return [WordChoices([("VERB", 0.4), ("NOUN", 0.3)], [("Mood=Ind", 0.9)])] * len(
                content[0]
            )
        if what == "likely":
            return [[("nsubj", 0.6)] if head else [("root", 1.0)] for head in content[0].heads]
        sentence, shown, corrected = content
        self.may_go_on.wait(60)
        if self.fails:
            raise LearningError("it has ended")
        self.asked.append((tuple(shown), corrected))
        n_words, root = len(sentence), len(self.asked) % len(sentence) + 1
        heads = tuple(0 if word == root else root for word in range(1, n_words + 1))
        return Guess(heads, tuple("dep" if head else "root" for head in heads), (0.5,) * n_words)

    def stop(self) -> None:
        """Nothing is to be ended."""


def lived(path: Path, scene: Callable[[Live, Unsteady], Awaitable[None]]) -> None:
    """Runs a scene after the first lesson."""

    async def run() -> None:
        tools = Unsteady()
        session = Session(path, "anna")
        live = Live(session, tools)
        live.start()
        await until(lambda: live.learning["state"] == "ready")
        try:
            await scene(live, tools)
        finally:
            await live.stop()
            session.close()

    asyncio.run(run())


def untaught(path: Path, scene: Callable[[Live, Unsteady], Awaitable[None]]) -> None:
    """Runs a scene in a page that learns nothing by itself; every word hangs from the next."""

    async def run() -> None:
        session = guessed(Session(path, "anna"))
        try:
            await scene(Live(session), Unsteady())
        finally:
            session.close()

    asyncio.run(run())


async def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        await asyncio.sleep(0.01)


def change(live: Live, number: int, what: str, word: int = 0, value: int | str = 0) -> None:
    live.change(number, seen(live.session.sentences[number]), what, word, value)


@pytest.fixture
def path(folder: Path) -> Path:
    return written(Path("a.conllu"))


class Patient(Unsteady):
    """Begins its lessons of more than a few sentences when it may; `texts` are those of lessons."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[list[int]] = []
        self.may_learn = threading.Event()

    def learn(self, kind: str, *content: Any) -> Any:
        if kind == "parser":
            self.texts.append(list(content[2]))
            if len(content[2]) > 3:
                self.may_learn.wait(60)
        return super().learn(kind, *content)


@pytest.mark.parametrize("shown", [None, 4, 11])
def test_the_first_lesson_of_a_long_text_is_of_what_comes_next_and_answers_before_the_whole_is_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch, shown: int | None
) -> None:
    monkeypatch.setattr(live_module, "BEGINNING", 10)
    path = written(Path("long.conllu"), "".join(ROWS.replace("id = ", f"id = {k}") for k in "abcd"))

    async def run() -> None:
        tools, session = Patient(), Session(path, "anna")
        live = Live(session, tools)
        if shown is not None:
            for number in (shown, 2, shown):
                live.touch(number)
        live.start()
        try:
            await until(lambda: len(tools.texts) == 2)
            beginning = {None: [0, 1, 2], 4: [4, 5, 6], 11: [11, 0]}[shown]
            assert tools.texts == [beginning, list(range(12))]
            assert live.learning["lessons"] == 1
            have_guess = [k for k, marked in enumerate(session.sentences) if marked.sure]
            assert have_guess == sorted(beginning)
            assert (await live.show(8)).sure
            assert len(tools.asked) == 1
            tools.may_learn.set()
            await until(lambda: live.learning["state"] == "ready")
            assert live.learning["lessons"] == 2
            assert all(marked.sure for marked in session.sentences)
            live._parser_is_due.set()
            await until(lambda: live.learning["lessons"] == 3)
            assert tools.texts[2:] == [list(range(12))]
        finally:
            tools.may_learn.set()
            await live.stop()
            session.close()

    asyncio.run(run())


def test_a_tree_that_a_person_has_touched_stays_however_often_it_is_looked_at(path: Path) -> None:
    async def scene(live: Live, tools: Unsteady) -> None:
        await live.show(2)
        assert len(tools.asked) == 1
        await live.show(2)
        assert len(tools.asked) == 1
        for what, word, value in (("label", 1, "obj"), ("right", 3, 0), ("open", 3, 0)):
            change(live, 2, what, word, value)
            before = live.session.sentences[2].arcs
            for _ in range(3):
                await live.show(2)
                await live.parsed_sentence(2)
            assert live.session.sentences[2].arcs == before
        live.back("undo")
        await live.show(2)
        assert len(tools.asked) == 1

    lived(path, scene)


def test_a_new_head_has_the_sentence_parsed_once_and_undo_brings_the_tree_back(path: Path) -> None:
    async def scene(live: Live, tools: Unsteady) -> None:
        marked = await live.show(2)
        before = marked.arcs
        change(live, 2, "head", 5, 3)
        shown = marked.shown_heads()
        await live.parsed_sentence(2)
        change(live, 2, "head", 5, 3)  # the same again, which changes nothing
        await live.parsed_sentence(2)
        assert tools.asked[1:] == [(shown, 4)]  # word 5 is the fourth without the comma
        after = marked.arcs
        assert after[4][:3] == (3, "dep", "anna")
        await live.show(2)
        assert (len(tools.asked), marked.arcs) == (2, after)
        live.back("undo")
        await live.show(2)
        assert (len(tools.asked), marked.arcs) == (2, before)
        live.back("redo")
        await live.show(2)
        assert (len(tools.asked), marked.arcs) == (2, after)

    lived(path, scene)


def test_changes_during_a_parse_are_parsed_around_and_a_slow_parse_comes_later(path: Path) -> None:
    async def scene(live: Live, tools: Unsteady) -> None:
        marked = await live.show(2)
        tools.may_go_on.clear()
        change(live, 2, "head", 1, 3)
        assert (await live.parsed_sentence(2)).version == marked.version  # the page waits no longer
        change(live, 2, "label", 1, "obj")
        tools.may_go_on.set()
        await until(lambda: len(tools.asked) == 3)
        await until(lambda: marked.heads[0] == 3 and marked.heads[1] == tools_root(tools))
        assert marked.arcs[0] == (3, "obj", "anna", "anna")

    def tools_root(tools: Unsteady) -> int:
        return (1, 2, 3, 5, 6)[len(tools.asked) % 5]

    lived(path, scene)


def test_a_lesson_leaves_trees_alone_that_a_person_has_touched(path: Path) -> None:
    async def scene(live: Live, tools: Unsteady) -> None:
        marked = await live.show(2)
        change(live, 2, "right", 1)
        before = marked.arcs
        live._last_shown.clear()
        told = {marked.id: marked.bare_sentence for marked in live.session.sentences}
        await live._adopt(tools.learn("parser", {}, [], told), told, 1)
        assert marked.arcs == before
        assert live.session.sentences[0].heads == (2, 3, 4, 5, 0, 5)

    lived(path, scene)


def test_a_tag_is_recalled_at_once_to_the_right_and_in_later_sentences_unless_a_tagger_was_given(
    folder: Path,
) -> None:
    sentence = "".join(f"{k}\tma{chr(9)}{chr(9).join('________')}\n" for k in (1, 2, 3))
    path = written(Path("a.conllu"), f"{sentence}\n" * 3)

    async def scene(live: Live, tools: Unsteady) -> None:
        await until(lambda: live._taggers > 0)
        sentences = live.session.sentences
        assert [marked.tags for marked in sentences] == [("VERB",) * 3] * 3
        change(live, 0, "tag", 2, "NOUN")
        assert sentences[0].tags == ("VERB", "NOUN", "NOUN")
        await live.show(1)
        assert sentences[1].tags == ("NOUN",) * 3
        assert await live.show(1) is sentences[1]
        asked = len(tools.asked)
        await live.show(1)
        assert len(tools.asked) == asked  # nothing is new
        live.back("undo")
        assert sentences[0].tags == ("VERB",) * 3
        await live.show(1)
        assert sentences[1].tags == ("VERB",) * 3
        tools.has_tagger = True
        live.back("redo")
        await live.show(2)
        assert [marked.tags for marked in sentences] == [
            ("VERB", "NOUN", "VERB"),
            ("VERB",) * 3,
            ("VERB",) * 3,
        ]

    lived(path, scene)


def tag_guess(*tags: str) -> TagGuess:
    """A guess in which every column goes with the tag."""
    names = tuple([f"lemma of {tag}" for tag in tags]), tuple([f"X{tag}" for tag in tags])
    return TagGuess(tags, (0.5,) * len(tags), *names, tuple([f"Is={tag}" for tag in tags]))


def test_guessed_columns_stay_in_a_sentence_that_somebody_views_or_has_edited(folder: Path) -> None:
    sentence = "".join(
        f"{k}\t{form}{chr(9)}{chr(9).join('________')}\n" for k, form in ((1, "a"), (2, "b"))
    )
    path = written(Path("a.conllu"), f"{sentence}\n" * 4)
    old, new = tag_guess("NOUN", "_"), tag_guess("VERB", "ADJ")
    both = dict.fromkeys(range(4), new)

    async def scene(live: Live, tools: Unsteady) -> None:
        sentences = live.session.sentences
        for marked in sentences:
            marked.guessed_tags = old
        live._last_shown.clear()
        await live.show(0)
        change(live, 1, "feats", 1, "")
        change(live, 3, "note", 1, "?")
        live.back("undo")
        live._last_shown = {0: live._last_shown[0]}
        versions = [marked.version for marked in sentences]
        await live._adopt_tags(both)
        mixed = tag_guess("NOUN", "ADJ").words
        assert [marked.guessed_tags.words for marked in sentences] == [
            mixed,
            mixed,
            new.words,
            mixed,
        ]
        await live._adopt_tags({number: tag_guess("PRON", "ADV") for number in both})
        assert [marked.tags for marked in sentences] == [("NOUN", "ADJ")] * 2 + [
            ("PRON", "ADV"),
            ("NOUN", "ADJ"),
        ]
        assert [marked.version - before for marked, before in zip(sentences, versions)] == [
            1,
            1,
            2,
            1,
        ]
        shown = [sentences[0].columns[0], sentences[1].columns[0]]
        for number in (0, 1):
            change(live, number, "done")
        after = [marked.state.columns[0] for marked in sentences[:2]]
        assert [word[:5] for word in after] == [word[:5] for word in shown]
        assert after[0][:5] == ("lemma of NOUN", "NOUN", "Is=NOUN", "_", "XNOUN")

    untaught(path, scene)


@pytest.mark.parametrize("order", ["choose", "document"])
def test_next_shows_all_sentences_before_one_comes_again(path: Path, order: str) -> None:
    written(path, path.read_text(encoding="utf-8") * 3)

    async def scene(live: Live, tools: Unsteady) -> None:
        if order == "choose":
            # not passed over by a reload
            assert live.next_one(None, order) == live.next_one(None, order) == 2
            assert live.next_one(2, order) == 0
        for _ in range(3):
            place, found = None if order == "choose" else 8, []
            for _ in range(9):
                following = live.next_one(place, order)
                assert following is not None
                found.append(place := following)
            assert sorted(found) == list(range(9))
        change(live, 4, "done")
        assert 4 not in [live.next_one(k, order) for k in range(9)]

    lived(path, scene)


def test_a_file_that_cannot_be_written_is_told_until_it_can(
    path: Path, monkeypatch: pytest.MonkeyPatch, wording: Wording
) -> None:
    monkeypatch.setattr("dynet_vdgi.page.learn.live.WRITE_EVERY", 0.01)
    original = files.atomic_bytes_writer

    @contextlib.contextmanager
    def full(path: Path) -> Any:
        raise UsageError(f"cannot write '{path}': the disk is full")
        yield

    async def scene(live: Live, tools: Unsteady) -> None:
        monkeypatch.setattr(files, "atomic_bytes_writer", full)
        change(live, 1, "right", 1)
        await until(lambda: bool(live.unwritten))
        wording.check(live.unwritten)
        monkeypatch.setattr(files, "atomic_bytes_writer", original)
        await until(lambda: not live.unwritten)
        assert b"HeadBy=anna" in path.read_bytes()

    lived(path, scene)


def test_a_browser_that_lasts_does_not_stop_the_program(folder: Path) -> None:
    """It ends when the test has had an answer, not before."""
    written(Path("a.conllu"))
    os.mkfifo("end")
    browser = Path("browser.sh")
    browser.write_text(
        f'#!/bin/sh\necho "$1" > {folder}/asked\nread line < {folder}/end\n', encoding="utf-8"
    )
    browser.chmod(browser.stat().st_mode | stat.S_IXUSR)
    running = shell.process("annotate", "a.conllu", env={"BROWSER": f"{browser.absolute()} %s"})
    try:
        assert running.stdout is not None
        address = running.stdout.readline().decode().strip()
        asked = Path("asked")
        while not (asked.exists() and asked.read_text(encoding="utf-8")):
            time.sleep(0.02)
        assert Client(address).get("state")["file"] == "a.conllu"
        seen_by_others = asked.read_text(encoding="utf-8").strip()
        opened = Path(seen_by_others.removeprefix("file://"))
        assert stat.S_IMODE(opened.stat().st_mode) == 0o600
        assert stat.S_IMODE(opened.parent.stat().st_mode) == 0o700
        assert f'content="0; url={address}"' in opened.read_text(encoding="utf-8")
    finally:
        running.send_signal(signal.SIGINT)
        running.wait(60)  # though the browser goes on
        os.close(os.open("end", os.O_WRONLY | os.O_NONBLOCK))
        running.communicate()
    assert running.returncode == 0
    assert not opened.exists()


@pytest.mark.parametrize(
    "rest", [b"", b"\0\0\0\x20half"], ids=["between two messages", "within one"]
)
def test_a_process_ends_quietly_when_the_program_is_gone(
    rest: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "_begin", lambda: None)
    of_program, of_process = Pipe()
    if rest:
        os.write(of_program.fileno(), rest)
    of_program.close()
    remote._serve(of_process, dict, ())
    of_process.close()
