"""Training material of every recipe: sentences, trees, vocabulary, rules. No DyNet, no files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from dynet_vdgi.data.embeddings import Embeddings
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.data.vocabulary import Vocabulary
from dynet_vdgi.grammar.orders import Fact
from dynet_vdgi.grammar.rules import RuleSet
from dynet_vdgi.system.arrays import Floats


@dataclass(frozen=True)
class Material:
    """`texts`, whose trees are never used, and gold `trees` to learn from; for few-trees heads may be FREE.

    `texts` are sentences by language label, which is empty for a single language; `facts` are known facts
    about these languages. `dev` holds sentences with gold trees, and is empty unless they are used.
    `punctuation` is the relation that punctuation had in `trees`, from which it has been removed.
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
    """The material of the neural parser.

    `vectors` are word vectors; `start` are weights to start from instead of random ones. `taught` are the
    teachers' trees of the texts, for a first stage that does not see the texts themselves. `marginals` are
    the teacher's probabilities of each sentence's arcs, (n + 1, n) by head and dependent; they are empty
    unless the teacher is to choose the model.
    """

    vectors: Embeddings | None = None
    start: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    taught: list[Sentence] = field(default_factory=list)
    marginals: list[Floats] = field(default_factory=list)
