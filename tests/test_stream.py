"""Streams: order, windows, worker processes, faults, memory."""

from __future__ import annotations

import gc
import logging
import multiprocessing
import tracemalloc
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import tiny
from dynet_vdgi.parsing.stream import Stream, windows

import dynet_vdgi as vdgi
from dynet_vdgi.data import conllu, conllu_blocks
from dynet_vdgi.data.conllu import sentence_of
from dynet_vdgi.data.conllu_blocks import Block
from dynet_vdgi.data.conllu_writing import render
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.data.vocabulary import Vocabulary
from dynet_vdgi.errors import DataError, ModelError
from dynet_vdgi.grammar.rules import parse_rules
from dynet_vdgi.labels.label_table import LabelTable
from dynet_vdgi.labels.label_table import load as load_labels
from dynet_vdgi.model.network import Network
from dynet_vdgi.parsing import stream as stream_module
from dynet_vdgi.parsing.parser import Sampling, load
from dynet_vdgi.runs import model_file
from dynet_vdgi.runs.model_file import ModelFile, Provenance
from dynet_vdgi.settings.bundled import resources
from dynet_vdgi.settings.neural_settings import ModelSettings
from dynet_vdgi.settings.presets import load_settings

TAGS = ("DET", "NOUN", "PUNCT", "VERB")


@pytest.fixture
def model(tmp_path):
    """A model file with random weights."""
    settings = load_settings("paper", changes={"parser": {"hidden_dim": 6, "tag_dim": 5}})
    vocabulary = Vocabulary(TAGS)
    network = Network(vocabulary, ModelSettings(hidden_dim=6, tag_dim=5), np.random.default_rng(0))
    arrays = {name: 3 * value for name, value in network.parameters.arrays().items()}
    path = tmp_path / "model.vdgi"
    model_file.save(path, ModelFile(Provenance(), settings, vocabulary, parse_rules("ROOT VERB 1"), arrays))
    return str(path)


def blocks(count, seed=0):
    rng = np.random.default_rng(seed)
    for k in range(count):
        tags = tuple(rng.choice([*TAGS, "SYM"], int(rng.integers(1, 12))).tolist())
        sentence = Sentence(tuple(f"w{i}" for i in range(len(tags))), tags)
        lines = [f"# sent_id = {k}", *render(sentence, range(len(tags))).strip("\n").split("\n")]
        yield Block("made.conllu", 100 * k, lines)


def text_of(parsed):
    return "".join(part.text for part in parsed)


def test_windows_keep_every_sentence_in_order():
    texts = list(blocks(200))
    parts = list(windows(texts, 50))
    sizes = [[len(block.lines) for block in part] for part in parts]
    assert [block for part in parts for block in part] == texts
    assert all(sum(part) >= 50 for part in sizes[:-1])
    assert all(sum(part[:-1]) < 50 for part in sizes)
    assert list(windows([], 50)) == []


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_stream_gives_what_single_calls_give(model, monkeypatch, jobs):
    monkeypatch.setattr(stream_module.windows, "__defaults__", (300,))  # many windows
    texts = list(blocks(400))
    parser = load(model)
    expected = []
    for block in texts:
        sentence = sentence_of(block)
        expected.append(render(sentence, parser.parse(sentence.forms, sentence.tags)))
    with Stream(model, jobs) as stream:
        parsed = list(stream.parse(iter(texts)))
        assert text_of(parsed) == "".join(expected)
        assert len(parsed) > 5
        assert sum(part.n_sentences for part in parsed) == 400
        assert sum(part.n_words for part in parsed) == sum(len(block.lines) - 1 for block in texts)
        assert stream.unknown_tags == parser.unknown_tags
        assert text_of(stream.parse(iter(texts[:3]))) == "".join(expected[:3])  # the same workers again
        assert list(stream.parse(iter([]))) == []


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_fault_ends_the_stream_where_it_stands(model, monkeypatch, jobs):
    monkeypatch.setattr(stream_module.windows, "__defaults__", (100,))
    texts = list(blocks(100))
    texts[70] = Block("made.conllu", 7000, ["1\tword\t_\tNOUN\t_\t_\t_\t_\t_"])
    parsed = []
    with Stream(model, jobs) as stream, pytest.raises(DataError) as caught:
        parsed.extend(stream.parse(texts))
    assert str(caught.value).startswith("made.conllu:7000: expected 10 tab-separated columns, found 9")
    assert caught.value.line == 7000
    assert sum(part.n_sentences for part in parsed) == 70


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_first_window_tells_whether_verbs_end_the_sentences(model, monkeypatch, jobs):
    """A model that does not know it; later windows, and other texts, are read as their text began."""
    monkeypatch.setattr(stream_module.windows, "__defaults__", (200,))
    table = LabelTable.of_text("root ROOT *\nobj * * verb-final\nobl * *")
    final = [Block("a", 1, tiny.block(k, ["NOUN", "NOUN", "VERB"], None).split("\n")[:-2]) for k in range(60)]
    other = [Block("b", 1, tiny.block(k, ["NOUN", "VERB", "NOUN"], None).split("\n")[:-2]) for k in range(60)]

    def relations(stream, texts):
        columns = [line.split("\t") for line in text_of(stream.parse(iter(texts))).split("\n")]
        return {column[7] for column in columns if len(column) == 10} - {"root"}

    with Stream(model, jobs, labels=table) as stream:
        assert relations(stream, final + other) == {"obj"}
        assert relations(stream, other + final) == {"obl"}
        assert relations(stream, final[:3]) == {"obl"}  # a few sentences show nothing


def test_every_sampled_tree_has_relations_of_its_own(model):
    with Stream(model, 1, Sampling(n_samples=20, n_best=3), labels=load_labels()) as stream:
        text = text_of(stream.parse(blocks(40)))
    columns = [line.split("\t") for line in text.split("\n") if line[:1].isdigit()]
    assert all((column[6] == "0") == (column[7] == "root") for column in columns)
    assert {"det", "nsubj", "punct"} <= {column[7] for column in columns}


def test_sampled_trees_do_not_depend_on_the_number_of_processes(model, monkeypatch):
    monkeypatch.setattr(stream_module.windows, "__defaults__", (100,))
    results = []
    for jobs in (1, 2):
        with Stream(model, jobs, Sampling(n_samples=20, n_best=2)) as stream:
            results.append(text_of(stream.parse(blocks(60))))
    assert results[0] == results[1]
    assert "# tree = 2 of 2" in results[0]
    assert "HeadProb=0." in results[0]


def test_dead_workers_are_replaced(model):
    with Stream(model, 2) as stream:
        expected = text_of(stream.parse(blocks(50)))
        for process in multiprocessing.active_children():
            process.kill()
            process.join()
        assert text_of(stream.parse(blocks(50))) == expected


def test_the_input_is_read_no_further_than_needed(model, monkeypatch):
    monkeypatch.setattr(stream_module.windows, "__defaults__", (100,))
    taken = 0

    def counted():
        nonlocal taken
        for block in blocks(10_000):
            taken += 1
            yield block

    with Stream(model, 2) as stream:
        next(stream.parse(counted()))
    assert taken < 200  # a few windows, not the stream


def test_memory_does_not_grow_with_the_stream(model, monkeypatch, request):
    monkeypatch.setattr(stream_module.windows, "__defaults__", (300,))
    with Stream(model) as stream:

        def peak(count):
            tracemalloc.start()
            for _ in stream.parse(blocks(count)):
                gc.collect()  # gives back small tuples, which Python keeps for later
            size = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            return size

        peak(100)  # what is made once is made now
        gc.freeze()  # else `collect` goes through all that other tests have made
        request.addfinalizer(gc.unfreeze)
        assert peak(2000) < 1.3 * peak(400)  # 1.02; to keep what was parsed, or its text, makes it 2


def test_a_bad_model_is_found_before_any_worker_starts(tmp_path):
    with pytest.raises(ModelError, match="no such model file"):
        Stream(str(tmp_path / "none.vdgi"), jobs=2)


def test_an_error_of_the_reader_comes_through(model):
    def broken():
        yield from blocks(3)
        raise ValueError("line 7")

    with Stream(model, 2) as stream, pytest.raises(ValueError, match="line 7"):
        list(stream.parse(broken()))


@pytest.mark.parametrize("heads", [(0, 0, 0), (2, 1, 0), (1, 0, 2), (9, 0, 2), (0, "_", 2), ("x", 0, 2)])
@pytest.mark.parametrize("jobs", [1, 2])
def test_heads_that_are_no_tree_are_replaced_as_others_are(model, caplog, jobs, heads):
    tags = ["DET", "NOUN", "VERB"]
    given = [tiny.block(1, tags, heads), tiny.block(1, tags, None)]
    with Stream(str(model), jobs) as stream, caplog.at_level(logging.WARNING, "dynet_vdgi"):
        found = [text_of(stream.parse([Block("a", 1, text.strip().split("\n"))])) for text in given]
    columns = [[line.split("\t")[:7] for line in text.split("\n")] for text in found]
    assert columns[0] == columns[1]
    assert not caplog.records


@pytest.mark.slow
def test_a_stream_reads_all_that_the_recommended_parser_sees(tmp_path: Path) -> None:
    """Features and punctuation reach it, as they do in `Parser.pipe`; without them, trees would differ."""
    demo = resources() / "demo"
    text = list(islice(conllu.read(demo / "demo-ud-train.conllu"), 200))
    parser = vdgi.train(text, "best", out=tmp_path / "run")
    assert parser.model.symbols is not None
    names = [str(demo / "demo-ud-test.conllu")]
    with Stream(str(tmp_path / "run")) as stream:
        (tmp_path / "parsed.conllu").write_text(
            "".join(part.text for part in stream.parse(conllu_blocks.blocks(names[0]))), encoding="utf-8"
        )
    sentences = list(conllu.read(names[0]))
    expected = [sentence.heads for sentence in parser.pipe(sentences)]
    assert [sentence.heads for sentence in conllu.read(tmp_path / "parsed.conllu")] == expected
    bare = [replace(sentence, feats=(), xpos=()) for sentence in sentences]
    assert [sentence.heads for sentence in parser.pipe(bare)] != expected
