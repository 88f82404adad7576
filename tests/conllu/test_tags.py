"""Tags from XPOS: what is read, what is punctuation, what models make of it; and that UPOS stays."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import tiny
from shell import Vdgi, last_line
from wording import Wording

from dynet_vdgi.conllu import reading
from dynet_vdgi.conllu.filtering import prepare
from dynet_vdgi.conllu.protocols import AS_RELEASED, STANDARD
from dynet_vdgi.conllu.punctuation import without_punctuation
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.errors import DataError
from dynet_vdgi.models import model_file
from dynet_vdgi.settings import settings

XPOS = ["--set", "data.tags=xpos"]
BEST = ["--preset", "best"]
MISSING = "column 5 (XPOS) is missing (tags are taken from there: fill it, or set data.tags=upos)"


def with_columns(text: str, upos: dict[str, str], xpos: dict[str, str]) -> str:
    """CoNLL-U text whose UPOS and XPOS columns are made of its UPOS."""
    lines = []
    for line in text.split("\n"):
        columns = line.split("\t")
        if len(columns) == 10:
            columns[3], columns[4] = upos[columns[3]], xpos.get(columns[3], "_")
        lines.append("\t".join(columns))
    return "\n".join(lines)


SAME = {tag: tag for tag in tiny.PENN}
BOTH = with_columns(tiny.treebank(), SAME, tiny.PENN)
"""The tiny treebank with tags of the Penn Treebank in XPOS."""

SWAPPED = with_columns(tiny.treebank(), {**tiny.PENN, "PUNCT": "PUNCT"}, {})
"""The tiny treebank with the same tags in UPOS, except where that says PUNCT."""

RULES = "ROOT VBD 0.5\nVBD NN 0.5\nNN DT 0.25\nNN JJ 1\n"


@pytest.fixture
def files(folder: Path) -> Path:
    """both.conllu, swapped.conllu and rules.txt in the present folder."""
    for name, text in (("both.conllu", BOTH), ("swapped.conllu", SWAPPED), ("rules.txt", RULES)):
        Path(name).write_text(text, encoding="utf-8")
    return folder


def train(vdgi: Vdgi, text: str, out: str, *options: str) -> Path:
    """A small model of a file, under the rules of rules.txt."""
    vdgi.good(
        "train",
        "--train",
        text,
        "--rules",
        "rules.txt",
        *tiny.SMALL_OPTIONS,
        *options,
        "--out",
        out,
    )
    return Path(out, settings.MODEL_NAME)


def test_the_column_is_chosen(files: Path) -> None:
    by_upos, by_xpos = (list(reading.read("both.conllu", tags=tags)) for tags in ("upos", "xpos"))
    assert by_upos == list(reading.read("both.conllu"))
    for universal, penn in zip(by_upos, by_xpos):
        assert universal.upos == ()
        assert penn.upos == universal.tags
        assert penn.tags == tuple(tiny.PENN[tag] for tag in universal.tags)
        assert replace(penn, tags=universal.tags, upos=()) == universal


def test_the_column_must_be_filled(folder: Path, wording: Wording) -> None:
    text = BOTH.replace("\tVERB\tVBD\t", "\tVERB\t_\t", 3)
    Path("gap.conllu").write_text(text, encoding="utf-8")
    line = next(number for number, line in enumerate(text.split("\n"), 1) if "\tVERB\t_\t" in line)
    with pytest.raises(DataError) as caught:
        list(reading.read("gap.conllu", tags="xpos"))
    assert str(caught.value) == f"gap.conllu:{line}: {MISSING}"
    told: list[DataError] = []
    kept = list(reading.read("gap.conllu", tags="xpos", on_error=told.append))
    assert (len(told), len(kept)) == (3, 9)
    assert len(list(reading.read("gap.conllu"))) == 12
    Path("gap.conllu").write_text(BOTH.replace("\tVERB\tVBD\t", "\t_\tVBD\t"), encoding="utf-8")
    with wording.raises(DataError):
        list(reading.read("gap.conllu"))


def test_upos_tells_what_is_punctuation() -> None:
    sentence = Sentence(
        ("«", "us", "$", "pay", "."),
        ("PUNCT", "PRP", "$", "VB", "NN"),  # misleading on purpose
        (2, 4, 4, 0, 4),
        upos=("NOUN", "PRON", "SYM", "VERB", "PUNCT"),
    )
    short, positions = without_punctuation(sentence)
    assert positions == (1, 2, 3, 4)
    assert (short.tags, short.upos) == (
        ("PUNCT", "PRP", "$", "VB"),
        ("NOUN", "PRON", "SYM", "VERB"),
    )
    assert short.heads == (2, 4, 4, 0)
    assert prepare([sentence], STANDARD, max_len=4).n_words == 4
    assert prepare([sentence], AS_RELEASED).sentences == [sentence]
    assert len(without_punctuation(replace(sentence, upos=("PUNCT",) * 5))[0]) == 0


def test_a_model_is_that_of_a_file_with_these_tags_in_upos(vdgi: Vdgi, files: Path) -> None:
    """Bit for bit; and so are its trees, with punctuation told by UPOS in either file."""
    penn = train(vdgi, "both.conllu", "penn", *XPOS)
    same = train(vdgi, "swapped.conllu", "same")
    mine, other = (model_file.load(path, training=True) for path in (penn, same))
    assert mine.settings.data.tags == "xpos"
    assert mine.vocabulary.tags == tuple(sorted(set(tiny.PENN.values()) - {"."}))
    assert mine.vocabulary == other.vocabulary
    assert tiny.same_arrays(mine.parameters, other.parameters)
    for options in ([], ["--jobs", "2"]):
        trees = []
        for model, text in ((penn, "both.conllu"), (same, "swapped.conllu")):
            result = vdgi.good("parse", model, text, "-o", "out.conllu", *options)
            assert "unknown to the model" not in result.err
            trees.append([sentence.heads for sentence in reading.read("out.conllu")])
        assert trees[0] == trees[1]


def test_a_missing_tag_stops_training_parsing_and_counting(vdgi: Vdgi, files: Path) -> None:
    model = train(vdgi, "both.conllu", "penn", *XPOS)
    message = f"swapped.conllu:2: {MISSING}"
    for arguments in (
        ["train", *BEST, "--train", "swapped.conllu", *XPOS, "--out", "run"],
        [
            "train",
            *BEST,
            "--train",
            "both.conllu",
            "--dev",
            "swapped.conllu",
            *XPOS,
            "--out",
            "run",
        ],
        [
            "train",
            *BEST,
            "--train",
            "both.conllu",
            "--trees",
            "swapped.conllu",
            *XPOS,
            "--out",
            "run",
        ],
        ["parse", str(model), "swapped.conllu", "-o", "run"],
        [
            "rules",
            "estimate",
            "swapped.conllu",
            "--rules",
            "rules.txt",
            "--tags",
            "xpos",
            "-o",
            "run",
        ],
    ):
        status, out, err = vdgi(*arguments)
        assert (status, out, last_line(err)) == (3, "", message)
        assert not Path("run").exists()
