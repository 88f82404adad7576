"""The limit of one BLAS thread holds inside a block and only there, in any Python thread."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import universal_toys
from threadpoolctl import ThreadpoolController, threadpool_info, threadpool_limits

from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.parser.decoding import find
from dynet_vdgi.parser.parser import Parser
from dynet_vdgi.system import blas
from dynet_vdgi.universal.scorer import TextScorer


@pytest.fixture
def two_threads():
    """Two BLAS threads for the test, whatever the number was."""
    if not ThreadpoolController().select(user_api="blas").lib_controllers:
        pytest.skip("NumPy uses no BLAS library that threadpoolctl knows")
    blas._controller.cache_clear()  # other tests have loaded further libraries since
    with threadpool_limits(2, user_api="blas"):
        if threads() != 2:
            pytest.skip("the BLAS library has one thread only")
        yield


def threads():
    """The number of BLAS threads now."""
    return max(
        library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"
    )


@pytest.fixture
def seen(monkeypatch):
    """The numbers of threads with which the universal parser has scored sentences."""
    numbers, log_probabilities = [], TextScorer.log_probabilities

    def watched(*arguments):
        numbers.append(threads())
        return log_probabilities(*arguments)

    monkeypatch.setattr(TextScorer, "log_probabilities", watched)
    return numbers


def test_one_thread_is_for_the_block_only(two_threads):
    with blas.one_thread():
        assert threads() == 1
        with blas.one_thread():
            assert threads() == 1
        assert threads() == 1
    assert threads() == 2
    with pytest.raises(KeyError), blas.one_thread():
        raise KeyError
    assert threads() == 2


def test_parsing_uses_one_thread_and_restores_the_number(two_threads, seen):
    Parser(universal_toys.model()).parse_all([Sentence.of_tags(["NOUN", "VERB"])])
    assert set(seen) == {1}
    assert threads() == 2


def test_blocks_of_several_threads_may_overlap(two_threads):
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as other:
        first, second = blas.one_thread(), blas.one_thread()
        one.submit(first.__enter__).result()
        assert one.submit(threads).result() == 1
        other.submit(second.__enter__).result()
        one.submit(first.__exit__, None, None, None).result()
        assert other.submit(threads).result() == 1
        other.submit(second.__exit__, None, None, None).result()
        assert other.submit(threads).result() == threads() == 2
        with blas.one_thread():
            assert one.submit(threads).result() == threads() == 1
        assert threads() == 2


def test_parsing_in_another_thread_uses_one_thread(two_threads, seen):
    parser, text = Parser(universal_toys.model()), [Sentence.of_tags(["NOUN", "VERB"])]
    parser.parse_all(text)
    with ThreadPoolExecutor(4) as several:
        assert len(list(several.map(parser.parse_all, [text] * 20))) == 20
    assert seen == [1] * 21
    assert threads() == 2


def test_finding_trees_without_a_parser_uses_one_thread(two_threads, seen):
    find(Parser(universal_toys.model()).engine, [Sentence.of_tags(["NOUN", "VERB"])])
    assert set(seen) == {1}
    assert threads() == 2
