"""Teachers of texts: each language has its own, under its own statistics; students get the trees of all."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.grammar.explanation import idle_facts
from dynet_vdgi.grammar.prior import Prior
from dynet_vdgi.runs.material import Floats, Material
from dynet_vdgi.runs.runlog import RunLog
from dynet_vdgi.settings.config import TeacherSettings
from dynet_vdgi.settings.registry import TEACHERS
from dynet_vdgi.system import memory
from dynet_vdgi.system.names import count
from dynet_vdgi.teachers.common import Teacher

logger = logging.getLogger("dynet_vdgi")


def teacher_of_kind(settings: TeacherSettings, seed: int) -> Teacher:
    """A teacher that has learnt nothing yet; some draw numbers. Raises: ConfigError, none is asked for."""
    teacher: Teacher = TEACHERS.named(settings.kind).make(settings, seed)
    return teacher


@dataclass(frozen=True)
class TaughtText:
    """What the teachers of all texts say.

    `trees` of the texts, all languages balanced; `marginals` (n + 1, n) of every sentence, and `votes`, some
    sentences with theirs, as far as they were asked for; `prior`, the teacher's, where it is the only one.
    """

    trees: list[Sentence] = field(default_factory=list)
    marginals: list[Floats] = field(default_factory=list)
    prior: Prior | None = None
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
    """What teachers of this kind learn from the texts, each under its own statistics.

    `n_votes`: the number of sentences, of all texts together, whose marginals are kept for calibration. The
    log says what was measured in each text and how its teacher learnt.
    """
    trees: list[list[Sentence]] = []
    priors: list[Prior] = []
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
        priors.append(prior)
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
    return TaughtText(balanced(trees), marginals, priors[0] if len(priors) == 1 else None, votes)


def _text_row(language: str, text: Sequence[Sentence], prior: Prior) -> dict[str, Any]:
    """What the prior found in a text, with facts and without."""
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

    Those of a small treebank come several times, so that no language has twice as many as another: a student
    of all would follow the large ones where languages differ.
    """
    most = max(map(len, treebanks), default=0)
    return [tree for trees in treebanks if trees for tree in [*trees] * (most // len(trees))]
