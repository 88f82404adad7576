"""Settings: their bounds, their faults in words, what has no effect, and the file that gives them
back."""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dynet_vdgi.errors import ConfigError
from dynet_vdgi.settings import registry
from dynet_vdgi.settings.presets import from_toml, load_settings, merge
from dynet_vdgi.settings.registry import RECIPES, TEACHERS
from dynet_vdgi.settings.settings import Section, Settings, TeacherSettings, leaves
from dynet_vdgi.settings.values import every_setting, from_dict, hints_of

if sys.version_info >= (3, 11):
    pass
else:
    pass

SOURCES = "\n".join(
    path.read_text(encoding="utf-8")
    for path in sorted(Path(registry.__file__).parents[1].rglob("*.py"))
    if path.name not in ("config.py", "config_checks.py")
)
EVERY = [(place.section, place.key, place.kind, place.recipes[0]) for place in every_setting()]


@cache
def hint_of(key: str, kind: type[Section]) -> tuple[Any, Any]:
    """The type of a setting without its bounds, and the bounds."""
    hint = get_type_hints(kind, include_extras=True)[key]
    return (get_args(hint)[0], get_args(hint)[1]) if get_origin(hint) is Annotated else (hint, None)


def message_of(*assignments: str, preset: str = "fixed-lambda") -> str:
    with pytest.raises(ConfigError) as caught:
        load_settings(preset, assignments)
    return str(caught.value)


def test_training_must_end() -> None:
    message = (
        "config: 'train.updates' and 'train.epochs' cannot both be 0, unless 'finetune' has updates "
        "or epochs: nothing would be trained"
    )
    assert message_of("train.updates=0") == message
    settings = load_settings("fixed-lambda", ["train.updates=0", "train.epochs=3"])
    assert settings.train.epochs == 3  # all assignments count at once
    assert load_settings("best", ["parser.epochs=1"]).recipe == "taught"  # which has no updates


A_LIST = 'must be a list of any of feats, xpos, forms, punctuation, such as ["feats"]'


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("train.lrate=1", "config: no key 'train.lrate'; did you mean 'train.lr'?"),
        ("train.momentum=1", "config: no key 'train.momentum'; did you mean 'posterior.momentum'?"),
        ("trian.lr=1", "config: no section 'trian'; did you mean 'train'?"),
        ("qqq.lr=1", "config: no section 'qqq'"),
        ("train.lr.x=1", "config: no key 'train.lr.x'; did you mean 'train.lr'?"),
        (
            "train.lr",
            "config: cannot read 'train.lr'; write section.key=value, as in parser.epochs=5",
        ),
        ("lr=1", "config: cannot read 'lr=1'; write section.key=value, as in parser.epochs=5"),
        (
            "train.=1",
            "config: cannot read 'train.=1'; write section.key=value, as in parser.epochs=5",
        ),
        ("train.epochs=1.5", "config: 'train.epochs' must be a whole number, not 1.5"),
        ("train.epochs=true", "config: 'train.epochs' must be a whole number, not True"),
        ("train.epochs=three", "config: 'train.epochs' must be a whole number, not 'three'"),
        ("train.lr=false", "config: 'train.lr' must be a number, not False"),
        ("train.lr=fast", "config: 'train.lr' must be a number, not 'fast'"),
        ("parser.mask_illegal=1", "config: 'parser.mask_illegal' must be true or false, not 1"),
        (
            "parser.mask_illegal=True",
            "config: 'parser.mask_illegal' must be true or false, not 'True'",
        ),
        ("rules=3", "config: 'rules' must be a text, not 3"),
        ("seed=x", "config: 'seed' must be a whole number, not 'x'"),
        ("seed=-1", "config: 'seed' must be from 0 to 9223372036854775807, not -1"),
        ("seed.x=1", "config: 'seed' is a key, not a section; write seed = ..."),
        ("train.epochs=-1", "config: 'train.epochs' must be at least 0, not -1"),
        ("train.lr=-0.1", "config: 'train.lr' must be at least 0, not -0.1"),
        ("train.lr=inf", "config: 'train.lr' must be a finite number, not inf"),
        ("parser.forget_bias=nan", "config: 'parser.forget_bias' must be a finite number, not nan"),
        (
            "parser.encoder_dropout=1",
            "config: 'parser.encoder_dropout' must be from 0 to 0.99, not 1",
        ),
        (
            "train.select=lst",
            "config: 'train.select' must be one of last, dev, not 'lst'; did you mean 'last'?",
        ),
        ("data.ignore=forms", f"config: 'data.ignore' {A_LIST}, not 'forms'"),
        (
            "data.ignore=['feat']",
            f"config: 'data.ignore' {A_LIST}, not ['feat']; did you mean 'feats'?",
        ),
        ("data.ignore=[1]", f"config: 'data.ignore' {A_LIST}, not [1]"),
        (
            "data.protocol=x",
            "config: 'data.protocol' must be one of standard, as_released, not 'x'",
        ),
        ("rules=\udcff.txt", "config: 'rules' must be a text in UTF-8, not '\\udcff.txt'"),
        ("recipe=3", "config: 'recipe' must be a text, not 3"),
        (
            "recipe=tought",
            "config: 'recipe' must be one of taught, few-trees, neural, universal, not 'tought'; "
            "did you mean 'taught'?",
        ),
        (
            "parser.log2_buckets=3",
            "config: 'parser.log2_buckets' is for recipe=taught or recipe=few-trees, and recipe is neural; "
            "try --preset best",
        ),
    ],
)
def test_faults_in_assignments(assignment: str, message: str) -> None:
    assert message_of(assignment) == message


KINDS = "none, dmv, universal, rf, convex-mst, hdp-dep, lc-dmv"


@pytest.mark.parametrize(
    ("assignments", "message"),
    [
        (
            "teacher.kind=dmw",
            f"'teacher.kind' must be one of {KINDS}, not 'dmw'; did you mean 'dmv'?",
        ),
        ("teacher.kind=3", "'teacher.kind' must be a text, not 3"),
        (
            "teacher.kind=none teacher.iterations=3",
            "'teacher.iterations' is for teacher.kind=dmv or teacher.kind=rf or teacher.kind=convex-mst or "
            "teacher.kind=hdp-dep or teacher.kind=lc-dmv, and teacher.kind is none",
        ),
    ],
)
def test_faults_in_a_teacher(assignments: str, message: str) -> None:
    assert message_of(*assignments.split(), preset="best") == f"config: {message}"


@pytest.mark.parametrize(
    "values", [{3: 4}, {"data": {3: 4}}, {"data": [1]}, {"base": "x"}, {"train": None}]
)
def test_what_is_no_settings_at_all_is_refused(values: Any) -> None:
    with pytest.raises(ConfigError):
        from_dict(values)


@pytest.mark.parametrize(
    ("assignments", "idle", "busy"),
    [
        (
            [],
            ["words", "parser.vector_dim", "posterior.lr", "posterior.epsilon"],
            ["posterior.strength"],
        ),
        (
            [],
            ["finetune.lr", "finetune.score", "language_model"],
            ["finetune.updates", "finetune.epochs"],
        ),
        (["parser.word_dim=8"], [], ["words", "parser.vector_dim"]),
        (
            ["posterior.dynamics=released"],
            ["posterior.strength"],
            ["posterior.lr", "posterior.epsilon"],
        ),
        (["posterior.dynamics=off"], ["rules", "posterior.expectations"], []),
        (["finetune.updates=3"], ["language_model"], ["finetune.lr", "finetune.form"]),
        (["finetune.updates=3", "finetune.score=rl-bl"], [], ["language_model", "finetune.form"]),
        (
            ["finetune.updates=3", "train.updates=0"],
            ["train.lr", "train.clip"],
            ["train.samples", "rules"],
        ),
    ],
)
def test_what_has_no_effect_on_a_neural_parser(
    assignments: list[str], idle: list[str], busy: list[str]
) -> None:
    found = load_settings("fixed-lambda", assignments).without_effect()
    assert set(idle) <= set(found)
    assert not set(busy) & set(found)


def values_of(key: str, kind: type[Section]) -> st.SearchStrategy[Any]:
    """Every value that a setting may have."""
    hint, bounds = hint_of(key, kind)
    if get_origin(hint) is tuple:
        return st.sets(st.sampled_from(get_args(get_args(hint)[0]))).map(sorted)
    if get_origin(hint) is Literal:
        return st.sampled_from(get_args(hint))
    if hint is bool:
        return st.booleans()
    if hint is str:
        return st.text(st.characters(exclude_categories=("Cs",)))
    if isinstance(hint, type) and issubclass(hint, Section):
        return section_of(hint)
    low, high = bounds.gt if bounds.ge is None else bounds.ge, bounds.le
    if hint is int:
        return st.integers(low, 2**63 - 1 if high is None else high)
    return st.floats(
        low,
        high,
        allow_nan=False,
        allow_infinity=False,
        exclude_min=bounds.gt is not None and low is not None,
    )


def section_of(kind: type[Section]) -> st.SearchStrategy[dict[str, Any]]:
    """Every value of every setting in a section."""
    tag = kind.__struct_config__.tag
    drawn = {key: values_of(key, kind) for key in kind.__struct_fields__}
    return st.fixed_dictionaries({"kind": st.just(tag), **drawn} if tag else drawn)


def all_values(recipe: str) -> st.SearchStrategy[dict[str, Any]]:
    """Every value of every setting of a recipe, whether it has an effect or not."""
    drawn: dict[str, st.SearchStrategy[Any]] = {"recipe": st.just(recipe)}
    for name, hint in hints_of(RECIPES.named(recipe).settings).items():
        if hint is TeacherSettings:
            drawn[name] = st.one_of(
                *(section_of(TEACHERS.named(kind).settings) for kind in TEACHERS.names())
            )
        elif isinstance(hint, type) and issubclass(hint, Section):
            drawn[name] = section_of(hint)
        else:
            drawn[name] = values_of(name, Settings)
    return st.fixed_dictionaries(drawn)


@given(st.sampled_from(RECIPES.names()).flatmap(all_values))
def test_settings_survive_toml(values: dict[str, Any]) -> None:
    if values["recipe"] == "neural":
        assume(values["train"]["updates"] or values["train"]["epochs"])
    settings = from_dict(values)
    again = from_toml(settings.to_toml(), "settings.toml")
    # What has no effect is not kept; the rest is, and says all there is to say.
    assert again.to_dict() == settings.to_dict()
    assert again.without_effect() == settings.without_effect()
    assert from_toml(again.to_toml(), "settings.toml") == again
    assert merge(again, settings.to_dict()) == again
    kept, idle = dict(leaves(settings.to_dict())), settings.without_effect()
    for name, value in leaves(values):
        assert (name in kept) != (name in idle or name.partition(".")[0] in idle), name
        assert name not in kept or kept[name] == value


def test_every_setting_is_read_somewhere_and_refuses_what_is_of_another_type() -> None:
    for section, key, kind, recipe in EVERY:
        name = f"{section}.{key}".lstrip(".")
        assert re.search(rf"\.{key}\b(?!\s*=[^=])", SOURCES), name
        hint, bounds = hint_of(key, kind)
        if hint in (int, float) and key != "forget_bias":
            default = next(
                item.default for item in msgspec.structs.fields(kind) if item.name == key
            )
            low = bounds.ge if bounds.gt is None else bounds.gt
            assert low is not None, name
            assert low <= default <= (default if bounds.le is None else bounds.le), name
        values: dict[str, Any] = {key: [None], "recipe": recipe}
        if section:
            tag = kind.__struct_config__.tag
            values = {"recipe": recipe, section: {**({"kind": tag} if tag else {}), key: [None]}}
        is_section = isinstance(hint, type) and issubclass(hint, Section)
        expected = f"'{name}' is a section, not a key" if is_section else f"'{name}' must be "
        with pytest.raises(ConfigError, match=expected):
            from_dict(values)
