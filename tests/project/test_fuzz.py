"""Changed files are read or refused in the program's own words; `run/fuzz.sh` tries for longer."""

from __future__ import annotations

import logging
import random
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from fuzz import mutations, targets

from dynet_vdgi.errors import VdgiError

KEPT = sorted((Path(__file__).parents[1] / "fuzz" / "kept").iterdir())

TIMES = 4


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("kind", targets.TARGETS)
def test_changed_files_are_read_or_refused(
    kind: str, tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(targets, "MODELS", [model.read_bytes()])
    found = [
        (number, repr(error)) for number, _, error in targets.failures(kind, tmp_path, 1, TIMES)
    ]
    assert found == []


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.name)
def test_files_that_made_it_fail_once(path: Path, tmp_path: Path) -> None:
    with suppress(VdgiError):  # some readers write beside the file
        targets.TARGETS[path.name.partition("-")[0]].read(Path(shutil.copy(path, tmp_path)))


def test_the_same_seed_changes_files_in_the_same_way() -> None:
    content = b"1\ta\n2\tb\n" * 9
    changed = [mutations.text(content, random.Random(seed)) for seed in (*range(50), *range(50))]
    assert changed[:50] == changed[50:]
    assert len(set(changed)) > 30
