"""What is learnt from, whatever the recipe: sentences, trees, vocabulary, rules. No DyNet, no files."""

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
from dynet_vdgi.grammar.rules import RuleSet

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Material:
    """`texts`, of which no tree is used, and gold `trees`, which are learnt.

    `texts` are sentences by the label of their language, which is empty for a text of one; `facts` are what
    is known of these languages. `dev` holds sentences with gold trees, and is empty unless they are used.
    `punctuation` is the relation of punctuation in `trees`, which have none any more.
    """

    texts: Mapping[str, list[Sentence]]
    vocabulary: Vocabulary
    rules: RuleSet
    trees: list[Sentence] = field(default_factory=list)
    dev: list[Sentence] = field(default_factory=list)
    facts: Mapping[str, Mapping[str, Fact]] = field(default_factory=dict)
    punctuation: str = "punct"

    @property
    def sentences(self) -> list[Sentence]:
        """All texts, one after the other."""
        return [sentence for text in self.texts.values() for sentence in text]


@dataclass(frozen=True)
class NeuralMaterial(Material):
    """What the neural parser learns from.

    `vectors` are those of its words; `start` are weights to start from instead of random ones.
    `taught` are the trees that teachers have made of the texts, for a first stage, which then does not see
    the texts themselves. `marginals` say how probable each arc of a sentence is to its teacher, (n + 1, n) by
    head and dependent; they are empty unless the teacher is to choose the model.
    """

    vectors: Embeddings | None = None
    start: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    taught: list[Sentence] = field(default_factory=list)
    marginals: list[Floats] = field(default_factory=list)


@dataclass(frozen=True)
class TreesMaterial(Material):
    """For a few trees: heads of `trees` may be FREE; `treebanks` are trees of other languages, by label."""

    treebanks: Mapping[str, list[Sentence]] = field(default_factory=dict)
