"""The relations that a universal parser has learnt from other languages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from dynet_vdgi.data.punctuation import heads_without, without_punctuation
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.grammar.statistics import VerbOrder
from dynet_vdgi.labels.inventory import PUNCT_LABEL
from dynet_vdgi.labels.label_table import LABELS
from dynet_vdgi.parsing.exact_trees import batches
from dynet_vdgi.parsing.relations import Relations, with_relations
from dynet_vdgi.parsing.universal_engine import UniversalEngine, relations_of
from dynet_vdgi.runs.model_file import ModelFile


class UniversalLabeller:
    """Labels trees with the relations that a universal parser has learnt from other languages."""

    columns = ("feats",)
    """The columns of sentences that it reads, besides forms and tags."""

    names = LABELS
    """The possible relations, by number."""

    def __init__(self, model: ModelFile, engine: UniversalEngine) -> None:
        self.engine = engine
        self._ignored = model.settings.data.ignore

    def make_ready(self) -> None:
        """Nothing: the parser's kernels serve here."""

    def relations(
        self,
        sentences: Sequence[Sentence],
        heads: Sequence[Sequence[int]],
        verb_order: int | None = None,
    ) -> list[Relations]:
        """The relations of each sentence under these heads, `punct` for punctuation."""
        bare, trees, places = [], [], []
        for sentence, tree in zip(sentences, heads):
            kept, where = without_punctuation(replace(sentence, heads=None, deprels=()))
            bare.append(kept.ignoring(self._ignored))
            places.append(where)
            trees.append(heads_without(tree, where))
        scorer = self.engine.text_scorer(bare)
        found = [[LABELS[PUNCT_LABEL]] * len(sentence) for sentence in sentences]
        for members in batches(list(map(len, bare))):
            flat = np.array([head for k in members for head in trees[k]], np.int64)
            encoded = scorer.encode([bare[k] for k in members])
            numbers = iter(relations_of(scorer, encoded, flat).tolist())
            for k in members:
                for place in places[k]:
                    found[k][place - 1] = LABELS[next(numbers)]
        return [tuple(relations) for relations in found]

    def labelled(
        self,
        sentences: Sequence[Sentence],
        heads: Sequence[tuple[int, ...]],
        verb_order: int | None = None,
    ) -> list[Sentence]:
        """The sentences with these heads and relations."""
        return with_relations(sentences, heads, self.relations(sentences, heads))

    def verb_order_in(self, tagged: Iterable[Sequence[str]]) -> int:
        """The parser has its own measures of the order of words."""
        return VerbOrder.OTHER
