"""What `data.ignore` names is hidden from teacher and parser, in training and in parsing."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import tiny

import dynet_vdgi as vdgi
from dynet_vdgi.conllu.reading import read
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.settings.bundled import resources

DEMO = resources() / "demo"
COLUMNS = ("feats", "xpos", "forms", "punctuation")


@cache
def demo(part: str, n_sentences: int) -> tuple[Sentence, ...]:
    """Sentences of the demo treebank, with XPOS whose morphs the table `best` reads."""
    found = list(read(str(DEMO / f"demo-ud-{part}.conllu")))[:n_sentences]
    return tuple(
        replace(s, source=None, xpos=tuple(f"X+{tag[:2]}" for tag in s.tags)) for s in found
    )


def blank(sentence: Sentence) -> Sentence:
    """The sentence with nothing but tags and punctuation."""
    pairs = zip(sentence.forms, sentence.tags)
    forms = tuple([form if tag == "PUNCT" else "_" for form, tag in pairs])
    return Sentence(forms, sentence.tags, sentence.heads)


@cache
def trained(*ignore: str) -> vdgi.Parser:
    settings = {"data": {"ignore": list(ignore)}, "parser": {"log2_buckets": 14, "orders": 1}}
    return vdgi.train(demo("train", 120), "best", settings=settings)


def trees(parser: vdgi.Parser, sentences: tuple[Sentence, ...]) -> list[tuple[int, ...]]:
    return [parse.heads for parse in parser.parse_all(sentences)]


def test_what_is_hidden_in_training_is_as_if_it_were_not_there() -> None:
    settings = {"parser": {"log2_buckets": 14, "orders": 1}}
    never = vdgi.train([blank(s) for s in demo("train", 120)], "best", settings=settings)
    hidden = trained("feats", "xpos", "forms")
    assert tiny.same_arrays(hidden.model.parameters, never.model.parameters)
    assert hidden.model.text == never.model.text
    assert not tiny.same_arrays(trained().model.parameters, never.model.parameters)


def test_the_parser_does_not_see_it_either() -> None:
    test = demo("test", 60)
    hidden = trained("feats", "xpos", "forms")
    assert trees(hidden, test) == trees(hidden, tuple(map(blank, test)))
    assert trees(trained(), test) != trees(trained(), tuple(map(blank, test)))
    labelled = [[s.deprels for s in hidden.pipe(text)] for text in (test, map(blank, test))]
    assert labelled[0] == labelled[1]


def test_the_places_of_punctuation() -> None:
    text = demo("train", 120)
    hidden = trained("punctuation")
    assert hidden.model.text is not None
    assert not hidden.model.text["has_gaps"]
    whole = trained().model.text
    assert whole is not None
    assert whole["has_gaps"]
    assert len(hidden.parse_all(text[:1])[0].heads) == len(text[0])  # the words are still attached


def test_the_model_file_tells_and_parses_as_before(tmp_path: Path) -> None:
    hidden = trained("feats", "forms")
    hidden.save(tmp_path / "model.vdgi")
    again = vdgi.load(tmp_path / "model.vdgi")
    assert again.model.settings.data.ignore == ("feats", "forms")
    assert 'ignore = ["feats", "forms"]' in again.model.settings.to_toml()
    test = demo("test", 20)
    assert trees(again, test) == trees(hidden, test)
    assert trees(again, test) == trees(again, tuple(s.ignoring(["feats", "forms"]) for s in test))


def test_a_sentence_without_columns() -> None:
    sentence = Sentence(
        ("Ab", "cd"),
        ("NOUN", "VERB"),
        (2, 0),
        lemmas=("a", "c"),
        xpos=("N", "V"),
        feats=("_", "X=Y"),
        gaps=("", ",", ""),
    )
    assert sentence.ignoring(()) is sentence
    assert sentence.ignoring(COLUMNS) == Sentence(("_", "_"), ("NOUN", "VERB"), (2, 0))
    assert sentence.ignoring(["feats"]) == replace(sentence, feats=())
