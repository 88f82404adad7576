"""Runs the cells of docs/notebook.ipynb in order and writes what they print below them.

    python docs/notebook.py

Cells may only print. tests/project/test_docs.py runs them again and compares.
"""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).with_name("notebook.ipynb")


def printed(sources: Sequence[str]) -> list[str]:
    """What pieces of code print, run one after the other in one namespace."""
    names: dict[str, Any] = {}
    result = []
    for number, source in enumerate(sources, 1):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(source, f"cell {number}", "exec"), names)
        result.append(out.getvalue())
    return result


def main() -> None:
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, (cell, text) in enumerate(
        zip(cells, printed(["".join(cell["source"]) for cell in cells])), 1
    ):
        cell["execution_count"] = number
        cell["outputs"] = [
            {"name": "stdout", "output_type": "stream", "text": text.splitlines(keepends=True)}
        ]
    NOTEBOOK.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
