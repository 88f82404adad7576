"""Tags without effect, in a text or in a rule table: probably typos, which silently cost
accuracy."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping

from dynet_vdgi.conllu.penn import UPOS as PENN_TAGS
from dynet_vdgi.conllu.protocols import UD_PUNCTUATION
from dynet_vdgi.conllu.tag_sets import UD_TAGS, ud_version
from dynet_vdgi.errors import DataError
from dynet_vdgi.rule_tables.rule_files import content_of, tags_named
from dynet_vdgi.rule_tables.rules import RuleSet
from dynet_vdgi.system.limits import limit
from dynet_vdgi.system.messages import count as count_of
from dynet_vdgi.system.messages import did_you_mean, listed, nearest

logger = logging.getLogger("dynet_vdgi")

MOST_SHOWN = 20
"""Number of tags that a message names, or says of what may have been meant."""

LEAST_SIMILARITY = 0.7
"""Required similarity of a tag to the one that may have been meant, from 0 to 1."""

RARE_TAG_SHARE = 0.01
"""A tag similar to a UD tag, and borne by a smaller share of words than this, is taken for a
typo."""

NOT_UNIVERSAL = (
    "a universal parser knows no others; train with --preset best, or wsj-strict for Penn tags"
)
"""What to do about tags that are not UD's."""

TO_A_MODEL = (
    "vdgi info MODEL lists the tags that it knows; "
    "vdgi tag words --retag replaces those of a file; "
    "vdgi train --preset best, or wsj-strict for Penn tags, makes a parser of other tags"
)
"""What to do if a model knows none of the tags."""

MOST_ODD = 0.2
"""The largest share of words with tags of its own in a text that a universal parser suits."""

MOST_OF_X = 0.25
"""The largest share of words with the tag X in a text whose expected accuracy is believed. Of 188
files of UD, one has 49 % (Yupik-SLI, whose words are parts of words), all others at most 7 %.
Where 30 % of the tags of Korean are replaced by X, 52 % of the heads are expected and 36 % are
right; French and Gaelic bear 60 %."""

MOST_ALIKE, FEWEST_ALIKE = 0.6, 10
"""The largest share of words with one tag, if there are at least FEWEST_ALIKE, in a text whose tags
say something. In the same files it is at most 50 %. Beyond it, expected shares are no longer
right: with X for all words, 52, 57 and 66 % of the heads were expected in French, Gaelic and
Korean, and 26, 35 and 6 % were right; with NOUN for all, 42, 56 and 49 %, and 49, 41 and 18 %."""

TO_TAG = (
    "vdgi tag train learns a tagger from fifty tagged sentences, "
    "and vdgi tag MODEL FILE --retag replaces the tags"
)
"""What to do if tags say nothing."""


def _by_words(counts: Mapping[str, int]) -> list[str]:
    """The tags, those of most words first."""
    return sorted(counts, key=lambda tag: (-counts[tag], tag))


def tag_warnings(counts: Mapping[str, int], rules: RuleSet) -> list[str]:
    """The warning about tags of a text that no rule mentions; `counts` are words by tag, without
    punctuation.

    >>> from dynet_vdgi.rule_tables.rules import parse_rules
    >>> rules = parse_rules("ROOT VERB 1\\nVERB NOUN 1")
    >>> (warning,) = tag_warnings({"noun": 70, "VERB": 29, "VREB": 1}, rules)
    >>> for clause in warning.split("; "):
    ...     print(clause)
    no rule mentions these tags of the text: noun VREB (71 words, 71.0 %)
    write NOUN for noun, VERB for VREB?
    """
    expected = rules.mentioned_tags() or UD_TAGS
    strange = _by_words({tag: n for tag, n in counts.items() if tag not in expected})
    if not strange:
        return []
    total, n_words = sum(counts.values()), sum(counts[tag] for tag in strange)
    # only in a text whose tags are mostly those of UD is a rare one a typo
    n_of_ud = sum(n for tag, n in counts.items() if tag.upper() in UD_TAGS)
    few = RARE_TAG_SHARE * total + 2 if 2 * n_of_ud > total else 0
    meant = []
    for tag in strange[:MOST_SHOWN]:
        near = tag.upper() if tag.upper() in expected else ""
        if not near and tag not in UD_TAGS and counts[tag] < few:
            near = nearest(tag, sorted(UD_TAGS | expected), LEAST_SIMILARITY)
        meant += [f"{near} for {tag}"] if near else []
    hint = f"; write {', '.join(meant)}?" if meant else ""
    share = f"{count_of(n_words, 'word')}, {100 * n_words / total:.1f} %"
    return [
        f"no rule mentions these tags of the text: {listed(strange, limit('tags'))} ({share}){hint}"
    ]


def unknown_tags(rules: RuleSet, text_tags: Collection[str]) -> list[str]:
    """The warning about tags of a rule table that neither UD, nor the Penn Treebank, nor the text
    has."""
    near = sorted(UD_TAGS | set(text_tags)) if len(text_tags) <= limit("tags") else sorted(UD_TAGS)
    unknown = sorted(rules.mentioned_tags() - UD_TAGS - set(text_tags) - set(PENN_TAGS))
    if not unknown:
        return []
    lines: dict[str, int] = {}
    for number, line in enumerate(rules.text.split("\n"), 1):
        for tag in tags_named(content_of(line)):
            lines.setdefault(tag, number)
    named = []
    for tag in unknown[:MOST_SHOWN]:
        meant = did_you_mean(tag, near)
        if tag.upper() in near:
            meant = f"; did you mean '{tag.upper()}'?"
        place = f"line {lines[tag]}" if tag in lines else "a class"
        named.append(f"{tag} ({place}{meant})")
    more = f", and {len(unknown) - MOST_SHOWN:,} more" if len(unknown) > MOST_SHOWN else ""
    return [f"rules: neither tags of UD nor of the text: {', '.join(named)}{more}"]


def unknown_to_model(counts: Mapping[str, int]) -> list[str]:
    """The message about tags that are unknown to a model, given words by tag; none if there are no
    such tags.

    >>> print(*unknown_to_model({"X": 1})[0].split("; "), sep="\\n")
    tag X (1 word) is unknown to the model and was ignored
    vdgi info lists the tags that it knows
    """
    if not counts:
        return []
    tag, are, were = ("tag", "is", "was") if len(counts) == 1 else ("tags", "are", "were")
    named = f"{listed(_by_words(counts), MOST_SHOWN)} ({count_of(sum(counts.values()), 'word')})"
    ignored = f"unknown to the model and {were} ignored; vdgi info lists the tags that it knows"
    return [f"{tag} {named} {are} {ignored}"]


def tell_unknown(counts: Mapping[str, int], reported: set[str]) -> None:
    """Warns of tags that are unknown to a model, once of each; adds them to `reported`."""
    new = {tag: n for tag, n in counts.items() if tag not in reported}
    reported.update(new)
    for line in unknown_to_model(new):
        logger.warning("%s", line)


def check_known(
    counts: Mapping[str, int], known_tags: Collection[str], path: str, hint: str = ""
) -> None:
    """Checks the tags of a text but PUNCT, given words by tag, against the tags that a model or
    rules know.

    hint: what to do if none is known, and not because they are in lower case; "": nothing.

    Raises: DataError, none is known, so that the tags would say nothing.
    """
    tags = sorted(set(counts) - UD_PUNCTUATION, key=lambda tag: -counts[tag])
    if not tags or not set(known_tags).isdisjoint(tags):
        return
    if tags[0].upper() in known_tags:
        hint = f"tags are in upper case: write {tags[0].upper()} for {tags[0]}, and so on"
    if hint:
        raise DataError(path, None, f"none of the tags is known, such as {tags[0]}", hint)


def uninformative(counts: Mapping[str, int], informative: Collection[str] = ()) -> str:
    """What shows that the tags of a text say next to nothing, given words by tag; "": they say
    something.

    informative: the tags that say something, but X; (): all.

    >>> uninformative({"X": 3, "NOUN": 1, "PUNCT": 2})
    '75.0 % of the words have the tag X'
    >>> uninformative({"NOUN": 30, "VERB": 20})
    ''
    """
    of_words = {tag: n for tag, n in counts.items() if tag not in UD_PUNCTUATION}
    total = sum(of_words.values())
    empty = {
        tag: n
        for tag, n in of_words.items()
        if tag == "X" or (informative and tag not in informative)
    }
    if sum(empty.values()) > MOST_ALIKE * total:
        share, first = sum(empty.values()) / total, _by_words(empty)[0]
        tags = f"the tag {first}" if len(empty) == 1 else f"tags such as {first}"
        return f"{100 * share:.1f} % of the words have {tags}"
    first = _by_words(of_words)[0] if of_words else ""
    if total < FEWEST_ALIKE or of_words[first] <= MOST_ALIKE * total:
        return ""
    return f"{100 * of_words[first] / total:.1f} % of the words have the tag {first}"


def uninformative_warnings(
    counts: Mapping[str, int], informative: Collection[str] = ()
) -> list[str]:
    """The warning about tags of a text that say next to nothing, or too little; arguments of
    `uninformative`.

    >>> print(*uninformative_warnings({"X": 3, "NOUN": 4, "VERB": 3})[0].split(": "), sep="\\n")
    30.0 % of the words have the tag X, which says nothing
    fewer heads will be right than vdgi expect says
    """
    if reason := uninformative(counts, informative):
        return [f"the tags say next to nothing: {reason}. Many heads will be wrong; {TO_TAG}"]
    total = sum(n for tag, n in counts.items() if tag not in UD_PUNCTUATION)
    if counts.get("X", 0) <= MOST_OF_X * total:
        return []
    share = f"{100 * counts['X'] / total:.1f} % of the words have the tag X"
    return [f"{share}, which says nothing: fewer heads will be right than vdgi expect says"]


def tell_uninformative(counts: Mapping[str, int], informative: Collection[str] = ()) -> None:
    """Warns of tags of a text that say next to nothing; arguments of `uninformative`."""
    for line in uninformative_warnings(counts, informative):
        logger.warning("%s", line)


def in_lower_case(counts: Mapping[str, int]) -> str:
    """A warning about UD tags in lower case, which a tagger would learn as other tags; "": there
    are none.

    >>> print(*in_lower_case({"noun": 3, "VERB": 2, "NN": 1}).split("; "), sep="\\n")
    tags in lower case are other tags than those of UD: noun (3 words)
    write NOUN for noun, and so on
    """
    small = _by_words(
        {tag: n for tag, n in counts.items() if tag.islower() and tag.upper() in UD_TAGS}
    )
    if not small:
        return ""
    words = count_of(sum(counts[tag] for tag in small), "word")
    named = f"{listed(small, MOST_SHOWN)} ({words})"
    meant = f"write {small[0].upper()} for {small[0]}"
    return f"tags in lower case are other tags than those of UD: {named}; {meant}, and so on"


def tell_unsuited(counts: Mapping[str, int]) -> None:
    """Warns of the reasons why a universal parser does not suit a text with these words by
    universal tag."""
    odd = {tag: n for tag, n in counts.items() if tag not in UD_TAGS}
    share = sum(odd.values()) / max(1, sum(counts.values()))
    if MOST_ODD < share < 1:  # without any known tag, `check_known` refuses the text
        have = "of the words have tags that Universal Dependencies do not have"
        such = _by_words(odd)[0]
        logger.warning("%.1f %% %s, such as %s: %s", 100 * share, have, such, NOT_UNIVERSAL)
    if ud_version(counts) == "UD 1":
        logger.warning(
            "the tag CONJ is of UD 1, where conjunctions and copulas depend on other words "
            "than in the trees that a universal parser has learnt: train with --preset best"
        )
