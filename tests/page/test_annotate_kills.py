"""Whenever the program is killed, it has every change that it acknowledged; the page is not needed
for it."""

from __future__ import annotations

import contextlib
import http.client
import os
import random
import signal
import threading
from collections import Counter
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from annotating import Client, start, written

from dynet_vdgi.conllu import reading

pytest.importorskip("starlette", reason="Starlette, of the extra annotate, is not installed")
pytest.importorskip("uvicorn", reason="uvicorn, of the extra annotate, is not installed")

KILLS = int(os.environ.get("VDGI_KILLS", "4"))
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
        assert len(list(reading.read(path, tags="known"))) >= 1, kill
    print(KILLS, "kills", sum(kinds.values()), kinds.most_common())
    assert sum(kinds.values()) >= 3 * KILLS


GUESSED = ("head", "label", "feats", "lemma")
"""What may be a guess if nobody has said it, which another start need not make."""


class Said(NamedTuple):
    """What a person did to a sentence."""

    edits: int
    content: object

    @classmethod
    def of(cls, found: Any) -> Said:
        """What an answer says about it, without guesses."""
        keys = (
            "form",
            "upos",
            "misc",
            "note",
            "after",
            "tag_by",
            "feats_by",
            "lemma_by",
            "head_by",
            "label_by",
        )
        words = [
            [
                *(word[key] for key in keys),
                *(word[key] if word[f"{key}_by"] else None for key in GUESSED),
            ]
            for word in found["words"]
        ]
        return cls(
            found["edits"],
            [found["comments"], found["note"], found["flag"], found["ranges"], words],
        )


def all_said(client: Client) -> dict[int, Said]:
    """What was said about each sentence, by id."""
    places = client.get("find?kind=words&q=")["places"]
    return {number: Said.of(client.get(f"sentence/{number}")) for number, _ in places}


def check_nothing_is_lost(before: dict[int, Said], after: dict[int, Said]) -> None:
    """All that was acknowledged is there; only the change under way at the kill may be there, too."""
    if before.keys() != after.keys():  # it was a cut, a glue, or one of them undone
        same = [k for k in before.keys() & after.keys() if before[k] == after[k]]
        assert len(same) >= len(before) - 2
        return
    others = [k for k in before if before[k] != after[k]]
    assert len(others) <= 1
    assert all(after[k].edits == before[k].edits + 1 for k in others)


KINDS = (
    "head",
    "head",
    "label",
    "tag",
    "feats",
    "lemma",
    "misc",
    "comment",
    "note",
    "flag",
    "form",
    "split",
    "join",
)
KINDS += ("range", "space", "cut", "glue", "done", "open", "undo", "undo")


def one_change(client: Client, numbers: random.Random) -> tuple[str, Any]:
    """A random change and its answer; an undo where that is impossible."""
    number, _ = numbers.choice(client.get("find?kind=words&q=")["places"])
    found = client.get(f"sentence/{number}")
    n_words = len(found["words"])
    what, word = numbers.choice(KINDS), numbers.randint(1, n_words)
    values = {
        "head": numbers.randint(0, n_words),
        "label": numbers.choice(["nsubj", "obj"]),
        "tag": numbers.choice(["NOUN", "PUNCT"]),
        "feats": numbers.choice(["Case=Nom", "_"]),
        "lemma": numbers.choice(["go", ""]),
        "misc": numbers.choice(["Gloss=dog", "Gloss="]),
        "comment": numbers.choice(["text_en = The dogs bark.", "text_en ="]),
        "form": numbers.choice(["dogs", "Dogs"]),
        "note": numbers.choice(["a | b", ""]),
        "flag": numbers.random() < 0.5,
        "split": numbers.choice([1, ["de", "le"]]),
        "range": [word, word + 1, numbers.choice(["du", ""])],
        "space": numbers.random() < 0.5,
    }
    seen = {"sentence": number, "edits": found["edits"], "version": found["version"]}
    order = {
        **seen,
        "what": what,
        "word": 0 if what in ("flag", "comment") else word,
        "value": values.get(what, 0),
    }
    status, answer = client.post("change", order) if what != "undo" else (400, None)
    if status == 400:  # it is impossible, such as a circle of confirmed arcs
        what = "undo"
        status, answer = client.post("undo")
    if status == 400:  # nothing to undo
        what, answer = "nothing", found
        status = 200
    assert status == 200, answer
    return what, answer
