"""A long day of annotating: the journal is shortened at its end, and memory does not grow with each
change."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from annotating import ROWS, guessed, journal_of, seen, written

pytest.importorskip("starlette", reason="Starlette, of the extra annotate, is not installed")

from dynet_vdgi.errors import DataError
from dynet_vdgi.page.learn import live, recent_choices
from dynet_vdgi.page.store import session
from dynet_vdgi.page.store.journal import Journal, JournalError
from dynet_vdgi.page.store.session import Session
from dynet_vdgi.page.text import annotated_text
from dynet_vdgi.page.text.sentence_blocks import file_block
from dynet_vdgi.page.text.sentence_state import ChangeError
from dynet_vdgi.system import files

DOGS = ("1\tDogs\tdog\tNOUN\t_\t_\t", "2\tbark\tbark\tVERB\t_\t_\t")
TREES = ROWS.replace(f"{DOGS[0]}_\t_", f"{DOGS[0]}2\tnsubj").replace(
    f"{DOGS[1]}_\t_", f"{DOGS[1]}0\troot"
)


def change(one: Session, place: int, what: str, word: int = 0, value: Any = 0) -> None:
    marked = one.sentences[place]
    one.change(marked.id, seen(marked), what, word, value)


def worked_on(path: Path, given: Any = None) -> Session:
    """A session with changes of all kinds, a split and a cut among them."""
    one = guessed(Session(path, "anna", given))
    change(one, 0, "head", 1, 2)
    change(one, 0, "label", 1, "det")
    change(one, 1, "done")
    change(one, 0, "feats", 2, "Case=Nom")
    change(one, 0, "lemma", 2, "hound")
    change(one, 0, "note", 0, "look")
    change(one, 2, "split", 1, ["Ca", "ts"])
    change(one, 2, "cut", 4)
    change(one, 3, "tag", 1, "X")
    return one


def said_in(one: Session) -> list[Any]:
    return [
        (file_block(m), m.is_done, m.is_touched, m.state.columns, m.state.comments)
        for m in one.sentences
    ]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every journal is a large one."""
    monkeypatch.setattr(session, "LARGE", 0)
    monkeypatch.setattr(session, "TIMES", 0)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("given", [None, "right", "guessed"])
def test_a_large_journal_is_shortened_at_an_orderly_end_and_nothing_is_lost(
    given: Any, tmp_path: Path
) -> None:
    path = written(tmp_path / "a.conllu", ROWS if given is None else TREES)
    one = worked_on(path, given)
    journal = one.journal.path
    before, size, place = said_in(one), one.journal.size, one.place
    progress = {**one.text.progress(), "can_undo": False}
    where = one.sentences.index(one.text.by_id[place[0]])
    one.close()
    assert journal.stat().st_size < size
    content = path.read_bytes()
    again = Session(path, "anna")
    assert said_in(again) == before
    assert again.text.progress() == progress
    assert (again.sentences.index(again.text.by_id[again.place[0]]), again.place[1]) == (
        where,
        place[1],
    )
    change(again, 0, "label", 1, "amod")
    again.back("undo")
    again.close()
    assert path.read_bytes() == content
    assert said_in(Session(path, "anna")) == before


def test_a_journal_of_usual_length_stays_with_all_that_can_be_undone(tmp_path: Path) -> None:
    one = worked_on(written(tmp_path / "a.conllu"))
    one.close()
    again = Session(tmp_path / "a.conllu", "anna")
    for _ in range(9):
        again.back("undo")
    again.close()


@pytest.mark.usefixtures("small")
def test_a_journal_stays_as_it_is_where_it_says_more_than_the_file(tmp_path: Path) -> None:
    """A right tree of which nothing is confirmed any more would be taken as right again."""
    path = written(tmp_path / "a.conllu", TREES)
    one = Session(path, "anna", "right")
    for word in (1, 2):
        change(one, 1, "open", word)
    before = said_in(one)
    one.close()
    again = Session(path, "anna")
    assert said_in(again) == before
    again.release()


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("what", ["the journal", "the file"])
def test_what_another_program_has_changed_is_not_replaced(what: str, tmp_path: Path) -> None:
    path = written(tmp_path / "a.conllu")
    one = worked_on(path)
    one.save()
    changed = one.journal.path if what == "the journal" else path
    with changed.open("ab") as handle:
        handle.write(b"# other\n")
    content = changed.read_bytes()
    one.close()
    assert changed.read_bytes() == content


@pytest.mark.usefixtures("small")
def test_a_shortening_that_fails_leaves_the_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path / "a.conllu")
    one = worked_on(path)
    before = said_in(one)
    one.save()
    content = one.journal.path.read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    one.close()
    monkeypatch.undo()
    assert one.journal.path.read_bytes() == content
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.conllu", "a.conllu.journal"]
    again = Session(path, "anna")
    assert said_in(again) == before
    again.release()


def test_a_thousand_changes_can_be_undone() -> None:
    assert annotated_text.MOST_UNDONE == 1000  # as docs/annotate.md says


def test_undo_after_a_restart_goes_as_far_as_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(annotated_text, "MOST_UNDONE", 5)
    path = written(tmp_path / "a.conllu")
    one = Session(path, "anna")
    for number in range(12):
        change(one, 1, "note", 0, f"n{number}")
    for _ in range(5):
        one.back("undo")
    with pytest.raises(ChangeError, match="nothing to undo"):
        one.back("undo")
    one.release()
    again = Session(path, "anna")
    assert (len(again.text.undo), len(again.text.redo)) == (0, 5)
    again.release()


def test_what_helpers_say_is_remembered_of_the_latest_sentences_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Silent:
        has_tagger = False

        def answer(self, *question: object) -> None:
            return None

    monkeypatch.setattr(recent_choices, "MOST_SENTENCES", 2)
    one = guessed(Session(written(tmp_path / "a.conllu"), "anna"))

    async def look() -> list[int]:
        page = live.Live(one, Silent())  # type: ignore[arg-type]
        for place in (0, 1, 2, 0):
            await page.choices(one.sentences[place])
        assert page._recent_choices is not None
        return list(page._recent_choices._by_id)

    assert asyncio.run(look()) == [one.sentences[2].id, one.sentences[0].id]
    one.release()


def test_the_journals_records_are_not_kept_in_memory(tmp_path: Path) -> None:
    path = written(tmp_path / "a.conllu")
    worked_on(path).close()
    again = Session(path, "anna")
    assert not [record for record in again.journal.records if "op" in record]
    again.release()


@pytest.mark.parametrize("base", ["", "\n", "x", "\n\n\n", "1\ta\n\n", "\ud7ff"])
def test_a_journal_with_right_checksums_and_no_sentence_is_refused(
    base: str, tmp_path: Path
) -> None:
    path = written(tmp_path / "a.conllu")
    records = [
        {"journal": 5, "file": "a.conllu", "sentences": 3},
        {"base": base},
        {"written": "0" * 64},
    ]
    empty = [{"id": 0, "block": ""}]
    records += [{"op": "note", "by": "x", "at": 1, "w": 0, "old": empty, "new": empty}]
    Path(f"{path}.journal").write_bytes(journal_of(records))
    with pytest.raises(DataError, match="a.conllu.journal"):
        Session(path, "anna")


@pytest.mark.parametrize(
    "more",
    [
        {"finished": [[0, 1]]},
        {"finished": "x"},
        {"place": [1]},
        {"given": "x"},
        {"by": 1},
        {"base": None},
    ],
)
def test_a_journal_that_begins_with_nonsense_is_refused(
    more: dict[str, Any], tmp_path: Path
) -> None:
    path = written(tmp_path / "a.conllu")
    records = [{"journal": 5, "file": "a.conllu", "sentences": 3}, {"base": ROWS, **more}]
    Path(f"{path}.journal").write_bytes(journal_of(records))
    with pytest.raises(DataError, match=r"a.conllu.journal:2: the journal is damaged here"):
        Session(path, "anna")


def test_a_journal_is_replaced_in_one_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kill before it leaves the old one, and after it the new one."""
    path = tmp_path / "a.conllu.journal"
    one = Journal(path)
    one.add({"journal": 5, "a": 1})
    before, replace = path.read_bytes(), os.replace
    contents = []

    def watched(source: str, target: str) -> None:
        contents.append(path.read_bytes())
        replace(source, target)
        contents.append(path.read_bytes())

    monkeypatch.setattr(files.os, "replace", watched)
    one.end_with([{"journal": 5, "b": 2}])
    assert contents == [before, journal_of([{"journal": 5, "b": 2}])]
    with path.open("ab") as handle:
        handle.write(b"x")
    other = Journal(path)
    path.write_bytes(before + before)
    with pytest.raises(JournalError, match="changed by another program"):
        other.end_with([])
    other.close()
