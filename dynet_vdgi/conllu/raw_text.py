r"""Raw text and its tokens, as CoNLL-U records them: offsets, multiword tokens, spaces, paragraphs.

Spaces are recorded as UDPipe does: SpaceAfter=No, or SpacesAfter, SpacesBefore and SpacesInToken, whose
values have \s for a space, \t, \r, \n, \p for |, \\ for \, and \uXXXX for other white space. White space,
here, includes control characters and byte-order marks, because a form cannot hold them; format characters
between tokens are recorded with it.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import takewhile
from typing import NamedTuple

from dynet_vdgi.conllu.blocks import Block, blocks
from dynet_vdgi.conllu.faults import BlockCheck, quoted
from dynet_vdgi.conllu.formats import raw_format
from dynet_vdgi.conllu.nfc import ONE_FORM, SAME, is_same
from dynet_vdgi.errors import DataError
from dynet_vdgi.system.files import AnyPath, is_conllu

_USUAL = {" ": "_", "": "SpaceAfter=No"}
"""MISC after a space, and after none."""

_COMMENT = re.compile(r"#\s*(newdoc|newpar)\b")

_TEXT = re.compile(r"#\s*text\s*=\s?(.*)")

_BEGINS_AS_CONLLU = re.compile(r"\ufeff?\s*(?:#[^\n]*\n)*(1(?:-[0-9]+)?\t[^\t\n]+(?:\t[^\t\n]+){8}\r?\n)")

_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.S)

_ESCAPED = {"s": " ", "t": "\t", "r": "\r", "n": "\n", "p": "|", "\\": "\\"}

_ESCAPES = {character: "\\" + letter for letter, character in _ESCAPED.items()}


class Token(NamedTuple):
    """A stretch of the text, and the forms of its words; several make it a multiword token."""

    start: int
    end: int
    words: tuple[str, ...]


class TokenisedSentence(NamedTuple):
    """The tokens of a sentence."""

    tokens: tuple[Token, ...]
    begins_paragraph: bool = False


@dataclass(frozen=True)
class Document:
    """A text and its sentences; offsets count characters of `text`.

    `n_silent`: the number of sentences that do not say where spaces are missing.
    """

    text: str
    sentences: tuple[TokenisedSentence, ...]
    name: str = ""
    n_silent: int = field(default=0, compare=False)


class TokenBlock(NamedTuple):
    """The tokens of a CoNLL-U sentence: the columns of each token's line, and those of its words.

    For a token of one word both are one line.
    """

    block: Block
    tokens: list[tuple[list[str], list[list[str]]]]
    rows: list[int]  # of the tokens, in `block.lines`


BYTE_ORDER_MARK = "\ufeff"
"""At the beginning of a file it says how the text is encoded, and belongs to no sentence."""

SPACES = re.compile(r"[\s\x00-\x1f\x7f-\x9f\ufeff]+")
"""White space."""

FORMAT = re.compile(
    "[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufff9-\ufffb\U00013430-\U0001343f"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001-\U000e007f]"
)
"""A format character that cannot be seen: category Cf but for white space and the signs before numbers."""

GAP = re.compile(f"(?:{SPACES.pattern}|{FORMAT.pattern})+")
"""What may stand between tokens."""


def is_named(path: AnyPath) -> bool:
    """Whether a file is raw text by its name."""
    return os.fspath(path).endswith((".txt", ".txt.gz"))


def check_raw(text: str, name: str, first: int = 1) -> None:
    """Raises: DataError, a text begins as CoNLL-U does, with comments and a first word, has a NUL byte, or is XML.

    `first` is the number of the text's first line.
    """
    if (place := text.find("\0")) >= 0:
        line = first + text.count("\n", 0, place)
        raise DataError(name, line, "NUL byte", "a damaged or binary file, or UTF-16 text?")
    if other := raw_format(text):
        raise DataError(name, first, f"this is {other.name}, not raw text", other.remedy)
    if found := _BEGINS_AS_CONLLU.match(text):
        line = first + text.count("\n", 0, found.start(1))
        remedy = "give it a name that ends in .conllu"
        if is_conllu(name):
            remedy = "it is split into words already: vdgi tag and vdgi parse take it as it is"
        raise DataError(name, line, "this is CoNLL-U, not raw text", remedy)


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

    Their texts are exactly the texts given to `conllu`. In files of others, a space follows a token without
    a word about it, and an empty line precedes `# newpar`.

    Raises: DataError, a file is malformed, or a sentence's tokens do not give its `# text`.
    """
    return [document for path in paths for document in documents_of(blocks(path))]


def documents_of(sentences: Iterable[Block]) -> Iterator[Document]:
    """The documents of some sentences in a row. Raises: as `read_documents`."""
    document = _Builder()
    for sentence in map(token_block, sentences):
        kinds = {found[1] for line in sentence.block.lines if (found := _COMMENT.match(line))}
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
        comments = takewhile(lambda line: line[0] == "#", sentence.block.lines)
        if said := next((found[1] for line in comments if (found := _TEXT.fullmatch(line))), ""):
            spaces = _agreed(sentence, said, spaces, forms)
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
    found = dict(part.partition("=")[::2] for part in misc.split("|"))
    after = "" if found.get("SpaceAfter") == "No" else None
    if found.get("SpaceAfter", "").isspace():  # a no-break space itself, as some programs write it
        after = found["SpaceAfter"]
    if "SpacesAfter" in found:
        after = unescaped(found["SpacesAfter"])
    return _Spaces(unescaped(found.get("SpacesBefore", "")), unescaped(found.get("SpacesInToken", "")), after)


def _agreed(sentence: TokenBlock, said: str, spaces: list[_Spaces], forms: list[str]) -> list[_Spaces]:
    """The spaces as MISC has them or, if those do not give `# text`, as it has them where MISC has none.

    Raises: DataError, the tokens do not give the text.
    """
    joined = "".join(
        FORMAT.sub("", space.before) * (n > 0) + form + (" " if space.after is None else FORMAT.sub("", space.after))
        for n, (form, space) in enumerate(zip(forms, spaces))
    )
    if form_of(joined).split() == said.split():
        return spaces
    found, place = list(spaces), 0
    for n, form in enumerate(forms):
        begin = place
        while place < len(said) and said[place].isspace():
            place += 1
        if not said.startswith(form, place):
            break
        if n and (before := found[n - 1].after) is not None and (before == "") == (place > begin):
            break
        if n and place == begin:
            found[n - 1] = spaces[n - 1]._replace(after="")
        place += len(form)
    else:
        if not said[place:].strip():
            return found
    path, first, *_ = sentence.block
    token = quoted(forms[n])
    message = f"the tokens and their SpaceAfter do not give the sentence's `# text`, from token {token} on"
    hint = "correct the comment, the forms or SpaceAfter=No"
    if is_same("".join(joined.split()), "".join(said.split())):
        message, hint = f"{message}: {SAME}", ONE_FORM
    raise DataError(path, first + sentence.rows[n], message, hint)


def conllu(document: Document, first: int = 1, *, begins: bool = True, is_followed: bool = False) -> str:
    """A document as CoNLL-U with nothing but tokens, which `read_documents` gives back byte for byte.

    first: the number of the first sentence, its `sent_id`. begins: the document is not the continuation of
    one that has been written before. is_followed: another document is written after it, so its last token has
    no SpaceAfter=No, which UD forbids there; that nothing is after it follows from its being the last.
    """
    text, sentences = document.text, document.sentences
    name = form_of(document.name.encode(errors="replace").decode()).strip()
    out = [f"# newdoc id = {name}\n" if name else "# newdoc\n"] if begins else []
    starts = [token.start for sentence in sentences for token in sentence.tokens]
    starts.append(len(text))
    before, number = text[: starts[0]] if begins else "", 0
    for n, sentence in enumerate(sentences):
        last = number + len(sentence.tokens)
        nexts = starts[number + 1 : last + 1]
        is_last = n + 1 == len(sentences) or sentences[n + 1].begins_paragraph
        whole = text[starts[number] : sentence.tokens[-1].end]
        form = form_of(whole)
        to_form = str if form == whole else form_of
        if FORMAT.search(whole):  # `# text` has no format characters between tokens
            pieces = []
            for (start, end, _), begin in zip(sentence.tokens, nexts):
                pieces += [form_of(text[start:end]), form_of(FORMAT.sub("", text[end:begin]))]
            form = "".join(pieces[:-1])
        at_end = "_" if is_followed and n + 1 == len(sentences) else _USUAL[""]
        rows = _rows(text, sentence, nexts, before, is_last, to_form, at_end)
        paragraph = "# newpar\n" if sentence.begins_paragraph else ""
        out.append(f"{paragraph}# sent_id = {first + n}\n# text = {form}\n{rows}\n")
        number, before = last, ""
    return "".join(out)


def _rows(
    text: str,
    sentence: TokenisedSentence,
    nexts: list[int],
    before: str,
    is_last: bool,
    to_form: Callable[[str], str],
    at_end: str,
) -> str:
    """The lines of a sentence; `nexts`: where the next tokens begin; to_form: `form_of`, or nothing to do.

    at_end: MISC of the last token if nothing is after it.
    """
    lines, number, n_tokens = [], 0, len(sentence.tokens)
    for n, ((start, end, words), begin) in enumerate(zip(sentence.tokens, nexts), 1):
        spaces, own = text[end:begin], text[start:end]
        misc = _USUAL.get(spaces) or f"SpacesAfter={escaped(spaces)}"
        if n == n_tokens and is_last and spaces == " ":  # which would not be expected there
            misc = "SpacesAfter=\\s"
        elif n == n_tokens and not spaces:
            misc = at_end
        notes = [f"SpacesBefore={escaped(before)}"] if n == 1 and before else []
        notes += [misc] if misc != "_" else []
        if (form := to_form(own)) != own:
            notes.append(f"SpacesInToken={escaped(own)}")
        misc = "|".join(notes) or "_"
        if len(words) > 1:
            lines.append(f"{number + 1}-{number + len(words)}\t{form}\t_\t_\t_\t_\t_\t_\t_\t{misc}\n")
            misc = "_"
        for word in words:
            number += 1
            lines.append(f"{number}\t{word}\t_\t_\t_\t_\t_\t_\t_\t{misc}\n")
    return "".join(lines)


def form_of(text: str) -> str:
    """A text as a form may have it: runs of white space become a space, but single no-break spaces stay.

    >>> form_of("20 \\n 000")
    '20 000'
    """
    if text.isprintable() and "  " not in text:
        return text
    return SPACES.sub(lambda run: run[0] if len(run[0]) == 1 and unicodedata.category(run[0]) == "Zs" else " ", text)


def escaped(text: str) -> str:
    r"""Text as a value in MISC.

    >>> escaped(" \n|\u00a0")
    '\\s\\n\\p\\u00a0'
    """
    return "".join(map(_escape, text))


@lru_cache(maxsize=1 << 10)
def _escape(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    is_odd = SPACES.match(character) or (FORMAT.match(character) and character < "\U00010000")
    return f"\\u{ord(character):04x}" if is_odd else character


def unescaped(value: str) -> str:
    """The text that `escaped` made a value; an unknown escape stays as it is."""

    def meant(found: re.Match[str]) -> str:
        code = found[1]
        return chr(int(code[1:], 16)) if len(code) == 5 else _ESCAPED.get(code, found[0])

    return _ESCAPE.sub(meant, value) if "\\" in value else value
