"""An interrupted and resumed training ends as if nothing had happened."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from shell import interrupt_at
from tiny import Run, assert_same_run
from wording import Wording

from dynet_vdgi.errors import ModelError
from dynet_vdgi.models import model_file
from dynet_vdgi.models.model_file import ModelFile
from dynet_vdgi.paper import trainer
from dynet_vdgi.settings.presets import merge

# Resuming


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, ModelFile]:
    """A run that was not interrupted, and its model."""
    run = Run(tmp_path_factory.mktemp("whole"))
    return run, run.train()


@pytest.mark.parametrize("at", [0, 5])
def test_an_interrupt_right_after_an_update_counts_for_nothing(tmp_path, monkeypatch, whole, at):
    monkeypatch.setattr(trainer, "SAVE_EVERY_S", -1.0)
    broken = Run(tmp_path / "broken")
    interrupt_at(monkeypatch, at, before=False)
    with pytest.raises(KeyboardInterrupt):
        broken.train()
    assert_same_run(broken, broken.train(resume=True), *whole)


def test_resuming_a_complete_run_changes_nothing_and_says_so(tmp_path, caplog, wording: Wording):
    run = Run(tmp_path)
    run.train()
    before = {path.name: path.read_bytes() for path in run.out.iterdir()}
    with caplog.at_level(logging.INFO, "dynet_vdgi"):
        run.train(resume=True)
    wording.lines("\n".join(caplog.messages), "finished")
    assert {path.name: path.read_bytes() for path in run.out.iterdir()} == before


def test_a_new_run_forgets_the_log_of_one_that_saved_nothing(tmp_path, monkeypatch):
    run = Run(tmp_path)
    run.out.mkdir()
    (run.out / "log.jsonl").write_text('{"update": 1}\n{"upd', encoding="utf-8")
    run.train()
    assert [row["update"] for row in run.rows()] == [3, 6, 8]


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


def test_other_settings_are_refused_by_name(tmp_path, wording: Wording):
    run = finished(tmp_path)
    run.settings = merge(run.settings, {"train": {"lr": 0.5}, "parser": {"hidden_dim": 7}})
    wording.check(refusal(run))


def test_other_rules_under_the_same_name_are_refused_but_other_comments_are_not(
    tmp_path, wording: Wording
):
    rules, table = tmp_path / "rules.txt", "N = NOUN PROPN\nROOT VERB 1\nVERB N 0.5"
    rules.write_text(table, encoding="utf-8")
    run = Run(tmp_path, {"rules": str(rules)})
    run.train()
    rules.write_text("# mine\n" + table, encoding="utf-8")
    run.train(resume=True)
    for other in (table.replace("0.5", "0.25"), table.replace(" PROPN", "")):
        rules.write_text(other, encoding="utf-8")
        wording.check(refusal(run))


@pytest.mark.parametrize("lost", ["lambda", "square:encoder/lstm/bias"])
def test_a_checkpoint_that_lacks_something_is_refused(tmp_path, monkeypatch, lost):
    run = Run(tmp_path)
    interrupt_at(monkeypatch, 4)
    with pytest.raises(KeyboardInterrupt):
        run.train()
    model = model_file.load(run.out / "model.vdgi", training=True)
    names = [
        name for name in (*model.training, *model.progress) if name.endswith(lost.split("/")[-1])
    ]
    assert names
    for name in names:
        model.training.pop(name, None)
        model.progress.pop(name, None)
    model_file.save(run.out / "model.vdgi", model)
    assert "it lacks '" in refusal(run)
