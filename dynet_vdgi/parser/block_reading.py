"""Blocks of files as sentences or faults; the beginning of a text, which is read once.

It is measured first and parsed afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from dynet_vdgi.conllu.blocks import Block, ignore
from dynet_vdgi.conllu.faults import is_other_format
from dynet_vdgi.conllu.reading import HeadPolicy, decoded_sentence_of, sentence_of
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.errors import DataError
from dynet_vdgi.parser.parser import is_long_enough


class ReadBlock(NamedTuple):
    """What a block says: a sentence or a fault; and what had to be repaired."""

    sentence: Sentence | None
    fault: DataError | None = None
    repairs: tuple[DataError, ...] = ()


@dataclass(frozen=True)
class BlockReader:
    """Reads the blocks of files for a parser.

    `tags`: the column of tags. `keeps_heads`: heads are read, and some may be missing; else they
    are ignored, because they are replaced, sound or not. `skips_faulty`: sentences may be at fault.
    """

    tags: str
    keeps_heads: bool = False
    skips_faulty: bool = False

    def read(self, block: Block) -> ReadBlock:
        """What the block says."""
        repairs: list[DataError] = []
        heads: HeadPolicy = "partial" if self.keeps_heads else "ignored"
        sentence_in = decoded_sentence_of if self.skips_faulty else sentence_of
        try:
            sentence = sentence_in(block, heads, self.tags, repairs.append)
        except DataError as error:
            return ReadBlock(None, error, tuple(repairs))
        return ReadBlock(sentence, None, tuple(repairs))

    def read_words(self, block: Block) -> Sentence:
        """The sentence, whatever its heads. Raises: DataError, something else is at fault."""
        sentence_in = decoded_sentence_of if self.skips_faulty else sentence_of
        return sentence_in(block, "ignored", self.tags, ignore)

    def may_skip(self, fault: DataError) -> bool:
        """Whether only a sentence is at fault, and may be."""
        return self.skips_faulty and not is_other_format(fault.message)


@dataclass
class Beginning:
    """The beginning of a text: enough to measure it, or all there is, or all before a fault."""

    blocks: list[Block] = field(default_factory=list)
    read: list[ReadBlock] = field(default_factory=list)  # of these blocks
    sentences: list[Sentence] = field(default_factory=list)  # to be measured
    fault: DataError | None = None  # of the file, or of the last block

    @classmethod
    def of(cls, blocks: Iterator[Block], reader: BlockReader) -> Beginning:
        """Takes the beginning from the blocks, which go on after it."""
        beginning, n_words = cls(), 0
        try:
            for block in blocks:
                read = reader.read(block)
                beginning.blocks.append(block)
                beginning.read.append(read)
                try:
                    sentence = read.sentence or reader.read_words(block)
                except DataError as error:
                    if not reader.may_skip(error):
                        raise
                    continue
                beginning.sentences.append(sentence)
                n_words += len(sentence)
                if is_long_enough(len(beginning.sentences), n_words):
                    break
        except DataError as error:  # of the file, or of a sentence, which its window reports
            beginning.fault = error
        return beginning

    def with_rest(self, blocks: Iterator[Block]) -> Iterator[Block]:
        """All blocks of the text, given those after it.

        Raises: DataError, the beginning's fault.
        """
        yield from self.blocks
        yield from blocks
        if self.fault is not None:
            raise self.fault
