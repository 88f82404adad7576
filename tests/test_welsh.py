"""The Welsh files of the demo: tagged sentences that are sound, and a story of other sentences."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import conllu
import pytest
from shell import Vdgi

import dynet_vdgi
from dynet_vdgi.data.conllu_blocks import blocks
from dynet_vdgi.data.protocols import UD2_TAGS
from dynet_vdgi.validation.form import NO_HEADS, problems_in

ROOT = Path(__file__).parents[1]
DEMO = ROOT / "resources" / "demo"
TAGGED = DEMO / "welsh-tagged.conllu"
STORY = " ".join((DEMO / "welsh.txt").read_text(encoding="utf-8").split())


@pytest.fixture(scope="module")
def tagged() -> list[conllu.TokenList]:
    return conllu.parse(TAGGED.read_text(encoding="utf-8"))


def test_it_has_the_size_that_its_page_says(tagged: list[conllu.TokenList]) -> None:
    page = (DEMO / "README.md").read_text(encoding="utf-8")
    size = re.search(r"`welsh-tagged\.conllu`, (\d+) sentences \((\d+) words", page)
    assert size is not None
    assert [len(tagged), sum(map(len, tagged))] == [int(size[1]), int(size[2])]


def test_it_follows_universal_dependencies_but_for_the_trees() -> None:
    found = {problem.text for block in blocks(TAGGED) for problem in problems_in(block.lines)}
    assert found == {NO_HEADS}


def test_every_word_has_a_tag_a_lemma_and_its_place_in_the_text(tagged: list[conllu.TokenList]) -> None:
    for sentence in tagged:
        assert {word["upos"] for word in sentence} <= UD2_TAGS
        assert "_" not in {word["lemma"] for word in sentence}
        spaces = ["" if (word["misc"] or {}).get("SpaceAfter") == "No" else " " for word in sentence]
        text = "".join(word["form"] + space for word, space in zip(sentence, spaces)).rstrip()
        assert sentence.metadata["text"] == text


def test_the_features_of_a_word_form_follow_from_its_tag_and_lemma(tagged: list[conllu.TokenList]) -> None:
    """Wrong features are worse than none: one analysis of a form has one set of them."""
    features: dict[tuple[str, str, str], set[str]] = {}
    for word in (word for sentence in tagged for word in sentence):
        key = word["form"].lower(), word["upos"], word["lemma"]
        features.setdefault(key, set()).add(str(word["feats"]))
    assert {key: found for key, found in features.items() if len(found) > 1} == {}


def test_no_sentence_of_the_story_is_tagged(tagged: list[conllu.TokenList]) -> None:
    assert 8 <= len(re.findall(r"[.?!]", STORY)) <= 12
    assert [s.metadata["text"] for s in tagged if s.metadata["text"] in STORY] == []


@pytest.mark.slow
def test_the_page_on_raw_text_makes_trees_of_the_story(folder: Path, vdgi: Vdgi) -> None:
    page = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    block = page.partition("## From raw text")[2].split("```")[1]
    Path("resources").symlink_to(ROOT / "resources")
    for line in block.splitlines()[1:]:
        vdgi.good(*shlex.split(line, comments=True)[1:])
    trees = list(dynet_vdgi.read("welsh.trees.conllu"))
    assert " ".join(" ".join(tree.forms) for tree in trees).replace(" .", ".").replace(" 'r", "'r") == STORY
    assert all(tree.heads is not None for tree in trees)
    assert " ".join(trees[0].tags) == "VERB DET NOUN NOUN ADJ ADP DET NOUN PUNCT"
