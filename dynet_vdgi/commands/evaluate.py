"""Score parses against gold trees.

The first line says what was scored, because figures under different protocols cannot be compared. By
sentence length follow the directed accuracy (DDA, the share of words with the right head), the undirected
one (UDA) and that of roots. If both files have relations (DEPREL, not only root and dep), so do the share of
words whose head and relation are right (LAS, labelled attachment score) and that of right relations, without
subtypes.

DDA and LAS have 95 % intervals, and each parse after the first its difference from the first, with a p value.
Both come from a bootstrap over the test sentences and do not cover the variation between training runs.

--baselines adds parsers that learn nothing: left and right branching, random transitions (mean of 10
draws), and the rules alone (mean of 5, ties broken at random). To see what a model adds to its own rules,
name it with --rules. Under --protocol every_word, DDA and LAS equal UAS and LAS of the official UD
scorer (CoNLL 2018).

--raw scores parses of raw text, whose sentences and tokens are not the gold ones: F1 of tokens, sentences,
words, tags, lemmas and heads as in the CoNLL 2018 shared task. Both files must hold the same characters, and
heads that form trees. Where multiword tokens of both files overlap without being equal, the task's own script
may align other words: its scores of words and tags then differ, in our trials by at most .2 points.

  vdgi evaluate gold.conllu parsed.conllu --max-len 10,15,40 --by tag,rule,distance,length
  vdgi evaluate gold.conllu ours.conllu theirs.conllu --baselines --rules runs/my --format markdown
  vdgi evaluate gold.conllu 'runs/*/parsed.conllu' --format json
  vdgi evaluate --raw gold.conllu from-raw-text.conllu
"""

from __future__ import annotations

import argparse
import json

from dynet_vdgi.data import file_checks, files, protocols
from dynet_vdgi.errors import UsageError
from dynet_vdgi.system.names import plain

_MAX_LENS, _DRAWS = "10,15,40", 10_000

*_FIRST, _LAST = protocols.SCORING_PROTOCOLS
_PROTOCOLS = f"{', '.join(_FIRST)} or {_LAST}"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("gold", metavar="GOLD", help="CoNLL-U file with gold trees")
    parser.add_argument(
        "parses", nargs="*", metavar="PARSE", help="CoNLL-U files with parses of the same sentences"
    )
    parser.add_argument(
        "--max-len", default=_MAX_LENS, metavar="N,N", help="length limits (default: %(default)s)"
    )
    parser.add_argument(
        "--protocol",
        default="standard",
        metavar="NAME",
        help=f"{_PROTOCOLS} (default: %(default)s)",
    )
    parser.add_argument(
        "--by", default="", metavar="WHAT,WHAT", help="also break down by tag, rule, pair, distance or length"
    )
    parser.add_argument(
        "--rules",
        metavar="MODEL",
        help="rules for --by rule and --baselines: a model or run folder, a rule file, or a name such as ud "
        "(default: best)",
    )
    parser.add_argument(
        "--raw",
        action="store_true",
        help="score parses of raw text: Tokens, Sentences, Words, UPOS, ..., LAS",
    )
    parser.add_argument("--baselines", action="store_true", help="also score parsers that learn nothing")
    parser.add_argument(
        "--bootstrap",
        type=int,
        default=_DRAWS,
        metavar="N",
        help="draws for intervals and p values; 0: none (default: %(default)s)",
    )
    parser.add_argument(
        "--format", choices=("text", "markdown", "json"), default="text", help="default: %(default)s"
    )
    parser.add_argument(
        "--json",
        action="store_const",
        const="json",
        dest="format",
        help="short for --format json: all figures, accuracies from 0 to 1",
    )


def run(arguments: argparse.Namespace) -> None:
    if not arguments.parses and not arguments.baselines:
        raise UsageError("nothing to score: name a parse, or ask for --baselines")
    file_checks.check_read_once([arguments.gold, *arguments.parses])
    if arguments.bootstrap < 0:
        raise UsageError(f"--bootstrap {arguments.bootstrap}: a number of draws, or 0 for none")
    by = [name.strip() for name in arguments.by.split(",") if name.strip()]
    gold = _one_file(arguments.gold)
    if arguments.raw:
        _score_raw(gold, arguments)
        return
    from dynet_vdgi.evaluation import tables
    from dynet_vdgi.evaluation.files import score_files
    from dynet_vdgi.runs.run_folder import DEFAULT_RULES, rules_named

    used = rules_named(arguments.rules or DEFAULT_RULES)
    evaluations = score_files(
        gold,
        files.expand(arguments.parses),
        rules=used.rules,
        protocol=arguments.protocol,
        max_lens=_max_lens(arguments.max_len),
        by=by,
        baselines=arguments.baselines,
        tags=used.tags,
    )
    comparisons = tables.comparisons(evaluations, arguments.bootstrap)
    if arguments.format == "json":
        content = tables.to_dict(evaluations, comparisons)
        print(json.dumps({"gold": gold, "rules": used.name, **content}, indent=1))
    else:
        print(plain(tables.format_all(evaluations, by, comparisons, markdown=arguments.format == "markdown")))


def _score_raw(gold: str, arguments: argparse.Namespace) -> None:
    """Prints the scores of parses of raw text. Raises: UsageError, an option has no effect on them."""
    of_trees = {
        "--by": arguments.by,
        "--rules": arguments.rules,
        "--baselines": arguments.baselines,
        "--max-len": arguments.max_len != _MAX_LENS,
        "--protocol": arguments.protocol != protocols.STANDARD.name,
        "--bootstrap": arguments.bootstrap != _DRAWS,
    }
    if useless := [option for option, said in of_trees.items() if said]:
        raise UsageError(f"--raw scores all words of all sentences: leave out {', '.join(useless)}")
    from dynet_vdgi.evaluation import raw_scores

    found = raw_scores.score_files(gold, files.expand(arguments.parses))
    if arguments.format == "json":
        of_files = {name: raw_scores.to_dict(scores) for name, scores in found.items()}
        print(json.dumps({"gold": gold, "parses": of_files}, indent=1))
    else:
        print(plain(raw_scores.shown(found, markdown=arguments.format == "markdown")))


def _one_file(pattern: str) -> str:
    names = files.expand([pattern])
    if len(names) > 1:
        raise UsageError(f"GOLD must be one file; {pattern!r} stands for {len(names)}: {', '.join(names)}")
    return names[0]


def _max_lens(text: str) -> list[int | None]:
    try:
        limits = sorted({int(part) for part in text.split(",") if part.strip()})
    except ValueError:
        limits = [0]
    if any(limit < 1 for limit in limits):
        raise UsageError(f"--max-len {text}: expected numbers of words such as 10,15,40")
    return [*limits, None]
