"""Numeric functions that numba compiles once there is enough work for them, and that run as Python
until then.

Importing numba and loading a kernel takes more than a second, and compiling one takes seconds,
once on a computer: as long as parsing hundreds of words in Python. So nothing here imports numba
before a `Kernel` has been asked for that much.
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import stat
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cache, cached_property
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.errors import VdgiError

WORK_TO_LOAD, WORK_TO_COMPILE = 15_000, 20_000
"""The least work of all kernels for which machine code on disk is worth loading, and of one kernel
for which it is worth compiling. A unit of work takes Python a tenth of a millisecond, about as
long as parsing a word with a perceptron; importing numba and loading its first kernel takes a
second and a half, and compiling a kernel up to three, but only once on a computer."""

PATIENCE = 2.0
"""Seconds of compilation after which a message appears."""

logger = logging.getLogger("dynet_vdgi")

Function = TypeVar("Function", bound=Callable[..., Any])

_plain_globals: dict[str, dict[str, Any]] = {}

_lock = threading.RLock()


class Compiled:
    """A function that kernels are made of; see `compiled`."""

    def __init__(self, function: FunctionType, **options: Any) -> None:
        self.py_func = function
        self.options = {"error_model": "numpy", "nogil": True, **options}

    @property
    def _numba_type_(self) -> Any:
        return self.dispatcher._numba_type_

    @cached_property
    def dispatcher(self) -> Any:
        """The function as numba compiles it for others to call. Raises: VdgiError, no numba."""
        return imported_numba().njit(self.py_func, **self.options)

    @cached_property
    def cached(self) -> Any:
        """The function as numba compiles it for Python and keeps it on disk. Raises: VdgiError, no
        numba."""
        numba = imported_numba()
        with _lock:  # numba reads the folder while it decorates
            before, folder = numba.config.CACHE_DIR, _folder(numba.config.CACHE_DIR)
            cache_folder = own_place(folder)
            if cache_folder is None:  # compiled at every start
                return self.dispatcher
            numba.config.CACHE_DIR = str(cache_folder)
            try:
                return numba.njit(self.py_func, cache=True, **self.options)
            finally:
                numba.config.CACHE_DIR = before

    @cached_property
    def plain(self) -> Callable[..., Any]:
        """The function, with all functions that it calls, as Python: slow, but without
        compiling."""
        module_globals = self.py_func.__globals__
        plain_globals = _plain_globals.get(self.py_func.__module__)
        if plain_globals is None:
            plain_globals = _plain_globals[self.py_func.__module__] = dict(module_globals)
            plain_globals.update(
                {
                    k: value.plain
                    for k, value in module_globals.items()
                    if isinstance(value, Compiled)
                }
            )
        return FunctionType(self.py_func.__code__, plain_globals, self.py_func.__name__)


def compiled(function: Function) -> Function:
    """The function as a part of kernels; a division by zero gives infinity or NaN.

    It calls other compiled functions only and raises nothing; Python cannot call it, see
    `as_python`.
    """
    return cast(Function, Compiled(cast(FunctionType, function)))


def compiled_floats(function: Function) -> Function:
    """The function compiled for vectorised loops over floats.

    Sums may be reordered, and a product may be added unrounded.
    """
    return cast(Function, Compiled(cast(FunctionType, function), fastmath={"contract", "reassoc"}))


def as_python(function: Callable[..., Any]) -> Callable[..., Any]:
    """A compiled function as Python, see `Compiled.plain`: for little work, on lists instead of
    arrays."""
    assert isinstance(function, Compiled)
    return function.plain


_work = 0  # of all kernels, done as Python


class Kernel:
    """A compiled function as Python calls it; `what` names it to users who wait for it.

    Each call states its `work`, see `WORK_TO_LOAD`, and how many calls like it will follow, if that
    is known: machine code may be worth it for all of them together. `plain`: what is called until
    then in its place; by default the function itself, as Python.
    """

    def __init__(
        self, function: Any, what: str, *, plain: Callable[..., Any] | None = None
    ) -> None:
        assert isinstance(function, Compiled)
        self.function, self.what, self._plain = function, what, plain
        self._work = 0  # asked for until now

    def __call__(self, *arguments: Any, work: int, following: int = 0) -> Any:
        # is machine code already
        if "cached" in vars(self.function) and self.function.cached.signatures:
            return self.function.cached(*arguments)
        global _work
        _work, self._work, ahead = _work + work, self._work + work, following * work
        is_worth_it = self._work + ahead > WORK_TO_COMPILE or (
            _work + ahead > WORK_TO_LOAD and self.is_kept
        )
        if is_worth_it and not imported_numba().config.DISABLE_JIT:
            return self._first_call(*arguments)
        with np.errstate(all="ignore"):  # as machine code does
            return (self._plain or self.function.plain)(*arguments)

    @cached_property
    def is_kept(self) -> bool:
        """Whether machine code of the function is on disk."""
        python = self.function.py_func
        name = f"{python.__module__.rpartition('.')[2]}.{python.__qualname__}-*.nbi"
        try:
            return any(_folder(os.environ.get("NUMBA_CACHE_DIR", "")).glob(f"*/{name}"))
        except OSError:  # a name that is too long, no permission
            return False

    def _first_call(self, *arguments: Any) -> Any:
        message = ["compiling %s (once on this computer)", self.what]
        timer = threading.Timer(PATIENCE, logger.info, message)
        timer.daemon = True
        with _lock:  # so that threads do not compile the same code twice
            if not self.is_kept:
                timer.start()
            try:
                return self.function.cached(*arguments)
            except (VdgiError, MemoryError):
                raise
            except Exception:  # what is on disk is damaged, or the disk is full: without it
                shutil.rmtree(_folder(os.environ.get("NUMBA_CACHE_DIR", "")), ignore_errors=True)
                self.function.cached = self.function.dispatcher
                return self.function.cached(*arguments)
            finally:
                timer.cancel()


def work_of_trees(lengths: int | NDArray[np.int64]) -> int:
    """The work of finding the best trees of sentences of these lengths with Eisner charts."""
    n = np.asarray(lengths, np.int64)
    return -int(-(n**3 + 10 * n**2).sum() // 750)  # rounded up, because short sentences may be many


@cache
def _folder(given: str) -> Path:
    """Where machine code is kept: in the folder that the user gives numba, beside the package, or
    at home.

    numba looks at the file of a function, but not at the files of the functions that it calls, so
    each state of the sources has a folder of its own; those of earlier ones are removed.
    """
    package = Path(__file__).parents[1]
    stats = [(s.st_mtime_ns, s.st_size) for s in (p.stat() for p in sorted(package.rglob("*.py")))]
    of_place, of_state = (
        hashlib.sha256(repr(x).encode()).hexdigest()[:12] for x in (str(package), stats)
    )
    parent = package / "__pycache__"
    if os.path.isabs(given):
        parent = Path(given)
    elif not os.access(package, os.W_OK):
        parent = Path(os.path.expanduser(os.environ.get("XDG_CACHE_HOME") or "~/.cache"))
    folder = parent / f"vdgi-kernels-{of_place}-{of_state}"
    with suppress(OSError):
        for old in parent.glob(f"vdgi-kernels-{of_place}-*"):
            if old != folder:
                shutil.rmtree(old, ignore_errors=True)
    return folder


def own_place(folder: Path) -> Path | None:
    """The folder without links, if it can be made and nobody else can write there: numba runs what
    it finds.

    It must be this user's; the folders above it must be, too, or root's. Others may write into
    those only if they cannot rename what is there (sticky, as /tmp).
    """
    try:
        folder.mkdir(0o700, parents=True, exist_ok=True)
        if sys.platform == "win32":
            return folder
        if stat.S_ISLNK(folder.lstat().st_mode):
            return None
        real = Path(os.path.realpath(folder))
        status, *above = [each.lstat() for each in (real, *real.parents)]
    except OSError:
        return None
    is_own = (
        stat.S_ISDIR(status.st_mode)
        and status.st_uid == os.geteuid()
        and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    )
    is_safe = all(
        each.st_uid in (0, os.geteuid())
        and (each.st_mode & stat.S_ISVTX or not _others_write(each))
        for each in above
    )
    return real if is_own and is_safe else None


def _others_write(status: os.stat_result) -> bool:
    """Whether others than the owner may write, but for a group of the owner alone, as many systems
    give each user."""
    if status.st_mode & stat.S_IWOTH:
        return True
    if not status.st_mode & stat.S_IWGRP:
        return False
    import grp
    import pwd

    try:
        owner, group = pwd.getpwuid(status.st_uid).pw_name, grp.getgrgid(status.st_gid)
    except KeyError:
        return True
    return group.gr_name != owner or not {*group.gr_mem} <= {owner}


def imported_numba() -> Any:
    """The package.

    Raises: VdgiError, it is missing, or not made for this version of NumPy; MemoryError, it finds
    no room.
    """
    # numba words an error for each type that does not fit; their colours take a fifteenth of its
    # time.
    os.environ.setdefault("NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING", "1")
    try:
        import numba
    except (ImportError, OSError) as error:
        if _is_memory_limited() and not isinstance(error, ModuleNotFoundError):
            raise MemoryError from None
        message = f"this needs the package numba, which cannot be used ({error})"
        raise VdgiError(
            f"{message}; install it: pip install --upgrade --force-reinstall numba"
        ) from None
    return numba


def _is_memory_limited() -> bool:
    """Whether this process may have only so much memory (ulimit -v): a library that finds no room
    cannot be loaded."""
    if sys.platform == "win32":
        return False
    import resource

    return resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY
