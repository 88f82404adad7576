"""Shared by all tests: the hypothesis profile and the place of the treebanks that cannot be distributed."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("ci", max_examples=50, deadline=None, derandomize=True)
settings.load_profile("ci")


def _import_dynet() -> None:
    """DyNet's library sets the processor to flush tiny floats to zero in the thread that loads it.

    Hypothesis refuses to make floats in such a thread, so another one loads it.
    """
    thread = threading.Thread(target=lambda: __import__("dynet_vdgi.model.layers"))
    thread.start()
    thread.join()


_import_dynet()


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder with ud14, ud14_train_len15 and ud_extra: VDGI_DATA, or ../shared/data beside the checkout.

    Tests that need it are skipped where it is missing; with VDGI_REQUIRE_DATA=1 they fail instead.
    """
    given = os.environ.get("VDGI_DATA")
    folder = Path(given) if given else Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        reason = f"no treebanks in {folder} (set VDGI_DATA)"
        if os.environ.get("VDGI_REQUIRE_DATA") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    return folder


@pytest.fixture(scope="session")
def treebanks(data_dir: Path) -> list[Path]:
    """Every CoNLL-U file of the three treebank folders."""
    folders = ("ud14", "ud14_train_len15", "ud_extra")
    paths = [path for folder in folders for path in sorted((data_dir / folder).rglob("*.conllu"))]
    assert paths, f"no treebanks in {data_dir}"
    return paths
