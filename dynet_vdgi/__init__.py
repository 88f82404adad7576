"""dynet_vdgi: learns to parse a language from tagged sentences without trees, and parses in linear time.

>>> import dynet_vdgi as vdgi
>>> text = vdgi.read("my.conllu")                                              # doctest: +SKIP
>>> parser = vdgi.train(text)                                                  # doctest: +SKIP
>>> vdgi.write(parser.pipe(vdgi.read("new.conllu")), "new.parsed.conllu")      # doctest: +SKIP

Names are loaded when they are first used, so that importing the package costs nothing.
"""

# ruff: noqa: I001 - the public names of a module stand together
from __future__ import annotations

from dynet_vdgi._version import __version__

TYPE_CHECKING = False  # known to type checkers; to import `typing` takes long
if TYPE_CHECKING:
    from typing import Any

    from dynet_vdgi.api import rules as rules, train as train
    from dynet_vdgi.data.conllu_objects import from_conllu as from_conllu, to_conllu as to_conllu
    from dynet_vdgi.data.conllu_writing import write as write
    from dynet_vdgi.data.corpus import Corpus as Corpus, prepare as prepare, read as read
    from dynet_vdgi.data.sentence import Protocol as Protocol, Sentence as Sentence
    from dynet_vdgi.drawing.text import Drawing as Drawing, draw as draw
    from dynet_vdgi.errors import (
        ConfigError as ConfigError,
        DataError as DataError,
        ModelError as ModelError,
        UsageError as UsageError,
        VdgiError as VdgiError,
    )
    from dynet_vdgi.evaluation.attachment import Evaluation as Evaluation, evaluate as evaluate
    from dynet_vdgi.grammar.prior import Prior as Prior
    from dynet_vdgi.grammar.rules import RuleSet as RuleSet
    from dynet_vdgi.parsing.decoding import KeepError as KeepError
    from dynet_vdgi.parsing.parser import How as How, Parse as Parse, Parser as Parser, load as load
    from dynet_vdgi.settings.config import Settings as Settings
    from dynet_vdgi.students.word_perceptron import WordPerceptron as WordPerceptron
    from dynet_vdgi.tagging.tagger import Tagger as Tagger
    from dynet_vdgi.teachers.dmv import Dmv as Dmv

_HOMES = {
    "api": "rules train",
    "data.conllu_objects": "from_conllu to_conllu",
    "data.conllu_writing": "write",
    "data.corpus": "Corpus prepare read",
    "data.sentence": "Protocol Sentence",
    "drawing.text": "Drawing draw",
    "errors": "ConfigError DataError ModelError UsageError VdgiError",
    "evaluation.attachment": "Evaluation evaluate",
    "grammar.prior": "Prior",
    "grammar.rules": "RuleSet",
    "parsing.decoding": "KeepError",
    "parsing.parser": "How Parse Parser load",
    "settings.config": "Settings",
    "students.word_perceptron": "WordPerceptron",
    "tagging.tagger": "Tagger",
    "teachers.dmv": "Dmv",
}
"""The public names of each module."""

__all__ = ["__version__", *sorted(" ".join(_HOMES.values()).split())]


if not TYPE_CHECKING:  # type checkers would take any name for one that there is

    def __getattr__(name: str) -> Any:
        import importlib

        for home, names in _HOMES.items():
            if name in names.split():
                value = globals()[name] = getattr(importlib.import_module(f"dynet_vdgi.{home}"), name)
                return value
        raise AttributeError(f"module 'dynet_vdgi' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
