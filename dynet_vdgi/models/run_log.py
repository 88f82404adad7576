"""The log of a run: each evaluation as a JSON object in `log.jsonl` and as a row on the console."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path
from typing import Any

from dynet_vdgi.system.files import atomic_writer, writing

logger = logging.getLogger("dynet_vdgi")

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
    """Rows appended to a file, each on disk before training continues; without a file, rows in
    memory."""

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
        remedy = "what was saved before is as it was, and --resume goes on from there"
        with writing(self.path, remedy), open(self.path, "a", encoding="utf-8") as handle:
            handle.write(json.dumps(row, ensure_ascii=False) + "\n")
            handle.flush()
            os.fsync(handle.fileno())

    def rows(self) -> list[dict[str, Any]]:
        """All complete rows, except a last row that a crash cut short; warns of other damaged
        rows."""
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
