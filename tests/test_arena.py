"""The NumPy parser: the same trees as the reference engine, and samples that follow q."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from functools import cache, partial

import brute_force
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynet_vdgi.compiled import machine_code
from dynet_vdgi.data.vocabulary import Encoded, Vocabulary
from dynet_vdgi.errors import ModelError, VdgiError
from dynet_vdgi.model import per_sentence
from dynet_vdgi.model.network import Network, forcing, new_graph
from dynet_vdgi.model.per_sentence import derive, draw, greedy
from dynet_vdgi.parsing import arena, arena_kernels, choices, row_stacks
from dynet_vdgi.parsing.arena import Arena
from dynet_vdgi.settings.neural_settings import ModelSettings

N_TAGS, N_WORDS = 6, 9


def varied(network, scale, seed):
    """Weights so large, and scores so balanced, that decisions differ from state to state."""
    rng = np.random.default_rng(seed)
    for name, value in network.parameters.arrays().items():
        value = value * scale + rng.normal(0, 0.3, value.shape).astype(np.float32)
        if name == "encoder/state/actions":
            value -= value.mean(axis=1, keepdims=True)
        if name == "encoder/embed/tags":
            value *= 3
        network.parameters.set(name, value)


@cache
def model(seed=0, scale=2.5, word_dim=0, n_tags=N_TAGS, **changes):
    """A network and the arena with its weights."""
    settings = ModelSettings(
        word_dim=word_dim, **{"tag_dim": 5, "hidden_dim": 12, "vector_dim": 6, **changes}
    )
    words = tuple(f"w{i}" for i in range(N_WORDS)) if word_dim else ()
    vocabulary = Vocabulary(tuple(f"T{i}" for i in range(n_tags)), words)
    network = Network(vocabulary, settings, np.random.default_rng(seed))
    varied(network, scale, seed)
    return network, Arena(network.parameters.arrays(), settings)


def sentence(n, seed=0):
    """Random ids, the unknown tag and the unknown word among them."""
    rng = np.random.default_rng([n, seed])
    return Encoded(
        tuple(rng.integers(0, N_TAGS + 1, n).tolist()), tuple(rng.integers(0, N_WORDS + 1, n).tolist())
    )


def actions_of(parser, texts):
    """The greedy derivations, each (2n - 1,), in the order given."""
    result = [()] * len(texts)

    def recorder(batch):
        return choices.Recorder(lambda step, *about: choices.greedy(*about), len(batch.place), batch.n_steps)

    for batch, _, recorded in parser._derived(texts, 1, recorder):
        for place, row in zip(batch.place.tolist(), recorded.actions.tolist()):
            result[place] = tuple(row[: 2 * len(texts[place]) - 1])
    return result


def reference_actions(network, text):
    if not len(text):
        return ()
    new_graph(autobatch=False)
    return tuple(derive(network.encoder, text, 1, greedy)[0].actions)


@pytest.mark.parametrize("word_dim", [0, 7])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_greedy_derivations_are_those_of_the_reference(seed, word_dim):
    network, parser = model(seed, word_dim=word_dim)
    texts = [sentence(n, seed) for n in np.random.default_rng(seed).permutation(26)]
    actions = [reference_actions(network, text) for text in texts]
    assert actions_of(parser, texts) == actions
    assert parser.parse(texts) == [
        brute_force.heads_from(a, len(t)) if a else () for a, t in zip(actions, texts)
    ]
    assert parser.parse(texts) == [per_sentence.parse(network.encoder, text) for text in texts]


def test_greedy_decisions_are_varied_here():
    counts = Counter()
    for seed in (1, 2, 3):
        parser = model(seed)[1]
        counts.update(a for row in actions_of(parser, [sentence(n, seed) for n in range(26)]) for a in row)
    assert min(counts[1], counts[2]) > 0.1 * sum(counts.values())


def test_default_sizes():
    network, parser = model(1, 2.0, word_dim=20, tag_dim=80, hidden_dim=64, vector_dim=30)
    texts = [sentence(n, 5) for n in (1, 2, 3, 10, 20, 40)]
    assert actions_of(parser, texts) == [reference_actions(network, text) for text in texts]


def test_models_without_mask_take_the_same_actions():
    network, parser = model(1, mask_illegal=False)
    texts = [sentence(n, 1) for n in range(1, 20)]
    assert parser.parse(texts) == [per_sentence.parse(network.encoder, text) for text in texts]
    assert parser.parse(texts) == model(1)[1].parse(texts)


@pytest.mark.parametrize("bias", [(0, 0, 0), (-1, 0, 0), (0, -1, 0), (0, 0, 1)])
def test_ties(bias):
    """All scores are equal to the bias."""
    settings = ModelSettings(tag_dim=3, hidden_dim=4)
    network = Network(Vocabulary(("T",)), settings, np.random.default_rng(0))
    for name, value in network.parameters.arrays().items():
        network.parameters.set(name, 0 * value)
    network.parameters.set("encoder/state/actions_bias", np.array(bias))
    parser = Arena(network.parameters.arrays(), settings)
    text = Encoded((1,) * 6, (0,) * 6)
    assert actions_of(parser, [text]) == [reference_actions(network, text)]
    assert (1 in actions_of(parser, [text])[0]) == (bias[1] == bias[2] == 0)


@given(st.lists(st.tuples(st.integers(0, 14), st.integers(0, 3)), max_size=12), st.sampled_from([0, 7]))
def test_trees_do_not_depend_on_the_batch(shapes, word_dim):
    parser = model(2, word_dim=word_dim)[1]
    texts = [sentence(n, seed) for n, seed in shapes]
    together = parser.parse(texts)
    assert together == [parser.parse([text])[0] for text in texts]
    assert together[::-1] == parser.parse(texts[::-1])
    assert all(len(heads) == len(text) for heads, text in zip(together, texts))
    assert all(brute_force.is_tree(heads) and not brute_force.crosses(heads) for heads in together if heads)


@pytest.mark.parametrize(("rows", "words"), [(1, 8192), (3, 8192), (192, 20), (7, 1)])
def test_trees_do_not_depend_on_the_size_of_batches(monkeypatch, rows, words):
    parser = model(1)[1]
    texts = [sentence(n % 23, n) for n in range(60)]
    expected = parser.parse(texts)
    monkeypatch.setattr(arena, "ROWS", rows)
    monkeypatch.setattr(arena, "WORDS", words)
    assert parser.parse(texts) == expected
    drawn = parser.draw(texts[20:26], 5, np.random.default_rng(0))
    for text, (heads, _, actions) in zip(texts[20:26], drawn):
        assert [tuple(h) for h in heads] == [brute_force.heads_from(a, len(text)) or () for a in actions]


def test_nothing_and_single_words():
    parser = model()[1]
    assert parser.parse([]) == []
    assert parser.parse([Encoded((), ())]) == [()]
    assert parser.parse([Encoded((0,), (0,)), Encoded((), ()), Encoded((3,), (0,))]) == [(0,), (), (0,)]
    empty, one = parser.draw([Encoded((), ()), Encoded((1,), (0,))], 3, np.random.default_rng(0))
    assert (empty.heads.shape, empty.actions.shape, empty.log_q.tolist()) == ((3, 0), (3, 0), [0, 0, 0])
    assert (one.heads.tolist(), one.actions.tolist(), one.log_q.tolist()) == ([[0]] * 3, [[0]] * 3, [0, 0, 0])
    assert parser.draw([sentence(4)], 0, np.random.default_rng(0))[0].heads.shape == (0, 4)


def test_ids_outside_the_vocabulary():
    with pytest.raises(ValueError, match="tag ids must be from 0 to 6, not 0 to 7"):
        model()[1].parse([Encoded((1, 7), (0, 0))])
    with pytest.raises(ValueError, match="word ids must be from 0 to 9, not -1 to 1"):
        model(word_dim=7)[1].parse([Encoded((1, 2), (-1, 1))])


def test_parameters_that_do_not_fit():
    network, _ = model()
    arrays = network.parameters.arrays()
    settings = ModelSettings(tag_dim=5, hidden_dim=12)
    del arrays["encoder/state/from_stack"]
    with pytest.raises(ModelError, match="missing encoder/state/from_stack"):
        Arena(arrays, settings)
    with pytest.raises(ModelError, match="do not fit the model"):
        Arena(network.parameters.arrays(), ModelSettings(tag_dim=5, hidden_dim=11))


def test_parameters_are_copied_and_the_decoder_is_not_needed():
    network, parser = model(2)
    arrays = {name: a for name, a in network.parameters.arrays().items() if name.startswith("encoder/")}
    copied = Arena(arrays, ModelSettings(tag_dim=5, hidden_dim=12))
    for value in arrays.values():
        value[...] = 0
    texts = [sentence(n) for n in range(10)]
    assert actions_of(copied, texts) == actions_of(parser, texts)


def scored(network, text, actions):
    """log q of given derivations by the reference engine."""
    new_graph(autobatch=False)
    return draw(network, text, len(actions), forcing(actions), training=False).samples.log_q


def known(n, seed=0):
    """A sentence without unknown tags, which the reference's decoder could not score."""
    text = sentence(n, seed)
    return Encoded(tuple(tag or 1 for tag in text.tags), text.words)


def head_marginals(heads, weights, n):
    """Shares (n, n + 1) of each head of each word in weighted trees (M, n)."""
    shares = np.zeros((n, n + 1))
    for tree, weight in zip(heads, weights):
        shares[np.arange(n), np.asarray(tree)] += weight
    return shares


@pytest.mark.parametrize(("n", "word_dim"), [(2, 0), (3, 7), (5, 0)])
def test_samples_follow_q(n, word_dim):
    network, parser = model(3, 1.2, word_dim=word_dim)
    text, times = known(n, 1), 6000
    actions = [a for a, _ in brute_force.derivations(n)]
    q = np.exp(scored(network, text, actions))
    expected = head_marginals([h for _, h in brute_force.derivations(n)], q, n)
    assert q.sum() == pytest.approx(1, abs=1e-4)
    heads = parser.draw([text], times, np.random.default_rng(n))[0].heads
    shares = head_marginals(heads, np.full(times, 1 / times), n)
    assert np.all(np.abs(shares - expected) < 4.5 * np.sqrt(expected * (1 - expected) / times) + 1e-4)
    assert np.count_nonzero((expected > 0.03) & (expected < 0.97)) > n  # there is something to find


@pytest.mark.parametrize("changes", [{}, {"word_dim": 7}, {"mask_illegal": False}], ids=str)
def test_log_q_is_that_of_the_reference(changes):
    network, parser = model(4, 1.5, **changes)
    texts = [known(n, 2) for n in (6, 1, 9, 2)]
    for text, drawn in zip(texts, parser.draw(texts, 12, np.random.default_rng(0))):
        assert np.allclose(scored(network, text, drawn.actions.tolist()), drawn.log_q, rtol=1e-4, atol=1e-4)
        assert [tuple(h) for h in drawn.heads] == [
            brute_force.heads_from(a, len(text)) for a in drawn.actions
        ]


@pytest.mark.parametrize("mask_illegal", [True, False])
def test_samples_are_projective_trees_and_repeat_with_their_seed(mask_illegal):
    parser = model(1, 3.0, mask_illegal=mask_illegal)[1]
    texts = [sentence(n % 12, n) for n in range(30)]
    first = [drawn.heads for drawn in parser.draw(texts, 10, np.random.default_rng(7))]
    again = [drawn.heads for drawn in parser.draw(texts, 10, np.random.default_rng(7))]
    other = [drawn.heads for drawn in parser.draw(texts, 10, np.random.default_rng(8))]
    assert all(np.array_equal(a, b) for a, b in zip(first, again))
    assert not all(np.array_equal(a, b) for a, b in zip(first, other))
    for text, heads in zip(texts, first):
        assert heads.shape == (10, len(text))
        assert all(brute_force.is_tree(h) and not brute_force.crosses(h) for h in heads.tolist() if h)


LANGUAGES = ("de", "es", "eu", "fr", "it", "nl", "pl", "pt")


def tag_sequences(path):
    """The universal tags of each sentence of a CoNLL-U file."""
    sentences, current = [], []
    for line in [*path.read_text(encoding="utf-8").splitlines(), ""]:
        fields = line.split("\t")
        if not line and current:
            sentences.append(current)
            current = []
        elif fields[0].isdecimal():
            current.append(fields[3])
    return sentences


def logits_before(parser, text, actions):
    """Scores (3,) of all actions before each step of a derivation; none before the first two."""
    scores = [None, None]

    def force(step, logits, can_shift, can_reduce):
        scores.append(logits[:, 0].copy())
        return np.array([actions[step] != 0]), np.array([actions[step] == 1])

    list(parser._derived([text], 1, lambda batch: force))
    return scores


@pytest.mark.parametrize("language", LANGUAGES)
def test_real_tag_sequences(data_dir, language):
    sentences = tag_sequences(data_dir / "ud14" / f"{language}-ud-test.conllu")
    tags = sorted({tag for tags in sentences for tag in tags})[1:]  # one tag is unknown
    network, parser = model(len(language), 2.0, n_tags=len(tags), hidden_dim=64, tag_dim=80)
    texts = [Vocabulary(tuple(tags)).encode(s, s) for s in sentences[:: len(sentences) // 12]]
    for text, actions in zip(texts, actions_of(parser, texts)):
        expected = reference_actions(network, text)
        if actions != expected:  # two of them had the same score, as far as float32 can tell
            step = next(t for t, (one, other) in enumerate(zip(actions, expected)) if one != other)
            scores = logits_before(parser, text, expected)[step]
            difference = abs(scores[actions[step]] - scores[expected[step]])
            assert difference < 1e-5 * np.abs(scores).max()


def in_numpy(kernel, otherwise, work, *arguments):
    return partial(otherwise, *arguments)


def in_python(kernel, otherwise, work, *arguments):
    return partial(kernel.as_python, *arguments)


def in_machine_code(kernel, otherwise, work, *arguments):
    call = kernel.bound(*arguments, work=row_stacks.PLENTY + 1)
    assert call.__name__ == "call"  # made here, not left to numba
    return call


@pytest.mark.parametrize("how", [in_python, in_machine_code])
def test_kernels_do_what_numpy_does(how, monkeypatch):
    texts = [known(n, n) for n in (1, 9, 4, 2, 1, 6)]
    for word_dim in (0, 7):
        parser, results = model(1, word_dim=word_dim)[1], []
        for bound in (in_numpy, how):
            monkeypatch.setattr(row_stacks, "_bound", bound)
            results.append((actions_of(parser, texts), parser.draw(texts, 3, np.random.default_rng(2))))
        (actions, drawn), (same_actions, same_drawn) = results
        assert same_actions == actions
        for one, other in zip(drawn, same_drawn):
            assert (one.actions == other.actions).all()
            assert (one.heads == other.heads).all()
            np.testing.assert_allclose(other.log_q, one.log_q, rtol=1e-5)


def test_without_numba_numpy_does_it(monkeypatch):
    def fail():
        raise VdgiError("this needs the package numba")

    parser, texts = model(1)[1], [known(5)]
    expected = parser.parse(texts)
    for kernel in (row_stacks._READ, row_stacks._SCORE, row_stacks._MOVE, row_stacks._PUSH):
        monkeypatch.setattr(kernel, "_natives", {})
    monkeypatch.setattr(machine_code, "_environment", fail)
    parser.make_ready()
    assert parser.parse(texts) == expected


def test_tanh():
    x = np.linspace(-20, 20, 4001, dtype=np.float32)
    quotient = np.array([arena_kernels.squashed.plain(each) for each in x])
    np.testing.assert_allclose(quotient, np.tanh(x.astype(float)), rtol=4e-7)


def test_the_parser_does_not_import_dynet():
    code = "import sys, dynet_vdgi.parsing.arena; sys.exit('dynet' in sys.modules or '_dynet' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
