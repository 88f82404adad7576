"""Read, explain and estimate rule tables.

A rule table holds knowledge about trees before anything is learnt; ud2 is the table of labels by
which vdgi parse writes relations: edit a copy and name it with --labels.
"""

from __future__ import annotations

import argparse
import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from dynet_vdgi.commands import add_ignore_feats, add_output, add_tags, add_tasks
from dynet_vdgi.commands.options import Options
from dynet_vdgi.conllu import reading
from dynet_vdgi.errors import DataError, UsageError
from dynet_vdgi.settings.bundled import rules_path
from dynet_vdgi.system import file_checks, files
from dynet_vdgi.system.limits import read_table
from dynet_vdgi.system.messages import count, did_you_mean, plain

if TYPE_CHECKING:
    from dynet_vdgi.conllu.sentence import Sentence
    from dynet_vdgi.rule_tables.prior import Prior
    from dynet_vdgi.rule_tables.rules import RuleSet

logger = logging.getLogger("dynet_vdgi")

TREES_SHOWN, MIN_WIDTH = 3, 40
"""Number of trees drawn without --sentence."""


def add_arguments(add: Options) -> None:
    tasks = {
        "show": (_add_show, _show),
        "explain": (_add_explain, _explain),
        "estimate": (_add_estimate, _estimate),
    }
    add_tasks(add, tasks)


def _add_show(add: Options) -> None:
    add("NAME", "a rule table: the name of one, or a file; or ud2", dest="rules")
    _add_without(add)


def _add_without(add: Options) -> None:
    add("--without PART", "leave out this part; repeatable", action="append", default=[])


def _add_explain(add: Options) -> None:
    add("FILE...", "tagged text, with trees or without", dest="text")
    add("--rules NAME", "a table's name, or a file", default="best")
    _add_without(add)
    add("--language-facts FILE", "facts about the language, added to the evidence of the text")
    add("--sentence N", "explain this sentence: a number from 1, or a sent_id")
    add("--width N", "columns of the drawings", default=80, least=MIN_WIDTH)
    add_ignore_feats(add)
    add_tags(add)


def _add_estimate(add: Options) -> None:
    add("TREEBANK...", "CoNLL-U files with trees; - is standard input", dest="treebanks")
    add("--rules FILE", "rules whose expectations to count", default="ud")
    add("--max-len N", "longest sentence, in words without punctuation", default=10, least=1)
    add_ignore_feats(add)
    add_tags(add)
    add_output(add)


def _show(arguments: argparse.Namespace) -> None:
    """Print a table as it is in its file.

    To change a table, edit a copy.

      vdgi rules show best
      vdgi rules show ud2 > my-labels.txt
    """
    from dynet_vdgi.relations.label_table import bundled_tables

    if labels := bundled_tables().get(arguments.rules):
        if arguments.without:
            raise UsageError(f"{arguments.rules} is a table of labels: it is shown without options")
        print(plain(read_table(labels, "table of labels").rstrip("\n")))
    else:
        print(plain(_rules(arguments).text.rstrip("\n")))


def _explain(arguments: argparse.Namespace) -> None:
    """Print the trees that the rules alone, without learning, give to the first sentences of a
    text.

    Trees in the file serve for comparison only. With --sentence, it shows for each word of one
    sentence what every part of the table adds to the arc from its head, and to the arc that would
    replace it in the best tree without it. Numbers are natural logarithms; their sum is the
    potential of the arc.

      vdgi rules explain my.conllu --rules my-rules.txt --sentence 12
      vdgi rules explain my.conllu --language-facts facts.txt --without "edge statistics"
    """
    from dynet_vdgi.evaluation.drawings import tree_of, tree_text
    from dynet_vdgi.evaluation.rules_only import rules_only
    from dynet_vdgi.rule_tables.explanation import explanation_of, idle_facts
    from dynet_vdgi.rule_tables.facts import load_facts
    from dynet_vdgi.rule_tables.prior import Prior

    rules = _rules(arguments)
    sentences = _sentences(arguments.text, arguments.tags)
    chosen = (
        [_chosen_sentence(sentences, arguments.sentence)]
        if arguments.sentence
        else sentences[:TREES_SHOWN]
    )
    text = [item.sentence for item in sentences]
    facts = load_facts(arguments.language_facts, rules) if arguments.language_facts else {}
    for message in idle_facts(rules, text, facts):
        logger.warning("%s", message)
    prior = Prior.of_text(rules, text, facts)
    words = count(sum(len(item.sentence) for item in sentences), "word")
    print(f"{count(len(sentences), 'sentence')}, {words} without punctuation")
    print(plain(_score(sentences, prior)))
    for item in chosen:
        (heads,) = rules_only([item.sentence], prior, 0)
        caption = (
            f"sentence {item.number}{f' ({item.name})' if item.name else ''}, by the rules alone"
        )
        gold = item.sentence if item.sentence.heads is not None else None
        tree = tree_of(replace(item.sentence, heads=tuple(heads)), gold, caption=caption)
        print(f"\n{plain(tree_text(tree, arguments.width))}")
        if arguments.sentence:
            print(f"\n{plain(explanation_of(item.sentence, heads, prior))}")


class Numbered(NamedTuple):
    """A sentence without its punctuation, its number in the text, from 1, and its name."""

    number: int
    name: str  # its sent_id; "" without one
    sentence: Sentence


def _rules(arguments: argparse.Namespace) -> RuleSet:
    from dynet_vdgi.rule_tables.rules import load_rules

    rules = load_rules(rules_path(arguments.rules))
    return rules.without(*arguments.without) if arguments.without else rules


def _sentences(names: Sequence[str], tags: str) -> list[Numbered]:
    """The sentences of files that are not only punctuation. Raises: DataError, there are none."""
    from dynet_vdgi.conllu.filtering import Filter
    from dynet_vdgi.conllu.protocols import STANDARD

    expanded, keep = files.expand(names), Filter(STANDARD)
    every = (sentence for name in expanded for sentence in reading.read(name, tags=tags))
    sentences = []
    for number, sentence in enumerate(every, 1):
        name = (sentence.source.sent_id if sentence.source else None) or ""
        for without_punctuation in keep([sentence]):  # none, if there is nothing else
            sentences.append(Numbered(number, name, without_punctuation))
    if not sentences:
        raise DataError(", ".join(expanded), None, "there is no sentence", "or punctuation only")
    return sentences


def _chosen_sentence(text: Sequence[Numbered], wanted: str) -> Numbered:
    """The sentence of this number or sent_id. Raises: UsageError."""
    by_name = {item.name: item for item in reversed(text) if item.name}
    by_name = {**{str(item.number): item for item in text}, **by_name}
    if wanted not in by_name:
        hint = did_you_mean(wanted, by_name, 0.7)
        raise UsageError(
            f"--sentence {wanted}: no sentence with words has this number or sent_id{hint}"
        )
    return by_name[wanted]


def _score(text: Sequence[Numbered], prior: Prior) -> str:
    """The accuracy of the rules alone, if there are trees to compare with."""
    from dynet_vdgi.evaluation.attachment import score
    from dynet_vdgi.evaluation.rules_only import TIE_SEEDS, rules_only

    gold = [item.sentence for item in text if item.sentence.heads is not None]
    if not gold:
        return "rules alone: not scored, because the text has no trees to compare with"
    total = sum(score(gold, rules_only(gold, prior, seed)).dda for seed in range(TIE_SEEDS))
    accuracy = total / TIE_SEEDS
    where = f"{count(len(gold), 'sentence')} with trees, used for comparison only"
    return (
        f"rules alone: {100 * accuracy:.1f} % of heads right in {where} (DDA, punctuation removed)"
    )


def _estimate(arguments: argparse.Namespace) -> None:
    """Count the expectations of rules in gold trees, and write a rule file.

    The expectation of a rule is the share of arcs among all pairs of words that the rule could
    link, in short, projective sentences of a treebank, without punctuation. This is the paper's
    setting "WeaklySupervised".

      vdgi rules estimate xx-ud-train.conllu -o xx-rules.txt
      vdgi train --train my.conllu --preset paper --rules xx-rules.txt --set posterior.expectations=rates --out runs/my
    """
    from dynet_vdgi.rule_tables.estimated_rules import estimated_rules
    from dynet_vdgi.rule_tables.rules import load_rules

    names = files.expand(arguments.treebanks)
    path = rules_path(arguments.rules)
    file_checks.check_output(arguments.output, [*names, path], ending=".txt")
    rules = load_rules(path)
    with files.atomic_writer(arguments.output) as handle:
        handle.write(estimated_rules(names, rules, arguments.max_len, arguments.tags).text)
