"""Shared by all tests: the hypothesis profile, the place of the treebanks, the command and a model
for it.

What imports DyNet is imported inside the fixtures, see `_import_dynet`.
"""

from __future__ import annotations

import gc
import logging
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from dynet_vdgi.system import progress

if TYPE_CHECKING:
    from shell import Vdgi
    from wording import Wording

# no line about progress gets between messages, however busy the machine is
progress.FIRST_PAUSE = 1e6
settings.register_profile("ci", max_examples=30, deadline=None, derandomize=True)
settings.load_profile("ci")


def _import_dynet() -> None:
    """DyNet's library sets the processor to flush tiny floats to zero in the thread that loads it.

    Hypothesis refuses to make floats in such a thread, so another one loads it.
    """
    thread = threading.Thread(target=lambda: __import__("dynet_vdgi.paper.layers"))
    thread.start()
    thread.join()


_import_dynet()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collects without looking for garbage: thousands of tests have none, neither now nor later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder with ud14, ud14_train_len15 and ud_extra: VDGI_DATA, or ../shared/data beside the
    checkout.

    Tests that need it are skipped where it is missing; with VDGI_REQUIRE_DATA=1 they fail instead.
    """
    given = os.environ.get("VDGI_DATA")
    folder = Path(given) if given else Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        reason = f"no treebanks in {folder} (set VDGI_DATA)"
        if os.environ.get("VDGI_REQUIRE_DATA") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    return folder


@pytest.fixture(scope="session")
def treebanks(data_dir: Path) -> list[Path]:
    """Every CoNLL-U file of the three treebank folders."""
    folders = ("ud14", "ud14_train_len15", "ud_extra")
    paths = [path for folder in folders for path in sorted((data_dir / folder).rglob("*.conllu"))]
    assert paths, f"no treebanks in {data_dir}"
    return paths


@pytest.fixture(scope="session", autouse=True)
def interrupts_arrive() -> Iterator[None]:
    """Shells start background jobs with SIGINT ignored, nohup with SIGHUP; what these start
    inherits it."""
    usual = {signal.SIGINT: signal.default_int_handler, signal.SIGHUP: signal.SIG_DFL}
    before = {number: signal.signal(number, handler) for number, handler in usual.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(autouse=True)
def fresh_logger() -> Iterator[None]:
    """The command sets the package's logger up for itself; each test begins with it as Python makes
    it."""
    logger = logging.getLogger("dynet_vdgi")
    logger.handlers[:], logger.propagate = [], True
    logger.setLevel(logging.NOTSET)
    yield
    logger.handlers[:], logger.propagate = [], True
    logger.setLevel(logging.NOTSET)


@pytest.fixture
def vdgi(capsys: pytest.CaptureFixture[str]) -> Vdgi:
    """The command, in this process."""
    from shell import Vdgi

    return Vdgi(capsys)


PASSED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Notes on each test whether it passed, for the fixtures that end after it."""
    report = yield
    if call.when == "call":
        item.stash[PASSED] = report.passed
    return report


@pytest.fixture
def wording(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Wording]:
    """Compares messages with the transcript of the test's module."""
    import wording

    used = wording.Wording(request.path, request.node.name, tmp_path_factory.getbasetemp())
    yield used
    if request.node.stash.get(PASSED, False):
        used.finish()


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small model of the tags ADJ ADV AUX DET NOUN NUM VERB."""
    import tiny

    from dynet_vdgi.training.inputs import Inputs
    from dynet_vdgi.training.run import run

    folder = tmp_path_factory.mktemp("model")
    text = (str(tiny.write(folder / "train.conllu", heads=False)),)
    run(Inputs({"": text}), tiny.settings(), out=folder / "run", preset="mine")
    return folder / "run" / "model.vdgi"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that the command runs in, so that its messages have short names."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
