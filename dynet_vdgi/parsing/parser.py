"""A trained model as a parser of tagged sentences. Does not need DyNet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.data.treebank import protocol_named, restore_punctuation, without_punctuation
from dynet_vdgi.errors import ModelError, VdgiError
from dynet_vdgi.learning.checkpoint import ModelFile
from dynet_vdgi.learning.checkpoint import load as load_model_file
from dynet_vdgi.parsing.arena import Arena


class Parser:
    """Parses with the encoder of a model file. What the model's protocol removes is attached afterwards."""

    def __init__(self, model: ModelFile) -> None:
        self.model = model
        self.protocol = protocol_named(model.settings.data.protocol)
        self._arena = Arena(model.parameters, model.settings.model)
        self._tags = frozenset(model.vocabulary.tags)
        self.unknown_tags: Counter[str] = Counter()
        """Tags the model has never seen, with how many words had them so far."""

    def parse(self, words: Sequence[str], tags: Sequence[str]) -> tuple[int, ...]:
        """Heads (n,) of one sentence: 0 for its one root, else 1..n; always a projective tree.

        Raises:
            VdgiError: as many words as tags are needed, and at least one.
        """
        if len(words) != len(tags) or not words:
            numbers = f"{len(words)} words, {len(tags)} tags"
            raise VdgiError(f"a sentence needs at least one word, and a tag for each: {numbers}")
        return self.parse_all([Sentence(tuple(words), tuple(tags))])[0]

    def parse_all(self, sentences: Sequence[Sentence]) -> list[tuple[int, ...]]:
        """Heads of each sentence, in order; many at once are parsed several times faster than one by one."""
        removed = self.protocol.removed_tags
        kept = [without_punctuation(Sentence(s.forms, s.tags), removed) for s in sentences]
        for sentence, _ in kept:
            for tag in sentence.tags:
                if tag not in self._tags:
                    self.unknown_tags[tag] += 1
        encode = self.model.vocabulary.encode
        trees = self._arena.parse([encode(sentence.forms, sentence.tags) for sentence, _ in kept])
        return [
            restore_punctuation(heads, positions, len(sentence))
            for sentence, (_, positions), heads in zip(sentences, kept, trees)
        ]


def load(path: str | Path) -> Parser:
    """The parser in a model file.

    Raises:
        ModelError: see `dynet_vdgi.learning.checkpoint.load`.
    """
    model = load_model_file(path)
    try:
        return Parser(model)
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from None
