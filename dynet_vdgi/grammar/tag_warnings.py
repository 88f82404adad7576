"""Tags without effect, in a text or in a rule table: probably typos, which silently cost accuracy."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping

from dynet_vdgi.data.penn import UPOS as PENN_TAGS
from dynet_vdgi.data.protocols import UD_PUNCTUATION
from dynet_vdgi.data.tags import UD_TAGS, ud_version
from dynet_vdgi.errors import DataError
from dynet_vdgi.grammar.rule_files import content_of, tags_named
from dynet_vdgi.grammar.rules import RuleSet
from dynet_vdgi.system.limits import limit
from dynet_vdgi.system.names import count, did_you_mean, listed

logger = logging.getLogger("dynet_vdgi")

RARE = 0.01
"""A tag similar to a UD tag, and borne by a smaller share of words than this, is taken for a typo."""

MOST_TOLD = 20
"""Maximum number of tags reported in a line each."""

ALIKE = 0.7
"""Required similarity of a rare tag to a UD tag, from 0 to 1."""


NOT_UNIVERSAL = "a universal parser knows no others; train with --preset best, or wsj-strict for Penn tags"
"""What to do about tags that are not UD's."""

MOST_ODD = 0.2
"""The largest share of words with tags of its own in a text that a universal parser suits."""


def tag_warnings(counts: Mapping[str, int], rules: RuleSet) -> list[str]:
    """Warnings about the tags of a text, a line each; `counts` are words by tag, without punctuation.

    Reported are tags in lower case (several share one line), rare tags similar to a UD tag, and tags that no
    rule mentions.

    >>> from dynet_vdgi.grammar.rules import parse_rules
    >>> rules = parse_rules("ROOT VERB 1\\nVERB NOUN 1")
    >>> print(*tag_warnings({"noun": 70, "VERB": 29, "VREB": 1}, rules), sep="\\n")
    tag noun (70 words): tags in lower case fit no rule; did you mean 'NOUN'?
    tag VREB (1 word): neither a tag of UD nor of the rules; did you mean 'VERB'?
    """
    total = sum(counts.values())
    mentioned = rules.mentioned_tags()
    expected = UD_TAGS | mentioned
    is_universal = 2 * sum(n for tag, n in counts.items() if tag.upper() in UD_TAGS) > total
    small = [tag for tag in counts if tag not in expected and tag.islower() and tag.upper() in expected]
    lines, explained = ([_in_small_letters(small, counts)], set(small)) if len(small) > 1 else ([], set())
    for tag, n in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        if tag in expected or tag in explained:
            continue
        if len(lines) == MOST_TOLD:
            break
        if tag.upper() in expected:
            hint = f"; did you mean '{tag.upper()}'?"
            what = "tags in lower case fit no rule" if tag.islower() else "it fits no rule"
        elif is_universal and n < RARE * total + 2 and len(counts) <= limit("tags"):
            hint = did_you_mean(tag, sorted(expected), ALIKE)
            what = "neither a tag of UD nor of the rules"
        else:
            continue
        if hint:
            lines.append(f"tag {tag} ({count(n, 'word')}): {what}{hint}")
            explained.add(tag)
    silent = [tag for tag in counts if mentioned and tag not in mentioned and tag not in explained]
    if silent:
        silent.sort(key=lambda tag: (-counts[tag], tag))
        n = sum(counts[tag] for tag in silent)
        share = f"{count(n, 'word')}, {100 * n / total:.1f} %"
        lines.append(f"no rule mentions these tags of the text: {listed(silent, limit('tags'))} ({share})")
    return lines


def _in_small_letters(tags: list[str], counts: Mapping[str, int]) -> str:
    """The message about several tags in lower case."""
    named, meant = _named_and_meant(tags, counts)
    return f"tags {named}: tags in lower case fit no rule; {meant}"


def _named_and_meant(tags: Iterable[str], counts: Mapping[str, int]) -> tuple[str, str]:
    """Tags in lower case with the number of their words, and what to write instead."""
    tags = sorted(tags, key=lambda tag: (-counts[tag], tag))
    words = count(sum(counts[tag] for tag in tags), "word")
    return f"{listed(tags, MOST_TOLD)} ({words})", f"write {tags[0].upper()} for {tags[0]}, and so on"


def unknown_tags(rules: RuleSet, text_tags: Collection[str]) -> list[str]:
    """Tags of a rule table that are unknown everywhere: in UD, the Penn Treebank and the text.

    The first ones have one line each.
    """
    known = UD_TAGS | set(text_tags) | set(PENN_TAGS)
    near = sorted(UD_TAGS | set(text_tags)) if len(text_tags) <= limit("tags") else []
    places = _first_lines(rules.text)
    unknown = sorted(rules.mentioned_tags() - known)
    lines = []
    for tag in unknown[:MOST_TOLD]:
        place = places.get(tag)
        where = f"rules, line {place}" if place else "rules"
        meant = f"; did you mean '{tag.upper()}'?" if tag.upper() in near else did_you_mean(tag, near)
        lines.append(f"{where}: {tag} is neither a tag of UD nor of the text{meant}")
    if len(unknown) > MOST_TOLD:
        lines.append(f"rules: {count(len(unknown) - MOST_TOLD, 'other tag')} are neither, too")
    return lines


def unknown_to_model(counts: Mapping[str, int]) -> list[str]:
    """The message about tags that are unknown to a model, given words by tag; none if there are no such tags.

    >>> unknown_to_model({"X": 1})
    ['tag X (1 word) is unknown to the model and was ignored; vdgi info lists the tags that it knows']
    """
    if not counts:
        return []
    tags, words = sorted(counts, key=lambda tag: (-counts[tag], tag)), count(sum(counts.values()), "word")
    tag, are, were = ("tag", "is", "was") if len(tags) == 1 else ("tags", "are", "were")
    ignored = f"unknown to the model and {were} ignored; vdgi info lists the tags that it knows"
    return [f"{tag} {listed(tags, MOST_TOLD)} ({words}) {are} {ignored}"]


def tell_unknown(counts: Mapping[str, int], told: set[str]) -> None:
    """Warns of tags that are unknown to a model, once of each; adds them to `told`."""
    new = {tag: n for tag, n in counts.items() if tag not in told}
    told.update(new)
    for line in unknown_to_model(new):
        logger.warning("%s", line)


TO_A_MODEL = (
    "vdgi info MODEL lists the tags that it knows; vdgi tag words --retag replaces those of a file; "
    "vdgi train --preset best, or wsj-strict for Penn tags, makes a parser of other tags"
)
"""What to do if a model knows none of the tags."""


def check_known(counts: Mapping[str, int], known: Collection[str], path: str, hint: str = "") -> None:
    """Checks the tags of a text but PUNCT, given words by tag, against the tags that a model or rules know.

    hint: what to do if none is known, and not because they are in lower case; "": nothing.

    Raises: DataError, none is known, so that the tags would say nothing.
    """
    tags = sorted(set(counts) - UD_PUNCTUATION, key=lambda tag: -counts[tag])
    if not tags or not set(known).isdisjoint(tags):
        return
    tag = tags[0]
    if tag.upper() in known:
        hint = f"tags are in upper case: write {tag.upper()} for {tag}, and so on"
    if hint:
        raise DataError(path, None, f"none of the tags is known, such as {tag}", hint)


def in_lower_case(counts: Mapping[str, int]) -> str:
    """A warning about UD tags in lower case, which a tagger would learn as other tags; "": there are none.

    >>> in_lower_case({"noun": 3, "VERB": 2, "NN": 1})
    'tags in lower case are other tags than those of UD: noun (3 words); write NOUN for noun, and so on'
    """
    small = [tag for tag in counts if tag.islower() and tag.upper() in UD_TAGS]
    if not small:
        return ""
    named, meant = _named_and_meant(small, counts)
    return f"tags in lower case are other tags than those of UD: {named}; {meant}"


def tell_unsuited(counts: Mapping[str, int]) -> None:
    """Warns of the reasons why a universal parser does not suit a text, see `unsuited`."""
    for line in unsuited(counts):
        logger.warning("%s", line)


def unsuited(counts: Mapping[str, int]) -> list[str]:
    """Reasons why a universal parser does not suit a text with these words by universal tag.

    >>> unsuited({"NOUN": 8, "CCONJ": 1, "XX": 1})
    []
    >>> unsuited({"NN": 2, "VBD": 1, "DET": 1})[0].partition(":")[0]
    '75.0 % of the words have tags that Universal Dependencies do not have, such as NN'
    """
    odd = [tag for tag in counts if tag not in UD_TAGS]
    share, lines = sum(counts[tag] for tag in odd) / max(1, sum(counts.values())), []
    if MOST_ODD < share < 1:  # without any known tag, `check_known` refuses the text
        most = max(odd, key=lambda tag: counts[tag])
        lines.append(
            f"{100 * share:.1f} % of the words have tags that Universal Dependencies do not have, such as "
            f"{most}: {NOT_UNIVERSAL}"
        )
    if ud_version(counts) == "UD 1":
        lines.append(
            "the tag CONJ is of UD 1, where conjunctions and copulas depend on other words than in the trees "
            "that a universal parser has learnt: train with --preset best"
        )
    return lines


def _first_lines(text: str) -> dict[str, int]:
    """The first line of a rule file that names each tag."""
    found: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), 1):
        for tag in tags_named(content_of(line)):
            found.setdefault(tag, number)
    return found
