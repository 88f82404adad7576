"""Checks of the gold trees given to a run, and messages about them, before learning."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from dynet_vdgi.conllu import guess_marks
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.conllu.tree_faults import FREE
from dynet_vdgi.errors import DataError, VdgiError
from dynet_vdgi.parser.steps import MEMORY
from dynet_vdgi.relations.inventory import check, own_relations
from dynet_vdgi.rule_tables.tag_warnings import check_known
from dynet_vdgi.system.messages import count

logger = logging.getLogger("dynet_vdgi")

MOST_SHOWN = 5
"""Number of relations and tags that a message lists."""

WORTH_TELLING = 0.01
"""Share of tree words whose tags must be missing from the text before a warning appears."""


def only_corrected(trees: Sequence[Sentence], path: str, *, can_drop: bool) -> list[Sentence]:
    """The trees without the heads that nobody has confirmed, if somebody has others; warns of
    guesses.

    can_drop: otherwise they keep those heads. Raises: DataError, all trees are guesses.
    """
    with_heads = [
        tree for tree in trees if tree.source is not None and set(tree.heads or ()) - {FREE}
    ]
    lines = [tree.source.lines for tree in with_heads if tree.source is not None]
    guesses, perhaps = (
        sum(map(test, lines)) for test in (guess_marks.is_guess, guess_marks.may_be_guess)
    )
    if guesses and guesses == len(with_heads):
        message = (
            "all trees are as vdgi choose wrote them, so the parser would learn its own guesses"
        )
        hint = (
            "correct HEAD and DEPREL; from a tree that is right, remove the comment '# guess = ...'"
        )
        raise DataError(path, None, message, hint)
    of_all, unseen = count(len(with_heads), "tree"), "leave out trees that nobody has looked at"
    if guesses:
        logger.warning("%s: %d of %s as vdgi choose wrote them: %s", path, guesses, of_all, unseen)
    if perhaps:
        how = "with HeadConf= on each word, as of vdgi parse --confidence"
        logger.warning("%s: %d of %s %s: %s", path, perhaps, of_all, how, unseen)
    confirmed = list(map(guess_marks.with_confirmed_only, trees))
    if unconfirmed := n_free(confirmed) - n_free(trees):
        what = f"{count(unconfirmed, 'head')} without HeadBy=, in trees with others that have it"
        effect = "left out" if can_drop else "learnt from, although nobody has confirmed them"
        logger.warning("%s: %s: %s", path, what, effect)
    return confirmed if can_drop else list(trees)


def n_free(trees: Iterable[Sentence]) -> int:
    """The number of words whose head is not known."""
    return sum((tree.heads or ()).count(FREE) for tree in trees)


def tell_of_relations(trees: Sequence[Sentence]) -> None:
    """Reports relations that are not in UD 2.

    Raises: DataError, a relation is not allowed in CoNLL-U, or there are too many.
    """
    relations = set[str]()
    for tree in trees:
        new = {deprel for deprel in tree.deprels if deprel != "_"} - relations
        try:
            if new:
                relations |= new
                check(relations)
        except VdgiError as error:
            path, line = (tree.source.path, tree.source.line) if tree.source else (MEMORY, None)
            raise DataError(path, line, str(error)) from None
    others = own_relations(tree.deprels for tree in trees)
    if others:
        counted = count(len(others), "relation")
        are = "is" if len(others) == 1 else "are"
        listed = _listed(f"{name} ({n:,})" for name, n in others.most_common())
        logger.info(
            "%s of the trees %s not of UD 2, learnt as in the file: %s", counted, are, listed
        )


def tell_of_tags(trees: Sequence[Sentence], texts: Mapping[str, Sequence[Sentence]]) -> None:
    """Warns of tree tags that the texts lack, because what is learnt about them is of no use there.

    Raises: DataError, the texts have none of them.
    """
    text_tags = {tag for text in texts.values() for sentence in text for tag in sentence.tags}
    if not text_tags:
        return
    times = Counter(tag for tree in trees for tag in tree.tags)
    source = trees[0].source if trees else None
    hint = "trees need the tags of the text"
    check_known(times, text_tags, source.path if source else MEMORY, hint)
    lacking = Counter({tag: n for tag, n in times.items() if tag not in text_tags})
    if lacking.total() > WORTH_TELLING * times.total():
        tags = "tag" if len(lacking) == 1 else "tags"
        do = "does" if len(lacking) == 1 else "do"
        listed, words = (
            _listed(tag for tag, _ in lacking.most_common()),
            count(lacking.total(), "word"),
        )
        logger.warning("%s %s of the trees (%s) %s not occur in the text", tags, listed, words, do)


def _listed(items: Iterable[str]) -> str:
    every = list(items)
    return ", ".join(every[:MOST_SHOWN]) + (", ..." if len(every) > MOST_SHOWN else "")
