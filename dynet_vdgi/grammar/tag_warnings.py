"""Tags that fit nothing, in a text or in a rule table: likely typos, which cost accuracy in silence."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from dynet_vdgi.data.penn import UPOS as PENN_TAGS
from dynet_vdgi.data.tags import UD_TAGS
from dynet_vdgi.grammar.rule_files import ROOT, content_of, tags_named
from dynet_vdgi.grammar.rules import RuleSet
from dynet_vdgi.names import count, did_you_mean

RARE = 0.01
"""A tag of fewer words than this share, like a tag of UD, is taken for a typo of it."""

ALIKE = 0.7
"""How like a UD tag a rare tag must be, from 0 to 1."""


def tag_warnings(counts: Mapping[str, int], rules: RuleSet) -> list[str]:
    """What looks wrong with the tags of a text, a line each; `counts` are words by tag, without punctuation.

    Tags in lower case, rare tags that look like a tag of UD, and tags that no rule mentions.

    >>> from dynet_vdgi.grammar.rules import parse_rules
    >>> rules = parse_rules("ROOT VERB 1\\nVERB NOUN 1")
    >>> print(*tag_warnings({"noun": 70, "VERB": 29, "VREB": 1}, rules), sep="\\n")
    tag noun (70 words): tags in lower case fit no rule; did you mean 'NOUN'?
    tag VREB (1 word): neither a tag of UD nor of the rules; did you mean 'VERB'?
    """
    total = sum(counts.values())
    mentioned = mentioned_tags(rules)
    expected = UD_TAGS | mentioned
    is_universal = 2 * sum(n for tag, n in counts.items() if tag.upper() in UD_TAGS) > total
    lines, explained = [], set()
    for tag, n in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        if tag in expected:
            continue
        if tag.upper() in expected:
            hint = f"; did you mean '{tag.upper()}'?"
            what = "tags in lower case fit no rule" if tag.islower() else "it fits no rule"
        elif is_universal and n < RARE * total + 2:
            hint = did_you_mean(tag, sorted(expected), ALIKE)
            what = "neither a tag of UD nor of the rules"
        else:
            continue
        if hint:
            lines.append(f"tag {tag} ({count(n, 'word')}): {what}{hint}")
            explained.add(tag)
    silent = [tag for tag in counts if tag not in mentioned and tag not in explained]
    if silent:
        silent.sort(key=lambda tag: (-counts[tag], tag))
        n = sum(counts[tag] for tag in silent)
        share = f"{count(n, 'word')}, {100 * n / total:.1f} %"
        lines.append(f"no rule mentions these tags of the text: {' '.join(silent)} ({share})")
    return lines


def unknown_tags(rules: RuleSet, text_tags: Collection[str]) -> list[str]:
    """Tags of a rule table that nobody knows, one line each: neither UD, nor Penn Treebank, nor the text."""
    known = UD_TAGS | set(text_tags) | set(PENN_TAGS)
    near = sorted(UD_TAGS | set(text_tags))
    lines = []
    for tag in sorted(mentioned_tags(rules) - known):
        place = next(_lines_with(rules.text, tag), None)
        where = f"rules, line {place}" if place else "rules"
        meant = f"; did you mean '{tag.upper()}'?" if tag.upper() in near else did_you_mean(tag, near)
        lines.append(f"{where}: {tag} is neither a tag of UD nor of the text{meant}")
    return lines


def mentioned_tags(rules: RuleSet) -> frozenset[str]:
    """Every tag that a rule set says something about, classes expanded, ROOT left out."""
    tags: set[str] = set()
    for rule in rules.rules:
        tags.update(rules.heads(rule), rules.dependents(rule))
    for members in rules.classes.values():
        tags.update(members)
    table = rules.table
    if table is not None:
        for exception in table.exceptions:
            tags.update(rules.heads(exception), rules.dependents(exception))
        for only in (table.heads_only, table.dependents_only):
            tags.update(*only.values())
        tags.update(table.leaf, table.edge_statistics, table.name_run)
        tags.update(table.conjunction, table.subordinator, table.verb, table.reading_order)
        for grouped in (table.conjunct, table.clause_barrier, table.verb_final):
            tags.update(*(grouped.groups if grouped else ()))
    return frozenset(tags - {ROOT})


def _lines_with(text: str, tag: str) -> Iterator[int]:
    """Numbers of the lines of a rule file that name the tag."""
    for number, line in enumerate(text.split("\n"), 1):
        if tag in tags_named(content_of(line)):
            yield number
