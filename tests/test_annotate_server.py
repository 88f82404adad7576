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
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import pytest
from annotating import ROWS, Client, served, start, written

from dynet_vdgi.data import conllu

pytest.importorskip("starlette", reason="Starlette, of the extra annotate, is not installed")
pytest.importorskip("uvicorn", reason="uvicorn, of the extra annotate, is not installed")

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
    assert client("GET", "find?text=" + "x" * 2000)[0] == 414


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
    assert not re.search(r"<script(?! type=\"module\" src=)|<style| style=| on\w+=", html)
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
        ("client.js", "Hit", "find?text=dogs", ("found", 0)),
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
    assert set(answer) == declared


def test_hostile_words_and_comments_stay_text(client: Client) -> None:
    _, headers, body = client("GET", "sentence/0")
    assert headers["content-type"] == JSON
    assert json.loads(body)["comments"][1].startswith("# text = <script>")


@pytest.mark.parametrize(
    "content",
    [
        [],
        {},
        None,
        {"sentence": "x"},
        {"sentence": 99, "edits": 0, "version": 0, "what": "done"},
        {"sentence": -1, "edits": 0, "version": 0, "what": "done"},
        {"sentence": 0, "edits": 0, "version": 0, "what": "head", "word": 1, "value": [1]},
        {"sentence": 0, "edits": 0, "version": 0, "what": "head", "word": 1, "value": True},
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
    assert (status, body) == (413, b"the request is too long")


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
        assert client("GET", "relations/0?word=99")[0] == 400


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
        assert [one["number"] for one in client.get("find?text=DOGS")["found"]] == [0, 1, 2]
        assert [one["number"] for one in client.get("find?text=sent_id%20=%20two")["found"]] == [1]
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
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


# ------------------------------------------------------------------------------------------- kills
KILLS = int(os.environ.get("VDGI_KILLS", "8"))
"""50 before a release: VDGI_KILLS=50."""


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_kills_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    path, numbers = written(tmp_path / "a.conllu"), random.Random(1)
    acknowledged = [State(0, {})] * 3
    total = 0
    for _ in range(KILLS):
        running, address = start(path)
        client = Client(address)
        for number, before in enumerate(acknowledged):
            found = State.of(client.get(f"sentence/{number}"))
            assert found == before or found.edits == before.edits + 1  # the change under way at the kill
            acknowledged[number] = found
        killer = threading.Timer(numbers.uniform(0.01, 0.8), os.kill, (running.pid, signal.SIGKILL))
        killer.start()
        with contextlib.suppress(OSError, http.client.HTTPException):
            while True:
                answer = one_change(client, numbers)
                acknowledged[answer["number"]] = State.of(answer)
                total += 1
        killer.join()
        assert running.wait(20) == -signal.SIGKILL
        assert running.stdout is not None
        running.stdout.close()
        assert len(list(conllu.read(path))) == 3
    assert total > 2 * KILLS


class State(NamedTuple):
    """What a person did to a sentence."""

    edits: int
    confirmed: dict[tuple[int, str], object]

    @classmethod
    def of(cls, found: Any) -> State:
        """What an answer says about it."""
        arcs = [(n, key, word) for n, word in enumerate(found["words"], 1) for key in ("head", "label")]
        return cls(found["edits"], {(n, key): word[key] for n, key, word in arcs if word[f"{key}_by"]})


def one_change(client: Client, numbers: random.Random) -> Any:
    """The answer to a random change, or to an undo where that is impossible."""
    number = numbers.randrange(3)
    found = client.get(f"sentence/{number}")
    n_words = len(found["words"])
    word = numbers.randint(1, n_words)
    value = numbers.choice([head for head in range(n_words + 1) if head != word])
    seen = {"sentence": number, "edits": found["edits"], "version": found["version"]}
    status, answer = client.post("change", {**seen, "what": "head", "word": word, "value": value})
    if status == 400:  # a circle of confirmed arcs
        status, answer = client.post("undo")
    assert status == 200, answer
    return answer
