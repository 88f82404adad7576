"""Shared by the accuracy scripts: the options that name languages, their texts, and the scores of trees."""

from __future__ import annotations

import argparse
import csv
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np

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


def file_list_parser(description: str | None) -> argparse.ArgumentParser:
    """A parser of the command line with `--list` and the options that choose files from the list."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--list", type=Path, required=True, help="treebanks: set,language,text,test")
    parser.add_argument("--set", help="only those of this set of the list")
    parser.add_argument("--languages", nargs="+", metavar="CODE", help="only these")
    parser.add_argument("--data", type=Path, default=Path("."), help="folder that the list's files are in")
    parser.add_argument(
        "--scored",
        choices=("text", "dev", "test"),
        default="text",
        help="whose gold trees: of the text, of the DEV file beside the test file, of the test file",
    )
    return parser


def list_parser(description: str | None) -> argparse.ArgumentParser:
    """Arguments that name a list of files, and limit the amount of data used."""
    parser = file_list_parser(description)
    parser.add_argument("--max-text", type=int, default=450, help="EM on so many short sentences")
    parser.add_argument("--max-test", type=int, default=350, help="score on so many, drawn at random")
    parser.add_argument("--max-len", type=int, default=15, help="longest sentence for EM, in words")
    return parser


@dataclass(frozen=True)
class Listed:
    """The files of one treebank of a list: its text, and the file to score."""

    name: str
    text: tuple[Path, ...]
    scored: tuple[Path, ...]


def listed(arguments: argparse.Namespace) -> list[Listed]:
    """The treebanks that the options of `file_list_parser` name."""
    result = []
    with arguments.list.open(newline="") as handle:
        for row in csv.DictReader(handle):
            if arguments.set in (None, row["set"]) and row["language"] in (
                arguments.languages or [row["language"]]
            ):
                text = tuple(arguments.data / name for name in row["text"].split())
                test = arguments.data / row["test"]
                dev = test.with_name(test.name.replace("-ud-test", "-ud-dev"))
                scored = {"text": text, "dev": (dev,), "test": (test,)}[arguments.scored]
                result.append(Listed(row["language"], text, scored))
    return result


def drawn(sentences: Sequence[Sentence], number: int) -> list[Sentence]:
    """This many of the sentences with trees and within the length limit, drawn at random, in their order."""
    found = [s for s in sentences if s.heads and len(s) <= max(LIMITS)]
    order = np.random.default_rng(0).permutation(len(found))[:number]
    return [found[k] for k in sorted(order)]


def read(name: str, train: str, test: str) -> Language:
    """One language; training files are joined by commas, and their heads are not read."""
    text = chain.from_iterable(conllu.read(path, heads="ignored") for path in train.split(","))
    train_text = treebank.prepare(text, protocols.STANDARD).sentences
    gold = treebank.prepare(conllu.read(test, heads="required"), protocols.STANDARD, max_len=max(LIMITS))
    return Language(name, train_text, gold.sentences)


def dda(sentences: Sequence[Sentence], trees: Trees) -> tuple[float, ...]:
    """DDA in per cent, for each length limit."""
    by_length = attachment.evaluate(sentences, trees, max_lens=LIMITS, by=()).by_length
    return tuple(100 * by_length[limit].dda for limit in LIMITS)
