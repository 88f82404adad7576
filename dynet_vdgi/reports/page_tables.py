"""The tables of a page: scores by length, differences, break-downs, pairs of tags."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from dynet_vdgi.evaluation.attachment import (
    LABEL_MEASURES,
    Evaluation,
    SentenceTally,
    Tally,
    length_label,
    percent,
)
from dynet_vdgi.evaluation.tables import p_text
from dynet_vdgi.reports.scored_runs import ScoredRuns

MAX_TAGS = 12
"""Number of tags in the table of tag pairs."""

_LEVELS = 10  # number of backgrounds in the table of tag pairs


class PageCell(NamedTuple):
    """A figure, the small text below it, and in a heat map its background, 0 to 9."""

    text: str
    small: str = ""
    level: int | None = None


@dataclass(frozen=True)
class PageTable:
    """A table of the page; the first of `columns` is the header of the row names."""

    name: str  # unique among the elements of the page
    caption: str
    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[PageCell]]]
    note: str = ""
    kind: str = ""


def by_length(scored: ScoredRuns) -> PageTable:
    """DDA with intervals, and published figures below."""
    labels = list(map(length_label, scored.comparison.intervals))
    tallies = next(iter(scored.evaluations.values())).by_length.values()
    counts = [
        ("sentences", [PageCell(f"{tally.sentences:,}") for tally in tallies]),
        ("words", [PageCell(f"{tally.words:,}") for tally in tallies]),
    ]
    rows = []
    for name in scored.evaluations:
        cells = [intervals[name] for intervals in scored.comparison.intervals.values()]
        rows.append((name, [PageCell(percent(c.estimate), _limits(c.low, c.high)) for c in cells]))
    others = [
        (f"{row.name} ({row.source})", [_published(row.figures.get(label)) for label in labels])
        for row in scored.published
    ]
    note = f"{replace(scored.comparison, differences={}).note}."
    if others:
        note += (
            " Published figures are as printed in their sources, whose protocol, test sentences and training "
            "may differ."
        )
    return PageTable(
        "dda", "DDA in per cent by sentence length", ["", *labels], [*counts, *rows, *others], note, "figures"
    )


def _published(figure: tuple[float, float | None] | None) -> PageCell:
    if figure is None:
        return PageCell("-")
    mean, best = figure
    return PageCell(f"{mean:.1f}", "" if best is None else f"best {best:.1f}")


def _limits(low: float, high: float, sign: str = "") -> str:
    if math.isnan(low):
        return ""
    return f"{100 * low:{sign}.1f} to {100 * high:{sign}.1f}"


def differences(scored: ScoredRuns) -> PageTable | None:
    """Differences of the runs to the first run; none if there is only one run."""
    names = list(scored.heads)
    if len(names) < 2:
        return None
    rows = []
    for name in names[1:]:
        cells = []
        for gaps in scored.comparison.differences.values():
            gap = gaps[name]
            if math.isnan(gap.estimate):
                cells.append(PageCell("-"))
                continue
            small = f"{_limits(gap.low, gap.high, '+')}; {p_text(gap.p)}"
            cells.append(PageCell(f"{100 * gap.estimate:+.1f}", small))
        rows.append((name, cells))
    labels = list(map(length_label, scored.comparison.differences))
    caption = f"DDA minus that of {names[0]}, in points"
    note = "Below each difference, its 95 % interval and the two-sided p of no difference (paired bootstrap)."
    return PageTable("differences", caption, ["", *labels], rows, note, "figures")


def labels(scored: ScoredRuns) -> PageTable | None:
    """LAS and label accuracy of the systems with relations; none if no system has any."""
    labelled = {name: each for name, each in scored.evaluations.items() if each.has_labels}
    if not labelled:
        return None
    rows = [
        (f"{name}: {title}", [PageCell(percent(value_of(tally))) for tally in each.by_length.values()])
        for name, each in labelled.items()
        for title, value_of in LABEL_MEASURES.values()
    ]
    columns = ["", *map(length_label, scored.comparison.intervals)]
    note = "LAS: head and relation are right; labels: the relation is. Without subtypes of relations."
    return PageTable("labels", "Relations in per cent by sentence length", columns, rows, note, "figures")


def breakdowns(scored: ScoredRuns) -> list[PageTable]:
    """Relations, then DDA by length, by distance, and by rule, once for each rule table in use."""
    length = "DDA in per cent by band of sentence length"
    distance = "DDA in per cent by distance of a word to its gold head"
    about_relations = labels(scored)
    tables = [
        *([about_relations] if about_relations else []),
        _breakdown("by-length", length, "length", scored.evaluations),
        _breakdown("by-distance", distance, "distance", scored.evaluations),
    ]
    for number, (rules, evaluations) in enumerate(scored.by_rule.items()):
        caption = f"DDA in per cent of the gold arcs of each rule ({rules})"
        tables.append(_breakdown(f"by-rule{number or ''}", caption, "rule", evaluations))
    return tables


def _breakdown(name: str, caption: str, by: str, evaluations: Mapping[str, Evaluation]) -> PageTable:
    """Drops rows without a word."""
    first = next(iter(evaluations.values())).breakdowns[by]
    rows = [
        (key, [PageCell(f"{first[key].words:,}"), *(PageCell(percent(cell.dda)) for cell in cells)])
        for key, *cells in zip(
            first, *(evaluation.breakdowns[by].values() for evaluation in evaluations.values())
        )
        if first[key].words
    ]
    return PageTable(name, caption, [by, "words", *evaluations], rows, "", "figures")


def heat_maps(scored: ScoredRuns) -> list[PageTable]:
    """For each run, DDA by the tags at both ends of the gold arc."""
    counts = Counter(tag for sentence in scored.trees.sentences for tag in sentence.tags)
    tags = [tag for tag, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:MAX_TAGS]]
    note = "The stronger the colour, the higher the figure; below it stands the number of gold arcs."
    if len(counts) > len(tags):
        note += f" The {len(tags)} most frequent of {len(counts)} tags."
    result = []
    *_, evaluations = scored.by_rule.values()
    for index, name in enumerate(scored.heads):
        pairs = evaluations[name].breakdowns["pair"]
        rows = []
        for head in ("ROOT", *tags):
            cells = [_heat(pairs.get(f"{head}>{tag}")) for tag in tags]
            if any(cell.text for cell in cells):
                rows.append((head, cells))
        caption = f"{name}: DDA in per cent by tag of the gold head (rows) and of the word (columns)"
        result.append(PageTable(f"pairs-{index}", caption, ["head \\ word", *tags], rows, note, "heat"))
    return result


def _heat(tally: Tally | SentenceTally | None) -> PageCell:
    if tally is None or not tally.words:
        return PageCell("")
    return PageCell(percent(tally.dda), f"{tally.words:,}", min(int(tally.dda * _LEVELS), _LEVELS - 1))
