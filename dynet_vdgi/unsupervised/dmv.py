"""The exact teacher: EM for the dependency model with valence under a prior, from tags to trees.

From two sentences NOUN VERB and one of a VERB alone, EM learns that the root is a verb, and its
log-likelihood rises:

>>> texts = [[0, 1], [0, 1], [1]]  # NOUN is 0, VERB is 1
>>> model = fit(texts, [np.zeros((len(tags) + 1, len(tags) + 1)) for tags in texts], n_tags=2)
>>> bool(model.root[1] > 0.6), round(model.log[0].log_likelihood, 2)
(True, -10.4)
>>> all(one.penalised <= other.penalised + 1e-9 for one, other in zip(model.log, model.log[1:20]))
True
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from dynet_vdgi.conllu.sentence import Sentence, Tree
from dynet_vdgi.inference import eisner
from dynet_vdgi.rule_tables.views import View
from dynet_vdgi.settings.settings import DmvSettings
from dynet_vdgi.system import progress
from dynet_vdgi.system.array_types import Floats
from dynet_vdgi.unsupervised.dmv_model import (
    AT_ONCE,
    Counts,
    DmvModel,
    EmIteration,
    Packed,
    normalised,
)
from dynet_vdgi.unsupervised.symbol_split import refined, split
from dynet_vdgi.unsupervised.teacher import SymbolTeacher, SymbolText, is_voter, symbol_ids


def fit(
    tags: Sequence[ArrayLike],
    potentials: Sequence[ArrayLike],
    n_tags: int,
    settings: DmvSettings | None = None,
) -> DmvModel:
    """The model that EM finds.

    Args:
        tags: tag ids (n,) of each sentence, below T.
        potentials: log-potentials (n + 1, n + 1) of each sentence's arcs, by head and dependent,
            ROOT at 0, as `Prior.potentials` makes them; column 0 and the diagonal are ignored,
            -inf forbids an arc.
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
        for done in progress.over(range(iterations), f"iterations of EM, stage {stage}"):
            counts, log_likelihood = model.expected(text, iterations - done - 1)
            log.append(
                EmIteration(stage, log_likelihood, log_likelihood + _penalty(model, pseudo, stage))
            )
            model = _maximised_model(counts, pseudo, stage)
    return DmvModel(model.root, model.choose, model.stop, tuple(log))


def _pseudo_counts(model: DmvModel, stage: int, settings: DmvSettings) -> Counts:
    """Pseudo-counts of a stage that begins with this model; `stop` has them for both outcomes."""
    arrays = model.root, model.choose, model.stop
    plain = Counts(*(np.full_like(array, settings.smoothing) for array in arrays))
    return plain if stage == 1 else plain._replace(choose=settings.backoff * model.choose)


def _penalty(model: DmvModel, pseudo: Counts, stage: int) -> float:
    """Sum of pseudo-counts * log parameter over the free parameters of the stage, in nats."""
    choose = pseudo.choose * np.log(model.choose)  # (T, 2, 2, T)
    choose = choose[:, :, 0] if stage == 1 else choose  # the two valences share one distribution
    stop = pseudo.stop * (np.log(model.stop) + np.log1p(-model.stop))
    return float((pseudo.root * np.log(model.root)).sum() + choose.sum() + stop.sum())


def _maximised_model(counts: Counts, pseudo: Counts, stage: int) -> DmvModel:
    """The M-step."""
    going_on = counts.choose.sum(axis=3)
    stop = (counts.stop + pseudo.stop) / (counts.stop + going_on + 2 * pseudo.stop)
    choose = counts.choose
    if stage == 1:
        choose = np.repeat(choose.sum(axis=2, keepdims=True), 2, axis=2)
    return DmvModel(normalised(counts.root + pseudo.root), normalised(choose + pseudo.choose), stop)


class Dmv(SymbolTeacher[DmvModel]):
    """The exact teacher: `Dmv(iterations=20).fit(text, prior)`, with the numbers of
    `DmvSettings`."""

    name = "DMV"
    kind = DmvSettings
    settings: DmvSettings

    def _learnt(self, text: SymbolText) -> DmvModel:
        """EM, and a last stage with words as symbols, if the prior's table asks for it."""
        model, words = (
            fit(text.symbols, text.potentials, text.n_symbols, self.settings),
            text.prior.words,
        )
        if words is None:
            return model
        parents_by_symbol = split(text.names, text.finer, int(words.number("least", 15)))
        n, ids = len(self.symbols), {name: k for k, name in enumerate(self.symbols)}
        # The unknown symbol comes last in both lists.
        parents = np.array([*range(n), *(ids[parent] for parent in parents_by_symbol.values()), n])
        self.symbols = (*self.symbols, *parents_by_symbol)
        finer = Packed.of(symbol_ids(text.finer, self.symbols), text.potentials, len(parents))
        iterations, backoff = int(words.number("iterations", 10)), words.number("backoff", 100.0)
        return refined(model, parents, finer, iterations, backoff)

    def _names(self, view: View) -> list[str]:
        return self.prior.split_symbols(view)

    def heads(self, sentences: Iterable[Sentence]) -> list[Tree]:
        return self.heads_and_votes(list(sentences), 0)[0]

    def heads_and_votes(
        self, sentences: Sequence[Sentence], n_votes: int
    ) -> tuple[list[Tree], list[tuple[Sentence, Floats]]]:
        heads: list[Tree] = []
        votes: list[tuple[Sentence, Floats]] = []
        for start in range(0, len(sentences), AT_ONCE):
            part = sentences[start : start + AT_ONCE]
            marginals = self.marginals(part)
            heads += eisner.expected_best_of_all(marginals)
            votes += [pair for pair in zip(part, marginals) if is_voter(pair[0])]
            del votes[n_votes:]
        return heads, votes

    def marginals(self, sentences: Iterable[Sentence]) -> list[Floats]:
        return self.model.all_marginals(Packed.of(*self.encoded(sentences), len(self.model.root)))
