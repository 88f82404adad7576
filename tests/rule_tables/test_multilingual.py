"""One parser of several languages: `vdgi train --language`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tiny
from hypothesis import given
from hypothesis import strategies as st
from shell import last_line
from tiny import same_arrays
from wording import Wording

from dynet_vdgi import cli
from dynet_vdgi.conllu import reading
from dynet_vdgi.conllu.filtering import prepare
from dynet_vdgi.conllu.protocols import STANDARD
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.models import model_file
from dynet_vdgi.rule_tables.rules import load_rules
from dynet_vdgi.settings.bundled import resources, rules_path
from dynet_vdgi.training.taught import balanced

DEMO = resources() / "demo"
TRAIN, DEV, TEST = (str(DEMO / f"demo-ud-{part}.conllu") for part in ("train", "dev", "test"))
RULES = load_rules(rules_path("best"))


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A perceptron of two languages, `xa_demo` and `xb`, of which one has a fifth of the text."""
    folder = tmp_path_factory.mktemp("both") / "run"
    options = ["--preset", "best", "--language", "xa_demo", TRAIN, "--language", "xb", DEV]
    assert cli.main(["-q", "train", *options, "--out", str(folder)]) == 0
    return folder / "model.vdgi"


@given(st.lists(st.integers(0, 40), max_size=5))
def test_no_language_has_twice_as_many_sentences_as_another(sizes):
    texts = [
        [Sentence((str(number),), (str(label),)) for number in range(size)]
        for label, size in enumerate(sizes)
    ]
    trees = balanced(texts)
    times = {text[0].tags: trees.count(text[0]) for text in texts if text}
    assert all(trees.count(sentence) == times[sentence.tags] for text in texts for sentence in text)
    assert len(trees) == sum(len(text) * times[text[0].tags] for text in texts if text)
    counts = [len(text) * times[text[0].tags] for text in texts if text]
    assert not counts or max(counts) == max(sizes) < 2 * min(counts)


def test_the_model_file_says_which_languages(both, vdgi):
    meta = model_file.load(both).meta
    read = [prepare(reading.read(name), STANDARD, 40, 2) for name in (TRAIN, DEV)]
    numbers = [{"sentences": len(part.sentences), "words": part.n_words} for part in read]
    assert meta["languages"] == dict(zip(("xa_demo", "xb"), numbers))
    assert meta["trained_on"] == {name: sum(part[name] for part in numbers) for name in numbers[0]}
    assert [*meta["dropped"]] == [
        f"{label}: {dropped}"
        for label, part in zip(("xa_demo", "xb"), read)
        for dropped in part.dropped
    ]
    assert [(item["role"], item["name"]) for item in meta["data"]] == [
        ("train xa_demo", "demo-ud-train.conllu"),
        ("train xb", "demo-ud-dev.conllu"),
    ]
    shown = [
        line.split(maxsplit=1) for line in vdgi.good("info", both).out.splitlines() if " " in line
    ]
    for label, amount in zip(("xa_demo", "xb"), numbers):
        told = f"{label}: {amount['sentences']:,} sentences, {amount['words']:,} words"
        assert ["language", told] in shown
    assert json.loads(vdgi.good("info", both, "--json").out)["languages"] == meta["languages"]


def test_learners_without_a_teacher_learn_from_all_text_at_once(folder, vdgi, wording: Wording):
    for name, count in (("a", 12), ("b", 6)):
        tiny.write(Path(f"{name}.conllu"), count)
    vdgi.good("train", "--train", "a.conllu", "b.conllu", *tiny.SMALL_OPTIONS, "--out", "plain")
    languages = ["--language", "xa", "a.conllu", "--language", "xb", "b.conllu"]
    vdgi.good("train", *languages, *tiny.SMALL_OPTIONS, "--out", "labelled")
    plain, labelled = (model_file.load(f"{name}/model.vdgi") for name in ("plain", "labelled"))
    assert same_arrays(plain.parameters, labelled.parameters)
    assert {label: found["sentences"] for label, found in labelled.meta["languages"].items()} == {
        "xa": 12,
        "xb": 6,
    }
    # What is in which language is part of a run.
    vdgi.good("train", *languages, *tiny.SMALL_OPTIONS, "--out", "labelled", "--resume")
    other = ["--language", "xa", "a.conllu", "b.conllu"]
    result = vdgi("train", *other, *tiny.SMALL_OPTIONS, "--out", "labelled", "--resume")
    assert result.status == 4
    wording.check(last_line(result.err))


TEXT = ["--language", "xa", "a.conllu"]


@pytest.mark.parametrize(
    ("options", "status"),
    [
        (["--train", "a.conllu", *TEXT], 2),
        ([*TEXT, "--language", "xb", "a.conllu", "--trees", "a.conllu"], 2),
        (["--language", "a.conllu"], 2),
        (["--language", "dir/x", "a.conllu"], 2),
        (["--language", "x.gz", "a.conllu"], 2),
        (["--language", "xa"], 2),
        ([*TEXT, *TEXT], 2),
        ([*TEXT, "--language", "xb", "c.conllu"], 2),
        (["--language", "xa", "-"], 2),
        ([*TEXT, "--language", "xb", "short.conllu"], 3),
    ],
)  # fmt: skip
def test_wrong_ways_to_name_languages(folder, vdgi, options, status, wording: Wording):
    tiny.write(Path("a.conllu"))
    Path("short.conllu").write_text(tiny.block(1, ["VERB"], None), encoding="utf-8")
    result = vdgi("train", "--preset", "best", *options, "--out", "run")
    assert result.status == status
    wording.check(last_line(result.err))
    assert not Path("run").exists()
