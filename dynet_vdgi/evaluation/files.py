"""Scores of CoNLL-U files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dynet_vdgi.data import conllu
from dynet_vdgi.data.protocols import STANDARD, Protocol
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.errors import DataError
from dynet_vdgi.evaluation.attachment import MAX_LENS, Evaluation, GoldTrees, evaluate
from dynet_vdgi.evaluation.beside_baselines import evaluate_baselines
from dynet_vdgi.grammar.rules import RuleSet


def score_files(
    gold: str | Path,
    parses: Sequence[str | Path],
    *,
    rules: RuleSet,
    protocol: str | Protocol = STANDARD,
    max_lens: Sequence[int | None] = MAX_LENS,
    by: Sequence[str] = (),
    baselines: bool = False,
    tags: str = "upos",
) -> dict[str, Evaluation]:
    """Scores of every parse by its file name, or by its path if the name is taken; then of the baselines.

    The rules serve the break-down by rule and the baseline "rules only"; `tags` is the column of the tags in
    these rules.

    Raises: DataError, a file is malformed, has no trees, or does not hold the sentences of the gold file;
    ConfigError, UsageError, no such protocol, no such break-down.
    """
    evaluations: dict[str, Evaluation] = {}
    sentences: list[Sentence] = []
    for path in parses:
        sentences = sentences or list(conllu.read(gold, heads="required", tags=tags))
        parsed = conllu.read(path, heads="required", tags=tags)
        found = evaluate(sentences, parsed, protocol=protocol, max_lens=max_lens, by=by, rules=rules)
        name = Path(path).name
        evaluations[str(path) if name in evaluations else name] = found
    if baselines:
        sentences = sentences or list(conllu.read(gold, heads="required", tags=tags))
        trees = GoldTrees.of(sentences, protocol)
        if not trees.sentences:
            raise DataError(str(gold), None, f"no sentence is left under protocol {trees.protocol.name}")
        evaluations |= evaluate_baselines(trees, rules, max_lens=max_lens, by=by)
    return evaluations
