"""The verbs of the `vdgi` command: what they write, say and refuse."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tiny
from shell import Vdgi, names_in, training_arguments
from wording import Wording

from dynet_vdgi.conllu.reading import read
from dynet_vdgi.models import model_file
from dynet_vdgi.settings.presets import from_toml

# train


def test_train_writes_model_log_and_settings(vdgi: Vdgi, folder: Path, wording: Wording) -> None:
    result = vdgi.good(*training_arguments("deep/er/run", "--set", "train.average=0.5"))
    assert result.out == ""
    assert names_in(folder / "deep" / "er" / "run") == ["log.jsonl", "model.vdgi", "settings.toml"]
    lines = result.err.splitlines()
    wording.check(lines[0])
    wording.check(lines[1])
    wording.lines("\n".join(lines), "warning:", "gold trees")

    assert lines[-1] == f"model: {Path('deep/er/run/model.vdgi')}"
    text = Path("deep/er/run/settings.toml").read_text(encoding="utf-8")
    settings = from_toml(text, "settings.toml")
    assert settings == tiny.settings({"train": {"average": 0.5}})
    options = ["--preset", "deep/er/run/settings.toml", "--out", "again"]
    assert vdgi.good("train", "--train", "train.conllu", *options).out == ""
    models = [
        model_file.load(f"{out}/model.vdgi", training=True) for out in ("deep/er/run", "again")
    ]
    assert [array.tobytes() for array in models[0].training.values()] == [
        array.tobytes() for array in models[1].training.values()
    ]


# parse

RICH = """\
# newdoc id = x
# text = Vámonos. Ya!  # not a comment's end
1-2\tVámonos\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
1\tVamos\tir\tVERB\tVM\tMood=Imp|Number=Plur\t0\tfixed\t0:root\t_
2\tnos\tnosotros\tNOUN\t_\t_\t1\tobj:x\t1:obj|3:y\tA=b|C=d e
2.1\tnos\t_\t_\t_\t_\t_\t_\t1:obj\t_
3\t.\t.\tPUNCT\t_\t_\t1\tpunct\t_\tSpacesAfter=\\s

# sent_id = 2
1\tYa\tya\tADV\t_\t_\t_\t_\t_\t_
2\tde prisa\t_\tADV\t_\t_\t_\t_\t_\t_
3\t!\t!\tPUNCT\t_\t_\t_\t_\t_\t_

1\t#\t#\tX\t_\t_\t_\t_\t_\t_

"""


def without_arcs(text: str) -> list[list[str]]:
    """All cells but HEAD and DEPREL of words."""
    rows = [line.split("\t") for line in text.split("\n")]
    return [row[:6] + row[8:] if len(row) == 10 and row[0].isdigit() else row for row in rows]


def test_parse_keeps_everything_else(vdgi: Vdgi, model: Path, folder: Path) -> None:
    Path("rich.conllu").write_text(RICH, encoding="utf-8")
    out = vdgi.good("parse", model, "rich.conllu").out
    assert out != RICH
    assert without_arcs(out) == without_arcs(RICH)
    Path("out.conllu").write_text(out, encoding="utf-8")
    for sentence in read("out.conllu", heads="required"):
        for head, tag, relation in zip(sentence.heads or (), sentence.tags, sentence.deprels):
            assert (relation == "root") == (head == 0)
            assert relation == "punct" or tag != "PUNCT"
    assert vdgi.good("parse", model, "out.conllu").out == out
    unlabelled = vdgi.good("parse", model, "rich.conllu", "--labels", "none").out
    assert without_arcs(unlabelled) == without_arcs(RICH)
    Path("out.conllu").write_text(unlabelled, encoding="utf-8")
    for sentence in read("out.conllu", heads="required"):
        assert list(sentence.deprels) == [
            "dep" if head else "root" for head in sentence.heads or ()
        ]


def test_several_processes_give_the_same(
    vdgi: Vdgi, model: Path, folder: Path, wording: Wording
) -> None:
    (folder / "a.conllu").write_text(tiny.treebank(12) + RICH, encoding="utf-8")
    one = vdgi.good("-q", "parse", model, "a.conllu")
    two = vdgi.good("-q", "parse", model, "a.conllu", "--jobs", "2")
    assert two == one
    wording.check(two.err)


def test_punctuation_hangs_inside_one_tree(vdgi: Vdgi, model: Path, folder: Path) -> None:
    tags = ["PUNCT", "DET", "NOUN", "PUNCT", "VERB", "PUNCT", "PUNCT"]
    Path("a.conllu").write_text(
        tiny.block(1, tags, None) + tiny.block(2, ["PUNCT"] * 3, None), encoding="utf-8"
    )
    vdgi.good("parse", model, "a.conllu", "-o", "b.conllu")
    first, second = read("b.conllu", heads="required")  # refuses what is no tree with one root
    assert first.heads is not None
    assert not any(head and tags[head - 1] == "PUNCT" for head in first.heads)
    assert second.heads == (0, 1, 1)


# evaluate


@pytest.fixture
def scored(folder: Path) -> Path:
    """gold.conllu, and a parse of it with a known number of faults."""
    gold = tiny.treebank(6)
    (folder / "gold.conllu").write_text(gold, encoding="utf-8")
    (folder / "same.conllu").write_text(gold, encoding="utf-8")
    # DET NOUN VERB becomes a chain to the right: one root and both other arcs wrong, the latter
    # only turned.
    wrong = tiny.block(0, ["DET", "NOUN", "VERB", "PUNCT"], [0, 1, 2, 3])
    first = tiny.treebank(1)
    (folder / "wrong.conllu").write_text(gold.replace(first, wrong), encoding="utf-8")
    return folder


def test_rules_of_other_tags_are_told(vdgi: Vdgi, scored: Path, wording: Wording) -> None:
    done = vdgi.good("evaluate", "gold.conllu", "--baselines", "--rules", "wsj")
    wording.check(done.err)
    assert "100.0 %" in done.err
    assert "no rule mentions" not in vdgi.good("evaluate", "gold.conllu", "--baselines").err
    status, _, err = vdgi("evaluate", "gold.conllu", "wrong.conllu", "--rules", "wsj")
    assert status == 2
    wording.check(err)


def test_json_has_the_figures_of_the_text(vdgi: Vdgi, scored: Path, wording: Wording) -> None:
    by = "tag,rule,pair,distance,length"
    options = ["gold.conllu", "wrong.conllu", "--baselines", "--by", by, "--max-len", "4"]
    text = vdgi.good("evaluate", *options).out
    data = json.loads(vdgi.good("evaluate", *options, "--json").out)
    assert data["gold"] == "gold.conllu"
    assert data["rules"] == "best.txt"
    assert data["policy"] == text.splitlines()[0]
    wording.check("|".join(data["systems"]))
    blocks = {block.split()[0]: block.splitlines() for block in text.split("\n\n")[1:]}
    assert set(blocks) == {"DDA", "UDA", "root", "tag", "rule", "pair", "distance", "length"}

    def percent(value: float | None) -> str:
        return "-" if value is None else f"{100 * value:.1f}"

    for name, report in data["systems"].items():
        for title, measure in (("DDA", "dda"), ("UDA", "uda"), ("root", "root_accuracy")):
            row = next(line for line in blocks[title] if line.startswith(name))
            cells = [percent(scores[measure]) for scores in report["by_length"].values()]
            assert row.split()[-len(cells) :] == cells
        for what, table in report["by"].items():
            column = 2 + list(data["systems"]).index(name)
            for line, (key, cell) in zip(blocks[what][1:], table.items()):
                assert line.split()[0] == key
                assert line.split()[1] == str(cell["words"])
                assert line.split()[column] == percent(cell["dda"])


# info


def test_info_as_json(vdgi: Vdgi, model: Path) -> None:
    data = json.loads(vdgi.good("info", model, "--json").out)
    loaded = model_file.load(model)
    assert data["settings"] == loaded.settings.to_dict()
    assert data["vocabulary"]["tags"] == ["ADJ", "ADV", "AUX", "DET", "NOUN", "NUM", "VERB"]
    assert data["rules"][0] == "ROOT>VERB"
    assert data["weights"] == sum(array.size for array in loaded.parameters.values())
    assert {key: data[key] for key in loaded.meta} == loaded.meta
    assert len(data["data"][0]["sha256"]) == 64


def test_check_names_sentences_with_the_sent_id_of_an_earlier_one(vdgi: Vdgi, folder: Path) -> None:
    """They are sound for this program, so the status stays 0."""
    sentence = "# sent_id = {}\n1\tkites\t_\tNOUN\t_\t_\t0\troot\t_\t_\n\n"
    note = "1 sentence has the sent_id of an earlier one: a in line 7 (UD forbids that; vdgi release renames them)"
    for names, said in (
        ("abc", ""),
        ("aba", note),
        ("abaaa", "3 sentences have the sent_id of an earlier one, such as a in line 7 (UD"),
    ):
        Path("kites.conllu").write_text("".join(map(sentence.format, names)), encoding="utf-8")
        out = vdgi.good("check", "kites.conllu").out
        assert said in out
        assert ("sent_id" in out) == bool(said)
        assert "kites.conllu: sound" in out
