"""Relations, as a model file keeps them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.relations.label_table import load as load_labels
from dynet_vdgi.relations.labeller import Labeller, LogP
from dynet_vdgi.rule_tables.measures import VerbOrder
from dynet_vdgi.rule_tables.prior import Prior


def label_arrays(
    trees: Sequence[Sentence],
    prior: Prior | None,
    punctuation: str = "punct",
    log_p: LogP | None = None,
) -> dict[str, NDArray[Any]]:
    """What a model file stores about the relations of trees; punctuation has a single relation
    there."""
    verb_order = prior.text.verb_order if prior is not None else VerbOrder.OTHER
    labeller = Labeller(load_labels(), log_p=log_p)
    return labeller.fit(trees, verb_order=verb_order, punctuation=punctuation).arrays()
