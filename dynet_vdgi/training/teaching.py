"""Teachers of texts: each language has its own, under its own statistics; students get the trees of all."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dynet_vdgi import memory
from dynet_vdgi.config import (
    ConvexMstSettings,
    DmvSettings,
    EnsembleSettings,
    HdpDmvSettings,
    LcDmvSettings,
    NeuralDmvSettings,
    RfSettings,
    TeacherSettings,
)
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.errors import ConfigError
from dynet_vdgi.grammar.explanation import idle_facts
from dynet_vdgi.grammar.prior import Prior
from dynet_vdgi.material import Floats, Material
from dynet_vdgi.names import count
from dynet_vdgi.runlog import RunLog
from dynet_vdgi.teachers.common import Teacher

logger = logging.getLogger("dynet_vdgi")


def teacher_of_kind(settings: TeacherSettings, seed: int) -> Teacher:
    """A teacher that has learnt nothing yet; some draw numbers. Raises: ConfigError, none is asked for."""
    from dynet_vdgi.teachers.convex_mst import ConvexMst
    from dynet_vdgi.teachers.dmv import Dmv
    from dynet_vdgi.teachers.ensemble import Ensemble
    from dynet_vdgi.teachers.hdp_dmv import HdpDmv
    from dynet_vdgi.teachers.lc_dmv import LcDmv
    from dynet_vdgi.teachers.neural_dmv import NeuralDmv
    from dynet_vdgi.teachers.rasooli_faili import RasooliFaili

    if isinstance(settings, DmvSettings):
        return Dmv(settings)
    if isinstance(settings, ConvexMstSettings):
        return ConvexMst(settings)
    if isinstance(settings, LcDmvSettings):
        return LcDmv(settings)
    if isinstance(settings, HdpDmvSettings):
        return HdpDmv(settings, seed=seed)
    if isinstance(settings, NeuralDmvSettings):
        return NeuralDmv(settings, seed=seed)
    if isinstance(settings, RfSettings):
        return RasooliFaili(settings, seed=seed)
    if isinstance(settings, EnsembleSettings):
        return Ensemble(Dmv(settings.dmv), ConvexMst(settings.convex_mst))
    raise ConfigError("config: 'teacher.kind' is none")


def teach(
    material: Material,
    settings: TeacherSettings,
    *,
    seed: int,
    with_trees: bool = True,
    with_marginals: bool,
    n_votes: int = 0,
    log: RunLog,
) -> Material:
    """The material with trees of all its texts, and what the teachers think of every arc if that is wanted.

    `n_votes`: of so many sentences of all texts together that are voters they say it besides the trees.

    The log says what was measured in each text and how its teacher learnt.
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
    only = priors[0] if len(priors) == 1 else None
    return replace(material, taught=balanced(trees), marginals=marginals, prior=only, votes=votes)


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
