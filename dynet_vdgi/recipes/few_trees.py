"""The recipe for a few trees: a CRF that starts as its teacher says, and a word parser with silver trees.

It learns from text and from gold trees (single heads may be missing), other languages' trees, or both.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from dynet_vdgi.data.sentence import FREE, Sentence
from dynet_vdgi.data.vocabulary import build_vocabulary
from dynet_vdgi.errors import UsageError
from dynet_vdgi.evaluation.attachment import score
from dynet_vdgi.grammar.facts import load_facts
from dynet_vdgi.grammar.prior import Prior
from dynet_vdgi.parsing.engines import Engine, WordEngine
from dynet_vdgi.recipes.base import (
    Preparation,
    Recipe,
    Workplace,
    base_of,
    check_ignored,
    chosen_rules,
    no_start,
)
from dynet_vdgi.recipes.given import Inputs
from dynet_vdgi.recipes.reading import RunReader
from dynet_vdgi.recipes.relations import label_arrays
from dynet_vdgi.recipes.silver import FewTrees
from dynet_vdgi.recipes.teaching import TaughtText, teach, teacher_of_kind
from dynet_vdgi.recipes.tree_checks import tell_of_tags
from dynet_vdgi.runs.material import TreesMaterial
from dynet_vdgi.runs.model_file import ModelFile, OtherTreebank, Provenance
from dynet_vdgi.runs.model_file import save as save_model
from dynet_vdgi.settings.config import MODEL_NAME, ONLY_TREES, Section, Settings, TeacherSettings
from dynet_vdgi.students.word_perceptron import WordPerceptron
from dynet_vdgi.system.names import count
from dynet_vdgi.teachers.arc_crf import ArcCrf
from dynet_vdgi.teachers.dmv_settings import DmvSettings
from dynet_vdgi.teachers.transfer import shares, start_weights, trigrams

logger = logging.getLogger("dynet_vdgi")

Floats = NDArray[np.float64]


class CrfSettings(Section, frozen=True):
    """The CRF that starts as the rule table, or as a universal parser, and learns from the trees, see
    `teachers.arc_crf`."""

    max_len: Annotated[int, Meta(ge=2, description="longest gold tree that is learnt from, in words")] = 80
    epochs: Annotated[int, Meta(ge=0, le=10_000, description="passes over the trees")] = 6
    rate: Annotated[
        float, Meta(ge=0, description="learning rate of AdaGrad; half of it if teacher.kind is universal")
    ] = 0.1
    ridge: Annotated[float, Meta(ge=0, description="penalty on the weights")] = 1e-3
    log2_buckets: Annotated[
        int, Meta(ge=1, le=26, description="features are hashed into 2 to this power weights")
    ] = 20
    trust: Annotated[
        float,
        Meta(gt=0, description="gold heads after which the table has lost half of what it will lose"),
    ] = 500.0


class WordParserSettings(Section, frozen=True):
    """The linear-time parser, which sees words and features, see `students.word_perceptron`."""

    epochs: Annotated[int, Meta(ge=1, le=10_000, description="passes over the trees")] = 3
    explore_from: Annotated[
        int,
        Meta(ge=1, le=10_001, description="epoch from which training follows the parser's own actions"),
    ] = 2
    log2_buckets: Annotated[
        int, Meta(ge=1, le=26, description="features are hashed into 2 to this power rows of weights")
    ] = 20
    orders: Annotated[
        int,
        Meta(ge=1, le=100, description="perceptrons that see the trees in other orders; theirs is the mean"),
    ] = 3


class SilverSettings(Section, frozen=True):
    """The silver trees of the text, made jointly by the CRF and the teacher."""

    trust: Annotated[
        float, Meta(gt=0, description="gold heads that count as much as the unsupervised teacher")
    ] = 20.0


class TransferSettings(Section, frozen=True):
    """A start from treebanks of other languages, see `teachers.transfer`."""

    trees: Annotated[
        int, Meta(ge=0, description="most trees of each treebank of another language; 0: no such treebanks")
    ] = 0
    max_len: Annotated[int, Meta(ge=2, description="longest of these trees, in words")] = 40


class FewTreesSettings(Settings, frozen=True, tag_field="recipe", tag="few-trees"):
    """A CRF learnt from trees, and a word parser that learns from its trees and the gold ones."""

    teacher: TeacherSettings = DmvSettings()
    crf: CrfSettings = CrfSettings()
    parser: WordParserSettings = WordParserSettings()
    silver: SilverSettings = SilverSettings()
    transfer: TransferSettings = TransferSettings()

    def without_effect(
        self, *, has_text: bool = True, has_dev: bool = True, has_init: bool = False, in_a_run: bool = False
    ) -> dict[str, str]:
        idle = super().without_effect(in_a_run=in_a_run)
        if not has_text:
            idle |= dict.fromkeys(("silver", "data.max_len"), ONLY_TREES)
            if self.teacher.needs_text:
                idle["teacher"] = ONLY_TREES
        if self.transfer.trees:
            idle["crf.trust"] = "a start from other languages halves the table's share at once"
        else:
            idle["transfer.max_len"] = "there are no treebanks of other languages: transfer.trees is 0"
        return idle

    def learner(self) -> FewTrees:
        """A learner with these numbers."""
        crf, parser = self.crf, self.parser
        return FewTrees(
            ArcCrf(
                epochs=crf.epochs,
                rate=crf.rate * self.teacher.pace,
                ridge=crf.ridge,
                longest=crf.max_len,
                log2_buckets=crf.log2_buckets,
                seed=self.seed,
                trust=crf.trust,
            ),
            WordPerceptron(
                epochs=parser.epochs,
                explore_from=parser.explore_from,
                log2_buckets=parser.log2_buckets,
                seeds=tuple(range(self.seed, self.seed + parser.orders)),
            ),
            trust=self.silver.trust,
            has_seen_trees=bool(self.teacher.gold_trees),
            longest_text=self.data.max_len,
            longest_tree=crf.max_len,
        )


FewTreesPrepared = Preparation[FewTreesSettings, TreesMaterial]


class FewTreesRecipe(Recipe[FewTreesSettings, TreesMaterial]):
    settings = FewTreesSettings

    def check(self, inputs: Inputs, settings: FewTreesSettings, jobs: int) -> None:
        number = settings.transfer.trees
        if inputs.init:
            raise no_start(inputs.init)
        if not inputs.trees and not inputs.treebanks and not number:
            raise UsageError(
                "the recipe few-trees learns from trees: name them with --trees FILE, or leave the recipe out"
            )
        if inputs.treebanks and not number:
            raise UsageError(
                "--treebank starts from trees of other languages, and the model says so: "
                "add --preset transfer (or --set transfer.trees=400)"
            )
        if number and not inputs.treebanks:
            raise UsageError(
                f"transfer.trees={number}, as in the preset transfer, starts from treebanks of other "
                "languages: name each with --treebank LABEL FILE"
            )
        teacher_of_kind(settings.teacher, settings.seed)
        if len(inputs.texts) > 1:
            if inputs.treebanks:
                raise UsageError("--treebank starts a parser of one language: name its text with --train")
            raise UsageError(
                "--trees needs a single language: name its text with --train, and train one parser for each "
                "language that has trees"
            )
        if inputs.facts or inputs.without:
            inputs.check_facts(self.idle(inputs, settings, has_text=True).get("rules"))

    def idle(
        self, inputs: Inputs, settings: FewTreesSettings, *, has_text: bool | None = None
    ) -> dict[str, str]:
        # Not known until the files are read: a file of trees may hold sentences without trees.
        return super().idle(inputs, settings, has_text=True if has_text is None else has_text)

    def prepare(self, inputs: Inputs, settings: FewTreesSettings) -> FewTreesPrepared:
        reading = RunReader(settings.data)
        rules = chosen_rules(inputs, settings)
        facts = {label: load_facts(name, rules) for label, name in inputs.facts.items()}
        texts, trees = reading.texts(inputs), list[Sentence]()
        if inputs.trees:
            trees, treeless = reading.partial_trees(inputs.trees, settings.crf.max_len)
            if not texts and treeless:
                texts[""] = [s for s in (*trees, *treeless) if len(s) <= settings.data.max_len]
                logger.info("training: %s, all those of --trees", count(len(texts[""]), "sentence"))
        treebanks = {label: reading.other_language(given, label) for label, given in inputs.treebanks.items()}
        dev = reading.dev(inputs.dev)
        check_ignored(settings, has_effect=True)
        every = [*(sentence for text in texts.values() for sentence in text), *trees]
        vocabulary = build_vocabulary(every, lexicalised=False)
        tell_of_tags(trees, texts)
        relation = reading.punctuation.relation
        material = TreesMaterial(texts, vocabulary, rules, trees, dev, facts, relation, treebanks)
        return Preparation(settings, material, reading, {})

    def learn(self, prepared: FewTreesPrepared, provenance: Provenance, place: Workplace) -> ModelFile:
        settings, material = prepared.settings, prepared.material
        lesson = TaughtText()
        if material.sentences:
            lesson = teach(
                material,
                settings.teacher,
                seed=settings.seed,
                with_trees=False,
                with_marginals=True,
                log=place.log,
            )
        clock = time.process_time()
        prior = lesson.prior or Prior.of_text(material.rules, material.trees)
        base = lesson.base or teacher_of_kind(settings.teacher, settings.seed).start(material.trees, prior)
        start, sources = started(material, settings) if material.treebanks else (None, {})
        learner = settings.learner().fit(material.sentences, material.trees, base, lesson.marginals, start)
        seconds = time.process_time() - clock
        trees, text = count(len(material.trees), "tree"), count(len(material.sentences), "sentence")
        logger.info("parser with words: %s, text of %s, %.1f CPU s with compiling", trees, text, seconds)
        gold_trees = [*provenance.gold_trees, *told_of_trees(material.trees, sources)]
        dev_dda = None
        if material.dev:
            dev_dda = score(material.dev, [tree.heads or () for tree in learner.predict(material.dev)]).dda
            gold_trees.append("dev: progress figures only")
            logger.info("dev DDA %.3f", dev_dda)
        row: dict[str, Any] = {"phase": "student", "trees": len(material.trees), "agreement": None}
        row |= {"dev_dda": dev_dda, "share_of_teacher": round(learner.share, 4), "cpu_s": round(seconds, 2)}
        place.log.append(row)
        calibration = learner.calibration.arrays() if learner.calibration else {}
        model = ModelFile(
            provenance.with_(gold_trees=tuple(gold_trees), dev_dda=dev_dda, treebanks=sources),
            settings,
            material.vocabulary,
            material.rules,
            {
                **learner.student.arrays(),
                **learner.crf.arrays(),
                **calibration,
                **base.arrays(),
                **label_arrays(material.trees, prior, material.punctuation),
            },
            text=prior.text.to_json(),
        )
        if place.folder:
            save_model(place.folder / MODEL_NAME, model)
        return model

    def engine(self, model: ModelFile) -> Engine:
        return WordEngine(model)

    def exact(self, model: ModelFile) -> ArcCrf:
        """The CRF that the parser learnt from."""
        return ArcCrf.from_arrays(model.parameters, base_of(model))


def started(material: TreesMaterial, settings: FewTreesSettings) -> tuple[Floats, dict[str, OtherTreebank]]:
    """Initial weights (B,), and a description of their sources."""
    known, weights, numbers = [], [], []
    for label, treebank in material.treebanks.items():
        rng = np.random.default_rng(settings.seed)
        trees = [treebank[k] for k in rng.permutation(len(treebank))[: settings.transfer.trees]]
        prior = Prior.of_text(material.rules, treebank)
        crf = ArcCrf(
            epochs=settings.crf.epochs,
            rate=settings.crf.rate,
            ridge=settings.crf.ridge,
            longest=settings.transfer.max_len,
            log2_buckets=settings.crf.log2_buckets,
            words=False,
            seed=settings.seed,
        ).fit(trees, prior)
        assert crf.weights is not None
        known.append(trigrams(treebank))
        weights.append(crf.weights)
        numbers.append(len(trees))
        logger.info("start: %s of %s learnt", count(len(trees), "tree"), label)
    target = trigrams(material.sentences or material.trees)
    start = start_weights(target, list(zip(known, weights)))
    sources = {
        label: OtherTreebank(number, round(float(share), 4))
        for label, number, share in zip(material.treebanks, numbers, shares(target, known))
    }
    return start.astype(np.float32).astype(np.float64), sources  # rounded as in a model file


def told_of_trees(trees: Sequence[Sentence], sources: Mapping[str, OtherTreebank]) -> list[str]:
    """How the gold trees were used, line by line."""
    lines = []
    if trees:
        n_words = sum(map(len, trees))
        n_free = sum((tree.heads or ()).count(FREE) for tree in trees)
        free = f", {n_free} of {count(n_words, 'head')} free" if n_free else ""
        lines.append(f"training: {count(len(trees), 'tree')} learnt from{free}")
    if sources:
        listed = ", ".join(f"{s.trees} of {label} ({100 * s.share:.0f} %)" for label, s in sources.items())
        lines.append(f"start: trees of other languages, {listed}")
        if not trees:
            lines.append("no tree of this language")
    return lines


RECIPE = FewTreesRecipe()
