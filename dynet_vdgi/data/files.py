"""Files: opening, checking names, writing as a whole, and checks of files that a command will need.

Opening, writing and finding files: `-` and `.gz` are understood, faults name their place.

A written file appears under its name only when it is complete, so an interrupted or failing run never leaves
half a file, nor damages the file that it was to replace.
"""

from __future__ import annotations

import glob
import gzip
import hashlib
import io
import os
import re
import secrets
import shutil
import stat
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, BinaryIO, TextIO, TypeVar, cast

from dynet_vdgi.errors import DataError, UsageError, check_kind
from dynet_vdgi.system.locks import TEMPORARY, remove_leftovers, take
from dynet_vdgi.system.names import limit, near, to_raise

AnyPath = str | os.PathLike[str]

STANDARD = "-"  # standard input or output, depending on the direction
CHUNK = 1 << 16  # bytes
_TEXT_CHUNK = 1 << 13  # bytes read of text at a time: a fault loses the text read with it

_CORRUPT = (EOFError, zlib.error, gzip.BadGzipFile)
_UNREADABLE = (*_CORRUPT, OSError)

_NOT_TEXT = {  # first two bytes of files that are often mistaken for text
    b"\x1f\x8b": "gzip data? its name must end in .gz",
    b"\xff\xfe": "UTF-16? save the file as UTF-8",
    b"\xfe\xff": "UTF-16? save the file as UTF-8",
}


_BINARY = (  # how they begin, what they are, and what to do
    (rb"\xfd7zXZ\0", "an xz file", "unpack it first: xz -d"),
    (rb"BZh[1-9]1AY&SY", "a bzip2 file", "unpack it first: bunzip2"),
    (rb"\x28\xb5\x2f\xfd", "a Zstandard file", "unpack it first: unzstd"),
    (rb"PK\x03\x04", "a zip or Word file", "unpack it, or save its text as UTF-8"),
    (rb"\xd0\xcf\x11\xe0", "an old Word or Excel file", "save its text as UTF-8"),
    (rb"%PDF-", "a PDF file", "save its text as UTF-8"),
    (rb"(?s).{257}ustar", "a tar archive", "unpack it first: tar -xf"),
)


def check_path(name: str, path: object) -> None:
    """Raises: UsageError, the value of the argument `name` is no path."""
    check_kind(name, path, (str, os.PathLike), "the path of a file")


def shown(path: AnyPath) -> str:
    """The name of an input in messages: `<stdin>` for `-`."""
    return "<stdin>" if path == STANDARD else os.fspath(path)


def is_conllu(path: AnyPath) -> bool:
    """Whether a file is CoNLL-U by its name."""
    return os.fspath(path).endswith((".conllu", ".conllu.gz"))


def without_ending(path: AnyPath) -> str:
    """The path without `.conllu` or `.conllu.gz`.

    >>> without_ending("ud/fr.conllu.gz"), without_ending("notes.txt.gz")
    ('ud/fr', 'notes.txt.gz')
    """
    name = os.fspath(path)
    return name.removesuffix(".gz").removesuffix(".conllu") if is_conllu(name) else name


class TextSource(io.BufferedIOBase):
    """A binary stream that knows its line number, for faults found by the text layer above it.

    It may first be read by the `piece`. Closing it leaves the stream below open.
    """

    def __init__(self, stream: BinaryIO, name: str, longest: int | None) -> None:
        self._longest, self._in_line = longest, 0  # bytes that a line may have, and has so far
        self._read_all = stream.read
        self._read_some = getattr(stream, "read1", stream.read)
        self._most = _TEXT_CHUNK if isinstance(stream, gzip.GzipFile) else CHUNK
        self._name = name
        self._newlines = 0
        self._start = b""
        self._last = b""
        self._again = b""  # bytes still to be read again
        self._fault: Exception | None = None  # comes after that

    def piece(self, size: int) -> bytes | None:
        """The next bytes, unchecked; b"" at the end; None: they cannot be read, see `text`."""
        try:
            piece: bytes = self._read_some(min(size, self._most))
        except _UNREADABLE as error:
            self._fault = error
            return None
        self._see_start(piece)
        return piece

    def _see_start(self, chunk: bytes) -> None:
        """Raises: DataError, the first bytes show that this is no text."""
        if self._start:
            return
        self._start = chunk[:2]
        for begin, what, remedy in _BINARY:
            if re.match(begin, chunk):
                raise DataError(self._name, None, f"this is {what}, not text", remedy)

    def text(self, again: bytes = b"", newlines: int = 0) -> TextIO:
        """The text of the bytes, beginning with `again` (bytes already read), after `newlines` line ends."""
        self._again, self._newlines = again, newlines
        return io.TextIOWrapper(cast(BinaryIO, self), encoding="utf-8", newline="\n")

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1) -> bytes:
        return self._counted(self._read_all, -1 if size is None else size)

    def read1(self, size: int = -1) -> bytes:
        return self._counted(self._read_some, size)

    def _counted(self, read: Callable[[int], bytes], size: int) -> bytes:
        try:
            if self._again:
                end = size if size >= 0 else None
                chunk, self._again = self._again[:end], self._again[size:] if size >= 0 else b""
            elif self._fault is not None:
                raise self._fault
            else:
                chunk = read(size)
        except _CORRUPT as error:
            hint = "the file is damaged or was cut off"
            raise DataError(self._name, self._newlines + 1, f"corrupt gzip data: {error}", hint) from None
        except OSError as error:
            raise DataError(self._name, self._newlines + 1, f"cannot be read: {error.strerror}") from None
        self._see_start(chunk)
        if self._longest is not None:
            self._check_line(chunk, self._longest)
        self._newlines += chunk.count(b"\n")
        self._last = chunk or self._last
        return chunk

    def _check_line(self, chunk: bytes, longest: int) -> None:
        """Raises: DataError, the line that continues or begins with these bytes is too long."""
        end = chunk.find(b"\n")
        self._in_line += end if end >= 0 else len(chunk)
        if self._in_line > longest:
            message = f"a line of more than {longest} bytes"
            raise DataError(self._name, self._newlines + 1, message, to_raise("line"))
        if end >= 0:
            self._in_line = len(chunk) - chunk.rfind(b"\n") - 1

    def fault(self, error: UnicodeDecodeError) -> DataError | None:
        """The fault behind a decoding error; None if the error comes from another text.

        The decoder names a position in its pending bytes, which end as the chunk read last does.
        """
        pending = error.object
        if not (pending.endswith(self._last) or self._last.endswith(pending)):
            return None
        line = self._newlines - pending.count(b"\n", error.start) + 1
        hint = _NOT_TEXT.get(self._start, "save the file as UTF-8")
        if error.reason == "unexpected end of data":
            hint = "the file was cut off?"
        return DataError(self._name, line, f"byte 0x{pending[error.start]:02x} is not UTF-8", hint)


@contextmanager
def open_text(path: AnyPath, *, has_lines: bool = True) -> Iterator[TextIO]:
    r"""A UTF-8 text handle for reading `path`: `-` is standard input, `.gz` is decompressed on the way.

    Lines end with "\n" only and are not translated, so the caller sees "\r\n" and line numbers agree with
    those of other programs. The length of a line is limited, see `names.limit`, unless `has_lines` is false.

    Raises: `DataError` with the path (and the line, if there is one) for a file that is missing, a directory,
    not permitted, damaged or not UTF-8, or has too long a line; also while it is being read.
    """
    with open_source(path, has_lines=has_lines) as source:
        yield source.text()


@contextmanager
def open_source(path: AnyPath, *, has_lines: bool = True) -> Iterator[TextSource]:
    """The bytes of a file for reading, decompressed if need be; raises as `open_text`."""
    with ExitStack() as stack:
        longest = limit("line") if has_lines else None
        source = TextSource(_open_binary(path, stack), shown(path), longest)
        try:
            yield source
        except UnicodeDecodeError as error:
            fault = source.fault(error)
            if fault is None:
                raise
            raise fault from None
        finally:
            source.close()


def _open_binary(path: AnyPath, stack: ExitStack) -> BinaryIO:
    """The bytes of `path`, decompressed; `stack` closes what was opened."""
    if path == STANDARD:
        if sys.stdin is None:
            raise DataError(shown(path), None, "standard input is closed")
        return sys.stdin.buffer
    try:
        raw: BinaryIO = stack.enter_context(open(path, "rb"))  # noqa: SIM115  closed by the stack
    except FileNotFoundError:
        raise DataError(shown(path), None, "no such file", _similar(path)) from None
    except IsADirectoryError:
        raise DataError(shown(path), None, "this is a directory", "name the files in it") from None
    except PermissionError:
        raise DataError(shown(path), None, "no permission to read it") from None
    except (OSError, ValueError) as error:  # ValueError: NUL in the name
        reason = getattr(error, "strerror", None) or str(error)
        raise DataError(shown(path), None, f"cannot be opened: {reason}") from None
    if shown(path).lower().endswith(".gz"):
        return cast(BinaryIO, stack.enter_context(gzip.GzipFile(fileobj=raw, mode="rb")))
    return raw


@contextmanager
def atomic_writer(path: AnyPath) -> Iterator[TextIO]:
    r"""A UTF-8 text handle with "\n" line ends whose content replaces `path` when the block ends well.

    Like `atomic_bytes_writer`, but a name in `.gz` is also compressed, the same text always to the same
    bytes.
    """
    with atomic_bytes_writer(path) as raw:
        compress = os.fspath(path).lower().endswith(".gz")
        binary = raw
        if compress:
            compressed = gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=raw, mtime=0)
            binary = cast(BinaryIO, compressed)
        text = io.TextIOWrapper(binary, encoding="utf-8", newline="\n")
        try:
            yield text
            text.flush()
        except BaseException:
            with suppress(OSError, ValueError, UsageError):  # keep the first exception
                text.close()
            raise
        text.detach()
        if compress:
            binary.close()


@contextmanager
def atomic_bytes_writer(path: AnyPath) -> Iterator[BinaryIO]:
    """A binary handle whose content replaces `path` when the block ends well; otherwise nothing changes.

    The content goes to a temporary file in the same directory, is forced to the disk and then renamed. A link
    is followed; an existing file keeps its permission bits. For `-`, a pipe or a device such as /dev/null,
    the content is copied at the end from a temporary file, so memory use stays small. A file that is open
    already (/dev/stdout, /dev/fd/3) gets it in the same way, at its present position, so that `>>` adds to a
    file.

    Raises: `UsageError`, before any work, for a directory that does not exist or a path that cannot be
    written; later where writing fails (disk full, folder gone). A closed pipe raises `BrokenPipeError`.
    """
    target = os.fspath(path)
    descriptor = None if target == STANDARD else _descriptor(target)
    is_open = target == STANDARD or descriptor is not None
    mode = None if is_open else _writable_mode(target)
    if is_open or (mode is not None and not stat.S_ISREG(mode)):
        with tempfile.TemporaryFile(buffering=0) as file:
            spool = io.BufferedRandom(_Output(os.dup(file.fileno()), "r+b", tempfile.gettempdir()))
            with _closing(spool):
                yield cast(BinaryIO, spool)
                spool.seek(0)
                _copy(cast(BinaryIO, spool), target, descriptor)
        return

    shown_path, target = target, os.path.realpath(target)
    remove_leftovers(os.path.dirname(target))
    temporary, raw = _temporary_file(os.path.dirname(target), shown_path)
    lock = os.dup(raw.fileno())
    try:
        with _closing(io.BufferedWriter(raw)) as handle:
            if mode is not None:
                os.chmod(temporary, 0o600)  # a private file stays private while its successor grows
            yield cast(BinaryIO, handle)
            handle.flush()
        with writing(shown_path):
            with open(temporary, "rb+") as complete:
                os.fsync(complete.fileno())
            if mode is not None:
                os.chmod(temporary, stat.S_IMODE(mode))
            os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    finally:
        os.close(lock)


def _temporary_file(directory: str, shown_path: str) -> tuple[str, _Output]:
    """The name of a new file, and the file, which stays locked until all its descriptors are closed.

    Raises: UsageError, no file can be made in the directory.
    """
    while True:
        temporary = os.path.join(directory, f"{TEMPORARY}{secrets.token_hex(8)}.tmp")
        try:
            raw = _Output(temporary, "xb", shown_path)  # mode x: the umask decides on permissions
        except OSError as error:
            raise UsageError(f"cannot write {shown_path!r}: {error.strerror}") from None
        take(raw.fileno(), wait=True)
        if os.path.exists(temporary):
            return temporary, raw
        raw.close()  # another process removed it as a leftover before it was locked


class _Output(io.FileIO):
    """A file that reports failing writes under the name that the user gave."""

    def __init__(self, file: str | int, mode: str, shown_path: str) -> None:
        super().__init__(file, mode)
        self._shown_path = shown_path

    def write(self, data: Any, /) -> int:
        with writing(self._shown_path):
            return super().write(data) or 0


@contextmanager
def writing(path: AnyPath, kept: str = "") -> Iterator[None]:
    """A block that writes to `path`. Raises: `UsageError` for `OSError`, naming the path and `kept`."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        kept = kept or "what was there before is as it was"
        raise UsageError(f"cannot write {os.fspath(path)!r}: {reason}; {kept}") from None


Handle = TypeVar("Handle", bound=io.IOBase)


@contextmanager
def _closing(handle: Handle) -> Iterator[Handle]:
    """The handle, closed at the end; if the block fails, that failure is raised and not that of closing."""
    try:
        yield handle
    except BaseException:
        with suppress(OSError, ValueError, UsageError):
            handle.close()
        raise
    handle.close()


def _descriptor(target: str) -> int | None:
    """The number of the open file that a name such as /dev/stdout means; None: it means none."""
    own = f"/proc/{os.getpid()}/fd"
    for _ in range(40):  # as many links as the system follows
        folder, name = os.path.split(target)
        if name.isdigit() and os.path.realpath(folder) == own:
            return int(name)
        try:
            target = os.path.join(folder, os.readlink(target))
        except (OSError, ValueError):
            return None
    return None


def check_named(path: AnyPath, what: str = "output") -> None:
    """Raises: `UsageError`, the name is empty, as from an unset shell variable."""
    if not os.fspath(path):
        raise UsageError(f"the name of the {what} is empty")


def _writable_mode(target: str) -> int | None:
    """File type and permission bits of `target`, None if it does not exist; `UsageError` if unwritable."""
    check_named(target)
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        mode = None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"cannot write {target!r}: {reason}") from None
    if mode is not None and stat.S_ISDIR(mode):
        raise UsageError(f"cannot write {target!r}: this is a directory")
    if mode is not None and not os.access(target, os.W_OK):
        raise UsageError(f"cannot write {target!r}: it is write-protected")
    directory = os.path.dirname(os.path.realpath(target))
    if not os.path.isdir(directory):
        raise UsageError(f"cannot write {target!r}: the directory {directory!r} does not exist")
    if (mode is None or stat.S_ISREG(mode)) and not os.access(directory, os.W_OK | os.X_OK):
        raise UsageError(f"cannot write {target!r}: no permission to write in {directory!r}")
    return mode


def _copy(spool: BinaryIO, target: str, descriptor: int | None) -> None:
    """Copies the written content to standard output, to an open file, or to a pipe or device."""
    if target == STANDARD or descriptor == 1:
        sys.stdout.flush()
    if target != STANDARD:
        file = target if descriptor is None else os.dup(descriptor)
        with writing(target, "nothing was kept"), open(file, "wb") as device:
            shutil.copyfileobj(spool, device, CHUNK)
        return
    if hasattr(sys.stdout, "buffer"):
        shutil.copyfileobj(spool, sys.stdout.buffer, CHUNK)
    else:  # a text stream put in its place
        text = io.TextIOWrapper(spool, encoding="utf-8", newline="\n")
        shutil.copyfileobj(text, sys.stdout, CHUNK)
        text.detach()
    sys.stdout.flush()


def sha256(path: AnyPath) -> str:
    """The SHA-256 digest of a file's bytes, 64 hexadecimal digits.

    Raises: `DataError` when the file cannot be read.
    """
    try:
        with open(path, "rb") as handle:
            digest = hashlib.sha256()
            while chunk := handle.read(CHUNK):
                digest.update(chunk)
    except OSError as error:
        raise DataError(os.fspath(path), None, f"cannot be read: {error.strerror}") from None
    return digest.hexdigest()


def expand(patterns: Sequence[str]) -> list[str]:
    """The files that command-line arguments mean, in the order of the arguments and each once.

    A glob pattern (`*`, `?`, `[...]`, `**`) gives its files sorted; an existing name is never taken for a
    pattern; `-` is kept as it is.

    Raises: `UsageError` naming a path or pattern without a file.
    """
    found: dict[str, str] = {}  # by absolute path, so that a.conllu and ./a.conllu are one file
    for pattern in patterns:
        for path in _matches(pattern):
            found.setdefault(path if path == STANDARD else os.path.abspath(path), path)
    return list(found.values())


def _matches(pattern: str) -> list[str]:
    if os.path.isdir(pattern):
        raise UsageError(f"{pattern!r} is a directory (name the files in it)")
    if pattern == STANDARD or os.path.exists(pattern):
        return [pattern]
    if os.path.islink(pattern):
        raise UsageError(f"{pattern!r} is a link to {os.readlink(pattern)!r}, where there is no file")
    is_pattern = glob.has_magic(pattern)
    found = glob.glob(pattern, recursive=True) if is_pattern else []
    if matches := sorted(path for path in found if not os.path.isdir(path)):
        return matches
    hint = _similar(pattern)
    what = "no file matches" if is_pattern else "no such file:"
    raise UsageError(f"{what} {pattern!r}" + (f" ({hint})" if hint else ""))


def _similar(path: AnyPath) -> str:
    """A hint with the existing names nearest to `path`, or an empty string."""
    directory, name = os.path.split(os.fspath(path))
    try:
        existing = sorted(os.listdir(directory or os.curdir))
    except (OSError, ValueError):
        return f"there is no directory {directory!r}" if directory and not os.path.isdir(directory) else ""
    similar = near(name, existing, cutoff=0.6)
    paths = [repr(os.path.join(directory, name)) for name in similar]
    return f"did you mean {' or '.join(paths)}?" if paths else ""


# ----------------------------------------------------------------------------------------------------
# Checks, before any work, that the files a user names can be used together.


def check_output(
    output: AnyPath,
    inputs: Iterable[AnyPath],
    hint: str = "name another file",
    option: str = "-o",
    *,
    ending: str = "",
) -> None:
    """Checks the name of an output; `ending`: the usual one of such files, if they are not CoNLL-U.

    Raises: `UsageError`, the output is one of the inputs, perhaps under another name, or has the name of a
    CoNLL-U file but will be none.
    """
    for name in inputs:
        with suppress(OSError, ValueError, AttributeError):
            found = _status(name)
            if name == STANDARD and not stat.S_ISREG(found.st_mode):  # a terminal: nothing is lost
                continue
            if output != STANDARD and os.path.samestat(found, os.stat(output)):
                what = (
                    "this is an input" if os.fspath(name) == os.fspath(output) else f"this is {shown(name)}"
                )
                raise UsageError(f"{option} {os.fspath(output)}: {what}, which would be lost ({hint})")
    if ending and is_conllu(output):
        name = without_ending(output) + ending
        raise UsageError(f"{option} {os.fspath(output)}: the output is not CoNLL-U (name it {name})")


def check_new(output: AnyPath, *, overwrite: bool) -> None:
    """Raises: `UsageError`, the file is there already, and it may not be overwritten."""
    if os.path.isfile(output) and not overwrite:
        raise UsageError(
            f"-o {os.fspath(output)}: exists already (--overwrite replaces it, or name another file)"
        )


def check_read_once(names: Iterable[AnyPath]) -> None:
    """Raises: `UsageError`, standard input, a pipe or a device is named twice but can be read only once."""
    met: set[tuple[int, int] | AnyPath] = set()
    for name in names:
        one = _read_once(name)
        if one is not None and one in met:
            raise UsageError(f"{_called(name)} can be read only once")
        met.add(one or name)


def check_read_again(names: Iterable[AnyPath], why: str) -> None:
    """Raises: `UsageError`, standard input, a pipe or a device is named but has to be read again."""
    for name in names:
        if _read_once(name) is not None:
            raise UsageError(f"{why}: save {_called(name)} to a file first")


def _read_once(name: AnyPath) -> tuple[int, int] | AnyPath | None:
    """A key for an input that can be read only once; None for a file, a directory, or an unreadable name."""
    try:
        status = _status(name)
    except (OSError, ValueError, AttributeError):  # reading it shows what is wrong
        return name if name == STANDARD else None
    if name != STANDARD and (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
        return None
    return status.st_dev, status.st_ino


def _status(name: AnyPath) -> os.stat_result:
    """Raises: OSError, ValueError, and AttributeError if there is no standard input."""
    return os.fstat(sys.stdin.fileno()) if name == STANDARD else os.stat(name)


def _called(name: AnyPath) -> str:
    return "standard input (-)" if name == STANDARD else repr(os.fspath(name))
