"""Functions that numba compiles: the decorators, numba's inside, and the messages during compilation.

Nothing here imports numba, which takes most of a second, before something has to be compiled. Python calls
compiled functions by way of `machine_code.Kernel` only, which mostly does without numba.
"""

from __future__ import annotations

import gc
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, cached_property
from types import FunctionType
from typing import Any, TypeVar, cast

from dynet_vdgi.compiled import code_cache
from dynet_vdgi.errors import VdgiError

NUMBA = "numba>=0.61,<0.69"
"""The versions that `setup.py` requires; CONTRIBUTING.md tells how to move these bounds."""

PATIENCE = 2.0
"""Seconds of compilation after which a message appears."""

logger = logging.getLogger("dynet_vdgi")

_is_bare = False
_plain_globals: dict[str, dict[str, Any]] = {}

Function = TypeVar("Function", bound=Callable[..., Any])


class Compiled:
    """A function that kernels are made of; see `compiled`."""

    def __init__(self, function: FunctionType, *, is_wide: bool = False, **options: Any) -> None:
        self.py_func = function
        self.is_wide, self.options = is_wide, {"error_model": "numpy", **options}

    @property
    def _numba_type_(self) -> Any:
        """What numba asks an object that a compiled function names."""
        return (self.bare if _is_bare else self.dispatcher)._numba_type_

    @cached_property
    def dispatcher(self) -> Any:
        """The function as numba compiles it for Python, in memory. Raises: VdgiError, no numba."""
        return imported_numba().njit(self.py_func, **self.options)

    @cached_property
    def bare(self) -> Any:
        """The function as a part of others only: see `bare`."""
        return imported_numba().njit(self.py_func, **bare_options(), **self.options)

    @cached_property
    def plain(self) -> Callable[..., Any]:
        """The function, with all functions that it calls, as Python: slow, but without compiling."""
        own = self.py_func.__globals__
        known = _plain_globals.get(self.py_func.__module__)
        if known is None:
            known = _plain_globals[self.py_func.__module__] = dict(own)
            known.update({k: value.plain for k, value in own.items() if isinstance(value, Compiled)})
        return FunctionType(self.py_func.__code__, known, self.py_func.__name__)


def compiled(function: Function) -> Function:
    """The function as a part of kernels; a division by zero gives infinity or NaN.

    It calls other compiled functions only and raises nothing; Python cannot call it, see `as_python`.
    """
    return cast(Function, Compiled(cast(FunctionType, function)))


def as_python(function: Callable[..., Any]) -> Callable[..., Any]:
    """A compiled function as Python, see `Compiled.plain`: for little work, on lists instead of arrays."""
    assert isinstance(function, Compiled)
    return function.plain


def compiled_floats(function: Function) -> Function:
    """The function compiled for vectorised loops over floats.

    Sums may be reordered, and a product may be added unrounded.
    """
    fast = {"contract": True, "reassoc": True}
    return cast(Function, Compiled(cast(FunctionType, function), is_wide=True, fastmath=fast))


@contextmanager
def bare(numba: Any) -> Iterator[None]:
    """A block in which numba only translates functions and their callees to LLVM, not to machine code.

    It uses the internals of the numba versions that `NUMBA` names; other versions may raise any exception.
    Python collects no garbage meanwhile, which would take a tenth of the time.
    """
    global _is_bare
    from numba.core.codegen import AOTCPUCodegen
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.registry import cpu_target

    context: Any = cpu_target.target_context
    make_codegen: Any = AOTCPUCodegen
    with global_compiler_lock:
        level, codegen, make = numba.config.OPT, context._internal_codegen, context.get_executable
        collects = gc.isenabled()
        try:
            gc.disable()
            _is_bare, numba.config.OPT = True, type(level)(0)
            context._internal_codegen = make_codegen("kernels", "host")
            context.get_executable = _no_executable
            yield
        finally:
            _is_bare, numba.config.OPT = False, level
            context._internal_codegen, context.get_executable = codegen, make
            if collects:
                gc.enable()


@cache
def bare_options() -> dict[str, Any]:
    """Options of numba for what is called by compiled functions only.

    Its pipeline leaves out a third of numba's passes: rewriting of array expressions, closures, literals and
    the like, which kernels do not contain. They take a fifth of the time.
    """
    from numba.core import typed_passes as typed
    from numba.core import untyped_passes as untyped
    from numba.core.compiler import CompilerBase
    from numba.core.compiler_machinery import PassManager

    class Pipeline(CompilerBase):
        def define_pipelines(self) -> list[Any]:
            make: Any = PassManager
            passes = make("kernels")
            for each in (
                untyped.TranslateByteCode,
                untyped.FixupArgs,
                untyped.IRProcessing,
                untyped.GenericRewrites,
                untyped.ReconstructSSA,
                typed.NopythonTypeInference,
                typed.PreLowerStripPhis,
                typed.NativeLowering,
                typed.NoPythonBackend,
            ):
                passes.add_pass(each, each.__name__)
            passes.finalize()
            return [passes]

    return {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "pipeline_class": Pipeline}


def _no_executable(library: Any, *_: Any) -> Any:
    """Instead of a function that Python could call: nobody does; numba wants another one each time."""
    library._ensure_finalized()
    return [library].append


def imported_numba() -> Any:
    """The package. Raises: VdgiError, it is missing, or not made for this version of NumPy; MemoryError."""
    # numba words an error for each type that does not fit; their colours take a fifteenth of its time.
    os.environ.setdefault("NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING", "1")
    try:
        import numba
    except ModuleNotFoundError as error:
        message = f"this needs the package numba ({error}); install it: pip install '{NUMBA}'"
        raise VdgiError(message) from None
    except ImportError as error:
        message = f"this needs the package numba, which cannot be used ({error})"
        raise VdgiError(f"{message}; update it: pip install --upgrade numba") from None
    except OSError as error:  # its library of 130 MB is there and cannot be loaded
        if _has_little_memory():
            raise MemoryError from None
        message = f"this needs the package numba, which cannot be used ({error})"
        raise VdgiError(f"{message}; install it again: pip install --force-reinstall numba") from None
    return numba


def _has_little_memory() -> bool:
    """Whether somebody has limited the memory of this process (ulimit -v)."""
    if sys.platform == "win32":
        return False
    import resource

    return resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY


_said: set[str] = set()
"""The announcements of this process; one may stand for several parts, each compiled when needed."""

waited = 0.0
"""Seconds that this process has compiled."""


@contextmanager
def announced(what: str, is_kept: bool = True) -> Iterator[None]:
    """A block that compiles `what`: says so on the log once such blocks have kept the user waiting."""
    global waited

    def say() -> None:
        if what in _said:
            return
        _said.add(what)
        how_often = "for its first use on this computer, and kept" if is_kept else "at every start"
        if code_cache.writable_folder() is None:
            remedy = "set NUMBA_CACHE_DIR to a folder of yours alone"
            how_often = f"at every start, since no cache can be written: {remedy}"
        logger.info("compiling a part of %s (%s); it may take half a minute", what, how_often)

    start, timer = time.monotonic(), threading.Timer(max(0.0, PATIENCE - waited), say)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        waited += time.monotonic() - start
