"""The sentences of a CoNLL-U file, as often as they are wanted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dynet_vdgi.data import conllu
from dynet_vdgi.data.files import AnyPath, shown
from dynet_vdgi.data.sentence import Sentence


class Corpus:
    """An iterable of sentences that reads its file anew each time, in bounded memory.

    `path` may end in `.gz`, or be `-` for standard input, which can be read once only.
    """

    def __init__(self, path: AnyPath, *, heads: conllu.Heads = "optional", tags: str = "upos") -> None:
        self.path, self.heads, self.tags = path, heads, tags

    def __iter__(self) -> Iterator[Sentence]:
        """Raises: DataError for the first fault of the file; names file and line."""
        return conllu.read(self.path, heads=self.heads, tags=self.tags)

    def __repr__(self) -> str:
        return f"Corpus({shown(self.path)!r})"


def read(path: AnyPath, *, heads: conllu.Heads = "optional", tags: str = "upos") -> Corpus:
    """The sentences of a CoNLL-U file; nothing is read before they are asked for.

    Args:
        path: the file; `.gz` is decompressed, `-` is standard input.
        heads: what column 7 must hold: "optional", "partial", "required" or "ignored", see `conllu.read`.
        tags: the column of the sentences' tags, "upos" or "xpos".
    """
    return Corpus(path if path == "-" else Path(path), heads=heads, tags=tags)
