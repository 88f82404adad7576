"""Expectations of rules counted in gold trees, and the verb `vdgi rules estimate`."""

from __future__ import annotations

from pathlib import Path

import pytest
import tiny
from hypothesis import given
from hypothesis import strategies as st
from shell import Vdgi, last_line, names_in
from wording import Wording

from dynet_vdgi import cli
from dynet_vdgi.conllu import reading
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.rule_tables.expectations import estimate, sentences_for_estimate
from dynet_vdgi.rule_tables.rules import load_rules, parse_rules
from dynet_vdgi.settings.bundled import rules_path

# Counted by hand

RULES = """\
NOUN = NOUN PROPN
ROOT VERB 0.5
ROOT NOUN 0.5
VERB NOUN 0.5
VERB VERB 0.5
NOUN NOUN 0.5
NOUN DET 0.5
ADJ ADV 0.5
"""

SENTENCES = (
    ("DET NOUN VERB PROPN", (2, 3, 0, 3)),
    ("NOUN PUNCT NOUN PROPN PUNCT", (0, 1, 2, 3, 1)),  # without PUNCT: NOUN NOUN PROPN, 0 1 2
    ("VERB NOUN VERB", (0, 1, 1)),
    ("ADV " * 10 + "PUNCT", (0, *[1] * 10)),  # ten words without PUNCT
    ("VERB " + "DET " * 10, (0, *[1] * 10)),  # eleven words: dropped
    ("NOUN VERB DET NOUN", (3, 0, 2, 1)),  # arcs cross: dropped
    ("PUNCT", (0,)),  # nothing left: dropped
)

ARCS = (2, 1, 3, 1, 2, 1, 0)
PAIRS = (
    1 + 2,  # ROOT>VERB: verbs
    2 + 3 + 1,  # ROOT>NOUN: nouns of either kind
    1 * 2 + 2 * 1,  # VERB>NOUN: products
    2 * 1,  # VERB>VERB: not a verb with itself
    2 * 1 + 3 * 2,  # NOUN>NOUN: the same for the class; the first sentence has no such arc
    2 * 1,  # NOUN>DET
    0,  # ADJ>ADV: no ADJ
)


def treebank(sentences: tuple[tuple[str, tuple[int, ...]], ...] = SENTENCES) -> str:
    """The sentences as CoNLL-U."""
    return "".join(
        tiny.block(number, tags.split(), heads) for number, (tags, heads) in enumerate(sentences, 1)
    )


def in_memory() -> list[Sentence]:
    """The sentences as the reader gives them."""
    return [
        Sentence(tuple(tags.lower().split()), tuple(tags.split()), heads)
        for tags, heads in SENTENCES
    ]


def test_counts_made_by_hand(wording: Wording) -> None:
    prepared = sentences_for_estimate(in_memory())
    wording.check([str(dropped) for dropped in prepared.dropped])
    result = estimate(prepared.sentences, parse_rules(RULES))
    assert result.n_sentences == 4
    assert result.arcs == ARCS
    assert result.pairs == PAIRS
    assert result.expectations.tolist() == pytest.approx(
        [2 / 3, 1 / 6, 3 / 4, 1 / 2, 1 / 4, 1 / 2, 0]
    )
    assert [str(rule) for rule in result.without_pairs] == ["ADJ>ADV"]


def test_classes_on_either_side_count_each_tag_pair_once() -> None:
    sentence = Sentence(("a", "b", "c"), ("X", "Y", "Z"), (2, 0, 2))
    result = estimate([sentence], parse_rules("A = X Y\nB = Y Z\nA B 1\n"))
    assert (result.arcs, result.pairs) == ((1,), (3,))  # arc Y>Z; pairs X>Y, X>Z, Y>Z


# Against counting every pair

TAGS = ("ADJ", "NOUN", "PROPN", "VERB")
SIDES = {
    "NOMINAL": ("NOUN", "PROPN"),
    "ANY": TAGS,
    "NOUN": ("NOUN",),
    "VERB": ("VERB",),
    "ADJ": ("ADJ",),
}


@st.composite
def trees(draw: st.DrawFn) -> Sentence:
    """A sentence of up to eight words with any tree of one root, projective or not."""
    n = draw(st.integers(1, 8))
    order = draw(st.permutations(range(1, n + 1)))
    heads = {order[0]: 0}
    for word in order[1:]:
        heads[word] = draw(st.sampled_from(sorted(heads)))
    tags = tuple(draw(st.lists(st.sampled_from(TAGS), min_size=n, max_size=n)))
    return Sentence(tuple("w" * n), tags, tuple(heads[word] for word in range(1, n + 1)))


def counted_pair_by_pair(sentences: list[Sentence], head: str, dependent: str) -> tuple[int, int]:
    """Arcs and pairs of one rule, by looking at every two positions of every sentence."""
    arcs = pairs = 0
    for sentence in sentences:
        for m in range(1, len(sentence) + 1):
            for h in range(len(sentence) + 1):
                if h == m or sentence.tags[m - 1] not in SIDES[dependent]:
                    continue
                if h == 0:
                    matches = head == "ROOT"
                else:
                    matches = head != "ROOT" and sentence.tags[h - 1] in SIDES[head]
                if matches:
                    pairs += 1
                    arcs += sentence.heads is not None and sentence.heads[m - 1] == h
    return arcs, pairs


@given(st.lists(trees(), max_size=4), st.sampled_from(["ROOT", *SIDES]), st.sampled_from([*SIDES]))
def test_counts_are_those_of_every_pair(
    sentences: list[Sentence], head: str, dependent: str
) -> None:
    classes = "NOMINAL = NOUN PROPN\nANY = ADJ NOUN PROPN VERB\n"
    result = estimate(sentences, parse_rules(f"{classes}{head} {dependent} 1"))
    arcs, pairs = counted_pair_by_pair(sentences, head, dependent)
    assert (result.arcs, result.pairs) == ((arcs,), (pairs,))
    assert result.expectations.tolist() == [arcs / pairs if pairs else 0.0]
    assert bool(result.without_pairs) == (pairs == 0)


@given(st.lists(trees(), max_size=4))
def test_the_rule_file_is_read_back(sentences: list[Sentence]) -> None:
    rules = parse_rules(
        "NOMINAL = NOUN PROPN\nVERB NOMINAL 7\nROOT VERB 1\nNOMINAL ADJ .5\nADJ ADJ 1\n"
    )
    result = estimate(sentences, rules)
    text = result.rule_file(["a.conllu", "odd\nVERB VERB 1\udcff.conllu"])
    again = parse_rules(text)
    assert [str(rule) for rule in again.rules] == [str(rule) for rule in rules.rules]
    assert again.classes == rules.classes
    assert again.expectations.tolist() == [
        round(value, 3) for value in result.expectations.tolist()
    ]
    assert estimate(sentences, again).rule_file(["b"]) == result.rule_file(["b"])


# The released file, and the other languages (README of the data, section 4)

TRAIN = "ud14_train_len15/{}-ud-train-nopunct-len15.conllu"
DUTCH = "ud_extra/UD_Dutch-Alpino-c4fc94d/nl-ud-train-part-gold.conllu"
ESTIMATES = [
    ("rule_expectations/eu_10_gt.txt", ["ud14/eu-ud-train.conllu"], 2355),  # with punctuation in it
    ("rule_expectations/de_10_gt.txt", ["ud14/de-ud-dev.conllu"], 291),
    ("rule_expectations/nl_10_gt.txt", [DUTCH, "ud14/nl-ud-dev.conllu"], 285),
]


@pytest.mark.parametrize(("expected", "names", "n_sentences"), ESTIMATES)
def test_all_values_of_the_released_definition(
    data_dir: Path, expected: str, names: list[str], n_sentences: int
) -> None:
    sentences = (
        sentence for name in names for sentence in reading.read(data_dir / name, heads="required")
    )
    prepared = sentences_for_estimate(sentences)
    result = estimate(prepared.sentences, load_rules(rules_path("ud")))
    assert result.n_sentences == len(prepared.sentences) == n_sentences
    lines = (data_dir / expected).read_text(encoding="utf-8").split("\n")
    released = {tuple(line.split()[:2]): line.split()[2] for line in lines if line}
    assert len(released) == 13
    ours = {
        (rule.head, rule.dependent): f"{value:.3f}"
        for rule, value in zip(result.rules.rules, result.expectations)
    }
    assert ours == released


def test_the_verb_on_a_real_treebank(data_dir: Path, tmp_path: Path) -> None:
    out = tmp_path / "fr.txt"
    treebank = data_dir / TRAIN.format("fr")
    assert cli.main(["-q", "rules", "estimate", str(treebank), "-o", str(out)]) == 0
    released = load_rules(data_dir / "authors_fr" / "fr_10_gt.txt")
    assert set(load_rules(out).rules) == set(released.rules)


# The verb

WRITTEN = """\
# Expectations of rules. Uses gold trees: estimated by vdgi rules estimate from
#   gold.conllu
# Sentences: 4, of at most 10 words.
# UPOS=PUNCT removed, children re-attached; projective gold trees only (tested after removal); length \
counted after removal
# Expectation: gold arcs from head tag to dependent tag, divided by the ordered pairs of two
# words of one sentence with these tags (ROOT counts as one word more in every sentence).
NOUN = NOUN PROPN
ROOT VERB 0.667
ROOT NOUN 0.167
VERB NOUN 0.750
VERB VERB 0.500
NOUN NOUN 0.250
NOUN DET 0.500
ADJ ADV 0.000
"""

SAID = """\
counted in: 4 sentences, 20 words
  dropped punctuation: 3 words
  dropped punctuation only: 1 sentence, 1 word
  dropped not projective: 1 sentence, 4 words
  dropped longer than 10 words: 1 sentence, 11 words
warning: counted in 4 sentences of at most 10 words, too few to be reliable: give more trees, or a higher \
--max-len (in training: data.max_len)
gold trees used: expectations of the rules; sentences with crossing arcs left out
warning: rule ADJ>ADV gets 0: no sentence has words that it could hold for
"""


WARNED = [
    line.removeprefix("warning: ") for line in SAID.splitlines(keepends=True) if "warning: " in line
]


@pytest.fixture
def gold(folder: Path) -> Path:
    """A folder with gold.conllu and rules.txt."""
    Path("gold.conllu").write_text(treebank(), encoding="utf-8")
    Path("rules.txt").write_text(RULES, encoding="utf-8")
    return folder


def test_rules_to_a_file(vdgi: Vdgi, gold: Path) -> None:
    result = vdgi.good(
        "-q", "rules", "estimate", gold / "gold.conllu", "--rules", "rules.txt", "-o", "out.txt"
    )
    assert result.out == ""
    assert result.err == "".join(f"warning: {said}" for said in WARNED)
    assert Path("out.txt").read_text(encoding="utf-8") == WRITTEN
    assert names_in(gold) == ["gold.conllu", "out.txt", "rules.txt"]


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["rules"], 2),
        (["rules", "guess"], 2),
        (
            ["rules", "estimate"],
            2,
        ),
        (
            ["rules", "estimate", "gold.conllu", "--max-len", "x"],
            2,
        ),
        (
            ["rules", "estimate", "gold.conllu", "--max-len", "0"],
            2,
        ),
        (
            ["rules", "estimate", "gould.conllu"],
            2,
        ),
        (["rules", "estimate", "gold.conllu", "-o", "no/where.txt"], 2),
        (
            ["rules", "estimate", "plain.conllu"],
            3,
        ),
        (
            ["rules", "estimate", "gold.conllu", "roots.conllu"],
            3,
        ),
        (
            ["rules", "estimate", "empty.conllu"],
            3,
        ),
        (
            ["rules", "estimate", "gold.conllu", "--max-len", "2"],
            3,
        ),
        (
            ["rules", "estimate", "gold.conllu", "--rules", "udd"],
            4,
        ),
    ],
)
def test_what_is_refused(
    vdgi: Vdgi, gold: Path, arguments: list[str], status: int, wording: Wording
) -> None:
    tiny.write(gold / "plain.conllu", 2, heads=False)
    (gold / "roots.conllu").write_text(tiny.TWO_ROOTS, encoding="utf-8")
    (gold / "empty.conllu").write_text("", encoding="utf-8")
    before = names_in(gold)
    result = vdgi(*arguments)
    assert (result.status, result.out) == (status, "")
    wording.check(last_line(result.err))
    assert names_in(gold) == before
