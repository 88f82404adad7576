"""The folder of a run: names that stand for files, its log, and the material that it learns from."""

from __future__ import annotations

import json
import logging
import os
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from numpy.typing import NDArray

from dynet_vdgi.data.corpus import Vocabulary
from dynet_vdgi.data.embeddings import Embeddings
from dynet_vdgi.data.files import atomic_writer, writing
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.errors import ModelError, UsageError
from dynet_vdgi.grammar.rules import RuleSet
from dynet_vdgi.grammar.table import Fact
from dynet_vdgi.settings import config
from dynet_vdgi.settings.config import bundled, rules_path
from dynet_vdgi.system.names import count

if TYPE_CHECKING:
    from dynet_vdgi.runs.model_file import ModelFile

logger = logging.getLogger("dynet_vdgi")

DEFAULT_RULES = "best"
"""The rule table that `vdgi train` uses by default."""

ENOUGH_FOR_A_STUDENT = 500
"""Sentences of text from which a fast student loses about 1.5 points; docs/results/universal.md."""


def model_path(path: str | Path) -> Path:
    """The model file at a path: the file itself, the model of a run folder, or else one of the package's.

    Raises: ModelError for a folder without a model.
    """
    path = Path(path)
    if not path.is_dir():
        return path if path.exists() else bundled("models").get(str(path), path)
    model = path / config.MODEL_NAME
    if not model.exists():
        raise ModelError(f"{model}: no such model file (is {str(path)!r} the folder of a run?)")
    return model


def fast_path(path: str | Path) -> Path:
    """The file of the fast student in the folder of a run. Raises: UsageError, there is none."""
    student = Path(path) / config.FAST_NAME
    if not student.is_file():
        raise UsageError(
            f"{path} has no fast student: vdgi train --train FILE --out RUN keeps one in the folder "
            "RUN, beside a universal parser; other parsers need none"
        )
    return student


def tell_of_student(model: ModelFile) -> None:
    """Warns of a fast student that has seen too little text."""
    n_sentences = model.provenance.trained_on.sentences
    if n_sentences < ENOUGH_FOR_A_STUDENT:
        logger.warning(
            "the fast student has learnt from %s only, so it is several points less accurate: leave out "
            "--fast, or train with text of %d sentences or more",
            count(n_sentences, "sentence"),
            ENOUGH_FOR_A_STUDENT,
        )


def shipped(name: str) -> Path:
    """The model file of this name that comes with the package. Raises: ModelError, there is none."""
    try:
        return bundled("models")[name]
    except KeyError:
        raise ModelError(f"this installation has no model '{name}'; install dynet_vdgi again") from None


class NamedRules(NamedTuple):
    """Rules, their name, and the column of their tags."""

    name: str
    rules: RuleSet
    tags: str = "upos"


def rules_named(name: str) -> NamedRules:
    """The rules of a model file or run folder, of a rule file, or of a table that comes with the package.

    Raises: ConfigError, no rules have this name, or the rule file is malformed; ModelError, the folder has no
    model, the model has no rules, or its file is damaged.
    """
    from dynet_vdgi.grammar.rules import load_rules  # late: most verbs need only `model_path`
    from dynet_vdgi.runs import model_file

    if os.path.isdir(name) or (os.path.isfile(name) and zipfile.is_zipfile(name)):
        path = model_path(name)
        model = model_file.load(path)
        if not model.rules.text:
            raise ModelError(f"{path}: a model of recipe {model.settings.recipe} has no rules")
        return NamedRules(name, model.rules, model.settings.data.tags)
    path = rules_path(name)
    return NamedRules(path.name, load_rules(path))


# ----------------------------------------------------------------------------------------------------
# The log of a run: each evaluation as a JSON object in `log.jsonl` and as a row on the console.
COLUMNS = (
    ("phase", "phase", "8", ""),
    ("epoch", "epoch", "6", ".1f"),
    ("update", "update", "7", "d"),
    ("ELBO/word", "elbo_per_word", "10", ".3f"),
    ("entropy", "entropy", "8", ".2f"),
    ("rules/sent", "rules_per_sentence", "11", ".2f"),
    ("|lambda|", "lambda_norm", "9", ".2f"),
    ("gamma ESS", "gamma_ess", "10", ".1f"),
    ("dev DDA", "dev_dda", "8", ".3f"),
    ("sent/CPU-s", "sentences_per_cpu_s", "11", ".0f"),
)
"""The columns of the console table: heading, key of the row, width, format."""


def heading() -> str:
    return " ".join(f"{title:>{width}}" for title, _, width, _ in COLUMNS)


def console_row(row: dict[str, Any]) -> str:
    """One evaluation as a line under `heading`; `-` stands for a missing figure."""
    cells = []
    for _, key, width, form in COLUMNS:
        value = row.get(key)
        cells.append(f"{'-' if value is None else format(value, form):>{width}}")
    return " ".join(cells)


class RunLog:
    """Rows appended to a file, each on disk before training continues; without a file, rows in memory."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self._rows: list[dict[str, Any]] = []

    def restart(self, after_update: int) -> None:
        """Drops the rows after an update, so that a resumed run logs nothing twice."""
        rows = []
        for row in self.rows():
            update = row.get("update", 0)
            if not isinstance(update, (int, float)) or update <= after_update:
                rows.append(row)
        if self.path is None:
            self._rows = rows
            return
        with atomic_writer(str(self.path)) as handle:
            handle.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)

    def append(self, row: dict[str, Any]) -> None:
        """Writes one row. Raises: UsageError, the disk is full or the folder gone."""
        if self.path is None:
            self._rows.append(row)
            return
        kept = "what was saved before is as it was, and --resume goes on from there"
        with writing(self.path, kept), open(self.path, "a", encoding="utf-8") as handle:
            handle.write(json.dumps(row, ensure_ascii=False) + "\n")
            handle.flush()
            os.fsync(handle.fileno())

    def rows(self) -> list[dict[str, Any]]:
        """All complete rows, except a last row that a crash cut short; warns of other damaged rows."""
        if self.path is None:
            return list(self._rows)
        if not self.path.is_file():
            return []
        rows = []
        lines = self.path.read_text(encoding="utf-8", errors="replace").split("\n")
        for number, line in enumerate(lines, 1):
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                if line and number < len(lines):
                    logger.warning("%s:%d: damaged, and left out", self.path, number)
                continue
            if isinstance(row, dict):
                rows.append(row)
        return rows


# ----------------------------------------------------------------------------------------------------
# Training material of every recipe: sentences, trees, vocabulary, rules. No DyNet, no files.
@dataclass(frozen=True)
class Material:
    """`texts`, whose trees are never used, and gold `trees` to learn from; for few-trees heads may be FREE.

    `texts` are sentences by language label, which is empty for a single language; `facts` are known facts
    about these languages. `dev` holds sentences with gold trees, and is empty unless they are used.
    `punctuation` is the relation that punctuation had in `trees`, from which it has been removed.

    For the neural parser: `vectors` are word vectors; `start` are weights to start from instead of random
    ones.
    """

    texts: Mapping[str, list[Sentence]]
    vocabulary: Vocabulary
    rules: RuleSet
    trees: list[Sentence] = field(default_factory=list)
    dev: list[Sentence] = field(default_factory=list)
    facts: Mapping[str, Mapping[str, Fact]] = field(default_factory=dict)
    punctuation: str = "punct"
    vectors: Embeddings | None = None
    start: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    @property
    def sentences(self) -> list[Sentence]:
        """All texts, one after the other."""
        return [sentence for text in self.texts.values() for sentence in text]
