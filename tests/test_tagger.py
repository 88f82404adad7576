"""The tagger: what it learns, what it keeps, its file."""

from __future__ import annotations

import random
import zipfile
from dataclasses import replace

import numpy as np
import pytest

import dynet_vdgi as vdgi
from dynet_vdgi.data.conllu_writing import unchanged
from dynet_vdgi.errors import ModelError, UsageError, VdgiError
from dynet_vdgi.settings.bundled import resources
from dynet_vdgi.tagging.crf import Crf
from dynet_vdgi.tagging.lemmas import applied, known_lemmas, rule_of
from dynet_vdgi.tagging.spelling import OUTSIDE, WordTypes, around, items_of
from dynet_vdgi.tagging.tagger import Tagger
from dynet_vdgi.tagging.type_means import LEAST, TypeMeans
from dynet_vdgi.tagging.type_means import items_of as items_of_means


def made(n_sentences, seed=1):
    """Sentences of a language in which endings tell tags, FEATS, XPOS and lemmas."""
    rng = random.Random(seed)
    stems = [a + b + c for a in "bdgklm" for b in "aeiou" for c in "nrst"]
    sentences = []
    for _ in range(n_sentences):
        words = []
        for tag in rng.choice(["DET NOUN VERB PUNCT", "NOUN VERB DET NOUN", "VERB NOUN PUNCT"]).split():
            stem = rng.choice(stems)
            plural = rng.random() < 0.5
            if tag == "PUNCT":
                words.append((".", "PUNCT", "_", "Z", "."))
            elif tag == "DET":
                words.append(("the", "DET", "_", "D", "the"))
            elif tag == "NOUN":
                number = "Number=Plur" if plural else "Number=Sing"
                words.append((stem + ("ok" if plural else "o"), "NOUN", number, "N" + number[7], stem + "o"))
            else:
                words.append(
                    (
                        stem + ("imu" if plural else "isu"),
                        "VERB",
                        "Person=1" if plural else "Person=2",
                        "V",
                        stem + "i",
                    )
                )
        lines = [f"{k}\t{w}\t{y}\t{t}\t{x}\t{f}\t_\t_\t_\t_" for k, (w, t, f, x, y) in enumerate(words, 1)]
        sentences.append("\n".join(lines) + "\n\n")
    return "".join(sentences)


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tagger")
    for name, n, seed in (("tagged", 30, 1), ("raw", 60, 2), ("test", 40, 3)):
        (folder / f"{name}.conllu").write_text(made(n, seed), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def tagger(text):
    return Tagger().fit(text / "tagged.conllu", raw=text / "raw.conllu")


def test_the_xpos_that_a_word_may_have_are_those_of_its_tag_and_feats(tagger, text):
    for one in list(vdgi.read(text / "test.conllu"))[:10]:
        for known in (one, replace(one, feats=(), xpos=())):
            assert [word.xpos[0][0] for word in tagger.choices(known)] == list(one.xpos)
    found = tagger.choices(replace(one, tags=("DET",) + ("X",) * (len(one) - 1)))
    assert [[name for name, _ in word.xpos] for word in found] == [["D"]] + [[]] * (len(one) - 1)


def bare(path):
    """The sentences of a file without any tags."""
    lines = path.read_text(encoding="utf-8").split("\n")
    blank = ["\t".join([*line.split("\t")[:2], *"________"]) if line else "" for line in lines]
    new = path.with_suffix(".bare.conllu")
    new.write_text("\n".join(blank), encoding="utf-8")
    return new


def test_new_words_get_tags_feats_xpos_and_lemmas(tagger, text):
    gold = list(vdgi.read(text / "test.conllu"))
    found = tagger.predict(bare(text / "test.conllu"))
    for one, other in zip(gold, found):
        assert (one.tags, one.feats, one.xpos, one.lemmas) == (
            other.tags,
            other.feats,
            other.xpos,
            other.lemmas,
        )
    assert "".join(map(unchanged, found)) == (text / "test.conllu").read_text(encoding="utf-8")
    assert tagger.accuracy > 0.95


def test_equal_sentences_give_equal_taggers(tagger, text):
    again = Tagger().fit(text / "tagged.conllu", raw=list(vdgi.read(text / "raw.conllu")))
    assert again.predict(bare(text / "test.conllu")) == tagger.predict(bare(text / "test.conllu"))


def test_words_with_tags_keep_what_they_have_and_inform_their_neighbours(tagger, tmp_path):
    line = "{}\t{}\t{}\t{}\t_\t{}\t_\t_\t_\tNote=1\n"
    content = (
        line.format(1, "the", "THE", "X", "Foreign=Yes")
        + line.format(2, "bano", "_", "_", "Number=Dual")
        + "\n"
    )
    (tmp_path / "some.conllu").write_text(content, encoding="utf-8")
    (found,) = tagger.predict(tmp_path / "some.conllu")
    assert found.tags == ("X", "NOUN")
    assert found.feats == ("Foreign=Yes", "Number=Dual")
    assert found.lemmas == ("THE", "bano")
    assert unchanged(found).count("Note=1") == 2
    (found,) = tagger.predict(tmp_path / "some.conllu", retag=True)
    assert found.tags == ("DET", "NOUN")
    assert found.feats == ("_", "Number=Sing")
    assert found.lemmas == ("the", "bano")


def test_probabilities_are_those_of_the_tags_that_were_found(tagger, text):
    given = list(tagger.stream(text / "test.conllu"))
    assert {chance for each in given for chance in each.chances} == {None}
    found = [chance for each in tagger.stream(bare(text / "test.conllu")) for chance in each.chances]
    assert all(0 < chance <= 1 for chance in found)
    assert min(found) < 1


def test_words_without_tags_among_the_tagged_are_raw(text, tmp_path):
    """Sentences are learnt from though some of their words have no tag."""
    lines = (text / "tagged.conllu").read_text(encoding="utf-8").split("\n")
    rng = random.Random(0)
    some = [
        "\t".join([*c[:2], *"________"]) if len(c := line.split("\t")) > 1 and rng.random() < 0.4 else line
        for line in lines
    ]
    (tmp_path / "some.conllu").write_text("\n".join(some), encoding="utf-8")
    found = Tagger().fit(tmp_path / "some.conllu").predict(bare(text / "test.conllu"))
    gold = list(vdgi.read(text / "test.conllu"))
    right = [a == b for one, other in zip(gold, found) for a, b in zip(one.tags, other.tags)]
    assert np.mean(right) > 0.97


@pytest.mark.parametrize("n_sentences", [1, 2, 7])
def test_few_sentences_are_enough_to_run(n_sentences, text):
    few = list(vdgi.read(text / "tagged.conllu"))[:n_sentences]
    found = Tagger().fit(few).predict(bare(text / "test.conllu"))
    assert {tag for sentence in found for tag in sentence.tags} <= {tag for one in few for tag in one.tags}


def test_text_without_any_tag_is_refused(text):
    with pytest.raises(VdgiError, match="no word has a tag"):
        Tagger().fit(bare(text / "test.conllu"))


def test_sentences_made_by_a_program_are_tagged(tagger):
    (found,) = tagger.predict([vdgi.Sentence(("the", "banok"), ("_", "_"))])
    assert found.tags == ("DET", "NOUN")
    assert found.feats == ("_", "Number=Plur")
    assert tagger.predict([]) == []


def test_tags_of_a_treebank_without_feats_xpos_or_lemmas_come_alone(text):
    few = [vdgi.Sentence(s.forms, s.tags) for s in vdgi.read(text / "tagged.conllu")]
    found = Tagger().fit(few).predict(bare(text / "test.conllu"))
    assert not any(s.feats or s.xpos or s.lemmas for s in found)


def test_a_tagger_of_a_file_is_the_same(tagger, text, tmp_path):
    tagger.save(tmp_path / "my.tagger")
    again = Tagger.load(tmp_path / "my.tagger")
    assert again.predict(bare(text / "test.conllu")) == tagger.predict(bare(text / "test.conllu"))
    assert again.accuracy == tagger.accuracy
    again.save(tmp_path / "again.tagger")
    assert (tmp_path / "again.tagger").read_bytes() == (tmp_path / "my.tagger").read_bytes()


def test_files_that_are_no_taggers_are_refused(tagger, tmp_path):
    for name, content, message in (
        ("none", None, "no such tagger"),
        ("text", b"hello", "not a zip archive"),
        ("empty", b"", "not a zip archive"),
    ):
        if content is not None:
            (tmp_path / name).write_bytes(content)
        with pytest.raises(ModelError, match=message):
            Tagger.load(tmp_path / name)
    tagger.save(tmp_path / "my.tagger")
    with zipfile.ZipFile(tmp_path / "my.tagger") as z:
        members = {name: z.read(name) for name in z.namelist()}
    for name, old, new, message in (
        ("meta.json", b'"format":1', b'"format":9', "format 9"),
        ("meta.json", b'"tagger"', b'"parser"', "a parser"),
        ("tags.json", b'"NOUN"', b'"NOON"', "damaged"),
        ("tags.json", b"Number=Plur", b"Number=\\tlur", "CoNLL-U"),
    ):
        with zipfile.ZipFile(tmp_path / "damaged", "w") as z:
            for member, data in members.items():
                z.writestr(member, data.replace(old, new, 1) if member == name else data)
        with pytest.raises(ModelError, match=message):
            Tagger.load(tmp_path / "damaged")


def test_predicting_before_learning_is_refused():
    with pytest.raises(UsageError, match="call fit first"):
        Tagger().predict([])


# ------------------------------------------------------------------------------------------- parts
def test_type_means_are_those_of_all_occurrences_whatever_their_case():
    words = WordTypes.of([("The", "dog"), ("the",)])
    means = TypeMeans.of(words, np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]))
    more = WordTypes.of([("THE", "cat")])
    both = means.plus(TypeMeans.of(more, np.array([[1.0, 0.0], [0.25, 0.75]])))
    new = WordTypes.of([("cat", "the", "dog")])
    np.testing.assert_allclose(both.of_words(new)[1:], [[0.25, 0.75], [2 / 3, 1 / 3], [0.5, 0.5]])


def test_weights_that_no_sum_can_hold_are_refused(tagger):
    """Found by fuzzing: a bigram of 1e29 made marginals that are not numbers."""
    arrays = tagger.learnt.first.arrays("first/")
    assert Crf.from_arrays(arrays, "first/").n_labels == len(tagger.learnt.tags)
    for name in ("first/bigrams", "first/borders"):
        changed = arrays[name].copy()
        changed[0, 0] = -1e29
        with pytest.raises(ModelError, match="first/bigrams or borders are beyond 50"):
            Crf.from_arrays({**arrays, name: changed}, "first/")


def test_means_that_are_no_probabilities_are_refused():
    """Found by fuzzing: a huge sum made an index that is out of range."""
    words = WordTypes.of([("The", "dog"), ("the",)])
    arrays = TypeMeans.of(words, np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]])).arrays("m/")
    assert TypeMeans.from_arrays(arrays, "m/", 2).counts.sum() == 3
    arrays["m/sums"] = arrays["m/sums"] * np.float32(1e30)
    with pytest.raises(ModelError, match="m/sums have a mean above 1"):
        TypeMeans.from_arrays(arrays, "m/", 2)


def test_means_have_a_feature_for_each_probable_tag():
    items = items_of_means(np.array([[0, 0, 0, 0], [1 - LEAST, LEAST, 0, 0], [0.4, 0.3, 0.3, 0]]))
    assert np.diff(items.first).tolist() == [1, 1, 1, 2, 2, 2, 4, 4, 4]


def test_neighbours_are_those_of_the_sentence():
    types, first = np.array([5, 6, 7]), np.array([0, 2, 3])
    assert around(types, first, (-1, 1)).tolist() == [[OUTSIDE, 6], [5, OUTSIDE], [OUTSIDE, OUTSIDE]]


def test_features_of_spelling_depend_on_the_letters_alone():
    items = items_of(["", "walked", "talked", "walked"])
    own = [set(items.codes[items.first[5 * v] : items.first[5 * v + 1]].tolist()) for v in range(4)]
    assert own[1] == own[3] != own[2]
    assert len(own[1] & own[2]) == 5 + 1 + 1 + 1  # suffixes of 1 to 5 letters, shape, length, all words
    assert len(own[1]) == len(own[1] & own[2]) + 1 + 1 + 4  # form, the longest suffix, prefixes


@pytest.mark.parametrize(
    ("form", "lemma"),
    [("Dogs", "dog"), ("went", "go"), ("Paris", "Paris"), ("x", "x"), ("USA", "usa"), ("a", "bcd")],
)
def test_rules_of_lemmas_make_the_lemmas_they_are_from(form, lemma):
    assert applied(rule_of(form, lemma), form) == lemma


def test_rules_that_do_not_fit_leave_the_lower_cased_form():
    assert applied("ies>y", "Dogs") == "dogs"
    assert applied("s>", "s") == "s"
    assert rule_of("thoroughly", "x") == "_"


def test_a_word_has_its_most_frequent_lemma():
    words = [("saw", "NOUN", "_", lemma) for lemma in ("see", "saw", "saw")]
    assert known_lemmas(words) == {"NOUN _ saw": "saw"}


@pytest.mark.slow
def test_the_tagger_learns_english(tmp_path):
    path = resources() / "demo" / "demo-ud-dev.conllu"
    sentences = [replace(s, heads=None) for s in vdgi.read(path)]
    tagger = Tagger().fit(sentences[:60], sentences[60:])
    found = tagger.predict(sentences[60:], retag=True)
    right = [a == b for one, other in zip(sentences[60:], found) for a, b in zip(one.tags, other.tags)]
    assert np.mean(right) > 0.6
