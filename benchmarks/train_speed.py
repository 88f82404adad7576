"""Training speed: the lockstep engine, and one graph a sentence with and without autobatching.

    python benchmarks/train_speed.py [eu-ud-train.conllu] [--repeats 5]

Random sentences of --length words are sampled M times, scored by encoder and decoder, weighted as in
pretraining, and the gradients computed; AdaGrad's update is timed separately. The learning rate is 0, so that
all engines work on the same untrained weights. With a treebank, tags and words have its frequencies, and
whole epochs of it are trained with the default settings. One core, CPU seconds.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import measuring
import numpy as np

from dynet_vdgi.data import conllu, protocols, treebank
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.data.vocabulary import Encoded, Vocabulary, build_vocabulary
from dynet_vdgi.grammar.rules import load_rules
from dynet_vdgi.model import lockstep, per_sentence
from dynet_vdgi.model.network import Network, new_graph, sampling
from dynet_vdgi.runs.material import NeuralMaterial
from dynet_vdgi.runs.model_file import Provenance
from dynet_vdgi.settings.bundled import rules_path
from dynet_vdgi.settings.config import Settings
from dynet_vdgi.settings.neural_settings import PosteriorSettings
from dynet_vdgi.settings.presets import load_settings
from dynet_vdgi.system.blas import one_thread
from dynet_vdgi.variational.batches import minibatches
from dynet_vdgi.variational.optimiser import AdaGrad
from dynet_vdgi.variational.phases import Pretraining
from dynet_vdgi.variational.posterior import Lambda, RuleCounts
from dynet_vdgi.variational.trainer import Trainer, word_rows

TAGS = (
    "ADJ",
    "ADP",
    "ADV",
    "AUX",
    "CONJ",
    "DET",
    "NOUN",
    "NUM",
    "PART",
    "PRON",
    "PROPN",
    "SCONJ",
    "VERB",
    "X",
)
WORD_DIM = 80
SIZES = (1, 10, 25)  # sentences per update
NAIVE, AUTOBATCH, UNMERGED, MERGED = "graph a sentence", "... autobatched", "lockstep, unmerged", "lockstep"
AT_MOST = {NAIVE: 10, AUTOBATCH: 20}  # number of sentences for timing the slow engines
BATCHES, UPDATES = 30, 3  # most batches, and most updates of the weights, of one measurement

Accumulate = Callable[[Sequence[Encoded]], None]


def settings_of(lexicalised: bool, changes: Mapping[str, Any] | None = None) -> Settings:
    """The sizes of the paper's parser, with words or without."""
    word_dim = {"parser": {"word_dim": WORD_DIM if lexicalised else 0}}
    return load_settings("paper", changes={**word_dim, **(changes or {})})


class Bench:
    """Networks, phase and optimiser, and random sentences to train on."""

    def __init__(
        self, sentences: Sequence[Sentence], lexicalised: bool, length: int, n_sentences: int
    ) -> None:
        settings = settings_of(lexicalised, {"train": {"lr": 0.0, "l2": 0.0}})
        rng = np.random.default_rng(1)
        tags, words = np.repeat(np.arange(1, len(TAGS) + 1), 1 + np.arange(len(TAGS)) % 4), np.arange(2_000)
        if sentences:
            self.vocabulary = build_vocabulary(sentences, lexicalised=lexicalised)
            encoded = [self.vocabulary.encode(s.forms, s.tags) for s in sentences]
            tags, words = (
                np.array([x for e in encoded for x in part(e)])
                for part in (lambda e: e.tags, lambda e: e.words)
            )
        else:
            names = tuple(f"w{k}" for k in range(len(words) - 1)) if lexicalised else ()
            self.vocabulary = Vocabulary(TAGS, names)
        drawn_tags = rng.choice(tags, (n_sentences, length)).tolist()
        drawn_words = (rng.choice(words, (n_sentences, length)) * lexicalised).tolist()
        self.sentences = [Encoded(tuple(t), tuple(w)) for t, w in zip(drawn_tags, drawn_words)]
        self.settings = settings.train
        self.network = Network(self.vocabulary, settings.parser, rng)
        self.optimiser = AdaGrad(self.network.parameters, settings.train)
        rules = load_rules(rules_path("ud"))
        lam = Lambda(PosteriorSettings(dynamics="fixed"), rules.expectations)
        self.phase = Pretraining(RuleCounts(rules, self.vocabulary.tags), lam)
        self.rng = np.random.default_rng(2)

    def engines(self) -> dict[str, Accumulate]:
        """Computes gradients from the sentences of an update."""
        return {
            NAIVE: lambda batch: self._one_by_one(batch, autobatch=False),
            AUTOBATCH: lambda batch: self._one_by_one(batch, autobatch=True),
            UNMERGED: lambda batch: self._in_lockstep(batch, merge=False),
            MERGED: lambda batch: self._in_lockstep(batch, merge=True),
        }

    def _one_by_one(self, batch: Sequence[Encoded], autobatch: bool) -> None:
        """Adds up gradients sentence by sentence; `per_sentence.accumulate` always batches automatically."""
        choose = sampling(self.rng)
        for sentence in batch:
            new_graph(autobatch)
            drawn = per_sentence.draw(self.network, sentence, self.settings.samples, choose)
            encoder_weights, decoder_weights = self.phase(sentence, drawn.samples)
            per_sentence.backward(drawn, encoder_weights / len(batch), decoder_weights / len(batch))

    def _in_lockstep(self, batch: Sequence[Encoded], merge: bool) -> None:
        lockstep.accumulate(self.network, batch, self.phase, self.rng, self.settings, merge=merge)

    def time(self, engine: str, size: int) -> tuple[float, float]:
        """CPU seconds per sentence for gradients, and CPU seconds per update of the weights."""
        accumulate = self.engines()[engine]
        n_sentences = max(size, min(len(self.sentences), AT_MOST.get(engine, len(self.sentences))))
        starts = range(0, n_sentences - size + 1, size)[:BATCHES]
        batches = [self.sentences[k : k + size] for k in starts]
        gradients, updates = 0.0, []
        for batch in batches:
            start = time.process_time()
            accumulate(batch)
            middle = time.process_time()
            gradients += middle - start
            if len(updates) < UPDATES:
                self.optimiser.update(word_rows(self.network, batch))
                updates.append(time.process_time() - middle)
        return gradients / sum(map(len, batches)), statistics.median(updates)


def compare(bench: Bench, repeats: int) -> list[dict[str, Any]]:
    """One record for each engine and batch size; all take turns."""
    keys = [(engine, size) for size in SIZES for engine in bench.engines() if size <= len(bench.sentences)]
    times: dict[tuple[str, int], list[tuple[float, float]]] = {key: [] for key in keys}
    for _ in range(repeats):
        for key in keys:
            times[key].append(bench.time(*key))
    records = []
    for (engine, size), values in times.items():
        gradient, update = (statistics.median(column) for column in zip(*values))
        record = {"engine": engine, "size": size, "gradient_s": gradient, "update_s": update}
        records.append({**record, "with_update_s": gradient + update / size})
    return records


def print_comparison(title: str, records: Sequence[dict[str, Any]]) -> None:
    """One line for each engine and batch size."""
    header = ["engine", "batch", "sentences / CPU s", "ratio to the first", "ms an update", "with updates"]
    rows = []
    for record in records:
        first = next(r for r in records if r["size"] == record["size"])
        rows.append(
            [
                record["engine"],
                str(record["size"]),
                f"{1 / record['gradient_s']:.0f}",
                f"{first['gradient_s'] / record['gradient_s']:.1f}",
                f"{1000 * record['update_s']:.1f}",
                f"{1 / record['with_update_s']:.0f}",
            ]
        )
    measuring.print_table(title, header, rows)


def epochs(sentences: list[Sentence], lexicalised: bool, n_epochs: int) -> dict[str, Any]:
    """CPU seconds of each of the first epochs with the default settings, updates included."""
    settings = settings_of(lexicalised)
    vocabulary = build_vocabulary(sentences, lexicalised=lexicalised, min_freq=settings.words.min_freq)
    material = NeuralMaterial({"": sentences}, vocabulary, load_rules(rules_path("ud")))
    seconds, n_updates = [], []
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(settings, material, Provenance(), Path(folder))
        lengths = [len(sentence) for sentence in trainer.encoded]
        for epoch in range(n_epochs):
            start = time.process_time()
            batches = minibatches(lengths, settings.train.batch_size, np.random.default_rng(epoch))
            for batch in batches:
                trainer.update(batch)
            seconds.append(time.process_time() - start)
            n_updates.append(len(batches))
    return {"sentences": len(sentences), "words": sum(lengths), "updates": n_updates, "cpu_s": seconds}


def arguments_parser() -> argparse.ArgumentParser:
    """The script's options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("treebank", nargs="?", metavar="CONLLU")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--length", type=int, default=8, help="words of a random sentence")
    parser.add_argument("--sentences", type=int, default=50, help="random sentences a measurement")
    parser.add_argument("--epochs", type=int, default=3, help="of the treebank")
    parser.add_argument("--no-memory", action="store_true", help="leave out the table of peak memory")
    parser.add_argument("--json", metavar="FILE", help="all figures, for programs")
    parser.add_argument("--train-once", help=argparse.SUPPRESS)
    parser.add_argument("--lexicalised", action="store_true", help=argparse.SUPPRESS)
    return parser


def main() -> None:
    """Prints the tables."""
    arguments = arguments_parser().parse_args()
    sentences: list[Sentence] = []
    if arguments.treebank:
        sentences = treebank.prepare(conllu.read(arguments.treebank), protocols.STANDARD, 10, 2).sentences
    if arguments.train_once:  # in a process of its own, whose memory is measured
        bench = Bench(sentences, arguments.lexicalised, arguments.length, max(SIZES))
        if arguments.train_once != "nothing":
            bench.time(arguments.train_once, max(SIZES))
        return
    measured = measuring.conditions()
    measuring.print_conditions(measured)
    content: dict[str, Any] = {"conditions": measured, "speed": {}, "memory_mb": {}, "epochs": {}}
    kinds = {"unlexicalised": False, "lexicalised": True}
    with one_thread():
        for kind, lexicalised in kinds.items():
            bench = Bench(sentences, lexicalised, arguments.length, arguments.sentences)
            content["speed"][kind] = compare(bench, arguments.repeats)
            n_words = len(bench.vocabulary.words)
            title = f"{kind.capitalize()} model" + (f" ({n_words:,} words)" if n_words else "")
            title += f": sentences of {arguments.length} words, {bench.settings.samples} samples each"
            print_comparison(title, content["speed"][kind])
        of_treebank = [arguments.treebank] if arguments.treebank else []
        for engine in () if arguments.no_memory else ("nothing", NAIVE, AUTOBATCH, UNMERGED, MERGED):
            once = [*of_treebank, "--length", str(arguments.length), "--train-once", engine]
            content["memory_mb"][engine] = {
                kind: measuring.peak_memory(measuring.itself(*once, *["--lexicalised"] * lexicalised))
                for kind, lexicalised in kinds.items()
            }
        rows = [[name, *(f"{mb:.0f}" for mb in by.values())] for name, by in content["memory_mb"].items()]
        title = f"Peak memory in MB, batches of {max(SIZES)}, each engine in a process of its own"
        if rows:
            measuring.print_table(title, ["engine", *kinds], rows)
        if sentences:
            rows = []
            for kind, lexicalised in kinds.items():
                result = content["epochs"][kind] = epochs(sentences, lexicalised, arguments.epochs)
                rows.append([kind, *(f"{s:.1f}" for s in result["cpu_s"])])
            first = content["epochs"]["unlexicalised"]
            title = (
                f"CPU seconds an epoch: {Path(arguments.treebank).name}, {first['sentences']:,} sentences, "
            )
            title += f"{first['words']:,} words, {first['updates'][0]} updates, default settings"
            numbers = [str(epoch) for epoch in range(1, arguments.epochs + 1)]
            measuring.print_table(title, ["epoch", *numbers], rows)
    measuring.write_json(arguments.json, content)


if __name__ == "__main__":
    main()
