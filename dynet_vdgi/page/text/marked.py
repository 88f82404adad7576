"""Sentences of a CoNLL-U file with a person's statements about their words.

In the file, marks in MISC say who confirmed what: `HeadBy=NAME`, `LabelBy=NAME`, `TagBy=NAME`,
`XposBy=NAME`, `FeatsBy=NAME` and `LemmaBy=NAME`. A head or relation without a mark is a guess; a
tag without one is the file's.

A word has a number for life (`wids`) and a place, which changes when words are split and joined:
1..n, what CoNLL-U calls ID and HEAD refers to.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

from dynet_vdgi.conllu import guess_marks, reading
from dynet_vdgi.conllu.blocks import blocks_in, ignore
from dynet_vdgi.conllu.extra_columns import with_headers
from dynet_vdgi.conllu.guess_marks import HEAD_BY, LABEL_BY, without
from dynet_vdgi.conllu.punctuation import (
    heads_without,
    is_mark,
    restore_punctuation,
    without_punctuation,
)
from dynet_vdgi.conllu.reading import KNOWN
from dynet_vdgi.conllu.sentence import Sentence, Source
from dynet_vdgi.conllu.soft_tags import SoftTags
from dynet_vdgi.conllu.tree_faults import FREE, cycle, tree_faults
from dynet_vdgi.errors import VdgiError
from dynet_vdgi.system.files import AnyPath, atomic_writer

COLUMN_MARKS = ("TagBy=", "FeatsBy=", "LemmaBy=", "XposBy=")

MARKS = (HEAD_BY, LABEL_BY, *COLUMN_MARKS)

NAMES = ","
"""Between the names of a mark, where several people have set the same; no name has it."""

NO_LABEL = NOTHING = "_"

GUESSED = ("xpos", "feats", "lemma")
"""Columns that are guessed from a word's tag."""

UNSET = FREE
"""Head of a word that has none yet."""

FLAG = "# flag = look again"

IS_FLAG = re.compile(r"#\s*flag\s*=.*")

NO_LETTERS = re.compile(r"[\s|\x00-\x1f\x7f\ud800-\udfff]")
"""Characters not allowed in a relation: the column ends at white space, and bars separate DEPS."""

LONGEST_LABEL = 60


class ChangeError(VdgiError):
    """A change that cannot be made; the message gives the person the reason."""

    status = 400  # of HTTP


class MarkedArc(NamedTuple):
    """A word's head, UNSET if it has none, its relation, and who confirmed each; "": a guess."""

    head: int = UNSET
    label: str = NO_LABEL
    head_by: str = ""
    label_by: str = ""


NO_ARC = MarkedArc()


class MarkedColumns(NamedTuple):
    """What a person can change of a word besides its arc, and who did; MISC is without marks."""

    lemma: str = NOTHING
    upos: str = NOTHING
    feats: str = NOTHING
    misc: str = NOTHING
    xpos: str = NOTHING
    tag_by: str = ""  # in the order of COLUMN_MARKS
    feats_by: str = ""
    lemma_by: str = ""
    xpos_by: str = ""


class SentenceState(NamedTuple):
    """What a person can change of a sentence without touching its words' forms."""

    arcs: tuple[MarkedArc, ...]
    columns: tuple[MarkedColumns, ...]
    comments: tuple[str, ...]


class Guess(NamedTuple):
    """A parser's output for the words of a sentence that are not punctuation."""

    heads: tuple[int, ...]
    labels: tuple[str, ...]
    sure: tuple[float, ...]  # probabilities of the heads


class TagGuess(NamedTuple):
    """A tagger's output for the words of a sentence; lemmas, XPOS and FEATS may be empty."""

    tags: tuple[str, ...]
    chances: tuple[float, ...]  # probabilities of these tags
    lemmas: tuple[str, ...] = ()
    xpos: tuple[str, ...] = ()
    feats: tuple[str, ...] = ()
    soft: SoftTags | None = None  # for the parser

    @classmethod
    def of_words(cls, words: Iterable[tuple[Any, ...]]) -> TagGuess:
        """The guess with these `words`."""
        tags, chances, lemmas, xpos, feats = zip(*words)
        return cls(tags, chances, lemmas, xpos, feats)

    @property
    def words(self) -> list[tuple[Any, ...]]:
        """For each word, what the tagger says of it, in the order of the columns."""
        return list(zip(*(column or (NOTHING,) * len(self.tags) for column in self[:5])))


NO_TAGS = TagGuess((), ())


@dataclass(eq=False)
class MarkedSentence:
    """One sentence; `edits` counts a person's changes, `version` these and changed guesses."""

    id: int
    wids: tuple[int, ...]
    source: Source  # as in the file
    forms: tuple[str, ...]
    first: SentenceState  # as in the file
    state: SentenceState
    guessed_tags: TagGuess = NO_TAGS  # for words without UPOS
    # see `put_recalled`
    recalled: Mapping[int, tuple[str, Mapping[str, str]]] = field(default_factory=dict)
    # see `put_guesses`
    guessed: dict[tuple[Any, ...], tuple[str, str, str]] = field(default_factory=dict)
    # probability of each head; None for punctuation, () before a parse
    sure: tuple[float | None, ...] = ()
    edits: int = 0
    version: int = 0
    is_worked_on: bool = False  # a person has changed arcs, even if all was undone
    was_done: bool = False  # a person has seen it finished: what is missing is meant to be missing
    is_found: bool = True  # whether `source` is a file's, not made when words were cut or joined
    # who said that the tree is right as it is in the file, which has no marks of it
    given: str = ""
    opened: Mapping[int, str] = field(default_factory=dict)  # see `conflicts`
    _filled: tuple[TagGuess, tuple[MarkedColumns, ...], tuple[MarkedColumns, ...]] | None = None
    _bare: tuple[tuple[MarkedColumns, ...], Sentence, tuple[int, ...]] | None = None

    @classmethod
    def of(cls, sentence: Sentence, number: int = 0) -> MarkedSentence:
        """The initial state of a sentence, read with heads "unchecked".

        Arcs that no tree can have are open.
        """
        assert sentence.source is not None
        state = _state_of(sentence.source)
        heads = [arc.head for arc in state.arcs]
        n_marked = sum(bool(arc.head_by) for arc in state.arcs)
        is_nothing = len(heads) > 1 and not any(heads)  # 0 for every word is no tree
        opened = conflicts(state.arcs) if not is_nothing or n_marked > 1 else {}
        arcs = tuple(
            [_headless(arc) if word in opened else arc for word, arc in enumerate(state.arcs, 1)]
        )
        state = state._replace(arcs=arcs)
        words = tuple(range(1, len(sentence) + 1))
        marked = cls(number, words, sentence.source, sentence.forms, state, state, opened=opened)
        if any(word.upos == NOTHING for word in state.columns):
            tags = tuple(["PUNCT" if is_mark(form) else NOTHING for form in sentence.forms])
            marked.guessed_tags = TagGuess(tags, tuple([float(tag != NOTHING) for tag in tags]))
        if UNSET in heads or is_nothing:
            marked._drop_guesses()
        is_tree = not (UNSET in heads or is_nothing or opened)
        if not is_tree and not marked.positions:  # no guess will give it a tree
            marked.put(Guess((), (), ()))
        marked._attach_punctuation()
        return marked

    def _drop_guesses(self) -> None:
        """Drops unconfirmed heads, and relations unless they are confirmed."""
        self.arcs = tuple([arc if arc.head_by else _headless(arc) for arc in self.arcs])

    def _attach_punctuation(self) -> None:
        """Guesses heads of opened punctuation where all other words have heads: nothing else would."""
        bare = self.shown()
        if not self.opened or UNSET not in self.heads or UNSET in bare or bare.count(0) != 1:
            return
        firm = [head != UNSET for head in self.heads]
        heads = with_punctuation(bare, self.positions, self.heads, firm, self.forms)
        new = (MarkedArc(head, "punct") for head in heads)
        self.arcs = tuple([its if arc.head == UNSET else arc for arc, its in zip(self.arcs, new)])

    @property
    def has_tree_without_marks(self) -> bool:
        """True if the file has heads, which nobody has confirmed; 0 for every word is none."""
        heads = {arc.head for arc in self.first.arcs} - {UNSET}
        is_tree = bool(heads) and (heads != {0} or len(self) == 1)
        return (is_tree or bool(self.opened)) and not has_arc_marks(self.first)

    def take_as_right(self, by: str) -> None:
        """Confirms what the file has of a tree, punctuation too, but no opened arc."""
        self.given = by
        self.arcs = self.as_found.arcs
        self._drop_guesses()
        self._attach_punctuation()

    @property
    def as_found(self) -> SentenceState:
        """The state that the file's lines stand for."""
        if not self.given:
            return self.first
        arcs = [
            arc._replace(
                head_by="" if arc.head == UNSET else self.given,
                label_by="" if arc.head == UNSET or arc.label == NO_LABEL else self.given,
            )
            for arc in self.first.arcs
        ]
        return self.first._replace(arcs=tuple(arcs))

    def is_as_found(self, state: SentenceState) -> bool:
        """Whether a state says what the file's lines say; guesses aside."""
        found = self.as_found
        return state[1:] == found[1:] and confirmed_parts(state.arcs) == confirmed_parts(found.arcs)

    def __len__(self) -> int:
        return len(self.forms)

    @property
    def columns(self) -> tuple[MarkedColumns, ...]:
        """The columns with the tagger's guesses for words whose UPOS is not the file's."""
        guess, columns = self.guessed_tags, self.state.columns
        if not guess.tags:
            return columns
        if self._filled is None or self._filled[0] is not guess or self._filled[1] is not columns:
            filled = list(columns)
            for k, (word, (tag, _, *its)) in enumerate(zip(columns, guess.words)):
                said: Mapping[str, str] = dict(zip(("lemma", "xpos", "feats"), its))
                if self.is_unsaid(k):
                    tag, said = self.recalled.get(self.wids[k], (tag, said))
                is_files = word.upos == tag != NOTHING and not word.tag_by
                # else its tag is the file's, or another one
                if word.upos in (NOTHING, tag) and not is_files:
                    new = {c: value for c, value in said.items() if _is_missing(word, c)}
                    filled[k] = word._replace(upos=tag, **new)
            for (k, *about), values in self.guessed.items():
                own = columns[k]
                if about == [filled[k].upos, own.xpos, own.feats]:
                    missing = [
                        (c, value)
                        for c, value in zip(GUESSED, values)
                        if value and _is_missing(own, c)
                    ]
                    filled[k] = filled[k]._replace(**dict(missing))
            self._filled = guess, columns, tuple(filled)
        return self._filled[2]

    @property
    def tags(self) -> tuple[str, ...]:
        """UPOS, or the tagger's guess for words that have none."""
        return tuple([word.upos for word in self.columns])

    @property
    def sentence(self) -> Sentence:
        """The words with their present tags, lemmas and features, without heads; guesses say how
        sure they are."""
        if (soft := self.guessed_tags.soft) is None or len(soft.chances) != len(self):
            return self._with(self.columns)
        said = zip(self.state.columns, self.columns)
        pairs = enumerate(zip(said, self.guessed_tags.tags))
        given = [
            (k, w.upos, w.feats)
            for k, ((own, w), guess) in pairs
            if own.upos != NOTHING or w.upos != guess
        ]
        return replace(self._with(self.columns), soft=soft.with_certain_tags(given))

    @property
    def known(self) -> Sentence:
        """The words as somebody has tagged them; the others have no tag."""
        pairs = zip(self.state.columns, self.columns)
        return self._with([word if word.upos == NOTHING else shown for word, shown in pairs])

    def _with(self, columns: Sequence[MarkedColumns]) -> Sentence:
        lemmas, tags, xpos, feats = zip(
            *((word.lemma, word.upos, word.xpos, word.feats) for word in columns)
        )
        others = [column if {*column} != {NOTHING} else () for column in (lemmas, xpos, feats)]
        return Sentence(self.forms, tags, lemmas=others[0], xpos=others[1], feats=others[2])

    @property
    def bare(self) -> Sentence:
        """The words without punctuation, heads and relations."""
        return self._without_punctuation()[0]

    @property
    def positions(self) -> tuple[int, ...]:
        """The places of the words of `bare`."""
        return self._without_punctuation()[1]

    def _without_punctuation(self) -> tuple[Sentence, tuple[int, ...]]:
        columns = self.columns
        if self._bare is None or self._bare[0] is not columns:
            self._bare = columns, *without_punctuation(self.sentence)
        return self._bare[1:]

    @property
    def is_tagged(self) -> bool:
        """True if every word has UPOS, or a guess."""
        return NOTHING not in self.tags

    @property
    def arcs(self) -> tuple[MarkedArc, ...]:
        return self.state.arcs

    @arcs.setter
    def arcs(self, arcs: tuple[MarkedArc, ...]) -> None:
        self.state = self.state._replace(arcs=arcs)

    @property
    def heads(self) -> tuple[int, ...]:
        return tuple([arc.head for arc in self.arcs])

    @property
    def fixed(self) -> tuple[bool, ...]:
        """For each word, whether its head is confirmed."""
        return tuple([bool(arc.head_by) for arc in self.arcs])

    @property
    def is_done(self) -> bool:
        """True if every word has a tag, and all words `to_confirm` are confirmed."""
        arcs = self.arcs
        if not any(arc.head_by for arc in arcs) and self.positions:
            return False
        is_confirmed = all(arcs[p - 1].head_by and arcs[p - 1].label_by for p in self.to_confirm)
        return is_confirmed and all(word.upos != NOTHING for word in self.state.columns)

    @property
    def to_confirm(self) -> Sequence[int]:
        """The words whose arcs a person confirms: all but punctuation, and what was opened."""
        return sorted({*self.positions, *self.opened}) if self.opened else self.positions

    @property
    def open_conflicts(self) -> dict[int, str]:
        """What was wrong with the file's heads of words, as long as nobody has confirmed others."""
        return {word: why for word, why in self.opened.items() if not self.arcs[word - 1].head_by}

    @property
    def is_touched(self) -> bool:
        """True if any head or relation is confirmed."""
        return has_arc_marks(self.state)

    @property
    def is_held(self) -> bool:
        """True if somebody has worked on the whole tree: then only some changes cause a new parse."""
        return (self.is_worked_on or self.is_touched) and UNSET not in self.heads

    def confirmed(self) -> Sentence:
        """The words without punctuation; unconfirmed heads are UNSET and relations "_"."""
        arcs = [self.arcs[p - 1] for p in self.positions]
        heads = tuple([h if arc.head_by else UNSET for h, arc in zip(self.shown(), arcs)])
        labels = tuple([arc.label if arc.label_by else NO_LABEL for arc in arcs])
        return replace(self.bare, heads=heads, deprels=labels)

    def shown(self) -> tuple[int, ...]:
        """The present heads of the words that are not punctuation."""
        return heads_without(self.heads, self.positions)

    def put(self, guess: Guess) -> None:
        """Adopts a guess for everything that is not confirmed."""
        heads = with_punctuation(guess.heads, self.positions, self.heads, self.fixed, self.forms)
        labels = ["punct"] * len(heads)
        sure: list[float | None] = [None] * len(heads)
        for place, label, probability in zip(self.positions, guess.labels, guess.sure):
            labels[place - 1], sure[place - 1] = label, probability
        arcs = []
        for arc, head, label in zip(self.arcs, heads, labels):
            if arc.label_by:
                label = arc.label
            elif (label == "root") != (head == 0):  # the relation of the root, and of it alone
                label = "dep" if head else "root"
            arcs.append(arc._replace(head=head, label=label))
        self.version += tuple(arcs) != self.arcs
        self.arcs, self.sure = tuple(arcs), tuple(sure)

    def put_tags(self, guess: TagGuess) -> None:
        """Adopts a tagger's guess for the words that have no UPOS."""
        before = self.columns
        self.guessed_tags = guess
        self.version += before != self.columns

    def with_tags_shown(self, guess: TagGuess) -> TagGuess:
        """A guess that changes nothing that is shown, but says something of words without any tag."""
        old = self.guessed_tags.words or [(NOTHING, 0.0, NOTHING, NOTHING, NOTHING)] * len(self)
        words = [
            new if tag == NOTHING else its for tag, its, new in zip(self.tags, old, guess.words)
        ]
        return self.guessed_tags if words == old else TagGuess.of_words(words)

    def put_recalled(self, new: Mapping[int, tuple[str, Mapping[str, str]]]) -> bool:
        """Adopts tags and other columns in place of the tagger's, by word id; returns whether that
        shows."""
        before, self.recalled, self._filled = self.columns, new, None
        is_new = self.columns != before
        self.version += is_new
        return is_new

    def is_unsaid(self, place: int) -> bool:
        """Whether nobody has said anything of the tag and features of the word at a place, from 0."""
        own = self.state.columns[place]
        return own.upos == own.xpos == own.feats == NOTHING and not (
            own.tag_by or own.xpos_by or own.feats_by
        )

    def put_guesses(self, new: Mapping[tuple[Any, ...], tuple[str, str, str]]) -> None:
        """Adopts XPOS, FEATS and lemmas ("": none) of words, each for what `key` gives of a word
        now."""
        if new:
            self.guessed |= new
            self._filled = None
            self.version += 1

    def key(self, place: int) -> tuple[Any, ...]:
        """What guesses about the word at a place, from 0, are about: its tag, and its own XPOS and
        FEATS."""
        own = self.state.columns[place]
        return place, self.columns[place].upos, own.xpos, own.feats

    def is_to_be_guessed(self, place: int) -> bool:
        """Whether a person has set something of a word, and not all."""
        own = self.state.columns[place]
        is_said = own.tag_by or own.feats_by or own.xpos_by
        return bool(is_said) and not self.was_done and any(_is_missing(own, c) for c in GUESSED)

    @property
    def is_flagged(self) -> bool:
        """True if somebody wants to look at the sentence again."""
        return any(map(IS_FLAG.fullmatch, self.state.comments))

    def comment(self, key: str) -> str:
        """The value of the first comment `# key = value`; "" without one. `key` is a regular
        expression."""
        found = (re.fullmatch(rf"#\s*{key}\s*=\s*(.*?)\s*", line) for line in self.state.comments)
        return next((match[1] for match in found if match), "")

    @property
    def sent_id(self) -> str:
        """Its name among the comments; "" without one."""
        return self.source.sent_id or ""


def _is_missing(word: MarkedColumns, name: str) -> bool:
    """Whether a word has no value in a column, and nobody has said that it has none."""
    return bool(getattr(word, name) == NOTHING and not getattr(word, name + "_by"))


def _headless(arc: MarkedArc) -> MarkedArc:
    """The arc without its head; a relation that somebody has confirmed stays, but for the root's."""
    return (
        MarkedArc(label=arc.label, label_by=arc.label_by)
        if arc.label_by and arc.label != "root"
        else NO_ARC
    )


def has_arc_marks(state: SentenceState) -> bool:
    """True if any head or relation is confirmed."""
    return any(arc.head_by or arc.label_by for arc in state.arcs)


def confirmed_parts(arcs: Iterable[MarkedArc]) -> list[tuple[int | None, str | None, str, str]]:
    """The confirmed parts of arcs."""
    return [
        (
            arc.head if arc.head_by else None,
            arc.label if arc.label_by else None,
            arc.head_by,
            arc.label_by,
        )
        for arc in arcs
    ]


def label_fault(text: Any) -> str:
    """Why a value cannot be a relation in CoNLL-U; empty if it can."""
    is_text = type(text) is str and text not in ("", NO_LABEL) and len(text) <= LONGEST_LABEL
    if is_text and not NO_LETTERS.search(text):
        return ""
    expected = f"expected such as nsubj or nsubj:pass, up to {LONGEST_LABEL} letters without blanks"
    return f"{str(text)[:20]!r} is no relation ({expected})"


def conflicts(arcs: Sequence[MarkedArc]) -> dict[int, str]:
    """The words whose arcs no tree can have, or not all of them, and why.

    Of several roots, and of a circle, all arcs are, but confirmed ones stay if the others are
    enough.
    """
    heads = [arc.head for arc in arcs]
    found: dict[int, str] = {}
    for fault in tree_faults(heads):
        loose = [word for word in fault.words if not arcs[word - 1].head_by]
        n_firm = len(fault.words) - len(loose)
        are_roots = heads[fault.words[0] - 1] == 0
        is_enough = bool(loose) and (n_firm < 2 or not are_roots)
        found |= dict.fromkeys(loose if is_enough else fault.words, fault.text)
    return found


class CircleError(VdgiError):
    """Fixed arcs form a circle."""

    def __init__(self, words: Sequence[int]) -> None:
        self.words = tuple(words)
        super().__init__(
            f"the words {', '.join(map(str, words))} would form a circle of confirmed arcs"
        )


def mended(heads: Sequence[int], fixed: Sequence[bool]) -> tuple[int, ...]:
    """A tree, as far as heads (n,) are set, with all fixed arcs and few of the others changed.

    Of several roots a fixed one stays, or else the first. In a circle, a word that is not fixed is
    attached to the root, or becomes the root if there is none.

    Raises:
        CircleError: fixed arcs form a circle.
        ValueError: two roots are fixed.

    >>> mended((2, 1, 2), (True, False, False)), mended((0, 0, 1), (False, True, False))
    ((2, 0, 2), (2, 0, 1))
    """
    found = list(heads)
    roots = [word for word, head in enumerate(found, 1) if head == 0]
    chosen = [word for word in roots if fixed[word - 1]]
    if len(chosen) > 1:
        raise ValueError(f"the words {chosen} are fixed as roots")
    root = (chosen or roots or [0])[0]
    for word in roots:
        if word != root:
            found[word - 1] = root
    while circle := cycle(found):
        loose = [word for word in circle if not fixed[word - 1]]
        if not loose:
            raise CircleError(circle)
        found[loose[0] - 1] = root
        root = root or loose[0]
    return tuple(found)


def with_punctuation(
    bare: Sequence[int],
    positions: Sequence[int],
    heads: Sequence[int],
    fixed: Sequence[bool],
    forms: Sequence[str],
) -> tuple[int, ...]:
    """Heads (n,) of all words; `bare` are those of the words at `positions`, numbered without the
    others.

    Fixed arcs of `heads` (n,) stay, also those of punctuation; arcs that are not fixed give way.
    """
    number = {0: 0, **{position: k for k, position in enumerate(positions, 1)}}
    firm = [fixed[p - 1] and heads[p - 1] in number for p in positions]
    known = [number[heads[p - 1]] if f else b for p, b, f in zip(positions, bare, firm)]
    restored = restore_punctuation(mended(known, firm), positions, forms)
    return mended([h if f else r for r, h, f in zip(restored, heads, fixed)], fixed)


def read_marked(path: AnyPath) -> list[MarkedSentence]:
    """The sentences of a file, with its heads, relations and marks; UPOS may be missing.

    Arcs that cannot be in one tree are open. Raises: DataError, the file is malformed.
    """
    # Repairs are ignored because the session writes the file in order.
    found = reading.read(path, heads="unchecked", tags=KNOWN, on_repair=ignore)
    return [MarkedSentence.of(sentence, number) for number, sentence in enumerate(found)]


def read_text(text: str, name: str) -> list[MarkedSentence]:
    """The sentences of CoNLL-U as `block` writes it. Raises: DataError, as `read_marked`."""
    blocks = blocks_in(text, name)
    sentences = (reading.sentence_of(block, "unchecked", KNOWN, ignore) for block in blocks)
    return [MarkedSentence.of(sentence, number) for number, sentence in enumerate(sentences)]


def state_in(text: str, source: Source) -> SentenceState:
    """The state that a block of a sentence with these lines gives. Raises: LookupError, ValueError."""
    lines = text.rstrip("\n").split("\n")
    n_more = _n_comments(lines) - _n_comments(source.lines)
    arcs, columns = zip(*(_parts(lines[row + n_more].split("\t")) for row in source.rows))
    return SentenceState(arcs, columns, tuple(lines[: _n_comments(lines)]))


def _state_of(source: Source) -> SentenceState:
    arcs, columns_of = zip(*(_parts(source.lines[row].split("\t")) for row in source.rows))
    return SentenceState(arcs, columns_of, source.lines[: _n_comments(source.lines)])


def _parts(row: Sequence[str]) -> tuple[MarkedArc, MarkedColumns]:
    """What the columns of a word say, marks apart."""
    _, _, lemma, upos, xpos, feats, head, label, _, misc, *_ = row
    marks = dict.fromkeys(MARKS, "")
    if "By=" in misc:
        parts = []
        for part in misc.split("|"):
            key, sign, name = part.partition("=")
            if key + sign in marks:
                marks[key + sign] = name
            else:
                parts.append(part)
        misc = "|".join(parts) or NOTHING
    head_by, label_by, *by = marks.values()
    is_there = head != NOTHING
    arc = MarkedArc(
        int(head) if is_there else UNSET, label, head_by, label_by if label != NO_LABEL else ""
    )
    return arc if is_there else _headless(arc), MarkedColumns(lemma, upos, feats, misc, xpos, *by)


def _n_comments(lines: Sequence[str]) -> int:
    return next((k for k, line in enumerate(lines) if not line.startswith("#")), len(lines))


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
            head = str(arc.head) if is_there else NOTHING
            columns[6:8] = (
                head,
                arc.label if is_there or (shows_heads and arc.label_by) else NO_LABEL,
            )
        elif number in marked.opened:
            columns[6:8] = NOTHING, NOTHING
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
            columns[9] = "|".join([word.misc] * (word.misc != NOTHING) + marks) or NOTHING
        lines[row] = "\t".join(columns)
    comments = state.comments
    if not has_marks:
        comments = tuple(
            [
                c
                for c in comments
                if not IS_FLAG.fullmatch(c) and not guess_marks.COMMENT.fullmatch(c)
            ]
        )
    return "\n".join([*comments, *lines[_n_comments(lines) :]]) + "\n\n"


def as_written(marked: MarkedSentence, state: SentenceState | None = None) -> str:
    """The sentence as its file has it in a state: its own lines if nobody has said more than they
    do."""
    state = marked.state if state is None else state
    if marked.is_found and marked.is_as_found(state):
        return "\n".join(marked.source.lines) + "\n\n"
    return block(marked, state)


def write_marked(sentences: Iterable[MarkedSentence], path: AnyPath, form: Form = "file") -> None:
    """Writes a file atomically. Raises: UsageError, it cannot be written."""
    with atomic_writer(path) as handle:
        handle.writelines(
            with_headers((block(marked, form=form), marked.source.extra) for marked in sentences)
        )
