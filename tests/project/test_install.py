"""The package as pip installs it from a clone, outside the clone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

ROOT = Path(__file__).parents[2]
OPTIONS = "--quiet", "--no-deps", "--no-compile", "--disable-pip-version-check"
_NO_NETWORK = "No matching distribution found for setuptools"


def clone(folder: Path) -> Path:
    """A copy of the files that a clone has."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode:
        pytest.skip("this is no clone")
    for name in listed.stdout.splitlines():
        is_needed = "/" not in name or name.startswith(("dynet_vdgi/", "resources/"))
        if is_needed and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
    return folder


def parsed(site: Path, folder: Path) -> str:
    """What the program in a folder of installed packages says of a tagged Welsh sentence."""
    environment = {**os.environ, "PYTHONPATH": str(site), "HOME": str(folder)}
    code = "import dynet_vdgi; print(dynet_vdgi.__file__)"
    command = [sys.executable, "-c", code]
    found = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    assert found.stdout.startswith(str(site))
    welsh = site / "dynet_vdgi" / "resources" / "demo" / "welsh-tagged.conllu"
    one = folder / "one.conllu"  # with more, machine code would be compiled
    one.write_text(
        "\n\n".join([*welsh.read_text(encoding="utf-8").split("\n\n")[:1], ""]), encoding="utf-8"
    )
    command = [sys.executable, "-m", "dynet_vdgi", "parse", "universal", str(one)]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def pip(folder: Path, *arguments: str) -> None:
    """Runs pip, which fetches setuptools to build the package."""
    pytest.importorskip("pip")
    command = [sys.executable, "-m", "pip", *arguments]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=300
    )
    if _NO_NETWORK in done.stderr and "VDGI_REQUIRE_DATA" not in os.environ:
        pytest.skip("pip cannot fetch setuptools")
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What pip installs of a clone: it builds a wheel and unpacks it."""
    folder = tmp_path_factory.mktemp("built")
    pip(clone(folder / "clone"), "install", *OPTIONS, "--target", str(folder / "site"), ".")
    return folder / "site"


def test_what_is_installed_parses_outside_the_clone(site: Path, tmp_path: Path) -> None:
    said = parsed(site, tmp_path)
    assert "# sent_id = cy-1" in said
    assert "\tnsubj\t" in said or "\tobj\t" in said


def test_what_is_installed_is_typed_and_has_all_modules_and_resources(site: Path) -> None:
    names = {path.relative_to(site).as_posix() for path in site.rglob("*") if path.is_file()}
    modules = {str(path.relative_to(ROOT)) for path in (ROOT / "dynet_vdgi").rglob("*.py")}
    assert modules - names == set()
    assert "dynet_vdgi/py.typed" in names
    for kind in ("rules", "presets", "labels", "models", "demo", "experiments", "heads"):
        files = {
            f"dynet_vdgi/resources/{kind}/{path.name}"
            for path in (ROOT / "resources" / kind).iterdir()
        }
        assert {
            name for name in files - names if not name.endswith(("__pycache__", ".pyc"))
        } == set(), kind
