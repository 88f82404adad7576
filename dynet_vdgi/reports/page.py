"""One HTML page about runs: their training, learning curves, scores and some of their trees.

The page stands alone: style and pictures are inside, there are no scripts, and nothing is fetched. The text
around the tables is in `page.html.j2`, where Jinja2 escapes whatever comes from files.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from dynet_vdgi._version import __version__
from dynet_vdgi.drawing import pictures
from dynet_vdgi.drawing.sentences import tree_of
from dynet_vdgi.evaluation.attachment import LABEL_MEASURES, Evaluation, length_label, percent
from dynet_vdgi.evaluation.tables import p_text
from dynet_vdgi.reports.runs import Run, ScoredRuns, curves_of, number_in

TEMPLATE = Path(__file__).with_name("page.html.j2")
SHORTEST, LONGEST = 5, 40
"""Lengths of the sentences shown, in words."""

_TREE_WIDTH = 1080  # pixels; the page has 1,120 on a wide screen, and scrolls the tree on others

_KINDS = {
    "neural": "neural parser",
    "taught": "perceptron",
    "few-trees": "parser that has learnt from trees",
    "universal": "universal parser",
}
"""What the parser of each recipe is called."""


class PageCell(NamedTuple):
    """A figure, and the small text below it."""

    text: str
    small: str = ""


@dataclass(frozen=True)
class PageTable:
    """A table of the page; the first of `columns` is the header of the row names."""

    name: str  # unique among the elements of the page
    caption: str
    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[PageCell]]]
    note: str = ""
    kind: str = "figures"


# ------------------------------------------------------------------------------------------- runs
def _card(index: int, run: Run) -> dict[str, Any]:
    """The page's section on one run."""
    meta = run.meta
    versions = [f"{name} {meta[name]}" for name in ("python", "dynet", "numpy") if meta.get(name)]
    kind, updates = _KINDS.get(meta.get("recipe", "neural"), "parser"), meta.get("updates")
    trained_on = (meta.get("trained_on") or {}).items()
    facts = {
        "Model": f"{kind}, {run.n_weights:,} weights" + (f", {updates} updates" if updates else ""),
        "Preset": meta.get("preset"),
        "Protocol": meta.get("protocol"),
        "Trained on": ", ".join(f"{number:,} {name}" for name, number in trained_on),
        "Left out": "; ".join(map(str, meta.get("dropped") or ())),
        "Versions": "; ".join([f"dynet_vdgi {meta.get('version', '-')}", *versions]),
        "Seed": meta.get("seed"),
        "Created": meta.get("created"),
        "Time": _time(run.rows),
        "Dev DDA": _dev_dda(run),
    }
    files = [
        (str(item.get("role", "-")), [PageCell(str(item.get(key, "-"))) for key in ("name", "sha256")])
        for item in meta.get("data") or ()
    ]
    columns = ["role", "file", "SHA-256"]
    return {
        "name": run.name,
        "gold_trees": "; ".join(map(str, meta.get("gold_trees") or ())) or "none",
        "facts": [(name, str(value)) for name, value in facts.items() if value not in (None, "")],
        "data": PageTable(f"data-{index}", f"{run.name}: files of the run", columns, files, "", "files"),
        "settings": run.settings,
        "warning": "" if meta.get("complete", True) else "Training has not ended: this is a checkpoint.",
    }


def _time(rows: Sequence[Mapping[str, Any]]) -> str:
    """Logged time of updates and teaching; dev scoring and reading are not included."""
    cpu, wall = (sum(number_in(row, key) or 0.0 for row in rows) for key in ("cpu_s", "wall_s"))
    parts = [f"{cpu:,.0f} CPU seconds"] if cpu else []
    parts += [f"{wall:,.0f} s by the clock"] if wall else []
    return f"{', '.join(parts)} (as logged)" if parts else ""


def _dev_dda(run: Run) -> str:
    """The dev score of the weights chosen by it; otherwise the last one in the log."""
    chosen = number_in(run.meta, "dev_dda")
    if chosen is not None:
        return f"{percent(chosen)} per cent"
    logged = [value for row in run.rows if (value := number_in(row, "dev_dda")) is not None]
    return f"{percent(logged[-1])} per cent (last logged)" if logged else ""


# ------------------------------------------------------------------------------------------- scores
def _by_length(scored: ScoredRuns) -> PageTable:
    """DDA with intervals, and published figures below."""
    labels = list(map(length_label, scored.comparison.intervals))
    tallies = next(iter(scored.evaluations.values())).by_length.values()
    rows = [
        ("sentences", [PageCell(f"{tally.sentences:,}") for tally in tallies]),
        ("words", [PageCell(f"{tally.words:,}") for tally in tallies]),
    ]
    for name in scored.evaluations:
        cells = [intervals[name] for intervals in scored.comparison.intervals.values()]
        rows.append((name, [PageCell(percent(c.estimate), _limits(c.low, c.high)) for c in cells]))
    note = f"{replace(scored.comparison, differences={}).note}."
    for row in scored.published:
        figures = [row.figures.get(label) for label in labels]
        shown = [
            PageCell(f"{found[0]:.1f}", "" if found[1] is None else f"best {found[1]:.1f}")
            if found
            else PageCell("-")
            for found in figures
        ]
        rows.append((f"{row.name} ({row.source})", shown))
    if scored.published:
        note += (
            " Published figures are as printed in their sources, whose protocol, test sentences and training "
            "may differ."
        )
    return PageTable("dda", "DDA in per cent by sentence length", ["", *labels], rows, note)


def _limits(low: float, high: float, sign: str = "") -> str:
    return "" if math.isnan(low) else f"{100 * low:{sign}.1f} to {100 * high:{sign}.1f}"


def _differences(scored: ScoredRuns) -> PageTable:
    """Differences of the runs to the first run."""
    first, *others = scored.heads
    rows = []
    for name in others:
        cells = []
        for gap in (gaps[name] for gaps in scored.comparison.differences.values()):
            small = f"{_limits(gap.low, gap.high, '+')}; {p_text(gap.p)}"
            is_nothing = math.isnan(gap.estimate)
            cells.append(PageCell("-") if is_nothing else PageCell(f"{100 * gap.estimate:+.1f}", small))
        rows.append((name, cells))
    labels = ["", *map(length_label, scored.comparison.differences)]
    note = "Below each difference, its 95 % interval and the two-sided p of no difference (paired bootstrap)."
    return PageTable("differences", f"DDA minus that of {first}, in points", labels, rows, note)


def _relations(scored: ScoredRuns) -> PageTable:
    """LAS and label accuracy of the systems with relations."""
    rows = [
        (f"{name}: {title}", [PageCell(percent(value_of(tally))) for tally in each.by_length.values()])
        for name, each in scored.evaluations.items()
        if each.has_labels
        for title, value_of in LABEL_MEASURES.values()
    ]
    columns = ["", *map(length_label, scored.comparison.intervals)]
    note = "LAS: head and relation are right; labels: the relation is. Without subtypes of relations."
    return PageTable("labels", "Relations in per cent by sentence length", columns, rows, note)


def _breakdown(scored: ScoredRuns, by: str, caption: str) -> PageTable:
    """DDA by length, by distance or by rule; drops rows without a word."""
    tables = [evaluation.breakdowns[by] for evaluation in scored.evaluations.values()]
    rows = [
        (key, [PageCell(f"{cell.words:,}"), *(PageCell(percent(table[key].dda)) for table in tables)])
        for key, cell in tables[0].items()
        if cell.words
    ]
    return PageTable(f"by-{by}", f"DDA in per cent {caption}", [by, "words", *scored.evaluations], rows)


# ------------------------------------------------------------------------------------------- trees
def extremes(evaluation: Evaluation, n: int) -> tuple[list[int], list[int]]:
    """The sentences with the highest and the lowest DDA, of `SHORTEST` to `LONGEST` words, longer ones first.

    No sentence is in both lists; if there are few, the best list is filled first.
    """
    counts = dict(enumerate(evaluation.per_sentence))
    shares = {k: right / words for k, (right, words) in counts.items() if SHORTEST <= words <= LONGEST}
    best = sorted(shares, key=lambda k: (-shares[k], -counts[k][1], k))[:n]
    worst = sorted(shares.keys() - set(best), key=lambda k: (shares[k], -counts[k][1], k))[:n]
    return best, worst


def _figure(scored: ScoredRuns, name: str, index: int) -> tuple[str, str]:
    """The caption and the picture of a run's tree."""
    gold = scored.trees.sentences[index]
    own = replace(gold, heads=scored.heads[name][index], deprels=scored.relations[name][index])
    right, words = scored.evaluations[name].per_sentence[index]
    tree = tree_of(own, gold, protocol=scored.trees.protocol)
    caption = f"Sentence {scored.trees.numbers[index]}: {right:.0f} of {words} heads right"
    return caption, pictures.svg_document([tree], width=_TREE_WIDTH)


# ------------------------------------------------------------------------------------------- the page
def template() -> Any:
    """The Jinja2 template of the page."""
    import jinja2

    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(TEMPLATE.read_text(encoding="utf-8"))


def render(runs: Sequence[Run], scored: ScoredRuns | None = None, *, n_sentences: int = 5) -> str:
    """The page as HTML text; with `scored`, also all runs' scores and `n_sentences` best and worst trees."""
    scores: dict[str, Any] | None = None
    if scored is not None:
        tables = [
            _by_length(scored),
            _differences(scored),
            _relations(scored),
            _breakdown(scored, "length", "by band of sentence length"),
            _breakdown(scored, "distance", "by distance of a word to its gold head"),
            _breakdown(scored, "rule", f"of the gold arcs of each rule ({scored.rules})"),
        ]
        galleries = {
            name: [
                (title, [_figure(scored, name, index) for index in some])
                for title, some in zip(("Best", "Worst"), extremes(scored.evaluations[name], n_sentences))
            ]
            for name in scored.heads
        }
        scores = {
            "gold": scored.gold,
            "policy": scored.trees.policy,
            "tables": [table for table in tables if table.rows],
            "galleries": galleries if n_sentences else {},
        }
    page = template().render(
        version=__version__,
        names=[run.name for run in runs],
        cards=[_card(index, run) for index, run in enumerate(runs)],
        curves=curves_of(runs),
        without_log=[run.name for run in runs if not run.rows],
        scores=scores,
        lengths=f"{SHORTEST} to {LONGEST}",
    )
    # Names of files that are not UTF-8 hold lone surrogates, which are not allowed in a page.
    return str(page).encode(errors="replace").decode()
