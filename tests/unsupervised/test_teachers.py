"""What holds of every teacher: order, repetition, what it says before it has learnt, its settings."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import brute_force
import numpy as np
import pytest
from taught import RULES, TEXT, prepared, tagged
from wording import Wording

from dynet_vdgi.errors import ConfigError, VdgiError
from dynet_vdgi.evaluation.attachment import score
from dynet_vdgi.rivals.convex_mst import ConvexMst, ConvexMstSettings
from dynet_vdgi.rivals.hdp_dep import HdpDep, HdpDepSettings
from dynet_vdgi.rivals.lc_dmv import LcDmv, LcDmvSettings
from dynet_vdgi.rivals.rf import RasooliFaili, RfSettings
from dynet_vdgi.rule_tables.prior import Prior
from dynet_vdgi.rule_tables.rules import load_rules
from dynet_vdgi.settings.bundled import rules_path
from dynet_vdgi.settings.settings import DmvSettings, NoTeacher
from dynet_vdgi.settings.values import every_setting
from dynet_vdgi.training.taught import teacher_of_kind
from dynet_vdgi.training.universal_teacher import UniversalTeacherSettings
from dynet_vdgi.unsupervised.dmv import Dmv
from dynet_vdgi.unsupervised.teacher import SymbolTeacher

Make = Callable[[], SymbolTeacher[Any]]

TEACHERS: dict[str, Make] = {
    "DMV": Dmv,
    "Convex-MST": ConvexMst,
    "HDP-DEP": lambda: HdpDep(iterations=2, subsymbols=2),
    "LC-DMV": lambda: LcDmv(iterations=4),
    "RF": lambda: RasooliFaili(iterations=3),
}


@pytest.fixture(params=TEACHERS)
def make(request: pytest.FixtureRequest) -> Make:
    return TEACHERS[request.param]


def test_every_sentence_is_parsed_in_order(make):
    teacher = make().fit(iter(TEXT), Prior.of_text(RULES, TEXT))
    unseen = "VERB NEW NEWER NEW NOUN"
    sentences = [*tagged(unseen, "", "NEW"), TEXT[0], *tagged("NEWER " * 30, unseen)]
    trees = teacher.heads(iter(sentences))
    assert [len(tree) for tree in trees] == [len(sentence) for sentence in sentences]
    for tree in trees:
        assert not tree or (brute_force.is_tree(tree) and not brute_force.crosses(tree))
    assert trees == [teacher.heads([sentence])[0] for sentence in sentences]
    assert trees == [sentence.heads for sentence in teacher.predict(iter(sentences))]
    for tree, matrix in zip(trees, teacher.marginals(iter(sentences))):
        assert matrix.shape == (len(tree) + 1, len(tree))
        assert matrix.sum(axis=0) == pytest.approx(np.ones(len(tree)))
    assert teacher.marginals([]) == []
    again = make().fit(TEXT, Prior.of_text(RULES, TEXT))
    assert again.log_rows() == teacher.log_rows()
    assert again.heads(sentences) == trees


def test_teachers_that_have_learnt_nothing_say_so(make, wording: Wording):
    teacher = make()
    uses = [partial(use, TEXT) for use in (teacher.heads, teacher.predict, teacher.marginals)]
    for learn in (False, True):
        if learn:
            with wording.raises(ValueError):
                teacher.fit([], Prior(RULES))
        for use in (*uses, teacher.log_rows):
            with wording.raises(VdgiError):
                use()


@pytest.mark.parametrize("kind", [Dmv, ConvexMst, LcDmv])
def test_teachers_find_what_the_prior_leaves_open(kind):
    """Which noun a lone ADP between two belongs to is learnt from sentences with one noun."""
    teacher = kind().fit(TEXT, Prior.of_text(RULES, TEXT))
    assert teacher.heads(tagged("VERB NOUN ADP NOUN")) == [(0, 1, 4, 1)]
    assert teacher.symbols == ("ADP", "DET", "NOUN", "VERB")


def test_wrong_numbers_are_refused():
    """Bounds are of the settings, see `test_config`; here each teacher is shown to check them."""
    cases: list[tuple[type, dict[str, Any], str]] = [
        (Dmv, {"iterations": -1}, "dmv: 'iterations' must be at least 0, not -1"),
        (Dmv, {"iterations": 2.5}, "dmv: 'iterations' must be a whole number, not 2.5"),
        (Dmv, {"backoff": float("inf")}, "dmv: 'backoff' must be a finite number, not inf"),
        (Dmv, {"iteration": 3}, "dmv: no setting 'iteration'; did you mean 'iterations'?"),
        (Dmv, {"ridge": 3}, "dmv: no setting 'ridge'"),
        (
            Dmv,
            {"settings": DmvSettings(), "iterations": 3},
            "dmv: give settings or single numbers such as iterations, not both",
        ),
        (LcDmv, {"chunk": 0}, "lc-dmv: 'chunk' must be at least 1, not 0"),
        (ConvexMst, {"ridge": 0}, "convex-mst: 'ridge' must be above 0, not 0"),
        (HdpDep, {"share": 1.5}, "hdp-dep: 'share' must be from 0 to 0.99, not 1.5"),
        (RasooliFaili, {"beam": 0}, "rf: 'beam' must be at least 1, not 0"),
        (RasooliFaili, {"seed": -1}, f"rf: 'seed' must be from 0 to {2**63 - 1}, not -1"),
    ]
    for kind, numbers, message in cases:
        with pytest.raises(ConfigError, match=f"^{re.escape(message)}$"):
            kind(**numbers)


SETTINGS: dict[str, tuple[Any, str]] = {
    "dmv": (DmvSettings(iterations=4), "DMV"),
    "convex-mst": (ConvexMstSettings(iterations=3, ridge=0.01), "Convex-MST"),
    "hdp-dep": (HdpDepSettings(iterations=2, subsymbols=2), "HDP-DEP"),
    "lc-dmv": (LcDmvSettings(iterations=4), "LC-DMV"),
    "rf": (RfSettings(iterations=3), "RF"),
    "universal": (UniversalTeacherSettings(table=0.3), "universal parser"),
}


def test_every_kind_of_the_settings_has_a_teacher(wording: Wording):
    kinds = {
        kind.__struct_config__.tag
        for _, section, _, kind in every_setting()
        if section == "teacher"
    }
    assert kinds == {*SETTINGS}  # a teacher without numbers is not among them
    for kind, (settings, name) in SETTINGS.items():
        teacher: Any = teacher_of_kind(settings, 1)
        assert (settings.__struct_config__.tag, teacher.name) == (kind, name)
        assert kind == "universal" or teacher.settings == settings
    with wording.raises(ConfigError):
        teacher_of_kind(NoTeacher(), 1)


def test_a_teacher_of_portuguese_is_as_measured_before(data_dir):
    text = data_dir / "ud14_train_len15" / "pt-ud-train-nopunct-len15.conllu"
    train = prepared(text, 15, "ignored")[:1000]
    dev = prepared(data_dir / "ud14" / "pt-ud-dev.conllu", 15, "required")
    teacher = Dmv().fit(train, Prior.of_text(load_rules(rules_path("best")), train))
    assert 0.775 < score(dev, teacher.heads(dev)).dda < 0.825  # 80.0
