"""Machine code of kernels, kept on disk and called without importing numba.

Importing numba takes most of a second, as long as parsing 500,000 words. So the code that numba makes of a
kernel is kept as an object file, which llvmlite, the part of numba that holds LLVM, loads in a few hundredths
of a second. A few words are not worth even that, so for little work the kernel runs as Python.

The kernel is wrapped in a function of plain pointers and numbers. Its calling convention is that of C, except
for two additional first arguments that receive its result and its exception. It allocates nothing, so it
needs no part of numba while it runs. An object file is used again if the bytecode and the constants of the
kernel and of all that it calls, the names and fields of the tuples that it takes, this package, numba, and
the processor are the same.

All this relies on internals of numba and llvmlite. So no object file is loaded before `known_answer` has been
right in this environment, and if anything fails, numba compiles the kernels in its own way, in each process.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib.util
import logging
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi._version import __version__
from dynet_vdgi.compiled import background, code_cache
from dynet_vdgi.compiled.jit import NUMBA, Compiled, announced, bare, bare_options, imported_numba
from dynet_vdgi.errors import VdgiError

if TYPE_CHECKING:
    import subprocess

logger = logging.getLogger("dynet_vdgi")

ENOUGH = 1_000
"""Least work for which code on disk is worth loading. A unit of work takes Python a tenth of a millisecond,
about as long as parsing a word with the perceptron."""

PLENTY = 20_000
"""Least work for which compiling is worth it."""

ALWAYS = PLENTY + 1
"""Enough work to make any kernel ready."""

PATIENCE = 300
"""Seconds for the check of a known answer, which takes three."""

Call = Callable[[], None]
Native = Callable[[list[Any]], Call]
"""Makes a call of arguments without tuples."""

_SCALARS: dict[type, tuple[str, Any]] = {
    bool: ("int64", ctypes.c_int64),
    int: ("int64", ctypes.c_int64),
    np.uint64: ("uint64", ctypes.c_uint64),
    float: ("float64", ctypes.c_double),
}
"""Types of numbers that kernels take, with numba's and C's."""

_ARRAYS = {np.dtype(name).str for name in ("bool", "float32", "float64")} | {
    np.dtype(f"{sign}int{bits}").str for sign in ("", "u") for bits in (8, 16, 32, 64)
}
_HARMLESS = re.compile(r"llvm\..*|NRT_MemInfo_call_dtor|mem(cpy|set|move|cmp|chr)|sqrt")
"""External functions that compiled code may call; the second is for numba's own arrays (there are none)."""

_COUNTING = re.compile(r"^.*call void @NRT_(inc|dec)ref\(.*\n", re.M)
"""Counting of references to arrays that numba has made."""

_engines: list[Any] = []  # what is loaded stays

_is_proven = False
"""Whether the known answer has been right in this environment, in this process or in an earlier one."""

_fault = ""
"""Why kernels are left to numba; empty: they are not."""


def work_of_trees(lengths: int | NDArray[np.int64]) -> int:
    """The work of finding the best trees of sentences of these lengths with Eisner charts."""
    n = np.asarray(lengths, np.int64)
    return int((n**3 + 10 * n**2).sum()) // 750


class Kernel:
    """A compiled function as Python calls it. Its arrays must be C-contiguous and it must not allocate any.

    `what` names it to users who wait for it. Each call states its `work`, see `ENOUGH`; once all calls reach
    `plenty`, it is worth compiling. For learning, `plenty` is `ENOUGH`, because training is repeated.
    """

    def __init__(self, function: Any, what: str, plenty: int = PLENTY) -> None:
        assert isinstance(function, Compiled)
        self.function, self.what, self.plenty = function, what, plenty
        self._natives: dict[str, Native] = {}
        self._work = 0  # done as Python
        self._lock = threading.Lock()

    def __call__(self, *arguments: Any, work: int) -> Any:
        call = self.bound(*arguments, work=work)
        return self.as_python(*arguments) if call is None else call()

    def bound(self, *arguments: Any, work: int) -> Call | None:
        """The call with these arrays, to be made any number of times; None: it is not worth machine code.

        Raises:
            TypeError: an argument is of a type that kernels do not take.
        """
        numbers, layout = _flat(arguments)
        native = self._natives.get(layout) or self._native(layout, arguments, work)
        return None if native is None else native(numbers)

    def _native(self, layout: str, arguments: tuple[Any, ...], work: int) -> Native | None:
        """Machine code for such arguments, if there is so much work that it is worth it."""
        with self._lock:  # so that threads do not compile the same code twice
            native = self._natives.get(layout)
            self._work += work
            if native is not None or self._work <= ENOUGH:
                return native
            is_worth_compiling = self._work > self.plenty
            native = self._loaded(arguments, is_worth_compiling)
            if native is None and is_worth_compiling:
                native = self._by_numba(arguments)
            if native is not None:
                self._natives[layout] = native
            return native

    def is_ready(self, *arguments: Any) -> bool:
        """Whether a call with such arguments need not compile anything."""
        if _flat(arguments)[1] in self._natives:
            return True
        with _left_to_numba():
            return not _fault and has_passed() and self._on_disk(arguments) is not None
        return False

    def as_python(self, *arguments: Any) -> Any:
        """The call without machine code."""
        with np.errstate(all="ignore"):  # as machine code does
            return self.function.plain(*_nested(arguments, iter(_flat(arguments)[0])))

    def _on_disk(self, arguments: tuple[Any, ...]) -> bytes | None:
        return code_cache.read(file_name(self.function, arguments))

    def _loaded(self, arguments: tuple[Any, ...], may_compile: bool) -> Native | None:
        """Machine code from disk, or compiled; None: there is none, or numba and llvmlite do not give it."""
        if _fault:
            return None
        with _left_to_numba():
            code = self._on_disk(arguments) if has_passed() else None
            if code is None and may_compile:
                code = self._made(arguments)
            return None if code is None else loaded(code)
        return None

    def _made(self, arguments: tuple[Any, ...]) -> bytes | None:
        """Machine code that is compiled now; None: the kernel needs more than itself."""
        with announced(self.what), _proving():
            code = self._on_disk(arguments)  # from an earlier process that could not store its check
            if code is None:
                code = object_code(self.function, arguments)
                if code is not None:
                    code_cache.keep(file_name(self.function, arguments), code)
        return code

    def _by_numba(self, arguments: tuple[Any, ...]) -> Native:
        """The function as numba compiles and calls it. Raises: VdgiError, numba cannot."""
        function, form = self.function, _form(arguments)
        with announced(self.what, is_kept=False):
            try:
                numba = imported_numba()
                types = map(numba.typeof, _nested(form, iter(_flat(arguments)[0])))
                function.dispatcher.compile(tuple(types))
            except (VdgiError, MemoryError):
                raise
            except Exception as error:  # this numba does not work with llvmlite, NumPy or Python
                said = f"{type(error).__name__}: {error}".partition("\n")[0]
                message = f"numba cannot compile {self.what} ({said}); install another: pip install '{NUMBA}'"
                raise VdgiError(message) from error
        return lambda numbers: partial(function.dispatcher, *_nested(form, iter(numbers)))


@contextmanager
def _left_to_numba() -> Iterator[None]:
    """A block after whose failure numba compiles all kernels in its own way; one message says so."""
    global _fault
    try:
        yield
    except (VdgiError, MemoryError):  # no numba, or no room for it
        raise
    except Exception as error:  # unknown internals may raise any exception
        _fault = f"{type(error).__name__}: {error}"
        logger.info("numba compiles in its own way, at every start; vdgi's own failed (%s)", _fault)


# ------------------------------------------------------------------------------------------- the known answer
def has_passed() -> bool:
    """Whether the check has passed in this environment."""
    global _is_proven
    _is_proven = _is_proven or code_cache.read(passed_name()) is not None
    return _is_proven


@contextmanager
def _proving() -> Iterator[None]:
    """A block that compiles; beside it `known_answer.check` runs, unless it has passed, in another process.

    Raises: RuntimeError, it failed; OSError, it could not be run.
    """
    if has_passed():
        yield
        return
    if background.is_busy():  # with that proof first
        yield
        while background.is_busy() and not has_passed():
            time.sleep(0.02)
    else:
        with _proof() as process:
            yield
            _await(process)
    if not has_passed():
        with _proof() as process:
            _await(process)


@contextmanager
def _proof() -> Iterator[subprocess.Popen[str]]:
    """A process that runs `known_answer.check`; it ends with the block."""
    import subprocess

    imports = f"import sys; sys.path[:] = {sys.path!r}; from dynet_vdgi.compiled import known_answer"
    command = [sys.executable, "-c", f"{imports}; known_answer.check()"]
    nowhere, told = subprocess.DEVNULL, subprocess.PIPE
    with subprocess.Popen(command, stdin=nowhere, stdout=nowhere, stderr=told, text=True) as process:
        try:
            yield process
        finally:
            process.kill()  # if it still runs


def _await(process: subprocess.Popen[str]) -> None:
    """Raises: RuntimeError, the known answer was wrong."""
    global _is_proven
    said = process.communicate(timeout=PATIENCE)[1].strip().rpartition("\n")[2]
    if process.returncode:
        raise RuntimeError(said or f"the kernel whose answer is known ended with {process.returncode}")
    _is_proven = True
    code_cache.keep(passed_name(), b"passed")


def passed_name() -> str:
    """The name of the file that says that the known answer has been right in this environment."""
    return f"known_answer-{hashlib.sha256(_environment().encode()).hexdigest()[:24]}.passed"


# ------------------------------------------------------------------------------------------- arguments
def flat(arguments: tuple[Any, ...]) -> list[Any]:
    """Arguments without tuples: arrays, and numbers of the types that kernels take. Raises: TypeError."""
    return _flat(arguments)[0]


def _flat(arguments: tuple[Any, ...]) -> tuple[list[Any], str]:
    """Arguments without tuples, and what they are: types, dimensions of arrays, names of tuples' fields."""
    numbers: list[Any] = []
    layout: list[str] = []
    for argument in arguments:
        if isinstance(argument, tuple):
            if not hasattr(argument, "_fields"):
                raise TypeError(f"a kernel takes tuples whose fields have names, not {argument!r}")
            inner, its_layout = _flat(argument)
            numbers += inner
            layout.append(f"{type(argument).__name__}[{' '.join(argument._fields)}]({its_layout})")
        elif isinstance(argument, np.ndarray):
            numbers.append(argument)
            layout.append(f"{argument.dtype.str}:{argument.ndim}")
            _check_array(argument)
        else:
            number = _number(argument)
            numbers.append(number)
            layout.append(type(number).__name__)
    return numbers, " ".join(layout)


def _check_array(array: Any) -> None:
    """Raises: TypeError, the array does not lie in memory as a kernel expects."""
    flags = array.flags
    if not (flags.c_contiguous and flags.aligned and array.ndim and array.dtype.str in _ARRAYS):
        where = f"of {array.dtype.str} and shape {array.shape}"
        raise TypeError(f"a kernel takes C-contiguous arrays of plain numbers, not this one {where}")


def _number(argument: Any) -> bool | int | float | np.uint64:
    """A number as one of the types that kernels take. Raises: TypeError, it is none."""
    if isinstance(argument, (bool, np.bool_)):
        return bool(argument)
    if isinstance(argument, np.uint64):
        return argument
    if isinstance(argument, (int, np.integer)):
        number = int(argument)
        if not -(1 << 63) <= number < 1 << 63:
            raise TypeError(f"a kernel takes integers of 64 bits, not {number}")
        return number
    if isinstance(argument, (float, np.floating)):
        return float(argument)
    raise TypeError(f"a kernel takes arrays, numbers and named tuples of them, not {type(argument).__name__}")


def _nested(form: tuple[Any, ...], numbers: Iterator[Any]) -> list[Any]:
    """Arguments with tuples again, as `form`, or arguments of its kind, have them."""
    return [type(a)(*_nested(a, numbers)) if isinstance(a, tuple) else next(numbers) for a in form]


def _form(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """The tuples of arguments, for `_nested`, without the arrays, which need not stay in memory."""
    return tuple(type(a)(*_form(a)) if isinstance(a, tuple) else None for a in arguments)


# ------------------------------------------------------------------------------------------- compiling
def object_code(function: Compiled, arguments: tuple[Any, ...]) -> bytes | None:
    """The object file of a function for such arguments; None: the function needs more than itself."""
    numba = imported_numba()
    names: list[str] = []
    types: list[Any] = []
    namespace: dict[str, Any] = {"kernel": function, "carray": numba.carray}

    def expression(argument: Any) -> str:
        if isinstance(argument, tuple):
            tuple_name = f"t{len(namespace)}"
            namespace[tuple_name] = type(argument)
            return f"{tuple_name}({', '.join(map(expression, argument))})"
        name = f"a{len(names)}"
        names.append(name)
        if not isinstance(argument, np.ndarray):
            its_type = type(_number(argument))
            types.append(getattr(numba.types, _SCALARS[its_type][0]))
            return f"({name} != 0)" if its_type is bool else name
        types.append(numba.types.CPointer(numba.from_dtype(argument.dtype)))
        sizes = [f"{name}_{k}" for k in range(argument.ndim)]
        names.extend(sizes)
        types.extend([numba.types.int64] * argument.ndim)
        return f"carray({name}, ({', '.join(sizes)},))"

    call = f"kernel({', '.join(map(expression, arguments))})"
    exec(f"def entry({', '.join(names)}):\n    {call}", namespace)
    import llvmlite.binding as llvm

    with bare(numba):
        entry = numba.njit(tuple(types), **bare_options())(namespace["entry"])
        text = entry.inspect_llvm(entry.signatures[0])
    name = entry.overloads[entry.signatures[0]].fndesc.llvm_func_name
    if name not in text:
        raise RuntimeError(f"numba's text has no {name}")
    module = llvm.parse_assembly(_COUNTING.sub("", text.replace(name, "kernel_entry")))
    _optimise(module, _machine(function.is_wide))
    if not all(map(_HARMLESS.fullmatch, re.findall(r"^declare .*?@([\w.]+)\(", str(module), re.M))):
        return None
    return bytes(_machine(function.is_wide).emit_object(module))


def _optimise(module: Any, machine: Any) -> None:
    """Makes a module of LLVM fast: once, where numba would do it for each function that calls others."""
    import llvmlite.binding as llvm

    options = llvm.create_pipeline_tuning_options(3)
    options.loop_vectorization = options.slp_vectorization = True
    passes = llvm.create_pass_builder(machine, options)
    passes.getModulePassManager().run(module, passes)


def loaded(code: bytes) -> Native:
    """The function in an object file."""
    import llvmlite.binding as llvm

    unused = ctypes.cast(ctypes.pythonapi.Py_IsInitialized, ctypes.c_void_p).value
    llvm.add_symbol("NRT_MemInfo_call_dtor", unused)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine())
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    _engines.append(engine)
    # Without types of its arguments, which are objects of ctypes, a call takes a third of the time.
    function = ctypes.CFUNCTYPE(ctypes.c_int32)(engine.get_function_address("kernel_entry"))

    def native(numbers: list[Any]) -> Call:
        room = (ctypes.c_void_p * 2)()
        passed: list[Any] = [ctypes.byref(room), ctypes.byref(room, ctypes.sizeof(ctypes.c_void_p))]
        for number in numbers:
            if isinstance(number, np.ndarray):
                passed.append(ctypes.c_void_p(number.ctypes.data))
                passed += map(ctypes.c_int64, number.shape)
            else:
                passed.append(_SCALARS[type(number)][1](number if isinstance(number, float) else int(number)))

        def call(_alive: object = (room, numbers)) -> None:
            status = function(*passed)
            if status not in (0, -2):  # fine, and None
                raise RuntimeError(f"a kernel ended with status {status}")

        return call

    return native


@cache
def _machine(is_wide: bool = False) -> Any:
    """LLVM's model of this computer; `is_wide` allows the widest vectors, as used by BLAS anyway."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=features.flatten() + (",-prefer-256-bit" if is_wide and features.get("avx512f") else ""),
        opt=3,
        codemodel="jitdefault",
        jit=True,
    )


# ------------------------------------------------------------------------------------------- the key
def file_name(function: Compiled, arguments: tuple[Any, ...]) -> str:
    """The name of an object file, with a digest of all that the code for such arguments depends on."""
    key = f"{_environment()} {_flat(arguments)[1]} {_digest(function)}"
    digest = hashlib.sha256(key.encode()).hexdigest()
    return f"{function.py_func.__module__}.{function.py_func.__name__}-{digest[:24]}.object"


@cache
def _environment() -> str:
    """The environment that machine code depends on. Raises: VdgiError, numba or llvmlite is missing."""
    spec = importlib.util.find_spec("numba")
    if spec is None or not spec.origin:
        imported_numba()
    try:
        import llvmlite
        import llvmlite.binding as llvm
    except (ImportError, OSError):
        imported_numba()
    assert spec is not None
    assert spec.origin
    version = os.stat(spec.origin)
    own = [Path(__file__).with_name(f"{name}.py") for name in ("machine_code", "jit", "known_answer")]
    sources = [__version__.encode(), *map(_source, [Path(spec.origin).with_name("_version.py"), *own])]
    numbers = (version.st_mtime_ns, version.st_size, llvmlite.__version__, llvm.llvm_version_info)
    processor = f"{llvm.get_host_cpu_name()} {llvm.get_host_cpu_features().flatten()}"
    return f"{sys.version} {numbers} {processor} {hashlib.sha256(b''.join(sources)).hexdigest()}"


def _source(path: Path) -> bytes:
    with suppress(OSError):  # installed without sources
        return path.read_bytes()
    return b""


def _digest(function: Compiled) -> str:
    """A digest of the bytecode and constants of a function and of all compiled functions that it calls."""
    digest = hashlib.sha256()
    agenda, seen = [function], {function}
    while agenda:
        function = agenda.pop()
        python = function.py_func
        digest.update(repr((function.options, function.is_wide, python.__defaults__)).encode())
        for code in _codes(python.__code__):
            constants = [constant for constant in code.co_consts if not isinstance(constant, CodeType)]
            digest.update(repr((code.co_code, code.co_varnames, code.co_names, constants)).encode())
            for name in code.co_names:
                value = python.__globals__.get(name)
                if isinstance(value, Compiled) and value not in seen:
                    seen.add(value)
                    agenda.append(value)
                elif isinstance(value, np.ndarray):
                    digest.update(repr((value.shape, value.dtype, value.tobytes())).encode())
                elif isinstance(value, (int, float, str, tuple, np.generic)):
                    digest.update(repr(value).encode())
                elif isinstance(value, type) and hasattr(value, "_fields"):
                    digest.update(repr((value.__name__, value._fields)).encode())
    return digest.hexdigest()


def _codes(code: CodeType) -> Iterator[CodeType]:
    """The code of a function and of all functions and loops in brackets that stand in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)
