"""The features of a word type's spelling: their names, their numbers, and what each is made of.

A feature's code is the hash of what the template looks at, the template's number, and the slot:
whether the type is the word itself, or stands one or two words to its left or right. Taggers hold
the codes, so no number ever changes.

Of a word two away the form alone is seen. Neighbours have no length, case or hyphen, and fewer
prefixes and suffixes:

>>> import numpy as np
>>> from dynet_vdgi.words.tagger.spelling import SLOTS, items_of
>>> items = items_of(["", "houses"])  # the first one is what is outside the sentence
>>> np.diff(items.first)[SLOTS:].tolist()  # of "houses" itself, as a neighbour, and two away
[14, 6, 6, 1, 1]
"""

from __future__ import annotations

from enum import IntEnum, unique


@unique
class SpellingTemplate(IntEnum):
    """Each template with its number."""

    FORM = 0  # lower-cased
    SHAPE = 1  # see `spelling.shape`
    # the next numbers: the last two letters and so on, up to `spelling.SUFFIX` of them
    LAST_LETTER = 2
    LAST_2 = 3
    LAST_3 = 4
    LAST_4 = 5
    LAST_5 = 6
    LAST_6 = 7
    # the next numbers: the first two letters and so on, up to `spelling.PREFIX` of them
    FIRST_LETTER = 10
    FIRST_2 = 11
    FIRST_3 = 12
    FIRST_4 = 13
    LENGTH = 20  # in letters, 8 at most
    ALWAYS = 21
    CASED_FORM = 22  # if it is not in lower case
    HYPHEN = 23  # inside
