"""Ensembles of teachers by enumeration of trees, and every kind of teacher through `vdgi train`."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path

import brute_force
import numpy as np
import pytest
from dynet_vdgi.learning.students import LEARNERS, taught, teacher_of
from hypothesis import given
from hypothesis import strategies as st

from dynet_vdgi import config, model_file
from dynet_vdgi.bundled import resources
from dynet_vdgi.cli import main
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.grammar.prior import Prior
from dynet_vdgi.grammar.rules import parse_rules
from dynet_vdgi.teachers import convex_mst, dmv
from dynet_vdgi.teachers.ensemble import Ensemble, learn

RULES = parse_rules("ROOT VERB 1\nVERB NOUN 1\nNOUN ADP 1\nNOUN DET 1")
TEXT = [["VERB", "ADP", "DET", "NOUN"], ["DET", "NOUN", "VERB"], ["ADP", "NOUN", "VERB"]] * 20
DEMO = resources() / "demo" / "demo-ud-train.conllu"


@dataclass(frozen=True)
class Believer:
    """Has made up its mind about sentences by their lengths."""

    beliefs: dict[int, np.ndarray]

    def marginals(self, tagged):
        return [self.beliefs[len(tags)] for tags in tagged]

    def parse(self, tagged):
        return dmv.best_trees(self.marginals(tagged))


@given(seed=st.integers(0, 10**6), n_members=st.integers(1, 3))
def test_trees_have_most_votes(seed, n_members):
    rng = np.random.default_rng(seed)
    members = tuple(Believer({n: rng.random((n + 1, n)) for n in (0, 2, 4)}) for _ in range(n_members))
    tagged = [("A",) * n for n in (4, 0, 2)]
    ensemble = Ensemble(members)
    for n, tree, marginals in zip((4, 0, 2), ensemble.parse(iter(tagged)), ensemble.marginals(iter(tagged))):
        votes = sum(member.beliefs[n] for member in members)
        assert marginals == pytest.approx(votes / n_members)
        sums = {other: votes[other, range(n)].sum() for other in brute_force.projective_trees(n) or [()]}
        assert sums[tree] == pytest.approx(max(sums.values()))


def test_members_learn_the_same_text_under_the_same_prior():
    prior = Prior.of_text(RULES, TEXT)
    unseen = ["VERB", "NEW", "ADP", "NOUN", "DET"]
    members = dmv.learn(TEXT, prior), convex_mst.learn(TEXT, prior)
    both = learn(TEXT, prior, (dmv.learn, convex_mst.learn))
    for tags, found in zip([*TEXT, unseen], both.marginals([*TEXT, unseen])):
        votes = [member.marginals([tags])[0] for member in members]
        assert found == pytest.approx((votes[0] + votes[1]) / 2)


def test_a_majority_decides():
    """Two members that are sure of one tree outvote the one that is sure of another."""
    chain, fan = np.eye(3)[:, [0, 1]], np.eye(3)[:, [2, 0]]
    members = [Believer({2: chain}), Believer({2: fan}), Believer({2: chain})]
    assert Ensemble(tuple(members)).parse([("A", "B")]) == [(0, 1)]
    assert Ensemble(tuple(members[:2])).marginals([("A", "B")])[0] == pytest.approx((chain + fan) / 2)


# ------------------------------------------------------------------------------------------- settings
def test_every_kind_of_the_settings_has_a_learner():
    kind = next(field for field in fields(config.TeacherSettings) if field.name == "kind")
    assert {*LEARNERS, "none"} == set(kind.metadata["choices"])


def test_every_kind_teaches_its_own_trees() -> None:
    text = [Sentence(tuple(tags), tuple(tags), None) for tags in TEXT]
    prior = Prior.of_text(RULES, TEXT)
    members = dmv.learn(TEXT, prior), convex_mst.learn(TEXT, prior)
    teachers = {"dmv": members[0], "convex-mst": members[1], "ensemble": Ensemble(members)}
    assert teachers.keys() == LEARNERS.keys()
    found = {kind: taught(text, teacher_of(text, RULES, kind)) for kind in teachers}
    for kind, trees in found.items():
        assert trees == [replace(s, heads=heads) for s, heads in zip(text, teachers[kind].parse(TEXT))]
    assert found["dmv"] != found["convex-mst"]


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_training_asks_the_teacher_that_the_settings_name(tmp_path: Path, capsys) -> None:
    names = {"dmv": "DMV", "convex-mst": "Convex-MST", "ensemble": "DMV + Convex-MST"}
    for kind in LEARNERS:
        out = tmp_path / kind
        options = ["--preset", "best", "--set", f"teacher.kind={kind}", "--set", "data.max_len=5"]
        assert main(["train", "--train", str(DEMO), *options, "--out", str(out)]) == 0
        assert f"teacher: {names[kind]}, " in capsys.readouterr().err
        model = model_file.load(out / "model.vdgi")
        assert model.settings.teacher.kind == kind
        assert model.meta["gold_trees"] == []
