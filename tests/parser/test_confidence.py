"""From margins to probabilities."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import shell
import tiny

from dynet_vdgi.errors import ModelError
from dynet_vdgi.models import model_file
from dynet_vdgi.parser.confidence import (
    WRONG_TAGS,
    Calibration,
    arc_probabilities,
    log_odds,
    logistic,
    shift_probabilities,
)
from dynet_vdgi.settings.bundled import resources

TAGS = [("DET", "NOUN", "VERB"), ("NOUN", "VERB", "ADV", "NOUN"), ("VERB",), ()]
TREES = [(2, 3, 0), (2, 0, 2, 2), (0,), ()]


def example(seed: int = 0, copies: int = 30):
    """Tags, parses and a teacher's marginals of sentences; the larger a margin, the surer the
    teacher."""
    rng, parses, marginals = np.random.default_rng(seed), [], []
    tags, trees = TAGS * copies, TREES * copies
    for tree in trees:
        margins = rng.random(len(tree))
        matrix = np.full((len(tree) + 1, len(tree)), 0.01)
        matrix[list(tree), range(len(tree))] = np.clip(0.2 + 0.7 * margins, 0, 1)
        margins[margins > 0.97] = np.inf
        parses.append((tree, margins))
        marginals.append(matrix)
    return tags, parses, marginals


def fitted(**options):
    tags, parses, marginals = example(**options)
    return Calibration.fit(tags, parses, marginals, -0.4)


def arcs_of(calibration, **options):
    tags, parses, _ = example(**options)
    return calibration.arcs(tags, [tree for tree, _ in parses], [margins for _, margins in parses])


def test_without_a_shift_as_much_is_said_as_the_teacher_says():
    tags, parses, marginals = example()
    calibration = Calibration.fit(tags, parses, marginals)
    said = 1 / (1 + np.exp(-calibration.odds(arcs_of(calibration))))
    taught = arc_probabilities(marginals, [tree for tree, _ in parses])
    assert said.mean() == pytest.approx(taught.mean(), abs=0.005)


def test_the_shift_moves_log_odds():
    tags, parses, marginals = example()
    plain, moved = (Calibration.fit(tags, parses, marginals, shift) for shift in (0.0, -0.7))
    assert moved.odds(arcs_of(moved)) == pytest.approx(plain.odds(arcs_of(plain)) - 0.7, abs=1e-5)
    p = np.array([0.2, 0.5, 0.8])
    assert log_odds(shift_probabilities(p, -0.7)) - log_odds(p) == pytest.approx(-0.7)
    assert (
        0
        < shift_probabilities(np.array([0.0]), 0)[0]
        < shift_probabilities(np.array([1.0]), 0)[0]
        < 1
    )


def test_a_larger_margin_is_surer_and_values_are_many():
    calibration = fitted()
    margins = np.linspace(0.01, 0.85, 40)
    said = [
        calibration(calibration.arcs([TAGS[0]], [TREES[0]], [np.array([m, 1, 1])]))[0]
        for m in margins
    ]
    assert (np.diff(said) > 0).all()
    # 30 sentences of a word are certain; of the other 210 values few are equal
    assert len(set(calibration(arcs_of(calibration)).tolist())) > 180


def test_long_arcs_are_less_sure_and_unknown_tags_have_a_value():
    calibration = fitted()
    row = ("DET", *["ADV"] * 4, "NOUN")
    far, near = ((6, 6, 6, 6, 6, 0), (2, 6, 6, 6, 6, 0))
    odds = [
        calibration.odds(calibration.arcs([row], [tree], [np.full(6, 0.5)])) for tree in (far, near)
    ]
    assert (np.diff(odds[0][1:5]) > 0).all()
    unknown = calibration.arcs([("X", "?")], [(2, 0)], [np.array([0.5, np.inf])])
    assert ((calibration(unknown) > 0) & (calibration(unknown) < 1)).all()


def test_the_only_word_is_certainly_the_root():
    calibration = fitted()
    assert calibration(calibration.arcs([("ADV",)], [(0,)], [np.array([np.inf])])).tolist() == [
        0.9999
    ]


def test_sentences_do_not_depend_on_each_other():
    calibration = fitted()
    tags, parses, _ = example(seed=3, copies=2)
    whole = calibration(arcs_of(calibration, seed=3, copies=2))
    single = [calibration(calibration.arcs([t], [tree], [m])) for t, (tree, m) in zip(tags, parses)]
    assert np.concatenate(single).tolist() == whole.tolist()


def test_the_scale_is_found():
    scores = np.random.default_rng(1).normal(size=5000)
    assert logistic(scores, 1 / (1 + np.exp(-(0.3 + 2 * scores)))) == pytest.approx(
        (0.3, 2), abs=0.01
    )
    assert logistic(scores, 1 / (1 + np.exp(scores)))[1] == 0  # never less sure with a higher score


@pytest.mark.parametrize("mean", [0.2, 0.5, 0.93])
def test_a_shift_gives_probabilities_any_mean(mean):
    calibration, rng = fitted(), np.random.default_rng(2)
    heads = [(2, 0, 2)] * 50
    arcs = calibration.arcs([TAGS[0]] * 50, heads, list(rng.uniform(0, 3, (50, 3))))
    shifted_by = calibration.shift_to(mean, arcs)
    after = calibration.with_shift(shifted_by)
    assert after(arcs).mean() == pytest.approx(mean, abs=1e-4)
    assert after.shift == calibration.shift + shifted_by
    assert np.allclose(after.odds(arcs), calibration.odds(arcs) + shifted_by)


def test_wrong_tags_bring_log_odds_nearer_to_zero_and_lower_them():
    calibration, rng = fitted(), np.random.default_rng(2)
    arcs = calibration.arcs([TAGS[0]] * 50, [(2, 0, 2)] * 50, list(rng.uniform(0, 3, (50, 3))))
    calibration = replace(calibration, forced_odds=0.7)
    arcs = arcs._replace(margins=np.where(np.arange(150) % 9 == 0, np.inf, arcs.margins))
    assert calibration.with_wrong_tags(0.0) is calibration
    odds, wrong = calibration.odds(arcs), calibration.with_wrong_tags(0.25)
    np.testing.assert_allclose(
        wrong.odds(arcs), odds / (1 + 0.25 * WRONG_TAGS) - 0.25 * WRONG_TAGS, atol=1e-12
    )
    assert wrong.shift == calibration.shift - 0.25 * WRONG_TAGS


def test_arrays_bring_the_calibration_back():
    calibration = fitted()
    again, arrays = Calibration.from_arrays(calibration.arrays()), calibration.arrays()
    assert again.tags == calibration.tags
    assert (again(arcs_of(again)) == calibration(arcs_of(calibration))).all()
    with pytest.raises(ModelError, match="missing confidence/knots"):
        Calibration.from_arrays({})
    for name in ("margins", "pairs", "lengths", "tags"):
        with pytest.raises(ModelError, match="no calibration"):
            Calibration.from_arrays({**arrays, f"confidence/{name}": np.full(1, 200, np.uint8)})
    with pytest.raises(ModelError, match="not all numbers are finite"):
        Calibration.from_arrays({**arrays, "confidence/shift": np.array([np.nan])})


def has_avx512() -> bool:
    cpu = Path("/proc/cpuinfo")
    return cpu.exists() and "avx512f" in cpu.read_text()


def beginning(name: str, n_sentences: int, target: Path) -> Path:
    """A file of the first sentences of a demo file."""
    blocks = (resources() / "demo" / name).read_text(encoding="utf-8").split("\n\n")[:n_sentences]
    target.write_text("\n\n".join(blocks) + "\n\n", encoding="utf-8")
    return target


@pytest.mark.slow
@pytest.mark.skipif(not has_avx512(), reason="without AVX-512 there is nothing to compare")
@pytest.mark.parametrize("n_trees", [0, 20])
def test_what_is_learnt_is_the_same_to_the_last_bit_without_avx512(tmp_path, n_trees):
    text = beginning("demo-ud-train.conllu", 80, tmp_path / "text.conllu")
    gold = beginning("demo-ud-dev.conllu", n_trees, tmp_path / "gold.conllu")
    trees, found = ("--trees", gold) if n_trees else (), []
    for name, disabled in (("with", ""), ("without", "AVX512F AVX512CD AVX512_SKX X86_V4")):
        options = ["--preset", "best", "--train", text, *trees, "--out", tmp_path / name]
        train = shell.process("-q", "train", *options, env={"NPY_DISABLE_CPU_FEATURES": disabled})
        _, errors = train.communicate()
        assert train.returncode == 0, errors.decode()
        found.append(model_file.load(tmp_path / name / "model.vdgi").parameters)
    assert "confidence/margins" in found[0]
    assert tiny.same_arrays(*found)
