"""A sentence with a person's statements about its words, and with guesses about the rest.

A word has a number for life (`wids`) and a place, which changes when words are split and joined:
1..n, what CoNLL-U calls ID and HEAD refers to.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dynet_vdgi.conllu.punctuation import heads_without, without_punctuation
from dynet_vdgi.conllu.sentence import Sentence, Source
from dynet_vdgi.page.text.guesses import (
    NO_TAGS,
    ColumnGuesses,
    Guess,
    Recalled,
    TagGuess,
    columns_with_guesses,
)
from dynet_vdgi.page.text.sentence_state import (
    GUESSED_COLUMNS,
    IS_FLAG,
    NO_LABEL,
    NO_VALUE,
    UNSET,
    MarkedArc,
    MarkedColumns,
    SentenceState,
    confirmed_parts,
    has_arc_marks,
    headless_arc,
    is_missing,
    is_undescribed,
    state_of,
)
from dynet_vdgi.page.text.tree_mending import conflicts, tree_with_punctuation


@dataclass(eq=False)
class _ShownWords:
    """What is shown of a sentence's words, kept until something that it is made of changes.

    `made_of` are the columns of the state and, if there are guesses, these. Each is replaced as a
    whole, never changed, so that what is shown is up to date as long as they are the same objects.
    """

    made_of: tuple[object, ...]
    columns: tuple[MarkedColumns, ...]
    # the words without punctuation and their places, once they are asked for
    without_punctuation: tuple[Sentence, tuple[int, ...]] | None = None

    def is_made_of(self, things: tuple[object, ...]) -> bool:
        """Whether it is made of these very objects."""
        if len(things) != len(self.made_of):
            return False
        return all(thing is old for thing, old in zip(things, self.made_of))


@dataclass(eq=False)
class MarkedSentence:
    """One sentence; `edits` counts a person's changes, `version` these and changed guesses.

    Assign `state`, `guessed_tags`, `recalled` and `column_guesses` anew and never change them in
    place: see `_ShownWords`.
    """

    id: int
    wids: tuple[int, ...]
    source: Source  # as in the file
    forms: tuple[str, ...]
    first: SentenceState  # as in the file
    state: SentenceState
    guessed_tags: TagGuess = NO_TAGS  # for words without UPOS
    recalled: Recalled = field(default_factory=dict)  # see `put_recalled`
    column_guesses: ColumnGuesses = field(default_factory=dict)  # see `put_guesses`
    # probability of each head; None for punctuation, () before a parse
    sure: tuple[float | None, ...] = ()
    edits: int = 0
    version: int = 0
    is_worked_on: bool = False  # a person has changed arcs, even if all was undone
    was_done: bool = False  # a person has seen it finished: what is missing is meant to be missing
    is_from_file: bool = True  # otherwise `source` was made when words were cut or joined
    # who said that the tree is right as it is in the file, which has no marks of it
    given: str = ""
    opened: Mapping[int, str] = field(default_factory=dict)  # see `conflicts`
    _shown: _ShownWords | None = None  # see `_shown_words`

    @classmethod
    def of(cls, sentence: Sentence, number: int = 0) -> MarkedSentence:
        """The initial state of a sentence, read with heads "unchecked".

        Arcs that no tree can have are open.
        """
        assert sentence.source is not None
        state = state_of(sentence.source)
        heads = [arc.head for arc in state.arcs]
        n_marked = sum(bool(arc.head_by) for arc in state.arcs)
        is_nothing = len(heads) > 1 and not any(heads)  # 0 for every word is no tree
        opened = conflicts(state.arcs) if not is_nothing or n_marked > 1 else {}
        arcs = tuple(
            [headless_arc(arc) if word in opened else arc for word, arc in enumerate(state.arcs, 1)]
        )
        state = state._replace(arcs=arcs)
        words = tuple(range(1, len(sentence) + 1))
        marked = cls(number, words, sentence.source, sentence.forms, state, state, opened=opened)
        if any(word.upos == NO_VALUE for word in state.columns):
            marked.guessed_tags = TagGuess.of_marks(sentence.forms)
        if UNSET in heads or is_nothing:
            marked._drop_guesses()
        is_tree = not (UNSET in heads or is_nothing or opened)
        if not is_tree and not marked.positions:  # no guess will give it a tree
            marked.put(Guess((), (), ()))
        marked._attach_punctuation()
        return marked

    def _drop_guesses(self) -> None:
        """Drops unconfirmed heads, and relations unless they are confirmed."""
        self.arcs = tuple([arc if arc.head_by else headless_arc(arc) for arc in self.arcs])

    def _attach_punctuation(self) -> None:
        """Guesses heads of opened punctuation where all other words have heads:
        nothing else would."""
        bare = self.shown_heads()
        if not self.opened or UNSET not in self.heads or UNSET in bare or bare.count(0) != 1:
            return
        firm = [head != UNSET for head in self.heads]
        heads = tree_with_punctuation(bare, self.positions, self.heads, firm, self.forms)
        arcs = []
        for arc, head in zip(self.arcs, heads):
            arcs.append(MarkedArc(head, "punct") if arc.head == UNSET else arc)
        self.arcs = tuple(arcs)

    @property
    def has_tree_without_marks(self) -> bool:
        """True if the file has heads, which nobody has confirmed; 0 for every word is none."""
        heads = {arc.head for arc in self.first.arcs} - {UNSET}
        is_tree = bool(heads) and (heads != {0} or len(self) == 1)
        return (is_tree or bool(self.opened)) and not has_arc_marks(self.first)

    def take_as_right(self, by: str) -> None:
        """Confirms what the file has of a tree, punctuation too, but no opened arc."""
        self.given = by
        self.arcs = self.file_state.arcs
        self._drop_guesses()
        self._attach_punctuation()

    @property
    def file_state(self) -> SentenceState:
        """The state that the file's lines stand for."""
        if not self.given:
            return self.first
        arcs = []
        for arc in self.first.arcs:
            head_by = "" if arc.head == UNSET else self.given
            label_by = "" if arc.label == NO_LABEL else head_by
            arcs.append(arc._replace(head_by=head_by, label_by=label_by))
        return self.first._replace(arcs=tuple(arcs))

    def is_file_state(self, state: SentenceState) -> bool:
        """Whether a state says what the file's lines say; guesses aside."""
        first = self.file_state
        return state[1:] == first[1:] and confirmed_parts(state.arcs) == confirmed_parts(first.arcs)

    def __len__(self) -> int:
        return len(self.forms)

    def _shown_words(self) -> _ShownWords:
        """What is shown of the words now, made again only where something that it is made of has
        been replaced."""
        columns, guess = self.state.columns, self.guessed_tags
        made_of = (columns, guess, self.recalled, self.column_guesses) if guess.tags else (columns,)
        if self._shown is None or not self._shown.is_made_of(made_of):
            if guess.tags:
                columns = columns_with_guesses(
                    columns, self.wids, guess, self.recalled, self.column_guesses
                )
            self._shown = _ShownWords(made_of, columns)
        return self._shown

    @property
    def columns(self) -> tuple[MarkedColumns, ...]:
        """The columns with the tagger's guesses for words whose UPOS is not the file's."""
        return self._shown_words().columns

    @property
    def tags(self) -> tuple[str, ...]:
        """UPOS, or the tagger's guess for words that have none."""
        return tuple([word.upos for word in self.columns])

    @property
    def sentence(self) -> Sentence:
        """The words with their present tags, lemmas and features, without heads; guesses say how
        sure they are."""
        soft = self.guessed_tags.soft
        if soft is None or len(soft.chances) != len(self):
            return self._sentence_with(self.columns)
        settled = []  # words whose tag is not the tagger's guess
        for k, (guess, shown) in enumerate(zip(self.guessed_tags.tags, self.columns)):
            if self.state.columns[k].upos != NO_VALUE or shown.upos != guess:
                settled.append((k, shown.upos, shown.feats))
        return replace(self._sentence_with(self.columns), soft=soft.with_certain_tags(settled))

    @property
    def sentence_without_guesses(self) -> Sentence:
        """The words as somebody has tagged them; the others have no tag."""
        columns = []
        for word, shown in zip(self.state.columns, self.columns):
            columns.append(word if word.upos == NO_VALUE else shown)
        return self._sentence_with(columns)

    def _sentence_with(self, columns: Sequence[MarkedColumns]) -> Sentence:
        return Sentence(
            self.forms,
            tuple([word.upos for word in columns]),
            lemmas=_column_or_none([word.lemma for word in columns]),
            xpos=_column_or_none([word.xpos for word in columns]),
            feats=_column_or_none([word.feats for word in columns]),
        )

    @property
    def bare_sentence(self) -> Sentence:
        """The words without punctuation, heads and relations."""
        return self._words_without_punctuation()[0]

    @property
    def positions(self) -> tuple[int, ...]:
        """The places of the words of `bare_sentence`."""
        return self._words_without_punctuation()[1]

    def _words_without_punctuation(self) -> tuple[Sentence, tuple[int, ...]]:
        shown = self._shown_words()
        if shown.without_punctuation is None:
            shown.without_punctuation = without_punctuation(self.sentence)
        return shown.without_punctuation

    @property
    def is_tagged(self) -> bool:
        """True if every word has UPOS, or a guess."""
        return NO_VALUE not in self.tags

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
        """True if every word has a tag, and all words `words_to_confirm` are confirmed."""
        arcs = self.arcs
        if not any(arc.head_by for arc in arcs) and self.positions:
            return False
        is_confirmed = all(
            arcs[p - 1].head_by and arcs[p - 1].label_by for p in self.words_to_confirm
        )
        return is_confirmed and all(word.upos != NO_VALUE for word in self.state.columns)

    @property
    def words_to_confirm(self) -> Sequence[int]:
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
        """True if somebody has worked on the whole tree:
        then only some changes cause a new parse."""
        return (self.is_worked_on or self.is_touched) and UNSET not in self.heads

    def confirmed_sentence(self) -> Sentence:
        """The words without punctuation; unconfirmed heads are UNSET and relations "_"."""
        arcs = [self.arcs[p - 1] for p in self.positions]
        heads = tuple([h if arc.head_by else UNSET for h, arc in zip(self.shown_heads(), arcs)])
        labels = tuple([arc.label if arc.label_by else NO_LABEL for arc in arcs])
        return replace(self.bare_sentence, heads=heads, deprels=labels)

    def shown_heads(self) -> tuple[int, ...]:
        """The present heads of the words that are not punctuation."""
        return heads_without(self.heads, self.positions)

    def put(self, guess: Guess) -> None:
        """Adopts a guess for everything that is not confirmed."""
        heads = tree_with_punctuation(
            guess.heads, self.positions, self.heads, self.fixed, self.forms
        )
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

    def guess_with_tags_shown(self, guess: TagGuess) -> TagGuess:
        """A guess that changes nothing that is shown,
        but says something of words without any tag."""
        unknown = (NO_VALUE, 0.0, NO_VALUE, NO_VALUE, NO_VALUE)
        old_words = self.guessed_tags.words or [unknown] * len(self)
        words = []
        for tag, old, new in zip(self.tags, old_words, guess.words):
            words.append(new if tag == NO_VALUE else old)
        return self.guessed_tags if words == old_words else TagGuess.of_words(words)

    def put_recalled(self, new: Recalled) -> bool:
        """Adopts tags and other columns in place of the tagger's, by word id; returns whether that
        shows."""
        before = self.columns
        self.recalled = new
        is_new = self.columns != before
        self.version += is_new
        return is_new

    def is_undescribed(self, place: int) -> bool:
        """Whether nobody has said anything of the tag and features of the word at a place,
        from 0."""
        return is_undescribed(self.state.columns[place])

    def put_guesses(self, new: ColumnGuesses) -> None:
        """Adopts XPOS, FEATS and lemmas ("": none) of words, each for what `guess_key` gives of a
        word now."""
        if new:
            self.column_guesses = {**self.column_guesses, **new}
            self.version += 1

    def guess_key(self, place: int) -> tuple[Any, ...]:
        """What guesses about the word at a place, from 0, are about: its tag, and its own XPOS and
        FEATS."""
        word = self.state.columns[place]
        return place, self.columns[place].upos, word.xpos, word.feats

    def is_to_be_guessed(self, place: int) -> bool:
        """Whether a person has set something of a word, and not all."""
        word = self.state.columns[place]
        if self.was_done or not (word.tag_by or word.feats_by or word.xpos_by):
            return False
        return any(is_missing(word, name) for name in GUESSED_COLUMNS)

    @property
    def is_flagged(self) -> bool:
        """True if somebody wants to look at the sentence again."""
        return any(IS_FLAG.fullmatch(line) for line in self.state.comments)

    def comment(self, key: str) -> str:
        """The value of the first comment `# key = value`; "" without one. `key` is a regular
        expression."""
        for line in self.state.comments:
            if match := re.fullmatch(rf"#\s*{key}\s*=\s*(.*?)\s*", line):
                return match[1]
        return ""

    @property
    def sent_id(self) -> str:
        """Its name among the comments; "" without one."""
        return self.source.sent_id or ""


def _column_or_none(values: Sequence[str]) -> tuple[str, ...]:
    """A column of a sentence; () if no word has a value in it."""
    return tuple(values) if any(value != NO_VALUE for value in values) else ()
