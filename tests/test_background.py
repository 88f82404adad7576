"""Kernels that another process compiles while a text is parsed without them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import dynet_vdgi
from dynet_vdgi.compiled import background, machine_code
from dynet_vdgi.data import columns
from dynet_vdgi.data.conllu_blocks import Passage
from dynet_vdgi.labels.label_table import load as load_labels
from dynet_vdgi.parsing import stream
from dynet_vdgi.parsing.parser import GREEDY, Parser
from dynet_vdgi.parsing.quick import QuickParser

DEMO = Path(__file__).parents[1] / "resources" / "demo" / "demo-ud-test.conllu"
KERNELS = "_SCAN", "_NUMBER", "_RESTORE", "_WRITE"


@pytest.fixture(autouse=True)
def none_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "_processes", {})


@pytest.fixture
def slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that the module `slow_module` makes when it begins to compile, which takes a minute."""
    begun = tmp_path / "begun"
    (tmp_path / "slow_module.py").write_text(
        f"import time\ndef make_ready():\n    open({str(begun)!r}, 'a').write('x')\n    time.sleep(60)\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    return begun


def test_nothing_is_begun_unless_it_is_asked_for(slow: Path) -> None:
    assert not background.is_compiling("slow_module", begin=False)
    assert not background._processes


def test_one_process_compiles_and_ends_with_this_one(slow: Path) -> None:
    assert background.is_compiling("slow_module", begin=True)
    process = background._processes["slow_module"]
    assert process is not None
    assert background.is_compiling("slow_module", begin=True)
    assert background.is_compiling("slow_module", begin=False)
    assert background._processes == {"slow_module": process}
    background._end(process)
    assert not background.is_compiling("slow_module", begin=True)  # not again


def test_a_program_does_not_wait_for_what_it_began(slow: Path) -> None:
    code = (
        f"import sys; sys.path[:] = {sys.path!r}\n"
        "from dynet_vdgi.compiled import background\nimport os, time\n"
        "assert background.is_compiling('slow_module', begin=True)\n"
        f"while not os.path.exists({str(slow)!r}): time.sleep(.05)\n"
        "print(background._processes['slow_module'].pid)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=50, check=True
    )
    assert slow.read_text(encoding="utf-8") == "x"
    assert not Path(f"/proc/{int(done.stdout)}").exists()


def test_a_process_that_fails_is_not_waited_for() -> None:
    background.is_compiling("no_such_module", begin=True)
    process = background._processes["no_such_module"]
    assert process is not None
    process.wait(60)
    assert not background.is_compiling("no_such_module", begin=True)


def test_worker_processes_begin_none(slow: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "is_allowed", False)
    assert not background.is_compiling("slow_module", begin=True)


def test_without_room_for_a_process_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise BlockingIOError

    monkeypatch.setattr(subprocess, "Popen", full)
    assert not background.is_compiling("slow_module", begin=True)


@pytest.mark.parametrize("name", ["universal", "best"])
def test_what_is_made_ready_is_all_that_columns_need(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = list(dynet_vdgi.read(DEMO))[:60]
    parser = dynet_vdgi.load(name).measured(text) if name == "universal" else dynet_vdgi.train(text, name)
    engine = stream._LabellingParser(parser, load_labels())
    natives: dict[str, dict[str, object]] = {kernel: {} for kernel in KERNELS}
    for kernel, known in natives.items():
        monkeypatch.setattr(getattr(columns, kernel), "_natives", known)
    columns.make_ready()
    before = {kernel: set(known) for kernel, known in natives.items()}
    assert all(before.values())
    assert QuickParser(engine.parser, engine.labeller).parse(DEMO.read_bytes(), GREEDY, None) is not None
    assert {kernel: set(known) for kernel, known in natives.items()} == before


def test_windows_are_parsed_without_columns_while_these_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    parser = dynet_vdgi.load("universal").measured(DEMO)
    engine = stream._LabellingParser(parser, None)
    text, wanted = Passage("a.conllu", 1, DEMO.read_bytes()), stream.Wanted(GREEDY, None)
    asked: list[bool] = []

    def is_compiling(module: str, *, begin: bool) -> bool:
        assert module == "dynet_vdgi.data.columns"
        asked.append(begin)
        return len(asked) <= 2

    monkeypatch.setattr(background, "is_compiling", is_compiling)
    monkeypatch.setattr(columns, "WORTH_COMPILING_BESIDE", 1)
    monkeypatch.setattr(columns, "is_ready", lambda: len(asked) > 1)
    monkeypatch.setattr(stream, "is_worth_it", lambda n_chars: True)
    assert engine.quick_for(wanted, len(text.content)) is None
    slow = stream._parse_window(engine, wanted, text, 0)
    quick = stream._parse_window(engine, wanted, text, 0)
    assert asked == [True, True, False]
    assert slow.content == quick.content
    assert "_quick" in vars(engine)


@pytest.mark.parametrize(("size", "n_begun"), [(1_000_000, 1), (10_000, 0)])
def test_kernels_for_the_next_windows_are_begun_before_a_full_first_one(
    size: int, n_begun: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = DEMO.read_bytes()
    asked: list[bool] = []
    monkeypatch.setattr(background, "is_compiling", lambda module, *, begin: asked.append(begin))
    monkeypatch.setattr(columns, "is_ready", lambda: False)
    with stream.Stream("universal") as parsing:
        windows = iter([Passage("a.conllu", 1, text * (1 + size // len(text)))])
        next(parsing._foreseen(windows))
    assert asked == [True] * n_begun


def test_the_first_program_to_compile_leaves_the_known_answer_to_the_other_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun: list[str] = []
    monkeypatch.setattr(machine_code, "_is_proven", False)
    monkeypatch.setattr(machine_code, "has_passed", lambda: bool(begun))
    monkeypatch.setattr(background, "is_busy", lambda: True)
    monkeypatch.setattr(subprocess, "Popen", None)  # no process of its own
    with machine_code._proving():
        begun.append("by the other")


def test_a_process_that_ends_without_the_known_answer_is_not_relied_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    passed: list[object] = []
    monkeypatch.setattr(machine_code, "has_passed", lambda: bool(passed))
    busy = iter([True, True, False])
    monkeypatch.setattr(background, "is_busy", lambda: next(busy))
    monkeypatch.setattr(machine_code, "_await", passed.append)
    with machine_code._proving():
        assert not passed
    assert len(passed) == 1


def test_the_engine_is_ready_before_the_first_window_of_a_long_text(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Parser] = []
    monkeypatch.setattr(Parser, "make_ready", lambda self: made.append(self))
    with stream.Stream("universal") as parsing:
        for size, n in ((10**9, 0), (1, 1)):
            monkeypatch.setattr(stream, "WORTH_READYING", size)
            assert list(parsing.parse([Passage("a.conllu", 1, DEMO.read_bytes())] * 2))
            assert len(made) == n
