"""Rule tables, statistics of a text, and the potentials made of them, against hand-made figures and
loops."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from wording import Wording

from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.errors import ConfigError
from dynet_vdgi.rule_tables.prior import Prior
from dynet_vdgi.rule_tables.rules import RuleSet, load_rules, parse_rules
from dynet_vdgi.rule_tables.statistics import Statistics
from dynet_vdgi.settings.bundled import rules_path

NAMES = "ADJ ADP ADV AUX CCONJ CONJ DET INTJ NOUN NUM PART PRON PROPN SCONJ SYM VERB X"
UPOS = NAMES.split()
TEXTS = (  # plain, verb-final, and a mirror image
    [Sentence.of_tags(["DET", "NOUN"])] * 3,
    [Sentence.of_tags(["NOUN", "ADP", "VERB"])] * 3,
    [Sentence.of_tags(["NOUN", "CONJ"])] * 20,
)
TEXT = Statistics.measure([["DET", "NOUN"]] * 19 + [["NOUN", "DET"]] * 4 + [["DET"]] * 100)
sentences = st.lists(st.sampled_from(UPOS), min_size=1, max_size=12)


def shipped(name: str) -> RuleSet:
    return load_rules(rules_path(name))


def table(*lines: str) -> Prior:
    """A prior of one part."""
    return Prior(parse_rules("\n".join(["[p] (b)", *lines])), TEXT)


def arcs(prior: Prior, tags: str) -> dict[tuple[int, int], float]:
    """The potentials of arcs that are not 0, rounded."""
    potentials = prior.potentials(Sentence.of_tags(tags.split()))
    assert np.isfinite(potentials).all()
    return {
        (head, dependent): round(float(potentials[head, dependent]), 9)
        for head in range(len(potentials))
        for dependent in range(1, len(potentials))
        if head != dependent and potentials[head, dependent]
    }


def test_classes_that_depend_on_the_role_are_not_those_of_the_table():
    lines = ["[p] (b)", "NOUN += PROPN", "NOUN += PRON as dependent", "NOUN += NUM as head"]
    rules = parse_rules("\n".join(lines))
    assert rules.classes == {"NOUN": ("NOUN", "PROPN")}


def test_edge_statistics_tell_the_side():
    asymmetry = math.log((19 + 1) / (4 + 1))
    assert TEXT.sentences == 23
    assert TEXT.asymmetry("DET") == pytest.approx(asymmetry)
    prior = table("edge statistics = 0.5 DET")
    assert arcs(prior, "DET NOUN DET") == {
        (2, 1): round(0.5 * asymmetry, 9),
        (3, 1): round(0.5 * asymmetry, 9),
        (1, 3): round(-0.5 * asymmetry, 9),
        (2, 3): round(-0.5 * asymmetry, 9),
    }
    assert arcs(Prior(prior.rules), "DET NOUN") == {}  # without a text


def looped(tags: Sequence[str], rules: RuleSet, statistics: Statistics) -> np.ndarray:
    """Potentials of the shipped tables, word by word, as accuracy notes describe them."""
    on = {part.name for part in rules.parts}
    strength, short = (2.0, 0.1) if "function words" not in on else (2.5, 0.2)
    nominal, n = ("NOUN", "PROPN", "PRON"), len(tags)
    groups = [set(nominal), {"VERB"}, {"ADJ"}, {"ADV"}, {"NUM"}]
    conjunctions = ("CONJ", "CCONJ")
    expected = np.zeros((n + 1, n + 1))

    def group(word: int) -> int:
        return next((g for g, members in enumerate(groups) if tags[word - 1] in members), -1 - word)

    for dependent in range(1, n + 1):
        d = tags[dependent - 1]
        for head in range(n + 1):
            if head == dependent:
                continue
            h = tags[head - 1] if head else "ROOT"
            as_noun = {"PROPN": "NOUN", "CCONJ": "CONJ"}
            names = (
                as_noun.get(h, h),
                "NOUN" if d == "PRON" and "pronouns" in on else as_noun.get(d, d),
            )
            weight = {f"{rule.head}>{rule.dependent}": rule.weight for rule in rules.rules}
            fires = weight.get(">".join(names), 0.0)
            left = dependent < head
            if "head first" in on and left:
                if names[0] in ("VERB", "NOUN") and names[1] == "CONJ":
                    fires = 0.0
                if (h, d) in (("VERB", "VERB"), ("PROPN", "PROPN")):
                    fires = 0.0
            expected[head, dependent] = strength * fires
            if not head:
                continue
            expected[head, dependent] -= short * (abs(head - dependent) - 1)
            if "function words" in on and h in (
                "ADP",
                "AUX",
                "DET",
                "PART",
                "SCONJ",
                *conjunctions,
            ):
                expected[head, dependent] += math.log(0.01)
            if "edge statistics" in on and d in ("ADP", "DET", "SCONJ"):
                asymmetry = statistics.asymmetry(d)
                expected[head, dependent] += 0.5 * asymmetry if left else -0.5 * asymmetry
            if "clause barrier" in on and group(dependent) in (0, 1) and left:
                between = range(dependent + 1, head)
                is_barred = any(tags[w - 1] == "SCONJ" for w in between)
                for w in between:
                    if tags[w - 1] in conjunctions:
                        is_barred |= all(group(v) != group(dependent) for v in range(w + 1, head))
                expected[head, dependent] -= 2.0 * is_barred
    for word in range(1, n + 1):
        if "names" in on and tags[word - 1] in ("PROPN", "X"):
            start = word
            while start > 1 and tags[start - 2] == tags[word - 1]:
                start -= 1
            if start < word:
                expected[start, word] += 2.0
        if "conjuncts" in on and group(word) >= 0:
            joint = word - 1
            while joint >= 1 and tags[joint - 1] not in conjunctions:
                joint = -1 if group(joint) in (1, group(word)) else joint - 1
            first = joint - 1
            while first >= 1 and group(first) != group(word):
                first = -1 if group(first) == 1 else first - 1
            if first >= 1:
                expected[first, word] += 2.0
                expected[first, joint] += 2.0
    return expected


@pytest.mark.parametrize("name", ["strict-tags", "text", "best-tags"])
@given(tags=sentences)
def test_shipped_tables_give_what_a_loop_gives(name, tags):
    rules = shipped(name)
    potentials, expected = (
        Prior(rules, TEXT).potentials(Sentence.of_tags(tags)),
        looped(tags, rules, TEXT),
    )
    np.fill_diagonal(potentials, 0.0)
    potentials[:, 0] = 0.0
    assert potentials == pytest.approx(expected)


@given(tags=sentences, short=st.sampled_from([0.0, 0.05, 0.3]))
def test_files_without_parts_are_rules_and_distance(tags, short):
    rules = shipped("ud-propn")
    pairs, potentials = rules.pairs(), Prior(rules, short=short).potentials(Sentence.of_tags(tags))
    for dependent, tag in enumerate(tags, 1):
        assert potentials[0, dependent] == float(("ROOT", tag) in pairs)
        for head, head_tag in enumerate(tags, 1):
            if head != dependent:  # exactly, so that ties fall as they always did
                distance = abs(head - dependent) - 1
                assert potentials[head, dependent] == ((head_tag, tag) in pairs) - short * distance


@pytest.mark.parametrize("name", ["strict-tags", "text", "best-tags"])
def test_every_part_has_a_switch(name, wording: Wording):
    rules = shipped(name)
    tags = Sentence.of_tags([*UPOS, "PROPN", "PROPN", "CONJ", "VERB", "NOUN", "ADP"])
    wholes = [Prior.of_text(rules, text).potentials(tags) for text in TEXTS]
    for part in rules.parts:
        if part.name == "kinds of words":
            with wording.raises(ConfigError):
                rules.without(part.name)
            continue
        dependent_parts = [
            other.name
            for other in rules.parts
            if other.name in ("verb particles", "further rules", "other predicates")
        ]
        names = [part.name, *dependent_parts] if part.name == "rules" else [part.name]
        less = rules.without(*names)
        assert [other.name for other in less.parts] == [
            other.name for other in rules.parts if other.name not in names
        ]
        changed = [
            not np.allclose(Prior.of_text(less, text).potentials(tags), whole)
            for text, whole in zip(TEXTS, wholes)
        ]
        assert any(changed), part
        assert parse_rules(less.text) == less  # for model files


@pytest.mark.parametrize(
    "text",
    [
        "short arcs = 1\n[a] (b)",
        "[rules]\nROOT X 1",
        "[rules] (e)",
        "[rules] (ab)",
        "[] (a)",
        "[rules (a)",
        "[a] (a)\n[b] (b)\n[a] (c)",
        "[a] (a)\nROOT X 1",
        "[a] (a)\nROOT X",
        "[a] (a)\nA B 1 up",
        "[a] (a)\nexcept A B",
        "[a] (a)\nROOT X 1 left",
        "[a] (a)\nX ROOT 1",
        "[a] (a)\nA B -1",
        "[a] (a)\nexcept A B inf",
        "[a] (a)\nrule strength = 1\nA B 1\nA B 1 left",
        "[a] (a)\nrule strength = 1\nA += B\nA C 1\nB C 1",
        "[a] (b)\nshort arc = 1",
        "[a] (b)\nconjunkt = 1 A",
        "[a] (b)\nshort arcs = ",
        "[a] (b)\nshort arcs = far",
        "[a] (b)\nshort arcs = -1",
        "[a] (b)\nshort arcs = 1\nshort  arcs = 2",
        "[a] (b)\nverb = A\nverb = B",
        "[a] (b)\nleaf = DET",
        "[a] (b)\nleaf = DET ADP",
        "[a] (b)\nleaf = 0 DET",
        "[a] (b)\nleaf = .1 DET\nleaf = .2 ADP DET",
        "[a] (b)\nconjunct = 1 A | | B",
        "[a] (b)\nconjunct = 1 A | B A",
        "[a] (b)\nconjunct = 1 A",
        "[a] (b)\nclause barrier = 1 A",
        "[a] (b)\nN += ",
        "[a] (b)\nN += as head",
        "[a] (b)\nN += A as subject",
        "[a] (b)\nN += N",
        "[a] (b)\nN += A as head\nN += A as head",
        "[a] (b)\nN += ROOT",
        "[a] (b)\nN = A\nN = B",
        "[a] (c)\nverb-final = 1 VERB",
        "[a] (c)\nverb-final = VERB",
        "[a] (c)\nexcept A B 1 if verbfinal",
        "[a] (c)\nA B 1 if verb-final",
        "[a] (b)\nN M = A",
    ],
)
def test_faults_are_named_with_file_and_line(text, wording: Wording):
    with pytest.raises(ConfigError) as caught:
        parse_rules(text, "r.txt")
    wording.check(caught.value)
