"""Score parses against gold trees.

Prints the policy first, since figures under different policies cannot be compared, then directed (DDA),
undirected (UDA) and root accuracy by sentence length. Every DDA has a 95 % interval, and every parse but the
first its difference to the first with a p value: bootstraps over the sentences, which say how far a figure
would move with other test sentences, not with another training run. With --baselines, parsers that learn
nothing are scored beside: left and right branching, random transitions, rules only (ties broken at random,
mean of 5). Under --protocol every_word, DDA is the UAS of the official UD scorer.

  vdgi evaluate gold.conllu parsed.conllu --max-len 10,15,40 --by tag,rule,distance,length
  vdgi evaluate gold.conllu ours.conllu theirs.conllu --baselines --format markdown
  vdgi evaluate gold.conllu 'runs/*/parsed.conllu' --format json
"""

from __future__ import annotations

import argparse
import json
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Optional

from dynet_vdgi.bundled import rules_path
from dynet_vdgi.data import conllu, files, protocols, treebank
from dynet_vdgi.errors import ConfigError, DataError, UsageError

if TYPE_CHECKING:
    from dynet_vdgi.evaluation.attachment import Report
    from dynet_vdgi.evaluation.tables import Comparison
    from dynet_vdgi.grammar.rules import RuleSet

logger = logging.getLogger("dynet_vdgi")

RANDOM_DRAWS = 10
"""Over how many draws the random baseline is averaged."""

PROTOCOLS = (*protocols.PROTOCOLS, "every_word")


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
        help=f"{', '.join(PROTOCOLS[:-1])} or {PROTOCOLS[-1]} (default: %(default)s)",
    )
    parser.add_argument(
        "--by", default="", metavar="WHAT,WHAT", help="break down by tag, rule, distance, length"
    )
    parser.add_argument(
        "--rules", default="ud", metavar="FILE", help="rules for --by rule and --baselines (default: ud)"
    )
    parser.add_argument("--baselines", action="store_true", help="score parsers that learn nothing beside")
    parser.add_argument(
        "--bootstrap",
        type=int,
        default=10_000,
        metavar="N",
        help="draws for intervals and p values; 0 leaves them out (default: %(default)s)",
    )
    parser.add_argument(
        "--format", choices=("text", "markdown", "json"), default="text", help="default: %(default)s"
    )
    parser.add_argument(
        "--json",
        action="store_const",
        const="json",
        dest="format",
        help="the same as --format json: everything, accuracies from 0 to 1",
    )


def run(arguments: argparse.Namespace) -> None:
    """Runs `vdgi evaluate`."""
    if not arguments.parses and not arguments.baselines:
        raise UsageError("nothing to score: name a parse, or ask for --baselines")
    if [arguments.gold, *arguments.parses].count("-") > 1:
        raise UsageError("standard input (-) can be read only once")
    if arguments.bootstrap < 0:
        raise UsageError(f"--bootstrap {arguments.bootstrap}: a number of draws, or 0 for none")
    by = [name.strip() for name in arguments.by.split(",") if name.strip()]
    gold = _one_file(arguments.gold)
    reports, rules_text = score_files(
        gold,
        files.expand(arguments.parses),
        protocol=_protocol(arguments.protocol),
        max_lens=_max_lens(arguments.max_len),
        by=by,
        rules=arguments.rules,
        baselines=arguments.baselines,
    )
    from dynet_vdgi.evaluation import tables

    comparison = tables.compare(reports, arguments.bootstrap) if arguments.bootstrap else None
    if arguments.format == "json":
        content = tables.reports_to_dict(reports, comparison)
        print(json.dumps({"gold": gold, "rules": rules_text, **content}, indent=1))
    else:
        print(format_reports(reports, by, comparison, markdown=arguments.format == "markdown"))


def _one_file(pattern: str) -> str:
    names = files.expand([pattern])
    if len(names) > 1:
        raise UsageError(f"GOLD must be one file; {pattern!r} stands for {len(names)}: {', '.join(names)}")
    return names[0]


def _protocol(name: str) -> protocols.Protocol:
    from dynet_vdgi.evaluation.attachment import EVERY_WORD

    if name not in PROTOCOLS:
        raise ConfigError(f"no protocol {name!r} (choose from {', '.join(PROTOCOLS)})")
    return EVERY_WORD if name == EVERY_WORD.name else protocols.protocol_named(name)


def format_reports(
    reports: dict[str, Report],
    by: Sequence[str] = (),
    comparison: Optional[Comparison] = None,  # noqa: UP045 - Python 3.9
    markdown: bool = False,
) -> str:
    """Policy, the three tables of accuracy in per cent, and the break-downs asked for.

    With a comparison, intervals and differences stand in the table of DDA (Markdown) or below it (text).
    """
    from dynet_vdgi.evaluation import tables

    if comparison is None:
        dda = tables.format_table(reports, markdown=markdown)
    elif markdown:
        dda = tables.format_markdown_dda(reports, comparison)
    else:
        dda = f"{tables.format_table(reports)}\n{tables.format_comparison(reports, comparison)}"
    parts = [next(iter(reports.values())).policy, dda]
    parts += [tables.format_table(reports, measure, markdown=markdown) for measure in ("uda", "root")]
    parts += [tables.format_breakdown(reports, name, markdown=markdown) for name in by]
    return "\n\n".join(parts)


def score_files(
    gold: str,
    parses: Sequence[str],
    *,
    protocol: protocols.Protocol,
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

    rule_file = rules_path(rules)
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
        for name, draws in baseline_trees([s.tags for s in sentences], rule_set).items():
            reports[name] = tables.mean(
                [
                    attachment.evaluate(
                        sentences, heads, protocol, max_lens, by, rule_set.pairs(), all_sentences=n_all
                    )
                    for heads in draws
                ]
            )
    return reports, rule_file.name


def baseline_trees(tagged: Sequence[Sequence[str]], rules: RuleSet) -> dict[str, list[list[tuple[int, ...]]]]:
    """Trees of each baseline, one list a draw."""
    import numpy as np

    from dynet_vdgi.baselines.branching import left_branching, random_transitions, right_branching
    from dynet_vdgi.baselines.rules_only import TIE_SEEDS, rules_only
    from dynet_vdgi.grammar.prior import Prior

    lengths = [len(tags) for tags in tagged]
    rng, prior = np.random.default_rng(0), Prior.of_text(rules, tagged)
    return {
        "left branching": [[left_branching(n) for n in lengths]],
        "right branching": [[right_branching(n) for n in lengths]],
        "random": [[random_transitions(n, rng) for n in lengths] for _ in range(RANDOM_DRAWS)],
        "rules only": [rules_only(tagged, prior, seed) for seed in range(TIE_SEEDS)],
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
