"""A file that is being annotated: nothing acknowledged is lost, and others are noticed."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest
import tiny
from annotating import ROWS, guessed, journal_of, seen, written
from shell import Vdgi, names_in

from dynet_vdgi.errors import DataError, UsageError
from dynet_vdgi.page.store.journal import JournalError
from dynet_vdgi.page.store.session import Session, StaleError
from dynet_vdgi.page.text.guesses import Guess
from dynet_vdgi.page.text.sentence_state import ChangeError
from dynet_vdgi.system import files

FIRST = ROWS.split("\n\n")[0] + "\n\n"
OTHER_GUESS = Guess((0, 1, 1, 1, 1), ("root", *("dep",) * 4), (0.5,) * 5)  # for the first sentence


@pytest.fixture
def session(folder: Path) -> Iterator[Session]:
    """A session of three sentences with guesses."""
    found = guessed(Session(written(Path("a.conllu")), "anna"))
    yield found
    with contextlib.suppress(OSError):
        found.release()


def again(session: Session) -> Session:
    """The session after its process was killed."""
    session.release()
    return Session("a.conllu", "anna")


def change(session: Session, number: int, what: str, word: int = 0, value: int | str = 0) -> None:
    session.change(number, seen(session.sentences[number]), what, word, value)


def test_changes_are_there_after_a_kill_though_the_file_was_not_written(session: Session) -> None:
    change(session, 0, "head", 2, 4)
    change(session, 2, "label", 1, "nsubj")
    change(session, 2, "done")
    before = [marked.arcs for marked in session.sentences]
    assert Path("a.conllu").read_bytes() == ROWS.encode()
    after = again(session)
    assert after.sentences[2].arcs == before[2]
    assert after.sentences[0].arcs[1].head == 4
    assert after.text.progress() == session.text.progress()
    after.release()


def everywhere(session: Session, what: str, value: str, *words: tuple[int, int]) -> int:
    first = session.sentences[0]
    return len(session.change(first.id, seen(first), what, 0, value, words))


@pytest.mark.parametrize("is_killed", [False, True])
def test_a_change_of_many_words_is_one_step_in_the_journal_and_for_undo(
    session: Session, is_killed: bool
) -> None:
    change(session, 1, "head", 1, 0)
    before = [marked.state for marked in session.sentences]
    words = (2, 3), (0, 2), (2, 1)  # not the sentence between them
    assert everywhere(session, "feats", "Number=Plur", *words, (0, 1)) == 2
    assert everywhere(session, "feats", "Number=Plur", *words) == 0
    assert everywhere(session, "feats", "Definite=", *words, (0, 1)) == 1
    said = [[word.feats for word in marked.state.columns] for marked in session.sentences]
    assert said == [
        ["Number=Plur", "Number=Plur", "_", "_", "_", "_"],
        ["_", "_"],
        ["Number=Plur", "_"] * 2 + ["_"] * 2,
    ]
    assert session.sentences[2].state.columns[2].feats_by == "anna"
    assert session.sentences[1].state == before[1]
    for step in ((2, "lemma", "a  b"), (1, "tag", "NOON"), (2, "head", "1"), (1, "label", "root")):
        with pytest.raises(ChangeError):
            everywhere(session, step[1], step[2], (2, 1), (0, step[0]))
    session = again(session) if is_killed else session
    assert [[word.feats for word in marked.state.columns] for marked in session.sentences] == said
    assert len(session.text.undo) == 3
    assert session.back("undo") == 0
    assert session.sentences[0].state.columns[0].feats == "Definite=Def|Number=Plur"
    assert session.back("undo") == 2
    assert [marked.state for marked in session.sentences] == before
    session = again(session) if is_killed else session
    session.back("redo")
    session.back("redo")
    assert [[word.feats for word in marked.state.columns] for marked in session.sentences] == said
    session.save()
    assert Path("a.conllu").read_text(encoding="utf-8").count("Number=Plur") == 4
    session.release()


@pytest.mark.parametrize("saves", [False, True])
def test_a_line_that_was_cut_off_is_dropped(session: Session, saves: bool) -> None:
    change(session, 0, "head", 2, 4)
    if saves:
        session.save()
    whole = session.journal.path.read_bytes()
    change(session, 0, "head", 1, 4)
    longer = session.journal.path.read_bytes()
    session.release()
    for end in range(len(whole), len(longer), 5):
        session.journal.path.write_bytes(longer[:end])
        found = Session("a.conllu", "anna")
        assert session.journal.path.read_bytes() == whole
        assert [arc.head_by for arc in found.sentences[0].arcs[:2]] == ["", "anna"]
        found.release()


ONE_WORD = "1\ta\t_\tX\t_\t_\t_\t_\t_\t_\n\n"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({}, ""),
        ({"new": [{"id": 0, "block": ONE_WORD}]}, "list index out of range"),
        ({"new": [{"id": 9}]}, "9"),
        ({"old": [{"id": 0}, {"id": 2}]}, "do not follow each other"),
        ({"new": [{"id": 0, "lines": "1\ta\n\n", "wids": [1]}]}, "expected 10"),
        ({"new": [{"id": 0, "lines": ROWS, "wids": [1]}]}, "is not one of 1 words"),
        ({"new": None}, "Expected `array`, got `null`"),
        ({"op": "redo"}, "empty"),
    ],
)
def test_a_change_in_the_journal_that_is_impossible_is_told_with_its_line(
    session: Session, change: dict[str, object], reason: str
) -> None:
    session.release()
    records = [
        json.loads(line) for line in session.journal.path.read_text(encoding="utf-8").splitlines()
    ]
    records.append({"op": "tag", "old": [{"id": 0}], "new": [{"id": 0}], **change})
    Path("a.conllu.journal").write_bytes(journal_of(records))
    if not reason:
        Session("a.conllu", "anna").close()
        return
    with pytest.raises(DataError, match=reason) as caught:
        Session("a.conllu", "anna")
    assert str(caught.value).startswith("a.conllu.journal:4: the journal is damaged here")


def test_every_flipped_bit_and_every_missing_line_of_a_journal_is_told_with_its_line(
    session: Session,
) -> None:
    change(session, 0, "head", 2, 4)
    change(session, 0, "label", 1, "nsubj")
    change(session, 1, "done")
    session.close()
    path = session.journal.path
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    assert len(lines) == 7
    for place in range(0, len(whole) - 1, 7):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << place % 7
        path.write_bytes(flipped)
        number = whole.count(b"\n", 0, place) + 1
        with pytest.raises(DataError, match=rf"journal:{number}: |journal:{number - 1}: "):
            Session("a.conllu", "anna")
    for missing in range(1, len(lines) - 1):
        path.write_bytes(b"".join(lines[:missing] + lines[missing + 1 :]))
        with pytest.raises(DataError, match=rf"journal:{missing + 1}: the journal is damaged here"):
            Session("a.conllu", "anna")
    path.write_bytes(b"".join([*lines[:4], lines[5], lines[4], *lines[6:]]))
    with pytest.raises(DataError, match="journal:5: the journal is damaged here"):
        Session("a.conllu", "anna")
    path.write_bytes(whole)
    assert Session("a.conllu", "anna").sentences[1].is_done


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"my only token", "journal:1: this is no journal of vdgi annotate"),
        (b"one\ntwo\nthree", "journal:1: this is no journal of vdgi annotate"),
        (b'{"a": 1}\n', "journal:1: this is no journal of vdgi annotate"),
        (b'{"a": 1}', "journal:1: this is no journal of vdgi annotate"),
        (b"[" * 100_000 + b"\n", "journal:1: this is no journal of vdgi annotate"),
        (b'{"journal":5' + b"[" * 100_000 + b"\n", "journal:1: the journal is damaged here"),
        (b'{"journal":5,"sum":"00000000"}\n', "journal:1: the journal is damaged here"),
        (b'{"journal":99}\n', "of another version"),
        (b'{"journal":1}\n', r"format 1\) \(end that work there, or move it away"),
        (b'{"journal":4,"sum":"00000000"}\n', r"another version of dynet_vdgi \(format 4\)"),
    ],
)
def test_what_is_no_journal_of_this_version_is_refused_and_stays_as_it_is(
    folder: Path, content: bytes, message: str
) -> None:
    written(Path("a.conllu"))
    Path("a.conllu.journal").write_bytes(content)
    with pytest.raises(DataError, match=message):
        Session("a.conllu", "anna")
    assert Path("a.conllu.journal").read_bytes() == content


def test_a_change_that_cannot_be_written_has_not_happened(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, size = session.sentences[0].arcs, session.journal.path.stat().st_size
    original = os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda file, line: original(file, line[:5]))
        with pytest.raises(JournalError, match="the disk is full"):
            change(session, 0, "head", 2, 4)
    assert session.sentences[0].arcs == before
    assert session.journal.path.stat().st_size == size
    change(session, 0, "head", 2, 4)
    assert again(session).sentences[0].arcs[1].head == 4


def test_every_change_is_forced_to_the_disk_before_it_counts(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    forced = []
    monkeypatch.setattr(os, "fsync", lambda file: forced.append(session.sentences[0].edits))
    change(session, 0, "head", 2, 4)
    change(session, 0, "right", 1)
    assert forced == [0, 1]


def test_undo_and_redo_go_back_and_forth_through_all_sentences_and_restarts(
    session: Session,
) -> None:
    states = [[marked.arcs for marked in session.sentences]]
    for number, what, word, value in (
        (0, "head", 2, 4), (0, "label", 2, "obj"), (2, "head", 1, 0), (0, "done", 0, 0), (1, "done", 0, 0),
    ):  # fmt: skip
        change(session, number, what, word, value)
        states.append([marked.arcs for marked in session.sentences])
    session.save()
    session = again(session)
    for state, number in zip(states[-2::-1], (1, 0, 2, 0, 0)):
        assert session.back("undo") == number
        assert [marked.arcs for marked in session.sentences] == state
    with pytest.raises(ChangeError, match="nothing to undo"):
        session.back("undo")
    session = again(session)
    for state in states[1:]:
        session.back("redo")
        assert [marked.arcs for marked in session.sentences] == state
    with pytest.raises(ChangeError, match="nothing to redo"):
        session.back("redo")
    session.back("undo")
    change(session, 1, "head", 1, 0)
    with pytest.raises(ChangeError, match="nothing to redo"):
        session.back("redo")
    session.release()


def test_who_has_not_seen_the_last_change_or_guess_is_told(session: Session) -> None:
    old = seen(session.sentences[1])
    change(session, 1, "head", 1, 0)
    with pytest.raises(StaleError, match="changed elsewhere"):
        session.change(1, old, "head", 1, 2)
    old = seen(session.sentences[0])
    assert session.put(0, old[1], OTHER_GUESS)
    with pytest.raises(StaleError, match="parsed again"):
        session.change(0, old, "done")
    session.change(0, old, "head", 1, 2)
    assert not session.put(0, old[1], OTHER_GUESS)


def test_the_file_under_any_name_belongs_to_one_annotator(session: Session) -> None:
    Path("soft.conllu").symlink_to("a.conllu")
    Path("hard.conllu").hardlink_to("a.conllu")
    for name in ("a.conllu", "soft.conllu", "hard.conllu"):
        with pytest.raises(UsageError, match=f"{name} is being annotated by another process"):
            Session(name, "bob")
    change(session, 0, "head", 2, 4)
    assert session.save()
    with pytest.raises(UsageError, match=r"soft.conllu is being annotated by another process"):
        Session("soft.conllu", "bob")
    session.release()
    Session("soft.conllu", "bob").close()


@pytest.mark.parametrize("when", ["before the end", "after the end"])
def test_changes_and_questions_while_the_file_is_written_neither_wait_nor_find_another_program(
    session: Session, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    """The file is renamed before the session knows what it looks like now."""
    answers = []

    @contextlib.contextmanager
    def watched(path: Path) -> Iterator[IO[bytes]]:
        with atomic_bytes_writer(path) as handle:
            yield handle
            if when == "before the end":
                change(session, 1, "head", 1, 0)
        answers.append(session.is_changed_by_others())

    atomic_bytes_writer = files.atomic_bytes_writer
    monkeypatch.setattr(files, "atomic_bytes_writer", watched)
    change(session, 0, "head", 2, 4)
    assert session.save()
    assert (answers, session.fault) == ([False], "")
    assert session.is_unsaved == (when == "before the end")
    found = again(session)
    assert found.sentences[1].arcs[0].head_by == ("anna" if session.is_unsaved else "")
    assert found.is_unsaved == session.is_unsaved


def test_trees_without_marks_need_a_word_about_them(folder: Path) -> None:
    tiny.write(Path("a.conllu"), 6)
    with pytest.raises(UsageError, match="a.conllu has 6 trees: say what they are, --given right"):
        Session("a.conllu", "anna")
    assert names_in(Path()) == ["a.conllu"]
    for given, is_done in (("right", True), ("guessed", False)):
        Path("a.conllu.journal").unlink(missing_ok=True)
        session = Session("a.conllu", "anna", given)
        assert all(marked.is_done == marked.is_touched == is_done for marked in session.sentences)
        assert session.sentences[0].heads == (2, 3, 0, 3)
        session = again(session)
        assert all(marked.is_done == is_done for marked in session.sentences)
        session.release()
    tiny.write(Path("b.conllu"), 6, heads=False)
    with pytest.raises(UsageError, match="the file has no trees"):
        Session("b.conllu", "anna", "guessed")


def exported(vdgi: Vdgi, *options: str, out: str = "out.conllu") -> tuple[str, str]:
    """What `--export` says, and the text."""
    result = vdgi.good("annotate", "a.conllu", "--export", out, *options)
    return result.err, Path(out).read_text(encoding="utf-8")


def test_export_leaves_the_marks_out_and_replaces_an_export_but_no_file_that_is_annotated(
    session: Session, vdgi: Vdgi
) -> None:
    change(session, 1, "done")
    session.close()
    for _ in range(2):
        err, text = exported(vdgi)
        assert "1 sentence with trees, 2 without" in err
    assert "By=" not in text
    assert "2\tbark\tbark\tVERB\t_\t_\t0\troot\t_\t_" in text
    Path("a.conllu.journal").unlink()
    assert exported(vdgi, out="again.conllu")[1] == text
    result = vdgi("annotate", "out.conllu", "--export", "x.conllu")
    assert (result.status, "nothing is confirmed" in result.err) == (2, True)
    guessed(Session(str(tiny.write(Path("other.conllu"), 6, heads=False)), "ben")).close()
    before = Path("other.conllu").read_bytes()
    status, _, err = vdgi("annotate", "a.conllu", "--export", "other.conllu")
    assert (status, err.startswith("--export other.conllu: this file is annotated, too, as")) == (
        2,
        True,
    )
    assert Path("other.conllu").read_bytes() == before


def test_export_works_while_the_file_is_open_and_leaves_it_alone(
    session: Session, vdgi: Vdgi
) -> None:
    change(session, 0, "head", 2, 4)
    session.save()
    change(session, 1, "done")  # in the journal, and not yet in the file
    with session.journal.path.open("ab") as handle:
        handle.write(b'{"s":')  # a line that is being written
    before = [Path(name).read_bytes() for name in ("a.conllu", "a.conllu.journal")]
    err, text = exported(vdgi)
    assert "1 sentence with trees, 2 without" in err
    assert "2\tbark\tbark\tVERB\t_\t_\t0\troot\t_\t_" in text
    assert [Path(name).read_bytes() for name in ("a.conllu", "a.conllu.journal")] == before
    with session.journal.path.open("ab") as handle:
        handle.write(b"\n")
    result = vdgi("annotate", "a.conllu", "--export", "again.conllu")
    assert result.status == 3
    assert result.err.startswith("a.conllu.journal:7: the journal is damaged here")


def test_finished_sentences_alone_can_be_exported(session: Session, vdgi: Vdgi) -> None:
    change(session, 0, "head", 2, 4)
    session.close()
    result = vdgi("annotate", "a.conllu", "--export", "out.conllu", "--finished")
    assert (result.status, "no sentence is finished" in result.err) == (2, True)
    assert not Path("out.conllu").exists()
    found = guessed(Session("a.conllu", "anna"))
    change(found, 1, "done")
    found.close()
    err, text = exported(vdgi, "--finished")
    assert "1 sentence with trees, 2 left out" in err
    assert text.count("# sent_id") == 1


def test_the_curve_has_what_the_tree_had_right_before_anybody_had_confirmed_anything(
    folder: Path,
) -> None:
    session = Session(written(Path("a.conllu"), 25 * ROWS), "anna")
    bare = session.text.of_id(1)  # the parser had no tree of it, and was neither right nor wrong
    for what, word, value in (
        ("head", 1, 2),
        ("head", 2, 0),
        ("label", 1, "nsubj"),
        ("done", 0, 0),
    ):
        session.change(bare.id, seen(bare), what, word, value)
    for number in range(25):  # of five words, one gets another head, and one a relation
        marked = session.text.of_id(3 * number + 2)
        session.put(
            marked.id,
            marked.version,
            Guess((2, 0, 2, 5, 2), ("a", "root", "b", "c", "d"), (0.5,) * 5),
        )
        session.change(marked.id, seen(marked), "tag", 1, "PROPN")  # is nothing about the tree
        for what, word, value in (("head", 3, 1), ("label", 1, "x"), ("done", 0, 0)):
            progress = session.text.progress()
            assert (progress["curve"], progress["latest"]) == ([], [0.8, 0.6] if number else None)
            session.change(marked.id, seen(marked), what, word, value)
    assert session.text.progress()["curve"] == [[0.8, 0.6]]
    session.close()
    again = Session("a.conllu", "anna")
    assert again.text.progress()["curve"] == [[0.8, 0.6]]
    again.back("undo")
    assert (again.text.progress()["curve"], again.text.progress()["latest"]) == ([], [0.8, 0.6])
    again.back("redo")
    assert again.text.progress()["curve"] == [[0.8, 0.6]]
    again.close()
