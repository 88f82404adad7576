"""Examples in docstrings: every module's run, and give what stands below them."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

import dynet_vdgi

PACKAGE = Path(dynet_vdgi.__file__).parent
MODULES = sorted(
    ".".join(("dynet_vdgi", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(
        ".__init__"
    )
    for path in PACKAGE.rglob("*.py")
)
EXTRAS = {"spacy", "starlette", "uvicorn", "udtools", "langcodes", "argcomplete", "matplotlib"}
"""Packages that not every installation has."""

WITH_EXAMPLES = [
    "dynet_vdgi.conllu.guess_marks",
    "dynet_vdgi.conllu.head_rules",
    "dynet_vdgi.page.learn.composed_xpos",
    "dynet_vdgi.page.store.outside_changes",
    "dynet_vdgi.paper.lockstep_rows",
    "dynet_vdgi.paper.minibatches",
    "dynet_vdgi.paper.posterior",
    "dynet_vdgi.paper.scores",
    "dynet_vdgi.paper.transitions",
    "dynet_vdgi.relations.inventory",
    "dynet_vdgi.relations.label_regression",
    "dynet_vdgi.rule_tables.symbol_levels",
    "dynet_vdgi.universal.arc_flags",
    "dynet_vdgi.universal.encoding",
    "dynet_vdgi.universal.lstm",
    "dynet_vdgi.universal.model_table",
    "dynet_vdgi.universal.scorer",
    "dynet_vdgi.universal.typology",
    "dynet_vdgi.words.tagger.bundles",
    "dynet_vdgi.words.tagger.chain",
    "dynet_vdgi.words.tagger.crf",
    "dynet_vdgi.words.tagger.spelling",
    "dynet_vdgi.words.tagger.type_means",
    "dynet_vdgi.words.tagger.word_numbers",
    "dynet_vdgi.words.tokeniser.rare_marks",
    "dynet_vdgi.words.tokeniser.seen",
    "dynet_vdgi.words.tokeniser.splitter",
    "dynet_vdgi.words.tokeniser.symbols",
    "dynet_vdgi.words.tokeniser.unit_labels",
    "dynet_vdgi.words.tokeniser.whole_units",
]
"""Modules that show what they compute."""


@pytest.mark.parametrize("module", MODULES)
def test_examples_in_docstrings_give_what_they_say(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        imported = importlib.import_module(module)
    except ImportError as error:
        if error.name and error.name.split(".")[0] in EXTRAS:
            pytest.skip(f"needs {error.name}, which is not installed")
        raise
    results = doctest.testmod(imported)
    assert not results.failed
    assert results.attempted or module not in WITH_EXAMPLES
    assert list(tmp_path.iterdir()) == []  # an example leaves no file behind


def test_all_modules_are_looked_through() -> None:
    assert len(MODULES) > 250
    examples = [
        path for path in PACKAGE.rglob("*.py") if ">>> " in path.read_text(encoding="utf-8")
    ]
    assert len(examples) > 50
    assert set(WITH_EXAMPLES) <= set(MODULES)
