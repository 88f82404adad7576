"""Tags and words as integers.

Tag and word ids start at 1; 0 is the unknown tag or word. The decoder can generate only known tags.

>>> tags = ("DET", "NOUN")
>>> sentences = [Sentence(("The", "dog"), tags), Sentence(("the", "cat"), tags)]
>>> vocabulary = build_vocabulary(sentences, lexicalised=True, min_freq=2)
>>> vocabulary.words, vocabulary.encode(("The", "bird"), tags)
(('the',), Encoded(tags=(1, 2), words=(1, 0)))
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Annotated, Any

import msgspec

from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.errors import ModelError

UNKNOWN = 0


@dataclass(frozen=True)
class Encoded:
    """One sentence as ids: tags (n,), words (n,) (all 0 in an unlexicalised vocabulary)."""

    tags: tuple[int, ...]
    words: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.tags)


@dataclass(frozen=True)
class Vocabulary:
    """`tags[i]` has id i + 1, `words[i]` has id i + 1; `words` is empty in unlexicalised models.

    `classes` holds a class for every word id from 0 on, for the decoder's softmax; it is empty if
    no word clusters were given.
    """

    tags: tuple[str, ...]
    words: tuple[str, ...] = ()
    lowercase: bool = True
    classes: tuple[Annotated[int, msgspec.Meta(ge=0)], ...] = ()

    @cached_property
    def _tag_ids(self) -> dict[str, int]:
        return {tag: i for i, tag in enumerate(self.tags, 1)}

    @cached_property
    def _word_ids(self) -> dict[str, int]:
        return {word: i for i, word in enumerate(self.words, 1)}

    def encode(self, words: Sequence[str], tags: Sequence[str]) -> Encoded:
        """Ids of one sentence; tags and words that the vocabulary lacks become UNKNOWN."""
        if len(words) != len(tags):
            raise ValueError(f"{len(words)} words but {len(tags)} tags")
        tag_ids = tuple([self._tag_ids.get(tag, UNKNOWN) for tag in tags])
        forms = [word.lower() for word in words] if self.lowercase else words
        return Encoded(tag_ids, tuple([self._word_ids.get(form, UNKNOWN) for form in forms]))

    def to_json(self) -> dict[str, Any]:
        """The JSON that `from_json` reads."""
        fields = asdict(self)
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in fields.items()
        }

    @classmethod
    def from_json(cls, content: bytes | str) -> Vocabulary:
        """The vocabulary from the JSON of `to_json`.

        Raises: ModelError, it is damaged: a field is of another type, a tag or word occurs twice,
        or there is not a class for each word.
        """
        try:
            stored = msgspec.json.decode(content, type=cls)
        except msgspec.MsgspecError as error:
            raise ModelError(f"the model file is damaged: vocabulary: {error}") from None
        for name, entries in (("tags", stored.tags), ("words", stored.words)):
            if len(set(entries)) < len(entries):
                raise ModelError(
                    f"the model file is damaged: vocabulary: one of the {name} is there twice"
                )
        if stored.classes and len(stored.classes) != len(stored.words) + 1:
            numbers = f"{len(stored.classes)} classes for {len(stored.words)} words"
            raise ModelError(f"the model file is damaged: vocabulary: {numbers}")
        return stored


def build_vocabulary(
    sentences: Iterable[Sentence], *, lexicalised: bool, min_freq: int = 2, lowercase: bool = True
) -> Vocabulary:
    """All tags, sorted; if lexicalised, the words seen at least `min_freq` times, most frequent
    first."""
    tags: set[str] = set()
    words: Counter[str] = Counter()
    for sentence in sentences:
        tags.update(sentence.tags)
        if lexicalised:
            words.update(form.lower() if lowercase else form for form in sentence.forms)
    frequent = sorted(
        (word for word, times in words.items() if times >= min_freq),
        key=lambda word: (-words[word], word),
    )
    return Vocabulary(tuple(sorted(tags)), tuple(frequent), lowercase)
