"""Several systems side by side: tables in per cent and JSON, with bootstrap intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from dynet_vdgi.evaluation.attachment import (
    LABEL_MEASURES,
    Evaluation,
    SentenceTally,
    length_label,
    percent,
)
from dynet_vdgi.evaluation.significance import (
    LEVEL,
    SEED,
    Counts,
    Difference,
    Interval,
    compare_measures,
)
from dynet_vdgi.system.text_tables import TextTable

_LEVEL = f"{100 * LEVEL:.0f} %"

LEGEND = "DDA: right heads, that is UAS of the words scored; UDA: right arcs in either direction"
"""What the names of measures mean that UD's own evaluation does not have."""


@dataclass(frozen=True)
class Comparison:
    """Bootstrap of a measure of several systems, by length limit; see `significance`.

    `intervals[m][name]` has every system with this measure, `differences[m][name]` the difference
    of each to the first of them.
    """

    draws: int
    intervals: dict[int | None, dict[str, Interval]]
    differences: dict[int | None, dict[str, Difference]]

    @property
    def note(self) -> str:
        """The scope of the intervals, for readers."""
        text = (
            f"{_LEVEL} intervals: bootstrap over the sentences, {self.draws} draws; "
            "they cover the choice of test sentences, not another training run"
        )
        if any(self.differences.values()):
            text += "; differences are to the first row, p is two-sided (paired bootstrap)"
        return text


def comparisons(evaluations: Mapping[str, Evaluation], draws: int) -> dict[str, Comparison]:
    """Comparisons of "dda" and, if any system has relations, of "las"; none without draws.

    Each has intervals of every system, and differences to the first; systems without relations have
    no "las".
    """
    if not draws:
        return {}
    first = next(iter(evaluations.values()))
    lengths = np.array([words for _, words in first.per_sentence])
    counts: dict[str, dict[str, Counts]] = {
        "dda": {name: [n for n, _ in each.per_sentence] for name, each in evaluations.items()},
        "las": {name: each.labelled for name, each in evaluations.items() if each.has_labels},
    }
    rows = {measure: np.array(list(of.values())) for measure, of in counts.items() if of}
    comparisons = {measure: Comparison(draws, {}, {}) for measure in rows}
    for max_len in first.by_length:
        chosen = lengths <= (math.inf if max_len is None else max_len)
        scored = compare_measures(
            [each[:, chosen] for each in rows.values()], lengths[chosen], draws=draws
        )
        for measure, (intervals, differences) in zip(rows, scored):
            names = list(counts[measure])
            comparisons[measure].intervals[max_len] = dict(zip(names, intervals))
            comparisons[measure].differences[max_len] = dict(zip(names[1:], differences))
    return comparisons


_MEASURES: dict[str, tuple[str, Callable[[SentenceTally], float]]] = {
    "dda": ("DDA", lambda tally: tally.dda),
    "uda": ("UDA", lambda tally: tally.uda),
    "root": ("root", lambda tally: tally.root_accuracy),
    **LABEL_MEASURES,
}


def format_all(
    evaluations: Mapping[str, Evaluation],
    by: Sequence[str] = (),
    comparisons: Mapping[str, Comparison] = MappingProxyType({}),
) -> str:
    """Policy, the tables of accuracy in per cent, and the requested break-downs.

    Tables of relations are included if any system has relations. With comparisons, intervals and
    differences are below the table of a measure.
    """
    first = next(iter(evaluations.values()))
    has_labels = any(evaluation.has_labels for evaluation in evaluations.values())
    of_labels = "; LAS: right heads with the right relation" if has_labels else ""
    parts = [f"{first.policy}\n{LEGEND}{of_labels}"]
    lengths = [*map(length_label, first.by_length)]
    for measure, (title, value_of) in _MEASURES.items():
        if measure in LABEL_MEASURES and not has_labels:
            continue
        shown = {
            n: each
            for n, each in evaluations.items()
            if each.has_labels or measure not in LABEL_MEASURES
        }
        rows = [
            ["sentences", *(str(tally.sentences) for tally in first.by_length.values())],
            ["words", *(str(tally.words) for tally in first.by_length.values())],
        ]
        for name, evaluation in shown.items():
            rows.append(
                [name, *(percent(value_of(tally)) for tally in evaluation.by_length.values())]
            )
        tables = [TextTable([title, *lengths], rows)]
        if (comparison := comparisons.get(measure)) is not None:
            intervals = []
            for name in shown:
                intervals.append(
                    [name, *(_interval(by_name[name]) for by_name in comparison.intervals.values())]
                )
            differences = []
            for name in next(iter(comparison.differences.values())):
                gaps = [by_name[name] for by_name in comparison.differences.values()]
                cells = [f"{_signed(gap.estimate)} {p_text(gap.p)}".strip() for gap in gaps]
                differences.append([name, *cells])
            tables.append(TextTable([f"{_LEVEL} interval", *lengths], intervals))
            tables.append(TextTable(["difference", *lengths], differences))
        texts = [table.text() for table in tables if table.rows]
        texts += [comparison.note] if comparison is not None and measure == "dda" else []
        parts.append("\n".join(texts))
    for name in by:
        rows = []
        for key, cell in first.breakdowns[name].items():
            shares = (
                percent(evaluation.breakdowns[name][key].dda) for evaluation in evaluations.values()
            )
            rows.append([key, str(cell.words), *shares])
        parts.append(TextTable([name, "words", *evaluations], rows).text())
    return "\n\n".join(parts)


def _interval(cell: Interval) -> str:
    return "-" if math.isnan(cell.low) else f"{percent(cell.low)}-{percent(cell.high)}"


def _signed(fraction: float) -> str:
    # + 0.0: never -0.0
    return "-" if math.isnan(fraction) else f"{round(100 * fraction, 1) + 0.0:+.1f}"


def p_text(p: float) -> str:
    """The p value in the format of tables; empty for NaN."""
    if math.isnan(p):
        return ""
    return f"p={p:.3f}" if p >= 0.001 else "p<0.001"


def to_dict(
    evaluations: Mapping[str, Evaluation],
    comparisons: Mapping[str, Comparison] = MappingProxyType({}),
) -> dict[str, Any]:
    """Everything about several systems on one treebank, ready for JSON.

    With comparisons, every cell of "by_length" has a "dda_interval" [low, high] (null over nothing)
    and, with relations, a "las_interval"; "bootstrap" holds the method and the "differences" and
    "las_differences" to the first system that has the measure.
    """
    policy = next(iter(evaluations.values())).policy
    systems = {name: evaluation.to_dict() for name, evaluation in evaluations.items()}
    bootstrap: dict[str, Any] = {}
    for measure, comparison in comparisons.items():
        for max_len, intervals in comparison.intervals.items():
            for name, cell in intervals.items():
                limits = None if math.isnan(cell.low) else [cell.low, cell.high]
                systems[name]["by_length"][length_label(max_len)][f"{measure}_interval"] = limits
        first, *others = next(iter(comparison.intervals.values()))
        prefix = "" if measure == "dda" else f"{measure}_"
        if measure == "dda":
            bootstrap = {
                "draws": comparison.draws,
                "level": LEVEL,
                "seed": SEED,
                "note": comparison.note,
            }
        bootstrap[f"{prefix}differences_to"] = first
        bootstrap[f"{prefix}differences"] = {
            name: {
                length_label(m): cells[name].to_dict()
                for m, cells in comparison.differences.items()
            }
            for name in others
        }
    return {"policy": policy, "systems": systems, **({"bootstrap": bootstrap} if bootstrap else {})}
