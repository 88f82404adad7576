"""Ensembles of teachers by enumeration of trees, and every kind of teacher through `vdgi train`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import brute_force
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shell import Vdgi
from taught import RULES, TEXT, tagged

from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.errors import ConfigError
from dynet_vdgi.grammar.prior import Prior
from dynet_vdgi.recipes.teaching import teacher_of_kind
from dynet_vdgi.recipes.universal_kind import UniversalTeacherSettings
from dynet_vdgi.rivals.convex_mst import ConvexMst, ConvexMstSettings
from dynet_vdgi.rivals.ensemble import Ensemble, EnsembleSettings
from dynet_vdgi.rivals.hdp_dmv import HdpDmv, HdpDmvSettings
from dynet_vdgi.rivals.lc_dmv import LcDmv, LcDmvSettings
from dynet_vdgi.rivals.neural_dmv import NeuralDmv, NeuralDmvSettings
from dynet_vdgi.rivals.rasooli_faili import RfSettings
from dynet_vdgi.runs import model_file
from dynet_vdgi.settings.bundled import resources
from dynet_vdgi.settings.config import NoTeacher
from dynet_vdgi.settings.config_checks import every_setting
from dynet_vdgi.teachers.common import Floats, Teacher
from dynet_vdgi.teachers.dmv import Dmv
from dynet_vdgi.teachers.dmv_settings import DmvSettings

UNSEEN = tagged("VERB NEW ADP NOUN DET")
DEMO = resources() / "demo" / "demo-ud-train.conllu"


class Believer(Teacher):
    """Has made up its mind about sentences by their lengths."""

    name = "believer"

    def __init__(self, beliefs: dict[int, Floats]) -> None:
        self.beliefs = beliefs

    def fit(self, text: Iterable[Sentence], prior: Prior) -> Believer:
        return self

    def marginals(self, sentences: Iterable[Sentence]) -> list[Floats]:
        return [self.beliefs[len(sentence)] for sentence in sentences]

    def log_rows(self) -> list[dict[str, float]]:
        return [{"beliefs": len(self.beliefs)}]


@given(seed=st.integers(0, 10**6), n_members=st.integers(1, 3))
def test_trees_have_most_votes(seed: int, n_members: int) -> None:
    rng = np.random.default_rng(seed)
    members = tuple(Believer({n: rng.random((n + 1, n)) for n in (0, 2, 4)}) for _ in range(n_members))
    sentences = tagged("A A A A", "", "A A")
    ensemble = Ensemble(*members)
    trees, marginals = ensemble.heads(iter(sentences)), ensemble.marginals(iter(sentences))
    for n, tree, mean in zip((4, 0, 2), trees, marginals):
        votes = sum(member.beliefs[n] for member in members)
        assert mean == pytest.approx(votes / n_members)
        sums = {other: votes[other, range(n)].sum() for other in brute_force.projective_trees(n) or [()]}
        assert sums[tree] == pytest.approx(max(sums.values()))
    assert [sentence.heads for sentence in ensemble.predict(iter(sentences))] == trees


def test_members_learn_the_same_text_under_the_same_prior() -> None:
    prior = Prior.of_text(RULES, TEXT)
    members = Dmv().fit(TEXT, prior), ConvexMst().fit(TEXT, prior)
    both = Ensemble(Dmv(), ConvexMst()).fit(iter(TEXT), prior)
    votes = zip(*(member.marginals([*TEXT, *UNSEEN]) for member in members))
    for found, (first, second) in zip(both.marginals([*TEXT, *UNSEEN]), votes):
        assert found == pytest.approx((first + second) / 2)
    assert both.log_rows() == [*members[0].log_rows(), *members[1].log_rows()]
    assert both.name == "DMV + Convex-MST"


def test_a_majority_decides() -> None:
    """Two members that are sure of one tree outvote the one that is sure of another."""
    chain, fan = np.eye(3)[:, [0, 1]], np.eye(3)[:, [2, 0]]
    members = [Believer({2: chain}), Believer({2: fan}), Believer({2: chain})]
    (two,) = tagged("A B")
    assert Ensemble(*members).heads([two]) == [(0, 1)]
    assert Ensemble(*members[:2]).marginals([two])[0] == pytest.approx((chain + fan) / 2)


def test_an_ensemble_of_nobody_is_refused() -> None:
    with pytest.raises(ValueError, match="^an ensemble needs teachers$"):
        Ensemble()


# ------------------------------------------------------------------------------------------- settings
SETTINGS: dict[str, Any] = {
    "dmv": DmvSettings(iterations=4),
    "convex-mst": ConvexMstSettings(iterations=3, ridge=0.01),
    "lc-dmv": LcDmvSettings(iterations=4),
    "hdp-dmv": HdpDmvSettings(iterations=2, subsymbols=2),
    "ndmv": NeuralDmvSettings(epochs=1),
    "rf": RfSettings(iterations=3),
    "universal": UniversalTeacherSettings(table=0.3),
    "ensemble": EnsembleSettings(
        dmv=DmvSettings(backoff=3.0), convex_mst=ConvexMstSettings(prior_weight=0.9)
    ),
}
NAMES = {
    "dmv": "DMV",
    "convex-mst": "Convex-MST",
    "lc-dmv": "LC-DMV",
    "hdp-dmv": "HDP-DMV",
    "ndmv": "neural DMV",
    "rf": "RF",
    "universal": "universal parser",
    "ensemble": "DMV + Convex-MST",
}


def test_every_kind_of_the_settings_has_a_teacher() -> None:
    kinds = {kind.__struct_config__.tag for _, section, _, kind in every_setting() if section == "teacher"}
    assert kinds == {*SETTINGS}  # a teacher without numbers is not among them
    for kind, settings in SETTINGS.items():
        assert (settings.__struct_config__.tag, teacher_of_kind(settings, 1).name) == (kind, NAMES[kind])
    with pytest.raises(
        ConfigError,
        match=r"^config: 'teacher\.kind' is none, and few-trees starts from a teacher: .*--preset best",
    ):
        teacher_of_kind(NoTeacher(), 1)


def test_every_kind_teaches_its_own_trees() -> None:
    prior = Prior.of_text(RULES, TEXT)
    both = SETTINGS["ensemble"]
    members = Dmv(both.dmv), ConvexMst(both.convex_mst)
    teachers: dict[str, Teacher] = {
        "dmv": Dmv(iterations=4),
        "convex-mst": ConvexMst(iterations=3, ridge=0.01),
    }
    found = {kind: teacher_of_kind(settings, 1).fit(TEXT, prior) for kind, settings in SETTINGS.items()}
    teachers |= {"lc-dmv": LcDmv(SETTINGS["lc-dmv"]), "hdp-dmv": HdpDmv(SETTINGS["hdp-dmv"])}
    teachers |= {"ndmv": NeuralDmv(SETTINGS["ndmv"]), "ensemble": Ensemble(*members)}
    for kind, teacher in teachers.items():
        assert found[kind].predict(TEXT) == teacher.fit(TEXT, prior).predict(TEXT)
        for mine, expected in zip(found[kind].marginals(UNSEEN), teacher.marginals(UNSEEN)):
            assert (mine == expected).all()
    assert found["dmv"].predict(TEXT) != found["convex-mst"].predict(TEXT)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_training_asks_the_teacher_that_the_settings_name(tmp_path: Path, vdgi: Vdgi) -> None:
    text = tmp_path / "some.conllu"
    blocks = DEMO.read_text(encoding="utf-8").split("\n\n")[:150]
    text.write_text("\n\n".join([*blocks, ""]), encoding="utf-8")
    for kind, name in NAMES.items():
        out = tmp_path / kind
        options = ["--preset", "best", "--set", f"teacher.kind={kind}", "--set", "data.max_len=5"]
        assert f"teacher: {name}, " in vdgi.good("train", "--train", text, *options, "--out", out).err
        model = model_file.load(out / "model.vdgi")
        assert model.settings.teacher == type(SETTINGS[kind])()
        has_seen_trees = kind == "universal"  # of other languages
        assert bool(model.provenance.gold_trees) == has_seen_trees
