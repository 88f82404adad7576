"""Pretraining and fine-tuning in one run: where each begins and ends, resuming, and starting from a
model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny
from shell import interrupt_at, interrupt_saving
from tiny import Changes, Run, assert_same_run, same_arrays
from wording import Wording

from dynet_vdgi.conllu.vocabulary import Encoded
from dynet_vdgi.models import model_file
from dynet_vdgi.models.model_file import ModelFile
from dynet_vdgi.paper import trainer as trainer_module
from dynet_vdgi.paper.phases import Finetuning, Pretraining
from dynet_vdgi.paper.stages import Stage, stages
from dynet_vdgi.paper.trainer import Trainer

# Which stages there are


@pytest.mark.parametrize(
    ("train", "finetune", "expected"),  # (updates, epochs) each; an epoch has six updates
    [
        ((400, 0), (0, 0), [("pretrain", 0, 400)]),
        ((0, 2), (0, 0), [("pretrain", 0, 12)]),
        ((5, 1), (0, 0), [("pretrain", 0, 5)]),
        ((0, 1), (0, 2), [("pretrain", 0, 6), ("finetune", 6, 18)]),
        ((0, 3), (20, 3), [("pretrain", 0, 18), ("finetune", 18, 36)]),
        ((4, 1), (20, 4), [("pretrain", 0, 4), ("finetune", 4, 24)]),
        ((0, 0), (7, 1), [("finetune", 0, 6)]),
        ((0, 0), (0, 2), [("finetune", 0, 12)]),
    ],
)
def test_stages_follow_from_updates_and_epochs(train, finetune, expected):
    steps_of = {"train": {"lr": 0.5, "clip": 0.125}, "finetune": {"lr": 0.25, "clip": 2.0}}
    changes = {
        name: {
            "updates": updates,
            "epochs": epochs,
            **(steps_of[name] if updates or epochs else {}),
        }
        for name, (updates, epochs) in (("train", train), ("finetune", finetune))
    }
    settings = tiny.settings(changes)
    steps = {"pretrain": (0.5, 0.125), "finetune": (0.25, 2.0)}
    assert stages(settings, 6) == [Stage(*stage, *steps[stage[0]]) for stage in expected]


# From one to the other

STAGES: Changes = {
    "train": {"updates": 4},
    "finetune": {"updates": 5, "score": "rl-pc", "lr": 0.02},
}
"""Evaluated after 3, 4, and 7, 9 updates; an epoch has 6."""


def two_stages(
    folder: Path, changes: dict[str, dict[str, Any]] | None = None, **options: Any
) -> Run:
    """A run with some changes, section by section, to `STAGES`."""
    changes = changes or {}
    both = {name: {**STAGES[name], **changes.get(name, {})} for name in STAGES}
    return Run(folder, {**changes, **both}, **options)


def test_the_log_has_both_phases_and_counts_through(tmp_path):
    run = two_stages(tmp_path, dev=True)
    model = run.train()
    rows = run.rows()
    assert [(row["phase"], row["update"], row["epoch"]) for row in rows] == [
        ("pretrain", 3, 0.5),
        ("pretrain", 4, 0.667),
        ("finetune", 7, 1.167),
        ("finetune", 9, 1.5),
    ]
    assert [row["sentences"] for row in rows] == [6, 2, 6, 4]
    for row in rows:
        assert {"elbo_per_word", "entropy", "kl", "gamma_ess", "gradient_norm_encoder"} <= set(row)
        assert ("score_mean" in row) == ("score_std" in row) == (row["phase"] == "finetune")
        assert row["gradient_norm"] >= row["gradient_norm_decoder"] > 0
        assert row["kl"] >= 0
        assert 0 <= row["dev_dda"] <= 1
    assert (model.meta["updates"], model.meta["complete"]) == (9, True)
    assert model.progress == {"update": 9, "stage": 1, "seed": 1, "best_score": None}


def test_batches_and_samples_go_on_where_the_first_stage_ended(tmp_path, monkeypatch):
    """As if there were one stage: in every epoch each sentence once, and no random number twice."""
    original, taken, draws = Trainer.update, list[list[int]](), list[float]()
    accumulate = trainer_module.lockstep.accumulate

    def update(self: Trainer, batch: Any) -> float:
        taken.append(list(batch))
        return original(self, batch)

    def sampled(network: Any, sentences: Any, phase: Any, rng: Any, settings: Any) -> Any:
        draws.append(rng.random())
        return accumulate(network, sentences, phase, rng, settings)

    monkeypatch.setattr(Trainer, "update", update)
    monkeypatch.setattr(trainer_module.lockstep, "accumulate", sampled)
    two_stages(tmp_path / "a", {"finetune": {"updates": 8}}).train()
    with_stages = taken[:], draws[:]
    taken.clear()
    draws.clear()
    Run(tmp_path / "b", {"train": {"updates": 12}}).train()
    assert with_stages == (taken, draws)
    assert len(set(draws)) == 12
    for epoch in (taken[:6], taken[6:]):
        assert sorted(k for batch in epoch for k in batch) == list(range(12))


def entered(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What there is right before and after each stage begins; filled by the runs that follow."""
    seen: list[dict[str, Any]] = []
    original = Trainer._enter

    def enter(self: Trainer, stage: Stage, lambda_before: Any) -> None:
        note: dict[str, Any] = {"before": self.network.parameters.arrays()}
        if hasattr(self, "optimiser"):
            note["averaged"] = {
                name: np.array(a) for name, a in self.optimiser.weights("average").items()
            }
            note["current"] = {
                name: np.array(a) for name, a in self.optimiser.weights("value").items()
            }
            note["lambda"] = self.phase.lam.value.copy()
        original(self, stage, lambda_before)
        optimiser = self.optimiser
        note["after"] = {name: np.array(value) for name, value in optimiser.read("value").items()}
        note["averages"] = {
            name: np.array(value) for name, value in optimiser.read("average").items()
        }
        note["squares"] = max(
            float(np.abs(value).max()) for value in optimiser.read("square").values()
        )
        note["steps"] = (optimiser.settings.lr, optimiser.settings.clip, optimiser.updates)
        note["updates"], note["phase"] = self.updates, self.phase
        note["new lambda"] = self.phase.lam.value.copy()
        note["velocity"] = self.phase.lam.state()["lambda_velocity"].copy()
        note["best"] = (self.best_score, self.best_parameters)
        seen.append(note)

    monkeypatch.setattr(Trainer, "_enter", enter)
    return seen


@pytest.mark.parametrize(("average", "start"), [(0.9, "averaged"), (0.0, "current")])
def test_the_second_stage_starts_from_the_weights_of_the_first(
    tmp_path, monkeypatch, average, start
):
    seen = entered(monkeypatch)
    changes = {
        "train": {"average": average, "lr": 0.1, "clip": 0.75},
        "posterior": {"dynamics": "released"},
        "finetune": {"clip": 0.125},
    }
    two_stages(tmp_path, changes).train()
    first, second = seen
    assert isinstance(first["phase"], Pretraining)
    assert isinstance(second["phase"], Finetuning)
    assert same_arrays(dict(sorted(second["before"].items())), dict(sorted(second[start].items())))
    assert same_arrays(second["current"], second["averaged"]) == (start == "current")
    for name, value in second["before"].items():
        if name in second["after"]:
            assert (
                second["after"][name].tobytes()
                == second["averages"][name].tobytes()
                == value.tobytes()
            )
    # A fresh optimiser with the stage's own step and clipping, and a fresh lambda.
    assert first["steps"] == (0.1, 0.75, 0)
    assert second["steps"] == (0.02, 0.125, 0)
    assert second["squares"] == 0
    assert (first["updates"], second["updates"]) == (0, 4)
    assert second["new lambda"].tolist() == [0.5] * 13  # the expectations of the rules
    assert second["lambda"].tolist() != second["new lambda"].tolist()
    assert not second["velocity"].any()
    assert set(second["after"]) - set(second["before"]) == {"lambda"}
    assert "lambda" not in first["after"]


BINDING: dict[str, Any] = {"dynamics": "dual", "share": 1.0, "lr": 0.5}


@pytest.mark.parametrize("first_lambda", ["carried", "zero"])
def test_lambda_goes_on_where_the_first_stage_left_it_or_starts_at_zero(
    tmp_path, monkeypatch, first_lambda
):
    seen = entered(monkeypatch)
    changes = {"posterior": BINDING, "finetune": {"first_lambda": first_lambda}}
    run = two_stages(tmp_path, changes)
    run.train()
    first, second = seen
    assert first["new lambda"].tolist() == [0.0]
    assert second["lambda"].min() > 0
    carried = second["lambda"].tolist()
    assert second["new lambda"].tolist() == (carried if first_lambda == "carried" else [0.0])


@pytest.mark.parametrize("share", [0.0, 0.25])
def test_the_second_stage_may_ask_for_a_share_of_its_own(tmp_path, monkeypatch, share):
    seen = entered(monkeypatch)
    two_stages(tmp_path, {"posterior": BINDING, "finetune": {"share": share}}).train()
    sentence = Encoded((4, 5, 1, 2), (0,) * 4)
    first, second = (note["phase"].features.expectations(sentence) for note in seen)
    assert first.min() >= 1.0
    assert second.tolist() == (first * (share or 1.0)).tolist()


def fake_dda(monkeypatch: pytest.MonkeyPatch, *values: float) -> None:
    """Evaluations on dev find these, one after the other."""
    left = iter(values)
    monkeypatch.setattr(
        trainer_module, "score", lambda gold, heads: type("Scores", (), {"dda": next(left)})()
    )


def test_the_second_stage_starts_from_the_best_dev_weights_and_chooses_anew(tmp_path, monkeypatch):
    """Pretraining reaches more here, but the weights in the end are the best of fine-tuning."""
    seen = entered(monkeypatch)
    fake_dda(monkeypatch, 0.875, 0.75, 0.25, 0.5, 0.375)
    candidates: list[Any] = []
    original = Trainer._present

    def present(self: Trainer) -> Any:
        candidates.append({name: np.array(value) for name, value in original(self).items()})
        return original(self)

    monkeypatch.setattr(Trainer, "_present", present)
    changes = {"train": {"select": "dev", "average": 0.5}, "finetune": {"updates": 7}}
    model = two_stages(tmp_path, changes, dev=True).train()
    _, second = seen
    ordered = [dict(sorted(arrays.items())) for arrays in (second["before"], *candidates)]
    assert same_arrays(ordered[0], ordered[1])  # after 3 updates
    assert not same_arrays(ordered[0], ordered[2])  # after 4
    assert second["best"] == (None, {})
    assert model.meta["dev_dda"] == model.progress["best_score"] == 0.5
    assert same_arrays(dict(sorted(model.parameters.items())), ordered[4])


# Resuming

RELEASED: dict[str, dict[str, Any]] = {
    "posterior": {"dynamics": "released"},
    "parser": {"mask_illegal": False},
    "train": {"average": 0.0, "exponent": 0.8, "select": "dev"},
    "finetune": {"form": "released", "decoder": "score"},
}
RL_BL: dict[str, dict[str, Any]] = {
    "finetune": {"score": "rl-bl", "decoder": "score"},
    "language_model": {"hidden_dim": 4, "epochs": 1},
}
VARIANTS: dict[str, tuple[dict[str, dict[str, Any]], dict[str, bool]]] = {
    "rl-pc as released": (RELEASED, {"dev": True}),
    "rl-bl, lexicalised": ({**RL_BL, "parser": {"word_dim": 3, "vector_dim": 4}}, {}),
    "rl-sn, with trees, averaged": (
        {"train": {"average": 0.9, "select": "dev"}, "finetune": {"score": "rl-sn"}},
        {"dev": True, "trees": True},
    ),
    "dual, with trees": ({"posterior": {"dynamics": "dual", "lr": 0.5}}, {"trees": True}),
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_run_resumed_in_either_stage_ends_as_if_nothing_had_happened(
    tmp_path, monkeypatch, variant
):
    monkeypatch.setattr(trainer_module, "SAVE_EVERY_S", -1.0)
    changes, options = VARIANTS[variant]
    whole = two_stages(tmp_path / "whole", changes, **options)
    expected = whole.train()
    assert [row["update"] for row in whole.rows() if "update" in row] == [3, 4, 7, 9]
    # Before any checkpoint; before the first stage's last update; right at the border; in the
    # second stage before it has a checkpoint of its own, so that it begins again; then from one of
    # its own.
    broken = two_stages(tmp_path / "broken", changes, **options)
    interrupts = (1, 3, 4, 6, 7, 8)
    left = interrupt_at(monkeypatch, *interrupts)
    rows_after = {1: [], 3: [3], 4: [3, 4], 6: [3, 4], 7: [3, 4, 7], 8: [3, 4, 7]}
    for at in interrupts:
        with pytest.raises(KeyboardInterrupt) as interrupt:
            broken.train(resume=at > 1)
        assert (str(interrupt.value) == "nothing saved yet") == (at == 1)
        assert [row["update"] for row in broken.rows() if "update" in row] == rows_after[at]
    model = broken.train(resume=True)
    assert left == []
    assert_same_run(broken, model, whole, expected)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, ModelFile]:
    """A run as released that was not interrupted, and its parser."""
    run = two_stages(tmp_path_factory.mktemp("whole"), RELEASED, dev=True)
    return run, run.train()


@pytest.mark.parametrize("nth", [2, 4])
def test_an_interrupt_while_saving_in_either_stage(tmp_path, monkeypatch, whole, nth):
    """The row is in the log already; it must not be there twice in the end. The second is at the
    border."""
    monkeypatch.setattr(trainer_module, "SAVE_EVERY_S", -1.0)
    broken = two_stages(tmp_path / "broken", RELEASED, dev=True)
    interrupt_saving(monkeypatch, nth)
    with pytest.raises(KeyboardInterrupt):
        broken.train()
    assert len(broken.rows()) == nth
    assert_same_run(broken, broken.train(resume=True), *whole)


# Starting from a model


def started(monkeypatch: pytest.MonkeyPatch) -> list[Trainer]:
    """The trainers that are about to train; they do not."""
    trainers: list[Trainer] = []
    monkeypatch.setattr(
        Trainer, "train", lambda self: (trainers.append(self), self.save(complete=True))
    )
    return trainers


def init_arguments(model: Path, *more: str) -> list[str]:
    """Training on a text with few tags, which is written, from a model's weights."""
    text = tiny.block(0, ["DET", "NOUN", "VERB"], None) + tiny.block(1, ["NOUN", "VERB"], None)
    Path("few.conllu").write_text(text, encoding="utf-8")
    options = ["--train", "few.conllu", "--init", str(model), "--out", "run"]
    return ["train", *options, *tiny.SMALL_OPTIONS, *more]


@pytest.mark.parametrize("stage", ["train", "finetune"])
def test_init_starts_from_the_weights_and_the_vocabulary(vdgi, model, folder, monkeypatch, stage):
    trainers = started(monkeypatch)
    more = (
        ["--set", "train.updates=0", "--set", "finetune.updates=3"] if stage == "finetune" else []
    )
    vdgi.good(*init_arguments(model, "--seed", "5", *more))
    loaded = model_file.load(model)
    (trainer,) = trainers
    assert isinstance(trainer.phase, {"train": Pretraining, "finetune": Finetuning}[stage])
    ours = trainer.network.parameters.arrays()
    assert same_arrays(ours, {name: loaded.parameters[name] for name in ours})
    assert set(ours) == set(loaded.parameters)
    for name in trainer.optimiser.names:
        assert trainer.optimiser.read("value")[name].tobytes() == ours[name].tobytes()
        assert trainer.optimiser.read("average")[name].tobytes() == ours[name].tobytes()
    assert trainer.data.vocabulary == loaded.vocabulary
    assert len(loaded.vocabulary.tags) == 7
    tags = [loaded.vocabulary.tags.index(tag) + 1 for tag in ("DET", "NOUN", "VERB")]
    assert [encoded.tags for encoded in trainer.encoded] == [tuple(tags), tuple(tags[1:])]
    assert model_file.load("run/model.vdgi").vocabulary == loaded.vocabulary


def test_training_goes_on_from_a_model(vdgi, model, folder, wording: Wording):
    more = ["--set", "finetune.updates=2"]
    more += ["--set", "parser.encoder_dropout=0.1"]  # this may differ
    result = vdgi.good(*init_arguments(model, *more))
    old, new = model_file.load(model), model_file.load("run/model.vdgi")
    assert not same_arrays(old.parameters, new.parameters)
    for name in ("encoder/empty_buffer", "decoder/no_stack", "decoder/no_prefix"):  # never trained
        assert old.parameters[name].tobytes() == new.parameters[name].tobytes()
    roles = {item["role"]: item for item in new.meta["data"]}
    assert set(roles) == {"train", "init"}
    assert roles["init"]["name"] == "model.vdgi"
    assert len(roles["init"]["sha256"]) == 64
    wording.lines(result.err, "gold trees")
    vdgi.good("parse", "run/model.vdgi", "few.conllu", "-o", "parsed.conllu")


SECOND_STAGE = ["train.updates=0", "finetune.updates=3", "posterior.dynamics=dual"]


@pytest.fixture
def pretrained(vdgi: Any, model: Path, folder: Path) -> Path:
    """A model whose lambda is above 0."""
    binding = [f"posterior.{name}={value}" for name, value in BINDING.items()]
    options = [word for setting in binding for word in ("--set", setting)]
    vdgi.good(*init_arguments(model, *options, "--out", "first"))
    return folder / "first" / "model.vdgi"


@pytest.mark.parametrize(
    ("setting", "carries", "reason"),
    [
        ("posterior.share=0.5", True, ""),
        ("finetune.first_lambda=zero", False, ""),
        ("posterior.expectations=each_rule", False, "its own is of other constraints"),
        ("rules=wsj", False, "its own is of other constraints"),
    ],
)
def test_a_second_stage_from_a_model_goes_on_with_its_lambda(
    vdgi, pretrained, monkeypatch, setting, carries, reason
):
    trainers = started(monkeypatch)
    options = [word for each in (*SECOND_STAGE, setting) for word in ("--set", each)]
    result = vdgi.good(*init_arguments(pretrained, *options))
    stored = model_file.load(pretrained, training=True).training["lambda"]
    assert stored.min() > 0
    assert trainers[0].phase.lam.value.tolist() == (
        stored.tolist() if carries else [0.0] * len(trainers[0].phase.lam.value)
    )
    assert ("lambda starts at 0" in result.err) == bool(reason)
    assert f"lambda starts at 0, as {reason}" in result.err or not reason


def test_a_second_stage_from_a_model_without_lambda_says_that_it_starts_at_zero(
    vdgi, pretrained, monkeypatch
):
    trainers = started(monkeypatch)
    old = model_file.load(pretrained, training=True)
    del old.training["lambda"]
    model_file.save("old.vdgi", old)
    options = [word for each in SECOND_STAGE for word in ("--set", each)]
    result = vdgi.good(*init_arguments(Path("old.vdgi"), *options))
    assert trainers[0].phase.lam.value.tolist() == [0.0]
    assert "--init old.vdgi: lambda starts at 0, as it holds none" in result.err


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("MODEL", ["parser.hidden_dim=7"], "MODEL: its parser.hidden_dim is 6, not 7 as asked for"),
        ("MODEL", ["parser.word_dim=3"], "MODEL: its parser.word_dim is 0, not 3 as asked for"),
        ("MODEL", ["parser.mask_illegal=false"], "MODEL: its parser.mask_illegal is True, not False as"),
        ("MODEL", [], "MODEL: it does not know these tags: INTJ SYM"),
        ("nix.vdgi", [], "nix.vdgi: no such model file (there are: universal)"),
        ("few.conllu", [], "few.conllu: not a vdgi model file"),
    ],
)  # fmt: skip
def test_models_that_cannot_be_started_from(vdgi, model, folder, name, options, message):
    settings = [word for option in options for word in ("--set", option)]
    arguments = init_arguments(model if name == "MODEL" else Path(name), *settings)
    if "tags" in message:
        text = tiny.block(0, ["DET", "SYM", "VERB"], None) + tiny.block(1, ["NOUN", "INTJ"], None)
        Path("few.conllu").write_text(text, encoding="utf-8")
    status, out, err = vdgi(*arguments)
    assert (status, out) == (4, "")
    assert err.splitlines()[-1].startswith(message.replace("MODEL", str(model)))
    assert not Path("run").exists()
