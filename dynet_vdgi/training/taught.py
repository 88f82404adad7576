"""The recipe of the preset best: a teacher for each text parses it exactly, and a student learns
its trees.

Teachers of texts: each language has its own, with its own statistics; students get the trees of
all.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.errors import ModelError, UsageError
from dynet_vdgi.few_trees.word_perceptron import PREFIX as STUDENT
from dynet_vdgi.few_trees.word_perceptron import WordParserSettings, WordPerceptron
from dynet_vdgi.models.model_file import ModelFile, of_earlier_version
from dynet_vdgi.models.run_log import RunLog
from dynet_vdgi.parser.confidence import (
    CALIBRATION_SENTENCES,
    SHIFT_WITH_TREES,
    SHIFT_WITHOUT_TREES,
    Calibration,
)
from dynet_vdgi.rule_tables.explanation import idle_facts
from dynet_vdgi.rule_tables.prior import Prior
from dynet_vdgi.settings.registry import TEACHERS
from dynet_vdgi.settings.settings import (
    ONLY_TREES,
    DmvSettings,
    Exclusions,
    Settings,
    TeacherSettings,
)
from dynet_vdgi.system.array_types import Floats
from dynet_vdgi.system.messages import count
from dynet_vdgi.training.inputs import Inputs
from dynet_vdgi.training.material import Material
from dynet_vdgi.training.recipe import (
    Recipe,
    TrainingRun,
    base_of,
    check_ignored,
    chosen_rules,
)
from dynet_vdgi.unsupervised.teacher import Base, Teacher

if TYPE_CHECKING:
    from dynet_vdgi.models.archive import Arrays
    from dynet_vdgi.parser.crf_engine import CrfEngine
    from dynet_vdgi.parser.engine import Engine
    from dynet_vdgi.training.input_reader import InputReader

logger = logging.getLogger("dynet_vdgi")


def teacher_of_kind(settings: TeacherSettings, seed: int) -> Teacher:
    """A teacher that has learnt nothing yet; some draw random numbers. Raises: ConfigError, no
    teacher."""
    teacher: Teacher = TEACHERS.named(settings.kind).make(settings, seed)
    return teacher


@dataclass(frozen=True)
class TaughtText:
    """The results of the teachers of all texts.

    `trees` of the texts, with languages balanced; on request `marginals` (n + 1, n) of every
    sentence, and `votes`, some sentences with their marginals; `prior` of the teacher if it is the
    only one, and what a CRF starts from, `base`.
    """

    trees: list[Sentence] = field(default_factory=list)
    marginals: list[Floats] = field(default_factory=list)
    prior: Prior | None = None
    base: Base | None = None
    votes: list[tuple[Sentence, Floats]] = field(default_factory=list)


def teach(
    material: Material,
    settings: TeacherSettings,
    *,
    seed: int,
    with_trees: bool = True,
    with_marginals: bool = False,
    n_votes: int = 0,
    log: RunLog,
) -> TaughtText:
    """Trains a teacher of this kind for each text, with the text's own statistics, and returns the
    results.

    `n_votes`: the number of sentences, of all texts together, whose marginals are kept for
    calibration. The log reports the measurements of each text and how its teacher learnt.
    """
    trees: list[list[Sentence]] = []
    starts: list[tuple[Prior, Base]] = []
    marginals: list[Floats] = []
    votes: list[tuple[Sentence, Floats]] = []
    n_texts = sum(map(bool, material.texts.values()))
    for language, text in material.texts.items():
        if not text:
            continue
        start = time.process_time()
        facts = material.facts.get(language, {})
        prior = Prior.of_text(material.rules, text, facts)
        log.append(_text_row(language, text, prior))
        for message in idle_facts(material.rules, text, facts):
            logger.warning("%s%s", f"{language}: " if language else "", message)
        teacher = teacher_of_kind(settings, seed).fit(text, prior)
        if with_trees:
            heads, votes_of_text = teacher.heads_and_votes(text, n_votes // n_texts)
            trees.append([replace(s, heads=tree, source=None) for s, tree in zip(text, heads)])
            votes += votes_of_text
        starts.append((prior, teacher.start(text, prior)))
        if with_marginals:
            marginals += teacher.marginals(text)
        seconds = time.process_time() - start
        for number, row in enumerate(teacher.log_rows(), 1):
            log.append({"phase": "teacher", "language": language, "iteration": number, **row})
        words = sum(map(len, text))
        log.append(
            {"phase": "taught", "language": language, "words": words, "cpu_s": round(seconds, 2)}
        )
        label = f"{language}: " if language else ""
        message = "%steacher: %s, %s, %.1f CPU s with compiling"
        logger.info(message, label, teacher.name, count(len(text), "sentence"), seconds)
    alone: tuple[Prior | None, Base | None] = starts[0] if len(starts) == 1 else (None, None)
    return TaughtText(balanced(trees), marginals, *alone, votes)


def _text_row(language: str, text: Sequence[Sentence], prior: Prior) -> dict[str, Any]:
    """The prior's findings in a text, with facts and without."""
    statistics, facts = prior.statistics, prior.text.facts
    row: dict[str, Any] = {
        "phase": "text",
        "language": language,
        "sentences": len(text),
        "words": sum(map(len, text)),
        "is_verb_final": statistics.is_verb_final,
        "is_mirrored": statistics.is_mirrored,
        **_measured(prior),
    }
    if facts:
        row["facts"] = {name: [fact.value, fact.cases] for name, fact in facts.items()}
        row["text_alone"] = _measured(Prior.of_text(prior.rules, text))
    return row


def _measured(prior: Prior) -> dict[str, dict[str, float]]:
    tags = prior.rules.table.edge_statistics if prior.rules.table else ()
    return {
        "sides": {tag: round(prior.statistics.asymmetry(tag), 3) for tag in tags},
        "measures": {name: round(value, 3) for name, value in prior.text.measures.items()},
    }


def balanced(treebanks: Sequence[Sequence[Sentence]]) -> list[Sentence]:
    """The trees of all languages.

    The trees of a small treebank are repeated, so that no language has twice as many as another,
    because a shared student would follow the large ones where languages differ.
    """
    most = max(map(len, treebanks), default=0)
    return [tree for trees in treebanks if trees for tree in [*trees] * (most // len(trees))]


CRF_TEACHERS = ("dmv", "universal")
"""The kinds of teachers that the recipe few-trees has."""


class TaughtSettings(Settings, frozen=True, tag_field="recipe", tag="taught"):
    """A teacher, and a perceptron that learns the teacher's trees and parses in linear time."""

    teacher: TeacherSettings = DmvSettings()
    parser: WordParserSettings = WordParserSettings()

    @property
    def is_universal(self) -> bool:
        return self.teacher.is_universal

    @property
    def with_trees(self) -> dict[str, Any]:
        # gold trees are shown more often anyway
        return {"parser": {"epochs": 3, "log2_buckets": 20}}

    exclusions: ClassVar[Exclusions] = (
        ("rules", "there is no teacher to go by rules", lambda s, _: not s.teacher.teaches),
        ("teacher rules", ONLY_TREES, lambda s, given: s.teacher.teaches and not given.has_text),
    )


class Taught(Recipe[TaughtSettings]):
    settings = TaughtSettings

    def successor(self, inputs: Inputs, settings: TaughtSettings) -> str:
        """Gold trees help few-trees, which has the same teachers, more than they help beside taught
        trees."""
        return "few-trees" if inputs.trees and settings.teacher.kind in CRF_TEACHERS else ""

    def check(self, inputs: Inputs, settings: TaughtSettings) -> None:
        inputs.warn_of_trees_that_count_twice()
        super().check(inputs, settings)
        if not settings.teacher.teaches and not inputs.trees:
            raise UsageError(
                "a perceptron learns from trees: set teacher.kind=dmv, or name --trees FILE"
            )

    def prepare(
        self, reader: InputReader, settings: TaughtSettings
    ) -> tuple[TaughtSettings, Material]:
        material = reader.material(chosen_rules(reader.inputs, settings), is_lean=True)
        check_ignored(settings, has_effect=True)
        return settings, material

    def learn(self, run: TrainingRun[TaughtSettings]) -> ModelFile:
        model = taught_student(run)
        run.save(model)
        return model

    def engine(self, model: ModelFile) -> Engine:
        from dynet_vdgi.parser.student_engine import StudentEngine

        if STUDENT + "weights" not in model.parameters:
            raise ModelError(of_earlier_version(model.provenance))
        return StudentEngine(model)

    def exact(self, model: ModelFile) -> CrfEngine:
        """The distribution of the rule table, or of the universal parser, itself."""
        from dynet_vdgi.few_trees.arc_crf import ArcCrf
        from dynet_vdgi.parser.crf_engine import CrfEngine

        return CrfEngine(ArcCrf(feats=False, words=False, log2_buckets=1).fit([], base_of(model)))


def taught_student(run: TrainingRun[TaughtSettings]) -> ModelFile:
    """A model with a perceptron that has learnt a teacher's trees of the text, and gold ones, if
    there are any. The run gives up its text."""
    settings = run.settings
    lesson = TaughtText()
    if settings.teacher.teaches and run.material.sentences:
        lesson = teach(
            run.material,
            settings.teacher,
            seed=settings.seed,
            n_votes=CALIBRATION_SENTENCES,
            log=run.log,
        )
    run.material = replace(run.material, texts={})  # which takes much memory
    return _student_of(lesson, run)


def _student_of(lesson: TaughtText, run: TrainingRun[TaughtSettings]) -> ModelFile:
    """A model with a perceptron that has learnt the trees of a lesson, and gold ones."""
    from dynet_vdgi.evaluation.attachment import score
    from dynet_vdgi.training.relation_arrays import label_arrays

    material, settings = run.material, run.settings
    start = time.process_time()
    trees = [*lesson.trees, *material.trees]
    student = WordPerceptron(settings.parser, seed=settings.seed).fit(trees)
    seconds = time.process_time() - start
    logger.info("perceptron: %s, %.1f CPU s with compiling", count(len(trees), "tree"), seconds)
    gold_trees = list(run.provenance.gold_trees)
    if material.trees:
        gold_trees.append(f"training: {count(len(material.trees), 'tree')} learnt from")
    dev_dda = None
    if material.dev:
        dev_dda = score(material.dev, _heads(student, material.dev)).dda
        gold_trees.append("dev: progress figures only")
        logger.info("dev DDA %.3f", dev_dda)
    agreement = _agreement(lesson.trees, student)
    row = {"phase": "student", "trees": len(trees), "agreement": agreement, "dev_dda": dev_dda}
    run.log.append({**row, "cpu_s": round(seconds, 2)})
    calibration: Arrays = {}
    if lesson.votes:
        sentences, marginals = zip(*lesson.votes)
        shift = SHIFT_WITH_TREES if settings.teacher.gold_trees else SHIFT_WITHOUT_TREES
        tags = [sentence.tags for sentence in sentences]
        parsed = student.predict_with_margins(sentences)
        trees_with_margins = [(tree.heads or (), margins) for tree, margins in parsed]
        calibration = Calibration.fit(tags, trees_with_margins, marginals, shift).arrays()
    return ModelFile(
        run.provenance.with_(gold_trees=tuple(gold_trees), dev_dda=dev_dda),
        settings,
        material.vocabulary,
        material.rules,
        {
            **student.arrays(),
            **calibration,
            **(lesson.base.arrays() if lesson.base else {}),
            **label_arrays(material.trees, lesson.prior, material.punctuation),
        },
        text=lesson.prior.text.to_json() if lesson.prior else None,
    )


def _heads(student: WordPerceptron, sentences: list[Sentence]) -> list[tuple[int, ...]]:
    return [tree.heads or () for tree in student.predict(sentences)]


def _agreement(taught: list[Sentence], student: WordPerceptron) -> float | None:
    """The share of the taught trees' arcs that the student finds, from 0 to 1; None without such
    trees."""
    from dynet_vdgi.evaluation.attachment import score

    if not taught:
        return None
    agreement = score(taught, _heads(student, taught)).dda
    logger.info(
        "the perceptron agrees with its teacher on %.1f %% of the arcs of this text",
        100 * agreement,
    )
    return round(agreement, 4)


RECIPE = Taught()
