"""dynet_vdgi: learns to parse a language from tagged sentences without trees, and parses in linear time.

>>> import dynet_vdgi as vdgi
>>> text = vdgi.read("my.conllu")                                              # doctest: +SKIP
>>> parser = vdgi.train(text)                                                  # doctest: +SKIP
>>> vdgi.write(parser.pipe(vdgi.read("new.conllu")), "new.parsed.conllu")      # doctest: +SKIP

Names are loaded when they are first used, so that importing the package costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from dynet_vdgi._version import __version__

if TYPE_CHECKING:
    from dynet_vdgi.api import rules, train
    from dynet_vdgi.config import Settings
    from dynet_vdgi.data.conllu_objects import from_conllu, to_conllu
    from dynet_vdgi.data.conllu_writing import write
    from dynet_vdgi.data.corpus import Corpus, read
    from dynet_vdgi.data.sentence import Sentence
    from dynet_vdgi.drawing.sentences import draw
    from dynet_vdgi.errors import VdgiError
    from dynet_vdgi.evaluation.attachment import Evaluation, evaluate
    from dynet_vdgi.grammar.prior import Prior
    from dynet_vdgi.grammar.rules import RuleSet
    from dynet_vdgi.parsing.parser import How, Parse, Parser, load
    from dynet_vdgi.students.linear_student import Perceptron
    from dynet_vdgi.teachers.dmv import Dmv
    from dynet_vdgi.variational.neural import Neural

_HOMES = {
    "Corpus": "data.corpus",
    "Dmv": "teachers.dmv",
    "Evaluation": "evaluation.attachment",
    "How": "parsing.parser",
    "Neural": "variational.neural",
    "Parse": "parsing.parser",
    "Parser": "parsing.parser",
    "Perceptron": "students.linear_student",
    "Prior": "grammar.prior",
    "RuleSet": "grammar.rules",
    "Sentence": "data.sentence",
    "Settings": "config",
    "VdgiError": "errors",
    "draw": "drawing.sentences",
    "evaluate": "evaluation.attachment",
    "from_conllu": "data.conllu_objects",
    "load": "parsing.parser",
    "read": "data.corpus",
    "rules": "api",
    "to_conllu": "data.conllu_objects",
    "train": "api",
    "write": "data.conllu_writing",
}

__all__ = [
    "Corpus",
    "Dmv",
    "Evaluation",
    "How",
    "Neural",
    "Parse",
    "Parser",
    "Perceptron",
    "Prior",
    "RuleSet",
    "Sentence",
    "Settings",
    "VdgiError",
    "__version__",
    "draw",
    "evaluate",
    "from_conllu",
    "load",
    "read",
    "rules",
    "to_conllu",
    "train",
    "write",
]


if not TYPE_CHECKING:  # type checkers would take any name for one that there is

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module 'dynet_vdgi' has no attribute {name!r}")
        value = getattr(importlib.import_module(f"dynet_vdgi.{_HOMES[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return __all__
