"""Opening, writing and finding files of any kind: `-` and `.gz` are understood, faults name their
place. (`parser.files` parses CoNLL-U files; `words.tagger.files` and `words.tokeniser.files` say
what is in the files of learnt taggers and tokenisers.)

A written file appears under its name only when it is complete, so an interrupted or failing run
never leaves half a file, nor damages the file that it was to replace.
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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO, TextIO, cast

from dynet_vdgi.errors import DataError, UsageError, check_kind
from dynet_vdgi.system.leftovers import remove_leftovers, temporary_name
from dynet_vdgi.system.limits import limit, to_raise
from dynet_vdgi.system.locks import take
from dynet_vdgi.system.messages import near

AnyPath = str | os.PathLike[str]

STANDARD = "-"  # standard input or output, depending on the direction

CHUNK_BYTES = 1 << 16  # bytes

_OPEN_FILES = ("/dev/fd", "/proc/self/fd")

_MOST_LINKS = 40
"""As many as Linux follows."""

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


def check_is_text(name: str, data: bytes) -> None:
    """Raises: `DataError`, bytes at the start of a file show that it is an archive or the like."""
    for begin, what, remedy in _BINARY:
        if re.match(begin, data):
            raise DataError(name, None, f"this is {what}, not text", remedy)


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


@contextmanager
def open_bytes(path: AnyPath) -> Iterator[BinaryIO]:
    """The bytes of `path`: `-` is standard input, which stays open, `.gz` is decompressed on the
    way.

    Raises: `DataError` for a file that is missing, a directory, or not permitted.
    """
    name = shown(path)
    if path == STANDARD:
        if sys.stdin is None:
            raise DataError(name, None, "standard input is closed")
        yield sys.stdin.buffer
        return
    try:
        raw: BinaryIO = open(path, "rb")  # noqa: SIM115  closed below
    except FileNotFoundError:
        raise DataError(name, None, "no such file", _similar(path)) from None
    except IsADirectoryError:
        raise DataError(name, None, "this is a directory", "name the files in it") from None
    except PermissionError:
        raise DataError(name, None, "no permission to read it") from None
    except (OSError, ValueError) as error:  # ValueError: NUL in the name
        reason = getattr(error, "strerror", None) or str(error)
        raise DataError(name, None, f"cannot be opened: {reason}") from None
    with raw:
        yield (
            cast(BinaryIO, gzip.GzipFile(fileobj=raw, mode="rb"))
            if name.lower().endswith(".gz")
            else raw
        )


def lines_of(path: AnyPath, *, are_limited: bool = True, undecoded: bool = False) -> Iterator[str]:
    r"""The lines of a UTF-8 text, see `open_bytes`, which end with "\n" only and keep that end.

    So the caller sees "\r\n", and line numbers agree with those of other programs. The length of a
    line is limited, see `limits.limit`, unless `are_limited` is false. With `undecoded`, bytes
    that are not UTF-8 become lone surrogates, as by Python's "surrogateescape", unless the file
    begins as one of another encoding does.

    Raises: `DataError`, as `open_bytes`, and with the line for a file that is damaged or not UTF-8,
    or has too long a line.
    """
    name, number, start = shown(path), 0, b""
    longest = limit("line") if are_limited else sys.maxsize - 1
    errors = "strict"
    with open_bytes(path) as source:
        try:
            while line := source.readline(longest + 1):
                number += 1
                if number == 1:
                    start = line[:2]
                    errors = "surrogateescape" if undecoded and start not in _NOT_TEXT else "strict"
                    check_is_text(name, line)
                if len(line) > longest and line[-1:] != b"\n":
                    raise DataError(
                        name, number, f"a line of more than {longest} bytes", to_raise("line")
                    )
                yield line.decode(errors=errors)
        except UnicodeDecodeError as error:
            hint = _NOT_TEXT.get(start, "save the file as UTF-8")
            if error.reason == "unexpected end of data":
                hint = "the file was cut off?"
            message = f"byte 0x{error.object[error.start]:02x} is not UTF-8"
            raise DataError(name, number, message, hint) from None
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            hint = "the file is damaged or was cut off"
            raise DataError(name, number + 1, f"corrupt gzip data: {error}", hint) from None
        except OSError as error:
            raise DataError(name, number + 1, f"cannot be read: {error.strerror}") from None


def read_text(path: AnyPath, *, are_limited: bool = True) -> str:
    """The whole text; raises as `lines_of`."""
    return "".join(lines_of(path, are_limited=are_limited))


@contextmanager
def atomic_writer(path: AnyPath) -> Iterator[TextIO]:
    r"""A UTF-8 text handle with "\n" line ends whose content replaces `path` when the block ends
    well.

    Like `atomic_bytes_writer`, but a name in `.gz` is also compressed, the same text always to the
    same bytes.
    """
    with atomic_bytes_writer(path) as raw:
        compress = os.fspath(path).lower().endswith(".gz")
        binary = raw
        if compress:
            compressed = gzip.GzipFile(
                filename="", mode="wb", compresslevel=6, fileobj=raw, mtime=0
            )
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
    """A binary handle whose content replaces `path` when the block ends well; otherwise nothing
    changes.

    The content goes to a temporary file in the same directory, is forced to the disk and then
    renamed. A link is followed; an existing file keeps its permission bits. For `-`, a pipe or a
    device such as /dev/null, the content is copied at the end from a temporary file, so memory use
    stays small. A file that is open already (/dev/stdout, /dev/fd/3) gets it at its present
    position, so that `>>` adds to a file.

    Raises: `UsageError`, before any work, for a directory that does not exist or a path that cannot
    be written; later where writing fails (disk full, folder gone). A closed pipe raises
    `BrokenPipeError`.
    """
    name = os.fspath(path)
    opened = 1 if name == STANDARD else _descriptor(name)
    mode = _writable_mode(name) if opened is None else None
    if opened is not None or (mode is not None and not stat.S_ISREG(mode)):
        with tempfile.TemporaryFile() as spool:
            yield cast(BinaryIO, spool)
            spool.seek(0)
            if opened != 1:
                file = os.dup(opened) if opened is not None else name
                with writing(name, "nothing was kept"), open(file, "wb") as device:
                    shutil.copyfileobj(spool, device, CHUNK_BYTES)
                return
            sys.stdout.flush()
            if hasattr(sys.stdout, "buffer"):
                shutil.copyfileobj(spool, sys.stdout.buffer, CHUNK_BYTES)
            else:  # a text stream put in its place
                sys.stdout.write(spool.read().decode())
            sys.stdout.flush()
        return

    target = os.path.realpath(name)
    remove_leftovers(os.path.dirname(target))
    temporary, raw = _temporary_file(os.path.dirname(target), name)
    # held until the file has its name
    lock = -1 if sys.platform == "win32" else os.dup(raw.fileno())
    handle = io.BufferedWriter(raw)
    try:
        if mode is not None:
            os.chmod(temporary, 0o600)  # a private file stays private while its successor grows
        yield cast(BinaryIO, handle)
        handle.close()
        with writing(name):
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
        with suppress(OSError, ValueError, UsageError):  # keep the first exception
            handle.close()
        with suppress(OSError):
            os.close(lock)


def _descriptor(name: str) -> int | None:
    """The number of the open file that a name such as /dev/stdout, or a link to it, means; None: it
    means none.

    Such a name must not be resolved further: the file behind it would be replaced, whatever `>>`
    has kept.
    """
    folders = [os.path.realpath(folder) for folder in _OPEN_FILES]
    for _ in range(_MOST_LINKS):
        folder, last = os.path.split(name)
        if last.isascii() and last.isdigit() and os.path.realpath(folder) in folders:
            return int(last)
        try:
            name = os.path.join(folder, os.readlink(name))
        except (OSError, ValueError):  # no link, or a name with NUL
            return None
    return None


def _temporary_file(folder: str, shown_path: str) -> tuple[str, _Output]:
    """A new file in a folder, locked as long as a descriptor of it is open, and its path.

    Raises: UsageError, no file can be made there.
    """
    while True:
        temporary = os.path.join(folder, temporary_name(secrets.token_hex(8)))
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
def writing(path: AnyPath, consequence: str = "") -> Iterator[None]:
    """A block that writes to `path`. Raises: `UsageError` for `OSError`, naming the path and
    `consequence`."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        consequence = consequence or "what was there before is as it was"
        raise UsageError(f"cannot write {os.fspath(path)!r}: {reason}; {consequence}") from None


def check_named(path: AnyPath, what: str = "output") -> None:
    """Raises: `UsageError`, the name is empty, as from an unset shell variable."""
    if not os.fspath(path):
        raise UsageError(f"the name of the {what} is empty")


def _writable_mode(target: str) -> int | None:
    """File type and permission bits of `target`, None if it does not exist; `UsageError` if
    unwritable."""
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


def sha256(path: AnyPath) -> str:
    """The SHA-256 digest of a file's bytes, 64 hexadecimal digits.

    Raises: `DataError` when the file cannot be read.
    """
    try:
        with open(path, "rb") as handle:
            digest = hashlib.sha256()
            while chunk := handle.read(CHUNK_BYTES):
                digest.update(chunk)
    except OSError as error:
        raise DataError(os.fspath(path), None, f"cannot be read: {error.strerror}") from None
    return digest.hexdigest()


def expand(patterns: Sequence[str]) -> list[str]:
    """The files that command-line arguments mean, in the order of the arguments and each once.

    A glob pattern (`*`, `?`, `[...]`, `**`) gives its files sorted; an existing name is never taken
    for a pattern; `-` is kept as it is.

    Raises: `UsageError` naming a path or pattern without a file.
    """
    paths: dict[str, str] = {}  # by absolute path, so that a.conllu and ./a.conllu are one file
    for pattern in patterns:
        if os.path.isdir(pattern):
            raise UsageError(f"{pattern!r} is a directory (name the files in it)")
        matches, is_pattern = [pattern], glob.has_magic(pattern)
        if pattern != STANDARD and not os.path.exists(pattern):
            if os.path.islink(pattern):
                there = os.readlink(pattern)
                raise UsageError(f"{pattern!r} is a link to {there!r}, where there is no file")
            names = glob.glob(pattern, recursive=True) if is_pattern else []
            matches = sorted(name for name in names if not os.path.isdir(name))
        if not matches:
            hint = _similar(pattern)
            what = "no file matches" if is_pattern else "no such file:"
            raise UsageError(f"{what} {pattern!r}" + (f" ({hint})" if hint else ""))
        for path in matches:
            paths.setdefault(path if path == STANDARD else os.path.abspath(path), path)
    return list(paths.values())


def _similar(path: AnyPath) -> str:
    """A hint with the existing names nearest to `path`, or an empty string."""
    directory, name = os.path.split(os.fspath(path))
    try:
        existing = sorted(os.listdir(directory or os.curdir))
    except (OSError, ValueError):
        return (
            f"there is no directory {directory!r}"
            if directory and not os.path.isdir(directory)
            else ""
        )
    similar = near(name, existing, cutoff=0.6)
    paths = [repr(os.path.join(directory, name)) for name in similar]
    return f"did you mean {' or '.join(paths)}?" if paths else ""
