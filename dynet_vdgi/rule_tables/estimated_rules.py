"""Rules with expectations counted in gold trees, from files or sentences; see `expectations`."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from pathlib import Path

from dynet_vdgi.conllu import reading
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.errors import DataError
from dynet_vdgi.rule_tables.expectations import estimate, sentences_for_estimate
from dynet_vdgi.rule_tables.rules import RuleSet, parse_rules
from dynet_vdgi.system import files
from dynet_vdgi.system.messages import count

logger = logging.getLogger("dynet_vdgi")

FEW_SENTENCES = 50
"""Expectations counted in fewer sentences are unreliable."""


def estimated_rules(names: Sequence[str], rules: RuleSet, max_len: int, tags: str) -> RuleSet:
    """The rules with the expectations that the trees of these files give; `tags`: their column.

    Raises: DataError, a file is malformed or has no trees, or no sentence is left to count in.
    """
    sentences = (s for name in names for s in reading.read(name, heads="required", tags=tags))
    shown = [files.shown(name) for name in names]
    return estimated_in(
        sentences, rules, max_len, [Path(name).name for name in shown], ", ".join(shown)
    )


def estimated_in(
    sentences: Iterable[Sentence], rules: RuleSet, max_len: int, names: Sequence[str], where: str
) -> RuleSet:
    """The rules with the expectations estimated from these trees.

    `names`: the files, for the comment in the rule file; `where`: the place that an error names.

    Raises: DataError, no sentence is left to count in.
    """
    prepared = sentences_for_estimate(sentences, max_len)
    n_sentences, n_words = (
        count(len(prepared.sentences), "sentence"),
        count(prepared.n_words, "word"),
    )
    logger.info("counted in: %s, %s", n_sentences, n_words)
    for dropped in prepared.dropped:
        logger.info("  dropped %s", dropped)
    if not prepared.sentences:
        hint = "see what was dropped, and --max-len"
        raise DataError(where, None, "no sentence is left to count in", hint)
    if len(prepared.sentences) < FEW_SENTENCES:
        logger.warning(
            "counted in %s of at most %d words, too few to be reliable: "
            "give more trees, or a higher --max-len (in training: data.max_len)",
            count(len(prepared.sentences), "sentence"),
            max_len,
        )
    logger.info("gold trees used: expectations of the rules; sentences with crossing arcs left out")
    estimated = estimate(prepared.sentences, rules)
    for rule in estimated.without_pairs:
        logger.warning("rule %s gets 0: no sentence has words that it could hold for", rule)
    return parse_rules(estimated.rule_file(list(names), max_len), "<estimated rules>")
