"""Machine code is kept on disk, is loaded without numba, and does what the same functions do as Python."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from dynet_vdgi.compiled import code_cache, jit, known_answer, machine_code
from dynet_vdgi.compiled.jit import Compiled, compiled
from dynet_vdgi.compiled.machine_code import ENOUGH, PLENTY, Kernel
from dynet_vdgi.data.sentence import FREE
from dynet_vdgi.errors import VdgiError
from dynet_vdgi.students import perceptron
from dynet_vdgi.students.perceptron import PerceptronModel


class Pair(NamedTuple):
    matrix: np.ndarray
    factor: np.uint64


class Swapped(NamedTuple):
    factor: np.uint64
    matrix: np.ndarray


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
    monkeypatch.setattr(code_cache, "folders", lambda: iter(folders))
    monkeypatch.setattr(machine_code, "_is_proven", True)
    monkeypatch.setattr(machine_code, "_fault", "")
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
    monkeypatch.setattr(machine_code, "object_code", None)
    for is_whole in (True, False):
        out[:] = 0
        kernel = Kernel(fill, "an example")
        kernel(*given, work=ENOUGH + 1)
        assert (out == expected).all()
        assert bool(kernel._natives) == is_whole
        file.write_bytes(file.read_bytes()[:-1])


def test_what_is_kept_depends_on_bytecode_and_constants(monkeypatch):
    names = [machine_code.file_name(fill, (given,)) for given in (1, 1.0, True, np.uint64(1))]
    nested = [Compiled(lambda row, by=by: [by * each for each in row]) for by in (2, 3)]
    inner = [
        Compiled(lambda row: [2 * each for each in row]),
        Compiled(lambda row: [3 * each for each in row]),
    ]
    sums = Compiled(lambda number, factor: number + factor)
    for other in (sums, 3, np.ones(2), np.ones(3), Pair, Swapped, *nested, *inner):
        monkeypatch.setitem(fill.py_func.__globals__, "times", other)
        names.append(machine_code.file_name(fill, (1,)))
    assert len(set(names)) == 14


def test_tuples_whose_fields_were_swapped_do_not_get_the_code_of_before(folder):
    @compiled
    def subtract(pair, out):
        out[0] = pair.a[0] - pair.b[0]

    five, two, found = np.array([5]), np.array([2]), []
    for fields in (["a", "b"], ["b", "a"]):
        pair = NamedTuple("Numbers", [(field, np.ndarray) for field in fields])
        out = np.zeros(1, np.int64)
        Kernel(subtract, "")(pair(a=five, b=two), out, work=PLENTY + 1)
        found.append(out[0])
    assert found == [3, 3]
    assert len([*folder.iterdir()]) == 2


def test_what_is_kept_depends_on_the_versions_of_the_package_and_of_numba(tmp_path, monkeypatch):
    (tmp_path / "numba").mkdir()
    for name in ("__init__.py", "_version.py"):
        (tmp_path / "numba" / name).touch()
    found = {machine_code._environment.__wrapped__()}
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    found.add(machine_code._environment.__wrapped__())
    (tmp_path / "numba" / "_version.py").write_text("0.99", encoding="utf-8")
    found.add(machine_code._environment.__wrapped__())
    monkeypatch.setattr(machine_code, "__version__", "9")
    found.add(machine_code._environment.__wrapped__())
    assert len(found) == 4


@compiled
def copy_number(number, out):
    out[0] = number


@pytest.mark.parametrize(
    "number",
    [
        0.5,
        np.float16(0.5),
        np.float32(0.5),
        np.float64(0.5),
        True,
        np.True_,
        np.False_,
        -3,
        np.int8(-3),
        np.uint32(7),
        np.int64(-(1 << 62)),
        np.uint64(1 << 63),
    ],
)
def test_numbers_of_all_types_arrive_as_they_are(number, folder):
    kernel, found = Kernel(copy_number, ""), []
    for work in (1, PLENTY + 1):
        out = np.zeros(1, np.uint64 if isinstance(number, np.uint64) else np.float64)
        kernel(number, out, work=work)
        found.append(out[0])
    assert found == [number, number]
    assert len([*folder.iterdir()]) == 1


def test_a_number_is_not_taken_for_a_truth_value_that_came_before(folder):
    kernel, out = Kernel(copy_number, ""), np.zeros(1)
    for number in (True, 5, 2.5):
        kernel(number, out, work=PLENTY + 1)
        assert out[0] == number


@pytest.mark.parametrize(
    "wrong",
    [
        "1",
        None,
        1j,
        [1],
        (1, 2),
        1 << 63,
        np.array([None]),
        np.array(1.0),
        np.ones(2, np.float16),
        np.ones((2, 2))[:, 0],
        np.ones(2, ">f8"),
        np.zeros(9, np.uint8)[1:].view(np.int64),
    ],
    ids=repr,
)
@pytest.mark.parametrize("work", [1, PLENTY + 1])
def test_arguments_that_machine_code_would_take_for_others_are_refused(wrong, work, folder):
    with pytest.raises(TypeError, match="a kernel takes "):
        Kernel(copy_number, "")(wrong, np.zeros(1), work=work)


# ------------------------------------------------------------------------------------------- numba's inside
def other_signature(monkeypatch):
    from numba.core import codegen

    monkeypatch.setattr(codegen, "AOTCPUCodegen", lambda name, cpu, features: None)


def renamed_method(monkeypatch):
    from numba.core import codegen

    finalise = codegen.CodeLibrary._ensure_finalized

    def for_numba_alone(library):
        if sys._getframe(1).f_globals["__name__"] == jit.__name__:
            raise AttributeError("_ensure_finalized")
        return finalise(library)

    monkeypatch.setattr(codegen.CodeLibrary, "_ensure_finalized", for_numba_alone)


def no_mcjit(monkeypatch):
    import llvmlite.binding as llvm

    monkeypatch.delattr(llvm, "create_mcjit_compiler")


def no_features(monkeypatch):
    import llvmlite.binding as llvm

    monkeypatch.delattr(llvm, "get_host_cpu_features")
    monkeypatch.setattr(machine_code, "_environment", machine_code._environment.__wrapped__)


BREAKAGES = (other_signature, renamed_method, no_mcjit, no_features)


@pytest.mark.parametrize("breakage", BREAKAGES)
def test_numba_compiles_in_its_own_way_where_it_is_other_inside(breakage, folder, monkeypatch, caplog):
    @compiled
    def fill_again(pair, offset, doubled, share, out):
        for k in range(3):
            out[0, k] = pair.matrix[1, k] * share + offset

    given, out = arguments()
    with caplog.at_level("INFO", "dynet_vdgi"), monkeypatch.context() as patch:
        breakage(patch)
        for kernel in (Kernel(fill_again, ""), Kernel(fill_again, "")):
            assert not kernel.is_ready(*given)
            for _ in range(2):
                out[:] = 0
                kernel(*given, work=PLENTY + 1)
                assert out.tolist() == [[-3.5, -3, -2.5], [0, 0, 0]]
            assert kernel.is_ready(*given)
    assert caplog.text.count("numba compiles in its own way") == 1
    assert not list(folder.glob("*.object")) or breakage is no_mcjit
    assert not list(folder.rglob("*.nbi"))  # numba keeps nothing on disk


def test_a_numba_that_cannot_compile_is_told_with_the_remedy(folder, monkeypatch):
    @compiled
    def fill_once_more(pair, offset, doubled, share, out):
        out[0, 0] = offset

    def broken(*arguments):
        raise AttributeError("module 'llvmlite' has no attribute 'ir'")

    from numba.core.registry import CPUDispatcher

    monkeypatch.setattr(CPUDispatcher, "compile", broken)
    no_mcjit(monkeypatch)
    given, _ = arguments()
    with pytest.raises(
        VdgiError, match=r"cannot compile an example \(AttributeError: .*; install another: pip "
    ):
        Kernel(fill_once_more, "an example")(*given, work=PLENTY + 1)


def test_code_on_disk_is_not_needed_where_it_cannot_be_loaded(folder, monkeypatch):
    given, out = arguments()
    Kernel(fill, "an example")(*given, work=PLENTY + 1)
    no_mcjit(monkeypatch)
    for work in (ENOUGH + 1, PLENTY + 1):
        out[:] = 0
        Kernel(fill, "an example")(*given, work=work)
        assert (out == np.arange(6).reshape(2, 3) * 7 - 5.0).all()


# ------------------------------------------------------------------------------------------- the known answer
@pytest.mark.parametrize("function", [known_answer.answer, known_answer.float_answer])
def test_the_known_answer_is_compared(function, folder, monkeypatch):
    known_answer.check()
    assert len([*folder.iterdir()]) == 2
    other = Compiled(lambda *arguments: None)
    monkeypatch.setattr(known_answer, function.py_func.__name__, other)
    with pytest.raises(ValueError, match=r" instead of \["):
        known_answer.check()


def test_the_known_answer_is_asked_for_once(folder, monkeypatch):
    monkeypatch.setattr(machine_code, "_is_proven", False)
    given, out = arguments()
    Kernel(fill, "")(*given, work=PLENTY + 1)
    assert out[1, 2] == 30
    assert len([*folder.glob("*.passed")]) == 1
    monkeypatch.setattr(subprocess, "Popen", None)
    monkeypatch.setattr(machine_code, "_is_proven", False)
    Kernel(fill, "")(*given, work=PLENTY + 1)
    assert machine_code._is_proven
    assert not machine_code._fault


@pytest.mark.parametrize("ending", ["", "raise ValueError('[1] instead of [2]')", "import os; os.abort()"])
def test_without_the_known_answer_no_machine_code_is_trusted(ending, folder, monkeypatch, tmp_path, caplog):
    given, out = arguments()
    Kernel(fill, "an example")(*given, work=PLENTY + 1)
    fake = tmp_path / "path" / "dynet_vdgi" / "compiled" / "known_answer.py"
    fake.parent.mkdir(parents=True)
    for package in fake.parents[:2]:
        (package / "__init__.py").touch()
    if ending:
        fake.write_text(f"def check():\n    {ending}\n", encoding="utf-8")
    monkeypatch.setattr(sys, "path", [str(fake.parents[2]), *sys.path])
    monkeypatch.setattr(machine_code, "_is_proven", False)
    monkeypatch.setattr(machine_code, "loaded", None)
    kernel = Kernel(fill, "an example")
    assert not kernel.is_ready(*given)
    kernel(*given, work=ENOUGH + 1)  # as Python
    assert not kernel._natives
    out[:] = 0
    with caplog.at_level("INFO", "dynet_vdgi"):
        kernel(*given, work=PLENTY + 1)
    assert (out == np.arange(6).reshape(2, 3) * 7 - 5.0).all()
    assert "numba compiles in its own way" in caplog.text
    assert not list(folder.glob("*.passed"))


def test_code_that_needs_more_than_itself_is_left_to_numba(folder):
    @compiled
    def allocates(numbers, out):
        out[0] = np.cumsum(numbers)[-1]

    out = np.zeros(1)
    assert machine_code.object_code(allocates, (np.ones(3), out)) is None
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


def test_missing_numba_is_said_plainly(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    with pytest.raises(
        VdgiError, match="needs the package numba .*; install it: pip install 'numba>=0.61,<0.69'"
    ):
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


def test_functions_are_compiled_where_nothing_can_be_kept(folder, monkeypatch):
    monkeypatch.setattr(code_cache, "folders", lambda: iter(()))
    given, out = arguments()
    Kernel(fill, "an example")(*given, work=PLENTY + 1)
    assert (out == np.arange(6).reshape(2, 3) * 7 - 5.0).all()


def test_python_calls_compiled_functions_by_way_of_kernels_only():
    with pytest.raises(TypeError, match="not callable"):
        times(2, 3)
