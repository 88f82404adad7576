"""The rows and tables of docs/results/replication.md.

    python experiments/replication.py DIR...    adds the rows of folders of `vdgi experiment` to replication.csv
    python experiments/figures.py               writes the tables into the page

One line of docs/results/replication.csv is the DDA of one run at one length, in per cent; `lambda`
is the largest norm of lambda in the run's log, `lambda_end` the last one. `kl`, KL(q | q_omega),
and `ess`, effective samples of gamma, are means of the last 50 updates. A run that is there already,
of the same system, language, seed and protocol, is replaced; rows of earlier versions have no
`lambda_end`, `kl` and `ess`.
"""

from __future__ import annotations

import argparse
import csv
import statistics
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from result_rows import RESULTS, rows_of

from dynet_vdgi.evaluation import published
from dynet_vdgi.experiments import tables
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


def add(folders: Sequence[Path]) -> None:
    """Writes the rows of these folders beside those that are there."""
    lines = rows_of(ROWS) if ROWS.exists() else []
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
    with open(ROWS, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted(lines, key=lambda line: [line.get(name, "") for name in COLUMNS]))


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
    these names."""
    lines = [["system", "gold trees", "seeds", "average", "±", *LANGUAGES]]
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
        lines.append(
            [
                f"published: {published.same_model(model)}",
                uses,
                "5" if uses != "–" else "–",
                cells[0],
                "",
                *cells[1:],
            ]
        )
    used = []
    for system in systems:
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
        some = f"{len({row.seed for row in own})} ({len({row.language for row in own})} languages)"
        seeds = "–" if system in tables.BASELINES else str(len(complete) or some)
        lines.append([system, _uses(own), seeds, cells[0], spread, *cells[1:]])
    return f"{TextTable(lines[0], lines[1:]).markdown()}\n\n{made_by(used)}"


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
    *(("3", "RL-PC" if name == "WeaklySupervised" else name, name) for name in _SCORES),
    *(("3", "", f"{name}-dev") for name in _SCORES),
    *(("3", "", f"{name}-plain") for name in _SCORES),
    *(
        ("4", name, name)
        for name in ("UniversalRules", "L-UniversalRules", "WeaklySupervised", "L-WeaklySupervised")
    ),
    ("4", "", "rules-pretraining"),
    ("4", "", "fixed-lambda"),
    ("4", "", "fixed-lambda-weak"),
    ("", "", "rules only"),
    ("5", "Convex-MST", "Convex-MST"),
    ("5", "", "Convex-MST-wsj-strict"),
    *(("5", name, name) for name in ("HDP-DEP", "RF", "RF+H1+H2")),
    ("5", "", "LC-DMV"),
)
"""The paper's table, its model ("" if it has none), and our system ("" if there is none here)."""


def english() -> str:
    """Tables 1 to 5: as published on section 23, and ours on the end of the sample."""
    lengths = "<=10", "all"
    in_print = published.read()
    body = [
        [
            "table",
            "system",
            *(f"published, {each}" for each in lengths),
            *(f"here, {each}" for each in lengths),
        ]
    ]
    used = []
    for table, model, system in ENGLISH:
        there = {f.length: f for f in in_print if (f.table, f.model) == (f"Li2019-T{table}", model)}
        own = of_systems(system, languages=("wsj",))
        used += [row for row in own if row not in used]
        cells = [
            tables.Cell(f.mean, f.best, f.std) if (f := there.get(length)) else None
            for length in lengths
        ]
        cells += [tables.figure(own, "wsj", length, ()) for length in lengths]
        mark = " †" if any(row.gold_trees for row in own) else ""
        body.append(
            [table or "–", (system or model) + mark, *(tables.text(cell) for cell in cells)]
        )
    return f"{TextTable(body[0], body[1:]).markdown()}\n\n{made_by(used)}"


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
    return "/".join("–" if each is None else f"{each.mean:.1f}" for each in both)


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
    parser.add_argument("folders", nargs="+", type=Path, help="folders of vdgi experiment --out")
    add(parser.parse_args().folders)


if __name__ == "__main__":
    main()
