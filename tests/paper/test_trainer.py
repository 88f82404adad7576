"""Training: batches, the log, what is kept, and that anything is learnt."""

from __future__ import annotations

import logging

import numpy as np
import pytest
import tiny
from hypothesis import given
from hypothesis import strategies as st
from tiny import Run
from wording import Wording

from dynet_vdgi.errors import VdgiError
from dynet_vdgi.evaluation.attachment import score
from dynet_vdgi.evaluation.branching import left_branching, right_branching
from dynet_vdgi.models import model_file
from dynet_vdgi.models.run_log import RunLog, console_row, end_of_stage, heading
from dynet_vdgi.paper.minibatches import minibatches
from dynet_vdgi.paper.optimiser import WeightsInDyNet

# Minibatches


@given(st.lists(st.integers(1, 5), max_size=40), st.integers(1, 6), st.integers(0, 2**32))
def test_minibatches_partition_the_data(lengths, size, seed):
    batches = minibatches(lengths, size, np.random.default_rng(seed))
    assert sorted(k for batch in batches for k in batch) == list(range(len(lengths)))
    for batch in batches:
        assert 1 <= len(batch) <= size
        assert len({lengths[k] for k in batch}) == 1
    full = sum(-(-lengths.count(length) // size) for length in set(lengths))
    # the same in every epoch, so that a checkpoint's place can be found again
    assert len(batches) == full
    assert minibatches(lengths, size, np.random.default_rng(seed)) == batches
    others = [
        minibatches([2, 3] * 20, 4, np.random.default_rng([seed, epoch])) for epoch in range(5)
    ]
    assert all(one not in others[:k] for k, one in enumerate(others))


# The log


def test_the_log_is_a_json_object_a_line_and_restarts_where_it_is_told(tmp_path):
    log = RunLog(tmp_path / "log.jsonl")
    assert log.rows() == []
    for row in ({"update": 1, "what": "š"}, {"update": 2}, {"update": 3}):
        log.append(row)
    log.restart(after_update=2)
    assert log.path.read_bytes() == '{"update": 1, "what": "š"}\n{"update": 2}\n'.encode()
    assert RunLog(log.path).rows() == [{"update": 1, "what": "š"}, {"update": 2}]
    log.restart(after_update=-1)
    assert log.path.read_bytes() == b""


@pytest.mark.parametrize(
    "rest", [b'{"upda', b'{"update": 3', b"\0\0\0\0", b"\n\n", b"nu", b'{"what": "\xc5']
)
def test_a_line_cut_by_a_crash_is_dropped(tmp_path, rest):
    log = RunLog(tmp_path / "log.jsonl")
    log.path.write_bytes(b'{"update": 1}\n' + rest)
    assert log.rows() == [{"update": 1}]
    log.restart(after_update=1)
    log.append({"update": 2})
    assert log.path.read_text(encoding="utf-8") == '{"update": 1}\n{"update": 2}\n'


def test_a_run_logs_every_evaluation(tmp_path, caplog):
    changes = {"train": {"batch_size": 2, "evaluate_every": 4, "updates": 10}}
    with caplog.at_level(logging.INFO, logger="dynet_vdgi"):
        trainer = tiny.trainer(tmp_path, changes, dev=True)
        trainer.train()
    rows = trainer.log.rows()
    assert [(row["epoch"], row["update"]) for row in rows] == [(0.667, 4), (1.333, 8), (1.667, 10)]
    assert [row["sentences"] for row in rows] == [8, 8, 4]
    assert all(0 <= row["dev_dda"] <= 1 and 1 <= row["gamma_ess"] <= 3 for row in rows)
    assert all(
        row["elbo_per_word"] < 0 and row["entropy"] > 0 and row["gradient_norm"] > 0 for row in rows
    )
    assert [record.getMessage() for record in caplog.records] == [
        heading(),
        *map(console_row, rows),
        end_of_stage(rows[-1], 3),
    ]
    summary = "end of pretrain: |lambda| 7.21, KL(q | q_omega) 0.520, 1.8 of 3 samples effective"
    last = {"phase": "pretrain", "lambda_norm": 7.2111, "kl": 0.52, "gamma_ess": 1.8333}
    assert end_of_stage(last, 3) == summary


# Learning


def test_training_learns_what_the_rules_say(tmp_path):
    changes = {
        "parser": {"hidden_dim": 12, "tag_dim": 8, "encoder_dropout": 0.0, "decoder_dropout": 0.0},
        "train": {"updates": 72, "samples": 10, "evaluate_every": 9, "lr": 0.05, "average": 0.9},
    }
    trainer = tiny.trainer(tmp_path, changes, n_sentences=36, dev=True)
    trainer.train()
    first, *_, last = trainer.log.rows()
    assert last["rules_per_sentence"] > 1.5 * first["rules_per_sentence"]
    assert last["elbo_per_word"] > first["elbo_per_word"]
    assert last["entropy"] < first["entropy"]
    gold = trainer.data.dev
    for branching in (left_branching, right_branching):
        assert (
            last["dev_dda"]
            > 0.15 + score(gold, [branching(len(sentence)) for sentence in gold]).dda
        )


# When it ends, and when it goes wrong


def test_divergence_is_said_and_leaves_the_last_checkpoint(tmp_path, monkeypatch, wording: Wording):
    original = WeightsInDyNet.gather
    taken: list[dict[str, float]] = []

    def gather(self: WeightsInDyNet) -> dict[str, float]:
        taken.append(original(self))
        return {**taken[-1], "decoder": np.nan} if len(taken) == 5 else taken[-1]

    monkeypatch.setattr(WeightsInDyNet, "gather", gather)
    run = Run(tmp_path)
    with wording.raises(VdgiError):
        run.train()
    model = model_file.load(run.out / "model.vdgi", training=True)
    assert model.progress["update"] == 3
    assert all(
        np.isfinite(array).all() for array in (*model.parameters.values(), *model.training.values())
    )
    assert [row["update"] for row in run.rows()] == [3]
