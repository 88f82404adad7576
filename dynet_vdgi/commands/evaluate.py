"""Score parses against gold trees.

Prints the policy first, since figures under different policies cannot be compared, then directed (DDA),
undirected (UDA) and root accuracy by sentence length. With --baselines, parsers that learn nothing are
scored beside: left and right branching, random transitions, rules only (ties broken at random, mean of 5).

  vdgi evaluate gold.conllu parsed.conllu --max-len 10,15,40 --by tag,rule,distance,length
  vdgi evaluate gold.conllu ours.conllu theirs.conllu --baselines --json
"""

from __future__ import annotations

import argparse
import json
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Optional

from dynet_vdgi import config
from dynet_vdgi.data import conllu, files, treebank
from dynet_vdgi.errors import DataError, UsageError

if TYPE_CHECKING:
    from dynet_vdgi.evaluation.attachment import Report
    from dynet_vdgi.grammar.rules import RuleSet

logger = logging.getLogger("dynet_vdgi")

RANDOM_DRAWS = 10
"""Over how many draws the random baseline is averaged."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `vdgi evaluate`."""
    parser.add_argument("gold", metavar="GOLD", help="CoNLL-U file with gold trees")
    parser.add_argument(
        "parses", nargs="*", metavar="PARSE", help="CoNLL-U files with the same sentences, parsed"
    )
    parser.add_argument(
        "--max-len", default="10,15,40", metavar="N,N", help="length limits (default: %(default)s)"
    )
    parser.add_argument(
        "--protocol",
        default="standard",
        metavar="NAME",
        help=f"{' or '.join(treebank.PROTOCOLS)} (default: %(default)s)",
    )
    parser.add_argument(
        "--by", default="", metavar="WHAT,WHAT", help="break down by tag, rule, distance, length"
    )
    parser.add_argument(
        "--rules", default="ud", metavar="FILE", help="rules for --by rule and --baselines (default: ud)"
    )
    parser.add_argument("--baselines", action="store_true", help="score parsers that learn nothing beside")
    parser.add_argument(
        "--json", action="store_true", help="print everything as JSON, accuracies from 0 to 1"
    )


def run(arguments: argparse.Namespace) -> None:
    """Runs `vdgi evaluate`."""
    if not arguments.parses and not arguments.baselines:
        raise UsageError("nothing to score: name a parse, or ask for --baselines")
    if [arguments.gold, *arguments.parses].count("-") > 1:
        raise UsageError("standard input (-) can be read only once")
    by = [name.strip() for name in arguments.by.split(",") if name.strip()]
    files.expand([arguments.gold])  # a missing file is wrong use, as for every verb
    reports, rules_text = score_files(
        arguments.gold,
        files.expand(arguments.parses),
        protocol=treebank.protocol_named(arguments.protocol),
        max_lens=_max_lens(arguments.max_len),
        by=by,
        rules=arguments.rules,
        baselines=arguments.baselines,
    )
    from dynet_vdgi.evaluation import tables

    if arguments.json:
        print(
            json.dumps(
                {"gold": arguments.gold, "rules": rules_text, **tables.reports_to_dict(reports)}, indent=1
            )
        )
    else:
        print(format_reports(reports, by))


def format_reports(reports: dict[str, Report], by: Sequence[str] = ()) -> str:
    """Policy, the three tables of accuracy in per cent, and the break-downs asked for."""
    from dynet_vdgi.evaluation import tables

    parts = [next(iter(reports.values())).policy]
    parts += [tables.format_table(reports, measure) for measure in ("dda", "uda", "root")]
    parts += [tables.format_breakdown(reports, name) for name in by]
    return "\n\n".join(parts)


def score_files(
    gold: str,
    parses: Sequence[str],
    *,
    protocol: treebank.Protocol,
    max_lens: Sequence[Optional[int]],  # noqa: UP045 - Python 3.9
    by: Sequence[str] = (),
    rules: str = "ud",
    baselines: bool = False,
) -> tuple[dict[str, Report], str]:
    """A report for every parse and, if asked for, every baseline; and the name of the rule file.

    Raises:
        DataError: a file is malformed, has no trees, or does not hold the sentences of the gold file.
    """
    from dynet_vdgi.evaluation import attachment, tables
    from dynet_vdgi.grammar.rules import load_rules

    rule_file = config.rules_path(rules)
    rule_set = load_rules(rule_file)
    gold_sentences = list(conllu.read(gold, heads="required"))
    n_all = len(gold_sentences)
    reports: dict[str, Report] = {}
    for name in parses:
        pairs = attachment.pair(gold_sentences, conllu.read(name, heads="required"), protocol)
        reports[_label(name, reports)] = attachment.evaluate(
            *pairs, protocol, max_lens, by, rule_set.pairs(), all_sentences=n_all
        )
    if baselines:
        sentences = treebank.prepare(gold_sentences, protocol).sentences
        if not sentences:
            raise DataError(gold, None, f"no sentence is left under protocol {protocol.name}")
        for name, draws in _baselines([s.tags for s in sentences], rule_set).items():
            reports[name] = tables.mean(
                [
                    attachment.evaluate(
                        sentences, heads, protocol, max_lens, by, rule_set.pairs(), all_sentences=n_all
                    )
                    for heads in draws
                ]
            )
    return reports, rule_file.name


def _baselines(tagged: Sequence[Sequence[str]], rules: RuleSet) -> dict[str, list[list[tuple[int, ...]]]]:
    """Trees of each baseline, one list a draw."""
    import numpy as np

    from dynet_vdgi.baselines.branching import left_branching, random_transitions, right_branching
    from dynet_vdgi.baselines.rules_only import TIE_SEEDS, rules_only

    lengths = [len(tags) for tags in tagged]
    rng = np.random.default_rng(0)
    return {
        "left branching": [[left_branching(n) for n in lengths]],
        "right branching": [[right_branching(n) for n in lengths]],
        "random": [[random_transitions(n, rng) for n in lengths] for _ in range(RANDOM_DRAWS)],
        "rules only": [rules_only(tagged, rules, seed) for seed in range(TIE_SEEDS)],
    }


def _label(path: str, taken: dict[str, Report]) -> str:
    name = Path(path).name
    return path if name in taken else name


def _max_lens(text: str) -> list[Optional[int]]:  # noqa: UP045 - Python 3.9
    try:
        limits = sorted({int(part) for part in text.split(",") if part.strip()})
    except ValueError:
        limits = [0]
    if any(limit < 1 for limit in limits):
        raise UsageError(f"--max-len {text}: expected numbers of words such as 10,15,40")
    return [*limits, None]
