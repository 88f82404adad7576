"""The parts of a rule table that look at phrases and clauses, each by itself, on small sentences."""

from __future__ import annotations

import math

import pytest
from said import arcs, prior, said, tagged

from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.errors import ConfigError
from dynet_vdgi.grammar import chart
from dynet_vdgi.grammar.prior import Prior
from dynet_vdgi.grammar.rules import load_rules, parse_rules
from dynet_vdgi.recipes.given import Given, Inputs
from dynet_vdgi.settings.bundled import rules_path
from dynet_vdgi.settings.presets import load_settings
from dynet_vdgi.settings.registry import RECIPES
from dynet_vdgi.teachers.dmv_settings import DmvSettings

NAMES = [
    "called = NN NNS ; as noun common",
    "called = NNP ; as noun name",
    "called = NNS ; as plural",
    "called = PRP ; as pronoun personal",
    "called = JJ ; as adjective",
    "called = CD ; as number",
    "called = $ ; as currency",
    "called = POS ; as possessive",
    "called = DT PRP$ ; as determiner",
    "called = DT ; as predeterminer",
    "called = VBD VBZ VBP MD ; as finite",
    "called = MD ; as modal",
    "called = VB ; as infinitive",
    "called = VBN ; as perfect",
    "called = VBG ; as gerund",
    "called = RB ; as adverb",
    "called = IN ; as preposition",
    "called = TO ; as to",
    "called = WDT WP WRB ; as wh",
    "called = WDT WP ; as relative",
    "called = CC ; as conjunction",
    "called = * ; forms said says ; as speech",
]
CHUNKS = "base phrase = 0"


def found(lines, sentence):
    """The arcs that get something from these lines, with the names above and base phrases worth nothing."""
    text = [tagged(sentence) if "/" not in sentence else said(sentence)]
    lines = [lines] if isinstance(lines, str) else lines
    phrases = [] if any(line.startswith("base phrase") for line in lines) else [CHUNKS]
    return arcs(prior([*NAMES, *phrases, *lines], *text), text[0])


def phrases(sentence, *more):
    """The base phrases of a sentence: (first, last, head), words from 1."""
    text = said(sentence) if "/" in sentence else tagged(sentence)
    view = prior([*NAMES, CHUNKS, *more], text).view(text)
    return [(phrase.start + 1, phrase.end, phrase.head + 1) for phrase in view.phrases]


# ------------------------------------------------------------------------------------------- base phrases
@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("DT JJ NN VBD PRP", [(1, 3, 3), (5, 5, 5)]),
        ("DT NN POS JJ NN", [(1, 5, 5)]),
        ("NN POS", [(1, 2, 2)]),
        ("DT NN DT NN", [(1, 2, 2), (3, 4, 4)]),  # an article begins another
        ("NNS JJ NN", [(1, 1, 1), (2, 3, 3)]),  # sales last year: not after a plural
        ("NN JJ NN", [(1, 3, 3)]),
        ("$ CD CD", [(1, 3, 1)]),
        ("$ CD", [(1, 2, 2)]),
        ("$ CD NN", [(1, 3, 3)]),
        ("NN $ CD", [(1, 1, 1), (2, 3, 3)]),
        ("DT VBN NN", [(1, 3, 3)]),
        ("NN VBN NN", [(1, 1, 1), (3, 3, 3)]),
        ("DT RB JJ NN", [(1, 4, 4)]),
        ("RB JJ NN", [(2, 3, 3)]),
        ("JJ CC JJ NN", [(1, 4, 4)]),
        ("JJ CC JJ VBD", [(1, 1, 1), (3, 3, 3)]),
        ("DT VBD", [(1, 1, 1)]),
        ("VBD RB", []),
    ],
)
def test_base_phrases_and_their_heads(tags, expected):
    assert phrases(tags) == expected


def test_punctuation_ends_a_base_phrase_but_not_between_adjectives():
    assert phrases("a/NN , b/NN") == [(1, 1, 1), (2, 2, 2)]
    assert phrases("a/JJ , b/JJ c/NN") == [(1, 3, 3)]
    quoted = Sentence(("a", "b"), ("NN", "NN"), gaps=("", "``", ""))
    view = prior([*NAMES, CHUNKS], quoted).view(quoted)
    assert len(view.phrases) == 1


def test_times_are_phrases_of_their_own():
    days = "called = NN ; forms friday ; as day", "called = NN ; forms year ; as span"
    near = "called = JJ ; forms last ; as near-span"
    assert phrases("net/NN friday/NN", *days, near) == [(1, 1, 1), (2, 2, 2)]
    assert phrases("friday/NN net/NN", *days, near) == [(1, 1, 1), (2, 2, 2)]
    assert phrases("a/NN friday/NN sale/NN", *days, near) == [(1, 3, 3)]
    assert phrases("net/NN last/JJ year/NN profit/NN", *days, near) == [(1, 1, 1), (2, 4, 4)]
    assert phrases("last/JJ year/NN $/$ 5/CD", *days, near) == [(1, 2, 2), (3, 4, 4)]
    assert phrases("net/NN friday/NN") == [(1, 2, 2)]


def test_words_inside_a_phrase_depend_on_its_head_and_have_no_dependents_outside():
    assert found("base phrase = 2 ; outside 1 ; root 3", "VBD DT NN") == {
        (3, 2): 2.0,
        (2, 1): -1.0,
        (0, 2): -3.0,
    }
    assert found("base phrase = 1", "NN POS JJ NN") == {(2, 1): 1.0, (4, 2): 1.0, (4, 3): 1.0}
    assert found("base phrase = 1", "$ CD CD NN") == {(4, 1): 1.0, (1, 2): 1.0, (1, 3): 1.0}
    assert found("base phrase = 1", "$ CD NN") == {(2, 1): 1.0, (3, 2): 1.0}
    assert found("base phrase = 1", "NNP CD NN") == {(3, 1): 1.0, (1, 2): 1.0}
    assert found("base phrase = 1", "CD CD NN") == {(2, 1): 1.0, (3, 2): 1.0}
    assert found("base phrase = 1", "DT RB JJ NN") == {(4, 1): 1.0, (3, 2): 1.0, (4, 3): 1.0}


# ------------------------------------------------------------------------------------------- clause words
def test_to_depends_on_its_infinitive():
    assert found("infinitive = 2 ; adverb 1 ; leaf 3", "TO VB NN") == {
        (2, 1): 2.0,
        (1, 2): -3.0,
        (1, 3): -3.0,
    }
    assert found("infinitive = 2 ; adverb 1", "TO RB VB") == {(3, 1): 2.0, (3, 2): 1.0}
    assert found("infinitive = 2", "TO NN") == {}


COMPLEMENTIZERS = [
    "called = IN ; forms that if ; as complementizer",
    "called = IN ; forms that ; as far-complementizer",
    "called = IN ; forms in of ; as only-preposition",
]


def test_complementizers_by_form():
    lines = [*COMPLEMENTIZERS, "complementizer = 4 ; subject 2 ; against 1"]
    heads = {(1, 3): 4.0, (3, 1): -1.0, (0, 3): -1.0, (1, 2): -1.0, (3, 2): 2.0}
    assert found(lines, "if/IN a/NN b/VBD") == heads
    assert found(lines, "in/IN a/NN b/VBD") == {}
    assert found(lines, "if/IN a/NN in/IN b/NN c/VBD") == {}  # too far away
    assert found(lines, "that/IN a/NN in/IN b/NN c/VBD")[1, 5] == 4.0
    assert found(lines, "that/IN a/NN") == {}


def test_complementizers_without_forms_need_another_verb():
    line = "complementizer = 4"
    assert found(line, "IN NN VBD") == {}
    assert found(line, "IN PRP VBD") == {(1, 3): 4.0}
    assert found(line, "IN NN VBD VBD") == {(1, 3): 4.0}
    assert found(line, "VBD IN NN VBD") == {(2, 4): 4.0}
    assert found(line, "VBD IN NN CC VBD") == {}


def test_relative_words_head_their_verb_and_depend_on_preposition_or_noun():
    line = "relative word = 4 ; preposition 2 ; noun 1 ; against 3"
    assert found(line, "DT NN WDT VBD") == {(3, 4): 4.0, (0, 4): -3.0, (2, 3): 1.0, (0, 3): -1.0}
    assert found(line, "NN IN WDT NN VBD") == {
        (2, 3): 2.0,
        (2, 5): 4.0,
        (0, 5): -3.0,
        (1, 2): 1.0,
        (0, 2): -1.0,
    }
    assert found(line, "IN WRB VBD") == {(2, 3): 4.0, (0, 3): -3.0, (0, 2): -1.0}


def test_prepositions_head_what_follows_and_no_finite_verb():
    lines = ["called = JJ IN ; as other-object", "preposition = 4 ; other 1 ; finite 2"]
    assert found(lines, "IN RB DT NN") == {(1, 4): 4.0}
    assert found(lines, "IN VBG") == {(1, 2): 4.0}
    assert found(lines, "IN IN NN") == {(1, 2): 1.0, (2, 3): 4.0}
    assert found(lines, "VBD IN NN") == {(2, 3): 4.0, (2, 1): -1.0}  # half: it may be a complementizer
    assert found([*lines, *COMPLEMENTIZERS], "a/VBD in/IN b/NN") == {(2, 3): 4.0, (2, 1): -2.0}
    assert found([*lines, *COMPLEMENTIZERS, "complementizer = 0"], "a/VBD if/IN b/NN c/VBD") == {}
    assert found(lines, "TO VB") == {}


def test_bound_prepositions_depend_on_the_phrase_before():
    lines = ["called = IN ; forms of ; as bound", "bound preposition = 3"]
    assert found(lines, "a/DT b/NN of/IN c/NN") == {(2, 3): 3.0}
    assert found(lines, "sold/VBD of/IN c/NN") == {(1, 2): 3.0}


def test_statistics_of_prepositions_are_counted_where_there_is_no_doubt():
    line = "preposition statistics = 2 NN NNS | VBD VB | IN | TO ; before VB ; cases 1"
    text = [said("share/NN of/IN x/NN fell/VBD by/IN y/NN")] * 6 + [said("went/VBD to/TO go/VB")]
    of = prior([*NAMES, CHUNKS, line], *text)
    words = {"N": 12, "N share": 6, "N x": 6, "V": 8, "V fell": 6, "V go": 1, "V went": 1}
    assert of.text.found["preposition statistics"]["words"] == words  # y stands behind a verb
    pairs = {"N of": 6, "N share of": 6, "V by": 6, "V fell by": 6}
    assert of.text.found["preposition statistics"]["pairs"] == pairs
    weights = arcs(of, said("fell/VBD share/NN by/IN a/NN"))
    base = (6 + 5 * 7 / 70) / (8 + 5)
    assert weights[1, 3] == pytest.approx(2 * min(1.5, math.log((6 + base) / 7 / (7 / 70))), abs=1e-3)
    assert weights[2, 3] == -3.0
    assert arcs(of, tagged("VBD IN")) == {}


# ------------------------------------------------------------------------------------------- verbs
def test_verb_groups():
    line = "verb group = 4 ; between 1 ; against 2"
    assert found(line, "MD RB VB") == {(1, 3): 4.0, (1, 2): 1.0, (0, 3): -2.0}
    assert found(line, "MD VBN") == {}
    assert found(line, "VBD VBN") == {(1, 2): 4.0, (0, 2): -2.0}
    assert found(line, "MD DT NN VB") == {(1, 4): 4.0, (1, 2): 1.0, (1, 3): 1.0, (0, 4): -2.0}
    assert found(line, "TO VB") == {(0, 2): -1.0}
    assert found("reduced relative = 3 ; against 1", "DT NN VBN IN") == {(2, 3): 3.0, (0, 3): -1.0}
    assert found("reduced relative = 3", "VBD VBN") == {}


def test_subjects_and_objects():
    assert found("subject = 4", "NN RB VBD") == {(3, 1): 4.0}
    assert found("subject = 4", "NN IN NN VBD") == {(4, 1): 2.0}  # half: not beside it
    assert found("subject = 4", "IN NN VBD") == {}
    assert found("object = 4", "VBD DT NN NN") == {(1, 4): 4.0}
    assert found("raised subject = 2 ; object 1", "VBD PRP TO VB") == {(4, 2): 3.0, (1, 4): 2.0}
    assert found("raised subject = 2", "VBD NN TO VB") == {}
    lines = ["relative word = 0", "subject = 4"]
    assert found(lines, "NN WDT VBD VBD") == {(4, 1): 2.0}  # not of the relative clause's verb


def test_adverbs_and_negation():
    assert found("adverb = 2", "VBD RB JJ") == {(3, 2): 2.0}
    assert found("adverb = 2", "VBD RB IN") == {(1, 2): 2.0}
    assert found("adverb = 2", "RB VBD") == {(2, 1): 2.0}
    negated = ["called = RB ; forms not ; as negation", "negation = 3"]
    assert found(negated, "did/VBD not/RB often/RB") == {(1, 2): 3.0}


# ------------------------------------------------------------------------------------------- joined
def test_the_last_of_joined_phrases_is_the_head():
    line = "joined = 4 ; against 1 ; first 2 ; preposition 8 ; object 6"
    assert found(line, "NN CC NN") == {(3, 1): 4.0, (3, 2): 4.0}
    assert found(line, "IN NN CC NN") == {(4, 2): 4.0, (4, 3): 4.0, (1, 4): 8.0, (1, 2): -8.0}
    assert found(line, "VBD NN CC NN IN") == {(4, 2): 4.0, (4, 3): 4.0, (1, 4): 6.0, (1, 2): -6.0}
    assert found(line, "CC NN VBD") == {(3, 1): 2.0}


def test_joined_verbs_adjectives_and_clauses():
    line = "joined = 4 ; against 1"
    assert found(line, "VBD CC VBZ") == {(1, 3): 4.0, (1, 2): 4.0, (0, 3): -1.0}
    assert found(line, "VBD JJ CC JJ") == {(4, 2): 8.0, (4, 3): 8.0}  # adjectives, and phrases
    assert found(line, "PRP VBD NN CC PRP VBD") == {(6, 2): 4.0, (6, 4): 4.0}
    assert found(line, "VB CC VBD") == {}


def test_lists_and_appositions_by_commas():
    line = "list = 4 ; preposition 2 ; object 1"
    assert found(line, "of/IN a/NN , b/NN and/CC c/NN") == {(5, 2): 4.0, (1, 5): 2.0, (1, 2): -2.0}
    assert found(line, "a/NN , b/NN c/NN") == {}
    line = "apposition = 4 ; subject 2 ; object 1"
    assert found(line, "met/VBD A/NNP , b/NN , c/VBN") == {(3, 2): 4.0, (1, 3): 1.0, (1, 2): -1.0}
    assert found(line, "A/NNP , b/NN , c/VBD") == {(2, 1): 4.0, (3, 2): 2.0, (3, 1): -2.0}
    assert found(line, "A/NNP , b/NN c/VBD") == {}  # a subject
    assert found(line, "in/IN may/NN , b/NN , c/VBD") == {}
    assert found(line, "A/NNP , b/NN and/CC c/NN") == {}  # a list


def test_flat_conjuncts_and_amounts():
    assert found("flat conjuncts = 4", "DT NN CC NN NN") == {(5, 1): 4.0}
    assert found("flat conjuncts = 4", "DT JJ NN CC NN NN") == {(6, 1): 4.0, (6, 2): 4.0}
    assert found("flat conjuncts = 4", "NN CC NN NN") == {}
    assert found("infinitive = 2 ; adjective 1", "JJ TO VB") == {(3, 2): 2.0, (1, 3): 1.0}
    line = "amount per = 4 ; preposition 2"
    assert found(line, "IN $ CD DT NN") == {(5, 3): 4.0, (1, 5): 2.0, (1, 3): -2.0}
    assert found(line, "NN DT NN") == {}


def test_clauses_side_by_side():
    line = "joined clauses = 4 ; against 1"
    joined = {(5, 2): 4.0, (0, 2): -1.0, (5, 3): 4.0}
    assert found(line, "a/NN b/VBD , and/CC c/NN d/VBD") == joined
    dash = Sentence(("a", "b", "c", "d"), ("NN", "VBD", "NN", "VBD"), gaps=("", "", "--", "", ""))
    assert arcs(prior([*NAMES, CHUNKS, line], dash), dash) == {(4, 2): 4.0, (0, 2): -1.0}
    assert found(line, "a/NN b/VBD , c/NN d/VBD") == {}


# ------------------------------------------------------------------------------------------- frames
def test_contact_clauses():
    line = "contact clause = 10 ; object 4 ; against 2"
    assert found(line, "VBD PRP VBD") == {(3, 2): 14.0, (1, 3): 10.0, (0, 3): -2.0}
    assert found(line, "VBD NN PRP VBD") == {(2, 4): 7.0, (4, 3): 2.0, (0, 4): -2.0}
    assert found(line, "a/VBD , b/PRP c/VBD") == {}


def test_reported_speech():
    line = "reported speech = 4 ; root 2 ; subject 3 ; against 1"
    both = {(0, 2): -0.5, (2, 4): -1.0}
    assert found(line, "a/NN b/VBD , he/PRP said/VBD") == {(4, 2): 4.0, (0, 4): 2.0, **both}
    inverted = {(3, 2): 4.0, (0, 3): 2.0, (3, 4): 3.0, (0, 2): -0.5, (2, 3): -1.0}
    assert found(line, "a/NN b/VBD , said/VBD he/PRP") == inverted
    assert found(line, "a/NN b/VBD he/PRP said/VBD , c/NN") == {}


def test_parentheses():
    line = "parenthesis = 4 ; against 1 ; root 2 ; main 3"
    assert found(line, "a/IN , he/PRP said/VBD , b/VBZ") == {(4, 3): 4.0, (0, 3): -1.0}
    assert found(line, "a/VBD , he/PRP b/VBD") == {(0, 3): 2.0, (3, 1): 3.0}
    assert found(line, "a/VBD , he/PRP said/VBD") == {}  # that is reported speech


def test_questions_and_sentences_without_finite_verb():
    assert found("question = 2 ; word 5", "WP VBZ NN") == {(2, 1): 5.0, (1, 2): -5.0, (0, 2): 2.0}
    assert found("question = 2", "WP VBZ VBZ") == {}
    assert found("no finite verb = 2", "NN VBN IN") == {(0, 2): 2.0, (1, 2): -2.0, (2, 1): 2.0}
    assert found("no finite verb = 2", "TO VB") == {}


def test_times_and_quantities():
    lines = ["called = NN ; forms friday ; as day", "called = NNS ; forms years ; as span"]
    lines += ["called = RB ; forms ago ; as after-span", "time = 3 ; ago 6"]
    assert found(lines, "a/NN fell/VBD friday/NN") == {(2, 3): 3.0, (1, 3): -3.0}
    assert found(lines, "a/VBD 5/CD years/NNS ago/RB") == {(4, 3): 6.0, (1, 4): 2.0}
    lines = ["called = IN ; forms about ; as quantity", "quantity = 5 ; preposition 4 ; object 2"]
    assert found(lines, "sold/VBD about/IN 5/CD") == {(3, 2): 5.0, (2, 3): -8.0, (1, 3): 2.0}


# ------------------------------------------------------------------------------------------- the table
def test_names_that_no_part_asks_for_are_refused():
    with pytest.raises(ConfigError) as caught:
        parse_rules("[a] (b)\ncalled = NN ; as nuon", "r.txt")
    assert "r.txt:2: the option 'as' of 'called' cannot be 'nuon'; did you mean 'noun'?" in str(caught.value)


def test_the_table_parses_a_sentence_of_its_conventions():
    """Of a possessive, a modal, a complementizer, coordination and reported speech."""
    words = "The/DT firm/NN 's/POS head/NN will/MD sell/VB oil/NN and/CC gas/NN that/WDT it/PRP has/VBZ"
    sentence = said(f"{words} , he/PRP said/VBD")
    prior_of = Prior.of_text(load_rules(rules_path("wsj-best")), [sentence])
    heads = chart.best(prior_of.potentials(sentence))
    assert heads == (3, 3, 4, 5, 14, 5, 9, 9, 6, 9, 12, 10, 14, 0)


def test_the_presets_are_what_their_tables_ask_for():
    best, strict = load_settings("wsj-best"), load_settings("wsj-strict")
    assert (best.rules, strict.rules, best.data.tags, strict.data.tags) == (
        "wsj-best",
        "wsj-strict",
        "xpos",
        "xpos",
    )
    assert isinstance(best.teacher, DmvSettings)
    assert not load_rules(rules_path("wsj-strict")).table.settings  # thirteen rules and short arcs alone
    assert len(load_rules(rules_path("wsj-strict"))) == 13
    sentence = said("a/NN , b/VBD")  # the student reads tags only
    prior_of = Prior.of_text(load_rules(rules_path("wsj-best")), [sentence])
    assert prior_of.student_symbols(sentence) == (["NN", "VBD"], ["NN", "VBD"])


def test_a_table_of_exceptions_has_nothing_to_count(tmp_path):
    sentence = said("a/NN b/VBD")
    settings = load_settings(["paper"], ["rules=wsj-best"])
    with pytest.raises(ConfigError, match="has nothing to count: 'wsj-best' has no rules"):
        RECIPES.named(settings.recipe).prepare(Inputs(texts={"": Given((), (sentence,))}), settings)
