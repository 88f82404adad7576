"""An XPOS for features that no word has had yet, put together from the parts of XPOS that are
there.

A part is a letter or, where the XPOS has them, what stands between marks, as in `subst:pl:nom`. The
XPOS of the most similar features is taken, and each of its parts is chosen again:

* by naive Bayes over the words that have as many parts: by each feature that they have or have not;
* then, a part that is the beginning of a value becomes the beginning of the value now, as m in Ncms
  of Gender=Masc.

>>> masculine = {
...     Described("Ncms", "Gender=Masc|Number=Sing"): 2,
...     Described("Ncmp", "Gender=Masc|Number=Plur"): 1,
... }
>>> composed_xpos("Gender=Fem|Number=Plur", masculine)
'Ncfp'
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import log
from typing import NamedTuple

from dynet_vdgi.page.learn.described import Described

SMALL_COUNT = 0.1
"""Added to the counts of features from which parts of an XPOS are chosen."""


class _DescribedWord(NamedTuple):
    """A described word: the parts of its XPOS, and its features."""

    parts: Sequence[str]
    feats: frozenset[str]


def composed_xpos(feats: str, described: Mapping[Described, int]) -> str:
    """The XPOS for features that none of the described words has; they are counted, and all have
    XPOS and FEATS."""
    wanted = frozenset(feats.split("|"))
    sets = {word: frozenset(word.feats.split("|")) for word in described}

    def similarity(word: Described) -> tuple[float, int]:
        return len(wanted & sets[word]) / len(wanted | sets[word]), described[word]

    likest = max(described, key=similarity)
    shape = _parts(likest.xpos)
    examples = [_DescribedWord(_parts(word.xpos), sets[word]) for word in described]
    examples = [example for example in examples if len(example.parts) == len(shape)]
    parts = [_likeliest_part(place, part, examples, wanted) for place, part in enumerate(shape)]
    gone, new = sets[likest] - wanted, wanted - sets[likest]
    for place, part in _beginnings_of_values(shape, gone, new).items():
        parts[place] = part
    return "".join(parts)


def _likeliest_part(
    place: int, part: str, examples: Sequence[_DescribedWord], wanted: frozenset[str]
) -> str:
    """The part at a place that is most probable beside the wanted features; of several, `part` or
    the first."""
    features = sorted(wanted.union(*(example.feats for example in examples)))

    def log_probability(choice: str) -> float:
        having = [example.feats for example in examples if example.parts[place] == choice]
        total = log(len(having))
        for feature in features:
            n = sum(feature in feats for feats in having)
            share = (n + SMALL_COUNT) / (len(having) + 2 * SMALL_COUNT)
            total += log(share if feature in wanted else 1 - share)
        return total

    choices = dict.fromkeys([part, *(example.parts[place] for example in examples)])
    return max(choices, key=log_probability)


def _beginnings_of_values(
    shape: Sequence[str], gone: frozenset[str], new: frozenset[str]
) -> dict[int, str]:
    """The parts, by place, that begin a value of a feature that is gone, with the beginning of the
    new value.

    The first part is never one: it says the part of speech. Capitals are only in codes such as
    N--P.
    """
    old_values = dict(_name_and_value(feature) for feature in gone)
    parts: dict[int, str] = {}
    for name, value in map(_name_and_value, sorted(new)):
        old = old_values.get(name, "").lower()
        for place in range(len(shape) - 1, 0, -1):
            part = shape[place]
            is_code = "-" in shape or not part.isupper()
            if value and part.isalnum() and old.startswith(part.lower()) and is_code:
                beginning = value[: len(part)]
                parts[place] = beginning if part.isupper() else beginning.lower()
                break
    return parts


def _name_and_value(feature: str) -> tuple[str, str]:
    name, _, value = feature.partition("=")
    return name, value


def _parts(xpos: str) -> list[str]:
    """Letters, or what stands between marks, and these.

    >>> _parts("Ncms"), _parts("subst:pl")
    (['N', 'c', 'm', 's'], ['subst', ':', 'pl'])
    """
    return re.findall("[^:.,|]+|[:.,|]", xpos) if re.search("[:.,|]", xpos) else [*xpos]
