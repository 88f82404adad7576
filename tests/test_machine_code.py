"""Machine code is kept on disk, is loaded without numba, and does what the same functions do as Python."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from dynet_vdgi import jit, machine_code
from dynet_vdgi.data.sentence import FREE
from dynet_vdgi.errors import VdgiError
from dynet_vdgi.jit import Compiled, compiled
from dynet_vdgi.machine_code import ENOUGH, PLENTY, Kernel
from dynet_vdgi.students import perceptron
from dynet_vdgi.students.perceptron import PerceptronModel


class Pair(NamedTuple):
    matrix: np.ndarray
    factor: np.uint64


@compiled
def times(number, factor):
    return number * factor


@compiled
def fill(pair, offset, doubled, share, out):
    for row in range(pair.matrix.shape[0]):
        for column in range(pair.matrix.shape[1]):
            value = int(times(np.uint64(pair.matrix[row, column]), pair.factor)) + offset
            out[row, column] = value * share * (2 if doubled else 1)


def arguments():
    out = np.zeros((2, 3))
    return (Pair(np.arange(6).reshape(2, 3), np.uint64(7)), -5, True, 0.5, out), out


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    folders = [tmp_path / "file" / "none", tmp_path / "code"]
    monkeypatch.setattr(machine_code, "_folders", lambda: iter(folders))
    return tmp_path / "code"


def test_code_is_compiled_once_and_then_loaded(folder, monkeypatch):
    given, out = arguments()
    expected = np.arange(6).reshape(2, 3) * 7 - 5.0
    Kernel(fill, "an example")(*given, work=1)  # as Python
    assert (out == expected).all()
    assert not folder.exists()
    out[:] = 0
    Kernel(fill, "an example")(*given, work=PLENTY + 1)
    assert (out == expected).all()
    (file,) = folder.iterdir()
    monkeypatch.setattr(machine_code, "_compiled", None)
    for is_whole in (True, False):
        out[:] = 0
        kernel = Kernel(fill, "an example")
        kernel(*given, work=ENOUGH + 1)
        assert (out == expected).all()
        assert bool(kernel._natives) == is_whole
        file.write_bytes(file.read_bytes()[:-1])


def test_a_numba_that_is_other_inside_compiles_the_slower_way(folder, monkeypatch):
    assert jit.can_be_bare()  # as the numba that is installed for tests is
    monkeypatch.setattr(machine_code, "can_be_bare", lambda: False)
    given, out = arguments()
    Kernel(fill, "an example")(*given, work=PLENTY + 1)
    assert (out == np.arange(6).reshape(2, 3) * 7 - 5.0).all()
    assert len([*folder.iterdir()]) == 1


def test_what_is_kept_depends_on_bytecode_and_constants(monkeypatch):
    kernel = Kernel(fill, "")
    names = [kernel._name("n"), kernel._name("f")]
    for other in (Compiled(lambda number, factor: number + factor), 3, np.ones(2), np.ones(3)):
        monkeypatch.setitem(fill.py_func.__globals__, "times", other)
        names.append(kernel._name("n"))
    assert len(set(names)) == 6


def test_code_that_needs_more_than_itself_is_left_to_numba():
    @compiled
    def allocates(numbers, out):
        out[0] = np.cumsum(numbers)[-1]

    out = np.zeros(1)
    assert machine_code._compiled(allocates, (np.ones(3), out)) is None
    Kernel(allocates, "")(np.ones(3), out, work=PLENTY + 1)
    assert out[0] == 3


@pytest.mark.parametrize("levels", [1, 2])
def test_machine_code_and_python_parse_alike(levels):
    rng = np.random.default_rng(levels)
    parser = PerceptronModel(6, rng.normal(size=(1 << 10, 3)).astype(np.float32), levels)
    sentences = [rng.integers(0, 7, n).tolist() for n in (1, 2, 7, 12, 30)]
    given = [np.where(rng.random(len(s)) < 0.8, FREE, 0).tolist() for s in sentences]
    given = [
        [0 if k == row.index(0) else FREE for k in range(len(row))] if 0 in row else row for row in given
    ]
    results = []
    for make_ready in (False, True):
        perceptron._PARSE._natives.clear()
        perceptron._PARSE._work = 0
        if make_ready:
            parser.make_ready()
        results.append((parser.parse(sentences), parser.with_margins(sentences, given)))
        assert bool(perceptron._PARSE._natives) == make_ready
    (trees, found), (trees_again, found_again) = results
    assert trees == trees_again
    for (heads, margins), (heads_again, margins_again) in zip(found, found_again):
        assert heads == heads_again
        assert margins.tolist() == margins_again.tolist()


def test_a_few_sentences_are_parsed_without_numba_and_llvm(tmp_path):
    parser = PerceptronModel(6, np.ones((2, 3), np.float32))
    np.savez(tmp_path / "arrays.npz", **parser.arrays())
    code = f"""
import sys, numpy as np
from dynet_vdgi.students.perceptron import PerceptronModel
PerceptronModel.from_arrays(np.load({str(tmp_path / "arrays.npz")!r})).parse([[1, 2, 3]])
print(sorted({{"numba", "llvmlite", "scipy"}} & set(sys.modules)))
"""
    root = str(Path(__file__).parents[1])
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root)
    assert found.stdout == "[]\n", found.stderr


def test_the_folder_for_all_is_the_users_alone(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    (own,) = [folder for folder in machine_code._folders() if folder.parent == tmp_path]
    assert own.stat().st_mode & 0o777 == 0o700
    own.chmod(0o777)
    assert own not in list(machine_code._folders())


def test_missing_numba_is_said_plainly(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    with pytest.raises(VdgiError, match="needs the package numba .*; install it: pip install 'numba>=0.58'"):
        jit.imported_numba()


def test_too_little_memory_for_numba_is_told_as_that(tmp_path, monkeypatch):
    fake = tmp_path / "numba" / "__init__.py"
    fake.parent.mkdir()
    fake.write_text("raise OSError('Could not load libllvmlite.so')", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    with pytest.raises(VdgiError, match="cannot be used .*libllvmlite.so.; install it again: "):
        jit.imported_numba()
    monkeypatch.setattr(resource, "getrlimit", lambda what: (1 << 28, resource.RLIM_INFINITY))
    with pytest.raises(MemoryError):
        jit.imported_numba()


def test_functions_are_compiled_where_nothing_can_be_kept(monkeypatch):
    class Numba:
        @staticmethod
        def njit(function=None, *, cache=False):
            if cache:
                raise RuntimeError("cannot cache function: no locator available")
            return function

    monkeypatch.setattr(jit, "imported_numba", Numba)
    assert compiled(arguments)() is not None
    assert jit._without_cache.pop() == "arguments"
