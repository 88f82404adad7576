"""Columns after MISC (CoNLL-U Plus): read by every command, kept byte for byte, and released by
none."""

from __future__ import annotations

import io
import random
from collections.abc import Callable
from pathlib import Path

import pytest
import tiny
from annotating import guessed, seen
from shell import Vdgi
from wording import Wording

import dynet_vdgi as vdgi_api
from dynet_vdgi.conllu.objects import to_conllu
from dynet_vdgi.conllu.reading import read
from dynet_vdgi.conllu.writing import write
from dynet_vdgi.errors import DataError
from dynet_vdgi.page.store.session import Session
from dynet_vdgi.page.text.sentence_blocks import block, read_marked, write_marked

TEN = "ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC"
PARSEME = f"# global.columns = {TEN} PARSEME:MWE\n"
NAMES = ("PARSEME:MWE", "UCCA:X", "X", "NER", "SRL:A", "MY:TIME", "E", "GLOSS:en", "π", "F1")
VALUES = (
    "*",
    "_",
    "1:VID",
    "1;2:LVC.full",
    "B-PER",
    "a b",
    " c",
    "\x0c",
    "|=",
    "0",
    "ա",
    "SpaceAfter=No",
    "1:VID;1",
)
WORDS = """\
# sent_id = one
# text = The dogs don't bark.
1\tThe\tthe\tDET\t_\tDefinite=Def\t2\tdet\t_\t_
2\tdogs\tdog\tNOUN\t_\t_\t5\tnsubj\t_\t_
3-4\tdon't\t_\t_\t_\t_\t_\t_\t_\t_
3\tdo\tdo\tAUX\t_\t_\t5\taux\t_\t_
4\tn't\tnot\tPART\t_\t_\t5\tadvmod\t_\t_
4.1\tloudly\t_\tADV\t_\t_\t_\t_\t5:advmod\t_
5\tbark\tbark\tVERB\t_\t_\t0\troot\t0:root\tSpaceAfter=No
6\t.\t.\tPUNCT\t_\t_\t5\tpunct\t_\tSpaceAfter=No

# sent_id = two
1\tDogs\tdog\tNOUN\t_\t_\t2\tnsubj\t_\t_
2\tbark\tbark\tVERB\t_\t_\t0\troot\t_\t_

# sent_id = three
1\tCats\tcat\tNOUN\t_\t_\t2\tnsubj\t_\t_
2\tsee\tsee\tVERB\t_\t_\t0\troot\t_\t_
3\tdogs\tdog\tNOUN\t_\t_\t2\tobj\t_\tSpaceAfter=No
4\t.\t.\tPUNCT\t_\t_\t2\tpunct\t_\tSpaceAfter=No

"""


def plus(seed: int, text: str = WORDS) -> str:
    """The text with one to four columns more, and the comment that names them."""
    numbers = random.Random(seed)
    names = [NAMES[seed % len(NAMES)], *numbers.sample(NAMES, numbers.randrange(4))]

    def longer(line: str) -> str:
        return "\t".join([line, *numbers.choices(VALUES, k=len(names))])

    lines = [longer(line) if line and line[0] != "#" else line for line in text.split("\n")]
    space = " " * numbers.randrange(2)
    return f"#{space}global.columns{space}= {TEN} {' '.join(names)}\n" + "\n".join(lines)


def mwe(text: str, values: str) -> str:
    """The text as PARSEME has it, with these values of the lines of tokens, one after the other."""
    rest = iter(values.split())
    lines = [
        f"{line}\t{next(rest)}" if line and line[0] != "#" else line for line in text.split("\n")
    ]
    return PARSEME + "\n".join(lines)


def with_new_trees(text: str) -> list[list[str]]:
    """The columns of the lines without HEAD and DEPREL."""
    rows = [line.split("\t") for line in text.split("\n")]
    return [row[:6] + row[8:] if row[0].isdigit() else row for row in rows]


@pytest.fixture
def put(folder: Path) -> Callable[..., str]:
    """A function that writes a file and gives its name."""

    def written(text: str, name: str = "a.cupt") -> str:
        (folder / name).write_bytes(text.encode())
        return name

    return written


@pytest.mark.parametrize("seed", range(20))
def test_what_is_read_is_that_of_ten_columns_and_what_is_written_has_all(
    put: Callable[..., str], seed: int
) -> None:
    text = plus(seed)
    found = list(read(put(text)))
    ten = list(read(put(WORDS, "ten.conllu")))
    assert [(s.forms, s.tags, s.heads, s.deprels, s.feats) for s in found] == [
        (s.forms, s.tags, s.heads, s.deprels, s.feats) for s in ten
    ]
    handle = io.StringIO()
    write(found, handle)
    assert handle.getvalue() == text
    assert all(
        s.source and s.source.extra == tuple(text.split("\n")[0].split(" MISC ")[1].split())
        for s in found
    )


OPTIONS = (["--confidence"], ["--keep-heads"], ["--jobs", "2", "--labels", "none"])


@pytest.mark.parametrize(
    ("seed", "arguments"),
    [*((k, []) for k in range(20)), *((k, given) for k in range(2) for given in OPTIONS)],
)
def test_a_parse_keeps_every_other_byte(
    put: Callable[..., str], vdgi: Vdgi, seed: int, arguments: list[str]
) -> None:
    text = plus(seed)
    vdgi.good("parse", "universal", put(text), "-o", "out.cupt", *arguments)
    after = Path("out.cupt").read_bytes().decode()
    if "--confidence" in arguments:
        assert "HeadConf=" in after
        after = "\n".join(
            "\t".join(with_own_misc(a, b)) for a, b in zip(text.split("\n"), after.split("\n"))
        )
    assert with_new_trees(after) == with_new_trees(text)


def with_own_misc(line: str, parsed: str) -> list[str]:
    """The parsed line with the MISC that it had, of which nothing may be lost."""
    before, after = line.split("\t"), parsed.split("\t")
    if before[0].isdigit():
        assert [part for part in after[9].split("|") if not part.startswith("HeadConf=")] in (
            before[9].split("|"),
            [] if before[9] == "_" else None,
        )
        after[9] = before[9]
    return after


def test_every_command_takes_such_a_file(put: Callable[..., str], vdgi: Vdgi, folder: Path) -> None:
    name = put(plus(3, WORDS + tiny.treebank(30, heads=True)))
    assert ": sound" in vdgi.good("check", name).out
    assert vdgi.good("check", name, "--find", "upos=DET").out
    vdgi.good("expect", name)
    vdgi.good("evaluate", name, name)
    vdgi.good("evaluate", "--raw", name, name)
    vdgi.good("evaluate", "--agreement", name, name)
    vdgi.good("draw", name, "--sentence", "1")
    vdgi.good("tag", "train", name, "-o", "my.tagger")
    vdgi.good("tag", "evaluate", "my.tagger", name)
    vdgi.good("tag", "my.tagger", name, "--retag", "--confidence", "-o", "tagged.cupt")
    assert [s.source.extra for s in read("tagged.cupt") if s.source] == [
        s.source.extra for s in read(name) if s.source
    ]
    vdgi.good("train", "--preset", "best", "--train", name, "-o", "run", "--dry-run")
    vdgi.good("train", "--trees", name, "-o", "trees", "--dry-run")
    vdgi.good("choose", "universal", name, "-n", "3", "-o", "next.cupt")
    assert len(list(read("next.cupt"))) == 3
    assert Path("next.cupt").read_text(encoding="utf-8").startswith("# global.columns = ID FORM")


def test_the_validator_of_ud_reads_the_ten_columns(
    put: Callable[..., str], vdgi: Vdgi, wording: Wording
) -> None:
    pytest.importorskip("udtools")
    result = vdgi("check", "--ud", "--level", "1", put(plus(4)))
    wording.check(result.err)
    ten = vdgi(
        "check", "--ud", "--level", "1", put(f"# global.columns = {TEN}\n{WORDS}", "ten.conllu")
    )
    assert (result.status, result.out.replace("a.cupt", "ten.conllu")) == (ten.status, ten.out)


def test_the_validator_of_ud_reads_ten_columns_wherever_the_comment_stands(
    put: Callable[..., str], vdgi: Vdgi, wording: Wording
) -> None:
    pytest.importorskip("udtools")
    for text in ("\n" + plus(0), WORDS + plus(1), f"{plus(2)}# global.columns = {TEN}\n{WORDS}"):
        result = vdgi("check", put(text), "--ud", "--level", "1")
        assert "number-of-columns" not in result.out
        wording.check(result.err)
        assert "internal error" not in result.err


@pytest.mark.parametrize("n_less", [1, 2])
def test_a_line_with_fewer_columns_than_the_comment_names_is_a_fault(
    put: Callable[..., str], n_less: int
) -> None:
    lines = mwe(WORDS, "* 1 * _ _ * 1:VID * * * * * * *").split("\n")
    lines[5] = "\t".join(lines[5].split("\t")[:-n_less])
    with pytest.raises(DataError) as caught:
        list(read(put("\n".join(lines))))
    wanted = f"a.cupt:6: expected 11 tab-separated columns, found {11 - n_less} ({TEN} PARSEME:MWE, as the comment"
    assert str(caught.value).startswith(wanted)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\t2\tdet\t_\t_\t*", "\t2\tdet\t_\t_\t*\t*"),
        lambda text: text.replace("det\t_\t_\t*", "det\t_\t_\t"),
        lambda text: text.replace(PARSEME, ""),
        lambda text: text.replace("FORM LEMMA", "LEMMA FORM"),
        lambda text: text.replace(" MISC PARSEME:MWE", " PARSEME:MWE MISC"),
    ],
)
def test_other_columns_than_named_or_in_another_order_are_faults(
    put: Callable[..., str], change: Callable[[str], str], wording: Wording
) -> None:
    with wording.raises(DataError):
        list(read(put(change(mwe(WORDS, "* * * * * * * * * * * * * *")))))


def test_ranges_and_empty_nodes_need_the_columns_too(put: Callable[..., str]) -> None:
    text = mwe(WORDS, "* * * * * * * * * * * * * *")
    for line in (5, 8):
        lines = text.split("\n")
        lines[line] = lines[line].rpartition("\t")[0]
        with pytest.raises(DataError) as caught:
            list(read(put("\n".join(lines))))
        assert caught.value.line == line + 1


def test_files_of_other_columns_become_one_that_can_be_read(
    put: Callable[..., str], vdgi: Vdgi
) -> None:
    names = [put(plus(k), f"{k}.cupt") for k in (1, 2)] + [
        put(WORDS, "ten.conllu"),
        put(plus(5), "5.cupt"),
    ]
    vdgi.good("parse", "universal", *names, "-o", "all.cupt")
    assert len(list(read("all.cupt"))) == 12
    sentences = [sentence for name in names for sentence in read(name)]
    vdgi_api.write(reversed(sentences), "reversed.cupt")
    again = list(read("reversed.cupt"))
    assert [s.source.extra for s in again if s.source] == [
        s.source.extra for s in reversed(sentences) if s.source
    ]
    assert [s.forms for s in again] == [s.forms for s in reversed(sentences)]


def test_objects_of_the_library_conllu_have_the_columns(put: Callable[..., str]) -> None:
    sentence = next(read(put(mwe(WORDS, "* 1 * _ _ * 1:VID * * * * * * *"))))
    found = to_conllu(sentence)
    assert [token["parseme:mwe"] for token in found][:2] == ["*", "1"]
    assert sentence.source is not None
    assert found.serialize().rstrip("\n").split("\n") == list(sentence.source.lines)


def session_of(name: str) -> Session:
    return guessed(Session(name, "anna", "right"))


def extra(session: Session, number: int) -> list[tuple[str, ...]]:
    """ID, form and the columns after MISC of a sentence's lines."""
    lines = block(session.text.of_id(number)).splitlines()
    rows = [line.split("\t") for line in lines if line and line[0] != "#"]
    return [(row[0], row[1], *row[10:]) for row in rows]


def test_who_annotates_loses_no_column(put: Callable[..., str]) -> None:
    name = put(mwe(WORDS, "* 1 * 2 3 * 1:VID;2:LVC * 4 4:VPC * 1:VID * *"))
    session = session_of(name)
    session.change(0, seen(session.text.of_id(0)), "split", 2, ["do", "gs"])
    assert extra(session, 0)[1:4] == [("2-3", "dogs", "_"), ("2", "do", "1"), ("3", "gs", "_")]
    session.change(1, seen(session.text.of_id(1)), "split", 1, 2)
    assert extra(session, 1) == [("1", "Do", "4"), ("2", "gs", "_"), ("3", "bark", "4:VPC")]
    session.change(1, seen(session.text.of_id(1)), "range", 0, [1, 2, "Dogs"])
    assert extra(session, 1)[0] == ("1-2", "Dogs", "_")
    session.change(2, seen(session.text.of_id(2)), "join", 1, None)
    assert extra(session, 2)[0] == ("1", "Cats see", "1:VID")
    session.change(2, seen(session.text.of_id(2)), "tag", 1, "X")
    session.close()
    again = session_of(name)
    assert extra(again, 1)[0] == ("1-2", "Dogs", "_")
    again.change(1, seen(again.text.of_id(1)), "glue", 0, None)
    again.close()
    found = list(read(name, tags="known"))
    assert len(found) == 2
    assert all(sentence.source and sentence.source.extra == ("PARSEME:MWE",) for sentence in found)
    assert [s.rpartition("\t")[2] for s in found[1].source.lines if s[0] != "#"][-3:] == [
        "1:VID",
        "*",
        "*",
    ]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("one", "two", "both"),
    [
        ("1:VID", "1", "1:VID"),
        ("1", "2:LVC.full", "1;2:LVC.full"),
        ("*", "_", "*"),
        ("_", "*", "*"),
        ("*", "3", "3"),
        ("B-PER", "I-PER", "B-PER|I-PER"),
        ("same", "same", "same"),
        ("_", "x", "x"),
    ],
)
def test_words_that_are_joined_keep_what_either_had(
    put: Callable[..., str], one: str, two: str, both: str
) -> None:
    session = session_of(put(mwe(WORDS, f"* * * * * * * * {one} {two} * * * *")))
    session.change(1, seen(session.text.of_id(1)), "join", 1, None)
    assert extra(session, 1) == [("1", "Dogs bark", both)]
    session.close()


def test_a_token_that_becomes_one_word_or_none_gives_it_its_columns(
    put: Callable[..., str],
) -> None:
    text = mwe(WORDS, "* * RANGE DO NT * * * * * * * * *")
    session = session_of(put(text))
    session.change(0, seen(session.text.of_id(0)), "range", 0, [3, 4, ""])
    assert extra(session, 0)[2:4] == [("3", "do", "DO"), ("4", "n't", "NT|RANGE")]
    session.close()
    session = session_of(put(text, "b.cupt"))
    session.change(0, seen(session.text.of_id(0)), "join", 3, None)
    assert extra(session, 0)[2] == ("3", "don't", "DO|RANGE|NT")
    session.close()


def test_the_export_of_finished_sentences_names_the_columns(put: Callable[..., str]) -> None:
    sentences = read_marked(put(plus(7)))
    write_marked(sentences[1:], "out.cupt", "export")
    assert Path("out.cupt").read_text(encoding="utf-8").startswith("# global.columns = ID FORM")
    assert len(list(read("out.cupt", tags="known"))) == 2


def test_a_file_that_nobody_changes_stays(put: Callable[..., str], folder: Path) -> None:
    text = plus(9)
    session = session_of(put(text))
    session.close()
    assert (folder / "a.cupt").read_bytes() == text.encode()


def test_two_annotations_with_other_columns_are_not_mixed(
    put: Callable[..., str], wording: Wording
) -> None:
    from dynet_vdgi.page.adjudication.decisions import Adjudication

    one, other = put(mwe(WORDS, "* " * 14), "one.cupt"), put(WORDS, "other.conllu")
    with wording.raises(DataError):
        Adjudication(one, other, "out.cupt", "anna")
    work = Adjudication(one, put(mwe(WORDS, "1 " * 14), "two.cupt"), "out.cupt", "anna")
    assert work.counts_not_compared()["columns after MISC"] == 3
    work.close()
    assert len(list(read("out.cupt"))) == 3


def test_a_release_has_ten_columns_and_says_so(
    put: Callable[..., str], vdgi: Vdgi, folder: Path, wording: Wording
) -> None:
    pytest.importorskip("udtools")
    name = put(mwe(WORDS, "* 1 * * * * * * 1 1:VID * * * *"))
    result = vdgi("release", "R", name, "--code", "en", "--name", "Mine", "--all")
    wording.check(result.err)
    found = "".join(path.read_text(encoding="utf-8") for path in folder.glob("R/*.conllu"))
    assert "global.columns" not in found
    assert {line.count("\t") for line in found.split("\n") if line and line[0] != "#"} == {9}
    assert "column" not in result.out
