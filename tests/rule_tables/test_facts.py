"""Facts about a language beside what is measured in its text."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from wording import Wording

from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.errors import ConfigError
from dynet_vdgi.rule_tables.explanation import COMPARED_SENTENCES, idle_facts
from dynet_vdgi.rule_tables.facts import accepted_names, load_facts, parse_facts
from dynet_vdgi.rule_tables.measures import Text
from dynet_vdgi.rule_tables.prior import Prior
from dynet_vdgi.rule_tables.rules import load_rules, parse_rules
from dynet_vdgi.rule_tables.word_orders import DEFAULT_CASES, ORDERS, Fact
from dynet_vdgi.settings.bundled import rules_path

RULES = parse_rules("[p] (c)\nmeasure late = ending VERB | VERB\nfrom previous = 4 PART if late")
TEXT = [Sentence.of_tags(["VERB", "NOUN", "NOUN"])] * 200
BEST = load_rules(rules_path("best"))


def table(*lines: str):
    return parse_rules("\n".join(["[p] (c)", *lines]))


def text_of(*sentences: str, times: int = 1):
    return [Sentence.of_tags(tags.split()) for tags in sentences] * times


def test_facts_are_read_with_their_worth():
    rules = table("measure a = ending VERB | VERB", "measure b = told", "verb-final = 0.7 VERB")
    found = parse_facts("# German\na = yes\nb = 0.3 ; cases 40  # or so\nobjects = mixed\n", rules)
    assert found == {
        "a": Fact(1.0, DEFAULT_CASES),
        "b": Fact(0.3, 40),
        "objects": Fact(0.5, DEFAULT_CASES),
    }


@pytest.mark.parametrize(
    "line",
    [
        "late",
        "lat = yes",
        "late = yes\nlate = no",
        "late = perhaps",
        "late = before",
        "late = 2",
        "late = -1",
        "late = yes ; times 3",
        "objects = before",
        "# nothing",
    ],
)
def test_faults_name_file_and_line(line, wording: Wording):
    with wording.raises(ConfigError):
        parse_facts(line, RULES)


def test_a_table_takes_facts_that_its_parts_ask_for(wording: Wording):
    orders = [
        "objects",
        "verb-initial",
        "adpositions",
        "determiners",
        "subordinators",
        "adjectives",
    ]
    assert accepted_names(BEST)[: len(orders)] == orders
    assert accepted_names(load_rules(rules_path("strict-tags"))) == []
    with wording.raises(ConfigError):
        parse_facts("genitives = before", BEST)
    assert accepted_names(table("measure genitives-after-nouns = told"))[0] == "genitives"
    assert accepted_names(table("nominal predicate = 1 AUX | NOUN ADJ ; as VERB ; over NOUN")) == [
        "adjectives"
    ]
    assert accepted_names(table("nominal predicate = 1 AUX | NOUN ADJ ; as VERB")) == []


def test_facts_stand_beside_the_evidence_of_the_text(tmp_path: Path, wording: Wording):
    path = tmp_path / "facts.txt"
    path.write_text("late = yes ; cases 200\n")
    facts = load_facts(path, RULES)
    assert Prior.of_text(RULES, TEXT).text.measures["late"] == 0.0
    prior = Prior.of_text(RULES, TEXT, facts)
    assert prior.text.measures["late"] == pytest.approx(0.5)
    assert prior.potentials(Sentence.of_tags(["NOUN", "PART"]))[1, 2] == pytest.approx(2.0)
    with wording.raises(ConfigError):
        load_facts(tmp_path / "none.txt", RULES)


AFTER = "left of head = 4 NOUN | NOUN VERB"
CASES_OF_ORDERS = {
    "objects": ("before", f"measure nouns-before-verbs = ending VERB | VERB\n{AFTER} if nouns-before-verbs"),
    "verb-initial": ("yes", "measure verbs-before-nouns = ahead X | VERB\nfrom previous = 4 NOUN if "
                     "verbs-before-nouns"),
    "adpositions": ("after", "edge statistics = 1 ADP"),
    "determiners": ("after", "edge statistics = 1 DET"),
    "subordinators": ("after", "edge statistics = 1 SCONJ"),
    "adjectives": ("before", "edge statistics = 1 ADJ"),
    "genitives": ("before", f"measure genitives-before-nouns = told\n{AFTER} if genitives-before-nouns"),
    "relative clauses": ("after", f"measure relative-clauses-after-nouns = told\n{AFTER} if "
                         "relative-clauses-after-nouns"),
}  # fmt: skip
SENTENCE = Sentence.of_tags(["ADP", "DET", "NOUN", "SCONJ", "VERB", "ADJ", "NOUN"])


@pytest.mark.parametrize("name", ORDERS)
def test_an_order_changes_potentials_and_fades_as_the_text_grows(name):
    value, lines = CASES_OF_ORDERS[name]
    rules = table(*lines.split("\n"))
    facts = parse_facts(f"{name} = {value} ; cases 20", rules)
    effects = []
    for times in (1, 30, 3000):
        text = text_of(
            "ADP DET NOUN VERB NOUN", "SCONJ VERB NOUN", "DET NOUN VERB NOUN ADJ", times=times
        )
        told, silent = (
            Prior.of_text(rules, text, given).potentials(SENTENCE) for given in (facts, None)
        )
        effects.append(np.abs(told - silent).max())
    assert effects[0] > 0.5
    if "told" in lines:  # no text says anything about it
        assert effects == [pytest.approx(effects[0])] * 3
    else:
        assert effects[0] > effects[1] > effects[2]
        assert effects[2] < 0.3


@pytest.mark.parametrize(("value", "side"), [("before", 1), ("after", -1), ("mixed", 0)])
def test_adpositions_stand_where_the_fact_says_if_the_text_shows_nothing(value, side):
    rules = table("edge statistics = 1 ADP")
    prior = Prior.of_text(rules, text_of("NOUN VERB"), parse_facts(f"adpositions = {value}", rules))
    assert np.sign(prior.statistics.asymmetry("ADP")) == side


@pytest.mark.parametrize(("value", "level"), [("before", 1.0), ("after", 0.0), ("mixed", 0.5)])
def test_the_side_of_adpositions_is_the_measure_of_prepositions(value, level, wording: Wording):
    text = text_of("NOUN VERB")
    told = Prior.of_text(
        BEST, text, parse_facts(f"adpositions = {value} ; cases 10000", BEST)
    ).text.measures
    assert told["prepositions"] == pytest.approx(level, abs=0.02)
    with wording.raises(ConfigError):
        parse_facts("adpositions = before\nprepositions = yes", BEST)


def test_facts_are_kept_with_the_text():
    facts = parse_facts("objects = before\nadpositions = after", BEST)
    prior = Prior.of_text(BEST, TEXT, facts)
    again = Text.from_json(json.loads(json.dumps(prior.text.to_json())))
    assert again.facts == facts
    former = {name: value for name, value in prior.text.to_json().items() if name != "told"}
    assert Text.from_json(former).facts == {}  # of a model file from before there were facts
    sentence = Sentence.of_tags(["NOUN", "ADP", "VERB"])
    np.testing.assert_array_equal(
        Prior(BEST, again).potentials(sentence), prior.potentials(sentence)
    )


def test_facts_that_change_nothing_are_found(wording: Wording):
    rules = table(
        "edge statistics = 0 ADP", "edge statistics = 1 DET", "measure late = ending VERB | VERB"
    )
    text = text_of("DET ADP NOUN VERB", times=3)
    facts = parse_facts("adpositions = after\ndeterminers = after\nlate = no", rules)
    wording.check(idle_facts(rules, text, facts))
    shown = parse_facts("determiners = before", rules)
    expected = "'determiners = before' has no effect: the text already shows this order"
    assert idle_facts(rules, text * 40, shown) == [expected]
    (message,) = idle_facts(
        rules, text * COMPARED_SENTENCES, parse_facts("determiners = before ; cases 0", rules)
    )
    wording.check(message)
    assert idle_facts(rules, text, {}) == []


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two texts, and facts that contradict them."""
    monkeypatch.chdir(tmp_path)
    for name, order in (
        ("a.conllu", ("DET", "NOUN", "VERB", "ADP", "NOUN")),
        ("b.conllu", ("VERB", "NOUN")),
    ):
        rows = [f"{k}\tw{k}\t_\t{tag}" + "\t_" * 6 for k, tag in enumerate(order, 1)]
        Path(name).write_text(("\n".join(rows) + "\n\n") * 60, encoding="utf-8")
    Path("facts.txt").write_text(
        "adpositions = after\nobjects = before ; cases 500\n", encoding="utf-8"
    )
    return tmp_path


QUICK = ["--preset", "best", "--set", "teacher.iterations=2",
         "--set", "teacher.valence_iterations=1", "--set",
         "parser.log2_buckets=10"]  # fmt: skip


def test_facts_reach_teacher_student_log_and_model_file(vdgi, folder, wording: Wording):
    from dynet_vdgi.models import model_file

    for out, facts in (("with", ["--language-facts", "facts.txt"]), ("alone", [])):
        vdgi.good("train", "--train", "a.conllu", *QUICK, "--out", out, *facts)
    told, alone = (model_file.load(f"{out}/model.vdgi") for out in ("with", "alone"))
    assert told.text["measures"]["nouns-before-verbs"] > 0.8
    assert alone.text["measures"]["nouns-before-verbs"] == 0
    assert [(item.role, item.name) for item in told.provenance.data] == [
        ("train", "a.conllu"),
        ("facts", "facts.txt"),
    ]
    assert told.provenance.facts == ("adpositions = 0 ; cases 200", "objects = 1 ; cases 500")
    rows = [json.loads(line) for line in Path("with/log.jsonl").read_text().splitlines()]
    (row,) = [row for row in rows if row["phase"] == "text"]
    assert row["facts"]["objects"] == [1.0, 500.0]
    assert (
        row["measures"]["nouns-before-verbs"]
        > 0.8
        > row["text_alone"]["measures"]["nouns-before-verbs"]
    )
    assert "objects = 1 ; cases 500" in vdgi.good("info", "with").out
    resumed = vdgi("train", "--train", "a.conllu", *QUICK, "--out", "with", "--resume")
    assert resumed.status == 4
    wording.check(resumed.err)


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ("--train a.conllu --language-facts fr=facts.txt", 2),
        ("--language aa a.conllu --language-facts facts.txt", 2),
        ("--language aa a.conllu --language-facts ab=facts.txt", 2),
        ("--language aa a.conllu --language-facts aa=", 2),
        ("--train a.conllu --language-facts -", 2),
        ("--train a.conllu --language-facts facts.txt --language-facts facts.txt", 2),
        ("--train a.conllu --language-facts none.txt", 4),
        ("--train a.conllu --language-facts facts.txt --preset paper", 2),
        ("--train a.conllu --language-facts facts.txt --rules ud", 4),
        ("--trees t.conllu --preset supervised --language-facts facts.txt", 2),
    ],
)  # fmt: skip
def test_facts_that_cannot_be_used_are_refused(vdgi, folder, arguments, status, wording: Wording):
    Path("t.conllu").write_text(
        "1\ta\t_\tVERB\t_\t_\t0\t_\t_\t_\n2\tb\t_\tNOUN\t_\t_\t1\t_\t_\t_\n\n"
    )
    preset = [] if "--preset" in arguments else ["--preset", "best"]
    result = vdgi("train", *preset, *arguments.split(), "--out", "run")
    assert result.status == status, result.err
    wording.check(result.err)
    assert not Path("run").exists()
