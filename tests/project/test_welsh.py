"""The Welsh files of the demo: tagged sentences that are sound, and a story of other sentences."""

from __future__ import annotations

import shlex
from pathlib import Path

import conllu
import pytest
from shell import Vdgi

import dynet_vdgi
from dynet_vdgi.conllu.blocks import blocks
from dynet_vdgi.validation.levels import NO_HEADS, problems_in

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "resources" / "demo"
TAGGED = DEMO / "welsh-tagged.conllu"
STORY = " ".join((DEMO / "welsh.txt").read_text(encoding="utf-8").split())


@pytest.fixture(scope="module")
def tagged() -> list[conllu.TokenList]:
    return conllu.parse(TAGGED.read_text(encoding="utf-8"))


def test_it_follows_universal_dependencies_but_for_the_trees() -> None:
    found = {problem.text for block in blocks(TAGGED) for problem in problems_in(block.lines)}
    assert found == {NO_HEADS}


def test_the_features_of_a_word_form_follow_from_its_tag_and_lemma(
    tagged: list[conllu.TokenList],
) -> None:
    """Wrong features are worse than none: one analysis of a form has one set of them."""
    features: dict[tuple[str, str, str], set[str]] = {}
    for word in (word for sentence in tagged for word in sentence):
        key = word["form"].lower(), word["upos"], word["lemma"]
        features.setdefault(key, set()).add(str(word["feats"]))
    assert {key: found for key, found in features.items() if len(found) > 1} == {}


def test_a_saved_parser_knows_the_verb_order_of_the_text_that_it_was_adapted_to(
    tmp_path: Path,
) -> None:
    """Otherwise it would find other relations: a few sentences do not tell it."""
    parser = dynet_vdgi.load("universal").adapted(TAGGED)
    parser.save(tmp_path / "my.vdgi")
    few = list(dynet_vdgi.read(TAGGED))[:15]
    again = dynet_vdgi.load(tmp_path / "my.vdgi")
    assert again.to_bytes() == parser.to_bytes() == (tmp_path / "my.vdgi").read_bytes()
    expected = list(parser.pipe(few))
    assert list(again.pipe(few)) == expected
    again.labeller.verb_order = None
    assert list(again.pipe(few)) != expected


@pytest.mark.slow
def test_the_page_on_raw_text_makes_trees_of_the_story(folder: Path, vdgi: Vdgi) -> None:
    page = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    block = page.partition("## From raw text")[2].split("```")[1]
    Path("resources").symlink_to(ROOT / "resources")
    for line in block.splitlines()[1:]:
        vdgi.good(*shlex.split(line, comments=True)[1:])
    trees = list(dynet_vdgi.read("welsh.trees.conllu"))
    assert (
        " ".join(" ".join(tree.forms) for tree in trees).replace(" .", ".").replace(" 'r", "'r")
        == STORY
    )
    assert all(tree.heads is not None for tree in trees)
    assert " ".join(trees[0].tags) == "VERB DET NOUN NOUN ADJ ADP DET NOUN PUNCT"
