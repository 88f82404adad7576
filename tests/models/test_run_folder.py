"""The folder of a run instead of its model, a model instead of a rule file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tiny
from shell import Vdgi
from wording import Wording

from dynet_vdgi.conllu import reading
from dynet_vdgi.errors import ConfigError, ModelError
from dynet_vdgi.evaluation.attachment import GoldTrees
from dynet_vdgi.evaluation.file_scores import evaluate_baselines
from dynet_vdgi.evaluation.rules_only import RULES_ONLY
from dynet_vdgi.models import model_file
from dynet_vdgi.models.run_folder import model_path, rules_named, shipped
from dynet_vdgi.rule_tables.rules import RuleSet, load_rules, parse_rules
from dynet_vdgi.settings import presets
from dynet_vdgi.settings.bundled import rules_path

MINE = "ROOT NOUN 0.5\nVERB DET 0.5\n"


@pytest.fixture
def run(folder: Path, model: Path) -> Path:
    """A run whose model has rules of its own, and gold.conllu."""
    Path("mine").mkdir()
    with_rules = model_file.load(model)
    with_rules.rules = parse_rules(MINE)
    model_file.save("mine/model.vdgi", with_rules)
    tiny.write(Path("gold.conllu"), 12)
    return Path("mine")


def test_the_model_in_a_folder(run: Path, wording: Wording) -> None:
    assert model_path("mine") == model_path("mine/model.vdgi") == Path("mine/model.vdgi")
    assert model_path("nowhere.vdgi") == Path("nowhere.vdgi")
    Path("empty").mkdir()
    with pytest.raises(ModelError) as error:
        model_path("empty")
    wording.check(error.value)


def test_a_folder_without_a_model_hides_nothing_of_the_package(run: Path) -> None:
    for name in ("universal", "ud"):
        Path(name).mkdir()
    assert model_path("universal") == shipped("universal")
    assert rules_named("ud").rules == load_rules(rules_path("ud"))
    run.rename("ud/run")
    Path("ud/run/model.vdgi").rename("ud/model.vdgi")
    assert rules_named("ud").rules.text == MINE


def test_rules_by_whatever_has_them(run: Path, wording: Wording) -> None:
    Path("rules.txt").write_text(MINE, encoding="utf-8")
    for name in ("mine", "mine/model.vdgi", "rules.txt"):
        found = rules_named(name)
        assert (found.rules.text, found.tags) == (MINE, "upos")
    assert rules_named("ud").name == "ud.txt"
    assert rules_named("ud").rules == load_rules(rules_path("ud"))
    with wording.raises(ConfigError):
        rules_named("udd")


def test_the_column_of_the_rules_is_that_of_the_model(run: Path) -> None:
    model = model_file.load("mine/model.vdgi")
    model.settings = presets.merge(model.settings, {"data": {"tags": "xpos"}})
    model_file.save("mine/model.vdgi", model)
    assert rules_named("mine").tags == "xpos"


def dda_of(rules: RuleSet) -> float:
    gold = GoldTrees.of(reading.read("gold.conllu"))
    return evaluate_baselines(gold, rules, by=())[RULES_ONLY].total.dda


def test_rules_only_is_decoded_under_the_rules_of_the_model(vdgi: Vdgi, run: Path) -> None:
    figures = {}
    for rules in ("mine", "best"):
        shown = json.loads(
            vdgi.good("evaluate", "gold.conllu", "--baselines", "--rules", rules, "--json").out
        )
        figures[rules] = shown["systems"][RULES_ONLY]["total"]["dda"]
        assert figures[rules] == pytest.approx(dda_of(rules_named(rules).rules))
    assert figures["mine"] < figures["best"]
    default = json.loads(vdgi.good("evaluate", "gold.conllu", "--baselines", "--json").out)
    assert default["rules"] == "best.txt"
    assert default["systems"][RULES_ONLY]["total"]["dda"] == figures["best"]
