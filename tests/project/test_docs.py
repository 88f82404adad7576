"""The documentation: generated pages are up to date, examples hold, the site builds without a
network."""

from __future__ import annotations

import builtins
import collections.abc
import importlib.util
import json
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import tiny
from shell import Vdgi

import dynet_vdgi
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.models.run_log import COLUMNS
from dynet_vdgi.rule_tables.prior import Prior
from dynet_vdgi.rule_tables.rules import parse_rules
from dynet_vdgi.settings import presets, values

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
DEMO = ROOT / "resources" / "demo"


def script(name: str, folder: Path = DOCS) -> ModuleType:
    """A script of docs/ as a module."""
    spec = importlib.util.spec_from_file_location(f"{folder.name}_{name}", folder / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look for it there
    spec.loader.exec_module(module)
    return module


def experiment(name: str) -> ModuleType:
    """A script of experiments/ as a module."""
    return script(name, ROOT / "experiments")


def page(name: str) -> str:
    """The text of a page."""
    return (DOCS / name).read_text(encoding="utf-8")


def test_generated_pages_are_up_to_date() -> None:
    assert script("generate").outdated() == [], "run python docs/generate.py"


def test_every_setting_has_a_description() -> None:
    rows = re.findall(r"^\| (`[^|]+?`) \|(.*)\|$", page("settings.md"), re.MULTILINE)
    names = {f"`{place.name}`" for place in values.every_setting()}
    told = {name.replace(".…", "") for name, _ in rows}
    assert names <= told
    assert [name for name, cells in rows if not cells.split(" | ")[-1].strip()] == []


def test_every_preset_and_every_public_name_has_a_section() -> None:
    headings = set(re.findall(r"^### `(.+)`$", page("settings.md"), re.MULTILINE))
    assert set(presets.preset_names()) <= headings
    headings = set(re.findall(r"^### `(.+)`$", page("api.md"), re.MULTILINE))
    assert headings == set(dynet_vdgi.__all__) - {"__version__"}


def test_every_type_and_error_that_the_api_page_names_can_be_imported() -> None:
    text = page("api.md")
    listed = re.findall(r"^\| `(\w+)` \| `([\w.]+)` \|", text, re.MULTILINE)
    for name, module in listed:
        assert hasattr(importlib.import_module(module), name), (module, name)
    blocks = re.findall(r"^#{3,4} `.*?\n+```python\n(.*?)```", text, re.MULTILINE | re.DOTALL)
    named = {
        word
        for block in blocks
        for word in re.findall(r"\b[A-Z]\w*[a-z]\w*\b", re.sub(r"'.*?'", "", block))
    }
    named |= set(re.findall(r"\b[A-Z]\w+Error\b", text))
    known = {*dynet_vdgi.__all__, *dir(builtins), *(name for name, _ in listed)}
    assert {"How", "Protocol", "DataError", "DmvSettings"} <= named
    others = {"Any", "Counter", "NDArray", "Path", "Self", "TextIO", "TokenList"}
    assert named - known - set(collections.abc.__all__) == others


def test_the_api_page_gives_what_the_annotations_give() -> None:
    given = dict(
        re.findall(r"^([a-z_]+)\((?:.*|\n(?:    .*\n)*)\) -> (.+)$", page("api.md"), re.MULTILINE)
    )
    functions = {name: getattr(dynet_vdgi, name) for name in script("generate").FUNCTIONS}
    assert len(functions) >= 8
    returned = {name: function.__annotations__["return"] for name, function in functions.items()}
    assert given == {name: getattr(kind, "__name__", kind) for name, kind in returned.items()}
    assert "\nDmv.fit(text: Iterable[Sentence], prior: Prior) -> Self\n" in page("api.md")


def test_the_examples_of_the_api_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = (DEMO / "demo-ud-train.conllu").read_text(encoding="utf-8").split("\n\n")
    for name, part in (("my", blocks[:150]), ("new", blocks[150:170]), ("gold", blocks[150:170])):
        (tmp_path / f"{name}.conllu").write_text("\n\n".join(part) + "\n\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    examples = re.findall(r"```python\n(import dynet_vdgi.*?)```", page("api.md"), re.DOTALL)
    assert len(examples) == 2
    for example in examples:
        names: dict[str, Any] = {}
        exec(example, names)
    gold = names["gold"]
    assert not any("PUNCT" in sentence.tags for sentence in gold)
    assert dynet_vdgi.evaluate(gold, names["student"].predict(gold)).total.dda > 0.5


PAGES_FOR_USERS = [
    "../README.md",
    "index.md",
    "expect.md",
    "tutorial.md",
    "few-trees.md",
    "annotate.md",
]
PAGES_FOR_USERS += ["labels.md", "performance.md", "release.md"]
EVERYBODY_KNOWS = {"AAAI", "MB", "MIT"}


@pytest.mark.parametrize("name", PAGES_FOR_USERS)
def test_every_abbreviation_is_in_the_glossary(name: str) -> None:
    glossary = page("glossary.md")
    text = re.sub(
        r"<!--.*?-->|```.*?```|`[^`\n]*`|\]\([^)]*\)|^    .*?$",
        "",
        page(name),
        flags=re.DOTALL | re.M,
    )
    found = set(re.findall(r"\b[A-Z][A-Z0-9-]*[A-Z]\b", text)) - EVERYBODY_KNOWS
    assert {word for word in found if not re.search(rf"\b{re.escape(word)}\b", glossary)} == set()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_notebook_prints_what_it_shows() -> None:
    cells = json.loads(page("notebook.ipynb"))["cells"]
    shown = ["".join(cell["outputs"][0]["text"]) for cell in cells if cell["cell_type"] == "code"]
    assert shown == script("notebook").printed(
        ["".join(c["source"]) for c in cells if c["cell_type"] == "code"]
    )
    assert len(shown) > 4


def rule_examples() -> list[str]:
    """The tables and rule files of the page about them."""
    return re.findall(r"```rules\n(.*?)```", page("rules-basics.md"), re.DOTALL)


def test_the_potentials_of_the_first_table_are_those_of_the_page() -> None:
    arcs = re.findall(
        r"^\| (\w+) → (\w+) \| .* \| (-?\d\.\d) \|$", page("rules-basics.md"), re.MULTILINE
    )
    tags = ["DET", "NOUN", "VERB"]
    found = potentials(rule_examples()[0], " ".join(tags))
    place = {"ROOT": 0, **{tag: k for k, tag in enumerate(tags, 1)}}
    assert len(arcs) == 5
    for head, dependent, value in arcs:
        assert found[place[head], place[dependent]] == pytest.approx(float(value)), (
            head,
            dependent,
        )


def potentials(table: str, tags: str, text: str = "") -> Any:
    """Potentials [head, dependent] of a sentence of these tags, under a prior of a text of such
    sentences."""
    prior = Prior.of_text(parse_rules(table), [sentence(text)] * 99 if text else [])
    return prior.potentials(sentence(tags))


def sentence(tags: str) -> Sentence:
    """A sentence whose words are called as their tags."""
    return Sentence(tuple(tags.split()), tuple(tags.split()))


def test_the_other_examples_of_the_page_hold() -> None:
    sides, classes, edges, conjuncts, barrier, names, plain = rule_examples()[1:]
    assert potentials(sides, "ADV VERB ADV")[2].tolist() == [0, 0, 0, 2]
    nouns = potentials(classes, "DET PROPN PRON")
    assert nouns[0].tolist() == [0, 0, 2, 2]
    assert (nouns[2, 1], nouns[3, 1]) == (2, 0)
    assert potentials(edges, "DET NOUN DET", text="DET NOUN")[2].tolist() == [0, 1.5, 0, -1.5]
    assert potentials(conjuncts, "VERB NOUN CONJ NOUN")[2].tolist() == [0, 0, 0, 2, 2]
    assert potentials(barrier, "NOUN SCONJ NOUN VERB")[4, [1, 3]].tolist() == [-2, 0]
    assert potentials(names, "PROPN PROPN PROPN")[1].tolist() == [0, 0, 2, 2]
    assert potentials(plain, "NOUN PROPN VERB")[3].tolist() == [0, 0.95, 1, 0]


def documented_keys() -> dict[str, set[str]]:
    """The keys of each phase by the page about the log."""
    keys: dict[str, set[str]] = {}
    for section in re.split(r"^## ", page("log.md"), flags=re.MULTILINE)[1:]:
        heading, _, text = section.partition("\n")
        rows = re.findall(r"^\| (`[^|]+`) \|", text, re.MULTILINE)
        found = {key for row in rows for key in re.findall(r"`(\w+)`", row)}
        for phase in re.findall(r"`(\w+)`", heading):
            keys[phase] = found - {"phase"}
    return keys


def test_the_log_page_names_every_column_of_the_console() -> None:
    lines = [
        re.split(r"(?<!\\)\|", line)
        for line in page("log.md").splitlines()
        if line.startswith("| `")
    ]
    told = {(cells[1].strip(" `"), cells[2].strip().replace("\\|", "|")) for cells in lines}
    shown = {(key, title) for title, key, _, _ in COLUMNS}
    assert shown - {("phase", "phase")} <= told


def test_the_log_page_names_exactly_the_keys_of_the_log(folder: Path, vdgi: Vdgi) -> None:
    tiny.write(Path("train.conllu"))
    default = ["train", "--train", "train.conllu", "--dev", "train.conllu"]
    linear = [*default, "--preset", "best"]
    neural = [*default, *tiny.SMALL_OPTIONS]
    Path("facts.txt").write_text("adpositions = after\n", encoding="utf-8")
    small = ["--set", "parser.hidden_dim=6", "--set", "parser.tag_dim=6", "--set", "train.epochs=2"]
    fine = ["--set", "finetune.updates=2"]
    released = ["finetune.score=rl-bl", "finetune.form=released", "posterior.dynamics=released"]
    released = [
        word for setting in (*released, "language_model.epochs=1") for word in ("--set", setting)
    ]
    runs = [
        default,
        [*linear, "--language-facts", "facts.txt"],
        [*linear, "--trees", "train.conllu"],
        neural,
        [*neural, *fine, "--trees", "train.conllu"],
        [*neural, *fine, *released],
        [*default, "--preset", "pretraining", *small],
    ]
    seen: dict[str, set[str]] = defaultdict(set)
    for number, arguments in enumerate(runs):
        vdgi.good(*arguments, "--out", f"run{number}")
        for line in Path(f"run{number}/log.jsonl").read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            seen[row.pop("phase")] |= set(row)
    seen["pretrain"] |= seen["finetune"]
    told = documented_keys()
    told["finetune"] = seen["finetune"]
    assert {phase: sorted(keys) for phase, keys in seen.items()} == {
        phase: sorted(told.get(phase, set())) for phase in seen
    }


def test_no_row_of_a_table_of_results_is_typed_by_hand() -> None:
    n_written, places = experiment("table_rows").by_hand()
    assert places == [], (
        f"rows of docs/results: written from rows {n_written}, by hand {len(places)}"
    )
    assert n_written > 300


def test_a_row_of_a_table_is_by_hand_where_no_figure_is_around_the_table() -> None:
    rows = experiment("table_rows").table_rows
    by_hand = "| a |\n|---|\n| <!-- figure x -->1<!-- end --> |"
    assert list(rows(by_hand)) == [(3, False)]
    assert list(rows(f"text\n\n<!-- figure t -->\n{by_hand}\n<!-- end -->\n\n{by_hand}")) == [
        (6, True),
        (11, False),
    ]


def test_figures_of_pages_are_those_of_their_rows() -> None:
    assert experiment("figures").outdated() == [], "run python experiments/figures.py"


def test_rows_of_experiments_replace_those_of_the_same_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replication = experiment("replication")
    monkeypatch.setattr(replication, "ROWS", tmp_path / "rows.csv")
    for dda, seed in ((50.0, 1), (60.0, 2), (70.0, 1)):
        row = {
            "system": "pretraining",
            "language": "eu",
            "seed": seed,
            "dda": {"<=15": dda, "<=40": 1.0},
        }
        path = tmp_path / f"{dda}" / "eu" / "pretraining" / str(seed) / "result.json"
        path.parent.mkdir(parents=True)
        path.write_text(
            json.dumps({"rows": [{**row, "commit": "abc", "protocol": "standard"}]}),
            encoding="utf-8",
        )
        replication.load.cache_clear()
        replication.add([tmp_path / f"{dda}"])
    replication.load.cache_clear()
    assert [(row.seed, row.dda) for row in replication.load()] == [
        (1, {"<=15": 70.0, "<=40": 1.0}),
        (2, {"<=15": 60.0, "<=40": 1.0}),
    ]


def test_rows_of_the_presets_of_before_are_under_names_of_their_own() -> None:
    name_of = experiment("replication").name_of
    assert name_of("UniversalRules", "c8e551b") == "UniversalRules-before"
    assert name_of("UniversalRules-before", "c8e551b") == "UniversalRules-before"
    assert name_of("UniversalRules", "d085bfa") == "UniversalRules"
    assert name_of("fixed-lambda", "c8e551b") == "fixed-lambda"  # the same settings as today
    assert name_of("left branching", "bd607f1") == "left branching"


def test_no_committed_row_of_the_presets_of_before_is_under_a_name_of_today() -> None:
    replication = experiment("replication")
    rows = replication.load()
    assert {row.system for row in rows} > {"UniversalRules-before", "RL-SN-before"}
    assert [row for row in rows if replication.name_of(row.system, row.commit) != row.system] == []
    assert replication.first_stage("UniversalRules-before") == "pretraining-before"
    assert replication.first_stage("fixed-lambda-RL-PC-before") == "fixed-lambda"


def test_rows_of_the_paper_have_the_figures_of_the_rules_in_the_last_fifty_updates() -> None:
    of_the_rules = experiment("replication").of_the_rules
    log = [
        {"phase": phase, "update": update, "sentences": sentences, "lambda_norm": norm, "kl": kl}
        | {"gamma_ess": 20 * (1 - kl)}
        for phase, update, sentences, norm, kl in (
            ("pretrain", 400, 10, 3.0, 0.9),
            ("finetune", 425, 10, 2.0, 0.7),
            ("finetune", 450, 10, 2.5, 0.5),
            ("finetune", 475, 30, 1.0, 0.2),
            ("finetune", 500, 10, 1.5, 0.4),
        )
    ]
    of_last = {"lambda": "3.00", "lambda_end": "1.50", "kl": "0.2500", "ess": "15.00"}
    assert of_the_rules(log) == of_last  # those of (30 * .2 + 10 * .4) / 40
    assert set(of_the_rules([{"phase": "student"}]).values()) == {""}


def test_the_page_of_expectations_shows_what_the_command_prints(
    vdgi: Vdgi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    command, shown = re.findall(r"```(?:sh)?\n(.*?)```", page("expect.md"), re.DOTALL)[:2]
    assert vdgi.good(*command.split()[1:]).out == shown


def test_the_architecture_page_names_what_there_is() -> None:
    """Modules, and `module.name` of functions, classes and constants in them."""
    text = page("architecture.md")
    paths = {
        path.relative_to(ROOT).as_posix()
        for path in ROOT.rglob("*.py")
        if ".venv" not in path.parts
    }
    settings = {f"{section}.{key}" for _, section, key, _ in values.every_setting()} | {"recipe"}
    modules = set(re.findall(r"\b[\w/]+\.py\b", text))
    assert len(modules) > 20
    assert [
        name for name in modules if not any(f"/{path}".endswith(f"/{name}") for path in paths)
    ] == []
    for module, name in re.findall(r"`(?:\w+/)?([a-z_]+)\.(?!py`)([A-Za-z_]+)`", text):
        sources = [
            ROOT / path
            for path in paths
            if path.startswith("dynet_vdgi") and path.endswith(f"/{module}.py")
        ]
        defined = [
            re.search(rf"^(?:def |class )?{name}\b", path.read_text(encoding="utf-8"), re.M)
            for path in sources
        ]
        assert any(defined) or not sources or f"{module}.{name}" in settings, f"{module}.{name}"


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_site_builds_without_faults_and_needs_no_network(tmp_path: Path) -> None:
    pytest.importorskip("material")
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--quiet",
        "--site-dir",
        str(tmp_path),
    ]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) >= 15
    for path in pages:
        html = path.read_text(encoding="utf-8")
        loaded = re.findall(r"<(?:script|img|source|iframe)[^>]* src=\"?(https?:[^\" >]+)", html)
        loaded += re.findall(
            r"<link[^>]*rel=\"?(?:stylesheet|preconnect|preload)[^>]*href=\"?(https?:[^\" >]+)",
            html,
        )
        assert loaded == [], path
