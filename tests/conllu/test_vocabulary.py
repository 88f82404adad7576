"""Tags and words as integers."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wording import Wording

from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.conllu.vocabulary import UNKNOWN, Encoded, Vocabulary, build_vocabulary
from dynet_vdgi.errors import ModelError

SENTENCES = [
    Sentence(("The", "dog", "saw", "the", "cat"), ("DET", "NOUN", "VERB", "DET", "NOUN")),
    Sentence(("Dogs", "bark"), ("NOUN", "VERB")),
    Sentence(("the", "dog", "barks", "loudly"), ("DET", "NOUN", "VERB", "ADV")),
]
names = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=5)


def test_vocabularies_by_hand(wording: Wording) -> None:
    tags_alone = build_vocabulary(SENTENCES, lexicalised=False)
    assert tags_alone == Vocabulary(("ADV", "DET", "NOUN", "VERB"), ())
    assert tags_alone.encode(("a", "b", "c"), ("VERB", "ADV", "X")) == Encoded(
        (4, 1, UNKNOWN), (0, 0, 0)
    )
    frequent = build_vocabulary(SENTENCES, lexicalised=True, min_freq=2)
    assert frequent.words == ("the", "dog")
    assert frequent.encode(("THE", "Dog", "barks"), ("DET", "NOUN", "VERB")).words == (
        1,
        2,
        UNKNOWN,
    )
    assert build_vocabulary(SENTENCES[::-1], lexicalised=True) == frequent
    every = build_vocabulary(SENTENCES, lexicalised=True, min_freq=1)
    # ties by alphabet
    assert every.words == ("the", "dog", "bark", "barks", "cat", "dogs", "loudly", "saw")
    cased = build_vocabulary(SENTENCES, lexicalised=True, min_freq=1, lowercase=False)
    assert {"The", "Dogs", "dog", "the"} <= {*cased.words}
    assert cased.encode(("The", "THE"), ("DET",) * 2).words == (
        cased.words.index("The") + 1,
        UNKNOWN,
    )
    assert build_vocabulary([], lexicalised=True) == Vocabulary((), ())
    assert Vocabulary(()).encode((), ()) == Encoded((), ())
    with wording.raises(ValueError):
        Vocabulary(("NOUN",)).encode(("a", "b"), ("NOUN",))


@given(st.lists(names, unique=True), st.lists(names, unique=True), st.booleans())
def test_survives_json(tags: list[str], words: list[str], lowercase: bool) -> None:
    vocabulary = Vocabulary(tuple(tags), tuple(words), lowercase)
    restored = Vocabulary.from_json(json.dumps(vocabulary.to_json()))
    assert restored == vocabulary
    assert restored.encode(words, words) == vocabulary.encode(words, words)


@pytest.mark.parametrize(
    "changed",
    [
        {"tags": None},  # the field is missing
        {"tags": {"NOUN": 1}},
        {"tags": [["NOUN"]]},
        {"tags": ["NOUN", "NOUN"]},
        {"words": "dog"},
        {"lowercase": 1},
        {"words": ["dog"], "classes": [0]},
        {"words": ["dog"], "classes": [0, -1]},
    ],
)
def test_damaged_fields_are_refused(changed: dict[str, object], wording: Wording) -> None:
    fields = {**Vocabulary(("NOUN",)).to_json(), **changed}
    known = {name: value for name, value in fields.items() if value is not None}
    with wording.raises(ModelError):
        Vocabulary.from_json(json.dumps(known))


@given(
    st.lists(st.lists(st.tuples(names, st.sampled_from("ABC")), min_size=1, max_size=6), max_size=6)
)
def test_what_was_seen_often_enough_is_known(text: list[list[tuple[str, str]]]) -> None:
    sentences = [Sentence(*(tuple(column) for column in zip(*words))) for words in text]
    vocabulary = build_vocabulary(sentences, lexicalised=True, min_freq=2)
    seen = [form.lower() for sentence in sentences for form in sentence.forms]
    for sentence in sentences:
        encoded = vocabulary.encode(sentence.forms, sentence.tags)
        assert tuple(vocabulary.tags[tag - 1] for tag in encoded.tags) == sentence.tags
        for form, word in zip(sentence.forms, encoded.words):
            assert (word == UNKNOWN) == (seen.count(form.lower()) < 2)
            assert word == UNKNOWN or vocabulary.words[word - 1] == form.lower()
