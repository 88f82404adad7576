"""`vdgi tag`: learn a tagger, tag with it, score it, list words."""

from __future__ import annotations

import re

import pytest

from dynet_vdgi.tagging.tagger import Tagger

LANGUAGE = (
    ("the", "DET"),
    ("a", "DET"),
    ("dog", "NOUN"),
    ("cat", "NOUN"),
    ("barks", "VERB"),
    ("sleeps", "VERB"),
)


def block(words, *, tags=True):
    return (
        "".join(f"{k}\t{w}\t_\t{t if tags else '_'}\t_\t_\t_\t_\t_\t_\n" for k, (w, t) in enumerate(words, 1))
        + "\n"
    )


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Texts with and without tags, and a tagger that has learnt from both."""
    folder = tmp_path_factory.mktemp("tag")
    sentences = [
        [LANGUAGE[i], LANGUAGE[2 + j], LANGUAGE[4 + k]] for i in (0, 1) for j in (0, 1) for k in (0, 1)
    ]
    (folder / "tagged.conllu").write_text("".join(map(block, sentences)), encoding="utf-8")
    raw = [block([("the", ""), ("cow", ""), ("barks", "")], tags=False) for _ in range(3)]
    (folder / "raw.conllu").write_text("".join(raw), encoding="utf-8")
    (folder / "damaged").write_text("damaged", encoding="utf-8")
    Tagger().fit(folder / "tagged.conllu", folder / "raw.conllu").save(folder / "my.tagger")
    return folder


@pytest.fixture
def there(files, monkeypatch):
    monkeypatch.chdir(files)
    return files


def test_a_tagger_is_learnt_and_its_accuracy_told(there, vdgi, tmp_path):
    done = vdgi.good("tag", "train", "tagged.conllu", "--text", "raw.conllu", "-o", tmp_path / "new.tagger")
    assert "24 words with tags, 9 words without" in done.err
    assert (tmp_path / "new.tagger").read_bytes() == (there / "my.tagger").read_bytes()


def test_words_without_tags_get_them_and_everything_else_stays(there, vdgi, tmp_path):
    done = vdgi.good("tag", "my.tagger", "raw.conllu", "--confidence")
    assert [line.split("\t")[3] for line in done.out.splitlines() if line] == ["DET", "NOUN", "VERB"] * 3
    assert len(re.findall(r"\tTagConf=[01]\.\d{4}\n", done.out)) == 9
    vdgi.good("tag", "words", "my.tagger", "raw.conllu", "-o", tmp_path / "new.conllu")
    bare = re.sub(r"\t(DET|NOUN|VERB)\t", "\t_\t", (tmp_path / "new.conllu").read_text(encoding="utf-8"))
    assert bare == (there / "raw.conllu").read_text(encoding="utf-8")


def test_tags_that_are_kept_are_counted(there, vdgi):
    done = vdgi.good("tag", "my.tagger", "tagged.conllu")
    assert done.out == (there / "tagged.conllu").read_text(encoding="utf-8")
    assert "24 words, 24 had tags and kept them (--retag replaces them)" in done.err


def test_a_tagger_is_scored_on_gold_tags(there, vdgi):
    done = vdgi.good("tag", "evaluate", "my.tagger", "tagged.conllu")
    assert re.search(r"UPOS +24 +24 +100\.00", done.out)


def test_frequent_words_are_listed_to_be_filled_in(there, vdgi):
    assert vdgi.good("tag", "list", "raw.conllu", "-n", "2").out == "barks\t_\t_\t3\ncow\t_\t_\t3\n"


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["my.tagger", "none.conllu"], 3, "none.conllu"),
        (["none.tagger", "raw.conllu"], 4, "no such tagger"),
        (["damaged", "raw.conllu"], 4, "not a vdgi tagger"),
        (["train", "raw.conllu", "-o", "x"], 2, "no word has a tag"),
        (["train", "tagged.conllu", "-o", "tagged.conllu"], 2, "tagged.conllu"),
        (["list", "raw.conllu", "-n", "0"], 2, "at least 1"),
    ],
)
def test_mistakes_are_told(there, vdgi, arguments, status, message):
    done = vdgi("tag", *arguments)
    assert done.status == status
    assert message in done.err
    assert not (there / "x").exists()


def test_a_tag_without_arguments_names_what_is_missing(vdgi):
    done = vdgi("tag")
    assert done.status == 2
    assert "TASK" in done.err
