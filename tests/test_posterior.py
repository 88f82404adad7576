"""Posterior regularisation against its definition, finite differences and exact expectations."""

from __future__ import annotations

import numpy as np
import pytest
from brute_force import dual
from hypothesis import given
from hypothesis import strategies as st

from dynet_vdgi.settings.neural_settings import PosteriorSettings
from dynet_vdgi.variational.phases import Lambda, dual_gradient, effective_samples, gamma, log_z

CASES = st.integers(0, 10_000)


def case(seed, m=20, k=4):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 4, (m, k)).astype(float), rng.gamma(1.0, 1.0, k), rng.uniform(0, 1, k)


@given(CASES)
def test_gamma_is_exp_lambda_counts_over_z_with_mean_one(seed):
    counts, lam, _ = case(seed)
    phi = -counts  # the paper's features are negative counts
    z = np.mean([np.exp(-lam @ row) for row in phi])
    assert gamma(counts, lam) == pytest.approx([np.exp(-lam @ row) / z for row in phi])
    assert log_z(counts, lam) == pytest.approx(np.log(z))
    assert gamma(counts, lam).mean() == pytest.approx(1.0)


def test_large_lambda_does_not_overflow():
    counts, lam, _ = case(1)
    g = gamma(counts, 1e4 * lam)
    assert np.isfinite(g).all()
    assert g.mean() == pytest.approx(1.0)
    assert effective_samples(g) == pytest.approx(1.0)


@given(CASES)
def test_gradient_of_the_dual_by_finite_differences(seed):
    counts, lam, e = case(seed)
    lam = lam + 0.01
    numeric = [
        (dual(counts, lam + step, e, 0.1) - dual(counts, lam - step, e, 0.1)) / 2e-6 for step in 1e-6 * np.eye(len(lam))
    ]
    assert dual_gradient(counts, lam, e, 0.1) == pytest.approx(numeric, abs=1e-6)


def test_the_minimum_of_the_dual_meets_the_constraints():
    """At the optimum E_q[counts] >= e up to slack epsilon, with equality where lambda > 0 (Eq. 10)."""
    counts, _, _ = case(3, m=500, k=3)
    e, epsilon = np.array([2.0, 1.0, 1.8]), 0.05
    lam = np.full(3, 0.1)
    for _ in range(5000):
        lam = np.maximum(0.0, lam - 0.05 * dual_gradient(counts, lam, e, epsilon))
    expected = gamma(counts, lam) @ counts / len(counts)
    lacking = np.maximum(0.0, e - expected)
    assert np.linalg.norm(lacking) <= epsilon + 1e-3
    assert lam[1] == pytest.approx(0.0, abs=1e-6)  # asked for less than there is
    assert lam[0] > 0
    assert lam[2] > 0


def test_released_dynamics_step_by_step():
    counts, _, e = case(6)
    lam = Lambda(PosteriorSettings(dynamics="released", lr=0.1, momentum=0.9, epsilon=0.1), e)
    assert lam.value.tolist() == e.tolist()  # starts at the expectations
    value, velocity = e.copy(), np.zeros(4)
    for _ in range(5):
        velocity = 0.9 * velocity + dual_gradient(counts, value, e, 0.1)
        value = np.maximum(0.0, value - 0.1 * velocity)
        lam.update(counts)
    assert lam.value == pytest.approx(value)
    lam.update(np.zeros((20, 4)))  # no rule anywhere: no gradient, momentum goes on
    velocity = 0.9 * velocity
    assert lam.value == pytest.approx(np.maximum(0.0, value - 0.1 * velocity))


@pytest.mark.parametrize(
    ("weights", "expected"), [([1.0] * 20, 20.0), ([20.0] + [0.0] * 19, 1.0), ([1.0, 1.0, 0, 0], 2.0)]
)
def test_effective_samples(weights, expected):
    assert effective_samples(np.array(weights)) == pytest.approx(expected)
