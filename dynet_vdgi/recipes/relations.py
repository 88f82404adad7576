"""What a model file keeps about relations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.grammar.prior import Prior
from dynet_vdgi.labels.label_table import load as load_labels
from dynet_vdgi.labels.labeller import Labeller


def label_arrays(trees: Sequence[Sentence], prior: Prior | None) -> dict[str, NDArray[Any]]:
    """What is learnt about relations from trees, for a model file."""
    verb_final = prior is not None and prior.statistics.is_verb_final
    return Labeller(load_labels()).fit(trees, verb_final=verb_final).arrays()
