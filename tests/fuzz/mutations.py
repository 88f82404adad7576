"""Small changes to sound files, as damage and malice make them; the same seed makes the same ones."""

from __future__ import annotations

import gzip
import io
import json
import random
import zipfile
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

ODD = [
    *b"~\0~\t~\n~\n\n~\r~\r\n~ ~\xff~\xed\xa0\x80".split(b"~"),
    *b'_ = | # {} [ " -1 0 1 2-1 1.1 99999999999999999999 0xfff .a {a= 1e999 nan -inf'.split(),
    *b"ROOT * > < %s if inf".split(),
    "\u2028\u200f\ufeff\x1b[31m".encode(),
]
"""What is put in."""

Bytes = bytes


def text(content: Bytes, rng: random.Random) -> Bytes:
    """Some bytes, words or lines changed, moved, repeated or left out."""
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        content = rng.choice((_flip, _put_in, _leave_out, _repeat, _swap_words, _swap_lines, _cut))(
            content, rng
        )
    return content


def _place(content: Bytes, rng: random.Random) -> int:
    return rng.randrange(len(content) + 1)


def _flip(content: Bytes, rng: random.Random) -> Bytes:
    if not content:
        return content
    place = rng.randrange(len(content))
    return content[:place] + bytes([content[place] ^ 1 << rng.randrange(8)]) + content[place + 1 :]


def _put_in(content: Bytes, rng: random.Random) -> Bytes:
    place = _place(content, rng)
    return (
        content[:place] + rng.choice(ODD) * rng.choice((1, 1, 1, 3, 300, 5_000)) + content[place:]
    )


def _leave_out(content: Bytes, rng: random.Random) -> Bytes:
    place = _place(content, rng)
    return content[:place] + content[place + rng.choice((1, 2, 10, 100)) :]


def _repeat(content: Bytes, rng: random.Random) -> Bytes:
    place, size = _place(content, rng), rng.choice((1, 5, 50))
    return (
        content[:place]
        + content[place : place + size] * rng.choice((2, 20))
        + content[place + size :]
    )


def _swap(parts: list[Bytes], rng: random.Random, glue: Bytes) -> Bytes:
    if len(parts) > 1:
        i, j = rng.randrange(len(parts)), rng.randrange(len(parts))
        parts[i], parts[j] = parts[j], parts[i]
    return glue.join(parts)


def _swap_words(content: Bytes, rng: random.Random) -> Bytes:
    glue = rng.choice((b"\t", b" "))
    return _swap(content.split(glue), rng, glue)


def _swap_lines(content: Bytes, rng: random.Random) -> Bytes:
    return _swap(content.split(b"\n"), rng, b"\n")


def _cut(content: Bytes, rng: random.Random) -> Bytes:
    return content[: _place(content, rng)]


def json_lines(content: Bytes, rng: random.Random) -> Bytes:
    """Lines of JSON with bytes changed, or, still sound, one of their values."""
    lines = content.split(b"\n")
    if rng.random() < 0.3:
        return text(content, rng)
    for _ in range(rng.choice((1, 1, 2))):
        number = rng.randrange(len(lines) - 1)
        try:
            lines[number] = json.dumps(_json(json.loads(lines[number]), rng)).encode()
        except ValueError:  # two changes of one line
            break
    return b"\n".join(lines)


def json_file(content: Bytes, rng: random.Random) -> Bytes:
    """JSON with bytes changed, or, still sound, one of its values."""
    if rng.random() < 0.2:
        return text(content, rng)
    return json.dumps(_json(json.loads(content), rng)).encode()


def packed(content: Bytes, rng: random.Random) -> Bytes:
    """Text that is changed and then compressed, or the other way round."""
    if rng.random() < 0.5:
        return gzip.compress(text(content, rng), compresslevel=1)
    return text(gzip.compress(content, compresslevel=1), rng)


def model(content: Bytes, rng: random.Random) -> Bytes:
    """A model file with bytes changed, or, with sound checksums, one of its members."""
    if rng.random() < 0.2:
        return text(content, rng)
    return _with_changed_member(content, rng, "")


def steps(content: Bytes, rng: random.Random) -> Bytes:
    """A model file whose tokeniser or tagger is changed."""
    return _with_changed_member(content, rng, ".zip")


def _with_changed_member(content: Bytes, rng: random.Random, ending: str) -> Bytes:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = rng.choice([name for name in members if name.endswith(ending)])
    if name.endswith(".zip"):
        members[name] = model(members[name], rng)
    elif name.endswith(".npz"):
        members[name] = _arrays(members[name], rng)
    elif name.endswith(".json") and rng.random() < 0.9:
        members[name] = json.dumps(_json(json.loads(members[name]), rng)).encode()
    else:
        members[name] = text(members[name], rng)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, member in members.items():
            archive.writestr(name, member)
    return buffer.getvalue()


VALUES: Sequence[Any] = json.loads(
    '[null, true, 0, -1, 1180591620717411303424, 0.5, "", "x", [], {}, [[]], [{"a": 1}], {"a": []}, ["x", 1]]'
)


def _json(value: Any, rng: random.Random) -> Any:
    """JSON data with one value replaced, doubled or left out, at any depth."""
    if not isinstance(value, (list, dict)) or not value or rng.random() < 0.15:
        return rng.choice(VALUES)
    keys: list[Any] = list(value) if isinstance(value, dict) else list(range(len(value)))
    key, copy = rng.choice(keys), value.copy()
    what = rng.random()
    if what < 0.15:
        del copy[key]
    elif what < 0.2 and isinstance(copy, list):
        copy.append(copy[key])
    else:
        copy[key] = _json(value[key], rng)
    return copy


_CHANGES: Sequence[Callable[[Any], Any]] = (
    lambda a: np.full_like(a, np.nan) if a.dtype.kind == "f" else a,
    lambda a: a.astype(np.float64),
    lambda a: a.astype(np.int8),
    lambda a: a.astype(np.complex128),
    lambda a: a.astype("U8"),
    lambda a: np.zeros(a.shape, "M8[s]"),
    lambda a: np.zeros(a.shape, [("x", "f4")]),
    lambda a: a[:-1] if a.ndim else a.reshape(1),
    lambda a: a[:0] if a.ndim else a,
    lambda a: a.T,
    lambda a: a[..., None],
    lambda a: a.ravel(),
    lambda a: -a if a.dtype.kind in "if" else a,
    lambda a: a * 1e30 if a.dtype.kind == "f" else a + 1,
    lambda a: np.concatenate([a, a]) if a.ndim else a,
)


def _arrays(content: Bytes, rng: random.Random) -> Bytes:
    with np.load(io.BytesIO(content), allow_pickle=False) as stored:
        arrays = dict(stored)
    name = rng.choice(list(arrays))
    what = rng.random()
    if what < 0.1:
        del arrays[name]
    elif what < 0.2:
        other = rng.choice(list(arrays))
        arrays[name], arrays[other] = arrays[other], arrays[name]
    else:
        with np.errstate(all="ignore"):
            try:
                arrays[name] = rng.choice(_CHANGES)(arrays[name])
            except (TypeError, ValueError):  # not of this kind of array
                del arrays[name]
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()
