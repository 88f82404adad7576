"""AdaGrad against its formula written out, number by number."""

from __future__ import annotations

import math
from typing import Any

import dynet as dy
import numpy as np
import pytest
from wording import Wording

from dynet_vdgi.errors import VdgiError
from dynet_vdgi.paper.layers import Parameters
from dynet_vdgi.paper.optimiser import AdaGrad
from dynet_vdgi.paper.settings import TrainSettings

Arrays = dict[str, "np.ndarray[Any, Any]"]

TRAINED = {"matrix": (19, 7), "bias": (3,), "gates": (4,), "table": (11, 5), "words": (3, 2)}
FROZEN = {"constant": (2,), "frozen_table": (2, 2)}
EXTRA = {"lambda": np.array([0.5, 0.25, 0.0]), "baseline": np.array([1.0, 0.0])}
"""Parameters outside the networks, and where they begin."""


def parameters(seed: int = 0) -> Parameters:
    made = Parameters(np.random.default_rng(seed))
    made.matrix("matrix", 19, 7)
    made.constant("constant", 2)
    made.bias("bias", 3)
    made.gate_bias("gates", 1, forget=2.0)
    made.table("table", made.rng.normal(size=(11, 5)))
    made.table("words", made.rng.normal(size=(3, 2)), by_word=True)
    made.table("frozen_table", made.rng.normal(size=(2, 2)), frozen=True)
    return made


def gradients(step: int, scale: float = 1.0) -> Arrays:
    rng = np.random.default_rng([7, step])
    shapes = {**TRAINED, **FROZEN, **{name: value.shape for name, value in EXTRA.items()}}
    return {
        name: scale * rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()
    }


def set_gradients(made: Parameters, wanted: Arrays) -> None:
    """Lets DyNet find these gradients: those of sum g * p."""
    dy.renew_cg()
    terms = []
    for name, parameter in made.by_name.items():
        gradient = wanted[name]
        if name in made.tables:
            rows = enumerate(gradient)
            terms += [
                dy.dot_product(dy.lookup(parameter, k), dy.inputVector(row.tolist()))
                for k, row in rows
            ]
        else:
            terms.append(dy.sum_elems(dy.cmult(parameter, dy.inputTensor(gradient))))
    dy.esum(terms).backward()


def bits(arrays: Arrays) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in arrays.items()}


def everything(optimiser: AdaGrad) -> dict[str, bytes]:
    return {**bits(optimiser.state()), **bits(optimiser.parameters.arrays())}


class Reference:
    """AdaGrad in plain Python, double precision."""

    def __init__(self, made: Parameters, settings: TrainSettings) -> None:
        self.settings = settings
        arrays = {**{name: made.get(name) for name in TRAINED}, **EXTRA}
        self.values = {name: array.astype(float).ravel().tolist() for name, array in arrays.items()}
        self.origins = {name: [0.0] * len(values) for name, values in self.values.items()}
        self.origins["gates"] = [0.0, 1.0, 0.0, 0.0]  # DyNet adds 1 to the forget gate's 2 - 1
        self.squares = {name: [0.0] * len(values) for name, values in self.values.items()}
        self.averages = {name: list(values) for name, values in self.values.items()}
        self.updates = 0

    def update(self, wanted: Arrays) -> float:
        settings = self.settings
        numbers = {name: wanted[name].astype(float).ravel().tolist() for name in self.values}
        norm = math.sqrt(sum(g * g for values in numbers.values() for g in values))
        scale = settings.clip / norm if settings.clip and norm > settings.clip else 1.0
        decay = (
            min(settings.average, (1 + self.updates) / (3 + self.updates))
            if settings.average
            else 0.0
        )
        for name, values in numbers.items():
            for i, g in enumerate(values):
                value = self.values[name][i]
                g = scale * g + settings.l2 * (value - self.origins[name][i])
                self.squares[name][i] += g * g
                value -= settings.lr * g / (math.sqrt(self.squares[name][i]) + 1e-10)
                self.values[name][i] = value
                self.averages[name][i] = decay * self.averages[name][i] + (1 - decay) * value
        self.updates += 1
        return norm


@pytest.mark.parametrize(
    "settings",
    [
        TrainSettings(),
        TrainSettings(lr=0.3, clip=0.05, l2=0.1, average=0.6),
        TrainSettings(lr=0.3, clip=0.0, l2=0.0, average=0.0),
        TrainSettings(lr=0.3, clip=1e6, l2=1.0, average=0.999),
    ],
    ids=["default", "all of it", "plain", "never clipped"],
)
def test_updates_follow_the_formula(settings):
    made = parameters()
    optimiser, reference = AdaGrad(made, settings, EXTRA), Reference(made, settings)
    for step in range(6):
        wanted = gradients(step)
        set_gradients(made, wanted)
        norm = optimiser.update(extra={name: wanted[name] for name in EXTRA})
        assert norm == pytest.approx(reference.update(wanted), rel=1e-6)
        for name in (*TRAINED, *EXTRA):
            for got, expected, absolute in (
                (made.get(name) if name in TRAINED else None, reference.values, 2e-7),
                (optimiser.read("value")[name], reference.values, 2e-7),
                (optimiser.read("square")[name], reference.squares, 0.0),
                (optimiser.read("average")[name], reference.averages, 2e-7),
            ):
                if got is not None:
                    np.testing.assert_allclose(
                        got.ravel(), expected[name], rtol=3e-6, atol=absolute
                    )
            assert optimiser.norms[name] == pytest.approx(np.linalg.norm(wanted[name]), rel=1e-5)
        for found, kind in (
            (optimiser.weights("value"), "value"),
            (optimiser.weights("average"), "average"),
        ):
            assert all(
                found[name].tobytes() == optimiser.read(kind)[name].tobytes() for name in TRAINED
            )
    assert optimiser.updates == reference.updates == 6


def test_frozen_parameters_stay():
    made = parameters()
    before, optimiser = made.arrays(), AdaGrad(made, TrainSettings(l2=1.0))
    for step in range(3):
        set_gradients(made, gradients(step))
        optimiser.update()
    for name in FROZEN:
        assert made.get(name).tobytes() == before[name].tobytes()
        assert (
            optimiser.weights("average")[name].tobytes()
            == optimiser.weights("value")[name].tobytes()
            == before[name].tobytes()
        )
    assert optimiser.names == list(TRAINED)
    assert not any(name.split(":")[-1] in FROZEN for name in optimiser.state())
    for arrays in (
        optimiser.weights("value"),
        optimiser.weights("average"),
    ):  # these have all that is needed to parse
        made.load(arrays)
        assert bits(made.arrays()) == {name: arrays[name].tobytes() for name in made.by_name}


def test_gradients_add_up_until_the_update_and_are_used_once():
    made = parameters()
    optimiser = AdaGrad(made, TrainSettings(l2=0.0))
    for step in range(3):
        set_gradients(made, gradients(step))
    total = sum(
        np.square(sum(gradients(step)[name] for step in range(3))).sum() for name in TRAINED
    )
    assert optimiser.update() == pytest.approx(math.sqrt(total), rel=1e-5)
    before = bits(optimiser.weights("value"))
    assert optimiser.update() == 0.0
    assert bits(optimiser.weights("value")) == before


def test_a_saved_state_goes_on_the_same():
    settings = TrainSettings(lr=0.1, clip=0.5, l2=0.01, average=0.9)
    optimiser = AdaGrad(parameters(), settings)
    for step in range(3):
        set_gradients(optimiser.parameters, gradients(step))
        optimiser.update()
    state = {name: array.copy() for name, array in optimiser.state().items()}
    before = bits(state)
    other = AdaGrad(parameters(seed=1), settings)
    assert everything(other) != everything(optimiser)
    # What is frozen is not in the state: it follows from the seed, or is in the weights for
    # parsing.
    for name in FROZEN:
        other.parameters.set(name, optimiser.parameters.get(name))
    other.load_state(state)
    assert everything(other) == everything(optimiser)
    for step in range(3, 7):
        for each in (optimiser, other):
            set_gradients(each.parameters, gradients(step))
        assert optimiser.update() == other.update()
        assert everything(other) == everything(optimiser)
    assert bits(state) == before != bits(optimiser.state())  # what was loaded is a copy


def spoil(made: Parameters, name: str, what: float) -> None:
    """Makes a gradient `what`, not by a graph, whose memory would keep it."""
    for factor in {np.inf: (1e30, 1e30), np.nan: (1e30, 1e30, 0.0), 1e30: (1e30,)}[what]:
        made.by_name[name].scale_gradient(factor)


@pytest.mark.parametrize("what", [np.nan, np.inf, 1e30])
@pytest.mark.parametrize("name", ["matrix", "table", "words"])
def test_a_gradient_that_is_not_finite_changes_nothing(what, name, wording: Wording):
    made = parameters()
    optimiser = AdaGrad(made, TrainSettings())
    set_gradients(made, gradients(0))
    optimiser.update()
    before = everything(optimiser)
    set_gradients(made, gradients(1))
    spoil(made, name, what)
    with wording.raises(VdgiError):
        optimiser.update()
    assert everything(optimiser) == before
    assert optimiser.updates == 1


def test_training_goes_on_after_a_gradient_that_is_not_finite():
    """As if it had not been: neither the gradients nor the memory of DyNet's graphs remember it."""
    optimisers = [AdaGrad(parameters(), TrainSettings()) for _ in range(2)]
    for spoilt, optimiser in zip((True, False), optimisers):
        made = optimiser.parameters
        if spoilt:
            set_gradients(made, gradients(0))
            for name in TRAINED:
                spoil(made, name, np.nan)
            with pytest.raises(VdgiError):
                optimiser.update()
        # so that the product comes to lie anywhere in the memory of the update
        for before in range(20):
            dy.renew_cg()
            ones = [dy.inputVector([1.0] * 7) for _ in range(1 + before)]
            assert np.isfinite((made.by_name["matrix"] * ones[-1]).npvalue()).all()
        set_gradients(made, gradients(1))
        optimiser.update()
    assert everything(optimisers[0]) == everything(optimisers[1])


def test_named_rows_are_updated_as_all_of_them_would_be():
    """Without L2, rows without a gradient stay as they are in either way; the average sees all of
    them."""
    settings = TrainSettings(l2=0.0, clip=0.7, average=0.9)
    everywhere, some = (AdaGrad(parameters(), settings) for _ in range(2))
    for step in range(4):
        wanted = gradients(step)
        rows = [[0, 2], [1], [2], [0, 1]][step]
        wanted["words"][[row for row in range(3) if row not in rows]] = 0.0
        norms = []
        for optimiser, named in ((everywhere, None), (some, {"words": rows})):
            set_gradients(optimiser.parameters, wanted)
            norms.append(optimiser.update(named))
        assert norms[0] == norms[1]
        assert everything(everywhere) == everything(some)
