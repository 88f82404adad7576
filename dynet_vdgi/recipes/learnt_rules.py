"""A readable table of the changes that gold trees made to a rule table: the kinds of arcs the CRF moved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dynet_vdgi.data import conllu
from dynet_vdgi.data.protocols import STANDARD
from dynet_vdgi.data.sentence import FREE, Sentence
from dynet_vdgi.data.treebank import prepare
from dynet_vdgi.errors import DataError
from dynet_vdgi.grammar.prior import Prior
from dynet_vdgi.grammar.rules import RuleSet
from dynet_vdgi.system.text_tables import aligned

HEAD = """\
# What {trees} changed about the rule table, by kinds of arcs, the most changed first.
# trees   how many such arcs the trees have
# table   how many the table alone expects in the same sentences
# base    what the table adds to such an arc, in nats, as far as it counts beside the trees
# change  what the trees added to it. Only differences count between arcs to the same word.
# This is for reading: it is no rule table. What it says of tags in general can be written into one by hand.
"""


@dataclass(frozen=True)
class LearntRule:
    """A kind of arc: numbers of arcs, and means over the arcs of the trees and those the table expects."""

    head: str  # a tag, or ROOT
    side: str  # of the dependent: left or right; - of ROOT
    dependent: str
    in_trees: int
    in_table: float
    base: float
    change: float

    @property
    def weight(self) -> float:
        return abs(self.change) * (self.in_trees + self.in_table)


def learnt_rules(
    trees: Sequence[Sentence], rules: RuleSet, text: Sequence[Sentence] = ()
) -> list[LearntRule]:
    """The kinds of arcs, the most important first; trees and text without punctuation, heads may be FREE.

    The table measures its text, or the trees' sentences if there is no text.
    """
    from dynet_vdgi.grammar import chart
    from dynet_vdgi.teachers.arc_crf import ArcCrf

    prior = Prior.of_text(rules, text or trees)
    crf = ArcCrf().fit(trees, prior)
    assert crf.base is not None
    sums: dict[tuple[str, str, str], np.ndarray] = {}
    for tree in trees:
        potentials = prior.potentials(tree)
        base, expected = crf.shares[0] * potentials, chart.marginals(potentials)
        change = crf.scores(tree) - base
        tags = ("ROOT", *tree.tags)
        for dependent, given in enumerate(tree.heads or (), 1):
            for head in range(len(tags)) if given != FREE else ():
                is_gold, share = float(head == given), float(expected[head, dependent - 1])
                if head == dependent or is_gold + share < LEAST:
                    continue
                side = "-" if not head else "left" if dependent < head else "right"
                amount = is_gold + share
                row = [is_gold, share, amount * base[head, dependent], amount * change[head, dependent]]
                kind = tags[head], side, tags[dependent]
                sums[kind] = sums.get(kind, np.zeros(4)) + row
    found = [
        LearntRule(
            *kind, round(gold), float(share), float(base / (gold + share)), float(change / (gold + share))
        )
        for kind, (gold, share, base, change) in sums.items()
    ]
    return sorted(found, key=lambda rule: (-rule.weight, rule.head, rule.side, rule.dependent))


LEAST = 1e-3
"""Arcs that are absent from the trees and less probable than this under the table are left out."""


def learnt_page(
    tree_names: Sequence[str], text_names: Sequence[str], rules: RuleSet, tags: str = "upos"
) -> str:
    """The table as text, from files of gold trees, which may be partial, and perhaps of text.

    Raises: DataError, a file is malformed, or none of the sentences has a tree.
    """
    from dynet_vdgi.recipes.silver import LONGEST_TREE, SHORTEST

    given = (s for name in tree_names for s in conllu.read(name, heads="partial", tags=tags))
    found = prepare(given, STANDARD, LONGEST_TREE, SHORTEST).sentences
    trees = [tree for tree in found if set(tree.heads or ()) - {FREE}]
    if not trees:
        raise DataError(", ".join(tree_names), None, "no sentence has a tree", "trees are needed here")
    given = (s for name in text_names for s in conllu.read(name, heads="ignored", tags=tags))
    rows = [["head", "side", "dependent", "trees", "table", "base", "change"]]
    for rule in learnt_rules(trees, rules, prepare(given, STANDARD).sentences):
        numbers = [str(rule.in_trees), f"{rule.in_table:.1f}", f"{rule.base:+.2f}", f"{rule.change:+.2f}"]
        rows.append([rule.head, rule.side, rule.dependent, *numbers])
    told = f"{len(trees)} trees" if len(trees) > 1 else "one tree"
    return HEAD.format(trees=told) + aligned(rows, left=3) + "\n"
