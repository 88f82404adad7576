"""Machine code of kernels, kept on disk and called without importing numba.

numba takes most of a second to import, as long as parsing 500,000 words. So what numba makes of a kernel is
kept as an object file, which llvmlite, the part of numba that holds LLVM, loads in a few hundredths. A few
words are not worth even that: for little work the kernel runs as Python.

The kernel is wrapped in a function of plain pointers and numbers, whose calling convention is that of C but
for two first arguments, where its result and its exception go. It allocates nothing, so it needs nothing of
numba while it runs. An object file is used again if the bytecode and the constants of the kernel and of all
that it calls, numba, and the processor are the same.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib.util
import os
import re
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from functools import cache, partial
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np

from dynet_vdgi.jit import BARE, Compiled, announced, bare, can_be_bare, imported_numba

ENOUGH = 1_000
"""Words of work from which on code on disk is worth loading."""

PLENTY = 20_000
"""Words of work, about two seconds in Python, from which on it is worth compiling."""

Call = Callable[[], None]
Native = Callable[[list[Any]], Call]
"""Makes a call of arguments without tuples."""

_SCALARS = {
    "n": ("int64", ctypes.c_int64),
    "u": ("uint64", ctypes.c_uint64),
    "f": ("float64", ctypes.c_double),
}
_HARMLESS = re.compile(r"llvm\..*|NRT_MemInfo_call_dtor|mem(cpy|set|move|cmp|chr)")
"""What compiled code may call that is not in it; the second is for arrays of numba: there are none."""

_COUNTING = re.compile(r"^.*call void @NRT_(inc|dec)ref\(.*\n", re.M)
"""Counting of references to arrays that numba has made."""

_waited = 0.0
"""Seconds that this process has compiled."""

_engines: list[Any] = []  # what is loaded stays


class Kernel:
    """A compiled function as Python calls it. Its arrays must be C-contiguous and it must not allocate any.

    `what` names it to users who wait for it. A call says how much `work` it is, in words; from `plenty` on it
    is worth compiling.
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
        """The call with these arrays, to be made any number of times; None: it is not worth machine code."""
        flat, layout = _flat(arguments)
        native = self._natives.get(layout) or self._native(layout, arguments, work)
        return None if native is None else native(flat)

    def _native(self, layout: str, arguments: tuple[Any, ...], work: int) -> Native | None:
        """Machine code for such arguments, if there is so much work that it is worth it."""
        with self._lock:  # threads need not compile the same
            native = self._natives.get(layout)
            self._work += work
            if native is not None or self._work <= ENOUGH:
                return native
            code = _on_disk(self._name(layout))
            if code is None and self._work <= self.plenty:
                return None
            return self._natives.setdefault(layout, self._made(layout, arguments, code))

    def is_ready(self, *arguments: Any) -> bool:
        """Whether a call with such arguments need not compile anything."""
        layout = _flat(arguments)[1]
        return layout in self._natives or _on_disk(self._name(layout)) is not None

    def as_python(self, *arguments: Any) -> Any:
        """The call without machine code."""
        with np.errstate(over="ignore"):  # as codes are meant to
            return self.function.plain(*arguments)

    def _name(self, layout: str) -> str:
        digest = hashlib.sha256(f"{_environment()} {layout} {_digest(self.function)}".encode())
        function = self.function.py_func
        return f"{function.__module__}.{function.__name__}-{digest.hexdigest()[:24]}.object"

    def _made(self, layout: str, arguments: tuple[Any, ...], code: bytes | None) -> Native:
        global _waited
        if code is None:
            start = time.monotonic()
            with announced(self.what, _waited):
                code = _compiled(self.function, arguments)
                _waited += time.monotonic() - start
                if code is None:  # numba has changed: it keeps its own code, and is imported
                    return lambda flat: partial(self.function, *_nested(arguments, iter(flat)))
                _keep(self._name(layout), code)
        return _loaded(code, layout)


# ------------------------------------------------------------------------------------------- arguments
def _flat(arguments: tuple[Any, ...]) -> tuple[list[Any], str]:
    """Arguments without tuples, and what they are: a letter each, arrays with type and dimensions."""
    flat: list[Any] = []
    layout: list[str] = []
    for argument in arguments:
        if isinstance(argument, tuple):
            inner, its_layout = _flat(argument)
            flat += inner
            layout.append(f"({its_layout})")
            continue
        flat.append(argument)
        if isinstance(argument, np.ndarray):
            assert argument.flags.c_contiguous
            layout.append(f"{argument.dtype.name}:{argument.ndim}")
        else:
            is_unsigned = isinstance(argument, np.uint64)
            layout.append("u" if is_unsigned else "f" if isinstance(argument, float) else "n")
    return flat, " ".join(layout)


def _nested(arguments: tuple[Any, ...], flat: Iterator[Any]) -> list[Any]:
    """The same with tuples again, as `arguments` have them."""
    return [type(a)(*_nested(a, flat)) if isinstance(a, tuple) else next(flat) for a in arguments]


# ------------------------------------------------------------------------------------------- compiling
def _compiled(function: Compiled, arguments: tuple[Any, ...]) -> bytes | None:
    """The object file of a function for such arguments; None: numba does not give it as expected."""
    numba = imported_numba()
    names: list[str] = []
    types: list[Any] = []
    namespace: dict[str, Any] = {"kernel": function, "carray": numba.carray}

    def expression(argument: Any) -> str:
        if isinstance(argument, tuple):
            namespace[type(argument).__name__] = type(argument)
            return f"{type(argument).__name__}({', '.join(map(expression, argument))})"
        name = f"a{len(names)}"
        names.append(name)
        if not isinstance(argument, np.ndarray):
            types.append(getattr(numba.types, _SCALARS[_flat((argument,))[1]][0]))
            return f"({name} != 0)" if isinstance(argument, bool) else name
        types.append(numba.types.CPointer(numba.from_dtype(argument.dtype)))
        sizes = [f"{name}_{k}" for k in range(argument.ndim)]
        names.extend(sizes)
        types.extend([numba.types.int64] * argument.ndim)
        return f"carray({name}, ({', '.join(sizes)},))"

    call = f"kernel({', '.join(map(expression, arguments))})"
    exec(f"def entry({', '.join(names)}):\n    {call}", namespace)
    import llvmlite.binding as llvm

    is_bare = can_be_bare()
    with bare(numba) if is_bare else nullcontext():
        entry = numba.njit(tuple(types), **BARE)(namespace["entry"])
        text = entry.inspect_llvm(entry.signatures[0])
    name = entry.overloads[entry.signatures[0]].fndesc.llvm_func_name
    if name not in text:
        return None
    module = llvm.parse_assembly(_COUNTING.sub("", text.replace(name, "kernel_entry")))
    if is_bare:
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


def _loaded(code: bytes, layout: str) -> Native:
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
    letters = layout.replace("(", "").replace(")", "").split()

    def native(flat: list[Any]) -> Call:
        room = (ctypes.c_void_p * 2)()
        passed: list[Any] = [ctypes.byref(room), ctypes.byref(room, ctypes.sizeof(ctypes.c_void_p))]
        for argument, letter in zip(flat, letters):
            if isinstance(argument, np.ndarray):
                passed.append(ctypes.c_void_p(argument.ctypes.data))
                passed += map(ctypes.c_int64, argument.shape)
            else:
                number: Any = argument if isinstance(argument, float) else int(argument)
                passed.append(_SCALARS[letter][1](number))

        def call(_alive: object = (room, flat)) -> None:
            status = function(*passed)
            assert status in (0, -2), status  # fine, and None

        return call

    return native


@cache
def _machine(is_wide: bool = False) -> Any:
    """What LLVM knows of this computer; `is_wide` lets it use the widest vectors, as BLAS does anyway."""
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


# ------------------------------------------------------------------------------------------- on disk
@cache
def _environment() -> str:
    """What machine code depends on besides its source. Raises: VdgiError, numba or llvmlite is missing."""
    spec = importlib.util.find_spec("numba")
    if spec is None or not spec.origin:
        imported_numba()
    try:
        import llvmlite.binding as llvm
    except (ImportError, OSError):
        imported_numba()
    assert spec is not None
    assert spec.origin
    version = os.stat(spec.origin)
    features = llvm.get_host_cpu_features().flatten()
    numbers = (version.st_mtime_ns, version.st_size, llvm.llvm_version_info)
    return f"{sys.version} {numbers} {llvm.get_host_cpu_name()} {features}"


def _digest(function: Compiled) -> str:
    """Of the bytecode and constants of a function and of all compiled ones that it calls."""
    digest = hashlib.sha256()
    agenda, seen = [function], {function}
    while agenda:
        function = agenda.pop()
        code = function.py_func.__code__
        constants = [constant for constant in code.co_consts if not isinstance(constant, CodeType)]
        parts = (code.co_code, code.co_varnames, code.co_names, constants, function.options, function.is_wide)
        digest.update(repr(parts).encode())
        for name in code.co_names:
            value = function.py_func.__globals__.get(name)
            if isinstance(value, Compiled) and value not in seen:
                seen.add(value)
                agenda.append(value)
            elif isinstance(value, np.ndarray):
                digest.update(repr((value.shape, value.dtype, value.tobytes())).encode())
            elif isinstance(value, (int, float, str, tuple, np.generic)):
                digest.update(repr(value).encode())
    return digest.hexdigest()


def _folders() -> Iterator[Path]:
    """Where object files may be: beside the package, or in a folder that is the user's alone."""
    yield Path(__file__).parent / "__pycache__"
    if folder := os.environ.get("NUMBA_CACHE_DIR"):
        yield Path(folder)
    with suppress(RuntimeError):  # no home
        yield Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dynet_vdgi"
    own = Path(tempfile.gettempdir()) / f"dynet_vdgi-{os.getuid() if hasattr(os, 'getuid') else 'cache'}"
    with suppress(OSError):
        own.mkdir(mode=0o700, exist_ok=True)
        found = own.lstat()
        if not hasattr(os, "getuid") or (found.st_uid == os.getuid() and found.st_mode & 0o77 == 0):
            yield own


def _on_disk(name: str) -> bytes | None:
    """An object file that is whole; None: there is none."""
    for folder in _folders():
        with suppress(OSError):
            content = (folder / name).read_bytes()
            if hashlib.sha256(content[32:]).digest() == content[:32]:
                return content[32:]
    return None


def _keep(name: str, code: bytes) -> None:
    for folder in _folders():
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=folder)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(hashlib.sha256(code).digest() + code)
                os.replace(temporary, folder / name)
            except BaseException:
                os.unlink(temporary)
                raise
            return
