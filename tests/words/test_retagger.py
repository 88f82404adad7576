"""The universal retagger: numbers of words, its network, and what it changes in a tagger."""

from __future__ import annotations

import importlib
import json
import math
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dynet_vdgi.conllu import reading
from dynet_vdgi.conllu.punctuation import is_mark
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.errors import ModelError
from dynet_vdgi.models import archive
from dynet_vdgi.settings.bundled import resources
from dynet_vdgi.universal.encoding import N_TAGS
from dynet_vdgi.words.tagger import retagger
from dynet_vdgi.words.tagger.retagger import LearningText, Retagger, TaggerOutput, input_of
from dynet_vdgi.words.tagger.spelling import WordTypes
from dynet_vdgi.words.tagger.tagger import Tagger
from dynet_vdgi.words.tagger.tagger_file import members
from dynet_vdgi.words.tagger.type_means import TypeMeans
from dynet_vdgi.words.tagger.word_numbers import BANDS, N_NUMBERS, CountedWords

ODD = [
    ("-", "Ba", ",", "ba", "BA", "baba", "!"),
    (",", "'"),
    ("mid-1990s", "1990", "$", "l'", "ab", "abc", "a", "abcd", "kä"),
    ("王", "的", "王", "。", "王"),
]


@pytest.fixture(scope="module")
def sentences() -> list[Sentence]:
    return list(reading.read(resources() / "demo" / "demo-ud-train.conllu", heads="ignored"))[:60]


@pytest.fixture(scope="module")
def texts(sentences: list[Sentence]) -> list[tuple[str, ...]]:
    return [*(s.forms for s in sentences), *ODD]


def counted_plainly(text: list[tuple[str, ...]]) -> dict[str, list[float]]:
    """The numbers of each type, by going through all words for each."""
    # type, form, sentence, left, right, is first, is last, beside punctuation before and after
    words = []
    for k, forms in enumerate(text):
        at = [i for i, form in enumerate(forms) if not is_mark(form)]
        for j, i in enumerate(at):
            before, after = j > 0 and at[j - 1] == i - 1, j + 1 < len(at) and at[j + 1] == i + 1
            left, right = (
                forms[i - 1].lower() if before else "",
                forms[i + 1].lower() if after else "",
            )
            edges = j == 0, j + 1 == len(at)
            gaps = not edges[0] and not before, not edges[1] and not after
            words.append((forms[i].lower(), forms[i], k, left, right, *edges, *gaps))
    types = sorted({word[0] for word in words})
    n, total = {t: sum(word[0] == t for word in words) for t in types}, len(words)
    mean_length = sum(len(word[0]) for word in words) / total

    def log_f(t: str) -> float:
        return math.log(n[t] / total) if t else -6.0

    def band(t: str) -> int:
        return 1 + min(BANDS - 2, max(0, int(math.log2(0.1 * total / n[t]) / 1.8))) if t else 0

    found = {}
    for t in types:
        own = [word for word in words if word[0] == t]
        c, size, half = len(own), len(t), len(t) // 2
        _, forms, of, left, right, first, last, before, after = zip(*own)
        inside = [f for f, at_start in zip(forms, first) if not at_start]
        lefts, rights = len(set(left)), len(set(right))
        found[t] = [
            log_f(t) / 3 + 2, c == 1, c == 2, math.log(c) / 3,
            size / 8, (size - mean_length) / 3, size == 1, size == 2, size == 3,
            sum(f[0].isupper() for f in inside) / (len(inside) + 0.5), len(inside) > 0,
            sum(f[0].isupper() and at_start for f, at_start in zip(forms, first)) / c,
            sum(f.isupper() and len(f) > 1 for f in forms) / c,
            any(letter.isdigit() for letter in t), t.isdigit(), "-" in t[1:-1], "'" in t or "’" in t, not t.isalpha(),
            size > 3 and t[:half] == t[half:], t[0].isalpha() and t[0] == t[0].upper(),
            sum(first) / c, sum(last) / c, sum(after) / c, sum(before) / c, sum(x == t for x in left) / c,
            math.log((sum(first) + 1) / (sum(last) + 1)),
            math.log(lefts / c), math.log(rights / c), math.log(lefts) / 3, math.log(rights) / 3,
            sum(map(log_f, left)) / c / 3 + 2, sum(map(log_f, right)) / c / 3 + 2, len(set(of)) / c,
            *(sum(band(x) == b for x in left) / c for b in range(BANDS)),
            *(sum(band(x) == b for x in right) / c for b in range(BANDS)),
        ]  # fmt: skip
    return found


def test_numbers_are_those_of_a_plain_count(texts: list[tuple[str, ...]]) -> None:
    counted, plain = CountedWords.of(WordTypes.of(texts)), counted_plainly(texts)
    assert not counted.numbers[[counted.number[form] for form in ("", ",", "!")]].any()
    assert {form for form, k in counted.number.items() if counted.numbers[k].any()} == set(plain)
    for form, numbers in plain.items():
        np.testing.assert_allclose(
            counted.numbers[counted.number[form]], numbers, atol=1e-5, err_msg=form
        )
    every = np.array([*plain.values()])
    np.testing.assert_allclose(counted.of_text[N_NUMBERS : 2 * N_NUMBERS], every.mean(0), atol=1e-4)


@pytest.mark.parametrize("n", [0, 1, 5])
def test_texts_counted_one_after_the_other_equal_both_together(
    texts: list[tuple[str, ...]], n: int
) -> None:
    first, rest = texts[: len(texts) - n], texts[len(texts) - n :]
    both = CountedWords.of(WordTypes.of(first)).plus(WordTypes.of(rest))
    whole = CountedWords.of(WordTypes.of(texts))
    assert both.number == whole.number
    np.testing.assert_array_equal(both.numbers, whole.numbers)
    np.testing.assert_array_equal(both.of_text, whole.of_text)


def test_a_text_without_words_has_numbers() -> None:
    for text in ([], [("!", "?")]):
        counted = CountedWords.of(WordTypes.of(text))
        assert not counted.of_text.any()
        assert CountedWords.of(WordTypes.of([])).plus(WordTypes.of(text)).number == counted.number


@pytest.fixture(scope="module")
def learning() -> Any:
    """experiments/retagger.py, which learns retaggers."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
            patch.setenv(name, "1")
        patch.syspath_prepend(resources().parent / "experiments")
        return importlib.import_module("retagger")


@pytest.fixture(scope="module")
def source(learning: Any, sentences: list[Sentence]) -> Any:
    return learning.Source.of(learning.tagged_source(sentences, 10, 300))


UNITS = {"width": 7, "hidden": 5, "language": 3}


def weights_of(network: Any) -> dict[str, np.ndarray]:
    return {
        name: np.array(network.parameters[name].as_array(), np.float32)
        for name in retagger.shapes(1, 1, 1)
    }


@pytest.fixture(scope="module")
def random_retagger(learning: Any, source: Any) -> Retagger:
    return Retagger(learning.standards([source]) | weights_of(learning.RetaggerNetwork(1, UNITS)))


def test_numpy_and_dynet_find_the_same_probabilities(learning: Any, source: Any) -> None:
    network = learning.RetaggerNetwork(1, UNITS)
    rng = np.random.default_rng(0)
    for parameter in network.parameters.values():  # so that every part counts
        parameter.set_value(rng.normal(0.0, 0.3, parameter.shape()))
    ours = Retagger(learning.standards([source]) | weights_of(network))
    expected = ours.probabilities(source.seen)
    np.testing.assert_allclose(expected.sum(1), 1, rtol=1e-5)
    first, samples = source.seen.first, [source.standardised(ours)]
    for n in sorted({*np.diff(first).tolist()} - {0}):
        members = [(0, int(s)) for s in np.flatnonzero(np.diff(first) == n)[:3]]
        learning.dy.renew_cg()
        batch = learning.batch_of(samples, members, np.ones(len(members), np.bool_))
        p = learning.dy.softmax(network.logits(batch, False)).npvalue().reshape(N_TAGS, n, -1)
        for k, (_, s) in enumerate(members):
            np.testing.assert_allclose(p[:, :, k].T, expected[first[s] : first[s + 1]], atol=1e-5)


def test_equal_samples_teach_equal_weights(learning: Any, source: Any) -> None:
    one, two = (learning.learnt([source], 4, 3, UNITS) for _ in range(2))
    assert learning.archive.npz(one) == learning.archive.npz(two)
    other = learning.learnt([source], 4, 4, UNITS)
    assert learning.archive.npz(one) != learning.archive.npz(other)


def test_where_nothing_is_said_the_loss_does_not_depend_on_it(learning: Any, source: Any) -> None:
    network, ours = learning.RetaggerNetwork(1, UNITS), Retagger(learning.standards([source]))
    plain = source.standardised(ours)
    other = replace(plain, seen=plain.seen._replace(tagger_numbers=plain.seen.tagger_numbers[::-1]))
    members = [(0, int(s)) for s in np.flatnonzero(np.diff(source.seen.first) == 4)[:2]]
    losses = []
    for samples, says in ((plain, False), (other, False), (plain, True), (other, True)):
        learning.dy.renew_cg()
        batch = learning.batch_of([samples], members, np.full(len(members), says))
        losses.append(network.loss(batch, drop=False).value())
    assert losses[0] == losses[1]
    assert len({*losses}) == 3


def output_at_random(
    words: WordTypes, tags: tuple[str, ...], given: dict[int, int]
) -> TaggerOutput:
    rng = np.random.default_rng(1)
    marginals = rng.dirichlet(np.full(len(tags), 0.5), len(words.types))
    for word, tag in given.items():
        marginals[word] = np.eye(len(tags))[tag]
    return TaggerOutput(tags, 50, marginals, TypeMeans.of(words, marginals))


def test_given_tags_punctuation_and_tags_of_no_treebank_are_left_alone(
    random_retagger: Retagger,
) -> None:
    words = WordTypes.of([("The", "dog", ",", "!"), ("ba", "BA", "dog")])
    tags = "ADJ", "EMO", "NOUN", "PUNCT", "VERB"
    said = output_at_random(words, tags, {1: 0, 2: 3, 3: 3})
    is_free = np.arange(7) != 1
    text = LearningText([["the", "dog"]], [["VERB", "NOUN"]], [["ba", "ba"]])
    found = random_retagger.corrected_marginals(text, words, said, is_free)
    np.testing.assert_array_equal(found[[1, 2, 3]], said.marginals[[1, 2, 3]])
    np.testing.assert_array_equal(found[:, [1, 3]], said.marginals[:, [1, 3]])
    np.testing.assert_allclose(found.sum(1), 1)
    assert (np.abs(found - said.marginals)[[0, 4, 5, 6]].max(1) > 0.01).all()
    nothing = random_retagger.corrected_marginals(text, words, said, np.zeros(7, np.bool_))
    np.testing.assert_array_equal(nothing, said.marginals)


def test_gaps_are_what_the_tagger_takes_for_punctuation(random_retagger: Retagger) -> None:
    words = WordTypes.of([("a", ",", "b", ",", ".", "c", "§"), (",",), ("d",)])
    said = output_at_random(
        words, ("NOUN", "PUNCT"), dict.fromkeys((0, 2, 5, 8), 0) | dict.fromkeys((1, 3, 4, 6, 7), 1)
    )
    its = input_of(LearningText([], []), words, said)
    assert its.at.tolist() == [0, 2, 5, 8]
    assert its.first.tolist() == [0, 3, 3, 4]
    flags = its.words[:, N_NUMBERS:]
    assert flags[:, 1].tolist() == [1, 0, 0, 1]  # first
    assert flags[:, 2].tolist() == [0, 0, 1, 1]  # last
    # none, weak, mixed, strong
    gaps = [tuple(row.tolist()) for row in flags[:, 6:].reshape(-1, 2, 4).argmax(2)]
    assert gaps == [(0, 1), (1, 3), (3, 2), (0, 0)]


def test_types_that_are_alike_are_others_with_the_same_letters() -> None:
    forms = "walked", "talked", "walks", "ed", "the", ",", "w", "walked"
    counted = CountedWords.of(WordTypes.of([forms]))
    values = np.arange(len(counted.number), dtype=float)[:, None]
    found = counted.sums_over_alike(
        np.array([counted.number["walked"]]), np.append(values, values * 0 + 1, 1)
    )[0]
    number = counted.number
    same = ["talked", "ed"], ["talked"], ["talked"], ["walks"], ["walks"], []
    assert found.tolist() == [[sum(number[form] for form in each), len(each)] for each in same]
    stems = counted.sums_over_alike(np.array([number["walks"]]), values)[0, 5]
    assert stems.tolist() == [0]  # wal, not walk


@pytest.fixture(scope="module")
def tagger(sentences: list[Sentence]) -> Tagger:
    return Tagger().fit(sentences[:20], sentences[20:50])


def test_a_sentence_is_tagged_as_counted_with_the_learning_text(
    tagger: Tagger, sentences: list[Sentence]
) -> None:
    text = tagger.learnt.text
    assert sum(map(len, text.tagged)) == tagger.n_words
    own = WordTypes.of([sentences[30].forms, sentences[3].forms])
    assert text.with_words(own) is text.counted
    both = text.with_words(WordTypes.of([sentences[30].forms, sentences[55].forms]))
    whole = CountedWords.of(WordTypes.of([*text.tagged, *text.raw, sentences[55].forms]))
    np.testing.assert_array_equal(both.numbers, whole.numbers)


def test_types_are_alike_as_before_when_words_are_added(
    tagger: Tagger, sentences: list[Sentence]
) -> None:
    text = tagger.learnt.text
    new = [sentences[55].forms, *ODD, sentences[54].forms]
    both = text.with_words(WordTypes.of(new))
    whole = CountedWords.of(WordTypes.of([*text.tagged, *text.raw, *new]))
    every = np.arange(len(whole.number))
    values = np.random.default_rng(1).random((len(every), 3))
    np.testing.assert_array_equal(
        both.sums_over_alike(every, values), whole.sums_over_alike(every, values)
    )


def test_choices_of_the_same_words_with_other_tags_are_those_of_a_new_tagger(
    tagger: Tagger, sentences: list[Sentence]
) -> None:
    one = Tagger(tagger.learnt)
    for sentence in (sentences[55], sentences[54], sentences[55]):
        for tags in (("_",) * len(sentence), sentence.tags, sentence.tags[::-1]):
            asked = Sentence(sentence.forms, tags)
            assert one.choices(asked) == Tagger(tagger.learnt).choices(asked)


def test_choices_are_those_of_the_retagger(
    tagger: Tagger,
    sentences: list[Sentence],
    random_retagger: Retagger,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bare = Sentence(sentences[55].forms, ("_",) * len(sentences[55]))
    monkeypatch.setattr(Retagger, "load", lambda: random_retagger)
    (tagged,), choices = tagger.stream([bare]), tagger.choices(bare)
    assert [word.tags[0][0] for word in choices] == list(tagged.sentence.tags)
    assert [word.tags[0][1] for word in choices] == tagged.chances
    alone = Tagger(replace(tagger.learnt, text=None))
    assert [word.tags for word in alone.choices(bare)] != [word.tags for word in choices]
    assert {form.tags[0][0] for form in choices} <= set(tagger.learnt.tags)


def test_taggers_of_many_words_and_of_earlier_files_are_not_retagged(
    tagger: Tagger, sentences: list[Sentence], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    test = [Sentence(s.forms, ("_",) * len(s)) for s in sentences[50:]]
    path = tmp_path / "my.tagger"
    tagger.save(path)
    assert Tagger.load(path).learnt.text == tagger.learnt.text
    with zipfile.ZipFile(path) as z:
        files = {name: z.read(name) for name in z.namelist() if name != "text.json"}
    archive.write(path, files)
    earlier = Tagger.load(path)
    assert earlier.learnt.text is None
    monkeypatch.setattr("dynet_vdgi.words.tagger.tagger.MOST_RETAGGED", 10)
    monkeypatch.setattr(retagger, "FILE", tmp_path / "none")
    many = Tagger().fit(sentences[:20], sentences[20:50])
    assert many.predict(test) == earlier.predict(test)
    with pytest.raises(ModelError, match="no such retagger"):
        tagger.predict(test)


def test_what_a_tagger_keeps_of_its_text_is_checked(tagger: Tagger, tmp_path: Path) -> None:
    files = members(tagger.learnt)
    for text in (
        {"tagged": [["a"]]},
        {"tagged": [["a"]], "tags": [[1]]},
        [],
        {"tagged": [["a"]], "tags": [["X", "X"]]},
    ):
        archive.write(tmp_path / "my.tagger", {**files, "text.json": json.dumps(text).encode()})
        with pytest.raises(ModelError, match=r"text\.json"):
            Tagger.load(tmp_path / "my.tagger")


def test_the_text_that_is_kept_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retagger, "MOST_WORDS", 7)
    tagged, raw = WordTypes.of([("a", "b"), ("c",)]), WordTypes.of([("d", "e"), ("f", "g"), ("h",)])
    assert LearningText.of(tagged, ["X", "_", "Y"], raw).raw == [["d", "e"], ["f", "g"]]
    monkeypatch.setattr(retagger, "MOST_WORDS", 2)
    assert LearningText.of(tagged, ["X", "_", "Y"], raw) == LearningText(
        [["a", "b"], ["c"]], [["X", "_"], ["Y"]]
    )


def test_the_retagger_of_the_package_names_its_treebanks_and_is_small() -> None:
    assert retagger.FILE.stat().st_size < 500_000
    with zipfile.ZipFile(retagger.FILE) as z:
        licences = json.loads(z.read("meta.json"))["treebanks"]
    assert len(licences) > 60
    assert not [
        licence for licence in licences.values() if "NC" in licence or licence.startswith("GPL")
    ]
    assert Retagger.load() is Retagger.load()


def test_damaged_retaggers_are_refused(
    learning: Any, source: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrays = learning.learnt([source], 0, 1, UNITS)
    meta = {"kind": "retagger", "format": 1, "treebanks": {}}

    def write(
        change: dict[str, Any], told: dict[str, Any] = meta, name: str = "weights.npz"
    ) -> None:
        path = tmp_path / str(len(list(tmp_path.iterdir())))
        weights = {key: value for key, value in {**arrays, **change}.items() if value is not None}
        content = {"meta.json": json.dumps(told).encode(), name: archive.npz(weights)}
        archive.write(path, content)
        monkeypatch.setattr(retagger, "FILE", path)

    write({})
    assert Retagger.load().weights["out"].dtype == np.float32
    for change, message in (
        ({"out": None}, "missing out"),
        ({"text": None}, "missing text"),
        ({"scale": arrays["scale"] * 0}, "a scale is not positive"),
        ({"mean": arrays["mean"][1:]}, "mean is of float32 and shape"),
        ({"bias": arrays["bias"].astype(np.float64)}, "bias is of float64"),
        ({"said": arrays["said"][1:]}, "is of float16 and shape"),
        ({"bias": np.full_like(arrays["bias"], np.nan)}, "bias holds numbers that are not finite"),
    ):
        write(change)
        with pytest.raises(ModelError, match=message):
            Retagger.load()
    write({}, {**meta, "format": 2})
    with pytest.raises(ModelError, match="a retagger of format 2"):
        Retagger.load()
    write({}, name="other.npz")
    with pytest.raises(ModelError, match="the retagger is damaged"):
        Retagger.load()
    monkeypatch.setattr(retagger, "FILE", tmp_path / "none")
    with pytest.raises(ModelError, match="no such retagger"):
        Retagger.load()
