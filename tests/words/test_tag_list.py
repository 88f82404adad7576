"""Lists of words with their usual tag: what is read, refused and told, and what a tagger learns
from them."""

from __future__ import annotations

import logging

import pytest
from wording import Wording

from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.errors import DataError
from dynet_vdgi.words.tagger.tag_list import TagList
from dynet_vdgi.words.tagger.tagger import Tagger

RAW = [
    Sentence(words.split(), ["_"] * len(words.split()))
    for words in (
        "the dog barks .",
        "a cat sleeps , the dog too",
        "a dog sleeps .",
        "12 cats bark",
        "the cow barks .",
        "a cow sleeps .",
    )
    * 3
]
LIST = "the\tDET\t_\t9\na\tDET\ndog\tNOUN\t\t4\nCat\tNOUN\nbarks\tVERB\t_\nsleeps\tVERB\ntoo\t_\t_\t1\n"


def written(path, text):
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def words(tmp_path):
    return written(tmp_path / "words.tsv", LIST)


def tags_of(tagger, text):
    forms = tuple(text.split())
    return " ".join(tagger.predict([Sentence(forms, ("_",) * len(forms))])[0].tags)


def test_a_list_is_read_whatever_the_case_the_line_ends_and_the_mark_of_a_spreadsheet(
    tmp_path, words
):
    found = TagList.read(words)
    assert found.tags["cat"] == ("NOUN", "_")
    assert len(found.tags) == 6
    assert found.n_empty == 1
    other = tmp_path / "windows.tsv"
    other.write_bytes(b"\xef\xbb\xbf" + LIST.replace("\n", "\r\n\r\n").encode())
    assert TagList.read(other).tags == found.tags


@pytest.mark.parametrize(
    "text",
    [
        "the\tDET\ndog NOUN\n",
        "the\tDET\t_\t1\tnote\n",
        "\tDET\n",
        "dog\tNOON\n",
        "dog\t\n",
        "dog\tNOUN\tSing\n",
        "dog\t_\tNumber=Sing\n",
        "the\tDET\n\nThe\tPRON\n",
        "the\t_\t_\t9\n",
        "",
    ],
)
def test_malformed_lists_are_refused_with_line_and_remedy(tmp_path, text, wording: Wording):
    with wording.raises(DataError):
        TagList.read(written(tmp_path / "words.tsv", text))


def test_a_list_alone_makes_a_tagger_whose_accuracy_nobody_knows(words, tmp_path):
    tagger = Tagger().fit(raw=RAW, tag_list=words)
    assert tags_of(tagger, "the cow sleeps .") == "DET NOUN VERB PUNCT"
    assert tags_of(tagger, "12 cats bark").startswith("NUM ")
    assert tagger.accuracy is None
    assert tagger.n_words == 0
    tagger.save(tmp_path / "my.tagger")
    again = Tagger.load(tmp_path / "my.tagger")
    assert again.accuracy is None
    assert again.predict(RAW) == tagger.predict(RAW)


def test_a_list_beside_tagged_sentences_tags_what_they_lack(words):
    tagged = [
        Sentence(("dog", "barks"), ("NOUN", "VERB")),
        Sentence(("it", "sleeps"), ("PRON", "VERB")),
    ]
    without, with_list = Tagger().fit(tagged, RAW), Tagger().fit(tagged, RAW, tag_list=words)
    assert "DET" not in without.learnt.tags
    assert tags_of(with_list, "the dog sleeps") == "DET NOUN VERB"
    assert with_list.n_words == 4
    assert 0 <= with_list.accuracy <= 1


def test_feats_of_a_list_without_any_are_learnt_from_the_sentences():
    tagged = [Sentence(("cats", "bark"), ("NOUN", "VERB"), feats=("Number=Plur", "_"))] * 2
    for feats, expected in (("_", "Number=Plur"), ("Number=Sing", "Number=Sing")):
        listing = TagList({"dog": ("NOUN", feats), "cow": ("NOUN", feats), "the": ("DET", "_")})
        tagger = Tagger().fit(tagged, RAW, tag_list=listing)
        (found,) = tagger.predict([Sentence(("the", "cow"), ("_", "_"))])
        assert found.tags == ("DET", "NOUN")
        assert (found.feats or "__")[1] == expected


def test_listed_words_without_effect_are_told(caplog, wording: Wording):
    listing = TagList(
        {"the": ("DET", "_"), "unicorn": ("NOUN", "_"), "dog": ("VERB", "_")}, 3, "words.tsv"
    )
    with caplog.at_level(logging.INFO, "dynet_vdgi"):
        Tagger().fit([Sentence(("dog", "barks"), ("NOUN", "VERB"))], RAW, tag_list=listing)
    wording.check([record.getMessage() for record in caplog.records])


def test_the_command_learns_from_a_list(words, vdgi, tmp_path, monkeypatch, wording: Wording):
    monkeypatch.chdir(tmp_path)
    lines = (
        "".join(f"{k}\t{form}" + "\t_" * 8 + "\n" for k, form in enumerate(s.forms, 1)) + "\n"
        for s in RAW
    )
    written(tmp_path / "raw.conllu", "".join(lines))
    done = vdgi.good(
        "tag", "train", "--text", "raw.conllu", "--tag-list", "words.tsv", "-o", "my.tagger"
    )
    wording.check(done.err)

    assert "\tthe\t_\tDET\t" in vdgi.good("tag", "my.tagger", "raw.conllu").out
    for arguments in (["--tag-list", "words.tsv"], ["--text", "raw.conllu"], []):
        done = vdgi("tag", "train", *arguments, "-o", "no.tagger")
        assert done.status == 2
        wording.check(done.err)
    done = vdgi(
        "tag", "train", "--text", "raw.conllu", "--tag-list", "raw.conllu", "-o", "no.tagger"
    )
    assert done.status == 3
    wording.check(done.err)
    done = vdgi(
        "tag", "train", "--text", "raw.conllu", "--tag-list", "words.tsv", "-o", "words.tsv"
    )
    assert done.status == 2
    assert words.read_text(encoding="utf-8") == LIST
