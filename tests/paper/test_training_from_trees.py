"""Learning from gold trees, alone or besides tagged text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import brute_force
import numpy as np
import pytest
import tiny
from networks import gradients, network, relative_difference, sentence
from shell import Vdgi, names_in
from tiny import same_arrays
from wording import Wording

from dynet_vdgi.conllu.reading import read
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.conllu.vocabulary import build_vocabulary
from dynet_vdgi.evaluation.attachment import score
from dynet_vdgi.models import model_file
from dynet_vdgi.models.model_file import Provenance
from dynet_vdgi.paper import lockstep, per_sentence
from dynet_vdgi.paper.greedy import GreedyParser
from dynet_vdgi.paper.network import forcing, new_graph
from dynet_vdgi.paper.phases import Supervised
from dynet_vdgi.paper.settings import TrainSettings
from dynet_vdgi.paper.trainer import Trainer
from dynet_vdgi.paper.transitions import oracle
from dynet_vdgi.training.material import Material

# Gradients


def given(n: int, count: int, seed: int = 0) -> list[tuple[int, ...]]:
    """Derivations of random trees of n words."""
    trees = brute_force.projective_trees(n)
    return [
        tuple(oracle(trees[k])) for k in np.random.default_rng(seed).integers(0, len(trees), count)
    ]


@pytest.mark.parametrize("word_dim", [0, 3])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_gradients_are_those_of_the_negative_log_probabilities_in_both_engines(n, word_dim):
    net = network(word_dim=word_dim, encoder_dropout=0.0, decoder_dropout=0.0)
    texts, derivations = [sentence(n, seed) for seed in range(3)], given(n, 3)
    summed, scores = None, []
    # one by one, without phase, batch or engine's choice
    for text, actions in zip(texts, derivations):
        new_graph(autobatch=False)
        drawn = per_sentence.derive_and_score(net, text, 1, forcing([actions]), training=False)
        per_sentence.backward(drawn, np.ones(1), np.ones(1))
        scores.append((drawn.samples.log_q[0], drawn.samples.log_p[0]))
        found = gradients(net)
        summed = found if summed is None else {name: summed[name] + found[name] for name in found}
    mean = {name: gradient / 3 for name, gradient in summed.items()}
    for accumulate in (lockstep.accumulate, per_sentence.accumulate):
        phase, settings = Supervised(), TrainSettings(samples=7)
        drawn = accumulate(net, texts, phase, np.random.default_rng(0), settings, derivations)
        assert relative_difference(mean, gradients(net)) < 1e-4
        assert [samples.actions for samples in drawn] == [
            [list(actions)] for actions in derivations
        ]
        assert [samples.heads[0] for samples in drawn] == [
            brute_force.heads_from(actions, n) for actions in derivations
        ]
        for samples, (log_q, log_p) in zip(drawn, scores):
            assert samples.log_q == pytest.approx([log_q], abs=1e-4)
            assert samples.log_p == pytest.approx([log_p], abs=1e-4)
        figures = phase.diagnostics.averages()
        for name, column in (("tree_log_q_per_word", 0), ("tree_log_p_per_word", 1)):
            expected = sum(pair[column] for pair in scores) / (3 * n)
            assert figures[name] == pytest.approx(expected, abs=1e-4)
        assert phase.diagnostics.words == 3 * n


# Training

CLEAN = {"encoder_dropout": 0.0, "decoder_dropout": 0.0, "hidden_dim": 12, "tag_dim": 8}
SUPERVISED: dict[str, dict[str, Any]] = {
    "parser": CLEAN,
    "train": {
        "updates": 40,
        "lr": 0.05,
        "clip": 0.0,
        "average": 0.0,
        "evaluate_every": 20,
        "batch_size": 6,
    },
}


def trees_of(folder: Path, n_sentences: int = 12) -> list[Sentence]:
    return list(read(tiny.write(folder / "trees.conllu", n_sentences)))


def new_trainer(
    folder: Path, trees: int, text: int, changes: Any = None, dev: bool = False
) -> Trainer:
    """A trainer with so many trees and sentences without."""
    gold = trees_of(folder, max(trees, 1))[:trees]
    data = tiny.data(folder, max(text, 1))
    sentences = data.sentences[:text]
    vocabulary = build_vocabulary([*sentences, *gold], lexicalised=False)
    settings = tiny.settings(changes or SUPERVISED)
    chosen = gold if dev else []
    material = Material({"": sentences}, vocabulary, data.rules, gold, chosen)
    return Trainer(settings, material, Provenance(), folder)


@pytest.mark.parametrize("engine", ["lockstep", "per_sentence"])
def test_trees_are_learnt(tmp_path, engine):
    changes = {**SUPERVISED, "train": {**SUPERVISED["train"], "engine": engine, "batch_size": 2}}
    run = new_trainer(tmp_path, 12, 0, changes)
    run.train()
    heads = GreedyParser(run._parameters(), run.data.vocabulary, run.settings.parser).parse(
        run.encoded
    )
    assert score(run.data.trees, heads).dda > 0.9
    rows = run.log.rows()
    assert len(rows) == 2
    for name in ("tree_log_q_per_word", "tree_log_p_per_word"):
        assert rows[0][name] < rows[1][name] < 0
    assert "elbo_per_word" not in rows[0]  # nothing is sampled


def test_lambda_does_not_move_after_a_batch_of_trees(tmp_path):
    run = new_trainer(tmp_path, 8, 8, {**SUPERVISED, "posterior": {"dynamics": "dual"}})
    lam = run.phase.lam
    lam.value = np.full_like(lam.value, 0.5)
    trees = [k for k in range(len(run.encoded)) if k in run.gold][:1]
    text = [k for k in range(len(run.encoded)) if k not in run.gold][:1]
    run.update(trees)
    assert (lam.value == 0.5).all()
    run.update(text)
    assert (lam.value != 0.5).any()


# The command


def learn(*options: str, out: str = "run") -> list[str]:
    small = [*tiny.SMALL_OPTIONS]
    if "--trees" in options and "--train" not in options:  # nothing is sampled then
        place = small.index("train.samples=3")
        del small[place - 1 : place + 1]
    return ["train", *options, "--out", out, *small]


CROSSING = tiny.block(9, ["NOUN", "VERB", "DET", "NOUN"], [3, 0, 2, 1])


def test_trees_that_cross_are_dropped_and_told_but_text_that_crosses_is_kept(
    vdgi, folder, wording: Wording
):
    """Only trees need a derivation; heads of --train are not looked at."""
    Path("trees.conllu").write_text(tiny.treebank(5) + CROSSING + CROSSING, encoding="utf-8")
    Path("text.conllu").write_text(CROSSING * 3, encoding="utf-8")
    lines = vdgi.good(*learn("--train", "text.conllu", "--trees", "trees.conllu")).err.splitlines()
    wording.lines("\n".join(lines), "training: ")
    wording.check([line for line in lines if "projective" in line])
    meta = model_file.load("run/model.vdgi").meta
    wording.check(meta["gold_trees"])
    wording.check(meta["dropped"])


def test_trees_without_heads_are_refused_with_their_line(vdgi, folder, wording: Wording):
    Path("trees.conllu").write_text(
        tiny.treebank(1) + tiny.block(1, ["NOUN", "VERB"], None), encoding="utf-8"
    )
    status, out, err = vdgi(*learn("--trees", "trees.conllu"))
    assert (status, out) == (3, "")
    wording.check(err.splitlines()[-1])
    Path("trees.conllu").write_text(tiny.block(1, ["NOUN", "PUNCT"], None), encoding="utf-8")
    wording.check(vdgi(*learn("--train", "trees.conllu")).err)
    assert names_in(folder) == ["trees.conllu"]


# What of the training text is not used


def weights(vdgi: Vdgi, name: str, out: str, *options: str) -> Any:
    """All that training leaves, after a run with the paper's settings but for sizes."""
    sizes = [
        "--preset",
        "fixed-lambda",
        "--set",
        "parser.hidden_dim=6",
        "--set",
        "parser.tag_dim=6",
    ]
    sizes += ["--set", "train.updates=3", "--set", "train.samples=3"]
    vdgi.good("train", "--train", name, "--out", out, *sizes, *options)
    return model_file.load(f"{out}/model.vdgi", training=True)


def test_heads_of_the_training_text_are_not_used(vdgi, folder):
    """A text with heads, with other heads, and with none gives the same numbers, bit by bit."""
    for name in ("gold", "other", "none"):
        Path(name).mkdir()
    text = tiny.treebank(12) + tiny.block(9, ["NOUN", "VERB", "DET", "NOUN"], [3, 0, 2, 1])
    Path("gold/text.conllu").write_text(text, encoding="utf-8")
    tiny.write(Path("none/text.conllu"), 12, heads=False)
    with open("none/text.conllu", "a", encoding="utf-8") as handle:
        handle.write(tiny.block(9, ["NOUN", "VERB", "DET", "NOUN"], None))
    chains = [list(range(len(tags.split()))) for tags, _ in tiny.PATTERNS]
    blocks = [
        tiny.block(k, tags.split(), chains[k % 6])
        for k, (tags, _) in enumerate([*tiny.PATTERNS] * 2)
    ]
    blocks.append(tiny.block(9, ["NOUN", "VERB", "DET", "NOUN"], [0, 1, 2, 3]))
    Path("other/text.conllu").write_text("".join(blocks), encoding="utf-8")
    models = [
        weights(vdgi, f"{name}/text.conllu", f"run-{name}", "--set", "finetune.updates=3")
        for name in ("gold", "other", "none")
    ]
    for model in models[1:]:
        assert same_arrays(models[0].training, model.training)
        assert same_arrays(models[0].parameters, model.parameters)
        assert model.meta["gold_trees"] == models[0].meta["gold_trees"] == []
