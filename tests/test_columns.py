"""Sound text by the window: its columns are what the reader of sentences finds, its parses the same bytes.

`conllu.read` and `stream._parse_blocks` are the references.
"""

from __future__ import annotations

import random
import re
import zlib
from dataclasses import replace
from itertools import chain, islice, product
from pathlib import Path

import numpy as np
import pytest
from by_numba import ByNumba
from mutating import DEMO, changed, mutated

import dynet_vdgi
from dynet_vdgi.data import column_kernels, column_sentences, columns, conllu
from dynet_vdgi.data.column_kernels import FEATS, FORM, UPOS
from dynet_vdgi.data.columns import Names, Texts, Types, columns_of, restored, with_trees
from dynet_vdgi.data.conllu_blocks import Passage
from dynet_vdgi.data.conllu_faults import is_feats
from dynet_vdgi.data.conllu_writing import render
from dynet_vdgi.data.protocols import EVERY_WORD, STANDARD
from dynet_vdgi.data.punctuation import FAMILIES, heads_without, is_projective, restore_punctuation
from dynet_vdgi.errors import DataError
from dynet_vdgi.evaluation import quick_scores, treebank_check
from dynet_vdgi.evaluation.attachment import evaluate
from dynet_vdgi.grammar.prior import Prior
from dynet_vdgi.grammar.rules import load_rules
from dynet_vdgi.labels.label_table import load as load_labels
from dynet_vdgi.parsing import quick as quick_module
from dynet_vdgi.parsing import stream
from dynet_vdgi.parsing.parser import How, Sampling
from dynet_vdgi.recipes.given import Given
from dynet_vdgi.settings.bundled import rules_path
from dynet_vdgi.students.codes import Codes
from dynet_vdgi.students.joined_codes import JoinedCodes

column_kernels = ByNumba(column_kernels)

MALFORMED = Path(__file__).parent / "malformed"


@pytest.fixture(scope="module")
def sentences():
    return DEMO.read_text(encoding="utf-8").strip().split("\n\n")


def test_lean_sentences_are_the_readers_but_for_what_they_lack(sentences, tmp_path, monkeypatch):
    monkeypatch.setattr(column_sentences, "is_worth_it", lambda n_chars: True)
    rng, path, n_read = random.Random(2), tmp_path / "a.conllu", 0

    def outcome(tags, heads, *, is_lean):
        try:
            found = list(Given((str(path),)).read(tags, heads, is_lean=is_lean))
        except DataError as error:
            return str(error)
        return [replace(sentence, lemmas=(), deprels=(), source=None) for sentence in found]

    for _ in range(75):
        path.write_bytes(changed(rng, sentences).encode())
        tags, heads = rng.choice(["upos", "xpos"]), rng.choice(["optional", "ignored", "required"])
        lean = outcome(tags, heads, is_lean=True)
        assert lean == outcome(tags, heads, is_lean=False)
        n_read += isinstance(lean, list)
    assert n_read > 10


@pytest.mark.parametrize("path", sorted(MALFORMED.iterdir()), ids=lambda path: path.stem)
def test_every_malformed_file_is_refused_as_the_reader_of_sentences_does(path, monkeypatch):
    monkeypatch.setattr(column_sentences, "is_worth_it", lambda n_chars: True)
    said = []
    for is_lean in (True, False):
        with pytest.raises(DataError) as caught:
            list(Given((str(path),)).read("upos", "required", is_lean=is_lean))
        said.append(str(caught.value))
    assert said[0] == said[1]


def test_what_has_columns_is_sound_and_has_the_readers_words(sentences, tmp_path):
    rng, path, n_sound = random.Random(1), tmp_path / "a.conllu", 0
    for _ in range(400):
        text = changed(rng, sentences)
        path.write_bytes(text.encode())
        policy = rng.choice(["optional", "required", "ignored"])
        found = columns_of(text.encode(), policy)
        types, forms = Texts(UPOS, FEATS), Texts(FORM)
        told: list[str] = []
        told_repair = told.append
        read = list(conllu.read(path, heads=policy, on_error=told_repair, on_repair=told_repair))
        if found is None:
            continue
        numbers = types.numbers(found).tolist()
        known = [tuple(text.split("\t")) for text in types.known]
        if any("_" in (upos, feats[:0]) or not is_feats(feats) for upos, _, feats in known):
            continue
        n_sound += 1
        assert not told
        assert np.diff(found.first).tolist() == [len(s) for s in read]
        nothing = ("_",) * max(map(len, read))
        expected = [word for s in read for word in zip(s.tags, s.xpos or nothing, s.feats or nothing)]
        assert [known[k] for k in numbers] == expected
        assert [forms.known[k] for k in forms.numbers(found).tolist()] == [f for s in read for f in s.forms]
        if policy != "ignored":
            assert found.heads.tolist() == [h for s in read for h in s.heads or (-1,) * len(s)]
    assert n_sound > 50


def test_most_sound_text_has_columns(sentences):
    others = [
        "1-2\tab\t_\t_\t_\t_\t_\t_\t_\t_\n"
        "1\ta b\tc\tX\t_\t_\t2\tx\t_\tA=b c\n"
        "2\tb\t_\tX\t_\tA=b|C=d\t0\tr\t_\t_\n"
        "2.1\tb\t_\tX\t_\tA=b|C=d\t_\t_\t1:x\t_"
    ]
    for sentence in sentences + others:
        assert columns_of(f"{sentence}\n\n".encode()) is not None
    assert columns_of(others[0].replace("b|C=d\t_", "b|C\t_").encode() + b"\n\n") is None
    before_range = "0.1\te\t_\t_\t_\t_\t_\t_\t_\t_\n"
    inside = others[0].replace("\n1\t", f"\n{before_range}1\t")
    assert columns_of(f"{before_range}{others[0]}\n\n".encode()) is not None
    assert columns_of(f"{inside}\n\n".encode()) is None


def test_texts_are_numbered_as_they_come_and_forgotten_when_too_many(monkeypatch):
    monkeypatch.setattr(columns, "MOST_TEXTS", 2000)
    texts, rng = Texts(FORM), np.random.default_rng(3)
    for size in (10, 3000, 3500, 50):
        words = [f"w{k}" * (1 + k % 40) for k in rng.integers(0, size, size).tolist()]
        text = "".join(f"1\t{word}\t_\tX\t_\t_\t0\troot\t_\t_\n\n" for word in words)
        found = columns_of(text.encode())
        assert found is not None
        assert [texts.known[k] for k in texts.numbers(found).tolist()] == words
        assert len(texts.known) == len(set(texts.known))
    assert len(texts.known) == len(set(words))


def colliding_words():
    """1,500 words of eight letters that a hash without a secret led to one of 4,096 slots."""
    letters = np.arange(ord("a"), ord("z") + 1, dtype=np.uint64)
    words = np.zeros(1, np.uint64) + sum(ord("x") << np.uint64(8 * k) for k in range(5, 8))
    for k in range(5):
        words = (words[:, None] + (letters << np.uint64(8 * k))).ravel()
    codes = (words ^ np.uint64(8)) * np.uint64(0x9E3779B97F4A7C15)
    codes ^= codes >> np.uint64(29)
    slots = (codes >> np.uint64(20)) & np.uint64(4095)
    chosen = words[slots == slots[0]][:1500]
    assert len(chosen) == 1500
    return [word.tobytes().decode() for word in chosen]


def words_that_collide_wherever_a_hash_begins():
    """1,024 words of ten parts: in h -> (h ^ octet) * odd, h ^ h >> 29, half of a part's two forms are equal.

    They differ in bit 62, which stays where it is, and next in what becomes of it.
    """
    parts = [("xxxxxxxa" + "xxxxaxxa", "xxxxxxx!" + "xxxxcxx!")] * 10
    return ["".join(word) for word in product(*parts)]


@pytest.mark.parametrize("words", [colliding_words, words_that_collide_wherever_a_hash_begins])
def test_nobody_can_choose_words_that_are_slow_to_number(words):
    chosen = words()
    text = "".join(f"1\t{word}\t_\tX\t_\t_\t0\troot\t_\t_\n\n" for word in chosen)
    texts = Texts(FORM, forgets=False)
    assert texts.numbers(columns_of(text.encode())).tolist() == list(range(len(chosen)))
    assert texts.known == chosen
    free = np.flatnonzero(texts._slots == 0)
    ways = np.diff([*free, free[0] + len(texts._slots)])
    assert ways.max() < 60  # a word is looked for up to the next slot that is free


def test_numbers_of_texts_do_not_depend_on_the_secrets_of_their_hashes():
    words = [f"w{k * k % 7919}" for k in range(20_000)]
    text = "".join(f"1\t{word}\t_\tX\t_\t_\t0\troot\t_\t_\n\n" for word in words).encode()
    expected = list(dict.fromkeys(words))
    for _ in range(2):
        texts = Texts(FORM)
        numbers = texts.numbers(columns_of(text))
        assert texts.known == expected
        assert [expected[k] for k in numbers.tolist()] == words
        assert texts.numbers(columns_of(text)).tolist() == numbers.tolist()


def test_the_folded_product_has_all_bits_of_both_numbers():
    numbers = [0, 1, 2**32 - 1, 2**32, 2**63 + 12345, 2**64 - 1, 0x9E3779B97F4A7C15]
    for one, other in product(numbers, repeat=2):
        whole = one * other
        found = int(column_kernels.folded_product(np.uint64(one), np.uint64(other)))
        assert found == (whole >> 64) ^ (whole & (2**64 - 1))


def test_punctuation_of_many_sentences_is_restored_as_of_one():
    rng = np.random.default_rng(4)
    kept, removed, marks, expected = [], [], [], []
    for _ in range(300):
        flags = rng.random(int(rng.integers(1, 12))) < 0.4
        forms = rng.choice(["(", ")", "[", '"', "»", ",", "w"], len(flags)).tolist()
        places = (np.flatnonzero(~flags) + 1).tolist()
        heads = projective(rng, 1, len(places))
        kept.append(heads)
        removed.append(flags)
        marks += [FAMILIES.get(form, 0) for form in forms]
        expected.append(restore_punctuation(heads, places, forms))
    first = np.cumsum([0, *map(len, removed)])
    all_heads = np.array(list(chain(*kept)), np.int64)
    found = restored(all_heads, np.concatenate(removed), np.array(marks), first)
    assert found.tolist() == list(chain(*expected))


def projective(rng, first, last, head=0):
    """Heads of the words from first to last, whose root depends on `head`."""
    if first > last:
        return []
    root = int(rng.integers(first, last + 1))
    return [*projective(rng, first, root - 1, root), head, *projective(rng, root + 1, last, root)]


def test_heads_of_any_length_are_written():
    lines = [f"{k}\tw\t_\tX\t_\t_\t0\troot\t_\t_\n" for k in range(1, 1235)]
    found = columns_of(("".join(lines) + "\n").encode(), "ignored")
    heads = np.arange(1234) % 1230
    names = Names(["a", "bc"])
    text = with_trees(found, heads, heads % 2, names, np.zeros(0, np.int64), Names(())).decode()
    assert [tuple(line.split("\t")[6:8]) for line in text.splitlines()[:-1]] == [
        (str(h), ("a", "bc")[h % 2]) for h in heads.tolist()
    ]


@pytest.mark.parametrize(
    ("misc", "expected"),
    [
        ("_", False),
        ("SpaceAfter=No", False),
        ("__", False),
        ("A=_|B=1", False),
        ("XHeadConf=1", False),
        ("_|A=1", True),
        ("A=1|_", True),
        ("A=1|_|B=2", True),
        ("HeadConf=0.5", True),
        ("A=1|HeadConf=", True),
    ],
)
def test_notes_that_replace_something_are_found(sentences, misc, expected):
    lines = sentences[0].split("\n")
    lines[-1] = lines[-1].rpartition("\t")[0] + "\t" + misc
    found = columns_of("\n".join([*lines, "", ""]).encode())
    assert columns.has_notes(found, "HeadConf") == expected


@pytest.fixture(scope="module")
def parsers():
    text = list(islice(dynet_vdgi.read(DEMO), 150))
    few = dynet_vdgi.train(text[:40], "best", trees=text[:30])
    return [
        dynet_vdgi.train(text, "best"),
        dynet_vdgi.train(text, "best", settings={"rules": "best-tags"}),
        few,
    ]


_HEAD = re.compile(r"(?m)^(\d+(?:\t[^\t\n]+){5}\t)\d+\t")


def _with_other_heads(rng, text):
    """The text; or, in half of the calls, with the heads of some words not those of a tree."""
    head = rng.choice(["1", "0", "99", "x", "_"])
    return _HEAD.sub(rf"\g<1>{head}\t", text, count=4) if rng.random() < 0.5 else text


def test_heads_that_are_replaced_do_not_hinder_quick_parsing(parsers, sentences):
    quick = quick_module.QuickParser(parsers[1], None)
    text = "\n\n".join(sentences[:3]) + "\n\n"
    expected = quick.parse(text.encode(), How(), None)
    for head in ("1", "0", "99", "x", "_"):
        assert quick.parse(_HEAD.sub(rf"\g<1>{head}\t", text).encode(), How(), None) == expected


@pytest.mark.parametrize("labels", [load_labels(), None])
@pytest.mark.parametrize("which", [0, 1, 2])
def test_quick_parses_are_those_of_the_reference(parsers, sentences, monkeypatch, which, labels):
    monkeypatch.setattr(stream, "is_worth_it", lambda n_chars: True)
    engine = stream._LabellingParser(parsers[which], labels)
    rng, n_quick = random.Random(which), 0
    for k in range(60):
        how = How(confidence=k % 2 == 1)
        wanted = stream.Wanted(how, None, verb_order=rng.random() < 0.5)
        text = Passage("a.conllu", 7, _with_other_heads(rng, changed(rng, sentences)).encode())
        if "\n\n\n" in text.text or not text.text.endswith("\n\n"):
            continue
        reference = repr(stream._parse_blocks(engine, wanted, text.blocks(), 0))
        assert repr(stream._parse_window(engine, wanted, text, 0)) == reference
        quick = engine.quick_for(wanted, 0)
        n_quick += quick.parse(text.content, how, wanted.verb_order) is not None
    assert n_quick > 10


def test_columns_are_read_where_it_is_worth_it(monkeypatch):
    monkeypatch.setattr(columns._SCAN, "is_ready", lambda *arguments: False)
    worth = columns.WORTH_LOADING, columns.WORTH_COMPILING
    assert [columns.is_worth_it(n) for n in worth] == [False, True]
    monkeypatch.setattr(columns._SCAN, "is_ready", lambda *arguments: True)
    assert [columns.is_worth_it(n) for n in (0, *worth)] == [False, True, True]


def test_only_greedy_trees_are_parsed_quickly(parsers, monkeypatch):
    engine = stream._LabellingParser(parsers[1], None)
    monkeypatch.setattr(stream, "is_worth_it", lambda n_chars: True)
    assert engine.quick_for(stream.Wanted(How(exact=True), None), 1) is None
    assert engine.quick_for(stream.Wanted(How(), Sampling()), 1) is None
    assert engine.quick_for(stream.Wanted(How(), None), 1) is not None


def test_summaries_by_columns_are_those_by_sentences(sentences, tmp_path, monkeypatch):
    rng, path, rules = random.Random(5), tmp_path / "a.conllu", load_rules(rules_path("best"))
    others = [
        "# x\n1-2\tab\t_\t_\t_\t_\t_\t_\t_\t_\n1\ta\t_\tX\t_\t_\t_\t_\t_\t_\n2\tb\t_\tPUNCT\t_\t_\t_\t_\t_\t_"
    ]
    crossing = "".join(f"{k}\tw\t_\tNOUN\t_\t_\t{h}\tx\t_\t_\n" for k, h in enumerate((3, 4, 0, 3), 1))
    for k in range(6):
        text = "\n\n".join([*rng.sample(sentences, 60), *others, crossing.strip()]) + "\n\n"
        text = text.replace("e", "e\u0301", k % 2)  # not in the form NFC
        path.write_text(mutated(text, rng) if k % 3 == 2 else text, encoding="utf-8")
        found = []
        for is_quick in (True, False):
            monkeypatch.setattr(treebank_check, "is_worth_it", lambda n_chars, quick=is_quick: quick)
            faults: list[DataError] = []
            summary = treebank_check.check(path, rules, STANDARD, 15, on_fault=faults.append)
            found.append((list(map(str, faults)), summary.lines(), summary))
        assert found[0] == found[1]
        assert list(found[0][2].tags) == list(found[1][2].tags)


def test_trees_are_shortened_and_projective_as_one_by_one():
    rng, heads, removed, expected, flags = np.random.default_rng(8), [], [], [], []
    for _ in range(300):
        n = int(rng.integers(1, 8))
        order = rng.permutation(n) + 1
        tree = [0] * n
        for k, word in enumerate(order.tolist()):
            tree[word - 1] = int(order[rng.integers(0, k)]) if k else 0
        is_removed = rng.random(n) < 0.4
        heads += tree
        removed.append(is_removed)
        expected += heads_without(tree, (np.flatnonzero(~is_removed) + 1).tolist())
        flags.append(is_projective(tree))
    first = np.cumsum([0, *map(len, removed)])
    assert columns.shortened(np.array(heads), np.concatenate(removed), first).tolist() == expected
    assert columns.projective(np.array(heads), first).tolist() == flags


@pytest.mark.parametrize("is_mirrored", [False, True])
@pytest.mark.parametrize("has_prepositions", [False, True])
def test_sentences_read_as_one_have_the_symbols_of_each(parsers, is_mirrored, has_prepositions):
    """Also where every part of the table that reads finds something: linkers, copulas, runs."""
    rng, prior = np.random.default_rng(6), parsers[0].engine.codes.prior
    measures = {"version-1": 0.9, "nouns-before-verbs": 0.45, "verbs-before-nouns": 0.55}
    for k in range(3):
        found = {
            "linker": [["que", "PRON"]],
            "copula": ["est"],
            "flat run": 1.0,
            "adnominal": {"F:Part:": 1.0},
            "markers": {"P:a": 0.9, "P:que": -0.9, "C:Nom": 0.4, "X:EC": 1.0, "X:": -0.6},
            "nominal predicate": k != 1,
        }
        level = {**measures, "nouns-before-verbs": 0.6} if k == 2 else measures
        order = replace(
            prior.statistics, is_mirrored=is_mirrored, first={"ADP": 5 * has_prepositions}, last={"ADP": 2}
        )
        told = replace(prior.text, order=order, measures=level, found=found, has_gaps=True, has_feats=True)
        codes = EveryCode(Prior(prior.rules, told), (), ())
        names = {s.name for s, kind in codes.prior._settings if kind.read or kind.mark}
        assert codes.prior.joins
        assert {"linker", "copula", "flat run", "markers", "punctuation", "distinguish"} <= names
        for ignored in ((), (), (), ("xpos",), ("feats",), ("forms", "punctuation")):
            text = "\n\n".join(random_sentence(rng) for _ in range(40)) + "\n\n"
            window = columns_of(text.encode())
            types = Types(by_xpos=False)
            numbers = types.numbers(window)
            is_kept = ~types.are_tagged(frozenset({"PUNCT"}))[numbers]
            first = np.concatenate([[0], np.cumsum(is_kept)])[window.first]
            joined = JoinedCodes(codes, types, ignored)
            quick = joined(window, numbers, np.flatnonzero(is_kept), first).tolist()
            assert joined._one_by_one(window, numbers, np.flatnonzero(is_kept), first).tolist() == quick


class EveryCode(Codes):
    """Tells all symbols apart."""

    def code(self, symbol, marked):
        return zlib.crc32(f"{symbol} {marked}".encode())


def random_sentence(rng):
    names = "NOUN VERB AUX ADJ ADP ADP PRON DET ADV SCONJ PROPN PUNCT CCONJ"
    tags = names.split()
    feats = ("_", "_", "VerbForm=Part", "Case=Nom", "PronType=Rel", "Case=Gen|VerbForm=Part")
    xpos = ("_", "_", "NNG", "NNP") if rng.random() < 0.5 else ("NNG", "VV+EC", "NNP+JKS")
    lines = []
    for word in range(1, int(rng.integers(2, 12))):
        columns = [str(rng.choice(values)) for values in (("Que", "est", "a"), tags, xpos, feats)]
        form, tag, morphs, features = columns
        lines.append(f"{word}\t{form}\t_\t{tag}\t{morphs}\t{features}\t{word - 1}\tdep\t_\t_")
    return "\n".join(lines)


def test_scores_by_columns_are_those_by_sentences(sentences, tmp_path, monkeypatch):
    rng, gold, parse = random.Random(9), tmp_path / "gold.conllu", tmp_path / "parse.conllu"
    monkeypatch.setattr(quick_scores, "TEXT", 5000)
    monkeypatch.setattr(quick_scores, "is_worth_it", lambda n_chars: True)
    gold.write_text("\n\n".join(sentences) + "\n\n", encoding="utf-8")
    right, n_quick = list(conllu.read(gold)), 0
    for protocol in (STANDARD, EVERY_WORD):
        for labels in (lambda head: "det" if head == 2 else "root:x", lambda head: "dep", None):
            with parse.open("w", encoding="utf-8") as file:
                for sentence in right:
                    heads = projective(np.random.default_rng(rng.randrange(99)), 1, len(sentence))
                    heads = heads if rng.random() < 0.7 else sentence.heads
                    file.write(render(sentence, heads, labels and [labels(head) for head in heads]))
            found = quick_scores.quick_evaluation(str(gold), str(parse), protocol, (5, 10, None), "upos")
            parsed = conllu.read(parse)
            assert found == evaluate(right, parsed, protocol=protocol, max_lens=(5, 10, None), by=())
            n_quick += found.total.words > 100
    assert n_quick == 6
    text = parse.read_text(encoding="utf-8")
    unlabelled = text.replace("\troot\t", "\t_\t").replace("\tdep\t", "\t_\t")
    odd = text.replace("\n\n", "\n\n\n", 1), text.replace("\tNOUN\t", "\t_\t")
    for other in (*odd, unlabelled, text[:-300], text[text.index("\n\n") + 2 :]):
        parse.write_text(other, encoding="utf-8")
        assert quick_scores.quick_evaluation(str(gold), str(parse), STANDARD, (None,), "upos") is None
    lines = text.split("\n")
    parse.write_text("\n".join(line.replace("\t", "\tx", 1) for line in lines), encoding="utf-8")
    assert quick_scores.quick_evaluation(str(gold), str(parse), STANDARD, (None,), "upos") is None
