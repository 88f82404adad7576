"""A last stage of EM, in which symbols are split by words: closed classes by form, nouns by
adposition.

`rule_tables.parts.kinds` defines the words that a table's line `words` asks for. Each split symbol
starts as its parent, times its share of the parent's words, and is kept near it by `backoff`
pseudo-counts for each distribution, a fifth of that for stopping.

Letters: T symbols before, S after the split; ids below T are the same in both.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dynet_vdgi.system.array_types import Ints
from dynet_vdgi.unsupervised.dmv_model import Counts, DmvModel, Packed, normalised

FOR_STOPPING = 0.2
"""Pseudo-counts of `stop` relative to those of the other distributions."""

SMOOTHING = 0.1


def refined(
    model: DmvModel, parents: Ints, text: Packed, iterations: int, backoff: float
) -> DmvModel:
    """A model of S symbols from one of T.

    parents (S,): the symbol below T that each symbol was split from, itself if below T; text: tags
    below S.
    """
    seen = np.bincount(text.tags, minlength=len(parents)) + 0.5
    share = seen / np.bincount(parents, weights=seen)[parents]
    root = normalised(model.root[parents] * share)
    choose = normalised(model.choose[parents][:, :, :, parents] * share)
    refined_model = DmvModel(root, choose, model.stop[parents], model.log)
    pseudo = Counts(backoff * root, backoff * choose, FOR_STOPPING * backoff * refined_model.stop)
    total = FOR_STOPPING * backoff
    for _ in range(iterations):
        counts, _ = refined_model.expected(text)
        going_on = counts.choose.sum(axis=3)
        stop = (counts.stop + pseudo.stop + SMOOTHING) / (
            counts.stop + going_on + total + 2 * SMOOTHING
        )
        refined_model = DmvModel(
            normalised(counts.root + pseudo.root),
            normalised(counts.choose + pseudo.choose),
            stop,
            model.log,
        )
    return refined_model


def split(
    rows: Sequence[Sequence[str]], parts: Sequence[Sequence[str]], least: int
) -> dict[str, str]:
    """The split symbols that are frequent enough, sorted, each with the symbol it was split from.

    rows and parts: the symbols of each sentence's words, and these symbols split further.

    >>> rows = [["ADP", "NOUN"], ["ADP", "NOUN"]]
    >>> split(rows, [["ADP=in", "NOUN"], ["ADP=in", "NOUN=in"]], least=2)
    {'ADP=in': 'ADP'}
    """
    times: dict[str, int] = {}
    parent: dict[str, str] = {}
    for symbols, finer in zip(rows, parts):
        for symbol, part in zip(symbols, finer):
            if part != symbol:
                times[part] = times.get(part, 0) + 1
                parent[part] = symbol
    return {part: parent[part] for part in sorted(times) if times[part] >= least}
