"""What a new user is likely to do wrong, and what the program says then."""

from __future__ import annotations

import json
import logging
import threading
from pathlib import Path
from typing import Any

import pytest
import tiny
import universal_toys as universal
from shell import Vdgi, last_line

import dynet_vdgi
from dynet_vdgi.annotation import plain_text
from dynet_vdgi.data import conllu
from dynet_vdgi.errors import ConfigError, DataError, ModelError, UsageError
from dynet_vdgi.evaluation.tables import LEGEND
from dynet_vdgi.parsing.outlook import AKIN, ENOUGH, Outlook, look
from dynet_vdgi.settings.presets import load_settings
from dynet_vdgi.system import progress
from dynet_vdgi.tagging.tagger import Tagger
from dynet_vdgi.tokenising import tokeniser_file

TEXT = "Dogs bark.\nCats sleep.\n"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tagged text, and a tokeniser and a tagger that have learnt from it."""
    folder = tmp_path_factory.mktemp("made")
    tiny.write(folder / "tagged.conllu", heads=False)
    Tagger().fit(folder / "tagged.conllu").save(folder / "my.tagger")
    tokeniser_file.train([str(folder / "tagged.conllu")], str(folder / "my.tokeniser"))
    return folder


@pytest.fixture
def there(made: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty present folder but for the made files and a raw text."""
    for path in made.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    (folder / "raw.txt").write_text(TEXT, encoding="utf-8")
    return folder


# ------------------------------------------------------------------------------------------- kinds of model
def test_a_tagger_and_a_tokeniser_are_described(vdgi: Vdgi, there: Path) -> None:
    rows = dict(line.split(None, 1) for line in vdgi.good("info", "my.tokeniser").out.splitlines())
    assert rows["kind"] == "tokeniser, for --tokeniser and vdgi tokenize"
    assert rows["file"].startswith("tagged.conllu  sha256 ")
    text = vdgi.good("info", "my.tagger").out
    assert "tagger, for --tagger and vdgi tag" in text
    assert "64 words with tags" in text
    assert "% in sentences kept back" in text
    assert json.loads(vdgi.good("info", "--json", "my.tokeniser").out)["learnt from"].startswith(
        "12 sentences"
    )


@pytest.mark.parametrize("step", ["tagger", "tokeniser"])
def test_a_file_of_another_kind_than_a_parser_is_called_what_it_is(
    vdgi: Vdgi, there: Path, step: str
) -> None:
    message = f"my.{step}: this is a {step}, not a parser: name it with --{step} (in Python {step}=)"
    result = vdgi("parse", f"my.{step}", "tagged.conllu")
    assert (result.status, last_line(result.err)) == (4, message)
    with pytest.raises(ModelError, match=f"this is a {step}"):
        dynet_vdgi.load(f"my.{step}")


def test_a_tagger_and_a_tokeniser_are_not_taken_for_each_other(vdgi: Vdgi, there: Path) -> None:
    for command in (["tag", "my.tokeniser", "tagged.conllu"], ["tokenize", "my.tagger", "raw.txt"]):
        status, _, err = vdgi(*command)
        assert status == 4
        assert "this is a t" in err
        assert " uses it, and vdgi parse with --t" in err


def test_the_package_s_own_model_is_meant(vdgi: Vdgi, there: Path) -> None:
    assert "did you mean 'universal'?" in vdgi("parse", "univeral", "tagged.conllu").err
    with pytest.raises(ModelError, match="did you mean 'universal'"):
        dynet_vdgi.load("univresal")


# ------------------------------------------------------------------------------------------- wrong order
@pytest.mark.parametrize(
    "command",
    [
        ["parse", "tagged.conllu", "universal"],
        ["choose", "tagged.conllu", "universal"],
        ["tokenize", "raw.txt", "my.tokeniser"],
        ["tag", "tagged.conllu", "my.tagger"],
        ["tag", "tagged.conllu", "run"],
    ],
    ids=" ".join,
)
def test_the_model_comes_first(vdgi: Vdgi, there: Path, command: list[str]) -> None:
    (there / "run").mkdir()
    (there / "run" / "model.vdgi").write_bytes(b"")
    status, out, err = vdgi(*command)
    text, model = command[1:]
    assert (status, out, err) == (2, "", f"the model comes first: {model} {text}, not {text} {model}\n")


@pytest.mark.parametrize(
    ("command", "model"),
    [
        (["parse"], "universal"),
        (["choose"], "universal"),
        (["tokenize"], "my.tokeniser"),
        (["tag"], "my.tagger"),
        (["tag", "evaluate"], "my.tagger"),
    ],
)
@pytest.mark.parametrize("name", ["tagged.conllu", "raw.txt"])
def test_a_forgotten_model_is_missed(
    vdgi: Vdgi, there: Path, command: list[str], model: str, name: str
) -> None:
    meant = " ".join(["vdgi", *command, model, name])
    message = f"{name}: this is a text, and the model before it is missing: {meant}\n"
    assert vdgi(*command, name, "tagged.conllu") == (2, "", message)
    status, _, err = vdgi(*command, name)
    assert (status, err == message or "taken for MODEL, which comes first" in err) == (2, True)


def test_a_text_is_named_after_the_model(vdgi: Vdgi, there: Path) -> None:
    assert vdgi("parse", "tagged.conllu").err.endswith("vdgi parse universal tagged.conllu\n")
    assert "taken for MODEL" not in vdgi("choose").err


def test_expect_takes_its_model_by_an_option(vdgi: Vdgi, there: Path) -> None:
    assert "name the model with --model universal" in vdgi("expect", "universal", "tagged.conllu").err


def test_text_to_train_on_is_named_by_an_option(vdgi: Vdgi, there: Path) -> None:
    status, _, err = vdgi("train", "tagged.conllu", "-o", "run")
    assert status == 2
    assert last_line(err).endswith("arguments: tagged.conllu; did you mean --train tagged.conllu?")


# ------------------------------------------------------------------------------------------- files
@pytest.mark.parametrize("verb", [["tag", "train"], ["tokenize", "train"]])
def test_a_model_is_replaced_only_if_one_says_so(vdgi: Vdgi, there: Path, verb: list[str]) -> None:
    Path("model").write_text("mine", encoding="utf-8")
    status, _, err = vdgi(*verb, "tagged.conllu", "-o", "model")
    assert (status, "exists already (--overwrite replaces it" in err) == (2, True)
    assert Path("model").read_text(encoding="utf-8") == "mine"
    vdgi.good(*verb, "tagged.conllu", "-o", "model", "--overwrite")
    assert Path("model").read_bytes() != b"mine"


def test_a_list_that_may_be_filled_in_is_replaced_only_if_one_says_so(vdgi: Vdgi, there: Path) -> None:
    Path("words.tsv").write_text("dog\tNOUN\t_\t3\n", encoding="utf-8")
    command = ["tag", "list", "tagged.conllu", "-o", "words.tsv"]
    status, _, err = vdgi(*command)
    assert (status, "exists already (--overwrite replaces it" in err) == (2, True)
    assert Path("words.tsv").read_text(encoding="utf-8") == "dog\tNOUN\t_\t3\n"
    vdgi.good(*command, "--overwrite")
    assert "NOUN" not in Path("words.tsv").read_text(encoding="utf-8")


def test_a_text_is_replaced_without_a_word(vdgi: Vdgi, there: Path) -> None:
    for _ in range(2):
        vdgi.good("tokenize", "my.tokeniser", "raw.txt", "-o", "out.conllu")
    status, _, err = vdgi("tokenize", "my.tokeniser", "raw.txt", "-o", "out.conllu", "--overwrite")
    assert (status, "--overwrite is for vdgi tokenize train" in err) == (2, True)


def test_plain_text_is_one_fault_not_one_a_line(vdgi: Vdgi, there: Path) -> None:
    text = "\r\n\n".join(["Some words.", "", *["More words."] * 30])
    (there / "raw.txt").write_text(text, encoding="utf-8")
    status, out, err = vdgi("check", "raw.txt")
    assert (status, err) == (3, "1 fault found\n")
    assert out.count("raw.txt:") == 2
    assert "this is plain text, not CoNLL-U" in out


def test_a_tokeniser_is_not_needed_to_make_one(vdgi: Vdgi, there: Path) -> None:
    said = "raw.txt:1: this is plain text, not CoNLL-U (vdgi tokenize train learns from CoNLL-U whose words"
    assert vdgi("tokenize", "train", "raw.txt", "-o", "new").err.startswith(said)
    Path("tree").write_text("(S (NN a))\n", encoding="utf-8")
    assert "vdgi convert wsj" in vdgi("tokenize", "train", "tree", "-o", "new").err


def test_conllu_is_not_read_as_raw_text(vdgi: Vdgi, there: Path) -> None:
    (there / "tagged.conllu").rename("words.txt")
    for command in (["tag", "list"], ["clusters", "-o", "out"], ["tokenize", "my.tokeniser"]):
        status, _, err = vdgi(*command, "words.txt")
        found = "words.txt:2: this is CoNLL-U, not raw text (give it a name that ends in .conllu)"
        assert (status, last_line(err)) == (3, found)
    with pytest.raises(DataError, match=r"words\.txt:2: this is CoNLL-U, not raw text"):
        plain_text.conllu_of("words.txt", None)
    (there / "words.txt").rename("words.conllu")
    assert "vdgi parse take it as it is" in vdgi("tokenize", "my.tokeniser", "words.conllu").err


def test_tags_of_which_none_is_known_stop_with_a_remedy(vdgi: Vdgi, there: Path) -> None:
    text = tiny.treebank().replace("PUNCT", "punct")
    for upper in ("NOUN", "VERB", "DET", "ADJ", "ADV", "AUX", "NUM"):
        text = text.replace(f"\t{upper}\t", f"\t{upper.lower()}\t")
    Path("small.conllu").write_text(text, encoding="utf-8")
    Path("own.conllu").write_text(text.replace("\tnoun\t", "\tN\t"), encoding="utf-8")
    Path("text.conllu").write_text(tiny.treebank(), encoding="utf-8")
    toy = str(universal.saved(there / "toy.vdgi"))
    train = ["train", "--out", "run", "--dry-run"]
    for command in (
        ["parse", toy, "-o", "out.conllu"],
        ["choose", toy],
        ["check"],
        ["check", "--model", toy],
        [*train, "--train"],
        [*train, "--preset", "best", "--train"],
        [*train, "--train", "text.conllu", "--trees"],
    ):
        status, out, err = vdgi(*command, "small.conllu")
        remedy = "small.conllu: none of the tags is known, such as noun (tags are in upper case: write NOUN"
        assert (status, remedy in out + err) == (3, True), command
    assert not Path("out.conllu").exists()
    with pytest.raises(DataError, match=r"small\.conllu: none of the tags is known"):
        look(dynet_vdgi.load(toy), conllu.read("small.conllu"))
    err = vdgi("parse", toy, "own.conllu").err
    assert ("vdgi info MODEL lists the tags" in err, "Dependencies do not have" in err) == (True, False)
    assert "train with --preset best" in vdgi(*train, "--train", "own.conllu").err
    vdgi.good(*train, "--preset", "best", "--train", "own.conllu")


def test_tokenize_names_the_command_that_scores_its_output(vdgi: Vdgi, there: Path) -> None:
    status, _, err = vdgi("tokenize", "evaluate", "tagged.conllu", "raw.txt")
    assert (status, "vdgi evaluate --raw GOLD FILE" in err) == (2, True)


def test_a_missing_tag_names_the_option_that_fills_it(vdgi: Vdgi, there: Path) -> None:
    Path("bare.conllu").write_text("1\ta\t_\t_\t_\t_\t_\t_\t_\t_\n\n", encoding="utf-8")
    assert "--tagger MODEL" in vdgi("check", "bare.conllu").out


def test_a_sound_file_is_not_called_valid(vdgi: Vdgi, there: Path) -> None:
    assert "vdgi validate FILE" in vdgi.good("check", "tagged.conllu").out.splitlines()[-1]


def test_measures_are_explained(vdgi: Vdgi, there: Path) -> None:
    tiny.write(there / "gold.conllu")
    assert LEGEND in vdgi.good("evaluate", "gold.conllu", "gold.conllu").out


# ------------------------------------------------------------------------------------------- the library
def test_unknown_tags_are_warned_of_once(caplog: pytest.LogCaptureFixture, there: Path) -> None:
    parser = dynet_vdgi.load(universal.saved(there / "toy.vdgi")).adapted("tagged.conllu")
    with caplog.at_level(logging.WARNING, "dynet_vdgi"):
        for _ in range(2):
            parser(["a", "b"], ["N", "_"])
            parser.parse(["a", "b"], ["N", "VERB"])
    assert [message.partition(" (")[0] for message in caplog.messages] == ["tags N _"]


def test_columns_may_be_iterators_but_not_numbers(there: Path) -> None:
    parser = dynet_vdgi.load(universal.saved(there / "toy.vdgi")).adapted("tagged.conllu")
    words, tags = ["a", "b"], ["NOUN", "VERB"]
    assert parser.parse(iter(words), iter(tags)) == parser.parse(words, tags)
    with pytest.raises(UsageError, match="tags=3: a list is expected"):
        parser.parse(words, 3)  # type: ignore[arg-type]


def test_a_parser_shows_what_it_has_measured(there: Path) -> None:
    parser = dynet_vdgi.load(universal.saved(there / "toy.vdgi"))
    assert repr(parser).endswith("; no text measured yet>")
    assert repr(parser.adapted("tagged.conllu")).endswith("; measured: 12 sentences>")


def test_faulty_heads_of_a_file_are_replaced(there: Path) -> None:
    parser = dynet_vdgi.load(universal.saved(there / "toy.vdgi"))
    text = Path("tagged.conllu").read_text(encoding="utf-8")
    Path("own.conllu").write_text(text.replace("\t_\t_\t_\t_\n", "\t1\tx\t_\t_\n"), encoding="utf-8")
    expected = [sentence.heads for sentence in parser.pipe("tagged.conllu")]
    assert [sentence.heads for sentence in parser.pipe("own.conllu")] == expected


@pytest.mark.parametrize(
    ("preset", "settings", "message"),
    [
        (None, {"teacher": {"iteration": 3}}, "'teacher.iterations' is for recipe=taught"),
        ("best", {"teacher": {"iteration": 3}}, "did you mean 'teacher.iterations'?"),
        ("best", {"teacher": {"relations": 3}}, "no key 'teacher.relations'"),
        ("best", {"teacher.iterations": 3}, "as in {'teacher': {'iterations': 3}}"),
    ],
)
def test_a_wrong_key_is_compared_with_those_of_its_section(
    preset: str | None, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        load_settings(*([preset] if preset else []), changes=settings)
    assert message in str(caught.value)
    assert "learning." not in str(caught.value)


# ------------------------------------------------------------------------------------------- expectations
def test_an_own_treebank_is_noticed() -> None:
    many = 10**6
    assert Outlook(1, many, [("A-B", AKIN - 0.01), ("C-D", 1.0)], []).learnt_from == "A-B"
    assert Outlook(1, many, [("A-B", AKIN + 0.01)], []).learnt_from == ""
    assert Outlook(1, ENOUGH - 1, [("A-B", AKIN - 0.01)], []).learnt_from == ""  # too short to tell


# ------------------------------------------------------------------------------------------- progress
@pytest.mark.parametrize("level", [logging.INFO, logging.WARNING])
def test_long_work_gives_signs_of_life(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, level: int
) -> None:
    monkeypatch.setattr(progress, "FIRST", 0.01)
    monkeypatch.setattr(progress, "is_shown", lambda: False)
    told = threading.Event()
    tell = progress.Bar.tell
    monkeypatch.setattr(progress.Bar, "tell", lambda lines: (tell(lines), told.set()))
    with caplog.at_level(level, "dynet_vdgi"), progress.Bar("sentences", 2000, 1000):
        assert told.wait(60 if level == logging.INFO else 0.1) == (level == logging.INFO)
    assert [m.partition(" after")[0] for m in caplog.messages[:1]] == (
        ["1,000 of 2,000 sentences"] if level == logging.INFO else []
    )


def test_nothing_is_counted_before_the_first_sentence(caplog: pytest.LogCaptureFixture) -> None:
    lines = progress.Bar("sentences")
    with caplog.at_level(logging.INFO, "dynet_vdgi"):
        lines.tell()
        assert not caplog.messages
        lines.n = 1
        lines.tell()
    lines.__exit__()
    assert caplog.messages[0].startswith("1 sentences after")
