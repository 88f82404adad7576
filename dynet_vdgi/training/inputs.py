"""What the user gives a run to learn from, as plain data, and checks of it; no file is read
here."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.errors import UsageError
from dynet_vdgi.parser.steps import MEMORY
from dynet_vdgi.rule_tables.rules import RuleSet
from dynet_vdgi.system import file_checks
from dynet_vdgi.system.messages import did_you_mean

logger = logging.getLogger("dynet_vdgi")

InputText = tuple[str | Sentence, ...]
"""A text: names of files, and sentences in memory."""


def file_names(text: InputText) -> tuple[str, ...]:
    """The files of a text."""
    return tuple(item for item in text if isinstance(item, str))


def memory_sentences(text: InputText) -> tuple[Sentence, ...]:
    """The sentences in memory of a text."""
    return tuple(item for item in text if isinstance(item, Sentence))


def shown_text(text: InputText) -> str:
    """What messages call a text: its files, or a word for those of none."""
    return ", ".join(file_names(text)) or MEMORY


@dataclass(frozen=True)
class Inputs:
    """Texts by language label (empty for a text of one language), gold trees, and models to start
    from.

    `rules` replace those of the settings. `facts` are files of facts about the languages, by label;
    `without` names parts of the rule table to leave out. `treebanks`, by label, are trees of other
    languages. `tokeniser` and `tagger` are files. `raw` is text for which the run learns those of
    them that are not given; `lines`: each line of it is a sentence.
    """

    texts: Mapping[str, InputText]
    trees: InputText = ()
    dev: InputText = ()
    init: str | None = None
    rules: RuleSet | None = None
    facts: Mapping[str, str] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    treebanks: Mapping[str, InputText] = field(default_factory=dict)
    tokeniser: str | None = None
    tagger: str | None = None
    raw: InputText | None = None
    lines: bool = False

    def with_raw_as_text(self) -> Inputs:
        """These inputs, whose text has the raw text at its end."""
        if not self.raw:
            return self
        return replace(self, texts={**self.texts, "": (*self.texts[""], *self.raw)})

    @property
    def has_text(self) -> bool:
        return any(self.texts.values())

    @property
    def text_names(self) -> list[str]:
        """The files of all texts."""
        return [name for text in self.texts.values() for name in file_names(text)]

    @property
    def raw_names(self) -> tuple[str, ...]:
        """The files of the raw text."""
        return file_names(self.raw or ())

    def check(self, *, treebanks_suffice: bool = False) -> None:
        """Raises: UsageError, there is nothing to learn from, or a file can be read only once."""
        others = [name for text in self.treebanks.values() for name in file_names(text)]
        names = (
            *self.text_names,
            *self.raw_names,
            *file_names(self.trees),
            *file_names(self.dev),
            *others,
            *self.facts.values(),
        )
        file_checks.check_read_again(names, "training reads its files more than once")
        if self.raw is not None and set(self.texts) != {""}:
            raise UsageError(
                "--raw learns one tokeniser and one tagger: it goes with --train, not --language"
            )
        has_treebanks = treebanks_suffice and bool(self.treebanks)
        if not (self.has_text or self.raw or self.trees or has_treebanks):
            raise UsageError(
                "nothing to learn from: name tagged text with --train, or trees with --trees"
            )
        for name, times in Counter(self.text_names).items():
            if times > 1:
                logger.warning(
                    "%s is text of %d languages: its sentences count for each", name, times
                )

    def warn_of_trees_that_count_twice(self) -> None:
        """Warns of files given both as text and as trees, for recipes that learn from both."""
        for name in set(self.text_names) & set(file_names(self.trees)):
            logger.warning(
                "%s is given to both --train and --trees: its sentences count twice", name
            )

    def check_facts(self, idle: str | None) -> None:
        """Raises: UsageError, facts or --without have no effect (`idle` says why), or name no
        text."""
        for option, given in (("--without", self.without), ("--language-facts", self.facts)):
            if given and idle:
                raise UsageError(f"{option} would have no effect: {idle}")
        with_text = [label for label, text in self.texts.items() if text]
        for label in self.facts:
            if label in with_text:
                continue
            if "" in with_text or not with_text:
                reason = "the text has no label" if with_text else "there is no text (--train)"
                raise UsageError(f"--language-facts {label + '=' if label else ''}FILE: {reason}")
            which = (
                f"no --language {label}{did_you_mean(label, with_text)}"
                if label
                else "say of which language"
            )
            raise UsageError(
                f"--language-facts: {which} ({' or '.join(f'{one}=FILE' for one in with_text)})"
            )
