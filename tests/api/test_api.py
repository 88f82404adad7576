"""The library in a few calls: what the first page shows works, in memory as from files, and in
silence."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import conllu
import pytest
import tiny
from shell import ROOT
from wording import Wording

import dynet_vdgi as vdgi
from dynet_vdgi.conllu.reading import read
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.errors import ConfigError, DataError, ModelError, UsageError, VdgiError
from dynet_vdgi.models.model_file import ModelFile
from dynet_vdgi.parser.parser import Parser
from dynet_vdgi.settings.bundled import resources

N_SENTENCES = 100


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first sentences of the demo treebank as my.conllu; the next as new.conllu; a rule table."""
    folder = tmp_path_factory.mktemp("api")
    text = (resources() / "demo" / "demo-ud-train.conllu").read_text(encoding="utf-8")
    blocks = text.rstrip("\n").split("\n\n")
    for name, part in (
        ("my", blocks[:N_SENTENCES]),
        ("new", blocks[N_SENTENCES : N_SENTENCES + 40]),
    ):
        (folder / f"{name}.conllu").write_text("\n\n".join(part) + "\n\n", encoding="utf-8")
    (folder / "mine.txt").write_text(
        "ROOT VERB 0.5\nVERB NOUN 0.5\nNOUN DET 0.5\n", encoding="utf-8"
    )
    return folder


@pytest.fixture(scope="module")
def parser(few: Path) -> Parser:
    """The preset best on my.conllu."""
    return vdgi.train(vdgi.read(few / "my.conllu"), "best")


def same_model(one: ModelFile, other: ModelFile) -> bool:
    """If everything that parses agrees bit by bit; in files arrays are sorted by their names."""
    return (
        tiny.same_arrays(
            dict(sorted(one.parameters.items())), dict(sorted(other.parameters.items()))
        )
        and one.vocabulary == other.vocabulary
        and one.settings == other.settings
        and one.rules == other.rules
    )


def test_read_train_save_load(few: Path, parser: Parser, tmp_path: Path) -> None:
    parser.save(tmp_path / "my.vdgi")
    again = vdgi.load(tmp_path / "my.vdgi")
    assert same_model(again.model, parser.model)
    assert again.model.provenance == parser.model.provenance
    assert parser.model.provenance.recipe == "taught"
    assert parser.model.provenance.gold_trees == ()
    new = list(vdgi.read(few / "new.conllu"))
    assert again.parse_all(new) == parser.parse_all(new)


def test_one_sentence(parser: Parser) -> None:
    tree = parser(["the", "dog"], ["DET", "NOUN"])
    assert isinstance(tree, vdgi.Sentence)
    assert (tree.forms, tree.tags) == (("the", "dog"), ("DET", "NOUN"))
    assert tree.heads is not None
    assert sorted(tree.heads)[0] == 0
    assert vdgi.draw(tree) is not None


def test_pipe_write_evaluate(few: Path, parser: Parser, tmp_path: Path) -> None:
    vdgi.write(parser.pipe(vdgi.read(few / "new.conllu")), tmp_path / "out.conllu")
    parsed, gold = list(vdgi.read(tmp_path / "out.conllu")), vdgi.read(few / "new.conllu")
    assert [s.heads for s in parsed] == [parse.heads for parse in parser.parse_all(list(gold))]
    assert [s.forms for s in parsed] == [s.forms for s in gold]
    scores = vdgi.evaluate(gold, parser.pipe(gold), protocol="standard")
    text = str(scores)
    assert "standard" in text.splitlines()[0]  # the policy first
    assert 0.3 < scores.total.dda < 1


def test_the_level_of_research(few: Path) -> None:
    text = list(vdgi.read(few / "my.conllu"))
    prior = vdgi.Prior.of_text(vdgi.rules("best"), text)
    teacher = vdgi.Dmv(iterations=2, valence_iterations=1).fit(text, prior)
    trees = teacher.predict(text)
    assert [tree.tags for tree in trees] == [sentence.tags for sentence in text]
    student = vdgi.WordPerceptron(epochs=3).fit(trees)
    found = student.predict(text)
    assert [len(tree.heads or ()) for tree in found] == [len(sentence) for sentence in text]
    assert vdgi.WordPerceptron(epochs=3).fit(trees).predict(text) == found


def test_sentences_in_memory_give_the_model_of_their_file_bit_by_bit(
    few: Path, parser: Parser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    from_file = vdgi.train(few / "my.conllu", "best")
    from_list = vdgi.train(list(read(few / "my.conllu")), "best")
    assert list(tmp_path.iterdir()) == []  # in memory, nothing is written
    from_files = vdgi.train([few / "my.conllu"], "best", out=tmp_path / "run")
    for other in (from_file, from_list, from_files, vdgi.load(tmp_path / "run")):
        assert same_model(other.model, parser.model)
    names = [
        [item.name for item in p.model.provenance.data] for p in (parser, from_file, from_list)
    ]
    assert names == [["my.conllu"], ["my.conllu"], []]
    assert from_list.model.provenance.trained_on == parser.model.provenance.trained_on


def test_neural_parsers_are_trained_in_memory_as_from_files(few: Path, tmp_path: Path) -> None:
    small = {"parser": {"hidden_dim": 6, "tag_dim": 6}, "train": {"updates": 3, "samples": 3}}
    in_memory = vdgi.train(list(read(few / "my.conllu")), "fixed-lambda", settings=small)
    from_file = vdgi.train(few / "my.conllu", "fixed-lambda", settings=small, out=tmp_path / "run")
    loaded = vdgi.load(tmp_path / "run")
    assert same_model(in_memory.model, from_file.model)
    assert same_model(in_memory.model, loaded.model)
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [
        "log.jsonl",
        "model.vdgi",
        "settings.toml",
    ]


def test_trees_and_dev_in_memory(few: Path) -> None:
    gold = list(read(few / "my.conllu", heads="required"))
    parser = vdgi.train(
        None, "best", trees=gold, dev=gold[:20], settings={"teacher": {"kind": "none"}}
    )
    used = parser.model.provenance.gold_trees
    assert [line.split(":")[0] for line in used] == ["training", "dev"]
    dda = parser.model.provenance.dev_dda
    assert dda is not None
    assert dda > 0.5


def test_what_cannot_be_is_told_by_exceptions(few: Path, tmp_path: Path, wording: Wording) -> None:
    text = list(read(few / "my.conllu"))
    bare = [vdgi.Sentence(("a", "b"), ("NOUN", "VERB"))]
    with wording.raises(UsageError):
        vdgi.train()
    with wording.raises(UsageError):
        vdgi.train([])
    with wording.raises(ConfigError):
        vdgi.train(text, "best", settings={"train": {"lr": 1.0}})
    with wording.raises(ConfigError):
        vdgi.train(text, "papr")
    with wording.raises(ConfigError):
        vdgi.train(text, "best", rules="bets")
    with wording.raises(DataError):
        vdgi.train(text, trees=bare)
    with wording.raises(DataError):
        vdgi.train(bare, "best", settings={"data": {"tags": "xpos"}})
    with wording.raises(ModelError):
        vdgi.load(tmp_path / "nix.vdgi")
    with wording.raises(VdgiError):
        vdgi.WordPerceptron().predict(text)
    assert list(tmp_path.iterdir()) == []


QUIET = """
import logging, sys
before = list(logging.root.handlers)
import dynet_vdgi as vdgi
text = list(vdgi.read(sys.argv[1]))
for preset, small in (("best", {}), ("fixed-lambda", {"train": {"updates": 2, "samples": 3}})):
    parser = vdgi.train(text, preset, settings=small)
    parser.save(sys.argv[2])
    scores = vdgi.evaluate(text, vdgi.load(sys.argv[2]).pipe(text))
    str(scores), vdgi.draw(parser(["a"], ["NOUN"]))
handlers = logging.getLogger("dynet_vdgi").handlers
assert logging.root.handlers == before
assert all(type(handler) is logging.NullHandler for handler in handlers), handlers
assert logging.getLogger("dynet_vdgi").propagate
assert logging.getLogger("dynet_vdgi").level == logging.NOTSET
"""


def test_the_library_neither_prints_nor_sets_handlers(few: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", QUIET, str(few / "my.conllu"), str(tmp_path / "model.vdgi")]
    result = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert (result.returncode, result.stdout) == (0, ""), result.stderr
    # Python itself shows warnings where nobody has set up logging.
    assert all("rule" in line or "tag" in line for line in result.stderr.splitlines()), (
        result.stderr
    )


SCRIPT = """
from __future__ import annotations

import dynet_vdgi as vdgi

text = vdgi.read("my.conllu")
parser = vdgi.train(text)
several: vdgi.Parser = vdgi.train({"eu": text, "fr": text}, "best", rules="mine.txt", seed=2)
parser.save("my.vdgi")
parser = vdgi.load("my.vdgi")
tree: vdgi.Sentence = parser(["the", "dog"], ["DET", "NOUN"])
heads: tuple[int, ...] | None = tree.heads
vdgi.write(parser.pipe(vdgi.read("new.conllu")), "out.conllu")
scores: vdgi.Evaluation = vdgi.evaluate(text, parser.pipe(text), protocol="standard")
print(scores)
vdgi.draw(tree)

prior = vdgi.Prior.of_text(vdgi.rules("best"), text)
teacher = vdgi.Dmv(iterations=20).fit(vdgi.prepare("my.conllu", max_len=15).sentences, prior)
try:
    parser.parse_all(text, vdgi.How(exact=True))
except (vdgi.DataError, vdgi.UsageError) as error:
    print(error, parser.info["preset"], vdgi.evaluate("gold.conllu", "out.conllu"))
tree = parser(["a"], ["DET"], feats=["Number=Sing"], lemmas=["a"], xpos=["D"])
for parsed in parser.pipe("new.conllu"):
    drawing: vdgi.Drawing = vdgi.draw(parsed)
student = vdgi.WordPerceptron(epochs=3).fit(teacher.predict(text))
settings: vdgi.Settings = parser.model.settings
print(parser.model.provenance.gold_trees, settings.seed, student.predict(text))
"""


WRONG = ("vdgi.train(3)", "vdgi.load('a').parse('a')", "vdgi.nonsense")


@pytest.mark.slow
def test_a_program_that_uses_it_is_typed(tmp_path: Path) -> None:
    """Checked from the clone's folder, whose cache knows the package if mypy has checked that."""
    pytest.importorskip("mypy")
    (tmp_path / "script.py").write_text(SCRIPT, encoding="utf-8")
    (tmp_path / "wrong.py").write_text(
        "\n".join(["import dynet_vdgi as vdgi", *WRONG]), encoding="utf-8"
    )
    programs = [str(tmp_path / name) for name in ("script.py", "wrong.py")]
    command = [sys.executable, "-m", "mypy", "--strict", *programs]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    faults = [
        line.partition("wrong.py:")[2].partition(":")[0] for line in result.stdout.splitlines()
    ]
    assert sorted({*faults[:-1]}) == ["2", "3", "4"], result.stdout + result.stderr


TOKENS = "1\ta\ta\tX\t_\t_\t0\troot\t_\t_\n\n"
ONE = vdgi.Sentence(("a",), ("NOUN",), (0,))


@pytest.mark.parametrize(
    "call",
    [
        lambda p: p.pipe(3),
        lambda p: p.pipe(ONE),
        lambda p: list(p.pipe(conllu.parse(TOKENS))),
        lambda p: list(p.pipe(["x.conllu"])),
        lambda p: p.parse_all([ONE], "exact"),
        lambda p: p(["a"], [None]),
        lambda p: p("a", ["X"]),
        lambda p: p([], []),
        lambda p: p(["a", "b"], ["X"]),
        lambda p: p(["a", "b"], ["X", "X"], feats=["_"]),
        lambda p: vdgi.write([ONE], None),
        lambda p: vdgi.write(None, "x.conllu"),
        lambda p: vdgi.evaluate([ONE], ["x"]),
        lambda p: vdgi.evaluate([ONE], conllu.parse(TOKENS)),
        lambda p: vdgi.evaluate([ONE], p.parse_all([ONE])),
        lambda p: vdgi.draw(5),
        lambda p: vdgi.read("x", heads="foo"),
        lambda p: vdgi.read("x", tags="upso"),
        lambda p: vdgi.train(conllu.parse(TOKENS)),
        lambda p: vdgi.train(3),
        lambda p: vdgi.Dmv().fit("x.conllu", None),
        lambda p: vdgi.WordPerceptron().fit("x.conllu"),
        lambda p: vdgi.Prior.of_text(vdgi.rules("best"), "x.conllu"),
    ],
)
def test_what_is_no_sentence_is_refused_with_a_remedy(
    parser: Parser, call: Any, wording: Wording
) -> None:
    with wording.raises(UsageError):
        call(parser)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("path", vdgi.read),
        ("path", vdgi.load),
        ("path", lambda wrong: vdgi.load("universal").save(wrong)),
        ("name", vdgi.rules),
        ("sentence", vdgi.to_conllu),
        ("parsed", lambda wrong: vdgi.evaluate([ONE], wrong)),
        ("protocol", lambda wrong: vdgi.evaluate([ONE], [ONE], protocol=wrong)),
        ("max_lens", lambda wrong: vdgi.evaluate([ONE], [ONE], max_lens=wrong)),
        ("by", lambda wrong: vdgi.evaluate([ONE], [ONE], by=wrong)),
        ("protocol", lambda wrong: vdgi.prepare([ONE], protocol=wrong)),
        ("min_len", lambda wrong: vdgi.prepare([ONE], min_len=wrong)),
    ],
)
def test_an_argument_of_another_kind_is_a_usage_error(name: str, call: Any) -> None:
    for wrong in (7.5, None, object()):
        with pytest.raises(UsageError, match=rf"^{name}={re.escape(repr(wrong))}: .* is expected$"):
            call(wrong)


def test_with_all_that_is_known_of_its_words_a_sentence_gets_the_tree_of_pipe(
    few: Path, parser: Parser
) -> None:
    new = list(vdgi.read(few / "new.conllu"))
    told = [parser(s.forms, s.tags, feats=s.feats, lemmas=s.lemmas, xpos=s.xpos) for s in new]
    assert [s.heads for s in told] == [s.heads for s in parser.pipe(new)]
    assert [parser.parse(s.forms, s.tags, feats=s.feats) for s in new] == [s.heads for s in told]
    assert [(s.feats, s.lemmas) for s in told] == [(s.feats, s.lemmas) for s in new]
    assert [s.heads for s in told] != [parser(s.forms, s.tags).heads for s in new]


def test_values_that_no_file_can_hold_are_refused_before_they_are_parsed(parser: Parser) -> None:
    for name, column, message in [
        (
            "words",
            ["a\ud800", "b"],
            r"words: 'a\\ud800' has half a character \(a lone surrogate\) \(word 1\)",
        ),
        ("words", ["a", ""], r"words: column 2 \(FORM\) is empty \(word 2\)"),
        ("words", ["a", "a\tb"], r"words: column 2 \(FORM\) cannot hold a tab, .* \(word 2\)"),
        (
            "tags",
            ["NOUN", "NO UN"],
            r"tags: stray white space in column 4 \(UPOS\): 'NO UN' \(word 2\)",
        ),
        ("feats", ["==", "_"], r"feats: column 6 \(FEATS\): '==' is malformed \(word 1\)"),
        ("lemmas", ["a", "b\n"], r"lemmas: column 3 \(LEMMA\) cannot hold a tab, .* \(word 2\)"),
        ("xpos", ["a b", "b"], r"xpos: stray white space in column 5 \(XPOS\): 'a b' \(word 1\)"),
    ]:
        with pytest.raises(vdgi.UsageError, match=message):
            parser(**{"words": ["a", "b"], "tags": ["NOUN", "VERB"], name: column})
    spacys = parser(["a", "b"], ["NOUN", "VERB"], feats=["", "Number=Plur"], lemmas=["", ""])
    assert (spacys.feats, spacys.lemmas) == (("_", "Number=Plur"), ("_", "_"))
    handle = io.StringIO()
    vdgi.write([spacys], handle)
    assert handle.getvalue().startswith("1\ta\t_\tNOUN\t_\t_\t")


def test_sentences_of_a_stream_come_in_windows_and_before_its_error(
    parser: Parser, wording: Wording
) -> None:
    sentence = Sentence(("a", "b"), ("NOUN", "VERB"))
    taken = 0

    def stream() -> Iterator[Sentence]:
        nonlocal taken
        for _ in range(7):
            taken += 1
            yield sentence
        raise OSError("the line is dead")

    for each, last in ((parser, 3), (vdgi.load("universal"), 7)):
        taken, found = 0, []
        results = each.pipe(stream(), window=3)
        found.append(next(results))
        assert taken == last  # the second one measures first
        with wording.raises(OSError):
            found.extend(results)
        assert len(found) == 7
    assert list(parser.pipe([sentence] * 7, window=2)) == list(parser.pipe([sentence] * 7))
    for window in (0, -1, 1.5, "3"):
        with wording.raises(vdgi.UsageError):
            parser.pipe([sentence], window=window)  # type: ignore[arg-type]


@pytest.mark.parametrize("call", ["pipe", "parse_all", "adapted", "train"])
def test_half_a_character_in_memory_is_refused_with_its_word(
    parser: Parser, call: str, wording: Wording
) -> None:
    sentences = [Sentence(("a", "b\ud800"), ("NOUN", "VERB"))] * 60
    with wording.raises(UsageError):
        list(getattr(parser, call, vdgi.train)(sentences))


@pytest.mark.parametrize("preset", ["best", "universal", "paper"])
@pytest.mark.parametrize("column", ["forms", "tags", "upos", "lemmas", "xpos", "feats"])
def test_half_a_character_is_refused_in_every_column_of_what_is_learnt_from(
    column: str, preset: str, wording: Wording
) -> None:
    """Also in columns that the learner does not read."""
    good = Sentence(("a", "b"), ("NOUN", "VERB"))
    bad = replace(good, **{column: ("x", "a\ud800")})  # type: ignore[arg-type]
    with wording.raises(UsageError):
        vdgi.train([good, bad], preset)
