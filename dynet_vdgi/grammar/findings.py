"""A rule table's measurements of a text, and its analysis of a sentence, for people to read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.grammar.explanation import PartByPart, alternatives
from dynet_vdgi.grammar.prior import Prior
from dynet_vdgi.grammar.rules import RuleSet
from dynet_vdgi.system.text_tables import aligned

MOST = 8
"""Number of a part's findings shown from each end of their order."""

MEANINGS = {
    "nominal predicate": "adjectives stand before nouns",
    "copula": "forms of the copula",
    "linker": "words that begin clauses after nouns",
    "adnominal": "forms of verbs, above 0: nouns follow",
    "non-finite": "auxiliaries, above 0: they follow the verb",
    "markers": "markers, above 0: of nouns rather than verbs",
    "words": "words told apart in the last stage",
}
"""The meaning of a setting's findings."""


FOR = "# For "
"""Begins the first line of a bundled table."""


def purpose(rules: RuleSet) -> str:
    """The purpose of a bundled table; "" if it states none."""
    first = rules.text.partition("\n")[0]
    return first[len(FOR) :].rstrip(".") if first.startswith(FOR) else ""


def found_in(prior: Prior, without: Prior | None = None) -> str:
    """The measurements in a prior's text, compared with those of `without`, a prior without facts."""
    text, rules = prior.text, prior.rules
    lines = [f"{_has('FEATS', text.has_feats)}; {_has('traces of removed punctuation', text.has_gaps)}"]
    if prior.statistics.is_mirrored:
        lines.append("read from its end: its sentences end with conjunctions")
    if rules.table is None:
        return "\n".join([*lines, "the rules have no parts: nothing is measured"])
    if rules.table.verb_final:
        amount = "more than" if prior.statistics.is_verb_final else "at most"
        share = 100 * rules.table.verb_final.weight
        lines.append(f"verbs end {amount} {share:g} % of its sentences with verbs")
    if text.told:
        lines += ["", "facts, added to the evidence of the text:"]
        lines += [f"  {name} = {fact}" for name, fact in text.told.items()]
    sides = {tag: prior.statistics.asymmetry(tag) for tag in rules.table.edge_statistics}
    bare = {tag: without.statistics.asymmetry(tag) for tag in sides} if without else None
    lines += _numbers("sides of words (above 0: before what they belong to)", sides, bare)
    lines += _numbers(
        "measures (shares, rescaled: 0 at `from` of their lines, 1 at `to`; less after few cases)",
        text.measures,
        without.text.measures if without else None,
    )
    return "\n".join([*lines, *_of_parts(prior)])


def _has(what: str, there: bool) -> str:
    return what if there else f"no {what}"


def _numbers(title: str, values: Mapping[str, float], bare: Mapping[str, float] | None) -> list[str]:
    if not values:
        return []
    rows = []
    for name, value in values.items():
        is_changed = bare is not None and round(bare[name], 2) != round(value, 2)
        alone = f"(text alone: {bare[name]:.2f})" if bare and is_changed else ""
        rows.append(["  " + name, f"{value:.2f}", alone])
    return ["", title + ":", *aligned(rows).split("\n")]


def _of_parts(prior: Prior) -> Iterator[str]:
    """A line for each setting of whole sentences that found something, or has no effect in this text."""
    assert prior.rules.table is not None
    lines, silent = [], []
    for setting in prior.rules.table.settings:
        part = prior.rules.part_at(setting.line).name
        reason = prior.silence(setting)
        if reason:
            silent.append(f"  [{part}] {setting.name}: {reason}")
        elif setting.name in prior.text.found:
            told = "; ".join(_told(prior.text.found[setting.name])) or "none"
            lines.append(f"  [{part}] {MEANINGS.get(setting.name, setting.name)}: {told}")
        elif setting.conditions:
            lines.append(f"  [{part}] counts {prior.text.factor(setting.conditions, setting.negated):.2f}")
    yield from ["", "found by parts:", *lines] if lines else []
    yield from ["", "parts without effect here:", *silent] if silent else []


def _told(found: Any) -> Iterator[str]:
    """A part's findings, which are plain data, summarised."""
    if isinstance(found, bool):
        yield "yes" if found else "no"
    elif isinstance(found, (int, float)):
        yield f"{found:+.2f}"
    elif isinstance(found, Mapping):
        yield from _by_key(found)
    else:
        yield ", ".join(_shortened([item if isinstance(item, str) else "/".join(item) for item in found]))


def _by_key(found: Mapping[str, Any]) -> Iterator[str]:
    numbers = {key: value for key, value in found.items() if isinstance(value, (int, float))}
    if numbers:
        ordered = sorted(numbers, key=lambda key: -numbers[key])
        yield ", ".join(_shortened(f"{key} {numbers[key]:+.2f}" for key in ordered))
    for key, value in found.items():
        if key not in numbers:
            yield f"{key}: {', '.join(map(str, value))}"


def _shortened(items: Iterable[str]) -> list[str]:
    """The items, without those in the middle if there are many."""
    every = list(items)
    return every if len(every) <= 2 * MOST else [*every[:MOST], "...", *every[-MOST:]]


# ------------------------------------------------------------------------------------------- of a sentence
def explained(sentence: Sentence, heads: Sequence[int], prior: Prior) -> str:
    """Each part's contribution to the arcs of a tree, and to the best other head of each word; in nats."""
    pieces = PartByPart(prior)
    additions, potentials = pieces.additions(sentence), prior.potentials(sentence)
    readings: dict[int, list[str]] = {}
    for reading in pieces.readings(sentence):
        readings.setdefault(reading.word, []).append(f"{reading} [{reading.part}]")
    blocks = []
    for choice in alternatives(potentials, heads):
        note = f"  {'; '.join(readings[choice.word])}" if choice.word in readings else ""
        arcs = [head for head in (choice.head, choice.other) if head >= 0]
        rows = [["  head", *(_named(sentence, head) for head in arcs)]]
        for part, added in additions.items():
            values = [added[head, choice.word] for head in arcs]
            if any(abs(value) >= 0.005 for value in values):
                rows.append([f"  [{part}]", *(f"{value:+.2f}" for value in values)])
        rows.append(["  sum", *(f"{potentials[head, choice.word]:+.2f}" for head in arcs)])
        blocks.append(f"{_named(sentence, choice.word)}{note}\n{aligned(rows)}")
    return "\n\n".join(blocks)


def _named(sentence: Sentence, word: int) -> str:
    return f"{word} {sentence.forms[word - 1]} {sentence.tags[word - 1]}" if word else "ROOT"
