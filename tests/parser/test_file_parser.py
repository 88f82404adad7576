"""Files: order, windows, worker processes, faults, memory."""

from __future__ import annotations

import gc
import pickle
import tracemalloc
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
import tiny
import universal_toys
from few import trees

import dynet_vdgi as vdgi
from dynet_vdgi.conllu import blocks as conllu_blocks
from dynet_vdgi.conllu import reading
from dynet_vdgi.conllu.blocks import Block
from dynet_vdgi.conllu.reading import sentence_of
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.conllu.vocabulary import Vocabulary
from dynet_vdgi.conllu.writing import render
from dynet_vdgi.errors import DataError
from dynet_vdgi.models import model_file
from dynet_vdgi.models.model_file import ModelFile, Provenance
from dynet_vdgi.paper.network import Network
from dynet_vdgi.paper.recipe import NeuralEngine
from dynet_vdgi.paper.settings import ModelSettings
from dynet_vdgi.parser import parser as parser_module
from dynet_vdgi.parser.file_parser import FileParser, parse_window
from dynet_vdgi.parser.parser import How, Parser, load
from dynet_vdgi.relations.label_table import LabelTable
from dynet_vdgi.rule_tables.rules import parse_rules
from dynet_vdgi.settings.bundled import resources
from dynet_vdgi.settings.presets import load_settings
from dynet_vdgi.system import jit

TAGS = ("DET", "NOUN", "PUNCT", "VERB")


@pytest.fixture
def model(tmp_path, monkeypatch):
    """A model file with random weights."""
    monkeypatch.setattr(NeuralEngine, "windows_at_once", 1)
    settings = load_settings("fixed-lambda", changes={"parser": {"hidden_dim": 6, "tag_dim": 5}})
    vocabulary = Vocabulary(TAGS)
    network = Network(vocabulary, ModelSettings(hidden_dim=6, tag_dim=5), np.random.default_rng(0))
    arrays = {name: 3 * value for name, value in network.parameters.arrays().items()}
    path = tmp_path / "model.vdgi"
    model_file.save(
        path, ModelFile(Provenance(), settings, vocabulary, parse_rules("ROOT VERB 1"), arrays)
    )
    return str(path)


def blocks(count, seed=0):
    rng = np.random.default_rng(seed)
    for k in range(count):
        tags = tuple(rng.choice([*TAGS, "SYM"], int(rng.integers(1, 12))).tolist())
        sentence = Sentence(tuple(f"w{i}" for i in range(len(tags))), tags)
        lines = [f"# sent_id = {k}", *render(sentence, range(len(tags))).strip("\n").split("\n")]
        yield Block("made.conllu", 100 * k, lines)


def text_of(parsed):
    return b"".join(part.content for part in parsed).decode()


@pytest.mark.parametrize("jobs", [1, 2])
def test_files_get_the_trees_of_single_calls(model, monkeypatch, jobs):
    monkeypatch.setattr(conllu_blocks, "WINDOW", 2000)  # many windows
    texts = list(blocks(150))
    parser = load(model)
    expected = []
    for block in texts:
        sentence = sentence_of(block)
        expected.append(render(sentence, parser.parse(sentence.forms, sentence.tags)))
    mine = FileParser(load(model), relations=False, jobs=jobs)
    parsed = list(mine.parsed_windows(iter(texts)))
    assert text_of(parsed) == "".join(expected)
    assert len(parsed) > 5
    assert sum(part.n_sentences for part in parsed) == 150
    assert sum(part.n_words for part in parsed) == sum(len(block.lines) - 1 for block in texts)
    assert sum((part.unknown_tags for part in parsed), Counter()) == parser.unknown_tags
    assert list(mine.parsed_windows(iter([]))) == []


def test_a_window_is_told_its_own_unknown_tags_and_leaves_those_of_the_parser(model):
    parser, window = load(model), list(blocks(20))
    before = parser.unknown_tags
    before["OTHER"] = 1
    unknown = sum(line.split("\t")[3] == "SYM" for block in window for line in block.lines[1:])
    assert parse_window(parser, How(), False, window).unknown_tags == {"SYM": unknown}
    assert unknown > 10
    assert parser.unknown_tags is before
    assert before == {"OTHER": 1}


def test_a_fault_ends_a_file_where_it_stands(model, monkeypatch):
    monkeypatch.setattr(conllu_blocks, "WINDOW", 2000)
    texts = list(blocks(100))
    texts[70] = Block("made.conllu", 7000, ["1\tword\t_\tNOUN\t_\t_\t_\t_\t_"])
    parsed = []
    with pytest.raises(DataError) as caught:
        parsed.extend(FileParser(load(model), jobs=2).parsed_windows(iter(texts)))
    assert str(caught.value).startswith(
        "made.conllu:7000: expected 10 tab-separated columns, found 9"
    )
    assert caught.value.line == 7000
    assert sum(part.n_sentences for part in parsed) == 70


def test_the_beginning_tells_whether_verbs_end_the_sentences(model, monkeypatch):
    """A model that does not know it; later windows, and other texts, are read as their text began."""
    monkeypatch.setattr(conllu_blocks, "WINDOW", 4000)
    monkeypatch.setattr(parser_module, "MEASURED", 100)
    monkeypatch.setattr(parser_module, "LOOKED_AT", 60)
    table = LabelTable.of_text("root ROOT *\nobj * * verb-final\nobl * *")
    final = [
        Block("a", 1, tiny.block(k, ["NOUN", "NOUN", "VERB"], None).split("\n")[:-2])
        for k in range(60)
    ]
    other = [
        Block("b", 1, tiny.block(k, ["NOUN", "VERB", "NOUN"], None).split("\n")[:-2])
        for k in range(60)
    ]

    def relations(texts):
        parsed = FileParser(load(model, labels=table), jobs=2).parsed_windows(iter(texts))
        columns = [line.split("\t") for line in text_of(parsed).split("\n")]
        return {column[7] for column in columns if len(column) == 10} - {"root"}

    assert relations(final + other) == {"obj"}
    assert relations(other + final) == {"obl"}
    assert relations(final[:3]) == {"obl"}  # a few sentences show nothing


@pytest.mark.parametrize("engine", ["neural", "universal", "few trees"])
def test_parsers_that_have_parsed_go_to_other_processes_and_serve_threads(model, engine):
    texts = [Sentence(("a",) * 4, ("DET", "NOUN", "VERB", "NOUN")), *trees(6)]
    if engine == "neural":
        parser = load(model)
    elif engine == "universal":
        parser = Parser(universal_toys.model()).adapted(texts)
    else:
        parser = Parser(vdgi.train(trees=trees(), settings={"recipe": "few-trees"}).model)
    expected = parser.parse_all(texts, relations=True)
    again = pickle.loads(pickle.dumps(parser))
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda _: again.parse_all(texts, relations=True), range(6)))
    assert found == [expected] * 6


def test_memory_does_not_grow_with_the_text(model, monkeypatch, request):
    monkeypatch.setattr(conllu_blocks, "WINDOW", 5000)
    monkeypatch.setattr(parser_module, "MEASURED", 100)
    monkeypatch.setattr(parser_module, "LOOKED_AT", 20)
    monkeypatch.setattr(jit, "WORK_TO_LOAD", 10**9)  # numba, which is loaded once, does not count
    monkeypatch.setattr(jit, "WORK_TO_COMPILE", 10**9)
    mine = FileParser(load(model))

    def peak(count):
        tracemalloc.start()
        for _ in mine.parsed_windows(blocks(count)):
            gc.collect()  # gives back small tuples, which Python keeps for later
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size

    peak(100)  # what is made once is made now
    gc.freeze()  # else `collect` goes through all that other tests have made
    request.addfinalizer(gc.unfreeze)
    assert peak(800) < 1.3 * peak(200)  # to keep what was parsed, or its text, makes it 2


def test_the_beginning_that_is_measured_is_read_once(monkeypatch):
    """Also where heads are kept, and one that is no number must not hide its sentence from the
    measures."""
    n_read = 0

    def counted(*arguments, **columns):
        nonlocal n_read
        n_read += 1
        return Sentence(*arguments, **columns)

    monkeypatch.setattr(reading, "Sentence", counted)
    texts = list(blocks(70))
    parser = Parser(universal_toys.model())
    expected = text_of(FileParser(parser).parsed_windows(iter(texts)))
    assert n_read == 70
    word = texts[7].lines[1].split("\t")
    texts[7].lines[1] = "\t".join([*word[:6], "x", *word[7:]])
    for jobs in (1, 2):
        parsed = list(
            FileParser(parser, How(keep_heads=True), jobs=jobs, skips_faulty=True).parsed_windows(
                iter(texts)
            )
        )
        assert sum(len(part.faulty) for part in parsed) == 1
        assert sum(part.n_sentences for part in parsed) == 69
    parsed = list(FileParser(parser, jobs=2).parsed_windows(iter(texts)))
    assert text_of(parsed) == expected


def test_the_input_is_read_no_further_than_needed_and_its_errors_come_through(model, monkeypatch):
    monkeypatch.setattr(conllu_blocks, "WINDOW", 2000)
    monkeypatch.setattr(parser_module, "MEASURED", 100)
    taken = 0

    def counted():
        nonlocal taken
        for block in blocks(1100):
            taken += 1
            yield block
        raise ValueError("line 7")

    parsed = FileParser(load(model), jobs=2).parsed_windows(counted())
    next(parsed)
    assert taken < 1000  # the beginning and a few windows, not the text
    with pytest.raises(ValueError, match="line 7"):
        list(parsed)


@pytest.mark.slow
def test_files_are_read_with_all_that_the_recommended_parser_sees(tmp_path):
    """Features and punctuation reach it, as they do in `Parser.pipe`; without them, trees would
    differ."""
    demo = resources() / "demo"
    parser = vdgi.train(list(islice(reading.read(demo / "demo-ud-train.conllu"), 80)), "best")
    name = str(demo / "demo-ud-test.conllu")
    FileParser(parser).parse([name], str(tmp_path / "parsed.conllu"))
    sentences = list(reading.read(name))
    expected = [sentence.heads for sentence in parser.pipe(sentences)]
    assert [sentence.heads for sentence in reading.read(tmp_path / "parsed.conllu")] == expected
    bare = [replace(sentence, feats=(), xpos=()) for sentence in sentences]
    assert [sentence.heads for sentence in parser.pipe(bare)] != expected
