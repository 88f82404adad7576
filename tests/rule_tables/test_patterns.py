"""Tags with conditions, and the lines of a table that hold them."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from wording import Wording

from dynet_vdgi.rule_tables.part_settings import Syntax, parse_setting
from dynet_vdgi.rule_tables.patterns import Group, Pattern

SYNTAX = Syntax(("words", "heads"), {"within": "number", "over": "tags", "by": "names"})


@pytest.mark.parametrize(
    ("text", "fits", "fails"),
    [
        ("VERB", [("VERB", "_"), ("VERB", "VerbForm=Part")], [("AUX", "_")]),
        (
            "VERB[VerbForm=Part]",
            [("VERB", "Case=Nom|VerbForm=Part,Vnoun")],
            [("VERB", "_"), ("ADJ", "VerbForm=Part")],
        ),
        (
            "NOUN[Case=Gen|Loc]",
            [("NOUN", "Case=Loc"), ("NOUN", "Case=Gen")],
            [("NOUN", "Case=Nom")],
        ),
        ("PRON[-Case]", [("PRON", "_"), ("PRON", "Number=Sing")], [("PRON", "Case=Acc")]),
        ("*[Case=Gen]", [("X", "Case=Gen")], [("X", "_")]),
    ],
)
def test_a_pattern_is_a_tag_and_a_condition(text, fits, fails):
    group = Group((Pattern.of(text),))
    assert [group.has(*word) for word in fits] == [True] * len(fits)
    assert [group.has(*word) for word in fails] == [False] * len(fails)


@pytest.mark.parametrize(
    "text", ["VERB[", "VERB[]", "VERB[VerbForm]", "VERB[-VerbForm=Part]", "[A=B]", "VERB[A=]"]
)
def test_what_is_no_pattern_is_refused(text, wording: Wording):
    with wording.raises(ValueError):
        Pattern.of(text)


def test_a_line_has_a_number_groups_options_and_a_condition():
    found = parse_setting(
        "x",
        "2.5 VERB NOUN[Case=Gen|Loc] | DET ; within 4 ; over ADJ NUM ; by Case Number if late",
        SYNTAX,
    )
    assert (found.weight, found.conditions, found.unless) == (2.5, ("late",), ())
    assert [group.tags for group in found.groups] == [{"VERB", "NOUN"}, {"DET"}]
    assert found.number("within", 0.0) == 4
    assert found.group("over").tags == {"ADJ", "NUM"}
    assert found.names("by") == ("Case", "Number")


@pytest.mark.parametrize(
    ("tail", "wanted", "unless"),
    [
        ("", (), ()),
        ("if late", ("late",), ()),
        ("if late and early", ("late", "early"), ()),
        ("unless early", (), ("early",)),
        ("if late unless early", ("late",), ("early",)),
        ("if late and later unless early", ("late", "later"), ("early",)),
    ],
)
def test_conditions_stand_at_the_end_of_a_line(tail, wanted, unless):
    for value in ("1 A | B", "1 A | B ; within 4", "1 A | B ; by Case Number"):
        found = parse_setting("x", f"{value} {tail}", SYNTAX)
        assert (found.conditions, found.unless) == (wanted, unless)
        assert found == replace(parse_setting("x", value, SYNTAX), conditions=wanted, unless=unless)


@pytest.mark.parametrize(
    "tail",
    [
        "if",
        "unless",
        "if late early",
        "if late and",
        "if and late",
        "if late unless",
        "if unless early",
        "if late if later",
        "if late and unless early",
        "unless early if late",
        "unless early and late",
        "unless early unless late",
        "if late unless early and later",
        "if late ; within 4",
    ],
)
def test_what_is_no_condition_is_refused(tail):
    expected = f"expected 'if A', 'if A and B', 'unless B' or 'if A unless B' (found {tail})"
    with pytest.raises(ValueError, match=re.escape(expected) + "$"):
        parse_setting("x", f"1 A | B {tail}", SYNTAX)


@pytest.mark.parametrize(
    "value",
    [
        "",
        "two A | B",
        "-1 A | B",
        "1 A",
        "1 A | B | C",
        "1 A | ",
        "1 A | B ; within",
        "1 A | B ; within 4 5",
        "1 A | B ; within 4 ; within 5",
        "1 A[B | C",
    ],
)
def test_faults_in_a_line_are_named(value, wording: Wording):
    with wording.raises(ValueError):
        parse_setting("x", value, SYNTAX)
