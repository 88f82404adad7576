"""The arc prior in posterior regularisation, and fine-tuning on the text after a teacher."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import brute_force
import numpy as np
import pytest
import tiny
from networks import (
    SENTENCE,
    TAGS,
)
from tiny import same_arrays

from dynet_vdgi.grammar.prior import Prior
from dynet_vdgi.grammar.rules import load_rules, parse_rules
from dynet_vdgi.model.greedy import GreedyParser
from dynet_vdgi.model.per_sentence import Samples
from dynet_vdgi.runs import model_file
from dynet_vdgi.runs.model_file import Provenance
from dynet_vdgi.settings.config import rules_path
from dynet_vdgi.settings.neural_settings import PosteriorSettings
from dynet_vdgi.settings.presets import merge
from dynet_vdgi.teachers.dmv import Dmv
from dynet_vdgi.variational.phases import Lambda, Potentials, Pretraining
from dynet_vdgi.variational.trainer import Trainer, expected_dda

Floats = Any

TABLE = parse_rules(
    """
[rules] (a)
rule strength = 2
ROOT VERB 1
ROOT NOUN 0.5
VERB NOUN 1
NOUN ADJ 0.5 left
[short arcs] (b)
short arcs = 0.25
"""
)
BY_HAND = {
    (2, 3, 0): 1 + 2 + 2,
    (3, 3, 0): -0.25 + 2 + 2,
    (2, 0, 2): 1 + 1 + 0,
    (0, 1, 1): 0 + 0 - 0.25,
    (0, 1, 2): 0 + 0 + 0,
    (0, 3, 1): 0 + 2 - 0.25,
    (3, 1, 0): -0.25 + 0 + 2,
}
"""Log-potentials of the seven trees of ADJ NOUN VERB, which is SENTENCE."""


def potentials(rules: Any = TABLE) -> Potentials:
    return Potentials(Prior(rules), TAGS)


def lambda_of(strength: float, **changes: Any) -> Lambda:
    settings = PosteriorSettings(features="potentials", strength=strength, **changes)
    return Lambda(settings, potentials().expectations, joint=True)


def samples_of(trees: Sequence[tuple[int, ...]], seed: int = 0) -> Samples:
    rng = np.random.default_rng(seed)
    return Samples([], list(trees), rng.normal(-3, 1, len(trees)), rng.normal(-9, 2, len(trees)))


# The feature


def test_the_feature_is_the_sum_of_the_log_potentials_of_the_arcs():
    assert set(BY_HAND) == set(brute_force.projective_trees(len(SENTENCE)))
    found = potentials()(SENTENCE, list(BY_HAND))
    assert found.tolist() == [[value] for value in BY_HAND.values()]


@pytest.mark.parametrize(
    ("strength", "dynamics"), [(0.5, "fixed"), (1.0, "fixed"), (2.0, "fixed"), (2.0, "off")]
)
def test_gamma_is_the_prior_to_the_power_of_the_strength(strength, dynamics):
    trees = [tree for tree in BY_HAND for _ in range(2)]
    phase = Pretraining(potentials(), lambda_of(strength, dynamics=dynamics))
    power = strength if dynamics == "fixed" else 0.0
    assert phase.lam.value.tolist() == [power]
    tilted = [math.exp(power * BY_HAND[tree]) for tree in trees]
    for_encoder, for_decoder = phase(SENTENCE, samples_of(trees))
    assert for_encoder == pytest.approx([value / sum(tilted) for value in tilted])
    assert for_decoder.tolist() == for_encoder.tolist()
    gamma = for_encoder * len(trees)
    figures = phase.diagnostics.averages()
    assert figures["prior_per_sentence"] == pytest.approx(np.mean([BY_HAND[tree] for tree in trees]))
    assert "rules_per_sentence" not in figures
    assert figures["kl"] == pytest.approx(float(np.mean(gamma * np.log(gamma))))
    assert figures["gamma_ess"] == pytest.approx(gamma.sum() ** 2 / (gamma**2).sum())
    assert phase.joint_values() == {}


# In a run

UNDER_THE_PRIOR: dict[str, Any] = {"rules": "best", "posterior": {"features": "potentials", "strength": 1.0}}
TAUGHT: dict[str, Any] = {**UNDER_THE_PRIOR, "teacher": {"kind": "dmv"}, "finetune": {"updates": 7}}


def test_the_prior_is_that_of_the_training_text(tmp_path):
    data = replace(tiny.data(tmp_path), rules=load_rules(rules_path("best")))
    trainer = Trainer(tiny.settings(UNDER_THE_PRIOR), data, Provenance(), tmp_path)
    of_text = Prior.of_text(data.rules, data.sentences)
    unmeasured, tags = Prior(data.rules), data.vocabulary.tags
    differ = 0
    for sentence, encoded in zip(data.sentences, trainer.encoded):
        trees = [chain(len(sentence)), chain(len(sentence))[::-1]]
        found = trainer.features(encoded, trees)
        assert found.tolist() == Potentials(of_text, tags)(encoded, trees).tolist()
        differ += found.tolist() != Potentials(unmeasured, tags)(encoded, trees).tolist()
    assert differ


def chain(n: int) -> tuple[int, ...]:
    return tuple(range(n))


def watch(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, bool, list[int]]]:
    """Phase, whether trees are learnt, and numbers of the sentences of every update that follows."""
    seen: list[tuple[str, bool, list[int]]] = []
    original = Trainer.update

    def update(self: Trainer, batch: Any) -> float:
        assert len({k in self.gold for k in batch}) == 1
        seen.append((self.phase.name, batch[0] in self.gold, list(batch)))
        return original(self, batch)

    monkeypatch.setattr(Trainer, "update", update)
    return seen


def in_parts(folder: Path, changes: Any, n_trees: int = 4) -> Trainer:
    """Twelve sentences, a teacher's trees of them, and some gold trees."""
    data = tiny.data(folder)
    rules = load_rules(rules_path("best"))
    teacher = Dmv().fit(data.sentences, Prior.of_text(rules, data.sentences))
    made = teacher.predict(data.sentences)
    settings = merge(tiny.settings({"train": {"batch_size": 2}}), changes)
    both = replace(data, rules=rules, taught=made, trees=data.sentences[:n_trees])
    if settings.train.select == "teacher":
        both = replace(both, marginals=teacher.marginals(data.sentences))
    return Trainer(settings, both, Provenance(), folder)


def test_the_first_stage_sees_the_teachers_trees_and_the_second_the_text(tmp_path, monkeypatch):
    """And gold trees are seen by both; each stage has epochs of its own, of every sentence once."""
    seen = watch(monkeypatch)
    trainer = in_parts(tmp_path, {**TAUGHT, "train": {"updates": 0, "epochs": 2}, "finetune": {"epochs": 2}})
    text, made, gold = set(range(12)), set(range(12, 24)), set(range(24, 28))
    assert [(stage.source, stage.first, stage.origin) for stage in trainer.stages] == [
        ("teacher", 0, 0),
        ("text", 2 * trainer.per_epoch, 2 * trainer.per_epoch),
    ]
    trainer.train()
    for name, own in (("pretrain", made), ("finetune", text)):
        batches = [batch for phase, _, batch in seen if phase == name]
        for epoch in (batches[: len(batches) // 2], batches[len(batches) // 2 :]):
            assert sorted(k for batch in epoch for k in batch) == sorted(own | gold)
    for _, are_trees, batch in seen:
        assert are_trees == (not set(batch) <= text)
    rows = trainer.log.rows()
    for name in ("pretrain", "finetune"):
        assert [row["epoch"] for row in rows if row["phase"] == name][-1] == 2.0
    sampled = {row["phase"] for row in rows if "prior_per_sentence" in row}
    assert sampled == {"finetune"}
    for k, tree in zip(sorted(made), trainer.data.taught):
        assert brute_force.heads_from(trainer.gold[k], len(tree)) == tree.heads


# What the teacher expects


def test_expected_dda_is_the_mean_probability_of_the_arcs():
    two = np.array([[0.75, 0.25], [0.0, 0.75], [0.25, 0.0]])
    one = np.array([[1.0], [0.0]])
    assert expected_dda([two, one], [(0, 1), (0,)]) == (0.75 + 0.75 + 1) / 3
    assert expected_dda([two, one], [(2, 0), (0,)]) == (0.25 + 0.25 + 1) / 3


@pytest.mark.parametrize(("after", "kept"), [((0.5, 0.4), 4), ((0.7, 0.9), 8), ((0.9, 0.7), 6)])
def test_fine_tuning_is_kept_only_if_the_teacher_expects_more(tmp_path, monkeypatch, caplog, after, kept):
    """Evaluated after 2, 4 (the border), 6 and 8 updates."""
    figures, weights = iter([0.5, 0.8, *after]), {}
    changes = {**TAUGHT, "train": {"updates": 4, "evaluate_every": 2, "select": "teacher"}}
    trainer = in_parts(tmp_path, {**changes, "finetune": {"updates": 4}})
    original = Trainer._scores

    def scores(self: Trainer) -> dict[str, float]:
        weights[self.updates] = {name: np.array(array) for name, array in self._present().items()}
        return original(self)

    monkeypatch.setattr("dynet_vdgi.variational.trainer.expected_dda", lambda *_: next(figures))
    monkeypatch.setattr(Trainer, "_scores", scores)
    with caplog.at_level(logging.INFO, logger="dynet_vdgi"):
        trainer.train()
    model = model_file.load(tmp_path / "model.vdgi", training=True)
    assert same_arrays(model.parameters, dict(sorted(weights[kept].items())))  # as they are in files
    best = max(0.8, *after)
    assert (model.provenance.expected_dda, model.provenance.dev_dda) == (best, None)
    phase = "pretrain" if kept == 4 else "finetune"
    assert caplog.messages[-1] == (
        f"kept: update {kept} ({phase}); the teacher expects {100 * best:.1f} % of its arcs to be right, "
        f"of the last's {100 * after[1]:.1f} %"
    )


def test_what_the_teacher_expects_is_asked_of_the_text(tmp_path):
    """Of the greedy trees of all sentences at every evaluation; the teacher's own trees expect the most."""
    trainer = in_parts(tmp_path, {**TAUGHT, "train": {"updates": 2, "select": "teacher"}})
    parser = GreedyParser(trainer._present(), trainer.data.vocabulary, trainer.settings.parser)
    heads = parser.parse(trainer.encoded[:12])
    assert trainer._scores() == {"expected_dda": expected_dda(trainer.data.marginals, heads)}
    most = expected_dda(trainer.data.marginals, [tree.heads or () for tree in trainer.data.taught])
    trainer.train()
    found = [row["expected_dda"] for row in trainer.log.rows()]
    assert len(found) == 5  # after 2, and 4, 6, 8, 9 updates
    assert max(found) <= most + 1e-5
