"""Tags with probabilities: what is expected of them is the mean over all tags, and certain tags
change nothing."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from dynet_vdgi.conllu import filtering, protocols
from dynet_vdgi.conllu import reading as conllu
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.conllu.soft_tags import SoftTags
from dynet_vdgi.parser.decoding import find
from dynet_vdgi.parser.universal_engine import UniversalEngine
from dynet_vdgi.settings.bundled import resources
from dynet_vdgi.universal import arc_flags
from dynet_vdgi.universal.arc_flags import ArcWords, ArcWorkspace
from dynet_vdgi.universal.encoding import TAGS
from dynet_vdgi.universal.scorer import TextScorer, flags_of_arcs
from dynet_vdgi.universal.soft_text import soft_text
from dynet_vdgi.universal.stored import Measures
from tests import universal_toys
from tests.by_numba import ByNumba


def certain(sentence: Sentence) -> Sentence:
    """The sentence with its own tags and FEATS as certain guesses."""
    nothing = SoftTags(
        (), np.zeros((len(sentence), 0), np.float32), (), np.zeros((len(sentence), 0), np.float32)
    )
    feats = sentence.feats or ("_",) * len(sentence)
    return replace(
        sentence, soft=nothing.with_certain_tags(zip(range(len(sentence)), sentence.tags, feats))
    )


@pytest.fixture(scope="module")
def sentences() -> list[Sentence]:
    read = conllu.read(resources() / "demo" / "demo-ud-train.conllu", heads="required")
    return list(filtering.prepare(read, protocols.STANDARD).sentences)[:60]


@pytest.fixture(scope="module")
def in_text(sentences: list[Sentence]) -> TextScorer:
    scorer = universal_toys.scorer(spread=0.2)
    return Measures.of(scorer, sentences).parser(scorer)


def doubtful(seed: int, n: int, doubts: int = 2) -> Sentence:
    """A sentence whose words have two tags each, and two values of Case."""
    rng = np.random.default_rng(seed)
    chances = np.zeros((n, len(TAGS)), np.float32)
    for row in chances:
        row[rng.choice(len(TAGS), doubts, replace=False)] = rng.dirichlet(np.ones(doubts) * 5)
    cases = rng.dirichlet(np.ones(3), n)[:, :2].astype(np.float32)
    soft = SoftTags(TAGS, chances, ("Case=Nom", "Case=Gen"), cases)
    best = tuple(TAGS[k] for k in chances.argmax(1))
    return replace(Sentence.of_tags(best), soft=soft)


def test_certain_guesses_give_the_scores_of_given_tags(sentences, in_text):
    given, guessed = in_text.encode(sentences), in_text.encode(list(map(certain, sentences)))
    assert given.soft is None
    assert guessed.soft is not None
    ours, theirs = in_text.log_probabilities(guessed), in_text.log_probabilities(given)
    possible = theirs > -1e20
    assert possible.any()
    np.testing.assert_allclose(ours[possible], theirs[possible], atol=2e-5)
    heads = np.array([head for s in sentences for head in s.heads])
    np.testing.assert_allclose(
        in_text.relations(guessed, heads), in_text.relations(given, heads), atol=2e-5
    )
    np.testing.assert_array_equal(flags_of_arcs(guessed, heads), flags_of_arcs(given, heads))


def readings(sentence: Sentence) -> list[tuple[float, Sentence]]:
    """All tags and values of Case that a sentence's words may have, independently, with their
    probabilities."""
    soft = sentence.soft
    of_words = []
    for tags, cases in zip(soft.chances.tolist(), soft.expected.tolist()):
        nom, gen = cases
        values = [("Case=Nom", nom), ("Case=Gen", gen), ("_", 1 - nom - gen)]
        of_words.append([(p * q, t, f) for t, p in zip(TAGS, tags) if p > 0 for f, q in values])
    found = []
    for words in product(*of_words):
        chances, tags, feats = zip(*words)
        found.append(
            (float(np.prod(chances)), replace(sentence, tags=tags, feats=feats, soft=None))
        )
    return found


@pytest.mark.parametrize("seed", range(4))
def test_flags_and_numbers_of_pairs_are_means_over_all_tags(in_text, seed):
    """With one word between two others each flag is linear in the probabilities of each word, so
    the mean is exact."""
    sentence = doubtful(seed, 3)
    for heads in ((3, 0, 2), (2, 0, 1), (0, 3, 1), (2, 3, 0)):
        its = np.array(heads)
        text = in_text.encode([sentence])
        mean_flags, mean_pairs = 0.0, 0.0
        for chance, reading in readings(sentence):
            sure = in_text.encode([reading])
            mean_flags = mean_flags + chance * flags_of_arcs(sure, its)
            mean_pairs = mean_pairs + chance * pairs_of(in_text, sure, its)
        # of what is below NOTHING
        np.testing.assert_allclose(flags_of_arcs(text, its), mean_flags, atol=2e-3)
        np.testing.assert_allclose(pairs_of(in_text, text, its), mean_pairs, atol=1e-5)


def pairs_of(in_text: TextScorer, text: Any, heads: Any) -> Any:
    n = len(heads)
    side = (heads <= np.arange(n)).astype(np.int64)
    return in_text._pairs(text, np.where(heads == 0, n, heads - 1), side)


def test_arcs_by_their_formula(in_text):
    """A score is w . relu(what the words, the mean numbers and the mean flags add) + the parts that
    are straight."""
    sentence = doubtful(7, 6)
    text, w = in_text.encode([sentence]), in_text.scorer.weights
    z, n = in_text._words(text), 6
    found = in_text.log_probabilities(text).reshape(n + 1, n)
    table = w["straight.pairs"].reshape(17, 16, 2, 8)
    chances = text.soft.chances
    for d in range(1, n + 1):
        scores = []
        for h in range(n + 1):
            if h == d:
                continue
            heads = np.zeros(n, np.int64)
            heads[d - 1] = h
            flags, numbers = (
                flags_of_arcs(text, heads)[d - 1],
                pairs_of(in_text, text, heads)[d - 1],
            )
            of_head = z[h - 1] if h else w["root"]
            hidden = w["arc.head"] @ of_head + w["arc.dependent"] @ z[d - 1] + w["arc.bias"]
            hidden = hidden + w["arc.numbers"] @ numbers + w["arc.flags"] @ flags
            distance = int(np.flatnonzero(flags[:16])[0]) % 8 if h else 0
            tags = np.append(chances[h - 1], 0) if h else np.eye(17)[16]
            straight = tags @ table[:, :, int(d > h), distance] @ chances[d - 1]
            straight += w["straight.flags"][0] @ flags + w["straight.numbers"][0] @ numbers
            scores.append(w["arc.out"][0] @ np.maximum(hidden, 0) + straight)
        scores = np.array(scores)
        expected_log_p = scores - np.log(np.exp(scores - scores.max()).sum()) - scores.max()
        np.testing.assert_allclose(np.delete(found[:, d - 1], d), expected_log_p, atol=1e-4)


def test_the_kernel_and_python_agree(in_text):
    text = in_text.encode([doubtful(k, 9, doubts=4) for k in range(5)])
    z, w = in_text._words(text), in_text.scorer.weights
    heads, dependents = (
        np.ascontiguousarray(z @ w[f"arc.{part}"].T) for part in ("head", "dependent")
    )
    found = []
    for function in (arc_flags.score_arcs.plain, ByNumba(arc_flags).score_arcs):
        found.append(np.zeros(5 * 90, np.float32))
        words, room = ArcWords.of(text), ArcWorkspace.of(9, len(w["arc.bias"]))
        function(in_text._arc_weights, heads, dependents, words, room, text.start, found[-1])
    np.testing.assert_allclose(found[0], found[1], atol=1e-4)


def test_unlikely_tags_are_left_out_and_others_are_of_x():
    chances = np.array([[0.995, 0.005, 0, 0], [0.3, 0, 0.3, 0.4], [0, 0, 1, 0]], np.float32)
    soft = SoftTags(("NOUN", "VERB", "PUNCT", "strange"), chances, (), np.zeros((3, 0), np.float32))
    text = soft_text([replace(Sentence.of_tags(["NOUN", "NOUN", "NOUN"]), soft=soft)], ())
    noun, x = TAGS.index("NOUN"), TAGS.index("X")
    assert text.chances[0].tolist() == [float(k == noun) for k in range(16)]
    assert text.chances[1, [noun, x]].tolist() == pytest.approx([3 / 7, 4 / 7])
    # a word that is certainly punctuation, for a parser that keeps it
    assert text.chances[2, x] == 1
    assert text.n_tags.tolist() == [1, 2, 1]


def test_given_tags_are_parsed_to_the_bit_as_without_guesses_beside_them(sentences, in_text):
    model = universal_toys.model()
    model.parameters.update(Measures.of(in_text.scorer, sentences).arrays())
    engine = UniversalEngine(model)
    mixed = [doubtful(k, len(s)) if k % 3 == 1 else s for k, s in enumerate(sentences)]
    alone = find(engine, [s for s in mixed if s.soft is None], margins=True)
    beside = [found for s, found in zip(mixed, find(engine, mixed, margins=True)) if s.soft is None]
    for one, other in zip(alone, beside, strict=True):
        assert one.heads == other.heads
        assert one.margins.tolist() == other.margins.tolist()


def test_words_with_given_tags_are_certain():
    soft = doubtful(1, 3).soft.with_certain_tags(
        [(1, "NOUN", "Case=Dat|Number=Sing"), (2, "odd", "_")]
    )
    assert soft.chances[0].sum() == pytest.approx(1)
    assert dict(zip(soft.tags, soft.chances[1].tolist()))["NOUN"] == 1 == soft.chances[1].sum()
    assert dict(zip(soft.tags, soft.chances[2].tolist()))["odd"] == 1
    values = dict(zip(soft.features, soft.expected[1].tolist()))
    assert values == {"Case=Nom": 0, "Case=Gen": 0, "Case=Dat": 1, "Number=Sing": 1}
    assert soft.expected[2].tolist() == [0, 0, 0, 0]


def test_guesses_follow_their_words():
    sentence = replace(
        doubtful(3, 4), tags=("NOUN", "PUNCT", "VERB", "PUNCT"), forms=("a", ",", "b", ".")
    )
    from dynet_vdgi.conllu.punctuation import without_punctuation

    bare, _ = without_punctuation(sentence)
    np.testing.assert_array_equal(bare.soft.chances, sentence.soft.chances[[0, 2]])
    np.testing.assert_array_equal(bare.soft.expected, sentence.soft.expected[[0, 2]])
    assert bare.ignoring(["feats"]).soft.features == ()


def test_a_guess_that_is_certain_is_scored_to_the_bit_as_a_given_tag(sentences, in_text):
    given = in_text.encode([replace(s, soft=None) for s in sentences])
    words = ArcWords.of(given)
    values = sorted({*words.agreeing.ravel().tolist()} - {0})
    one_hot = np.concatenate([words.agreeing[:, [k]] == values for k in range(4)], axis=1)
    guessed = words._replace(
        agreeing=np.full_like(words.agreeing, arc_flags.GUESSED),
        values=one_hot.astype(np.float32),
        ends=np.arange(5) * len(values),
    )
    z, w = in_text._words(given), in_text.scorer.weights
    heads, dependents = (
        np.ascontiguousarray(z @ w[f"arc.{part}"].T) for part in ("head", "dependent")
    )
    found = []
    for each in (words, guessed):
        found.append(np.zeros(int((given.lengths * (given.lengths + 1)).sum()), np.float32))
        room = ArcWorkspace.of(int(given.lengths.max()), len(w["arc.bias"]))
        arguments = each, room, given.start, found[-1]
        ByNumba(arc_flags).score_arcs(in_text._arc_weights, heads, dependents, *arguments)
    assert np.array_equal(*found)
