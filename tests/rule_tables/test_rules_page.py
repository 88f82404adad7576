"""The examples of docs/rules.md are read as the page says, and it names every setting."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from wording import Wording

from dynet_vdgi.rule_tables.facts import parse_facts
from dynet_vdgi.rule_tables.measures import MEASURES, TOLD
from dynet_vdgi.rule_tables.parts import KINDS_BY_NAME
from dynet_vdgi.rule_tables.rules import load_rules, parse_rules
from dynet_vdgi.settings.bundled import rules_path

PAGE = (Path(__file__).parents[2] / "docs" / "rules.md").read_text(encoding="utf-8")


def examples(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)


@pytest.mark.parametrize("text", examples("rules"))
def test_examples_are_tables(text):
    rules = parse_rules(text)
    assert rules.table is not None
    assert rules.parts


@pytest.mark.parametrize("text", examples("facts"))
def test_examples_are_facts(text):
    assert len(parse_facts(text, load_rules(rules_path("best")))) == 5


def test_an_explanation_is_shown(wording: Wording):
    """What it prints is compared in test_docs.py."""
    (shown,) = examples("console")
    wording.check(shown.split("\n")[0])
    assert "\n  [edge statistics] " in shown
    assert "\n  sum " in shown


def test_every_setting_and_its_options_are_on_the_page():
    rows = {
        row[0].strip(" `"): row[2]
        for row in re.findall(r"^\|([^|]+)\|(.+?)\|([^|]*)\|[^|]*\|$", PAGE, re.M)
    }
    for name, kind in KINDS_BY_NAME.items():
        assert set(re.findall("`(.+?)`", rows[name])) == set(kind.syntax.options), name
    for name in MEASURES:
        assert f"`{name} A" in PAGE or (name == TOLD and f"= {TOLD}`" in PAGE)
