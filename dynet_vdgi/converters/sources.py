"""A file of another program, read as a whole:
its bytes, and its text in whatever encoding it has."""

from __future__ import annotations

import codecs
import zlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from dynet_vdgi.errors import DataError, UsageError
from dynet_vdgi.system import files
from dynet_vdgi.system.limits import limit, to_raise

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # begins as UTF-16 does
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass
class ForeignFile:
    """The name and the bytes of a file; `encoding` is "" unless the user has given one.

    `tree` is where `xml_tree` keeps what it has read, because files are read twice: for their tags,
    then to write.
    """

    name: str
    data: bytes = field(repr=False)
    encoding: str = ""
    tree: Any = field(default=None, repr=False)

    @cached_property
    def text(self) -> str:
        """The text, whose lines end with a line feed only, without a byte-order mark.

        Raises: DataError, with the line, the bytes are no text in the encoding.
        """
        marked = next((name for mark, name in _MARKS if self.data.startswith(mark)), "")
        encoding = self.encoding or marked or "utf-8"
        try:
            text = self.data.decode(encoding)
        except UnicodeDecodeError as error:
            line = self.data.count(b"\n", 0, error.start) + 1
            message = f"byte 0x{self.data[error.start]:02x} is not {encoding.upper()}"
            hint = "name its encoding, such as --encoding latin-1"
            raise DataError(self.name, line, message, hint) from None
        if "\0" in text:
            line = text.count("\n", 0, text.index("\0")) + 1
            hint = "a binary file, or UTF-16 without a byte-order mark? --encoding utf-16-le"
            raise DataError(self.name, line, "NUL byte", hint)
        return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")

    @cached_property
    def lines(self) -> list[str]:
        """The lines, without their ends."""
        return self.text.split("\n")


def read(path: files.AnyPath, encoding: str = "") -> ForeignFile:
    """A file with its bytes, unpacked if it is a `.gz`; `-` is standard input.

    Raises: DataError, it cannot be read, or is larger than the limit `document`; UsageError, there
    is no such encoding.
    """
    if encoding:
        try:
            codecs.lookup(encoding).decode(b"")
        except (LookupError, UnicodeError):
            raise UsageError(
                f"--encoding {encoding}: no such encoding (utf-8, utf-16, latin-1, ...)"
            ) from None
    name, most = files.shown(path), limit("document")
    with files.open_bytes(path) as handle:
        try:
            data = handle.read(most + 1)
        except (EOFError, OSError, zlib.error) as error:
            raise DataError(name, None, f"cannot be read: {error}", "is it damaged?") from None
    if len(data) > most:
        raise DataError(name, None, f"more than {most:,} bytes", to_raise("document"))
    files.check_is_text(name, data)
    return ForeignFile(name, data, encoding)
