"""Expectations of rules, counted in gold trees (paper, setting "WeaklySupervised").

    expectation(H > M) = gold arcs H > M / ordered pairs of two words of one sentence, tagged H and M

A sentence with n_H and n_M words of these tags has n_H * n_M such pairs, n_H * (n_H - 1) if H = M, and n_M
for ROOT, which is there once. A rule of tag classes sums arcs and pairs over all tag pairs that it matches.

Source: the paper only says that expectations are estimated from the training part. The definition was
recovered from the authors' released French file: over sentences without punctuation, projective, of at most
ten words, it gives all thirteen values to three decimals. The estimate is a rate per pair, although
posterior regularisation compares it with the count in a sentence; that is so in the released code, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from dynet_vdgi.data import protocols, treebank
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.grammar.rules import ROOT, Floats, Rule, RuleSet

PROTOCOL = protocols.Protocol("expectations", protocols.UD_PUNCTUATION, projective_only=True)
"""Which words and sentences the released expectations were counted in."""

MAX_LEN = 10
"""Longest sentence of the released expectations, in words without punctuation."""


@dataclass(frozen=True)
class Estimate:
    """What was counted for K rules: `arcs` (K,) that hold of `pairs` (K,) that could, in `n_sentences`."""

    rules: RuleSet  # as asked for; their own expectations are not used
    arcs: tuple[int, ...]
    pairs: tuple[int, ...]
    n_sentences: int

    @property
    def expectations(self) -> Floats:
        """Estimated expectations (K,), from 0 to 1; 0 for the rules in `without_pairs`."""
        return np.array([arcs / max(pairs, 1) for arcs, pairs in zip(self.arcs, self.pairs)])

    @property
    def without_pairs(self) -> list[Rule]:
        """Rules that could hold for no words of any sentence: nothing is known about them."""
        return [rule for rule, pairs in zip(self.rules.rules, self.pairs) if not pairs]

    def rule_file(self, names: Sequence[str], max_len: int = MAX_LEN) -> str:
        """The text of a rule file with the estimates, to three decimals, and the classes of `rules`.

        Comments on top say how they were made. Rules keep their order; `parse_rules` reads the text.

        Args:
            names: what the sentences came from, for the comments.
            max_len: the limit of `sentences_for_estimate`, for the comments.
        """
        lines = [
            "# Expectations of rules. Uses gold trees: estimated by vdgi rules estimate from",
            *(f"#   {_printable(name)}" for name in names),
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


def _printable(name: str) -> str:
    """The name on one line: a file's name may hold line ends, or bytes that are no text."""
    return "".join(character if character.isprintable() else "?" for character in name)


def sentences_for_estimate(sentences: Iterable[Sentence], max_len: int = MAX_LEN) -> treebank.Prepared:
    """The sentences that expectations are counted in, and what was dropped for them.

    Punctuation is removed and its children re-attached; then sentences that are not projective or longer than
    `max_len` words are dropped.

    Raises:
        ConfigError: `max_len` is below 1.
    """
    return treebank.prepare(sentences, PROTOCOL, max_len)


def estimate(sentences: Iterable[Sentence], rules: RuleSet) -> Estimate:
    """What the trees of these sentences say about each rule; every sentence given is counted.

    Raises:
        ValueError: a sentence has no heads.
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
    return Estimate(
        rules, tuple(arcs[k] for k in every_rule), tuple(pairs[k] for k in every_rule), n_sentences
    )
