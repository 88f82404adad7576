"""Contents of the logs of runs: learning curves, and a teacher's findings in the text."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from dynet_vdgi.evaluation.attachment import percent
from dynet_vdgi.reports import curves
from dynet_vdgi.reports.page_tables import PageCell, PageTable
from dynet_vdgi.reports.runs import Run

CURVES = (
    ("Dev DDA, per cent", "dev_dda", 100.0),
    ("ELBO per word", "elbo_per_word", 1.0),
    ("|lambda|", "lambda_norm", 1.0),
    ("Rules per sentence", "rules_per_sentence", 1.0),
    ("Log-potential per sentence", "prior_per_sentence", 1.0),
    ("Entropy of the encoder", "entropy", 1.0),
)
"""Title, key of a log's rows, factor: the curves by number of updates."""

TEACHER_CURVES = (
    ("DMV, stage 1: penalised log-likelihood per word", "penalised", 1),
    ("DMV, stage 2: penalised log-likelihood per word", "penalised", 2),
    ("Convex-MST: objective per word", "objective", None),
)
"""Title, key of a log's rows, stage: the curves of teachers by iteration. The stages of a DMV maximise
different functions, whose values are logged for whole texts."""

Row = Mapping[str, Any]


class Curve(NamedTuple):
    """A picture and its title."""

    title: str
    svg: str


class CurveGroup(NamedTuple):
    """Pictures with one legend: samples of lines and their meanings."""

    samples: Sequence[tuple[str, str]]
    curves: Sequence[Curve]


def number_in(row: Row, key: str) -> float | None:
    """The number under a key; None if there is no number."""
    value = row.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return float(value)


def curve_groups(runs: Sequence[Run]) -> list[CurveGroup]:
    """The curves to draw: those of neural runs by update, those of teachers by iteration."""
    return [group for group in (_by_update(runs), _by_iteration(runs)) if group.curves]


def _by_update(runs: Sequence[Run]) -> CurveGroup:
    pictures, drawn = [], set()
    for title, key, factor in CURVES:
        series = []
        for index, run in enumerate(runs):
            points = [(x, factor * y) for x, y in _points(run.rows, "update", key)]
            if points:
                series.append(curves.Series(run.name, points, index))
                drawn.add(index)
        if series:
            pictures.append(Curve(title, curves.svg(title, series, f"curve-{key.replace('_', '-')}")))
    return CurveGroup([(curves.sample(index), runs[index].name) for index in sorted(drawn)], pictures)


def _by_iteration(runs: Sequence[Run]) -> CurveGroup:
    """A line for each run and language."""
    texts = [(run, language, rows) for run in runs for language, rows in _by_language(run, "teacher")]
    pictures, drawn = [], set()
    for title, key, stage in TEACHER_CURVES:
        series = []
        for index, (run, language, rows) in enumerate(texts):
            points = _points([row for row in rows if row.get("stage") == stage], "iteration", key)
            words = _words(run, language) if stage else 1.0
            if points and words:
                first = points[0][0]
                line = [(x - first + 1, y / words) for x, y in points]
                series.append(curves.Series(_named(run, language), line, index))
                drawn.add(index)
        if series:
            name = f"curve-{key}-{stage or ''}"
            pictures.append(Curve(title, curves.svg(title, series, name, curves.ITERATIONS)))
    return CurveGroup(
        [(curves.sample(index), _named(*texts[index][:2])) for index in sorted(drawn)], pictures
    )


def _words(run: Run, language: str) -> float | None:
    """Number of words in the text that a teacher learnt from, as logged."""
    for name, rows in _by_language(run, "text"):
        if name == language:
            return number_in(rows[-1], "words")
    return None


def _points(rows: Sequence[Row], x_key: str, y_key: str) -> list[tuple[float, float]]:
    both = [(number_in(row, x_key), number_in(row, y_key)) for row in rows]
    return sorted((x, y) for x, y in both if x is not None and y is not None)


def _by_language(run: Run, phase: str) -> Iterator[tuple[str, list[Row]]]:
    """The rows of a phase, language by language."""
    rows = [row for row in run.rows if row.get("phase") == phase]
    for language in dict.fromkeys(str(row.get("language", "")) for row in rows):
        yield language, [row for row in rows if str(row.get("language", "")) == language]


def _named(run: Run, language: str) -> str:
    return f"{run.name}: {language}" if language else run.name


# ------------------------------------------------------------------------------------------- tables
def teaching_tables(runs: Sequence[Run]) -> list[PageTable]:
    """Measurements of the texts, and the agreement of students with their teachers."""
    return [table for table in (_text_table(runs), _student_table(runs)) if table.rows]


def _text_table(runs: Sequence[Run]) -> PageTable:
    texts = [(run, language, rows[-1]) for run in runs for language, rows in _by_language(run, "text")]
    all_sides = [row["sides"] if isinstance(row.get("sides"), Mapping) else {} for _, _, row in texts]
    tags = list(dict.fromkeys(str(tag) for sides in all_sides for tag in sides))
    lines = []
    for (run, language, row), sides in zip(texts, all_sides):
        taught = [rows[-1] for name, rows in _by_language(run, "taught") if name == language]
        cells = [_cell(row, "sentences", _count), _cell(row, "words", _count)]
        cells.append(_cell(taught[0] if taught else {}, "cpu_s", _seconds))
        cells += [PageCell("yes" if row.get(key) else "no") for key in _YES_OR_NO]
        cells += [_side(number_in(sides, tag)) for tag in tags]
        lines.append((_named(run, language), cells))
    note = (
        "CPU seconds are the teacher's. Verb-final: sentences end with their verbs. Mirrored: the text seems "
        "to be written from its end. For each tag: the side of its head on which such a word stands, and the "
        "logarithm of how much more often sentences begin with the tag than end with it."
    )
    columns = ["", "sentences", "words", "CPU seconds", *_YES_OR_NO.values(), *tags]
    return PageTable("text", "Word order as measured in the text", columns, lines, note, "figures")


_YES_OR_NO = {"is_verb_final": "verb-final", "is_mirrored": "mirrored"}


def _side(asymmetry: float | None) -> PageCell:
    if asymmetry is None:
        return PageCell("-")
    side = "left" if asymmetry > 0 else "right" if asymmetry < 0 else "either"
    return PageCell(side, f"{asymmetry:+.2f}")


def _student_table(runs: Sequence[Run]) -> PageTable:
    lines = [
        (
            run.name,
            [
                _cell(row, "trees", _count),
                *(_cell(row, key, percent) for key in ("agreement", "dev_dda")),
                _cell(row, "cpu_s", _seconds),
            ],
        )
        for run in runs
        for row in [row for row in run.rows if row.get("phase") == "student"][-1:]
    ]
    columns = ["", "trees", "agreement", "dev DDA", "CPU seconds"]
    note = "Agreement: share of words, in per cent, that get the head that the teacher gave them."
    return PageTable("students", "Students of the teachers' trees", columns, lines, note, "figures")


def _cell(row: Row, key: str, shown: Callable[[float], str]) -> PageCell:
    value = number_in(row, key)
    return PageCell("-" if value is None else shown(value))


_count, _seconds = "{:,.0f}".format, "{:,.1f}".format
