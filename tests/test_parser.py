"""A trained model as a library: load it, parse words and tags."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import tiny
from hypothesis import given
from hypothesis import strategies as st

import dynet_vdgi as vdgi
from dynet_vdgi import cli
from dynet_vdgi.data.conllu_writing import write
from dynet_vdgi.data.punctuation import is_projective
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.data.vocabulary import Vocabulary
from dynet_vdgi.errors import ModelError, VdgiError
from dynet_vdgi.parsing.parser import Parser
from dynet_vdgi.recipes.given import Given, Inputs
from dynet_vdgi.recipes.run import run
from dynet_vdgi.runs import model_file
from dynet_vdgi.settings.config import Settings

TAGS = ("ADJ", "ADV", "AUX", "DET", "NOUN", "NUM", "VERB", "PUNCT", "X")  # X is not in the training text


@pytest.fixture
def parser(model: Path) -> Parser:
    return vdgi.load(model)


def trained(folder: Path, settings: Settings) -> Parser:
    """A parser of the tiny treebank."""
    text = Given((str(tiny.write(folder / "a.conllu")),))
    run(Inputs({"": text}), settings, out=folder)
    return vdgi.load(folder)


def is_tree(heads: tuple[int, ...]) -> bool:
    """One root, and every word below it."""
    for word in range(1, len(heads) + 1):
        for _ in heads:
            word = heads[word - 1] if word else 0
        if word:
            return False
    return heads.count(0) == 1


def printed_by(code: str) -> str:
    root = Path(__file__).parents[1]
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root
    )
    return result.stdout.strip()


def test_importing_the_package_is_cheap() -> None:
    code = "import sys, dynet_vdgi; print({'dynet', 'numpy', 'gensim'} & set(sys.modules))"
    assert printed_by(code) == "set()"


def test_only_neural_models_need_dynet() -> None:
    code = "import sys, dynet_vdgi; dynet_vdgi.load('universal').parse(['a'], ['NOUN'])"
    assert printed_by(code + "; print({'dynet', 'numba'} & set(sys.modules))") == "set()"


def test_what_the_package_promises() -> None:
    assert {"Parser", "Sentence", "__version__", "draw", "evaluate", "load", "read", "train", "write"} <= set(
        vdgi.__all__
    )
    assert dir(vdgi) == vdgi.__all__ == sorted(vdgi.__all__)
    assert all(hasattr(vdgi, name) for name in vdgi.__all__)
    with pytest.raises(AttributeError, match="module 'dynet_vdgi' has no attribute 'parse'"):
        vdgi.parse  # noqa: B018


def test_load_takes_a_path_or_its_name(model: Path) -> None:
    words, tags = ["a", "b", "c"], ["DET", "NOUN", "VERB"]
    assert vdgi.load(model).parse(words, tags) == vdgi.load(str(model)).parse(words, tags)


def test_read_and_parse(model: Path, tmp_path: Path) -> None:
    treebank = tiny.write(tmp_path / "new.conllu", heads=False)
    parser = vdgi.load(model)
    sentences = list(vdgi.read(treebank))
    trees = [parser.parse(sentence.forms, sentence.tags) for sentence in sentences]
    assert len(trees) == 12
    assert all(sentence.heads is None for sentence in sentences)
    assert all(is_tree(tree) and is_projective(tree) for tree in trees)
    assert trees == [vdgi.load(model).parse(sentence.forms, sentence.tags) for sentence in sentences]


@given(st.data())
def test_any_tags_give_one_projective_tree(model: Path, data: st.DataObject) -> None:
    parser = vdgi.load(model)
    for _ in range(3):
        tags = data.draw(st.lists(st.sampled_from(TAGS), min_size=1, max_size=12))
        heads = parser.parse([tag.lower() for tag in tags], tags)
        assert len(heads) == len(tags)
        assert all(type(head) is int for head in heads)
        assert is_tree(heads)
        assert is_projective(heads)
        if set(tags) - {"PUNCT"}:  # punctuation is attached last: it never has words below it
            assert not any(head and tags[head - 1] == "PUNCT" for head in heads)


def test_many_at_once_are_parsed_as_one_by_one(parser: Parser) -> None:
    assert parser.parse_all([]) == []
    tags = [["NOUN"], ["PUNCT"], *(tags.split() for tags, _ in tiny.PATTERNS), ["X", "VERB", "X"]]
    sentences = [vdgi.Sentence(("w",) * len(row), tuple(row)) for row in tags]
    trees = parser.parse_all(sentences)
    heads = [tree.heads for tree in trees]
    assert heads == [parser.parse(sentence.forms, sentence.tags) for sentence in sentences]
    assert parser.unknown_tags == {"X": 4}


def test_the_tree_of_the_other_words_does_not_depend_on_punctuation(parser: Parser) -> None:
    tags = ["DET", "NOUN", "VERB", "ADV"]
    plain = parser.parse(["w"] * 4, tags)
    with_punctuation = parser.parse(["w"] * 7, ["PUNCT", *tags[:2], "PUNCT", *tags[2:], "PUNCT"])
    positions = {2: 1, 3: 2, 5: 3, 6: 4, 0: 0}
    assert [positions[with_punctuation[p - 1]] for p in (2, 3, 5, 6)] == list(plain)


@pytest.mark.parametrize("tag", ["NOUN", "PUNCT", "X"])
def test_one_word_is_the_root(parser: Parser, tag: str) -> None:
    assert parser.parse(["hm"], [tag]) == (0,)


def test_only_punctuation(parser: Parser) -> None:
    assert parser.parse([".", ".", "."], ["PUNCT"] * 3) == (0, 1, 1)


def test_a_long_sentence(parser: Parser) -> None:
    heads = parser.parse(["w"] * 300, [TAGS[k % 7] for k in range(300)])
    assert is_tree(heads)
    assert is_projective(heads)


def test_words_do_not_matter_to_an_unlexicalised_model(parser: Parser) -> None:
    tags = ["DET", "NOUN", "VERB"]
    assert parser.parse(["the", "dog", "barks"], tags) == parser.parse(["x", "_", "\U0001f600"], tags)


@pytest.mark.parametrize(
    ("words", "tags", "message"),
    [
        ([], [], "0 words, 0 tags"),
        (["a"], [], "1 word, 0 tags"),
        ([], ["NOUN"], "0 words, 1 tag"),
        (["a", "b"], ["NOUN"], "2 words, 1 tag"),
    ],
)
def test_words_and_tags_must_be_as_many(
    parser: Parser, words: list[str], tags: list[str], message: str
) -> None:
    with pytest.raises(VdgiError, match="a sentence needs at least one word, and a tag for each: " + message):
        parser.parse(words, tags)


def test_unknown_tags_are_counted(parser: Parser) -> None:
    assert parser.unknown_tags == {}
    parser.parse(["a", "b", "c"], ["X", "NOUN", "PUNCT"])
    parser.parse(["a", "b"], ["X", "SYM"])
    assert parser.unknown_tags == {"X": 2, "SYM": 1}


def test_punctuation_is_a_word_where_the_protocol_keeps_it(tmp_path: Path) -> None:
    settings = tiny.settings({"data": {"protocol": "as_released"}})
    parser = trained(tmp_path, settings)
    assert "PUNCT" in parser.model.vocabulary.tags
    assert is_tree(parser.parse([".", "."], ["PUNCT", "PUNCT"]))
    assert parser.unknown_tags == {}


def test_a_lexicalised_model(tmp_path: Path) -> None:
    settings = tiny.settings({"parser": {"word_dim": 3, "vector_dim": 4}})
    parser = trained(tmp_path, settings)
    assert "noun0" in parser.model.vocabulary.words
    assert is_tree(parser.parse(["noun0", "never-seen"], ["NOUN", "VERB"]))


def test_no_such_model(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="nix: no such model file"):
        vdgi.load(tmp_path / "nix")


def test_weights_that_do_not_fit_the_settings_name_the_file(model: Path, tmp_path: Path) -> None:
    misfit = model_file.load(model)
    misfit.settings = tiny.settings({"parser": {"hidden_dim": 7}})
    model_file.save(tmp_path / "model.vdgi", misfit)
    with pytest.raises(
        ModelError,
        match=r"model\.vdgi: parameter encoder/\S+ has shape .6, 6., the model needs .7",
    ):
        vdgi.load(tmp_path / "model.vdgi")


def test_weights_that_do_not_fit_the_vocabulary_are_refused(model: Path) -> None:
    misfit = model_file.load(model)
    misfit.vocabulary = Vocabulary((*misfit.vocabulary.tags, "MORE"))
    with pytest.raises(ModelError, match=r"parameter encoder/\S+ has shape .8, 6., the model needs .9, 6."):
        vdgi.Parser(misfit)


def test_a_call_gives_a_sentence_with_heads(parser: Parser) -> None:
    tree = parser(["the", "dog", "barks"], ["DET", "NOUN", "VERB"])
    assert (tree.forms, tree.tags) == (("the", "dog", "barks"), ("DET", "NOUN", "VERB"))
    assert tree.heads == parser.parse(tree.forms, tree.tags)


def test_a_pipe_is_lazy_keeps_order_and_sources(parser: Parser, tmp_path: Path) -> None:
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
        assert [relation == "root" for relation in one.deprels] == [head == 0 for head in one.heads or ()]
    assert list(parser.pipe([])) == []


def test_what_is_piped_and_written_is_what_the_command_writes(
    model: Path, parser: Parser, folder: Path
) -> None:
    text = tiny.write(folder / "new.conllu", heads=False)
    write(parser.pipe(vdgi.read(text)), "mine.conllu")
    assert cli.main(["-q", "parse", str(model), str(text), "-o", "other.conllu"]) == 0
    assert Path("mine.conllu").read_bytes() == Path("other.conllu").read_bytes()


def test_save_and_load(parser: Parser, tmp_path: Path) -> None:
    parser.save(tmp_path / "copy.vdgi")
    words, tags = ["a", "b", "c", "d"], ["DET", "NOUN", "VERB", "PUNCT"]
    assert vdgi.load(tmp_path / "copy.vdgi").parse(words, tags) == parser.parse(words, tags)
