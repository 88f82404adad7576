"""Optional packages, which setup.py names as extras, and how to install them."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path


def how_to_install(extra: str) -> str:
    """The command that installs an extra into the environment that runs this program.

    In a clone the command names the extra. Elsewhere it names the packages that the extra consists
    of, because pip would look for this package on PyPI, where it is not.
    """
    from importlib import metadata  # late: rarely needed

    clone = Path(__file__).resolve().parents[2]
    pip = [sys.executable, "-m", "pip", "install"]
    if (clone / "setup.py").exists():
        return shlex.join([*pip, "--editable", f"{clone}[{extra}]"])
    wanted = [line.partition(";") for line in metadata.requires("dynet_vdgi") or ()]
    conditions = {f'extra == "{extra}"', f"extra == '{extra}'"}
    return shlex.join(
        [*pip, *(name.strip() for name, _, condition in wanted if condition.strip() in conditions)]
    )
