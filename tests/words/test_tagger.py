"""The tagger: what it learns, what it keeps, its file."""

from __future__ import annotations

import random
import unicodedata
import zipfile
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

import dynet_vdgi as vdgi
from dynet_vdgi.conllu import raw_documents, raw_writing
from dynet_vdgi.conllu.blocks import blocks
from dynet_vdgi.conllu.writing import block_of
from dynet_vdgi.errors import ModelError
from dynet_vdgi.relations.label_table import load as load_labels
from dynet_vdgi.relations.labeller import Labeller
from dynet_vdgi.words.tagger.lemmas import apply_rule, known_lemmas, rule_of
from dynet_vdgi.words.tagger.spelling import WordTypes
from dynet_vdgi.words.tagger.tagger import Tagger
from dynet_vdgi.words.tagger.type_means import TypeMeans
from dynet_vdgi.words.tokeniser.tokeniser import Tokeniser


def made(n_sentences, seed=1):
    """Sentences of a language in which endings tell tags, FEATS, XPOS and lemmas."""
    rng = random.Random(seed)
    stems = [a + b + c for a in "bdgklm" for b in "aeiou" for c in "nrst"]
    sentences = []
    for _ in range(n_sentences):
        words = []
        for tag in rng.choice(
            ["DET NOUN VERB PUNCT", "NOUN VERB DET NOUN", "VERB NOUN PUNCT"]
        ).split():
            stem = rng.choice(stems)
            plural = rng.random() < 0.5
            if tag == "PUNCT":
                words.append((".", "PUNCT", "_", "Z", "."))
            elif tag == "DET":
                words.append(("the", "DET", "_", "D", "the"))
            elif tag == "NOUN":
                number = "Number=Plur" if plural else "Number=Sing"
                words.append(
                    (stem + ("ok" if plural else "o"), "NOUN", number, "N" + number[7], stem + "o")
                )
            else:
                form, person = (stem + "imu", "Person=1") if plural else (stem + "isu", "Person=2")
                words.append((form, "VERB", person, "V", stem + "i"))
        lines = [
            f"{k}\t{w}\t{y}\t{t}\t{x}\t{f}\t_\t_\t_\t_"
            for k, (w, t, f, x, y) in enumerate(words, 1)
        ]
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
    found = tagger.predict(bare(text / "test.conllu"))
    assert "".join(map(block_of, found)) == (text / "test.conllu").read_text(encoding="utf-8")
    assert tagger.accuracy > 0.95


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
    assert block_of(found).count("Note=1") == 2
    (found,) = tagger.predict(tmp_path / "some.conllu", retag=True)
    assert found.tags == ("DET", "NOUN")
    assert found.feats == ("_", "Number=Sing")
    assert found.lemmas == ("the", "bano")


def test_probabilities_are_those_of_the_tags_that_were_found(tagger, text):
    given = list(tagger.stream(text / "test.conllu"))
    assert {chance for each in given for chance in each.chances} == {None}
    found = [
        chance for each in tagger.stream(bare(text / "test.conllu")) for chance in each.chances
    ]
    assert all(0 < chance <= 1 for chance in found)
    assert min(found) < 1


def test_words_without_tags_among_the_tagged_are_raw(text, tmp_path):
    """Sentences are learnt from though some of their words have no tag."""
    lines = (text / "tagged.conllu").read_text(encoding="utf-8").split("\n")
    rng = random.Random(0)
    some = [
        "\t".join([*c[:2], *"________"])
        if len(c := line.split("\t")) > 1 and rng.random() < 0.4
        else line
        for line in lines
    ]
    (tmp_path / "some.conllu").write_text("\n".join(some), encoding="utf-8")
    found = Tagger().fit(tmp_path / "some.conllu").predict(bare(text / "test.conllu"))
    gold = list(vdgi.read(text / "test.conllu"))
    right = [a == b for one, other in zip(gold, found) for a, b in zip(one.tags, other.tags)]
    assert np.mean(right) > 0.97


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
        ("tags.json", b"Number=Plur", b"Number=P ur", "CoNLL-U cannot hold 'Number=P ur'"),
        ("tags.json", b"Number=Plur", b"Number==lur", "CoNLL-U cannot hold 'Number==lur'"),
        ("tags.json", b'"D"', b'""', "CoNLL-U cannot hold ''"),
        ("tags.json", b'"D"', b'"D\\u0085E"', "CoNLL-U cannot hold"),
        ("tags.json", b'"DET _ the":"the"', b'"DET _ the":" the"', "CoNLL-U cannot hold ' the'"),
    ):
        with zipfile.ZipFile(tmp_path / "damaged", "w") as z:
            for member, data in members.items():
                assert member != name or old in data
                z.writestr(member, data.replace(old, new, 1) if member == name else data)
        with pytest.raises(ModelError, match=message):
            Tagger.load(tmp_path / "damaged")


def test_tags_of_control_characters_are_refused_when_a_file_is_loaded(tagger, tmp_path):
    """Every tag is renamed wherever it stands, so that only its letters are at fault."""
    for tag in ("NO UN", "NOUN ", "N\x1c", "N\x85", "N\u2028"):
        state = tagger.learnt
        renamed = {"NOUN": tag}
        pairs = [
            [(renamed.get(upos, upos), value) for upos, value in each]
            for each in (state.bundles, state.xpos, state.rules)
        ]
        tags = [renamed.get(each, each) for each in state.tags]
        assert tags == sorted(tags)
        Tagger(replace(state, tags=tags, bundles=pairs[0], xpos=pairs[1], rules=pairs[2])).save(
            tmp_path / "my.tagger"
        )
        with pytest.raises(ModelError, match="CoNLL-U cannot hold"):
            Tagger.load(tmp_path / "my.tagger")


@pytest.fixture(scope="module")
def composed_and_decomposed(tmp_path_factory):
    """The same tagged sentences, with letters that have two forms in forms and lemmas, in NFC and
    in NFD."""
    folder = tmp_path_factory.mktemp("forms")
    for name, n, seed in (("tagged", 30, 1), ("test", 40, 3)):
        rows = [line.split("\t") for line in made(n, seed).split("\n")]
        text = "\n".join(
            "\t".join(
                [
                    *row[:1],
                    *(cell.replace("o", "õ").replace("um", "ǘm") for cell in row[1:3]),
                    *row[3:],
                ]
            )
            for row in rows
        )
        for form in ("NFC", "NFD"):
            (folder / f"{name}.{form}.conllu").write_text(
                unicodedata.normalize(form, text), encoding="utf-8"
            )
    return folder


def columns_of(path):
    """The lines of a file in the form NFC."""
    return unicodedata.normalize("NFC", path.read_text(encoding="utf-8"))


def test_decomposed_text_is_tagged_as_composed_and_keeps_its_bytes(
    composed_and_decomposed, tmp_path
):
    folder = composed_and_decomposed
    tagger = Tagger().fit(folder / "tagged.NFC.conllu")
    for form in ("NFC", "NFD"):
        test = folder / f"test.{form}.conllu"
        vdgi.write(tagger.predict(bare(test)), tmp_path / form)
        written = (tmp_path / form).read_text(encoding="utf-8")
        assert unicodedata.is_normalized(form, written), "lemmas are written as forms are"
        assert [s.forms for s in vdgi.read(tmp_path / form)] == [s.forms for s in vdgi.read(test)]
    assert columns_of(tmp_path / "NFD") == columns_of(tmp_path / "NFC") == columns_of(test)


def test_type_means_are_those_of_all_occurrences_whatever_their_case():
    words = WordTypes.of([("The", "dog"), ("the",)])
    means = TypeMeans.of(words, np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]))
    more = WordTypes.of([("THE", "cat")])
    both = means.plus(TypeMeans.of(more, np.array([[1.0, 0.0], [0.25, 0.75]])))
    new = WordTypes.of([("cat", "the", "dog")])
    np.testing.assert_allclose(both.of_words(new)[1:], [[0.25, 0.75], [2 / 3, 1 / 3], [0.5, 0.5]])


def test_rules_of_lemmas_make_the_lemmas_they_are_from():
    pairs = (
        ("Dogs", "dog"),
        ("went", "go"),
        ("Paris", "Paris"),
        ("x", "x"),
        ("USA", "usa"),
        ("a", "bcd"),
    )
    for form, lemma in pairs:
        assert apply_rule(rule_of(form, lemma), form) == lemma
    assert apply_rule("ies>y", "Dogs") == "dogs"  # the rule does not fit
    assert apply_rule("s>", "s") == "s"
    assert rule_of("thoroughly", "x") == "_"
    # The rule of an abbreviation without its end was written as a lemma that no reader takes.
    assert apply_rule(rule_of("bl.a.", "bl."), "bl a.") == "bl"
    assert apply_rule(rule_of("ab", "a b"), "x b") == "x b"
    assert apply_rule("bc>", " bc") == " bc"


_ODD = (
    "bl.a.|bl. a.|a b|20 000|\u00a0a|_|__|.|...|1|1-2|1.1|#|=|İ|ŉ|e\u0301|a\u2028b|a\u00a0\u00a0b"
)
_ODD += "|x\u200b|\u200f|t . o . m .|A B C|100 % ig|d’ a|각|ﬁ|\U000e0067"
ODD = [*_ODD.split("|"), "|"]


def lines_of(words, relations=()):
    """A sentence of forms and lemmas as CoNLL-U; the first word is the root."""
    deprels = relations or ["root", *["dep"] * (len(words) - 1)]
    return (
        "".join(
            f"{k}\t{form}\t{lemma}\tX\t_\t_\t{int(k > 1)}\t{deprels[k - 1]}\t_\t_\n"
            for k, (form, lemma) in enumerate(words, 1)
        )
        + "\n"
    )


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_reader_takes_whatever_tagger_tokeniser_and_labeller_write(data_dir, tmp_path):
    """Rules of lemmas learnt from seven treebanks, with forms as odd as a reader takes them."""
    odd = [form for form in ODD if form == form.strip()]
    path, new, n_rules = tmp_path / "odd.conllu", tmp_path / "new.conllu", 0
    for folder in sorted(each for each in (data_dir / "ud2").iterdir() if each.is_dir())[::4]:
        first = next(iter(sorted(folder.glob("*.conllu"))))
        sentences = list(islice(vdgi.read(first), 100))
        short = [form for s in sentences for form in s.forms if "." in form[1:] or " " in form]
        forms = [*odd, *sorted(set(short))[:5]]
        rules = {
            rule_of(f, lemma) for s in sentences for f, lemma in zip(s.forms, s.lemmas or s.forms)
        }
        n_rules += len(rules)
        made = (
            "".join(lines_of([(form, apply_rule(rule, form)) for form in forms]))
            for rule in sorted(rules)
        )
        path.write_text("".join(made), encoding="utf-8")
        assert sum(1 for _ in vdgi.read(path)) == len(rules)

        path.write_text(lines_of([(form, "_") for form in forms]), encoding="utf-8")
        tagged = Tagger().fit(sentences[:4]).predict(path, retag=True)
        labeller = Labeller(load_labels()).fit(sentences[:4])
        vdgi.write(labeller.predict(tagged_trees(tagged)), new)
        assert [s.forms for s in vdgi.read(new)] == [tuple(forms)]
        documents = list(raw_documents.documents_of(islice(blocks(first), 4)))
        document = Tokeniser.fit(documents, iterations=3).tokenise(" ".join(ODD) + "".join(ODD))
        new.write_text(raw_writing.conllu_of(document), encoding="utf-8")
        assert len(list(vdgi.read(new, tags="known", heads="ignored"))) == len(document.sentences)
    assert n_rules > 400


def tagged_trees(sentences):
    """The sentences with heads; the first word is the root."""
    return [replace(s, heads=(0, *[1] * (len(s) - 1))) for s in sentences]


def test_a_word_has_its_most_frequent_lemma():
    words = [("saw", "NOUN", "_", lemma) for lemma in ("see", "saw", "saw")]
    assert known_lemmas(words) == {"NOUN _ saw": "saw"}
