"""The page's server: only its own page may ask, whatever it is sent it goes on, kills lose nothing."""

from __future__ import annotations

import contextlib
import http.client
import json
import math
import re
import signal
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from annotating import ROWS, Client, guessed, seen, served, start, written

from dynet_vdgi.page.store.session import Session
from dynet_vdgi.page.text.sentence_state import ChangeError

pytest.importorskip("starlette", reason="Starlette, of the extra annotate, is not installed")
pytest.importorskip("uvicorn", reason="uvicorn, of the extra annotate, is not installed")

from dynet_vdgi.page.web import search as finding
from dynet_vdgi.page.web.guard import HEADERS

JSON = "application/json"
PAGE = Path(__file__).parents[2] / "dynet_vdgi" / "page" / "static"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A page without learning."""
    folder = tmp_path_factory.mktemp("page")
    hostile = ROWS.replace("# text = The dogs", "# text = <script>alert(1)</script> The").replace(
        "Cats\tcat", "<img/src=x>\tcat"
    )
    with served(written(folder / "a.conllu", hostile)) as address:
        yield Client(address)


def test_only_this_computer_is_listened_to_and_only_the_page_is_answered(client: Client) -> None:
    """All rules are in test_annotate_remote.py."""
    with socket.socket() as other:
        other.settimeout(2)
        assert other.connect_ex(("127.0.0.2", client.port)) != 0
    headers = {"Origin": client.origin, "Content-Type": JSON}
    assert client("POST", "undo", b"{}", headers | {"Origin": "http://evil.example"})[0] == 403
    assert client("GET", "state", headers={"Host": f"evil.example:{client.port}"})[0] == 421
    assert client("GET", client.path[:-2] + "!/state")[0] == 404
    assert len(client.path.strip("/")) >= 32
    for path in ("", "state", "main.js", "nothing", "/"):
        _, found, _ = client("GET", path)
        named = {name.lower(): value for name, value in found.items()}
        assert HEADERS.items() <= named.items()
        assert not [name for name in named if name.startswith("access-control") or name == "server"]
    status, _, body = client("POST", "change", b" " * 20_000_000, headers)
    assert (status, json.loads(body)) == (413, {"fault": "the request is too long"})


def test_the_page_holds_no_script_and_no_style_of_its_own_and_asks_nobody_else(
    client: Client,
) -> None:
    _, headers, body = client("GET", "")
    assert headers["content-type"].startswith("text/html")
    html = body.decode()
    assert not re.search(
        r"<script(?! type=\"module\" (?:async )?src=)|<style| style=| on\w+=", html
    )
    scripts = [path.name for path in PAGE.glob("*.js")]
    assert "client.js" in scripts
    for name in ("", *re.findall(r'(?:src|href)="(\w+\.\w+)"', html), *scripts):
        status, _, content = client("GET", name)
        assert status == 200, name
        addresses = re.findall(r"https?://[^\"' ]+", content.decode())
        assert [a for a in addresses if not a.startswith("http://www.w3.org/2000/svg")] == []
        assert "innerHTML" not in content.decode()


@pytest.mark.parametrize(
    ("script", "name", "path", "place"),
    [
        ("sentence.js", "Sentence", "sentence/0", ()),
        ("sentence.js", "Word", "sentence/0", ("words", 0)),
        ("header.js", "State", "state?shown=0", ()),
        ("header.js", "Progress", "state", ("progress",)),
    ],
)
def test_answers_have_the_fields_that_the_page_declares(
    client: Client, script: str, name: str, path: str, place: tuple[str | int, ...]
) -> None:
    text = (PAGE / script).read_text(encoding="utf-8")
    block = re.search(rf"@typedef {{object}} {name}\b(.*?)(?:@typedef|\*/)", text, re.DOTALL)
    assert block, f"{script} does not declare {name}"
    declared = set(re.findall(r"@property {.*} (\w+)", block[1]))
    answer = client.get(path)
    for step in place:
        answer = answer[step]
    assert declared <= set(answer)


ORDER = {"sentence": 0, "edits": 0, "version": 1, "word": 1}

NO_CHANGES: list[Any] = [
    [], {}, None, {"sentence": "x"}, ORDER,
    ORDER | {"what": "head", "value": [1]}, ORDER | {"what": "head", "value": True},
    ORDER | {"what": "tag", "value": ["NOUN"]}, ORDER | {"what": "tag", "value": "NOUN", "word": -1},
    ORDER | {"what": "tag", "value": 7}, ORDER | {"what": "note", "word": -3, "value": "x"},
    ORDER | {"what": "split", "value": ["a"] * 30}, ORDER | {"what": "split", "value": [["a"], "b"]},
    ORDER | {"what": "split", "value": {"a": 1}}, ORDER | {"what": "range", "value": [1, 2]},
    ORDER | {"what": "range", "value": [1, 1e300, "x"]}, ORDER | {"what": "space", "value": None},
    ORDER | {"what": "range", "value": [1, 2, "a\u00a0b"]}, ORDER | {"what": "__class__", "value": 1},
    *(ORDER | {"what": what, "value": "\ud800"} for what in ("lemma", "note", "label")),
    ORDER | {"what": "label", "value": "<script>"}, ORDER | {"what": "label", "value": "a b", "anyway": True},
    ORDER | {"what": "label", "value": "obj", "anyway": 1}, ORDER | {"what": "head", "word": 1e9, "value": 1},
    *(ORDER | {"what": "done", "sentence": number} for number in (99, -1, 0.5, True, math.inf)),
    ORDER | {"what": "done", "edits": -math.inf}, ORDER | {"what": "done", "version": math.nan},
]  # fmt: skip


def test_what_is_no_change_is_refused_and_changes_nothing(client: Client) -> None:
    before = client.get("sentence/0")
    for content in NO_CHANGES:
        status, answer = client.post("change", content)
        assert (status, bool(answer["fault"])) == (400, True), content
    headers = {"Origin": client.origin, "Content-Type": JSON}
    for body in (
        b"[" * 9000,
        *(b'{"sentence":%s,"edits":0,"version":0}' % n for n in (b"1e400", b"9" * 5000)),
    ):
        assert client("POST", "change", body, headers)[0] == 400
    assert client.get("sentence/0") == before
    assert before["comments"][1].startswith("# text = <script>")  # hostile words stay text


@pytest.mark.parametrize("what", ["sentence", "guess", "relations", "values"])
@pytest.mark.parametrize(
    "number", ["9" * 5000, "9" * 10, "-1", "1.0", "%D9%A1", "1e3", "999999999"]
)
def test_an_address_with_a_number_that_cannot_be_is_no_fault_of_the_server(
    client: Client, what: str, number: str
) -> None:
    """The status 400 is that of a sentence that is not there."""
    status, _, body = client("GET", f"{what}/{number}?word=1")
    assert status == (400 if number == "999999999" else 404), body
    assert client("GET", f"{what}/0?word={number}")[0] in (200, 400)
    assert client.get("state?shown=" + number)["versions"] is None


def test_a_query_that_does_not_end_stops_nothing(tmp_path: Path) -> None:
    """Other requests are answered meanwhile, signals are heard, and the query is refused after
    seconds."""
    path = written(tmp_path / "a.conllu", ROWS.replace("Cats", "a" * 60))
    query = urlencode({"kind": "columns", "q": "form~(a|aa)+c"})
    running, address = start(path)
    client = Client(address)
    asked, answers = threading.Event(), []

    def ask() -> None:
        asked.set()
        # the second time, the program ends
        with contextlib.suppress(OSError, http.client.HTTPException):
            answers.append(client("GET", f"find?{query}"))

    thread = threading.Thread(target=ask)
    thread.start()
    asked.wait()
    assert client.get("state")["file"] == "a.conllu"
    thread.join()
    status, _, body = answers[0]
    assert (status, "takes too long" in json.loads(body)["fault"]) == (400, True)
    found = client.get("sentence/0")
    order = {
        "sentence": 0,
        "edits": found["edits"],
        "version": found["version"],
        "what": "tag",
        "value": "X",
    }
    status, answer = client.post("change", {**order, "query": "form~(a|aa)+c", "seen": 1})
    assert (status, "takes too long" in answer["fault"]) == (400, True)
    thread = threading.Thread(target=ask)
    thread.start()
    asked.wait()
    running.terminate()
    assert running.wait(30) == -signal.SIGTERM
    thread.join()


def test_changes_undo_and_what_is_said_of_them(tmp_path: Path) -> None:
    with served(written(tmp_path / "a.conllu")) as address:
        client = Client(address)
        assert client.get("next?order=document") == {"next": 0}
        assert client.get("next?order=document&after=0") == {"next": 1}
        shown = client.change(0, "head", 2, 4)["words"][1]
        assert (shown["form"], shown["tag"], shown["lemma"], shown["label"]) == (
            "dogs",
            "NOUN",
            "dog",
            "dep",
        )
        assert (shown["head"], shown["head_by"], shown["label_by"]) == (4, "anna", "")
        old = {**ORDER, "version": 0, "what": "head", "value": 5}
        assert client.post("change", old)[0] == 409
        status, found = client.post("undo")
        assert (status, found["number"], found["words"][1]["head_by"]) == (200, 0, "")
        assert found["went"] == {"what": "head", "word": 2}
        assert client.post("undo")[0] == 400
        assert client.post("redo")[1]["words"][1]["head"] == 4
        client.change(0, "done")
        state = client.get("state")
        assert (state["progress"]["sentences_done"], state["fault"]) == (1, "")
        assert state["place"] == {"sentence": 0, "word": 1, "done": True}
        assert client.get("next?order=choose") == {"next": 1}
        answer = client.change(0, "right", 2)
        assert client.change(0, "split", 2, 1)["words"][2]["form"] == "ogs"
        assert client.post("undo")[1]["words"][1]["form"] == answer["words"][1]["form"]
        assert client.change(0, "cut", 5)["moved_to"] == [0, 3]
        assert client.get("sentence/3")["number"] == 1
        for path in (
            "sentence/99",
            "next?order=x",
            "find?kind=x",
            "relations/0?word=99",
            "values/0?word=1&what=head",
        ):
            assert client("GET", path)[0] == 400


def test_sentences_and_words_are_found_by_what_is_wanted(folder: Path) -> None:
    session = guessed(Session(written(Path("a.conllu")), "anna"))
    for number, what, word, value in (
        (1, "done", 0, 0), (0, "note", 2, "dog or wolf?"), (2, "flag", 0, True), (2, "label", 1, "nsubj"),
    ):  # fmt: skip
        session.change(number, seen(session.text.of_id(number)), what, word, value)
    session.text.listed = [
        (2, 3, "obj, not nsubj"),
        (0, 5, "root"),
        (0, 99, "a word that is gone"),
        (7, 1, "x"),
    ]
    for kind, query, hits in (
        ("words", "DOGS", [(0, 0, ""), (1, 0, ""), (2, 0, "")]),
        ("words", "id = two", [(1, 0, "# sent_id = two")]),
        ("done", "", [(1, 0, "")]),
        ("flagged", "", [(2, 0, "")]),
        ("note", "wolf", [(0, 0, "dog or wolf?")]),
        ("columns", "upos=AUX", [(0, 3, "3 do")]),
        ("columns", "deprel=nsubj head.upos=VERB", [(2, 1, "1 Cats")]),
        ("columns", "deps~root misc.SpaceAfter=No", [(0, 5, "5 bark")]),
        ("columns", "upos=X", []),
        ("list", "", [(2, 3, "obj, not nsubj"), (0, 5, "root")]),
        ("list", "obj", [(2, 3, "obj, not nsubj")]),
        ("doubtful", "", [(0, 0, "5 arcs"), (2, 0, "5 arcs")]),
    ):
        answer = finding.search(session.text, kind, query)
        assert [
            (*place, hit["why"]) for place, hit in zip(answer["places"], answer["found"])
        ] == hits, kind
    assert [k for k, _ in finding.search(session.text, "problem", "")["places"]] == [1, 2]
    with pytest.raises(ChangeError, match="'pos' is no column"):
        finding.search(session.text, "columns", "pos=NOUN")


def test_all_words_that_are_found_are_changed_at_once_if_they_are_those_that_were_seen(
    tmp_path: Path,
) -> None:
    with served(written(tmp_path / "a.conllu")) as address:
        client = Client(address)
        query = {"kind": "columns", "q": "lemma=dog upos=NOUN"}
        found = client.get(f"find?{urlencode(query)}")
        assert found["places"] == [[0, 2], [1, 1], [2, 3]]
        order = {
            **ORDER,
            "query": query["q"],
            "seen": found["seen"],
            "what": "label",
            "value": "comp@x",
        }
        status, answer = client.post("change", order)
        assert (status, answer["unknown"]) == (400, True)
        for wrong in (
            order | {"what": "head", "value": "1"}, order | {"what": "done"}, order | {"value": "a b"},
            order | {"value": 1}, order | {"query": "dog"}, order | {"query": "upos=X"}, {}, [],
            order | {"what": "label", "value": "root"},
        ):  # fmt: skip
            assert client.post("change", wrong)[0] in (400, 409), wrong
        assert client.get("state")["progress"]["can_undo"] is False
        status, answer = client.post("change", order | {"anyway": True})
        assert (status, answer["id"], answer["changed"]) == (200, 0, 3)
        assert client.get("sentence/2")["words"][2]["label_by"] == "anna"
        order["edits"] = answer["edits"]
        status, answer = client.post("change", order | {"value": "obj"})
        assert status == 409  # the sentences are others by now
        assert "by now" in answer["fault"]
        found = client.get(f"find?{urlencode(query)}")
        again = order | {"seen": found["seen"], "anyway": True}
        assert client.post("change", again)[1]["changed"] == 0
        assert client.post("undo")[1]["went"] == {"what": "everywhere", "word": 2}
        assert [
            client.get(f"sentence/{k}")["words"][w - 1]["label"] for k, w in found["places"]
        ] == ["dep"] * 3
        assert client.post("undo")[0] == 400


def test_relations_are_offered_by_the_pair_of_tags_and_unknown_ones_stored_if_said_again(
    tmp_path: Path,
) -> None:
    with served(written(tmp_path / "a.conllu")) as address:
        client = Client(address)
        order = {**ORDER, "what": "label", "value": "comp@x"}
        status, answer = client.post("change", order)
        assert (status, answer["unknown"]) == (400, True)
        assert "comp@x" not in client.get("relations/0?word=1")["relations"]
        assert client.post("change", order | {"anyway": True})[0] == 200
        assert client.get("relations/0?word=1")["relations"][0] == "comp@x"
        assert client.post("change", order | {"sentence": 1})[0] == 200
        status, answer = client.post("change", order | {"sentence": 2, "value": "nmod:foo"})
        assert (status, answer["unknown"]) == (400, True)
        client.change(1, "label", 1, "nsubj")
        assert client.get("relations/2?word=1")["relations"][0] == "nsubj"


def wait_until(condition) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)
