"""Kept heads and punctuation: words hang from marks only where a given head makes it so, and scores
decide."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from brute_force import is_tree, projective_trees
from few import RandomBase, trees
from shell import Vdgi

import dynet_vdgi
from dynet_vdgi.conllu.punctuation import is_projective, without_punctuation
from dynet_vdgi.conllu.reading import read
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.conllu.tree_faults import FREE
from dynet_vdgi.few_trees.arc_crf import ArcCrf
from dynet_vdgi.inference import eisner
from dynet_vdgi.parser.around_marks import SLIGHT, with_given
from dynet_vdgi.parser.crf_engine import CrfEngine
from dynet_vdgi.parser.decoding import find
from dynet_vdgi.parser.engine import Engine, GreedyEngine, ScoredTree, Scores, ScoringEngine
from dynet_vdgi.parser.given_heads import conflict
from dynet_vdgi.parser.parser import How, Parser
from dynet_vdgi.parser.student_engine import StudentEngine
from dynet_vdgi.settings.bundled import resources

DEMO = resources() / "demo"
TEXT = tuple(islice(read(DEMO / "demo-ud-train.conllu"), 60))
STOP = """\
# sent_id = a
1\tTha\tbi\tVERB\tV\t_\t_\t_\t_\t_
2\tan\tan\tDET\tD\t_\t3\tdet\t_\t_
3\tcat\tcat\tNOUN\tN\t_\t1\tnsubj\t_\t_
4\tbeag\tbeag\tADJ\tA\t_\t_\t_\t_\tSpaceAfter=No
5\t.\t.\tPUNCT\t.\t_\t1\tpunct\t_\t_

"""


class Known(ScoringEngine):
    """Scores that depend on the length alone."""

    def __init__(self, *, finds_most_probable: bool) -> None:
        self.finds_most_probable = finds_most_probable

    def scores(self, sentences: list[Sentence]) -> Scores:  # type: ignore[override]
        return Scores(
            [np.random.default_rng(len(s)).normal(size=(len(s) + 1,) * 2) for s in sentences]
        )


class Chain(GreedyEngine):
    """Every word hangs from the one before, unless a head is given to it."""

    def parse(
        self, sentences: list[Sentence], *, margins: bool, keep_heads: bool
    ) -> list[ScoredTree]:  # type: ignore[override]
        result = []
        for s in sentences:
            given = s.heads if keep_heads and s.heads else (FREE,) * len(s)
            arcs = eisner.constrained_scores(np.eye(len(s) + 1, k=1), given)
            result.append(
                ScoredTree(eisner.best(arcs), np.ones(len(s)) if margins else np.zeros(0))
            )
        return result


def engines() -> dict[str, Engine]:
    crf = ArcCrf(log2_buckets=12).fit(trees(12), RandomBase())
    return {
        "most probable": Known(finds_most_probable=True),
        "most right heads": Known(finds_most_probable=False),
        "crf": CrfEngine(crf),
        "greedy": Chain(),
    }


ENGINES = engines()


def parsed(
    engine: Engine, tags: list[str], given: tuple[int, ...]
) -> tuple[tuple[int, ...], ScoredTree]:
    """The heads of a sentence, as the parser makes them."""
    sentence = Sentence(("a",) * len(tags), tuple(tags), given)
    bare, places = without_punctuation(sentence)
    (found,) = find(engine, [bare], keep_heads=True, margins=True)
    return with_given(engine, given, bare, places, found, sentence.forms)


def cases(count: int) -> list[tuple[list[str], tuple[int, ...]]]:
    """Sentences of five words and marks in which some heads are given, those of most marks among
    them."""
    rng, every = random.Random(5), projective_trees(5)
    found = []
    while len(found) < count:
        tags = [rng.choice(["NOUN", "VERB", "PUNCT"]) for _ in range(5)]
        tree = rng.choice(every)
        given = tuple(
            [
                h if rng.random() < (0.8 if t == "PUNCT" else 0.3) else FREE
                for t, h in zip(tags, tree)
            ]
        )
        if "PUNCT" in tags and tags.count("PUNCT") < 4 and conflict(given) is None:
            found.append((tags, given))
    return found


def new_from_marks(tags: list[str], given: tuple[int, ...], heads: tuple[int, ...]) -> int:
    """How many words and marks hang from a mark though nobody has said so."""
    return sum(h > 0 and tags[h - 1] == "PUNCT" and one == FREE for h, one in zip(heads, given))


@pytest.mark.parametrize("kind", ENGINES)
def test_nothing_hangs_from_a_mark_that_need_not(kind: str) -> None:
    every = projective_trees(5)
    for tags, given in cases(150):
        heads, found = parsed(ENGINES[kind], tags, given)
        assert is_tree(heads)
        assert is_projective(heads)
        assert all(one in (FREE, head) for one, head in zip(given, heads))
        assert len(found.margins) == len(found.heads) == 5 - tags.count("PUNCT")
        possible = [tree for tree in every if all(one in (FREE, h) for one, h in zip(given, tree))]
        fewest = min(new_from_marks(tags, given, tree) for tree in possible)
        assert (new_from_marks(tags, given, heads) > 0) == (fewest > 0)


@pytest.mark.parametrize("kind", ["most probable", "most right heads"])
def test_the_words_have_the_best_tree_that_the_scores_allow(kind: str) -> None:
    """Against all trees; marks that are given as roots or as heads are left out, where words climb."""
    engine, every, n_checked = ENGINES[kind], projective_trees(5), 0
    assert isinstance(engine, Known)
    for tags, given in cases(300):
        marks = {k for k, tag in enumerate(tags, 1) if tag == "PUNCT"}
        if marks.intersection(given) or any(given[mark - 1] == 0 for mark in marks):
            continue
        words = [k for k in range(1, 6) if k not in marks]
        index = {0: 0, **{word: k for k, word in enumerate(words, 1)}}
        scores = engine.scores([Sentence(("a",) * len(words), ("NOUN",) * len(words))]).arcs[0]
        if not engine.finds_most_probable:
            own = [index[given[w - 1]] if given[w - 1] != FREE else FREE for w in words]
            scores = np.pad(
                eisner.marginals(eisner.constrained_scores(scores, own)), ((0, 0), (1, 0))
            )

        def total(tree: tuple[int, ...], scores=scores, words=words, index=index) -> float:
            return sum(scores[index[tree[w - 1]], index[w]] for w in words)

        fitting = [
            tree
            for tree in every
            if all(one in (FREE, h) for one, h in zip(given, tree)) and not marks.intersection(tree)
        ]
        heads, found = parsed(engine, tags, given)
        assert total(heads) == pytest.approx(max(map(total, fitting)), abs=5 * SLIGHT)
        assert [words[h - 1] if h else 0 for h in found.heads] == [heads[w - 1] for w in words]
        n_checked += 1
    assert n_checked > 100


def test_a_word_hangs_from_a_mark_where_a_given_head_makes_it_so() -> None:
    for engine in ENGINES.values():
        heads, _ = parsed(engine, ["NOUN", "PUNCT", "VERB", "NOUN"], (2, FREE, FREE, FREE))
        assert heads[0] == 2
        assert 2 not in heads[1:]
        # something must hang from the root
        heads, _ = parsed(engine, ["NOUN", "PUNCT", "VERB"], (FREE, 0, FREE))
        assert heads[1] == 0
        assert is_tree(heads)


def test_a_greedy_parsers_words_climb_and_are_undecided() -> None:
    """In its chain, word 2 hangs from word 1; the arc from ROOT to the comma's head forbids nothing
    else."""
    heads, found = parsed(
        Chain(), ["VERB", "NOUN", "PUNCT", "NOUN", "NOUN"], (FREE, FREE, 5, FREE, FREE)
    )
    assert heads == (0, 1, 5, 5, 2)
    assert found.heads == (0, 1, 4, 2)
    assert found.margins.tolist() == [1.0, 1.0, 0.0, 0.0]


@pytest.fixture(scope="module")
def parsers() -> dict[str, Parser]:
    return {
        "universal": dynet_vdgi.load("universal"),
        "student": dynet_vdgi.train(TEXT, "best"),
        "trees": dynet_vdgi.train(TEXT, "best", trees=TEXT[:10]),
    }


@pytest.mark.parametrize(
    "how", [How(keep_heads=True), How(True, False, True), How(False, True, True)], ids=str
)
@pytest.mark.parametrize("kind", ["universal", "student", "trees"])
def test_parsers_of_all_kinds_hang_no_word_from_marks(
    parsers: dict[str, Parser], kind: str, how: How
) -> None:
    parser, rng = parsers[kind], random.Random(2)
    assert kind != "student" or isinstance(parser.engine, StudentEngine)
    partial = [
        replace(
            s,
            heads=tuple(
                [h if t == "PUNCT" or rng.random() < 0.3 else FREE for h, t in zip(s.heads, s.tags)]
            ),
        )
        for s in islice(read(DEMO / "demo-ud-test.conllu"), 60)
        if s.heads and is_projective(s.heads)
    ]
    # Marks with other heads than the program would give them.
    odd = [
        replace(s, heads=tuple([1 if t == "PUNCT" and k else FREE for k, t in enumerate(s.tags)]))
        for s in partial
        if s.tags[0] != "PUNCT"
    ]
    for sentence, parse in zip(partial + odd, parser.parse_all(partial + odd, how)):
        assert sentence.heads is not None
        assert all(one in (FREE, head) for one, head in zip(sentence.heads, parse.heads))
        assert is_projective(parse.heads)
        assert new_from_marks(list(sentence.tags), sentence.heads, parse.heads) == 0
        if how.confidence:
            assert parse.confidence is not None
            for one, tag, sure in zip(sentence.heads, sentence.tags, parse.confidence):
                assert (sure is None) == (one != FREE or tag == "PUNCT")


def test_a_stop_with_a_given_head_gets_no_dependents(vdgi: Vdgi, folder: Path) -> None:
    Path("stop.conllu").write_text(STOP, encoding="utf-8")
    vdgi.good("parse", "universal", "stop.conllu", "--keep-heads", "-o", "out.conllu")
    (sentence,) = read("out.conllu", heads="required")
    assert sentence.heads is not None
    assert 5 not in sentence.heads
    assert (sentence.heads[1], sentence.heads[2], sentence.heads[4]) == (3, 1, 1)
