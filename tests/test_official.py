"""The official validator beside the page, most often a false one: found, run, its messages by sentence."""

from __future__ import annotations

import importlib.util
import shlex
import shutil
import sys
from pathlib import Path

import pytest
from annotating import guessed, seen, written

from dynet_vdgi.annotation.marked import ChangeError
from dynet_vdgi.annotation.session import Session
from dynet_vdgi.annotation.validator import Validator
from dynet_vdgi.errors import UsageError
from dynet_vdgi.validation import official

FALSE = """
import sys
from pathlib import Path

lines = Path(sys.argv[-1]).read_text(encoding="utf-8").split("\\n")
with open(__file__ + ".runs", "a") as runs:
    runs.write("x")
for number, line in enumerate(lines, 1):
    if line.startswith("# sent_id = two"):
        print(f"[Line {number} Sent two]: [L2 METADATA missing-text] Missing the text attribute.")
    if "\\tdogs\\t" in line:
        print(f"[Line {number} Sent one Node 2]: [L3 SYNTAX rel-upos-dep] A dog is no 'dep'.")
print("*** FAILED ***")
sys.exit(1)
"""


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A validator that dislikes dogs and the sentence two."""
    found = tmp_path / "val idate.py"
    found.write_text(FALSE, encoding="utf-8")
    monkeypatch.setenv(official.VARIABLE, shlex.join([sys.executable, str(found), "--lang", "ta"]))
    return found


def test_the_validator_is_that_of_the_variable_or_of_this_python_or_none(
    script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert official.command() == [sys.executable, str(script), "--lang", "ta"]
    monkeypatch.delenv(official.VARIABLE)
    monkeypatch.setattr(shutil, "which", lambda name, path=None: f"{path}/{name}" if path else None)
    beside = str(Path(sys.executable).parent / "udvalidate")
    assert official.command() == [beside, "--lang", "ud", "--level", "3"]
    monkeypatch.setattr(shutil, "which", lambda name, path=None: None)
    assert official.command() is None
    with pytest.raises(UsageError, match="pip install udtools, or name one in VDGI_UD_VALIDATOR"):
        official.messages("")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("no-such-validator --lang ta", "the validator no-such-validator --lang ta cannot be run"),
        ("'half", "VDGI_UD_VALIDATOR='half: No closing quotation"),
        (
            f"{shlex.quote(sys.executable)} -c 'raise SystemExit(\"no such language\")'",
            "failed: no such language",
        ),
    ],
)
def test_a_validator_that_does_not_work_is_told(
    command: str, message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(official.VARIABLE, command)
    session = guessed(Session(written(tmp_path / "a.conllu"), "anna"))
    validator = Validator(session.text)
    assert validator.is_installed
    with pytest.raises(UsageError) as caught:
        validator.found("")
    assert message in str(caught.value)
    session.close()


def test_messages_are_told_by_sentence_and_word_those_worked_on_first(script: Path, tmp_path: Path) -> None:
    session = guessed(Session(written(tmp_path / "a.conllu"), "anna"))
    validator = Validator(session.text)
    dog = "[L3 SYNTAX rel-upos-dep] A dog is no 'dep'."
    lines = [
        (0, "The dogs don't bark.", f"2 dogs: {dog}"),
        (1, "Dogs bark", "[L2 METADATA missing-text] Missing the text attribute."),
        (2, "Cats see dogs , they say", f"3 dogs: {dog}"),
    ]

    def hits(query: str = "") -> list[tuple[int, str, str]]:
        found = validator.found(query)
        assert found["count"] == len(found["found"])
        return [(hit["number"], hit["text"], hit["why"]) for hit in found["found"]]

    assert hits() == lines
    assert hits("DOG is") == [lines[0], lines[2]]
    assert Path(f"{script}.runs").read_text() == "x", "it is run again only after a change"
    session.change(2, seen(session.text.of_id(2)), "right", 3)
    assert hits() == [lines[2], *lines[:2]]
    session.close()


def test_sentences_without_a_tree_are_not_read(script: Path, tmp_path: Path) -> None:
    session = Session(written(tmp_path / "a.conllu"), "anna")
    with pytest.raises(ChangeError, match="no sentence has tags and a tree yet"):
        Validator(session.text).found("")
    assert not Path(f"{script}.runs").exists()
    session.close()


@pytest.mark.skipif(importlib.util.find_spec("udtools") is None, reason="udtools is not installed")
def test_the_official_validator_itself_is_understood(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(official.VARIABLE, raising=False)
    session = guessed(Session(written(tmp_path / "a.conllu"), "anna"))
    found = Validator(session.text).found("missing-text")
    assert [(hit["number"], hit["why"]) for hit in found["found"]] == [
        (1, "[L2 METADATA missing-text] Missing the text attribute."),
        (2, "[L2 METADATA missing-text] Missing the text attribute."),
    ]
    session.close()
