"""A made-up treebank and settings so small that a training run takes a fraction of a second."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from dynet_vdgi import config
from dynet_vdgi.config import Settings
from dynet_vdgi.data.conllu import read
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.data.vocabulary import build_vocabulary
from dynet_vdgi.grammar.rules import load_rules
from dynet_vdgi.learning.training import Trainer, TrainingData

PATTERNS: tuple[tuple[str, tuple[int, ...]], ...] = (
    ("DET NOUN VERB PUNCT", (2, 3, 0, 3)),
    ("VERB DET NOUN ADJ", (0, 3, 1, 3)),
    ("NOUN AUX VERB ADV NOUN NUM PUNCT", (3, 3, 0, 3, 3, 5, 3)),
    ("NOUN ADJ VERB PUNCT DET NOUN", (3, 1, 0, 6, 6, 3)),
    ("VERB NOUN ADJ ADV PUNCT", (0, 1, 2, 1, 1)),
    ("DET ADJ NOUN VERB NOUN DET", (3, 3, 4, 0, 4, 5)),
)
"""Tags and heads: every arc but those of PUNCT is one of the rules `ud`, and heads stand on both sides."""

SMALL: Mapping[str, Mapping[str, Any]] = {
    "model": {"hidden_dim": 6, "tag_dim": 6},
    "train": {"updates": 4, "samples": 3, "batch_size": 4, "evaluate_every": 2},
}
"""Settings of the smallest runs, as `config.merge` takes them."""

SMALL_OPTIONS = [
    option
    for section, values in SMALL.items()
    for name, value in values.items()
    for option in ("--set", f"{section}.{name}={value}")
]
"""The same for the command line."""


def block(number: int, tags: Sequence[str], heads: Sequence[int] | None) -> str:
    """One sentence as CoNLL-U; without heads, HEAD and DEPREL are `_`."""
    lines = [f"# sent_id = {number}"]
    for word, tag in enumerate(tags, 1):
        arc = f"{heads[word - 1]}\t{'dep' if heads[word - 1] else 'root'}" if heads else "_\t_"
        lines.append(f"{word}\t{tag.lower()}{number % 3}\t_\t{tag}\t_\t_\t{arc}\t_\t_")
    return "\n".join(lines) + "\n\n"


def treebank(n_sentences: int = 12, *, heads: bool = True) -> str:
    """CoNLL-U text of so many sentences, the patterns one after the other."""
    patterns = islice(cycle(PATTERNS), n_sentences)
    return "".join(
        block(number, tags.split(), tree if heads else None) for number, (tags, tree) in enumerate(patterns)
    )


def write(path: Path, n_sentences: int = 12, *, heads: bool = True) -> Path:
    """`treebank` in a file."""
    path.write_text(treebank(n_sentences, heads=heads), encoding="utf-8")
    return path


def settings(changes: Mapping[str, Mapping[str, Any]] | None = None) -> Settings:
    """Small settings with some changed."""
    return config.merge(config.merge(Settings(), SMALL), changes or {})


def data(folder: Path, n_sentences: int = 12, *, dev: bool = False) -> TrainingData:
    """What a trainer needs, punctuation kept."""
    sentences: list[Sentence] = list(read(write(folder / "tiny.conllu", n_sentences)))
    vocabulary = build_vocabulary(sentences, lexicalised=False)
    return TrainingData(
        sentences, sentences[:6] if dev else [], vocabulary, load_rules(config.rules_path("ud"))
    )


def trainer(
    folder: Path,
    changes: Mapping[str, Mapping[str, Any]] | None = None,
    *,
    n_sentences: int = 12,
    dev: bool = False,
) -> Trainer:
    """A trainer whose run is in `folder`."""
    folder.mkdir(exist_ok=True)
    return Trainer(settings(changes), data(folder, n_sentences, dev=dev), {"data": []}, folder)
