"""What a run learns from, when it has been read: sentences, trees, vocabulary, rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.conllu.vocabulary import Vocabulary
from dynet_vdgi.rule_tables.rules import RuleSet
from dynet_vdgi.rule_tables.word_orders import Fact

if TYPE_CHECKING:
    from dynet_vdgi.lexicon.vectors import Embeddings


@dataclass(frozen=True)
class Material:
    """`texts`, whose trees are never used, and gold `trees` to learn from; for few-trees heads may
    be FREE.

    `texts` are sentences by language label, which is empty for a single language; `facts` are what
    a user says about these languages. `dev` holds sentences with gold trees, and is empty
    unless they are used. `punctuation` is the relation that punctuation had in `trees`, from which
    it has been removed.

    For the neural parser: `vectors` are word vectors; `start` are weights to start from instead of
    random ones, and `start_lambda` is the lambda (J,) that they were left with.
    """

    texts: Mapping[str, list[Sentence]]
    vocabulary: Vocabulary
    rules: RuleSet
    trees: list[Sentence] = field(default_factory=list)
    dev: list[Sentence] = field(default_factory=list)
    facts: Mapping[str, Mapping[str, Fact]] = field(default_factory=dict)
    punctuation: str = "punct"
    vectors: Embeddings | None = None
    start: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    start_lambda: NDArray[Any] | None = None

    @property
    def sentences(self) -> list[Sentence]:
        """All texts, one after the other."""
        return [sentence for text in self.texts.values() for sentence in text]
