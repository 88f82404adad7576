"""A few gold trees: a CRF that starts as its teacher says, and a word parser that learns silver
trees.

One learner for any number of trees from none to a thousand: knowledge without trees, the trees, and
text.

A CRF starts as the rule table or a universal parser and learns from the trees. The CRF and the
unsupervised teacher, whose weight falls as the number of trees grows, parse the text. A student, a
linear-time parser, learns from these silver trees and the gold ones. One setting works for any
number of trees and all languages.

The student of a rule table is nearly as good as the CRF. That of a universal parser is not, because
it cannot see what the network knows, so there the CRF parses, unless one wants speed
(docs/results/few-trees.md).

Letters: n words.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar

import numpy as np
from msgspec import Meta

from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.conllu.tag_sets import UD_TAGS
from dynet_vdgi.conllu.tree_faults import FREE
from dynet_vdgi.conllu.vocabulary import Vocabulary
from dynet_vdgi.errors import ModelError, UsageError, VdgiError
from dynet_vdgi.evaluation.attachment import score
from dynet_vdgi.few_trees.arc_crf import PREFIX as CRF
from dynet_vdgi.few_trees.arc_crf import (
    ArcCrf,
    CrfSettings,
    mixture,
    n_known_heads,
    share_of_unsupervised,
)
from dynet_vdgi.few_trees.word_perceptron import (
    GOLD_AMOUNT,
    WordParserSettings,
    WordPerceptron,
    gold_copies,
)
from dynet_vdgi.few_trees.word_perceptron import PREFIX as STUDENT
from dynet_vdgi.inference import eisner
from dynet_vdgi.models.archive import Arrays
from dynet_vdgi.models.model_file import ModelFile
from dynet_vdgi.parser import given_heads
from dynet_vdgi.parser.confidence import (
    CALIBRATION_SENTENCES,
    SHIFT_WITH_TREES,
    SHIFT_WITHOUT_TREES,
    Calibration,
)
from dynet_vdgi.parser.crf_engine import CrfEngine
from dynet_vdgi.parser.decoding import find
from dynet_vdgi.parser.engine import Engine
from dynet_vdgi.parser.student_engine import StudentEngine
from dynet_vdgi.rule_tables.prior import Prior
from dynet_vdgi.settings.settings import (
    FAST_NAME,
    ONLY_TREES,
    DmvSettings,
    Exclusions,
    Section,
    Settings,
    TeacherSettings,
)
from dynet_vdgi.system.array_types import Floats
from dynet_vdgi.system.messages import count
from dynet_vdgi.training.gold_trees import n_free
from dynet_vdgi.training.input_reader import InputReader
from dynet_vdgi.training.inputs import Inputs
from dynet_vdgi.training.material import Material
from dynet_vdgi.training.recipe import (
    Recipe,
    TrainingRun,
    base_of,
    check_ignored,
    chosen_rules,
)
from dynet_vdgi.training.relation_arrays import label_arrays
from dynet_vdgi.training.taught import TaughtText, teach, teacher_of_kind
from dynet_vdgi.unsupervised.teacher import Base

SHORTEST, LONGEST_TEXT = 2, 40
"""The shortest sentences to learn from, and by default the longest of text, in words."""


@dataclass(eq=False)
class FewTrees:
    """The learner with its CRF and its student; `fit` learns both. Without a student the CRF
    parses."""

    crf: ArcCrf = field(default_factory=ArcCrf)
    student: WordPerceptron | None = field(default_factory=WordPerceptron)
    trust: float = 20.0  # number of gold words that weigh as much as the unsupervised teacher
    longest_text: int = LONGEST_TEXT  # words; longer sentences get no silver trees
    has_seen_trees: bool = False  # the unsupervised teacher, of other languages
    share: float = 1.0  # weight of the unsupervised teacher in the silver trees; set by fit
    calibration: Calibration | None = field(default=None, repr=False)

    def fit(
        self,
        text: Sequence[Sentence],
        trees: Sequence[Sentence],
        base: Base,
        unsupervised: Sequence[Floats] = (),
    ) -> FewTrees:
        """Learns from text, and from trees whose heads may be FREE.

        Args:
            base: the rule table, or a universal parser.
            unsupervised: marginals (n + 1, n) of the text's sentences by a teacher that saw no
                tree; without them the CRF alone makes the silver trees.

        Raises: VdgiError, there is neither text nor a tree within the length limits; ValueError,
        the arguments do not fit together.
        """
        lesson = self._lesson(text, trees, unsupervised)
        gold, votes = lesson[0], lesson[2]
        self.crf.fit(gold, base)
        self.share = share_of_unsupervised(n_known_heads(gold), self.trust) if votes else 0.0
        self._teach(*lesson)
        return self

    def with_student(
        self,
        student: WordPerceptron,
        text: Sequence[Sentence],
        trees: Sequence[Sentence],
        unsupervised: Sequence[Floats] = (),
    ) -> FewTrees:
        """This learner and a student, which learns from the arguments of `fit`."""
        fast = replace(self, student=student)
        fast._teach(*self._lesson(text, trees, unsupervised))
        return fast

    def _lesson(
        self, text: Sequence[Sentence], trees: Sequence[Sentence], unsupervised: Sequence[Floats]
    ) -> tuple[list[Sentence], list[Sentence], list[Floats]]:
        """Trees, text and its marginals, if any, of what is short and long enough. Raises: as
        `fit`."""
        if unsupervised and len(unsupervised) != len(text):
            raise ValueError(f"{len(text)} sentences, but marginals of {len(unsupervised)}")
        gold = [tree for tree in trees if SHORTEST <= len(tree) <= self.crf.settings.max_len]
        places = [
            k for k, sentence in enumerate(text) if SHORTEST <= len(sentence) <= self.longest_text
        ]
        if not gold and not places:
            raise VdgiError("neither text nor trees to learn from")
        return (
            gold,
            [text[k] for k in places],
            [unsupervised[k] for k in places] if unsupervised else [],
        )

    def _teach(self, gold: list[Sentence], text: list[Sentence], votes: list[Floats]) -> None:
        """What the CRF teaches when it has learnt: the student, and the calibration of what
        parses."""
        sentences = text if self.student else text[:CALIBRATION_SENTENCES]
        marginals = votes[: len(sentences)]
        if self.share < 1.0:
            ours = self.crf.marginals(sentences)
            marginals = mixture(ours, marginals, self.share) if votes else ours
        if self.student:
            silver = [
                replace(s, heads=eisner.expected_best(m)) for s, m in zip(sentences, marginals)
            ]
            self.student.fit(
                [*map(self.completed, gold), *silver],
                [gold_copies(len(gold), len(silver))] * len(gold) + [1] * len(silver),
                [_amount(tree) for tree in gold] + [1.0] * len(silver),
            )
        if sentences:
            sample = sentences[:CALIBRATION_SENTENCES]
            shift = SHIFT_WITH_TREES if gold or self.has_seen_trees else SHIFT_WITHOUT_TREES
            tags = [s.tags for s in sample]
            self.calibration = Calibration.fit(
                tags, self._trees_with_margins(sample), marginals[: len(sample)], shift
            )

    def _trees_with_margins(
        self, sentences: Sequence[Sentence], *, keep_heads: bool = False
    ) -> list[tuple[tuple[int, ...], Floats]]:
        """Trees and margins of what parses."""
        if self.student is None:
            parsed = find(CrfEngine(self.crf), sentences, keep_heads=keep_heads, margins=True)
            return [(each.heads, each.margins) for each in parsed]
        trees = self.student.predict_with_margins(sentences, keep_heads=keep_heads)
        return [(tree.heads or (), margins) for tree, margins in trees]

    def completed(self, tree: Sentence) -> Sentence:
        """The tree with the highest expected number of correct heads for FREE words.

        If no projective tree contains the given heads, they replace those of the best tree without
        them.
        """
        heads = tree.heads or (FREE,) * len(tree)
        if FREE not in heads:
            return tree
        scores = self.crf.scores(tree)
        try:
            return replace(tree, heads=given_heads.complete(scores, heads))
        except given_heads.KeepError:
            guessed = eisner.expected_best(eisner.marginals(scores))
            return replace(tree, heads=tuple(g if h == FREE else h for h, g in zip(heads, guessed)))

    def predict(self, sentences: Sequence[Sentence], *, keep_heads: bool = False) -> list[Sentence]:
        """The sentences with the student's trees, or else the CRF's; with `keep_heads` they keep
        given heads.

        Raises: KeepError, no projective tree contains them.
        """
        for sentence in sentences if keep_heads else ():
            if sentence.heads and (reason := given_heads.conflict(sentence.heads)):
                raise given_heads.KeepError(reason)
        trees = self._trees_with_margins(sentences, keep_heads=keep_heads)
        return [replace(sentence, heads=heads) for sentence, (heads, _) in zip(sentences, trees)]

    def confidences(self, sentences: Sequence[Sentence]) -> list[tuple[Sentence, Floats]]:
        """The sentences with trees, and the probability (n,) that each word's head is right."""
        if self.calibration is None:
            raise VdgiError("confidence needs text that the parser was trained on")
        parsed = self._trees_with_margins(sentences)
        trees, margins = [heads for heads, _ in parsed], [row for _, row in parsed]
        sure = self.calibration(self.calibration.arcs([s.tags for s in sentences], trees, margins))
        rows = np.split(sure, np.cumsum([len(tree) for tree in trees])[:-1])
        return [(replace(s, heads=tree), row) for s, tree, row in zip(sentences, trees, rows)]


def _amount(tree: Sentence) -> float:
    """The weight of a tree, between a silver and a gold tree's by the share of given heads."""
    share = n_known_heads([tree]) / len(tree)
    return 1.0 + (GOLD_AMOUNT - 1.0) * share


logger = logging.getLogger("dynet_vdgi")


class SilverSettings(Section, frozen=True):
    """The silver trees of the text, made jointly by the CRF and the teacher."""

    trust: Annotated[
        float, Meta(gt=0, description="gold heads that count as much as the unsupervised teacher")
    ] = 20.0


class FewTreesSettings(Settings, frozen=True, tag_field="recipe", tag="few-trees"):
    """A CRF learnt from trees, and a word parser that learns from its trees and the gold ones."""

    teacher: TeacherSettings = DmvSettings()
    crf: CrfSettings = CrfSettings()
    parser: WordParserSettings = WordParserSettings()
    silver: SilverSettings = SilverSettings()

    @property
    def is_universal(self) -> bool:
        return self.teacher.is_universal

    exclusions: ClassVar[Exclusions] = (
        ("silver data.max_len", ONLY_TREES, lambda _, given: not given.has_text),
        ("teacher", ONLY_TREES, lambda s, given: not given.has_text and s.teacher.needs_text),
        (
            "crf.trust",
            "the shares of a universal parser and of the table beside it are learnt",
            lambda s, _: s.teacher.is_universal,
        ),
    )

    def learner(self) -> FewTrees:
        """A learner with these numbers; with a universal parser, it has no student yet."""
        return FewTrees(
            ArcCrf(self.crf, seed=self.seed, pace=self.teacher.pace),
            None if self.is_universal else self.student(),
            trust=self.silver.trust,
            has_seen_trees=bool(self.teacher.gold_trees),
            longest_text=self.data.max_len,
        )

    def student(self) -> WordPerceptron:
        """A linear-time parser with these numbers."""
        return WordPerceptron(self.parser, seed=self.seed)


class FewTreesRecipe(Recipe[FewTreesSettings]):
    settings = FewTreesSettings

    def check(self, inputs: Inputs, settings: FewTreesSettings) -> None:
        super().check(inputs, settings)
        if not inputs.trees:
            raise UsageError(
                "the recipe few-trees learns from trees: name them with --trees FILE, "
                "or leave the recipe out"
            )
        teacher_of_kind(settings.teacher, settings.seed)
        if len(inputs.texts) > 1:
            raise UsageError(
                "--trees needs a single language: name its text with --train, "
                "and train one parser for each language that has trees"
            )

    def idle(
        self, inputs: Inputs, settings: FewTreesSettings, *, has_text: bool | None = None
    ) -> dict[str, str]:
        # Not known until the files are read: a file of trees may hold sentences without trees.
        return super().idle(inputs, settings, has_text=True if has_text is None else has_text)

    def prepare(
        self, reader: InputReader, settings: FewTreesSettings
    ) -> tuple[FewTreesSettings, Material]:
        rules = chosen_rules(reader.inputs, settings)
        material = reader.material(rules, longest_partial=settings.crf.max_len)
        check_ignored(settings, has_effect=True)
        if settings.is_universal:  # what it starts from knows all tags of UD
            tags = tuple(sorted({*material.vocabulary.tags, *UD_TAGS}))
            material = replace(material, vocabulary=Vocabulary(tags))
        return settings, material

    def learn(self, run: TrainingRun[FewTreesSettings]) -> ModelFile:
        settings, material = run.settings, run.material
        lesson = TaughtText()
        if material.sentences:
            lesson = teach(
                material,
                settings.teacher,
                seed=settings.seed,
                with_trees=False,
                with_marginals=True,
                log=run.log,
            )
        clock = time.process_time()
        prior = lesson.prior or Prior.of_text(material.rules, material.trees)
        base = lesson.base or teacher_of_kind(settings.teacher, settings.seed).start(
            material.trees, prior
        )
        sentences = material.sentences
        learner = settings.learner().fit(sentences, material.trees, base, lesson.marginals)
        fast = None
        if settings.is_universal and run.folder:
            fast = learner.with_student(
                settings.student(), sentences, material.trees, lesson.marginals
            )
        seconds = time.process_time() - clock
        trees, text = count(len(material.trees), "tree"), count(len(sentences), "sentence")
        logger.info(
            "parser with words: %s, text of %s, %.1f CPU s with compiling", trees, text, seconds
        )
        n_words, n = sum(map(len, material.trees)), n_free(material.trees)
        free = f", {n} of {count(n_words, 'head')} free" if n else ""
        gold_trees, dev_dda = (
            [*run.provenance.gold_trees, f"training: {trees} learnt from{free}"],
            None,
        )
        if material.dev:
            dev_dda = score(
                material.dev, [tree.heads or () for tree in learner.predict(material.dev)]
            ).dda
            gold_trees.append("dev: progress figures only")
            logger.info("dev DDA %.3f", dev_dda)
        row: dict[str, Any] = {"phase": "student", "trees": len(material.trees), "agreement": None}
        row |= {
            "dev_dda": dev_dda,
            "share_of_teacher": round(learner.share, 4),
            "cpu_s": round(seconds, 2),
        }
        run.log.append(row)
        relations = material.trees, prior, material.punctuation
        labels, text_json = label_arrays(*relations, base.log_p), prior.text.to_json()
        provenance = run.provenance.with_(gold_trees=tuple(gold_trees), dev_dda=dev_dda)

        def model_with(*arrays: Mapping[str, Any]) -> ModelFile:
            parameters = {name: array for some in arrays for name, array in some.items()}
            vocabulary, rules = material.vocabulary, material.rules
            return ModelFile(provenance, settings, vocabulary, rules, parameters, text=text_json)

        model = model_with(*_arrays(learner), learner.crf.arrays(), base.arrays(), labels)
        if fast and run.folder:
            run.save(model_with(*_arrays(fast), label_arrays(*relations)), FAST_NAME)
            logger.info("fast student: %s", run.folder / FAST_NAME)
        run.save(model)
        return model

    def engine(self, model: ModelFile) -> Engine:
        if STUDENT + "weights" in model.parameters:
            return StudentEngine(model)
        if model.base is None:
            raise ModelError(
                "the model has neither a student nor the measures of a text that a CRF needs"
            )
        return self.exact(model)

    def exact(self, model: ModelFile) -> CrfEngine:
        """The CRF, which is the parser itself or has taught it. Raises: UsageError, see
        `Recipe.exact`."""
        if CRF + "weights" not in model.parameters:
            raise UsageError("a fast student has no distribution over trees: leave out --fast")
        return CrfEngine(ArcCrf.from_arrays(model.parameters, base_of(model)))


def _arrays(learner: FewTrees) -> Iterator[Arrays]:
    """The arrays of what parses besides the CRF: the student, if there is one, and the
    calibration."""
    for part in (learner.student, learner.calibration):
        if part is not None:
            yield part.arrays()


RECIPE = FewTreesRecipe()
