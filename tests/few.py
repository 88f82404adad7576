"""Small sentences with trees, and bases, for tests of the learners from few trees."""

from __future__ import annotations

import numpy as np

from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.inference import eisner

PATTERNS = (
    ("DET NOUN VERB DET NOUN", (2, 3, 0, 5, 3)),
    ("NOUN ADJ VERB ADV", (3, 1, 0, 3)),
    ("VERB NOUN ADP NOUN", (0, 1, 4, 2)),
    ("ADV VERB PRON", (2, 0, 2)),
    ("DET NOUN ADJ VERB NOUN CCONJ NOUN", (2, 4, 2, 0, 4, 7, 5)),
    ("NOUN VERB", (2, 0)),
)
RELATIONS = {
    "DET": "det",
    "ADJ": "amod",
    "ADV": "advmod",
    "ADP": "case",
    "CCONJ": "cc",
    "PRON": "obj",
}


def trees(count=12, start=0):
    """Projective trees with forms, FEATS, relations and punctuation."""
    return [tree(*PATTERNS[k % len(PATTERNS)], k) for k in range(start, start + count)]


def tree(tags, heads, number=0):
    """One of them."""
    words = tags.split()
    relations = ["root" if not h else RELATIONS.get(t, "nsubj") for t, h in zip(words, heads)]
    return Sentence(
        forms=tuple(f"{tag.lower()}{(number + i) % 3}" for i, tag in enumerate(words)),
        tags=tuple(words),
        heads=tuple(heads),
        feats=tuple("Case=Nom|Number=Sing" if t == "NOUN" else "Number=Plur" for t in words),
        deprels=tuple(relations),
        gaps=("",) * 2 + ((",",) if number % 2 else ("",)) + ("",) * (len(words) - 2),
    )


def log_likelihood(crf, gold):
    """The log-probability of trees, in nats; of partial trees, of all trees that contain them."""
    total = 0.0
    for one in gold:
        scores = crf.scores(one)
        total += eisner.log_partition(
            eisner.constrained_scores(scores, one.heads)
        ) - eisner.log_partition(scores)
    return total


class RandomBase:
    """Potentials that depend on the length alone."""

    shares, learns_shares, log_p = np.ones(1), False, None

    def __init__(self, scale=1.0):
        self.scale = scale

    def potentials(self, sentence):
        size = len(sentence) + 1
        return self.scale * np.random.default_rng(size).normal(size=(size, size))

    def all_parts(self, sentences):
        return (self.potentials(sentence)[None] for sentence in sentences)
