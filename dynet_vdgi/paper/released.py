"""What only the authors' code does, beside the paper's form: its lambda, its joint steps, its score
functions.

`stages` takes these with `posterior.dynamics = "released"` (lambda) and `finetune.form =
"released"` (scores, baseline), each for itself. The paper's forms are `posterior.Lambda`, `scores`,
`baseline.Baseline`, and `optimiser.AdaGrad`.

Pretraining: lambda starts at the expectations of the rule file and takes a step with momentum after
EACH sentence. Most constraints cannot be met, so lambda grows without bound: training turns into
choosing the best of M samples by a weighted number of rule arcs. Here a rule is expected .5 times
in a sentence that cannot have it:

>>> lam = MomentumLambda(np.array([0.5, 0.5]), lr=0.1, momentum=0.9, epsilon=0.0)
>>> counts = np.array([[1.0, 0.0], [0.0, 0.0]])
>>> for _ in range(3):
...     lam.end_sentence(counts, expectations=np.array([0.5, 0.5]))
...     print(lam.value.round(3))
[0.488 0.55 ]
[0.465 0.645]
[0.433 0.78 ]

Fine-tuning: lambda starts again, and AdaGrad moves it, and the baseline, jointly with the networks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.conllu.vocabulary import Encoded
from dynet_vdgi.paper.baseline import Baseline
from dynet_vdgi.paper.layers import Parameters
from dynet_vdgi.paper.optimiser import VALUE, AdaGrad
from dynet_vdgi.paper.posterior import FixedLambda, dual_gradient
from dynet_vdgi.paper.scores import Score, above_mean, signed, standardised
from dynet_vdgi.paper.settings import TrainSettings
from dynet_vdgi.system.array_types import Floats


class ReleasedLambda(FixedLambda):
    """A lambda (J,) that starts at the expectations."""

    def __init__(self, start: Floats, epsilon: float) -> None:
        super().__init__(1.0 * start)
        self.epsilon = epsilon

    def gradient_of(self, counts: Floats, expectations: Floats) -> Floats:
        """Gradient (J,) of one sentence's O(lambda); zeros where no rule holds in any sample."""
        if not counts.any():
            return np.zeros_like(self.value)
        return dual_gradient(counts, self.value, expectations, self.epsilon)


class MomentumLambda(ReleasedLambda):
    """In pretraining: a projected gradient step with momentum after each sentence.

    Where no rule holds in any sample, momentum goes on.
    """

    def __init__(self, start: Floats, lr: float, momentum: float, epsilon: float) -> None:
        super().__init__(start, epsilon)
        self.lr, self.momentum = lr, momentum
        self.velocity = np.zeros_like(self.value)

    def end_sentence(self, counts: Floats, expectations: Floats) -> None:
        """The step of a sentence: lambda moves here, not after the mini-batch."""
        self.velocity = self.momentum * self.velocity + self.gradient_of(counts, expectations)
        self.value = np.maximum(0.0, self.value - self.lr * self.velocity)

    def state(self) -> dict[str, NDArray[Any]]:
        return {"lambda": self.value, "lambda_velocity": self.velocity}

    def load_state(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self.value, self.velocity = arrays["lambda"], arrays["lambda_velocity"]


class JointPart:
    """Numbers in `value` that `JointAdaGrad` moves, by a gradient summed over the sentences of a
    mini-batch."""

    value: Floats

    def __init__(self) -> None:
        self.gradient, self.n_sentences = np.zeros_like(self.value), 0

    def add(self, gradient: Floats) -> None:
        """Adds the gradient of one sentence."""
        self.gradient += gradient
        self.n_sentences += 1

    def mean_gradient(self) -> Floats:
        """The mean over the sentences since the last call; zeros if there were none."""
        mean = self.gradient / max(1, self.n_sentences)
        self.gradient, self.n_sentences = np.zeros_like(self.value), 0
        return np.asarray(mean)


class JointLambda(JointPart, ReleasedLambda):
    """In fine-tuning: lambda moves with the networks."""

    def __init__(self, start: Floats, epsilon: float) -> None:
        ReleasedLambda.__init__(self, start, epsilon)
        JointPart.__init__(self)

    def end_sentence(self, counts: Floats, expectations: Floats) -> None:
        """Adds the gradient of a sentence's O(lambda); lambda does not move."""
        self.add(self.gradient_of(counts, expectations))


class JointBaseline(JointPart, Baseline):
    """alpha and tau move with the networks, by the squared error of alpha L + tau from -l."""

    def __init__(self, nll: Mapping[Encoded, float]) -> None:
        Baseline.__init__(self, nll)
        JointPart.__init__(self)

    def fit(self, sentence: Encoded, log_ratio: Floats) -> None:
        """Adds the gradient of the squared error, summed over the samples; alpha and tau do not
        move."""
        self.add(2.0 * self.score(sentence, log_ratio).sum() * self.features(sentence))


class JointAdaGrad(AdaGrad):
    """AdaGrad whose clipping, L2 and steps take in those of lambda and the baseline that are a
    `JointPart`."""

    def __init__(
        self,
        parameters: Parameters,
        settings: TrainSettings,
        lam: FixedLambda,
        baseline: Baseline | None,
    ) -> None:
        self.joint: dict[str, JointPart] = {}
        for name, part in (("lambda", lam), ("baseline", baseline)):
            if isinstance(part, JointPart):
                self.joint[name] = part
        super().__init__(
            parameters, settings, {name: part.value for name, part in self.joint.items()}
        )

    def update(
        self,
        rows: Mapping[str, Sequence[int]] | None = None,
        extra: Mapping[str, NDArray[Any]] | None = None,
    ) -> float:
        """One step of the networks and of the joint parts; lambda stays at 0 or above."""
        norm = super().update(
            rows, {name: part.mean_gradient() for name, part in self.joint.items()}
        )
        for name, part in self.joint.items():
            value = self.others.numbers[VALUE][name]
            if name == "lambda":
                np.maximum(value, 0.0, out=value)
            part.value = value.astype(np.float64)
        return norm


def rl_sn(log_ratio: Floats) -> Floats:
    """RL-SN of the released code: the std has M - 1 in its denominator, and there is no max(1, .).

    Where all samples have the same value that is undefined; here it is zero.

    >>> rl_sn(np.array([1.0, 1.5])).round(3).tolist()
    [-0.707, 0.707]
    """
    return standardised(log_ratio, ddof=1)


def rl_c(rule_arcs: Floats) -> Floats:
    """RL-C of the released code: centred, not divided by the std.

    >>> rl_c(np.array([3.0, 0.0])).tolist()
    [1.5, -1.5]
    """
    return np.asarray(rule_arcs - rule_arcs.mean())


def rl_pc(log_ratio: Floats, rule_arcs: Floats) -> Floats:
    """RL-PC of the released code: a tie, exactly the mean number of rule arcs, is negative.

    >>> rl_pc(np.array([0.0, 4.0]), np.array([1.0, 1.0])).round(3).tolist()
    [-0.707, -0.707]
    """
    return signed(rl_sn(log_ratio), above_mean(rule_arcs) > 0)


SCORES: dict[str, Score] = {
    "rl-sn": lambda log_ratio, rule_arcs: rl_sn(log_ratio),
    "rl-c": lambda log_ratio, rule_arcs: rl_c(rule_arcs),
    "rl-pc": rl_pc,
}
"""By the value of `finetune.score`; rl-bl needs a `JointBaseline` besides."""
