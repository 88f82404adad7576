"""One HTML page about runs: how they were trained, their learning curves, their scores, some of their trees.

The page stands alone: style and pictures are inside, there are no scripts, and nothing is fetched. Its
figures are those of `attachment` and `tables`; here they are only put into tables. The text around them is
in `page.html.j2`, where Jinja2 escapes whatever comes from files.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from dynet_vdgi import __version__
from dynet_vdgi.data.protocols import Protocol
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.drawing import pictures
from dynet_vdgi.errors import UsageError
from dynet_vdgi.evaluation import attachment
from dynet_vdgi.evaluation.attachment import Report, Tally, length_label
from dynet_vdgi.evaluation.tables import Comparison, percent
from dynet_vdgi.reports import curves

TEMPLATE = Path(__file__).with_name("page.html.j2")
MAX_TAGS = 12
"""Of the table of tag pairs."""
SHORTEST, LONGEST = 5, 40
"""Lengths of the sentences shown."""
MAX_ROWS = 200
"""Of the table of a log."""

_TREE_WIDTH = 680
_LEVELS = 10  # backgrounds of the table of tag pairs

CURVES = (
    ("Dev DDA, per cent", "dev_dda", 100.0),
    ("ELBO per word", "elbo_per_word", 1.0),
    ("|lambda|", "lambda_norm", 1.0),
    ("Rules per sentence", "rules_per_sentence", 1.0),
    ("Log-potential per sentence", "prior_per_sentence", 1.0),
    ("Entropy of the encoder", "entropy", 1.0),
)
"""Title, key of a log's rows, factor."""


# ------------------------------------------------------------------------------------------- content
@dataclass(frozen=True)
class Run:
    """A run as its folder tells it: `meta` of the model file, `settings` as TOML, `rows` of the log."""

    name: str
    meta: Mapping[str, Any]
    settings: str
    n_weights: int = 0
    rows: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True)
class PublishedRow:
    """Figures of others by the labels of `attachment.length_label`."""

    name: str
    source: str
    cells: Mapping[str, Cell]


@dataclass(frozen=True)
class Scored:
    """Test sentences as the protocol leaves them, their numbers in the file, and what was made of them.

    `trees` are the runs' heads by name, `reports` have the runs first and then the baselines, and `pairs` are
    the runs' tallies by (tag of the head, tag of the dependent), with "ROOT" for the root.
    """

    gold: str
    rules: str
    sentences: Sequence[Sentence]
    numbers: Sequence[int]
    trees: Mapping[str, Sequence[Sequence[int]]]
    reports: Mapping[str, Report]
    comparison: Comparison
    pairs: Mapping[str, Mapping[tuple[str, str], Tally]]
    published: Sequence[PublishedRow] = ()


def tag_pairs(
    sentences: Sequence[Sentence], heads: Sequence[Sequence[int]], protocol: Protocol
) -> dict[tuple[str, str], Tally]:
    """Tallies by the tags of head and dependent of the gold arc: a break-down with every pair as a rule."""
    pairs = dict.fromkeys(
        (sentence.tags[head - 1] if head else "ROOT", tag)
        for sentence in sentences
        for tag, head in zip(sentence.tags, sentence.heads or ())
    )
    report = attachment.evaluate(sentences, heads, protocol, (None,), ["rule"], pairs)
    table = report.breakdowns["rule"]
    return {pair: table[f"{pair[0]}>{pair[1]}"] for pair in pairs}  # type: ignore[misc]


class Extremes(NamedTuple):
    """Indices of sentences."""

    best: list[int]
    worst: list[int]


def extremes(report: Report, n: int) -> Extremes:
    """The sentences with the highest and the lowest DDA, of `SHORTEST` to `LONGEST` words, longer ones first.

    None is in both lists; of few sentences, the best come first.
    """
    shares = {
        index: right / words
        for index, (right, words) in enumerate(report.per_sentence)
        if SHORTEST <= words <= LONGEST
    }
    lengths = [words for _, words in report.per_sentence]
    best = sorted(shares, key=lambda index: (-shares[index], -lengths[index], index))[:n]
    left = [index for index in shares if index not in best]
    worst = sorted(left, key=lambda index: (shares[index], -lengths[index], index))[:n]
    return Extremes(best, worst)


# ------------------------------------------------------------------------------------------- tables
class Cell(NamedTuple):
    """A figure, what stands small below it, and in a heat map its background, 0 to 9."""

    text: str
    small: str = ""
    level: int | None = None


@dataclass(frozen=True)
class Table:
    """A table of the page; the first of `columns` stands over the heads of the rows."""

    name: str  # unlike that of every other element of the page
    caption: str
    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[Cell]]]
    note: str = ""
    kind: str = ""


def _by_length(scored: Scored) -> Table:
    """DDA with intervals, and published figures below."""
    labels = list(map(length_label, scored.comparison.intervals))
    first = next(iter(scored.reports.values()))
    counts = [
        ("sentences", [Cell(f"{scores.sentences:,}") for scores in first.by_length.values()]),
        ("words", [Cell(f"{scores.words:,}") for scores in first.by_length.values()]),
    ]
    rows = []
    for name in scored.reports:
        cells = [intervals[name] for intervals in scored.comparison.intervals.values()]
        rows.append((name, [Cell(percent(c.estimate), _limits(c.low, c.high)) for c in cells]))
    others = [
        (f"{row.name} ({row.source})", [row.cells.get(label, Cell("-")) for label in labels])
        for row in scored.published
    ]
    note = f"{replace(scored.comparison, differences={}).note}."
    if others:
        note += (
            " Published figures are as printed in their sources, whose protocol, test sentences and training "
            "may differ."
        )
    return Table(
        "dda", "DDA in per cent by sentence length", ["", *labels], [*counts, *rows, *others], note, "figures"
    )


def _limits(low: float, high: float, sign: str = "") -> str:
    if math.isnan(low):
        return ""
    return f"{100 * low:{sign}.1f} to {100 * high:{sign}.1f}"


def _differences(scored: Scored) -> Table | None:
    """Of the runs to the first run; none where there is one run."""
    names = list(scored.trees)
    if len(names) < 2:
        return None
    rows = []
    for name in names[1:]:
        cells = []
        for differences in scored.comparison.differences.values():
            gap = differences[name]
            if math.isnan(gap.estimate):
                cells.append(Cell("-"))
                continue
            p = f"p={gap.p:.3f}" if gap.p >= 0.001 else "p<0.001"
            cells.append(Cell(f"{100 * gap.estimate:+.1f}", f"{_limits(gap.low, gap.high, '+')}; {p}"))
        rows.append((name, cells))
    labels = list(map(length_label, scored.comparison.differences))
    caption = f"DDA minus that of {names[0]}, in points"
    note = "Below each difference, its 95 % interval and the two-sided p of no difference (paired bootstrap)."
    return Table("differences", caption, ["", *labels], rows, note, "figures")


def _breakdowns(scored: Scored) -> list[Table]:
    captions = {
        "length": "DDA in per cent by band of sentence length",
        "distance": "DDA in per cent by distance of a word to its gold head",
        "rule": f"DDA in per cent of the gold arcs of each rule ({scored.rules})",
    }
    first = next(iter(scored.reports.values()))
    result = []
    for name, caption in captions.items():
        rows = [
            (
                key,
                [
                    Cell(f"{cell.words:,}"),
                    *(Cell(percent(report.breakdowns[name][key].dda)) for report in scored.reports.values()),
                ],
            )
            for key, cell in first.breakdowns[name].items()
            if cell.words
        ]
        result.append(Table(f"by-{name}", caption, [name, "words", *scored.reports], rows, "", "figures"))
    return result


def _heat_maps(scored: Scored) -> list[Table]:
    counts = Counter(tag for sentence in scored.sentences for tag in sentence.tags)
    tags = [tag for tag, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:MAX_TAGS]]
    left_out = len(counts) - len(tags)
    note = "The stronger the colour, the higher the figure; below it stands the number of gold arcs."
    if left_out:
        note += f" The {len(tags)} most frequent of {len(counts)} tags."
    result = []
    for index, (name, pairs) in enumerate(scored.pairs.items()):
        rows = []
        for head in ("ROOT", *tags):
            cells = [_heat(pairs.get((head, tag))) for tag in tags]
            if any(cell.text for cell in cells):
                rows.append((head, cells))
        caption = f"{name}: DDA in per cent by tag of the gold head (rows) and of the word (columns)"
        result.append(Table(f"pairs-{index}", caption, ["head \\ word", *tags], rows, note, "heat"))
    return result


def _heat(tally: Tally | None) -> Cell:
    if tally is None or not tally.words:
        return Cell("")
    return Cell(percent(tally.dda), f"{tally.words:,}", min(int(tally.dda * _LEVELS), _LEVELS - 1))


# ------------------------------------------------------------------------------------------- parts
def _number_of(row: Mapping[str, Any], key: str) -> float | None:
    value = row.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return float(value)


class Curve(NamedTuple):
    """A picture and its title."""

    title: str
    svg: str


def _curves(runs: Sequence[Run]) -> list[Curve]:
    result = []
    for title, key, factor in CURVES:
        series = []
        for index, run in enumerate(runs):
            both = [(_number_of(row, "update"), _number_of(row, key)) for row in run.rows]
            points = [(x, factor * y) for x, y in both if x is not None and y is not None]
            if points:
                series.append(curves.Series(run.name, sorted(points), index))
        if series:
            result.append(Curve(title, curves.svg(title, series, f"curve-{key.replace('_', '-')}")))
    return result


def _log_table(index: int, run: Run) -> Table:
    rows, note = list(run.rows), ""
    if len(rows) > MAX_ROWS:
        step = math.ceil(len(rows) / MAX_ROWS)
        note = f"Every {step}th of {len(rows)} rows, counted from the last."
        rows = rows[::-1][::step][::-1]
    lines = []
    for row in rows:
        update = _number_of(row, "update")
        cells = [Cell(str(row.get("phase", "-")))]
        for _, key, factor in CURVES:
            value = _number_of(row, key)
            cells.append(Cell("-" if value is None else f"{factor * value:.{1 if factor > 1 else 3}f}"))
        lines.append(("-" if update is None else f"{update:,.0f}", cells))
    columns = ["update", "phase", *(title for title, _, _ in CURVES)]
    return Table(f"log-{index}", f"{run.name}: figures by update", columns, lines, note, "figures")


@dataclass(frozen=True)
class Card:
    """What is said of one run."""

    name: str
    gold_trees: str
    facts: Sequence[tuple[str, str]]
    data: Table
    settings: str
    warning: str = ""


def _card(index: int, run: Run) -> Card:
    meta = run.meta
    versions = [f"{name} {meta[name]}" for name in ("python", "dynet", "numpy") if meta.get(name)]
    kind, updates = meta.get("kind", "neural"), meta.get("updates", "-")
    facts = {
        "Model": f"{kind}, {run.n_weights:,} weights, {updates} updates",
        "Preset": meta.get("preset"),
        "Protocol": meta.get("protocol"),
        "Trained on": ", ".join(
            f"{number:,} {name}" for name, number in (meta.get("trained_on") or {}).items()
        ),
        "Left out": "; ".join(map(str, meta.get("dropped") or ())),
        "Versions": "; ".join([f"dynet_vdgi {meta.get('version', '-')}", *versions]),
        "Seed": meta.get("seed"),
        "Created": meta.get("created"),
        "Time": _time(run.rows),
        "Dev DDA": _dev_dda(run),
    }
    files = [
        (str(item.get("role", "-")), [Cell(str(item.get("name", "-"))), Cell(str(item.get("sha256", "-")))])
        for item in meta.get("data") or ()
    ]
    return Card(
        run.name,
        "; ".join(map(str, meta.get("gold_trees") or ())) or "none",
        [(name, str(value)) for name, value in facts.items() if value not in (None, "")],
        Table(
            f"data-{index}", f"{run.name}: files of the run", ["role", "file", "SHA-256"], files, "", "files"
        ),
        run.settings,
        "" if meta.get("complete", True) else "Training has not come to its end: this is a checkpoint.",
    )


def _time(rows: Sequence[Mapping[str, Any]]) -> str:
    """Time of the updates that the log has; dev scoring and reading are not in it."""
    cpu, wall = (sum(_number_of(row, key) or 0.0 for row in rows) for key in ("cpu_s", "wall_s"))
    return f"{cpu:,.0f} CPU seconds, {wall:,.0f} s by the clock (as logged)" if cpu or wall else ""


def _dev_dda(run: Run) -> str:
    """Of the weights chosen by it, if they were; else the last in the log."""
    chosen = _number_of(run.meta, "dev_dda")
    if chosen is not None:
        return f"{percent(chosen)} per cent"
    logged = [value for row in run.rows if (value := _number_of(row, "dev_dda")) is not None]
    return f"{percent(logged[-1])} per cent (last logged)" if logged else ""


class Drawing(NamedTuple):
    """A tree, and what stands below it."""

    caption: str
    svg: str


@dataclass(frozen=True)
class Gallery:
    """Trees of one run."""

    name: str
    best: Sequence[Drawing]
    worst: Sequence[Drawing]


def _galleries(scored: Scored, n: int) -> list[Gallery]:
    def drawing(name: str, index: int) -> Drawing:
        sentence, heads = scored.sentences[index], scored.trees[name][index]
        right, words = scored.reports[name].per_sentence[index]
        picture = pictures.svg(sentence.forms, sentence.tags, heads, sentence.heads, width=_TREE_WIDTH)
        return Drawing(f"Sentence {scored.numbers[index]}: {right:.0f} of {words} heads right", picture)

    result = []
    for name in scored.trees:
        chosen = extremes(scored.reports[name], n)
        best, worst = ([drawing(name, index) for index in some] for some in chosen)
        result.append(Gallery(name, best, worst))
    return result


# ------------------------------------------------------------------------------------------- the page
@dataclass(frozen=True)
class _Scores:
    """The part of the page about the test sentences."""

    gold: str
    policy: str
    rules: str
    by_length: Table
    differences: Table | None
    breakdowns: Sequence[Table]
    heat_maps: Sequence[Table]
    galleries: Sequence[Gallery] = field(default_factory=list)


def template() -> Any:
    """The Jinja2 template of the page. Raises: UsageError without Jinja2 (the extra "report")."""
    try:
        import jinja2
    except ImportError:
        raise UsageError("a report needs Jinja2: pip install 'dynet_vdgi[report]'") from None
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(TEMPLATE.read_text(encoding="utf-8"))


def render(runs: Sequence[Run], scored: Scored | None = None, *, n_sentences: int = 5) -> str:
    """The page as HTML text; with `scored`, scores of all runs and `n_sentences` best and worst trees.

    Raises: UsageError as `template`.
    """
    scores = None
    if scored is not None:
        scores = _Scores(
            scored.gold,
            next(iter(scored.reports.values())).policy,
            scored.rules,
            _by_length(scored),
            _differences(scored),
            _breakdowns(scored),
            _heat_maps(scored),
            _galleries(scored, n_sentences) if n_sentences else [],
        )
    page = template().render(
        version=__version__,
        names=[run.name for run in runs],
        cards=[_card(index, run) for index, run in enumerate(runs)],
        curves=_curves(runs),
        samples=[(curves.sample(index), run.name) for index, run in enumerate(runs) if run.rows],
        logs=[_log_table(index, run) for index, run in enumerate(runs) if run.rows],
        without_log=[run.name for run in runs if not run.rows],
        scores=scores,
        lengths=f"{SHORTEST} to {LONGEST}",
    )
    # Names of files that are not UTF-8 hold lone surrogates, which no page can have.
    return str(page).encode(errors="replace").decode()
