"""Functions compiled by numba: the decorator, and the messages to the user during compilation.

Nothing here imports numba, which takes most of a second, before something has to be compiled. Compiled
functions are parts of a `machine_code.Kernel`, which mostly does without numba; only the sums of rival
teachers, which allocate arrays, are called as numba keeps them.
"""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property, update_wrapper
from types import FunctionType
from typing import Any, TypeVar, cast

from dynet_vdgi.compiled import code_cache
from dynet_vdgi.errors import VdgiError

NUMBA = "numba>=0.61,<0.69"
"""The versions that `setup.py` requires; CONTRIBUTING.md tells how to move these bounds."""

PATIENCE = 2.0
"""Seconds of compilation after which a message appears."""

logger = logging.getLogger("dynet_vdgi")

_without_cache: list[str] = []
"""Functions that are compiled anew in each process, because numba has no folder to keep them in."""

BARE = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "error_model": "numpy"}
"""Options of numba for what is called by compiled functions only; dividing by zero gives infinity."""

_is_bare = False
_plain_globals: dict[str, dict[str, Any]] = {}

Function = TypeVar("Function", bound=Callable[..., Any])


class Compiled:
    """A function that is compiled when it is first called; see `compiled`."""

    def __init__(self, function: FunctionType, *, is_wide: bool = False, **options: Any) -> None:
        self.py_func = function
        self.is_wide, self.options = is_wide, options
        update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        return self.dispatcher(*arguments)

    @cached_property
    def dispatcher(self) -> Any:
        """The function as numba has it, compiled for the types of each call. Raises: VdgiError, no numba."""
        numba = imported_numba()
        folder = code_cache.writable_folder()
        if folder is not None:
            dispatcher = _kept(numba, self, str(folder))
            if dispatcher is not None:
                return dispatcher
        _without_cache.append(self.py_func.__name__)
        return numba.njit(self.py_func, **self.options)

    @property
    def _numba_type_(self) -> Any:
        """What numba asks an object that a compiled function names."""
        return (self.bare if _is_bare else self.dispatcher)._numba_type_

    @cached_property
    def bare(self) -> Any:
        """The function as a part of others only: see `bare`."""
        return imported_numba().njit(self.py_func, **{**BARE, **self.options})

    @cached_property
    def plain(self) -> Callable[..., Any]:
        """The function as Python, and so are all those that it calls: slow, but at once."""
        own = self.py_func.__globals__
        known = _plain_globals.get(self.py_func.__module__)
        if known is None:
            known = _plain_globals[self.py_func.__module__] = dict(own)
            known.update({k: value.plain for k, value in own.items() if isinstance(value, Compiled)})
        return FunctionType(self.py_func.__code__, known, self.py_func.__name__)


def _kept(numba: Any, function: Compiled, folder: str) -> Any:
    """A function whose code numba keeps in a folder that is the user's alone; None: it keeps it elsewhere."""
    config = numba.config
    before, config.CACHE_DIR = getattr(config, "CACHE_DIR", ""), folder
    try:
        dispatcher = numba.njit(function.py_func, cache=True, **function.options)
        if not dispatcher._cache.cache_path.startswith(folder):
            return None
        dispatcher._cache = ForgivingCache(dispatcher._cache)
    except (RuntimeError, AttributeError):  # it cannot write, or its internals differ
        return None
    finally:
        config.CACHE_DIR = before
    return dispatcher


class ForgivingCache:
    """numba's cache of a function's code; damaged code and failures to write are ignored."""

    def __init__(self, cache: Any) -> None:
        self._cache = cache

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)

    def load_overload(self, *arguments: Any) -> Any:
        """The code; None if there is none that can be read."""
        try:
            return self._cache.load_overload(*arguments)
        except Exception as error:  # on a truncated file pickle raises all sorts of errors
            self._tell("read", error)
            with suppress(Exception):
                self._cache.flush()  # otherwise the damaged index would block the new code
            return None

    def save_overload(self, *arguments: Any) -> None:
        """Keeps code for later processes, if that is possible."""
        try:
            self._cache.save_overload(*arguments)
        except Exception as error:
            self._tell("written", error)

    def _tell(self, what: str, error: Exception) -> None:
        reason = str(error) or type(error).__name__
        place = getattr(self._cache, "cache_path", "numba's cache")
        logger.info("%s cannot be %s (%s): compiling in memory", place, what, reason)


def compiled(function: Function) -> Function:
    """The function as a part of kernels; called by itself, as numba compiles it and keeps it on disk.

    In the latter case numba checks only the function's own file to see if its cache is valid. So functions
    that call each other, and the constants they use, must be in one module.
    """
    return cast(Function, Compiled(cast(FunctionType, function)))


def as_python(function: Callable[..., Any]) -> Callable[..., Any]:
    """A compiled function as Python, see `Compiled.plain`: for little work, on lists instead of arrays."""
    assert isinstance(function, Compiled)
    return function.plain


def compiled_floats(function: Function) -> Function:
    """The function compiled for vectorised loops over floats.

    A division by zero gives infinity or NaN, sums may be reordered, and a product may be added unrounded.
    """
    options = {"error_model": "numpy", "fastmath": {"contract": True, "reassoc": True}}
    return cast(Function, Compiled(cast(FunctionType, function), is_wide=True, **options))


@contextmanager
def bare(numba: Any) -> Iterator[None]:
    """A block in which numba only translates functions and their callees to LLVM, not to machine code.

    It uses the internals of the numba versions that `NUMBA` names; other versions may raise any exception.
    """
    global _is_bare
    from numba.core.codegen import AOTCPUCodegen
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.registry import cpu_target

    context: Any = cpu_target.target_context
    make_codegen: Any = AOTCPUCodegen
    with global_compiler_lock:
        level, codegen, make = numba.config.OPT, context._internal_codegen, context.get_executable
        try:
            _is_bare, numba.config.OPT = True, type(level)(0)
            context._internal_codegen = make_codegen("kernels", "host")
            context.get_executable = _no_executable
            yield
        finally:
            _is_bare, numba.config.OPT = False, level
            context._internal_codegen, context.get_executable = codegen, make


def _no_executable(library: Any, *_: Any) -> Any:
    """Instead of a function that Python could call: nobody does; numba wants another one each time."""
    library._ensure_finalized()
    return [library].append


def imported_numba() -> Any:
    """The package. Raises: VdgiError, it is missing, or not made for this version of NumPy; MemoryError."""
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


@contextmanager
def announced(what: str, waited: float = 0.0) -> Iterator[None]:
    """A block that compiles `what`, unless an earlier process has: says so on the log if that takes long.

    waited: seconds that the user has been waiting for other such blocks.
    """

    def say() -> None:
        if what in _said:
            return
        _said.add(what)
        how_often = (
            "at every start, since no cache can be written: set NUMBA_CACHE_DIR to a folder of yours alone"
            if _without_cache or code_cache.writable_folder() is None
            else "kept for later runs"
        )
        logger.info("compiling %s (%s); it may take ten seconds", what, how_often)

    timer = threading.Timer(max(0.0, PATIENCE - waited), say)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
