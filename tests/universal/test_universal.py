"""The universal parser as a model: its file, its measures of a text, its trees and relations."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import universal_toys as universal
from shell import finished

import dynet_vdgi
from dynet_vdgi.conllu import reading
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.errors import ModelError
from dynet_vdgi.models import model_file, run_folder
from dynet_vdgi.parser.decoding import find
from dynet_vdgi.parser.expectation import SOURCES, Expectation
from dynet_vdgi.parser.parser import How, Parser
from dynet_vdgi.parser.universal_engine import UniversalEngine
from dynet_vdgi.rule_tables.rules import load_rules
from dynet_vdgi.settings.bundled import bundled, resources
from dynet_vdgi.settings.presets import load_settings
from dynet_vdgi.universal.stored import STRENGTH, Measures, scorer_of

DEMO = resources() / "demo" / "demo-ud-test.conllu"
N_SENTENCES = 60


@pytest.fixture(scope="module")
def sentences() -> list[Sentence]:
    """Sentences with FEATS, punctuation and relations, the tag CONJ among their tags."""
    return list(reading.read(DEMO))[:N_SENTENCES]


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """The same sentences in a file."""
    return beginning_of(DEMO, N_SENTENCES, tmp_path / "text.conllu")


def beginning_of(file: Path, n_sentences: int, path: Path) -> Path:
    """Another file with the first sentences."""
    blocks = file.read_text(encoding="utf-8").split("\n\n")[:n_sentences]
    path.write_text("\n\n".join(blocks) + "\n\n", encoding="utf-8")
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return universal.saved(tmp_path / "toy.vdgi")


@pytest.fixture
def parser() -> Parser:
    return Parser(universal.model())


def test_weights_are_kept_as_two_bytes_each(path):
    arrays = model_file.load(path).parameters
    scorer, found = universal.scorer(), scorer_of(arrays)
    assert found.features == scorer.features
    assert {arrays[f"universal/{name}"].dtype for name in scorer.weights} == {np.dtype(np.float16)}
    for name, weights in scorer.weights.items():
        assert np.array_equal(found.weights[name], weights), name
        assert found.weights[name].dtype == np.float32
    assert np.array_equal(found.mean, scorer.mean)
    assert np.array_equal(found.scale, scorer.scale)


def test_measures_survive_the_file(tmp_path, parser, sentences):
    measured = parser.adapted(sentences)
    measured.save(tmp_path / "run.vdgi")
    again = dynet_vdgi.load(tmp_path / "run.vdgi")
    assert not again.needs_text
    first, second = measured.engine, again.engine
    assert isinstance(first, UniversalEngine)
    assert isinstance(second, UniversalEngine)
    assert first.measures is not None
    assert second.measures is not None
    assert first.measures.key == second.measures.key
    assert first.measures.n_sentences == N_SENTENCES
    assert again.parse_all(sentences) == measured.parse_all(sentences)


def test_few_sentences_without_a_measured_text_get_one_warning(parser, sentences, caplog):
    first = sentences[0]
    list(parser.pipe([]))
    for _ in range(2):
        parser(first.forms, first.tags)
        parser.parse_all([first])
        list(parser.pipe([first]))
    (message,) = caplog.messages
    assert message.startswith("only 1 sentence, ")
    assert message.endswith("`Parser.adapted` or, in spaCy, `text`")
    caplog.clear()
    many = Parser(universal.model())
    list(many.pipe(sentences))
    many.adapted(sentences).parse_all([first])
    assert not caplog.messages


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("universal/arc.head", lambda a: a[:, :-1], "arc.head"),
        ("universal/relation.out", lambda a: a[:-1], "relation.out"),
        ("universal/lstm1.backward.bias", lambda a: a[:-1], "lstm1.backward.bias"),
        ("universal/straight.pairs", lambda a: a[:-1], "straight.pairs"),
        ("universal/known", lambda a: a[:-1], "names are damaged"),
        ("universal/features", lambda a: a[:, :-1], "features"),
        ("universal/mean", lambda a: a[:-1], "mean"),
        ("universal/scale", lambda a: 0 * a, "not positive"),
        ("universal/tag", lambda a: a[0], "missing or flat"),
        ("universal/root", None, "root"),
        ("universal/scale", None, "missing or flat: 'scale'"),
        ("text/numbers", lambda a: a[:-1], "shapes"),
        ("text/pairs", lambda a: a[:-1], "shapes"),
        ("text/bands", lambda a: a + 100, "shapes"),
        ("text/bands", lambda a: a[:-1], "shapes"),
        ("text/forms", lambda a: a[1:], "names are damaged"),
        ("text/size", None, "missing size"),
    ],
)
def test_damaged_arrays_are_refused(tmp_path, parser, sentences, name, change, message):
    model, measures = parser.model, parser.adapted(sentences).measures
    assert measures is not None
    arrays = {**model.parameters, **measures.arrays()}
    if callable(change):
        arrays[name] = change(arrays[name])
    else:
        del arrays[name]
    model_file.save(tmp_path / "damaged.vdgi", replace(model, parameters=arrays))
    with pytest.raises(ModelError, match=message):
        dynet_vdgi.load(tmp_path / "damaged.vdgi")


@pytest.mark.skipif("universal" not in bundled("models"), reason="no model has been learnt yet")
def test_the_shipped_model_is_small_and_names_licences_and_branches():
    file = bundled("models")["universal"]
    assert file.stat().st_size <= 4_000_000
    model = model_file.load(file)
    assert len(model.provenance.treebanks) > 50
    for treebank in model.provenance.treebanks.values():
        assert treebank.branch
        assert treebank.licence
        assert "NC" not in treebank.licence
    assert model.provenance.gold_trees
    assert Parser(model).needs_text
    expectation = Expectation.from_arrays(model.parameters)
    assert expectation is not None
    assert 0.05 < expectation.width < 0.5
    assert model.parameters[SOURCES].shape[0] == len(model.provenance.treebanks)


def test_info_names_treebanks_with_branches_and_licences(path, vdgi):
    told = vdgi.good("info", path)
    assert "xx_toy: 30 trees, Toyic, CC BY-SA 4.0" in told.out
    assert "40 trees of 2 treebanks of other languages" in told.out
    as_json = json.loads(vdgi.good("info", path, "--json").out)
    assert as_json["treebanks"]["yy_toy"] == {
        "trees": 10, "share": 0.25, "licence": "CC0 1.0", "branch": "Playic",
    }  # fmt: skip
    assert as_json["recipe"] == "universal"


def test_other_text_gives_other_trees(parser, sentences):
    """What is measured matters: the profile as well as the frequency of forms."""
    first, second = sentences[:30], sentences[30:]
    assert parser.adapted(second).parse_all(first) != parser.adapted(first).parse_all(first)
    engine = parser.engine
    assert isinstance(engine, UniversalEngine)
    measures = parser.adapted(sentences).measures
    unlisted = replace(parser, engine=engine.with_measures(replace(measures, bands={})))
    listed = replace(parser, engine=engine.with_measures(measures))
    assert unlisted.parse_all(sentences) != listed.parse_all(sentences)


def test_relations_fit_the_tree(parser, sentences):
    labelled = list(parser.pipe(sentences))
    assert [s.heads for s in labelled] == [parse.heads for parse in parser.parse_all(sentences)]
    relations = set()
    for sentence in labelled:
        assert sentence.heads is not None
        for tag, head, relation in zip(sentence.tags, sentence.heads, sentence.deprels):
            assert (relation == "root") == (head == 0)
            assert (relation == "punct") == (tag == "PUNCT")
        relations |= set(sentence.deprels)
    assert len(relations) > 5


def test_no_features_and_old_tags_are_known(parser):
    sentences = [
        Sentence.of_tags(tags.split())
        for tags in ("NOUN CONJ NOUN VERB", "VERB", "PUNCT", "X CCONJ")
    ]
    trees = [parse.heads for parse in parser.parse_all(sentences)]
    assert [len(tree) for tree in trees] == [4, 1, 1, 2]
    assert trees[1] == trees[2] == (0,)
    assert not parser.unknown_tags
    parser.parse_all([Sentence.of_tags(["VREB", "NOUN"])])
    assert parser.unknown_tags == {"VREB": 1}


def test_given_heads_are_kept(parser, sentences):
    measured = parser.adapted(sentences)
    kept = measured.parse_all(sentences, How(keep_heads=True))  # whole trees
    assert [parse.heads for parse in kept] == [sentence.heads for sentence in sentences]
    partial = [replace(s, heads=(s.heads or ())[:1] + (-1,) * (len(s) - 1)) for s in sentences]
    for sentence, parse in zip(partial, measured.parse_all(partial, How(keep_heads=True))):
        assert sentence.heads is not None
        assert parse.heads[0] == sentence.heads[0]


def test_decoding_have_the_most_heads_expected_to_be_right(parser, sentences):
    from dynet_vdgi.inference import eisner

    measured = parser.adapted(sentences)
    engine = measured.engine
    assert isinstance(engine, UniversalEngine)
    few = [replace(s, gaps=()) for s in [measured._bare(s)[0] for s in sentences[:20]]]
    exact = [parse.heads for parse in measured.parse_all(few, How(exact=True))]
    scores = [engine.scores([sentence]).arcs[0] for sentence in few]
    assert exact == [eisner.expected_best(eisner.marginals(each)) for each in scores]
    assert (
        [each.heads for each in find(engine, few)]
        == [eisner.best(each) for each in scores]
        != exact
    )


def test_all_files_of_one_output_are_one_text(path, text, vdgi):
    content = text.read_text(encoding="utf-8").split("\n\n")
    parts = [text.with_name(f"{k}.conllu") for k in range(2)]
    for part, blocks in zip(parts, (content[:5], content[5:-1])):
        part.write_text("\n\n".join(blocks) + "\n\n", encoding="utf-8")
    whole = vdgi.good("parse", path, text).out
    assert vdgi.good("parse", path, *parts).out == whole
    alone = vdgi.good("parse", path, parts[0]).out
    assert not whole.startswith(alone)


def test_few_words_leave_the_profile_near_the_mean(parser, sentences):
    engine = parser.engine
    assert isinstance(engine, UniversalEngine)
    for part in (sentences[:1], sentences):
        n_words = sum(map(len, part))
        measured, raw = (
            Measures.of(engine.scorer, part).profile,
            engine.scorer.profile_and_teacher(part)[0],
        )
        assert np.allclose(measured.numbers, raw.numbers * n_words / (n_words + STRENGTH))
        assert np.array_equal(measured.pairs, raw.pairs)


def test_processes_give_the_bytes_of_one_and_load_no_dynet(path, text, tmp_path):
    (tmp_path / "dynet.py").write_text("raise SystemExit('DyNet was loaded')\n", encoding="utf-8")
    outputs = []
    for jobs in ("1", "2"):
        environment = {"PYTHONPATH": f"{tmp_path}:{':'.join(filter(None, sys.path))}"}
        status, out, err = finished("parse", path, text, "--jobs", jobs, env=environment)
        assert status == 0, err
        outputs.append(out)
    assert outputs[0] == outputs[1]


@pytest.fixture
def shipped(path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The toy as the model that comes with the package."""
    monkeypatch.setattr(
        run_folder, "bundled", lambda what: {"universal": path} if what == "models" else {}
    )
    return path


def test_a_run_keeps_what_was_measured(shipped, text, tmp_path, vdgi):
    run = tmp_path / "run"
    vdgi.good("train", "--train", text, "--preset", "universal", "--out", run)
    model = model_file.load(run / "model.vdgi")
    assert model.provenance.treebanks == universal.SOURCES
    assert "no tree of yours" in model.provenance.gold_trees[0]
    assert model.provenance.trained_on.sentences == N_SENTENCES
    assert vdgi.good("parse", run, text).out == vdgi.good("parse", shipped, text).out
    assert f"measured: {N_SENTENCES} sentences" in vdgi.good("parse", shipped, text).err
    few = beginning_of(text, 3, tmp_path / "few.conllu")
    begins = vdgi.good("parse", run, few)
    assert vdgi.good("parse", run, text).out.startswith(begins.out)
    assert "measured" not in begins.err
    assert "only 3" not in begins.err


SMALL = [f"learning.{value}" for value in ("updates=4", "batch=60", "words=200", "hidden=4")]


def test_a_run_learns_from_treebanks_alone(text, tmp_path, vdgi):
    run, again = tmp_path / "run", tmp_path / "again"
    train = DEMO.with_name("demo-ud-train.conllu")
    options = [
        "--preset",
        "universal",
        "--treebank",
        "xx",
        train,
        "--treebank",
        "yy",
        text,
        "--dev",
        text,
    ]
    for value in SMALL:
        options += ["--set", value]
    vdgi.good("train", *options, "--out", run)
    vdgi.good("train", *options, "--out", again)
    model, equal = (model_file.load(folder / "model.vdgi") for folder in (run, again))
    assert {name: each.trees for name, each in model.provenance.treebanks.items()} == {
        "xx": len(list(reading.read(train))), "yy": N_SENTENCES,
    }  # fmt: skip
    n_trees = sum(each.trees for each in model.provenance.treebanks.values())
    assert model.provenance.gold_trees == (
        f"training: {n_trees:,} trees of 2 treebanks of other languages", "dev: progress figures only",
    )  # fmt: skip
    assert model.provenance.dev_dda is not None
    assert model.provenance.dynet is not None
    assert model.provenance.updates == 4
    assert {file.role for file in model.provenance.data} == {"treebank xx", "treebank yy", "dev"}
    assert model.settings.to_dict()["learning"]["updates"] == 4
    assert all(
        np.array_equal(array, equal.parameters[name]) for name, array in model.parameters.items()
    )
    assert model.parameters["universal/arc.head"].dtype == np.float16
    assert Parser(model).needs_text
    measured = tmp_path / "measured"
    vdgi.good("train", "--train", text, "--preset", "universal", "--init", run, "--out", measured)
    assert vdgi.good("parse", measured, text).out == vdgi.good("parse", run, text).out
    assert model_file.load(measured / "model.vdgi").settings.to_dict()["learning"] == {"updates": 0}


TRAIN = ["train", "--preset", "universal", "--out", "run"]
ALONE = [*TRAIN, "--treebank", "xx", "text.conllu"]
BESIDE = [*TRAIN, "--train", "text.conllu"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["parse", "toy.vdgi", "text.conllu", "--confidence"], "was learnt without a calibration"),
        (["parse", "toy.vdgi", "broken.conllu"], "broken.conllu:2: expected 10 tab-separated columns"),
        (["parse", "toy.vdgi", "empty"], "no sentences"),
        # treebanks alone
        ([*ALONE, "--init", "text.conllu"], "the weights are learnt anew"),
        ([*ALONE, "--set", "learning.invented=2"], "one treebank has no other"),
        ([*ALONE, "--set", "learning.updates=0"], "learning.updates is 0"),
        ([*ALONE, "--treebank", "yy", "one.conllu"], "yy: no sentence of 2 to 30 words"),
        ([*ALONE, "--set", "learning.members=1", "--set", "learning.soft=0.3"], "learning.members is 1"),
        ([*ALONE, "--set", "data.max_len=20"], "there is no text, only treebanks"),
        ([*ALONE, "--preset", "few-trees"], "nothing to learn from"),
        ([*ALONE, "--preset", "best"], "nothing to learn from"),
        ([*ALONE, "--preset", "paper"], "nothing to learn from"),
        # a text
        ([*BESIDE, "--treebank", "xx", "text.conllu"], "needs no text: leave out --train"),
        ([*BESIDE, "--set", "learning.updates=5"], "there are no treebanks to learn from"),
        ([*BESIDE, "--set", "rules=ud"], "no rule table"),
        ([*BESIDE, "--without", "markers"], "no rule table"),
        ([*BESIDE, "--set", "data.protocol=as_released"], "data.protocol=standard"),
        ([*BESIDE, "--language-facts", "empty"], "no rule table"),
        ([*BESIDE, "--init", "linear.vdgi"], "not from one of taught"),
        ([*TRAIN, "--language", "xx", "text.conllu", "--language", "yy", "text.conllu"], "for one language"),
        (["no model", *BESIDE], "this installation has no model 'universal'"),
    ],
)  # fmt: skip
def test_what_is_refused(shipped, text, folder, vdgi, monkeypatch, arguments, message):
    Path("empty").touch()
    word = "1\tx\t_\tVERB\t_\t_\t0\troot\t_\t_\n"
    Path("one.conllu").write_text(word + "\n", encoding="utf-8")
    Path("broken.conllu").write_text(word + "2\tbroken\n\n", encoding="utf-8")
    toy, rules = universal.model(), load_rules(bundled("rules")["ud"])
    taught = {
        "provenance": toy.provenance.with_(recipe="taught"),
        "settings": load_settings("best", ["rules=ud"]),
    }
    model_file.save("linear.vdgi", replace(toy, rules=rules, **taught))
    if arguments[0] == "no model":
        arguments = arguments[1:]
        monkeypatch.setattr(run_folder, "bundled", lambda what: {})
    result = vdgi(*arguments)
    assert result.status != 0
    assert message in result.err
    assert not Path("run/model.vdgi").exists()
