"""Settings: presets, single assignments, faults, and the file that gives them back."""

from __future__ import annotations

import re
import sys
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dynet_vdgi import config
from dynet_vdgi.bundled import resources, rules_path
from dynet_vdgi.config import Settings
from dynet_vdgi.errors import ConfigError
from dynet_vdgi.grammar.rules import load_rules
from dynet_vdgi.presets import from_toml, load_settings, merge, parse_assignment, preset_names

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SOURCES = "\n".join(
    path.read_text(encoding="utf-8")
    for path in sorted(Path(config.__file__).parent.rglob("*.py"))
    if path.name != "config.py"
)
KEYS = [
    (section.name, item) for section in fields(Settings) for item in fields(getattr(Settings(), section.name))
]


def changed(*assignments: str) -> Settings:
    return load_settings("default", assignments)


def message_of(*assignments: str) -> str:
    with pytest.raises(ConfigError) as caught:
        changed(*assignments)
    return str(caught.value)


# Presets


def test_the_default_preset_is_the_defaults() -> None:
    assert load_settings() == load_settings("default") == Settings()


@pytest.mark.parametrize("name", preset_names())
def test_presets_load_and_change_what_they_say(name: str) -> None:
    text = (resources() / "presets" / f"{name}.toml").read_text(encoding="utf-8")
    got = load_settings(name).to_dict()
    for section, values in tomllib.loads(text).items():
        for key, value in values.items():
            assert got[section][key] == value


@pytest.mark.parametrize("name", preset_names())
def test_presets_name_rules_that_load(name: str) -> None:
    assert len(load_rules(rules_path(load_settings(name).posterior.rules))) > 0


def test_presets_there_are() -> None:
    assert {"default", "as_released", "demo"} <= set(preset_names())


def test_unknown_preset() -> None:
    with pytest.raises(
        ConfigError, match="no preset 'defalt'; did you mean 'default'.*there are: as_released"
    ):
        load_settings("defalt")


def test_preset_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes(b"\xef\xbb\xbf[train]\nlr = 1\n")  # some editors begin a file with a byte-order mark
    assert load_settings(str(path), ["train.epochs=7"]) == merge(
        Settings(), {"train": {"lr": 1.0, "epochs": 7}}
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot read the preset: No such file"),
        (b"lr = ", "not a TOML file: "),
        (b"\xff\xfe", "cannot read the preset: not UTF-8 text"),
        (b"train = 3", "config: 'train' is a section, not a key; write 'train.NAME'"),
        (b"[trane]\nlr = 1", "config: no section 'trane'; did you mean 'train'?"),
        (b"[train]\nlr = [1]", r"config: 'train.lr' must be a number, not \[1\]"),
        (b"[[train]]\nlr = 1", "config: 'train' is a section, not a key"),
    ],
)
def test_faults_in_a_preset_name_the_file(tmp_path: Path, content: bytes | None, message: str) -> None:
    path = tmp_path / "mine.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match=re.escape(str(path)) + ": " + message):
        load_settings(str(path))


# Single assignments


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
        ("parser.forget_bias=-1", -1.0),
    ],
)
def test_assignments(assignment: str, value: Any) -> None:
    section, key = assignment.split("=")[0].strip().split(".")
    got = getattr(getattr(changed(assignment), section), key)
    assert got == value
    assert type(got) is type(value)


def test_training_must_end() -> None:
    message = (
        "config: 'train.updates' and 'train.epochs' cannot both be 0, unless 'finetune' has updates "
        "or epochs: nothing would be trained"
    )
    assert message_of("train.updates=0") == message
    assert changed("train.updates=0", "train.epochs=3").train.epochs == 3  # all assignments count at once


def test_the_last_assignment_holds() -> None:
    assert changed("train.lr=1", "train.epochs=9", "train.lr=2").train.lr == 2.0


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("train.lrate=1", "config: no key 'train.lrate'; did you mean 'train.lr'?"),
        ("train.momentum=1", "config: no key 'train.momentum'; did you mean 'posterior.momentum'?"),
        ("trian.lr=1", "config: no section 'trian'; did you mean 'train'?"),
        ("qqq.lr=1", "config: no section 'qqq'"),
        ("train.lr.x=1", "config: no key 'train.lr.x'; did you mean 'train.lr'?"),
        ("train.lr", "config: cannot read 'train.lr'; write section.key=value, as in train.lr=0.02"),
        ("lr=1", "config: cannot read 'lr=1'; write section.key=value, as in train.lr=0.02"),
        ("train.=1", "config: cannot read 'train.=1'; write section.key=value, as in train.lr=0.02"),
        ("train.epochs=1.5", "config: 'train.epochs' must be a whole number, not 1.5"),
        ("train.epochs=true", "config: 'train.epochs' must be a whole number, not True"),
        ("train.epochs=three", "config: 'train.epochs' must be a whole number, not 'three'"),
        ("train.lr=false", "config: 'train.lr' must be a number, not False"),
        ("train.lr=fast", "config: 'train.lr' must be a number, not 'fast'"),
        ("parser.mask_illegal=1", "config: 'model.mask_illegal' must be true or false, not 1"),
        ("parser.mask_illegal=True", "config: 'model.mask_illegal' must be true or false, not 'True'"),
        ("rules=3", "config: 'posterior.rules' must be a text, not 3"),
        ("train.epochs=-1", "config: 'train.epochs' must be at least 0, not -1"),
        ("train.lr=-0.1", "config: 'train.lr' must be at least 0, not -0.1"),
        ("train.lr=inf", "config: 'train.lr' must be a finite number, not inf"),
        ("parser.forget_bias=nan", "config: 'model.forget_bias' must be a finite number, not nan"),
        ("parser.encoder_dropout=1", "config: 'model.encoder_dropout' must be from 0 to 0.99, not 1.0"),
        (
            "train.select=lst",
            "config: 'train.select' must be one of last, dev, teacher, not 'lst'; did you mean 'last'?",
        ),
        ("data.protocol=x", "config: 'data.protocol' must be one of standard, as_released, not 'x'"),
        (
            "rules=\udcff.txt",
            "config: 'posterior.rules' must be a text in UTF-8, not '\\udcff.txt'",
        ),
    ],
)
def test_faults_in_assignments(assignment: str, message: str) -> None:
    assert message_of(assignment) == message


@pytest.mark.parametrize("digits", [400, 5000])
def test_a_number_too_large_is_no_number(digits: int) -> None:
    assert message_of("train.lr=1" + digits * "0").startswith("config: 'train.lr' must be a number, not ")


@given(st.text(), st.text())
@pytest.mark.slow
def test_any_assignment_is_taken_or_refused(key: str, value: str) -> None:
    for name in (key, "train.lr", "posterior.rules", "model.mask_illegal"):
        with suppress(ConfigError):
            merge(Settings(), parse_assignment(f"{name}={value}"))


# There and back


def values_of(item: Any) -> st.SearchStrategy[Any]:
    kind, bounds = type(item.default), item.metadata
    if "choices" in bounds:
        return st.sampled_from(bounds["choices"])
    if kind is bool:
        return st.booleans()
    if kind is str:
        return st.text(st.characters(exclude_categories=("Cs",)))
    high = None if bounds.get("high") == float("inf") else bounds.get("high")
    if kind is int:
        return st.integers(bounds.get("low"), high)
    return st.floats(bounds.get("low"), high, allow_nan=False, allow_infinity=False)


@given(st.data())
def test_settings_survive_toml(data: st.DataObject) -> None:
    changes: dict[str, dict[str, Any]] = {}
    for section, item in KEYS:
        changes.setdefault(section, {})[item.name] = data.draw(
            values_of(item), label=f"{section}.{item.name}"
        )
    assume(changes["train"]["updates"] or changes["train"]["epochs"])
    assume(changes["train"]["select"] != "teacher" or changes["teacher"]["kind"] != "none")
    of_rules = (changes["posterior"]["dynamics"], changes["posterior"]["expectations"])
    assume(changes["posterior"]["features"] == "counts" or not {"released", "trees"}.intersection(of_rules))
    settings = merge(Settings(), changes)
    assert from_toml(settings.to_toml(), "settings.toml") == settings
    assert merge(Settings(), settings.to_dict()) == settings


@pytest.mark.parametrize(
    "text", ["\x00", "\x7f", "\x80", "\u2028", "\U0001f600", '"', "\\", "'''", "a\nb", "\ufeff"]
)
def test_odd_texts_survive_toml(text: str) -> None:
    settings = merge(Settings(), {"posterior": {"rules": text}})
    assert from_toml(settings.to_toml(), "settings.toml") == settings


def test_toml_is_complete_so_that_later_defaults_do_not_matter() -> None:
    assert tomllib.loads(Settings().to_toml()) == Settings().to_dict()


def test_settings_are_frozen() -> None:
    with pytest.raises(AttributeError):
        Settings().train.lr = 1.0  # type: ignore[misc]


# Every setting does something


@pytest.mark.parametrize("item", [pytest.param(item, id=f"{section}.{item.name}") for section, item in KEYS])
def test_every_setting_is_read_somewhere(item: Any) -> None:
    assert re.search(rf"\.{item.name}\b(?!\s*=[^=])", SOURCES)


@pytest.mark.parametrize(("section", "item"), KEYS)
def test_every_number_but_one_has_bounds(section: str, item: Any) -> None:
    if type(item.default) in (int, float) and item.name != "forget_bias":
        assert item.metadata["low"] <= item.default <= item.metadata["high"]


# Rules


def test_bundled_rules_by_name() -> None:
    assert rules_path("ud") == resources() / "rules" / "ud.txt"
    assert rules_path("ud-propn").is_file()


def test_rules_by_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rules").write_text("ROOT VERB 1\n", encoding="utf-8")
    assert rules_path("rules") == Path("rules")
    assert rules_path("elsewhere/mine.txt") == Path(
        "elsewhere/mine.txt"
    )  # the reader says that it is missing


def test_a_folder_of_the_same_name_does_not_hide_the_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ud").mkdir()
    assert rules_path("ud") == resources() / "rules" / "ud.txt"
    assert rules_path("./ud") == Path("ud")


def test_unknown_rules() -> None:
    message = re.escape("config: no rules 'ud-prop'; did you mean 'ud-propn'? (there are: best, ")
    with pytest.raises(ConfigError, match=message):
        rules_path("ud-prop")
