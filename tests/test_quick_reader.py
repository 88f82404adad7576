"""The quick paths of the CoNLL-U reader give what the slow ones give: sentences, faults and repairs."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from mutating import DEMO, mutated

from dynet_vdgi.data import conllu, conllu_blocks

MALFORMED = Path(__file__).parent / "malformed"


def found(path: Path) -> list[str]:
    """All that is read of a file, and all that is said about it."""
    items = conllu._items(path, "optional", "upos")
    return [str(item) if isinstance(item, Exception) else repr(item) for item in items]


def found_slowly(path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    with monkeypatch.context() as slow:
        slow.setattr(conllu_blocks, "_plain_lines", lambda text: None)
        return found(path)


@pytest.mark.parametrize("path", sorted(MALFORMED.iterdir()), ids=lambda path: path.stem)
def test_quick_and_slow_paths_find_the_same_fault(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert found(path) == found_slowly(path, monkeypatch)


@pytest.mark.parametrize("seed", range(4))
def test_quick_and_slow_paths_agree(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)
    sentences = DEMO.read_text(encoding="utf-8").split("\n\n")[:-1]
    path, n_faulty = tmp_path / "x.conllu", 0
    for _ in range(100):
        text = "\n\n".join(rng.sample(sentences, 4)) + "\n\n"
        path.write_text(mutated(text, rng), encoding="utf-8", newline="")
        quick = found(path)
        assert found_slowly(path, monkeypatch) == quick
        n_faulty += any("Sentence(" not in item for item in quick)
    assert 20 < n_faulty < 100
