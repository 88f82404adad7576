"""What the accuracy scripts share: the option that names languages, their texts, and the scores of trees."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from dynet_vdgi.data import conllu, protocols, treebank
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.evaluation import attachment

LIMITS = (15, 40)
LIMITS_SHOWN = " / ".join(attachment.length_label(limit) for limit in LIMITS)
Trees = Sequence[tuple[int, ...]]


@dataclass(frozen=True)
class Language:
    """The training text and the sentences to be scored, without punctuation."""

    name: str
    train: list[Sentence]
    test: list[Sentence]


def argument_parser(description: str | None) -> argparse.ArgumentParser:
    """A parser of the command line that knows `--language NAME TRAIN TEST`, once for each."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--language", nargs=3, action="append", required=True, metavar=("NAME", "TRAIN", "TEST")
    )
    return parser


def read(name: str, train: str, test: str) -> Language:
    """One language; training files are joined by commas, and no head in them is read."""
    text = chain.from_iterable(conllu.read(path, heads="ignored") for path in train.split(","))
    train_text = treebank.prepare(text, protocols.STANDARD).sentences
    gold = treebank.prepare(conllu.read(test, heads="required"), protocols.STANDARD, max_len=max(LIMITS))
    return Language(name, train_text, gold.sentences)


def dda(sentences: Sequence[Sentence], trees: Trees) -> tuple[float, ...]:
    """In per cent, for each length limit."""
    by_length = attachment.evaluate(sentences, trees, max_lens=LIMITS, by=()).by_length
    return tuple(100 * by_length[limit].dda for limit in LIMITS)
