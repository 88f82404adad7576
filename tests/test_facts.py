"""Facts about a language beside what is measured in its text."""

from __future__ import annotations

from pathlib import Path

import pytest

from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.errors import ConfigError
from dynet_vdgi.grammar.facts import CASES, Fact, load_facts, parse_facts
from dynet_vdgi.grammar.prior import Prior
from dynet_vdgi.grammar.rules import parse_rules

RULES = parse_rules("[p] (c)\nmeasure late = ending VERB | VERB\nfrom previous = 4 PART if late")
TEXT = [Sentence.of_tags(["VERB", "NOUN", "NOUN"])] * 200


def test_facts_are_read_with_their_worth():
    found = parse_facts("# German\na = yes\nb = 0.3 ; cases 40  # or so\n", ["a", "b"])
    assert found == {"a": Fact(1.0, CASES), "b": Fact(0.3, 40)}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("late", "<facts>:1: expected a fact such as"),
        ("lat = yes", "<facts>:1: no measure 'lat'; did you mean 'late'"),
        ("late = yes\nlate = no", "<facts>:2: 'late' is there twice"),
        ("late = perhaps", "<facts>:1: 'perhaps' is not a number"),
        ("late = 2", "<facts>:1: 2 is not from 0 to 1"),
        ("late = -1", "<facts>:1: -1 is not a number from 0"),
        ("late = yes ; times 3", "<facts>:1: expected 'cases NUMBER'"),
    ],
)
def test_faults_name_file_and_line(line, message):
    with pytest.raises(ConfigError, match=message):
        parse_facts(line, ["late"])


def test_facts_stand_beside_the_evidence_of_the_text(tmp_path: Path):
    path = tmp_path / "facts.txt"
    path.write_text("late = yes ; cases 200\n")
    facts = load_facts(path, RULES)
    assert Prior.of_text(RULES, TEXT).text.measures["late"] == 0.0
    prior = Prior.of_text(RULES, TEXT, facts)
    assert prior.text.measures["late"] == pytest.approx(0.5)
    assert prior.potentials(Sentence.of_tags(["NOUN", "PART"]))[1, 2] == pytest.approx(2.0)
    with pytest.raises(ConfigError, match="cannot read the facts"):
        load_facts(tmp_path / "none.txt", RULES)
