"""Which module of the package imports which; import-linter checks the layers."""

from __future__ import annotations

import re
from graphlib import TopologicalSorter
from pathlib import Path

import rooms


def test_no_module_imports_itself_by_way_of_others() -> None:
    """Imports inside functions and for type checkers count, too."""
    assert len(rooms.imports()) > 100
    TopologicalSorter(rooms.imports()).prepare()  # CycleError names the circle


def test_no_room_imports_itself_by_way_of_others() -> None:
    TopologicalSorter(rooms.rooms()).prepare()


def test_the_page_lists_the_rooms_in_the_order_of_their_layers() -> None:
    top = Path(__file__).parents[2]
    page = (top / "docs" / "architecture.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `(\w+)(?:/|\.py)` \|", page, re.MULTILINE)
    contract = re.search(
        r"^layers = \[(.*?)^\]", (top / "pyproject.toml").read_text(), re.DOTALL | re.MULTILINE
    )
    assert contract is not None
    layers = {
        room: n
        for n, layer in enumerate(re.findall('"(.*)"', contract[1]))
        for room in re.findall(r"\w+", layer)
    }
    assert set(layers) - set(listed) == {"__main__", "cli", "errors", "_version"}
    assert [layers[room] for room in listed] == sorted(layers[room] for room in listed)


def test_every_import_of_a_module_counts(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(
        "import a.b, json\nfrom a import c, D\nif TYPE_CHECKING:\n    from a.e import E\n"
        "def f():\n    from a.d import F\n"
    )
    names = ("a", "a.b", "a.c", "a.d", "a.e", "a.g")
    assert rooms.imported(path, names) == {"a", "a.b", "a.c", "a.d", "a.e"}


def test_every_module_that_has_a_room_exists() -> None:
    tops = {name.split(".")[1] for name in rooms.imports() if "." in name}
    assert {module for modules in rooms.LOOSE.values() for module in modules} <= tops


def test_the_picture_shows_only_arrows_that_follow_from_no_others() -> None:
    assert rooms.drawn({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == {
        "a": {"b"},
        "b": {"c"},
        "c": set(),
    }
    assert rooms.floors({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == {"a": 2, "b": 1, "c": 0}
