"""What `vdgi release` meets in its folder and its files: links, pipes, copies, odd names and forms."""

from __future__ import annotations

import importlib.util
import os
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shell import Vdgi
from wording import Wording

from dynet_vdgi.conllu.sentence import sent_id_of
from dynet_vdgi.release.treebank_statistics import stats_xml
from dynet_vdgi.validation import udtools

needs_udtools = pytest.mark.skipif(
    importlib.util.find_spec("udtools") is None, reason="udtools is not installed"
)
needs_langcodes = pytest.mark.skipif(
    importlib.util.find_spec("udtools") is None or importlib.util.find_spec("langcodes") is None,
    reason="udtools or langcodes is not installed",
)

pytestmark = pytest.mark.usefixtures("folder")

NAMED = ["--code", "en", "--name", "Mine"]
TEST = Path("R/en_mine-ud-test.conllu")
TOML = "not-to-release/release.toml"
BY = "HeadBy=anna|LabelBy=anna"


def sentence(
    name: str = "", noun: str = "Dogs", comments: str = "", by: str = BY, heads: str = "202"
) -> str:
    named = f"# sent_id = {name}\n" if name else ""
    return (
        f"{comments}{named}# text = {noun} bark.\n"
        f"1\t{noun}\tdog\tNOUN\t_\tNumber=Plur\t{heads[0]}\tnsubj\t_\t{by or '_'}\n"
        f"2\tbark\tbark\tVERB\t_\t_\t{heads[1]}\troot\t_\tSpaceAfter=No{by and '|' + by}\n"
        f"3\t.\t.\tPUNCT\t_\t_\t{heads[2]}\tpunct\t_\t_\n\n"
    )


def write(name: str, *texts: str) -> str:
    Path(name).write_text("".join(texts), encoding="utf-8")
    return name


def first_release(vdgi: Vdgi) -> None:
    write("a.conllu", sentence("x"))
    assert vdgi("release", "R", *NAMED, "a.conllu").status == 4  # only values are missing


def comments() -> list[str]:
    return [
        line
        for line in TEST.read_text(encoding="utf-8").split("\n")
        if line[:1] == "#" and "text" not in line
    ]


# The folder
FILES = [
    "README.md",
    "LICENSE.txt",
    TEST.name,
    "en_mine-ud-train.conllu",
    "stats.xml",
    "CONTRIBUTING.md",
    TOML,
]


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("name", FILES)
def test_a_link_in_the_folder_is_refused_and_what_it_leads_to_stays(vdgi: Vdgi, name: str) -> None:
    first_release(vdgi)
    write("victim", "precious\n")
    for target in ("victim", "nowhere", "/dev/zero"):
        Path("R", name).unlink(missing_ok=True)
        Path("R", name).symlink_to(Path(target).absolute())
        found = vdgi("release", "R", *NAMED, "a.conllu")
        message = f"R/{name} is a link, and what it leads to is not replaced (move it away)"
        assert (found.status, message in found.err) == (2, True), found.err
    assert Path("victim").read_text(encoding="utf-8") == "precious\n"
    assert not Path("nowhere").exists()


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("name", FILES)
def test_a_pipe_or_folder_in_place_of_a_file_is_refused_at_once(
    vdgi: Vdgi, name: str, wording: Wording
) -> None:
    first_release(vdgi)
    Path("R", name).unlink(missing_ok=True)
    for make in (os.mkfifo, os.mkdir):
        make(Path("R", name))
        found = vdgi("release", "R", *NAMED, "a.conllu")
        assert found.status == 2
        wording.check(found.err)
        (os.unlink if make is os.mkfifo else os.rmdir)(Path("R", name))


@pytest.mark.usefixtures("unchecked")
def test_a_link_in_place_of_the_folder_of_values_is_refused(vdgi: Vdgi, wording: Wording) -> None:
    first_release(vdgi)
    Path("R/not-to-release").rename("elsewhere")
    Path("R/not-to-release").symlink_to(Path("elsewhere").absolute())
    wording.check(vdgi("release", "R", *NAMED, "a.conllu").err)


@pytest.mark.usefixtures("unchecked")
def test_a_folder_that_is_a_circle_of_links_is_refused_and_a_link_to_a_folder_is_taken(
    vdgi: Vdgi,
    wording: Wording,
) -> None:
    write("a.conllu", sentence("x"))
    Path("loop").symlink_to("loop")
    Path("nowhere").symlink_to("gone")
    for name in ("loop", "nowhere"):
        found = vdgi("release", name, *NAMED, "a.conllu")
        assert found.status == 2
        wording.check(found.err)
    assert vdgi("release", "R", *NAMED, "loop").status in (2, 3)
    Path("real").mkdir()
    Path("R").symlink_to("real")
    assert vdgi("release", "R", *NAMED, "a.conllu").status == 4
    assert Path("real", TEST.name).exists()


@pytest.mark.usefixtures("unchecked")
def test_a_name_that_is_too_long_for_a_file_is_refused(vdgi: Vdgi, wording: Wording) -> None:
    write("a.conllu", sentence("x"))
    found = vdgi("release", "R", "--code", "en", "--name", "M" * 300, "a.conllu")
    assert found.status == 2
    wording.check(found.err)
    assert vdgi("release", "R", "--code", "en", "--name", "M" * 100, "a.conllu").status == 4


# What is said
@pytest.mark.usefixtures("unchecked")
def test_if_nothing_can_be_released_the_message_says_what_is_the_matter(
    vdgi: Vdgi, wording: Wording
) -> None:
    untagged = sentence("u").replace("\tVERB\t", "\t_\t")
    cases = {
        "no heads": (
            [
                sentence("x", heads="___", by="").replace("nsubj", "_"),
                sentence("y", heads="2_2", by=""),
                untagged,
            ],
            "no sentence has tags and a whole tree: 2 without heads, 1 without tags (vdgi parse makes trees",
        ),
        "no tags": (
            [untagged],
            "no sentence has tags and a whole tree: 1 without tags (vdgi parse --tagger",
        ),
    }
    for texts, message in cases.values():
        found = vdgi("release", "R", *NAMED, write("a.conllu", *texts), "--all")
        assert (found.status, message in found.err) == (2, True), found.err
        assert "--all takes" not in found.err
    open_tree = sentence("x", by="").replace("_\n2", "HeadBy=anna\n2")
    found = vdgi("release", "R", *NAMED, write("a.conllu", open_tree, sentence("y", by="")))
    wording.check(found.err)
    headless = sentence("x", heads="2_2").replace("\troot", "\t_")
    found = vdgi("release", "R", *NAMED, write("a.conllu", headless))
    wording.check(found.err)
    assert not Path("R").exists()


# Names and copies
@pytest.mark.usefixtures("unchecked")
def test_blanks_and_slashes_in_sent_id_are_replaced_and_that_is_said(
    vdgi: Vdgi, wording: Wording
) -> None:
    names = ["a b", "a/b", "../x", "s\u00a0t", "plain", "a_b", "c d", "c/d"]
    texts = [sentence(name, f"Dogs{k}") for k, name in enumerate(names)]
    found = vdgi("release", "R", *NAMED, write("d.conllu", *texts))
    released = [sent_id_of([line]) for line in comments() if "sent_id" in line]
    assert released == ["d-1", "d-2", ".._x", "s_t", "plain", "a_b", "c_d", "d-c_d"]
    wording.check(found.err)
    before = TEST.read_bytes()
    vdgi("release", "R", *NAMED, "d.conllu")
    assert TEST.read_bytes() == before


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    "line", ["# sent_id =", "# sent_id = ", "# sent_id :", "# sent_id", "#sent_id="]
)
def test_a_sent_id_without_a_value_is_none(vdgi: Vdgi, line: str) -> None:
    assert sent_id_of([line]) is None
    vdgi("release", "R", *NAMED, write("d.conllu", sentence(comments=f"{line}\n")))
    assert comments() == ["# newdoc id = d", "# sent_id = d-1"]


@pytest.mark.usefixtures("unchecked")
def test_a_copy_of_a_file_is_refused_unless_it_is_wanted(vdgi: Vdgi, wording: Wording) -> None:
    texts = [sentence(f"s{k}", f"Dogs{k}") for k in range(4)]
    write("a.conllu", *texts)
    write("a2.conllu", *texts[:2], sentence("s2", "Cats"), sentence("s9"))
    found = vdgi("release", "R", *NAMED, "a.conllu", "a2.conllu")
    again = (
        "2 sentences of the document 'a2' with name and words of 'a' (the first: 's0', a2.conllu:1)"
    )
    assert found.status == 2
    wording.check(found.err)
    assert not Path("R").exists()
    found = vdgi("release", "R", *NAMED, "a.conllu", "a2.conllu", "--copies")
    assert (found.status, again in found.err) == (4, True)
    write("a2.conllu", texts[0], *(sentence(f"t{k}") for k in range(3)))
    found = vdgi("release", "R", *NAMED, "a.conllu", "a2.conllu")
    assert found.status == 4
    wording.check(found.err)


@pytest.mark.usefixtures("unchecked")
def test_the_same_short_sentences_in_two_dialogues_are_no_copy(vdgi: Vdgi) -> None:
    write("a.conllu", *(sentence(f"a{k}") for k in range(4)))
    write("b.conllu", *(sentence(f"b{k}") for k in range(4)))
    found = vdgi("release", "R", *NAMED, "a.conllu", "b.conllu")
    assert (found.status, "with name and words" in found.err) == (4, False)


# Comments about documents
@pytest.mark.usefixtures("unchecked")
def test_global_comments_stand_at_the_beginning_of_each_document_and_columns_are_not_released(
    vdgi: Vdgi,
) -> None:
    entity = "# global.Entity = eid-etype-head-other"
    columns = "# global.columns = ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC"
    write(
        "a.conllu",
        sentence("x", comments=f"{columns}\n{entity}\n# newdoc id = one\n", by=""),
        sentence("y", "Cats", comments="# newpar\n"),
        sentence("z", "Pigs", comments="# newdoc id = two\n"),
        sentence("w", "Cows", comments=f"{entity}\n"),
    )
    vdgi("release", "R", *NAMED, "a.conllu")
    one = ["# newdoc id = one", entity, "# newpar", "# sent_id = y"]
    two = ["# newdoc id = two", entity, "# sent_id = z", "# sent_id = w"]
    assert comments() == one + two


# Statistics
def row(*columns: str) -> str:
    return "\t".join(columns)


nasty = st.text(
    st.one_of(
        st.sampled_from("-<>&'\"!?]=|,{}%;\x00\x01\x0b\x1b\x7f\x85\ufffe\uffff\ufffd\u2028"),
        st.characters(exclude_characters="\t\n\r"),
    ),
    min_size=1,
    max_size=8,
)


@given(st.lists(st.tuples(nasty, nasty, nasty, nasty, nasty, nasty), min_size=1, max_size=6))
def test_statistics_are_xml_whatever_the_columns_hold(words: list[tuple[str, ...]]) -> None:
    lines = [
        row(str(k), form, lemma, tag, "_", f"{name}={value}", "0", deprel, "_", "_")
        for k, (form, lemma, tag, name, value, deprel) in enumerate(words, 1)
    ]
    lines.append(row("1-2", words[0][0], *"________"))
    size = {"sentences": 1, "tokens": 1, "words": len(words), "fused": 1}
    text = stats_xml([lines], {"test": size})
    tree = ElementTree.fromstring(text.encode("utf-8"))
    assert sum(int(tag.text or 0) for tag in tree.iter("tag")) == len(words)
    for counted in ("tag", "feat", "dep"):
        assert len([*tree.iter(counted)]) == int(tree.find(f"{counted}s").attrib["unique"])  # type: ignore[union-attr]


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    "form", ["---", "----", "-->", "<!--", "\x01", "\x1b", "\ufffe", "]]>", "&", "a--", "--\x1b-"]
)
def test_a_release_with_such_a_form_has_statistics_that_can_be_read(vdgi: Vdgi, form: str) -> None:
    vdgi("release", "R", *NAMED, write("a.conllu", sentence("x", form)))
    tree = ElementTree.parse("R/stats.xml").getroot()
    assert tree.findtext("size/total/words") == "3"


# Annotators
@pytest.mark.usefixtures("unchecked")
def test_both_annotators_are_credited_in_what_was_decided_between_their_files(vdgi: Vdgi) -> None:
    pytest.importorskip("starlette", reason="Starlette, of the extra annotate, is not installed")
    from dynet_vdgi.page.adjudication.decisions import Adjudication

    def marked(by: str, relation: str = "nsubj") -> str:
        return sentence("x", by=f"HeadBy={by}|LabelBy={by}").replace("nsubj", relation)

    write("ben.conllu", marked("ben"))
    write("anna.conllu", marked("anna", "obj"))
    work = Adjudication("ben.conllu", "anna.conllu", "both.conllu", "chief")
    work.decide(0, ["1:deprel"], 1)
    work.close()
    vdgi("release", "R", *NAMED, "both.conllu")
    readme = Path("R/README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\w+) \| (\d) \| (\d) \| 0 \| 0 \| 0 \| 0 \|$", readme, re.MULTILINE)
    assert rows == [("anna", "2", "1"), ("ben", "2", "1"), ("chief", "0", "1")]


# Codes of languages
CODES = (
    "cym cy, gla gd, mlt mt, bam bm, wel cy, deu de, ger de, cmn zh, nb no, nno no, se sme, tgl tl, lin ln, pes fa, "
    "cy, gsw, sme, kmr, yue, qqq, ln, ud, a!, XX"
)
"""Codes, and the one of UD if it is another."""


@needs_langcodes
@pytest.mark.parametrize(
    ("code", "wanted"), [f"{pair} ".split(" ")[:2] for pair in CODES.split(", ")]
)
def test_a_code_that_is_not_the_one_of_ud_is_told_that(code: str, wanted: str) -> None:
    assert udtools.code_in_ud(code) == wanted


@needs_langcodes
def test_three_letters_for_a_language_of_two_are_refused_by_release_and_check(
    vdgi: Vdgi, wording: Wording
) -> None:
    write("a.conllu", sentence("x"))
    for code in ("cym", "gla", "mlt"):
        found = vdgi("release", "R", "--code", code, "--name", "Mine", "a.conllu")
        assert found.status == 2
        wording.check(found.err)
        found = vdgi("check", "--ud", "--lang", code, "a.conllu")
        assert found.status == 2
        wording.check(found.err)
    assert not Path("R").exists()
    found = vdgi("check", "--ud", "--lang", "qqq", "a.conllu")
    assert found.status == 2
    wording.check(found.err)
    assert vdgi("check", "--ud", "--lang", "qqq", "--level", "3", "a.conllu").status == 0


# A text from the field
FIELD = ["Nyumba", "Mtoto", "Paka", "Mbwa", "Mvua", "Samaki", "Kuku", "Shamba", "Mwalimu", "Kitabu"]


@needs_udtools
@pytest.mark.parametrize("code", ["sw", "qqq"])
def test_an_interlinear_text_with_glosses_speakers_times_and_translations_is_released_and_valid(
    vdgi: Vdgi, code: str
) -> None:
    texts = []
    for k in range(30):
        noun, speaker = FIELD[k % 10], "AB"[k % 2]
        more = f"# speaker = {speaker}\n# sound_url = https://example.org/{k}.wav\n"
        more += f"# text_en = The {noun} sees, {k}.\n# text[fra] = Le {noun} voit.\n# gloss = CL9 SM-see.PRS .\n"
        times = (
            f"Gloss=CL9-thing|AlignBegin={k * 1000}|AlignEnd={k * 1000 + 400}|LId={noun.lower()}-1"
            + f"|Speaker={speaker}"
        )
        rows = [
            row(
                "1",
                noun,
                noun.lower(),
                "NOUN",
                "N",
                "_",
                "2",
                "nsubj",
                "_",
                f"{times}|{BY}|TagBy=anna",
            ),
            row(
                "2",
                "inaona",
                "ona",
                "VERB",
                "V",
                "_",
                "0",
                "root",
                "_",
                f"Gloss=CL9.SM-see-FV|SpaceAfter=No|{BY}",
            ),
            row("3", ".", ".", "PUNCT", "_", "_", "2", "punct", "_", "SpacesAfter=\\n"),
        ]
        texts.append(f"{more}# text = {noun} inaona.\n" + "\n".join(rows) + "\n\n")
    write("story.conllu", *texts)
    found = vdgi("release", "R", "--code", code, "--name", "Field", "story.conllu")
    assert found.status == 4, found.out  # only values are missing
    assert ": 0 errors, " in found.out
    (test,) = Path("R").glob("*-test.conllu")
    released = test.read_text(encoding="utf-8")
    assert (
        released.count("\n# speaker = ")
        == released.count("\n# text_en = ")
        == released.count("|AlignEnd=")
        == 30
    )
    assert released.count("Gloss=CL9-thing|AlignBegin=") == 30
    assert "By=" not in released
    assert vdgi("check", "--ud", "--level", "2", test).status == 0
