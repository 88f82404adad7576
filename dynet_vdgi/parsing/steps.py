"""The steps before parsing: raw text is split into words, words without UPOS are tagged.

A step is skipped where it is done: CoNLL-U has its words, and words with UPOS keep what they have.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from dynet_vdgi.data import conllu_blocks, files
from dynet_vdgi.data.conllu import KNOWN, sentence_of
from dynet_vdgi.data.conllu_blocks import Block, Passage
from dynet_vdgi.data.files import AnyPath, shown
from dynet_vdgi.errors import DataError, UsageError

if TYPE_CHECKING:  # most inputs need neither
    from dynet_vdgi.tagging.tagger import Tagger
    from dynet_vdgi.tokenising.tokeniser import Tokeniser

_UNTAGGED = re.compile(rb"^[0-9]+\t[^\t\n]*\t[^\t\n]*\t_\t", re.MULTILINE)
"""The beginning of a word without UPOS."""

NO_TAGGER = "raw text has no tags: name a tagger with --tagger; vdgi tag train makes one"
NO_RAW_TEXT = "--tokeniser has no effect: every input is CoNLL-U, as its name says"
NO_RETAG = "--retag needs a tagger: name one with --tagger; vdgi tag train makes one"


@dataclass
class Steps:
    """What is done to inputs before they are parsed, and how many words were tagged so far.

    `reads_text`: standard input and files of other names than .txt and .conllu are raw text, too.
    """

    tokeniser: Tokeniser | None = None
    tagger: Tagger | None = None
    reads_text: bool = False
    retag: bool = False
    n_tagged: int = 0

    def is_raw(self, name: AnyPath) -> bool:
        """Whether an input is raw text, judged by its name; without a tokeniser none is."""
        if self.tokeniser is None:
            return False
        is_text = str(name).endswith((".txt", ".txt.gz"))
        return is_text or (self.reads_text and not files.is_conllu(name))

    def check(self, names: Sequence[AnyPath]) -> None:
        """Raises: UsageError, a step is missing, or would have no effect."""
        raw = [name for name in names if self.is_raw(name)]
        if self.reads_text and not raw:
            raise UsageError(NO_RAW_TEXT)
        if self.tagger is None and raw:
            raise UsageError(f"{shown(raw[0])}: {NO_TAGGER}")
        if self.tagger is None and self.retag:
            raise UsageError(NO_RETAG)

    def passages(self, names: Iterable[AnyPath]) -> Iterator[Passage | Block]:
        """The sentences of inputs, tokenised and tagged where they were not.

        Raises:
            DataError: an input is malformed, not UTF-8, or has no sentences.
        """
        items = self._tokenised(names)
        if self.tagger is None:
            yield from items
            return
        for is_missing, group in groupby(items, self._lacks_tags):
            if is_missing:
                yield from self._tagged(self.tagger, group)
            else:
                yield from group

    def _tokenised(self, names: Iterable[AnyPath]) -> Iterator[Passage | Block]:
        n_sentences = 0
        for name in names:
            if self.tokeniser is None or not self.is_raw(name):
                yield from conllu_blocks.passages(name)
                continue
            for document, text in self.tokeniser.read(name, n_sentences + 1):
                n_sentences += len(document.sentences)
                if document.sentences:
                    yield Passage(shown(name), 1, text.encode())

    def _lacks_tags(self, item: Passage | Block) -> bool:
        if self.retag:
            return True
        content = item.content if isinstance(item, Passage) else "\n".join(item.lines).encode()
        return _UNTAGGED.search(content) is not None

    def _tagged(self, tagger: Tagger, items: Iterable[Passage | Block]) -> Iterator[Block]:
        blocks = (block for item in items for block in _blocks_of(item))
        sentences = (sentence_of(block, "ignored", KNOWN, _ignore) for block in blocks)
        for tagged, _, n_given in tagger.stream(sentences, retag=self.retag):
            assert tagged.source is not None
            self.n_tagged += len(tagged) - n_given
            yield Block(tagged.source.path, tagged.source.line, list(tagged.source.lines))


def _blocks_of(item: Passage | Block) -> Iterable[Block]:
    return item.blocks() if isinstance(item, Passage) else [item]


def _ignore(fault: DataError) -> None:
    """What to do about a repair that the parser reports."""
