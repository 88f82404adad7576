"""No entry of tests/transcripts/messages is left over from a test that is gone.

VDGI_REGENERATE=1 deletes such entries.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import wording


def output_of(*options: str) -> list[str]:
    """The lines that pytest prints, with tests chosen but not run."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options],
        cwd=wording.TESTS.parent,
        env={**os.environ, "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "::" in done.stdout, done.stdout + done.stderr
    return done.stdout.splitlines()


def told_tests(modules: list[str]) -> dict[str, set[str]]:
    """The tests of these modules that may use a transcript, by module; a module that needs a
    package that is not installed has none."""
    without = set()
    for line in output_of("--setup-plan", *modules):
        test, separator, fixtures = line.strip().partition(" (fixtures used: ")
        if "::" in test and separator and "wording" not in fixtures.rstrip(")").split(", "):
            without.add(test)
    tests: dict[str, set[str]] = {}
    for line in output_of("--collect-only", *modules):
        module, separator, name = line.partition("::")
        if separator:
            names = tests.setdefault(module, set())
            if line not in without:
                names.add(wording.printable(name, ""))
    return tests


@pytest.mark.slow
def test_every_entry_belongs_to_a_test() -> None:
    stale, modules = {}, {}
    for path in sorted(wording.TRANSCRIPTS.rglob("*.txt")):
        module = wording.TESTS / path.relative_to(wording.TRANSCRIPTS).with_suffix(".py")
        if module.exists():
            modules[str(module.relative_to(wording.TESTS.parent))] = path
        else:
            stale[path] = set(wording.read(path))
    for module, names in told_tests(list(modules)).items():
        entries = wording.read(modules[module])
        if entries.keys() - names:
            stale[modules[module]] = entries.keys() - names
    if wording.REGENERATES:
        for path, names in stale.items():
            entries = wording.read(path)
            wording.write(path, {name: entries[name] for name in entries.keys() - names})
    assert not stale or wording.REGENERATES, stale


def test_a_text_comes_back_from_a_transcript(tmp_path) -> None:
    path = tmp_path / "a.txt"
    entries = {
        "test_b[one]": ["! DataError: a:1: b", "> first\n. second\n.\n. fourth"],
        "test_b[two]": ["! DataError: a:1: b", "> first\n. second\n.\n. fourth"],
        "test_a": [">"],
    }
    wording.write(path, entries)
    assert wording.read(path) == entries
    assert path.read_text(encoding="utf-8").count("test_b[") == 2
    assert path.read_text(encoding="utf-8").count("DataError") == 1
    assert wording.printable("a\tb \n\x1b") == r"a\tb\x20" + "\n" + r"\x1b"


def test_other_words_fewer_and_more_of_them_are_found(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(wording, "TRANSCRIPTS", tmp_path)
    monkeypatch.setattr(wording, "REGENERATES", False)
    module = wording.TESTS / "project" / "test_x.py"
    wording.write(wording.transcript_of(module), {"test_x": ["> the file is empty"]})

    def used(*texts: str) -> None:
        one = wording.Wording(module, "test_x", tmp_path)
        for text in texts:
            one.check(text)
        one.finish()

    used("the file is empty")
    for texts in ((), ("the file has nothing",), ("the file is empty", "more")):
        with pytest.raises(AssertionError):
            used(*texts)
