"""A CRF that starts as a universal parser: probabilities, learning, model files, annotation."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from brute_force import projective_trees
from few import trees
from universal_toys import scorer as random_scorer
from universal_toys import written_scorer

import dynet_vdgi
from dynet_vdgi.errors import ModelError
from dynet_vdgi.few_trees.arc_crf import ArcCrf
from dynet_vdgi.inference import eisner
from dynet_vdgi.parser.parser import How
from dynet_vdgi.relations.label_table import load as load_labels
from dynet_vdgi.relations.labeller import Labeller
from dynet_vdgi.relations.ud_relations import LABELS
from dynet_vdgi.rule_tables.prior import Prior
from dynet_vdgi.rule_tables.rules import load_rules
from dynet_vdgi.settings.bundled import rules_path
from dynet_vdgi.training.universal_teacher import UniversalTeacher
from dynet_vdgi.universal.encoding import RELATIONS
from dynet_vdgi.universal.text_base import FLATTER, TextBase, text_base

GOLD = [replace(one, gaps=()) for one in trees(24)]
TEXT = [replace(one, heads=None, deprels=()) for one in GOLD]
SCORER = random_scorer()
TABLE = Prior.of_text(load_rules(rules_path("best")), TEXT)


def base(share: float = 0.0) -> TextBase:
    return TextBase.of_text(SCORER, TEXT, TABLE, share)


def test_potentials_are_the_scorers_log_probabilities_and_a_share_of_the_tables():
    plain = list(base().all_potentials(TEXT))
    mixed = list(base(0.5).all_potentials(TEXT))
    for sentence, ours, both in zip(TEXT, plain, mixed):
        n = len(sentence)
        assert np.exp(ours[:, 1:] / FLATTER).sum(axis=0) == pytest.approx(np.ones(n), abs=1e-5)
        table = np.exp(2 * (both - ours)[:, 1:] / FLATTER)
        others = ~np.eye(n + 1, dtype=bool)[:, 1:]
        assert np.where(others, table, 0).sum(axis=0) == pytest.approx(np.ones(n), abs=1e-5)
        of_table = TABLE.potentials(sentence)
        for d in range(1, n + 1):
            heads = [h for h in range(n + 1) if h != d]
            assert np.ptp(np.log(table[heads, d - 1]) - of_table[heads, d]) == pytest.approx(
                0, abs=1e-5
            )


def test_a_sentence_has_the_same_potentials_alone_and_among_others(monkeypatch):
    together = list(base().all_potentials(TEXT))
    monkeypatch.setattr("dynet_vdgi.universal.text_base.WORDS", 10)
    for sentence, ours, theirs in zip(TEXT, together, base().all_potentials(TEXT)):
        (alone,) = base().all_potentials([sentence])
        assert alone == pytest.approx(ours, abs=1e-5)
        assert theirs == pytest.approx(ours, abs=1e-5)
    assert list(base().all_potentials([])) == []


def test_the_crf_sums_over_all_trees_weighted_by_the_scorer_and_the_features():
    sentence = TEXT[0]
    crf = ArcCrf(log2_buckets=10).fit(GOLD[1:6], base())
    assert not np.array_equal(crf.shares, base().shares)
    scores = crf.scores(sentence)
    weight = {
        heads: math.exp(sum(scores[h, d] for d, h in enumerate(heads, 1)))
        for heads in projective_trees(len(sentence))
    }
    expected = np.zeros((len(sentence) + 1, len(sentence)))
    for heads, w in weight.items():
        expected[list(heads), range(len(sentence))] += w / sum(weight.values())
    assert crf.marginals([sentence])[0] == pytest.approx(expected)


def test_without_trees_the_crf_parses_as_the_scorer_does():
    teacher = UniversalTeacher(SCORER, 0.0).fit(TEXT, TABLE)
    crf = ArcCrf(log2_buckets=10).fit([], teacher.start(TEXT, TABLE))
    assert [eisner.expected_best(arcs) for arcs in crf.marginals(TEXT)] == teacher.heads(TEXT)
    for ours, theirs in zip(crf.marginals(TEXT), teacher.marginals(TEXT)):
        assert ours == pytest.approx(theirs)


def test_a_base_from_its_arrays_has_the_same_potentials():
    for share in (0.0, 0.25):
        again = text_base({**base(share).arrays(), "crf/share": np.zeros(2)}, TABLE)
        for ours, theirs in zip(base(share).all_potentials(TEXT), again.all_potentials(TEXT)):
            assert np.array_equal(ours, theirs)
    assert text_base({"crf/share": np.zeros(2)}, TABLE) is TABLE


@pytest.mark.parametrize(
    "name",
    ["universal/known", "universal/mean", "universal/tag", "text/pairs", "text/forms", "damaged"],
)
def test_a_base_with_a_missing_array_is_refused(name):
    arrays = base().arrays()
    if name == "damaged":
        arrays["text/forms"] = np.zeros(3, np.uint8)
    else:
        del arrays[name]
    with pytest.raises(
        ModelError, match="its names are damaged" if name == "damaged" else "missing"
    ):
        text_base(arrays, TABLE)


def test_few_trees_start_from_a_universal_parser_and_a_model_file_keeps_it(tmp_path):
    teacher = {"kind": "universal", "model": written_scorer(tmp_path, SCORER), "table": 0.2}
    settings = {"teacher": teacher, "crf": {"log2_buckets": 10}, "parser": {"log2_buckets": 10}}
    parser = dynet_vdgi.train(TEXT, trees=GOLD[:6], settings={"recipe": "few-trees", **settings})
    parser.save(tmp_path / "few.vdgi")
    again = dynet_vdgi.load(tmp_path / "few.vdgi")
    crf = ArcCrf(log2_buckets=10, rate=0.05).fit(GOLD[:6], base(0.2))
    exact = [eisner.expected_best(arcs) for arcs in crf.marginals(TEXT)]
    for one in (parser, again):
        assert [parse.heads for parse in one.parse_all(TEXT, How(exact=True))] == exact
    assert [again(s.forms, s.tags).heads for s in TEXT] == [
        parser(s.forms, s.tags).heads for s in TEXT
    ]
    lines = again.model.provenance.gold_trees
    assert "teacher: universal parser scorer.vdgi, learnt from trees of other languages" in lines
    assert ("universal parser", "scorer.vdgi") in [
        (d.role, d.name) for d in again.model.provenance.data
    ]


def test_relations_begin_as_those_of_the_universal_parser(tmp_path):
    teacher = {"kind": "universal", "model": written_scorer(tmp_path, SCORER), "table": 0.2}
    settings = {"recipe": "few-trees", "teacher": teacher, "crf": {"log2_buckets": 10}}
    known = [replace(one, deprels=()) for one in GOLD[:6]]
    for gold in (known, GOLD[:6]):
        parser = dynet_vdgi.train(TEXT, trees=gold, settings=settings)
        parser.save(tmp_path / "few.vdgi")
        again = dynet_vdgi.load(tmp_path / "few.vdgi")
        order = TABLE.text.verb_order
        expected = Labeller(load_labels(), log_p=base(0.2).log_p).fit(gold, verb_order=order)
        for one, found in zip(TEXT, again.pipe(TEXT)):
            assert expected.predict([replace(one, heads=found.heads)])[0].deprels == found.deprels


def test_log_p_of_relations_is_the_scorers(monkeypatch):
    heads = np.array([head for one in GOLD for head in one.heads or ()])
    together = base().log_p(TEXT, heads)
    assert np.exp(together).sum(axis=1) == pytest.approx(np.ones(len(heads)))
    scorer = base().text_scorer
    scores = scorer.relations(scorer.encode(TEXT), heads)
    columns = [LABELS.index(relation) for relation in RELATIONS if relation != "root"]
    others = np.delete(scores, RELATIONS.index("root"), axis=1)
    difference = together[:, columns] - others
    assert np.ptp(difference, axis=1) == pytest.approx(np.zeros(len(heads)), abs=1e-4)
    assert np.isneginf(np.delete(together, columns, axis=1)).all()
    monkeypatch.setattr("dynet_vdgi.universal.scorer.WORDS", 10)
    assert base().log_p(TEXT, heads)[:, columns] == pytest.approx(together[:, columns], abs=1e-4)


def test_a_parser_taught_by_a_universal_parser_finds_its_trees_exactly(tmp_path):
    teacher = {"kind": "universal", "model": written_scorer(tmp_path, SCORER)}
    parser = dynet_vdgi.train(
        TEXT, "best", settings={"teacher": teacher, "parser": {"log2_buckets": 10}}
    )
    expected = UniversalTeacher(SCORER).fit(TEXT, TABLE).heads(TEXT)
    assert [parse.heads for parse in parser.parse_all(TEXT, How(exact=True))] == expected


def test_a_file_without_a_universal_parser_is_refused_before_anything_is_learnt(tmp_path):
    def few(model: str) -> None:
        settings = {"recipe": "few-trees", "teacher": {"kind": "universal", "model": model}}
        dynet_vdgi.train(TEXT, trees=GOLD[:6], settings=settings)

    with pytest.raises(ModelError, match=r"teacher\.model: .*no such model file"):
        few(str(tmp_path / "none.vdgi"))
    table = dynet_vdgi.train(TEXT, "best", settings={"parser": {"epochs": 1, "log2_buckets": 10}})
    table.save(tmp_path / "table.vdgi")
    with pytest.raises(ModelError, match="no universal parser: missing"):
        few(str(tmp_path / "table.vdgi"))
