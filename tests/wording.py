"""What errors and messages say: recorded in tests/transcripts/messages, one file for each module of
tests.

A test that expects an error writes `with wording.raises(DataError): ...`, and one that expects a
message `wording.check(result.err)`. The text is compared with the transcript, word for word. A
paragraph begins with the test's name, `[case]` included, or the names of several; then `!` begins
an error with its class, `>` a text, and `.` continues either:

    test_a_file_without_trees_is_refused[evaluate]
    test_a_file_without_trees_is_refused[draw]
    ! DataError: none.conllu:1: the sentence has no heads

`VDGI_REGENERATE=1 pytest FILE`, in one process or with `--dist loadfile`, writes the transcript of a
module again; look at the difference then.
Folders of a test are written as TMP, the repository as ROOT, times as N.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import dynet_vdgi

TESTS = Path(__file__).parent
TRANSCRIPTS = TESTS / "transcripts" / "messages"
REGENERATES = bool(os.environ.get("VDGI_REGENERATE"))

VARYING = [
    (r"(compiling .* \(once on this computer\)|learning to tokenise .*)\n", ""),  # if it takes long
    (re.escape(dynet_vdgi.__version__), "VERSION"),
    (r"\d+(?:\.\d+)?( CPU s\b| CPU seconds| s\b)", r"N\1"),
    (r"about \d+ min left", "about N min left"),
    (r"in \.(, [^;\n]*)?; --data", "in ., DATA; --data"),
    (r"\(\d+ words/s\)", "(N words/s)"),
    (r"sha256 [0-9a-f]{64}", "sha256 N"),
    (r"(not a TOML file: )(?!nested |a key |it has )[^\n]*", r"\1..."),  # what Python's reader says
    (r"\(process \d+", "(process N"),
    (r"(127\.0\.0\.1|localhost):\d+", r"\1:PORT"),
    (r"0x[0-9a-f]{8,}", "0xN"),
]
"""What differs from run to run, or from one version of Python to another."""


def transcript_of(module: Path) -> Path:
    """The file of what is said in a module of tests."""
    return TRANSCRIPTS / module.relative_to(TESTS).with_suffix(".txt")


def read(path: Path) -> dict[str, list[str]]:
    """The errors and texts of a transcript by the names of their tests."""
    entries: dict[str, list[str]] = {}
    if not path.exists():
        return entries
    for paragraph in path.read_text(encoding="utf-8").split("\n\n"):
        names: list[str] = []
        texts: list[str] = []
        for line in paragraph.rstrip("\n").split("\n"):
            if line[:2] in ("! ", "> ", ">"):
                texts.append(line)
            elif line[:2] in (". ", "."):
                texts[-1] += f"\n{line}"
            else:
                assert not texts, f"{path}: {line!r} is no line of a transcript"
                names.append(line)
        for name in names:
            assert name not in entries, f"{path}: a second entry of {name}"
            entries[name] = texts
    return entries


def write(path: Path, entries: dict[str, list[str]]) -> None:
    """Writes a transcript, sorted by names; cases of a test that are told the same are together."""
    together: dict[tuple[str, ...], list[str]] = {}
    for name in sorted(name for name, texts in entries.items() if texts):
        together.setdefault((name.partition("[")[0], *entries[name]), []).append(name)
    if not together:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    paragraphs = ["\n".join([*names, *texts]) for (_, *texts), names in together.items()]
    path.write_text("\n\n".join(paragraphs) + "\n", encoding="utf-8")


def printable(text: str, keep: str = "\n") -> str:
    """The text with what no editor shows as an escape, such as `\\t` and a blank at a line's end."""
    text = "".join(
        each if each.isprintable() or each in keep else each.encode("unicode_escape").decode()
        for each in text
    )
    return re.sub(r" (?=\n|\Z)", r"\\x20", text)


class Wording:
    """Compares what one test is told with its entry in the transcript."""

    def __init__(self, module: Path, test: str, folder: Path) -> None:
        """`folder` holds the folders of all tests."""
        self.path, self.test = transcript_of(module), printable(test, "")
        self.expected = read(self.path).get(self.test, [])
        self.texts: list[str] = []
        self.varying = [
            (rf"{re.escape(str(folder))}/[\w.-]+", "TMP"),
            (re.escape(sys.executable), "PYTHON"),  # before ROOT, where it may be
            (re.escape(str(TESTS.parent)), "ROOT"),
            *VARYING,
        ]

    def check(self, said: object) -> None:
        """Records a text, the lines of a list, or an error with its class, and compares it.

        Raises: AssertionError, the transcript says something else.
        """
        if isinstance(said, BaseException):
            mark, text = "!", f"{type(said).__name__}: {said}"
        elif isinstance(said, str):
            mark, text = ">", said
        else:
            assert isinstance(said, (list, tuple)), said
            mark, text = ">", "\n".join(map(str, said))
        self._compare(mark, text)

    def _compare(self, mark: str, text: str, keep: str = "\n") -> None:
        """Adds a text to the entry, or compares it with what is there."""
        for pattern, written in self.varying:
            text = re.sub(pattern, written, text)
        text = text.removesuffix("\n")
        first, *others = printable(text, keep).split("\n")
        lines = [f"{mark} {first}", *(f". {other}" for other in others)]
        line = "\n".join(each.rstrip(" ") for each in lines)
        number = len(self.texts)
        self.texts.append(line)
        if REGENERATES:
            return
        assert number < len(self.expected), (
            f"{self.path}: {self.test} has no entry {number + 1} for {line!r}; "
            "VDGI_REGENERATE=1 writes it"
        )
        assert line.split("\n") == self.expected[number].split("\n"), self.path

    def lines(self, text: str, *words: str) -> None:
        """Checks the lines of a long text that contain one of these words; some must."""
        chosen = [line for line in text.split("\n") if any(word in line for word in words)]
        assert chosen, text
        self.check(chosen)

    def conllu(self, block: str) -> None:
        """Checks a sentence in CoNLL-U, whose tabs stay tabs, so that it can be read."""
        self._compare(">", block.rstrip("\n"), keep="\n\t")

    @contextmanager
    def raises(self, *kinds: type[BaseException]) -> Iterator[pytest.ExceptionInfo[BaseException]]:
        """An error of one of these classes must come; its class and message are recorded."""
        with pytest.raises(kinds) as caught:
            yield caught
        self.check(caught.value)

    def finish(self) -> None:
        """At the end of a test that passed: all of its entries were used, or they are written."""
        if REGENERATES:
            write(self.path, read(self.path) | {self.test: self.texts})
            return
        unused = self.expected[len(self.texts) :]
        assert not unused, f"{self.path}: {self.test} does not say any more: {unused}"
