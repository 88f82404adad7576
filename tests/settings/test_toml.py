"""Settings and plans in TOML that somebody else has made are read in bounded time and memory."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from shell import ROOT
from wording import Wording

from dynet_vdgi.errors import ConfigError
from dynet_vdgi.experiments import plan
from dynet_vdgi.release.metadata import values_in
from dynet_vdgi.settings.presets import from_toml, load_settings, read_toml
from dynet_vdgi.system import toml

READERS: dict[str, Callable[[Path], object]] = {
    "preset": lambda path: load_settings(str(path)),
    "plan": plan.load_plan,
    "release.toml": values_in,
}


def read(text: str, name: str, tmp_path: Path) -> str:
    """The message of a reader that refuses this text."""
    path = tmp_path / "a.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        READERS[name](path)
    assert len(str(caught.value)) < 300 + len(str(path))
    return str(caught.value)


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize(
    "line",
    [
        "a" + ".a" * 9_999 + " = 1",
        "[a" + ' . "b"' * 9_999 + "]",
        "[[a" + ".b" * 9_999 + "]]",
        "x = { a" + ".'b'" * 9_999 + " = 1}",
        "c = '''''' \na" + ".a" * 9_999 + " = 1",
        "x = 1\n" * 200_000,
    ],
)
def test_keys_of_thousands_of_parts_are_refused_before_they_are_read(
    name: str, line: str, wording: Wording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python's reader keeps all beginnings of a key: of 80 kB, six gigabytes."""
    monkeypatch.setattr(toml.tomllib, "loads", pytest.fail)
    wording.check(read(f"# a\n'b' = 1\n{line}\n", name, tmp_path))


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize(
    "line",
    [
        "x = " + "[" * 9_999 + "]" * 9_999,
        "x = " + "{a = " * 9_999 + "1" + "}" * 9_999,
    ],
)
def test_deep_arrays_and_tables_are_refused(
    name: str, line: str, tmp_path: Path, wording: Wording
) -> None:
    wording.check(read(line, name, tmp_path))


HOSTILE = (
    'x = """' + '\\"""' * 100_000,
    "'''" * 150_000 + '"' * 50_001,
    'x = "' * 100_000,
    '"' + "\\" * 400_001,
)


@pytest.mark.parametrize("text", HOSTILE)
def test_what_is_not_closed_is_looked_at_once(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Quadratic work would take minutes; the tokens together have as many characters as the text."""
    met: list[str] = []

    def loads(text: str) -> dict[str, Any]:
        met.extend(token[0] for token in toml._TOKEN.finditer(text))
        return {}

    monkeypatch.setattr(toml.tomllib, "loads", loads)
    toml.loads(text)
    assert sum(map(len, met)) <= len(text)


def test_dots_in_texts_and_comments_are_no_keys(tmp_path: Path) -> None:
    dots = "a" + ".a" * 50
    path = tmp_path / "a.toml"
    text = f'# {dots}\na = "{dots}" # {dots}\nb = \'{dots}\'\nc = """\n{dots}\n"""\nd.e.f = 1.5\n'
    path.write_text(text, encoding="utf-8")
    assert read_toml(path, "preset") == {
        "a": dots,
        "b": dots,
        "c": f"{dots}\n",
        "d": {"e": {"f": 1.5}},
    }


def test_the_limit_of_a_file_can_be_raised(
    monkeypatch: pytest.MonkeyPatch, wording: Wording
) -> None:
    text = "x = '" + "a" * 1_000_000 + "'"
    with wording.raises(ValueError):
        toml.loads(text)
    monkeypatch.setenv("VDGI_LIMITS", "toml=2000000")
    assert len(toml.loads(text)["x"]) == 1_000_000


def test_saved_settings_have_the_same_reader(wording: Wording) -> None:
    with wording.raises(ConfigError):
        from_toml("a" + ".a" * 999 + " = 1", "settings.toml")


def test_no_other_module_reads_toml() -> None:
    """So nothing can come back that was refused here."""
    importing = set()
    for path in sorted((ROOT / "dynet_vdgi").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if {"tomllib", "tomli", "msgspec.toml"} & {*names}:
                importing.add(path.name)
    assert importing == {"toml.py"}
