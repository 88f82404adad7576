"""`vdgi convert wsj`: what it writes, says and refuses."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from shell import Vdgi, last_line, names_in
from wording import Wording

from dynet_vdgi.conllu import reading

MALFORMED = Path(__file__).parents[1] / "malformed_penn"

KITES = r"""
( (S
    (NP-SBJ-1 (DT the) (NNS kites) )
    (VP (VBP want)
      (S
        (NP-SBJ (-NONE- *-1) )
        (VP (TO to)
          (VP (VB fly)
            (NP-MNR (-LRB- -LRB-) (CD 3\/4) (NNS yards) (-RRB- -RRB-) )))))
    (. .) ))
( (FRAG (NP ($ $) (CD 5) )))
"""

CONVERTED = r"""# sent_id = wsj_0101-1
1 the _ DET DT _ 2 dep _ _
2 kites _ NOUN NNS _ 3 dep _ _
3 want _ VERB VBP _ 0 root _ _
4 to _ PART TO _ 5 dep _ _
5 fly _ VERB VB _ 3 dep _ _
6 -LRB- _ PUNCT -LRB- _ 8 punct _ _
7 3\/4 _ NUM CD _ 8 dep _ _
8 yards _ NOUN NNS _ 5 dep _ _
9 -RRB- _ PUNCT -RRB- _ 8 punct _ _
10 . _ PUNCT . _ 3 punct _ _

# sent_id = wsj_0101-2
1 $ _ SYM $ _ 2 dep _ _
2 5 _ NUM CD _ 0 root _ _

"""


@pytest.fixture
def treebank(folder: Path) -> Path:
    """Files of sections 1, 2 and 4, each with the sentences above."""
    for name in ("01/wsj_0101", "01/wsj_0103", "02/wsj_0200", "02/wsj_0201", "04/wsj_0444"):
        path = folder / "wsj" / f"{name}.mrg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(KITES, encoding="utf-8")
    return folder / "wsj"


def files_in(text: str) -> list[str]:
    """The files that the sentences are from."""
    ids = [line.split(" = ")[1] for line in text.splitlines() if line.startswith("# sent_id")]
    assert [one.split("-")[1] for one in ids] == ["1", "2"] * (len(ids) // 2)
    return [one.split("-")[0] for one in ids[::2]]


def test_what_it_writes(vdgi: Vdgi, treebank: Path, wording: Wording) -> None:
    result = vdgi.good("convert", "wsj", "wsj", "--files", "1", "-o", "out.conllu")
    assert result.out == ""
    wording.check(result.err)
    assert Path("out.conllu").read_text(encoding="utf-8").replace("\t", " ") == CONVERTED
    assert [sentence.heads for sentence in reading.read("out.conllu", heads="required")] == [
        (2, 3, 0, 5, 3, 8, 8, 5, 8, 3),
        (2, 0),
    ]
    checked = vdgi.good("check", "out.conllu")
    assert checked.out.startswith("out.conllu: sound\n")
    assert checked.err == ""


def test_policy_and_head_rules(vdgi: Vdgi, treebank: Path, wording: Wording) -> None:
    result = vdgi.good(
        "convert", "wsj", "wsj", "--files", "1", "--policy", "wsj10", "--heads", "collins"
    )
    wording.check(result.err)
    collins = CONVERTED.replace("4 to _ PART TO _ 5", "4 to _ PART TO _ 3")
    collins = collins.replace("5 fly _ VERB VB _ 3", "5 fly _ VERB VB _ 4")
    collins = collins.replace("1 $ _ SYM $ _ 2 dep", "1 $ _ PUNCT $ _ 0 root")
    collins = collins.replace("2 5 _ NUM CD _ 0 root", "2 5 _ NUM CD _ 1 dep")
    assert result.out.replace("\t", " ") == collins


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("", "0101 0103 0200 0201 0444"),
        ("--sections 1-2", "0101 0103 0200 0201"),
        ("--sections 4,1", "0101 0103 0444"),
        ("--sections 2", "0200 0201"),
        ("--files 2-4", "0103 0200 0201"),
        ("--files 5,1-2", "0101 0103 0444"),
        ("--sections 2,4 --files 2-3", "0201 0444"),
    ],
)
def test_sections_and_files(vdgi: Vdgi, treebank: Path, options: str, expected: str) -> None:
    result = vdgi.good("-q", "convert", "wsj", "wsj", *options.split())
    assert files_in(result.out) == [f"wsj_{number}" for number in expected.split()]


@pytest.mark.parametrize(
    "arguments",
    [
        "wsj --sections 1-4",
        "wsj --sections 2-1",
        "wsj --sections 2-",
        "wsj --sections 1,,2",
        "wsj --sections two",
        "wsj --files 0-2",
        "wsj --files 6",
        "wsj --sections 1 --files 1-3",
        "wsj --files 1.5",
        "wsj --heads colins",
        "wjs",
        ".",
        "wsj -o wsj",
    ],
)
def test_wrong_use(vdgi: Vdgi, treebank: Path, arguments: str, wording: Wording) -> None:
    status, out, err = vdgi("convert", "wsj", *arguments.split())
    assert (status, out) == (2, "")
    wording.check(last_line(err))
    assert names_in(treebank.parent) == ["wsj"]


def test_nothing_is_written_for_a_malformed_file(vdgi: Vdgi, treebank: Path) -> None:
    """The third of five files is at fault; the output keeps what it had."""
    bad = Path("wsj", "02", "wsj_0200.mrg")
    shutil.copyfile(MALFORMED / "label-alone.mrg", bad)
    Path("out.conllu").write_text("as it was\n", encoding="utf-8")
    status, out, err = vdgi("convert", "wsj", "wsj", "-o", "out.conllu")
    assert (status, out) == (3, "")
    assert err.startswith(f"{bad}:")
    assert Path("out.conllu").read_text(encoding="utf-8") == "as it was\n"
    assert names_in(treebank.parent) == ["out.conllu", "wsj"]
    assert vdgi("-q", "convert", "wsj", "wsj") == (3, "", err)
