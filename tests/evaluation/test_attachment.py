"""SentenceTally, break-downs and tables: hand-computed cases, laws, and the French test set."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wording import Wording

from dynet_vdgi.conllu import reading
from dynet_vdgi.conllu.protocols import AS_RELEASED, STANDARD
from dynet_vdgi.conllu.sentence import Sentence, Source
from dynet_vdgi.errors import DataError
from dynet_vdgi.evaluation.attachment import (
    Evaluation,
    GoldTrees,
    SentenceTally,
    evaluate,
    paired,
    score,
    score_sentence,
)
from dynet_vdgi.evaluation.branching import left_branching, right_branching
from dynet_vdgi.evaluation.comparison import LEGEND, format_all
from dynet_vdgi.evaluation.file_scores import mean
from dynet_vdgi.rule_tables.rules import parse_rules


def sentence_of(
    tags: str, heads: Sequence[int] | None, forms: str = "", path: str = "", line: int = 1
) -> Sentence:
    """Tags and forms separated by spaces; with a path, one line per word after one comment line."""
    split_tags = tuple(tags.split())
    split_forms = tuple(forms.split()) or tuple(f"w{i}" for i in range(1, len(split_tags) + 1))
    source = None
    if path:
        lines = ("# text", *split_forms)
        source = Source(path, line, lines, tuple(range(1, len(lines))))
    return Sentence(split_forms, split_tags, None if heads is None else tuple(heads), source)


# the dog sees a cat ; gold: the <- dog <- sees -> cat -> a
GOLD = sentence_of("DET NOUN VERB DET NOUN", (2, 3, 0, 5, 3))
# the -> dog reversed, dog right, sees right, a -> sees wrong, cat right
PREDICTED = (3, 1, 0, 3, 3)


def words(n: int, directed: int, undirected: int) -> SentenceTally:
    return SentenceTally(0, n, directed, undirected)


@pytest.mark.parametrize(
    ("gold", "predicted", "counts"),
    [
        # 1: 3 for 2. 2: 1 for 3, but 1 <- 2 is gold. 3, 5 right. 4: 3 for 5
        (GOLD.heads, PREDICTED, (2, 3, 1)),
        ((2, 3, 0), (0, 1, 2), (0, 2, 0)),  # reversed arcs count undirected
        ((0, 1, 2), (2, 0, 2), (1, 2, 0)),  # a wrong root arc has no reverse
        ((0, 1), (0, 0), (1, 1, 0)),  # roots must be the same words
    ],
)
def test_one_sentence_by_hand(
    gold: tuple[int, ...], predicted: tuple[int, ...], counts: tuple[int, int, int]
) -> None:
    sentence = sentence_of(" ".join("A" * len(gold)), gold)
    assert score_sentence(sentence, predicted) == SentenceTally(1, len(gold), *counts)


def test_different_lengths_are_refused() -> None:
    for gold, predicted in ([GOLD], [(2, 0)]), ([GOLD], []), ([], [PREDICTED]):
        with pytest.raises(ValueError, match="zip"):
            score(gold, predicted)


def head_vectors(n_words: int) -> st.SearchStrategy[tuple[int, ...]]:
    """Trees: the words in some order, of which the first is the root, and each hangs from one
    before it."""

    def tree(order: Sequence[int], picks: Sequence[int]) -> tuple[int, ...]:
        above = {order[0]: 0} | {order[k]: order[picks[k] % k] for k in range(1, n_words)}
        return tuple(above[word] for word in range(1, n_words + 1))

    picks = st.lists(st.integers(0, n_words), min_size=n_words, max_size=n_words)
    return st.builds(tree, st.permutations(range(1, n_words + 1)), picks)


def scored_sentence() -> st.SearchStrategy[tuple[Sentence, tuple[int, ...]]]:
    """A sentence with a tree and another tree for it."""
    tags = st.lists(st.sampled_from(["NOUN", "VERB", "ADP"]), min_size=1, max_size=20)
    return tags.flatmap(
        lambda t: st.tuples(
            head_vectors(len(t)).map(lambda heads: sentence_of(" ".join(t), heads)),
            head_vectors(len(t)),
        )
    )


scored_sentences = st.lists(scored_sentence(), max_size=6)
RULES = parse_rules("ROOT VERB 1\nVERB NOUN 1\nNOUN ADP 1")


@given(scored_sentences, scored_sentences)
def test_scores_add_up(
    first: list[tuple[Sentence, tuple[int, ...]]], second: list[tuple[Sentence, tuple[int, ...]]]
) -> None:
    def score_of(pairs: list[tuple[Sentence, tuple[int, ...]]]) -> SentenceTally:
        return score((gold for gold, _ in pairs), (heads for _, heads in pairs))

    total = score_of(first + second)
    assert total == score_of(first) + score_of(second)
    assert total == sum((score_sentence(*p) for p in first + second), SentenceTally())
    assert 0 <= total.directed <= total.undirected <= total.words
    assert 0 <= total.roots <= total.sentences
    for gold, _ in first:
        assert gold.heads is not None
        perfect = score_sentence(gold, gold.heads)
        assert perfect == SentenceTally(1, len(gold), len(gold), len(gold), 1)


def test_break_downs_by_hand(wording: Wording) -> None:
    second = sentence_of("VERB NOUN", (0, 1))
    stop = sentence_of("PUNCT", (0,))
    report = evaluate(
        [GOLD, stop, second], [PREDICTED, (0,), (0, 1)], max_lens=(2, None), rules=RULES
    )
    assert report.total == SentenceTally(2, 7, 4, 5, 2)
    assert report.by_length == {2: SentenceTally(1, 2, 2, 2, 1), None: report.total}
    by = report.breakdowns
    assert list(by) == ["tag", "rule", "pair", "distance", "length"]
    assert by["tag"] == {"NOUN": words(3, 2, 3), "DET": words(2, 0, 0), "VERB": words(2, 2, 2)}
    assert list(by["tag"]) == ["NOUN", "DET", "VERB"]  # by frequency, then by name
    assert by["rule"] == {
        "ROOT>VERB": words(2, 2, 2),
        "VERB>NOUN": words(3, 2, 3),
        "NOUN>ADP": SentenceTally(),
        "other": words(2, 0, 0),
    }
    assert by["pair"] == {
        "VERB>NOUN": words(3, 2, 3),
        "NOUN>DET": words(2, 0, 0),
        "ROOT>VERB": words(2, 2, 2),
    }
    distances = {
        "root": (2, 2, 2),
        "1": (4, 1, 2),
        "2": (1, 1, 1),
        "3-6": (0, 0, 0),
        ">=7": (0, 0, 0),
    }
    assert by["distance"] == {name: words(*counts) for name, counts in distances.items()}
    assert by["length"]["1-5"] == report.total
    assert by["length"][">40"] == SentenceTally()
    wording.check(report.policy)


@settings(max_examples=60)
@given(scored_sentences)
def test_each_break_down_partitions_the_total(
    pairs: list[tuple[Sentence, tuple[int, ...]]],
) -> None:
    report = evaluate([g for g, _ in pairs], [h for _, h in pairs], rules=RULES)
    total = report.total
    assert total == score([g for g, _ in pairs], [h for _, h in pairs])
    for name in ("tag", "rule", "pair", "distance"):
        assert sum(report.breakdowns[name].values(), SentenceTally()) == words(
            total.words, total.directed, total.undirected
        )
    assert sum(report.breakdowns["length"].values(), SentenceTally()) == total
    assert report.by_length[None] == total
    counts = [scores.words for scores in report.by_length.values()]
    assert counts == sorted(counts)
    json.dumps(report.to_dict(), allow_nan=False)


# gold: « -> dort, Il -> dort, dort root, » -> dort; the prediction has « as root
QUOTED = sentence_of("PUNCT PRON VERB PUNCT", (3, 3, 0, 3), "« Il dort »")
PARSED = sentence_of("X X X X", (0, 1, 4, 1), "« Il dort »")


def test_the_protocol_prepares_both_sides() -> None:
    gold, heads, _ = paired([QUOTED], [PARSED], STANDARD)
    assert [(s.forms, s.tags, s.heads) for s in gold.sentences] == [
        (("Il", "dort"), ("PRON", "VERB"), (2, 0))
    ]
    assert heads == [(0, 1)]
    gold, heads, _ = paired([QUOTED], [PARSED], AS_RELEASED)
    assert (list(gold.sentences), heads) == ([QUOTED], [(0, 1, 4, 1)])


def test_punctuation_and_projectivity_are_taken_from_gold() -> None:
    gold = [
        sentence_of("NOUN NOUN", (0, 1)),
        sentence_of("PUNCT", (0,)),
        sentence_of("NOUN VERB PUNCT", (2, 0, 1)),  # not projective
    ]
    predicted = [
        sentence_of("PUNCT NOUN", (2, 0)),
        sentence_of("NOUN", (0,)),
        sentence_of("NOUN VERB PUNCT", (2, 0, 2)),
    ]
    kept, heads, _ = paired(gold, predicted, STANDARD)
    assert [s.tags for s in kept.sentences] == [("NOUN", "NOUN"), ("NOUN", "VERB")]
    assert kept.all_sentences == 3
    assert heads == [(2, 0), (2, 0)]
    kept, heads, _ = paired(gold, predicted, AS_RELEASED)
    assert kept.sentences == gold[:2]
    assert heads == [(2, 0), (0,)]
    assert GoldTrees.of(gold, AS_RELEASED) == kept


LABELLED = sentence_of("DET NOUN VERB PUNCT NOUN", (2, 3, 0, 3, 3))
GOLD_RELATIONS = ("det", "nsubj:pass", "root", "punct", "obl")


def with_relations(
    relations: tuple[str, ...], heads: tuple[int, ...] = (2, 3, 0, 3, 3)
) -> Sentence:
    return replace(LABELLED, heads=heads, deprels=relations)


def test_las_by_hand() -> None:
    """As the scorer of CoNLL 2018 counts: universal relations, of words whose head is right, too."""
    gold = with_relations(GOLD_RELATIONS)
    parse = with_relations(("det", "nsubj", "root", "punct", "obl:tmod"), (3, 3, 0, 3, 2))
    every = evaluate([gold], [parse], protocol="every_word")
    assert (every.total.directed, every.total.labelled, every.total.labels) == (3, 3, 5)
    parse = with_relations(("det", "obj", "root", "dep", "nmod"), (2, 3, 0, 3, 1))
    every = evaluate([gold], [parse], protocol="every_word")
    assert (every.total.dda, every.total.las, every.total.label_accuracy) == (0.8, 0.4, 0.4)
    bare = evaluate([gold], [parse])
    assert (bare.total.words, bare.total.labelled, bare.total.labels) == (4, 2, 2)
    assert bare.by_length[10].las == 0.5
    assert bare.to_dict()["total"]["las"] == 0.5


@pytest.mark.parametrize(
    "heads",
    [
        (2, 3, 0, 99, 3),
        (2, 3, 0, 5, -2),
        (2, 3, 0, 5, -1),
        (2, 3, 0, 4, 3),
        (2, 1, 0, 5, 3),
        (2, 3, 4, 5, 3),
        (2, 0, 0, 5, 3),
        (0, 0, 0, 0, 0),
    ],
)
def test_heads_that_are_no_tree_are_refused_as_files_with_them_are(
    tmp_path: Path, heads: tuple[int, ...], wording: Wording
) -> None:
    """On either side, as lists, arrays and sentences."""
    sound = (2, 3, 0, 5, 3)
    other = replace(GOLD, heads=heads)
    for gold, parsed in (
        ([GOLD, GOLD], [sound, heads]),
        ([GOLD, GOLD], [sound, np.array(heads)]),
        ([GOLD], [other]),
        ([GOLD, other], [sound, sound]),
    ):
        with pytest.raises(DataError) as error:
            evaluate(gold, parsed)
        wording.check(error.value)
    rows = "".join(
        f"{k}\tw{k}\t_\tX\t_\t_\t{'_' if h == -1 else h}\tx\t_\t_\n" for k, h in enumerate(heads, 1)
    )
    (tmp_path / "parsed.conllu").write_text(rows + "\n", encoding="utf-8")
    with pytest.raises(DataError) as of_file:
        evaluate([GOLD], tmp_path / "parsed.conllu")
    assert of_file.value.message in str(error.value)


def complaint(gold: list[Sentence], predicted: list[Sentence]) -> str:
    with pytest.raises(DataError) as error:
        evaluate(gold, predicted)
    return str(error.value)


def test_complaints_name_both_places() -> None:
    raw = "vdgi evaluate --raw scores parses of raw text"
    same = f"(both sides must hold the same sentences in the same order; {raw})"
    g1 = sentence_of("NOUN VERB", (2, 0), "a b", "g.conllu", 1)
    g2 = sentence_of("NOUN VERB PUNCT", (2, 0, 2), "a b .", "g.conllu", 5)
    p1 = sentence_of("NOUN VERB", (2, 0), "a b", "p.conllu", 11)

    def other(forms: str, heads: Sequence[int] | None) -> list[Sentence]:
        tags = " ".join("X" * len(forms.split()))
        return [p1, sentence_of(tags, heads, forms, "p.conllu", 15)]

    p2 = other("a b .", (2, 0, 2))
    evaluate([g1, g2], p2)
    stripped = "(its punctuation is missing; score a parse of the complete file)"
    for gold, parsed, message in (
        (
            [g1, g2],
            [p1],
            f"p.conllu: ends after 1 sentence, but g.conllu:5 begins sentence 2 {same}",
        ),
        (
            [g1],
            p2,
            f"p.conllu:15: sentence 2 is one too many: g.conllu ends after 1 sentence {same}",
        ),
        (
            [g1, g2],
            other("a B .", (2, 0, 2)),
            f"p.conllu:17: word 2 of sentence 2 is 'B', but g.conllu:7 has 'b' {same}",
        ),
        (
            [g1, g2],
            other("a b . .", (2, 0, 2, 2)),
            f"p.conllu:15: sentence 2 has 4 words, but g.conllu:5 has 3 words {same}",
        ),
        (
            [g1, g2],
            other("a b", (2, 0)),
            f"p.conllu:15: sentence 2 has 2 words, but g.conllu:5 has 3 words {stripped}",
        ),
        (
            [g1, g2],
            other("a b .", None),
            "p.conllu:15: sentence 2 has no heads (is it the file that was parsed?)",
        ),
        (
            [g1, replace(g2, heads=None)],
            p2,
            "g.conllu:5: the sentence has no heads (gold trees are needed to score)",
        ),
        (
            [sentence_of("X", (0,), "a")],
            [sentence_of("X", (0,), "b")],
            f"<prediction>: word 1 of sentence 1 is 'b', but <gold> has 'a' {same}",
        ),
    ):
        assert complaint(gold, parsed) == message


def two_reports() -> dict[str, Evaluation]:
    return {
        "left branching": evaluate(
            [GOLD], [left_branching(5)], max_lens=(3, 10, None), rules=RULES
        ),
        "ours": evaluate([GOLD], [PREDICTED], max_lens=(3, 10, None), rules=RULES),
    }


def test_tables(wording: Wording) -> None:
    first, dda, uda, root, rule = format_all(two_reports(), ["rule"]).split("\n\n")
    assert first == f"{two_reports()['ours'].policy}\n{LEGEND}"
    assert dda.splitlines() == [
        "DDA             <=3  <=10   all",
        "sentences         0     1     1",
        "words             0     5     5",
        "left branching    -  60.0  60.0",
        "ours              -  40.0  40.0",
    ]
    assert uda.splitlines()[-1] == "ours              -  60.0  60.0"
    assert root.splitlines()[-2:] == [
        "left branching    -    0.0    0.0",
        "ours              -  100.0  100.0",
    ]
    wording.check(rule.splitlines())


def test_an_evaluation_prints_its_policy_first() -> None:
    evaluation = two_reports()["ours"]
    first, empty, *table = str(evaluation).splitlines()
    assert (first, empty) == (evaluation.policy, "")
    assert [line.split() for line in table] == [
        ["per", "cent", "<=3", "<=10", "all"],
        ["sentences", "0", "1", "1"],
        ["words", "0", "5", "5"],
        ["DDA", "-", "40.0", "40.0"],
        ["UDA", "-", "60.0", "60.0"],
        ["root", "-", "100.0", "100.0"],
    ]


@pytest.mark.parametrize(
    ("name", "n_sentences", "n_words", "left", "right"),
    [
        # README of the data, section 5: <=15, <=40, all
        ("standard", [123, 271, 298], 6178, [32.0, 31.3, 31.1], [12.1, 11.6, 11.7]),
        ("as_released", [103, 248, 269], 5863, [27.5, 27.9, 28.1], [12.3, 10.9, 10.9]),
    ],
)
def test_french_test_set(
    name: str,
    n_sentences: list[int],
    n_words: int,
    left: list[float],
    right: list[float],
    data_dir: Path,
) -> None:
    sentences = list(reading.read(data_dir / "ud14" / "fr-ud-test.conllu", heads="required"))
    gold = GoldTrees.of(sentences, name)
    assert paired(sentences, sentences, name)[:2] == (gold, [s.heads for s in gold.sentences])
    for parser, expected in ((left_branching, left), (right_branching, right)):
        heads = [parser(len(s)) for s in gold.sentences]
        report = gold.evaluate(heads, max_lens=(15, 40, None))
        assert [tally.sentences for tally in report.by_length.values()] == n_sentences
        assert [round(100 * tally.dda, 1) for tally in report.by_length.values()] == expected
        assert report.total.words == n_words
        assert f"DDA on {n_sentences[-1]} of 298 sentences, {n_words:,} words" in report.policy


def test_mean_over_draws() -> None:
    gold = [sentence_of("A B", (2, 0)), sentence_of("A B A", (2, 0, 2))]
    draws = [
        evaluate(gold, heads, max_lens=(2, None), by=("tag", "length"))
        for heads in ([(2, 0), (2, 0, 2)], [(0, 1), (0, 1, 2)])
    ]
    average = mean(draws)
    assert average.total.words == 5
    assert average.total.sentences == 2
    assert average.total.dda == pytest.approx((5 / 5 + 1 / 5) / 2)
    assert average.by_length[2].dda == pytest.approx(0.5)
    assert average.breakdowns["tag"]["B"].dda == pytest.approx(0.5)
    assert average.breakdowns["length"]["1-5"].dda == average.total.dda
    assert mean(draws[:1]) == draws[0]
