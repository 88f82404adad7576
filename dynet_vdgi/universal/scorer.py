"""The universal parser's network without DyNet: shapes of its weights, LSTM, scores of arcs and of relations.

The layers of the universal parser's network, and the shapes of its weights; needs no DyNet.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import is_
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.labels.label_table import LABELS
from dynet_vdgi.system.arrays import Bytes, Floats, Floats32, Ints
from dynet_vdgi.system.jit import Kernel, compiled_floats
from dynet_vdgi.system.processes import one_thread
from dynet_vdgi.universal.channels import (
    BANDS,
    DISTANCES,
    FLAG_TREES,
    N_FLAGS,
    N_TAGS,
    RELATION,
    RELATIONS,
    ROOT,
    ROWS_OF_PAIRS,
    SCORE_ARCS,
    CodedText,
    encode,
    gap_pairs,
    workspace,
)
from dynet_vdgi.universal.expected import FLAG_SOFT_TREES, SCORE_SOFT_ARCS, soft_text, soft_workspace
from dynet_vdgi.universal.typology import (
    PAIR_NUMBERS,
    SHARE,
    Profile,
    TextTeacher,
    objects_come_first,
    taught,
)


@dataclass(frozen=True)
class LayerSizes:
    """Units of the network's layers."""

    n_features: int
    n_numbers: int
    tag: int = 32
    features: int = 32
    gaps: int = 8
    band: int = 8
    typology: int = 24
    hidden: int = 64
    arc: int = 96
    relation: int = 64

    @property
    def word(self) -> int:
        return self.tag + self.features + self.gaps + self.band + self.typology

    @property
    def joint(self) -> int:
        return 2 * self.hidden + self.word

    @classmethod
    def of(cls, weights: Mapping[str, Any]) -> LayerSizes:
        """The sizes of a network with these arrays. Raises: KeyError, IndexError, one is missing or flat."""
        return cls(
            n_features=weights["features"].shape[1],
            n_numbers=weights["typology"].shape[1],
            tag=weights["tag"].shape[1],
            features=weights["features"].shape[0],
            gaps=weights["gaps"].shape[1],
            band=weights["band"].shape[1],
            typology=weights["typology"].shape[0],
            hidden=weights["lstm0.forward.h"].shape[1],
            arc=weights["arc.head"].shape[0],
            relation=weights["relation.head"].shape[0],
        )


def shapes(sizes: LayerSizes) -> dict[str, tuple[int, ...]]:
    """The shape of every array of weights."""
    hidden, joint = sizes.hidden, sizes.joint
    result: dict[str, tuple[int, ...]] = {
        "tag": (N_TAGS, sizes.tag),
        "features": (sizes.features, sizes.n_features),
        "gaps": (16, sizes.gaps),
        "band": (BANDS, sizes.band),
        "typology": (sizes.typology, sizes.n_numbers),
        "typology.bias": (sizes.typology,),
        "root": (joint,),
    }
    for layer, width in enumerate((sizes.word, 2 * hidden)):
        for direction in ("forward", "backward"):
            result[f"lstm{layer}.{direction}.x"] = (4 * hidden, width)
            result[f"lstm{layer}.{direction}.h"] = (4 * hidden, hidden)
            result[f"lstm{layer}.{direction}.bias"] = (4 * hidden,)
    for name, width, out in (("arc", sizes.arc, 1), ("relation", sizes.relation, len(RELATIONS))):
        result[f"{name}.head"], result[f"{name}.dependent"] = (width, joint), (width, joint)
        result[f"{name}.flags"], result[f"{name}.numbers"] = (width, N_FLAGS), (width, PAIR_NUMBERS)
        result[f"{name}.bias"] = (width,)
        result[f"{name}.out"] = (out, width)
    straight = {"straight.flags": (1, N_FLAGS), "straight.numbers": (1, PAIR_NUMBERS)}
    return result | straight | {"straight.pairs": (ROWS_OF_PAIRS, 1)}


# ----------------------------------------------------------------------------------------------------
# The bidirectional LSTM of the universal parser, for many sentences at once, without DyNet.
#
# Equations as of DyNet's VanillaLSTMBuilder: the forget gate's bias is raised by 1.
#
# Letters: N words; H hidden units.


HALF = np.float32(0.5)
LIMIT = np.float32(7.90531110763549805)
"""Beyond it, tanh is 1 in single precision."""
A1, A3, A5 = map(np.float32, (4.89352455891786e-3, 6.37261928875436e-4, 1.48572235717979e-5))
A7, A9, A11 = map(np.float32, (5.12229709037114e-8, -8.60467152213735e-11, 2.00018790482477e-13))
A13, B0, B2 = map(np.float32, (-2.76076847742355e-16, 4.89352518554385e-3, 2.26843463243900e-3))
B4, B6 = map(np.float32, (1.18534705686654e-4, 1.19825839466702e-6))


@compiled_floats
def tanh(x: Any) -> Any:
    """tanh as a quotient of polynomials, within 3e-7; unlike the library's it can be vectorised."""
    x = max(min(x, LIMIT), -LIMIT)
    s = x * x
    odd = x * (A1 + s * (A3 + s * (A5 + s * (A7 + s * (A9 + s * (A11 + s * A13))))))
    return odd / (B0 + s * (B2 + s * (B4 + s * B6)))


@compiled_floats
def step(gates: Floats32, cells: Floats32, outputs: Floats32, at: int, size: int) -> None:
    """One time step of the first `size` sentences in both directions; their rows begin `at`.

    gates (2, N, 4 * H), the sigmoids' halved; cells (2, S, H) from the step before are replaced; outputs
    (2, N, H) are filled in.
    """
    hidden = cells.shape[2]
    for direction in range(2):
        for k in range(size):
            row, c, out = gates[direction, at + k], cells[direction, k], outputs[direction, at + k]
            for j in range(4 * hidden):
                row[j] = tanh(row[j])
            for j in range(hidden):
                i, f = HALF + HALF * row[j], HALF + HALF * row[hidden + j]
                c[j] = f * c[j] + i * row[3 * hidden + j]
                out[j] = tanh(c[j]) * (HALF + HALF * row[2 * hidden + j])


def step_in_numpy(gates: Floats32, cells: Floats32, outputs: Floats32, at: int, size: int) -> None:
    """`step` for little work, which is not worth compiling; equal but for rounding."""
    hidden = cells.shape[2]
    now, c = gates[:, at : at + size], cells[:, :size]
    np.tanh(now, out=now)
    three = now[:, :, : 3 * hidden]
    three *= HALF
    three += HALF
    c *= now[:, :, hidden : 2 * hidden]
    c += now[:, :, :hidden] * now[:, :, 3 * hidden :]
    np.multiply(np.tanh(c), now[:, :, 2 * hidden : 3 * hidden], out=outputs[:, at : at + size])


STEP = Kernel(step, "the universal parser", plain=step_in_numpy)
WORDS_A_UNIT = 8
"""Words at which `step_in_numpy` takes .1 ms longer than `step`, see `jit.WORK_TO_LOAD`."""


class Packing:
    """Sentences, the longest first, as rows by time: `forward` and `backward` (N,) order the words so."""

    def __init__(self, start: Ints) -> None:
        lengths = np.diff(start)
        order = np.argsort(-lengths, kind="stable")
        by_length = lengths[order]
        longest = int(by_length[0]) if len(by_length) else 0
        self.active = np.searchsorted(-by_length, -np.arange(longest), "left")  # sentences longer than t
        first, last = start[:-1][order], start[1:][order] - 1
        self.forward = np.concatenate([first[:0], *(first[:k] + t for t, k in enumerate(self.active))])
        self.backward = np.concatenate([last[:0], *(last[:k] - t for t, k in enumerate(self.active))])


class Layer:
    """One layer of the LSTM in both directions, its sigmoids computed as tanh (x / 2)."""

    def __init__(self, weights: Mapping[str, Floats32], layer: int) -> None:
        directions = ("forward", "backward")
        x, h, bias = (
            [weights[f"lstm{layer}.{direction}.{part}"] for direction in directions] for part in ("x", "h", "bias")
        )
        self.hidden = hidden = x[0].shape[0] // 4
        half = np.ones((4 * hidden, 1), np.float32)
        half[: 3 * hidden] = HALF
        self._x = np.stack([np.ascontiguousarray((a * half).T) for a in x])
        self._h = np.stack([np.ascontiguousarray((a * half).T) for a in h])
        forget = np.zeros(4 * hidden, np.float32)
        forget[hidden : 2 * hidden] = 1.0
        self._bias = np.stack([(b + forget) * half[:, 0] for b in bias])

    def __call__(self, order: Packing, x: Floats32, of_word: Ints | None = None) -> Floats32:
        """Outputs (N, 2 * H) for inputs (N, width), or for these rows (N,) of fewer."""
        hidden, n = self.hidden, len(order.forward)
        gates = np.empty((2, n, 4 * hidden), np.float32)  # the only large array, for which memory is fetched once
        for k, words in enumerate((order.forward, order.backward)):
            if of_word is None:
                np.matmul(x[words], self._x[k], out=gates[k])
                gates[k] += self._bias[k]
            else:
                np.take(x @ self._x[k] + self._bias[k], of_word[words], axis=0, out=gates[k], mode="clip")
        outputs = np.empty((2, n, hidden), np.float32)
        cells = np.zeros((2, int(order.active[0]) if n else 0, hidden), np.float32)
        before = at = 0
        for size in order.active.tolist():
            if at:
                gates[:, at : at + size] += np.matmul(outputs[:, before : before + size], self._h)
            STEP(gates, cells, outputs, at, size, work=-(-size // WORDS_A_UNIT))
            before, at = at, at + size
        result = np.empty((n, 2 * hidden), np.float32)
        result[order.forward, :hidden], result[order.backward, hidden:] = outputs
        return result


# ----------------------------------------------------------------------------------------------------
# Probabilities of arcs and relations under the universal parser's weights, with NumPy and a kernel.
#
# It computes what `arc_network` does, without DyNet. What depends on the text alone, and what depends on a
# word's tag, features, gaps and frequency, is computed once for each value.
#
# Letters: N words, S sentences; H hidden units of the LSTMs; A units of the arcs' layer.


CLIP = 3.0
"""Standardised numbers of a text lie within this of zero."""

WORDS = 3_000
"""Words that are scored together."""


@dataclass(frozen=True)
class Scorer:
    """Learnt weights, see `sizes.shapes`; `mean` and `scale` (U,) standardise the numbers of a text."""

    features: tuple[str, ...]
    mean: Floats32
    scale: Floats32
    weights: Mapping[str, Floats32]

    def measured(self, sentences: Sequence[Sentence]) -> tuple[Profile, TextTeacher | None]:
        """The standardised profile of a text; its teacher if objects come first there."""
        text = encode(sentences, self.features)
        teacher, arcs = taught(sentences, text)
        profile = self.standardised(Profile.of(text, self.features, arcs.sum(0)))
        return profile, teacher if objects_come_first(arcs.sum(0)) else None

    def standardised(self, profile: Profile) -> Profile:
        """The profile with each number as its deviation from the mean of the treebanks learnt from."""
        numbers = np.clip((profile.numbers - self.mean) / self.scale, -CLIP, CLIP)
        return Profile(numbers.astype(np.float32), profile.pairs)


class _Kept(threading.local):
    """What a Python thread has computed last, a text and its words; copies have nothing."""

    last: tuple[CodedText, Floats32] | None = None

    def __reduce__(self) -> tuple[type[_Kept], tuple[()]]:
        return _Kept, ()


class TextScorer:
    """A scorer for the sentences of one text."""

    def __init__(
        self,
        scorer: Scorer,
        profile: Profile,
        bands: Mapping[str, int] | None = None,
        teacher: TextTeacher | None = None,
    ) -> None:
        self.scorer, self.profile, self.bands, self.teacher = scorer, profile, bands, teacher
        self._kept = _Kept()
        w = scorer.weights
        self._language = np.tanh(w["typology"] @ profile.numbers + w["typology.bias"])
        self._layers = [Layer(w, 0), Layer(w, 1)]
        tables = np.zeros((N_TAGS + 1, N_TAGS, 2, len(w["arc.bias"]) + 1 + DISTANCES), np.float32)
        n = len(w["arc.bias"])
        tables[..., :n] = profile.pairs @ w["arc.numbers"].T
        tables[..., n] = profile.pairs @ w["straight.numbers"][0]
        tables[..., n + 1 :] = w["straight.pairs"].reshape(N_TAGS + 1, N_TAGS, 2, DISTANCES)
        self._tables = tables
        self._flags = np.ascontiguousarray(w["arc.flags"].T)
        self._root = w["arc.head"] @ w["root"]

    def encode(self, sentences: Sequence[Sentence]) -> CodedText:
        """The sentences as arrays; the last ones are kept, because heads and relations are of the same."""
        text = self._kept.last[0] if self._kept.last else None
        if text is not None and len(text) == len(sentences) and all(map(is_, text.sentences, sentences)):
            return text
        text = encode(sentences, self.scorer.features, self.bands)
        return replace(text, soft=soft_text(sentences, self.scorer.features))

    def log_probabilities(self, text: CodedText) -> Floats32:
        """log p(h | d) of all sentences in a row, each (n + 1, n) by head; with a teacher's share, if any."""
        z = self._words(text)
        w = self.scorer.weights
        heads = np.ascontiguousarray(z @ w["arc.head"].T)
        dependents = np.ascontiguousarray(z @ w["arc.dependent"].T + w["arc.bias"])
        lengths = text.lengths
        longest = int(lengths.max(initial=0))
        scores = np.empty(int((lengths * (lengths + 1)).sum()), np.float32)
        hidden = np.zeros(len(w["arc.bias"]), np.float32)
        out = np.ascontiguousarray(w["arc.out"][0]), np.ascontiguousarray(w["straight.flags"][0])
        parts = heads, dependents, self._root, self._tables, self._flags, *out
        if (soft := text.soft) is None:
            words = text.tags, text.gaps, text.bundle, text.agreeing, *workspace(longest)
            SCORE_ARCS(*parts, *words, hidden, text.start, scores, work=3 * len(scores))
        else:
            tags = soft.chances, soft.n_tags, soft.tag, soft.chance
            pairs = np.zeros(self._tables[:, 0].shape, np.float32)
            rest = soft.values, soft.ends, text.gaps, *soft_workspace(longest), pairs, hidden, text.start, scores
            SCORE_SOFT_ARCS(*parts, *tags, *rest, work=6 * len(scores))
        if self.teacher is not None:
            scores += np.float32(SHARE) * self.teacher.log_probabilities(text.sentences)
            scores /= np.float32(1 + SHARE)
        return scores

    def relations(self, text: CodedText, heads: Ints) -> Floats32:
        """Scores (N, R), R relations of `channels.RELATIONS`, of the arcs from `heads` (N,), 0 for ROOT."""
        w = self.scorer.weights
        z = self._words(text)
        n_words = len(text.tags)
        first = np.repeat(text.start[:-1], text.lengths)
        of_head = np.where(heads == 0, n_words, first + heads - 1)
        side = (heads > np.arange(n_words) - first).astype(np.int64)
        pairs = self._pairs(text, of_head, 1 - side)
        hidden = np.concatenate([z @ w["relation.head"].T, (w["relation.head"] @ w["root"])[None]])[of_head]
        hidden += z @ w["relation.dependent"].T + w["relation.bias"]
        hidden += pairs @ w["relation.numbers"].T + flags_of_arcs(text, heads) @ w["relation.flags"].T
        return np.asarray(np.maximum(hidden, 0) @ w["relation.out"].T)

    def _pairs(self, text: CodedText, of_head: Ints, side: Ints) -> Floats32:
        """The numbers (N, K) of the tags of words and of their heads, N being ROOT, with words on these sides."""
        if text.soft is None:
            tags = text.tags.astype(np.int64)
            return np.asarray(self.profile.pairs[np.append(tags, ROOT)[of_head], tags, side])
        n_words, n_tags = text.soft.chances.shape
        heads = np.zeros((n_words + 1, n_tags + 1), np.float32)
        heads[:-1, :-1], heads[-1, ROOT] = text.soft.chances, 1
        by_side = self.profile.pairs.transpose(2, 1, 0, 3)  # (2, 16, 17, K)
        of_words = np.empty((n_words, n_tags + 1, by_side.shape[3]), np.float32)
        for k in range(2):
            of_words[side == k] = np.tensordot(text.soft.chances[side == k], by_side[k], 1)
        return np.asarray(np.einsum("nh,nhk->nk", heads[of_head], of_words))

    def _words(self, text: CodedText) -> Floats32:
        """`_layered` of a text; kept, because heads and relations of a text need the same."""
        if self._kept.last is None or self._kept.last[0] is not text:
            self._kept.last = text, self._layered(text)
        return self._kept.last[1]

    def _layered(self, text: CodedText) -> Floats32:
        """z (N, J) of all words: outputs of the second layer, then inputs of the first."""
        w = self.scorer.weights
        starts = text.start
        sentence = np.repeat(np.arange(len(text)), text.lengths)
        at = np.arange(len(text.tags)) + sentence
        gaps = gap_pairs(text.gaps[at].astype(np.int64), text.gaps[at + 1])
        order = Packing(starts)
        if (soft := text.soft) is not None:
            x = self._inputs(soft.chances @ w["tag"], soft.features @ w["features"].T, gaps, text.band)
            return np.concatenate([self._layers[1](order, self._layers[0](order, x)), x], 1)
        key = ((text.tags.astype(np.int64) * 16 + gaps) * 8 + text.band) * len(text.features) + text.bundle
        known = np.array(sorted({*key.tolist()}), np.int64)  # np.unique would load much of NumPy
        of_word = np.searchsorted(known, key)
        rest, bundle = np.divmod(known, len(text.features))
        rest, band = np.divmod(rest, 8)
        tag, gap = np.divmod(rest, 16)
        x = self._inputs(w["tag"][tag], (text.features @ w["features"].T)[bundle], gap, band)
        y = self._layers[1](order, self._layers[0](order, x, of_word))
        return np.concatenate([y, x[of_word]], 1)

    def _inputs(self, tags: Floats32, features: Floats32, gaps: Ints, bands: Ints | Bytes) -> Floats32:
        """What the first layer reads of words, from the parts that their tags and features make."""
        w, language = self.scorer.weights, np.broadcast_to(self._language, (len(tags), len(self._language)))
        return np.concatenate([tags, features, w["gaps"][gaps], w["band"][bands], language], 1)


def by_sentence(scores: NDArray[Any], lengths: Ints) -> Iterator[NDArray[Any]]:
    """The scores (n + 1, n) of each sentence, from those of all sentences in a row."""
    at = 0
    for n in lengths.tolist():
        yield scores[at : at + n * (n + 1)].reshape(n + 1, n)
        at += n * (n + 1)


def flags_of_arcs(text: CodedText, heads: Ints) -> Floats32:
    """The flags (N, F) of the arcs from `heads` (N,)."""
    flags = np.zeros((len(heads), N_FLAGS), np.float32)
    longest = int(text.lengths.max(initial=0))
    if (soft := text.soft) is None:
        words = text.tags, text.gaps, text.bundle, text.agreeing, *workspace(longest)
        FLAG_TREES(*words, text.start, heads, flags, work=len(heads) // 2)
    else:
        expected = soft.chances, soft.values, soft.ends, text.gaps, *soft_workspace(longest)
        FLAG_SOFT_TREES(*expected, text.start, heads, flags, work=len(heads))
    return flags


# ----------------------------------------------------------------------------------------------------
# What the universal parser knows of relations, by their numbers in `labels.label_table.LABELS`.


ARCS = 1_000_000
"""Possible arcs that are scored together, unless a single sentence has more."""

_LABEL_OF = np.array([LABELS.index(relation) for relation in RELATIONS])
_ROOT = RELATION["root"]


def log_p(scorer: TextScorer, sentences: Sequence[Sentence], heads: Ints) -> Floats:
    """log p (N, L) of relations for the arcs from heads (N,) of sentences without punctuation.

    An unknown head, below 0, counts as ROOT.
    """
    first = np.cumsum([0, *map(len, sentences)])
    found = np.zeros((len(heads), len(LABELS)))
    for members in batches(sentences):
        words = np.concatenate([np.arange(first[k], first[k + 1]) for k in members])
        encoded = scorer.encode([sentences[k] for k in members])
        found[words] = log_p_of(scorer, encoded, heads[words])
    return found


def log_p_of(scorer: TextScorer, encoded: CodedText, heads: Ints) -> Floats:
    """log p (N, L) of the arcs from heads (N,) of a coded text; minus infinity for `root` and `punct`."""
    with one_thread():
        scores = scorer.relations(encoded, np.maximum(heads, 0)).astype(np.float64)
    scores[:, _ROOT] = -np.inf
    scores -= scores.max(axis=1, keepdims=True)
    found = np.full((len(scores), len(LABELS)), -np.inf)
    found[:, _LABEL_OF] = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    return found


def batches(sentences: Sequence[Sentence]) -> Iterator[list[int]]:
    """The places of sentences with words: similar lengths together, sentences with guessed tags apart."""
    members: list[int] = []
    n_words = n_arcs = 0
    kinds = [(sentence.soft is not None, len(sentence)) for sentence in sentences]
    for k in sorted((k for k, (_, n) in enumerate(kinds) if n), key=kinds.__getitem__):
        n, is_other = len(sentences[k]), bool(members) and kinds[k][0] != kinds[members[0]][0]
        if members and (is_other or n_words + n > WORDS or n_arcs + n * (n + 1) > ARCS):
            yield members
            members, n_words, n_arcs = [], 0, 0
        members.append(k)
        n_words, n_arcs = n_words + n, n_arcs + n * (n + 1)
    if members:
        yield members
