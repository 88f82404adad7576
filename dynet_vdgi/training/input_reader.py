"""Reads the inputs of a run by protocol and length, and records what was dropped and which trees
used."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from dynet_vdgi.conllu import filtering, reading
from dynet_vdgi.conllu.corpus import in_memory
from dynet_vdgi.conllu.protocols import UD_PUNCTUATION, Protocol, protocol_of
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.conllu.tree_faults import FREE
from dynet_vdgi.conllu.vocabulary import build_vocabulary
from dynet_vdgi.errors import DataError
from dynet_vdgi.parser.steps import MEMORY, Steps
from dynet_vdgi.rule_tables.facts import load_facts
from dynet_vdgi.rule_tables.rules import RuleSet
from dynet_vdgi.settings.settings import DataSettings
from dynet_vdgi.system import progress
from dynet_vdgi.system.messages import count
from dynet_vdgi.training.gold_trees import n_free, only_corrected, tell_of_relations, tell_of_tags
from dynet_vdgi.training.inputs import (
    Inputs,
    InputText,
    file_names,
    memory_sentences,
    shown_text,
)
from dynet_vdgi.training.material import Material

logger = logging.getLogger("dynet_vdgi")

DEV_MAX_LEN = 15
"""Longest dev sentence, in words, that is scored while training, unless a setting says another."""


@dataclass
class InputReader:
    """Reads the inputs with these settings.

    `steps` tokenise and tag texts and trees to learn from, where they are not. `dropped` and
    `gold_trees` are for the model file. `punctuation` counts its relations in trees to learn from.
    """

    inputs: Inputs
    data: DataSettings
    steps: Steps = field(default_factory=Steps)
    dropped: list[str] = field(default_factory=list)
    gold_trees: list[str] = field(default_factory=list)
    punctuation: Counter[str] = field(default_factory=Counter)

    def material(
        self,
        rules: RuleSet,
        *,
        is_lean: bool = False,
        longest_partial: int | None = None,
        longest_dev: int = DEV_MAX_LEN,
    ) -> Material:
        """What a run learns from, with the tags as vocabulary.

        `is_lean`: see `_lean`. `longest_partial`: trees are of up to so many words, and their heads
        may be FREE; without text, the sentences of their files are the text, if some have no tree.
        """
        inputs = self.inputs
        facts = {label: load_facts(name, rules) for label, name in inputs.facts.items()}
        texts = self.texts(is_lean=is_lean)
        trees, treeless = list[Sentence](), list[Sentence]()
        if inputs.trees and longest_partial is not None:
            trees, treeless = self._partial_trees(longest_partial)
        elif inputs.trees:  # projective ones, because only they have derivations
            projective = replace(protocol_of(self.data.protocol), projective_only=True)
            trees = self._read(
                inputs.trees, self.data.max_len, role="tree", heads="required", protocol=projective
            )
        if trees:
            tell_of_relations(trees)
        if not texts and treeless:
            texts[""] = [s for s in (*trees, *treeless) if len(s) <= self.data.max_len]
            logger.info("training: %s, all those of --trees", count(len(texts[""]), "sentence"))
        dev = self.dev(longest_dev)
        tell_of_tags(trees, texts)
        every = [*(sentence for text in texts.values() for sentence in text), *trees]
        relation = next((name for name, _ in self.punctuation.most_common(1)), "punct")
        vocabulary = build_vocabulary(every, lexicalised=False)
        return Material(texts, vocabulary, rules, trees, dev, facts, relation)

    def texts(self, *, is_lean: bool = False) -> dict[str, list[Sentence]]:
        """The sentences of each text."""
        texts: dict[str, list[Sentence]] = {}
        protocol = protocol_of(self.data.protocol)
        for label, text in self.inputs.texts.items():
            if not text:
                continue
            role = f"{label} training" if label else "training"
            texts[label] = self._read(
                text, self.data.max_len, role=role, label=label, is_lean=is_lean
            )
            if protocol.projective_only and any(s.heads is not None for s in texts[label]):
                self.gold_trees.append("training: sentences with crossing arcs left out")
        return texts

    def _partial_trees(self, longest: int) -> tuple[list[Sentence], list[Sentence]]:
        """The trees, whose heads may be FREE, and the sentences without any head; logs the number
        of each.

        Raises: DataError, no sentence has a head.
        """
        sentences = self._read(self.inputs.trees, longest, role="tree", heads="partial")
        trees = [s for s in sentences if set(s.heads or ()) - {FREE}]
        treeless = [s for s in sentences if not set(s.heads or ()) - {FREE}]
        if free := n_free(trees):
            words = count(free, "word of these trees has", "words of these trees have")
            logger.info("  %s no head: nothing is learnt from that", words)
        if treeless:
            logger.info("  %s no tree", count(len(treeless), "sentence has", "sentences have"))
        if not trees:
            hint = "give heads to some, or name the file with --train"
            raise DataError(shown_text(self.inputs.trees), None, "no sentence has a tree", hint)
        return trees, treeless

    def treebanks(self) -> dict[str, list[Sentence]]:
        """Trees of other languages, by label."""
        return {
            label: self._read(text, None, min_len=1, role=f"{label} treebank", heads="required")
            for label, text in self.inputs.treebanks.items()
        }

    def dev(self, longest: int = DEV_MAX_LEN) -> list[Sentence]:
        """Gold trees to score while training."""
        if not self.inputs.dev:
            return []
        return self._read(self.inputs.dev, longest, min_len=1, role="dev", heads="required")

    def tag_accuracy(self, n_words: int) -> float:
        """The expected share of right tags among the `n_words` words of the text with the worst
        ones, once the texts have been read."""
        if not self.steps.files:
            return 1.0
        return min(
            self.steps.accuracy([*file_names(text), MEMORY], n_words)
            for text in self.inputs.texts.values()
        )

    def sentences(
        self, text: InputText, heads: reading.HeadPolicy, *, with_steps: bool = True
    ) -> Iterator[Sentence]:
        """The sentences of a text, first those of its files, after the steps that they need.

        Raises: UsageError, a column of a sentence in memory holds something that no file can hold;
        DataError, a file is malformed, or a sentence in memory lacks heads or XPOS.
        """
        steps = self.steps if with_steps and self.steps.files else None
        tags = self.data.tags
        for name in file_names(text):
            if steps:
                yield from reading.checked_sentences(steps.blocks([name]), heads, tags)
            else:
                yield from reading.read(name, heads=heads, tags=tags)
        # All columns are looked at, before some are left out.
        given = in_memory(memory_sentences(text))
        for sentence in steps.filled(given) if steps else given:
            yield _checked(sentence, tags, heads)

    def _read(
        self,
        text: InputText,
        max_len: int | None,
        *,
        role: str,
        label: str = "",
        min_len: int = filtering.SHORTEST,
        heads: reading.HeadPolicy = "optional",
        protocol: Protocol | None = None,
        is_lean: bool = False,
    ) -> list[Sentence]:
        """The sentences that protocol and lengths keep; logs the dropped ones."""
        protocol = protocol or protocol_of(self.data.protocol)
        is_learnt_from = heads != "required" or role == "tree"
        given = self.sentences(text, heads, with_steps=is_learnt_from)
        read: Iterable[Sentence] = progress.over(filtering.with_few_tags(given), "sentences")
        if heads != "optional":
            read = only_corrected(list(read), shown_text(text), can_drop=heads == "partial")
        if role == "tree":
            self.punctuation.update(
                deprel
                for sentence in read
                for tag, deprel in zip(sentence.upos or sentence.tags, sentence.deprels)
                if tag in UD_PUNCTUATION and deprel != "_"
            )
        if is_lean:
            read = _lean(read, with_heads=protocol.projective_only)
        prepared = filtering.prepare(read, protocol, max_len, min_len)
        sentences = prepared.sentences
        if ignored := self.data.ignore:
            sentences = [sentence.ignoring(ignored) for sentence in sentences]
        amount = f"{count(len(sentences), 'sentence')}, {count(prepared.n_words, 'word')}"
        logger.info("%s: %s (protocol %s)", role, amount, protocol.name)
        for dropped in prepared.dropped:
            logger.info("  dropped %s", dropped)
        for note in prepared.notes:
            logger.info("  %s", note)
        if not sentences:
            hint = "see what was dropped, and data.max_len"
            raise DataError(shown_text(text), None, f"no {role} sentence is left", hint)
        if is_learnt_from:
            self.dropped += [
                f"{label}: {item}" if label else str(item) for item in prepared.dropped
            ]
        return sentences


def _checked(sentence: Sentence, tags: str, heads: reading.HeadPolicy) -> Sentence:
    """A sentence in memory with the tags of this column. Raises: DataError, it lacks heads or
    XPOS."""
    if heads == "required" and (sentence.heads is None or FREE in sentence.heads):
        raise DataError(MEMORY, None, "a sentence has no heads", "trees are needed here")
    if tags == "xpos" and not sentence.upos:
        if not sentence.xpos:
            hint = "set data.tags=upos, or fill it"
            raise DataError(MEMORY, None, "a sentence has no XPOS", hint)
        return replace(sentence, tags=sentence.xpos, upos=sentence.tags)
    return sentence


def _lean(sentences: Iterable[Sentence], *, with_heads: bool) -> Iterator[Sentence]:
    """The sentences with only the columns that teachers and perceptrons read, to save memory.

    No lemmas, relations, or lines of the file, and heads only on request; equal forms are one
    object.
    """
    one_of_each: dict[str, str] = {}
    for s in sentences:
        forms = tuple([one_of_each.setdefault(form, form) for form in s.forms])
        heads = s.heads if with_heads else None
        yield replace(s, forms=forms, heads=heads, lemmas=(), deprels=(), source=None)
