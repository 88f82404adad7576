"""Small changes to CoNLL-U, which may be faults."""

from __future__ import annotations

import random
from pathlib import Path

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
