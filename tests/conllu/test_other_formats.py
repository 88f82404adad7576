"""Files that are no CoNLL-U, and features of other formats: told by name, with what to do."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import tiny
from annotating import guessed
from shell import Vdgi
from wording import Wording

from dynet_vdgi.conllu.faults import ignoring_feats
from dynet_vdgi.conllu.formats import feats_format, raw_format
from dynet_vdgi.conllu.reading import read
from dynet_vdgi.errors import DataError
from dynet_vdgi.page.store.session import Session

WORDS = (
    "Mae",
    "hi",
    "oer",
    ",",
    "łódź",
    "नदी",
    "l'eau",
    "well-known",
    "2016",
    "A.",
    "x/y",
    "—",
    "(",
    "ნ",
    "he;re",
)
TAGS = ("VB", "PRP", "JJ", "NN", "IN", "DT", "CD", "NNP", "RB", ".")


def made(seed: int, n_sentences: int = 3) -> list[list[tuple[str, str, int, str]]]:
    """Sentences of words with a tag, a head and a relation."""
    numbers = random.Random(seed)
    found = []
    for _ in range(n_sentences):
        n = numbers.randrange(2, 12)
        root = numbers.randrange(n) + 1
        heads = [0 if k == root else root for k in range(1, n + 1)]
        words = zip(numbers.choices(WORDS, k=n), numbers.choices(TAGS, k=n), heads)
        found.append(
            [(word, tag, head, "ROOT" if not head else "NMOD") for word, tag, head in words]
        )
    return found


def table(sentences: Sequence[Sequence[Sequence[object]]], glue: str = "\t") -> str:
    return (
        "\n\n".join("\n".join(glue.join(map(str, row)) for row in rows) for rows in sentences)
        + "\n\n"
    )


def conll_2003(seed: int) -> str:
    names = ("O", "B-PER", "I-PER", "O", "S-LOC", "B-ORG")
    rows = [
        [(w, t, "B-NP", names[(k + seed) % 6]) for k, (w, t, *_) in enumerate(s)]
        for s in made(seed)
    ]
    start = "-DOCSTART- -X- O O\n\n" if seed % 2 else ""
    columns = slice(0, None) if seed % 3 else slice(0, 4, 3)
    return start + table(
        [[row[columns] for row in s] for s in rows], "\t" if seed % 5 == 4 else " "
    )


def conll_2009(seed: int) -> str:
    n_predicates = seed % 4
    rest = ("_",) * n_predicates
    return table(
        [
            [
                (k, w, w, w, t, t, "_", "_", h, h, r, r, "_", "_", *rest)
                for k, (w, t, h, r) in enumerate(s, 1)
            ]
            for s in made(seed)
        ]
    )


def malt_tab(seed: int) -> str:
    return table([[(w, t, h, r) for w, t, h, r in s] for s in made(seed)])


def mst(seed: int) -> str:
    lines = [[*zip(*((w, t, r, h) for w, t, h, r in s))] for s in made(seed)]
    return table(lines if seed % 2 else [[words, tags, heads] for words, tags, _, heads in lines])


def conll_x_of_8_columns(seed: int) -> str:
    return table(
        [[(k, w, "_", t, t, "_", h, r) for k, (w, t, h, r) in enumerate(s, 1)] for s in made(seed)]
    )


def conll_2012(seed: int) -> str:
    rest = ("*", "-", "-", "-", "A", "*", "-")
    rows = [
        [(f"bc/{seed}", 0, k, w, t, *rest) for k, (w, t, *_) in enumerate(s)] for s in made(seed)
    ]
    return f"#begin document (bc/{seed}); part 000\n" + table(rows, "   ")


def csv(seed: int) -> str:
    sign = ",;"[seed % 2]
    width = 10 - seed % 6

    def row(number: int, word: str, tag: str, head: int, relation: str) -> tuple[object, ...]:
        form = word.replace(sign, ".")
        return (number, form, form, tag, "_", "_", head, relation, "_", "_")[:width]

    rows = [[row(k, *word) for k, word in enumerate(s, 1)] for s in made(seed)]
    names = ["ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC"][
        :width
    ]
    heading = sign.join(names if seed % 3 else [f'"{name.lower()}"' for name in names]) + "\n"
    return heading + table(rows, sign).replace("\n\n", "\n")


def brown(seed: int) -> str:
    sign = "/_"[seed % 2]
    return (
        "\n".join(
            " ".join(f"{w.replace(sign, '-')}{sign}{t}" for w, t, *_ in s) for s in made(seed)
        )
        + "\n"
    )


def flextext(seed: int) -> str:
    glue = "\n" if seed % 2 else ""
    words = "".join(f"<word><item type='txt'>{w}</item></word>{glue}" for w, *_ in made(seed)[0])
    start = '\ufeff<?xml version="1.0" encoding="utf-8"?>\n' if seed % 3 else ""
    more = ' exportSource="FLEx" exportTarget="flextext" version="2"' if seed % 4 else ""
    return f"{start}<document{more}>{glue}<interlinear-text>{glue}{words}</interlinear-text></document>\n"


def eaf(seed: int) -> str:
    words = "\n".join(f"<ANNOTATION_VALUE>{w}</ANNOTATION_VALUE>" for w, *_ in made(seed)[0])
    start = '<?xml version="1.0" encoding="UTF-8"?>\n' if seed % 3 else ""
    begin = '<ANNOTATION_DOCUMENT AUTHOR="" FORMAT="3.0" VERSION="3.0">'
    return f"{start}{begin}\n<TIER>{words}</TIER></ANNOTATION_DOCUMENT>\n"


def toolbox(seed: int) -> str:
    start = "\\_sh v3.0  400  Text\n\n" if seed % 2 else ""
    return start + "".join(
        f"\\ref {k}\n\\tx {s[0][0]}\n\\ge word\n\n" for k, s in enumerate(made(seed))
    )


def others(seed: int) -> str:
    return (
        '<TEI xmlns="http://www.tei-c.org/ns/1.0"><text/></TEI>\n',
        '<corpus id="x">\n<head>\n</head></corpus>\n',
        "<!DOCTYPE html>\n<html></html>\n",
        "<s>\nMae\n</s>\n",
        '{"sentences": []}\n',
        "(S (NP Mae))\n",
    )[seed % 6]


KINDS: dict[str, tuple[Callable[[int], str], str]] = {
    "CoNLL-2003": (
        conll_2003,
        "this is CoNLL-2003 (words, tags and names), not CoNLL-U (vdgi convert ",
    ),
    "CoNLL-2009": (
        conll_2009,
        "this is CoNLL-2009, not CoNLL-U (vdgi convert makes CoNLL-U of it)",
    ),
    "CoNLL-2012": (conll_2012, "this is CoNLL-2012, not CoNLL-U (put words"),
    "CoNLL-X": (
        conll_x_of_8_columns,
        "this is CoNLL-X of 8 columns, not CoNLL-U (vdgi convert makes",
    ),
    "Malt": (
        malt_tab,
        "this is Malt-TAB (form, tag, head and relation), not CoNLL-U (vdgi convert makes CoNLL-U of it)",
    ),
    "MST": (
        mst,
        "this is MST's format (a line of words, one of tags, one of heads), not CoNLL-U (vdgi convert makes CoNLL-U",
    ),
    "CSV": (csv, "s (CSV), not CoNLL-U (vdgi convert makes CoNLL-U of it)"),
    "Brown": (brown, "this is text with tags behind its words (word/TAG), not CoNLL-U (put words"),
    "FLEx": (
        flextext,
        "this is FLExText (XML of FLEx), not CoNLL-U (vdgi convert makes CoNLL-U of it)",
    ),
    "ELAN": (eaf, "this is EAF (XML of ELAN), not CoNLL-U (vdgi convert makes CoNLL-U of it)"),
    "Toolbox": (
        toolbox,
        "this is Toolbox text (standard format, SFM), not CoNLL-U (vdgi convert makes",
    ),
    "others": (others, ", not CoNLL-U ("),
}


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("kind", KINDS)
def test_another_format_is_told_by_its_name_with_what_to_do(
    folder: Path, kind: str, seed: int
) -> None:
    make, message = KINDS[kind]
    Path("a.conllu").write_text(make(seed), encoding="utf-8")
    faults: list[DataError] = []
    assert list(read("a.conllu", on_error=faults.append, on_repair=lambda repair: None)) == []
    assert [message in str(fault) for fault in faults] == [True], faults
    assert "this is plain text" not in str(faults[0])


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("kind", ["CoNLL-2003", "CoNLL-2009", "CoNLL-X", "Malt", "MST", "CSV"])
def test_the_command_that_the_message_names_makes_conllu_of_the_file(
    folder: Path, vdgi: Vdgi, kind: str, seed: int
) -> None:
    text = KINDS[kind][0](seed)
    # with as many columns as the other lines
    if kind == "CoNLL-2003" and text.startswith("-DOCSTART-"):
        first, rest = text.split("\n\n", 1)
        width = len(rest.split("\n", 1)[0].split())
        text = " ".join([*first.split()[:1], *["O"] * (width - 1)]) + f"\n\n{rest}"
    Path("a.conllu").write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as caught:
        list(read("a.conllu"))
    command = caught.value.hint.partition(" makes CoNLL-U of it")[0].split()
    assert command[:2] == ["vdgi", "convert"]
    vdgi.good(*command[1:], "a.conllu", "-o", "new.conllu")
    rows = [
        line.split("\t")
        for line in Path("new.conllu").read_text(encoding="utf-8").split("\n")
        if line[:1].isdigit()
    ]
    words = [word for sentence in made(seed) for word in sentence]
    if kind == "CSV":
        words = [(form.replace(",;"[seed % 2], "."), *rest) for form, *rest in words]
    assert [row[1] for row in rows] == [form for form, *_ in words]
    if kind not in ("CSV", "CoNLL-2003"):
        assert [int(row[6]) for row in rows] == [head for _, _, head, *_ in words]


def test_a_table_without_headings_is_told_how_to_name_its_columns(
    folder: Path, vdgi: Vdgi, wording: Wording
) -> None:
    for text in ("Mae,VB,3\nhi,PRP,3\noer,JJ,0\n", "Mae\tVB\t3\n"):
        Path("a.conllu").write_text(text, encoding="utf-8")
        with pytest.raises(DataError) as caught:
            list(read("a.conllu"))
        wording.check(caught.value.hint)
        vdgi.good("convert", "--columns", "form,tag,head", "a.conllu", "-o", "new.conllu")
        first = Path("new.conllu").read_text(encoding="utf-8").split("1\t")[1].split("\t")
        assert (first[0], first[3], first[5]) == ("Mae", "VB", "3")


@pytest.mark.parametrize(
    "text",
    [
        "Mae hi oer, ond sych.\nNid yw hi, eto, yn gynnes.\n",
        "one, two, three\nfour, five, six\nseven, eight, nine\n",
        "Ac/neu y ci\nhwn\n",
        "He left at 9;\nshe stayed; they went;\n",
        "O\nO na!\n",
        "3\n4 5\n",
        "He_said NOUN\nand left\n",
        "an aside )\n",
    ],
)
def test_plain_text_is_plain_text(folder: Path, text: str, wording: Wording) -> None:
    Path("a.conllu").write_text(text, encoding="utf-8")
    with wording.raises(DataError):
        list(read("a.conllu"))


@pytest.mark.parametrize("kind", ["CoNLL-2003", "CoNLL-2009", "FLEx", "ELAN", "CSV", "MST"])
def test_every_command_says_so(folder: Path, vdgi: Vdgi, kind: str) -> None:
    make, message = KINDS[kind]
    Path("a.conllu").write_text(make(1), encoding="utf-8")
    tiny.write(Path("good.conllu"))
    commands = [
        ["check", "a.conllu"],
        ["check", "a.conllu", "--find", "upos=NOUN"],
        ["check", "a.conllu", "--consistency"],
        ["parse", "universal", "a.conllu", "-o", "out"],
        ["parse", "universal", "a.conllu", "--skip-faulty", "-o", "out"],
        ["expect", "a.conllu"],
        ["evaluate", "a.conllu", "good.conllu"],
        ["evaluate", "--raw", "good.conllu", "a.conllu"],
        ["evaluate", "--agreement", "good.conllu", "a.conllu"],
        ["draw", "a.conllu"],
        ["choose", "universal", "a.conllu"],
        ["tag", "train", "a.conllu", "-o", "t.tagger"],
        ["tokenize", "train", "a.conllu", "-o", "t.tokeniser"],
        ["train", "--preset", "best", "--train", "a.conllu", "-o", "run"],
        ["train", "--trees", "a.conllu", "-o", "run"],
        ["annotate", "a.conllu", "--no-browser"],
        ["annotate", "a.conllu", "--export", "out"],
        ["release", "R", "a.conllu", "--code", "en", "--name", "Mine"],
        ["clusters", "a.conllu", "-o", "c"],
        ["rules", "estimate", "a.conllu"],
    ]
    before = sorted(path.name for path in folder.iterdir())
    for command in commands:
        result = vdgi(*command)
        assert result.status == 3, command
        assert message in result.err + result.out, command
    assert sorted(path.name for path in folder.iterdir() if path.name != "run") == before


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("make", [flextext, eaf, toolbox])
def test_files_of_the_field_are_no_raw_text(
    folder: Path, vdgi: Vdgi, make: Callable[[int], str], seed: int, wording: Wording
) -> None:
    Path("field.txt").write_text(make(seed), encoding="utf-8")
    result = vdgi("annotate", "field.txt", "--no-browser")
    assert result.status == 3
    wording.check(result.err)
    assert [path.name for path in folder.iterdir()] == ["field.txt"]


SFM = {
    "wrapped lines": "\\id Boat\n\\ref 1\n\\tx A vako numa\n domuka\n\\mb a vako\n\\ge the old\n",
    "a dictionary": "\\lx numa\n\\ps n\n\\ge grandmother\n\n\\lx domu\n\\ps v\n\\ge go\n",
    "lines of Windows": "\\ref 1\r\n\\tx A vako\r\n\\ge the old\r\n",
    "a byte-order mark": "\ufeff\\ref 1\n\\tx A vako\n\\ge the old\n",
}
TEXT = {
    "LaTeX": "\\maketitle\n\\section{One}\nMae hi oer.\n\\bigskip\nNid yw hi.\n",
    "a backslash": "\\o/ said he.\nMae hi oer.\n",
    "a marker and text": "\\ref one\nMae hi oer.\nNid yw hi.\n",
}


@pytest.mark.parametrize("name", [*SFM, *TEXT])
def test_standard_format_without_its_first_line_is_no_raw_text_and_text_with_backslashes_is(
    folder: Path, vdgi: Vdgi, name: str, wording: Wording
) -> None:
    Path("field.txt").write_bytes((SFM | TEXT)[name].encode())
    found = raw_format(Path("field.txt").read_text(encoding="utf-8"))
    assert (found.name if found else "") == (
        "Toolbox text (standard format, SFM)" if name in SFM else ""
    )
    if name in SFM:
        wording.check(vdgi("annotate", "field.txt", "--no-browser").err)


UNIMORPH = ("N;SG", "V;PST;3;PL", "ADJ;MASC;SG;ACC", "PRO;1", "V.PTCP;PRS")
PROIEL = (
    "NUMBs|GENDn",
    "PERS3|NUMBp|TENSp|MOODi|VOICa",
    "CASEa",
    "INFLn",
    "NUMBs|GENDm|CASEg|DEGRp|STREw",
)
CONLL_X = (
    "UTR|SIN",
    "PRS|AKT",
    "cat-n|gen-m|num-sg",
    "sg",
    "_|doc=1|sent_id=2",
    "m|1|Acc",
    "tense:past",
)
EMPTY = ("Poss=", "Poss=|PronType=Prs", "Case=Nom|Number=", "A=|B=")
FOREIGN = {
    "UniMorph": UNIMORPH,
    "PROIEL": PROIEL,
    "CoNLL-X": CONLL_X,
    "a feature without a value": EMPTY,
}


def with_feats(values: Sequence[str], seed: int, n_sentences: int = 14) -> str:
    """A treebank of which every second word has one of these values."""
    numbers = random.Random(seed)
    lines = tiny.treebank(n_sentences, heads=True).split("\n")
    for k, line in enumerate(lines):
        columns = line.split("\t")
        if len(columns) == 10 and numbers.random() < 0.5:
            columns[5] = numbers.choice(values)
            lines[k] = "\t".join(columns)
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("kind", "value"), [(kind, value) for kind, values in FOREIGN.items() for value in values]
)
def test_the_format_of_features_is_named(kind: str, value: str) -> None:
    assert feats_format(value) == kind


@pytest.mark.parametrize(
    "value", ["Case=Nom|", "|Case=Nom", "Case=Nom|Finite", "=x", "A=b=c", "A=b||C=d", "|"]
)
def test_features_that_are_wrong_once_are_of_no_other_format(value: str) -> None:
    assert feats_format(value) == ""


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kind", FOREIGN)
def test_such_features_are_one_fault_of_a_file_and_an_option_leaves_them_alone(
    folder: Path, vdgi: Vdgi, kind: str, seed: int, wording: Wording
) -> None:
    text = with_feats(FOREIGN[kind], seed)
    Path("a.conllu").write_text(text, encoding="utf-8")
    found = vdgi("check", "a.conllu")
    assert (found.status, found.out.count("a.conllu:"), "1 fault" in found.out) == (3, 2, True)
    wording.lines(found.out, "FEATS")

    assert " more sentences" in found.out
    for verb in ("check", "expect"):
        vdgi.good(verb, "a.conllu", "--ignore-feats")
    refused = vdgi("parse", "universal", "a.conllu", "-o", "out.conllu")
    assert (refused.status, refused.err.count("FEATS"), Path("out.conllu").exists()) == (
        3,
        1,
        False,
    )
    vdgi.good(
        "parse",
        "universal",
        "a.conllu",
        "-o",
        "out.conllu",
        "--ignore-feats",
        "--jobs",
        str(1 + seed % 2),
    )
    after = Path("out.conllu").read_text(encoding="utf-8")
    assert [row.split("\t")[:6] for row in after.split("\n")] == [
        row.split("\t")[:6] for row in text.split("\n")
    ]
    Path("bare.conllu").write_text(with_feats(["_"], seed), encoding="utf-8")
    vdgi.good("parse", "universal", "bare.conllu", "-o", "bare.out.conllu")
    bare = Path("bare.out.conllu").read_text(encoding="utf-8")
    assert [row.split("\t")[6:] for row in after.split("\n")] == [
        row.split("\t")[6:] for row in bare.split("\n")
    ]


@pytest.mark.slow
def test_every_command_that_reads_features_has_the_option(folder: Path, vdgi: Vdgi) -> None:
    Path("a.conllu").write_text(with_feats(CONLL_X, 1), encoding="utf-8")
    for command in (
        ["check", "a.conllu", "--find", "upos=NOUN"],
        ["check", "a.conllu", "--consistency", "-n", "2"],
        ["evaluate", "a.conllu", "a.conllu"],
        ["evaluate", "--raw", "a.conllu", "a.conllu"],
        ["evaluate", "--agreement", "a.conllu", "a.conllu"],
        ["draw", "a.conllu", "--sentence", "1"],
        ["choose", "universal", "a.conllu", "-n", "2", "-o", "next.conllu"],
        ["tag", "train", "a.conllu", "-o", "my.tagger"],
        ["tag", "my.tagger", "a.conllu", "--retag", "-o", "tagged.conllu"],
        ["tag", "evaluate", "my.tagger", "a.conllu"],
        ["tag", "list", "a.conllu", "-o", "list.tsv"],
        ["clusters", "a.conllu", "-c", "2", "-o", "clusters.txt"],
        ["rules", "estimate", "a.conllu"],
        ["train", "--preset", "best", "--train", "a.conllu", "-o", "run"],
        ["train", "--preset", "universal-trees", "--trees", "a.conllu", "-o", "trees", "--dry-run"],
        ["parse", "run", "a.conllu", "-o", "out.conllu"],
        ["parse", "universal", "a.conllu", "--tagger", "my.tagger", "--retag", "-o", "out.conllu"],
    ):
        vdgi.good(*command, "--ignore-feats")
    for name in ("tagged.conllu", "out.conllu"):
        pairs = zip(
            Path(name).read_text(encoding="utf-8").split("\n"), with_feats(CONLL_X, 1).split("\n")
        )
        assert all(a.split("\t")[5:6] == b.split("\t")[5:6] for a, b in pairs)


def test_the_option_holds_for_one_command(folder: Path, vdgi: Vdgi, wording: Wording) -> None:
    Path("a.conllu").write_text(with_feats(UNIMORPH, 1), encoding="utf-8")
    vdgi.good("check", "a.conllu", "--ignore-feats")
    assert vdgi("check", "a.conllu").status == 3
    refused = vdgi("check", "a.conllu", "--ud", "--ignore-feats")
    assert refused.status == 2
    wording.check(refused.err)


def test_who_annotates_keeps_such_features(folder: Path) -> None:
    text = with_feats(PROIEL, 2)
    Path("a.conllu").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match="PROIEL"):
        Session("a.conllu", "anna", "right")
    with ignoring_feats():
        session = guessed(Session("a.conllu", "anna", "right"))
        marked = session.sentences[0]
        session.change(marked.id, (marked.edits, marked.version), "split", 1, 1)
        session.close()
        guessed(Session("a.conllu", "anna")).close()
    after = Path("a.conllu").read_text(encoding="utf-8").split("\n\n")
    kept = [[row.split("\t")[5] for row in part.split("\n") if "\t" in row] for part in after[1:]]
    assert kept == [
        [row.split("\t")[5] for row in part.split("\n") if "\t" in row]
        for part in text.split("\n\n")[1:]
    ]


def test_one_wrong_feature_of_ud_is_told_for_each_sentence(folder: Path, wording: Wording) -> None:
    Path("a.conllu").write_text(with_feats(["Case=Nom|"], 3, 6), encoding="utf-8")
    faults: list[DataError] = []
    good = list(read("a.conllu", on_error=faults.append))
    assert len(good) + len(faults) == 6
    wording.check([str(fault) for fault in faults])


@pytest.mark.parametrize("feats", ["UTR|SIN", "N;SG", "Poss=", "|"])
def test_a_command_without_the_option_does_not_name_it(
    folder: Path, vdgi: Vdgi, feats: str, wording: Wording
) -> None:
    text = f"1\tMae\tbod\tVERB\t_\t{feats}\t0\troot\t_\t_\n\n"
    Path("a.conllu").write_text(text, encoding="utf-8")
    refused = vdgi("release", "R", "a.conllu", "--code", "cy", "--name", "Mine")
    assert refused.status == 3
    wording.check(refused.err)
    assert "--ignore-feats" not in refused.err
    assert "--ignore-feats" in vdgi("draw", "a.conllu").err


@pytest.mark.parametrize(
    "feats", ["gen=m num=s", "N SG", " Case=Nom", "Case=Nom|Number=\u00a0Sing"]
)
def test_blanks_in_features_are_ignored_too_and_kept(
    folder: Path, vdgi: Vdgi, feats: str, wording: Wording
) -> None:
    text = f"1\tMae\tbod\tVERB\t_\t{feats}\t0\troot\t_\t_\n\n"
    Path("a.conllu").write_text(text, encoding="utf-8")
    refused = vdgi("check", "a.conllu")
    assert refused.status == 3
    wording.check(refused.out)
    vdgi.good("parse", "universal", "a.conllu", "--ignore-feats", "-o", "out.conllu")
    assert Path("out.conllu").read_text(encoding="utf-8") == text


@pytest.mark.parametrize(
    "heading", ["form\tupos\thead", "ID\tWord\tTag", "token\tpos", '"form"\t"tag"\t"deprel"']
)
def test_a_table_with_headings_and_tabs_is_converted(
    folder: Path, vdgi: Vdgi, heading: str, wording: Wording
) -> None:
    rows = (
        {2: "Mae\tVERB", 3: "1\tMae\t3"}
        if heading.startswith("ID")
        else {2: "Mae\tVERB", 3: "Mae\tVERB\t0"}
    )
    Path("a.conllu").write_text(
        f"{heading}\n{rows[heading.count(chr(9)) + 1]}\n\n", encoding="utf-8"
    )
    with wording.raises(DataError):
        list(read("a.conllu"))
    vdgi.good("convert", "a.conllu", "-o", "new.conllu")
    assert "1\tMae\t" in Path("new.conllu").read_text(encoding="utf-8")


def test_blanks_instead_of_tabs_are_told_in_the_first_line_too(
    folder: Path, wording: Wording
) -> None:
    Path("a.conllu").write_text("1 Mae bod VERB _ _ 0 root _ _\n\n", encoding="utf-8")
    with wording.raises(DataError):
        list(read("a.conllu"))
