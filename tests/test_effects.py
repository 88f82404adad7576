"""Every setting that a preset's model file names matters: another value changes the model, or is refused.

What changes only the log is named here; so is what is refused, with the reason that is given.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import tiny

from dynet_vdgi.bundled import resources
from dynet_vdgi.config import Settings, leaves, without_effect
from dynet_vdgi.config_checks import every_setting
from dynet_vdgi.data.conllu import read
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.errors import VdgiError
from dynet_vdgi.model_file import Arrays
from dynet_vdgi.presets import load_settings, merge
from dynet_vdgi.runlog import RunLog
from dynet_vdgi.training.inputs import Given, Inputs
from dynet_vdgi.training.run import run

Values = dict[str, Any]

SMALL: Values = {
    "parser": {"hidden_dim": 4, "tag_dim": 4},
    "train": {"updates": 4, "samples": 3, "batch_size": 4, "evaluate_every": 2},
}
TAUGHT: Values = {**SMALL, "train": {"updates": 4, "batch_size": 4, "evaluate_every": 2}}
FINETUNED: Values = {"finetune": {"updates": 4}}

CASES: dict[str, tuple[str, Values]] = {
    "best": ("best", {"parser": {"log2_buckets": 10}}),
    "convex-mst": (
        "best",
        {"teacher": {"kind": "convex-mst", "iterations": 3}, "parser": {"log2_buckets": 10}},
    ),
    "ensemble": (
        "best",
        {
            "teacher": {"kind": "ensemble", "convex_mst": {"iterations": 3}},
            "parser": {"log2_buckets": 10},
        },
    ),
    "paper": ("paper", SMALL),
    "released": ("rl-pc", {**SMALL, **FINETUNED, "posterior": {"dynamics": "released"}}),
    "rl-bl": (
        "rl-bl",
        {**SMALL, **FINETUNED, "language_model": {"hidden_dim": 4, "epochs": 3, "batch_size": 4}},
    ),
    "lexicalised": (
        "lexicalised",
        {**SMALL, "parser": {"hidden_dim": 4, "tag_dim": 4, "word_dim": 2, "vector_dim": 5}},
    ),
    "best-neural": ("best-neural", TAUGHT),
    "best-finetuned": ("best-finetuned", {**SMALL, **FINETUNED}),
}
"""Presets, in sizes with which a run takes a fraction of a second."""

VECTORS = "3 5\nhouse 1 .5 -1 0 .2\nsees .1 .5 -1 3 .2\nthe 1 .2 0 0 .7\n"
CLUSTERS = "0\thouse\t3\n10\tsees\t2\n11\tthe\t2\n"

OTHER: dict[str, Any] = {
    "seed": 2,
    "rules": "text",
    "data.protocol": "as_released",
    "data.tags": "xpos",
    "data.max_len": 5,
    "teacher.kind": "dmv",
    "teacher.iterations": 1,
    "teacher.valence_iterations": 1,
    "teacher.smoothing": 7.0,
    "teacher.backoff": 0.5,
    "teacher.prior_weight": 1e-4,
    "teacher.ridge": 10.0,
    "teacher.dmv.iterations": 1,
    "teacher.dmv.valence_iterations": 1,
    "teacher.dmv.smoothing": 7.0,
    "teacher.dmv.backoff": 0.5,
    "teacher.convex_mst.prior_weight": 1e-4,
    "teacher.convex_mst.ridge": 10.0,
    "teacher.convex_mst.iterations": 1,
    "parser.kind": "neural",
    "parser.epochs": 2,
    "parser.explore_from": 1,
    "parser.log2_buckets": 8,
    "parser.unknown": 0.3,
    "parser.word_dim": 3,
    "parser.vector_dim": 7,
    "parser.tag_dim": 5,
    "parser.hidden_dim": 5,
    "parser.forget_bias": 1.0,
    "parser.mask_illegal": False,
    "parser.encoder_dropout": 0.1,
    "parser.decoder_dropout": 0.1,
    "words.min_freq": 3,
    "words.lowercase": False,
    "words.vectors": "vectors.txt",
    "words.clusters": "clusters.txt",
    "posterior.features": "potentials",
    "posterior.expectations": "trees",
    "posterior.dynamics": "released",
    "posterior.strength": 0.5,
    "posterior.epsilon": 0.5,
    "posterior.lr": 0.5,
    "posterior.momentum": 0.1,
    "train.updates": 3,
    "train.epochs": 1,
    "train.lr": 0.05,
    "train.clip": 0.01,
    "train.batch_size": 3,
    "train.samples": 4,
    "train.exponent": 0.5,
    "train.l2": 0.1,
    "train.average": 0.3,
    "train.engine": "per_sentence",
    "train.select": "dev",
    "train.evaluate_every": 1,
    "train.dev_max_len": 4,
    "finetune.updates": 3,
    "finetune.epochs": 1,
    "finetune.score": "rl-sn",
    "finetune.form": "released",
    "finetune.objective": "rules",
    "finetune.decoder": "plain",
    "finetune.lr": 0.1,
    "finetune.clip": 0.01,
    "language_model.hidden_dim": 5,
    "language_model.epochs": 2,
    "language_model.batch_size": 3,
    "language_model.lr": 0.1,
    "language_model.clip": 0.01,
    "language_model.dropout": 0.5,
}
"""Another legal value of every setting, wherever it is not `OTHERWISE`."""

OTHERWISE: dict[tuple[str, str], Any] = {}
"""By case and setting."""

LOG_ONLY = {"train.evaluate_every", "train.dev_max_len"}
"""Of those that only say what is logged; unless the model is chosen by it."""

REFUSED: dict[tuple[str, str], str] = {}
"""By case and setting: the reason that is given."""


def text() -> tuple[Sentence, ...]:
    """Sentences with both columns of tags, and gold trees."""
    demo = read(str(resources() / "demo" / "demo-ud-train.conllu"))
    chosen = [sentence for sentence, _ in zip(demo, range(40)) if 3 <= len(sentence) <= 9][:N_SENTENCES]
    return tuple(
        replace(s, source=None, xpos=tuple(tiny.PENN.get(tag, tag) for tag in s.tags)) for s in chosen
    )


N_SENTENCES = 20
TEXT = text()


@cache
def settings_of(case: str) -> Settings:
    preset, changes = CASES[case]
    return load_settings(preset, changes=changes)


def own(case: str) -> list[str]:
    """Names of the settings that mean something in a case."""
    return [name for name, _ in leaves(settings_of(case).to_dict())]


def nested(name: str, value: Any) -> Values:
    """A setting as `merge` takes it."""
    for part in reversed(name.split(".")):
        value = {part: value}
    return dict(value)


class Outcome(NamedTuple):
    """What a run leaves."""

    parameters: Arrays
    log: list[Values]


def outcome(settings: Settings, folder: Path | None, *said: str) -> Outcome:
    """Of training on the text, with some of it for dev; without a folder there is no log."""
    inputs = Inputs({"": Given(sentences=TEXT)}, dev=Given(sentences=TEXT[:6]))
    model = run(inputs, settings, out=folder, said=said)
    assert model is not None
    rows = RunLog(folder / "log.jsonl").rows() if folder else []
    times = {*tiny.TIMES}
    return Outcome(
        model.parameters, [{key: value for key, value in row.items() if key not in times} for row in rows]
    )


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Outcome]:
    """The outcome of each case as it is."""
    return {case: outcome(settings_of(case), tmp_path_factory.mktemp(case) / "run") for case in CASES}


def other_value(case: str, name: str) -> Any:
    return OTHERWISE.get((case, name), OTHER.get(name))


PAIRS = [(case, name) for case in CASES for name in own(case)]


@pytest.mark.parametrize(("case", "name"), PAIRS)
def test_another_value_changes_the_model_or_is_refused(
    folder: Path, usual: Mapping[str, Outcome], case: str, name: str
) -> None:
    (folder / "vectors.txt").write_text(VECTORS, encoding="utf-8")
    (folder / "clusters.txt").write_text(CLUSTERS, encoding="utf-8")
    settings, value = settings_of(case), other_value(case, name)
    assert value not in (None, dict(leaves(settings.to_dict()))[name])
    before = usual[case]
    try:
        logged = folder / "run" if name in LOG_ONLY else None
        after = outcome(merge(settings, nested(name, value)), logged, name)
    except VdgiError as error:
        assert re.search(REFUSED[case, name], str(error))
        return
    assert (case, name) not in REFUSED
    if name in LOG_ONLY and settings.train.select == "last":
        assert tiny.same_arrays(after.parameters, before.parameters)
        assert after.log != before.log
    else:
        assert not tiny.same_arrays(after.parameters, before.parameters)


def test_a_run_is_repeated_exactly(tmp_path: Path, usual: Mapping[str, Outcome]) -> None:
    for case in ("ensemble", "rl-bl", "best-finetuned"):
        again = outcome(settings_of(case), tmp_path / case)
        assert tiny.same_arrays(again.parameters, usual[case].parameters)
        assert again.log == usual[case].log


def test_the_cases_have_every_setting() -> None:
    every = {f"{section}.{key}".lstrip(".") for section, key, _ in every_setting()}
    kinds, members = {"teacher.kind", "parser.kind"}, {"teacher.dmv", "teacher.convex_mst"}
    found = {name for case in CASES for name in own(case)}
    inside = {name for name in found if name.rpartition(".")[0] in members}
    assert {name.rpartition(".")[0] for name in inside} == members
    assert found - inside - kinds == every - members


@pytest.mark.parametrize("case", CASES)
def test_what_a_case_does_not_have_is_refused_with_a_reason(case: str) -> None:
    settings = settings_of(case)
    idle = without_effect(settings)
    names = [f"{section}.{key}".lstrip(".") for section, key, _ in every_setting()]
    for name in names:
        if name in own(case) or name not in OTHER:
            continue
        with pytest.raises(VdgiError) as caught:
            merge(settings, nested(name, OTHER[name]))
        section = name.partition(".")[0]
        reason = idle.get(name) or idle.get(section)
        expected = (
            f"config: '{name}' would have no effect: {reason}"
            if reason
            else f"config: '{name}' is for {section}"
        )
        assert str(caught.value).startswith(expected)
