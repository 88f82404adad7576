"""Filters, punctuation and protocols, against naive definitions that share no code with the
package."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import brute_force
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wording import Wording

from dynet_vdgi.conllu import reading
from dynet_vdgi.conllu.filtering import Dropped, prepare
from dynet_vdgi.conllu.protocols import AS_RELEASED, STANDARD, protocol_of
from dynet_vdgi.conllu.punctuation import (
    heads_without,
    is_projective,
    restore_punctuation,
    without_punctuation,
)
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.evaluation.branching import left_branching, right_branching

LANGUAGES = ("eu", "nl", "fr")

# README of the data, section 5: sentences, words, left, right (DDA in per cent); projective
# sentences, left, right of these. For at most 15 and 40 words and for all.
BASELINES = {
    ("eu", 15): (1411, 12851, 25.7, 25.7, 1166, 26.7, 25.9),
    ("eu", 40): (1799, 20470, 25.4, 25.7, 1390, 26.5, 25.8),
    ("eu", None): (1799, 20470, 25.4, 25.7, 1390, 26.5, 25.8),
    ("nl", 15): (230, 1648, 28.8, 19.9, 199, 29.8, 22.4),
    ("nl", 40): (383, 5126, 28.1, 13.6, 280, 29.3, 15.6),
    ("nl", None): (386, 5268, 27.9, 13.7, 281, 29.1, 15.8),
    ("fr", 15): (123, 1194, 32.0, 12.1, 123, 32.0, 12.1),
    ("fr", 40): (271, 4827, 31.3, 11.6, 268, 31.3, 11.7),
    ("fr", None): (298, 6178, 31.1, 11.7, 292, 31.2, 11.7),
}


def crosses(first: tuple[int, int], second: tuple[int, int]) -> bool:
    (a, b), (c, d) = sorted([first, second])
    return a < c < b < d


def has_no_crossing(heads: Sequence[int]) -> bool:
    arcs = [(min(h, d), max(h, d)) for d, h in enumerate(heads, 1)]
    return not any(crosses(x, y) for x, y in itertools.combinations(arcs, 2))


def ancestors(heads: Sequence[int], word: int) -> list[int]:
    """Up to and without 0; as many as there are words where a cycle never gets there."""
    chain: list[int] = []
    while word and len(chain) < len(heads):
        word = heads[word - 1]
        if word:
            chain.append(word)
    return chain


def is_tree(heads: Sequence[int]) -> bool:
    no_cycle = all(word not in ancestors(heads, word) for word in range(1, len(heads) + 1))
    return list(heads).count(0) == 1 and no_cycle


def all_trees(n_words: int) -> Iterator[tuple[int, ...]]:
    return (h for h in itertools.product(range(n_words + 1), repeat=n_words) if is_tree(h))


def projective_trees(n_words: int) -> list[tuple[int, ...]]:
    return [heads for heads in all_trees(n_words) if has_no_crossing(heads)]


def subsets(n_words: int) -> Iterator[tuple[int, ...]]:
    for size in range(n_words + 1):
        yield from itertools.combinations(range(1, n_words + 1), size)


@st.composite
def projective_tree(draw: st.DrawFn, max_words: int = 14) -> tuple[int, ...]:
    """Every projective tree with one root can come out: a root, then trees on both sides of it, and
    so on."""
    n_words = draw(st.integers(1, max_words))
    heads = [0] * n_words
    todo = [(1, n_words, 0)]  # words first..last form one subtree below head
    while todo:
        first, last, head = todo.pop()
        top = draw(st.integers(first, last))
        heads[top - 1] = head
        for start, end in ((first, top - 1), (top + 1, last)):
            while start <= end:
                stop = draw(st.integers(start, end))
                todo.append((start, stop, top))
                start = stop + 1
    return tuple(heads)


@st.composite
def tagged_tree(draw: st.DrawFn) -> Sentence:
    heads = draw(projective_tree())
    tags = draw(
        st.lists(st.sampled_from(["PUNCT", "NOUN"]), min_size=len(heads), max_size=len(heads))
    )
    return sentence_of(tags, heads)


def sentence_of(tags: Sequence[str], heads: Sequence[int] | None) -> Sentence:
    forms = tuple(f"w{number}" for number in range(1, len(tags) + 1))
    return Sentence(forms, tuple(tags), None if heads is None else tuple(heads))


def any_sentence() -> st.SearchStrategy[Sentence]:
    """Random heads, mostly no tree; what filters do must not depend on that."""

    def of(tags: list[str]) -> st.SearchStrategy[Sentence]:
        heads = st.lists(st.integers(0, len(tags)), min_size=len(tags), max_size=len(tags))
        return st.builds(sentence_of, st.just(tags), st.none() | heads)

    return st.lists(st.sampled_from(["PUNCT", "NOUN", "VERB"]), min_size=1, max_size=6).flatmap(of)


@pytest.mark.parametrize("n_words", range(6))
def test_is_projective_on_every_head_vector(n_words: int) -> None:
    for heads in itertools.product(range(n_words + 1), repeat=n_words):
        assert is_projective(heads) == has_no_crossing(heads), heads


def test_removal_by_hand() -> None:
    heads = (2, 5, 2, 3, 0, 4)  # 6 -> 4 -> 3 -> 2 -> 5
    assert heads_without(heads, (1, 2, 3, 5, 6)) == (2, 4, 2, 0, 3)
    assert heads_without(heads, (1, 5, 6)) == (2, 0, 2)
    # the first orphan becomes the root
    assert heads_without((3, 1, 0, 3, 3), (1, 2, 4, 5)) == (0, 1, 1, 1)
    assert heads_without((2, 0, 0), (1, 3)) == (2, 0)  # two roots, one of them removed
    assert heads_without((2, 3, 2, 0), (1, 4)) == (2, 0)  # a cycle among removed words


@pytest.mark.parametrize("n_words", range(1, 6))
def test_removal_and_restoration_on_every_projective_tree(n_words: int) -> None:
    for heads in projective_trees(n_words):
        for kept in subsets(n_words):
            short = heads_without(heads, kept)
            if kept:
                assert is_tree(short), (heads, kept)
                assert has_no_crossing(short), (heads, kept)
            full = restore_punctuation(short, kept, [","] * n_words)
            assert is_tree(full), (short, kept)
            assert has_no_crossing(full), (short, kept)


@pytest.mark.parametrize("n_words", range(1, 5))
def test_kept_words_keep_their_nearest_kept_ancestor(n_words: int) -> None:
    for heads in all_trees(n_words):  # crossing arcs too
        root = heads.index(0) + 1
        for kept in subsets(n_words):
            if root not in kept:
                continue
            short = heads_without(heads, kept)
            for word, head in zip(kept, short):
                expected = next((a for a in ancestors(heads, word) if a in kept), 0)
                assert (kept[head - 1] if head else 0) == expected


@given(tagged_tree())
def test_laws_of_removal_and_restoration(sentence: Sentence) -> None:
    assert sentence.heads is not None
    short, positions = without_punctuation(sentence)
    assert short.heads is not None
    assert "PUNCT" not in short.tags
    assert short.forms == tuple(sentence.forms[p - 1] for p in positions)
    assert without_punctuation(short)[0] == short
    if positions:
        assert is_tree(short.heads)
        assert has_no_crossing(short.heads)
    full = restore_punctuation(short.heads, positions, sentence.forms)
    assert is_tree(full)
    assert has_no_crossing(full)
    assert heads_without(full, positions) == short.heads
    if positions:
        removed = set(range(1, len(sentence) + 1)) - set(positions)
        assert removed.isdisjoint(full)  # leaves


def restored(text: str, kept_heads: Sequence[int]) -> dict[str, str]:
    """The heads of marks in a text whose other words, all different, have these heads."""
    forms = text.split()
    kept = [k for k, form in enumerate(forms, 1) if form[0].isalnum()]
    heads = restore_punctuation(kept_heads, kept, forms)
    return {
        f"{k}{form}": forms[heads[k - 1] - 1] for k, form in enumerate(forms, 1) if k not in kept
    }


def test_a_mark_belongs_to_the_dependent_of_the_innermost_arc_over_it_and_the_last_one_to_the_root() -> (
    None
):
    found = restored("We saw , as told , Ann , who left , and Bo .", (2, 0, 4, 2, 2, 7, 5, 9, 5))
    assert found == {"3,": "told", "6,": "Ann", "8,": "left", "11,": "Bo", "14.": "saw"}


def test_brackets_and_quotation_marks_belong_to_what_they_enclose() -> None:
    found = restored('" Come ( now ) " , said the man ( old ) .', (3, 1, 0, 5, 3, 5))
    ends = {"7,": "Come", "11(": "old", "13)": "old", "14.": "said"}
    assert found == {'1"': "Come", "3(": "now", "5)": "now", '6"': "Come", **ends}


def test_restoration_of_nothing_and_of_no_tree(wording: Wording) -> None:
    assert restore_punctuation((), (), ["!", "!", "?"]) == (0, 1, 1)
    assert restore_punctuation((), (), []) == ()
    assert restore_punctuation((2, 0), (1, 2), ["a", "b"]) == (2, 0)
    with wording.raises(ValueError):
        restore_punctuation((0,), (1, 2), ["a", "b", "."])
    with wording.raises(ValueError):
        restore_punctuation((2, 1), (1, 2), ["a", "b", "."])


@pytest.mark.parametrize("n_kept", range(5))
def test_restoration_is_the_rule_and_crosses_nothing_in_every_small_tree(n_kept: int) -> None:
    rng = random.Random(n_kept)
    trees = list(all_trees(n_kept))  # crossing ones, too
    for heads in rng.sample(trees, min(len(trees), 100)):
        for kept in itertools.combinations(range(1, n_kept + 4), n_kept):
            forms = [rng.choice('(),["].') for _ in range(n_kept + 3)]
            whole = restore_punctuation(heads, kept, forms)
            assert whole == brute_force.with_marks(heads, kept, forms), (heads, kept, forms)
            assert is_tree(whole)
            arcs = list(enumerate(whole, 1))
            of_marks = [arc for arc in arcs if arc[0] not in kept] if kept else []
            assert not any(brute_force.cross(one, other) for one in of_marks for other in arcs)


def test_prepare_standard() -> None:
    sentences = [
        sentence_of(["NOUN", "VERB", "PUNCT"], (2, 0, 2)),
        sentence_of(["PUNCT", "PUNCT"], (0, 1)),
        sentence_of(["NOUN", "VERB", "NOUN", "PUNCT"], (3, 0, 2, 2)),  # not projective: kept
        sentence_of(["NOUN"] * 4, (0, 1, 1, 1)),
        sentence_of(["NOUN"], None),
    ]
    result = prepare(sentences, STANDARD, max_len=3, min_len=2)
    assert [s.heads for s in result.sentences] == [(2, 0), (3, 0, 2)]
    assert result.dropped == [
        Dropped("punctuation", 0, 2),
        Dropped("punctuation only", 1, 2),
        Dropped("shorter than 2 words", 1, 1),
        Dropped("longer than 3 words", 1, 4),
    ]
    assert result.notes == []
    assert result.n_words == 5


def test_prepare_as_released(wording: Wording) -> None:
    sentences = [
        # crossing only because of the punctuation
        sentence_of(["NOUN", "VERB", "PUNCT"], (2, 0, 1)),
        sentence_of(["PUNCT"], (0,)),
        sentence_of(["NOUN", "VERB", "PUNCT"], (2, 0, 2)),
        sentence_of(["NOUN", "PUNCT"], None),
    ]
    result = prepare(sentences, AS_RELEASED)
    assert result.sentences == sentences[1:]
    assert result.dropped == [Dropped("not projective", 1, 3)]
    wording.check(result.notes)


@settings(max_examples=60)
@given(
    st.lists(any_sentence(), max_size=8),
    st.sampled_from(["standard", "as_released"]),
    st.none() | st.integers(2, 5),
    st.integers(1, 2),
)
def test_filters_partition_their_input(
    sentences: list[Sentence], name: str, max_len: int | None, min_len: int
) -> None:
    protocol = protocol_of(name)
    result = prepare(sentences, protocol, max_len, min_len)
    assert len(result.sentences) + sum(d.sentences for d in result.dropped) == len(sentences)
    assert result.n_words + sum(d.words for d in result.dropped) == sum(map(len, sentences))
    assert all(min_len <= len(s) <= (max_len or len(s)) for s in result.sentences)
    if name == "as_released":
        assert all(s.heads is None or has_no_crossing(s.heads) for s in result.sentences)
    else:
        assert all("PUNCT" not in s.tags for s in result.sentences)
    again = prepare(result.sentences, protocol, max_len, min_len)
    assert again.sentences == result.sentences
    assert again.dropped == []


def per_cent_right(sentences: list[Sentence], parser: Callable[[int], tuple[int, ...]]) -> float:
    right = words = 0
    for sentence in sentences:
        assert sentence.heads is not None
        right += sum(map(int.__eq__, parser(len(sentence)), sentence.heads))
        words += len(sentence)
    return round(100 * right / words, 1)


@pytest.mark.parametrize("language", LANGUAGES)
def test_counts_and_baselines_of_the_test_sets(language: str, data_dir: Path) -> None:
    path = data_dir / "ud14" / f"{language}-ud-test.conllu"
    everything = prepare(reading.read(path, heads="required"), STANDARD).sentences
    for max_len in (15, 40, None):
        sentences = prepare(everything, STANDARD, max_len).sentences
        projective = [s for s in sentences if is_projective(s.heads)]
        assert BASELINES[language, max_len] == (
            len(sentences),
            sum(map(len, sentences)),
            per_cent_right(sentences, left_branching),
            per_cent_right(sentences, right_branching),
            len(projective),
            per_cent_right(projective, left_branching),
            per_cent_right(projective, right_branching),
        )


@pytest.mark.parametrize(
    ("split", "n_all", "n_kept", "n_words", "n_punctuation"),
    [("dev", 1596, 1396, 31856, 3340), ("test", 298, 269, 5863, 703)],
)
def test_released_code_keeps_these_french_sentences(
    split: str, n_all: int, n_kept: int, n_words: int, n_punctuation: int, data_dir: Path
) -> None:
    sentences = reading.read(data_dir / "ud14" / f"fr-ud-{split}.conllu", heads="required")
    result = prepare(sentences, AS_RELEASED)
    assert (len(result.sentences), result.n_words) == (n_kept, n_words)
    assert [d.sentences for d in result.dropped] == [n_all - n_kept]
    assert sum(s.tags.count("PUNCT") for s in result.sentences) == n_punctuation


def test_columns_of_words_and_removed_punctuation_are_carried_along() -> None:
    sentence = Sentence(
        ("«", "Dogs", ",", "!", "bark", "."),
        ("PUNCT", "NOUN", "PUNCT", "PUNCT", "VERB", "PUNCT"),
        (2, 5, 2, 2, 0, 5),
        lemmas=("_", "dog", "_", "_", "bark", "_"),
        xpos=("_", "NNS", "_", "_", "VBP", "_"),
        feats=("_", "Number=Plur", "_", "_", "_", "_"),
        deprels=("punct", "nsubj", "punct", "punct", "root", "punct"),
    )
    kept, positions = without_punctuation(sentence)
    assert positions == (2, 5)
    assert (kept.lemmas, kept.xpos, kept.feats) == (
        ("dog", "bark"),
        ("NNS", "VBP"),
        ("Number=Plur", "_"),
    )
    assert (kept.deprels, kept.upos, kept.heads) == (("nsubj", "root"), (), (2, 0))
    assert kept.gaps == ("«", ", !", ".")
    again, _ = without_punctuation(kept, frozenset({"NOUN"}))
    assert again.gaps == ("« Dogs , !", ".")
    assert without_punctuation(again) == (again, (1,))
