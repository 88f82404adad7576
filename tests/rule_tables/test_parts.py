"""Each part of a rule table by itself: what it finds in a text and how it counts.

Arcs and readings of single sentences are in test_arcs.py."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from said import arcs, prior, said, tagged
from wording import Wording

from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.errors import ConfigError
from dynet_vdgi.rule_tables.parts.phrases import objects
from dynet_vdgi.rule_tables.parts.predicates import predicate_of
from dynet_vdgi.rule_tables.prior import Prior
from dynet_vdgi.rule_tables.rules import load_rules, parse_rules
from dynet_vdgi.rule_tables.word_orders import Fact
from dynet_vdgi.settings.bundled import rules_path


def test_arcs_across_punctuation_lose_for_each_place_up_to_a_limit():
    sentence = said("a/X , b/X , c/X , d/X")
    found = arcs(prior("punctuation = 2 ; most 2", sentence), sentence)
    assert (found[1, 2], found[2, 1], found[1, 3], found[4, 1]) == (-2.0, -2.0, -4.0, -4.0)


MARKERS = "markers = 1 NOUN | VERB ; over DET NOUN"


def test_prepositions_after_nouns_mark_dependents_of_nouns():
    of = said("x/ADP y/VERB a/NOUN of/ADP b/NOUN")
    at = said("x/ADP a/NOUN y/VERB at/ADP b/NOUN")
    found = prior(MARKERS, *[of, at] * 20).text.findings["markers"]
    assert found["P:of"] > 0.5
    assert found["P:at"] < -0.5
    scored = arcs(prior(MARKERS, *[of, at] * 20), of)
    assert scored[3, 5] == round(min(1.5, found["P:of"]), 4) == -scored[2, 5]


def test_cases_count_for_or_against():
    gen, nom, dat = (said(f"a/NOUN/Case={case} b/NOUN c/VERB") for case in ("Gen", "Nom", "Dat"))
    of = prior(MARKERS + " ; case 1 ; for Gen ; weakly Nom", gen, nom, dat)
    plain = of.text.findings["markers"]
    assert arcs(of, gen)[2, 1] == pytest.approx(plain["C:Gen"] + 1, abs=1e-3)
    assert arcs(of, nom)[2, 1] == pytest.approx(plain["C:Nom"] - 0.3, abs=1e-3)
    assert arcs(of, dat)[2, 1] == pytest.approx(plain["C:Dat"] - 1, abs=1e-3)


def test_forms_with_bare_adjectives_beside_them_are_copulas():
    line = "copula = 1.7 VERB | ADJ ; least 5 ; as AUX ; predicate VERB"
    text = [said("a/NOUN is/VERB b/ADJ")] * 6 + [said("a/NOUN eats/VERB b/NOUN")] * 20
    of = prior(line, *text)
    assert of.text.findings["copula"] == ["is"]


@pytest.mark.parametrize(
    ("tags", "copula", "place"),
    [
        ("PRON AUX DET ADJ NOUN", 1, 4),
        ("PRON AUX ADJ", 1, 2),
        ("NOUN AUX ADP NOUN", 1, -1),
        ("ADJ ADV AUX", 2, 0),
    ],
)
def test_predicates_beside_copulas(tags, copula, place):
    assert predicate_of(tags.split(), copula) == place


def test_linkers_are_found_after_nouns_and_between_verbs():
    text = [said("a/VERB b/NOUN that/PRON c/VERB")] * 6 + [said("a/PRON b/VERB")] * 6
    of = prior("linker = 1.5 PRON | VERB ; share 0.7 ; after 0.3 ; symbol VERB+rel", *text)
    assert of.text.findings["linker"] == [("that", "PRON")]


@pytest.mark.parametrize(
    ("tags", "found"),
    [
        ("ADP DET NOUN", {0: 2}),
        ("ADP PRON VERB", {0: 2}),
        ("ADP PRON", {0: 1}),
        ("ADP ADP NOUN", {0: 2, 1: 2}),
        ("ADP NUM ADP NOUN", {0: 1, 2: 3}),
        ("NOUN ADP VERB", {1: 2}),
        ("ADP SCONJ", {}),
    ],
)
def test_objects_of_prepositions(tags, found):
    assert objects(tags.split(), True) == found


def test_frequent_words_are_symbols_of_the_last_stage():
    text = [said("of/ADP a/NOUN"), said("in/ADP a/NOUN")] * 5 + [said("to/ADP a/NOUN")]
    of = prior("words = ADP | NOUN ; most 2", *text)
    assert of.split_symbols(of.view(text[0])) == ["ADP=of", "NOUN=of"]
    assert of.split_symbols(of.view(text[-1])) == ["ADP=*", "NOUN=*"]
    assert of.split_symbols(of.view(tagged("ADP NOUN"))) == ["ADP", "NOUN"]


def test_lines_count_as_much_as_the_text_speaks_for_them():
    lines = [
        "measure late = ending VERB | VERB ; from 0.5 ; to 1",
        "from previous = 4 PART if late",
    ]
    text = [tagged("NOUN PART VERB")] * 60 + [tagged("VERB NOUN NOUN")] * 20
    of = prior(lines, *text)
    assert of.text.measures["late"] == pytest.approx(0.5 * 80 / 100)
    assert arcs(of, text[0]) == {(1, 2): pytest.approx(1.6)}
    assert arcs(prior(lines, *text[60:]), text[0]) == {}
    unless = [lines[0], "from previous = 4 PART unless late"]
    assert arcs(prior(unless, *text), text[0]) == {(1, 2): pytest.approx(2.4)}


@pytest.mark.parametrize(
    ("conditions", "factor"),
    [
        ("", lambda a, b, c: 1.0),
        ("if a", lambda a, b, c: a),
        ("if a and b", lambda a, b, c: a * b),
        ("unless c", lambda a, b, c: 1 - c),
        ("if a unless c", lambda a, b, c: a * (1 - c)),
        ("if a and b unless c", lambda a, b, c: a * b * (1 - c)),
        ("if a unless a", lambda a, b, c: a * (1 - a)),
    ],
)
def test_conditions_multiply_a_lines_number(conditions, factor):
    sentence = tagged("NOUN PART")
    for values in product((0.0, 0.25, 0.5, 1.0), repeat=3):
        lines = [
            *(f"measure {name} = told" for name in "abc"),
            f"from previous = 4 PART {conditions}",
        ]
        facts = {name: Fact(value) for name, value in zip("abc", values)}
        found = Prior.of_text(parse_rules("\n".join(["[p] (c)", *lines])), [sentence], facts)
        expected = 4 * factor(*values)
        assert arcs(found, sentence) == (
            {(1, 2): pytest.approx(expected, abs=1e-4)} if expected > 0.2 else {}
        )


@pytest.mark.parametrize(
    "line",
    [
        "from previous = 4 PART if late unless earl",
        "from previous = 4 PART if lat unless early",
        "from previous = 4 PART unless early if late",
        "measure m = share A | B if late",
        "measure m = share A | B unless late",
        "measure m = edge A | B",
    ],
)
def test_malformed_conditions_are_named_with_their_line(line, wording: Wording):
    with wording.raises(ConfigError):
        parse_rules(f"[p] (c)\nmeasure late = told\nmeasure early = told\n{line}")


def test_with_prepositions_nouns_may_precede_the_nouns_that_depend_on_them():
    """Objects precede verbs in all texts; the table `best` takes only what it knows of nouns from
    the first."""
    rules = load_rules(rules_path("best"))
    with_table = {}
    for adposition in ("NOUN ADP NOUN NOUN VERB", "ADP NOUN NOUN NOUN VERB"):
        of = Prior.of_text(rules, [tagged(adposition)] * 400 + [tagged("NOUN VERB VERB")] * 400)
        with_table[of.text.measures["prepositions"] > 0.9] = of.potentials(tagged("NOUN NOUN VERB"))
    difference = with_table[True] - with_table[False]
    assert difference[1, 2] == pytest.approx(2.5, abs=0.2)
    difference[1, 2] = 0.0
    assert np.abs(difference[:, 1:]).max() < 0.2


@pytest.mark.parametrize(
    ("line", "share"),
    [
        ("after NOUN | VERB | VERB", 2 / 3),
        ("before NOUN | VERB", 1 / 2),
        ("beginning NOUN | NOUN", 1.0),
        ("ahead NOUN | VERB", 1 / 3),
        ("share NOUN | VERB", 3 / 4),
        ("edge NOUN", 1 / 2),
        ("edge VERB", 0.0),
    ],
)
def test_kinds_of_measures(line, share):
    sentence = tagged("NOUN VERB NOUN NOUN")
    found = prior([f"measure m = {line}", "from previous = 1 PART if m"], *[sentence] * 1000)
    assert found.text.measures["m"] == pytest.approx(share, abs=0.02)


def test_a_mirror_image_of_text_and_sentence_has_the_mirror_image_of_the_potentials():
    rules = load_rules(rules_path("best"))
    text = [
        said(
            "de/ADP a/NOUN b/VERB , cc/CCONJ c/DET d/NOUN/Case=Gen e/PRON/PronType=Rel f/VERB/VerbForm=Fin"
        ),
        said("cc/CCONJ x/NOUN is/AUX good/ADJ , y/NOUN z/VERB/VerbForm=Part"),
    ] * 30
    original, mirrored = (
        Prior.of_text(rules, text),
        Prior.of_text(rules, [backwards(s) for s in text]),
    )
    assert mirrored.statistics.is_mirrored
    for sentence in text[:2]:
        n = len(sentence)
        there, back = original.potentials(sentence), mirrored.potentials(backwards(sentence))
        place = [0, *range(n, 0, -1)]
        assert back[np.ix_(place, place)][:, 1:] == pytest.approx(there[:, 1:])
        symbols, reversed_ = (
            each.symbols(each.view(one))
            for each, one in ((original, sentence), (mirrored, backwards(sentence)))
        )
        assert reversed_ == symbols[::-1]


def backwards(sentence: Sentence) -> Sentence:
    return Sentence(
        sentence.forms[::-1],
        sentence.tags[::-1],
        feats=sentence.feats[::-1],
        gaps=sentence.gaps[::-1],
    )


@pytest.mark.parametrize(
    "line",
    [
        "punctuaton = 2",
        "punctuation = 2 ; mst 3",
        "punctuation = 2 if late",
        "agreement = 1 ADJ",
        "measure m = endin VERB | VERB",
        "measure m = ending A | A ; from 1 ; to 1",
        "participle = 5 VERB[VerbForm] | A | B",
    ],
)
def test_faults_in_tables_name_file_and_line(line, wording: Wording):
    with wording.raises(ConfigError):
        parse_rules("[p] (c)\n" + line)
