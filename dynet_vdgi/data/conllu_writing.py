"""Writing CoNLL-U: new heads in a sentence's own lines, notes about guesses.

Notes say whether a head or relation is a guess of the program, how sure it is, or who confirmed it. A comment
says that a tree was guessed, until somebody changes a head or relation; the others are in MISC.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Sequence
from dataclasses import replace
from typing import TextIO

from dynet_vdgi.data.conllu import Heads, tree_of
from dynet_vdgi.data.conllu_blocks import BlockCheck, fault_of_value, ignores_feats, warn
from dynet_vdgi.data.corpus import Sentences, sentences_of
from dynet_vdgi.data.extra_columns import with_headers
from dynet_vdgi.data.files import AnyPath, atomic_writer
from dynet_vdgi.data.sentence import FREE, UD_PUNCTUATION, Sentence, Source
from dynet_vdgi.errors import UsageError

COMMENT = re.compile(r"#\s*guess\s*=\s*([0-9a-f]{8})\s*")

HEAD_BY, LABEL_BY = "HeadBy=", "LabelBy="
"""What `vdgi annotate` writes to MISC about a head and a relation that a person has confirmed."""

CHANCES = ("HeadConf=", "HeadProb=")
"""What parsers write to MISC about a head."""

_CONFIRMED = re.compile(rf"(?:^|\|)(?:{HEAD_BY}|{LABEL_BY})")
_IN_MISC = (HEAD_BY, LABEL_BY, *CHANCES)


def comment(lines: Sequence[str]) -> str:
    """The comment for a sentence with these lines: a checksum of its heads and relations.

    >>> comment(["# text = Go!", "1\\tGo\\t_\\tVERB\\t_\\t_\\t0\\troot\\t_\\t_"])
    '# guess = 8f18e238'
    """
    arcs = ["\t".join(line.split("\t")[6:8]) for line in lines if line[:1] != "#"]
    return f"# guess = {zlib.crc32(chr(10).join(arcs).encode()):08x}"


def renewed(block: str) -> str:
    """The block of a parser's tree; if it has that comment, it has it for this tree."""
    lines = block.split("\n") if "guess" in block else []
    if not any(map(COMMENT.fullmatch, lines)):
        return block
    now = comment([line for line in lines if line])
    return "\n".join([now if COMMENT.fullmatch(line) else line for line in lines])


def is_guess(lines: Sequence[str]) -> bool:
    """Whether the tree of a sentence with these lines is as the program guessed it, by its comment."""
    said = next((found[1] for line in lines if (found := COMMENT.fullmatch(line))), None)
    return said is not None and comment(lines).endswith(said) and not is_confirmed(lines)


def may_be_guess(lines: Sequence[str]) -> bool:
    """Whether each word has a confidence in its head, as a parse has it, and nothing tells more.

    Punctuation has none.
    """
    words = [line.split("\t") for line in lines if line[:1] != "#"]
    has_confidence = ["HeadConf=" in word[9] for word in words if word[0].isdigit() and word[3] != "PUNCT"]
    is_told = any(map(COMMENT.fullmatch, lines)) or is_confirmed(lines)
    return bool(has_confidence) and all(has_confidence) and not is_told


def is_confirmed(lines: Sequence[str]) -> bool:
    """Whether a person has confirmed part of the tree in `vdgi annotate`."""
    return any(_CONFIRMED.search(misc_of(line)) for line in lines if line[:1] != "#")


def misc_of(line: str) -> str:
    """MISC of a token's line; columns may follow."""
    return line.split("\t", 10)[9]


def without_stale(sentence: Sentence, heads: Sequence[int], deprels: Sequence[str]) -> Sentence:
    """The sentence without notes that are untrue of its new heads and relations.

    These are all chances, because they were of other parses, and the names of those who have confirmed
    another head or relation.
    """
    source = sentence.source
    text = "\n".join(source.lines) if source else ""
    if source is None or not any(note in text for note in _IN_MISC):
        return sentence
    lines = list(source.lines)
    for row, head, deprel in zip(source.rows, heads, deprels):
        columns = lines[row].split("\t")
        head_by = () if columns[6] == str(head) else (HEAD_BY,)
        label_by = () if columns[7] == deprel else (LABEL_BY,)
        columns[9] = without(columns[9], (*CHANCES, *head_by, *label_by))
        lines[row] = "\t".join(columns)
    return replace(sentence, source=replace(source, lines=tuple(lines)))


def without(misc: str, prefixes: tuple[str, ...]) -> str:
    """MISC without the parts that begin so."""
    return "|".join([part for part in misc.split("|") if not part.startswith(prefixes)]) or "_"


def only_confirmed(sentence: Sentence) -> Sentence:
    """The sentence without the heads and relations that nobody has confirmed, if somebody has others.

    Those of punctuation stay, because `vdgi annotate` attaches it itself.
    """
    if sentence.source is None or sentence.heads is None or not is_confirmed(sentence.source.lines):
        return sentence
    notes = ["|" + misc_of(sentence.source.lines[row]) for row in sentence.source.rows]
    is_mark = [tag in UD_PUNCTUATION for tag in sentence.upos or sentence.tags]
    arcs = zip(sentence.heads, sentence.deprels or ("_",) * len(sentence), notes, is_mark)
    kept = [
        (h if mark or f"|{HEAD_BY}" in note else FREE, r if mark or f"|{LABEL_BY}" in note else "_")
        for h, r, note, mark in arcs
    ]
    heads, deprels = zip(*kept)
    return replace(sentence, heads=heads, deprels=deprels)


# ----------------------------------------------------------------------------------------------------
# Writing CoNLL-U: a sentence's own lines with new heads, every other byte as it was read.
def render(sentence: Sentence, heads: Sequence[int], deprels: Sequence[str] | None = None) -> str:
    """The sentence's block with new HEAD and DEPREL columns, up to and including the empty line.

    Comments, ranges, empty nodes and all other columns are kept as they were read. A sentence without source
    gets the columns ID, FORM, UPOS (and XPOS if it has both), HEAD and DEPREL only. `deprels` are by default
    `root` for the word whose head is 0 and `dep` for the others.

    Raises: `UsageError` when `heads` or `deprels` do not fit the sentence, or a column has a value that
    CoNLL-U cannot hold.

    >>> print(render(Sentence(("dogs", "bark"), ("NOUN", "VERB")), [2, 0]).replace("\\t", " ").strip())
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
    return _text(sentence, list(map(str, heads)), deprels)


def root_and_dep(heads: Sequence[int]) -> tuple[str, ...]:
    """The relations (n,) of a tree of which nothing else is known; of FREE heads "_"."""
    return tuple(["_" if head == FREE else "dep" if head else "root" for head in heads])


def _text(sentence: Sentence, heads: Sequence[str], deprels: Sequence[str]) -> str:
    source = sentence.source or _minimal_source(sentence)
    deprels = _checked(8, deprels)
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
            raise UsageError(f"word {word}: a tag {tag!r} cannot be written without the sentence's lines")
    nothing = "_" * len(sentence)
    xpos = sentence.tags if sentence.upos else sentence.xpos
    columns = zip(
        _checked(2, sentence.forms),
        _checked(3, sentence.lemmas or nothing),
        _checked(4, sentence.upos or sentence.tags),
        _checked(5, xpos or nothing),
        _checked(6, sentence.feats or nothing),
    )
    lines = ["\t".join((str(number), *known, "_", "_", "_", "_")) for number, known in enumerate(columns, 1)]
    return Source("<sentence>", 1, tuple(lines), tuple(range(len(lines))))


def _checked(number: int, values: Sequence[str]) -> Sequence[str]:
    """The values of a column, "_" for "" but in FORM. Raises: UsageError, the reader would refuse one."""
    if "" in values and number != 2:
        values = [value or "_" for value in values]
    for word, value in enumerate(values, 1):
        if fault := fault_of_value(number, value):
            raise UsageError(f"word {word}: {fault}")
    return values


def with_notes(sentence: Sentence, comments: Sequence[str] = (), misc: Sequence[str] = ()) -> Sentence:
    """The sentence with comment lines (`# key = value`) added on top and, for each word, one `Key=Value`
    (or "" for none) added to MISC, in place of one with the same key.
    """
    source = sentence.source or _minimal_source(sentence)
    lines = list(source.lines)
    for row, note in zip(source.rows, misc):
        key = note.partition("=")[0]
        columns = lines[row].split("\t", 10)
        if note and columns[9] == "_":
            columns[9] = note
        elif note:
            parts = [part for part in columns[9].split("|") if part != "_" and not part.startswith(f"{key}=")]
            columns[9] = "|".join([*parts, note])
        lines[row] = "\t".join(columns)
    moved = tuple([row + len(comments) for row in source.rows]) if comments else source.rows
    return replace(sentence, source=replace(source, lines=(*comments, *lines), rows=moved))


def with_columns(
    sentence: Sentence, lemmas: Sequence[str], upos: Sequence[str], xpos: Sequence[str], feats: Sequence[str]
) -> Sentence:
    """The sentence with these columns (n,), "_" for nothing, in its lines, too; its tags are UPOS.

    FEATS that are ignored stay in the lines.

    Raises: UsageError, CoNLL-U cannot hold a value.
    """
    lemmas, upos, xpos, feats = map(_checked, range(3, 7), (lemmas, upos, xpos, feats))
    source = sentence.source
    if source is not None:
        lines = list(source.lines)
        for row, columns in zip(source.rows, zip(lemmas, upos, xpos, feats)):
            number, form, _, _, _, there, rest = lines[row].split("\t", 6)
            if there != "_" and ignores_feats():
                columns = (*columns[:3], there)
            lines[row] = "\t".join((number, form, *columns, rest))
        source = replace(source, lines=tuple(lines))
    known = [tuple(each) if any(value != "_" for value in each) else () for each in (lemmas, xpos, feats)]
    return replace(sentence, tags=tuple(upos), upos=(), lemmas=known[0], xpos=known[1], feats=known[2], source=source)


def unchanged(sentence: Sentence) -> str:
    """The sentence's block unchanged: with its heads and relations if it has heads, else as it was read.

    If its heads differ from those of its source and it has no `deprels`, its relations are `root` and `dep`.

    Raises: UsageError, a column has a value that CoNLL-U cannot hold; DataError, the heads are no tree.
    """
    source = sentence.source or _minimal_source(sentence)
    if sentence.heads is not None:
        heads = ["_" if head == FREE else str(head) for head in sentence.heads]
        columns = [source.lines[row].split("\t", 8)[6:8] for row in source.rows]
        deprels = sentence.deprels or [deprel for _, deprel in columns]
        if [head for head, _ in columns] != heads or [deprel for _, deprel in columns] != list(deprels):
            policy: Heads = "partial" if "_" in heads else "required"
            tree_of(BlockCheck(source.path, source.line), heads, source.rows, policy, warn)
            fresh = without_stale(sentence, sentence.heads, deprels)
            return _text(fresh, heads, sentence.deprels or root_and_dep(sentence.heads))
    return "\n".join(source.lines) + "\n\n"


def write(sentences: Sentences, output: AnyPath | TextIO) -> int:
    """Writes sentences as CoNLL-U, and returns their number.

    Each sentence is written with its heads and with its `deprels`; without `deprels`, with the relations of
    its file if the heads are also the file's, else with `root` and `dep`. A sentence without heads is written
    as it was read, and so is every other column of a sentence that was read. FREE heads, and "" in columns
    but forms and tags, are written as `_`. `output` is a path (`-` is standard output, a name in `.gz` is
    compressed), where the file appears when it is complete; or a text handle.

    Raises: `UsageError` for a value that CoNLL-U cannot hold, which names the word and the column, for a path
    that cannot be written, and for an argument of the wrong type; `DataError` for heads that are no tree.
    """
    sentences = sentences_of(sentences)
    if isinstance(output, (str, os.PathLike)):
        with atomic_writer(output) as handle:
            return write(sentences, handle)
    try:
        output.write("")
    except (AttributeError, TypeError):  # nothing to write to, or a binary file
        raise UsageError(f"output={output!r:.60}: a path or an open text file is expected") from None
    number = 0
    texts = ((unchanged(each), each.source.extra if each.source else ()) for each in sentences)
    for number, text in enumerate(with_headers(texts), 1):  # noqa: B007 - the last one is the result
        output.write(text)
    return number
