"""Words that contradict the rest of a treebank, and lists of words for the page, on a treebank of
known errors."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import pytest
from annotating import guessed, written
from shell import Vdgi

from dynet_vdgi.errors import UsageError
from dynet_vdgi.page.learn.consistency import inconsistent_words
from dynet_vdgi.page.store.session import Session
from dynet_vdgi.page.text.annotated_text import AnnotatedText, listed_words
from dynet_vdgi.page.text.sentence_blocks import read_marked
from dynet_vdgi.page.web.search import search

NOUNS, VERBS = ("dog", "cat", "man", "cow"), ("sees", "hears", "likes")

ERRORS = {  # by sentence and word, from 1: a column, what is there instead, and what is said of it
    (7, 5): (7, "nsubj", "relation nsubj", "obj"),
    (16, 4): (6, "3", "head VERB before", "NOUN after"),
    (25, 2): (5, "Number=Plur", "features Number=Plur", "Number=Sing"),
    (30, 1): (3, "PRON", "tag PRON", "DET"),
    (36, 2): (2, "fox", "lemma fox", "man"),
}


def treebank(errors: dict[tuple[int, int], tuple[int, str, str, str]]) -> str:
    """All sentences such as `the dog sees a cat .`, of which some words are wrong."""
    blocks = []
    for number, (subject, verb, thing) in enumerate(product(NOUNS, VERBS, NOUNS), 1):
        rows = [
            ["1", "the", "the", "DET", "_", "_", "2", "det"],
            ["2", subject, subject, "NOUN", "_", "Number=Sing", "3", "nsubj"],
            ["3", verb, verb[:-1], "VERB", "_", "Number=Sing", "0", "root"],
            ["4", "a", "a", "DET", "_", "_", "5", "det"],
            ["5", thing, thing, "NOUN", "_", "Number=Sing", "3", "obj"],
            ["6", ".", ".", "PUNCT", "_", "_", "3", "punct"],
        ]
        for (sentence, word), (column, value, *_) in errors.items():
            if sentence == number:
                rows[word - 1][column] = value
        lines = "".join("\t".join([*row, "_", "_"]) + "\n" for row in rows)
        blocks.append(f"# sent_id = s{number}\n{lines}\n")
    return "".join(blocks)


def test_the_errors_of_a_treebank_come_first_with_what_is_there_elsewhere(folder: Path) -> None:
    path = written(Path("a.conllu"), treebank(ERRORS))
    places = inconsistent_words([str(path)])
    by_word = {(int(place.sentence[1:]), place.word): place for place in places}
    assert set(list(by_word)[:7]) >= ERRORS.keys()
    lines = path.read_text(encoding="utf-8").split("\n")
    for (sentence, word), (_, _, what, elsewhere) in ERRORS.items():
        place = by_word[sentence, word]
        assert (place.what, place.elsewhere.split(", parsed")[0]) == (what, elsewhere)
        mine, other = map(int, place.times.split(" : "))
        assert 1 <= mine < other
        assert place.path == "a.conllu"
        assert lines[place.line - 1].split("\t")[:2] == [str(word), place.form]


def test_a_treebank_that_agrees_with_itself_has_no_such_words(folder: Path) -> None:
    text = treebank({})
    assert inconsistent_words([str(written(Path("a.conllu"), text))]) == []
    half = text.replace("\t2\tdet\t", "\t_\t_\t")  # heads that are not there are not suspicious
    assert [
        p.what
        for p in inconsistent_words([str(written(Path("b.conllu"), half))])
        if "head" in p.what
    ] == []
    with pytest.raises(UsageError, match="no sentence of 2 to 40 words"):
        inconsistent_words(
            [str(written(Path("c.conllu"), "1\tdog\t_\tNOUN\t_\t_\t0\troot\t_\t_\n\n"))]
        )


def test_words_are_listed_as_a_table_and_as_json_that_the_page_steps_through(
    vdgi: Vdgi, folder: Path
) -> None:
    written(Path("a.conllu"), treebank(ERRORS))
    query = "deprel=nsubj head.upos=VERB feats.Number=Plur"
    table = vdgi.good("check", "a.conllu", "--find", query).out.splitlines()
    assert table[0].split() == ["place", "sentence", "word", "form", "is"]
    assert table[1].split() == [
        "a.conllu:195",
        "s25",
        "2",
        "man",
        "NOUN",
        "nsubj",
        "of",
        "3",
        "sees",
    ]
    assert len(table) == 2
    for wrong, why in (
        (["--find", "pos=NOUN"], "'pos' is no column"),
        (["--json"], "no effect without --find"),
    ):
        refused = vdgi("check", "a.conllu", *wrong)
        assert (refused.status, why in refused.err) == (2, True)
    none = vdgi.good("check", "a.conllu", "--find", "upos=NOUN|VERB")
    assert (
        "0 words found\nno word has upos=NOUN|VERB; for one of several values say upos~^(NOUN|VERB)$\n"
        in none.err
    )
    assert "no word" not in vdgi.good("check", "a.conllu", "--find", query).err
    few = vdgi.good("check", "a.conllu", "--consistency", "-n", "7").out.splitlines()
    assert (few[0].split()[-2:], len(few)) == (["elsewhere", "times"], 6)
    found_ones = vdgi.good("check", "a.conllu", "--consistency", "-n", "7", "--json").out
    Path("list.json").write_text(found_ones, encoding="utf-8")
    session = guessed(Session("a.conllu", "anna", "right"))
    assert search(session.text, "columns", "deprel=NSUBJ")["hint"].startswith(
        "no word has deprel=NSUBJ; nsubj has "
    )
    assert "hint" not in search(session.text, "columns", "deprel=nsubj")
    session.text.listed = listed_words("list.json", session.text)
    answer = search(session.text, "list", "")
    assert [(f"s{k + 1}", word) for k, word in answer["places"]] == [
        (place["sentence"], place["word"]) for place in json.loads(found_ones)
    ]
    assert {hit["why"] for hit in answer["found"]} >= {
        "5 man: relation nsubj; elsewhere obj, parsed obj"
    }
    session.close()


def test_lists_that_are_none_or_of_another_file_are_refused(folder: Path) -> None:
    written(Path("a.conllu"), treebank({}))
    text = AnnotatedText(read_marked("a.conllu"))
    place = {"path": "a.conllu", "line": 2, "sentence": "s1", "word": 1, "form": "the", "what": "x"}
    for content, why in (
        ("", "no list that vdgi check --json writes"),
        ("{}", "no list"),
        ('[{"word": 1}]', "no list"),
        (json.dumps([place | {"word": "1"}]), "no list"),
        ("[]", "none of its 0 words"),
        (
            json.dumps([place | {"form": "that"}, place | {"sentence": "t"}, place | {"word": 9}]),
            "none of its 3 words",
        ),
    ):
        Path("list.json").write_text(content, encoding="utf-8")
        with pytest.raises(UsageError, match=why):
            listed_words("list.json", text)
    unnamed = place | {"sentence": "2"}
    Path("list.json").write_text(json.dumps([place, unnamed]), encoding="utf-8")
    assert listed_words("list.json", text) == [(0, 1, "1 the: x")]  # the second sentence has a name
    written(
        Path("b.conllu"),
        "".join(line for line in treebank({}).splitlines(keepends=True) if line[0] != "#"),
    )
    assert listed_words("list.json", AnnotatedText(read_marked("b.conllu"))) == [(1, 1, "1 the: x")]
