"""The page about runs: their logs, scores and trees."""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dynet_vdgi._version import __version__
from dynet_vdgi.data import conllu, conllu_blocks, files
from dynet_vdgi.data.sentence import Sentence, scoring_protocol
from dynet_vdgi.drawing import pictures
from dynet_vdgi.drawing.text import tree_of
from dynet_vdgi.errors import DataError, UsageError
from dynet_vdgi.evaluation import tables
from dynet_vdgi.evaluation.attachment import Evaluation, GoldTrees, Heads, paired, percent
from dynet_vdgi.evaluation.tables import DRAWS, Comparison, comparisons, evaluate_baselines
from dynet_vdgi.grammar.rules import unknown_to_model
from dynet_vdgi.parsing.parser import Parser
from dynet_vdgi.runs import model_file
from dynet_vdgi.runs.model_file import ModelFile
from dynet_vdgi.runs.run_folder import DEFAULT_RULES, NamedRules, RunLog, model_path, rules_named
from dynet_vdgi.settings import config
from dynet_vdgi.system.names import aligned


@dataclass(frozen=True)
class Run:
    """A run as read from its folder: `meta` of the model file, `settings` as TOML, `rows` of the log."""

    name: str
    meta: Mapping[str, Any]
    settings: str
    n_weights: int = 0
    rows: Sequence[Mapping[str, Any]] = ()


def run_folders(names: Sequence[str]) -> dict[str, Path]:
    """Folders of runs by unique name: the folder's own name, or else the whole path.

    Raises: UsageError if a folder does not exist, or is a file.
    """
    found: dict[str, Path] = {}  # by real path, so that each run is shown once
    for name in names:
        if not os.path.exists(name):
            raise UsageError(f"no such folder: {name!r}")
        if not os.path.isdir(name):
            raise UsageError(f"{name!r} is not the folder of a run (name the one that vdgi train wrote)")
        found.setdefault(os.path.realpath(name), Path(name))
    short = [path.resolve().name for path in found.values()]
    return {name if short.count(name) == 1 else str(path): path for name, path in zip(short, found.values())}


def load_models(folders: Mapping[str, Path]) -> dict[str, ModelFile]:
    """Raises: ModelError for a folder without a model, or with a damaged one."""
    return {name: model_file.load(model_path(folder)) for name, folder in folders.items()}


def run_of(name: str, folder: Path, model: ModelFile) -> Run:
    """The run in a folder, as the page presents it."""
    return Run(
        name,
        model.meta,
        model.settings.to_toml().rstrip(),
        model.n_weights,
        [row for row in RunLog(folder / config.LOG_NAME).rows() if isinstance(row, dict)],
    )


# ------------------------------------------------------------------------------------------- scores
BREAKDOWNS = ("length", "distance", "rule")
_LOGGER = logging.getLogger("dynet_vdgi")


@dataclass(frozen=True)
class ScoredRuns:
    """The runs' trees and scores on test sentences.

    `heads` are the runs' trees of `trees.sentences`, by name, with their `relations` (empty: there are none).
    `evaluations` has the runs first, then the baselines; `rules` names the table of the break-down by rule.
    """

    gold: str
    trees: GoldTrees
    heads: Mapping[str, Sequence[Heads]]
    relations: Mapping[str, Sequence[tuple[str, ...]]]
    evaluations: Mapping[str, Evaluation]
    comparisons: Mapping[str, Comparison]
    rules: str


def score_runs(
    models: Mapping[str, ModelFile],
    gold: str,
    *,
    protocol: str | None = None,
    rules: NamedRules | None = None,
) -> ScoredRuns:
    """Parses the gold file's sentences with every model, and scores these trees and the baselines' trees.

    `rules`, for the break-down by rule and the baseline, are by default those of the first model, or
    `DEFAULT_RULES` if it has none, as universal models.

    Raises: DataError, the file is malformed, has no trees, or the protocol leaves nothing of it; UsageError,
    the models have several protocols and none is named.
    """
    theirs = sorted({model.settings.data.protocol for model in models.values()})
    if protocol is None and len(theirs) > 1:
        choices = "|".join(theirs)
        raise UsageError(f"the models have several protocols: choose one with --protocol {choices}")
    the_protocol = scoring_protocol(protocol or theirs[0])
    blocks = list(conllu_blocks.blocks(gold))
    parsed: dict[str, list[Sentence]] = {}
    for name, model in models.items():
        parser, tags = Parser(model), model.settings.data.tags
        parsed[name] = list(parser.pipe([conllu.sentence_of(block, "ignored", tags) for block in blocks]))
        for line in unknown_to_model(parser.unknown_tags):
            _LOGGER.warning("%s: %s", name, line)
    name, first = next(iter(models.items()))
    rules = rules or (
        NamedRules(f"rules of {name}", first.rules, first.settings.data.tags)
        if first.rules.rules
        else rules_named(DEFAULT_RULES)._replace(name=f"rules {DEFAULT_RULES}")
    )
    sentences = [conllu.sentence_of(block, "required", rules.tags) for block in blocks]
    trees = GoldTrees.of(sentences, the_protocol)
    if not trees.sentences:
        raise DataError(files.shown(gold), None, f"no sentence is left under protocol {the_protocol.name}")
    pairs = {name: paired(sentences, its, the_protocol) for name, its in parsed.items()}
    evaluations = {
        name: trees.evaluate(pair.heads, pair.relations, by=BREAKDOWNS, rules=rules.rules)
        for name, pair in pairs.items()
    }
    baselines = evaluate_baselines(trees, rules.rules, by=BREAKDOWNS)
    evaluations |= {f"{name} (baseline)": baseline for name, baseline in baselines.items()}
    return ScoredRuns(
        gold=Path(files.shown(gold)).name,
        trees=trees,
        heads={name: pair.heads for name, pair in pairs.items()},
        relations={name: pair.relations or [()] * len(pair.heads) for name, pair in pairs.items()},
        evaluations=evaluations,
        comparisons=comparisons(evaluations, DRAWS),
        rules=rules.name,
    )


# ------------------------------------------------------------------------------------------- the log
MEASURED = {
    "dev_dda": "dev DDA",
    "elbo_per_word": "ELBO per word",
    "lambda_norm": "|lambda|",
    "rules_per_sentence": "rules per sentence",
    "prior_per_sentence": "log-potential per sentence",
    "entropy": "entropy of the encoder",
}
"""Keys of a log's rows, and titles."""

MOST_ROWS = 20


def measured(run: Run) -> str:
    """The measurements in the log of a run by the number of updates, at most `MOST_ROWS`; "" without any."""
    rows = [row for row in run.rows if number_in(row, "update") is not None]
    keys = [key for key in MEASURED if any(number_in(row, key) is not None for row in rows)]
    kept = [row for row in rows if any(number_in(row, key) is not None for key in keys)]
    if not kept:
        return ""
    chosen = [*kept[:: -(-len(kept) // (MOST_ROWS - 1))]]
    chosen += [kept[-1]] if chosen[-1] is not kept[-1] else []
    lines = [["update", *(MEASURED[key] for key in keys)]]
    for row in chosen:
        numbers = [number_in(row, key) for key in ("update", *keys)]
        lines.append(["-" if number is None else f"{number:.4g}" for number in numbers])
    return aligned(lines, left=0)


def number_in(row: Mapping[str, Any], key: str) -> float | None:
    """The number under a key; None if there is no number."""
    value = row.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return float(value)


# ----------------------------------------------------------------------------------------------------
# One HTML page about runs: their training, scores and some of their trees.
#
# The page stands alone: style and pictures are inside, there are no scripts, and nothing is fetched. Its
# text is in `page.html.j2`, where Jinja2 escapes whatever comes from files.


TEMPLATE = Path(__file__).with_name("page.html.j2")
SHORTEST, LONGEST = 5, 40
"""Lengths of the sentences shown, in words."""

_KINDS = {
    "neural": "neural parser",
    "taught": "perceptron",
    "few-trees": "parser that has learnt from trees",
    "universal": "universal parser",
}
"""What the parser of each recipe is called."""


# ------------------------------------------------------------------------------------------- runs
def _card(run: Run) -> dict[str, Any]:
    """The page's section on one run."""
    meta = run.meta
    versions = [f"{name} {meta[name]}" for name in ("python", "dynet", "numpy") if meta.get(name)]
    kind, updates = _KINDS.get(meta.get("recipe", "neural"), "parser"), meta.get("updates")
    trained_on = (meta.get("trained_on") or {}).items()
    # Logged time of updates and teaching; dev scoring and reading are not included.
    cpu, wall = (sum(number_in(row, key) or 0.0 for row in run.rows) for key in ("cpu_s", "wall_s"))
    times = [f"{cpu:,.0f} CPU seconds"] * bool(cpu) + [f"{wall:,.0f} s by the clock"] * bool(wall)
    logged = [value for row in run.rows if (value := number_in(row, "dev_dda")) is not None]
    dev = f"{percent(logged[-1])} per cent (last logged)" if logged else ""
    if (chosen := number_in(meta, "dev_dda")) is not None:  # of the weights that were kept
        dev = f"{percent(chosen)} per cent"
    facts = {
        "Model": f"{kind}, {run.n_weights:,} weights" + (f", {updates} updates" if updates else ""),
        "Preset": meta.get("preset"),
        "Protocol": meta.get("protocol"),
        "Trained on": ", ".join(f"{number:,} {name}" for name, number in trained_on),
        "Left out": "; ".join(map(str, meta.get("dropped") or ())),
        "Versions": "; ".join([f"dynet_vdgi {meta.get('version', '-')}", *versions]),
        "Seed": meta.get("seed"),
        "Created": meta.get("created"),
        "Time": f"{', '.join(times)} (as logged)" if times else "",
        "Dev DDA": dev,
    }
    columns = "role", "name", "sha256"
    return {
        "name": run.name,
        "gold_trees": "; ".join(map(str, meta.get("gold_trees") or ())) or "none",
        "facts": [(name, str(value)) for name, value in facts.items() if value not in (None, "")],
        "files": [[str(item.get(key, "-")) for key in columns] for item in meta.get("data") or ()],
        "log": measured(run),
        "settings": run.settings,
        "warning": "" if meta.get("complete", True) else "Training has not ended: this is a checkpoint.",
    }


# ------------------------------------------------------------------------------------------- trees
def extremes(evaluation: Evaluation, n: int) -> tuple[list[int], list[int]]:
    """The sentences with the highest and the lowest DDA, of `SHORTEST` to `LONGEST` words, longer ones first.

    No sentence is in both lists; if there are few, the best list is filled first.
    """
    counts = dict(enumerate(evaluation.per_sentence))
    shares = {k: right / words for k, (right, words) in counts.items() if SHORTEST <= words <= LONGEST}
    best = sorted(shares, key=lambda k: (-shares[k], -counts[k][1], k))[:n]
    worst = sorted(shares.keys() - set(best), key=lambda k: (shares[k], -counts[k][1], k))[:n]
    return best, worst


# ------------------------------------------------------------------------------------------- the page
def template() -> Any:
    """The Jinja2 template of the page."""
    import jinja2

    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(TEMPLATE.read_text(encoding="utf-8"))


def render(runs: Sequence[Run], scored: ScoredRuns | None = None, *, n_sentences: int = 5) -> str:
    """The page as HTML text; with `scored`, also all runs' scores and `n_sentences` best and worst trees."""
    scores: dict[str, Any] | None = None
    if scored is not None:
        galleries: dict[str, list[tuple[str, list[tuple[str, str]]]]] = {}
        for name in scored.heads if n_sentences else ():
            its, chosen = scored.evaluations[name], extremes(scored.evaluations[name], n_sentences)
            galleries[name] = [("Best", []), ("Worst", [])]
            for (_, figures), some in zip(galleries[name], chosen):
                for k in some:
                    gold, (right, words) = scored.trees.sentences[k], its.per_sentence[k]
                    own = replace(gold, heads=scored.heads[name][k], deprels=scored.relations[name][k])
                    tree = tree_of(own, gold, protocol=scored.trees.protocol)
                    caption = f"Sentence {scored.trees.numbers[k]}: {right:.0f} of {words} heads right"
                    figures.append((caption, pictures.svg_document([tree])))
        scores = {
            "gold": scored.gold,
            "figures": tables.format_all(scored.evaluations, BREAKDOWNS, scored.comparisons),
            "rules": scored.rules,
            "galleries": galleries,
        }
    page = template().render(
        version=__version__,
        names=[run.name for run in runs],
        cards=[_card(run) for run in runs],
        scores=scores,
        lengths=f"{SHORTEST} to {LONGEST}",
    )
    # Names of files that are not UTF-8 hold lone surrogates, which are not allowed in a page.
    return str(page).encode(errors="replace").decode()
