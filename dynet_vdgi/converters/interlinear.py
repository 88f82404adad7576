"""Words with their annotation as programs of the field keep them, and how they become CoNLL-U."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dynet_vdgi.conllu.faults import is_feats
from dynet_vdgi.conllu.nfc import nfc
from dynet_vdgi.conllu.raw_text import form_of
from dynet_vdgi.conllu.tag_sets import UD_TAGS
from dynet_vdgi.errors import DataError
from dynet_vdgi.system.limits import limit, to_raise
from dynet_vdgi.system.messages import count

MOSTLY = 0.9
"""The part of a file's tags from which on they count as UD's tags."""

MOST_KINDS = 30
"""Kinds of loss of which messages tell."""

NOT_UD = "tags that are not UD's: in XPOS, with UPOS _ (--tags FILE maps them)"

_OPENING = frozenset("([{¿¡«‹“„‘‚「『（【")

_PEELED = frozenset('.,;:!?…"“”„«»‹›()[]{}¿¡、。，！？；：؟،؛۔।॥「」『』（）')
"""Marks at the ends of words between blanks that are no letters in any language: no apostrophe or
hyphen."""

_FIRST = ("speaker", "sound_url", "sent_timecode")
"""The first comments, in this order; others follow as the file has them."""

_LONGEST_STRETCH = 1000
"""Characters of a word, or between two words, of a sentence that is compared with its words."""

_RUNS = re.compile(r"(\S)\1*")

_KEY = re.compile(r"\W+")


@dataclass(slots=True)
class GlossedWord:
    """A word as a file has it, "_" for nothing; `line` counts from 1.

    `tag` is the only or coarser tag, `xpos` a finer one. `notes` are keys and values for MISC.
    `is_joined`: nothing separates it from the next word; None: the file does not say.
    """

    form: str
    lemma: str = "_"
    tag: str = "_"
    xpos: str = "_"
    feats: str = "_"
    head: str = "_"
    deprel: str = "_"
    notes: list[tuple[str, str]] = field(default_factory=list)
    is_joined: bool | None = None
    line: int = 0


@dataclass(slots=True)
class Utterance:
    """A sentence: its words, its name in the file, its text if that is given, and comments.

    `document` names the text that begins with it; None: it continues one.
    """

    words: list[GlossedWord]
    line: int
    name: str = ""
    text: str = ""
    comments: list[tuple[str, str]] = field(default_factory=list)
    document: str | None = None
    begins_paragraph: bool = False


class Losses:
    """What CoNLL-U cannot hold or what was not understood, counted by kind, with the first place of
    each."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._counts: Counter[str] = Counter()
        self._first: dict[str, tuple[int, str]] = {}

    def add(self, kind: str, line: int = 0, example: str = "", number: int = 1) -> None:
        self._counts[kind] += number
        self._first.setdefault(kind, (line, example))

    def messages(self) -> list[str]:
        """A line for each kind: the first place, the kind, how often, an example."""
        kinds = list(self._counts)
        more = len(kinds) - MOST_KINDS
        rest = [f"{self.name}: {more:,} further kinds of loss"] if more > 0 else []
        return [self._message(kind) for kind in kinds[:MOST_KINDS]] + rest

    def _message(self, kind: str) -> str:
        line, example = self._first[kind]
        place = f"{self.name}:{line}" if line else self.name
        number = self._counts[kind]
        often = "once" if number == 1 else f"{number:,} times"
        such = f"{', ' if number == 1 else ', first '}{example:.40}" if example else ""
        return f"{place}: {kind}; {often}{such}"


def comment_key(*parts: str) -> str:
    """A key of a comment from words and a language's code.

    >>> comment_key("text", "pt-BR")
    'text_pt_BR'
    """
    return "_".join(filter(None, (_KEY.sub("_", part).strip("_") for part in parts)))


def is_mark(form: str) -> bool:
    """Whether a form has punctuation marks only."""
    return form not in ("", "_") and all(
        unicodedata.category(character)[0] == "P" for character in form
    )


def split_marks(text: str) -> list[str]:
    """A run of letters and marks as a word with the marks at its ends, equal marks together.

    >>> split_marks("«wait...»"), split_marks("'ara-"), split_marks("?!")
    (['«', 'wait', '...', '»'], ["'ara-"], ['?', '!'])
    """
    begin, end = 0, len(text)
    while begin < end and text[begin] in _PEELED:
        begin += 1
    while end > begin and text[end - 1] in _PEELED:
        end -= 1
    parts = [run[0] for run in _RUNS.finditer(text, 0, begin)]
    if end > begin:
        parts.append(text[begin:end])
    return parts + [run[0] for run in _RUNS.finditer(text, end)]


def words_of_text(text: str, line: int = 0) -> list[GlossedWord]:
    """The words of a text without word division of its own: between blanks, marks at their ends
    apart."""
    words = []
    for part in text.split():
        pieces = split_marks(part)
        words += [
            GlossedWord(piece, is_joined=n < len(pieces), line=line)
            for n, piece in enumerate(pieces, 1)
        ]
    return words


def words_fitted_to_text(words: Sequence[GlossedWord], text: str) -> list[GlossedWord] | None:
    """The words with the spaces, the capitals and the further marks of a text; None: they are not
    its words.

    >>> words = words_fitted_to_text([GlossedWord("go"), GlossedWord("home")], "Go, home!")
    >>> [word.form for word in words or ()]
    ['Go', ',', 'home', '!']
    """
    fit: list[GlossedWord] = []
    place = 0
    for word in words:
        size = len(word.form)
        if size > _LONGEST_STRETCH:
            return None
        start = place
        while text[start : start + size].casefold() != word.form.casefold():
            if start >= len(text) or _is_letter(text[start]) or start - place > _LONGEST_STRETCH:
                return None
            start += 1
        _add_marks(fit, text[place:start], word.line)
        fit.append(replace(word, form=text[start : start + size], is_joined=True))
        place = start + size
    if any(_is_letter(character) for character in text[place:]):
        return None
    _add_marks(fit, text[place:], words[-1].line if words else 0)
    return fit


def _is_letter(character: str) -> bool:
    """Whether a character is part of a word: a letter, a digit, or a mark that stands on one."""
    return unicodedata.category(character)[0] in "LNM"


def _add_marks(fit: list[GlossedWord], gap: str, line: int) -> None:
    """Adds the marks between two words; what is before each is joined to it unless there is a
    space."""
    for part in re.findall(r"\s+|\S+", gap):
        if part.isspace():
            if fit:
                fit[-1].is_joined = False
        else:
            fit += [GlossedWord(run[0], is_joined=True, line=line) for run in _RUNS.finditer(part)]


def words_with_spaces(words: Sequence[GlossedWord]) -> list[GlossedWord]:
    """The words with what is usual between words and marks, where nothing else is known.

    >>> forms = ["(", "so", ")", ".", "So"]
    >>> [word.is_joined for word in words_with_spaces([GlossedWord(form) for form in forms])]
    [True, True, True, False, False]
    """
    put, open_quotes = list(words), set[str]()
    for n, word in enumerate(words):
        opens = word.form[-1:] in _OPENING
        if word.form in ('"', "'"):
            opens = word.form not in open_quotes
            open_quotes ^= {word.form}
        closes = is_mark(word.form) and not opens and unicodedata.category(word.form[0]) != "Pd"
        if closes and n and put[n - 1].is_joined is None:
            put[n - 1] = replace(put[n - 1], is_joined=True)
        elif n and put[n - 1].is_joined is None:
            put[n - 1] = replace(put[n - 1], is_joined=False)
        if opens and word.is_joined is None:
            put[n] = replace(word, is_joined=True)
    if put and put[-1].is_joined is None:
        put[-1] = replace(put[-1], is_joined=False)
    return put


class TagChoice:
    """Which of a file's tags are UPOS: the user's table, or UD's tags where nearly all are UD's."""

    def __init__(self, words: Iterable[GlossedWord], table: Mapping[str, str]) -> None:
        tags = Counter(word.tag for word in words if word.tag != "_")
        n_of_ud = sum(number for tag, number in tags.items() if tag in UD_TAGS)
        self.table = table
        self.uses_table = any(tag in table for tag in tags)
        self.are_ud = n_of_ud >= MOSTLY * sum(tags.values())

    def of(self, word: GlossedWord, losses: Losses) -> tuple[str, str, list[tuple[str, str]]]:
        """UPOS and XPOS of a word, and what is left for MISC."""
        fine = word.xpos if word.xpos not in ("_", word.tag) else "_"
        mapped = self.table.get(word.tag) or self.table.get(word.xpos)
        if mapped:
            self.uses_table = True
            return mapped, fine if fine != "_" or word.tag == mapped else word.tag, []
        if self.are_ud and word.tag in UD_TAGS:
            return word.tag, fine, []
        if word.tag == "_":
            return "PUNCT" if is_mark(word.form) else "_", fine, []
        losses.add(NOT_UD, word.line, repr(word.tag))
        if fine == "_":
            return "_", word.tag, []
        return "_", fine, [("CPosTag", word.tag)]


def value_of(text: str) -> str:
    r"""A text as a value in MISC.

    >>> value_of(" a |  b ")
    'a \\p b'
    """
    return form_of(text).strip().replace("\\", "\\\\").replace("|", "\\p")


def _cell(text: str, losses: Losses, word: GlossedWord) -> str:
    """A text as a column of CoNLL-U: one line in NFC, which UD demands; "_" for nothing."""
    cell = form_of(text).strip()
    if (normal := nfc(cell)) != cell:
        losses.add(
            "values written in NFC, the form of letters that UD demands", word.line, repr(cell)
        )
    return normal or "_"


def _tag_cell(text: str, losses: Losses, word: GlossedWord) -> str:
    """A column that holds no spaces."""
    return "_".join(_cell(text, losses, word).split())


def _row(number: int, word: GlossedWord, tags: TagChoice, losses: Losses, *, is_last: bool) -> str:
    upos, xpos, notes = tags.of(word, losses)
    feats = "|".join(sorted(word.feats.split("|"), key=str.casefold)) if word.feats != "_" else "_"
    if not is_feats(feats) or any(letter.isspace() for letter in feats):
        losses.add(
            "FEATS that are not Name=Value: in MISC as OrigFeats", word.line, repr(word.feats)
        )
        feats, notes = "_", [*notes, ("OrigFeats", word.feats)]
    form = _cell(word.form, losses, word)
    if " " in form:
        losses.add(
            "words with a space inside, which UD allows for few words", word.line, repr(form)
        )
    notes = [
        *notes,
        *word.notes,
        *([("SpaceAfter", "No")] if word.is_joined and not is_last else []),
    ]
    misc = (
        "|".join(f"{key}={nfc(value_of(value)) or '_'}" for key, value in dict(notes).items())
        or "_"
    )
    columns = [
        form,
        form if upos == "PUNCT" and word.lemma == "_" else _cell(word.lemma, losses, word),
        _tag_cell(upos, losses, word),
        _tag_cell(xpos, losses, word),
        nfc(feats),
        word.head,
        _tag_cell(word.deprel, losses, word),
    ]
    return "\t".join([str(number), *columns, "_", misc])


def blocks(
    utterances: Iterable[Utterance],
    tags: TagChoice,
    losses: Losses,
    names: dict[str, int],
    document: str,
) -> Iterator[tuple[str, int]]:
    """CoNLL-U of each sentence, and the number of its words.

    names: of the sentences before, to which these are added, with the number of sentences that
    wanted each.
    document: what the file is called; it begins the name of a sentence whose text has no name.

    Raises: DataError, with the line, a sentence with more words than the limit.
    """
    number, begun = 0, False
    for utterance in utterances:
        if len(utterance.words) > limit("words"):
            message = f"a sentence of {count(len(utterance.words), 'word')}"
            hint = to_raise("words", len(utterance.words))
            raise DataError(losses.name, utterance.line, message, hint)
        lines = []
        if utterance.document is not None or not begun:
            document = _name(utterance.document or "") or document
            lines.append(f"# newdoc id = {document}")
            number, begun = 0, True
        if utterance.begins_paragraph:
            lines.append("# newpar")
        number += 1
        wanted = f"{document}-{_name(utterance.name) or number}"
        name = wanted
        while name in names:
            names[wanted] += 1
            name = f"{wanted}.{names[wanted]}"
        names[name] = 1
        words = _with_spaces(utterance, losses)
        lines.append(f"# sent_id = {name}")
        rows = [
            _row(n, word, tags, losses, is_last=n == len(words)) for n, word in enumerate(words, 1)
        ]
        forms = [row.split("\t", 2)[1] for row in rows]
        gaps = ["" if word.is_joined else " " for word in words[:-1]]
        lines.append("# text = " + "".join(form + gap for form, gap in zip(forms, [*gaps, ""])))
        comments = sorted(
            utterance.comments, key=lambda pair: _FIRST.index(pair[0]) if pair[0] in _FIRST else 9
        )
        lines += [
            f"# {key} = {nfc(form_of(value).strip())}" for key, value in comments if value.strip()
        ]
        yield "\n".join([*lines, *rows]) + "\n\n", len(words)


def _with_spaces(utterance: Utterance, losses: Losses) -> list[GlossedWord]:
    """The words with their spaces, from the sentence's text if they are its words."""
    words, text = utterance.words, nfc(form_of(utterance.text).strip())
    fit = (
        words_fitted_to_text([replace(word, form=nfc(word.form)) for word in words], text)
        if text
        else None
    )
    if fit is None and text:
        losses.add(
            "texts that their words do not give: kept as # orig_text", utterance.line, repr(text)
        )
        utterance.comments.append(("orig_text", text))
    return fit or words_with_spaces(words)


def _name(text: str) -> str:
    """A text as a name of a sentence or a document: without spaces and slashes.

    >>> _name(" The boat / 2 ")
    'The_boat_2'
    """
    return nfc(re.sub(r"[\s/]+", "_", form_of(text)).strip("_"))
