"""Teachers of texts: their trees, what the log says of them; `vdgi train` with a teacher or gold
trees."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import tiny
from shell import Vdgi
from wording import Wording

from dynet_vdgi.conllu import reading
from dynet_vdgi.conllu.filtering import prepare
from dynet_vdgi.conllu.protocols import STANDARD
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.conllu.vocabulary import build_vocabulary
from dynet_vdgi.evaluation.attachment import score
from dynet_vdgi.models import model_file
from dynet_vdgi.models.run_log import RunLog
from dynet_vdgi.rivals.lc_dmv import LcDmvSettings
from dynet_vdgi.rule_tables.prior import Prior
from dynet_vdgi.rule_tables.rules import load_rules
from dynet_vdgi.settings.bundled import resources, rules_path
from dynet_vdgi.settings.settings import DmvSettings, TeacherSettings
from dynet_vdgi.training.material import Material
from dynet_vdgi.training.taught import teach, teacher_of_kind
from dynet_vdgi.unsupervised.dmv import Dmv

DEMO = Path(resources()) / "demo"
TRAIN, TEST = str(DEMO / "demo-ud-train.conllu"), str(DEMO / "demo-ud-test.conllu")
BEST = load_rules(rules_path("best"))


def dda_of(vdgi: Vdgi, model: Path, folder: Path) -> float:
    """Of the demo's test sentences under the protocol `standard`, through `vdgi parse`."""
    parsed = folder / "parsed.conllu"
    vdgi.good("-q", "parse", model, TEST, "-o", parsed)
    gold, mine = (prepare(reading.read(name), STANDARD).sentences for name in (TEST, str(parsed)))
    return score(gold, [sentence.heads or () for sentence in mine]).dda


def without_heads(folder: Path) -> str:
    """The demo's training text with `_` for every head."""
    lines = Path(TRAIN).read_text(encoding="utf-8").split("\n")
    columns = [line.split("\t") for line in lines]
    bare = ["\t".join([*c[:6], "_", "_", *c[8:]]) if len(c) == 10 else c[0] for c in columns]
    (folder / "bare.conllu").write_text("\n".join(bare), encoding="utf-8")
    return str(folder / "bare.conllu")


def material(**texts: list[Sentence]) -> Material:
    """The texts of languages, under the rule table `best`."""
    every = [sentence for text in texts.values() for sentence in text]
    return Material(texts, build_vocabulary(every, lexicalised=False), BEST)


def demo(first: int, last: int, *, is_mirrored: bool = False) -> list[Sentence]:
    """Some of the demo's training sentences without trees and punctuation; or those of its mirror
    image."""
    text = prepare(reading.read(TRAIN), STANDARD, 12, 2).sentences[first:last]
    step = -1 if is_mirrored else 1
    return [Sentence(sentence.forms[::step], sentence.tags[::step]) for sentence in text]


FINAL_CONJUNCTIONS = [Sentence(("dogs", "and"), ("NOUN", "CONJ"))] * 20
"""No language ends sentences with these; its mirror image does."""


@pytest.mark.parametrize(
    "settings",
    [
        DmvSettings(iterations=3, valence_iterations=2),
        LcDmvSettings(iterations=2),
    ],
)
def test_each_text_is_taught_under_its_own_statistics_and_the_log_tells_it(
    settings: TeacherSettings,
) -> None:
    texts = {
        "xa": demo(0, 160),
        "empty": [],
        "xb": [*demo(160, 220, is_mirrored=True), *FINAL_CONJUNCTIONS],
    }
    log = RunLog()
    found = teach(material(**texts), settings, seed=1, with_marginals=True, log=log)
    trees, marginals, rows = [], [], []
    for language in ("xa", "xb"):
        text = texts[language]
        prior = Prior.of_text(BEST, text)
        teacher = teacher_of_kind(settings, 1).fit(text, prior)
        trees.append(teacher.predict(text))
        marginals += teacher.marginals(text)
        assert BEST.table is not None
        sides = {
            tag: round(prior.statistics.asymmetry(tag), 3) for tag in BEST.table.edge_statistics
        }
        assert sides
        words = sum(map(len, text))
        rows.append(
            {
                "phase": "text",
                "language": language,
                "sentences": len(text),
                "words": words,
                "is_verb_final": False,
                "is_mirrored": language == "xb",
                "sides": sides,
                "measures": {name: round(value, 3) for name, value in prior.text.measures.items()},
            }
        )
        rows += [
            {"phase": "teacher", "language": language, "iteration": number, **row}
            for number, row in enumerate(teacher.log_rows(), 1)
        ]
        rows.append({"phase": "taught", "language": language, "words": words})
    assert found.trees == [*trees[0], *trees[1], *trees[1]]  # 160 and 80 sentences
    assert all((mine == expected).all() for mine, expected in zip(found.marginals, marginals))
    assert len(found.marginals) == len(marginals) == 240
    told = log.rows()
    seconds = [row.pop("cpu_s") for row in told if row["phase"] == "taught"]
    assert min(seconds) >= 0
    assert told == rows
    phases = [(row["language"], row["phase"]) for row in told]
    n_iterations = (len(rows) - 4) // 2
    for language, part in (("xa", phases[: len(phases) // 2]), ("xb", phases[len(phases) // 2 :])):
        expected = ["text", *["teacher"] * n_iterations, "taught"]
        assert part == [(language, phase) for phase in expected]


def test_taught_sentences_forget_their_own_trees() -> None:
    text = prepare(reading.read(TEST), STANDARD, 10, 2).sentences[:40]
    rules = load_rules(rules_path("strict"))
    bare = [Sentence(s.forms, s.tags) for s in text]
    first, again = (
        Dmv().fit(some, Prior.of_text(rules, some)).predict(some) for some in (text, bare)
    )
    assert [s.heads for s in first] == [s.heads for s in again]
    assert all(s.source is None for s in first)
    assert [s.heads for s in first] != [s.heads for s in text]


def test_the_best_preset_beats_the_rules_alone_and_uses_no_tree(tmp_path: Path, vdgi: Vdgi) -> None:
    vdgi.good("-q", "train", "--train", TRAIN, "--preset", "best", "--out", tmp_path / "a")
    model = model_file.load(tmp_path / "a" / "model.vdgi")
    told = model.provenance
    assert (told.recipe, told.complete, told.gold_trees) == ("taught", True, ())
    assert model.rules.text == BEST.text
    out = vdgi.good("-q", "evaluate", TEST, "--baselines", "--bootstrap", "0").out
    rules_only = re.search(r"^rules only.* ([\d.]+)$", out, flags=re.MULTILINE)
    assert rules_only is not None
    assert 100 * dda_of(vdgi, tmp_path / "a" / "model.vdgi", tmp_path) > float(rules_only[1])

    vdgi.good(
        "-q",
        "train",
        "--preset",
        "best",
        "--train",
        without_heads(tmp_path),
        "--out",
        tmp_path / "b",
    )
    other = model_file.load(tmp_path / "b" / "model.vdgi")
    assert tiny.same_arrays(model.parameters, other.parameters)


def test_the_perceptron_learns_gold_trees(tmp_path: Path, vdgi: Vdgi, wording: Wording) -> None:
    out = tmp_path / "run"
    vdgi.good("-q", "train", "--preset", "best", "--trees", TRAIN, "--dev", TEST, "--out", out)
    told = model_file.load(out / "model.vdgi").provenance
    assert told.gold_trees[0].startswith("training: ")
    wording.check(told.gold_trees[1:])
    assert told.dev_dda is not None
    assert told.dev_dda > 0.8
    assert dda_of(vdgi, out / "model.vdgi", tmp_path) > 0.75
    (row,) = RunLog(out / "log.jsonl").rows()
    assert (row["phase"], row["agreement"]) == ("student", None)
    assert row["dev_dda"] == pytest.approx(told.dev_dda, abs=1e-4)
