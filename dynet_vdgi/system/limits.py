"""Limits beyond which the program refuses an input, so that its memory is bounded.

The limits are generous. The environment variable VDGI_LIMITS changes them, for child processes too:
`VDGI_LIMITS="words=50000 line=20_000_000"`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

from dynet_vdgi.errors import ConfigError
from dynet_vdgi.system.messages import of_these

VARIABLE = "VDGI_LIMITS"

DEFAULTS: Mapping[str, int] = MappingProxyType(
    {
        "line": 10_000_000,  # bytes of a line of text
        "sentence": 20_000_000,  # characters of a sentence with its comments
        "lines": 100_000,  # of a sentence, with its comments
        "words": 10_000,  # of a sentence
        "tags": 500,  # different ones, in what is learnt from; rules may always have this many
        "relations": 500,  # different ones, in what is learnt from
        "table": 10_000_000,  # bytes of a file of rules, settings, facts or labels, or of a plan
        "toml": 1_000_000,  # characters of such a file in TOML: settings, a plan
        "document": 100_000_000,  # bytes of a file that vdgi convert reads as a whole
        "elements": 1_000_000,  # of an XML file
        "model": 2_000_000_000,  # bytes of a model file's content
    }
)


def limit(name: str) -> int:
    """The limit of that name. Raises: ConfigError, VDGI_LIMITS is malformed."""
    return _limits(os.environ.get(VARIABLE, ""))[name]


@lru_cache(maxsize=8)
def _limits(assignments: str) -> Mapping[str, int]:
    limits = dict(DEFAULTS)
    for item in assignments.replace(",", " ").split():
        name, equals, number = item.partition("=")
        if name not in DEFAULTS:
            raise ConfigError(f"{VARIABLE}: no limit '{name}'{of_these(name, DEFAULTS)}")
        try:
            limits[name] = int(number)
        except ValueError:
            limits[name] = 0
        if not equals or limits[name] < 1:
            raise ConfigError(f"{VARIABLE}: '{item}' must be {name}=N, N a whole number from 1")
    return limits


def to_raise(name: str, wanted: int = 0) -> str:
    """Advice, for messages, about a limit that is too low; `wanted` is the amount needed, if known.

    >>> to_raise("words")
    'if that is right, raise the limit: VDGI_LIMITS=words=20000'
    """
    return f"if that is right, raise the limit: {VARIABLE}={name}={wanted or 2 * limit(name)}"


def read_table(path: str | Path, what: str) -> str:
    """The text of a file of rules, settings, facts or labels, or of a plan; messages call it
    `what`.

    Raises: ConfigError, it cannot be read, is not UTF-8, or is larger than the limit.
    """
    most = limit("table")
    try:
        with open(path, "rb") as handle:
            content = handle.read(most + 1)
        if len(content) > most:
            message = f"cannot read the {what}: it has more than {most} bytes"
            raise ConfigError(f"{path}: {message} ({to_raise('table')})")
        return content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except (OSError, ValueError) as error:  # ValueError: not UTF-8, or NUL in the name
        reason = "not UTF-8 text" if isinstance(error, UnicodeDecodeError) else None
        reason = reason or getattr(error, "strerror", None) or str(error)
        raise ConfigError(f"{path}: cannot read the {what}: {reason}") from None
