"""Names that stand for model files and rule tables: files, folders of runs, and those of the
package."""

from __future__ import annotations

import logging
import os
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from dynet_vdgi.errors import ModelError, UsageError
from dynet_vdgi.rule_tables.rules import RuleSet
from dynet_vdgi.settings import settings
from dynet_vdgi.settings.bundled import bundled, rules_path
from dynet_vdgi.system.messages import count

if TYPE_CHECKING:
    from dynet_vdgi.models.model_file import ModelFile

logger = logging.getLogger("dynet_vdgi")

DEFAULT_RULES = "best"
"""The rule table that `vdgi train` uses by default."""

ENOUGH_FOR_A_STUDENT = 500
"""Sentences of text from which a fast student loses about 1.5 points; docs/results/universal.md."""


def model_path(path: str | Path) -> Path:
    """The model file at a path: the file itself, the model of a run folder, or else one of the
    package's.

    A folder without a model, such as one called `universal`, does not hide the package's model of
    its name.

    Raises: ModelError for another folder without a model.
    """
    path, shipped_models = Path(path), bundled("models")
    if not path.is_dir():
        return path if path.exists() else shipped_models.get(str(path), path)
    model = path / settings.MODEL_NAME
    if not model.exists():
        if str(path) in shipped_models:
            return shipped_models[str(path)]
        raise ModelError(f"{model}: no such model file (is {str(path)!r} the folder of a run?)")
    return model


def fast_path(path: str | Path) -> Path:
    """The file of the fast student in the folder of a run. Raises: UsageError, there is none."""
    student = Path(path) / settings.FAST_NAME
    if not student.is_file():
        raise UsageError(
            f"{path} has no fast student: "
            "vdgi train --train FILE --out RUN keeps one in the folder RUN, "
            "beside a universal parser; other parsers need none"
        )
    return student


def tell_of_student(model: ModelFile) -> None:
    """Warns of a fast student that has seen too little text."""
    n_sentences = model.provenance.trained_on.sentences
    if n_sentences < ENOUGH_FOR_A_STUDENT:
        logger.warning(
            "the fast student has learnt from %s only, so it is several points less accurate: "
            "leave out --fast, or train with text of %d sentences or more",
            count(n_sentences, "sentence"),
            ENOUGH_FOR_A_STUDENT,
        )


def shipped(name: str) -> Path:
    """The model file of this name that comes with the package. Raises: ModelError, there is
    none."""
    try:
        return bundled("models")[name]
    except KeyError:
        raise ModelError(
            f"this installation has no model '{name}'; install dynet_vdgi again"
        ) from None


class NamedRules(NamedTuple):
    """Rules, their name, and the column of their tags."""

    name: str
    rules: RuleSet
    tags: str = "upos"


def rules_named(name: str) -> NamedRules:
    """The rules of a model file or run folder, of a rule file, or of a table that comes with the
    package.

    A folder without a model does not hide the package's table of its name.

    Raises: ConfigError, no rules have this name, or the rule file is malformed; ModelError, the
    folder has no model, the model has no rules, or its file is damaged.
    """
    from dynet_vdgi.models import model_file
    from dynet_vdgi.rule_tables.rules import load_rules  # late: most verbs need only `model_path`

    names_table = name in bundled("rules") and not os.path.exists(
        os.path.join(name, settings.MODEL_NAME)
    )
    if (os.path.isdir(name) and not names_table) or (
        os.path.isfile(name) and zipfile.is_zipfile(name)
    ):
        path = model_path(name)
        model = model_file.load(path)
        if not model.rules.text:
            raise ModelError(f"{path}: a model of recipe {model.settings.recipe} has no rules")
        return NamedRules(name, model.rules, model.settings.data.tags)
    path = rules_path(name)
    return NamedRules(path.name, load_rules(path))
