"""The rule table of a universal parser belongs to its model: no edited file changes its trees."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from wording import Wording

import dynet_vdgi
from dynet_vdgi.conllu import reading
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.errors import ModelError
from dynet_vdgi.models import archive, model_file, shipped_table
from dynet_vdgi.models.model_file import ModelFile
from dynet_vdgi.parser.relations import ModelLabeller
from dynet_vdgi.parser.universal_engine import UniversalEngine
from dynet_vdgi.relations.label_table import load as load_labels
from dynet_vdgi.rule_tables.measures import VerbOrder
from dynet_vdgi.settings import bundled
from dynet_vdgi.settings.bundled import resources
from dynet_vdgi.universal.model_table import (
    DIGEST,
    TABLE,
    table_arrays,
    table_of,
    table_to_learn_under,
)
from dynet_vdgi.universal.stored import Measures, arrays_of, scorer_of

DEMO = resources() / "demo" / "demo-ud-test.conllu"
SHIPPED = resources() / "models" / "universal.vdgi"
BEST = (resources() / "rules" / "best.txt").read_text(encoding="utf-8")
OTHER_RULES = BEST.replace("\nVERB NOUN", "\n# VERB NOUN").replace(
    "rule strength = 2.5", "rule strength = 1.0"
)


@pytest.fixture(scope="module")
def sentences() -> list[Sentence]:
    return list(reading.read(DEMO))[:60]


@pytest.fixture
def edited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The package with another table in resources/rules/best.txt."""
    folder = tmp_path / "resources"
    shutil.copytree(resources() / "rules", folder / "rules")
    shutil.copytree(resources() / "models", folder / "models")
    (folder / "rules" / "best.txt").write_text(OTHER_RULES, encoding="utf-8")
    monkeypatch.setattr(bundled, "resources", lambda: folder)
    shipped_table.shipped_table.cache_clear()
    assert table_to_learn_under() == OTHER_RULES
    return folder


def trees(sentences: list[Sentence], path: Path = SHIPPED) -> list[tuple[Any, Any]]:
    return [(each.heads, each.relations) for each in dynet_vdgi.load(path).parse_all(sentences)]


@pytest.fixture(scope="module")
def as_shipped(sentences: list[Sentence]) -> list[tuple[Any, Any]]:
    return trees(sentences)


def written(model: ModelFile, path: Path, **arrays: Any) -> Path:
    """A file of the model with other arrays of its table; None: without."""
    changed = {**model.parameters, TABLE: arrays["table"], DIGEST: arrays["digest"]}
    parameters = {name: array for name, array in changed.items() if array is not None}
    archive.write(path, model_file.members(replace(model, parameters=parameters)))
    return path


def test_another_table_in_resources_changes_no_tree(as_shipped, edited, sentences):
    assert trees(sentences) == as_shipped


def test_a_model_of_before_gets_the_table_of_the_shipped_one(
    as_shipped, edited, sentences, tmp_path
):
    path = written(model_file.load(SHIPPED), tmp_path / "before.vdgi", table=None, digest=None)
    assert trees(sentences, path) == as_shipped
    assert table_of(model_file.load(path).parameters) == table_of(
        model_file.load(SHIPPED).parameters
    )


def test_another_table_in_the_model_changes_its_trees(as_shipped, sentences, tmp_path):
    other = dict(zip(("table", "digest"), table_arrays(OTHER_RULES).values()))
    path = written(model_file.load(SHIPPED), tmp_path / "other.vdgi", **other)
    assert trees(sentences, path) != as_shipped


def test_the_shipped_model_has_the_table_best():
    """After a change, `experiments/universal.py table` gives it to the model: trees may change."""
    assert table_of(model_file.load(SHIPPED).parameters) == table_to_learn_under()


@pytest.mark.parametrize("fault", ["a letter", "cut", "numbers", "no digest", "no table", "digest"])
def test_a_damaged_table_is_refused(fault, tmp_path):
    model = model_file.load(SHIPPED)
    table, digest = model.parameters[TABLE].copy(), model.parameters[DIGEST].copy()
    table[100] += fault == "a letter"
    digest[3] ^= fault == "digest"
    changed = {
        "cut": (table[:-1], digest),
        "numbers": (table.astype(float), digest),
        "no digest": (table, None),
        "no table": (None, digest),
    }
    arrays = dict(zip(("table", "digest"), changed.get(fault, (table, digest))))
    path = written(model, tmp_path / "damaged.vdgi", **arrays)
    if fault == "no table":  # as a model of before
        assert table_of(model_file.load(path).parameters) == table_of(model.parameters)
        return
    with pytest.raises(ModelError, match="rule table"):
        dynet_vdgi.load(path)


def test_a_table_that_is_none_is_refused_when_a_text_is_measured(
    sentences, tmp_path, wording: Wording
):
    arrays = dict(zip(("table", "digest"), table_arrays("NOUN because VERB\n").values()))
    path = written(model_file.load(SHIPPED), tmp_path / "damaged.vdgi", **arrays)
    with wording.raises(ModelError):
        dynet_vdgi.load(path).parse_all(sentences)


def test_what_is_made_from_a_model_keeps_the_table_of_the_model(edited, sentences, tmp_path, vdgi):
    shutil.copy(DEMO, tmp_path / "text.conllu")
    parser = dynet_vdgi.load(SHIPPED)
    assert isinstance(parser.engine, UniversalEngine)
    table = table_of(parser.model.parameters)
    assert parser.engine.scorer.table == table
    assert arrays_of(parser.engine.scorer)[TABLE].tobytes().decode() == table
    measured = parser.adapted(sentences)
    measured.save(tmp_path / "run.vdgi")
    again = model_file.load(tmp_path / "run.vdgi")
    assert scorer_of(again.parameters).table == table
    assert Measures.from_arrays(again.parameters, scorer_of(again.parameters)) is not None


@pytest.mark.parametrize("has_table", [True, False])
def test_the_order_of_verbs_is_measured_under_the_table_of_a_model(edited, has_table):
    # which measures nothing
    shutil.copy(edited / "rules" / "ud.txt", edited / "rules" / "best.txt")
    model = model_file.load(SHIPPED)
    labeller = ModelLabeller(model if has_table else replace(model, parameters={}), load_labels())
    verbs_first = [["VERB", "NOUN", "NOUN"]] * 60
    assert labeller.verb_order_in(verbs_first) == VerbOrder.INITIAL


def test_the_description_of_a_model_names_its_table(vdgi):
    sha256 = model_file.load(SHIPPED).parameters[DIGEST].tobytes().hex()
    assert f"model, sha256 {sha256}" in vdgi.good("info", SHIPPED).out
    assert json.loads(vdgi.good("info", SHIPPED, "--json").out)["table_sha256"] == sha256


def test_a_digest_is_of_the_bytes_of_the_text():
    arrays = table_arrays("é")
    assert arrays[TABLE].tolist() == list("é".encode())
    assert np.array_equal(table_arrays(table_of(arrays))[DIGEST], arrays[DIGEST])
