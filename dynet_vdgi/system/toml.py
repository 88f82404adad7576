"""TOML from files that somebody else may have made: read in bounded time and memory."""

from __future__ import annotations

import re
import sys
from typing import Any

import msgspec

from dynet_vdgi.system.limits import limit, to_raise

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MOST_PARTS = 20
"""Of a dotted key. `tomllib` keeps all beginnings of a key: of 80 kB of such a key, gigabytes."""

_KEY = r"""(?:[\w-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')"""

# What is not closed goes on to the end of its line or of the text, so that nothing is looked at
# twice.
_TOKEN = re.compile(
    r"""#.*|"{3}(?:[^"\\]|\\(?s:.)|"(?!""))*(?:"{3}|\Z)|'{3}(?s:.)*?(?:'{3}|\Z)"""
    rf"|(?P<deep>{_KEY}(?:[ \t]*\.[ \t]*{_KEY}){{{MOST_PARTS}}})|{_KEY}"
    r"|[\"'].*"
)


def loads(text: str) -> dict[str, Any]:
    """The content of a TOML text.

    Raises: ValueError, it is not TOML, or too long, nested too deep, or has a number that nothing
    can show.
    """
    most = limit("toml")
    if len(text) > most:
        raise ValueError(f"it has more than {most} characters ({to_raise('toml')})")
    for token in _TOKEN.finditer(text):
        if token["deep"]:
            line = text.count("\n", 0, token.start()) + 1
            raise ValueError(f"a key of more than {MOST_PARTS} parts (at line {line})")
    try:
        values: dict[str, Any] = tomllib.loads(text)
        msgspec.json.encode(values)  # so that messages can show all of it
    except RecursionError:
        raise ValueError("nested too deep") from None
    return values
