"""Small changes to CoNLL-U, which may be faults."""

from __future__ import annotations

import random
from pathlib import Path

DEMO = Path(__file__).parents[1] / "resources" / "demo" / "demo-ud-dev.conllu"
ODD = [
    "\t",
    "\n",
    "\n\n",
    " ",
    "\r",
    "_",
    "0",
    "1",
    "-",
    ".",
    "#",
    "|",
    "=",
    "99",
    "\u00a0",
    "\0",
    "x",
]
OTHERS = "1-2\tab\t_\t_\t_\t_\t_\t_\t_\t_\n", "3.1\te\te\tVERB\t_\t_\t_\t_\t0:x\t_\n"
SPACES = [" ", "\u00a0", "\u3000", "\u2003", "\u1680", "\x85", "\x1f", "a b", "é", "\u2026"]
MISC = ["HeadConf=0.10|A=b", "A=b", "_|A=b", "A=_"]


def changed(
    rng: random.Random,
    sentences: list[str],
    count: int = 3,
    often: float = 0.5,
    spaced: float = 0.5,
) -> str:
    """So many of the sentences, with a change that may be a fault, or none, or odd.

    `often`, `spaced`: how probable small changes are, and a letter or space put in.
    """
    text = "\n\n".join(rng.sample(sentences, count)) + "\n\n"
    if rng.random() < often:
        text = mutated(text, rng)
    if rng.random() < spaced:
        place = rng.randrange(len(text))
        text = text[:place] + rng.choice(SPACES) + text[place:]
    if rng.random() < 0.2:
        text = text.replace("\t_\n", f"\t{rng.choice(MISC)}\n", rng.randint(1, 5))
    return text


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
