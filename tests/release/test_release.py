"""`vdgi release`: what is taken, its names, its split, its papers, and what the validator says of
it."""

from __future__ import annotations

import importlib.util
import random
import re
import shlex
import shutil
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tiny
from annotating import guessed, seen
from hypothesis import given
from hypothesis import strategies as st
from shell import ROOT, Vdgi

from dynet_vdgi.page.store.session import Session
from dynet_vdgi.release import split as splitting
from dynet_vdgi.release.split import PARTS, shortfall, split
from dynet_vdgi.system import files
from dynet_vdgi.validation import udtools

needs_udtools = pytest.mark.skipif(
    importlib.util.find_spec("udtools") is None, reason="udtools is not installed"
)

NAMED = ["--code", "en", "--name", "Mine"]
TEST = "R/en_mine-ud-test.conllu"
TOML = Path("R/not-to-release/release.toml")
MANUAL = "manual native"
VALUES = {
    "Summary": "Two dogs and what they do, for the tests of a program.",
    "Introduction": "Dogs.",
    "Acknowledgments": "Dogs.",
    "Changelog": "* 2026-11-15 v2.19",
    "Data available since": "UD v2.19",
    "License": "CC BY-SA 4.0",
    "Includes text": "yes",
    "Parallel": "no",
    "Genre": "fiction",
    "Lemmas": MANUAL,
    "UPOS": MANUAL,
    "XPOS": "not available",
    "Features": MANUAL,
    "Relations": MANUAL,
    "Contributors": "Smith, Anna; Jones, Ben",
    "Contributing": "elsewhere",
    "Contact": "anna@example.org",
}


def sentence(
    name: str = "", noun: str = "Dogs", by: str = "anna", *, comments: str = "", last: str = "_"
) -> str:
    """A sentence of three words, confirmed by somebody; `last`: MISC of the full stop."""
    mark = f"HeadBy={by}|LabelBy={by}" if by else "_"
    rows = [
        f"1\t{noun}\tdog\tNOUN\t_\tNumber=Plur\t2\tnsubj\t_\t{mark}",
        f"2\tbark\tbark\tVERB\t_\t_\t0\troot\t_\t{'SpaceAfter=No' if by == '' else f'SpaceAfter=No|{mark}'}",
        f"3\t.\t.\tPUNCT\t_\t_\t2\tpunct\t_\t{last}",
    ]
    named = f"# sent_id = {name}\n" if name else ""
    return f"{comments}{named}# text = {noun} bark.\n" + "\n".join(rows) + "\n\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A validator that has nothing to say."""
    monkeypatch.setattr(udtools, "messages", lambda texts, language="", level="": [])


def write(name: str, *texts: str) -> str:
    Path(name).write_text("".join(texts), encoding="utf-8")
    return name


def fill(**changes: str) -> None:
    """Fills the TOML file in."""
    values = VALUES | {key.replace("_", " "): value for key, value in changes.items()}
    TOML.write_text(
        "".join(f'"{key}" = "{value}"\n' for key, value in values.items()), encoding="utf-8"
    )


def complete(vdgi: Vdgi) -> None:
    """Makes a release of one sentence with all of its values."""
    write("a.conllu", sentence("x"))
    vdgi("release", "R", *NAMED, "a.conllu")
    fill()
    vdgi.good("release", "R", *NAMED, "a.conllu")


def content() -> dict[str, tuple[bytes, int]]:
    """Bytes and time of each file of the release."""
    return {
        str(path): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in Path("R").rglob("*")
        if path.is_file()
    }


def sent_ids(path: str = TEST) -> list[str]:
    lines = Path(path).read_text(encoding="utf-8").split("\n")
    return [line.removeprefix("# sent_id = ") for line in lines if line.startswith("# sent_id")]


@needs_udtools
def test_a_release_is_whole_and_valid_and_a_second_run_changes_nothing(
    vdgi: Vdgi, folder: Path
) -> None:
    write(
        "a.conllu",
        sentence("1", comments="# newdoc id = a.txt\n# newpar\n", last="SpacesAfter=\\n"),
        sentence("2"),
    )
    first = vdgi("release", "R", *NAMED, "a.conllu")
    assert first.status == 4
    assert first.out == "udvalidate --lang=en --level=5: 0 errors, 0 warnings\n"
    assert f"{TOML}: 17 values missing: Summary, Introduction" in first.err
    assert "test: 2 sentences, 6 words" in first.err
    fill()
    assert "written: README.md, LICENSE.txt" in vdgi.good("release", "R", *NAMED, "a.conllu").err
    names = {str(path.relative_to("R")) for path in map(Path, content())}
    papers = {
        "README.md",
        "LICENSE.txt",
        "CONTRIBUTING.md",
        "stats.xml",
        "not-to-release/release.toml",
    }
    assert names == {Path(TEST).name, *papers}
    before = content()
    again = vdgi.good("release", "R", *NAMED, "a.conllu")
    assert "written: nothing" in again.err
    assert content() == before
    assert sent_ids() == ["a-1", "a-2"]
    readme = Path("R/README.md").read_text(encoding="utf-8")
    begin = (
        "<pre>\n=== Machine-readable metadata (DO NOT REMOVE!) "
        + 32 * "="
        + "\nData available since: UD v2.19\n"
    )
    assert begin in readme
    assert readme.endswith("Contact: anna@example.org\n" + 79 * "=" + "\n</pre>\n")
    sections = [
        "Summary",
        "Introduction",
        "Data split",
        "Annotation",
        "Acknowledgments",
        "Changelog",
    ]
    assert [line for line in readme.split("\n") if line.startswith("# ")] == [
        f"# {title}" for title in sections
    ]
    assert "| anna | 4 | 4 | 0 | 0 | 0 | 0 |" in readme
    assert "by-sa/4.0" in Path("R/LICENSE.txt").read_text(encoding="utf-8")


@needs_udtools
def test_errors_are_listed_by_rule_with_the_first_place_in_the_annotated_file(
    vdgi: Vdgi, folder: Path
) -> None:
    wrong = sentence("y").replace("nsubj", "det")
    write("a.conllu", sentence("x"), wrong, wrong.replace("= y", "= z"))
    found = vdgi("release", "R", "--code", "qqq", "--name", "Mine", "a.conllu")
    assert found.status == 3
    lines = found.out.splitlines()
    assert lines[0] == "2 errors: rel-upos-det (level 3)"
    assert lines[1].startswith("  a.conllu:9: ")  # an empty line, and comments, are before it
    assert lines[2:] == ["  and 1 more", "udvalidate --lang=ud --level=3: 2 errors, 0 warnings"]
    assert (
        Path("a.conllu").read_text(encoding="utf-8").split("\n")[8].startswith("1\tDogs\tdog\tNOUN")
    )
    assert "2 errors found" in found.err


def test_without_the_validator_the_release_is_written_and_the_message_says_how_to_get_it(
    vdgi: Vdgi, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(udtools, "command", lambda language="", level="": None)
    write("a.conllu", sentence("x"))
    found = vdgi("release", "R", *NAMED, "a.conllu")
    assert (found.status, "is not installed: " in found.err, "validate" in found.err) == (
        2,
        True,
        True,
    )
    assert sent_ids() == ["x"]


@pytest.mark.usefixtures("unchecked")
def test_marks_notes_and_spaces_are_taken_out_and_everything_else_stays(
    vdgi: Vdgi, folder: Path
) -> None:
    more = "# newdoc id = d\n# flag = look again\n# note = ask Anna\n# guess = 01234567\n# text_en = Dogs!\n"
    text = sentence(
        "x",
        comments=more,
        last="Gloss=stop|SpacesAfter=\\s\\n|HeadConf=0.51|TagConf=0.4|Note=?|TagBy=ben",
    )
    write(
        "a.conllu",
        text.replace("Number=Plur\t2\tnsubj\t_\t", "Number=Plur\t2\tnsubj\t2:nsubj\tRef=a|"),
    )
    vdgi("release", "R", *NAMED, "a.conllu")
    assert Path(TEST).read_text(encoding="utf-8") == (
        "# newdoc id = d\n# sent_id = x\n# text = Dogs bark.\n# text_en = Dogs!\n"
        "1\tDogs\tdog\tNOUN\t_\tNumber=Plur\t2\tnsubj\t2:nsubj\tRef=a\n"
        "2\tbark\tbark\tVERB\t_\t_\t0\troot\t_\tSpaceAfter=No\n"
        "3\t.\t.\tPUNCT\t_\t_\t2\tpunct\t_\tGloss=stop\n\n"
    )
    assert "| ben | 0 | 0 | 1 | 0 | 0 | 0 |" in Path("R/README.md").read_text(encoding="utf-8")


@pytest.mark.usefixtures("unchecked")
def test_what_is_finished_is_as_the_journal_has_it_and_no_working_file_is_touched(
    vdgi: Vdgi, folder: Path
) -> None:
    path = tiny.write(Path("a.conllu"), 4, heads=False)
    session = guessed(Session(str(path), "anna"))
    marked = session.sentences[1]
    session.change(marked.id, seen(marked), "done", 0, 0)  # in the journal, and not yet in the file
    before = {name: Path(name).read_bytes() for name in ("a.conllu", "a.conllu.journal")}
    found = vdgi("release", "R", *NAMED, "a.conllu")
    session.close()
    assert b"HeadBy" not in before["a.conllu"]
    assert "left out: 3 sentences not finished" in found.err
    assert len(sent_ids()) == 1
    session = Session(str(path), "anna")
    session.close()
    before = {name: Path(name).read_bytes() for name in ("a.conllu", "a.conllu.journal")}
    vdgi("release", "R", *NAMED, "a.conllu")
    assert {name: Path(name).read_bytes() for name in before} == before
    assert sorted(each.name for each in folder.iterdir()) == ["R", "a.conllu", "a.conllu.journal"]


@pytest.mark.usefixtures("unchecked")
def test_all_takes_other_trees_but_not_what_has_no_tags_or_head(vdgi: Vdgi, folder: Path) -> None:
    bare, untagged = sentence("x", by=""), sentence("y", by="").replace("\tVERB\t", "\t_\t")
    headless = sentence("z", by="").replace("\t2\tpunct", "\t_\t_")
    write("a.conllu", bare, untagged, headless)
    assert "nothing is confirmed" in vdgi("release", "R", *NAMED, "a.conllu").err
    assert not Path("R").exists()
    found = vdgi("release", "R", *NAMED, "a.conllu", "--all")
    assert "left out: 2 sentences without tags or tree" in found.err
    assert sent_ids() == ["x"]
    assert "Annotation" not in Path("R/README.md").read_text(encoding="utf-8")


@pytest.mark.usefixtures("unchecked")
def test_a_faulty_tree_is_refused_with_its_place_before_anybody_has_opened_the_file(
    vdgi: Vdgi, folder: Path
) -> None:
    write("a.conllu", sentence("x", by=""), sentence("y", by="").replace("\t2\tnsubj", "\t0\troot"))
    found = vdgi("release", "R", *NAMED, "a.conllu", "--all")
    assert found.status == 3
    assert "a.conllu:9: 2 roots: words 1, 2" in found.err
    assert not Path("R").exists()


@pytest.mark.usefixtures("unchecked")
def test_paragraphs_go_on_where_sentences_are_left_out(vdgi: Vdgi, folder: Path) -> None:
    def texts(by: str) -> str:
        return "".join(
            (
                sentence("1", comments="# newpar\n", last="SpaceAfter=No"),
                sentence("2", by=by),
                sentence("3", last="SpaceAfter=No"),
                sentence("4", comments="# newpar id = p\n", by=by),
                sentence("5", last="SpaceAfter=No"),
            )
        )

    write("a.conllu", texts(""))
    vdgi("release", "R", *NAMED, "a.conllu")
    lines = Path(TEST).read_text(encoding="utf-8").split("\n")
    comments = (
        "# newdoc id = a/# newpar/# sent_id = a-1/# sent_id = a-3/# newpar id = p/# sent_id = a-5"
    )
    assert [line for line in lines if line[:2] == "# " and "text" not in line] == comments.split(
        "/"
    )
    assert [line[-1] for line in lines if line[:2] == "3\t"] == ["_", "_", "_"]
    write("a.conllu", texts("anna"))
    vdgi("release", "R", *NAMED, "a.conllu")
    lines = Path(TEST).read_text(encoding="utf-8").split("\n")
    assert [line.rpartition("\t")[2] for line in lines if line[:2] == "3\t"] == [
        "SpaceAfter=No",
        "_",
        "_",
        "_",
        "_",
    ]


@pytest.mark.usefixtures("unchecked")
def test_a_text_is_made_where_there_is_none_and_invisible_characters_are_no_space(
    vdgi: Vdgi, folder: Path
) -> None:
    text = sentence("x").replace("# text = Dogs bark.\n", "")
    khmer = (
        sentence("y")
        .replace("Dogs bark.", "Dogsbark.")
        .replace("HeadBy=anna|", "HeadBy=anna|SpacesAfter=\\u200b|", 1)
    )
    write("a.conllu", text, khmer)
    vdgi("release", "R", *NAMED, "a.conllu")
    lines = Path(TEST).read_text(encoding="utf-8").split("\n")
    assert [line for line in lines if line.startswith("# text")] == [
        "# text = Dogs bark.",
        "# text = Dogsbark.",
    ]
    assert [line.split("\t")[9] for line in lines if line[:2] == "1\t"] == ["_", "SpaceAfter=No"]


@pytest.mark.usefixtures("unchecked")
def test_texts_that_are_not_those_of_the_words_are_all_listed_and_nothing_is_written(
    vdgi: Vdgi, folder: Path
) -> None:
    wrong = sentence("x").replace("# text = Dogs", "# text = Cats")
    write(
        "a.conllu",
        sentence("w"),
        wrong,
        sentence("y"),
        sentence("z").replace("Dogs bark.\n", "Dogs bark .\n"),
    )
    found = vdgi("release", "R", *NAMED, "a.conllu")
    assert found.status == 3
    assert found.out.splitlines() == [
        "a.conllu:8: # text has 'Cats bark.' where the words have 'Dogs' (mend it, or SpaceAfter=No in MISC)",
        "a.conllu:20: # text has ' .' where the words have '.' (mend it, or SpaceAfter=No in MISC)",
    ]
    assert "2 texts to correct; nothing was written" in found.err
    assert not Path("R").exists()


BAD = {
    "a fault": (
        [sentence("x").replace("1\tDogs", "7\tDogs")],
        3,
        "a.conllu:3: ID 7 where 1 was expected",
    ),
    "a document twice": (
        [sentence("x", comments="# newdoc id = d\n"), sentence("y", comments="# newdoc id = d\n")],
        3,
        "a.conllu:8: there is a document 'd' already (give it another # newdoc id)",
    ),
    "nothing finished": (
        [sentence("x", by="").replace("_\n2", "HeadBy=anna\n2")],
        2,
        "no sentence is finished",
    ),
}


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_refused_and_nothing_is_written(vdgi: Vdgi, folder: Path, name: str) -> None:
    texts, status, message = BAD[name]
    write("a.conllu", *texts)
    found = vdgi("release", "R", *NAMED, "a.conllu")
    assert (found.status, message in found.err) == (status, True), found.err
    assert not Path("R").exists()


@pytest.mark.usefixtures("unchecked")
def test_names_that_ud_would_not_take_are_refused(vdgi: Vdgi, folder: Path) -> None:
    write("a.conllu", sentence("x"))
    for code, name in (
        ("english", "Mine"),
        ("EN", "Mine"),
        ("en", "mine"),
        ("en", "My-Own"),
        ("en", "../Mine"),
    ):
        assert vdgi("release", "R", "--code", code, "--name", name, "a.conllu").status == 2
    assert vdgi("release", "R", *NAMED, "-").status == 2
    assert not Path("R").exists()


@pytest.mark.usefixtures("unchecked")
def test_a_folder_with_other_files_and_files_in_the_folder_are_refused(
    vdgi: Vdgi, folder: Path
) -> None:
    write("a.conllu", sentence("x"))
    write("F", "a file")
    assert "F is a file" in vdgi("release", "F", *NAMED, "a.conllu").err
    Path("R").mkdir()
    write("R/README.md", "by hand")
    found = vdgi("release", "R", *NAMED, "a.conllu")
    assert (
        found.status,
        "R holds what is no release of this treebank: README.md" in found.err,
    ) == (2, True)
    assert [path.name for path in Path("R").iterdir()] == ["README.md"]
    Path("R/README.md").unlink()
    Path("R/.git").mkdir()
    vdgi("release", "R", *NAMED, "a.conllu")
    write("R/notes.txt", "mine")
    assert "notes.txt" in vdgi("release", "R", *NAMED, "a.conllu").err
    Path("R/notes.txt").unlink()
    Path("R/not-to-release/release.toml").rename("values")
    assert (
        "(move it away, or put its not-to-release/release.toml back)"
        in vdgi("release", "R", *NAMED, "a.conllu").err
    )
    Path("values").rename("R/not-to-release/release.toml")
    before = content()
    other = vdgi("release", "R", "--code", "en", "--name", "Other", "a.conllu")
    assert (other.status, Path(TEST).name in other.err) == (2, True)
    inside = vdgi("release", "R", *NAMED, TEST, "--all")
    assert (inside.status, "must not be in R" in inside.err) == (2, True)
    assert content() == before


@pytest.mark.usefixtures("unchecked")
def test_a_release_that_was_cut_short_is_completed_by_the_next_run(
    vdgi: Vdgi, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("a.conllu", sentence("x"))
    vdgi("release", "R", *NAMED, "a.conllu")
    whole = {name: both[0] for name, both in content().items()}
    writer = files.atomic_writer
    for n_written in range(len(whole)):
        shutil.rmtree("R")
        left = iter(range(n_written))

        def killed(path: files.AnyPath, left: Iterator[int] = left) -> Any:
            if next(left, None) is None:
                raise KeyboardInterrupt
            return writer(path)

        monkeypatch.setattr(files, "atomic_writer", killed)
        assert vdgi("release", "R", *NAMED, "a.conllu").status == 130
        monkeypatch.setattr(files, "atomic_writer", writer)
        assert len(content()) == n_written
        assert vdgi("release", "R", *NAMED, "a.conllu").status == 4  # only values are missing
        assert {name: both[0] for name, both in content().items()} == whole


@pytest.mark.usefixtures("unchecked")
def test_folders_that_cannot_be_written_are_named(vdgi: Vdgi, folder: Path) -> None:
    write("a.conllu", sentence("x"))
    write("F", "a file")
    for name, message in (("F/R", "cannot write 'F/R': "), ("", "the name of the folder is empty")):
        found = vdgi("release", name, *NAMED, "a.conllu")
        assert (found.status, message in found.err) == (2, True), found.err
    assert sorted(each.name for each in folder.iterdir()) == ["F", "a.conllu"]


@pytest.mark.usefixtures("unchecked")
def test_values_that_cannot_be_right_are_refused_and_nothing_is_written(
    vdgi: Vdgi, folder: Path
) -> None:
    complete(vdgi)
    write("b.conllu", sentence("y"))
    before = {name: both for name, both in content().items() if name != str(TOML)}
    for change, message in (
        ({"UPOS": "automatic"}, "UPOS = 'automatic' (expected: one of: manual native"),
        ({"Licence": "CC BY 4.0"}, "there is no value 'Licence'; did you mean 'License'?"),
        (
            {"Genre": "stories spoken"},
            f"{TOML}:9: Genre = 'stories spoken': 'stories' is no genre of UD (expected: ",
        ),
        (
            {"Contributors": "Maria Borg", "Contact": "maria"},
            f"{TOML}:17: Contact = 'maria': 'maria' is no e-mail",
        ),
    ):
        fill(**change)
        found = vdgi("release", "R", *NAMED, "a.conllu", "b.conllu")
        assert (found.status, message in found.err) == (4, True), found.err
    TOML.write_text("Summary =", encoding="utf-8")
    assert "not a TOML file" in vdgi("release", "R", *NAMED, "a.conllu", "b.conllu").err
    assert {name: both for name, both in content().items() if name != str(TOML)} == before


@pytest.mark.usefixtures("unchecked")
def test_other_licences_need_a_text_and_what_people_wrote_stays(vdgi: Vdgi, folder: Path) -> None:
    write("a.conllu", sentence("x"))
    vdgi("release", "R", *NAMED, "a.conllu")
    fill(License="GNU GPL 3", Genre="")
    found = vdgi("release", "R", *NAMED, "a.conllu")
    assert (
        found.err.splitlines()[-1]
        == f"{TOML}: 2 values missing: Genre, the text of the licence in LICENSE.txt"
    )
    write("R/LICENSE.txt", "GNU")
    write("R/CONTRIBUTING.md", "ask us")
    fill(License="CC BY 4.0", Genre="fiction\\nnews")
    vdgi.good("release", "R", *NAMED, "a.conllu")
    assert "\nGenre: fiction news\n" in Path("R/README.md").read_text(encoding="utf-8")
    assert [Path("R", name).read_text() for name in ("LICENSE.txt", "CONTRIBUTING.md")] == [
        "GNU",
        "ask us",
    ]


@pytest.mark.usefixtures("unchecked")
def test_the_text_of_a_licence_that_was_changed_does_not_stay(vdgi: Vdgi, folder: Path) -> None:
    complete(vdgi)
    fill(License="GNU GPL 3")
    assert "LICENSE.txt" in vdgi("release", "R", *NAMED, "a.conllu").err.splitlines()[-1]
    assert not Path("R/LICENSE.txt").exists()


@pytest.mark.usefixtures("unchecked")
def test_statistics_count_what_ud_counts(vdgi: Vdgi, folder: Path) -> None:
    merged = (
        "# sent_id = y\n# text = dogs don't -- bark\n1\tdogs\tdog\tNOUN\t_\tNumber=Plur\t5\tnsubj\t_\t_\n"
        "2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\t_\n2\tdo\tdo\tAUX\t_\tVerbForm=Fin\t5\taux\t_\t_\n"
        "3\tn't\tnot\tPART\t_\t_\t5\tadvmod\t_\t_\n4\t--\t--\tPUNCT\t_\t_\t5\tpunct\t_\t_\n"
        "4.1\tso\tso\tADV\t_\t_\t_\t_\t5:dep\t_\n5\tbark\tbark\tVERB\t_\tNumber=Plur|VerbForm=Fin\t0\troot\t_\t_\n\n"
    )
    write("a.conllu", sentence("x", by=""), merged)
    vdgi("release", "R", *NAMED, "a.conllu", "--all")
    tree = ElementTree.parse("R/stats.xml").getroot()
    units = ("sentences", "tokens", "words", "fused")
    assert [tree.findtext(f"size/total/{unit}") for unit in units] == ["2", "7", "8", "1"]
    assert [tree.findtext(f"size/train/{unit}") for unit in units] == ["0", "0", "0", "0"]
    unique = {
        name: tree.find(name).attrib["unique"]
        for name in ("lemmas", "forms", "fusions", "tags", "feats", "deps")
    }  # type: ignore[union-attr]
    assert unique == {
        "lemmas": "6",
        "forms": "6",
        "fusions": "1",
        "tags": "5",
        "feats": "2",
        "deps": "5",
    }
    feats = [
        (each.attrib["name"], each.attrib["value"], each.attrib["upos"], each.text)
        for each in tree.iter("feat")
    ]
    assert feats == [("Number", "Plur", "NOUN,VERB", "3"), ("VerbForm", "Fin", "AUX,VERB", "2")]
    assert "<!-- dogs, bark -->" in Path("R/stats.xml").read_text(encoding="utf-8")
    assert "- -" in Path("R/stats.xml").read_text(encoding="utf-8")


@pytest.mark.usefixtures("unchecked")
def test_the_agreement_of_two_annotators_is_that_of_the_files_that_were_decided(
    vdgi: Vdgi, folder: Path
) -> None:
    pytest.importorskip("starlette", reason="Starlette, of the extra annotate, is not installed")
    from dynet_vdgi.page.adjudication.decisions import Adjudication

    write("a.conllu", sentence("x"), sentence("y"))
    write("b.conllu", sentence("x", by="ben"), sentence("y", by="ben").replace("nsubj", "obj"))
    work = Adjudication("a.conllu", "b.conllu", "c.conllu", "eve")
    work.decide(0, ["1:deprel"], 1)
    work.close()
    vdgi("release", "R", *NAMED, "c.conllu")
    readme = Path("R/README.md").read_text(encoding="utf-8")
    assert "| UPOS | 6 | 100.0 | 1.00 |" in readme
    assert "| relation | 6 | 83.3 | 0.77 |" in readme
    assert "| head (UAS) | 6 | 100.0 |  |" in readme
    assert "| eve | 0 | 1 | 0 | 0 | 0 | 0 |" in readme
    write("a.conllu", sentence("x"))
    vdgi("release", "R", *NAMED, "c.conllu")
    assert "Agreement" not in Path("R/README.md").read_text(encoding="utf-8")


@pytest.mark.usefixtures("unchecked")
def test_names_are_kept_where_they_are_unique_and_no_mere_numbers(vdgi: Vdgi, folder: Path) -> None:
    write("a.conllu", sentence("x"), sentence("y"), sentence("y"), sentence(), sentence("7-2"))
    write(
        "b b.conllu",
        sentence("x", comments="# newdoc\n"),
        sentence("z", comments="# newdoc\n"),
        sentence("7"),
    )
    vdgi("release", "R", *NAMED, "a.conllu", "b b.conllu")
    assert sent_ids() == ["x", "y", "a-3", "a-4", "a-7-2", "b_b-x", "z", "b_b-2-7"]
    lines = Path(TEST).read_text(encoding="utf-8").split("\n")
    assert [line for line in lines if "newdoc" in line] == [
        f"# newdoc id = {name}" for name in ("a", "b_b", "b_b-2")
    ]


@pytest.mark.usefixtures("unchecked")
def test_names_of_a_file_are_those_of_its_sentences_whatever_the_file_is_called(
    vdgi: Vdgi, folder: Path
) -> None:
    write("a.conllu", sentence("x"), sentence())
    vdgi("release", "R", *NAMED, "a.conllu")
    for name, unnamed in (("b.conllu", "b-2"), (".conllu", "text-2")):
        Path("a.conllu").rename(name)
        assert vdgi("release", "R", *NAMED, name, "--fewer").status == 4  # only values are missing
        assert sent_ids() == ["x", unnamed]
        Path(name).rename("a.conllu")


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("seed", range(6))
def test_names_and_parts_stay_whatever_is_finished_or_added(
    vdgi: Vdgi, folder: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Documents come in any order, are finished bit by bit, and have names in common."""
    for name, value in {
        "LEAST_PART": 30,
        "TRAIN_FROM": 60,
        "DEV_FROM": 90,
        "LEAST_DEV": 15,
    }.items():
        monkeypatch.setattr(splitting, name, value)
    rng = random.Random(seed)
    names = {
        f"d{k}": [rng.choice(("", "s", f"{n}", f"s{n}")) for n in range(rng.randint(1, 9))]
        for k in range(16)
    }
    texts = {
        doc: [f"{doc.capitalize()}x{n}" for n in range(len(own))] for doc, own in names.items()
    }
    finished: dict[str, set[int]] = {}
    known: dict[str, tuple[str, str]] = {}  # by text, the name and the part
    seen_parts: set[str] = set()
    for _ in range(5):
        for doc in rng.sample(sorted(names), 3):
            finished.setdefault(doc, set())
        for doc, which in finished.items():
            which |= {n for n in range(len(names[doc])) if rng.random() < 0.5}
        for doc, which in finished.items():
            pairs = enumerate(zip(names[doc], texts[doc]))
            write(
                f"{doc}.conllu",
                *(sentence(own, noun, "anna" if n in which else "") for n, (own, noun) in pairs),
            )
        docs = [doc for doc in finished if finished[doc]]
        rng.shuffle(docs)
        found = vdgi("release", "R", *NAMED, *(f"{doc}.conllu" for doc in docs))
        assert found.status == 4, found.err
        now: dict[str, tuple[str, str]] = {}
        for part in PARTS:
            path = Path(f"R/en_mine-ud-{part}.conllu")
            for block in (
                path.read_text(encoding="utf-8").split("\n\n")[:-1] if path.exists() else ()
            ):
                lines = block.split("\n")
                name = next(
                    line.removeprefix("# sent_id = ")
                    for line in lines
                    if line.startswith("# sent_id")
                )
                text = next(
                    line.removeprefix("# text = ") for line in lines if line.startswith("# text")
                )
                now[text] = name, part
                seen_parts.add(part)
        assert (
            len({name for name, _ in now.values()}) == len(now) == sum(map(len, finished.values()))
        )
        assert {text: now[text] for text in known} == known
        known = now
    assert seen_parts >= {"train", "test"}


@pytest.mark.usefixtures("unchecked")
def test_documents_leave_the_release_only_if_that_is_asked_for(
    vdgi: Vdgi, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"LEAST_PART": 3, "TRAIN_FROM": 6, "DEV_FROM": 99, "LEAST_DEV": 9}.items():
        monkeypatch.setattr(splitting, name, value)
    write("a.conllu", sentence("x"))
    write("b.conllu", sentence("y"))
    vdgi("release", "R", *NAMED, "a.conllu", "b.conllu")
    train = Path("R/en_mine-ud-train.conllu")
    (own,) = sent_ids(str(train))
    gone, left = ("a", "b") if own == "x" else ("b", "a")
    before = content()
    found = vdgi("release", "R", *NAMED, f"{left}.conllu")
    assert (found.status, f"no FILE has sentences of {gone!r} any more" in found.err) == (2, True)
    assert content() == before
    found = vdgi("release", "R", *NAMED, f"{left}.conllu", "--fewer")
    assert "written: en_mine-ud-train.conllu, README.md, stats.xml" in found.err
    assert not train.exists()


def sizes_of(parts: dict[str, str], sizes: dict[str, int]) -> dict[str, int]:
    return {part: sum(sizes[name] for name in parts if parts[name] == part) for part in PARTS}


documents = st.lists(st.integers(20, 4000), min_size=1, max_size=60).map(
    lambda its: {f"d{k}": n for k, n in enumerate(its)}
)


@given(documents)
def test_sizes_of_a_first_split_are_those_that_ud_asks_for(sizes: dict[str, int]) -> None:
    parts = split(sizes, {})
    words, total = sizes_of(parts, sizes), sum(sizes.values())
    assert parts.keys() == sizes.keys()
    assert parts == split(dict(reversed(sizes.items())), {})
    if total < 20_000:
        assert words == {"train": 0, "dev": 0, "test": total}
        return
    assert 10_000 <= words["test"] < 14_000  # no document is larger than 4,000
    if total >= 30_000:
        assert words["train"] >= 10_000
    if total >= 50_000:
        wanted = min(10_000, max(5_000, (total - words["test"]) // 10))
        assert wanted <= words["dev"] < wanted + 4_000
        assert shortfall(words) == []


@given(documents, st.randoms())
def test_no_document_moves_when_others_come(sizes: dict[str, int], rng: Any) -> None:
    names = sorted(sizes)
    rng.shuffle(names)
    before: dict[str, str] = {}
    for end in range(0, len(names) + 8, 8):
        now = split({name: sizes[name] for name in names[:end]}, before)
        assert {name: now[name] for name in before} == before
        before = now


def test_the_rules_of_size_with_few_large_documents() -> None:
    assert split({"a": 15_000, "b": 10_000}, {}) == {"a": "train", "b": "test"}
    assert sizes_of(split({"a": 25_000}, {}), {"a": 25_000})["test"] == 25_000
    assert shortfall({"train": 0, "dev": 0, "test": 25_000}) == [
        "train has 0 words, UD asks for 10,000"
    ]
    assert split({"a": 12_000, "b": 9_000}, {"a": "test"}) == {"a": "test", "b": "train"}
    many = {f"d{k}": 1_000 for k in range(200)}
    assert sizes_of(split(many, {}), many) == {"train": 180_000, "dev": 10_000, "test": 10_000}


def commands_of(page: str) -> list[list[str]]:
    """The commands `vdgi release` that a page shows."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return [
        shlex.split(found)[1:] for found in re.findall(r"vdgi release \S+ --code[^`#\n]+", text)
    ]


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    "page", ["docs/release.md", "docs/tutorial.md", "docs/index.md", "README.md"]
)
def test_commands_of_the_pages_make_a_release(vdgi: Vdgi, folder: Path, page: str) -> None:
    found = commands_of(page)
    assert found
    for arguments in found:
        names = [each for each in arguments if each.endswith(".conllu")]
        for name in names:
            write(name, sentence(f"of-{name}"))
        assert vdgi(*arguments).status == 4  # only values are missing
        (test,) = Path(arguments[1]).glob("*-ud-test.conllu")
        assert sent_ids(str(test)) == [f"of-{name}" for name in names]
