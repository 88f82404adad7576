"""`vdgi tag`: learn a tagger, tag with it, score it, list words."""

from __future__ import annotations

import re

import pytest
import shell

LANGUAGE = (("the", "DET"), ("a", "DET"), ("dog", "NOUN"), ("cat", "NOUN"), ("barks", "VERB"), ("sleeps", "VERB"))


def block(words, *, tags=True):
    return "".join(f"{k}\t{w}\t_\t{t if tags else '_'}\t_\t_\t_\t_\t_\t_\n" for k, (w, t) in enumerate(words, 1)) + "\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tag")
    sentences = [[LANGUAGE[i], LANGUAGE[2 + j], LANGUAGE[4 + k]] for i in (0, 1) for j in (0, 1) for k in (0, 1)]
    (folder / "tagged.conllu").write_text("".join(map(block, sentences)), encoding="utf-8")
    raw = [block([("the", ""), ("cow", ""), ("barks", "")], tags=False) for _ in range(3)]
    (folder / "raw.conllu").write_text("".join(raw), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def tagger(folder):
    done = shell.ended("tag", "train", "tagged.conllu", "--text", "raw.conllu", "-o", "my.tagger", cwd=folder)
    assert "24 words with tags, 9 words without" in done.stderr
    return folder / "my.tagger"


def test_words_without_tags_get_them_and_everything_else_stays(folder, tagger):
    done = shell.vdgi("tag", "my.tagger", "raw.conllu", "--confidence", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert [line.split("\t")[3] for line in done.stdout.splitlines() if line] == ["DET", "NOUN", "VERB"] * 3
    assert len(re.findall(r"\tTagConf=[01]\.\d{3}\n", done.stdout)) == 9
    again = shell.vdgi("tag", "words", "my.tagger", "raw.conllu", "-o", "new.conllu", cwd=folder)
    assert again.returncode == 0, again.stderr
    bare = re.sub(r"\t(DET|NOUN|VERB)\t", "\t_\t", (folder / "new.conllu").read_text(encoding="utf-8"))
    assert bare == (folder / "raw.conllu").read_text(encoding="utf-8")


def test_tags_that_are_kept_are_counted(folder, tagger):
    done = shell.vdgi("tag", "my.tagger", "tagged.conllu", cwd=folder)
    assert done.stdout == (folder / "tagged.conllu").read_text(encoding="utf-8")
    assert "24 words, 24 had tags and kept them (--retag replaces them)" in done.stderr


def test_a_tagger_is_scored_on_gold_tags(folder, tagger):
    done = shell.vdgi("tag", "evaluate", "my.tagger", "tagged.conllu", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert re.search(r"UPOS +24 +24 +100\.00", done.stdout)


def test_frequent_words_are_listed_to_be_filled_in(folder):
    done = shell.vdgi("tag", "list", "raw.conllu", "-n", "2", cwd=folder)
    assert done.stdout == "barks\t_\t_\t3\ncow\t_\t_\t3\n"


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["my.tagger", "none.conllu"], 2, "none.conllu"),
        (["none.tagger", "raw.conllu"], 4, "no such file of a tagger"),
        (["raw.conllu", "raw.conllu"], 4, "not a file of a tagger"),
        (["train", "raw.conllu", "-o", "x"], 1, "no word has a tag"),
        (["train", "tagged.conllu", "-o", "tagged.conllu"], 2, "tagged.conllu"),
        (["list", "raw.conllu", "-n", "0"], 2, "at least 1"),
        ([], 2, "MODEL"),
    ],
)
def test_mistakes_are_told_without_a_traceback(folder, tagger, arguments, status, message):
    done = shell.vdgi("tag", *arguments, cwd=folder)
    assert done.returncode == status
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not (folder / "x").exists()
