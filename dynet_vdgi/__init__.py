"""dynet_vdgi: learns to parse a language from tagged sentences without trees, and parses in linear time.

>>> import dynet_vdgi as vdgi                                                  # doctest: +SKIP
>>> parser = vdgi.load("runs/my/model.vdgi")                                   # doctest: +SKIP
>>> parser.parse(["the", "dog", "barks"], ["DET", "NOUN", "VERB"])             # doctest: +SKIP
(2, 3, 0)
>>> trees = [parser.parse(s.forms, s.tags) for s in vdgi.read("my.conllu")]    # doctest: +SKIP
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dynet_vdgi.data.conllu import read
from dynet_vdgi.data.sentence import Sentence

if TYPE_CHECKING:
    from dynet_vdgi.parsing.parser import Parser

from dynet_vdgi._version import __version__

__all__ = ["Sentence", "__version__", "load", "read"]


def load(path: str | Path) -> Parser:
    """The parser in a model file; imports DyNet.

    Raises:
        ModelError: no such file, damaged, or written by a newer version.
    """
    from dynet_vdgi.parsing.parser import load as load_parser

    return load_parser(path)
