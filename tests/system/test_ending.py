"""How the program ends: signals, workers that are killed, parents that are."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import tiny
from shell import ROOT, Vdgi, names_in, training_arguments

from dynet_vdgi import cli
from dynet_vdgi.conllu import blocks
from dynet_vdgi.errors import VdgiError
from dynet_vdgi.paper.trainer import Trainer
from dynet_vdgi.parser.file_parser import ParsedWindow, Totals
from dynet_vdgi.system.locks import at_work
from dynet_vdgi.system.signals import ended_by_signals
from dynet_vdgi.system.workers import processes


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_ends_training_as_ctrl_c_does(
    number: int, status: int, vdgi: Vdgi, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = Trainer.update

    def update(self: Trainer, batch: object) -> float:
        if self.updates == 3:
            os.kill(os.getpid(), number)
        return original(self, batch)  # type: ignore[arg-type]

    monkeypatch.setattr(Trainer, "update", update)
    result = vdgi(*training_arguments("run"))
    assert result.status == status
    assert result.err.endswith("interrupted; last checkpoint run/model.vdgi; go on with --resume\n")
    assert names_in(folder / "run") == ["log.jsonl", "model.vdgi", "settings.toml"]
    assert signal.getsignal(number) == signal.SIG_DFL


def test_ctrl_c_while_the_program_is_loaded_ends_it_without_a_traceback(tmp_path: Path) -> None:
    """Python reads this `sitecustomize` first; the signal comes where cli imports argparse."""
    (tmp_path / "sitecustomize.py").write_text(
        "import os, signal, sys\n"
        "class Interrupter:\n"
        "    def find_spec(self, name, *others):\n"
        "        if name == 'argparse':\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupter())\n"
    )
    path = os.pathsep.join([str(tmp_path), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-m", "dynet_vdgi", "check", "x"],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")
    assert '"vdgi = dynet_vdgi.__main__:run"' in (ROOT / "setup.py").read_text(encoding="utf-8")


def test_only_the_first_signal_interrupts_and_an_ignored_one_does_not() -> None:
    with ended_by_signals() as received:
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGHUP)
    assert received == [signal.SIGTERM]
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with ended_by_signals() as received:
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)
    assert received == []


def _nothing() -> None:
    pass


def _die(marks: str, times: int) -> str:
    """Dies so many times, then gives an answer."""
    count = len(os.listdir(marks))
    if count < times:
        Path(marks, str(count)).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "done"


def test_what_a_killed_worker_did_is_done_again_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with processes(1, _nothing) as submit:
        assert submit(_die, str(tmp_path), 1).result() == "done"
        assert caplog.messages == ["a worker process died; its work is repeated"]
        with pytest.raises(VdgiError, match="a worker process died twice"):
            submit(_die, str(tmp_path), 9).result()


def test_a_text_whose_worker_is_killed_is_parsed_as_without_jobs(
    vdgi: Vdgi, model: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of two workers gets SIGKILL when the first of many windows is written; nothing is lost or
    changed."""
    tiny.write(folder / "text.conllu", 400, heads=False)
    monkeypatch.setattr(blocks, "WINDOW", 200)
    vdgi.good("parse", model, "text.conllu", "-o", "plain.conllu")
    killed: list[int] = []
    add = Totals.add

    def kill_a_worker(totals: Totals, parsed: ParsedWindow) -> None:
        if not killed:
            killed.append(multiprocessing.active_children()[0].pid or 0)
            os.kill(killed[0], signal.SIGKILL)
        add(totals, parsed)

    monkeypatch.setattr(Totals, "add", kill_a_worker)
    result = vdgi.good("parse", model, "text.conllu", "-o", "parsed.conllu", "--jobs", "2")
    assert (len(killed), result.err.count("a worker process died; its work is repeated")) == (1, 1)
    assert Path("parsed.conllu").read_bytes() == Path("plain.conllu").read_bytes()


PARENT = """
import os, time
from dynet_vdgi.page.learn.learner import Learner
from dynet_vdgi.system.workers import processes

class Busy:
    def __reduce__(self):
        return time.sleep, (60,)

if __name__ == "__main__":
    {start}
    time.sleep(60)
"""

STARTS = {
    "parse": """with processes(1, time.sleep, 0) as submit:
        print(submit(os.getpid).result(), flush=True)
        time.sleep(60)""",
    "annotate, while it learns": """learner = Learner()
    learner.learn("parser", {}, [], {})
    print(learner._lessons._process.pid, flush=True)
    learner.learn("parser", Busy(), [], {})""",
}


@pytest.mark.parametrize("name", STARTS)
def test_workers_end_with_a_parent_that_is_killed(name: str, tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(PARENT.format(start=STARTS[name]), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, script], stdout=subprocess.PIPE, env=environment
    ) as parent:
        assert parent.stdout is not None
        worker = int(parent.stdout.readline())
        parent.kill()
    end = time.monotonic() + 60
    while _is_running(worker):
        assert time.monotonic() < end
        time.sleep(0.01)


def _is_running(process: int) -> bool:
    try:
        state = (
            Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
        )
    except FileNotFoundError:
        return False
    return state != "Z"


def test_out_of_memory_is_told_as_what_it_is(
    vdgi: Vdgi, model: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(arguments: object) -> None:
        raise MemoryError

    monkeypatch.setattr("dynet_vdgi.commands.info.run", run)
    result = vdgi("info", model)
    assert result == (
        cli.EXIT_BUG,
        "",
        "there is not enough memory (ulimit -v?); nothing was written\n",
    )


def test_two_trainings_do_not_share_a_folder(vdgi: Vdgi, folder: Path) -> None:
    arguments = training_arguments("run")
    Path("run").mkdir()
    with at_work(Path("run")):
        status, _, err = vdgi(*arguments)
    assert status == 2
    assert err.endswith(
        "run: another process is at work in it; wait for it, or choose another --out\n"
    )
    assert names_in(folder / "run") == []
    vdgi.good(*arguments)
