"""Experiments: plans, their files, what runs and what does not, kills, failures."""

from __future__ import annotations

import gzip
import json
import shutil
import signal
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec
import pytest
import tiny
from shell import finished, last_line, names_in, process, wait_for

from dynet_vdgi.conllu.filtering import prepare
from dynet_vdgi.conllu.reading import read
from dynet_vdgi.errors import UsageError
from dynet_vdgi.experiments import job, plan, tables
from dynet_vdgi.experiments.job import Job
from dynet_vdgi.experiments.plan import Treebank
from dynet_vdgi.experiments.tables import TableRow, recorded
from dynet_vdgi.models.run_log import RunLog
from dynet_vdgi.rivals.convex_mst import ConvexMst
from dynet_vdgi.rule_tables.prior import Prior
from dynet_vdgi.rule_tables.rules import load_rules
from dynet_vdgi.settings.bundled import resources, rules_path
from dynet_vdgi.settings.presets import load_settings, preset_names

SMALL = json.dumps(
    [
        f"{section}.{name}={v}"
        for section, values in tiny.SMALL.items()
        for name, v in values.items()
    ]
)
LONGER = SMALL.replace("updates=4", "updates=60")

PLAN = f"""
seeds = [1, 2]
[[treebank]]
name = "xx"
train = ["xx-train*.conllu"]
test = ["xx-test.conllu"]
dev = ["xx-dev.conllu"]
lengths = [4]
[[system]]
name = "fine"
presets = ["paper"]
set = {LONGER.replace("updates=60", "updates=0").replace("]", ', "finetune.updates=2"]')}
after = "first"
[[system]]
name = "first"
presets = ["fixed-lambda"]
set = {LONGER}
"""
"""Four runs, of which two start from the other two."""

LABELS = ["xx/baselines/standard", "xx/first/1", "xx/first/2", "xx/fine/1", "xx/fine/2"]
FINE, FIRST = "treebank 'xx', system 'fine': ", "treebank 'xx', system 'first': "


def write_plan(folder: Path, text: str = PLAN) -> Path:
    """The plan and its files in a folder."""
    for name, n_sentences in (("xx-train", 12), ("xx-dev", 6), ("xx-test", 8)):
        tiny.write(folder / f"{name}.conllu", n_sentences)
    (folder / "plan.toml").write_text(text, encoding="utf-8")
    return folder / "plan.toml"


def jobs_of(path: Path, *only: str, data: str | None = None) -> dict[str, Job]:
    """The jobs of a plan by their labels, in their order."""
    content = plan.load_plan(path)
    found = plan.jobs_of(content, plan.select(content, only), plan.folders_of(path, data), "out")
    return {each.label: each for each in found}


@pytest.mark.parametrize(
    ("old", "new", "status", "message"),
    [
        ("seeds = [1, 2]", "", 4, "plan.toml: Object missing required field `seeds`"),
        ("seeds = [1, 2]", "seeds = []", 4, "plan.toml: Expected `array` of length >= 1 - at `$.seeds`"),
        ("seeds = [1, 2]", "seeds = [-1]", 4, "plan.toml: Expected `int` >= 0 - at `$.seeds[0]`"),
        ("seeds = [1, 2]", "seeds = [1", 4, "plan.toml: not a TOML file: "),
        ("[[treebank]]", "[treebank]", 4, "plan.toml: Expected `array`, got `object` - at `$.tr"),
        ('name = "xx"', 'name = "xx"\ntets = []', 4, "plan.toml: Object contains unknown field `tets`"),
        ('name = "xx"', 'name = "../xx"', 4, "plan.toml: Expected `str` matching regex"),
        ('name = "fine"', 'name = "FIRST"', 4, "plan.toml: system: two are called 'first'"),
        ('name = "fine"', 'name = "baselines"', 4, "plan.toml: system: the name 'baselines' is taken"),
        ('test = ["xx-test.conllu"]', "", 4, "plan.toml: treebank 'xx': it needs 'train' and 'test', or "),
        ('after = "first"', 'after = "frist"', 4, "plan.toml: system 'fine': no system 'frist'; did you "),
        ('after = "first"', 'after = "fine"', 4, "plan.toml: system 'fine': it comes after 'fine', which "),
        ('after = "first"', 'treebanks = ["x"]', 4, "plan.toml: system 'fine': no treebank 'x'"),
        ('["paper"]', '["papre"]', 4, FINE + "config: no preset 'papre'; did you mean"),
        ('"finetune.updates=2"', '"finetune.update=2"', 4, FINE + "config: no key "),
        ('dev = ["xx-dev.conllu"]', 'set = ["train.select=dev"]', 4, FIRST + "train.select=dev chooses the "),
        ('"xx-test.conllu"', '"x.conllu"', 2, FIRST + "no files of treebank 'xx': looked for x.conllu (or "),
        ("lengths = [4]", 'set = ["rules=udd"]', 4, FIRST + "config: no rules 'udd'"),
        ("", "demi", 4, "no plan 'demi'; did you mean 'demo'? (there are: demo, paper-ud"),
        ("", "nix.toml", 4, "nix.toml: cannot read the plan: No such file or directory"),
        ("", "plan.toml --only frist", 2, "--only frist: the plan has no such name; did "),
        ("", "plan.toml --jobs 0", 2, "--jobs 0: must be at least 1"),
        ("", "plan.toml --seeds 1 -1", 2, "--seeds -1: must be at least 0"),
        ("", "plan.toml --data nix", 2, "--data nix: no such folder"),
        ("", "plan.toml --out plan.toml", 2, "cannot make the folder 'plan.toml': File exists"),
    ],
)  # fmt: skip
def test_faults_in_a_plan_or_a_command(folder, vdgi, old, new, status, message):
    """Without `old`, `new` is what follows the command."""
    assert old in PLAN
    write_plan(folder, PLAN.replace(old, new, 1) if old else PLAN)
    result = vdgi("experiment", "--out", "out", *("plan.toml" if old else new).split())
    assert (result.status, result.out) == (status, "")
    assert last_line(result.err).startswith(message)
    assert not Path("out").exists() or not list(Path("out").glob("xx"))


@pytest.mark.parametrize(
    "path", sorted((resources() / "experiments").glob("*.toml")), ids=lambda p: p.stem
)
def test_plans_that_come_with_the_package(path):
    content = plan.load_plan(path)
    for system in content.systems:
        if system.name in preset_names():
            assert system.presets == (system.name,) != system.set, (
                "called like a preset, it is that preset"
            )
        for treebank in content.treebanks:
            if system.covers(treebank.name):
                assignments = [
                    text.replace("{treebank}", "xx") for text in (*system.set, *treebank.set)
                ]
                load_settings([*system.presets, *treebank.presets], assignments)


def test_the_plans_of_the_paper_find_their_data(data_dir):
    files = jobs_of(plan.path_of("paper-ud"), "nl", data=str(data_dir))[
        "nl/WeaklySupervised/1"
    ].files
    named = {key: [Path(name).name for name in names] for key, names in files.items()}
    assert named["train"] == ["nl-ud-train-part-silver.conllu", "nl-ud-train-part-gold.conllu"]
    assert named["expectations"] == ["nl-ud-train-part-gold.conllu", "nl-ud-dev.conllu"]
    assert named["dev"] == []
    found = jobs_of(plan.path_of("paper-ud-released"), "fr", data=str(data_dir))
    assert [Path(name).name for name in found["fr/UniversalRules-released/1"].files["dev"]] == [
        "fr-ud-dev.conllu"
    ]
    assert "fr/baselines/as_released" in found


FRENCH = Treebank(
    name="fr",
    releases=("UD_French/fr", "UD_French-GSD/fr_gsd"),
    train=("own/train.conllu",),
    test=("own/t.conllu",),
)


def release(prefix: str, *parts: str) -> None:
    """Files of a treebank as UD releases it; parts such as `train.conllu`."""
    for part in parts or ("train.conllu", "dev.conllu", "test.conllu"):
        path = Path(f"{prefix}-ud-{part}")
        path.parent.mkdir(parents=True, exist_ok=True)
        text = tiny.treebank().encode()
        path.write_bytes(gzip.compress(text, mtime=0) if part.endswith(".gz") else text)


def test_a_release_is_found_and_all_files_are_of_one_source(folder):
    def found() -> str:
        files = plan.files_of(FRENCH, ["."], "train", "test")
        assert len({Path(name).parent for names in files.values() for name in names}) == 1
        return " ".join(name.removeprefix("./") for name in (*files["train"], *files["test"]))

    release("UD_French/fr", "train.conllu", "dev.conllu")  # UD 2.0 came without test sets
    release("own/x", "test.conllu")
    with pytest.raises(
        UsageError, match="no files of treebank 'fr': looked for UD_French/fr-ud-train"
    ):
        found()
    for name in ("train", "t"):
        tiny.write(Path("own", f"{name}.conllu"))
    assert found() == "own/train.conllu own/t.conllu"
    release(
        "ud-treebanks-v2.9/UD_French-GSD/fr_gsd",
        "train-a.conllu.gz",
        "train-b.conllu.gz",
        "test.conllu.gz",
    )
    stem = "ud-treebanks-v2.9/UD_French-GSD/fr_gsd-ud"
    assert found() == f"{stem}-train-a.conllu.gz {stem}-train-b.conllu.gz {stem}-test.conllu.gz"
    release("ud-treebanks-v2.10/UD_French-GSD/fr_gsd")
    assert found().startswith("ud-treebanks-v2.10/")
    for version in ("1.3", "1.4", "2.1"):  # the published figures are of 1.4
        release(f"ud-treebanks-v{version}/UD_French/fr")
    assert found().startswith("ud-treebanks-v1.4/")
    release("UD_French/fr")
    assert found() == "UD_French/fr-ud-train.conllu UD_French/fr-ud-test.conllu"


CLUSTERS = 'set = ["parser.word_dim=4", "words.clusters={}.txt"]'


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ('name = "first"', 'name = "first" # named so', set()),
        ("lengths = [4]", "lengths = [3, 9]", {"scoring"}),
        ("lengths = [4]", 'set = ["train.l2=0"]', {"settings"}),
        ('["xx-test.conllu"]', '["xx-dev.conllu"]', {"scoring"}),
        ('["xx-train*.conllu"]', '["xx-dev.conllu"]', {"data"}),
        ("lengths = [4]", 'set = ["rules=ud-propn"]', {"rules"}),
        ("lengths = [4]", 'set = ["rules=ud.txt"]', set()),
        ("lengths = [4]", 'set = ["train.select=dev"]', {"settings", "data"}),
        ("lengths = [4]", 'set = ["posterior.expectations=trees"]\nexpectations = ["xx-dev.conllu"]',
         {"settings", "rules"}),
    ],
)  # fmt: skip
def test_a_record_changes_with_what_the_result_follows_from(folder, old, new, changed):
    before = jobs_of(write_plan(folder))
    Path("ud.txt").write_bytes(rules_path("ud").read_bytes())
    write_plan(folder, PLAN.replace(old, new, 1))
    after = jobs_of(folder / "plan.toml")
    for label in ("xx/first/1", "xx/fine/1"):
        start = {"start"} if "fine" in label and changed - {"scoring"} else set()
        parts = after[label].parts
        # no lengths = [4]
        wanted = changed | ({"scoring"} if new.startswith(("set", "presets")) else set())
        assert {
            name for name, value in parts.items() if before[label].parts[name] != value
        } == wanted | start
    assert before["xx/first/1"].parts != before["xx/first/2"].parts


class Pretended:
    """Jobs that are done in no time, or fail; `seen` in this order."""

    def __init__(self, failing: Mapping[str, str]) -> None:
        self.seen: list[str] = []
        self.failing = failing

    def __call__(self, this: Job) -> str:
        self.seen.append(this.label)
        if this.label in self.failing:
            return self.failing[this.label]
        job._make_folder(this)
        row = TableRow(
            system=this.system,
            language="xx",
            seed=this.seed,
            dda={"all": 50.0 - this.seed},
            commit="c",
        )
        found = {"parts": this.parts, "rows": [msgspec.to_builtins(row)]}
        (this.folder / tables.RESULT).write_text(json.dumps(found), encoding="utf-8")
        return ""


@pytest.fixture
def pretended(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Pretended]:
    def pretend(**failing: str) -> Pretended:
        done = Pretended(
            {f"xx/{label.replace('_', '/')}": reason for label, reason in failing.items()}
        )
        monkeypatch.setattr(job, "in_own_process", done)
        return done

    return pretend


EXPERIMENT = ("experiment", "plan.toml", "--out", "out")
FIRST_ONLY = (*EXPERIMENT, "--only", "first")


def test_what_is_done_is_not_done_again(folder, vdgi, pretended):
    write_plan(folder)
    done = pretended()
    first = vdgi.good(*FIRST_ONLY)
    assert done.seen == LABELS[:3]
    assert "3 runs: 3 new\n1/3 xx/baselines/standard: scored; about " in first.err
    assert "2/3 xx/first/1: DDA all 49.0, 0 CPU s; about " in first.err
    listed = vdgi.good(*EXPERIMENT, "--dry-run").out.splitlines()
    assert listed == [
        *(f"{label}: done" for label in LABELS[:3]),
        *(f"{label}: new" for label in LABELS[3:]),
    ]
    both = vdgi.good(*EXPERIMENT, "--jobs", "2")
    assert sorted(done.seen[3:]) == LABELS[3:]
    assert "5 runs: 3 done, 2 new\n" in both.err
    assert vdgi.good(*EXPERIMENT).out == both.out
    assert len(done.seen) == 5
    assert "| first | 48.5 (49.0) ± 0.7 |" in both.out


def test_what_was_done_otherwise_is_done_again_and_kept(folder, vdgi, pretended):
    write_plan(folder)
    done = pretended()
    vdgi.good(*EXPERIMENT)
    Path("out/xx/first/1/run.json").write_text("{", encoding="utf-8")
    Path("out/xx/first/1/result.json").unlink()
    old = Path("out/xx/fine/1/result.json").read_bytes()
    write_plan(folder, PLAN.replace("finetune.updates=2", "finetune.updates=3"))
    result = vdgi.good(*EXPERIMENT)
    assert sorted(done.seen[5:]) == ["xx/fine/1", "xx/fine/2", "xx/first/1"]
    assert "xx/first/1: again (folder changed)\nxx/fine/1: again (settings changed)\n" in result.err
    assert names_in(Path("out/.replaced")) == ["xx.fine.1-1", "xx.fine.2-1", "xx.first.1-1"]
    assert Path("out/.replaced/xx.fine.1-1/result.json").read_bytes() == old
    write_plan(folder)
    vdgi.good(*EXPERIMENT)
    assert names_in(Path("out/.replaced"))[:2] == ["xx.fine.1-1", "xx.fine.1-2"]


def test_a_failure_stops_only_what_starts_from_it(folder, vdgi, pretended):
    write_plan(folder)
    done = pretended(first_1="training diverged: loss is not a number")
    status, out, err = vdgi(*EXPERIMENT)
    assert status == 1
    assert done.seen == [*LABELS[:3], "xx/fine/2"]
    assert err.splitlines()[-3:] == [
        "warning: failed: xx/first/1: training diverged: loss is not a number",
        "warning: failed: xx/fine/1: it starts from xx/first/1, which failed",
        "2 of 5 runs failed; the same command tries them again",
    ]
    assert "| first | 48.0 |" in out
    pretended()
    assert "| first | 48.5 (49.0) ± 0.7 |" in vdgi.good(*EXPERIMENT).out


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder in which the plan was carried out without disturbance, and the table."""
    folder = tmp_path_factory.mktemp("whole")
    write_plan(folder)
    status, out, err = finished(*EXPERIMENT, "--jobs", "2", cwd=folder)
    assert status == 0, err
    return folder, (out or b"").decode()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_run_leaves_everything_in_its_folder(whole, vdgi):
    folder, table = whole
    run = folder / "out" / "xx" / "fine" / "2"
    files = ["log.jsonl", "log.txt", "model.vdgi", "result.json", "run.json", "settings.toml"]
    assert names_in(run) == [*files, "xx-test.parsed.conllu"]
    (row,) = recorded(run / "result.json")["rows"]
    assert (row["system"], row["language"], row["seed"], row["protocol"]) == (
        "fine",
        "xx",
        2,
        "standard",
    )
    assert (row["gold_trees"], row["test"], list(row["dda"])) == (
        "",
        "xx-test.conllu",
        ["<=4", "all"],
    )
    assert min(row["cpu_s"], row["words_per_cpu_s"]) > 0
    scored = vdgi.good("evaluate", folder / "xx-test.conllu", run / "xx-test.parsed.conllu").out
    assert f"{row['dda']['all']:.1f}" in scored
    log = (run / "log.txt").read_text(encoding="utf-8")
    assert log.startswith("INFO vdgi train --train xx-train.conllu --preset paper --set ")
    assert "--init out/xx/first/2/model.vdgi --seed 2 --out out/xx/fine/2\n" in log
    assert table.startswith("DDA, protocol standard, xx\n\n|  | xx <=4 | xx all |\n")
    assert "| rules only: ud |" in table


def test_the_command_in_a_log_gives_the_same_model(whole, vdgi, monkeypatch):
    from dynet_vdgi.models import model_file

    monkeypatch.chdir(whole[0])
    words = Path("out/xx/fine/2/log.txt").read_text(encoding="utf-8").splitlines()[0].split()[2:]
    vdgi.good(*words[:-1], "again")
    ends = [
        model_file.load(f"{out}/model.vdgi", training=True) for out in ("out/xx/fine/2", "again")
    ]
    assert tiny.same_arrays(ends[0].training, ends[1].training)
    assert ends[0].provenance.command == ("vdgi", *words)


def test_other_test_sentences_are_scored_without_training(whole, vdgi, folder, monkeypatch):
    shutil.copytree(whole[0], folder / "copy")
    monkeypatch.chdir(folder / "copy")
    model = Path("out/xx/first/1/model.vdgi").read_bytes()
    tiny.write(Path("xx-test.conllu"), 5)
    err = vdgi.good(*FIRST_ONLY, "--seeds", "1").err
    assert "2 runs: 2 resume\n" in err
    assert Path("out/xx/first/1/model.vdgi").read_bytes() == model
    assert (
        Path("out/xx/first/1/xx-test.parsed.conllu").read_text(encoding="utf-8").count("sent_id")
        == 5
    )


def begun(run: Path) -> Callable[[], bool]:
    """True while a run has a checkpoint and no result."""
    return lambda: (run / "model.vdgi").exists() and not (run / "result.json").exists()


def figures(folder: Path) -> list[dict[str, float]]:
    """Those of the two runs of the first system."""
    paths = [folder / "out" / "xx" / "first" / seed / "result.json" for seed in "12"]
    return [recorded(path)["rows"][0]["dda"] for path in paths]


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_interrupted_and_killed_it_goes_on_to_the_same_results(whole, folder):
    write_plan(folder)
    with process(*FIRST_ONLY) as running:
        wait_for(begun(Path("out/xx/first/1")), running)
        running.send_signal(signal.SIGINT)
        _, err = running.communicate()
    assert running.returncode == 130
    assert last_line(err.decode()) == "interrupted; 1 of 3 runs are done; the same command goes on"
    assert b"Traceback" not in err
    with process(*FIRST_ONLY) as running:
        wait_for(begun(Path("out/xx/first/2")), running)
        running.kill()
        _, err = running.communicate()
    assert b"3 runs: 1 done, 1 resume, 1 new\n" in err
    status, _, again = finished(*FIRST_ONLY)
    assert status == 0, again
    assert b"3 runs: 2 done, 1 resume\n" in (again or b"")
    assert figures(folder) == figures(whole[0])
    assert not Path("out/.replaced").exists()


RIVALS = """
seeds = [3, 4]
[[treebank]]
name = "xx"
train = ["xx-train.conllu"]
test = ["xx-test.conllu"]
presets = ["wsj"]
[[system]]
name = "Convex-MST"
presets = ["convex-mst"]
set = ["teacher.iterations=2"]
trees = "teacher"
seeds = 1
[[system]]
name = "RF"
presets = ["rf"]
trees = "teacher"
"""
"""Systems scored by the trees of their teachers; presets of the treebank are for parsers."""


def test_a_system_is_scored_by_the_trees_of_its_teacher(folder):
    jobs = jobs_of(write_plan(folder, RIVALS))
    assert [*jobs][1:] == ["xx/Convex-MST/3", "xx/RF/3", "xx/RF/4"]
    one = jobs["xx/Convex-MST/3"]
    assert (one.trees, one.settings().rules) == ("teacher", "ud")
    one.folder.mkdir(parents=True)
    job.do(one)
    (row,) = tables.read([Path("out")])
    text, gold = (prepare(read(f"xx-{part}.conllu")).sentences for part in ("train", "test"))
    teacher = ConvexMst(iterations=2)
    trees = teacher.fit(text, Prior.of_text(load_rules(rules_path("ud")), text)).heads(gold)
    right = sum(a == b for s, tree in zip(gold, trees) for a, b in zip(s.heads or (), tree))
    assert row.dda["all"] == pytest.approx(100 * right / sum(map(len, gold)))
    parsed = read(one.folder / "xx-test.parsed.conllu", heads="required")
    assert [sentence.heads for sentence in prepare(parsed).sentences] == trees
    assert [line["iteration"] for line in RunLog(one.folder / "log.jsonl").rows()] == [1, 2]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('presets = ["rf"]', 'presets = ["paper"]', "recipe 'neural' has none: name a preset"),
        ('trees = "teacher"', 'trees = "student"', "Invalid enum value 'student'"),
        (
            'presets = ["rf"]\ntrees = "teacher"',
            'presets = ["paper"]\nafter = "Convex-MST"',
            "'Convex-MST', before it, has fewer seeds",
        ),
    ],
)
def test_a_system_without_a_teacher_says_so(folder, vdgi, old, new, message):
    plan_file = write_plan(folder, RIVALS.replace(old, new))
    result = vdgi("experiment", plan_file, "--out", "out", "--dry-run")
    assert (result.status, message in result.err) == (4, True), result.err
