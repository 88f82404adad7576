"""Fine-tuning on the text after a teacher."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import brute_force
import pytest
import tiny

from dynet_vdgi.grammar.prior import Prior
from dynet_vdgi.runs.model_file import Provenance
from dynet_vdgi.settings.presets import merge
from dynet_vdgi.teachers.dmv import Dmv
from dynet_vdgi.variational.trainer import Trainer


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


def test_the_first_stage_sees_the_teachers_trees_and_the_second_the_text(tmp_path, monkeypatch):
    """And gold trees are seen by both; each stage has epochs of its own, of every sentence once."""
    seen, data = watch(monkeypatch), tiny.data(tmp_path)
    taught = Dmv().fit(data.sentences, Prior.of_text(data.rules, data.sentences)).predict(data.sentences)
    changes = {"teacher": {"kind": "dmv"}, "train": {"updates": 0, "epochs": 2}, "finetune": {"epochs": 2}}
    settings = merge(tiny.settings({"train": {"batch_size": 2}}), changes)
    both = replace(data, taught=taught, trees=data.sentences[:4])
    trainer = Trainer(settings, both, Provenance(), tmp_path)
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
    assert {row["phase"] for row in rows if "rules_per_sentence" in row} == {"finetune"}
    for k, tree in zip(sorted(made), taught):
        assert brute_force.heads_from(trainer.gold[k], len(tree)) == tree.heads
