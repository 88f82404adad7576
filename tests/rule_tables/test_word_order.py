"""What texts show of their word order, and what the prior makes of it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from wording import Wording

from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.errors import ModelError
from dynet_vdgi.rule_tables.measures import Text
from dynet_vdgi.rule_tables.prior import Prior
from dynet_vdgi.rule_tables.rules import load_rules, parse_rules
from dynet_vdgi.rule_tables.statistics import Statistics
from dynet_vdgi.settings.bundled import rules_path

ORDER = parse_rules("[order] (c)\nreading order = CONJ\nverb-final = 0.7 VERB AUX").table
BEST = load_rules(rules_path("best"))
tag = st.sampled_from(["NOUN", "VERB", "AUX", "ADP", "DET", "CONJ", "SCONJ", "PROPN", "PRON"])
sentences = st.lists(tag, min_size=1, max_size=7).map(tuple)


def test_edges_are_counted_in_sentences_of_two_words_or_more():
    text = [["DET", "NOUN", "VERB"], ["NOUN", "DET"], ["ADP"], []]
    measured = Statistics.measure(text)
    assert measured == Statistics(2, {"DET": 1, "NOUN": 1}, {"DET": 1, "VERB": 1})
    assert Statistics.measure([]) == Statistics()


@pytest.mark.parametrize("counts", [{"NOUN": -1}, {"NOUN": "1"}, {"NOUN": float("nan")}])
def test_counts_of_a_model_file_are_checked(counts, wording: Wording):
    """A damaged file that said -1 ended in a division by zero."""
    stored = Text(Statistics.measure([["NOUN", "VERB"]])).to_json()
    assert Text.from_json(stored).order.last == {"VERB": 1}
    stored["order"]["last"] = counts
    with wording.raises(ModelError):
        Text.from_json(stored)


def test_final_verbs_are_taken_away_from_verb_final_texts():
    text = [["NOUN", "ADP", "VERB", "AUX"]] * 8 + [["VERB", "NOUN"]] * 2 + [["DET", "NOUN"]] * 5
    measured = Statistics.measure(text, ORDER)
    assert measured.is_verb_final
    assert measured.first == {"DET": 5, "NOUN": 8, "VERB": 2}
    assert measured.last == {"ADP": 8, "NOUN": 7}
    assert measured.asymmetry("ADP") == pytest.approx(-np.log(9))
    assert Statistics.measure(text).last == {"AUX": 8, "NOUN": 7}  # without a table


def test_a_few_final_conjunctions_do_not_turn_a_text_round():
    few, many = ([["NOUN", "CONJ"]] * n + [["DET", "NOUN"]] * 50 for n in (8, 9))
    assert not Statistics.measure(few, ORDER).is_mirrored
    assert Statistics.measure(many, ORDER).is_mirrored
    assert not Statistics.measure(many).is_mirrored  # nothing says that CONJ is a conjunction
    assert Statistics.measure(many, ORDER).first == {"CONJ": 9, "NOUN": 50}


@given(text=st.lists(sentences, max_size=20), tags=sentences)
def test_the_mirror_image_of_a_text_has_the_mirror_image_of_its_prior(text, tags):
    text = [*text, *[("CONJ", "ADP", "NOUN")] * 40]
    original = Prior.of_text(BEST, map(Sentence.of_tags, text))
    mirrored = Prior.of_text(BEST, [Sentence.of_tags(sentence[::-1]) for sentence in text])
    assert mirrored.statistics.is_mirrored
    assert not original.statistics.is_mirrored
    expected, found = (
        prior.potentials(Sentence.of_tags(order))
        for prior, order in ((original, tags), (mirrored, tags[::-1]))
    )
    n = len(tags)
    for dependent in range(1, n + 1):
        assert found[0, n + 1 - dependent] == expected[0, dependent]
        for head in range(1, n + 1):
            assert found[n + 1 - head, n + 1 - dependent] == expected[head, dependent]


def arc(rules: str, text: list[list[str]], tags: str, head: int, dependent: int) -> float:
    table = parse_rules(f"[p] (c)\nrule strength = 1\nverb-final = .7 VERB\n{rules}")
    prior = Prior.of_text(table, map(Sentence.of_tags, text))
    return float(prior.potentials(Sentence.of_tags(tags.split()))[head, dependent])


def test_exceptions_may_be_about_verb_final_texts_only():
    final, other = [["NOUN", "VERB"]] * 3, [["VERB", "NOUN"]] * 3
    only = "VERB VERB 1\nexcept VERB VERB -2 right if verb-final\nexcept VERB VERB 3 left unless verb-final"
    for text, right, left in ((final, -2, 1), (other, 1, 3)):
        assert arc(only, text, "VERB VERB", 1, 2) == right
        assert arc(only, text, "VERB VERB", 2, 1) == left


def test_subordinators_that_end_clauses_bar_nothing():
    rules = "subordinator = SCONJ\nclause barrier = 2 NOUN"
    assert arc(rules, [["SCONJ", "NOUN"]], "NOUN SCONJ VERB", 3, 1) == -2
    assert arc(rules, [["NOUN", "NOUN"]], "NOUN SCONJ VERB", 3, 1) == -2
    assert arc(rules, [["NOUN", "SCONJ"]], "NOUN SCONJ VERB", 3, 1) == 0
