"""A trained model as a parser of tagged sentences."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.data.treebank import protocol_named, restore_punctuation, without_punctuation
from dynet_vdgi.errors import VdgiError
from dynet_vdgi.learning.checkpoint import ModelFile
from dynet_vdgi.learning.checkpoint import load as load_model_file
from dynet_vdgi.model import per_sentence
from dynet_vdgi.model.per_sentence import Network


class Parser:
    """Parses with the encoder of a model file. What the model's protocol removes is attached afterwards."""

    def __init__(self, model: ModelFile) -> None:
        self.model = model
        self.protocol = protocol_named(model.settings.data.protocol)
        self._network = Network(model.vocabulary, model.settings.model, np.random.default_rng(0))
        self._network.parameters.load(model.parameters)
        self.unknown_tags: dict[str, int] = {}
        """Tags the model has never seen, with how many words had them so far."""

    def parse(self, words: Sequence[str], tags: Sequence[str]) -> tuple[int, ...]:
        """Heads (n,) of one sentence: 0 for its one root, else 1..n; always a projective tree.

        Raises:
            VdgiError: as many words as tags are needed, and at least one.
        """
        if len(words) != len(tags) or not words:
            raise VdgiError(
                f"a sentence needs at least one word and a tag for each: {len(words)} words, {len(tags)} tags"
            )
        sentence = Sentence(tuple(words), tuple(tags))
        kept, positions = without_punctuation(sentence, self.protocol.removed_tags)
        for tag in kept.tags:
            if tag not in self.model.vocabulary.tags:
                self.unknown_tags[tag] = self.unknown_tags.get(tag, 0) + 1
        encoded = self.model.vocabulary.encode(kept.forms, kept.tags)
        heads = per_sentence.parse(self._network.encoder, encoded)
        return restore_punctuation(heads, positions, len(sentence))


def load(path: str | Path) -> Parser:
    """The parser in a model file.

    Raises:
        ModelError: see `dynet_vdgi.learning.checkpoint.load`.
    """
    return Parser(load_model_file(path))
