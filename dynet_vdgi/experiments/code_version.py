"""The version of the code that a run executes, as a checksum.

Only sources that the run can reach by imports count, so that a change to another verb, or to the tables,
does not cause experiments to be repeated.
"""

from __future__ import annotations

import ast
import hashlib
from functools import cache
from pathlib import Path

from dynet_vdgi._version import __version__

_ROOT = Path(__file__).resolve().parents[2]


@cache
def code_version(*starts: str) -> str:
    """Checksum of the package's version and of the sources that the given modules can reach."""
    digest = hashlib.sha256(__version__.encode())
    for name, path in sorted(reachable(*starts).items()):
        digest.update(f"\n{name}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def reachable(*starts: str) -> dict[str, Path]:
    """The package's modules that these import, anywhere and through others; their files by name.

    Imports by name in a registry are not seen: pass the modules that a run takes from it.
    """
    found: dict[str, Path] = {}
    waiting = [*starts]
    while waiting:
        name = waiting.pop()
        path = _file_of(name)
        if path is None or name in found:
            continue
        found[name] = path
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        waiting += [package, *_imported(path, package)]
    return found


def _file_of(name: str) -> Path | None:
    """The source of a module of this package; None if the name stands for anything else."""
    parts = name.split(".")
    if parts[0] != "dynet_vdgi":
        return None
    path = _ROOT.joinpath(*parts)
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)


@cache
def _imported(path: Path, package: str) -> list[str]:
    """Names that a source imports, which may be modules; each source is read once for all runs."""
    found: list[str] = []
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")
            base = parents[: len(parents) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            found += [module, *(f"{module}.{alias.name}" for alias in node.names)]
    return found
