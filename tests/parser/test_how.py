"""Other trees than the plain one: confidence, exact trees, heads that are kept."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import islice
from pathlib import Path

import brute_force
import numpy as np
import pytest
from shell import Vdgi
from wording import Wording

import dynet_vdgi
from dynet_vdgi.conllu.punctuation import is_projective, without_punctuation
from dynet_vdgi.conllu.reading import read
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.conllu.tree_faults import FREE
from dynet_vdgi.inference import eisner
from dynet_vdgi.models import model_file
from dynet_vdgi.parser.given_heads import KeepError
from dynet_vdgi.parser.parser import How
from dynet_vdgi.settings.bundled import resources

DEMO = resources() / "demo"
TEXT = tuple(islice(read(DEMO / "demo-ud-train.conllu"), 80))
NEW = tuple(islice(read(DEMO / "demo-ud-test.conllu"), 20))


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Model files: without trees, and with a few."""
    folder = tmp_path_factory.mktemp("how")
    parsers = {
        "perceptron": dynet_vdgi.train(TEXT, "best"),
        "tags": dynet_vdgi.train(TEXT, "best", settings={"rules": "best-tags"}),
        "words": dynet_vdgi.train(TEXT, "best", trees=TEXT[:10]),
    }
    for kind, parser in parsers.items():
        parser.save(folder / f"{kind}.vdgi")
    return {kind: str(folder / f"{kind}.vdgi") for kind in parsers}


KINDS = ("perceptron", "tags", "words")


def new_file(path: str = "new.conllu") -> str:
    """The new sentences as they are in the demo."""
    blocks = ["\n".join(s.source.lines) + "\n\n" for s in NEW if s.source]
    Path(path).write_text("".join(blocks), encoding="utf-8")
    return path


@pytest.mark.parametrize("kind", KINDS)
def test_confidence_is_a_probability_of_each_word_but_punctuation(
    models: dict[str, str], kind: str
) -> None:
    parser = dynet_vdgi.load(models[kind])
    parses = parser.parse_all(NEW, How(confidence=True))
    for sentence, plain, parse in zip(NEW, parser.parse_all(NEW), parses):
        assert parse.heads == plain.heads
        assert parse.confidence is not None
        for tag, sure in zip(sentence.tags, parse.confidence):
            assert (sure is None) == (tag == "PUNCT")
            assert sure is None or 0 < sure < 1
    every = [sure for parse in parses for sure in parse.confidence or () if sure]
    assert len(set(every)) > 3


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_confidence_is_written_and_replaced(
    vdgi: Vdgi, folder: Path, models: dict[str, str], jobs: str
) -> None:
    name = new_file()
    text = Path(name).read_text(encoding="utf-8")
    Path(name).write_text(
        re.sub(r"\t_$", "\tHeadConf=0.00|X=y", text, flags=re.MULTILINE), encoding="utf-8"
    )
    vdgi.good("parse", models["words"], name, "--confidence", "-o", "out.conllu", "--jobs", jobs)
    parses = dynet_vdgi.load(models["words"]).parse_all(NEW, How(confidence=True))
    for sentence, parse in zip(read("out.conllu"), parses):
        assert sentence.heads == parse.heads
        assert sentence.source is not None
        columns = [sentence.source.lines[row].split("\t")[9] for row in sentence.source.rows]
        expected = [
            "" if sure is None else f"HeadConf={sure:.4f}" for sure in parse.confidence or ()
        ]
        assert [
            re.sub("X=y|SpaceAfter=No", "", column).strip("_|") for column in columns
        ] == expected


def test_models_without_calibration_say_so(
    vdgi: Vdgi, folder: Path, models: dict[str, str], wording: Wording
) -> None:
    model = model_file.load(models["perceptron"])
    kept = {name: array for name, array in model.parameters.items() if name.startswith("words/")}
    model_file.save("old.vdgi", replace(model, parameters=kept))
    status, _, err = vdgi("parse", "old.vdgi", new_file(), "--confidence")
    assert status == 2
    wording.check(err)


@pytest.mark.parametrize("kind", ["perceptron", "tags"])
def test_without_trees_exact_is_the_table(models: dict[str, str], kind: str) -> None:
    parser = dynet_vdgi.load(models[kind])
    base = parser.model.base
    assert base is not None
    for sentence, parse in zip(NEW, parser.parse_all(NEW, How(exact=True))):
        bare, places = without_punctuation(sentence)
        heads = eisner.expected_best(eisner.marginals(base.potentials(bare)))
        assert [parse.heads[place - 1] for place in places] == [
            places[h - 1] if h else 0 for h in heads
        ]


@pytest.mark.parametrize(
    "how", [How(keep_heads=True), How(True, False, True), How(False, True, True)]
)
@pytest.mark.parametrize("kind", KINDS)
def test_given_heads_stay_and_the_rest_is_projective(
    models: dict[str, str], kind: str, how: How
) -> None:
    parser, rng = dynet_vdgi.load(models[kind]), np.random.default_rng(3)
    projective = [s for s in NEW if is_projective(s.heads or ())]
    partial = [
        replace(s, heads=tuple(h if rng.random() < 0.5 else FREE for h in s.heads or ()))
        for s in projective
    ]
    assert len(partial) > 10
    for sentence, parse in zip(partial, parser.parse_all(partial, how)):
        given = sentence.heads or ()
        assert all(one in (FREE, head) for one, head in zip(given, parse.heads))
        assert is_projective(parse.heads)
        assert brute_force.is_tree(parse.heads)
        if how.confidence:
            kept = [d for d, head in enumerate(given) if head != FREE]
            assert [parse.confidence[d] for d in kept if parse.confidence] == [None] * len(kept)


def test_whole_trees_stay_as_they_are(models: dict[str, str]) -> None:
    parser = dynet_vdgi.load(models["words"])
    crossing = Sentence(("a",) * 4, ("NOUN", "VERB", "DET", "NOUN"), (3, 0, 2, 1))
    but_punctuation = Sentence(("a",) * 5, (*crossing.tags, "PUNCT"), (3, 0, 2, 1, FREE))
    for how in (How(keep_heads=True), How(exact=True, keep_heads=True)):
        one, other = parser.parse_all([crossing, but_punctuation], how)
        assert one.heads == crossing.heads
        assert other.heads[:4] == crossing.heads
        assert other.heads[4] != FREE


def test_sentences_whose_heads_no_tree_contains_are_told_and_stay(
    vdgi: Vdgi, folder: Path, models: dict[str, str], wording: Wording
) -> None:
    lines = ["# sent_id = x"] + [f"{k}\ta\t_\tNOUN\t_\t_\t_\t_\t_\t_" for k in range(1, 5)]
    good = "\n".join(lines) + "\n\n"
    bad = good.replace("1\ta\t_\tNOUN\t_\t_\t_", "1\ta\t_\tNOUN\t_\t_\t3").replace(
        "2\ta\t_\tNOUN\t_\t_\t_", "2\ta\t_\tNOUN\t_\t_\t4"
    )
    Path("good.conllu").write_text(good, encoding="utf-8")
    Path("part.conllu").write_text(bad + good + bad + bad + good, encoding="utf-8")
    vdgi.good("parse", models["words"], "good.conllu", "--keep-heads", "-o", "filled.conllu")
    filled = Path("filled.conllu").read_text(encoding="utf-8")
    for options in ([], ["--jobs", "2"]):
        status, _, err = vdgi(
            "parse", models["words"], "part.conllu", "--keep-heads", "-o", "o.conllu", *options
        )
        assert status == 3
        told = [line for line in err.splitlines() if "part.conllu:" in line]
        assert [line.partition("part.conllu:")[2].split(":")[0] for line in told] == [
            "1",
            "13",
            "19",
        ]
        wording.check(told[1])
        wording.check(err.splitlines()[-1])
        assert Path("o.conllu").read_text(encoding="utf-8") == bad + filled + bad + bad + filled
    parser, sentences = dynet_vdgi.load(models["words"]), list(read("part.conllu", heads="partial"))
    with wording.raises(KeepError):
        parser.parse_all(sentences, How(exact=True, keep_heads=True))


def test_relations_of_given_heads_stay(vdgi: Vdgi, folder: Path, models: dict[str, str]) -> None:
    rows = [("NOUN", "2", "nsubj"), ("VERB", "_", "_"), ("NOUN", "2", "_"), ("PUNCT", "_", "punct")]
    lines = [
        f"{k}\ta\t_\t{tag}\t_\t_\t{head}\t{rel}\t_\t_" for k, (tag, head, rel) in enumerate(rows, 1)
    ]
    Path("part.conllu").write_text("\n".join(lines) + "\n\n", encoding="utf-8")
    for kind in KINDS:
        vdgi.good("parse", models[kind], "part.conllu", "--keep-heads", "-o", "out.conllu")
        (sentence,) = read("out.conllu", heads="required")
        assert sentence.heads == (2, 0, 2, 2)
        assert sentence.deprels[0] == "nsubj"
