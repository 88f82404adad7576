"""The verbs of the `vdgi` command: what they write, say and refuse."""

from __future__ import annotations

import gzip
import io
import json
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import tiny
from shell import Vdgi, last_line, names_in, stop_at, training_arguments

from dynet_vdgi.baselines import trees
from dynet_vdgi.commands import demo
from dynet_vdgi.data.conllu import read
from dynet_vdgi.runs import model_file
from dynet_vdgi.settings import config
from dynet_vdgi.settings.bundled import resources
from dynet_vdgi.settings.presets import from_toml, load_settings

# train


def test_train_writes_model_log_and_settings(vdgi: Vdgi, folder: Path) -> None:
    result = vdgi.good(*training_arguments("deep/er/run", "--set", "train.average=0.5"))
    assert result.out == ""
    assert names_in(folder / "deep" / "er" / "run") == ["log.jsonl", "model.vdgi", "settings.toml"]
    lines = result.err.splitlines()
    assert lines[0] == "training: 12 sentences, 56 words (protocol standard)"
    assert lines[1] == "  dropped punctuation: 8 words"
    assert "warning: rule NOUN>CONJ cannot apply: the training text lacks one of its tags" in lines
    assert "gold trees used: none" in lines
    assert lines[-1] == f"model: {Path('deep/er/run/model.vdgi')}"
    text = Path("deep/er/run/settings.toml").read_text(encoding="utf-8")
    settings = from_toml(text, "settings.toml")
    assert settings == tiny.settings({"train": {"average": 0.5}})
    again = vdgi.good(
        *(
            "train",
            "--train",
            "train.conllu",
            "--preset",
            "deep/er/run/settings.toml",
            "--out",
            "again",
            "-q",
        )[:-1]
    )
    assert again.out == ""
    models = [model_file.load(f"{out}/model.vdgi", training=True) for out in ("deep/er/run", "again")]
    assert [array.tobytes() for array in models[0].training.values()] == [
        array.tobytes() for array in models[1].training.values()
    ]


def test_quiet_training_only_warns(vdgi: Vdgi, folder: Path) -> None:
    result = vdgi.good("-q", *training_arguments())
    assert result.out == ""
    first, *rest = result.err.splitlines()
    assert first.startswith("warning: only 12 sentences to learn from: ")
    assert all(line.startswith("warning: rule ") for line in rest)


def test_a_dry_run_writes_nothing(vdgi: Vdgi, folder: Path) -> None:
    result = vdgi.good(*training_arguments("run", "--dry-run"))
    assert last_line(result.err) == "dry run: nothing trained, nothing written"
    assert names_in(folder) == ["train.conllu"]


def test_train_refuses_to_overwrite(vdgi: Vdgi, folder: Path) -> None:
    vdgi.good(*training_arguments())
    before = Path("run/model.vdgi").read_bytes()
    status, out, err = vdgi(*training_arguments("run", "--seed", "2"))
    assert (status, out) == (2, "")
    assert err == (
        f"{Path('run/model.vdgi')}: exists already; go on with --resume, or choose another --out\n"
    )
    status, out, err = vdgi(*training_arguments("run", "--seed", "2", "--resume"))
    assert (status, out) == (4, "")
    assert "its settings (seed was 1, now 2) differ from those asked for now" in err
    assert Path("run/model.vdgi").read_bytes() == before


def test_files_patterns_and_gz(vdgi: Vdgi, folder: Path) -> None:
    tiny.write(folder / "xx-train-a.conllu", 5)
    with gzip.open("xx-train-b.conllu.gz", "wt", encoding="utf-8") as handle:
        handle.write(tiny.treebank(7, heads=False))
    result = vdgi.good("train", "--train", "xx-train*", "--out", "run", *tiny.SMALL_OPTIONS, "--seed", "7")
    assert result.err.startswith("training: 12 sentences, ")
    meta = model_file.load("run/model.vdgi").meta
    assert [item["name"] for item in meta["data"]] == ["xx-train-a.conllu", "xx-train-b.conllu.gz"]
    assert meta["seed"] == 7


def test_gold_trees_are_used_only_where_it_is_said(vdgi: Vdgi, folder: Path) -> None:
    tiny.write(folder / "dev.conllu", 6)
    crossing = tiny.block(1, ["NOUN", "VERB", "DET", "NOUN"], [3, 0, 2, 1])
    Path("train.conllu").write_text(tiny.treebank(12) + crossing, encoding="utf-8")
    options = ["train", "--train", "train.conllu", "--dev", "dev.conllu", *tiny.SMALL_OPTIONS]
    progress = vdgi.good(*options, "--out", "a")
    assert "gold trees used: dev: progress figures only\n" in progress.err
    released = ["--set", "data.protocol=as_released", "--set", "train.select=dev"]
    chosen = vdgi.good(*options, *released, "--out", "b")
    used = ["training: sentences with crossing arcs left out", "dev: choice of the model"]
    assert f"gold trees used: {'; '.join(used)}\n" in chosen.err
    assert "  dropped not projective: 1 sentence, 4 words\n" in chosen.err
    assert model_file.load("b/model.vdgi").meta["gold_trees"] == used


def test_own_rules_with_an_odd_name(vdgi: Vdgi, folder: Path) -> None:
    name = 'my "rules" \\ \U0001f600.txt'
    Path(name).write_text("# mine\nROOT VERB 1\n", encoding="utf-8")
    vdgi.good(*training_arguments("run", "--rules", name))
    loaded = model_file.load("run/model.vdgi")
    assert loaded.rules.text == "# mine\nROOT VERB 1\n"
    assert loaded.settings.rules == name


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
        assert list(sentence.deprels) == ["dep" if head else "root" for head in sentence.heads or ()]


def test_parse_labels_by_a_table_of_the_user(vdgi: Vdgi, model: Path, folder: Path) -> None:
    tiny.write(folder / "a.conllu")
    Path("mine.txt").write_text("root ROOT *\norphan * *\n", encoding="utf-8")
    one = vdgi.good("-q", "parse", model, "a.conllu", "--labels", "mine.txt", "-o", "b.conllu")
    assert not one.err
    found = {relation for sentence in read("b.conllu") for relation in sentence.deprels}
    assert found == {"root", "orphan", "punct"}
    parsed = Path("b.conllu").read_text(encoding="utf-8")
    assert vdgi.good("-q", "parse", model, "a.conllu", "--labels", "mine.txt", "--jobs", "2").out == parsed
    Path("mine.txt").write_text("root ROOT *\norphn * *\n", encoding="utf-8")
    result = vdgi.good("parse", model, "a.conllu", "--labels", "mine.txt")
    assert "\torphn\t" in result.out
    warning = "1 label not of UD 2, to be written as in the table: orphn; did you mean 'orphan'?"
    assert f"warning: mine.txt: {warning}\n" in result.err
    Path("mine.txt").write_text("root ROOT *\norphan * * nexd\n", encoding="utf-8")
    status, out, err = vdgi("parse", model, "a.conllu", "--labels", "mine.txt")
    assert (status, out) == (4, "")
    assert err.startswith("mine.txt:2: no condition 'nexd'; did you mean 'next'?")


def test_parse_without_universal_tags_writes_root_and_dep(vdgi: Vdgi, model: Path, folder: Path) -> None:
    """A model of XPOS tags: labels are by UPOS, where there are any."""
    words = [f"{k}\tw\t_\t{upos}\t{xpos}\t_\t_\t_\t_\t_" for k, upos, xpos in XPOS_WORDS]
    both, bare = "\n".join(words) + "\n\n", "\n".join(words).replace("NOUN", "_") + "\n\n"
    Path("a.conllu").write_text(both + bare + bare, encoding="utf-8")
    Path("train.conllu").write_text(both * 4, encoding="utf-8")
    small = [
        "--preset",
        "best",
        "--rules",
        "best-tags",
        "--set",
        "data.tags=xpos",
        "--set",
        "parser.log2_buckets=8",
    ]
    vdgi.good("-q", "train", "--train", "train.conllu", "--out", "x", *small, "--rules", "wsj")
    result = vdgi.good("-q", "parse", "x", "a.conllu", "-o", "b.conllu")
    told = [line for line in result.err.split("\n") if "universal tags" in line]
    assert told == [
        "warning: 2 sentences without universal tags (column 4): their relations are root and dep only"
    ]
    first, *others = [sentence.deprels for sentence in read("b.conllu", tags="xpos")]
    assert first[0] == "det"
    assert {relation for relations in others for relation in relations} == {"root", "dep"}


XPOS_WORDS = ((1, "DET", "DT"), (2, "NOUN", "NN"), (3, "VERB", "VBD"))


def test_parse_does_not_use_heads(vdgi: Vdgi, model: Path, folder: Path) -> None:
    tiny.write(folder / "gold.conllu")
    tiny.write(folder / "none.conllu", heads=False)
    outputs = {vdgi.good("parse", model, f"{name}.conllu").out for name in ("gold", "none")}
    assert len(outputs) == 1


def test_parse_from_and_to_everywhere(
    vdgi: Vdgi, model: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny.write(folder / "a.conllu", 4)
    expected = vdgi.good("parse", model, "a.conllu").out
    Path("a.conllu.gz").write_bytes(gzip.compress(tiny.treebank(4).encode(), mtime=0))
    assert vdgi.good("parse", model, "a.conllu.gz").out == expected
    for arguments in (["-"], []):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(tiny.treebank(4).encode())))
        assert vdgi.good("parse", model, *arguments, "-o", "-").out == expected
    assert vdgi.good("parse", model, "a.conllu", "-o", "b.conllu.gz").out == ""
    assert gzip.decompress(Path("b.conllu.gz").read_bytes()).decode() == expected
    two = vdgi.good("parse", model, "a.conllu", "a.conllu.gz", "-o", "both.conllu")
    assert two.err.startswith("8 sentences, ")
    assert Path("both.conllu").read_text(encoding="utf-8") == expected * 2


def test_one_output_a_file(vdgi: Vdgi, model: Path, folder: Path) -> None:
    tiny.write(folder / "a.conllu", 4)
    Path("sub").mkdir()
    Path("sub/b.conllu.gz").write_bytes(gzip.compress(tiny.treebank(3).encode(), mtime=0))
    assert vdgi.good("parse", model, "a.conllu", "sub/b.conllu.gz", "-o", "{}.parsed.conllu").out == ""
    assert len(list(read("a.parsed.conllu"))) == 4
    assert len(list(read("sub/b.parsed.conllu"))) == 3


def test_two_inputs_must_not_have_one_output(vdgi: Vdgi, model: Path, folder: Path) -> None:
    tiny.write(folder / "a.conllu", 4)
    Path("a.conllu.gz").write_bytes(gzip.compress(tiny.treebank(3).encode(), mtime=0))
    status, out, err = vdgi("parse", model, "a.conllu", "a.conllu.gz", "-o", "{}.parsed.conllu")
    assert (status, out) == (2, "")
    assert err == "--output {}.parsed.conllu: 2 inputs would be written to a.parsed.conllu\n"
    assert names_in(folder) == ["a.conllu", "a.conllu.gz"]


def test_parsing_a_file_in_place(vdgi: Vdgi, model: Path, folder: Path) -> None:
    tiny.write(folder / "a.conllu")
    expected = vdgi.good("parse", model, "a.conllu").out
    vdgi.good("parse", model, "a.conllu", "-o", "a.conllu", "--in-place")
    assert Path("a.conllu").read_text(encoding="utf-8") == expected


def test_several_processes_give_the_same(vdgi: Vdgi, model: Path, folder: Path) -> None:
    (folder / "a.conllu").write_text(tiny.treebank(12) + RICH, encoding="utf-8")
    one = vdgi.good("-q", "parse", model, "a.conllu")
    two = vdgi.good("-q", "parse", model, "a.conllu", "--jobs", "2")
    assert two == one
    assert "tag X (1 word) is unknown" in two.err


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


def test_unknown_tags_are_told_once(vdgi: Vdgi, model: Path, folder: Path) -> None:
    text = tiny.block(1, ["X", "NOUN", "X"], None) + tiny.block(2, ["SYM", "X"], None)
    Path("a.conllu").write_text(text, encoding="utf-8")
    result = vdgi.good("-q", "parse", model, "a.conllu")
    assert result.err == (
        "warning: tags X SYM (4 words) are unknown to the model and were ignored; "
        "vdgi info lists the tags that it knows\n"
    )


def test_a_mended_input_is_told(vdgi: Vdgi, model: Path, folder: Path) -> None:
    Path("a.conllu").write_bytes(tiny.treebank(2).replace("\n", "\r\n").encode())
    result = vdgi.good("-q", "parse", model, "a.conllu")
    assert result.err == "warning: a.conllu:1: Windows line end (CRLF) (read as LF, here and below)\n"
    assert "\r" not in result.out


# evaluate


@pytest.fixture
def scored(folder: Path) -> Path:
    """gold.conllu, and a parse of it with a known number of faults."""
    gold = tiny.treebank(6)
    (folder / "gold.conllu").write_text(gold, encoding="utf-8")
    (folder / "same.conllu").write_text(gold, encoding="utf-8")
    # DET NOUN VERB becomes a chain to the right: one root and both other arcs wrong, the latter only turned.
    wrong = tiny.block(0, ["DET", "NOUN", "VERB", "PUNCT"], [0, 1, 2, 3])
    first = tiny.treebank(1)
    (folder / "wrong.conllu").write_text(gold.replace(first, wrong), encoding="utf-8")
    return folder


def test_evaluate_says_first_what_is_scored(vdgi: Vdgi, scored: Path) -> None:
    lines = vdgi.good(
        "evaluate", "gold.conllu", "wrong.conllu", "same.conllu", "--max-len", "4,5"
    ).out.splitlines()
    assert lines[0].startswith("DDA on 6 of 6 sentences, 28 words; protocol standard: UPOS=PUNCT removed, ")
    assert lines[1].startswith("DDA: right heads, that is UAS of the words scored; ")
    assert lines[3].split() == ["DDA", "<=4", "<=5", "all"]
    assert lines[4].split() == ["sentences", "3", "4", "6"]
    assert lines[5].split() == ["words", "11", "16", "28"]
    table = {line.split()[0]: line.split()[1:] for line in lines[3:8] if line}
    assert table["same.conllu"] == ["100.0"] * 3
    assert table["wrong.conllu"][-1] == f"{100 * 25 / 28:.1f}"
    uda = lines.index(next(line for line in lines if line.startswith("UDA")))
    assert lines[uda + 3].split()[-1] == f"{100 * 27 / 28:.1f}"
    root = lines.index(next(line for line in lines if line.startswith("root")))
    assert lines[root + 3].split()[-1] == f"{100 * 5 / 6:.1f}"


def test_json_has_the_figures_of_the_text(vdgi: Vdgi, scored: Path) -> None:
    options = [
        "gold.conllu",
        "wrong.conllu",
        "--baselines",
        "--by",
        "tag,rule,pair,distance,length",
        "--max-len",
        "4",
    ]
    text = vdgi.good("evaluate", *options).out
    data = json.loads(vdgi.good("evaluate", *options, "--json").out)
    assert data["gold"] == "gold.conllu"
    assert data["rules"] == "best.txt"
    assert data["policy"] == text.splitlines()[0]
    assert list(data["systems"]) == [
        "wrong.conllu",
        "left branching",
        "right branching",
        "random",
        "rules only",
    ]
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


def test_baselines_alone(vdgi: Vdgi, scored: Path) -> None:
    first, again = (vdgi.good("evaluate", "gold.conllu", "--baselines").out for _ in range(2))
    assert first == again
    assert "left branching" in first
    assert "gold.conllu" not in first


def test_parses_of_the_same_name_are_told_apart(vdgi: Vdgi, scored: Path) -> None:
    Path("sub").mkdir()
    shutil.copy("wrong.conllu", "sub/same.conllu")
    out = vdgi.good("evaluate", "gold.conllu", "same.conllu", "sub/same.conllu").out
    rows = [line.split() for line in out.splitlines() if "same.conllu" in line][:2]
    assert [row[0] for row in rows] == ["same.conllu", "sub/same.conllu"]
    assert rows[0][-1] == "100.0"
    assert rows[1][-1] != "100.0"


def test_gold_or_parse_from_standard_input(vdgi: Vdgi, scored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = vdgi.good("evaluate", "gold.conllu", "wrong.conllu", "--baselines").out
    for arguments, name in ((["-", "wrong.conllu"], "gold.conllu"), (["gold.conllu", "-"], "wrong.conllu")):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path(name).read_bytes())))
        out = vdgi.good("evaluate", *arguments, "--baselines").out
        assert out.splitlines()[0] == expected.splitlines()[0]
        assert [line.split()[1:] for line in out.splitlines()] == [
            line.split()[1:] for line in expected.splitlines()
        ]


def test_the_other_protocol(vdgi: Vdgi, scored: Path) -> None:
    out = vdgi.good("evaluate", "gold.conllu", "same.conllu", "--protocol", "as_released").out
    assert out.startswith(
        "DDA on 6 of 6 sentences, 32 words; protocol as_released: punctuation kept and scored;"
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda gold: gold + tiny.treebank(1),
            "parse.conllu:{end}: sentence 7 is one too many: gold.conllu ends ",
        ),
        (lambda gold: tiny.treebank(5), "parse.conllu: ends after 5 sentences, but gold.conllu:"),
        (
            lambda gold: gold.replace("noun0", "nuon0", 1),
            "parse.conllu:3: word 2 of sentence 1 is 'nuon0', but gold.conllu:3 has 'noun0' (both ",
        ),
        (
            lambda gold: tiny.treebank(6, heads=False),
            "parse.conllu:2: column 7 (HEAD) is missing (trees are needed",
        ),
        (lambda gold: gold + tiny.TWO_ROOTS, "parse.conllu:"),
        (lambda gold: "", "parse.conllu: no sentences (the file is empty: was it downloaded in full?)"),
    ],
)
def test_a_parse_of_something_else(vdgi: Vdgi, scored: Path, change: Any, message: str) -> None:
    gold = Path("gold.conllu").read_text(encoding="utf-8")
    Path("parse.conllu").write_text(change(gold), encoding="utf-8")
    status, out, err = vdgi("evaluate", "gold.conllu", "parse.conllu")
    assert (status, out) == (3, "")
    assert err.startswith(message.format(end=gold.count("\n") + 1))
    assert err.count("\n") == 1


def test_missing_files_to_score(vdgi: Vdgi, scored: Path) -> None:
    for arguments in (["nix.conllu", "same.conllu"], ["gold.conllu", "nix.conllu"]):
        status, out, err = vdgi("evaluate", *arguments)
        assert (status, out) == (2, "")
        assert "nix.conllu" in err


def test_nothing_to_score_under_the_protocol(vdgi: Vdgi, folder: Path) -> None:
    Path("gold.conllu").write_text(tiny.block(1, ["PUNCT"], [0]), encoding="utf-8")
    status, out, err = vdgi("evaluate", "gold.conllu", "--baselines")
    assert (status, out) == (3, "")
    assert err == "gold.conllu: no sentence is left under protocol standard\n"
    assert "-" in vdgi.good("evaluate", "gold.conllu", "gold.conllu").out.splitlines()[-1]
    data = json.loads(vdgi.good("evaluate", "gold.conllu", "gold.conllu", "--json").out)
    assert data["systems"]["gold.conllu"]["total"]["dda"] is None


# check


def test_a_sound_file(vdgi: Vdgi, folder: Path) -> None:
    tiny.write(folder / "good.conllu")
    result = vdgi.good("check", "good.conllu")
    assert result.err == ""
    lines = result.out.splitlines()
    assert lines[0] == "good.conllu: sound"
    assert lines[1].split() == ["sentences", "12"]
    assert lines[2].split() == ["words", "64"]
    assert lines[3] == "  tags       NOUN 18 VERB 12 DET 10 PUNCT 8 ADJ 8 ADV 4 AUX 2 NUM 2"
    assert lines[4] == "  tag set    UD (1 and 2 differ in CONJ and CCONJ, which are not here)"
    assert lines[5].startswith("  lengths    1-5: 8, 6-10: 4, 11-15: 0, ")
    limits = f"those with 2 to {load_settings().data.max_len} words without punctuation"
    assert lines[6] == f"  training   uses 12 of 12 sentences (100.0 %), 56 of 56 words (100.0 %): {limits}"
    assert lines[7] == "  trees      12 sentences, 100.0 % projective"
    assert lines[8] == "  rules      hold for 100.0 % of the arcs (without punctuation)"
    assert not any("cannot apply" in line for line in lines)  # nobody has named these rules
    absent = vdgi.good("check", "good.conllu", "--rules", "ud").out.splitlines()[9]
    assert absent == "  rules that cannot apply (tag absent from this file): NOUN>CONJ NOUN>ADP"


def test_check_counts_what_training_uses(vdgi: Vdgi, folder: Path) -> None:
    text = tiny.treebank() + tiny.block(13, ["VERB", "PUNCT"], [0, 1])
    Path("a.conllu").write_text(text, encoding="utf-8")
    told = vdgi.good("train", "--train", "a.conllu", "--out", "run", "--dry-run").err
    assert "training: 12 sentences, 56 words" in told
    assert "  training   uses 12 of 13 sentences (92.3 %), 56 of 57 " in vdgi.good("check", "a.conllu").out


def test_what_is_in_a_file_besides_words(vdgi: Vdgi, folder: Path) -> None:
    def row(token: str, tag: str) -> str:
        return f"{token}\tw\t_\t{tag}\t_\t_\t_\t_\t_\t_\n"

    text = row("1-2", "_") + row("1", "VERB") + row("1.1", "NOUN") + row("2", "CCONJ") + "\n"
    n = load_settings().data.max_len + 1
    long = "".join(row(str(number), "NOUN") for number in range(1, n + 1)) + "\n"
    Path("a.conllu").write_text(text * 3 + long, encoding="utf-8")
    out = vdgi.good("check", "a.conllu").out
    assert f"  words      {n + 6:,} (3 multiword tokens, 3 empty nodes)\n" in out
    assert "  tag set    UD 2\n" in out
    assert f"  training   uses 3 of 4 sentences (75.0 %), 6 of {n + 6:,} words (" in out
    Path("b.conllu").write_text(text.replace("CCONJ", "CONJ"), encoding="utf-8")
    assert "  tag set    UD 1\n" in vdgi.good("check", "b.conllu").out
    Path("c.conllu").write_text(text.replace("CCONJ", "cconj"), encoding="utf-8")
    assert "no rule mentions these tags of the text: cconj (1 word" in vdgi.good("check", "c.conllu").out


def test_rules_and_limits_are_those_of_a_model(vdgi: Vdgi, model: Path, folder: Path) -> None:
    tiny.write(folder / "good.conllu")
    used = model_file.load(model)
    for name in (model, model.parent):
        out = vdgi.good("check", "good.conllu", "--model", name).out
        assert f"2 to {used.settings.data.max_len} words" in out
    status, _, err = vdgi("check", "good.conllu", "--model", model, "--rules", "ud")
    assert (status, err) == (2, "--rules and --model both name rules: give one of them\n")


def test_a_file_without_trees(vdgi: Vdgi, folder: Path) -> None:
    tiny.write(folder / "good.conllu", heads=False)
    assert "  trees      none (not needed for training or parsing)\n" in vdgi.good("check", "good.conllu").out


def words_with(*heads: str, feats: str = "_", deprel: str = "_") -> str:
    """A sentence of words with these heads."""
    rows = [f"{k}\tw{k}\t_\tNOUN\t_\t{feats}\t{h}\t{deprel}\t_\t_\n" for k, h in enumerate(heads, 1)]
    return "".join(rows) + "\n"


def test_the_heads_of_unfinished_trees_are_checked(vdgi: Vdgi, folder: Path) -> None:
    Path("cycle.conllu").write_text(words_with("2", "1", "_"), encoding="utf-8")
    status, out, _ = vdgi("check", "cycle.conllu")
    assert (status, out.splitlines()[0]) == (3, "cycle.conllu:1: cycle of heads through words 1, 2")
    Path("roots.conllu").write_text(words_with("0", "0", "_"), encoding="utf-8")
    status, out, _ = vdgi("check", "roots.conllu")
    assert status == 3
    assert out.startswith("roots.conllu:2: 2 roots: words 1, 2")
    Path("part.conllu").write_text(words_with("2", "_", "2", "_"), encoding="utf-8")
    assert "  trees      1 tree in part (2 heads), none whole\n" in vdgi.good("check", "part.conllu").out
    Path("both.conllu").write_text(words_with("2", "_") + words_with("0", "1"), encoding="utf-8")
    told = "  trees      1 sentence, 100.0 % projective; 1 tree in part (1 head) besides\n"
    assert told in vdgi.good("check", "both.conllu").out


def test_all_faults_are_listed(vdgi: Vdgi, folder: Path) -> None:
    Path("bad.conllu").write_text(
        tiny.NINE_COLUMNS + tiny.treebank(3) + tiny.TWO_ROOTS + tiny.NINE_COLUMNS, encoding="utf-8"
    )
    tiny.write(folder / "good.conllu", 2)
    status, out, err = vdgi("check", "bad.conllu", "good.conllu")
    assert status == 3
    assert err == "3 faults found\n"
    lines = out.splitlines()
    last = Path("bad.conllu").read_text(encoding="utf-8").count("\n") - 1
    assert lines[0] == "bad.conllu:1: expected 10 tab-separated columns, found 9"
    assert lines[1].startswith(f"bad.conllu:{last - 3}: 2 roots: words 1, 2")
    assert lines[2] == f"bad.conllu:{last}: expected 10 tab-separated columns, found 9"
    assert lines[3] == "bad.conllu: 3 faults"
    assert lines[4] == "  sentences  3"
    assert "good.conllu: sound" in lines


def test_faults_beyond_the_limit_are_counted(vdgi: Vdgi, folder: Path) -> None:
    Path("bad.conllu").write_text(tiny.NINE_COLUMNS * 30, encoding="utf-8")
    for options, shown in (([], 20), (["--max-faults", "2"], 2)):
        status, out, err = vdgi("check", "bad.conllu", *options)
        assert status == 3
        assert out.count("expected 10 tab-separated columns") == shown
        assert "bad.conllu: 30 faults\n" in out
        assert err == "30 faults found\n"


def test_one_fault(vdgi: Vdgi, folder: Path) -> None:
    Path("bad.conllu").write_text(tiny.NINE_COLUMNS, encoding="utf-8")
    status, out, err = vdgi("check", "bad.conllu")
    assert (status, err) == (3, "1 fault found\n")
    assert "bad.conllu: 1 fault\n" in out


def test_checking_standard_input_and_gz(vdgi: Vdgi, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(tiny.treebank(3).encode())))
    Path("a.conllu.gz").write_bytes(gzip.compress(tiny.treebank(3).encode(), mtime=0))
    result = vdgi.good("check", "-", "a.conllu.gz")
    first, second = result.out.split("a.conllu.gz: sound\n")
    assert first == "<stdin>: sound\n" + second.rpartition("sound: ")[0]


def test_a_truncated_gz(vdgi: Vdgi, folder: Path) -> None:
    Path("a.conllu.gz").write_bytes(gzip.compress(tiny.treebank(300).encode(), mtime=0)[:-20])
    status, out, _ = vdgi("check", "a.conllu.gz")
    assert status == 3
    assert "corrupt gzip data" in out


# info


def test_info(vdgi: Vdgi, model: Path) -> None:
    lines = vdgi.good("info", model).out.splitlines()
    facts = {line.split(None, 1)[0]: line.split(None, 1)[1] for line in lines[: lines.index("")]}
    assert facts["model"] == str(model)
    assert facts["preset"] == "mine"
    assert facts["gold_trees"] == "none"
    assert facts["train"].startswith("train.conllu  sha256 ")
    assert facts["trained_on"] == "12 sentences, 56 words"
    assert facts["vocabulary"] == "7 tags (ADJ ADV AUX DET NOUN NUM VERB), 0 words"
    assert facts["rules"].startswith("ROOT>VERB ROOT>NOUN ")
    assert facts["complete"] == "True"
    settings = "\n".join(lines[lines.index("") + 1 :])
    assert from_toml(settings, "info") == tiny.settings()


def test_info_as_json(vdgi: Vdgi, model: Path) -> None:
    data = json.loads(vdgi.good("info", model, "--json").out)
    loaded = model_file.load(model)
    assert data["settings"] == loaded.settings.to_dict()
    assert data["vocabulary"]["tags"] == ["ADJ", "ADV", "AUX", "DET", "NOUN", "NUM", "VERB"]
    assert data["rules"][0] == "ROOT>VERB"
    assert data["weights"] == sum(array.size for array in loaded.parameters.values())
    assert {key: data[key] for key in loaded.meta} == loaded.meta
    assert len(data["data"][0]["sha256"]) == 64


# demo


@pytest.fixture
def small_demo(monkeypatch: pytest.MonkeyPatch) -> None:
    """The demo with tiny networks and few updates."""
    original = demo.load_settings
    neural = {"parser": {"hidden_dim": 6, "tag_dim": 6}, "train": {"samples": 3, "updates": 6}}
    neural["train"]["evaluate_every"] = 3
    small = {"paper": neural, "best": {"parser": {"log2_buckets": 8}}}

    def load_settings(preset: str, changes: Mapping[str, Any]) -> config.Settings:
        return original(preset, changes={**changes, **small[preset], "data": {"max_len": 5}})

    monkeypatch.setattr(demo, "load_settings", load_settings)
    monkeypatch.setattr(trees, "RANDOM_DRAWS", 2)


FILES_OF_A_RUN = ["demo-ud-test.parsed.conllu", "log.jsonl", "model.vdgi", "settings.toml"]


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_demo_and_the_demo_again(vdgi: Vdgi, folder: Path, small_demo: None) -> None:
    first = vdgi.good("demo", "--seed", "3")
    out = folder / "runs" / "demo"
    assert names_in(out) == ["best", "paper"]
    assert names_in(out / "best") == names_in(out / "paper") == FILES_OF_A_RUN
    lines = first.out.splitlines()
    assert lines[0].startswith("DDA on 200 of 200 sentences, ")
    rows = [line.split("  ")[0] for line in first.out.split("\n\n")[1].splitlines()[3:]]
    assert rows[:2] == ["paper", "best"]
    assert "left branching (baseline)" in rows
    folders = f"{Path('runs/demo/paper')} and {Path('runs/demo/best')}"
    assert f"written to {folders}: model, log, settings and parse of each" in lines
    assert last_line(first.out).endswith(f" parse {Path('runs/demo/best')} YOUR.conllu -o YOUR.parsed.conllu")
    before = {path: path.read_bytes() for path in out.rglob("*.*")}
    again = vdgi.good("demo", "--seed", "3")
    for name in ("paper", "best"):
        assert f"{Path('runs/demo', name)}: finished already, nothing to do" in again.err.splitlines()
    assert again.out == first.out
    assert {path: path.read_bytes() for path in out.rglob("*.*")} == before
    other = vdgi("demo", "--seed", "4")
    assert other.status == 4
    assert "its settings (seed was 3, now 4) differ" in other.err


def test_the_demo_goes_on_where_it_was_stopped(
    vdgi: Vdgi, folder: Path, small_demo: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        stop_at(patch, 4, KeyboardInterrupt())
        status, out, err = vdgi("demo", "--out", "here")
    assert (status, out) == (130, "")
    assert last_line(err).startswith(f"interrupted; last checkpoint {Path('here/paper/model.vdgi')}; ")
    assert "resuming after update 3" in vdgi.good("demo", "--out", "here").err


def test_the_demo_of_presets_that_are_named(vdgi: Vdgi, folder: Path, small_demo: None) -> None:
    result = vdgi.good("demo", "--preset", "best")
    assert names_in(folder / "runs" / "demo") == ["best"]
    assert "\npaper " not in result.out
    assert model_file.load("runs/demo/best/model.vdgi").provenance.preset == "best"


def test_a_treebank_folder(vdgi: Vdgi, folder: Path, small_demo: None) -> None:
    """LANG DIR...: several training files; run again, it does not train again."""
    for name in ("UD_Demo", "more text"):
        Path(name).mkdir()
    blocks = (resources() / "demo" / "demo-ud-train.conllu").read_text(encoding="utf-8").split("\n\n")
    parts = {
        "UD_Demo/fr_demo-ud-train-1.conllu": blocks[:50],
        "more text/fr-ud-train-2.conllu": blocks[50:90],
        "UD_Demo/fr_demo-ud-test.conllu": blocks[90:110],
        "UD_Demo/fx-ud-train.conllu": blocks[110:120],  # of another language
    }
    for name, part in parts.items():
        Path(name).write_text("\n\n".join(part) + "\n\n", encoding="utf-8")
    command = ["demo", "fr", "UD_Demo", "more text"]
    first = vdgi.good(*command)
    assert first.err.count("gold trees used: none") == 2
    assert " only (baseline)" in first.out
    assert "published, UD1.4-French (UD 1.4; " in first.out  # whatever the folder is called
    assert "; fr_demo-ud-test.conllu is not of UD 1.4, so the figures cannot be compared\n" in first.out
    model = model_file.load("runs/fr/best/model.vdgi")
    assert [item.name for item in model.provenance.data] == [
        "fr_demo-ud-train-1.conllu",
        "fr-ud-train-2.conllu",
    ]
    assert Path("runs/fr/paper/fr_demo-ud-test.parsed.conllu").exists()
    again = vdgi.good(*command)
    assert again.out == first.out
    assert again.err.count("finished already, nothing to do") == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["xx"], "xx: name the folders of its treebank, as in vdgi demo eu UD_Basque"),
        (["xx", "."], "no xx-ud-train*.conllu in ."),
        (["xx", "no/such"], "no xx-ud-train*.conllu in no/such"),
    ],
)
def test_a_treebank_that_is_not_there(vdgi: Vdgi, folder: Path, arguments: list[str], message: str) -> None:
    status, out, err = vdgi("demo", *arguments)
    assert (status, out, err) == (2, "", f"{message}\n")
    assert names_in(folder) == []
