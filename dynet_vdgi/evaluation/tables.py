"""Several systems side by side: tables in per cent (text or Markdown), JSON, means over draws."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np

from dynet_vdgi.evaluation import significance
from dynet_vdgi.evaluation.attachment import (
    LABEL_MEASURES,
    Evaluation,
    SentenceTally,
    Tally,
    length_label,
    percent,
)
from dynet_vdgi.evaluation.significance import Difference, Interval
from dynet_vdgi.system.text_tables import aligned
from dynet_vdgi.system.text_tables import markdown as markdown_table

_Counts = TypeVar("_Counts", Tally, SentenceTally)
_LEVEL = f"{100 * significance.LEVEL:.0f} %"


def mean(draws: Sequence[Evaluation]) -> Evaluation:
    """The evaluation whose counts are means over several draws of one system on the same words.

    Raises: ValueError if the draws were scored on different words, or there are none.
    """
    first = _common_ground({str(k): evaluation for k, evaluation in enumerate(draws)})

    def average(cells: Sequence[_Counts]) -> _Counts:
        names = [field.name for field in fields(cells[0])]
        columns = {name: [getattr(cell, name) for cell in cells] for name in names}
        means = {name: None if None in row else sum(row) / len(row) for name, row in columns.items()}
        # Words and sentences are the same in every draw, so they stay whole numbers.
        whole = {name: getattr(cells[0], name) for name in ("sentences", "words") if name in names}
        return replace(cells[0], **{**means, **whole})

    breakdowns: dict[str, Any] = {
        name: {key: average([evaluation.breakdowns[name][key] for evaluation in draws]) for key in table}  # type: ignore[type-var]
        for name, table in first.breakdowns.items()
    }
    return replace(
        first,
        total=average([evaluation.total for evaluation in draws]),
        by_length={m: average([evaluation.by_length[m] for evaluation in draws]) for m in first.by_length},
        breakdowns=breakdowns,
        per_sentence=tuple(
            (sum(right for right, _ in cells) / len(cells), cells[0][1])
            for cells in zip(*(evaluation.per_sentence for evaluation in draws))
        ),
        labelled=tuple(sum(cells) / len(cells) for cells in zip(*(each.labelled for each in draws))),
    )


@dataclass(frozen=True)
class Comparison:
    """Bootstrap of a measure of several systems, by length limit; see `significance`.

    `intervals[m][name]` has every system with this measure, `differences[m][name]` the difference of each to
    the first of them.
    """

    draws: int
    intervals: dict[int | None, dict[str, Interval]]
    differences: dict[int | None, dict[str, Difference]]

    @property
    def note(self) -> str:
        """The scope of the intervals, for readers."""
        text = (
            f"{_LEVEL} intervals: bootstrap over the sentences, {self.draws} draws; they cover the choice of "
            "test sentences, not another training run"
        )
        if any(self.differences.values()):
            text += "; differences are to the first row, p is two-sided (paired bootstrap)"
        return text


def compare(
    evaluations: Mapping[str, Evaluation], draws: int = significance.DRAWS, measure: str = "dda"
) -> Comparison:
    """Intervals of every system, and differences to the first; systems without relations have no "las".

    Raises: ValueError if the systems were scored on different words, or none has the measure.
    """
    lengths = np.array([words for _, words in _common_ground(evaluations).per_sentence])
    if measure == "las":
        counts = {name: each.labelled for name, each in evaluations.items() if each.has_labels}
    else:
        counts = {name: tuple(n for n, _ in each.per_sentence) for name, each in evaluations.items()}
    names, rows = list(counts), np.array(list(counts.values()))
    comparison = Comparison(draws, {}, {})
    for max_len in _common_ground(evaluations).by_length:
        chosen = lengths <= (math.inf if max_len is None else max_len)
        intervals, differences = significance.compare(rows[:, chosen], lengths[chosen], draws=draws)
        comparison.intervals[max_len] = dict(zip(names, intervals))
        comparison.differences[max_len] = dict(zip(names[1:], differences))
    return comparison


def comparisons(evaluations: Mapping[str, Evaluation], draws: int) -> dict[str, Comparison]:
    """Comparisons of "dda" and, if any system has relations, of "las"; none without draws."""
    measures = ["dda", *(["las"] if any(each.has_labels for each in evaluations.values()) else [])]
    return {measure: compare(evaluations, draws, measure) for measure in measures if draws}


_MEASURES: dict[str, tuple[str, Callable[[SentenceTally], float]]] = {
    "dda": ("DDA", lambda tally: tally.dda),
    "uda": ("UDA", lambda tally: tally.uda),
    "root": ("root", lambda tally: tally.root_accuracy),
    **LABEL_MEASURES,
}


LEGEND = "DDA: right heads, that is UAS of the words scored; UDA: right arcs in either direction"
"""What the names of measures mean that UD's own evaluation does not have."""


def format_all(
    evaluations: Mapping[str, Evaluation],
    by: Sequence[str] = (),
    comparisons: Mapping[str, Comparison] = MappingProxyType({}),
    *,
    markdown: bool = False,
) -> str:
    """Policy, the tables of accuracy in per cent, and the requested break-downs.

    Tables of relations are included if any system has relations.

    With comparisons, intervals and differences are in the table of a measure (Markdown) or below it (text).

    Raises: ValueError if the systems were scored on different words.
    """
    has_labels = any(evaluation.has_labels for evaluation in evaluations.values())
    of_labels = "; LAS: right heads with the right relation" if has_labels else ""
    parts = [f"{_common_ground(evaluations).policy}\n{LEGEND}{of_labels}"]
    for measure in ("dda", "uda", "root", *(LABEL_MEASURES if has_labels else ())):
        comparison = comparisons.get(measure)
        tables = [format_table(evaluations, measure, markdown=markdown)]
        if comparison is not None:
            tables = [] if markdown else tables
            tables.append(format_comparison(evaluations, comparison, measure, markdown=markdown))
            tables += [comparison.note] if measure == "dda" else []
        parts.append(("\n\n" if markdown else "\n").join(tables))
    parts += [format_breakdown(evaluations, name, markdown=markdown) for name in by]
    return "\n\n".join(parts)


def format_table(
    evaluations: Mapping[str, Evaluation], measure: str = "dda", *, markdown: bool = False
) -> str:
    """Systems x length buckets in per cent, below the number of sentences and words.

    `measure` is "dda", "uda", "root", "las" or "label_accuracy".

    Raises: ValueError if the systems were scored on different words.
    """
    title, value_of = _MEASURES[measure]
    rows = _heading(evaluations, title)
    for name, evaluation in evaluations.items():
        rows.append([name, *(percent(value_of(tally)) for tally in evaluation.by_length.values())])
    return _laid_out(rows, markdown)


def _heading(evaluations: Mapping[str, Evaluation], title: str) -> list[list[str]]:
    first = _common_ground(evaluations)
    return [
        [title, *map(length_label, first.by_length)],
        ["sentences", *(str(tally.sentences) for tally in first.by_length.values())],
        ["words", *(str(tally.words) for tally in first.by_length.values())],
    ]


def format_comparison(
    evaluations: Mapping[str, Evaluation],
    comparison: Comparison,
    measure: str = "dda",
    *,
    markdown: bool = False,
) -> str:
    """Tables of intervals and of differences to the first system with p.

    In Markdown, the first table also has the measure, and differences have intervals. Systems without the
    measure, those without relations, have dashes.
    """
    lengths = [*map(length_label, comparison.intervals)]
    rows = _heading(evaluations, _MEASURES[measure][0]) if markdown else [[f"{_LEVEL} interval", *lengths]]
    for name in evaluations:
        rows.append([name, *(_range(cells.get(name), markdown) for cells in comparison.intervals.values())])
    differences = [["difference", *lengths]]
    for name in next(iter(comparison.differences.values())):
        found = [_minus(cells[name], markdown) for cells in comparison.differences.values()]
        differences.append([name, *found])
    tables = [_laid_out(table, markdown) for table in (rows, differences) if len(table) > 1]
    return ("\n\n" if markdown else "\n").join(tables)


def _minus(cell: Difference, markdown: bool) -> str:
    limits = f"({_signed(cell.low)} to {_signed(cell.high)}) " if markdown else ""
    return f"{_signed(cell.estimate)} {limits}{p_text(cell.p)}".strip()


def _range(cell: Interval | None, markdown: bool) -> str:
    if cell is None:
        return "-"
    limits = f"{percent(cell.low)}-{percent(cell.high)}" if not math.isnan(cell.low) else "-"
    return f"{percent(cell.estimate)} ({limits})" if markdown else limits


def _signed(fraction: float) -> str:
    return "-" if math.isnan(fraction) else f"{round(100 * fraction, 1) + 0.0:+.1f}"  # + 0.0: never -0.0


def p_text(p: float) -> str:
    """The p value in the format of tables; empty for NaN."""
    if math.isnan(p):
        return ""
    return f"p={p:.3f}" if p >= 0.001 else "p<0.001"


def format_breakdown(evaluations: Mapping[str, Evaluation], name: str, *, markdown: bool = False) -> str:
    """One break-down as a table: words, then the DDA of each system in per cent.

    Raises: ValueError if the systems were scored on different words.
    """
    table = _common_ground(evaluations).breakdowns[name]
    rows = [[name, "words", *evaluations]]
    for key, cell in table.items():
        values = (percent(evaluation.breakdowns[name][key].dda) for evaluation in evaluations.values())
        rows.append([key, str(cell.words), *values])
    return _laid_out(rows, markdown)


def to_dict(
    evaluations: Mapping[str, Evaluation], comparisons: Mapping[str, Comparison] = MappingProxyType({})
) -> dict[str, Any]:
    """Everything about several systems on one treebank, ready for JSON.

    With comparisons, every cell of "by_length" has a "dda_interval" [low, high] (null over nothing) and, with
    relations, a "las_interval"; "bootstrap" holds the method and the "differences" and "las_differences" to
    the first system that has the measure.

    Raises: ValueError if the systems were scored on different words.
    """
    policy = _common_ground(evaluations).policy
    systems = {name: evaluation.to_dict() for name, evaluation in evaluations.items()}
    bootstrap: dict[str, Any] = {}
    for measure, comparison in comparisons.items():
        for max_len, intervals in comparison.intervals.items():
            for name, cell in intervals.items():
                limits = None if math.isnan(cell.low) else [cell.low, cell.high]
                systems[name]["by_length"][length_label(max_len)][f"{measure}_interval"] = limits
        first, *others = next(iter(comparison.intervals.values()))
        if measure == "dda":
            bootstrap = {
                "draws": comparison.draws,
                "level": significance.LEVEL,
                "seed": significance.SEED,
                "note": comparison.note,
            }
        prefix = "" if measure == "dda" else f"{measure}_"
        bootstrap[f"{prefix}differences_to"] = first
        bootstrap[f"{prefix}differences"] = {
            name: {length_label(m): cells[name].to_dict() for m, cells in comparison.differences.items()}
            for name in others
        }
    return {"policy": policy, "systems": systems, **({"bootstrap": bootstrap} if bootstrap else {})}


def _common_ground(evaluations: Mapping[str, Evaluation]) -> Evaluation:
    """Any one of the evaluations, after a check that all are about the same words."""

    def ground(evaluation: Evaluation) -> tuple[object, ...]:
        lengths = {m: (tally.sentences, tally.words) for m, tally in evaluation.by_length.items()}
        tables = {
            name: {key: cell.words for key, cell in table.items()}
            for name, table in evaluation.breakdowns.items()
        }
        return evaluation.policy, lengths, tables

    if not evaluations:
        raise ValueError("no evaluation to show")
    names = list(evaluations)
    first = evaluations[names[0]]
    for name in names[1:]:
        if ground(evaluations[name]) != ground(first):
            raise ValueError(f"{names[0]} and {name} were not scored on the same words")
    return first


def _laid_out(rows: Sequence[Sequence[str]], markdown: bool) -> str:
    return markdown_table(rows) if markdown else aligned(rows)
