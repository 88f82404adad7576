"""Training speed of the neural parser: the lockstep engine, and a graph for each sentence.

    python experiments/train_speed.py eu-ud-train.conllu [--repeats 5]

Random sentences of --length words, with the treebank's frequencies of tags, are sampled M times,
scored by encoder and decoder, weighted as in pretraining, and the gradients computed, without
updates of the weights. Whole epochs of the treebank are trained with the preset paper, without and
with words. One core, CPU seconds.
"""

from __future__ import annotations

import functools
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from measuring import argument_parser, conditions, print_table

from dynet_vdgi.conllu import filtering, protocols, reading
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.conllu.vocabulary import Encoded, build_vocabulary
from dynet_vdgi.models.model_file import Provenance
from dynet_vdgi.paper import lockstep, per_sentence
from dynet_vdgi.paper.minibatches import minibatches
from dynet_vdgi.paper.trainer import Trainer
from dynet_vdgi.rule_tables.rules import load_rules
from dynet_vdgi.settings.bundled import rules_path
from dynet_vdgi.settings.presets import load_settings
from dynet_vdgi.system.blas import one_thread
from dynet_vdgi.training.material import Material

ENGINES = {
    "graph a sentence": per_sentence.accumulate,
    "lockstep, unmerged": functools.partial(lockstep.accumulate, merge=False),
    "lockstep": lockstep.accumulate,
}
SIZES = (1, 10, 25)
"""Sentences of an update."""
WORD_DIMS = {"tags only": 0, "tags and words": 80}


def trainer_of(sentences: list[Sentence], word_dim: int, folder: str) -> Trainer:
    """A trainer with the preset paper."""
    settings = load_settings("paper", changes={"parser": {"word_dim": word_dim}})
    vocabulary = build_vocabulary(
        sentences, lexicalised=word_dim > 0, min_freq=settings.words.min_freq
    )
    material = Material({"": sentences}, vocabulary, load_rules(rules_path("ud")))
    return Trainer(settings, material, Provenance(), Path(folder))


def engine_rows(trainer: Trainer, drawn: Sequence[Encoded], repeats: int) -> list[list[str]]:
    """For each engine and size of updates, sentences a CPU second and the ratio to the first
    engine."""
    rng, rows = np.random.default_rng(2), []
    for size in (size for size in SIZES if size <= len(drawn)):
        batches = [drawn[k : k + size] for k in range(0, len(drawn) - size + 1, size)]
        seconds: dict[str, list[float]] = {name: [] for name in ENGINES}
        for _ in range(repeats):
            for name, accumulate in ENGINES.items():
                start = time.process_time()
                for batch in batches:
                    accumulate(trainer.network, batch, trainer.phase, rng, trainer.settings.train)
                seconds[name].append((time.process_time() - start) / (size * len(batches)))
        medians = {name: statistics.median(values) for name, values in seconds.items()}
        first = medians["graph a sentence"]
        rows += [
            [name, str(size), f"{1 / s:.0f}", f"{first / s:.1f}"] for name, s in medians.items()
        ]
    return rows


def epoch_seconds(trainer: Trainer, number: int) -> float:
    """CPU seconds of an epoch, updates included."""
    start = time.process_time()
    lengths = [len(sentence) for sentence in trainer.encoded]
    for batch in minibatches(
        lengths, trainer.settings.train.batch_size, np.random.default_rng(number)
    ):
        trainer.update(batch)
    return time.process_time() - start


def main() -> None:
    """Prints the tables."""
    parser = argument_parser(__doc__)
    parser.add_argument("treebank", metavar="CONLLU")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--length", type=int, default=8, help="words of a random sentence")
    parser.add_argument("--sentences", type=int, default=50, help="random sentences a measurement")
    parser.add_argument("--epochs", type=int, default=3, help="of the treebank")
    arguments = parser.parse_args()
    print(conditions())
    sentences = filtering.prepare(
        reading.read(arguments.treebank), protocols.STANDARD, 10, 2
    ).sentences
    epochs = []
    with one_thread(), tempfile.TemporaryDirectory() as folder:
        for title, word_dim in WORD_DIMS.items():
            trainer = trainer_of(sentences, word_dim, folder)
            tags, words = (
                np.concatenate(part) for part in zip(*((e.tags, e.words) for e in trainer.encoded))
            )
            places = np.random.default_rng(1).integers(
                0, len(tags), (arguments.sentences, arguments.length)
            )
            drawn = [Encoded(tuple(tags[k].tolist()), tuple(words[k].tolist())) for k in places]
            header = ["engine", "batch", "sentences / CPU s", "ratio to the first"]
            n_samples = trainer.settings.train.samples
            title_of_engines = (
                f"{title}: sentences of {arguments.length} words, {n_samples} samples each"
            )
            print_table(title_of_engines, header, engine_rows(trainer, drawn, arguments.repeats))
            trainer = trainer_of(sentences, word_dim, folder)
            epochs.append(
                [title, *(f"{epoch_seconds(trainer, n):.1f}" for n in range(arguments.epochs))]
            )
    n_words = sum(map(len, sentences))
    print_table(
        f"CPU seconds an epoch: {len(sentences):,} sentences, {n_words:,} words",
        ["epoch", *map(str, range(1, arguments.epochs + 1))],
        epochs,
    )


if __name__ == "__main__":
    main()
