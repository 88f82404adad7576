"""Level 3: the guidelines for trees that hold in every language, https://universaldependencies.org/guidelines.html.

Only sentences with a tree come here. A word's tag is the value of its feature ExtPos, if it has one, because
that says what a fixed expression or a title stands for as a whole.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache

from dynet_vdgi.data.tags import UD2_TAGS
from dynet_vdgi.labels.label_table import relation_of
from dynet_vdgi.validation.form import DEPREL, DEPS, FEATS, LEMMA, UPOS
from dynet_vdgi.validation.word_lines import WordLines

LEVEL = 3


def _but(tags: str) -> frozenset[str]:
    return UD2_TAGS - frozenset(tags.split())


TAGS = {
    "advmod": frozenset(("ADJ", "ADV", "CCONJ", "DET", "PART", "SYM")),
    "aux": frozenset(("AUX",)),
    "case": _but("ADJ AUX DET NUM PRON PROPN"),
    "cc": _but("ADJ AUX DET INTJ NOUN NUM PRON PROPN VERB"),
    "cop": frozenset(("AUX", "DET", "PRON", "SYM")),
    "det": frozenset(("DET", "PRON")),
    "expl": frozenset(("DET", "PART", "PRON")),
    "fixed": _but("PROPN"),
    "mark": _but("ADJ AUX DET INTJ NOUN NUM PRON PROPN"),
    "nummod": frozenset(("NOUN", "NUM", "SYM")),
    "punct": frozenset(("PUNCT",)),
}
"""The tags of words with a relation, where the guidelines limit them."""

_BELOW_FUNCTION_WORDS = frozenset(("conj", "fixed", "goeswith", "punct", "reparandum"))
_BELOW_MARKERS = _BELOW_FUNCTION_WORDS | {"advmod", "cc", "obl"}

BELOW = {
    "aux": _BELOW_FUNCTION_WORDS | {"cc"},
    "case": _BELOW_MARKERS,
    "cc": _BELOW_FUNCTION_WORDS,
    "clf": _BELOW_MARKERS,
    "cop": _BELOW_FUNCTION_WORDS | {"cc"},
    "det": _BELOW_MARKERS | {"case", "clf", "compound", "det", "discourse", "flat", "parataxis"},
    "fixed": frozenset(("conj", "goeswith", "punct", "reparandum")),
    "goeswith": frozenset[str](),
    "mark": _BELOW_MARKERS,
    "punct": frozenset(("goeswith", "punct")),
}
"""The relations that dependents of a word with such a relation may have; of others, any."""

FROM_THE_LEFT = frozenset(("appos", "conj", "fixed", "flat", "goeswith"))
"""Relations whose head is the first word."""

ABOVE_ORPHANS = frozenset(("acl", "advcl", "ccomp", "conj", "csubj", "parataxis", "reparandum", "root"))


def check(words: WordLines, has_features: bool = False) -> None:
    """Adds the problems of level 3; the heads of `words` are a tree.

    has_features: other sentences of the text have some, so that PronType is expected of pronouns here, too.
    """
    relations = [relation_of(columns[DEPREL]) for columns in words.words]
    below: list[list[int]] = [[] for _ in range(len(relations) + 1)]
    for number, head in enumerate(words.heads, 1):
        below[head].append(number)
    has_features = has_features or any(columns[FEATS] != "_" for columns in words.words)
    for number, (columns, relation) in enumerate(zip(words.words, relations), 1):
        _check_columns(words, number, columns, relation, has_features)
        under = [relations[child - 1] for child in below[number]]
        if under:
            _check_children(words, number, relation, below[number], under)
        tag = _tag(columns)
        for role in {relation, "fixed"} if "fixed" in under else {relation}:  # the first word is of it, too
            if role in TAGS and tag not in TAGS[role] and tag in UD2_TAGS:
                words.say(number, LEVEL, f"tag-of-{role}", _tag_text(tag, role))
        head = words.heads[number - 1]
        if relation in FROM_THE_LEFT and number < head:
            words.say(number, LEVEL, "left-to-right", f"{relation} leads from the first word to later ones")
        if relation == "orphan" and head and relations[head - 1] not in ABOVE_ORPHANS:
            text = f"orphan hangs from a word that stands for a clause, not from {relations[head - 1]}"
            words.say(number, LEVEL, "orphan", text)
    if "punct" in relations:
        _check_crossing(words, relations)


def _check_columns(
    words: WordLines, number: int, columns: list[str], relation: str, has_features: bool
) -> None:
    tag, feats = columns[UPOS], columns[FEATS]
    arcs = [(str(words.heads[number - 1]), relation)]
    if columns[DEPS] != "_":
        arcs += [(head, own) for head, _, own in (arc.partition(":") for arc in columns[DEPS].split("|"))]
    for head, own in arcs:
        if (head == "0") != (own == "root"):
            words.say(number, LEVEL, "root", f"the relation to {head} is {own}; root is the one to 0 only")
            break
    if tag == "PUNCT" and relation not in ("punct", "root"):
        words.say(number, LEVEL, "punct", f"a word tagged PUNCT has the relation punct, not {relation}")
    if columns[DEPREL] == "flat:foreign":
        for part in (number, words.heads[number - 1]):
            if (words.words[part - 1][UPOS], words.words[part - 1][FEATS]) != ("X", "Foreign=Yes"):
                text = "both words of flat:foreign are tagged X, with Foreign=Yes as their only feature"
                words.say(part, LEVEL, "flat-foreign", text)
    if relation == "goeswith":
        if tag != "X":
            words.say(number, LEVEL, "goeswith", f"the later part of a word is tagged X, not {tag}")
        if columns[LEMMA] != "_" or feats != "_":
            words.say(number, LEVEL, "goeswith", "lemma and features belong to the word's first part")
    elif tag in ("PRON", "DET") and has_features and "PronType=" not in feats:
        words.say(number, LEVEL, "prontype", f"{tag} without the feature PronType")
    elif "VerbForm=Fin" in feats and "Mood=" not in feats:
        words.say(number, LEVEL, "mood", "VerbForm=Fin without the feature Mood")


def _check_children(
    words: WordLines, number: int, relation: str, children: list[int], relations: list[str]
) -> None:
    allowed = BELOW.get(relation)
    if allowed is not None:
        for child, own in zip(children, relations):
            if own not in allowed and not (own == "advmod" and _is_negation(words.words[child - 1])):
                words.say(
                    child, LEVEL, f"below-{relation}", f"{own} cannot hang from {relation} (word {number})"
                )
    for rule, kinds, but in (("subjects", ("nsubj", "csubj"), ":outer"), ("objects", ("obj",), "")):
        several = [
            child
            for child, own in zip(children, relations)
            if own in kinds and not (but and words.words[child - 1][DEPREL].endswith(but))
        ]
        for child in several[1:]:
            words.say(child, LEVEL, rule, f"a second {rule[:-1]} of word {number}, beside word {several[0]}")
    if "fixed" in relations and "ExtPos=" not in words.words[number - 1][FEATS]:
        words.say(number, LEVEL, "extpos", "a fixed expression without the feature ExtPos")
    for joined, may_stand in (("fixed", ("punct",)), ("goeswith", ())):
        if joined in relations:
            later = [child for child, own in zip(children, relations) if own == joined and child > number]
            if gap := _gap(words, number, later, may_stand):
                words.say(
                    number, LEVEL, f"gap-in-{joined}", f"word {gap} stands inside this {joined} expression"
                )
    if "goeswith" in relations and "Typo=Yes" not in words.words[number - 1][FEATS]:
        words.say(number, LEVEL, "goeswith", "the first part of a word written apart needs Typo=Yes")


def _is_negation(columns: list[str]) -> bool:
    """Whether the word negates, which function words can be, as in `not only`."""
    return "Polarity=Neg" in columns[FEATS]


def _gap(words: WordLines, first: int, later: list[int], may_stand: Collection[str]) -> int:
    """The first word between these that is not one of them, nor has such a relation; 0 without one."""
    inside = (number for number in range(first + 1, max(later, default=0)) if number not in later)
    return next((number for number in inside if words.words[number - 1][DEPREL] not in may_stand), 0)


def _check_crossing(words: WordLines, relations: list[str]) -> None:
    """Punctuation whose arc is not projective, or because of which another arc is not.

    An arc is projective if all words between its ends are below its head.
    """
    arcs = [(min(pair), max(pair)) for pair in enumerate(words.heads, 1)]
    for number, (left, right) in enumerate(arcs, 1):
        above = words.heads[number - 1]
        if relations[number - 1] != "punct" or not above:
            continue
        for other, (begin, end) in enumerate(arcs, 1):
            if not (begin < left < end < right or left < begin < right < end):
                continue
            head = words.heads[other - 1]
            inside = begin if left < begin else end
            spans_it = begin < number < end
            if _is_below(words, inside, above) and (not spans_it or _is_below(words, number, head)):
                continue
            arc = f"from {head} to {other}" if head else f"to the root, {other}"
            text = f"the arc from {above} to this punctuation crosses the one {arc}"
            words.say(number, LEVEL, "punct-crosses", text)
            break


def _is_below(words: WordLines, number: int, head: int) -> bool:
    """Whether a word is the head or leads up to it."""
    while number and number != head:
        number = words.heads[number - 1]
    return number == head


def _tag_text(tag: str, relation: str) -> str:
    allowed = TAGS[relation]
    if len(allowed) <= 6:
        return f"{relation} is the relation of {', '.join(sorted(allowed))}, not of {tag}"
    return f"{relation} is no relation of {tag}"


def _tag(columns: list[str]) -> str:
    """The tag of the word or of what it stands for."""
    return _external(columns[FEATS]) or columns[UPOS]


@lru_cache(maxsize=1 << 12)
def _external(feats: str) -> str:
    return next((feature[7:] for feature in feats.split("|") if feature.startswith("ExtPos=")), "")
