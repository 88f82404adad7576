"""Deciding between two annotations: the result, its marks, the journal, the requests."""

from __future__ import annotations

import os
import re
import shutil
import signal
import stat
import time
from pathlib import Path
from typing import Any

import pytest
import shell
from annotating import Client
from shell import Vdgi

pytest.importorskip("starlette", reason="Starlette, of the extra annotate, is not installed")
pytest.importorskip("uvicorn", reason="uvicorn, of the extra annotate, is not installed")

from dynet_vdgi.conllu import reading
from dynet_vdgi.errors import DataError, UsageError
from dynet_vdgi.page.adjudication.decisions import Adjudication
from dynet_vdgi.page.adjudication.differing import TOKENS, DecisionError
from dynet_vdgi.page.store.session import Session


def lines(*words: str) -> str:
    """A sentence of words such as `form TAG FEATS HEAD DEPREL MISC`; `3-4 form` is a range."""
    rows, number = ["# sent_id = s"], 0
    for word in words:
        columns = word.split()
        if len(columns) == 2:
            rows.append("\t".join([*columns, *"________"]))
            continue
        number += 1
        form, tag, feats, head, deprel, misc = columns
        rows.append("\t".join([str(number), form, form, tag, "_", feats, head, deprel, "_", misc]))
    return "\n".join(rows) + "\n\n"


SAME = lines("yes INTJ _ 0 root _")
ONE = lines(
    "dogs NOUN _ 2 nsubj HeadBy=anna",
    "chase VERB _ 0 root _",
    "big ADJ _ 4 amod _",
    "cats NOUN _ 2 obj X=1",
)
OTHER = lines(
    "dogs PROPN _ 2 nsubj _", "chase VERB _ 0 root _", "big ADJ _ 2 obj _", "cats NOUN _ 3 nmod _"
)
APART = lines(
    "1-2 don't",
    "do AUX _ 3 aux _",
    "n't PART _ 3 advmod _",
    "bark VERB _ 0 root _",
    "loud ADV _ 2 advmod _",
)
JOINED = lines("don't AUX _ 2 aux _", "bark VERB _ 0 root _", "loud ADJ _ 2 advmod _")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two files of the same text."""
    monkeypatch.chdir(tmp_path)
    Path("a.conllu").write_text(SAME + ONE + APART, encoding="utf-8")
    Path("b.conllu").write_text(SAME + OTHER + JOINED, encoding="utf-8")
    return tmp_path


def opened(one: str = "a.conllu", other: str = "b.conllu") -> Adjudication:
    return Adjudication(one, other, "c.conllu", "eve")


def columns(word: int, sentence: int = 1) -> list[str]:
    """The columns of a word in the result."""
    block = Path("c.conllu").read_text(encoding="utf-8").split("\n\n")[sentence]
    return next(line.split("\t") for line in block.split("\n") if line.startswith(f"{word}\t"))


def test_open_differences_have_the_first_value_and_decisions_the_side_and_who_took_it(
    folder: Path,
) -> None:
    work = opened()
    assert [part.keys for part in work.parts] == [
        ["1:upos", "3:head", "3:deprel", "4:head", "4:deprel"],
        [TOKENS],
    ]
    text = Path("c.conllu").read_text(encoding="utf-8")
    assert text.startswith(SAME)
    assert text.endswith(f"# differs = tokens\n{APART}")
    assert (columns(1)[3], columns(1)[9]) == ("NOUN", "HeadBy=anna|Differs=upos")
    assert columns(4)[6:] == ["2", "obj", "_", "X=1|Differs=head,deprel"]
    assert columns(2) == ONE.split("\n")[2].split("\t")
    work.decide(0, ["1:upos"], 1)
    work.decide(0, ["3:deprel"], 0)
    work.close()
    assert (columns(1)[3], columns(1)[9]) == ("PROPN", "HeadBy=anna|TagBy=eve")
    assert (columns(3)[7], columns(3)[9]) == ("amod", "LabelBy=eve|Differs=head")


RICH = (
    "# sent_id = s\n# text = do n't go\n# note = odd\n"
    "0.1\tyou\t_\tPRON\t_\t_\t_\t_\t3:nsubj\t_\n1-2\tdon't\t_\t_\t_\t_\t_\t_\t_\tTypo=No\n"
    "1\tdo\tdo\tAUX\t_\t_\t3\taux\t3:aux\tGloss=x|Note=why\n2\tn't\tnot\tPART\t_\t_\t3\tadvmod\t3:advmod\t_\n"
    "3\tgo\tgo\tVERB\t_\t_\t0\troot\t0:root\tHeadBy=anna\n3.1\tthere\t_\t_\t_\t_\t_\t_\t3:obl\tCopyOf=3\n\n"
)
POOR = (
    "# sent_id = s\n# translation = no\n1-2\tdon't\t_\t_\t_\t_\t_\t_\t_\t_\n"
    "1\tdo\tdo\tAUX\t_\t_\t3\taux\t_\tLang=en\n"
    "2\tn't\tnot\tADV\t_\t_\t1\tadvmod\t_\t_\n3\tgo\tgo\tVERB\t_\t_\t0\troot\t_\tHeadBy=ben|HeadConf=0.9\n\n"
)


@pytest.mark.parametrize("names", [("a.conllu", "b.conllu"), ("b.conllu", "a.conllu")])
def test_what_only_one_file_has_besides_the_compared_columns_is_kept(
    folder: Path, names: tuple[str, str]
) -> None:
    Path("a.conllu").write_text(SAME + RICH, encoding="utf-8")
    Path("b.conllu").write_text(SAME + POOR, encoding="utf-8")
    work = opened(*names)
    assert (work.counts_not_compared(), work.remark_on_not_compared()) == ({}, "")
    for number, part in enumerate(work.parts):
        work.decide(number, part.keys, names.index("a.conllu"))
    work.close()
    found = Path("c.conllu").read_text(encoding="utf-8").split("\n\n")[1].split("\n")
    comments = [line for line in found if line.startswith("#")]
    assert sorted(comments) == [
        "# note = odd",
        "# sent_id = s",
        "# text = do n't go",
        "# translation = no",
    ]
    first = RICH.split("\n")[:-2]
    rows = {line.split("\t")[0]: line.split("\t") for line in found[len(comments) :]}
    graph = {line.split("\t")[0]: line.split("\t")[8] for line in first if line[0] != "#"}
    assert list(rows) == list(graph)
    assert {number: row[8] for number, row in rows.items()} == graph
    assert {*rows["1"][9].split("|")} == {"Gloss=x", "Note=why", "Lang=en"}
    # both have set this head
    assert rows["3"][9] in ("HeadBy=anna,ben", "HeadBy=ben,anna|HeadConf=0.9")
    assert (rows["1-2"][9], rows["2"][3], rows["2"][9]) == (
        "Typo=No",
        "PART",
        "TagBy=eve|HeadBy=eve",
    )


def test_what_both_files_have_differently_and_nobody_compares_is_told_at_the_start(
    vdgi: Vdgi, folder: Path
) -> None:
    other = RICH.replace("Gloss=x", "Gloss=y").replace("3:obl", "1:obl").replace("= odd", "= even")
    Path("a.conllu").write_text(SAME + RICH, encoding="utf-8")
    Path("b.conllu").write_text(SAME + other, encoding="utf-8")
    kinds = {"DEPS and empty nodes": 1, "MISC": 1, "comments": 1}
    work = opened()
    assert (work.parts, work.counts_not_compared()) == ([], kinds)
    which = "DEPS and empty nodes in 1 sentence, MISC in 1 sentence, comments in 1 sentence; a.conllu's are kept"
    assert work.remark_on_not_compared().endswith(which)
    work.close()
    assert Path("c.conllu").read_text(encoding="utf-8") == SAME + RICH
    told = vdgi.good("evaluate", "--agreement", "a.conllu", "b.conllu").out
    assert "DEPS, empty nodes, MISC and comments are not compared" in told


def test_where_words_or_sentences_differ_one_side_is_taken_as_a_whole(folder: Path) -> None:
    Path("a.conllu").write_text(lines("a X _ 0 root _", "b X _ 1 dep _") + APART, encoding="utf-8")
    Path("b.conllu").write_text(
        lines("a X _ 0 root _") + lines("b X _ 0 root _") + JOINED, encoding="utf-8"
    )
    work = opened()
    assert [part.keys for part in work.parts] == [[TOKENS], [TOKENS]]
    work.decide(0, [TOKENS], 1)
    work.decide(1, [TOKENS], 0)
    work.close()
    text = lines("a X _ 0 root _") + lines("b X _ 0 root _") + APART
    assert Path("c.conllu").read_text(encoding="utf-8") == text


def test_heads_that_are_no_tree_wait_until_they_are(folder: Path) -> None:
    work = opened()
    work.decide(0, ["4:head"], 1)  # cats below big, and big below cats
    assert work.parts[0].tree_fault() == "words 3, 4 form a circle of heads"
    work.save()
    assert [columns(3)[6], columns(4)[6]] == ["4", "2"]
    assert "Differs=head" in columns(4)[9]
    work.decide(0, list(work.parts[0].open), 1)
    work.close()
    assert [columns(3)[6], columns(4)[6]] == ["2", "3"]
    assert all(sentence.heads for sentence in reading.read("c.conllu"))


def test_undo_goes_back_step_by_step_also_after_a_restart(folder: Path) -> None:
    work = opened()
    first = Path("c.conllu").read_bytes()
    work.decide(0, work.parts[0].keys, 1)
    work.decide(0, ["1:upos"], 0)
    work.close()
    work = opened()
    assert work.counts() == {"parts": 2, "differences": 6, "decided": 5}
    assert work.undo() == 0
    assert work.parts[0].choices["1:upos"].side == 1
    assert work.undo() == 0
    assert work.parts[0].open == work.parts[0].keys
    with pytest.raises(DecisionError, match="nothing to undo"):
        work.undo()
    work.close()
    assert Path("c.conllu").read_bytes() == first


def test_a_foreign_or_changed_result_is_not_overwritten(folder: Path) -> None:
    Path("c.conllu").write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError, match="exists; name another file"):
        opened()
    Path("c.conllu").unlink()
    opened().close()
    Path("c.conllu").write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError, match="changed by another program"):
        opened()
    assert Path("c.conllu").read_text(encoding="utf-8") == "mine"
    Path("c.conllu").unlink()
    usual = os.umask(0o022)
    work = opened()
    os.umask(usual)
    modes = [stat.S_IMODE(Path(name).stat().st_mode) for name in ("c.conllu", "c.conllu.decisions")]
    assert modes == [0o644, 0o644]  # whoever may read the result may read the decisions
    with pytest.raises(UsageError, match="another process"):
        opened()
    Path("c.conllu").write_text("mine", encoding="utf-8")
    work.decide(0, ["1:upos"], 1)
    work.close()
    assert "changed by another program" in work.fault
    assert Path("c.conllu").read_text(encoding="utf-8") == "mine"
    Path("a.conllu").write_text(SAME + OTHER + APART, encoding="utf-8")
    with pytest.raises(DataError, match="not those of these decisions"):
        opened()


FAULTY = {
    "two roots": ("0 root", "words 2, 3 are roots"),
    "an own head": ("3 amod", "word 3 is its own head"),
    "a circle": ("5 amod", "words 3, 5 form a circle of heads"),
}
SOUND = lines(
    "dogs NOUN _ 2 nsubj _",
    "chase VERB _ 0 root _",
    "big ADJ _ 4 amod _",
    "cats NOUN _ 2 obj _",
    "o INTJ _ 3 x _",
)


@pytest.mark.parametrize("faulty", [0, 1])
@pytest.mark.parametrize("name", FAULTY)
def test_the_heads_of_a_faulty_tree_wait_until_the_other_files_are_taken(
    folder: Path, name: str, faulty: int
) -> None:
    heads, fault = FAULTY[name]
    texts = [SOUND, SOUND]
    texts[faulty] = SOUND.replace("\t4\tamod", "\t" + heads.replace(" ", "\t"))
    for file, text in zip("ab", texts):
        Path(f"{file}.conllu").write_text(text, encoding="utf-8")
    work = opened()
    assert (work.parts[0].tree_fault(), work.parts[0].has_tree) == ("", True)
    work.decide(0, work.parts[0].keys, 1 if faulty else 0)
    assert (work.parts[0].tree_fault(), work.next_open(-1)) == (fault, 0)
    work.save()
    assert "Differs=head" in columns(3, 0)[9]
    assert "HeadBy" not in columns(3, 0)[9]
    work.decide(0, work.parts[0].keys, 0 if faulty else 1)
    assert (work.parts[0].tree_fault(), work.next_open(-1)) == ("", None)
    work.close()
    assert (columns(3, 0)[6], columns(3, 0)[9][:6]) == ("4", "HeadBy")


def test_where_neither_file_has_a_tree_a_choice_counts_and_the_fault_is_told(folder: Path) -> None:
    for file, heads in (("a", "0\troot"), ("b", "3\tamod")):
        text = SOUND.replace("\t4\tamod", f"\t{heads}")
        Path(f"{file}.conllu").write_text(text, encoding="utf-8")
    work = opened()
    work.decide(0, work.parts[0].keys, 1)
    assert (work.parts[0].tree_fault(), work.parts[0].is_waiting_for_heads, work.next_open(-1)) == (
        FAULTY["an own head"][1],
        False,
        None,
    )
    work.close()
    assert (columns(3, 0)[6], "HeadBy=eve" in columns(3, 0)[9]) == ("3", True)
    session = Session("c.conllu", "eve")
    assert list(session.sentences[0].opened) == [3]
    session.close()


def test_a_head_outside_its_sentence_is_refused_with_the_remedy(folder: Path) -> None:
    Path("b.conllu").write_text(
        SAME + OTHER.replace("\t3\tnmod", "\t9\tnmod") + JOINED, encoding="utf-8"
    )
    with pytest.raises(
        DataError, match=r"HEAD '9' of word 4 is no word of the sentence \(vdgi annotate opens it"
    ):
        opened()


def started(folder: Path) -> tuple[Any, Client]:
    both = ("a.conllu", "--beside", "b.conllu", "-o", "c.conllu")
    running = shell.process("annotate", *both, "--annotator", "eve", "--no-browser", cwd=folder)
    assert running.stdout is not None
    return running, Client(running.stdout.readline().decode().strip())


def test_the_page_decides_and_nothing_acknowledged_is_lost_by_a_kill(folder: Path) -> None:
    running, client = started(folder)
    try:
        page = client("GET", "")[2].decode()
        assert '<script type="module" src="beside.js">' in page
        for name in ("beside.js", "beside.css", "style.css", "arcs.js"):
            assert client("GET", name)[0] == 200
        found = client.get("part/0")
        assert [item["values"] for item in found["items"][:2]] == [
            ["NOUN", "PROPN"],
            ["4 cats", "2 chase"],
        ]
        order = {"part": 0, "version": found["version"], "keys": ["1:upos"], "side": 1}
        assert client.post("decide", order)[0] == 200
        assert client.post("decide", order)[0] == 409  # as another tab would
        wrong = [("side", 2), ("side", True), ("keys", "1:upos"), ("part", 9)]
        for bad in ({}, *({**order, name: value} for name, value in wrong)):
            assert client.post("decide", bad)[0] == 400, bad
        assert client.post("decide", {**order, "version": 1, "keys": ["9:upos"]})[0] == 400
        assert client("GET", "part/7")[0] == 400
        for number in ("-1", "x", "1.0", "9" * 10, "9" * 5000):
            assert client("GET", f"part/{number}")[0] == 404
        assert client.get("next?after=0")["next"] == 1
        assert client.get("state")["decided"] == 1
    finally:
        running.send_signal(signal.SIGKILL)
        running.communicate()
    running, client = started(folder)
    try:
        assert client.get("state")["decided"] == 1
        assert client.post("undo")[1]["items"][0]["side"] is None
        deadline = time.monotonic() + 60
        while "TagBy=" in Path("c.conllu").read_text(encoding="utf-8"):
            assert time.monotonic() < deadline
            time.sleep(0.05)
    finally:
        running.send_signal(signal.SIGINT)
        _, err = running.communicate()
    assert running.returncode == 0
    assert b"6 of 6 are open" in err


CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on the PATH")
def test_keys_take_sides_move_and_undo_in_a_browser(folder: Path) -> None:
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    expect, faults = playwright.expect, []
    running, client = started(folder)
    try:
        with playwright.sync_playwright() as tools:
            page = tools.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"]).new_page()
            page.on("pageerror", lambda error: faults.append(str(error)))
            page.on("console", lambda line: faults.append(line.text))
            page.goto(f"{client.origin}{client.path}")
            decided, rows = page.locator("#decided"), page.locator("#items tr")
            expect(decided).to_have_text("0 of 6")
            page.keyboard.press("2")
            expect(decided).to_have_text("1 of 6")
            expect(rows.nth(0)).to_contain_text("eve")
            expect(rows.nth(1)).to_have_class("chosen")
            page.keyboard.press("ArrowDown")
            page.keyboard.press("ArrowDown")
            page.keyboard.press("2")  # the head of cats
            expect(page.locator("#notice")).to_contain_text("words 3, 4 form a circle of heads")
            page.keyboard.press("b")
            expect(decided).to_have_text("5 of 6")
            expect(page.locator("#notice")).to_have_text("")
            page.keyboard.press("d")
            expect(page).to_have_url(re.compile("#s=2$"))
            expect(rows.nth(0)).to_contain_text("do n't bark loud")
            page.keyboard.press("u")
            expect(decided).to_have_text("2 of 6")
            expect(page).to_have_url(re.compile("#s=1$"))
            press = "new KeyboardEvent('keydown', {key: '%s', code: '%s', isComposing: %s, bubbles: true})"
            layouts = (("и", "KeyB", "true", 2), ("г", "KeyU", "false", 1), ("٢", "", "false", 2))
            for key, code, composes, n_decided in layouts:
                page.evaluate(f"document.body.dispatchEvent({press % (key, code, composes)})")
                expect(decided).to_have_text(f"{n_decided} of 6")
            rows.nth(0).get_by_role("button").nth(0).click()
            expect(rows.nth(0).get_by_role("button").nth(0)).to_have_attribute(
                "aria-pressed", "true"
            )
    finally:
        running.send_signal(signal.SIGINT)
        running.communicate()
    assert faults == []
    assert columns(1)[3] == "NOUN"


def test_a_value_that_both_have_set_has_both_names_each_once_and_is_taken_further(
    folder: Path,
) -> None:
    Path("a.conllu").write_text(
        lines("go VERB _ 0 root HeadBy=ben|LabelBy=ben|Gloss=x"), encoding="utf-8"
    )
    Path("b.conllu").write_text(
        lines("go VERB _ 0 root HeadBy=anna|TagBy=anna|Gloss=x"), encoding="utf-8"
    )
    opened().close()
    assert Path("c.conllu").read_text(encoding="utf-8").split("\t")[9] == (
        "HeadBy=ben,anna|LabelBy=ben|Gloss=x|TagBy=anna\n\n"
    )
    Path("d.conllu").write_text(lines("go VERB _ 0 root HeadBy=carl,anna"), encoding="utf-8")
    Adjudication("c.conllu", "d.conllu", "e.conllu", "eve").close()
    assert "HeadBy=ben,anna,carl|" in Path("e.conllu").read_text(encoding="utf-8")
    before = Path("c.conllu").read_bytes()
    session = Session("c.conllu", "eve")
    session.close()
    assert Path("c.conllu").read_bytes() == before
    assert session.sentences[0].state.arcs[0].head_by == "ben,anna"
