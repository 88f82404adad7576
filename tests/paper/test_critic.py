"""The baseline of RL-BL: its language model by enumeration and differences, its fit to made-up
scores."""

from __future__ import annotations

import logging
from itertools import product
from typing import Any

import dynet as dy
import numpy as np
import pytest

from dynet_vdgi.conllu.vocabulary import Encoded, Vocabulary
from dynet_vdgi.paper import baseline
from dynet_vdgi.paper import language_model as language_model_module
from dynet_vdgi.paper.baseline import Baseline
from dynet_vdgi.paper.language_model import LanguageModel, train_language_model
from dynet_vdgi.paper.network import new_graph
from dynet_vdgi.paper.released import JointBaseline
from dynet_vdgi.paper.settings import LanguageModelSettings

Sequences = list[tuple[int, ...]]


def language_model(
    n_items: int = 3, hidden: int = 4, dropout: float = 0.0, noise: float = 0.4
) -> LanguageModel:
    """A small language model, none of whose parameters is zero."""
    model = LanguageModel(n_items, hidden, dropout, np.random.default_rng(2))
    for name, value in model.parameters.arrays().items():
        model.parameters.set(
            name, value + np.random.default_rng(len(name)).normal(0, noise, value.shape)
        )
    return model


def nll(model: LanguageModel, sequences: Sequences, training: bool = False) -> list[float]:
    """-log p of equally long sequences, as one batch."""
    new_graph(autobatch=False)
    return model.nll(sequences, training).npvalue().ravel().tolist()


# Language model


def written_out(parameters: dict[str, Any], items: tuple[int, ...]) -> float:
    """-log p in NumPy, by the formulas: two LSTM layers, output weights tied to the embeddings."""

    def sigmoid(x: Any) -> Any:
        return 1 / (1 + np.exp(-x))

    embeddings = parameters["items"]
    hidden = embeddings.shape[1]
    states = [(np.zeros(hidden), np.zeros(hidden)) for _ in range(2)]
    x, total = parameters["start"], 0.0
    for item in items:
        for k in range(2):
            h, c = states[k]
            names = [f"layer{k}/{part}" for part in ("input", "recurrent", "bias")]
            from_x, from_h, bias = (parameters[name].astype(np.float64) for name in names)
            i, f, o, g = (from_x @ x + from_h @ h + bias).reshape(4, hidden)
            c = sigmoid(f + 1) * c + sigmoid(i) * np.tanh(g)  # DyNet adds the 1
            x = sigmoid(o) * np.tanh(c)
            states[k] = x, c
        logits = embeddings @ x + parameters["bias"]
        total += np.log(np.exp(logits).sum()) - logits[item]
        x = embeddings[item]
    return float(total)


def test_it_is_a_two_layer_lstm_with_tied_weights():
    """Also of many sentences at once; the end of a sentence is not predicted."""
    model = language_model(n_items=5)
    rng = np.random.default_rng(0)
    for length in (1, 2, 6):
        batch = [tuple(rng.integers(0, 5, length).tolist()) for _ in range(7)]
        expected = [written_out(model.parameters.arrays(), items) for items in batch]
        assert nll(model, batch) == pytest.approx(expected, abs=1e-4)


def test_gradients_by_finite_differences():
    """Of every number in every parameter; items come twice, side by side and one after the other."""
    model = language_model(n_items=3, hidden=3)
    batch = [(0, 1, 1, 2), (0, 1, 2, 2), (2, 1, 0, 0)]

    def loss() -> Any:
        new_graph(autobatch=False)
        return dy.mean_batches(model.nll(batch))

    expression = loss()
    expression.value()
    expression.backward()
    for name, parameter in model.parameters.by_name.items():
        analytic = parameter.grad_as_array().ravel()
        value = model.parameters.get(name)
        scale = max(np.abs(analytic).max(), 0.05)
        assert np.abs(analytic).max() > 1e-3, name
        for i in range(value.size):
            numeric = 0.0
            for sign in (1, -1):
                changed = value.astype(np.float64).copy()
                changed.reshape(-1)[i] += sign * 1e-2
                model.parameters.set(name, changed)
                numeric += sign * loss().value() / 2e-2
            assert abs(numeric - analytic[i]) < 1e-2 * scale, (name, i)
        model.parameters.set(name, value)


def test_dropout_is_for_training_only_and_repeats_with_its_seed():
    model, items = language_model(dropout=0.5), [(0, 1, 2, 1)]

    def scored(seed: int, training: bool) -> float:
        dy.reset_random_seed(seed)
        return nll(model, items, training)[0]

    assert scored(1, False) == scored(2, False) == pytest.approx(nll(language_model(), items)[0])
    assert scored(1, True) == scored(1, True)
    assert scored(1, True) != scored(2, True)
    assert scored(1, True) != scored(1, False)


# Training it


TAGS = ("ADJ", "DET", "NOUN", "VERB")
# a determiner is followed by a noun
PATTERNS: Sequences = [(2, 3, 4), (2, 1, 3, 4), (2, 3, 4, 2, 3), (3, 4)]

SMALL = LanguageModelSettings(hidden_dim=8, epochs=30, batch_size=4, lr=0.1, dropout=0.0)


def texts(n_sentences: int = 24) -> list[Encoded]:
    tags = [PATTERNS[k % len(PATTERNS)] for k in range(n_sentences)]
    return [Encoded(each, (0,) * len(each)) for each in tags]


def per_word(found: dict[Encoded, float]) -> float:
    """Mean -log p over the words of the distinct sentences."""
    return sum(found.values()) / sum(map(len, found))


def test_training_lowers_the_perplexity(caplog):
    with caplog.at_level(logging.INFO, logger="dynet_vdgi"):
        found = train_language_model(texts(), Vocabulary(TAGS), SMALL, seed=1)
    assert set(found) == set(texts())
    assert all(value > 0 for value in found.values())
    # Four patterns equally often are worth log 4 in nats, some 1.4, whatever their length: .5 a
    # word.
    assert per_word(found) < 0.6
    assert np.log(len(TAGS)) > 1.3  # what knowing nothing costs
    perplexity = float(caplog.records[-1].getMessage().rpartition(" ")[2])
    assert 1.0 < perplexity < 2.2
    few = train_language_model(
        texts(), Vocabulary(TAGS), LanguageModelSettings(hidden_dim=8, epochs=1), 1
    )
    assert per_word(few) > per_word(found) + 0.3


def test_values_are_those_of_the_model_one_sentence_at_a_time(monkeypatch):
    """Each sentence has its own value, whatever batch it was in, without dropout."""
    made: list[LanguageModel] = []

    class Watched(LanguageModel):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            made.append(self)

    monkeypatch.setattr(language_model_module, "LanguageModel", Watched)
    settings = LanguageModelSettings(hidden_dim=5, epochs=2, batch_size=3, dropout=0.5)
    found = train_language_model(texts(), Vocabulary(TAGS), settings, seed=1)
    for sentence, value in found.items():
        items = tuple(tag - 1 for tag in sentence.tags)
        assert nll(made[0], [items])[0] == pytest.approx(value, abs=1e-5)
    assert made[0].parameters.get("items").shape == (4, 5)


def test_the_held_out_tenth_is_not_trained_on(monkeypatch):
    trained: list[Any] = []
    held_out: list[Any] = []
    epoch, scored = language_model_module._epoch, language_model_module._nll

    def watched_epoch(model: Any, optimiser: Any, items: Any, *rest: Any) -> None:
        trained.append(list(items))
        epoch(model, optimiser, items, *rest)

    def watched_nll(model: Any, items: Any, batch_size: int) -> list[float]:
        held_out.append(list(items))
        return scored(model, items, batch_size)

    monkeypatch.setattr(language_model_module, "_epoch", watched_epoch)
    monkeypatch.setattr(language_model_module, "_nll", watched_nll)
    every = [Encoded(tuple(tags), (0, 0, 0)) for tags in product(range(1, 5), repeat=3)][:40]
    settings = LanguageModelSettings(hidden_dim=3, epochs=2)
    train_language_model(every, Vocabulary(TAGS), settings, seed=1)
    (first, second), (one, other, all_of_them) = trained, held_out
    assert first == second
    assert one == other
    assert len(one) == 4
    assert (
        sorted(first + one)
        == sorted(all_of_them)
        == sorted(tuple(t - 1 for t in s.tags) for s in every)
    )


def test_in_lexicalised_models_words_are_modelled():
    """The unknown word, too; tags do not count."""
    vocabulary = Vocabulary(TAGS, ("a", "b"))
    one = [Encoded((1, 2), (0, 2)), Encoded((1, 1), (2, 0))] * 3
    other = [Encoded((3, 3), (0, 2)), Encoded((3, 4), (2, 0))] * 3
    values = [train_language_model(each, vocabulary, SMALL, seed=1) for each in (one, other)]
    assert list(values[0].values()) == list(values[1].values())
    untagged = [Encoded(s.tags, (0, 0)) for s in one]
    by_tag = train_language_model(untagged, Vocabulary(TAGS), SMALL, seed=1)
    assert list(by_tag.values()) != list(values[0].values())


# The fit


def sentences(n_sentences: int, seed: int = 0) -> dict[Encoded, float]:
    """Made-up sentences with a made-up -log p each."""
    rng = np.random.default_rng(seed)
    return {
        Encoded((1, 2, k), (0, 0, 0)): float(rng.uniform(5, 40)) for k in range(1, n_sentences + 1)
    }


def follow(
    fitted: Baseline, alpha: float, tau: float, times: int, noise: float = 1.0
) -> list[float]:
    """Scores of samples whose l is -(alpha L + tau) and some noise; the means of the scores."""
    rng = np.random.default_rng(times)
    every = list(fitted.nll)
    means = []
    for k in range(times):
        sentence = every[k % len(every)]
        elbo = -(alpha * fitted.nll[sentence] + tau) + rng.normal(0, noise, 20)
        means.append(float(fitted.score(sentence, elbo).mean()))
        fitted.fit(sentence, elbo)
    return means


def test_the_fit_is_that_of_least_squares_with_forgetting():
    """Solved at once, over all that has been seen; the start counts as a sentence each of alpha and
    tau."""
    fitted, rng = Baseline(sentences(7)), np.random.default_rng(5)
    rows, targets, weights = [[1.0, 0.0], [0.0, 1.0]], [1.0, 0.0], [1.0, 1.0]
    for sentence, value in fitted.nll.items():
        alpha, tau = fitted.value
        elbo = rng.normal(-20, 5, 4)
        assert fitted.score(sentence, elbo) == pytest.approx(elbo + alpha * value + tau)
        fitted.fit(sentence, elbo)
        weights = [*(baseline.FORGET * weight for weight in weights), 1.0]
        for k in (0, 1):  # what of the start is never forgotten
            weights[k] += baseline.REMAINING * (1 - baseline.FORGET)
        rows, targets = [*rows, [value, 1.0]], [*targets, -float(elbo.mean())]
        root = np.sqrt(weights)
        expected = np.linalg.lstsq(
            np.array(rows) * root[:, None], np.array(targets) * root, rcond=None
        )[0]
        assert fitted.value == pytest.approx(expected, rel=1e-8)


# The released code's fit: a parameter among the others


def squared_error(value: Any, pairs: list[tuple[float, Any]]) -> float:
    """Sum over samples, mean over sentences, of (alpha L + tau - (-l))^2."""
    alpha, tau = value
    return sum(float(np.square(alpha * nll + tau + elbo).sum()) for nll, elbo in pairs) / len(pairs)


def test_the_joint_gradient_is_that_of_the_squared_error():
    fitted, rng = JointBaseline(sentences(3)), np.random.default_rng(1)
    fitted.value = np.array([0.8, -1.5])
    pairs = []
    for sentence, value in fitted.nll.items():
        elbo = rng.normal(-15, 4, 6)
        pairs.append((value, elbo))
        expected = elbo + 0.8 * value - 1.5
        assert fitted.score(sentence, elbo) == pytest.approx(expected)
        fitted.fit(sentence, elbo)
    numeric = [
        (squared_error(fitted.value + step, pairs) - squared_error(fitted.value - step, pairs))
        / 2e-5
        for step in 1e-5 * np.eye(2)
    ]
    assert fitted.gradient / 3 == pytest.approx(numeric, rel=1e-6)
    assert fitted.value.tolist() == [0.8, -1.5]
