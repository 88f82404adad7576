"""Tables of experiments, on made-up results whose figures were worked out by hand; published figures."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from shell import Vdgi, last_line

from dynet_vdgi.evaluation import published
from dynet_vdgi.experiments import plan, provenance
from dynet_vdgi.experiments.tables import formats, grid, sheets
from dynet_vdgi.experiments.tables.sheets import Gap, Measured

PLAN: dict[str, Any] = {
    "seeds": [1, 2, 3],
    "treebank": [
        {"name": "fr", "train": ["a"], "test": ["b"], "published": "UD1.4-French"},
        {"name": "eu", "train": ["a"], "test": ["b"], "published": "UD1.4-Basque"},
    ],
    "system": [
        {"name": "ours", "published": "UnivRules"},
        {"name": "weak_50", "treebanks": ["fr", "eu"]},
    ],
}
"""Test sets of two sentences, of 10 and of 20 words: up to 15 words there is one of them."""

RIGHT = {
    ("fr", "ours"): [(5, 10), (6, 9), (7, 14)],  # <=15: 50, 60, 70; all: 50, 50, 70
    ("eu", "ours"): [(4, 2), (5, 1), (3, 3)],  # <=15: 40, 50, 30; all: 20, 20, 20
    ("fr", "weak_50"): [(9, 9)],
}
USED = {"weak_50": ["x.conllu: expectations of the rules counted in its trees", "dev: choice of the model"]}
BASELINES = {"left branching": [1, 2], "right branching": [2, 4], "random": [1.5, 3], "rules only": [5, 10]}


def experiment(
    folder: Path,
    content: dict[str, Any] | None = None,
    right: dict[tuple[str, str], list[tuple[int, int]]] | None = None,
    protocols: dict[str, str] | None = None,
) -> Path:
    """An experiment's folder as if it had been carried out; `protocols` by system."""
    right = RIGHT if right is None else right
    folder.mkdir()
    described = plan.from_dict(content or PLAN)
    named = {system.name: (protocols or {}).get(system.name, "standard") for system in described.systems}
    grid.write_plan(folder, described, {treebank.name: named for treebank in described.treebanks})
    for (treebank, system), runs in right.items():
        for seed, counts in zip(described.seeds, runs):
            path = folder / treebank / system / str(seed)
            path.mkdir(parents=True)
            result = {
                "protocol": named[system],
                "policy": "",
                "gold_trees": [*USED.get(system, []), "dev: progress figures only"],
                "parts": {"settings": "a", "code": system, "seed": str(seed)},
                "cpu_s": 10.5,
                "words_per_cpu_s": 1000 * seed,
                "words": [10, 20],
                "right": counts,
            }
            (path / "result.json").write_text(json.dumps(result), encoding="utf-8")
    for treebank in {treebank for treebank, _ in right}:
        scored = {name: {"words": [10, 20], "right": BASELINES} for name in set(named.values())}
        (folder / treebank / "baselines.json").write_text(json.dumps({"protocols": scored}), encoding="utf-8")
    return folder


def sheets_of(*folders: Path) -> list[sheets.Sheet]:
    return sheets.overview(grid.load(folders))


# ------------------------------------------------------------------------------------------- figures
def test_mean_best_and_deviation(tmp_path: Path) -> None:
    upto15, upto40, every = sheets_of(experiment(tmp_path / "x"))
    assert [sheet.columns for sheet in (upto15, every)] == [
        (("fr", "<=15"), ("eu", "<=15"), ("average", "<=15")),
        (("fr", "all"), ("eu", "all"), ("average", "all")),
    ]
    assert [row.label for row in upto15.rows] == [*BASELINES, "ours", "weak_50"]
    ours, weak = upto15.rows[4:]
    assert ours.entries == (
        Measured(60, 70, 10, 3, 3),
        Measured(40, 50, 10, 3, 3),
        Measured(50, 60, 5, 3, 3),  # per seed 45, 55, 50; best: mean of 70 and 50
    )
    assert weak.entries == (
        Measured(90, None, None, 1, 3),
        Gap("not run"),
        Gap("average only over all treebanks"),
    )
    assert (ours.mark, weak.mark) == (False, True)
    assert upto40.rows[4].entries == every.rows[4].entries
    fr, eu, average = every.rows[4].entries
    assert isinstance(fr, Measured)
    assert (fr.mean, fr.best, fr.std) == (pytest.approx(170 / 3), 70, pytest.approx(11.547, abs=1e-3))
    assert eu == Measured(20, 20, 0, 3, 3)
    assert isinstance(average, Measured)
    assert (average.mean, average.best) == (pytest.approx(230 / 6), 45)
    assert upto15.rows[3].entries == (Measured(50), Measured(50), Measured(50))
    assert every.rows[2].entries == (Measured(15), Measured(15), Measured(15))


def test_an_average_over_other_seeds_has_no_deviation(tmp_path: Path) -> None:
    right = {**RIGHT, ("eu", "ours"): [(4, 2), (5, 1)]}
    average = sheets_of(experiment(tmp_path / "x", right=right))[0].rows[4].entries[2]
    assert average == Measured((60 + 45) / 2, (70 + 50) / 2, None, 2, 3)


def test_markdown(tmp_path: Path, vdgi: Vdgi) -> None:
    out = vdgi.good("table", experiment(tmp_path / "x")).out
    assert out.startswith(
        "DDA, protocol standard, length <=15\n\n"
        "|  | fr | eu | average |\n"
        "| --- | ---: | ---: | ---: |\n"
        "| left branching | 10.0 | 10.0 | 10.0 |\n"
        "| right branching | 20.0 | 20.0 | 20.0 |\n"
        "| random | 15.0 | 15.0 | 15.0 |\n"
        "| rules only | 50.0 | 50.0 | 50.0 |\n"
        "| ours | 60.0 (70.0) ± 10.0 | 40.0 (50.0) ± 10.0 | 50.0 (60.0) ± 5.0 |\n"
        "| weak_50 † | 90.0 n=1 | – | – |\n\n"
        "Test sentences/words: fr <=15 1/10, eu <=15 1/10.\n\n"
        "DDA, protocol standard, length <=40\n"
    )
    used = "x.conllu: expectations of the rules counted in its trees; dev: choice of the model"
    notes = out.rstrip().split("\n\n")[-7:]
    assert notes[0].startswith("Protocol standard: UPOS=PUNCT removed, children re-attached; all trees; ")
    assert notes[1:] == [
        "Test sentences/words: fr all 2/30, eu all 2/30.",
        f"† weak_50 used gold trees: {used}.",
        "Mean (best) ± standard deviation over 3 seeds.",
        "n=: over this many seeds only; the others are not finished.",
        "–: not run: eu (weak_50).",
        "–: average only over all treebanks: average (weak_50).",
    ]


def test_one_treebank_has_one_table(tmp_path: Path) -> None:
    content = {**PLAN, "treebank": [{**PLAN["treebank"][0], "lengths": [10]}]}
    content["system"] = [{"name": "ours"}]
    (sheet,) = sheets_of(experiment(tmp_path / "x", content, {("fr", "ours"): RIGHT["fr", "ours"]}))
    assert sheet.columns == (("fr", "<=10"), ("fr", "all"))
    assert "|  | fr <=10 | fr all |" in formats.markdown([sheet])


def test_each_protocol_has_tables(tmp_path: Path) -> None:
    found = sheets_of(experiment(tmp_path / "x", protocols={"weak_50": "as_released"}))
    assert [sheet.name for sheet in found] == ["standard"] * 3 + ["as_released"]
    assert [row.label for row in found[3].rows] == [*BASELINES, "weak_50"]
    assert found[3].notes[0].startswith("Protocol as_released: punctuation kept and scored; projective ")


def test_what_was_not_run_has_no_row_and_no_column(tmp_path: Path) -> None:
    """As after `vdgi experiment --only fr ours`."""
    (sheet,) = sheets_of(experiment(tmp_path / "x", right={("fr", "ours"): RIGHT["fr", "ours"]}))
    assert [row.label for row in sheet.rows] == [*BASELINES, "ours"]
    assert [name for name, _ in sheet.columns] == ["fr"] * 3
    found = sheets_of(experiment(tmp_path / "y", right={k: v for k, v in RIGHT.items() if k[1] == "ours"}))
    assert {name for name, _ in found[0].columns} == {"fr", "eu", "average"}
    assert not any("not run" in note for sheet in found for note in sheet.notes)


def test_csv(tmp_path: Path, vdgi: Vdgi) -> None:
    rows = list(
        csv.DictReader(io.StringIO(vdgi.good("table", experiment(tmp_path / "x"), "--format", "csv").out))
    )
    assert list(rows[0]) == ["table", "system", "treebank", "length", "mean", "best", "std", "n", "source"]
    assert len(rows) == 3 * 6 * 3
    by_place = {(row["system"], row["treebank"], row["length"]): row for row in rows}
    ours = by_place["ours", "fr", "all"]
    assert [ours[name] for name in ("mean", "best", "std", "n", "source")] == [
        "56.667",
        "70.000",
        "11.547",
        "3",
        "run",
    ]
    gap = by_place["weak_50", "eu", "all"]
    assert [gap[name] for name in ("mean", "n", "source")] == ["", "0", "gap: not run"]
    assert by_place["random", "fr", "all"]["source"] == "baseline"


def check_latex(text: str) -> None:
    """Nothing makes LaTeX stop: braces and environments match, every other special character is escaped."""
    for table in text.split("\\begin{table}")[1:]:
        (columns,) = re.findall(r"\\begin\{tabular\}\{(l r*|lr*)\}", table)
        body = table.split("\\hline\n", 1)[1].split("\\end{tabular}")[0]
        for line in body.splitlines():
            if line != "\\hline":
                assert line.endswith(" \\\\")
                assert len(re.findall(r"(?<!\\)&", line)) == len(columns) - 1
        assert table.count("\\end{tabular}") == table.count("\\end{table}") == 1
    plain = re.sub(r"\\[\\{}$&#%_]", "", text)
    assert plain.count("{") == plain.count("}")
    assert plain.count("$") % 2 == 0
    assert not set("#%_~") & set(plain)
    assert "^" not in plain.replace("^\\dagger", "")


def test_latex(tmp_path: Path, vdgi: Vdgi) -> None:
    folder = experiment(tmp_path / "x")
    out = vdgi.good("table", folder, "--format", "latex").out
    check_latex(out)
    assert "ours & 60.0 (70.0) $\\pm$ 10.0 & 40.0 (50.0) $\\pm$ 10.0 & 50.0 (60.0) $\\pm$ 5.0 \\\\\n" in out
    assert "weak\\_50 $^\\dagger$ & 90.0 n=1 & -- & -- \\\\\n" in out
    assert "length $\\le$15" in out
    check_latex(vdgi.good("table", folder, "--format", "latex", "--like", "paper", "--bootstrap").out)


ODD_CHARACTERS = [*"\\{}$&#%_~^<>|\"'[]", "±", "–", "†", "≤", "\n"]


@pytest.mark.parametrize("character", ODD_CHARACTERS)
def test_every_character_is_fit_for_latex(character: str) -> None:
    sheet = sheets.Sheet(
        "x", f"a{character}b", ((f"c{character}d", "all"),), (sheets.SheetRow(character, (Measured(1),), ""),)
    )
    check_latex(formats.latex([sheet]))


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="there is no LaTeX here")
def test_latex_takes_the_tables(tmp_path: Path, vdgi: Vdgi) -> None:
    row = sheets.SheetRow("".join(ODD_CHARACTERS), (Measured(1),), "")
    odd = formats.latex([sheets.Sheet("x", "a".join(ODD_CHARACTERS), (("c", "all"),), (row,))])
    tables = vdgi.good("table", experiment(tmp_path / "x"), "--format", "latex", "--like", "paper").out
    source = f"\\documentclass{{article}}\n\\begin{{document}}\n{tables}\n{odd}\n\\end{{document}}\n"
    (tmp_path / "tables.tex").write_text(source, encoding="utf-8")
    command = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "tables.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout[-2000:]


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1"])
def test_no_cell_of_a_table_of_figures_is_a_formula(name: str) -> None:
    row = sheets.SheetRow(name, (Measured(-1),), name)
    text = formats.long_csv([sheets.Sheet("x", "", ((name, "all"),), (row,))])
    _, cells = csv.reader(io.StringIO(text))
    assert [cell for cell in cells if cell[:1] in ("=", "+", "@", "\t")] == []
    assert [cell for cell in cells if cell.startswith("-")] == ["-1.000"]


# ------------------------------------------------------------------------------------------- gaps and folders
def test_reasons_of_gaps(tmp_path: Path) -> None:
    content = {
        **PLAN,
        "treebank": [*PLAN["treebank"], {"name": "wsj", "missing": "licence of LDC"}],  # type: ignore[misc]
        "system": [
            *PLAN["system"],
            {"name": "lex", "missing": "no vectors"},
            {"name": "part", "treebanks": ["fr"]},
        ],  # type: ignore[misc]
    }
    folder = experiment(tmp_path / "x", content)
    (folder / "fr" / "part" / "1").mkdir(parents=True)
    rows = {row.label: row.entries for row in sheets_of(folder)[0].rows}
    assert rows["ours"][2] == Gap("data not available: licence of LDC")
    assert rows["rules only"][2] == Gap("data not available: licence of LDC")
    assert rows["lex"][:3] == (Gap("not run: no vectors"), Gap("not run: no vectors"), rows["ours"][2])
    assert rows["part"][:2] == (Gap("failed or unfinished"), Gap("not in the plan"))


def test_a_plan_whose_tables_are_empty(tmp_path: Path, vdgi: Vdgi) -> None:
    out = vdgi.good("table", experiment(tmp_path / "x", right={})).out
    assert out.startswith("DDA, protocol standard, length <=15\n")
    assert "–: not run: fr, eu (all rows)." in out


def test_two_folders_make_one_table(tmp_path: Path, vdgi: Vdgi) -> None:
    more = {**PLAN, "seeds": [4], "system": [PLAN["system"][0], {"name": "third"}]}
    both = [
        experiment(tmp_path / "x"),
        experiment(tmp_path / "y", more, {("fr", "ours"): [(8, 8)], ("fr", "third"): [(1, 1)]}),
    ]
    rows = {row.label: row.entries for row in sheets_of(*both)[0].rows}
    assert rows["ours"][0] == Measured(65, 80, pytest.approx(12.909944), 4, 4)  # type: ignore[arg-type]
    assert rows["third"][0] == Measured(10, None, None, 1, 1)
    status, out, err = vdgi("table", *both, both[0])
    assert (status, out) == (2, "")
    assert err.endswith("are of the same run: name one of the two folders\n")
    for changed, is_fine in (({"train": ["other.conllu"]}, True), ({"test": ["other.conllu"]}, False)):
        treebanks = [{**PLAN["treebank"][0], **changed}, *PLAN["treebank"][1:]]
        plan = {**more, "treebank": treebanks, "system": [{"name": "third"}]}
        differs = experiment(tmp_path / f"differs {is_fine}", plan, {("fr", "third"): [(1, 1)]})
        status, out, err = vdgi("table", both[0], differs)
        assert (status, "Other training text or settings of fr: third." in out) == (
            0 if is_fine else 2,
            is_fine,
        )
    assert err == f"{differs}: its treebank 'fr' is not that of the folders before\n"
    other = experiment(tmp_path / "z", {**PLAN, "system": [{"name": "ours", "set": ["train.lr=1"]}]}, {})
    status, out, err = vdgi("table", both[0], other)
    assert (status, out) == (2, "")
    assert err == f"{other}: its system 'ours' is not that of the folders before\n"


def test_figures_that_were_not_made_alike(tmp_path: Path) -> None:
    folder = experiment(tmp_path / "x")
    assert "versions of the program" not in str(sheets_of(folder)[-1].notes)
    for seed, key, value in ((1, "parts", {"settings": "b"}), (2, "words", [10, 19])):
        path = folder / "fr" / "ours" / str(seed) / "result.json"
        content = json.loads(path.read_text(encoding="utf-8"))
        path.write_text(json.dumps({**content, key: value}), encoding="utf-8")
    notes = sheets_of(folder)[-1].notes
    assert "Warning: seeds of ours on fr differ in settings, data or rules." in notes
    assert "Warning: runs on fr were scored on different test sentences." in notes
    assert "Warning: runs of 2 versions of the program." in notes


@pytest.mark.parametrize(
    ("path", "content", "status", "message"),
    [
        ("plan.json", "{", 3, "x/plan.json: damaged: not an object of JSON"),
        ("plan.json", '{"seeds": 1}', 3, "x/plan.json: damaged: a plan needs seeds"),
        (
            "fr/ours/1/result.json",
            "{}",
            3,
            "x/fr/ours/1/result.json: not a result of vdgi experiment (damaged? ",
        ),
        (
            "fr/baselines.json",
            "[]",
            3,
            "x/fr/baselines.json: not the baselines of vdgi experiment (damaged? ",
        ),
    ],
)
def test_damaged_files(folder: Path, vdgi: Vdgi, path: str, content: str, status: int, message: str) -> None:
    experiment(folder / "x")
    (folder / "x" / path).write_text(content, encoding="utf-8")
    result = vdgi("table", "x")
    assert (result.status, result.out) == (status, "")
    assert result.err.startswith(message)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nix"], "nix: no experiment (no plan.json in it)"),
        (["x", "--like", "papper"], "--like papper: no such table; did you mean 'paper'?"),
        (
            ["x", "--like", "Li2019-T1"],
            "no treebank of the plan is a data set of these tables ('published' in ",
        ),
        (["x", "--bootstrap", "--against", "our"], "--against our: no such system; did you mean 'ours'?"),
        (["x", "--bootstrap", "--draws", "0"], "--draws 0: must be at least 1"),
    ],
)
def test_impossible_wishes(folder: Path, vdgi: Vdgi, arguments: Sequence[str], message: str) -> None:
    experiment(folder / "x")
    status, out, err = vdgi("table", *arguments)
    assert (status, out) == (2, "")
    assert last_line(err).startswith(message)


# ------------------------------------------------------------------------------------------- bootstrap
def test_differences_to_a_baseline_and_to_a_system(tmp_path: Path, vdgi: Vdgi) -> None:
    folder = experiment(tmp_path / "x")
    rows = list(
        csv.DictReader(
            io.StringIO(vdgi.good("table", folder, "--bootstrap", "--format", "csv", "--draws", "500").out)
        )
    )
    found = {(row["table"], row["system"], row["treebank"], row["length"]): row for row in rows}
    # <=15: one sentence, so that all draws are the same; 60 - 50
    only = found["standard minus rules only", "ours", "fr", "<=15"]
    assert (only["mean"], only["source"]) == ("10.000", "minus rules only; 95 % interval 10.000 to 10.000")
    every = found["standard minus rules only", "ours", "fr", "all"]
    assert every["mean"] == "6.667"  # 56.667 - 50
    # Draws hold the short sentence (6 right of 10, against 5), the long one (11 of 20, against 10), or both.
    assert every["source"].endswith(" 5.000 to 10.000")
    assert found["standard minus rules only", "weak_50", "eu", "all"]["source"] == "gap: not run"
    out = vdgi.good("table", folder, "--bootstrap", "--against", "ours", "--draws", "50").out
    assert "DDA, protocol standard, length <=15: minus ours\n" in out
    assert "| weak_50 | +30.0 [+30.0, +30.0] | – |" in out


# ------------------------------------------------------------------------------------------- published
def test_the_published_figures_are_sound() -> None:
    figures = published.read()
    assert len(figures) > 250
    assert {f"Li2019-T{number}" for number in range(1, 8)} <= {figure.table for figure in figures}
    one = next(
        f for f in figures if (f.table, f.model, f.dataset) == ("Li2019-T6", "UnivRules", "UD1.4-French")
    )
    assert (one.length, one.mean, one.best, one.std) == ("<=15", 59.9, 61.6, None)
    # The paper's averages are those of its columns.
    for length in ("<=15", "<=40"):
        row = {
            f.dataset: f
            for f in figures
            if (f.table, f.model, f.length) == ("Li2019-T6", "UnivRules", length)
        }
        average = row.pop("UD1.4-Average")
        assert average.mean == pytest.approx(sum(f.mean for f in row.values()) / 8, abs=0.06)
        assert average.best == pytest.approx(sum(f.best or 0 for f in row.values()) / 8, abs=0.06)


HEADER = ",".join(published.HEADER)
GOOD = "T,m,d,<=15,DDA,50,51,,s"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "1: expected the columns table,model,dataset,"),
        (f"{HEADER}\n{GOOD},\n", "2: expected 9 columns, found 10"),
        (f"{HEADER}\n{GOOD}\n{GOOD}\n", "3: there is a figure of T, m, d, <=15, DDA already"),
        (f"{HEADER}\nT,m,d,<=15,DDA,,51,,s\n", "2: column mean is empty"),
        (f"{HEADER}\nT,,d,<=15,DDA,50,51,,s\n", "2: column model is empty"),
        (f"{HEADER}\nT,m,d,<=15,DDA,5O,51,,s\n", "2: column mean: '5O' is not a number that is 0 or more"),
        (f"{HEADER}\nT,m,d,<=15,DDA,nan,51,,s\n", "2: column mean: 'nan' is not a number that is 0 or more"),
        (f"{HEADER}\nT,m,d,15,DDA,50,51,,s\n", "2: length '15' is neither 'all' nor like '<=15'"),
        (f"{HEADER}\nT,m,d,all,UAS,50,51,,s\n", "2: metric 'UAS' is none of DDA, UDA, tokens_per_second"),
        (f"{HEADER}\nT,m,d,all,DDA,50,150,,s\n", "2: per cent beyond 100"),
        (f"{HEADER}\nT,m,d,all,DDA,50,49,,s\n", "2: the best, 49.0, is below the mean, 50.0"),
    ],
)
def test_faults_in_published_figures(folder: Path, text: str, message: str) -> None:
    from dynet_vdgi.errors import DataError

    Path("p.csv").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=re.escape(f"p.csv:{message}")):
        published.read(Path("p.csv"))


def test_beside_the_paper(tmp_path: Path, vdgi: Vdgi) -> None:
    out = vdgi.good("table", experiment(tmp_path / "x"), "--like", "paper").out
    lines = out.splitlines()
    assert lines[0] == "Li2019-T6 beside this experiment: DDA, length <=15"
    head = [cell.strip() for cell in lines[2].split("|")[2:-1]]
    assert head[0] == "UD1.4-Basque"
    assert head[-1] == "UD1.4-Average"
    french = head.index("UD1.4-French")
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[4:] if line]
    rows = {row[0]: row[1:] for row in cells[: [len(row) for row in cells].index(0)]}
    assert rows["LC-DMV"][french] == "52.1"
    assert rows["UnivRules"][french] == "59.9 (61.6)"
    assert list(rows)[list(rows).index("UnivRules") + 1] == "&nbsp;&nbsp;ours (here)"
    assert rows["&nbsp;&nbsp;ours (here)"][french] == "60.0 (70.0) ± 10.0"
    assert rows["&nbsp;&nbsp;ours (here)"][0] == "40.0 (50.0) ± 10.0"
    assert rows["&nbsp;&nbsp;ours (here)"][-1] == "–"
    assert rows["&nbsp;&nbsp;weak_50 (here) †"][french] == "90.0 n=1"
    assert not any("L-WeaklySup (here)" in name for name in rows)
    assert rows["&nbsp;&nbsp;rules only (here)"][french] == "50.0"
    assert "not in the plan" not in out
    assert "Li2019-T7 beside this experiment: words per second\n" in out
    assert "| &nbsp;&nbsp;ours (here) | – | – | 2000 (3000) ± 1000 |\n" in out
    assert (
        "–: measured on the whole test set only: UD1.4-French <=15, UD1.4-French <=40 (ours (here), weak"
        in out
    )
    others = ", ".join(f"Li2019-T{number}" for number in (1, 2, 4, 5, 3))
    assert out.rstrip().endswith(f"Not shown, as no treebank of the plan is in them: {others}.")


def test_beside_the_paper_stands_only_what_was_run(tmp_path: Path, vdgi: Vdgi) -> None:
    right = {both: RIGHT[both] for both in RIGHT if both[1] == "ours"}
    out = vdgi.good("table", experiment(tmp_path / "x", right=right), "--like", "paper").out
    assert "ours (here)" in out
    assert "weak" not in out
    out = vdgi.good("table", experiment(tmp_path / "y", right={}), "--like", "paper").out
    assert "weak_50 (here)" in out


def test_notes_below_a_table_name_each_file_once(tmp_path: Path, vdgi: Vdgi) -> None:
    folder = experiment(tmp_path / "x")
    content = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
    content["test_files"] = {"fr": ["fr-test.conllu"]}
    (folder / "plan.json").write_text(json.dumps(content), encoding="utf-8")
    out = vdgi.good("table", folder, "--like", "Li2019-T7").out
    (files,) = re.findall(r"^Test files here: (.*)\.$", out, re.MULTILINE)
    assert files == "fr fr-test.conllu"
    why = "expectations of the rules counted in its trees"
    uses = [f"training: {why}", f"a.conllu, b.conllu: {why}", "dev: choice of the model", f"a.conllu: {why}"]
    assert sheets._by_what_for(uses) == f"training, a.conllu, b.conllu: {why}; dev: choice of the model"


def test_beside_a_table_whose_data_is_missing(tmp_path: Path, vdgi: Vdgi) -> None:
    wsj = {"name": "wsj", "published": "WSJ23", "missing": "licence of LDC", "lengths": [10]}
    content = {**PLAN, "treebank": [wsj], "system": [{"name": "pc", "published": "RL-PC"}]}
    out = vdgi.good("table", experiment(tmp_path / "x", content, {}), "--like", "paper").out
    assert "| Left_branching | 36.2 | 30.2 |\n| &nbsp;&nbsp;left branching (here) | – | – |\n" in out
    assert "| RL-PC | 66.7 ± 0.7 |\n| &nbsp;&nbsp;pc (here) | – |\n" in out
    assert "–: data not available: licence of LDC: " in out
    assert "RL-SN (here)" not in out


def test_each_of_our_systems_is_beside_its_own_model_only(tmp_path: Path, vdgi: Vdgi) -> None:
    """Those of no published model are in every table; RL-PC is what table 4 calls WeaklySupervised."""
    wsj = {"name": "wsj", "published": "WSJ23", "missing": "licence of LDC", "lengths": [10]}
    systems = [
        {"name": "weak", "published": "WeaklySupervised"},
        {"name": "none", "published": "Unsupervised"},
        {"name": "mine"},
    ]
    content = {**PLAN, "treebank": [wsj], "system": systems}
    out = vdgi.good("table", experiment(tmp_path / "x", content, {}), "--like", "paper").out
    tables = {text[:2]: text for text in out.split("Li2019-") if "beside this experiment" in text}
    ours = {
        name: [other for other in ("weak", "none", "mine") if f"&nbsp;&nbsp;{other} (here)" in text]
        for name, text in tables.items()
    }
    assert ours == {
        "T1": ["none", "mine"],
        "T2": ["mine"],
        "T4": ["weak", "mine"],
        "T5": ["mine"],
        "T3": ["weak", "mine"],
    }
    assert "| RL-PC | 66.7 ± 0.7 |\n| &nbsp;&nbsp;weak (here) |" in tables["T3"]


def test_tables_name_the_commit_of_the_checkout() -> None:
    found = subprocess.run(
        ["git", "rev-parse", "--short=7", "HEAD"], cwd=Path(__file__).parent, capture_output=True, text=True
    )
    if found.returncode:
        pytest.skip("no checkout of git")
    assert f", commit {found.stdout.strip()}" in provenance.conditions()
