"""What the validator of Universal Dependencies says of a file, on its level 1, and what the reader
says.

The validator is under the GPL: it runs in a process of its own, and no file of its is here.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest
from shell import Vdgi
from wording import Wording

from dynet_vdgi.conllu import reading
from dynet_vdgi.errors import DataError

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("udtools") is None,
    reason="udtools, the official validator, is not installed",
)

MALFORMED = sorted((Path(__file__).parents[1] / "malformed").glob("*.conllu"))

ALL_OF_A_FILE = """
import json, sys
from udtools.validator import Validator
validator, found = Validator(level=1, output=None), {}
for name in sys.argv[1:]:
    try:
        found[name] = sorted({incident.testid for incident in validator.validate_files([name]).error_tracker})
    except (UnicodeError, ValueError) as error:
        found[name] = [type(error).__name__]
print(json.dumps(found))
"""


def word(number: object, form: str = "w", **columns: str) -> str:
    """A line; the columns may be named."""
    cells = {"id": str(number), "form": form, "lemma": "_", "upos": "X", "xpos": "_", "feats": "_"}
    cells |= {"head": "_", "deprel": "_", "deps": "_", "misc": "_"}
    return "\t".join((cells | columns).values()) + "\n"


def span(number: str, form: str = "w", **columns: str) -> str:
    """The line of a range, or of an empty node."""
    return word(number, form, upos="_", **columns)


FAULTS = {
    "misplaced-comment": word(1) + "# c\n" + word(2) + "\n",
    "pseudo-empty-line": word(1) + " \n" + word(1) + "\n",
    "empty-sentence between sentences": word(1) + "\n\n" + word(1) + "\n",
    "empty-sentence": "# c\n\n" + word(1) + "\n",
    "invalid-line": "x" + word(1) + "\n",
    "missing-empty-line": word(1),
    "number-of-columns": word(1)[:-3] + "\n\n",
    "invalid-utf": word(1, "\ufffd") + "\n",
    "unicode-normalization": word(1, "e\u0301") + "\n",
    "invalid-whitespace-mwt": span("1-2", "a b") + word(1) + word(2) + "\n",
    "invalid-whitespace": word(1, feats="A=b c") + "\n",
    "empty-column": word(1, xpos="") + "\n",
    "leading-whitespace": word(1, " w") + "\n",
    "trailing-whitespace": word(1, lemma="w ") + "\n",
    "repeated-whitespace": word(1, "a  b") + "\n",
    "invalid-word-id": word("01") + "\n",
    "misplaced-word-interval": word(1) + span("1-2") + word(2) + "\n",
    "misplaced-empty-node": word(1) + span("1.2") + word(2) + "\n",
    "misplaced-empty-node inside a range": word(1)
    + span("2-3")
    + span("1.1")
    + word(2)
    + word(3)
    + "\n",
    "word-id-sequence": word(1) + word(3) + "\n",
    "reversed-word-interval": span("2-1") + word(1) + word(2) + "\n",
    "word-interval-out": word(1) + span("2-3") + word(2) + "\n",
    "overlapping-word-intervals": span("1-2") + word(1) + span("2-3") + word(2) + word(3) + "\n",
    "non-unix-newline": word(1).replace("\n", "\r\n") + "\r\n",
}
"""A file for every fault that the validator knows on this level, by its name for it."""

REPAIRED = {
    "pseudo-empty-line",
    "empty-sentence between sentences",
    "missing-empty-line",
    "non-unix-newline",
}
"""Of these: what is meant is plain; it is read, and said."""

TAKEN = {
    "invalid-utf": "the letter U+FFFD is a letter; bytes that are no UTF-8 are refused",
    "unicode-normalization": "`vdgi check` tells it; letters are compared as they stand",
    "invalid-whitespace-mwt": "ranges are kept as they stand, and nothing looks at their words",
}
"""Of these: read without a word, and why."""

SOUND = {
    "plain": "# text = w\n" + word(1) + "\n",
    "ranges": span("1-2") + word(1) + word(2) + span("3-4") + word(3) + word(4) + "\n",
    "empty nodes": span("0.1") + word(1) + span("1.1") + span("1.2") + word(2) + "\n",
    "an empty node in a range": span("1-2") + word(1) + span("1.1") + word(2) + "\n",
    "an empty node before a range": word(1) + span("1.1") + span("2-3") + word(2) + word(3) + "\n",
    "spaces inside words": word(1, "a b", lemma="a b", misc="A=b c") + "\n",
    "scripts": word(1, "كتاب") + word(2, "漢字") + word(3, "देव") + word(4, "🦦") + "\n",
    "other columns": word(1, feats="A=b|C=d", xpos="X-Y", deps="0:root", misc="SpaceAfter=No")
    + "\n",
    "many sentences": (word(1) + "\n") * 50,
    "comments": "#\n# newdoc\n# text=\n" + word(1) + "\n",
}

STRICTER = (
    "block-",
    "empty-node-with-",
    "feats-",
    "head-",
    "nul-",
    "range-early",
    "range-with-",
    "t",
)
"""How names in tests/malformed begin whose faults the validator tells on higher levels, or not at
all."""


def validated(paths: list[Path]) -> dict[str, list[str]]:
    """The faults of each file, by its name."""
    command = [sys.executable, "-c", ALL_OF_A_FILE, *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return {Path(name).stem: found for name, found in json.loads(done.stdout).items()}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("udtools")
    paths = {name: folder / f"{name}.conllu" for name in (*FAULTS, *SOUND)}
    for name, path in paths.items():
        path.write_bytes((FAULTS | SOUND)[name].encode())
    return paths


@pytest.fixture(scope="module")
def official(written: dict[str, Path]) -> dict[str, list[str]]:
    return validated([*written.values(), *MALFORMED])


def said_of(path: Path) -> tuple[list[DataError], list[str]]:
    """Faults and repairs of a file."""
    faults: list[DataError] = []
    repairs: list[str] = []
    list(
        reading.read(
            path, on_error=faults.append, on_repair=lambda repair: repairs.append(str(repair))
        )
    )
    return faults, repairs


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_is_refused_or_repaired_or_taken_for_a_reason(
    name: str, written: dict[str, Path], official: dict[str, list[str]]
) -> None:
    assert name.partition(" ")[0] in official[name]
    faults, repairs = said_of(written[name])
    expected = (0, 0) if name in TAKEN else (0, 1) if name in REPAIRED else (1, 0)
    assert (len(faults), len(repairs)) == expected


@pytest.mark.parametrize("name", SOUND)
def test_what_is_sound_is_taken(
    name: str, written: dict[str, Path], official: dict[str, list[str]]
) -> None:
    assert official[name] == []
    assert said_of(written[name]) == ([], [])


def test_what_the_reader_refuses_the_validator_refuses(official: dict[str, list[str]]) -> None:
    accepted = {path.stem for path in MALFORMED if not official[path.stem]}
    assert {name for name in accepted if not name.startswith(STRICTER)} == {"file-empty"}


def test_every_fault_that_the_validator_knows_is_here(official: dict[str, list[str]]) -> None:
    known = {fault for found in official.values() for fault in found}
    assert known - {"UnicodeDecodeError", "ValueError"} <= {
        name.partition(" ")[0] for name in FAULTS
    }


@pytest.mark.parametrize("text", ["", "\n\n", "\ufeff"])
def test_an_empty_file_is_not_without_errors(
    vdgi: Vdgi, folder: Path, text: str, wording: Wording
) -> None:
    Path("empty.conllu").write_text(text, encoding="utf-8")
    refused = vdgi("check", "empty.conllu", "--ud")
    assert (refused.status, refused.out) == (3, "")
    wording.check(refused.err)
