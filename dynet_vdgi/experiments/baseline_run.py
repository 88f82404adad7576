"""A treebank's baselines, scored on its test files under each protocol of its systems."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from dynet_vdgi.baselines.trees import baseline_trees
from dynet_vdgi.data import conllu
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.errors import DataError
from dynet_vdgi.evaluation.attachment import GoldTrees, score_sentence
from dynet_vdgi.experiments.tasks import Task, write_json
from dynet_vdgi.grammar.rules import RuleSet, load_rules
from dynet_vdgi.settings.bundled import rules_path


def perform(task: Task) -> None:
    """Writes the baselines' file. Raises: DataError if nothing is left to score."""
    settings = task.settings()
    rules = load_rules(rules_path(settings.rules))
    tags = settings.data.tags
    gold = [sentence for test in task.test for sentence in conllu.read(test, heads="required", tags=tags)]
    by_protocol: dict[str, Any] = {}
    for name in task.protocols:
        trees = GoldTrees.of(gold, name)
        if not trees.sentences:
            raise DataError(", ".join(task.test), None, f"no sentence is left under protocol {name}")
        by_protocol[name] = {
            "policy": trees.policy,
            "words": [len(sentence) for sentence in trees.sentences],
            "right": _right(trees.sentences, rules),
        }
    write_json(task.result, {"key": task.key, "parts": dict(task.parts), "protocols": by_protocol})


def _right(sentences: Sequence[Sentence], rules: RuleSet) -> dict[str, list[float]]:
    """Words with the right head in each sentence, by baseline; means over draws."""

    def directed(heads: Iterable[Sequence[int]]) -> list[Any]:
        return [score_sentence(*both).directed for both in zip(sentences, heads)]

    return {
        name: np.mean([directed(heads) for heads in draws], axis=0).tolist()
        for name, draws in baseline_trees(sentences, rules).items()
    }
