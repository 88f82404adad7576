"""Tokeniser files: a zip of plain data, never code.

`meta.json` says how the tokeniser was made, `splitter.json` holds the words of multiword tokens,
and `tokeniser.npz` the weights. Equal treebanks give equal bytes.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from dynet_vdgi._version import __version__
from dynet_vdgi.conllu.raw_documents import read_documents
from dynet_vdgi.conllu.raw_text import Document
from dynet_vdgi.errors import ModelError
from dynet_vdgi.models.archive import Archive, npz, opened, write
from dynet_vdgi.system import files
from dynet_vdgi.system.messages import count
from dynet_vdgi.words.tokeniser.splitter import Splitter
from dynet_vdgi.words.tokeniser.tokeniser import Tokeniser

logger = logging.getLogger("dynet_vdgi")

FILE_FORMAT = 1

WHAT = "tokeniser"

FEW_SHOW_SPACES = 0.2
"""Share of sentences with `# text` or SpaceAfter=No; with fewer, 6 to 97 points of sentence F1 are
lost."""


class Made(Struct, frozen=True):
    """How a tokeniser was made."""

    kind: str = WHAT
    format: int = FILE_FORMAT
    version: str = __version__
    treebanks: dict[str, str] = {}  # SHA-256 by name
    sentences: int = 0
    tokens: int = 0


def train(treebanks: Sequence[str], output: str) -> Made:
    """Learns a tokeniser from CoNLL-U files and writes it; returns what it was made from.

    Raises: DataError, a file is malformed; UsageError, the output cannot be written.
    """
    documents = read_documents(treebanks)
    sentences = [sentence for document in documents for sentence in document.sentences]
    made = Made(
        treebanks={Path(name).name: files.sha256(name) for name in treebanks},
        sentences=len(sentences),
        tokens=sum(len(sentence.tokens) for sentence in sentences),
    )
    write(output, members(learn(documents), made))
    return made


def learn(documents: Sequence[Document]) -> Tokeniser:
    """A tokeniser that has learnt from documents; warns if these hardly show where spaces are
    missing."""
    n_sentences = sum(len(document.sentences) for document in documents)
    n_known = n_sentences - sum(document.n_silent for document in documents)
    if n_known < FEW_SHOW_SPACES * n_sentences:
        logger.warning(
            "%s `# text` or SpaceAfter=No, which show where spaces are missing: "
            "the tokeniser expects "
            "punctuation to stand alone, and may miss most ends of sentences in ordinary text; add "
            "`# text = ...` to the sentences, or SpaceAfter=No to the tokens that no space follows",
            f"only {n_known:,} of {n_sentences:,} sentences have" if n_known else "no sentence has",
        )
    logger.info("learning to tokenise from %s", count(n_sentences, "sentence"))
    return Tokeniser.fit(documents)


def members(tokeniser: Tokeniser, made: Made) -> dict[str, bytes]:
    """What a tokeniser's file holds, for `archive.write`."""
    splitter = {
        **msgspec.to_builtins(tokeniser.splitter),
        "others": sorted(tokeniser.splitter.others),
    }
    entries = {
        "meta.json": json.dumps(msgspec.to_builtins(made), indent=1, ensure_ascii=False),
        "splitter.json": json.dumps(splitter, ensure_ascii=False),
    }
    # A name or form that is not UTF-8 holds lone surrogates; the error handler writes them as JSON
    # would.
    packed = {name: text.encode(errors="backslashreplace") for name, text in entries.items()}
    return {**packed, "tokeniser.npz": npz(tokeniser.arrays())}


def describe(archive: Archive) -> list[tuple[str, str]]:
    """What the file of a tokeniser is, for people, as pairs of name and text. Raises: ModelError,
    damaged."""
    made = archive.content("meta.json", Made)
    amount = f"{count(made.sentences, 'sentence')}, {count(made.tokens, 'token')}"
    return [
        ("kind", f"{WHAT}, for --{WHAT} and vdgi tokenize"),
        ("made by", f"dynet_vdgi {made.version}"),
        ("learnt from", amount),
        *(("file", f"{name}  sha256 {digest}") for name, digest in made.treebanks.items()),
    ]


def load(path: str | Path, content: bytes | None = None) -> Tokeniser:
    """Reads a tokeniser file, which has this content if it is inside a model.

    Raises: ModelError, no such file, another kind of file, damaged or too new.
    """
    with opened(path, WHAT, content) as archive:
        archive.check_step(WHAT)
        if "splitter.json" not in archive.names:
            raise ModelError(
                "not a vdgi tokeniser (it has no splitter.json); make one: vdgi tokenize train"
            )
        made = archive.content("meta.json", Made)
        if made.kind != WHAT or made.format != FILE_FORMAT:
            newer = (
                f"it is a {made.kind} of format {made.format}, "
                f"this program reads format {FILE_FORMAT}"
            )
            raise ModelError(f"{newer}; train it again, or update dynet_vdgi")
        splitter = archive.content("splitter.json", Splitter)
        return Tokeniser.from_arrays(archive.arrays("tokeniser.npz"), splitter)
