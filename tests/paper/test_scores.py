"""Score functions against their formulas written out, in the paper's and in the released code's
form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from networks import written_out

from dynet_vdgi.paper import released, scores
from dynet_vdgi.paper.scores import rl_c, rl_pc, rl_pc_or_sn, rl_sn
from dynet_vdgi.paper.settings import FinetuneSettings
from dynet_vdgi.paper.stages import score_function

EITHER = pytest.mark.parametrize("form", ["paper", "released"])
EIGHTHS = st.integers(-800, 800).map(lambda x: x / 8)
"""Values whose sums and differences are exact, so that equal ones are equal however they are
computed."""

SAMPLES = st.lists(st.tuples(EIGHTHS, st.integers(0, 4)), min_size=2, max_size=24)
"""The l and the number of rule arcs of each sample."""


def array(*values: float) -> np.ndarray[Any, Any]:
    return np.array(values, dtype=np.float64)


def scored(value: Any, rules: Any, form: str) -> dict[str, list[float]]:
    """All scores of these samples."""
    functions = {"paper": scores.SCORES, "released": released.SCORES}[form]
    assert list(functions) == ["rl-sn", "rl-c", "rl-pc"]
    return {kind: score(value, rules).tolist() for kind, score in functions.items()}


@EITHER
@given(samples=SAMPLES)
def test_scores_are_the_formulas_written_out(form, samples):
    value, rules = (np.array(column, dtype=np.float64) for column in zip(*samples))
    before = value.tolist(), rules.tolist()
    for kind, score in scored(value, rules, form).items():
        assert score == pytest.approx(written_out(kind, form, *before), abs=1e-9), kind
    assert (value.tolist(), rules.tolist()) == before


@given(samples=SAMPLES)
def test_rl_pc_takes_the_sign_of_rl_sn_where_no_sample_has_more_rule_arcs_than_another(samples):
    value, rules = (np.array(column, dtype=np.float64) for column in zip(*samples))
    for counts in (rules, np.full_like(rules, 3.0)):
        kind = "rl-sn" if len(set(counts.tolist())) == 1 else "rl-pc"
        expected = written_out(kind, "paper", value.tolist(), counts.tolist())
        assert rl_pc_or_sn(value, counts) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("form", ["paper", "released"])
@pytest.mark.parametrize("ties", ["positive", "rl-sn"])
def test_the_setting_of_ties_chooses_the_score(ties, form):
    score = score_function(FinetuneSettings(score="rl-pc", form=form, ties=ties), {})
    of_form = {"paper": rl_pc, "released": released.rl_pc}[form]
    assert score is (rl_pc_or_sn if (form, ties) == ("paper", "rl-sn") else of_form)


def test_scores_worked_out_by_hand():
    """Of l 1, 2, 5, 8: mean 4, variance 30 / 4; of rules 2, 1, 0, 1, mean 1, variance 1 / 2."""
    value, rules = array(1, 2, 5, 8), array(2, 1, 0, 1)
    paper, theirs = (scored(value, rules, form) for form in ("paper", "released"))
    assert paper["rl-sn"] == pytest.approx(array(-3, -2, 1, 4) / np.sqrt(7.5), rel=1e-12)
    assert theirs["rl-sn"] == pytest.approx(array(-3, -2, 1, 4) / np.sqrt(10), rel=1e-12)
    assert paper["rl-c"] == pytest.approx(array(np.sqrt(2), 0, -np.sqrt(2), 0), rel=1e-12)
    assert theirs["rl-c"] == [1, 0, -1, 0]
    # A count of exactly the mean is pulled towards in the paper, pushed away from in the released
    # code.
    assert paper["rl-pc"] == pytest.approx(array(3, 2, -1, 4) / np.sqrt(7.5), rel=1e-12)
    assert theirs["rl-pc"] == pytest.approx(array(3, -2, -1, -4) / np.sqrt(10), rel=1e-12)
    # Only the paper's RL-SN leaves differences below 1 as they are.
    assert rl_sn(array(1.0, 1.5)).tolist() == [-0.25, 0.25]
    assert released.rl_sn(array(1.0, 1.5)) == pytest.approx(
        [-np.sqrt(0.5), np.sqrt(0.5)], rel=1e-12
    )


@EITHER
def test_samples_that_are_all_alike_score_zero(form):
    """A short sentence without dropout often has them; neither rounding nor a std of 0 makes
    differences."""
    for value in (0.0, 2.0, -12.25, 0.1, -3.7, -7.321, 1 / 3):
        for size in (2, 3, 5, 7, 20, 50):
            same = np.full(size, value)
            exact = value * 8 == round(value * 8)
            found = scored(same, np.arange(size, dtype=float), form)
            for kind in ("rl-sn", "rl-pc"):
                assert np.abs(found[kind]).max() <= (0.0 if exact else 1e-9)
            of_form = {"paper": rl_c, "released": released.rl_c}[form]
            assert of_form(np.full(size, 7.0)).tolist() == [0] * size


@pytest.mark.parametrize("mean", [3, 5, 7])
def test_a_count_at_the_mean_is_a_tie_whatever_one_part_in_m_is_in_binary(mean):
    for size in range(3, 130, 2):
        rules = np.full(size, float(mean))
        rules[: size // 2] += 3
        rules[size // 2 + 1 :] -= 3
        elbo = np.arange(size, dtype=float) ** 2
        assert rl_pc(elbo, rules)[size // 2] > 0
        assert released.rl_pc(elbo, rules)[size // 2] < 0
        assert rl_c(rules)[size // 2] == 0
    assert 105 * mean * (1 / 105) != mean  # the mean as one might compute it
