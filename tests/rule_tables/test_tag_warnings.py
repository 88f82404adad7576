"""Typos in the tags of a text and of a rule table are told, with what was meant."""

from __future__ import annotations

import pytest
from wording import Wording

from dynet_vdgi.errors import ConfigError
from dynet_vdgi.rule_tables.rules import RuleSet, load_rules, parse_rules
from dynet_vdgi.rule_tables.tag_warnings import tag_warnings, unknown_tags, unknown_to_model
from dynet_vdgi.settings.bundled import resources

TEXT = {"NOUN": 400, "VERB": 200, "DET": 150, "ADJ": 100, "CCONJ": 50}


@pytest.fixture(scope="module")
def best() -> RuleSet:
    return load_rules(resources() / "rules" / "best.txt")


def test_a_sound_text_gives_no_warning(best: RuleSet) -> None:
    assert tag_warnings(TEXT, best) == []


@pytest.mark.parametrize(
    ("counts", "end"),
    [
        ({"noun": 400, "VERB": 200}, "noun (400 words, 66.7 %); write NOUN for noun?"),
        ({**TEXT, "NUON": 3}, "NUON (3 words, 0.3 %); write NOUN for NUON?"),
        ({**TEXT, "EMO": 90, "HASH": 10}, "EMO HASH (100 words, 10.0 %)"),
        ({"verb": 2, "det": 1}, "verb det (3 words, 100.0 %); write VERB for verb, DET for det?"),
    ],
)
def test_tags_that_no_rule_mentions_share_one_warning(
    best: RuleSet, counts: dict[str, int], end: str, wording: Wording
) -> None:
    (line,) = tag_warnings(counts, best)
    wording.check(line)
    (line,) = tag_warnings(TEXT, parse_rules("ROOT VERB 1\nVERB NOUN 1"))
    wording.check(line)


def test_tags_of_another_tag_set_are_no_typos() -> None:
    penn = {"NN": 300, "VBZ": 100, "DT": 90, "NNP": 1, "PRP": 1, "ADV": 1}
    rules = load_rules(resources() / "rules" / "wsj.txt")
    assert not any("write" in line for line in tag_warnings(penn, rules))
    assert unknown_tags(rules, penn) == []
    assert unknown_tags(parse_rules("ROOT verbe 1"), {"verbe"}) == []


@pytest.mark.parametrize("name", ["ud", "ud-propn", "wsj", "wsj-pairs", "best", "text", "strict"])
def test_the_tables_that_come_along_have_no_unknown_tag(name: str) -> None:
    rules = load_rules(resources() / "rules" / f"{name}.txt")
    assert rules.mentioned_tags()
    assert unknown_tags(rules, ()) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("VERB NOUN 1", "VREB NOUN 1"),
        ("CONJ CCONJ DET PART", "CONJ CCNJ DET PART"),
        ("NOUN += PROPN", "NUON += PROPN"),
        ("NOUN PROPN PRON | VERB | ADJ", "NOUN PROPN PRON | VERB | ADJX"),
        ("except NOUN  CONJ  0 left", "except NONU  CONJ  0 left"),
    ],
)
def test_typos_in_a_table_are_told(best: RuleSet, old: str, new: str, wording: Wording) -> None:
    text = best.text.replace(old, new, 1)
    assert text != best.text
    (line,) = unknown_tags(parse_rules(text), TEXT)
    wording.check(line)


def test_plus_and_equals_in_the_wrong_order(best: RuleSet, wording: Wording) -> None:
    text = best.text.replace("NOUN += PROPN", "NOUN =+ PROPN", 1)
    with pytest.raises(ConfigError) as caught:
        parse_rules(text, "my.txt")
    wording.check(caught.value)
    with wording.raises(ConfigError):
        parse_rules("A =+ B\nROOT A 1")


def test_of_thousands_of_tags_only_some_are_named(best: RuleSet, wording: Wording) -> None:
    counts = {f"t{k}": 1 for k in range(10_000)}
    (line,) = tag_warnings({**counts, **{tag.lower(): 9 for tag in best.mentioned_tags()}}, best)
    assert len(line) < 5_000
    assert " more (" in line
    (line,) = unknown_to_model({**counts, "X": 2})
    assert line.startswith("tags X t0 t1 t10 ")
    wording.check(line)
    assert unknown_to_model({}) == []
    (line,) = unknown_tags(parse_rules("".join(f"T{k} NOUN 1\n" for k in range(300))), counts)
    wording.check(line)
    assert line.endswith(", and 280 more")


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"T{k} NOUN 1\n" for k in range(501)),
        f"MANY = {' '.join(f'T{k}' for k in range(5_000))}\nMANY MANY 1",  # 25 million pairs
        f"[rules] (a)\nrule strength = 1\nMANY = {' '.join(f'T{k}' for k in range(501))}\nMANY NOUN 1",
    ],
)
def test_rules_for_thousands_of_tags_are_refused(text: str, wording: Wording) -> None:
    with wording.raises(ConfigError):
        parse_rules(text, "my.txt")
