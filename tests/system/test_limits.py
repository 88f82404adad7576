"""Inputs that are too large are refused at their place, and the limits can be set."""

from __future__ import annotations

import gzip
import re
import tracemalloc
from pathlib import Path

import pytest
from wording import Wording

from dynet_vdgi.conllu import expressions, penn, reading
from dynet_vdgi.conllu.protocols import STANDARD
from dynet_vdgi.errors import ConfigError, DataError
from dynet_vdgi.evaluation import treebank_check
from dynet_vdgi.relations.label_table import LabelTable
from dynet_vdgi.rule_tables.rules import load_rules
from dynet_vdgi.settings.bundled import rules_path
from dynet_vdgi.settings.presets import read_toml
from dynet_vdgi.system import limits
from dynet_vdgi.system.files import read_text
from dynet_vdgi.training.input_reader import InputReader
from dynet_vdgi.training.inputs import Inputs
from dynet_vdgi.training.taught import RECIPE, TaughtSettings

WORD = "{0}\tw\t_\tNOUN\t_\t_\t_\t_\t_\t_\n"


@pytest.fixture
def low(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(limits.VARIABLE, "line=20_000, sentence=1000 words=3 table=100 tags=3")


def fault_of(path: Path) -> str:
    """The one fault of a CoNLL-U file, without the hint."""
    faults: list[DataError] = []
    list(reading.read(path, on_error=faults.append))
    (fault,) = faults
    return f"{fault.line}: {fault.message}"


@pytest.mark.usefixtures("low")
@pytest.mark.parametrize("name", ["a.conllu", "a.conllu.gz"])
def test_a_line_without_end_is_refused_while_it_is_read(
    tmp_path: Path, name: str, wording: Wording
) -> None:
    path = tmp_path / name
    content = WORD.format(1).encode() + bytes(1_000_000)
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    wording.check(fault_of(path))
    with wording.raises(DataError):
        read_text(path)


@pytest.mark.usefixtures("low")
def test_sentences_that_are_too_long_are_skipped_and_told(tmp_path: Path, wording: Wording) -> None:
    path = tmp_path / "a.conllu"
    sound = WORD.format(1) + "\n"
    path.write_text(sound + "".join(map(WORD.format, range(1, 5))) + "\n" + sound, encoding="utf-8")
    wording.check(fault_of(path))
    path.write_text("\n" + sound + "# c\n" * 400 + sound + sound, encoding="utf-8")
    wording.check(fault_of(path))


@pytest.mark.usefixtures("low")
def test_a_bracketed_tree_may_not_have_any_number_of_words(
    tmp_path: Path, wording: Wording
) -> None:
    path = tmp_path / "a.mrg"
    path.write_text("((S (NN a)))\n(S\n" + "(NN a)\n" * 4, encoding="utf-8")
    with wording.raises(DataError):
        list(penn.read(path))


def test_words_in_the_column_of_tags_are_not_learnt_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wording: Wording
) -> None:
    monkeypatch.setenv(limits.VARIABLE, "tags=3")
    path = tmp_path / "a.conllu"
    blocks = ["".join(map(WORD.format, "12")).replace("NOUN", tag) + "\n" for tag in "abcd"]
    path.write_text("".join(blocks), encoding="utf-8")
    inputs = Inputs({"": (str(path),)})
    settings = TaughtSettings()
    with wording.raises(DataError):
        RECIPE.prepare(InputReader(inputs, settings.data), settings)


@pytest.mark.usefixtures("low")
def test_a_table_has_a_limit(tmp_path: Path, wording: Wording) -> None:
    path = tmp_path / "a.toml"
    path.write_text("#" * 101, encoding="utf-8")
    for read in (load_rules, LabelTable.read, lambda path: read_toml(path, "preset")):
        with wording.raises(ConfigError):
            read(path)


def test_a_file_of_thousands_of_tags_is_checked_without_a_table_of_their_pairs(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.conllu"
    tree = "".join(
        f"{k}\tw\t_\t{{}}\t_\t_\t{head}\tdep\t_\t_\n" for k, head in ((1, 2), (2, 0), (3, 2))
    )
    path.write_text(
        "".join(f"{tree}\n".format(*[f"T{k}"] * 3) for k in range(4_000)), encoding="utf-8"
    )
    rules = load_rules(rules_path("best"))
    tracemalloc.start()
    summary = treebank_check.check(path, rules, STANDARD, 10)
    lines = summary.lines()
    assert tracemalloc.get_traced_memory()[1] < 40e6
    tracemalloc.stop()
    assert summary.arcs == 12_000
    assert summary.rule_arcs == 0
    assert max(map(len, lines)) < 8_000
    assert any(" and 3,500 more" in line for line in lines)


def test_security_md_has_every_limit_with_its_default() -> None:
    text = (Path(__file__).parents[2] / "SECURITY.md").read_text(encoding="utf-8")
    rows = re.findall(r"^  \| `(\w+)` \| [^|]+ \| ([\d,]+) \|$", text, re.MULTILINE)
    assert {name: int(number.replace(",", "")) for name, number in rows} == limits.DEFAULTS
    assert len(rows) == len(limits.DEFAULTS)


def test_security_md_names_what_there_is() -> None:
    root = Path(__file__).parents[2]
    text = (root / "SECURITY.md").read_text(encoding="utf-8")
    named = re.findall(r"`(?:bash )?((?:\w+/)*\w+\.(?:py|sh|cff))[ `]", text)
    assert len(named) >= 3
    assert [name for name in named if not (root / name).exists()] == []
    code = "".join(path.read_text(encoding="utf-8") for path in (root / "dynet_vdgi").rglob("*.py"))
    assert [name for name in re.findall(r"`([A-Z][A-Z_]{5,})`", text) if name not in code] == []


def test_security_md_says_how_long_connections_and_queries_may_take() -> None:
    connections = pytest.importorskip(
        "dynet_vdgi.page.web.connections", reason="uvicorn is not installed"
    )
    text = (Path(__file__).parents[2] / "SECURITY.md").read_text(encoding="utf-8")
    assert f"closed after {connections.SECONDS:.0f} seconds" in text
    assert expressions.SECONDS == 2
    assert "after two seconds" in text
