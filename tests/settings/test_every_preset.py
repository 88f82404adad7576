"""Every preset trains and parses, several do in one run, and what the special ones need."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny
from shell import Vdgi
from wording import Wording

from dynet_vdgi.conllu import reading
from dynet_vdgi.models import model_file
from dynet_vdgi.models.run_log import RunLog
from dynet_vdgi.paper.settings import NeuralSettings
from dynet_vdgi.settings import settings as config
from dynet_vdgi.settings.bundled import resources
from dynet_vdgi.settings.presets import load_settings
from dynet_vdgi.settings.values import every_setting

DEMO = resources() / "demo" / "demo-ud-train.conllu"
SIZES = ["parser.hidden_dim=8", "parser.tag_dim=8", "train.samples=3", "parser.log2_buckets=8"]
SIZES += ["language_model.hidden_dim=8", "language_model.epochs=2"]

BOTH, FIRST, SECOND = ["pretrain", "finetune"], ["pretrain"], ["finetune"]
WEAK, WORDS = "posterior.expectations=trees", "parser.word_dim=80"
COUNTED = ["training: expectations of the rules counted in its trees"]
CHOSEN = ["training: sentences with crossing arcs left out", "dev: choice of the model"]

PRESETS: dict[str, tuple[list[str], list[str]]] = {
    "as_released": (BOTH, CHOSEN),
    "best": ([], []),
    "convex-mst": ([], []),
    "few-trees": ([], ["training: {trees} trees learnt from"]),
    "fixed-lambda": (FIRST, []),
    "hdp-dep": ([], []),
    "lc-dmv": ([], []),
    "paper": (BOTH, []),
    "pretraining": (FIRST, []),
    "rf": ([], []),
    "rf-h1-h2": ([], []),
    "rl-bl": (BOTH, []),
    "rl-c": (BOTH, []),
    "rl-sn": (BOTH, []),
    "strict": ([], []),
    "supervised": (FIRST, ["training: {trees} trees learnt from"]),
    "universal": ([], ["training: trees of other languages"]),
    "universal-fast": (
        [],
        ["teacher: universal parser universal, learnt from trees of other languages"],
    ),
    "universal-trees": (
        [],
        [
            "teacher: universal parser universal, learnt from trees of other languages",
            "training: {trees} trees learnt from",
        ],
    ),
    "wsj": (FIRST, []),
    "wsj-strict": ([], []),
}
"""Which stages each preset has, and what it uses gold trees for."""

TREES = ("supervised", "few-trees", "universal-trees")
"""Presets that learn from --trees."""


def sizes(*presets: str, has_text: bool = True) -> list[str]:
    """Those of SIZES that mean something to these presets."""
    settings = load_settings(presets)
    idle = settings.without_effect(has_text=has_text)
    names = [(size, size.partition("=")[0]) for size in SIZES]
    kept = [(size, name) for size, name in names if not {name, name.partition(".")[0]} & set(idle)]
    own = {place.name for place in every_setting() if settings.recipe in place.recipes}
    return [size for size, name in kept if name in own]


def asked(presets: list[str], *assignments: str) -> list[str]:
    """The options that name presets and settings."""
    named = [option for preset in presets for option in ("--preset", preset)]
    return named + [option for assignment in assignments for option in ("--set", assignment)]


@pytest.fixture
def text(folder: Path) -> Path:
    """The first 20 sentences of the demo treebank, with XPOS, as few.conllu in the present folder."""
    blocks = DEMO.read_text(encoding="utf-8").split("\n\n")[:20]
    text = "\n\n".join(blocks) + "\n\n"
    word = re.compile(r"^([0-9]+\t[^\t]*\t[^\t]*\t)([A-Z]+)\t_", re.MULTILINE)
    text = word.sub(
        lambda found: f"{found[1]}{found[2]}\t{tiny.PENN.get(found[2], found[2])}", text
    )
    Path("few.conllu").write_text(text, encoding="utf-8")
    return Path("few.conllu")


# Each of them


# test_universal
@pytest.mark.parametrize("preset", [preset for preset in PRESETS if preset != "universal"])
def test_every_preset_trains_and_parses(
    vdgi: Vdgi, text: Path, preset: str, wording: Wording
) -> None:
    phases, gold_trees = PRESETS[preset]
    settings, is_supervised = load_settings(preset), preset in TREES
    updates = [
        f"{phase}.updates=2" for phase in ("train", "finetune") if has_stage(settings, phase)
    ]
    files = ["--trees" if is_supervised else "--train", str(text)]
    if settings.chooses_on_dev:
        files += ["--dev", str(text)]
    small = sizes(preset, has_text=not is_supervised)
    vdgi.good("train", *files, *asked([preset], *small, *updates), "--out", "run")
    model = model_file.load("run/model.vdgi")
    assert model.meta["preset"] == preset
    assert (model.meta["complete"], model.meta["updates"]) == (True, 2 * len(phases))
    trees = model.meta["trained_on"]["sentences"]
    assert trees >= 5
    assert model.meta["gold_trees"] == [line.format(trees=trees) for line in gold_trees]
    rows = RunLog(Path("run/log.jsonl")).rows()
    is_neural = isinstance(settings, NeuralSettings)
    told = (
        []
        if is_neural or is_supervised or not settings.teacher.teaches
        else ["text", "teacher", "taught"]
    )
    if preset == "universal-fast":
        told.remove("teacher")  # it has learnt before
    last = phases if is_neural else ["student"]
    assert list(dict.fromkeys(row["phase"] for row in rows)) == [*told, *last]
    assert all(np.isfinite(array).all() for array in model.parameters.values())
    vdgi.good("parse", "run/model.vdgi", text, "-o", "parsed.conllu")
    odd_text = (
        tiny.block(1, ["NOUN", "ODD", "ODD"], None)
        .replace("ODD\t_", "ODD\tODD")
        .replace("N\t_", "N\tNN")
    )
    Path("odd.conllu").write_text(odd_text, encoding="utf-8")
    odd = vdgi.good("-q", "parse", "run/model.vdgi", "odd.conllu", "-o", "odd.parsed.conllu")
    wording.lines(odd.err, "ODD")
    # refuses what is no tree with one root
    parsed = list(reading.read("parsed.conllu", heads="required"))
    assert [sentence.forms for sentence in parsed] == [s.forms for s in reading.read(str(text))]


def has_stage(settings: config.Settings, phase: str) -> bool:
    part = getattr(settings, phase, None)
    return part is not None and bool(part.updates or part.epochs)


# Expectations counted in trees


def test_weak_presets_count_expectations_in_the_training_text(
    vdgi: Vdgi, text: Path, wording: Wording
) -> None:
    options = [*sizes("fixed-lambda"), "train.updates=1", WEAK]
    result = vdgi.good("train", "--train", text, *asked(["fixed-lambda"], *options), "--out", "run")
    wording.lines(result.err, "gold trees")
    model = model_file.load("run/model.vdgi", training=True)
    assert model.meta["gold_trees"] == COUNTED
    vdgi.good("rules", "estimate", text, "-o", "rules.txt")
    assert model.rules.text == Path("rules.txt").read_text(encoding="utf-8")
    expectations = model.rules.expectations
    assert len(set(expectations.tolist())) > 3
    # strength 2 where .5 is expected
    assert model.training["lambda"] == pytest.approx(4 * expectations)
    # The same rules from the file give the same model.
    by_file = [*asked(["fixed-lambda"], *options[:-1]), "--rules", "rules.txt"]
    vdgi.good("train", "--train", text, *by_file, "--out", "by-file")
    other = model_file.load("by-file/model.vdgi", training=True)
    assert tiny.same_arrays(other.training, model.training)
    assert other.meta["gold_trees"] == []


# Words

TWICE = 18
"""So many sentences of the tiny treebank have every word twice or more."""

VECTORS = {"noun0": (1.0, 2.0, 3.0), "noun1": (-4.0, 0.5, 0.25), "verb2": (0.125, 7.0, -1.0)}

CLUSTERS = {
    "noun0": "00",
    "noun1": "00",
    "noun2": "0100",
    "verb0": "100",
    "verb1": "100",
    "verb2": "0100",
}
"""As whole numbers, 100 and 0100 would be one."""


@pytest.fixture
def words(folder: Path) -> list[str]:
    """The beginning of a command that trains a lexicalised model with vectors and clusters."""
    tiny.write(Path("train.conllu"), TWICE)
    rows = [f"{word} {' '.join(map(str, vector))}\n" for word, vector in VECTORS.items()]
    Path("vectors.txt").write_text("".join([*rows, "elsewhere 9 9 9\n"]), encoding="utf-8")
    lines = [f"{bits}\t{word}\t3\n" for word, bits in [*CLUSTERS.items(), ("elsewhere", "111")]]
    Path("clusters.txt").write_text("".join(lines), encoding="utf-8")
    files = ["words.vectors=vectors.txt", "words.clusters=clusters.txt"]
    options = asked(["fixed-lambda"], *sizes("fixed-lambda"), WORDS, *files)
    return ["train", "--train", "train.conllu", *options, "--out", "run"]


def rows_of(model: Any, table: str) -> dict[str, Any]:
    """Vectors of the words in a table."""
    values = model.parameters[f"{table}/embed/vectors"]
    assert len(values) == len(model.vocabulary.words) + 1
    return dict(zip(model.vocabulary.words, values[1:]))


def test_vectors_are_those_of_the_file(vdgi: Vdgi, words: list[str], wording: Wording) -> None:
    """Frozen in the encoder; in the decoder trained from there on."""
    result = vdgi.good(*words, "--set", "train.updates=4", "--set", "train.average=0")
    model = model_file.load("run/model.vdgi")
    assert model.settings.parser.vector_dim == 3
    n_words = len(model.vocabulary.words)
    line = next(line for line in result.err.splitlines() if line.startswith("vectors: "))
    assert line.startswith(f"vectors: 3 of {n_words} words (")
    wording.check(line)
    encoder, decoder = (rows_of(model, name) for name in ("encoder", "decoder"))
    assert len(VECTORS) < n_words
    for word, vector in VECTORS.items():
        assert encoder[word].tolist() == list(vector)
        moved = np.abs(decoder[word] - vector)
        assert 0 < moved.max() < 0.1  # four steps of .01 at most
    # random where the file has none
    assert all(np.abs(encoder[word]).max() > 0 for word in encoder)
    roles = {item["role"] for item in model.meta["data"]}
    assert roles == {"train", "vectors", "clusters"}
    vdgi.good("parse", "run/model.vdgi", "train.conllu", "-o", "parsed.conllu")


def test_classes_of_the_softmax_follow_the_clusters(vdgi: Vdgi, words: list[str]) -> None:
    result = vdgi.good(*words, "--set", "train.updates=1")
    model = model_file.load("run/model.vdgi")
    vocabulary = model.vocabulary
    class_of = dict(zip(vocabulary.words, vocabulary.classes[1:]))
    for one in vocabulary.words:
        for other in vocabulary.words:
            assert (class_of[one] == class_of[other]) == (CLUSTERS.get(one) == CLUSTERS.get(other))
    rest = vocabulary.classes[0]  # of the unknown word
    assert {class_of[word] for word in vocabulary.words if word not in CLUSTERS} == {rest}
    known = sum(word in CLUSTERS for word in vocabulary.words)
    message = f"clusters: {known} of {len(vocabulary.words)} words, 4 classes with that of the rest"
    assert message in result.err.splitlines()
    sizes = [sum(k == each for each in vocabulary.classes) for k in range(4)]
    assert len(model.parameters["decoder/words/classes"]) == 4
    assert [len(model.parameters[f"decoder/words/words{k}"]) for k in range(4)] == sizes
    assert "decoder/words/words4" not in model.parameters
