"""The scores of runs on test sentences, compared with the baselines and published figures."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dynet_vdgi.baselines.trees import RULES_ONLY
from dynet_vdgi.data import conllu, conllu_blocks, files
from dynet_vdgi.data.protocols import Protocol, scoring_protocol
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.errors import DataError, UsageError
from dynet_vdgi.evaluation import published
from dynet_vdgi.evaluation.attachment import MAX_LENS, Evaluation, GoldTrees, paired
from dynet_vdgi.evaluation.beside_baselines import evaluate_baselines
from dynet_vdgi.evaluation.pairing import Heads
from dynet_vdgi.evaluation.tables import Comparison, compare
from dynet_vdgi.grammar.rules import RuleSet
from dynet_vdgi.grammar.tag_warnings import unknown_to_model
from dynet_vdgi.parsing.parser import Parser
from dynet_vdgi.runs.model_file import ModelFile
from dynet_vdgi.runs.run_folder import DEFAULT_RULES, NamedRules, rules_named
from dynet_vdgi.system.names import near

_BREAKDOWNS = ("length", "distance", "rule", "pair")
_LOGGER = logging.getLogger("dynet_vdgi")


@dataclass(frozen=True)
class PublishedRow:
    """Published figures by the labels of `attachment.length_label`: mean, and the best if printed."""

    name: str
    source: str
    figures: Mapping[str, tuple[float, float | None]]


@dataclass(frozen=True)
class ScoredRuns:
    """The runs' trees and scores on test sentences.

    `heads` are the runs' trees of `trees.sentences`, by name, with their `relations` (empty: there are none).
    `evaluations` has the runs first, then the baselines. `by_rule` has the evaluations under each rule table
    in use, by the table's name; those of the last table use the tags of `trees`.
    """

    gold: str
    trees: GoldTrees
    heads: Mapping[str, Sequence[Heads]]
    relations: Mapping[str, Sequence[tuple[str, ...]]]
    evaluations: Mapping[str, Evaluation]
    comparison: Comparison
    by_rule: Mapping[str, Mapping[str, Evaluation]]
    published: Sequence[PublishedRow] = ()


def score_runs(
    models: Mapping[str, ModelFile],
    gold: str,
    *,
    protocol: str | None = None,
    rules: NamedRules | None = None,
    dataset: str | None = None,
) -> ScoredRuns:
    """Parses the gold file's sentences with every model, and scores these trees and the baselines' trees.

    Without `rules`, every model is compared with its own training rules.

    Raises: DataError, the file is malformed, has no trees, or the protocol leaves nothing of it; UsageError,
    the models have several protocols and none is named, or there are no published figures.
    """
    the_protocol = _protocol(models, protocol)
    rows = _published(dataset) if dataset is not None else []
    max_lens = _max_lens([label for row in rows for label in row.figures])
    blocks = list(conllu_blocks.blocks(gold))
    parsed = {name: _parsed(name, model, blocks) for name, model in models.items()}
    by_rule: dict[str, Mapping[str, Evaluation]] = {}
    evaluations: dict[str, Evaluation] = {}
    groups = _groups(models, rules)
    for group in groups:
        sentences = [conllu.sentence_of(block, "required", group.tags) for block in blocks]
        trees = GoldTrees.of(sentences, the_protocol)
        if not trees.sentences:
            message = f"no sentence is left under protocol {the_protocol.name}"
            raise DataError(files.shown(gold), None, message)
        both = {name: paired(sentences, trees, the_protocol) for name, trees in parsed.items()}
        kept = {name: pair.heads for name, pair in both.items()}
        labelled = {name: pair.relations or [()] * len(pair.heads) for name, pair in both.items()}
        systems = {
            name: trees.evaluate(
                pair.heads, pair.relations, max_lens=max_lens, by=_BREAKDOWNS, rules=group.rules
            )
            for name, pair in both.items()
        }
        for name, baseline in evaluate_baselines(
            trees, group.rules, max_lens=max_lens, by=_BREAKDOWNS
        ).items():
            systems[f"{name} (baseline)"] = baseline
        by_rule[group.name] = dict(systems)
        if len(groups) > 1:
            systems[f"{group.name} only (baseline)"] = systems.pop(f"{RULES_ONLY} (baseline)")
        for name, system in systems.items():  # only figures independent of tags and rules: one table for all
            shared = {kind: system.breakdowns[kind] for kind in ("length", "distance")}
            systems[name] = replace(system, breakdowns=shared)
        evaluations = {**systems, **evaluations}
    return ScoredRuns(
        gold=Path(files.shown(gold)).name,
        trees=trees,
        heads=kept,
        relations=labelled,
        evaluations=evaluations,
        comparison=compare(evaluations),
        by_rule=by_rule,
        published=rows,
    )


def _groups(models: Mapping[str, ModelFile], rules: NamedRules | None) -> list[NamedRules]:
    """The distinct rules of the models, each named after the runs that use it; or the given rules.

    Models without rules, such as universal ones, stand beside the default rules, as in `vdgi evaluate`.
    """
    if rules is not None:
        return [rules]
    users: dict[tuple[RuleSet, str], list[str]] = {}
    for name, model in models.items():
        users.setdefault((model.rules, model.settings.data.tags), []).append(name)
    return [
        NamedRules(f"rules of {', '.join(names)}", rule_set, tags)
        if rule_set.rules
        else rules_named(DEFAULT_RULES)._replace(name=f"rules {DEFAULT_RULES}")
        for (rule_set, tags), names in users.items()
    ]


def _protocol(models: Mapping[str, ModelFile], name: str | None) -> Protocol:
    if name is not None:
        return scoring_protocol(name)
    theirs = sorted({model.settings.data.protocol for model in models.values()})
    if len(theirs) > 1:
        raise UsageError(f"the models have several protocols: choose one with --protocol {'|'.join(theirs)}")
    return scoring_protocol(theirs[0])


def _parsed(name: str, model: ModelFile, blocks: Sequence[conllu_blocks.Block]) -> list[Sentence]:
    """The sentences with the tags of the model's column, and with its trees and relations."""
    parser = Parser(model)
    tags = model.settings.data.tags
    sentences = [conllu.sentence_of(block, "ignored", tags) for block in blocks]
    parsed = list(parser.pipe(sentences))
    for line in unknown_to_model(parser.unknown_tags):
        _LOGGER.warning("%s: %s", name, line)
    return parsed


def _published(dataset: str) -> list[PublishedRow]:
    """Rows of DDA on a data set, one for each model of each table."""
    figures = [figure for figure in published.read() if figure.metric == "DDA"]
    mine = [figure for figure in figures if figure.dataset == dataset]
    if not mine:
        known = sorted({figure.dataset for figure in figures})
        there_are = ", ".join(near(dataset, known, 3, 0.6) or known)
        raise UsageError(f"--published {dataset}: no such data set (there are {there_are})")
    rows: dict[tuple[str, str], dict[str, tuple[float, float | None]]] = {}
    for figure in mine:
        rows.setdefault((figure.model, figure.table), {})[figure.length] = (figure.mean, figure.best)
    return [PublishedRow(model, table, cells) for (model, table), cells in rows.items()]


def _max_lens(labels: Sequence[str]) -> list[int | None]:
    """The usual length limits and those of these labels, all sentences last."""
    limits = {limit for limit in MAX_LENS if limit is not None}
    limits |= {int(label[2:]) for label in labels if label != "all"}
    return [*sorted(limits), None]
