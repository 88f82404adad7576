"""Sentences written in a line, and the potentials that a few lines of a rule table give their arcs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.rule_tables.prior import Prior
from dynet_vdgi.rule_tables.rules import parse_rules


def said(words: str) -> Sentence:
    """A sentence of `form/TAG` or `form/TAG/Feature=Value`; a comma is removed punctuation."""
    columns: list[list[str]] = []
    gaps, gap = [], ""
    for word in words.split():
        if word == ",":
            gap = ","
            continue
        form, tag, *feats = word.split("/")
        columns.append([form, tag, feats[0] if feats else "_"])
        gaps.append(gap)
        gap = ""
    forms, tags, features = zip(*columns)
    return Sentence(forms, tags, feats=features, gaps=(*gaps, gap))


def tagged(tags: str) -> Sentence:
    return Sentence.of_tags(tags.split())


def prior(lines: str | Sequence[str], *text: Sentence) -> Prior:
    lines = [lines] if isinstance(lines, str) else lines
    return Prior.of_text(parse_rules("\n".join(["[p] (c)", *lines])), text)


def arcs(of: Prior, sentence: Sentence) -> dict[tuple[int, int], float]:
    """The potentials that are not 0, by head (0: ROOT) and dependent."""
    found = of.potentials(sentence)
    assert np.isfinite(found).all()
    n = len(sentence)
    return {
        (head, word): round(float(found[head, word]), 4)
        for head in range(n + 1)
        for word in range(1, n + 1)
        if head != word and found[head, word]
    }
