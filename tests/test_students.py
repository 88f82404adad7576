"""`vdgi train` with a teacher: the presets `best` and `best-neural`, and the linear student of gold trees."""

from __future__ import annotations

import logging
import re
from pathlib import Path

import pytest

from dynet_vdgi import config
from dynet_vdgi.cli import main
from dynet_vdgi.data import conllu
from dynet_vdgi.data.treebank import STANDARD, prepare
from dynet_vdgi.evaluation.attachment import score
from dynet_vdgi.grammar.rules import load_rules
from dynet_vdgi.learning import checkpoint
from dynet_vdgi.learning.students import taught, teacher_of

DEMO = Path(config.resources()) / "demo"
TRAIN, TEST = str(DEMO / "demo-ud-train.conllu"), str(DEMO / "demo-ud-test.conllu")


def dda_of(model: Path, folder: Path) -> float:
    """Of the demo's test sentences under the protocol `standard`, through `vdgi parse`."""
    parsed = folder / "parsed.conllu"
    assert main(["-q", "parse", str(model), TEST, "-o", str(parsed)]) == 0
    gold, mine = (prepare(conllu.read(name), STANDARD).sentences for name in (TEST, str(parsed)))
    return score(gold, [sentence.heads or () for sentence in mine]).dda


def without_heads(folder: Path) -> str:
    """The demo's training text with `_` for every head."""
    lines = Path(TRAIN).read_text(encoding="utf-8").split("\n")
    columns = [line.split("\t") for line in lines]
    bare = ["\t".join([*c[:6], "_", "_", *c[8:]]) if len(c) == 10 else c[0] for c in columns]
    (folder / "bare.conllu").write_text("\n".join(bare), encoding="utf-8")
    return str(folder / "bare.conllu")


def test_the_best_preset_beats_the_rules_alone_and_uses_no_tree(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["-q", "train", "--train", TRAIN, "--preset", "best", "--out", str(tmp_path / "a")]) == 0
    model = checkpoint.load(tmp_path / "a" / "model.vdgi")
    assert (model.meta["kind"], model.meta["complete"], model.meta["gold_trees"]) == ("linear", True, [])
    assert model.rules.text == load_rules(config.rules_path("best")).text
    assert main(["info", str(tmp_path / "a" / "model.vdgi")]) == 0
    assert re.search(r"^measured +nouns-before-verbs \d\.\d\d$", capsys.readouterr().out, flags=re.MULTILINE)
    assert main(["-q", "evaluate", TEST, "--baselines", "--bootstrap", "0"]) == 0
    rules_only = re.search(r"^rules only.* ([\d.]+)$", capsys.readouterr().out, flags=re.MULTILINE)
    assert rules_only is not None
    assert 100 * dda_of(tmp_path / "a" / "model.vdgi", tmp_path) > float(rules_only[1])

    bare = without_heads(tmp_path)
    assert main(["-q", "train", "--train", bare, "--preset", "best", "--out", str(tmp_path / "b")]) == 0
    other = checkpoint.load(tmp_path / "b" / "model.vdgi")
    assert {n: a.tobytes() for n, a in model.parameters.items()} == {
        n: a.tobytes() for n, a in other.parameters.items()
    }


def test_the_neural_student_learns_the_teachers_trees(tmp_path: Path) -> None:
    sizes = ["model.hidden_dim=16", "model.tag_dim=16", "train.epochs=3", "data.max_len=8", "train.lr=0.03"]
    options = [word for size in sizes for word in ("--set", size)]
    out = tmp_path / "run"
    assert (
        main(["-q", "train", "--train", TRAIN, "--preset", "best-neural", *options, "--out", str(out)]) == 0
    )
    model = checkpoint.load(out / "model.vdgi")
    assert "kind" not in model.meta
    assert model.meta["gold_trees"] == []
    text = prepare(conllu.read(TEST), STANDARD, 8, 2).sentences
    teacher = taught(text, teacher_of(text, load_rules(config.rules_path("best-tags"))))
    parsed = tmp_path / "parsed.conllu"
    assert main(["-q", "parse", str(out / "model.vdgi"), TEST, "-o", str(parsed)]) == 0
    mine = prepare(conllu.read(str(parsed)), STANDARD, 8, 2).sentences
    assert score(teacher, [sentence.heads or () for sentence in mine]).dda > 0.75


def test_taught_sentences_forget_their_own_trees() -> None:
    text = prepare(conllu.read(TEST), STANDARD, 10, 2).sentences[:40]
    rules = load_rules(config.rules_path("strict-tags"))
    bare = [s.__class__(s.forms, s.tags, None) for s in text]
    first, again = (taught(sentences, teacher_of(sentences, rules)) for sentences in (text, bare))
    assert [s.heads for s in first] == [s.heads for s in again]
    assert all(s.source is None for s in first)
    assert [s.heads for s in first] != [s.heads for s in text]


def test_the_linear_student_learns_gold_trees(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    out = tmp_path / "run"
    options = ["--set", "train.learner=linear", "--trees", TRAIN, "--dev", TEST]
    logging.getLogger("dynet_vdgi").propagate = True
    assert main(["-q", "train", *options, "--out", str(out)]) == 0
    model = checkpoint.load(out / "model.vdgi")
    assert model.meta["gold_trees"][0].startswith("training: ")
    assert model.meta["dev_dda"] > 0.8
    assert dda_of(out / "model.vdgi", tmp_path) > 0.75


def test_linear_parsers_are_not_trained_further(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--set", "train.learner=linear", "--trees", TRAIN, "--out"]
    assert main(["-q", "train", *options, str(tmp_path / "a")]) == 0
    model = str(tmp_path / "a" / "model.vdgi")
    for more in (["--trees", TRAIN, "--set", "train.learner=linear"], ["--train", TRAIN]):
        assert main(["-q", "train", *more, "--init", model, "--out", str(tmp_path / "b")]) == 2
        assert "linear parsers are not trained further" in capsys.readouterr().err
    assert not (tmp_path / "b").exists()


def test_the_linear_student_needs_trees(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--set", "train.learner=linear", "--out", str(tmp_path / "run")]
    assert main(["train", "--train", TRAIN, *options]) == 2
    assert "train.learner=linear learns from trees: set teacher.kind=dmv" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
