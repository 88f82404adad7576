"""The inputs of a run: files, or sentences in memory."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from dynet_vdgi.conllu import reading
from dynet_vdgi.conllu.corpus import in_memory
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.conllu.tree_faults import FREE
from dynet_vdgi.errors import DataError, UsageError
from dynet_vdgi.models.model_file import DataFile
from dynet_vdgi.parser.steps import MEMORY, Steps
from dynet_vdgi.rule_tables.rules import RuleSet
from dynet_vdgi.system import file_checks, files
from dynet_vdgi.system.messages import did_you_mean

logger = logging.getLogger("dynet_vdgi")


@dataclass(frozen=True)
class Given:
    """Files, or sentences in memory."""

    names: tuple[str, ...] = ()
    sentences: tuple[Sentence, ...] = ()
    steps: Steps | None = None  # for raw text, and words without UPOS

    def __bool__(self) -> bool:
        return bool(self.names or self.sentences)

    def read(self, tags: str, heads: reading.HeadPolicy) -> Iterable[Sentence]:
        """The sentences in order.

        Raises: UsageError, a column of a sentence in memory holds something that no file can hold.
        """
        for name in self.names:
            if self.steps is not None:
                yield from reading.checked_sentences(self.steps.blocks([name]), heads, tags)
            else:
                yield from reading.read(name, heads=heads, tags=tags)
        given = in_memory(self.sentences)  # all columns are looked at, before some are left out
        for sentence in self.steps.filled(given) if self.steps else given:
            if heads == "required" and (sentence.heads is None or FREE in sentence.heads):
                raise DataError(MEMORY, None, "a sentence has no heads", "trees are needed here")
            if tags == "xpos" and not sentence.upos:
                if not sentence.xpos:
                    raise DataError(
                        MEMORY, None, "a sentence has no XPOS", "set data.tags=upos, or fill it"
                    )
                sentence = replace(sentence, tags=sentence.xpos, upos=sentence.tags)
            yield sentence

    def tag_accuracy(self, n_words: int) -> float:
        """The expected share of right tags among these `n_words` words, once they have been read."""
        return self.steps.accuracy([*self.names, MEMORY], n_words) if self.steps else 1.0

    def __str__(self) -> str:
        return ", ".join(self.names) or MEMORY


@dataclass(frozen=True)
class Inputs:
    """Texts by language label (empty for a text of one language), gold trees, and models to start
    from.

    `facts` are files of facts about the languages, by label; `without` names parts of the rule
    table to leave out. `treebanks`, by label, are trees of other languages.
    """

    texts: Mapping[str, Given]
    trees: Given = Given()
    dev: Given = Given()
    init: str | None = None
    rules: RuleSet | None = None  # replaces the setting's rules
    facts: Mapping[str, str] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    treebanks: Mapping[str, Given] = field(default_factory=dict)
    tokeniser: str | None = None
    tagger: str | None = None
    raw: Given | None = None  # text for which the run learns the steps that are not given
    lines: bool = False  # each line of raw text is a sentence

    def with_steps(self, steps: Steps) -> Inputs:
        """These inputs, with raw text as text; it and trees are tokenised and tagged where they are
        not."""
        texts = {label: replace(given, steps=steps) for label, given in self.texts.items()}
        if self.raw:
            text = texts[""]
            names = (*text.names, *self.raw.names)
            texts[""] = Given(names, (*text.sentences, *self.raw.sentences), steps)
        return replace(self, texts=texts, trees=replace(self.trees, steps=steps))

    @property
    def has_text(self) -> bool:
        return any(self.texts.values())

    @property
    def text_names(self) -> list[str]:
        """The files of all texts."""
        return [name for given in self.texts.values() for name in given.names]

    def check(self, *, treebanks_suffice: bool = False) -> None:
        """Raises: UsageError, there is nothing to learn from, or a file can be read only once."""
        others = [name for given in self.treebanks.values() for name in given.names]
        raw = self.raw.names if self.raw else ()
        names = (
            *self.text_names,
            *raw,
            *self.trees.names,
            *self.dev.names,
            *others,
            *self.facts.values(),
        )
        file_checks.check_read_again(names, "training reads its files more than once")
        if self.raw is not None and set(self.texts) != {""}:
            raise UsageError(
                "--raw learns one tokeniser and one tagger: it goes with --train, not --language"
            )
        if (
            not self.has_text
            and not self.raw
            and not self.trees
            and not (treebanks_suffice and self.treebanks)
        ):
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
        for name in set(self.text_names) & set(self.trees.names):
            logger.warning(
                "%s is given to both --train and --trees: its sentences count twice", name
            )

    def check_facts(self, idle: str | None) -> None:
        """Raises: UsageError, facts or --without have no effect (`idle` says why), or name no text."""
        for option, given in (("--without", self.without), ("--language-facts", self.facts)):
            if given and idle:
                raise UsageError(f"{option} would have no effect: {idle}")
        with_text = [label for label, given in self.texts.items() if given]
        for label in self.facts:
            if label in with_text:
                continue
            if "" in with_text or not with_text:
                text = "the text has no label" if with_text else "there is no text (--train)"
                raise UsageError(f"--language-facts {label + '=' if label else ''}FILE: {text}")
            which = (
                f"no --language {label}{did_you_mean(label, with_text)}"
                if label
                else "say of which language"
            )
            raise UsageError(
                f"--language-facts: {which} ({' or '.join(f'{one}=FILE' for one in with_text)})"
            )

    def files(self, others: Mapping[str, str]) -> tuple[DataFile, ...]:
        """Role, name and checksum of each file, for the model file; `others` are files named by
        settings."""
        raw = self.raw.names if self.raw else ()
        by_role: dict[str, tuple[str, ...]] = {
            **{
                f"train {label}".rstrip(): tuple(name for name in given.names if name not in raw)
                for label, given in self.texts.items()
            },
            "raw": raw,
            "trees": self.trees.names,
            **{f"treebank {label}": given.names for label, given in self.treebanks.items()},
            "dev": self.dev.names,
            "init": (self.init,) if self.init else (),
            "tokeniser": (self.tokeniser,) if self.tokeniser else (),
            "tagger": (self.tagger,) if self.tagger else (),
            **{role: (name,) for role, name in others.items() if name},
            **{f"facts {label}".rstrip(): (name,) for label, name in self.facts.items()},
        }
        return tuple(
            DataFile(role, Path(name).name, files.sha256(name))
            for role, names in by_role.items()
            for name in names
        )
