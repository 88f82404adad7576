"""Shared by the scripts that measure UDPipe 1, of the package ufal.udpipe, beside this program."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dynet_vdgi.conllu.sentence import Sentence


def is_installed() -> bool:
    """Whether UDPipe can be used."""
    return importlib.util.find_spec("ufal") is not None


def sentences(text: str) -> Any:
    """CoNLL-U as objects of UDPipe. Raises: RuntimeError."""
    from ufal import udpipe as library

    reader = library.InputFormat.newConlluInputFormat()
    read_sentences, error = library.Sentences(), _error()
    reader.setText(text)
    sentence = library.Sentence()
    while reader.nextSentence(sentence, error):
        read_sentences.append(sentence)
        sentence = library.Sentence()
    return _sound(read_sentences, error)


def train(text: str, tokeniser: str = "none", tagger: str = "none", parser: str = "none") -> bytes:
    """The content of a model file, trained on CoNLL-U; "none" leaves out a step, "" is its default
    settings.

    Raises: RuntimeError.
    """
    from ufal import udpipe as library

    error, options = _error(), (tokeniser, tagger, parser)
    made = library.Trainer.train(
        "morphodita_parsito", sentences(text), library.Sentences(), *options, error
    )
    _sound(made, error)
    return made if isinstance(made, bytes) else made.encode("latin-1")


def loaded(model: bytes) -> Any:
    """The model in a model file."""
    from ufal import udpipe as library

    with TemporaryDirectory() as folder:
        path = Path(folder, "model")
        path.write_bytes(model)
        return library.Model.load(str(path))


def parse(model: Any, text: Sequence[Sentence]) -> list[tuple[tuple[int, ...], tuple[str, ...]]]:
    """The heads and relations that a model predicts for sentences with their tags."""
    trees = []
    for sentence in sentences("".join(conllu(replace(s, heads=None, deprels=())) for s in text)):
        model.parse(sentence, "", _error())
        words = list(sentence.words)[1:]
        trees.append((tuple(word.head for word in words), tuple(word.deprel for word in words)))
    return trees


def conllu(sentence: Sentence) -> str:
    """A sentence with tags, XPOS, FEATS, heads and relations."""
    nothing = ("_",) * len(sentence)
    columns = [sentence.forms, sentence.lemmas or nothing, sentence.tags]
    columns += [sentence.xpos or nothing, sentence.feats or nothing]
    arcs = (sentence.heads or nothing, sentence.deprels or nothing)
    lines = ("\t".join(map(str, (*row, "_", "_"))) for row in zip(range(1, 10**6), *columns, *arcs))
    return "\n".join(lines) + "\n\n"


def _error() -> Any:
    from ufal import udpipe as library

    return library.ProcessingError()


def _sound(result: Any, error: Any) -> Any:
    if error.occurred():
        raise RuntimeError(error.message)
    return result
