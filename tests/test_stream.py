"""Streams: order, windows, worker processes, memory."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from dynet_vdgi.config import ModelSettings, Settings, merge
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.data.vocabulary import Vocabulary
from dynet_vdgi.errors import ModelError, VdgiError
from dynet_vdgi.grammar.rules import parse_rules
from dynet_vdgi.learning import checkpoint
from dynet_vdgi.learning.checkpoint import ModelFile
from dynet_vdgi.model.per_sentence import Network
from dynet_vdgi.parsing import stream as stream_module
from dynet_vdgi.parsing.parser import Parse, Sampling, load
from dynet_vdgi.parsing.stream import Stream, windows

TAGS = ("DET", "NOUN", "PUNCT", "VERB")


@pytest.fixture
def model(tmp_path):
    """A model file with random weights."""
    settings = merge(Settings(), {"model": {"hidden_dim": 6, "tag_dim": 5}})
    vocabulary = Vocabulary(TAGS)
    network = Network(vocabulary, ModelSettings(hidden_dim=6, tag_dim=5), np.random.default_rng(0))
    arrays = {name: 3 * value for name, value in network.parameters.arrays().items()}
    path = tmp_path / "model.vdgi"
    checkpoint.save(path, ModelFile({}, settings, vocabulary, parse_rules("ROOT VERB 1"), arrays))
    return str(path)


def sentences(count, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        tags = tuple(rng.choice([*TAGS, "SYM"], int(rng.integers(1, 12))).tolist())
        yield Sentence(tuple(f"w{i}" for i in range(len(tags))), tags)


def test_windows_keep_every_sentence_in_order():
    texts = list(sentences(200))
    parts = list(windows(texts, 50))
    assert [text for part in parts for text in part] == texts
    assert all(sum(map(len, part)) >= 50 for part in parts[:-1])
    assert all(sum(map(len, part[:-1])) < 50 for part in parts)
    assert list(windows([], 50)) == []


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_stream_gives_what_single_calls_give(model, monkeypatch, jobs):
    monkeypatch.setattr(stream_module.windows, "__defaults__", (300,))  # many windows
    texts = list(sentences(400))
    parser = load(model)
    expected = [(text, [Parse(parser.parse(text.forms, text.tags))]) for text in texts]
    with Stream(model, jobs) as stream:
        assert list(stream.parse(iter(texts))) == expected
        assert list(stream.parse(iter(texts[:3]))) == expected[:3]  # a second stream of the same workers
        assert list(stream.parse(iter([]))) == []
    assert stream.unknown_tags["SYM"] == parser.unknown_tags["SYM"] + sum(
        t.tags.count("SYM") for t in texts[:3]
    )


def test_sampled_trees_do_not_depend_on_the_number_of_processes(model, monkeypatch):
    monkeypatch.setattr(stream_module.windows, "__defaults__", (100,))
    texts = list(sentences(60))
    results = []
    for jobs in (1, 2):
        with Stream(model, jobs, Sampling(n_samples=20, mbr=True)) as stream:
            results.append(list(stream.parse(iter(texts))))
    assert results[0] == results[1]
    assert any(parse.tree_prob < 1 for _, parses in results[0] for parse in parses)


def test_a_dead_worker_is_reported(model):
    with Stream(model, 2) as stream:
        assert len(list(stream.parse(sentences(1)))) == 1
        for process in stream._pool._processes.values():
            process.kill()
        with pytest.raises(VdgiError, match="worker process died"):
            list(stream.parse(sentences(50)))


def test_the_input_is_read_no_further_than_needed(model, monkeypatch):
    monkeypatch.setattr(stream_module.windows, "__defaults__", (100,))
    taken = 0

    def counted():
        nonlocal taken
        for text in sentences(10_000):
            taken += 1
            yield text

    with Stream(model, 2) as stream:
        next(stream.parse(counted()))
    assert taken < 200  # a few windows, not the stream


def test_memory_does_not_grow_with_the_stream(model, monkeypatch):
    monkeypatch.setattr(stream_module.windows, "__defaults__", (3000,))
    with Stream(model) as stream:

        def peak(count):
            tracemalloc.start()
            for _ in stream.parse(sentences(count)):
                pass
            size = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            return size

        peak(1000)  # what is made once is made now
        assert peak(12_000) < 2 * peak(3000)  # four times as much text


def test_a_bad_model_is_found_before_any_worker_starts(tmp_path):
    with pytest.raises(ModelError, match="no such model file"):
        Stream(str(tmp_path / "none.vdgi"), jobs=2)


def test_an_error_of_the_reader_comes_through(model):
    def broken():
        yield from sentences(3)
        raise ValueError("line 7")

    with Stream(model, 2) as stream, pytest.raises(ValueError, match="line 7"):
        list(stream.parse(broken()))
