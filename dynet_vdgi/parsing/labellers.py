"""The labeller of a model: the universal parser's own, or a table with what the model has learnt about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dynet_vdgi.labels.label_table import DEFAULT, LabelTable, load
from dynet_vdgi.parsing.engines import Engine, universal
from dynet_vdgi.parsing.relations import ModelLabeller
from dynet_vdgi.runs.model_file import ModelFile

if TYPE_CHECKING:  # other models need none of it
    from dynet_vdgi.parsing.universal_labeller import UniversalLabeller

    AnyLabeller = ModelLabeller | UniversalLabeller


def labeller_of(model: ModelFile, engine: Engine, table: LabelTable | None = None) -> AnyLabeller:
    """The labeller of a model's trees: of a universal parser its own, unless another table than the default
    one is named."""
    own = universal(engine)
    if own is not None and (table is None or table == load(DEFAULT)):
        from dynet_vdgi.parsing.universal_labeller import UniversalLabeller

        return UniversalLabeller(model, own)
    return ModelLabeller(model, load(DEFAULT) if table is None else table)
