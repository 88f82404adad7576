"""Training: batches, the log, learning at all, and resuming as if nothing had happened."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny
from hypothesis import given
from hypothesis import strategies as st

from dynet_vdgi.baselines.branching import left_branching, right_branching
from dynet_vdgi.commands import train
from dynet_vdgi.config import Settings
from dynet_vdgi.errors import DataError, ModelError, UsageError, VdgiError
from dynet_vdgi.evaluation.attachment import score
from dynet_vdgi.learning import checkpoint, training
from dynet_vdgi.learning.checkpoint import ModelFile
from dynet_vdgi.learning.optimiser import AdaGrad
from dynet_vdgi.learning.runlog import COLUMNS, RunLog, console_row, heading
from dynet_vdgi.learning.training import Trainer, minibatches

Changes = Mapping[str, Mapping[str, Any]]

UPDATES = 8  # of the runs here; an epoch has 6
TIMES = ("cpu_s", "wall_s", "sentences_per_cpu_s")

# Minibatches


@given(st.lists(st.integers(1, 5), max_size=40), st.integers(1, 6), st.integers(0, 2**32))
def test_minibatches_partition_the_data(lengths: list[int], size: int, seed: int) -> None:
    batches = minibatches(lengths, size, np.random.default_rng(seed))
    assert sorted(k for batch in batches for k in batch) == list(range(len(lengths)))
    for batch in batches:
        assert 1 <= len(batch) <= size
        assert len({lengths[k] for k in batch}) == 1
    full = sum(-(-lengths.count(length) // size) for length in set(lengths))
    assert len(batches) == full  # the same in every epoch, so that a checkpoint's place can be found again
    assert minibatches(lengths, size, np.random.default_rng(seed)) == batches


def test_minibatches_differ_from_epoch_to_epoch() -> None:
    lengths = [2, 3] * 20
    orders = [minibatches(lengths, 4, np.random.default_rng([1, epoch])) for epoch in range(5)]
    assert len({json.dumps(order) for order in orders}) == 5
    assert len({order[0][0] for order in orders}) > 1


# The log


def test_the_log_is_a_json_object_a_line(tmp_path: Path) -> None:
    log = RunLog(tmp_path / "log.jsonl")
    assert log.rows() == []
    log.append({"update": 1, "what": "š"})
    log.append({"update": 2})
    assert (tmp_path / "log.jsonl").read_bytes() == '{"update": 1, "what": "š"}\n{"update": 2}\n'.encode()
    assert RunLog(tmp_path / "log.jsonl").rows() == [{"update": 1, "what": "š"}, {"update": 2}]


@pytest.mark.parametrize("rest", ['{"upda', '{"update": 3', "\0\0\0\0", "\n\n", "null"[:2]])
def test_a_line_cut_by_a_crash_is_dropped(tmp_path: Path, rest: str) -> None:
    log = RunLog(tmp_path / "log.jsonl")
    log.append({"update": 1})
    with open(log.path, "a", encoding="utf-8") as handle:
        handle.write(rest)
    assert log.rows() == [{"update": 1}]
    log.restart(after_update=1)
    log.append({"update": 2})
    assert log.path.read_text(encoding="utf-8") == '{"update": 1}\n{"update": 2}\n'


def test_a_line_cut_inside_a_letter_is_dropped(tmp_path: Path) -> None:
    log = RunLog(tmp_path / "log.jsonl")
    log.path.write_bytes(b'{"update": 1}\n{"what": "\xc5')
    assert log.rows() == [{"update": 1}]


def test_restart_drops_later_rows(tmp_path: Path) -> None:
    log = RunLog(tmp_path / "log.jsonl")
    for update in (2, 4, 6):
        log.append({"update": update})
    log.restart(after_update=4)
    assert log.rows() == [{"update": 2}, {"update": 4}]
    log.restart(after_update=-1)
    assert log.path.read_bytes() == b""


def test_console_rows_stand_under_their_headings() -> None:
    full = dict(
        zip((key for _, key, _, _ in COLUMNS), ("pretrain", 1.25, 1234, -3.456, 12.3, 4.5, 3.6, 17.2, 0.5))
    )
    full["sentences_per_cpu_s"] = 245.3
    title, row, empty = heading(), console_row(full), console_row({})
    assert len(title) == len(row) == len(empty)
    assert row.split() == [
        "pretrain",
        "1.2",
        "1234",
        "-3.456",
        "12.30",
        "4.50",
        "3.60",
        "17.2",
        "0.500",
        "245",
    ]
    assert empty.split() == ["-"] * len(COLUMNS)
    end = -1
    for name, _, width, _ in COLUMNS:
        end += int(width) + 1
        assert title[:end].endswith(name)
        assert row[end - 1] != " "
        assert row[end : end + 1] in (" ", "")


def test_a_run_logs_every_evaluation(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    changes = {"train": {"batch_size": 2, "evaluate_every": 4, "updates": 10}}
    with caplog.at_level(logging.INFO, logger="dynet_vdgi"):
        trainer = tiny.trainer(tmp_path, changes, dev=True)
        trainer.train()
    rows = trainer.log.rows()
    assert [(row["epoch"], row["update"]) for row in rows] == [(0.667, 4), (1.333, 8), (1.667, 10)]
    assert [row["sentences"] for row in rows] == [8, 8, 4]
    assert all(0 <= row["dev_dda"] <= 1 and 1 <= row["gamma_ess"] <= 3 for row in rows)
    assert all(row["elbo_per_word"] < 0 and row["entropy"] > 0 and row["gradient_norm"] > 0 for row in rows)
    assert [record.getMessage() for record in caplog.records] == [heading(), *map(console_row, rows)]


# Learning


def test_training_learns_what_the_rules_say(tmp_path: Path) -> None:
    changes = {
        "model": {"hidden_dim": 12, "tag_dim": 8, "encoder_dropout": 0.0, "decoder_dropout": 0.0},
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
        assert last["dev_dda"] > 0.15 + score(gold, [branching(len(sentence)) for sentence in gold]).dda


def test_heads_do_not_matter_to_the_standard_protocol(tmp_path: Path, whole: tuple[Run, ModelFile]) -> None:
    tiny.write(tmp_path / "train.conllu", heads=False)
    assert same_arrays(Run(tmp_path).train().parameters, whole[1].parameters)


# Resuming


class Run:
    """`vdgi train` on the tiny treebank, in a folder of its own, that can be interrupted."""

    def __init__(self, folder: Path, changes: Changes | None = None, *, dev: bool = False) -> None:
        self.folder, self.out, self.dev = folder, folder / "run", dev
        self.settings: Settings = tiny.settings(
            {
                "train": {
                    "batch_size": 2,
                    "updates": UPDATES,
                    "evaluate_every": 3,
                    **(changes or {}).get("train", {}),
                }
            }
        )
        for section, values in (changes or {}).items():
            if section != "train":
                self.settings = tiny.config.merge(self.settings, {section: values})

    def train(self, *, resume: bool = False) -> ModelFile:
        self.folder.mkdir(exist_ok=True)
        path = self.folder / "train.conllu"
        if not path.exists():
            tiny.write(path)
        if self.dev and not (self.folder / "dev.conllu").exists():
            tiny.write(self.folder / "dev.conllu", 6)
        model = train.train(
            train_files=[str(path)],
            dev_files=[str(self.folder / "dev.conllu")] if self.dev else [],
            out=self.out,
            settings=self.settings,
            resume=resume,
        )
        return checkpoint.load(model, training=True)

    def rows(self) -> list[dict[str, Any]]:
        rows = RunLog(self.out / "log.jsonl").rows()
        return [{key: value for key, value in row.items() if key not in TIMES} for row in rows]


def same_arrays(left: checkpoint.Arrays, right: checkpoint.Arrays) -> bool:
    return list(left) == list(right) and all(
        a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
        for a, b in zip(left.values(), right.values())
    )


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, ModelFile]:
    """A run that was not interrupted, and its model."""
    run = Run(tmp_path_factory.mktemp("whole"))
    return run, run.train()


def interrupt_at(monkeypatch: pytest.MonkeyPatch, *updates: int, before: bool = True) -> list[int]:
    """Control-C once at each of these numbers of updates done, before or after the next one."""
    left = list(updates)
    original = Trainer.update

    def update(self: Trainer, batch: Any) -> float:
        done = self.optimiser.updates
        if before and done in left:
            left.remove(done)
            raise KeyboardInterrupt
        norm = original(self, batch)
        if not before and done in left:
            left.remove(done)
            raise KeyboardInterrupt
        return norm

    monkeypatch.setattr(Trainer, "update", update)
    return left


def assert_same_run(run: Run, model: ModelFile, other: Run, other_model: ModelFile) -> None:
    assert same_arrays(model.parameters, other_model.parameters)
    assert same_arrays(model.training, other_model.training)
    assert model.progress == other_model.progress
    assert model.meta["updates"] == UPDATES
    assert model.meta["complete"] is other_model.meta["complete"] is True
    assert run.rows() == other.rows()
    assert (run.out / "settings.toml").read_bytes() == (other.out / "settings.toml").read_bytes()


VARIANTS: dict[str, tuple[Changes, bool]] = {
    "fixed, last, averaged, dev shown": ({"train": {"average": 0.9}}, True),
    "fixed, dev, averaged": ({"train": {"select": "dev", "average": 0.9}}, True),
    "fixed, dev, not averaged": ({"train": {"select": "dev", "average": 0.0}}, True),
    "released": (
        {
            "posterior": {"dynamics": "released"},
            "model": {"mask_illegal": False},
            "train": {"average": 0.0, "exponent": 0.8, "select": "dev"},
        },
        True,
    ),
    "released, averaged": ({"posterior": {"dynamics": "released"}}, False),
    "the other engine": ({"train": {"engine": "per_sentence"}}, False),
    "lexicalised": ({"model": {"word_dim": 3, "vector_dim": 4}}, False),
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_an_interrupted_run_ends_as_if_it_had_not_been(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variant: str
) -> None:
    monkeypatch.setattr(training, "SAVE_EVERY_S", -1.0)
    changes, dev = VARIANTS[variant]
    whole = Run(tmp_path / "whole", changes, dev=dev)
    expected = whole.train()
    assert [row["update"] for row in whole.rows()] == [3, 6, 8]
    # Before the first checkpoint, between two, at the end of an epoch (and right after one), near the end.
    broken = Run(tmp_path / "broken", changes, dev=dev)
    interrupts = (2, 4, 6, 7)
    left = interrupt_at(monkeypatch, *interrupts)
    for at in interrupts:
        with pytest.raises(KeyboardInterrupt) as interrupt:
            broken.train(resume=at > 2)
        assert (str(interrupt.value) == "nothing saved yet") == (at == 2)
    model = broken.train(resume=True)
    assert left == []
    assert_same_run(broken, model, whole, expected)


@pytest.mark.parametrize("at", [0, 3, 5])
def test_an_interrupt_right_after_an_update_counts_for_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: tuple[Run, ModelFile], at: int
) -> None:
    monkeypatch.setattr(training, "SAVE_EVERY_S", -1.0)
    broken = Run(tmp_path / "broken")
    interrupt_at(monkeypatch, at, before=False)
    with pytest.raises(KeyboardInterrupt):
        broken.train()
    assert_same_run(broken, broken.train(resume=True), *whole)


@pytest.mark.parametrize("nth", [1, 2, 3])
def test_an_interrupt_while_saving(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: tuple[Run, ModelFile], nth: int
) -> None:
    """The row is logged already then; it must not be there twice in the end."""
    monkeypatch.setattr(training, "SAVE_EVERY_S", -1.0)
    broken, original, calls = Run(tmp_path / "broken"), checkpoint.save, []

    def save(path: Path, model: ModelFile) -> None:
        calls.append(model)
        if len(calls) == nth:
            raise KeyboardInterrupt
        original(path, model)

    monkeypatch.setattr(checkpoint, "save", save)
    with pytest.raises(KeyboardInterrupt):
        broken.train()
    assert len(broken.rows()) == nth
    assert_same_run(broken, broken.train(resume=True), *whole)


def test_checkpoints_within_an_epoch_are_not_written_too_often(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved: list[int] = []
    original = Trainer.save
    monkeypatch.setattr(
        Trainer,
        "save",
        lambda self, complete: (saved.append(self.optimiser.updates), original(self, complete)),
    )
    Run(tmp_path, {"train": {"evaluate_every": 1}}).train()
    assert saved == [1, UPDATES]


def test_the_end_is_a_number_of_updates_or_of_epochs(tmp_path: Path) -> None:
    """One epoch has six batches of two; whichever end comes first holds."""
    for name, updates, epochs, done in (("a", 0, 1, 6), ("b", 7, 1, 6), ("c", 2, 1, 2)):
        model = Run(tmp_path / name, {"train": {"updates": updates, "epochs": epochs}}).train()
        assert model.meta["updates"] == done
        assert model.meta["complete"] is True


def test_resuming_a_complete_run_changes_nothing(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.train()
    before = {path.name: path.read_bytes() for path in run.out.iterdir()}
    run.train(resume=True)
    assert {path.name: path.read_bytes() for path in run.out.iterdir()} == before


def test_resuming_nothing_is_beginning(tmp_path: Path, whole: tuple[Run, ModelFile]) -> None:
    resumed = Run(tmp_path)
    assert_same_run(resumed, resumed.train(resume=True), *whole)


def test_a_new_run_forgets_the_log_of_one_that_saved_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(tmp_path)
    run.out.mkdir()
    (run.out / "log.jsonl").write_text('{"update": 1}\n{"upd', encoding="utf-8")
    run.train()
    assert [row["update"] for row in run.rows()] == [3, 6, 8]


def test_the_same_seed_gives_the_same_model(tmp_path: Path, whole: tuple[Run, ModelFile]) -> None:
    again = Run(tmp_path)
    assert_same_run(again, again.train(), *whole)


def test_another_seed_gives_another_model(tmp_path: Path, whole: tuple[Run, ModelFile]) -> None:
    model = Run(tmp_path, {"train": {"seed": 2}}).train()
    assert not same_arrays(model.parameters, whole[1].parameters)


# Resuming what is not the same


def finished(tmp_path: Path, **options: Any) -> Run:
    run = Run(tmp_path, {"train": {"updates": 2}}, **options)
    run.train()
    return run


def refusal(run: Run) -> str:
    before = {path.name: path.read_bytes() for path in run.out.iterdir()}
    with pytest.raises(ModelError) as caught:
        run.train(resume=True)
    assert {path.name: path.read_bytes() for path in run.out.iterdir()} == before
    message = str(caught.value)
    assert message.startswith(f"{run.out / 'model.vdgi'}: ")
    return message.partition(": ")[2]


def test_other_settings_are_refused_by_name(tmp_path: Path) -> None:
    run = finished(tmp_path)
    run.settings = tiny.config.merge(run.settings, {"train": {"lr": 0.5}, "model": {"hidden_dim": 7}})
    assert refusal(run) == (
        "its settings (model.hidden_dim was 6, now 7; train.lr was 0.01, now 0.5) differ from those asked "
        "for now, so it cannot be resumed; choose another folder"
    )


@pytest.mark.parametrize("name", ["train.conllu", "dev.conllu"])
def test_other_data_are_refused(tmp_path: Path, name: str) -> None:
    run = finished(tmp_path, dev=True)
    tiny.write(tmp_path / name, 13)
    assert refusal(run).startswith("its data differ from those asked for now")


def test_dev_trees_from_now_on_are_refused(tmp_path: Path) -> None:
    run = finished(tmp_path)
    run.dev = True
    assert refusal(run).startswith("its data differ")


@pytest.mark.parametrize("other", ["ROOT VERB 0.5\nVERB NOUN 0.5", "N = NOUN\nROOT VERB 1\nVERB N 0.5"])
def test_other_rules_under_the_same_name_are_refused(tmp_path: Path, other: str) -> None:
    rules = tmp_path / "rules.txt"
    rules.write_text("N = NOUN PROPN\nROOT VERB 1\nVERB N 0.5", encoding="utf-8")
    run = Run(tmp_path, {"posterior": {"rules": str(rules)}})
    run.train()
    rules.write_text(other, encoding="utf-8")
    assert refusal(run).startswith("its rules differ")


def test_other_comments_in_the_rules_are_welcome(tmp_path: Path) -> None:
    rules = tmp_path / "rules.txt"
    rules.write_text("ROOT VERB 1", encoding="utf-8")
    run = Run(tmp_path, {"posterior": {"rules": str(rules)}})
    run.train()
    rules.write_text("# mine\nROOT VERB 1", encoding="utf-8")
    run.train(resume=True)


@pytest.mark.parametrize("lost", ["updates", "lambda", "square:encoder/lstm/bias", "best_dev"])
def test_a_checkpoint_that_lacks_something_is_refused(tmp_path: Path, lost: str) -> None:
    run = finished(tmp_path)
    model = checkpoint.load(run.out / "model.vdgi", training=True)
    names = [name for name in (*model.training, *model.progress) if name.endswith(lost.split("/")[-1])]
    assert names
    for name in names:
        model.training.pop(name, None)
        model.progress.pop(name, None)
    checkpoint.save(run.out / "model.vdgi", model)
    assert "it lacks '" in refusal(run)


def test_a_damaged_checkpoint_is_refused(tmp_path: Path) -> None:
    run = finished(tmp_path)
    path = run.out / "model.vdgi"
    path.write_bytes(path.read_bytes()[:-100])
    assert "damaged" in refusal(run)


# When it goes wrong


def test_divergence_is_said_and_leaves_the_last_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = AdaGrad._gradients

    def gradients(self: AdaGrad) -> dict[str, Any]:
        result = original(self)
        if self.updates == 4:
            result[self.names[-1]][...] = np.nan
        return result

    monkeypatch.setattr(AdaGrad, "_gradients", gradients)
    run = Run(tmp_path)
    with pytest.raises(VdgiError, match="training diverged: the gradient of update 5 is not finite"):
        run.train()
    model = checkpoint.load(run.out / "model.vdgi", training=True)
    assert model.progress["update"] == 3
    assert all(np.isfinite(array).all() for array in (*model.parameters.values(), *model.training.values()))
    assert [row["update"] for row in run.rows()] == [3]


def test_a_finished_model_is_not_overwritten(tmp_path: Path) -> None:
    run = finished(tmp_path)
    before = (run.out / "model.vdgi").read_bytes()
    with pytest.raises(
        UsageError, match=r"model\.vdgi: exists already; go on with --resume, or choose another"
    ):
        run.train()
    assert (run.out / "model.vdgi").read_bytes() == before


def test_nothing_left_to_train_on(tmp_path: Path) -> None:
    (tmp_path / "train.conllu").write_text(tiny.block(1, ["NOUN", "PUNCT"], None), encoding="utf-8")
    with pytest.raises(DataError, match=r"train\.conllu: no training sentence is left"):
        Run(tmp_path).train()
    assert not (tmp_path / "run").exists()


def test_the_best_dev_model_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With select = dev, the weights for parsing are those of the best evaluation, not of the last."""
    ddas = iter([0.25, 0.75, 0.5])
    monkeypatch.setattr(training, "score", lambda gold, heads: type("Scores", (), {"dda": next(ddas)})())
    seen: list[Any] = []
    original = Trainer._evaluate

    def evaluate(self: Trainer, *arguments: Any) -> dict[str, Any]:
        row = original(self, *arguments)
        seen.append(self.optimiser.averaged())
        seen[-1] = {name: value.copy() for name, value in seen[-1].items()}
        return row

    monkeypatch.setattr(Trainer, "_evaluate", evaluate)
    model = Run(tmp_path, {"train": {"select": "dev"}}, dev=True).train()
    assert model.meta["dev_dda"] == 0.75
    assert model.meta["gold_trees"] == ["dev: choice of the model"]
    assert same_arrays(model.parameters, seen[1])
    assert not same_arrays(model.parameters, seen[-1])


def test_without_dev_selection_the_last_averaged_weights_are_kept(tmp_path: Path) -> None:
    model = Run(tmp_path, dev=True).train()
    assert model.meta["dev_dda"] is None
    assert model.meta["gold_trees"] == ["dev: progress figures only"]
    averages = {name[8:]: array for name, array in model.training.items() if name.startswith("average:")}
    for name, array in averages.items():
        assert model.parameters[name].tobytes() == array.tobytes()
