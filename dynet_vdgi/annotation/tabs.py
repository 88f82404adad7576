"""Where the page of a file was the last time, so that a tab that is still open finds the program again.

Beside `my.conllu` is `my.conllu.address`: the port, so that the next start takes it again, and as long as the
program runs, the token of the address. So after a crash the tab goes on. After an orderly end the token is a
new one, because meanwhile another user of the computer may have listened on the port and heard the old one.
Nobody but its owner may read the file, and one that others could have read or written is not believed.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

ENDING = ".address"

_CONTENT = re.compile(r"([0-9]{1,5}) ([A-Za-z0-9_-]{32})?\n")


class Tab(NamedTuple):
    """The last port of a file's page, 0 if it is not known, and its token, "" after an orderly end."""

    path: Path
    port: int = 0
    token: str = ""

    @classmethod
    def of(cls, annotated: str | Path, *, is_new: bool = False) -> Tab:
        """The last address of a file's page; if its journal is new, an open tab shows another text."""
        path = Path(annotated).with_name(Path(annotated).name + ENDING)
        with suppress(OSError, ValueError):
            if found := _CONTENT.fullmatch(_private_text(path)):
                return cls(path, int(found[1]) % 65536, "" if is_new else found[2] or "")
        return cls(path)

    def token_at(self, port: int) -> str:
        """The token of a page at this port: that of the last one, if that was there, or a new one."""
        return self.token if self.token and self.port == port else secrets.token_urlsafe(24)

    def keep(self, port: int, token: str = "") -> None:
        """Notes the address for the next start, where that is possible."""
        new = self.path.with_name(f".{secrets.token_hex(8)}{ENDING}")
        with suppress(OSError):
            try:
                descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                with open(descriptor, "w", encoding="ascii") as handle:
                    handle.write(f"{port} {token}\n")
                os.replace(new, self.path)
            except OSError:
                new.unlink(missing_ok=True)
                raise


def _private_text(path: Path) -> str:
    """The content of a file of this user that others cannot read. Raises: OSError; ValueError, it is none."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    with open(os.open(path, flags), encoding="ascii") as handle:
        found = os.fstat(handle.fileno())
        is_mine = not hasattr(os, "getuid") or (found.st_uid == os.getuid() and not found.st_mode & 0o077)
        if not stat.S_ISREG(found.st_mode) or not is_mine:
            raise ValueError
        return handle.read(100)
