"""Tables of experiments, on made-up rows whose figures were worked out by hand; published figures."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from wording import Wording

from dynet_vdgi.errors import UsageError
from dynet_vdgi.evaluation import published as files
from dynet_vdgi.experiments import missing_rows, tables
from dynet_vdgi.experiments.tables import BASELINES, TableRow
from dynet_vdgi.system.text_tables import TextTable

LENGTHS = ("<=15", "<=40", "all")


def run(system: str, language: str, seed: int, *dda: float, **more: Any) -> TableRow:
    figures = dict(zip(LENGTHS, dda))
    row = {
        "system": system,
        "language": language,
        "seed": seed,
        "dda": figures,
        "commit": "c1",
    }
    return TableRow(
        **{"cpu_s": 10.5, "words_per_cpu_s": 1000.0 * seed, "protocol": "standard"} | row | more
    )


FIGURES = {
    ("UniversalRules", "fr"): [(50, 50, 50), (60, 50, 50), (70, 70, 70)],
    ("UniversalRules", "eu"): [(40, 20, 20), (50, 20, 20), (30, 20, 20)],
    ("weak", "fr"): [(90, 60, 60)],
}
TREES = "x.conllu: expectations of the rules counted in its trees; dev: choice of the model"
RUNS = [
    run(system, language, seed, *dda, gold_trees=TREES if system == "weak" else "")
    for (system, language), runs in FIGURES.items()
    for seed, dda in enumerate(runs, 1)
]
BASE = [
    run(name, language, 0, 10 * k, 10 * k, 10 * k, cpu_s=0, words_per_cpu_s=0, commit="c0")
    for language in ("fr", "eu")
    for k, name in enumerate(BASELINES, 1)
]
ROWS = [*BASE, *RUNS]


def folder_of(folder: Path, rows: Sequence[TableRow] = ROWS) -> Path:
    """An experiment's folder as if it had been carried out."""
    for k, row in enumerate(rows):
        path = folder / row.language / row.system.replace(" ", "-") / f"{k}" / tables.RESULT
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps({"rows": [msgspec.to_builtins(row)]}), encoding="utf-8")
    return folder


def shown(found: Sequence[TextTable]) -> list[dict[str, list[str]]]:
    """The cells of each table by the labels of its lines; `` is the heading."""
    return [
        {line[0].replace("&nbsp;", ""): [*line[1:]] for line in (table.heading, *table.rows)}
        for table in found
    ]


def test_the_table_of_the_paper_names_the_command_of_each_row_without_a_run(
    tmp_path: Path, vdgi
) -> None:
    out = vdgi.good("experiment", "table", folder_of(tmp_path / "x"), "--like", "paper").out
    wsj, ud, words, speed = out.split("\n\n")[-4:]
    assert wsj.startswith("No run here: Li2019-T1 Random, Left_branching, Right_branching, Uns")
    assert (
        "; Li2019-T3 RL-BL, RL-SN, RL-C, RL-PC. They are made by vdgi experiment paper-wsj " in wsj
    )
    assert wsj.split(" --only ")[1].split()[:3] == [
        "Unsupervised",
        "L-Unsupervised",
        "No_Pretraining",
    ]
    assert ud == (  # of UniversalRules there are runs
        "No run here: Li2019-T6 RF+H1+H2, LC-DMV, Conv-MST. They are made by vdgi experiment "
        "paper-ud --data DIR --out DIR --only RF+H1+H2 LC-DMV Convex-MST"
    )
    assert words.endswith(
        "vdgi experiment paper-ud-words --data DIR --out DIR --only L-WeaklySupervised-dev"
    )
    assert speed.startswith("Li2019-T7, speed by length, is made by no plan: python experiments/")
    every = [run(name, "wsj", 1, 1) for name in wsj.split(" --only ")[1].split()]
    every += [run(name, "wsj", 0, 1) for name in BASELINES]
    every += [
        run(name, "fr", 1, 1)
        for name in ("RF+H1+H2", "LC-DMV", "Convex-MST", "L-WeaklySupervised-dev")
    ]
    assert len(missing_rows.commands_of_missing([*every, *RUNS])) == 1  # only that of speed


def notes(found: Sequence[TextTable]) -> list[str]:
    return [note for table in found for note in table.notes]


def test_baselines_of_two_experiments_count_once_if_they_are_equal(tmp_path, wording: Wording):
    parser = [run("paper", "xx", 1, 60.0)]
    other = [run("best", "xx", 1, 70.0)]
    paths = [
        folder_of(tmp_path / "one", [*BASE, *parser]),
        folder_of(tmp_path / "two", [msgspec.structs.replace(BASE[0], commit="c9"), *other]),
    ]
    rows = tables.read(paths)
    assert sorted(rows, key=str) == sorted([*BASE, *parser, *other], key=str)

    dda = {length: share + 1 for length, share in BASE[0].dda.items()}
    changed = msgspec.structs.replace(BASE[0], dda=dda)
    for name, again in {"other-figures": [changed], "same-run": parser}.items():
        folder = folder_of(tmp_path / name, again)
        with wording.raises(UsageError):
            tables.read([paths[0], folder])


def test_markdown(tmp_path, vdgi, wording: Wording):
    out = vdgi.good("experiment", "table", folder_of(tmp_path / "x")).out
    wording.check(out)
    first, trees, seeds, commit = out.rstrip().split("\n\n")[-4:]
    wording.check(first)
    wording.check(trees)
    wording.check(seeds)
    assert commit == "Commit c1; 74 CPU seconds."


def test_one_language_has_one_table_and_each_protocol_its_own(wording: Wording):
    released = [run("weak", "fr", 1, 1, 2, 3, protocol="as_released")]
    found = tables.overview([row for row in ROWS if row.language == "fr"] + released)
    wording.check([table.title for table in found])
    assert found[0].heading == ["", "fr <=15", "fr <=40", "fr all"]
    assert shown(found)[1] == {"": ["fr <=15", "fr <=40", "fr all"], "weak": ["1.0", "2.0", "3.0"]}
    assert "Over 1 seed." in found[1].notes
    assert tables.overview(BASE) == []  # nothing was run
    many = tables.markdown(tables.overview([run("best", f"l{k}", 1, k) for k in range(9)]))
    assert "|  | best |\n| --- | ---: |\n| l0 | 0.0 |\n" in many  # many languages are lines
    assert "| average | 4.0 |" in many


def test_figures_that_were_not_made_alike(wording: Wording):
    other = [run("best", "fr", 1, 1, 2, 3, commit="c9")]
    found = tables.overview([*ROWS, *other])[-1].notes
    assert "Commit c1, c9; 84 CPU seconds." in found
    assert not [note for note in found if note.startswith("Warning")]
    of_two = [*ROWS, run("weak", "fr", 2, 1, 2, 3, commit="c9", test="b/c.conllu")]
    wording.check(
        [note for note in tables.overview(of_two)[-1].notes if note.startswith("Warning")]
    )


def test_the_published_figures_are_sound():
    figures = files.read()
    assert len(figures) > 250
    assert {f"Li2019-T{number}" for number in range(1, 8)} <= {figure.table for figure in figures}
    assert set(files.DATASETS.values()) <= {figure.dataset for figure in figures}
    assert len({figure[:5] for figure in figures}) == len(figures)
    for figure in figures:
        assert all([*figure[:5], figure.source])
        assert re.fullmatch(r"all|<=[1-9][0-9]*", figure.length)
        assert figure.metric in ("DDA", "UDA", "tokens_per_second")
        most = figure.mean if figure.best is None else figure.best
        assert (
            0 <= figure.mean <= most <= (math.inf if figure.metric == "tokens_per_second" else 100)
        )
    found = {(f.table, f.model, f.dataset, f.length): f for f in figures}
    one = found["Li2019-T6", "UnivRules", "UD1.4-French", "<=15"]
    assert (one.mean, one.best, one.std) == (59.9, 61.6, None)
    for length in ("<=15", "<=40"):  # the paper's averages are those of its columns
        row = {
            f.dataset: f
            for k, f in found.items()
            if (k[0], k[1], k[3]) == ("Li2019-T6", "UnivRules", length)
        }
        average = row.pop("UD1.4-Average")
        assert average.mean == pytest.approx(sum(f.mean for f in row.values()) / 8, abs=0.06)
        assert average.best == pytest.approx(sum(f.best or 0 for f in row.values()) / 8, abs=0.06)


def test_beside_the_paper(wording: Wording):
    """Languages by the plan's names; systems below the model of their name, others at the end."""
    found = tables.published_tables([*ROWS, run("best", "xx", 1, 1, 2, 3)], "paper")
    wording.check([table.title for table in found])  # of T7, the table of speed, no model was run
    table = shown(found)[0]
    assert table[""] == ["UD1.4-Basque", "UD1.4-French"]
    assert table["LC-DMV"][1] == "52.1"
    assert table["UnivRules"][1] == "59.9 (61.6)"
    assert table["UniversalRules (here)"] == ["40.0 (50.0) ± 10.0", "60.0 (70.0) ± 10.0"]
    assert table["weak (here) †"] == ["–", "90.0 n=1"]
    assert table["rules only (here)"] == ["40.0", "40.0"]
    assert list(table).index("UniversalRules (here)") == list(table).index("UnivRules") + 1
    assert not [label for label in table if "L-WeaklySup (here)" in label or "best" in label]
    (found,) = tables.published_tables([*BASE, *RUNS], "Li2019-T7")
    wording.check(found.title)
    (speed,) = shown([found])
    assert speed[""] == ["UD1.4-French"]
    assert speed["UniversalRules (here)"] == ["2000 (3000) ± 1000"]
    assert not any(name in BASELINES for name in speed)
    for without in (BASE, [row for row in ROWS if row.language == "eu"]):  # no speed, and no French
        with wording.raises(UsageError):
            tables.published_tables(without, "Li2019-T7")


def test_rows_of_systems_that_learn_nothing_name_their_rules():
    row = run("rules only", "fr", 0, 1, 2, 3, rules="ud")
    for found in (tables.overview([row, *RUNS]), tables.published_tables([row, *RUNS], "paper")):
        labels = [line[0] for table in found for line in table.rows]
        assert [label.replace("&nbsp;", "")[:14] for label in labels if "rules" in label] == [
            "rules only: ud"
        ] * len(found)


def test_other_data_than_the_papers_is_named(wording: Wording):
    test = "UD_French-GSD/fr_gsd-ud-test.conllu"
    rows = [
        run("UniversalRules", "fr", 1, 1, 2, 3, test=test, is_ud2=True),
        run("best", "fr", 1, 1, protocol="as_released"),
    ]
    found = notes(
        tables.published_tables(
            [*rows, run("best", "eu", 1, 1, test="ud14/eu-ud-test.conllu")], "Li2019-T6"
        )
    )
    wording.check(found)

    assert any(note.startswith("Protocol as_released (best): punctuation kept") for note in found)
