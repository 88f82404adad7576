"""Which documents are train, dev and test data, by UD's rules of size; a document stays where it
has been.

UD's rules (universaldependencies.org/contributing/repository_files.html, "Data split"): below
20,000 words all is test data; up to 110,000, at least 10,000 words are test, 10 % of the rest dev,
and the others train; beyond, 10,000 words each are enough for test and dev. UD's check of files
asks for 10,000 words of train above 20,000 words, and for 5,000 of dev above 30,000. Documents are
not cut, and do not move when others come.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from dynet_vdgi.system.messages import count

PARTS = ("train", "dev", "test")

LEAST_PART, TRAIN_FROM, DEV_FROM, LEAST_DEV = 10_000, 20_000, 30_000, 5_000
"""Words: of train and of test; of all, before there is train, and before dev has its own least;
that least."""

LEAST_SENTENCES, LEAST_WORDS = 20, 100
"""Of a whole treebank."""

MOST_OF_NEEDED = 1.1
"""A part that has at most so many times the words that it needs is good enough."""


def split(sizes: Mapping[str, int], before: Mapping[str, str]) -> dict[str, str]:
    """The part of each document; `sizes`: their words, `before`: parts that documents have had.

    New documents are taken in an order that only their names determine.
    """
    parts = {name: before[name] for name in sizes if name in before}
    drawn = sorted(sizes, key=lambda name: hashlib.sha256(name.encode()).hexdigest())
    new = {name: sizes[name] for name in drawn if name not in parts}
    words = {part: sum(sizes[name] for name in parts if parts[name] == part) for part in PARTS}
    total = sum(sizes.values())
    if total < TRAIN_FROM and not words["train"]:
        return parts | dict.fromkeys(new, "test")
    test = _documents_filling(new, LEAST_PART - words["test"])
    rest = total - words["test"] - sum(new.pop(name) for name in test)
    wanted = min(LEAST_PART, max(rest // 10, LEAST_DEV if total > DEV_FROM else 0))
    dev = []
    for name in _documents_filling(new, wanted - words["dev"]):
        if rest - words["dev"] - new[name] >= LEAST_PART:  # enough is left for train
            dev.append(name)
            words["dev"] += new.pop(name)
    return (
        parts
        | dict.fromkeys(test, "test")
        | dict.fromkeys(dev, "dev")
        | dict.fromkeys(new, "train")
    )


def _documents_filling(sizes: Mapping[str, int], wanted: int) -> tuple[str, ...]:
    """The first documents that have the words wanted and few more, or the fewest more; all, if they
    have less."""
    sums: dict[int, tuple[str, ...]] = {0: ()}
    for name, size in sizes.items():
        if any(wanted <= total <= wanted * MOST_OF_NEEDED for total in sums):
            break
        with_this = {}
        for total, names in sums.items():
            if total < wanted:
                with_this[total + size] = (*names, name)
        sums = with_this | sums  # of equal totals, the one without this document stays
    enough = [total for total in sums if total >= wanted]
    return sums[min(enough) if enough else max(sums)]


def size_fault(sentences: int, words: int) -> str:
    """What a treebank lacks that UD takes at all, since its release 2.10;
    "" if it is large enough."""
    if sentences >= LEAST_SENTENCES and words >= LEAST_WORDS:
        return ""
    least = f"{LEAST_SENTENCES} sentences and {LEAST_WORDS} words"
    size = f"{count(sentences, 'sentence')} and {count(words, 'word')}"
    return f"too small to be published: it has {size}, UD asks for {least}"


def shortfall(words: Mapping[str, int]) -> list[str]:
    """What UD asks for and the split does not have; `words`: by part."""
    total = sum(words.values())
    least = {
        "test": LEAST_PART * (total > LEAST_PART),
        "train": LEAST_PART * (total > TRAIN_FROM),
        "dev": LEAST_DEV * (total > DEV_FROM),
    }
    lacking = []
    for part, n in least.items():
        if words[part] < n:
            lacking.append(f"{part} has {words[part]:,} words, UD asks for {n:,}")
    return lacking
