"""How optional packages are told to be missing."""

from __future__ import annotations

from pathlib import Path

import pytest
from wording import Wording

from dynet_vdgi.system.optional_packages import how_to_install

ROOT = Path(__file__).parents[2]


def test_in_a_clone_the_extra_is_named_with_the_path_of_the_clone(wording: Wording) -> None:
    wording.check(how_to_install("annotate"))


@pytest.mark.parametrize(
    "name", ["README.md", "docs/index.md", "docs/annotate.md", "docs/command-line.md"]
)
def test_no_page_tells_pip_to_look_for_the_package_by_its_name(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert "install dynet_vdgi" not in text
    assert "dynet_vdgi[" not in text


def test_every_extra_that_a_message_names_is_one() -> None:
    """setup.py names the extras; the code calls `how_to_install` with some of them."""
    setup = (ROOT / "setup.py").read_text(encoding="utf-8")
    calls = [
        call.split(")")[0].strip("'\"")
        for path in (ROOT / "dynet_vdgi").rglob("*.py")
        if path.name != "optional_packages.py"
        for call in path.read_text(encoding="utf-8").split("how_to_install(")[1:]
    ]
    assert sorted(calls) == ["annotate", "validate"]
    assert [call for call in calls if f'"{call}": [' not in setup] == []
