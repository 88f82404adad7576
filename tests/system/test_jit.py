"""Kernels run as Python until there is enough work for machine code, which is kept on disk."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from dynet_vdgi.errors import VdgiError
from dynet_vdgi.system import jit
from dynet_vdgi.system.jit import WORK_TO_COMPILE, WORK_TO_LOAD, Compiled, Kernel, compiled


@compiled
def times(number, factor):
    return number * factor


@compiled
def fill(numbers, factor, out):
    for k in range(len(numbers)):
        out[k] = times(numbers[k], factor) / numbers[k]


EXPECTED = [np.nan, 7.0, 7.0]


def result(kernel, work):
    out = np.zeros(3)
    kernel(np.arange(3.0), 7.0, out, work=work)
    return out.tolist()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder for machine code, of which no process knows anything."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "code"))
    jit.imported_numba()
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path / "code"))
    monkeypatch.setattr(jit, "_work", 0)
    return tmp_path / "code"


def fresh():
    """A kernel as a new process has it."""
    return Kernel(Compiled(fill.py_func), "an example")


def test_code_is_compiled_for_much_work_and_loaded_for_less(folder, monkeypatch):
    kernel = fresh()
    assert result(kernel, WORK_TO_LOAD + 1) == pytest.approx(EXPECTED, nan_ok=True)
    assert "cached" not in vars(kernel.function)
    assert not folder.exists()
    assert result(kernel, WORK_TO_COMPILE) == pytest.approx(EXPECTED, nan_ok=True)
    assert len(kernel.function.cached.signatures) == 1
    assert len([*folder.rglob("*.nbi")]) == 1
    again = fresh()
    assert result(again, 1) == pytest.approx(EXPECTED, nan_ok=True)
    assert sum(again.function.cached.stats.cache_hits.values()) == 1
    monkeypatch.setattr(jit, "_work", 0)
    little = fresh()
    result(little, WORK_TO_LOAD)
    assert "cached" not in vars(little.function)


@pytest.mark.parametrize("is_damaged", [True, False])
def test_what_cannot_be_read_or_written_is_done_without(folder, is_damaged, monkeypatch):
    if is_damaged:
        result(fresh(), WORK_TO_COMPILE + 1)
        for path in folder.rglob("*.nb?"):
            path.write_bytes(path.read_bytes()[:-9])
    else:
        (folder.parent / "file").touch()
        monkeypatch.setattr("numba.config.CACHE_DIR", str(folder.parent / "file" / "none"))
    for _ in range(2):
        assert result(fresh(), WORK_TO_COMPILE + 1) == pytest.approx(EXPECTED, nan_ok=True)


@pytest.mark.parametrize("mode", [0o777, 0o720, 0o702, None])
def test_code_that_others_could_have_written_is_not_run(folder, mode):
    result(fresh(), WORK_TO_COMPILE + 1)
    (own,) = folder.iterdir()
    if mode is None:  # a link
        own.rename(folder / "elsewhere")
        own.symlink_to(folder / "elsewhere")
    else:
        own.chmod(mode)
    kernel = fresh()
    assert result(kernel, WORK_TO_COMPILE + 1) == pytest.approx(EXPECTED, nan_ok=True)
    assert kernel.function.cached is kernel.function.dispatcher


ABOVE = [
    # permissions, owner and group of the folder above, and whether code is kept below it; 0 is root
    (0o755, None, None, True),
    # whoever may rename in it may exchange the folder after it was looked at
    (0o777, None, None, False),
    (0o1777, None, None, True),  # as /tmp
    (0o775, None, 65534, False),
    (0o1775, None, 65534, True),
    (0o755, 65534, None, False),
]


@pytest.mark.parametrize(("mode", "owner", "group", "is_kept"), ABOVE)
@pytest.mark.parametrize("depth", [0, 1])
def test_code_is_kept_where_no_other_user_can_exchange_the_folder(
    folder, mode, owner, group, is_kept, depth, monkeypatch, tmp_path
):
    above = tmp_path / "above" / "more"
    above.mkdir(parents=True)
    (above, above.parent)[depth].chmod(mode)
    if owner is not None or group is not None:
        if os.geteuid() != 0:
            pytest.skip("only root can give folders away")
        os.chown(
            (above, above.parent)[depth],
            *[-1 if number is None else number for number in (owner, group)],
        )
    monkeypatch.setattr("numba.config.CACHE_DIR", str(above))
    kernel = fresh()
    assert result(kernel, WORK_TO_COMPILE + 1) == pytest.approx(EXPECTED, nan_ok=True)
    assert (kernel.function.cached is not kernel.function.dispatcher) is is_kept
    assert bool([*above.rglob("*.nbi")]) is is_kept


def test_a_folder_of_another_user_keeps_no_code(folder, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    kernel = fresh()
    result(kernel, WORK_TO_COMPILE + 1)
    assert kernel.function.cached is kernel.function.dispatcher


def test_a_link_above_is_resolved_before_numba_reads(folder, monkeypatch, tmp_path):
    """So nobody can lead it elsewhere between the check and the reading."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    found = jit.own_place(tmp_path / "link" / "code")
    assert found == (tmp_path / "real" / "code").resolve()


def test_a_folder_that_cannot_be_is_done_without(folder, monkeypatch):
    long = "/" + "x" * 2000
    monkeypatch.setenv("NUMBA_CACHE_DIR", long)
    monkeypatch.setattr("numba.config.CACHE_DIR", long)
    monkeypatch.setattr(jit, "_work", WORK_TO_LOAD)
    for work in (1, WORK_TO_COMPILE + 1):
        assert result(fresh(), work) == pytest.approx(EXPECTED, nan_ok=True)


def test_without_numbas_compiling_all_runs_as_python(folder, monkeypatch):
    """As with NUMBA_DISABLE_JIT=1."""
    monkeypatch.setattr("numba.config.DISABLE_JIT", 1)
    kernel = fresh()
    for work in (1, WORK_TO_COMPILE + 1, 1):
        assert result(kernel, work) == pytest.approx(EXPECTED, nan_ok=True)
    assert "cached" not in vars(kernel.function)


def test_parsing_without_numbas_compiling_gives_the_same_bytes(tmp_path):
    root = Path(__file__).parents[2]
    text = (root / "resources" / "demo" / "demo-ud-dev.conllu").read_text(encoding="utf-8")
    (tmp_path / "a.conllu").write_text(
        "\n\n".join(text.split("\n\n")[:8]) + "\n\n", encoding="utf-8"
    )
    code = """
from dynet_vdgi import cli
from dynet_vdgi.errors import VdgiError
from dynet_vdgi.system import jit
if jit.os.environ["NUMBA_DISABLE_JIT"] == "1":  # otherwise this would compile for a minute
    jit.WORK_TO_LOAD = jit.WORK_TO_COMPILE = 0
raise SystemExit(cli.main(["parse", "universal", "a.conllu"]))
"""
    found = []
    for number in "01":
        given = {**os.environ, "PYTHONPATH": str(root), "NUMBA_DISABLE_JIT": number}
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, env=given, check=False)
        assert done.returncode == 0, done.stderr
        found.append(done.stdout)
    assert found[0] == found[1]


def test_too_little_memory_for_numba_is_told_as_that(tmp_path, monkeypatch):
    resource = pytest.importorskip("resource", reason="this system has no limits of memory")
    fake = tmp_path / "numba" / "__init__.py"
    fake.parent.mkdir()
    fake.write_text("raise OSError('Could not load libllvmlite.so')", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    with pytest.raises(VdgiError, match=r"cannot be used .*libllvmlite.so.*; install it: "):
        jit.imported_numba()
    monkeypatch.setattr(resource, "getrlimit", lambda what: (1 << 28, resource.RLIM_INFINITY))
    with pytest.raises(MemoryError):
        jit.imported_numba()


def test_threads_compile_once(folder):
    kernel, found = fresh(), []
    threads = [
        threading.Thread(target=lambda: found.append(result(kernel, WORK_TO_COMPILE + 1)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [pytest.approx(EXPECTED, nan_ok=True)] * 4
    assert sum(kernel.function.cached.stats.cache_misses.values()) == 1


def test_who_waits_is_told_why(folder, monkeypatch, caplog):
    monkeypatch.setattr(jit, "PATIENCE", 0.0)
    with caplog.at_level("INFO", "dynet_vdgi"):
        result(fresh(), WORK_TO_COMPILE + 1)
        assert caplog.messages == ["compiling an example (once on this computer)"]
        result(fresh(), WORK_TO_COMPILE + 1)
    assert len(caplog.messages) == 1


def package(tmp_path, monkeypatch):
    """A package whose machine code is kept beside it."""
    monkeypatch.setattr(jit, "__file__", str(tmp_path / "vdgi" / "system" / "jit.py"))
    (tmp_path / "vdgi").mkdir(exist_ok=True)
    jit._folder.cache_clear()
    return tmp_path / "vdgi"


@pytest.fixture
def no_folder_remains():
    yield
    jit._folder.cache_clear()


@pytest.mark.usefixtures("no_folder_remains")
def test_each_state_of_the_sources_has_its_own_folder(tmp_path, monkeypatch):
    (package(tmp_path, monkeypatch) / "a.py").touch()
    first = jit._folder(str(tmp_path / "code"))
    for path in (first, other := first.with_name("vdgi-kernels-other-1")):
        path.mkdir(parents=True)
    package(tmp_path, monkeypatch)
    assert jit._folder(str(tmp_path / "code")) == first
    (tmp_path / "vdgi" / "a.py").write_text("1", encoding="utf-8")
    package(tmp_path, monkeypatch)
    assert jit._folder(str(tmp_path / "code")) != first
    assert not first.exists()
    assert other.exists()  # of another installation
    assert jit._folder("").parent == tmp_path / "vdgi" / "__pycache__"
    package(tmp_path, monkeypatch)
    monkeypatch.setattr(os, "access", lambda *_: False)  # a package that cannot be written
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    assert jit._folder("").parent == tmp_path / "home"


@pytest.mark.usefixtures("no_folder_remains")
def test_a_function_is_compiled_again_if_one_that_it_calls_has_changed(
    folder, tmp_path, monkeypatch
):
    place = package(tmp_path, monkeypatch)
    monkeypatch.syspath_prepend(place)
    begin = "from dynet_vdgi.system.jit import compiled\n"
    caller = f"{begin}from jit_callee import one\n@compiled\ndef call(out):\n    out[0] = one()\n"
    (place / "jit_caller.py").write_text(caller, encoding="utf-8")
    found = []
    for number in (1, 22):
        callee = f"{begin}@compiled\ndef one():\n    return {number}\n"
        (place / "jit_callee.py").write_text(callee, encoding="utf-8")
        package(tmp_path, monkeypatch)
        importlib.invalidate_caches()
        for name in ("jit_caller", "jit_callee"):
            monkeypatch.delitem(sys.modules, name, raising=False)
        out = np.zeros(1)
        Kernel(importlib.import_module("jit_caller").call, "")(out, work=WORK_TO_COMPILE + 1)
        found.append(out[0])
    assert found == [1, 22]


def test_a_few_sentences_are_learnt_and_parsed_without_numba():
    code = """
import sys
from few import trees
from dynet_vdgi.few_trees.word_perceptron import WordPerceptron
WordPerceptron(log2_buckets=10).fit(trees()).predict(trees())
print(sorted({"numba", "llvmlite", "scipy"} & set(sys.modules)))
"""
    root = Path(__file__).parents[2]
    given = {**os.environ, "PYTHONPATH": os.pathsep.join((str(root), str(root / "tests")))}
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=given)
    assert found.stdout == "[]\n", found.stderr


def test_python_calls_compiled_functions_by_way_of_kernels_only():
    with pytest.raises(TypeError, match="not callable"):
        times(2, 3)
