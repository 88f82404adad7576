"""What a word is for the dependency model and for a student: a tag, or a finer symbol that falls back to it.

A symbol is a tag and, after MARK, what a rule table distinguishes: VERB, VERB+Part, VERB+a; in the last
stage of learning also, after WORD, a word: ADP=of. A symbol that was not seen in training is taken for a
coarser one.
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
    """The symbol, and what to take it for where it is not known, one after the other.

    >>> fallbacks("VERB+Part=gone")
    ('VERB+Part=gone', 'VERB+Part', 'VERB')
    """
    without_word = symbol.partition(WORD)[0] or symbol
    return symbol, without_word, coarse(without_word)
