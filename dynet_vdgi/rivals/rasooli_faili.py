"""RF: a parser that counts the tags around its own actions, after Rasooli & Faili (2012).

"Fast unsupervised dependency parsing with arc-standard transitions". That paper was not available. This
follows the account of it by Li et al. (2019): arc-standard actions, counts of tags without words, sentences
from short to long ("baby steps", Spitkovsky et al. 2009), and two heuristics, which are the rule table
`rasooli-faili`: H1, the last verb is hardly ever reduced, so it is the root; H2, verbs are hardly dependents
of nouns and adjectives, nor adjectives the heads of nouns. The rest follows a paper that both build on, Daume
(2009), "Unsupervised search-based structured prediction": the parser predicts its own input, starts from
random decisions, and learns by counting in its own parses, those of all passes (as in DAgger, Ross et al.
2011, "A reduction of imitation learning to no-regret online learning"). The features of a state, smoothing
and the beam are ours.

Time is linear in the words for stacks of bounded depth. Letters: T tags.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
from msgspec import Meta

from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.rivals.beam_search import COUNT_ALL, Tables, room_for
from dynet_vdgi.settings.config import TeacherKind, TeacherSettings
from dynet_vdgi.settings.config_checks import checked, checked_seed
from dynet_vdgi.system import progress
from dynet_vdgi.system.arrays import Floats, Ints
from dynet_vdgi.teachers.common import SymbolTeacher, SymbolText
from dynet_vdgi.teachers.dmv_model import Packed, normalised

RANDOMNESS = 1.0
"""Parameter of the symmetric Dirichlet distributions of first decisions: 1 is any distribution alike."""


class RfSettings(TeacherSettings, frozen=True, tag_field="kind", tag="rf"):
    """RF: a parser that counts in its own parses, see `rivals.rasooli_faili`."""

    max_len: Annotated[int, Meta(ge=0, description="longest sentence it learns from, in words; 0: any")] = 15
    iterations: Annotated[int, Meta(ge=1, description="passes, each with longer sentences")] = 15
    beam: Annotated[int, Meta(ge=1, description="derivations that are kept at a word")] = 8
    smoothing: Annotated[float, Meta(gt=0, description="pseudo-counts from the shorter context")] = 1.0


class BabyStep(NamedTuple):
    """One pass over the sentences of up to some length; the sum of log-probabilities in nats."""

    longest: int
    log_likelihood: float


def no_counts(n_tags: int) -> Tables:
    return Tables(*(np.zeros((n_tags + 1, n_tags + 1, size)) for size in (2, 2, n_tags)))


def random_start(n_tags: int, seed: int) -> Tables:
    """Random actions; all tags alike."""
    rng = np.random.default_rng(seed)
    reduces, side = np.log(rng.dirichlet((RANDOMNESS, RANDOMNESS), size=(2, n_tags + 1, n_tags + 1)) + 1e-9)
    return Tables(reduces, side, np.full((n_tags + 1, n_tags + 1, n_tags), -np.log(n_tags)))


def smoothed(counts: Tables, smoothing: float) -> Tables:
    """Log-probabilities, backed off from two tags to the upper one, and from that to none.

    `smoothing`: pseudo-counts that come from the shorter context.
    """
    found = []
    for array in counts:
        longer: Floats = np.full(array.shape[-1], 1 / array.shape[-1])
        for known in (array.sum(axis=(0, 1)), array.sum(axis=0), array):
            longer = normalised(known + smoothing * longer)
        found.append(np.log(longer))
    return Tables(*found)


def count(
    tags: Ints, first: Ints, log_potentials: Floats, tables: Tables, beam: int, counts: Tables
) -> tuple[float, Floats]:
    """Adds the expected counts of packed sentences; log of the beams' probability, and that of each arc."""
    marginals, total = np.zeros_like(log_potentials), np.zeros(1)
    room, work = room_for(beam, np.diff(first).max(initial=0)), 2 * beam * len(tags)
    COUNT_ALL(tags, first, log_potentials, tables, counts, marginals, total, room, work=work)
    return float(total[0]), marginals


def _up_to(text: Packed, log_potentials: Floats, longest: int) -> tuple[Ints, Ints, Floats]:
    """Tags, first words and log-potentials of the sentences of up to `longest` words."""
    lengths = np.diff(text.first)
    chosen = lengths <= longest
    words = np.repeat(chosen, lengths)
    potentials = np.repeat(chosen, lengths * (lengths + 1))
    return text.tags[words], np.cumsum([0, *lengths[chosen]]), log_potentials[potentials]


# ---------------------------------------------------------------------------------------------- the teacher
@dataclass(frozen=True, eq=False)
class RfModel:
    """The learnt model."""

    tables: Tables
    log: tuple[BabyStep, ...]


class RasooliFaili(SymbolTeacher[RfModel]):
    """The teacher: `RasooliFaili(iterations=15).fit(text, prior)`, with the numbers of `RfSettings`.

    Raises:
        ConfigError: a number is unknown or out of its range; settings and numbers exclude each other.
    """

    name = "RF"
    settings: RfSettings

    def __init__(self, settings: RfSettings | None = None, *, seed: int = 1, **numbers: float) -> None:
        super().__init__()
        self.settings = checked(RfSettings, numbers, settings)
        self.seed = checked_seed(seed, "rf")

    def _learnt(self, text: SymbolText) -> RfModel:
        """Learnt from sentences, the shortest first."""
        packed, settings = Packed.of(text.symbols, text.potentials, text.n_symbols), self.settings
        lengths, log_potentials = np.diff(packed.first), np.log(packed.potentials)
        tables, log = random_start(text.n_symbols, self.seed), list[BabyStep]()
        steps, counts = settings.iterations, no_counts(text.n_symbols)
        for step in progress.over(range(1, steps + 1), "baby steps"):
            longest = max(int(np.ceil(lengths.max() * step / steps)), int(lengths.min()), 3)
            part = _up_to(packed, log_potentials, longest)
            log.append(BabyStep(longest, count(*part, tables, settings.beam, counts)[0]))
            tables = smoothed(counts, settings.smoothing)
        return RfModel(tables, tuple(log))

    def marginals(self, sentences: Iterable[Sentence]) -> list[Floats]:
        """Shares of the beam's probability."""
        tables = self.model.tables
        n_tags = len(tables.side) - 1
        text = Packed.of(*self.encoded(sentences), n_tags)
        logs, ignored = np.log(text.potentials), no_counts(n_tags)
        return text.by_sentence(count(text.tags, text.first, logs, tables, self.settings.beam, ignored)[1])


KIND = TeacherKind(RfSettings, lambda settings, seed: RasooliFaili(settings, seed=seed))
