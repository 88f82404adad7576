"""Settings: their bounds, their faults in words, what has no effect, and the file that gives them
back."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from wording import Wording

from dynet_vdgi.errors import ConfigError
from dynet_vdgi.settings.presets import from_toml, load_settings, merge
from dynet_vdgi.settings.registry import RECIPES, TEACHERS
from dynet_vdgi.settings.settings import Section, Settings, TeacherSettings, leaves
from dynet_vdgi.settings.values import every_setting, from_dict, hints_of

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


def test_training_must_end(wording: Wording) -> None:
    wording.check(message_of("train.updates=0"))
    settings = load_settings("fixed-lambda", ["train.updates=0", "train.epochs=3"])
    assert settings.train.epochs == 3  # all assignments count at once
    assert load_settings("best", ["parser.epochs=1"]).recipe == "taught"  # which has no updates


@pytest.mark.parametrize(
    "assignment",
    [
        "train.lrate=1",
        "train.momentum=1",
        "trian.lr=1",
        "qqq.lr=1",
        "train.lr.x=1",
        "train.lr",
        "lr=1",
        "train.=1",
        "train.epochs=1.5",
        "train.epochs=true",
        "train.epochs=three",
        "train.lr=false",
        "train.lr=fast",
        "parser.mask_illegal=1",
        "parser.mask_illegal=True",
        "rules=3",
        "seed=x",
        "seed=-1",
        "seed.x=1",
        "train.epochs=-1",
        "train.lr=-0.1",
        "train.lr=inf",
        "parser.forget_bias=nan",
        "parser.encoder_dropout=1",
        "train.select=lst",
        "data.ignore=forms",
        "data.ignore=['feat']",
        "data.ignore=[1]",
        "data.protocol=x",
        "rules=\udcff.txt",
        "recipe=3",
        "recipe=tought",
        "parser.log2_buckets=3",
    ],
)
def test_faults_in_assignments(assignment: str, wording: Wording) -> None:
    wording.check(message_of(assignment))


@pytest.mark.parametrize(
    "assignments",
    [
        "teacher.kind=dmw",
        "teacher.kind=3",
        "teacher.kind=none teacher.iterations=3",
    ],
)
def test_faults_in_a_teacher(assignments: str, wording: Wording) -> None:
    wording.check(message_of(*assignments.split(), preset="best"))


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


def test_every_setting_refuses_what_is_of_another_type() -> None:
    for section, key, kind, recipe in EVERY:
        name = f"{section}.{key}".lstrip(".")
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
