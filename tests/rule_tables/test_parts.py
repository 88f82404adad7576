"""Each part of a rule table by itself: what it adds to the potentials, or how it reads a sentence."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from said import arcs, prior, said, tagged

from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.errors import ConfigError
from dynet_vdgi.rule_tables.parts.phrases import objects
from dynet_vdgi.rule_tables.parts.predicates import predicate_of
from dynet_vdgi.rule_tables.prior import Prior
from dynet_vdgi.rule_tables.rules import load_rules, parse_rules
from dynet_vdgi.rule_tables.word_orders import Fact
from dynet_vdgi.settings.bundled import rules_path


def test_after_verb_reaches_over_what_stands_inside_a_phrase():
    of = prior("after verb = 2 NOUN PRON | VERB | DET ADJ ADP")
    assert arcs(of, tagged("VERB ADP DET NOUN")) == {(1, 4): 2.0}
    assert arcs(of, tagged("VERB ADV NOUN")) == {}
    sentence = said("a/VERB , b/DET c/NOUN")
    assert arcs(prior("after verb = 2 NOUN | VERB | DET", sentence), sentence) == {}


def test_arcs_across_punctuation_lose_for_each_place_up_to_a_limit():
    sentence = said("a/X , b/X , c/X , d/X")
    found = arcs(prior("punctuation = 2 ; most 2", sentence), sentence)
    assert (found[1, 2], found[2, 1], found[1, 3], found[4, 1]) == (-2.0, -2.0, -4.0, -4.0)
    assert arcs(prior("punctuation = 2", tagged("X X")), sentence) == {}  # a text without any


def test_agreement_by_shared_features():
    sentence = said("a/ADJ/Case=Nom|Number=Sing b/NOUN/Case=Nom c/NOUN/Case=Acc|Number=Sing d/NOUN")
    of = prior("agreement = 1 ADJ | NOUN ; by Case Number", sentence)
    assert arcs(of, sentence) == {(2, 1): 0.3, (3, 1): -1.0}
    # a text without FEATS
    assert arcs(prior("agreement = 1 ADJ | NOUN ; by Case", tagged("ADJ")), sentence) == {}


def test_conjunctions_depend_on_the_following_conjunct():
    lines = ["conjunction = CCONJ", "verb = VERB", "conjunct = 2 NOUN | VERB"]
    lines.append("following conjunct = 3 CCONJ | NOUN | VERB ; verb VERB ; instead 2")
    assert arcs(prior(lines), tagged("NOUN CCONJ DET NOUN")) == {(1, 4): 2.0, (4, 2): 3.0}
    assert arcs(prior(lines), tagged("NOUN CCONJ VERB")) == {}


def test_clauses_are_joined_by_their_verbs():
    line = "clause conjunct = 2 CCONJ CONJ | VERB ; barrier SCONJ ; subject NOUN ; second CCONJ"
    assert arcs(prior(line), tagged("NOUN VERB CONJ NOUN VERB")) == {
        (2, 3): 2.0,
        (2, 5): 2.0,
        **{(head, 4): -2.0 for head in (1, 2)},
    }
    assert arcs(prior(line), tagged("VERB CCONJ VERB")) == {(3, 2): 2.0, (1, 3): 2.0}
    assert arcs(prior(line), tagged("VERB CONJ SCONJ VERB")) == {}


def test_names_are_joined_by_their_first_words():
    line = "name conjunct = 4 CONJ | PROPN ; over ADP DET"
    assert arcs(prior(line), tagged("PROPN PROPN CONJ DET PROPN")) == {
        (1, 3): 4.0,
        (2, 3): -2.0,
        (1, 5): 4.0,
        (2, 5): -2.0,
    }
    assert arcs(prior(line), tagged("PROPN CONJ PROPN")) == {}


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


PREDICATE = "nominal predicate = 1 AUX | NOUN ADJ ; as VERB ; cut CCONJ ; over NOUN"


def read(of: Prior, sentence: Sentence) -> str:
    return " ".join(of.view(sentence).read)


def test_a_clause_with_an_auxiliary_and_no_verb_has_a_predicate():
    of = prior(PREDICATE, *[tagged("ADJ NOUN")] * 3)
    assert read(of, tagged("NOUN AUX DET ADJ NOUN")) == "NOUN AUX DET ADJ VERB"
    assert read(of, tagged("NOUN AUX VERB ADJ")) == "NOUN AUX VERB ADJ"
    assert read(of, tagged("NOUN AUX")) == "VERB AUX"
    assert read(of, tagged("NOUN AUX ADJ CCONJ VERB")) == "NOUN AUX VERB CCONJ VERB"
    after = prior(PREDICATE, *[tagged("NOUN ADJ")] * 3)
    assert read(after, tagged("NOUN AUX ADJ NOUN")) == "NOUN AUX VERB NOUN"


def test_subjects_that_follow_copulas_are_no_predicates():
    lines = [
        "measure first = beginning AUX | AUX ; from 0.4 ; to 0.6",
        PREDICATE + " ; particle PART ; initial first",
    ]
    of = prior(lines, *[tagged("AUX NOUN VERB")] * 60)
    assert read(of, tagged("AUX PART ADJ PART ADJ")) == "AUX PART ADJ PART VERB"
    assert read(of, tagged("AUX DET NOUN NOUN PART ADJ")) == "AUX DET NOUN NOUN PART VERB"
    assert read(of, tagged("AUX NOUN NOUN")) == "AUX NOUN NOUN"
    assert read(of, tagged("NOUN AUX ADJ")) == "NOUN AUX VERB"


def test_forms_with_bare_adjectives_beside_them_are_copulas():
    line = "copula = 1.7 VERB | ADJ ; least 5 ; as AUX ; predicate VERB"
    text = [said("a/NOUN is/VERB b/ADJ")] * 6 + [said("a/NOUN eats/VERB b/NOUN")] * 20
    of = prior(line, *text)
    assert of.text.findings["copula"] == ["is"]
    assert read(of, text[0]) == "NOUN AUX VERB"
    assert read(of, text[-1]) == "NOUN VERB NOUN"
    assert read(of, said("a/NOUN is/VERB b/ADV c/VERB")) == "NOUN AUX ADV VERB"


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


def test_relative_words_begin_clauses_of_nouns():
    sentence = said("a/NOUN b/PRON/PronType=Rel c/NOUN d/VERB")
    of = prior("relative clause = 4 PRON[PronType=Rel] | NOUN | VERB ; within 3", sentence)
    assert arcs(of, sentence) == {(1, 4): 4.0, (0, 4): -2.0, (4, 2): 2.0, (1, 2): -2.0}


def test_linkers_are_found_after_nouns_and_between_verbs():
    text = [said("a/VERB b/NOUN that/PRON c/VERB")] * 6 + [said("a/PRON b/VERB")] * 6
    of = prior("linker = 1.5 PRON | VERB ; share 0.7 ; after 0.3 ; symbol VERB+rel", *text)
    assert of.text.findings["linker"] == [("that", "PRON")]
    assert arcs(of, text[0]) == {(0, 4): -1.5, (2, 4): 4.0, (4, 3): 1.0}
    assert of.view(text[0]).symbols == ["VERB", "NOUN", "PRON", "VERB+rel"]


def test_participles_depend_on_nouns_before_them_unless_they_have_an_auxiliary():
    of = prior(
        "participle = 5 VERB[VerbForm=Part] | NOUN | ADJ ; aux AUX", said("a/VERB/VerbForm=Part")
    )
    assert arcs(of, said("a/NOUN b/ADJ c/VERB/VerbForm=Part")) == {(1, 3): 5.0}
    assert arcs(of, said("a/AUX b/NOUN c/VERB/VerbForm=Part")) == {}


def test_verb_forms_before_nouns_are_adnominal():
    text = [said("a/VERB/VerbForm=Part b/NOUN c/VERB/VerbForm=Fin")] * 5
    of = prior("adnominal = 5 VERB | NOUN", *text)
    assert arcs(of, text[0]) == {(2, 1): 5.0}
    assert of.view(text[0]).symbols == ["VERB+a", "NOUN", "VERB"]


def test_verbs_that_are_not_finite_depend_on_later_ones_and_are_no_roots():
    line = "non-finite = 2 VERB[VerbForm=Inf] | AUX ; verb VERB ; finite VERB[VerbForm=Fin]"
    sentence = said("a/VERB/VerbForm=Inf b/VERB/VerbForm=Fin")
    of = prior(line, sentence)
    assert arcs(of, sentence) == {(0, 1): -2.0, (2, 1): 2.0}
    assert arcs(of, said("a/VERB/VerbForm=Inf")) == {}


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
    ("line", "message"),
    [
        ("from previous = 4 PART if late unless earl", "no measure 'earl'; did you mean 'early'"),
        ("from previous = 4 PART if lat unless early", "no measure 'lat'; did you mean 'late'"),
        ("from previous = 4 PART unless early if late", "expected 'if A', "),
        ("measure m = share A | B if late", "measure m: a measure has no conditions"),
        ("measure m = share A | B unless late", "measure m: a measure has no conditions"),
        ("measure m = edge A | B", "2 groups of tags"),
    ],
)
def test_malformed_conditions_are_named_with_their_line(line, message):
    with pytest.raises(ConfigError, match=f"<rules>:4: .*{message}"):
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
    ("line", "message"),
    [
        ("punctuaton = 2", "<rules>:2: no setting 'punctuaton'; did you mean 'punctuation'?"),
        (
            "punctuation = 2 ; mst 3",
            "<rules>:2: 'punctuation' has no option 'mst'; did you mean 'most'?",
        ),
        ("punctuation = 2 if late", "<rules>:2: no measure 'late'"),
        ("agreement = 1 ADJ", "<rules>:2: 'agreement' has 1 group of tags"),
        (
            "measure m = endin VERB | VERB",
            "<rules>:2: no kind of measure 'endin'; did you mean 'ending'?",
        ),
        (
            "measure m = ending A | A ; from 1 ; to 1",
            "<rules>:2: measure m: 'from' and 'to' are equal",
        ),
        ("participle = 5 VERB[VerbForm] | A | B", "<rules>:2: 'VERB.VerbForm.' is no tag"),
    ],
)
def test_faults_in_tables_name_file_and_line(line, message):
    with pytest.raises(ConfigError, match=message):
        parse_rules("[p] (c)\n" + line)
