"""One HTML page about runs: their training, learning curves, scores and some of their trees.

The page stands alone: style and pictures are inside, there are no scripts, and nothing is fetched. The text
around the tables is in `page.html.j2`, where Jinja2 escapes whatever comes from files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from dynet_vdgi._version import __version__
from dynet_vdgi.drawing import pictures
from dynet_vdgi.drawing.sentences import tree_of
from dynet_vdgi.evaluation.attachment import Evaluation, percent
from dynet_vdgi.reports import page_tables
from dynet_vdgi.reports.logs import curve_groups, number_in, teaching_tables
from dynet_vdgi.reports.page_tables import PageCell, PageTable
from dynet_vdgi.reports.runs import Run
from dynet_vdgi.reports.scored_runs import ScoredRuns

TEMPLATE = Path(__file__).with_name("page.html.j2")
SHORTEST, LONGEST = 5, 40
"""Lengths of the sentences shown, in words."""

_TREE_WIDTH = 1080
"""Pixels; the page has 1,120 for a tree on a wide screen, and scrolls the tree on others."""


_KINDS = {
    "neural": "neural parser",
    "taught": "perceptron",
    "few-trees": "parser that has learnt from trees",
    "universal": "universal parser",
}
"""What the parser of each recipe is called."""


@dataclass(frozen=True)
class Card:
    """The page's section on one run."""

    name: str
    gold_trees: str
    facts: Sequence[tuple[str, str]]
    data: PageTable
    settings: str
    warning: str = ""


def _card(index: int, run: Run) -> Card:
    meta = run.meta
    versions = [f"{name} {meta[name]}" for name in ("python", "dynet", "numpy") if meta.get(name)]
    kind, updates = _KINDS.get(meta.get("recipe", "neural"), "parser"), meta.get("updates")
    facts = {
        "Model": f"{kind}, {run.n_weights:,} weights" + (f", {updates} updates" if updates else ""),
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
        (
            str(item.get("role", "-")),
            [PageCell(str(item.get("name", "-"))), PageCell(str(item.get("sha256", "-")))],
        )
        for item in meta.get("data") or ()
    ]
    return Card(
        run.name,
        "; ".join(map(str, meta.get("gold_trees") or ())) or "none",
        [(name, str(value)) for name, value in facts.items() if value not in (None, "")],
        PageTable(
            f"data-{index}", f"{run.name}: files of the run", ["role", "file", "SHA-256"], files, "", "files"
        ),
        run.settings,
        "" if meta.get("complete", True) else "Training has not come to its end: this is a checkpoint.",
    )


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


# ------------------------------------------------------------------------------------------- trees
class Extremes(NamedTuple):
    """Indices of sentences."""

    best: list[int]
    worst: list[int]


def extremes(evaluation: Evaluation, n: int) -> Extremes:
    """The sentences with the highest and the lowest DDA, of `SHORTEST` to `LONGEST` words, longer ones first.

    No sentence is in both lists; if there are few, the best list is filled first.
    """
    shares = {
        index: right / words
        for index, (right, words) in enumerate(evaluation.per_sentence)
        if SHORTEST <= words <= LONGEST
    }
    lengths = [words for _, words in evaluation.per_sentence]
    best = sorted(shares, key=lambda index: (-shares[index], -lengths[index], index))[:n]
    left = [index for index in shares if index not in best]
    worst = sorted(left, key=lambda index: (shares[index], -lengths[index], index))[:n]
    return Extremes(best, worst)


class TreeFigure(NamedTuple):
    """A tree, and the text below it."""

    caption: str
    svg: str


@dataclass(frozen=True)
class Gallery:
    """Trees of one run."""

    name: str
    best: Sequence[TreeFigure]
    worst: Sequence[TreeFigure]


def _galleries(scored: ScoredRuns, n: int) -> list[Gallery]:
    def drawing(name: str, index: int) -> TreeFigure:
        gold = scored.trees.sentences[index]
        own = replace(gold, heads=scored.heads[name][index], deprels=scored.relations[name][index])
        right, words = scored.evaluations[name].per_sentence[index]
        tree = tree_of(own, gold, protocol=scored.trees.protocol)
        picture = pictures.svg_document([tree], width=_TREE_WIDTH)
        return TreeFigure(
            f"Sentence {scored.trees.numbers[index]}: {right:.0f} of {words} heads right", picture
        )

    result = []
    for name in scored.heads:
        chosen = extremes(scored.evaluations[name], n)
        best, worst = ([drawing(name, index) for index in some] for some in chosen)
        result.append(Gallery(name, best, worst))
    return result


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
    scores = None
    if scored is not None:
        scores = {
            "gold": scored.gold,
            "policy": scored.trees.policy,
            "by_length": page_tables.by_length(scored),
            "differences": page_tables.differences(scored),
            "breakdowns": page_tables.breakdowns(scored),
            "heat_maps": page_tables.heat_maps(scored),
            "galleries": _galleries(scored, n_sentences) if n_sentences else [],
        }
    page = template().render(
        version=__version__,
        names=[run.name for run in runs],
        cards=[_card(index, run) for index, run in enumerate(runs)],
        curve_groups=curve_groups(runs),
        teaching=teaching_tables(runs),
        without_log=[run.name for run in runs if not run.rows],
        scores=scores,
        lengths=f"{SHORTEST} to {LONGEST}",
    )
    # Names of files that are not UTF-8 hold lone surrogates, which are not allowed in a page.
    return str(page).encode(errors="replace").decode()
