"""The features that the tokeniser has of each unit: their names, their numbers, and what each is
made of.

A feature's code is the hash of its template's number and of what the template looks at. Model files
hold the codes, so no number ever changes; a new template gets the next free one.

Symbols: `c` the unit itself, `l1` the one to its left and `l2` before that, `r1` the one to its
right, and so on. Kinds are coarser than symbols (`symbols.code_and_kind`), sorts still coarser
(white space, letter, number, other). A chunk is what stands between white space; `up to c` and
`after c` are its two parts. For `can.` with c = n:

>>> from dynet_vdgi.words.tokeniser.features import keys_of
>>> from dynet_vdgi.words.tokeniser.symbols import symbols_of
>>> first, keys = keys_of(symbols_of("can."))
>>> first.tolist()  # units c, a, n, . have their features one after the other
[0, 43, 86, 134, 192]
>>> UnitTemplate(2).name, len(UnitTemplate)
('C_R1', 47)
"""

from __future__ import annotations

from enum import IntEnum, unique


@unique
class UnitTemplate(IntEnum):
    """Each template with its number."""

    ALWAYS = 0
    # Symbols around the border to the right of c.
    L1_C = 1
    C_R1 = 2
    R1_R2 = 3
    L1_C_R1 = 4
    L2_TO_C = 5
    C_TO_R2 = 6
    R1_TO_R3 = 7
    L3_TO_C = 8
    R1_TO_R4 = 9
    L2_TO_R3 = 10
    # The chunk.
    UP_TO_C = 11
    AFTER_C = 12
    SYMBOLS_UP_TO_AND_AFTER_C = 13  # how many there are on each side, 4 at most
    # Kinds, which are seen often enough even of characters that are not.
    KINDS_L1_TO_R1 = 14
    KINDS_C_TO_R2 = 15
    KINDS_C_TO_R3 = 16
    KINDS_L2_TO_R2 = 17
    KIND_OF_C_IF_REPEATED = 18  # c's kind, and whether r1 is the same symbol
    # Sorts, alone and with one symbol.
    SORTS_L1_TO_R1 = 19
    SORTS_L1_TO_R2 = 20
    SORTS_L2_TO_R3 = 21
    C_SORTS_L1_R1 = 22
    R1_SORTS_C_R2 = 23
    C_SORTS_L1_R1_R2 = 24
    R1_SORTS_L1_C_R2_R3 = 25
    # Inside a chunk.
    UP_TO_C_KIND_OF_R1 = 26
    # At the end of a chunk, whose white space is r1; r2 begins the next one.
    NEXT_CHUNK_SPACE = 27
    PREVIOUS_CHUNK = 28
    CHUNK_KIND_OF_R2 = 29
    CHUNK_NEXT_CHUNK = 30
    PREVIOUS_CHUNK_CHUNK = 31
    SHAPE_KIND_OF_R2 = 32
    L1_C_KIND_OF_R2 = 33
    L2_TO_C_KIND_OF_R2 = 34
    C_KIND_OF_R2 = 35
    C_KINDS_R2_R3 = 36
    C_NEXT_CHUNK = 37
    # Where a token may end, because c and r1 are of different sorts: the beginning of the chunk,
    # and endings up to c.
    FIRST_TWO_OF_CHUNK = 38
    FIRST_THREE_OF_CHUNK = 39
    LAST_FIVE = 40  # the next numbers: LAST_SIX and so on, up to `features.LONGEST_ENDING`
    LAST_SIX = 41
    LAST_SEVEN = 42
    LAST_EIGHT = 43
    # At a mark, or right before one: is it the full stop of an abbreviation?
    MARK_LETTERS_BEFORE = 44
    MARK_FEW_LETTERS_BEFORE = 45
    MARK_FEW_LETTERS_BEFORE_KINDS_AFTER = 46
