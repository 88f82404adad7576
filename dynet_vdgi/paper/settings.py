"""Settings of the neural parser: the shape of its networks, and how they are trained."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from dynet_vdgi.errors import ConfigError
from dynet_vdgi.settings.settings import ONLY_TREES, Exclusions, Section, Settings


class ModelSettings(Section, frozen=True):
    """Shape of the neural parser's encoder and decoder."""

    word_dim: Annotated[
        int,
        Meta(ge=0, description="size of the projected word vector; 0: the parser sees tags only"),
    ] = 0
    vector_dim: Annotated[
        int, Meta(ge=1, description="size of word vectors; words.vectors sets it")
    ] = 300
    tag_dim: Annotated[int, Meta(ge=1, description="size of the tag embeddings")] = 80
    hidden_dim: Annotated[
        int, Meta(ge=1, description="size of word embeddings, LSTMs and state layer")
    ] = 64
    forget_bias: Annotated[float, Meta(description="initial forget bias of the LSTMs")] = 0.0
    mask_illegal: Annotated[
        bool, Meta(description="give illegal actions no probability, so that q sums to one")
    ] = True
    encoder_dropout: Annotated[float, Meta(ge=0, le=0.99, description="dropout of the encoder")] = (
        0.5
    )
    decoder_dropout: Annotated[float, Meta(ge=0, le=0.99, description="dropout of the decoder")] = (
        0.5
    )


class WordSettings(Section, frozen=True):
    """Words of a parser whose parser.word_dim is above 0."""

    min_freq: Annotated[int, Meta(ge=1, description="rarer words count as unknown")] = 2
    lowercase: Annotated[bool, Meta(description="lower-case all words")] = True
    vectors: Annotated[str, Meta(description="file of word vectors; empty: random ones")] = ""
    clusters: Annotated[
        str, Meta(description="file of word clusters; empty: classes by frequency")
    ] = ""


class PosteriorSettings(Section, frozen=True):
    """Posterior regularisation of learning from text: how the rules enter, how lambda is found."""

    expectations: Annotated[
        Literal["rules", "each_rule", "capped", "rates", "trees"],
        Meta(
            description="of all rules or each rule; numbers of the rule file, capped or per pair;"
            " or of gold trees"
        ),
    ] = "rules"
    dynamics: Annotated[
        Literal["dual", "fixed", "released", "off"],
        Meta(description="lambda solves Eq. 11, is fixed, grows, or is 0"),
    ] = "dual"
    share: Annotated[
        float,
        Meta(ge=0, le=1, description="rule arcs expected, of those in the trees with most of them"),
    ] = 0.98
    strength: Annotated[
        float, Meta(ge=0, description="fixed lambda of a rule with expectation 0.5")
    ] = 2.0
    epsilon: Annotated[float, Meta(ge=0, description="slack of the constraints")] = 0.1
    lr: Annotated[float, Meta(ge=0, description="learning rate of lambda")] = 0.05
    momentum: Annotated[float, Meta(ge=0, le=1, description="momentum of lambda")] = 0.9


class TrainSettings(Section, frozen=True):
    """How the networks are trained; updates, epochs, lr and clip are those of the first stage.

    The first stage is the paper's pretraining, or learning from trees. It is left out if updates
    and epochs are both 0. A preset or an assignment that sets one of the two sets the other to 0.
    """

    updates: Annotated[int, Meta(ge=0, description="updates of the first stage")] = 400
    epochs: Annotated[
        int, Meta(ge=0, description="epochs of the first stage, instead of updates")
    ] = 0
    lr: Annotated[float, Meta(ge=0, description="learning rate of the first stage")] = 0.01
    clip: Annotated[
        float, Meta(ge=0, description="clip the gradients of the first stage at this norm; 0: off")
    ] = 0.5
    batch_size: Annotated[int, Meta(ge=1, description="sentences per update")] = 16
    samples: Annotated[int, Meta(ge=2, description="samples per sentence; M in the paper")] = 20
    exponent: Annotated[
        float, Meta(ge=0.01, le=100, description="draw samples from q to this power")
    ] = 1.0
    l2: Annotated[float, Meta(ge=0, description="L2 penalty on the weights")] = 1e-4
    average: Annotated[
        float, Meta(ge=0, le=0.999999, description="decay of averaged weights; 0: off")
    ] = 0.997
    engine: Annotated[
        Literal["lockstep", "per_sentence"],
        Meta(description="fast engine, or the readable reference"),
    ] = "lockstep"
    select: Annotated[
        Literal["last", "dev"],
        Meta(description="keep the last weights, or the best on gold dev trees"),
    ] = "last"
    evaluate_every: Annotated[int, Meta(ge=1, description="updates between evaluations")] = 50
    dev_max_len: Annotated[int, Meta(ge=1, description="longest dev sentence, in words")] = 15


class FinetuneSettings(Section, frozen=True):
    """The second stage: variational inference with a score function; left out without updates and
    epochs."""

    updates: Annotated[int, Meta(ge=0, description="updates of the second stage")] = 0
    epochs: Annotated[
        int, Meta(ge=0, description="epochs of the second stage, instead of updates")
    ] = 0
    score: Annotated[
        Literal["rl-bl", "rl-sn", "rl-c", "rl-pc"], Meta(description="score function")
    ] = "rl-pc"
    ties: Annotated[
        Literal["positive", "rl-sn"],
        Meta(description="rl-pc where all samples have equally many rule arcs: positive, or rl-sn"),
    ] = "positive"
    form: Annotated[
        Literal["paper", "released"], Meta(description="of the paper, or of the released code")
    ] = "paper"
    decoder: Annotated[
        Literal["score", "plain"],
        Meta(description="its weights: by the score, or as in pretraining"),
    ] = "score"
    share: Annotated[
        float, Meta(ge=0, le=1, description="posterior.share of the second stage; 0: the same")
    ] = 0.0
    first_lambda: Annotated[
        Literal["carried", "zero"],
        Meta(description="lambda goes on where the first stage left it, or starts at 0"),
    ] = "carried"
    lr: Annotated[float, Meta(ge=0, description="learning rate of the second stage")] = 0.002
    clip: Annotated[float, Meta(ge=0, description="clip the gradients at this norm; 0: off")] = 0.25


class LanguageModelSettings(Section, frozen=True):
    """The language model whose log p(x) is the baseline of the score rl-bl."""

    hidden_dim: Annotated[int, Meta(ge=1, description="size of the LSTM")] = 100
    epochs: Annotated[int, Meta(ge=1, description="passes over the text")] = 20
    batch_size: Annotated[int, Meta(ge=1, description="sentences per update")] = 64
    lr: Annotated[float, Meta(ge=0, description="learning rate")] = 0.01
    clip: Annotated[float, Meta(ge=0, description="clip the gradients at this norm; 0: off")] = 0.25
    dropout: Annotated[float, Meta(ge=0, le=0.99, description="dropout")] = 0.2


_FINETUNING = " ".join(
    f"finetune.{key}"
    for key in FinetuneSettings.__struct_fields__
    if key not in ("updates", "epochs")
)

_WITHOUT = "posterior.dynamics={0.posterior.dynamics} does without it"

_TAGS_ONLY = "the parser sees tags only; set parser.word_dim, to 80 for example"

# fmt: off
_EXCLUSIONS: Exclusions = (
    ("words parser.vector_dim", _TAGS_ONLY, lambda s, i: not s.parser.word_dim),
    ("words.min_freq words.lowercase parser.vector_dim",
     "the model to start from has words of its own",
     lambda s, i: s.parser.word_dim and i.has_init),
    ("parser.vector_dim", "words.vectors says how long vectors are",
     lambda s, i: s.parser.word_dim and not i.has_init and i.in_a_run and s.words.vectors),
    ("train.lr train.clip", "there is no first stage: train.updates and train.epochs are 0",
     lambda s, i: not s.pretrains),
    (_FINETUNING, "there is no fine-tuning; set finetune.updates", lambda s, i: not s.finetunes),
    ("language_model", "it is for finetune.score=rl-bl",
     lambda s, i: not s.finetunes or s.finetune.score != "rl-bl"),
    ("posterior train.samples train.exponent",
     "the parser learns from trees, not from the text itself",
     lambda s, i: not i.has_text),
    ("posterior.epsilon posterior.lr", _WITHOUT,
     lambda s, i: s.posterior.dynamics not in ("dual", "released")),
    ("finetune.ties", "finetune.form=released has ties of its own",
     lambda s, i: s.finetune.form == "released"),
    ("finetune.ties", "it is for finetune.score=rl-pc", lambda s, i: s.finetune.score != "rl-pc"),
    ("finetune.first_lambda", _WITHOUT, lambda s, i: s.posterior.dynamics != "dual"),
    ("posterior.momentum", _WITHOUT, lambda s, i: s.posterior.dynamics != "released"),
    ("posterior.share finetune.share",
     "posterior.expectations={0.posterior.expectations} says how many rule arcs there are",
     lambda s, i: s.posterior.expectations not in ("rules", "each_rule")),
    ("posterior.share finetune.share", _WITHOUT, lambda s, i: s.posterior.dynamics != "dual"),
    ("posterior.lr posterior.momentum", "lambda is moved by finetune.lr",
     lambda s, i: s.posterior.dynamics == "released" and not s.pretrains),
    ("posterior.strength", _WITHOUT, lambda s, i: s.posterior.dynamics != "fixed"),
    ("posterior.expectations", _WITHOUT, lambda s, i: s.posterior.dynamics == "off"),
    ("rules", _WITHOUT,
     lambda s, i: s.posterior.dynamics == "off" and not s.counts_for_scores),
    ("train.dev_max_len", "there are no gold dev trees; name them with --dev",
     lambda s, i: not i.has_dev),
    ("rules language_model finetune.score finetune.ties finetune.form finetune.decoder"
     " finetune.share finetune.first_lambda", ONLY_TREES,
     lambda s, i: not i.has_text),
)

# fmt: on


class NeuralSettings(Settings, frozen=True, tag_field="recipe", tag="neural"):
    """The paper's parser, trained on the text itself, or on gold trees."""

    parser: ModelSettings = ModelSettings()
    words: WordSettings = WordSettings()
    posterior: PosteriorSettings = PosteriorSettings()
    train: TrainSettings = TrainSettings()
    finetune: FinetuneSettings = FinetuneSettings()
    language_model: LanguageModelSettings = LanguageModelSettings()

    exclusions: ClassVar[Exclusions] = _EXCLUSIONS

    @property
    def files(self) -> dict[str, str]:
        words = self.words
        has_words = bool(self.parser.word_dim)
        return {"vectors": words.vectors, "clusters": words.clusters} if has_words else {}

    @property
    def pretrains(self) -> bool:
        """If there is a first stage."""
        return bool(self.train.updates or self.train.epochs)

    @property
    def finetunes(self) -> bool:
        """If there is a second stage."""
        return bool(self.finetune.updates or self.finetune.epochs)

    @property
    def counts_for_scores(self) -> bool:
        """If a score function counts rules, whatever lambda is."""
        return self.finetunes and self.finetune.score in ("rl-c", "rl-pc")

    @property
    def chooses_on_dev(self) -> bool:
        return self.train.select == "dev"

    @property
    def counts_in_trees(self) -> bool:
        return self.posterior.expectations == "trees"

    @property
    def counts_rules(self) -> bool:
        return True

    def check_together(self) -> None:
        if not self.pretrains and not self.finetunes:
            raise ConfigError(
                "config: 'train.updates' and 'train.epochs' cannot both be 0, unless 'finetune' "
                "has updates or epochs: nothing would be trained"
            )
