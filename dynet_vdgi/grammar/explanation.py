"""What rules say of trees: each part's share in an arc, and expectations counted in gold trees.

How much each part of a rule table contributes to the arcs of a sentence, and how parts read its words.

Contributions follow the order of the table: from the first line to the last, each part adds its change to
the result of all parts before it. So their sum is `Prior.potentials`, and an exception is charged with the
difference from the rule that it is an exception to.

Letters: n words.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dynet_vdgi.data import conllu, corpus, files
from dynet_vdgi.data import sentence as protocols
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.errors import DataError
from dynet_vdgi.grammar import chart
from dynet_vdgi.grammar.prior import Prior
from dynet_vdgi.grammar.rules import RuleSet, parse_rules
from dynet_vdgi.grammar.table import ORDERS, ROOT, Fact, Rule, value_as_written
from dynet_vdgi.grammar.views import SideBySide
from dynet_vdgi.system.arrays import Floats
from dynet_vdgi.system.names import aligned, count

RULES, DISTANCE = "rules", "short arcs"
"""The name for the whole of a rule file without parts."""

COMPARED = 300
"""Sentences examined for the changes that a fact makes."""

BARRED = 1e6
"""Subtracted from a forbidden arc: more than the score of any tree."""


@dataclass(frozen=True)
class Reading:
    """A word, 1..n, that a part reads as another tag or gives another symbol for the dependency model."""

    word: int
    part: str
    tag: str  # "" if unchanged
    symbol: str

    def __str__(self) -> str:
        return f"read as {self.tag}" if self.tag else f"symbol {self.symbol}"


class Alternative(NamedTuple):
    """A word's head in a tree, and the head it would have without this arc; -1: there is no other."""

    word: int
    head: int
    other: int


class PartByPart:
    """The separate contributions of a prior's parts."""

    def __init__(self, prior: Prior) -> None:
        self.prior = prior
        rules = prior.rules
        if rules.table is None:
            self._growing = [(RULES, Prior(rules, prior.text, 0.0)), (DISTANCE, prior)]
        else:
            self._growing = [
                (part.name, Prior(replace(some, table=replace(some.table, settings=())), prior.text))
                for part, some in rules.growing()
                if some.table  # it always has one
            ]

    def additions(self, sentence: Sentence) -> dict[str, Floats]:
        """The contribution of each part, if any, to the log-potentials (n + 1, n + 1), in order."""
        view = self.prior.view(sentence)
        whole = np.zeros((view.n + 1, view.n + 1))
        found: dict[str, Floats] = {}
        for part, prior in self._growing:
            grown = prior.by_tags(view)
            found[part], whole = grown - whole, grown
        for setting, added in self.prior.additions(view):
            found[self.prior.rules.part_at(setting.line).name] += added
        return {part: added for part, added in found.items() if np.abs(added[:, 1:]).max(initial=0.0) > 1e-9}

    def readings(self, sentence: Sentence) -> list[Reading]:
        """The parts' readings of the sentence's words, in the order of reading."""
        view, found = self.prior.unread(sentence), []
        tags, symbols = list(view.read), list(view.symbols)
        for setting in self.prior.reading(SideBySide([view])):
            part = self.prior.rules.part_at(setting.line).name
            for k in range(view.n):
                if view.read[k] != tags[k] or view.symbols[k] != symbols[k]:
                    word = view.n - k if self.prior.statistics.is_mirrored else k + 1
                    tag = view.read[k] if view.read[k] != tags[k] else ""
                    found.append(Reading(word, part, tag, view.symbols[k]))
            tags, symbols = list(view.read), list(view.symbols)
        return found


def alternatives(potentials: Floats, heads: Sequence[int]) -> list[Alternative]:
    """The heads of a tree, and the heads in the best trees without each of its arcs."""
    found = []
    for word, head in enumerate(heads, 1):
        without = potentials.copy()
        without[head, word] -= BARRED
        other = chart.best(without)[word - 1]
        found.append(Alternative(word, head, other if other != head else -1))
    return found


def idle_facts(rules: RuleSet, text: Sequence[Sentence], facts: Mapping[str, Fact]) -> list[str]:
    """Messages about facts whose removal would change neither the potentials nor the symbols of the text.

    For a long text, its first COMPARED sentences decide.
    """
    if not facts:
        return []
    expected = _seen(Prior.of_text(rules, text, facts), text)
    where = f"the first {COMPARED} sentences of this text" if len(text) > COMPARED else "this text"

    def changes(others: Mapping[str, Fact]) -> bool:
        seen = _seen(Prior.of_text(rules, text, others), text)
        return any(
            symbols != before or not np.allclose(potentials, old)
            for (potentials, symbols), (old, before) in zip(seen, expected)
        )

    idle = []
    for name, fact in facts.items():
        if changes({other: facts[other] for other in facts if other != name}):
            continue
        if not fact.cases:
            why = "it is worth 0 cases"
        elif any(changes({**facts, name: Fact(value, fact.cases)}) for value in {0.0, 1.0} - {fact.value}):
            why = "the text already shows this" + (" order" if name in ORDERS else "")
        else:
            why = f"no arc and no symbol in {where} depends on it"
        idle.append(f"'{name} = {value_as_written(name, fact)}' has no effect: {why}")
    return idle


Seen = tuple[Floats, list[str]]


def _seen(prior: Prior, text: Sequence[Sentence]) -> list[Seen]:
    """Everything about a prior that a teacher can see, in the first sentences."""
    return [(prior.potentials(sentence), prior.view(sentence).symbols) for sentence in text[:COMPARED]]


def explained(sentence: Sentence, heads: Sequence[int], prior: Prior) -> str:
    """Each part's contribution to the arcs of a tree, and to the best other head of each word; in nats."""
    pieces = PartByPart(prior)
    additions, potentials = pieces.additions(sentence), prior.potentials(sentence)
    readings: dict[int, list[str]] = {}
    for reading in pieces.readings(sentence):
        readings.setdefault(reading.word, []).append(f"{reading} [{reading.part}]")
    blocks = []
    for choice in alternatives(potentials, heads):
        note = f"  {'; '.join(readings[choice.word])}" if choice.word in readings else ""
        arcs = [head for head in (choice.head, choice.other) if head >= 0]
        rows = [["  head", *(_named(sentence, head) for head in arcs)]]
        for part, added in additions.items():
            values = [added[head, choice.word] for head in arcs]
            if any(abs(value) >= 0.005 for value in values):
                rows.append([f"  [{part}]", *(f"{value:+.2f}" for value in values)])
        rows.append(["  sum", *(f"{potentials[head, choice.word]:+.2f}" for head in arcs)])
        blocks.append(f"{_named(sentence, choice.word)}{note}\n{aligned(rows)}")
    return "\n\n".join(blocks)


def _named(sentence: Sentence, word: int) -> str:
    return f"{word} {sentence.forms[word - 1]} {sentence.tags[word - 1]}" if word else "ROOT"


# ----------------------------------------------------------------------------------------------------
# Expectations of rules, counted in gold trees (paper, setting "WeaklySupervised").
#
# expectation(H > M) = gold arcs H > M / ordered pairs of two words of one sentence, tagged H and M
#
# A sentence with n_H and n_M words of these tags has n_H * n_M such pairs, n_H * (n_H - 1) if H = M, and
# n_M if H is ROOT, which occurs once. A rule of tag classes sums arcs and pairs over all tag pairs that it
# matches.
#
# Source: the paper says only that expectations are estimated from the training part. The definition was recovered
# from the authors' released French file: over projective sentences of at most ten words, without punctuation, it
# reproduces all thirteen values to three decimals. The estimate is a rate per pair, although posterior regularisation
# compares it with the count in a sentence; the released code does so, too.


PROTOCOL = protocols.Protocol("expectations", protocols.UD_PUNCTUATION, projective_only=True)
"""The words and sentences in which the released expectations were counted."""

MAX_LEN = 10
"""Length of the longest sentence for the released expectations, in words without punctuation."""


@dataclass(frozen=True)
class Estimate:
    """Counts for K rules: arcs `arcs` (K,) out of possible `pairs` (K,), in `n_sentences` sentences."""

    rules: RuleSet  # as given; their own expectations are not used
    arcs: tuple[int, ...]
    pairs: tuple[int, ...]
    n_sentences: int

    @property
    def expectations(self) -> Floats:
        """Estimated expectations (K,), from 0 to 1; 0 for the rules in `without_pairs`."""
        return np.array([arcs / max(pairs, 1) for arcs, pairs in zip(self.arcs, self.pairs)])

    @property
    def without_pairs(self) -> list[Rule]:
        """Rules that no words of any sentence could match: nothing is known about them."""
        return [rule for rule, pairs in zip(self.rules.rules, self.pairs) if not pairs]

    def rule_file(self, names: Sequence[str], max_len: int = MAX_LEN) -> str:
        """The text of a rule file with the estimates, to three decimals, and the classes of `rules`.

        Comments at the top record how they were made. Rules keep their order; `parse_rules` reads the text.

        Args:
            names: the sources of the sentences, for the comments.
            max_len: the limit of `sentences_for_estimate`, for the comments.
        """
        lines = [
            "# Expectations of rules. Uses gold trees: estimated by vdgi rules estimate from",
            *(f"#   {''.join(c if c.isprintable() else '?' for c in name)}" for name in names),
            f"# Sentences: {self.n_sentences}, of at most {max_len} words.",
            f"# {PROTOCOL.description}",
            "# Expectation: gold arcs from head tag to dependent tag, divided by the ordered pairs of two",
            "# words of one sentence with these tags (ROOT counts as one word more in every sentence).",
        ]
        lines += [f"{name} = {' '.join(tags)}" for name, tags in self.rules.classes.items()]
        lines += [
            f"{rule.head} {rule.dependent} {expectation:.3f}"
            for rule, expectation in zip(self.rules.rules, self.expectations)
        ]
        return "\n".join(lines) + "\n"


def sentences_for_estimate(sentences: Iterable[Sentence], max_len: int = MAX_LEN) -> corpus.Prepared:
    """The sentences in which expectations are counted, and a record of those dropped.

    Punctuation is removed and its children re-attached; then sentences that are not projective or longer than
    `max_len` words are dropped.

    Raises: ConfigError, `max_len` is below 1.
    """
    return corpus.prepare(sentences, PROTOCOL, max_len)


def estimate(sentences: Iterable[Sentence], rules: RuleSet) -> Estimate:
    """The evidence of these sentences' trees for each rule; every given sentence is counted.

    Raises: ValueError, a sentence has no heads.
    """
    rule_of = rules.pairs()
    arcs: Counter[int] = Counter()
    pairs: Counter[int] = Counter()
    n_sentences = 0
    for n_sentences, sentence in enumerate(sentences, 1):
        if sentence.heads is None:
            raise ValueError(f"sentence {n_sentences} has no heads")
        tags = (ROOT, *sentence.tags)
        arcs.update(rule_of.get((tags[head], tag), -1) for head, tag in zip(sentence.heads, sentence.tags))
        n_words = Counter(tags)
        for (head_tag, tag), rule in rule_of.items():
            pairs[rule] += n_words[head_tag] * (n_words[tag] - (head_tag == tag))
    every_rule = range(len(rules))
    return Estimate(rules, tuple(arcs[k] for k in every_rule), tuple(pairs[k] for k in every_rule), n_sentences)


# ----------------------------------------------------------------------------------------------------
# Rules with expectations counted in gold trees, from files or sentences; see `expectations`.


logger = logging.getLogger("dynet_vdgi")

FEW = 50
"""Expectations counted in fewer sentences are unreliable."""


def estimated_rules(names: Sequence[str], rules: RuleSet, max_len: int, tags: str) -> RuleSet:
    """The rules with the expectations that the trees of these files give; `tags`: their column.

    Raises: DataError, a file is malformed or has no trees, or no sentence is left to count in.
    """
    sentences = (s for name in names for s in conllu.read(name, heads="required", tags=tags))
    shown = [files.shown(name) for name in names]
    return estimated_in(sentences, rules, max_len, [Path(name).name for name in shown], ", ".join(shown))


def estimated_in(
    sentences: Iterable[Sentence], rules: RuleSet, max_len: int, names: Sequence[str], where: str
) -> RuleSet:
    """The rules with the expectations estimated from these trees.

    `names`: the files, for the comment in the rule file; `where`: the place that an error names.

    Raises: DataError, no sentence is left to count in.
    """
    prepared = sentences_for_estimate(sentences, max_len)
    n_sentences, n_words = count(len(prepared.sentences), "sentence"), count(prepared.n_words, "word")
    logger.info("counted in: %s, %s", n_sentences, n_words)
    for dropped in prepared.dropped:
        logger.info("  dropped %s", dropped)
    if not prepared.sentences:
        hint = "see what was dropped, and --max-len"
        raise DataError(where, None, "no sentence is left to count in", hint)
    if len(prepared.sentences) < FEW:
        logger.warning(
            "counted in %s of at most %d words, too few to be reliable: give more trees, or a higher "
            "--max-len (in training: data.max_len)",
            count(len(prepared.sentences), "sentence"),
            max_len,
        )
    logger.info("gold trees used: expectations of the rules; sentences with crossing arcs left out")
    estimated = estimate(prepared.sentences, rules)
    for rule in estimated.without_pairs:
        logger.warning("rule %s gets 0: no sentence has words that it could hold for", rule)
    return parse_rules(estimated.rule_file(list(names), max_len), "<estimated rules>")
