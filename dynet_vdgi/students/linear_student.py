"""The linear-time student as a learner; `perceptron` holds its weights, `codes` its word symbols."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from dynet_vdgi.data.corpus import in_memory
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.data.vocabulary import Vocabulary, build_vocabulary
from dynet_vdgi.errors import VdgiError
from dynet_vdgi.grammar.prior import Prior
from dynet_vdgi.settings.config_checks import checked, checked_seed
from dynet_vdgi.students.codes import LEVELS, Codes
from dynet_vdgi.students.perceptron import PerceptronModel, PerceptronSettings, train
from dynet_vdgi.system.arrays import Floats


class Perceptron:
    """The linear-time student: `Perceptron(epochs=3).fit(trees)`, with the numbers of `PerceptronSettings`.

    After `fit`: `model`, the weights; `vocabulary`, the tags; `codes`, the symbols of words under a prior
    whose table reads more than tags, or None.

    Raises:
        ConfigError: a number is unknown or out of its range; settings and numbers exclude each other.
    """

    def __init__(
        self, settings: PerceptronSettings | None = None, *, seed: int = 1, **numbers: float
    ) -> None:
        self.settings = checked(PerceptronSettings, numbers, settings, "perceptron")
        self.seed = checked_seed(seed, "perceptron")
        self._model: PerceptronModel | None = None
        self.vocabulary = Vocabulary(())
        self.codes: Codes | None = None

    @property
    def model(self) -> PerceptronModel:
        """The learnt model. Raises: VdgiError, `fit` has not run."""
        if self._model is None:
            raise VdgiError("this perceptron has not learnt yet: call fit(trees) first")
        return self._model

    def fit(
        self, trees: Iterable[Sentence], vocabulary: Vocabulary | None = None, prior: Prior | None = None
    ) -> Perceptron:
        """Learns from sentences with heads; the tags are those of the vocabulary, or else of the trees.

        Under a prior whose rule table makes symbols of words, it learns from these symbols instead of tags.

        Raises: VdgiError, there are no words, or a sentence has no heads.
        """
        given = list(in_memory(trees))
        if any(tree.heads is None for tree in given):
            raise VdgiError("the perceptron learns from trees, and a sentence has none")
        vocabulary = vocabulary or build_vocabulary(given, lexicalised=False)
        codes = Codes.of_trees(prior, given) if prior is not None and makes_symbols(prior) else None
        n_tags, levels = (codes.n_tags, LEVELS) if codes else (len(vocabulary.tags), 1)
        # Only the callee refers to the lists, so it can free them.
        self._model = train(
            [told(tree, vocabulary, codes) for tree in given],
            [tree.heads or () for tree in given],
            n_tags,
            self.settings,
            self.seed,
            levels,
        )
        self.vocabulary, self.codes = vocabulary, codes
        return self

    def heads(self, sentences: Iterable[Sentence]) -> list[tuple[int, ...]]:
        """The tree of each sentence: projective, with one root."""
        return self.model.parse([told(sentence, self.vocabulary, self.codes) for sentence in sentences])

    def with_margins(self, sentences: Iterable[Sentence]) -> list[tuple[tuple[int, ...], Floats]]:
        """The heads that the parser finds, each tree with the margins (n,) of its words."""
        rows = [told(sentence, self.vocabulary, self.codes) for sentence in sentences]
        return self.model.with_margins(rows)

    def predict(self, sentences: Iterable[Sentence]) -> list[Sentence]:
        """The sentences with these trees."""
        given = list(sentences)
        return [replace(s, heads=heads, source=None) for s, heads in zip(given, self.heads(given))]


def makes_symbols(prior: Prior) -> bool:
    """If the prior's rule table has parts that read more than tags."""
    return prior.rules.table is not None and bool(prior.rules.table.settings)


def told(sentence: Sentence, vocabulary: Vocabulary, codes: Codes | None) -> Sequence[int]:
    """The numbers (n,) of a sentence's words, as `PerceptronModel` takes them."""
    return codes(sentence) if codes else vocabulary.encode(sentence.forms, sentence.tags).tags
