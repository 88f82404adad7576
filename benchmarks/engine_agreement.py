"""Agreement of the engines on real sentences: scores and gradients of equal derivations, no dropout.

    python benchmarks/engine_agreement.py eu-ud-train.conllu [--sentences 50] [--word-dim 80]

Compares one graph a sentence with automatic batching off (the reference) and on, and the lockstep engine
with and without merging of equal prefixes. Prints the largest relative difference of any score, and of any
gradient relative to the largest entry of its parameter's gradient.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from dynet_vdgi.data import conllu, protocols, treebank
from dynet_vdgi.data.vocabulary import Encoded, build_vocabulary
from dynet_vdgi.model import lockstep, per_sentence
from dynet_vdgi.model.layers import Array
from dynet_vdgi.model.network import Network, forcing, new_graph, sampling
from dynet_vdgi.model.samples import Floats
from dynet_vdgi.settings.neural_settings import ModelSettings

SAMPLES = 20

Actions = Sequence[Sequence[int]]
Result = tuple[Floats, dict[str, Array]]


def gradients(network: Network) -> dict[str, Array]:
    """Gradients of all parameters; sets them to zero afterwards."""
    result = {}
    for name, parameter in network.parameters.by_name.items():
        result[name] = np.array(parameter.grad_as_array(), dtype=np.float32)
        parameter.scale_gradient(0.0)
    return result


def one_by_one(autobatch: bool) -> Callable[[Network, Encoded, Actions, Floats], Result]:
    """The reference engine."""

    def score(network: Network, sentence: Encoded, actions: Actions, weights: Floats) -> Result:
        new_graph(autobatch)
        drawn = per_sentence.draw(network, sentence, SAMPLES, forcing(actions), training=False)
        per_sentence.backward(drawn, weights, weights[::-1])
        return np.concatenate([drawn.samples.log_q, drawn.samples.log_p]), gradients(network)

    return score


def in_lockstep(merge: bool) -> Callable[[Network, Encoded, Actions, Floats], Result]:
    """The lockstep engine."""

    def score(network: Network, sentence: Encoded, actions: Actions, weights: Floats) -> Result:
        choose = forcing(actions)
        drawn = lockstep.draw(network, [sentence], SAMPLES, choose, training=False, merge=merge)
        lockstep.backward(drawn, weights, weights[::-1])
        samples = drawn.samples[0]
        return np.concatenate([samples.log_q, samples.log_p]), gradients(network)

    return score


def main() -> None:
    """Prints the differences."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("treebank")
    parser.add_argument("--sentences", type=int, default=50)
    parser.add_argument("--word-dim", type=int, default=0)
    arguments = parser.parse_args()
    sentences = treebank.prepare(conllu.read(arguments.treebank), protocols.STANDARD, 10, 2).sentences
    rng = np.random.default_rng(0)
    chosen = [sentences[k] for k in rng.choice(len(sentences), arguments.sentences, replace=False)]
    vocabulary = build_vocabulary(sentences, lexicalised=arguments.word_dim > 0)
    network = Network(vocabulary, ModelSettings(word_dim=arguments.word_dim), rng)
    engines = {
        "one graph a sentence, autobatching": one_by_one(True),
        "lockstep, unmerged": in_lockstep(False),
        "lockstep, merged": in_lockstep(True),
    }
    worst = {name: [0.0, 0.0] for name in engines}
    for sentence in chosen:
        encoded = vocabulary.encode(sentence.forms, sentence.tags)
        new_graph(autobatch=True)
        sampled = per_sentence.derive(network.encoder, encoded, SAMPLES, sampling(rng))
        actions, weights = [d.actions for d in sampled], rng.normal(size=SAMPLES)
        scores, exact = one_by_one(False)(network, encoded, actions, weights)
        for name, engine in engines.items():
            other_scores, other = engine(network, encoded, actions, weights)
            difference = np.abs(scores - other_scores) / np.maximum(np.abs(scores), 1e-6)
            worst[name][0] = max(worst[name][0], float(difference[scores != 0].max(initial=0.0)))
            for key, gradient in exact.items():
                size = float(np.abs(gradient).max())
                if size > 0:
                    error = float(np.abs(gradient - other[key]).max()) / size
                    worst[name][1] = max(worst[name][1], error)
    name, n_words = Path(arguments.treebank).name, sum(map(len, chosen))
    print(f"{len(chosen)} sentences of {name}, {n_words} words, {SAMPLES} samples each, word_dim", end=" ")
    print(f"{arguments.word_dim}; against one graph a sentence without autobatching:\n")
    print("| engine | log q, log p | gradients |\n|---|---|---|")
    for name, (score, gradient) in worst.items():
        print(f"| {name} | {score:.1e} | {gradient:.1e} |")


if __name__ == "__main__":
    main()
