"""MISC of two words that become one: what both have under one name is joined as its meaning asks.

Entity= has the brackets of CorefUD (https://ufal.mff.cuni.cz/corefud): `(e1-person` where a
mention begins, `e1)` where it ends, `(e1-person)` where it is one word.
"""

from __future__ import annotations

import re

from dynet_vdgi.page.text.sentence_state import NO_VALUE

_BRACKETS = re.compile(r"\([^()]+\)?|[^()]+\)")

LIKE_FORMS = ("Translit", "LTranslit", "CorrectForm", "Vform")
"""Names whose values are written as the form or the lemma is."""

_ONE_ONLY = ("SpaceAfter", "SpacesAfter", "SpacesBefore", "SpacesInToken")

_SIGNS = {"Gloss": ".", "Note": r"\n"}


def joined_misc(one: str, other: str, blank: str = "") -> str:
    r"""The entries of both words; `blank` stands between their forms.

    Different values of a name are joined: of Gloss by a full stop, as glosses of one form are; of
    transliterations and the like as the forms are; of Note, the page's, by a new line; Entity as
    brackets; others by a comma. Of spaces, which belong to the text, the first word's are taken.

    >>> joined_misc("Gloss=fort|Entity=(e1-place", "Entity=e1)|Gloss=day|Lang=cy")
    'Gloss=fort.day|Entity=(e1-place)|Lang=cy'
    >>> joined_misc("Translit=a", "Translit=b", " ")
    'Translit=a b'
    >>> joined_misc("Ref=1", "Ref=2"), joined_misc("Ref=1", "Ref=1")
    ('Ref=1,2', 'Ref=1')
    """
    parts = [part for part in one.split("|") if part != NO_VALUE]
    places: dict[str, int] = {}
    for place, part in enumerate(parts):
        places.setdefault(part.partition("=")[0], place)
    for part in other.split("|"):
        key, _, value = part.partition("=")
        if part == NO_VALUE or part in parts:
            continue
        if key not in places:
            parts.append(part)
            continue
        place = places[key]
        first = parts[place].partition("=")[2]
        if not first:  # a name alone, or without a value
            parts[place] = part
        elif value and key not in _ONE_ONLY:
            parts[place] = f"{key}={_joined_value(key, first, value, blank)}"
    return "|".join(parts) or NO_VALUE


def _joined_value(key: str, one: str, other: str, blank: str) -> str:
    """Both values of a name."""
    if key == "Entity" and (brackets := _joined_mentions(one, other)):
        return brackets
    return one + (blank if key in LIKE_FORMS else _SIGNS.get(key, ",")) + other


def _joined_mentions(one: str, other: str) -> str:
    """Mentions that begin and end in either word; one may be one word now. "": these are no
    brackets."""
    if any(_BRACKETS.sub("", value) for value in (one, other)):
        return ""
    brackets = _BRACKETS.findall(one)
    for bracket in _BRACKETS.findall(other):
        if bracket[0] == "(":
            brackets.append(bracket)
            continue
        begun = [k for k, each in enumerate(brackets) if each[-1] != ")"]
        matching = [k for k in begun if f"{brackets[k][1:]}-".startswith(f"{bracket[:-1]}-")]
        if matching:
            brackets[matching[-1]] += ")"
        else:  # an end that follows a beginning at once would look like its end
            brackets.insert(begun[0] if begun else len(brackets), bracket)
    return "".join(brackets)
