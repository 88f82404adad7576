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

from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.conllu.vocabulary import Vocabulary, build_vocabulary
from dynet_vdgi.errors import UsageError
from dynet_vdgi.models.model_file import ModelFile, OtherTreebank, Provenance
from dynet_vdgi.models.model_file import load as load_model
from dynet_vdgi.models.model_file import save as save_model
from dynet_vdgi.models.run_folder import model_path, shipped
from dynet_vdgi.rule_tables.rules import RuleSet, load_rules
from dynet_vdgi.settings.bundled import rules_path
from dynet_vdgi.settings.presets import load_settings
from dynet_vdgi.settings.settings import FAST_NAME, MODEL_NAME, Exclusions, Settings
from dynet_vdgi.system.messages import count
from dynet_vdgi.training.inputs import Inputs
from dynet_vdgi.training.recipe import Preparation, Recipe, Workplace, amount, check_ignored
from dynet_vdgi.universal.encoding import TAGS
from dynet_vdgi.universal.learn.learning_settings import LearningSettings
from dynet_vdgi.universal.scorer import Scorer

if TYPE_CHECKING:
    from dynet_vdgi.models.archive import Arrays
    from dynet_vdgi.models.material import Material
    from dynet_vdgi.parser.universal_engine import UniversalEngine
    from dynet_vdgi.universal.learn.learning import GoldTreebank

logger = logging.getLogger("dynet_vdgi")

SHIPPED = "universal"
"""The name of the model that comes with the package."""

FAST = "universal-fast"
"""The preset of the fast student."""

_NO_TREE = "learnt from {} of {}; no tree of yours"

_BEST = "--preset best"

_NO_RULES = f"the universal parser measures a text under its model's table and takes no rule table; {_BEST} takes one"

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


@dataclass
class _PreparedUniversal(Preparation[UniversalSettings]):
    start: ModelFile | None = None  # whose weights are taken; None: new ones are learnt from
    treebanks: Sequence[GoldTreebank] = ()
    start_name: str = SHIPPED
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
                "--treebank learns a new universal parser, which needs no text: leave out --train; then "
                "measure a text with --preset universal --train FILE --init RUN"
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
                "a universal parser is for one language: train one for each --language, or one for all with "
                + _BEST
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
        self, inputs: Inputs, settings: UniversalSettings
    ) -> Preparation[UniversalSettings]:
        from dynet_vdgi.training.run_reader import RunReader

        reading = RunReader(settings.data)
        if inputs.treebanks:
            from dynet_vdgi.universal.learn.learning import GoldTreebank, check

            pairs = inputs.treebanks.items()
            treebanks = [
                GoldTreebank(label, reading.other_language(given, label)) for label, given in pairs
            ]
            check(treebanks, settings.learning)
            trees = [sentence for treebank in treebanks for sentence in treebank.sentences]
            material = _material({}, _vocabulary(), trees, reading.dev(inputs.dev))
            return _PreparedUniversal(settings, material, reading, treebanks=treebanks)
        texts = reading.texts(inputs, is_lean=True)
        dev = reading.dev(inputs.dev)
        start = _start(inputs.init)
        settings = msgspec.structs.replace(settings, learning=LearningSettings(updates=0))
        material = _material(texts, start.vocabulary, [], dev)
        n_words = sum(map(len, material.sentences))
        return _PreparedUniversal(
            settings,
            material,
            reading,
            {},
            start,
            start_name=inputs.init or SHIPPED,
            tag_accuracy=min(given.tag_accuracy(n_words) for given in inputs.texts.values()),
        )

    def learn(
        self, prepared: Preparation[UniversalSettings], provenance: Provenance, place: Workplace
    ) -> ModelFile:
        assert isinstance(prepared, _PreparedUniversal)
        model, row = (
            _learnt(prepared) if prepared.start is None else _measured(prepared, prepared.start)
        )
        treebanks = model.provenance.treebanks
        gold_trees = [*provenance.gold_trees, *model.provenance.gold_trees]
        if prepared.start is None:
            updates = prepared.settings.learning.updates
            # late: it takes as long as the parsing of a few sentences
            from importlib import metadata

            provenance = provenance.with_(dynet=metadata.version("dyNET38"), updates=updates)
        else:
            languages = {label.partition("-")[0] for label in treebanks}
            numbers = count(len(treebanks), "treebank"), count(len(languages), "language")
            gold_trees = [_NO_TREE.format(*numbers)]
        provenance = provenance.with_(treebanks=treebanks, gold_trees=tuple(gold_trees))
        if place.folder and prepared.start is not None:
            _keep_student(prepared, provenance, place)
        if dev := prepared.material.dev:
            from dynet_vdgi.evaluation.attachment import score
            from dynet_vdgi.parser.decoding import find

            row["dev_dda"] = score(
                dev, [found.heads for found in find(self.engine(model), dev)]
            ).dda
            gold_trees.append("dev: progress figures only")
            logger.info("dev DDA %.3f", row["dev_dda"])
        model.provenance = provenance.with_(gold_trees=tuple(gold_trees), dev_dda=row["dev_dda"])
        place.log.append(row)
        if place.folder:
            save_model(place.folder / MODEL_NAME, model)
        return model

    def engine(self, model: ModelFile) -> UniversalEngine:
        from dynet_vdgi.parser.universal_engine import UniversalEngine

        return UniversalEngine(model)


def _material(
    texts: Mapping[str, list[Sentence]],
    tags: Vocabulary,
    trees: list[Sentence],
    dev: list[Sentence],
) -> Material:
    from dynet_vdgi.models.material import Material

    return Material(texts, tags, RuleSet(()), trees, dev)


def _vocabulary() -> Vocabulary:
    return Vocabulary(tuple(sorted([*TAGS, "CONJ"])))


def _learnt(prepared: _PreparedUniversal) -> tuple[ModelFile, dict[str, Any]]:
    """A model learnt from treebanks, which has measured no text, and the row of the log."""
    from dynet_vdgi.universal.learn.learning import learn

    settings, treebanks = prepared.settings, prepared.treebanks
    scorer = learn(treebanks, settings.learning, settings.seed)
    model = pack(scorer, sources_of(treebanks), settings)
    return model, {"phase": "treebanks", "treebanks": len(treebanks), "dev_dda": None}


def _measured(prepared: _PreparedUniversal, start: ModelFile) -> tuple[ModelFile, dict[str, Any]]:
    """A model with the weights of another one and the measures of the text, and the row of the log."""
    from dynet_vdgi.parser.parser import Parser
    from dynet_vdgi.parser.universal_engine import UniversalEngine
    from dynet_vdgi.universal.stored import TEXT, Measures, beginning, scorer_of

    measures = Measures.of(
        scorer_of(start.parameters), list(beginning(prepared.material.sentences))
    )
    measures.tell()
    arrays = {name: array for name, array in start.parameters.items() if not name.startswith(TEXT)}
    bare = replace(start, settings=prepared.settings, parameters=arrays)
    engine = UniversalEngine(bare).with_measures(
        replace(measures, tag_accuracy=prepared.tag_accuracy)
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


def _keep_student(prepared: _PreparedUniversal, provenance: Provenance, place: Workplace) -> None:
    """Writes the fast student into the run's folder, unless each sentence is too long for it."""
    from dynet_vdgi.parser.confidence import CALIBRATION_SENTENCES
    from dynet_vdgi.training.taught import TaughtSettings, learn_student, teach

    assert place.folder is not None
    own = prepared.settings
    changes = {"seed": own.seed, "teacher": {"model": prepared.start_name}}
    settings = load_settings(FAST, changes=changes)
    assert isinstance(settings, TaughtSettings)
    longest = min(settings.data.max_len, own.data.max_len)
    settings = msgspec.structs.replace(
        settings, data=msgspec.structs.replace(own.data, max_len=longest)
    )
    texts = {
        label: [sentence for sentence in text if len(sentence) <= longest]
        for label, text in prepared.material.texts.items()
    }
    every = [sentence for text in texts.values() for sentence in text]
    if not every:
        logger.warning("no fast student, because each sentence has more than %d words", longest)
        return
    vocabulary = build_vocabulary(every, lexicalised=False)
    rules = load_rules(rules_path(settings.rules))
    material = replace(prepared.material, texts=texts, vocabulary=vocabulary, rules=rules, dev=[])
    provenance = provenance.with_(preset=FAST, recipe=settings.recipe, trained_on=amount(every))
    votes = CALIBRATION_SENTENCES
    lesson = teach(material, settings.teacher, seed=settings.seed, n_votes=votes, log=place.log)
    path = place.folder / FAST_NAME
    save_model(path, learn_student(lesson, material, settings, provenance, place.log))
    logger.info("fast student: %s", path)


def _start(init: str | None) -> ModelFile:
    """The universal model whose weights are taken: the one named, or the one that comes with the
    package.

    Raises: ModelError, there is none; UsageError, the named one is of another recipe.
    """
    model = load_model(model_path(init) if init else shipped(SHIPPED))
    if not isinstance(model.settings, UniversalSettings):
        recipe = model.settings.recipe
        raise UsageError(
            f"--init {init}: a universal parser starts from a universal one, not from one of {recipe}"
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
