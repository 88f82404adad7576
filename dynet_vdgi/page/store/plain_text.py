"""Plain text as CoNLL-U, with a tokeniser, or by a simple rule where a language has none yet.

The rule: an empty line ends a paragraph, and with it a sentence; a sentence also ends after . ! ?
and such marks of other scripts, with the closing quotation marks and brackets behind them, before
white space. Words end at white space; the marks at a word's edges are words of their own, except
the apostrophe, the hyphen, and those of addresses, @names and the like (`words.tokeniser.whole`).
If each line is a sentence, no other ends are looked for. What this gets wrong is what the page's
splitting, joining, cutting and gluing is for.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path

from dynet_vdgi.conllu import raw_text, raw_writing
from dynet_vdgi.conllu.punctuation import is_mark
from dynet_vdgi.conllu.raw_text import Document, Token, TokenisedSentence
from dynet_vdgi.errors import DataError, UsageError
from dynet_vdgi.parser.steps import Steps, step_file
from dynet_vdgi.system import files
from dynet_vdgi.words.tokeniser.seen import Seen
from dynet_vdgi.words.tokeniser.whole import wholes

ENDS = ".!?…。！？｡।॥؟۔։።፧၊။"
"""Characters that may end a sentence."""

CLOSING = "\"'”’»›)]）］」』】"

KEPT = "'’-‐\u200c\u200d"
"""Marks that belong to the word at whose edge they stand."""

_PARAGRAPH = re.compile(r"\S(?:.|\n(?!\s*\n))*")

_WORD, _RUN = re.compile(r"\S+"), re.compile(r"(.)\1*", re.DOTALL)

_END = re.compile(rf"[{re.escape(ENDS)}]+[{re.escape(CLOSING)}]*$")


def conllu_of(path: str, tokeniser: str | None, *, lines: bool = False) -> str:
    """The CoNLL-U of a text file, without tags.

    tokeniser: a tokeniser's file. lines: each line is a sentence.

    Raises: DataError, the text is CoNLL-U, not UTF-8, or empty; ModelError, the tokeniser is
    damaged.
    """
    if tokeniser is not None:
        own_tokeniser = Steps({"tokeniser": step_file("tokeniser", tokeniser)}).tokeniser
        assert own_tokeniser is not None
        return "".join(content for _, content in own_tokeniser.read(path, lines=lines))
    text = files.read_text(path).removeprefix(raw_text.BYTE_ORDER_MARK)
    raw_text.check_raw(text, path)
    sentences = sentences_by_rule(text, lines=lines)
    if not sentences:
        raise DataError(path, None, "no text", "the file holds nothing but white space")
    return raw_writing.conllu_of(Document(text, tuple(sentences), Path(path).name))


def sentences_by_rule(text: str, *, lines: bool = False) -> list[TokenisedSentence]:
    """The sentences of a text by the rule of this module; `lines`: its lines.

    >>> text = "He left (late). Why?"
    >>> for sentence in sentences_by_rule(text):
    ...     print([text[token.start:token.end] for token in sentence.tokens])
    ['He', 'left', '(', 'late', ')', '.']
    ['Why', '?']
    """
    seen = Seen.of(text)
    whole_spans = [(match.start, match.end) for match in wholes(seen.text)]
    sentences = []
    for paragraph in _PARAGRAPH.finditer(seen.text):
        groups: list[list[tuple[int, int]]] = [[]]
        for word in _WORD.finditer(seen.text, *paragraph.span()):
            if lines and groups[-1] and "\n" in seen.text[groups[-1][-1][1] : word.start()]:
                groups.append([])
            groups[-1] += _pieces(seen.text, *word.span(), whole_spans)
            if _END.search(word[0]) and not lines:
                groups.append([])
        for number, group in enumerate(filter(None, groups)):
            places = [(int(seen.starts[start]), int(seen.ends[end - 1])) for start, end in group]
            tokens = tuple([Token(start, end, (text[start:end],)) for start, end in places])
            sentences.append(TokenisedSentence(tokens, number == 0))
    return sentences


def _pieces(
    text: str, start: int, end: int, whole_spans: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    """A stretch without white space as words: marks at its edges are words, equal ones together.

    whole_spans: stretches of the text whose marks are not cut off.
    """
    first, last = start, end
    while first < last and text[first] not in KEPT and is_mark(text[first]):
        first += 1
    while last > first and text[last - 1] not in KEPT and is_mark(text[last - 1]):
        last -= 1
    if spans := whole_spans[
        bisect_left(whole_spans, (start, start)) : bisect_left(whole_spans, (end, end))
    ]:
        first, last = min(first, spans[0][0]), max(last, spans[-1][1])
    pieces = [run.span() for run in _RUN.finditer(text, start, first)]
    if first < last:
        pieces.append((first, last))
    return pieces + [run.span() for run in _RUN.finditer(text, last, end)]


def write_as_conllu(path: str, tokeniser: str | None, *, lines: bool = False) -> str:
    """Writes the CoNLL-U of a text file beside it, and returns its name.

    Raises: UsageError, there is a file of this name; others as `conllu_of`.
    """
    name = str(Path(path).with_suffix(".conllu"))
    if Path(name).exists():
        raise UsageError(f"{name} exists already: vdgi annotate {name} goes on with it")
    content = conllu_of(path, tokeniser, lines=lines)
    with files.atomic_writer(name) as handle:
        handle.write(content)
    return name
