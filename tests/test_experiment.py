"""Experiments: plans, keys, what runs and what does not, kills, failures, clusters."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tiny
from clusters import running_cluster
from msgspec import structs
from shell import Vdgi, finished, last_line, names_in, process, wait_for

from dynet_vdgi.evaluation import published
from dynet_vdgi.experiments import (
    baseline_run,
    code_version,
    expansion,
    plan,
    plan_files,
    processes,
    runner,
    tasks,
)
from dynet_vdgi.experiments.tasks import Task
from dynet_vdgi.settings.bundled import resources, rules_path
from dynet_vdgi.settings.presets import load_settings, preset_names
from dynet_vdgi.system import locks
from dynet_vdgi.system.extras import how_to_install

ROOT = Path(__file__).parents[1]

SMALL = json.dumps(
    [f"{section}.{name}={v}" for section, values in tiny.SMALL.items() for name, v in values.items()]
)
LONGER = SMALL.replace("updates=4", "updates=60")
WILD = SMALL.replace("]", ', "train.lr=1e20"]')

PLAN = f"""
seeds = [1, 2]
[[treebank]]
name = "xx"
train = ["xx-train*.conllu"]
test = ["xx-test.conllu"]
dev = ["xx-dev.conllu"]
lengths = [4]
[[treebank]]
name = "yy"
missing = "it was never tagged"
lengths = [4]
[[system]]
name = "fine"
presets = ["rl-pc"]
set = {LONGER.replace("updates=60", "updates=0").replace("]", ', "finetune.updates=2"]')}
after = "first"
[[system]]
name = "first"
presets = ["paper"]
set = {LONGER}
"""
"""Four runs, of which two start from the other two."""

FINE, FIRST = "treebank 'xx', system 'fine': ", "treebank 'xx', system 'first': "


def write_plan(folder: Path, text: str = PLAN) -> Path:
    """The plan and its files in a folder."""
    for name, n_sentences in (("xx-train", 12), ("xx-dev", 6), ("xx-test", 8)):
        tiny.write(folder / f"{name}.conllu", n_sentences)
    (folder / "plan.toml").write_text(text, encoding="utf-8")
    return folder / "plan.toml"


def tasks_of(path: Path, *only: str, out: str = "out", data: str | None = None) -> dict[str, Task]:
    """The tasks of a plan by their labels, in their order."""
    content = plan.load(path)
    found = expansion.expand(content, plan.select(content, only), plan_files.folders(path, data), out)
    return {task.label: task for task in found}


def table_in(out: str | bytes | None) -> str:
    """What is printed below the lines that say when and where."""
    text = out.decode() if isinstance(out, bytes) else out or ""
    assert re.match("`vdgi experiment .*plan.toml --out ", text)
    return text[text.index("DDA, protocol") :]


# ------------------------------------------------------------------------------------------- plans
@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("seeds = [1, 2]", "", "a plan needs seeds"),
        ("seeds = [1, 2]", "seeds = []", "a plan needs seeds"),
        ("seeds = [1, 2]", f"seeds = {list(range(100_000))}", "a plan of 400,000 runs, seeds times"),
        ("seeds = [1, 2]", "seeds = [1, 1]", "'seeds' must be different whole numbers, 0 or more, "),
        ("seeds = [1, 2]", "seeds = [true]", "'seeds' must be different whole numbers, 0 or more, "),
        ("seeds = [1, 2]", "sedes = [1]", "no key 'sedes'; did you mean 'seeds'?"),
        ("seeds = [1, 2]", "seeds = [1", "not a TOML file: "),
        ("[[treebank]]", "[treebank]", "not a TOML file: "),
        ('name = "xx"', 'name = "xx"\ntets = []', "treebank 'xx': no key 'tets'; did you mean 'test'?"),
        ('name = "xx"', 'name = "../xx"', "treebank: 'name' must be letters, digits"),
        ('name = "xx"', 'name = "YY"', "treebank: two are called 'yy'"),
        ('test = ["xx-test.conllu"]', 'test = "x"', "treebank 'xx': 'test' must be a list of texts, not 'x'"),
        ('test = ["xx-test.conllu"]', "", "treebank 'xx': it needs 'test', or 'missing' with the reason"),
        ("lengths = [4]", "lengths = [0]", "treebank 'xx': 'lengths' must be a list of whole "),
        ("lengths = [4]", 'protocol = "mine"', "treebank 'xx': no protocol 'mine' (choose from "),
        ("lengths = [4]", "published = 'UD1.4-Basqe'", "treebank 'xx': nothing is published on "),
        ('after = "first"', 'after = "frist"', "system 'fine': no system 'frist'; did you mean 'first'?"),
        ('after = "first"', 'after = "fine"', "system 'fine': it comes after itself"),
        ('after = "first"', "after = 1", "system 'fine': 'after' must be a text, not 1"),
        ('after = "first"', 'treebanks = ["xxx"]', "system 'fine': no treebank 'xxx'; did you mean 'xx'?"),
        ('after = "first"', 'published = "UnivRule"', "system 'fine': no model 'UnivRule' is "),
        ('name = "first"', 'name = "first"\nmissing = "no"', "system 'fine': it comes after 'first', which "),
        ('name = "first"', 'name = "first"\ntreebanks = ["yy"]', "system 'fine': it comes after 'first', "),
        ('name = "first"', 'name = "baselines"', "system: 'name' must be letters, digits"),
    ],
)  # fmt: skip
def test_faults_in_a_plan(folder: Path, vdgi: Vdgi, old: str, new: str, message: str) -> None:
    assert old in PLAN
    write_plan(folder, PLAN.replace(old, new, 1))
    status, out, err = vdgi("experiment", "plan.toml", "--out", "out")
    assert (status, out) == (4, "")
    assert err.startswith(f"plan.toml: {message}")
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("old", "new", "status", "message"),
    [
        ('["rl-pc"]', '["rl-cp"]', 4, FINE + "config: no preset 'rl-cp'; did you mean"),
        ('"finetune.updates=2"', '"finetune.update=2"', 4, FINE + "config: no key "),
        ('dev = ["xx-dev.conllu"]', 'set = ["train.select=dev"]', 4, FIRST + "train.select=dev chooses the "),
        ('"xx-test.conllu"', '"xx-tst.conllu"', 2, FIRST + "no such file: 'xx-tst.conllu' (did "),
        ('"xx-train*.conllu"', '"zz*"', 2, FIRST + "no file matches 'zz*'; --data names "),
        ('"xx-test.conllu"', '"xx-test.conllu", "b/xx-test.conllu.gz"', 4, FIRST + "two test "),
        ("lengths = [4]", 'set = ["rules=udd"]', 4, FIRST + "config: no rules 'udd'"),
    ],
)  # fmt: skip
def test_faults_in_what_a_plan_names(
    folder: Path, vdgi: Vdgi, old: str, new: str, status: int, message: str
) -> None:
    write_plan(folder, PLAN.replace(old, new, 1))
    Path("b").mkdir()
    Path("b/xx-test.conllu.gz").write_bytes(b"")
    result = vdgi("experiment", "plan.toml", "--out", "out")
    assert (result.status, result.out) == (status, "")
    assert result.err.startswith(message)


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["demi"], 4, "no plan 'demi'; did you mean 'demo'? (there are: demo, paper-ud, "),
        (["nix.toml"], 4, "nix.toml: cannot read the plan: No such file or directory"),
        (["plan.toml", "--only", "frist"], 2, "--only frist: the plan has no such name; did "),
        (["plan.toml", "--jobs", "0"], 2, "--jobs 0: must be at least 1"),
        (["plan.toml", "--seeds", "1", "-1"], 2, "--seeds -1: must be 0 or more"),
        (["plan.toml", "--data", "nix"], 2, "--data nix: no such folder"),
        (["plan.toml", "--out", "plan.toml"], 2, "cannot make the folder 'plan.toml': File exists"),
    ],
)  # fmt: skip
def test_impossible_wishes(folder: Path, vdgi: Vdgi, arguments: list[str], status: int, message: str) -> None:
    write_plan(folder)
    result = vdgi("experiment", "--out", "out", *arguments)
    assert (result.status, result.out) == (status, "")
    assert last_line(result.err).startswith(message)


PLANS = sorted(path.stem for path in (resources() / "experiments").glob("*.toml"))


@pytest.mark.parametrize("name", PLANS)
def test_plans_that_come_with_the_package(name: str) -> None:
    content = plan.load(plan.path_of(name))
    named = expansion.protocols(content, plan_files.PlanFolders(("",)))  # reads all presets and settings
    for treebank in content.treebanks:
        assert set(named[treebank.name]) == {s.name for s in content.systems if s.covers(treebank.name)}


@pytest.mark.parametrize("name", PLANS)
def test_a_system_called_like_a_preset_is_that_preset(name: str) -> None:
    for system in plan.load(plan.path_of(name)).systems:
        if system.name in preset_names():
            assert system == plan.System(system.name, (system.name,), treebanks=system.treebanks), system.name


def test_the_systems_of_the_readmes_comparison_are_those_of_its_command() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    command = re.search(r"^vdgi experiment (\S+) ", readme, re.MULTILINE)
    assert command is not None
    assert re.search(r"`best` has <!-- figure \S+ -->[\d./]+<!-- end --> there", readme) is not None
    systems = plan.load(plan.path_of(command[1])).systems
    assert [system.presets for system in systems if system.name == "best"] == [("best",)]


def test_the_plan_of_score_functions(data_dir: Path) -> None:
    """Each fine-tuning differs from the others, and starts from a pretraining with its rules and protocol."""
    found = tasks_of(plan.path_of("score-functions"), data=str(data_dir))
    runs = [task for task in found.values() if task.seed == 1]
    assert len({(task.treebank, task.model_key) for task in runs}) == len(runs)
    assert len(runs) == 2 * (2 + 2 * 11) + 2 * 2 * 5
    for task in runs:
        if task.after:
            start, settings = found[f"{task.treebank}/{task.after}/1"].settings(), task.settings()
            assert (start.posterior, start.parser, start.data) == (
                settings.posterior,
                settings.parser,
                settings.data,
            )
            assert (settings.train.updates, settings.train.epochs) == (0, 0)
            assert (start.finetune.updates, start.finetune.epochs) == (0, 0)


def test_a_setting_for_each_treebank(folder: Path) -> None:
    text = PLAN.replace('"finetune.updates=2"', '"finetune.updates=2", "rules={treebank}.txt"')
    path = write_plan(folder, text)
    Path("xx.txt").write_text("ROOT VERB 1\n", encoding="utf-8")
    assert Path(tasks_of(path)["xx/fine/1"].settings().rules).name == "xx.txt"


def test_the_paper_plan_finds_its_data(data_dir: Path) -> None:
    found = tasks_of(plan.path_of("paper-ud"), "nl", data=str(data_dir))
    weak = found["nl/WeaklySupervised/1"]
    assert [Path(name).name for name in weak.train] == [
        "nl-ud-train-part-silver.conllu",
        "nl-ud-train-part-gold.conllu",
    ]
    assert [Path(name).name for name in weak.expectations] == [
        "nl-ud-train-part-gold.conllu",
        "nl-ud-dev.conllu",
    ]
    assert weak.dev == ()
    assert found["nl/baselines"].protocols == ("standard",)


def test_the_released_plan_chooses_by_dev_trees(data_dir: Path) -> None:
    found = tasks_of(plan.path_of("paper-ud-released"), "fr", data=str(data_dir))
    released = found["fr/as_released-short/1"]
    assert [Path(name).name for name in released.dev] == ["fr-ud-dev.conllu"]
    assert [Path(name).name for name in released.train] == [
        "fr-ud-train-nopunct-len15.conllu",
        "fr-ud-dev.conllu",
    ]
    assert found["fr/baselines"].protocols == ("as_released",)
    ud, of_released = (plan.load(plan.path_of(name)) for name in ("paper-ud", "paper-ud-released"))
    assert [t.name for t in of_released.treebanks] == [t.name for t in ud.treebanks]


def test_the_wsj_plan_has_every_row_of_the_paper() -> None:
    """Tables 1 to 5: one system for each model that the authors ran, all of them with WSJ tags and rules."""
    content = plan.load(plan.path_of("paper-wsj"))
    (treebank,) = content.treebanks
    tables = [f"Li2019-T{number}" for number in range(1, 6)]
    figures = [f for f in published.read() if f.table in tables and f.dataset == treebank.published]
    rows = {published.same_model(f.model) for f in figures if "own runs" in f.source}
    models = [system.published for system in content.systems if system.published]
    assert len(rows) == 11
    assert sorted(map(published.same_model, models)) == sorted(rows)
    assert {f.length for f in figures} == {"<=10", "all"}
    assert treebank.lengths == (10,)
    seen = []
    for system in content.systems:
        settings = load_settings([*system.presets, *treebank.presets], [*system.set, *treebank.set])
        assert (settings.data.tags, settings.rules) == ("xpos", "wsj")
        is_lexicalised = system.name.startswith("L-")
        assert (settings.parser.word_dim > 0) == is_lexicalised == bool(settings.words.clusters)
        is_weak = "Unsupervised" not in system.name and "Universal" not in system.name and system.published
        assert (settings.posterior.expectations == "trees") == bool(is_weak)
        if system.name.startswith("RL-"):
            assert settings.finetune.score == system.name.lower()
        if system.after:
            (start,) = (other for other in content.systems if other.name == system.after)
            before = load_settings([*start.presets, *treebank.presets], start.set)
            assert before.finetune.updates == settings.train.updates == 0
            assert before.posterior == settings.posterior
        seen.append(settings)
    assert all(one != other for k, one in enumerate(seen) for other in seen[:k])


def test_the_released_wsj_plan_has_a_rule_for_every_pair() -> None:
    content = plan.load(plan.path_of("paper-wsj-released"))
    (treebank,) = content.treebanks
    assert (treebank,) == plan.load(plan.path_of("paper-wsj")).treebanks  # so that tables can be joined
    for system in content.systems:
        settings = load_settings([*system.presets, *treebank.presets], [*system.set, *treebank.set])
        assert (settings.rules, settings.posterior.dynamics) == ("wsj-pairs", "released")
        assert (settings.data.tags, settings.data.protocol) == ("xpos", "standard")
        assert bool(settings.finetune.epochs) == bool(system.after) != bool(settings.train.epochs)


# ------------------------------------------------------------------------------------------- tasks and keys
def test_presets_of_a_treebank_are_between_presets_and_settings_of_a_system(folder: Path) -> None:
    text = PLAN.replace("lengths = [4]", 'presets = ["wsj", "more.toml"]\nset = ["train.average=0.25"]', 1)
    text = text.replace(
        '"finetune.updates=2"', '"finetune.updates=2", "data.max_len=9", "train.average=0.75"'
    )
    text = text.replace('presets = ["rl-pc"]', 'presets = ["rl-pc", "as_released"]')
    path = write_plan(folder, text)
    Path("more.toml").write_text("[data]\nmax_len = 7\n[train]\nsamples = 5\n", encoding="utf-8")
    found = tasks_of(path)
    fine, first, baselines = (found[f"xx/{name}"].settings() for name in ("fine/1", "first/1", "baselines"))
    assert (fine.posterior.dynamics, fine.rules, fine.data.tags) == ("released", "wsj", "xpos")
    assert (fine.data.max_len, fine.train.samples, fine.train.average) == (9, 3, 0.25)
    assert (first.rules, first.data.max_len) == ("wsj", 7)
    assert (baselines.rules, baselines.data.tags) == ("wsj", "xpos")
    assert found["xx/baselines"].protocols == ("standard", "as_released")  # that of first before that of fine


def test_baselines_have_the_rules_and_tags_of_their_treebank(folder: Path) -> None:
    keys = set()
    for line, expected in (
        ("lengths = [4]", ("ud", "upos")),
        ('set = ["rules=ud-propn"]', ("ud-propn", "upos")),
        ('set = ["rules=mine.txt", "data.tags = xpos"]', ("plans/mine.txt", "xpos")),
        ('set = ["rules=mine.txt"]', ("plans/mine.txt", "upos")),
        ('presets = ["wsj"]', ("wsj", "xpos")),
    ):
        Path("plans").mkdir(exist_ok=True)
        Path("plans/mine.txt").write_text("ROOT VERB 0.5\n", encoding="utf-8")
        task = tasks_of(write_plan(Path("plans"), PLAN.replace("lengths = [4]", line, 1)))["xx/baselines"]
        settings = task.settings()
        assert (settings.rules, settings.data.tags) == expected
        keys.add(task.key)
    assert len(keys) == 5


def test_rules_only_parses_the_tags_that_its_rules_are_for(folder: Path) -> None:
    """XPOS under rules for it gives what the same tags in UPOS give, and nothing else does."""
    text = tiny.treebank()
    penn = text
    for tag, xpos in tiny.PENN.items():
        penn = penn.replace(f"\t{tag}\t_", f"\t{tag}\t{xpos}")
    Path("ud.txt").write_text("ROOT VERB 0.5\nVERB NOUN 0.5\nNOUN ADJ 0.5\n", encoding="utf-8")
    Path("penn.txt").write_text("ROOT VBD 0.5\nVBD NN 0.5\nNN JJ 0.5\n", encoding="utf-8")
    Path("test.conllu").write_text(penn, encoding="utf-8")
    right = {}
    for rules in ("ud.txt", "penn.txt"):
        for tags in ("upos", "xpos"):
            assignments = (f"rules={rules}", f"data.tags={tags}")
            out = f"{rules}-{tags}"
            Path(out).mkdir()
            task = Task(out, "", set=assignments, test=("test.conllu",), protocols=("standard",))
            baseline_run.perform(task)
            scored = tasks.recorded(task.result)["protocols"]["standard"]
            right[rules, tags] = scored["right"]["rules only"]
            assert sum(scored["words"]) == text.count("\n") - text.count("\tPUNCT") - 2 * text.count("#")
    assert right["penn.txt", "xpos"] == right["ud.txt", "upos"]
    assert right["penn.txt", "upos"] != right["penn.txt", "xpos"] != right["ud.txt", "xpos"]


def test_other_seeds_than_those_of_the_plan(folder: Path, vdgi: Vdgi) -> None:
    write_plan(folder)
    out = vdgi.good("experiment", "plan.toml", "--out", "out", "--seeds", "7", "0", "7", "--dry-run").out
    labels = [line.split(":")[0] for line in out.splitlines()]
    assert labels == ["xx/baselines", "xx/first/7", "xx/first/0", "xx/fine/7", "xx/fine/0"]


def test_what_is_started_from_comes_first(folder: Path) -> None:
    found = tasks_of(write_plan(folder))
    assert list(found) == ["xx/baselines", "xx/first/1", "xx/first/2", "xx/fine/1", "xx/fine/2"]
    assert found["xx/fine/2"].start == Path("out/xx/first/2")
    assert list(tasks_of(folder / "plan.toml", "fine")) == list(found)
    assert list(tasks_of(folder / "plan.toml", "first")) == ["xx/baselines", "xx/first/1", "xx/first/2"]
    assert list(tasks_of(folder / "plan.toml", "yy")) == []
    assert tasks.from_dict(json.loads(json.dumps(found["xx/fine/1"].to_dict()))) == found["xx/fine/1"]


def test_files_are_found_beside_the_plan_then_where_the_environment_says(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("plans", "shared", "given"):
        Path(name).mkdir()
    write_plan(folder / "plans")
    (folder / "plans" / "xx-test.conllu").rename("shared/xx-test.conllu")
    monkeypatch.setenv("VDGI_DATA", "shared")
    run = tasks_of(Path("plans/plan.toml"))["xx/first/1"]
    assert (run.train, run.test) == (("plans/xx-train.conllu",), ("shared/xx-test.conllu",))
    write_plan(folder / "given")
    assert tasks_of(Path("plans/plan.toml"), data="given")["xx/first/1"].test == ("given/xx-test.conllu",)


def changed_parts(before: Task, after: Task) -> set[str]:
    return {name for name, value in after.parts if dict(before.parts)[name] != value}


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ('name = "first"', 'name = "first" # named so', set()),
        ("lengths = [4]", "lengths = [3, 9]", set()),
        ("lengths = [4]", 'set = ["train.l2=0"]', {"settings"}),
        ("lengths = [4]", 'protocol = "as_released"', {"scoring"}),
        ('["xx-test.conllu"]', '["xx-dev.conllu"]', {"scoring"}),
        ('["xx-train*.conllu"]', '["xx-dev.conllu"]', {"data"}),
        ('["xx-dev.conllu"]', '["xx-test.conllu"]', set()),
        ("lengths = [4]", 'set = ["rules=ud-propn"]', {"rules"}),
        ("lengths = [4]", 'set = ["rules=mine.txt"]', {"rules"}),
        ("lengths = [4]", 'set = ["rules=ud.txt"]', set()),
        ("lengths = [4]", 'set = ["train.select=dev"]', {"settings", "data"}),
        ("lengths = [4]", 'set = ["data.tags=xpos"]', {"settings"}),
        ("lengths = [4]", 'presets = ["wsj"]', {"settings", "rules"}),
        ("lengths = [4]", 'set = ["posterior.expectations=trees"]\nexpectations = ["xx-dev.conllu"]',
         {"settings", "rules"}),
    ],
)  # fmt: skip
def test_a_key_changes_with_what_the_result_follows_from(
    folder: Path, old: str, new: str, changed: set[str]
) -> None:
    before = tasks_of(write_plan(folder))
    Path("mine.txt").write_text("ROOT VERB 0.5\n", encoding="utf-8")
    Path("ud.txt").write_bytes(rules_path("ud").read_bytes())
    write_plan(folder, PLAN.replace(old, new, 1))
    after = tasks_of(folder / "plan.toml")
    for label in ("xx/first/1", "xx/fine/1"):
        start = {"start"} if "fine" in label and changed - {"scoring"} else set()
        assert changed_parts(before[label], after[label]) == changed | start
    assert before["xx/first/1"].key != before["xx/first/2"].key


def test_of_files_in_settings_the_content_counts(folder: Path) -> None:
    words = 'set = ["parser.word_dim=4", "words.clusters=c.txt"]'
    path = write_plan(folder, PLAN.replace("lengths = [4]", words))
    parts = []
    for name, content in (("c.txt", "0\tverb1\t9\n"), ("d.txt", "0\tverb1\t9\n"), ("c.txt", "1\tverb1\t9\n")):
        Path(name).write_text(content, encoding="utf-8")
        write_plan(folder, PLAN.replace("lengths = [4]", words.replace("c.txt", name)))
        parts.append(dict(tasks_of(path)["xx/first/1"].parts))
    assert parts[0] == parts[1]
    assert parts[0]["settings"] != parts[2]["settings"]


def test_a_system_cannot_come_after_another_kind_of_parser(folder: Path, vdgi: Vdgi) -> None:
    write_plan(folder, PLAN.replace('presets = ["paper"]\n', "#"))  # the default preset's perceptron
    result = vdgi("experiment", "plan.toml", "--out", "out")
    assert (result.status, result.err) == (
        4,
        FINE + "it comes after 'first', which is of another recipe\n",
    )


def test_a_key_changes_with_the_rule_table(folder: Path) -> None:
    path = write_plan(folder, PLAN.replace("set = " + LONGER, 'set = ["rules=table.txt"]'))
    parts = []
    for weight in (1, 1, 2):
        Path("table.txt").write_text(f"[short arcs] (b)\nshort arcs = {weight}\n", encoding="utf-8")
        parts.append(dict(tasks_of(path)["xx/first/1"].parts))
    assert parts[0] == parts[1]
    assert {name for name in parts[0] if parts[0][name] != parts[2][name]} == {"rules"}


def test_only_the_code_of_a_run_counts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    training = code_version.reachable("dynet_vdgi.recipes.run")
    assert {"dynet_vdgi", "dynet_vdgi.variational.trainer", "dynet_vdgi.errors"} <= set(training)
    scoring = code_version.reachable("dynet_vdgi.experiments.training_run")
    assert set(training) < set(scoring)
    shown = {"cli", "commands.table", "experiments.plan", "experiments.tables.sheets", "experiments.runner"}
    assert not {f"dynet_vdgi.{name}" for name in shown} & set(scoring)
    before = code_version.code_version("dynet_vdgi.recipes.run")
    code_version.code_version.cache_clear()
    monkeypatch.setattr(code_version, "__version__", "0.0.1")
    assert code_version.code_version("dynet_vdgi.recipes.run") != before
    code_version.code_version.cache_clear()


def test_the_rules_of_weak_supervision_are_counted_in_the_files_for_them(folder: Path) -> None:
    from dynet_vdgi.experiments import training_run

    weak = PLAN.replace(
        "lengths = [4]", 'expectations = ["xx-dev.conllu"]\nset = ["posterior.expectations=trees"]'
    )
    run = tasks_of(write_plan(folder, weak), "first")["xx/first/1"]
    run.folder.mkdir(parents=True)
    settings, used = training_run._settings(run)
    assert settings.rules == str(Path("out/xx/first/1/rules.txt"))
    assert "xx-dev.conllu" in Path(settings.rules).read_text(encoding="utf-8")
    assert used == ["xx-dev.conllu: expectations of the rules counted in its trees"]


# ------------------------------------------------------------------------------------------- without training
class Pretended:
    """Tasks that are done in no time, or fail; `seen` in this order."""

    def __init__(self, failing: Mapping[str, str] | None = None) -> None:
        self.seen: list[str] = []
        self.failing = dict(failing or {})

    def __call__(self, content: Mapping[str, Any], folder: str) -> dict[str, Any]:
        task = tasks.from_dict(content)
        self.seen.append(task.label)
        if task.label in self.failing:
            return {"status": 1, "last": self.failing[task.label], "s": 0.0}
        processes.prepare_folder(task)
        result = {
            "key": task.key,
            "parts": dict(task.parts),
            "protocol": "standard",
            "policy": "",
            "gold_trees": [],
            "cpu_s": 1,
            "words_per_cpu_s": 1,
            "scores": {"all": {"dda": 0.5}},
            "words": [2, 4],
            "right": [1, task.seed],
            "protocols": {"standard": {"words": [2, 4], "right": {"random": [0.5, 1.5]}}},
        }
        tasks.write_json(task.result, result)
        return {"status": 0, "last": "", "s": 1.0}


@pytest.fixture
def pretended(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Pretended]:
    def pretend(**failing: str) -> Pretended:
        done = Pretended({f"xx/{label.replace('_', '/')}": reason for label, reason in failing.items()})
        monkeypatch.setattr(processes, "run_task", done)
        return done

    return pretend


def test_what_is_done_is_not_done_again(
    folder: Path, vdgi: Vdgi, pretended: Callable[..., Pretended]
) -> None:
    write_plan(folder)
    done = pretended()
    first = vdgi.good("experiment", "plan.toml", "--out", "out", "--only", "first")
    assert done.seen == ["xx/baselines", "xx/first/1", "xx/first/2"]
    assert "3 tasks: 3 new\n1/3 xx/baselines: scored, 1 s; about " in first.err
    assert "2/3 xx/first/1: DDA all 50.0, 1 s; about " in first.err
    listed = vdgi.good("experiment", "plan.toml", "--out", "out", "--dry-run")
    assert listed.out.splitlines() == [
        *(f"xx/{name}: done" for name in ("baselines", "first/1", "first/2")),
        *(f"xx/{name}: new" for name in ("fine/1", "fine/2")),
    ]
    both = vdgi.good("experiment", "plan.toml", "--out", "out", "--jobs", "2")
    assert sorted(done.seen[3:]) == ["xx/fine/1", "xx/fine/2"]
    assert "5 tasks: 3 done, 2 new\n" in both.err
    again = vdgi.good("experiment", "plan.toml", "--out", "out", "--jobs", "2")
    assert len(done.seen) == 5
    assert table_in(again.out) == table_in(both.out)
    assert "| first | 41.7 (50.0) ± 11.8 | – | – |" in both.out


def test_what_was_done_otherwise_is_done_anew_and_kept(
    folder: Path, vdgi: Vdgi, pretended: Callable[..., Pretended]
) -> None:
    write_plan(folder)
    done = pretended()
    vdgi.good("experiment", "plan.toml", "--out", "out")
    old = Path("out/xx/fine/1/result.json").read_bytes()
    write_plan(folder, PLAN.replace("finetune.updates=2", "finetune.updates=3"))
    result = vdgi.good("experiment", "plan.toml", "--out", "out")
    assert sorted(done.seen[5:]) == ["xx/fine/1", "xx/fine/2"]
    assert "xx/fine/1: anew (settings changed)\nxx/fine/2: anew (settings changed)\n" in result.err
    aside = sorted(Path("out/.replaced").iterdir())
    assert [path.name[:10] for path in aside] == ["xx.fine.1-", "xx.fine.2-"]
    assert (aside[0] / "result.json").read_bytes() == old
    write_plan(folder)
    vdgi.good("experiment", "plan.toml", "--out", "out")
    write_plan(folder, PLAN.replace("finetune.updates=2", "finetune.updates=3"))
    vdgi.good("experiment", "plan.toml", "--out", "out")
    assert len(names_in(Path("out/.replaced"))) == 6  # a folder whose name is taken gets a number


def test_a_strange_folder_is_moved_aside(
    folder: Path, vdgi: Vdgi, pretended: Callable[..., Pretended]
) -> None:
    write_plan(folder)
    pretended()
    Path("out/xx/first/1").mkdir(parents=True)
    Path("out/xx/first/1/letter.txt").write_text("mine", encoding="utf-8")
    result = vdgi.good("experiment", "plan.toml", "--out", "out")
    assert "xx/first/1: anew (folder changed)" in result.err
    assert Path("out/.replaced/xx.first.1-unknown/letter.txt").read_text(encoding="utf-8") == "mine"


def test_a_failure_stops_only_what_starts_from_it(
    folder: Path, vdgi: Vdgi, pretended: Callable[..., Pretended]
) -> None:
    write_plan(folder)
    done = pretended(first_1="training diverged: loss is not a number")
    status, out, err = vdgi("experiment", "plan.toml", "--out", "out")
    assert status == 1
    assert done.seen == ["xx/baselines", "xx/first/1", "xx/first/2", "xx/fine/2"]
    assert err.splitlines()[-3:] == [
        "warning: failed: xx/first/1: training diverged: loss is not a number",
        "warning: failed: xx/fine/1: it starts from xx/first/1, which failed",
        "2 of 5 tasks failed; the same command tries them again",
    ]
    assert "| first | 50.0 n=1 | – | – |" in out
    assert "n=: over this many seeds only; the others are not finished." in out
    pretended()
    assert "| first | 41.7 (50.0) ± 11.8 |" in vdgi.good("experiment", "plan.toml", "--out", "out").out


def test_one_program_at_a_time_in_a_folder(
    folder: Path, vdgi: Vdgi, pretended: Callable[..., Pretended]
) -> None:
    write_plan(folder)
    done = pretended()
    with locks.at_work(Path("out"), ".lock"):
        status, out, err = vdgi("experiment", "plan.toml", "--out", "out")
    assert (status, out) == (2, "")
    assert err == "out: another process is at work in it; wait for it, or choose another --out\n"
    assert done.seen == []
    vdgi.good("experiment", "plan.toml", "--out", "out")
    assert len(done.seen) == 5


def test_a_worker_that_does_not_see_the_files(
    folder: Path, vdgi: Vdgi, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_plan(folder)
    monkeypatch.setattr(processes, "run_task", lambda content, folder: {"status": 0, "last": "", "s": 0.0})
    status, _, err = vdgi("experiment", "plan.toml", "--out", "out", "--only", "first")
    assert status == 1
    assert (
        "failed: xx/first/1: no result in this folder; do the workers share this machine's file system?"
        in err
    )


def test_an_error_of_the_cluster_is_a_failure(
    folder: Path, vdgi: Vdgi, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(content: Mapping[str, Any], folder: str) -> dict[str, Any]:
        raise ModuleNotFoundError("No module named 'dynet_vdgi'")

    write_plan(folder)
    monkeypatch.setattr(processes, "run_task", broken)
    status, _, err = vdgi("experiment", "plan.toml", "--out", "out", "--only", "first")
    assert status == 1
    assert "failed: xx/first/1: ModuleNotFoundError: No module named 'dynet_vdgi'\n" in err


def test_a_cluster_that_is_lost_ends_the_experiment(
    folder: Path, vdgi: Vdgi, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Lost(Executor):
        def submit(self, *arguments: object, **more: object) -> Future[Any]:  # type: ignore[override]
            future: Future[Any] = Future()
            future.cancel()
            future.set_running_or_notify_cancel()
            return future

    write_plan(folder)
    monkeypatch.setattr(runner, "ThreadPoolExecutor", lambda jobs: Lost())
    status, _, err = vdgi("experiment", "plan.toml", "--out", "out", "--only", "first")
    assert status == 1
    said = "the cluster is lost: its scheduler no longer answers; 0 of 3 tasks are done; the same command"
    assert last_line(err) == f"{said} goes on"


def test_no_cluster(folder: Path, vdgi: Vdgi, monkeypatch: pytest.MonkeyPatch) -> None:
    write_plan(folder)
    monkeypatch.setitem(sys.modules, "distributed", None)
    status, out, err = vdgi("experiment", "plan.toml", "--out", "out", "--scheduler", "tcp://127.0.0.1:9")
    assert (status, out) == (2, "")
    message = f"--scheduler needs the package distributed: {how_to_install('cluster')}"
    assert last_line(err) == message


@pytest.mark.parametrize(
    ("status", "said", "log", "last"),
    [
        (0, "warning", "", ""),
        (-9, "", "half\n", "killed by signal 9 (out of memory?)"),
        (-11, "", "", "killed by signal 11"),
        (2, "early: no\n", "old\n", "early: no"),
        (1, "", "one\nRuntimeError: two\n\n", "RuntimeError: two"),
        (1, "", None, "exit status 1"),
    ],
)
def test_last_words(folder: Path, status: int, said: str, log: str | None, last: str) -> None:
    task = Task("out", "xx", "first", 1)
    if log is not None:
        task.folder.mkdir(parents=True)
        task.log.write_text(log, encoding="utf-8")
    assert processes._last_words(task, status, said, str(folder)) == last


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_what_was_begun_with_other_names_of_files_begins_again(
    whole: tuple[Path, str], folder: Path, vdgi: Vdgi, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dynet_vdgi.runs import model_file

    shutil.copytree(whole[0], folder / "copy")
    monkeypatch.chdir(folder / "copy")
    run = Path("out/xx/first/1")
    model = model_file.load(run / "model.vdgi", training=True)
    model.progress["update"] = 2
    unfinished = replace(model, provenance=structs.replace(model.provenance, complete=False))
    model_file.save(run / "model.vdgi", unfinished)
    (run / "result.json").unlink()
    Path("xx-train.conllu").rename("xx-train-renamed.conllu")
    result = vdgi.good("experiment", "plan.toml", "--out", "out")
    assert "5 tasks: 4 done, 1 resume\n" in result.err
    said = (run / "log.txt").read_text(encoding="utf-8")
    assert "its data differ from those asked for now, so it cannot be resumed; " in said
    assert (run / "unfinished-model.vdgi").exists()
    assert table_in(result.out) == whole[1]


def test_times_for_people() -> None:
    assert [runner.shown_time(s) for s in (0.4, 99, 100, 5999, 6000)] == [
        "0 s",
        "99 s",
        "2 min",
        "100 min",
        "2 h",
    ]


# ------------------------------------------------------------------------------------------- with training
@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder in which the plan was carried out without disturbance, and the table."""
    folder = tmp_path_factory.mktemp("whole")
    write_plan(folder)
    status, out, err = finished("experiment", "plan.toml", "--out", "out", "--jobs", "2", cwd=folder)
    assert status == 0, err
    return folder, table_in(out)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_run_leaves_everything_in_its_folder(whole: tuple[Path, str]) -> None:
    folder, table = whole
    run = folder / "out" / "xx" / "fine" / "2"
    files = ["log.jsonl", "log.txt", "model.vdgi", "result.json", "settings.toml", "task.json"]
    assert names_in(run) == [*files, "xx-test.parsed.conllu"]
    result = json.loads((run / "result.json").read_text(encoding="utf-8"))
    assert (result["treebank"], result["system"], result["seed"], result["after"]) == (
        "xx",
        "fine",
        2,
        "first",
    )
    assert result["protocol"] == "standard"
    assert result["gold_trees"] == []
    assert result["cpu_s"] >= result["training_cpu_s"] > 0
    assert result["memory_mb"] > 20
    assert list(result["scores"]) == ["<=4", "all"]
    assert sum(result["right"]) / sum(result["words"]) == result["scores"]["all"]["dda"]
    log = (run / "log.txt").read_text(encoding="utf-8")
    assert log.startswith("INFO vdgi train --train xx-train.conllu --preset rl-pc --set ")
    assert "--init out/xx/first/2/model.vdgi --seed 2 --out out/xx/fine/2\n" in log
    assert table.startswith("DDA, protocol standard, length <=4\n\n|  | xx | yy | average |\n")
    assert "–: data not available: it was never tagged: yy (all rows)." in table


def test_the_command_in_a_log_gives_the_same_model(
    whole: tuple[Path, str], vdgi: Vdgi, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dynet_vdgi.runs import model_file

    monkeypatch.chdir(whole[0])
    words = Path("out/xx/fine/2/log.txt").read_text(encoding="utf-8").splitlines()[0].split()[2:]
    vdgi.good(*words[:-1], "again")
    ends = [model_file.load(f"{out}/model.vdgi", training=True) for out in ("out/xx/fine/2", "again")]
    assert tiny.same_arrays(ends[0].training, ends[1].training)
    assert ends[0].provenance.command == ("vdgi", *words)


def test_other_test_sentences_are_scored_without_training(
    whole: tuple[Path, str], vdgi: Vdgi, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(whole[0], folder / "copy")
    monkeypatch.chdir(folder / "copy")
    model = Path("out/xx/first/1/model.vdgi").read_bytes()
    tiny.write(Path("xx-test.conllu"), 5)
    text = Path("plan.toml").read_text(encoding="utf-8").replace("seeds = [1, 2]", "seeds = [1]")
    Path("plan.toml").write_text(text, encoding="utf-8")
    result = vdgi.good("experiment", "plan.toml", "--out", "out", "--only", "first")
    assert "2 tasks: 2 score\n" in result.err
    assert "xx/first/1: score (scoring changed)\n" in result.err
    assert "\nOne seed.\n" in result.out
    assert Path("out/xx/first/1/model.vdgi").read_bytes() == model
    assert len(json.loads(Path("out/xx/first/1/result.json").read_text(encoding="utf-8"))["words"]) == 5


def begun(run: Path) -> Callable[[], bool]:
    """True while a run has a checkpoint and no result."""
    return lambda: (run / "model.vdgi").exists() and not (run / "result.json").exists()


FIRST = ("experiment", "plan.toml", "--out", "out", "--only", "first")


def right_words(folder: Path) -> list[list[int]]:
    """Of the two runs of the first system, how many words of each sentence."""
    paths = [folder / "out" / "xx" / "first" / seed / "result.json" for seed in "12"]
    return [json.loads(path.read_text(encoding="utf-8"))["right"] for path in paths]


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_interrupted_and_killed_it_goes_on_to_the_same_results(whole: tuple[Path, str], folder: Path) -> None:
    write_plan(folder)
    with process(*FIRST) as running:
        wait_for(begun(Path("out/xx/first/1")), running)
        running.send_signal(signal.SIGINT)
        _, err = running.communicate()
    assert running.returncode == 130
    assert last_line(err.decode()) == "interrupted; 1 of 3 tasks are done; the same command goes on"
    assert b"Traceback" not in err
    with process(*FIRST) as running:
        wait_for(begun(Path("out/xx/first/2")), running)
        running.kill()
        _, err = running.communicate()
    assert b"3 tasks: 1 done, 1 resume, 1 new\n" in err
    with locks.locked(Path("out/.locks/xx/first/2")):  # its last process has ended, too
        assert begun(Path("out/xx/first/2"))()
    status, _, err_again = finished(*FIRST)
    assert status == 0, err_again
    assert b"3 tasks: 2 done, 1 resume\n" in (err_again or b"")
    assert right_words(folder) == right_words(whole[0])
    assert not Path("out/.replaced").exists()


@pytest.mark.slow
def test_a_real_failure_is_listed_with_its_log(folder: Path, vdgi: Vdgi) -> None:
    diverging = f'[[system]]\nname = "wild"\npresets = ["paper"]\nset = {WILD}\n'
    write_plan(folder, PLAN.replace("seeds = [1, 2]", "seeds = [1]") + diverging)
    status, out, err = vdgi("experiment", "plan.toml", "--out", "out", "--only", "wild")
    assert status == 1
    log = Path("out/xx/wild/1/log.txt")
    said = last_line(log.read_text(encoding="utf-8"))
    assert said.startswith("training diverged: ")
    assert err.splitlines()[-2:] == [
        f"warning: failed: xx/wild/1: {said} (log: {log})",
        "1 of 2 tasks failed; the same command tries them again",
    ]
    assert "| rules only |" in out
    assert "–: failed or unfinished: xx (wild)." in out


def test_a_file_that_changes_meanwhile(folder: Path) -> None:
    task = tasks_of(write_plan(folder))["xx/first/1"]
    tiny.write(folder / "xx-train.conllu", 11)
    outcome = processes.run_task(task.to_dict(), str(folder))
    assert outcome["status"] == 2
    assert outcome["last"].startswith(
        "xx/first/1: data changed since the experiment began, or differ on this "
    )
    assert not task.folder.exists()


# ------------------------------------------------------------------------------------------- cluster
@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """Address and two workers of a scheduler on this machine; all in processes of their own."""
    with running_cluster(tmp_path) as running:
        yield running.address, [running.start_worker() for _ in range(2)]


def worker_of(run: Path) -> int | None:
    """The process that started the one at work in a run's folder."""
    try:
        said = (run.parents[2] / ".locks" / Path(*run.parts[-3:])).read_text(encoding="utf-8")
        status = Path(f"/proc/{said.split()[1]}/stat").read_text(encoding="utf-8")
    except (OSError, IndexError):
        return None
    return int(status.rpartition(")")[2].split()[1])


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to find the worker of a task")
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_worker_of_a_cluster_is_killed(
    whole: tuple[Path, str], folder: Path, cluster: tuple[str, list[subprocess.Popen[bytes]]]
) -> None:
    address, workers = cluster
    write_plan(folder)
    run = Path("out/xx/first/2")
    with process(*FIRST, "--scheduler", address) as running:
        wait_for(begun(run), running)
        killed = [worker for worker in workers if worker.pid == worker_of(run.absolute())]
        assert len(killed) == 1
        killed[0].kill()
        _, err = running.communicate()
    assert running.returncode == 0, err.decode()
    assert "resuming after update " in (run / "log.txt").read_text(encoding="utf-8")
    said = err.decode()
    for label in ("baselines", "first/1", "first/2"):
        assert said.count(f"xx/{label}: ") == 1
    assert right_words(folder) == right_words(whole[0])
