"""A word's symbol for the dependency model and for a student: a tag, or a finer symbol with
fallbacks.

A symbol is a tag and, after MARK, the distinctions of a rule table: VERB, VERB+Part, VERB+a; in the
last stage of learning also, after WORD, a word: ADP=of. A symbol not seen in training is replaced
by a coarser one.
"""

from __future__ import annotations

MARK, WORD = "+", "="


def coarse(symbol: str) -> str:
    """The tag that a symbol belongs to.

    >>> coarse("VERB+Part"), coarse("+"), coarse("VERB")
    ('VERB', '+', 'VERB')
    """
    return symbol.partition(MARK)[0] or symbol


def fallbacks(symbol: str) -> tuple[str, ...]:
    """The symbol, and its successive replacements where it is not known.

    >>> fallbacks("VERB+Part=gone")
    ('VERB+Part=gone', 'VERB+Part', 'VERB')
    """
    without_word = symbol.partition(WORD)[0] or symbol
    return symbol, without_word, coarse(without_word)
