"""Every setting of a run, typed, in one place; presets are TOML files of the same shape.

A setting's name on the command line is `section.name`, as in `--set train.lr=0.02`.
"""

from __future__ import annotations

import difflib
import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from dynet_vdgi.errors import ConfigError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DEFAULT_PRESET = "default"

# What a run writes into its folder.
MODEL_NAME, LOG_NAME, SETTINGS_NAME = "model.vdgi", "log.jsonl", "settings.toml"


def _at_least(low: float) -> dict[str, Any]:
    return {"low": low, "high": float("inf")}


def _between(low: float, high: float) -> dict[str, Any]:
    return {"low": low, "high": high}


def _one_of(*choices: str) -> dict[str, Any]:
    return {"choices": choices}


@dataclass(frozen=True)
class DataSettings:
    """Which words and sentences are used."""

    protocol: str = field(default="standard", metadata=_one_of("standard", "as_released"))
    tags: str = field(default="upos", metadata=_one_of("upos", "xpos"))  # the column that tags are read from
    max_len: int = field(default=10, metadata=_at_least(2))  # longest training sentence, in words
    min_freq: int = field(default=2, metadata=_at_least(1))  # rarer words are unknown words
    lowercase: bool = True
    vectors: str = ""  # file of word vectors, for lexicalised models; none: random ones
    clusters: str = ""  # file of word clusters, for lexicalised models; none: classes by frequency


@dataclass(frozen=True)
class ModelSettings:
    """Shape of encoder and decoder; word_dim 0 is the unlexicalised model."""

    word_dim: int = field(default=0, metadata=_at_least(0))  # size of the projected word vector
    vector_dim: int = field(default=300, metadata=_at_least(1))  # of the word vectors; data.vectors sets it
    tag_dim: int = field(default=80, metadata=_at_least(1))
    hidden_dim: int = field(default=64, metadata=_at_least(1))  # token embeddings, LSTMs, state layer
    forget_bias: float = 0.0  # start value of the LSTMs' forget bias
    mask_illegal: bool = True  # illegal actions get no probability, so that q sums to one
    encoder_dropout: float = field(default=0.5, metadata=_between(0, 0.99))
    decoder_dropout: float = field(default=0.5, metadata=_between(0, 0.99))


@dataclass(frozen=True)
class PosteriorSettings:
    """Posterior regularisation: the rules, and how lambda is found."""

    rules: str = "ud"  # a file, or the name of one in resources/rules
    features: str = field(
        default="counts", metadata=_one_of("counts", "potentials")
    )  # potentials: all that a rule table says of arcs, in one feature
    expectations: str = field(
        default="rules", metadata=_one_of("rules", "trees")
    )  # trees: of the training text
    dynamics: str = field(default="fixed", metadata=_one_of("fixed", "released", "off"))
    strength: float = field(
        default=2.0, metadata=_at_least(0)
    )  # a fixed lambda: of rules where .5 is expected, or of the potentials
    epsilon: float = field(default=0.1, metadata=_at_least(0))  # slack of the constraints
    lr: float = field(default=0.1, metadata=_at_least(0))  # of lambda, in the released dynamics
    momentum: float = field(default=0.9, metadata=_between(0, 1))


@dataclass(frozen=True)
class TrainSettings:
    """How the networks are trained; number of updates, step and clipping are those of the first stage.

    The first stage is pretraining, in the paper's words, and what learns from trees. Without updates and
    epochs it is left out.
    """

    learner: str = field(default="neural", metadata=_one_of("neural", "linear"))  # linear: from trees only
    seed: int = field(default=1, metadata=_at_least(0))
    updates: int = field(default=400, metadata=_at_least(0))  # when training ends; 0: see epochs
    epochs: int = field(
        default=0, metadata=_at_least(0)
    )  # when training ends, if that is sooner; 0: see updates
    batch_size: int = field(default=16, metadata=_at_least(1))  # sentences an update
    samples: int = field(default=20, metadata=_at_least(2))  # M, derivations a sentence
    exponent: float = field(default=1.0, metadata=_between(0.01, 100))  # samples follow q to this power
    lr: float = field(default=0.01, metadata=_at_least(0))
    clip: float = field(default=0.5, metadata=_at_least(0))  # largest joint norm of the gradients; 0: off
    l2: float = field(default=1e-4, metadata=_at_least(0))
    average: float = field(default=0.997, metadata=_between(0, 0.999999))  # decay of averaged weights; 0: off
    engine: str = field(default="lockstep", metadata=_one_of("lockstep", "per_sentence"))  # same results
    select: str = field(
        default="last", metadata=_one_of("last", "dev", "teacher")
    )  # dev: best DDA on gold dev trees; teacher: best DDA on the text, as the teacher expects it
    evaluate_every: int = field(default=50, metadata=_at_least(1))  # updates
    dev_max_len: int = field(default=15, metadata=_at_least(1))


@dataclass(frozen=True)
class FinetuneSettings:
    """The second stage, variational inference with a score function; without updates and epochs, none."""

    updates: int = field(default=0, metadata=_at_least(0))
    epochs: int = field(default=0, metadata=_at_least(0))
    score: str = field(default="rl-pc", metadata=_one_of("rl-bl", "rl-sn", "rl-c", "rl-pc", "loo"))
    form: str = field(default="paper", metadata=_one_of("paper", "released"))  # of the score
    objective: str = field(default="elbo", metadata=_one_of("elbo", "rules"))  # rules: + lambda . counts
    decoder: str = field(default="plain", metadata=_one_of("score", "plain"))  # plain: as in pretraining
    lr: float = field(default=0.002, metadata=_at_least(0))
    clip: float = field(default=0.25, metadata=_at_least(0))


@dataclass(frozen=True)
class LanguageModelSettings:
    """The language model whose log p(x) is the baseline of the score rl-bl."""

    hidden_dim: int = field(default=100, metadata=_at_least(1))
    epochs: int = field(default=20, metadata=_at_least(1))
    batch_size: int = field(default=64, metadata=_at_least(1))
    lr: float = field(default=0.01, metadata=_at_least(0))
    clip: float = field(default=0.25, metadata=_at_least(0))
    dropout: float = field(default=0.2, metadata=_between(0, 0.99))


@dataclass(frozen=True)
class TeacherSettings:
    """An exact learner, from whose trees the first stage learns instead of from the text itself."""

    kind: str = field(default="none", metadata=_one_of("none", "dmv", "convex-mst", "ensemble"))
    prior: str = "best"  # rule table: a file, or the name of one in resources/rules
    max_len: int = field(default=0, metadata=_at_least(0))  # of sentences that EM learns from; 0: of all


@dataclass(frozen=True)
class Settings:
    """All settings of a run."""

    data: DataSettings = field(default_factory=DataSettings)
    model: ModelSettings = field(default_factory=ModelSettings)
    posterior: PosteriorSettings = field(default_factory=PosteriorSettings)
    train: TrainSettings = field(default_factory=TrainSettings)
    finetune: FinetuneSettings = field(default_factory=FinetuneSettings)
    language_model: LanguageModelSettings = field(default_factory=LanguageModelSettings)
    teacher: TeacherSettings = field(default_factory=TeacherSettings)

    def __post_init__(self) -> None:
        is_neural = self.train.learner == "neural"
        has_first = bool(self.train.updates or self.train.epochs)
        if is_neural and not has_first and not self.finetunes:
            raise ConfigError(
                "config: 'train.updates' and 'train.epochs' cannot both be 0, unless 'finetune' has updates "
                "or epochs: nothing would be trained"
            )
        if is_neural and not has_first and self.teacher.kind != "none":
            raise ConfigError(
                "config: 'train.updates' and 'train.epochs' cannot both be 0 with a teacher: nothing would "
                "learn from its trees; set teacher.kind=none"
            )
        if is_neural and self.train.select == "teacher" and self.teacher.kind == "none":
            raise ConfigError("config: 'train.select' = teacher asks a teacher; set teacher.kind=dmv")
        if self.posterior.features == "potentials":
            for key, value, other in (("dynamics", "released", "fixed"), ("expectations", "trees", "rules")):
                if getattr(self.posterior, key) == value:
                    raise ConfigError(
                        f"config: 'posterior.{key}' = {value} is for counts of rules; set "
                        f"posterior.{key}={other}, or posterior.features=counts"
                    )
        for key in ("vectors", "clusters"):
            if getattr(self.data, key) and not self.model.word_dim:
                raise ConfigError(
                    f"config: 'data.{key}' is for lexicalised models; set model.word_dim, to 80 for example"
                )

    @property
    def finetunes(self) -> bool:
        """If there is a second stage."""
        return self.train.learner == "neural" and bool(self.finetune.updates or self.finetune.epochs)

    def to_dict(self) -> dict[str, dict[str, Any]]:
        return asdict(self)

    def to_toml(self) -> str:
        """The settings as a preset file that gives them back."""
        lines: list[str] = []
        for section, values in self.to_dict().items():
            lines += [
                f"[{section}]",
                *(f"{name} = {_toml(value)}" for name, value in values.items()),
                "",
            ]
        return "\n".join(lines)


def _toml(value: Any) -> str:
    """One value in TOML, whose literals are those of JSON but for two escapes."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def resources() -> Path:
    """The folder of rules, presets and the demo treebank: inside an installed package, or beside it."""
    package = Path(__file__).resolve().parent
    inside = package / "resources"
    return inside if inside.is_dir() else package.parent / "resources"


def preset_names() -> list[str]:
    """Names of the presets that come with the package."""
    return sorted(path.stem for path in (resources() / "presets").glob("*.toml"))


def _nearest(name: str, names: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(names), n=1, cutoff=0.5)
    return f"; did you mean '{close[0]}'?" if close else ""


def _checked(section: str, item: Any, value: Any) -> Any:
    """The value in the type of the dataclass field `item`, checked against its bounds."""
    key, kind = f"{section}.{item.name}", type(item.default)
    if kind is float and type(value) is int:
        with suppress(OverflowError):  # too large: no number for this purpose
            value = float(value)
    if type(value) is not kind:
        names = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}
        raise ConfigError(f"config: '{key}' must be {names[kind]}, not {value!r}")
    if kind is float and not math.isfinite(value):
        raise ConfigError(f"config: '{key}' must be a finite number, not {value}")
    if kind is str and value != value.encode("utf-8", "replace").decode():
        raise ConfigError(f"config: '{key}' must be a text in UTF-8, not {value!r}")
    choices = item.metadata.get("choices")
    if choices and value not in choices:
        raise ConfigError(
            f"config: '{key}' must be one of {', '.join(choices)}, not {value!r}" + _nearest(value, choices)
        )
    if "low" in item.metadata and not item.metadata["low"] <= value <= item.metadata["high"]:
        low, high = item.metadata["low"], item.metadata["high"]
        span = f"at least {low}" if high == float("inf") else f"from {low} to {high}"
        raise ConfigError(f"config: '{key}' must be {span}, not {value}")
    return value


def merge(settings: Settings, changes: Mapping[str, Mapping[str, Any]]) -> Settings:
    """The settings with some of them changed.

    Raises:
        ConfigError: an unknown section or key (names the nearest one), a wrong type, a value out of bounds.
    """
    sections = {item.name: getattr(settings, item.name) for item in fields(settings)}
    every_key = [f"{name}.{item.name}" for name, values in sections.items() for item in fields(values)]
    for section, values in changes.items():
        if section not in sections:
            raise ConfigError(f"config: no section '{section}'" + _nearest(section, sections))
        if not isinstance(values, Mapping):
            raise ConfigError(f"config: '{section}' is a section, not a key; write '{section}.NAME'")
        items = {item.name: item for item in fields(sections[section])}
        for name in values:
            if name not in items:
                raise ConfigError(
                    f"config: no key '{section}.{name}'" + _nearest(f"{section}.{name}", every_key)
                )
        checked = {name: _checked(section, items[name], value) for name, value in values.items()}
        sections[section] = replace(sections[section], **checked)
    return Settings(**sections)


def parse_assignment(text: str) -> dict[str, dict[str, Any]]:
    """`section.key=value` as the nested mapping that `merge` takes; the value in TOML, quotes optional."""
    key, equals, value = text.partition("=")
    section, dot, name = key.strip().partition(".")
    if not equals or not dot or not name:
        raise ConfigError(f"config: cannot read '{text}'; write section.key=value, as in train.lr=0.02")
    try:
        parsed = tomllib.loads(f"x = {value.strip()}")["x"]
    except ValueError:  # not TOML, or a number too long to be read
        parsed = value.strip()
    return {section: {name: parsed}}


def from_toml(text: str, where: str, base: Settings | None = None) -> Settings:
    """Settings from the text of a preset or of a saved `settings.toml`."""
    try:
        changes = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{where}: not a TOML file: {error}") from None
    try:
        return merge(base or Settings(), changes)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None


def load_settings(presets: str | Sequence[str] = DEFAULT_PRESET, assignments: Iterable[str] = ()) -> Settings:
    """A preset (its name, or the path of a TOML file), or several one on top of the other, with single
    settings changed on top.

    Raises:
        ConfigError: no such preset, or see `merge`.
    """
    settings = Settings()
    for preset in [presets] if isinstance(presets, str) else presets:
        settings = from_toml(*_preset_text(preset), settings)
    changes: dict[str, dict[str, Any]] = {}
    for assignment in assignments:
        for section, values in parse_assignment(assignment).items():
            changes.setdefault(section, {}).update(values)
    return merge(settings, changes)


def _preset_text(preset: str) -> tuple[str, str]:
    """Text and path of a preset."""
    path = Path(preset) if preset.endswith(".toml") else resources() / "presets" / f"{preset}.toml"
    try:
        return path.read_text(encoding="utf-8-sig"), str(path)
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: cannot read the preset: not UTF-8 text") from None
    except OSError as error:
        if preset.endswith(".toml"):
            raise ConfigError(f"{path}: cannot read the preset: {error.strerror}") from None
        names = preset_names()
        message = f"no preset '{preset}'{_nearest(preset, names)} (there are: {', '.join(names)})"
        raise ConfigError(f"config: {message}") from None


def rules_path(name: str) -> Path:
    """The file that `posterior.rules` names: one of resources/rules, without its ending, or else a path.

    So a file or folder called `ud` where the program is started does not stand in for the rules `ud`.
    """
    bundled = {path.stem: path for path in (resources() / "rules").glob("*.txt")}
    if name in bundled:
        return bundled[name]
    if not Path(name).suffix and not Path(name).exists():
        there_are = f"(there are: {', '.join(sorted(bundled))})"
        raise ConfigError(f"config: no rules '{name}'{_nearest(name, bundled)} {there_are}")
    return Path(name)
