r"""From CoNLL-U to raw text: documents whose tokens have places in the text that CoNLL-U records.

>>> from dynet_vdgi.conllu.blocks import Block
>>> words = ["1\tde" + 8 * "\t_", "2\tle" + 8 * "\t_", "3\t!" + 8 * "\t_"]
>>> sentence = Block("my.conllu", 1, ["1-2\tdu" + 7 * "\t_" + "\tSpaceAfter=No", *words])
>>> (document,) = documents_of([sentence])
>>> document.text, document.sentences[0].tokens[0]
('du!', Token(start=0, end=2, words=('de', 'le')))
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from dynet_vdgi.conllu.blocks import Block, blocks
from dynet_vdgi.conllu.faults import BlockCheck, quoted
from dynet_vdgi.conllu.nfc import ONE_FORM, SAME, is_same
from dynet_vdgi.conllu.raw_text import (
    FORMAT,
    Document,
    Token,
    TokenisedSentence,
    form_of,
    unescaped,
)
from dynet_vdgi.errors import DataError
from dynet_vdgi.system.files import AnyPath

_COMMENT = re.compile(r"#\s*(newdoc|newpar)\b")

_TEXT = re.compile(r"#\s*text\s*=\s?(.*)")


class TokenBlock(NamedTuple):
    """The tokens of a CoNLL-U sentence: the columns of each token's line, and those of its words.

    For a token of one word both are one line.
    """

    block: Block
    tokens: list[tuple[list[str], list[list[str]]]]
    rows: list[int]  # of the tokens, in `block.lines`


def token_block(block: Block) -> TokenBlock:
    """The tokens of one sentence, whose columns from the third on may be empty (`_`).

    Raises: DataError, the first fault in form.
    """
    check = BlockCheck(block.path, block.line, block.extra)
    tokens: list[tuple[list[str], list[list[str]]]] = []
    rows: list[int] = []
    n_words = 0
    for row, columns, is_word in check.token_lines(block.lines):
        n_words += is_word
        if is_word and n_words <= check.range_end:
            tokens[-1][1].append(columns)
        elif is_word or "-" in columns[0]:
            tokens.append((columns, [columns] if is_word else []))
            rows.append(row)
    return TokenBlock(block, tokens, rows)


def read_documents(paths: Iterable[AnyPath]) -> list[Document]:
    """The documents of CoNLL-U files, whose comment `# newdoc` begins another one.

    Their texts are exactly the texts given to `raw_writing.conllu_of`. In files of others, a space
    follows a token without a word about it, and an empty line precedes `# newpar`.

    Raises: DataError, a file is malformed, or a sentence's tokens do not give its `# text`.
    """
    return [document for path in paths for document in documents_of(blocks(path))]


def documents_of(sentences: Iterable[Block]) -> Iterator[Document]:
    """The documents of some sentences in a row. Raises: as `read_documents`."""
    document = _Builder()
    for sentence in map(token_block, sentences):
        kinds = {match[1] for line in sentence.block.lines if (match := _COMMENT.match(line))}
        if "newdoc" in kinds and document.sentences:
            yield document.finished()
            document = _Builder()
        document.add(sentence, begins_paragraph="newpar" in kinds or not document.sentences)
    yield document.finished()


class _Builder:
    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.length = 0
        self.after: str | None = ""  # spaces after the last token; None: nothing is said
        self.sentences: list[TokenisedSentence] = []
        self.n_silent = 0

    def add(self, sentence: TokenBlock, begins_paragraph: bool) -> None:
        spaces = [_spaces(columns[9]) for columns, _ in sentence.tokens]
        forms = [space.inside or columns[1] for space, (columns, _) in zip(spaces, sentence.tokens)]
        if text := _text_comment(sentence.block.lines):
            spaces = _spaces_that_give_text(sentence, text, spaces, forms)
        elif all(space.after != "" for space in spaces):
            self.n_silent += 1
        tokens = []
        for n, (form, space, (_, words)) in enumerate(zip(forms, spaces, sentence.tokens)):
            before = " " if self.after is None else self.after
            if n == 0 and begins_paragraph and self.sentences and self.after in (None, ""):
                before = "\n\n"
            before += space.before
            start = self.length + len(before)
            self.pieces += [before, form]
            self.length = start + len(form)
            tokens.append(Token(start, self.length, tuple([word[1] for word in words])))
            self.after = space.after
        self.sentences.append(TokenisedSentence(tuple(tokens), begins_paragraph))

    def finished(self) -> Document:
        text = "".join(self.pieces) + (self.after or "")
        return Document(text, tuple(self.sentences), n_silent=self.n_silent)


def _text_comment(lines: Iterable[str]) -> str:
    """What `# text` among the first comments of a sentence says; "": there is none."""
    for line in lines:
        if line[0] != "#":
            break
        if match := _TEXT.fullmatch(line):
            return match[1]
    return ""


class _Spaces(NamedTuple):
    before: str
    inside: str  # the token's own text; "": its form
    after: str | None  # None: nothing is said, which means a space


@lru_cache(maxsize=1 << 12)
def _spaces(misc: str) -> _Spaces:
    """What MISC says about spaces.

    >>> _spaces(r"SpacesAfter=\\s\\n|A=b"), _spaces("SpaceAfter=No").after
    (_Spaces(before='', inside='', after=' \\n'), '')
    """
    notes = dict(part.partition("=")[::2] for part in misc.split("|"))
    after = "" if notes.get("SpaceAfter") == "No" else None
    if notes.get("SpaceAfter", "").isspace():  # a no-break space itself, as some programs write it
        after = notes["SpaceAfter"]
    if "SpacesAfter" in notes:
        after = unescaped(notes["SpacesAfter"])
    return _Spaces(
        unescaped(notes.get("SpacesBefore", "")), unescaped(notes.get("SpacesInToken", "")), after
    )


def _spaces_that_give_text(
    sentence: TokenBlock, text: str, spaces: list[_Spaces], forms: list[str]
) -> list[_Spaces]:
    """The spaces as MISC has them or, if those do not give `# text`, as it has them where MISC has
    none.

    Raises: DataError, the tokens do not give the text.
    """
    pieces = []
    for n, (form, space) in enumerate(zip(forms, spaces)):
        space_before = FORMAT.sub("", space.before) if n else ""
        space_after = " " if space.after is None else FORMAT.sub("", space.after)
        pieces += [space_before, form, space_after]
    joined = "".join(pieces)
    if form_of(joined).split() == text.split():
        return spaces
    corrected, place = list(spaces), 0
    for n, form in enumerate(forms):
        begin = place
        while place < len(text) and text[place].isspace():
            place += 1
        if not text.startswith(form, place):
            break
        if (
            n
            and (before := corrected[n - 1].after) is not None
            and (before == "") == (place > begin)
        ):
            break
        if n and place == begin:
            corrected[n - 1] = spaces[n - 1]._replace(after="")
        place += len(form)
    else:
        if not text[place:].strip():
            return corrected
    path, first, *_ = sentence.block
    token = quoted(forms[n])
    message = (
        "the tokens and their SpaceAfter do not give the sentence's `# text`, "
        f"from token {token} on"
    )
    hint = "correct the comment, the forms or SpaceAfter=No"
    if is_same("".join(joined.split()), "".join(text.split())):
        message, hint = f"{message}: {SAME}", ONE_FORM
    raise DataError(path, first + sentence.rows[n], message, hint)
