"""Several parses in one table: intervals, differences, formats, patterns, and the official UD
scorer."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import tiny
from shell import Vdgi
from wording import Wording

from dynet_vdgi.conllu import reading
from dynet_vdgi.conllu.protocols import EVERY_WORD
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.conllu.writing import render
from dynet_vdgi.evaluation import comparison as tables
from dynet_vdgi.evaluation.attachment import evaluate
from dynet_vdgi.evaluation.branching import left_branching
from dynet_vdgi.evaluation.file_scores import mean
from dynet_vdgi.evaluation.rules_only import rules_only
from dynet_vdgi.evaluation.significance import compare
from dynet_vdgi.rule_tables.prior import Prior
from dynet_vdgi.rule_tables.rules import load_rules
from dynet_vdgi.settings.bundled import rules_path

LANGUAGES = ("eu", "fr")


@pytest.fixture
def scored(folder: Path) -> Path:
    """gold.conllu, the parses a.conllu (left branching) and b.conllu (gold but for the first
    sentence)."""
    tiny.write_gold_and_parse(Path("gold.conllu"), Path("b.conllu"))
    sentences = list(reading.read("gold.conllu"))
    write(sentences, [left_branching(len(sentence)) for sentence in sentences], Path("a.conllu"))
    return folder


def write(sentences: Sequence[Sentence], trees: Sequence[tuple[int, ...]], path: Path) -> None:
    """The sentences with these trees as a file; relations are made up."""
    blocks = (render(sentence, heads) for sentence, heads in zip(sentences, trees))
    path.write_text("".join(blocks), encoding="utf-8")


def percent(fraction: float) -> str:
    return f"{100 * fraction:.1f}"


def test_text_and_json_have_the_same_figures(vdgi: Vdgi, scored: Path) -> None:
    arguments = ["evaluate", "gold.conllu", "a.conllu", "b.conllu", "--max-len", "4", "--by", "tag"]
    text = vdgi.good(*arguments).out
    data = json.loads(vdgi.good(*arguments, "--json").out)
    assert text.splitlines()[0] == data["policy"]
    assert text.count(data["bootstrap"]["note"]) == 1
    assert [block.split()[0] for block in text.split("\n\n")[1:]] == ["DDA", "UDA", "root", "tag"]
    block = text.split("\n\n")[1].splitlines()
    parts = {line.split("  ")[0]: k for k, line in enumerate(block)}
    for number, name in enumerate(("a.conllu", "b.conllu")):
        interval_line = block[parts["95 % interval"] + 1 + number].split()
        assert block[3 + number].split()[0] == interval_line[0] == name
        for k, label in enumerate(("<=4", "all"), 1):
            cell = data["systems"][name]["by_length"][label]
            assert block[3 + number].split()[k] == percent(cell["dda"])
            assert interval_line[k] == "-".join(map(percent, cell["dda_interval"]))
    assert data["bootstrap"]["differences_to"] == "a.conllu"
    gap = data["bootstrap"]["differences"]["b.conllu"]["all"]
    assert gap["estimate"] == pytest.approx(
        data["systems"]["b.conllu"]["total"]["dda"] - data["systems"]["a.conllu"]["total"]["dda"]
    )
    line = block[parts["difference"] + 1].split()
    assert (line[0], line[-2:]) == (
        "b.conllu",
        [f"{100 * gap['estimate']:+.1f}", f"p={gap['p']:.3f}"],
    )


def test_every_interval_is_the_bootstrap_of_its_sentences(
    vdgi: Vdgi, scored: Path, wording: Wording
) -> None:
    data = json.loads(
        vdgi.good("evaluate", "gold.conllu", "b.conllu", "--json", "--max-len", "4").out
    )
    # Without punctuation; the first sentence has all three heads wrong.
    words = [
        len([tag for tag in pattern.split() if tag != "PUNCT"]) for pattern, _ in tiny.PATTERNS
    ]
    right = [0, *words[1:]]
    expected = compare([right], words)[0][0]
    by_length = data["systems"]["b.conllu"]["by_length"]
    assert by_length["all"]["dda_interval"] == [expected.low, expected.high]
    short = [k for k, n in enumerate(words) if n <= 4]
    expected = compare([[right[k] for k in short]], [words[k] for k in short])[0][0]
    assert by_length["<=4"]["dda_interval"] == [expected.low, expected.high]
    assert data["bootstrap"]["draws"] == 10_000
    assert data["bootstrap"]["differences"] == {}
    wording.check(data["bootstrap"]["note"])


def test_relations_have_intervals_and_p_too(vdgi: Vdgi, scored: Path) -> None:
    """b.conllu has the relations of the gold file but in the second sentence; a.conllu has none."""
    gold = Path("gold.conllu").read_text(encoding="utf-8").replace("dep", "obj")
    Path("gold.conllu").write_text(gold, encoding="utf-8")
    blocks = Path("b.conllu").read_text(encoding="utf-8").replace("dep", "obj").split("\n\n")
    blocks[1] = blocks[1].replace("obj", "det")
    Path("b.conllu").write_text("\n\n".join(blocks), encoding="utf-8")
    shutil.copy("gold.conllu", "c.conllu")
    arguments = ["evaluate", "gold.conllu", "a.conllu", "b.conllu", "c.conllu"]
    data = json.loads(vdgi.good(*arguments, "--json").out)
    words = [
        len([tag for tag in pattern.split() if tag != "PUNCT"]) for pattern, _ in tiny.PATTERNS
    ]
    right = [0, 1, *words[2:]]  # of the second sentence its root
    intervals, (difference,) = compare([right, words], words)
    cells = {name: system["by_length"]["all"] for name, system in data["systems"].items()}
    assert cells["b.conllu"]["las_interval"] == [intervals[0].low, intervals[0].high]
    assert "las_interval" not in cells["a.conllu"]
    assert data["bootstrap"]["las_differences_to"] == "b.conllu"
    assert {name: found["all"] for name, found in data["bootstrap"]["las_differences"].items()} == {
        "c.conllu": difference.to_dict()
    }
    text = vdgi.good(*arguments).out
    block = next(block for block in text.split("\n\n") if block.startswith("LAS")).splitlines()
    gap, p = f"{100 * difference.estimate:+.1f}", f"p={difference.p:.3f}"
    assert difference.p > 0.001
    assert block[-1].split()[-2:] == [gap, p]
    assert [line.split()[0] for line in block[-2:]] == ["difference", "c.conllu"]


def test_the_interval_of_a_mean_over_draws_is_that_of_the_mean(scored: Path) -> None:
    gold = list(reading.read("gold.conllu"))
    parses = [[left_branching(len(s)) for s in gold], [s.heads for s in gold]]
    reports = [evaluate(gold, heads, protocol=EVERY_WORD) for heads in parses]
    average = mean(reports)
    assert average.per_sentence[0] == ((reports[0].per_sentence[0][0] + 4) / 2, 4)
    comparison = tables.comparisons({"mean": average}, draws=100)["dda"]
    assert comparison.intervals[None]["mean"].estimate == pytest.approx(average.total.dda)


UD1_WORD, UD2_WORDS = "\tNOUN\t_\t_\t3\tdobj", ("\tNOUN\t_\t_\t3\tobj", "\tCCONJ\t_\t_\t3\tdep")


def test_published_figures_stand_beside_ours_with_a_warning_for_ud_2(
    vdgi: Vdgi, scored: Path, wording: Wording
) -> None:
    gold = Path("gold.conllu").read_text(encoding="utf-8")
    word = "\tNOUN\t_\t_\t3\tdep"
    for kind in (word, UD1_WORD, *UD2_WORDS):
        Path("any.conllu").write_text(gold.replace(word, kind), encoding="utf-8")
        out = vdgi.good(
            "evaluate", "any.conllu", "b.conllu", "--baselines", "--published", "fr"
        ).out
        table, *notes = out.split("\n\n")[4:]
        rows = [re.split(" {2,}", line.strip()) for line in table.splitlines()]
        assert rows[0] == ["DDA beside Li2019-T6", "UD1.4-French <=15", "UD1.4-French <=40"]
        assert ["UnivRules", "59.9 (61.6)", "55.4 (56.3)"] in rows
        wording.check([row[0] for row in rows[-2:]])
        wording.check(notes[0])
        assert ["any.conllu is of UD 2" in note for note in notes[1:]] == [True] * (
            kind in UD2_WORDS
        )
    assert "Li2019" not in vdgi.good("evaluate", "gold.conllu", "b.conllu").out
    wording.check(vdgi("evaluate", "gold.conllu", "b.conllu", "--published", "xx").err)


def test_releases_of_real_treebanks_are_told_apart(data_dir: Path) -> None:
    for pattern, is_ud2 in (
        ("ud14/*-ud-test.conllu", False),
        ("ud2/UD_[PS]*/*-ud-test.conllu", True),
    ):
        paths = sorted(data_dir.glob(pattern))
        assert len(paths) > 3
        for path in paths:
            assert evaluate(path, path, by=()).is_ud2 == is_ud2, path


def test_every_word_of_every_tree(vdgi: Vdgi, folder: Path, wording: Wording) -> None:
    crossing = tiny.block(1, ["NOUN", "VERB", "PUNCT", "NOUN"], [4, 0, 2, 2])
    Path("gold.conllu").write_text(crossing, encoding="utf-8")
    Path("parse.conllu").write_text(crossing.replace("\t4\tdep", "\t2\tdep"), encoding="utf-8")
    out = vdgi.good("evaluate", "gold.conllu", "parse.conllu", "--protocol", "every_word").out
    wording.check(out.split("\n")[0])
    assert "parse.conllu  75.0" in out
    as_released = vdgi.good(
        "evaluate", "gold.conllu", "parse.conllu", "--protocol", "as_released"
    ).out
    wording.check(as_released.split("\n")[0])


def udeval(gold: Path, parse: Path) -> tuple[int, int]:
    """Words with the right head, and words, by the official scorer; in a process of its own (GPL)."""
    run = "import sys; from udtools.cli import main_eval; sys.exit(main_eval())"
    command = [
        sys.executable,
        "-c",
        run,
        "--counts",
        "--verbose",
        "--no-enhanced",
        str(gold),
        str(parse),
    ]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    line = next(line for line in result.stdout.splitlines() if line.startswith("UAS"))
    right, in_gold, in_parse, aligned = map(int, line.split("|")[1:])
    assert in_gold == in_parse == aligned
    return right, in_gold


@pytest.mark.skipif(
    importlib.util.find_spec("udtools") is None,
    reason="udtools, the official scorer, is not installed",
)
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.slow
def test_the_official_scorer_agrees(
    vdgi: Vdgi, data_dir: Path, tmp_path: Path, language: str
) -> None:
    gold = data_dir / "ud14" / f"{language}-ud-test.conllu"
    sentences = list(reading.read(gold, heads="required"))
    heads = rules_only(sentences, Prior(load_rules(rules_path("ud"))), 0)
    parse = tmp_path / "parse.conllu"
    write(sentences, heads, parse)
    options = ["--protocol", "every_word", "--bootstrap", "0", "--json"]
    total = json.loads(vdgi.good("evaluate", gold, parse, *options).out)["systems"]["parse.conllu"][
        "total"
    ]
    assert total["sentences"] == len(sentences)
    assert (total["directed"], total["words"]) == udeval(gold, parse)
    assert 0.3 < total["dda"] < 0.7
