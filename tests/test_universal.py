"""The universal parser as a model: its file, its measures of a text, its trees and relations."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import universal_toys as universal
from shell import ROOT, Vdgi, finished

import dynet_vdgi
from dynet_vdgi.data import conllu
from dynet_vdgi.data.punctuation import is_projective
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.errors import ModelError
from dynet_vdgi.grammar.rules import load_rules
from dynet_vdgi.parsing import decoding, files
from dynet_vdgi.parsing.confidence import Calibration
from dynet_vdgi.parsing.decoding import find
from dynet_vdgi.parsing.engines import UniversalEngine
from dynet_vdgi.parsing.expectation import SOURCES, Expectation
from dynet_vdgi.parsing.parser import How, Parser
from dynet_vdgi.recipes.universal import UniversalSettings, pack
from dynet_vdgi.runs import model_file, run_folder
from dynet_vdgi.settings.bundled import bundled, resources
from dynet_vdgi.settings.presets import load_settings
from dynet_vdgi.universal import relations, scorer
from dynet_vdgi.universal.stored import STRENGTH, Measures, arrays_of, beginning, scorer_of

DEMO = resources() / "demo" / "demo-ud-test.conllu"
N_SENTENCES = 60


@pytest.fixture(scope="module")
def sentences() -> list[Sentence]:
    """Sentences with FEATS, punctuation and relations, the tag CONJ among their tags."""
    return list(conllu.read(DEMO))[:N_SENTENCES]


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


# ------------------------------------------------------------------------------------------- the file
def test_weights_are_kept_as_two_bytes_each(path: Path) -> None:
    arrays = model_file.load(path).parameters
    scorer, found = universal.scorer(), scorer_of(arrays)
    assert found.features == scorer.features
    assert {arrays[f"universal/{name}"].dtype for name in scorer.weights} == {np.dtype(np.float16)}
    for name, weights in scorer.weights.items():
        assert np.array_equal(found.weights[name], weights), name
        assert found.weights[name].dtype == np.float32
    assert np.array_equal(found.mean, scorer.mean)
    assert np.array_equal(found.scale, scorer.scale)


def test_measures_survive_the_file(tmp_path: Path, parser: Parser, sentences: list[Sentence]) -> None:
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


def test_few_sentences_without_a_measured_text_get_one_warning(
    parser: Parser, sentences: list[Sentence], caplog: pytest.LogCaptureFixture
) -> None:
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
def test_damaged_arrays_are_refused(
    tmp_path: Path, parser: Parser, sentences: list[Sentence], name: str, change: object, message: str
) -> None:
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


def test_numbers_of_another_version_are_refused(tmp_path: Path) -> None:
    scorer = universal.scorer()
    weights = {**scorer.weights, "typology": scorer.weights["typology"][:, :-1]}
    shorter = replace(scorer, mean=scorer.mean[:-1], scale=scorer.scale[:-1], weights=weights)
    model = replace(universal.model(), parameters=arrays_of(shorter))
    with pytest.raises(ModelError, match="do not fit"):
        Parser(model)


def test_the_shipped_model_is_found_unless_a_file_has_its_name(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_folder, "bundled", lambda what: {"universal": path} if what == "models" else {})
    monkeypatch.chdir(tmp_path)
    assert run_folder.model_path("universal") == path
    assert run_folder.model_path("univresal") == Path("univresal")
    Path("universal").write_text("mine", encoding="utf-8")
    assert run_folder.model_path("universal") == Path("universal")


@pytest.mark.skipif("universal" not in bundled("models"), reason="no model has been learnt yet")
def test_the_shipped_model_is_small_and_names_licences_and_branches() -> None:
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


@pytest.mark.skipif("universal" not in bundled("models"), reason="no model has been learnt yet")
def test_the_shipped_model_tells_of_as_many_networks_as_the_script_that_made_it() -> None:
    script = (ROOT / "run" / "train_universal.sh").read_text(encoding="utf-8")
    settings = model_file.load(bundled("models")["universal"]).settings
    assert isinstance(settings, UniversalSettings)
    assert f"--members {settings.learning.members} " in script


def test_a_model_keeps_the_settings_that_it_was_learnt_with() -> None:
    settings = load_settings("universal", ["seed=3", "learning.members=4"])
    assert isinstance(settings, UniversalSettings)
    packed = pack(universal.scorer(), universal.SOURCES, settings)
    assert (packed.settings, packed.provenance.seed) == (settings, 3)


def test_its_rules_cannot_be_named(path: Path) -> None:
    with pytest.raises(ModelError, match="a model of recipe universal has no rules"):
        run_folder.rules_named(str(path))


def test_check_says_nothing_of_rules(path: Path, text: Path, vdgi: Vdgi) -> None:
    told = vdgi.good("check", "--model", path, text).out
    assert "trees" in told
    assert "rule" not in told


def test_info_names_treebanks_with_branches_and_licences(path: Path, vdgi: Vdgi) -> None:
    told = vdgi.good("info", path)
    assert "xx_toy: 30 trees, Toyic, CC BY-SA 4.0" in told.out
    assert "40 trees of 2 treebanks of other languages" in told.out
    as_json = json.loads(vdgi.good("info", path, "--json").out)
    assert as_json["treebanks"]["yy_toy"] == {
        "trees": 10, "share": 0.25, "licence": "CC0 1.0", "branch": "Playic",
    }  # fmt: skip
    assert as_json["recipe"] == "universal"


# ------------------------------------------------------------------------------------------- trees
def test_trees_are_projective_with_one_root(parser: Parser, sentences: list[Sentence]) -> None:
    trees = [parse.heads for parse in parser.parse_all(sentences)]
    assert all(tree.count(0) == 1 and is_projective(tree) for tree in trees)
    assert len(set(trees)) > N_SENTENCES / 2


def test_other_text_gives_other_trees(parser: Parser, sentences: list[Sentence]) -> None:
    """What is measured matters: the profile as well as the frequency of forms."""
    first, second = sentences[:30], sentences[30:]
    assert parser.adapted(second).parse_all(first) != parser.adapted(first).parse_all(first)
    engine = parser.engine
    assert isinstance(engine, UniversalEngine)
    measures = parser.adapted(sentences).measures
    unlisted = parser.in_text(replace(measures, bands={}))
    assert unlisted.parse_all(sentences) != parser.in_text(measures).parse_all(sentences)


def test_a_parser_of_one_text_parses_alone_as_among_others(parser: Parser, sentences: list[Sentence]) -> None:
    measured = parser.adapted(sentences)
    together = [parse.heads for parse in measured.parse_all(sentences)]
    assert [measured.parse_all([sentence])[0].heads for sentence in sentences] == together


def test_relations_fit_the_tree(parser: Parser, sentences: list[Sentence]) -> None:
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


def test_one_sentence_is_parsed_with_its_relations(parser: Parser, sentences: list[Sentence]) -> None:
    one = sentences[0]
    alone = parser(one.forms, one.tags, feats=one.feats)
    assert alone.heads == parser.parse(one.forms, one.tags, feats=one.feats)
    assert len(alone.deprels) == len(one)
    measured = parser.adapted(sentences)
    (expected,) = measured.pipe([one])
    assert measured(one.forms, one.tags, feats=one.feats).deprels == expected.deprels


def test_no_features_and_old_tags_are_known(parser: Parser) -> None:
    sentences = [
        Sentence.of_tags(tags.split()) for tags in ("NOUN CONJ NOUN VERB", "VERB", "PUNCT", "X CCONJ")
    ]
    trees = [parse.heads for parse in parser.parse_all(sentences)]
    assert [len(tree) for tree in trees] == [4, 1, 1, 2]
    assert trees[1] == trees[2] == (0,)
    assert not parser.unknown_tags
    parser.parse_all([Sentence.of_tags(["VREB", "NOUN"])])
    assert parser.unknown_tags == {"VREB": 1}


def test_nothing_to_parse_is_nothing(parser: Parser) -> None:
    assert parser.parse_all([]) == []
    assert list(parser.pipe([])) == []


def test_long_sentences_are_parsed_in_parts(
    parser: Parser, sentences: list[Sentence], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decoding, "LONGEST", 7)
    measured = parser.adapted(sentences)
    trees = [parse.heads for parse in measured.parse_all(sentences)]
    assert max(map(len, sentences)) > 14
    assert all(tree.count(0) == 1 and is_projective(tree) for tree in trees)
    engine = measured.engine
    bare = [replace(s, gaps=()) for s in [measured._bare(s)[0] for s in sentences]]
    with_margins = find(engine, bare, margins=True)
    assert [each.heads for each in with_margins] == [each.heads for each in find(engine, bare)]
    assert all(len(each.heads) == len(each.margins) for each in with_margins)


@pytest.mark.slow
def test_a_sentence_of_five_thousand_words_is_parsed(parser: Parser) -> None:
    tree = parser.parse(["x"] * 5000, ["NOUN", "VERB", "ADP", "DET", "ADJ"] * 1000)
    assert len(tree) == 5000
    assert tree.count(0) == 1
    assert is_projective(tree)


def test_batches_hold_every_sentence_with_words_once() -> None:
    lengths = [3, 0, 2999, 40, 40, 900, 1, 2000]
    found = list(relations.batches(lengths))
    assert sorted(k for members in found for k in members) == [0, 2, 3, 4, 5, 6, 7]
    for members in found:
        assert len(members) == 1 or sum(lengths[k] for k in members) <= scorer.WORDS
        arcs = sum(lengths[k] * (lengths[k] + 1) for k in members)
        assert len(members) == 1 or arcs <= relations.ARCS


# ------------------------------------------------------------------------------------------- other trees
def test_given_heads_are_kept(parser: Parser, sentences: list[Sentence]) -> None:
    measured = parser.adapted(sentences)
    kept = measured.parse_all(sentences, How(keep_heads=True))  # whole trees
    assert [parse.heads for parse in kept] == [sentence.heads for sentence in sentences]
    partial = [replace(s, heads=(s.heads or ())[:1] + (-1,) * (len(s) - 1)) for s in sentences]
    for sentence, parse in zip(partial, measured.parse_all(partial, How(keep_heads=True))):
        assert sentence.heads is not None
        assert parse.heads[0] == sentence.heads[0]


def test_decoding_have_the_most_heads_expected_to_be_right(parser: Parser, sentences: list[Sentence]) -> None:
    from dynet_vdgi.grammar import chart

    measured = parser.adapted(sentences)
    engine = measured.engine
    assert isinstance(engine, UniversalEngine)
    few = [replace(s, gaps=()) for s in [measured._bare(s)[0] for s in sentences[:20]]]
    exact = [parse.heads for parse in measured.parse_all(few, How(exact=True))]
    scores = [engine.scores([sentence]).arcs[0] for sentence in few]
    assert exact == [chart.expected_best(chart.marginals(each)) for each in scores]
    assert [each.heads for each in find(engine, few)] == [chart.best(each) for each in scores] != exact


def test_confidence_grows_with_the_probability_of_the_arc(parser: Parser, sentences: list[Sentence]) -> None:
    engine = parser.adapted(sentences).engine
    bare = [parser._bare(s)[0] for s in sentences]
    found = find(engine, bare, margins=True)
    tags = [sentence.tags for sentence in bare]
    marginals = [np.full((len(s) + 1, len(s)), 0.7) for s in bare]
    calibration = Calibration.fit(tags, [each[:2] for each in found], marginals)
    calibrated = Parser(universal.model(further=calibration.arrays())).adapted(sentences)
    parses = calibrated.parse_all(sentences, How(confidence=True))
    assert [parse.heads for parse in parses] == [parse.heads for parse in calibrated.parse_all(sentences)]
    for sentence, parse in zip(sentences, parses):
        assert parse.confidence is not None
        assert [sure is None for sure in parse.confidence] == [tag == "PUNCT" for tag in sentence.tags]


def test_a_model_without_calibration_says_so(path: Path, text: Path, vdgi: Vdgi) -> None:
    result = vdgi("parse", path, text, "--confidence")
    assert result.status != 0
    assert "was learnt without a calibration" in result.err


# ------------------------------------------------------------------------------------------- streams
def test_other_labels_than_the_default_come_from_their_table(path: Path, text: Path, vdgi: Vdgi) -> None:
    table = text.with_name("own.txt")
    table.write_text("nmod NOUN NOUN left\n", encoding="utf-8")
    told = vdgi.good("parse", path, text, "--labels", table).out
    relations = {line.split("\t")[7] for line in told.splitlines() if line.split("\t")[0].isdigit()}
    assert relations <= {"root", "dep", "punct", "nmod"}


def test_all_files_of_one_output_are_one_text(path: Path, text: Path, vdgi: Vdgi) -> None:
    content = text.read_text(encoding="utf-8").split("\n\n")
    parts = [text.with_name(f"{k}.conllu") for k in range(2)]
    for part, blocks in zip(parts, (content[:5], content[5:-1])):
        part.write_text("\n\n".join(blocks) + "\n\n", encoding="utf-8")
    whole = vdgi.good("parse", path, text).out
    assert vdgi.good("parse", path, *parts).out == whole
    alone = vdgi.good("parse", path, parts[0]).out
    assert not whole.startswith(alone)


def test_parse_equals_pipe(path: Path, text: Path, vdgi: Vdgi) -> None:
    out = text.with_name("out.conllu")
    vdgi.good("parse", path, text, "-o", out)
    piped = list(dynet_vdgi.load(path).pipe(text))
    found = list(conllu.read(out))
    assert [(s.heads, s.deprels) for s in found] == [(s.heads, s.deprels) for s in piped]


def test_the_text_measured_is_told(path: Path, text: Path, vdgi: Vdgi) -> None:
    assert f"measured: {N_SENTENCES} sentences" in vdgi.good("parse", path, text).err
    few = beginning_of(text, 3, text.with_name("few.conllu"))
    assert "only 3 sentences" in vdgi.good("parse", path, few).err


def test_only_the_beginning_is_measured(sentences: list[Sentence]) -> None:
    lengths = [len(sentence) for sentence in sentences]
    assert len(list(beginning(sentences, sum(lengths[:7])))) == 7
    assert len(list(beginning(sentences, sum(lengths[:7]) + 1))) == 8
    assert list(beginning(sentences)) == sentences


def test_few_words_leave_the_profile_near_the_mean(parser: Parser, sentences: list[Sentence]) -> None:
    engine = parser.engine
    assert isinstance(engine, UniversalEngine)
    for part in (sentences[:1], sentences):
        n_words = sum(map(len, part))
        measured, raw = Measures.of(engine.scorer, part).profile, engine.scorer.measured(part)[0]
        assert np.allclose(measured.numbers, raw.numbers * n_words / (n_words + STRENGTH))
        assert np.array_equal(measured.pairs, raw.pairs)


def test_windows_are_held_until_enough_is_measured(
    path: Path, text: Path, vdgi: Vdgi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One odd line makes a window of one sentence, which must not be all that is measured."""
    whole = vdgi.good("parse", path, text).out
    monkeypatch.setattr(files, "WINDOW", 1)
    blocks = text.read_text(encoding="utf-8").split("\n\n")
    text.write_bytes("\n\n".join(blocks).replace("\n\n", "\n\n\n").encode())  # two empty lines: odd
    assert vdgi.good("parse", path, text).out == whole


def test_a_fault_in_the_measured_text_is_named_with_its_line(path: Path, text: Path, vdgi: Vdgi) -> None:
    content = text.read_text(encoding="utf-8")
    text.write_text(content + "1\tbroken\n\n", encoding="utf-8")
    result = vdgi("parse", path, text)
    assert result.status != 0
    assert f"{text}:{content.count(chr(10)) + 1}" in result.err


def test_an_empty_file_is_refused(path: Path, tmp_path: Path, vdgi: Vdgi) -> None:
    empty = tmp_path / "empty.conllu"
    empty.write_text("", encoding="utf-8")
    result = vdgi("parse", path, empty)
    assert result.status != 0
    assert "no sentences" in result.err


def test_processes_give_the_bytes_of_one_and_load_no_dynet(path: Path, text: Path, tmp_path: Path) -> None:
    (tmp_path / "dynet.py").write_text("raise SystemExit('DyNet was loaded')\n", encoding="utf-8")
    outputs = []
    for jobs in ("1", "2"):
        environment = {"PYTHONPATH": f"{tmp_path}:{':'.join(filter(None, sys.path))}"}
        status, out, err = finished("parse", path, text, "--jobs", jobs, env=environment)
        assert status == 0, err
        outputs.append(out)
    assert outputs[0] == outputs[1]


# ------------------------------------------------------------------------------------------- runs
@pytest.fixture
def shipped(path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The toy as the model that comes with the package."""
    monkeypatch.setattr(run_folder, "bundled", lambda what: {"universal": path} if what == "models" else {})
    return path


def test_a_run_keeps_what_was_measured(shipped: Path, text: Path, tmp_path: Path, vdgi: Vdgi) -> None:
    run = tmp_path / "run"
    vdgi.good("train", "--train", text, "--preset", "universal", "--out", run)
    model = model_file.load(run / "model.vdgi")
    assert model.provenance.treebanks == universal.SOURCES
    assert "no tree of yours" in model.provenance.gold_trees[0]
    assert model.provenance.trained_on.sentences == N_SENTENCES
    assert vdgi.good("parse", run, text).out == vdgi.good("parse", shipped, text).out
    few = beginning_of(text, 3, tmp_path / "few.conllu")
    begins = vdgi.good("parse", run, few)
    assert vdgi.good("parse", run, text).out.startswith(begins.out)
    assert "measured" not in begins.err
    assert "only 3" not in begins.err


def test_a_run_starts_from_another_universal_model(
    shipped: Path, text: Path, tmp_path: Path, vdgi: Vdgi
) -> None:
    other = universal.saved(tmp_path / "other.vdgi", seed=2)
    run = tmp_path / "run"
    vdgi.good("train", "--train", text, "--preset", "universal", "--init", other, "--out", run)
    found = model_file.load(run / "model.vdgi").parameters
    for name, array in model_file.load(other).parameters.items():
        assert np.array_equal(found[name], array)


SMALL = [f"learning.{value}" for value in ("updates=4", "batch=60", "words=200", "hidden=4")]


def test_a_run_learns_from_treebanks_alone(text: Path, tmp_path: Path, vdgi: Vdgi) -> None:
    run, again = tmp_path / "run", tmp_path / "again"
    train = DEMO.with_name("demo-ud-train.conllu")
    options = ["--preset", "universal", "--treebank", "xx", train, "--treebank", "yy", text, "--dev", text]
    for value in SMALL:
        options += ["--set", value]
    vdgi.good("train", *options, "--out", run)
    vdgi.good("train", *options, "--out", again)
    model, equal = (model_file.load(folder / "model.vdgi") for folder in (run, again))
    assert {name: each.trees for name, each in model.provenance.treebanks.items()} == {
        "xx": len(list(conllu.read(train))), "yy": N_SENTENCES,
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
    assert all(np.array_equal(array, equal.parameters[name]) for name, array in model.parameters.items())
    assert model.parameters["universal/arc.head"].dtype == np.float16
    assert Parser(model).needs_text
    measured = tmp_path / "measured"
    vdgi.good("train", "--train", text, "--preset", "universal", "--init", run, "--out", measured)
    assert vdgi.good("parse", measured, text).out == vdgi.good("parse", run, text).out
    assert model_file.load(measured / "model.vdgi").settings.to_dict()["learning"] == {"updates": 0}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--init", "TEXT"], "the weights are learnt anew"),
        (["--set", "learning.invented=2"], "one treebank has no other"),
        (["--set", "learning.updates=0"], "learning.updates is 0"),
        (["--treebank", "yy", "ONE"], "yy: no sentence of 2 to 30 words"),
        (["--set", "learning.members=1", "--set", "learning.soft=0.3"], "learning.members is 1"),
        (["--set", "data.max_len=20"], "there is no text, only treebanks"),
        (["--preset", "few-trees"], "nothing to learn from"),
        (["--preset", "best"], "nothing to learn from"),
        (["--preset", "paper"], "nothing to learn from"),
    ],
)
def test_what_does_not_go_with_treebanks_alone_is_refused(
    text: Path, tmp_path: Path, vdgi: Vdgi, options: list[str], message: str
) -> None:
    one = tmp_path / "one.conllu"
    one.write_text("1\tx\t_\tVERB\t_\t_\t0\troot\t_\t_\n\n", encoding="utf-8")
    files = {"TEXT": text, "ONE": one}
    given = [files.get(option, option) for option in options]
    result = vdgi(
        "train", "--preset", "universal", "--treebank", "xx", text, *given, "--out", tmp_path / "run"
    )
    assert result.status != 0
    assert message in result.err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--treebank", "xx", "TEXT"], "needs no text: leave out --train"),
        (["--set", "learning.updates=5"], "there are no treebanks to learn from"),
        (["--set", "rules=ud"], "no rule table"),
        (["--without", "markers"], "no rule table"),
        (["--set", "data.protocol=as_released"], "data.protocol=standard"),
        (["--language-facts", "FACTS"], "no rule table"),
    ],
)
def test_what_has_no_effect_on_a_universal_parser_is_refused(
    shipped: Path, text: Path, tmp_path: Path, vdgi: Vdgi, options: list[str], message: str
) -> None:
    facts = tmp_path / "facts.toml"
    facts.write_text("", encoding="utf-8")
    given = [{"TEXT": str(text), "FACTS": str(facts)}.get(option, option) for option in options]
    result = vdgi("train", "--train", text, "--preset", "universal", "--out", tmp_path / "run", *given)
    assert result.status != 0
    assert message in result.err
    assert not (tmp_path / "run" / "model.vdgi").exists()


def test_several_languages_are_refused(shipped: Path, text: Path, tmp_path: Path, vdgi: Vdgi) -> None:
    languages = ["--language", "xx", text, "--language", "yy", text]
    result = vdgi("train", *languages, "--preset", "universal", "--out", tmp_path / "run")
    assert "for one language" in result.err


def test_a_run_starts_from_no_other_recipe(shipped: Path, text: Path, tmp_path: Path, vdgi: Vdgi) -> None:
    toy, linear = universal.model(), tmp_path / "linear.vdgi"
    provenance, rules = toy.provenance.with_(recipe="taught"), load_rules(bundled("rules")["ud"])
    settings = load_settings("best", ["rules=ud"])
    model_file.save(linear, replace(toy, provenance=provenance, settings=settings, rules=rules))
    options = ["--preset", "universal", "--init", linear, "--out", tmp_path / "run"]
    assert "not from one of taught" in vdgi("train", "--train", text, *options).err


def test_without_a_shipped_model_a_run_says_so(
    text: Path, tmp_path: Path, vdgi: Vdgi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_folder, "bundled", lambda what: {})
    result = vdgi("train", "--train", text, "--preset", "universal", "--out", tmp_path / "run")
    assert "this installation has no model 'universal'" in result.err
