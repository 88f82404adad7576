"""Writing CoNLL-U: a sentence's own lines with new heads, every other byte as it was read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TextIO

from dynet_vdgi.conllu.blocks import warn
from dynet_vdgi.conllu.corpus import Sentences, sentences_of
from dynet_vdgi.conllu.extra_columns import with_headers
from dynet_vdgi.conllu.faults import BlockCheck, fault_of_value, ignores_feats
from dynet_vdgi.conllu.guess_marks import without_stale_notes
from dynet_vdgi.conllu.reading import HeadPolicy, tree_of
from dynet_vdgi.conllu.sentence import Sentence, Source
from dynet_vdgi.conllu.tree_faults import FREE
from dynet_vdgi.errors import UsageError
from dynet_vdgi.system.files import AnyPath, atomic_writer


def render(sentence: Sentence, heads: Sequence[int], deprels: Sequence[str] | None = None) -> str:
    """The sentence's block with new HEAD and DEPREL columns, up to and including the empty line.

    Comments, ranges, empty nodes and all other columns are kept as they were read. A sentence
    without source gets the columns ID, FORM, UPOS (and XPOS if it has both), HEAD and DEPREL only.
    `deprels` are by default `root` for the word whose head is 0 and `dep` for the others.

    Raises: `UsageError` when `heads` or `deprels` do not fit the sentence, or a column has a value
    that CoNLL-U cannot hold.

    >>> block = render(Sentence(("dogs", "bark"), ("NOUN", "VERB")), [2, 0])
    >>> print(block.replace("\\t", " ").strip())
    1 dogs _ NOUN _ _ 2 dep _ _
    2 bark _ VERB _ _ 0 root _ _
    """
    n_words = len(sentence)
    if len(heads) != n_words or (n_words and not 0 <= min(heads) <= max(heads) <= n_words):
        raise UsageError(f"heads {list(heads)!s:.60} do not fit a sentence of {n_words} words")
    if deprels is None:
        deprels = root_and_dep(heads)
    elif len(deprels) != n_words:
        raise UsageError(f"{len(deprels)} relations for a sentence of {n_words} words")
    return _block_with_tree(sentence, list(map(str, heads)), deprels)


def root_and_dep(heads: Sequence[int]) -> tuple[str, ...]:
    """The relations (n,) of a tree of which nothing else is known; of FREE heads "_"."""
    return tuple(["_" if head == FREE else "dep" if head else "root" for head in heads])


def _block_with_tree(sentence: Sentence, heads: Sequence[str], deprels: Sequence[str]) -> str:
    source = sentence.source or _minimal_source(sentence)
    deprels = _checked_column(8, deprels)
    lines = list(source.lines)
    for row, head, deprel in zip(source.rows, heads, deprels):
        columns = lines[row].split("\t", 8)
        columns[6:8] = head, deprel
        lines[row] = "\t".join(columns)
    return "\n".join(lines) + "\n\n"


def _minimal_source(sentence: Sentence) -> Source:
    if not sentence.forms:
        raise UsageError("a sentence without words cannot be written")
    for word, tag in enumerate(sentence.tags, 1):
        if tag in ("", "_"):
            raise UsageError(
                f"word {word}: a tag {tag!r} cannot be written without the sentence's lines"
            )
    nothing = "_" * len(sentence)
    xpos = sentence.tags if sentence.upos else sentence.xpos
    columns = zip(
        _checked_column(2, sentence.forms),
        _checked_column(3, sentence.lemmas or nothing),
        _checked_column(4, sentence.upos or sentence.tags),
        _checked_column(5, xpos or nothing),
        _checked_column(6, sentence.feats or nothing),
    )
    lines = [
        "\t".join((str(number), *values, "_", "_", "_", "_"))
        for number, values in enumerate(columns, 1)
    ]
    return Source("<sentence>", 1, tuple(lines), tuple(range(len(lines))))


def _checked_column(number: int, values: Sequence[str]) -> Sequence[str]:
    """The values of a column, "_" for "" but in FORM. Raises: UsageError, the reader would refuse
    one."""
    if "" in values and number != 2:
        values = [value or "_" for value in values]
    for word, value in enumerate(values, 1):
        if fault := fault_of_value(number, value):
            raise UsageError(f"word {word}: {fault}")
    return values


def with_notes(
    sentence: Sentence, comments: Sequence[str] = (), misc: Sequence[str] = ()
) -> Sentence:
    """The sentence with comment lines (`# key = value`) added on top and, for each word, one
    `Key=Value` (or "" for none) added to MISC, in place of one with the same key.
    """
    source = sentence.source or _minimal_source(sentence)
    lines = list(source.lines)
    for row, note in zip(source.rows, misc):
        key = note.partition("=")[0]
        columns = lines[row].split("\t", 10)
        if note and columns[9] == "_":
            columns[9] = note
        elif note:
            parts = [
                part
                for part in columns[9].split("|")
                if part != "_" and not part.startswith(f"{key}=")
            ]
            columns[9] = "|".join([*parts, note])
        lines[row] = "\t".join(columns)
    moved = tuple([row + len(comments) for row in source.rows]) if comments else source.rows
    return replace(sentence, source=replace(source, lines=(*comments, *lines), rows=moved))


def with_columns(
    sentence: Sentence,
    lemmas: Sequence[str],
    upos: Sequence[str],
    xpos: Sequence[str],
    feats: Sequence[str],
) -> Sentence:
    """The sentence with these columns (n,), "_" for nothing, in its lines, too; its tags are UPOS.

    FEATS that are ignored stay in the lines.

    Raises: UsageError, CoNLL-U cannot hold a value.
    """
    lemmas, upos = _checked_column(3, lemmas), _checked_column(4, upos)
    xpos, feats = _checked_column(5, xpos), _checked_column(6, feats)
    source = sentence.source
    if source is not None:
        lines = list(source.lines)
        for row, columns in zip(source.rows, zip(lemmas, upos, xpos, feats)):
            number, form, _, _, _, there, rest = lines[row].split("\t", 6)
            if there != "_" and ignores_feats():
                columns = (*columns[:3], there)
            lines[row] = "\t".join((number, form, *columns, rest))
        source = replace(source, lines=tuple(lines))
    return replace(
        sentence,
        tags=tuple(upos),
        upos=(),
        lemmas=_filled_column(lemmas),
        xpos=_filled_column(xpos),
        feats=_filled_column(feats),
        source=source,
    )


def _filled_column(values: Sequence[str]) -> tuple[str, ...]:
    """The column of a sentence; () if no word has a value."""
    return tuple(values) if any(value != "_" for value in values) else ()


def block_of(sentence: Sentence) -> str:
    """The sentence's block unchanged: with its heads and relations if it has heads, else as it was
    read.

    If its heads differ from those of its source and it has no `deprels`, its relations are `root`
    and `dep`.

    Raises: UsageError, a column has a value that CoNLL-U cannot hold; DataError, the heads are no
    tree.
    """
    source = sentence.source or _minimal_source(sentence)
    if sentence.heads is not None:
        heads = ["_" if head == FREE else str(head) for head in sentence.heads]
        columns = [source.lines[row].split("\t", 8)[6:8] for row in source.rows]
        heads_of_source = [head for head, _ in columns]
        deprels_of_source = [deprel for _, deprel in columns]
        deprels = sentence.deprels or deprels_of_source
        if heads != heads_of_source or list(deprels) != deprels_of_source:
            policy: HeadPolicy = "partial" if "_" in heads else "required"
            tree_of(BlockCheck(source.path, source.line), heads, source.rows, policy, warn)
            fresh = without_stale_notes(sentence, sentence.heads, deprels)
            return _block_with_tree(fresh, heads, sentence.deprels or root_and_dep(sentence.heads))
    return "\n".join(source.lines) + "\n\n"


def write(sentences: Sentences, output: AnyPath | TextIO) -> int:
    """Writes sentences as CoNLL-U, and returns their number.

    Each sentence is written with its heads and with its `deprels`; without `deprels`, with the
    relations of its file if the heads are also the file's, else with `root` and `dep`. A sentence
    without heads is written as it was read, and so is every other column of a sentence that was
    read. FREE heads, and "" in columns but forms and tags, are written as `_`. `output` is a path
    (`-` is standard output, a name in `.gz` is compressed), where the file appears when it is
    complete; or a text handle.

    Raises: `UsageError` for a value that CoNLL-U cannot hold, which names the word and the column,
    for a path that cannot be written, and for an argument of the wrong type; `DataError` for heads
    that are no tree.
    """
    sentences = sentences_of(sentences)
    if isinstance(output, (str, os.PathLike)):
        with atomic_writer(output) as handle:
            return write(sentences, handle)
    try:
        output.write("")
    except (AttributeError, TypeError):  # nothing to write to, or a binary file
        raise UsageError(
            f"output={output!r:.60}: a path or an open text file is expected"
        ) from None
    n_sentences = 0
    texts = ((block_of(each), each.source.extra if each.source else ()) for each in sentences)
    for text in with_headers(texts):
        output.write(text)
        n_sentences += 1
    return n_sentences
