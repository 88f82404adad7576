"""The limit of one BLAS thread holds inside a block and only there."""

from __future__ import annotations

import pytest
import universal_toys
from threadpoolctl import ThreadpoolController, threadpool_info, threadpool_limits

from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.parsing.parser import Parser
from dynet_vdgi.system import processes
from dynet_vdgi.universal.scorer import TextScorer


@pytest.fixture
def two_threads():
    """Two BLAS threads for the test, whatever the number was."""
    if not ThreadpoolController().select(user_api="blas").lib_controllers:
        pytest.skip("NumPy uses no BLAS library that threadpoolctl knows")
    processes._controller.cache_clear()  # other tests have loaded further libraries since
    with threadpool_limits(2, user_api="blas"):
        if threads() != 2:
            pytest.skip("the BLAS library has one thread only")
        yield


def threads():
    """The number of BLAS threads now."""
    return max(library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas")


def test_one_thread_is_for_the_block_only(two_threads):
    with processes.one_thread():
        assert threads() == 1
        with processes.one_thread():
            assert threads() == 1
        assert threads() == 1
    assert threads() == 2
    with pytest.raises(KeyError), processes.one_thread():
        raise KeyError
    assert threads() == 2


def test_parsing_uses_one_thread_and_restores_the_number(two_threads, monkeypatch):
    seen, log_probabilities = [], TextScorer.log_probabilities

    def watched(*arguments):
        seen.append(threads())
        return log_probabilities(*arguments)

    monkeypatch.setattr(TextScorer, "log_probabilities", watched)
    Parser(universal_toys.model()).parse_all([Sentence.of_tags(["NOUN", "VERB"])])
    assert set(seen) == {1}
    assert threads() == 2
