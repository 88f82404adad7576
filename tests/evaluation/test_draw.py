"""Drawings of trees: read back from the characters and from the SVG, looked at, made by the
command."""

from __future__ import annotations

import json
import re
import sys
import unicodedata
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tiny
from hypothesis import given, settings
from hypothesis import strategies as st
from shell import Vdgi
from wording import Wording

from dynet_vdgi.conllu import reading
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.drawing import layout
from dynet_vdgi.drawing.layout import DrawnTree, EmptyNode, MultiwordToken
from dynet_vdgi.drawing.svg import svg_document
from dynet_vdgi.drawing.terminal import text as text_of
from dynet_vdgi.errors import DataError
from dynet_vdgi.evaluation.drawings import draw
from dynet_vdgi.system.text_tables import column_count, columns

SVG = "{http://www.w3.org/2000/svg}"
Arcs = set[tuple[int, int, str]]  # head, dependent, mark of the arrowhead


def svg(*tree: Any) -> str:
    """The picture of forms, tags, heads and perhaps gold heads."""
    return svg_document([DrawnTree(*tree)])


def text(*tree: Any, width: int = 80, colour: bool = False, note: str | None = None) -> str:
    return text_of(DrawnTree(*tree)._replace(note=note), width, colour=colour)


def grid(lines: Sequence[str]) -> list[str]:
    """Lines as cells of one column; a wide letter takes two, a mark on a letter none."""
    return ["".join(c * column_count(c) if c.isalpha() else c for c in line) for line in lines]


def cell(lines: Sequence[str], row: int, column: int) -> str:
    return lines[row][column] if 0 <= row < len(lines) and 0 <= column < len(lines[row]) else " "


NOTE = re.compile(r"([<xo])(\d+|root)")
ROW = re.compile(r" *(\d+) \S+ +\S+")


def read_down(drawing: str) -> Arcs:
    """The arcs of a drawing with a word per line, drawn or written."""
    lines = drawing.splitlines()
    if lines[-1].endswith("heads right"):
        lines = lines[:-2]
    matches = [match for match in map(ROW.match, grid(lines)) if match]
    assert [int(match[1]) for match in matches] == list(range(1, len(lines) + 1))
    start = max(match.end() for match in matches) + 1
    rows = [(int(match[1]), match.string[start:]) for match in matches]
    found = {
        (0 if head == "root" else int(head), word, mark)
        for word, rest in rows
        for mark, head in NOTE.findall(rest)
    }
    art = [NOTE.sub("", rest) for _, rest in rows]
    for row, line in enumerate(art):
        for column, mark in enumerate(line):
            if mark not in "<x":
                continue
            assert cell(art, row, column + 1) in "┐┘┤┴┬┼"
            heads = []
            for step, goes_on, stops in ((-1, "│┤┼┴┘", "┐┬"), (1, "│┤┼┬┐", "┘┴")):
                at = row
                while cell(art, at, column + 1) in goes_on:
                    at += step
                    joint = cell(art, at, column + 1)
                    assert joint in goes_on + stops
                    if joint != "│" and cell(art, at, column) not in "<x":
                        heads.append(at + 1)
            assert len(heads) == 1, drawing
            found.add((heads[0], row + 1, mark))
    return found


def expected(heads: Sequence[int], gold: Sequence[int] | None = None, right: str = "v") -> Arcs:
    """What must be read."""
    result = set()
    for word, head in enumerate(heads, 1):
        is_right = gold is None or gold[word - 1] == head
        result.add((head, word, right if is_right else "x"))
        if gold is not None and not is_right:
            result.add((gold[word - 1], word, "o"))
    return result


def any_heads(n_words: int) -> st.SearchStrategy[list[int]]:
    """Any heads but the word itself: roots, crossings and cycles as they come."""
    return st.tuples(
        *(
            st.integers(0, n_words - 1).map(lambda head, w=word: head + (head >= w))
            for word in range(1, n_words + 1)
        )
    ).map(list)


def sentences(max_words: int) -> st.SearchStrategy[tuple[list[str], list[int], list[int]]]:
    words = st.text("abcdefgh日本語", min_size=1, max_size=8)
    return st.integers(1, max_words).flatmap(
        lambda n: st.tuples(st.lists(words, min_size=n, max_size=n), any_heads(n), any_heads(n))
    )


@settings(max_examples=150)
@given(sentences(30), st.integers(40, 120), st.booleans())
@pytest.mark.slow
def test_every_arc_down_the_page_can_be_read(
    sentence: tuple[list[str], list[int], list[int]], width: int, marked: bool
) -> None:
    forms, heads, gold = sentence
    forms[0] = "א" * 3  # written from right to left
    drawing = text(forms, ["NOUN"] * len(forms), heads, gold if marked else None, width=width)
    assert read_down(drawing) == expected(heads, gold if marked else None, right="<")
    assert max(map(columns, drawing.splitlines())) <= width


@settings(max_examples=60)
@given(
    st.lists(st.text("aW日é", min_size=1, max_size=90), min_size=1, max_size=120).flatmap(
        lambda forms: st.tuples(st.just(forms), any_heads(len(forms)), any_heads(len(forms)))
    ),
    st.integers(40, 100),
)
def test_nothing_is_wider_than_the_width_or_lost(
    sentence: tuple[list[str], list[int], list[int]], width: int
) -> None:
    forms, heads, gold = sentence
    for drawing in (
        text(forms, ["AVERYLONGTAGFORAWORD"] * len(forms), heads, None, width=width),
        text(forms, ["X"] * len(forms), heads, gold, width=width),
    ):
        assert max(map(columns, drawing.splitlines())) <= width
        for letter in "aW日é":
            assert drawing.count(letter) >= sum(form.count(letter) for form in forms)


LONG_WORDS = """Tom/PROPN ,/PUNCT who/PRON had/AUX seen/VERB the/DET film/NOUN before/ADV ,/PUNCT wrote/VERB
a/DET long/ADJ and/CONJ careful/ADJ review/NOUN of/ADP it/PRON for/ADP the/DET school/NOUN newspaper/NOUN"""
LONG, LONG_TAGS = zip(*(word.split("/") for word in LONG_WORDS.split()))
LONG_HEADS = (10, 5, 5, 5, 1, 7, 5, 5, 5, 0, 15, 15, 14, 12, 10, 17, 15, 21, 21, 21, 10)


def as_printed(drawing: str) -> str:
    """A drawing as it stands below, without the empty lines around it."""
    return drawing.strip("\n")


def test_crossing_arcs() -> None:
    forms, tags = "A hearing is scheduled on it today", "DET NOUN AUX VERB ADP PRON ADV"
    assert text(forms.split(), tags.split(), (2, 4, 4, 0, 6, 2, 4)) == as_printed(
        """
1 A         DET  <┐
2 hearing   NOUN ─┴<┬───┐
3 is        AUX  ──<┤   │
4 scheduled VERB ───┴─┐ │ <root
5 on        ADP  <┐   │ │
6 it        PRON ─┴───│<┘
7 today     ADV  ────<┘
"""
    )


def test_differences_from_gold() -> None:
    forms, tags = "The dog sees a cat .", "DET NOUN VERB DET NOUN PUNCT"
    drawing = text(forms.split(), tags.split(), (3, 3, 0, 3, 4, 3), (2, 3, 0, 5, 3, 3))
    assert drawing == as_printed(
        """
1 The  DET   x┐   o2
2 dog  NOUN  <┤
3 sees VERB  ─┴─┐ <root
4 a    DET   ─┬x┤ o5
5 cat  NOUN  x┘ │ o3
6 .    PUNCT ──<┘
< right, x wrong, o and the gold head
3 of 6 heads right
"""
    )


def test_a_word_too_long_for_the_line() -> None:
    form = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerk"
    assert text([form, "ist", "lang"], ["NOUN", "AUX", "ADJ"], (3, 3, 0), width=40) == as_printed(
        """
1 Donaudampfschifffahr NOUN <┐
  tselektrizitätenhaup       │
  tbetriebswerk              │
2 ist                  AUX  <┤
3 lang                 ADJ  ─┘ <root
"""
    )


def test_what_spoils_a_terminal_or_a_file_is_replaced() -> None:
    assert layout.clean("a\x1b[31m\x00\u202eb\ufffe") == "a\ufffd[31m\ufffd\ufffdb\ufffd"
    for drawing in (text(["\x1bA"], ["\x07"], [0]), svg(["\x1bA"], ["\x07"], [0])):
        assert not any(unicodedata.category(c) == "Cc" for c in drawing.replace("\n", ""))


@pytest.mark.parametrize("draw", [text, svg])
@pytest.mark.parametrize(
    ("heads", "gold"),
    [
        ([0], None),
        ([2, 0], [0]),
        ([3, 0], None),
        ([1, 0], None),
        ([2, 0], [-1, 0]),
    ],
)
def test_what_cannot_be_drawn(draw, heads, gold, wording: Wording) -> None:
    with wording.raises(ValueError):
        draw(["a", "b"], ["X", "X"], heads, gold)


def words_of(element: ElementTree.Element) -> list[ElementTree.Element]:
    return [label for label in element.iter(f"{SVG}text") if "vdgi-form" in label.get("class", "")]


def arcs_of(element: ElementTree.Element) -> list[ElementTree.Element]:
    return [group for group in element.iter(f"{SVG}g") if "vdgi-arc" in group.get("class", "")]


def points(line: ElementTree.Element) -> list[list[tuple[float, float]]]:
    """The points of each unbroken piece of a path."""
    pieces = []
    for piece in line.get("d", "").split("M")[1:]:
        numbers = list(map(float, re.findall(r"-?[\d.]+", piece)))
        pieces.append(list(zip(numbers[::2], numbers[1::2])))
    return pieces


def check_arcs(element: ElementTree.Element) -> Arcs:
    """Every arc begins over its head and ends over its dependent, whatever the rows; gives the
    arcs."""
    places = [
        (float(word.get("x", "")), float(word.get("y", "")), word.text or "")
        for word in words_of(element)
    ]
    at: dict[int, list[float]] = {}  # where arcs end at each word
    found = set()
    for group in arcs_of(element):
        head, dependent = int(group.get("data-head", "")), int(group.get("data-dependent", ""))
        pieces = points(group.find(f"{SVG}path"))
        tip = [
            tuple(map(float, p.split(",")))
            for p in group.find(f"{SVG}polygon").get("points", "").split()
        ]
        assert tip[0][0] == pieces[-1][-1][0]
        ends = [(*tip[0], dependent)] + ([(*pieces[0][0], head)] if head else [])
        for x, y, word in ends:
            its_x, its_y, form = places[word - 1]
            assert 0 < its_y - y < 30
            assert abs(x - its_x) < 8 * max(len(form), 5)
            at.setdefault(word, []).append(x)
        for piece in pieces:
            assert all(y < places[dependent - 1][1] or y < places[head - 1][1] for _, y in piece)
        found.add((head, dependent, group.get("class", "").split()[1]))
    for word, (_, y, _) in enumerate(places[:-1], 1):
        if y == places[word][1]:
            assert max(at[word]) < min(at[word + 1]) - 4
    return found


def kinds(heads: Sequence[int], gold: Sequence[int] | None) -> Arcs:
    names = {
        "v": "vdgi-plain" if gold is None else "vdgi-right",
        "x": "vdgi-wrong",
        "o": "vdgi-missed",
    }
    return {(head, word, names[mark]) for head, word, mark in expected(heads, gold)}


@settings(max_examples=60)
@given(sentences(25), st.booleans())
def test_svg_arcs_end_at_their_words(
    sentence: tuple[list[str], list[int], list[int]], marked: bool
) -> None:
    forms, heads, gold = sentence
    element = ElementTree.fromstring(
        svg(forms, ["NOUN"] * len(forms), heads, gold if marked else None)
    )
    assert check_arcs(element) == kinds(heads, gold if marked else None)
    assert [word.text for word in words_of(element)] == forms
    size = [float(value) for value in element.get("viewBox", "").split()]
    assert size[2:] == [float(element.get("width", "")), float(element.get("height", ""))]
    for label in element.iter(f"{SVG}text"):
        assert 0 < float(label.get("x", "")) < size[2]
        assert 0 < float(label.get("y", "")) < size[3]
    for group in arcs_of(element):
        for piece in points(group.find(f"{SVG}path")):
            assert all(0 <= x <= size[2] and 0 < y < size[3] for x, y in piece)


def test_svg_takes_any_text() -> None:
    forms = ["<&\"'>", "</text>", "]]>", "日本", "\x1b"]
    drawing = svg(forms, ["<&", "X", "X", "X", "X"], (2, 0, 2, 2, 2), (2, 0, 2, 2, 1))
    element = ElementTree.fromstring(drawing)
    assert [word.text for word in words_of(element)] == [*forms[:4], "\ufffd"]
    assert element.find(f"{SVG}title").text == "Dependency tree: " + " ".join(
        [*forms[:4], "\ufffd"]
    )
    assert "\ufffd ← </text> (wrong); \ufffd ← <&" in element.find(f"{SVG}desc").text


def test_svg_stands_alone_and_can_be_read_aloud(wording: Wording) -> None:
    drawing = svg(["dogs", "bark"], ["NOUN", "VERB"], (2, 0))
    element = ElementTree.fromstring(drawing)
    assert element.get("role") == "img"
    assert [child.tag.removeprefix(SVG) for child in element][:2] == ["title", "desc"]
    wording.check(element.find(f"{SVG}desc").text)
    assert not re.search(r"href|url\(|<script|<image|@import|@font-face| id=", drawing)
    assert drawing.count("http") == 1  # the name space


def test_svg_document() -> None:
    chosen = [
        DrawnTree(["a", "b"], ["X", "X"], (2, 0), None, "one <"),
        DrawnTree(LONG, LONG_TAGS, LONG_HEADS, LONG_HEADS, "two"),
    ]
    document = ElementTree.fromstring(svg_document(chosen))
    first, second = document.findall(f"{SVG}svg")
    assert check_arcs(first) == kinds((2, 0), None)
    assert check_arcs(second) == kinds(LONG_HEADS, LONG_HEADS)
    assert float(second.get("y", "")) == float(first.get("height", ""))
    heights = sum(float(part.get("height", "")) for part in (first, second))
    assert float(document.get("height", "")) == pytest.approx(heights, abs=0.2)
    labels = ["".join(label.itertext()) for label in document.iter(f"{SVG}text")]
    assert {"one <", "two", "21 of 21 heads right"} <= set(labels)
    alone = ElementTree.fromstring(svg_document(chosen[:1]))
    assert alone.get("role") == "img"


@pytest.fixture
def files(folder: Path) -> Path:
    """gold.conllu of 6 sentences, and parse.conllu whose first tree differs."""
    tiny.write_gold_and_parse(Path("gold.conllu"), Path("parse.conllu"))
    return folder


def test_all_trees_as_text(vdgi: Vdgi, files: Path) -> None:
    out = vdgi.good("draw", "gold.conllu").out
    blocks = out.strip("\n").split("\n\n")
    assert [block.splitlines()[0] for block in blocks] == [
        f"sentence {k + 1} ({k}), gold.conllu:{sentence.source.line}"
        for k, sentence in enumerate(reading.read("gold.conllu"))
    ]
    for block, sentence in zip(blocks, reading.read("gold.conllu")):
        assert block.partition("\n")[2] == text(sentence.forms, sentence.tags, sentence.heads)
    vdgi.good("draw", "gold.conllu", "-o", "trees.txt")
    assert Path("trees.txt").read_text(encoding="utf-8") == out


def numbers(out: str) -> list[int]:
    return [int(number) for number in re.findall(r"^sentence (\d+)", out, re.MULTILINE)]


def test_chosen_sentences(vdgi: Vdgi, files: Path) -> None:
    for wanted, drawn in (
        ("2", [2]),
        ("5 1", [1, 5]),
        ("2-4 3", [2, 3, 4]),
        ("sent_id=4", [5]),
        ("sent_id=0 6", [1, 6]),
    ):
        assert numbers(vdgi.good("draw", "gold.conllu", "--sentence", *wanted.split()).out) == drawn
    Path("a.conllu").write_text(tiny.treebank(3) + tiny.NINE_COLUMNS, encoding="utf-8")
    # the rest is not read
    assert numbers(vdgi.good("draw", "a.conllu", "--sentence", "2").out) == [2]
    assert vdgi("draw", "a.conllu").status == 3


COUNT = re.compile(r"(\d+) of (\d+) heads right")


@pytest.mark.parametrize("protocol", ["standard", "as_released", "every_word"])
def test_the_counts_are_those_of_evaluate(vdgi: Vdgi, files: Path, protocol: str) -> None:
    crossing = tiny.block(7, ["NOUN", "VERB", "PUNCT", "NOUN"], [4, 0, 2, 2])
    stop = tiny.block(8, ["PUNCT"], [0])
    for name, last in (
        ("gold.conllu", crossing),
        ("parse.conllu", crossing.replace("\t4\tdep", "\t2\tdep")),
    ):
        with open(name, "a", encoding="utf-8") as handle:
            handle.write(last + stop)
    drawn = vdgi.good("draw", "parse.conllu", "--gold", "gold.conllu", "--protocol", protocol).out
    scored = vdgi.good(
        "evaluate", "gold.conllu", "parse.conllu", "--protocol", protocol, "--json"
    ).out
    total = json.loads(scored)["systems"]["parse.conllu"]["total"]
    counts = [(int(right), int(words)) for right, words in COUNT.findall(drawn)]
    assert len(counts) == total["sentences"]
    assert [sum(column) for column in zip(*counts)] == [total["directed"], total["words"]]
    n_unscored = drawn.count(f"not scored under protocol {protocol}")
    assert len(counts) + n_unscored == 8
    assert n_unscored == {"standard": 1, "as_released": 1, "every_word": 0}[protocol]
    if protocol == "as_released":
        assert "protocol as_released)" in drawn
    picture = vdgi.good(
        "draw", "parse.conllu", "--gold", "gold.conllu", "--protocol", protocol, "--format", "svg"
    )
    assert COUNT.findall(picture.out) == COUNT.findall(drawn)


def test_a_sentence_draws_itself() -> None:
    sentence = Sentence(("the", "dog", "barks"), ("DET", "NOUN", "VERB"), (2, 3, 0))
    drawing = draw(sentence)
    assert str(drawing) == repr(drawing) == text(sentence.forms, sentence.tags, (2, 3, 0))
    picture = sentence._repr_svg_()
    assert picture == drawing._repr_svg_() == drawing.svg()
    assert check_arcs(ElementTree.fromstring(picture)) == kinds((2, 3, 0), None)
    assert Sentence(("dog",), ("NOUN",))._repr_svg_() is None


def test_several_sentences_beside_gold(folder: Path, wording: Wording) -> None:
    gold = [Sentence(("dogs", "bark", "."), ("NOUN", "VERB", "PUNCT"), (2, 0, 2))] * 2
    parsed = [gold[0], replace(gold[0], heads=(0, 1, 1))]
    drawing = draw(parsed, gold)
    assert COUNT.findall(str(drawing)) == [("2", "2"), ("0", "2")]
    assert COUNT.findall(str(draw(iter(parsed), iter(gold), protocol="every_word"))) == [
        ("3", "3"),
        ("0", "3"),
    ]
    drawing.save("trees.svg")
    drawing.save("trees.txt")
    assert Path("trees.svg").read_text(encoding="utf-8") == drawing.svg()
    assert Path("trees.txt").read_text(encoding="utf-8") == f"{drawing}\n"
    with wording.raises(DataError):
        draw(replace(gold[0], heads=None))
    with wording.raises(DataError):
        draw(parsed[:1], gold)


def test_svg_files(vdgi: Vdgi, files: Path) -> None:
    assert vdgi.good("draw", "gold.conllu", "-o", "all.svg").out == ""
    assert len(ElementTree.parse("all.svg").getroot().findall(f"{SVG}svg")) == 6
    assert vdgi.good("draw", "gold.conllu", "--format", "svg").out == Path("all.svg").read_text(
        encoding="utf-8"
    )


def test_outputs_that_cannot_be(vdgi: Vdgi, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("many.conllu").write_text(tiny.treebank(101), encoding="utf-8")
    cases = [
        (
            ["many.conllu", "-o", "x.svg"],
            "more than 100 trees for one picture (choose some with --sentence)",
        ),
        (["gold.conllu", "-o", "none/x.svg"], "the directory "),
        (["gold.conllu", "--width", "39"], "--width 39: text needs at least 40 columns"),
        (["gold.conllu", "--format", "svg", "--width", "50"], "--width has no effect"),
        (["gold.conllu", "--format", "gif"], "invalid choice: 'gif'"),
    ]
    for arguments, message in cases:
        status, out, err = vdgi("draw", *arguments)
        assert (status, out) == (2, ""), arguments
        assert message in err
    assert not Path("x.svg").exists()


def test_the_width_and_the_colours_of_a_terminal(
    vdgi: Vdgi, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["draw", "parse.conllu", "--gold", "gold.conllu", "--sentence", "1", "3"]
    plain = vdgi.good(*arguments).out
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "41")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    coloured = vdgi.good(*arguments).out
    assert "\x1b[31mx" in coloured
    assert "\x1b" not in plain
    monkeypatch.setenv("NO_COLOR", "1")
    narrow = vdgi.good(*arguments).out
    assert "\x1b" not in narrow
    assert max(map(len, narrow.splitlines())) <= 41 < max(map(len, plain.splitlines()))


SURE_LINES = (
    "1\tthe\t_\tDET\t_\t_\t2\tdet\t_\tHeadConf=0.95",
    "2\tdog\t_\tNOUN\t_\t_\t3\tnsubj\t_\tSpaceAfter=No|HeadConf=0.62",
    "3\tbarks\t_\tVERB\t_\t_\t0\troot\t_\tHeadConf=0.31",
    "4\t.\t_\tPUNCT\t_\t_\t3\tpunct\t_\t_",
)


def labelled_tree(path: Path, notes: bool = True) -> Sentence:
    lines = SURE_LINES if notes else [line.rpartition("\t")[0] + "\t_" for line in SURE_LINES]
    path.write_text("\n".join(lines) + "\n\n", encoding="utf-8")
    return next(iter(reading.read(path)))


def test_relations_stand_over_arcs_and_behind_tags(tmp_path: Path, wording: Wording) -> None:
    tree = labelled_tree(tmp_path / "a.conllu", notes=False)
    picture = draw(tree).svg()
    for relation in ("det", "nsubj", "punct"):
        assert f">{relation}</text>" in picture
    wording.lines(picture, "<desc>")
    assert "80 % sure" not in picture
    assert "NOUN nsubj" in draw(tree).text()
    assert draw(replace(tree, deprels=("dep", "dep", "root", "dep"))).svg().count("</text>") == 9


def test_arcs_show_how_sure_the_parser_is_not_by_colour_alone(
    tmp_path: Path, wording: Wording
) -> None:
    tree = labelled_tree(tmp_path / "a.conllu")
    picture = draw(tree).svg()
    groups = {
        group.get("data-dependent"): group for group in arcs_of(ElementTree.fromstring(picture))
    }
    kinds = {word: (group.get("class") or "").split()[1] for word, group in groups.items()}
    assert kinds == {"1": "vdgi-sure", "2": "vdgi-unsure", "3": "vdgi-doubtful", "4": "vdgi-plain"}
    dashes = [group[0].get("stroke-dasharray") for group in groups.values()]
    assert dashes[0] is None
    assert len(set(dashes[:3])) == 3
    for meaning in ("80 % sure or more", "50 to 80 %", "less than 50 %"):
        assert f">{meaning}</text>" in picture
    wording.lines(picture, "<desc>")
    drawn = draw(tree).text()
    assert "?" in drawn
    assert "!" in drawn
    wording.check(drawn.splitlines()[-1])
    compared = draw(tree, gold=tree).svg()
    assert "vdgi-right" in compared
    assert "80 % sure" not in compared


def test_a_wrong_relation_of_a_right_head_is_marked_and_counted_as_las_counts(wording: Wording):
    words, heads = ("a", "b", "c", "."), (2, 0, 2, 2)
    gold = Sentence(
        words, ("NOUN", "VERB", "NOUN", "PUNCT"), heads, deprels=("nsubj", "root", "obj", "punct")
    )
    parsed = replace(gold, heads=(2, 0, 1, 2), deprels=("obj", "root", "nsubj", "punct"))
    drawn = str(draw(parsed, gold))
    assert "obj/nsubj" in drawn
    assert "nsubj/obj" not in drawn  # its head is wrong, so its relation says nothing
    wording.check(drawn)
    subtype = replace(gold, deprels=("nsubj:pass", "root", "obj", "punct"))
    wording.check(str(draw(subtype, gold)))
    assert "/" not in str(draw(replace(gold, deprels=()), gold)).replace("\n", "")


ODD = """# sent_id = odd
0.1\tyou\t_\tPRON\t_\t_\t_\t_\t3:nsubj\t_
1-2\tdon't\t_\t_\t_\t_\t_\t_\t_\t_
1\tdo\tdo\tAUX\t_\t_\t{0}\t_
2\tn't\tnot\tPART\t_\t_\t{1}\t_
3\tgo\tgo\tVERB\t_\t_\t{2}\t_
3.1\tthere\t_\t_\t_\t_\t_\t_\t3:obl\t_
4\tout\tout\tADV\t_\t_\t{3}\t_

""".replace("}\t_", "}\t_\t_\t_")

FAULTS = {
    (3, 3, 0, 3): [],
    (3, 3, 0, 0): ["not a tree: 2 roots: words 3, 4"],
    (3, 3, 4, 3): ["not a tree: cycle of heads through words 3, 4; no root"],
    (3, 2, 0, 3): ["not a tree: word 2 is its own head"],
    (3, 3, 0, 9): ["not a tree: HEAD 9 of word 4 is outside the sentence (1..4)"],
    ("_", 3, 0, "_"): ["no head: words 1, 4"],
    ("_", 3, "_", 3): ["no head: words 1, 3"],
    ("_", 0, 0, 4): ["not a tree: word 4 is its own head; 2 roots: words 2, 3", "no head: word 1"],
}


@pytest.mark.parametrize("heads", FAULTS)
def test_what_is_no_tree_is_drawn_as_far_as_it_goes_and_said(
    vdgi: Vdgi, files: Path, heads: tuple[object, ...], wording: Wording
) -> None:
    Path("odd.conllu").write_text(ODD.format(*heads), encoding="utf-8")
    drawn = vdgi.good("draw", "odd.conllu").out
    rows = [line.split()[:2] for line in drawn.splitlines()[1:8]]
    assert rows == [
        ["0.1", "you"],
        ["1-2", "don't"],
        ["1", "do"],
        ["2", "n't"],
        ["3", "go"],
        ["3.1", "there"],
        ["4", "out"],
    ]
    assert drawn.splitlines()[8:-1] == FAULTS[heads]
    vdgi.good("draw", "odd.conllu", "-o", "odd.svg")
    picture = Path("odd.svg").read_text(encoding="utf-8")
    root = ElementTree.fromstring(picture)
    arcs = {
        (int(a.get("data-head") or 0), int(a.get("data-dependent") or 0)) for a in arcs_of(root)
    }
    pairs = {(head, word) for word, head in enumerate(heads, 1) if isinstance(head, int)}
    assert arcs == {(head, word) for head, word in pairs if head <= 4 and head != word}
    description = root.findtext(f"{SVG}desc") or ""
    for said in (*FAULTS[heads], "Empty nodes: 0.1 you (PRON), 3.1 there"):
        assert f">{said}</text>" in picture
        assert said in description
    wording.check(description)
    (token,) = [group for group in root.iter(f"{SVG}g") if group.get("class") == "vdgi-token"]
    assert token.get("data-words") == "1-2"
    assert str(draw("odd.conllu")) == "\n".join(drawn.splitlines()[1:-1])


def test_sentences_without_heads_are_drawn_if_others_have_some(
    vdgi: Vdgi, files: Path, wording: Wording
) -> None:
    bare, tree = ODD.format(*"____"), ODD.format(3, 3, 0, 3)
    Path("some.conllu").write_text(bare + tree + bare, encoding="utf-8")
    drawn = vdgi.good("draw", "some.conllu").out
    wording.check(drawn)
    wording.check(str(draw("some.conllu")))
    Path("none.conllu").write_text(bare * 2, encoding="utf-8")
    status, out, err = vdgi("draw", "none.conllu")
    assert (status, out) == (3, "")
    wording.check(err)
    with wording.raises(DataError):
        draw("none.conllu")


def test_with_gold_all_words_need_heads(vdgi: Vdgi, files: Path) -> None:
    Path("good.conllu").write_text(ODD.format(3, 3, 0, 3), encoding="utf-8")
    Path("odd.conllu").write_text(ODD.format(3, 3, 0, "_"), encoding="utf-8")
    assert vdgi("draw", "odd.conllu", "--gold", "good.conllu").status == 3
    assert vdgi("draw", "good.conllu", "--gold", "odd.conllu").status == 3
    drawn = vdgi.good("draw", "good.conllu", "--gold", "good.conllu").out
    assert "1-2 don't" in drawn


def test_lines_pass_the_rows_of_tokens_and_empty_nodes() -> None:
    tokens, empty = [MultiwordToken(2, 3, "bc")], [EmptyNode(3, "3.1", "e", "X")]
    tree = DrawnTree("abcd", "XXXX", (4, 4, 4, 0), tokens=tokens, empty=empty)
    assert text_of(tree) == "\n".join(
        [
            "  1 a  X <┐",
            "2-3 bc    │",
            "  2 b  X <┤",
            "  3 c  X <┤",
            "3.1 e  X  │",
            "  4 d  X ─┘ <root",
        ]
    )
