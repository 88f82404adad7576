"""The parser that vdgi train makes without a preset: a universal one of the text, and its fast
student."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import tiny
import universal_toys as universal
from shell import Vdgi
from wording import Wording

import dynet_vdgi
from dynet_vdgi.conllu import reading
from dynet_vdgi.errors import UsageError
from dynet_vdgi.models import model_file, run_folder
from dynet_vdgi.parser.parser import How
from dynet_vdgi.settings.bundled import resources
from dynet_vdgi.training.taught import Taught

DEMO = resources() / "demo" / "demo-ud-test.conllu"
LEARNT = "learnt from {} treebanks of {} languages; no tree of yours"


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A toy as the model that comes with the package."""
    path = universal.saved(tmp_path / "toy.vdgi")
    monkeypatch.setattr(
        run_folder, "bundled", lambda what: {"universal": path} if what == "models" else {}
    )
    return path


@pytest.fixture
def text(shipped: Path, folder: Path) -> str:
    """Sixty sentences of UD 2 in text.conllu."""
    blocks = DEMO.read_text(encoding="utf-8").replace("\tCONJ\t", "\tCCONJ\t").split("\n\n")[:60]
    Path("text.conllu").write_text("\n\n".join(blocks) + "\n\n", encoding="utf-8")
    return "text.conllu"


def test_a_run_keeps_the_exact_parser_and_a_fast_student(
    vdgi: Vdgi, text: str, wording: Wording
) -> None:
    told = vdgi.good("train", "--train", text, "--out", "run", "--seed", "3").err
    learnt_from = LEARNT.format(
        len(universal.SOURCES), len({name.partition("-")[0] for name in universal.SOURCES})
    )
    wording.lines(told, "gold trees", "fast student")

    small = "the fast student has learnt from 60 sentences only"
    assert small not in told
    exact, fast = (model_file.load(f"run/{name}.vdgi") for name in ("model", "fast"))
    assert (exact.settings.recipe, exact.provenance.preset) == ("universal", "universal")
    assert (fast.settings.recipe, fast.provenance.preset) == ("taught", "universal-fast")
    for model in (exact, fast):
        assert model.provenance.gold_trees == (learnt_from,)
        assert model.provenance.treebanks == universal.SOURCES
        assert model.settings.seed == 3
    assert learnt_from in vdgi.good("info", "run").out
    vdgi.good(
        "train", "--train", text, "--preset", "universal-fast", "--out", "alone", "--seed", "3"
    )
    alone = model_file.load("alone/model.vdgi")
    assert tiny.same_arrays(alone.parameters, fast.parameters)
    assert alone.settings == fast.settings
    of_fast, of_run = vdgi.good("parse", "run", text, "--fast"), vdgi.good("parse", "run", text)
    assert of_fast.out == vdgi.good("parse", "alone", text).out != of_run.out
    assert (small in of_fast.err, small in of_run.err) == (True, False)
    sentences = list(reading.read(text))
    trees = [tree.heads for tree in dynet_vdgi.load("run", fast=True).pipe(sentences)]
    assert trees == [tree.heads for tree in dynet_vdgi.load("alone").pipe(sentences)]


def test_the_fast_student_needs_no_run_of_another_recipe(
    vdgi: Vdgi, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*arguments: object) -> None:
        raise AssertionError("a run of another recipe")

    for name in ("prepare", "learn"):
        monkeypatch.setattr(Taught, name, refused)
    vdgi.good("train", "--train", text, "--out", "run")
    assert dynet_vdgi.load("run", fast=True).model.settings.recipe == "taught"


def test_a_parser_without_a_fast_student_says_how_to_get_one(
    vdgi: Vdgi, text: str, wording: Wording
) -> None:
    vdgi.good("train", "--train", text, "--preset", "universal-fast", "--out", "alone")
    for model in ("alone", "universal", "alone/model.vdgi"):
        result = vdgi("parse", model, text, "--fast")
        assert result.status == 2
        wording.check(result.err)
        with wording.raises(UsageError):
            dynet_vdgi.load(model, fast=True)
    wording.check(vdgi("parse", "alone", text, "--fast", "--exact").err)


def test_sentences_that_are_too_long_for_a_student_leave_the_run_without_one(
    vdgi: Vdgi, text: str, wording: Wording
) -> None:
    words = "".join(f"{k}\tw\t_\tNOUN\t_\t_\t_\t_\t_\t_\n" for k in range(1, 42))
    Path("long.conllu").write_text(f"{words}\n", encoding="utf-8")
    told = vdgi.good("train", "--train", "long.conllu", "--out", "run").err
    wording.lines(told, "gold trees", "fast student")
    assert not Path("run/fast.vdgi").exists()
    vdgi.good("parse", "run", text)


def test_with_trees_the_exact_parser_is_the_default_and_has_a_fast_student(
    vdgi: Vdgi, text: str, wording: Wording
) -> None:
    small = ["--set", "crf.log2_buckets=10", "--set", "parser.log2_buckets=10"]
    vdgi.good("train", "--train", text, "--trees", text, *small, "--out", "run")
    sentences = [replace(s, heads=None, deprels=()) for s in reading.read(text)]
    parser, fast = (dynet_vdgi.load("run", fast=is_fast) for is_fast in (False, True))
    assert parser.is_exact
    assert not fast.is_exact
    heads = [parse.heads for parse in parser.parse_all(sentences)]
    assert heads == [parse.heads for parse in parser.parse_all(sentences, How(exact=True))]
    assert heads != [parse.heads for parse in fast.parse_all(sentences)]
    memory = dynet_vdgi.train(text, trees=text, settings={"crf": {"log2_buckets": 10}})
    assert heads == [parse.heads for parse in memory.parse_all(sentences)]
    for one in (parser, fast):
        sure = one.parse_all(sentences, How(confidence=True))
        assert [p.heads for p in sure] == [p.heads for p in one.parse_all(sentences)]
    plain = vdgi.good("parse", "run", text)
    assert "--exact had no effect: the trees of this model are exact" not in plain.err
    exact = vdgi.good("parse", "run", text, "--exact")
    assert exact.out == plain.out
    wording.lines(exact.err, "--exact")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("\tCCONJ\t", "\tCONJ\t"), "the tag CONJ is of UD 1, where"),
        (
            ("\tNOUN\t", "\tNN\t"),
            "% of the words have tags that Universal Dependencies do not have, such as NN",
        ),
    ],
)
@pytest.mark.parametrize("fast", [[], ["--preset", "universal-fast"], ["--trees", "text.conllu"]])
def test_a_text_that_does_not_suit_the_universal_parser_is_told_of(
    vdgi: Vdgi, text: str, change: tuple[str, str], told: str, fast: list[str]
) -> None:
    Path("other.conllu").write_text(
        Path(text).read_text(encoding="utf-8").replace(*change), encoding="utf-8"
    )
    for name in (text, "other.conllu"):
        err = vdgi.good("train", "--train", name, *fast, "--out", "run", "--dry-run").err
        assert (told in err and "--preset best" in err) == (name != text)
        if not fast:
            assert (told in vdgi.good("parse", "universal", name).err) == (name != text)


@pytest.mark.parametrize(
    "options",
    [
        ["--rules", "ud"],
        ["--without", "agreement"],
        ["--set", "data.tags=xpos"],
        ["--set", "teacher.iterations=3"],
        ["--trees", "text.conllu", "--set", "teacher.kind=none"],
    ],
)
def test_what_the_default_cannot_do_is_refused_with_a_remedy(
    vdgi: Vdgi, text: str, options: list[str], wording: Wording
) -> None:
    result = vdgi("train", "--train", text, *options, "--out", "run")
    assert result.status != 0
    wording.check(result.err)
    assert not Path("run").exists()
