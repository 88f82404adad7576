"""Checks of the gold trees given to a run, and messages about them, before learning."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from dynet_vdgi.data import guesses
from dynet_vdgi.data.protocols import UD_PUNCTUATION
from dynet_vdgi.data.sentence import FREE, Sentence
from dynet_vdgi.errors import DataError, VdgiError
from dynet_vdgi.grammar.tag_warnings import check_known
from dynet_vdgi.labels.inventory import check, own_relations
from dynet_vdgi.system.names import count

logger = logging.getLogger("dynet_vdgi")

MOST_SHOWN = 5
"""Number of relations and tags that a message lists."""

WORTH_TELLING = 0.01
"""Share of tree words whose tags must be missing from the text before a warning appears."""


class Punctuation:
    """Counts the relations of punctuation in passing sentences, because learners do not see punctuation."""

    def __init__(self) -> None:
        self._times: Counter[str] = Counter()

    def over(self, sentences: Iterable[Sentence]) -> Iterator[Sentence]:
        """The sentences, in order."""
        for sentence in sentences:
            tags = sentence.upos or sentence.tags
            self._times.update(
                deprel
                for tag, deprel in zip(tags, sentence.deprels)
                if tag in UD_PUNCTUATION and deprel != "_"
            )
            yield sentence

    @property
    def relation(self) -> str:
        """The most frequent one; `punct` if there is none."""
        return self._times.most_common(1)[0][0] if self._times else "punct"


class Guesses:
    """Counts the trees in passing sentences that nobody seems to have corrected.

    can_drop: guessed heads are taken out of a tree of which somebody has confirmed others.
    """

    def __init__(self, *, can_drop: bool) -> None:
        self._can_drop = can_drop
        self._trees = self._guesses = self._perhaps = self._unconfirmed = 0

    def over(self, sentences: Iterable[Sentence]) -> Iterator[Sentence]:
        """The sentences, in order."""
        for sentence in sentences:
            if sentence.source is not None and set(sentence.heads or ()) - {FREE}:
                self._trees += 1
                self._guesses += guesses.is_guess(sentence.source.lines)
                self._perhaps += guesses.may_be_guess(sentence.source.lines)
                confirmed = guesses.only_confirmed(sentence)
                self._unconfirmed += _n_free(confirmed) - _n_free(sentence)
                yield confirmed if self._can_drop else sentence
            else:
                yield sentence

    def tell(self, path: str) -> None:
        """Warns of the trees. Raises: DataError, all are guesses."""
        if self._guesses and self._guesses == self._trees:
            message = "all trees are as vdgi choose wrote them, so the parser would learn its own guesses"
            hint = "correct HEAD and DEPREL; from a tree that is right, remove the comment '# guess = ...'"
            raise DataError(path, None, message, hint)
        of_all, unseen = count(self._trees, "tree"), "leave out trees that nobody has looked at"
        if self._guesses:
            logger.warning("%s: %d of %s as vdgi choose wrote them: %s", path, self._guesses, of_all, unseen)
        if self._perhaps:
            how = "with HeadConf= on each word, as of vdgi parse --confidence"
            logger.warning("%s: %d of %s %s: %s", path, self._perhaps, of_all, how, unseen)
        if self._unconfirmed:
            what = f"{count(self._unconfirmed, 'head')} without HeadBy=, in trees with others that have it"
            effect = "left out" if self._can_drop else "learnt from, although nobody has confirmed them"
            logger.warning("%s: %s: %s", path, what, effect)


def _n_free(sentence: Sentence) -> int:
    return (sentence.heads or ()).count(FREE)


def tell_of_relations(trees: Sequence[Sentence]) -> None:
    """Reports relations that are not in UD 2.

    Raises: DataError, a relation is not allowed in CoNLL-U, or there are too many.
    """
    known = set[str]()
    for tree in trees:
        new = {deprel for deprel in tree.deprels if deprel != "_"} - known
        try:
            if new:
                known |= new
                check(known)
        except VdgiError as error:
            path, line = (tree.source.path, tree.source.line) if tree.source else ("<memory>", None)
            raise DataError(path, line, str(error)) from None
    own = own_relations(tree.deprels for tree in trees)
    if own:
        counted = count(len(own), "relation")
        are = "is" if len(own) == 1 else "are"
        listed = _listed(f"{name} ({n:,})" for name, n in own.most_common())
        logger.info("%s of the trees %s not of UD 2, learnt as in the file: %s", counted, are, listed)


def tell_of_tags(trees: Sequence[Sentence], texts: Mapping[str, Sequence[Sentence]]) -> None:
    """Warns of tree tags that the texts lack, because what is learnt about them is of no use there.

    Raises: DataError, the texts have none of them.
    """
    known = {tag for text in texts.values() for sentence in text for tag in sentence.tags}
    if not known:
        return
    times = Counter(tag for tree in trees for tag in tree.tags)
    source = trees[0].source if trees else None
    hint = "trees need the tags of the text"
    check_known(times, known, source.path if source else "<memory>", hint)
    lacking = Counter({tag: n for tag, n in times.items() if tag not in known})
    if lacking.total() > WORTH_TELLING * times.total():
        tags = "tag" if len(lacking) == 1 else "tags"
        do = "does" if len(lacking) == 1 else "do"
        listed, words = _listed(tag for tag, _ in lacking.most_common()), count(lacking.total(), "word")
        logger.warning("%s %s of the trees (%s) %s not occur in the text", tags, listed, words, do)


def _listed(items: Iterable[str]) -> str:
    every = list(items)
    return ", ".join(every[:MOST_SHOWN]) + (", ..." if len(every) > MOST_SHOWN else "")
