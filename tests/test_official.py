"""The official validator beside the page, most often a false one: found, run, its messages by rule."""

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
        print(f"[Line {number} Sent one Node 2]: [L3 WARNING rel-upos-dep] A dog is no 'dep'.")
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
    assert official.command(level="2") == [sys.executable, str(script), "--lang", "ta", "--level=2"]
    monkeypatch.delenv(official.VARIABLE)
    monkeypatch.setattr(shutil, "which", lambda name, path=None: f"{path}/{name}" if path else None)
    beside = str(Path(sys.executable).parent / "udvalidate")
    assert official.command() == [beside, "--lang=ud", "--level=3"]
    assert official.command("ta") == [beside, "--lang=ta", "--level=5"]
    assert official.command(level="2") == [beside, "--lang=ud", "--level=2"]
    monkeypatch.setattr(shutil, "which", lambda name, path=None: None)
    assert official.command() is None
    with pytest.raises(
        UsageError, match=r"pip install .*validate.* \(or name another one in VDGI_UD_VALIDATOR\)"
    ):
        official.messages([])


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


def test_messages_are_told_by_rule_errors_first_then_sentences_worked_on(
    script: Path, tmp_path: Path
) -> None:
    session = guessed(Session(written(tmp_path / "a.conllu"), "anna"))
    validator = Validator(session.text)
    dog, dogs = "A dog is no 'dep'.", "2 warnings: rel-upos-dep (level 3)"
    lines = [
        (1, "Dogs bark", "Missing the text attribute.", "1 error: missing-text (level 2)"),
        (0, "The dogs don't bark.", f"2 dogs: {dog}", dogs),
        (2, "Cats see dogs , they say", f"3 dogs: {dog}", dogs),
    ]

    def hits(query: str = "") -> list[tuple[int, str, str, str]]:
        found = validator.found(query)
        assert found["count"] == len(found["found"])
        return [(hit["number"], hit["text"], hit["why"], hit["rule"]) for hit in found["found"]]

    assert hits() == lines
    assert validator.found("")["summary"] == "1 error, 2 warnings in 3 sentences"
    assert hits("DOG is") == hits("upos-dep") == lines[1:]
    assert Path(f"{script}.runs").read_text() == "x", "it is run again only after a change"
    session.change(2, seen(session.text.of_id(2)), "right", 3)
    assert hits() == [lines[0], lines[2], lines[1]]
    session.close()


def test_sentences_without_a_tree_are_not_read(script: Path, tmp_path: Path) -> None:
    session = Session(written(tmp_path / "a.conllu"), "anna")
    with pytest.raises(ChangeError, match="no sentence has tags and a tree yet"):
        Validator(session.text).found("")
    assert not Path(f"{script}.runs").exists()
    session.close()


def test_a_rule_that_is_broken_often_shows_its_first_sentences(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "".join(f"# sent_id = {k}\n1\tdogs\t_\tNOUN\t_\t_\t0\troot\t_\t_\n\n" for k in range(8))
    path = tmp_path / "a.conllu"
    path.write_text(text, encoding="utf-8")
    said = [official.Message(0, 3 * k + 2, 3, rule, True, False, "No.") for k in range(8) for rule in "ab"]
    monkeypatch.setattr(official, "messages", lambda texts, patience: said)
    session = Session(path, "anna", "right")
    found = Validator(session.text).found("")
    assert (found["count"], [hit["number"] for hit in found["found"]]) == (8, [0, 1, 2, 3, 4] * 2)
    assert found["found"][0]["rule"] == "8 errors: a (level 3), the first 5 of 8 sentences"
    session.close()


@pytest.mark.skipif(importlib.util.find_spec("udtools") is None, reason="udtools is not installed")
def test_the_official_validator_itself_is_understood(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(official.VARIABLE, raising=False)
    session = guessed(Session(written(tmp_path / "a.conllu"), "anna"))
    found = Validator(session.text).found("missing-text")
    assert [(hit["number"], hit["why"]) for hit in found["found"]] == [
        (1, "Missing the text attribute."),
        (2, "Missing the text attribute."),
    ]
    session.close()
