"""A file under annotation keeps its bytes: all of them until a change, then those of the other
sentences."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from annotating import ROWS, guessed, seen, written

from dynet_vdgi.errors import UsageError
from dynet_vdgi.page.store.own_file import plain_conllu
from dynet_vdgi.page.store.plain_text import conllu_of
from dynet_vdgi.page.store.session import Given, Session
from dynet_vdgi.page.text.guesses import TagGuess


def without_end(text: str) -> str:
    return text.rstrip("\n")


def with_windows_lines(text: str) -> str:
    return text.replace("\n", "\r\n")


def odd(text: str) -> str:
    """With a byte order mark, needless empty lines, blanks in them, and some Windows line ends."""
    one, two, *others = text.split("\n\n", 2)
    return "\ufeff\n" + "\n\n\n".join([one, two.replace("\n", "\r\n"), *others]).replace(
        "\n\n", "\n \n"
    )


def as_it_is(text: str) -> str:
    return text


STYLES = (as_it_is, without_end, with_windows_lines, odd)


def without_trees(text: str) -> str:
    return re.sub(r"(?m)^([0-9]+(?:\t[^\t\n]*){5})\t[^\t\n]*\t[^\t\n]*", r"\1\t_\t_", text)


def with_some_marks(text: str) -> str:
    """Every third word has a confirmed head."""
    return re.sub(r"(?m)^(\d*[147]\t.*\t)([^\t\n]*)$", r"\1HeadBy=ben|\2", text).replace(
        "ben|_", "ben"
    )


SITUATIONS: tuple[tuple[Given | None, Callable[[str], str]], ...] = (
    ("right", as_it_is),
    ("guessed", as_it_is),
    (None, without_trees),
    (None, with_some_marks),
)
"""What is said with `--given`, and what is done to a file with trees for it."""


def opened(given: Given | None, by: str = "anna") -> Session:
    """A session in which every sentence has got a guess, as far as that is possible."""
    session = guessed(Session("a.conllu", by, given))
    for marked in session.sentences:
        n = len(marked)
        guess = TagGuess(("X",) * n, (0.5,) * n, ("lemma",) * n, ("XX",) * n, ("A=B",) * n)
        session.text.put_tags(marked, guess)
    return session


def stays(text: str, given: Given | None, changed: int) -> None:
    """A session that is opened twice leaves a file alone; a note in one sentence, all others;
    undone, all."""
    whole = text.encode()
    written(Path("a.conllu"), text)
    Path("a.conllu.journal").unlink(missing_ok=True)
    for _ in range(2):
        session = opened(given)
        session.close()
        assert Path("a.conllu").read_bytes() == whole
    session = opened(None)
    assert session.journal.records[1]["base"].encode() == whole
    marked = session.sentences[changed]
    session.change(marked.id, seen(marked), "note", 0, "mine")
    session.close()
    after, before = Path("a.conllu").read_bytes().decode(), text
    if is_regular := plain_conllu(text).replace("\n", "\r\n" if "\r\n" in text else "\n") == text:
        end = "\r\n\r\n" if "\r" in text else "\n\n"
    else:
        after, before, end = plain_conllu(after), plain_conllu(text), "\n\n"
    blocks = after.split(end)
    assert len(blocks) == len(before.split(end))
    assert [k for k, (a, b) in enumerate(zip(blocks, before.split(end))) if a != b] == [changed]
    assert "# note = mine" in blocks[changed]
    session = opened(None)
    session.back("undo")
    session.close()
    left = Path("a.conllu").read_bytes()
    assert plain_conllu(left.decode()) == plain_conllu(text)
    assert left == whole or not is_regular


WITH_TREES = "".join(
    f"{comment}1\tNo\tno\tINTJ\t_\t_\t3\tdiscourse\t3:discourse\t_\n"
    f"2\t,\t,\tPUNCT\t_\t_\t{comma}\tpunct\t_\tSpaceBefore=No\n"
    "3\tgo\tgo\tVERB\tVB\tA=B\t0\troot\t0:root\tGloss=x|Gloss=x\n"
    "3.1\tthere\t_\t_\t_\t_\t_\t_\t3:dep\t_\n"
    f"4\t!\t!\tPUNCT\t.\t_\t{end}\tpunct\t_\t_\n\n"
    for comment, comma, end in (
        ("# sent_id = 1\n#odd\n", 3, 1),
        ("", 1, 2),
        ("# sent_id = 3\n", 4, 3),
    )
)
"""Sentences whose punctuation hangs where a program would not put it."""

ONLY_MARKS = "1\t?\t?\tPUNCT\t_\t_\t2\tpunct\t_\t_\n2\t!\t!\tPUNCT\t_\t_\t0\troot\t_\t_\n\n"
WITHOUT_RELATIONS = re.sub(r"(?m)^(\d+\t.*\t)[a-z]+(\t[^\t]*\t[^\t]*)$", r"\1_\2", WITH_TREES)
PARTIAL = WITH_TREES.replace("\t3\tdiscourse\t", "\t_\t_\t")


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(
    "text", [WITH_TREES, WITH_TREES + ONLY_MARKS, WITHOUT_RELATIONS, PARTIAL, ROWS]
)
def test_odd_files_stay_byte_for_byte(folder: Path, style: Callable[[str], str], text: str) -> None:
    for given, changes in SITUATIONS:
        if text is not ROWS:
            stays(style(changes(text)), given, changed=1)
        elif given is None:
            stays(style(text), None, changed=1)


def test_tokenised_raw_texts_stay_byte_for_byte(folder: Path) -> None:
    for text in (
        "Dogs  bark.\n\nWhy? \u201cNo\u201d\n",
        "a\tb\u00a0c. D\r\ne",
        "پاٹھ ہے۔ नमस्ते दुनिया।\n\n\n",
    ):
        Path("raw.txt").write_bytes(text.encode())
        stays(conllu_of("raw.txt", None), None, changed=0)


def heads(session: Session) -> list[tuple[int, ...]]:
    return [marked.heads for marked in session.sentences]


def test_heads_of_punctuation_that_are_given_as_right_stay_whatever_is_done(folder: Path) -> None:
    written(Path("a.conllu"), WITH_TREES)
    session = opened("right")
    given = [(3, 3, 0, 1), (3, 1, 0, 2), (3, 4, 0, 3)]
    assert heads(session) == given
    assert all(marked.is_done for marked in session.sentences)
    session.change(1, seen(session.sentences[1]), "label", 1, "advmod")
    session.change(2, seen(session.sentences[2]), "head", 4, 1)
    assert heads(session) == [*given[:2], (3, 4, 0, 1)]
    session.close()
    session = opened(None)
    assert heads(session) == [*given[:2], (3, 4, 0, 1)]
    session.close()
    one, two, _ = Path("a.conllu").read_text(encoding="utf-8").strip("\n").split("\n\n")
    assert "By=" not in one
    assert two.count("HeadBy=anna|LabelBy=anna") == 4


def test_heads_of_some_words_can_be_given(folder: Path) -> None:
    written(Path("a.conllu"), PARTIAL)
    session = opened("right")
    assert [arc.head_by for arc in session.sentences[0].arcs] == ["", "anna", "anna", "anna"]
    session.close()
    written(Path("b.conllu"), PARTIAL.replace("\t3\tpunct", "\t0\troot", 1))
    session = Session("b.conllu", "anna", "right")
    assert [arc.head_by for arc in session.sentences[0].arcs] == ["", "", "", "anna"]
    assert session.sentences[0].open_conflicts == dict.fromkeys((2, 3), "2 roots: words 2, 3")
    session.close()


def test_given_again_is_a_note_and_something_else_is_refused(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    written(Path("a.conllu"), WITH_TREES)
    opened("guessed").close()
    with caplog.at_level("INFO", logger="dynet_vdgi"):
        opened("guessed").close()
    assert "--given has no effect: a.conllu has been annotated before" in caplog.text
    with pytest.raises(
        UsageError, match=r"a.conllu was begun with --given guessed; to begin again, move a"
    ):
        opened("right")


def test_another_programs_tree_is_taken_over_where_nobody_has_confirmed_the_given_one(
    folder: Path,
) -> None:
    written(Path("a.conllu"), WITH_TREES)
    session = opened("right")
    session.change(1, seen(session.sentences[1]), "head", 4, 3)
    session.close()
    text = Path("a.conllu").read_text(encoding="utf-8").replace("\t1\tpunct", "\t3\tpunct", 1)
    written(Path("a.conllu"), text)
    session = opened(None)
    assert heads(session) == [(3, 3, 0, 3), (3, 1, 0, 3), (3, 4, 0, 3)]
    assert all(marked.is_done for marked in session.sentences)
    session.close()
    assert Path("a.conllu").read_text(encoding="utf-8") == text
