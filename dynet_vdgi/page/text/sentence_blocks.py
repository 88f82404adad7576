"""Annotated sentences as CoNLL-U: read with heads, relations and marks,
and written in four forms."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from dynet_vdgi.conllu import guess_marks, reading
from dynet_vdgi.conllu.blocks import blocks_in, ignore
from dynet_vdgi.conllu.extra_columns import with_headers
from dynet_vdgi.conllu.guess_marks import without
from dynet_vdgi.conllu.reading import KNOWN
from dynet_vdgi.page.text.marked import MarkedSentence
from dynet_vdgi.page.text.sentence_state import (
    IS_FLAG,
    MARKS,
    NO_LABEL,
    NO_VALUE,
    UNSET,
    SentenceState,
    has_arc_marks,
    n_comments,
)
from dynet_vdgi.system.files import AnyPath, atomic_writer


def read_marked(path: AnyPath) -> list[MarkedSentence]:
    """The sentences of a file, with its heads, relations and marks; UPOS may be missing.

    Arcs that cannot be in one tree are open. Raises: DataError, the file is malformed.
    """
    # Repairs are ignored because the session writes the file in order.
    sentences = reading.read(path, heads="unchecked", tags=KNOWN, on_repair=ignore)
    return [MarkedSentence.of(sentence, number) for number, sentence in enumerate(sentences)]


def read_text(text: str, name: str) -> list[MarkedSentence]:
    """The sentences of CoNLL-U as `block` writes it. Raises: DataError, as `read_marked`."""
    blocks = blocks_in(text, name)
    sentences = (reading.sentence_of(block, "unchecked", KNOWN, ignore) for block in blocks)
    return [MarkedSentence.of(sentence, number) for number, sentence in enumerate(sentences)]


Form = Literal["file", "journal", "page", "export"]


def block(marked: MarkedSentence, state: SentenceState | None = None, form: Form = "file") -> str:
    """The sentence as CoNLL-U in a state (None: the present one); lines that nobody changed are
    unchanged.

    Where nothing about the tree is or was confirmed, the `file` has the tree that it had, and the
    `journal` the guess; arcs that were opened are open. The `page` shows guessed tags and trees,
    without marks. An `export` has no marks, flags or notes about guesses, and trees of finished
    sentences only.
    """
    state = marked.state if state is None else state
    source, first = marked.source, marked.first
    has_tree = form != "file" or has_arc_marks(state) or has_arc_marks(first)
    if not has_tree and state[1:] == first[1:] and not marked.opened:
        return "\n".join(source.lines) + "\n\n"
    shows_heads, has_marks = form != "export" or marked.is_done, form in ("file", "journal")
    lines = list(source.lines)
    words = marked.columns if form == "page" else state.columns
    for number, (row, arc, word) in enumerate(zip(source.rows, state.arcs, words), 1):
        columns = lines[row].split("\t")
        columns[2:6] = word.lemma, word.upos, word.xpos, word.feats
        if has_tree:
            is_there = shows_heads and arc.head != UNSET
            head = str(arc.head) if is_there else NO_VALUE
            columns[6:8] = (
                head,
                arc.label if is_there or (shows_heads and arc.label_by) else NO_LABEL,
            )
        elif number in marked.opened:
            columns[6:8] = NO_VALUE, NO_VALUE
        columns[9] = without(word.misc, guess_marks.CHANCES)
        if has_marks:
            names = (
                arc.head_by,
                arc.label_by,
                word.tag_by,
                word.feats_by,
                word.lemma_by,
                word.xpos_by,
            )
            marks = [mark + name for mark, name in zip(MARKS, names) if name]
            columns[9] = "|".join([word.misc] * (word.misc != NO_VALUE) + marks) or NO_VALUE
        lines[row] = "\t".join(columns)
    comments = []
    for comment in state.comments:
        is_note = IS_FLAG.fullmatch(comment) or guess_marks.COMMENT.fullmatch(comment)
        if has_marks or not is_note:
            comments.append(comment)
    return "\n".join([*comments, *lines[n_comments(lines) :]]) + "\n\n"


def file_block(marked: MarkedSentence, state: SentenceState | None = None) -> str:
    """The sentence as its file has it in a state: its own lines if nobody has said more than they
    do."""
    state = marked.state if state is None else state
    if marked.is_from_file and marked.is_file_state(state):
        return "\n".join(marked.source.lines) + "\n\n"
    return block(marked, state)


def write_marked(sentences: Iterable[MarkedSentence], path: AnyPath, form: Form = "file") -> None:
    """Writes a file atomically. Raises: UsageError, it cannot be written."""
    with atomic_writer(path) as handle:
        handle.writelines(
            with_headers((block(marked, form=form), marked.source.extra) for marked in sentences)
        )
