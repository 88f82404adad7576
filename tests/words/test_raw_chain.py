"""From raw text to trees: `vdgi parse` with a tokeniser and a tagger."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from shell import ROOT, Vdgi

import dynet_vdgi
from dynet_vdgi.conllu import raw_documents, reading
from dynet_vdgi.errors import ModelError
from dynet_vdgi.models import model_file
from dynet_vdgi.models.run_folder import model_path
from dynet_vdgi.training import run as run_module
from dynet_vdgi.words.tagger.tagger import Tagger
from dynet_vdgi.words.tokeniser import tokeniser_file

DEMO = ROOT / "resources" / "demo" / "demo-ud-train.conllu"
N_SENTENCES = 40


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the beginning of the demo treebank, a tokeniser and a tagger from it, and raw
    text."""
    folder = tmp_path_factory.mktemp("chain")
    blocks = DEMO.read_text(encoding="utf-8").split("\n\n")[: 2 * N_SENTENCES]
    learnt, new = blocks[:N_SENTENCES], blocks[N_SENTENCES:]
    (folder / "tagged.conllu").write_text("\n\n".join(learnt) + "\n\n", encoding="utf-8")
    (folder / "new.conllu").write_text("\n\n".join(new) + "\n\n", encoding="utf-8")
    documents = raw_documents.read_documents([folder / "new.conllu"])
    (folder / "raw.txt").write_text(documents[0].text, encoding="utf-8")
    shutil.copy(folder / "raw.txt", folder / "raw")
    tokeniser_file.train([str(folder / "tagged.conllu")], str(folder / "my.tokeniser"))
    Tagger().fit(folder / "tagged.conllu").save(folder / "my.tagger")
    return folder


@pytest.fixture
def there(made: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(made)
    return made


def without_tags(text: str, keep: int = 0) -> str:
    """CoNLL-U without UPOS, XPOS, FEATS and trees but for the first `keep` words."""
    lines, n_words = [], 0
    for line in text.split("\n"):
        columns = line.split("\t")
        if columns[0].isdecimal():
            n_words += 1
            if n_words > keep:
                columns[3:8] = ["_"] * 5
        lines.append("\t".join(columns))
    return "\n".join(lines)


def without_trees(text: str) -> str:
    """CoNLL-U without heads and relations."""
    rows = (line.split("\t") for line in text.split("\n"))
    return "\n".join("\t".join(row[:6] + row[8:]) for row in rows)


STEPS = ["--tokeniser", "my.tokeniser", "--tagger", "my.tagger"]


def test_raw_text_becomes_the_words_that_three_commands_give(
    there: Path, vdgi: Vdgi, tmp_path: Path
) -> None:
    a, b, c = (tmp_path / name for name in ("a.conllu", "b.conllu", "c.conllu"))
    vdgi.good("tokenize", "my.tokeniser", "raw.txt", "-o", a)
    vdgi.good("tag", "my.tagger", a, "-o", b)
    vdgi.good("parse", "universal", b, "-o", c)
    done = vdgi.good("parse", "universal", "raw.txt", *STEPS, "-o", tmp_path / "all.conllu")
    # A file has one tag a word; where the parser tags, it knows how sure each is, and finds other
    # trees.
    whole, steps = (path.read_text(encoding="utf-8") for path in (tmp_path / "all.conllu", c))
    assert without_trees(whole) == without_trees(steps)
    assert whole != steps
    assert "words tagged" in done.err
    parser = dynet_vdgi.load("universal", tokeniser="my.tokeniser", tagger="my.tagger")
    in_python = parser.parse_text(Path("raw.txt").read_text(encoding="utf-8"))
    assert [s.heads for s in in_python] == [
        s.heads for s in dynet_vdgi.read(tmp_path / "all.conllu")
    ]
    assert "\n".join(document.text for document in raw_documents.read_documents([c])) == Path(
        "raw.txt"
    ).read_text(encoding="utf-8")


def test_the_number_of_jobs_changes_nothing(there: Path, vdgi: Vdgi) -> None:
    one, two = (vdgi.good("parse", "universal", "raw.txt", *STEPS, "--jobs", n).out for n in "12")
    assert one == two != ""


def test_each_line_can_be_a_sentence(there: Path, vdgi: Vdgi, tmp_path: Path) -> None:
    text, n_lines = tmp_path / "lines.txt", 5
    lines = re.findall(r"# text = (.*)[.!?]", Path("new.conllu").read_text(encoding="utf-8"))[
        :n_lines
    ]
    text.write_text("\n".join(lines), encoding="utf-8")
    done = vdgi.good("parse", "universal", text, *STEPS, "--lines")
    assert done.out.count("# sent_id") == n_lines
    assert vdgi.good("parse", "universal", text, *STEPS).out.count("# sent_id") != n_lines
    run = tmp_path / "run"
    vdgi.good("train", "--train", "tagged.conllu", "--raw", text, "--lines", "--out", run, *STEPS)
    sizes = model_file.load(model_path(run)).parameters["text/size"]
    assert sizes[0] == N_SENTENCES + n_lines
    assert len(dynet_vdgi.load(run).parse_text("a b\nc", lines=True)) == 2
    for command in (
        ["parse", "universal", "tagged.conllu"],
        ["train", "--train", "tagged.conllu", "--out", "x"],
    ):
        refused = vdgi(*command, *STEPS[2:], "--lines")
        assert refused.status == 2
        assert "--lines has no effect: no input is raw text" in refused.err


def test_filled_tags_stay_and_missing_ones_are_found(
    there: Path, vdgi: Vdgi, tmp_path: Path
) -> None:
    gold = Path("tagged.conllu").read_text(encoding="utf-8").replace("\tNOUN\t", "\tX\t", 1)
    (tmp_path / "some.conllu").write_text(without_tags(gold, keep=30), encoding="utf-8")
    arguments = ["parse", "universal", tmp_path / "some.conllu", "--tagger", "my.tagger"]
    vdgi.good(*arguments, "-o", tmp_path / "out.conllu")
    vdgi.good(*arguments, "--retag", "-o", tmp_path / "again.conllu")
    found, again, right = (
        [tag for sentence in reading.read(path) for tag in sentence.tags]
        for path in (tmp_path / "out.conllu", tmp_path / "again.conllu", "tagged.conllu")
    )
    wrong = next(n for n, tag in enumerate(right) if tag == "NOUN")
    assert wrong < 30
    assert found[:30] == [*right[:wrong], "X", *right[wrong + 1 : 30]]
    assert again[wrong] == "NOUN"
    assert sum(a == b for a, b in zip(again, right)) > 0.9 * len(right)


def test_confidence_tells_of_the_tags_that_were_found(
    there: Path, vdgi: Vdgi, tmp_path: Path
) -> None:
    gold = Path("tagged.conllu").read_text(encoding="utf-8")
    some = without_tags(gold, keep=30).replace("\t_\n", "\tTagConf=1|X=y\n")
    (tmp_path / "some.conllu").write_text(some, encoding="utf-8")
    arguments = ["universal", tmp_path / "some.conllu", "--tagger", "my.tagger", "--confidence"]
    vdgi.good("parse", *arguments, "-o", tmp_path / "out.conllu")
    words = [
        line.split("\t")
        for line in (tmp_path / "out.conllu").read_text().split("\n")
        if line[:1].isdigit()
    ]
    notes = [columns[9].split("|") for columns in words if columns[0].isdigit()]
    n_before = some.count("TagConf=1|", 0, some.index("\t_\t_\t_\t_\t_\t_\t"))
    assert n_before > 9  # words that keep their tags keep the note about them
    assert sum("TagConf=1" in note for note in notes) == n_before
    tagged = list(Tagger.load("my.tagger").stream(tmp_path / "some.conllu"))
    chances = [chance for each in tagged for chance in each.chances]
    assert notes[30:] != []
    for note, chance in list(zip(notes, chances))[30:]:
        assert f"TagConf={chance:.4f}" in note
    doubts = vdgi.good("choose", "--words", tmp_path / "out.conllu", "-n", "1").out
    least = min(chance for chance in chances if chance is not None)
    assert f"{least:.4f}" in doubts
    plain = vdgi.good("parse", *arguments[:-1]).out
    assert plain.count("TagConf=1|") == some.count("TagConf=1|")


def test_mistakes_name_the_file_the_line_and_the_remedy(
    there: Path, vdgi: Vdgi, tmp_path: Path
) -> None:
    gold = Path("tagged.conllu").read_text(encoding="utf-8")
    Path("bare.conllu").write_text(without_tags(gold), encoding="utf-8")
    first = next(n for n, line in enumerate(gold.split("\n"), 1) if line[:1].isdecimal())
    broken = without_tags(gold).replace("\t_\t_\n", "\t_\n", 1)
    Path("broken.conllu").write_text(broken, encoding="utf-8")
    Path("white.txt").write_text(" \n", encoding="utf-8")
    Path("bytes.txt").write_bytes(b"a\n\xff")
    tokeniser, tagger = STEPS[:2], STEPS[2:]
    cases = [
        (3, ["bare.conllu"], f"bare.conllu:{first}: column 4 (UPOS) is missing"),
        (3, ["bare.conllu"], "vdgi tag train"),
        (
            3,
            ["raw.txt"],
            "raw.txt:1: this is plain text, not CoNLL-U (vdgi tokenize makes CoNLL-U of it",
        ),
        (
            3,
            ["broken.conllu", *tagger],
            f"broken.conllu:{first}: expected 10 tab-separated columns",
        ),
        (3, ["white.txt", *STEPS], "white.txt: no text"),
        (3, ["bytes.txt", *STEPS], "bytes.txt:2: byte 0xff is not UTF-8"),
        (
            2,
            ["raw.txt", *tokeniser],
            "raw.txt: raw text has no tags: name a tagger with --tagger; vdgi tag",
        ),
        (2, ["tagged.conllu", *STEPS], "--tokeniser has no effect"),
        (2, ["tagged.conllu", "--retag"], "--retag needs a tagger"),
        (
            4,
            ["raw.txt", "--tokeniser", "my.tagger", *tagger],
            "my.tagger: this is a tagger, not a tokeniser",
        ),
        (
            4,
            ["raw.txt", *tokeniser, "--tagger", "my.tokeniser"],
            "this is a tokeniser, not a tagger",
        ),
        (2, ["raw.txt", *STEPS, "-o", "my.tagger"], "my.tagger"),
        (
            2,
            ["raw.txt", *STEPS, "-o", "raw.txt", "--in-place"],
            "--in-place would replace raw text",
        ),
    ]
    before = Path("my.tagger").read_bytes()
    for status, arguments, message in cases:
        output = [] if "-o" in arguments else ["-o", tmp_path / "out.conllu"]
        done = vdgi("parse", "universal", *arguments, *output)
        assert (done.status, message in done.err) == (status, True), (arguments, done.err)
    assert not (tmp_path / "out.conllu").exists()
    assert Path("my.tagger").read_bytes() == before


@pytest.fixture(scope="module")
def run(made: Path) -> Path:
    """A run on text of which half has no tags, and which keeps tokeniser and tagger."""
    text = (made / "tagged.conllu").read_text(encoding="utf-8")
    n_words = sum(map(len, reading.read(made / "tagged.conllu")))
    (made / "half.conllu").write_text(without_tags(text, keep=n_words // 2), encoding="utf-8")
    arguments = {"tokeniser": made / "my.tokeniser", "tagger": made / "my.tagger"}
    dynet_vdgi.train(made / "half.conllu", "universal", out=made / "run", **arguments)
    return made / "run"


def test_a_run_keeps_its_tokeniser_and_tagger(there: Path, run: Path, vdgi: Vdgi) -> None:
    own = vdgi.good("parse", "run", "raw.txt").out
    assert own == vdgi.good("parse", "run", "raw.txt", *STEPS).out
    assert own != vdgi.good("parse", "run", "raw.txt", "--fast").out  # so it has both, too
    for name in ("model.vdgi", "fast.vdgi"):
        assert model_file.load(run / name).steps == {
            "tokeniser": Path("my.tokeniser").read_bytes(),
            "tagger": Path("my.tagger").read_bytes(),
        }


def test_a_run_that_ends_while_it_adds_them_has_both_once_it_is_resumed(
    there: Path, run: Path, vdgi: Vdgi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "run"
    shutil.copytree(run, own)
    whole = {name: model_file.load(own / name).steps for name in ("model.vdgi", "fast.vdgi")}
    for name in whole:
        model_file.save(own / name, replace(model_file.load(own / name, training=True), steps={}))
    n_saved = 0

    def save(path: Path, model: model_file.ModelFile) -> None:
        nonlocal n_saved
        n_saved += 1
        if n_saved == 2:
            raise KeyboardInterrupt
        model_file.save(path, model)

    monkeypatch.setattr(run_module, "save_model", save)
    again = ["train", "--train", "half.conllu", *STEPS, "--out", own, "--resume"]
    assert vdgi(*again).status == 130
    vdgi.good(*again)
    assert {name: model_file.load(own / name).steps for name in whole} == whole


def test_python_parses_text(there: Path, run: Path, vdgi: Vdgi, tmp_path: Path) -> None:
    text = Path("raw.txt").read_text(encoding="utf-8")
    found = dynet_vdgi.load(run).parse_text(text)
    vdgi.good("parse", "run", "raw.txt", "-o", tmp_path / "out.conllu")
    assert [(s.forms, s.tags, s.heads) for s in found] == [
        (s.forms, s.tags, s.heads) for s in reading.read(tmp_path / "out.conllu")
    ]
    parser = dynet_vdgi.load("universal", tokeniser="my.tokeniser", tagger="my.tagger")
    assert [s.forms for s in parser.parse_text(text)] == [s.forms for s in found]


def test_a_run_keeps_what_tag_and_tokenize_need(
    there: Path, run: Path, vdgi: Vdgi, tmp_path: Path
) -> None:
    own = vdgi.good("tokenize", "run", "raw.txt").out
    assert own == vdgi.good("tokenize", "my.tokeniser", "raw.txt").out
    (tmp_path / "tokens.conllu").write_text(own, encoding="utf-8")
    tagged = vdgi.good("tag", "run", tmp_path / "tokens.conllu").out
    assert tagged == vdgi.good("tag", "run/model.vdgi", tmp_path / "tokens.conllu").out
    assert tagged == vdgi.good("tag", "my.tagger", tmp_path / "tokens.conllu").out
    assert (
        vdgi.good("tag", "evaluate", "run", "new.conllu").out
        == vdgi.good("tag", "evaluate", "my.tagger", "new.conllu").out
    )
    done = vdgi("tag", "run", tmp_path / "tokens.conllu", "-o", "run/model.vdgi")
    assert (done.status, "run/model.vdgi" in done.err) == (2, True)


def test_raw_learns_both_steps_from_the_tagged_words(there: Path, vdgi: Vdgi) -> None:
    text = Path("tagged.conllu").read_text(encoding="utf-8")
    n_words = sum(map(len, reading.read("tagged.conllu")))
    Path("most.conllu").write_text(without_tags(text, keep=3 * n_words // 4), encoding="utf-8")
    done = vdgi.good(
        "train",
        "--train",
        "most.conllu",
        "--raw",
        "raw.txt",
        "--preset",
        "universal",
        "--out",
        "by_command",
    )
    model = model_file.load("by_command/model.vdgi")
    assert set(model.steps) == {"tokeniser", "tagger"}
    told = vdgi.good("info", "by_command").out
    n_known = sum(tag != "_" for s in reading.read("most.conllu", tags="known") for tag in s.tags)
    n_words = sum(map(len, reading.read("most.conllu", tags="known")))
    vdgi.good("tokenize", "by_command", "raw.txt", "-o", "tokens.conllu")
    n_raw = sum(map(len, reading.read("tokens.conllu", tags="known")))
    assert (
        f"tagger: learnt from {n_known} words with tags, {n_words - n_known + n_raw:,} words without"
        in done.err
    )
    assert (
        f"{n_words - n_known + n_raw:,} words tagged by a tagger learnt in this run, which finds"
        in told
    )
    assert "raw.txt  sha256" in told
    tagger = Tagger.load("", model.steps["tagger"])
    assert tagger.told in done.err
    assert tagger.told == f"the {' '.join(re.findall('tagger .*', told)[-1].split())}"
    assert json.loads(vdgi.good("info", "by_command", "--json").out)["tagger"] == {
        "accuracy": tagger.accuracy,
        "words": n_known,
    }
    assert Tagger.load("", model.steps["tagger"]).n_words == n_known
    parsed = vdgi.good("parse", "by_command", "raw.txt").out
    assert parsed.count("\n1\t") > N_SENTENCES // 2


def test_the_steps_of_a_run_serve_another_model(there: Path, run: Path, vdgi: Vdgi) -> None:
    steps = ["--tokeniser", "run", "--tagger", "run"]
    plain = vdgi.good("parse", "universal", "raw", *STEPS).out
    assert vdgi.good("parse", "universal", "raw", *steps).out == plain
    with pytest.raises(ModelError, match="not a vdgi tagger"):
        dynet_vdgi.load("universal", tagger="universal")
    done = vdgi("parse", "universal", "raw", *steps, "-o", "run/model.vdgi")
    assert (done.status, "run/model.vdgi" in done.err) == (2, True)


def test_a_corrected_sentence_counts_once(there: Path, vdgi: Vdgi, tmp_path: Path) -> None:
    blocks = Path("tagged.conllu").read_text(encoding="utf-8").split("\n\n")[:12]
    text, trees, raw = (tmp_path / name for name in ("text.conllu", "trees.conllu", "raw.txt"))
    text.write_text("\n\n".join(blocks) + "\n\n", encoding="utf-8")
    trees.write_text("\n\n".join(blocks[:5]) + "\n\n", encoding="utf-8")
    raw.write_text(Path("raw.txt").read_text(encoding="utf-8")[:200], encoding="utf-8")
    said = vdgi.good(
        "train", "--train", text, "--raw", raw, "--trees", trees, "--out", tmp_path / "run"
    ).err
    n_words = sum(map(len, dynet_vdgi.read(text)))
    assert "tokeniser: learnt from 12 sentences" in said
    assert f"tagger: learnt from {n_words:,} words with tags" in said
    said = vdgi.good("tag", "train", text, trees, "-o", tmp_path / "my.tagger").err
    assert said.startswith(f"{n_words:,} words with tags")


def without_spaces(text: str) -> str:
    """CoNLL-U that does not say where spaces are missing."""
    return re.sub(
        r"SpaceAfter=No$", "_", re.sub(r"^# text = .*\n", "", text, flags=re.M), flags=re.M
    )


def test_text_that_hides_missing_spaces_gives_a_warning(
    there: Path, vdgi: Vdgi, tmp_path: Path
) -> None:
    blocks = Path("tagged.conllu").read_text(encoding="utf-8").strip().split("\n\n")

    def said(n_known: int) -> str:
        some = [*blocks[:n_known], *map(without_spaces, blocks[n_known:])]
        (tmp_path / "a.conllu").write_text("\n\n".join(some) + "\n\n", encoding="utf-8")
        out = tmp_path / "a.tokeniser"
        return vdgi.good("tokenize", "train", tmp_path / "a.conllu", "-o", out, "--overwrite").err

    assert said(7).startswith(
        "warning: only 7 of 40 sentences have `# text` or SpaceAfter=No, which show"
    )
    assert "warning" not in said(8)
    assert said(0).startswith("warning: no sentence has `# text` or SpaceAfter=No, which show")
