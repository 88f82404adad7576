"""RF: a parser that counts the tags around its own actions.

Rasooli & Faili (2012), "Fast unsupervised dependency parsing with arc-standard transitions". That
paper was not available; this follows the account of it by Li et al. (2019). An arc-standard
derivation of actions a_1 ... a_2n-1 builds a tree and its tags x. With the tags `below` and `top`
of the upper two words on the stack

    p(x, a) = product over the actions of  p(reduce or shift | below, top)
                                           p(side | below, top), if it reduces
                                           p(tag of the word | below, top), if it shifts

The probabilities are smoothed relative counts (`smoothed`). Learning counts actions in the
parser's own parses, from random decisions on (`random_start`), in passes over sentences of up to a
length that grows: their "baby steps" (`RasooliFaili`). Their two heuristics are the rule table
`rf-h1-h2`: H1, the last verb is reduced with 1e-10 of its probability, so it is the root; H2, arcs
from noun to verb, from adjective to verb and from adjective to noun have a tenth of it. RF is
the same under the table `none`.

What Li et al. do not say is ours: the features above; counts of all passes together, as in Daume
(2009), "Unsupervised search-based structured prediction", whom both papers follow; smoothing; a
beam of K derivations instead of the best one, each of which counts by its share of the beam's
probability. A rule table gives factors of arcs. That of the root would come too late for a beam, so
at each reduction a derivation's score changes with the best root that is still possible. All
derivations of a beam have read equally many words. Time is linear in the words for stacks of
bounded depth.

Letters: n words, T tags, K derivations of a beam; words are 0..n-1 here; tag T says that there is
no word.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
from msgspec import Meta

from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.settings.settings import TeacherKind, TeacherSettings
from dynet_vdgi.system import progress
from dynet_vdgi.system.array_types import Floats, Ints
from dynet_vdgi.system.jit import Kernel, compiled
from dynet_vdgi.unsupervised.dmv_model import Packed, normalised
from dynet_vdgi.unsupervised.teacher import SymbolTeacher, SymbolText

SHIFT, LEFT, RIGHT, WAIT = range(4)
"""Actions; with one word on the stack and none to read, a derivation waits for the others."""


class Tables(NamedTuple):
    """Log-probabilities, or counts, by the tags below the top of the stack and on top of it."""

    reduces: Floats  # (T + 1, T + 1, 2), whether they are reduced
    side: Floats  # (T + 1, T + 1, 2), LEFT - 1 or RIGHT - 1
    tag: Floats  # (T + 1, T + 1, T)


class Beam(NamedTuple):
    """Derivations so far; `size` (1,) says how many of the K rows are in use."""

    size: Ints
    score: Floats  # (K,)
    depth: Ints  # (K,)
    stack: Ints  # (K, n)
    length: Ints  # (K,), actions
    actions: Ints  # (K, 2n)


class BeamRoom(NamedTuple):
    """The kernel's workspace for K derivations of sentences of up to n words."""

    current: Beam
    reduced: Beam
    shifted: Beam
    later: Floats  # (n + 1,), the best root potential from a word on
    weights: Floats  # (K,)
    stack: Ints  # (n,)


def room_for(width: int, n: int) -> BeamRoom:
    """A workspace for a beam of this width and sentences of up to n words."""

    def beam() -> Beam:
        depth, length = np.zeros(width, np.int64), np.zeros(width, np.int64)
        stack, actions = np.zeros((width, n), np.int64), np.zeros((width, 2 * n), np.int64)
        return Beam(np.zeros(1, np.int64), np.zeros(width), depth, stack, length, actions)

    later, weights, stack = np.zeros(n + 1), np.zeros(width), np.zeros(n, np.int64)
    return BeamRoom(beam(), beam(), beam(), later, weights, stack)


@compiled
def add(beam: Beam, score: float, source: Beam, row: int, action: int, word: int) -> None:
    """Puts a derivation with one more action into a beam, in place of the worst if it is full.

    `word`: the top of the stack after the action.
    """
    place = beam.size[0]
    if place < len(beam.score):
        beam.size[0] += 1
    else:
        place = 0
        for k in range(1, len(beam.score)):
            if beam.score[k] < beam.score[place]:
                place = k
        if beam.score[place] >= score:
            return
    length = source.length[row]
    depth = source.depth[row] - (0 if action == SHIFT else 1 if action == WAIT else 2)
    for k in range(depth):
        beam.stack[place, k] = source.stack[row, k]
    beam.stack[place, depth] = word
    for k in range(length):
        beam.actions[place, k] = source.actions[row, k]
    beam.actions[place, length] = action
    beam.score[place], beam.depth[place] = score, depth + 1
    beam.length[place] = length if action == WAIT else length + 1


@compiled
def best_root(beam: Beam, row: int, gone: int, roots: Floats, later: Floats, read: int) -> float:
    """The highest root potential of the unread words and those on the stack, except the word
    `gone`."""
    best = later[read]
    for k in range(beam.depth[row]):
        word = beam.stack[row, k]
        if word != gone and roots[word] > best:
            best = roots[word]
    return float(best)


@compiled
def reduce_all(
    beam: Beam, into: Beam, tags: Ints, potentials: Floats, later: Floats, tables: Tables, read: int
) -> None:
    """Adds both reductions of every derivation in which they are legal."""
    n, roots = len(tags), potentials[: len(tags)]
    for row in range(beam.size[0]):
        depth = beam.depth[row]
        if depth < 2:
            if read == n:
                add(into, beam.score[row], beam, row, WAIT, beam.stack[row, 0])
            continue
        below, top = beam.stack[row, depth - 2], beam.stack[row, depth - 1]
        # the only thing to do
        reduces = tables.reduces[tags[below], tags[top], 1] if read < n else 0.0
        before = best_root(beam, row, -1, roots, later, read)
        for action, head, gone in ((LEFT, top, below), (RIGHT, below, top)):
            after = best_root(beam, row, gone, roots, later, read)
            score = reduces + tables.side[tags[below], tags[top], action - 1]
            score += potentials[(head + 1) * n + gone] + after - before
            add(into, beam.score[row] + score, beam, row, action, head)


@compiled
def shift_all(beam: Beam, into: Beam, tags: Ints, tables: Tables, read: int) -> None:
    """Adds the shift of the next word by every derivation."""
    none = len(tables.side) - 1
    for row in range(beam.size[0]):
        depth = beam.depth[row]
        top = tags[beam.stack[row, depth - 1]] if depth > 0 else none
        below = tags[beam.stack[row, depth - 2]] if depth > 1 else none
        score = beam.score[row] + tables.tag[below, top, tags[read]]
        if depth > 1:  # otherwise it is the only action
            score += tables.reduces[below, top, 0]
        add(into, score, beam, row, SHIFT, read)


@compiled
def search(tags: Ints, potentials: Floats, tables: Tables, room: BeamRoom) -> Beam:
    """The best derivations found, whole ones; scores are logarithms of joint probabilities with
    factors.

    `potentials` (n + 1) * n, logarithms by head, ROOT first, and dependent.
    """
    n, roots, later = len(tags), potentials[: len(tags)], room.later
    later[n] = -np.inf
    for word in range(n - 1, -1, -1):
        later[word] = max(later[word + 1], roots[word])
    current, reduced, shifted = room.current, room.reduced, room.shifted
    current.size[0], current.score[0], current.depth[0], current.length[0] = 1, later[0], 0, 0
    for read in range(n):
        shifted.size[0] = 0
        while current.size[0] > 0:
            shift_all(current, shifted, tags, tables, read)
            reduced.size[0] = 0
            reduce_all(current, reduced, tags, potentials, later, tables, read)
            current, reduced = reduced, current
        current, shifted = shifted, current
    for _ in range(n - 1):
        reduced.size[0] = 0
        reduce_all(current, reduced, tags, potentials, later, tables, n)
        current, reduced = reduced, current
    return current


@compiled
def expect(beam: Beam, tags: Ints, counts: Tables, marginals: Floats, room: BeamRoom) -> float:
    """Adds the derivations' actions and arcs (n + 1) * n, weighted by shares of the beam's
    probability.

    Returns the logarithm of the sum of their probabilities with factors.
    """
    n, none, size = len(tags), len(counts.side) - 1, beam.size[0]
    stack, weights, most, total = room.stack, room.weights, -np.inf, 0.0
    for row in range(size):
        most = max(most, beam.score[row])
    for row in range(size):
        weights[row] = math.exp(beam.score[row] - most)
        total += weights[row]
    for row in range(size):
        weight, depth, read = weights[row] / total, 0, 0
        for k in range(beam.length[row]):
            action = beam.actions[row, k]
            top = tags[stack[depth - 1]] if depth > 0 else none
            below = tags[stack[depth - 2]] if depth > 1 else none
            if depth > 1 and read < n:
                counts.reduces[below, top, int(action != SHIFT)] += weight
            if action == SHIFT:
                counts.tag[below, top, tags[read]] += weight
                stack[depth] = read
                depth, read = depth + 1, read + 1
                continue
            counts.side[below, top, action - 1] += weight
            head, gone = stack[depth - 2], stack[depth - 1]
            if action == LEFT:
                head, gone = gone, head
            marginals[(head + 1) * n + gone] += weight
            depth -= 1
            stack[depth - 1] = head
        marginals[stack[0]] += weight
    return most + math.log(total)


@compiled
def count_sentence(
    tags: Ints,
    potentials: Floats,
    tables: Tables,
    counts: Tables,
    marginals: Floats,
    room: BeamRoom,
) -> float:
    """`expect` of the derivations that are found."""
    return expect(search(tags, potentials, tables, room), tags, counts, marginals, room)


COUNT_SENTENCE = Kernel(count_sentence, "the RF teacher")


RANDOMNESS = 1.0
"""Parameter of the symmetric Dirichlet distributions of first decisions: 1 is any distribution
alike."""


class RfSettings(TeacherSettings, frozen=True, tag_field="kind", tag="rf"):
    """RF: a parser that counts in its own parses, see `rivals.rf`."""

    max_len: Annotated[
        int, Meta(ge=0, description="longest sentence it learns from, in words; 0: any")
    ] = 15
    iterations: Annotated[int, Meta(ge=1, description="passes, each with longer sentences")] = 15
    beam: Annotated[int, Meta(ge=1, description="derivations that are kept at a word")] = 8
    smoothing: Annotated[
        float, Meta(gt=0, description="pseudo-counts from the shorter context")
    ] = 1.0


class BabyStep(NamedTuple):
    """One pass over the sentences of up to some length; the sum of log-probabilities in nats."""

    longest: int
    log_likelihood: float


def no_counts(n_tags: int) -> Tables:
    return Tables(*(np.zeros((n_tags + 1, n_tags + 1, size)) for size in (2, 2, n_tags)))


def random_start(n_tags: int, seed: int) -> Tables:
    """Random actions; all tags alike."""
    rng = np.random.default_rng(seed)
    reduces, side = np.log(
        rng.dirichlet((RANDOMNESS, RANDOMNESS), size=(2, n_tags + 1, n_tags + 1)) + 1e-9
    )
    return Tables(reduces, side, np.full((n_tags + 1, n_tags + 1, n_tags), -np.log(n_tags)))


def smoothed(counts: Tables, smoothing: float) -> Tables:
    """Log-probabilities, backed off from two tags to the upper one, and from that to none.

    `smoothing`: pseudo-counts that come from the shorter context.
    """
    return Tables(*(_backed_off(table, smoothing) for table in counts))


def _backed_off(counts: Floats, smoothing: float) -> Floats:
    shares: Floats = np.full(counts.shape[-1], 1 / counts.shape[-1])
    for by_context in (counts.sum(axis=(0, 1)), counts.sum(axis=0), counts):
        shares = normalised(by_context + smoothing * shares)
    return np.log(shares)


def count(
    text: Packed, tables: Tables, beam: int, counts: Tables, longest: int | None = None
) -> tuple[float, Floats]:
    """Adds the expected counts of sentences; log of the beams' probability, and that of each arc.

    `longest`: longer sentences are left out.
    """
    potentials, marginals = np.log(text.potentials), np.zeros_like(text.potentials)
    lengths = np.diff(text.first)
    room, total, end = room_for(beam, int(lengths.max(initial=0))), 0.0, 0
    for first, n in zip(text.first.tolist(), lengths.tolist()):
        start, end = end, end + (n + 1) * n
        if n and (longest is None or n <= longest):
            tags, arcs = text.tags[first : first + n], marginals[start:end]
            arguments = potentials[start:end], tables, counts, arcs, room
            total += COUNT_SENTENCE(tags, *arguments, work=2 * beam * n)
    return total, marginals


@dataclass(frozen=True, eq=False)
class RfModel:
    """The learnt model."""

    tables: Tables
    log: tuple[BabyStep, ...]


class RasooliFaili(SymbolTeacher[RfModel]):
    """The teacher: `RasooliFaili(iterations=15).fit(text, prior)`, with the numbers of
    `RfSettings`."""

    name = "RF"
    kind = RfSettings
    settings: RfSettings

    def _learnt(self, text: SymbolText) -> RfModel:
        """Learnt from sentences, the shortest first."""
        packed, settings = Packed.of(text.symbols, text.potentials, text.n_symbols), self.settings
        lengths = np.diff(packed.first)
        tables, log = random_start(text.n_symbols, self.seed), list[BabyStep]()
        steps, counts = settings.iterations, no_counts(text.n_symbols)
        for step in progress.over(range(1, steps + 1), "baby steps"):
            longest = max(int(np.ceil(lengths.max() * step / steps)), int(lengths.min()), 3)
            log.append(BabyStep(longest, count(packed, tables, settings.beam, counts, longest)[0]))
            tables = smoothed(counts, settings.smoothing)
        return RfModel(tables, tuple(log))

    def marginals(self, sentences: Iterable[Sentence]) -> list[Floats]:
        """Shares of the beam's probability."""
        tables = self.model.tables
        n_tags = len(tables.side) - 1
        text = Packed.of(*self.encoded(sentences), n_tags)
        return text.by_sentence(count(text, tables, self.settings.beam, no_counts(n_tags))[1])


KIND = TeacherKind(RfSettings, RasooliFaili)
