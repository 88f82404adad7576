"""The problems of a sentence, and of a file sentence by sentence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dynet_vdgi.data.conllu_blocks import Block, blocks
from dynet_vdgi.data.files import AnyPath
from dynet_vdgi.errors import DataError
from dynet_vdgi.validation import content, form
from dynet_vdgi.validation.word_lines import UdProblem

LEVELS = (1, 2, 3)


def problems_in(lines: Sequence[str], level: int = LEVELS[-1], has_features: bool = False) -> list[UdProblem]:
    """What is wrong with the lines of one sentence, in the order of the lines.

    Where lines cannot be read (level 1), nothing else is checked; level 3 needs a tree. has_features: other
    sentences of the text have features.
    """
    words = form.read(list(lines))
    if words.words and level >= 2 and form.check(words) and level >= content.LEVEL:
        content.check(words, has_features)
    found = {problem for problem in words.found if problem.level <= level}
    return sorted(found, key=lambda problem: (problem.row, problem.level, problem.text))


def problems_in_file(
    path: AnyPath, level: int = LEVELS[-1]
) -> Iterator[tuple[Block, list[UdProblem]] | DataError]:
    """Each sentence with its problems, and the faults between sentences, such as a needless empty line.

    Raises: DataError where the file cannot be read on.
    """
    repairs: list[DataError] = []
    known: dict[str, int] = {}
    has_features = False
    for block in blocks(path, repairs.append):
        yield from repairs
        repairs.clear()
        found = problems_in(block.lines, level, has_features)
        has_features = has_features or _has_features(block)
        if level >= 2:
            found += _doubled(block, known)
        yield block, found
    yield from repairs


def _has_features(block: Block) -> bool:
    lines = (line.split("\t", 6) for line in block.lines if line[0] != "#")
    return any(len(columns) == 7 and columns[5] != "_" for columns in lines)


def _doubled(block: Block, known: dict[str, int]) -> list[UdProblem]:
    """A problem if an earlier sentence has the same name; `known`: the line of each name."""
    for row, line in enumerate(block.lines):
        if line[0] != "#":
            break
        if name := form.sent_id_in(line):
            if name in known:
                text = f"sent_id {name} is that of the sentence in line {known[name]}"
                return [UdProblem(0, 2, "sent_id", text, row)]
            known[name] = block.line
    return []
