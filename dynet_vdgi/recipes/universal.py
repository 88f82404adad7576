"""The universal parser: weights learnt from trees of other languages, and measures of the text at hand."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dynet_vdgi.errors import UsageError
from dynet_vdgi.recipes.base import Preparation, Recipe, Workplace, check_ignored
from dynet_vdgi.settings.config import MODEL_NAME, Settings
from dynet_vdgi.system.names import count

if TYPE_CHECKING:  # see `recipes.base`
    from dynet_vdgi.parsing.universal_engine import UniversalEngine
    from dynet_vdgi.recipes.given import Inputs
    from dynet_vdgi.runs.material import Material
    from dynet_vdgi.runs.model_archive import Arrays
    from dynet_vdgi.runs.model_file import ModelFile, OtherTreebank, Provenance
    from dynet_vdgi.universal.scorer import Scorer

logger = logging.getLogger("dynet_vdgi")

SHIPPED = "universal"
"""The name of the model that comes with the package."""

_NO_RULES = "the universal parser has no rule table"


class UniversalSettings(Settings, frozen=True, tag_field="recipe", tag="universal"):
    """A parser learnt from trees of other languages that adapts to a text by what it measures there."""

    def without_effect(
        self, *, has_text: bool = True, has_dev: bool = True, has_init: bool = False, in_a_run: bool = False
    ) -> dict[str, str]:
        return super().without_effect(in_a_run=in_a_run) | {"rules": _NO_RULES}

    @property
    def with_trees(self) -> dict[str, Any]:
        return {"teacher": {"kind": "universal"}, "data": {"max_len": 40}}


@dataclass
class _PreparedUniversal(Preparation[UniversalSettings, "Material"]):
    start: ModelFile | None = None  # whose weights are taken


class Universal(Recipe[UniversalSettings, "Material"]):
    settings = UniversalSettings

    def successor(self, inputs: Inputs, settings: UniversalSettings) -> str:
        """Gold trees make a CRF of the universal parser."""
        return "few-trees" if inputs.trees else ""

    def check(self, inputs: Inputs, settings: UniversalSettings, jobs: int) -> None:
        if settings.data.protocol != "standard":
            raise UsageError(
                "the universal parser knows punctuation by its place: set data.protocol=standard"
            )
        check_ignored(settings, has_effect=True)
        if inputs.treebanks:
            raise UsageError("--treebank: the universal parser has its own treebanks: use --preset transfer")
        if inputs.rules or inputs.facts or inputs.without:
            raise UsageError(f"--rules, --language-facts and --without would have no effect: {_NO_RULES}")
        if sum(map(bool, inputs.texts.values())) > 1:
            raise UsageError("a universal parser is for one language: train one for each --language")

    def prepare(
        self, inputs: Inputs, settings: UniversalSettings
    ) -> Preparation[UniversalSettings, Material]:
        from dynet_vdgi.grammar.rules import RuleSet
        from dynet_vdgi.recipes.reading import RunReader
        from dynet_vdgi.runs.material import Material

        reading = RunReader(settings.data)
        texts = reading.texts(inputs, is_lean=True)
        dev = reading.dev(inputs.dev)
        start = _start(inputs.init)
        material = Material(texts, start.vocabulary, RuleSet(()), [], dev)
        return _PreparedUniversal(settings, material, reading, {}, start)

    def learn(
        self, prepared: Preparation[UniversalSettings, Material], provenance: Provenance, place: Workplace
    ) -> ModelFile:
        from dynet_vdgi.evaluation.attachment import score
        from dynet_vdgi.runs.model_file import ModelFile
        from dynet_vdgi.runs.model_file import save as save_model
        from dynet_vdgi.universal.stored import TEXT, Measures, beginning, scorer_of

        assert isinstance(prepared, _PreparedUniversal)
        assert prepared.start is not None
        start, material = prepared.start, prepared.material
        measures = Measures.of(scorer_of(start.parameters), list(beginning(material.sentences)))
        measures.tell()
        arrays = {name: array for name, array in start.parameters.items() if not name.startswith(TEXT)}
        gold_trees = [*provenance.gold_trees, *start.provenance.gold_trees]
        model = ModelFile(
            provenance.with_(treebanks=start.provenance.treebanks, gold_trees=tuple(gold_trees)),
            prepared.settings,
            material.vocabulary,
            material.rules,
            arrays | measures.arrays(),
        )
        dev_dda = None
        if material.dev:
            dev_dda = score(material.dev, self.engine(model).parse(material.dev)).dda
            gold_trees.append("dev: progress figures only")
            model.provenance = model.provenance.with_(gold_trees=tuple(gold_trees), dev_dda=dev_dda)
            logger.info("dev DDA %.3f", dev_dda)
        measured = {"sentences": measures.n_sentences, "words": measures.n_words}
        place.log.append({"phase": "measures", **measured, "dev_dda": dev_dda})
        if place.folder:
            save_model(place.folder / MODEL_NAME, model)
        return model

    def engine(self, model: ModelFile) -> UniversalEngine:
        from dynet_vdgi.parsing.universal_engine import UniversalEngine

        return UniversalEngine(model)

    def exact(self, model: ModelFile) -> UniversalEngine:
        """The parser itself, whose scores are the logarithms of p(h | d)."""
        return self.engine(model)


def _start(init: str | None) -> ModelFile:
    """The universal model whose weights are taken: the one named, or the one that comes with the package.

    Raises: ModelError, there is none; UsageError, the named one is of another recipe.
    """
    from dynet_vdgi.runs.model_file import load
    from dynet_vdgi.runs.run_folder import model_path, shipped

    model = load(model_path(init) if init else shipped(SHIPPED))
    if not isinstance(model.settings, UniversalSettings):
        recipe = model.settings.recipe
        raise UsageError(
            f"--init {init}: a universal parser starts from a universal one, not from one of {recipe}"
        )
    return model


def pack(
    scorer: Scorer, sources: Mapping[str, OtherTreebank], *, seed: int = 1, further: Arrays | None = None
) -> ModelFile:
    """A model file's content: weights, the treebanks they were learnt from, and `further` arrays.

    Those may be a calibration's. Raises: ModelError, the weights do not fit each other.
    """
    from dynet_vdgi.data.protocols import STANDARD
    from dynet_vdgi.data.vocabulary import Vocabulary
    from dynet_vdgi.grammar.rules import RuleSet
    from dynet_vdgi.runs.model_file import ModelFile, Provenance
    from dynet_vdgi.universal.encoding import TAGS
    from dynet_vdgi.universal.stored import arrays_of, scorer_of

    arrays = arrays_of(scorer) | (further or {})
    scorer_of(arrays)
    n_trees = sum(treebank.trees for treebank in sources.values())
    provenance = Provenance.now(
        preset=SHIPPED,
        seed=seed,
        recipe=SHIPPED,
        protocol=f"{STANDARD.name}: {STANDARD.description}",
        gold_trees=(f"training: {n_trees:,} trees of {count(len(sources), 'treebank')} of other languages",),
        treebanks=dict(sources),
    )
    return ModelFile(
        provenance,
        UniversalSettings(seed=seed),
        Vocabulary(tuple(sorted([*TAGS, "CONJ"]))),
        RuleSet(()),
        arrays,
    )


RECIPE = Universal()
