"""The demo treebank is what its generator makes, and holds the tags that its page counts."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections import Counter
from pathlib import Path

import pytest

import dynet_vdgi

DEMO = Path(__file__).parents[2] / "resources" / "demo"
PARTS = ("train", "dev", "test")


def test_generator_makes_the_files_byte_for_byte(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("demo_generate", DEMO / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, spec.name, module)  # dataclasses look their module up
        spec.loader.exec_module(module)
    module.write(tmp_path)
    for name in (f"demo-ud-{part}.conllu" for part in PARTS):
        assert (tmp_path / name).read_bytes() == (DEMO / name).read_bytes(), (
            f"{name}: run generate.py"
        )


def test_every_sentence_has_a_tree_and_the_page_has_the_tag_counts() -> None:
    counts = [
        Counter(
            tag
            for s in dynet_vdgi.read(DEMO / f"demo-ud-{part}.conllu", heads="required")
            for tag in s.tags
        )
        for part in PARTS
    ]
    rows = re.findall(
        r"^\| ([A-Z]+) \|(.*)\|$", (DEMO / "README.md").read_text(encoding="utf-8"), re.M
    )
    shown = {tag: [int(n) for n in cells.split("|")] for tag, cells in rows}
    assert {*shown} >= {*counts[0]}
    for tag, numbers in shown.items():
        expected = [count[tag] for count in counts]
        assert numbers == [*expected, sum(expected)], tag
