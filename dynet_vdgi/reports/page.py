"""One HTML page about runs: their training, scores and some of their trees.

The page stands alone: style and pictures are inside, there are no scripts, and nothing is fetched. Its text
is in `page.html.j2`, where Jinja2 escapes whatever comes from files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dynet_vdgi._version import __version__
from dynet_vdgi.drawing import pictures
from dynet_vdgi.drawing.sentences import tree_of
from dynet_vdgi.evaluation import tables
from dynet_vdgi.evaluation.attachment import Evaluation, percent
from dynet_vdgi.reports.runs import BREAKDOWNS, Run, ScoredRuns, measured, number_in

TEMPLATE = Path(__file__).with_name("page.html.j2")
SHORTEST, LONGEST = 5, 40
"""Lengths of the sentences shown, in words."""

_KINDS = {
    "neural": "neural parser",
    "taught": "perceptron",
    "few-trees": "parser that has learnt from trees",
    "universal": "universal parser",
}
"""What the parser of each recipe is called."""


# ------------------------------------------------------------------------------------------- runs
def _card(run: Run) -> dict[str, Any]:
    """The page's section on one run."""
    meta = run.meta
    versions = [f"{name} {meta[name]}" for name in ("python", "dynet", "numpy") if meta.get(name)]
    kind, updates = _KINDS.get(meta.get("recipe", "neural"), "parser"), meta.get("updates")
    trained_on = (meta.get("trained_on") or {}).items()
    # Logged time of updates and teaching; dev scoring and reading are not included.
    cpu, wall = (sum(number_in(row, key) or 0.0 for row in run.rows) for key in ("cpu_s", "wall_s"))
    times = [f"{cpu:,.0f} CPU seconds"] * bool(cpu) + [f"{wall:,.0f} s by the clock"] * bool(wall)
    logged = [value for row in run.rows if (value := number_in(row, "dev_dda")) is not None]
    dev = f"{percent(logged[-1])} per cent (last logged)" if logged else ""
    if (chosen := number_in(meta, "dev_dda")) is not None:  # of the weights that were kept
        dev = f"{percent(chosen)} per cent"
    facts = {
        "Model": f"{kind}, {run.n_weights:,} weights" + (f", {updates} updates" if updates else ""),
        "Preset": meta.get("preset"),
        "Protocol": meta.get("protocol"),
        "Trained on": ", ".join(f"{number:,} {name}" for name, number in trained_on),
        "Left out": "; ".join(map(str, meta.get("dropped") or ())),
        "Versions": "; ".join([f"dynet_vdgi {meta.get('version', '-')}", *versions]),
        "Seed": meta.get("seed"),
        "Created": meta.get("created"),
        "Time": f"{', '.join(times)} (as logged)" if times else "",
        "Dev DDA": dev,
    }
    columns = "role", "name", "sha256"
    return {
        "name": run.name,
        "gold_trees": "; ".join(map(str, meta.get("gold_trees") or ())) or "none",
        "facts": [(name, str(value)) for name, value in facts.items() if value not in (None, "")],
        "files": [[str(item.get(key, "-")) for key in columns] for item in meta.get("data") or ()],
        "log": measured(run),
        "settings": run.settings,
        "warning": "" if meta.get("complete", True) else "Training has not ended: this is a checkpoint.",
    }


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
        galleries: dict[str, list[tuple[str, list[tuple[str, str]]]]] = {}
        for name in scored.heads if n_sentences else ():
            its, chosen = scored.evaluations[name], extremes(scored.evaluations[name], n_sentences)
            galleries[name] = [("Best", []), ("Worst", [])]
            for (_, figures), some in zip(galleries[name], chosen):
                for k in some:
                    gold, (right, words) = scored.trees.sentences[k], its.per_sentence[k]
                    own = replace(gold, heads=scored.heads[name][k], deprels=scored.relations[name][k])
                    tree = tree_of(own, gold, protocol=scored.trees.protocol)
                    caption = f"Sentence {scored.trees.numbers[k]}: {right:.0f} of {words} heads right"
                    figures.append((caption, pictures.svg_document([tree])))
        scores = {
            "gold": scored.gold,
            "figures": tables.format_all(scored.evaluations, BREAKDOWNS, scored.comparisons),
            "rules": scored.rules,
            "galleries": galleries,
        }
    page = template().render(
        version=__version__,
        names=[run.name for run in runs],
        cards=[_card(run) for run in runs],
        scores=scores,
        lengths=f"{SHORTEST} to {LONGEST}",
    )
    # Names of files that are not UTF-8 hold lone surrogates, which are not allowed in a page.
    return str(page).encode(errors="replace").decode()
