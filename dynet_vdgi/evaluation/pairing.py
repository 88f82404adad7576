"""Pairs the sentences of a gold file with those of a parse, and checks that both hold the same
words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

import numpy as np

from dynet_vdgi.conllu.blocks import ignore
from dynet_vdgi.conllu.faults import BlockCheck
from dynet_vdgi.conllu.nfc import ONE_FORM, SAME, is_same
from dynet_vdgi.conllu.protocols import Protocol
from dynet_vdgi.conllu.punctuation import heads_without, is_projective, without_punctuation
from dynet_vdgi.conllu.reading import tree_of
from dynet_vdgi.conllu.sentence import Sentence, Tree
from dynet_vdgi.conllu.tree_faults import FREE, cycle
from dynet_vdgi.errors import DataError, UsageError
from dynet_vdgi.system.messages import count

Parsed = Sentence | Sequence[int]
"""A sentence with heads, or the heads of all its words."""

CHARACTERS_SHOWN = 40
"""Characters of a sentence in messages about its heads."""

_SAME = (
    "both sides must hold the same sentences in the same order; "
    "vdgi evaluate --raw scores parses of raw text"
)


class Predicted(NamedTuple):
    """The predicted tree of a sentence of n words."""

    heads: Tree  # (n,)
    relations: tuple[str, ...] = ()  # (n,), or empty if the parse has none


def matched(
    gold: Iterable[Sentence], parsed: Iterable[Parsed]
) -> Iterator[tuple[Sentence, Predicted]]:
    """Each gold sentence with the predicted tree of all its words; both sides are read lazily.

    Raises: DataError, naming file and line on both sides, if they differ or heads are missing.
    """
    last_gold: Sentence | None = None
    last_parsed: Parsed | None = None
    for number, (sentence, parse) in enumerate(zip_longest(gold, parsed), 1):
        if sentence is None:
            path, line = _place(parse, "prediction")
            end = f"{_place(last_gold, 'gold')[0]} ends after {count(number - 1, 'sentence')}"
            raise DataError(path, line, f"sentence {number} is one too many: {end}", _SAME)
        if parse is None:
            path, _ = _place(last_parsed, "prediction")
            begins = f"{_where(sentence)} begins sentence {number}"
            raise DataError(
                path, None, f"ends after {count(number - 1, 'sentence')}, but {begins}", _SAME
            )
        last_gold, last_parsed = sentence, parse
        if not isinstance(parse, Sentence):
            _heads(parse, number)
        _check_same_words(sentence, parse, number)
        gold_heads(sentence)
        yield (
            sentence,
            Predicted(_heads(parse, number), parse.deprels if isinstance(parse, Sentence) else ()),
        )


def scored_pair(
    protocol: Protocol, gold: Sentence, predicted: Predicted
) -> tuple[Sentence, Predicted] | None:
    """A gold sentence as the protocol leaves it, and the predicted tree of its words; None: not
    scored.

    Only the gold side, its tags and its tree, decides which words are removed. Predicted heads are
    re-attached like the gold ones. Raises: DataError without gold heads.
    """
    scored, positions = without_punctuation(gold, protocol.removed_tags)
    if not len(scored) or (protocol.projective_only and not is_projective(gold_heads(scored))):
        return None
    relations = (
        tuple([predicted.relations[p - 1] for p in positions]) if predicted.relations else ()
    )
    return scored, Predicted(heads_without(predicted.heads, positions), relations)


def gold_heads(sentence: Sentence) -> Tree:
    """The heads of a gold sentence. Raises: DataError if it has none."""
    if sentence.heads is None:
        path, line = _place(sentence, "gold")
        raise DataError(path, line, "the sentence has no heads", "gold trees are needed to score")
    return sentence.heads


def _heads(parse: Parsed, number: int) -> Tree:
    """Raises: DataError, there are none; UsageError, the argument is neither a sentence nor
    heads."""
    if isinstance(parse, Sentence):
        if parse.heads is None:
            path, line = _place(parse, "prediction")
            raise DataError(
                path, line, f"sentence {number} has no heads", "is it the file that was parsed?"
            )
        return parse.heads
    is_list = isinstance(parse, (Sequence, np.ndarray))
    if not is_list or not all(isinstance(head, (int, np.integer)) for head in parse):
        message = f"a {type(parse).__name__} where a Sentence or the heads of one are expected"
        raise UsageError(f"{message}: pipe() gives sentences, and each Parse has heads")
    return tuple(parse)


def check_tree(sentence: Sentence, heads: Tree, which: str) -> None:
    """Raises: DataError, the heads of a sentence are no tree with one root, for the reasons of the
    reader."""
    n = len(heads)
    if not n or (heads.count(0) == 1 and min(heads) >= 0 and max(heads) <= n and not cycle(heads)):
        return
    texts = ["_" if head == FREE else str(head) for head in heads]
    try:
        tree_of(BlockCheck("", 1), texts, range(n), "required", ignore)
    except DataError as fault:
        word = f"word {fault.line}, " if re.match("HEAD [^i]", fault.message) else ""
        forms = " ".join(sentence.forms)
        if len(forms) > CHARACTERS_SHOWN:
            forms = forms[:CHARACTERS_SHOWN] + "..."
        where = f"{which} ({forms})"
        raise DataError("<heads>", None, f"{where}: {word}{fault.message}", fault.hint) from None


def _check_same_words(gold: Sentence, parse: Parsed, number: int) -> None:
    if isinstance(parse, Sentence) and gold.forms == parse.forms:
        return
    path, line = _place(parse, "prediction")
    if len(gold) != len(parse):
        n_parsed = count(len(parse), "word" if isinstance(parse, Sentence) else "head")
        message = (
            f"sentence {number} has {n_parsed}, but {_where(gold)} has {count(len(gold), 'word')}"
        )
        is_stripped = len(parse) == len(without_punctuation(gold)[0])
        if isinstance(parse, Sentence):
            is_stripped = parse.forms == without_punctuation(gold)[0].forms
        hint = (
            "its punctuation is missing; score a parse of the complete file"
            if is_stripped
            else _SAME
        )
        raise DataError(path, line, message, hint)
    if isinstance(parse, Sentence):
        word = next(w for w, (a, b) in enumerate(zip(gold.forms, parse.forms), 1) if a != b)
        path, line = _place(parse, "prediction", word)
        other = f"{_where(gold, word)} has {gold.forms[word - 1]!r}"
        form = parse.forms[word - 1]
        message, hint = f"word {word} of sentence {number} is {form!r}, but {other}", _SAME
        if is_same(form, gold.forms[word - 1]):
            message, hint = f"{message}: {SAME}", ONE_FORM
        raise DataError(path, line, message, hint)


def _place(side: Parsed | None, role: str, word: int | None = None) -> tuple[str, int | None]:
    """Path and line of a sentence, or of one of its words; `<role>` replaces an unknown path."""
    if not isinstance(side, Sentence) or side.source is None:
        return f"<{role}>", None
    source = side.source
    return source.path, source.line + (0 if word is None else source.rows[word - 1])


def _where(gold: Sentence, word: int | None = None) -> str:
    path, line = _place(gold, "gold", word)
    return path if line is None else f"{path}:{line}"
