"""Model files of version 0.1 are read as they were written then, and parse the same."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
import tiny

from dynet_vdgi.data.conllu import read
from dynet_vdgi.errors import ModelError
from dynet_vdgi.parsing.parser import load
from dynet_vdgi.recipes.given import Given, Inputs
from dynet_vdgi.recipes.run import run
from dynet_vdgi.rivals.convex_mst import ConvexMstSettings
from dynet_vdgi.runs import model_file
from dynet_vdgi.settings.config import NoTeacher
from dynet_vdgi.settings.neural_settings import ModelSettings
from dynet_vdgi.settings.presets import load_settings
from dynet_vdgi.students.perceptron import PerceptronSettings
from dynet_vdgi.teachers.dmv_settings import DmvSettings

DATA = """\
[data]
protocol = "standard"
tags = "upos"
max_len = {max_len}
min_freq = 2
lowercase = true
vectors = ""
clusters = ""

[model]
word_dim = {word_dim}
vector_dim = {vector_dim}
tag_dim = 6
hidden_dim = 6
forget_bias = 0.0
mask_illegal = true
encoder_dropout = 0.5
decoder_dropout = 0.5

[posterior]
rules = "ud"
features = "counts"
expectations = "rules"
dynamics = "fixed"
strength = 3.0
epsilon = 0.1
lr = 0.1
momentum = 0.9

[train]
learner = "{learner}"
seed = 7
updates = 4
epochs = 0
batch_size = 4
samples = 3
exponent = 1.0
lr = 0.01
clip = 0.5
l2 = 0.0001
average = 0.997
engine = "lockstep"
select = "last"
evaluate_every = 2
dev_max_len = 15

[finetune]
updates = {finetune}
epochs = 0
score = "rl-sn"
form = "paper"
objective = "elbo"
decoder = "plain"
lr = 0.002
clip = 0.25

[language_model]
hidden_dim = 100
epochs = 20
batch_size = 64
lr = 0.01
clip = 0.25
dropout = 0.2

[teacher]
kind = "{teacher}"
prior = "best"
"""
"""The settings.toml of version 0.1."""

DEFAULTS = {"max_len": 10, "word_dim": 0, "vector_dim": 300, "finetune": 0}


def old_settings(**changes: Any) -> str:
    return DATA.format(**{**DEFAULTS, **changes})


def of_format_1(path: Path, settings: str, kind: str | None) -> Path:
    """A model file rewritten as version 0.1 would have written it."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    new = json.loads(members["meta.json"])
    meta = {
        "format": 1,
        "version": "0.1.0",
        "command": ["vdgi", "train"],
        "preset": "default",
        "seed": 7,
        "protocol": new["protocol"],
        "gold_trees": [],
        "data": new["data"],
        "trained_on": new["trained_on"],
        "dropped": new["dropped"],
        "updates": 4,
        "complete": True,
        "dev_dda": None,
    }
    if kind:  # models of networks named none
        meta["kind"] = kind
    old = path.with_name("old.vdgi")
    with zipfile.ZipFile(old, "w") as archive:
        for name, content in members.items():
            if name == "meta.json":
                content = json.dumps(meta).encode()
            archive.writestr(name, settings.encode() if name == "settings.toml" else content)
    return old


def trained(folder: Path, preset: str, changes: dict[str, Any]) -> Path:
    """The model file of a small run."""
    text = Given((str(tiny.write(folder / "train.conllu", 18, heads=False)),))
    run(Inputs({"": text}), load_settings(preset, changes=changes), out=folder / "run")
    return folder / "run" / "model.vdgi"


def assert_the_same_parses(new: Path, old: Path, folder: Path) -> None:
    sentences = list(read(folder / "train.conllu"))
    assert load(old).parse_all(sentences) == load(new).parse_all(sentences)
    one, other = model_file.load(new, training=True), model_file.load(old, training=True)
    assert tiny.same_arrays(one.parameters, other.parameters)
    assert tiny.same_arrays(one.training, other.training)
    assert one.vocabulary == other.vocabulary
    assert one.rules == other.rules


def test_a_linear_model(tmp_path: Path) -> None:
    new = trained(tmp_path, "best", {"parser": {"log2_buckets": 8}})
    old = of_format_1(new, old_settings(learner="linear", teacher="dmv", max_len=15), "linear")
    assert_the_same_parses(new, old, tmp_path)
    model = model_file.load(old)
    assert model.provenance.recipe == model.settings.recipe == "taught"
    assert model.settings.parser == PerceptronSettings()
    assert model.settings.teacher == DmvSettings()
    assert (model.settings.rules, model.settings.seed, model.settings.data.max_len) == ("best", 7, 15)
    assert (model.provenance.preset, model.provenance.complete) == ("default", True)


@pytest.mark.parametrize("words", [{}, {"word_dim": 3, "vector_dim": 4}], ids=["tags", "words"])
def test_a_neural_model(tmp_path: Path, words: dict[str, int]) -> None:
    new = trained(tmp_path, "paper", {**tiny.SMALL, "parser": {**tiny.SMALL["parser"], **words}})
    old = of_format_1(new, old_settings(learner="neural", teacher="none", **words), None)
    assert_the_same_parses(new, old, tmp_path)
    model = model_file.load(old)
    assert model.provenance.recipe == model.settings.recipe == "neural"
    assert model.settings.parser == ModelSettings(tag_dim=6, hidden_dim=6, **words)
    assert model.settings.teacher == NoTeacher()
    assert (model.settings.rules, model.settings.seed, model.settings.data.max_len) == ("ud", 7, 10)
    assert (model.settings.posterior.strength, model.settings.train.updates) == (3.0, 4)


def test_settings_of_a_taught_and_fine_tuned_network(tmp_path: Path) -> None:
    new = trained(tmp_path, "paper", dict(tiny.SMALL))
    settings = old_settings(learner="neural", teacher="convex-mst", finetune=5)
    model = model_file.load(of_format_1(new, settings, None))
    assert model.settings.teacher == ConvexMstSettings()
    assert model.settings.rules == "best"  # of the teacher
    assert (model.settings.finetune.updates, model.settings.finetune.score) == (5, "rl-sn")


def test_saved_again_it_is_of_the_present_format(tmp_path: Path) -> None:
    new = trained(tmp_path, "paper", dict(tiny.SMALL))
    old = of_format_1(new, old_settings(learner="neural", teacher="none"), None)
    model = model_file.load(old, training=True)
    model_file.save(tmp_path / "again.vdgi", model)
    again = model_file.load(tmp_path / "again.vdgi", training=True)
    assert again.settings.to_dict() == model.settings.to_dict()
    assert again.provenance == model.provenance
    with zipfile.ZipFile(tmp_path / "again.vdgi") as archive:
        assert json.loads(archive.read("meta.json"))["format"] == model_file.FORMAT == 3


def test_an_old_preset_in_a_file_of_the_present_format_is_damage(tmp_path: Path) -> None:
    new = trained(tmp_path, "paper", dict(tiny.SMALL))
    with zipfile.ZipFile(new) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(tmp_path / "mixed.vdgi", "w") as archive:
        for name, content in members.items():
            old = old_settings(learner="neural", teacher="none").encode()
            archive.writestr(name, old if name == "settings.toml" else content)
    with pytest.raises(
        ModelError, match="is called '.*' now; the model file is damaged or of another version"
    ):
        model_file.load(tmp_path / "mixed.vdgi")
