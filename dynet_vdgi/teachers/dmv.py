"""Dependency model with valence, learnt from tags by EM under a prior: the exact teacher.

Klein & Manning (2004). A head of tag h makes its children outwards on each side; before each it decides
whether to stop, given h, the side and whether it has a child there already, and then chooses the child's tag:

    p(tree, tags) = root(tag of the root) * product over words and sides of
                    stop(h, side, has children) * product over children of (1 - stop) * choose(h, side, child)

The arc potentials of a prior multiply every tree's probability, in learning (as in Noji, Miyao & Johnson
2016, "Using left-corner parsing to encode universal structural constraints in grammar induction") and in
parsing. EM starts uniform, so nothing is random. It has two stages. In the first, `choose` is as above; in
the second it also depends on whether there are children already, and has a Dirichlet prior around the first
stage's distribution. Within a stage EM never lowers the penalised log-likelihood

    sum over sentences of log (sum over trees of p(tree, tags) * potentials of its arcs)
      + sum over parameters of (pseudo-counts * log parameter)

where the pseudo-counts are `smoothing` for every parameter, except for `choose` in the second stage: there
they are `backoff` times the first stage's distribution.

Letters: n words, T tags. Heads 1..n, 0 is ROOT.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import repeat

import numpy as np
from numpy.typing import ArrayLike

from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.grammar import chart
from dynet_vdgi.grammar.prior import Prior
from dynet_vdgi.grammar.views import View
from dynet_vdgi.settings.config_checks import checked
from dynet_vdgi.system import progress, side_by_side
from dynet_vdgi.system.arrays import Floats
from dynet_vdgi.teachers.common import Heads, SymbolTeacher, SymbolText, is_voter, symbol_ids
from dynet_vdgi.teachers.dmv_model import Counts, DmvModel, EmIteration, Packed, normalised
from dynet_vdgi.teachers.dmv_settings import DmvSettings
from dynet_vdgi.teachers.refinement import refined, split


# ---------------------------------------------------------------------------------------------- learning
def fit(
    tags: Sequence[ArrayLike],
    potentials: Sequence[ArrayLike],
    n_tags: int,
    settings: DmvSettings | None = None,
) -> DmvModel:
    """The model that EM finds.

    Args:
        tags: tag ids (n,) of each sentence, below T.
        potentials: log-potentials (n + 1, n + 1) of each sentence's arcs, by head and dependent, ROOT at 0,
            as `Prior.potentials` makes them; column 0 and the diagonal are ignored, -inf forbids an arc.
        n_tags: T.

    Raises: ValueError, there is no sentence, or the arguments do not fit together.
    """
    settings = settings or DmvSettings()
    text = Packed.of(tags, potentials, n_tags)
    if not len(text.tags):
        raise ValueError("no sentences to learn from")
    model, log = DmvModel.uniform(n_tags), list[EmIteration]()
    for stage, iterations in ((1, settings.iterations), (2, settings.valence_iterations)):
        pseudo = _pseudo_counts(model, stage, settings)
        for _ in progress.over(range(iterations), f"iterations of EM, stage {stage}"):
            counts, log_likelihood = model.expected(text, iterations)
            log.append(EmIteration(stage, log_likelihood, log_likelihood + _penalty(model, pseudo, stage)))
            model = _maximised(counts, pseudo, stage)
    return DmvModel(model.root, model.choose, model.stop, tuple(log))


def _pseudo_counts(model: DmvModel, stage: int, settings: DmvSettings) -> Counts:
    """Pseudo-counts of a stage that begins with this model; `stop` has them for both outcomes."""
    plain = Counts(
        *(np.full_like(array, settings.smoothing) for array in (model.root, model.choose, model.stop))
    )
    return plain if stage == 1 else plain._replace(choose=settings.backoff * model.choose)


def _penalty(model: DmvModel, pseudo: Counts, stage: int) -> float:
    """Sum of pseudo-counts * log parameter over the free parameters of the stage, in nats."""
    choose = pseudo.choose * np.log(model.choose)  # (T, 2, 2, T)
    choose = choose[:, :, 0] if stage == 1 else choose  # the two valences share one distribution
    stop = pseudo.stop * (np.log(model.stop) + np.log1p(-model.stop))
    return float((pseudo.root * np.log(model.root)).sum() + choose.sum() + stop.sum())


def _maximised(counts: Counts, pseudo: Counts, stage: int) -> DmvModel:
    """The M-step."""
    going_on = counts.choose.sum(axis=3)
    stop = (counts.stop + pseudo.stop) / (counts.stop + going_on + 2 * pseudo.stop)
    choose = counts.choose
    if stage == 1:
        choose = np.repeat(choose.sum(axis=2, keepdims=True), 2, axis=2)
    return DmvModel(normalised(counts.root + pseudo.root), normalised(choose + pseudo.choose), stop)


# ---------------------------------------------------------------------------------------------- the teacher
class Dmv(SymbolTeacher[DmvModel]):
    """The exact teacher: `Dmv(iterations=20).fit(text, prior)`, with the numbers of `DmvSettings`.

    Raises:
        ConfigError: a number is unknown or out of its range; settings and numbers exclude each other.
    """

    name = "DMV"
    settings: DmvSettings

    def __init__(self, settings: DmvSettings | None = None, **numbers: float) -> None:
        super().__init__()
        self.settings = checked(DmvSettings, numbers, settings)

    def _learnt(self, text: SymbolText) -> DmvModel:
        return fit(text.symbols, text.potentials, text.n_symbols, self.settings)

    def _refined(
        self,
        model: DmvModel,
        symbols: tuple[str, ...],
        rows: list[list[str]],
        finer: list[list[str]],
        potentials: list[Floats],
        prior: Prior,
    ) -> tuple[DmvModel, tuple[str, ...]]:
        """A last stage with words as symbols, if the prior's table asks for it."""
        words = prior.words
        if words is None:
            return model, symbols
        found = split(rows, finer, int(words.number("least", 15)))
        every = (*symbols, *found)
        ids = {name: k for k, name in enumerate(symbols)}
        # The unknown symbol comes last in both lists.
        parents = np.array([*range(len(symbols)), *(ids[parent] for parent in found.values()), len(symbols)])
        text = Packed.of(symbol_ids(finer, every), potentials, len(every) + 1)
        iterations, backoff = int(words.number("iterations", 10)), words.number("backoff", 100.0)
        return refined(model, parents, text, iterations, backoff), every

    def _told(self, view: View) -> list[str]:
        return self.prior.split_symbols(view)

    def heads(self, sentences: Iterable[Sentence]) -> list[Heads]:
        return self.heads_and_votes(list(sentences), 0)[0]

    def heads_and_votes(
        self, sentences: Sequence[Sentence], n_votes: int
    ) -> tuple[list[Heads], list[tuple[Sentence, Floats]]]:
        heads: list[Heads] = []
        votes: list[tuple[Sentence, Floats]] = []
        parts = side_by_side.parts_of(sentences)
        n_voters = np.cumsum([0, *(sum(map(is_voter, part)) for part in parts)]).clip(max=n_votes)
        calls = zip(repeat(self), parts, np.diff(n_voters).tolist())
        for part, (trees, said) in zip(parts, side_by_side.by_processes(_heads_and_votes, calls)):
            heads += trees
            votes += zip(filter(is_voter, part), said)
        return heads, votes

    def marginals(self, sentences: Iterable[Sentence]) -> list[Floats]:
        return self.model.all_marginals(Packed.of(*self.encoded(sentences), len(self.model.root)))


def _heads_and_votes(
    teacher: Dmv, sentences: Sequence[Sentence], n_votes: int
) -> tuple[list[Heads], list[Floats]]:
    """Trees of sentences, and marginals of the first ones that are voters."""
    marginals = teacher.marginals(sentences)
    said = [matrix for sentence, matrix in zip(sentences, marginals) if is_voter(sentence)]
    return chart.expected_best_of_all(marginals), said[:n_votes]
