"""The page of `vdgi info -o`: well formed, readable by everybody, standing alone, with the right figures."""

from __future__ import annotations

import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest
import tiny
from shell import Vdgi, names_in

from dynet_vdgi import reports as page
from dynet_vdgi.evaluation import tables
from dynet_vdgi.evaluation.tables import score_files
from dynet_vdgi.reports import Run
from dynet_vdgi.runs import model_file
from dynet_vdgi.settings.presets import merge

HOSTILE = "<b>&\"'</b>"
VOID = {"meta", "link", "br", "img", "hr", "input"}


class Node:
    """An element, its children and texts in order."""

    def __init__(self, tag: str, attributes: dict[str, str | None]) -> None:
        self.tag, self.attributes = tag, attributes
        self.content: list[Node | str] = []

    def all(self, tag: str) -> list[Node]:
        found = []
        for child in self.content:
            if isinstance(child, Node):
                found += [child] if child.tag == tag else []
                found += child.all(tag)
        return found

    @property
    def text(self) -> str:
        parts = [child if isinstance(child, str) else child.text for child in self.content]
        return "".join(parts)


class Page(HTMLParser):
    """A page as a tree; every tag must be closed in its turn."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.root = Node("", {})
        self._open = [self.root]
        self.feed(html)
        self.close()
        assert self._open == [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), f"an attribute twice in <{tag}>"
        node = Node(tag, dict(attrs))
        self._open[-1].content.append(node)
        if tag not in VOID:
            self._open.append(node)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._open[-1].content.append(Node(tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop().tag == tag

    def handle_data(self, data: str) -> None:
        self._open[-1].content.append(data)


def check(html: str) -> Node:
    """The root of a page that is well formed, stands alone and can be read aloud."""
    root = Page(html).root
    assert html.startswith("<!DOCTYPE html>")
    assert root.all("html")[0].attributes["lang"] == "en"
    assert len(root.all("h1")) == len(root.all("main")) == len(root.all("header")) == 1
    levels = [int(node.tag[1]) for node in every(root) if re.fullmatch(r"h[1-6]", node.tag)]
    assert all(below <= above + 1 for above, below in zip(levels, levels[1:]))
    for table in root.all("table"):
        assert next(child.tag for child in table.content if isinstance(child, Node)) == "caption"
        assert all(head.attributes.get("scope") in ("col", "row") for head in table.all("th"))
        assert all(head.text.strip() for head in table.all("th"))
        widths = {len(row.all("th") + row.all("td")) for row in table.all("tr")}
        assert len(widths) == 1, table.all("caption")[0].text
    for picture in root.all("svg"):
        assert picture.attributes["role"] == "img"
        assert [child.text for child in picture.all("title") + picture.all("desc")].count("") == 0
        assert len(picture.all("title")) == len(picture.all("desc")) == 1
    ids = [node.attributes["id"] for node in every(root) if "id" in node.attributes]
    assert len(set(ids)) == len(ids)
    for node in every(root):
        assert node.tag not in ("script", "link", "img", "iframe", "object", "foreignobject")
        assert not [name for name in node.attributes if name.startswith("on") or name == "src"]
        for name in ("href", "aria-labelledby"):
            for target in (node.attributes.get(name) or "").split():
                assert target.lstrip("#") in ids
                assert name != "href" or target.startswith("#")
        if "scroll" in (node.attributes.get("class") or "").split():
            assert node.attributes["tabindex"] == "0"
            assert node.attributes.get("aria-label") or node.attributes.get("aria-labelledby")
    assert not re.search(r"url\(|@import|@font-face|http(?!-equiv=|://www\.w3\.org/2000/svg)", html)
    return root


def every(node: Node) -> list[Node]:
    """All elements in the order of the text."""
    return [
        found
        for child in node.content
        if isinstance(child, Node)
        for found in (child, *every(child))
    ]  # fmt: skip


def table_of(root: Node, caption: str) -> dict[str, list[str]]:
    """The rows of the one table whose caption begins so; small print left out."""
    (table,) = [t for t in root.all("table") if t.all("caption")[0].text.startswith(caption)]
    rows = {}
    for row in table.all("tr"):
        head, *cells = row.all("th") + row.all("td")
        rows[head.text] = [str(cell.content[0]).strip() if cell.content else "" for cell in cells]
    return rows


@pytest.fixture
def runs(folder: Path, model: Path) -> Path:
    """Runs one and two of the same model, with a log and without, and test.conllu."""
    rows = [
        {"phase": "pretrain", "update": 50, "elbo_per_word": -2.5, "lambda_norm": 1.0, "dev_dda": 0.25},
        {"phase": "pretrain", "update": 100, "elbo_per_word": -1.5, "lambda_norm": 2.0, "dev_dda": 0.5},
    ]
    for name in ("one", "two"):
        Path(name).mkdir()
        shutil.copy(model, Path(name, "model.vdgi"))
    Path("one/log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    tiny.write(Path("test.conllu"), 12)
    return folder


def test_one_run_without_gold(vdgi: Vdgi, runs: Path) -> None:
    result = vdgi.good("info", "one", "-o", "report.html")
    assert (result.out, result.err) == ("", "page: report.html\n")
    root = check(Path("report.html").read_text(encoding="utf-8"))
    assert root.all("h1")[0].text == "Training report: one"
    (gold,) = [node for node in every(root) if node.attributes.get("class") == "gold"]
    assert gold.text == "Gold trees used: none"
    facts = dict(zip([d.text for d in root.all("dt")], [d.text for d in root.all("dd")]))
    meta = model_file.load("one/model.vdgi").meta
    assert (facts["Preset"], facts["Seed"]) == ("mine", str(meta["seed"]))
    assert facts["Protocol"].startswith("standard: ")
    assert facts["Dev DDA"] == "50.0 per cent (last logged)"
    files = table_of(root, "one: files of the run")
    assert files["train"] == [meta["data"][0]["name"], meta["data"][0]["sha256"]]
    assert "hidden_dim = 6" in root.all("pre")[1].text
    log = [line.split() for line in root.all("pre")[0].text.splitlines()]
    assert log[1:] == [["50", "0.25", "-2.5", "1"], ["100", "0.5", "-1.5", "2"]]


def test_scores_are_those_of_evaluate(vdgi: Vdgi, runs: Path) -> None:
    vdgi.good("info", "one", "two", "--gold", "test.conllu", "-o", "page.html")
    root = check(Path("page.html").read_text(encoding="utf-8"))
    vdgi.good("parse", "one/model.vdgi", "test.conllu", "-o", "parsed.conllu")
    reports = score_files(
        "test.conllu",
        ["parsed.conllu"],
        rules=model_file.load("one/model.vdgi").rules,
        by=("length", "distance", "rule"),
        baselines=True,
    )
    mine = reports["parsed.conllu"]
    named = {"one": mine, "two": mine}
    named |= {f"{name} (baseline)": each for name, each in reports.items() if each is not mine}
    expected = tables.format_all(named, ("length", "distance", "rule"), tables.comparisons(named, 10_000))
    assert root.all("pre")[-1].text == expected
    drawings = [picture for picture in root.all("svg") if picture.attributes["class"] == "vdgi-tree"]
    assert drawings
    assert len(drawings) == 2 * sum(s >= 5 for _, s in mine.per_sentence)
    captions = [node.text for node in root.all("figcaption")]
    right = int(mine.per_sentence[2][0])
    assert f"Sentence 3: {right} of 6 heads right" in captions


def test_text_from_files_is_escaped(vdgi: Vdgi, runs: Path) -> None:
    odd = Path("one & <i>")
    Path("one").rename(odd)
    gold = Path("test.conllu").read_text(encoding="utf-8").replace("verb2", HOSTILE)
    Path("<test>.conllu").write_text(gold, encoding="utf-8")
    vdgi.good("info", odd, "--gold", "<test>.conllu", "-o", "report.html")
    html = Path("report.html").read_text(encoding="utf-8")
    root = check(html)
    assert not root.all("b")
    assert not root.all("i")
    assert HOSTILE in root.text
    assert root.all("h1")[0].text == "Training report: one & <i>"
    meta = {"preset": HOSTILE, "gold_trees": [HOSTILE], "data": [{"role": HOSTILE, "name": "\udcff"}]}
    root = check(page.render([Run(HOSTILE, meta, HOSTILE, rows=[{"update": 1, "entropy": 2.0}])]))
    assert not root.all("b")
    assert root.all("pre")[-1].text == HOSTILE


PAGE = ("-o", "report.html")


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["three", *PAGE], 2, "no such folder: 'three'"),
        (["test.conllu", *PAGE], 2, "'test.conllu' is not the folder of a run"),
        (["empty", *PAGE], 4, "empty/model.vdgi: no such model file"),
        (["one", "--gold", "bad.conllu", *PAGE], 3, "bad.conllu:1: "),
        (["one", "--gold", "empty.conllu", *PAGE], 3, "empty.conllu: "),
        (
            ["one", "--gold", "points.conllu", *PAGE],
            3,
            "points.conllu: no sentence is left under protocol standard",
        ),
        (["one", "--gold", "*.conllu", *PAGE], 2, "--gold must be one file"),
        (["one", "other", "--gold", "test.conllu", *PAGE], 2, "with --protocol as_released|standard"),
        (["one", "--gold", "no.conllu", *PAGE], 2, "no such file: 'no.conllu'"),
        (["one", "--gold", "test.conllu", "--protocol", "x", *PAGE], 4, "no protocol 'x'"),
        (["one", "--sentences", "-1", *PAGE], 2, "--sentences -1"),
        (["one", "-o", "none/page.html"], 2, "the directory "),
    ],
)
def test_errors(vdgi: Vdgi, runs: Path, arguments: list[str], status: int, message: str) -> None:
    Path("empty").mkdir()
    Path("bad.conllu").write_text(tiny.NINE_COLUMNS, encoding="utf-8")
    Path("empty.conllu").write_text("", encoding="utf-8")
    Path("points.conllu").write_text(tiny.block(1, ["PUNCT"], [0]), encoding="utf-8")
    other = model_file.load("two/model.vdgi")
    other.settings = merge(other.settings, {"data": {"protocol": "as_released"}})
    Path("other").mkdir()
    model_file.save("other/model.vdgi", other)
    before = names_in(runs)
    result = vdgi("info", *arguments)
    assert result.status == status
    assert message in result.err
    assert names_in(runs) == before
