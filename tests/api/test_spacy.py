"""The component of spaCy pipelines; needs spaCy."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import tiny

spacy = pytest.importorskip("spacy")

import dynet_vdgi as vdgi  # noqa: E402
import dynet_vdgi.spacy_component  # noqa: E402  # registers itself, as by the entry point
from dynet_vdgi.errors import ModelError, UsageError, VdgiError  # noqa: E402
from dynet_vdgi.words.tagger.tagger import Tagger  # noqa: E402


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


TEXTS = [TEXT, "noun1 verb2 punct1", "adj0 noun2 verb0 det1 noun1 punct2 verb2 noun0"]

ELSEWHERE = """
import json, sys
import spacy
import dynet_vdgi.spacy_component
with open("config.cfg", encoding="utf-8") as config, open("bytes", "rb") as content:
    of_bytes = spacy.util.load_model_from_config(spacy.Config().from_str(config.read())).from_bytes(content.read())
for nlp in (spacy.load("pipeline"), of_bytes):
    print(json.dumps([doc.to_json() for doc in nlp.pipe(sys.argv[1:])]))
"""


def elsewhere(folder, *arguments, home):
    """Runs a program in a folder, with a home."""
    path = os.pathsep.join(map(os.path.abspath, sys.path))
    environment = {**os.environ, "HOME": str(home), "PYTHONPATH": path}
    command = [sys.executable, "-c", *arguments]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", ["model and tagger", "universal, tagger and text", "run with a tagger of its own"]
)
def test_a_saved_pipeline_needs_none_of_its_files(files, tmp_path, kind):
    """It parses as before in another process and folder, without a home, when its files are gone."""
    model, tagger, text = (tmp_path / name for name in ("my.vdgi", "my.tagger", "text.conllu"))
    for path in (model, tagger, text):
        path.write_bytes((files / path.name).read_bytes())
    config = {"model": str(model), "tagger": str(tagger)}
    if kind.startswith("universal"):
        config |= {"model": "universal", "text": str(text)}
    elif kind.startswith("run"):
        vdgi.train(text, tagger=tagger, out=tmp_path / "run", preset="best")
        config = {"model": str(tmp_path / "run"), "retag": True}
    nlp = pipeline(files, **config)
    (tmp_path / "moved").mkdir()
    nlp.to_disk(tmp_path / "moved" / "pipeline")
    (tmp_path / "moved" / "config.cfg").write_text(nlp.config.to_str(), encoding="utf-8")
    (tmp_path / "moved" / "bytes").write_bytes(nlp.to_bytes())
    expected = json.dumps([doc.to_json() for doc in nlp.pipe(TEXTS)])
    for path in (model, tagger, text):
        path.unlink()
    shutil.rmtree(tmp_path / "run", ignore_errors=True)
    (tmp_path / "moved").rename(tmp_path / "there")
    (tmp_path / "home").mkdir()
    found = elsewhere(tmp_path / "there", ELSEWHERE, *TEXTS, home=tmp_path / "home")
    assert found == 2 * f"{expected}\n"
    saved = tmp_path / "there" / "pipeline" / "vdgi" / "model.vdgi"
    assert {path.name for path in saved.parent.iterdir()} == {"model.vdgi"}
    assert vdgi.load(saved).steps.tagger is not None


def test_a_saved_pipeline_without_its_model_is_told_with_the_remedy(files, tmp_path):
    nlp = pipeline(files, tagger=str(files / "my.tagger"))
    nlp.to_disk(tmp_path / "pipeline")
    saved = tmp_path / "pipeline" / "vdgi" / "model.vdgi"
    content = saved.read_bytes()
    for damaged, message in ((content[:-9], "damaged"), (None, "no such model file")):
        saved.write_bytes(damaged) if damaged else saved.unlink()
        with pytest.raises(
            ModelError, match=f"{re.escape(str(saved))}: .*{message}.*; copy the whole folder"
        ):
            spacy.load(tmp_path / "pipeline")
    nlp = spacy.load(tmp_path / "pipeline", exclude=["vdgi"])
    assert nlp.pipe_names == ["sentencizer"]
    with pytest.raises(ModelError, match="the bytes of the pipeline: not a vdgi model file"):
        pipeline(files).get_pipe("vdgi").from_bytes(b"")
    with pytest.raises(ModelError, match="none.vdgi: no such model file"):
        pipeline(files, model=str(tmp_path / "none.vdgi")).to_disk(tmp_path / "other")


def test_the_config_of_the_page_makes_a_pipeline(files, tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "other-taggers.md").read_text(encoding="utf-8")
    (config,) = re.findall(r"```ini\n(.*?)```", page, re.DOTALL)
    (tmp_path / "config.cfg").write_text(config, encoding="utf-8")
    for name in re.findall(r'"(my\.\w+)"', config):
        (tmp_path / name).write_bytes(
            (files / {"my.conllu": "text.conllu"}.get(name, name)).read_bytes()
        )
    program = "import dynet_vdgi.spacy_component; from spacy.cli import setup_cli; setup_cli()"
    elsewhere(tmp_path, program, "assemble", "config.cfg", "pipeline", home=tmp_path)
    doc = spacy.load(tmp_path / "pipeline")(TEXT)
    assert doc.has_annotation("DEP")
    assert doc[0].pos_ == "DET"


def test_mistakes_are_told_with_their_remedy(files):
    for config, message in (
        ({"model": ""}, "no model"),
        ({"model": str(files / "none.vdgi")}, "none.vdgi"),
        ({"retag": True}, "retag without a tagger"),
        ({"text": "my.conllu"}, "has no effect"),
        ({"tagger": str(files / "my.vdgi")}, "tagger"),
    ):
        nlp = pipeline(files, **config)
        with pytest.raises(VdgiError, match=message):
            nlp(TEXT)
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
    setup = (Path(__file__).parents[2] / "setup.py").read_text(encoding="utf-8")
    (line,) = re.findall(r'"spacy_factories": \["(.+)"\]', setup)
    folder = tmp_path / "some-1.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: some\nVersion: 1\n", encoding="utf-8"
    )
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
