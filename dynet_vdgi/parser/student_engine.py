"""The engine of a word perceptron: heads at once, in linear time."""

from __future__ import annotations

from collections.abc import Sequence

from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.few_trees.word_perceptron import WordPerceptron
from dynet_vdgi.models.model_file import ModelFile
from dynet_vdgi.parser.engine import GreedyEngine, ScoredTree


class StudentEngine(GreedyEngine):
    """The linear-time student of a teacher, of a CRF or of a universal parser."""

    def __init__(self, model: ModelFile) -> None:
        self.student = WordPerceptron.from_arrays(model.parameters)

    def parse(
        self, sentences: Sequence[Sentence], *, margins: bool, keep_heads: bool
    ) -> list[ScoredTree]:
        scored = self.student.predict_with_margins(sentences, keep_heads=keep_heads)
        return [ScoredTree(tree.heads or (), of_tree) for tree, of_tree in scored]
