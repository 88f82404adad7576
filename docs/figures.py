"""Writes the figures of README.md and of the other PAGES from committed rows.

    python docs/figures.py            writes them, and docs/results/figures.csv
    python docs/figures.py --check    only lists the pages that differ from the rows; exit status 1: some do

A page has figures between `<!-- figure NAME -->` and `<!-- end -->`; NAME is a key of FIGURES. figures.csv
lists each with its value, the file of rows, the command that made them, and the commit that last changed the
page or file on which they stand.
"""

from __future__ import annotations

import csv
import math
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

import numpy as np
import replication

from dynet_vdgi.parser.expectation import Expectation, on_line

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs" / "results"
PAGES = [
    ROOT / "README.md",
    *(
        ROOT / "docs" / name
        for name in (
            "index.md",
            "annotate.md",
            "expect.md",
            "few-trees.md",
            "results/annotate.md",
            "results/index.md",
            "results/few-trees.md",
            "results/long-sentences.md",
            "results/raw-text.md",
            "results/replication.md",
        )
    ),
]
LIST = RESULTS / "figures.csv"
PICTURES = ROOT / "docs" / "pictures"
_PLACE = re.compile(r"(<!-- figure ([\w.-]+) -->\n?)(.*?)(<!-- end -->)", re.DOTALL)

Row = dict[str, str]


@dataclass(frozen=True)
class Figure:
    """A figure of a page: where its rows are, what made them, and how it is made of them."""

    rows: str  # a file below the top folder
    command: str
    make: Callable[[], str]


@cache
def rows(name: str) -> list[Row]:
    """The rows of a CSV file below docs/results."""
    return replication.rows_of(RESULTS / name)


def mean(name: str, columns: Iterable[str], **where: str) -> str:
    """The means of some columns over the languages of a file, such as 67.6/64.6."""
    chosen = [row for row in rows(name) if all(row[key] == value for key, value in where.items())]
    assert len({row["language"] for row in chosen}) == len(chosen) > 0, where
    return "/".join(average(chosen, each) for each in columns)


def average(chosen: list[Row], column: str) -> str:
    """The mean of a column."""
    return f"{sum(float(row[column]) for row in chosen) / len(chosen):.1f}"


def cell(page: str, column: str, **where: str) -> str:
    """A cell of a page's table; `caption` need only begin so, and a row may name the rules of the paper."""
    chosen = [
        row
        for row in rows(f"tables/{page}.csv")
        if row["column"] == column
        and all(
            row[key].startswith(value)
            if key == "caption"
            else row[key].replace("rules only: ud", "rules only") == value
            for key, value in where.items()
        )
    ]
    assert len({(row["table"], row["part"]) for row in chosen}) == len(chosen) > 0, (page, column, where)
    return "/".join(row["mean"] for row in chosen)


def lengths(page: str, row: str, column: str = "average", caption: str = "DDA, protocol standard") -> str:
    """The cells of two tables, of sentences of up to 15 and of up to 40 words."""
    return "/".join(cell(page, column, caption=f"{caption}, length <={n}", row=row) for n in (15, 40))


def published(model: str) -> str:
    """The mean of a published system on the eight treebanks of UD 1.4."""
    return replication.printed(model, "UD1.4-Average", (replication.SHORT, replication.LONG))


# ------------------------------------------------------------------------------------------- expectation
def expected_of_check() -> str:
    """The table of the languages that nothing was chosen on."""
    chosen = [row for row in rows("expect.csv") if row["set"] == "check"]
    body = [
        f"| {row['treebank']} | {row['words']} | {_percent(row['expected'])} | {_percent(row['right'])} "
        f"| {100 * (float(row['expected']) - float(row['right'])):+.1f} |"
        for row in chosen
    ]
    return "\n".join(["| language | words | expected | right | off by |", "|---|---:|---:|---:|---:|", *body])


def expected_of_branches() -> str:
    """How far predictions are off, by branch, where the parser had not seen the branch."""
    chosen = [row for row in rows("expect.csv") if row["set"] == "left out"]
    body = []
    for branch in sorted({row["branch"] for row in chosen}):
        of_branch = [row for row in chosen if row["branch"] == branch]
        names = {row["treebank"] for row in of_branch}
        body.append(f"| {branch} | {len(names)} | {len(of_branch)} | {_off(of_branch):.1f} |")
    return "\n".join(["| branch | treebanks | parses | off by |", "|---|---:|---:|---:|", *body])


def expected_of_tags() -> str:
    """Heads right with guessed tags, and how many were expected, by the number of tagged sentences."""
    chosen = [row for row in rows("expect.csv") if row["set"] == "guessed tags"]
    given = [row for row in chosen if not row["tagged"]]
    body = []
    for tagged in dict.fromkeys(row["tagged"] for row in chosen if row["tagged"]):
        guessed = [row for row in chosen if row["tagged"] == tagged]
        shares = [
            100 * sum(float(row[name]) for row in of) / len(of)
            for of, name in ((guessed, "tags"), (given, "right"), (guessed, "right"), (guessed, "expected"))
        ]
        cells = [tagged, *(f"{share:.1f}" for share in shares), f"{_off(guessed):.1f}"]
        body.append(f"| {' | '.join(cells)} |")
    head = "| tagged | tags, estimated | heads, gold tags | heads, guessed tags | expected | off by |"
    return "\n".join([head, "|---:|---:|---:|---:|---:|---:|", *body])


def heads_of_guesses() -> str:
    """UAS, LAS, UPOS and UPOS with FEATS by the number of tagged sentences and what is done with guessed tags."""
    made = rows("guessed-tags.csv")
    head = "| tagged | tags | UAS | LAS | UPOS | UPOS and FEATS |"
    body = []
    for k, system in dict.fromkeys((row["tagged"], row["system"]) for row in made):
        own = [row for row in made if (row["tagged"], row["system"]) == (k, system)]
        cells = [k, system, *(average(own, column) for column in ("uas", "las", "upos", "both"))]
        body.append(f"| {' | '.join(cells)} |")
    return "\n".join([head, "|---:|---|---:|---:|---:|---:|", *body])


def retagged() -> str:
    """UPOS without and with the retagger by language, and the means of UPOS with all FEATS."""
    chosen = rows("retagger.csv")
    languages = list(dict.fromkeys(row["language"] for row in chosen))
    body = []
    for tagged in dict.fromkeys(row["tagged"] for row in chosen):
        for system in ("crf", "retagged"):
            of = [row for row in chosen if (row["tagged"], row["system"]) == (tagged, system)]
            cells = [average(of, "UPOS"), average(of, "both"), *(f"{float(row['UPOS']):.1f}" for row in of)]
            body.append(f"| {system} | {tagged} | {' | '.join(cells)} |")
    head = f"| | tagged | UPOS | and FEATS | {' | '.join(languages)} |"
    return "\n".join([head, "|---|" + "---:|" * (len(languages) + 3), *body])


_PLACES = ("first 50", "first 100", "first 200", "as many as errors", "random")


def planted() -> str:
    """Shares of the planted errors among the first places, by kind in the mean of the treebanks, and by treebank."""
    made = rows("consistency.csv")
    kinds, languages = (list(dict.fromkeys(row[name] for row in made)) for name in ("kind", "language"))
    head = f"| | {' | '.join(_PLACES)} |"
    body = []
    for name, its in (
        *((kind, [row for row in made if row["kind"] == kind]) for kind in kinds[1:]),
        *((code, [row for row in made if (row["language"], row["kind"]) == (code, "all")]) for code in languages),
        ("mean", [row for row in made if row["kind"] == "all"]),
    ):
        shares = [100 * sum(float(row[column]) for row in its) / len(its) for column in _PLACES]
        body.append(f"| {name} | {' | '.join(f'{share:.0f}' for share in shares)} |")
    return "\n".join([head, "|---|" + "---:|" * len(_PLACES), *body])


def keys() -> str:
    """Keys a sentence from plain text, before and after, by what they are for; and what is left, in percent."""
    made = rows("annotate-keys.csv")
    kinds = [name for name in made[0] if name not in ("language", "page", "sentence", "words")]
    body, totals = [], {}
    for language, page in dict.fromkeys((row["language"], row["page"]) for row in made):
        its = [row for row in made if (row["language"], row["page"]) == (language, page)]
        means = [sum(int(row[kind]) for row in its) / len(its) for kind in kinds]
        before = totals.setdefault(language, sum(means))
        cells = [f"{mean:.1f}" for mean in (*means, sum(means))] + [f"{100 * sum(means) / before:.0f}"]
        body.append(f"| {language}, {page} | {len(its)} | {' | '.join(cells)} |")
    head = f"| | sentences | {' | '.join(kinds)} | keys | % |"
    return "\n".join([head, "|---|" + "---:|" * (len(kinds) + 3), *body])


def planted_found(column: str) -> str:
    """The mean share of the planted errors, in percent."""
    its = [float(row[column]) for row in rows("consistency.csv") if row["kind"] == "all"]
    return f"{100 * sum(its) / len(its):.0f}"


def _percent(share: str) -> str:
    return f"{100 * float(share):.1f}"


def _off(chosen: list[Row]) -> float:
    return 100 * sum(abs(float(row["expected"]) - float(row["right"])) for row in chosen) / len(chosen)


def off(name: str) -> str:
    """How far the expected share is off in a set, in points; each treebank counts once."""
    chosen = [row for row in rows("expect.csv") if row["set"] == name]
    names = sorted({row["treebank"] for row in chosen})
    return f"{sum(_off([row for row in chosen if row['treebank'] == each]) for each in names) / len(names):.1f}"


def expectation() -> Expectation:
    """That of the shipped model."""
    found = Expectation.from_arrays(np.load(ROOT / "resources" / "universal" / "expectation.npz"))
    assert found is not None
    return found


def inside_of_check() -> str:
    """How many of the languages that nothing was chosen on are within their intervals."""
    chosen = [row for row in rows("expect.csv") if row["set"] == "check"]
    ends = [expectation()(float(row["marginal"]), int(row["words"])).interval for row in chosen]
    return str(sum(low <= float(row["right"]) <= high for row, (low, high) in zip(chosen, ends)))


def off_with_fifty() -> str:
    """How far the mean share with fifty trees, measured later, is from the interpolated one, in points."""
    line = next(row[1:3] for row in expectation().trees if row[0] == 50)
    none, fifty = (
        {row["language"]: float(row["dda40"]) / 100 for row in rows(_FRONT) if (row["system"], row["k"]) == key}
        for key in (("universal", "0"), ("universal", "50"))
    )
    errors = [100 * (float(on_line(line, none[code])) - fifty[code]) for code in none]
    return f"{abs(sum(errors)) / len(errors):.1f}"


def picture() -> str:
    """Predictions and what came out, as SVG: languages that nothing was chosen on by name, others as dots."""
    lowest, size, marks = 40, 420, []

    def place(share: str) -> float:
        return (100 * float(share) - lowest) * size / (100 - lowest)

    for row in rows("expect.csv"):
        x, y = f"{50 + place(row['expected']):.1f}", f"{20 + size - place(row['right']):.1f}"
        if row["set"] == "guessed tags":
            continue
        if row["set"] == "check":
            marks.append(f'<text x="{x}" y="{y}" class="name">{row["treebank"]}</text>')
        else:
            marks.append(f'<circle cx="{x}" cy="{y}" r="2.5"/>')
    axes = [f'<path d="M50 {20 + size}H{50 + size}M50 {20 + size}V20M50 {20 + size}L{50 + size} 20"/>']
    for tick in range(lowest, 101, 10):
        step = place(str(tick / 100))
        axes.append(f'<text x="{50 + step:.0f}" y="{38 + size}" text-anchor="middle">{tick}</text>')
        axes.append(f'<text x="44" y="{24 + size - step:.0f}" text-anchor="end">{tick}</text>')
    axes.append(f'<text x="{50 + size / 2}" y="{58 + size}" text-anchor="middle">expected, % of the heads</text>')
    axes.append('<text x="50" y="12">right, % of the heads</text>')
    style = "text{font:12px sans-serif;fill:#333}path{stroke:#999;fill:none}circle{fill:#7aa}.name{fill:#b00}"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size + 70} {size + 70}" role="img">'
    title = "<title>Expected and right heads of languages that the parser has not learnt from</title>"
    return "\n".join([head, title, f"<style>{style}</style>", *axes, *sorted(marks), "</svg>", ""])


_BESIDE = "few-trees-udpipe.csv", "few-trees-universal.csv"


def beside_udpipe(k: int) -> str:
    """The table of UDPipe and the learner of few trees, each from the same k trees."""
    lines = [f"| k = {k} | UDPipe | from a universal parser |", "|---|---:|---:|"]
    for language in (row["language"] for row in rows(_BESIDE[0]) if row["k"] == str(k)):
        both = [mean(name, ("dda15", "dda40"), language=language, k=str(k)) for name in _BESIDE]
        lines.append(f"| {language} | {' | '.join(both)} |")
    return "\n".join(lines)


def few_trees(row: str, k: int) -> Callable[[], str]:
    """The mean of a system with k gold trees."""
    return lambda: cell("few-trees", f"k = {k}", row=row, caption="DDA, test", section=_RULE_TABLE)


_WEAK = "few-trees-weak.csv"


def weak(k: int, *columns: str, language: str = "") -> str:
    """Means of the languages of which few heads are right, or of one; each is the mean of three draws of k trees."""
    chosen = [row for row in rows(_WEAK) if row["k"] == str(k) and language in ("", row["language"])]
    return "/".join(average(chosen, column) for column in columns)  # all languages have as many rows


def by_weak_language(k: int) -> dict[str, float]:
    """The shares of right heads, in sentences of up to 40 words, of each of them."""
    return {
        language: float(weak(k, "dda40", language=language)) for language in {row["language"] for row in rows(_WEAK)}
    }


def weak_gain(k: int) -> str:
    """The least and the largest gain by k trees, in points."""
    gains = [figure - by_weak_language(0)[language] for language, figure in by_weak_language(k).items()]
    return f"{min(gains):.0f} to {max(gains):.0f}"


def weak_as_said(k: int) -> str:
    """What is expected of k trees, given what is right without; the mean."""
    line = next(row[1:3] for row in expectation().trees if row[0] == k)
    return f"{np.mean([100 * on_line(line, figure / 100) for figure in by_weak_language(0).values()]):.1f}"


def weak_languages() -> str:
    """The table of these languages."""
    lines = ["| | no tree | 10 | 50 | LAS, no tree | 10 | 50 |", "|---|---:|---:|---:|---:|---:|---:|"]
    for language in [*dict.fromkeys(row["language"] for row in rows(_WEAK)), ""]:
        cells = [weak(k, *of, language=language) for of in (("dda15", "dda40"), ("las",)) for k in (0, 10, 50)]
        lines.append(f"| {language or 'mean'} | {' | '.join(cells)} |")
    return "\n".join(lines)


CURVE_WIDTH, CURVE_HEIGHT = 340, 220
DASHES = ("", "7 3")
_LEFT, _RIGHT, _TOP, _BOTTOM = (
    52,
    22,
    12,
    40,
)  # margins of the plot, with room for the numbers
_N_TICKS = 4
_MAX_DOTS = 30  # lines with more points have no dots
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


class Series(NamedTuple):
    """One line: points (x, y) in the order of x, drawn in the style of this number."""

    name: str
    points: Sequence[tuple[float, float]]
    number: int = 0


def ticks(low: float, high: float) -> list[float]:
    """Equidistant round numbers, from at most `low` to at least `high`, in about four steps.

    >>> ticks(0.12, 0.71)
    [0.0, 0.2, 0.4, 0.6, 0.8]
    """
    if high - low <= 1e-9 * max(abs(low), abs(high), 1e-9):
        margin = abs(low) / 10 or 1.0
        low, high = low - margin, high + margin
    raw = (high - low) / _N_TICKS
    magnitude = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * magnitude for factor in _STEPS if factor * magnitude >= raw * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(k * step, 12) + 0.0 for k in range(first, last + 1)]


def curves(title: str, series: Sequence[Series], name: str, unit: tuple[str, str]) -> str:
    """The lines, each of which has a point; `name` must be unique among the elements of the page.

    unit: of the x-axis, in singular and plural.
    """
    across = [x for line in series for x, _ in line.points]
    up = [y for line in series for _, y in line.points]
    x_end = max(across) if max(across) > 0 else 1.0
    y_ticks = ticks(min(up), max(up))
    right, bottom = CURVE_WIDTH - _RIGHT, CURVE_HEIGHT - _BOTTOM

    def place(x: float, y: float) -> tuple[float, float]:
        high = (y - y_ticks[0]) / (y_ticks[-1] - y_ticks[0])
        return _LEFT + max(x, 0.0) / x_end * (right - _LEFT), bottom - high * (bottom - _TOP)

    parts = [
        f'<svg class="vdgi-curve" viewBox="0 0 {CURVE_WIDTH} {CURVE_HEIGHT}" width="{CURVE_WIDTH}" '
        f'height="{CURVE_HEIGHT}" role="img" aria-labelledby="{name}-title {name}-desc">',
        f'<title id="{name}-title">{escape(title)} against {unit[1]}</title>',
        f'<desc id="{name}-desc">{escape(" ".join(_in_words(line, unit[0]) for line in series))}</desc>',
    ]
    for value in y_ticks:
        _, y = place(0.0, value)
        parts.append(f'<path class="vdgi-grid" d="M{_LEFT} {y:.1f}H{right}"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{_tick(value)}</text>')
    for value in (tick for tick in ticks(0.0, x_end) if tick <= x_end):
        x, _ = place(value, y_ticks[0])
        parts.append(f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{_tick(value)}</text>')
    parts.append(f'<text x="{(_LEFT + right) / 2:.1f}" y="{CURVE_HEIGHT - 6}" text-anchor="middle">{unit[1]}</text>')
    for line in series:
        places = [place(x, y) for x, y in line.points]
        data = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        dots = [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.2"/>' for x, y in places]
        dashes = f' stroke-dasharray="{DASHES[line.number]}"' if line.number else ""
        path = f'<path d="M{data}"{dashes}/>'
        shown = "".join(dots) if len(places) <= _MAX_DOTS else ""
        parts.append(f'<g class="vdgi-series vdgi-series-{line.number}">{path}{shown}</g>')
    return "\n".join([*parts, "</svg>"])


def _in_words(line: Series, unit: str) -> str:
    """A description: where the line begins, ends, and is lowest and highest."""
    (first_x, first), (last_x, last) = line.points[0], line.points[-1]
    begin = f"{_tick(first)} at {unit} {_tick(first_x)}"
    if len(line.points) == 1:
        return f"{line.name}: {begin}."
    values = [value for _, value in line.points]
    return (
        f"{line.name}: from {begin} to {_tick(last)} at {unit} {_tick(last_x)}; "
        f"lowest {_tick(min(values))}, highest {_tick(max(values))}."
    )


def _tick(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def growth_picture() -> str:
    """DDA of five languages by the number of treebanks that a network has learnt from, as SVG."""
    systems = {10: "10 treebanks", 20: "20 treebanks", 40: "40 treebanks", 92: "branch left out"}
    chosen = [row for row in rows("universal-seeds.csv") if row["seed"] == "1"]
    languages = {row["language"] for row in chosen if row["system"] == systems[10]}
    lines = []
    for number, column in enumerate(("dda15", "dda40")):
        points = []
        for n, system in systems.items():
            of_size = [row for row in chosen if row["system"] == system and row["language"] in languages]
            points.append((n, sum(float(row[column]) for row in of_size) / len(of_size)))
        lines.append(Series(f"up to {column[3:]} words", points, number))
    drawn = curves("DDA, per cent", lines, "growth", ("treebank", "treebanks learnt from"))
    style = "text{font:12px sans-serif;fill:#333}path{fill:none;stroke:#137}.vdgi-grid{stroke:#ccc}"
    for old, new in (
        ("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" '),
        ("</svg>", f"<style>{style}</style></svg>\n"),
    ):
        drawn = drawn.replace(old, new, 1)
    return drawn


_DRAWN = {"expect.svg": picture, "universal-growth.svg": growth_picture}
_RULE_TABLE = "From the rule table"
_KNOWLEDGE = "docs/results/best.csv", "python benchmarks/knowledge.py --list benchmarks/lists/ud2.csv"
_UNIVERSAL = "docs/results/universal.csv", "python benchmarks/universal.py score"
_TREES = "docs/results/tables/few-trees.csv", "python benchmarks/few_trees.py --list benchmarks/lists/ud2.csv"
_FRONT = "front-page.csv"
_WEAKLY = "python benchmarks/few_trees.py --list benchmarks/lists/weak.csv --scored text --systems universal"
_NUMBERS = 10, 50, 100, 300
"""Of trees, on the front page."""
_UDPIPE = "docs/results/few-trees-udpipe.csv", f"{_TREES[1]} --set choose --trees 300 1000 --systems UDPipe"
_EXPECT = "docs/results/expect.csv", "python benchmarks/expect.py"
_PLAN = "vdgi experiment paper-ud"
_PUBLISHED = "resources/published.csv", "typed from the papers"


def _of_best(name: str) -> Callable[[], str]:
    known = {"system": "best", "scored": "test", "decoder": "student", "table": "9ccb59f341"}
    return lambda: mean("best.csv", ("short", "long"), set=name, **known)


def _of_universal(system: str, name: str) -> Callable[[], str]:
    return lambda: mean("universal.csv", ("dda15", "dda40"), system=system, set=name)


def _of_front(system: str, k: int) -> Figure:
    """A system of the front page with k trees; without any, the universal parser is as it comes."""
    command = "python benchmarks/universal.py score" if (system, k) == ("universal", 0) else _TREES[1]
    columns = "dda15", "dda40"
    return Figure(f"docs/results/{_FRONT}", command, lambda: mean(_FRONT, columns, system=system, k=str(k)))


_REPLICATION = "docs/results/replication.csv"


def _replicated(make: Callable[[], str], rows: str = _REPLICATION, command: str = _PLAN) -> Figure:
    """A figure or table of the page about the paper."""
    return Figure(rows, command, make)


_EIGHT = {
    "paper": "UniversalRules",
    "paper.dev": "UniversalRules-dev",
    "pretraining": "pretraining",
    "pretraining.dev": "pretraining-dev",
    "rules": "rules only",
    "fixed": "fixed-lambda",
    "released": "UniversalRules-released",
}
"""Systems on the eight languages, by the names of their figures."""

_DIFFERENCES = {
    "dual": ("pretraining", "fixed-lambda"),
    "rl-pc": ("UniversalRules", "pretraining"),
    "dev": ("UniversalRules-dev", "UniversalRules"),
    "dev.pretraining": ("pretraining-dev", "pretraining"),
    "rl-pc.dev": ("UniversalRules-dev", "pretraining-dev"),
    "rl-sn": ("RL-SN", "pretraining"),
    "rl-sn.fixed": ("fixed-lambda-RL-SN", "fixed-lambda"),
    "expectations": ("WeaklySupervised", "UniversalRules"),
}
"""Systems on the eight languages whose averages are compared, first less second."""

_DIFFERENCES_ON_WSJ = {
    "weak": ("WeaklySupervised", "UniversalRules"),
    "weak.pretraining": ("Pretraining", "rules-pretraining"),
    "weak.fixed": ("fixed-lambda-weak", "fixed-lambda"),
}

_WSJ = "bash run/train_wsj.sh"
_ON_WSJ = (
    "No_Pretraining",
    "Pretraining",
    "RL-BL",
    "RL-SN",
    "RL-C",
    "WeaklySupervised",
    "RL-BL-dev",
    "RL-SN-dev",
    "RL-C-dev",
    "WeaklySupervised-dev",
    "UniversalRules",
    "L-WeaklySupervised",
    "L-UniversalRules",
    "Unsupervised",
    "left branching",
)
_PRINTED = {
    "T1": ("Unsupervised",),
    "T2": ("No_Pretraining", "Pretraining"),
    "T4": ("UniversalRules", "L-UniversalRules", "WeaklySupervised", "L-WeaklySupervised"),
}
_CHANGED = "vdgi train --preset paper --set"
_EFFECTS = {
    "lr": "finetune.lr=0.01",
    "plain": "finetune.decoder=plain",
    "average": "train.average=0",
    "mask": "parser.mask_illegal=false",
    "exponent": "train.exponent=0.8",
    "first": "finetune.updates=0",
}
"""One change to the preset `paper` each."""

_DUAL = "pretraining", "UniversalRules", "pretraining-dev", "UniversalRules-dev", "WeaklySupervised"
_TABLES = {
    "english": _replicated(replication.english, command=_WSJ),
    "t6": _replicated(
        partial(
            replication.eight,
            "rules only",
            "pretraining",
            "UniversalRules",
            "pretraining-dev",
            "UniversalRules-dev",
            "L-WeaklySupervised-dev",
            "UniversalRules-released",
            "fixed-lambda",
            "fixed-lambda-RL-PC",
            "released-lambda",
            "WeaklySupervised",
            "RL-BL",
            "RL-SN",
            "RL-SN-dev",
            "fixed-lambda-RL-SN",
        ),
    ),
    "t7": _replicated(replication.speed, "docs/results/replication-speed.csv", "python benchmarks/parsing_speed.py"),
    "lambda.released": _replicated(partial(replication.largest_lambda, "released-lambda")),
    "lambda.code": _replicated(partial(replication.largest_lambda, "UniversalRules-released")),
    "lambda.dual": _replicated(partial(replication.largest_lambda, *_DUAL)),
    "lambda.second": _replicated(partial(replication.largest_lambda, "UniversalRules", "UniversalRules-dev")),
    "lambda.rl-sn": _replicated(partial(replication.largest_lambda, "RL-SN")),
    "lengths": _replicated(
        replication.long_sentences,
        "docs/results/replication-lengths.csv",
        "python benchmarks/long_sentences.py",
    ),
    "dev": _replicated(
        partial(
            replication.on_dev,
            "one .95",
            "one 1.00",
            "one .95 and each rule .50",
            "one 1.00 and each rule .50",
            "each rule .90",
            "each rule .95",
            "each rule 1.00",
            "fixed",
        ),
        "docs/results/replication-dev.csv",
        "vdgi train --preset pretraining",
    ),
}
"""Tables of the page about the paper, and what is said there of its runs."""

_PLANTED = "docs/results/consistency.csv", "python benchmarks/consistency.py"

FIGURES = {
    "best.check": Figure(*_KNOWLEDGE, _of_best("check")),
    "best.choose": _of_front("best", 0),
    "universal.check": Figure(*_UNIVERSAL, _of_universal("shipped", "check")),
    "universal.choose": _of_front("universal", 0),
    "best.check.15": Figure(*_KNOWLEDGE, lambda: _of_best("check")().partition("/")[0]),
    "universal.check.15": Figure(*_UNIVERSAL, lambda: _of_universal("shipped", "check")().partition("/")[0]),
    **{f"trees.{k}": _of_front("best", k) for k in _NUMBERS},
    **{f"exact.trees.{k}": _of_front("best, exact", k) for k in _NUMBERS},
    **{f"universal.trees.{k}": _of_front("universal", k) for k in _NUMBERS},
    **{f"fast.trees.{k}": _of_front("universal, fast", k) for k in _NUMBERS},
    **{f"udpipe.{k}": Figure(*_TREES, few_trees("UDPipe", k)) for k in (10, 100)},
    "udpipe.50": _of_front("UDPipe", 50),
    "udpipe.300": Figure(*_UDPIPE, lambda: mean(_BESIDE[0], ("dda15", "dda40"), k="300")),
    **{f"udpipe.{k}.languages": Figure(*_UDPIPE, partial(beside_udpipe, k)) for k in (300, 1000)},
    "weak": Figure(f"docs/results/{_WEAK}", _WEAKLY, weak_languages),
    **{f"weak.{k}": Figure(f"docs/results/{_WEAK}", _WEAKLY, partial(weak, k, "dda15", "dda40")) for k in (0, 10, 50)},
    **{f"weak.gain.{k}": Figure(f"docs/results/{_WEAK}", _WEAKLY, partial(weak_gain, k)) for k in (10, 50)},
    **{f"weak.said.{k}": Figure(f"docs/results/{_WEAK}", _WEAKLY, partial(weak_as_said, k)) for k in (10, 50)},
    "expect.check": Figure(*_EXPECT, expected_of_check),
    "expect.branches": Figure(*_EXPECT, expected_of_branches),
    "expect.tags": Figure(*_EXPECT, expected_of_tags),
    "guessed.heads": Figure("docs/results/guessed-tags.csv", "python benchmarks/guessed_tags.py", heads_of_guesses),
    "expect.check.off": Figure(*_EXPECT, lambda: off("check")),
    "expect.check.inside": Figure(*_EXPECT, inside_of_check),
    "retagger": Figure("docs/results/retagger.csv", "python benchmarks/retagger.py score", retagged),
    "keys": Figure("docs/results/annotate-keys.csv", "python benchmarks/annotate_keys.py", keys),
    "consistency": Figure(*_PLANTED, planted),
    "consistency.as-many": Figure(*_PLANTED, partial(planted_found, "as many as errors")),
    "consistency.200": Figure(*_PLANTED, partial(planted_found, "first 200")),
    "expect.fifty.off": Figure(f"docs/results/{_FRONT}", _TREES[1], off_with_fifty),
    "expect.left.off": Figure(*_EXPECT, lambda: off("left out")),
    "eight.best": Figure("docs/results/tables/best.csv", _PLAN, lambda: lengths("best", "best")),
    **{f"eight.{name}": _replicated(partial(replication.mean, system)) for name, system in _EIGHT.items()},
    **{
        f"wsj.{name.replace(' ', '-')}": _replicated(partial(replication.mean, name, *replication.WSJ), command=_WSJ)
        for name in _ON_WSJ
    },
    **{
        f"published.{table}.{model}": Figure(
            *_PUBLISHED, partial(replication.printed, model, "WSJ23", replication.WSJ[1])
        )
        for table, models in _PRINTED.items()
        for model in models
    },
    **{
        f"difference.{name}": _replicated(partial(replication.difference, *pair)) for name, pair in _DIFFERENCES.items()
    },
    **{
        f"effect.{name}": _replicated(partial(replication.effect, change), "docs/results/replication-dev.csv", _CHANGED)
        for name, change in _EFFECTS.items()
    },
    **{
        f"difference.{name}": _replicated(partial(replication.difference, *pair, *replication.WSJ), command=_WSJ)
        for name, pair in _DIFFERENCES_ON_WSJ.items()
    },
    **{f"replication.{name}": figure for name, figure in _TABLES.items()},
    "published.sibling-NDMV": Figure(*_PUBLISHED, lambda: published("sibling-NDMV")),
    "published.Convex-MST": Figure(*_PUBLISHED, lambda: published("Conv-MST")),
    "published.UniversalRules": Figure(*_PUBLISHED, lambda: published("UnivRules")),
}


def filled(text: str) -> str:
    """A page with its figures as the rows have them."""

    def put(match: re.Match[str]) -> str:
        value = FIGURES[match[2]].make()
        return match[1] + value + ("\n" if "\n" in value else "") + match[4]

    return _PLACE.sub(put, text)


def listed() -> list[list[str]]:
    """Figures with values, rows and commands; values of tables are left out."""
    found = [["figure", "value", "rows", "command"]]
    for name, figure in FIGURES.items():
        value = figure.make()
        found.append([name, "" if "\n" in value else value, figure.rows, figure.command])
    return found


def commit_of(name: str) -> str:
    """The commit that last changed a file, or the page whose tables it has."""
    page = re.sub(r"tables/(.*)\.csv$", r"\1.md", name)
    command = ["git", "log", "-1", "--format=%H", "--", page]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout[:7]


def outdated() -> list[Path]:
    """The pages whose figures differ from the rows, and the list and the pictures if they do."""
    texts = {path: path.read_text(encoding="utf-8") for path in PAGES}
    differing = [path for path, text in texts.items() if filled(text) != text]
    differing += [PICTURES / name for name, draw in _DRAWN.items() if (PICTURES / name).read_text("utf-8") != draw()]
    with open(LIST, encoding="utf-8") as lines:
        is_listed = [row[:-1] for row in csv.reader(lines)] == listed()
    return differing if is_listed else [*differing, LIST]


def main() -> int:
    if sys.argv[1:] == ["--check"]:
        names = [str(path.relative_to(ROOT)) for path in outdated()]
        print("\n".join(names), end="\n" if names else "")
        return bool(names)
    for path in PAGES:
        path.write_text(filled(path.read_text(encoding="utf-8")), encoding="utf-8")
    for name, draw in _DRAWN.items():
        (PICTURES / name).write_text(draw(), encoding="utf-8")
    with open(LIST, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        for row in listed():
            writer.writerow([*row, "commit" if row[0] == "figure" else commit_of(row[2])])
    return 0


if __name__ == "__main__":
    sys.exit(main())
