"""The component of spaCy pipelines; needs spaCy."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import tiny

spacy = pytest.importorskip("spacy")

import dynet_vdgi as vdgi  # noqa: E402
import dynet_vdgi.spacy_component  # noqa: E402  # registers itself, as by the entry point
from dynet_vdgi.errors import UsageError, VdgiError  # noqa: E402
from dynet_vdgi.tagging.tagger import Tagger  # noqa: E402


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A parser and a tagger of the tiny treebank, whose forms are the tags and a digit."""
    folder = tmp_path_factory.mktemp("spacy")
    tiny.write(folder / "text.conllu", 30)
    vdgi.train(folder / "text.conllu").save(folder / "my.vdgi")
    Tagger().fit(folder / "text.conllu").save(folder / "my.tagger")
    return folder


def pipeline(files, **config):
    nlp = spacy.blank("xx")
    nlp.add_pipe("sentencizer", config={"punct_chars": ["punct0", "punct1", "punct2"]})
    nlp.add_pipe("vdgi", config={"model": str(files / "my.vdgi"), **config})
    return nlp


TEXT = "det0 noun0  verb0 punct0 noun1 adj1\n verb1 punct1 "


def test_text_gets_the_trees_of_the_parser_and_the_tags_of_the_tagger(files):
    doc = pipeline(files, tagger=str(files / "my.tagger"))(TEXT)
    words = [[token for token in sent if not token.is_space] for sent in doc.sents]
    assert [[token.text for token in sent] for sent in words] == [
        ["det0", "noun0", "verb0", "punct0"],
        ["noun1", "adj1", "verb1", "punct1"],
    ]
    parser = vdgi.load(files / "my.vdgi")
    for sent in words:
        assert [token.text[:-1].upper() for token in sent] == [token.pos_ for token in sent]
        expected = parser([token.text for token in sent], [token.pos_ for token in sent])
        places = {token.i: k for k, token in enumerate(sent, 1)}
        heads = tuple(0 if token.head == token else places[token.head.i] for token in sent)
        assert heads == expected.heads
        found = tuple(token.dep_ for token in sent)
        assert found == tuple("ROOT" if d == "root" else d for d in expected.deprels)
    assert all(token.head == doc[token.i - 1] for token in doc if token.is_space)
    assert doc.has_annotation("DEP")
    assert doc.text == TEXT


def test_tags_of_earlier_components_are_kept_unless_asked(files):
    def doc(nlp):
        words = ["det0", "noun0", "verb0", "punct0"]
        return spacy.tokens.Doc(nlp.vocab, words, pos=["DET", "", "X", "PUNCT"])

    for retag, third in ((False, "X"), (True, "VERB")):
        nlp = pipeline(files, tagger=str(files / "my.tagger"), retag=retag)
        assert [token.pos_ for token in nlp(doc(nlp))] == ["DET", "NOUN", third, "PUNCT"]


def test_a_saved_pipeline_parses_as_before(files, tmp_path):
    nlp = pipeline(files, tagger=str(files / "my.tagger"))
    nlp.to_disk(tmp_path / "pipeline")
    again = spacy.load(tmp_path / "pipeline")
    assert [token.head.i for token in again(TEXT)] == [token.head.i for token in nlp(TEXT)]


def test_mistakes_are_told_with_their_remedy(files):
    for config, message in (
        ({"model": ""}, "no model"),
        ({"model": str(files / "none.vdgi")}, "none.vdgi"),
        ({"retag": True}, "retag without a tagger"),
        ({"text": "my.conllu"}, "has no effect"),
        ({"tagger": str(files / "my.vdgi")}, "tagger"),
    ):
        with pytest.raises(VdgiError, match=message):
            pipeline(files, **config)
    with pytest.raises(UsageError, match=r"'det0' has no token.pos_: add a tagger"):
        pipeline(files)(TEXT)
    nlp = spacy.blank("xx")
    nlp.add_pipe("vdgi", config={"model": str(files / "my.vdgi")})
    with pytest.raises(UsageError, match="sentencizer"):
        nlp(TEXT)


def test_the_universal_parser_measures_a_text_once(files):
    text = str(files / "text.conllu")
    nlp = pipeline(files, model="universal", text=text, tagger=str(files / "my.tagger"))
    parser = vdgi.load("universal").adapted(text)
    doc = nlp("det0 noun0 verb0 punct0")
    heads = parser([t.text for t in doc], [t.pos_ for t in doc]).heads
    assert tuple(0 if t.head == t else t.head.i + 1 for t in doc) == heads


def test_spacy_finds_the_component_by_the_entry_point(tmp_path):
    """The entry point is that of setup.py; the program does not import the package itself."""
    setup = (Path(__file__).parents[1] / "setup.py").read_text(encoding="utf-8")
    (line,) = re.findall(r'"spacy_factories": \["(.+)"\]', setup)
    folder = tmp_path / "some-1.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: some\nVersion: 1\n", encoding="utf-8")
    (folder / "entry_points.txt").write_text(f"[spacy_factories]\n{line}\n", encoding="utf-8")
    code = (
        f"import sys; sys.path += {[*map(str, sys.path), str(tmp_path)]!r}\n"
        "import spacy\n"
        "nlp = spacy.blank('xx')\n"
        "nlp.add_pipe('vdgi', config={'model': 'universal'})\n"
        "print([token.head.i for token in nlp(spacy.tokens.Doc(nlp.vocab, ['go'], pos=['VERB']))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "[0]\n"
    assert re.fullmatch("only 1 sentence, 1 word .*\n", done.stderr)
