"""Tags that say next to nothing, such as X for most words: a warning, and no expected share of
right heads."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from shell import Vdgi
from wording import Wording

from dynet_vdgi.conllu import reading
from dynet_vdgi.parser.outlook import look
from dynet_vdgi.parser.parser import load
from dynet_vdgi.rule_tables.tag_warnings import (
    FEWEST_ALIKE,
    MOST_ALIKE,
    MOST_OF_X,
    uninformative,
    uninformative_warnings,
)
from dynet_vdgi.settings.bundled import resources

DEMO = resources() / "demo" / "welsh-tagged.conllu"
SILENT, LITTLE = "the tags say next to nothing", "have the tag X, which says nothing: fewer heads"


def with_tags(tag: str, every: int = 1, name: str = "text.conllu") -> str:
    """The demo's text, in which of so many words all but one have this tag; all, for 1; punctuation
    stays."""
    words = 0

    def changed(match: re.Match[str]) -> str:
        nonlocal words
        words += 1
        is_other = match[2] == "PUNCT" or (every > 1 and words % every == 0)
        return match[0] if is_other else f"{match[1]}{tag}\t"

    text = DEMO.read_text(encoding="utf-8")
    Path(name).write_text(
        re.sub(r"(?m)^(\d+\t[^\t]+\t[^\t]+\t)([A-Z]+)\t", changed, text), encoding="utf-8"
    )
    return name


@pytest.mark.parametrize(
    "counts",
    [
        {"X": 9},
        {"X": 61, "NOUN": 39, "PUNCT": 100},
        {"X": 60, "NOUN": 40},
        {"NOUN": 61, "VERB": 39},
        {"NOUN": 60, "VERB": 40},
        {"NOUN": FEWEST_ALIKE - 1},
        {"X": 40, "Token": 30, "NOUN": 30},
        {"PUNCT": 5},
        {},
    ],
)
def test_tags_say_nothing_if_most_words_have_one_tag_or_none_that_is_known(
    counts: dict[str, int], wording: Wording
) -> None:
    reason = uninformative(counts, ("NOUN", "VERB"))
    wording.check(reason)
    assert bool(uninformative_warnings(counts, ("NOUN", "VERB"))) == bool(reason or counts.get("X"))


def test_some_words_without_a_tag_are_told_too(wording: Wording) -> None:
    wording.check(uninformative_warnings({"X": 26, "NOUN": 40, "VERB": 34}))
    assert uninformative_warnings({"X": 25, "NOUN": 40, "VERB": 35}) == []


@pytest.mark.parametrize("tag", ["X", "NOUN"])
def test_nothing_is_expected_of_a_text_whose_tags_say_nothing(
    vdgi: Vdgi, folder: Path, tag: str, wording: Wording
) -> None:
    text = with_tags(tag)
    expected = vdgi.good("expect", text)
    wording.lines(expected.out, "no share")
    assert "right heads, %" not in expected.out
    assert "nearest treebanks" not in expected.out
    parsed = vdgi.good("parse", "universal", text, "--confidence", "-o", "out.conllu")
    assert "of the heads are right" not in parsed.err
    checked = vdgi.good("check", text)
    chosen = vdgi.good("choose", "universal", text, "-n", "1", "-o", "chosen.conllu")
    trained = vdgi.good("train", "--train", text, "--out", "run", "--dry-run")
    for where in (expected.err, parsed.err, checked.out, chosen.err, trained.err):
        wording.lines(where, SILENT)

    assert look(load("universal"), reading.read(text)).shares == []


def test_a_text_with_some_x_has_a_number_and_a_warning(
    vdgi: Vdgi, folder: Path, wording: Wording
) -> None:
    text = with_tags("X", 2)
    expected = vdgi.good("expect", text)
    assert LITTLE in expected.err
    assert "right heads, %" in expected.out
    parsed = vdgi.good(
        "parse", "universal", text, "--confidence", "-o", "out.conllu", "--jobs", "2"
    )
    assert LITTLE in parsed.err
    wording.lines(parsed.err, LITTLE)
    assert re.search(r"about \d+ %", parsed.err)
    assert LITTLE in vdgi.good("check", text).out


def test_texts_whose_tags_say_something_get_no_warning(vdgi: Vdgi, folder: Path) -> None:
    for verb in (["expect"], ["parse", "universal"], ["check"]):
        told = vdgi.good(*verb, DEMO)
        assert SILENT not in told.out + told.err
        assert LITTLE not in told.out + told.err


def test_treebanks_are_on_the_right_side_of_the_limits(data_dir: Path) -> None:
    """All but Yupik-SLI, whose words are parts of words, many of them X."""
    for path in sorted((data_dir / "ud2").rglob("*.conllu"))[::3]:
        counts = Counter(
            re.findall(r"(?m)^\d+\t[^\t]+\t[^\t]+\t([A-Z]+)\t", path.read_text(encoding="utf-8"))
        )
        del counts["PUNCT"]
        assert counts["X"] < MOST_OF_X / 3 * counts.total()
        assert max(counts.values()) < MOST_ALIKE * counts.total()


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_no_head_of_a_text_whose_tags_say_nothing_has_a_confidence(
    vdgi: Vdgi, folder: Path, jobs: str, wording: Wording
) -> None:
    text = with_tags("X")
    told = vdgi.good(
        "parse", "universal", text, "--confidence", "-o", "out.conllu", "--jobs", jobs
    ).err
    wording.lines(told, "HeadConf=")
    assert "HeadConf=" not in Path("out.conllu").read_text(encoding="utf-8")
    vdgi.good("parse", "universal", DEMO, "--confidence", "-o", "out.conllu", "--jobs", jobs)
    assert "HeadConf=" in Path("out.conllu").read_text(encoding="utf-8")


def test_pipe_warns_once_of_tags_that_say_nothing(
    folder: Path, caplog: pytest.LogCaptureFixture, wording: Wording
) -> None:
    parser = load("universal")
    list(parser.pipe(DEMO))
    assert SILENT not in caplog.text
    parser = load("universal")
    sentences = list(reading.read(with_tags("X"), heads="ignored"))
    parser(["Mae", "hi"], ["X", "X"])
    assert SILENT not in caplog.text  # a sentence shows nothing
    for _ in range(3):
        list(parser.pipe(sentences[:40], window=10))
    wording.check([each for each in caplog.messages if SILENT in each])


def test_the_component_of_spacy_warns_too(caplog: pytest.LogCaptureFixture) -> None:
    spacy = pytest.importorskip("spacy")
    nlp = spacy.blank("cy")
    nlp.add_pipe("vdgi", config={"model": "universal"})
    doc = spacy.tokens.Doc(
        nlp.vocab, words=["gair"] * 60, pos=["X"] * 60, sent_starts=[k % 6 == 0 for k in range(60)]
    )
    nlp.get_pipe("vdgi")(doc)
    assert caplog.text.count(SILENT) == 1
