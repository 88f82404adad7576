"""What a new user is likely to do wrong, and what the program says then."""

from __future__ import annotations

import logging
import threading
from pathlib import Path

import pytest
import tiny
import universal_toys as universal
from wording import Wording

import dynet_vdgi
from dynet_vdgi.errors import DataError, ModelError
from dynet_vdgi.page.store import plain_text
from dynet_vdgi.parser.outlook import RELATED_DISTANCE, RELATED_WORDS, Outlook
from dynet_vdgi.parser.parser import Parser
from dynet_vdgi.system import progress


@pytest.fixture
def toy(folder: Path) -> Parser:
    """A universal parser; the present folder has a tagged text."""
    tiny.write(folder / "tagged.conllu", heads=False)
    return dynet_vdgi.load(universal.saved(folder / "toy.vdgi"))


def test_the_package_s_own_model_is_meant(wording: Wording) -> None:
    with wording.raises(ModelError):
        dynet_vdgi.load("univresal")


def test_conllu_is_not_read_as_raw_text(toy: Parser, wording: Wording) -> None:
    Path("tagged.conllu").rename("words.txt")
    with wording.raises(DataError):
        plain_text.conllu_of("words.txt", None)


def test_unknown_tags_are_warned_of_once(caplog: pytest.LogCaptureFixture, toy: Parser) -> None:
    parser = toy.adapted("tagged.conllu")
    with caplog.at_level(logging.WARNING, "dynet_vdgi"):
        for _ in range(2):
            parser(["a", "b"], ["N", "_"])
            parser.parse(["a", "b"], ["N", "VERB"])
    assert [message.partition(" (")[0] for message in caplog.messages] == ["tags N _"]


def test_faulty_heads_of_a_file_are_replaced(toy: Parser) -> None:
    text = Path("tagged.conllu").read_text(encoding="utf-8")
    Path("own.conllu").write_text(
        text.replace("\t_\t_\t_\t_\n", "\t1\tx\t_\t_\n"), encoding="utf-8"
    )
    expected = [sentence.heads for sentence in toy.pipe("tagged.conllu")]
    assert [sentence.heads for sentence in toy.pipe("own.conllu")] == expected


def test_an_own_treebank_is_noticed() -> None:
    many = 10**6
    assert (
        Outlook(1, many, [("A-B", RELATED_DISTANCE - 0.01), ("C-D", 1.0)], []).learnt_from == "A-B"
    )
    assert Outlook(1, many, [("A-B", RELATED_DISTANCE + 0.01)], []).learnt_from == ""
    # too short to tell
    assert Outlook(1, RELATED_WORDS - 1, [("A-B", RELATED_DISTANCE - 0.01)], []).learnt_from == ""


@pytest.mark.parametrize("level", [logging.INFO, logging.WARNING])
def test_long_work_gives_signs_of_life(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, level: int
) -> None:
    monkeypatch.setattr(progress, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(progress, "is_shown", lambda: False)
    told = threading.Event()
    tell = progress.Bar.tell
    monkeypatch.setattr(progress.Bar, "tell", lambda lines: (tell(lines), told.set()))
    with caplog.at_level(level, "dynet_vdgi"), progress.Bar("sentences", 2000, 1000):
        assert told.wait(60 if level == logging.INFO else 0.1) == (level == logging.INFO)
    assert [m.partition(" after")[0] for m in caplog.messages[:1]] == (
        ["1,000 of 2,000 sentences"] if level == logging.INFO else []
    )
