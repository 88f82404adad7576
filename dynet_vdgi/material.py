"""What a learner gets, whatever it is: sentences, trees, vocabulary, rules. No DyNet, no files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.data.embeddings import Embeddings
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.data.vocabulary import Vocabulary
from dynet_vdgi.grammar.orders import Fact
from dynet_vdgi.grammar.prior import Prior
from dynet_vdgi.grammar.rules import RuleSet

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Material:
    """What is learnt from: `texts`, of which no tree is used, and `trees`, which are learnt.

    `texts` are sentences by the label of their language, which is empty for a text of one. `dev` holds
    sentences with gold trees, and is empty unless they are to be used. `start` are weights to start from
    instead of random ones.

    `taught` are the trees that teachers have made of the texts, for a first stage, which then does not see
    the texts themselves. `marginals` say how probable each arc of a sentence is to its teacher, (n + 1, n) by
    head and dependent; they are empty unless it is to choose the model.
    `facts` are what is known of languages, by their labels.
    `prior` is the teacher's, where it is the only one: a perceptron may see what it makes of words.
    `votes` are some sentences of all texts with what their teachers think of every arc, for a perceptron's
    confidence.
    `treebanks` are other languages' trees by label, to start from.
    `punctuation` is the relation of punctuation in `trees`, which have none any more.

    `trees` may be partial only for the learner `training.few_trees`.
    """

    texts: Mapping[str, list[Sentence]]
    vocabulary: Vocabulary
    rules: RuleSet
    trees: list[Sentence] = field(default_factory=list)
    dev: list[Sentence] = field(default_factory=list)
    vectors: Embeddings | None = None
    start: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    taught: list[Sentence] = field(default_factory=list)
    marginals: list[Floats] = field(default_factory=list)
    prior: Prior | None = None
    facts: Mapping[str, Mapping[str, Fact]] = field(default_factory=dict)
    votes: list[tuple[Sentence, Floats]] = field(default_factory=list)
    treebanks: Mapping[str, list[Sentence]] = field(default_factory=dict)
    punctuation: str = "punct"

    @property
    def sentences(self) -> list[Sentence]:
        """All texts, one after the other."""
        return [sentence for text in self.texts.values() for sentence in text]
