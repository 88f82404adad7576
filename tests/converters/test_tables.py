"""`vdgi convert` of tables: CoNLL-X, CoNLL-2009, CoNLL-2003, Malt-TAB, MST, CSV; what is kept,
lost, refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from shell import Vdgi
from wording import Wording

from dynet_vdgi.conllu import reading

X = (
    "1 De den pn PN UTR|SIN 2 SS _ _\n2 gick gå vb VB PRT|AKT 0 ROOT _ _\n"
    "3 hem hem ab AB _ 2 RA 2 RA\n4 . . mad MAD _ 2 IP _ _\n"
)
C2009 = (
    "1 Dogs dog dog NNS NNS _ _ 2 2 SBJ SBJ _ _ A0\n"
    "2 bark bark bark VBP VBP Tense=Pres _ 0 0 ROOT ROOT Y bark.01 _\n"
)
PREDICATE = "PHead=0|PDeprel=ROOT|PLemma=bark|PPos=VBP|FillPred=Y|Pred=bark.01"
C2003 = "-DOCSTART- -X- -X- O\n\nMae VB B-VP O\nAnna NNP B-NP B-PER\n\nyma RB B-ADVP O\n"
MALT = "De PN 2 SS\ngick VB 0 ROOT\n. MAD 2 IP\n"
MST = "De gick .\nPN VB MAD\nSS ROOT IP\n2 0 2\n"


def tabs(text: str) -> str:
    """The text with tabs for blanks."""
    return text.replace(" ", "\t")


def rows(path: str = "out.conllu") -> list[list[str]]:
    """The columns of all words, without their numbers."""
    lines = Path(path).read_text(encoding="utf-8").split("\n")
    return [line.split("\t")[1:] for line in lines if line[:1].isdigit()]


def converted(
    vdgi: Vdgi, text: str, *options: str, name: str = "in.txt", encoding: str = "utf-8"
) -> str:
    """Converts a text, and gives what the command says of it."""
    Path(name).write_text(text, encoding=encoding, newline="")
    return vdgi.good("convert", name, *options, "-o", "out.conllu").err


def test_conll_x_keeps_heads_relations_and_both_tags(
    vdgi: Vdgi, folder: Path, wording: Wording
) -> None:
    err = converted(vdgi, tabs(X) + "\n")
    assert rows() == [
        ["De", "den", "_", "PN", "_", "2", "SS", "_", "CPosTag=pn|OrigFeats=UTR\\pSIN"],
        ["gick", "gå", "_", "VB", "_", "0", "ROOT", "_", "CPosTag=vb|OrigFeats=PRT\\pAKT"],
        [
            "hem",
            "hem",
            "_",
            "AB",
            "_",
            "2",
            "RA",
            "_",
            "CPosTag=ab|PHead=2|PDeprel=RA|SpaceAfter=No",
        ],
        [".", ".", "_", "MAD", "_", "2", "IP", "_", "CPosTag=mad"],
    ]
    wording.check(err)

    assert vdgi.good("check", "out.conllu", "--tags", "xpos").out.startswith("out.conllu: sound\n")


@pytest.mark.parametrize(
    ("feats", "column", "misc"),
    [
        ("UTR|SIN", "_", "OrigFeats=UTR\\pSIN"),
        ("NUMBs|GENDn", "_", "OrigFeats=NUMBs\\pGENDn"),
        ("N;SG", "_", "OrigFeats=N;SG"),
        ("Poss=", "_", "OrigFeats=Poss="),
        ("_|doc=a|sent_id=1", "_", "OrigFeats=_\\pdoc=a\\psent_id=1"),
        ("a\\b", "_", "OrigFeats=a\\\\b"),
        ("Number=Plur|Case=Nom", "Case=Nom|Number=Plur", "_"),
        ("_", "_", "_"),
    ],
)
def test_feats_of_any_form_are_kept_and_the_file_is_sound(
    vdgi: Vdgi, folder: Path, feats: str, column: str, misc: str
) -> None:
    err = converted(vdgi, f"1\tword\tword\tNOUN\tN\t{feats}\t0\troot\t_\t_\n\n")
    assert (rows()[0][4], rows()[0][8]) == (column, misc)
    assert ("OrigFeats" in err) == ("OrigFeats" in misc)
    assert vdgi.good("check", "out.conllu").out.startswith("out.conllu: sound\n")


def test_conll_2009_keeps_gold_columns_in_place_and_the_others_in_misc(
    vdgi: Vdgi, folder: Path
) -> None:
    converted(vdgi, tabs(C2009) + "\n")
    assert rows() == [
        [
            "Dogs",
            "dog",
            "_",
            "NNS",
            "_",
            "2",
            "SBJ",
            "_",
            "PHead=2|PDeprel=SBJ|PLemma=dog|PPos=NNS|APred1=A0",
        ],
        ["bark", "bark", "_", "VBP", "Tense=Pres", "0", "ROOT", "_", PREDICATE],
    ]


def test_conll_2003_keeps_tags_chunks_names_and_documents(vdgi: Vdgi, folder: Path) -> None:
    converted(vdgi, C2003)
    text = Path("out.conllu").read_text(encoding="utf-8")
    assert [line for line in text.split("\n") if line[:1] == "#"] == [
        "# newdoc id = in",
        "# sent_id = in-1",
        "# text = Mae Anna",
        "# sent_id = in-2",
        "# text = yma",
    ]
    assert [row[3] + " " + row[8] for row in rows()] == [
        "VB Chunk=B-VP|NER=O",
        "NNP Chunk=B-NP|NER=B-PER",
        "RB Chunk=B-ADVP|NER=O",
    ]


@pytest.mark.parametrize(
    "text",
    [tabs(MALT), tabs(MST), tabs(MST).replace("\n", "\t\n")],
    ids=["malt", "mst", "mst-tabs"],
)
def test_malt_and_mst_give_the_same_words_and_trees(vdgi: Vdgi, folder: Path, text: str) -> None:
    converted(vdgi, text + "\n")
    assert [[row[0], row[3], row[5], row[6]] for row in rows()] == [
        ["De", "PN", "2", "SS"],
        ["gick", "VB", "0", "ROOT"],
        [".", "MAD", "2", "IP"],
    ]


@pytest.mark.parametrize(
    "text",
    [
        "form,upos,head,deprel,sentence\nDogs,NOUN,2,nsubj,1\nbark,VERB,0,root,1\nGo,VERB,0,root,2\n",
        'sent_id;Token;POS;head;rel\n1;"Dogs";NOUN;2;nsubj\n1;bark;VERB;0;root\n2;Go;VERB;0;root\n',
        "id\tword\tUPOS\thead\tdeprel\n1\tDogs\tNOUN\t2\tnsubj\n2\tbark\tVERB\t0\troot\n1\tGo\tVERB\t0\troot\n",
        "token,pos,head,dep\nDogs,NOUN,2,nsubj\nbark,VERB,0,root\n,,,\nGo,VERB,0,root\n",
    ],
    ids=["commas", "semicolons", "tabs", "empty rows"],
)
def test_tables_with_headings_are_read_by_them(vdgi: Vdgi, folder: Path, text: str) -> None:
    converted(vdgi, text)
    sentences = list(reading.read("out.conllu", heads="required"))
    assert [(one.forms, one.tags, one.heads, one.deprels) for one in sentences] == [
        (("Dogs", "bark"), ("NOUN", "VERB"), (2, 0), ("nsubj", "root")),
        (("Go",), ("VERB",), (0,), ("root",)),
    ]


def test_columns_read_any_table(vdgi: Vdgi, folder: Path) -> None:
    converted(vdgi, "NOUN Dogs dog x\nVERB bark bark y\n\n", "--columns", "tag,form,lemma,_")
    assert [row[:3] for row in rows()] == [["Dogs", "dog", "NOUN"], ["bark", "bark", "VERB"]]


def test_a_table_of_tags_gives_upos(vdgi: Vdgi, folder: Path) -> None:
    Path("mine.tags").write_text(
        "# Swedish\nPN PRON\nvb\tVERB\n\nAB ADV\nMAD PUNCT\n", encoding="utf-8"
    )
    err = converted(vdgi, tabs(X) + "\n", "--tags", "mine.tags")
    assert [row[2:4] for row in rows()] == [
        ["PRON", "PN"],
        ["VERB", "VB"],
        ["ADV", "AB"],
        ["PUNCT", "MAD"],
    ]
    assert "UPOS" not in err


def test_a_few_odd_tags_leave_the_others_in_upos(
    vdgi: Vdgi, folder: Path, wording: Wording
) -> None:
    text = "".join(
        f"{n}\tw\tw\t{'NOUN' if n < 20 else 'nuon'}\t_\t_\t{n - 1}\tx\t_\t_\n" for n in range(1, 21)
    )
    err = converted(vdgi, text + "\n")
    assert {row[2] for row in rows()[:19]} == {"NOUN"}
    assert rows()[19][2:4] == ["_", "nuon"]
    wording.check(err)


def test_several_roots_and_heads_outside_stay_and_are_counted(
    vdgi: Vdgi, folder: Path, wording: Wording
) -> None:
    text = "1\ta\ta\tNOUN\tN\t_\t0\tx\t_\t_\n2\tb\tb\tNOUN\tN\t_\t0\tx\t_\t_\n\n1\ta\ta\tNOUN\tN\t_\t9\tx\t_\t_\n\n"
    err = converted(vdgi, text)
    assert [row[5] for row in rows()] == ["0", "0", "9"]
    wording.check(err)


TREE = [["Dogs", "dog", "NNS", "2", "nsubj"], ["bark", "bark", "VB", "0", "root"]]
FULL = "1 Dogs dog N NNS _ 2 nsubj _ _\n2 bark bark V VB _ 0 root _ _\n"


@pytest.mark.parametrize(
    "text",
    [
        tabs(FULL),
        FULL,
        FULL.replace(" ", "   "),
        tabs(FULL).replace("\t_\t_\n", "\n"),
        FULL.replace(" _ _\n", "\n"),
        tabs(FULL).replace("\n", "\t\n"),
        tabs(FULL).replace("\t_\t", "\t\t"),
        tabs(FULL).rstrip("\n"),
        "\n\n" + tabs(FULL) + "\n \n\t\n",
        "# a comment\n#id=5\n" + tabs(FULL),
        tabs(FULL).replace("\t2\t", "\t 2\t").replace("dog\t", "dog \t"),
    ],
)
def test_conll_x_of_many_forms_gives_the_same_tree(vdgi: Vdgi, folder: Path, text: str) -> None:
    converted(vdgi, text)
    assert [[row[0], row[1], row[3], row[5], row[6]] for row in rows()] == TREE


@pytest.mark.parametrize(
    ("text", "options", "forms"),
    [
        ("1\t#\t#\tN\tN\t_\t0\troot\t_\t_\n", [], ["#"]),
        ("1\t1\t1\tNUM\tN\t_\t0\troot\t_\t_\n", [], ["1"]),
        ("1\t_\t_\t_\t_\t_\t_\t_\t_\t_\n", [], ["_"]),
        ("1\tNew  York\tn\tN\tN\t_\t0\troot\t_\t_\n", [], ["New York"]),
        ("1\ta\u00a0b\tn\tN\tN\t_\t0\troot\t_\t_\n", [], ["a\u00a0b"]),
        ("Mae\tVB\tB-VP\tO\nhi\tPRP\tB-NP\tO\n", [], ["Mae", "hi"]),
        ("Mae mae VB B-VP O\n\n", ["--columns", "form,lemma,tag,chunk,ner"], ["Mae"]),
        ("Mae O\nAnna B-PER\n\n", ["--columns", "form,ner"], ["Mae", "Anna"]),
        ('"form";"lemma";"pos"\n"a;b";"x";"NOUN"\n', [], ["a;b"]),
        ('form,pos\n"a ""b""",NOUN\n', [], ['a "b"']),
        ("a,NOUN\nb,VERB\n", ["--from", "csv", "--columns", "form,tag"], ["a", "b"]),
        ("Dogs\tbark\nN\tV\n2\t0\n\n", [], ["Dogs", "bark"]),
    ],
)
def test_odd_tables_are_read_and_sound(
    vdgi: Vdgi, folder: Path, text: str, options: list[str], forms: list[str]
) -> None:
    converted(vdgi, text, *options)
    assert [row[0] for row in rows()] == forms
    assert len(list(reading.read("out.conllu", tags="known"))) == 1


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_line_ends_and_byte_order_marks_make_no_difference(
    vdgi: Vdgi, folder: Path, end: str, encoding: str
) -> None:
    converted(vdgi, (tabs(X) + "\n").replace("\n", end), encoding=encoding)
    assert [row[0] for row in rows()] == ["De", "gick", "hem", "."]


def test_another_encoding_is_named_by_an_option(vdgi: Vdgi, folder: Path, wording: Wording) -> None:
    Path("in.txt").write_text(tabs(X) + "\n", encoding="latin-1")
    refused = vdgi("convert", "in.txt", "-o", "out.conllu")
    assert refused.status == 3
    wording.check(refused.err)
    assert not Path("out.conllu").exists()
    vdgi.good("convert", "in.txt", "--encoding", "latin-1", "-o", "out.conllu")
    assert rows()[1][1] == "gå"


GOOD = "1\ta\ta\tNOUN\tN\t_\t0\troot\t_\t_\n"


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("", []),
        ("\n\n", []),
        (
            "once upon a time\n",
            [],
        ),
        (GOOD + "2\tb\n\n", []),
        (GOOD + GOOD, []),
        (GOOD.replace("\t0\t", "\tx\t"), []),
        ("# text = a\n" + GOOD, []),
        (GOOD, ["--from", "mst"]),
        (
            "a\tb\nN\tN\n1\t2\t3\n",
            ["--from", "mst"],
        ),
        ("a\nN\nx\n", ["--from", "mst"]),
        ("a,b\n1,2\n", ["--from", "csv"]),
        ('form,pos\n"a,N\n', ["--from", "csv"]),
        ("a\0b\n", ["--from", "conll-x"]),
        (
            "<html><body>x</body></html>",
            [],
        ),
        (GOOD, ["--columns", "form,what"]),
        (
            GOOD,
            ["--columns", "lemma,tag"],
        ),
        (GOOD, ["--columns", "form,form"]),
        (GOOD, ["--tier", "words=x"]),
        (
            "a\tb\nN\tV\n2\t0\n",
            ["--from", "mst", "--columns", "form"],
        ),
        (GOOD, ["--tier", "words"]),
        (GOOD, ["--tier", "wrods=x"]),
        (GOOD, ["--encoding", "utf-80"]),
    ],
)
def test_what_cannot_be_read_is_refused_with_place_and_remedy(
    vdgi: Vdgi, folder: Path, text: str, options: list[str], wording: Wording
) -> None:
    Path("in.txt").write_bytes(text.encode())
    Path("out.conllu").write_text("old", encoding="utf-8")
    result = vdgi("convert", "in.txt", *options, "-o", "out.conllu")
    assert result.status in (2, 3)
    wording.check(result.err)
    assert Path("out.conllu").read_text(encoding="utf-8") == "old"


def test_a_table_of_tags_without_ud_tags_is_refused(
    vdgi: Vdgi, folder: Path, wording: Wording
) -> None:
    Path("in.txt").write_text(GOOD, encoding="utf-8")
    Path("mine.tags").write_text("N NOUN\nV verb\n", encoding="utf-8")
    result = vdgi("convert", "in.txt", "--tags", "mine.tags", "-o", "out.conllu")
    assert result.status == 3
    wording.check(result.err)


def test_several_files_become_documents_whose_sentences_have_names_of_their_own(
    vdgi: Vdgi, folder: Path
) -> None:
    Path("a.conll").write_text(GOOD + "\n" + GOOD, encoding="utf-8")
    (folder / "b").mkdir()
    Path("b/a.conll").write_text(GOOD, encoding="utf-8")
    vdgi.good("convert", "a.conll", "b/a.conll", "-o", "out.conllu")
    text = Path("out.conllu").read_text(encoding="utf-8")
    assert [line[12:] for line in text.split("\n") if line.startswith("# sent_id")] == [
        "a-1",
        "a-2",
        "a-1.2",
    ]
    assert text.count("# newdoc id = a\n") == 2


def test_limits_hold(
    vdgi: Vdgi, folder: Path, monkeypatch: pytest.MonkeyPatch, wording: Wording
) -> None:
    Path("in.txt").write_text(GOOD * 2, encoding="utf-8")
    monkeypatch.setenv("VDGI_LIMITS", "document=20")
    wording.check(vdgi("convert", "in.txt").err)
    monkeypatch.setenv("VDGI_LIMITS", "words=1")
    Path("in.txt").write_text("a\tb\nN\tV\nx\troot\n2\t0\n", encoding="utf-8")
    wording.check(vdgi("convert", "in.txt").err)
