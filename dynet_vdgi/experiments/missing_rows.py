"""The rows of the paper's tables that have no run of ours, and the commands that make them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from dynet_vdgi.evaluation import published
from dynet_vdgi.evaluation.published import DATASETS, PublishedFigure, model_of, same_model
from dynet_vdgi.experiments import plan as plans
from dynet_vdgi.experiments.tables import BASELINES, PAPER, TableRow

PLANS = ("paper-wsj", "paper-ud", "paper-ud-words")
"""The plans of the paper's tables; a row is made by the first one that has its system."""

SPEED = f"{PAPER}T7"
"""The table of speed, which no plan makes."""


PublishedRow = tuple[str, str]
"""A table of the paper and the model of one of its rows."""


def commands_of_missing(rows: Sequence[TableRow]) -> list[str]:
    """A line for each plan that makes what is missing, and one about the table of speed."""
    figures = [each for each in published.read() if each.table.startswith(PAPER)]
    printed = {each.model for each in figures}
    missing = _missing(rows, figures, printed)
    lines = []
    for plan_name in PLANS:
        plan = plans.load_plan(plans.path_of(plan_name))
        made = _made_by(plan, missing, printed)
        if not made:
            continue
        missing = {key: names for key, names in missing.items() if key not in made}
        only = " ".join(dict.fromkeys(name for name in made.values() if name))
        command = f"vdgi experiment {plan_name} --data DIR --out DIR"
        command += f" --only {only or plan.systems[0].name}"
        lines.append(f"No run here: {_listed(made)}. They are made by {command}")
    lines.append(
        f"{SPEED}, speed by length, is made by no plan: "
        "python experiments/parsing_speed.py --train FILE --test FILE --rows FILE.csv"
    )
    return lines


def _missing(
    rows: Sequence[TableRow], figures: Sequence[PublishedFigure], printed: set[str]
) -> dict[PublishedRow, set[str]]:
    """The published rows without a run of ours, each with its languages."""
    languages: dict[PublishedRow, set[str]] = {}
    code_of = {dataset: language for language, dataset in DATASETS.items()}
    for each in figures:
        if each.table != SPEED and each.dataset in code_of:
            languages.setdefault((each.table, each.model), set()).add(code_of[each.dataset])
    ours = _models({row.system for row in rows}, printed)
    there = {(ours[row.system], row.language) for row in rows}
    return {
        (table, model): names
        for (table, model), names in languages.items()
        if there.isdisjoint((same_model(model), name) for name in names)
    }


def _made_by(
    plan: plans.Plan, missing: Mapping[PublishedRow, set[str]], printed: set[str]
) -> dict[PublishedRow, str]:
    """The rows that a plan makes, each with the plan's system; "" for baselines, which all runs
    have."""
    treebanks = {treebank.name for treebank in plan.treebanks}
    names = [system.name for system in plan.systems]
    systems = {model: name for name, model in reversed(_models(names, printed).items())}
    systems |= {name: name for name in names}
    return {
        (table, model): systems.get(model) or systems.get(same_model(model), "")
        for (table, model), languages in missing.items()
        if languages <= treebanks and (same_model(model) in systems or model in BASELINES.values())
    }


def _listed(rows: Iterable[PublishedRow]) -> str:
    """The rows, table by table."""
    by_table: dict[str, list[str]] = {}
    for table, model in rows:
        by_table.setdefault(table, []).append(model)
    return "; ".join(f"{table} {', '.join(models)}" for table, models in by_table.items())


def _models(systems: Iterable[str], printed: set[str]) -> dict[str, str]:
    """The published model of each system of ours, in one name; "" if there is none."""
    models = model_of({name: BASELINES.get(name, name) for name in systems}, printed)
    return {name: same_model(model) for name, model in models.items()}
