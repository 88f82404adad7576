"""Tags and words as integers."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.data.vocabulary import UNKNOWN, Encoded, Vocabulary, build_vocabulary
from dynet_vdgi.errors import ModelError

SENTENCES = [
    Sentence(("The", "dog", "saw", "the", "cat"), ("DET", "NOUN", "VERB", "DET", "NOUN")),
    Sentence(("Dogs", "bark"), ("NOUN", "VERB")),
    Sentence(("the", "dog", "barks", "loudly"), ("DET", "NOUN", "VERB", "ADV")),
]
names = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=5)


def test_tags_are_sorted_and_numbered_from_one() -> None:
    vocabulary = build_vocabulary(SENTENCES, lexicalised=False)
    assert vocabulary == Vocabulary(("ADV", "DET", "NOUN", "VERB"), ())
    assert vocabulary.encode(("a", "b", "c"), ("VERB", "ADV", "X")) == Encoded((4, 1, UNKNOWN), (0, 0, 0))


def test_frequent_words_come_first_and_rare_ones_are_unknown() -> None:
    vocabulary = build_vocabulary(SENTENCES, lexicalised=True, min_freq=2)
    assert vocabulary.words == ("the", "dog")
    assert vocabulary.encode(("THE", "Dog", "barks"), ("DET", "NOUN", "VERB")).words == (1, 2, UNKNOWN)


def test_ties_are_in_alphabetical_order() -> None:
    vocabulary = build_vocabulary(SENTENCES, lexicalised=True, min_freq=1)
    assert vocabulary.words == ("the", "dog", "bark", "barks", "cat", "dogs", "loudly", "saw")


def test_case_is_kept_if_asked_for() -> None:
    vocabulary = build_vocabulary(SENTENCES, lexicalised=True, min_freq=1, lowercase=False)
    assert vocabulary.words[:2] == ("dog", "the")
    assert "The" in vocabulary.words
    assert "Dogs" in vocabulary.words
    encoded = vocabulary.encode(("The", "THE"), ("DET", "DET"))
    assert encoded.words == (vocabulary.words.index("The") + 1, UNKNOWN)


def test_the_order_of_the_sentences_does_not_matter() -> None:
    assert build_vocabulary(SENTENCES, lexicalised=True) == build_vocabulary(
        SENTENCES[::-1], lexicalised=True
    )


def test_no_sentences_no_tags() -> None:
    assert build_vocabulary([], lexicalised=True) == Vocabulary((), ())
    assert Vocabulary(()).encode((), ()) == Encoded((), ())
    assert len(Encoded((1, 2), (0, 0))) == 2


def test_words_and_tags_must_be_as_many() -> None:
    with pytest.raises(ValueError, match="2 words but 1 tags"):
        Vocabulary(("NOUN",)).encode(("a", "b"), ("NOUN",))


@given(st.lists(names, unique=True), st.lists(names, unique=True), st.booleans())
def test_survives_json(tags: list[str], words: list[str], lowercase: bool) -> None:
    vocabulary = Vocabulary(tuple(tags), tuple(words), lowercase)
    restored = Vocabulary.from_json(json.dumps(vocabulary.to_json()))
    assert restored == vocabulary
    assert restored.encode(words, words) == vocabulary.encode(words, words)


@pytest.mark.parametrize("lost", ["tags", "words", "lowercase"])
def test_a_missing_field_is_an_error(lost: str) -> None:
    data = Vocabulary(("NOUN",)).to_json()
    del data[lost]
    with pytest.raises(ModelError, match=lost):
        Vocabulary.from_json(json.dumps(data))


@pytest.mark.parametrize(
    "changed",
    [
        {"tags": {"NOUN": 1}},
        {"tags": [["NOUN"]]},
        {"tags": ["NOUN", "NOUN"]},
        {"words": "dog"},
        {"lowercase": 1},
        {"words": ["dog"], "classes": [0]},
        {"words": ["dog"], "classes": [0, -1]},
    ],
)
def test_a_field_of_another_type_is_an_error(changed: dict[str, object]) -> None:
    with pytest.raises(ModelError, match="the model file is damaged: vocabulary: "):
        Vocabulary.from_json(json.dumps({**Vocabulary(("NOUN",)).to_json(), **changed}))


@given(st.lists(st.lists(st.tuples(names, st.sampled_from("ABC")), min_size=1, max_size=6), max_size=6))
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
