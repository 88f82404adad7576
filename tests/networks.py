"""Small networks for tests, sentences for them, and what is asked of their gradients."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from typing import Any

import brute_force
import numpy as np

from dynet_vdgi.conllu.vocabulary import Encoded, Vocabulary
from dynet_vdgi.paper import per_sentence
from dynet_vdgi.paper.network import Network, forcing, new_graph
from dynet_vdgi.paper.settings import ModelSettings, TrainSettings

TAGS = ("ADJ", "NOUN", "VERB")
WORDS = ("a", "b", "c", "d")

Floats = Any


def network(
    seed: int = 3, tags: tuple[str, ...] = TAGS, scale: float = 2.0, **changes: Any
) -> Network:
    """A small network with weights large enough for decisions that differ from state to state."""
    settings = ModelSettings(**{"tag_dim": 5, "hidden_dim": 4, "vector_dim": 6, **changes})
    vocabulary = Vocabulary(tags, WORDS if settings.word_dim else ())
    net = Network(vocabulary, settings, np.random.default_rng(seed))
    for name, value in net.parameters.arrays().items():
        if not name.endswith("vectors"):
            noise = np.random.default_rng(len(name)).normal(0, 0.3, value.shape)
            net.parameters.set(name, value * scale + noise)
    return net


def sentence(n: int, seed: int = 0) -> Encoded:
    """A sentence of n words with tags and words at random."""
    rng = np.random.default_rng(seed)
    return Encoded(tuple(rng.integers(1, 4, n).tolist()), tuple(rng.integers(0, 5, n).tolist()))


def gradients(net: Network) -> dict[str, Floats]:
    """Gradients of all parameters, which are zero afterwards."""
    result = {}
    for name, parameter in net.parameters.by_name.items():
        result[name] = parameter.grad_as_array().copy()
        parameter.scale_gradient(0.0)
    return result


def relative_difference(first: Mapping[str, Floats], second: Mapping[str, Floats]) -> float:
    """Largest difference of any gradient, relative to the largest entry of that parameter's
    gradient."""
    worst = 0.0
    for name in first:
        size = max(np.abs(first[name]).max(), 1e-3)
        worst = max(worst, np.abs(first[name] - second[name]).max() / size)
    return worst


def error_of_gradient(
    net: Network, name: str, i: int, gradient: float, loss: Callable[[], float]
) -> float:
    """How far one entry of a parameter's gradient is from the finite difference of the loss.

    In float32 central differences are best at a step of about 1e-2, where they are good to about
    1e-2. A kink of ReLU within a large step, or rounding in a small one, spoils one of the steps,
    not all.
    """
    value = net.parameters.get(name)
    errors = []
    for step in (2e-2, 1e-2, 3e-3):
        numeric = 0.0
        for sign in (1, -1):
            changed = value.astype(np.float64).copy()
            changed.reshape(-1)[i] += sign * step
            net.parameters.set(name, changed)
            numeric += sign * loss() / (2 * step)
        errors.append(abs(numeric - gradient))
    net.parameters.set(name, value)
    return min(errors)


SENTENCE = Encoded((1, 2, 3), (0, 0, 0))
"""Its tags are `TAGS`, in their order."""

ACTIONS = [actions for actions, _ in brute_force.derivations(len(SENTENCE))]
COPIES = 5
"""Samples of one estimate."""

PARAMETERS = [
    "state/actions",
    "state/actions_bias",
    "state/bias",
    "stack/compose_bias",
    "stack/lstm/bias",
]
"""Some of either network."""


def flat_network() -> Network:
    """Without dropout, and with a flat q, so that no derivation is too rare to be drawn."""
    return network(seed=2, scale=0.6, hidden_dim=8, encoder_dropout=0.0, decoder_dropout=0.0)


def enumerated(net: Network) -> tuple[Any, Floats, Floats]:
    """All derivations of the sentence, scored; q and l of each."""
    new_graph(autobatch=False)
    drawn = per_sentence.derive_and_score(net, SENTENCE, len(ACTIONS), forcing(ACTIONS))
    return drawn, np.exp(drawn.samples.log_q), drawn.samples.log_p - drawn.samples.log_q


def estimates(engine: Any, net: Network, phase: Any, times: int, batch: int) -> dict[str, Floats]:
    """Gradients that `accumulate` gives, (times, ...) by name, each the mean of a batch of
    estimates."""
    found: dict[str, list[Floats]] = {}
    settings = TrainSettings(samples=COPIES, exponent=1.0)
    for k in range(times):
        engine.accumulate(net, [SENTENCE] * batch, phase, np.random.default_rng([11, k]), settings)
        for name, gradient in gradients(net).items():
            found.setdefault(name, []).append(gradient.astype(np.float64))
    return {name: np.array(values) for name, values in found.items()}


def assert_unbiased(
    found: Mapping[str, Floats], exact: Mapping[str, Floats], names: list[str]
) -> None:
    """Within four standard errors, which are small beside the gradient."""
    for name in names:
        mean, error = (
            found[name].mean(axis=0),
            found[name].std(axis=0, ddof=1) / np.sqrt(len(found[name])),
        )
        assert (np.abs(mean - exact[name]) < 4 * error + 1e-5).all(), name
        largest = np.unravel_index(np.abs(exact[name]).argmax(), exact[name].shape)
        # 1 - 1/M would be seen
        assert abs(exact[name][largest]) > 15 * error[largest], name + ": no power"


def written_out(kind: str, form: str, value: list[float], rules: list[float]) -> list[float]:
    """Eqs. 18-20, as the paper or the released code has them."""
    centred = [r - statistics.fmean(rules) for r in rules]
    if kind == "rl-c":
        std = 1.0 if form == "released" else statistics.pstdev(rules)
        return [c / (std or 1.0) for c in centred]
    std = max(1.0, statistics.pstdev(value)) if form == "paper" else statistics.stdev(value)
    normalised = [(v - statistics.fmean(value)) / (std or 1.0) for v in value]
    if kind == "rl-sn":
        return normalised
    assert kind == "rl-pc"
    above = [len(rules) * r - sum(rules) for r in rules]  # exact, as counts are whole numbers
    pulls = [a > 0 or (a == 0 and form == "paper") for a in above]
    return [abs(z) if pull else -abs(z) for z, pull in zip(normalised, pulls)]
