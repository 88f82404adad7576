"""The unsupervised teacher of a text beside the universal parser."""

import numpy as np
import pytest

from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.errors import ModelError
from dynet_vdgi.rule_tables.prior import Prior
from dynet_vdgi.rule_tables.rules import load_rules
from dynet_vdgi.settings.bundled import rules_path
from dynet_vdgi.universal.encoding import ROOT, TAG, encode
from dynet_vdgi.universal.model_table import table_to_learn_under
from dynet_vdgi.universal.stored import Measures
from dynet_vdgi.universal.text_teacher import (
    FLOOR,
    LONGEST_SCORED,
    LONGEST_SENTENCE,
    MOST_TAGS,
    SHARE,
    TextTeacher,
    objects_come_first,
    teach_text,
)
from dynet_vdgi.unsupervised.dmv import Dmv
from tests.universal_toys import FEATURES
from tests.universal_toys import scorer as toy_scorer

TABLE = table_to_learn_under()
VERB_LAST = [
    Sentence.of_tags(tags.split()) for tags in ["NOUN NOUN VERB", "PRON ADJ NOUN VERB"] * 20
]
VERB_SECOND = [
    Sentence.of_tags(tags.split()) for tags in ["NOUN VERB NOUN", "PRON VERB ADJ NOUN"] * 20
]


def test_every_word_that_the_teacher_reads_has_one_expected_head():
    long = Sentence.of_tags(["NOUN"] * LONGEST_SENTENCE + ["VERB"])
    text = [*VERB_LAST, long, Sentence.of_tags(["VERB"])]
    _, arcs = teach_text(text, encode(text, FEATURES), TABLE)
    lengths = [len(sentence) for sentence in VERB_LAST]
    np.testing.assert_allclose(arcs.sum((1, 2, 3)), [*lengths, 0, 0], rtol=1e-5)
    np.testing.assert_allclose(arcs[: len(VERB_LAST), ROOT].sum((1, 2)), 1.0, rtol=1e-5)


def test_objects_come_first_where_nouns_stand_before_verbs():
    for text, is_so in ((VERB_LAST, True), (VERB_SECOND, False)):
        _, arcs = teach_text(text, encode(text, FEATURES), TABLE)
        assert objects_come_first(arcs.sum(0)) is is_so
    left = arcs.sum(0)[TAG["VERB"], TAG["NOUN"]]
    assert left[0] == pytest.approx(left[1], rel=0.7)  # the toy has a noun on either side


def test_its_probabilities_are_those_of_a_dmv_under_the_table():
    teacher, _ = teach_text(VERB_LAST, encode(VERB_LAST, FEATURES), TABLE)
    prior = Prior.of_text(load_rules(rules_path("best")), VERB_LAST)
    marginals = Dmv().fit(VERB_LAST, prior).marginals(VERB_LAST[:2])
    expected = [np.log(np.maximum(each, np.exp(FLOOR))).ravel() for each in marginals]
    np.testing.assert_allclose(
        teacher.log_probabilities(VERB_LAST[:2]), np.concatenate(expected), rtol=1e-5, atol=1e-6
    )


def test_it_has_no_opinion_on_sentences_that_are_too_long():
    teacher, _ = teach_text(VERB_LAST, encode(VERB_LAST, FEATURES), TABLE)
    long = Sentence.of_tags(["NOUN"] * LONGEST_SCORED + ["VERB"])
    found = teacher.log_probabilities([VERB_LAST[0], long, Sentence.of_tags(["VERB"])])
    n = len(VERB_LAST[0])
    assert found[: n * (n + 1)].all()
    assert not found[n * (n + 1) :].any()
    assert found.size == n * (n + 1) + len(long) * (len(long) + 1) + 2


def test_the_parser_adds_its_share_where_objects_come_first_only():
    scorer = toy_scorer()
    for text, is_so in ((VERB_LAST, True), (VERB_SECOND, False)):
        measures = Measures.of(scorer, text)
        assert (measures.teacher is not None) is is_so
        parser = measures.parser(scorer)
        encoded = parser.encode(text[:3])
        parser.teacher = None
        alone = parser.log_probabilities(encoded)
        parser.teacher = measures.teacher
        mixed = alone
        if measures.teacher:
            mixed = (alone + SHARE * measures.teacher.log_probabilities(text[:3])) / (1 + SHARE)
        np.testing.assert_allclose(parser.log_probabilities(encoded), mixed, rtol=1e-4, atol=1e-5)


def test_a_model_file_keeps_it_exactly():
    scorer = toy_scorer()
    measures = Measures.of(scorer, VERB_LAST)
    again = Measures.from_arrays(measures.arrays(), scorer)
    assert again.key == measures.key
    np.testing.assert_array_equal(
        again.teacher.log_probabilities(VERB_LAST[:3]),
        measures.teacher.log_probabilities(VERB_LAST[:3]),
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("told", np.frombuffer(b"{", np.uint8)),
        ("told", np.frombuffer(b'{"table": "x y z", "text": {}, "symbols": []}', np.uint8)),
        ("root", np.ones(3)),
        ("stop", None),
        ("choose", 2.0),
    ],
)
def test_a_damaged_teacher_is_refused(name, value):
    teacher, _ = teach_text(VERB_LAST, encode(VERB_LAST, FEATURES), TABLE)
    arrays = teacher.arrays()
    if value is None:
        del arrays[name]
    else:
        arrays[name] = arrays[name] * value if isinstance(value, float) else value
    with pytest.raises(ModelError, match="damaged"):
        TextTeacher.from_arrays(arrays)


def test_many_unknown_tags_share_a_symbol_because_tables_are_square():
    def text(n_tags):
        tags = [f"T{k}" for k in range(n_tags)]
        return [*VERB_LAST, *[Sentence.of_tags([tag, "VERB"]) for tag in tags]]

    few, many, x = text(MOST_TAGS - 4), text(3000)[:-500], [Sentence.of_tags(["X", "VERB"])]
    teacher, _ = teach_text(few, encode(few, FEATURES), TABLE)
    assert {"T0", "T90"} <= set(teacher.symbols)
    teacher, _ = teach_text(many, encode(many, FEATURES), TABLE)
    assert set(teacher.symbols) == {"NOUN", "VERB", "PRON", "ADJ", "X"}
    other, _ = teach_text(text(0) + x * 2500, encode(text(0) + x * 2500, FEATURES), TABLE)
    np.testing.assert_array_equal(teacher.model.choose, other.model.choose)
    assert teacher.log_probabilities([Sentence.of_tags(["T0", "VERB"])]).shape == (6,)
