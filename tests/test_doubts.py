"""The words whose heads are most doubtful."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from shell import Vdgi


def sentence(number: int, notes: list[str]) -> str:
    """A block of a noun, a verb and a full stop with these notes in MISC."""
    words = [("dogs", "NOUN", 2, "nsubj"), ("bark", "VERB", 0, "root"), (".", "PUNCT", 2, "punct")]
    lines = [f"# sent_id = s{number}"] + [
        f"{k}\t{form}\t_\t{tag}\t_\t_\t{head}\t{relation}\t_\t{note}"
        for k, ((form, tag, head, relation), note) in enumerate(zip(words, notes), 1)
    ]
    return "\n".join(lines) + "\n\n"


@pytest.fixture
def vdgi(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Vdgi:
    monkeypatch.chdir(tmp_path)
    return Vdgi(capsys)


def write(name: str, *rows: list[str]) -> str:
    """A file of sentences with these notes."""
    text = "".join(sentence(number, notes) for number, notes in enumerate(rows, 1))
    Path(name).write_text(text, encoding="utf-8")
    return name


def test_the_least_sure_words_come_first_and_equal_ones_in_order(vdgi: Vdgi) -> None:
    name = write(
        "a.conllu",
        ["HeadConf=0.5000", "HeadConf=0.7000", "HeadConf=0.0100"],  # punctuation of another program
        ["HeadConf=0.5000|X=y", "SpaceAfter=No|HeadConf=0.1234", "_"],
    )
    lines = [line.split() for line in vdgi.good("choose", "--words", name, "-n", "3").out.splitlines()]
    assert lines[0] == ["place", "sentence", "word", "form", "tag", "head", "relation", "HeadConf"]
    assert lines[1:] == [
        ["a.conllu:8", "s2", "2", "bark", "VERB", "0", "ROOT", "root", "0.1234"],
        ["a.conllu:2", "s1", "1", "dogs", "NOUN", "2", "bark", "nsubj", "0.5000"],
        ["a.conllu:7", "s2", "1", "dogs", "NOUN", "2", "bark", "nsubj", "0.5000"],
    ]
    found = json.loads(vdgi.good("choose", "--words", name, "--json").out)
    assert [(one["line"], one["value"]) for one in found] == [(8, 0.1234), (2, 0.5), (7, 0.5), (3, 0.7)]
    assert found[0]["head_form"] == "ROOT"


def test_doubtful_tags_come_before_all_heads(vdgi: Vdgi) -> None:
    name = write(
        "t.conllu",
        ["TagConf=0.5000|HeadConf=0.2000", "HeadConf=0.1000", "TagConf=0.8000"],
        ["TagConf=0.9500|HeadConf=0.3000", "TagConf=0.3000", "TagConf=1"],
    )
    lines = [line.split() for line in vdgi.good("choose", "--words", name, "-n", "5").out.splitlines()]
    assert [(line[0], line[-1]) for line in lines] == [
        ("place", "TagConf"),
        ("t.conllu:8", "0.3000"),
        ("t.conllu:2", "0.5000"),
        ("t.conllu:4", "0.8000"),
        ("place", "HeadConf"),
        ("t.conllu:3", "0.1000"),
        ("t.conllu:2", "0.2000"),
    ]


def test_heads_can_be_listed_alone(vdgi: Vdgi) -> None:
    name = write("t.conllu", ["TagConf=0.5000|HeadConf=0.2000", "HeadConf=0.1000", "TagConf=0.8000"])
    found = json.loads(vdgi.good("choose", "--words", name, "--heads", "--json").out)
    assert [(one["key"], one["value"]) for one in found] == [("HeadConf", 0.1), ("HeadConf", 0.2)]
    none = vdgi("choose", "--words", write("u.conllu", ["TagConf=0.5000", "_", "_"]), "--heads")
    assert none.status == 2
    assert "no word has HeadConf= in MISC" in none.err


def test_tags_without_trees_are_listed_too(vdgi: Vdgi) -> None:
    name = write("n.conllu", ["TagConf=0.5000", "TagConf=0.9100", "_"])
    bare = re.sub(r"\t[0-9]\t[a-z]+\t_\t", "\t_\t_\t_\t", Path(name).read_text(encoding="utf-8"))
    Path(name).write_text(bare, encoding="utf-8")
    lines = [line.split() for line in vdgi.good("choose", "--words", name).out.splitlines()]
    assert lines[1:] == [["n.conllu:2", "s1", "1", "dogs", "NOUN", "_", "_", "_", "0.5000"]]
    Path(name).write_text(bare.replace("0.5", "0.95"), encoding="utf-8")
    done = vdgi.good("choose", "--words", name)
    assert (done.out, "no tag is less sure than 0.9" in done.err) == ("", True)


@pytest.mark.parametrize(
    ("notes", "status", "message"),
    [
        (
            ["_", "X=y", "_"],
            2,
            "no word has HeadConf= or TagConf= in MISC: parse with --confidence",
        ),
        (["HeadConf=2", "_", "_"], 3, "c.conllu:2: HeadConf=2 is not a number from 0 to 1"),
        (["HeadConf=nan", "_", "_"], 3, "is not a number from 0 to 1"),
    ],
)
def test_what_cannot_be_listed_is_said(vdgi: Vdgi, notes: list[str], status: int, message: str) -> None:
    result = vdgi("choose", "--words", write("c.conllu", notes))
    assert result.status == status
    assert message in result.err


def test_a_number_below_one_is_refused(vdgi: Vdgi) -> None:
    result = vdgi("choose", "--words", write("d.conllu", ["HeadConf=0.1", "_", "_"]), "-n", "0")
    assert (result.status, result.err.strip()) == (2, "-n 0: must be at least 1")
