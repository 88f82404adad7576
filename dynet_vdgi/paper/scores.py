"""Score functions: values of a sentence's samples (paper, "Variance Reduction", Eqs. 17-20).

One value for each of M samples, shapes (M,), in nats. `elbo` is l(x, a) = log p(x, a) - log q(a|x) (Eq. 7),
`rules` is s(x, a), the number of rule arcs. Scores are constants for the networks' gradients. Each has the
paper's form and, where the released code differs, that form too (`form="released"`).
"""

from __future__ import annotations

import numpy as np

from dynet_vdgi.system.array_types import Floats


def rl_sn(elbo: Floats, form: str = "paper") -> Floats:
    """Eq. 18: centred within the group and divided by max(1, std).

    Differs from the released code: there it is the std with M - 1 in the denominator, and no max. Where all
    samples have the same value that form is undefined; here it is zero.

    >>> rl_sn(np.array([1.0, 1.5])).tolist()  # std .25 < 1: centred only
    [-0.25, 0.25]
    """
    centred = elbo - elbo.mean()
    if form == "paper":
        return np.asarray(centred / max(1.0, float(elbo.std())))
    return _standardised(elbo, ddof=1)


def rl_c(rules: Floats, form: str = "paper") -> Floats:
    """Eq. 20: the standardised number of rule arcs; zeros where all samples have equally many.

    Differs from the released code: there it is centred, not divided by its std.
    """
    return np.asarray(rules - rules.mean()) if form == "released" else _standardised(rules, ddof=0)


def rl_pc(elbo: Floats, rules: Floats, form: str = "paper") -> Floats:
    """Eq. 19: the size of `rl_sn`, positive for samples with at least the mean number of rule arcs.

    Differs from the released code: there exactly the mean counts as negative.

    >>> rl_pc(np.array([0.0, 4.0]), np.array([2.0, 1.0])).tolist()
    [1.0, -1.0]
    """
    # Compared as whole numbers: rounding of the mean must not decide a tie.
    above = len(rules) * rules - rules.sum()
    positive = above > 0 if form == "released" else above >= 0
    return np.where(positive, 1.0, -1.0) * np.abs(rl_sn(elbo, form))


EQUAL = 1e-6
"""A spread below this share of the values is rounding: engines compute in single precision."""


def _standardised(values: Floats, ddof: int) -> Floats:
    std = float(values.std(ddof=ddof))
    if std <= EQUAL * max(1.0, float(np.abs(values).max())):
        return np.zeros_like(values)
    return np.asarray((values - values.mean()) / std)
