"""`vdgi convert` of Toolbox's interlinear text: aligned columns, markers, and files with faults."""

from __future__ import annotations

from pathlib import Path

import pytest
from converting import Made, converted
from shell import Vdgi
from wording import Wording


def convert(vdgi: Vdgi, content: str | bytes, *options: str) -> Made:
    return converted(vdgi, "in.txt", content, *options)


BLOCK = r"""\_sh v3.0  400  Text

\id Tale
\ref Tale.001
\tx Numa  domuka   vanosa.
\mb Numa  domu -ka vano -sa
\ge Numa  go   PST boat GEN
\ps PROPN VERB suf NOUN suf
\ft Numa went by boat.
\nt loud
\dt 01/Jan/2020
"""
MISC = [
    "Gloss=Numa",
    "MSeg=domu-ka|MGloss=go-PST|Gloss=go-PST",
    "MSeg=vano-sa|MGloss=boat-GEN|Gloss=boat-GEN",
]


def test_every_marker_has_its_place(vdgi: Vdgi, folder: Path, wording: Wording) -> None:
    made = convert(vdgi, BLOCK, "--language", "en")
    wording.check(made.comments)
    assert [(row[0], row[1], row[2]) for row in made.words] == [
        ("Numa", "Numa", "PROPN"),
        ("domuka", "domu", "VERB"),
        ("vanosa", "vano", "NOUN"),
        (".", ".", "PUNCT"),
    ]
    assert [row[8].removesuffix("|SpaceAfter=No") for row in made.words[:3]] == MISC
    wording.check(made.err)


LINES = BLOCK.split("\n")
WRAPPED = r"""\ref 1
\tx Numa  domuka
\mb Numa  domu -ka
\ge Numa  go   PST
\ps PROPN VERB suf

\tx vanosa.
\mb vano -sa
\ge boat GEN
\ps NOUN suf
\ft Numa went by boat.
"""


@pytest.mark.parametrize(
    "content",
    [
        BLOCK,
        BLOCK.replace("\n", "\r\n"),
        WRAPPED,
        BLOCK.replace("\\mb Numa  domu -ka vano -sa", "\\mb Numa domu -ka vano -sa"),
        BLOCK.replace("\\ge Numa  go   PST boat GEN", "\\ge Numa go PST boat GEN"),
        BLOCK.replace("-ka", "=ka").replace("=ka vano", "-ka vano"),
        BLOCK.replace("\\ref Tale.001\n", ""),
        "\n" + BLOCK,
        BLOCK.replace("\\id Tale\n", ""),
        BLOCK.replace("\\tx", "\\t")
        .replace("\\mb", "\\m")
        .replace("\\ge", "\\g")
        .replace("\\ps", "\\p"),
    ],
)
def test_many_layouts_give_the_same_words(vdgi: Vdgi, folder: Path, content: str) -> None:
    made = convert(vdgi, content)
    assert [row[0] for row in made.words] == ["Numa", "domuka", "vanosa", "."]
    assert [row[8].removesuffix("|SpaceAfter=No") for row in made.words[:3]] == MISC


def test_columns_are_counted_in_characters_or_in_bytes(vdgi: Vdgi, folder: Path) -> None:
    """A gloss with a space shows which: its parts are not one for each morph."""
    rows = [
        ("tx", "äö", "vano."),
        ("mb", "äö", "vano"),
        ("ge", "go to", "boat"),
        ("ps", "VERB", "NOUN"),
    ]
    for encoding in ("utf-8", "utf-32-le"):
        unit = len("a".encode(encoding))
        lines = []
        for marker, first, second in rows:
            gap = 8 - len(first.encode(encoding)) // unit
            lines.append(f"\\{marker} {first}{' ' * gap}{second}")
        made = convert(vdgi, "\\ref 1\n" + "\n".join(lines) + "\n")
        assert [row[8].split("|")[0] for row in made.words[:2]] == ["Gloss=go to", "Gloss=boat"]


SOUND = {
    "no morphs": (
        BLOCK.replace(LINES[5] + "\n", ""),
        4,
        "sentences whose interlinear lines are not aligned",
    ),
    "glosses of words": ("\\ref 1\n\\tx go home\n\\ge V house\n", 2, ""),
    "words only": ("\\ref 1\n\\tx go home.\n", 3, ""),
    "no glosses": (BLOCK.replace(LINES[6] + "\n", ""), 4, ""),
    "too many morphs": (
        "\\ref 1\n\\tx go home\n\\mb a b c\n",
        2,
        "interlinear lines are not aligned",
    ),
    "a record without words": (
        BLOCK + "\\ref 2\n\\ft Lost.\n",
        4,
        "records without words: left out; once",
    ),
    "lines before markers": ("\\ref 1\n\\tx go\n" + BLOCK, 5, ""),
    "a long line": ("\\ref 1\n\\tx go\nhome\n", 2, ""),
    "an unknown marker": ("\\ref 1\n\\tx go\n\\zz what\n", 1, ""),
    "right to left": (
        "\\ref 1\n\\tx \u0643\u062a\u0628\n\\mb \u0643\u062a\u0628\n\\ge write\n",
        1,
        "",
    ),
    "marks alone": ("\\ref 1\n\\tx ... !\n\\mb ... !\n", 2, ""),
    "morphs without words": (
        "\\ref 1\n\\mb x\n\\tx go\n",
        1,
        "interlinear lines without a line of words: left out",
    ),
}


@pytest.mark.parametrize("name", SOUND)
def test_files_of_all_forms_are_read_and_losses_counted(
    vdgi: Vdgi, folder: Path, name: str
) -> None:
    content, n_words, loss = SOUND[name]
    made = convert(vdgi, content)
    assert len(made.words) == n_words
    assert loss in made.err
    assert ("left out" in made.err or "not aligned" in made.err) == bool(loss)


def test_unknown_markers_are_kept_as_comments(vdgi: Vdgi, folder: Path) -> None:
    assert "toolbox_zz = what" in convert(vdgi, "\\ref 1\n\\tx go\n\\zz what\n").comments


def test_other_markers_are_named_by_an_option(vdgi: Vdgi, folder: Path, wording: Wording) -> None:
    content = BLOCK.replace("\\tx", "\\wd").replace("\\ps", "\\kat")
    refused = vdgi("convert", Path("in.txt").write_text(content) and "in.txt", "-o", "out.conllu")
    assert refused.status == 3
    wording.check(refused.err)
    made = convert(vdgi, content, "--tier", "words=wd", "pos=kat")
    assert [row[2] for row in made.words] == ["PROPN", "VERB", "NOUN", "PUNCT"]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_byte_order_marks_make_no_difference(vdgi: Vdgi, folder: Path, encoding: str) -> None:
    assert len(convert(vdgi, BLOCK.encode(encoding)).words) == 4


def test_options_name_glosses_baseline_and_literal_translations(
    vdgi: Vdgi, folder: Path, wording: Wording
) -> None:
    content = "\\ref 1\n\\tx Go home\n\\gx go house\n\\bl go, home!\n\\li move house\n"
    roles = ["gloss=gx", "text=bl", "literal=li"]
    made = convert(vdgi, content, "--tier", *roles, "--language", "en")
    assert [(row[0], row[8].split("|")[0]) for row in made.words] == [
        ("go", "Gloss=go"),
        (",", "_"),
        ("home", "Gloss=house"),
        ("!", "_"),
    ]
    wording.check(made.comments)


def test_underlying_morphs_are_lemmas(vdgi: Vdgi, folder: Path) -> None:
    made = convert(vdgi, "\\ref 1\n\\tx vanosa\n\\mb vano -sa\n\\mr vanu -za\n\\ge boat GEN\n")
    assert made.words[0][1] == "vanu"
