"""The labeller of a model: a table, with what the universal parser and the model's trees know beside it."""

from __future__ import annotations

from dynet_vdgi.labels.label_table import DEFAULT, LabelTable, load
from dynet_vdgi.labels.labeller import SHARE
from dynet_vdgi.parsing.engines import Engine, universal
from dynet_vdgi.parsing.relations import ModelLabeller
from dynet_vdgi.runs.model_file import ModelFile


def labeller_of(model: ModelFile, engine: Engine, table: LabelTable | None = None) -> ModelLabeller:
    """The labeller of a model's trees. Another table than the default one replaces what a universal parser
    knows, unless the model has learnt beside that. Raises: ModelError, see `ModelLabeller`."""
    default = load(DEFAULT)
    own, log_p = universal(engine), None
    if own is not None and table in (None, default):
        log_p = own.log_p
    elif SHARE in model.parameters:
        log_p = getattr(engine, "log_p", None)
    return ModelLabeller(model, default if table is None else table, log_p)
