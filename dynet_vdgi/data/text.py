"""Running text as sentences of words, for learning word vectors and word clusters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dynet_vdgi.data import conllu
from dynet_vdgi.data.files import is_conllu, lines_of, shown
from dynet_vdgi.data.raw_text import check_raw


def sentences(names: Sequence[str], *, lowercase: bool = True) -> Iterator[list[str]]:
    """Words of each sentence of the files, in their order.

    Files whose name ends in .conllu (or .conllu.gz) are read as CoNLL-U, without the words tagged PUNCT;
    others as plain text, one sentence a line, words separated by spaces. Empty lines are skipped.

    Raises:
        DataError: a file is malformed, not UTF-8, or CoNLL-U under another name; the message
            names file and line.
        UsageError: there is no such file.
    """
    for name in names:
        for words in _of_treebank(name) if is_conllu(name) else _of_text(name):
            if words:
                yield [word.lower() for word in words] if lowercase else words


def _of_treebank(name: str) -> Iterator[list[str]]:
    for sentence in conllu.read(name, heads="ignored", tags=conllu.KNOWN):
        yield [form for form, tag in zip(sentence.forms, sentence.tags) if tag != "PUNCT"]


def _of_text(name: str) -> Iterator[list[str]]:
    is_begun = False
    for number, line in enumerate(lines_of(name), 1):
        if not is_begun:
            check_raw(line, shown(name), number)
            is_begun = line[0] != "#"
        for sentence in line.split("\r"):  # line ends of old Macintosh files, as the authors' text has
            yield sentence.split()
