"""Score functions: values of a sentence's samples (paper, "Variance Reduction", Eqs. 18 to 20; 17
is `baseline`).

One value for each of M samples, shapes (M,), in nats. `log_ratio` is l(x, a) = log p(x, a) -
log q(a|x) (Eq. 7), `rule_arcs` is s(x, a), the number of rule arcs. Scores are constants for the
networks' gradients. `SCORES` has them by their names in the setting `finetune.score`; a new one
goes there. `released` has those of the released code.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dynet_vdgi.system.array_types import Flags, Floats

Score = Callable[[Floats, Floats], Floats]
"""From l and the number of rule arcs of each of M samples to the score (M,) of each."""


def rl_sn(log_ratio: Floats) -> Floats:
    """Eq. 18: centred within the group and divided by max(1, std).

    >>> rl_sn(np.array([1.0, 1.5])).tolist()  # std .25 < 1: centred only
    [-0.25, 0.25]
    """
    return np.asarray((log_ratio - log_ratio.mean()) / max(1.0, float(log_ratio.std())))


def rl_c(rule_arcs: Floats) -> Floats:
    """Eq. 20: the standardised number of rule arcs; zeros where all samples have equally many.

    >>> rl_c(np.array([3.0, 1.0])).tolist()
    [1.0, -1.0]
    """
    return standardised(rule_arcs, ddof=0)


def rl_pc(log_ratio: Floats, rule_arcs: Floats) -> Floats:
    """Eq. 19: the size of `rl_sn`, positive for samples with at least the mean number of rule arcs.

    A tie, exactly the mean number, is positive:

    >>> rl_pc(np.array([0.0, 2.0, 4.0]), np.array([2.0, 1.0, 0.0])).round(3).tolist()
    [1.225, 0.0, -1.225]
    >>> rl_pc(np.array([0.0, 4.0]), np.array([1.0, 1.0])).tolist()
    [1.0, 1.0]
    """
    return signed(rl_sn(log_ratio), above_mean(rule_arcs) >= 0)


def rl_pc_or_sn(log_ratio: Floats, rule_arcs: Floats) -> Floats:
    """`finetune.ties = "rl-sn"`: `rl_pc`, but `rl_sn` where all samples have equally many rule
    arcs.

    There the standardised number of Eq. 19 is 0/0, and rules cannot correct the sign:

    >>> rl_pc_or_sn(np.array([0.0, 4.0]), np.array([1.0, 1.0])).tolist()
    [-1.0, 1.0]
    >>> rl_pc_or_sn(np.array([0.0, 4.0]), np.array([2.0, 1.0])).tolist()
    [1.0, -1.0]
    """
    if above_mean(rule_arcs).any():
        return rl_pc(log_ratio, rule_arcs)
    return rl_sn(log_ratio)


SCORES: dict[str, Score] = {
    "rl-sn": lambda log_ratio, rule_arcs: rl_sn(log_ratio),
    "rl-c": lambda log_ratio, rule_arcs: rl_c(rule_arcs),
    "rl-pc": rl_pc,
}
"""By the value of `finetune.score`; rl-bl needs a `Baseline` besides."""

EQUAL = 1e-6
"""A spread below this share of the values is rounding: engines compute in single precision."""


def standardised(values: Floats, ddof: int) -> Floats:
    """Values (M,) with mean 0 and, with M - `ddof` in its denominator, std 1; zeros where all are
    equal."""
    std = float(values.std(ddof=ddof))
    if std <= EQUAL * max(1.0, float(np.abs(values).max())):
        return np.zeros_like(values)
    return np.asarray((values - values.mean()) / std)


def above_mean(rule_arcs: Floats) -> Floats:
    """M times the distance of each number (M,) from their mean: whole, so that rounding does not
    decide a tie."""
    return np.asarray(len(rule_arcs) * rule_arcs - rule_arcs.sum())


def signed(score: Floats, positive: Flags) -> Floats:
    """The sizes of the scores (M,), with the sign + where `positive` (M,) and - elsewhere."""
    return np.where(positive, 1.0, -1.0) * np.abs(score)
