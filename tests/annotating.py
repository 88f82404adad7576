"""The program of `vdgi annotate` for tests: sessions, a server without learning, and requests to
it.

As a script it serves a file; its arguments are the file and, if it is not to be any, the port.
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from dynet_vdgi.page.store.session import Session
from dynet_vdgi.page.text.guesses import Guess
from dynet_vdgi.page.text.marked import MarkedSentence

ROWS = """# sent_id = one
# text = The dogs don't bark.
1\tThe\tthe\tDET\tDT\tDefinite=Def\t_\t_\t_\t_
2\tdogs\tdog\tNOUN\t_\t_\t_\t_\t_\tGloss=a b
3-4\tdon't\t_\t_\t_\t_\t_\t_\t_\tTypo=No
3\tdo\tdo\tAUX\t_\t_\t_\t_\t_\t_
4\tn't\tnot\tPART\t_\t_\t_\t_\t_\tX=1|Y=2
4.1\tloudly\t_\tADV\t_\t_\t_\t_\t5:advmod\t_
5\tbark\tbark\tVERB\t_\t_\t_\t_\t0:root\tSpaceAfter=No
6\t.\t.\tPUNCT\t_\t_\t_\t_\t_\t_

# sent_id = two
1\tDogs\tdog\tNOUN\t_\t_\t_\t_\t_\t_
2\tbark\tbark\tVERB\t_\t_\t_\t_\t_\t_

# sent_id = three
1\tCats\tcat\tNOUN\t_\t_\t_\t_\t_\t_
2\tsee\tsee\tVERB\t_\t_\t_\t_\t_\t_
3\tdogs\tdog\tNOUN\t_\t_\t_\t_\t_\t_
4\t,\t,\tPUNCT\t_\t_\t_\t_\t_\t_
5\tthey\tthey\tPRON\t_\t_\t_\t_\t_\t_
6\tsay\tsay\tVERB\t_\t_\t_\t_\t_\t_

"""
"""A file without trees, with all that CoNLL-U has beside words."""


def written(path: Path, text: str = ROWS) -> Path:
    """The text in a file, byte for byte."""
    path.write_bytes(text.encode())
    return path


def guessed(session: Session) -> Session:
    """The session with a guess for every sentence: each word hangs from the next."""
    for marked in session.sentences:
        if not marked.is_done:
            session.put(marked.id, marked.version, chain(len(marked.bare_sentence)))
    return session


def chain(n_words: int) -> Guess:
    """A guess in which each word hangs from the next."""
    heads = (*range(2, n_words + 1), 0) if n_words else ()
    labels = tuple(["root" if not head else "dep" for head in heads])
    return Guess(heads, labels, tuple([0.1 * (k % 10) for k in range(n_words)]))


def seen(marked: MarkedSentence) -> tuple[int, int]:
    """What a page that is up to date knows."""
    return marked.edits, marked.version


def journal_of(records: Iterable[dict[str, Any]]) -> bytes:
    """A journal of these records with its checksums."""
    total, lines = 0, []
    for record in records:
        body = {key: value for key, value in record.items() if key != "sum"}
        line = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
        total = zlib.crc32(line, total)
        lines.append(line[:-1] + b',"sum":"%08x"}\n' % total)
    return b"".join(lines)


class Client:
    """Requests to the page's address, as the page makes them unless told otherwise."""

    def __init__(self, address: str) -> None:
        self.address, parts = address, urlsplit(address)
        assert parts.hostname is not None
        self.host, self.port, self.path = parts.hostname, parts.port, parts.path
        self.origin = f"http://{parts.netloc}"

    def __call__(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body; `path` beginning with / is taken as it is."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=60)
        try:
            whole = path if path.startswith("/") else self.path + path
            given = {"Host": f"{self.host}:{self.port}", **(headers or {})}
            connection.putrequest(method, whole, skip_host=True, skip_accept_encoding=True)
            for name, value in given.items():
                connection.putheader(name, value)
            if body is not None:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    def get(self, path: str) -> Any:
        """The JSON of an answer that must be good."""
        status, _, body = self("GET", path)
        assert status == 200, body
        return json.loads(body)

    def post(self, path: str, content: Any = None, **headers: str) -> tuple[int, Any]:
        """Status and JSON of the answer."""
        plain = {"Origin": self.origin, "Content-Type": "application/json", **headers}
        status, _, body = self("POST", path, json.dumps(content or {}).encode(), plain)
        return status, json.loads(body) if body[:1] == b"{" else body.decode()

    def change(self, number: int, what: str, word: int = 0, value: Any = 0) -> Any:
        """A change to what the sentence is now."""
        found = self.get(f"sentence/{number}")
        order = {"sentence": number, "edits": found["edits"], "version": found["version"]}
        status, answer = self.post("change", {**order, "what": what, "word": word, "value": value})
        assert status == 200, answer
        return answer


def start(*arguments: str | Path, learn: bool = False) -> tuple[subprocess.Popen[bytes], str]:
    """A process that serves a file, and the page's address."""
    # not above: it imports DyNet, which the hundred processes that run this script do without
    import shell

    if learn:
        running = shell.process("annotate", *arguments, "--no-browser", "--annotator", "anna")
    else:
        paths = [str(shell.ROOT), os.environ.get("PYTHONPATH", "")]
        running = subprocess.Popen(
            [sys.executable, __file__, *map(str, arguments)],
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        )
    assert running.stdout is not None
    address = running.stdout.readline().decode().strip()
    assert address.startswith("http://127.0.0.1:"), running.stderr.read() if running.stderr else ""
    return running, address


@contextmanager
def served(*arguments: str | Path, learn: bool = False) -> Iterator[str]:
    """The address of a page, as long as the block lasts."""
    running, address = start(*arguments, learn=learn)
    try:
        yield address
    finally:
        running.terminate()
        running.wait(60)
        for stream in (running.stdin, running.stdout, running.stderr):
            if stream:
                stream.close()


def main(arguments: Sequence[str]) -> None:
    """Serves a file without learning, perhaps with --given right; sentences have the guess `chain`."""
    from dynet_vdgi.page.learn.live import Live
    from dynet_vdgi.page.web import server, session_page

    path, *more = arguments
    given = "right" if more[-2:] == ["--given", "right"] else None
    ports = [int(word) for word in more if word.isdigit()]
    session = guessed(Session(path, "anna", given))
    with server.listening_socket(ports[0] if ports else 0) as listener:
        page = session_page.SessionPage(Live(session))
        server.serve(page, listener, lambda address: print(address, flush=True), None)
    session.close()


if __name__ == "__main__":
    main(sys.argv[1:])
