"""The format of MSTParser: four lines for each sentence, of words, tags, relations and heads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dynet_vdgi.conllu.faults import quoted
from dynet_vdgi.converters.column_tables import check_tree
from dynet_vdgi.converters.interlinear import GlossedWord, Losses, Utterance
from dynet_vdgi.converters.sources import ForeignFile
from dynet_vdgi.errors import DataError


def read(source: ForeignFile, losses: Losses) -> Iterator[Utterance]:
    """The sentences: words, tags, relations, heads, or, without relations, words, tags, heads.

    Raises: DataError, with the line: another number of lines or columns, a head that is no number.
    """
    block: list[str] = []
    for number, line in enumerate([*source.lines, ""], 1):
        if line.strip():
            block.append(line)
        elif block:
            yield _utterance(source.name, number - len(block), block, losses)
            block = []


def _utterance(name: str, first: int, block: Sequence[str], losses: Losses) -> Utterance:
    if len(block) not in (3, 4):
        message = f"a sentence of {len(block)} lines where 4 were expected"
        raise DataError(name, first, message, "words, tags, relations, heads, and an empty line")
    columns = [line.rstrip("\t").split("\t") for line in block]
    for row, cells in enumerate(columns):
        if len(cells) != len(columns[0]):
            message = f"{len(cells)} columns where the line of words has {len(columns[0])}"
            raise DataError(name, first + row, message, "tabs between them?")
    for head in columns[-1]:
        if not (head.isascii() and head.isdigit() and len(head) < 10):
            raise DataError(
                name,
                first + len(block) - 1,
                f"HEAD {quoted(head)} is no number",
                "expected 0, 1, ...",
            )
    relations = columns[2] if len(block) == 4 else ["_"] * len(columns[0])
    words = [
        GlossedWord(
            form.strip() or "_",
            tag=tag.strip() or "_",
            head=head,
            deprel=relation.strip() or "_",
            line=first,
        )
        for form, tag, relation, head in zip(columns[0], columns[1], relations, columns[-1])
    ]
    utterance = Utterance(words, first)
    check_tree(utterance, losses)
    return utterance
