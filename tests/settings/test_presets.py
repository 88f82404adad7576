"""Settings from presets and assignments: layers on top of each other, bases, faults, bundled files."""

from __future__ import annotations

import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wording import Wording

from dynet_vdgi.errors import ConfigError
from dynet_vdgi.rivals.lc_dmv import LcDmvSettings
from dynet_vdgi.rule_tables.rules import load_rules
from dynet_vdgi.settings.bundled import bundled, rules_path
from dynet_vdgi.settings.presets import (
    from_toml,
    load_settings,
    merge,
    parse_assignment,
    preset_names,
    read_toml,
)
from dynet_vdgi.settings.settings import DmvSettings
from dynet_vdgi.training.taught import TaughtSettings

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def message_of(preset: Any, *assignments: str) -> str:
    with pytest.raises(ConfigError) as caught:
        load_settings(preset, assignments)
    return str(caught.value)


def written(folder: Path, name: str, content: str) -> str:
    """The path of a preset with this content."""
    path = folder / f"{name}.toml"
    path.write_text(content, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_is_what_it_says_and_comes_back(tmp_path: Path, name: str) -> None:
    settings = load_settings(name)
    got, text = settings.to_dict(), bundled("presets")[name].read_text(encoding="utf-8")
    said = tomllib.loads(text)
    base = said.pop("base", None)
    below = load_settings(base).to_dict() if base else {}
    assert below != got
    for section, values in said.items():
        for key, value in values.items() if isinstance(values, dict) else [("", values)]:
            assert (got[section][key] if key else got[section]) == value
            assert not key or below.get(section, {}).get(key) != value, (
                f"{section}.{key} is said twice"
            )
    for again in (
        from_toml(settings.to_toml(), "settings.toml"),
        load_settings(written(tmp_path, "settings", settings.to_toml())),
        merge(TaughtSettings(), got),
    ):
        assert again.to_dict() == got
        assert again == settings or "rules" in settings.without_effect()
    rules = load_rules(rules_path(settings.rules))
    knows = rules.rules or (rules.table and (rules.table.exceptions or rules.table.leaf))
    assert bool(knows) is (name != "rf")  # which learns from the text alone


def test_preset_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    # some editors begin with a byte-order mark
    content = b'\xef\xbb\xbfbase = "fixed-lambda"\n[train]\nlr = 1\n'
    path.write_bytes(content)
    expected = merge(load_settings("fixed-lambda"), {"train": {"lr": 1.0, "epochs": 7}})
    assert (
        load_settings(str(path), ["train.epochs=7"])
        == load_settings(path, ["train.epochs=7"])
        == expected
    )


@pytest.mark.parametrize(
    "content",
    [
        None,
        b"lr = ",
        b"\xff\xfe",
        b"data = 3",
        b"[trane]\nlr = 1",
        b"[teacher]\nsmoothing = [1]",
        b"[[data]]\nmax_len = 1",
        b"[train]\nlr = 1",
        b"base = 3",
    ],
)
def test_faults_in_a_preset_name_the_file(
    tmp_path: Path, content: bytes | None, wording: Wording
) -> None:
    path = tmp_path / "mine.toml"
    if content is not None:
        path.write_bytes(content)
    with wording.raises(ConfigError):
        load_settings(str(path))


def test_a_preset_stands_on_its_base_and_that_on_its_own(tmp_path: Path) -> None:
    written(tmp_path, "a", 'base = "fixed-lambda"\n[train]\nlr = 0.25\nclip = 2.0\n')
    b = written(tmp_path, "b", 'base = "a.toml"\nseed = 7\n[train]\nclip = 3.0\n')
    settings = load_settings(b)
    assert (settings.seed, settings.train.lr, settings.train.clip) == (7, 0.25, 3.0)
    changes = {"seed": 7, "train": {"lr": 0.25, "clip": 3.0}}
    assert settings == merge(load_settings("fixed-lambda"), changes)


def test_a_base_lies_beside_the_file_that_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    written(inner, "a", "seed = 5\n")
    path = written(inner, "b", 'base = "a.toml"\n')
    written(tmp_path, "a", "seed = 6\n")
    monkeypatch.chdir(tmp_path)
    assert load_settings(path).seed == load_settings("inner/b.toml").seed == 5


@pytest.mark.parametrize("names", [["a"], ["a", "b"], ["a", "b", "c"]])
def test_bases_that_go_round_in_a_circle(
    tmp_path: Path, names: list[str], wording: Wording
) -> None:
    for name, base in zip(names, [*names[1:], names[0]]):
        written(tmp_path, name, f'base = "{base}.toml"\n')
    wording.check(message_of(str(tmp_path / "a.toml")))


def test_later_presets_win_and_leave_the_rest() -> None:
    settings = load_settings(["as_released", "rl-sn"])
    alone = load_settings("as_released")
    assert (settings.finetune.score, settings.finetune.form) == ("rl-sn", "released")
    assert settings.finetune.updates == 100
    assert settings.finetune.epochs == 0  # one of the two replaces the other
    assert settings.train == alone.train
    other = load_settings(["rl-sn", "as_released"])
    assert (other.finetune.score, other.finetune.form, other.finetune.epochs) == (
        "rl-sn",
        "released",
        10,
    )
    assert other.finetune.updates == 0
    assert merge(other, {"finetune": {"score": "rl-pc"}}) == merge(
        alone, {"finetune": {"decoder": "score"}}
    )
    assert load_settings(["rl-sn", "rl-c"]).finetune == load_settings("rl-c").finetune


@pytest.mark.parametrize("section", ["train", "finetune"])
def test_one_of_updates_and_epochs_replaces_the_other(section: str) -> None:
    below = {section: {"updates": 9}}
    settings = merge(load_settings("fixed-lambda"), below)
    for change, expected in (
        ({"epochs": 3}, (0, 3)),
        ({"updates": 5}, (5, 0)),
        ({"updates": 5, "epochs": 3}, (5, 3)),
        ({"updates": 9, "epochs": 0}, (9, 0)),
    ):
        part = getattr(merge(settings, {section: change}), section)
        assert (part.updates, part.epochs) == expected
    part = getattr(
        load_settings("fixed-lambda", [f"{section}.updates=4", f"{section}.epochs=2"]), section
    )
    assert (part.updates, part.epochs) == (4, 2)


def test_a_new_kind_of_teacher_drops_what_was_said_of_the_old_one() -> None:
    """`iterations` of a DMV are not those of LC-DMV, though both have the name."""
    settings = load_settings("best", ["teacher.iterations=3"])
    assert settings.teacher == DmvSettings(iterations=3)
    assert merge(settings, {"teacher": {"kind": "lc-dmv"}}).teacher == LcDmvSettings()
    assert merge(settings, {"teacher": {"kind": "dmv"}}).teacher == DmvSettings(iterations=3)


def test_a_new_kind_of_parser_drops_what_was_said_of_the_old_one() -> None:
    linear = load_settings("best", ["parser.epochs=5"])
    neural = merge(linear, {"recipe": "neural"})
    assert neural == load_settings("best", ["recipe=neural"])
    sized = merge(neural, {"parser": {"hidden_dim": 9}, "train": {"lr": 0.5}})
    assert merge(sized, {"recipe": "taught"}).to_dict() == load_settings("best").to_dict()


@pytest.mark.parametrize(
    ("preset", "assignment"),
    [
        ("fixed-lambda", "words.min_freq=3"),
        ("fixed-lambda", "parser.vector_dim=3"),
        ("fixed-lambda", "finetune.lr=1"),
        ("paper", "language_model.lr=1"),
        ("fixed-lambda", "posterior.epsilon=1"),
        ("as_released", "posterior.strength=1"),
    ],
)
def test_what_would_have_no_effect_is_refused(
    tmp_path: Path, preset: str, assignment: str, wording: Wording
) -> None:
    name, _, value = assignment.partition("=")
    message = message_of(preset, assignment)
    wording.check(message)
    section, _, key = name.partition(".")
    path = written(tmp_path, "layer", f'base = "{preset}"\n[{section}]\n{key} = {value}\n')
    assert message_of(path) == f"{path}: {message}"
    with pytest.raises(ConfigError, match=re.escape(message)):
        merge(load_settings(preset), parse_assignment(assignment))


@pytest.mark.parametrize(
    ("assignment", "value"),
    [
        ("train.lr=0.02", 0.02),
        ("train.lr=1", 1.0),
        ("train.lr = 1e-3", 0.001),
        ("train.epochs=3", 3),
        ("parser.mask_illegal=false", False),
        ("train.select=dev", "dev"),
        ('train.select="dev"', "dev"),
        ("train.select='dev'", "dev"),
        ("rules=my rules/a=b.txt", "my rules/a=b.txt"),
        ("rules='1'", "1"),
        ("rules=1.txt", "1.txt"),
        ("rules=", ""),
        ("seed=3", 3),
        ("parser.forget_bias=-1", -1.0),
    ],
)
def test_assignments(assignment: str, value: Any) -> None:
    got: Any = load_settings("fixed-lambda", [assignment])
    for part in assignment.split("=")[0].strip().split("."):
        got = getattr(got, part)
    assert got == value
    assert type(got) is type(value)


@given(st.text(), st.text())
def test_any_assignment_is_taken_or_refused(key: str, value: str) -> None:
    for name in (key, "train.lr", "rules", "parser.mask_illegal", "teacher.dmv", f"teacher.{key}"):
        with suppress(ConfigError):
            merge(TaughtSettings(), parse_assignment(f"{name}={value}"))


def test_rules_by_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rules").write_text("ROOT VERB 1\n", encoding="utf-8")
    assert rules_path("rules") == Path("rules")
    missing = Path("elsewhere/mine.txt")
    assert rules_path("elsewhere/mine.txt") == missing  # the reader says that it is missing


@pytest.mark.parametrize(
    "line",
    [
        "x = " + "{a" * 999,
        "x = " + "[" * 2_999 + "]" * 2_999,
        "seed = 0x" + "f" * 5_000,
        "x = [1, [0o" + "7" * 5_000 + "]]",
    ],
)
def test_what_toml_nests_too_deep_or_cannot_count_is_refused(
    line: str, wording: Wording, tmp_path: Path
) -> None:
    path = tmp_path / "a.toml"
    path.write_text(line, encoding="utf-8")
    for read in (lambda: read_toml(path, "preset"), lambda: from_toml(line, "settings.toml")):
        with wording.raises(ConfigError) as caught:
            read()
        assert len(str(caught.value)) < 300


def test_settings_of_a_model_are_no_longer_than_they_can_be(wording: Wording) -> None:
    """Python's reader keeps all beginnings of a dotted key: of a long one, gigabytes."""
    with wording.raises(ConfigError):
        from_toml("a" + ".a" * 9_999 + " = 1", "settings.toml")
