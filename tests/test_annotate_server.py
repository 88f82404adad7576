"""The page's server: only its own page may ask, whatever it is sent it goes on, kills lose nothing."""

from __future__ import annotations

import contextlib
import http.client
import json
import math
import os
import random
import re
import signal
import socket
import stat
import threading
import time
from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from annotating import ROWS, Client, guessed, seen, served, start, written
from shell import names_in

from dynet_vdgi.annotation.serving import Tab
from dynet_vdgi.annotation.session import Session
from dynet_vdgi.data import conllu

pytest.importorskip("starlette", reason="Starlette, of the extra annotate, is not installed")
pytest.importorskip("uvicorn", reason="uvicorn, of the extra annotate, is not installed")

from dynet_vdgi.annotation import shown as finding
from dynet_vdgi.annotation.serving import HEADERS

JSON = "application/json"
PAGE = Path(__file__).parents[1] / "dynet_vdgi" / "annotation" / "page"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A page without learning."""
    folder = tmp_path_factory.mktemp("page")
    hostile = ROWS.replace("# text = The dogs", "# text = <script>alert(1)</script> The").replace(
        "Cats\tcat", "<img/src=x>\tcat"
    )
    with served(written(folder / "a.conllu", hostile)) as address:
        yield Client(address)


# ------------------------------------------------------------------------------------------- safe
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


def test_the_page_holds_no_script_and_no_style_of_its_own_and_asks_nobody_else(client: Client) -> None:
    _, headers, body = client("GET", "")
    assert headers["content-type"].startswith("text/html")
    html = body.decode()
    assert not re.search(r"<script(?! type=\"module\" (?:async )?src=)|<style| style=| on\w+=", html)
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


# ------------------------------------------------------------------------------------------- the answers
def test_changes_undo_and_what_is_said_of_them(tmp_path: Path) -> None:
    with served(written(tmp_path / "a.conllu")) as address:
        client = Client(address)
        assert client.get("next?order=document") == {"next": 0}
        assert client.get("next?order=document&after=0") == {"next": 1}
        shown = client.change(0, "head", 2, 4)["words"][1]
        assert (shown["form"], shown["tag"], shown["lemma"], shown["label"]) == ("dogs", "NOUN", "dog", "dep")
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
        for path in ("sentence/99", "next?order=x", "find?kind=x", "relations/0?word=99", "xpos/0?word=99"):
            assert client("GET", path)[0] == 400


def test_sentences_are_found_by_what_is_wanted(folder: Path) -> None:
    session = guessed(Session(written(Path("a.conllu")), "anna"))
    for number, what, word, value in (
        (1, "done", 0, 0), (0, "note", 2, "dog or wolf?"), (2, "flag", 0, True), (2, "label", 1, "nsubj"),
    ):  # fmt: skip
        session.change(number, seen(session.text.of_id(number)), what, word, value)
    for kind, query, hits in (
        ("words", "DOGS", [(0, ""), (1, ""), (2, "")]),
        ("words", "id = two", [(1, "# sent_id = two")]),
        ("done", "", [(1, "")]),
        ("flagged", "", [(2, "")]),
        ("note", "wolf", [(0, "dog or wolf?")]),
        ("tag", "aux", [(0, "3 do")]),
        ("relation", "NSUBJ", [(2, "1 Cats")]),
        ("doubtful", "", [(0, "5 arcs"), (2, "5 arcs")]),
    ):
        answer = finding.found(session.text, kind, query)
        assert [(hit["id"], hit["why"]) for hit in answer["found"]] == hits, kind
        assert answer["count"] == len(hits)
    assert [hit["id"] for hit in finding.found(session.text, "problem", "")["found"]] == [1, 2]


def test_relations_are_offered_by_the_pair_of_tags_and_unknown_ones_stored_if_said_again(
    tmp_path: Path,
) -> None:
    with served(written(tmp_path / "a.conllu")) as address:
        client = Client(address)
        labels = client.get("state")["labels"]
        assert "nsubj" in labels["names"]
        assert "labels" not in client.get(f"state?labels={labels['key']}")
        order = {**ORDER, "what": "label", "value": "comp@x"}
        status, answer = client.post("change", order)
        assert (status, answer["unknown"]) == (400, True)
        assert "comp@x" not in client.get("relations/0?word=1")["relations"]
        assert client.post("change", order | {"anyway": True})[0] == 200
        assert client.get("relations/0?word=1")["relations"][0] == "comp@x"
        assert "comp@x" in client.get(f"state?labels={labels['key']}")["labels"]["names"]
        assert client.post("change", order | {"sentence": 1})[0] == 200
        status, answer = client.post("change", order | {"sentence": 2, "value": "nmod:foo"})
        assert (status, answer["unknown"]) == (400, True)
        client.change(1, "label", 1, "nsubj")
        assert client.get("sentence/2")["words"][0]["likely"] == [["nsubj", 1.0]]
        assert client.get("relations/2?word=1")["relations"][0] == "nsubj"


def wait_until(condition) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


# ------------------------------------------------------------------------------------------- started again
def test_a_tab_finds_the_program_again_after_a_kill_and_is_told_after_another_end(tmp_path: Path) -> None:
    path, note = written(tmp_path / "a.conllu"), tmp_path / "a.conllu.address"
    addresses = []
    for end in (signal.SIGKILL, signal.SIGKILL, signal.SIGINT):
        running, address = start(path)
        addresses.append(address)
        client = Client(address)
        client.change(0, "flag", 0, len(addresses) % 2 == 1)
        assert stat.S_IMODE(note.stat().st_mode) == 0o600
        running.send_signal(end)
        running.communicate()
    assert addresses[0] == addresses[1] == addresses[2]
    assert Tab.of(path) == (note, client.port, "")
    with served(path) as address:
        assert (Client(address).port, address == addresses[0]) == (client.port, False)
        status, _, body = client("GET", "state")
        assert (status, "open the address that it has printed" in json.loads(body)["fault"]) == (404, True)
    assert names_in(tmp_path) == ["a.conllu", "a.conllu.address", "a.conllu.journal"]


def test_a_known_token_is_used_at_its_port_for_its_journal_and_if_it_was_private(folder: Path) -> None:
    token, note = "a" * 32, Path("a.conllu.address")
    Tab.of("a.conllu").keep(1234, token)
    assert Tab.of("a.conllu") == (note, 1234, token)
    assert Tab.of("a.conllu").token_at(1234) == token
    assert len(Tab.of("a.conllu").token_at(1235)) == 32
    assert Tab.of("a.conllu").token_at(1235) != token
    assert Tab.of("a.conllu", is_new=True) == (note, 1234, "")
    for mode in (0o640, 0o604, 0o660):
        note.chmod(mode)
        assert Tab.of("a.conllu") == (note, 0, "")
    for content in (b"", b"1234", b"x y\n", b"\xff" * 40, f"1234 {token}\nmore".encode()):
        note.unlink()
        note.write_bytes(content)
        note.chmod(0o600)
        assert Tab.of("a.conllu") == (note, 0, "")
    for make in (lambda: note.symlink_to("elsewhere"), lambda: os.mkfifo(note, 0o600), note.mkdir):
        note.unlink()
        Path("elsewhere").write_text(f"1234 {token}\n", encoding="ascii")
        make()
        assert Tab.of("a.conllu") == (note, 0, "")
    Tab.of("a.conllu").keep(1234, token)  # impossible, and no reason to end
    assert names_in(folder) == ["a.conllu.address", "elsewhere"]


# ------------------------------------------------------------------------------------------- kills
KILLS = int(os.environ.get("VDGI_KILLS", "5"))
"""60 before a release: VDGI_KILLS=60."""


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_kills_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    """Tags, features, lemmas, notes, flags, tokens, sentence borders and arcs are changed."""
    path, numbers = written(tmp_path / "a.conllu"), random.Random(1)
    acknowledged: dict[int, Said] = {}
    kinds: Counter[str] = Counter()
    for kill in range(KILLS):
        running, address = start(path)
        client = Client(address)
        found = all_said(client)
        if acknowledged:
            check_nothing_is_lost(acknowledged, found)
        acknowledged = found
        killer = threading.Timer(numbers.uniform(0.01, 0.4), os.kill, (running.pid, signal.SIGKILL))
        with contextlib.suppress(OSError, http.client.HTTPException):
            for n_changes in count():
                if n_changes == 3:  # however slow the computer is
                    killer.start()
                what, answer = one_change(client, numbers)
                kinds[what] += 1
                now = [answer["id"], *answer.get("moved_to", [])]
                acknowledged[answer["id"]] = Said.of(answer)
                if what in ("cut", "glue", "undo"):  # others may be new or gone
                    acknowledged = all_said(client)
                assert set(now) <= set(acknowledged) | set(answer.get("moved_to", []))
        killer.join()
        assert running.wait(60) == -signal.SIGKILL
        assert running.stdout is not None
        running.stdout.close()
        assert len(list(conllu.read(path, tags="known"))) >= 1, kill
    assert sum(kinds.values()) >= 3 * KILLS


class Said(NamedTuple):
    """What a person did to a sentence."""

    edits: int
    content: object

    @classmethod
    def of(cls, found: Any) -> Said:
        """What an answer says about it, without guesses."""
        keys = ("form", "upos", "feats", "lemma", "misc", "note", "after", "tag_by", "head_by", "label_by")
        words = [
            [*(word[key] for key in keys)]
            + [word[key] if word[f"{key}_by"] else None for key in ("head", "label")]
            for word in found["words"]
        ]
        return cls(found["edits"], [found["comments"], found["note"], found["flag"], found["ranges"], words])


def all_said(client: Client) -> dict[int, Said]:
    """What was said about each sentence, by id."""
    hits = client.get("find?kind=words&q=")["found"]
    return {hit["id"]: Said.of(client.get(f"sentence/{hit['id']}")) for hit in hits}


def check_nothing_is_lost(before: dict[int, Said], after: dict[int, Said]) -> None:
    """All that was acknowledged is there; only the change under way at the kill may be there, too."""
    if before.keys() != after.keys():  # it was a cut, a glue, or one of them undone
        same = [k for k in before.keys() & after.keys() if before[k] == after[k]]
        assert len(same) >= len(before) - 2
        return
    others = [k for k in before if before[k] != after[k]]
    assert len(others) <= 1
    assert all(after[k].edits == before[k].edits + 1 for k in others)


KINDS = ("head", "head", "label", "tag", "feats", "lemma", "note", "flag", "split", "join", "range", "space")
KINDS += ("cut", "glue", "done", "open", "undo", "undo")


def one_change(client: Client, numbers: random.Random) -> tuple[str, Any]:
    """A random change and its answer; an undo where that is impossible."""
    hits = client.get("find?kind=words&q=")["found"]
    number = numbers.choice(hits)["id"]
    found = client.get(f"sentence/{number}")
    n_words = len(found["words"])
    what, word = numbers.choice(KINDS), numbers.randint(1, n_words)
    values = {
        "head": numbers.randint(0, n_words),
        "label": numbers.choice(["nsubj", "obj"]),
        "tag": numbers.choice(["NOUN", "PUNCT"]),
        "feats": numbers.choice(["Case=Nom", "_"]),
        "lemma": numbers.choice(["go", ""]),
        "note": numbers.choice(["a | b", ""]),
        "flag": numbers.random() < 0.5,
        "split": numbers.choice([1, ["de", "le"]]),
        "range": [word, word + 1, numbers.choice(["du", ""])],
        "space": numbers.random() < 0.5,
    }
    seen = {"sentence": number, "edits": found["edits"], "version": found["version"]}
    order = {**seen, "what": what, "word": 0 if what == "flag" else word, "value": values.get(what, 0)}
    status, answer = client.post("change", order) if what != "undo" else (400, None)
    if status == 400:  # it is impossible, such as a circle of confirmed arcs
        what = "undo"
        status, answer = client.post("undo")
    if status == 400:  # nothing to undo
        what, answer = "nothing", found
        status = 200
    assert status == 200, answer
    return what, answer
