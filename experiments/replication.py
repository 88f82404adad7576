"""The rows and tables of docs/results/replication.md.

    python experiments/replication.py [DIR...]    adds the rows of folders of `vdgi experiment` to replication.csv
    python experiments/replication.py --print     prints the rows beside the paper's tables 1 to 7
    python experiments/figures.py                 writes the tables into the page

One line of docs/results/replication.csv is the DDA of one run at one length, in per cent; `lambda`
is the largest norm of lambda in the run's log, `lambda_end` the last one. `kl`, KL(q | q_omega),
and `ess`, effective samples of gamma, are means of the last 50 updates. A run that is there already,
of the same system, language, seed and protocol, is replaced; rows of earlier versions have no
`lambda_end`, `kl` and `ess`. Rows that the presets of before have made get the names of their
systems with `-before`.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from measuring import write_csv
from result_rows import RESULTS, rows_of

from dynet_vdgi.evaluation import published
from dynet_vdgi.experiments import tables
from dynet_vdgi.experiments.missing_rows import commands_of_missing
from dynet_vdgi.experiments.tables import AVERAGE, TableRow
from dynet_vdgi.models.run_log import RunLog
from dynet_vdgi.settings.settings import LOG_NAME
from dynet_vdgi.system.text_tables import TextTable

ROWS = RESULTS / "replication.csv"
COLUMNS = (
    "language",
    "system",
    "seed",
    "length",
    "dda",
    "protocol",
    "gold_trees",
    "commit",
    "cpu_s",
    "lambda",
    "lambda_end",
    "kl",
    "ess",
)
LAST_UPDATES = 50
BEFORE = "-before"
"""Ends the names of systems whose rows were made by the presets of before, see the page."""
_OF_BEFORE = "c8e551b", "bd607f1"
"""The commits of those rows."""
_WITHOUT_RULES = "Unsupervised", "L-Unsupervised"
_SAME_NOW = (
    "Unsupervised",
    "L-Unsupervised",
    "Pretraining",
    "Pretraining-dev",
    "fixed-lambda",
    "fixed-lambda-weak",
    "fixed-lambda-RL-SN",
    "released-lambda",
)
"""Systems of these commits whose settings are the same today."""
LANGUAGES = ("eu", "nl", "fr", "de", "it", "pl", "pt", "es")
SPEED, DEV, LENGTHS = (
    ROWS.with_name(f"replication-{name}.csv") for name in ("speed", "dev", "lengths")
)
SHORT, LONG = "<=15", "<=40"
RIVALS = ("RF", "RF+H1+H2", "LC-DMV", "Convex-MST", "Convex-MST-strict-tags", "HDP-DEP")
"""Systems of other papers, of which experiments/rivals.py makes rows."""
WSJ = ("wsj",), ("<=10", "all")
"""The languages and lengths of the English tables."""


@cache
def load() -> tuple[TableRow, ...]:
    """The committed rows, one for each run."""
    runs: dict[tuple[str, ...], dict[str, str]] = {}
    figures: dict[tuple[str, ...], dict[str, float]] = {}
    for line in rows_of(ROWS):
        key = line["system"], line["language"], line["seed"], line["protocol"]
        runs[key] = line
        figures.setdefault(key, {})[line["length"]] = float(line["dda"])
    return tuple(
        TableRow(
            system=line["system"],
            language=line["language"],
            seed=int(line["seed"]),
            dda=figures[key],
            commit=line["commit"],
            cpu_s=float(line["cpu_s"]),
            protocol=line["protocol"],
            gold_trees=line["gold_trees"],
        )
        for key, line in runs.items()
    )


@cache
def ends() -> dict[tuple[str, str, int], dict[str, float]]:
    """|lambda|, KL and ESS at the end of each run that has them, by system, language and seed."""
    columns = "lambda_end", "kl", "ess"
    return {
        (line["system"], line["language"], int(line["seed"])): {
            name: float(line[name]) for name in columns
        }
        for line in rows_of(ROWS)
        if line.get("kl")
    }


def name_of(system: str, commit: str) -> str:
    """The name of a system whose row is of this commit."""
    is_of_before = commit in _OF_BEFORE and system not in (*_SAME_NOW, *tables.BASELINES)
    return system + BEFORE if is_of_before and not system.endswith(BEFORE) else system


def add(folders: Sequence[Path]) -> None:
    """Writes the rows of these folders beside those that are there."""
    lines = rows_of(ROWS) if ROWS.exists() else []
    for line in lines:
        line["system"] = name_of(line["system"], line["commit"])
    for folder in folders:
        for row in tables.read([folder]):
            run = {
                "language": row.language,
                "system": row.system,
                "seed": str(row.seed),
                "protocol": row.protocol,
            }
            lines = [line for line in lines if run.items() - line.items()]
            log = RunLog(folder / row.language / row.system / str(row.seed) / LOG_NAME)
            run |= {
                "gold_trees": row.gold_trees,
                "commit": row.commit,
                "cpu_s": f"{row.cpu_s:.1f}",
                **of_the_rules(log.rows()),
            }
            lines += [
                {**run, "length": length, "dda": f"{dda:.3f}"} for length, dda in row.dda.items()
            ]
    lines.sort(key=lambda line: [line.get(name, "") for name in COLUMNS])
    write_csv(ROWS, COLUMNS, lines)


def of_the_rules(log: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """What the rules did in a run with this log: `lambda`, `lambda_end`, `kl`, `ess`; "" without them."""
    with_rules = [row for row in log if "kl" in row]
    if not with_rules:
        return dict.fromkeys(("lambda", "lambda_end", "kl", "ess"), "")
    norms, end = [row["lambda_norm"] for row in with_rules], with_rules[-1]
    last = [
        row
        for row in with_rules
        if row["phase"] == end["phase"] and row["update"] > end["update"] - LAST_UPDATES
    ]
    weights = [row["sentences"] for row in last]
    kl, ess = (
        sum(weight * row[key] for weight, row in zip(weights, last)) / sum(weights)
        for key in ("kl", "gamma_ess")
    )
    return {
        "lambda": f"{max(norms):.2f}",
        "lambda_end": f"{norms[-1]:.2f}",
        "kl": f"{kl:.4f}",
        "ess": f"{ess:.2f}",
    }


def made_by(rows: Sequence[TableRow]) -> str:
    """A line below a table: seeds, commits and CPU seconds of its rows."""
    trained = [row for row in rows if row.system not in tables.BASELINES]
    if not trained:
        return "No run yet."
    seeds = sorted({row.seed for row in trained})
    commits = ", ".join(sorted({row.commit for row in trained}))
    spent = sum(row.cpu_s for row in trained)
    return f"{len(trained)} runs, seeds {seeds[0]} to {seeds[-1]}, commit {commits}, {spent:.0f} CPU seconds."


def of_systems(*systems: str, languages: Sequence[str] = LANGUAGES) -> list[TableRow]:
    """The rows of some systems; those that learn nothing are under protocol `standard`."""
    chosen = [row for row in load() if row.system in systems and row.language in languages]
    return [
        row for row in chosen if row.system not in tables.BASELINES or row.protocol == "standard"
    ]


def eight(*systems: str) -> str:
    """DDA up to 15 / up to 40 words on the paper's eight languages: published rows, and ours with
    these names, then those of the presets of before; |lambda| and KL at the end, the least of all
    runs."""
    lines = [["system", "gold trees", "seeds", "average", "±", *LANGUAGES, "|λ|", "KL"]]
    # The paper says nothing about gold trees in the systems of others.
    of_the_paper = {
        "RF+H1+H2": "–",
        "LC-DMV": "–",
        "Conv-MST": "–",
        "UnivRules": "dev (code)",
        "L-WeaklySup": "expectations, dev (code)",
    }
    for model, uses in of_the_paper.items():
        there = {
            (f.dataset, f.length): f.mean
            for f in published.read()
            if (f.table, f.model) == ("Li2019-T6", model)
        }
        names = ["UD1.4-Average", *(published.DATASETS[language] for language in LANGUAGES)]
        cells = [
            "/".join(f"{there[name, length]:.1f}" for length in (SHORT, LONG)) for name in names
        ]
        name, seeds = f"published: {published.same_model(model)}", "5" if uses != "–" else "–"
        lines.append([name, uses, seeds, cells[0], "", *cells[1:], "", ""])
    used = []
    for system in (*systems, *(name + BEFORE for name in systems)):
        if not (own := of_systems(system)):
            continue
        complete = _complete(own)
        own = [row for row in own if row.seed in complete] if complete else own
        used += own
        both = [
            [tables.figure(own, name, length, LANGUAGES) for length in (SHORT, LONG)]
            for name in (AVERAGE, *LANGUAGES)
        ]
        cells = ["/".join(f"{each.mean:.1f}" for each in pair if each) or "–" for pair in both]
        spread = "/".join(
            "" if each is None or each.std is None else f"{each.std:.1f}" for each in both[0]
        ).strip("/")
        seeds = (
            "–" if system in tables.BASELINES else str(len(complete)) if complete else _some(own)
        )
        of_rules = [least(own, column) for column in ("lambda_end", "kl")]
        lines.append([system, _uses(own), seeds, cells[0], spread, *cells[1:], *of_rules])
    return f"{TextTable(lines[0], lines[1:]).markdown()}\n\n{made_by(used)}"


def _some(rows: Sequence[TableRow]) -> str:
    """How many seeds there are, of how many languages."""
    n_languages = len({row.language for row in rows})
    languages = "language" if n_languages == 1 else "languages"
    return f"{len({row.seed for row in rows})} ({n_languages} {languages})"


def _key(row: TableRow) -> tuple[str, str, int]:
    return row.system, row.language, row.seed


def least(rows: Sequence[TableRow], column: str) -> str:
    """The least of all runs that have this column; "" if none has it, or there are no rules."""
    found = [
        ends()[_key(row)][column]
        for row in rows
        if _key(row) in ends() and row.system not in _WITHOUT_RULES
    ]
    return f"{min(found):.{3 if column == 'kl' else 2}f}" if found else ""


FIRST_STAGES = {
    "UniversalRules": "pretraining",
    "UniversalRules-dev": "pretraining-dev",
    "L-UniversalRules": "L-pretraining",
    "L-WeaklySupervised-dev": "L-Weak-pretraining-dev",
    "RL-BL": "pretraining",
    "RL-SN": "pretraining",
    "RL-SN-dev": "pretraining-dev",
    "fixed-lambda-RL-PC": "fixed-lambda",
    "fixed-lambda-RL-SN": "fixed-lambda",
}
"""The first stage that the second one of a system goes on from, on the eight languages."""


def first_stage(system: str) -> str:
    """The first stage of a system, of the presets of before if the system is."""
    first = FIRST_STAGES[system.removesuffix(BEFORE)]
    return first + BEFORE if system.endswith(BEFORE) and first not in _SAME_NOW else first


def gains(system: str) -> dict[str, list[tuple[TableRow, TableRow]]]:
    """By language, the runs of a system after those of its first stage."""
    before = {
        (row.language, row.seed): row for row in of_systems(first_stage(system)) if LONG in row.dda
    }
    pairs: dict[str, list[tuple[TableRow, TableRow]]] = {}
    for row in of_systems(system):
        if (row.language, row.seed) in before:
            pairs.setdefault(row.language, []).append((before[row.language, row.seed], row))
    return pairs


def gain(system: str) -> str:
    """What the second stage of a system gains, with its standard error over runs, and of how many
    runs that is."""
    pairs = [pair for of_language in gains(system).values() for pair in of_language]
    if len(pairs) < 2:
        return "not yet measured"
    cells = []
    for length in (SHORT, LONG):
        changes = [after.dda[length] - before.dda[length] for before, after in pairs]
        error = statistics.stdev(changes) / len(changes) ** 0.5
        cells.append(f"{statistics.mean(changes):+.1f} ± {error:.1f}")
    return f"{'/'.join(cells)} ({len(pairs)} runs, {len(gains(system))} of 8 languages)"


def second_stages() -> str:
    """Second stages on the eight languages beside the first stages that they go on from, in the runs
    that both have: means, gain, and by language the gain, the least |lambda| and the least KL at the end."""
    body = [["second stage", "runs", "first", "second", "gain ± error", *LANGUAGES]]
    for system in (*FIRST_STAGES, *(name + BEFORE for name in FIRST_STAGES)):
        by_language = gains(system)
        if not by_language:
            continue
        pairs = [pair for of_language in by_language.values() for pair in of_language]
        means = [
            "/".join(
                f"{statistics.mean(pair[stage].dda[length] for pair in pairs):.1f}"
                for length in (SHORT, LONG)
            )
            for stage in (0, 1)
        ]
        cells = []
        for language in LANGUAGES:
            own = by_language.get(language, [])
            changes = [
                f"{statistics.mean(after.dda[length] - before.dda[length] for before, after in own):+.1f}"
                for length in (SHORT, LONG)
                if own
            ]
            rows = [after for _, after in own]
            of_rules = [least(rows, "lambda_end"), least(rows, "kl")]
            cells.append("/".join(changes) + (f" ({', '.join(of_rules)})" if all(of_rules) else ""))
        whole = gain(system).partition(" (")[0] if len(pairs) > 1 else "–"
        body.append([system, str(len(pairs)), *means, whole, *(cell or "–" for cell in cells)])
    return TextTable(body[0], body[1:]).markdown()


def _complete(rows: Sequence[TableRow], languages: Sequence[str] = LANGUAGES) -> set[int]:
    """The seeds that all these languages have."""
    runs = {(row.seed, row.language) for row in rows}
    return {row.seed for row in rows if all((row.seed, name) in runs for name in languages)}


def _uses(rows: Sequence[TableRow]) -> str:
    """The uses of gold trees, a word each."""
    words = {
        "expectations": "expectations",
        "choice of the model": "dev",
        "crossing arcs": "projective",
    }
    found = [word for what, word in words.items() if any(what in row.gold_trees for row in rows)]
    return ", ".join(found) or "none"


_SCORES = ("RL-BL", "RL-SN", "RL-C", "WeaklySupervised")
ENGLISH = (
    ("1", "Random", "random"),
    ("1", "Left_branching", "left branching"),
    ("1", "Right_branching", "right branching"),
    ("1", "Unsupervised", "Unsupervised"),
    ("1", "L-Unsupervised", "L-Unsupervised"),
    ("2", "No_Pretraining", "No_Pretraining"),
    ("2", "Pretraining", "Pretraining"),
    ("2", "", "Pretraining-dev"),
    ("2", "", "Pretraining-released"),
    *(("3", name, name) for name in ("RL-BL", "RL-SN", "RL-C", "RL-PC")),
    ("3", "", "WeaklySupervised"),
    *(("3", "", f"{name}-dev") for name in _SCORES),
    *(("3", "", f"{name}-plain") for name in _SCORES),
    ("3", "", "WeaklySupervised-released"),
    *(
        ("4", name, name)
        for name in ("UniversalRules", "L-UniversalRules", "WeaklySupervised", "L-WeaklySupervised")
    ),
    ("4", "", "UniversalRules-released"),
    ("4", "", "rules-pretraining"),
    ("4", "", "rules-pretraining-released"),
    ("4", "", "fixed-lambda"),
    ("4", "", "fixed-lambda-weak"),
    ("", "", "rules only"),
    ("5", "Convex-MST", "Convex-MST"),
    ("5", "", "Convex-MST-wsj-strict"),
    *(("5", name, name) for name in ("HDP-DEP", "RF", "RF+H1+H2")),
    ("5", "", "LC-DMV"),
)
"""The paper's table, its model ("" if it has none), and our system ("" if there is none here)."""


def in_short() -> str:
    """UniversalRules on the eight languages: pretraining and both stages, without gold trees and where
    dev trees choose."""
    systems = "pretraining", "UniversalRules", "pretraining-dev", "UniversalRules-dev"
    lines = [
        ["published", "–", "–", "–", printed("UnivRules", "UD1.4-Average", (SHORT, LONG))],
        ["today's presets", *map(mean, systems)],
        ["the presets of before", *(mean(name + BEFORE) for name in systems)],
        ["the released algorithm", "–", "–", "–", mean("UniversalRules-released")],
        ["rules only", "–", mean("rules only"), "–", "–"],
    ]
    heading = [
        "",
        *systems[:2],
        *(f"{name.removesuffix('-dev')}, dev trees" for name in systems[2:]),
    ]
    return TextTable(heading, lines).markdown()


_ON_WSJ = (
    "No_Pretraining",
    "RL-BL",
    "RL-SN",
    "RL-C",
    "RL-PC",
    "UniversalRules",
    "L-UniversalRules",
    "WeaklySupervised",
    "L-WeaklySupervised",
)
PLANNED = (
    ("paper-ud", "UniversalRules", LANGUAGES, "1"),
    ("paper-ud", "UniversalRules-dev", LANGUAGES, "1.5"),
    ("paper-ud", "RL-BL", LANGUAGES, "1"),
    ("paper-ud", "RL-SN", LANGUAGES, "1"),
    ("paper-ud", "RL-SN-dev", LANGUAGES, "1"),
    ("paper-ud", "WeaklySupervised", LANGUAGES, "1"),
    ("paper-ud-words", "L-WeaklySupervised-dev", LANGUAGES, "1.5"),
    ("paper-ud-released", "UniversalRules-released", LANGUAGES, "14 to 45"),
    ("paper-ud-released", "WeaklySupervised-released", LANGUAGES, "14 to 45"),
    *(("paper-wsj", system, ("wsj",), "1") for system in _ON_WSJ),
    ("paper-wsj-released", "Pretraining-released", ("wsj",), "4"),
    ("paper-wsj-released", "WeaklySupervised-released", ("wsj",), "2"),
    ("paper-wsj-released", "rules-pretraining-released", ("wsj",), "4"),
    ("paper-wsj-released", "UniversalRules-released", ("wsj",), "2"),
)
"""Plan, system, its treebanks, and about how many CPU minutes a run takes with its first stage."""


def missing() -> str:
    """The systems of PLANNED that some treebank has no run of."""
    body = [["plan", "system", "treebanks without a run", "CPU minutes a run, about"]]
    for plan, system, languages, minutes in PLANNED:
        there = {row.language for row in of_systems(system, languages=languages)}
        without = [name for name in languages if name not in there]
        if without:
            body.append([plan, system, "all" if not there else " ".join(without), minutes])
    if len(body) == 1:
        body.append(["none", "", "", ""])
    return TextTable(body[0], body[1:], left=2).markdown()


def english() -> str:
    """Tables 1 to 5: as published on section 23, and ours on the end of the sample; |lambda| and KL at
    the end, the least of all runs. Below a row is that of the presets of before."""
    lengths = "<=10", "all"
    in_print = published.read()
    heading = ["table", "system", *(f"published, {each}" for each in lengths)]
    body = [[*heading, *(f"here, {each}" for each in lengths), "seeds", "|λ|", "KL"]]
    used = []
    for table, model, system in ENGLISH:
        there = {f.length: f for f in in_print if (f.table, f.model) == (f"Li2019-T{table}", model)}
        printed_cells = [
            tables.Cell(f.mean, f.best, f.std) if (f := there.get(length)) else None
            for length in lengths
        ]
        names = [each for each in (system, system + BEFORE) if _on_wsj(each)]
        for name in names or ([system] if model else []):
            own = _on_wsj(name)
            used += [row for row in own if row not in used]
            cells = [*printed_cells, *(tables.figure(own, "wsj", each, ()) for each in lengths)]
            mark = " †" if any(row.gold_trees for row in own) else ""
            seeds = (
                str(len(own)) if own and own[0].commit and system not in tables.BASELINES else ""
            )
            of_rules = [least(own, column) for column in ("lambda_end", "kl")]
            texts = (tables.text(cell) for cell in cells)
            body.append([table or "–", name + mark, *texts, seeds, *of_rules])
            printed_cells = [None, None]
    return f"{TextTable(body[0], body[1:]).markdown()}\n\n{made_by(used)}"


def _on_wsj(system: str) -> list[TableRow]:
    return of_systems(system, languages=("wsj",))


def speed() -> str:
    """Table 7: words a CPU second by length of the sentences, medians, and the published tokens a
    second."""
    lengths = SHORT, LONG, "all"
    rows = rows_of(SPEED)
    body = [["parser", "way", *lengths, f"all / {SHORT}"]]
    for system, way in dict.fromkeys((row["system"], row["way"]) for row in rows):
        own = [row for row in rows if (row["system"], row["way"]) == (system, way)]
        found = [
            statistics.median(float(r["words_per_cpu_s"]) for r in own if r["length"] == n)
            for n in lengths
        ]
        body.append(
            [system, way, *(f"{each:,.0f}" for each in found), f"{found[-1] / found[0]:.2f}"]
        )
    there = [f for f in published.read() if f.table == "Li2019-T7"]
    for model in dict.fromkeys(f.model for f in there):
        found = [next(f.mean for f in there if (f.model, f.length) == (model, n)) for n in lengths]
        name = f"published: {model.replace('_', ' ')}"
        body.append(
            [
                name,
                "one at a time",
                *(f"{each:,.0f}" for each in found),
                f"{found[-1] / found[0]:.2f}",
            ]
        )
    return f"{TextTable(body[0], body[1:]).markdown()}\n\nCommit {', '.join(sorted({row['commit'] for row in rows}))}."


LINES = {
    ("no learning", "rules, random ties"): "the rules, ties broken at random",
    (
        "no learning",
        "rules, short arcs",
    ): "the rules, less .05 a skipped word: the baseline `rules only`",
    ("no learning", "short arcs, no rules"): "that preference for short arcs alone",
    ("fixed-lambda, 10", "greedy"): "learnt from up to 10 words, greedy parsing",
    ("fixed-lambda, 10", "q"): "the same, most probable of 100 samples under q",
    ("fixed-lambda, 10", "p"): "the same, most probable under the decoder's p(x, a)",
    (
        "fixed-lambda, 10",
        "rules, short arcs",
    ): "the same, most rule arcs, less .05 for each skipped word",
    ("fixed-lambda, 40", "greedy"): "learnt from up to 40 words, greedy parsing",
    ("no learning", "gold"): "gold trees",
}
"""Lines of the table of long sentences: setting and decoding, and what they are."""


def long_sentences() -> str:
    """DDA / share of rule arcs by length, and words that an arc skips: means over seeds."""
    rows = rows_of(LENGTHS)
    buckets = ("1-10", "11-20", "21-40", ">40", "all")
    body = [["", "seeds", *buckets, "skipped"]]
    for (setting, decoding), text in LINES.items():
        own = [row for row in rows if (row["setting"], row["decoding"]) == (setting, decoding)]
        cells = []
        for bucket in buckets:
            of_length = [row for row in own if row["bucket"] == bucket]
            both = (
                statistics.mean(float(row[name]) for row in of_length)
                for name in ("dda", "rule arcs")
            )
            cells.append("/".join(f"{each:.0f}" for each in both))
        skipped = statistics.mean(float(row["skipped"]) for row in own if row["bucket"] == "all")
        body.append([text, str(len({row["seed"] for row in own})), *cells, f"{skipped:.1f}"])
    return f"{TextTable(body[0], body[1:]).markdown()}\n\nCommit {', '.join(sorted({row['commit'] for row in rows}))}."


def on_dev(*variants: str) -> str:
    """DDA on the dev parts of four languages, up to 15 / up to 40 words, means over seeds that have
    all four."""
    rows = rows_of(DEV)
    languages = list(dict.fromkeys(row["language"] for row in rows))
    body = [["", "seeds", *languages, "mean"]]
    for variant in variants:
        own = [row for row in rows if row["variant"] == variant]
        has = [row["seed"] for row in own]
        own = [row for row in own if has.count(row["seed"]) == len(languages)]
        if not own:
            continue
        cells = [[row for row in own if row["language"] == name] for name in languages]
        body.append([variant, str(len(cells[0])), *map(_both, [*cells, own])])
    return TextTable(body[0], body[1:]).markdown()


def effect(variant: str, of: str = "paper") -> str:
    """What one change does to a preset on the dev parts, in points, over the runs that both have."""
    rows = rows_of(DEV)
    by_run = [
        {(r["seed"], r["language"]): r for r in rows if r["variant"] == name}
        for name in (variant, of)
    ]
    shared = [run for run in by_run[0] if run in by_run[1]]
    changes = [
        [float(by_run[0][run][name]) - float(by_run[1][run][name]) for run in shared]
        for name in ("dda15", "dda40")
    ]
    return "/".join(f"{statistics.mean(each):+.1f}" for each in changes) if shared else "–"


def _both(rows: Sequence[dict[str, str]]) -> str:
    means = (statistics.mean(float(row[name]) for row in rows) for name in ("dda15", "dda40"))
    return "/".join(f"{each:.1f}" for each in means)


def mean(
    system: str, languages: Sequence[str] = LANGUAGES, lengths: Sequence[str] = (SHORT, LONG)
) -> str:
    """The average of a system, up to 15 / up to 40 words."""
    own = of_systems(system, languages=languages)
    own = [row for row in own if row.seed in _complete(own, languages)]
    both = [tables.figure(own, AVERAGE, length, languages) for length in lengths]
    return "/".join(f"{each.mean:.1f}" for each in both if each) or "–"


def printed(model: str, dataset: str, lengths: Sequence[str]) -> str:
    """The published means of a model on a data set."""
    there = {f.length: f.mean for f in published.read() if (f.model, f.dataset) == (model, dataset)}
    return "/".join(f"{there[length]:.1f}" for length in lengths)


def largest_lambda(*systems: str) -> str:
    """The largest norm of lambda in all runs of some systems."""
    found = [
        float(line["lambda"])
        for line in rows_of(ROWS)
        if line["system"] in systems and line["lambda"]
    ]
    return f"{max(found, default=0):,.1f}"


def difference(
    system: str,
    other: str,
    languages: Sequence[str] = LANGUAGES,
    lengths: Sequence[str] = (SHORT, LONG),
) -> str:
    """How far the average of one system lies above that of another, in points, over the seeds that
    both have."""
    both = [of_systems(name, languages=languages) for name in (system, other)]
    seeds = _complete(both[0], languages) & _complete(both[1], languages)
    if not seeds:
        return "–"
    means = [
        [statistics.mean(row.dda[n] for row in own if row.seed in seeds) for n in lengths]
        for own in both
    ]
    return "/".join(f"{a - b:+.1f}" for a, b in zip(*means))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="*", type=Path, help="folders of vdgi experiment --out")
    parser.add_argument(
        "--print", action="store_true", help="only print the rows beside the paper's tables"
    )
    arguments = parser.parse_args()
    if arguments.print:
        print(tables.markdown(tables.published_tables(load(), "paper")))
        print(*commands_of_missing(load()), speed(), sep="\n\n")
        return
    add(arguments.folders)


if __name__ == "__main__":
    main()
