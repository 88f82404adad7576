"""Texts that the tests of teachers learn from."""

from __future__ import annotations

from pathlib import Path

from dynet_vdgi.conllu import filtering, reading
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.rule_tables.rules import parse_rules
from dynet_vdgi.settings.bundled import resources

RULES = parse_rules("ROOT VERB 1\nVERB NOUN 1\nNOUN ADP 1\nNOUN DET 1")


def tagged(*texts: str) -> list[Sentence]:
    """Sentences of these tags, which are their words, too."""
    return [Sentence(tuple(text.split()), tuple(text.split())) for text in texts]


TEXT = tagged("VERB ADP DET NOUN", "DET NOUN VERB", "ADP NOUN VERB") * 20


def prepared(path: Path, max_len: int, heads: reading.HeadPolicy = "optional") -> list[Sentence]:
    """The sentences of a file of at most so many words, without punctuation."""
    return filtering.prepare(reading.read(path, heads=heads), max_len=max_len).sentences


def demo(n_sentences: int) -> list[Sentence]:
    """Short sentences of the demo treebank."""
    return prepared(resources() / "demo" / "demo-ud-train.conllu", 8)[:n_sentences]
