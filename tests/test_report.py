"""The page of `vdgi info -o`: well formed, readable by everybody, standing alone, with the right figures."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest
import tiny
from shell import Vdgi, names_in

from dynet_vdgi.evaluation import attachment, tables
from dynet_vdgi.evaluation.files import score_files
from dynet_vdgi.reports import page
from dynet_vdgi.reports.runs import Run
from dynet_vdgi.runs import model_file
from dynet_vdgi.settings.presets import merge

HOSTILE = "<b>&\"'</b>"
HOSTILE_NAME = "<img src=x onerror=document.title=1>\u202e\"'.conllu"
VOID = {"meta", "link", "br", "img", "hr", "input"}
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


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
    assert "hidden_dim = 6" in root.all("pre")[0].text
    titles = [picture.all("title")[0].text for picture in root.all("svg")]
    assert titles == [
        "Line 1",
        "Dev DDA, per cent against updates",
        "ELBO per word against updates",
        "|lambda| against updates",
    ]
    assert root.all("desc")[2].text == (
        "one: from -2.5 at update 50 to -1.5 at update 100; lowest -2.5, highest -1.5."
    )


def test_scores_are_those_of_evaluate(vdgi: Vdgi, runs: Path) -> None:
    vdgi.good("info", "one", "two", "--gold", "test.conllu", "--published", "UD1.4-French", "-o", "page.html")
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
    assert f"{mine.policy}. DDA is" in root.text
    shown = table_of(root, "DDA in per cent by sentence length")
    for name, expected in reports.items():
        rows = ("one", "two") if name == "parsed.conllu" else (f"{name} (baseline)",)
        for row in rows:
            assert shown[row] == [attachment.percent(s.dda) for s in expected.by_length.values()]
    assert shown["UnivRules (Li2019-T6)"] == ["-", "59.9", "55.4", "-"]
    interval = tables.compare(reports).intervals[None]["parsed.conllu"]
    assert f"{100 * interval.low:.1f} to {100 * interval.high:.1f}" in root.text
    assert table_of(root, "DDA minus that of one")["two"] == ["+0.0"] * 4
    for name in ("length", "distance", "rule"):
        (caption,) = [
            t.all("caption")[0].text
            for t in root.all("table")
            if t.all("caption")[0].attributes["id"] == f"by-{name}-caption"
        ]
        rows = table_of(root, caption)
        for key, cell in mine.breakdowns[name].items():
            assert (key in rows) == bool(cell.words)
            if cell.words:
                assert rows[key][:2] == [str(cell.words), attachment.percent(cell.dda)]
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
    assert root.all("pre")[0].text == HOSTILE


PAGE = ("-o", "report.html")


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["three", *PAGE], 2, "no such folder: 'three'"),
        (["thr*", *PAGE], 2, "no folder matches 'thr*'"),
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
        (["one", "--published", "UD1.4-French", *PAGE], 2, "--published has no effect without --gold"),
        (
            ["one", "--gold", "test.conllu", "--published", "UD1.4-Frenhc", *PAGE],
            2,
            "(there are UD1.4-French",
        ),
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


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on the PATH")
def test_in_a_browser(vdgi: Vdgi, runs: Path) -> None:
    """The page keeps to the width of the window; wide tables scroll in their own boxes.

    It stands in a frame, since windows are not made as narrow as a telephone.
    """
    assert CHROMIUM is not None
    width = 390
    script = "<script>parent.document.title=document.title='run'</script><img/src=x/onerror=document.title=1>"
    gold = Path("test.conllu").read_text(encoding="utf-8")
    gold = gold.replace("verb2", f"\u202e\u200b{script}").replace("id = 2", f"id = \"'{script}")
    Path(HOSTILE_NAME).write_text(gold, encoding="utf-8")
    vdgi.good("info", "one", "two", "--gold", HOSTILE_NAME, "-o", "report.html")
    vdgi.good("draw", HOSTILE_NAME, "-o", "trees.svg")
    Path("frame.html").write_text(
        f"<!DOCTYPE html><iframe style='width:{width}px;height:2000px' src='report.html'></iframe><pre></pre>"
        "<iframe src='trees.svg'></iframe><script>onload = () => {"
        "const svg = document.querySelectorAll('iframe')[1].contentDocument;"
        "const d = document.querySelector('iframe').contentDocument, e = d.documentElement;"
        "document.querySelector('pre').textContent = JSON.stringify([e.clientWidth, e.scrollWidth, "
        "d.querySelectorAll('table').length, d.querySelectorAll('svg').length, d.title, "
        "d.querySelectorAll('script, img').length + svg.querySelectorAll('script, img').length, "
        'svg.documentElement.textContent.includes("\'<script>parent")])}</script>',
        encoding="utf-8",
    )
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"]
    profile, access = f"--user-data-dir={runs / 'profile'}", "--allow-file-access-from-files"
    done = subprocess.run(
        [CHROMIUM, *options, profile, access, "--dump-dom", (runs / "frame.html").as_uri()],
        capture_output=True,
        timeout=120,
        check=True,
    )
    found = re.search(r"<pre>(\[.*?\])</pre>", done.stdout.decode())
    assert found is not None, done.stdout.decode()[-500:]
    shown, needed, n_tables, n_pictures, title, n_made, is_shown = json.loads(found[1])
    root = Page(Path("report.html").read_text(encoding="utf-8")).root
    assert (n_tables, n_pictures) == (len(root.all("table")), len(root.all("svg")))
    assert title == "Training report: one, two"
    assert (n_made, is_shown) == (0, True)
    assert "<title>run" not in done.stdout.decode()  # of the frame
    assert width - 20 <= shown <= width
    assert needed <= shown
