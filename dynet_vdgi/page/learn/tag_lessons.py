"""Learning to tag: from tags of the file and of the person, or a tagger's to begin with. Sentences
have their punctuation; words that nobody has tagged have `_`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.page.learn.arc_lessons import SENTENCES_AHEAD
from dynet_vdgi.page.text.guesses import TagGuess
from dynet_vdgi.page.text.sentence_state import NO_VALUE
from dynet_vdgi.parser.steps import step_file
from dynet_vdgi.words.tagger.tagger import Tagger

FEWEST_TAGGED = 15
"""Tagged words from which a tagger is learnt."""

MOST_SENTENCES = 600
"""Sentences learnt from: more would take minutes. Of a longer text, every second, third and so on,
besides the sentences that a person has tagged."""

MOST_TEACHING = 300
"""Sentences tagged by the first tagger that the next ones learn from, besides what a person has
said."""

SHORTEST_TAGGED, LONGEST_TAGGED = 3, 30
"""Words of the sentences that are chosen for their doubtful tags."""


class TagLesson(NamedTuple):
    """The results of learning to tag."""

    guesses: dict[int, TagGuess]  # of sentences with words that have no tag
    next_ones: list[int]  # those whose tags are the most doubtful
    n_words: int  # learnt from


def learn_tags(
    sentences: Mapping[int, Sentence], by_person: Iterable[int], first: Tagger | None = None
) -> Tagger | None:
    """A tagger, learnt from all words that have a tag; None: there are too few.

    `by_person` are the sentences, by id, with tags by a person. `first` tags sentences without any
    tag, which teach, too.
    """
    wanted = {k for k in by_person if k in sentences}
    tagged = [k for k, one in sentences.items() if any(tag != NO_VALUE for tag in one.tags)]
    others = [k for k in tagged if k not in wanted]
    room = max(1, MOST_SENTENCES - len(wanted))
    step = max(1, -(-len(others) // room))
    chosen = [k for k in tagged if k in wanted] + others[::step]
    text = [sentences[k] for k in chosen]
    untagged = [one for k, one in sentences.items() if k not in {*chosen}]
    if first is not None:
        teaching = [one for one in untagged if all(tag == NO_VALUE for tag in one.tags)]
        text += first.predict(teaching[:MOST_TEACHING])
    if sum(tag != NO_VALUE for one in text for tag in one.tags) < FEWEST_TAGGED:
        return None
    return Tagger().fit(text, raw=untagged[: 2 * MOST_SENTENCES])


def tag_guesses(tagger: Tagger, sentences: Mapping[int, Sentence]) -> dict[int, TagGuess]:
    """What the tagger says of the sentences in which a word has no tag; given tags have the
    probability 1."""
    wanted = [k for k, one in sentences.items() if NO_VALUE in one.tags]
    guesses = {}
    for k, (one, chances, _) in zip(wanted, tagger.stream([sentences[k] for k in wanted])):
        sure = tuple([1.0 if p is None else p for p in chances])
        guesses[k] = TagGuess(one.tags, sure, one.lemmas, one.xpos, one.feats, one.soft)
    return guesses


class TagLessons:
    """What has been learnt about tags in a session; `path`: the file of a tagger to begin with."""

    def __init__(self, path: str | None = None) -> None:
        self.first = Tagger.load(*step_file("tagger", path)) if path is not None else None
        self.tagger = self.first

    def learn(
        self,
        sentences: Mapping[int, Sentence],
        by_person: Sequence[int],
        count: int = SENTENCES_AHEAD,
    ) -> tuple[TagLesson, Tagger] | None:
        """Learns again if there is anything to learn from; None: there is no tagger yet.

        `by_person` are the sentences, by id, with tags by a person.
        """
        if by_person or self.first is None:
            self.tagger = learn_tags(sentences, by_person, self.first) or self.tagger
        if self.tagger is None:
            return None
        guesses = tag_guesses(self.tagger, sentences)
        means = {}
        for k, guess in guesses.items():
            if SHORTEST_TAGGED <= len(guess.tags) <= LONGEST_TAGGED:
                means[k] = sum(guess.chances) / len(guess.chances)
        doubtful = sorted(means, key=lambda k: means[k])
        return TagLesson(guesses, doubtful[:count], self.tagger.n_words), self.tagger
