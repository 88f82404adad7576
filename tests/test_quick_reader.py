"""The quick paths of the CoNLL-U reader give what the slow ones give: sentences, faults and repairs."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from dynet_vdgi.data import conllu

DEMO = Path(__file__).parents[1] / "resources" / "demo" / "demo-ud-dev.conllu"
ODD = ["\t", "\n", "\n\n", " ", "\r", "_", "0", "1", "-", ".", "#", "|", "=", "99", "\u00a0", "\0", "x"]
OTHERS = "1-2\tab\t_\t_\t_\t_\t_\t_\t_\t_\n", "3.1\te\te\tVERB\t_\t_\t_\t_\t0:x\t_\n"


def mutated(text: str, rng: random.Random) -> str:
    """The text after one to three small changes, or with a line that is no word."""
    for _ in range(rng.randint(1, 3)):
        place = rng.randrange(len(text))
        cut = rng.choice([0, 0, 1, 3])
        text = text[:place] + rng.choice(ODD) + text[place + cut :]
    if rng.random() < 0.3:
        lines = text.splitlines(keepends=True)
        lines.insert(rng.randrange(len(lines)), rng.choice(OTHERS))
        text = "".join(lines)
    return text


def found(path: Path) -> list[str]:
    """All that is read of a file, and all that is said about it."""
    items = conllu._items(path, "optional", "upos")
    return [str(item) if isinstance(item, Exception) else repr(item) for item in items]


@pytest.mark.parametrize("seed", range(4))
def test_quick_and_slow_paths_agree(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)
    sentences = DEMO.read_text(encoding="utf-8").split("\n\n")[:-1]
    path, n_faulty = tmp_path / "x.conllu", 0
    for _ in range(100):
        text = "\n\n".join(rng.sample(sentences, 4)) + "\n\n"
        path.write_text(mutated(text, rng), encoding="utf-8", newline="")
        quick = found(path)
        with monkeypatch.context() as slow:
            slow.setattr(conllu, "_has_odd_lines", lambda text: True)
            slow.setattr(conllu, "_columns_at_once", lambda *arguments: None)
            assert found(path) == quick
        n_faulty += any("Sentence(" not in item for item in quick)
    assert 20 < n_faulty < 100
