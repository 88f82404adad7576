"""Learns universal retaggers with some branches of languages left out, and scores them on treebanks
kept aside.

    python experiments/retagger.py learn --data DIR --out FILE [--free] [--without BRANCH ...]
        [--without-code CODE ...] [--cache FOLDER]
    python experiments/retagger.py score [FILE=CODE,CODE,... ...] --data DIR [--set SET]
        [--scored text|test] [--out rows.csv] [--cache FOLDER]

DIR and the options of `learn` are as of universal.py. Each source is tagged by taggers of 20, 50,
100 or 200 other sentences of it, and the retagger learns to put these tags right. `score` learns
taggers of the first sentences of a text, shuffled by random.Random(1); the others are raw, and the
first of them are scored, or the test file is. Figures are of words that are no PUNCT, in per cent.
FOLDER keeps taggers and what they said.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import measuring
import msgspec
import numpy as np
from languages import LISTS
from raw_text import bare
from universal import FILES, TREEBANKS, files_of, source_rows

from dynet_vdgi.conllu import reading
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.models import archive
from dynet_vdgi.universal.encoding import N_TAGS, TAG
from dynet_vdgi.universal.learn.arc_network import batched, dy, lstm
from dynet_vdgi.words.tagger import retagger, tagger
from dynet_vdgi.words.tagger.retagger import (
    FORMAT,
    KIND,
    LEAST_PROBABILITY,
    LearningText,
    Retagger,
    RetaggerInput,
    RetaggerMeta,
    TaggerOutput,
    input_of,
    shapes,
)
from dynet_vdgi.words.tagger.spelling import WordTypes
from dynet_vdgi.words.tagger.tagger import Tagger, tagger_output, universal_tags
from dynet_vdgi.words.tagger.type_means import TypeMeans
from dynet_vdgi.words.tagger.word_numbers import N_NUMBERS

TAGGED = (20, 50, 100), (20, 50, 100), (20, 50, 100), (20, 50, 200)
"""Sentences that the taggers of a source learn from, for every fourth source."""
MOST_TAGGED = 0.4
"""Share of a source's sentences."""
RAW = 2_000, 6_000, 16_000
"""Words of the raw text of a source, in turn."""
ITERATIONS = 30, 50
"""Of a source's tagger; those of the package's take twice as long."""
OWN = 350, 5_000
"""Sentences and words of a source that are learnt from."""
FEWEST = 50, 1_500
"""Sentences and words of a source."""
SCORED = 150
"""Sentences of a text that are scored."""
UNITS = {"width": 96, "hidden": 64, "language": 24}
RATE, BATCH, LONGEST_SENTENCE, UPDATES = 3e-3, 700, 40, 2000
EPOCH = 3_000
"""Words of each source before all others had their turn."""
HIDDEN = 0.2
"""Share of sentences about which the tagger says nothing, so that the network learns what it can
without."""


def shuffled(paths: Sequence[Path], seed: int = 1) -> list[Sentence]:
    """The sentences of files in a random order."""
    text = [sentence for path in paths for sentence in reading.read(path, heads="ignored")]
    random.Random(seed).shuffle(text)
    return text


def up_to(sentences: Sequence[Sentence], n_words: int) -> list[Sentence]:
    """The first sentences, up to that with which they have more than so many words."""
    before = np.cumsum([0, *map(len, sentences)])
    return list(sentences[: np.searchsorted(before, n_words, "right")])


def tagged_source(text: Sequence[Sentence], k: int, n_raw: int) -> dict[str, Any]:
    """Arrays: what a tagger of the first k sentences says of the next ones, and the text."""
    raw = [Sentence(s.forms, ("_",) * len(s)) for s in up_to(text[k:], n_raw)]
    described = up_to(text[k : k + min(OWN[0], len(raw))], OWN[1])
    state = (
        Tagger().fit([Sentence(s.forms, tuple(universal_tags(s))) for s in text[:k]], raw).learnt
    )
    assert state is not None
    words = WordTypes.of(s.forms for s in described)
    of_tagger = tagger_output(state, words, words.tokens(), np.full(len(words.types), -1))
    meta = {
        "tags": state.tags,
        "n_words": state.n_words,
        "tagged": [s.forms for s in text[:k]],
        "tags_of": [universal_tags(s) for s in text[:k]],
        "raw": [s.forms for s in raw],
        "n_own": len(described),
        "gold": [tag for s in described for tag in universal_tags(s)],
    }
    means = of_tagger.means.arrays("means/")
    return {"marginals": of_tagger.marginals.astype(np.float32), **means, "told": json.dumps(meta)}


@dataclass(frozen=True)
class Source:
    """A source as one of its taggers sees it."""

    seen: RetaggerInput
    gold: np.ndarray  # (W,): numbers of tags, -1 for others

    @classmethod
    def of(cls, arrays: Any) -> Source:
        meta = json.loads(str(arrays["told"]))
        tagged, raw = WordTypes.of(meta["tagged"]), WordTypes.of(meta["raw"])
        text = LearningText.of(tagged, [tag for tags in meta["tags_of"] for tag in tags], raw)
        words = WordTypes.of(meta["raw"][: meta["n_own"]])
        means = TypeMeans.from_arrays(arrays, "means/", len(meta["tags"]))
        of_tagger = TaggerOutput(
            meta["tags"], meta["n_words"], arrays["marginals"].astype(float), means
        )
        seen = input_of(text, words, of_tagger)
        return cls(seen, np.array([TAG.get(tag, -1) for tag in meta["gold"]])[seen.at])

    def standardised(self, retagger: Retagger) -> Source:
        """With standardised numbers."""
        words, text = retagger.standardised_numbers(self.seen)
        return replace(self, seen=self.seen._replace(words=words, text=text))


def sources(arguments: argparse.Namespace) -> Iterator[tuple[str, Source]]:
    """Each source with its name, as each of its taggers sees it."""
    number = {row["treebank"]: k for k, row in enumerate(measuring.csv_rows(TREEBANKS))}
    tagger.ITERATIONS = ITERATIONS
    for row in source_rows(arguments):
        name, paths = row["treebank"], files_of(arguments.data, row["files"])
        text = shuffled(paths)
        if len(text) < FEWEST[0] or sum(map(len, text)) < FEWEST[1]:
            continue
        for turn, k in enumerate(TAGGED[number[name] % len(TAGGED)]):
            path = arguments.cache and arguments.cache / f"{name}.{turn}.npz"
            if path and path.exists():
                yield name, Source.of(np.load(path))
                continue
            n_raw = RAW[(number[name] + turn) % len(RAW)]
            arrays = tagged_source(
                shuffled(paths, turn + 1), min(k, int(MOST_TAGGED * len(text))), n_raw
            )
            if path:
                np.savez(path, **arrays)
            yield name, Source.of(arrays)


def standards(samples: Sequence[Source]) -> dict[str, np.ndarray]:
    """Means and scales of numbers, see `retagger.STANDARD`."""
    words = np.concatenate([each.seen.words[:1500, :N_NUMBERS] for each in samples])
    texts = np.stack([each.seen.text for each in samples])
    pairs = {"": (words, 0.05), "text.": (texts, 0.02)}
    standards = {f"{name}mean": values.mean(0) for name, (values, _) in pairs.items()}
    standards |= {f"{name}scale": values.std(0) + least for name, (values, least) in pairs.items()}
    return {name: values.astype(np.float32) for name, values in standards.items()}


class RetaggerNetwork:
    """The network of `retagger` in DyNet."""

    def __init__(self, seed: int, units: dict[str, int]) -> None:
        self.collection = dy.ParameterCollection()
        self.parameters: dict[str, Any] = {}
        rng = np.random.default_rng(seed)
        # where a tagger says nothing
        only_learnt = {"none": (units["width"], 1), "free": (N_TAGS, 1)}
        for name, shape in {**shapes(**units), **only_learnt}.items():
            bound = (
                1 / np.sqrt(units["hidden"])
                if name.startswith("lstm")
                else np.sqrt(3.0 / shape[-1])
            )
            value = rng.uniform(-bound, bound, shape)
            if name in only_learnt or (name.endswith("bias") and not name.startswith("lstm")):
                value[:] = 0.0
            self.parameters[name] = self.collection.add_parameters(shape)
            self.parameters[name].set_value(np.ones(1) if name == "trust" else value)

    def arrays(self) -> dict[str, np.ndarray]:
        """The weights as a file has them."""
        return {
            name: np.array(self.parameters[name].as_array(), np.float16) for name in shapes(1, 1, 1)
        }

    def logits(self, batch: Batch, drop: bool) -> Any:
        """Logits (U,)x(n * B) of the words; word t of sentence b is column t * B + b."""
        p, (n, size) = self.parameters, batch.gold.shape
        dropped = dy.dropout if drop else lambda x, rate: x
        text = dy.tanh(
            dy.affine_transform([p["text.bias"], p["text"], dropped(batched(batch.text), 0.4)])
        )
        language = dy.pick_batch_elems(p["language"] * text, np.tile(np.arange(size), n).tolist())
        nothing = batched(1 - batch.says)
        x = dy.affine_transform(
            [
                p["bias"],
                p["words"],
                dropped(batched(batch.words), 0.1),
                p["said"],
                dropped(batched(batch.marginals * batch.says), 0.1),
                p["none"],
                nothing,
            ]
        )
        x = dropped(dy.rectify(x + language), 0.15)
        z = dropped(dy.concatenate([lstm(p, 0, x, n, size), x]), 0.2)
        logits = dy.affine_transform([p["out.bias"], p["out"], z, p["free"], nothing])
        log_p = batched(np.log(batch.marginals[:N_TAGS] + LEAST_PROBABILITY) * batch.says)
        log_p = dy.reshape(log_p, (1, N_TAGS), batch_size=n * size)
        return logits + dy.reshape(p["trust"] * log_p, (N_TAGS,), batch_size=n * size)

    def loss(self, batch: Batch, drop: bool = True) -> Any:
        """The mean over words of - log p(tag)."""
        gold = batch.gold.ravel()
        losses = dy.pickneglogsoftmax_batch(self.logits(batch, drop), np.maximum(gold, 0).tolist())
        is_known = batched((gold >= 0).astype(np.float32)[None])
        return dy.sum_batches(dy.cmult(losses, is_known)) * (1.0 / max(1, int((gold >= 0).sum())))


@dataclass
class Batch:
    """Sentences of n words; columns are words, in the order of `RetaggerNetwork.logits`."""

    text: np.ndarray  # (N_OF_TEXT, B)
    words: np.ndarray
    marginals: np.ndarray
    says: np.ndarray  # (1, n * B): whether the tagger says anything
    gold: np.ndarray  # (n, B)


def batch_of(
    samples: Sequence[Source], members: Sequence[tuple[int, int]], says: np.ndarray
) -> Batch:
    """The batch of sentences of equal length; says (B,)."""
    ends = [samples[k].seen.first[s : s + 2] for k, s in members]

    def columns(values: Sequence[np.ndarray]) -> np.ndarray:
        rows = np.stack([each[low:high] for each, (low, high) in zip(values, ends)], 1)
        return rows.reshape(-1, *rows.shape[2:]).T

    of_members = [samples[k] for k, _ in members]
    gold = np.stack([each.gold[low:high] for each, (low, high) in zip(of_members, ends)], 1)
    return Batch(
        np.stack([each.seen.text for each in of_members], 1),
        columns([each.seen.words for each in of_members]),
        columns([each.seen.tagger_numbers for each in of_members]),
        np.tile(says.astype(np.float32), len(gold))[None],
        gold,
    )


def drawn(samples: Sequence[Source], rng: np.random.Generator) -> list[list[tuple[int, int]]]:
    """Batches of equally long sentences, up to EPOCH words of each source."""
    by_length: dict[int, list[tuple[int, int]]] = {}
    for k, source in enumerate(samples):
        lengths, n = np.diff(source.seen.first), 0
        for s in rng.permutation(len(lengths)).tolist():
            if 2 <= lengths[s] <= LONGEST_SENTENCE and n < EPOCH:
                by_length.setdefault(int(lengths[s]), []).append((k, s))
                n += int(lengths[s])
    batches = []
    for n, members in sorted(by_length.items()):
        rng.shuffle(members)
        size = max(1, BATCH // n)
        batches += [members[k : k + size] for k in range(0, len(members), size)]
    rng.shuffle(batches)
    return batches


def learnt(
    samples: Sequence[Source], updates: int, seed: int, units: dict[str, int] = UNITS
) -> dict[str, np.ndarray]:
    """The arrays of a retagger; equal arguments give equal ones."""
    arrays = standards(samples)
    samples = [each.standardised(Retagger(arrays)) for each in samples]
    rng = np.random.default_rng([seed, 1])
    network = RetaggerNetwork(seed, units)
    dy.reset_random_seed(seed)
    trainer = dy.AdamTrainer(network.collection, RATE, 0.9, 0.98, 1e-8)
    trainer.set_clip_threshold(5.0)
    start, total, queue = time.process_time(), 0.0, []
    for update in range(updates):
        queue = queue or drawn(samples, rng)
        members = queue.pop()
        dy.renew_cg()
        loss = network.loss(batch_of(samples, members, rng.random(len(members)) >= HIDDEN))
        total += loss.value()
        loss.backward()
        trainer.learning_rate = RATE * min(1.0, (update + 1) / 50) * max(0.02, 1 - update / updates)
        trainer.update()
        if (update + 1) % 100 == 0:
            logging.info(
                "update %d: loss %.4f, %.0f CPU s",
                update + 1,
                total / 100,
                time.process_time() - start,
            )
            total = 0.0
    return arrays | network.arrays()


def learn(arguments: argparse.Namespace) -> None:
    """Writes the file of a retagger."""
    start = time.process_time()
    named = list(sources(arguments))
    logging.info("%d samples of sources, %.0f CPU s", len(named), time.process_time() - start)
    arrays = learnt([source for _, source in named], arguments.updates, arguments.seed)
    licences = {row["treebank"]: row["licence"] for row in source_rows(arguments)}
    meta = RetaggerMeta(KIND, FORMAT, {name: licences[name] for name, _ in named})
    members = {"meta.json": msgspec.json.encode(meta), "weights.npz": archive.npz(arrays)}
    archive.write(arguments.out, members)
    n_weights = sum(array.size for array in arrays.values())
    size, seconds = arguments.out.stat().st_size / 1000, time.process_time() - start
    logging.info("%d weights, %.0f kB, %.0f CPU s", n_weights, size, seconds)


COLUMNS = "UPOS", "FEATS", "both"
SYSTEMS = "crf", "retagged"


def tagger_of(text: Sequence[Sentence], k: int, path: Path | None) -> Tagger:
    """The tagger of the first k sentences, the others being raw."""
    if path and path.exists():
        return Tagger.load(path)
    learnt = Tagger().fit(text[:k], map(bare, text[k:]))
    if path:
        learnt.save(path)
    return learnt


def shares(gold: Sequence[Sentence], tagged: Sequence[Sentence]) -> list[float]:
    """COLUMNS of words that are no PUNCT, in per cent."""
    pairs = [
        [p for s in text for p in zip(universal_tags(s), s.feats or "_" * len(s))]
        for text in (gold, tagged)
    ]
    right = [(a == c, b == d, (a, b) == (c, d)) for (a, b), (c, d) in zip(*pairs) if a != "PUNCT"]
    return (100 * np.mean(right, 0)).tolist()


def rows_of(row: dict[str, str], arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """The rows of a language of a list: for each number of tagged sentences, without and with the
    retagger."""
    code = row["language"]
    text, test = (shuffled(files_of(arguments.data, row[part])) for part in ("text", "test"))
    for k in arguments.tagged:
        if k > len(text) // 2:
            continue
        whole = tagger_of(text, k, arguments.cache and arguments.cache / f"{code}.{k}.tagger")
        gold = test if arguments.scored == "test" else text[k : k + SCORED]
        keys = {"language": code, "scored": arguments.scored, "tagged": k, "words": whole.n_words}
        for system, text_of_it in zip(SYSTEMS, (None, whole.learnt.text)):
            one = Tagger(replace(whole.learnt, text=text_of_it))
            figures = shares(gold, one.predict([replace(bare(s), heads=None) for s in gold]))
            yield {
                **keys,
                "system": system,
                **{name: f"{value:.2f}" for name, value in zip(COLUMNS, figures)},
            }


def score(arguments: argparse.Namespace) -> None:
    """Prints the shares of right tags, without and with each retagger, and writes them."""
    print("python experiments/retagger.py score")
    listed = [
        row
        for row in measuring.csv_rows(LISTS / FILES[arguments.set])
        if row["set"] == arguments.set
    ]
    rows = []
    for model in arguments.models or [f"={','.join(row['language'] for row in listed)}"]:
        path, _, codes = model.partition("=")
        retagger.FILE = Path(path) if path else retagger.FILE
        for row in listed:
            for scores in rows_of(row, arguments) if row["language"] in codes.split(",") else ():
                print(" ".join(map(str, scores.values())), flush=True)
                rows.append(scores)
    if arguments.out:
        measuring.write_csv(arguments.out, list(rows[0]), rows)
    for k in arguments.tagged:
        alone, with_it = (
            np.array(
                [
                    [float(r[name]) for name in COLUMNS]
                    for r in rows
                    if (r["tagged"], r["system"]) == (k, system)
                ]
            )
            for system in SYSTEMS
        )
        if len(alone):
            means = [
                " ".join(f"{x:.2f}" for x in x)
                for x in (alone.mean(0), with_it.mean(0), (with_it - alone).min(0))
            ]
            print(
                f"{k} sentences, {len(alone)} texts: {means[0]}; retagged {means[1]}; "
                f"least gains {means[2]}"
            )


def main() -> None:
    parser = measuring.argument_parser(__doc__)
    commands = parser.add_subparsers(dest="verb", required=True)
    learning, scoring = commands.add_parser("learn"), commands.add_parser("score")
    learning.add_argument("--without", nargs="*", default=[], help="branches")
    learning.add_argument("--without-code", nargs="*", default=[])
    learning.add_argument("--free", action="store_true")
    learning.add_argument("--updates", type=int, default=UPDATES)
    learning.add_argument("--seed", type=int, default=1)
    learning.add_argument("--out", type=Path, required=True)
    scoring.add_argument(
        "models", nargs="*", metavar="FILE=CODE,CODE,...", help="by default the package's"
    )
    scoring.add_argument("--set", choices=sorted(FILES), default="choose")
    scoring.add_argument("--scored", choices=("text", "test"), default="text")
    scoring.add_argument("--tagged", type=int, nargs="+", default=[20, 50, 100])
    scoring.add_argument("--out", type=Path)
    for each in (learning, scoring):
        each.add_argument("--data", type=Path, required=True)
        each.add_argument("--cache", type=Path)
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    {"learn": learn, "score": score}[arguments.verb](arguments)


if __name__ == "__main__":
    main()
