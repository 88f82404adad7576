"""Plain functions: the page's program calls them in other processes, a simulation in its own.
Sentences are without punctuation; unconfirmed heads are FREE.

Letters: n words.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.conllu.tree_faults import FREE
from dynet_vdgi.errors import UsageError
from dynet_vdgi.inference import eisner
from dynet_vdgi.page.text.guesses import Guess
from dynet_vdgi.page.text.tree_mending import mended_tree
from dynet_vdgi.parser import given_heads
from dynet_vdgi.parser.choosing import choose
from dynet_vdgi.parser.confidence import shift_probabilities
from dynet_vdgi.relations.label_table import load as load_labels
from dynet_vdgi.relations.labeller import Labeller
from dynet_vdgi.rule_tables.facts import load_facts
from dynet_vdgi.rule_tables.prior import Prior
from dynet_vdgi.rule_tables.rules import RuleSet, load_rules
from dynet_vdgi.rule_tables.word_orders import Fact
from dynet_vdgi.settings.bundled import rules_path
from dynet_vdgi.settings.presets import Presets, in_recipe, load_settings
from dynet_vdgi.system.array_types import Floats
from dynet_vdgi.training.few_trees import SHORTEST, FewTrees, FewTreesSettings
from dynet_vdgi.training.taught import teacher_of_kind
from dynet_vdgi.unsupervised.teacher import Base

PRESET = "universal-trees"
"""How the page learns by default: from a universal parser and a rule table."""

MOST_TEXT = 2000
"""Number of sentences used without trees; of a longer file every second, third and so on."""

MOST_NEW = 0.05
"""Share of the words that may change before the knowledge about the text is gathered again."""

SENTENCES_AHEAD = 50
"""Number of sentences that are chosen in advance."""

LONGEST_EXACT = 60
"""Words of the longest sentence that is parsed in cubic time while somebody waits."""

STUDENT, HELD = 2.0, 4.0
"""Nats for the arcs of the linear-time parser, and for arcs before a corrected word: people correct
from the first word to the last, so that the heads they have passed are more often right."""

RATE = 0.05
"""Learning rate of the one step that confirmed arcs cause at once in their own sentence."""


@dataclass(frozen=True, eq=False)
class Course:
    """Settings of learning: the recipe few-trees, with a rule table and with facts about the
    language."""

    settings: FewTreesSettings
    rules: RuleSet
    facts: Mapping[str, Fact] = field(default_factory=dict)

    @classmethod
    def of(
        cls, preset: Presets = PRESET, rules: str | None = None, facts: str | None = None
    ) -> Course:
        """Reads a preset, and the files of a rule table and of facts.

        Raises: UsageError, the preset is for another kind of parser; ConfigError, a file is at
        fault.
        """
        changes = {} if rules is None else {"rules": rules}
        settings = load_settings(preset, changes=changes)
        if settings.recipe in ("taught", "universal"):
            settings = in_recipe("few-trees", settings, changes)
        if not isinstance(settings, FewTreesSettings):
            message = (
                "the page's parser learns from a few trees: use --preset universal-trees, or best"
            )
            raise UsageError(message)
        table = load_rules(rules_path(settings.rules))
        return cls(settings, table, load_facts(facts, table) if facts else {})


@dataclass(frozen=True, eq=False)
class Knowledge:
    """The knowledge about a text before anybody has confirmed anything."""

    course: Course
    text: list[Sentence]  # of 2 to 40 words, unless the settings say otherwise
    prior: Prior
    base: Base  # from which the parser's CRF starts
    votes: list[Floats]  # (n + 1, n) for each sentence of the text


def knowledge_of(sentences: Sequence[Sentence], course: Course | None = None) -> Knowledge | None:
    """The knowledge from a text; None: no sentence is within the length limits.

    At most `MOST_TEXT` sentences are used, to bound the time.
    """
    course = course or Course.of()
    longest = course.settings.data.max_len
    usable = [
        replace(s, heads=None, deprels=()) for s in sentences if SHORTEST <= len(s) <= longest
    ]
    text = usable[:: -(-len(usable) // MOST_TEXT)] if usable else []
    if not text:
        return None
    prior = Prior.of_text(course.rules, text, course.facts)
    teacher = teacher_of_kind(course.settings.teacher, course.settings.seed).fit(text, prior)
    return Knowledge(course, text, prior, teacher.start(text, prior), teacher.marginals(text))


@dataclass(frozen=True, eq=False)
class Learnt:
    """A parser with labels."""

    parser: FewTrees
    labeller: Labeller

    def guesses(self, sentences: Sequence[Sentence]) -> list[Guess]:
        """The trees of many sentences; they contain the confirmed heads if such trees exist."""
        free = [replace(s, heads=None, deprels=()) for s in sentences]
        parsed = self.parser.confidences(free)
        trees = [tree for tree, _ in parsed]
        for k, sentence in enumerate(sentences):
            heads = sentence.heads or ()
            if any(head != FREE for head in heads) and given_heads.conflict(heads) is None:
                trees[k] = self.parser.predict([sentence], keep_heads=True)[0]
        labelled = self.labeller.predict(trees)
        return [
            Guess(tree.heads or (), tree.deprels, tuple(sure.tolist()))
            for tree, (_, sure) in zip(labelled, parsed)
        ]

    def likely(self, tree: Sentence) -> list[list[tuple[str, float]]]:
        """The most probable relations of each word of a tree, the best first."""
        return self.labeller.likely_relations(tree)

    def guess(self, sentence: Sentence, shown: Sequence[int] = (), corrected: int = 0) -> Guess:
        """The best tree of a sentence that contains the confirmed heads.

        If the word numbered `corrected` has just got another head, the `shown` heads (n,) of the
        words before it stay if possible. Confirmed arcs that cross are all in the tree, too.
        """
        heads = sentence.heads or (FREE,) * len(sentence)
        if len(sentence) > LONGEST_EXACT:
            guess = self.guesses([replace(sentence, heads=None)])[0]
            tree, probabilities = guess.heads, np.array(guess.sure)
        else:
            given = replace(sentence, heads=_compatible_heads(heads))
            tree, probabilities = self._exact_tree(given, shown[: max(0, corrected - 1)])
        whole = [t if h == FREE else h for t, h in zip(tree, heads)]
        tree = mended_tree(whole, [h != FREE for h in heads])
        labelled = self.labeller.predict([replace(sentence, heads=tree, deprels=())])[0]
        return Guess(tree, labelled.deprels, tuple(probabilities.tolist()))

    def _exact_tree(self, given: Sentence, held: Sequence[int]) -> tuple[tuple[int, ...], Floats]:
        """A tree that contains the given heads, and the CRF's probabilities (n,) of its heads.

        The tree maximises the expected number of right heads after the CRF's scores are raised for
        the held heads, those of the first words, and, if there is a student, for its tree around
        all these, because it sees features that the CRF does not.
        """
        heads = given.heads or ()
        scores = self.parser.crf.scores_after(given, RATE)
        probabilities = eisner.marginals(eisner.constrained_scores(scores, heads))
        if self.parser.student is not None:
            firm = [h if h != FREE else before for h, before in zip(heads, held)]
            around = _compatible_heads([*firm, *heads[len(held) :]])
            (parsed,) = self.parser.predict([replace(given, heads=around)], keep_heads=True)
            _favour(scores, parsed.heads or (), STUDENT)
        _favour(scores, held, HELD)
        tree = eisner.expected_best(
            eisner.marginals(eisner.constrained_scores(scores, heads)), heads
        )
        shift = self.parser.calibration.shift if self.parser.calibration else 0.0
        return tree, shift_probabilities(probabilities[list(tree), range(len(tree))], shift)


def _favour(scores: Floats, heads: Sequence[int], nats: float) -> None:
    """Raises the scores (n + 1, n + 1) of the heads of the first words that have one."""
    for d, head in enumerate(heads, 1):
        if head >= 0:
            scores[head, d] += nats


def _compatible_heads(heads: Sequence[int]) -> tuple[int, ...]:
    """The given heads (n,), from the first on, that one projective tree can contain together."""
    if given_heads.conflict(heads) is None:
        return tuple(heads)
    possible = [FREE] * len(heads)
    for k, head in enumerate(heads):
        possible[k] = head
        if head != FREE and given_heads.conflict(possible) is not None:
            possible[k] = FREE
    return tuple(possible)


def learn(knowledge: Knowledge, confirmed: Sequence[Sentence]) -> Learnt:
    """Learns from the text and from confirmed arcs; other heads are FREE, and relations "_"."""
    taught = [s for s in confirmed if any(head != FREE for head in s.heads or ())]
    settings = knowledge.course.settings
    parser = settings.learner().fit(knowledge.text, taught, knowledge.base, knowledge.votes)
    labeller = Labeller(load_labels(), log_p=knowledge.base.log_p)
    short = [s for s in taught if len(s) <= settings.crf.max_len]
    return Learnt(parser, labeller.fit(short, verb_order=knowledge.prior.text.verb_order))


class Lesson(NamedTuple):
    """The results of learning."""

    guesses: dict[int, Guess]  # of sentences that are not done
    next_ones: list[int]  # the most useful to correct
    seconds: float


class Lessons:
    """The text of a session, and knowledge about it, gathered again when enough of the text is
    another."""

    def __init__(self, course: Course | None = None) -> None:
        self._course = course
        self._sentences: Mapping[int, Sentence] = {}
        self._knowledge: Knowledge | None = None
        self._n_new = 0  # words since then

    def learn(
        self,
        confirmed: Mapping[int, Sentence],
        done: Collection[int],
        sentences: Mapping[int, Sentence],
    ) -> tuple[Lesson, Learnt] | None:
        """Guesses for the unfinished sentences, and the model that made them; None: there is no
        text.

        `confirmed` has the sentences with confirmed arcs, `done` the finished ones.
        """
        start = time.perf_counter()
        self._n_new += sum(
            len(one) for k, one in sentences.items() if self._sentences.get(k) != one
        )
        self._sentences = sentences
        if self._knowledge is None or self._n_new > MOST_NEW * sum(map(len, sentences.values())):
            self._knowledge = knowledge_of(list(sentences.values()), self._course)
            self._n_new = 0
        if self._knowledge is None:
            return None
        learnt = learn(self._knowledge, list(confirmed.values()))
        left = [k for k, one in sentences.items() if k not in done and len(one)]
        given = [confirmed.get(k, sentences[k]) for k in left]
        guesses = dict(zip(left, learnt.guesses(given)))
        return Lesson(guesses, next_ones(sentences, guesses), time.perf_counter() - start), learnt


def next_ones(
    sentences: Mapping[int, Sentence], guesses: Mapping[int, Guess], count: int = SENTENCES_AHEAD
) -> list[int]:
    """The ids of sentences to correct next, the most useful first; one without a guess is done."""
    ids = list(guesses)
    chosen = choose(
        [sentences[k] for k in ids],
        count,
        confidences=[guesses[k].sure for k in ids] if ids else None,
        corrected=[one for k, one in sentences.items() if k not in guesses],
    )
    return [ids[k] for k in chosen]
