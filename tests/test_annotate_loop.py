"""Learning while somebody annotates, without the page."""

from __future__ import annotations

import multiprocessing
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from brute_force import is_tree
from few import trees

from dynet_vdgi.annotation import loop
from dynet_vdgi.annotation.helpers import HelperError, Helpers, Told
from dynet_vdgi.data.conllu import read
from dynet_vdgi.data.sentence import FREE, Sentence
from dynet_vdgi.data.treebank import without_punctuation
from dynet_vdgi.errors import UsageError
from dynet_vdgi.grammar.prior import Prior
from dynet_vdgi.grammar.rules import load_rules
from dynet_vdgi.settings.bundled import rules_path
from dynet_vdgi.settings.presets import load_settings

DEMO = Path(__file__).parents[1] / "resources" / "demo" / "demo-ud-dev.conllu"


def odd(tree: Sentence) -> Sentence:
    """A tree that no rule table expects: determiners and adjectives hang from the root."""
    heads = tree.heads or ()
    root = heads.index(0) + 1
    return replace(tree, heads=tuple(root if t in ("DET", "ADJ") else h for t, h in zip(tree.tags, heads)))


GOLD = [odd(tree) for tree in trees(40)]
TEXT = [replace(one, heads=None, deprels=()) for one in GOLD]


@pytest.fixture(scope="module")
def knowledge() -> loop.Knowledge:
    found = loop.knowledge_of(TEXT)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def learnt(knowledge: loop.Knowledge) -> loop.Learnt:
    return loop.learn(knowledge, GOLD[:12])


def accuracy(guesses: list) -> float:
    return float(np.mean([a == b for g, one in zip(guesses, GOLD) for a, b in zip(g.heads, one.heads)]))


def test_what_is_confirmed_makes_the_guesses_better(knowledge: loop.Knowledge, learnt: loop.Learnt) -> None:
    before = loop.learn(knowledge, []).guesses(TEXT)
    after = learnt.guesses(TEXT)
    assert accuracy(after) > 0.9 > accuracy(before)
    for guess, one in zip(after, TEXT):
        assert is_tree(guess.heads)
        assert len(guess.heads) == len(guess.labels) == len(guess.sure) == len(one)
        assert all((label == "root") == (head == 0) for label, head in zip(guess.labels, guess.heads))


def test_single_arcs_are_learnt_from(knowledge: loop.Knowledge) -> None:
    partial = [
        replace(one, heads=tuple(FREE if d % 2 else h for d, h in enumerate(one.heads)), deprels=())
        for one in GOLD
    ]
    assert accuracy(loop.learn(knowledge, partial).guesses(TEXT)) > accuracy(
        loop.learn(knowledge, []).guesses(TEXT)
    )


def test_confirmed_heads_are_in_every_guess_even_where_they_cross(learnt: loop.Learnt) -> None:
    for sentence in TEXT[:6]:
        n_words = len(sentence)
        for head in range(n_words):
            fixed = replace(sentence, heads=(*(FREE,) * (n_words - 1), head), deprels=("_",) * n_words)
            for guess in (learnt.guess(fixed), *learnt.guesses([fixed])):
                assert is_tree(guess.heads)
                assert guess.heads[-1] == head
    crossing = replace(TEXT[0], heads=(3, 4, FREE, 0, FREE))
    guess = learnt.guess(crossing)
    assert is_tree(guess.heads)
    assert (guess.heads[0], guess.heads[1], guess.heads[3]) == (3, 4, 0)


def test_words_before_the_corrected_one_stay_if_they_can(
    learnt: loop.Learnt, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "HELD", 50.0)
    sentence = replace(TEXT[0], heads=(FREE, FREE, FREE, 3, FREE))
    shown = (2, 3, 0, 5, 3)
    assert learnt.guess(sentence, shown, corrected=4).heads[:3] == (2, 3, 0)
    assert learnt.guess(sentence, shown, corrected=0).heads[0] == 3


def test_a_long_sentence_is_parsed_in_linear_time(learnt: loop.Learnt) -> None:
    long = Sentence(("a",) * 100, ("NOUN", "VERB") * 50, heads=(FREE,) * 99 + (1,), deprels=("_",) * 100)
    guess = learnt.guess(long)
    assert is_tree(guess.heads)
    assert guess.heads[99] == 1


def test_a_long_text_is_sampled_evenly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "MOST_TEXT", 15)
    found = loop.knowledge_of(TEXT)
    assert found is not None
    assert [one.forms for one in found.text] == [one.forms for one in TEXT[::3]]
    assert len(found.votes) == len(found.text)


def test_a_text_of_single_words_tells_nothing() -> None:
    assert loop.knowledge_of([Sentence(("a",), ("X",))]) is None


def test_the_next_sentences_are_none_that_are_done(learnt: loop.Learnt) -> None:
    done = [k < 20 for k in range(40)]
    chosen = loop.next_ones(TEXT, done, learnt.guesses(TEXT), 5)
    assert len(chosen) == 5
    assert all(k >= 20 for k in chosen)


def test_a_model_goes_from_process_to_process(learnt: loop.Learnt) -> None:
    assert pickle.loads(pickle.dumps(learnt)).guess(TEXT[3]) == learnt.guess(TEXT[3])


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_helpers_learn_and_parse_as_the_loop_does() -> None:
    gold = [without_punctuation(s)[0] for s in read(DEMO)][:60]
    text = [replace(one, heads=None, deprels=()) for one in gold]
    knowledge = loop.knowledge_of(text)
    assert knowledge is not None
    helpers = Helpers()
    try:
        assert helpers.guess(text[0], (), 0) is None
        assert helpers.read(text)
        told = [Told(k, gold[k].heads or (), gold[k].deprels, k < 10) for k in range(11)]
        lesson = helpers.learn(told)
        expected = loop.learn(knowledge, [replace(gold[k], gaps=text[k].gaps) for k in range(11)])
        assert sorted(lesson.guesses) == [k for k in range(10, 60) if len(text[k])]
        assert lesson.guesses[10].heads == gold[10].heads
        assert lesson.guesses[30] == expected.guesses([text[30]])[0]
        assert lesson.next_ones
        assert min(lesson.next_ones) >= 10
        assert helpers.guess(text[30], (), 0) == expected.guess(text[30])
        for process in multiprocessing.active_children():
            process.kill()
        with pytest.raises(HelperError, match="has ended"):
            helpers.learn(told)
    finally:
        helpers.stop()


def test_the_page_learns_by_the_recipe_under_the_rules_and_facts_that_are_named(tmp_path: Path) -> None:
    usual = loop.Course.of()
    assert usual.settings == load_settings("few-trees")
    (tmp_path / "facts.txt").write_text("objects = before\n", encoding="utf-8")
    course = loop.Course.of(["best"], "best-tags", str(tmp_path / "facts.txt"))
    assert course.settings == load_settings("few-trees", ["rules=best-tags"])
    assert course.rules.text == load_rules(rules_path("best-tags")).text
    knowledge = loop.knowledge_of(TEXT, course)
    assert knowledge is not None
    base = Prior.of_text(course.rules, knowledge.text, course.facts)
    assert knowledge.base.text == base.text
    for preset in ("paper", "transfer"):
        with pytest.raises(UsageError, match="use --preset best, or few-trees"):
            loop.Course.of(preset)
