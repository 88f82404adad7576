"""What a universal parser says about its accuracy on a text: `vdgi expect`, and the end of a parse."""

from __future__ import annotations

import csv
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import universal_toys as universal
from shell import Vdgi
from wording import Wording

import dynet_vdgi
from dynet_vdgi.conllu import blocks, reading
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.errors import DataError, ModelError, UsageError
from dynet_vdgi.parser.confidence import Calibration
from dynet_vdgi.parser.decoding import find
from dynet_vdgi.parser.expectation import SOURCES, Expectation, log_odds, on_line
from dynet_vdgi.parser.outlook import look
from dynet_vdgi.parser.parser import How, Parser
from dynet_vdgi.settings.bundled import resources
from dynet_vdgi.universal import stored
from dynet_vdgi.universal.stored import beginning
from dynet_vdgi.words.tagger.tagger import Tagger

DEMO = resources() / "demo" / "demo-ud-test.conllu"
SHIFT, RIGHT_TAGS = "text/confidence_shift", "text/right_tags"
ROWS = Path(__file__).parents[2] / "docs" / "results" / "expect.csv"
TOY = Expectation(
    np.array([0.2, 0.7]),
    0.4,
    np.array([[10.0, 0.3, 0.9, 0.2], [100.0, 0.8, 0.8, 0.3]]),
    np.array([2.0, 0.5]),
)


@pytest.fixture(scope="module")
def sentences() -> list[Sentence]:
    return list(reading.read(DEMO))[:60]


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """The sentences in a file."""
    path = tmp_path / "text.conllu"
    path.write_text(
        "\n\n".join(DEMO.read_text(encoding="utf-8").split("\n\n")[:60]) + "\n\n", encoding="utf-8"
    )
    return path


def calibrated(path: Path, sentences: list[Sentence], expectation: Expectation | None) -> Path:
    """The toy with confidence and, unless it is None, an expectation."""
    parser = Parser(universal.model()).adapted(sentences)
    bare = [parser._bare(s)[0] for s in sentences]
    found = find(parser.engine, bare, margins=True)
    marginals = [np.full((len(s) + 1, len(s)), 0.7) for s in bare]
    arrays = Calibration.fit(
        [s.tags for s in bare], [each[:2] for each in found], marginals
    ).arrays()
    if expectation is not None:
        n_numbers = len(parser.engine.measures.profile.numbers)
        arrays |= expectation.arrays() | {SOURCES: np.array([[0.0] * n_numbers, [2.0] * n_numbers])}
    return universal.saved(path, further=arrays)


def test_a_short_text_has_a_wider_interval_than_a_long_one() -> None:
    short, long = TOY(0.8, 40), TOY(0.8, 1_000_000)
    assert short.share == long.share == pytest.approx(float(on_line(TOY.line, 0.8)))
    assert long.width == pytest.approx(TOY.width, abs=1e-4)
    counting = 1.645**2 / (40 * short.share * (1 - short.share))
    assert short.width == pytest.approx(np.sqrt(TOY.width**2 + counting))
    low, high = short.interval
    assert 0 < low < short.share < high < 1
    assert log_odds(high) - log_odds(low) == pytest.approx(2 * short.width)


def test_gold_trees_add_their_own_width() -> None:
    without = TOY(0.8, 1_000_000)
    ten, hundred = TOY.with_trees(without)
    assert (ten.trees, hundred.trees) == (10, 100)
    assert ten.share == pytest.approx(float(on_line(np.array([0.3, 0.9]), without.share)))
    assert hundred.width == pytest.approx(np.hypot(0.3, 0.8 * without.width))
    certain = TOY.with_trees(without._replace(width=0.0))
    assert [each.width for each in certain] == pytest.approx([0.2, 0.3])


def test_wrong_tags_lower_the_share_and_are_less_certain() -> None:
    right, some = TOY(0.8, 1_000_000), TOY(0.8, 1_000_000, 0.9)
    assert log_odds(right.share) - log_odds(some.share) == pytest.approx(0.1 * 2.0)
    assert some.width == pytest.approx(np.hypot(TOY.width, 0.1 * 0.5), abs=1e-4)
    assert TOY(0.8, 100, 1.0) == TOY(0.8, 100)


def test_where_few_heads_are_right_it_says_what_trees_give() -> None:
    trees = np.array([[10.0, 0.3, 0.9, 0.2], [50.0, 0.5, 0.9, 0.2], [100.0, 0.8, 0.8, 0.3]])
    some = replace(TOY, trees=trees)
    few = some(0.7, 1000)._replace(share=0.74)
    ten, fifty, _ = some.with_trees(few)
    said = [f"with {each.trees} trees of yours {100 * each.share:.0f} %" for each in (ten, fifty)]
    assert some.advice(few).startswith(f"; {', '.join(said)}: vdgi choose ")
    assert some.advice(few._replace(share=0.76)) == replace(TOY, trees=trees[2:]).advice(few) == ""


@pytest.mark.parametrize(("line", "is_told"), [([-3.0, 0.7], True), ([3.0, 0.7], False)])
def test_advice_is_at_the_end_of_a_parse_and_below_the_table(
    line: list[float],
    is_told: bool,
    sentences: list[Sentence],
    text: Path,
    tmp_path: Path,
    vdgi: Vdgi,
) -> None:
    model = calibrated(tmp_path / "model.vdgi", sentences[:20], replace(TOY, line=np.array(line)))
    text.write_text(
        "\n\n".join(text.read_text(encoding="utf-8").split("\n\n")[:20]) + "\n\n", encoding="utf-8"
    )
    assert (
        " for 9 of 10 languages); with 10 trees of yours "
        in vdgi.good("parse", model, text, "--confidence").err
    ) == is_told
    last = vdgi.good("expect", "--model", model, text).out.rstrip("\n").split("\n")[-1]
    command = re.fullmatch(r"ten sentences to correct: vdgi (.*)", last)
    assert bool(command) == is_told
    if command:
        vdgi.good(*command[1].split()[:-1], tmp_path / "ten.conllu")
        assert len(list(reading.read(tmp_path / "ten.conllu", heads="required"))) == 10


def test_an_expectation_survives_its_arrays() -> None:
    again = Expectation.from_arrays(TOY.arrays())
    assert again is not None
    assert again(0.8, 100) == TOY(0.8, 100)
    assert again.with_trees(again(0.8, 100)) == TOY.with_trees(TOY(0.8, 100))
    assert Expectation.from_arrays({}) is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("width", [-0.1]),
        ("width", [0.1, 0.1]),
        ("error", [-0.1]),
        ("line", [1.0]),
        ("trees", [[10.0, 0.1, 1.0]]),
        ("tags", [1.0]),
    ],
)
def test_damaged_numbers_are_refused(
    name: str, value: list[float], sentences: list[Sentence], tmp_path: Path, wording: Wording
) -> None:
    path = universal.saved(
        tmp_path / "model.vdgi", further=TOY.arrays() | {f"expectation/{name}": np.array(value)}
    )
    with wording.raises(ModelError):
        dynet_vdgi.load(path)


def test_the_outlook_is_the_line_at_the_mean_marginal(
    sentences: list[Sentence], tmp_path: Path
) -> None:
    parser = dynet_vdgi.load(calibrated(tmp_path / "model.vdgi", sentences, TOY))
    outlook = look(parser, sentences)
    marginals = [
        p for parse in parser.parse_all(sentences, How(confidence=True)) for p in parse.marginals
    ]
    assert (
        outlook.n_words
        == len(marginals)
        == sum(tag != "PUNCT" for s in sentences for tag in s.tags)
    )
    assert outlook.shares[0] == TOY(float(np.mean(marginals)), len(marginals))
    assert outlook.shares[1:] == TOY.with_trees(outlook.shares[0])
    (first, near), (second, far) = outlook.nearest
    assert {first, second} == set(universal.SOURCES)
    assert near < far


def test_marginals_are_the_probabilities_of_the_heads(sentences: list[Sentence]) -> None:
    from dynet_vdgi.inference import eisner

    parser = Parser(
        universal.model(
            further=Calibration.fit([("X",)], [((0,), np.zeros(1))], [np.ones((2, 1))]).arrays()
        )
    )
    parser = parser.adapted(sentences)
    bare = [parser._bare(s)[0] for s in sentences]
    for sentence, parse in zip(bare[:10], parser.parse_all(sentences, How(confidence=True))):
        p = eisner.marginals(parser.engine.scores([sentence]).arcs[0])
        heads = parser.parse_all([sentence])[0].heads
        assert parse.marginals == pytest.approx([p[h, k] for k, h in enumerate(heads)], abs=1e-6)


def confidences(parser: Parser, sentences: list[Sentence]) -> list[float | None]:
    return [
        p
        for parse in parser.parse_all(sentences, How(confidence=True))
        for p in parse.confidence or ()
    ]


def test_the_mean_confidence_of_the_sample_is_the_expected_share(
    sentences: list[Sentence], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored, "SAMPLED", 300)
    parser = dynet_vdgi.load(calibrated(tmp_path / "model.vdgi", sentences, TOY)).adapted(sentences)
    bare = [s for s in [parser._bare(s)[0] for s in sentences] if len(s) > 1]
    sample = list(beginning(bare, 300))
    assert len(sample) < len(bare)
    parses = parser.parse_all(sample, How(confidence=True))
    share = TOY(float(np.mean([p for parse in parses for p in parse.marginals])), 0).share
    found, plain = (
        np.mean([p for p in confidences(each, sample) if p])
        for each in (
            parser,
            dynet_vdgi.load(calibrated(tmp_path / "m", sentences, None)).adapted(sentences),
        )
    )
    assert found == pytest.approx(share, abs=2e-5)  # they are written with four decimals
    assert abs(plain - share) > 0.01


def test_confidence_is_that_of_the_text_however_it_is_parsed(
    sentences: list[Sentence],
    text: Path,
    tmp_path: Path,
    vdgi: Vdgi,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model, run = calibrated(tmp_path / "model.vdgi", sentences, TOY), tmp_path / "run"
    whole = vdgi.good("parse", model, text, "--confidence").out
    assert (
        whole
        != vdgi.good("parse", calibrated(tmp_path / "m", sentences, None), text, "--confidence").out
    )
    assert vdgi.good("parse", model, text, "--confidence", "--jobs", "2").out == whole
    vdgi.good("tag", "train", text, "-o", tmp_path / "my.tagger")
    guessed = vdgi.good(
        "parse", model, text, "--tagger", tmp_path / "my.tagger", "--retag", "--confidence"
    ).err
    tagger = Tagger.load(tmp_path / "my.tagger")
    assert tagger.accuracy is not None
    accuracy = f"{100 * tagger.accuracy:.0f}"
    assert f"tags {accuracy} %" in guessed
    assert share_of(guessed) < share_of(vdgi.good("parse", model, text, "--confidence").err)
    vdgi.good("train", "--train", text, "--preset", "universal", "--init", model, "--out", run)
    assert vdgi.good("parse", run, text, "--confidence").out == whole
    few = tmp_path / "few.conllu"
    few.write_text("\n\n".join(whole.split("\n\n")[:3]) + "\n\n", encoding="utf-8")
    assert vdgi.good("parse", run, few, "--confidence").out == few.read_text(encoding="utf-8")
    text.write_text(text.read_text(encoding="utf-8").replace("\n\n", "\n\n\n"), encoding="utf-8")
    monkeypatch.setattr(blocks, "WINDOW", 1)  # with two empty lines, each sentence is a window
    assert vdgi.good("parse", model, text, "--confidence").out == whole


def share_of(message: str) -> int:
    """The expected share in a message, in per cent."""
    found = re.search(r"about (\d+) % of the heads", message)
    assert found is not None
    return int(found[1])


def test_tags_that_were_guessed_before_count_as_guessed(
    sentences: list[Sentence], text: Path, tmp_path: Path, vdgi: Vdgi
) -> None:
    costly = replace(TOY, tags=np.array([20.0, 0.5]))
    model, tagged = (
        calibrated(tmp_path / "model.vdgi", sentences, costly),
        tmp_path / "tagged.conllu",
    )
    vdgi.good("tag", "train", text, "-o", tmp_path / "my.tagger")
    for options in ([], ["--confidence"]):
        vdgi.good("tag", tmp_path / "my.tagger", text, "--retag", *options, "-o", tagged)
        parsed = vdgi.good("parse", model, tagged, "--confidence").err
        expected = vdgi.good("expect", "--model", model, tagged).out
        found = [
            float(p) for p in re.findall(r"TagConf=([0-9.]+)", tagged.read_text(encoding="utf-8"))
        ]
        assert bool(found) == bool(options)
        right = f"{100 * np.mean(found):.0f} %" if found else ""
        assert ("of the tags" in parsed) == ("right tags" in expected) == bool(options)
        assert f"of the tags {right}, by the tagger's own estimate" in parsed or not options
        assert f"right tags, by the tagger's own estimate: {right}" in expected or not options
        columns = re.search(r"^gold trees(.*)$", expected, re.MULTILINE)
        # trees need tags, too
        assert columns[1].split() == (["0"] if options else ["0", "10", "100"])
    assert share_of(parsed) < 75
    assert "trees of yours" not in parsed  # nobody knows what they give then
    plain = vdgi.good("parse", model, text, "--confidence").err
    assert share_of(parsed) < share_of(plain)


@pytest.mark.parametrize("right_tags", [1.0, 0.8])
def test_a_saved_parser_has_the_confidence_of_its_text(
    right_tags: float, sentences: list[Sentence], tmp_path: Path, wording: Wording
) -> None:
    bare = dynet_vdgi.load(calibrated(tmp_path / "model.vdgi", sentences, TOY))
    parser = bare.adapted(sentences, tag_accuracy=right_tags)
    parser.save(tmp_path / "saved.vdgi")
    again = dynet_vdgi.load(tmp_path / "saved.vdgi")
    few = sentences[:5]
    assert SHIFT not in parser.model.parameters
    assert SHIFT in again.model.parameters
    assert (
        confidences(again, few)
        == confidences(parser, few)
        == confidences(parser, sentences)[: sum(map(len, few))]
    )
    unshifted = {name: array for name, array in again.model.parameters.items() if name != SHIFT}
    old = Parser(replace(again.model, parameters=unshifted))
    assert confidences(old, few) != confidences(again, few)
    assert (RIGHT_TAGS in again.model.parameters) == (right_tags < 1)
    for damaged in (np.array([np.nan]), np.array([0.5, 0.5])):
        with wording.raises(ModelError):
            Parser(replace(again.model, parameters=again.model.parameters | {RIGHT_TAGS: damaged}))


def test_a_parse_ends_with_what_expect_says(
    sentences: list[Sentence], text: Path, tmp_path: Path, vdgi: Vdgi
) -> None:
    model = calibrated(tmp_path / "model.vdgi", sentences, TOY)
    run = tmp_path / "run"
    now = look(dynet_vdgi.load(model), sentences).shares[0]
    share, low, high = (f"{100 * each:.0f}" for each in (now.share, *now.interval))
    expected = (
        f"about {share} % of the heads are right (between {low} and {high} for 9 of 10 languages)"
    )
    assert expected in vdgi.good("parse", model, text, "--confidence").err
    few = tmp_path / "few.conllu"
    # the only word is the root
    few.write_text("1\tx\t_\tVERB" + "\t_" * 6 + "\n\n", encoding="utf-8")
    several = vdgi.good("parse", model, text, few, "--confidence", "-o", "{}.x").err
    assert several.index(expected) < several.index("about 100 % of the heads are right")
    assert expected in vdgi.good("parse", model, text, "--confidence", "--jobs", "2").err
    assert "are right" not in vdgi.good("parse", model, text).err
    vdgi.good("train", "--train", text, "--preset", "universal", "--init", model, "--out", run)
    assert expected in vdgi.good("parse", run, text, "--confidence").err
    printed = vdgi.good("expect", text, "--model", model).out
    assert re.search(rf"right heads, % +{share} ", printed)
    assert re.search(rf"9 of 10 languages +{low}-{high} ", printed)
    assert "60 sentences" in printed
    assert "gold trees" in printed.splitlines()[3]


def test_what_says_nothing_of_its_accuracy_is_refused(
    sentences: list[Sentence], text: Path, tmp_path: Path, vdgi: Vdgi, wording: Wording
) -> None:
    bare = calibrated(tmp_path / "bare.vdgi", sentences, None)
    assert "are right" not in vdgi.good("parse", bare, text, "--confidence").err
    with wording.raises(UsageError):
        look(dynet_vdgi.load(bare), sentences)
    with wording.raises(DataError):
        look(
            dynet_vdgi.load(calibrated(tmp_path / "m.vdgi", sentences, TOY)),
            [Sentence.of_tags(["PUNCT"])],
        )
    assert vdgi("expect", text, "-n", "0").status == 2


def test_the_shipped_line_is_off_by_at_most_five_points_on_the_languages_not_chosen_on() -> None:
    with open(ROWS, encoding="utf-8") as lines:
        rows = [row for row in csv.DictReader(lines) if row["set"] == "check"]
    line = Expectation.from_arrays(dynet_vdgi.load("universal").model.parameters)
    assert line is not None
    assert len(rows) == 11
    for row in rows:
        assert line(float(row["marginal"]), int(row["words"])).share == pytest.approx(
            float(row["expected"]), abs=2e-4
        )
    assert 100 * np.mean([abs(float(row["expected"]) - float(row["right"])) for row in rows]) < 5


def test_nine_of_ten_treebanks_are_within_the_shipped_width_where_their_branch_was_left_out() -> (
    None
):
    with open(ROWS, encoding="utf-8") as lines:
        rows = [row for row in csv.DictReader(lines) if row["set"] == "left out"]
    expectation = Expectation.from_arrays(dynet_vdgi.load("universal").model.parameters)
    assert expectation is not None
    inside: dict[str, list[bool]] = {}
    for row in rows:
        off = float(log_odds(float(row["expected"])) - log_odds(float(row["right"])))
        inside.setdefault(row["treebank"], []).append(abs(off) <= expectation.width)
    assert np.mean([np.mean(each) for each in inside.values()]) >= 0.9


def test_nine_of_ten_texts_with_guessed_tags_are_within_the_shipped_interval() -> None:
    with open(ROWS, encoding="utf-8") as lines:
        rows = [
            row for row in csv.DictReader(lines) if row["set"] == "guessed tags" and row["tagged"]
        ]
    expectation = Expectation.from_arrays(dynet_vdgi.load("universal").model.parameters)
    assert expectation is not None
    inside = []
    for row in rows:
        low, high = expectation(
            float(row["marginal"]), int(row["words"]), float(row["tags"])
        ).interval
        inside.append(low <= float(row["right"]) <= high)
    assert len(inside) == 48
    assert np.mean(inside) >= 0.9
