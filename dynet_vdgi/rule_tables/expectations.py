"""Expectations of rules, counted in gold trees (paper, setting "WeaklySupervised").

expectation(H > M) = gold arcs H > M / ordered pairs of two words of one sentence, tagged H and M

A sentence with n_H and n_M words of these tags has n_H * n_M such pairs, n_H * (n_H - 1) if H = M,
and n_M if H is ROOT, which occurs once. A rule of tag classes sums arcs and pairs over all tag
pairs that it matches.

Source: the paper says only that expectations are estimated from the training part. The definition
was recovered from the authors' released French file: over projective sentences of at most ten
words, without punctuation, it reproduces all thirteen values to three decimals. The estimate is a
rate per pair, although posterior regularisation compares it with the count in a sentence; the
released code does so, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from dynet_vdgi.conllu import filtering, protocols
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.rule_tables.rules import RuleSet
from dynet_vdgi.rule_tables.table import ROOT, Rule
from dynet_vdgi.system.array_types import Floats

PROTOCOL = protocols.Protocol("expectations", protocols.UD_PUNCTUATION, projective_only=True)
"""The words and sentences in which the released expectations were counted."""

MAX_LEN = 10
"""Length of the longest sentence for the released expectations, in words without punctuation."""


@dataclass(frozen=True)
class Estimate:
    """Counts for K rules: arcs `arcs` (K,) out of possible `pairs` (K,), in `n_sentences`
    sentences."""

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
        """The text of a rule file with the estimates, to three decimals, and the classes of
        `rules`.

        Comments at the top record how they were made. Rules keep their order; `parse_rules` reads
        the text.

        Args:
            names: the sources of the sentences, for the comments.
            max_len: the limit of `sentences_for_estimate`, for the comments.
        """
        lines = [
            "# Expectations of rules. Uses gold trees: estimated by vdgi rules estimate from",
            *(f"#   {''.join(c if c.isprintable() else '?' for c in name)}" for name in names),
            f"# Sentences: {self.n_sentences}, of at most {max_len} words.",
            f"# {PROTOCOL.description}",
            "# Expectation: gold arcs from head tag to dependent tag, "
            "divided by the ordered pairs of two",
            "# words of one sentence with these tags "
            "(ROOT counts as one word more in every sentence).",
        ]
        lines += [f"{name} = {' '.join(tags)}" for name, tags in self.rules.classes.items()]
        lines += [
            f"{rule.head} {rule.dependent} {expectation:.3f}"
            for rule, expectation in zip(self.rules.rules, self.expectations)
        ]
        return "\n".join(lines) + "\n"


def sentences_for_estimate(
    sentences: Iterable[Sentence], max_len: int = MAX_LEN
) -> filtering.Prepared:
    """The sentences in which expectations are counted, and a record of those dropped.

    Punctuation is removed and its children re-attached; then sentences that are not projective or
    longer than `max_len` words are dropped.

    Raises: ConfigError, `max_len` is below 1.
    """
    return filtering.prepare(sentences, PROTOCOL, max_len)


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
        arcs.update(
            rule_of.get((tags[head], tag), -1) for head, tag in zip(sentence.heads, sentence.tags)
        )
        n_words = Counter(tags)
        for (head_tag, tag), rule in rule_of.items():
            pairs[rule] += n_words[head_tag] * (n_words[tag] - (head_tag == tag))
    every_rule = range(len(rules))
    return Estimate(
        rules, tuple(arcs[k] for k in every_rule), tuple(pairs[k] for k in every_rule), n_sentences
    )
