"""Learning while somebody annotates, without the page."""

from __future__ import annotations

import multiprocessing
import signal
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from brute_force import is_tree
from few import trees
from wording import Wording

from dynet_vdgi.conllu.punctuation import without_punctuation
from dynet_vdgi.conllu.reading import read
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.conllu.tree_faults import FREE
from dynet_vdgi.errors import UsageError
from dynet_vdgi.page.learn import arc_lessons, tag_lessons
from dynet_vdgi.page.learn.learner import Learner
from dynet_vdgi.page.learn.remote import LearningError
from dynet_vdgi.page.text.guesses import TagGuess
from dynet_vdgi.rule_tables.prior import Prior
from dynet_vdgi.rule_tables.rules import load_rules
from dynet_vdgi.settings.bundled import rules_path
from dynet_vdgi.settings.presets import load_settings
from dynet_vdgi.words.tagger.tagger import Tagger

DEMO = Path(__file__).parents[2] / "resources" / "demo" / "demo-ud-dev.conllu"


def odd(tree: Sentence) -> Sentence:
    """A tree that no rule table expects: determiners and adjectives hang from the root."""
    heads = tree.heads or ()
    root = heads.index(0) + 1
    return replace(
        tree, heads=tuple(root if t in ("DET", "ADJ") else h for t, h in zip(tree.tags, heads))
    )


GOLD = [odd(tree) for tree in trees(40)]
TEXT = [replace(one, heads=None, deprels=()) for one in GOLD]


@pytest.fixture(scope="module")
def knowledge() -> arc_lessons.Knowledge:
    found = arc_lessons.knowledge_of(TEXT)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def learnt(knowledge: arc_lessons.Knowledge) -> arc_lessons.Learnt:
    return arc_lessons.learn(knowledge, GOLD[:12])


def accuracy(guesses: list) -> float:
    return float(
        np.mean([a == b for g, one in zip(guesses, GOLD) for a, b in zip(g.heads, one.heads)])
    )


def test_what_is_confirmed_makes_the_guesses_better(
    knowledge: arc_lessons.Knowledge, learnt: arc_lessons.Learnt
) -> None:
    before = arc_lessons.learn(knowledge, []).guesses(TEXT)
    after = learnt.guesses(TEXT)
    assert accuracy(after) > 0.9 > accuracy(before)
    for guess, one in zip(after, TEXT):
        assert is_tree(guess.heads)
        assert len(guess.heads) == len(guess.labels) == len(guess.sure) == len(one)
        assert all(
            (label == "root") == (head == 0) for label, head in zip(guess.labels, guess.heads)
        )


def test_single_arcs_are_learnt_from(knowledge: arc_lessons.Knowledge) -> None:
    partial = [
        replace(one, heads=tuple(FREE if d % 2 else h for d, h in enumerate(one.heads)), deprels=())
        for one in GOLD
    ]
    assert accuracy(arc_lessons.learn(knowledge, partial).guesses(TEXT)) > accuracy(
        arc_lessons.learn(knowledge, []).guesses(TEXT)
    )


def test_confirmed_heads_are_in_every_guess_even_where_they_cross(
    learnt: arc_lessons.Learnt,
) -> None:
    for sentence in TEXT[:6]:
        n_words = len(sentence)
        for head in range(n_words):
            fixed = replace(
                sentence, heads=(*(FREE,) * (n_words - 1), head), deprels=("_",) * n_words
            )
            for guess in (learnt.guess(fixed), *learnt.guesses([fixed])):
                assert is_tree(guess.heads)
                assert guess.heads[-1] == head
    crossing = replace(TEXT[0], heads=(3, 4, FREE, 0, FREE))
    guess = learnt.guess(crossing)
    assert is_tree(guess.heads)
    assert (guess.heads[0], guess.heads[1], guess.heads[3]) == (3, 4, 0)


def test_a_lesson_after_that_of_the_beginning_is_as_if_it_were_the_first(
    learnt: arc_lessons.Learnt,
) -> None:
    lessons = arc_lessons.Lessons()
    confirmed, whole = dict(enumerate(GOLD[:12])), dict(enumerate(TEXT))
    beginning = lessons.learn(confirmed, range(12), dict(enumerate(TEXT[20:30], 20)))
    assert beginning is not None
    assert sorted(beginning[0].guesses) == list(range(20, 30))
    assert len(beginning[1].guess(TEXT[35]).heads) == len(TEXT[35])
    found = lessons.learn(confirmed, range(12), whole)
    assert found is not None
    assert found[0].guesses == dict(zip(range(12, 40), learnt.guesses(TEXT[12:])))
    assert found[0].guesses[20] != beginning[0].guesses[20]


def test_words_before_the_corrected_one_stay_if_they_can(
    learnt: arc_lessons.Learnt, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arc_lessons, "HELD", 50.0)
    sentence = replace(TEXT[0], heads=(FREE, FREE, FREE, 3, FREE))
    shown = (2, 3, 0, 5, 3)
    assert learnt.guess(sentence, shown, corrected=4).heads[:3] == (2, 3, 0)
    assert learnt.guess(sentence, shown, corrected=0).heads[0] == 3


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_learner_learns_and_parses_as_the_loop_does() -> None:
    gold = [without_punctuation(s)[0] for s in read(DEMO)][:60]
    text = [replace(one, heads=None, deprels=()) for one in gold]
    knowledge = arc_lessons.knowledge_of(text)
    assert knowledge is not None
    learner = Learner()
    try:
        assert learner.answer("parser", "guess", text[0], (), 0) is None
        assert learner.answer("tagger", "choices", gold[0]) is None
        assert learner.answer("parser", "likely", text[0]) is None
        untagged_rest = {k: one if k < 10 else untagged(one) for k, one in enumerate(gold[:20])}
        tags = learner.learn("tagger", untagged_rest, range(10))
        assert tags is not None
        assert sorted(tags.guesses) == list(range(10, 20))
        choices = learner.answer("tagger", "choices", gold[15])
        assert len(choices) == len(gold[15])
        told = {k: replace(gold[k], gaps=text[k].gaps) for k in range(11)}
        lesson = learner.learn("parser", told, range(10), dict(enumerate(text)))
        assert lesson is not None
        expected = arc_lessons.learn(
            knowledge, [replace(gold[k], gaps=text[k].gaps) for k in range(11)]
        )
        assert sorted(lesson.guesses) == [k for k in range(10, 60) if len(text[k])]
        assert lesson.guesses[10].heads == gold[10].heads
        assert lesson.guesses[30] == expected.guesses([text[30]])[0]
        assert lesson.next_ones
        assert min(lesson.next_ones) >= 10
        found, own = learner.answer("parser", "guess", text[30], (), 0), expected.guess(text[30])
        assert found[:2] == own[:2]
        # sums of one sentence, and of many at once
        assert found.sure == pytest.approx(own.sure, abs=1e-5)
    finally:
        learner.stop()
    with pytest.raises(LearningError, match="has ended"):
        learner.learn("parser", told, [], {})
    assert multiprocessing.active_children() == []


def test_a_killed_learner_is_replaced_and_its_models_stay(caplog: pytest.LogCaptureFixture) -> None:
    learner = Learner()
    tagged = dict(enumerate(GOLD[:10]))
    try:
        learner.learn("tagger", tagged, [])
        before = learner.answer("tagger", "choices", GOLD[0])
        for process in multiprocessing.active_children():
            process.kill()
        assert learner.answer("tagger", "choices", GOLD[0]) == before
        assert learner.learn("tagger", tagged, []).n_words == sum(map(len, GOLD[:10]))
        assert caplog.messages == ["the process that learns died; another one does its work"] * 2
        assert len(multiprocessing.active_children()) == 2
    finally:
        learner.stop()


def test_a_lesson_that_kills_its_process_twice_is_given_up() -> None:
    learner = Learner()
    try:
        with pytest.raises(LearningError, match="has ended"):
            learner.learn("tagger", {0: Deadly()}, [])
        assert learner.learn("tagger", dict(enumerate(GOLD[:10])), []) is not None
    finally:
        learner.stop()


def test_a_process_that_cannot_be_started_is_an_error_of_learning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    learner = Learner()
    try:
        for process in multiprocessing.active_children():
            process.kill()
        monkeypatch.setattr(multiprocessing.get_context("spawn").Process, "start", _fail)
        with pytest.raises(LearningError, match="no process can be started: there is no room"):
            learner.learn("tagger", {}, [])
    finally:
        learner.stop()


def _fail(*_: object) -> None:
    raise OSError("there is no room")


class Deadly:
    """Kills the process that reads it."""

    def __reduce__(self) -> tuple[object, ...]:
        return signal.raise_signal, (signal.SIGTERM,)


def test_a_lesson_that_fails_is_reported_and_the_next_one_is_given() -> None:
    learner = Learner()
    try:
        with pytest.raises(LearningError, match="AttributeError"):
            learner.learn("tagger", {0: "no sentence"}, [])
        assert learner.learn("tagger", dict(enumerate(GOLD[:10])), []) is not None
        with pytest.raises(LearningError, match="AttributeError"):
            learner.answer("tagger", "choices", "no sentence")
    finally:
        learner.stop()


def test_the_page_learns_by_the_recipe_under_the_rules_and_facts_that_are_named(
    tmp_path: Path,
    wording: Wording,
) -> None:
    usual = arc_lessons.Course.of()
    assert usual.settings == load_settings("universal-trees")
    (tmp_path / "facts.txt").write_text("objects = before\n", encoding="utf-8")
    course = arc_lessons.Course.of(["best"], "best-tags", str(tmp_path / "facts.txt"))
    assert course.settings == load_settings("few-trees", ["rules=best-tags"])
    assert course.rules.text == load_rules(rules_path("best-tags")).text
    knowledge = arc_lessons.knowledge_of(TEXT, course)
    assert knowledge is not None
    base = Prior.of_text(course.rules, knowledge.text, course.facts)
    assert knowledge.base.text == base.text
    for preset in ("fixed-lambda", "supervised"):
        with wording.raises(UsageError):
            arc_lessons.Course.of(preset)


def untagged(sentence: Sentence) -> Sentence:
    """The words alone."""
    return Sentence(sentence.forms, ("_",) * len(sentence))


def tags_right(found: Mapping[int, TagGuess], gold: Sequence[Sentence]) -> float:
    return float(
        np.mean([a == b for k, guess in found.items() for a, b in zip(guess.tags, gold[k].tags)])
    )


def test_tags_are_learnt_from_those_of_a_person_and_doubtful_sentences_come_first() -> None:
    gold = list(read(DEMO))[:80]
    lessons = tag_lessons.TagLessons()
    text = {k: untagged(one) for k, one in enumerate(gold)}
    assert lessons.learn(text, [], 5) is None
    text |= dict(enumerate(gold[:12]))
    found = lessons.learn(text, range(12), 5)
    assert found is not None
    lesson, tagger = found
    assert sorted(lesson.guesses) == list(range(12, 80))
    counts = Counter(tag for one in gold[12:] for tag in one.tags)
    assert tags_right(lesson.guesses, gold) > 0.3 + counts.most_common(1)[0][1] / counts.total()
    assert len(lesson.next_ones) == 5
    means = {
        k: np.mean(guess.chances)
        for k, guess in lesson.guesses.items()
        if 3 <= len(guess.tags) <= 30
    }
    assert lesson.next_ones[0] == min(means, key=lambda k: means[k])
    partial = replace(gold[20], tags=("_", *gold[20].tags[1:]), feats=(), lemmas=(), xpos=())
    found = lessons.learn({**text, 20: partial}, range(12), 5)
    assert found is not None
    assert found[0].guesses[20].chances[1:] == (1.0,) * (len(partial) - 1)
    for word, choices in zip(gold[40].tags, tagger.choices(gold[40])):
        assert sum(p for _, p in choices.tags) == pytest.approx(1)
        assert choices.tags[0][1] == max(p for _, p in choices.tags)
        assert len(choices.bundles) <= 5
        assert word


def test_a_first_tagger_proposes_tags_and_teaches_until_a_person_has(tmp_path: Path) -> None:
    gold = list(read(DEMO))[:60]
    path = str(tmp_path / "first.tagger")
    Tagger().fit(gold[:20]).save(path)
    lessons = tag_lessons.TagLessons(path)
    text = {k: untagged(one) for k, one in enumerate(gold) if k >= 20}
    found = lessons.learn(text, [], 5)
    assert found is not None
    first = tags_right(found[0].guesses, gold)
    assert first > 0.7
    tagged = Tagger.load(path).predict(text.values())[0]
    guess = found[0].guesses[20]  # all that the tagger gives
    assert guess[2:5] == (tagged.lemmas, tagged.xpos, tagged.feats)
    assert {*tagged.feats} - {"_"}
    found = lessons.learn({**text, **{k: gold[k] for k in range(20, 24)}}, range(20, 24), 5)
    assert found is not None
    assert found[1] is not lessons.first
    assert tags_right(found[0].guesses, gold) > first - 0.05
    assert tag_lessons.learn_tags({0: untagged(gold[0])}, []) is None
