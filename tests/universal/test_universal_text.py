"""What the universal parser measures in a text, and the languages that are invented to learn it
from."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dynet_vdgi.conllu import filtering, protocols, reading
from dynet_vdgi.conllu.punctuation import is_projective
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.settings.bundled import resources
from dynet_vdgi.system import jit
from dynet_vdgi.universal.encoding import (
    BANDS,
    RELATIONS,
    TAG,
    band_of_forms,
    encode,
    known_features,
)
from dynet_vdgi.universal.learn.invented import kinds_of_arcs, orders, reorder
from dynet_vdgi.universal.learn.learning import GoldTreebank, learn
from dynet_vdgi.universal.learn.learning_settings import LearningSettings
from dynet_vdgi.universal.model_table import table_to_learn_under
from dynet_vdgi.universal.scorer import TextScorer
from dynet_vdgi.universal.text_teacher import teach_text
from dynet_vdgi.universal.typology import Profile, TagCounts

LEFT, RIGHT = 0, 1


@pytest.fixture(scope="module")
def demo() -> list[Sentence]:
    read = reading.read(resources() / "demo" / "demo-ud-train.conllu", heads="required")
    return list(filtering.prepare(read, protocols.STANDARD).sentences)


def mirrored(sentence: Sentence) -> Sentence:
    """The sentence from its end to its start."""
    n = len(sentence)
    heads = tuple(0 if head == 0 else n + 1 - head for head in (sentence.heads or ())[::-1])
    back = {
        name: getattr(sentence, name)[::-1]
        for name in ("forms", "tags", "upos", "feats", "deprels")
    }
    return replace(sentence, **back, heads=heads, gaps=(), lemmas=(), xpos=(), source=None)


def test_features_are_known_if_enough_treebanks_have_them():
    one = [Sentence(("a", "b"), ("NOUN", "VERB"), feats=("Case=Nom", "Tense=Past|Mood=Ind"))]
    two = [Sentence(("c",), ("NOUN",), feats=("Case=Nom",))]
    assert known_features([one, two], 2) == ("Case=Nom",)
    assert known_features([one, two], 1) == ("Case=Nom", "Mood=Ind", "Tense=Past")


def test_common_words_are_in_lower_bands():
    text = [Sentence(("the",) * 900 + ("dog",) * 20 + ("once",), ("X",) * 921)]
    bands = band_of_forms(text)
    assert 1 <= bands["the"] < bands["dog"] < bands["once"] < BANDS
    assert band_of_forms([Sentence.of_tags(["NOUN"])]) == {}


def test_neighbours_and_words_in_reach_are_counted():
    text = encode(
        [Sentence.of_tags(["DET", "ADJ", "NOUN", "VERB"]), Sentence.of_tags(["VERB"])], ()
    )
    counts = TagCounts.of(text)
    det, adjective, noun, verb = (TAG[tag] for tag in ["DET", "ADJ", "NOUN", "VERB"])
    assert counts.neighbours[noun, adjective, LEFT] == 1
    assert counts.neighbours[noun, det].sum() == 0  # two words apart
    assert counts.reach[noun, det, LEFT] == 1
    assert counts.content[verb, noun, LEFT] == 1
    assert counts.content[noun, det].sum() == 0  # a modifier, left out
    assert counts.neighbours.sum() == 2 * 3
    assert counts.reach.sum() == 2 * 6


def test_a_text_read_backwards_has_the_opposite_directions(demo):
    features = known_features([demo], 1)
    text = encode([replace(s, gaps=()) for s in demo], features)
    _, arcs = teach_text(demo, text, table_to_learn_under())
    arcs = arcs.sum(0)
    forth = Profile.of(text, features, arcs)
    back = Profile.of(encode([mirrored(s) for s in demo], features), features, arcs[..., ::-1])
    np.testing.assert_allclose(forth.pairs[:, :, LEFT], back.pairs[:, :, RIGHT], atol=1e-6)
    np.testing.assert_allclose(forth.pairs[..., 10], -back.pairs[..., 10], atol=1e-6)
    assert np.abs(forth.pairs[..., 10]).max() > 0.5


def test_a_profile_without_features_or_sentences_is_finite():
    for text in ([], [Sentence.of_tags(["NOUN"])], [Sentence.of_tags(["PUNCT", "X"])]):
        coded = encode(text, ("Case=Nom",))
        profile = Profile.of(
            coded, ("Case=Nom",), teach_text(text, coded, table_to_learn_under())[1].sum(0)
        )
        assert np.isfinite(profile.numbers).all()
        assert np.isfinite(profile.pairs).all()


def test_a_part_of_a_text_is_encoded_as_those_sentences(demo):
    features = known_features([demo], 1)
    text, chosen = encode(demo, features), np.array([4, 1, 4])
    part, expected = text.part(chosen), encode([demo[k] for k in chosen], features)
    for name in ("start", "tags", "gaps", "heads", "relations"):
        np.testing.assert_array_equal(getattr(part, name), getattr(expected, name))
    np.testing.assert_array_equal(part.features[part.bundle], expected.features[expected.bundle])


def relations_and_tags(text, s: int) -> list[tuple]:
    """The arcs of a sentence by what they link, whatever its order."""
    low, high = text.start[s], text.start[s + 1]
    tags, heads = text.tags[low:high], text.heads[low:high]
    of_heads = [int(tags[h - 1]) if h else -1 for h in heads]
    return sorted(
        zip(
            of_heads,
            tags.tolist(),
            text.relations[low:high].tolist(),
            text.bundle[low:high].tolist(),
        )
    )


def test_projective_trees_in_their_own_order_stay_as_they_are(demo):
    projective = [sentence for sentence in demo if is_projective(sentence.heads)]
    text = encode(projective, known_features([demo], 1))
    own = orders(text)
    same = reorder(text, own, own, np.random.default_rng(0))
    np.testing.assert_array_equal(same.tags, text.tags)
    np.testing.assert_array_equal(same.heads, text.heads)
    np.testing.assert_array_equal(same.gaps, text.gaps)


def test_a_text_in_the_opposite_order_has_the_same_trees(demo):
    features = known_features([demo], 1)
    text = encode(demo, features)
    opposite = orders(encode([mirrored(sentence) for sentence in demo], features))
    new = reorder(text, opposite, opposite, np.random.default_rng(0))
    for s in range(len(text)):
        assert relations_and_tags(new, s) == relations_and_tags(text, s)
    kind, was_left = kinds_of_arcs(text)
    new_kind, is_left = kinds_of_arcs(new)
    for relation in ("det", "nsubj"):
        ours, theirs = (
            found % (len(RELATIONS) * 17) // 17 == RELATIONS.index(relation)
            for found in (kind, new_kind)
        )
        ours, theirs = ours & (kind >= 0), theirs & (new_kind >= 0)
        assert is_left[theirs].mean() == pytest.approx(1 - was_left[ours].mean(), abs=0.1), relation


def test_learning_is_repeated_bit_for_bit_and_beats_the_next_word(demo, monkeypatch):
    # no kernel becomes machine code between the two, whose
    monkeypatch.setattr(jit, "WORK_TO_LOAD", 10**9)
    monkeypatch.setattr(jit, "WORK_TO_COMPILE", 10**9)  # exponentials may differ in the last bit
    half = len(demo) // 2
    treebanks = [GoldTreebank("one", demo[:half]), GoldTreebank("two", demo[half:])]
    settings = LearningSettings(updates=40, words=300, members=2, hidden=8)
    scorer = learn(treebanks, settings, seed=2)
    again = learn(treebanks, settings, seed=2)
    assert all((scorer.weights[name] == again.weights[name]).all() for name in scorer.weights)
    parser = TextScorer(scorer, scorer.profile_and_teacher(demo)[0], band_of_forms(demo))
    text = parser.encode(demo)
    assert text.heads is not None
    at, right, next_word = 0, 0, 0
    scores = parser.log_probabilities(text)
    for s, n in enumerate(text.lengths.tolist()):
        gold = text.heads[text.start[s] : text.start[s + 1]]
        right += int((scores[at : at + n * (n + 1)].reshape(n + 1, n).argmax(0) == gold).sum())
        next_word += int((np.arange(2, n + 2) == gold).sum())
        at += n * (n + 1)
    assert right > 1.3 * next_word
