"""Every setting of a run, typed, in one place; `presets` reads them from files and from the command line.

A setting's name is `section.name`, as in `--set teacher.iterations=30`; `seed` and `rules` have no section.
`teacher` and `parser` are unions: their `kind` says which numbers there are. The sections in NEURAL_SECTIONS
are for the neural parser; others leave them alone, and nobody may set them (`without_effect`).

The defaults are the recommended recipe, the preset `best`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from dynet_vdgi.errors import ConfigError

# What a run writes into its folder.
MODEL_NAME, LOG_NAME, SETTINGS_NAME = "model.vdgi", "log.jsonl", "settings.toml"

NEURAL_SECTIONS = ("words", "posterior", "train", "finetune", "language_model")


class Section(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings that belong together."""


class DataSettings(Section, frozen=True):
    """Which words and sentences are used."""

    protocol: Annotated[
        Literal["standard", "as_released"], Meta(description="which words and trees count")
    ] = "standard"
    tags: Annotated[Literal["upos", "xpos"], Meta(description="column that holds the tags")] = "upos"
    max_len: Annotated[int, Meta(ge=2, description="longest training sentence, in words")] = 40
    ignore: Annotated[
        tuple[Literal["feats", "xpos", "forms", "punctuation"], ...],
        Meta(description="what of the words is hidden from teacher and parser, in training and parsing"),
    ] = ()


# ------------------------------------------------------------------------------------------- teachers
class NoTeacher(Section, frozen=True, tag_field="kind", tag="none"):
    """No teacher: the parser learns from the text itself, or from gold trees."""


class DmvSettings(Section, frozen=True, tag_field="kind", tag="dmv"):
    """EM of the dependency model with valence, see `teachers.dmv`."""

    max_len: Annotated[int, Meta(ge=0, description="longest sentence it learns from, in words; 0: any")] = 15
    iterations: Annotated[int, Meta(ge=0, description="iterations of EM, stage one")] = 20
    valence_iterations: Annotated[int, Meta(ge=0, description="iterations of EM, stage two")] = 10
    smoothing: Annotated[float, Meta(gt=0, description="pseudo-count added to every parameter")] = 0.1
    backoff: Annotated[float, Meta(gt=0, description="pseudo-counts that stage two takes from stage one")] = (
        100.0
    )


class ConvexMstSettings(Section, frozen=True, tag_field="kind", tag="convex-mst"):
    """The objective of Convex-MST, and for how long it is minimised, see `teachers.convex_mst`."""

    max_len: Annotated[int, Meta(ge=0, description="longest sentence it learns from, in words; 0: any")] = 15
    prior_weight: Annotated[float, Meta(gt=0, description="weight of the rule table, the authors' mu")] = 0.3
    ridge: Annotated[float, Meta(gt=0, description="penalty on the weights, their lambda")] = 0.001
    iterations: Annotated[int, Meta(ge=0, description="iterations of Frank-Wolfe")] = 20


class LcDmvSettings(Section, frozen=True, tag_field="kind", tag="lc-dmv"):
    """LC-DMV: a DMV with features, over trees that need no deep stack, see `teachers.lc_dmv`."""

    max_len: Annotated[int, Meta(ge=0, description="longest sentence it learns from, in words; 0: any")] = 15
    iterations: Annotated[int, Meta(ge=0, description="iterations of L-BFGS")] = 100
    depth: Annotated[int, Meta(ge=0, le=9, description="things on the left-corner stack; 0: any")] = 1
    chunk: Annotated[
        int, Meta(ge=1, description="longest embedded chunk that counts for nothing, in words")
    ] = 3
    penalty: Annotated[float, Meta(ge=0, description="L2 penalty on the weights of features")] = 0.0


class RfSettings(Section, frozen=True, tag_field="kind", tag="rf"):
    """RF: a parser that counts in its own parses, see `teachers.rasooli_faili`."""

    max_len: Annotated[int, Meta(ge=0, description="longest sentence it learns from, in words; 0: any")] = 15
    iterations: Annotated[int, Meta(ge=1, description="passes, each with longer sentences")] = 15
    beam: Annotated[int, Meta(ge=1, description="derivations that are kept at a word")] = 8
    smoothing: Annotated[float, Meta(gt=0, description="pseudo-counts from the shorter context")] = 1.0


class HdpDmvSettings(Section, frozen=True, tag_field="kind", tag="hdp-dmv"):
    """HDP-DMV: a Bayesian DMV with hidden subsymbols, under a share of rules, see `teachers.hdp_dmv`."""

    max_len: Annotated[int, Meta(ge=0, description="longest sentence it learns from, in words; 0: any")] = 10
    iterations: Annotated[int, Meta(ge=1, description="iterations of variational inference")] = 10
    subsymbols: Annotated[int, Meta(ge=1, le=20, description="hidden subsymbols of each tag")] = 4
    share: Annotated[float, Meta(ge=0, le=0.99, description="least share of arcs that follow a rule")] = 0.8


class NeuralDmvSettings(Section, frozen=True, tag_field="kind", tag="ndmv"):
    """Neural DMV: a DMV whose probabilities a network computes, see `teachers.neural_dmv`."""

    max_len: Annotated[int, Meta(ge=0, description="longest sentence it learns from, in words; 0: any")] = 15
    siblings: Annotated[bool, Meta(description="a child depends on the tag of the child before")] = True
    start: Annotated[Literal["harmonic", "dmv"], Meta(description="whose trees it starts from")] = "harmonic"
    potentials: Annotated[Literal["all", "start"], Meta(description="where the rules count")] = "all"
    epochs: Annotated[int, Meta(ge=0, description="passes over the text")] = 10
    lr: Annotated[float, Meta(gt=0, description="learning rate of Adam")] = 0.001


class EnsembleSettings(Section, frozen=True, tag_field="kind", tag="ensemble"):
    """A DMV and Convex-MST with equal votes."""

    dmv: DmvSettings = DmvSettings()
    convex_mst: ConvexMstSettings = ConvexMstSettings()


TeacherSettings = (
    NoTeacher
    | DmvSettings
    | ConvexMstSettings
    | LcDmvSettings
    | HdpDmvSettings
    | NeuralDmvSettings
    | RfSettings
    | EnsembleSettings
)


# ------------------------------------------------------------------------------------------- parsers
class PerceptronSettings(Section, frozen=True, tag_field="kind", tag="perceptron"):
    """The perceptron, which learns from trees and parses in linear time, see `students.perceptron`."""

    epochs: Annotated[int, Meta(ge=1, le=10_000, description="passes over the trees")] = 6
    explore_from: Annotated[
        int,
        Meta(ge=1, le=10_001, description="epoch from which training follows the parser's own actions"),
    ] = 3
    log2_buckets: Annotated[
        int, Meta(ge=1, le=26, description="features are hashed into 2 to this power rows of weights")
    ] = 21
    unknown: Annotated[float, Meta(ge=0, le=1, description="share of words whose tag is hidden")] = 0.03
    orders: Annotated[
        int,
        Meta(ge=1, le=100, description="perceptrons that see the trees in other orders; theirs is the mean"),
    ] = 3


class ModelSettings(Section, frozen=True, tag_field="kind", tag="neural"):
    """Shape of the neural parser's encoder and decoder."""

    word_dim: Annotated[
        int, Meta(ge=0, description="size of the projected word vector; 0: the parser sees tags only")
    ] = 0
    vector_dim: Annotated[int, Meta(ge=1, description="size of word vectors; words.vectors sets it")] = 300
    tag_dim: Annotated[int, Meta(ge=1, description="size of the tag embeddings")] = 80
    hidden_dim: Annotated[int, Meta(ge=1, description="size of word embeddings, LSTMs and state layer")] = 64
    forget_bias: Annotated[float, Meta(description="initial forget bias of the LSTMs")] = 0.0
    mask_illegal: Annotated[
        bool, Meta(description="give illegal actions no probability, so that q sums to one")
    ] = True
    encoder_dropout: Annotated[float, Meta(ge=0, le=0.99, description="dropout of the encoder")] = 0.5
    decoder_dropout: Annotated[float, Meta(ge=0, le=0.99, description="dropout of the decoder")] = 0.5


ParserSettings = PerceptronSettings | ModelSettings


# ------------------------------------------------------------------------------------------- neural parser
class WordSettings(Section, frozen=True):
    """What a parser with parser.word_dim above 0 knows of words."""

    min_freq: Annotated[int, Meta(ge=1, description="rarer words count as unknown")] = 2
    lowercase: Annotated[bool, Meta(description="lower-case all words")] = True
    vectors: Annotated[str, Meta(description="file of word vectors; empty: random ones")] = ""
    clusters: Annotated[str, Meta(description="file of word clusters; empty: classes by frequency")] = ""


class PosteriorSettings(Section, frozen=True):
    """Posterior regularisation of learning from text: how the rules enter, and how lambda is found."""

    features: Annotated[
        Literal["counts", "potentials"],
        Meta(description="count each rule, or sum the arc potentials of the whole table"),
    ] = "counts"
    expectations: Annotated[
        Literal["rules", "trees"], Meta(description="read from the rule file, or counted in gold trees")
    ] = "rules"
    dynamics: Annotated[
        Literal["fixed", "released", "off"], Meta(description="lambda is fixed, moves, or is 0")
    ] = "fixed"
    strength: Annotated[
        float, Meta(ge=0, description="fixed lambda of a rule with expectation 0.5, or of the potentials")
    ] = 2.0
    epsilon: Annotated[float, Meta(ge=0, description="slack of the constraints")] = 0.1
    lr: Annotated[float, Meta(ge=0, description="learning rate of lambda")] = 0.1
    momentum: Annotated[float, Meta(ge=0, le=1, description="momentum of lambda")] = 0.9


class TrainSettings(Section, frozen=True):
    """How the networks are trained; updates, epochs, lr and clip are those of the first stage.

    The first stage is pretraining, in the paper's words, and what learns from trees. Without updates and
    epochs it is left out. A preset or an assignment that sets one of the two sets the other to 0.
    """

    updates: Annotated[int, Meta(ge=0, description="updates of the first stage")] = 400
    epochs: Annotated[int, Meta(ge=0, description="epochs of the first stage, instead of updates")] = 0
    lr: Annotated[float, Meta(ge=0, description="learning rate of the first stage")] = 0.01
    clip: Annotated[
        float, Meta(ge=0, description="clip the gradients of the first stage at this norm; 0: off")
    ] = 0.5
    batch_size: Annotated[int, Meta(ge=1, description="sentences per update")] = 16
    samples: Annotated[int, Meta(ge=2, description="samples per sentence; M in the paper")] = 20
    exponent: Annotated[float, Meta(ge=0.01, le=100, description="draw samples from q to this power")] = 1.0
    l2: Annotated[float, Meta(ge=0, description="L2 penalty on the weights")] = 1e-4
    average: Annotated[float, Meta(ge=0, le=0.999999, description="decay of averaged weights; 0: off")] = (
        0.997
    )
    engine: Annotated[
        Literal["lockstep", "per_sentence"], Meta(description="fast engine, or the readable reference")
    ] = "lockstep"
    select: Annotated[
        Literal["last", "dev", "teacher"],
        Meta(description="keep the last weights, the best on gold dev trees, or the teacher's choice"),
    ] = "last"
    evaluate_every: Annotated[int, Meta(ge=1, description="updates between evaluations")] = 50
    dev_max_len: Annotated[int, Meta(ge=1, description="longest dev sentence, in words")] = 15


class FinetuneSettings(Section, frozen=True):
    """The second stage, variational inference with a score function; without updates and epochs, none."""

    updates: Annotated[int, Meta(ge=0, description="updates of the second stage")] = 0
    epochs: Annotated[int, Meta(ge=0, description="epochs of the second stage, instead of updates")] = 0
    score: Annotated[
        Literal["rl-bl", "rl-sn", "rl-c", "rl-pc", "loo"], Meta(description="score function")
    ] = "rl-pc"
    form: Annotated[
        Literal["paper", "released"], Meta(description="of the paper, or of the released code")
    ] = "paper"
    objective: Annotated[Literal["elbo", "rules"], Meta(description="rules: add lambda times counts")] = (
        "elbo"
    )
    decoder: Annotated[
        Literal["score", "plain"], Meta(description="its weights: by the score, or as in pretraining")
    ] = "plain"
    lr: Annotated[float, Meta(ge=0, description="learning rate of the second stage")] = 0.002
    clip: Annotated[float, Meta(ge=0, description="clip the gradients at this norm; 0: off")] = 0.25


class TransferSettings(Section, frozen=True):
    """A start from treebanks of other languages, see `teachers.transfer`."""

    trees: Annotated[
        int, Meta(ge=0, description="most trees of each treebank of another language; 0: no such treebanks")
    ] = 0


class LanguageModelSettings(Section, frozen=True):
    """The language model whose log p(x) is the baseline of the score rl-bl."""

    hidden_dim: Annotated[int, Meta(ge=1, description="size of the LSTM")] = 100
    epochs: Annotated[int, Meta(ge=1, description="passes over the text")] = 20
    batch_size: Annotated[int, Meta(ge=1, description="sentences per update")] = 64
    lr: Annotated[float, Meta(ge=0, description="learning rate")] = 0.01
    clip: Annotated[float, Meta(ge=0, description="clip the gradients at this norm; 0: off")] = 0.25
    dropout: Annotated[float, Meta(ge=0, le=0.99, description="dropout")] = 0.2


Seed = Annotated[int, Meta(ge=0, le=2**63 - 1, description="seed of everything random")]


class Settings(Section, frozen=True):
    """All settings of a run."""

    seed: Seed = 1
    rules: Annotated[
        str,
        Meta(description="rule table of teacher, prior and posterior: a file, or a name in resources/rules"),
    ] = "best"
    data: DataSettings = DataSettings()
    teacher: TeacherSettings = DmvSettings()
    parser: ParserSettings = PerceptronSettings()
    transfer: TransferSettings = TransferSettings()
    words: WordSettings = WordSettings()
    posterior: PosteriorSettings = PosteriorSettings()
    train: TrainSettings = TrainSettings()
    finetune: FinetuneSettings = FinetuneSettings()
    language_model: LanguageModelSettings = LanguageModelSettings()

    @property
    def is_neural(self) -> bool:
        return isinstance(self.parser, ModelSettings)

    @property
    def model(self) -> ModelSettings:
        """The shape of the neural parser. Raises: ConfigError, the parser is another."""
        if not isinstance(self.parser, ModelSettings):
            raise ConfigError("config: the parser is a perceptron; set parser.kind=neural")
        return self.parser

    @property
    def has_teacher(self) -> bool:
        return not isinstance(self.teacher, NoTeacher)

    @property
    def takes_few_trees(self) -> bool:
        """If gold trees, or other languages' treebanks, go to the learner `training.few_trees`."""
        return isinstance(self.parser, PerceptronSettings) and isinstance(self.teacher, DmvSettings)

    @property
    def pretrains(self) -> bool:
        """If the neural parser has a first stage."""
        return self.is_neural and bool(self.train.updates or self.train.epochs)

    @property
    def finetunes(self) -> bool:
        """If the neural parser has a second stage."""
        return self.is_neural and bool(self.finetune.updates or self.finetune.epochs)

    @property
    def learns_from_text(self) -> bool:
        """If a stage learns from the text itself, under posterior regularisation."""
        return self.finetunes or (self.pretrains and not self.has_teacher)

    @property
    def kind(self) -> str:
        """The kind of the parser."""
        return "neural" if self.is_neural else "perceptron"

    def to_dict(self) -> dict[str, Any]:
        """Sections and keys that mean something for this parser, in the form of a preset."""
        return _effective(msgspec.to_builtins(self), without_effect(self))

    def to_toml(self) -> str:
        """The settings as a preset file that gives them back."""
        values = self.to_dict()
        return "\n".join([*_toml_lines(values)]) + "\n"


def _effective(values: Mapping[str, Any], idle: Mapping[str, str], prefix: str = "") -> dict[str, Any]:
    """Without what is idle, sections that it leaves empty, and kinds inside a section, which never change."""
    kept: dict[str, Any] = {}
    for key, value in values.items():
        name = prefix + key
        if name in idle or (key == "kind" and prefix.count(".") > 1):
            continue
        found = _effective(value, idle, f"{name}.") if isinstance(value, dict) else value
        found = list(found) if isinstance(found, tuple) else found  # as TOML has it
        if found != {}:
            kept[key] = found
    return kept


def _toml_lines(values: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    for name, value in values.items():
        if not isinstance(value, dict):
            # The literals of TOML are those of JSON but for two escapes.
            yield f"{name} = " + json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    for name, value in values.items():
        if isinstance(value, dict):
            yield f"\n[{prefix}{name}]"
            yield from _toml_lines(value, f"{prefix}{name}.")


# ------------------------------------------------------------------------------------------- no effect
ONLY_TREES = "there is no text to learn from, only trees"
FEW_TREES = "the parser that learns from a few trees has fixed numbers (`training.few_trees`)"


def without_effect(
    settings: Settings,
    *,
    has_text: bool = True,
    has_dev: bool = True,
    has_init: bool = False,
    few_trees: bool = False,
    in_a_run: bool = False,
) -> dict[str, str]:
    """Sections and keys that change nothing in a run with these settings, and why.

    `has_text`: there is text, not only trees; `has_dev`: there are gold dev trees; `has_init`: there is a
    model to start from; `few_trees`: `training.few_trees` learns; `in_a_run`: with what files of settings
    keep all the same.
    """
    idle: dict[str, str] = {}

    def say(reason: str, *names: str) -> None:
        idle.update(dict.fromkeys(names, reason))

    idle.update(_idle_teaching(settings, in_a_run))
    idle.update(_idle_trees(settings, has_text, few_trees))
    if not settings.is_neural:
        say("it is for the neural parser; set parser.kind=neural", *NEURAL_SECTIONS)
        if not settings.has_teacher:
            say("there is no teacher to go by rules", "rules")
        return idle
    if not settings.model.word_dim:
        say("the parser sees tags only; set parser.word_dim, to 80 for example", "words", "parser.vector_dim")
    elif has_init:
        words = ("words.min_freq", "words.lowercase", "parser.vector_dim")
        say("the model to start from has words of its own", *words)
    elif in_a_run and settings.words.vectors:
        say("words.vectors says how long vectors are", "parser.vector_dim")
    if not settings.pretrains:
        say("there is no first stage: train.updates and train.epochs are 0", "train.lr", "train.clip")
    if not settings.finetunes:
        keys = set(FinetuneSettings.__struct_fields__) - {"updates", "epochs"}
        say("there is no fine-tuning; set finetune.updates", *(f"finetune.{key}" for key in keys))
    if not settings.finetunes or settings.finetune.score != "rl-bl":
        say("it is for finetune.score=rl-bl", "language_model")
    if settings.finetune.score == "loo":
        say("finetune.score=loo has one form", "finetune.form")
    if not (has_text and settings.learns_from_text):
        reason = "the parser learns from trees, not from the text itself"
        say(reason, "posterior", "train.samples", "train.exponent")
    if not has_dev:
        say("there are no gold dev trees; name them with --dev", "train.dev_max_len")
    regularisation = _idle_regularisation(settings)
    if "posterior" in idle:  # as a whole
        regularisation = {name: why for name, why in regularisation.items() if "posterior." not in name}
    idle.update(regularisation)
    if not has_text:
        parts = (f"finetune.{key}" for key in ("score", "form", "objective", "decoder"))
        say(ONLY_TREES, "language_model", *parts)
        if settings.train.select == "teacher":
            say(ONLY_TREES, "train.select")
    return idle


def _idle_teaching(settings: Settings, in_a_run: bool) -> dict[str, str]:
    """The part of `without_effect` that is about what teachers do with a text.

    Files keep a max_len also where it is too high for an effect, since the default may be lower.
    """
    idle: dict[str, str] = {}
    teacher = settings.teacher
    members: dict[str, TeacherSettings] = {"teacher": teacher}
    if isinstance(teacher, EnsembleSettings):
        members = {"teacher.dmv": teacher.dmv, "teacher.convex_mst": teacher.convex_mst}
    for name, member in members.items():
        if in_a_run and getattr(member, "max_len", 0) > settings.data.max_len:
            idle[f"{name}.max_len"] = "the text is cut at data.max_len already"
        if isinstance(member, LcDmvSettings) and not member.depth:
            idle[f"{name}.chunk"] = f"there is no bound: {name}.depth is 0"
        if isinstance(member, LcDmvSettings) and not member.iterations:
            idle[f"{name}.penalty"] = "there are no iterations of L-BFGS"
        if isinstance(member, DmvSettings) and not member.valence_iterations:
            idle[f"{name}.backoff"] = f"there is no second stage: {name}.valence_iterations is 0"
            if not member.iterations:
                idle[f"{name}.smoothing"] = "there are no iterations of EM"
    return idle


def _idle_trees(settings: Settings, has_text: bool, few_trees: bool) -> dict[str, str]:
    """The part of `without_effect` that is about gold trees instead of text."""
    idle: dict[str, str] = {}
    if not has_text:
        teacher = ["teacher"] if settings.has_teacher else []  # to say that there is none is right
        idle.update(dict.fromkeys([*teacher, "data.max_len" if few_trees else "rules"], ONLY_TREES))
    if few_trees:
        idle.update({f"parser.{key}": FEW_TREES for key in PerceptronSettings.__struct_fields__})
    if not settings.takes_few_trees:
        idle["transfer.trees"] = "it is for a perceptron with a DMV as its teacher"
    return idle


def _idle_regularisation(settings: Settings) -> dict[str, str]:
    """The part of `without_effect` that is about the rules and lambda."""
    idle: dict[str, str] = {}
    dynamics = settings.posterior.dynamics
    why = f"posterior.dynamics={dynamics} does without it"
    if dynamics != "released":
        idle.update(dict.fromkeys(("posterior.epsilon", "posterior.lr", "posterior.momentum"), why))
    elif not settings.pretrains:
        idle.update(dict.fromkeys(("posterior.lr", "posterior.momentum"), "lambda is moved by finetune.lr"))
    if dynamics != "fixed":
        idle["posterior.strength"] = why
    if dynamics == "off":
        idle["posterior.expectations"] = why
        idle["finetune.objective"] = why
        counts = settings.finetunes and settings.finetune.score in ("rl-c", "rl-pc")
        if not counts:
            idle["posterior.features"] = why
            if not settings.has_teacher:
                idle["rules"] = why
    elif not settings.has_teacher and not settings.learns_from_text:
        idle["rules"] = "nothing learns under them"
    return idle


def leaves(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Full names and values of all settings in nested sections."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from leaves(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value
