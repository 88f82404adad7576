"""What people have reported of programs of this trade: each input of two rounds of trials, and what
comes of it.

The inputs are in the folders `bugs` and `bugs-2` of the treebanks' folder. A row has a command, its exit status
and a pattern in what it prints (standard output and messages together). Names in braces are files in the present
folder: `{file}` is the input, `{out}` an output.
"""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from annotating import seen
from shell import Vdgi

from dynet_vdgi import cli
from dynet_vdgi.errors import DataError, UsageError, VdgiError
from dynet_vdgi.models import model_file
from dynet_vdgi.page.store.session import Session
from dynet_vdgi.page.text.sentence_blocks import block
from dynet_vdgi.settings.bundled import resources

DEMO = resources() / "demo" / "welsh-tagged.conllu"
FOLDERS = ("bugs", "bugs-2")


class Row(NamedTuple):
    """One command and what must come."""

    command: str
    status: int
    pattern: str = ""  # a regular expression; "": anything
    absent: str = ""  # what must not be there
    # the columns, from 1 on, that the output has as the input, and all comments and token lines
    keeps: str = ""


CHECK, PARSE = "check {file}", "parse universal {file} -o {out}"
SOUND = Row(CHECK, 0, "sound: this program can use it")
PARSED = Row(PARSE, 0, keeps="1-6 9-10")
UD = "check {file} --ud"
TOKENISED = "tokenize {tokeniser} {file}"
NEURAL = "train --train {demo} --preset paper --set parser.word_dim=4 --out run --dry-run"
VECTORS = f"{NEURAL} --set words.vectors={{file}}"
CLUSTERS = f"{NEURAL} --set words.clusters={{file}}"

ROWS: dict[str, list[Row]] = {
    # The first round.
    "bugs/blank.paths": [Row(CLUSTERS, 0, r"clusters: \d+ of \d+ words")],
    "bugs/bom.paths": [Row(CLUSTERS, 0, r"clusters: \d+ of \d+ words")],
    "bugs/comment_trailing_at_end.conllu": [
        Row(CHECK, 3, r":5: comments without a sentence \(remove them"),
        Row(PARSE, 3, r":5: comments without a sentence"),
    ],
    "bugs/conllu_plus_10_reordered.conllu": [
        Row(command, 3, ":1: this is CoNLL-U Plus") for command in (CHECK, PARSE)
    ],
    "bugs/empty_node_10.conllu": [SOUND, PARSED],
    "bugs/invisible_characters.txt": [
        Row(
            TOKENISED,
            0,
            "(?s)\tgwrth\u00adwynebiad\t.*\tgerdd\u200dfa\t.*\tplant\u200b\t.*\t\u0645\u06cc\u200c",
        ),
    ],
    "bugs/misc_double_pipe.conllu": [SOUND, PARSED],
    "bugs/misc_no_equals.conllu": [SOUND, PARSED],
    "bugs/misc_verbatim_nbsp_SpacesAfter.conllu": [SOUND, PARSED],
    "bugs/mwt_with_space_form.conllu": [SOUND, PARSED],
    "bugs/nfc_gold.conllu": [
        Row(
            f"evaluate{how} {{file}} {{bugs/nfd_system.conllu}}",
            3,
            "differ only in Unicode normalisation",
        )
        for how in ("", " --raw")
    ],
    "bugs/nfd_system.conllu": [SOUND, PARSED],
    "bugs/r1.txt": [
        Row(f"{TOKENISED} {{bugs/r2.txt}}", 0, "(?s)newdoc id = .*Helo.*newdoc id = .*Dyma")
    ],
    "bugs/r2.txt": [Row(TOKENISED, 0, "# text = Dyma ni.")],
    "bugs/tiny.conllu.bz2": [
        Row(command, 3, "a bzip2 file, not text .unpack it first") for command in (CHECK, PARSE)
    ],
    "bugs/tiny.conllu.xz": [
        Row(command, 3, "an xz file, not text .unpack it first") for command in (CHECK, PARSE)
    ],
    "bugs/two_roots.g.conllu": [
        Row(
            f"evaluate{how} {{file}} {{bugs/two_roots.s.conllu}}", 3, ":1: HEAD is 0 for every word"
        )
        for how in ("", " --raw")
    ],
    "bugs/two_roots.s.conllu": [
        Row(
            "evaluate --raw {file} {bugs/two_roots.g.conllu}",
            3,
            "g.conllu:1: HEAD is 0 for every word",
        ),
    ],
    "bugs/validate_double_nbsp_form.conllu": [Row(UD, 3, "repeated-whitespace"), PARSED],
    "bugs/validate_edep_unknown.conllu": [Row(UD, 3, "unknown-eudeprel"), PARSED],
    "bugs/validate_edeps_sometimes.conllu": [Row(UD, 3, "edeps-only-sometimes"), PARSED],
    "bugs/validate_misc_space_around2.conllu": [Row(UD, 0, "warning: misc-extra-space"), PARSED],
    "bugs/validate_nospaceafter_yes.conllu": [Row(UD, 3, "nospaceafter-yes"), PARSED],
    "bugs/validate_parallel_bad.conllu": [Row(UD, 3, "invalid-parallel-id"), PARSED],
    "bugs/validate_repeated_misc_key_twice_same.conllu": [Row(UD, 3, "repeated-misc"), PARSED],
    "bugs/validate_slash2.conllu": [Row(UD, 3, "slash-in-sent-id"), PARSED],
    "bugs/validate_spaceafterno_then_newpar.conllu": [Row(UD, 3, "spaceafter-newdocpar"), PARSED],
    "bugs/written_by_vdgi_feats_empty.conllu": [Row(CHECK, 3, r":1: column 6 \(FEATS\) is empty")],
    "bugs/keep/control.txt": [Row(TOKENISED, 3, ":1: NUL byte")],
    "bugs/keep/empty_node_0.1_before_mwt.conllu": [SOUND, PARSED],
    "bugs/keep/empty_node_10.conllu": [SOUND, PARSED],
    "bugs/keep/empty_node_inside_mwt.conllu": [SOUND, PARSED],
    "bugs/keep/ft_nbsp_word.vec": [Row(VECTORS, 0, r"vectors: \d+ of \d+ words .* 10 dimensions")],
    "bugs/keep/glove840_dots.txt": [Row(VECTORS, 3, r"glove840_dots\.txt")],
    "bugs/keep/ls_ps.txt": [Row(TOKENISED, 0, "4 sentences, 9 tokens")],
    "bugs/keep/misc_headconf_already.conllu": [
        SOUND,
        Row(PARSE, 0, absent="HeadConf=", keeps="1-6 9"),
    ],
    "bugs/keep/mwt_single_word.conllu": [SOUND, PARSED],
    "bugs/keep/numbers_and_specials.conllu": [SOUND, PARSED],
    "bugs/keep/w2v_badutf8.bin": [Row(VECTORS, 0, r"vectors: \d+ of \d+ words .* 10 dimensions")],
    "bugs/keep/ws_inside_form_ls.conllu": [SOUND, PARSED],
    # The second round.
    "bugs-2/expect_all_x.conllu": [
        Row("expect {file}", 0, "no share of right heads can be expected", absent="right heads, %"),
        Row(
            "parse universal {file} --confidence -o {out}",
            0,
            "say next to nothing",
            absent="of the heads are right",
        ),
        Row(CHECK, 0, "the tags say next to nothing: 100.0 % of the words have the tag X"),
    ],
    "bugs-2/keep_heads_final_stop.conllu": [
        Row(
            "parse universal {file} --keep-heads -o {out}",
            0,
            "4\tbeag\tbeag\tADJ\tA\t_\t[1-3]\t",
            keeps="1-6 9-10",
        ),
    ],
    "bugs-2/raw_gold_without_heads.gold.conllu": [
        Row(
            "evaluate --raw {file} {bugs-2/raw_gold_without_heads.sys.conllu}",
            0,
            r"(?s)UAS +- +- +-.*LAS +- +- +-.*7 of 7 words without HEAD",
        ),
    ],
    "bugs-2/raw_gold_without_heads.sys.conllu": [
        Row("evaluate --raw {file} {file}", 0, r"LAS +100\.00"),
        SOUND,
    ],
    "bugs-2/tag_evaluate_lemma_missing.conllu": [
        Row(
            "tag evaluate {tagger} {file}",
            0,
            r"(?s)lemma +\d +3 .*4 words of the gold file left out, without lemma",
        ),
    ],
    # Vectors: what is no text with numbers is refused, with its line or by name.
    "bugs-2/vectors_decimal_commas.vec": [Row(VECTORS, 3, r"vectors_decimal_commas\.vec:2")],
    "bugs-2/vectors_two_spaces.vec": [Row(VECTORS, 3, r"vectors_two_spaces\.vec:2")],
    "bugs-2/vectors_header_too_few.vec": [
        Row(VECTORS, 3, r":1: the header says 3 rows, the file has 6 \(")
    ],
    "bugs-2/vectors_word_counts.txt": [Row(VECTORS, 3, r"(?i)count|dimension")],
    "bugs-2/vectors_zipped.zip": [Row(VECTORS, 3, r"(?i)\bzip\b", absent="could not convert")],
    # Other people's files.
    "bugs-2/conll2003.conllu": [
        Row(CHECK, 3, r"(?i)conll-?2003|table", absent="this is plain text")
    ],
    "bugs-2/draw_partial.conllu": [Row("draw {file}", 0, r"3 oer .*\n4 , ")],
    "bugs-2/feats_conll_x.conllu": [Row(CHECK, 3, r"CoNLL-X")],
    "bugs-2/feats_empty_value.conllu": [Row(CHECK, 3, r":4: FEATS .*Poss=.*(feats|column|_)")],
    "bugs-2/lang_three_letters.sh": [
        Row(
            "check {bugs-2/raw_gold_without_heads.sys.conllu} --ud --lang cym",
            2,
            r"\bcy\b",
            absent="unknown-deprel",
        ),
    ],
    "bugs-2/misc_form_feed_SpacesAfter.conllu": [SOUND, PARSED],
    "bugs-2/plus_11_columns.conllu": [SOUND, Row(PARSE, 0, keeps="1-6 9-11")],
    "bugs-2/tokenise_unseen_marks.txt": [
        Row(TOKENISED, 0, r"(?s)\t8/2013\t.*\t30\t.*\t\)\t.*\t12/05/2019\t.*\t!\t"),
    ],
}


SCRIPTS: dict[str, tuple[type[VdgiError] | None, str]] = {
    # what a script raises, and what its error says or what it prints
    "bugs/from_conllu_empty.py": (DataError, "a sentence with no words"),
    "bugs/surrogate.py": (UsageError, r"words: .* has half a character .*\(word 1\)"),
    "bugs/write_unchecked.py": (UsageError, "word 1: .*LEMMA.* cannot hold a tab"),
    "bugs-2/evaluate_heads_out_of_range.py": (
        DataError,
        "sentence 1 of the prediction .*word 6, HEAD 99 is outside",
    ),
    "bugs-2/from_conllu_appended_token.py": (
        None,
        r"\('NOUN', 'VERB', 'ADV'\) .*'_'\) \(2, 0, 2\)",
    ),
    "bugs-2/from_conllu_key_order.py": (None, r"\('NOUN',\) \('cath',\)"),
}


def opened_two_roots(session: Session) -> None:
    """The roots are open, and so is nothing else that can be."""
    assert block(session.sentences[0]).count("\n") == 10


def opened_self_head(session: Session) -> None:
    assert "4\t,\t,\tPUNCT\t_\t_\t4\t" not in block(session.sentences[0])


def joined_misc(session: Session) -> None:
    """Both values of `Entity` and `Gloss` are there after words 1 and 2 are joined."""
    session.change(0, seen(session.text.of_id(0)), "join", 1)
    text = block(session.text.of_id(0))
    assert "\tEntity=(e1-place)|Gloss=fort.day" in text  # the mention is one word now


PAGES: dict[str, Callable[[Session], None]] = {
    "bugs-2/annotate_join_misc.conllu": joined_misc,
    "bugs-2/annotate_self_head.conllu": opened_self_head,
    "bugs-2/annotate_two_roots.conllu": opened_two_roots,
}

WEIGHT_DECAY = "bugs-2/dynet_weight_decay.py"


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A Welsh tokeniser and tagger, as the README makes them."""
    folder = tmp_path_factory.mktemp("steps")
    for verb, name in (("tag", "welsh.tagger"), ("tokenize", "welsh.tokeniser")):
        assert cli.main([verb, "train", str(DEMO), "-o", str(folder / name), "-q"]) == 0
    return {
        "tagger": str(folder / "welsh.tagger"),
        "tokeniser": str(folder / "welsh.tokeniser"),
        "demo": str(DEMO),
    }


@pytest.fixture
def inputs(data_dir: Path, folder: Path) -> Path:
    """The present folder, with copies of all inputs."""
    for name in FOLDERS:
        if not (data_dir / name).is_dir():
            pytest.skip(f"no reports in {data_dir / name}")
        shutil.copytree(data_dir / name, folder / name)
    shutil.copytree(data_dir / "bugs-2", folder / "open")  # as the scripts call it
    return folder


def columns_of(text: str, wanted: str) -> list[list[str] | str]:
    """Comments, empty lines and the wanted columns of token lines."""
    numbers = []
    for part in wanted.split():
        first, _, last = part.partition("-")
        numbers += range(int(first), int(last or first) + 1)
    rows: list[list[str] | str] = []
    for line in text.split("\n"):
        columns = line.split("\t")
        is_token = len(columns) > 1 and not line.startswith("#")
        rows.append([columns[k - 1] for k in numbers] if is_token else line)
    return rows


def rows() -> list[object]:
    return [
        pytest.param(name, row, id=f"{Path(name).stem}: {row.command.partition(' {')[0][:30]}")
        for name, every in ROWS.items()
        for row in every
    ]


def test_each_input_has_its_row(inputs: Path) -> None:
    files = {
        str(path.relative_to(inputs))
        for name in FOLDERS
        for path in (inputs / name).rglob("*")
        if path.is_file()
    }
    assert files == {*ROWS, *SCRIPTS, *PAGES, WEIGHT_DECAY}


@pytest.mark.parametrize(("name", "row"), rows())
def test_what_people_reported_is_mended(
    vdgi: Vdgi,
    inputs: Path,
    steps: dict[str, str],
    request: pytest.FixtureRequest,
    name: str,
    row: Row,
) -> None:
    if "--ud" in row.command:
        pytest.importorskip("udtools")
    files = {"file": name, "out": "out.conllu", **steps}
    arguments = [files.get(each.strip("{}"), each.strip("{}")) for each in row.command.split(" ")]
    arguments = [each.replace("{file", name).replace("{", "") for each in arguments]
    result = vdgi(*arguments)
    out = Path("out.conllu")
    written = out.read_bytes().decode() if out.exists() else ""
    every = f"{result.out}\n{written}\n{result.err}"
    assert result.status == row.status, every
    assert re.search(row.pattern, every), every
    assert not row.absent or row.absent not in every, every
    if row.keeps:
        before = Path(name).read_bytes().decode()
        assert columns_of(written, row.keeps) == columns_of(before, row.keeps)


@pytest.mark.parametrize("name", SCRIPTS)
def test_what_scripts_of_reports_do(
    inputs: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    error, pattern = SCRIPTS[name]
    if error is None:
        runpy.run_path(name)
        assert re.search(pattern, capsys.readouterr().out)
        return
    with pytest.raises(error, match=pattern):
        runpy.run_path(name)


@pytest.mark.parametrize("name", PAGES)
def test_what_the_page_does_with_files_of_reports(inputs: Path, name: str) -> None:
    session = Session(name, "anna", "right")
    try:
        PAGES[name](session)
    finally:
        session.release()


@pytest.mark.slow
def test_weight_decay_of_another_program_changes_no_model(inputs: Path) -> None:
    """The report's script, as it is and without its option."""
    script, learnt = Path(WEIGHT_DECAY).read_text(encoding="utf-8"), []
    for text in (script, script.replace("weight_decay=0.5", "weight_decay=0")):
        subprocess.run([sys.executable, "-c", text], check=True, capture_output=True)
        model = model_file.load(Path("decayed.vdgi"))
        learnt.append({key: array.tobytes() for key, array in model.parameters.items()})
    assert learnt[0] == learnt[1]
