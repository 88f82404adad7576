"""dynet_vdgi: learns to parse a language from tagged sentences without trees, and parses in linear
time.

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

    from dynet_vdgi.api import rules as rules
    from dynet_vdgi.api import train as train
    from dynet_vdgi.conllu.objects import from_conllu as from_conllu
    from dynet_vdgi.conllu.objects import to_conllu as to_conllu
    from dynet_vdgi.conllu.writing import write as write
    from dynet_vdgi.conllu.corpus import Corpus as Corpus
    from dynet_vdgi.conllu.filtering import prepare as prepare
    from dynet_vdgi.conllu.corpus import read as read
    from dynet_vdgi.conllu.protocols import Protocol as Protocol
    from dynet_vdgi.conllu.sentence import Sentence as Sentence
    from dynet_vdgi.evaluation.drawings import Drawing as Drawing
    from dynet_vdgi.evaluation.drawings import draw as draw
    from dynet_vdgi.errors import ConfigError as ConfigError
    from dynet_vdgi.errors import DataError as DataError
    from dynet_vdgi.errors import ModelError as ModelError
    from dynet_vdgi.errors import UsageError as UsageError
    from dynet_vdgi.errors import VdgiError as VdgiError
    from dynet_vdgi.evaluation.attachment import Evaluation as Evaluation
    from dynet_vdgi.evaluation.attachment import evaluate as evaluate
    from dynet_vdgi.rule_tables.prior import Prior as Prior
    from dynet_vdgi.rule_tables.rules import RuleSet as RuleSet
    from dynet_vdgi.parser.given_heads import KeepError as KeepError
    from dynet_vdgi.parser.parser import How as How
    from dynet_vdgi.parser.parser import Parse as Parse
    from dynet_vdgi.parser.parser import Parser as Parser
    from dynet_vdgi.parser.parser import load as load
    from dynet_vdgi.settings.settings import Settings as Settings
    from dynet_vdgi.few_trees.word_perceptron import WordPerceptron as WordPerceptron
    from dynet_vdgi.words.tagger.tagger import Tagger as Tagger
    from dynet_vdgi.unsupervised.dmv import Dmv as Dmv

_HOMES = {
    "api": "rules train",
    "conllu.corpus": "Corpus read",
    "conllu.filtering": "prepare",
    "conllu.objects": "from_conllu to_conllu",
    "conllu.protocols": "Protocol",
    "conllu.sentence": "Sentence",
    "conllu.writing": "write",
    "errors": "ConfigError DataError ModelError UsageError VdgiError",
    "evaluation.attachment": "Evaluation evaluate",
    "evaluation.drawings": "Drawing draw",
    "few_trees.word_perceptron": "WordPerceptron",
    "parser.given_heads": "KeepError",
    "parser.parser": "How Parse Parser load",
    "rule_tables.prior": "Prior",
    "rule_tables.rules": "RuleSet",
    "settings.settings": "Settings",
    "unsupervised.dmv": "Dmv",
    "words.tagger.tagger": "Tagger",
}
"""The public names of each module."""

__all__ = ["__version__", *sorted(" ".join(_HOMES.values()).split())]


if not TYPE_CHECKING:  # type checkers would take any name for one that there is

    def __getattr__(name: str) -> Any:
        import importlib

        for home, names in _HOMES.items():
            if name in names.split():
                value = globals()[name] = getattr(
                    importlib.import_module(f"dynet_vdgi.{home}"), name
                )
                return value
        raise AttributeError(f"module 'dynet_vdgi' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
