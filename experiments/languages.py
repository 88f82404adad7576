"""Shared by the accuracy scripts: options that name languages, their sentences, and scores of
trees."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import measuring
import numpy as np
from numpy.typing import ArrayLike

from dynet_vdgi.conllu import filtering, protocols, reading
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.evaluation import attachment

LISTS = Path(__file__).parent / "lists"
LIMITS = (15, 40)
LIMITS_SHOWN = " / ".join(attachment.length_label(limit) for limit in LIMITS)


def file_list_parser(description: str | None) -> argparse.ArgumentParser:
    """A parser of the command line with `--list` and the options that choose files from the
    list."""
    parser = measuring.argument_parser(description)
    parser.add_argument(
        "--list", type=Path, default=LISTS / "ud2.csv", help="treebanks: set,language,text,test"
    )
    parser.add_argument("--set", help="only those of this set of the list")
    parser.add_argument("--languages", nargs="+", metavar="CODE", help="only these")
    parser.add_argument(
        "--data", type=Path, default=Path("."), help="folder that the list's files are in"
    )
    parser.add_argument(
        "--scored",
        choices=("text", "dev", "test"),
        default="text",
        help="whose gold trees: of the text, of the DEV file beside the test file, "
        "of the test file",
    )
    return parser


@dataclass(frozen=True)
class Listed:
    """The files of one treebank of a list: its text, and the file to score."""

    name: str
    text: tuple[Path, ...]
    scored: tuple[Path, ...]
    set: str


def listed(arguments: argparse.Namespace) -> list[Listed]:
    """The treebanks that the options of `file_list_parser` name."""
    result = []
    for row in measuring.csv_rows(arguments.list):
        if arguments.set not in (None, row["set"]):
            continue
        if row["language"] in (arguments.languages or [row["language"]]):
            text = tuple(arguments.data / name for name in row["text"].split())
            test = arguments.data / row["test"]
            dev = test.with_name(test.name.replace("-ud-test", "-ud-dev"))
            scored = {"text": text, "dev": (dev,), "test": (test,)}[arguments.scored]
            result.append(Listed(row["language"], text, scored, row["set"]))
    return result


def by_language(files: Iterable[str]) -> dict[str, str]:
    """From FILE=CODE,CODE,... to the file of each code."""
    return {
        code: name
        for name, _, codes in (each.partition("=") for each in files)
        for code in codes.split(",")
    }


def read(
    paths: Iterable[Path], heads: reading.HeadPolicy = "optional", max_len: int | None = None
) -> list[Sentence]:
    """The sentences of files, without punctuation."""
    text = (sentence for path in paths for sentence in reading.read(path, heads=heads))
    return filtering.prepare(text, protocols.STANDARD, max_len=max_len).sentences


def drawn(sentences: Sequence[Sentence], number: int) -> list[Sentence]:
    """This many of the sentences with trees and within the length limit, drawn at random, in their
    order."""
    usable = [s for s in sentences if s.heads and len(s) <= max(LIMITS)]
    order = np.random.default_rng(0).permutation(len(usable))[:number]
    return [usable[k] for k in sorted(order)]


def dda(gold: Sequence[Sentence], trees: Iterable[Sequence[int]]) -> tuple[float, ...]:
    """DDA in per cent, for each length limit; 0 where there is nothing to score."""
    right, total = np.zeros(len(LIMITS)), np.zeros(len(LIMITS))
    for sentence, tree in zip(gold, trees):
        fits = np.array([len(sentence) <= limit for limit in LIMITS])
        right += fits * sum(a == b for a, b in zip(sentence.heads or (), tree))
        total += fits * len(sentence)
    return tuple((100 * right / np.maximum(total, 1)).tolist())


def calibration_error(probabilities: ArrayLike, right: ArrayLike, n_bins: int = 10) -> float:
    """Expected calibration error, from 0 to 1: mean distance of confidence and accuracy in equal
    bins.

    >>> calibration_error([0.95, 0.95], [True, False])
    0.45
    """
    p, truth = np.asarray(probabilities, np.float64), np.asarray(right, np.float64)
    bins = np.minimum((p * n_bins).astype(int), n_bins - 1)
    off = np.bincount(bins, p - truth, n_bins)
    return round(float(np.abs(off).sum() / max(1, len(p))), 12)
