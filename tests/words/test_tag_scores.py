"""Scores of taggers: what gold does not say is not wrong, and it is told how much that is."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from shell import Vdgi
from wording import Wording

from dynet_vdgi.conllu.reading import read
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.errors import UsageError
from dynet_vdgi.settings.bundled import resources
from dynet_vdgi.words.tagger.tag_scores import scores_of

GOLD = Sentence(
    ("Mae", "hi", "oer", "_"),
    ("AUX", "_", "ADJ", "PUNCT"),
    lemmas=("bod", "hi", "_", "_"),
    xpos=("V", "_", "A", "_"),
    feats=("Tense=Pres", "_", "_", "_"),
)
FOUND = replace(
    GOLD,
    tags=("AUX", "PRON", "ADJ", "PUNCT"),
    lemmas=("bod", "hi", "oer", "_"),
    xpos=("V", "P", "B", "_"),
    feats=("Tense=Pres", "Case=Nom", "Degree=Pos", "_"),
)
DEMO = resources() / "demo" / "welsh-tagged.conllu"


def test_words_of_which_gold_says_nothing_are_left_out() -> None:
    """FEATS `_` says that there are none, if the word has a tag; lemma `_` of the word `_` is its
    lemma."""
    scores = scores_of([GOLD], [FOUND])
    assert scores.n_words == 4
    assert scores.scored == {"UPOS": 3, "XPOS": 2, "FEATS": 3, "UPOS and FEATS": 3, "lemma": 3}
    assert scores.right == {"UPOS": 3, "XPOS": 1, "FEATS": 2, "UPOS and FEATS": 2, "lemma": 3}
    assert scores.accuracy["lemma"] == 1


def test_a_column_that_gold_does_not_have_has_no_score(wording: Wording) -> None:
    scores = scores_of(
        [replace(GOLD, lemmas=(), xpos=(), forms=("a",) * 4)], [replace(FOUND, forms=("a",) * 4)]
    )
    assert scores.accuracy["lemma"] is None
    assert scores.accuracy["XPOS"] is None
    assert scores.accuracy["UPOS"] == 1
    assert scores_of([], []).accuracy["UPOS"] is None
    with wording.raises(UsageError):
        scores_of([GOLD], [replace(FOUND, forms=("b",) * 4)])


@pytest.fixture(scope="module")
def tagger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from dynet_vdgi.words.tagger.tagger import Tagger

    path = tmp_path_factory.mktemp("tagger") / "welsh.tagger"
    Tagger().fit(list(read(DEMO))).save(path)
    return path


def rows_of(out: str) -> dict[str, list[str]]:
    """Right words, scored words and per cent, by column."""
    rows = [re.split(r" {2,}", line) for line in out.splitlines()[1:]]
    return {row[0]: row[1:] for row in rows}


def test_gold_with_some_lemmas_and_tags_is_scored_by_these(
    vdgi: Vdgi, folder: Path, tagger: Path, wording: Wording
) -> None:
    text = "\n\n".join(DEMO.read_text(encoding="utf-8").split("\n\n")[:20]) + "\n\n"
    Path("gold.conllu").write_text(text, encoding="utf-8")
    whole = rows_of(vdgi.good("tag", "evaluate", tagger, "gold.conllu").out)
    n_words = int(whole["UPOS"][1])
    assert float(whole["lemma"][2]) > 90
    no_lemma = re.sub(r"(?m)^(\d*[02468]\t[^\t]+\t)[^\t]+", r"\1_", text)
    Path("gold.conllu").write_text(no_lemma, encoding="utf-8")
    result = vdgi.good("tag", "evaluate", tagger, "gold.conllu")
    missing = len(re.findall(r"(?m)^\d*[02468]\t", text))
    assert rows_of(result.out)["lemma"][1] == str(n_words - missing)
    assert float(rows_of(result.out)["lemma"][2]) > 90
    wording.lines(result.err, "left out")
    assert rows_of(result.out)["UPOS"] == whole["UPOS"]
    Path("gold.conllu").write_text(
        re.sub(r"(?m)^(\d+\t[^\t]+\t)[^\t]+", r"\1_", text), encoding="utf-8"
    )
    assert rows_of(vdgi.good("tag", "evaluate", tagger, "gold.conllu").out)["lemma"] == [
        "0",
        "0",
        "-",
    ]
    Path("gold.conllu").write_text(
        re.sub(r"(?m)^(2\t[^\t]+\t[^\t]+\t)[A-Z]+", r"\1_", text), encoding="utf-8"
    )
    result = vdgi.good("tag", "evaluate", tagger, "gold.conllu")
    assert (
        rows_of(result.out)["UPOS"][1]
        == rows_of(result.out)["UPOS and FEATS"][1]
        == str(n_words - 20)
    )
    wording.lines(result.err, "left out")


def test_a_text_without_any_tag_is_no_gold(
    vdgi: Vdgi, folder: Path, tagger: Path, wording: Wording
) -> None:
    Path("text.conllu").write_text("1\tMae\t_\t_\t_\t_\t_\t_\t_\t_\n\n", encoding="utf-8")
    status, out, err = vdgi("tag", "evaluate", tagger, "text.conllu")
    assert (status, out) == (3, "")
    wording.check(err)
