"""The `vdgi` command as scripts see it: usage, exit statuses, messages, interrupts."""

from __future__ import annotations

import io
import json
import os
import shlex
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import tiny
from shell import ROOT, Vdgi, finished, last_line, names_in, process, stop_at, training_arguments

import dynet_vdgi
from dynet_vdgi import cli
from dynet_vdgi.data.conllu import read
from dynet_vdgi.runs import model_file
from dynet_vdgi.variational import trainer

MALFORMED = ROOT / "tests" / "malformed"
VERBS = dynet_vdgi.cli.VERBS

# Help, version, wrong use


def test_help_of_everything(vdgi: Vdgi) -> None:
    result = vdgi.good("--help")
    assert all(f"\n  {verb} " in result.out for verb in VERBS)
    assert len(VERBS) <= 16
    assert result.out.count("\n") <= 24
    for verb in VERBS:
        assert vdgi.good(verb, "--help").out.startswith(f"usage: vdgi {verb} ")
    assert vdgi.good("--version").out == f"vdgi {dynet_vdgi.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["prase"], "vdgi: error: no verb 'prase'; did you mean 'parse'?"),
        (["train", "--train", "x"], "vdgi train: error: the following arguments are required: -o/--out"),
        (["train", "--train", "x", "--out", "y", "--seed", "z"], "--seed: invalid int value: 'z'"),
        (["parse"], "vdgi parse: error: the following arguments are required: MODEL"),
        (["evaluate"], "vdgi evaluate: error: the following arguments are required: GOLD"),
        (["check"], "vdgi check: error: the following arguments are required: FILE"),
        (["info"], "vdgi info: error: the following arguments are required: MODEL"),
        (["check", "a", "--nonsense"], "vdgi check: error: no option --nonsense"),
    ],
)
def test_wrong_use(vdgi: Vdgi, arguments: list[str], message: str) -> None:
    status, out, err = vdgi(*arguments)
    assert (status, out) == (2, "")
    assert err.startswith("usage: vdgi")
    assert message in err


HEAVY = """
import json, sys
from dynet_vdgi.cli import main
for arguments in json.loads(sys.argv[1]):
    status = main(arguments)
    found = {"dynet", "gensim", "tqdm", "matplotlib"} & set(sys.modules)
    print(*arguments, sorted(found), status, file=sys.stderr)
"""


def test_what_is_heavy_is_imported_only_where_needed(folder: Path) -> None:
    tiny.write(folder / "good.conllu")
    light = [["--help"], ["--version"], *([verb, "--help"] for verb in VERBS), ["check", "good.conllu"]]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", HEAVY, json.dumps(light)]
    result = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert result.stderr.splitlines() == [" ".join([*arguments, "[]", "0"]) for arguments in light]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("parse MODEL nix.conllu", "no such file: 'nix.conllu'"),
        ("parse MODEL goad.conllu", "no such file: 'goad.conllu' (did you mean 'good.conllu'?)"),
        ("parse MODEL x*.conllu", "no file matches 'x*.conllu'"),
        ("parse MODEL .", "'.' is a directory (name the files in it)"),
        ("parse MODEL good.conllu -o no/where", "cannot write 'no/where': the directory "),
        ("parse MODEL - -o {}.x", "{} in --output stands for a file name, and standard input "),
        ("parse MODEL good.conllu --jobs 0", "--jobs 0: must be at least 1"),
        ("evaluate good.conllu", "nothing to score: name a parse, or ask for --baselines"),
        ("evaluate - -", "standard input (-) can be read only once"),
        ("evaluate good.conllu --baselines --max-len ten", "--max-len ten: expected numbers of words"),
        ("evaluate good.conllu --baselines --max-len 10,0", "--max-len 10,0: expected numbers of "),
        ("evaluate good.conllu --baselines --by colour", "no break-down 'colour' (choose from tag, "),
        ("train --train - --out r", "training reads its files more than once: save standard input"),
        ("train --train good.conllu --out good.conllu", "good.conllu: exists and is not a folder"),
        (
            "train --train good.conllu --out good.conllu/r",
            "cannot make the folder 'good.conllu/r': Not a directory",
        ),
        (
            "train --train good.conllu --preset paper --out r --set train.select=dev",
            "train.select=dev chooses the model by gold dev trees: name them with --dev FILE",
        ),
        ("train --train nix.conllu --out r", "no such file: 'nix.conllu'"),
        ("check nix.conllu", "no such file: 'nix.conllu'"),
    ],
)
def test_impossible_wishes(vdgi: Vdgi, model: Path, folder: Path, command: str, message: str) -> None:
    tiny.write(folder / "good.conllu")
    status, out, err = vdgi(*(model if word == "MODEL" else word for word in shlex.split(command)))
    assert (status, out) == (2, "")
    assert last_line(err).startswith(message)
    assert names_in(folder) == ["good.conllu"]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("train --preset beste", "config: no preset 'beste'; did you mean 'best'?"),
        (
            "train --preset best --set parser.epoch=1",
            "config: no key 'parser.epoch'; did you mean 'parser.epochs'?",
        ),
        (
            "train --preset best --set teacher.iterations=-1",
            "config: 'teacher.iterations' must be at least 0, not -1",
        ),
        ("train --set lr", "config: cannot read 'lr'; write section.key=value, as in parser.epochs=5"),
        ("train --seed -1", "config: 'seed' must be from 0 to "),
        ("train --preset best --rules udd", "config: no rules 'udd'; did you mean 'ud'?"),
        (
            "train --preset best --rules nix.txt",
            "nix.txt: cannot read the rule file: No such file or directory",
        ),
        (
            "train --preset best --rules bad.txt",
            "bad.txt:2: expected head tag, dependent tag and expectation, found 2",
        ),
        (
            "train --preset best --rules 'q\"\\.txt'",
            'q"\\.txt: cannot read the rule file: No such file or directory',
        ),
        ("check good.conllu --rules nix.txt", "nix.txt: cannot read the rule file: No such file"),
        ("evaluate good.conllu --baselines --rules bad.txt", "bad.txt:2: expected head tag, "),
        ("evaluate good.conllu --baselines --protocol mine", "no protocol 'mine' (choose from "),
        ("parse nix.vdgi good.conllu", "nix.vdgi: no such model file"),
        ("parse bad.vdgi good.conllu", "bad.vdgi: not a vdgi model file (not a zip archive, or "),
        ("info .", "model.vdgi: no such model file (is '.' the folder of a run?)"),
        (
            "info good.conllu",
            "good.conllu: not a model, or damaged: vdgi info describes models, runs, taggers and tokenisers; "
            "vdgi check describes a text, vdgi expect its parse",
        ),
    ],
)
def test_faults_in_settings_rules_and_models(vdgi: Vdgi, folder: Path, command: str, message: str) -> None:
    tiny.write(folder / "good.conllu")
    Path("bad.txt").write_text("ROOT VERB 1\nVERB NOUN\n", encoding="utf-8")
    Path("bad.vdgi").write_text("damaged", encoding="utf-8")
    if command.startswith("train "):
        command += " --train good.conllu --out run"
    status, out, err = vdgi(*shlex.split(command))
    assert (status, out) == (4, "")
    assert last_line(err).startswith(message)
    assert names_in(folder) == ["bad.txt", "bad.vdgi", "good.conllu"]


# Faulty data: exit 3, the place as the message, nothing written


def test_training_on_a_malformed_file(vdgi: Vdgi, folder: Path) -> None:
    Path("bad.conllu").write_text(tiny.treebank(4) + tiny.NINE_COLUMNS, encoding="utf-8")
    line = tiny.treebank(4).count("\n") + 1
    status, out, err = vdgi("train", "--train", "bad.conllu", "--out", "run")
    assert (status, out) == (3, "")
    assert err == f"bad.conllu:{line}: expected 10 tab-separated columns, found 9\n"
    assert names_in(folder) == ["bad.conllu"]


def test_training_with_a_malformed_dev_file(vdgi: Vdgi, folder: Path) -> None:
    tiny.write(folder / "good.conllu")
    tiny.write(folder / "no-trees.conllu", heads=False)
    status, out, err = vdgi("train", "--train", "good.conllu", "--dev", "no-trees.conllu", "--out", "run")
    assert (status, out) == (3, "")
    assert last_line(err) == ("no-trees.conllu:2: column 7 (HEAD) is missing (trees are needed here)")
    assert names_in(folder) == ["good.conllu", "no-trees.conllu"]


def test_nothing_is_left_to_train_on(vdgi: Vdgi, folder: Path) -> None:
    tiny.write(folder / "good.conllu")
    status, out, err = vdgi("train", "--train", "good.conllu", "--out", "run", "--set", "data.max_len=2")
    assert (status, out) == (3, "")
    assert last_line(err) == (
        "good.conllu: no training sentence is left (see what was dropped, and data.max_len)"
    )
    assert "  dropped longer than 2 words: 12 sentences, " in err
    assert names_in(folder) == ["good.conllu"]


NEEDS_HEADS = ("head-required.conllu", "head-some-missing.conllu", "tree-all-roots.conllu")
"""Files that are sound as text, and faulty where trees are needed."""


@pytest.mark.parametrize("name", sorted(path.name for path in MALFORMED.iterdir()))
def test_every_malformed_file_is_refused_with_its_place(vdgi: Vdgi, folder: Path, name: str) -> None:
    path = MALFORMED / name
    needs_heads = name in NEEDS_HEADS
    status, out, err = vdgi("evaluate", path, path) if needs_heads else vdgi("check", path)
    message = last_line(err) if needs_heads else out.splitlines()[0]
    assert status == 3
    assert message.startswith(str(path) + ":")
    if not needs_heads:
        assert err.endswith("found\n")


def test_a_fault_in_the_fifth_sentence_leaves_standard_output_empty(
    vdgi: Vdgi, model: Path, folder: Path
) -> None:
    Path("bad.conllu").write_text(tiny.treebank(4) + tiny.NINE_COLUMNS + tiny.treebank(2), encoding="utf-8")
    status, out, err = vdgi("parse", model, "bad.conllu")
    assert (status, out) == (3, "")
    assert last_line(err).endswith(": expected 10 tab-separated columns, found 9")


def test_a_fault_leaves_the_old_output(vdgi: Vdgi, model: Path, folder: Path) -> None:
    tiny.write(folder / "good.conllu")
    Path("bad.conllu").write_text(tiny.NINE_COLUMNS, encoding="utf-8")
    Path("old.conllu").write_text("old", encoding="utf-8")
    status, out, err = vdgi("parse", model, "good.conllu", "bad.conllu", "-o", "old.conllu")
    assert (status, out) == (3, "")
    assert last_line(err).startswith("bad.conllu:1: ")
    assert Path("old.conllu").read_text(encoding="utf-8") == "old"
    assert names_in(folder) == ["bad.conllu", "good.conllu", "old.conllu"]


def test_a_fault_in_standard_input(vdgi: Vdgi, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(tiny.NINE_COLUMNS.encode())))
    status, out, err = vdgi("parse", model)
    assert (status, out) == (3, "")
    assert last_line(err) == "<stdin>:1: expected 10 tab-separated columns, found 9"


# Interrupts, closed pipes, bugs


@pytest.mark.slow
def test_an_interrupted_training_names_its_checkpoint(
    vdgi: Vdgi, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trainer, "SAVE_EVERY_S", -1.0)
    with monkeypatch.context() as patch:
        stop_at(patch, 3, KeyboardInterrupt())
        status, out, err = vdgi(*training_arguments())
    assert (status, out) == (130, "")
    assert last_line(err) == f"interrupted; last checkpoint {Path('run/model.vdgi')}; go on with --resume"
    result = vdgi.good(*training_arguments(), "--resume")
    assert "resuming after update 2" in result.err
    vdgi.good(*training_arguments("whole"))
    ends = [model_file.load(f"{out}/model.vdgi", training=True) for out in ("run", "whole")]
    for one, other in zip(ends[0].training.values(), ends[1].training.values()):
        assert one.tobytes() == other.tobytes()


def test_an_interrupt_before_the_first_checkpoint(
    vdgi: Vdgi, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop_at(monkeypatch, 1, KeyboardInterrupt())
    status, out, err = vdgi(*training_arguments())
    assert (status, out) == (130, "")
    assert last_line(err) == "interrupted; nothing saved yet"


def test_an_interrupt_elsewhere(
    vdgi: Vdgi, model: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny.write(folder / "good.conllu")

    def interrupted(*arguments: Any, **options: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(model_file, "load", interrupted)
    assert vdgi("info", model) == (130, "", "interrupted\n")


@pytest.mark.slow
def test_a_real_interrupt(model: Path) -> None:
    with process("parse", model) as running:
        assert running.stdin is not None
        running.stdin.write((tiny.treebank(12) * 400).encode())  # more than the pipe holds: it reads by now
        running.stdin.flush()
        running.send_signal(signal.SIGINT)
        out, err = running.communicate()
    assert (running.returncode, out) == (130, b"")
    assert last_line(err.decode()) == "interrupted"


def test_a_reader_that_goes_away(model: Path, folder: Path) -> None:
    (folder / "big.conllu").write_text(tiny.treebank(12) * 200, encoding="utf-8")
    with process("-q", "parse", model, "big.conllu") as running:
        assert running.stdout is not None
        assert running.stderr is not None
        assert running.stdout.readline() == b"# sent_id = 0\n"
        running.stdout.close()
        err = running.stderr.read()
    assert (running.returncode, err) == (141, b"")


def test_a_short_result_that_nobody_reads(model: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    assert finished("info", model, stdout=writing) == (141, None, b"")
    os.close(writing)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
def test_a_full_disk(model: Path, folder: Path) -> None:
    tiny.write(folder / "good.conllu")
    for arguments in (["info", model], ["-q", "parse", model, "good.conllu"]):
        with open("/dev/full", "w") as full:
            status, _, err = finished(*arguments, stdout=full)
            assert (status, err) == (2, b"cannot write the output: No space left on device\n")


@pytest.mark.skipif(os.name != "posix", reason="closes a descriptor in the child")
def test_closed_standard_streams(model: Path, folder: Path) -> None:
    tiny.write(folder / "good.conllu")
    for descriptor in (1, 2):
        arguments = ("parse", model, "good.conllu", "-o", f"{descriptor}.conllu")
        status, out, _ = finished(*arguments, preexec_fn=partial(os.close, descriptor))
        assert (status, out) == (0, b"")
        assert len(list(read(f"{descriptor}.conllu"))) == 12


def test_a_terminal_without_the_letters_of_a_name(folder: Path) -> None:
    Path("š.conllu").write_text(tiny.block(1, ["ИМЯ"], [0]), encoding="utf-8")
    environment = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    status, out, _ = finished("check", "š.conllu", env=environment)
    assert status == 0
    assert out.startswith(b"\\u0161.conllu: sound\n")


def test_a_terminal_of_ascii_gets_arcs_of_ascii(folder: Path) -> None:
    tiny.write(folder / "good.conllu", 2)
    options = ("draw", "good.conllu", "-o", "-")
    environment = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    _, usual, _ = finished(*options, env={"PYTHONIOENCODING": "utf-8"})
    status, out, _ = finished(*options, env=environment)
    assert status == 0
    assert out.decode("ascii") == usual.decode().translate(str.maketrans("─│┌┐└┘├┤┬┴┼", "-|" + 9 * "+"))
    assert b"\\u" not in out


def test_a_bug_is_called_one(vdgi: Vdgi, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: Any, **options: Any) -> None:
        raise RuntimeError("matrix is not a number")

    monkeypatch.setattr(model_file, "load", broken)
    status, out, err = vdgi("info", model)
    assert (status, out) == (1, "")
    assert err == (
        "internal error: RuntimeError: matrix is not a number\n"
        "This is a bug. Please report it with what `vdgi --debug ...` prints.\n"
    )


def test_debug_shows_the_traceback(capsys: pytest.CaptureFixture[str], vdgi: Vdgi) -> None:
    assert cli.main(["--debug", "info", "nix.vdgi"]) == 4
    err = capsys.readouterr().err
    assert err.startswith("Traceback (most recent call last):\n")
    assert "description(" in err
    assert last_line(err) == "nix.vdgi: no such model file (there are: universal)"


def test_divergence_is_no_bug_but_a_failure(folder: Path) -> None:
    """In a process of its own: what is not finite stays in DyNet's memory and spoils its later products."""
    status, out, err = finished(*training_arguments("run", "--set", "train.lr=1e20"))
    assert (status, out) == (1, b"")
    assert last_line(err.decode()).startswith("training diverged: ")
    assert b"Traceback" not in err


# The order of arguments, help, hints


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["parse", "M", "--confidence", "F"], {"model": "M", "files": ["F"], "confidence": True}),
        (["parse", "M", "-o", "O", "F", "G"], {"model": "M", "files": ["F", "G"], "output": "O"}),
        (["parse", "-o", "O", "M"], {"model": "M", "files": ["-"], "output": "O"}),
        (["parse", "M", "--", "-F"], {"model": "M", "files": ["-F"]}),
        (["parse", "M", "F", "--jobs", "2", "-"], {"model": "M", "files": ["F", "-"], "jobs": 2}),
        (["evaluate", "G", "--max-len", "10", "P"], {"gold": "G", "max_len": "10"}),
        (["check", "A", "--max-faults", "3", "B"], {"files": ["A", "B"], "max_faults": 3}),
        (["convert", "wsj", "--sections", "2", "D"], {"folder": "D", "sections": "2"}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_options_may_stand_between_files(arguments: list[str], expected: dict[str, Any]) -> None:
    found = vars(cli.build_parser().parse_args(arguments))
    assert {name: found[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("arguments", "usage", "message"),
    [
        (["parse", "M", "--exatc", "F"], "usage: vdgi parse", "no option --exatc; did you mean '--exact'?"),
        (["-V"], "usage: vdgi [-h]", "no option -V"),
        (["--no-such"], "usage: vdgi [-h]", "no option --no-such"),
        (["--versoin"], "usage: vdgi [-h]", "no option --versoin; did you mean '--version'?"),
        (["tag", "list"], "usage: vdgi tag list", "the following arguments are required: TEXT"),
        (["prase", "M"], "usage: vdgi [-h]", "no verb 'prase'; did you mean 'parse'? (there are: train, "),
        (["help", "chekc"], "usage: vdgi [-h]", "no verb 'chekc'; did you mean 'check'?"),
    ],
)
def test_wrong_use_shows_the_verbs_usage_and_what_was_meant(
    vdgi: Vdgi, arguments: list[str], usage: str, message: str
) -> None:
    status, _, err = vdgi(*arguments)
    assert status == 2
    assert message in last_line(err)
    assert err.startswith(usage)
    assert err.count("\n") == 2


def test_the_command_alone_lists_its_verbs(vdgi: Vdgi) -> None:
    assert vdgi() == (2, "", vdgi.good("--help").out)


def test_options_of_all_verbs_may_stand_anywhere(vdgi: Vdgi, model: Path, folder: Path) -> None:
    tiny.write(folder / "good.conllu")
    expected = vdgi.good("-q", "parse", model, "good.conllu")
    for arguments in (["parse", "-q", model, "good.conllu"], ["parse", model, "good.conllu", "--quiet"]):
        assert vdgi(*arguments) == expected
    assert expected.err == ""
    assert (
        "Traceback"
        in subprocess.run(
            [sys.executable, "-m", "dynet_vdgi", "info", "nix.vdgi", "--debug"],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        ).stderr
    )
    assert "--quiet" not in vdgi.good("parse", "--help").out


def test_help_of_a_verb(vdgi: Vdgi) -> None:
    assert vdgi.good("help").out == vdgi.good("--help").out
    for verb in VERBS:
        assert vdgi.good("help", verb).out == vdgi.good(verb, "--help").out
    for verb, task in (("tag", "train"), ("tag", "words"), ("rules", "explain"), ("convert", "wsj")):
        assert vdgi.good("help", verb, task).out == vdgi.good(verb, task, "--help").out
    assert vdgi("help", "tag", "tran") == (2, "", "vdgi tag has no task 'tran'; did you mean 'train'?\n")
    assert vdgi("help", "parse", "train") == (2, "", "vdgi parse has no task 'train'\n")


def test_shells_are_told_the_completions(tmp_path: Path) -> None:
    pytest.importorskip("argcomplete")
    completions = tmp_path / "completions"
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_IFS": "\n",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(completions),
        "COMP_LINE": "vdgi parse --con",
        "COMP_POINT": "16",
    }
    subprocess.run([sys.executable, "-m", "dynet_vdgi"], env=environment, check=False)
    assert completions.read_text().strip() == "--confidence"


# ------------------------------------------------------------------------------------------- help
VERBS_AND_TASKS = [
    *([verb] for verb in ("help", *cli.VERBS)),
    *(["rules", task] for task in ("show", "explain", "estimate")),
    ["convert", "wsj"],
    *(["tag", task] for task in ("train", "words", "list", "evaluate")),
    *(["tokenize", task] for task in ("text", "train")),
    *(["experiment", task] for task in ("run", "table")),
    [],
]


@pytest.mark.parametrize("columns", [200, 80, 60])
@pytest.mark.parametrize("verb", VERBS_AND_TASKS, ids=" ".join)
def test_help_fits_the_terminal(
    vdgi: Vdgi, monkeypatch: pytest.MonkeyPatch, verb: list[str], columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    status, out, _ = vdgi(*verb, "--help")
    assert status == 0
    assert [line for line in out.splitlines() if len(line) > min(columns, 80)] == []


def test_a_command_too_long_for_a_line_of_help_goes_on_below_its_comment(
    vdgi: Vdgi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    _, out, _ = vdgi("train", "--help")
    assert (
        "  # learn from some trees as well\n"
        "  vdgi train --train my.conllu --trees corrected.conllu --out runs/my3\n"
    ) in out
    assert "  vdgi train --treebank fr fr.conllu --treebank it it.conllu --out \\\n" in out


# ------------------------------------------------------------------------------------------- small things
def test_a_model_with_a_similar_name_is_named(vdgi: Vdgi, folder: Path) -> None:
    Path("rmy").mkdir()
    _, _, err = vdgi("info", "rmyy")
    assert last_line(err) == "rmyy: no such model file; did you mean 'rmy'?"


def test_runs_beside_a_missing_model_and_those_of_the_package_are_named(vdgi: Vdgi, folder: Path) -> None:
    for name in ("runs/second", "runs/first", "runs/empty"):
        Path(name).mkdir(parents=True)
        if name != "runs/empty":
            Path(name, "model.vdgi").touch()
    _, _, err = vdgi("info", "runs/nope")
    assert last_line(err) == ("runs/nope: no such model file (there are: runs/first, runs/second, universal)")
    _, _, err = vdgi("info", "nowhere/nope")
    assert last_line(err) == "nowhere/nope: no such model file (there are: universal)"


def test_of_many_names_a_message_lists_some(vdgi: Vdgi, folder: Path) -> None:
    _, _, err = vdgi("train", "--train", "good.conllu", "--preset", "papr", "--out", "run")
    assert "no preset 'papr'; did you mean 'paper'? (there are: as_released, " in err
    assert last_line(err).endswith(" more)")
    assert last_line(err).count(",") == 7


def test_a_sentence_that_is_not_there_is_told_with_those_that_are(vdgi: Vdgi, tmp_path: Path) -> None:
    Path(tmp_path / "two.conllu").write_text("1\ta\t_\tX\t_\t_\t0\troot\t_\t_\n\n" * 2, encoding="utf-8")
    status, _, err = vdgi("draw", tmp_path / "two.conllu", "--sentence", "99")
    assert (status, last_line(err)) == (
        2,
        f"no sentence '99' in {tmp_path / 'two.conllu'} (it has 2 sentences, 1 to 2)",
    )


def test_of_a_file_without_a_sound_sentence_only_the_faults_are_told(vdgi: Vdgi, tmp_path: Path) -> None:
    Path(tmp_path / "bad.conllu").write_text("1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n\n", encoding="utf-8")
    status, out, _ = vdgi("check", tmp_path / "bad.conllu")
    assert status == 3
    assert out.splitlines()[1:] == [
        f"{tmp_path / 'bad.conllu'}: 1 fault",
        "  no sound sentence: nothing to describe",
    ]


def test_one_is_told_in_the_singular(vdgi: Vdgi, tmp_path: Path) -> None:
    one = "1-2\tab\t_\t_\t_\t_\t_\t_\t_\t_\n1\ta\t_\tX\t_\t_\t0\troot\t_\t_\n2\tb\t_\tX\t_\t_\t1\tdep\t_\t_\n"
    Path(tmp_path / "one.conllu").write_text(f"{one}2.1\te\t_\t_\t_\t_\t_\t_\t_\t_\n\n", encoding="utf-8")
    _, out, _ = vdgi("check", tmp_path / "one.conllu")
    assert "(1 multiword token, 1 empty node)" in out
    assert "1 of 1 sentence (100.0 %), 2 of 2 words (100.0 %)" in out
    assert "1 sentence, 100.0 % projective" in out
