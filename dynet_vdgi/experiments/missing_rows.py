"""The rows of the paper's tables that have no run of ours, and the commands that make them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dynet_vdgi.evaluation import published
from dynet_vdgi.evaluation.published import DATASETS, model_of, same_model
from dynet_vdgi.experiments import plan as plans
from dynet_vdgi.experiments.tables import BASELINES, PAPER, TableRow

PLANS = ("paper-wsj", "paper-ud", "paper-ud-words")
"""The plans of the paper's tables; a row is made by the first one that has its system."""

SPEED = f"{PAPER}T7"
"""The table of speed, which no plan makes."""


def commands_of_missing(rows: Sequence[TableRow]) -> list[str]:
    """A line for each plan that makes what is missing, and one about the table of speed."""
    figures = [each for each in published.read() if each.table.startswith(PAPER)]
    languages: dict[tuple[str, str], set[str]] = {}
    code_of = {dataset: language for language, dataset in DATASETS.items()}
    for each in figures:
        if each.table != SPEED and each.dataset in code_of:
            languages.setdefault((each.table, each.model), set()).add(code_of[each.dataset])
    printed = {each.model for each in figures}
    ours = _models({row.system for row in rows}, printed)
    there = {(ours[row.system], row.language) for row in rows}
    missing = {
        (table, model): names
        for (table, model), names in languages.items()
        if there.isdisjoint((same_model(model), name) for name in names)
    }
    lines = []
    for plan_name in PLANS:
        plan = plans.load_plan(plans.path_of(plan_name))
        treebanks = {treebank.name for treebank in plan.treebanks}
        names = [system.name for system in plan.systems]
        systems = {model: name for name, model in reversed(_models(names, printed).items())}
        systems |= {name: name for name in names}
        made = {
            (table, model): systems.get(model) or systems.get(same_model(model), "")
            for (table, model), of in missing.items()
            if of <= treebanks and (same_model(model) in systems or model in BASELINES.values())
        }
        if not made:
            continue
        missing = {key: of for key, of in missing.items() if key not in made}
        by_table: dict[str, list[str]] = {}
        for table, model in made:
            by_table.setdefault(table, []).append(model)
        what = "; ".join(f"{table} {', '.join(models)}" for table, models in by_table.items())
        only = " ".join(dict.fromkeys(name for name in made.values() if name))
        command = f"vdgi experiment {plan_name} --data DIR --out DIR"
        lines.append(f"No run here: {what}. They are made by {command} --only {only or names[0]}")
    lines.append(
        f"{SPEED}, speed by length, is made by no plan: "
        "python experiments/parsing_speed.py --train FILE --test FILE --rows FILE.csv"
    )
    return lines


def _models(systems: Iterable[str], printed: set[str]) -> dict[str, str]:
    """The published model of each system of ours, in one name; "" if there is none."""
    models = model_of({name: BASELINES.get(name, name) for name in systems}, printed)
    return {name: same_model(model) for name, model in models.items()}
