"""Reads a run's sentences by protocol and length, and records which were dropped and which trees used."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from dynet_vdgi.data import conllu, treebank
from dynet_vdgi.data.protocols import protocol_named
from dynet_vdgi.data.sentence import FREE, Sentence
from dynet_vdgi.errors import DataError
from dynet_vdgi.recipes import tree_checks
from dynet_vdgi.recipes.given import Given, Inputs
from dynet_vdgi.settings.config import DataSettings
from dynet_vdgi.system import progress
from dynet_vdgi.system.names import count

logger = logging.getLogger("dynet_vdgi")

DEV_MAX_LEN = 15
"""Longest dev sentence, in words, that is scored while training, unless a setting says otherwise."""


@dataclass
class RunReader:
    """Reads with these settings; `dropped` and `gold_trees` are for the model file."""

    data: DataSettings
    dropped: list[str] = field(default_factory=list)
    gold_trees: list[str] = field(default_factory=list)
    punctuation: tree_checks.Punctuation = field(default_factory=tree_checks.Punctuation)

    def texts(self, inputs: Inputs, *, is_lean: bool = False) -> dict[str, list[Sentence]]:
        """The sentences of each text."""
        texts: dict[str, list[Sentence]] = {}
        protocol = protocol_named(self.data.protocol)
        for label, given in inputs.texts.items():
            if not given:
                continue
            role = f"{label} training" if label else "training"
            part = self._read(given, self.data.max_len, role=role, is_lean=is_lean)
            texts[label] = part.sentences
            self.dropped += [f"{label}: {item}" if label else str(item) for item in part.dropped]
            if protocol.projective_only and any(s.heads is not None for s in part.sentences):
                self.gold_trees.append("training: sentences with crossing arcs left out")
        return texts

    def trees(self, given: Given) -> list[Sentence]:
        """Gold trees, projective ones, because only they have derivations."""
        if not given:
            return []
        part = self._read(given, self.data.max_len, role="tree", is_gold=True, marks=self.punctuation)
        self.dropped += map(str, part.dropped)
        tree_checks.tell_of_relations(part.sentences)
        return part.sentences

    def partial_trees(self, given: Given, longest: int) -> tuple[list[Sentence], list[Sentence]]:
        """The trees, whose heads may be FREE, and the sentences without any head; logs the number of each.

        Raises: DataError, no sentence has a head.
        """
        found = self._read(given, longest, role="tree", heads="partial", marks=self.punctuation)
        has_tree = [set(s.heads or ()) - {FREE} != set() for s in found.sentences]
        trees = [s for s, has in zip(found.sentences, has_tree) if has]
        treeless = [s for s, has in zip(found.sentences, has_tree) if not has]
        n_free = sum((tree.heads or ()).count(FREE) for tree in trees)
        if n_free:
            words = count(n_free, "word of these trees has", "words of these trees have")
            logger.info("  %s no head: nothing is learnt from that", words)
        if treeless:
            logger.info("  %s no tree", count(len(treeless), "sentence has", "sentences have"))
        if not trees:
            raise DataError(
                str(given),
                None,
                "no sentence has a tree",
                "give heads to some, or name the file with --train",
            )
        self.dropped += map(str, found.dropped)
        tree_checks.tell_of_relations(trees)
        return trees, treeless

    def other_language(self, given: Given, label: str) -> list[Sentence]:
        """Trees of another language."""
        return self._read(given, None, min_len=1, role=f"{label} treebank", heads="required").sentences

    def dev(self, given: Given, longest: int = DEV_MAX_LEN) -> list[Sentence]:
        """Gold trees to score while training."""
        return self._read(given, longest, min_len=1, role="dev", heads="required").sentences if given else []

    def _read(
        self,
        given: Given,
        max_len: int | None,
        *,
        role: str,
        min_len: int = treebank.SHORTEST,
        heads: conllu.Heads = "optional",
        is_gold: bool = False,
        is_lean: bool = False,
        marks: tree_checks.Punctuation | None = None,
    ) -> treebank.Prepared:
        """The sentences that protocol and lengths keep; logs the dropped ones.

        `is_gold`: projective only. `is_lean`: see `_sharing`. `marks` counts removed punctuation.
        """
        protocol = protocol_named(self.data.protocol)
        if is_gold:
            protocol, heads = replace(protocol, projective_only=True), "required"
        read = treebank.with_few_tags(given.read(self.data.tags, heads))
        guesses = tree_checks.Guesses(can_drop=heads == "partial")
        sentences = progress.over(guesses.over(marks.over(read)) if marks else read, "sentences")
        shared = _sharing(sentences, is_lean=is_lean, with_heads=protocol.projective_only)
        prepared = treebank.prepare(shared, protocol, max_len, min_len)
        if ignored := self.data.ignore:
            prepared = replace(prepared, sentences=[s.ignoring(ignored) for s in prepared.sentences])
        amount = f"{count(len(prepared.sentences), 'sentence')}, {count(prepared.n_words, 'word')}"
        logger.info("%s: %s (protocol %s)", role, amount, protocol.name)
        guesses.tell(str(given))
        for dropped in prepared.dropped:
            logger.info("  dropped %s", dropped)
        for note in prepared.notes:
            logger.info("  %s", note)
        if not prepared.sentences:
            hint = "see what was dropped, and data.max_len"
            raise DataError(str(given), None, f"no {role} sentence is left", hint)
        return prepared


def _sharing(sentences: Iterable[Sentence], *, is_lean: bool, with_heads: bool) -> Iterator[Sentence]:
    """The sentences, with equal forms and lemmas shared as one object to save memory.

    Lean ones have only the columns that teachers and perceptrons read: no lemmas, relations, or lines of the
    file, and heads only on request.
    """
    known: dict[str, str] = {}
    for s in sentences:
        forms = tuple([known.setdefault(form, form) for form in s.forms])
        if is_lean:
            heads = s.heads if with_heads else None
            yield replace(s, forms=forms, heads=heads, lemmas=(), deprels=(), source=None)
        else:
            yield replace(s, forms=forms, lemmas=tuple([known.setdefault(text, text) for text in s.lemmas]))
