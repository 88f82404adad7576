"""The universal parser: weights learnt from trees of other languages, and measures of the text at
hand.

A run either measures a text, with the weights of a finished universal parser, or learns new weights
from treebanks. In a folder, the first also keeps a fast student: a perceptron that learns the
parser's trees of the text, as with the preset universal-fast.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from dynet_vdgi.conllu.vocabulary import Vocabulary, build_vocabulary
from dynet_vdgi.errors import UsageError
from dynet_vdgi.models.model_file import ModelFile, OtherTreebank, Provenance
from dynet_vdgi.models.model_file import load as load_model
from dynet_vdgi.models.run_folder import model_path, shipped
from dynet_vdgi.rule_tables.rules import RuleSet, load_rules
from dynet_vdgi.settings.bundled import rules_path
from dynet_vdgi.settings.presets import load_settings
from dynet_vdgi.settings.settings import FAST_NAME, Exclusions, Settings
from dynet_vdgi.system.messages import count
from dynet_vdgi.training.inputs import Inputs
from dynet_vdgi.training.material import Material
from dynet_vdgi.training.recipe import Recipe, TrainingRun, check_ignored
from dynet_vdgi.universal.encoding import TAGS
from dynet_vdgi.universal.learn.learning_settings import LearningSettings
from dynet_vdgi.universal.scorer import Scorer

if TYPE_CHECKING:
    from dynet_vdgi.models.archive import Arrays
    from dynet_vdgi.parser.universal_engine import UniversalEngine
    from dynet_vdgi.training.input_reader import InputReader
    from dynet_vdgi.universal.learn.learning import GoldTreebank

logger = logging.getLogger("dynet_vdgi")

SHIPPED = "universal"
"""The name of the model that comes with the package."""

FAST = "universal-fast"
"""The preset of the fast student."""

_NO_TREE = "learnt from {} of {}; no tree of yours"

_BEST = "--preset best"

_NO_RULES = (
    "the universal parser measures a text under its model's table and takes no rule table; "
    f"{_BEST} takes one"
)

_NO_TEXT = "there is no text, only treebanks, whose longest sentence is learning.longest"


class UniversalSettings(Settings, frozen=True, tag_field="recipe", tag="universal"):
    """A parser learnt from trees of other languages that adapts to a text by what it measures
    there."""

    learning: LearningSettings = LearningSettings()

    exclusions: ClassVar[Exclusions] = (
        ("rules", _NO_RULES, lambda *_: True),
        ("data.max_len", _NO_TEXT, lambda _, given: not given.has_text),
    )

    @property
    def is_universal(self) -> bool:
        return True

    @property
    def with_trees(self) -> dict[str, Any]:
        return {"teacher": {"kind": "universal"}, "data": {"max_len": 40}}


@dataclass(frozen=True)
class _UniversalMaterial(Material):
    """A text with the model whose weights are taken, or else treebanks from which new ones are
    learnt."""

    model: ModelFile | None = None
    model_name: str = SHIPPED
    treebanks: Sequence[GoldTreebank] = ()
    tag_accuracy: float = 1.0  # of the text


class Universal(Recipe[UniversalSettings]):
    settings = UniversalSettings
    learns_from_treebanks = True
    lacks_calibration = "was learnt without a calibration"

    def successor(self, inputs: Inputs, settings: UniversalSettings) -> str:
        """Gold trees make a CRF of the universal parser."""
        return "few-trees" if inputs.trees else ""

    def check(self, inputs: Inputs, settings: UniversalSettings) -> None:
        if settings.data.protocol != "standard":
            raise UsageError(
                "the universal parser knows punctuation by its place: set data.protocol=standard"
            )
        if settings.data.tags != "upos":
            raise UsageError(
                f"the universal parser reads UPOS: leave out data.tags, or say {_BEST}"
            )
        check_ignored(settings, has_effect=True)
        if inputs.treebanks and inputs.has_text:
            raise UsageError(
                "--treebank learns a new universal parser, which needs no text: leave out --train; "
                "then measure a text with --preset universal --train FILE --init RUN"
            )
        if inputs.treebanks and inputs.init:
            raise UsageError(
                "--init would have no effect: the weights are learnt anew from --treebank"
            )
        if inputs.treebanks and not settings.learning.updates:
            raise UsageError("--treebank would have no effect, because learning.updates is 0")
        if inputs.rules or inputs.facts or inputs.without:
            raise UsageError(
                f"--rules, --language-facts and --without would have no effect: {_NO_RULES}"
            )
        if sum(map(bool, inputs.texts.values())) > 1:
            raise UsageError(
                "a universal parser is for one language: "
                f"train one for each --language, or one for all with {_BEST}"
            )

    def idle(
        self, inputs: Inputs, settings: UniversalSettings, *, has_text: bool | None = None
    ) -> dict[str, str]:
        idle = super().idle(inputs, settings, has_text=inputs.has_text)
        if not inputs.treebanks:
            return idle | {"learning": "there are no treebanks to learn from (--treebank)"}
        if len(inputs.treebanks) == 1:
            idle["learning.invented"] = "one treebank has no other to take an order of words from"
        return idle

    def prepare(
        self, reader: InputReader, settings: UniversalSettings
    ) -> tuple[UniversalSettings, Material]:
        if reader.inputs.treebanks:
            return settings, _treebanks(reader, settings)
        settings = msgspec.structs.replace(settings, learning=LearningSettings(updates=0))
        return settings, _text(reader)

    def learn(self, run: TrainingRun[UniversalSettings]) -> ModelFile:
        material, provenance = run.material, run.provenance
        assert isinstance(material, _UniversalMaterial)
        model, row = (
            _learnt(material, run.settings)
            if material.model is None
            else _measured(material, material.model, run.settings)
        )
        treebanks = model.provenance.treebanks
        gold_trees = [*provenance.gold_trees, *model.provenance.gold_trees]
        if material.model is None:
            updates = run.settings.learning.updates
            # late: it takes as long as the parsing of a few sentences
            from importlib import metadata

            provenance = provenance.with_(dynet=metadata.version("dyNET38"), updates=updates)
        else:
            languages = {label.partition("-")[0] for label in treebanks}
            numbers = count(len(treebanks), "treebank"), count(len(languages), "language")
            gold_trees = [_NO_TREE.format(*numbers)]
        provenance = provenance.with_(treebanks=treebanks, gold_trees=tuple(gold_trees))
        if run.folder and material.model is not None:
            _keep_student(run, material, provenance)
        if material.dev:
            from dynet_vdgi.evaluation.attachment import score
            from dynet_vdgi.parser.decoding import find

            trees = [tree.heads for tree in find(self.engine(model), material.dev)]
            row["dev_dda"] = score(material.dev, trees).dda
            gold_trees.append("dev: progress figures only")
            logger.info("dev DDA %.3f", row["dev_dda"])
        model.provenance = provenance.with_(gold_trees=tuple(gold_trees), dev_dda=row["dev_dda"])
        run.log.append(row)
        run.save(model)
        return model

    def engine(self, model: ModelFile) -> UniversalEngine:
        from dynet_vdgi.parser.universal_engine import UniversalEngine

        return UniversalEngine(model)


def _treebanks(reader: InputReader, settings: UniversalSettings) -> _UniversalMaterial:
    """Treebanks to learn from. Raises: DataError, UsageError, see `learning.check`."""
    from dynet_vdgi.universal.learn.learning import GoldTreebank, check

    by_label = reader.treebanks()
    treebanks = [GoldTreebank(label, sentences) for label, sentences in by_label.items()]
    check(treebanks, settings.learning)
    trees = [sentence for treebank in treebanks for sentence in treebank.sentences]
    return _UniversalMaterial(
        {}, _vocabulary(), RuleSet(()), trees, reader.dev(), treebanks=treebanks
    )


def _text(reader: InputReader) -> _UniversalMaterial:
    """A text to measure, and the model whose weights are taken."""
    texts = reader.texts(is_lean=True)
    dev = reader.dev()
    init = reader.inputs.init
    model = _start(init)
    n_words = sum(len(sentence) for text in texts.values() for sentence in text)
    return _UniversalMaterial(
        texts,
        model.vocabulary,
        RuleSet(()),
        dev=dev,
        model=model,
        model_name=init or SHIPPED,
        tag_accuracy=reader.tag_accuracy(n_words),
    )


def _vocabulary() -> Vocabulary:
    return Vocabulary(tuple(sorted([*TAGS, "CONJ"])))


def _learnt(
    material: _UniversalMaterial, settings: UniversalSettings
) -> tuple[ModelFile, dict[str, Any]]:
    """A model learnt from treebanks, which has measured no text, and the row of the log."""
    from dynet_vdgi.universal.learn.learning import learn

    treebanks = material.treebanks
    scorer = learn(treebanks, settings.learning, settings.seed)
    model = pack(scorer, sources_of(treebanks), settings)
    return model, {"phase": "treebanks", "treebanks": len(treebanks), "dev_dda": None}


def _measured(
    material: _UniversalMaterial, start: ModelFile, settings: UniversalSettings
) -> tuple[ModelFile, dict[str, Any]]:
    """A model with the weights of another one and the measures of the text, and the row of the
    log."""
    from dynet_vdgi.parser.parser import Parser
    from dynet_vdgi.parser.universal_engine import UniversalEngine
    from dynet_vdgi.universal.stored import TEXT, Measures, beginning, scorer_of

    measures = Measures.of(scorer_of(start.parameters), list(beginning(material.sentences)))
    measures.tell()
    arrays = {name: array for name, array in start.parameters.items() if not name.startswith(TEXT)}
    bare = replace(start, settings=settings, parameters=arrays)
    engine = UniversalEngine(bare).with_measures(
        replace(measures, tag_accuracy=material.tag_accuracy)
    )
    with_shift = Parser(bare, engine=engine).measures
    assert with_shift is not None
    model = replace(bare, parameters=arrays | with_shift.arrays())
    row = {
        "phase": "measures",
        "sentences": measures.n_sentences,
        "words": measures.n_words,
        "dev_dda": None,
    }
    return model, row


def _keep_student(
    run: TrainingRun[UniversalSettings], material: _UniversalMaterial, provenance: Provenance
) -> None:
    """Writes the fast student into the run's folder, unless each sentence is too long for it."""
    from dynet_vdgi.training.record import amount
    from dynet_vdgi.training.taught import TaughtSettings, taught_student

    assert run.folder is not None
    changes = {"seed": run.settings.seed, "teacher": {"model": material.model_name}}
    settings = load_settings(FAST, changes=changes)
    assert isinstance(settings, TaughtSettings)
    data = run.settings.data
    longest = min(settings.data.max_len, data.max_len)
    settings = msgspec.structs.replace(
        settings, data=msgspec.structs.replace(data, max_len=longest)
    )
    texts = {
        label: [sentence for sentence in text if len(sentence) <= longest]
        for label, text in material.texts.items()
    }
    sentences = [sentence for text in texts.values() for sentence in text]
    if not sentences:
        logger.warning("no fast student, because each sentence has more than %d words", longest)
        return
    vocabulary = build_vocabulary(sentences, lexicalised=False)
    rules = load_rules(rules_path(settings.rules))
    provenance = provenance.with_(preset=FAST, recipe=settings.recipe, trained_on=amount(sentences))
    lesson = Material(texts, vocabulary, rules)
    student = taught_student(TrainingRun(settings, lesson, provenance, log=run.log))
    run.save(student, FAST_NAME)
    logger.info("fast student: %s", run.folder / FAST_NAME)


def _start(init: str | None) -> ModelFile:
    """The universal model whose weights are taken: the one named, or the one that comes with the
    package.

    Raises: ModelError, there is none; UsageError, the named one is of another recipe.
    """
    model = load_model(model_path(init) if init else shipped(SHIPPED))
    if not isinstance(model.settings, UniversalSettings):
        recipe = model.settings.recipe
        raise UsageError(
            f"--init {init}: a universal parser starts from a universal one, "
            f"not from one of {recipe}"
        )
    return model


def sources_of(
    treebanks: Sequence[GoldTreebank], licences: Mapping[str, str] | None = None
) -> dict[str, OtherTreebank]:
    """How many trees of each treebank are learnt from, and their share of all, with licences by
    name."""
    from dynet_vdgi.universal.learn.learning import TEXT

    sizes = [min(len(each.sentences), TEXT) for each in treebanks]
    return {
        each.name: OtherTreebank(
            n, round(n / sum(sizes), 6), (licences or {}).get(each.name, ""), each.branch
        )
        for each, n in zip(treebanks, sizes)
    }


def pack(
    scorer: Scorer,
    sources: Mapping[str, OtherTreebank],
    settings: UniversalSettings | None = None,
    *,
    further: Arrays | None = None,
) -> ModelFile:
    """A model file's content: weights, the treebanks and settings of their learning, and `further`
    arrays.

    Those may be a calibration's. Raises: ModelError, the weights do not fit each other.
    """
    from dynet_vdgi.conllu.protocols import STANDARD
    from dynet_vdgi.universal.stored import arrays_of, scorer_of

    settings = settings or UniversalSettings()
    arrays = arrays_of(scorer) | (further or {})
    scorer_of(arrays)
    n_trees = sum(treebank.trees for treebank in sources.values())
    provenance = Provenance.now(
        preset=SHIPPED,
        seed=settings.seed,
        recipe=SHIPPED,
        protocol=f"{STANDARD.name}: {STANDARD.description}",
        gold_trees=(
            f"training: {n_trees:,} trees of {count(len(sources), 'treebank')} of other languages",
        ),
        treebanks=dict(sources),
    )
    return ModelFile(provenance, settings, _vocabulary(), RuleSet(()), arrays)


RECIPE = Universal()
