"""The page's server: only its own page may ask, whatever it is sent it goes on, kills lose nothing."""

from __future__ import annotations

import asyncio
import contextlib
import errno
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
from urllib.parse import quote

import pytest
from annotating import ROWS, Client, served, start, written
from shell import names_in

from dynet_vdgi.annotation.guard import Guard
from dynet_vdgi.annotation.journal import Journal, JournalError
from dynet_vdgi.annotation.tabs import Tab
from dynet_vdgi.data import conllu
from dynet_vdgi.errors import UsageError

pytest.importorskip("starlette", reason="Starlette, of the extra annotate, is not installed")
pytest.importorskip("uvicorn", reason="uvicorn, of the extra annotate, is not installed")

from dynet_vdgi.annotation import serving

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
def test_only_this_computer_is_listened_to(client: Client) -> None:
    with socket.socket() as other:
        other.settimeout(2)
        assert other.connect_ex(("127.0.0.2", client.port)) != 0


HOSTS = ["evil.example", "evil.example:{port}", "127.0.0.1:1", "localhost", "", "[::1]:{port}"]


@pytest.mark.parametrize("host", HOSTS)
def test_other_hosts_are_refused(client: Client, host: str) -> None:
    status, _, _ = client("GET", "state", headers={"Host": host.format(port=client.port)})
    assert status in (400, 421)


def test_this_host_goes_by_its_name_too(client: Client) -> None:
    assert client("GET", "state", headers={"Host": f"localhost:{client.port}"})[0] == 200


@pytest.mark.parametrize("path", ["/", "/state", "/x/state", "//state", "/../state"])
def test_without_the_token_there_is_nothing(client: Client, path: str) -> None:
    status, _, body = client("GET", path)
    assert status == 404
    assert b"The program" not in body
    wrong = client.path[:-2] + ("A" if client.path[-2] != "A" else "B") + "/state"
    assert client("GET", wrong)[0] == 404
    assert len(client.path.strip("/")) >= 32


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://127.0.0.1:{port}", "http://127.0.0.1:1"]
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_other_origins_are_refused(client: Client, method: str, origin: str) -> None:
    headers = {"Origin": origin.format(port=client.port), "Content-Type": JSON}
    assert client(method, "undo" if method == "POST" else "state", b"{}", headers)[0] == 403


def test_changes_need_an_origin_and_json(client: Client) -> None:
    assert client("POST", "undo", b"{}", {"Content-Type": JSON})[0] == 403
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        assert client("POST", "undo", b"{}", {"Origin": client.origin, "Content-Type": kind})[0] == 415
    for method in ("PUT", "DELETE", "OPTIONS", "PATCH"):
        assert client(method, "undo")[0] == 405
    assert client("GET", "undo")[0] in (404, 405)


def test_a_refusal_waits_for_the_whole_request() -> None:
    """A connection that is closed before its request has been read is reset, and the answer may be lost."""
    parts = [
        {"type": "http.request", "body": b"{", "more_body": True},
        {"type": "http.request", "body": b"}"},
    ]
    left_at_answers = []

    async def receive() -> Any:
        return parts.pop(0)

    async def send(message: Any) -> None:
        left_at_answers.append(len(parts))

    async def nothing(scope: Any, receive: Any, send: Any) -> None:
        raise AssertionError("the request was let through")

    scope = {"type": "http", "method": "POST", "path": "/x", "raw_path": b"/x", "headers": []}
    asyncio.run(Guard(nothing, "token", 80)(scope, receive, send))
    assert left_at_answers == [0, 0]


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_what_another_site_embeds_is_refused(client: Client, site: str) -> None:
    headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors"}
    assert client("GET", "main.js", headers=headers)[0] == 403


def test_every_answer_has_the_headers_and_none_lets_others_in(client: Client) -> None:
    for path in ("", "state", "main.js", "nothing", "/"):
        _, headers, _ = client("GET", path)
        headers = {name.lower(): value for name, value in headers.items()}
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store"
        assert not [name for name in headers if name.startswith("access-control")]
        assert "server" not in headers


def test_long_requests_are_refused(client: Client) -> None:
    headers = {"Origin": client.origin, "Content-Type": JSON}
    assert client("POST", "change", b" " * 20_000, headers)[0] == 413
    assert client("GET", "find?q=" + "x" * 2000)[0] == 414


def test_paths_lead_nowhere_else(client: Client) -> None:
    for path in (
        "../live.py",
        "..%2flive.py",
        "%2e%2e/live.py",
        "/etc/passwd",
        "page/main.js",
        "server.py",
        "package.json",
    ):
        assert client("GET", path)[0] in (400, 404), path


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


def test_hostile_words_and_comments_stay_text(client: Client) -> None:
    _, headers, body = client("GET", "sentence/0")
    assert headers["content-type"] == JSON
    assert json.loads(body)["comments"][1].startswith("# text = <script>")


def test_sentences_are_found_by_what_is_wanted(tmp_path: Path) -> None:
    with served(written(tmp_path / "a.conllu")) as address:
        client = Client(address)
        client.change(1, "done")
        client.change(0, "note", 2, "dog or wolf?")
        client.change(2, "flag", 0, True)
        client.change(2, "label", 1, "nsubj")

        def found(kind: str, query: str = "") -> list[tuple[int, str]]:
            answer = client.get(f"find?kind={kind}&q={quote(query)}")
            assert answer["count"] == len(answer["found"])
            return [(hit["id"], hit["why"]) for hit in answer["found"]]

        assert found("words", "DOGS") == [(0, ""), (1, ""), (2, "")]
        assert found("words", "id = two") == [(1, "# sent_id = two")]
        assert found("done") == [(1, "")]
        assert found("flagged") == [(2, "")]
        assert found("note", "wolf") == [(0, "dog or wolf?")]
        assert found("tag", "aux") == [(0, "3 do")]
        assert found("relation", "NSUBJ") == [(2, "1 Cats")]
        assert found("doubtful") == [(0, "5 arcs"), (2, "5 arcs")]
        assert [number for number, _ in found("problem")] == [1, 2]
        assert client("GET", "find?kind=x")[0] == 400
        assert client.get("state")["place"] == {"sentence": 2, "word": 1, "done": False}


def test_relations_come_with_the_state_only_if_they_are_others(tmp_path: Path) -> None:
    with served(written(tmp_path / "a.conllu")) as address:
        client = Client(address)
        labels = client.get("state")["labels"]
        assert "nsubj" in labels["names"]
        assert "labels" not in client.get(f"state?labels={labels['key']}")
        order = {"sentence": 0, "edits": 0, "version": 1, "what": "label", "word": 1, "value": "comp@x"}
        client.post("change", order | {"anyway": True})
        assert "comp@x" in client.get(f"state?labels={labels['key']}")["labels"]["names"]
        answer = client.change(0, "right", 2)
        assert client.change(0, "split", 2, 1)["words"][2]["form"] == "ogs"
        assert client.post("undo")[1]["words"][1]["form"] == answer["words"][1]["form"]
        assert client.change(0, "cut", 5)["moved_to"] == [0, 3]
        assert client.get("sentence/3")["number"] == 1


def test_the_likely_relations_are_those_of_the_pair_of_tags(tmp_path: Path) -> None:
    with served(written(tmp_path / "a.conllu")) as address:
        client = Client(address)
        client.change(1, "label", 1, "nsubj")
        client.change(2, "label", 1, "obj")
        client.change(2, "label", 1, "nsubj")
        assert client.get("sentence/2")["words"][0]["likely"] == [["nsubj", 1.0]]
        assert client.get("relations/2?word=1")["relations"][0] == "nsubj"


@pytest.mark.parametrize(
    "content",
    [
        {"sentence": 0, "edits": 0, "version": 1, "what": "tag", "word": 1, "value": ["NOUN"]},
        {"sentence": 0, "edits": 0, "version": 1, "what": "tag", "word": 1, "value": 7},
        {"sentence": 0, "edits": 0, "version": 1, "what": "tag", "word": -1, "value": "NOUN"},
        {"sentence": 0, "edits": 0, "version": 1, "what": "feats", "word": 1, "value": "Case"},
        {"sentence": 0, "edits": 0, "version": 1, "what": "note", "word": -3, "value": "x"},
        {"sentence": 0, "edits": 0, "version": 1, "what": "split", "word": 1, "value": ["a"] * 30},
        {"sentence": 0, "edits": 0, "version": 1, "what": "split", "word": 1, "value": [["a"], "b"]},
        {"sentence": 0, "edits": 0, "version": 1, "what": "split", "word": 1, "value": {"a": 1}},
        {"sentence": 0, "edits": 0, "version": 1, "what": "range", "word": 1, "value": [1, 2]},
        {"sentence": 0, "edits": 0, "version": 1, "what": "range", "word": 1, "value": [1, 1e300, "x"]},
        {"sentence": 0, "edits": 0, "version": 1, "what": "space", "word": 1, "value": None},
        {"sentence": 0, "edits": 0, "version": 1, "what": "lemma", "word": 1, "value": "\ud800"},
        {"sentence": 0, "edits": 0, "version": 1, "what": "note", "word": 0, "value": "\ud800"},
        {"sentence": 0, "edits": 0, "version": 1, "what": "split", "word": 1, "value": ["\ud800", "a"]},
        {"sentence": 0, "edits": 0, "version": 1, "what": "label", "word": 1, "value": "\ud800"},
        [],
        {},
        None,
        {"sentence": "x"},
        {"sentence": 99, "edits": 0, "version": 0, "what": "done"},
        {"sentence": -1, "edits": 0, "version": 0, "what": "done"},
        {"sentence": 0, "edits": 0, "version": 0, "what": "head", "word": 1, "value": [1]},
        {"sentence": 0, "edits": 0, "version": 1, "what": "head", "word": 1, "value": True},
        {"sentence": 0, "edits": 0, "version": 1, "what": "head", "word": 1e9, "value": 1},
        {"sentence": 0, "edits": 0, "version": 1, "what": "__class__", "word": 1, "value": 1},
        {"sentence": 0, "edits": 0, "version": 1, "what": "label", "word": 1, "value": "<script>"},
        {"sentence": 0, "edits": 0, "version": 1, "what": "label", "word": 1, "value": "a b", "anyway": True},
        {"sentence": 0, "edits": 0, "version": 1, "what": "label", "word": 1, "value": "obj", "anyway": 1},
        {"sentence": math.inf, "edits": 0, "version": 1, "what": "done"},
        {"sentence": 0, "edits": -math.inf, "version": 1, "what": "done"},
        {"sentence": 0, "edits": 0, "version": math.nan, "what": "done"},
        {"sentence": 0, "edits": 0, "version": 1, "what": "right", "word": math.inf},
        {"sentence": 0.5, "edits": 0, "version": 1, "what": "done"},
        {"sentence": True, "edits": 0, "version": 1, "what": "done"},
    ],
)
def test_what_is_no_change_is_refused_and_changes_nothing(client: Client, content: object) -> None:
    before = client.get("sentence/0")
    status, answer = client.post("change", content)
    assert status == 400
    assert answer["fault"]
    assert client.get("sentence/0") == before


@pytest.mark.parametrize("number", ["9" * 900, "x", "-1", "1.0", "٣"])
@pytest.mark.parametrize("what", ["sentence", "guess", "relations"])
def test_what_is_no_number_of_a_sentence_is_not_found(client: Client, what: str, number: str) -> None:
    assert client("GET", quote(f"{what}/{number}"))[0] == 404


def test_numbers_of_thousands_of_digits_are_not_found_nor_changes(client: Client) -> None:
    assert client("GET", f"sentence/{'9' * 5000}")[0] == 404
    headers = {"Origin": client.origin, "Content-Type": JSON}
    for number in (b"1e400", b"9" * 5000):
        body = b'{"sentence":' + number + b',"edits":0,"version":0,"what":"done"}'
        assert client("POST", "change", body, headers)[0] == 400


def test_a_request_of_twenty_megabytes_is_told_that_it_is_too_long(client: Client) -> None:
    headers = {"Origin": client.origin, "Content-Type": JSON}
    status, _, body = client("POST", "change", b" " * 20_000_000, headers)
    assert (status, json.loads(body)) == (413, {"fault": "the request is too long"})


def test_an_unknown_relation_is_stored_only_if_it_is_said_again(tmp_path: Path) -> None:
    with served(written(tmp_path / "a.conllu")) as address:
        client = Client(address)
        order = {"sentence": 0, "edits": 0, "version": 1, "what": "label", "word": 1, "value": "comp@x"}
        status, answer = client.post("change", order)
        assert (status, answer["unknown"]) == (400, True)
        assert "comp@x" not in client.get("relations/0?word=1")["relations"]
        assert client.post("change", order | {"anyway": True})[0] == 200
        assert client.get("relations/0?word=1")["relations"][0] == "comp@x"
        assert client.post("change", order | {"sentence": 1})[0] == 200
        for kind in ("relations", "xpos"):
            assert client("GET", f"{kind}/0?word=99")[0] == 400
        order = {"sentence": 1, "edits": 1, "version": 2, "what": "label", "word": 1}
        status, answer = client.post("change", order | {"value": "nmod:foo"})
        assert (status, answer["unknown"]) == (400, True)


def test_a_multiword_token_with_a_blank_is_refused_with_the_reason(client: Client) -> None:
    found = client.get("sentence/1")
    order = {"sentence": 1, "edits": found["edits"], "version": found["version"], "what": "range"}
    status, answer = client.post("change", order | {"value": [1, 2, "a\u00a0b"]})
    assert status == 400
    assert "has a blank: UD has none in a multiword token" in answer["fault"]


def test_deeply_nested_json_is_refused(client: Client) -> None:
    headers = {"Origin": client.origin, "Content-Type": JSON}
    assert client("POST", "change", b"[" * 9000, headers)[0] == 400


# ------------------------------------------------------------------------------------------- the answers
def test_a_change_undo_and_search(tmp_path: Path) -> None:
    with served(written(tmp_path / "a.conllu")) as address:
        client = Client(address)
        assert client.get("next?order=document") == {"next": 0}
        assert client.get("next?order=document&after=0") == {"next": 1}
        found = client.change(0, "head", 2, 4)
        shown = found["words"][1]
        assert (shown["form"], shown["tag"], shown["lemma"], shown["label"]) == ("dogs", "NOUN", "dog", "dep")
        assert (shown["head"], shown["head_by"], shown["label_by"]) == (4, "anna", "")
        old = {"sentence": 0, "edits": 0, "version": 0, "what": "head", "word": 1, "value": 5}
        assert client.post("change", old)[0] == 409
        status, found = client.post("undo")
        assert (status, found["number"], found["words"][1]["head_by"]) == (200, 0, "")
        assert client.post("undo")[0] == 400
        assert client.post("redo")[1]["words"][1]["head"] == 4
        client.change(0, "done")
        assert client.get("state")["progress"]["sentences_done"] == 1
        assert client.get("next?order=choose") == {"next": 1}
        assert [one["number"] for one in client.get("find?q=DOGS")["found"]] == [0, 1, 2]
        assert [one["number"] for one in client.get("find?q=sent_id%20=%20two")["found"]] == [1]
        assert client.post("change", old | {"sentence": 7})[0] == 400
        assert client("GET", "sentence/99")[0] == 400
        assert client("GET", "next?order=x")[0] == 400


def test_the_file_follows_and_a_change_by_others_is_told(tmp_path: Path) -> None:
    path = written(tmp_path / "a.conllu")
    with served(path) as address:
        client = Client(address)
        client.change(1, "done")
        wait_until(lambda: b"HeadBy=anna" in path.read_bytes())
        assert client.get("state")["fault"] == ""
        path.write_bytes(path.read_bytes() + b"# more\n")
        assert "a.conllu was changed by another program" in client.get("state")["fault"]


def wait_until(condition) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.parametrize(("reason", "status"), [(errno.ENOSPC, 507), (errno.EIO, 503)])
def test_a_change_that_the_disk_does_not_take_has_a_status_of_its_own(
    folder: Path, monkeypatch: pytest.MonkeyPatch, reason: int, status: int
) -> None:
    def fails(*_: object) -> int:
        raise OSError(reason, os.strerror(reason))

    with contextlib.closing(Journal(Path("a.conllu.journal"))) as journal:
        monkeypatch.setattr(os, "write", fails)
        with pytest.raises(JournalError) as caught:
            journal.add({})
        monkeypatch.undo()
        answer = asyncio.run(serving.refused(None, caught.value))
        assert (answer.status_code, os.strerror(reason).encode() in answer.body) == (status, True)


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
    note.rename("elsewhere")
    Path("elsewhere").write_text(f"1234 {token}\n", encoding="ascii")
    note.symlink_to("elsewhere")
    assert Tab.of("a.conllu") == (note, 0, "")
    note.unlink()
    os.mkfifo(note, 0o600)
    assert Tab.of("a.conllu") == (note, 0, "")
    note.unlink()
    note.mkdir()
    Tab.of("a.conllu").keep(1234, token)  # impossible, and no reason to end
    assert names_in(folder) == ["a.conllu.address", "elsewhere"]


def test_a_port_that_was_the_pages_is_wished_for_only() -> None:
    with serving.listening(0) as one:
        port = one.getsockname()[1]
        one.listen()
        with serving.listening(0, port) as other:
            assert other.getsockname()[1] not in (0, port)
        with pytest.raises(UsageError, match=f"cannot listen on port {port}"):
            serving.listening(port, port)


# ------------------------------------------------------------------------------------------- kills
KILLS = int(os.environ.get("VDGI_KILLS", "8"))
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
