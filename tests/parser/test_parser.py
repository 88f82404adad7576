"""A trained model as a library: load it, parse words and tags."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import tiny
from brute_force import is_tree
from hypothesis import given
from hypothesis import strategies as st
from wording import Wording

import dynet_vdgi as vdgi
from dynet_vdgi import cli
from dynet_vdgi.conllu.punctuation import is_projective
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.conllu.writing import write
from dynet_vdgi.errors import ModelError
from dynet_vdgi.models import model_file
from dynet_vdgi.parser.parser import Parser
from dynet_vdgi.training.inputs import Inputs
from dynet_vdgi.training.run import run

# X is not in the training text
TAGS = ("ADJ", "ADV", "AUX", "DET", "NOUN", "NUM", "VERB", "PUNCT", "X")


@pytest.fixture
def parser(model: Path) -> Parser:
    return vdgi.load(model)


def printed_by(code: str) -> str:
    root = Path(__file__).parents[2]
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root
    )
    return result.stdout.strip()


def test_importing_the_package_is_cheap():
    code = "import sys, dynet_vdgi; print({'dynet', 'numpy', 'gensim'} & set(sys.modules))"
    assert printed_by(code) == "set()"


@given(st.data())
def test_any_tags_give_one_projective_tree(model, data):
    parser = vdgi.load(model)
    for _ in range(3):
        tags = data.draw(st.lists(st.sampled_from(TAGS), min_size=1, max_size=12))
        heads = parser.parse([tag.lower() for tag in tags], tags)
        assert heads == parser.parse(["_"] * len(tags), tags)  # words do not matter to this model
        assert len(heads) == len(tags)
        assert all(type(head) is int for head in heads)
        assert is_tree(heads)
        assert is_projective(heads)
        if set(tags) - {"PUNCT"}:  # punctuation is attached last: it never has words below it
            assert not any(head and tags[head - 1] == "PUNCT" for head in heads)


def test_many_at_once_are_parsed_as_one_by_one(parser):
    assert parser.parse_all([]) == []
    tags = [["NOUN"], ["PUNCT"], *(tags.split() for tags, _ in tiny.PATTERNS), ["X", "VERB", "X"]]
    sentences = [vdgi.Sentence(("w",) * len(row), tuple(row)) for row in tags]
    trees = parser.parse_all(sentences)
    heads = [tree.heads for tree in trees]
    assert heads == [parser.parse(sentence.forms, sentence.tags) for sentence in sentences]
    assert parser.unknown_tags == {"X": 4}


def test_the_tree_of_the_other_words_does_not_depend_on_punctuation(parser):
    tags = ["DET", "NOUN", "VERB", "ADV"]
    plain = parser.parse(["w"] * 4, tags)
    with_punctuation = parser.parse(["w"] * 7, ["PUNCT", *tags[:2], "PUNCT", *tags[2:], "PUNCT"])
    positions = {2: 1, 3: 2, 5: 3, 6: 4, 0: 0}
    assert [positions[with_punctuation[p - 1]] for p in (2, 3, 5, 6)] == list(plain)


def test_punctuation_alone_and_where_the_protocol_keeps_it(parser, tmp_path):
    assert [parser.parse(["hm"], [tag]) for tag in ("NOUN", "PUNCT", "X")] == [(0,)] * 3
    assert parser.parse([".", ".", "."], ["PUNCT"] * 3) == (0, 1, 1)
    text = (str(tiny.write(tmp_path / "a.conllu")),)
    run(Inputs({"": text}), tiny.settings({"data": {"protocol": "as_released"}}), out=tmp_path)
    keeps_it = vdgi.load(tmp_path)
    assert "PUNCT" in keeps_it.model.vocabulary.tags
    assert is_tree(keeps_it.parse([".", "."], ["PUNCT", "PUNCT"]))
    assert keeps_it.unknown_tags == {}


def test_weights_that_do_not_fit_the_settings_name_the_file(model, tmp_path, wording: Wording):
    misfit = model_file.load(model)
    misfit.settings = tiny.settings({"parser": {"hidden_dim": 7}})
    model_file.save(tmp_path / "model.vdgi", misfit)
    with wording.raises(ModelError):
        vdgi.load(tmp_path / "model.vdgi")


def test_a_pipe_is_lazy_keeps_order_and_sources(parser, tmp_path):
    sentences = list(vdgi.read(tiny.write(tmp_path / "a.conllu")))
    taken = []

    def given() -> Iterator[Sentence]:
        for sentence in sentences:
            taken.append(sentence)
            yield sentence

    piped = parser.pipe(given(), window=5)
    first = next(piped)
    assert len(taken) == 5
    parsed = [first, *piped]
    assert [s.heads for s in parsed] == [parse.heads for parse in parser.parse_all(sentences)]
    assert [(s.forms, s.source) for s in parsed] == [(s.forms, s.source) for s in sentences]
    for one in parsed:
        assert [relation == "root" for relation in one.deprels] == [
            head == 0 for head in one.heads or ()
        ]
    assert list(parser.pipe([])) == []


def test_what_is_piped_and_written_is_what_the_command_writes(model, parser, folder):
    text = tiny.write(folder / "new.conllu", heads=False)
    write(parser.pipe(vdgi.read(text)), "mine.conllu")
    assert cli.main(["-q", "parse", str(model), str(text), "-o", "other.conllu"]) == 0
    assert Path("mine.conllu").read_bytes() == Path("other.conllu").read_bytes()
