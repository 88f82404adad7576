"""Rule tables, statistics of a text, and the potentials made of them, against hand-made figures and
loops."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

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


def test_rules_weigh_what_the_table_says():
    prior = table("rule strength = 2", "ROOT VERB 1", "VERB NOUN 0.5", "NOUN DET 1")
    assert arcs(prior, "DET NOUN VERB") == {(0, 3): 2.0, (3, 2): 1.0, (2, 1): 2.0}


def test_exceptions_come_before_rules_and_later_ones_win():
    prior = table(
        "rule strength = 2",
        "NOUN = NOUN PROPN",
        "NOUN NOUN 1",
        "VERB NOUN 1",
        "except PROPN PROPN 0 left",
        "except VERB NOUN 0",
        "except VERB PROPN -3 right",
        "except ROOT X 1",
    )
    assert arcs(prior, "PROPN PROPN") == {(1, 2): 2.0}
    assert arcs(prior, "NOUN PROPN") == {(1, 2): 2.0, (2, 1): 2.0}
    assert arcs(prior, "PROPN VERB PROPN") == {(1, 3): 2.0, (2, 3): -6.0}
    assert arcs(prior, "X") == {(0, 1): 2.0}


def test_classes_may_depend_on_the_role():
    prior = table(
        "rule strength = 1",
        "ROOT NOUN 1",
        "NOUN NOUN 1",
        "NOUN += PROPN",
        "NOUN += PRON as dependent",
        "NOUN += NUM as head",
    )
    assert arcs(prior, "PRON PROPN") == {(0, 1): 1.0, (0, 2): 1.0, (2, 1): 1.0}
    assert arcs(prior, "NUM NOUN") == {(0, 2): 1.0, (1, 2): 1.0}
    assert arcs(prior, "PRON PRON") == {(0, 1): 1.0, (0, 2): 1.0}
    assert prior.rules.classes == {"NOUN": ("NOUN", "PROPN")}


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


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("NOUN CONJ NOUN", {(1, 3), (1, 2)}),
        ("NOUN CONJ DET ADJ PROPN", {(1, 5), (1, 2)}),  # ADJ has no partner
        ("NOUN ADJ CONJ ADJ NOUN", {(2, 4), (2, 3), (1, 5), (1, 3)}),
        ("NOUN CONJ NOUN NOUN", {(1, 3), (1, 2)}),  # a word of the group comes between
        ("NOUN CONJ VERB NOUN", set()),  # a verb comes between
        ("NOUN VERB CONJ NOUN", set()),  # on either side
        ("VERB NOUN CONJ NOUN VERB", {(2, 4), (2, 3), (1, 5), (1, 3)}),
        ("VERB CONJ VERB CONJ VERB", {(1, 3), (1, 2), (3, 5), (3, 4)}),
        ("CONJ NOUN", set()),
        ("NOUN NOUN CONJ CONJ NOUN", {(2, 5), (2, 4)}),  # the nearest conjunction
        ("NOUN CONJ DET", set()),
    ],
)
def test_conjuncts(tags, expected):
    prior = table("conjunction = CONJ", "verb = VERB", "conjunct = 2 NOUN PROPN | VERB | ADJ")
    assert arcs(prior, tags) == dict.fromkeys(expected, 2.0)


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("NOUN SCONJ VERB", {(3, 1)}),
        ("NOUN SCONJ ADV VERB", {(3, 1), (4, 1)}),
        ("NOUN VERB SCONJ", set()),  # not between, and a verb does not bar its left
        ("VERB SCONJ NOUN", {(3, 1)}),
        # after the noun, the conjunction bars nothing
        ("NOUN CONJ VERB NOUN VERB", {(3, 1), (4, 1)}),
        ("VERB CONJ NOUN VERB X", {(3, 1), (4, 1)}),
        ("DET SCONJ VERB", set()),  # of no group
    ],
)
def test_clause_barriers(tags, expected):
    prior = table("conjunction = CONJ", "subordinator = SCONJ", "clause barrier = 2 NOUN | VERB")
    assert arcs(prior, tags) == dict.fromkeys(expected, -2.0)


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
def test_every_part_has_a_switch(name):
    rules = shipped(name)
    tags = Sentence.of_tags([*UPOS, "PROPN", "PROPN", "CONJ", "VERB", "NOUN", "ADP"])
    wholes = [Prior.of_text(rules, text).potentials(tags) for text in TEXTS]
    for part in rules.parts:
        if part.name == "kinds of words":
            with pytest.raises(ConfigError, match="needs a line"):
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
    ("text", "message"),
    [
        ("short arcs = 1\n[a] (b)", "r.txt:1: in a file with parts every line belongs to one"),
        ("[rules]\nROOT X 1", "r.txt:1: expected a part's name and kind, such as [rules] (a)"),
        ("[rules] (e)", "r.txt:1: expected a part's name and kind"),
        ("[rules] (ab)", "r.txt:1: expected a part's name and kind"),
        ("[] (a)", "r.txt:1: expected a part's name and kind"),
        ("[rules (a)", "r.txt:1: expected a part's name and kind"),
        ("[a] (a)\n[b] (b)\n[a] (c)", "r.txt:3: part [a] is there twice"),
        ("[a] (a)\nROOT X 1", "r.txt: rules with weights need a line 'rule strength = NUMBER'"),
        (
            "[a] (a)\nROOT X",
            "r.txt:2: expected head tag, dependent tag, weight, and left or right if need be",
        ),
        ("[a] (a)\nA B 1 up", "left or right if need be; found: A B 1 up"),
        ("[a] (a)\nexcept A B", "r.txt:2: expected head tag, dependent tag, weight"),
        ("[a] (a)\nROOT X 1 left", "r.txt:2: an arc from ROOT has no side"),
        ("[a] (a)\nX ROOT 1", "r.txt:2: ROOT cannot be a dependent"),
        ("[a] (a)\nA B -1", "r.txt:2: weight must be 0 or more (found -1)"),
        ("[a] (a)\nexcept A B inf", "r.txt:2: weight must be a finite number (found inf)"),
        (
            "[a] (a)\nrule strength = 1\nA B 1\nA B 1 left",
            "r.txt:4: A>B is already matched by the rule in",
        ),
        (
            "[a] (a)\nrule strength = 1\nA += B\nA C 1\nB C 1",
            "r.txt:5: B>C is already matched by the rule",
        ),
        (
            "[a] (b)\nshort arc = 1",
            "r.txt:2: no setting 'short arc'; did you mean 'short arcs'? (there are: ",
        ),
        ("[a] (b)\nconjunkt = 1 A", "r.txt:2: no setting 'conjunkt'; did you mean 'conjunct'?"),
        ("[a] (b)\nshort arcs = ", "r.txt:2: 'short arcs' has no value"),
        ("[a] (b)\nshort arcs = far", "r.txt:2: 'short arcs' must be a number (found far)"),
        ("[a] (b)\nshort arcs = -1", "r.txt:2: 'short arcs' must be 0 or more (found -1)"),
        ("[a] (b)\nshort arcs = 1\nshort  arcs = 2", "r.txt:3: 'short arcs' is set twice"),
        ("[a] (b)\nverb = A\nverb = B", "r.txt:3: 'verb' is set twice"),
        ("[a] (b)\nleaf = DET", "r.txt:2: expected a number and tags, such as leaf = 1 NOUN VERB"),
        ("[a] (b)\nleaf = DET ADP", "r.txt:2: 'leaf' must be a number (found DET)"),
        ("[a] (b)\nleaf = 0 DET", "r.txt:2: leaf 0 would leave some sentences without a tree"),
        ("[a] (b)\nleaf = .1 DET\nleaf = .2 ADP DET", "r.txt:3: 'leaf' has DET twice"),
        ("[a] (b)\nconjunct = 1 A | | B", "r.txt:2: a group has no tags"),
        ("[a] (b)\nconjunct = 1 A | B A", "r.txt:2: A is there twice"),
        ("[a] (b)\nconjunct = 1 A", "r.txt: 'conjunct' needs a line 'conjunction = TAG ...'"),
        (
            "[a] (b)\nclause barrier = 1 A",
            "r.txt: 'clause barrier' needs a line 'subordinator = TAG ...'",
        ),
        (
            "[a] (b)\nN += ",
            "r.txt:2: expected further tags of a class, such as NOUN += PRON as dependent",
        ),
        ("[a] (b)\nN += as head", "r.txt:2: expected further tags of a class"),
        ("[a] (b)\nN += A as subject", "r.txt:2: expected further tags of a class"),
        ("[a] (b)\nN += N", "r.txt:2: N is in class N already"),
        ("[a] (b)\nN += A as head\nN += A as head", "r.txt:3: A is in class N already"),
        ("[a] (b)\nN += ROOT", "r.txt:2: ROOT cannot be part of a class"),
        ("[a] (b)\nN = A\nN = B", "r.txt:3: class N is declared twice"),
        ("[a] (c)\nverb-final = 1 VERB", "r.txt:2: share 1 is not below 1"),
        (
            "[a] (c)\nverb-final = VERB",
            "r.txt:2: expected a number and tags, such as verb-final = 1 NOUN",
        ),
        ("[a] (c)\nexcept A B 1 if verbfinal", "r.txt:2: expected head tag, dependent tag, weight"),
        ("[a] (c)\nA B 1 if verb-final", "left or right if need be; found: A B 1 if verb-final"),
        ("[a] (b)\nN M = A", "r.txt:2: no setting 'N M' (there are: "),
    ],
)
def test_faults_are_named_with_file_and_line(text, message):
    with pytest.raises(ConfigError) as caught:
        parse_rules(text, "r.txt")
    assert message in str(caught.value)
