"""Teachers of texts: each language has its own, with its own statistics; students get the trees of all."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.grammar.explanation import idle_facts
from dynet_vdgi.grammar.prior import Prior
from dynet_vdgi.runs.material import Material
from dynet_vdgi.runs.runlog import RunLog
from dynet_vdgi.settings.config import TeacherSettings
from dynet_vdgi.settings.registry import TEACHERS
from dynet_vdgi.system import memory
from dynet_vdgi.system.arrays import Floats
from dynet_vdgi.system.names import count
from dynet_vdgi.teachers.common import Base, Teacher

logger = logging.getLogger("dynet_vdgi")


def teacher_of_kind(settings: TeacherSettings, seed: int) -> Teacher:
    """A teacher that has learnt nothing yet; some draw random numbers. Raises: ConfigError, no teacher."""
    teacher: Teacher = TEACHERS.named(settings.kind).make(settings, seed)
    return teacher


@dataclass(frozen=True)
class TaughtText:
    """The results of the teachers of all texts.

    `trees` of the texts, with languages balanced; on request `marginals` (n + 1, n) of every sentence, and
    `votes`, some sentences with their marginals; `prior` of the teacher if it is the only one, and what a CRF
    starts from, `base`.
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
    """Trains a teacher of this kind for each text, with the text's own statistics, and returns the results.

    `n_votes`: the number of sentences, of all texts together, whose marginals are kept for calibration. The
    log reports the measurements of each text and how its teacher learnt.
    """
    trees: list[list[Sentence]] = []
    known: list[tuple[Prior, Base]] = []
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
            heads, said = teacher.heads_and_votes(text, n_votes // n_texts)
            trees.append([replace(s, heads=tree, source=None) for s, tree in zip(text, heads)])
            votes += said
        known.append((prior, teacher.start(text, prior)))
        if with_marginals:
            marginals += teacher.marginals(text)
        seconds = time.process_time() - start
        for number, row in enumerate(teacher.log_rows(), 1):
            log.append({"phase": "teacher", "language": language, "iteration": number, **row})
        words = sum(map(len, text))
        log.append({"phase": "taught", "language": language, "words": words, "cpu_s": round(seconds, 2)})
        label = f"{language}: " if language else ""
        message = "%steacher: %s, %s, %.1f CPU s with compiling"
        logger.info(message, label, teacher.name, count(len(text), "sentence"), seconds)
    memory.give_back()
    alone: tuple[Prior | None, Base | None] = known[0] if len(known) == 1 else (None, None)
    return TaughtText(balanced(trees), marginals, *alone, votes)


def _text_row(language: str, text: Sequence[Sentence], prior: Prior) -> dict[str, Any]:
    """The prior's findings in a text, with facts and without."""
    statistics, told = prior.statistics, prior.text.told
    row: dict[str, Any] = {
        "phase": "text",
        "language": language,
        "sentences": len(text),
        "words": sum(map(len, text)),
        "is_verb_final": statistics.is_verb_final,
        "is_mirrored": statistics.is_mirrored,
        **_measured(prior),
    }
    if told:
        row["facts"] = {name: [fact.value, fact.cases] for name, fact in told.items()}
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

    The trees of a small treebank are repeated, so that no language has twice as many as another, because a
    shared student would follow the large ones where languages differ.
    """
    most = max(map(len, treebanks), default=0)
    return [tree for trees in treebanks if trees for tree in [*trees] * (most // len(trees))]
