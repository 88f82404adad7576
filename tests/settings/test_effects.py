"""Every setting that a preset's model file names matters: another value changes the model, or is
refused.

Values, cases and what is refused are in effects.toml; what changes only the log is named here.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import tiny
from universal_toys import scorer as random_scorer
from universal_toys import written_scorer
from wording import Wording

from dynet_vdgi.conllu.reading import read
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.errors import ConfigError, VdgiError
from dynet_vdgi.models.archive import Arrays
from dynet_vdgi.models.run_log import RunLog
from dynet_vdgi.paper.settings import NeuralSettings
from dynet_vdgi.settings.bundled import resources
from dynet_vdgi.settings.presets import from_toml, load_settings, merge, nested
from dynet_vdgi.settings.settings import Settings, leaves
from dynet_vdgi.settings.values import every_setting, from_dict
from dynet_vdgi.training.few_trees import FewTreesSettings
from dynet_vdgi.training.inputs import Inputs
from dynet_vdgi.training.run import run
from dynet_vdgi.training.universal import UniversalSettings
from dynet_vdgi.universal.learn import learning

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Values = dict[str, Any]

FILES = tempfile.TemporaryDirectory()
"""Holds two universal parsers."""

ONE, ANOTHER = (
    written_scorer(Path(FILES.name), random_scorer(seed), f"{seed}.vdgi") for seed in (1, 2)
)

_TEXT = Path(__file__).with_name("effects.toml").read_text(encoding="utf-8")
TABLE = tomllib.loads(
    _TEXT.replace('"ONE"', json.dumps(ONE)).replace('"ANOTHER"', json.dumps(ANOTHER))
)
OTHER: Values = TABLE["other"]
"""Another legal value of every setting, wherever it is not `OTHERWISE`."""

CASES: dict[str, Values] = TABLE["case"]
"""Presets, in sizes with which a run takes a fraction of a second."""

OTHERWISE: dict[tuple[str, str], Values] = {
    (case, name): values
    for case, changes in TABLE["otherwise"].items()
    for name, values in changes.items()
}
"""Changes by case and setting: what `OTHER` has is the usual value, or not legal by itself."""

REFUSED = {(case, name) for case, names in TABLE["refused"].items() for name in names}

ALONE = {(case, "recipe") for case in ("universal", "few-trees")}
"""Settings of a case that have one value."""

LOG_ONLY = {"train.evaluate_every", "train.dev_max_len"}
"""Of those that only say what is logged; unless the model is chosen by it."""


def text_of(length: int, n_sentences: int) -> tuple[Sentence, ...]:
    """Sentences with both columns of tags, and gold trees."""
    demo = read(str(resources() / "demo" / "demo-ud-train.conllu"))
    chosen = islice((sentence for sentence in demo if 3 <= len(sentence) <= length), n_sentences)
    return tuple(
        replace(s, source=None, xpos=tuple(tiny.PENN.get(tag, tag) for tag in s.tags))
        for s in chosen
    )


LENDERS = 10
"""Sentences of a treebank from which the universal parser invents others; usually it takes more."""

FEW, MANY, LARGE = text_of(9, 18), text_of(12, 32), text_of(12, 2 * LENDERS)
"""Teachers learn from many; the universal parser invents treebanks from large ones."""


WORDS = ("vyo", "wur", "nim")  # frequent ones
VECTORS = "3 5\n" + "".join(f"{word} {k} .5 -1 {-k} .2\n" for k, word in enumerate(WORDS))
CLUSTERS = "".join(f"{bits}\t{word}\t9\n" for bits, word in zip(("0", "10", "11"), WORDS))


@cache
def settings_of(case: str) -> Settings:
    changes = dict(CASES[case])
    return load_settings(changes.pop("preset"), changes=changes)


def own(case: str) -> list[str]:
    """Names of the settings that mean something in a case."""
    return [name for name, _ in leaves(settings_of(case).to_dict())]


class Outcome(NamedTuple):
    """What a run leaves."""

    parameters: Arrays
    log: list[Values]


def outcome(settings: Settings, folder: Path | None, *said: str) -> Outcome:
    """Of training on the text, with some of it for dev; without a folder there is no log."""
    other, trees = {}, ()
    if isinstance(settings, UniversalSettings):
        text, other = (), {"xx": tuple(LARGE[::2]), "yy": tuple(LARGE[1::2])}
    else:
        text = FEW if isinstance(settings, NeuralSettings) or not settings.teacher.teaches else MANY
    if isinstance(settings, FewTreesSettings):
        trees = tuple(FEW)
    inputs = Inputs({"": tuple(text)}, trees, tuple(FEW[:6]), treebanks=other)
    model = run(inputs, settings, out=folder, explicit=said)
    assert model is not None
    rows = RunLog(folder / "log.jsonl").rows() if folder else []
    times = {*tiny.TIMES}
    return Outcome(
        model.parameters,
        [{key: value for key, value in row.items() if key not in times} for row in rows],
    )


@pytest.fixture(scope="module", autouse=True)
def few_lenders() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(learning, "LENDERS", LENDERS)
        yield


@cache
def usual(case: str) -> Outcome:
    """The outcome of a case as it is."""
    return outcome(settings_of(case), Path(FILES.name, case))


def change(case: str, name: str) -> Values:
    """To another value."""
    return OTHERWISE.get((case, name)) or nested(name, OTHER[name])


def pairs() -> Iterator[tuple[str, str]]:
    """Each setting of a recipe, or of a teacher, in the first case that has it; and all named
    above."""
    seen = set()
    for case in CASES:
        settings = settings_of(case)
        for name in own(case):
            kind = settings.teacher.kind if name.startswith("teacher.") else settings.recipe
            if (case, name) in ALONE or not name.startswith(tuple(TABLE["only"].get(case, [""]))):
                continue
            if (kind, name) not in seen or (case, name) in OTHERWISE or (case, name) in REFUSED:
                seen.add((kind, name))
                yield case, name


PAIRS = list(pairs())
SECTIONS: dict[tuple[str, str], list[str]] = {}
"""The settings to change by case and section."""

for _case, _name in PAIRS:
    SECTIONS.setdefault((_case, _name.rpartition(".")[0]), []).append(_name)


def has_effect(case: str, name: str, folder: Path) -> bool:
    """Whether another value of a setting changes the model, or the log if it is about the log."""
    settings, values = settings_of(case), change(case, name)
    assert dict(leaves(values))[name] != dict(leaves(settings.to_dict()))[name]
    before = usual(case)
    found = outcome(merge(settings, values), folder / name if name in LOG_ONLY else None, name)
    is_same_model = tiny.same_arrays(found.parameters, before.parameters)
    if name in LOG_ONLY and settings.train.select == "last":
        return is_same_model and found.log != before.log
    return not is_same_model


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("case", "section"), SECTIONS)
def test_another_value_of_each_setting_of_a_section_changes_the_model_or_is_refused(
    folder: Path, case: str, section: str, wording: Wording
) -> None:
    (folder / "vectors.txt").write_text(VECTORS, encoding="utf-8")
    (folder / "clusters.txt").write_text(CLUSTERS, encoding="utf-8")
    idle = []
    for name in SECTIONS[case, section]:
        if (case, name) in REFUSED:
            with wording.raises(ConfigError):
                outcome(merge(settings_of(case), change(case, name)), None, name)
        elif not has_effect(case, name, folder):
            idle.append(name)
    assert idle == []


def test_the_cases_have_every_setting() -> None:
    every = {f"{section}.{key}".lstrip(".") for _, section, key, _ in every_setting()}
    assert {name for _, name in PAIRS} - {"teacher.kind", "recipe"} == every


TREES = Inputs({}, trees=tuple(FEW))


@pytest.mark.parametrize(
    ("case", "name", "inputs"),
    [
        ("best", "teacher.iterations", TREES),
        ("best", "data.max_len", TREES),
        ("fixed", "train.samples", TREES),
        ("rl-bl", "finetune.score", TREES),
        ("rl-bl", "language_model.lr", TREES),
        ("neural", "train.dev_max_len", Inputs({"": tuple(FEW)})),
        ("lexicalised", "words.min_freq", replace(TREES, init="m.vdgi")),
    ],
)
def test_what_the_inputs_leave_without_effect_is_refused(
    case: str, name: str, inputs: Inputs, wording: Wording
) -> None:
    with wording.raises(ConfigError):
        run(inputs, settings_of(case), explicit=[name])


@pytest.mark.parametrize("case", ["best", "convex-mst", "lc-dmv"])
def test_teachers_do_not_learn_from_more_than_there_is(case: str, wording: Wording) -> None:
    settings = merge(settings_of(case), {"data": {"max_len": 10}, "teacher": {"max_len": 12}})
    with wording.raises(ConfigError):
        run(Inputs({"": tuple(FEW)}), settings, explicit=["teacher.max_len"])


@pytest.mark.parametrize("max_len", [0, 5, 18, 20, 50])
def test_what_settings_leave_out_of_files_means_the_same_when_read(max_len: int) -> None:
    """The default of teacher.max_len, 15, is below data.max_len here."""
    settings = from_dict({"data": {"max_len": 18}, "teacher": {"max_len": max_len}})
    assert from_dict(settings.to_dict()) == from_toml(settings.to_toml(), "file") == settings


@pytest.mark.parametrize("case", CASES)
def test_what_a_case_does_not_have_is_refused_with_a_reason(case: str) -> None:
    settings = settings_of(case)
    idle = settings.without_effect()
    names = [f"{section}.{key}".lstrip(".") for _, section, key, _ in every_setting()]
    for name in names:
        if name in own(case) or name not in OTHER:
            continue
        with pytest.raises(VdgiError) as caught:
            merge(settings, nested(name, OTHER[name]))
        section, _, key = name.partition(".")
        if key == "epochs" and section in ("train", "finetune") and section not in idle:
            name = f"{section}.updates"  # which `epochs` replaces
        reason = idle.get(name) or idle.get(section)
        message = str(caught.value)
        assert message.startswith(f"config: '{name}' ")
        assert (f"no effect: {reason}" if reason else f"'{name}' is for ") in message
