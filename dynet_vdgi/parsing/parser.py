"""A trained model as a parser of tagged sentences. Does not need DyNet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.data.protocols import protocol_named
from dynet_vdgi.data.punctuation import kept_positions, restore_punctuation, without_punctuation
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.data.vocabulary import Encoded
from dynet_vdgi.errors import ModelError, UsageError, VdgiError
from dynet_vdgi.model_file import ModelFile
from dynet_vdgi.model_file import load as load_model_file
from dynet_vdgi.model_file import save as save_model_file
from dynet_vdgi.names import count
from dynet_vdgi.parsing.arena import Arena, SampledTrees
from dynet_vdgi.run_folder import model_path
from dynet_vdgi.students.codes import Codes
from dynet_vdgi.students.perceptron import PerceptronModel

PIPE_WINDOW = 1000
"""Sentences that `Parser.pipe` parses together."""

Tree = tuple[int, ...]


@dataclass(frozen=True)
class Parse:
    """One tree of n words; where trees were sampled, what the samples say about it."""

    heads: tuple[int, ...]  # (n,)
    head_probs: tuple[float, ...] | None = None  # (n,), share of the samples in which the word has this head
    tree_prob: float | None = None  # share of the samples that are this tree


@dataclass(frozen=True)
class Sampling:
    """What to do with trees drawn from the model, besides or instead of the greedy tree.

    `mbr`: the tree of the most probable heads (minimum Bayes risk: the one with the most heads that are
    expected to be right), exactly one root. `n_best`: the most frequent trees, of equally frequent ones the
    most probable under the model first. Otherwise the greedy tree.
    """

    n_samples: int = 100
    seed: int = 1
    mbr: bool = False
    n_best: int = 0


class Parser:
    """Parses with a model file, with its encoder or, where it has one instead, its perceptron.

    What the model's protocol removes is attached afterwards.

    Raises:
        ModelError: the model's parameters do not fit, or it is of a kind that is not known here.
    """

    def __init__(self, model: ModelFile) -> None:
        self.model = model
        self.protocol = protocol_named(model.settings.data.protocol)
        self._engine = _engine(model)
        self._codes = Codes.from_json(model.rules, model.symbols) if model.symbols is not None else None
        self._tags = frozenset(model.vocabulary.tags)
        self.unknown_tags: Counter[str] = Counter()
        """Tags the model has never seen, with how many words had them so far."""

    def __call__(self, words: Sequence[str], tags: Sequence[str]) -> Sentence:
        """One sentence with its heads. Raises: as `parse`."""
        return Sentence(tuple(words), tuple(tags), self.parse(words, tags))

    def pipe(self, sentences: Iterable[Sentence]) -> Iterator[Sentence]:
        """The sentences with new heads and all else as it was, lazily and in order.

        They are parsed a window at a time, since many at once are several times faster than one by one; not
        more than a window of them is held in memory. Their relations, which belonged to other heads, go.
        """
        windows = iter(sentences)
        while window := list(islice(windows, PIPE_WINDOW)):
            for sentence, parse in zip(window, self.parse_all(window)):
                yield replace(sentence, heads=parse.heads, deprels=())

    def save(self, path: str | Path) -> None:
        """Writes the model file, which `load` reads; one that is there is replaced when it is complete."""
        save_model_file(path, self.model)

    def parse(self, words: Sequence[str], tags: Sequence[str]) -> tuple[int, ...]:
        """Heads (n,) of one sentence: 0 for its one root, else 1..n; always a projective tree.

        With a model of XPOS tags (`model.settings.data.tags`) nothing here tells what is punctuation: leave
        it out, or give `parse_all` what `conllu.read(path, tags="xpos")` gives.

        Raises:
            VdgiError: as many words as tags are needed, and at least one.
        """
        if len(words) != len(tags) or not words:
            numbers = f"{count(len(words), 'word')}, {count(len(tags), 'tag')}"
            raise VdgiError(f"a sentence needs at least one word, and a tag for each: {numbers}")
        return self.parse_all([Sentence(tuple(words), tuple(tags))])[0].heads

    def parse_all(self, sentences: Sequence[Sentence]) -> list[Parse]:
        """The greedy tree of each sentence; many at once are parsed several times faster than one by one."""
        if self._codes and isinstance(self._engine, PerceptronModel):
            rows, positions = self._coded(sentences, self._codes)
            trees = self._engine.parse(rows)
        else:
            encoded, positions = self._encode(sentences)
            trees = self._greedy(encoded)
        return [
            Parse(restore_punctuation(heads, kept, len(sentence)))
            for sentence, kept, heads in zip(sentences, positions, trees)
        ]

    def sample_all(
        self, sentences: Sequence[Sentence], sampling: Sampling, stream: int = 0
    ) -> list[list[Parse]]:
        """Trees of each sentence, best first, with their probabilities as estimated from samples.

        One tree a sentence, or up to `n_best`. The same seed, stream and sentences give the same trees.

        Raises:
            UsageError: the model is a perceptron, which has no distribution over trees.
        """
        if isinstance(self._engine, PerceptronModel):
            raise UsageError(
                "this model is a perceptron, which gives one tree and no probabilities: "
                "--probs, --mbr and --nbest need a neural model"
            )
        encoded, positions = self._encode(sentences)
        rng = np.random.default_rng([sampling.seed, stream])
        samples = self._engine.draw(encoded, sampling.n_samples, rng)
        greedy = [()] * len(encoded) if sampling.mbr or sampling.n_best else self._greedy(encoded)
        result = []
        for sentence, places, drawn, heads in zip(sentences, positions, samples, greedy):
            times = Counter(map(tuple, drawn.heads.tolist()))
            if sampling.n_best:
                trees = _ranked(times, drawn)[: sampling.n_best]
            else:
                trees = [_most_probable_heads(drawn.heads) if sampling.mbr else heads]
            full = {tree: restore_punctuation(tree, places, len(sentence)) for tree in {*times, *trees}}
            all_heads = np.array([full[tree] for tree in times])
            weights = np.array(list(times.values())) / sampling.n_samples
            result.append(
                [
                    Parse(
                        full[tree],
                        tuple((weights @ (all_heads == np.array(full[tree]))).tolist()),
                        times[tree] / sampling.n_samples,
                    )
                    for tree in trees
                ]
            )
        return result

    def _greedy(self, encoded: Sequence[Encoded]) -> list[tuple[int, ...]]:
        if isinstance(self._engine, PerceptronModel):
            return self._engine.parse([sentence.tags for sentence in encoded])
        return self._engine.parse(encoded)

    def _encode(self, sentences: Sequence[Sentence]) -> tuple[list[Encoded], list[tuple[int, ...]]]:
        """What the protocol keeps of each sentence, as ids, and where it stood."""
        encoded, positions = [], []
        for sentence in sentences:
            places = kept_positions(sentence, self.protocol.removed_tags)
            forms, tags = sentence.forms, sentence.tags
            if len(places) < len(sentence):
                forms = tuple([forms[p - 1] for p in places])
                tags = tuple([tags[p - 1] for p in places])
            unknown = [tag for tag in tags if tag not in self._tags]
            if unknown:
                self.unknown_tags.update(unknown)
            encoded.append(self.model.vocabulary.encode(forms, tags))
            positions.append(places)
        return encoded, positions

    def _coded(
        self, sentences: Sequence[Sentence], codes: Codes
    ) -> tuple[list[list[int]], list[tuple[int, ...]]]:
        """What a perceptron under a rule table is told of each sentence, and where the words stood."""
        rows, positions = [], []
        for s in sentences:
            # Without its tree and its lines, which nobody asks for.
            bare = Sentence(s.forms, s.tags, None, None, s.upos, (), s.xpos, s.feats, (), s.gaps)
            kept, places = without_punctuation(bare, self.protocol.removed_tags)
            self.unknown_tags.update(tag for tag in kept.tags if tag not in self._tags)
            rows.append(codes(kept))
            positions.append(places)
        return rows, positions


def _engine(model: ModelFile) -> Arena | PerceptronModel:
    """What parses with the parameters of this model."""
    if model.settings.is_neural:
        return Arena(model.parameters, model.settings.model)
    parser = PerceptronModel.from_arrays(model.parameters)
    if model.symbols is None and parser.n_tags != len(model.vocabulary.tags):
        raise ModelError(
            f"the perceptron has {parser.n_tags} tags, its vocabulary {len(model.vocabulary.tags)}"
        )
    parser.parse([])  # compiles now: processes started after this find the code on disk
    return parser


def _ranked(times: Mapping[Tree, int], drawn: SampledTrees) -> list[Tree]:
    """The trees drawn, most frequent first; of equally frequent ones the most probable under the encoder.

    A tree's probability is that of its derivations, summed over those that were drawn.
    """
    log_q: dict[Tree, float] = {}
    _, first = np.unique(drawn.actions, axis=0, return_index=True)  # each derivation once
    for row in first.tolist():
        tree = tuple(drawn.heads[row].tolist())
        log_q[tree] = float(np.logaddexp(log_q.get(tree, -np.inf), drawn.log_q[row]))
    return sorted(times, key=lambda tree: (-times[tree], -log_q[tree], tree))


def _most_probable_heads(samples: NDArray[np.int32]) -> tuple[int, ...]:
    """The projective tree with one root whose heads are most frequent, in sum, in samples (M, n)."""
    from dynet_vdgi.grammar import chart  # needs numba, which greedy neural parsing does without

    n = samples.shape[1]
    shares = np.zeros((n + 1, n))
    np.add.at(shares, (samples, np.arange(n)), 1.0 / len(samples))
    return chart.expected_best(shares)


def load(path: str | Path) -> Parser:
    """The parser in a model file.

    Raises:
        ModelError: see `dynet_vdgi.model_file.load`.
    """
    path = model_path(path)
    model = load_model_file(path)
    try:
        return Parser(model)
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from None
