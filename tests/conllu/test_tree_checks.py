"""What is said of gold trees before they are learnt from: their relations, and their tags."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from shell import Vdgi
from wording import Wording

from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.settings.bundled import resources
from dynet_vdgi.training.gold_trees import tell_of_relations, tell_of_tags

DEMO = resources() / "demo"


def tree(tags: str, deprels: str = "") -> Sentence:
    words = tuple(tags.split())
    return Sentence(words, words, (0, *(1 for _ in words[1:])), deprels=tuple(deprels.split()))


def test_relations_that_ud_2_does_not_have_are_counted(
    caplog: pytest.LogCaptureFixture, wording: Wording
) -> None:
    caplog.set_level(logging.INFO, logger="dynet_vdgi")
    tell_of_relations(
        [tree("VERB NOUN NOUN", "root subj subj"), tree("VERB NOUN NOUN", "root nsubj:pass OBJ")]
    )
    wording.check(caplog.messages)
    caplog.clear()
    tell_of_relations([tree("VERB NOUN", "root nsubj:pass"), tree("VERB NOUN", "root _")])
    assert not caplog.messages


def test_tags_of_trees_that_the_text_lacks_are_warned_of(
    caplog: pytest.LogCaptureFixture, wording: Wording
) -> None:
    trees, text = [tree("V N N"), tree("VERB N")], [tree("VERB NOUN")]
    tell_of_tags(trees, {"": text})
    wording.check(caplog.messages)
    caplog.clear()
    tell_of_tags([tree("V VERB")], {"": text})
    wording.check(caplog.messages)
    caplog.clear()
    tell_of_tags([tree("V N")], {})  # no text
    tell_of_tags([tree("X"), *[tree("VERB NOUN")] * 50], {"": text})  # one word in a hundred
    assert not caplog.messages


@pytest.mark.slow
def test_relations_of_trees_come_back_from_a_run(
    vdgi: Vdgi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wording: Wording
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = (DEMO / "demo-ud-dev.conllu").read_text(encoding="utf-8").split("\n")[:900]
    for k, line in enumerate(lines):
        columns = line.split("\t")
        if len(columns) == 10:
            columns[7] = columns[7].upper()
            lines[k] = "\t".join(columns)
    with open("trees.conllu", "w", encoding="utf-8") as file:
        file.write("\n".join(lines[: len(lines) - lines[::-1].index("")]) + "\n")
    ran = vdgi.good("train", "--trees", "trees.conllu", "--out", "run")
    wording.lines(ran.err + ran.out, "of UD 2")
    vdgi.good("parse", "run", "trees.conllu", "-o", "parsed.conllu")
    with open("parsed.conllu", encoding="utf-8") as file:
        found = {line.split("\t")[7] for line in file if line.count("\t") == 9}
    assert {"NSUBJ", "ROOT", "PUNCT", "DET"} <= found
    assert found == {relation.upper() for relation in found}
