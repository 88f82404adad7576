"""Files that another program has changed, and plain text, as the beginning of a session."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from annotating import ROWS, guessed, journal_of, seen, written
from shell import Vdgi

from dynet_vdgi.conllu import reading
from dynet_vdgi.errors import ConfigError, DataError, UsageError
from dynet_vdgi.page.store.plain_text import conllu_of, sentences_by_rule
from dynet_vdgi.page.store.session import Session, UnwrittenError
from dynet_vdgi.page.text.offered_relations import read_list
from dynet_vdgi.page.text.sentence_blocks import block, read_marked
from dynet_vdgi.page.text.sentence_state import ChangeError
from dynet_vdgi.system import files

SENTENCES = ROWS.strip("\n").split("\n\n")


@pytest.fixture
def session(folder: Path) -> Session:
    """A session in which something is confirmed in each sentence, and saved."""
    found = guessed(Session(written(Path("a.conllu")), "anna"))
    change(found, 0, "head", 2, 4)
    change(found, 1, "done")
    change(found, 2, "tag", 1, "PROPN")
    change(found, 2, "head", 1, 3)
    found.save()
    return found


def change(session: Session, number: int, what: str, word: int = 0, value: Any = 0) -> list[int]:
    return session.change(number, seen(session.text.of_id(number)), what, word, value)


def edited(session: Session, *pairs: tuple[str, str]) -> Session:
    """The session after its end, a change of its file by another program, and a new start."""
    session.release()
    text = Path("a.conllu").read_text(encoding="utf-8")
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    written(Path("a.conllu"), text)
    return Session("a.conllu", "anna")


def test_another_word_is_taken_over_and_what_is_confirmed_of_the_others_stays(
    session: Session,
) -> None:
    found = edited(
        session,
        ("1\tCats\tcat", "1\tWolves\tcat"),
        ("2\tsee", "2\tsaw"),
        ("Gloss=a b|HeadBy=anna", "_"),
    )
    marked = found.text.of_id(2)
    assert marked.forms == ("Wolves", "saw", "dogs", ",", "they", "say")
    assert marked.wids == (7, 8, 9, 10, 11, 12)
    assert found.text.of_id(0).arcs[1].head_by == "anna"
    assert found.text.of_id(1).is_done
    found.close()
    assert Session("a.conllu", "anna").text.of_id(2).forms[0] == "Wolves"


def test_a_word_more_moves_the_confirmed_heads(session: Session) -> None:
    rows = [line.split("\t") for line in Path("a.conllu").read_text(encoding="utf-8").splitlines()]
    start = next(k for k, row in enumerate(rows) if row[:2] == ["1", "Cats"])
    new = [["1", "Old", "old", "ADJ", "_", "_", "2", "amod", "_", "_"]]
    for row in rows[start : start + 6]:
        head = str(int(row[6]) + 1) if row[6] not in ("0", "_") else row[6]
        new.append([str(int(row[0]) + 1), *row[1:6], head, *row[7:]])
    rows[start : start + 6] = new
    session.release()
    written(Path("a.conllu"), "\n".join("\t".join(row) for row in rows) + "\n")
    found = Session("a.conllu", "anna")
    marked = found.text.of_id(2)
    assert (marked.arcs[1].head, marked.arcs[1].head_by) == (4, "anna")
    assert marked.state.columns[1].tag_by == "anna"


def test_sentences_that_come_and_go_are_taken_over_and_ids_stay(session: Session) -> None:
    session.release()
    one, two, three = Path("a.conllu").read_text(encoding="utf-8").strip("\n").split("\n\n")
    new = "# sent_id = new\n1\tHello\thello\tINTJ\t_\t_\t_\t_\t_\t_"
    written(Path("a.conllu"), "\n\n".join([new, three, two]) + "\n\n")
    found = Session("a.conllu", "anna")
    ids = [marked.id for marked in found.sentences]
    assert [marked.sent_id for marked in found.sentences] == ["new", "three", "two"]
    assert ids[0] > 2
    assert 1 in ids or 2 in ids
    while found.text.undo:  # own changes of the sentence that has stayed what it was
        found.back("undo")
    assert [marked.id for marked in found.sentences] == ids
    assert "HeadBy" in one


ADDED = "# sent_id = new\n1\tHello\thello\tINTJ\t_\t_\t_\t_\t_\t_\n\n"


@pytest.mark.parametrize("place", [0, 1, 2, 3])
def test_undo_takes_back_own_changes_and_never_what_another_program_has_added(
    session: Session, place: int
) -> None:
    session.release()
    before = Path("a.conllu").read_text(encoding="utf-8")
    blocks = before.rstrip("\n").split("\n\n")
    blocks.insert(place, ADDED.rstrip("\n"))
    written(Path("a.conllu"), "\n\n".join(blocks) + "\n\n")
    found = Session("a.conllu", "anna")
    assert len(found.sentences) == 4
    assert found.back("undo") == 2  # the last head of yesterday
    assert found.text.of_id(2).arcs[0].head_by == ""
    found.save()
    assert ADDED in Path("a.conllu").read_text(encoding="utf-8")
    found.release()
    found = Session("a.conllu", "anna")
    assert found.back("redo") == 2
    change(found, 3, "tag", 1, "X")
    for number in (3, 2, 2, 1, 0):
        assert found.back("undo") == number
    with pytest.raises(ChangeError, match="nothing to undo"):
        found.back("undo")
    found.save()
    assert Path("a.conllu").read_text(encoding="utf-8").replace(ADDED, "") == ROWS
    for _ in range(5):
        found.back("redo")
    found.save()
    assert "1\tHello\thello\tX\t" in Path("a.conllu").read_text(encoding="utf-8")
    assert found.back("undo") == 3
    found.close()
    assert Path("a.conllu").read_text(encoding="utf-8") == "\n\n".join(blocks) + "\n\n"
    assert Session("a.conllu", "anna").text.of_id(3).forms == ("Hello",)


def test_undo_leaves_the_sentences_alone_that_another_program_has_changed(session: Session) -> None:
    change(session, 0, "head", 1, 4)
    session.change(0, seen(session.text.of_id(0)), "feats", 0, "Number=Plur", [(0, 2), (2, 3)])
    session.back("undo")
    session.save()
    found = edited(session, ("Cats\tcat", "Cats\tkitty"))
    with pytest.raises(ChangeError, match="nothing to redo"):  # it would change this sentence, too
        found.back("redo")
    assert [found.back("undo") for _ in range(3)] == [0, 1, 0]
    with pytest.raises(ChangeError, match="nothing to undo"):
        found.back("undo")
    found.close()
    text = Path("a.conllu").read_text(encoding="utf-8")
    assert text.startswith("\n\n".join(SENTENCES[:2]))
    assert "Cats\tkitty" in text
    assert text.count("HeadBy=anna") == 1
    assert "TagBy=anna" in text


@pytest.mark.parametrize("place", [0, 1, 2, 3, 4])
def test_a_cut_can_be_taken_back_unless_another_program_has_put_something_between(
    session: Session, place: int
) -> None:
    change(session, 2, "cut", 4)
    change(session, 1, "tag", 1, "X")
    session.save()
    session.release()
    blocks = Path("a.conllu").read_text(encoding="utf-8").rstrip("\n").split("\n\n")
    assert len(blocks) == 4
    blocks.insert(place, ADDED.rstrip("\n"))
    written(Path("a.conllu"), "\n\n".join(blocks) + "\n\n")
    found = Session("a.conllu", "anna")
    assert found.back("undo") == 1
    numbers = [found.back("undo") for _ in range(len(found.text.undo))]
    assert numbers == ([1, 0] if place == 3 else [2, 2, 2, 1, 0])
    assert sum(marked.forms == ("Hello",) for marked in found.sentences) == 1
    while found.text.redo:
        found.back("redo")
    found.close()
    assert Path("a.conllu").read_text(encoding="utf-8") == "\n\n".join(blocks) + "\n\n"


def wish(numbers: random.Random, session: Session) -> None:
    """A change of a random kind, an undo or a redo."""
    kinds: list[tuple[str, Any]] = [
        ("head", numbers.randint(0, 6)), ("tag", "X"), ("lemma", "go"), ("note", "n"), ("split", 1), ("join", 0),
        ("cut", 0), ("glue", 0), ("done", 0), ("undo", 0), ("undo", 0), ("redo", 0),
    ]  # fmt: skip
    what, value = numbers.choice(kinds)
    if what in ("undo", "redo"):
        session.back(what)
    elif numbers.random() < 0.1 and len(session.sentences) > 1:
        marked, other = numbers.sample(session.sentences, 2)
        session.change(marked.id, seen(marked), "lemma", 0, "many", [(marked.id, 1), (other.id, 1)])
    else:
        change(session, numbers.choice(session.sentences).id, what, numbers.randint(1, 6), value)


@pytest.mark.parametrize("seed", range(6))
def test_whatever_is_undone_and_redone_what_other_programs_did_stays(
    folder: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(os, "fsync", lambda file: None)
    numbers, path, did = random.Random(seed), written(Path("a.conllu"), ROWS), []
    for turn in range(5):
        session = guessed(Session(path, "anna"))
        for _ in range(8):
            with contextlib.suppress(ChangeError):
                wish(numbers, session)
        session.close()
        blocks = path.read_text(encoding="utf-8").rstrip("\n").split("\n\n")
        place = numbers.randrange(len(blocks) + 1)
        if place < len(blocks) and numbers.random() < 0.5:
            blocks[place] = f"# outside-{turn} = x\n{blocks[place]}"
        else:
            blocks.insert(
                place, f"# outside-{turn} = x\n{ADDED.rstrip()}".replace("new", f"new-{turn}")
            )
        did.append(f"# outside-{turn} = x")
        if numbers.random() < 0.3 and len(blocks) > 3:
            gone = blocks.pop(numbers.randrange(len(blocks)))
            did = [comment for comment in did if comment not in gone]
        written(path, "\n\n".join(blocks) + "\n\n")
    for step in ("undo", "redo", "undo"):
        session = Session(path, "anna")
        with contextlib.suppress(ChangeError):
            while True:
                session.back(step)
        session.close()
        text = path.read_text(encoding="utf-8")
        assert all(comment in text for comment in did)
    Session(path, "anna").close()
    assert path.read_text(encoding="utf-8") == text


def test_undo_refuses_another_programs_change_in_a_journal_of_before(session: Session) -> None:
    session.release()
    text = Path("a.conllu").read_text(encoding="utf-8")
    written(Path("a.conllu"), text + ADDED)
    found = Session("a.conllu", "anna")
    found.release()
    records = [json.loads(line) for line in found.journal.path.read_bytes().splitlines()]
    for record in records:
        record["op"] = "outside" if record.get("op") == "others" else record.get("op")
    written(
        found.journal.path,
        journal_of([{k: v for k, v in r.items() if v is not None} for r in records]).decode(),
    )
    found = Session("a.conllu", "anna")
    with pytest.raises(ChangeError, match="another program's, and undo leaves it alone"):
        found.back("undo")
    assert len(found.sentences) == 4


def test_unsaved_changes_and_those_of_another_program_in_other_sentences_are_both_kept(
    session: Session,
) -> None:
    for number, what, word, value in (
        (0, "feats", 5, "Mood=Ind"), (0, "head", 1, 2), (0, "lemma", 2, "hound"), (0, "note", 0, "mine"),
    ):  # fmt: skip
        change(session, number, what, word, value)
    found = edited(
        session, ("Cats\tcat", "Cats\tkitty"), ("# sent_id = two", "# sent_id = two\n# more = x")
    )
    assert found.is_unsaved
    found.close()
    text = Path("a.conllu").read_text(encoding="utf-8")
    for line in (
        "# more = x",
        "# note = mine",
        "1\tThe\tthe\tDET\tDT\tDefinite=Def\t2\tdep\t_\tHeadBy=anna",
        "2\tdogs\thound\tNOUN\t_\t_\t4\tdep\t_\tGloss=a b|HeadBy=anna|LemmaBy=anna",
        "5\tbark\tbark\tVERB\t_\tMood=Ind\t0\troot\t0:root\tSpaceAfter=No|FeatsBy=anna",
    ):
        assert f"\n{line}\n" in text
    assert "Cats\tkitty" in text


def test_plain_text_is_split_by_a_simple_rule(folder: Path) -> None:
    text = "He left (late). “Why?” she\nsaid...\n\nيقول نعم؟ पाठ। It's 3.14 well-known,no"
    found = [[text[t.start : t.end] for t in s.tokens] for s in sentences_by_rule(text)]
    assert found == [
        ["He", "left", "(", "late", ")", "."],
        ["“", "Why", "?", "”"],
        ["she", "said", "..."],
        ["يقول", "نعم", "؟"],
        ["पाठ", "।"],
        ["It's", "3.14", "well-known,no"],
    ]
    Path("a.txt").write_text(text, encoding="utf-8")
    written(Path("a.conllu"), conllu_of("a.txt", None))
    sentences = list(reading.read("a.conllu", tags="known"))
    assert [list(s.forms) for s in sentences] == found
    text = "a. B\nnot\n\n (me) \n"
    found = [[text[t.start : t.end] for t in s.tokens] for s in sentences_by_rule(text, lines=True)]
    assert found == [["a", ".", "B"], ["not"], ["(", "me", ")"]]
    assert [s.begins_paragraph for s in sentences_by_rule(text, lines=True)] == [True, False, True]
    Path("b.txt").write_text(" \n", encoding="utf-8")
    with pytest.raises(DataError, match="no text"):
        conllu_of("b.txt", None)


def test_a_projects_relations_are_known_and_others_are_told_but_kept(folder: Path) -> None:
    Path("list.txt").write_text("# ours\nnsubj obj\nobl:arg\nroot punct dep\n", encoding="utf-8")
    session = guessed(Session(written(Path("a.conllu")), "anna"))
    relations = session.text.relations
    assert relations.unlisted_relations() == []
    relations.project = read_list("list.txt")
    assert relations.fault("obl:arg") == ""
    assert "is no relation of the project's list" in relations.fault("nsbuj")
    assert relations.fault("amod")
    change(session, 0, "label", 1, "comp@x")
    assert relations.unlisted_relations() == ["comp@x"]
    assert session.text.of_id(0).arcs[0].label == "comp@x"
    for content, message in (
        ("", "no relation in it"),
        ("a|b\n", "list.txt:1: 'a|b' is no relation"),
    ):
        Path("list.txt").write_text(content, encoding="utf-8")
        with pytest.raises(ConfigError, match=message.replace("|", r"\|")):
            read_list("list.txt")


@pytest.mark.parametrize(
    ("what", "word", "value", "old", "new", "message"),
    [
        (
            "note",
            0,
            "mine",
            "Gloss=a b",
            "Gloss=c",
            "a.conllu:1: .* sentence that was changed here, too",
        ),
        ("cut", 3, 0, "Gloss=a b", "Gloss=c", "a.conllu:1: .* sentence that was changed here, too"),
        ("glue", 0, 0, "Dogs\tdog", "Dogs\thound", "a.conllu:12: .* that was changed here, too"),
        (
            "lemma",
            5,
            "yap",
            "bark\tbark\tV",
            "bark\twoof\tV",
            "a.conllu:1: .* that was changed here, too",
        ),
        (
            None,
            0,
            0,
            "\t4\tdep\t_\tGl",
            "\t5\tdep\t_\tGl",
            "a.conllu:4: .* confirmed word 2 to 5 dep",
        ),
    ],
)
def test_what_both_have_changed_since_the_file_was_written_is_refused_with_its_line(
    folder: Path, what: str | None, word: int, value: Any, old: str, new: str, message: str
) -> None:
    found = guessed(Session(written(Path("a.conllu")), "anna"))
    change(found, 0, "head", 2, 4)
    found.save()
    if what:
        change(found, 0, what, word, value)
    whole = [block(marked) for marked in found.sentences]
    with pytest.raises(DataError, match=message) as caught:
        edited(found, (old, new))
    assert "move a.conllu away to have it written again from a.conllu.journal" in str(caught.value)
    Path("a.conllu").rename("other.conllu")
    Session("a.conllu", "anna").close()
    text = Path("a.conllu").read_text(encoding="utf-8")
    assert [one for one in whole if one not in text] == []


@pytest.mark.parametrize(
    ("mode", "text"),
    [
        (0o600, ROWS),
        (0o644, "\ufeff" + ROWS.replace("\n", "\r\n").replace("\r\n\r\n", "\r\n\r\n\r\n", 1)),
    ],
)
def test_a_file_that_is_gone_or_empty_is_written_again_from_its_journal(
    folder: Path, vdgi: Vdgi, text: str, mode: int
) -> None:
    path = written(Path("a.conllu"), text)
    path.chmod(mode)
    found = guessed(Session(path, "anna"))
    change(found, 1, "done")
    change(found, 0, "note", 0, "mine")
    found.close()
    whole = path.read_bytes()
    for spoil in (path.unlink, lambda: path.write_bytes(b""), lambda: path.write_bytes(b"\r\n")):
        spoil()
        found = Session(path, "anna")
        assert found.is_unsaved
        found.close()
        assert path.read_bytes() == whole
        assert path.stat().st_mode & 0o777 == mode
    path.unlink()
    assert vdgi("annotate", "a.conllu", "--annotator", "a|b").err.startswith("--annotator")
    Path("a.conllu.journal").write_bytes(b"")
    with pytest.raises(DataError, match="a.conllu: no such file"):
        Session(path, "anna")
    Path("a.conllu.journal").unlink()
    assert "no such file" in vdgi("annotate", "a.conllu").err


def confirmed(path: Path) -> set[tuple[object, ...]]:
    """Everything with a mark in a file."""
    return {
        (marked.sent_id, marked.forms, word, name, value)
        for marked in read_marked(path)
        for word, (arc, columns) in enumerate(zip(marked.arcs, marked.state.columns), 1)
        for name, value, by in (
            ("head", arc.head, arc.head_by),
            ("label", arc.label, arc.label_by),
            ("upos", columns.upos, columns.tag_by),
            ("lemma", columns.lemma, columns.lemma_by),
        )
        if by
    }


def test_a_journal_cut_at_any_byte_never_takes_from_the_file_what_is_confirmed_there(
    folder: Path,
) -> None:
    found = guessed(Session(written(Path("a.conllu")), "anna"))
    for number, what, word, value in (
        (0, "head", 2, 4), (0, "lemma", 1, "der"), (1, "done", 0, 0), (2, "tag", 1, "X"), (2, "cut", 4, 0),
    ):  # fmt: skip
        change(found, number, what, word, value)
        found.save()
    found.close()
    whole, journal = Path("a.conllu").read_bytes(), Path("a.conllu.journal").read_bytes()
    before, n_opened = confirmed(Path("a.conllu")), 0
    assert len(before) == 7
    for end in range(0, len(journal), int(os.environ.get("VDGI_CUTS", "31"))):
        Path("a.conllu").write_bytes(whole)
        Path("a.conllu.journal").write_bytes(journal[:end])
        try:
            Session("a.conllu", "anna").close()
        except DataError:
            assert Path("a.conllu").read_bytes() == whole
        else:
            n_opened += 1
            assert confirmed(Path("a.conllu")) >= before
    assert n_opened > 20


def test_random_changes_by_both_are_kept_or_refused(folder: Path) -> None:
    numbers = random.Random(3)
    outcomes: Counter[str] = Counter()
    for _ in range(40):
        Path("a.conllu.journal").unlink(missing_ok=True)
        session = guessed(Session(written(Path("a.conllu")), "anna"))
        for step in range(numbers.randint(1, 7)):
            marked = numbers.choice(session.sentences)
            what = numbers.choice(
                ["lemma", "note", "note", "head", "tag", "split", "cut", "glue", "undo", "save"]
            )
            word = numbers.randint(1, len(marked))
            value = {
                "lemma": f"in{step}",
                "note": f"in{step}",
                "head": 1,
                "tag": "NOUN",
                "split": 1,
            }.get(what, 0)
            with contextlib.suppress(ChangeError):
                if what == "save":
                    session.save()
                elif what == "undo":
                    session.back("undo")
                else:
                    session.change(marked.id, seen(marked), what, word, value)
        mine = "".join(map(block, session.sentences))
        forms = "".join(form for marked in session.sentences for form in marked.forms)
        session.release()
        lines = Path("a.conllu").read_text(encoding="utf-8").split("\n")
        for edit in range(numbers.randint(1, 3)):
            k = numbers.choice([k for k, line in enumerate(lines) if line])
            columns = lines[k].split("\t")
            if len(columns) < 10:
                lines[k] += f"\n# out = out{edit}x"
            elif numbers.random() < 0.5 and columns[0].isdecimal():
                columns[2] = f"out{edit}x"
            else:
                columns[9] = (
                    f"Out=out{edit}x" if columns[9] == "_" else f"{columns[9]}|Out=out{edit}x"
                )
            lines[k] = lines[k] if len(columns) < 10 else "\t".join(columns)
        theirs = "\n".join(lines)
        Path("a.conllu").write_text(theirs, encoding="utf-8")
        try:
            session = Session("a.conllu", "anna")
        except DataError:
            outcomes["refused"] += 1
            continue
        session.close()
        after = Path("a.conllu").read_text(encoding="utf-8")
        outcomes["kept"] += 1
        assert set(re.findall(r"\bin\d", after)) == set(re.findall(r"\bin\d", mine))
        assert set(re.findall(r"\bout\dx", after)) == set(re.findall(r"\bout\dx", theirs))
        assert "".join(form for marked in read_marked("a.conllu") for form in marked.forms) == forms
        again = Session("a.conllu", "anna")
        assert not again.is_unsaved
        again.close()
    assert min(outcomes["kept"], outcomes["refused"]) > 5, outcomes


def test_a_state_that_could_not_be_written_is_not_taken_for_the_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = guessed(Session(written(Path("a.conllu")), "anna"))
    change(session, 1, "head", 1, 2)
    session.save()

    def full(path: Path) -> Any:
        raise UsageError(f"cannot write '{path}': the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(files, "atomic_bytes_writer", full)
        for number, lemma in ((0, "a"), (0, "b"), (1, "c")):
            change(session, number, "lemma", 1, lemma)
            message = "the disk is full. What you confirmed is safe in a.conllu.journal"
            with pytest.raises(UnwrittenError, match=message):
                session.save()
            assert session.is_unsaved
    found = edited(session, ("Cats\tcat", "Cats\tkitty"))
    assert [marked.columns[0].lemma for marked in found.sentences] == ["b", "c", "kitty"]
    found.close()


@pytest.mark.parametrize(
    "how", ["truncated", "cut", "deleted", "replaced", "folder", "pipe", "same size and time"]
)
def test_whatever_another_program_does_to_the_file_is_noticed_and_nothing_is_written(
    session: Session, how: str
) -> None:
    path = Path("a.conllu")
    text, before = path.read_bytes(), path.stat()
    other = text.replace(b"Gloss=a b", b"Gloss=b a")
    if how in ("truncated", "cut"):
        os.truncate(path, 0 if how == "truncated" else 100)
    elif how == "same size and time":
        with path.open("r+b") as handle:
            handle.write(other)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    else:
        path.unlink()
    if how == "replaced":
        path.write_bytes(other)
    elif how == "folder":
        path.mkdir()
    elif how == "pipe":
        os.mkfifo(path)
    change(session, 0, "lemma", 1, "der")
    assert not session.save()
    assert "a.conllu was changed by another program and is no longer saved" in session.fault
    change(session, 0, "note", 1, "later")
    session.close()
    content = path.read_bytes() if path.is_file() else None
    expected = {"truncated": b"", "cut": text[:100]}
    assert content == expected.get(
        how, other if how in ("replaced", "same size and time") else None
    )
    if how in ("folder", "pipe", "cut"):
        path.rename("away")
    if how in ("replaced", "same size and time"):
        with pytest.raises(DataError, match="a sentence that was changed here, too"):
            Session("a.conllu", "anna")
        path.unlink()
    found = Session("a.conllu", "anna")
    word = found.text.of_id(0).state.columns[0]
    assert (word.lemma, word.misc) == ("der", "Note=later")
    found.close()
