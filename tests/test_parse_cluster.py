"""`vdgi parse --scheduler`: a cluster of this machine gives what a local parse gives, whatever happens."""

from __future__ import annotations

import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import tiny
from clusters import Cluster, running_cluster
from shell import names_in, process, wait_for

from dynet_vdgi.data import conllu_blocks
from dynet_vdgi.parsing import files
from dynet_vdgi.parsing import parser as parser_module
from dynet_vdgi.parsing.files import FileParser, parse_window
from dynet_vdgi.parsing.parser import How, load
from dynet_vdgi.recipes.neural import NeuralEngine
from dynet_vdgi.system.processes import connected

dask = pytest.importorskip("dask", reason="Dask, of the extra cluster, is not installed")
pytest.importorskip("distributed", reason="Dask, of the extra cluster, is not installed")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two workers, of which one has two threads."""
    with running_cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        for n_threads in (1, 2):
            cluster.start_worker(n_threads)
        with connected(cluster.address) as found:
            found.wait_for_workers(2)
        yield cluster


@pytest.fixture(scope="module")
def watch(cluster: Cluster) -> Iterator[Any]:
    """A client of the cluster that sees what its workers do."""
    with connected(cluster.address) as found:
        yield found


@pytest.fixture(autouse=True)
def small_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of some ten sentences; the beginning of the text is as small."""
    monkeypatch.setattr(conllu_blocks, "WINDOW", 1500)
    monkeypatch.setattr(NeuralEngine, "windows", 1)
    monkeypatch.setattr(parser_module, "MEASURED", 10)
    monkeypatch.setattr(parser_module, "LOOKED_AT", 10)


def write(path: Path, end: str = "") -> Path:
    """300 sentences, then two with unknown tags: twenty windows."""
    unknown = tiny.block(1, ["SYM", "VERB"], None) + tiny.block(2, ["X", "X", "SYM"], None)
    path.write_text(tiny.treebank(300, heads=False) + unknown + end, encoding="utf-8")
    return path


def tasks(watch: Any) -> int:
    """How many tasks the scheduler knows, done or not."""
    return int(watch.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)))


def is_busy(watch: Any) -> Callable[[], bool]:
    """True while some worker has something to do."""
    return lambda: any(watch.processing().values())


@contextmanager
def stopped(workers: list[subprocess.Popen[bytes]]) -> Iterator[None]:
    """Workers that do nothing in the meantime; they go on whatever happens."""
    try:
        for worker in workers:
            worker.send_signal(signal.SIGSTOP)
        yield
    finally:
        for worker in workers:
            worker.send_signal(signal.SIGCONT)


def test_the_output_is_that_of_a_local_parse(model, folder, vdgi, cluster):
    write(folder / "in.conllu")
    local = vdgi.good("-q", "parse", model, "in.conllu")
    assert vdgi.good("-q", "parse", model, "in.conllu", "--scheduler", cluster.address) == local
    assert "warning: tags SYM X (4 words) are unknown to the model and were ignored; " in local.err


@pytest.mark.parametrize("end", [b"", b"\xff"])
def test_the_first_fault_in_the_input(model, folder, vdgi, cluster, end):
    """The second would be found by the process that reads."""
    text = write(folder / "in.conllu", tiny.NINE_COLUMNS + tiny.treebank(100)).read_text(encoding="utf-8")
    (folder / "in.conllu").write_bytes(text.encode() + end)
    line = text[: text.index("1\tword")].count("\n") + 1
    command = ("-q", "parse", model, "in.conllu", "-o", "out.conllu")
    result = vdgi(*command, "--scheduler", cluster.address)
    assert result == vdgi(*command)
    assert result.status == 3
    assert result.err.startswith(f"in.conllu:{line}: expected 10 tab-separated columns, found 9")
    assert names_in(folder) == ["in.conllu"]


def test_workers_of_another_version(model, folder, vdgi, cluster, monkeypatch):
    write(folder / "in.conllu")
    here = files.__version__
    monkeypatch.setattr(files, "__version__", "0.0")
    status, out, err = vdgi("parse", model, "in.conllu", "--scheduler", cluster.address)
    assert (status, out) == (2, "")
    assert err == f"the cluster's workers have dynet_vdgi {here}, not 0.0 as here\n"


def test_neither_side_holds_more_than_needed(model, folder, cluster, watch):
    blocks = list(conllu_blocks.blocks(write(folder / "in.conllu")))
    taken = 0

    def counted() -> Iterator[conllu_blocks.Block]:
        nonlocal taken
        for block in blocks:
            taken += 1
            yield block

    windows = list(conllu_blocks.windows(iter(blocks)))
    assert len(windows) > 10
    n_under_way = 2 * sum(watch.nthreads().values())
    for k, _ in enumerate(FileParser(load(model), scheduler=cluster.address).windows(counted())):
        assert taken == sum(map(len, windows[: n_under_way + k]))
    wait_for(lambda: tasks(watch) == 0, cluster.workers()[0])  # no model, no window and no result


def test_all_workers_are_killed_and_others_come(model, folder, cluster, watch, caplog):
    """What they had begun is done again; the model, which only they had, is made again."""
    blocks = list(conllu_blocks.blocks(write(folder / "in.conllu")))
    expected = list(FileParser(load(model)).windows(iter(blocks)))
    killed = cluster.workers()
    with ThreadPoolExecutor(1) as thread:
        parsed = FileParser(load(model), scheduler=cluster.address).windows(iter(blocks))
        first = next(parsed)
        for worker in killed:
            worker.send_signal(signal.SIGSTOP)
        others = thread.submit(list, parsed)
        wait_for(is_busy(watch), killed[0])
        for worker in killed:
            worker.kill()
        wait_for(lambda: not watch.nthreads(), cluster.start_worker(2))
        with connected(cluster.address):
            pass
        assert [first, *others.result()] == expected
    assert f"--scheduler {cluster.address}: it has no workers yet; waiting for one" in caplog.messages


def test_a_scheduler_that_is_killed_is_told_in_one_line(model, folder, tmp_path_factory):
    write(folder / "in.conllu")
    patience = {"DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "1s"}
    with running_cluster(tmp_path_factory.mktemp("own")) as own:
        command = ("parse", model, "in.conllu", "-o", "out.conllu", "--scheduler", own.address)
        with process(*command, env=patience) as running:
            assert running.stderr is not None
            assert b"it has no workers yet; waiting for one" in running.stderr.readline()
            own.scheduler.kill()
            err = running.stderr.read()
    assert (running.returncode, err) == (1, b"the cluster is lost: its scheduler no longer answers\n")
    assert names_in(folder) == ["in.conllu"]


def test_threads_of_a_worker_share_a_parser(model, folder):
    """A window is told its own unknown tags, and nothing of it stays behind."""
    parser = load(model)
    window = [*conllu_blocks.blocks(write(folder / "in.conllu"))][-2:]
    parser.unknown_tags = before = Counter(OTHER=1)
    parsed = parse_window(parser, How(), False, window)
    assert parsed.unknown_tags == {"SYM": 2, "X": 2}
    assert parser.unknown_tags is before
    assert before == {"OTHER": 1}
