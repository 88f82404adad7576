"""`vdgi train --trees` and `--treebank`: what is read, refused, learnt and told."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import tiny
from shell import Vdgi
from wording import Wording

import dynet_vdgi
from dynet_vdgi.conllu.punctuation import heads_without, is_projective, without_punctuation
from dynet_vdgi.conllu.reading import read
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.conllu.tree_faults import FREE
from dynet_vdgi.conllu.writing import block_of
from dynet_vdgi.errors import DataError
from dynet_vdgi.few_trees.word_perceptron import WordPerceptron
from dynet_vdgi.models import model_file
from dynet_vdgi.models.model_file import ModelFile
from dynet_vdgi.parser.parser import How
from dynet_vdgi.rule_tables.prior import Prior
from dynet_vdgi.rule_tables.rules import load_rules
from dynet_vdgi.settings.bundled import resources, rules_path
from dynet_vdgi.settings.presets import load_settings
from dynet_vdgi.settings.settings import DmvSettings
from dynet_vdgi.training.few_trees import FewTrees
from dynet_vdgi.training.inputs import Inputs
from dynet_vdgi.training.run import run
from dynet_vdgi.unsupervised.dmv import Dmv

DEMO = resources() / "demo"
TEXT = tuple(islice(read(DEMO / "demo-ud-train.conllu"), 80))
GOLD = TEXT[:12]


def blanked(sentence: Sentence, *words: int) -> Sentence:
    """The sentence, some words of which have no head."""
    heads = [FREE if word in words else head for word, head in enumerate(sentence.heads or (), 1)]
    return replace(sentence, heads=tuple(heads))


def written(path: str, sentences: Sequence[Sentence]) -> str:
    """A file of sentences in which FREE heads and their relations are `_`."""
    with Path(path).open("w", encoding="utf-8") as file:
        for sentence in sentences:
            for word, form in enumerate(sentence.forms, 1):
                head = (sentence.heads or (FREE,) * len(sentence))[word - 1]
                arc = "_\t_" if head == FREE else f"{head}\t{'dep' if head else 'root'}"
                print(f"{word}\t{form}\t_\t{sentence.tags[word - 1]}\t_\t_\t{arc}\t_\t_", file=file)
            print(file=file)
    return path


def learnt(
    trees: Sequence[Sentence] = (),
    text: Sequence[Sentence] = TEXT,
    *said: str,
    out: Path | None = None,
) -> ModelFile:
    """A model of the default preset."""
    texts = {"": tuple(text)} if text else {}
    settings = load_settings("best", said)
    names = [name.partition("=")[0] for name in said]
    model = run(Inputs(texts, tuple(trees)), settings, explicit=names, out=out)
    assert model is not None
    return model


@pytest.fixture(scope="module")
def few() -> ModelFile:
    """Learnt from text and trees, the first two of which lack a head."""
    return learnt([blanked(GOLD[0], 1), blanked(GOLD[1], 2), *GOLD[2:]])


def file_of(folder: Path, *heads: str) -> str:
    """A file with a sentence of these heads."""
    lines = [f"{k}\ta\t_\tNOUN\t_\t_\t{head}\tdep\t_\t_" for k, head in enumerate(heads, 1)]
    (folder / "one.conllu").write_text("\n".join(lines) + "\n\n", encoding="utf-8")
    return str(folder / "one.conllu")


def test_partial_trees_are_read_where_they_are_asked_for(tmp_path: Path, wording: Wording) -> None:
    (sentence,) = read(file_of(tmp_path, "2", "_", "2"), heads="partial")
    assert sentence.heads == (2, FREE, 2)
    assert sentence.deprels == ("dep",) * 3
    repairs: list[DataError] = []
    (other,) = read(tmp_path / "one.conllu", on_repair=repairs.append)
    assert other.heads is None
    wording.check(str(repairs[0]))
    with wording.raises(DataError):
        list(read(tmp_path / "one.conllu", heads="required"))
    (whole,) = read(file_of(tmp_path, "2", "0"), heads="partial")
    assert whole.heads == (2, 0)
    (empty,) = read(file_of(tmp_path, "_", "_"), heads="partial")
    assert empty.heads is None


@pytest.mark.parametrize(
    "heads",
    [
        ("2", "1", "_"),
        ("9", "_", "_"),
        ("0", "0", "_"),
        ("2", "3"),
        ("2", "1"),
    ],
)
def test_faults_of_partial_trees_are_told_with_their_line(
    tmp_path: Path, heads: tuple[str, ...], wording: Wording
) -> None:
    with pytest.raises(DataError) as caught:
        list(read(file_of(tmp_path, *heads), heads="partial"))
    wording.check(caught.value)


def test_words_without_a_head_climb_to_none() -> None:
    assert heads_without((3, 1, FREE, 3), (1, 2, 4)) == (FREE, 1, FREE)
    assert heads_without((2, 0, FREE), (1, 3)) == (FREE, FREE)
    assert heads_without((2, 3, FREE), (1, 3)) == (2, FREE)
    assert is_projective((FREE, 4, FREE, 0))
    assert not is_projective((3, 4, FREE, FREE))


def test_without_trees_the_weights_are_those_of_the_student() -> None:
    model = learnt()
    bare = [without_punctuation(sentence)[0] for sentence in TEXT]
    text = [sentence for sentence in bare if 2 <= len(sentence) <= 40]
    prior = Prior.of_text(load_rules(rules_path("best")), text)
    taught = Dmv(DmvSettings()).fit(text, prior).predict(text)
    expected = WordPerceptron(model.settings.parser).fit(taught).arrays()
    assert tiny.same_arrays({name: model.parameters[name] for name in expected}, expected)
    added = {name.partition("/")[0] for name in model.parameters if name not in expected}
    assert added == {"confidence", "labels"}
    assert model.parameters["labels/buckets"].size == 0


def test_trees_are_learnt_as_the_library_does(few: ModelFile, wording: Wording) -> None:
    text = [without_punctuation(sentence)[0] for sentence in TEXT]
    trees = [
        without_punctuation(s)[0] for s in (blanked(GOLD[0], 1), blanked(GOLD[1], 2), *GOLD[2:])
    ]
    prior = Prior.of_text(load_rules(rules_path("best")), text)
    votes = Dmv(DmvSettings()).fit(text, prior).marginals(text)
    expected = FewTrees().fit(text, trees, prior, votes)
    for part in (expected.student, expected.crf, expected.calibration):
        assert part is not None
        for name, array in part.arrays().items():
            assert np.array_equal(few.parameters[name], array), name
    assert few.provenance.recipe == "few-trees"
    wording.check(few.provenance.gold_trees)
    assert few.parameters["labels/buckets"].size > 0


def test_trees_of_any_length_are_learnt_from(
    caplog: pytest.LogCaptureFixture, wording: Wording
) -> None:
    long, longest = (Sentence(("a",) * n, ("NOUN",) * n, (0, *range(1, n))) for n in (60, 81))
    with caplog.at_level("INFO", "dynet_vdgi"):
        model = learnt([*GOLD, long, longest])
    wording.check(model.provenance.gold_trees)
    wording.check(model.provenance.dropped)
    wording.lines("\n".join(caplog.messages), "dropped")


def test_trees_alone_are_enough(vdgi: Vdgi, folder: Path, wording: Wording) -> None:
    written("gold.conllu", GOLD)
    vdgi.good("train", "--preset", "best", "--trees", "gold.conllu", "--out", "run")
    parser = dynet_vdgi.load("run")
    right = [a == b for s in GOLD for a, b in zip(parser.parse(s.forms, s.tags), s.heads or ())]
    assert np.mean(right) > 0.9
    status, _, err = vdgi("parse", "run", "gold.conllu", "--confidence")
    assert status == 2
    wording.check(err)

    with_rules = learnt(GOLD, (), "rules=strict")
    assert not tiny.same_arrays(with_rules.parameters, parser.model.parameters)


def test_a_model_file_gives_the_parser_back(few: ModelFile, tmp_path: Path) -> None:
    model_file.save(tmp_path / "few.vdgi", few)
    one, other = dynet_vdgi.load(tmp_path / "few.vdgi"), dynet_vdgi.Parser(few)
    for how in (How(confidence=True), How(exact=True)):
        assert one.parse_all(TEXT, how) == other.parse_all(TEXT, how)
    bare = [replace(tree, deprels=()) for tree in GOLD]
    assert [tree.deprels for tree in one.pipe(bare)] == [tree.deprels for tree in other.pipe(bare)]
    assert (tmp_path / "few.vdgi").stat().st_size < 2_000_000


@pytest.mark.parametrize(
    "options",
    [
        ["--preset", "best", "--treebank", "fr", "like.conllu"],
        ["--preset", "few-trees", "--treebank", "fr", "like.conllu"],
        ["--preset", "fixed-lambda", "--treebank", "fr", "like.conllu"],
        ["--treebank", "like.conllu"],
        ["--treebank", "fr"],
        ["--treebank", "fr", "-"],
    ],
)
def test_treebanks_of_other_languages_are_for_universal_parsers(
    vdgi: Vdgi, folder: Path, options: list[str], wording: Wording
) -> None:
    written("like.conllu", TEXT[40:])
    status, _, err = vdgi("train", "--train", "like.conllu", *options, "--out", "run")
    assert status == 2
    wording.check(err)
    assert not Path("run").exists()


def test_guessed_tags_lower_the_confidences(few: ModelFile, folder: Path, vdgi: Vdgi) -> None:
    """By the share of wrong tags that the notes of a tagger tell: flatter, and lower by two nats if
    all were wrong."""
    model_file.save(folder / "few.vdgi", few)
    gold = "".join(map(block_of, islice(read(DEMO / "demo-ud-dev.conllu"), 20)))
    noted = re.sub(r"\t[^\t\n]*$", "\tTagConf=0.9", gold, flags=re.MULTILINE)
    odds = []
    for name, text in (("given", gold), ("guessed", noted)):
        (folder / f"{name}.conllu").write_text(text, encoding="utf-8")
        done = vdgi.good("parse", "few.vdgi", f"{name}.conllu", "--confidence")
        found = [float(sure) for sure in re.findall(r"HeadConf=([0-9.]+)", done.out)]
        odds.append([math.log(p / (1 - p)) for p in found])
        assert ("90 % of the tags are right" in done.err) == (name == "guessed")
    pairs = [(a, b) for a, b in zip(*odds, strict=True) if abs(a) < 3]
    assert len(pairs) > 20
    for given, guessed in pairs:
        assert guessed == pytest.approx(given / (1 + 2 * 0.1) - 2 * 0.1, abs=0.02)
