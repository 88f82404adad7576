"""Recipes: one of another package, and which recipe takes what."""

from __future__ import annotations

import logging

import pytest
from few import trees
from tiny import same_arrays
from wording import Wording

from dynet_vdgi import errors
from dynet_vdgi.api import train
from dynet_vdgi.errors import ConfigError, UsageError
from dynet_vdgi.models import model_file
from dynet_vdgi.parser.parser import load
from dynet_vdgi.settings.presets import load_settings
from dynet_vdgi.settings.registry import RECIPES

TEXT = trees(60)


@pytest.fixture
def toys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RECIPES, "_places", {**RECIPES._places})
    RECIPES.register("toy", "toys:RECIPE")


@pytest.mark.usefixtures("toys")
def test_a_recipe_from_outside_trains_saves_and_parses(tmp_path: object, wording: Wording) -> None:
    parser = train(TEXT, settings={"recipe": "toy"})
    path = f"{tmp_path}/toy.vdgi"
    parser.save(path)
    assert load(path)(["a", "b"], ["NOUN", "VERB"]).heads == (0, 1)
    assert model_file.load(path).provenance.recipe == "toy"
    with wording.raises(ConfigError):
        train(TEXT, settings={"recipe": "toy", "parser": {"epochs": 3}})


def test_a_model_of_a_recipe_that_is_not_here_is_refused(
    tmp_path: object, toys: None, wording: Wording
) -> None:
    path = f"{tmp_path}/toy.vdgi"
    train(TEXT, settings={"recipe": "toy"}).save(path)
    del RECIPES._places["toy"]
    with wording.raises(errors.ModelError):
        load(path)


def test_trees_change_the_recipe_and_it_is_said(
    caplog: pytest.LogCaptureFixture, wording: Wording
) -> None:
    with caplog.at_level(logging.INFO, logger="dynet_vdgi"):
        parser = train(TEXT, "best", trees=TEXT[:10], settings={"parser": {"epochs": 1}})
    wording.lines("\n".join(caplog.messages), "recipe:")
    settings = parser.model.settings
    assert settings == load_settings("few-trees", ["parser.epochs=1"])
    with wording.raises(ConfigError):
        train(TEXT, "best", trees=TEXT[:10], settings={"parser": {"unknown": 0.5}})


def test_few_trees_needs_trees(wording: Wording) -> None:
    with wording.raises(UsageError):
        train(TEXT, "few-trees")


def test_the_numbers_of_few_trees_are_settings() -> None:
    usual = train(TEXT, "few-trees", trees=TEXT[:10]).model.parameters
    assert same_arrays(usual, train(TEXT, "best", trees=TEXT[:10]).model.parameters)
    other = train(
        TEXT, "few-trees", trees=TEXT[:10], settings={"crf": {"epochs": 1}}
    ).model.parameters
    assert not same_arrays(usual, other)
