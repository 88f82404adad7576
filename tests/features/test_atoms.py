"""What words show to features."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.features.atoms import AGREEING, AGREEMENT, COLUMNS, GAPS, Atoms, C, L, M, P, S, T, W
from dynet_vdgi.features.hashing import code_of
from dynet_vdgi.features.templates import table_of

DOGS = Sentence(
    forms=("The", "dogs", "bark"),
    tags=("DET", "NOUN", "VERB"),
    lemmas=("the", "dog", "bark"),
    feats=("_", "Case=Nom|Number=Plur", "Number=Plur|Tense=Pres"),
    gaps=("", "", ", (", "!"),
)


def rows_of(sentence):
    return Atoms().pack([sentence]).of(0)


def test_words_stand_between_nothing_and_root():
    rows = rows_of(DOGS)
    assert rows.shape == (3 + 4, len(COLUMNS))
    assert rows[1:4, T].tolist() == [code_of("T", tag) for tag in DOGS.tags]
    nothing, root = rows[0], rows[4]
    assert (rows[[5, 6]] == nothing).all()
    assert nothing[T] != root[T]
    assert not nothing[AGREEMENT:].any()
    assert not root[AGREEMENT:].any()


def test_columns_are_codes_of_their_texts():
    row = rows_of(DOGS)[2]
    assert row[M] == code_of("M", "NOUNCase=Nom|Number=Plur")
    assert row[C] == code_of("C", "NOUNNom||||")
    assert row[W] == code_of("W", "dogs")
    assert row[S] == code_of("S", "ogs")
    assert row[L] == code_of("L", "dog")


def test_words_without_feats_show_xpos_and_its_last_morph():
    xpos = ("MM", "NNG+JX", "VV+EC")
    rows = rows_of(replace(DOGS, xpos=xpos, feats=("_", "_", "Number=Plur|Tense=Pres")))
    assert rows[1:3, M].tolist() == [code_of("M", "DETMM"), code_of("M", "NOUNNNG+JX")]
    assert rows[1:3, C].tolist() == [code_of("C", "DETMM"), code_of("C", "NOUNJX")]
    assert rows[3].tolist() == rows_of(DOGS)[3].tolist()


def test_agreement_is_that_of_values():
    rows = rows_of(DOGS)
    number, case = AGREEMENT + AGREEING.index("Number"), AGREEMENT + AGREEING.index("Case")
    assert rows[2, number] == rows[3, number] != 0
    assert rows[2, case] != 0
    assert rows[3, case] == rows[1, case] == rows[1, number] == 0


def test_punctuation_is_told_by_the_token_before_and_by_places():
    rows = rows_of(DOGS)
    assert rows[:, GAPS].tolist() == [0, 0, 0, 1, 2, 0, 0]
    assert rows[3, P] == code_of("P", "(")
    assert rows[1, P] == rows[2, P] == code_of("P", "")
    assert rows[4, P] == code_of("P", "!")


@pytest.mark.parametrize("gaps", [(), ("",) * 4, ("", "", "", ".")])
def test_no_punctuation_between_words_is_none_at_all(gaps):
    rows = rows_of(Sentence(DOGS.forms, DOGS.tags, gaps=gaps))
    assert not rows[:, (P, GAPS)].any()


def test_sentences_lie_one_after_the_other_whatever_was_packed_before():
    atoms, short = Atoms(), Sentence(("a",), ("X",))
    atoms.pack([short])
    # more types than there was room for
    atoms.pack([Sentence((f"w{k}",), ("X",)) for k in range(300)])
    packed = atoms.pack([DOGS, short, Sentence((), ())])
    assert packed.first.tolist() == [0, 3, 4, 4]
    assert len(packed.rows) == 4 + 3 * 4
    assert (packed.of(0) == rows_of(DOGS)).all()
    assert (packed.of(1) == rows_of(short)).all()
    assert len(packed.of(2)) == 4


ATOMS = ("nothing", "s0.T", "b0.W", "gaps")


def test_templates_with_optional_atoms_come_last():
    table = table_of(("s0.T gaps", "s0.T", "b0.W s0.T"), ATOMS, ("gaps",), seed=1)
    assert table.parts.tolist() == [[1, 0], [2, 1], [1, 3]]
    assert table.certain == 2
    assert (table.of_template % 2 == 1).all()


def test_numbers_of_a_template_do_not_depend_on_the_others():
    some, one = (
        table_of(("s0.T", "b0.W"), ATOMS, (), seed=1),
        table_of(("b0.W",), ATOMS, (), seed=1),
    )
    assert some.of_template[1] == one.of_template[0]
    assert table_of(("b0.W",), ATOMS, (), seed=2).of_template[0] != one.of_template[0]
    assert len(np.unique(some.of_atom)) == len(ATOMS)
