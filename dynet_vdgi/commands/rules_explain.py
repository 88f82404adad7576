"""Explain what a rule table makes of a text.

Prints the measures of the text, and the trees that the rules alone, without learning, give to its first
sentences. Trees in the file serve for comparison only. With --sentence, shows for each word of one sentence
what every part of the table adds to the arc from its head, and to the arc that would replace it in the best
tree without it. Numbers are natural logarithms; their sum is the potential of the arc.

  vdgi rules explain my.conllu
  vdgi rules explain my.conllu --rules my-rules.txt --sentence 12
  vdgi rules explain my.conllu --language-facts facts.txt --without "edge statistics"
"""

from __future__ import annotations

import argparse
import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from dynet_vdgi.commands import add_tags
from dynet_vdgi.data import conllu, files
from dynet_vdgi.errors import DataError, UsageError
from dynet_vdgi.settings.bundled import rules_path
from dynet_vdgi.system.names import count, did_you_mean, plain

if TYPE_CHECKING:
    from dynet_vdgi.data.sentence import Sentence
    from dynet_vdgi.grammar.prior import Prior
    from dynet_vdgi.grammar.rules import RuleSet

logger = logging.getLogger("dynet_vdgi")

SHOWN = 3
"""Number of trees drawn without --sentence."""


def add_text_options(parser: argparse.ArgumentParser) -> None:
    """The options for reading a text."""
    parser.add_argument(
        "--without", action="append", default=[], metavar="PART", help="leave out this part; repeatable"
    )
    parser.add_argument(
        "--language-facts", metavar="FILE", help="facts about the language, added to the evidence of the text"
    )
    add_tags(parser)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", nargs="+", metavar="FILE", help="tagged text, with trees or without")
    parser.add_argument(
        "--rules", default="best", metavar="NAME", help="a table's name, or a file (default: %(default)s)"
    )
    parser.add_argument(
        "--sentence", metavar="N", help="explain this sentence: a number from 1, or a sent_id"
    )
    parser.add_argument(
        "--width", type=int, default=80, metavar="N", help="columns of the drawings (default: %(default)s)"
    )
    add_text_options(parser)


def run(arguments: argparse.Namespace) -> None:
    from dynet_vdgi.baselines.rules_only import rules_only
    from dynet_vdgi.drawing.text import MIN_WIDTH
    from dynet_vdgi.grammar.findings import explained

    if arguments.width < MIN_WIDTH:
        raise UsageError(f"--width {arguments.width}: at least {MIN_WIDTH} columns are needed")
    rules = rules_of(arguments)
    sentences = sentences_of(arguments.text, arguments.tags, "optional")
    chosen = [_chosen(sentences, arguments.sentence)] if arguments.sentence else sentences[:SHOWN]
    measured = prior_of(rules, sentences, arguments)
    print(plain(f"{measured.told}\n\n{_score(sentences, measured.prior)}"))
    for item in chosen:
        (heads,) = rules_only([item.sentence], measured.prior, 0)
        print(f"\n{plain(_drawn(item, heads, arguments.width))}")
        if arguments.sentence:
            print(f"\n{plain(explained(item.sentence, heads, measured.prior))}")


class Numbered(NamedTuple):
    """A sentence without its punctuation, its number in the text, from 1, and its name."""

    number: int
    name: str  # its sent_id; "" without one
    sentence: Sentence


class TextPrior(NamedTuple):
    """A prior, and a description of its measurements."""

    prior: Prior
    told: str


def rules_of(arguments: argparse.Namespace) -> RuleSet:
    """The requested table, without the unwanted parts."""
    from dynet_vdgi.grammar.rules import load_rules

    rules = load_rules(rules_path(arguments.rules))
    return rules.without(*arguments.without) if arguments.without else rules


def sentences_of(names: Sequence[str], tags: str, heads: conllu.Heads) -> list[Numbered]:
    """The sentences of files that are not only punctuation. Raises: DataError, there are none."""
    from dynet_vdgi.data.protocols import STANDARD
    from dynet_vdgi.data.treebank import Filter

    expanded, keep = files.expand(names), Filter(STANDARD)
    every = (sentence for name in expanded for sentence in conllu.read(name, heads=heads, tags=tags))
    found = [
        Numbered(number, (sentence.source.sent_id if sentence.source else None) or "", kept)
        for number, sentence in enumerate(every, 1)
        for kept in keep([sentence])
    ]
    if not found:
        raise DataError(", ".join(expanded), None, "there is no sentence", "or punctuation only")
    return found


def prior_of(rules: RuleSet, text: Sequence[Numbered], arguments: argparse.Namespace) -> TextPrior:
    """The prior of a text, with the given facts, and its measurements."""
    from dynet_vdgi.grammar.explanation import idle_facts
    from dynet_vdgi.grammar.facts import load_facts
    from dynet_vdgi.grammar.findings import found_in
    from dynet_vdgi.grammar.prior import Prior

    sentences = [item.sentence for item in text]
    facts = load_facts(arguments.language_facts, rules) if arguments.language_facts else {}
    prior = Prior.of_text(rules, sentences, facts)
    for message in idle_facts(rules, sentences, facts):
        logger.warning("%s", message)
    words = count(sum(map(len, sentences)), "word")
    told = found_in(prior, Prior.of_text(rules, sentences) if facts else None)
    return TextPrior(prior, f"{count(len(sentences), 'sentence')}, {words} without punctuation; {told}")


def _chosen(text: Sequence[Numbered], wanted: str) -> Numbered:
    """The sentence of this number or sent_id. Raises: UsageError."""
    by_name = {item.name: item for item in reversed(text) if item.name}
    by_name = {**{str(item.number): item for item in text}, **by_name}
    if wanted not in by_name:
        hint = did_you_mean(wanted, by_name, 0.7)
        raise UsageError(f"--sentence {wanted}: no sentence with words has this number or sent_id{hint}")
    return by_name[wanted]


def _score(text: Sequence[Numbered], prior: Prior) -> str:
    """The accuracy of the rules alone, if there are trees to compare with."""
    from dynet_vdgi.baselines.rules_only import TIE_SEEDS, rules_only
    from dynet_vdgi.evaluation.attachment import score

    gold = [item.sentence for item in text if item.sentence.heads is not None]
    if not gold:
        return "rules alone: not scored, because the text has no trees to compare with"
    found = sum(score(gold, rules_only(gold, prior, seed)).dda for seed in range(TIE_SEEDS)) / TIE_SEEDS
    where = f"{count(len(gold), 'sentence')} with trees, used for comparison only"
    return f"rules alone: {100 * found:.1f} % of heads right in {where} (DDA, punctuation removed)"


def _drawn(item: Numbered, heads: Sequence[int], width: int) -> str:
    """The tree, compared with the gold one if there is one."""
    from dynet_vdgi.drawing.sentences import tree_of, tree_text

    caption = f"sentence {item.number}{f' ({item.name})' if item.name else ''}, by the rules alone"
    gold = item.sentence if item.sentence.heads is not None else None
    return tree_text(tree_of(replace(item.sentence, heads=tuple(heads)), gold, caption=caption), width)
